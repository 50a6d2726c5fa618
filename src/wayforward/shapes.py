"""Names for the shapes that every signature uses: n people, k options, d features, m candidate rows, s draws.

One vocabulary for the whole package: an array in a public signature has one of these types, so that the tests can check
it. Floats are float64 in feature units unless a docstring says otherwise.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

# people and their options
People: TypeAlias = Float[np.ndarray, "n d"]  # feature units; NaN where a value is missing
Actions: TypeAlias = Float[np.ndarray, "n k d"]  # the value a person sets; NaN where left alone
Costs: TypeAlias = Float[np.ndarray, "n k"]  # unit of the problem's cost; inf where empty
PerPerson: TypeAlias = Float[np.ndarray, " n"]
PersonMask: TypeAlias = Bool[np.ndarray, " n"]
OptionMask: TypeAlias = Bool[np.ndarray, "n k"]
FeatureMask: TypeAlias = Bool[np.ndarray, " d"]
PerFeature: TypeAlias = Float[np.ndarray, " d"]
Draws: TypeAlias = Float[np.ndarray, "s ... d"]  # what may follow from the same action, s times

# candidate rows, many a person
Rows: TypeAlias = Float[np.ndarray, "m d"]
PerRow: TypeAlias = Float[np.ndarray, " m"]
RowMask: TypeAlias = Bool[np.ndarray, " m"]
Who: TypeAlias = Int[np.ndarray, " m"]  # the person that a candidate row belongs to
Outputs: TypeAlias = Float[np.ndarray, "m c"]  # class probabilities or a prediction, one column a class

# any shape
Floats: TypeAlias = Float[np.ndarray, "..."]
Ints: TypeAlias = Int[np.ndarray, "..."]
Mask: TypeAlias = Bool[np.ndarray, "..."]
Points: TypeAlias = Float[
    np.ndarray, "... d"
]  # feature values along the last axis, whatever stands before it
PerPoint: TypeAlias = Float[np.ndarray, "..."]
