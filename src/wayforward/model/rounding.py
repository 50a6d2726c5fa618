"""How far a sum in floating point can be from the sum."""

from __future__ import annotations

import numpy as np

DOUBLE_UNIT, SINGLE_UNIT = 2.0**-53, 2.0**-24  # roundoff of one operation
OPERATIONS = 16  # roundings on a term's way into a sum beside the sum's own: encoding, folding, products


def roundoff(terms: int, unit: float) -> float:
    """How far a sum of so many terms, computed in any order, can be from ours, relative to the sum of their sizes.

    Theirs has the given unit, ours is in double precision. Source: N. J. Higham (2002), Accuracy and Stability of
    Numerical Algorithms, section 4.2: gamma_n = n u / (1 - n u).
    """
    lost = (terms + OPERATIONS) * (unit + DOUBLE_UNIT)
    return lost / (1.0 - lost) if lost < 0.5 else np.inf
