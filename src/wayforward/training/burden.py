"""How far the refused of each group are from a yes: what training evens out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wayforward.errors import DataError
from wayforward.public import public
from wayforward.shapes import Floats


@public
def signed_distance(estimator: Any, X: Any) -> Floats:
    """(n, e) -> (n,) distance to the boundary of a fitted linear classifier, in units of X; below zero is refused.

    Raises: DataError for a classifier without `coef_`, or of more than two classes.
    """
    coef = np.asarray(getattr(estimator, "coef_", np.empty((0, 0))))
    if coef.shape[0] != 1:
        raise DataError(
            f"{type(estimator).__name__} has no single line between two classes. Give a fitted linear classifier, or "
            "measure the burden of plans with wayforward.evaluate.fairness.burden."
        )
    length = float(np.linalg.norm(coef))
    score = np.asarray(estimator.decision_function(X), dtype=np.float64)
    return score / length if length > 0 else np.where(score > 0, np.inf, -np.inf)


@public
def recourse_burden(distance: npt.ArrayLike, groups: npt.ArrayLike) -> dict[Any, float]:
    """Mean distance of the refused of each group to the boundary; NaN where a group has none.

    distance (n,): signed, as of `signed_distance`. groups (n,): labels of any kind.
    Raises: DataError for lengths that differ.
    Source: V. Gupta, P. Nokhiz, C. D. Roy & S. Venkatasubramanian (2019), Equalizing Recourse across Groups,
    arXiv:1909.03166.
    """
    distance, groups = np.asarray(distance, dtype=np.float64), np.asarray(groups)
    if distance.ndim != 1 or groups.shape != distance.shape:
        raise DataError(
            f"Distances have shape {distance.shape} and groups {groups.shape}. Give one group a person."
        )
    refused = distance <= 0
    out = {}
    for name in np.unique(groups):
        mine = -distance[refused & (groups == name)]
        out[name.item() if isinstance(name, np.generic) else name] = (
            float(mine.mean()) if mine.size else np.nan
        )
    return out
