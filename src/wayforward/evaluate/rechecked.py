"""Plans after a change of the model: which of those that people were told still hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, shown
from wayforward.recourse import Recourse
from wayforward.schema import native_table
from wayforward.shapes import Costs, Mask, PersonMask

if TYPE_CHECKING:
    from wayforward.problem import Problem


class Still(Enum):
    """What is left of an option under another problem."""

    HOLDS = "holds"
    A_NO = "the model says no to it now"
    NOT_ALLOWED = "not allowed any more: by the schema, a rule or the person's limits"
    NOT_ENOUGH = "a yes, and not as plausible, as sure or as robust as is asked for now"
    NOT_NEEDED = "the person is accepted as they are now"


@dataclass(frozen=True)
class Rechecked:
    """Saved options of n people judged by another problem.

    answers: as people were told them. still (n, k): `Still` members, None in empty slots. cost, score (n, k): under the
    new problem; NaN in empty slots, score also where the model was not asked. accepted (n,): the new model says yes to
    the person as they are. elsewhere (n, k): in the world of the new problem the same acts lead elsewhere than was
    told, so that the rest is about a row that nobody was told.
    """

    answers: Recourse
    still: np.ndarray
    cost: Costs
    score: Costs
    accepted: PersonMask
    elsewhere: Mask

    @property
    def holds(self) -> Mask:
        """(n, k) bool: the option is one under the new problem, too."""
        return np.asarray(self.still == Still.HOLDS, dtype=bool)

    @classmethod
    def concat(cls, parts: Iterable[Rechecked]) -> Rechecked:
        """Join those of several groups of people. Raises: DataError without any."""
        every = list(parts)
        if not every:
            raise DataError("There are no answers to judge again. Give those of at least one person.")
        joined = {
            name: np.concatenate([getattr(part, name) for part in every])
            for name in ("still", "cost", "score", "accepted", "elsewhere")
        }
        return cls(Recourse.concat([part.answers for part in every]), **joined)

    def counts(self) -> dict[str, Any]:
        """People and options by what became of them.

        people_with_a_plan: who had one and was asked about. of them: still_have_one (some option holds),
        first_holds, lost_all (none holds, and they are refused still), accepted_now. refused_now: who was accepted, and
        is not any more. options: number of options by `Still`. lead_elsewhere: options whose acts have other
        consequences in the new problem's world than was told.
        """
        had = self.answers.found.any(1)
        have, accepted = self.holds.any(1), self.accepted & had
        options = {one.name: int((self.still == one).sum()) for one in Still}
        return {
            "people": self.answers.n,
            "people_with_a_plan": int(had.sum()),
            "still_have_one": int(have.sum()),
            "first_holds": int(self.holds[:, 0].sum()),
            "lost_all": int((had & ~have & ~accepted).sum()),
            "accepted_now": int(accepted.sum()),
            "refused_now": int((self.answers.accepted & ~self.accepted).sum()),
            "options": options,
            "lead_elsewhere": int(self.elsewhere.sum()),
        }

    def to_frame(self, like: Any = None) -> Any:
        """One row for each option: names, what is left of it, cost and score then and now; like: as of `Recourse`."""
        who, slot = np.nonzero(self.answers.found)
        columns: dict[str, Any] = {"person": who}
        if self.answers.origin is not None:
            own = self.answers.origin.columns(
                ("option", "still", "elsewhere", "cost", "cost_before", "score", "score_before")
            )
            columns |= {name: values[who] for name, values in own.items()}
        columns |= {
            "option": slot,
            "still": np.array([one.name for one in self.still[who, slot]], dtype=object),
            "cost": self.cost[who, slot],
            "cost_before": self.answers.cost[who, slot],
            "elsewhere": self.elsewhere[who, slot],
            "score": self.score[who, slot],
            "score_before": self.answers.score[who, slot],
        }
        return native_table(columns, like)

    def __repr__(self) -> str:
        c = self.counts()
        return (
            f"Rechecked({c['people_with_a_plan']} people with a plan: {c['still_have_one']} still have one, "
            f"{c['lost_all']} lost all, {c['accepted_now']} are accepted now)"
        )


def recheck(answers: Recourse | str | Path, problem: Problem) -> Rechecked:
    """Judge the options of saved answers by another problem, such as one with a model that was trained again.

    The acts are those that people were told, and what follows from them is worked out in the world of the problem. In
    the same world that is the exact row that people were told; where it is another, `elsewhere` says so. The new model
    itself is asked about it, and schema, rules, the people's limits and all that the problem asks for are looked at
    again. Who could not be read is left out of the counts. answers: from memory, or a file of `Recourse.save`;
    `wf.recheck` takes answers in shards, too.
    Example: ``wf.recheck("answers.parquet", new_problem).counts()``.
    Raises: DataError for a problem with other features or levels; FileFormatError.
    """
    from wayforward.problem import Problem

    if not isinstance(problem, Problem):
        raise DataError(f"recheck needs a wf.Problem with the new model; got {shown(problem)}.")
    if isinstance(answers, (str, Path)):
        answers = Recourse.load(answers)
    if not isinstance(answers, Recourse):
        raise DataError(f"recheck needs answers, or the file that holds them; got {shown(answers)}.")
    saved = answers.rounded
    saved.require_schema(problem.schema)
    still = np.full((saved.n, saved.k), None, dtype=object)
    cost, score = np.full((2, saved.n, saved.k), np.nan)
    accepted, elsewhere = np.zeros(saved.n, dtype=bool), np.zeros((saved.n, saved.k), dtype=bool)
    there = np.flatnonzero(saved.readable)
    if there.size:
        wishes = None if saved.preferences is None else saved.preferences.take(there)
        people = problem.population(saved.x[there], wishes)
        accepted[there] = problem.reached(people.x)[0]
        who, slot = np.nonzero(saved.found[there])
        action = saved.action[there[who], slot]
        decision = np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
        judged, good, _ = problem.judge_options(people, who, action, decision)
        asked_about = np.isfinite(judged.value)
        yes = np.zeros(len(who), dtype=bool)
        yes[asked_about] = problem.reached(judged.after[asked_about])[0]
        end = np.full(len(who), Still.NOT_ALLOWED, dtype=object)
        for mask, one in ((asked_about, Still.A_NO), (yes, Still.NOT_ENOUGH), (good, Still.HOLDS)):
            end[mask] = one
        end[accepted[there[who]]] = Still.NOT_NEEDED
        still[there[who], slot] = end
        elsewhere[there[who], slot] = problem.schema.differs(judged.after, saved.after[there[who], slot]).any(
            1
        )
        cost[there[who], slot], score[there[who], slot] = judged.cost, judged.value
    return Rechecked(saved, still, cost, score, accepted, elsewhere)
