"""Blocks of a fixed size: a matrix product may round differently for another number of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wayforward.shapes import Ints


def padded_blocks(m: int, size: int) -> Iterator[tuple[Ints, Ints]]:
    """Cut m rows into blocks; yield the rows of each, and the same filled up to `size` with its first row."""
    for begin in range(0, m, size):
        rows = np.arange(begin, min(begin + size, m))
        yield rows, np.concatenate([rows, np.full(size - len(rows), rows[0])])
