"""Kinds of plans in words: what a plan is the best at, what it costs beside the cheapest, how long it may last."""

from __future__ import annotations

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, gettext, ngettext
from wayforward.recourse import Recourse

_NARROW = 5  # of 10 cases: plans that hold in no more are told to be narrow
_NAMES = {
    "cheapest": N_("least effort"), "fewest": N_("fewest changes"), "lasting": N_("made to last"),
}  # fmt: skip


def kind_name(one: Recourse, option: int, i: int = 0) -> str:
    """What an option of person i is the best at: "least effort and made to last"; '' where no kinds were asked for."""
    names = [gettext(_NAMES[kind]) for kind in one.kind[i, option].split("+") if kind]
    if len(names) < 2:
        return "".join(names)
    return gettext("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])


def price_text(one: Recourse, option: int, i: int = 0, first: str = "") -> str:
    """What an option costs beside the person's cheapest, which is called `first` ("plan 1"): "about 12 % more effort
    than plan 1"; '' for the cheapest."""
    return effort_text(float(one.dearer[i, option]), first or gettext("plan 1"))


def price_note(one: Recourse, option: int, i: int = 0, first: str = "") -> str:
    """The same as a sentence: "This asks for about 12 % more effort than plan 1."; '' for the cheapest."""
    price = price_text(one, option, i, first)
    return gettext("This asks for {price}.", price=price) if price else ""


def effort_text(more: float, first: str) -> str:
    """So much more effort (1: twice as much) than a plan that is called `first`; '' for none, or where nobody knows."""
    if not np.isfinite(more) or more < 0.005:
        return ""
    if more < 1:
        return gettext("about {share} more effort than {plan}", share=words.percent(more), plan=first)
    return gettext("about {times} times the effort of {plan}", times=words.times_text(1 + more), plan=first)


def margin_text(one: Recourse, option: int, i: int = 0) -> str:
    """In how many cases an option holds if its numbers come out a little off; '' where none is acted on, or nobody
    knows."""
    share = one.margin[i, option]
    if not np.isfinite(share) or not (one.acted[i, option] & ~one.schema.has_levels).any():
        return ""
    tenths = int(share * 10 + 1e-9)
    if tenths == 10:
        return gettext("It is still a yes if you come out a little off these numbers.")
    if tenths > _NARROW:
        return gettext(
            "If you come out a little off these numbers, it is still a yes in {n} of 10 cases.", n=tenths
        )
    if not tenths:
        return gettext("Keep to these numbers: if you come out a little off, it is hardly ever a yes.")
    return gettext(
        "Keep to these numbers: if you come out a little off, it is a yes in {n} of 10 cases only.", n=tenths
    )


def room_text(one: Recourse) -> str:
    """That plans go a little farther than they must, and what that costs; '' where nobody made room."""
    room = one.meta.get("room")
    if not room or not room["moved"]:
        return ""
    return gettext(
        "Where that takes at most {share} more effort, a plan goes a little farther than it must. "
        "So small slips do no harm.",
        share=words.percent(room["most"]),
    )


def kind_notes(
    one: Recourse, option: int, i: int = 0, first: str = "", *, beside: bool = False, titled: bool = False
) -> list[str]:
    """Sentences to stand below an option that is of some kind: its price beside the cheapest, which is called `first`,
    and how it fares when the model changes. beside: the options before it stand in the same text,
    which says once what the test is. titled: `kind_name` stands above it, also where it is the only one."""
    price, count = price_note(one, option, i, first), _survived(one, option, i)
    out = [price] if price and one.kind[i, option] else []
    if "lasting" in one.kind[i, option]:
        alone = one.found[i].sum() == 1 and not titled
        out += [gettext("It is also the plan that is made to last.")] if alone else []
        out += [gettext("Made to last means: it should still be a yes when the model is trained again.")]
    if count and beside and any(_survived(one, o, i) for o in np.flatnonzero(one.found[i, :option]).tolist()):
        text = gettext("In the same test, {yes} of {n} said yes to this plan.", yes=count[0], n=count[1])
        out += [text]
    elif count:
        out += [
            ngettext(
                "Models are renewed from time to time. In a test, {yes} of {n} renewed model said yes to this plan.",
                "Models are renewed from time to time. In a test, {yes} of {n} renewed models said yes to this plan.",
                count[1],
                yes=count[0],
            )
        ]
    return out


def _survived(one: Recourse, option: int, i: int) -> tuple[int, int] | None:
    """(models trained again that say yes, all of them); None where nobody measured it."""
    share, m = one.lasts[i, option], one.meta.get("retraining", {}).get("judged")
    return (round(float(share) * m), m) if m and np.isfinite(share) else None


def no_lasting_text(one: Recourse, i: int = 0) -> str:
    """What to say to whom no lasting option was found, though one was looked for; '' to others."""
    if (
        "lasting" not in one.meta.get("kinds", ())
        or not one.found[i].any()
        or one.is_kind("lasting")[i].any()
    ):
        return ""
    return gettext(
        "We found no plan that is likely to hold when the model is renewed. Ask how long this answer is good "
        "for before you begin."
    )
