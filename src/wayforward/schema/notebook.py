"""Small tables for notebooks: everything escaped, nothing but text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from wayforward.errors import harmless

_MOST = 30  # rows that are shown


def small_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str] = ()
) -> str:
    """Return an HTML table under a title, its first rows only, with notes below."""
    cells = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(v))}</td>" for v in row) + "</tr>" for row in rows[:_MOST]
    )
    more = [f"... and {len(rows) - _MOST:,} more"] if len(rows) > _MOST else []
    below = "".join(f"<p>{escape(note)}</p>" for note in [*more, *notes])
    return harmless(
        f"<div><p><b>{escape(title)}</b></p><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
        f"{below}</div>"
    )


def _text(value: Any) -> str:
    """A number short, nothing for one that is not there."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.4g}" if math.isfinite(value) else ""
