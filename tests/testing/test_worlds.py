"""Every world of the package keeps the contract, and the contract sees what breaks it."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import WORLD_SCHEMA, WorldContract, sample_graph, sample_people, sample_world
from wayforward.world import CausalFlow, GaussianProcessWorld, Independent, LinearWorld, SubPopulation
from wayforward.world.registry import WORLDS


class TestIndependent(WorldContract):
    kind = "independent"

    def make(self):
        return Independent(WORLD_SCHEMA)


class TestEquations(WorldContract):
    kind = "scm"

    def make(self):
        return sample_world().bind(WORLD_SCHEMA)


class TestShifts(WorldContract):
    kind = "scm"

    def make(self):
        return sample_world(soft=["savings", "debt"]).bind(WORLD_SCHEMA)


class TestLinear(WorldContract):
    kind = "linear"

    def make(self):
        return LinearWorld.fit(sample_graph(), sample_people(300), WORLD_SCHEMA)


class TestFlow(WorldContract):
    kind = "flow"
    tolerance = 1e-6

    def make(self):
        return CausalFlow.fit(
            sample_graph(), sample_people(300), WORLD_SCHEMA, hidden=(8,), epochs=40, rate=0.02
        )


class TestGaussianProcess(WorldContract):
    kind = "gp"
    tolerance = 1e-6
    predicts = False

    def make(self):
        return GaussianProcessWorld.fit(sample_graph(), sample_people(300), WORLD_SCHEMA, most=40, tune=40)


class TestSubPopulation(WorldContract):
    kind = "sub-population"
    predicts = False

    def make(self):
        return SubPopulation(sample_world()).bind(WORLD_SCHEMA)


class TestSubPopulationOfProcesses(WorldContract):
    kind = "sub-population"
    tolerance = 1e-6
    predicts = False

    def make(self):
        return SubPopulation(TestGaussianProcess().world)


# -- worlds that break it ----------------------------------------------------------------------------------


class _Broken(Independent):
    def bind(self, schema):
        return type(self)(schema)


class _Rounds(_Broken):
    """What nothing moved comes back as another float."""

    def consequences(self, before, action):
        return super().consequences(before, action) * (1 + 1e-15)


class _Moves(_Broken):
    """Income moves the debt, and `descendants` denies it."""

    def consequences(self, before, action):
        after = super().consequences(before, action)
        debt = np.broadcast_to(np.reshape(before, (len(before), *(1,) * (after.ndim - 2), -1)), after.shape)[
            ..., 4
        ]
        after[..., 4] = np.where(np.isnan(action[..., 2]), after[..., 4], debt - 1)
        return after


class _Averages(_Broken):
    """A person's rating hangs on who else is asked."""

    @property
    def descendants(self):
        below = np.zeros((6, 6), dtype=bool)
        below[2, 5] = True
        return below

    def consequences(self, before, action):
        after = super().consequences(before, action)
        after[..., 5] = np.where(np.isnan(action[..., 2]), after[..., 5], np.mean(before[:, 5]))
        return after


class _Adds(_Broken):
    """The parts of the density are not its parts."""

    def log_density(self, x):
        return np.asarray(x).sum(-1)

    def log_density_parts(self, x):
        return np.asarray(x) + 1.0


@pytest.mark.parametrize(
    ("broken", "test", "arguments"),
    [
        (_Rounds, "test_what_nothing_moves_is_the_same_float", (0,)),
        (_Moves, "test_descendants_are_sound", ()),
        (_Moves, "test_what_nothing_moves_is_the_same_float", (1,)),
        (_Averages, "test_a_person_alone_gets_the_same_answer", ()),
        (_Averages, "test_draws_hang_on_keys_alone", ()),
        (_Adds, "test_the_parts_of_a_density_add_up", ()),
        (_Moves, "test_tensors_agree", (0,)),
    ],
)
def test_the_contract_sees_what_is_broken(broken, test, arguments):
    class Contract(WorldContract):
        def make(self):
            return broken(WORLD_SCHEMA)

    with pytest.raises(AssertionError):
        getattr(Contract(), test)(*arguments)


def test_a_world_of_another_package_is_registered_once():
    from wayforward.errors import WorldError
    from wayforward.world import register

    register("mirror", "tests.testing.test_worlds:_Broken")
    try:
        assert WORLDS["mirror"].endswith("_Broken")
        with pytest.raises(WorldError, match="'mirror' already"):
            register("mirror", "elsewhere:Mirror")
    finally:
        del WORLDS["mirror"]


def test_every_world_has_a_contract_here():
    """A world that is registered later is tested without being remembered."""
    tested = {kind.kind for kind in WorldContract.__subclasses__() if kind.__module__ == __name__}
    assert set(WORLDS) <= tested
