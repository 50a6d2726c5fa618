"""What each person may do, worked out for everybody at once: against a plain list of values, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target, over_draws
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="years", kind="integer", low=0, high=9, direction="increase", missing=True),
        Feature(name="debts", kind="integer", low=0, high=9, direction="decrease", missing=True),
        Feature(name="rate", kind="real", low=0, high=1, step=0.3),
        Feature(name="fixed", kind="integer", low=4, high=4, bounds="observed"),
        Feature(name="open", kind="integer", missing=True),
        Feature(name="floor", kind="real", low=0, step=0.5, direction="increase"),
        Feature(name="any", kind="real"),
        Feature(name="age", kind="integer", low=18, high=30, actionability="immutable"),
        Feature(name="school", kind="ordinal", levels=("a", "b", "c"), direction="increase", missing=True),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
        Feature(name="flag", kind="binary", levels=(0, 1), direction="decrease"),
    )
)


def some_people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, high = (np.where(np.isfinite(b), b, e) for b, e in ((SCHEMA.low, -3.0), (SCHEMA.high, 12.0)))
    x = np.asarray(SCHEMA.snap(rng.uniform(low, high, (n, SCHEMA.d))))
    x[rng.random(x.shape) < 0.4] = np.nan
    return np.where(np.isnan(x) & ~SCHEMA.missing, np.asarray(SCHEMA.snap(low)), x)


def question(schema: Schema, data: np.ndarray | None) -> Problem:
    def refuses(rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), dtype=int)

    return Problem(schema, wrap(refuses, schema, output="label", classes=(0, 1)), Target(1), data=data)


def values_in_reach(schema: Schema, j: int, low: float, high: float) -> np.ndarray:
    """All values of a feature's lattice from low to high, by looking at every one."""
    feature = schema.features[j]
    if feature.has_levels:
        every = np.arange(feature.n_levels, dtype=float)
    elif np.isnan(schema.step[j]):
        return np.linspace(low, high, 3)
    else:
        start = feature.low if feature.low is not None else -100.0
        end = feature.high if feature.high is not None else 100.0
        every = start + schema.step[j] * np.arange(int((end - start) / schema.step[j] + 1e-6) + 1)
    return every[(every >= low - 1e-9) & (every <= high + 1e-9)]


@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("wished", [True, False])
def test_who_may_act_on_what(data, wished):
    people_known = some_people(50, 1)
    problem = question(SCHEMA, people_known if data else None)
    x = some_people(60, 2)
    wishes = None
    if wished:
        wishes = Preferences.none(SCHEMA, len(x)).freeze("rate", who=[0, 3]).limit("years", high=5)
    people = problem.population(x, wishes)
    seen_low, seen_high = problem.observed_range
    for i, j in np.ndindex(x.shape):
        feature, own = SCHEMA.features[j], x[i, j]
        low = feature.low if feature.low is not None else np.fmin(seen_low[j], own)
        high = feature.high if feature.high is not None else np.fmax(seen_high[j], own)
        if feature.has_levels:
            low, high = 0, feature.n_levels - 1
        if feature.direction == "increase":
            low = np.fmax(low, own)
        if feature.direction == "decrease":
            high = np.fmin(high, own)
        if wishes is not None:
            high = np.fmin(high, wishes.high[i, j])
        low, high = np.fmax(low, -np.inf), np.fmin(high, np.inf)
        assert (people.low[i, j], people.high[i, j]) == (low, high)
        frozen = wishes is not None and wishes.frozen[i, j]
        if not np.isfinite([low, high]).all():  # nothing bounds it: somewhere there is a value
            able = True
        else:
            reach = values_in_reach(SCHEMA, j, float(low), float(high))
            able = bool((~(np.abs(reach - own) < 1e-9)).any())
            if feature.has_levels:
                assert people.level_ok[j][i].nonzero()[0].tolist() == reach.tolist()
        assert people.free[i, j] == (able and not frozen and feature.actionability == "actionable")


def test_no_wishes_and_empty_wishes_are_the_same_and_so_are_some_of_the_people():
    problem = question(SCHEMA, some_people(50, 1))
    x = some_people(40, 3)
    who = np.array([5, 3, 3, 39])
    plain, empty = problem.population(x), problem.population(x, Preferences.none(SCHEMA, len(x)))
    limited = problem.population(x, Preferences.none(SCHEMA, len(x)).limit("debts", low=3).weigh(job=2.0))
    for one, other in (
        (plain, empty),
        (plain.take(who), empty.take(who)),
        (plain.take(who), problem.population(x[who])),
    ):
        for name in (
            "x",
            "low",
            "high",
            "free",
            "levels",
            "weight",
            "max_changes",
            "rows",
            "may",
            "changeable",
        ):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.plain_weight and other.plain_weight
    part, anew = limited.take(who), problem.population(x[who], limited.preferences.take(who))
    for name in ("low", "high", "free", "levels", "weight", "max_changes"):
        np.testing.assert_array_equal(getattr(part, name), getattr(anew, name))
    assert not part.plain_weight


def test_some_of_the_people_keep_the_weights_that_a_search_set():
    """They fell back to those of the wishes, so that whoever was taken out of a batch was searched for otherwise."""
    x = some_people(12, 3)
    people, who = question(SCHEMA, some_people(50, 1)).population(x), np.array([7, 2])
    people.weight, people.plain_weight = np.random.default_rng(0).uniform(1, 3, x.shape), False
    part = people.take(who)
    np.testing.assert_array_equal(part.weight, people.weight[who])
    assert not part.plain_weight and not part.take(np.array([1])).plain_weight


def test_what_was_drawn_for_a_person_adds_up_to_the_same_alone():
    values = np.random.default_rng(0).uniform(size=(50, 40))
    for over in (over_draws.total, over_draws.mean, over_draws.deviation):
        np.testing.assert_array_equal(over(values), [over(values[:, [i]])[0] for i in range(40)])
    np.testing.assert_allclose(over_draws.deviation(values), values.std(0), atol=1e-12)
    assert any(values[:, [i]].mean(0)[0] != values.mean(0)[i] for i in range(40)), "else nothing is shown"
