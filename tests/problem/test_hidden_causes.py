"""Hidden common causes: how strong one may be before an option fails, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import ProblemError
from wayforward.problem import HiddenCauses
from wayforward.testing import RobustContract, case
from wayforward.world import CausalGraph, LinearWorld

SCHEMA = wf.Schema([
    wf.Feature(name="salary", kind="real", low=-1000, high=1000),
    wf.Feature(name="savings", kind="real", low=-1000, high=1000, actionability="mutable"),
])  # fmt: skip
X = np.array([[20.0, 20.0]])


def table(n: int = 400, hidden: float = 0.0) -> np.ndarray:
    """Savings are half the salary and noise; a hidden cause of both adds `hidden` times itself to each."""
    rng = np.random.default_rng(0)
    h = rng.normal(0, 1, n)
    salary = 30 + 10 * rng.normal(0, 1, n) + hidden * h
    return np.stack([salary, 0.5 * salary + 4 * rng.normal(0, 1, n) + hidden * h], axis=1)


def problem(robust: object = None, rows: np.ndarray | None = None) -> wf.Problem:
    """Salary and savings must add up to 60."""
    rows = table() if rows is None else rows
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0, 1.0]]), np.array([-60.0])
    world = LinearWorld.fit([("salary", "savings")], rows, SCHEMA)
    return wf.Problem(SCHEMA, model, wf.Target(favourable=1), data=rows, world=world, robust=robust)


def regression(rows: np.ndarray) -> tuple[float, float]:
    """The weight, and sd(savings given salary) / sd(salary)."""
    design = np.stack([np.ones(len(rows)), rows[:, 0]], axis=1)
    found, rest = np.linalg.lstsq(design, rows[:, 1], rcond=None)[:2]
    return float(found[1]), float(np.sqrt(rest[0] / (len(rows) - 2)) / rows[:, 0].std(ddof=1))


@pytest.mark.parametrize("salary", [36.0, 38.0, 39.5])
def test_a_row_bears_what_the_robustness_value_says(salary: float):
    """A raise of r needs the weight to be 20 / r - 1 at least; Cinelli & Hazlett (2020), eq. 7, with q their f."""
    asked = problem(HiddenCauses(0.1))
    weight, spread = regression(table())
    f = abs(weight - (20 / (salary - 20) - 1)) / spread
    value = (np.sqrt(f**4 + 4 * f**2) - f**2) / 2
    action = np.array([[salary, np.nan]])
    after = asked.consequences(X, action)
    assert asked.robust.measure(asked, X, action, after)[0] == pytest.approx(value, abs=2e-3)
    for strength, good in ((value - 0.003, True), (value + 0.003, False)):
        other = problem(HiddenCauses(strength))
        assert other.robust.holds(other, X, action, after)[0] == good


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.3])
def test_the_cheapest_option_pays_for_the_worst_weight(strength: float):
    """The raise r solves r (1 + weight - bias) = 20, over a range of 2000."""
    weight, spread = regression(table())
    bias = spread * strength / np.sqrt(1 - strength)
    got = wf.recommend(problem(HiddenCauses(strength)), X)
    assert got.found.all()
    assert got.cost[0, 0] * 2000 == pytest.approx(20 / (1 + weight - bias), rel=2e-3)


def test_the_bias_of_a_cause_that_was_hidden_is_what_the_bound_says():
    """With H in the table both partial R squared are known, and the weight without H is off by just the formula."""
    rng = np.random.default_rng(1)
    h, u, v = rng.normal(0, 1, (3, 200_000))
    salary, savings = 10 * u + 5 * h, 0.5 * (10 * u + 5 * h) + 4 * v + 3 * h
    weight, spread = regression(np.stack([salary, savings], axis=1))
    r_cause = 25 / 125
    left = 9 * (1 - r_cause)  # of H's part of savings, what salary does not carry
    r_effect = left / (left + 16)
    assert weight - 0.5 == pytest.approx(spread * np.sqrt(r_effect * r_cause / (1 - r_cause)), rel=0.02)


def test_two_pairs_are_worst_at_once():
    """Salary feeds savings, savings feed a rating: the worst product of two weights, by hand."""
    schema = wf.Schema([*SCHEMA.features, wf.Feature(name="rating", kind="real", low=-999, high=999)])
    rng = np.random.default_rng(2)
    rows = table()
    rows = np.column_stack([rows, 0.8 * rows[:, 1] + rng.normal(0, 2, len(rows))])
    model = LogisticRegression().fit(np.eye(2, 3), [0, 1])
    model.coef_, model.intercept_ = np.array([[0.0, 0.0, 1.0]]), np.array([-20.0])
    world = LinearWorld.fit([("salary", "savings"), ("savings", "rating")], rows, schema)
    asked = wf.Problem(
        schema, model, wf.Target(favourable=1), data=rows, world=world, robust=HiddenCauses(0.1)
    )
    condition = asked.robust
    low = [
        world.weights[b][a] - condition.bias((a, b))
        for a, b in (("salary", "savings"), ("savings", "rating"))
    ]
    x = np.array([[20.0, 10.0, 10.0]])
    raise_ = 10 / (low[0] * low[1])
    for more, good in ((1.001, True), (0.999, False)):
        action = np.array([[20 + more * raise_, np.nan, np.nan]])
        assert condition.holds(asked, x, action, asked.consequences(x, action))[0] == good


def test_what_it_refuses():
    for strength in (-0.1, 1.0, "much", True):
        with pytest.raises(ProblemError, match="strength"):
            HiddenCauses(strength)
    with pytest.raises(ProblemError, match="is no \\(cause, effect\\)"):
        problem(HiddenCauses(0.1, pairs=[("savings", "salary")]))
    model = problem().model
    with pytest.raises(ProblemError, match=r"LinearWorld\.fit"):
        wf.Problem(SCHEMA, model, wf.Target(favourable=1), data=table(), robust=HiddenCauses(0.1))
    with pytest.raises(ProblemError, match="follows exactly"):
        rows = table()
        rows[:, 0] = 3.0
        rows[:, 1] += np.random.default_rng(0).normal(0, 1, len(rows))
        asked = problem()
        wf.Problem(
            SCHEMA, model, wf.Target(favourable=1), data=rows, world=asked.world, robust=HiddenCauses(0.1)
        )


class TestHiddenCauses(RobustContract):
    condition = HiddenCauses(0.05)
    kinds = ("linear",)

    def problem_anew(self, kind: str) -> wf.Problem:
        plain = case(kind).problem
        rows = plain.reference[~np.isnan(plain.reference).any(1)]
        edges = [("income", "savings"), ("savings", "debt")]
        world = LinearWorld.fit(CausalGraph.read(edges, nodes=plain.schema.names), rows, plain.schema)
        return wf.Problem(
            plain.schema, plain.model, wf.Target(favourable=1), data=rows, world=world, robust=self.condition
        )
