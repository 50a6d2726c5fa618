"""The layer of a causal flow on NumPy, for the judge: node by node, entry by entry.

x -> z: z_j = T(x_j; what the causes of j are), with T increasing in x_j: an affine map or a rational-quadratic spline
on [-5, 5] with the identity beyond. One node is worked out at a time and multiplied entry by entry, so that a row's
result is the same to the last bit in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from wayforward.world.flow_plan import EDGE, FlowPlan

BOUND = 5.0  # splines bend inside [-BOUND, BOUND]
_LOG_SLOPE = float(np.log(1e-3))  # slopes lie between 1/1000 and 1000, as in zuko
_BLOCK = 4096  # rows at a time: what fits the cache


class NumpyNode:
    """The map of one node, on 1-d arrays of rows; every operation is row by row."""

    def __init__(self, plan: FlowPlan, j: int, weights: Mapping[str, np.ndarray]) -> None:
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
            for end in column.cell_ends(x)
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
            share = column.share(x)
            t = np.log(share / (1 - share))
            if density:
                log_slope = -np.log(share * (1 - share) * (column.high - column.low))
        z, more = self._forward((t - column.mean) / column.scale, maps)
        if not density:
            return z, z
        return z, -0.5 * z * z + more + log_slope + column.constant

    def value(self, z: np.ndarray, maps: list[np.ndarray]) -> np.ndarray:
        """Noise (m,) -> legal values."""
        column = self.column
        x = self._inverse(z, maps) * column.scale + column.mean
        if column.form == "bounded":
            e = np.exp(-np.abs(x))
            share = np.clip(np.where(x >= 0, 1.0, e) / (1.0 + e), EDGE, 1 - EDGE)
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
