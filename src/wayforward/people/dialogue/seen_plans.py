"""What one person has seen and said about it: which plan is ahead, and which others are still worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.people.dialogue.lessons import Compared, circle, effort, reluctance

if TYPE_CHECKING:
    from wayforward.people.dialogue.shown_plans import PlanRounder, ShownPlan
    from wayforward.people.dialogue.wishes import Wish


class SeenPlans:
    """Plans that were shown, in order; nothing that was seen is lost.

    declined: names of those that would not do; revived: declined, and preferred to others since. edges: (better, worse)
    by name. compared: the same as rows. marked: names of those that the person marked. pairs: names of those that stood
    side by side.
    """

    def __init__(self, declined: Sequence[str] = (), edges: Sequence[tuple[str, str]] = ()) -> None:
        self.plans: list[ShownPlan] = []
        self.declined, self.revived = set(declined), set[str]()
        self.edges, self.compared = list(edges), list[Compared]()
        self.marked: list[str] = []
        self.pairs = set[tuple[str, ...]]()

    @property
    def names(self) -> set[str]:
        """Names of all plans that were seen."""
        return {plan.name for plan in self.plans}

    def add(self, plan: ShownPlan) -> None:
        """Note a plan that is on the screen."""
        if plan.name not in self.names:
            self.plans.append(plan)

    def mark(self, name: str) -> None:
        """Keep a plan for the end; a second time: no longer."""
        self.marked = (
            [one for one in self.marked if one != name] if name in self.marked else [*self.marked, name]
        )

    def decline(self, plan: ShownPlan) -> None:
        """Note that a plan will not do."""
        self.declined.add(plan.name)
        self.revived.discard(plan.name)

    def will_do(self, plan: ShownPlan) -> bool:
        """Whether nobody declined the plan, or preferred it to others since."""
        return plan.name not in self.declined - self.revived

    def prefer(self, taken: ShownPlan, others: Sequence[ShownPlan]) -> bool:
        """Note a choice; return True where it contradicts an earlier one. The last word counts."""
        turned = any(circle(self.edges, taken.name, other.name) for other in others)
        self.compared += [Compared(taken.after, other.after) for other in others]
        if turned:
            names = {taken.name, *(other.name for other in others)}
            self.edges = [edge for edge in self.edges if not set(edge) <= names]
        self.revived.add(taken.name)
        self.edges += [(taken.name, other.name) for other in others]
        return turned

    def holding(self, rounder: PlanRounder, wishes: Sequence[Wish]) -> list[ShownPlan]:
        """The plans seen that keep the wishes."""
        if not self.plans:
            return []
        again = rounder.as_they_are(np.stack([plan.action for plan in self.plans]), wishes)
        return [plan for plan, now in zip(self.plans, again, strict=True) if now is not None]

    def ranked(self, rounder: PlanRounder, plans: Sequence[ShownPlan]) -> list[ShownPlan]:
        """Plans, best first: those that no other one was preferred to, then what the choices say is easiest."""
        if not plans:
            return []
        worse = {name for _, name in self.edges}
        last = self.edges[-1][0] if self.edges else ""
        schema, x = rounder.schema, rounder.x[0]
        mind = effort(schema, x, np.stack([plan.after for plan in plans])) @ reluctance(
            schema, x, self.compared
        )
        order = sorted(
            range(len(plans)),
            key=lambda i: (
                plans[i].name in worse,
                plans[i].name != last,
                float(mind[i]),
            ),
        )
        return [plans[i] for i in order]

    def choice(
        self, rounder: PlanRounder, plans: Sequence[ShownPlan | None], wishes: Sequence[Wish]
    ) -> dict[str, int]:
        """Name and place of the plans that make a choice: each once, none that asks for more than one that was seen or
        that stands beside it, and none that is new and like one of those."""
        keep = {plan.name: place for place, plan in reversed(list(enumerate(plans))) if plan is not None}
        keep = dict(sorted(keep.items(), key=lambda one: one[1]))
        seen = self.holding(rounder, wishes)
        known = {plan.name for plan in seen}
        for name in list(keep):
            plan = plans[keep[name]]
            assert plan is not None
            beside = [other for one in keep if one != name and (other := plans[keep[one]]) is not None]
            more = any(rounder.asks_more(plan, other) for other in (*seen, *beside))
            if more or (name not in known and any(rounder.alike(plan, other) for other in (*seen, *beside))):
                del keep[name]
        return keep
