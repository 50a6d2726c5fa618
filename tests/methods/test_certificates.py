"""Bounds on the cost of any option, against everything that people may do, and what is told of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import explain, letter
from wayforward.errors import MethodError
from wayforward.evaluate import evaluate
from wayforward.methods import certificates
from wayforward.methods.certificates import certified
from wayforward.model import train
from wayforward.problem import Problem, Target, with_room
from wayforward.recourse import PROVED_GAP, Recourse
from wayforward.testing.small_forests import RULES, least_cost, refused, wished

pytest.importorskip("sklearn")


@pytest.mark.parametrize(
    ("model", "method"), [("rf", "local-search"), ("gb", "growing-spheres"), ("lr", "growing-spheres")]
)
def test_no_option_costs_less_than_the_bound_and_one_costs_as_much(model, method):
    for seed, rules in enumerate(RULES):
        problem, x = refused(model, seed, rules)
        wishes = wished(problem.schema, x, seed)
        got = wf.recommend(problem, x, method, k=2, preferences=wishes, certify=True)
        best = least_cost(problem, problem.population(x, wishes))
        found = got.found[:, 0]
        np.testing.assert_allclose(got.bound[found, 0], best[found], rtol=1e-9)
        np.testing.assert_array_equal(
            got.proved_cheapest[found], got.cost[found, 0] <= best[found] * (1 + PROVED_GAP)
        )
        assert np.isnan(got.bound[~found]).all() and np.isnan(got.bound[:, 1]).all()


def test_a_search_that_stops_early_has_a_lower_bound():
    problem, x = refused("rf", 2, ("after.a <= after.b",))
    many = problem.population(x)
    best = least_cost(problem, many)
    for boxes in (1, 3, 10):
        forest = certificates.ForestBoxes.of(problem)
        assert (forest.least_cost(many, best * 2, boxes) <= best * (1 + 1e-12)).all()


def test_a_bound_without_conditions_holds_with_them():
    """What is asked for besides the decision only takes options away; so the bound is no dearer than without."""
    problem, x = refused("rf", 1, ())
    firm = Problem(problem.schema, problem.model, Target(1), data=problem.reference, margin=0.99)
    plain, more = (wf.recommend(it, x, certify=True) for it in (problem, firm))
    at = np.flatnonzero(more.found[:, 0])
    assert (more.cost[at, 0] > plain.cost[at, 0] + 1e-9).any()
    np.testing.assert_allclose(more.bound[at, 0], plain.bound[at, 0], rtol=1e-9)
    np.testing.assert_array_equal(more.gap[at, 0] > 0, more.cost[at, 0] > plain.cost[at, 0] + 1e-9)


def test_the_gap_is_that_of_what_is_shown():
    """Room and round numbers make a plan dearer: the bound stays, the gap grows."""
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=0, high=10) for name in ("a", "b", "c")))
    data = np.random.default_rng(0).uniform(0, 10, (600, 3))
    model = train("gb", schema, data, (data @ [1, 0.7, -0.4] > 9).astype(int), seed=0)
    problem = Problem(schema, model, Target(1), data=data)
    got = wf.recommend(problem, data[~problem.reached(data)[0]][:30], certify=True)
    assert got.proved_cheapest.mean() > 0.9
    near = with_room(got, most=0.2).rounded
    at = np.flatnonzero(got.found[:, 0] & np.isfinite(got.bound[:, 0]))
    np.testing.assert_array_equal(near.bound, got.bound)
    assert at.size and (near.cost[at, 0] > got.cost[at, 0]).any()
    np.testing.assert_allclose(
        near.gap[at, 0], np.where(near.gap[at, 0] > 0, near.cost[at, 0] / got.bound[at, 0] - 1, 0)
    )
    assert (near.gap[at, 0] >= 0).all()


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_files_and_tables_keep_bounds(tmp_path, ending):
    pytest.importorskip("pyarrow")
    problem, x = refused("gb", 1, ())
    got = wf.recommend(problem, x, "growing-spheres", certify=True)
    again = Recourse.load(got.save(tmp_path / f"r.{ending}", exact=True))
    np.testing.assert_array_equal(again.bound, got.bound)
    np.testing.assert_array_equal(again.gap, got.gap)
    assert {"bound", "gap"} <= set(got.to_frame("dict"))
    older = replace(got, bound=np.empty((0, 0)))
    assert "bound" not in older.to_frame("dict")
    assert np.isnan(Recourse.load(older.save(tmp_path / f"o.{ending}", exact=True)).bound).all()
    assert np.isnan(got.among(np.vstack([x, x[:1]]), {len(x): "odd"}).bound[-1]).all()


def test_words_say_what_was_proved():
    problem, x = refused("gb", 1, ())
    got = wf.recommend(problem, x, certify=True)
    i = int(np.flatnonzero(got.proved_cheapest)[0])
    assert "Any other plan takes at least as much effort: this was proved." in letter(problem, got, i)
    assert "Das ist bewiesen." in explain(got, i, problem=problem, language="de")
    less = got.with_bound(got.cost[:, 0] / 1.0301)
    assert "at most 4\u2009% more effort than the easiest plan possible" in explain(less, i).replace(
        "\u202f", "\u2009"
    )
    far = got.with_bound(got.cost[:, 0] / 3)
    assert "There may be an easier one." in explain(far, i)
    assert "effort" not in explain(wf.recommend(problem, x), i)


def test_evaluations_count_proofs():
    problem, x = refused("gb", 1, ())
    got = wf.recommend(problem, x, "growing-spheres", certify=True)
    numbers = evaluate(got, problem).to_dict()
    assert numbers["proved_cheapest"] == pytest.approx(got.proved_cheapest[got.found[:, 0]].mean())
    assert numbers["gap_at_most"] == pytest.approx(got.gap[got.found[:, 0], 0].mean())


def test_a_failure_costs_the_certificate_of_one_person(monkeypatch):
    problem, x = refused("gb", 1, ())
    whole = wf.recommend(problem, x, certify=True)
    odd = x[int(np.flatnonzero(whole.found[:, 0])[0])]

    class Fails:
        def least_cost(self, people, cutoff, limit):
            if (people.x == odd).all(1).any():
                raise RuntimeError("a solver crashed")
            return cutoff

    monkeypatch.setattr(certificates.ForestBoxes, "of", lambda problem: Fails())
    monkeypatch.setattr(
        certificates, "cheapest_among_all", lambda people, most, cutoff: np.full(people.n, np.nan)
    )
    monkeypatch.setattr(certificates, "no_cheaper", lambda people, cutoff, most: np.full(people.n, np.nan))
    got = certified(whole)
    hit = (x == odd).all(1)
    assert np.isnan(got.bound[hit]).all() and np.isfinite(got.bound[~hit & got.found[:, 0], 0]).all()
    np.testing.assert_array_equal(got.action, whole.action)


def test_mistakes_are_told():
    problem, x = refused("gb", 1, ())
    with pytest.raises(MethodError, match="number of boxes"):
        wf.recommend(problem, x, certify=0)
    got = wf.recommend(problem, x[:2])
    with pytest.raises(MethodError, match="does not know its problem"):
        certified(replace(got, problem=None))


LED = wf.Schema(
    (
        wf.Feature(name="salary", kind="integer", low=0, high=12),
        wf.Feature(name="savings", kind="real", low=0, high=12),
        wf.Feature(name="debt", kind="integer", low=0, high=8, direction="decrease"),
        wf.Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
    )
)


@pytest.mark.parametrize("kind", ["lr", "rf", "mlp"])
def test_in_a_causal_world_bounds_hold_for_what_is_set(kind):
    """Salary feeds savings: never above what fine trying finds, and mostly near it."""
    world = wf.SCM({"salary": "u", "savings": "0.5 * salary + u", "debt": "u - 0.25 * salary"})
    rng = np.random.default_rng(0)
    data = np.column_stack(
        [rng.integers(0, 8, 400), rng.uniform(0, 6, 400), rng.integers(2, 9, 400), rng.integers(0, 3, 400)]
    ).astype(float)
    score = data @ [0.4, 1.0, -0.8, 0.3]
    model = train(kind, LED, data, (score > np.quantile(score, 0.6)).astype(int), seed=0)
    problem = Problem(LED, model, Target(1), data=data, world=world)
    x = data[~problem.reached(data)[0]][:12]
    got = wf.recommend(problem, x, certify=True)
    assert got.found[:, 0].all() and np.isfinite(got.bound[:, 0]).mean() > 0.8
    people, who = problem.population(x), np.repeat(np.arange(len(x)), 4_000)
    action = people.snap(who, rng.uniform(LED.low, LED.high + 1, (len(who), 4)))
    action = np.where(rng.random(action.shape) < 0.5, action, np.nan)
    seen = people.evaluate(who, action)
    cost = np.where(seen.reached & seen.allowed & ~np.isnan(action).all(1), seen.cost, np.inf)
    assert np.isfinite(cost).sum() > 100
    with np.errstate(invalid="ignore"):
        assert not (cost < got.bound[who, 0] * (1 - 1e-9)).any()
    assert np.nanmedian(got.gap[:, 0]) < {"lr": 0.05, "rf": 0.3, "mlp": 0.3}[kind]


def test_where_nothing_is_proved_the_reason_is_kept():
    data = np.random.default_rng(0).uniform(0, 10, (200, 2))
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=0, high=10) for name in "ab"))
    problem = Problem(schema, wf.wrap(lambda rows: (rows.sum(1) > 12) * 1.0, schema), Target(1), data=data)
    got = wf.recommend(problem, data[~problem.reached(data)[0]][:3], certify=True)
    assert np.isnan(got.bound).all() and "could be bounded" in got.meta["not_certified"]
