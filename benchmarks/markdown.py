"""Tables as the pages of the benchmarks write them."""

from __future__ import annotations


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is aligned to the left and the others to the right."""
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, align, *rows))
