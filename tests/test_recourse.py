"""The answer keeps everyone, and reads back what it wrote, value for value."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wayforward.errors import DataError, FileFormatError
from wayforward.methods import recommend
from wayforward.preferences import Preferences
from wayforward.recourse import Outcome, Recourse
from wayforward.testing import case

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def answer():
    it = case("linear", "independent", 0, 30)
    wishes = Preferences.none(it.problem.schema, 30).freeze("income", who=[0, 3]).weigh(debt=2.0)
    return recommend(it.problem, it.x, k=2, preferences=wishes)


def same(a, b):
    for name in ("x", "action", "after", "cost", "score", "seconds", "score_before"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (
        (a.outcome == b.outcome).all() and a.schema == b.schema and a.method == b.method and a.meta == b.meta
    )
    np.testing.assert_array_equal(a.preferences.frozen, b.preferences.frozen)
    np.testing.assert_array_equal(a.preferences.weight, b.preferences.weight)


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_files_read_back_exactly(answer, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    same(Recourse.load(answer.save(tmp_path / f"r.{ending}", exact=True)), answer)


def test_json_is_strict_and_plain(answer, tmp_path):
    def refuse(word):
        raise AssertionError(word)

    data = json.loads(answer.save(tmp_path / "r.json", exact=True).read_text(), parse_constant=refuse)
    assert data["format"] == "wayforward.recourse/1" and len(data["outcome"]) == 30


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.json", "{}"), ("r.json", "[1"), ("r.json", '{"format": "x"}'), ("r.parquet", "PAR1")],
)
def test_broken_files_are_refused(tmp_path, name, text):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileFormatError, match="does not hold a recourse"):
        Recourse.load(path)


def test_other_endings_and_absent_files(answer, tmp_path):
    with pytest.raises(FileFormatError, match="Change the ending"):
        answer.save(tmp_path / "r.pkl")
    with pytest.raises(FileFormatError, match="no file"):
        Recourse.load(tmp_path / "none.json")


def test_parts_and_wholes(answer):
    assert len(answer) == 30 and answer[3].n == 1 and answer[-1].x.tolist() == answer.x[29:].tolist()
    again = Recourse.concat([answer[:10], answer[10:]])
    np.testing.assert_array_equal(again.action, answer.action)
    np.testing.assert_array_equal(again.preferences.frozen, answer.preferences.frozen)
    assert sum(answer.outcomes().values()) == 30
    with pytest.raises(DataError, match="0 to 29"):
        answer[30]


def test_wishes_of_a_part_stay_beside_people_without_any(answer):
    """Beside people without wishes everybody's were forgotten: frozen features, and weights that costs count with."""
    more = recommend(answer.problem, answer.x[:5], k=2)
    for parts, start in (([answer, more], 0), ([more, answer], 5)):
        again = Recourse.concat(parts).preferences
        np.testing.assert_array_equal(again.frozen[start : start + 30], answer.preferences.frozen)
        np.testing.assert_array_equal(again.weight[start : start + 30], answer.preferences.weight)
        assert not again.take(np.setdiff1d(np.arange(35), np.arange(start, start + 30))).any_wish


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_answers_to_nobody_are_read_back(answer, tmp_path, ending):
    again = Recourse.load(answer[:0].save(tmp_path / f"nobody.{ending}"))
    assert (again.n, again.k, again.schema) == (0, 2, answer.schema)
    with pytest.raises(DataError, match="There is no person 0; it is about nobody"):
        again[0]


def test_the_frame_has_a_row_for_every_person_and_option(answer):
    frame = answer.to_frame(exact=True)
    assert len(frame) == 60 and list(frame["person"][:4]) == [0, 0, 1, 1]
    row = frame[(frame.outcome == "FOUND")].iloc[0]
    assert row["before.housing"] in ("rent", "own", "free")
    assert answer.changed[~answer.found].sum() == 0
    assert (answer.outcome[answer.accepted, 0] == Outcome.ACCEPTED).all()


def test_people_in_a_file_must_fit_its_schema(answer, tmp_path):
    path = answer.save(tmp_path / "r.json")
    data = json.loads(path.read_text())
    data["x"][0][0] = -1e300
    path.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="was changed after it was saved"):
        Recourse.load(path)
    del data["sha256"]
    path.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="people of its own schema.*'age'"):
        Recourse.load(path)


def test_outcomes_can_be_counted(answer):
    kinds, counts = np.unique(answer.outcome[:, 0], return_counts=True)
    assert {o.name: int(c) for o, c in zip(kinds, counts, strict=True)} == {
        name: count for name, count in answer.outcomes().items() if count
    }


def test_shapes_are_checked(answer):
    with pytest.raises(DataError, match="Recourse.cost has shape"):
        Recourse(
            answer.schema,
            answer.x,
            answer.action,
            answer.after,
            answer.cost[:, :1],
            answer.score,
            answer.outcome,
            answer.seconds,
        )


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", "NaN", "[" * 100_000, '{"format": "wayforward.recourse/1"}']
)
def test_a_file_that_holds_something_else_is_one_clear_error(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match="does not hold a recourse"):
        Recourse.load(path)


def test_the_cost_without_personal_weights_stands_beside_the_other(answer):
    """The judge works it out from the same acts; where nobody gave weights the two are one."""
    found = answer.found
    who, slot = np.nonzero(found)
    problem, action = answer.problem, answer.action[who, slot]
    np.testing.assert_array_equal(answer.plain_cost[found], problem.cost.total(answer.x[who], action))
    assert (answer.plain_cost[found] < answer.cost[found]).any() and answer.weighted
    assert (answer.plain_cost[answer.accepted, 0] == 0).all()
    assert np.isinf(answer.plain_cost[~found & ~answer.accepted[:, None]]).all()
    frame = answer.to_frame("dict", exact=True)
    np.testing.assert_array_equal(frame["plain_cost"], answer.plain_cost.ravel())
    unweighted = recommend(problem, answer.x[:5])
    np.testing.assert_array_equal(unweighted.plain_cost, unweighted.cost)
    assert not unweighted.weighted


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_files_keep_the_plain_cost_and_older_files_still_load(answer, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = answer.save(tmp_path / f"r.{ending}", exact=True)
    np.testing.assert_array_equal(Recourse.load(path).plain_cost, answer.plain_cost)
    if ending == "json":  # as version 0.1 wrote it
        data = json.loads(path.read_text())
        del data["plain_cost"], data["sha256"]
        path.write_text(json.dumps(data))
    else:
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        header = json.loads(table.schema.metadata[b"wayforward"])
        del header["sha256"]
        table = table.replace_schema_metadata({"wayforward": json.dumps(header)})
        pq.write_table(table.drop_columns(["plain_cost"]), path)
    old = Recourse.load(path)
    np.testing.assert_array_equal(old.cost, answer.cost)
    debt = ~np.isnan(answer.action[:, :, answer.schema.index("debt")])
    np.testing.assert_array_equal(np.isnan(old.plain_cost), debt)  # not known: the weights are in the cost
    np.testing.assert_array_equal(old.plain_cost[~debt], answer.plain_cost[~debt])


def test_a_plain_cost_of_another_shape_is_refused(answer):
    from dataclasses import replace

    with pytest.raises(DataError, match="Recourse.plain_cost has shape"):
        replace(answer, plain_cost=answer.cost[:, :1])


@pytest.mark.parametrize("name", ["bound", "steps", "cost"])
def test_a_claim_that_was_edited_in_a_file_is_not_believed(tmp_path, name):
    made = case("forest", n=12)
    got = recommend(made.problem, made.x[made.refused], k=2, method="action-sequences", certify=True)
    assert np.isfinite(got.bound).any() and (got.steps != "").any()
    file = got.save(tmp_path / "answers.json")
    text = json.loads(file.read_text())
    i, o = np.argwhere(got.found & np.isfinite(got.bound))[0]
    text[name][i][o] = "nothing" if name == "steps" else text[name][i][o] * 0.5
    file.write_text(json.dumps(text))
    with pytest.raises(FileFormatError, match="checksum"):
        Recourse.load(file)


def test_a_proof_in_a_file_is_proved_again_with_its_problem_and_a_wrong_claim_is_not_believed(
    tmp_path, monkeypatch
):
    """Bounds alone, which the judge asks, do not prove all that a search proves."""
    from dataclasses import replace

    made = case("forest", n=12)
    x = made.x[made.refused][:4]
    wishes = Preferences.none(made.problem.schema, len(x)).at_most(1)
    got = recommend(made.problem, x, preferences=wishes)
    none = got.outcome[:, 0] == Outcome.NONE_EXISTS
    assert none.any() and got.found[:, 0].any()
    judge = type(made.problem).check
    asked = []

    def without_bounds(self, *args, **more):
        if more.get("prove") and not asked:
            asked.append(more.pop("prove"))
        return judge(self, *args, **more)

    monkeypatch.setattr(type(made.problem), "check", without_bounds)
    file = got.save(tmp_path / "answers.json")
    again = Recourse.load(file, problem=made.problem)
    assert asked and (again.outcome == got.outcome).all()
    assert again.explain(int(none.argmax())) == got.explain(int(none.argmax()))
    wrong = replace(got, outcome=np.full_like(got.outcome, Outcome.NONE_EXISTS))
    wrong.action[:], wrong.after[:] = np.nan, np.nan
    judged = wrong.judged_by(made.problem)
    assert (judged.outcome[none] == Outcome.NONE_EXISTS).all()
    assert (judged.outcome[~none] == Outcome.NOT_FOUND).all()
