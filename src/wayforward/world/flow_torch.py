"""The layer of a causal flow on torch, for those who learn: the trainable module, and the fitted maps.

The maps are those of `flow_numpy`; torch works a generation of the graph at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.rules.arrays import Array
from wayforward.shapes import Rows
from wayforward.world.flow_plan import EDGE, FlowPlan


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
        self, plan: FlowPlan, nodes: Sequence[int], weights: Mapping[str, np.ndarray], like: Any
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
        self.constant = tensor([c.constant for c in columns])
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
        share = ((x - self.floor) / self.range).clamp(EDGE, 1 - EDGE)
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
            share = x.sigmoid().clamp(EDGE, 1 - EDGE)
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

    def __init__(self, plan: FlowPlan, weights: Mapping[str, np.ndarray], like: Any) -> None:
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
        total: Any = 0.0
        for part in self.at_once:
            z, more = part.noise(x[..., part.nodes], part.map_of(columns), density)
            for place, j in enumerate(part.nodes):
                noise[j] = z[..., place]
            if density:
                total = total + more.sum(-1)
        return torch.stack(noise, dim=-1), total


@lru_cache(maxsize=1)
def _module_class() -> Any:
    """The trainable layer; made on first use, because torch is optional."""
    torch = require("torch", extra="torch")
    nn = require("zuko.nn", extra="torch")

    class Layer(torch.nn.Module):  # type: ignore[name-defined,misc]
        """Masked network for the effects, free numbers for the roots; `forward` gives each row's NLL."""

        def __init__(self, plan: FlowPlan) -> None:
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


def layer(plan: FlowPlan) -> Any:
    """A fresh trainable layer."""
    return _module_class()(plan)


def prepared(plan: FlowPlan, x: Rows, device: Any, dtype: Any = None) -> dict[str, Any]:
    """(n, d) rows -> what the trainable layer reads, worked out once, as tensors."""
    torch = require("torch", extra="torch")
    n = len(x)
    inputs = np.empty((n, len(plan.inputs)))
    for k, (node, level) in enumerate(plan.inputs):
        inputs[:, k] = plan.columns[node].seen(x[:, node], level)
    value, low, high, constant = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), np.zeros(n)
    for j, column in enumerate(plan.columns):
        if column.form == "cells":
            ends = column.cell_ends(x[:, j])
            low[:, j], high[:, j] = ((end - column.mean) / column.scale for end in ends)
            continue
        t = x[:, j]
        if column.form == "bounded":
            share = column.share(t)
            t = np.log(share / (1 - share))
            constant -= np.log(share * (1 - share) * (column.high - column.low))
        value[:, j] = (t - column.mean) / column.scale
        constant += column.constant
    parts = {"inputs": inputs, "value": value, "low": low, "high": high, "constant": constant}
    return {
        name: torch.as_tensor(part, dtype=dtype or torch.float32, device=device)
        for name, part in parts.items()
    }
