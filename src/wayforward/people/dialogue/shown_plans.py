"""Plans as one person sees them: minimal, with room, in round numbers, judged after that, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import consequences, steps, words
from wayforward.answers.kinds_text import margin_text, room_text
from wayforward.answers.region_text import region_text
from wayforward.answers.time_text import steps_text, time_text
from wayforward.language import gettext, language, use_language
from wayforward.people.dialogue.state import digest, numbers, row_of
from wayforward.people.dialogue.wishes import Wish, preferences_of
from wayforward.people.plan_order import alike, asks_more
from wayforward.problem import as_told
from wayforward.problem.room import USUAL_ROOM, USUAL_SHARE
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.methods.action_sequences import ActionSequences
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Problem


@dataclass(frozen=True)
class ShownPlan:
    """A plan as shown: round numbers, judged after rounding. action, after (d,); cost in the problem's unit.

    steps, follows: what to do and what comes of it by itself, in English: a state hangs on no language;
    `PlanRounder.translated` gives them in the one in use. order (d,): the place of each act, where they have one. acts,
    months: of a plan that is a sequence of named acts, these in order, and how long they take.
    """

    action: np.ndarray
    after: np.ndarray
    cost: float
    steps: tuple[str, ...]
    follows: tuple[str, ...]
    order: tuple[int, ...] | None = None
    acts: tuple[str, ...] = ()
    months: float | None = None

    def stored(self) -> dict[str, Any]:
        """The plan as plain data; `of` is its reverse."""
        rows = {"action": list(numbers(self.action)), "after": list(numbers(self.after))}
        plan = {**rows, "cost": self.cost, "steps": list(self.steps), "follows": list(self.follows)}
        plan |= {"acts": list(self.acts), "months": self.months} if self.acts else {}
        return plan if self.order is None else {**plan, "order": list(self.order)}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> ShownPlan:
        """The plan that `stored` told."""
        action, after = row_of(stored["action"]), row_of(stored["after"])
        order = tuple(stored["order"]) if "order" in stored else None
        texts = tuple(stored["steps"]), tuple(stored["follows"])
        acts, months = tuple(stored.get("acts", ())), stored.get("months")
        return cls(action, after, float(stored["cost"]), *texts, order, acts, months)

    @property
    def lines(self) -> tuple[str, ...]:
        """What to do, and what comes of it by itself."""
        return (*self.steps, *self.follows)

    @property
    def name(self) -> str:
        """The same for plans that read alike."""
        return digest([*self.lines])


class PlanRounder:
    """Round and judge the plans of one person, x (1, d); what was judged before is not judged again.

    value: what the model itself says about the person. walker: a method of named acts; then a plan is one to whose end
    state a sequence of them leads, and stays as it is where none leads to round numbers.
    """

    def __init__(
        self, problem: Problem, x: np.ndarray, value: float, walker: ActionSequences | None = None
    ) -> None:
        self.problem, self.schema, self.x, self.value = problem, problem.schema, x, value
        self.walker = walker
        self._people = problem.population(x)
        self._judged: dict[Any, ShownPlan | None] = {}  # by limits, action and order
        self._translated: dict[tuple[str, str], ShownPlan] = {}  # by name and language

    def shown(
        self, action: np.ndarray, wishes: Sequence[Wish], order: np.ndarray | None = None
    ) -> list[ShownPlan | None]:
        """Return actions (c, d) as plans that keep every wish and reach a yes, told as in letters; None for others."""
        marks = [b"" if order is None else row.tobytes() for row in (action if order is None else order)]

        def judged(new: list[int], own: Preferences) -> list[ShownPlan | None]:
            return self.judged(action[new], own, None if order is None else order[new])

        return self._once(action, wishes, marks, judged)

    def as_they_are(self, action: np.ndarray, wishes: Sequence[Wish]) -> list[ShownPlan | None]:
        """Return actions (c, d) that were told already, where they keep every wish and reach a yes; None for others."""

        def judged(new: list[int], own: Preferences) -> list[ShownPlan | None]:
            got = self._checked(action[new], own)
            if self.walker is not None:
                return self._in_words(self.walker.walked(got))
            return self._in_words(replace(got, meta=got.meta | {"rounded": True}))

        return self._once(action, wishes, [b"told"] * len(action), judged)

    def _once(
        self,
        action: np.ndarray,
        wishes: Sequence[Wish],
        marks: Sequence[bytes],
        judged: Callable[[list[int], Preferences], list[ShownPlan | None]],
    ) -> list[ShownPlan | None]:
        """Return what `judged` makes of actions (c, d) under the wishes; what was judged before is not judged again."""
        limits = len(wishes), digest(wishes)
        keys = [(limits, row.tobytes(), mark) for row, mark in zip(action, marks, strict=True)]
        new = [i for i, key in enumerate(keys) if key not in self._judged]
        if new:
            own = preferences_of(self.schema, wishes).take(np.zeros(len(new), dtype=np.int64))
            self._judged.update({keys[i]: plan for i, plan in zip(new, judged(new, own), strict=True)})
        return [self._judged[key] for key in keys]

    def judged(
        self, action: np.ndarray, own: Preferences, order: np.ndarray | None = None
    ) -> list[ShownPlan | None]:
        """Return actions (c, d), own with n = c, without what they do not need and as they are told (`as_told`)."""
        if self.walker is not None:
            got = self._checked(action, own)
            coarse = self._in_words(self.walker.walked(got.rounded), order)
            exact = [None] * len(coarse) if all(coarse) else self._in_words(self.walker.walked(got), order)
            return [one or other for one, other in zip(coarse, exact, strict=True)]
        return self._in_words(as_told(self._checked(action, own, minimal=True)), order)

    def _checked(self, action: np.ndarray, own: Preferences, minimal: bool = False) -> Recourse:
        """Actions (c, d) as one option each, own with n = c; the model is not asked about the person again."""
        c = len(action)
        decided = np.zeros(c, dtype=bool), np.full(c, self.value)
        x = np.repeat(self.x, c, axis=0)
        return self.problem.check(x, action[:, None], 1, preferences=own, decision=decided, minimal=minimal)

    def _in_words(self, got: Recourse, order: np.ndarray | None = None) -> list[ShownPlan | None]:
        """The first option of each row as a plan; None where there is none."""
        out: list[ShownPlan | None] = []
        for one in range(got.n):
            if not got.found[one, 0] or (self.walker is not None and not got.steps[one, 0]):
                out.append(None)
                continue
            own_order = None if order is None or (order[one] < 0).all() else tuple(order[one].tolist())
            with use_language("en"):
                sentences, follows = self._steps(got, one, own_order), self._follows(got, one)
            cost, acts = float(got.cost[one, 0]), tuple(filter(None, got.steps[one, 0].split("\n")))
            months = float(got.months[one, 0]) if acts and np.isfinite(got.months[one, 0]) else None
            rows = got.action[one, 0], got.after[one, 0]
            out.append(ShownPlan(*rows, cost, sentences, follows, own_order, acts, months))
        return out

    def translated(self, plan: ShownPlan) -> ShownPlan:
        """Return a plan with its sentences in the language in use. Its name changes with them: do not keep it."""
        if language() == "en":
            return plan
        key = plan.name, language()
        if key not in self._translated:
            got = self._alone(plan)
            texts = self._steps(got, 0, plan.order), self._follows(got, 0)
            self._translated[key] = replace(plan, steps=texts[0], follows=texts[1])
        return self._translated[key]

    def slack(self, plan: ShownPlan, wishes: Sequence[Wish]) -> list[str]:
        """What else is enough for a yes, within the wishes, than the plan's own numbers; how it bears small slips."""
        own = preferences_of(self.schema, wishes)
        one = replace(self._alone(plan), preferences=own, problem=self.problem)
        sentences = [region_text(one, 0), margin_text(one, 0)]
        if sentences[1] and self.problem.model.has_fast_path and one.margin[0, 0] >= USUAL_SHARE - 1e-9:
            sentences.append(room_text(replace(one, meta={"room": {"most": USUAL_ROOM, "moved": 1}})))
        return [*filter(None, sentences)]

    def _alone(self, plan: ShownPlan) -> Recourse:
        """An answer that holds one plan, as it was judged."""
        one = np.ones((1, 1))
        months = self.problem.months(self.x, plan.action[None], plan.after[None])[:, None]
        months = months if plan.months is None else plan.months * one
        return Recourse(
            schema=self.schema, x=self.x, action=plan.action[None, None], after=plan.after[None, None],
            cost=plan.cost * one, score=np.nan * one, outcome=np.full((1, 1), Outcome.FOUND),
            seconds=np.zeros(1), months=months if self.schema.timed or plan.months is not None else np.empty((0, 0)),
            steps=np.full((1, 1), "\n".join(plan.acts), dtype=object), meta=self.problem.leads,
        )  # fmt: skip

    def _follows(self, got: Recourse, i: int) -> tuple[str, ...]:
        """What comes of plan i by itself, and how long it takes, in sentences."""
        return (*consequences(got, i), *filter(None, [steps_text(got, 0, i), time_text(got, 0, i)]))

    def asks_more(self, plan: ShownPlan, other: ShownPlan) -> bool:
        """Whether a plan does all that another one does, at least as far; a plan does not ask for more than itself."""
        if plan.name == other.name:
            return False
        both = np.stack([other.action, plan.action])[None]
        rival = np.array([[[False, False], [True, False]]])
        return bool(asks_more(self._people, np.zeros(1, dtype=np.int64), both, rival)[0, 1])

    def alike(self, plan: ShownPlan, other: ShownPlan) -> bool:
        """Whether nobody would call the two a choice."""
        one, two = plan.action[None], other.action[None]
        return plan.name == other.name or bool(alike(self._people, np.zeros(1, dtype=np.int64), one, two)[0])

    def _steps(self, got: Recourse, i: int, order: Sequence[int] | None) -> tuple[str, ...]:
        """The steps of plan i in sentences, in the order of the acts where they have one."""
        if order is None:
            return tuple(steps(got, i))
        acts = sorted(np.flatnonzero(~np.isnan(got.action[i, 0])).tolist(), key=lambda j: (order[j], j))
        texts = [words.change_text(self.schema.features[j], got.x[i, j], got.action[i, 0, j]) for j in acts]
        return tuple(
            words.sentence(text if place == 0 else gettext("then {step}", step=text))
            for place, text in enumerate(texts)
        )
