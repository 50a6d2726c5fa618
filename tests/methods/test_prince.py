"""prince: the published fixture, and all subsets of actions under a dense PageRank that shares no code with it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import UnsupportedModel
from wayforward.methods.prince import Prince
from wayforward.modalities.graph import ActionGraph
from wayforward.modalities.graph.graph import shop
from wayforward.recourse import Outcome
from wayforward.testing import MethodContract

coo_array = pytest.importorskip("scipy.sparse").coo_array


class TestPrince(MethodContract):
    method = Prince(reference="prototype")
    kinds = ("linear",)
    finds = 0.3


EDGES = (
    (0, 1, 1), (0, 2, 1), (0, 3, 1), (1, 4, 2), (1, 0, 1), (2, 4, 1), (2, 5, 1), (2, 0, 1), (3, 5, 1), (3, 0, 1),
    (4, 1, 2), (4, 2, 1), (5, 2, 1), (5, 3, 1),
)  # fmt: skip


def small():
    row, column, weight = zip(*EDGES, strict=True)
    matrix = coo_array((np.array(weight, dtype=float), (row, column)), shape=(6, 6))
    return ActionGraph(["u", "1", "2", "3", "4", "5"], matrix, ["u"], ["1", "2", "3", "4", "5"])


def rank(weights, person, gone=()):
    """Personalised PageRank by one dense solve; walks without a way on begin anew."""
    w = weights.copy()
    w[person, list(gone)] = 0.0
    out = w.sum(1, keepdims=True)
    chance = np.where(out > 0, w / np.where(out > 0, out, 1.0), 0.0)
    start = np.eye(len(w))[person]
    chance[out[:, 0] == 0] = start
    return np.linalg.solve(np.eye(len(w)) - 0.85 * chance.T, 0.15 * start)


def best(weights, person, items, actions, gone=()):
    """The item on top among those that the person never acted on, None where no walk comes to one."""
    score = rank(weights, person, gone)[[i for i in items if i not in actions]]
    names = [i for i in items if i not in actions]
    return names[int(score.argmax())] if score.max() > 0 else None


def test_the_fixture_of_the_paper_s_recipe():
    """Scores .1405 and .1018 of items 4 and 5, contributions .0429, .0049, -.0249; without 1 .0905 and .1427."""
    asked = wf.RecommenderProblem(small())
    known = asked.model.known(["u"])[0]
    np.testing.assert_allclose(known.adds[:, 3] - known.adds[:, 4], [0.0429, 0.0049, -0.0249], atol=5e-5)
    scores = asked.model.scores("u", np.array([[True, True, True], [False, True, True]]))
    np.testing.assert_allclose(scores[:, 3:], [[0.1405, 0.1018], [0.0905, 0.1427]], atol=5e-5)
    got = asked.recommend(["u"], k=2)
    assert (got.recommended(0), got.removed(0), got.instead(0)) == ("4", ["1"], "5")
    assert got.sentence(0) == "If you undid what you did with “1”, “5” would be recommended and not “4”."
    dense = small().weights.toarray()
    np.testing.assert_allclose(scores[1], rank(dense, 0, [1])[1:], atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_set_is_as_small_as_any(seed):
    """All subsets of the actions that may be undone, for everybody, with wishes and without; proofs included."""
    graph = shop(7, 14, 3, seed=seed)
    weights, items = graph.weights.toarray(), graph.item_nodes.tolist()
    asked = wf.RecommenderProblem(graph)
    found = 0
    for keep in ((), ("item 0", "item 3", "item 5", "item 7", "item 8", "item 11")):
        got = asked.recommend(graph.people, k=3, keep=keep)
        for i, person in enumerate(graph.people):
            node, actions = graph.place[person], graph.actions(person).tolist()
            now = best(weights, node, items, actions)
            assert got.recommended(i) == graph.names[now]
            may = [a for a in actions if graph.names[a] not in keep]
            least = next(
                (
                    size
                    for size in range(1, len(may) + 1)
                    for gone in combinations(may, size)
                    if best(weights, node, items, actions, gone) not in (now, None)
                ),
                None,
            )
            if least is None:
                assert got.recourse.outcome[i, 0] is Outcome.NONE_EXISTS
                continue
            found += 1
            sizes = [len(got.removed(i, option)) for option in got.options(i)]
            assert sizes[0] == least
            assert sizes == sorted(sizes)
            for option in got.options(i):
                gone = [graph.place[name] for name in got.removed(i, option)]
                assert not set(got.removed(i, option)) & set(keep)
                top = best(weights, node, items, actions, gone)
                assert top != now and got.instead(i, option) == graph.names[top]
    assert found > 8


def test_a_set_that_no_one_may_exceed_is_not_exceeded():
    graph = shop(7, 14, 3)
    asked = wf.RecommenderProblem(graph)
    free = asked.recommend(graph.people)
    most = asked.recommend(graph.people, most=1)
    sizes = free.recourse.cost[:, 0]
    assert (most.recourse.found[:, 0] == (sizes == 1)).all()


def test_everybody_is_answered_alike_alone_and_by_other_methods():
    graph = shop(12, 30, 4)
    asked = wf.RecommenderProblem(graph)
    got = asked.recommend(graph.people, k=2)
    alone = wf.RecommenderProblem(graph).recommend(graph.people[4:5], k=2)
    assert [alone.removed(0, o) for o in alone.options(0)] == [got.removed(4, o) for o in got.options(4)]
    other = asked.recommend(graph.people[:6], "sedc")
    assert other.recourse.found.all()
    assert (other.recourse.cost[:, 0] >= got.recourse.cost[:6, 0]).all()


def test_models_whose_scores_do_not_add_up_are_refused():
    schema = wf.Schema((wf.Feature(name="a", kind="real", low=0, high=1),))
    problem = wf.Problem(schema, wf.wrap(lambda rows: rows[:, 0] ** 2, schema), wf.Target(1))
    with pytest.raises(UnsupportedModel, match="scores that add up"):
        wf.method("prince").fit(problem)
