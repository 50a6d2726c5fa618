"""The numba twin of the loop over features in `memory`; imported only where numba is present."""

from __future__ import annotations

from typing import Any

from wayforward.compiling import kernel


@kernel
def gaps(a: Any, a_value: Any, b: Any, b_value: Any, categorical: Any, gap: Any, dot: Any) -> None:
    """How far rows (c, p, d) are from rows (c, q, d), and their products: gap, dot (c, p, q); the same bits."""
    for c in range(a.shape[0]):
        for p in range(a.shape[1]):
            for q in range(b.shape[1]):
                far, product = 0.0, 0.0
                for j in range(a.shape[2]):
                    one, two = a[c, p, j], b[c, q, j]
                    if not categorical[j]:
                        far += abs(one - two)
                        product += one * two
                    elif a_value[c, p, j] == b_value[c, q, j]:
                        product += one * two
                    else:
                        far += max(one, two)
                gap[c, p, q], dot[c, p, q] = far, product
