"""What people of the wanted answer have in place of one's own: values of the nearest of them, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.base import Method
from wayforward.methods.engines.neighbours import NeighbourMetric
from wayforward.methods.engines.reference_values import choose_alike, reference_row, reference_values
from wayforward.methods.engines.references import References, heom
from wayforward.model import Access

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem


class Distractors(NamedTuple):
    """Different observed people with the wanted answer (R, d), and how near somebody is to them."""

    rows: np.ndarray
    metric: NeighbourMetric


def accepted_people(problem: Problem, name: str) -> Distractors | None:
    """Return the observed people who have the wanted answer; None for units, which know what replaces them.

    Raises: ProblemError where there is neither a table nor a unit, or nobody in the table has that answer.
    """
    schema = problem.schema
    if problem.reference is None and (schema.has_levels & schema.actionable).any() and schema.carried.any():
        return None
    rows = problem.require_reference()
    if not problem.reference_reached.any():
        raise ProblemError(
            f"'{name}' copies from people whom the model accepts, and it accepts nobody in the table that the problem "
            "was given. Check the target, or give a larger table."
        )
    return Distractors(np.unique(rows[problem.reference_reached], axis=0), heom(problem, "range"))


def distractor_values(people: Population, others: Distractors | None, many: int, limit: int) -> np.ndarray:
    """Return values (n, many, d), NaN where nothing changes: those of the nearest of other people, by HEOM.

    They are moved onto what each person may do, and those that do not turn the decision are passed over. Without
    others units are removed or replaced: by the first of what may take their place, in the next by the second, and so
    on, where the problem has several for a unit in its own place.
    """
    if others is not None:
        return References(people, others.rows, others.metric, project=True).usable(many, limit)[0]
    schema = people.schema
    out = np.full((people.n, many, people.d), np.nan)
    out[:, 0] = reference_values(people, reference_row(people.problem, "removed"))
    instead = 0 if choose_alike(schema) else int(schema.n_levels.max()) - 1
    for level in range(1, min(many, instead)):
        row = np.where(schema.has_levels & (schema.n_levels - 1 > level), level, np.nan)
        out[:, level] = reference_values(people, row)
    return out


class FromDistractors(Method):
    """A method that copies from what has the wanted answer: others_, the people of the table, or None for units."""

    needs: ClassVar[int] = Access.PROBABILITY
    copies_people: ClassVar[bool] = True

    def _copies(self, problem: Problem) -> bool:
        return (problem.table_left or problem.reference is not None) and super()._copies(problem)

    def _fit(self, problem: Problem) -> None:
        self.others_ = accepted_people(problem, self.name)
