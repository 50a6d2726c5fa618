"""The contract holds for the default method, and catches methods that break it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from wayforward.methods import Method
from wayforward.methods.base import Budget
from wayforward.problem import Population
from wayforward.streams import Streams
from wayforward.testing import KINDS, WORLDS, MethodContract, case


class TestLocalSearchKeepsTheContract(MethodContract):
    method = "local-search"
    finds = 0.9


class OneGeneratorForAll(Method):
    """Random actions from one generator for the whole batch, so a person's answer hangs on the others.

    Shapes: (n, d) -> (n, k, d). Source: a mistake found in published implementations.
    """

    name: ClassVar[str] = "one-generator"
    summary: ClassVar[str] = "a mistake"
    citation: ClassVar[str] = "none"

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> np.ndarray:
        rng = np.random.default_rng(0)
        who = np.repeat(np.arange(people.n), 30)
        value = people.low[who] + rng.random((len(who), people.d)) * (people.high - people.low)[who]
        action = people.snap(who, np.where(people.free[who], value, np.nan))
        return action.reshape(people.n, 30, people.d)


class Breaks(MethodContract):
    __test__ = False
    method = OneGeneratorForAll()


def test_the_contract_catches_answers_that_depend_on_the_batch():
    with pytest.raises(AssertionError):
        Breaks().test_the_order_of_people_changes_nothing("linear")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_the_cases_hold_refused_and_accepted_people_who_keep_the_rules(kind, world):
    it = case(kind, world)
    assert 0 < it.refused.mean() < 1
    assert it.problem.schema.compiled_rules.satisfied(it.x, it.x).all()
    assert it.problem.schema.legal(it.x).all()
