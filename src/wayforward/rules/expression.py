"""The words of a rule and of a structural equation: one small tree of frozen dataclasses.

`wayforward.rules.grammar` reads text into this tree, `evaluate` gives it values, `boxes` reasons
about it, and `wayforward.world.scm` inverts it. A node knows nothing about arrays; ``text(node)``
writes it back in the grammar that reads it (``parse(text(node)) == node``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

When: TypeAlias = Literal["before", "after", "change", "here", "noise"]
Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

KEYWORDS = frozenset(
    ("and", "or", "not", "implies", "if", "then", "in", "before", "after", "change", "changed", "increased",
     "decreased", "at", "most", "least", "exactly", "changes", "of", "drags", "by", "true", "false", "abs",
     "min", "max", "sum")
)  # fmt: skip
NEGATED: dict[Operator, Operator] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Level:
    """A level written by its value; `index` is its position (-1 until a schema says which)."""

    index: int
    value: str | float | bool


@dataclass(frozen=True, slots=True)
class Ref:
    """A feature at a time: before, after, or after - before ("change").

    In equations "here" is a node's value and "noise" is the ``u`` of the equation.
    """

    when: When
    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Sum:
    """The terms added up."""

    terms: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """Minus the term."""

    term: Quantity


@dataclass(frozen=True, slots=True)
class Product:
    """Left times right."""

    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True)
class Quotient:
    """Left divided by right."""

    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True)
class Call:
    """abs, min, max, sum; in equations also exp, log, sqrt, sigmoid, logit, tanh."""

    function: str
    arguments: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where the condition holds, else 0 (equations only)."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Compare:
    """Left compared with right, up to the tolerance of `evaluate`."""

    operator: Operator
    left: Quantity
    right: Quantity


@dataclass(frozen=True, slots=True)
class Member:
    """The item equals one of the values."""

    item: Quantity
    values: tuple[Number | Level, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether a feature's value differs, is higher or is lower after than before."""

    how: Literal["changed", "increased", "decreased"]
    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Changes:
    """At most, at least or exactly `count` of the features differ; no names means every feature."""

    bound: Literal["most", "least", "exactly"]
    count: int
    names: tuple[str, ...]
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True where the part is false."""

    part: Condition


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """The effect holds wherever the cause does."""

    cause: Condition
    effect: Condition


@dataclass(frozen=True, slots=True)
class Drag:
    """A change of `source` by one unit moves `target` by `rate` units: a consequence, not a condition."""

    source: str
    source_index: int
    target: str
    target_index: int
    rate: float

    def __str__(self) -> str:
        return text(self)


Quantity: TypeAlias = Number | Level | Ref | Sum | Negate | Product | Quotient | Call | Indicator
Condition: TypeAlias = Compare | Member | Changed | Changes | Not | And | Or | Implies
Node: TypeAlias = Quantity | Condition | Drag
CONDITIONS = (Compare, Member, Changed, Changes, Not, And, Or, Implies)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly under this one, left to right."""
    match node:
        case Sum(terms):
            return terms
        case Call(_, arguments):
            return arguments
        case And(parts) | Or(parts):
            return parts
        case Negate(part) | Not(part) | Indicator(part):
            return (part,)
        case Product(left, right) | Quotient(left, right) | Compare(_, left, right) | Implies(left, right):
            return (left, right)
        case Member(item, values):
            return (item, *values)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """This node and everything under it."""
    yield node
    for child in children(node):
        yield from walk(child)


def feature_names(node: Node) -> tuple[str, ...]:
    """The features that a node mentions, each once, in order of appearance.

    A count of changes without a list mentions every feature; it adds no name here.
    """
    found: dict[str, None] = {}
    for part in walk(node):
        match part:
            case Ref(when, name, _) if when != "noise":
                found[name] = None
            case Changed(_, name, _):
                found[name] = None
            case Changes(_, _, names, _):
                found.update(dict.fromkeys(names))
            case Drag(source, _, target, _, _):
                found.update(dict.fromkeys((source, target)))
    return tuple(found)


def quoted(text: str) -> str:
    """A string literal of the grammar."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_plain(name: str) -> bool:
    """Whether a name can stand without quotes."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None


def number_text(value: float) -> str:
    """A number without a needless '.0'."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _listed(name: str) -> str:
    return name if is_plain(name) and name not in KEYWORDS else quoted(name)


def _backticked(name: str) -> str:
    return name if is_plain(name) and name not in KEYWORDS and name != "u" else f"`{name}`"


# How tightly each node binds; a child that binds less than its place asks for gets parentheses.
_BINDS = {
    Implies: 1,
    Or: 2,
    And: 3,
    Not: 4,
    Compare: 5,
    Member: 5,
    Changes: 5,
    Sum: 6,
    Product: 7,
    Quotient: 7,
}


def text(node: Node) -> str:
    """Write a node in the grammar that reads it."""

    def inside(part: Node, at_least: int) -> str:
        binds = _BINDS.get(type(part), 8)
        if isinstance(part, Number) and part.value < 0:
            binds = 7
        return text(part) if binds >= at_least else f"({text(part)})"

    match node:
        case Number(value):
            return number_text(value)
        case Level(_, value):
            if isinstance(value, bool):
                return "true" if value else "false"
            return quoted(value) if isinstance(value, str) else number_text(value)
        case Ref("noise", _, _):
            return "u"
        case Ref("here", name, _):
            return _backticked(name)
        case Ref(when, name, _):
            return f"{when}.{name}" if is_plain(name) else f"{when}[{quoted(name)}]"
        case Sum(terms):
            out = inside(terms[0], 7)
            for term in terms[1:]:
                if isinstance(term, Negate):
                    out += f" - {inside(term.term, 8 if isinstance(term.term, Number) else 7)}"
                elif isinstance(term, Number) and term.value < 0:
                    out += f" - {number_text(-term.value)}"
                else:
                    out += f" + {inside(term, 7)}"
            return out
        case Negate(term):
            return f"-{inside(term, 8)}"
        case Product(left, right):
            return f"{inside(left, 7)} * {inside(right, 8)}"
        case Quotient(left, right):
            return f"{inside(left, 7)} / {inside(right, 8)}"
        case Call(function, arguments):
            return f"{function}({', '.join(text(a) for a in arguments)})"
        case Indicator(condition):
            return f"({text(condition)})"
        case Compare(operator, left, right):
            return f"{inside(left, 6)} {operator} {inside(right, 6)}"
        case Member(item, values):
            return f"{inside(item, 6)} in {{{', '.join(text(v) for v in values)}}}"
        case Changed(how, name, _):
            return f"{how}({_listed(name)})"
        case Changes(bound, count, names, _):
            start = "exactly" if bound == "exactly" else f"at {bound}"
            some = f" of {', '.join(map(_listed, names))}" if names else ""
            return f"{start} {count} change{'' if count == 1 else 's'}{some}"
        case Not(Member(item, values)):
            return f"{inside(item, 6)} not in {{{', '.join(text(v) for v in values)}}}"
        case Not(part):
            return f"not {inside(part, 4)}"
        case And(parts):
            return " and ".join(inside(p, 4) for p in parts)
        case Or(parts):
            return " or ".join(inside(p, 3) for p in parts)
        case Implies(cause, effect):
            return f"{inside(cause, 2)} implies {inside(effect, 1)}"
        case Drag(source, _, target, _, rate):
            return f"{_listed(source)} drags {_listed(target)} by {number_text(rate)}"
