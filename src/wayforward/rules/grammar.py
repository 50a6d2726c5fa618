r"""Read rules and structural equations: a tokeniser and a recursive-descent parser, never `eval`.

The grammar of a rule (``|`` either, ``[ ]`` optional, ``{ }`` repeated; quotes mark literal text)::

    rule        = link | condition
    link        = name "drags" name "by" number
    condition   = "if" condition "then" condition | disjunction [ "implies" condition ]
    disjunction = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | counting | comparison
    counting    = ( "at" ( "most" | "least" ) | "exactly" ) integer ( "change" | "changes" )
                  [ "of" name { "," name } ]
    comparison  = sum { ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum }
                | sum [ "not" ] "in" "{" literal { "," literal } "}"
    sum         = product { ( "+" | "-" ) product }
    product     = factor { ( "*" | "/" ) factor }
    factor      = "-" factor | number | string | "true" | "false" | reference
                | ( "abs" | "min" | "max" | "sum" ) "(" sum { "," sum } ")"
                | ( "changed" | "increased" | "decreased" ) "(" name ")"
                | "(" condition ")"
    reference   = ( "before" | "after" | "change" ) ( "." name | "[" string "]" )
    name        = identifier | string | "`" text "`"

``change.x`` is ``after.x - before.x``. ``0 <= after.x <= 10`` is a conjunction. A binary feature may
stand alone as a condition (``after.surgery implies ...``) and then means its second level.

Levels. Next to a comparison or in ``in {...}`` a literal is a level's *value*; ordinal and binary
features may be compared by order, categorical ones only for equality. In arithmetic an ordinal or
binary feature counts by *position* (0, 1, ...), so ``change.education <= 1`` is "one step at most";
where levels are numbers that are not their own positions, only ``change.x`` may enter arithmetic.

Equations use the same tokens: names stand alone (```hours-per-week``` in backticks), ``u`` is the
noise, the functions are abs, min, max, sum, exp, log, sqrt, sigmoid, logit and tanh, and a condition
in parentheses counts as 1 or 0.
"""

# ruff: noqa: RET503 (methods that always raise are typed NoReturn, which ruff does not follow)
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol, TypeVar

from wayforward.errors import RuleError, did_you_mean
from wayforward.rules.expression import (
    CONDITIONS,
    KEYWORDS,
    And,
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Drag,
    Implies,
    Indicator,
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
    is_plain,
    number_text,
    quoted,
)

MAX_LENGTH = 4000  # characters of one rule
MAX_DEPTH = 40  # nested parentheses, nots and implications
RULE_FUNCTIONS = {"abs": (1, 1), "min": (1, None), "max": (1, None), "sum": (1, None)}
_SMOOTH = ("exp", "log", "sqrt", "sigmoid", "logit", "tanh")
EQUATION_FUNCTIONS = RULE_FUNCTIONS | dict.fromkeys(_SMOOTH, (1, 1))
_OPERATORS: dict[str, Operator] = {
    "==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "≤": "<=", "≥": ">=", "≠": "!=",
}  # fmt: skip
_T = TypeVar("_T")


class FeatureInfo(Protocol):
    """What the parser asks of a feature (`wayforward.schema.Feature` has it)."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def kind(self) -> str:
        """real, integer, binary, ordinal or categorical."""

    @property
    def has_levels(self) -> bool:
        """Whether values are positions in `levels`."""

    @property
    def levels(self) -> Sequence[Any]:
        """The levels in order; empty for numbers."""

    @property
    def low(self) -> float | None:
        """Least legal value, None if unbounded."""

    @property
    def high(self) -> float | None:
        """Greatest legal value, None if unbounded."""


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, text or symbol, and where it stands."""

    kind: Literal["number", "string", "word", "name", "symbol", "end"]
    text: str  # what a name or string says; the symbol or word itself
    start: int
    end: int


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<name>`[^`]*`)
    |(?P<symbol>==|!=|<=|>=|[<>≤≥≠+\-*/(){}\[\],.])
    )""",
    re.VERBOSE,
)
_HINTS = {
    "=": "Use == to compare.",
    "&": "Write 'and'.",
    "|": "Write 'or'.",
    "!": "Write 'not'.",
    "%": "Percentages are not read; write the share as a number, such as 0.1.",
    "^": "Powers are not read; multiply instead.",
    '"': "The quote is never closed.",
    "'": "The quote is never closed.",
    "`": "The backtick is never closed.",
    ";": "Write one rule per text.",
    ":": "Write 'then' or 'implies'.",
}


def tokens_of(text: str) -> list[Token]:
    """Split a text into tokens, the last of kind "end".

    Raises: RuleError for a text that is too long, or a character that starts no token.
    """
    if not isinstance(text, str):
        raise RuleError(f"A rule is a text, not {type(text).__name__} ({text!r:.60}).")
    if len(text) > MAX_LENGTH:
        raise RuleError(
            f"The text has {len(text)} characters; the limit is {MAX_LENGTH}. Split it into several rules.",
            text[:60] + "...", 0, 60,
        )  # fmt: skip
    out, at = [], 0
    while (match := _TOKEN.match(text, at)) is not None:
        kind = match.lastgroup
        raw, start, at = match[str(kind)], match.start(str(kind)), match.end()
        if kind == "number" and re.match(r"\w", text[at : at + 1]):
            raise RuleError(
                f"'{raw}' runs into '{text[at]}'. Put a space or an operator between them.", text, at
            )
        if kind == "number" and float(raw) > 1e300:
            raise RuleError(f"'{raw:.20}' is too large a number.", text, start, at)
        if kind == "string":
            raw = re.sub(r"\\(.)", r"\1", raw[1:-1])
        elif kind == "name":
            raw = raw[1:-1]
        out.append(Token(kind, raw, start, at))  # type: ignore[arg-type]
    if rest := text[at:].strip():
        start = text.index(rest[0], at)
        hint = _HINTS.get(rest[0], "Remove it.")
        raise RuleError(f"'{rest[0]}' is not understood here. {hint}", text, start)
    out.append(Token("end", "", len(text.rstrip()), len(text.rstrip()) + 1))
    return out


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


class _Parser:
    """What rules and equations share: everything but the words that stand for values."""

    functions: Mapping[str, tuple[int, int | None]] = RULE_FUNCTIONS

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"[\t\r\n]", " ", text) if isinstance(text, str) else text
        self.tokens = tokens_of(self.text)
        self.at = 0
        self.depth = 0
        self.spans: dict[int, tuple[int, int, Node]] = {}  # by id; the node is kept so ids stay unique

    # -- tokens ---------------------------------------------------------------------------------
    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.token
        self.at += token.kind != "end"
        return token

    def sees(self, *texts: str) -> bool:
        return self.token.kind in ("word", "symbol") and self.token.text in texts

    def accept(self, *texts: str) -> Token | None:
        return self.take() if self.sees(*texts) else None

    def fail(self, message: str, start: int | None = None, end: int | None = None) -> NoReturn:
        token = self.token
        raise RuleError(
            message, self.text, token.start if start is None else start, token.end if end is None else end
        )

    def expect(self, symbol: str, why: str) -> Token:
        if (token := self.accept(symbol)) is not None:
            return token
        self.fail(f"Expected '{symbol}' {why}{self._got()}.")

    def _got(self) -> str:
        return ", but the text ends" if self.token.kind == "end" else f", not '{self._raw(self.token)}'"

    def _raw(self, token: Token) -> str:
        return self.text[token.start : token.end]

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"Nested more than {MAX_DEPTH} deep. Split it into several rules.")
        yield
        self.depth -= 1

    # -- spans ----------------------------------------------------------------------------------
    def mark(self, node: _T, start: int) -> _T:
        self.spans[id(node)] = (start, self.tokens[self.at - 1].end, node)  # type: ignore[assignment]
        return node

    def span(self, node: Node) -> tuple[int, int]:
        start, end, _ = self.spans.get(id(node), (0, len(self.text), node))
        return start, end

    def blame(self, node: Node, message: str) -> NoReturn:
        self.fail(message, *self.span(node))

    def binary(self, make: Callable[[Quantity, Quantity], Node], left: Quantity, right: Quantity) -> Node:
        node = make(left, right)
        self.spans[id(node)] = (self.span(left)[0], self.span(right)[1], node)
        return node

    # -- conditions -----------------------------------------------------------------------------
    def condition(self) -> Node:
        with self.deeper():
            start = self.token.start
            if self.accept("if"):
                cause = self.truth(self.condition())
                self.expect("then", "after the condition of 'if'")
                return self.mark(Implies(cause, self.truth(self.condition())), start)
            left = self.disjunction()
            if self.accept("implies"):
                cause = self.truth(left)
                return self.mark(Implies(cause, self.truth(self.condition())), start)
            return left

    def disjunction(self) -> Node:
        return self._chain("or", Or, self.conjunction)

    def conjunction(self) -> Node:
        return self._chain("and", And, self.negation)

    def _chain(
        self, word: str, make: Callable[[tuple[Condition, ...]], Node], part: Callable[[], Node]
    ) -> Node:
        start = self.token.start
        first = part()
        if not self.sees(word):
            return first
        parts = [self.truth(first)]
        while self.accept(word):
            parts.append(self.truth(part()))
        return self.mark(make(tuple(parts)), start)

    def negation(self) -> Node:
        start = self.token.start
        if self.accept("not"):
            with self.deeper():
                return self.mark(Not(self.truth(self.negation())), start)
        return self.statement()

    def statement(self) -> Node:
        return self.comparison()

    def comparison(self) -> Node:
        start = self.token.start
        left = self.sum()
        negated = self.sees("not") and self.tokens[self.at + 1].text == "in"
        if negated or self.sees("in"):
            self.at += 1 + negated
            values = self.braces()
            member: Condition = self.mark(self.membership(self.quantity(left), values), start)
            return self.mark(Not(member), start) if negated else member
        parts: list[Condition] = []
        while self.token.kind == "symbol" and self.token.text in _OPERATORS:
            operator = _OPERATORS[self.take().text]
            right = self.sum()
            parts.append(self.mark(self.compare(operator, self.quantity(left), self.quantity(right)), start))
            left = right
        if len(parts) > 1:
            return self.mark(And(tuple(parts)), start)
        return parts[0] if parts else left

    def braces(self) -> list[Number | Level]:
        opened = self.expect("{", "to open the list of values after 'in'")
        values: list[Number | Level] = []
        while True:
            start = self.token.start
            sign = -1.0 if self.accept("-") else 1.0
            token = self.take()
            if token.kind == "number":
                values.append(self.mark(Number(sign * float(token.text)), start))
            elif sign > 0 and (token.kind == "string" or token.text in ("true", "false")):
                values.append(self.mark(self.literal(token), start))
            else:
                self.at -= token.kind != "end"
                if token.kind == "word":
                    self.fail(f"Put the level in quotes: {quoted(token.text)}.")
                self.fail(f"Expected a value in the list{self._got()}.")
            if not self.accept(","):
                break
        if not self.accept("}"):
            if self.token.kind == "end":
                self.fail("This brace is never closed.", opened.start, opened.end)
            self.fail(f"Expected ',' or '}}' in the list{self._got()}.")
        return values

    # -- arithmetic -----------------------------------------------------------------------------
    def sum(self) -> Node:
        start = self.token.start
        first = self.product()
        if not self.sees("+", "-"):
            return first
        terms = [self.number(first)]
        while sign := self.accept("+", "-"):
            term = self.number(self.product())
            terms.append(self.negated(term, sign.start) if sign.text == "-" else term)
        return self.mark(Sum(tuple(terms)), start)

    def negated(self, term: Quantity, start: int) -> Quantity:
        node: Quantity = Number(-term.value) if isinstance(term, Number) else Negate(term)
        return self.mark(node, start)

    def product(self) -> Node:
        left = self.factor()
        before = self.depth
        while sign := self.accept("*", "/"):
            self.depth += 1  # the tree leans left, so a long chain is as deep as parentheses
            if self.depth > MAX_DEPTH:
                self.fail(f"Nested more than {MAX_DEPTH} deep. Split it into several rules.")
            right = self.number(self.factor())
            if sign.text == "/" and right == Number(0.0):
                self.blame(right, "This divides by zero.")
            make: Callable[[Quantity, Quantity], Node] = Product if sign.text == "*" else Quotient
            left = self.binary(make, self.number(left), right)
        self.depth = before
        return left

    def factor(self) -> Node:
        start = self.token.start
        if self.accept("-"):
            with self.deeper():
                return self.negated(self.number(self.factor()), start)
        return self.mark(self.atom(), start)

    def atom(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return Number(float(token.text))
        if token.kind == "string" or (token.kind == "word" and token.text in ("true", "false")):
            return self.literal(token)
        if token.kind == "symbol" and token.text == "(":
            node = self.condition()
            if not self.accept(")"):
                if self.token.kind == "end":
                    self.fail("This parenthesis is never closed.", token.start, token.end)
                self.fail(f"Expected ')'{self._got()}.{self._typo()}")
            return node
        if token.kind == "word" and token.text in self.functions and self.sees("("):
            return self.call(token)
        if token.kind in ("word", "name"):
            return self.reference(token)
        if token.kind == "end":
            self.fail("The text ends where a value is expected.")
        if token.text == ")":
            self.fail("This ')' closes nothing.", token.start, token.end)
        self.fail(f"Expected a value, not '{token.text}'.", token.start, token.end)

    def call(self, token: Token) -> Quantity:
        opened = self.take()
        arguments = []
        with self.deeper():
            if not self.sees(")"):
                arguments.append(self.number(self.sum()))
                while self.accept(","):
                    arguments.append(self.number(self.sum()))
        if not self.accept(")"):
            if self.token.kind == "end":
                self.fail("This parenthesis is never closed.", opened.start, opened.end)
            self.fail(f"Expected ',' or ')' in {token.text}(...){self._got()}.")
        least, most = self.functions[token.text]
        if len(arguments) < least or (most is not None and len(arguments) > most):
            wanted = "one value" if most == 1 else "at least one value"
            self.fail(f"{token.text}(...) takes {wanted}, not {len(arguments)}.", token.start, opened.end)
        return Call(token.text, tuple(arguments))

    def literal(self, token: Token) -> Level:
        value = token.text if token.kind == "string" else token.text == "true"
        return Level(-1, value)

    def finish(self) -> None:
        if self.token.kind == "end":
            return
        if self.sees(")"):
            self.fail("This ')' closes nothing.")
        self.fail(
            f"'{self._raw(self.token)}' was not expected here.{self._typo()}", end=len(self.text.rstrip())
        )

    def _typo(self) -> str:
        words = ("and", "or", "implies", "in", "not", "then", "drags")
        return did_you_mean(self.token.text, words) if self.token.kind == "word" else ""

    # -- meaning --------------------------------------------------------------------------------
    def truth(self, node: Node) -> Condition:
        if isinstance(node, CONDITIONS):
            return node
        self.blame(node, "A condition is needed here; this is a value. Compare it, for example with '>= 1'.")

    def quantity(self, node: Node) -> Quantity:
        """A value that may still be a level or a feature with levels."""
        if isinstance(node, CONDITIONS):
            self.blame(node, "A value is needed here; this is a condition.")
        assert not isinstance(node, Drag)
        return node

    def number(self, node: Node) -> Quantity:
        """A value that can be added and multiplied."""
        return self.quantity(node)

    def reference(self, token: Token) -> Node:
        raise NotImplementedError

    def compare(self, operator: Operator, left: Quantity, right: Quantity) -> Condition:
        raise NotImplementedError

    def membership(self, item: Quantity, values: list[Number | Level]) -> Condition:
        raise NotImplementedError


class _RuleParser(_Parser):
    def __init__(self, text: str, features: Mapping[str, tuple[int, FeatureInfo]]) -> None:
        super().__init__(text)
        self.known = features

    def rule(self) -> Condition | Drag:
        if self.token.kind == "end":
            self.fail("The rule is empty.", 0, 1)
        named = self.token.kind in ("word", "string", "name")
        if named and self.tokens[1].kind == "word" and self.tokens[1].text in ("drags", "drag"):
            return self.link()
        node = self.condition()
        if self.token.kind == "word" and self.token.text in ("drags", "drag"):
            self.fail("A link is written with plain names, such as 'x drags y by 1.5'.")
        self.finish()
        return self.truth(node)

    def link(self) -> Drag:
        cause_token = self.token
        cause, cause_index = self.feature()
        word = self.take()
        if word.text != "drags":
            self.fail("Did you mean 'drags'?", word.start, word.end)
        effect_token = self.token
        effect, effect_index = self.feature()
        self.expect("by", "and the number of units that one unit drags")
        sign = -1.0 if self.accept("-") else 1.0
        number = self.take()
        if number.kind != "number":
            self.fail("Expected a number after 'by'.", number.start, number.end)
        self.finish()
        for token, name in ((cause_token, cause), (effect_token, effect)):
            if self.kind(name) == "categorical":
                self.fail(
                    f"'{name}' is categorical and has no units to drag. Write an implication instead.",
                    token.start, token.end,
                )  # fmt: skip
        if cause == effect:
            self.fail(f"'{cause}' cannot drag itself.", effect_token.start, effect_token.end)
        return Drag(cause, cause_index, effect, effect_index, sign * float(number.text))

    def feature(self) -> tuple[str, int]:
        token = self.take()
        if token.kind not in ("word", "string", "name"):
            self.at -= token.kind != "end"
            self.fail(f"Expected the name of a feature{self._got()}.")
        return self.find(token)

    def find(self, token: Token, start: int | None = None) -> tuple[str, int]:
        if token.text in self.known:
            if self.kind(token.text) == "carried":
                self.fail(
                    f"'{token.text}' is carried as each person has it, and cannot be compared. Leave it out.",
                    token.start, token.end,
                )  # fmt: skip
            return token.text, self.known[token.text][0]
        names = list(self.known)
        # `after.hours-per-week` reads as a subtraction: name the feature that was meant
        whole = next((n for n in names if not is_plain(n) and self.text.startswith(n, token.start)), None)
        if whole is not None:
            self.fail(
                f"The name '{whole}' needs quotes here: after[{quoted(whole)}] or after.`{whole}`.",
                token.start, token.start + len(whole),
            )  # fmt: skip
        hint = did_you_mean(token.text, names) or f" The features are: {_some(names)}."
        self.fail(f"There is no feature '{token.text}'.{hint}", token.start, token.end)

    def kind(self, name: str) -> str:
        return str(self.known[name][1].kind)

    def statement(self) -> Node:
        start = self.token.start
        if self.sees("at", "exactly"):
            first = self.take()
            bound: Literal["most", "least", "exactly"] = "exactly"
            if first.text == "at":
                word = self.take()
                if word.text not in ("most", "least"):
                    hint = did_you_mean(word.text, ("most", "least")) or " Write 'at most' or 'at least'."
                    self.fail(f"'at' is followed by 'most' or 'least'.{hint}", word.start, word.end)
                bound = "most" if word.text == "most" else "least"
            number = self.take()
            if number.kind != "number" or not number.text.isdigit():
                self.fail("Expected a whole number of changes.", number.start, number.end)
            word = self.take()
            if word.text not in ("change", "changes"):
                self.fail("Expected 'changes' after the number.", word.start, word.end)
            found: dict[str, int] = {}
            if self.accept("of"):
                while True:
                    token = self.token
                    name, index = self.feature()
                    if name in found:
                        self.fail(f"'{name}' is listed twice.", token.start, token.end)
                    found[name] = index
                    if not self.accept(","):
                        break
            indices = tuple(found.values()) or tuple(index for index, _ in self.known.values())
            return self.mark(Changes(bound, int(number.text), tuple(found), indices), start)
        return self.comparison()

    def reference(self, token: Token) -> Node:
        word = token.text
        if token.kind == "word" and word in ("before", "after", "change"):
            if self.accept("."):
                name, index = self.feature()
            elif opened := self.accept("["):
                if self.token.kind != "string":
                    self.fail(f'Expected a name in quotes, such as {word}["hours-per-week"].')
                name, index = self.feature()
                if not self.accept("]"):
                    self.fail("This bracket is never closed.", opened.start, opened.end)
            else:
                self.fail(f"Name a feature after '{word}', such as {word}.{next(iter(self.known), 'x')}.")
            if word == "change" and self.kind(name) == "categorical":
                self.fail(
                    f"'{name}' is categorical, so its change has no size. Use changed({name}).",
                    token.start, self.tokens[self.at - 1].end,
                )  # fmt: skip
            return Ref(word, name, index)  # type: ignore[arg-type]
        if token.kind == "word" and word in ("changed", "increased", "decreased") and self.accept("("):
            name, index = self.feature()
            if not self.accept(")"):
                self.fail(f"Expected ')' after {word}({name}{self._got()}.")
            if word != "changed" and self.kind(name) == "categorical":
                self.fail(
                    f"'{name}' is categorical and has no order. Use changed({name}).", token.start,
                    self.tokens[self.at - 1].end,
                )  # fmt: skip
            return Changed(word, name, index)  # type: ignore[arg-type]
        if token.kind == "word" and word in ("changed", "increased", "decreased"):
            self.fail(f"Write the feature in parentheses: {word}(x).", token.start, token.end)
        if token.text in self.known:
            shown = f".{word}" if is_plain(word) else f"[{quoted(word)}]"
            self.fail(f"Say which '{word}': before{shown} or after{shown}.", token.start, token.end)
        level = next((n for n, (_, f) in self.known.items() if any(str(v) == word for v in f.levels)), None)
        if level is not None:
            self.fail(
                f"Put the level in quotes: {quoted(word)} (a level of '{level}').", token.start, token.end
            )
        if token.kind == "word" and self.sees("("):
            hint = did_you_mean(word, (*self.functions, "changed", "increased", "decreased"))
            hint = hint or " There are abs, min, max, sum, changed, increased, decreased."
            self.fail(
                f"There is no function '{word}'.{hint}",
                token.start, token.end,
            )  # fmt: skip
        hint = did_you_mean(word, [*self.known, *sorted(KEYWORDS)])
        if any(hint.endswith(f"'{name}'?") for name in self.known):
            hint = hint.replace("Did you mean '", "Did you mean 'after.")
        self.fail(f"'{word}' is not a word of the rules.{hint}", token.start, token.end)

    # -- meaning --------------------------------------------------------------------------------
    def levelled(self, node: Quantity) -> FeatureInfo | None:
        """The feature, where the node is its plain value and it has levels."""
        if isinstance(node, Ref) and node.when != "change":
            feature = self.known[node.name][1]
            return feature if feature.has_levels else None
        return None

    def truth(self, node: Node) -> Condition:
        if isinstance(node, Ref) and node.when != "change" and self.kind(node.name) == "binary":
            levels = self.known[node.name][1].levels
            return self.mark(Compare("==", node, Level(1, _plain_value(levels[1]))), self.span(node)[0])
        return super().truth(node)

    def number(self, node: Node) -> Quantity:
        value = self.quantity(node)
        if isinstance(value, Level):
            self.blame(value, "A level cannot be added or multiplied; compare a feature with it.")
        feature = self.levelled(value)
        if feature is not None:
            if feature.kind == "categorical":
                self.blame(
                    value,
                    f"'{feature.name}' is categorical and has no size. Compare it with == or 'in {{...}}'.",
                )
            numeric = all(isinstance(v, (int, float)) for v in feature.levels)
            if numeric and any(float(v) != i for i, v in enumerate(feature.levels)):
                self.blame(
                    value,
                    f"In arithmetic '{feature.name}' would count by position, but its levels are the numbers "
                    f"{_levels(feature)}. Compare it directly, or use change.{feature.name} (in steps).",
                )
        return value

    def compare(self, operator: Operator, left: Quantity, right: Quantity) -> Condition:
        a, b = self.levelled(left), self.levelled(right)
        literal_left, literal_right = isinstance(left, (Number, Level)), isinstance(right, (Number, Level))
        if a is not None and literal_right:
            self.ordering(operator, a, left)
            return Compare(operator, left, self.level(a, right))
        if b is not None and literal_left:
            self.ordering(operator, b, right)
            return Compare(operator, self.level(b, left), right)
        if a is not None and b is not None:
            self.ordering(operator, a, left)
            self.ordering(operator, b, right)
            if a.name != b.name and tuple(a.levels) != tuple(b.levels):
                self.blame(
                    right,
                    f"'{a.name}' and '{b.name}' have different levels ({_levels(a)} against {_levels(b)}), "
                    "so they cannot be compared.",
                )
            return Compare(operator, left, right)
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Level):
                name = (
                    f"'{other.name}' is a number" if isinstance(other, Ref) else "The other side is a number"
                )
                self.blame(side, f"{name} and cannot be compared with a level in quotes or true/false.")
        return Compare(operator, self.number(left), self.number(right))

    def ordering(self, operator: Operator, feature: FeatureInfo, node: Quantity) -> None:
        if feature.kind == "categorical" and operator not in ("==", "!="):
            self.blame(
                node,
                f"'{feature.name}' is categorical and has no order, so '{operator}' means nothing. Use == or "
                "'in {...}', or declare it ordinal.",
            )

    def membership(self, item: Quantity, values: list[Number | Level]) -> Condition:
        feature = self.levelled(item)
        if feature is not None:
            return Member(item, tuple(self.level(feature, value) for value in values))
        item = self.number(item)
        for value in values:
            if isinstance(value, Level):
                name = f"'{item.name}' is a number" if isinstance(item, Ref) else "The left side is a number"
                self.blame(value, f"{name} and cannot equal a level in quotes or true/false.")
        return Member(item, tuple(values))

    def level(self, feature: FeatureInfo, node: Quantity) -> Level:
        """The level that a literal means, by its value or by how it is written."""
        assert isinstance(node, (Number, Level))
        value, levels = node.value, list(feature.levels)
        exact = [i for i, known in enumerate(levels) if _same(known, value)]
        if not exact:
            written = number_text(node.value) if isinstance(node, Number) else str(value)
            exact = [i for i, known in enumerate(levels) if str(known) == written or _shown(known) == written]
        if not exact and isinstance(value, bool) and feature.kind == "binary":
            exact = [int(value)]
        if exact:
            return self.mark(Level(exact[0], _plain_value(levels[exact[0]])), self.span(node)[0])
        wrong = value if isinstance(value, str) else number_text(float(value))
        hint = did_you_mean(str(wrong), [str(v) for v in levels])
        self.blame(
            node, f"'{feature.name}' has no level {wrong!r}.{hint} Its levels are: {_levels(feature)}."
        )


def _same(known: Any, value: str | float | bool) -> bool:
    if isinstance(value, str) or isinstance(known, str):
        return isinstance(known, str) and known == value
    if isinstance(value, bool) and not isinstance(known, (bool, int, float)) and not hasattr(known, "item"):
        return False
    try:
        return bool(known == value)
    except (TypeError, ValueError):
        return False


def _shown(known: Any) -> str:
    """How a level is written in a rule: 3 for 3.0, the text itself for a text."""
    if isinstance(known, bool) or not isinstance(known, (int, float)):
        return str(known)
    return number_text(float(known))


def _plain_value(known: Any) -> str | float | bool:
    if hasattr(known, "item"):  # a NumPy scalar
        known = known.item()
    if isinstance(known, (bool, str)):
        return known
    return float(known) if isinstance(known, (int, float)) else str(known)


def _levels(feature: FeatureInfo) -> str:
    return _some([_shown(level) for level in feature.levels])


class _EquationParser(_Parser):
    functions = EQUATION_FUNCTIONS

    def __init__(self, text: str, nodes: Mapping[str, int]) -> None:
        super().__init__(text)
        self.nodes = nodes

    def equation(self) -> Quantity:
        if self.token.kind == "end":
            self.fail("The equation is empty.", 0, 1)
        node = self.condition()
        self.finish()
        return self.number(node)

    def reference(self, token: Token) -> Node:
        if token.kind == "word" and token.text == "u":
            return Ref("noise", "u", -1)
        if token.text in self.nodes:
            return Ref("here", token.text, self.nodes[token.text])
        if token.kind == "word" and self.sees("("):
            hint = did_you_mean(token.text, tuple(self.functions))
            hint = hint or f" There are {', '.join(self.functions)}."
            self.fail(
                f"There is no function '{token.text}'.{hint}",
                token.start, token.end,
            )  # fmt: skip
        whole = next(
            (n for n in self.nodes if not is_plain(n) and self.text.startswith(n, token.start)), None
        )
        if whole is not None:
            self.fail(
                f"The name '{whole}' needs backticks: `{whole}`.", token.start, token.start + len(whole)
            )
        hint = did_you_mean(token.text, list(self.nodes))
        self.fail(
            f"'{token.text}' has no equation.{hint} Every cause needs one, such as \"{token.text}\": \"u\".",
            token.start, token.end,
        )  # fmt: skip

    def number(self, node: Node) -> Quantity:
        if isinstance(node, CONDITIONS):
            return self.mark(Indicator(node), self.span(node)[0])
        value = self.quantity(node)
        if isinstance(value, Level):
            self.blame(value, "A level cannot be added or multiplied; compare a node with it.")
        return value

    def compare(self, operator: Operator, left: Quantity, right: Quantity) -> Condition:
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Level) and not (isinstance(other, Ref) and other.when == "here"):
                self.blame(side, "A level can only be compared with a node of the graph.")
        return Compare(operator, left, right)

    def membership(self, item: Quantity, values: list[Number | Level]) -> Condition:
        if any(isinstance(v, Level) for v in values) and not (isinstance(item, Ref) and item.when == "here"):
            self.blame(item, "A level can only be compared with a node of the graph.")
        return Member(item, tuple(values))


def index_of(features: Sequence[FeatureInfo]) -> dict[str, tuple[int, FeatureInfo]]:
    """Features by name, with their positions."""
    return {feature.name: (index, feature) for index, feature in enumerate(features)}


def parse_rule(text: str, features: Mapping[str, tuple[int, FeatureInfo]]) -> Condition | Drag:
    """Read one rule. Raises: RuleError that points into the text."""
    return _RuleParser(text, features).rule()


def parse_equation(text: str, nodes: Mapping[str, int]) -> Quantity:
    """Read one structural equation over the named nodes. Raises: RuleError that points into the text."""
    return _EquationParser(text, nodes).equation()
