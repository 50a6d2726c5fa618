"""What a paper reads out of its tables, asked of our numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that the paper found, and whether it was found again; or, with `aim`, one that we set ourselves.

    holds: True, False, or None where the difference is within the error of sampling. measured: the numbers.
    """

    name: str
    statement: str
    holds: bool | None
    measured: str
    aim: bool = False

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.aim:
            return {True: "met", False: "not met", None: "undecided"}[self.holds]
        return {True: "as published", False: "not as published", None: "undecided"}[self.holds]


def falls(values: Mapping[str, float], slack: float = 0.0) -> bool:
    """Does every number lie below the one before it (or above it by no more than `slack`)?"""
    numbers = list(values.values())
    return all(later < earlier + slack for earlier, later in itertools.pairwise(numbers))


def listed(values: Mapping[str, float]) -> str:
    """The numbers in words: 'all 4 .92, 3 .80'."""
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def findings(found: Sequence[Check]) -> str:
    """The findings as a Markdown table."""
    if not found:
        return ""
    out = ["", "| finding | as stated | measured | verdict |", "| --- | --- | --- | --- |"]
    out += [f"| {c.name} | {c.statement} | {c.measured} | {c.verdict} |" for c in found]
    return "\n".join(out) + "\n"
