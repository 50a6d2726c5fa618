"""Answers about things made of units: what every letter and page about them has, whatever the kind of data."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from wayforward.answers import Letterhead
from wayforward.answers.text import nothing_text
from wayforward.errors import DataError, is_integer, is_one_of
from wayforward.language import gettext, language, use_language
from wayforward.plain_files import as_path, write_text
from wayforward.recourse import Outcome, Recourse

LetterStyle = Literal["plain", "html"]
_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1f1f1f }}
p {{ white-space: pre-line }}
blockquote {{ white-space: pre-wrap; margin: .5rem 0 1rem; padding: .5rem 1rem; border-left: 4px solid #767676 }}
del {{ color: #a3320b; text-decoration-thickness: 2px }}
figure {{ margin: .5rem 0 1rem }} figure svg {{ width: 100%; height: auto }}
</style></head><body>
{body}
</body></html>
"""


class LetterPart(NamedTuple):
    """A piece of a letter or a page. tag: h1, h2, p, or blockquote and figure, whose `text` is HTML already.

    plain: the same in letters without marks, '' for nothing; the text itself where left out.
    """

    tag: Literal["h1", "h2", "p", "blockquote", "figure"]
    text: str
    plain: str | None = None

    def html(self) -> str:
        """Return it as HTML."""
        ready = self.tag in ("blockquote", "figure")
        return f"<{self.tag}>{self.text if ready else html.escape(self.text)}</{self.tag}>"


class Phrases(NamedTuple):
    """Sentences of a kind of data, in the language in use. One that ends a letter may have several lines."""

    title: str  # of a page
    numbered: str  # "Text 3"
    accepted: str  # the answer is yes
    refused: str  # a model read it and said no
    none_exist: str
    not_found: str
    closing: str


@dataclass(frozen=True)
class UnitRecourse(ABC):
    """Up to k sets of units for each of n things. recourse: the same as rows, for evaluation and files."""

    recourse: Recourse

    @abstractmethod
    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence."""

    @abstractmethod
    def _phrases(self, number: int = 0) -> Phrases:
        """The sentences of this kind of data, about the thing of this number."""

    @abstractmethod
    def _shown(self, i: int, option: int) -> LetterPart:
        """The thing itself, with what an option changes marked."""

    @abstractmethod
    def _missing(self, i: int) -> str:
        """The error for a thing that is not there."""

    def options(self, i: int) -> list[int]:
        """Return the options that thing i has."""
        return [int(option) for option in np.flatnonzero(self.recourse.found[self._row(i)])]

    def letter(
        self,
        i: int,
        *,
        style: LetterStyle = "plain",
        head: Letterhead | None = None,
        language: str | None = None,
    ) -> str:
        """Return a letter about thing i: the answer, what kept a yes away, and the thing with that marked.

        A yes is the answer that the problem calls favourable. style: 'plain' text, or 'html', a page that needs no
        other file. head: date, case number, contact. language: "en" or "de"; left out, the one in use.
        Raises: DataError if there is no such thing.
        """
        if not is_one_of(style, ("plain", "html")):
            raise DataError(f"style={style!r} is not known. Use one of 'plain', 'html'.")
        with use_language(language):
            parts = self._letter(self._row(i), head or Letterhead())
            if style == "html":
                return _page(gettext("Your answer"), parts)
            texts = [part.text if part.plain is None else part.plain for part in parts]
            return "\n\n".join(text for text in texts if text)

    def page(self, path: str | Path, title: str = "", language: str | None = None) -> Path:
        """Write a page of all things, changes marked, that needs no other file; return its path."""
        with use_language(language):
            at, title = as_path(path), title or self._phrases().title
            write_text(at, _page(title, [LetterPart("h1", title), *self._everything()]))
        return at

    def _letter(self, i: int, head: Letterhead) -> list[LetterPart]:
        phrases = self._phrases(i + 1)
        parts = [LetterPart("p", "\n".join(head.lines()).strip()), LetterPart("h1", gettext("Your answer"))]
        if self.recourse.accepted[i]:
            return [*parts, LetterPart("p", phrases.accepted)]
        if self.recourse.outcome[i, 0] is Outcome.NOT_ASKED:
            return [
                *parts,
                LetterPart("p", self._nothing(i)),
                LetterPart("p", gettext("Please ask us again.")),
            ]
        parts.append(LetterPart("p", phrases.refused + "\n" + self._wanted()))
        options = self.options(i)
        if not options:
            return [*parts, LetterPart("p", self._nothing(i))]
        for place, option in enumerate(options):
            if len(options) > 1:
                parts.append(LetterPart("h2", gettext("Way {n}", n=place + 1)))
            parts += [LetterPart("p", self.sentence(i, option)), self._shown(i, option)]
        return [*parts, LetterPart("p", phrases.closing)]

    def _everything(self) -> list[LetterPart]:
        parts = [LetterPart("p", self._wanted())]
        for i in range(self.recourse.n):
            parts.append(LetterPart("h2", self._phrases(i + 1).numbered))
            options = self.options(i)
            if self.recourse.accepted[i]:
                parts.append(LetterPart("p", gettext("The answer is yes as it is.")))
            elif not options:
                parts.append(LetterPart("p", self._nothing(i)))
            for option in options:
                parts += [LetterPart("p", self.sentence(i, option)), self._shown(i, option)]
        return parts

    def _wanted(self) -> str:
        return gettext("A yes is {target}.", target=self.recourse.problem.target.text())

    def _nothing(self, i: int) -> str:
        outcome = self.recourse.outcome[i, 0]
        if outcome is Outcome.NOT_ASKED:
            return nothing_text(self.recourse[i : i + 1])
        phrases = self._phrases(i + 1)
        return phrases.none_exist if outcome is Outcome.NONE_EXISTS else phrases.not_found

    def _units(self, i: int, option: int, first: int = 1) -> list[int]:
        """Units that an option changes; none where there is no such option."""
        row = self._row(i)
        if not 0 <= option < self.recourse.k or not self.recourse.found[row, option]:
            return []
        return [int(j) - first for j in np.flatnonzero(~np.isnan(self.recourse.action[row, option]))]

    def _why_not(self, i: int, option: int) -> str:
        """Why there is no such option."""
        if not 0 <= option < self.recourse.k:
            return f"{self.recourse.k} were asked for, counted from 0."
        return str(self.recourse.outcome[self._row(i), option].value)

    def _read_row(self, i: int) -> int:
        """The row of thing i. Raises: DataError where it could not be read, and where there is no such thing."""
        row = self._row(i)
        reasons = self.recourse.reasons
        if reasons.size and reasons[row]:
            raise DataError(f"Number {row} could not be read: {reasons[row]}")
        return row

    def _row(self, i: int) -> int:
        if not is_integer(i) or not -self.recourse.n <= i < self.recourse.n:
            raise DataError(self._missing(i))
        return int(i) % self.recourse.n


def _page(title: str, parts: list[LetterPart]) -> str:
    body = "\n".join(part.html() for part in parts)
    return _PAGE.format(language=language(), title=html.escape(title), body=body)
