"""One structural equation: computed from its causes and its noise, and solved for the noise.

The noise ``u`` stands in an equation exactly once, so the solution is found by walking from the root of the expression
to ``u`` and undoing each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from wayforward.errors import RuleError, WorldError, did_you_mean
from wayforward.lazy import cached_property
from wayforward.rules.arrays import Array
from wayforward.rules.evaluate import TOLERANCE, Truth, magnitude_of, ordered, value_of
from wayforward.rules.expression import (
    Call,
    Changed,
    Changes,
    Compare,
    Indicator,
    Level,
    Member,
    Negate,
    Node,
    Number,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
    children,
    walk,
)
from wayforward.rules.expression import text as text_of
from wayforward.rules.grammar import parse_equation
from wayforward.world.interval import bounds_of

if TYPE_CHECKING:
    from wayforward.schema import Schema


@dataclass(frozen=True)
class _Conditions:
    """Judge the conditions inside an equation at the values of its causes."""

    column: Callable[[Ref], Array]
    ops: Any

    def compare(self, node: Compare) -> Truth:
        """Two quantities compared, with the tolerance of the rules."""
        left, right = (value_of(side, self.column, self.ops, self) for side in (node.left, node.right))
        sizes = [
            abs(self.ops.lift(value_of(side, self.column, self.ops, self)))
            if any(isinstance(part, Indicator) for part in walk(side))
            else magnitude_of(side, self.column, self.ops)
            for side in (node.left, node.right)
        ]
        return ordered(node.operator, self.ops.lift(left - right), TOLERANCE * self.ops.maximum(*sizes))

    def member(self, node: Member) -> Truth:
        """A quantity among values."""
        surely, possibly = self.compare(Compare("==", node.item, node.values[0]))
        for value in node.values[1:]:
            one, other = self.compare(Compare("==", node.item, value))
            surely, possibly = surely | one, possibly | other
        return surely, possibly

    def changed(self, node: Changed) -> Truth:
        """Equations know one time only, and their parser reads no changes."""
        raise AssertionError("an equation holds no changes")

    def changes(self, node: Changes) -> Truth:
        """Equations know one time only, and their parser reads no changes."""
        raise AssertionError("an equation holds no changes")


@dataclass(frozen=True)
class Equation:
    """One feature's structural equation, ready to be computed and solved for its noise."""

    name: str
    tree: Quantity

    @classmethod
    def read(cls, name: str, text: str, places: Mapping[str, int]) -> Equation:
        """Parse an equation; `places` are the positions of all features by name.

        Raises: WorldError where it cannot be read, or solved for its noise.
        """
        try:
            tree = parse_equation(text, places)
        except RuleError as error:
            raise WorldError(f"The equation of '{name}' cannot be read. {error}") from error
        _require_solvable(name, tree)
        return cls(name, tree)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Positions of the causes, in order of appearance."""
        found = {
            node.index: None for node in walk(self.tree) if isinstance(node, Ref) and node.when == "here"
        }
        return tuple(found)

    @cached_property
    def holds_words(self) -> bool:
        """Whether a level is still written by its value, so that a schema is needed."""
        return any(isinstance(node, Level) and node.index < 0 for node in walk(self.tree))

    @cached_property
    def additive(self) -> bool:
        """Whether the noise is only added to what the causes give, or taken off."""
        node: Node = self.tree
        while not isinstance(node, Ref):
            if not isinstance(node, Sum | Negate) and not (isinstance(node, Call) and node.function == "sum"):
                return False
            node = _towards_noise(node)
        return True

    @cached_property
    def _path_to_noise(self) -> tuple[tuple[Quantity, Quantity], ...]:
        """From the whole equation to its noise: each node, and its child that holds the noise."""
        node: Quantity = self.tree
        steps = []
        while not (isinstance(node, Ref) and node.when == "noise"):
            inner = _towards_noise(node)
            steps.append((node, inner))
            node = inner
        return tuple(steps)

    def __str__(self) -> str:
        return text_of(self.tree)

    def _columns(self, values: Sequence[Array], u: Array | None) -> Callable[[Ref], Array]:
        return lambda ref: u if ref.when == "noise" else values[ref.index]

    def value(self, values: Sequence[Array], u: Array, ops: Any) -> Array:
        """(...) the feature, given every node's values and its own noise."""
        columns = self._columns(values, u)
        return ops.like(ops.lift(value_of(self.tree, columns, ops, _Conditions(columns, ops))), u)

    def bounds(self, low: Sequence[Array], high: Sequence[Array], u: Array) -> tuple[Array, Array]:
        """(...), (...) what `value` is between, given bounds on every node's values and the noise; NaN: unknown."""
        return bounds_of(
            self.tree, lambda ref: (u, u) if ref.when == "noise" else (low[ref.index], high[ref.index])
        )

    def noise(self, values: Sequence[Array], own: Array, ops: Any) -> tuple[Array, Array]:
        """(...) the noise that gives `own`, and log |d noise / d own|; NaN where there is none."""
        columns = self._columns(values, None)
        atoms = _Conditions(columns, ops)

        def known(node: Quantity) -> Array:
            return ops.lift(value_of(node, columns, ops, atoms))

        target = ops.lift(own)
        log_slope: Array = 0.0
        for node, inner in self._path_to_noise:
            match node:
                case Sum(terms) | Call("sum", terms):
                    for term in terms:
                        if term is not inner:
                            target = target - known(term)
                case Negate(_):
                    target = -target
                case Product(left, right):
                    factor = known(right if inner is left else left)
                    target, log_slope = target / factor, log_slope - ops.log(abs(factor))
                case Quotient(left, right) if inner is left:
                    divisor = known(right)
                    target, log_slope = target * divisor, log_slope + ops.log(abs(divisor))
                case Quotient(left, _):
                    top = known(left)
                    log_slope = log_slope + ops.log(abs(top)) - 2 * ops.log(abs(target))
                    target = top / target
                case Call("exp", _):
                    log_slope = log_slope - ops.log(target)
                    target = ops.log(target)
                case Call("log", _):
                    log_slope = log_slope + target
                    target = ops.exp(target)
                case Call("sqrt", _):
                    log_slope = log_slope + ops.log(2 * target)
                    target = ops.where(target >= 0, target * target, float("nan"))
                case Call("sigmoid", _):
                    log_slope = log_slope - ops.log(target) - ops.log(1 - target)
                    target = ops.log(target / (1 - target))
                case Call("logit", _):
                    target = ops.sigmoid(target)
                    log_slope = log_slope + ops.log(target) + ops.log(1 - target)
                case Call("tanh", _):
                    log_slope = log_slope - ops.log(1 - target * target)
                    target = ops.arctanh(target)
            node = inner
        return ops.like(target, own), log_slope


def _towards_noise(node: Quantity) -> Quantity:
    """The child that holds the noise."""
    for child in children(node):
        if any(isinstance(part, Ref) and part.when == "noise" for part in walk(child)):
            return child  # type: ignore[return-value]
    raise AssertionError(node)


def _require_solvable(name: str, tree: Quantity) -> None:
    """Raise WorldError unless ``u`` is there once and every step towards it can be undone."""
    where = f"The equation of '{name}', \"{text_of(tree)}\","
    count = sum(isinstance(node, Ref) and node.when == "noise" for node in walk(tree))
    if count != 1:
        advice = "Add '+ u'" if count == 0 else "Write it so that u stands in one place"
        raise WorldError(
            f"{where} holds the noise u {count} times, and it must be there once. {advice}"
            + ("; for no noise at all, give it the noise 'Constant(0)'." if count == 0 else ".")
        )
    node: Node = tree
    while not isinstance(node, Ref):
        inside: str | None = None
        match node:
            case Call(("abs" | "min" | "max") as function, _):
                inside = f"{function}(...)"
            case Indicator():
                inside = "a condition"
            case Product(left, right) if Number(0.0) in (left, right):
                inside = "a product with 0"
        if inside is not None:
            raise WorldError(
                f"{where} holds the noise inside {inside}, so it cannot be recovered from a person. "
                "Move u outside, for example 'max(...) + u'."
            )
        node = _towards_noise(node)  # type: ignore[arg-type]


def with_levels(equation: Equation, schema: Schema) -> Equation:
    """Return the equation with levels written by value replaced by their positions in the schema.

    Raises: WorldError for a level that its feature lacks.
    """

    def level(ref: Quantity, literal: Level) -> Level:
        assert isinstance(ref, Ref)
        feature = schema[ref.name]
        where = f"The equation of '{equation.name}' compares '{ref.name}' with {literal.value!r}"
        if not feature.has_levels:
            raise WorldError(f"{where}, but '{ref.name}' is a number. Compare it with a number.")
        values = list(feature.levels)
        found = [i for i, v in enumerate(values) if v == literal.value and isinstance(v, type(literal.value))]
        found = found or [i for i, v in enumerate(values) if str(v) == str(literal.value)]
        if not found and isinstance(literal.value, bool) and feature.kind == "binary":
            found = [int(literal.value)]
        if not found:
            hint = did_you_mean(str(literal.value), [str(v) for v in values])
            raise WorldError(f"{where}, which is none of its levels.{hint}")
        return Level(found[0], literal.value)

    def mapped(node: Any) -> Any:
        match node:
            case Compare(operator, left, Level() as right):
                return Compare(operator, mapped(left), level(left, right))
            case Compare(operator, Level() as left, right):
                return Compare(operator, level(right, left), mapped(right))
            case Member(item, values):
                return Member(item, tuple(level(item, v) if isinstance(v, Level) else v for v in values))
            case tuple():
                return tuple(map(mapped, node))
            case _ if is_dataclass(node) and not isinstance(node, type):
                return replace(node, **{part.name: mapped(getattr(node, part.name)) for part in fields(node)})
        return node

    return Equation(equation.name, mapped(equation.tree))
