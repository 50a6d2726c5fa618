"""Recommenders: graphs from plain tables, letters in two languages, errors that name what is wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError, ModelError, ProblemError
from wayforward.modalities.graph import ActionGraph
from wayforward.modalities.graph.graph import shop

pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame(
    {
        "source": ["ann", "ann", "bob", "bob", "cat", "film a", "film b", "film c", "film d"],
        "target": ["film a", "film b", "film b", "film c", "film d", "drama", "drama", "comedy", "comedy"],
        "weight": [5, 1, 4, 4, 2, 1, 1, 1, 1],
    }
)
PEOPLE, ITEMS = ["ann", "bob", "cat"], ["film a", "film b", "film c", "film d"]


@pytest.fixture(scope="module")
def asked():
    return wf.RecommenderProblem(shop(10, 24, 4))


def test_a_plain_table_and_its_file_are_the_same_graph(tmp_path):
    file = tmp_path / "edges.csv"
    TABLE.to_csv(file, index=False)
    one, two = (
        ActionGraph.from_edges(edges, weight="weight", people=PEOPLE, items=ITEMS) for edges in (TABLE, file)
    )
    assert (one.weights != two.weights).nnz == 0
    assert one.weights[one.place["ann"], one.place["film a"]] == 5
    assert one.weights[one.place["film a"], one.place["ann"]] == 5
    assert [one.names[node] for node in one.actions("bob")] == ["film b", "film c"]
    plain = ActionGraph.from_edges(TABLE, people=PEOPLE, items=ITEMS, both_ways=False)
    assert plain.weights.nnz == len(TABLE)
    got = wf.RecommenderProblem(one).recommend(PEOPLE)
    assert got.recommended(0) == "film c"
    assert got.recommended(2) in ("film a", "film b", "film c")


def test_letters_and_pages_show_what_is_undone(asked, tmp_path):
    got = asked.recommend(asked.graph.people, k=2)
    gone, new, now = got.removed(0), got.instead(0), got.recommended(0)
    text = got.letter(0)
    assert f"“{now}” is recommended to you because of what you did." in text
    assert all(f"- [-{name}-]" in text for name in gone)
    assert f"“{new}” would be recommended" in text
    german = got.letter(0, language="de")
    assert "empfohlen" in german and "recommended" not in german and "another" not in german
    assert "<del>" in got.page(tmp_path / "people.html").read_text(encoding="utf-8")
    whole = pickle.loads(pickle.dumps(asked)).recommend(asked.graph.people[:2])
    assert whole.removed(0) == gone


def test_the_fast_path_is_the_walk(asked):
    """What actions add up to has the answers of walking anew, in random graphs without actions."""
    problem = asked.problem(asked.graph.people[0])
    x = asked.rows(asked.graph.people)
    rng = np.random.default_rng(0)
    rows = np.repeat(x, 6, axis=0)
    rows[:, 1:] *= rng.random(rows[:, 1:].shape) < 0.6
    assert problem.model.has_fast_path, problem.model.notes
    np.testing.assert_allclose(problem.model.outputs(rows), problem.model.native(rows)[0], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ["a", "a", "b"]}, "called 'a'"),
        ({"names": ["a", "b"]}, "weights has shape"),
        ({"weights": -np.eye(3)}, "below 0"),
        ({"people": ["z"]}, "people names 'z'"),
        ({"people": "a"}, "people='a' is no list"),
        ({"items": []}, "no items"),
        ({"items": ["a"]}, "a person and an item"),
    ],
)
def test_a_graph_that_is_none_is_named(change, words):
    given = {"names": ["a", "b", "c"], "weights": np.eye(3), "people": ["a"], "items": ["b", "c"]}
    with pytest.raises(DataError, match=words):
        ActionGraph(**(given | change))


def test_edges_and_questions_that_are_none_are_named(asked, tmp_path):
    how = {"people": PEOPLE, "items": ITEMS}
    with pytest.raises(DataError, match="no column 'from'"):
        ActionGraph.from_edges(TABLE, "from", **how)
    with pytest.raises(DataError, match="lacks an end"):
        ActionGraph.from_edges(TABLE.assign(target=[*TABLE["target"][:-1], None]), **how)
    with pytest.raises(DataError, match="weight that is no number"):
        ActionGraph.from_edges(TABLE, weight="target", **how)
    with pytest.raises(DataError, match="None of the items is an end"):
        ActionGraph.from_edges(TABLE, people=PEOPLE, items=[3.0])
    file = tmp_path / "spreadsheet.csv"
    file.write_text("source,target\na,b\n", encoding="utf-8-sig")
    assert ActionGraph.from_edges(file, people=["a"], items=["b", "b"]).items == ("b",)
    with pytest.raises(DataError, match="no option 9: 1 were asked for"):
        asked.recommend(["person 0"]).sentence(0, 9)
    with pytest.raises(DataError, match="Did you mean 'person 0'"):
        asked.recommend(["persn 0"])
    with pytest.raises(DataError, match="Give a table"):
        ActionGraph.from_edges(3, **how)
    file = tmp_path / "odd.csv"
    file.write_text("source,target\na,b\nc\n", encoding="utf-8")
    with pytest.raises(DataError, match="Row 1 of the edges has 1 values"):
        ActionGraph.from_edges(file, **how)
    with pytest.raises(DataError, match="no person of the graph"):
        asked.recommend(["nobody"])
    with pytest.raises(DataError, match="no list"):
        asked.recommend("person 0")
    with pytest.raises(ProblemError, match="no item of the graph"):
        asked.recommend(["person 0"], keep=["item 999"])
    with pytest.raises(ProblemError, match="no list of items"):
        asked.recommend(["person 0"], keep="item 1")
    with pytest.raises(ModelError, match=r"restart=1\.5"):
        wf.RecommenderProblem(asked.graph, restart=1.5)
    with pytest.raises(ProblemError, match="Give an ActionGraph"):
        wf.RecommenderProblem(TABLE)
