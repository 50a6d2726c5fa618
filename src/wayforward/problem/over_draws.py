"""Sums and means over what was drawn for each person: the same bits however many people there are.

NumPy adds a single column by halves and several row by row, so that `values.mean(0)` of somebody alone may end in
another last bit than among others, and a search that halves down to the boundary then ends elsewhere.
"""

from __future__ import annotations

import numpy as np

from wayforward.shapes import Floats


def total(values: Floats) -> Floats:
    """(draws, m) -> (m,) sum, one draw after another."""
    return np.asarray(np.cumsum(values, axis=0)[-1])


def mean(values: Floats) -> Floats:
    """(draws, m) -> (m,) mean."""
    return np.asarray(total(values) / len(values))


def deviation(values: Floats) -> Floats:
    """(draws, m) -> (m,) standard deviation (ddof 0)."""
    return np.asarray(np.sqrt(mean(np.square(values - mean(values)))))
