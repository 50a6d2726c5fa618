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

import json
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtr

from wayforward.errors import DataError, FileFormatError, WorldError, require
from wayforward.rules.arrays import Array, align
from wayforward.schema import Feature, Schema
from wayforward.world.base import World, aligned, unknown_nodes
from wayforward.world.flow_layer import Column, NumpyNode, Plan, TorchFlow
from wayforward.world.flow_training import FlowReport, Progress, train
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from wayforward.world.flow_diagnosis import FlowDiagnosis

_LEAST_ROWS = 30
_FEW = 40.0  # a whole number whose spread is below so many steps is told cell by cell
_CROWD = 0.002  # share of the rows on the end of a range that makes it a wall
_MAX_BYTES = 200_000_000


class CausalFlow(World):
    """A causal normalising flow: made by `CausalFlow.fit` or `CausalFlow.load`, bound to its schema.

    Arrays (..., d) are in schema order, levels by index. Noise is standard normal. What follows from an action is
    legal: whole numbers and levels are rounded and kept within what exists, a number stays within ends that are
    declared or that many people stand on. The probability of a discrete value is exact. A nominal feature may be
    a cause, but no effect: its levels have no order for a map to follow.

    Attributes: graph, plan, report (of the fit).
    """

    def __init__(
        self,
        schema: Schema,
        graph: CausalGraph,
        plan: Plan,
        weights: Mapping[str, np.ndarray],
        report: FlowReport,
        soft: bool | Collection[str] = False,
        columns: Sequence[int] | None = None,
    ) -> None:
        self.schema, self.graph, self.plan, self.report = schema, graph, plan, report
        self.weights = dict(weights)
        chosen = (
            (graph.names if soft else ())
            if isinstance(soft, bool)
            else tuple([soft] if isinstance(soft, str) else soft)
        )
        unknown_nodes(chosen, graph.names, "list of soft interventions")
        self.soft = frozenset(chosen)
        self._soft_at = tuple(name in self.soft for name in graph.names)
        self._order = [j for generation in plan.generations for j in generation]
        self._at = list(range(plan.d)) if columns is None else list(columns)
        self._whole = self._at == list(range(schema.d))
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
        kind: Literal["affine", "spline"] = "affine",
        hidden: Sequence[int] = (64,),
        bins: int = 8,
        epochs: int = 1000,
        batch: int = 4000,
        rate: float = 1e-3,
        held_out: Any = 0.1,
        patience: int = 200,
        seed: int = 0,
        device: str = "cpu",
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
        done, epochs at most). soft: as in `SCM`.
        Raises: WorldError for the graph, DataError that names the column for the table.
        Example: ``CausalFlow.fit(data.graph, data.x, data.schema)``.
        """
        if kind not in ("affine", "spline"):
            raise WorldError(f"kind={kind!r} is not known. Use 'affine' or 'spline'.")
        sizes = tuple(int(h) for h in hidden)
        if not sizes or min(sizes) < 1 or bins < 2:
            raise WorldError(f"hidden={hidden!r}, bins={bins}: give at least one layer and two bins.")
        if epochs < 1 or batch < 1 or patience < 1 or not rate > 0:
            raise WorldError(
                f"epochs={epochs}, batch={batch}, patience={patience}, rate={rate}: all must be above zero."
            )
        schema, read, x = _read(graph, table, schema)
        if isinstance(held_out, (int, float)):
            if not 0 < held_out < 1:
                raise WorldError(f"held_out={held_out} is no share of the rows. Use 0.1, or give rows.")
            order = np.random.default_rng([seed, 2**31]).permutation(len(x))
            count = max(1, round(held_out * len(x)))
            held, x = x[order[:count]], x[order[count:]]
        else:
            held = _rows(schema, held_out, "held-out rows")
        plan = _plan(schema, read, x, kind, sizes, int(bins))
        weights, report = train(
            plan, x, held, epochs=epochs, batch=batch, rate=rate, patience=patience, seed=seed, device=device,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
        return cls(schema, read, plan, weights, report, soft)

    def softly(self, soft: bool | Collection[str] = True) -> CausalFlow:
        """The same flow where acts on these features (True: on all) are shifts on top of what follows."""
        return CausalFlow(self.schema, self.graph, self.plan, self.weights, self.report, soft, self._at)

    def bind(self, schema: Schema) -> CausalFlow:
        """The same flow over a schema's columns, matched by name; columns without a node stand alone.

        Raises: WorldError for a node that the schema does not have, or one of another kind or other levels.
        """
        if schema == self.schema:
            return self
        unknown_nodes(self.graph.names, schema.names, "flow")
        for place, name in zip(self._at, self.graph.names, strict=True):
            old, new = self.schema.features[place], schema[name]
            if (old.has_levels, old.levels) != (new.has_levels, new.levels) or (
                old.has_levels and (old.kind == "categorical") != (new.kind == "categorical")
            ):
                raise WorldError(
                    f"The flow was fitted with '{name}' as {_told(old)}, but in this schema it is {_told(new)}. "
                    "Use the schema of the fit, or fit the flow again."
                )
        columns = [schema.index(name) for name in self.graph.names]
        return CausalFlow(schema, self.graph, self.plan, self.weights, self.report, self.soft, columns)

    # -- files ---------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write weights (safetensors) and everything else (JSON metadata) to one file."""
        safetensors = require("safetensors.numpy", extra="torch")
        names = [self.schema.names[place] for place in self._at]
        told = {
            "world": "CausalFlow",
            "version": 1,
            "schema": Schema(tuple(self.schema[name] for name in names)).to_yaml(),
            "graph": {"names": list(self.graph.names), "edges": [list(edge) for edge in self.graph.edges]},
            "plan": self.plan.to_dict(),
            "soft": sorted(self.soft),
            "report": {**self.report.__dict__, "interval": list(self.report.interval)},
        }
        file = Path(path)
        tensors = {name: np.ascontiguousarray(value) for name, value in self.weights.items()}
        safetensors.save_file(tensors, file, metadata={"wayforward": json.dumps(told)})
        return file

    @classmethod
    def load(cls, path: str | os.PathLike[str], schema: Schema | None = None) -> CausalFlow:
        """Read what `save` wrote; with a schema, bound to it.

        Raises: FileFormatError for a file that is broken or something else, WorldError for another schema.
        """
        safetensors = require("safetensors", extra="torch")
        file = Path(path)
        try:
            if file.stat().st_size > _MAX_BYTES:
                raise ValueError("it is larger than any flow")
            with safetensors.safe_open(os.fspath(file), framework="np") as stream:
                told = json.loads((stream.metadata() or {})["wayforward"])
                weights = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            if told["world"] != "CausalFlow" or told["version"] != 1:
                raise ValueError(f"it holds a {told['world']!s:.40}, version {told['version']!s:.10}")
            own = Schema.from_yaml(told["schema"])
            graph = CausalGraph.read(
                [tuple(edge) for edge in told["graph"]["edges"]], nodes=told["graph"]["names"]
            )
            plan = Plan.from_dict(told["plan"])
            _check(plan, graph, own, weights)
            report = FlowReport(**{**told["report"], "interval": tuple(told["report"]["interval"])})
            made = cls(own, graph, plan, weights, report, told["soft"])
        except FileNotFoundError:
            raise FileFormatError(f"There is no file '{file}'. Save a flow there first.") from None
        except Exception as error:
            raise FileFormatError(
                f"'{file.name}' is no readable causal flow ({error!s:.160}). Save the flow again with flow.save."
            ) from None
        return made if schema is None else made.bind(schema)

    # -- the graph -----------------------------------------------------------------------------------------
    @cached_property
    def descendants(self) -> np.ndarray:
        """(d, d) bool in schema order: acting on the row's feature can move the column's feature."""
        below = np.zeros((self.schema.d, self.schema.d), dtype=bool)
        below[np.ix_(self._at, self._at)] = self.graph.descendants()
        return below

    # -- NumPy ---------------------------------------------------------------------------------------------
    @cached_property
    def _nodes(self) -> list[NumpyNode]:
        return [NumpyNode(self.plan, j, self.weights) for j in range(self.plan.d)]

    def _noise_of(
        self, j: int, own: np.ndarray, causes: Mapping[int, np.ndarray], density: bool = False
    ) -> tuple[np.ndarray, ...]:
        """(m,) noise of node j, and its log-density if asked for, from values (m,)."""
        node, parents = self._nodes[j], self.plan.parents[j]

        def work(x: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            maps = node.map_of(lambda p: values[parents.index(p)], len(x))
            return node.noise(x, maps, density)

        return node.in_blocks(work, own, *(causes[p] for p in parents))

    def _cell_of(self, j: int, own: np.ndarray, causes: Mapping[int, np.ndarray]) -> tuple[np.ndarray, ...]:
        """(m,) probability below and up to the cells of these values of node j."""
        node = self._nodes[j]
        low, high = node.cell(own, node.map_of(lambda p: causes[p], len(own)))
        return ndtr(low), ndtr(high)

    def _value_of(self, j: int, z: np.ndarray, causes: Mapping[int, np.ndarray]) -> np.ndarray:
        """(m,) value of node j from its noise and the values of its causes."""
        node, parents = self._nodes[j], self.plan.parents[j]

        def work(u: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
            return (node.value(u, node.map_of(lambda p: values[parents.index(p)], len(u))),)

        return node.in_blocks(work, z, *(causes[p] for p in parents))[0]

    def _columns(self, x: Array, what: str = "The people") -> tuple[np.ndarray, np.ndarray]:
        """(..., D) -> the array, and its nodes as contiguous columns (d, m)."""
        array = np.asarray(x, dtype=np.float64)
        if array.ndim < 1 or array.shape[-1] != self.schema.d:
            raise WorldError(
                f"{what} have shape {array.shape}, but the last axis must hold {self.schema.d} features."
            )
        return array, np.ascontiguousarray(array.reshape(-1, self.schema.d)[:, self._at].T)

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): standard normal noise; a feature without a node is its own."""
        array, columns = self._columns(x)
        u = np.array(array).reshape(-1, self.schema.d)
        with np.errstate(all="ignore"):
            for j, place in enumerate(self._at):
                u[:, place] = self._noise_of(j, columns[j], dict(enumerate(columns)))[0]
        return u.reshape(array.shape)

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density, nats; discrete features count by their probability."""
        parts = self.log_density_parts(x)
        total = np.zeros(parts.shape[:-1])
        for j in range(parts.shape[-1]):  # one after another: np.sum regroups with the shape of the batch
            total += parts[..., j]
        return total

    def log_density_parts(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        self._needs_all("a density")
        array, columns = self._columns(x)
        parts = np.empty((columns.shape[1], self.schema.d))
        with np.errstate(all="ignore"):
            for j, place in enumerate(self._at):
                parts[:, place] = self._noise_of(j, columns[j], dict(enumerate(columns)), True)[1]
        return parts.reshape(array.shape)

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d) noise, (..., d) action or None -> (..., d): the people of this noise, acting."""
        array, noise = self._columns(u, "The noise")
        x = np.array(array).reshape(-1, self.schema.d)
        values: dict[int, np.ndarray] = {}
        with np.errstate(all="ignore"):
            for j in self._order:
                values[j] = self._value_of(j, noise[j], values)
                x[:, self._at[j]] = values[j]
        people = x.reshape(array.shape)
        if action is None:
            return people
        people, action = aligned(people, action, self.schema.d)
        return self._act(people, action, array.reshape(people.shape))

    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action."""
        before, action = aligned(before, action, self.schema.d)
        return self._act(before, action)

    def _act(self, before: np.ndarray, action: np.ndarray, noise: np.ndarray | None = None) -> np.ndarray:
        """Aligned arrays -> after. Only what a moved cause can move is worked out again."""
        shape = np.broadcast_shapes(before.shape, action.shape)[:-1]
        acting = ~np.isnan(action)
        after = np.array(np.broadcast_to(np.where(acting, action, before), (*shape, self.schema.d)))
        moved: dict[int, np.ndarray] = {}
        for j in self._order:
            place = self._at[j]
            acted, own = np.broadcast_to(acting[..., place], shape), before[..., place]
            touched: np.ndarray | None = None
            for p in self.plan.parents[j]:
                if p in moved:
                    touched = moved[p] if touched is None else touched | moved[p]
            if touched is not None:
                asked = touched if self._soft_at[j] else touched & ~acted
                if asked.any():
                    self._follow(j, before, noise, after, asked, acted, action)
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
        asked: np.ndarray,
        acted: np.ndarray,
        action: np.ndarray,
    ) -> None:
        """Write what node j becomes where it is asked for into `after`."""
        place, parents = self._at[j], self.plan.parents[j]
        with np.errstate(all="ignore"):
            if noise is not None:
                z = noise[..., place]
            else:  # each person's noise once, however many options they have
                who = asked
                for axis, size in enumerate(before.shape[:-1]):
                    if size == 1 and asked.shape[axis] > 1:
                        who = np.asarray(who.any(axis=axis, keepdims=True))
                causes = {p: np.ascontiguousarray(before[..., self._at[p]][who]) for p in parents}
                z = np.zeros(before.shape[:-1])
                z[who] = self._noise_of(j, np.ascontiguousarray(before[..., place][who]), causes)[0]
            here = np.broadcast_to(z, asked.shape)[asked]
            causes = {p: after[..., self._at[p]][asked] for p in parents}
            computed = self._value_of(j, here, causes)
        if self._soft_at[j]:
            own = np.broadcast_to(before[..., place], asked.shape)[asked]
            set_to = np.broadcast_to(action[..., place], asked.shape)[asked]
            shifted = np.where(np.isnan(own), set_to, computed + (set_to - own))
            computed = np.where(acted[asked], shifted, computed)
        after[..., place][asked] = computed

    def sample(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) people; `rng` is a generator or a seed."""
        self._needs_all("a sample")
        return self.predict(np.random.default_rng(rng).standard_normal((n, self.schema.d)))

    def _needs_all(self, what: str) -> None:
        if len(self._at) < self.schema.d:
            alone = next(name for name in self.schema.names if name not in self.graph.names)
            raise WorldError(
                f"'{alone}' is no node of the flow, so {what} of whole people is unknown. Fit the flow with it."
            )

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
        self._needs_all("a density")
        return self._on(x).noise(self._gathered(x), True)[1]

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted`, the feature is set to `value`. Differentiable."""
        return self._predict_torch(u, value, acted, False)[0]

    def predict_with_density_torch(
        self, u: Array, value: Array | None = None, acted: Array | None = None
    ) -> tuple[Array, Array]:
        """As `predict_torch`, and the log-density (...) of those people, in one go."""
        self._needs_all("a density")
        people, told = self._predict_torch(u, value, acted, True)
        return people, told

    def lead_torch(
        self, x: Array, u: Array, moving: np.ndarray, *, density: bool = True
    ) -> tuple[Array, Array | None]:
        """As `predict_with_density_torch` of noise u (..., d), for people x who can differ in `moving` (d,) bool alone.

        moving holds whatever noise was changed, and all its effects. Generations in which nothing moves are not worked
        out again, and the log-density leaves their parts out, which are the same for everything that a person can do.
        """
        torch = require("torch", extra="torch")
        flow, z, stood = self._on(u), self._gathered(u), self._gathered(x)
        columns: list[Any] = list(stood.unbind(-1))
        told: Any = torch.zeros_like(u[..., 0])
        for part in flow.generations:
            if any(moving[self._at[j]] for j in part.nodes):
                value, more = part.value(z[..., part.nodes], part.map_of(columns), density)
                told = told + more.sum(-1) if density else told
                for place, j in enumerate(part.nodes):
                    columns[j] = value[..., place]
        return self._scattered(torch.stack(columns, dim=-1), u), told if density else None

    def _predict_torch(self, u: Array, value: Array | None, acted: Array | None, density: bool) -> Any:
        if value is not None and any(self._soft_at):  # a shift needs to know from where
            before = self._predict_torch(u, None, None, False)[0]
            after = self._act_torch(self._gathered(u), before, value, acted)
            return after, self.log_density_torch(after) if density else None
        torch = require("torch", extra="torch")
        flow, z = self._on(u), self._gathered(u)
        columns: list[Any] = [None] * self.plan.d
        told: Any = 0.0
        for part in flow.generations:
            maps = part.map_of(columns)
            x, more = part.value(z[..., part.nodes], maps, density)
            if value is not None and acted is not None:
                places = [self._at[j] for j in part.nodes]
                here = acted[..., places]
                x = torch.where(here, torch.where(here, value[..., places], x.detach()), x)
                if density:
                    more = torch.where(here, part.density(x, maps), more)
            for place, j in enumerate(part.nodes):
                columns[j] = x[..., place]
            if density:
                told = told + more.sum(-1)
        alone = u if value is None or acted is None else torch.where(acted, value, u)
        return self._scattered(torch.stack(columns, dim=-1), alone), told

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
            places = [self._at[j] for j in part.nodes]
            computed = None
            if part.transform is None:
                computed = part.value(z[..., part.nodes], part.map_of(columns), False)[0]
            for i, (j, place) in enumerate(zip(part.nodes, places, strict=True)):
                own, here = before[..., place], acted[..., place]
                natural, reached = own, here
                if computed is not None:
                    above = torch.stack([touched[p] for p in self.plan.parents[j]]).any(0)
                    natural, reached = torch.where(above, computed[..., i], own), above | here
                set_to = value[..., place] if not self._soft_at[j] else natural + (value[..., place] - own)
                columns[j], touched[j] = torch.where(here, set_to, natural), reached
        return self._scattered(torch.stack(columns, dim=-1), value)

    def _gathered(self, x: Array) -> Array:
        return x if self._whole else x[..., self._at]

    def _scattered(self, told: Array, alone: Array) -> Array:
        """Node columns back in schema order; features without a node as in `alone`."""
        if self._whole:
            return told
        torch = require("torch", extra="torch")
        where = {place: j for j, place in enumerate(self._at)}
        parts = [told[..., where[i]] if i in where else alone[..., i] for i in range(self.schema.d)]
        return torch.stack(parts, dim=-1)

    # -- looking at it -------------------------------------------------------------------------------------
    def diagnose(self, table: Any, *, samples: int = 2000, seed: int = 0) -> FlowDiagnosis:
        """How well the flow fits rows that it did not learn from: see `FlowDiagnosis`."""
        from wayforward.world.flow_diagnosis import diagnose

        self._needs_all("a diagnosis")
        return diagnose(self, _rows(self.schema, table, "rows"), samples, seed)


# -- from a table ------------------------------------------------------------------------------------------
def _told(feature: Feature) -> str:
    levels = f" with the levels {', '.join(map(str, feature.levels[:6]))}" if feature.has_levels else ""
    return f"{feature.kind}{levels}"


def _read(graph: Any, table: Any, schema: Schema | None) -> tuple[Schema, CausalGraph, np.ndarray]:
    """Schema, graph in schema order, and rows (n, d) that can be learnt from."""
    read = CausalGraph.read(graph)
    if schema is None:
        if isinstance(table, np.ndarray):
            if table.ndim != 2 or table.shape[1] != len(read.names):
                raise DataError(
                    f"The rows have shape {table.shape}, but the graph has {len(read.names)} nodes. Give a table "
                    "with column names, or a schema."
                )
            schema = Schema(tuple(Feature(name=name, kind="real") for name in read.names))
        else:
            schema = Schema.infer(table)
    read = read.over(schema.names)
    x = _rows(schema, table, "rows")
    if len(x) < _LEAST_ROWS:
        raise DataError(f"{len(x)} rows are too few to fit a causal flow. Give at least {_LEAST_ROWS}.")
    for j, feature in enumerate(schema.features):
        if np.ptp(x[:, j]) == 0:
            raise DataError(
                f"'{feature.name}' is {x[0, j]:g} in every row, so nothing can be learnt about it. Leave the "
                "column out of the table, the schema and the graph."
            )
        if feature.kind == "categorical" and read.parents[feature.name]:
            raise WorldError(
                f"'{feature.name}' is categorical and has causes in the graph, but a flow gives ordered values. "
                "Make it ordinal or binary, or leave out the edges to it."
            )
    return schema, read, x


def _rows(schema: Schema, table: Any, what: str) -> np.ndarray:
    """(n, d) float64 without holes. Raises: DataError that names the column."""
    if isinstance(table, np.ndarray):
        x = np.asarray(table, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != schema.d:
            raise DataError(f"The {what} have shape {x.shape}, but the schema has {schema.d} features.")
    else:
        x = np.asarray(schema.encode(table, what), dtype=np.float64)
    if not len(x):
        raise DataError(f"There are no {what}. Give a table with people.")
    wrong = ~np.isfinite(x)
    if wrong.any():
        j = int(wrong.any(0).argmax())
        raise DataError(
            f"'{schema.names[j]}' is missing or infinite in {int(wrong[:, j].sum())} of {len(x)} {what}. "
            "Fill or drop those rows: a flow learns from complete ones."
        )
    return x


def _plan(
    schema: Schema, graph: CausalGraph, x: np.ndarray, kind: Any, hidden: tuple[int, ...], bins: int
) -> Plan:
    columns = []
    for j, feature in enumerate(schema.features):
        values = x[:, j]
        centre, width = float(values.mean()), float(values.std())
        low, high, step = float(schema.low[j]), float(schema.high[j]), float(schema.step[j])
        extra: dict[str, Any] = {}
        form: Any = "real"
        if schema.integral[j]:
            form = "cells" if feature.has_levels or width < _FEW * step else "fine"
            low, high = min(low, values.min()), max(high, values.max())
            if not np.isfinite(schema.low[j]):
                low = -np.inf
            if not np.isfinite(schema.high[j]):
                high = np.inf
            origin = low if np.isfinite(low) else float(schema.lattice[0][j])
            extra = {"low": low, "high": high, "origin": origin, "step": step}
        else:
            low, high = (
                end if _is_wall(feature, values, end) else fallback
                for end, fallback in ((low, -np.inf), (high, np.inf))
            )
            extra = {"low": low, "high": high}
            room = 1e-4 * (high - low)
            if np.isfinite(room) and low + room < values.min() and values.max() < high - room:
                form, share = "bounded", (values - low) / (high - low)
                values = np.log(share / (1 - share))
        mean, scale = float(values.mean()), float(values.std())
        reach = max(values.max() - mean, mean - values.min())
        scale = max(scale, float(reach) / 4.9)  # all of the rows inside the bends of a spline
        if feature.kind == "categorical":
            extra["levels"] = feature.n_levels
        columns.append(Column(form=form, mean=mean, scale=scale, centre=centre, width=width, **extra))
    parents = tuple(tuple(schema.index(p) for p in graph.parents[name]) for name in schema.names)
    most = max((column.levels or int(schema.n_levels[j]) for j, column in enumerate(columns)), default=0)
    return Plan(tuple(columns), parents, kind, hidden, bins, max(bins, 8, min(most, 64)))


def _is_wall(feature: Feature, values: np.ndarray, end: float) -> bool:
    """Whether nothing exists beyond this end: it was declared, or many people stand exactly on it."""
    if not np.isfinite(end):
        return False
    return feature.bounds == "declared" or bool((values == end).mean() > _CROWD)


def _is_sound(feature: Feature, column: Column) -> bool:
    """Whether a column that was read from a file can be one of this feature."""
    told: tuple[Any, ...] = (column.mean, column.scale, column.centre, column.width, column.low, column.high)
    told += (column.origin, column.step)
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or np.isnan(v) for v in told):
        return False
    fixed = np.isfinite([column.mean, column.scale, column.centre, column.width, column.origin, column.step])
    steps, closed = column.form in ("fine", "cells"), np.isfinite([column.low, column.high])
    return bool(
        fixed.all()
        and column.form in ("real", "bounded", "fine", "cells")
        and column.scale > 0
        and column.width > 0
        and column.low < column.high
        and (column.step > 0 if steps else column.step == 0)
        and (column.form != "bounded" or closed.all())
        and column.levels == (feature.n_levels if feature.kind == "categorical" else 0)
    )


def _check(plan: Plan, graph: CausalGraph, schema: Schema, weights: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless a file's parts fit together."""
    if graph.names != schema.names or plan.d != schema.d:
        raise ValueError("its graph and its schema differ")
    told = tuple(tuple(schema.index(p) for p in graph.parents[name]) for name in schema.names)
    if told != plan.parents:
        raise ValueError("its graph and its weights differ")
    if plan.kind not in ("affine", "spline"):
        raise ValueError(f"it is of the unknown kind {plan.kind!s:.20}")
    for name, feature, column in zip(schema.names, schema.features, plan.columns, strict=True):
        if not _is_sound(feature, column):
            raise ValueError(f"what it says of '{name}' cannot be")
    expected: dict[str, tuple[int, ...]] = {"roots": (len(plan.roots), 3 * plan.root_bins - 1)}
    if plan.effects:
        widths = (len(plan.inputs), *plan.hidden, sum(plan.size(j) for j in plan.effects))
        for i, (start, end) in enumerate(pairwise(widths)):
            expected |= {f"weight.{i}": (end, start), f"bias.{i}": (end,)}
    if {name: value.shape for name, value in weights.items()} != expected:
        raise ValueError("its weights have other shapes than its plan")
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise ValueError("its weights hold numbers that are not finite")
