"""How wide each feature is: the scales that costs, distances and densities share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError, is_one_of
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.schema import Schema

Scale = Literal["range", "std", "mad"]


def ranges(schema: Schema, reference: Floats | None = None) -> tuple[Floats, Mask]:
    """(d,) width of each feature's range, above zero, and where it had to be made up (as 1).

    The schema's bounds count; a number without bounds takes the range seen in `reference` (N, d). A change
    of category has width 1, an ordinal feature the number of steps between its ends.
    """
    span = np.asarray(schema.span, dtype=np.float64).copy()
    made_up = np.zeros(schema.d, dtype=np.bool_)
    open_ended = ~(np.isfinite(schema.low) & np.isfinite(schema.high))
    for j in np.flatnonzero(open_ended & ~np.asarray(schema.has_levels)):
        column = present(reference[:, j]) if reference is not None else np.empty(0)
        width = float(np.ptp(column)) if column.size else 0.0
        made_up[j] = width <= 0
        span[j] = width if width > 0 else 1.0
    return span, made_up


def scales(schema: Schema, reference: Floats, scale: Scale = "range") -> Floats:
    """(d,) what each feature is divided by: its range, standard deviation or median absolute deviation.

    Where a deviation is 0 the range takes its place. Categories have scale 1.
    """
    if not is_one_of(scale, ("range", "std", "mad")):
        raise ProblemError(f"There is no scale {scale!r}. Choose 'range', 'std' or 'mad'.")
    out, _ = ranges(schema, reference)
    if scale == "range":
        return out
    for j in np.flatnonzero(~np.asarray(schema.is_categorical)):
        column = present(reference[:, j])
        if not column.size:
            continue
        wide = column.std() if scale == "std" else np.median(np.abs(column - np.median(column)))
        if wide > 1e-9 * out[j]:
            out[j] = float(wide)
    return out


def checked_rows(schema: Schema, rows: npt.ArrayLike, what: str) -> Floats:
    """Rows as an (N, d) float array without infinities. Raises: ProblemError that names the column."""
    known = np.asarray(rows, dtype=np.float64)
    if known.ndim != 2 or known.shape[1] != schema.d:
        raise ProblemError(
            f"The {what} array has shape {known.shape}, the schema has {schema.d} features. Give an (N, "
            f"{schema.d}) array in the order of the schema."
        )
    if np.isinf(known).any():
        name = schema.names[int(np.flatnonzero(np.isinf(known).any(axis=0))[0])]
        raise ProblemError(
            f"'{name}' is infinite somewhere in the {what} array. Replace it by a number or a missing value."
        )
    return known


def present(column: Floats) -> Floats:
    """The values of a column that are not missing."""
    return np.asarray(column[~np.isnan(column)])


def thinned(count: int, most: int, seed: int) -> Ints:
    """Row numbers, ascending, of at most `most` of `count` rows; the same for the same seed."""
    if count <= most:
        return np.arange(count)
    return np.sort(generator(seed).choice(count, size=most, replace=False))
