"""Questions of a study, each of which reads an answer as it was typed: scales, choices, rankings, texts, numbers.

Ready-made questionnaires: SUS (J. Brooke, 1996, SUS: a "quick and dirty" usability scale) and NASA-TLX without
weights (S. G. Hart, L. E. Staveland, 1988, Development of NASA-TLX). The English sentences and ends of scales are the
authors'; the German ones are our own translation, which nobody has validated: published ones exist, and a study that
needs comparable German scores brings one of them as items of its own, `sus-1` to `sus-10`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wayforward.errors import ReplyError
from wayforward.language import N_, gettext, language, marks

Words = Annotated[str, Field(max_length=20_000)] | dict[str, str]  # the same in all languages, or by language
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


class StrictModel(BaseModel):
    """A part of a protocol: nothing unknown in it, no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def in_language(text: Words, language: str) -> str:
    """Return a text in a language, in the first one where it has no other."""
    return text if isinstance(text, str) else text.get(language, next(iter(text.values())))


class _StudyItem(StrictModel):
    """id: the column of the export. required: may not be left out."""

    id: Id
    text: Words
    help: Words = ""
    required: bool = True

    def read(self, raw: Sequence[str]) -> Any:
        """Return the answer in what was typed; None for nothing. Raises: ReplyError in words for the participant."""
        typed = [one.strip() for one in raw if one.strip()]
        if not typed:
            if self.required:
                raise ReplyError(gettext("Please answer this."))
            return None
        return self._read(typed)

    def _read(self, typed: list[str]) -> Any:
        raise NotImplementedError

    def typed(self, value: Any) -> list[str]:
        """Return what somebody typed to give this answer: the reverse of `read`."""
        return [] if value is None else [str(one) for one in (value if isinstance(value, list) else [value])]

    def excludes(self, value: Any) -> bool:
        """Does this answer, in the screening, end the participation?"""
        return False

    @property
    def codes(self) -> dict[int, Words]:
        """The codes of answers and what each means."""
        return {}


class LikertItem(_StudyItem):
    """A scale from 1 to `points` with words at its ends. expect: the answer of somebody who reads (attention check)."""

    kind: Literal["likert"]
    points: int = Field(7, ge=2, le=21)
    low: Words = N_("strongly no")
    high: Words = N_("strongly yes")
    expect: int | None = None

    def _read(self, typed: list[str]) -> int:
        return _code(typed, self.points)

    @property
    def codes(self) -> dict[int, Words]:
        """Words at the ends."""
        return {1: self.low, self.points: self.high}


class ChoiceItem(_StudyItem):
    """One of some options, or any of them (`several`). Codes are positions from 1 on. exclude: codes that end it."""

    kind: Literal["choice"]
    options: list[Words] = Field(min_length=1, max_length=100)
    several: bool = False
    exclude: list[int] = []
    expect: int | None = None

    def _read(self, typed: list[str]) -> int | list[int]:
        if self.several:
            return sorted({_code([one], len(self.options)) for one in typed})
        return _code(typed, len(self.options))

    def excludes(self, value: Any) -> bool:
        """Is one of the chosen codes excluded?"""
        return any(one in self.exclude for one in (value if isinstance(value, list) else [value]))

    @property
    def codes(self) -> dict[int, Words]:
        """The options."""
        return dict(enumerate(self.options, 1))


class RankingItem(_StudyItem):
    """A place for every option, 1 for the best. The answer: the codes of the options, the best first."""

    kind: Literal["ranking"]
    options: list[Words] = Field(min_length=2, max_length=20)

    def _read(self, typed: list[str]) -> list[int]:
        places = [_code([one], len(self.options)) for one in typed]
        if sorted(places) != list(range(1, len(self.options) + 1)):
            raise ReplyError(gettext("Give every place from 1 to {n} once.", n=len(self.options)))
        return [places.index(place) + 1 for place in sorted(places)]

    def typed(self, value: Any) -> list[str]:
        """The place of each option."""
        return [] if value is None else [str(value.index(code) + 1) for code in sorted(value)]

    @property
    def codes(self) -> dict[int, Words]:
        """The options."""
        return dict(enumerate(self.options, 1))


class TextItem(_StudyItem):
    """An answer in one's own words, of at most so many characters."""

    kind: Literal["text"]
    most: int = Field(2000, ge=1, le=20_000)

    def _read(self, typed: list[str]) -> str:
        if len(typed[0]) > self.most:
            raise ReplyError(
                gettext(
                    "Please use at most {most} characters. There are {n}.", most=self.most, n=len(typed[0])
                )
            )
        return typed[0]


class NumberItem(_StudyItem):
    """A number from `low` to `high`. exclude_below, exclude_above: in the screening, numbers that end it."""

    kind: Literal["number"]
    low: float
    high: float
    whole: bool = True
    unit: Words = ""
    exclude_below: float = -math.inf
    exclude_above: float = math.inf
    expect: float | None = None

    def _read(self, typed: list[str]) -> float:
        try:
            value = _number(typed[0])
        except ValueError:
            raise ReplyError(gettext("Please give a number, like 35.")) from None
        if not self.low <= value <= self.high:
            raise ReplyError(
                gettext(
                    "Please give a number from {low} to {high}.",
                    low=marks(f"{self.low:g}"),
                    high=marks(f"{self.high:g}"),
                )
            )
        if self.whole and value != int(value):
            raise ReplyError(gettext("Please give a whole number."))
        return int(value) if self.whole else value

    def excludes(self, value: Any) -> bool:
        """Is the number outside what takes part?"""
        return value is not None and not self.exclude_below <= value <= self.exclude_above


def _number(text: str) -> float:
    """A number with the marks of the language in use: "1,500" or "1.500", "2.5" or "2,5"."""
    bare = text.replace(" ", "")
    if language() == "en":
        return float(bare.replace(",", ""))
    if re.fullmatch(r"-?\d{1,3}(\.\d{3})+(,\d+)?", bare):
        bare = bare.replace(".", "")
    return float(bare.replace(",", "."))


StudyItem = Annotated[
    LikertItem | ChoiceItem | RankingItem | TextItem | NumberItem, Field(discriminator="kind")
]


def _code(typed: list[str], most: int) -> int:
    if len(typed) != 1 or not (
        typed[0].isascii() and typed[0].isdecimal() and 1 <= int(typed[0][:9]) <= most
    ):
        raise ReplyError(gettext("Please choose one of the answers."))
    return int(typed[0])


_SUS = (
    ("I think that I would like to use this system frequently.",
     "Ich denke, dass ich dieses System gerne häufig nutzen würde."),
    ("I found the system unnecessarily complex.",
     "Ich fand das System unnötig komplex."),
    ("I thought the system was easy to use.",
     "Ich fand das System einfach zu benutzen."),
    ("I think that I would need the support of a technical person to be able to use this system.",
     "Ich denke, ich bräuchte die Hilfe einer technisch versierten Person, um das System zu benutzen."),
    ("I found the various functions in this system were well integrated.",
     "Ich fand, die verschiedenen Funktionen des Systems waren gut integriert."),
    ("I thought there was too much inconsistency in this system.",
     "Ich fand, es gab im System zu viele Unstimmigkeiten."),
    ("I would imagine that most people would learn to use this system very quickly.",
     "Ich kann mir vorstellen, dass die meisten Menschen sehr schnell lernen, das System zu benutzen."),
    ("I found the system very cumbersome to use.",
     "Ich fand das System sehr umständlich zu benutzen."),
    ("I felt very confident using the system.",
     "Ich fühlte mich bei der Benutzung des Systems sehr sicher."),
    ("I needed to learn a lot of things before I could get going with this system.",
     "Ich musste viel lernen, bevor ich mit dem System zurechtkam."),
)  # fmt: skip
_TLX = (
    ("mental", "How mentally demanding was the task?",
     "Wie hoch waren die geistigen Anforderungen der Aufgabe?"),
    ("physical", "How physically demanding was the task?",
     "Wie hoch waren die körperlichen Anforderungen der Aufgabe?"),
    ("temporal", "How hurried or rushed was the pace of the task?",
     "Wie hoch war der Zeitdruck bei der Aufgabe?"),
    ("performance", "How successful were you in accomplishing what you were asked to do?",
     "Wie erfolgreich haben Sie die Aufgabe erledigt?"),
    ("effort", "How hard did you have to work to accomplish your level of performance?",
     "Wie sehr mussten Sie sich für dieses Ergebnis anstrengen?"),
    ("frustration", "How insecure, discouraged, irritated, stressed, and annoyed were you?",
     "Wie unsicher, entmutigt, gereizt, gestresst und verärgert waren Sie?"),
)  # fmt: skip


def sus() -> list[LikertItem]:
    """The ten items of the System Usability Scale."""
    low: Words = {"en": "strongly disagree", "de": "stimme gar nicht zu"}
    high: Words = {"en": "strongly agree", "de": "stimme voll zu"}
    return [
        LikertItem(kind="likert", id=f"sus-{i}", text={"en": en, "de": de}, points=5, low=low, high=high)
        for i, (en, de) in enumerate(_SUS, 1)
    ]


def sus_score(answers: Sequence[float]) -> float:
    """Score 0 to 100 of the ten answers 1 to 5: items in odd places speak for the system, the others against it.

    >>> sus_score([5, 1] * 5), sus_score([3] * 10)
    (100.0, 50.0)
    """
    return 2.5 * sum((value - 1) if i % 2 == 0 else (5 - value) for i, value in enumerate(answers))


def nasa_tlx() -> list[LikertItem]:
    """The six items of NASA-TLX, each on 21 marks from 1 to 21."""
    low: Words = {"en": "very low", "de": "sehr gering"}
    high: Words = {"en": "very high", "de": "sehr hoch"}
    fine: Words = {"en": "perfect", "de": "perfekt"}
    poor: Words = {"en": "failure", "de": "gescheitert"}
    return [
        LikertItem(
            kind="likert", id=f"tlx-{name}", text={"en": en, "de": de}, points=21,
            low=fine if name == "performance" else low, high=poor if name == "performance" else high,
        )
        for name, en, de in _TLX
    ]  # fmt: skip


def tlx_score(answers: Sequence[float]) -> float:
    """Raw load 0 to 100 of the six answers 1 to 21: their mean, in steps of 5.

    >>> tlx_score([1] * 6), tlx_score([21] * 6)
    (0.0, 100.0)
    """
    return 5 * sum(value - 1 for value in answers) / len(answers)
