"""Letters: the answer and how near it was, why, what one can do, and what to keep in mind."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.bound_text import bound_text
from wayforward.answers.kinds_text import (
    effort_text,
    kind_name,
    kind_notes,
    margin_text,
    no_lasting_text,
    room_text,
)
from wayforward.answers.preferences_text import limits, wishes
from wayforward.answers.reason_set_text import reason_set_lines
from wayforward.answers.refusal import Reason
from wayforward.answers.region_text import region_text
from wayforward.answers.standing import near_text, then_text
from wayforward.answers.text import (
    amiss,
    askings_text,
    beside,
    consequences,
    late_text,
    nothing_text,
    of_100,
    outcome_text,
    person_of,
    steps,
    why_text,
)
from wayforward.answers.time_text import done_on, months_between, order_text, time_text
from wayforward.errors import DataError, require_kind, shown
from wayforward.language import day_text, gettext, ngettext, use_language, visible
from wayforward.problem import Problem
from wayforward.problem.rounding import rounded
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse
from wayforward.schema import SchemaWarning

if TYPE_CHECKING:
    from wayforward.methods.reason_sets import ReasonSets


@dataclass(frozen=True)
class Letterhead:
    """What stands around a letter. day: it was written on; left out, today. case: the number to quote. contact: whom
    to ask, in one line. until: the last day on which the lender stands by the plans. Raises: DataError for what
    is no day, and for `until` before `day`."""

    day: date | None = None
    case: str = ""
    contact: str = ""
    until: date | None = None

    def __post_init__(self) -> None:
        for name in ("day", "until"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, date) or isinstance(given, datetime)):
                raise DataError(f"{name}={shown(given)} is no day. Give datetime.date(2027, 3, 31).")
        for name in ("case", "contact"):
            require_kind(getattr(self, name), str, name)
        if self.until is not None and self.until < self.written:
            raise DataError(
                f"until={self.until} lies before {self.written}, the day of the letter. Give the last day on which the "
                "plans hold."
            )

    def lines(self) -> list[str]:
        """Return the lines at the top."""
        lines = [gettext("Date: {day}", day=day_text(self.written))]
        lines += [gettext("Case: {case}", case=self.case)] if self.case else []
        lines += [gettext("Contact: {contact}", contact=self.contact)] if self.contact else []
        return [*lines, ""]

    @property
    def written(self) -> date:
        """The day of the letter."""
        return self.day or date.today()

    def is_late(self, months: float) -> bool:
        """True of a plan that is not done while it holds."""
        return self.until is not None and done_on(self.written, months) > self.until

    def too_late(self, months: float, in_time: int) -> str:
        """Return what to say of a plan that is not done while it holds, beside one that is, of this number; '' of any
        other."""
        if self.until is None or not self.is_late(months):
            return ""
        day = day_text(self.until)
        text = gettext("That is later than {day}, when this plan runs out. Ask us before you begin.", day=day)
        return text + " " + gettext("Plan {n} is done in time.", n=in_time)

    def holds(self, several: bool) -> str:
        """Return until when the plans hold."""
        day = day_text(self.written if self.until is None else self.until)
        if self.until is not None:
            return ngettext(
                "The plan holds until {day}. Ask again after that day.",
                "The plans hold until {day}. Ask again after that day.",
                2 if several else 1,
                day=day,
            )
        return ngettext(
            "The plan holds for the model in use on {day}. Ask again if you wait long.",
            "The plans hold for the model in use on {day}. Ask again if you wait long.",
            2 if several else 1,
            day=day,
        )


@public
def letter(
    problem: Problem,
    recourse: Recourse,
    i: int,
    *,
    reasons: bool | Sequence[Reason] = True,
    keeping: ReasonSets | None = None,
    head: Letterhead | None = None,
    language: str | None = None,
) -> str:
    """A letter to person i, plain text: the answer and how near it was, why, what they can do, what to keep in mind.

    Numbers are rounded for people and every plan is checked again after rounding. The letter holds no name.
    `reasons` adds why the answer was no (`principal_reasons`, or those given), keeping: what keeps it a no whatever
    else the person does, as `reason_sets` found it. head: date, case number, contact,
    validity. language: "en" or "de"; left out, the one in use.

    Raises: DataError if there is no such person.
    """
    with use_language(language):
        require_kind(problem, Problem, "problem")
        one = rounded(problem, person_of(recourse, i).as_of(problem))
        return visible("\n".join(_lines(problem, one, reasons, keeping, head or Letterhead())))


def _lines(
    problem: Problem,
    one: Recourse,
    reasons: bool | Sequence[Reason],
    keeping: ReasonSets | None,
    head: Letterhead,
) -> list[str]:
    outcome = one.outcome[0, 0]
    lines = [*head.lines(), gettext("Your answer"), ""]
    if outcome is Outcome.ACCEPTED:
        return [*lines, gettext("The answer is yes. You need not change anything.")]
    if outcome is Outcome.NOT_ASKED:
        if one.cut_short[0]:
            return [*lines, nothing_text(one), "", gettext("Please ask us again.")]
        again = gettext("Please correct this with us. Then we look at your case again.")
        return [*lines, outcome_text(outcome), "", *amiss(one), "", again]
    takes = problem.bound_target.needed()
    near = near_text(takes, one.score_before[0]) if one.score_before.size else ""
    lines += [gettext("A computer model looked at your data. The answer is no for now.")]
    lines += [*filter(None, [near]), "", *_odd_lines(problem, one)]
    if reasons is not False:
        lines += _why_lines(problem, one, None if reasons is True else reasons)
    if keeping is not None and keeping.sets:
        title = gettext("What keeps the answer a no")
        lines += [title, "", *(f"- {text}" for text in reason_set_lines(problem.schema, keeping)), ""]
    own = [] if one.preferences is None else wishes(one.preferences, 0)
    if own:
        lines += [gettext("What you told us"), "", *(f"- {text}" for text in own), ""]
    lines += [gettext("What you can do"), ""]
    found = np.flatnonzero(one.found[0])
    if not len(found):
        person = gettext("You can ask for a person to look at your case.")
        return [*lines, nothing_text(one), "", person]
    lines += [
        ngettext(
            "We found a plan that would turn the answer into a yes.",
            "We found {n} plans. Each one is enough on its own.",
            len(found),
            n=words.spelled(len(found)),
        ),
        "",
    ]
    for place, option in enumerate(found.tolist()):
        lines += [_plan_name(one, place, option)] if len(found) > 1 else []
        lines += [*_plan_lines(one, takes, head, option, int(found[0])), ""]
    lines += _late_lines(problem, one, takes, head, found)
    know = (f"- {text}" for text in _good_to_know(one, found, head) if text)
    return [*lines, gettext("Good to know"), "", *know]


def _odd_lines(problem: Problem, one: Recourse) -> list[str]:
    """Own numbers that lie farther from what others have than others lie apart: likelier a slip than true."""
    x, (low, high) = one.x[0], problem.observed_range
    apart = np.maximum(low - x, x - high)
    numeric = np.array(
        [not f.carried and not words.is_state(f, v) for f, v in zip(one.schema.features, x, strict=True)]
    )
    odd = np.flatnonzero(numeric & ~problem.schema.has_levels & (high > low) & (apart > high - low))
    lines = [
        gettext(
            "Please check your {feature}: {value} is far from what others have. If it is wrong, tell us, and we look "
            "at your case again.",
            feature=words.label(problem.schema.features[j]), value=words.own_text(problem.schema.features[j], x[j]),
        )
        for j in odd
    ]  # fmt: skip
    return [*lines, ""] if lines else []


def _plan_name(one: Recourse, place: int, option: int) -> str:
    """ "Plan 2 (least effort)" where kinds were asked for, else "Plan 2"."""
    kind = kind_name(one, option)
    if kind:
        return gettext("Plan {n} ({kind})", n=place + 1, kind=kind)
    return gettext("Plan {n}", n=place + 1)


def _plan_lines(one: Recourse, takes: dict[str, Any], head: Letterhead, option: int, first: int) -> list[str]:
    """What an option asks for, what follows, how long it takes, where it leads and how sure that is."""
    lines = [*(f"- {text}" for text in steps(one, 0, option)), *consequences(one, 0, option)]
    lines += filter(None, [askings_text(one, option)])
    timely = [n + 1 for n, o in enumerate(np.flatnonzero(one.found[0])) if not head.is_late(one.months[0, o])]
    harder = ""
    if option != first and not one.kind[0, option]:
        harder = beside(one, first, option, gettext("plan 1"))
    notes = kind_notes(one, option, beside=True)
    texts = (
        region_text(one, option), order_text(one, option), time_text(one, option, start=head.written),
        head.too_late(one.months[0, option], timely[0]) if timely else "",
        then_text(takes, one.score[0, option]), harder,
        bound_text(one, option), margin_text(one, option), *notes,
    )  # fmt: skip
    return [*lines, *filter(None, texts)]


def _late_lines(
    problem: Problem, one: Recourse, takes: dict[str, Any], head: Letterhead, found: np.ndarray
) -> list[str]:
    """Where no plan is done while it holds: by when the nearest would be, and a dearer plan that is done in time."""
    months = one.months[0, found]
    if head.until is None or not all(map(head.is_late, months)):
        return []
    nearest = int(np.argmin(months))
    first, last = day_text(done_on(head.written, months[nearest])), day_text(head.until)
    if len(found) == 1:
        text = gettext(
            "This plan runs out on {last}, before it is done. It would have to hold until {first}. Ask us for more "
            "time before you begin.", last=last, first=first,
        )  # fmt: skip
    else:
        text = gettext(
            "All of these plans run out on {last}, before they are done. The nearest is plan {n}: it would have to "
            "hold until {first}. Ask us for more time before you begin.", last=last, first=first, n=nearest + 1,
        )  # fmt: skip
    sooner = _in_time(problem, one, months_between(head.written, head.until))
    if sooner is None:
        return [text, ""]
    first_plan = gettext("plan 1") if len(found) > 1 else gettext("the plan above")
    more = effort_text(float(sooner.cost[0, 0] / one.cost[0, found[0]]) - 1, first_plan)
    price = gettext("This asks for {price}.", price=more) if more else ""
    lines = [*(f"- {step}" for step in steps(sooner, 0)), *consequences(sooner, 0)]
    after = (time_text(sooner, 0, start=head.written), then_text(takes, sooner.score[0, 0]), price)
    return [text, "", gettext("Another plan is done in time"), *lines, *filter(None, after), ""]


def _in_time(problem: Problem, one: Recourse, months: float) -> Recourse | None:
    """An option that takes so many months at most, whatever it costs; None where none is found."""
    from wayforward.methods import recommend
    from wayforward.preferences import Preferences

    if months <= 0:
        return None
    wishes = Preferences.none(one.schema, 1) if one.preferences is None else one.preferences
    wishes = wishes.within(np.minimum(months, wishes.time))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)  # said when the options were looked for
        got = recommend(problem, one.x, preferences=wishes, seed=int(one.meta.get("seed", 0)))
    got = rounded(problem, got)
    return got if got.found[0, 0] else None


def _good_to_know(one: Recourse, found: np.ndarray, head: Letterhead) -> list[str]:
    n = len(found)
    texts = [
        ngettext(
            "We checked the plan with the model that said no.",
            "We checked each plan with the model that said no.",
            n,
        ),
        gettext("A plan works as long as your other data stay the same and the model does not change."),
        head.holds(n > 1),
        no_lasting_text(one),
        late_text(one),
        room_text(one),
    ]
    chances = one.chance[0, found]
    if np.isfinite(chances).any():
        texts.append(
            gettext(
                "What follows from a plan is not certain: it works in about {n} of 100 cases like yours.",
                n=of_100(float(np.nanmin(chances))),
            )
        )
    if one.preferences is not None and limits(one.preferences, 0):
        texts.append(
            ngettext(
                "The plan keeps to the limits that you gave us.",
                "The plans keep to the limits that you gave us.",
                n,
            )
        )
    if one.weighted:
        texts.append(
            ngettext(
                "We looked for the plan that should be least hard for you, by what you told us.",
                "The plan that should be least hard for you comes first, by what you told us.",
                n,
            )
        )
    return texts


def _why_lines(problem: Problem, one: Recourse, found: Sequence[Reason] | None) -> list[str]:
    lead, listed, note = why_text(problem, one, 0, found)
    return [gettext("Why"), "", lead, *(f"- {text}" for text in listed), note, ""] if listed else []
