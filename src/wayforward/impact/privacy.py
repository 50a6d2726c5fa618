"""The fewest people whose mean may be published: a mean over fewer would tell of a person."""

from __future__ import annotations

from wayforward.evaluate import stats
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.shapes import Floats

FEWEST = 3


def mean_of_enough(values: Floats, seed: int = 0) -> Estimate:
    """Return the mean of the finite values (n,), or `NOTHING` where fewer than `FEWEST` are."""
    found = stats.mean(values, seed=seed)
    return found if found.n >= FEWEST else NOTHING
