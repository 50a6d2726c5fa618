"""vice and explanations-with-shap: the optimum on linear bins, locks, and the mutation set of a line."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward import Feature, Preferences, Problem, Schema, Target, recommend, wrap
from wayforward.errors import ProblemError
from wayforward.methods import method
from wayforward.streams import Streams
from wayforward.testing import MethodContract

NAMES = ("a", "b", "c", "e")
WEIGHT = np.array([2.0, 1.3, -0.7, 0.4])


class TestVice(MethodContract):
    method = "vice"
    kinds = ("linear", "forest", "network")
    worlds = ("independent",)
    finds = 0.5
    people = 8


class TestExplanationsWithShap(MethodContract):
    method = "explanations-with-shap"
    parameters = {"values": 4, "orders": 2}
    kinds = ("linear", "forest", "network")
    worlds = ("independent",)
    finds = 0.5
    people = 8


@pytest.fixture(scope="module")
def line():
    """A linear score on four numbers from 0 to 10: bins of width 1 have their middles at .5, 1.5, ..."""
    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=10) for name in NAMES))
    model = wrap(lambda rows: 1 / (1 + np.exp(np.clip(24.0 - rows @ WEIGHT, -30, 30))), schema)
    data = np.random.default_rng(1).uniform(0, 10, (200, 4))
    data[0], data[1] = 0.0, 10.0  # what people have goes from end to end
    return Problem(schema, model, Target(1), data=data)


def middles(n, seed=0):
    return np.random.default_rng(seed).integers(0, 10, (n, 4)) + 0.5


def fewest_steps(problem, x, most, reach):
    """The least number of steps by trying every combination; inf where none reaches the decision."""
    moves = np.array(list(itertools.product(range(-reach, reach + 1), repeat=4)), dtype=float)
    moves = moves[(moves != 0).sum(1) <= most]
    after = x + moves
    good = ((after > 0) & (after < 10)).all(1)
    good[good] = problem.reached(after[good])[0]
    return np.abs(moves[good]).sum(1).min(initial=np.inf)


@pytest.mark.parametrize(("most", "reach"), [(5, 5), (2, 3)])
def test_vice_takes_the_fewest_steps_on_linear_bins(line, most, reach):
    """Every combination of steps of twelve people; what it finds is as few as can be, within its features and bins."""
    x = middles(60)
    x = x[~line.reached(x)[0]][:12]
    got = recommend(line, x, method="vice", most=most, reach=reach)
    least = np.array([fewest_steps(line, row, most, reach) for row in x])
    np.testing.assert_allclose(np.where(got.found[:, 0], got.cost[:, 0] * 10, np.inf), least)
    assert np.isfinite(least).sum() >= 4
    gap = np.abs(got.after[:, 0] - x)[got.found[:, 0]]
    assert gap.max() <= reach and ((gap > 0).sum(1) <= most).all()


def test_locks_hold(line):
    """Without the heaviest feature it takes more steps, or none do."""
    x = middles(60)
    x = x[~line.reached(x)[0]][:12]
    wish = Preferences.none(line.schema, 12).freeze("a")
    got, free = recommend(line, x, method="vice", preferences=wish), recommend(line, x, method="vice")
    assert got.found.any() and np.isnan(got.action[:, :, 0]).all()
    assert (got.cost[got.found[:, 0], 0] >= free.cost[got.found[:, 0], 0] - 1e-9).all()


def test_vice_moves_levels_one_by_one_and_leaves_categories_alone():
    schema = Schema(
        (
            Feature(name="step", kind="ordinal", levels=("low", "middle", "high", "top")),
            Feature(name="town", kind="categorical", levels=("x", "y")),
        )
    )
    it = Problem(schema, wrap(lambda rows: rows[:, 0] / 4 + 0.1 * rows[:, 1], schema), Target(1))
    got = recommend(it, np.array([[0.0, 0.0]]), method="vice", k=3)
    assert got.action[0, 0, 0] == 3.0 or got.action[0, 0, 0] == 2.0
    assert np.isnan(got.action[:, :, 1]).all()
    only = Schema((Feature(name="town", kind="categorical", levels=("x", "y")),))
    with pytest.raises(ProblemError, match="sedc"):
        method("vice").fit(Problem(only, wrap(lambda rows: 0.4 + 0.2 * rows[:, 0], only), Target(1)))


def test_vice_leaves_a_missing_value_and_moves_the_others():
    schema = Schema(
        (
            Feature(name="saved", kind="real", low=0, high=10, missing=True),
            Feature(name="paid", kind="real", low=0, high=10),
        )
    )
    model = wrap(lambda rows: np.nan_to_num(rows[:, 0]) / 40 + rows[:, 1] / 14, schema)
    data = np.random.default_rng(0).uniform(0, 10, (50, 2))
    got = recommend(Problem(schema, model, Target(1), data=data), np.array([[np.nan, 5.0]]), method="vice")
    assert got.found[0, 0] and np.isnan(got.after[0, 0, 0]) and got.after[0, 0, 1] > 7


def test_the_mutation_set_of_a_line_is_what_speaks_against_it(line):
    """Features with w_j (x_j - mean of the background) below nought, and no other is changed."""
    x = middles(40)
    x = x[~line.reached(x)[0]]
    fitted = method("explanations-with-shap").fit(line)
    people = line.population(x)
    against = WEIGHT * (x - fitted.background_.mean(0)) < 0
    np.testing.assert_array_equal(fitted.mutation_set(people, Streams.of(x, 0)), against)
    got = fitted.recommend(x, 2)
    # whoever reaches the decision with all of these at the best value that is tried is served, and nobody else
    best = np.nanmax(fitted.tried_ * np.sign(WEIGHT), axis=0) * np.sign(WEIGHT)
    served = line.reached(np.where(against & (np.abs(best) > 0), best, x))[0]
    np.testing.assert_array_equal(got.found[:, 0], served)
    assert 20 < served.sum() < len(x)
    assert not (~np.isnan(got.action) & ~against[:, None]).any()
