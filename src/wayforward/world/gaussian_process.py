"""A causal world learned from a graph and a table, which knows how little it knows: a Gaussian process an effect.

    world = GaussianProcessWorld.fit(graph, table, schema)
    after = world.consequences(before, action)                 # what is expected
    many = world.draws(before, action, 200, keys)              # what may happen, (200, n, d)

Every feature with causes is a smooth function of them plus noise of its own; both are uncertain, and a person's own
values tell about both. Features without causes are left as they are.

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic Recourse under Imperfect Causal
Knowledge: a Probabilistic Approach, NeurIPS, section 4.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import FileFormatError, WorldError, require
from wayforward.rules.arrays import Array
from wayforward.schema import Feature, Schema
from wayforward.streams import keys_of, spread
from wayforward.world.base import World, aligned, unknown_nodes
from wayforward.world.gp_node import GpNode, Own, Variance
from wayforward.world.graph import CausalGraph
from wayforward.world.learning import whole_rows

if TYPE_CHECKING:
    from typing import Self

_FORMAT, _KIND = "wayforward.world/1", "gaussian-process"
_FEWEST = 20  # rows
_POINTS = 1 << 16  # points (draw, person) worked on at once

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Root:
    """A feature without causes: its values as they were seen, for densities and samples. width: of the kernel."""

    values: np.ndarray  # (N,)
    width: float  # 0: discrete
    levels: np.ndarray  # discrete: the values there are
    share: np.ndarray  # discrete: their shares, none of them 0

    @classmethod
    def of(cls, values: np.ndarray, discrete: bool, n_levels: int) -> _Root:
        if not discrete:
            width = float(values.std()) * 1.06 * len(values) ** -0.2  # Silverman (1986), section 3.4
            return cls(values, width, np.empty(0), np.empty(0))
        levels = np.arange(n_levels, dtype=np.float64) if n_levels else np.unique(values)
        count = (values[:, None] == levels).sum(0) + 1.0
        return cls(values, 0.0, levels, count / count.sum())

    def log_density(self, x: np.ndarray) -> np.ndarray:
        flat = x.reshape(-1)
        out = np.empty(len(flat))
        if not self.width:
            place = np.searchsorted(self.levels, flat).clip(0, len(self.levels) - 1)
            there = self.levels[place] == flat
            return np.asarray(
                np.where(there, np.log(self.share[place]), np.log(self.share.min())).reshape(x.shape)
            )
        for start in range(0, len(flat), 4096):
            z = (flat[start : start + 4096, None] - self.values) / self.width
            top = (-0.5 * z * z).max(1)
            out[start : start + 4096] = top + np.log(np.exp(-0.5 * z * z - top[:, None]).mean(1))
        return (out - math.log(self.width) - 0.5 * math.log(2 * math.pi)).reshape(x.shape)

    def log_density_torch(self, torch: Any, x: Any) -> Any:
        if not self.width:
            told = self.log_density(x.detach().cpu().numpy())
            return torch.as_tensor(told, dtype=x.dtype, device=x.device)
        values = torch.as_tensor(self.values, dtype=x.dtype, device=x.device)
        z = (x[..., None] - values) / self.width
        constant = math.log(len(self.values)) + math.log(self.width) + 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(-0.5 * z * z, -1) - constant

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        if not self.width:
            return rng.choice(self.levels, size=n, p=self.share)
        return rng.choice(self.values, size=n) + self.width * rng.standard_normal(n)


@dataclass(frozen=True)
class _Effect:
    """A feature with causes. parents: columns; each input is a column, or whether a column holds a level."""

    column: int
    parents: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]  # (column, level), level -1: the number itself
    middle: np.ndarray  # (p,) of the inputs
    scale: np.ndarray  # (p,)
    centre: float  # of the value
    size: float
    node: GpNode

    def seen(self, x: np.ndarray) -> np.ndarray:
        """(T, d) -> (T, p) standardised inputs."""
        columns = [
            x[:, j] if level < 0 else np.where(np.isnan(x[:, j]), np.nan, x[:, j] == level)
            for j, level in self.inputs
        ]
        return np.asarray((np.stack(columns, axis=-1) - self.middle) / self.scale)

    def seen_torch(self, torch: Any, columns: list[Any]) -> Any:
        """The same on a list of d columns (T,)."""
        parts = [
            columns[j] if level < 0 else (columns[j] == level).to(columns[j].dtype)
            for j, level in self.inputs
        ]
        return torch.stack(
            [
                (part - m) / s
                for part, m, s in zip(parts, self.middle.tolist(), self.scale.tolist(), strict=True)
            ],
            -1,
        )


class GaussianProcessWorld(World):
    """A world of Gaussian processes over a causal graph; made by `fit` or `load`, bound to a schema.

    `consequences` is what is expected (each effect at the mean of its counterfactual distribution, given where its
    causes are expected); `draws` is what may happen. A person who was not in the table is added to it, exactly, before
    anything is said about them; one who was is not counted twice. An effect none of whose causes moved keeps its value
    bit for bit, in every draw. variance: "exact" keeps the correlation between the function and the person's noise
    once their value is known, so that the variance vanishes where the causes do not move; "published" is the paper's
    sum of both. soft: True, or the names of features on which actions are shifts (see `SCM`).

    Effects are numbers, integers, ordinal or binary features (treated as numbers, rounded to a level that exists);
    a categorical feature may be a cause, not an effect. Densities and samples of features without causes come from the
    table (kernel density, shares).

    Shapes: people (n, d), actions (n, d) or (n, k, d), feature units.
    Example: ``GaussianProcessWorld.fit([("income", "savings")], table, schema)``.
    Source: Karimi, von Kuegelgen, Schoelkopf & Valera (2020), NeurIPS; arXiv:2006.06831.
    """

    uncertain = True

    def __init__(
        self,
        graph: CausalGraph,
        schema: Schema,
        effects: dict[str, _Effect],
        roots: dict[str, _Root],
        *,
        variance: Variance = "exact",
        soft: bool | Collection[str] = False,
        report: dict[str, Any] | None = None,
    ) -> None:
        if variance not in ("exact", "published"):
            raise WorldError(f"variance={variance!r} is neither 'exact' nor 'published'.")
        if isinstance(soft, str):
            soft = (soft,)
        chosen = (schema.names if soft else ()) if isinstance(soft, bool) else tuple(soft)
        unknown_nodes(chosen, schema.names, "list of soft interventions")
        self.graph, self.schema = CausalGraph(tuple(schema.names), graph.parents), schema
        self.effects, self.roots = effects, roots
        self.variance, self.soft = variance, frozenset(chosen)
        self.report = {} if report is None else report
        self._order = tuple(schema.index(name) for name in self.graph.order if name in effects)
        self._limits = tuple(_limits(feature) for feature in schema.features)
        self._soft_at = np.array([name in self.soft for name in schema.names])

    def __repr__(self) -> str:
        return f"GaussianProcessWorld({len(self.effects)} effects among {self.schema.d} features)"

    # -- making --------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        graph: Any,
        table: Any,
        schema: Schema | None = None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        most: int = 500,
        tune: int = 300,
        trend: bool = True,
        variance: Variance = "exact",
        soft: bool | Collection[str] = False,
    ) -> Self:
        """Fit one Gaussian process for each feature with causes.

        graph: whatever `CausalGraph.read` takes. table: people, whole; or an (N, d) array with a schema. most: rows
        kept for each process (chosen by the seed), since its work grows with their square. tune: rows that lengths and
        variances are learned from. trend: a linear part beside the smooth one, so that what follows goes on beyond the
        table instead of returning to the average (False: the published kernel). progress: called with (effects done,
        effects in all).
        Raises: WorldError for a graph that does not fit the schema or a categorical effect; DataError for missing
        values, a constant column, too few rows.
        """
        schema = Schema.infer(table) if schema is None else schema
        graph = CausalGraph.read(graph).over(schema.names)
        x = whole_rows(schema, graph, table, _FEWEST, "a Gaussian process")
        rng = np.random.default_rng([seed, 0x6A55])
        kept = x[np.sort(rng.permutation(len(x))[:most])]
        kept = kept[rng.permutation(len(kept))]
        names = [name for name in graph.order if graph.parents[name]]
        effects, report = {}, {}
        for done, name in enumerate(names):
            effects[name] = effect = _fit_effect(schema, graph, name, kept, seed, tune, trend)
            report[name] = _quality(schema, effect)
            if progress is not None:
                progress(done + 1, len(names))
        roots = {
            name: _Root.of(
                kept[:, j], bool(schema.has_levels[j] or schema.integral[j]), int(schema.n_levels[j] or 0)
            )
            for j, name in enumerate(schema.names)
            if not graph.parents[name]
        }
        return cls(graph, schema, effects, roots, variance=variance, soft=soft, report=report)

    def but(self, *, variance: Variance | None = None, soft: bool | Collection[str] | None = None) -> Self:
        """The same world with another variance or other soft interventions."""
        return type(self)(
            self.graph,
            self.schema,
            self.effects,
            self.roots,
            variance=self.variance if variance is None else variance,
            soft=self.soft if soft is None else soft,
            report=self.report,
        )

    def softly(self, soft: bool | Collection[str] = True) -> Self:
        """The same world where acts on these features (True: on all) are shifts on top of what follows."""
        return self.but(soft=soft)

    def bind(self, schema: Schema) -> GaussianProcessWorld:
        """The same world over another schema's columns, matched by name; others stand alone.

        Limits, rules and actionability may differ. Raises: WorldError for a feature of the world that the schema does
        not have, or one of another kind or other levels.
        """
        if schema == self.schema:
            return self
        known = [name for name in self.schema.names if name in self.effects or name in self.roots]
        unknown_nodes(known, schema.names, "world")
        for name in known:
            _same_feature(self.schema[name], schema[name])
        at = {self.schema.index(name): schema.index(name) for name in known}
        effects = {
            name: replace(
                effect,
                column=at[effect.column],
                parents=tuple(at[j] for j in effect.parents),
                inputs=tuple((at[j], level) for j, level in effect.inputs),
            )
            for name, effect in self.effects.items()
        }
        parents = {name: self.graph.parents[name] for name in known}
        return GaussianProcessWorld(
            CausalGraph(tuple(schema.names), parents),
            schema,
            effects,
            self.roots,
            variance=self.variance,
            soft=self.soft,
            report=self.report,
        )

    def _whole(self, what: str) -> None:
        alone = [name for name in self.schema.names if name not in self.effects and name not in self.roots]
        if alone:
            raise WorldError(
                f"'{alone[0]}' is no node of the world, so {what} of whole people is unknown. Fit the world to a table "
                "and a graph that hold it."
            )

    # -- what follows --------------------------------------------------------------------------------------

    @cached_property
    def descendants(self) -> np.ndarray:
        """(d, d) bool: acting on the row's feature can move the column's feature."""
        return self.graph.descendants(self.schema.names)

    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after: what is expected, in the shape of the action."""
        return self._moved(before, action)

    def counterfactual(self, before: Array, action: Array) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each feature after the action, each given its causes at their mean; (n, d) or (n, k, d).

        The mean is not rounded to legal values.
        """
        before, action, shape = self._rows(before, action)
        mean, variance = self._run(before, action, legal=False, want_variance=True)
        return mean[0].reshape(shape), variance[0].reshape(shape)

    def draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> np.ndarray:
        """(m, n, d) or (m, n, k, d): m profiles that may follow; `seed_keys` (n,) uint64 own the draws of a person."""
        return self._drawn(before, action, m, seed_keys)

    def fresh_consequences(self, before: Array, action: Array) -> np.ndarray:
        """As `consequences` for somebody like this person: what moves takes the noise 0, not their own."""
        return self._moved(before, action, fresh=True)

    def fresh_draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> np.ndarray:
        """As `draws` for people like this person: what moves takes noise of its own."""
        return self._drawn(before, action, m, seed_keys, fresh=True)

    def _rows(self, before: Array, action: Array) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        before, action = aligned(before, action, self.schema.d)
        shape = np.broadcast_shapes(before.shape, action.shape)
        flat = (-1, self.schema.d)
        return (
            np.broadcast_to(before, shape).reshape(flat),
            np.broadcast_to(action, shape).reshape(flat),
            shape,
        )

    def _moved(self, before: Array, action: Array, fresh: bool = False) -> np.ndarray:
        before, action, shape = self._rows(before, action)
        out = np.empty(before.shape)
        for start in range(0, len(before), _POINTS):
            part = slice(start, start + _POINTS)
            out[part] = self._run(before[part], action[part], fresh=fresh)[0][0]
        return out.reshape(shape)

    def _drawn(
        self, before: Array, action: Array, m: int, seed_keys: np.ndarray, fresh: bool = False
    ) -> np.ndarray:
        lead = np.asarray(seed_keys, dtype=np.uint64)
        before, action, shape = self._rows(before, action)
        keys = np.broadcast_to(lead.reshape(lead.shape + (1,) * (len(shape) - 1 - lead.ndim)), shape[:-1])
        keys = keys.reshape(-1)
        out = np.empty((m, *before.shape))
        step = max(1, _POINTS // m)
        for start in range(0, len(before), step):
            part = slice(start, start + step)
            out[:, part] = self._run(before[part], action[part], m=m, keys=keys[part], fresh=fresh)[0]
        return out.reshape(m, *shape)

    def _run(
        self,
        before: np.ndarray,
        action: np.ndarray,
        *,
        m: int = 0,
        keys: np.ndarray | None = None,
        fresh: bool = False,
        legal: bool = True,
        want_variance: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(R, d), (R, d) -> after and variance (1 or m, R, d), effect by effect; m draws, or the mean for m = 0.

        fresh: an effect that moves takes noise of its own instead of the person's.
        """
        acted = ~np.isnan(action)
        layers = m or 1
        after = np.broadcast_to(before, (layers, *before.shape)).copy()
        variance = np.zeros(after.shape)
        number = None
        if m:
            from scipy.special import ndtri

            assert keys is not None
            number = ndtri(spread(keys, m, max(len(self._order), 1)))  # (m, R, effects)
        is_root = np.ones(self.schema.d, dtype=bool)
        is_root[list(self._order)] = False
        hard = np.where(acted, action, before)
        after[:, :, is_root] = hard[:, is_root]
        with np.errstate(invalid="ignore"):
            moved = (after != before) & ~(np.isnan(after) & np.isnan(before))
        for place, j in enumerate(self._order):
            effect = self.effects[self.schema.names[j]]
            touched = moved[:, :, list(effect.parents)].any(2)
            soft = bool(self._soft_at[j])
            asked = touched if soft else touched & ~acted[:, j]
            natural = after[:, :, j]
            if asked.any():
                layer, row = np.nonzero(asked)
                mean, var = self._values(
                    effect, before, row, after[layer, row], fresh, spread=bool(m) or want_variance
                )
                if m:
                    assert number is not None
                    mean = mean + np.sqrt(var) * number[layer, row, place]
                mean = effect.centre + effect.size * mean
                natural[layer, row] = self._legal(j, mean) if legal else mean
                if want_variance:
                    variance[layer, row, j] = effect.size**2 * var
            if soft:
                with np.errstate(invalid="ignore"):
                    shifted = np.where(
                        np.isnan(before[:, j]), action[:, j], natural + (action[:, j] - before[:, j])
                    )
                after[:, :, j] = np.where(acted[:, j], shifted, natural)
            else:
                after[:, :, j] = np.where(acted[:, j], action[:, j], natural)
            with np.errstate(invalid="ignore"):
                moved[:, :, j] = (after[:, :, j] != before[:, j]) & ~(
                    np.isnan(after[:, :, j]) & np.isnan(before[:, j])
                )
        return after, variance

    def _values(
        self,
        effect: _Effect,
        before: np.ndarray,
        row: np.ndarray,
        causes: np.ndarray,
        fresh: bool,
        spread: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(T,) standardised mean and variance for people row (T,) with new causes (T, d)."""
        points = effect.seen(causes)
        if fresh:
            mean, variance = effect.node.prior(points)
            return mean, variance + effect.node.noise
        asked, place = np.unique(row, return_inverse=True)
        own, again = self._own(effect, before[asked])
        return effect.node.counterfactual(
            own, again[place.reshape(-1)], points, spread=spread, kind=self.variance
        )

    def _own(self, effect: _Effect, people: np.ndarray) -> tuple[Own, np.ndarray]:
        """What distinct people tell, and which of them each of these people (P, d) is."""
        value = people[:, [*effect.parents, effect.column]]
        _, first, again = np.unique(keys_of(value, 0), return_index=True, return_inverse=True)
        some = people[first]
        own = effect.node.own(effect.seen(some), (some[:, effect.column] - effect.centre) / effect.size)
        return own, again.reshape(-1)

    def _legal(self, j: int, value: np.ndarray) -> np.ndarray:
        limits = self._limits[j]
        return value if limits is None else np.clip(np.rint(value), limits[0], limits[1])

    # -- noise, density, samples ---------------------------------------------------------------------------

    def noise_posterior(self, x: Array) -> tuple[np.ndarray, np.ndarray]:
        """(..., d) people -> mean and variance of their noise given all that is known, feature units.

        A feature without causes is its own noise, with variance 0.
        """
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(-1, self.schema.d)
        mean, variance = flat.copy(), np.zeros(flat.shape)
        for name, effect in self.effects.items():
            own, again = self._own(effect, flat)
            j = self.schema.index(name)
            mean[:, j], variance[:, j] = effect.size * own.noise[again], effect.size**2 * own.spread[again]
        return mean.reshape(x.shape), variance.reshape(x.shape)

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): each value less what is expected of its causes, from the table alone.

        `predict` undoes it exactly. The noise that a person's own value tells is `noise_posterior`.
        """
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(-1, self.schema.d)
        u = flat.copy()
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            u[:, j] = flat[:, j] - effect.centre - effect.size * effect.node.prior(effect.seen(flat))[0]
        return np.asarray(u.reshape(x.shape))

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d) noise as `abduct` gives it, (..., d) action or None -> (..., d): the people of this noise, acting.

        The expected function is taken for true here; `consequences` also learns from the person's own values.
        """
        u = np.asarray(u, dtype=np.float64)
        x = self._told(u.reshape(-1, self.schema.d), None, None).reshape(u.shape)
        if action is None:
            return x
        rows, act, shape = self._rows(x, action)
        noise, _, _ = self._rows(u, action)
        return self._told(noise, rows, act).reshape(shape)

    def _told(self, u: np.ndarray, before: np.ndarray | None, action: np.ndarray | None) -> np.ndarray:
        x = u.copy()
        acted = np.zeros(u.shape, dtype=bool) if action is None else ~np.isnan(action)
        if action is not None:
            roots = [j for j in range(self.schema.d) if j not in self._order]
            x[:, roots] = np.where(acted, action, u)[:, roots]
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean = effect.centre + effect.size * effect.node.prior(effect.seen(x))[0]
            x[:, j] = self._legal(j, mean + u[:, j])
            if action is not None:
                assert before is not None
                to = action[:, j] if not self._soft_at[j] else x[:, j] + (action[:, j] - before[:, j])
                x[:, j] = np.where(acted[:, j], to, x[:, j])
        return x

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density of the fitted world, nats per feature unit; a probability where discrete."""
        return np.asarray(self.log_density_parts(x).sum(-1))

    def log_density_parts(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): what each feature adds to `log_density`, given its causes."""
        from scipy.special import log_ndtr

        self._whole("a density")
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(-1, self.schema.d)
        out = np.empty(flat.shape)
        for name, root in self.roots.items():
            j = self.schema.index(name)
            out[:, j] = root.log_density(flat[:, j])
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean, variance = effect.node.prior(effect.seen(flat))
            sd = np.sqrt(variance + effect.node.noise)
            limits = self._limits[j]
            if limits is None:
                z = ((flat[:, j] - effect.centre) / effect.size - mean) / sd
                out[:, j] = -0.5 * z * z - np.log(sd * effect.size) - 0.5 * math.log(2 * math.pi)
                continue
            low = np.where(flat[:, j] <= limits[0], -np.inf, flat[:, j] - 0.5)
            high = np.where(flat[:, j] >= limits[1], np.inf, flat[:, j] + 0.5)
            a, b = (((edge - effect.centre) / effect.size - mean) / sd for edge in (low, high))
            a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)  # the tail in which differences keep digits
            upper, lower = log_ndtr(b), log_ndtr(a)
            with np.errstate(divide="ignore", invalid="ignore"):
                out[:, j] = upper + np.log1p(-np.exp(np.where(np.isinf(a), -np.inf, lower) - upper))
        return out.reshape(x.shape)

    def sample(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) people drawn from the fitted world; `rng` is a generator or a seed."""
        self._whole("a sample")
        rng = np.random.default_rng(rng)
        x = np.empty((n, self.schema.d))
        for name, root in self.roots.items():
            x[:, self.schema.index(name)] = root.sample(rng, n)
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean, variance = effect.node.prior(effect.seen(x))
            value = mean + np.sqrt(variance + effect.node.noise) * rng.standard_normal(n)
            x[:, j] = self._legal(j, effect.centre + effect.size * value)
        return x

    # -- on tensors ----------------------------------------------------------------------------------------

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """What is expected, on tensors; differentiable in `value`, rounding passes the gradient straight through."""
        return self._torch(before, value, acted)

    def draws_torch(
        self, before: Array, value: Array, acted: Array, m: int, seed_keys: np.ndarray, *, fresh: bool = False
    ) -> Array:
        """(m, ..., d): the draws of `draws` (or `fresh_draws`) on tensors, differentiable in `value`."""
        return self._torch(before, value, acted, m=m, seed_keys=seed_keys, fresh=fresh)

    def _torch(
        self,
        before: Any,
        value: Any,
        acted: Any,
        m: int = 0,
        seed_keys: np.ndarray | None = None,
        fresh: bool = False,
    ) -> Any:
        torch = require("torch", extra="torch")
        from wayforward.rules.arrays import align

        before, value = align(before, value)
        acted = acted if acted.ndim == value.ndim else align(acted, value)[0]
        shape = tuple(np.broadcast_shapes(tuple(before.shape), tuple(value.shape), tuple(acted.shape)))
        d, flat = self.schema.d, (-1, self.schema.d)
        x = torch.broadcast_to(before, shape).reshape(flat)
        to = torch.where(acted, value, before).broadcast_to(shape).reshape(flat)
        on = torch.broadcast_to(acted, shape).reshape(flat)
        people, layers = x.detach().cpu().numpy().astype(np.float64), max(m, 1)
        number = None
        if m:
            from scipy.special import ndtri

            lead = np.asarray(seed_keys, dtype=np.uint64)
            lead = np.broadcast_to(lead.reshape(lead.shape + (1,) * (len(shape) - 1 - lead.ndim)), shape[:-1])
            number = torch.as_tensor(
                ndtri(spread(lead.reshape(-1), m, max(len(self._order), 1))), dtype=x.dtype, device=x.device
            )

        def tiled(column: Any) -> Any:
            return column.expand(layers, -1).reshape(-1)

        who = np.tile(np.arange(len(people)), layers)
        columns: list[Any] = [tiled(x[:, j]) for j in range(d)]
        touched: list[Any] = [None] * d
        order = [*(j for j in range(d) if j not in self._order), *self._order]
        for j in order:
            act, own = tiled(on[:, j]), tiled(x[:, j])
            effect = self.effects.get(self.schema.names[j])
            above = None
            if effect is not None:
                for parent in effect.parents:
                    if touched[parent] is not None:
                        above = touched[parent] if above is None else above | touched[parent]
            natural = own
            if effect is not None and above is not None:
                natural = torch.where(
                    above, self._value_torch(torch, effect, people, who, columns, number, j, fresh), own
                )
            if self._soft_at[j]:
                columns[j] = torch.where(act, natural + (tiled(to[:, j]) - own), natural)
            else:
                columns[j] = torch.where(act, tiled(to[:, j]), natural)
            now = act if above is None else act | above
            touched[j] = now if bool(now.any()) else None
        out = torch.stack(columns, -1)
        return out.reshape((m, *shape) if m else shape)

    def _value_torch(
        self,
        torch: Any,
        effect: _Effect,
        people: np.ndarray,
        who: np.ndarray,
        columns: list[Any],
        number: Any,
        j: int,
        fresh: bool,
    ) -> Any:
        points, drawn = effect.seen_torch(torch, columns), number is not None
        if fresh:
            mean, variance = effect.node.prior_torch(torch, points, spread=drawn)
            variance = variance + effect.node.noise
        else:
            own, again = self._own(effect, people)
            mean, variance = effect.node.counterfactual_torch(
                torch, own, again[who], points, spread=drawn, kind=self.variance
            )
        if drawn:
            z = number[:, :, self._order.index(j)].reshape(-1)
            mean = mean + (variance + 1e-12).sqrt() * z  # the root of 0 has no gradient
        return self._legal_torch(torch, j, effect.centre + effect.size * mean)

    def _legal_torch(self, torch: Any, j: int, value: Any) -> Any:
        limits = self._limits[j]
        if limits is None:
            return value
        return value + (torch.clamp(torch.round(value), limits[0], limits[1]) - value).detach()

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        torch = require("torch", extra="torch")
        flat = x.reshape(-1, self.schema.d)
        columns = [flat[:, j] for j in range(self.schema.d)]
        out = list(columns)
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean = effect.node.prior_torch(torch, effect.seen_torch(torch, columns), spread=False)[0]
            out[j] = columns[j] - effect.centre - effect.size * mean
        return torch.stack(out, -1).reshape(x.shape)

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted`, the feature is set to `value`. Differentiable."""
        torch = require("torch", extra="torch")
        from wayforward.rules.arrays import align

        if value is None or acted is None:
            columns = list(u.reshape(-1, self.schema.d).unbind(-1))
            return torch.stack(self._told_torch(torch, columns, None, None, None), -1).reshape(u.shape)
        before = self.predict_torch(u) if self.soft else u
        (u, value), before = align(u, value), align(before, value)[0]
        acted = align(acted, value)[0] if acted.ndim != value.ndim else acted
        shape = tuple(np.broadcast_shapes(tuple(u.shape), tuple(value.shape), tuple(acted.shape)))
        parts = [
            torch.broadcast_to(part, shape).reshape(-1, self.schema.d).unbind(-1) for part in (u, before)
        ]
        parts += [
            torch.broadcast_to(part, shape).reshape(-1, self.schema.d).unbind(-1) for part in (value, acted)
        ]
        return torch.stack(self._told_torch(torch, *map(list, parts)), -1).reshape(shape)

    def _told_torch(
        self,
        torch: Any,
        u: list[Any],
        before: list[Any] | None,
        value: list[Any] | None,
        acted: list[Any] | None,
    ) -> list[Any]:
        columns = list(u)
        if value is not None and acted is not None:
            for j in range(self.schema.d):
                if j not in self._order:
                    columns[j] = torch.where(acted[j], value[j], u[j])
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean = effect.node.prior_torch(torch, effect.seen_torch(torch, columns), spread=False)[0]
            natural = self._legal_torch(torch, j, effect.centre + effect.size * mean + u[j])
            if value is not None and acted is not None and before is not None:
                to = value[j] if not self._soft_at[j] else natural + (value[j] - before[j])
                natural = torch.where(acted[j], to, natural)
            columns[j] = natural
        return columns

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable in real features."""
        self._whole("a density")
        torch = require("torch", extra="torch")
        flat = x.reshape(-1, self.schema.d)
        columns = list(flat.unbind(-1))
        total = torch.zeros_like(columns[0])
        for name, root in self.roots.items():
            total = total + root.log_density_torch(torch, columns[self.schema.index(name)])
        for j in self._order:
            effect = self.effects[self.schema.names[j]]
            mean, variance = effect.node.prior_torch(torch, effect.seen_torch(torch, columns))
            sd = (variance + effect.node.noise).sqrt()
            limits = self._limits[j]
            if limits is None:
                z = ((columns[j] - effect.centre) / effect.size - mean) / sd
                total = total - 0.5 * z * z - torch.log(sd * effect.size) - 0.5 * math.log(2 * math.pi)
                continue
            edges = (columns[j] - 0.5, columns[j] + 0.5)
            a, b = (((edge - effect.centre) / effect.size - mean) / sd for edge in edges)
            a = torch.where(
                columns[j] <= limits[0], -math.inf, a
            )  # after dividing, so that gradients stay finite
            b = torch.where(columns[j] >= limits[1], math.inf, b)
            a, b = torch.where(a > 0, -b, a), torch.where(a > 0, -a, b)
            share = torch.special.ndtr(b) - torch.special.ndtr(a)
            total = total + torch.log(share.clamp_min(1e-300))
        return total.reshape(x.shape[:-1])

    # -- files ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write to a .safetensors file: numbers as arrays, the rest as JSON; `load` reads it back."""
        numpy_file = require("safetensors.numpy", extra="torch")
        path = Path(path)
        arrays: dict[str, np.ndarray] = {}
        head: dict[str, Any] = {
            "format": _FORMAT,
            "kind": _KIND,
            "schema": self.schema.to_dict(),
            "graph": {name: list(causes) for name, causes in self.graph.parents.items()},
            "variance": self.variance,
            "soft": sorted(self.soft),
            "report": self.report,
            "roots": sorted(self.roots),
            "effects": {},
        }
        for name, effect in self.effects.items():
            node = effect.node
            head["effects"][name] = {
                "inputs": [list(pair) for pair in effect.inputs],
                "centre": effect.centre,
                "size": effect.size,
                "amplitude": node.amplitude,
                "noise": node.noise,
                "slope": node.slope,
            }
            parts = {"middle": effect.middle, "scale": effect.scale, "inputs": node.inputs}
            parts |= {"target": node.target, "length": node.length, "keys": node.keys.view(np.int64)}
            arrays |= {f"effect.{name}.{part}": np.ascontiguousarray(array) for part, array in parts.items()}
        for name, root in self.roots.items():
            arrays[f"root.{name}"] = np.ascontiguousarray(root.values)
        numpy_file.save_file(arrays, os.fspath(path), metadata={"wayforward": json.dumps(head)})
        return path

    @classmethod
    def load(cls, path: str | Path, schema: Schema | None = None) -> GaussianProcessWorld:
        """Read what `save` wrote, bound to the schema if one is given.

        Raises: FileFormatError for a file that is missing, broken or something else; WorldError for another schema.
        """
        safetensors = require("safetensors", extra="torch")
        path = Path(path)
        if not path.is_file():
            raise FileFormatError(f"There is no file '{path.name}'. Check the path.")
        try:
            with safetensors.safe_open(os.fspath(path), framework="numpy") as stream:
                head = json.loads((stream.metadata() or {})["wayforward"])
                arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            if head.get("format") != _FORMAT or head.get("kind") != _KIND:
                raise ValueError("kind")
            own = Schema.from_dict(head["schema"])
            graph = CausalGraph.read(head["graph"], nodes=own.names)
            effects = {
                name: _effect_of(own, graph, name, told, arrays) for name, told in head["effects"].items()
            }
            if set(effects) != {name for name in own.names if graph.parents[name]}:
                raise ValueError("effects")
            roots = {}
            for name in head["roots"]:
                j = own.index(name)
                discrete, levels = bool(own.has_levels[j] or own.integral[j]), int(own.n_levels[j] or 0)
                roots[name] = _Root.of(_finite(arrays[f"root.{name}"], (None,)), discrete, levels)
            if set(roots) & set(effects):
                raise ValueError("roots")
            world = cls(
                graph,
                own,
                effects,
                roots,
                variance=head["variance"],
                soft=head["soft"],
                report=head["report"],
            )
        except Exception as error:
            raise FileFormatError(
                f"'{path.name}' does not hold a Gaussian-process world ({type(error).__name__}). Save it again."
            ) from None
        return world if schema is None else world.bind(schema)


def _effect_of(
    schema: Schema, graph: CausalGraph, name: str, told: dict[str, Any], arrays: dict[str, np.ndarray]
) -> _Effect:
    """An effect from what a file says. Raises: ValueError, KeyError, TypeError if the parts do not fit."""
    part = {
        key: arrays[f"effect.{name}.{key}"]
        for key in ("middle", "scale", "inputs", "target", "length", "keys")
    }
    inputs = tuple((int(j), int(level)) for j, level in told["inputs"])
    parents = tuple(schema.index(cause) for cause in graph.parents[name])
    p, count = len(inputs), len(part["target"])
    numbers = [float(told[key]) for key in ("centre", "size", "amplitude", "noise", "slope")]
    if (
        {j for j, _ in inputs} != set(parents)
        or not np.isfinite(numbers).all()
        or min(numbers[1:4]) <= 0
        or numbers[4] < 0
    ):
        raise ValueError(name)
    node = GpNode(
        inputs=_finite(part["inputs"], (count, p)),
        target=_finite(part["target"], (count,)),
        length=_finite(part["length"], (p,)),
        amplitude=numbers[2],
        noise=numbers[3],
        slope=numbers[4],
        keys=part["keys"].astype(np.int64).view(np.uint64),
    )
    if (node.length <= 0).any() or node.keys.shape != (count,):
        raise ValueError(name)
    return _Effect(
        column=schema.index(name),
        parents=parents,
        inputs=inputs,
        middle=_finite(part["middle"], (p,)),
        scale=_finite(part["scale"], (p,)),
        centre=numbers[0],
        size=numbers[1],
        node=node,
    )


def _finite(array: np.ndarray, shape: tuple[int | None, ...]) -> np.ndarray:
    fits = array.ndim == len(shape) and all(w in (None, s) for w, s in zip(shape, array.shape, strict=True))
    if not fits or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("array")
    return array


def _fit_effect(
    schema: Schema, graph: CausalGraph, name: str, x: np.ndarray, seed: int, tune: int, trend: bool
) -> _Effect:
    column = schema.index(name)
    parents = tuple(schema.index(cause) for cause in graph.parents[name])
    inputs: list[tuple[int, int]] = []
    for j in parents:
        if schema.is_categorical[j]:
            inputs += [(j, level) for level in range(int(schema.n_levels[j]))]
        else:
            inputs.append((j, -1))
    raw = np.stack([x[:, j] if level < 0 else (x[:, j] == level) * 1.0 for j, level in inputs], axis=-1)
    number = np.array([level < 0 for _, level in inputs])
    middle, scale = np.where(number, raw.mean(0), 0.0), np.where(number, raw.std(0), 1.0)
    scale = np.where(scale > 0, scale, 1.0)  # constant among the kept rows only
    centre, size = float(x[:, column].mean()), float(x[:, column].std()) or 1.0
    node = GpNode.fit(
        (raw - middle) / scale, (x[:, column] - centre) / size, seed=seed, tune=tune, trend=trend
    )
    return _Effect(column, parents, tuple(inputs), middle, scale, centre, size, node)


def _quality(schema: Schema, effect: _Effect) -> dict[str, Any]:
    """How well the fitted process tells each kept row from the others."""
    node = effect.node
    mean, variance = node.left_out()
    miss = node.target - mean
    return {
        "rows": len(node.target),
        "noise_sd": effect.size * math.sqrt(node.noise),
        "explained": float(1 - np.mean(miss**2) / np.var(node.target)),
        "inside_95": float(np.mean(np.abs(miss) <= 1.959964 * np.sqrt(variance))),
        "length": {
            schema.names[j]
            if level < 0
            else f"{schema.names[j]}={schema.features[j].level_text(level)}": float(length * scale)
            for (j, level), length, scale in zip(effect.inputs, node.length, effect.scale, strict=True)
        },
    }


def _limits(feature: Any) -> tuple[float, float] | None:
    """The least and greatest legal value where consequences are rounded, else None."""
    if feature.has_levels:
        return 0.0, float(feature.n_levels - 1)
    if feature.kind != "integer":
        return None
    if feature.bounds != "declared":  # bounds that were only observed are no law
        return -np.inf, np.inf
    return (
        -np.inf if feature.low is None else float(feature.low),
        np.inf if feature.high is None else float(feature.high),
    )


def _same_feature(fitted: Feature, here: Feature) -> None:
    """Raise WorldError unless a feature is what the world was fitted to."""
    if fitted.kind != here.kind or tuple(fitted.levels or ()) != tuple(here.levels or ()):
        raise WorldError(
            f"The world was fitted to another schema: '{fitted.name}' was {fitted.kind}, and here it is {here.kind} or "
            "has other levels. Use the schema of the fit, or fit again."
        )
