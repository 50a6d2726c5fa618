"""Answers in plain sentences: what to do, what follows, why it was a no, at the reading level of a letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.answers.bound_text import bound_text
from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text, no_lasting_text
from wayforward.answers.refusal import Reason
from wayforward.answers.refusal import reasons as principal_reasons
from wayforward.answers.region_text import region_text
from wayforward.answers.standing import needed, score_text
from wayforward.answers.time_text import causes_first, steps_text, time_text
from wayforward.errors import DataError, harmless, is_integer, no_person, require_kind
from wayforward.language import N_, gettext, ngettext, use_language, visible
from wayforward.problem.rounding import rounded
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse, require_option

if TYPE_CHECKING:
    from wayforward.problem import Problem

_OUTCOME: dict[Outcome, str] = {
    Outcome.FOUND: N_("We found a plan that would turn the answer into a yes."),
    Outcome.NONE_EXISTS: N_(
        "There is no plan that would turn the answer into a yes within the limits. "
        "We did not just fail to find one: it was proved."
    ),
    Outcome.NOT_FOUND: N_(
        "We did not find a plan that would turn the answer into a yes. There may still be one. "
        "A longer search or wider limits may help."
    ),
    Outcome.ACCEPTED: N_("The answer is yes already. You need not change anything."),
    Outcome.NOT_ASKED: N_("Some of your data could not be read. So no answer was worked out."),
}

_OUTCOME_LABEL: dict[Outcome, str] = {
    Outcome.FOUND: N_("has a plan"),
    Outcome.NONE_EXISTS: N_("no plan exists (proved)"),
    Outcome.NOT_FOUND: N_("no plan found"),
    Outcome.ACCEPTED: N_("accepted already"),
    Outcome.NOT_ASKED: N_("not asked about"),
}


_LATE: dict[Outcome, str] = {  # beside what the outcome means
    Outcome.FOUND: N_("The time given for the search was over, so there may be an easier plan."),
    Outcome.NOT_FOUND: N_(
        "We did not find a plan in the time that was given. There may still be one. More time may help."
    ),
    Outcome.NOT_ASKED: N_(
        "The time that was given was over before the computer model looked at your data. "
        "So no answer was worked out."
    ),
}


@public
def outcome_text(outcome: Outcome) -> str:
    """What an outcome means for the person, in one or two short sentences."""
    return gettext(_OUTCOME[outcome])


def late_text(one: Recourse) -> str:
    """What it means for the first person that the time given was over; '' where the search came to its end."""
    return gettext(_LATE[one.outcome[0, 0]]) if one.cut_short[0] and one.outcome[0, 0] in _LATE else ""


def nothing_text(one: Recourse) -> str:
    """Why the first person has no option."""
    return late_text(one) or outcome_text(one.outcome[0, 0])


def outcome_label(outcome: Outcome) -> str:
    """An outcome in a few words, for tables and figures."""
    return gettext(_OUTCOME_LABEL[outcome])


@public
def steps(recourse: Recourse, i: int, option: int = 0) -> list[str]:
    """What person i does in one option: sentences, causes before what follows from them, then the largest change first.

    Example: ["Raise your savings from 1,200 to 2,050 EUR.", "Change your housing from rent to own."].
    """
    return [words.sentence(part) for part in _parts(person_of(recourse, i).rounded, 0, option)]


@public
def consequences(recourse: Recourse, i: int, option: int = 0) -> list[str]:
    """What follows from the steps without anybody acting on it: sentences; empty where nothing else moves."""
    schema, one = recourse.schema, person_of(recourse, i).rounded
    require_option(one, option)
    moved = one.changed[0, option] & np.isnan(one.action[0, option])
    return [
        words.consequence_text(schema.features[j], one.x[0, j], one.after[0, option, j])
        for j in np.flatnonzero(moved)
    ]


@public
def explain(
    recourse: Recourse,
    i: int,
    option: int | None = None,
    problem: Problem | None = None,
    language: str | None = None,
) -> str:
    """What person i can do, in plain sentences with units: every option, or one of them.

    With the `problem` the numbers are rounded for people and checked again after rounding; without it they
    are shown as they were checked, to the last digit. language: "en" or "de"; left out, the one in use.

    Raises: DataError if there is no such person or option.
    """
    with use_language(language):
        return visible(_explained(recourse, i, option, problem))


def _explained(recourse: Recourse, i: int, option: int | None, problem: Problem | None) -> str:
    one = person_of(recourse, i)
    if problem is not None:
        one = rounded(problem, one.as_of(problem))
    if option is not None:
        require_option(recourse, option)
    if one.unchecked and problem is None:
        as_stored = replace(one, unchecked=False)
        warned = gettext("This comes from a file and was not checked again, so it may not hold.")
        return f"{warned} {_explained(as_stored, 0, option, None)}"
    found = np.flatnonzero(one.found[0])
    if not len(found):
        return " ".join([nothing_text(one), *amiss(one)])
    if option is not None:
        if option not in found:
            empty = gettext("Option {n} is empty.", n=option + 1)
            return f"{empty} {_how_many(len(found), one.k)}"
        return _option_text(one, option)
    if len(found) == 1:
        text = _option_text(one, int(found[0]))
        fewer = "" if one.k == 1 or one.kind.any() else _how_many(1, one.k)
        return " ".join(filter(None, [text, fewer, no_lasting_text(one), late_text(one)]))
    many = _how_many(len(found), len(found) if (one.kind != "").any() else one.k)
    alone = gettext("Each is enough on its own.")
    parts = [f"{many} {alone}"]
    parts += [f"{_option_name(one, int(o))} {_option_text(one, int(o))}" for o in found]
    return "\n".join([*parts, *filter(None, [no_lasting_text(one), late_text(one)])])


def _option_name(one: Recourse, option: int) -> str:
    """ "Option 2 (least effort)." where kinds were asked for, else "Option 2."."""
    kind = kind_name(one, option)
    if kind:
        return gettext("Option {n} ({kind}).", n=option + 1, kind=kind)
    return gettext("Option {n}.", n=option + 1)


def beside(one: Recourse, first: int, option: int, name: str) -> str:
    """What a further option asks for beside the first, in a sentence; for this person where they gave weights.

    Examples: "This asks for about 12 % more than plan 1."; "For you this is about 3 times as hard as plan 1.".
    """
    if not one.cost[0, first] > 0:
        return ""
    times = float(one.cost[0, option] / one.cost[0, first])
    if one.weighted:
        if times < 1.05:
            return gettext("For you this is about as hard as {plan}.", plan=name)
        if times < 2:
            share = words.percent(times - 1)
            return gettext("For you this is about {share} harder than {plan}.", share=share, plan=name)
        much = words.times_text(times)
        return gettext("For you this is about {times} times as hard as {plan}.", times=much, plan=name)
    if times < 1.05:
        return gettext("This asks for about as much as {plan}.", plan=name)
    if times < 2:
        share = words.percent(times - 1)
        return gettext("This asks for about {share} more than {plan}.", share=share, plan=name)
    much = words.times_text(times)
    return gettext("This asks for about {times} times as much as {plan}.", times=much, plan=name)


def askings_text(one: Recourse, option: int) -> str:
    """How often a random model was asked about an option, and how many of the askings said yes; '' for any other."""
    askings = int(one.meta.get("askings", 1))
    if askings == 1 or "low" in needed(one):
        return ""
    yes = round(float(one.score[0, option]) * askings)
    return gettext(
        "The model does not always answer alike: it was asked {n} times about this, and {yes} of them said yes.",
        n=askings, yes=yes,
    )  # fmt: skip


def cost_text(one: Recourse, i: int, option: int) -> str:
    """What an option costs: with the person's own weights where they gave some, and without.

    Examples: "cost 12 % of a range"; "cost for you 36 %, without your own weights 12 % of a range".
    """
    unit = cost_unit(one)
    own, plain = (words.cost_number(part[i, option], unit) for part in (one.cost, one.plain_cost))
    known = np.isfinite(one.plain_cost[i, option]) and own != plain
    if unit == words.RANGES:
        if not one.weighted:
            return gettext("cost {cost} of a range", cost=own)
        if known:
            return gettext(
                "cost for you {cost}, without your own weights {plain} of a range", cost=own, plain=plain
            )
    elif not one.weighted:
        return gettext("cost {cost}", cost=own)
    elif known:
        return gettext("cost for you {cost}, without your own weights {plain}", cost=own, plain=plain)
    return gettext("cost for you {cost}", cost=own)


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
    lead = ngettext(
        "With all else the same, this difference would have been enough:",
        "There are {n} main reasons. Each of these differences would have been enough on its own:",
        len(found),
        n=words.spelled(len(found)),
    )
    listed = [words.sentence(reason.text(one.schema, one.x[0])) for reason in found]
    note = gettext("This tells you why. It is not advice. You may not be able to change all of it.")
    return lead, listed, note


def amiss(one: Recourse) -> list[str]:
    """What could not be read of the first person, for the person: one sentence; none where all was read."""
    reason = str(one.reasons[0])
    if not reason or one.cut_short[0]:
        return []
    for feature in one.schema.features:
        if harmless(reason).startswith(f"'{harmless(feature.name)}'"):
            name = words.label(feature)
            return [
                gettext(
                    "Please check your {name}: it is missing, not a value that we know, or at odds with what else we "
                    "know of you.",
                    name=name,
                )
            ]
    return [words.sentence(gettext("The reason: {reason}", reason=reason))]


def person_of(recourse: Recourse, i: int) -> Recourse:
    """The answer of one person. Raises: DataError if there is no such person."""
    require_kind(recourse, Recourse, "recourse")
    if not is_integer(i):
        raise DataError(f"{no_person(i, recourse.n)} Give a whole number, or a name: explain(id=...).")
    if not -recourse.n <= i < recourse.n:
        raise DataError(no_person(i, recourse.n))
    return recourse[int(i)]


def _how_many(found: int, k: int) -> str:
    """How many options there are, and why no more where fewer were found than asked for."""
    if found >= k:
        return ngettext("There is {n} option.", "There are {n} options.", found)
    return ngettext(
        "There is {n} option and not {k}: the search found no other that leads elsewhere.",
        "There are {n} options and not {k}: the search found no other that leads elsewhere.",
        found,
        k=k,
    )


def _parts(recourse: Recourse, i: int, option: int) -> list[str]:
    schema = recourse.schema
    require_option(recourse, option)
    action, x = recourse.action[i, option], recourse.x[i]
    acted = ~np.isnan(action)
    size = np.abs(action - x) / schema.span
    size = np.where(schema.is_categorical | np.isnan(size), 1.0, size)
    order = np.lexsort((-np.where(acted, size, -1.0), causes_first(recourse, option, i), ~acted))[
        : int(acted.sum())
    ]
    return [words.change_text(schema.features[j], x[j], action[j]) for j in order]


def of_100(chance: float) -> int:
    """Never more than what was found: 0.958 is 95 of 100."""
    return int(100 * chance + 1e-9)


def _option_text(one: Recourse, option: int) -> str:
    parts = _parts(one, 0, option)
    if len(parts) > 3:  # a sentence with four commas is no longer a sentence
        texts = [words.sentence(part) for part in parts]
    else:
        texts = [words.sentence(words.join(parts))]
    texts += consequences(one, 0, option)
    stops = int((~np.isnan(one.path[0, option]).all(1)).sum()) - 1
    if one.steps[0, option]:
        texts.append(steps_text(one, option))
    elif stops > 0:
        texts.append(
            ngettext(
                "The way there leads by {n} step close to what other people have.",
                "The way there leads by {n} steps close to what other people have.",
                stops,
            )
        )
    texts.append(region_text(one, option))
    score = ""
    if one.score_before.size:
        score = score_text(needed(one), float(one.score_before[0]), float(one.score[0, option]))
    if score:
        texts.append(gettext("The answer would then be yes, {score}.", score=score))
    else:
        texts.append(gettext("The answer would then be yes."))
    texts.append(askings_text(one, option))
    if np.isfinite(one.chance[0, option]):
        chance = of_100(one.chance[0, option])
        texts.append(
            gettext("What follows is not certain: it works in about {n} of 100 cases like yours.", n=chance)
        )
    if one.weighted:
        texts.append(words.sentence(cost_text(one, 0, option)))
    elif option and not one.kind[0, option]:
        texts.append(beside(one, 0, option, gettext("option 1")))
    if "lasting" in one.kind[0, option]:
        texts.append(margin_text(one, option))
    notes = kind_notes(one, option, first=gettext("option 1"))
    return " ".join(filter(None, [*texts, time_text(one, option), bound_text(one, option), *notes]))
