"""The toy world of Figure 1: which rectangles, if any, have the four indices that the text states.

The paper prints the indices and not the sizes. Its text defines the index by mean distances and three terms, its
theorems by Hausdorff distances and four; all three readings are tried.

Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, sections 4, 5.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from wayforward_studies.balanced.tables import Recourse
from wayforward_studies.verdicts import Check

Sizes = tuple[float, float, float, float]

STATED: dict[Recourse, float] = {"original": 2.90, "distance": 3.23, "realistic": 3.42, "balanced": 2.35}
#: Terms -> a, b, c, u of least squares, from six starts that all ended there.
FITTED: dict[Literal[3, 4], Sizes] = {3: (2.311, 2.134, 0.0, 0.704), 4: (1.534, 4.682, 1.341, 0.827)}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_NODES, _WEIGHTS = (_NODES + 1) / 2, np.multiply.outer(_WEIGHTS, _WEIGHTS) / 4


def mean_index(sizes: Sizes, kind: Recourse, terms: Literal[3, 4]) -> float:
    """The index of mean distances between people who stand, and follow advice, as the theorems say; by quadrature."""
    a, b, c, u = sizes
    one, up = (b * _NODES, u + a * _NODES), u + a * _NODES
    two = one[0] + b - c
    three, four = one[0], two
    if kind == "balanced":
        three, four = (np.clip(x, b - c, b) for x in (three, four))
    end = (
        -up if kind == "original" else np.full(len(_NODES), 0.0 if kind == "distance" else u)
    )  # the refused mirror the accepted
    ends = _mean(one, (two, up)) + _mean(one, (four, end)) - _mean(one, (three, end))
    return ends - (_mean(one, one) if terms == 4 else 0.0)


def _mean(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """The mean distance; both: where the nodes of the first and of the second feature lie."""
    x, y = (np.subtract.outer(p, q) for p, q in zip(one, other, strict=True))
    return float(np.einsum("ij,kl,ijkl", _WEIGHTS, _WEIGHTS, np.hypot(x[:, :, None, None], y)))


def hausdorff_original() -> float:
    """What Hausdorff's index would be before recourse, of the sizes that the other three indices give.

    Balanced recourse leaves b - c; with that the distance d between a group and its own refused is known from each of
    the other two: a under realistic recourse, u + a under distance-based.
    """
    shift = STATED["balanced"]

    def between(kind: Recourse) -> float:
        more = STATED[kind] - shift  # = sqrt(shift^2 + d^2) - d
        return (shift**2 - more**2) / (2 * more)

    far = 2 * between("distance") - between("realistic")
    return shift + float(np.hypot(shift, far)) - far


def check() -> Check:
    """The numbers of the text as a finding: undecided, as four sizes are fitted to four numbers."""
    four = ", ".join(f"{mean_index(FITTED[4], kind, 4):.2f}" for kind in STATED)
    off = max(abs(mean_index(FITTED[3], kind, 3) - value) for kind, value in STATED.items())
    a, b, c, u = FITTED[4]
    return Check(
        "the toy world's indices",
        "2.90 before, 3.23 distance-based, 3.42 realistic, 2.35 balanced; sizes are not stated",
        None,
        f"mean distances and the theorems' four terms: a {a:.2f}, b {b:.2f}, c {c:.2f}, u {u:.2f} give {four} (four "
        f"sizes, four numbers); with the text's three terms the nearest has no overlap, and is {off:.3f} off; "
        f"Hausdorff distances cannot: the other three give {hausdorff_original():.2f} for 2.90",
    )
