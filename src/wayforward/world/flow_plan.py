"""What a causal flow is, apart from its weights: how it sees each feature, the causes, the sizes of its networks.

A plan is made from a table (`plan_of`), written to a file as plain data, and checked when it is read (`check_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from wayforward.lazy import cached_property
from wayforward.schema import Feature, Schema
from wayforward.shapes import Mask, PerPoint, PerRow, Rows
from wayforward.world.graph import CausalGraph

Kind = Literal["affine", "spline"]
Form = Literal["real", "bounded", "fine", "cells"]
Layers = list[tuple[np.ndarray, np.ndarray]]  # (weight (out, in), bias (out,)) of a small network
EDGE = 1e-6  # how near to a bound a value may come, as a share of the range
_HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))
_FEW = 40.0  # a whole number whose spread is below so many steps is told cell by cell
_CROWD = 0.002  # share of the rows on the end of a range that makes it a wall


@dataclass(frozen=True)
class FlowColumn:
    """One feature as the flow sees it.

    form: 'real', 'bounded' (between low and high, unrolled by a logit), 'fine' (whole steps that are small
    beside its spread: a number that is rounded) or 'cells' (few values: each is a cell of probability).
    mean, scale: of the value, or of its logit; centre, width: of the value as its effects see it.
    low, high: ends of what exists, infinite where none is known; origin, step: of its lattice. levels: how many
    if nominal, else 0.
    """

    form: Form
    mean: float
    scale: float
    centre: float
    width: float
    low: float = -np.inf
    high: float = np.inf
    origin: float = 0.0
    step: float = 0.0
    levels: int = 0

    @property
    def inputs(self) -> int:
        """How many inputs its effects get: one for each level of a nominal feature, else one."""
        return self.levels or 1

    @property
    def constant(self) -> float:
        """What the log-density of every value holds: of a standard normal, of the scale, of a whole step."""
        step = float(np.log(self.step)) if self.form == "fine" else 0.0
        return -_HALF_LOG_TAU - float(np.log(self.scale)) + step

    def share(self, x: PerRow) -> PerRow:
        """(m,) values of a bounded feature -> their place between its ends, 0 to 1, never quite on one."""
        return np.clip((x - self.low) / (self.high - self.low), EDGE, 1 - EDGE)

    def seen(self, x: PerRow, level: int) -> PerRow:
        """(m,) values -> an input of its effects: the standardised number, or whether it is this level."""
        return np.asarray((x - self.centre) / self.width if level < 0 else (x == level) * 1.0)

    def cell_ends(self, x: PerPoint) -> tuple[PerPoint, PerPoint]:
        """Lower and upper end of the cell of each value; the outermost cells have no outer end."""
        half = 0.5 * self.step
        low = np.where(x - half < self.low, -np.inf, x - half)
        return low, np.where(x + half > self.high, np.inf, x + half)


@dataclass(frozen=True)
class FlowPlan:
    """What a flow is, apart from its weights: columns, causes (positions), kinds and sizes."""

    columns: tuple[FlowColumn, ...]
    parents: tuple[tuple[int, ...], ...]
    kind: Kind
    hidden: tuple[int, ...]
    bins: int
    root_bins: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities become None."""
        stored = asdict(self)
        for column in stored["columns"]:
            for end in ("low", "high"):
                column[end] = column[end] if np.isfinite(column[end]) else None
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FlowPlan:
        """What `to_dict` gave."""
        columns = []
        for entry in stored["columns"]:
            low, high = entry["low"], entry["high"]
            ends = {"low": -np.inf if low is None else low, "high": np.inf if high is None else high}
            columns.append(FlowColumn(**{**entry, **ends}))
        parents = tuple(tuple(int(p) for p in causes) for causes in stored["parents"])
        sizes = tuple(int(h) for h in stored["hidden"])
        return cls(
            tuple(columns), parents, stored["kind"], sizes, int(stored["bins"]), int(stored["root_bins"])
        )

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.columns)

    @cached_property
    def generations(self) -> tuple[tuple[int, ...], ...]:
        """Nodes whose causes all stand in earlier generations; the first holds the roots."""
        depth: dict[int, int] = {}
        while len(depth) < self.d:
            for j, causes in enumerate(self.parents):
                if j not in depth and all(p in depth for p in causes):
                    depth[j] = 1 + max((depth[p] for p in causes), default=-1)
        return tuple(
            tuple(j for j in range(self.d) if depth[j] == level) for level in range(max(depth.values()) + 1)
        )

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Nodes without causes."""
        return self.generations[0]

    @cached_property
    def effects(self) -> tuple[int, ...]:
        """Nodes with causes."""
        return tuple(j for j in range(self.d) if self.parents[j])

    def kind_of(self, j: int) -> Kind:
        """Roots have no causes to learn from, so a spline costs them nothing."""
        return self.kind if self.parents[j] else "spline"

    def size(self, j: int) -> int:
        """Numbers that describe the map of node j."""
        if self.kind_of(j) == "affine":
            return 2
        return 3 * (self.bins if self.parents[j] else self.root_bins) - 1

    @cached_property
    def inputs(self) -> tuple[tuple[int, int], ...]:
        """(node, level or -1) of every input of the network."""
        return tuple(
            (j, level)
            for j, column in enumerate(self.columns)
            for level in (range(column.levels) if column.levels else (-1,))
        )

    @cached_property
    def adjacency(self) -> Mask:
        """(outputs, inputs) bool: outputs of each effect in turn, `size` each."""
        rows = [
            [node in self.parents[j] for node, _ in self.inputs]
            for j in self.effects
            for _ in range(self.size(j))
        ]
        return np.array(rows, dtype=bool).reshape(len(rows), len(self.inputs))

    def output_rows(self, j: int) -> slice:
        """Where the outputs for effect j stand."""
        start = sum(self.size(k) for k in self.effects if k < j)
        return slice(start, start + self.size(j))

    def subnet(self, weights: Mapping[str, np.ndarray], nodes: Sequence[int]) -> tuple[list[int], Layers]:
        """The part of the network that these effects read: its inputs (positions) and its layers."""
        count = len(self.hidden) + 1
        rows = np.concatenate([np.arange(self.size(j)) + self.output_rows(j).start for j in nodes])
        layers: Layers = []
        for i in reversed(range(count)):
            weight, bias = weights[f"weight.{i}"][rows], weights[f"bias.{i}"][rows]
            if i == 0:
                read = {
                    k for j in nodes for k, (node, _) in enumerate(self.inputs) if node in self.parents[j]
                }
                columns = np.array(sorted(read))
            else:
                columns = np.flatnonzero((weight != 0).any(0))
            layers.append((np.ascontiguousarray(weight[:, columns], np.float64), bias.astype(np.float64)))
            rows = columns
        return [int(k) for k in rows], layers[::-1]


def plan_of(
    schema: Schema, graph: CausalGraph, x: Rows, kind: Kind, hidden: tuple[int, ...], bins: int
) -> FlowPlan:
    """Make the plan of a flow over a graph from rows (n, d) in schema order."""
    columns = tuple(_column_of(schema, j, x[:, j]) for j in range(schema.d))
    parents = tuple(tuple(schema.index(p) for p in graph.parents[name]) for name in schema.names)
    most = max((column.levels or int(schema.n_levels[j]) for j, column in enumerate(columns)), default=0)
    return FlowPlan(columns, parents, kind, hidden, bins, max(bins, 8, min(most, 64)))


def _column_of(schema: Schema, j: int, values: PerRow) -> FlowColumn:
    """How a flow sees feature j, from its values (n,)."""
    feature = schema.features[j]
    centre, width = float(values.mean()), float(values.std())
    low, high, step = float(schema.low[j]), float(schema.high[j]), float(schema.step[j])
    extra: dict[str, Any] = {}
    form: Form = "real"
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
    return FlowColumn(form=form, mean=mean, scale=scale, centre=centre, width=width, **extra)


def _is_wall(feature: Feature, values: np.ndarray, end: float) -> bool:
    """Whether nothing exists beyond this end: it was declared, or many people stand exactly on it."""
    if not np.isfinite(end):
        return False
    return feature.bounds == "declared" or bool((values == end).mean() > _CROWD)


def _is_sound(feature: Feature, column: FlowColumn) -> bool:
    """Whether a column that was read from a file can be one of this feature."""
    numbers: tuple[Any, ...] = (
        column.mean,
        column.scale,
        column.centre,
        column.width,
        column.low,
        column.high,
    )
    numbers += (column.origin, column.step)
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or np.isnan(v) for v in numbers):
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


def check_parts(
    plan: FlowPlan, graph: CausalGraph, schema: Schema, weights: Mapping[str, np.ndarray]
) -> None:
    """Raise ValueError unless a file's parts fit together."""
    if graph.names != schema.names or plan.d != schema.d:
        raise ValueError("its graph and its schema differ")
    causes = tuple(tuple(schema.index(p) for p in graph.parents[name]) for name in schema.names)
    if causes != plan.parents:
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
