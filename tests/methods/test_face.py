"""face: walks among observed people, and what makes them walkable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Problem, Schema, Target, wrap
from wayforward.errors import MethodError
from wayforward.methods.face import Face, _stratum_of
from wayforward.preferences import Preferences
from wayforward.recourse import Recourse
from wayforward.testing import MethodContract, case


class TestContract(MethodContract):
    method = "face"
    finds = 0.8


class TestEpsilon(MethodContract):
    method = Face(mode="epsilon", radius=1.5, ends=2)
    worlds = ("independent",)
    finds = 0.8


class TestKernel(MethodContract):
    method = Face(mode="kernel", weighting="inverse", ends=2)
    worlds = ("causal",)
    finds = 0.8


def plain(names="ab", **more):
    return Schema(tuple(Feature(name=name, kind="real", low=0, high=10, **more) for name in names))


def problem_of(schema, rows, yes, **more):
    model = wrap(lambda x: yes(x).astype(np.int64), schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(1), data=np.asarray(rows, dtype=float), **more)


def shortest(method, x):
    """Length of each person's shortest walks to targets, nearest first."""
    return np.sort(shortest_to(method, x, method.columns_))


def shortest_to(method, x, weight):
    """(targets,) length of the shortest walk to each, by scipy on the dense graph with the person in it."""
    from scipy.sparse.csgraph import shortest_path

    graph = method.graph_
    stratum = _stratum_of(x[None], method.strata_, method.code_)
    entries = graph.enter(x[None], np.ones((1, x.size)) * weight, stratum)
    n = graph.n
    dense = np.full((n + 1, n + 1), np.inf)
    dense[:n, :n] = np.where(graph.step.toarray() > 0, graph.step.toarray(), np.inf)
    there = entries.node[0] >= 0
    dense[n, entries.node[0, there]] = entries.weight[0, there]
    return shortest_path(np.where(np.isfinite(dense), dense, 0), method="BF", indices=n)[method.targets_]


# -- the published method ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["knn", "epsilon", "kernel"])
@pytest.mark.parametrize("weighting", ["log", "inverse"])
def test_walks_are_as_short_as_brute_force_finds_them(mode, weighting):
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 10, (60, 2))
    problem = problem_of(plain(), rows, lambda x: x.sum(1) > 13)
    method = Face(mode=mode, weighting=weighting, neighbours=4, radius=0.3, immutables="ignore", ends=3).fit(
        problem
    )
    x = rng.uniform(0, 6, (12, 2))
    got = method.observed(x, k=3)
    for i, person in enumerate(x):
        np.testing.assert_allclose(got.length[i], shortest(method, person)[:3], rtol=1e-9)
        assert len(np.unique(got.target[i], axis=0)) == 3
        assert problem.reached(got.target[i])[0].all()
        for j in range(3):
            way = got.path[i, j][~np.isnan(got.path[i, j]).any(1)]
            np.testing.assert_array_equal(way[-1], got.target[i, j])


def test_walks_go_round_where_nobody_is():
    """FACE (arXiv:1909.09369), figure 1: an accepted person across empty land is farther than one along the crowd."""
    crowd = np.stack([np.linspace(0, 10, 60), np.ones(60)], 1)  # a road
    rows = np.concatenate([crowd, [[0.0, 4.0]]])  # one accepted person, straight across, alone
    problem = problem_of(plain(), rows, lambda x: (x[:, 0] > 9) | (x[:, 1] > 3.5))
    x = np.array([[0.3, 1.0]])
    face = Face(neighbours=3).fit(problem).recommend(x, minimal=False)
    assert face.after[0, 0, 0] > 9
    assert face.path[0, 0].shape[0] > 10
    near = wf.recommend(problem, x, method="nearest-observable", minimal=False)
    np.testing.assert_allclose(near.after[0, 0], [0.0, 4.0])


def test_rows_are_offered_as_they_are_where_immutables_are_ignored():
    schema = Schema(
        (
            Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
            Feature(name="income", kind="real", low=0, high=10),
        )
    )
    rows = np.array([[30, 1.0], [31, 2.0], [32, 3.0], [33, 5.0], [34, 6.0]])
    problem = problem_of(schema, rows, lambda x: x[:, 1] > 4)
    x = np.array([[30.0, 1.0], [33.0, 4.0]])
    method = Face(immutables="ignore", neighbours=2).fit(problem)
    got = method.recommend(x)
    assert got.outcome[:, 0].tolist() == [
        Outcome.NOT_FOUND,
        Outcome.FOUND,
    ]  # the first would have to grow older
    seen = method.observed(x)
    np.testing.assert_array_equal(seen.target[:, 0], [[33, 5.0], [33, 5.0]])
    kept = Face(neighbours=2).fit(problem).recommend(x)
    np.testing.assert_array_equal(kept.after[:, 0], [[30, 5.0], [33, 5.0]])


# -- targets -----------------------------------------------------------------------------------------------


def test_lonely_and_doubtful_targets_are_left_out():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(3, 0.5, (80, 2)), rng.normal(7, 0.3, (40, 2)), [[3.0, 9.5]]]).clip(
        0, 10
    )
    schema = plain()
    model = wrap(lambda x: np.stack([1 - x.sum(1) / 20, x.sum(1) / 20], 1), schema, classes=(0, 1))
    problem = Problem(schema, model, Target(favourable=1), data=rows)
    all_, dense = Face().fit(problem), Face(density=0.1).fit(problem)
    lonely = np.flatnonzero((all_.graph_.rows == [3.0, 9.5]).all(1))[0]
    assert lonely in all_.targets_
    assert lonely not in dense.targets_
    sure = Face(confidence=0.7).fit(problem)
    assert (problem.reached(sure.graph_.rows[sure.targets_])[1] >= 0.7).all()
    assert 0 < len(sure.targets_) < len(all_.targets_)
    with pytest.raises(MethodError, match="confidence=0.99"):
        Face(confidence=0.99).fit(problem)


def test_who_lives_apart_is_told():
    rows = np.concatenate([np.random.default_rng(2).uniform(0, 2, (30, 2)), [[9.0, 9.0], [9.1, 9.0]]])
    problem = problem_of(plain(), rows, lambda x: x[:, 0] > 8)
    method = Face(neighbours=3, mode="epsilon", radius=0.2).fit(problem)
    x = np.array([[1.0, 1.0], [8.0, 9.0]])
    assert method.unreachable(x).tolist() == [True, False]
    assert method.recommend(x[:1]).outcome[0, 0] is Outcome.NOT_FOUND
    assert len(np.unique(method.graph_.component())) > 1


def test_the_nearest_target_that_can_be_used_is_offered():
    """Against asking about every target, in order of the walks that scipy finds."""
    it = case("forest", "independent")
    method = Face(ends=400).fit(it.problem)
    people = it.problem.population(it.x)
    got = method.recommend(it.x, minimal=False)
    zero = np.zeros(1, dtype=np.int64)
    for i in np.flatnonzero(it.refused):
        far = shortest_to(method, it.x[i], people.free[i])
        one = it.problem.population(it.x[i : i + 1])
        for target in method.targets_[np.argsort(far, kind="stable")]:
            action = one.snap(zero, method.graph_.rows[target][None])
            action = np.where(it.problem.schema.differs(action, it.x[i]), action, np.nan)
            if not np.isnan(action).all() and one.evaluate(zero, action).reached[0]:
                np.testing.assert_array_equal(got.action[i, 0], action[0])
                break
        else:
            assert not got.found[i, 0]


@pytest.mark.parametrize("ends", [1, 3])
def test_whoever_can_use_none_of_the_nearest_gets_another(ends):
    """Few ends remembered: surer targets, then all of them; whoever has an option keeps one."""
    it = case("network", "independent")
    x = np.concatenate([it.x, it.problem.reference[:40]])  # whoever stands on a row of the graph, too
    few, all_ = (Face(ends=e, neighbours=8).fit(it.problem) for e in (ends, 400))
    assert len(few.tiers_) >= 1
    assert (few.recommend(x).found >= all_.recommend(x).found).all()


# -- the path ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["independent", "causal"])
@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_every_row_and_every_step_of_a_path_is_legal(kind, world):
    """Values that exist, nothing immutable moved, rules kept, never against a direction, the option at its end."""
    it = case(kind, world)
    schema = it.problem.schema
    wish = Preferences.none(schema, len(it.x)).freeze("phone").limit("income", high=6000.0)
    got = Face(neighbours=6).fit(it.problem).recommend(it.x, 2, preferences=wish, minimal=False)
    steps = 0
    for i, slot in zip(*np.nonzero(got.found), strict=True):
        way = got.path[i, slot][~np.isnan(got.path[i, slot]).all(1)]
        np.testing.assert_array_equal(way[-1], got.after[i, slot])
        stand = got.x[i]
        for row in way:
            assert schema.differs(row, stand).any()
            assert not schema.differs(row, got.x[i])[schema.immutable].any()
            assert schema.compiled_rules.satisfied(got.x[i : i + 1], row[None]).all()
            assert not schema.differs(row, got.x[i])[schema.index("phone")]
            if world == "independent":
                assert (((row - stand) * schema.direction) >= -1e-9).all()
                assert schema.legal(row[None], got.x[i : i + 1], np.ones((1, schema.d), bool)).all()
            stand = row
        steps += len(way)
    assert steps > 1.2 * got.found.sum()  # some walk over somebody


def test_walks_stay_among_people_of_the_same_kind():
    """Two groups that only their immutable value tells apart: nobody steps through the other group."""
    rng = np.random.default_rng(3)
    schema = Schema(
        (
            Feature(name="sex", kind="binary", levels=(0, 1), actionability="immutable"),
            Feature(name="a", kind="real", low=0, high=10),
            Feature(name="b", kind="real", low=0, high=10, direction="increase"),
        )
    )
    rows = np.concatenate([rng.integers(0, 2, (2200, 1)), rng.uniform(0, 10, (2200, 2))], 1)
    problem = problem_of(schema, rows, lambda x: x[:, 1] + x[:, 2] > 15)
    method = Face(neighbours=5).fit(problem)
    assert method.strata_ == [0]
    step = method.graph_.step.tocoo()
    known = method.graph_.rows
    assert (known[step.row, 0] == known[step.col, 0]).all()
    assert (known[step.row, 2] <= known[step.col, 2]).all()  # b only grows
    x = rows[~problem.reached(rows)[0]][:50]
    assert method.recommend(x).found.all()


def test_paths_are_saved_joined_and_taken(tmp_path):
    it = case("linear", "independent")
    method = Face(neighbours=6).fit(it.problem)
    got = method.recommend(it.x, 2)
    pytest.importorskip("pyarrow")
    for name in ("a.json", "a.parquet"):
        back = Recourse.load(got.save(tmp_path / name, exact=True))
        np.testing.assert_array_equal(back.path, got.path)
    one, other = got[:5], got[5:]
    joined = Recourse.concat([one, replace(other, path=other.path[:, :, :1]), one])
    assert joined.path.shape == (got.n + 5, 2, got.path.shape[2], got.d)
    np.testing.assert_array_equal(got[3].path[0], got.path[3])
    far = int((~np.isnan(got.path[:, 0]).all(2)).sum(1).argmax())
    assert "The way there leads by" in got.explain(far)
    plainly = wf.recommend(it.problem, it.x, method="nearest-observable")
    assert plainly.path.shape == (got.n, 1, 0, got.d)
    assert Recourse.load(plainly.save(tmp_path / "b.json", exact=True)).path.shape == plainly.path.shape


def test_gaps_are_walked_from_and_past():
    """A missing value is no place to walk to, and whoever has one may walk."""
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10, missing=True),
            Feature(name="c", kind="categorical", levels=("x", "y", "z"), missing=True),
        )
    )
    rng = np.random.default_rng(4)
    rows = np.stack([rng.uniform(0, 10, 300), rng.integers(0, 3, 300)], 1).astype(float)
    rows[::7, 0], rows[::11, 1] = np.nan, np.nan
    problem = problem_of(schema, rows, lambda x: np.nan_to_num(x[:, 0]) > 7)
    x = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, np.nan]])
    for mode in ("knn", "kernel"):
        got = Face(neighbours=8, mode=mode).fit(problem).recommend(x)
        assert got.found.all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "all"}, "mode='all'"),
        ({"weighting": "sum"}, "weighting='sum'"),
        ({"immutables": "maybe"}, "immutables='maybe'"),
        ({"neighbours": 0}, "neighbours=0"),
        ({"ends": 0}, "ends=0"),
        ({"radius": 0}, "radius=0"),
        ({"density": 1.0}, "density=1.0"),
        ({"confidence": -0.1}, "confidence=-0.1"),
        ({"pool": 1}, "pool=1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(MethodError, match=message):
        Face(**parameters)
