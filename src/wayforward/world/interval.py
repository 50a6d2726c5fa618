"""The values that an equation may give over a box of causes, by interval arithmetic.

Sums, products and quotients are worked out as `Equation.value` does, operation by operation; rounding is monotone, so
that the ends hold every value in between to the last bit. Functions such as exp get a few more digits of room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from wayforward.rules.evaluate import TOLERANCE, Truth, truth_of
from wayforward.rules.expression import (
    Call,
    Changed,
    Changes,
    Compare,
    Indicator,
    Level,
    Member,
    Negate,
    Number,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
)

Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]  # least and greatest; NaN where nothing is known
_ROOM = 1e-13  # relative, more than a function of the standard library may be off


def bounds_of(node: Quantity, columns: Callable[[Ref], Bounds]) -> Bounds:
    """Bounds (...), (...) of a quantity; `columns` answers for references."""

    def over(part: Quantity) -> Bounds:
        return bounds_of(part, columns)

    match node:
        case Number(value):
            return np.array(value), np.array(value)
        case Level(index, _):
            return np.array(float(index)), np.array(float(index))
        case Ref():
            return columns(node)
        case Sum(terms) | Call("sum", terms):
            low, high = over(terms[0])
            for term in terms[1:]:
                more = over(term)
                low, high = low + more[0], high + more[1]
            return low, high
        case Negate(term):
            low, high = over(term)
            return -high, -low
        case Product(left, right):
            return _hull([a * b for a in over(left) for b in over(right)])
        case Quotient(left, right):
            low, high = over(right)
            apart = (low > 0) | (high < 0)  # else the quotient may be anything, or undefined
            return _hull([a / np.where(apart, b, np.nan) for a in over(left) for b in (low, high)])
        case Call("min" | "max" as function, arguments):
            pick = np.minimum if function == "min" else np.maximum
            low, high = over(arguments[0])
            for argument in arguments[1:]:
                more = over(argument)
                low, high = pick(low, more[0]), pick(high, more[1])
            return low, high
        case Call("abs", (term,)):
            return _absolute(over(term))
        case Call(function, arguments):
            return _rising(function, over(arguments[0]))
        case Indicator(condition):
            surely, possibly = truth_of(condition, _Conditions(columns))
            low, high = np.where(surely, 1.0, 0.0), np.where(possibly, 1.0, 0.0)
            return low, high
    raise AssertionError(f"{type(node).__name__} is no part of an equation")


def _rising(function: str, inner: Bounds) -> Bounds:
    """A rising function; unknown where it is undefined for some value."""
    low, high = inner
    unknown = {"log": low <= 0, "sqrt": low < 0, "logit": (low <= 0) | (high >= 1)}.get(function)
    if unknown is not None:
        low, high = np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)
    if function == "logit":
        low, high = (np.log(end / (1.0 - end)) for end in (low, high))
    elif function == "sigmoid":
        low, high = (1.0 / (1.0 + np.exp(-end)) for end in (low, high))
    else:
        low, high = (getattr(np, function)(end) for end in (low, high))
    return low - _ROOM * (1 + np.abs(low)), high + _ROOM * (1 + np.abs(high))


def _hull(corners: list[np.ndarray]) -> Bounds:
    return np.minimum.reduce(corners), np.maximum.reduce(corners)  # inf * 0 is NaN, which stays unknown


def _absolute(bounds: Bounds) -> Bounds:
    low, high = bounds
    one, other = np.abs(low), np.abs(high)
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(one, other)), np.maximum(one, other)


class _Conditions:
    """Conditions inside an equation, over boxes; a comparison may go either way within the rules' tolerance."""

    def __init__(self, columns: Callable[[Ref], Bounds]) -> None:
        self.columns = columns

    def compare(self, node: Compare) -> Truth:
        """Two quantities compared."""
        (a, b), (c, d) = (bounds_of(side, self.columns) for side in (node.left, node.right))
        low, high = a - d, b - c
        slack = TOLERANCE * np.maximum(self._size(node.left), self._size(node.right))
        unknown = np.isnan(low) | np.isnan(high) | np.isnan(slack)
        match node.operator:
            case "<=":
                surely, possibly = high <= 0, low <= slack
            case "<":
                surely, possibly = high < -slack, low < 0
            case ">=":
                surely, possibly = low >= 0, high >= -slack
            case ">":
                surely, possibly = low > slack, high > 0
            case "==":
                surely, possibly = (low >= 0) & (high <= 0), (low <= slack) & (high >= -slack)
            case "!=":
                surely, possibly = (low > slack) | (high < -slack), (low < 0) | (high > 0)
        return surely & ~unknown, possibly | unknown

    def member(self, node: Member) -> Truth:
        """A quantity among values."""
        pairs = [self.compare(Compare("==", node.item, value)) for value in node.values]
        surely, possibly = pairs[0]
        for one, other in pairs[1:]:
            surely, possibly = surely | one, possibly | other
        return surely, possibly

    def changed(self, node: Changed) -> Truth:
        """Equations know one time only."""
        raise AssertionError("an equation holds no changes")

    def changes(self, node: Changes) -> Truth:
        """Equations know one time only."""
        raise AssertionError("an equation holds no changes")

    def _size(self, node: Quantity) -> np.ndarray:
        """At least the largest number that enters a quantity, which its tolerance scales with."""
        low, high = bounds_of(node, self.columns)
        size = np.maximum(np.abs(low), np.abs(high))
        match node:
            case Sum(terms) | Call("sum" | "min" | "max", terms):
                for term in terms:
                    size = np.maximum(size, self._size(term))
            case Negate(term) | Call("abs", (term,)):
                size = np.maximum(size, self._size(term))
            case Product(left, right):
                size = np.maximum(size, self._size(left) * self._size(right))
            case Quotient(left, right):
                size = np.maximum(size, self._size(left) / _absolute(bounds_of(right, self.columns))[0])
        return np.asarray(size)
