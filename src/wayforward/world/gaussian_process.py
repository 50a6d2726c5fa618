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

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import WorldError, is_one_of, require, require_kind, require_whole
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.rules.arrays import Array, align
from wayforward.schema import Schema
from wayforward.shapes import Draws, Mask, People, PerPoint, PerRow, Points, Rows, Who
from wayforward.streams import generator, keys_of, spread
from wayforward.world.base import flat_rows, legal_limits, row_keys
from wayforward.world.fitted import FittedWorld, whole_rows
from wayforward.world.gp_features import Effect, Root, checked
from wayforward.world.gp_node import Own, Variance
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from typing import Self

_FORMAT, _KIND = "wayforward.world/1", "gaussian-process"
_FEWEST = 20  # rows
_POINTS = 1 << 16  # points (draw, person) worked on at once
_HELD = 24  # answers about the same people that are held
_HELD_PEOPLE = 256  # of how many people each at most

Progress = Callable[[int, int], None]


@public
class GaussianProcessWorld(FittedWorld):
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
    renews = True
    title: ClassVar[str] = "Gaussian-process world"

    def __init__(
        self,
        graph: CausalGraph,
        schema: Schema,
        effects: dict[str, Effect],
        roots: dict[str, Root],
        *,
        variance: Variance = "exact",
        soft: bool | Collection[str] = False,
        report: dict[str, Any] | None = None,
    ) -> None:
        if not is_one_of(variance, ("exact", "published")):
            raise WorldError(f"variance={variance!r} is neither 'exact' nor 'published'.")
        self._know(CausalGraph(tuple(schema.names), graph.parents), soft, schema.names)
        self.schema, self.effects, self.roots, self.variance = schema, effects, roots, variance
        self.report = {} if report is None else report
        self._order = tuple(schema.index(name) for name in self.graph.order if name in effects)
        self._causal = tuple((j, effects[schema.names[j]]) for j in self._order)  # causes first
        self._alone = [j for j in range(schema.d) if j not in self._order]
        self._limits = tuple(legal_limits(feature) for feature in schema.features)
        self._shifts = np.array([name in self.soft for name in schema.names])
        self._known: dict[tuple[int, bytes], tuple[Own, Who]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_known": {}}  # nobody's values travel with a world

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
        Raises: WorldError for a graph that does not fit the schema, a categorical effect, or fewer than 20 rows as
        most or tune; DataError for missing
        values, a constant column, too few rows.
        """
        schema = Schema.infer(table, propose=False) if schema is None else schema
        require_kind(schema, Schema, "schema", WorldError)
        require_whole(WorldError, seed=seed)
        require_whole(WorldError, _FEWEST, most=most, tune=tune)
        schema = schema.without_carried
        graph = CausalGraph.read(graph).over(schema.names)
        x = whole_rows(schema, graph, table, _FEWEST, "a Gaussian process")
        rng = generator(seed, 0x6A55)
        rows = x[np.sort(rng.permutation(len(x))[:most])]
        rows = rows[rng.permutation(len(rows))]
        names = [name for name in graph.order if graph.parents[name]]
        effects, report = {}, {}
        for done, name in enumerate(names):
            effects[name] = effect = Effect.fit(schema, graph, name, rows, seed=seed, tune=tune, trend=trend)
            report[name] = effect.quality(schema)
            if progress is not None:
                progress(done + 1, len(names))
        roots = {
            name: Root.of(rows[:, j], schema, j)
            for j, name in enumerate(schema.names)
            if not graph.parents[name]
        }
        return cls(graph, schema, effects, roots, variance=variance, soft=soft, report=report)

    def but(self, *, variance: Variance | None = None, soft: bool | Collection[str] | None = None) -> Self:
        """The same world with another variance or other soft interventions."""
        return self.over(self.schema, self.soft if soft is None else soft, variance)

    def over(self, schema: Schema, soft: bool | Collection[str], variance: Variance | None = None) -> Self:
        """The same world over a schema that holds its features, acts on `soft` being shifts."""
        at = {self.schema.index(name): schema.index(name) for name in self.fitted_names()}
        effects = {
            name: replace(
                effect,
                column=at[effect.column],
                parents=tuple(at[j] for j in effect.parents),
                inputs=tuple((at[j], level) for j, level in effect.inputs),
            )
            for name, effect in self.effects.items()
        }
        parents = {name: self.graph.parents[name] for name in self.fitted_names()}
        return type(self)(
            CausalGraph(tuple(schema.names), parents),
            schema,
            effects,
            self.roots,
            variance=variance or self.variance,
            soft=soft,
            report=self.report,
        )

    def fitted_names(self) -> list[str]:
        """The features that the world knows; others of its schema stand alone."""
        return [name for name in self.schema.names if name in self.effects or name in self.roots]

    # -- what follows --------------------------------------------------------------------------------------

    @cached_property
    def descendants(self) -> Mask:
        """(d, d) bool: acting on the row's feature can move the column's feature."""
        return self.graph.descendants(self.schema.names)

    def consequences(self, before: Array, action: Array) -> Points:
        """(n, d), (n, d) or (n, k, d) -> after: what is expected, in the shape of the action."""
        return self._moved(before, action)

    def counterfactual(self, before: Array, action: Array) -> tuple[Points, Points]:
        """Mean and variance of each feature after the action, each given its causes at their mean; (n, d) or (n, k, d).

        The mean is not rounded to legal values.
        """
        before, action, shape = flat_rows(before, action, self.schema.d)
        mean, variance = self._run(before, action, legal=False, want_variance=True)
        return mean[0].reshape(shape), variance[0].reshape(shape)

    def draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> Draws:
        """(m, n, d) or (m, n, k, d): m profiles that may follow; `seed_keys` (n,) uint64 own the draws of a person."""
        return self._drawn(before, action, m, seed_keys)

    def fresh_consequences(self, before: Array, action: Array) -> Points:
        """As `consequences` for somebody like this person: what moves takes the noise 0, not their own."""
        return self._moved(before, action, fresh=True)

    def fresh_draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> Draws:
        """As `draws` for people like this person: what moves takes noise of its own."""
        return self._drawn(before, action, m, seed_keys, fresh=True)

    def _moved(self, before: Array, action: Array, fresh: bool = False) -> Points:
        before, action, shape = flat_rows(before, action, self.schema.d)
        out = np.empty(before.shape)
        for start in range(0, len(before), _POINTS):
            part = slice(start, start + _POINTS)
            out[part] = self._run(before[part], action[part], fresh=fresh)[0][0]
        return out.reshape(shape)

    def _drawn(
        self, before: Array, action: Array, m: int, seed_keys: np.ndarray, fresh: bool = False
    ) -> Draws:
        before, action, shape = flat_rows(before, action, self.schema.d)
        keys = row_keys(seed_keys, shape)
        out = np.empty((m, *before.shape))
        step = max(1, _POINTS // m)
        for start in range(0, len(before), step):
            part = slice(start, start + step)
            out[:, part] = self._run(before[part], action[part], m=m, keys=keys[part], fresh=fresh)[0]
        return out.reshape(m, *shape)

    def _normals(self, keys: np.ndarray, m: int) -> Draws:
        """(m, R, effects) standard normal numbers, m for each key (R,) and effect."""
        from scipy.special import ndtri

        return np.asarray(ndtri(spread(keys, m, max(len(self._order), 1))))

    def _run(
        self,
        before: Rows,
        action: Rows,
        *,
        m: int = 0,
        keys: np.ndarray | None = None,
        fresh: bool = False,
        legal: bool = True,
        want_variance: bool = False,
    ) -> tuple[Draws, Draws]:
        """(R, d), (R, d) -> after and variance (1 or m, R, d), effect by effect; m draws, or the mean for m = 0.

        fresh: an effect that moves takes noise of its own instead of the person's.
        """
        acted = ~np.isnan(action)
        after = np.broadcast_to(before, (m or 1, *before.shape)).copy()
        variance = np.zeros(after.shape)
        number = None if keys is None else self._normals(keys, m)
        after[:, :, self._alone] = np.where(acted, action, before)[:, self._alone]
        moved = _differs(after, before)
        for place, (j, effect) in enumerate(self._causal):
            touched = moved[:, :, list(effect.parents)].any(2)
            shifts = bool(self._shifts[j])
            computes = touched if shifts else touched & ~acted[:, j]
            natural = after[:, :, j]
            if computes.any():
                layer, row = np.nonzero(computes)
                mean, var = self._values(
                    effect, before, row, after[layer, row], fresh, spread=bool(m) or want_variance
                )
                if number is not None:
                    mean = mean + np.sqrt(var) * number[layer, row, place]
                value = effect.value(mean)
                natural[layer, row] = self._legal(j, value) if legal else value
                if want_variance:
                    variance[layer, row, j] = effect.size**2 * var
            set_to = action[:, j]
            if shifts:
                with np.errstate(invalid="ignore"):
                    set_to = np.where(np.isnan(before[:, j]), set_to, natural + (action[:, j] - before[:, j]))
            after[:, :, j] = np.where(acted[:, j], set_to, natural)
            moved[:, :, j] = _differs(after[:, :, j], before[:, j])
        return after, variance

    def _values(
        self, effect: Effect, before: People, row: Who, causes: Rows, fresh: bool, spread: bool
    ) -> tuple[PerRow, PerRow]:
        """(T,) standardised mean and variance for people row (T,) with new causes (T, d)."""
        points = effect.seen(causes)
        if fresh:
            mean, variance = effect.node.prior(points)
            return mean, variance + effect.node.noise
        people, place = np.unique(row, return_inverse=True)
        own, again = self._own(effect, before[people])
        return effect.node.counterfactual(
            own, again[place.reshape(-1)], points, spread=spread, kind=self.variance
        )

    def _own(self, effect: Effect, people: Rows) -> tuple[Own, Who]:
        """What distinct people tell, and which of them each of these people (P, d) is.

        A search asks about the same people at every step, which is a third of its work: the last answers are held.
        """
        value = people[:, [*effect.parents, effect.column]]
        key = (effect.column, value.tobytes())
        held = self._known.get(key)
        if held is not None:
            return held
        _, first, again = np.unique(keys_of(value, 0), return_index=True, return_inverse=True)
        some = people[first]
        own = effect.node.own(effect.seen(some), (some[:, effect.column] - effect.centre) / effect.size)
        if len(people) <= _HELD_PEOPLE:
            if len(self._known) >= _HELD:
                self._known.clear()
            self._known[key] = own, again.reshape(-1)
        return own, again.reshape(-1)

    def _legal(self, j: int, value: PerRow) -> PerRow:
        """(...) -> (...) rounded to a legal value, where the feature has those."""
        limits = self._limits[j]
        return value if limits is None else np.clip(np.rint(value), limits[0], limits[1])

    # -- noise, density, samples ---------------------------------------------------------------------------

    def noise_posterior(self, x: Array) -> tuple[Points, Points]:
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

    def abduct(self, x: Array) -> Points:
        """(..., d) -> (..., d): each value less what is expected of its causes, from the table alone.

        `predict` undoes it exactly. The noise that a person's own value tells is `noise_posterior`.
        """
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(-1, self.schema.d)
        u = flat.copy()
        for j, effect in self._causal:
            u[:, j] = flat[:, j] - effect.centre - effect.size * effect.node.prior(effect.seen(flat))[0]
        return np.asarray(u.reshape(x.shape))

    def predict(self, u: Array, action: Array | None = None) -> Points:
        """(..., d) noise as `abduct` gives it, (..., d) action or None -> (..., d): the people of this noise, acting.

        The expected function is taken for true here; `consequences` also learns from the person's own values.
        """
        u = np.asarray(u, dtype=np.float64)
        x = self._predicted(u.reshape(-1, self.schema.d)).reshape(u.shape)
        if action is None:
            return x
        rows, act, shape = flat_rows(x, action, self.schema.d)
        noise, _, _ = flat_rows(u, action, self.schema.d)
        return self._predicted(noise, rows, act).reshape(shape)

    def _predicted(self, u: Rows, before: Rows | None = None, action: Rows | None = None) -> Rows:
        """Noise (R, d) -> people (R, d); acting, if they who would else stand at `before` do."""
        x = u.copy()
        if action is not None:
            acted = ~np.isnan(action)
            x[:, self._alone] = np.where(acted, action, u)[:, self._alone]
        for j, effect in self._causal:
            x[:, j] = self._legal(j, effect.expected(x) + u[:, j])
            if action is not None and before is not None:
                to = action[:, j] if not self._shifts[j] else x[:, j] + (action[:, j] - before[:, j])
                x[:, j] = np.where(acted[:, j], to, x[:, j])
        return x

    def log_density(self, x: Array) -> PerPoint:
        """(..., d) -> (...): log-density of the fitted world, nats per feature unit; a probability where discrete."""
        return np.asarray(self.log_density_parts(x).sum(-1))

    def log_density_parts(self, x: Array) -> Points:
        """(..., d) -> (..., d): what each feature adds to `log_density`, given its causes."""
        from scipy.special import log_ndtr

        self._require_whole("a density")
        x = np.asarray(x, dtype=np.float64)
        flat = x.reshape(-1, self.schema.d)
        out = np.empty(flat.shape)
        for name, root in self.roots.items():
            j = self.schema.index(name)
            out[:, j] = root.log_density(flat[:, j])
        for j, effect in self._causal:
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

    def sample(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) people drawn from the fitted world; `rng` is a generator or a seed."""
        self._require_whole("a sample")
        rng = np.random.default_rng(rng)
        x = np.empty((n, self.schema.d))
        for name, root in self.roots.items():
            x[:, self.schema.index(name)] = root.sample(rng, n)
        for j, effect in self._causal:
            mean, variance = effect.node.prior(effect.seen(x))
            value = mean + np.sqrt(variance + effect.node.noise) * rng.standard_normal(n)
            x[:, j] = self._legal(j, effect.value(value))
        return x

    # -- on tensors ----------------------------------------------------------------------------------------

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """What is expected, on tensors; differentiable in `value`, rounding passes the gradient straight through."""
        return self._follow_torch(before, value, acted)

    def fresh_consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """`fresh_consequences` on tensors, differentiable in `value`."""
        return self._follow_torch(before, value, acted, fresh=True)

    def draws_torch(
        self, before: Array, value: Array, acted: Array, m: int, seed_keys: np.ndarray, *, fresh: bool = False
    ) -> Array:
        """(m, ..., d): the draws of `draws` (or `fresh_draws`) on tensors, differentiable in `value`."""
        return self._follow_torch(before, value, acted, m=m, seed_keys=seed_keys, fresh=fresh)

    def _follow_torch(
        self,
        before: Array,
        value: Array,
        acted: Array,
        m: int = 0,
        seed_keys: np.ndarray | None = None,
        fresh: bool = False,
    ) -> Array:
        """After (..., d), or (m, ..., d) draws of it, effect by effect; `people` in the layers of `who` are one row."""
        torch = require("torch", extra="torch")
        before, value, acted, shape = _same_depth(before, value, acted)
        x, set_to, on = (
            torch.broadcast_to(part, shape).reshape(-1, self.schema.d)
            for part in (before, torch.where(acted, value, before), acted)
        )
        people, layers = x.detach().cpu().numpy().astype(np.float64), max(m, 1)
        number = None
        if seed_keys is not None:
            normals = self._normals(row_keys(seed_keys, shape), m)
            number = torch.as_tensor(normals, dtype=x.dtype, device=x.device)

        def tiled(column: Any) -> Any:
            return column.expand(layers, -1).reshape(-1)

        who = np.tile(np.arange(len(people)), layers)
        columns: list[Any] = [tiled(x[:, j]) for j in range(self.schema.d)]
        touched: list[Any] = [None] * self.schema.d
        for j in (*self._alone, *self._order):
            act, own, natural = tiled(on[:, j]), tiled(x[:, j]), tiled(x[:, j])
            effect, above = self.effects.get(self.schema.names[j]), None
            for parent in () if effect is None else effect.parents:
                if touched[parent] is not None:
                    above = touched[parent] if above is None else above | touched[parent]
            if effect is not None and above is not None:
                computed = self._value_torch(torch, effect, people, who, columns, number, j, fresh)
                natural = torch.where(above, computed, own)
            to = natural + (tiled(set_to[:, j]) - own) if self._shifts[j] else tiled(set_to[:, j])
            columns[j] = torch.where(act, to, natural)
            now = act if above is None else act | above
            touched[j] = now if bool(now.any()) else None
        return torch.stack(columns, -1).reshape((m, *shape) if m else shape)

    def _value_torch(
        self,
        torch: Any,
        effect: Effect,
        people: People,
        who: Who,
        columns: list[Any],
        number: Any,
        j: int,
        fresh: bool,
    ) -> Any:
        """(T,) values of an effect whose causes stand in `columns`; number: normal, one a draw, None for the mean."""
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
        return self._legal_torch(torch, j, effect.value(mean))

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
        for j, effect in self._causal:
            mean = effect.node.prior_torch(torch, effect.seen_torch(torch, columns), spread=False)[0]
            out[j] = columns[j] - effect.centre - effect.size * mean
        return torch.stack(out, -1).reshape(x.shape)

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted`, the feature is set to `value`. Differentiable."""
        torch = require("torch", extra="torch")
        before = self.predict_torch(u) if self.soft and value is not None and acted is not None else u
        given: list[Array] = []
        shape = tuple(u.shape)
        if value is not None and acted is not None:
            before = align(before, value)[0]
            u, value, acted, shape = _same_depth(u, value, acted)
            given = [before, value, acted]
        noise, *parts = (
            list(torch.broadcast_to(part, shape).reshape(-1, self.schema.d).unbind(-1))
            for part in (u, *given)
        )
        return torch.stack(self._predicted_torch(torch, noise, *parts), -1).reshape(shape)

    def _predicted_torch(
        self,
        torch: Any,
        u: list[Any],
        before: Sequence[Any] = (),
        value: Sequence[Any] = (),
        acted: Sequence[Any] = (),
    ) -> list[Any]:
        """`_predicted` on d columns (R,); nobody acts where `acted` is empty."""
        columns = list(u)
        if acted:
            for j in self._alone:
                columns[j] = torch.where(acted[j], value[j], u[j])
        for j, effect in self._causal:
            natural = self._legal_torch(torch, j, effect.expected_torch(torch, columns) + u[j])
            if acted:
                to = value[j] if not self._shifts[j] else natural + (value[j] - before[j])
                natural = torch.where(acted[j], to, natural)
            columns[j] = natural
        return columns

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable in real features."""
        self._require_whole("a density")
        torch = require("torch", extra="torch")
        flat = x.reshape(-1, self.schema.d)
        columns = list(flat.unbind(-1))
        total = torch.zeros_like(columns[0])
        for name, root in self.roots.items():
            total = total + root.log_density_torch(torch, columns[self.schema.index(name)])
        for j, effect in self._causal:
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

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds: the header, and arrays by name."""
        arrays = {f"root.{name}": root.values for name, root in self.roots.items()}
        effects = {}
        for name, effect in self.effects.items():
            effects[name], parts = effect.stored()
            arrays |= {f"effect.{name}.{part}": array for part, array in parts.items()}
        header = {
            "format": _FORMAT,
            "kind": _KIND,
            "schema": self.schema.to_dict(),
            "graph": {name: list(causes) for name, causes in self.graph.parents.items()},
            "variance": self.variance,
            "soft": sorted(self.soft),
            "report": self.report,
            "roots": sorted(self.roots),
            "effects": effects,
        }
        return header, arrays

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """The world of what `stored` gave. Raises: ValueError, KeyError, TypeError where the parts do not fit."""
        if header.get("format") != _FORMAT or header.get("kind") != _KIND:
            raise ValueError(f"it holds a {header.get('kind')!s:.40}")
        schema = Schema.from_dict(header["schema"])
        graph = CausalGraph.read(header["graph"], nodes=schema.names)
        effects = {}
        for name, stored in header["effects"].items():
            prefix = f"effect.{name}."
            parts = {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
            effects[name] = Effect.restored(schema, graph, name, stored, parts)
        if set(effects) != {name for name in schema.names if graph.parents[name]}:
            raise ValueError("its effects are not those of its graph")
        roots = {
            name: Root.of(checked(arrays[f"root.{name}"], (None,)), schema, schema.index(name))
            for name in header["roots"]
        }
        if set(roots) & set(effects):
            raise ValueError("a feature is both with and without causes")
        return cls(
            graph,
            schema,
            effects,
            roots,
            variance=header["variance"],
            soft=header["soft"],
            report=header["report"],
        )


def _differs(after: np.ndarray, before: np.ndarray) -> Mask:
    """Where two arrays differ; missing values are alike."""
    with np.errstate(invalid="ignore"):
        return np.asarray((after != before) & ~(np.isnan(after) & np.isnan(before)))


def _same_depth(before: Array, value: Array, acted: Array) -> tuple[Array, Array, Array, tuple[int, ...]]:
    """Line up three tensors, people leading, and give the shape that they broadcast to."""
    before, value = align(before, value)
    acted = acted if acted.ndim == value.ndim else align(acted, value)[0]
    shape = np.broadcast_shapes(tuple(before.shape), tuple(value.shape), tuple(acted.shape))
    return before, value, acted, tuple(shape)
