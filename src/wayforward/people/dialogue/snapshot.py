"""A conversation as plain data, so that it is taken up where it was with nothing searched again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wayforward.people.dialogue.conversation import Conversation
from wayforward.people.dialogue.dead_ends import Relaxation
from wayforward.people.dialogue.lessons import Compared
from wayforward.people.dialogue.questionnaire import QuestionnaireItem
from wayforward.people.dialogue.seen_plans import SeenPlans
from wayforward.people.dialogue.setup import DialogueSetup, PendingQuestion
from wayforward.people.dialogue.shown_plans import PlanRounder, ShownPlan
from wayforward.people.dialogue.state import numbers, row_of
from wayforward.people.dialogue.wishes import preferences_of
from wayforward.recourse import Outcome

_PLAIN = ("spent", "ended", "reason", "limit_screens", "number")


def taken(c: Conversation) -> tuple[dict[str, Any], list[Any]]:
    """Return a conversation as plain data, and the plans that its session has found, which only grow in number."""
    plans: dict[str, dict[str, Any]] = {}

    def name(plan: ShownPlan | None) -> str | None:
        if plan is None:
            return None
        plans.setdefault(plan.name, plan.stored())
        return plan.name

    def ways(relaxations: list[Relaxation]) -> list[Any]:
        return [[list(one.wishes), name(one.plan)] for one in relaxations]

    p = c.pending
    session = None if c.session is None else c.session.stored()
    found = [] if session is None else session.pop("found")
    out = {
        **{key: getattr(c, key) for key in _PLAIN},
        "value": c.rounder.value,
        "wishes": list(c.wishes),
        "asking": c.asking_wishes,
        "declined": sorted(c.seen.declined),
        "revived": sorted(c.seen.revived),
        "kept": list(c.seen.marked),
        "pairs": sorted(list(pair) for pair in c.seen.pairs),
        "edges": [list(edge) for edge in c.seen.edges],
        "compared": [[list(numbers(one.chosen)), list(numbers(one.other))] for one in c.seen.compared],
        "seen": [name(plan) for plan in c.seen.plans],
        "best": name(c.best),
        "first": None if c.first is None else list(numbers(c.first[0])),
        "outcome": None if c.outcome is None else c.outcome.name,
        "relaxations": ways(c.relaxations),
        "queue": [item.key for item in c.queue],
        "notes": list(c.notes),
        "session": session,
        "talking": c.session is not None,
        "pending": None
        if p is None
        else {
            "what": p.what,
            "item": None if p.item is None else p.item.key,
            "plans": [name(plan) for plan in p.plans],
            "places": list(p.places),
            "relaxations": ways(p.relaxations),
            "notes": list(p.notes),
        },
    }
    return {**out, "plans": plans}, found


def given_back(setup: DialogueSetup, stored: Mapping[str, Any], found: list[Any]) -> Conversation:
    """Return the conversation that `taken` told. Where its elicitor stores no sessions, `c.lost` says so: the replies
    have to be given again before the next one is taken."""
    plans = {name: ShownPlan.of(plan) for name, plan in stored["plans"].items()}

    def plan(name: str | None) -> ShownPlan | None:
        return None if name is None else plans[name]

    def ways(named: Any) -> list[Relaxation]:
        return [Relaxation(tuple(wishes), plans[name]) for wishes, name in named]

    c = Conversation.blank(setup)
    for key in _PLAIN:
        setattr(c, key, stored[key])
    c.rounder = PlanRounder(c.problem, c.x, float(stored["value"]), setup.walker)
    c.wishes, c.asking_wishes = list(stored["wishes"]), stored["asking"]
    c.seen = SeenPlans(stored["declined"], [(a, b) for a, b in stored["edges"]])
    c.seen.revived, c.seen.marked = set(stored["revived"]), list(stored["kept"])
    c.seen.pairs = {tuple(pair) for pair in stored["pairs"]}
    c.seen.compared = [Compared(row_of(a), row_of(b)) for a, b in stored["compared"]]
    c.seen.plans = [plans[name] for name in stored["seen"]]
    c.best = plan(stored["best"])
    c.first = None if stored["first"] is None else row_of(stored["first"])[None]
    c.outcome = None if stored["outcome"] is None else Outcome[stored["outcome"]]
    c.relaxations = ways(stored["relaxations"])
    c.queue = [QuestionnaireItem(*key) for key in stored["queue"]]
    c.notes = list(stored["notes"])
    if (p := stored["pending"]) is not None:
        c.pending = PendingQuestion(
            p["what"],
            None if p["item"] is None else QuestionnaireItem(*p["item"]),
            [plans[name] for name in p["plans"]],
            list(p["places"]),
            ways(p["relaxations"]),
            list(p["notes"]),
        )
    if c.asking_wishes is not None:
        c.asking = c.problem.population(c.x, preferences_of(c.schema, c.asking_wishes))
    if stored["session"] is not None:
        session = {**stored["session"], "found": found}
        c.session = setup.elicitor.resume(c.x, session, preferences=c.preferences, seed=setup.seed)
    c.lost = stored["talking"] and c.session is None
    return c
