"""SolverTerms and conditions for a satisfiability solver: exact numbers, folded where nothing is left to decide.

A number is a `Fraction` or a term of the solver, a condition a bool or a term: what is constant never reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.rules.evaluate import TOLERANCE
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
from wayforward.rules.normal_form import compares

Term = Any  # a Fraction or a number of the solver
Fact = Any  # a bool or a condition of the solver


class NotLowered(Exception):
    """What is asked has no form that the solver knows."""


class SolverTerms:
    """Variables, sums and cases of one context of z3, and the facts that hold. Raises: MissingExtra.

    over: the facts are to hold wherever the judge may say yes, so that a refutation is a proof; without it wherever
    they hold the judge says yes, rounding included.
    """

    def __init__(self, over: bool) -> None:
        self.z3 = require("z3", extra="smt")
        self.ctx, self.over, self._count = self.z3.Context(), over, 0
        self.facts: list[Fact] = []

    # -- numbers -------------------------------------------------------------------------------------------

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def real(self) -> Term:
        """A new number."""
        return self.z3.Real(self._name(), self.ctx)

    def whole(self) -> Term:
        """A new whole number."""
        return self.z3.Int(self._name(), self.ctx)

    def flag(self) -> Fact:
        """A new condition."""
        return self.z3.Bool(self._name(), self.ctx)

    def z3_fact(self, fact: Fact) -> Any:
        """The condition as a term."""
        return self.z3.BoolVal(fact, self.ctx) if isinstance(fact, bool) else fact

    def holds(self, model: Any, fact: Fact) -> bool:
        """What a model of the solver says of a condition."""
        return bool(self.z3.is_true(model.eval(self.z3_fact(fact), model_completion=True)))

    def lift(self, value: Term) -> Term:
        """The number as a term."""
        return value if self.z3.is_expr(value) else self.z3.RealVal(str(Fraction(value)), self.ctx)

    def as_real(self, whole: Term) -> Term:
        """A whole number as one that may be any."""
        return self.z3.ToReal(whole)

    def total(self, parts: Iterable[Term]) -> Term:
        """The sum."""
        fixed, terms = Fraction(0), []
        for part in parts:
            if isinstance(part, Fraction):
                fixed += part
            else:
                terms.append(part)
        if not terms:
            return fixed
        if fixed:
            terms.append(self.lift(fixed))
        return terms[0] if len(terms) == 1 else self.z3.Sum(terms)

    def pick(self, condition: Fact, one: Term, other: Term) -> Term:
        """One number where the condition holds, else the other."""
        if isinstance(condition, bool):
            return one if condition else other
        if isinstance(one, Fraction) and isinstance(other, Fraction) and one == other:
            return one
        return self.z3.If(condition, self.lift(one), self.lift(other), self.ctx)

    # -- conditions ----------------------------------------------------------------------------------------

    def pick_fact(self, condition: Fact, one: Fact, other: Fact) -> Fact:
        """The one holds where the condition does, else the other."""
        return self.every([self.some([self.no(condition), one]), self.some([condition, other])])

    def no(self, fact: Fact) -> Fact:
        """The condition does not hold."""
        return not fact if isinstance(fact, bool) else self.z3.Not(fact, self.ctx)

    def every(self, facts: Iterable[Fact]) -> Fact:
        """All of them hold."""
        left = [fact for fact in facts if fact is not True]
        if any(fact is False for fact in left):
            return False
        return True if not left else left[0] if len(left) == 1 else self.z3.And(*left)

    def some(self, facts: Iterable[Fact]) -> Fact:
        """One of them holds, or several."""
        left = [fact for fact in facts if fact is not False]
        if any(fact is True for fact in left):
            return True
        return False if not left else left[0] if len(left) == 1 else self.z3.Or(*left)

    def at_most(self, facts: Sequence[Fact], count: int) -> Fact:
        """At most so many of them hold."""
        count -= sum(fact is True for fact in facts)
        left = [fact for fact in facts if not isinstance(fact, bool)]
        if count < 0 or not left:
            return count >= 0
        return True if count >= len(left) else self.z3.PbLe([(fact, 1) for fact in left], count)

    def add(self, fact: Fact) -> None:
        """From now on it holds."""
        if fact is not True:
            self.facts.append(self.z3.BoolVal(False, self.ctx) if fact is False else fact)


def exact(value: float) -> Fraction:
    """The number that a float is. Raises: NotLowered for what is not finite."""
    if not math.isfinite(value):
        raise NotLowered(f"{value} is no number that a solver knows")
    return Fraction(float(value))


def coarse(value: float, up: bool, bits: int = 24) -> Fraction:
    """A short number that is a little above, or a little below."""
    if not value:
        return Fraction(0)
    shift = bits - int(np.floor(np.log2(abs(value))))
    whole = Fraction(int((np.ceil if up else np.floor)(np.ldexp(value, shift))))
    return whole / (1 << shift) if shift >= 0 else whole * (1 << -shift)


class Grammar:
    """Conditions and quantities of the grammar as terms.

    column: what a reference stands for, None where it is missing. size: the largest number that it can be. moved: the
    condition that a feature's value is another one. levels: the conditions that a feature has each of its levels
    after, None for a number.
    """

    def __init__(
        self,
        terms: SolverTerms,
        column: Callable[[Ref], Term | None],
        size: Callable[[Ref], float],
        moved: Callable[[int], Fact],
        levels: Callable[[Ref], Sequence[Fact] | None],
        missing: frozenset[int] = frozenset(),
    ) -> None:
        self.terms, self.column, self.size, self.moved, self.levels = terms, column, size, moved, levels
        self.missing = missing  # features whose value is missing, and stays so

    # -- conditions ----------------------------------------------------------------------------------------

    def truth(self, node: Condition, over: bool, possibly: bool = True) -> Fact:
        """The condition holds; over: or nearly, else clearly. possibly: what is missing is taken to keep it."""
        t = self.terms
        match node:
            case Not(part):
                return t.no(self.truth(part, not over, not possibly))
            case And(parts):
                return t.every([self.truth(part, over, possibly) for part in parts])
            case Or(parts):
                return t.some([self.truth(part, over, possibly) for part in parts])
            case Implies(cause, effect):
                return t.some(
                    [
                        t.no(self.truth(cause, not over, not possibly)),
                        self.truth(effect, over, possibly),
                    ]
                )
            case Compare(operator, left, right):
                return self._compare(operator, left, right, over, possibly)
            case Member(item, values):
                return t.some([self._compare("==", item, value, over, possibly) for value in values])
            case Changed(how, name, index):
                if index in self.missing:
                    return False if how == "changed" else possibly
                if how == "changed":
                    return self.moved(index)
                change = self.value(Ref("change", name, index))
                return t.every([self.moved(index), change > 0 if how == "increased" else change < 0])
            case Changes(bound, count, _, indices):
                flags = [self.moved(index) for index in indices if index not in self.missing]
                most = t.at_most(flags, count)
                least = t.no(t.at_most(flags, count - 1))
                return most if bound == "most" else least if bound == "least" else t.every([most, least])
        raise AssertionError(node)

    def _compare(
        self, operator: Operator, left: Quantity, right: Quantity, over: bool, possibly: bool
    ) -> Fact:
        t = self.terms
        for ref, level, flip in ((left, right, False), (right, left, True)):
            flags = self.levels(ref) if isinstance(ref, Ref) and isinstance(level, Level) else None
            if flags is not None:
                pairs = ((level.index, k) if flip else (k, level.index) for k in range(len(flags)))  # type: ignore[union-attr]
                return t.some(
                    [flag for flag, (a, b) in zip(flags, pairs, strict=True) if compares(operator, a, b)]
                )
        one, other = self._value(left), self._value(right)
        if one is None or other is None:
            return possibly
        apart = one - other
        room = exact(TOLERANCE * max(self._size(left), self._size(right)) * (1 + 1e-6))
        near, far = (room, Fraction(0)) if over else (Fraction(0), room)
        match operator:
            case "<=":
                return apart <= near
            case "<":
                return apart < -far
            case ">=":
                return apart >= -near
            case ">":
                return apart > far
            case "==":
                return t.every([apart <= near, apart >= -near])
            case "!=":
                return t.some([apart < -far, apart > far])

    # -- quantities ----------------------------------------------------------------------------------------

    def value(self, node: Quantity) -> Term:
        """The number. Raises: NotLowered for what is missing, a smooth function, or a division by what may change."""
        got = self._value(node)
        if got is None:
            raise NotLowered("a value is missing")
        return got

    def _value(self, node: Quantity) -> Term | None:
        t = self.terms
        match node:
            case Number(value):
                return exact(value)
            case Level(index, _):
                return Fraction(index)
            case Ref():
                return self.column(node)
            case Indicator(condition):
                surely, may = self.truth(condition, False, False), self.truth(condition, True)
                if isinstance(surely, bool) and isinstance(may, bool) and surely == may:
                    return Fraction(int(surely))
                if not t.over:
                    return t.pick(surely, Fraction(1), Fraction(0))
                open_ = t.flag()
                return t.pick(t.some([surely, t.every([may, open_])]), Fraction(1), Fraction(0))
        inside = [self._value(part) for part in _parts(node)]
        if any(part is None for part in inside):
            return None
        return self._of(node, inside)

    def _of(self, node: Quantity, inside: Sequence[Any]) -> Term:
        t = self.terms
        match node:
            case Sum() | Call("sum", _):
                return t.total(inside)
            case Negate():
                return -inside[0]
            case Product():
                return inside[0] * inside[1]
            case Quotient() if isinstance(inside[1], Fraction) and inside[1]:
                return inside[0] * (1 / inside[1])
            case Call("abs", _):
                return t.pick(inside[0] >= 0, inside[0], -inside[0])
            case Call(("min" | "max") as function, _):
                best = inside[0]
                for other in inside[1:]:
                    first = best <= other if function == "min" else best >= other
                    best = t.pick(first, best, other)
                return best
            case Call(function, _) if isinstance(inside[0], Fraction):
                with np.errstate(all="ignore"):
                    value = float(_SMOOTH[function](float(inside[0])))
                if not math.isfinite(value):
                    raise NotLowered("what is no finite number is no option, which a formula cannot say")
                return exact(value)
        raise NotLowered("a solver knows no smooth function, and no division by what may change")

    def _size(self, node: Quantity) -> float:
        """The largest number that enters a quantity."""
        match node:
            case Number(value):
                return abs(value)
            case Level(index, _):
                return float(abs(index))
            case Ref():
                return self.size(node)
            case Product(left, right):
                return self._size(left) * self._size(right)
            case Quotient(left, right):
                divisor = self._value(right)
                return self._size(left) / abs(float(divisor)) if divisor else math.inf
            case Indicator():
                return 1.0
        return max(self._size(part) for part in _parts(node))


def _parts(node: Quantity) -> tuple[Quantity, ...]:
    match node:
        case Sum(terms) | Call(_, terms):
            return terms
        case Negate(term):
            return (term,)
        case Product(left, right) | Quotient(left, right):
            return left, right
    raise AssertionError(node)


_SMOOTH: dict[str, Callable[[float], float]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh,
    "sigmoid": lambda v: 1.0 / (1.0 + np.exp(-v)), "logit": lambda v: np.log(v / (1.0 - v)),
}  # fmt: skip
