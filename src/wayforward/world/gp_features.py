"""The features of a Gaussian-process world: those without causes, and those that follow from others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.schema import Schema
from wayforward.shapes import Floats, PerPerson, PerPoint, PerRow, Rows
from wayforward.world.gp_node import GpNode
from wayforward.world.graph import CausalGraph


@dataclass(frozen=True)
class Root:
    """A feature without causes: its values as they were seen, for densities and samples.

    width: of the kernel, 0 where the feature is discrete. levels: the values there are, with their shares, none 0.
    """

    values: np.ndarray  # (N,)
    width: float
    levels: np.ndarray  # (L,)
    share: np.ndarray  # (L,)

    @classmethod
    def of(cls, values: PerPerson, schema: Schema, j: int) -> Root:
        """Learn feature j of a schema from its values (N,)."""
        if not (schema.has_levels[j] or schema.integral[j]):
            width = float(values.std()) * 1.06 * len(values) ** -0.2  # Silverman (1986), section 3.4
            return cls(values, width, np.empty(0), np.empty(0))
        n_levels = int(schema.n_levels[j] or 0)
        levels = np.arange(n_levels, dtype=np.float64) if n_levels else np.unique(values)
        count = (values[:, None] == levels).sum(0) + 1.0
        return cls(values, 0.0, levels, count / count.sum())

    def log_density(self, x: PerPoint) -> PerPoint:
        """(...) values -> (...) log-density, or log-probability where discrete."""
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
        """The same on tensors; differentiable where the feature is not discrete."""
        if not self.width:
            known = self.log_density(x.detach().cpu().numpy())
            return torch.as_tensor(known, dtype=x.dtype, device=x.device)
        values = torch.as_tensor(self.values, dtype=x.dtype, device=x.device)
        z = (x[..., None] - values) / self.width
        constant = math.log(len(self.values)) + math.log(self.width) + 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(-0.5 * z * z, -1) - constant

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) draws."""
        if not self.width:
            return rng.choice(self.levels, size=n, p=self.share)
        return rng.choice(self.values, size=n) + self.width * rng.standard_normal(n)


@dataclass(frozen=True)
class Effect:
    """A feature with causes, and the Gaussian process that says how it follows from them.

    parents: columns. inputs: (column, level), whether a column holds a level, or with level -1 the number itself.
    middle, scale (p,): of the inputs. centre, size: of the value.
    """

    column: int
    parents: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    middle: np.ndarray
    scale: np.ndarray
    centre: float
    size: float
    node: GpNode

    @classmethod
    def fit(
        cls, schema: Schema, graph: CausalGraph, name: str, x: Rows, *, seed: int, tune: int, trend: bool
    ) -> Effect:
        """Fit a feature's Gaussian process to rows x (N, d)."""
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
        scale = np.where(scale > 0, scale, 1.0)  # constant among these rows only
        centre, size = float(x[:, column].mean()), float(x[:, column].std()) or 1.0
        node = GpNode.fit(
            (raw - middle) / scale, (x[:, column] - centre) / size, seed=seed, tune=tune, trend=trend
        )
        return cls(column, parents, tuple(inputs), middle, scale, centre, size, node)

    def value(self, standard: Any) -> Any:
        """Standardised values -> feature units, on arrays and tensors."""
        return self.centre + self.size * standard

    def expected(self, x: Rows) -> PerRow:
        """(T, d) -> (T,) the value that the table alone expects of these causes."""
        return np.asarray(self.value(self.node.prior(self.seen(x))[0]))

    def expected_torch(self, torch: Any, columns: list[Any]) -> Any:
        """The same on a list of d columns (T,), differentiable."""
        return self.value(self.node.prior_torch(torch, self.seen_torch(torch, columns), spread=False)[0])

    def seen(self, x: Rows) -> Floats:
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

    def quality(self, schema: Schema) -> dict[str, Any]:
        """How well the fitted process tells each of its rows from the others."""
        node = self.node
        mean, variance = node.left_out()
        miss = node.target - mean
        return {
            "rows": len(node.target),
            "noise_sd": self.size * math.sqrt(node.noise),
            "explained": float(1 - np.mean(miss**2) / np.var(node.target)),
            "inside_95": float(np.mean(np.abs(miss) <= 1.959964 * np.sqrt(variance))),
            "length": {
                schema.names[j]
                if level < 0
                else f"{schema.names[j]}={schema.features[j].level_text(level)}": float(length * scale)
                for (j, level), length, scale in zip(self.inputs, node.length, self.scale, strict=True)
            },
        }

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds of it: plain data, and arrays by name."""
        node = self.node
        plain = {
            "inputs": [list(pair) for pair in self.inputs],
            "centre": self.centre,
            "size": self.size,
            "amplitude": node.amplitude,
            "noise": node.noise,
            "slope": node.slope,
        }
        arrays = {"middle": self.middle, "scale": self.scale, "inputs": node.inputs, "target": node.target}
        return plain, arrays | {"length": node.length, "keys": node.keys.view(np.int64)}

    @classmethod
    def restored(
        cls,
        schema: Schema,
        graph: CausalGraph,
        name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Effect:
        """The effect of what `stored` gave. Raises: ValueError, KeyError, TypeError if the parts do not fit."""
        inputs = tuple((int(j), int(level)) for j, level in stored["inputs"])
        parents = tuple(schema.index(cause) for cause in graph.parents[name])
        p, count = len(inputs), len(arrays["target"])
        numbers = [float(stored[key]) for key in ("centre", "size", "amplitude", "noise", "slope")]
        if (
            {j for j, _ in inputs} != set(parents)
            or not np.isfinite(numbers).all()
            or min(numbers[1:4]) <= 0
            or numbers[4] < 0
        ):
            raise ValueError(name)
        node = GpNode(
            inputs=checked(arrays["inputs"], (count, p)),
            target=checked(arrays["target"], (count,)),
            length=checked(arrays["length"], (p,)),
            amplitude=numbers[2],
            noise=numbers[3],
            slope=numbers[4],
            keys=arrays["keys"].astype(np.int64).view(np.uint64),
        )
        if (node.length <= 0).any() or node.keys.shape != (count,):
            raise ValueError(name)
        return cls(
            column=schema.index(name),
            parents=parents,
            inputs=inputs,
            middle=checked(arrays["middle"], (p,)),
            scale=checked(arrays["scale"], (p,)),
            centre=numbers[0],
            size=numbers[1],
            node=node,
        )


def checked(array: np.ndarray, shape: tuple[int | None, ...]) -> Floats:
    """Return an array of a file. Raises: ValueError unless it holds finite float64 numbers in this shape."""
    fits = array.ndim == len(shape) and all(w in (None, s) for w, s in zip(shape, array.shape, strict=True))
    if not fits or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("array")
    return array
