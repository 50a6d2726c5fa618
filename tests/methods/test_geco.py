"""geco: the cheapest option of at most two changes on lattices, rules that are never broken, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from wayforward import Feature, Problem, Schema, Target, wrap
from wayforward.methods import method
from wayforward.testing import MethodContract

EVERY = np.array(list(product(range(6), repeat=4)), dtype=float)


class TestContract(MethodContract):
    method = "geco"
    parameters = {"seeds": 8, "keep": 30, "mutants": 30, "crosses": 30, "rounds": 6}
    finds = 0.9
    people = 8


def lattice(seed, rules=()):
    """A forest on 1,296 rows, and people whom it refuses; more than one change is needed by many of them."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="integer", low=0, high=5) for j in range(4)), rules)
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (300, 4)).astype(float)
    y = (x @ rng.normal(1, 0.4, 4) + 2 * (x[:, 0] > 3) * (x[:, 1] > 2) > 11.5).astype(int)
    forest = RandomForestClassifier(12, max_depth=5, random_state=seed).fit(x, y)
    problem = Problem(schema, wrap(forest, schema), Target(1), data=x)
    return problem, EVERY[~problem.reached(EVERY)[0]][::9]


def least(problem, x, changes):
    """The least cost of a person's options with at most so many changes, among all rows; inf where there is none."""
    yes = EVERY[problem.reached(EVERY)[0]]
    action = np.where(yes != x, yes, np.nan)
    people, zero = problem.population(x[None]), np.zeros(len(yes), dtype=np.int64)
    good = ((yes != x).sum(1) <= changes) & people.allowed(zero, action, yes)
    return people.cost(zero, action)[good].min(initial=np.inf)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "rules", [(), ("if after.x0 >= 3 then after.x1 >= 4", "after.x2 <= after.x3")], ids=["free", "rules"]
)
def test_of_options_with_at_most_two_changes_it_returns_the_cheapest(seed, rules):
    problem, people = lattice(seed, rules)
    people = np.array([x for x in people if np.isfinite(least(problem, x, 2))])[:12]
    assert len(people) >= 8
    fitted = method("geco", complete=False, shrink=False).fit(problem)
    got = fitted.recommend(people, minimal=False)
    assert (got.cost[:, 0] <= [least(problem, x, 2) + 1e-9 for x in people]).all()
    assert (got.cost[:, 0] >= [least(problem, x, 4) - 1e-9 for x in people]).all()
    assert problem.schema.compiled_rules.satisfied(people, got.after[:, 0]).all()


def test_the_rule_costs_something():
    """The test above would pass without rules if they bound nobody."""
    free, people = lattice(0)
    bound, _ = lattice(0, ("if after.x0 >= 3 then after.x1 >= 4", "after.x2 <= after.x3"))
    assert any(least(free, x, 2) < least(bound, x, 2) for x in people[:40])
