"""Answers about texts: the words that would have to go, and the text with strikes."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Literal

from wayforward.answers import words
from wayforward.errors import DataError, is_one_of
from wayforward.language import gettext, ngettext, visible
from wayforward.modalities.answers import LetterPart, Phrases, UnitRecourse
from wayforward.modalities.text.documents import Document, document
from wayforward.public import public

Style = Literal["plain", "terminal", "html"]
_STRIKES = {"plain": ("[-", "-]"), "terminal": ("\x1b[9m", "\x1b[29m"), "html": ("<del>", "</del>")}


@public
@dataclass(frozen=True)
class TextRecourse(UnitRecourse):
    """Up to k sets of words for each of n texts. recourse: the same as rows, for evaluation and files."""

    texts: tuple[str, ...]

    def removed(self, i: int, option: int = 0) -> list[str]:
        """Return the words that an option takes out of text i, in the order in which they stand there."""
        return [self._document(i).words[unit] for unit in self._units(i, option)]

    def after(self, i: int, option: int = 0) -> str:
        """Return the exact text that was judged."""
        return self._document(i).without(set(self._units(i, option)))

    def struck(self, i: int, option: int = 0, style: Style = "plain") -> str:
        """Return text i with the words struck out: [-so-], as a terminal strikes them, or as <del> in escaped HTML."""
        if not is_one_of(style, _STRIKES):
            raise DataError(f"style={style!r} is not known. Use one of {', '.join(map(repr, _STRIKES))}.")
        one, (left, right) = self._document(i), _STRIKES[style]
        pieces, at = [], 0
        clean = (lambda piece: html.escape(visible(piece))) if style == "html" else visible
        for start, end in one.places(self._units(i, option)):
            pieces += [clean(one.text[at:start]), left, clean(one.text[start:end]), right]
            at = end
        return "".join([*pieces, clean(one.text[at:])])

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: "Without these 2 words the answer would be yes: "late", and "debt"."."""
        gone = [gettext("\u201c{text}\u201d", text=visible(word)) for word in self.removed(i, option)]
        if not gone:
            raise DataError(f"Text {i} has no option {option}: {self._why_not(i, option)}")
        return ngettext(
            "Without this word the answer would be yes: {words}.",
            "Without these {n} words the answer would be yes: {words}.",
            len(gone),
            n=words.spelled(len(gone)),
            words=words.join(gone),
        )

    def _phrases(self, number: int = 0) -> Phrases:
        return Phrases(
            title=gettext("What would have to be different in these texts"),
            numbered=gettext("Text {n}", n=number),
            accepted=gettext("The answer to your text is yes. You need not change anything."),
            refused=gettext("A computer model read your text. The answer is no for now."),
            none_exist=gettext("No words could be left out so that the answer becomes yes. This was proved."),
            not_found=gettext("We found no words without which the answer would be yes. There may be some."),
            closing=gettext("Words in [-square brackets-] are those to be left out, wherever they stand.")
            + "\n"
            + gettext("The model itself said yes to the text without them, as it is written here."),
        )

    def _shown(self, i: int, option: int) -> LetterPart:
        return LetterPart("blockquote", self.struck(i, option, "html"), self.struck(i, option))

    def _missing(self, i: int) -> str:
        return f"There is no text {i}; there are {len(self.texts)}, from 0."

    def _document(self, i: int) -> Document:
        return document(self.texts[self._read_row(i)])
