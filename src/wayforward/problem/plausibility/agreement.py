"""Does a profile get the decision of its neighbours?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError
from wayforward.neighbours import NeighbourIndex
from wayforward.scaling import checked_rows
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.schema import Schema


def agreement(
    schema: Schema,
    after: npt.ArrayLike,
    accepted: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_accepted: npt.ArrayLike,
    k: int = 5,
) -> Floats:
    """yNN of each row: how many of its k nearest reference people get the same decision, from 0 to 1.

    after (m, d) with decisions `accepted` (m,), reference (N, d) with `reference_accepted` (N,), both
    predicted by the model, not labels; range-scaled L2 with 1 for another category. NaN for an empty row.
    The mean over the rows is the published score.

    Source: Pawelczyk, Bielawski, van den Heuvel, Richter & Kasneci (2021), CARLA, NeurIPS datasets and
    benchmarks.
    """
    rows = checked_rows(schema, after, "profiles")
    decided = np.asarray(reference_accepted, dtype=np.float64)
    own = np.asarray(accepted, dtype=np.float64)
    known = checked_rows(schema, reference, "reference")
    if decided.shape != (len(known),) or own.shape != (len(rows),) or not len(known):
        raise ProblemError(
            f"There are {len(rows)} profiles with {own.shape} decisions and {len(known)} reference people "
            f"with {decided.shape}. Give one decision each, and at least one reference person."
        )
    out = np.full(len(rows), np.nan)
    filled = ~np.isnan(rows).all(axis=1)
    if filled.any():
        near = NeighbourIndex(schema, known, metric="l2").query(rows[filled], min(k, len(known)))
        out[filled] = 1 - np.abs(own[filled, None] - decided[near.row]).mean(axis=1)
    return out
