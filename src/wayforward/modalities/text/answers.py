"""Answers about texts: the words that would have to go, the text with strikes, a letter, and a page."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from wayforward.answers import Letterhead, words
from wayforward.answers.text import nothing_text
from wayforward.errors import DataError
from wayforward.language import gettext, language, ngettext, use_language, visible
from wayforward.modalities.text.documents import Document, document
from wayforward.plain_files import as_path, write_text
from wayforward.recourse import Outcome, Recourse

Style = Literal["plain", "terminal", "html"]
_STRIKES = {"plain": ("[-", "-]"), "terminal": ("\x1b[9m", "\x1b[29m"), "html": ("<del>", "</del>")}
_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1f1f1f }}
blockquote {{ white-space: pre-wrap; margin: .5rem 0 1rem; padding: .5rem 1rem; border-left: 4px solid #767676 }}
del {{ color: #a3320b; text-decoration-thickness: 2px }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


@dataclass(frozen=True)
class TextRecourse:
    """Up to k sets of words for each of n texts. recourse: the same as rows, for evaluation and files."""

    texts: tuple[str, ...]
    recourse: Recourse

    def removed(self, i: int, option: int = 0) -> list[str]:
        """Return the words that an option takes out of text i, in the order in which they stand there."""
        return [self._document(i).words[unit] for unit in self._units(i, option)]

    def after(self, i: int, option: int = 0) -> str:
        """Return the exact text that was judged."""
        return self._document(i).without(set(self._units(i, option)))

    def struck(self, i: int, option: int = 0, style: Style = "plain") -> str:
        """Return text i with the words struck out: [-so-], as a terminal strikes them, or as <del> in escaped HTML."""
        if style not in _STRIKES:
            raise DataError(f"style={style!r} is not known. Use one of {', '.join(map(repr, _STRIKES))}.")
        one, (left, right) = self._document(i), _STRIKES[style]
        pieces, at = [], 0
        clean = (lambda piece: html.escape(visible(piece))) if style == "html" else visible
        for start, end in one.places(self._units(i, option)):
            pieces += [clean(one.text[at:start]), left, clean(one.text[start:end]), right]
            at = end
        return "".join([*pieces, clean(one.text[at:])])

    def options(self, i: int) -> list[int]:
        """Return the options that text i has."""
        return [int(option) for option in np.flatnonzero(self.recourse.found[self._row(i)])]

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: "Without these 2 words the answer would be yes: "late", and "debt"."."""
        gone = [gettext("\u201c{text}\u201d", text=visible(word)) for word in self.removed(i, option)]
        if not gone:
            raise DataError(f"Text {i} has no option {option}: {self.recourse.outcome[i, 0].value}")
        return ngettext(
            "Without this word the answer would be yes: {words}.",
            "Without these {n} words the answer would be yes: {words}.",
            len(gone),
            n=words.spelled(len(gone)),
            words=words.join(gone),
        )

    def letter(self, i: int, *, head: Letterhead | None = None, language: str | None = None) -> str:
        """Return a letter about text i, plain text: the answer, the words that kept a yes away, the text with strikes.

        A yes is the answer that the problem calls favourable. head: date, case number, contact. language: "en" or "de";
        left out, the one in use. Raises: DataError if there is no such text.
        """
        with use_language(language):
            return "\n".join(self._lines(self._row(i), head or Letterhead()))

    def page(self, path: str | Path, title: str = "", language: str | None = None) -> Path:
        """Write a page of all texts, struck words marked, that needs no other file; return its path."""
        with use_language(language):
            return self._write(
                as_path(path), title or gettext("What would have to be different in these texts")
            )

    def _lines(self, i: int, head: Letterhead) -> list[str]:
        lines = [*head.lines(), gettext("Your answer"), ""]
        options = self.options(i)
        if self.recourse.accepted[i]:
            return [*lines, gettext("The answer to your text is yes. You need not change anything.")]
        if self.recourse.outcome[i, 0] is Outcome.NOT_ASKED:
            return [*lines, self._nothing(i), "", gettext("Please ask us again.")]
        wanted = gettext("A yes is {target}.", target=self.recourse.problem.target.text())
        lines += [gettext("A computer model read your text. The answer is no for now."), wanted, ""]
        if not options:
            return [*lines, self._nothing(i)]
        for place, option in enumerate(options):
            if len(options) > 1:
                lines += [gettext("Way {n}", n=place + 1), ""]
            lines += [self.sentence(i, option), "", self.struck(i, option), ""]
        return [
            *lines,
            gettext("Words in [-square brackets-] are those to be left out, wherever they stand."),
            gettext("The model itself said yes to the text without them, as it is written here."),
        ]

    def _nothing(self, i: int) -> str:
        if self.recourse.outcome[i, 0] is Outcome.NOT_ASKED:
            return nothing_text(self.recourse[i : i + 1])
        if self.recourse.outcome[i, 0] is Outcome.NONE_EXISTS:
            return gettext("No words could be left out so that the answer becomes yes. This was proved.")
        return gettext("We found no words without which the answer would be yes. There may be some.")

    def _write(self, path: Path, title: str) -> Path:
        lines = [("p", gettext("A yes is {target}.", target=self.recourse.problem.target.text()))]
        for i in range(self.recourse.n):
            lines.append(("h2", gettext("Text {n}", n=i + 1)))
            options = self.options(i)
            if self.recourse.accepted[i]:
                lines.append(("p", gettext("The answer is yes as it is.")))
            elif not options:
                lines.append(("p", self._nothing(i)))
            for option in options:
                lines += [("p", self.sentence(i, option)), ("blockquote", self.struck(i, option, "html"))]
        parts = [
            f"<{tag}>{text if tag == 'blockquote' else html.escape(text)}</{tag}>" for tag, text in lines
        ]
        page = _PAGE.format(language=language(), title=html.escape(title), body="\n".join(parts))
        write_text(path, page)
        return path

    def _units(self, i: int, option: int) -> list[int]:
        row = self._row(i)
        if not 0 <= option < self.recourse.k or not self.recourse.found[row, option]:
            return []
        return [int(j) - 1 for j in np.flatnonzero(~np.isnan(self.recourse.action[row, option]))]

    def _document(self, i: int) -> Document:
        return document(self.texts[self._row(i)])

    def _row(self, i: int) -> int:
        if not isinstance(i, (int, np.integer)) or not -len(self.texts) <= i < len(self.texts):
            raise DataError(f"There is no text {i}; there are {len(self.texts)}, from 0.")
        return int(i) % len(self.texts)
