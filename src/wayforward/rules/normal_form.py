"""A condition as a conjunction of clauses, each a disjunction of three atoms, for solvers.

* `Linear`: ``sum c * value + sum w * [feature changed] <= bound`` (``<`` if strict),
* `Levels`: a feature's level, before or after, lies in a set,
* `Moved`: a feature's value is (or is not) another one after than before.

To lower it: for MILP, one binary per level of a feature with levels (``Levels`` becomes a sum of
those >= 1) and one per change indicator; a clause of one atom is that constraint itself, a clause of
several gets one binary per atom with ``sum >= 1`` and big-M from the schema's bounds; a strict bound
``< b`` becomes ``<= b - 1e-9 * scale``, or the previous lattice value where all terms are integers. For
CP-SAT, ``AddBoolOr`` over literals with ``OnlyEnforceIf``. A missing value satisfies every rule that
hangs on it, so drop the atoms of a missing value together with their clause. None means that the
condition is not linear; then only `RuleSet.interval` and `RuleSet.satisfied` can judge it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Literal, TypeAlias

from wayforward.rules.expression import (
    NEGATED,
    And,
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Implies,
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
from wayforward.rules.grammar import FeatureInfo

Side: TypeAlias = Literal["before", "after"]
_MAX_CLAUSES = 500


@dataclass(frozen=True, slots=True)
class Linear:
    """``sum weight * value + sum weight * [changed] <= bound``, or ``<`` if strict.

    `terms` holds (side, feature, weight) and `changed` (feature, weight); levels count by position.
    """

    terms: tuple[tuple[Side, int, float], ...]
    changed: tuple[tuple[int, float], ...]
    bound: float
    strict: bool


@dataclass(frozen=True, slots=True)
class Levels:
    """The level of a feature on one side is one of `allowed`."""

    side: Side
    index: int
    allowed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Moved:
    """The feature's value is another one after than before (or is not, if `changed` is False)."""

    index: int
    changed: bool


Atom: TypeAlias = Linear | Levels | Moved
Clauses: TypeAlias = list[tuple[Atom, ...]]


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A conjunction of clauses, each a disjunction of atoms; no clauses is true, an empty clause false."""

    clauses: tuple[tuple[Atom, ...], ...]


def compares(operator: Operator, left: float, right: float) -> bool:
    """Compare two positions of levels."""
    return {
        "==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[operator]  # fmt: skip


@dataclass(slots=True)
class Form:
    """constant + sum of weights + pieces (weight, abs/min/max call)."""

    constant: float
    weights: dict[tuple[Side, int], float]
    pieces: list[tuple[float, Call]]

    def add(self, other: Form, scale: float) -> None:
        """Add `scale` times another form."""
        self.constant += scale * other.constant
        for key, weight in other.weights.items():
            self.weights[key] = self.weights.get(key, 0.0) + scale * weight
        self.pieces += [(scale * weight, call) for weight, call in other.pieces]


def flatten(node: Quantity) -> Form | None:
    """A quantity as a linear form with abs/min/max left as pieces; None if it is not linear."""
    match node:
        case Number(value):
            return Form(value, {}, [])
        case Level(index, _):
            return Form(float(index), {}, [])
        case Ref("change", _, index):
            return Form(0.0, {("after", index): 1.0, ("before", index): -1.0}, [])
        case Ref("before" | "after" as side, _, index):
            return Form(0.0, {(side, index): 1.0}, [])
        case Negate(term):
            return _scaled(flatten(term), -1.0)
        case Sum(terms) | Call("sum", terms):
            total = Form(0.0, {}, [])
            for term in terms:
                part = flatten(term)
                if part is None:
                    return None
                total.add(part, 1.0)
            return total
        case Product(left, right):
            a, b = flatten(left), flatten(right)
            if a is not None and _is_constant(a):
                return _scaled(b, a.constant)
            return _scaled(a, b.constant) if b is not None and _is_constant(b) else None
        case Quotient(left, right):
            b = flatten(right)
            if b is None or not _is_constant(b) or b.constant == 0:
                return None
            return _scaled(flatten(left), 1.0 / b.constant)
        case Call():
            return Form(0.0, {}, [(1.0, node)])
        case _:
            return None


def _is_constant(form: Form) -> bool:
    return not form.pieces and not any(form.weights.values())


def _scaled(form: Form | None, scale: float) -> Form | None:
    if form is None or not math.isfinite(scale):
        return None
    total = Form(0.0, {}, [])
    total.add(form, scale)
    return total


def _both(parts: Sequence[Clauses | None]) -> Clauses | None:
    out: Clauses = []
    for part in parts:
        if part is None:
            return None
        out += part
    return out if len(out) <= _MAX_CLAUSES else None


def _either(parts: Sequence[Clauses | None]) -> Clauses | None:
    out: Clauses = [()]
    for part in parts:
        if part is None or len(out) * len(part) > _MAX_CLAUSES:
            return None
        out = [tuple(dict.fromkeys((*one, *other))) for one, other in cartesian(out, part)]
    return out


def _at_most_zero(form: Form | None, strict: bool) -> Clauses | None:
    """Clauses of ``form <= 0`` (``< 0`` if strict): pieces split into cases, the rest is one atom."""
    if form is None or not math.isfinite(form.constant):
        return None
    if form.pieces:
        weight, call = form.pieces[0]
        rest = Form(form.constant, dict(form.weights), form.pieces[1:])
        arguments = list(call.arguments)
        if call.function == "abs":
            arguments += [Negate(call.arguments[0])]
        cases: list[Clauses | None] = []
        for argument in arguments:
            inner = flatten(argument)
            if inner is None or len(cases) > _MAX_CLAUSES:
                return None
            case = Form(rest.constant, dict(rest.weights), list(rest.pieces))
            case.add(inner, weight)
            cases.append(_at_most_zero(case, strict))
        every = (call.function == "min") == (weight < 0)  # max <= 0 asks all, min <= 0 asks one
        return _both(cases) if every else _either(cases)
    terms = tuple((side, index, w) for (side, index), w in sorted(form.weights.items()) if w != 0)
    if not terms:
        true = form.constant < 0 if strict else form.constant <= 0
        return [] if true else [()]
    return [(Linear(terms, (), -form.constant, strict),)]


def _clauses(node: Condition, positive: bool, features: Sequence[FeatureInfo]) -> Clauses | None:
    match node:
        case Not(part):
            return _clauses(part, not positive, features)
        case Implies(cause, effect):
            return _clauses(Or((Not(cause), effect)), positive, features)
        case And(parts) | Or(parts):
            made = [_clauses(part, positive, features) for part in parts]
            return _both(made) if isinstance(node, And) == positive else _either(made)
        case Changed("changed", _, index):
            return [(Moved(index, positive),)]
        case Changed(how, name, index):
            operator: Operator = ">" if how == "increased" else "<"
            return _clauses(Compare(operator, Ref("change", name, index), Number(0.0)), positive, features)
        case Changes(bound, count, _, indices):
            up = tuple((index, 1.0) for index in indices)
            down = tuple((index, -1.0) for index in indices)
            at_most, more = Linear((), up, float(count), False), Linear((), down, -float(count + 1), False)
            at_least, fewer = Linear((), down, -float(count), False), Linear((), up, float(count - 1), False)
            if bound == "most":
                return [(at_most,)] if positive else [(more,)]
            if bound == "least":
                return [(at_least,)] if positive else [(fewer,)]
            return [(at_most,), (at_least,)] if positive else [(more, fewer)]
        case Member(Ref() as ref, values) if isinstance(values[0], Level):
            chosen = {value.index for value in values if isinstance(value, Level)}
            everything = set(range(len(features[ref.index].levels)))
            return [(_levels(ref, chosen if positive else everything - chosen),)]
        case Member(item, values):
            parts = tuple(Compare("==", item, value) for value in values)
            return _clauses(Or(parts), positive, features)
        case Compare(operator, left, right):
            return _comparison(operator if positive else NEGATED[operator], left, right, features)
    raise AssertionError(node)


def _levels(ref: Ref, allowed: set[int]) -> Levels:
    return Levels("before" if ref.when == "before" else "after", ref.index, frozenset(allowed))


def _comparison(
    operator: Operator, left: Quantity, right: Quantity, features: Sequence[FeatureInfo]
) -> Clauses | None:
    for ref, level, flip in ((left, right, False), (right, left, True)):
        if isinstance(ref, Ref) and isinstance(level, Level):
            n_levels = len(features[ref.index].levels)
            pairs = ((level.index, i) if flip else (i, level.index) for i in range(n_levels))
            return [(_levels(ref, {i for i, (a, b) in enumerate(pairs) if compares(operator, a, b)}),)]
    if isinstance(left, Ref) and isinstance(right, Ref) and features[left.index].kind == "categorical":
        if left.index == right.index:
            if left.when == right.when:
                return [] if operator == "==" else [()]
            return [(Moved(left.index, operator == "!="),)]
        everything = set(range(len(features[left.index].levels)))
        if operator == "==":  # same levels: level by level, "left is not l, or right is l"
            return [(_levels(left, everything - {i}), _levels(right, {i})) for i in sorted(everything)]
        return [
            (_levels(left, everything - {i}), _levels(right, everything - {i})) for i in sorted(everything)
        ]
    form = flatten(Sum((left, Negate(right))))
    less, more = _scaled(form, 1.0), _scaled(form, -1.0)
    match operator:
        case "<=" | "<":
            return _at_most_zero(less, operator == "<")
        case ">=" | ">":
            return _at_most_zero(more, operator == ">")
        case "==":
            return _both([_at_most_zero(less, False), _at_most_zero(more, False)])
        case "!=":
            return _either([_at_most_zero(less, True), _at_most_zero(more, True)])


def normal_form(body: Condition, features: Sequence[FeatureInfo]) -> NormalForm | None:
    """A condition as clauses of `Linear`, `Levels` and `Moved`; None if not linear or too large."""
    clauses = _clauses(body, True, features)
    return None if clauses is None else NormalForm(tuple(clauses))
