"""At the end of a dialogue: the plan of least effort and the one made to last, beside the plan that was chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.answers.kinds_text import no_lasting_text
from wayforward.errors import MethodError, ProblemError, is_one_of
from wayforward.language import N_, gettext, ngettext
from wayforward.methods.kinds import options_by_kind
from wayforward.problem import as_told
from wayforward.recourse import KINDS, Recourse

if TYPE_CHECKING:
    from wayforward.people.dialogue.course import Course
    from wayforward.people.dialogue.shown_plans import ShownPlan

_NAMES = {
    "": N_("Another plan: {price}."),
    "cheapest": N_("The plan of least effort: {price}."),
    "fewest": N_("The plan with the fewest changes: {price}."),
    "lasting": N_("The plan that is made to last: {price}."),
    "cheapest+fewest": N_("The plan of least effort, and with the fewest changes: {price}."),
    "cheapest+lasting": N_("The plan of least effort, and that is made to last: {price}."),
    "fewest+lasting": N_("The plan with the fewest changes, and that is made to last: {price}."),
    "cheapest+fewest+lasting": N_(
        "The plan of least effort, with the fewest changes, and that is made to last: {price}."
    ),
}
_SAME = 0.02  # of the effort: a price that nobody would feel


def checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds, if there are such. Raises: MethodError that lists them."""
    for kind in kinds:
        if not is_one_of(kind, KINDS):
            raise MethodError(f"There is no kind {kind!r} of plans. Known: {', '.join(KINDS)}; () for none.")
    return tuple(kinds)


def plans_beside(
    c: Course, kinds: Sequence[str], known: Callable[[], Recourse] | None = None
) -> tuple[list[tuple[str, ShownPlan]], list[str]]:
    """Return other kinds of plans that differ from the best one, each with what to say of it, and how sure that one is.
    known: returns options of these kinds under the person's wishes, where somebody has them already.

    How sure: in how many models trained again a plan still gets a yes, where the problem's `Retraining` says how to
    train. Models are trained when this is first asked; so it is asked at the end only.
    """
    best, again = c.best, c.problem.retraining
    if best is None or not kinds:
        return [], []
    try:
        got = _found(c, kinds) if known is None else known()
    except (
        ProblemError
    ) as error:  # somebody who has chosen a plan is not stopped by a model that cannot be trained
        warnings.warn(f"No lasting plan is shown. {error}", stacklevel=2)
        again, got = None, _found(c, ("cheapest",))
    got = as_told(got)
    slots = np.flatnonzero(got.found[0])
    plans = c.rounder.as_they_are(got.action[0, slots], c.wishes)
    there = [
        (got.kind[0, s] or "cheapest", plan) for s, plan in zip(slots, plans, strict=True) if plan is not None
    ]
    count, many = {}, 0
    if again is not None and "lasting" in kinds:
        rows = np.stack([best.after, *(plan.after for _, plan in there)])
        votes = again.votes(c.problem, rows)
        many, count = (
            len(votes),
            dict(zip([best.name, *(plan.name for _, plan in there)], votes.sum(0), strict=True)),
        )
    sure = [no_lasting_text(got)] if many else []
    if many:
        trained = ngettext(
            "We trained the model again {n} time.", "We trained the model again {n} times.", many
        )
        held = int(count[best.name])
        still = ngettext("This plan still got a yes {n} time.", "This plan still got a yes {n} times.", held)
        sure.insert(0, f"{trained} {still}")
    out = []
    for kind, plan in there:
        if plan.name == best.name or c.rounder.alike(plan, best) or not c.seen.will_do(plan):
            continue
        lasts = "lasting" in kind and count.get(plan.name, 0) > count.get(best.name, 0)
        if lasts or plan.cost < (1 - _SAME) * best.cost:
            names = "+".join(one for one in KINDS if one in kind.split("+") and (one != "lasting" or lasts))
            lines = [gettext(_NAMES[names], price=_price(plan, best))]
            if many:
                votes_for = int(count[plan.name])
                lines.append(
                    ngettext("It still got a yes {n} time.", "It still got a yes {n} times.", votes_for)
                )
            out.append((" ".join(lines), plan))
    return out, [line for line in sure if line]


def _found(c: Course, kinds: Sequence[str]) -> Recourse:
    """Options of each kind under the person's wishes; without a way to train again nothing is trained."""
    setup, own = c.setup, c.preferences
    if "lasting" in kinds and c.problem.retraining is not None:
        return options_by_kind(c.problem, setup.base, c.x, kinds, preferences=own, seed=setup.seed)
    return setup.base.recommend(c.x, 1, preferences=own, seed=setup.seed)


def _price(plan: ShownPlan, best: ShownPlan) -> str:
    """What a plan costs beside the chosen one: "about 12 % less effort than your plan"."""
    share = plan.cost / best.cost - 1
    if abs(share) <= _SAME:
        return gettext("about as much effort as your plan")
    if share < 0:
        return gettext("about {share} less effort than your plan", share=words.percent(-share))
    if share < 1:
        return gettext("about {share} more effort than your plan", share=words.percent(share))
    times = words.number(float(f"{1 + share:.1f}"))
    return gettext("about {times} times the effort of your plan", times=times)
