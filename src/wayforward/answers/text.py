"""Answers in plain sentences: what to do, what follows, why it was a no, at the reading level of a letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text, no_lasting_text, room_text
from wayforward.answers.preferences_text import limits, wishes
from wayforward.answers.refusal import Reason
from wayforward.answers.refusal import reasons as principal_reasons
from wayforward.answers.standing import near_text, needed, number_text, points, score_text
from wayforward.answers.time_text import causes_first, order_text, time_text
from wayforward.errors import DataError
from wayforward.language import day_text
from wayforward.problem.rounding import rounded
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
    """What person i does in one option: sentences, causes before what follows from them, then the largest change first.

    Example: ["Raise your savings from 1,200 to 2,050 EUR.", "Change your housing from rent to own."].
    """
    return [words.sentence(part) for part in _parts(_person(recourse, i).rounded, 0, option)]


def consequences(recourse: Recourse, i: int, option: int = 0) -> list[str]:
    """What follows from the steps without anybody acting on it: sentences; empty where nothing else moves."""
    schema, one = recourse.schema, _person(recourse, i).rounded
    moved = one.changed[0, option] & np.isnan(one.action[0, option])
    return [
        words.consequence_text(schema.features[j], one.x[0, j], one.after[0, option, j])
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
            return f"Option {option + 1} is empty. " + _how_many(len(found), one.k)
        return _option_text(one, option, lead="")
    if len(found) == 1:
        text = _option_text(one, int(found[0]), lead="")
        fewer = "" if one.k == 1 or one.kind.any() else _how_many(1, one.k)
        return " ".join(filter(None, [text, fewer, no_lasting_text(one)]))
    parts = [
        _how_many(len(found), len(found) if (one.kind != "").any() else one.k) + " Each is enough on its own."
    ]
    parts += [_option_text(one, int(o), lead=f"Option {o + 1}{_kind(one, int(o))}. ") for o in found]
    return "\n".join([*parts, *filter(None, [no_lasting_text(one)])])


@dataclass(frozen=True)
class Letterhead:
    """What stands around a letter. day: it was written on; left out, today. case: the number to quote. contact: whom
    to ask, in one line. until: the last day on which the lender stands by the plans."""

    day: date | None = None
    case: str = ""
    contact: str = ""
    until: date | None = None

    def lines(self) -> list[str]:
        """Return the lines at the top."""
        named = (("Date", day_text(self.day or date.today())), ("Case", self.case), ("Contact", self.contact))
        return [f"{name}: {text}" for name, text in named if text] + [""]

    def holds(self, several: bool) -> str:
        """Return until when the plans hold."""
        what = "The plans hold" if several else "The plan holds"
        if self.until is not None:
            return f"- {what} until {day_text(self.until)}. Ask again after that day."
        return f"- {what} for the model in use on {day_text(self.day or date.today())}. Ask again if you wait long."


def letter(
    problem: Problem,
    recourse: Recourse,
    i: int,
    *,
    reasons: bool | Sequence[Reason] = True,
    head: Letterhead | None = None,
) -> str:
    """A letter to person i, plain text: the answer and how near it was, why, what they can do, what to keep in mind.

    Numbers are rounded for people and every plan is checked again after rounding. The letter holds no name.
    `reasons` adds why the answer was no (`principal_reasons`, or those given). head: date, case number, contact,
    validity.

    Raises: DataError if there is no such person.
    """
    head = Letterhead() if head is None else head
    one = rounded(problem, _person(recourse, i))
    outcome = one.outcome[0, 0]
    if outcome is Outcome.ACCEPTED:
        return "\n".join(
            [*head.lines(), "Your answer", "", "The answer is yes. You need not change anything."]
        )
    if outcome is Outcome.NOT_ASKED:
        lines = [*head.lines(), "Your answer", "", OUTCOME[outcome], "", *amiss(one), ""]
        return "\n".join([*lines, "Please correct this with us. Then we look at your case again."])
    takes = problem.bound_target.needed()
    near = near_text(takes, one.score_before[0]) if one.score_before.size else ""
    lines = [
        *head.lines(),
        "Your answer",
        "",
        "A computer model looked at your data. The answer is no for now.",
    ]
    lines += [*([near] if near else []), ""]
    if reasons is not False:
        lines += _why_lines(problem, one, None if reasons is True else reasons)
    own = [] if one.preferences is None else wishes(one.preferences, 0)
    if own:
        lines += ["What you told us", "", *(f"- {text}" for text in own), ""]
    lines += ["What you can do", ""]
    found = np.flatnonzero(one.found[0])
    if not len(found):
        lines += [OUTCOME[outcome], ""]
        lines += ["You can ask for a person to look at your case."]
        return "\n".join(lines)
    several = len(found) > 1
    if several:
        lines += [f"We found {words.spelled(len(found))} plans. Each one is enough on its own.", ""]
    else:
        lines += ["We found a plan that would turn the answer into a yes.", ""]
    for place, o in enumerate(found):
        if several:
            lines += [f"Plan {place + 1}{_kind(one, int(o))}"]
        lines += [f"- {text}" for text in steps(one, 0, int(o))]
        lines += consequences(one, 0, int(o))
        then = _then(takes, one.score[0, o])
        harder = [beside(one, int(found[0]), int(o), "plan 1")] if place and not one.kind[0, o] else []
        time = (order_text(one, int(o)), time_text(one, int(o), start=head.day or date.today()))
        near = margin_text(one, int(o))
        lines += [
            *filter(None, [*time, then]),
            *harder,
            *([near] if near else []),
            *kind_notes(one, int(o)),
            "",
        ]
    lines += ["Good to know", "", *_good_to_know(one, found, head)]
    return "\n".join(lines)


def _good_to_know(one: Recourse, found: np.ndarray, head: Letterhead) -> list[str]:
    several = len(found) > 1
    each, the = ("each plan", "The plans keep") if several else ("the plan", "The plan keeps")
    lines = [f"- We checked {each} with the model that said no."]
    lines += ["- A plan works as long as your other data stay the same and the model does not change."]
    lines += [head.holds(several)]
    lines += [f"- {text}" for text in (no_lasting_text(one), room_text(one)) if text]
    chances = one.chance[0, found]
    if np.isfinite(chances).any():
        lines += [f"- What follows from a plan is not certain: {_of_100(float(np.nanmin(chances)))}."]
    if one.preferences is not None and limits(one.preferences, 0):
        lines += [f"- {the} to the limits that you gave us."]
    if one.weighted:
        lines += [
            "- The plan that should be least hard for you comes first, by what you told us."
            if several
            else "- We looked for the plan that should be least hard for you, by what you told us."
        ]
    return lines


def _kind(one: Recourse, option: int) -> str:
    """ " (least effort)" behind the number of a plan, where kinds were asked for."""
    name = kind_name(one, option)
    return f" ({name})" if name else ""


def _then(takes: dict[str, Any], score: float) -> str:
    """Where a plan leads before the decision, in one short sentence; '' where no score is known."""
    if "level" in takes and np.isfinite(score):
        return f"You would then be at {points(score, takes['level'])}."
    return f"The model would then put you at {number_text(takes, score)}." if "low" in takes else ""


def beside(one: Recourse, first: int, option: int, name: str) -> str:
    """What a further option asks for beside the first, in a sentence; for this person where they gave weights.

    Examples: "This asks for about 12 % more than plan 1."; "For you this is about 3 times as hard as plan 1.".
    """
    if not one.cost[0, first] > 0:
        return ""
    times = one.cost[0, option] / one.cost[0, first]
    if one.weighted:
        return f"For you this is {words.times_as(times, 'hard', 'harder')} {name}."
    return f"This asks for {words.times_as(times)} {name}."


def cost_text(one: Recourse, i: int, option: int) -> str:
    """What an option costs: with the person's own weights where they gave some, and without.

    Examples: "cost 12 % of a range"; "cost for you 36 %, without your own weights 12 % of a range".
    """
    unit = cost_unit(one)
    of = " of a range" if unit == words.RANGES else ""
    own, plain = (words.cost_number(part[i, option], unit) for part in (one.cost, one.plain_cost))
    if not one.weighted:
        return f"cost {own}{of}"
    text = f"cost for you {own}"
    known = np.isfinite(one.plain_cost[i, option]) and own != plain
    return f"{text}, without your own weights {plain}{of}" if known else text


def cost_unit(recourse: Recourse) -> str:
    """The unit of an answer's costs, as its problem or its file says; '' if nobody does."""
    return str(recourse.meta.get("cost_unit", "") if recourse.problem is None else recourse.problem.cost.unit)


def why_text(
    problem: Problem, recourse: Recourse, i: int, found: Sequence[Reason] | None = None
) -> tuple[str, list[str], str]:
    """Why person i's answer was no, by the principal reasons: a lead, a sentence a reason, and what they are for.

    ("", [], "") for somebody who is accepted, and where no reason was found. found: reasons that are known already.
    """
    one = recourse[int(i)]
    found = principal_reasons(problem, one, 0) if found is None else found
    if not found:
        return "", [], ""
    lead = "With all else the same, this difference would have been enough:"
    if len(found) > 1:
        lead = f"There are {words.spelled(len(found))} main reasons. "
        lead += "Each of these differences would have been enough on its own:"
    listed = [words.sentence(reason.text(one.schema, one.x[0])) for reason in found]
    return lead, listed, "This tells you why. It is not advice. You may not be able to change all of it."


def _why_lines(problem: Problem, one: Recourse, found: Sequence[Reason] | None) -> list[str]:
    lead, listed, note = why_text(problem, one, 0, found)
    return ["Why", "", lead, *(f"- {text}" for text in listed), note, ""] if listed else []


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
            f"There is no person {i!r}; people are numbered 0 to {recourse.n - 1}. Give a whole number, "
            "or a name: explain(id=...)."
        )
    if not -recourse.n <= i < recourse.n:
        raise DataError(f"There is no person {i}; people are numbered 0 to {recourse.n - 1}.")
    return recourse[int(i)]


def _how_many(found: int, k: int) -> str:
    """How many options there are, and why no more where fewer were found than asked for."""
    text = f"There {'is' if found == 1 else 'are'} {words.count(found, 'option')}"
    return (
        f"{text}." if found >= k else f"{text} and not {k}: the search found no other that leads elsewhere."
    )


def _parts(recourse: Recourse, i: int, option: int) -> list[str]:
    schema = recourse.schema
    action, x = recourse.action[i, option], recourse.x[i]
    acted = ~np.isnan(action)
    size = np.abs(action - x) / schema.span
    size = np.where(schema.is_categorical | np.isnan(size), 1.0, size)
    order = np.lexsort((-np.where(acted, size, -1.0), causes_first(recourse, option, i), ~acted))[
        : int(acted.sum())
    ]
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
    score = ""
    if one.score_before.size:
        score = score_text(needed(one), float(one.score_before[0]), float(one.score[0, option]))
    text += f" The answer would then be yes{', ' * bool(score)}{score}."
    if np.isfinite(one.chance[0, option]):
        text += f" What follows is not certain: {_of_100(one.chance[0, option])}."
    if one.weighted:
        text += f" {words.sentence(cost_text(one, 0, option))}"
    elif option and not one.kind[0, option]:
        text += f" {beside(one, 0, option, 'option 1')}"
    return " ".join(
        [text, *filter(None, [time_text(one, option)]), *kind_notes(one, option, first="option 1")]
    )
