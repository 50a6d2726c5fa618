"""Context that drifts until a plan is done: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import ProblemError, SchemaError
from wayforward.problem import Drift
from wayforward.testing import RobustContract, case

PACE = 4.0
SCHEMA = wf.Schema([
    wf.Feature(name="income", kind="real", low=0, high=1000, pace=PACE),
    wf.Feature(name="rent", kind="real", low=0, high=1000, actionability="mutable"),
    wf.Feature(name="debt", kind="real", low=0, high=1000, actionability="mutable"),
])  # fmt: skip
X = np.array([[20.0, 10.0, 5.0]])


def problem(robust: object = None, world: object = None, debt: float = 0.0) -> wf.Problem:
    """Income less rent, and less `debt` times the debt, must be 40."""
    model = LogisticRegression().fit(np.eye(2, 3), [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0, -1.0, -debt]]), np.array([-40.0])
    return wf.Problem(SCHEMA, model, wf.Target(favourable=1), world=world, robust=robust)


@pytest.mark.parametrize(("rate", "wait"), [(0.0, 0.0), (1.0, 0.0), (3.0, 0.0), (1.0, 6.0), (-1.0, 0.0)])
def test_a_plan_runs_after_a_bar_that_moves(rate: float, wait: float):
    """Income grows by 4 a month and the rent by r: a gap of 30 takes 30 / (1 - r / 4) more, and r w / (1 - r / 4)
    for a wait of w. A rent that falls helps nobody: today's decision counts, too."""
    got = wf.recommend(problem(Drift({"rent": rate}, wait=wait)), X)
    needed = max(30.0, (30 + rate * wait) / (1 - rate / PACE))
    assert got.found.all() and got.action[0, 0, 0] == pytest.approx(20 + needed, rel=2e-3)


def test_who_is_slower_than_the_world_never_arrives():
    assert not wf.recommend(problem(Drift({"rent": PACE + 0.1})), X).found.any()


def test_the_worst_of_an_interval_counts():
    one, two = (wf.recommend(problem(Drift({"rent": rate})), X) for rate in (2.0, (-5.0, 2.0)))
    assert one.cost[0, 0] == pytest.approx(two.cost[0, 0], rel=1e-3)


def test_months_that_a_row_bears():
    """An income of 80 leaves 30 above the bar: 30 / r months of a rent that grows by r; it takes 15 to get there."""
    for rate, good in ((1.9, True), (2.1, False)):
        asked = problem(Drift({"rent": rate}))
        action = np.array([[80.0, np.nan, np.nan]])
        after = asked.consequences(X, action)
        assert asked.robust.measure(asked, X, action, after)[0] == pytest.approx(30 / rate, abs=0.02)
        assert asked.robust.holds(asked, X, action, after)[0] == good
    calm = problem(Drift({"rent": 0.0}))
    assert calm.robust.measure(calm, X, action, after)[0] == pytest.approx(120)


def test_what_hangs_on_the_context_follows():
    """Debt grows by half of what the rent does: the bar moves by 1 + .5 for each unit of rent."""
    world = wf.SCM({"income": "u", "rent": "u", "debt": "0.5 * rent + u"})
    asked = problem(Drift({"rent": 1.0}), world, debt=1.0)
    (rows,) = asked.robust.profiles(asked, X, np.full((1, 3), np.nan), np.array([8.0]))
    np.testing.assert_allclose(rows, [[20, 18, 9]])
    got = wf.recommend(asked, X)
    assert got.action[0, 0, 0] == pytest.approx(20 + 35 / (1 - 1.5 / PACE), rel=2e-3)


def test_a_context_stays_in_its_range():
    asked = problem(Drift({"rent": 100.0}))
    (rows,) = asked.robust.profiles(asked, X, np.full((1, 3), np.nan), np.array([50.0]))
    assert rows[0, 1] == 1000


def test_what_it_refuses():
    for rates in ({}, 3, {"rent": "much"}, {"rent": (2, 1)}, {"rent": (1, 2, 3)}, {"rent": np.nan}):
        with pytest.raises(ProblemError, match="rate"):
            Drift(rates)
    with pytest.raises(ProblemError, match="wait"):
        Drift({"rent": 1}, wait=-1)
    with pytest.raises(ProblemError, match="act on 'income'"):
        problem(Drift({"income": 1}))
    with pytest.raises(SchemaError, match="'wage'"):
        problem(Drift({"wage": 1}))
    timeless = wf.Schema([
        wf.Feature(name="income", kind="real", low=0, high=1000),
        wf.Feature(name="rent", kind="real", low=0, high=1000, actionability="mutable", pace=PACE),
    ])  # fmt: skip
    rule = wf.wrap(lambda rows: (rows[:, 0] > 40).astype(float), timeless, output="label", classes=(0, 1))
    with pytest.raises(ProblemError, match="no plan takes any time"):
        wf.Problem(timeless, rule, wf.Target(favourable=1), robust=Drift({"rent": 1}))
    assert wf.Problem(timeless, rule, wf.Target(favourable=1), robust=Drift({"rent": 1}, wait=2))


class TestDrift(RobustContract):
    condition = Drift({"age": (0.0, 0.1)}, wait=3)
    kinds = ("linear",)

    def test_the_case_has_a_context(self):
        assert case("linear").problem.schema["age"].actionability == "immutable"
