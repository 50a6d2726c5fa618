"""What follows from one person's acts, in plain Python: no arrays, and no code of a world that can do without it.

Where nothing else moves, where structural equations say what does (`wayforward.SCM`), and for linked rules
(``x drags y by 2``), consequences are worked out here, from the equations' and the rules' parsed trees. Worlds that
were learned (flows, Gaussian processes, regressions, sub-populations) hold functions that nobody else has: they are
asked themselves, and what comes of it is no independent opinion about the world, only about what was done with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.evaluate.row_rules import Lookup, divided, exp, log, logit, sigmoid
from wayforward.evaluate.row_rules import value as value_of
from wayforward.rules.expression import (
    Call,
    Drag,
    Negate,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
    children,
    walk,
)
from wayforward.shapes import Rows
from wayforward.world import Independent
from wayforward.world.scm import BoundSCM

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Feature

Row = list[float]


def consequences(problem: Problem, before: Rows, action: Rows, *, alone: bool = False) -> list[Row]:
    """Return where acts put people, row by row: before (m, d), action (m, d), NaN where left alone -> m rows.

    alone: a learned world is asked about one row at a time, instead of about all at once. NaN where nobody knows what
    follows, never an infinite number.
    """
    rows, acts = before.tolist(), action.tolist()
    world = problem.world
    if type(world) is Independent:
        ends = [_set(row, act) for row, act in zip(rows, acts, strict=True)]
    elif type(world) is BoundSCM:
        equations = _Equations(world)
        ends = [equations(row, act) for row, act in zip(rows, acts, strict=True)]
    elif alone:
        ends = [
            np.asarray(world.consequences(before[i : i + 1], action[i : i + 1]))[0].tolist()
            for i in range(len(rows))
        ]
    else:
        ends = np.asarray(world.consequences(before, action)).tolist() if rows else []
    ends = [[math.nan if math.isinf(value) else value for value in end] for end in ends]
    links = problem.schema.compiled_rules.links if problem.schema.rules else ()
    if links:
        drag = _Links(links, problem.schema.features)
        ends = [drag(*row) for row in zip(rows, acts, ends, strict=True)]
    return ends


def _set(before: Row, action: Row) -> Row:
    return [now if math.isnan(act) else act for now, act in zip(before, action, strict=True)]


def on_lattice(feature: Feature, x: float) -> float:
    """Return the nearest value that is whole steps away from where the feature's lattice starts, bounds aside."""
    if feature.has_levels:
        return float(round(x))
    if feature.step is None:
        return x
    start = lattice_start(feature)
    return start + round((x - start) / feature.step) * feature.step


def lattice_start(feature: Feature) -> float:
    """Return 0 where the lower bound is whole steps away from it, else the lower bound."""
    low, step = feature.low or 0.0, feature.step or 1.0
    return 0.0 if feature.has_levels or abs(low / step - round(low / step)) < 1e-9 else low


class _Equations:
    """What follows by equations: find the noise of what causes move, set what is acted on, compute the rest again."""

    def __init__(self, world: BoundSCM) -> None:
        self.columns, self.equations = world.columns, world.scm.equations
        self.soft = [name in world.scm.soft for name in world.scm.names]
        self.features = [world.schema.features[column] for column in world.columns]
        self.paths = [_path_to_noise(equation.tree) for equation in self.equations]
        self.order: list[int] = []
        for node in range(len(self.equations)):
            self._visit(node)

    def _visit(self, node: int) -> None:
        """Put a node's causes before it."""
        if node not in self.order:
            for cause in self.equations[node].parents:
                self._visit(cause)
            self.order.append(node)

    def __call__(self, before: Row, action: Row) -> Row:
        was = [before[column] for column in self.columns]
        now, moved = list(was), [False] * len(was)
        for j in self.order:
            act = action[self.columns[j]]
            acted = not math.isnan(act)
            if any(moved[cause] for cause in self.equations[j].parents) and (self.soft[j] or not acted):
                now[j] = self._legal(j, self._value(j, now, self._noise(j, was)))
            if acted:
                shifted = self.soft[j] and not math.isnan(was[j])
                now[j] = now[j] + (act - was[j]) if shifted else act
            moved[j] = now[j] != was[j] and not (math.isnan(now[j]) and math.isnan(was[j]))
        end = _set(before, action)
        for column, number in zip(self.columns, now, strict=True):
            end[column] = number
        return end

    def _value(self, j: int, values: Sequence[float], noise: float) -> float:
        return value_of(
            self.equations[j].tree, lambda ref: noise if ref.when == "noise" else values[ref.index]
        )

    def _noise(self, j: int, values: Sequence[float]) -> float:
        """Return the noise that gives this person's own value; NaN where it cannot be worked out."""
        u = values[j]
        for node, inner in self.paths[j]:
            u = _undone(node, inner, u, lambda ref: values[ref.index])
        gives = math.isfinite(u) and math.isfinite(self._value(j, values, u))
        return u if gives else math.nan

    def _legal(self, j: int, x: float) -> float:
        """Round what the feature counts; levels and declared bounds of integers also hold it."""
        feature = self.features[j]
        if not math.isfinite(x):
            return math.nan
        if not (feature.has_levels or feature.kind == "integer"):
            return x
        if feature.has_levels:
            low, high = 0.0, float(feature.n_levels - 1)
        elif feature.bounds == "declared":
            low = -math.inf if feature.low is None else feature.low
            high = math.inf if feature.high is None else feature.high
        else:
            low, high = -math.inf, math.inf
        return min(max(float(round(x)), low), high)


def _path_to_noise(node: Quantity) -> list[tuple[Quantity, Quantity]]:
    """Return each node from the whole equation down to its noise, and its child that holds the noise."""
    path = []
    while not isinstance(node, Ref):
        inner = next(
            child
            for child in children(node)
            if any(isinstance(part, Ref) and part.when == "noise" for part in walk(child))
        )
        path.append((node, inner))
        node = inner  # type: ignore[assignment]
    return path  # type: ignore[return-value]


def _undone(node: Quantity, inner: Quantity, x: float, look: Lookup) -> float:
    """Return what the inner part must be for the node to be x."""
    match node:
        case Sum(terms) | Call("sum", terms):
            for term in terms:
                if term is not inner:
                    x -= value_of(term, look)
            return x
        case Negate(_):
            return -x
        case Product(left, right):
            return divided(x, value_of(right if inner is left else left, look))
        case Quotient(left, right) if inner is left:
            return x * value_of(right, look)
        case Quotient(left, _):
            return divided(value_of(left, look), x)
        case Call("exp", _):
            return log(x)
        case Call("log", _):
            return exp(x)
        case Call("sqrt", _):
            return x * x if x >= 0 else math.nan
        case Call("sigmoid", _):
            return logit(x)
        case Call("logit", _):
            return sigmoid(x)
        case Call("tanh", _):
            return math.atanh(x) if abs(x) < 1 else math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    raise AssertionError(f"{type(node).__name__} cannot be undone")


class _Links:
    """What linked rules drag along for one person, on top of where the world puts them."""

    def __init__(self, links: Sequence[Drag], features: Sequence[Feature]) -> None:
        self.features = features
        self.into: dict[int, list[Drag]] = {}
        for link in links:
            self.into.setdefault(link.target_index, []).append(link)

    def __call__(self, before: Row, action: Row, after: Row) -> Row:
        end = list(after)
        for j in self.into:
            dragged = self._end(j, before, action, after)
            if abs(dragged - after[j]) > 1e-9 * self.features[j].span:
                end[j] = on_lattice(self.features[j], dragged)
        return end

    def _end(self, j: int, before: Row, action: Row, after: Row) -> float:
        """Return where feature j ends: rate x change of every source further, unless somebody acts on it."""
        if j not in self.into or not math.isnan(action[j]):
            return after[j]
        move = 0.0
        for link in self.into[j]:
            i = link.source_index
            change = self._end(i, before, action, after) - before[i]
            move += 0.0 if math.isnan(change) else link.rate * change
        if move == 0 or math.isnan(after[j]):
            return after[j]
        feature, x = self.features[j], after[j] + move
        if feature.has_levels:
            return float(min(max(round(x), 0), feature.n_levels - 1))
        return float(round(x)) if feature.kind == "integer" else x
