"""Is a curve flat? Does a random effect vary? Approximate p-values of the terms of a fitted model.

Source: S. N. Wood (2013), On p-values for smooth components of an extended generalized additive model, Biometrika
100(1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, f

Values = NDArray[np.float64]


def curve_test(
    design: Values, b: Values, covariance: Values, rank: float, rest: float | None
) -> tuple[float, float]:
    """Statistic and p-value of 'the curve is zero': a Wald test on the `rank` directions that the data speak of.

    design: (n, c) columns of the curve. b, covariance: of its coefficients (c,), (c, c). rank: its reference degrees
    of freedom, at most c. rest: residual degrees of freedom where the scale was estimated, else None.
    """
    r: Values = np.asarray(np.linalg.qr(design, mode="r"))
    value, vector = np.linalg.eigh(r @ covariance @ r.T)
    value, vector = value[::-1], vector[:, ::-1]
    full, part = int(np.floor(rank)), rank - np.floor(rank)
    score = (vector.T @ (r @ b)) / np.sqrt(np.maximum(value, value[0] * 1e-14))  # unit variance each
    if part < 1e-3 or full == 0 or full == len(score):
        found = np.array([(score[: max(full, 1)] ** 2).sum()])
    else:
        first, second = score[full - 1 : full + 1]  # the last whole direction and the one in part
        both = 2 * np.sqrt(part * (1 - part) / 2) * first * second
        # The sign of an eigenvector is arbitrary, so that both are tried.
        found = (score[: full - 1] ** 2).sum() + first**2 + part * second**2 + np.array([both, -both])
    # Mean `rank` and variance 2 `rank`, as a chi-square with so many degrees of freedom.
    p = chi2.sf(found, rank) if rest is None else f.sf(found / rank, rank, rest)
    return float(found.mean()), float(p.mean())


def boundary_test(ratio: float) -> float:
    """P-value of a variance that is zero by a likelihood ratio, half of whose chance lies at zero."""
    return float(chi2.sf(ratio, 1) / 2) if ratio > 1e-6 else 1.0
