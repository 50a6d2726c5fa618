"""Numbers as people type them into forms."""

from __future__ import annotations

import math

from wayforward.language import language


def typed_number(text: str) -> float | None:
    """Return a number with the marks of the language in use, or with a plain point; None for what is none.

    >>> typed_number("2,500.5"), typed_number("2500"), typed_number("1e3"), typed_number("x")
    (2500.5, 2500.0, 1000.0, None)
    """
    from babel.numbers import NumberFormatError, parse_decimal

    bare = "".join(text.split())
    try:
        value = float(parse_decimal(bare, locale=language(), strict=True))
    except (NumberFormatError, ValueError):  # "2500.5" where others write "2500,5"
        try:
            value = float(bare)
        except ValueError:
            return None
    return value if math.isfinite(value) else None
