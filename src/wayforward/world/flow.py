"""A causal flow: what a table and a causal graph say about how each feature answers to its causes.

    world = CausalFlow.fit([("age", "income"), ("income", "savings")], table)
    world.consequences(people, action)      # what would have happened to these very people
    world.log_density(people)               # how likely people like these are

One increasing map for each feature, whose shape depends on the feature's causes and on nothing else, turns
people into independent normal noise. Run backwards it answers what follows from an act.

Source: A. Javaloy, P. Sanchez-Martin, I. Valera (2023), Causal normalizing flows: from theory to practice,
NeurIPS (one abductive layer, masked by the graph). Discrete features: each value is a cell of the normal noise,
whose probability is exact, instead of the noise that dequantisation adds.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtr

from wayforward.errors import DataError, WorldError, is_one_of, require, require_kind, require_whole
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.rules.arrays import Array, align
from wayforward.schema import Schema
from wayforward.shapes import FeatureMask, Mask, PerPoint, PerRow, Points, Rows
from wayforward.streams import generator
from wayforward.world.base import aligned, points
from wayforward.world.fitted import FittedWorld, inferred_schema, whole_rows
from wayforward.world.flow_numpy import NumpyNode
from wayforward.world.flow_plan import FlowPlan, Kind, check_parts, plan_of
from wayforward.world.flow_torch import TorchFlow
from wayforward.world.flow_training import FlowReport, Progress, train
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from wayforward.world.flow_diagnosis import FlowDiagnosis

_FEWEST = 30  # rows


@public
class CausalFlow(FittedWorld):
    """A causal normalising flow: made by `CausalFlow.fit` or `CausalFlow.load`, bound to its schema.

    Arrays (..., d) are in schema order, levels by index. Noise is standard normal. What follows from an action is
    legal: whole numbers and levels are rounded and kept within what exists, a number stays within ends that are
    declared or that many people stand on. The probability of a discrete value is exact. A nominal feature may be
    a cause, but no effect: its levels have no order for a map to follow.

    Attributes: graph, plan, report (of the fit), columns (of the nodes, in the schema).
    """

    leads = True
    title: ClassVar[str] = "causal flow"

    def __init__(
        self,
        schema: Schema,
        graph: CausalGraph,
        plan: FlowPlan,
        weights: Mapping[str, np.ndarray],
        report: FlowReport,
        soft: bool | Collection[str] = False,
        columns: Sequence[int] | None = None,
    ) -> None:
        self._know(graph, soft, graph.names)
        self.schema, self.plan, self.report, self.weights = schema, plan, report, dict(weights)
        self._shifts = tuple(name in self.soft for name in graph.names)
        self._order = [j for generation in plan.generations for j in generation]
        self.columns = list(range(plan.d)) if columns is None else list(columns)
        self._is_whole = self.columns == list(range(schema.d))
        self._torch: dict[Any, TorchFlow] = {}

    def __repr__(self) -> str:
        return f"CausalFlow({self.plan.kind}, {self.plan.d} features, {len(self.graph.edges)} edges)"

    # -- making --------------------------------------------------------------------------------------------
    @classmethod
    def fit(
        cls,
        graph: Any,
        table: Any,
        schema: Schema | None = None,
        *,
        kind: Kind = "affine",
        hidden: Sequence[int] = (64,),
        bins: int = 8,
        epochs: int = 1000,
        batch: int = 4000,
        rate: float = 1e-3,
        held_out: Any = 0.1,
        patience: int = 200,
        seed: int = 0,
        device: str | None = None,
        soft: bool | Collection[str] = False,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> CausalFlow:
        """Learn the flow of a graph from a table.

        graph: whatever `CausalGraph.read` reads; every column must be a node. table: a pandas, polars or
        pyarrow table, or an array (n, d) in schema order; without a schema one is inferred (an array takes its
        names from the graph). kind: how a feature answers to its causes; roots are splines in both. hidden,
        bins: sizes of the network and of the splines. held_out: a share of the rows, or rows of their own, for
        the learning rate, early stopping after `patience` epochs, and the report. checkpoint: a file that keeps
        the fit every few epochs and on Ctrl-C; the same call goes on from it. progress: called with (epochs
        done, epochs at most). soft: as in `SCM`. device: where the flow is learnt, see `device_of`; None: the CPU.
        What is learnt are plain arrays, and tensors are answered on the device that they are on.
        Raises: WorldError for the graph, DataError that names the column for the table, DeviceError.
        Example: ``CausalFlow.fit(data.graph, data.x, data.schema)``.
        """
        if not is_one_of(kind, ("affine", "spline")):
            raise WorldError(f"kind={kind!r} is not known. Use 'affine' or 'spline'.")
        sizes = tuple(int(h) for h in hidden)
        if not sizes or min(sizes) < 1 or bins < 2:
            raise WorldError(f"hidden={hidden!r}, bins={bins}: give at least one layer and two bins.")
        if epochs < 1 or batch < 1 or patience < 1 or not rate > 0:
            raise WorldError(
                f"epochs={epochs}, batch={batch}, patience={patience}, rate={rate}: all must be above zero."
            )
        read = CausalGraph.read(graph)
        schema = inferred_schema(read, table) if schema is None else schema
        require_kind(schema, Schema, "schema", WorldError)
        require_whole(WorldError, seed=seed)
        schema = schema.without_carried
        read = read.over(schema.names)
        x = whole_rows(schema, read, table, _FEWEST, "a flow")
        if isinstance(held_out, (int, float)):
            if not 0 < held_out < 1:
                raise WorldError(f"held_out={held_out} is no share of the rows. Use 0.1, or give rows.")
            order = generator(seed, 2**31).permutation(len(x))
            count = max(1, round(held_out * len(x)))
            held, x = x[order[:count]], x[order[count:]]
        else:
            held = _complete(schema, held_out, "held-out rows")
        plan = plan_of(schema, read, x, kind, sizes, int(bins))
        weights, report = train(
            plan, x, held, epochs=epochs, batch=batch, rate=rate, patience=patience, seed=seed, device=device,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
        return cls(schema, read, plan, weights, report, soft)

    def over(self, schema: Schema, soft: bool | Collection[str]) -> CausalFlow:
        """The same flow over a schema that holds its features, acts on `soft` being shifts."""
        columns = [schema.index(name) for name in self.graph.names]
        return CausalFlow(schema, self.graph, self.plan, self.weights, self.report, soft, columns)

    # -- files ---------------------------------------------------------------------------------------------
    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds: the header, and arrays by name."""
        header = {
            "world": "CausalFlow",
            "version": 1,
            "schema": Schema(tuple(self.schema[name] for name in self.graph.names)).to_yaml(),
            "graph": {"names": list(self.graph.names), "edges": [list(edge) for edge in self.graph.edges]},
            "plan": self.plan.to_dict(),
            "soft": sorted(self.soft),
            "report": asdict(self.report),
        }
        return header, self.weights

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> CausalFlow:
        """The flow of what `stored` gave. Raises: ValueError, KeyError, TypeError where the parts do not fit."""
        if header["world"] != "CausalFlow" or header["version"] != 1:
            raise ValueError(f"it holds a {header['world']!s:.40}, version {header['version']!s:.10}")
        schema = Schema.from_yaml(header["schema"])
        edges = [tuple(edge) for edge in header["graph"]["edges"]]
        graph = CausalGraph.read(edges, nodes=header["graph"]["names"])
        plan = FlowPlan.from_dict(header["plan"])
        check_parts(plan, graph, schema, arrays)
        report = FlowReport(**{**header["report"], "interval": tuple(header["report"]["interval"])})
        return cls(schema, graph, plan, arrays, report, header["soft"])

    # -- the graph -----------------------------------------------------------------------------------------
    @cached_property
    def descendants(self) -> Mask:
        """(d, d) bool in schema order: acting on the row's feature can move the column's feature."""
        below = np.zeros((self.schema.d, self.schema.d), dtype=bool)
        below[np.ix_(self.columns, self.columns)] = self.graph.descendants()
        return below

    # -- NumPy ---------------------------------------------------------------------------------------------
    @cached_property
    def _nodes(self) -> list[NumpyNode]:
        return [NumpyNode(self.plan, j, self.weights) for j in range(self.plan.d)]

    def _noise_of(
        self, j: int, own: PerRow, causes: Mapping[int, PerRow], density: bool = False
    ) -> tuple[PerRow, ...]:
        """(m,) noise of node j, and its log-density if asked for, from values (m,)."""
        node, parents = self._nodes[j], self.plan.parents[j]

        def work(x: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            maps = node.map_of(lambda p: values[parents.index(p)], len(x))
            return node.noise(x, maps, density)

        return node.in_blocks(work, own, *(causes[p] for p in parents))

    def cell_of(self, j: int, own: PerRow, causes: Mapping[int, PerRow]) -> tuple[PerRow, PerRow]:
        """(m,) probability below and up to the cells of these values of node j."""
        node = self._nodes[j]
        low, high = node.cell(own, node.map_of(lambda p: causes[p], len(own)))
        return np.asarray(ndtr(low)), np.asarray(ndtr(high))

    def _value_of(self, j: int, z: PerRow, causes: Mapping[int, PerRow]) -> PerRow:
        """(m,) value of node j from its noise and the values of its causes."""
        node, parents = self._nodes[j], self.plan.parents[j]

        def work(u: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            return (node.value(u, node.map_of(lambda p: values[parents.index(p)], len(u))),)

        return node.in_blocks(work, z, *(causes[p] for p in parents))[0]

    def _nodes_of(self, x: Array, what: str = "x") -> tuple[Points, np.ndarray]:
        """(..., D) -> the array, and its nodes as contiguous columns (d, m)."""
        array = points(x, self.schema.d, what)
        return array, np.ascontiguousarray(array.reshape(-1, self.schema.d)[:, self.columns].T)

    def abduct(self, x: Array) -> Points:
        """(..., d) -> (..., d): standard normal noise; a feature without a node is its own."""
        array, columns = self._nodes_of(x)
        u = np.array(array).reshape(-1, self.schema.d)
        with np.errstate(all="ignore"):
            for j, place in enumerate(self.columns):
                u[:, place] = self._noise_of(j, columns[j], dict(enumerate(columns)))[0]
        return u.reshape(array.shape)

    def log_density(self, x: Array) -> PerPoint:
        """(..., d) -> (...): log-density, nats; discrete features count by their probability."""
        parts = self.log_density_parts(x)
        total = np.zeros(parts.shape[:-1])
        for j in range(parts.shape[-1]):  # one after another: np.sum regroups with the shape of the batch
            total += parts[..., j]
        return total

    def log_density_parts(self, x: Array) -> Points:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        self._require_whole("a density")
        array, columns = self._nodes_of(x)
        parts = np.empty((columns.shape[1], self.schema.d))
        with np.errstate(all="ignore"):
            for j, place in enumerate(self.columns):
                parts[:, place] = self._noise_of(j, columns[j], dict(enumerate(columns)), True)[1]
        return parts.reshape(array.shape)

    def predict(self, u: Array, action: Array | None = None) -> Points:
        """(..., d) noise, (..., d) action or None -> (..., d): the people of this noise, acting."""
        array, noise = self._nodes_of(u, "u")
        x = np.array(array).reshape(-1, self.schema.d)
        values: dict[int, np.ndarray] = {}
        with np.errstate(all="ignore"):
            for j in self._order:
                values[j] = self._value_of(j, noise[j], values)
                x[:, self.columns[j]] = values[j]
        people = x.reshape(array.shape)
        if action is None:
            return people
        people, action = aligned(people, action, self.schema.d)
        return self._act(people, action, array.reshape(people.shape))

    def consequences(self, before: Array, action: Array) -> Points:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action."""
        before, action = aligned(before, action, self.schema.d)
        return self._act(before, action)

    def _act(self, before: Points, action: Points, noise: Points | None = None) -> Points:
        """Aligned arrays -> after. Only what a moved cause can move is worked out again."""
        shape = np.broadcast_shapes(before.shape, action.shape)[:-1]
        acting = ~np.isnan(action)
        after = np.array(np.broadcast_to(np.where(acting, action, before), (*shape, self.schema.d)))
        moved: dict[int, np.ndarray] = {}
        for j in self._order:
            place = self.columns[j]
            acted, own = np.broadcast_to(acting[..., place], shape), before[..., place]
            touched: np.ndarray | None = None
            for p in self.plan.parents[j]:
                if p in moved:
                    touched = moved[p] if touched is None else touched | moved[p]
            if touched is not None:
                computes = touched if self._shifts[j] else touched & ~acted
                if computes.any():
                    self._follow(j, before, noise, after, computes, acted, action)
                touched = touched | acted
            elif acted.any():
                touched = acted
            if touched is not None:
                now = after[..., place]
                touched = touched & (now != own) & ~(np.isnan(now) & np.isnan(own))
                if touched.any():
                    moved[j] = touched
        return after

    def _follow(
        self,
        j: int,
        before: np.ndarray,
        noise: np.ndarray | None,
        after: np.ndarray,
        computes: np.ndarray,
        acted: np.ndarray,
        action: np.ndarray,
    ) -> None:
        """Write what node j becomes where its equation has a say into `after`."""
        place, parents = self.columns[j], self.plan.parents[j]
        with np.errstate(all="ignore"):
            if noise is not None:
                z = noise[..., place]
            else:  # each person's noise once, however many options they have
                who = computes
                for axis, size in enumerate(before.shape[:-1]):
                    if size == 1 and computes.shape[axis] > 1:
                        who = np.asarray(who.any(axis=axis, keepdims=True))
                causes = {p: np.ascontiguousarray(before[..., self.columns[p]][who]) for p in parents}
                z = np.zeros(before.shape[:-1])
                z[who] = self._noise_of(j, np.ascontiguousarray(before[..., place][who]), causes)[0]
            here = np.broadcast_to(z, computes.shape)[computes]
            causes = {p: after[..., self.columns[p]][computes] for p in parents}
            computed = self._value_of(j, here, causes)
        if self._shifts[j]:
            own = np.broadcast_to(before[..., place], computes.shape)[computes]
            set_to = np.broadcast_to(action[..., place], computes.shape)[computes]
            shifted = np.where(np.isnan(own), set_to, computed + (set_to - own))
            computed = np.where(acted[computes], shifted, computed)
        after[..., place][computes] = computed

    def sample(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) people; `rng` is a generator or a seed."""
        self._require_whole("a sample")
        return self.predict(np.random.default_rng(rng).standard_normal((n, self.schema.d)))

    # -- torch ---------------------------------------------------------------------------------------------
    def _on(self, like: Any) -> TorchFlow:
        key = (like.dtype, like.device)
        if key not in self._torch:
            self._torch[key] = TorchFlow(self.plan, self.weights, like)
        return self._torch[key]

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        return self._scattered(self._on(x).noise(self._gathered(x), False)[0], x)

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable."""
        self._require_whole("a density")
        return self._on(x).noise(self._gathered(x), True)[1]

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted`, the feature is set to `value`. Differentiable."""
        return self._predict_torch(u, value, acted, False)[0]

    def predict_with_density_torch(
        self, u: Array, value: Array | None = None, acted: Array | None = None
    ) -> tuple[Array, Array]:
        """As `predict_torch`, and the log-density (...) of those people, in one go."""
        self._require_whole("a density")
        people, density = self._predict_torch(u, value, acted, True)
        return people, density

    def lead_torch(
        self, x: Array, u: Array, moving: FeatureMask, *, density: bool = True
    ) -> tuple[Array, Array | None]:
        """As `predict_with_density_torch` of noise u (..., d), for people x who can differ in `moving` (d,) bool alone.

        moving holds whatever noise was changed, and all its effects. Generations in which nothing moves are not worked
        out again, and the log-density leaves their parts out, which are the same for everything that a person can do.
        """
        torch = require("torch", extra="torch")
        flow, z, stood = self._on(u), self._gathered(u), self._gathered(x)
        columns: list[Any] = list(stood.unbind(-1))
        total: Any = torch.zeros_like(u[..., 0])
        for part in flow.generations:
            if any(moving[self.columns[j]] for j in part.nodes):
                value, more = part.value(z[..., part.nodes], part.map_of(columns), density)
                total = total + more.sum(-1) if density else total
                for place, j in enumerate(part.nodes):
                    columns[j] = value[..., place]
        return self._scattered(torch.stack(columns, dim=-1), u), total if density else None

    def _predict_torch(self, u: Array, value: Array | None, acted: Array | None, density: bool) -> Any:
        if value is not None and any(self._shifts):  # a shift needs to know from where
            before = self._predict_torch(u, None, None, False)[0]
            after = self._act_torch(self._gathered(u), before, value, acted)
            return after, self.log_density_torch(after) if density else None
        torch = require("torch", extra="torch")
        flow, z = self._on(u), self._gathered(u)
        columns: list[Any] = [None] * self.plan.d
        total: Any = 0.0
        for part in flow.generations:
            maps = part.map_of(columns)
            x, more = part.value(z[..., part.nodes], maps, density)
            if value is not None and acted is not None:
                places = [self.columns[j] for j in part.nodes]
                here = acted[..., places]
                x = torch.where(here, torch.where(here, value[..., places], x.detach()), x)
                if density:
                    more = torch.where(here, part.density(x, maps), more)
            for place, j in enumerate(part.nodes):
                columns[j] = x[..., place]
            if density:
                total = total + more.sum(-1)
        alone = u if value is None or acted is None else torch.where(acted, value, u)
        return self._scattered(torch.stack(columns, dim=-1), alone), total

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors, differentiable in `value`; rounding passes the gradient straight through."""
        before, value = align(before, value)
        return self._act_torch(self._on(before).noise(self._gathered(before), False)[0], before, value, acted)

    def _act_torch(self, z: Array, before: Array, value: Array, acted: Array) -> Array:
        """Noise of the nodes, people as they are, and what they set -> after."""
        torch = require("torch", extra="torch")
        shape = torch.broadcast_shapes(before.shape, value.shape)
        before, acted = before.expand(shape), acted.expand(shape)
        z = z.expand(*shape[:-1], z.shape[-1])
        value = torch.where(acted, value.expand(shape), before)
        columns: list[Any] = [None] * self.plan.d
        touched: list[Any] = [None] * self.plan.d
        for part in self._on(before).generations:
            places = [self.columns[j] for j in part.nodes]
            computed = None
            if part.transform is None:
                computed = part.value(z[..., part.nodes], part.map_of(columns), False)[0]
            for i, (j, place) in enumerate(zip(part.nodes, places, strict=True)):
                own, here = before[..., place], acted[..., place]
                natural, reached = own, here
                if computed is not None:
                    above = torch.stack([touched[p] for p in self.plan.parents[j]]).any(0)
                    natural, reached = torch.where(above, computed[..., i], own), above | here
                set_to = value[..., place] if not self._shifts[j] else natural + (value[..., place] - own)
                columns[j], touched[j] = torch.where(here, set_to, natural), reached
        return self._scattered(torch.stack(columns, dim=-1), value)

    def _gathered(self, x: Array) -> Array:
        return x if self._is_whole else x[..., self.columns]

    def _scattered(self, nodes: Array, alone: Array) -> Array:
        """Node columns back in schema order; features without a node as in `alone`."""
        if self._is_whole:
            return nodes
        torch = require("torch", extra="torch")
        where = {place: j for j, place in enumerate(self.columns)}
        parts = [nodes[..., where[i]] if i in where else alone[..., i] for i in range(self.schema.d)]
        return torch.stack(parts, dim=-1)

    # -- looking at it -------------------------------------------------------------------------------------
    def diagnose(self, table: Any, *, samples: int = 2000, seed: int = 0) -> FlowDiagnosis:
        """How well the flow fits rows that it did not learn from: see `FlowDiagnosis`."""
        from wayforward.world.flow_diagnosis import diagnose

        self._require_whole("a diagnosis")
        return diagnose(self, _complete(self.schema, table, "rows"), samples, seed)


def _complete(schema: Schema, table: Any, what: str) -> Rows:
    """(n, d) rows of people. Raises: DataError that names the column with a missing value."""
    x = schema.encode(table, what)
    if not len(x):
        raise DataError(f"There are no {what}. Give a table with people.")
    missing = np.isnan(x)
    if missing.any():
        j = int(missing.any(0).argmax())
        raise DataError(
            f"'{schema.names[j]}' is missing in {int(missing[:, j].sum())} of {len(x)} {what}. Fill or drop those "
            "rows: a flow learns from complete ones."
        )
    return x
