"""The value of an expression and the truth of a condition, for all rows at once.

A missing value (NaN) makes a comparison unknown, and truth is Kleene's three-valued logic: 0 false,
0.5 unknown, 1 true. Inside, a truth is the pair (surely true, possibly true), which turns and, or
and not into plain boolean operations; 0.5 is (False, True). The same pair serves boxes in
`boxes`, so the boolean structure is walked by one function, `truth_of`.

Source: S. C. Kleene (1952), Introduction to Metamathematics, section 64 (strong three-valued logic).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from wayforward.rules.arrays import Array
from wayforward.rules.expression import (
    And,
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Implies,
    Indicator,
    Level,
    Member,
    Negate,
    Not,
    Number,
    Operator,
    Or,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
)

TOLERANCE = 1e-9  # of the largest magnitude that enters a comparison
HUGE = 1e290  # keeps the tolerance finite when a value is infinite, so that inf <= 5 is false

Truth: TypeAlias = tuple[Array, Array]  # (surely true, possibly true)
Columns: TypeAlias = Callable[[Ref], Array]


class Atoms(Protocol):
    """Truth of the conditions that have no conditions inside."""

    def compare(self, node: Compare) -> Truth:
        """Two quantities compared."""

    def member(self, node: Member) -> Truth:
        """A quantity among values."""

    def changed(self, node: Changed) -> Truth:
        """A feature that moved."""

    def changes(self, node: Changes) -> Truth:
        """A count of features that moved."""


def truth_of(node: Condition, atoms: Atoms) -> Truth:
    """(surely true, possibly true) of a condition, given the truth of its atoms."""
    match node:
        case Compare():
            return atoms.compare(node)
        case Member():
            return atoms.member(node)
        case Changed():
            return atoms.changed(node)
        case Changes():
            return atoms.changes(node)
        case Not(part):
            surely, possibly = truth_of(part, atoms)
            return ~possibly, ~surely
        case And(parts):
            surely, possibly = truth_of(parts[0], atoms)
            for part in parts[1:]:
                one, other = truth_of(part, atoms)
                surely, possibly = surely & one, possibly & other
            return surely, possibly
        case Or(parts):
            surely, possibly = truth_of(parts[0], atoms)
            for part in parts[1:]:
                one, other = truth_of(part, atoms)
                surely, possibly = surely | one, possibly | other
            return surely, possibly
        case Implies(cause, effect):
            surely_cause, possibly_cause = truth_of(cause, atoms)
            surely, possibly = truth_of(effect, atoms)
            return ~possibly_cause | surely, ~surely_cause | possibly


def value_of(node: Quantity, columns: Columns, ops: Any, atoms: Atoms | None = None) -> Array:
    """The value of a quantity; `columns` answers for references.

    Division by zero gives inf or NaN (unknown), never an exception; callers silence NumPy's
    warnings around the whole walk.
    """
    match node:
        case Number(value):
            return value
        case Level(index, _):
            return float(index)
        case Ref():
            return columns(node)
        case Sum(terms):
            return _folded(terms, columns, ops, atoms)
        case Negate(term):
            return -value_of(term, columns, ops, atoms)
        case Product(left, right):
            return value_of(left, columns, ops, atoms) * value_of(right, columns, ops, atoms)
        case Quotient(left, right):
            return value_of(left, columns, ops, atoms) / ops.lift(value_of(right, columns, ops, atoms))
        case Call("sum", arguments):
            return _folded(arguments, columns, ops, atoms)
        case Call(("min" | "max") as function, arguments):
            pick = ops.minimum if function == "min" else ops.maximum
            total = value_of(arguments[0], columns, ops, atoms)
            for argument in arguments[1:]:
                total = pick(total, value_of(argument, columns, ops, atoms))
            return total
        case Call("logit", arguments):
            inner = ops.lift(value_of(arguments[0], columns, ops, atoms))
            return ops.log(inner / (1.0 - inner))
        case Call(function, arguments):
            return getattr(ops, function)(value_of(arguments[0], columns, ops, atoms))
        case Indicator(condition):
            assert atoms is not None
            surely, possibly = truth_of(condition, atoms)
            return ops.where(surely == possibly, ops.number(surely), float("nan"))


def _folded(terms: Sequence[Quantity], columns: Columns, ops: Any, atoms: Atoms | None) -> Array:
    total = value_of(terms[0], columns, ops, atoms)
    for term in terms[1:]:
        total = total + value_of(term, columns, ops, atoms)
    return total


def magnitude_of(node: Quantity, columns: Columns, ops: Any) -> Array:
    """The largest number that enters a quantity, which is what its rounding error scales with.

    ``after.x - before.x`` may be 1e-12 only because two values of 25,000 were subtracted; the
    tolerance of a comparison therefore follows 25,000 and not 1e-12.
    """
    match node:
        case Sum(terms) | Call("sum" | "min" | "max", terms):
            total = magnitude_of(terms[0], columns, ops)
            for term in terms[1:]:
                total = ops.maximum(total, magnitude_of(term, columns, ops))
            return total
        case Negate(term) | Call("abs", (term,)):
            return magnitude_of(term, columns, ops)
        case Product(left, right):
            return magnitude_of(left, columns, ops) * magnitude_of(right, columns, ops)
        case Quotient(left, right):
            divisor = ops.abs(ops.lift(value_of(right, columns, ops)))
            return magnitude_of(left, columns, ops) / divisor
        case Ref("change", name, index):
            return ops.maximum(
                ops.abs(columns(Ref("after", name, index))), ops.abs(columns(Ref("before", name, index)))
            )
        case Number(value):
            return abs(value)
        case _:
            return ops.abs(value_of(node, columns, ops))


def ordered(operator: Operator, difference: Array, tolerance: Array) -> Truth:
    """Truth of `difference operator 0` up to a tolerance; NaN makes it unknown."""
    match operator:
        case "<=":
            return difference <= tolerance, ~(difference > tolerance)
        case "<":
            return difference < -tolerance, ~(difference >= -tolerance)
        case ">=":
            return difference >= -tolerance, ~(difference < -tolerance)
        case ">":
            return difference > tolerance, ~(difference <= tolerance)
        case "==":
            distance = abs(difference)
            return distance <= tolerance, ~(distance > tolerance)
        case "!=":
            distance = abs(difference)
            return distance > tolerance, ~(distance <= tolerance)


class PointAtoms:
    """Truth at points: before and after are aligned arrays (..., d)."""

    def __init__(self, before: Array, after: Array, spans: np.ndarray, ops: Any) -> None:
        self.before, self.after, self.spans, self.ops = before, after, spans, ops

    def column(self, ref: Ref) -> Array:
        """(...) the values that a reference means."""
        match ref.when:
            case "before":
                return self.before[..., ref.index]
            case "after":
                return self.after[..., ref.index]
            case "change":
                return self.after[..., ref.index] - self.before[..., ref.index]
            case _:
                raise AssertionError(f"a rule cannot hold a reference to {ref.when!r}")

    def compare(self, node: Compare) -> Truth:
        """Two quantities compared."""
        return self._compare(node.operator, node.left, node.right)

    def _compare(self, operator: Operator, left: Quantity, right: Quantity) -> Truth:
        ops = self.ops
        (one, its_size), (other, other_size) = self._sized(left), self._sized(right)
        difference, size = ops.lift(one - other), ops.maximum(its_size, other_size)
        return ordered(operator, difference, TOLERANCE * ops.minimum(size, HUGE))

    def _sized(self, node: Quantity) -> tuple[Array, Array]:
        """The value of a quantity, and its magnitude."""
        if type(node) is Ref and node.when != "change":
            value = self.column(node)
            return value, self.ops.abs(value)
        return value_of(node, self.column, self.ops), magnitude_of(node, self.column, self.ops)

    def member(self, node: Member) -> Truth:
        """A quantity among values."""
        surely, possibly = self._compare("==", node.item, node.values[0])
        for value in node.values[1:]:
            one, other = self._compare("==", node.item, value)
            surely, possibly = surely | one, possibly | other
        return surely, possibly

    def _moved(self, index: int) -> tuple[Array, Array]:
        """(..., ) after - before, and the least difference that counts as one."""
        before, after = self.before[..., index], self.after[..., index]
        span = float(self.spans[index])
        if not np.isfinite(span):  # no bounds: relative to the values themselves
            return after - before, TOLERANCE * self.ops.minimum(
                self.ops.maximum(self.ops.abs(before), self.ops.abs(after)), HUGE
            )
        return after - before, TOLERANCE * span

    def changed(self, node: Changed) -> Truth:
        """A feature that moved; from or to missing counts, but has no direction."""
        moved, tolerance = self._moved(node.index)
        if node.how == "increased":
            return ordered(">", moved, tolerance)
        if node.how == "decreased":
            return ordered("<", moved, tolerance)
        differs = self.differs(node.index)
        return differs, differs

    def differs(self, index: int) -> Array:
        """Whether the value is another one: missing equals missing, and a value differs from missing."""
        moved, tolerance = self._moved(index)
        isnan = self.ops.isnan
        return (abs(moved) > tolerance) | (isnan(self.before[..., index]) ^ isnan(self.after[..., index]))

    def changes(self, node: Changes) -> Truth:
        """A count of features that moved."""
        count: Array = 0
        for index in node.indices:
            count = count + self.ops.number(self.differs(index))
        count = self.ops.lift(count)
        holds = {"most": count <= node.count, "least": count >= node.count}.get(
            node.bound, count == node.count
        )
        return holds, holds
