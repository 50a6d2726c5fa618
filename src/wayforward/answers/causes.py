"""One person's plan beside the one they would be told by somebody who forgets that one thing leads to another.

Without causes (the independent world) a plan may ask for more than is needed, may fail once what follows has
happened, or may not exist at all. Here both are put into words, and the first is played out in the problem's
own world, so that everybody sees what it would really do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.preferences_text import wishes
from wayforward.answers.text import consequences, cost_text, outcome_text, steps
from wayforward.errors import DataError
from wayforward.evaluate.judge import judge
from wayforward.language import gettext
from wayforward.lazy import Renamed, renamed_parameters
from wayforward.problem.rounding import rounded
from wayforward.public import public
from wayforward.recourse import JUDGED, Outcome, Recourse
from wayforward.schema import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from wayforward.problem import Problem


@public
@dataclass(frozen=True)
class SideBySide:
    """Two plans for one person, in sentences. `works`: the plan without causes reaches the decision when played out.
    `alone`: there is a plan without causes. `saved`: by which share of its cost the one with causes is cheaper.

    table: one row a feature that either plan touches: now, the plan without causes, where that really leads, and
    the plan with causes. picture: the same as options to draw; `figure` does it, None where nobody has a plan.
    """

    name: str
    statements: tuple[str, ...]
    without: tuple[str, ...]
    played_out: str
    works: bool
    within: tuple[str, ...]
    verdict: str
    table: tuple[dict[str, str], ...]
    picture: Recourse | None = field(default=None, repr=False, compare=False)
    alone: bool = True
    saved: float = 0.0

    told = Renamed("statements")

    def figure(self) -> Figure | None:
        """What is said without causes, what it leads to, and the plan with causes, side by side.

        Raises: MissingExtra without matplotlib.
        """
        if self.picture is None:
            return None
        from wayforward.answers.figures import figure_options

        really = gettext("Carried out: it works")
        if not self.works:
            really = gettext("Carried out: it does not work")
        three = (gettext("Without causes, as told"), really, gettext("With causes"))
        titles = [title for title, found in zip(three, self.picture.found[0], strict=True) if found]
        return figure_options(self.picture, 0, titles=titles)


@public
def without_causes(problem: Problem) -> Problem:
    """The same problem in a world where nothing follows from an act."""
    from wayforward.problem import Problem as NewProblem

    alone = NewProblem(
        problem.schema, problem.model, problem.target, data=problem.reference, cost=problem.cost,
        plausibility=problem.plausibility, robust=problem.robust, least_change=problem.least_change_source,
    )  # fmt: skip
    if problem.reference is not None:  # the same people before the same model
        alone.reference_reached = problem.reference_reached
    return alone


def played_out(problem: Problem, contrastive: Recourse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What first options made without causes really do in the problem's world.

    Returns: led (n, d), where each person ends, NaN where there is no plan; works (n,) bool, that this reaches the
    decision and is legal and within every rule and wish; yes (n,) bool, that the model says yes to it.
    """
    has = np.flatnonzero(contrastive.found[:, 0])
    led, works = np.full(contrastive.x.shape, np.nan), np.zeros(contrastive.n, dtype=bool)
    yes = works.copy()
    if has.size:
        x, action = contrastive.x[has], contrastive.action[has, 0]
        led[has] = problem.consequences(x, action)
        own = None if contrastive.preferences is None else contrastive.preferences.take(has)
        judged = judge(problem, x, action[:, None], led[has][:, None], own, all_refused=True)
        works[has], yes[has] = judged.usable[:, 0], judged.valid[:, 0]
    return led, works, yes


@renamed_parameters(told="statements")
@public
def side_by_side(
    problem: Problem,
    recourse: Recourse,
    contrastive: Recourse | None = None,
    *,
    names: Sequence[str] | None = None,
    statements: Sequence[Sequence[str]] | None = None,
) -> list[SideBySide]:
    """Everybody's first option in the problem's world beside the one without causes.

    contrastive: answers for the same people and preferences from `without_causes(problem)`; left out, they are
    searched for here. names and statements: what people are called and what they said in their own words; left out,
    Person 1, Person 2 ... and their preferences in words. Numbers are rounded for people and checked again.

    Raises: DataError if the two are about other people.
    """
    alone, recourse = without_causes(problem), recourse.as_of(problem)
    if contrastive is None:
        from wayforward.methods import recommend

        contrastive = recommend(alone, recourse.x, preferences=recourse.preferences)
    if not np.array_equal(contrastive.x, recourse.x, equal_nan=True):
        raise DataError(
            "The two answers are about other people. Ask about the same people in the same order."
        )
    for what, many in (("statements", statements), ("names", names)):
        if many is not None and len(many) != recourse.n:
            raise DataError(f"{what} has {len(many)} entries; there are {recourse.n} people. Give one each.")
    first, second = rounded(alone, contrastive), rounded(problem, recourse)
    led, works, yes = played_out(problem, first)
    out = []
    for i in range(recourse.n):
        if statements is not None:
            own = list(statements[i])
        else:
            own = [] if recourse.preferences is None else wishes(recourse.preferences, i)
        out.append(
            SideBySide(
                name=gettext("Person {name}", name=i + 1) if names is None else names[i],
                statements=tuple(own),
                without=_plan(first, i),
                played_out=_really(first, led[i], bool(works[i]), bool(yes[i]), i),
                works=bool(works[i]),
                within=_plan(second, i),
                verdict=_verdict(first, second, bool(works[i]), i),
                table=_rows(first, second, led[i], i),
                picture=_picture(first, second, led[i], i),
                alone=bool(first.found[i, 0]),
                saved=_saved(first, second, i) if works[i] else 0.0,
            )
        )
    return out


def _plan(recourse: Recourse, i: int) -> tuple[str, ...]:
    if not recourse.found[i, 0]:
        return (outcome_text(recourse.outcome[i, 0]),)
    lines = [*steps(recourse, i), *consequences(recourse, i)]
    return (*lines, words.sentence(cost_text(recourse[i], 0, 0)))


def _really(first: Recourse, led: np.ndarray, works: bool, yes: bool, i: int) -> str:
    """What happens when the plan without causes is carried out, in one to three sentences."""
    if not first.found[i, 0]:
        return gettext("There is nothing to carry out.")
    schema, x = first.schema, first.x[i]
    moved = np.flatnonzero(schema.differs(led, x) & np.isnan(first.action[i, 0]))
    follows = [words.consequence_text(schema.features[j], x[j], led[j]) for j in moved]
    if not works:
        why = gettext("That breaks a limit.") if yes else gettext("The model says no to where that leads.")
        return " ".join([gettext("Carried out, it does not work."), *follows, why])
    if not follows:
        return gettext("Carried out, it works, and nothing else moves.")
    return " ".join([gettext("Carried out, it works, and more moves than it says."), *follows])


def _verdict(first: Recourse, second: Recourse, works: bool, i: int) -> str:
    """The two plans weighed against each other, in one sentence."""
    if not second.found[i, 0]:
        if second.outcome[i, 0] is Outcome.ACCEPTED:
            return outcome_text(Outcome.ACCEPTED)
        return gettext("With causes in mind there is no plan to offer, and none is made up.")
    if not first.found[i, 0]:
        return gettext("Only with causes in mind is there a plan: what follows from it helps.")
    if not works:
        return gettext("The plan with causes holds: what follows was part of the search.")
    saved = _saved(first, second, i)
    if saved > 0:
        return gettext("With causes in mind {share} less effort is enough.", share=words.percent(saved))
    if saved < 0:
        return gettext(
            "The plan without causes is the better one here: both searches may stop before the cheapest plan."
        )
    return gettext("Here both ask for about the same.")


def _saved(first: Recourse, second: Recourse, i: int) -> float:
    """By which share the plan with causes costs less; 0 for next to nothing, and where one of the two is missing."""
    if not (first.found[i, 0] and second.found[i, 0]):
        return 0.0
    one, two = first.cost[i, 0], second.cost[i, 0]
    return float(1 - two / one) if not 0.98 * one <= two <= 1.02 * one else 0.0


def _rows(first: Recourse, second: Recourse, led: np.ndarray, i: int) -> tuple[dict[str, str], ...]:
    schema, x = first.schema, first.x[i]
    has = bool(first.found[i, 0])
    touched = first.changed[i, 0] | second.changed[i, 0]
    if has:
        touched |= schema.differs(led, x)
    rows = []
    for j in np.flatnonzero(touched):
        feature = schema.features[j]
        rows.append(
            {
                gettext("Feature"): feature.text_label,
                gettext("Now"): words.own_text(feature, x[j]),
                gettext("Without causes"): _to(first, i, int(j)),
                gettext("Where that leads"): _led_to(feature, x[j], led[j]) if has else gettext("no plan"),
                gettext("With causes"): _to(second, i, int(j)),
            }
        )
    return tuple(rows)


def _led_to(feature: Feature, was: float, led: float) -> str:
    """Where a plan leads one feature; where it stays, in the very words of where the person stands."""
    return words.own_text(feature, was) if led == was else words.now_text(feature, led)


def _picture(first: Recourse, second: Recourse, led: np.ndarray, i: int) -> Recourse | None:
    """Person i alone with three slots: the plan without causes, where it leads, and the plan with causes."""
    one, two = first[i], second[i]
    if not (one.found[0, 0] or two.found[0, 0]):
        return None
    outcome = np.array([[one.outcome[0, 0], one.outcome[0, 0], two.outcome[0, 0]]], dtype=object)
    three: dict[str, Any] = {
        name: np.concatenate([getattr(part, name)[:, :1] for part in (one, one, two)], axis=1)
        for name in (*JUDGED, "lasts", "known_margin", "bound", "kind", "steps")
    }
    three["after"][0, 1] = led
    return replace(two, outcome=outcome, **three)


def _to(recourse: Recourse, i: int, j: int) -> str:
    """A value that a plan leads to and how: set, follows or same."""
    if not recourse.found[i, 0]:
        return gettext("no plan")
    feature, value = recourse.schema.features[j], recourse.after[i, 0, j]
    if not recourse.changed[i, 0, j]:
        return gettext("same")
    if np.isnan(recourse.action[i, 0, j]):
        return gettext("{value} (follows)", value=words.now_text(feature, value))
    return words.value_text(feature, value)
