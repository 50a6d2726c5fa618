"""The page of all data cards: ``python -m wayforward.data.cards docs/datasets.md`` writes it."""

from __future__ import annotations

import sys

from wayforward.data import catalogue, load
from wayforward.plain_files import write_text


def page(path: str | None = None) -> str:
    """The cards of all data sets, each in its default form, as one markdown page."""
    parts = [
        "# Data sets\n",
        '`wayforward.datasets.load(name)` gives the table below; `load("name:variant")` or `load(name, '
        'variant="a+b")` another form. Files are looked for in the `path` argument, in the folders that '
        "`WAYFORWARD_DATA` lists, in the user's cache, and are then fetched from their public home where "
        "the terms "
        "allow it; their content is checked against a known sha256. `loan` needs no file.\n",
        "In every table 1 is the favourable label. 'fixed' is immutable, 'follows' changes only as a "
        "consequence.\n",
        "This page is written by `python -m wayforward.data.cards docs/datasets.md`.\n",
    ]
    for entry in catalogue():
        text = load(entry.name, path=path).card()
        words = "".join(f"- `{word}`: {what}\n" for word, what in entry.variants.items())
        parts.append(text + (f"\nVariants:\n\n{words}" if words else ""))
    return "\n".join(parts)


if __name__ == "__main__":
    write_text(sys.argv[1], page())
