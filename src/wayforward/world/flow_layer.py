"""The one layer of a causal flow, twice: on NumPy for the judge, on torch for those who learn.

x -> z, node by node: z_j = T(x_j; what the causes of j are), with T increasing in x_j: an affine map or a
rational-quadratic spline on [-5, 5] with the identity beyond. NumPy works one node at a time and multiplies
entry by entry, so that a row's result is the same to the last bit in every batch; torch works a generation of
the graph at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from wayforward.errors import require
from wayforward.rules.arrays import Array

Kind = Literal["affine", "spline"]

BOUND = 5.0  # splines bend inside [-BOUND, BOUND]
_LOG_SLOPE = float(np.log(1e-3))  # slopes lie between 1/1000 and 1000, as in zuko
_BLOCK = 4096  # rows at a time: what fits the cache
_EDGE = 1e-6  # how near to a bound a value may come, as a share of the range
_HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))
Layers = list[tuple[np.ndarray, np.ndarray]]  # (weight (out, in), bias (out,)) of a small network


@dataclass(frozen=True)
class Column:
    """One feature as the flow sees it.

    form: 'real', 'bounded' (between low and high, unrolled by a logit), 'fine' (whole steps that are small
    beside its spread: a number that is rounded) or 'cells' (few values: each is a cell of probability).
    mean, scale: of the value, or of its logit; centre, width: of the value as its effects see it.
    low, high: ends of what exists, infinite where none is known; origin, step: of its lattice. levels: how many
    if nominal, else 0.
    """

    form: Literal["real", "bounded", "fine", "cells"]
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


@dataclass(frozen=True)
class Plan:
    """What a flow is, apart from its weights: columns, causes (positions), kinds and sizes."""

    columns: tuple[Column, ...]
    parents: tuple[tuple[int, ...], ...]
    kind: Kind
    hidden: tuple[int, ...]
    bins: int
    root_bins: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities become None."""
        told = asdict(self)
        for column in told["columns"]:
            for end in ("low", "high"):
                column[end] = column[end] if np.isfinite(column[end]) else None
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Plan:
        """What `to_dict` gave."""
        columns = []
        for entry in told["columns"]:
            low, high = entry["low"], entry["high"]
            ends = {"low": -np.inf if low is None else low, "high": np.inf if high is None else high}
            columns.append(Column(**{**entry, **ends}))
        parents = tuple(tuple(int(p) for p in causes) for causes in told["parents"])
        sizes = tuple(int(h) for h in told["hidden"])
        return cls(tuple(columns), parents, told["kind"], sizes, int(told["bins"]), int(told["root_bins"]))

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
    def adjacency(self) -> np.ndarray:
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


# -- NumPy -------------------------------------------------------------------------------------------------
class NumpyNode:
    """The map of one node, on 1-d arrays of rows; every operation is row by row."""

    def __init__(self, plan: Plan, j: int, weights: Mapping[str, np.ndarray]) -> None:
        self.column, self.kind = plan.columns[j], plan.kind_of(j)
        self.constant: list[np.ndarray] | None = None
        if plan.parents[j]:
            places, self.layers = plan.subnet(weights, [j])
            self.inputs = [plan.inputs[k] for k in places]
            self.scales = [(plan.columns[node].centre, plan.columns[node].width) for node, _ in self.inputs]
        else:
            values = np.asarray(weights["roots"][plan.roots.index(j)], np.float64)
            self.constant = self._shaped(values[:, None])

    def _shaped(self, outputs: np.ndarray) -> list[np.ndarray]:
        """(size, m) network outputs -> shift and log-slope (m,), or knots and slopes (bins + 1, m)."""
        if self.kind == "affine":
            shift, raw = outputs
            return [shift, raw / (1 + abs(raw / _LOG_SLOPE))]
        bins = (len(outputs) + 1) // 3
        parts = []
        for raw in (outputs[:bins], outputs[bins : 2 * bins]):
            raw = raw / (1 + abs(2 * raw / _LOG_SLOPE))
            share = np.exp(raw - raw.max(0))
            ends = np.cumsum(share, axis=0)  # one after another, in every batch; np.sum regroups
            knots = np.empty((bins + 1, outputs.shape[1]))
            knots[0], knots[1:] = -BOUND, BOUND * (2 * ends / ends[-1] - 1)
            parts.append(knots)
        slopes = np.ones((bins + 1, outputs.shape[1]))
        raw = outputs[2 * bins :]
        slopes[1:-1] = np.exp(raw / (1 + abs(raw / _LOG_SLOPE)))
        return [*parts, slopes]

    def map_of(self, causes: Callable[[int], np.ndarray], rows: int) -> list[np.ndarray]:
        """The map for rows whose causes have these values."""
        if self.constant is not None:
            return self.constant
        h = np.empty((len(self.inputs), rows))
        for k, ((node, level), (centre, width)) in enumerate(zip(self.inputs, self.scales, strict=True)):
            value = causes(node)
            h[k] = (value - centre) / width if level < 0 else value == level
        for i, (weight, bias) in enumerate(self.layers):
            out = np.empty((len(bias), rows))
            out[:] = bias[:, None]
            part = np.empty_like(out)
            for k in range(weight.shape[1]):
                np.multiply(weight[:, k, None], h[k], out=part)
                out += part
            h = out if i == len(self.layers) - 1 else np.maximum(out, 0) + (np.exp(np.minimum(out, 0)) - 1)
        return self._shaped(h)

    def _bin(self, knots: list[np.ndarray], at: np.ndarray, side: int) -> tuple[np.ndarray, ...]:
        """Which values lie inside, and the ends and slopes of each one's bin."""
        edges = knots[side]
        inside = (at > edges[0]) & (at <= edges[-1])
        k = np.clip((edges < at).sum(0) - 1, 0, len(edges) - 2)
        rows = np.arange(len(at)) if edges.shape[1] > 1 else 0
        x0, x1, y0, y1, d0, d1 = (part[k + step, rows] for part in knots for step in (0, 1))
        return inside, x0, x1, y0, y1, d0, d1, (y1 - y0) / (x1 - x0)

    def _forward(self, t: np.ndarray, maps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Standard value -> noise and log-slope."""
        if self.kind == "affine":
            shift, log_slope = maps
            return t * np.exp(log_slope) + shift, log_slope
        inside, x0, x1, y0, y1, d0, d1, s = self._bin(maps, t, 0)
        q = np.where(inside, (t - x0) / (x1 - x0), 0.0)
        below = s + (d0 + d1 - 2 * s) * q * (1 - q)
        z = y0 + (y1 - y0) * (s * q * q + d0 * q * (1 - q)) / below
        slope = s * s * (2 * s * q * (1 - q) + d0 * (1 - q) ** 2 + d1 * q * q) / (below * below)
        straight = np.where(np.isnan(maps[0][1]), np.nan, 0.0)  # of a missing cause nothing follows
        return np.where(inside, z, t + straight), np.where(inside, np.log(slope), straight)

    def _inverse(self, z: np.ndarray, maps: list[np.ndarray]) -> np.ndarray:
        """Noise -> standard value."""
        if self.kind == "affine":
            shift, log_slope = maps
            return np.asarray((z - shift) / np.exp(log_slope))
        inside, x0, x1, y0, y1, d0, d1, s = self._bin(maps, z, 1)
        rise = np.where(inside, z - y0, 0.0)
        bend = rise * (d0 + d1 - 2 * s)
        a, b, c = (y1 - y0) * (s - d0) + bend, (y1 - y0) * d0 - bend, -s * rise
        q = 2 * c / (-b - np.sqrt(b * b - 4 * a * c))
        straight = np.where(np.isnan(maps[0][1]), np.nan, 0.0)  # of a missing cause nothing follows
        return np.where(inside, x0 + q * (x1 - x0), z + straight)

    def cell(self, x: np.ndarray, maps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Values (m,) -> the noise at both ends of their cells, infinite at the outermost."""
        column = self.column
        low, high = (
            np.where(np.isfinite(end), self._forward((end - column.mean) / column.scale, maps)[0], end)
            for end in cell_ends(column, x)
        )
        return low, high

    def noise(self, x: np.ndarray, maps: list[np.ndarray], density: bool) -> tuple[np.ndarray, np.ndarray]:
        """Values (m,) -> their noise and, if asked for, their log-density or log-probability."""
        column = self.column
        if column.form == "cells":
            a, b = self.cell(x, maps)
            flip = a + b > 0  # both in the tail where normal probabilities are small and keep their digits
            a, b = np.where(flip, -b, a), np.where(flip, -a, b)
            z = ndtri(0.5 * (ndtr(a) + ndtr(b)))
            z = np.where(flip, -z, z)
            if not density:
                return z, z
            top = log_ndtr(b)
            return z, np.asarray(top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-300))))
        t, log_slope = x, np.zeros(())
        if column.form == "bounded":
            share = np.clip((x - column.low) / (column.high - column.low), _EDGE, 1 - _EDGE)
            t = np.log(share / (1 - share))
            if density:
                log_slope = -np.log(share * (1 - share) * (column.high - column.low))
        z, more = self._forward((t - column.mean) / column.scale, maps)
        if not density:
            return z, z
        constant = (
            -_HALF_LOG_TAU - np.log(column.scale) + (np.log(column.step) if column.form == "fine" else 0)
        )
        return z, -0.5 * z * z + more + log_slope + constant

    def value(self, z: np.ndarray, maps: list[np.ndarray]) -> np.ndarray:
        """Noise (m,) -> legal values."""
        column = self.column
        x = self._inverse(z, maps) * column.scale + column.mean
        if column.form == "bounded":
            e = np.exp(-np.abs(x))
            share = np.clip(np.where(x >= 0, 1.0, e) / (1.0 + e), _EDGE, 1 - _EDGE)
            return column.low + share * (column.high - column.low)
        if column.form in ("fine", "cells"):
            x = column.origin + np.rint((x - column.origin) / column.step) * column.step
        return np.clip(x, column.low, column.high)

    def in_blocks(
        self, work: Callable[..., tuple[np.ndarray, ...]], *arrays: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Do the work on `_BLOCK` rows at a time."""
        m = len(arrays[0])
        if m <= _BLOCK:
            return work(*arrays)
        parts = [work(*(a[i : i + _BLOCK] for a in arrays)) for i in range(0, m, _BLOCK)]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def cell_ends(column: Column, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of the cell of each value; the outermost cells have no outer end."""
    half = 0.5 * column.step
    low = np.where(x - half < column.low, -np.inf, x - half)
    return low, np.where(x + half > column.high, np.inf, x + half)


# -- torch -------------------------------------------------------------------------------------------------
def _affine(outputs: Any) -> Any:
    transforms = require("zuko.transforms", extra="torch")
    return transforms.MonotonicAffineTransform(outputs[..., 0], outputs[..., 1])


def _spline(outputs: Any) -> Any:
    transforms = require("zuko.transforms", extra="torch")
    bins = (outputs.shape[-1] + 1) // 3
    return transforms.MonotonicRQSTransform(
        outputs[..., :bins], outputs[..., bins : 2 * bins], outputs[..., 2 * bins :]
    )


MAPS: dict[str, Callable[[Any], Any]] = {"affine": _affine, "spline": _spline}


def forward(transform: Any, t: Any) -> tuple[Any, Any]:
    """Standard value -> noise, log-slope."""
    z, slope = transform.call_and_ladj(t)
    return z, slope


def inverse(transform: Any, z: Any) -> tuple[Any, Any]:
    """Noise -> standard value, and the log-slope of x -> z there."""
    if not hasattr(transform, "bin"):
        return transform._inverse(z), transform.log_scale
    torch = require("torch", extra="torch")
    k = transform.searchsorted(transform.vertical, z) - 1
    inside, x0, x1, y0, y1, d0, d1, s = transform.bin(k)
    rise = inside * (z - y0)
    bend = rise * (d0 + d1 - 2 * s)
    a, b, c = (y1 - y0) * (s - d0) + bend, (y1 - y0) * d0 - bend, -s * rise
    q = 2 * c / (-b - (b * b - 4 * a * c).sqrt())
    below = s + (d0 + d1 - 2 * s) * q * (1 - q)
    slope = s * s * (2 * s * q * (1 - q) + d0 * (1 - q) ** 2 + d1 * q * q) / (below * below)
    return torch.where(inside, x0 + q * (x1 - x0), z), inside * slope.log()


def log_cell(a: Any, b: Any) -> Any:
    """log(Phi(b) - Phi(a)) for a < b, either infinite; keeps its digits in both tails."""
    torch = require("torch", extra="torch")
    flip = a + b > 0
    a, b = torch.where(flip, -b, a), torch.where(flip, -a, b)
    top = torch.special.log_ndtr(b)
    gap = torch.special.log_ndtr(a.clamp(min=-35.0)) - top
    inner = torch.where(torch.isinf(a), torch.zeros_like(gap), gap.clamp(max=-1e-6).exp())
    return top + torch.log1p(-inner)


class TorchGeneration:
    """The maps of one generation of the graph, on tensors (..., m) for its m nodes: all of them cells, or none."""

    def __init__(
        self, plan: Plan, nodes: Sequence[int], weights: Mapping[str, np.ndarray], like: Any
    ) -> None:
        torch = require("torch", extra="torch")
        self.nodes = list(nodes)
        self.make = MAPS[plan.kind_of(self.nodes[0])]
        columns = [plan.columns[j] for j in self.nodes]

        def tensor(values: Any) -> Any:
            return torch.as_tensor(np.asarray(values, np.float64), dtype=like.dtype, device=like.device)

        self.size = plan.size(self.nodes[0])
        self.transform: Any = None
        if plan.parents[self.nodes[0]]:
            places, layers = plan.subnet(weights, self.nodes)
            self.inputs = [plan.inputs[k] for k in places]
            self.causes = list(dict.fromkeys(node for node, _ in self.inputs))
            self.nominal = any(level >= 0 for _, level in self.inputs)
            centre = np.array([plan.columns[n].centre if level < 0 else 0.0 for n, level in self.inputs])
            width = np.array([plan.columns[n].width if level < 0 else 1.0 for n, level in self.inputs])
            (first, bias), rest = layers[0], layers[1:]
            layers = [(first / width, bias - (first / width) @ centre), *rest]  # inputs in feature units
            self.layers = [(tensor(weight), tensor(bias)) for weight, bias in layers]
        else:
            rows = [plan.roots.index(j) for j in self.nodes]
            self.transform = self.make(tensor(weights["roots"][rows]))
        self.mean, self.scale = tensor([c.mean for c in columns]), tensor([c.scale for c in columns])
        self.constant = tensor(
            [
                -_HALF_LOG_TAU - np.log(c.scale) + (np.log(c.step) if c.form == "fine" else 0.0)
                for c in columns
            ]
        )
        self.low, self.high = tensor([c.low for c in columns]), tensor([c.high for c in columns])
        self.origin = tensor([c.origin for c in columns])
        self.step = tensor([c.step or 1.0 for c in columns])

        def where(*forms: str) -> Any:
            mask = torch.tensor([c.form in forms for c in columns], device=like.device)
            return mask if bool(mask.any()) else None

        self.bounded, self.rounded = where("bounded"), where("fine", "cells")
        self.walled = any(c.form == "real" and np.isfinite([c.low, c.high]).any() for c in columns)
        self.cells = columns[0].form == "cells"
        self.floor = torch.where(torch.isfinite(self.low), self.low, 0.0)
        self.range = torch.where(torch.isfinite(self.high - self.low), self.high - self.low, 1.0)

    def map_of(self, columns: Sequence[Any]) -> Any:
        """The maps where the causes stand in `columns`, one tensor (...) for each node of the graph."""
        if self.transform is not None:
            return self.transform
        torch = require("torch", extra="torch")
        if self.nominal:
            parts = [
                columns[node] if level < 0 else (columns[node] == level).to(columns[node].dtype)
                for node, level in self.inputs
            ]
        else:
            parts = [columns[node] for node, _ in self.inputs]
        h = torch.stack(parts, dim=-1)
        for i, (weight, bias) in enumerate(self.layers):
            h = torch.nn.functional.linear(h if i == 0 else torch.nn.functional.elu(h), weight, bias)
        return self.make(h.unflatten(-1, (len(self.nodes), self.size)))

    def _standard(self, x: Any) -> tuple[Any, Any]:
        """Values -> standard values, and log-slope where a logit unrolls them (else 0)."""
        if self.bounded is None:
            return (x - self.mean) / self.scale, 0.0
        torch = require("torch", extra="torch")
        share = ((x - self.floor) / self.range).clamp(_EDGE, 1 - _EDGE)
        t = torch.where(self.bounded, (share / (1 - share)).log(), x)
        steep = torch.where(self.bounded, -(share * (1 - share) * self.range).log(), torch.zeros_like(x))
        return (t - self.mean) / self.scale, steep

    def _ends(self, x: Any, maps: Any) -> tuple[Any, Any]:
        """Noise at both ends of each value's cell, infinite at the outermost."""
        torch = require("torch", extra="torch")
        low, high = x - 0.5 * self.step, x + 0.5 * self.step
        a = forward(maps, (low - self.mean) / self.scale)[0]
        b = forward(maps, (high - self.mean) / self.scale)[0]
        return (
            torch.where(low < self.low, torch.full_like(a, -torch.inf), a),
            torch.where(high > self.high, torch.full_like(b, torch.inf), b),
        )

    def noise(self, x: Any, maps: Any, density: bool) -> tuple[Any, Any]:
        """Values (..., m) -> noise (..., m) and, if asked for, log-density (..., m)."""
        torch = require("torch", extra="torch")
        if self.cells:
            a, b = self._ends(x, maps)
            flip = a + b > 0
            p, q = torch.where(flip, -b, a), torch.where(flip, -a, b)
            z = torch.special.ndtri(0.5 * (torch.special.ndtr(p) + torch.special.ndtr(q)))
            return torch.where(flip, -z, z), log_cell(a, b) if density else None
        t, steep = self._standard(x)
        z, slope = forward(maps, t)
        return z, -0.5 * z * z + slope + steep + self.constant if density else None

    def density(self, x: Any, maps: Any) -> Any:
        """Values (..., m) -> their log-density (..., m)."""
        return log_cell(*self._ends(x, maps)) if self.cells else self.noise(x, maps, True)[1]

    def value(self, z: Any, maps: Any, density: bool) -> tuple[Any, Any]:
        """Noise (..., m) -> legal values (..., m), rounded straight through, and log-density if asked for."""
        torch = require("torch", extra="torch")
        t, slope = inverse(maps, z)
        x = t * self.scale + self.mean
        steep: Any = 0.0
        if self.bounded is not None:
            share = x.sigmoid().clamp(_EDGE, 1 - _EDGE)
            x = torch.where(self.bounded, self.floor + share * self.range, x)
            steep = torch.where(self.bounded, -(share * (1 - share) * self.range).log(), torch.zeros_like(x))
        if self.rounded is not None or self.walled:
            legal = x
            if self.rounded is not None:
                whole = self.origin + ((x - self.origin) / self.step).round() * self.step
                legal = torch.where(self.rounded, whole, x)
            x = x + (torch.minimum(torch.maximum(legal, self.low), self.high) - x).detach()
            return x, self.density(x, maps) if density else None
        return x, -0.5 * z * z + slope + steep + self.constant if density else None


class TorchFlow:
    """The whole layer on tensors of one dtype and device: `generations` in order, and all effects at once."""

    def __init__(self, plan: Plan, weights: Mapping[str, np.ndarray], like: Any) -> None:
        self.d = plan.d

        def parts(nodes: Sequence[int]) -> list[TorchGeneration]:
            cells = [j for j in nodes if plan.columns[j].form == "cells"]
            return [
                TorchGeneration(plan, part, weights, like)
                for part in ([j for j in nodes if j not in cells], cells)
                if part
            ]

        self.generations = [part for nodes in plan.generations for part in parts(nodes)]
        self.at_once = parts(plan.roots) + parts(plan.effects)

    def noise(self, x: Array, density: bool) -> tuple[Array, Array]:
        """(..., d) -> noise (..., d) and, if asked for, log-density (...)."""
        torch = require("torch", extra="torch")
        columns = x.unbind(-1)
        noise: list[Any] = [None] * self.d
        told: Any = 0.0
        for part in self.at_once:
            z, more = part.noise(x[..., part.nodes], part.map_of(columns), density)
            for place, j in enumerate(part.nodes):
                noise[j] = z[..., place]
            if density:
                told = told + more.sum(-1)
        return torch.stack(noise, dim=-1), told


@lru_cache(maxsize=1)
def _module_class() -> Any:
    """The trainable layer; made on first use, because torch is optional."""
    torch = require("torch", extra="torch")
    nn = require("zuko.nn", extra="torch")

    class Layer(torch.nn.Module):  # type: ignore[name-defined,misc]
        """Masked network for the effects, free numbers for the roots; `forward` gives each row's NLL."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan
            self.roots = torch.nn.Parameter(torch.zeros(len(plan.roots), 3 * plan.root_bins - 1))
            self.hyper = None
            if plan.effects:
                self.hyper = nn.MaskedMLP(
                    torch.as_tensor(plan.adjacency), hidden_features=plan.hidden, activation=torch.nn.ELU
                )
            self.groups = [(plan.roots, "spline"), (plan.effects, plan.kind)]

        def forward(self, batch: dict[str, Any]) -> Any:
            """`Prepared` rows -> (rows,) negative log-likelihood in nats, feature units."""
            total: Any = batch["constant"]
            for nodes, kind in self.groups:
                if not nodes:
                    continue
                if nodes is self.plan.roots:
                    outputs = self.roots[None]  # the same map for everybody
                else:
                    assert self.hyper is not None
                    outputs = self.hyper(batch["inputs"]).unflatten(-1, (len(nodes), -1))
                for cell in (False, True):
                    chosen = [
                        i for i, j in enumerate(nodes) if (self.plan.columns[j].form == "cells") == cell
                    ]
                    if not chosen:
                        continue
                    at = [nodes[i] for i in chosen]
                    maps = MAPS[kind](outputs if len(chosen) == len(nodes) else outputs[:, chosen])
                    if not cell:
                        z, slope = forward(maps, batch["value"][:, at])
                        total = total + (-0.5 * z * z + slope).sum(-1)
                        continue
                    a, b = (
                        torch.where(torch.isinf(end), end, forward(maps, end.nan_to_num(0, 0, 0))[0])
                        for end in (batch["low"][:, at], batch["high"][:, at])
                    )
                    total = total + log_cell(a, b).sum(-1)
            return -total

        def weights(self) -> dict[str, np.ndarray]:
            """Plain arrays: masked weights and biases by layer, and the numbers of the roots."""
            out = {"roots": self.roots.detach().cpu().double().numpy().copy()}
            if self.hyper is not None:
                linear = [part for part in self.hyper if hasattr(part, "mask")]
                for i, part in enumerate(linear):
                    out[f"weight.{i}"] = (part.mask * part.weight).detach().cpu().double().numpy().copy()
                    out[f"bias.{i}"] = part.bias.detach().cpu().double().numpy().copy()
            return out

    return Layer


def layer(plan: Plan) -> Any:
    """A fresh trainable layer."""
    return _module_class()(plan)


def prepared(plan: Plan, x: np.ndarray, device: str, dtype: Any = None) -> dict[str, Any]:
    """(n, d) rows -> what the trainable layer reads, worked out once, as tensors."""
    torch = require("torch", extra="torch")
    n = len(x)
    inputs = np.empty((n, len(plan.inputs)))
    for k, (node, level) in enumerate(plan.inputs):
        column = plan.columns[node]
        inputs[:, k] = (x[:, node] - column.centre) / column.width if level < 0 else x[:, node] == level
    value, low, high, constant = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), np.zeros(n)
    for j, column in enumerate(plan.columns):
        if column.form == "cells":
            ends = cell_ends(column, x[:, j])
            low[:, j], high[:, j] = ((end - column.mean) / column.scale for end in ends)
            continue
        t = x[:, j]
        if column.form == "bounded":
            share = np.clip((t - column.low) / (column.high - column.low), _EDGE, 1 - _EDGE)
            t = np.log(share / (1 - share))
            constant -= np.log(share * (1 - share) * (column.high - column.low))
        value[:, j] = (t - column.mean) / column.scale
        constant += (
            -_HALF_LOG_TAU - np.log(column.scale) + (np.log(column.step) if column.form == "fine" else 0)
        )
    parts = {"inputs": inputs, "value": value, "low": low, "high": high, "constant": constant}
    return {
        name: torch.as_tensor(part, dtype=dtype or torch.float32, device=device)
        for name, part in parts.items()
    }
