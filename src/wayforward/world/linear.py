"""A linear world fitted by regression: the honest baseline of every richer one.

    world = LinearWorld.fit([("age", "income"), ("income", "savings")], table)
    world.consequences(people, action)
    world.report["income"]["explained"]     # share of the variance that the causes explain

Each feature with causes is a sum of its causes and of normal noise: ordinary least squares, where a nominal
cause has a shift for each of its levels. What follows from an act is then known in closed form. No torch needed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import DataError, WorldError, require_kind, require_whole
from wayforward.public import public
from wayforward.rules.arrays import Array, operations
from wayforward.rules.expression import Compare, Indicator, Level, Number, Product, Quantity, Ref, Sum
from wayforward.schema import Feature, Schema
from wayforward.shapes import FeatureMask, PerPoint, Points, Rows
from wayforward.world.base import World, unknown_nodes
from wayforward.world.equation import Equation
from wayforward.world.fitted import FittedWorld, inferred_schema, whole_rows
from wayforward.world.graph import CausalGraph
from wayforward.world.noise import Categorical, Noise, Normal
from wayforward.world.scm import SCM, BoundSCM

_FORMAT, _KIND = 1, "LinearWorld"
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


@public
class LinearWorld(FittedWorld, BoundSCM):
    """Linear equations with normal noise, made by `LinearWorld.fit` or `LinearWorld.load`.

    Arrays (..., d) are in schema order, levels by index. What follows from an act is legal: integers and
    levels are rounded to the nearest one, and everything stays in the range of its feature, declared or observed. A
    binary or ordinal effect is its level's index with normal noise, rounded; its probability is that of the
    interval which rounds to it. Roots: levels keep their shares in the table, numbers are normal.

    graph: the `CausalGraph`. report: feature -> rows, noise_sd and, for effects, explained (R squared).
    """

    title: ClassVar[str] = "linear world"

    def __init__(
        self,
        schema: Schema,
        graph: CausalGraph,
        parts: Mapping[str, Part],
        report: Mapping[str, Mapping[str, float]],
        soft: bool | Collection[str] = False,
    ) -> None:
        self.parts, self.report = dict(parts), {k: dict(v) for k, v in report.items()}
        unknown_nodes(graph.names, schema.names, "world")
        equations = [Equation(name, _tree(parts[name], graph, schema)) for name in graph.names]
        scm = SCM.of(equations, {name: parts[name].noise for name in graph.names}, soft=soft)
        super().__init__(scm, schema)
        self._know(graph, self.soft, graph.names)
        self._ranges = tuple(_range(schema.features[place]) for place in self.columns)
        # a line leaves even a range that was only observed, and then no option is legal
        self.limits = tuple(
            None if limits is None else ends or limits
            for limits, ends in zip(self.limits, self._ranges, strict=True)
        )

    def __repr__(self) -> str:
        return f"LinearWorld({self.graph.d} features, {len(self.graph.edges)} edges)"

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Effect -> {cause, or "cause=level": weight}, a unit of the effect for each unit of the cause."""
        return {
            name: {
                _input_name(self.schema, *pair): w for pair, w in zip(part.inputs, part.weights, strict=True)
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
        schema = inferred_schema(read, table) if schema is None else schema
        require_kind(schema, Schema, "schema", WorldError)
        require_whole(WorldError, seed=seed)
        schema = schema.without_carried
        read = read.over(schema.names)
        x = whole_rows(schema, read, table, _FEWEST, "a regression")
        parts, report = {}, {}
        for done, name in enumerate(read.names):
            parts[name], report[name] = _fitted(schema, read, name, x)
            if progress is not None:
                progress(done + 1, read.d)
        return cls(schema, read, parts, report, soft)

    def over(self, schema: Schema, soft: bool | Collection[str]) -> LinearWorld:
        """The same world over a schema that holds its features, acts on `soft` being shifts."""
        return LinearWorld(schema, self.graph, self.parts, self.report, soft)

    # -- what is legal, and how likely ---------------------------------------------------------------------
    def legal(self, j: int, computed: Array, ops: Any) -> Array:
        """(...) what node j's equation gives -> the nearest level or whole number, within the feature's range."""
        ends = self._ranges[j]
        if ends is None or self.limits[j] is not None:
            return super().legal(j, computed, ops)
        return ops.minimum(ops.maximum(computed, ends[0]), ends[1])

    def legal_ends(self, j: int) -> tuple[float, float, bool]:
        """See `EquationWorld`."""
        ends = self._ranges[j]
        return super().legal_ends(j) if ends is None or self.limits[j] is not None else (*ends, False)

    def keeps_density(self, density: World) -> FeatureMask:
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
            if self.limits[j] is not None and not self.scm.noise[name].discrete
        ]

    def _log_probability(self, j: int, values: Sequence[Array]) -> Array:
        """(...) log-probability that node j, a normal number, is rounded to this value."""
        ops, (low, high) = operations(*values), self.limits[j] or (-math.inf, math.inf)
        own, law = values[j], self.scm.noise[self.scm.names[j]]
        assert isinstance(law, Normal)
        u = (self.scm.equations[j].noise(values, own, ops)[0] - law.mean) / law.sd
        return _log_interval(
            ops.where(own <= low, -math.inf, u - 0.5 / law.sd),
            ops.where(own >= high, math.inf, u + 0.5 / law.sd),
            ops,
        )

    def log_density_parts(self, x: Array) -> Points:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        parts = super().log_density_parts(x)
        values = self._values(x, "x")[1]
        with np.errstate(all="ignore"):
            for j in self._cells():
                parts[..., self.columns[j]] = self._log_probability(j, values)
        return parts

    def log_density(self, x: Array) -> PerPoint:
        """(..., d) -> (...): log-density, nats; a probability for integers and levels."""
        return np.asarray(self.log_density_parts(x).sum(-1))

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable."""
        self._require_whole("a density")
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
    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a file holds: the header, and arrays by name."""
        arrays: dict[str, np.ndarray] = {}
        for name, part in self.parts.items():
            law: Any = part.noise
            numbers = law.probabilities if isinstance(law, Categorical) else (law.mean, law.sd)
            arrays[f"noise.{name}"] = np.array(numbers)
            arrays[f"weights.{name}"] = np.array([part.intercept, *part.weights])
        header = {
            "format": _FORMAT,
            "kind": _KIND,
            "schema": Schema(tuple(self.schema[name] for name in self.graph.names)).to_dict(),
            "graph": {name: list(causes) for name, causes in self.graph.parents.items()},
            "soft": sorted(self.soft),
            "report": self.report,
        }
        return header, arrays

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LinearWorld:
        """The world of what `stored` gave. Raises: ValueError, KeyError, WorldError where the parts do not fit."""
        if header.get("format") != _FORMAT or header.get("kind") != _KIND:
            raise ValueError(f"it holds a {header.get('kind')!s:.40}")
        schema = Schema.from_dict(header["schema"])
        graph = CausalGraph.read(header["graph"], nodes=schema.names)
        parts = {name: _part_of(schema, graph, name, arrays) for name in schema.names}
        report = {
            str(name): {str(key): float(value) for key, value in figures.items()}
            for name, figures in header["report"].items()
        }
        return cls(schema, graph, parts, report, [str(name) for name in header["soft"]])


# -- fitting -----------------------------------------------------------------------------------------------
def _inputs(schema: Schema, graph: CausalGraph, name: str) -> _Inputs:
    found: list[tuple[str, int]] = []
    for cause in graph.parents[name]:
        nominal = schema[cause].kind == "categorical"
        found += [(cause, level) for level in range(schema[cause].n_levels)] if nominal else [(cause, -1)]
    return tuple(found)


def _fitted(schema: Schema, graph: CausalGraph, name: str, x: Rows) -> tuple[Part, dict[str, float]]:
    """Regress one feature on its causes; return the part and its row of the report."""
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
    report = {"rows": n, "noise_sd": sd, "explained": float(1 - (rest @ rest) / ((y - y.mean()) ** 2).sum())}
    sd = max(sd, _NARROWEST * float(y.std()))
    return Part(inputs, tuple(map(float, weights)), intercept, Normal(0.0, sd)), report


def _part_of(schema: Schema, graph: CausalGraph, name: str, arrays: Mapping[str, np.ndarray]) -> Part:
    """A part from what a file holds. Raises: ValueError, KeyError, WorldError if it does not fit."""
    inputs = _inputs(schema, graph, name)
    weights, noise = (
        np.asarray(arrays[f"{what}.{name}"], dtype=np.float64).ravel() for what in ("weights", "noise")
    )
    levels = schema[name].n_levels if schema[name].has_levels and not inputs else 0
    if len(weights) != len(inputs) + 1 or len(noise) != (levels or 2) or not np.isfinite(weights).all():
        raise ValueError(f"'{name}' has other causes")
    law: Noise = Categorical(tuple(noise)) if levels else Normal(float(noise[0]), float(noise[1]))
    return Part(inputs, tuple(map(float, weights[1:])), float(weights[0]), law)


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
