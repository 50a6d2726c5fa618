"""A text as units: its different words, each wherever it stands; in a row 1 is there and 0 was taken out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from wayforward.errors import DataError
from wayforward.modalities.units import padded_size, things_of, unit_rows, unit_schema
from wayforward.public import public
from wayforward.schema import Schema

_WORD = re.compile(r"(\w+(?:['\u2019]\w+)*)")
MOST_WORDS = 16_384  # different words of a text: rows and their schema grow with them
TEXT = "text"


@public
@dataclass(frozen=True)
class Document:
    """A text and its units. pieces: what stands before the first word, the word, what follows, the next word ...; unit:
    each spelling of a word -> the unit that it belongs to; times: how often it stands there, in the same order; words:
    each unit as it first stands."""

    text: str
    pieces: tuple[str, ...]
    unit: Mapping[str, int]
    times: tuple[int, ...]
    words: tuple[str, ...]

    @property
    def size(self) -> int:
        """Columns for words that a row of this text has."""
        return padded_size(len(self.words))

    @property
    def parts(self) -> tuple[str, ...]:
        """Every word in order."""
        return self.pieces[1::2]

    def _at(self, units: Collection[int]) -> list[int]:
        """Which words in order belong to one of these units."""
        spelled = {word for word, unit in self.unit.items() if unit in units}
        return [i for i, word in enumerate(self.parts) if word in spelled] if spelled else []

    def places(self, units: Collection[int]) -> list[tuple[int, int]]:
        """Return start and end of every word that belongs to one of these units, in order."""
        ends = list(accumulate(map(len, self.pieces)))
        return [(ends[2 * i], ends[2 * i + 1]) for i in self._at(units)]

    def without(self, removed: Collection[int]) -> str:
        """Return the text without these units, and without the white space that one would see twice."""
        pieces = list(self.pieces)
        for i in self._at(removed):
            pieces[2 * i + 1] = ""
            pieces[2 * i + 2] = pieces[2 * i + 2].removeprefix(" ")
        return "".join(pieces)

    def named(self, words: Collection[str]) -> list[int]:
        """Return the units that these words are, whatever their capitals."""
        if not words:
            return []
        wanted = {word.casefold() for word in words}
        return sorted({unit for word, unit in self.unit.items() if word.casefold() in wanted})


def is_word(text: str) -> bool:
    """Whether a text is one word, as units are."""
    return _WORD.fullmatch(text) is not None


@lru_cache(maxsize=8192)
def document(text: str) -> Document:
    """Return a text as units. Raises: DataError for more different words than a row can hold."""
    pieces = tuple(_WORD.split(text))
    times = Counter(pieces[1::2])
    different = tuple(times)
    folded = tuple(map(str.casefold, different))
    number = {word: i for i, word in enumerate(dict.fromkeys(folded))}
    if len(number) > MOST_WORDS:
        raise DataError(
            f"A text has {len(number):,} different words; up to {MOST_WORDS:,} are supported. Give it in parts."
        )
    first = dict(zip(reversed(folded), reversed(different), strict=True))
    unit = dict(zip(different, map(number.__getitem__, folded), strict=True))
    return Document(text, pieces, unit, tuple(times.values()), tuple(map(first.__getitem__, number)))


@public
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
