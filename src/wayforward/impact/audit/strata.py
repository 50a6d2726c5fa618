"""A gap beside the same gap among people who are alike in something else (Simpson's paradox)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wayforward.impact.audit.gaps import plain_number
from wayforward.public import public


@public
@dataclass(frozen=True)
class Simpson:
    """A gap beside the same gap among people who are alike in something else, or only where both methods found a plan.

    whole: the gap as it is. within: mean of the gaps inside the strata, weighted by their people. turns: they point
    opposite ways. by: what the strata are. strata: how many held enough of both groups.
    """

    attribute: str
    metric: str
    first: str
    second: str
    by: str
    whole: float
    within: float
    strata: int
    n: int
    errors: tuple[float, float] = (0.0, 0.0)  # standard errors of both

    @property
    def turns(self) -> bool:
        """The direction is another within, and at least one of the two is clearer than chance makes it."""
        clear = abs(self.whole) > 1.96 * self.errors[0] or abs(self.within) > 1.96 * self.errors[1]
        return bool(self.whole * self.within < 0 and clear)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "metric": self.metric, "first": self.first, "second": self.second,
            "by": self.by, "whole": plain_number(self.whole), "within": plain_number(self.within),
            "strata": self.strata, "standard_errors": list(self.errors), "n": self.n, "turns": self.turns,
        }  # fmt: skip
