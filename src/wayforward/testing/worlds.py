"""What must hold for every world, whatever it believes: a test class to inherit, and a table to learn from.

Example: ``class TestMine(WorldContract)`` with a method ``make`` that returns the world, bound to `WORLD_SCHEMA`.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
import pytest

from wayforward.errors import MissingExtra, WorldError
from wayforward.schema import Feature, Schema
from wayforward.shapes import Actions, FeatureMask, Mask, Rows
from wayforward.streams import keys_of
from wayforward.world import SCM, CausalGraph, World, load_world
from wayforward.world.registry import FITTED, WORLDS, class_at

#: A small credit world with a whole-numbered root, a binary cause, and effects that are numbers and whole numbers.
WORLD_SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="course", kind="binary", levels=("no", "yes"), direction="increase"),
        Feature(name="income", kind="real", low=-100, high=300),
        Feature(name="savings", kind="integer", low=-100, high=400),
        Feature(name="debt", kind="real", low=-200, high=200),
        Feature(name="rating", kind="real", low=-100, high=300, actionability="mutable"),
    )
)


def sample_world(soft: bool | list[str] = False) -> SCM:
    """Make the equations behind `sample_people`, over the features of `WORLD_SCHEMA`."""
    return SCM(
        {
            "age": "u",
            "course": "u",
            "income": "10 + 0.4 * age + 6 * course + u",
            "savings": "0.8 * income + u",
            "debt": "30 - 0.2 * savings + u",
            "rating": "40 + 0.3 * income - 0.4 * debt + u",
        },
        {
            "age": "Uniform(25, 65)",
            "course": "Bernoulli(0.4)",
            "income": "Normal(0, 6)",
            "savings": "Normal(0, 6)",
            "debt": "Normal(0, 4)",
            "rating": "Normal(0, 5)",
        },
        soft=soft,
    )


@lru_cache(maxsize=8)
def sample_people(n: int, seed: int = 0) -> Rows:
    """(n, d) people of `sample_world`, in the order of `WORLD_SCHEMA`; whole numbers are whole."""
    return sample_world().bind(WORLD_SCHEMA).sample(n, seed)


def sample_graph() -> CausalGraph:
    """Return the causal graph of `sample_world`, to fit worlds along."""
    return CausalGraph.read(sample_world())


class WorldContract:
    """Inherit and make a world, and these tests ask it everything that it offers.

    kind: its name in the table of worlds. tolerance: of twins on tensors and of noise and back, absolute and relative.
    predicts: `predict` of a person's own noise with an action gives what `consequences` gives; not so where
    consequences are expected values or forget the person's noise. reorders: it can be bound to its schema's features
    in another order, with the same answers.
    """

    kind: ClassVar[str] = ""
    tolerance: ClassVar[float] = 1e-8
    predicts: ClassVar[bool] = True
    reorders: ClassVar[bool] = True
    n: ClassVar[int] = 12
    k: ClassVar[int] = 3

    # -- making --------------------------------------------------------------------------------------------

    def make(self) -> World:
        """Make the world, bound to a schema."""
        raise NotImplementedError(
            "return the world, bound to wayforward.testing.WORLD_SCHEMA or a schema of your own"
        )

    def people(self, n: int, seed: int) -> Rows:
        """(n, d) people who can have come from the world."""
        return sample_people(n, seed)

    @property
    def world(self) -> World:
        """The world, made once for all tests of a class. Skips the test where an optional library is missing."""
        if "_world" not in type(self).__dict__:
            try:
                type(self)._world = self.make()  # type: ignore[attr-defined]
            except MissingExtra as missing:
                pytest.skip(str(missing))
        made: World = type(self)._world  # type: ignore[attr-defined]
        return made

    @property
    def schema(self) -> Schema:
        """The schema that the world is bound to."""
        assert self.world.schema is not None, "return the world bound: world.bind(schema)"
        return self.world.schema

    def case(self, seed: int = 0) -> tuple[Rows, Actions]:
        """People (n, d) and actions (n, k, d): some features of everybody, set to the values of others."""
        x, rng = self.people(self.n, seed), np.random.default_rng(seed)
        other = self.people(self.n * self.k, seed + 1000).reshape(self.n, self.k, -1)
        return x, np.where(rng.random(other.shape) < 0.35, other, np.nan)

    def offered(self, *names: str) -> None:
        """Skip the test unless the world has these methods of its own."""
        for name in names:
            if getattr(type(self.world), name) is getattr(World, name):
                pytest.skip(f"{type(self.world).__name__} does not offer '{name}'")

    @property
    def shifts(self) -> FeatureMask:
        """(d,) bool: acting on a feature adds to it."""
        return np.array([name in self.world.soft for name in self.schema.names])

    def may_move(self, x: Rows, action: Actions) -> Mask:
        """(n, k, d) bool: what the world says that these actions can move, the acts themselves included."""
        acts = (~np.isnan(action) & ((action != x[:, None]) | self.shifts)).astype(np.int64)
        below: Mask = self.world.descendants
        return np.asarray((acts @ (below | np.eye(len(below), dtype=bool)).astype(np.int64)) > 0)

    # -- what follows from an action -----------------------------------------------------------------------

    def test_it_is_in_the_table(self) -> None:
        """Its kind leads to its class: that is how files, the command line and `wayforward.world` find it."""
        if not self.kind:
            pytest.skip("no kind is named")
        found = class_at(WORLDS[self.kind])
        assert issubclass(found, World)
        assert self.kind not in FITTED or type(self.world) is found

    def test_consequences_have_the_shape_of_the_action(self) -> None:
        """People (n, d) go with actions (n, d) and (n, k, d); other shapes are one clear error."""
        x, action = self.case()
        after = self.world.consequences(x, action)
        assert after.shape == action.shape and after.dtype == np.float64
        assert not np.isinf(after).any()  # NaN where nobody knows what follows
        one = self.world.consequences(x, action[:, 0])
        np.testing.assert_array_equal(one, after[:, 0])
        with pytest.raises(WorldError):
            self.world.consequences(x, action[..., :-1])

    @pytest.mark.parametrize("seed", range(4))
    def test_what_nothing_moves_is_the_same_float(self, seed: int) -> None:
        """Nobody acts: all stays. Where no act and no moved cause is above a feature, it keeps its bits."""
        x, action = self.case(seed)
        np.testing.assert_array_equal(self.world.consequences(x, np.full(x.shape, np.nan)), x)
        held = np.where(self.shifts, np.nan, x)  # everything is set to what it is
        np.testing.assert_array_equal(self.world.consequences(x, held), x)
        after, may = self.world.consequences(x, action), self.may_move(x, action)
        np.testing.assert_array_equal(np.where(may, np.nan, after), np.where(may, np.nan, x[:, None]))

    def test_acting_on_everything_gives_exactly_the_action(self) -> None:
        """What is set is what comes out; a shift adds to what follows, so those features are left out."""
        x = self.people(self.n, 3)
        action = np.where(self.shifts, np.nan, self.people(self.n, 4))
        after = self.world.consequences(x, action)
        np.testing.assert_array_equal(after[:, ~self.shifts], action[:, ~self.shifts])

    def test_it_says_the_same_in_another_process(self) -> None:
        """Pickled and read again: the same consequences and descendants, to the last bit."""
        x, action = self.case()
        there = pickle.loads(pickle.dumps(self.world))
        np.testing.assert_array_equal(there.consequences(x, action), self.world.consequences(x, action))
        np.testing.assert_array_equal(there.descendants, self.world.descendants)

    def test_descendants_are_sound(self) -> None:
        """Acting on one feature moves nothing that the world says it cannot move; the relation is transitive."""
        below, x = self.world.descendants, self.people(self.n, 5)
        d = self.schema.d
        assert below.shape == (d, d) and below.dtype == bool
        other = self.people(self.n, 6)
        for j in range(d):
            action = np.where(np.arange(d) == j, other, np.nan)
            still = ~below[j] & (np.arange(d) != j)
            np.testing.assert_array_equal(self.world.consequences(x, action)[:, still], x[:, still])
        for i, j, k in permutations(range(d), 3):
            assert not (below[i, j] and below[j, k]) or below[i, k]

    def test_the_graph_says_the_same(self) -> None:
        """Where a world has a causal graph, its descendants are those of the graph."""
        if self.world.graph is None:
            pytest.skip("no graph")
        graph = CausalGraph.read(self.world.graph, nodes=self.schema.names)
        np.testing.assert_array_equal(graph.descendants(self.schema.names), self.world.descendants)

    def test_a_person_alone_gets_the_same_answer(self) -> None:
        """In a batch, alone, and in another order: the same bits."""
        x, action = self.case(7)
        after = self.world.consequences(x, action)
        for who in ([0], [3, 1], np.random.default_rng(0).permutation(self.n)):
            np.testing.assert_array_equal(self.world.consequences(x[who], action[who]), after[who])

    def test_another_order_of_columns_changes_nothing(self) -> None:
        """Features are matched by name."""
        if not self.reorders:
            pytest.skip("bound to one schema")
        x, action = self.case(8)
        turned = self.world.bind(Schema(self.schema.features[::-1]))
        assert turned.schema is not None and turned.schema.names == self.schema.names[::-1]
        after = turned.consequences(x[:, ::-1], action[..., ::-1])
        np.testing.assert_allclose(after[..., ::-1], self.world.consequences(x, action), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(turned.descendants[::-1, ::-1], self.world.descendants)

    @pytest.mark.parametrize("seed", range(3))
    def test_bounds_hold_wherever_an_action_of_a_box_leads(self, seed: int) -> None:
        """Boxes between two people's values: what may be set, left alone, or both; unknown bounds are NaN."""
        if not self.world.bounded:
            pytest.skip("no bounds on what follows")
        x, rng = self.people(self.n, 40 + seed), np.random.default_rng(seed)
        one, two = self.people(self.n, 50 + seed), self.people(self.n, 60 + seed)
        low, high = np.minimum(one, two), np.maximum(one, two)
        acts = rng.random(x.shape) < 0.5
        rests = ~acts | (rng.random(x.shape) < 0.5)
        least, most = self.world.consequence_bounds(x, low, high, acts, rests)
        assert least.shape == most.shape == x.shape
        alone = self.world.consequence_bounds(x[2:3], low[2:3], high[2:3], acts[2:3], rests[2:3])
        np.testing.assert_array_equal(alone[0][0], least[2])
        still = ~acts & ~((acts.astype(int) @ self.world.descendants.astype(int)) > 0)
        np.testing.assert_array_equal(least[still], x[still])
        np.testing.assert_array_equal(most[still], x[still])
        for _ in range(30):
            share = rng.choice([0.0, 1.0, np.nan], x.shape)
            share = np.where(np.isnan(share), rng.random(x.shape), share)
            value = np.where(
                self.schema.integral, np.round(low + share * (high - low)), low + share * (high - low)
            )
            action = np.where(
                acts & (~rests | (rng.random(x.shape) < 0.5)), np.clip(value, low, high), np.nan
            )
            after = self.world.consequences(x, action)
            assert ((after >= least) | np.isnan(least)).all() and ((after <= most) | np.isnan(most)).all()

    # -- draws ---------------------------------------------------------------------------------------------

    def test_draws_hang_on_keys_alone(self) -> None:
        """m profiles for each action; a person's are the same alone and in any batch, and the same for equal keys."""
        x, action = self.case(9)
        keys = keys_of(x, 0)
        drawn = self.world.draws(x, action, 5, keys)
        assert drawn.shape == (5, *action.shape)
        np.testing.assert_array_equal(self.world.draws(x, action, 5, keys), drawn)
        for who in ([1], [4, 0, 2]):
            np.testing.assert_array_equal(self.world.draws(x[who], action[who], 5, keys[who]), drawn[:, who])
        twice = self.world.draws(x, np.repeat(action[:, :1], 2, axis=1), 5, keys)
        np.testing.assert_array_equal(
            twice[:, :, 0], twice[:, :, 1]
        )  # a person's options share their chances

    def test_draws_keep_to_the_action(self) -> None:
        """What is set is set in every draw, what nothing moves keeps its bits; a certain world draws its answer."""
        x, action = self.case(10)
        drawn, may = self.world.draws(x, action, 4, keys_of(x, 0)), self.may_move(x, action)
        for one in drawn:
            np.testing.assert_array_equal(np.where(may, np.nan, one), np.where(may, np.nan, x[:, None]))
            acted = ~np.isnan(action) & ~self.shifts
            np.testing.assert_array_equal(one[acted], action[acted])
        if not self.world.uncertain:
            np.testing.assert_array_equal(
                drawn, np.broadcast_to(self.world.consequences(x, action), drawn.shape)
            )

    def test_people_like_this_one(self) -> None:
        """Where the world renews noise: shapes, acts that hold, and what nothing moves."""
        if not self.world.renews:
            pytest.skip("noise is not renewed")
        x, action = self.case(11)
        may, acted = self.may_move(x, action), ~np.isnan(action) & ~self.shifts
        drawn = self.world.fresh_draws(x, action, 3, keys_of(x, 0))
        for one in (self.world.fresh_consequences(x, action), *drawn):
            np.testing.assert_array_equal(np.where(may, np.nan, one), np.where(may, np.nan, x[:, None]))
            np.testing.assert_array_equal(one[acted], action[acted])

    # -- noise and densities -------------------------------------------------------------------------------

    def test_noise_leads_back_to_the_person(self) -> None:
        """predict(abduct(x)) is x, and, where the world says so, acting in between is `consequences`."""
        self.offered("abduct", "predict")
        x, action = self.case(12)
        self._close(self.world.predict(self.world.abduct(x)), x)
        if self.predicts:
            self._close(self.world.predict(self.world.abduct(x), action), self.world.consequences(x, action))

    def test_the_parts_of_a_density_add_up(self) -> None:
        """One number a person, the sum of one a feature; finite for people of the world."""
        self.offered("log_density", "log_density_parts")
        x = self.people(self.n, 13)
        total, parts = self.world.log_density(x), self.world.log_density_parts(x)
        assert total.shape == (self.n,) and parts.shape == x.shape
        assert np.isfinite(total).all()
        np.testing.assert_allclose(parts.sum(1), total, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(self.world.log_density(x[2:5]), total[2:5])

    def test_what_keeps_its_density_does(self) -> None:
        """A feature that `keeps_density` names has the same part wherever nobody acts on it."""
        keeps = self.world.keeps_density(self.world)
        assert keeps.shape == (self.schema.d,) and keeps.dtype == bool
        if not keeps.any():
            pytest.skip("nothing keeps its density")
        x, action = self.case(14)
        before, after = (
            self.world.log_density_parts(rows)
            for rows in (np.broadcast_to(x[:, None], action.shape), self.world.consequences(x, action))
        )
        same = keeps & np.isnan(action)
        np.testing.assert_allclose(after[same], before[same], rtol=1e-7, atol=1e-7)

    def test_samples_hang_on_the_seed(self) -> None:
        """n people, the same for the same seed, with values that exist."""
        self.offered("sample")
        x = self.world.sample(20, 3)
        assert x.shape == (20, self.schema.d) and np.isfinite(x).all()
        np.testing.assert_array_equal(self.world.sample(20, 3), x)
        assert (self.world.sample(20, 4) != x).any()
        level = x[:, self.schema.has_levels]
        assert (level == np.round(level)).all()
        assert ((level >= 0) & (level < self.schema.n_levels[self.schema.has_levels])).all()

    # -- twins on tensors ----------------------------------------------------------------------------------

    @pytest.mark.parametrize("seed", range(3))
    def test_tensors_agree(self, seed: int) -> None:
        """`consequences_torch` gives what `consequences` gives, and its slope in the action is finite.

        On tensors setting what is so already is an act, for its slope; where noise is renewed, that renews it.
        """
        torch = pytest.importorskip("torch")
        x, action = self.case(20 + seed)
        if not self.predicts:
            action[action == x[:, None]] = np.nan
        value, acted = (
            torch.tensor(np.nan_to_num(action), requires_grad=True),
            torch.tensor(~np.isnan(action)),
        )
        after = self.world.consequences_torch(torch.tensor(x), value, acted)
        self._close(after.detach().numpy(), self.world.consequences(x, action))
        (slope,) = torch.autograd.grad(after.sum(), value)
        assert bool(torch.isfinite(slope).all())
        hard = acted & ~torch.tensor(self.shifts)
        assert bool((slope[~acted] == 0).all()) and bool((slope[hard] != 0).any())

    def test_noise_and_density_on_tensors_agree(self) -> None:
        """Each twin that is offered gives the same numbers."""
        torch = pytest.importorskip("torch")
        x = self.people(self.n, 24)
        rows = torch.tensor(x)
        for name in ("abduct", "log_density"):
            if getattr(type(self.world), f"{name}_torch") is not getattr(World, f"{name}_torch"):
                twin = getattr(self.world, f"{name}_torch")(rows)
                self._close(twin.numpy(), getattr(self.world, name)(x))
        self.offered("abduct_torch", "predict_torch")
        self._close(self.world.predict_torch(self.world.abduct_torch(rows)).numpy(), x)

    def test_leading_is_predicting(self) -> None:
        """`lead_torch` gives `predict_torch` of noise that was changed where people can move, and x elsewhere."""
        torch = pytest.importorskip("torch")
        if not self.world.leads:
            pytest.skip("nothing is led")
        x, below = torch.tensor(self.people(self.n, 25)), self.world.descendants
        for j in range(self.schema.d):
            moving = below[j] | (np.arange(self.schema.d) == j)
            if self.schema.has_levels[j] or not below[j].any():
                continue
            u = self.world.abduct_torch(x) + 0.1 * torch.tensor(np.arange(self.schema.d) == j)
            after, density = self.world.lead_torch(x, u, moving)
            self._close(after.numpy()[:, moving], self.world.predict_torch(u).numpy()[:, moving])
            np.testing.assert_array_equal(after.numpy()[:, ~moving], x.numpy()[:, ~moving])
            assert density is not None and density.shape == (self.n,)
            assert self.world.lead_torch(x, u, moving, density=False)[1] is None

    # -- files ---------------------------------------------------------------------------------------------

    def test_a_saved_world_comes_back(self, tmp_path: Any) -> None:
        """What `save` writes, `load` and `load_world` read; the answers are the same bits."""
        if self.kind not in FITTED:
            pytest.skip("not saved to a file of its own")
        world: Any = self.world
        path = world.save(tmp_path / "world.safetensors")
        x, action = self.case(30)
        for again in (type(world).load(path, self.schema), load_world(path, self.schema)):
            assert type(again) is type(world) and again.soft == world.soft
            np.testing.assert_array_equal(again.consequences(x, action), world.consequences(x, action))

    def _close(self, one: np.ndarray, other: np.ndarray) -> None:
        np.testing.assert_allclose(one, other, rtol=self.tolerance, atol=self.tolerance)
