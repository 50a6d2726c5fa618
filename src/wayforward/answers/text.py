"""Answers in plain sentences: what to do, what follows, why it was a no, at the reading level of a letter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.answers.contrast import why
from wayforward.answers.kinds_text import kind_name, kind_notes, no_lasting_text
from wayforward.answers.preferences_text import wishes
from wayforward.answers.rounding import rounded
from wayforward.errors import DataError
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.problem import Problem

OUTCOME: dict[Outcome, str] = {
    Outcome.FOUND: "We found a plan that would turn the answer into a yes.",
    Outcome.NONE_EXISTS: (
        "There is no plan that would turn the answer into a yes within the limits. "
        "We did not just fail to find one: it was proved."
    ),
    Outcome.NOT_FOUND: (
        "We did not find a plan that would turn the answer into a yes. There may still be one. "
        "A longer search or wider limits may help."
    ),
    Outcome.ACCEPTED: "The answer is yes already. You need not change anything.",
    Outcome.NOT_ASKED: "Some of your data could not be read. So no answer was worked out.",
}

OUTCOME_LABEL: dict[Outcome, str] = {  # for tables and figures
    Outcome.FOUND: "has a plan",
    Outcome.NONE_EXISTS: "no plan exists (proved)",
    Outcome.NOT_FOUND: "no plan found",
    Outcome.ACCEPTED: "accepted already",
    Outcome.NOT_ASKED: "could not be read",
}


def outcome_text(outcome: Outcome) -> str:
    """What an outcome means for the person, in one or two short sentences."""
    return OUTCOME[outcome]


def steps(recourse: Recourse, i: int, option: int = 0) -> list[str]:
    """What person i does in one option: sentences, the largest change first.

    Example: ["Raise your savings from 1,200 to 2,050 EUR.", "Change your housing from rent to own."].
    """
    return [words.sentence(part) for part in _parts(recourse, i, option)]


def consequences(recourse: Recourse, i: int, option: int = 0) -> list[str]:
    """What follows from the steps without anybody acting on it: sentences; empty where nothing else moves."""
    schema = recourse.schema
    moved = recourse.changed[i, option] & np.isnan(recourse.action[i, option])
    return [
        words.consequence_text(schema.features[j], recourse.x[i, j], recourse.after[i, option, j])
        for j in np.flatnonzero(moved)
    ]


def explain(recourse: Recourse, i: int, option: int | None = None, problem: Problem | None = None) -> str:
    """What person i can do, in plain sentences with units: every option, or one of them.

    With the `problem` the numbers are rounded for people and checked again after rounding; without it they
    are shown as they were checked, to the last digit.

    Raises: DataError if there is no such person or option.
    """
    one = _person(recourse, i)
    if problem is not None:
        one = rounded(problem, one)
    if option is not None and (not isinstance(option, (int, np.integer)) or not 0 <= option < recourse.k):
        raise DataError(f"There is no option {option!r}; options are numbered 0 to {recourse.k - 1}.")
    found = np.flatnonzero(one.found[0])
    if not len(found):
        return " ".join([OUTCOME[one.outcome[0, 0]], *amiss(one)])
    if option is not None:
        if option not in found:
            return f"Option {option + 1} is empty. " + _how_many(len(found))
        return _option_text(one, option, lead="")
    if len(found) == 1:
        return " ".join(filter(None, [_option_text(one, int(found[0]), lead=""), no_lasting_text(one)]))
    parts = [_how_many(len(found)) + " Each is enough on its own."]
    parts += [_option_text(one, int(o), lead=f"Option {o + 1}{_kind(one, int(o))}. ") for o in found]
    return "\n".join([*parts, *filter(None, [no_lasting_text(one)])])


def letter(problem: Problem, recourse: Recourse, i: int, *, reasons: bool = True) -> str:
    """A letter to person i, plain text: the answer, why, what they can do, what to keep in mind.

    Numbers are rounded for people and every plan is checked again after rounding. The letter holds no name
    and no score. `reasons` adds why the answer was no (`why`).

    Raises: DataError if there is no such person.
    """
    one = rounded(problem, _person(recourse, i))
    outcome = one.outcome[0, 0]
    if outcome is Outcome.ACCEPTED:
        return "Your answer\n\nThe answer is yes. You need not change anything."
    if outcome is Outcome.NOT_ASKED:
        lines = ["Your answer", "", OUTCOME[outcome], "", *amiss(one), ""]
        return "\n".join([*lines, "Please correct this with us. Then we look at your case again."])
    lines = ["Your answer", "", "A computer model looked at your data. The answer is no for now.", ""]
    if reasons:
        lines += _why_lines(problem, one)
    limits = [] if one.preferences is None else wishes(one.preferences, 0)
    if limits:
        lines += ["What you told us", "", *(f"- {text}" for text in limits), ""]
    lines += ["What you can do", ""]
    found = np.flatnonzero(one.found[0])
    if not len(found):
        lines += [OUTCOME[outcome], ""]
        lines += ["You can ask for a person to look at your case."]
        return "\n".join(lines)
    if len(found) == 1:
        lines += ["We found a plan that would turn the answer into a yes.", ""]
    else:
        lines += [f"We found {len(found)} plans. Each one is enough on its own.", ""]
    for place, o in enumerate(found):
        if len(found) > 1:
            lines += [f"Plan {place + 1}{_kind(one, int(o))}"]
        lines += [f"- {text}" for text in steps(one, 0, int(o))]
        after = consequences(one, 0, int(o))
        harder = _how_much_harder(one, int(found[0]), int(o)) if place and not one.kind[0, o] else []
        lines += [*after, *harder, *kind_notes(one, int(o)), ""]
    lines += ["Good to know", ""]
    lines += [
        "- We checked each plan with the model that said no."
        if len(found) > 1
        else "- We checked the plan with the model that said no."
    ]
    lines += ["- A plan works as long as your other data stay the same and the model does not change."]
    lines += [f"- {text}" for text in [no_lasting_text(one)] if text]
    chances = one.chance[0, found]
    if np.isfinite(chances).any():
        lines += [f"- What follows from a plan is not certain: {_of_100(float(np.nanmin(chances)))}."]
    if one.preferences is not None:
        lines += [
            "- The plans keep to the limits that you gave us."
            if len(found) > 1
            else "- The plan keeps to the limits that you gave us."
        ]
    if one.weighted:
        lines += [
            "- The plan that should be least hard for you comes first, by what you told us."
            if len(found) > 1
            else "- We looked for the plan that should be least hard for you, by what you told us."
        ]
    return "\n".join(lines)


def _kind(one: Recourse, option: int) -> str:
    """ " (least effort)" behind the number of a plan, where kinds were asked for."""
    name = kind_name(one, option)
    return f" ({name})" if name else ""


def _how_much_harder(one: Recourse, first: int, option: int) -> list[str]:
    """How hard a further plan is for this person beside the first, where they gave weights of their own."""
    if not one.weighted or not one.cost[0, first] > 0:
        return []
    times = one.cost[0, option] / one.cost[0, first]
    if times < 1.05:
        return ["For you this is about as hard as plan 1."]
    shown = words.number(times, 1 if times < 10 else 0)
    return [f"For you this is about {shown.removesuffix('.0')} times as hard as plan 1."]


def cost_text(one: Recourse, i: int, option: int) -> str:
    """What an option costs: with the person's own weights where they gave some, and without.

    Examples: "cost 0.12"; "cost for you 0.36, without your own weights 0.12".
    """
    cost, plain = one.cost[i, option], one.plain_cost[i, option]
    own = words.number(cost, max(2, words.about(cost, 2)))
    if not one.weighted:
        return f"cost {own}"
    if np.isnan(plain):
        return f"cost for you {own}"
    without = words.number(plain, max(2, words.about(plain, 2)))
    return f"cost for you {own}, without your own weights {without}"


def _why_lines(problem: Problem, one: Recourse) -> list[str]:
    contrast = why(problem, one.x)
    if not contrast.known[0]:
        return []
    points = contrast.points(0)
    lines = ["Why", "", "The answer would have been yes if your data had been different here:"]
    lines += [words.sentence(f"- {name}: {now}, not {was}") for name, now, was in points]
    return [*lines, "This tells you why. It is not advice. You may not be able to change all of it.", ""]


def amiss(one: Recourse) -> list[str]:
    """What could not be read of the first person, for the person: one sentence; none where all was read."""
    reason = str(one.reasons[0])
    if not reason:
        return []
    for feature in one.schema.features:
        if reason.startswith(f"'{feature.name}'"):
            return [f"Please check your {words.label(feature)}: it is missing, or not a value that we know."]
    return [words.sentence(f"The reason: {reason}")]


def _person(recourse: Recourse, i: int) -> Recourse:
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)):
        raise DataError(
            f"There is no person {i!r}; people are numbered 0 to {recourse.n - 1}. Give a whole number."
        )
    if not -recourse.n <= i < recourse.n:
        raise DataError(f"There is no person {i}; people are numbered 0 to {recourse.n - 1}.")
    return recourse[int(i)]


def _how_many(found: int) -> str:
    return f"There {'is' if found == 1 else 'are'} {words.count(found, 'option')}."


def _parts(recourse: Recourse, i: int, option: int) -> list[str]:
    schema = recourse.schema
    action, x = recourse.action[i, option], recourse.x[i]
    acted = ~np.isnan(action)
    size = np.abs(action - x) / schema.span
    size = np.where(schema.is_categorical | np.isnan(size), 1.0, size)
    order = np.argsort(-np.where(acted, size, -1.0), kind="stable")[: int(acted.sum())]
    return [words.change_text(schema.features[j], x[j], action[j]) for j in order]


def _of_100(chance: float) -> str:
    """Never more than what was found: 0.958 is 95 of 100."""
    return f"it works in about {int(100 * chance + 1e-9)} of 100 cases like yours"


def _option_text(one: Recourse, option: int, lead: str) -> str:
    parts = _parts(one, 0, option)
    if len(parts) > 3:  # a sentence with four commas is no longer a sentence
        text = " ".join(words.sentence(part) for part in parts)
    else:
        text = words.sentence(words.join(parts))
    text = " ".join([lead + text, *consequences(one, 0, option)])
    stops = int((~np.isnan(one.path[0, option]).all(1)).sum()) - 1
    if stops > 0:
        text += f" The way there leads by {stops} step{'s' * (stops > 1)} close to what other people have."
    was, now = one.score_before, one.score[0, option]
    if was.size and np.isfinite(was[0]) and np.isfinite(now):
        a, b = words.number(was[0], 2), words.number(now, 2)
        text += f" The answer would then be yes, with a score of {b} (now {a})."
    else:
        text += " The answer would then be yes."
    if np.isfinite(one.chance[0, option]):
        text += f" What follows is not certain: {_of_100(one.chance[0, option])}."
    if one.weighted:
        text += f" {words.sentence(cost_text(one, 0, option))}"
    return " ".join([text, *kind_notes(one, option)])
