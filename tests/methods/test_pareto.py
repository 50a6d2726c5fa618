"""Options none of which is beaten, beside the front of all rows of a lattice."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from wayforward import Feature, Preferences, Problem, Schema, Target, recommend, wrap
from wayforward.errors import MethodError
from wayforward.methods.pareto import objective_values, unbeaten
from wayforward.problem.plausibility import Lof


def lattice(seed, **more):
    schema = Schema(
        tuple(Feature(name=f"x{j}", kind="integer", low=0, high=5, **more.get(f"x{j}", {})) for j in range(4))
    )
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (300, 4)).astype(float)
    y = (x @ rng.normal(1, 0.4, 4) + 2 * (x[:, 0] > 3) * (x[:, 1] > 2) > 11.5).astype(int)
    forest = RandomForestClassifier(12, max_depth=5, random_state=seed).fit(x, y)
    problem = Problem(schema, wrap(forest, schema), Target(1), data=x)
    return problem, x[~problem.reached(x)[0]][:12]


def every_option(problem, x):
    """(N, d) all rows that turn the decision."""
    rows = np.array(list(product(range(6), repeat=4)), dtype=float)
    return rows[problem.reached(rows)[0] & (rows != x).any(1)]


@pytest.mark.parametrize("seed", range(4))
def test_the_whole_front_of_cost_and_changes(seed):
    problem, people = lattice(seed)
    got = recommend(problem, people, k=4, pareto=("cost", "changes"))
    several = seed in (0, 2)  # elsewhere one change is the cheapest for everybody
    assert (got.found.sum(1) > 1).any() == several
    for i, x in enumerate(people):
        rows = every_option(problem, x)
        acts = np.where(rows != x, rows, np.nan)
        worth = np.stack([problem.cost.total(np.tile(x, (len(rows), 1)), acts, None), (rows != x).sum(1)], 1)
        front = np.unique(worth[unbeaten(worth[None])[0]].round(9), axis=0)
        mine = np.unique(objective_values(got, ("cost", "changes"))[i][got.found[i]].round(9), axis=0)
        np.testing.assert_allclose(mine, front)


def test_no_option_is_beaten_and_each_limit_is_met_as_cheaply_as_can_be():
    problem, people = lattice(0, x0={"pace": 0.5}, x1={"pace": 1.0}, x2={"pace": 4.0, "delay": 1.0})
    names = ("cost", "changes", "months", "plausibility")
    density = Lof()
    got = recommend(problem, people, k=3, pareto=("cost", "months"))
    assert unbeaten(objective_values(got, ("cost", "months")))[got.found].all()
    cheapest = recommend(problem, people, k=1)
    np.testing.assert_allclose(got.cost[:, 0], cheapest.cost[:, 0])
    assert (np.nanmin(got.months, axis=1) < cheapest.months[:, 0] - 1e-9).any()
    with pytest.raises(MethodError, match="judges no plausibility"):
        recommend(problem, people, k=3, pareto=names)
    judged = Problem(problem.schema, problem.model, Target(1), data=problem.reference, plausibility=density)
    every = recommend(judged, people, k=5, pareto=names)
    value = objective_values(every, names, judged.plausibility)
    assert unbeaten(value)[every.found].all() and (every.found.sum(1) > 1).any()
    assert (every.cost[:, 1:] >= every.cost[:, :-1])[every.found[:, 1:]].all()


def test_wishes_hold_for_all_and_a_person_alone_gets_the_same():
    problem, people = lattice(1)
    wishes = Preferences.none(problem.schema, len(people)).freeze("x0")
    got = recommend(problem, people, k=3, pareto=("cost", "changes"), preferences=wishes)
    assert np.isnan(got.action[:, :, 0]).all()
    alone = recommend(
        problem, people[[2]], k=3, pareto=("cost", "changes"), preferences=wishes.take(np.array([2]))
    )
    np.testing.assert_array_equal(alone.action[0], got.action[2])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pareto": ("cost",)}, "One objective has no front"),
        ({"pareto": ("cost", "speed")}, "no objective 'speed'"),
        ({"pareto": ("cost", "months")}, "Nothing takes time"),
        ({"pareto": ("cost", "changes"), "kinds": ("fewest",)}, "both given"),
        ({"pareto": ("cost", "changes"), "k": 0}, "k=0"),
        ({"pareto": ("cost", "changes"), "k": 5001}, "up to 5,000"),
    ],
)
def test_what_has_no_front_is_refused(given, says):
    problem, people = lattice(2)
    with pytest.raises(MethodError, match=says):
        recommend(problem, people, **given)


def test_unbeaten_by_hand():
    value = np.array([[[1.0, 3], [2, 2], [2, 3], [3, 1], [3, 1], [np.inf, np.inf]]])
    assert unbeaten(value).tolist() == [[True, True, False, True, True, False]]
