"""Names for the shapes that every signature uses: n people, k options, d features, m candidate rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

People: TypeAlias = Float[np.ndarray, "n d"]  # feature units; NaN where a value is missing
Actions: TypeAlias = Float[np.ndarray, "n k d"]  # the value a person sets; NaN where left alone
Costs: TypeAlias = Float[np.ndarray, "n k"]  # unit of the problem's cost; inf where empty
Rows: TypeAlias = Float[np.ndarray, "m d"]  # candidate rows, many a person
PerRow: TypeAlias = Float[np.ndarray, " m"]
Outputs: TypeAlias = Float[np.ndarray, "m c"]  # class probabilities or a prediction, one column a class
Who: TypeAlias = Int[np.ndarray, " m"]  # the person that a candidate row belongs to
Mask: TypeAlias = Bool[np.ndarray, "..."]
PerFeature: TypeAlias = Float[np.ndarray, " d"]
