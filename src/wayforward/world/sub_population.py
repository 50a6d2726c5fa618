"""Recourse for people like this one: what is moved by an act takes fresh noise, not the person's own.

    world = SubPopulation(scm)
    world.consequences(before, action)          # the average over people who share what the act cannot move
    world.draws(before, action, 200, keys)      # such people, one a draw

Who one is beyond the causes is never seen; a counterfactual believes the equations enough to work it out. This world
does not: of everything that an act moves it only uses the distribution (the conditional average treatment effect).

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic Recourse under Imperfect Causal
Knowledge: a Probabilistic Approach, NeurIPS, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import WorldError, require, require_whole
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.rules.arrays import Array, align
from wayforward.shapes import Draws, FeatureMask, Floats, Mask, PerFeature, PerPoint, Points, Rows
from wayforward.streams import spread
from wayforward.world.base import World, flat_rows, leads_nowhere, row_keys
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from wayforward.schema import Schema

_BANK = 1 << 14  # draws of the noise that its quantiles are taken from
_POINTS = 1 << 16  # rows (draw, person) worked on at once


@public
class SubPopulation(World):
    """The sub-population view of a world that knows its noise: an SCM with distributions, a fitted world.

    An act's own feature and everything that it does not move keep the person's values. What it moves takes noise from
    the world's distribution: `draws` takes it at random, `consequences` takes its mean (the middle value where noise is
    discrete), which for additive noise gives the average. Where no cause of a feature moves, it keeps its value bit
    for bit. data: people (a table or (N, d)) whose noise is used instead of the world's distributions.

    Shapes: people (n, d), actions (n, d) or (n, k, d), feature units.
    Example: ``Problem(schema, model, target, world=SubPopulation(scm), confidence=0.95)``.
    Source: Karimi, von Kuegelgen, Schoelkopf & Valera (2020), NeurIPS; arXiv:2006.06831.
    """

    uncertain = True

    def __init__(self, world: World, data: Any = None, *, seed: int = 0) -> None:
        if isinstance(world, SubPopulation):
            raise WorldError("This world is a SubPopulation already. Give the world that it is made of.")
        if not isinstance(world, World):
            raise WorldError(
                f"SubPopulation needs a world, such as an SCM; this is a {type(world).__name__}."
            )
        require_whole(WorldError, seed=seed)
        self.world, self.data, self.seed = world, data, seed
        self.schema, self.soft = world.schema, world.soft

    def __repr__(self) -> str:
        return f"SubPopulation({self.world!r})"

    def bind(self, schema: Schema) -> SubPopulation:
        """The same over the columns of a schema.

        Raises: WorldError if the world inside does not fit, or has no causal graph.
        """
        if self.schema is schema and self.world.schema is schema:
            return self
        bound = SubPopulation(self.world.bind(schema), self.data, seed=self.seed)
        bound.schema = schema
        bound.graph  # noqa: B018 - a world that cannot say what an act moves is refused at once
        return bound

    @property
    def descendants(self) -> Mask:
        """(d, d) bool: acting on the row's feature can move the column's feature."""
        return self.world.descendants

    @cached_property
    def graph(self) -> CausalGraph:
        """The causal graph over the schema's features."""
        schema, graph = self._bound(), self.world.graph
        if graph is None:
            raise WorldError(
                f"{type(self.world).__name__} has no causal graph, so nobody knows what an act moves. Use an SCM or "
                "a fitted world."
            )
        return CausalGraph.read(graph, nodes=schema.names)

    # -- what follows --------------------------------------------------------------------------------------

    def consequences(self, before: Array, action: Array) -> Points:
        """(n, d), (n, d) or (n, k, d) -> after: with the mean noise in what the action moves."""
        if self.world.renews:
            return self.world.fresh_consequences(before, action)
        before, action, shape = flat_rows(before, action, self._bound().d)
        out = np.empty(before.shape)
        for start in range(0, len(before), _POINTS):
            part = slice(start, start + _POINTS)
            out[part] = self._act(before[part], action[part], self._middle[None, None, :])[0]
        return out.reshape(shape)

    def draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> Draws:
        """(m, n, d) or (m, n, k, d): with fresh noise in what the action moves, m times."""
        if self.world.renews:
            return self.world.fresh_draws(before, action, m, seed_keys)
        before, action, shape = flat_rows(before, action, self._bound().d)
        keys = row_keys(seed_keys, shape)
        out = np.empty((m, *before.shape))
        step = max(1, _POINTS // m)
        for start in range(0, len(before), step):
            part = slice(start, start + step)
            out[:, part] = self._act(
                before[part], action[part], self._noise(spread(keys[part], m, shape[-1]))
            )
        return out.reshape(m, *shape)

    def _act(self, before: Rows, action: Rows, noise: Draws) -> Draws:
        """(R, d), (R, d), noise (m, R, d) or broadcastable -> (m, R, d)."""
        acted = ~np.isnan(action)
        moves = acted & (action != before)
        fresh = np.zeros(before.shape, dtype=bool)
        for j, parents in self._parents:
            fresh[:, j] = moves[:, parents].any(1)
            moves[:, j] |= fresh[:, j] & (~acted[:, j] | self._shifts[j])
        if not fresh.any():
            after = np.where(acted, action, before)
            return np.broadcast_to(after, (noise.shape[0], *after.shape)).copy()
        own = self.world.abduct(before)
        u = np.where(fresh, noise, own)
        # whose own noise cannot be worked out stands where they stand
        held = np.where(np.isnan(own) & ~fresh & ~acted, before, np.nan)
        to = np.broadcast_to(np.where(acted, action, held), u.shape)
        shifted = acted & fresh & self._shifts
        if shifted.any():  # a shift counts from where the person stands
            twin = self.world.predict(u, np.broadcast_to(held, u.shape))
            to = np.where(shifted, twin + (action - before), to)
        flat = (-1, before.shape[1])
        after = self.world.predict(u.reshape(flat), to.reshape(flat)).reshape(u.shape)
        return np.where(fresh | acted, after, before)

    @cached_property
    def _parents(self) -> tuple[tuple[int, list[int]], ...]:
        """Effects in causal order with the columns of their causes."""
        names = list(self.graph.names)
        return tuple(
            (names.index(name), [names.index(cause) for cause in self.graph.parents[name]])
            for name in self.graph.order
            if self.graph.parents[name]
        )

    @cached_property
    def _shifts(self) -> FeatureMask:
        """(d,) bool: acting is a shift."""
        return np.array([name in self.soft for name in self._bound().names], dtype=bool)

    # -- noise ---------------------------------------------------------------------------------------------

    @cached_property
    def _bank(self) -> Rows:
        """(B, d) sorted noise of each feature; a feature outside the world stands alone, and none is needed."""
        schema = self._bound()
        if self.data is not None:
            people = schema.encode(self.data, "data")
            noise = np.array(self.world.abduct(people))
            noise = noise[~leads_nowhere(people, noise)]  # of others the world cannot say what makes them
        else:
            noise = np.array(self.world.effect_noise(_BANK, np.random.default_rng([self.seed, 0xCA7E])))
        if not len(noise):
            raise WorldError("The data of SubPopulation hold nobody. Give people.")
        return np.sort(noise, axis=0)

    @cached_property
    def _normal(self) -> dict[int, tuple[float, float]]:
        """Mean and standard deviation of the noises that are known to be normal, whose quantiles are exact."""
        return {} if self.data is not None else self.world.normal_noise()

    @cached_property
    def _middle(self) -> PerFeature:
        """(d,) mean of each noise; the middle value where it takes few values."""
        bank = self._bank
        few = np.array([len(np.unique(bank[:, j])) < 50 for j in range(bank.shape[1])])
        out = np.where(few, bank[len(bank) // 2], bank.mean(0))
        for j, (mean, _) in self._normal.items():
            out[j] = mean
        return np.asarray(out)

    def _noise(self, share: Floats) -> Floats:
        """(..., d) numbers in (0, 1) -> (..., d) noise at these quantiles."""
        from scipy.special import ndtri

        bank = self._bank
        out = np.empty(share.shape)
        for j in range(share.shape[-1]):
            if j in self._normal:
                mean, sd = self._normal[j]
                out[..., j] = mean + sd * ndtri(share[..., j])
            else:
                out[..., j] = bank[(share[..., j] * len(bank)).astype(np.int64).clip(0, len(bank) - 1), j]
        return out

    # -- what the world inside knows -----------------------------------------------------------------------

    def abduct(self, x: Array) -> Points:
        """As the world inside."""
        return self.world.abduct(x)

    def predict(self, u: Array, action: Array | None = None) -> Points:
        """As the world inside."""
        return self.world.predict(u, action)

    def log_density(self, x: Array) -> PerPoint:
        """As the world inside."""
        return self.world.log_density(x)

    def log_density_parts(self, x: Array) -> Points:
        """As the world inside."""
        return self.world.log_density_parts(x)

    def sample(self, n: int, rng: np.random.Generator | int) -> Rows:
        """As the world inside."""
        return self.world.sample(n, rng)

    def log_density_torch(self, x: Array) -> Array:
        """As the world inside."""
        return self.world.log_density_torch(x)

    # -- on tensors ----------------------------------------------------------------------------------------

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """With the mean noise in what the action moves; differentiable in `value`."""
        if self.world.renews:
            return self.world.fresh_consequences_torch(before, value, acted)
        depth = max(before.ndim, value.ndim)
        return self._act_torch(before, value, acted, self._middle.reshape((1,) * depth + (-1,)))[0]

    def draws_torch(
        self, before: Array, value: Array, acted: Array, m: int, seed_keys: np.ndarray, *, fresh: bool = True
    ) -> Array:
        """(m, ..., d): the draws of `draws` on tensors, all of them fresh; differentiable in `value`."""
        if self.world.renews:
            return self.world.draws_torch(before, value, acted, m, seed_keys, fresh=True)
        lead = tuple(np.broadcast_shapes(tuple(align(before, value)[0].shape), tuple(value.shape)))
        noise = self._noise(spread(row_keys(seed_keys, lead), m, lead[-1]))
        return self._act_torch(before, value, acted, noise.reshape(m, *lead))

    def _act_torch(self, before: Any, value: Any, acted: Any, noise: np.ndarray) -> Any:
        torch = require("torch", extra="torch")
        before, value = align(before, value)
        acted = align(acted, value)[0] if acted.ndim != value.ndim else acted
        shape = tuple(np.broadcast_shapes(tuple(before.shape), tuple(value.shape), tuple(acted.shape)))
        before, value, acted = (torch.broadcast_to(part, shape) for part in (before, value, acted))
        soft = torch.as_tensor(self._shifts, device=value.device)
        moves, fresh = acted.clone(), torch.zeros_like(acted)
        for j, parents in self._parents:
            fresh[..., j] = moves[..., parents].any(-1)
            moves[..., j] |= fresh[..., j] & (~acted[..., j] | soft[j])
        own = self.world.abduct_torch(before)
        given = torch.as_tensor(noise, dtype=before.dtype, device=before.device)
        given = torch.where(torch.isnan(given), torch.zeros_like(given), given)
        u = torch.where(fresh, given, own)
        held = torch.isnan(own) & ~torch.isnan(before) & ~fresh & ~acted
        to, on = (
            torch.broadcast_to(part, u.shape) for part in (torch.where(held, before, value), acted | held)
        )
        shifted = acted & fresh & soft
        if bool(shifted.any()):
            there = torch.broadcast_to(before, u.shape), torch.broadcast_to(held, u.shape)
            twin = self.world.predict_torch(u, *there) if bool(held.any()) else self.world.predict_torch(u)
            to = torch.where(shifted, twin + (value - before), to)
        return torch.where(fresh | acted, self.world.predict_torch(u, to, on), before)

    def _bound(self) -> Schema:
        if self.schema is None:
            raise WorldError("This world is not bound to a schema yet. Call world.bind(schema) first.")
        return self.schema
