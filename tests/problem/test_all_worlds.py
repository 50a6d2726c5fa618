"""A yes in every causal world that may be true; graphs that are known in part."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import ProblemError, WorldError
from wayforward.problem import AllWorlds
from wayforward.testing import RobustContract
from wayforward.world import orientations

SCHEMA = wf.Schema([
    wf.Feature(name="salary", kind="real", low=0, high=100), wf.Feature(name="savings", kind="real", low=0, high=100)
])  # fmt: skip
FORWARD = wf.SCM({"salary": "u", "savings": "salary + u"})
BACK = wf.SCM({"savings": "u", "salary": "savings + u"})


def problem(*others: object) -> wf.Problem:
    """Salary and savings must add up to 60; a raise grows savings by as much."""
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0, 1.0]]), np.array([-60.0])
    robust = AllWorlds(others) if others else None
    return wf.Problem(SCHEMA, model, wf.Target(favourable=1), world=FORWARD, robust=robust)


def test_a_plan_that_hangs_on_the_direction_is_no_longer_one() -> None:
    """From (20, 20): a raise to 30 is enough if savings follow; whichever causes the other it takes 20 in all."""
    x = np.array([[20.0, 20.0]])
    plain = wf.recommend(problem(), x)
    assert plain.found.all() and plain.cost[0, 0] == pytest.approx(0.1, abs=1e-3)
    asked = problem(BACK)
    condition = asked.robust
    assert not condition.holds(asked, x, plain.action[:, 0], plain.after[:, 0]).any()
    got = wf.recommend(asked, x)
    assert got.found.all() and got.cost[0, 0] >= 0.2 - 1e-6
    for world in (FORWARD, BACK):
        after = world.bind(SCHEMA).consequences(x, got.action[:, 0])
        assert after.sum() >= 60 - 1e-6
    raise_ = np.array([[30.0, np.nan]])
    np.testing.assert_allclose(condition.profiles(asked, x, raise_)[0], [[30, 20]])
    assert condition.measure(asked, x, raise_, x)[0] == 0


def test_what_it_refuses() -> None:
    """Lists that are none, and what is no world."""
    with pytest.raises(ProblemError, match="no world"):
        AllWorlds([])
    with pytest.raises(ProblemError, match="is no world"):
        AllWorlds([3])
    with pytest.raises(ProblemError, match="takes a list"):
        AllWorlds("scm")
    with pytest.raises(WorldError, match="'wage'"):
        problem(wf.SCM({"wage": "u"}))


@pytest.mark.parametrize("seed", range(6))
def test_every_graph_of_the_class_and_no_other(seed: int) -> None:
    """Brute force: the acyclic orientations of a graph's skeleton with its very colliders."""
    rng = np.random.default_rng(seed)
    names = list("abcde")
    truth = [(a, b) for a, b in itertools.combinations(names, 2) if rng.random() < 0.5]

    def colliders(edges: list) -> set:
        linked = {frozenset(edge) for edge in edges}
        return {
            (frozenset((a, b)), c) for (a, c), (b, d) in itertools.permutations(edges, 2)
            if c == d and frozenset((a, b)) not in linked
        }  # fmt: skip

    alike = set()
    for flips in itertools.product((False, True), repeat=len(truth)):
        edges = [(b, a) if flip else (a, b) for (a, b), flip in zip(truth, flips, strict=True)]
        if networkx.is_directed_acyclic_graph(networkx.DiGraph(edges)) and colliders(edges) == colliders(
            truth
        ):
            alike.add(frozenset(edges))
    known = [edge for edge in truth if all(edge in graph for graph in alike)]
    unknown = [edge[::-1] for edge in truth if edge not in known]
    found = orientations(known, unknown, names, most=1000)
    assert {frozenset(graph.edges) for graph in found} == alike and len(found) == len(alike)


def test_what_cannot_be_directed() -> None:
    """Too many, none, and pairs given twice."""
    assert [g.edges for g in orientations([], [("a", "b")])] == [(("a", "b"),), (("b", "a"),)]
    with pytest.raises(WorldError, match="More than 2"):
        orientations([], [("a", "b"), ("b", "c")], most=2)
    with pytest.raises(WorldError, match="given twice"):
        orientations([("a", "b")], [("b", "a")])
    with pytest.raises(
        WorldError, match="No graph"
    ):  # a square without a chord always has a new collider or a cycle
        orientations([], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])


class TestAllWorlds(RobustContract):
    condition = AllWorlds([wf.SCM({"savings": "u", "debt": "u - 0.1 * savings"})])
    kinds = ("linear",)
