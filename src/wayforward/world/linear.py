"""A linear world fitted by regression: the honest baseline of every richer one.

    world = LinearWorld.fit([("age", "income"), ("income", "savings")], table)
    world.consequences(people, action)
    world.report["income"]["explained"]     # share of the variance that the causes explain

Each feature with causes is a sum of its causes and of normal noise: ordinary least squares, where a nominal
cause has a shift for each of its levels. What follows from an act is then known in closed form. No torch needed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError, FileFormatError, WorldError, require
from wayforward.rules.arrays import Array, operations
from wayforward.rules.expression import Compare, Indicator, Level, Number, Product, Quantity, Ref, Sum
from wayforward.schema import Feature, Schema
from wayforward.world.base import unknown_nodes
from wayforward.world.graph import CausalGraph
from wayforward.world.learning import whole_rows
from wayforward.world.noise import Categorical, Noise, Normal
from wayforward.world.scm import SCM, BoundSCM, Equation

_FORMAT, _KIND = 1, "LinearWorld"
_MAX_BYTES = 50_000_000
_FEWEST = 10  # rows
_NARROWEST = 1e-6  # of the spread: the least noise, where an effect follows exactly from its causes

_Inputs = tuple[tuple[str, int], ...]  # (cause, level), -1 for the cause as a number


@dataclass(frozen=True)
class Part:
    """One feature's share of the world: intercept + weights . inputs + noise; a root is noise alone."""

    inputs: _Inputs
    weights: tuple[float, ...]
    intercept: float
    noise: Noise


class LinearWorld(BoundSCM):
    """Linear equations with normal noise, made by `LinearWorld.fit` or `LinearWorld.load`.

    Arrays (..., d) are in schema order, levels by index. What follows from an act is legal: integers and
    levels are rounded to the nearest one, and everything stays in the range of its feature, declared or observed. A
    binary or ordinal effect is its level's index with normal noise, rounded; its probability is that of the
    interval which rounds to it. Roots: levels keep their shares in the table, numbers are normal.

    graph: the `CausalGraph`. report: feature -> rows, noise_sd and, for effects, explained (R squared).
    """

    def __init__(
        self,
        schema: Schema,
        graph: CausalGraph,
        parts: Mapping[str, Part],
        report: Mapping[str, Mapping[str, float]],
        soft: bool | Collection[str] = False,
    ) -> None:
        self._graph, self.parts, self.report = graph, dict(parts), {k: dict(v) for k, v in report.items()}
        unknown_nodes(graph.names, schema.names, "world")
        scm = SCM.__new__(SCM)
        equations = tuple(Equation(name, _tree(parts[name], graph, schema)) for name in graph.names)
        scm._set(equations, {name: parts[name].noise for name in graph.names}, soft)
        super().__init__(scm, schema)
        self._ranges = tuple(_range(schema.features[place]) for place in self.columns)
        self._limits = (
            tuple(  # a line leaves even a range that was only observed, and then no option is legal
                None if limits is None else ends or limits
                for limits, ends in zip(self._limits, self._ranges, strict=True)
            )
        )

    def __repr__(self) -> str:
        return f"LinearWorld({self.graph.d} features, {len(self.graph.edges)} edges)"

    @property
    def graph(self) -> CausalGraph:
        """The causal graph of the fit."""
        return self._graph

    @property
    def soft(self) -> frozenset[str]:
        """The features on which actions are shifts."""
        return self.scm.soft

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Effect -> {cause, or "cause=level": weight}, a unit of the effect for each unit of the cause."""
        return {
            name: {
                _input_name(self.schema, *one): w for one, w in zip(part.inputs, part.weights, strict=True)
            }
            for name, part in self.parts.items()
            if part.inputs
        }

    # -- making --------------------------------------------------------------------------------------------
    @classmethod
    def fit(
        cls,
        graph: Any,
        table: Any,
        schema: Schema | None = None,
        *,
        seed: int = 0,
        progress: Any = None,
        soft: bool | Collection[str] = False,
    ) -> LinearWorld:
        """Regress every feature on its causes.

        graph: whatever `CausalGraph.read` takes; every column must be a node. table: people, whole, or an
        (n, d) array in schema order; without a schema one is inferred (an array takes its names from the
        graph). soft: as in `SCM`. progress: called with (features done, features in all). seed: nothing is
        drawn at random; it is there because every world that is fitted has one.
        Raises: WorldError for a graph that does not fit or a nominal effect; DataError that names the column
        for missing values, a constant column, too few rows.
        Example: ``LinearWorld.fit("loan.gml", table)``.
        """
        read = CausalGraph.read(graph)
        if schema is None:
            if isinstance(table, np.ndarray):
                schema = Schema(tuple(Feature(name=name, kind="real") for name in read.names))
            else:
                schema = Schema.infer(table)
        read = read.over(schema.names)
        x = whole_rows(schema, read, table, _FEWEST, "a regression")
        parts, report = {}, {}
        for done, name in enumerate(read.names):
            parts[name], report[name] = _fitted(schema, read, name, x)
            if progress is not None:
                progress(done + 1, read.d)
        return cls(schema, read, parts, report, soft)

    def softly(self, soft: bool | Collection[str] = True) -> LinearWorld:
        """The same world where acts on these features (True: on all) are shifts on top of what follows."""
        return LinearWorld(self.schema, self.graph, self.parts, self.report, soft)

    def bind(self, schema: Schema) -> LinearWorld:
        """The same world over another schema's columns, matched by name; others stand alone.

        Raises: WorldError for a node that the schema does not have, or one of another kind or other levels.
        """
        if schema == self.schema:
            return self
        unknown_nodes(self.graph.names, schema.names, "world")
        for name in self.graph.names:
            old, new = self.schema[name], schema[name]
            if (old.levels, old.kind if old.has_levels else "") != (
                new.levels,
                new.kind if new.has_levels else "",
            ):
                raise WorldError(
                    f"The world was fitted with '{name}' as {_told(old)}, but in this schema it is {_told(new)}. "
                    "Use the schema of the fit, or fit the world again."
                )
        return LinearWorld(schema, self.graph, self.parts, self.report, self.soft)

    # -- what is legal, and how likely ---------------------------------------------------------------------
    def _legal(self, j: int, computed: Array, ops: Any) -> Array:
        ends = self._ranges[j]
        if ends is None or self._limits[j] is not None:
            return super()._legal(j, computed, ops)
        return ops.minimum(ops.maximum(computed, ends[0]), ends[1])

    def keeps_density(self, density: Any) -> np.ndarray:
        """(d,) bool: true of numbers without a range; within one, what follows may be cut."""
        keeps = super().keeps_density(density)
        for place, ends in zip(self.columns, self._ranges, strict=True):
            keeps[place] &= ends is None
        return keeps

    def _cells(self) -> list[int]:
        """Nodes whose density is the probability of an interval."""
        return [
            j
            for j, name in enumerate(self.scm.names)
            if self._limits[j] is not None and not self.scm.noise[name].discrete
        ]

    def _log_probability(self, j: int, values: Sequence[Array]) -> Array:
        """(...) log-probability that node j, a normal number, is rounded to this value."""
        ops, (low, high) = operations(*values), self._limits[j] or (-math.inf, math.inf)
        own, law = values[j], self.scm.noise[self.scm.names[j]]
        assert isinstance(law, Normal)
        u = (self.scm.equations[j].noise(values, own, ops)[0] - law.mean) / law.sd
        return _log_interval(
            ops.where(own <= low, -math.inf, u - 0.5 / law.sd),
            ops.where(own >= high, math.inf, u + 0.5 / law.sd),
            ops,
        )

    def log_density_parts(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        parts = super().log_density_parts(x)
        values = self._nodes(x)
        with np.errstate(all="ignore"):
            for j in self._cells():
                parts[..., self.columns[j]] = self._log_probability(j, values)
        return parts

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density, nats; a probability for integers and levels."""
        return np.asarray(self.log_density_parts(x).sum(-1))

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable."""
        self._whole("a density")
        values = [x[..., place] for place in self.columns]
        ops, cells = operations(x), set(self._cells())
        total: Array = 0.0
        for j, (name, equation) in enumerate(zip(self.scm.names, self.scm.equations, strict=True)):
            if j in cells:
                total = total + self._log_probability(j, values)
            else:
                total = total + self.scm.noise[name].log_density(equation.noise(values, values[j], ops)[0])
        return total

    # -- files ---------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to one file: numbers as safetensors, the rest as JSON; returns the path."""
        safetensors = require("safetensors.numpy", extra="torch")
        arrays, own = {}, Schema(tuple(self.schema[name] for name in self.graph.names))
        for name, part in self.parts.items():
            law = part.noise
            told = law.probabilities if isinstance(law, Categorical) else (law.mean, law.sd)  # type: ignore[attr-defined]
            arrays[f"noise.{name}"] = np.array(told)
            arrays[f"weights.{name}"] = np.array([part.intercept, *part.weights])
        head = {
            "format": _FORMAT,
            "kind": _KIND,
            "schema": own.to_dict(),
            "graph": {name: list(causes) for name, causes in self.graph.parents.items()},
            "soft": sorted(self.soft),
            "report": self.report,
        }
        safetensors.save_file(arrays, os.fspath(path), metadata={"wayforward": json.dumps(head)})
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], schema: Schema | None = None) -> LinearWorld:
        """Read what `save` wrote, bound to the schema if one is given.

        Raises: FileFormatError for a file that is missing, broken or something else; WorldError for another
        schema.
        """
        safetensors = require("safetensors", extra="torch")
        file = Path(path)
        if not file.is_file():
            raise FileFormatError(f"There is no file '{file.name}'. Check the path.")
        try:
            if file.stat().st_size > _MAX_BYTES:
                raise ValueError("it is larger than any linear world")
            with safetensors.safe_open(os.fspath(file), framework="numpy") as stream:
                head = json.loads((stream.metadata() or {})["wayforward"])
                arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            if head.get("format") != _FORMAT or head.get("kind") != _KIND:
                raise ValueError(f"it holds a {head.get('kind')!s:.40}")
            own = Schema.from_dict(head["schema"])
            graph = CausalGraph.read(head["graph"], nodes=own.names)
            parts = {name: _part_of(own, graph, name, arrays) for name in own.names}
            report = {
                str(name): {str(key): float(value) for key, value in told.items()}
                for name, told in head["report"].items()
            }
            world = cls(own, graph, parts, report, [str(name) for name in head["soft"]])
        except Exception as error:
            raise FileFormatError(
                f"'{file.name}' holds no readable linear world ({type(error).__name__}: {error!s:.120}). "
                "Save it again with world.save."
            ) from None
        return world if schema is None else world.bind(schema)


# -- fitting -----------------------------------------------------------------------------------------------
def _inputs(schema: Schema, graph: CausalGraph, name: str) -> _Inputs:
    found: list[tuple[str, int]] = []
    for cause in graph.parents[name]:
        nominal = schema[cause].kind == "categorical"
        found += [(cause, level) for level in range(schema[cause].n_levels)] if nominal else [(cause, -1)]
    return tuple(found)


def _fitted(schema: Schema, graph: CausalGraph, name: str, x: np.ndarray) -> tuple[Part, dict[str, float]]:
    y, n = x[:, schema.index(name)], len(x)
    inputs = _inputs(schema, graph, name)
    if not inputs:
        feature = schema[name]
        if feature.has_levels:
            share = np.bincount(y.astype(np.int64), minlength=feature.n_levels) + 0.5  # none is impossible
            law: Noise = Categorical(tuple(share / share.sum()))
        else:
            law = Normal(float(y.mean()), float(y.std()))
        return Part((), (), 0.0, law), {"rows": n, "noise_sd": float(y.std())}
    columns = [x[:, schema.index(cause)] for cause, _ in inputs]
    design = (
        np.stack([c if k < 0 else c == k for c, (_, k) in zip(columns, inputs, strict=True)], axis=1) * 1.0
    )
    middle, scale = design.mean(0), design.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    found, _, rank, _ = np.linalg.lstsq((design - middle) / scale, y - y.mean(), rcond=None)
    if n < rank + 3:
        raise DataError(
            f"{n} rows are too few to tell what the {len(inputs)} causes of '{name}' do. Give at least {rank + 3}."
        )
    weights = found / scale
    intercept = float(y.mean() - middle @ weights)
    rest = y - design @ weights - intercept
    sd = math.sqrt(rest @ rest / (n - rank - 1))  # the unbiased variance
    told = {"rows": n, "noise_sd": sd, "explained": float(1 - (rest @ rest) / ((y - y.mean()) ** 2).sum())}
    sd = max(sd, _NARROWEST * float(y.std()))
    return Part(inputs, tuple(map(float, weights)), intercept, Normal(0.0, sd)), told


def _part_of(schema: Schema, graph: CausalGraph, name: str, arrays: Mapping[str, np.ndarray]) -> Part:
    """A part from what a file holds. Raises: ValueError, KeyError, WorldError if it does not fit."""
    inputs = _inputs(schema, graph, name)
    told, noise = (
        np.asarray(arrays[f"{what}.{name}"], dtype=np.float64).ravel() for what in ("weights", "noise")
    )
    levels = schema[name].n_levels if schema[name].has_levels and not inputs else 0
    if len(told) != len(inputs) + 1 or len(noise) != (levels or 2) or not np.isfinite(told).all():
        raise ValueError(f"'{name}' has other causes")
    law: Noise = Categorical(tuple(noise)) if levels else Normal(float(noise[0]), float(noise[1]))
    return Part(inputs, tuple(map(float, told[1:])), float(told[0]), law)


# -- equations ---------------------------------------------------------------------------------------------
def _tree(part: Part, graph: CausalGraph, schema: Schema) -> Quantity:
    """intercept + w * cause + w * (cause == level) + u"""
    noise = Ref("noise", "u", -1)
    if not part.inputs:
        return noise
    terms: list[Quantity] = [Number(part.intercept)]
    for (cause, level), weight in zip(part.inputs, part.weights, strict=True):
        ref = Ref("here", cause, graph.names.index(cause))
        one: Quantity = ref
        if level >= 0:
            one = Indicator(Compare("==", ref, Level(level, schema[cause].levels[level])))
        terms.append(Product(Number(weight), one))
    return Sum((*terms, noise))


def _range(feature: Feature) -> tuple[float, float] | None:
    """The range of a number, if it has one."""
    if feature.has_levels or (feature.low is None and feature.high is None):
        return None
    return (
        -math.inf if feature.low is None else feature.low,
        math.inf if feature.high is None else feature.high,
    )


def _log_interval(low: Array, high: Array, ops: Any) -> Array:
    """log(Phi(high) - Phi(low)), accurate in both tails."""
    turn = low > 0
    a, b = ops.where(turn, -high, low), ops.where(turn, -low, high)
    if hasattr(ops, "torch"):
        share = ops.torch.special.ndtr(b) - ops.torch.special.ndtr(a)
    else:
        from scipy.special import ndtr

        share = ndtr(b) - ndtr(a)
    return ops.log(ops.maximum(share, 1e-300))


def _input_name(schema: Schema, cause: str, level: int) -> str:
    return cause if level < 0 else f"{cause}={schema[cause].level_text(level)}"


def _told(feature: Feature) -> str:
    return (
        f"{feature.kind} with levels {', '.join(map(str, feature.levels))}"
        if feature.has_levels
        else "a number"
    )
