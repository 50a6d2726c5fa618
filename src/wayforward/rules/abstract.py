"""Rules over whole boxes of people and options: proofs, a linear normal form, contradictions.

Three views of one condition, for solvers and for proofs:

`interval` judges a box. Every reference gets bounds (features with levels also a set of levels), and
the condition is surely true, surely false or unknown. Both sure answers are sound: they hold for
every pair of points in the box, tolerance of `evaluate` and rounding included.

`normal_form` writes a condition as a conjunction of clauses, each a disjunction of three atoms:

* `Linear`: ``sum c * value + sum w * [feature changed] <= bound`` (``<`` if strict),
* `Levels`: a feature's level, before or after, lies in a set,
* `Moved`: a feature's value is (or is not) another one after than before.

To lower it: for MILP, one binary per level of a feature with levels (``Levels`` becomes a sum of
those >= 1) and one per change indicator; a clause of one atom is that constraint itself, a clause of
several gets one binary per atom with ``sum >= 1`` and big-M from the schema's bounds; a strict bound
``< b`` becomes ``<= b - 1e-9 * scale``, or the previous lattice value where all terms are integers. For
CP-SAT, ``AddBoolOr`` over literals with ``OnlyEnforceIf``. A missing value satisfies every rule that
hangs on it, so drop the atoms of a missing value together with their clause. None means that the
condition is not linear; then only `interval` and `RuleSet.satisfied` can judge it.

`contradiction` refutes: bounds propagation over the clauses, then case distinctions over clauses and
small domains, within a budget of nodes. Every refutation is a proof over the declared domains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from wayforward.rules.evaluate import HUGE, TOLERANCE, Truth, truth_of
from wayforward.rules.expression import (
    NEGATED,
    And,
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Drag,
    Implies,
    Level,
    Member,
    Negate,
    Node,
    Not,
    Number,
    Operator,
    Or,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
    walk,
)
from wayforward.rules.grammar import FeatureInfo

if TYPE_CHECKING:
    from wayforward.rules.ruleset import Rule, RuleSet

Side: TypeAlias = Literal["before", "after"]
Bounds: TypeAlias = tuple[np.ndarray, np.ndarray]
_ROUNDING = 1e-14  # more than any sum of a rule can lose, relative to its largest term
_MAX_CLAUSES = 500
_MAX_NODES = 200
_SMALL = 12  # values of a domain that is enumerated


# -- boxes ----------------------------------------------------------------------------------------


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
            holds = [_holds(node.operator, left.index, level) for level in range(self._n_levels(right))]
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
        linear = _flatten(Sum((left, Negate(right))))
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

    def _linear(self, form: _Form) -> Bounds:
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


def _holds(operator: Operator, left: float, right: float) -> bool:
    return {
        "==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[operator]  # fmt: skip


def _levels_where(operator: Operator, index: int, n_levels: int) -> np.ndarray:
    return np.array([_holds(operator, level, index) for level in range(n_levels)])


def interval(
    rules: RuleSet,
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
        rules.features,
        rules.spans,
    )
    out = np.zeros((*shape[:-1], len(rules.conditions)), dtype=np.int8)
    with np.errstate(all="ignore"):
        for row, rule in enumerate(rules.conditions):
            assert not isinstance(rule.body, Drag)
            surely, possibly = truth_of(rule.body, atoms)
            out[..., row] = np.where(surely, 1, np.where(possibly, 0, -1))
    return out


# -- normal form ----------------------------------------------------------------------------------


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


@dataclass(slots=True)
class _Form:
    """constant + sum of weights + pieces (weight, abs/min/max call)."""

    constant: float
    weights: dict[tuple[Side, int], float]
    pieces: list[tuple[float, Call]]

    def add(self, other: _Form, scale: float) -> None:
        self.constant += scale * other.constant
        for key, weight in other.weights.items():
            self.weights[key] = self.weights.get(key, 0.0) + scale * weight
        self.pieces += [(scale * weight, call) for weight, call in other.pieces]


def _flatten(node: Quantity) -> _Form | None:
    """A quantity as a linear form with abs/min/max left as pieces; None if it is not linear."""
    match node:
        case Number(value):
            return _Form(value, {}, [])
        case Level(index, _):
            return _Form(float(index), {}, [])
        case Ref("change", _, index):
            return _Form(0.0, {("after", index): 1.0, ("before", index): -1.0}, [])
        case Ref("before" | "after" as side, _, index):
            return _Form(0.0, {(side, index): 1.0}, [])
        case Negate(term):
            return _scaled(_flatten(term), -1.0)
        case Sum(terms) | Call("sum", terms):
            total = _Form(0.0, {}, [])
            for term in terms:
                part = _flatten(term)
                if part is None:
                    return None
                total.add(part, 1.0)
            return total
        case Product(left, right):
            a, b = _flatten(left), _flatten(right)
            if a is not None and _is_constant(a):
                return _scaled(b, a.constant)
            return _scaled(a, b.constant) if b is not None and _is_constant(b) else None
        case Quotient(left, right):
            b = _flatten(right)
            if b is None or not _is_constant(b) or b.constant == 0:
                return None
            return _scaled(_flatten(left), 1.0 / b.constant)
        case Call():
            return _Form(0.0, {}, [(1.0, node)])
        case _:
            return None


def _is_constant(form: _Form) -> bool:
    return not form.pieces and not any(form.weights.values())


def _scaled(form: _Form | None, scale: float) -> _Form | None:
    if form is None or not math.isfinite(scale):
        return None
    total = _Form(0.0, {}, [])
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


def _at_most_zero(form: _Form | None, strict: bool) -> Clauses | None:
    """Clauses of ``form <= 0`` (``< 0`` if strict): pieces split into cases, the rest is one atom."""
    if form is None or not math.isfinite(form.constant):
        return None
    if form.pieces:
        weight, call = form.pieces[0]
        rest = _Form(form.constant, dict(form.weights), form.pieces[1:])
        arguments = list(call.arguments)
        if call.function == "abs":
            arguments += [Negate(call.arguments[0])]
        cases: list[Clauses | None] = []
        for argument in arguments:
            inner = _flatten(argument)
            if inner is None or len(cases) > _MAX_CLAUSES:
                return None
            case = _Form(rest.constant, dict(rest.weights), list(rest.pieces))
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
            return [(_levels(ref, {i for i, (a, b) in enumerate(pairs) if _holds(operator, a, b)}),)]
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
    form = _flatten(Sum((left, Negate(right))))
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


def normal_form(body: Condition | Drag, features: Sequence[FeatureInfo]) -> NormalForm | None:
    """A condition as clauses of `Linear`, `Levels` and `Moved`; None if not linear or too large."""
    if isinstance(body, Drag):
        return None
    clauses = _clauses(body, True, features)
    return None if clauses is None else NormalForm(tuple(clauses))


# -- contradictions -------------------------------------------------------------------------------


class _Domain:
    """What is still possible: bounds and level sets of before and after, and which features moved."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        d = len(rules.features)
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        self.levels: dict[tuple[Side, int], np.ndarray] = {}
        self.open = np.zeros(d, dtype=bool)  # may be missing, and then satisfies everything
        self.whole = np.zeros(d, dtype=bool)
        for j, feature in enumerate(rules.features):
            self.open[j] = bool(getattr(feature, "missing", False))
            self.whole[j] = feature.has_levels or feature.kind == "integer"
            if feature.has_levels:
                low[j], high[j] = 0, len(feature.levels) - 1
                for side in _SIDES:
                    self.levels[side, j] = np.ones(len(feature.levels), dtype=bool)
            elif getattr(feature, "bounds", "declared") == "declared":  # observed bounds are no law
                low[j] = -np.inf if feature.low is None else feature.low
                high[j] = np.inf if feature.high is None else feature.high
        self.low: dict[Side, np.ndarray] = {side: low.copy() for side in _SIDES}
        self.high: dict[Side, np.ndarray] = {side: high.copy() for side in _SIDES}
        self.moved: dict[int, bool] = {}

    def copy(self) -> _Domain:
        """A domain to narrow on trial."""
        other = _Domain.__new__(_Domain)
        other.rules, other.open, other.whole = self.rules, self.open, self.whole
        other.low = {side: array.copy() for side, array in self.low.items()}
        other.high = {side: array.copy() for side, array in self.high.items()}
        other.levels = {key: array.copy() for key, array in self.levels.items()}
        other.moved = dict(self.moved)
        return other

    # -- what an atom is worth here
    def changed(self, index: int) -> bool | None:
        """Whether the feature moved, where that is decided."""
        if self.open[index]:
            return None
        if index in self.moved:
            return self.moved[index]
        gap = 1e-9 * max(1.0, float(np.nan_to_num(self.rules.spans[index], nan=1.0)))
        before, after = (
            (self.low["before"][index], self.high["before"][index]),
            (
                self.low["after"][index],
                self.high["after"][index],
            ),
        )
        if after[0] > before[1] + 2 * gap or before[0] > after[1] + 2 * gap:
            return True
        if ("before", index) in self.levels and not (
            self.levels["before", index] & self.levels["after", index]
        ).any():
            return True
        if before[0] == before[1] == after[0] == after[1]:
            return False
        return None

    def worth(self, atom: Atom) -> bool | None:
        """True, False or undecided."""
        match atom:
            case Moved(index, wanted):
                known = self.changed(index)
                return None if known is None else known == wanted
            case Levels(side, index, allowed):
                if self.open[index]:
                    return None
                possible = set(np.flatnonzero(self.levels[side, index]).tolist())
                return True if possible <= allowed else (None if possible & allowed else False)
            case Linear():
                if any(self.open[index] for _, index, _ in atom.terms):
                    return None
                least, most, size = self.activity(atom)
                pad = 1e-8 * size
                if least > atom.bound + pad or (atom.strict and least >= atom.bound):
                    return False
                if most < atom.bound - pad or (not atom.strict and most <= atom.bound):
                    return True
                return None

    def _ends(self, atom: Linear) -> list[tuple[float, float]]:
        """Least and greatest of each term, changes last."""
        ends = []
        for side, index, weight in atom.terms:
            one, other = weight * self.low[side][index], weight * self.high[side][index]
            ends.append((float(min(one, other)), float(max(one, other))))
        for index, weight in atom.changed:
            known = self.changed(index)
            one, other = (0.0, weight) if known is None else (weight * known, weight * known)
            ends.append((min(one, other), max(one, other)))
        return ends

    def activity(self, atom: Linear) -> tuple[float, float, float]:
        """Least and greatest left side, and the size of what was added."""
        ends = self._ends(atom)
        finite = [abs(v) for pair in ends for v in pair if math.isfinite(v)]
        return sum(e[0] for e in ends), sum(e[1] for e in ends), max([abs(atom.bound), *finite, 1e-12])

    # -- making an atom true
    def force(self, atom: Atom) -> bool | None:
        """Narrow to where the atom holds: True if narrowed, False if nothing is left, None if as it was."""
        match atom:
            case Moved(index, wanted):
                if self.open[index]:
                    return None
                known = self.changed(index)
                if known is not None and known != wanted:
                    return False
                new = self.moved.get(index) != wanted
                self.moved[index] = wanted
                narrowed = self._unite(index) if not wanted else None
                return False if narrowed is False else (new or bool(narrowed) or None)
            case Levels(side, index, allowed):
                if self.open[index]:
                    return None
                mask = np.zeros_like(self.levels[side, index])
                mask[list(allowed)] = True
                return self._restrict(side, index, mask)
            case Linear():
                return self._force_linear(atom)

    def _restrict(self, side: Side, index: int, mask: np.ndarray) -> bool | None:
        old = self.levels[side, index]
        new = old & mask
        if not new.any():
            return False
        if (new == old).all():
            return None
        self.levels[side, index] = new
        places = np.flatnonzero(new)
        self.low[side][index], self.high[side][index] = places[0], places[-1]
        return True

    def _bound(self, side: Side, index: int, low: float, high: float) -> bool | None:
        if self.whole[index]:
            low, high = (
                math.ceil(low - 1e-6) if math.isfinite(low) else low,
                (math.floor(high + 1e-6) if math.isfinite(high) else high),
            )
        if (side, index) in self.levels:
            places = np.arange(len(self.levels[side, index]))
            return self._restrict(side, index, (places >= low) & (places <= high))
        old_low, old_high = float(self.low[side][index]), float(self.high[side][index])
        new_low, new_high = max(low, old_low), min(high, old_high)
        gap = 1e-8 * max(abs(v) for v in (new_low, new_high, 1e-12) if math.isfinite(v))
        if new_low > new_high:
            if new_low > new_high + gap:
                return False
            new_low = new_high = min(max(new_low, old_low), old_high)
        # ignore tiny steps: chains of real bounds may converge without ever ending
        step = 1e-6 * max([abs(v) for v in (old_low, old_high) if math.isfinite(v)] + [1e-6])
        if not (new_low > old_low + step or new_high < old_high - step):
            return None
        self.low[side][index], self.high[side][index] = new_low, new_high
        return True

    def _unite(self, index: int) -> bool | None:
        """Unmoved: before and after share what both allow."""
        if ("before", index) in self.levels:
            common = self.levels["before", index] & self.levels["after", index]
            results = [self._restrict(side, index, common) for side in _SIDES]
        else:
            low = float(max(self.low[side][index] for side in _SIDES))
            high = float(min(self.high[side][index] for side in _SIDES))
            pad = 1e-9 * max(1.0, float(np.nan_to_num(self.rules.spans[index], nan=1.0)))
            results = [self._bound(side, index, low - pad, high + pad) for side in _SIDES]
        return False if False in results else (True if True in results else None)

    def _force_linear(self, atom: Linear) -> bool | None:
        if self.worth(atom) is False:
            return False
        if any(self.open[index] for _, index, _ in atom.terms):
            return None
        ends = self._ends(atom)
        size = max([abs(atom.bound), *(abs(v) for pair in ends for v in pair if math.isfinite(v)), 1e-12])
        narrowed: bool | None = None
        infinite = [place for place, (least, _) in enumerate(ends) if math.isinf(least)]
        finite = sum(least for least, _ in ends if math.isfinite(least))
        for place, (side, index, weight) in enumerate(atom.terms):
            if any(other != place for other in infinite):
                continue
            rest = finite - (ends[place][0] if place not in infinite else 0.0)
            limit = (atom.bound - rest + 1e-8 * size) / weight
            result = self._bound(side, index, *((-math.inf, limit) if weight > 0 else (limit, math.inf)))
            if result is False:
                return False
            narrowed = narrowed or result
        for place, (index, weight) in enumerate(atom.changed, start=len(atom.terms)):
            if infinite or self.open[index] or self.changed(index) is not None:
                continue
            rest = finite - ends[place][0]
            for value in (True, False):
                if rest + weight * value > atom.bound + 1e-8 * size:  # this value is impossible
                    result = self.force(Moved(index, not value))
                    if result is False:
                        return False
                    narrowed = narrowed or result
                    break
        return narrowed

    def atoms(self) -> BoxAtoms:
        """The same box for `truth_of`; what may be missing is unknown."""
        levels = {key: mask for key, mask in self.levels.items() if not self.open[key[1]]}
        bounds: dict[Side, Bounds] = {
            side: (np.where(self.open, np.nan, self.low[side]), np.where(self.open, np.nan, self.high[side]))
            for side in _SIDES
        }
        return BoxAtoms(bounds, levels, self.rules.features, self.rules.spans)


_SIDES: tuple[Side, Side] = ("before", "after")


class _Refuter:
    """Look for a proof that some conditions cannot all hold."""

    def __init__(self, rules: RuleSet, chosen: Sequence[Rule]) -> None:
        self.rules = rules
        self.clauses: list[tuple[Atom, ...]] = []
        self.opaque: list[Condition] = []
        for rule in chosen:
            assert not isinstance(rule.body, Drag)
            form = normal_form(rule.body, rules.features)
            if form is None:
                self.opaque.append(rule.body)
            else:
                self.clauses += form.clauses
        self.nodes = 0

    def refuted(self) -> bool:
        """Whether a proof was found within the budget."""
        return self._refuted(_Domain(self.rules), self.clauses)

    def _refuted(self, domain: _Domain, clauses: list[tuple[Atom, ...]]) -> bool:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            return False
        undecided = self._propagate(domain, clauses)
        if undecided is None:
            return True
        wide = [clause for clause in undecided if len(clause) > 1]
        if wide:
            clause = min(wide, key=len)
            others = [other for other in undecided if other is not clause]
            # one atom after another is the one that holds
            return all(self._refuted(domain.copy(), [*others, (atom,)]) for atom in clause)
        split = self._small(domain, undecided)
        if split is None:
            return False
        side, index, values = split
        for value in values:
            case = domain.copy()
            if case._bound(side, index, value, value) is not False and not self._refuted(case, undecided):
                return False
        return True

    def _propagate(self, domain: _Domain, clauses: list[tuple[Atom, ...]]) -> list[tuple[Atom, ...]] | None:
        """Narrow until nothing moves: the clauses still undecided, or None if nothing is left."""
        for _ in range(50):
            narrowed = False
            undecided: list[tuple[Atom, ...]] = []
            for clause in clauses:
                worth = [domain.worth(atom) for atom in clause]
                if True in worth:
                    continue
                rest = tuple(atom for atom, value in zip(clause, worth, strict=True) if value is not False)
                if not rest:
                    return None
                if len(rest) == 1:
                    result = domain.force(rest[0])
                    if result is False:
                        return None
                    narrowed = narrowed or bool(result)
                undecided.append(rest)
            for index, moved in list(domain.moved.items()):
                if not moved:
                    result = domain._unite(index)
                    if result is False:
                        return None
                    narrowed = narrowed or bool(result)
                elif _pinned(domain, index):
                    return None
            clauses = undecided
            if not narrowed:
                break
        if _clash(domain, clauses):
            return None
        with np.errstate(all="ignore"):
            if any(not truth_of(body, domain.atoms())[1].all() for body in self.opaque):
                return None
        return clauses

    def _small(
        self, domain: _Domain, clauses: list[tuple[Atom, ...]]
    ) -> tuple[Side, int, list[float]] | None:
        """The undecided discrete value with the fewest cases, if one is small enough."""
        wanted: set[tuple[Side, int]] = set()
        for clause in clauses:
            for atom in clause:
                if isinstance(atom, Linear):
                    wanted |= {(side, index) for side, index, _ in atom.terms}
                    wanted |= {(side, index) for index, _ in atom.changed for side in _SIDES}
                else:
                    sides = _SIDES if isinstance(atom, Moved) else (atom.side,)
                    wanted |= {(side, atom.index) for side in sides}
        for body in self.opaque:
            for node in walk(body):
                if isinstance(node, (Ref, Changed)):
                    wanted |= {(side, node.index) for side in _SIDES}
                elif isinstance(node, Changes):
                    wanted |= {(side, index) for index in node.indices for side in _SIDES}
        best: tuple[Side, int, list[float]] | None = None
        for side, index in sorted(wanted):
            if domain.open[index] or not domain.whole[index]:
                continue
            low, high = domain.low[side][index], domain.high[side][index]
            if not 0 < high - low < _SMALL * 4:
                continue
            values = [float(v) for v in np.arange(low, high + 1)]
            if (side, index) in domain.levels:
                values = [v for v in values if domain.levels[side, index][int(v)]]
            if len(values) <= _SMALL and (best is None or len(values) < len(best[2])):
                best = (side, index, values)
        return best


def _pinned(domain: _Domain, index: int) -> bool:
    """Whether before and after can only be one and the same value."""
    ends = {domain.low[side][index] for side in _SIDES} | {domain.high[side][index] for side in _SIDES}
    return len(ends) == 1 and not domain.open[index]


def _clash(domain: _Domain, clauses: list[tuple[Atom, ...]]) -> bool:
    """Whether two forced inequalities over the same direction exclude each other, as x < y and y < x do."""
    upper: dict[tuple[tuple[tuple[str, int], float], ...], tuple[float, bool]] = {}
    lower: dict[tuple[tuple[tuple[str, int], float], ...], tuple[float, bool]] = {}
    equal = {index for index, moved in domain.moved.items() if not moved}
    for clause in clauses:
        if len(clause) != 1 or not isinstance(clause[0], Linear):
            continue
        atom = clause[0]
        if any(domain.open[index] for _, index, _ in atom.terms) or any(
            domain.open[index] for index, _ in atom.changed
        ):
            continue
        merged: dict[tuple[str, int], float] = {}
        for side, index, weight in atom.terms:  # an unmoved feature is one value, not two
            key = ("before" if index in equal else side, index)
            merged[key] = merged.get(key, 0.0) + weight
        for index, weight in atom.changed:
            merged["changed", index] = merged.get(("changed", index), 0.0) + weight
        kept = [(key, weight) for key, weight in sorted(merged.items()) if weight != 0]
        if not kept:
            if atom.bound < 0.0 or (atom.strict and atom.bound <= 0.0):
                return True
            continue
        scale = kept[0][1]
        direction = tuple((key, round(weight / scale, 12)) for key, weight in kept)
        limit = (atom.bound / scale, atom.strict)
        table, better = (upper, limit[0]) if scale > 0 else (lower, -limit[0])
        old = table.get(direction)
        if old is None or (better, not atom.strict) < ((old[0] if scale > 0 else -old[0]), not old[1]):
            table[direction] = limit
    for direction, (high, strict_high) in upper.items():
        if direction in lower:
            low, strict_low = lower[direction]
            if low > high + 1e-8 * max(abs(low), abs(high)) or (low >= high and (strict_low or strict_high)):
                return True
    return False


def contradiction(rules: RuleSet) -> str | None:
    """A sentence naming rules that cannot hold together, or None; see `RuleSet.contradiction`."""
    chosen = list(rules.conditions)
    if not chosen or _satisfied_somewhere(rules):
        return None
    for rule in chosen:
        if _Refuter(rules, [rule]).refuted():
            return f"the rule '{rule.text}' can never hold."
    whole = _Refuter(rules, chosen)
    if len(chosen) == 1 or not whole.refuted():
        return None
    spent = whole.nodes
    for rule in list(chosen):  # leave out whatever the proof does not need
        fewer = [other for other in chosen if other is not rule]
        attempt = _Refuter(rules, fewer)
        if spent < 10 * _MAX_NODES and attempt.refuted():
            chosen = fewer
        spent += attempt.nodes
    texts = [f"'{rule.text}'" for rule in chosen]
    return f"the rules {', '.join(texts[:-1])} and {texts[-1]} can never hold together."


def _satisfied_somewhere(rules: RuleSet) -> bool:
    """Try some pairs of points: one that keeps every rule spares the search for a proof."""
    rng = np.random.default_rng(0)
    d, n = len(rules.features), 64
    domain = _Domain(rules)
    sides = []
    for side in _SIDES:
        low = np.where(
            np.isfinite(domain.low[side]), domain.low[side], np.minimum(domain.high[side], 1e3) - 1e3
        )
        high = np.where(np.isfinite(domain.high[side]), domain.high[side], np.maximum(low, 0.0) + 1e3)
        points = low + rng.random((n, d)) * (high - low)
        points[: n // 8], points[n // 8 : n // 4] = low, high
        sides.append(np.where(domain.whole, np.rint(points), points))
    before, after = sides
    after[n // 4 :] = np.where(rng.random((n - n // 4, d)) < 0.5, before[n // 4 :], after[n // 4 :])
    after[n // 2 :] = np.where(rng.random((n // 2, d)) < 0.8, before[n // 2 :], after[n // 2 :])
    return bool(rules.satisfied(before, after).any())
