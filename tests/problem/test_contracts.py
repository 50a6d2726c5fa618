"""Every cost, plausibility and condition of the tables keeps the contract of its kind."""

import pytest

from wayforward.problem import AllModels, NextModel, Stable, UnderNoise, WithinDelta
from wayforward.problem.cost import named_costs
from wayforward.problem.plausibility import (
    Balanced,
    Domain,
    IsolationForest,
    KernelDensity,
    Lof,
    Neighbours,
    Prototype,
)
from wayforward.testing import CostContract, PlausibilityContract, RobustContract, case
from wayforward.testing.problems import random_model


class TestCosts(CostContract):
    @pytest.fixture(params=sorted(named_costs()), autouse=True)
    def _each(self, request: pytest.FixtureRequest) -> None:
        self.cost = named_costs()[request.param]


class TestDomain(PlausibilityContract):
    plausibility = Domain()


class TestNeighbours(PlausibilityContract):
    plausibility = Neighbours()


class TestLof(PlausibilityContract):
    plausibility = Lof()


class TestIsolationForest(PlausibilityContract):
    plausibility = IsolationForest()


class TestKernelDensity(PlausibilityContract):
    plausibility = KernelDensity()


class TestPrototype(PlausibilityContract):
    plausibility = Prototype()


class TestBalanced(PlausibilityContract):
    plausibility = Balanced(groups="region", density="kernel")
    calibrated = False  # people of one group may be unlikely in another
    finds = 0.1


class TestWithinDelta(RobustContract):
    condition = WithinDelta(0.01)
    kinds = ("linear", "network")


class TestUnderNoise(RobustContract):
    condition = UnderNoise(0.01, draws=20)
    kinds = ("linear", "forest")


class TestStable(RobustContract):
    condition = Stable(0.3, draws=20)
    kinds = ("linear", "forest")


class TestAllModels(RobustContract):
    @pytest.fixture(autouse=True)
    def _another(self) -> None:
        it = case("linear", "independent", 0, 40)
        self.condition = AllModels([it.problem.model])


class TestNextModel(RobustContract):
    @pytest.fixture(autouse=True)
    def _others(self) -> None:
        it = case("linear", "independent", 0, 40).problem
        models = [random_model(it.schema, it.reference[i::3], "linear") for i in range(3)]
        self.condition = NextModel(models, share=0.6)
