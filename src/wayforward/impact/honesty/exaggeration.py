"""What somebody gains who misreports one feature: the share of refused people whose answer it turns, by how far.

Source: the question of M. Hardt, N. Megiddo, C. Papadimitriou, M. Wootters (2016), Strategic classification, ITCS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import Estimate
from wayforward.impact.privacy import FEWEST_SPREAD, rate_of_enough
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.shapes import People

SIZES = (0.02, 0.05, 0.1, 0.25, 1.0)  # of a feature's range


@public
@dataclass(frozen=True)
class Exaggeration:
    """One feature. turned: share of refused people who get a yes by misreporting it alone, by at most each of `sizes`,
    shares of the feature's range; a feature with levels has one size, any other level. least: the median of the least
    of these sizes among those whom it turns, None of fewer than ten. actionable: they might do what they only say.
    Shares of fewer than three people are withheld."""

    feature: str
    sizes: tuple[float, ...]
    turned: tuple[Estimate, ...]
    least: float | None
    actionable: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "sizes": list(self.sizes), "turned": [one.to_dict() for one in self.turned]}


@public
def exaggeration(problem: Problem, x: People) -> list[Exaggeration]:
    """Misreport each feature of refused people x (n, d) alone, within what the schema calls legal; most gained first.

    Whatever depends on the feature in a causal world stays as it is: a false report moves nothing.
    """
    schema, out = problem.schema, []
    for j in np.flatnonzero(~schema.carried):
        if schema.has_levels[j]:
            sizes: tuple[float, ...] = (1.0,)
            reports = np.broadcast_to(
                np.arange(schema.n_levels[j], dtype=float), (len(x), int(schema.n_levels[j]))
            )
            size_of = np.zeros(reports.shape[1], dtype=np.int64)
        else:
            sizes = SIZES
            steps = np.array([sign * size for size in SIZES for sign in (-1, 1)]) * problem.range_widths[j]
            reports = schema.snap(x[:, j, None] + steps, columns=int(j))
            size_of = np.repeat(np.arange(len(SIZES)), 2)
        rows = np.repeat(x[:, None], reports.shape[1], axis=1)
        rows[:, :, j] = np.where(np.isnan(x[:, j, None]), np.nan, reports)
        yes = problem.reached(rows.reshape(-1, schema.d))[0].reshape(len(x), -1)
        turned = np.stack([(yes & (size_of <= s)).any(1) for s in range(len(sizes))])  # (sizes, n)
        some = turned[-1]
        least = None
        if some.sum() >= FEWEST_SPREAD:
            least = float(np.median(np.asarray(sizes)[turned[:, some].argmax(0)]))
        shares = tuple(rate_of_enough(one) for one in turned)
        out.append(Exaggeration(schema.names[j], sizes, shares, least, bool(schema.actionable[j])))
    return sorted(out, key=lambda one: -one.turned[-1].value if one.turned[-1].n else 0.0)


__all__ = ["SIZES", "Exaggeration", "exaggeration"]
