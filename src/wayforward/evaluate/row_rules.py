"""Rules and equations for one person at a time, in plain Python: a float, or True, False and None for unknown.

The parsed tree is all that this shares with `wayforward.rules`; values and truth are worked out anew, without arrays
and without the pairs of bounds that its evaluator walks with. A comparison holds up to 1e-9 of the largest number that
enters it, hangs on a missing value (NaN) only as unknown, and truth is Kleene's three-valued logic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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
    Or,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
)

Lookup: TypeAlias = Callable[[Ref], float]

_TOLERANCE = 1e-9
_HUGE = 1e290  # keeps the tolerance finite beside an infinite value, so that inf <= 5 is false


@dataclass(slots=True)
class BeforeAfter:
    """One person before and after (d,), and each feature's span (d,): what a rule is about."""

    before: Sequence[float]
    after: Sequence[float]
    span: Sequence[float]

    def __call__(self, ref: Ref) -> float:
        """Return the value that a reference of a rule means."""
        if ref.when == "change":
            return self.after[ref.index] - self.before[ref.index]
        return (self.before if ref.when == "before" else self.after)[ref.index]

    def change(self, index: int) -> float | None:
        """Return after - before, 0 where it is too small to count, None where a value is missing."""
        gap = self.after[index] - self.before[index]
        if math.isnan(gap):
            return None
        return gap if abs(gap) > _TOLERANCE * self.span[index] else 0.0

    def differs(self, index: int) -> bool:
        """Return whether the value is another one; missing equals missing and nothing else."""
        gap = self.change(index)
        if gap is None:
            return math.isnan(self.before[index]) != math.isnan(self.after[index])
        return gap != 0.0


def truth(node: Condition, pair: Lookup) -> bool | None:
    """Return whether a condition holds; None where that hangs on a missing value. Changes need a `BeforeAfter`."""
    match node:
        case Compare(operator, left, right):
            return _compared(operator, left, right, pair)
        case Member(item, values):
            return _any(_compared("==", item, value, pair) for value in values)
        case Implies(cause, effect):
            return _any((_not(truth(cause, pair)), truth(effect, pair)))
        case And(parts):
            return _not(_any([_not(truth(part, pair)) for part in parts]))
        case Or(parts):
            return _any([truth(part, pair) for part in parts])
        case Not(part):
            return _not(truth(part, pair))
    assert isinstance(pair, BeforeAfter), "an equation holds no changes"
    match node:
        case Changed("changed", _, index):
            return pair.differs(index)
        case Changed(how, _, index):
            gap = pair.change(index)
            return None if gap is None else gap > 0 if how == "increased" else gap < 0
        case Changes(bound, wanted, _, indices):
            count = sum(pair.differs(index) for index in indices)
            return {"most": count <= wanted, "least": count >= wanted, "exactly": count == wanted}[bound]


def value(node: Quantity, look: Lookup) -> float:
    """Return the value of a quantity; a division by zero gives inf or NaN, as in every floating point unit."""
    match node:
        case Ref():
            return look(node)
        case Number(number):
            return number
        case Level(index, _):
            return float(index)
        case Sum(terms) | Call("sum", terms):
            total = value(terms[0], look)
            for term in terms[1:]:
                total += value(term, look)
            return total
        case Product(left, right):
            return value(left, look) * value(right, look)
        case Negate(term):
            return -value(term, look)
        case Quotient(left, right):
            return divided(value(left, look), value(right, look))
        case Call("min", arguments):
            return _extreme(min, [value(argument, look) for argument in arguments])
        case Call("max", arguments):
            return _extreme(max, [value(argument, look) for argument in arguments])
        case Call(function, (argument,)):
            return FUNCTIONS[function](value(argument, look))
        case Indicator(condition):
            holds = truth(condition, look)
            return math.nan if holds is None else float(holds)
    raise AssertionError(f"{type(node).__name__} is no quantity")


def divided(top: float, bottom: float) -> float:
    """Return top / bottom, with inf or NaN where the bottom is 0."""
    if bottom != 0:
        return top / bottom
    return (
        math.nan if top == 0 or math.isnan(top) else math.copysign(math.inf, top) * math.copysign(1, bottom)
    )


def exp(x: float) -> float:
    """Return e to the x; inf where that is too large for a float."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """Return the natural logarithm; -inf of 0, NaN below."""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def sigmoid(x: float) -> float:
    """Return the logistic function."""
    small = exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)


def logit(p: float) -> float:
    """Return the log-odds; the inverse of `sigmoid`."""
    return log(divided(p, 1.0 - p))


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "exp": exp,
    "log": log,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "sigmoid": sigmoid,
    "logit": logit,
    "tanh": math.tanh,
}


def _compared(operator: str, left: Quantity, right: Quantity, look: Lookup) -> bool | None:
    gap = value(left, look) - value(right, look)
    slack = _TOLERANCE * min(max(_size(left, look), _size(right, look)), _HUGE)
    if math.isnan(gap) or math.isnan(slack):
        return None
    above, below = gap > slack, gap < -slack
    return {
        "<=": not above,
        "<": below,
        ">=": not below,
        ">": above,
        "==": not above and not below,
        "!=": above or below,
    }[operator]


def _size(node: Quantity, look: Lookup) -> float:
    """Return the largest number that enters a quantity, which its rounding error scales with."""
    match node:
        case Sum(terms) | Call("sum" | "min" | "max", terms):
            return _extreme(max, [_size(term, look) for term in terms])
        case Negate(term) | Call("abs", (term,)):
            return _size(term, look)
        case Product(left, right):
            return _size(left, look) * _size(right, look)
        case Quotient(left, right):
            return divided(_size(left, look), abs(value(right, look)))
        case Ref("change", name, index):
            return _extreme(max, [abs(look(Ref(when, name, index))) for when in ("before", "after")])
        case _:
            return abs(value(node, look))


def _extreme(pick: Callable[[Sequence[float]], float], values: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else pick(values)


def _not(holds: bool | None) -> bool | None:
    return None if holds is None else not holds


def _any(parts: Iterable[bool | None]) -> bool | None:
    """Return True where a part is, else None where one is unknown, else False."""
    seen = set(parts)
    return True if True in seen else None if None in seen else False
