"""Offers beside what exists, models as good, misreports: closed forms of a line, and offers that were tampered with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.honesty import Honesty, exaggeration, family, honesty, offers
from wayforward.impact.honesty.exaggeration import SIZES
from wayforward.impact.honesty.offers import SAME, WITHIN, _gaps, union
from wayforward.problem.cost import cost_named

WEIGHT, OFFSET = np.array([0.5, -1.0, 1.2]), -0.3


def line(offset: float = OFFSET) -> LogisticRegression:
    """A linear classifier of three numbers, made and not trained."""
    model = LogisticRegression()
    model.coef_, model.intercept_ = WEIGHT[None], np.array([offset])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 3
    return model


def numbers(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, 3))


@pytest.fixture(scope="module")
def problem() -> wf.Problem:
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=-3, high=3) for name in "abc"))
    return wf.Problem(schema, line(), wf.Target(favourable=1), data=numbers(300, 1))


@pytest.fixture(scope="module")
def refused(problem: wf.Problem) -> np.ndarray:
    x = numbers(120, 2)
    return x[~problem.reached(x)[0]][:50]


def test_cheapest_offers_are_proved_and_nothing_beats_them(problem: wf.Problem, refused: np.ndarray) -> None:
    """Of a linear model local-search finds the cheapest options, and a bound proves it."""
    got = offers(problem, wf.recommend(problem, refused), ("local-search",))
    assert got.people == len(refused)
    assert got.cheaper.value == 0 and got.excess.value == 0
    assert got.proved.value > 0.9


def test_offers_made_for_another_cost_are_counted_in_this_one(
    problem: wf.Problem, refused: np.ndarray, tmp_path: Path
) -> None:
    """What they cost there says nothing here: the cheapest ways by one cost were called dear by the other's unit."""
    cheapest = wf.recommend(problem, refused).cost[:, 0]
    made = wf.recommend(problem.with_(cost=cost_named("percentile-total")), refused)
    want = problem.check(refused, made.action).cost[:, 0]
    assert not np.allclose(made.cost[:, 0], want, rtol=0.01)
    made.save(tmp_path / "offers.json", exact=True)
    for offered in (made, wf.Recourse.load(tmp_path / "offers.json")):
        got = honesty(problem, offered, methods=["local-search"], costs=()).offers
        assert got.cheaper.value == np.mean(want > cheapest * (1 + SAME))
        assert got.excess.value == pytest.approx(np.maximum(want / cheapest - 1, 0).mean(), abs=1e-6)
        assert got.proved.value <= 1 - got.cheaper.value


def test_dearer_offers_for_one_group_are_found(problem: wf.Problem, refused: np.ndarray) -> None:
    """Every other person is shown their second option as if it were the best there is."""
    full = wf.recommend(problem, refused, k=3)
    first, second = (problem.check(refused, full.action[:, [o]]) for o in (0, 1))
    worse = (np.arange(len(refused)) % 2 == 1) & second.found[:, 0]
    offered = problem.check(refused, np.where(worse[:, None, None], second.action, first.action))
    groups = Groups("half", ("even", "odd"), (np.arange(len(refused)) % 2).astype(int))
    got = offers(problem, offered, ("local-search",), [groups])
    excess = np.where(worse, offered.cost[:, 0] / first.cost[:, 0] - 1, 0.0)
    assert got.cheaper.value == pytest.approx((excess > 1e-6).mean())
    assert got.excess.value == pytest.approx(excess.mean())
    (gap,) = got.gaps
    assert gap.first == "even" and gap.estimate.value < 0 and gap.significant


def test_what_two_people_pay_too_much_follows_from_no_comparison() -> None:
    """Told of the large groups one by one, it would be what everybody else's mean leaves: a guard is withheld, too."""
    label, excess = np.repeat([0, 1, 2], [20, 15, 2]), np.linspace(0, 1, 37)
    excess[3] = np.nan
    (gap,) = _gaps(excess, [Groups("club", ("many", "guard", "two"), label)], 0)
    assert (gap.first, gap.counts) == ("many", (19, 17))
    assert np.dot(gap.values, gap.counts) == pytest.approx(
        np.nansum(excess)
    )  # which tells no more than all do


def test_options_that_are_kept_back_are_found(problem: wf.Problem, refused: np.ndarray) -> None:
    """Nobody of the first ten is offered anything; all of them could be."""
    full = wf.recommend(problem, refused)
    action = full.action.copy()
    action[:10] = np.nan
    got = offers(problem, problem.check(refused, action), ("local-search",), boxes=0)
    assert got.withheld.value == 1.0 and got.withheld.n == 10
    assert got.proved.n == 0


def test_one_way_is_shown_where_there_are_others(problem: wf.Problem, refused: np.ndarray) -> None:
    """Beside loops over all options of the union; whoever is shown all of them is shown every way."""
    offered = wf.recommend(problem, refused)
    every = union(problem, offered, ("local-search",), 0)
    brute = []
    for i in range(len(refused)):
        shown = set(np.flatnonzero(offered.acted[i, 0]))
        brute.append(
            any(
                every.found[i, o]
                and every.cost[i, o] <= (1 + WITHIN) * every.cost[i, 0]
                and not shown <= set(np.flatnonzero(every.acted[i, o]))
                for o in range(every.k)
            )
        )
    assert offers(problem, offered, ("local-search",), boxes=0).one_way.value == pytest.approx(np.mean(brute))
    assert np.mean(brute) > 0.2
    assert offers(problem, every, ("local-search",), boxes=0).one_way.value < np.mean(brute)


def test_a_cost_that_hides_an_act_is_seen_by_another_yardstick(
    problem: wf.Problem, refused: np.ndarray
) -> None:
    """Offers that never act on c, which turns most for its cost, are dear by every usual cost, and c is named."""
    wishes = wf.Preferences.none(problem.schema, len(refused)).freeze("c")
    hidden = replace(wf.recommend(problem, refused, preferences=wishes), preferences=None)
    got = offers(problem, hidden, ("local-search",), costs=("l1", "mad"), boxes=0)
    for one in got.yardsticks:
        assert one.avoided[0][0] == "c"
        assert one.cheaper.value > 0.5
    honest = offers(problem, wf.recommend(problem, refused), ("local-search",), costs=("l1",), boxes=0)
    assert honest.yardsticks[0].cheaper.value == 0


def test_a_misreport_turns_whom_the_line_says(problem: wf.Problem, refused: np.ndarray) -> None:
    """A feature that is off by s of its range moves the score by its weight times that; within bounds."""
    width = problem.range_widths
    for one in exaggeration(problem, refused):
        j = problem.schema.index(one.feature)
        for size, share in zip(SIZES, one.turned, strict=True):
            far = np.clip(refused[:, j] + np.sign(WEIGHT[j]) * size * width[j], -3, 3)
            score = refused @ WEIGHT + OFFSET + WEIGHT[j] * (far - refused[:, j])
            assert share.value == pytest.approx((score >= 0).mean())


def test_levels_are_misreported_as_any_other() -> None:
    """A level that alone decides turns everybody."""
    schema = wf.Schema((
        wf.Feature(name="a", kind="real", low=0, high=1),
        wf.Feature(name="job", kind="ordinal", levels=("no", "yes"), actionability="immutable"),
    ))  # fmt: skip
    x = np.column_stack([np.linspace(0, 1, 20), np.zeros(20)])
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[0.0, 4.0]]), np.array([-2.0])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=np.vstack([x, x + [0, 1]]))
    got = {one.feature: one for one in exaggeration(problem, x)}
    assert got["job"].turned[-1].value == 1.0 and not got["job"].actionable
    assert got["a"].turned[-1].value == 0.0 and got["a"].least is None


def test_a_family_of_one_line_changes_nothing_and_a_stricter_one_everything(
    problem: wf.Problem, refused: np.ndarray
) -> None:
    """Offers lie on the boundary: a line that asks for more refuses them all, and is dearer for everybody."""
    offered = wf.recommend(problem, refused)
    same = family(problem, offered, [line()])
    assert (same.refusal.value, same.option.value, same.spread.value, same.rank) == (0.0, 0.0, 0.0, 0)
    both = family(problem, offered, [line(OFFSET - 0.2), line(OFFSET + 0.05)])
    assert both.option.value == 1.0
    assert both.rank == 1 and both.costs[0] > both.cost > both.costs[1]
    yes = refused @ WEIGHT + OFFSET + 0.05 >= 0
    assert both.refusal.value == pytest.approx(yes.mean())
    assert family(problem, offered, []).models == 0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_of_few_people_honesty_tells_no_more_than_an_audit(
    problem: wf.Problem, refused: np.ndarray, n: int
) -> None:
    """What the one refused person pays, under each model, and what they gain by lying, was in the JSON of an audit."""
    groups = Groups("g", ("a", "b"), np.arange(n) % 2)
    offered = wf.recommend(problem, refused[:n])
    got = honesty(problem, offered, groups=groups, models=[line(OFFSET - 0.1)], boxes=50).to_dict()
    told = [one for one in got["offers"].values() if isinstance(one, dict)]
    told += [one["cheaper"] for one in got["offers"]["yardsticks"]]
    told += [one for one in got["family"].values() if isinstance(one, dict)]
    told += [share for one in got["misreports"] for share in one["turned"]]
    assert len(told) > 15 and not got["offers"]["gaps"]
    assert all(one["least"] is None for one in got["misreports"])
    cost, costs, rank = (got["family"][name] for name in ("cost", "costs", "rank"))
    if n < 3:
        assert all(one["value"] is None and one["n"] == 0 for one in told)
        assert (got["offers"]["people"], cost, costs, rank) == (None, None, [None], None)
        return
    assert got["offers"]["people"] == n and isinstance(rank, int)
    assert got["offers"]["excess"]["std"] is got["family"]["spread"]["low"] is None
    assert cost == float(f"{offered.cost[:, 0].mean():.1e}") and cost not in offered.cost


def test_the_whole_is_plain_data_and_errors_name_what_is_wrong(
    problem: wf.Problem, refused: np.ndarray
) -> None:
    """Groups of other people, and people whom nobody refuses."""
    import json

    offered = wf.recommend(problem, refused[:20])
    got = honesty(problem, offered, costs=(), boxes=0, models=[line(OFFSET + 0.1)])
    assert isinstance(got, Honesty)
    assert json.loads(json.dumps(got.to_dict()))["offers"]["people"] == 20
    with pytest.raises(DataError, match="labels of 3 people"):
        honesty(problem, offered, groups=Groups("g", ("a", "b"), np.array([0, 1, 1])))
    accepted = np.array([[1.0, -1.0, 1.0]])
    with pytest.warns(UserWarning, match="accepts every one"):
        nobody = wf.recommend(problem, accepted)
    with pytest.raises(DataError, match="Nobody of these people is refused"):
        honesty(problem, nobody)
