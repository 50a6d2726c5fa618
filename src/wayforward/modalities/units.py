"""A thing as units: rows that say which of its units are there, and the schema of such rows.

A row holds the key of the thing (a carried feature) and one feature a unit: at the last level it is there, at any level
before it was taken out, or replaced. Things of about as many units share a schema; what is left over is 0 from the
beginning, so that a thing's answer never hangs on the things beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from wayforward.errors import DataError, is_whole, shown
from wayforward.schema import Feature, Schema
from wayforward.schema.carried import keys_of, values_of

_LEAST = 16  # units of the smallest schema


MOST_UNITS = 1_000_000  # a schema has a feature for each


def padded_size(count: int) -> int:
    """Return the columns of a thing with so many units: a power of two, so that few schemas serve all things."""
    return max(_LEAST, 1 << max(count - 1, 0).bit_length())


@lru_cache(maxsize=32)
def unit_schema(
    thing: str,
    unit: str,
    size: int,
    instead: tuple[str, ...] = ("removed",),
    example: str = "",
    names: tuple[str, ...] = (),
    alike: bool = False,
) -> Schema:
    """Return the schema of things with up to `size` units.

    thing: name of the carried feature. unit: of a unit, "word" for "word 1", "word 2". instead: what may become of a
    unit that is there, in the order in which it is tried. example: the thing that a model is asked about when it is
    nobody's. names: of the first units, their own. alike: every unit chooses among the places of all, as categories.
    """
    if not is_whole(size, 0, MOST_UNITS):
        raise DataError(f"size={shown(size)} is no number of units. Use a whole number up to {MOST_UNITS:,}.")
    levels = (*instead, "there")
    units = [
        Feature(
            name=names[i] if i < len(names) else f"{unit} {i + 1}",
            kind="binary" if len(levels) == 2 else "categorical" if alike else "ordinal",
            levels=levels,
            direction="any" if alike and len(levels) > 2 else "decrease",
        )
        for i in range(size)
    ]
    return Schema((Feature(name=thing, kind="carried", example=example), *units))


def unit_rows(things: Sequence[str], counts: Sequence[int], schema: Schema) -> np.ndarray:
    """Return things with so many units each as rows (n, d) of a schema that is large enough: everything is there."""
    x = np.zeros((len(things), schema.d))
    x[:, 0] = keys_of(things, schema.features[0], schema.features[0].name)
    there = schema.n_levels[1:] - 1.0
    x[:, 1:] = np.where(np.arange(schema.d - 1) < np.asarray(counts)[:, None], there, 0.0)
    return x


def things_of(rows: np.ndarray, schema: Schema) -> tuple[list[str], np.ndarray]:
    """Return the different things that rows (m, d) are about, and which of them each row has (m,)."""
    values, which = values_of(rows[:, 0], schema.features[0])
    return [value or "" for value in values], which
