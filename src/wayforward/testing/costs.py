"""What must hold for every cost, whatever it measures: a test class to inherit.

Example: ``class TestMine(CostContract): cost = Mine()``.
"""

from __future__ import annotations

import json
import pickle
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest

from wayforward.errors import ProblemError
from wayforward.problem import Cost
from wayforward.problem.cost import cost_from_dict
from wayforward.schema import Schema
from wayforward.testing.problems import random_people, random_schema


@lru_cache(maxsize=4)
def _people(n: int = 120) -> tuple[Schema, np.ndarray, np.ndarray]:
    """A schema, people (n, d), and an action (n, 2, d) of each: up to three features, NaN elsewhere."""
    rng = np.random.default_rng(5)
    schema = random_schema(rng, rules=False)
    x, goal = random_people(schema, n, rng), random_people(schema, 2 * n, rng).reshape(n, 2, -1)
    acts = schema.actionable & (rng.random(goal.shape) < 0.4)
    return schema, x, np.where(acts, goal, np.nan)


class CostContract:
    """Inherit, give the cost (unfitted), and these tests run.

    cost: as a user makes it. stored: False for a cost that cannot be written to a file.
    """

    cost: ClassVar[Cost]
    stored: ClassVar[bool] = True

    def fitted(self) -> tuple[Cost, Schema, np.ndarray, np.ndarray]:
        """The fitted cost, a schema, people (n, d) and actions (n, 2, d)."""
        schema, x, action = _people()
        return self.cost.fit(schema, x), schema, x, action

    def test_it_says_what_it_is(self) -> None:
        """A name, a unit for people, and one sentence."""
        cost = self.fitted()[0]
        assert cost.name and cost.unit and cost.describe()

    def test_unfitted_it_asks_to_be_fitted(self) -> None:
        """Raises: ProblemError before `fit`."""
        _, x, action = _people()
        with pytest.raises(ProblemError):
            self.cost.total(x, action)

    def test_it_says_the_same_in_another_process(self) -> None:
        """Pickled and read again, fitted: the same totals and parts."""
        cost, _, x, action = self.fitted()
        there = pickle.loads(pickle.dumps(cost))
        np.testing.assert_array_equal(there.total(x, action[:, 0]), cost.total(x, action[:, 0]))
        np.testing.assert_array_equal(there.parts(x, action[:, 0]), cost.parts(x, action[:, 0]))

    def test_doing_nothing_is_free_and_acting_is_not(self) -> None:
        """0 where every feature is left alone or set to the value it has; above 0 elsewhere; never NaN."""
        cost, schema, x, action = self.fitted()
        np.testing.assert_array_equal(cost.total(x, np.full_like(x, np.nan)), 0.0)
        np.testing.assert_allclose(cost.total(x, np.where(schema.actionable, x, np.nan)), 0.0, atol=1e-12)
        total = cost.total(x, action)
        moves = (~np.isnan(action) & schema.differs(action, x[:, None])).any(-1)
        assert np.isfinite(total).all() and (total[moves] > 0).all() and (total[~moves] < 1e-9).all()

    def test_a_row_costs_the_same_alone(self) -> None:
        """To the last bit, in any company and any order."""
        cost, _, x, action = self.fitted()
        total = cost.total(x, action)
        np.testing.assert_array_equal(cost.total(x[::-1], action[::-1]), total[::-1])
        for i in (0, 7, 50):
            np.testing.assert_array_equal(cost.total(x[i : i + 1], action[i : i + 1]), total[i : i + 1])

    def test_parts_add_up_where_the_cost_is_separable(self) -> None:
        """Weighted parts sum to the total; `part` is a column of `parts`."""
        cost, schema, x, action = self.fitted()
        weight = np.random.default_rng(1).uniform(0.5, 2.0, x.shape)
        parts = cost.parts(x, action)
        assert parts.shape == action.shape and (parts[np.isnan(action)] == 0).all()
        j = int(np.flatnonzero(schema.actionable)[0])
        np.testing.assert_allclose(cost.part(j, x[:, None, j], action[..., j]), parts[..., j], rtol=1e-12)
        if cost.separable:
            np.testing.assert_allclose(
                cost.total(x, action, weight), (parts * weight[:, None]).sum(-1), rtol=1e-9, atol=1e-12
            )

    def test_harder_is_dearer(self) -> None:
        """Doubling every weight makes no action cheaper."""
        cost, _, x, action = self.fitted()
        plain, heavy = cost.total(x, action, np.ones_like(x)), cost.total(x, action, np.full_like(x, 2.0))
        np.testing.assert_allclose(plain, cost.total(x, action), rtol=1e-9)
        assert (heavy >= plain * (1 - 1e-9)).all()

    def test_nothing_within_the_budget_lies_outside_the_box(self) -> None:
        """`reach_for` never cuts off an action that the budget pays for."""
        cost, _, x, action = self.fitted()
        spent = cost.total(x, action)
        low, high = cost.reach_for(np.broadcast_to(x[:, None], action.shape), spent)
        acted = ~np.isnan(action)
        assert (action >= low)[acted].all() and (action <= high)[acted].all()

    def test_it_is_written_and_read_back(self) -> None:
        """Through JSON, with the same costs afterwards."""
        if not self.stored:
            pytest.skip("this cost is not written to files")
        cost, _, x, action = self.fitted()
        again = cost_from_dict(json.loads(json.dumps(cost.to_dict())))
        np.testing.assert_array_equal(again.total(x, action), cost.total(x, action))
