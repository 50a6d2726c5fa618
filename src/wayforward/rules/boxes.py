"""Conditions over whole boxes of people and options, by interval arithmetic.

Every reference gets bounds (features with levels also a set of levels), and the condition is surely true, surely
false or unknown. Both sure answers are sound: they hold for every pair of points in the box, tolerance of `evaluate`
and rounding included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from wayforward.rules.evaluate import HUGE, TOLERANCE, Truth, truth_of
from wayforward.rules.expression import (
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Level,
    Member,
    Negate,
    Node,
    Number,
    Operator,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
    walk,
)
from wayforward.rules.grammar import FeatureInfo
from wayforward.rules.normal_form import Form, Side, compares, flatten

Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]
_ROUNDING = 1e-14  # more than any sum of a rule can lose, relative to its largest term


class BoxAtoms:
    """Truth over boxes: bounds (..., d) of before and after, and sets of levels where known."""

    def __init__(
        self,
        bounds: Mapping[Side, Bounds],
        levels: Mapping[tuple[Side, int], np.ndarray],
        features: Sequence[FeatureInfo],
        spans: np.ndarray,
    ) -> None:
        self.bounds, self.level_sets, self.features, self.spans = bounds, levels, features, spans

    # -- quantities
    def column(self, side: Side, index: int) -> Bounds:
        """(...), (...) bounds of a feature; narrowed to the hull of its level set."""
        low, high = (part[..., index] for part in self.bounds[side])
        allowed = self.level_sets.get((side, index))
        if allowed is None:
            return low, high
        first = np.where(allowed.any(-1), allowed.argmax(-1), np.nan)
        last = np.where(allowed.any(-1), allowed.shape[-1] - 1 - allowed[..., ::-1].argmax(-1), np.nan)
        return np.maximum(low, first), np.minimum(high, last)

    def value(self, node: Quantity) -> Bounds:
        """Bounds of a quantity by interval arithmetic; NaN where nothing is known."""
        match node:
            case Number(value):
                return np.array(value), np.array(value)
            case Level(index, _):
                return np.array(float(index)), np.array(float(index))
            case Ref("change", _, index):
                (low, high), (old_low, old_high) = self.column("after", index), self.column("before", index)
                return low - old_high, high - old_low
            case Ref("before" | "after" as side, _, index):
                return self.column(side, index)
            case Sum(terms) | Call("sum", terms):
                low, high = self.value(terms[0])
                for term in terms[1:]:
                    more = self.value(term)
                    low, high = low + more[0], high + more[1]
                return low, high
            case Negate(term):
                low, high = self.value(term)
                return -high, -low
            case Product(left, right):
                return _times(self.value(left), self.value(right))
            case Quotient(left, right):
                low, high = self.value(right)
                apart = (low > 0) | (high < 0)  # else the quotient may be anything, or undefined
                return _times(
                    self.value(left),
                    (np.where(apart, 1.0 / high, np.nan), np.where(apart, 1.0 / low, np.nan)),
                )
            case Call("abs", (term,)):
                return _absolute(self.value(term))
            case Call(function, arguments):
                pick = np.minimum if function == "min" else np.maximum
                low, high = self.value(arguments[0])
                for argument in arguments[1:]:
                    more = self.value(argument)
                    low, high = pick(low, more[0]), pick(high, more[1])
                return low, high
            case _:
                raise AssertionError(f"{type(node).__name__} is no part of a rule")

    def magnitude(self, node: Quantity) -> Bounds:
        """Bounds of `evaluate.magnitude_of` over the box."""
        match node:
            case Sum(terms) | Call("sum" | "min" | "max", terms):
                low, high = self.magnitude(terms[0])
                for term in terms[1:]:
                    more = self.magnitude(term)
                    low, high = np.maximum(low, more[0]), np.maximum(high, more[1])
                return low, high
            case Negate(term) | Call("abs", (term,)):
                return self.magnitude(term)
            case Product(left, right):
                return _times(self.magnitude(left), self.magnitude(right))
            case Quotient(left, right):
                low, high = _absolute(self.value(right))
                return _times(self.magnitude(left), (1.0 / high, 1.0 / low))
            case Ref("change", _, index):
                one, other = _absolute(self.column("after", index)), _absolute(self.column("before", index))
                return np.maximum(one[0], other[0]), np.maximum(one[1], other[1])
            case _:
                return _absolute(self.value(node))

    # -- atoms
    def compare(self, node: Compare) -> Truth:
        """Two quantities compared, over the box."""
        left, right = node.left, node.right
        if isinstance(left, Ref) and isinstance(right, Level):
            return self._among(left, _levels_where(node.operator, right.index, self._n_levels(left)))
        if isinstance(right, Ref) and isinstance(left, Level):
            holds = [compares(node.operator, left.index, level) for level in range(self._n_levels(right))]
            return self._among(right, np.array(holds))
        if node.operator in ("==", "!=") and self._categorical(left) and self._categorical(right):
            assert isinstance(left, Ref) and isinstance(right, Ref)
            a, b = self._set(left), self._set(right)
            known = a.any(-1) & b.any(-1)
            same = known & (a.sum(-1) == 1) & (b.sum(-1) == 1) & (a & b).any(-1)
            apart = known & ~(a & b).any(-1)
            return (same, ~apart) if node.operator == "==" else (apart, ~same)
        return self._compare(node.operator, left, right)

    def _compare(self, operator: Operator, left: Quantity, right: Quantity) -> Truth:
        (a, b), (c, d) = self.value(left), self.value(right)
        low, high = a - d, b - c
        linear = flatten(Sum((left, Negate(right))))
        if linear is not None and not linear.pieces:  # x - x cancels; plain intervals would not see it
            tight = self._linear(linear)
            low, high = np.fmax(low, tight[0]), np.fmin(high, tight[1])
        one, other = self.magnitude(left), self.magnitude(right)
        least, most = np.maximum(one[0], other[0]), np.maximum(one[1], other[1])
        # one subtraction has the right sign; longer sums may lose the last digits
        exact = not any(_rounds(part) for side in (left, right) for part in walk(side))
        slack = 0.0 if exact else _ROUNDING * np.minimum(most, HUGE)
        low, high = low - slack, high + slack
        narrow, wide = TOLERANCE * np.minimum(least, HUGE), TOLERANCE * np.minimum(most, HUGE)
        known = ~(np.isnan(low) | np.isnan(high) | np.isnan(narrow) | np.isnan(wide))
        match operator:
            case "<=":
                surely, never = high <= narrow, low > wide
            case ">=":
                surely, never = low >= -narrow, high < -wide
            case "<":
                surely, never = high < -wide, low >= -narrow
            case ">":
                surely, never = low > wide, high <= narrow
            case "==" | "!=":
                surely = (high <= narrow) & (low >= -narrow)
                never = (low > wide) | (high < -wide)
                if operator == "!=":
                    surely, never = never, surely
        return known & surely, ~(known & never)

    def member(self, node: Member) -> Truth:
        """A quantity among values, over the box."""
        if isinstance(node.values[0], Level):
            assert isinstance(node.item, Ref)
            allowed = np.zeros(self._n_levels(node.item), dtype=bool)
            allowed[[int(value.index) for value in node.values if isinstance(value, Level)]] = True
            return self._among(node.item, allowed)
        surely, possibly = self._compare("==", node.item, node.values[0])
        for value in node.values[1:]:
            one, other = self._compare("==", node.item, value)
            surely, possibly = surely | one, possibly | other
        return surely, possibly

    def changed(self, node: Changed) -> Truth:
        """A feature that moved, over the box."""
        index, span = node.index, float(self.spans[node.index])
        (low, high), (old_low, old_high) = self.column("after", index), self.column("before", index)
        if np.isfinite(span):
            narrow = wide = np.array(TOLERANCE * span)
        else:
            one, other = _absolute((low, high)), _absolute((old_low, old_high))
            narrow = TOLERANCE * np.minimum(np.maximum(one[0], other[0]), HUGE)
            wide = TOLERANCE * np.minimum(np.maximum(one[1], other[1]), HUGE)
        least, most = low - old_high, high - old_low
        known = ~(np.isnan(least) | np.isnan(most))
        up, not_up = least > wide, most <= narrow
        down, not_down = most < -wide, least >= -narrow
        if node.how == "increased":
            surely, never = up, not_up
        elif node.how == "decreased":
            surely, never = down, not_down
        else:
            surely, never = up | down, not_up & not_down
            if self.features[index].has_levels:
                a, b = (self._set(Ref(side, node.name, index)) for side in ("before", "after"))
                surely = surely | (a.any(-1) & b.any(-1) & ~(a & b).any(-1))
        return known & surely, ~(known & never)

    def changes(self, node: Changes) -> Truth:
        """A count of features that moved, over the box."""
        least, most = np.zeros(()), np.zeros(())
        for index in node.indices:
            surely, possibly = self.changed(Changed("changed", "", index))
            least, most = least + surely, most + possibly
        match node.bound:
            case "most":
                return most <= node.count, least <= node.count
            case "least":
                return least >= node.count, most >= node.count
            case _:
                return (least == node.count) & (most == node.count), (least <= node.count) & (
                    most >= node.count
                )

    # -- helpers
    def _n_levels(self, ref: Ref) -> int:
        return len(self.features[ref.index].levels)

    def _categorical(self, node: Quantity) -> bool:
        return isinstance(node, Ref) and self.features[node.index].kind == "categorical"

    def _set(self, ref: Ref) -> np.ndarray:
        """(..., L) the levels that are possible; none where the box is not known."""
        side: Side = "before" if ref.when == "before" else "after"
        low, high = (part[..., ref.index] for part in self.bounds[side])
        positions = np.arange(self._n_levels(ref))
        inside = (positions >= low[..., None] - TOLERANCE) & (positions <= high[..., None] + TOLERANCE)
        allowed = self.level_sets.get((side, ref.index))
        return inside if allowed is None else inside & allowed

    def _among(self, ref: Ref, allowed: np.ndarray) -> Truth:
        possible = self._set(ref)
        known = possible.any(-1)
        return known & ~(possible & ~allowed).any(-1), ~known | (possible & allowed).any(-1)

    def _linear(self, form: Form) -> Bounds:
        low, high = np.array(form.constant), np.array(form.constant)
        for (side, index), weight in form.weights.items():
            a, b = self.column(side, index)
            if weight != 0:
                low = low + weight * (a if weight > 0 else b)
                high = high + weight * (b if weight > 0 else a)
        return low, high


def _times(left: Bounds, right: Bounds) -> Bounds:
    corners = [a * b for a in left for b in right]  # inf * 0 is NaN, which stays unknown
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _absolute(bounds: Bounds) -> Bounds:
    low, high = bounds
    one, other = np.abs(low), np.abs(high)
    around = (low <= 0) & (high >= 0)
    return np.where(around, 0.0, np.minimum(one, other)), np.maximum(one, other)


def _rounds(node: Node) -> bool:
    """Whether computing this node loses digits."""
    match node:
        case Sum() | Product() | Quotient() | Call("sum", _) | Ref("change", _, _):
            return True
        case _:
            return False


def _levels_where(operator: Operator, index: int, n_levels: int) -> np.ndarray:
    return np.array([compares(operator, level, index) for level in range(n_levels)])


def interval(
    conditions: Sequence[Condition],
    features: Sequence[FeatureInfo],
    spans: np.ndarray,
    before_low: np.ndarray,
    before_high: np.ndarray,
    after_low: np.ndarray,
    after_high: np.ndarray,
    before_levels: Mapping[int, np.ndarray] | None = None,
    after_levels: Mapping[int, np.ndarray] | None = None,
) -> np.ndarray:
    """(..., d) -> (..., r) int8: 1 surely holds, -1 surely broken, 0 unknown (`RuleSet.interval`)."""
    arrays = [np.asarray(a, dtype=np.float64) for a in (before_low, before_high, after_low, after_high)]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    levels: dict[tuple[Side, int], np.ndarray] = {
        ("before", j): np.asarray(allowed, dtype=bool) for j, allowed in (before_levels or {}).items()
    }
    levels |= {("after", j): np.asarray(allowed, dtype=bool) for j, allowed in (after_levels or {}).items()}
    atoms = BoxAtoms(
        {"before": (arrays[0], arrays[1]), "after": (arrays[2], arrays[3])},
        levels,
        features,
        spans,
    )
    out = np.zeros((*shape[:-1], len(conditions)), dtype=np.int8)
    with np.errstate(all="ignore"):
        for row, condition in enumerate(conditions):
            surely, possibly = truth_of(condition, atoms)
            out[..., row] = np.where(surely, 1, np.where(possibly, 0, -1))
    return out
