"""Rows of a schema as pandas tables, put together from blocks of columns as pandas itself keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wayforward.schema.carried import series_of
from wayforward.schema.feature import Feature
from wayforward.schema.tables import all_whole, decode_column

_ROWS, _MOST = 512, 1024  # rows of a column of one text that is made once, and how many such columns


class PandasTables:
    """Level indices and numbers as pandas tables.

    One column after the other costs a table of few rows five times as much. Raises: ImportError or AttributeError for a
    pandas that takes no blocks (before version 3).
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        import pandas as pd

        self._pandas: Any = pd
        blocks = import_module("pandas.api.internals")
        self._from_blocks: Callable[..., Any] = blocks.create_dataframe_from_blocks
        self._features = features
        self._names: Any = pd.Index([f.name for f in features])
        kinds = [_kind(f) for f in features]
        book: Any = pd.Series(
            np.array([v for f, k in zip(features, kinds, strict=True) if k is str for v in f.levels], object)
        ).array
        if book.dtype == object:  # pandas was told to keep texts as objects
            kinds = [object if kind is str else kind for kind in kinds]
        self._book = book
        at = {kind: [j for j, k in enumerate(kinds) if k is kind] for kind in (float, int, str, object)}
        self._reals, self._whole, self._texts = (np.array(at[kind], np.intp) for kind in (float, int, str))
        self._others: list[int] = at[object]
        self._numbered = [
            (i, np.array(features[j].levels)) for i, j in enumerate(at[int]) if features[j].has_levels
        ]
        count = np.array([features[j].n_levels for j in at[str]], np.int64)
        self._first = (np.cumsum(count) - count)[:, None]
        self._place = [np.array([j]) for j in range(len(features))]
        self._carried = [j for j, feature in enumerate(features) if feature.carried]
        self._made: dict[tuple[int, int], Any] = {}

    def table(self, values: np.ndarray) -> Any:
        """(d, n) level indices and numbers -> a table of n rows."""
        n = values.shape[1]
        others = self._others.copy()
        blocks: list[tuple[Any, np.ndarray]] = [(values[self._reals], self._reals)]
        whole = values[self._whole]
        if not all_whole(whole):
            others += self._whole.tolist()
        else:
            block = whole.astype(np.int64)
            for i, levels in self._numbered:
                block[i] = levels[block[i]]
            blocks.append((block, self._whole))
        index = values[self._texts] + self._first
        if self._texts.size:
            blocks += self._text_blocks(index, others)
        for j in others:
            column = self._pandas.Series(decode_column(values[j], self._features[j])).values
            own = (
                np.array(column)[None] if isinstance(column, np.ndarray) else column
            )  # a view may not be written to
            blocks.append((own, self._place[j]))
        table = self._from_blocks(blocks, self._pandas.RangeIndex(n), self._names.view())
        for j in self._carried:  # in the place of their keys
            table.isetitem(j, series_of(values[j], self._features[j]))
        return table

    def _text_blocks(self, index: np.ndarray, others: list[int]) -> list[tuple[Any, np.ndarray]]:
        """(t, n) positions in the book -> blocks of the columns that hold some text; the others go to `others`."""
        n = index.shape[1]
        once = (index == index[:, :1]).all(1) if n <= _ROWS else np.zeros(len(index), dtype=bool)
        made = {i: self._repeated(int(index[i, 0]), n) for i in np.flatnonzero(once).tolist()}
        mixed = np.flatnonzero(~once)
        if mixed.size:
            part = index[mixed]
            gone = np.isnan(part)
            lost = bool(gone.any())
            number = (np.where(gone, -1.0, part) if lost else part).ravel().astype(np.int64)
            flat = self._book.take(number, allow_fill=lost)
            empty = gone.all(1)  # nothing but None is no text to pandas
            for i, row in enumerate(mixed.tolist()):
                if empty[i]:
                    others.append(int(self._texts[row]))
                else:
                    made[row] = flat[i * n : i * n + n]
        return [(column, self._place[self._texts[i]]) for i, column in made.items()]

    def _repeated(self, position: int, n: int) -> Any:
        """A column of n times the same text of the book; a copy, because whoever gets it may write to it."""
        column = self._made.get((position, n))
        if column is None:
            if len(self._made) >= _MOST:
                self._made.clear()
            column = self._made[position, n] = self._book.take(np.full(n, position))
        return column.copy()


def _kind(feature: Feature) -> type:
    """How pandas keeps a column: float, int, str, or object: as it turns out."""
    if not feature.has_levels:
        return int if feature.kind == "integer" else float
    kinds = {type(level) for level in feature.levels}
    if kinds == {int} and np.array(feature.levels).dtype == np.int64:
        return int
    return str if kinds == {str} else object
