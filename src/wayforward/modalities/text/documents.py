"""A text as units: its different words, each wherever it stands; in a row 1 is there and 0 was taken out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wayforward.errors import DataError
from wayforward.modalities.units import padded_size, things_of, unit_rows, unit_schema
from wayforward.schema import Schema

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
MOST_WORDS = 16_384  # different words of a text: rows and their schema grow with them
TEXT = "text"


@dataclass(frozen=True)
class Document:
    """A text and its units. parts: every word in order; unit: each spelling of a word -> the unit that it belongs to;
    words: each unit as it first stands."""

    text: str
    parts: tuple[str, ...]
    unit: Mapping[str, int]
    words: tuple[str, ...]

    @property
    def size(self) -> int:
        """Columns for words that a row of this text has."""
        return padded_size(len(self.words))

    def places(self, units: Collection[int]) -> list[tuple[int, int]]:
        """Return start and end of every word that belongs to one of these units, in order."""
        spelled = {word for word, unit in self.unit.items() if unit in units}
        if not spelled:
            return []
        return [
            match.span()
            for match, word in zip(_WORD.finditer(self.text), self.parts, strict=True)
            if word in spelled
        ]

    def without(self, removed: Collection[int]) -> str:
        """Return the text without these units, and without the white space that one would see twice."""
        pieces, at = [], 0
        for start, end in self.places(removed):
            pieces.append(self.text[at:start])
            at = end + (end < len(self.text) and self.text[end] == " ")
        return "".join([*pieces, self.text[at:]])

    def named(self, words: Collection[str]) -> list[int]:
        """Return the units that these words are, whatever their capitals."""
        wanted = {word.casefold() for word in words}
        return sorted({unit for word, unit in self.unit.items() if word.casefold() in wanted})


def is_word(text: str) -> bool:
    """Whether a text is one word, as units are."""
    return _WORD.fullmatch(text) is not None


@lru_cache(maxsize=8192)
def document(text: str) -> Document:
    """Return a text as units. Raises: DataError for more different words than a row can hold."""
    parts = tuple(_WORD.findall(text))
    first: dict[str, str] = {}
    unit: dict[str, int] = {}
    for word in dict.fromkeys(parts):
        same = first.setdefault(word.casefold(), word)
        unit[word] = unit[same] if same != word else len(first) - 1
    if len(first) > MOST_WORDS:
        raise DataError(
            f"A text has {len(first):,} different words; up to {MOST_WORDS:,} are supported. Give it in parts."
        )
    return Document(text, parts, unit, tuple(first.values()))


def document_schema(size: int) -> Schema:
    """Return the schema of texts with up to `size` different words: the text itself, and whether each word is there."""
    return unit_schema(TEXT, "word", size, example="An example.")


def rows_of(texts: Sequence[str], schema: Schema) -> np.ndarray:
    """Return texts as rows (n, d) of a schema that is large enough."""
    return unit_rows(texts, [len(document(text).words) for text in texts], schema)


def texts_of(rows: np.ndarray, schema: Schema) -> list[str]:
    """Return the exact text that each row (m, d) stands for."""
    values, which = things_of(rows, schema)
    whole = [document(text) for text in values]
    out = []
    for i, row in zip(which.tolist(), rows, strict=True):
        one = whole[i]
        gone = np.flatnonzero(row[1 : len(one.words) + 1] == 0)
        out.append(one.without(set(gone.tolist())))
    return out
