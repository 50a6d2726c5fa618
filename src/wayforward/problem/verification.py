"""Is recourse possible at all? A verdict for each person, whatever method searches, and how it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.problem.proofs import out_of_reach
from wayforward.problem.reachable import Ways
from wayforward.recourse import Outcome, Recourse
from wayforward.shapes import Ints, Mask, People, Rows

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem

_FEW = 4_096  # actions that are listed before bounds are tried


@dataclass(frozen=True, eq=False)
class Verification:
    """Whether recourse is possible at all for n people, whatever method searches.

    verdict (n,): 'possible', 'none', 'open', or 'accepted'. by (n,): how that is known: 'listed' (all that the person
    can reach was judged), 'proved' (bounds on the model over everything within reach, or an exact search), 'found' (an
    option), ''. judged (n,): allowed actions that were listed and judged, up to the first option. action (n, d): of
    who has recourse, one way; NaN elsewhere.
    """

    verdict: np.ndarray
    by: np.ndarray
    judged: Ints
    action: People

    def certificate(self, i: int) -> dict[str, Any]:
        """Return what is known of person i as plain data, without their row."""
        return {
            "person": int(i), "verdict": str(self.verdict[i]), "by": str(self.by[i]), "judged": int(self.judged[i]),
        }  # fmt: skip

    def counts(self) -> dict[str, int]:
        """Return how many people there are of each verdict; of 'none' apart by how it is known."""
        none = self.verdict == "none"
        return {
            "possible": int((self.verdict == "possible").sum()),
            "none_listed": int((none & (self.by == "listed")).sum()),
            "none_proved": int((none & (self.by == "proved")).sum()),
            "open": int((self.verdict == "open").sum()),
            "accepted": int((self.verdict == "accepted").sum()),
        }


def verify(
    problem: Problem,
    x: Any,
    preferences: Preferences | None = None,
    most: int = 1_000_000,
    answer: Recourse | None = None,
) -> Verification:
    """Say for each of the people x (a table or (n, d)) whether any allowed action leads to the decision.

    Small sets of what a person can reach are listed and judged; then come bounds (`problem.proofs`), then sets of up to
    `most` actions. answer: what a method found for the same people; its options and its proofs count, so that less
    stays open. That of another problem or of a file is judged by this one first. A person's verdict depends on nobody
    else.
    Raises: DataError for an answer about other people or other preferences.
    Example: ``verify(problem, refused, answer=found).counts()``.
    """
    rows = problem.schema.encode(x)
    people = problem.population(rows, preferences)
    if answer is not None and answer.x.shape != rows.shape:
        raise DataError(
            f"The answer is about {answer.n} people, and there are {len(rows)}. Give the answer to these people."
        )
    if answer is not None and not np.array_equal(answer.x, rows, equal_nan=True):
        raise DataError("The answer is about other people. Give the answer to these people, in this order.")
    if answer is not None and not same_wishes(answer.preferences, preferences):
        raise DataError("The answer is to other preferences. Ask again with those of these people.")
    if answer is not None and answer.problem is not problem:
        answer = answer.judged_by(problem)  # what another model said, or a file says, is no proof here
    return verdicts(people, problem.reached(rows)[0], most, answer)


def same_wishes(one: Preferences | None, other: Preferences | None) -> bool:
    """Whether people wish the same; None: nobody wishes anything."""
    some = other if one is None else one
    if some is None:
        return True
    none = some.none(some.schema, len(some.frozen))
    first, second = ((none if each is None else each).as_rows() for each in (one, other))
    return np.array_equal(first, second, equal_nan=True)


def verdicts(people: Population, accepted: Mask, most: int, answer: Recourse | None = None) -> Verification:
    """Return the verdict of each person; accepted (n,) bool: who needs nothing; answer: what a method found."""
    n = people.n
    verdict, by = np.full(n, "open", dtype=object), np.full(n, "", dtype=object)
    judged, action = np.zeros(n, dtype=np.int64), np.full((n, people.d), np.nan)

    def settle(who: Ints, what: str, how: str) -> None:
        verdict[who], by[who] = what, how

    settle(np.flatnonzero(accepted), "accepted", "")
    if answer is not None:
        first = answer.found[:, 0]
        action[first] = answer.action[first, 0]
        settle(np.flatnonzero(first), "possible", "found")
    for limit in (min(_FEW, most), most):
        who = np.flatnonzero(verdict == "open")
        ways = Ways.of(people.take(who), limit)
        found, judged[who] = _first_options(ways.people, ways)
        there = ~np.isnan(found).all(1)
        action[who[there]] = found[there]
        settle(who[there], "possible", "found")
        settle(who[ways.complete & ~there], "none", "listed")
        if answer is not None:
            who = np.flatnonzero((verdict == "open") & (answer.outcome[:, 0] == Outcome.NONE_EXISTS))
            settle(who, "none", "proved")
        who = np.flatnonzero(verdict == "open")
        settle(who[out_of_reach(people.take(who))], "none", "proved")
        if limit == most:
            break
    return Verification(verdict, by, judged, action)


def _first_options(people: Population, ways: Ways) -> tuple[Rows, Ints]:
    """Return an option (n, d) of each person who has one among all ways, NaN for others, and how many were judged."""
    problem = people.problem
    refused = np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
    found, count = np.full((people.n, people.d), np.nan), np.zeros(people.n, dtype=np.int64)
    open_, each = np.flatnonzero(ways.complete), 256
    for owner, action in ways.walk(open_, each):
        left = np.isnan(found[owner]).all(1)
        owner, action = owner[left], action[left]
        count += np.bincount(owner, minlength=people.n)
        after = people.after(owner, action)
        bounds = problem.model.box_bounds(after, after) if len(after) else None
        if bounds is not None:
            may = np.flatnonzero(~problem.bound_target.surely_missed(bounds.least, bounds.most))
            owner, action = owner[may], action[may]
        if len(owner):
            good = problem.judge_options(people, owner, action, refused)[1]
            first = np.flatnonzero(good)[::-1]
            found[owner[first]] = action[first]
    return found, count
