"""What a conversation begins with, and what is on its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wayforward.people.dialogue.dead_ends import Relaxation
from wayforward.people.dialogue.questionnaire import QuestionnaireItem
from wayforward.people.dialogue.shown_plans import ShownPlan
from wayforward.people.dialogue.state import digest, numbers, row_of
from wayforward.people.dialogue.wishes import Wish
from wayforward.people.elicitor import fitted_base

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.methods.action_sequences import ActionSequences
    from wayforward.people.elicitor import Elicitor
    from wayforward.problem import Problem

# What is to be said before a question: {"wish": ...}, a limit that was noted; {"page": [...], "unread": [...]}, limits
# that were noted and the parts beside them that were not read; {"turned": True}, a choice that goes
# against an earlier one; in states of older releases the text itself.
Note: TypeAlias = dict[str, Any] | str
PLANS = ("first", "pair", "accept", "last", "final", "recall")


@dataclass
class PendingQuestion:
    """The question on the table. what: limit questions as in the questionnaire, one of PLANS, or reconsider."""

    what: str
    item: QuestionnaireItem | None = None
    plans: list[ShownPlan] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # which option of the session each plan is
    relaxations: list[Relaxation] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """A fingerprint of what is shown; words aside, so that a better sentence does not spoil a stored state."""
        rows = [plan.action for plan in (*self.plans, *(one.plan for one in self.relaxations))]
        shown = np.stack(rows) if rows else np.zeros((0, 1))
        key = None if self.item is None else self.item.key
        return digest(self.what, key, shown, [one.wishes for one in self.relaxations])


@dataclass(frozen=True)
class DialogueSetup:
    """Everything besides the replies. first_plans: the method of them, or its name. wishes: limits known before;
    start (d,): a plan that was reached before.

    spent: questions about plans that were answered before. declined: names of plans that were not good enough.
    edges: plans chosen over others, by name. until: the last day on which the lender keeps to it, in words. today: the
    day from which deadlines count; None: the day on which they are said.
    """

    problem: Problem
    x: np.ndarray  # (1, d)
    elicitor: Elicitor
    first_plans: str | Method
    parts: tuple[str, ...]
    seed: int
    wishes: tuple[Wish, ...] = ()
    start: np.ndarray | None = None
    spent: int = 0
    declined: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    until: str = ""
    today: date | None = None

    @cached_property
    def base(self) -> Method:
        """The method that makes first plans, fitted when it is first asked for: who is shown what was found before
        needs none."""
        return fitted_base(self.first_plans, None, self.problem)

    @property
    def walker(self) -> ActionSequences | None:
        """The base method where it is one of named acts, which is always given as an object."""
        if isinstance(self.first_plans, str):
            return None
        from wayforward.methods.action_sequences import ActionSequences

        return self.base if isinstance(self.base, ActionSequences) else None

    def stored(self) -> dict[str, Any]:
        """What is known before the first reply, as plain data; `given` is its reverse."""
        return {
            "parts": list(self.parts),
            "wishes": list(self.wishes),
            "start": None if self.start is None else numbers(self.start),
            "spent": self.spent,
            "declined": sorted(self.declined),
            "edges": [list(edge) for edge in self.edges],
        }

    @staticmethod
    def given(stored: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that `stored` told. Raises: KeyError, TypeError or ValueError for what is none of it."""
        return {
            "parts": tuple(stored["parts"]),
            "wishes": tuple(stored["wishes"]),
            "start": None if stored["start"] is None else row_of(stored["start"]),
            "spent": int(stored["spent"]),
            "declined": tuple(stored["declined"]),
            "edges": tuple((a, b) for a, b in stored["edges"]),
        }
