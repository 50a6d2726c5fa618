"""nearest-observable: become like the nearest observed person whom the model accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.references import References, l1_metric
from wayforward.methods.settings import require_setting
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class NearestObservable(Method):
    """Propose the nearest accepted people of the reference table, under the problem's cost, nearest first.

    With `project` (the default) each accepted row is first moved onto what the person may do: features that they
    cannot act on keep their own value, the others go as far towards the row as limits allow; what then still reaches
    the decision is proposed. `project=False` is the published filter: only rows that need no forbidden change. Exact
    over the table: rows are asked in order of cost until k are usable, or the budget or the table ends. In a causal
    world the row says what to act on, and its consequences are judged.

    pool: at most this many accepted rows, evenly taken from the table; None for all.
    Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="nearest-observable", k=3)``.
    Source: J. Wexler, M. Pushkarna, T. Bolukbasi, M. Wattenberg, F. Viegas, J. Wilson (2020), The What-If Tool,
    IEEE TVCG 26(1); arXiv:1907.04135.
    """

    name: ClassVar[str] = "nearest-observable"
    summary: ClassVar[str] = "the nearest accepted people of the table, moved onto what the person may do"
    citation: ClassVar[str] = (
        "Wexler, Pushkarna, Bolukbasi, Wattenberg, Viegas & Wilson (2020), IEEE TVCG 26(1)"
    )
    needs_data: ClassVar[bool] = True
    copies_people: ClassVar[bool] = True

    project: bool = True
    pool: int | None = None

    def __post_init__(self) -> None:
        some = self.pool is None or self.pool >= 1
        require_setting(self, "pool", some, "Use 1 or more rows, or None for all.")

    def _fit(self, problem: Problem) -> None:
        self.rows_ = thinned(np.unique(problem.reference_accepted, axis=0), self.pool)
        self.metric_ = l1_metric(problem.cost)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        references = References(people, self.rows_, self.metric_, project=self.project)
        action, _ = references.usable(k, budget.rows_or(20_000))
        return action


def thinned(rows: np.ndarray, most: int | None) -> np.ndarray:
    """Return at most `most` rows, evenly taken, so that the choice depends on no seed."""
    if most is None or len(rows) <= most:
        return np.ascontiguousarray(rows)
    return np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)])
