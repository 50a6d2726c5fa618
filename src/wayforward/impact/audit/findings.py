"""The findings of an audit in plain words, each with its interval and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.answers import words
from wayforward.answers.words import in_quotes
from wayforward.impact.audit import proved
from wayforward.impact.audit.twins import SAME
from wayforward.impact.audit.wording import (
    DIMENSIONS,
    SHARES,
    clear_of_zero,
    cost_telling,
    each_model,
    heading,
    in_short,
    measures_of,
    share,
    stored_rate,
    summary_title,
    telling,
    those_of,
    turned,
    unit_of,
    with_titles,
)
from wayforward.impact.summaries.summary import listed
from wayforward.language import N_, gettext, ngettext

if TYPE_CHECKING:
    from wayforward.impact.audit.gaps import Gap
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.audit.worst_off import Subgroup
    from wayforward.impact.summaries import Summary

_SENTENCES = {  # about two groups: first, second and their values
    "refused": N_("the model refuses {one} of {first} and {two} of {second}: a difference of {apart}."),
    "usable": N_(
        "{one} of those answered have a usable plan among {first} and {two} among {second}: a difference of {apart}."
    ),
    "proved": N_(
        "no allowed change helps (proved) {one} of {first} and {two} of {second}: a difference of {apart}."
    ),
    "plausible": N_(
        "{one} have a plan like accepted people among {first} and {two} among {second}: a difference of {apart}."
    ),
    "cost": N_("a plan costs {one} on average for {first} and {two} for {second}: a difference of {apart}."),
    "burden": N_(
        "plans lead {one} away on average for {first} and {two} for {second}: a difference of {apart}."
    ),
    "cost_all": N_(
        "counting no plan as the dearest, a plan costs {one} on average for {first} and {two} for {second}: a "
        "difference of {apart}."
    ),
    "density_gain": N_(
        "plans change the log-density by {one} on average for {first} and {two} for {second}: a difference of {apart}."
    ),
    "lines": N_(
        "a few rules for many people ({title}) serve {one} of {first} and {two} of {second}: a difference of {apart}."
    ),
    "extra": N_(
        "following few rules ({title}) costs {one} more than a plan of their own on average for {first} and {two} for "
        "{second}: a difference of {apart}."
    ),
}


class Finding(NamedTuple):
    """importance: higher comes first. text: a sentence or two. place: the section of the page that says more."""

    importance: float
    text: str
    place: str


def findings(audit: Audit) -> list[str]:
    """Return what an auditor should know, each in a sentence or two, the most important first."""
    return [one.text for one in ranked(audit)]


def ranked(audit: Audit) -> list[Finding]:
    """Return the findings by importance: who has no plan at all, differences that stand (the clearest first), advice
    that does not last, who fares worst, what groups are asked for, rules for many, and what was looked for in vain."""
    audit = with_titles(audit)
    out = _everybody(audit)
    plain = [one for one in audit.attributes if not one.crossed]
    for place, one in enumerate(plain):
        out += [Finding(importance, text, f"by-{place}") for importance, text in _attribute(audit, one)]
    out += _intersections(audit)
    out += _fixed(audit)
    out += [Finding(55, text, "proved") for text in (proved.sentence(audit),) if text]
    out += _robustness(audit)
    out += [Finding(20, _summary(one), "many") for one in audit.summaries]
    seen: set[str] = set()
    for sub in audit.worst:
        if sub.significant and sub.fares_worse and sub.metric not in seen:
            seen.add(sub.metric)
            out.append(Finding(48, _worst_off(audit, sub), "worst"))
    return sorted(out, key=lambda one: -one.importance)


def lead(audit: Audit) -> str:
    """Return the page's first paragraph: how many were refused, and how many have a plan."""
    overall = audit.overall
    text = ngettext(
        "The model decided about {n} person and refused {refused} ({share}).",
        "The model decided about {n} people and refused {refused} ({share}).",
        audit.n, refused=words.number(audit.refused), share=words.percent(overall.figures["refused"].value, 1),
    )  # fmt: skip
    usable = words.percent(overall.figures["usable"].value, 1)
    if overall.counts_withheld:
        have = gettext(
            "So few were answered that it would tell of a person how they fared: that is withheld."
        )
    elif audit.answered < audit.refused:
        have = ngettext(
            "A plan was looked for on behalf of {answered} of them, drawn by chance: {n} has one that was checked and "
            "works ({share}).",
            "A plan was looked for on behalf of {answered} of them, drawn by chance: {n} have one that was checked and "
            "works ({share}).",
            overall.found, answered=words.number(audit.answered), share=usable,
        )  # fmt: skip
    elif 1 < overall.found == audit.refused:
        have = gettext("All of these have a plan that was checked and works ({share}).", share=usable)
    else:
        have = ngettext(
            "{n} of these has a plan that was checked and works ({share}).",
            "{n} of these have a plan that was checked and works ({share}).",
            overall.found, share=usable,
        )  # fmt: skip
    return f"{text} {have}"


def _everybody(audit: Audit) -> list[Finding]:
    overall, out = audit.overall, []
    share_without = 1 - overall.found / overall.answered if overall.answered else 0.0
    if not audit.schema.actionable.any():
        other = audit.meta.get("lets_people_act")
        nobody = gettext(
            "The schema lets nobody act on any feature, so nobody can have a plan. To see what a plan would be, audit "
            "with a schema that says what people can change."
        )
        if other:
            nobody = gettext(
                "The schema lets nobody act on any feature, so nobody can have a plan. To see what a plan would be, "
                "audit with a schema that says what people can change, or with another set of this data: --data "
                "{other}.",
                other=other,
            )
        out.append(Finding(100, nobody, "everybody"))
    if overall.found == overall.answered:
        everybody = gettext(
            "Everybody who was answered has a usable plan, so groups can differ in its cost only."
        )
        out.append(Finding(25, everybody, "everybody"))
    if overall.proved:
        proved = ngettext(
            "For {n} person of the {answered} answered it is proved that nothing they are allowed to change leads to a "
            "yes.",
            "For {n} people of the {answered} answered it is proved that nothing they are allowed to change leads to a "
            "yes.",
            overall.proved, answered=words.number(overall.answered),
        )  # fmt: skip
        out.append(Finding(90 + share_without, proved, "everybody"))
    if overall.open:
        still_open = gettext(
            "For {n} of them no plan was found, and none is excluded: another method, or more work, may find one.",
            n=words.number(overall.open),
        )
        if overall.proved:
            still_open = gettext(
                "For {n} more of them no plan was found, and none is excluded: another method, or more work, may find "
                "one.",
                n=words.number(overall.open),
            )
        out.append(Finding(90, still_open, "everybody"))
    return out


def _intersections(audit: Audit) -> list[Finding]:
    gaps = [g for one in audit.attributes if one.crossed for g in one.gaps]
    compared = words.number(int(sum(np.isfinite(g.p) for g in gaps)))
    significant = [g for g in gaps if g.significant]
    if significant:
        among = [g for g in significant if g.metric != "refused"] or significant
        widest = max(among, key=lambda g: abs(g.estimate.value) / (_standard_error(g) or 1.0))
        text = ngettext(
            "Where two attributes meet, {n} difference of {compared} stands after correction. The clearest: {clearest}",
            "Where two attributes meet, {n} differences of {compared} stand after correction. The clearest: {clearest}",
            len(significant), compared=compared, clearest=_gap(audit, widest),
        )  # fmt: skip
        return [Finding(40, text, "crossed")]
    if any(np.isfinite(g.p) for g in gaps):
        text = gettext(
            "Where two attributes meet, none of {n} differences is larger than chance would make one of so many.",
            n=compared,
        )
        return [Finding(10, text, "crossed")]
    return []


def _fixed(audit: Audit) -> list[Finding]:
    """Whose answer nothing can turn; nothing where that is nobody's."""
    if not audit.fixed.get("groups"):
        return []
    whole = audit.fixed["groups"][0]
    none = whole["proved"] + whole["listed"]
    if not none:
        return []
    text = gettext(
        "Fixed predictions: nothing that they may do turns the answer of {none} of {n} refused people ({share}). "
        "{proved} of them are proved by bounds or an exact search, {listed} by judging all that they can reach; {open} "
        "more are open.",
        none=words.number(none), share=words.percent(none / whole["n"], 1),
        **{name: words.number(whole[name]) for name in ("n", "proved", "listed", "open")},
    )  # fmt: skip
    return [Finding(60 + 30 * none / whole["n"], text, "fixed")]


def _robustness(audit: Audit) -> list[Finding]:
    found = audit.robustness
    if not found.get("groups"):
        return []
    whole, models = found["groups"][0], found["models"]
    held = whole["yes_of_retrained_models"] if models else whole["yes_with_errors"]
    if held["value"] is None:
        return []
    if not models:
        what = gettext(
            "Does the advice last? Carried out with errors of about {error} of a feature's range, plans lead to a yes "
            "in {held} of cases.",
            error=words.percent(found["error"]), held=stored_rate(held),
        )  # fmt: skip
    elif models == 1:
        what = gettext(
            "Does the advice last? Under a model trained again on a resample of the same people, {each} of the plans "
            "are still a yes.",
            each=each_model(whole),
        )
    else:
        what = gettext(
            "Does the advice last? Under {n} models trained again on resamples of the same people, {each} of the plans "
            "are still a yes; {held} on average.",
            n=words.number(models), each=each_model(whole), held=stored_rate(held),
        )  # fmt: skip
    robust = audit.meta.get("robust")
    known = gettext("Plans were checked for today's model only.")
    if robust:
        known = gettext("Every plan is {robust}.", robust=robust)
    return [Finding(45 + 40 * (1 - held["value"]), f"{what} {known}", "lasting")]


def _attribute(audit: Audit, one: AttributeAudit) -> list[tuple[float, str]]:
    name = gettext("By {name}", name=one.name)
    tested = [g for g in one.gaps if np.isfinite(g.p)]
    if not tested:
        nothing = gettext("{name}: nothing was compared.", name=name)
        return [(30, " ".join([nothing, *one.notes]))]
    shown = _significant_gaps(one)
    out: list[tuple[float, str]] = []
    for gap in shown:
        text = f"{name}: {_gap(audit, gap)}"
        turned = [
            s
            for s in one.simpson
            if s.turns and (s.metric, s.first, s.second) == (gap.metric, gap.first, gap.second)
        ]
        if turned:
            text += " " + gettext(
                "Among people alike in this, it points the other way: {what}.", what=turned[0].by
            )
        clear = abs(gap.estimate.value) / (_standard_error(gap) or 1.0)
        out.append((50 + min(clear, 30.0), text))
    compared = {g.metric for g in tested}
    quiet = [m for m in ("usable", "cost") if m in compared and not any(g.metric == m for g in shown)]
    if quiet:
        text = gettext(_QUIET[tuple(quiet)], name=name)
        limit = _noticeable(audit, one)
        out.append((15, f"{text} {limit}".rstrip()))
    more = ((35, _agreement(name, one)), (34, _twins(audit, name, one)), (33, _segregation(name, one)))
    return out + [(importance, text) for importance, texts in more for text in texts]


_QUIET = {
    ("usable",): N_(
        "{name}: in who has a plan, no difference is larger than chance would make one of so many comparisons. That "
        "does not show that there is none."
    ),
    ("cost",): N_(
        "{name}: in what a plan costs, no difference is larger than chance would make one of so many comparisons. That "
        "does not show that there is none."
    ),
    ("usable", "cost"): N_(
        "{name}: in who has a plan and in what a plan costs, no difference is larger than chance would make one of so "
        "many comparisons. That does not show that there is none."
    ),
}


def _significant_gaps(one: AttributeAudit) -> list[Gap]:
    """Return the largest significant gap of each measure.

    Cost, burden and cost with failures say nearly the same: the first of them stands for all, which are in the tables.
    """
    out: list[Gap] = []
    for metric in measures_of(one):
        gap = one.largest(metric, significant=True)
        covered = metric in ("burden", "cost_all") and any(
            g.metric in ("cost", "usable", "cost_all") for g in out
        )
        if gap is not None and not covered:
            out.append(gap)
    return out


def _agreement(name: str, one: AttributeAudit) -> list[str]:
    apart = [a for a in one.agreement if a.significant]
    if not apart:
        return []
    a = min(apart, key=lambda a: a.value - a.by_chance)
    feature, p, q = a.most
    return [
        gettext(
            "{name}: {first} and {second} are asked for different things. Most apart is {feature}: in {one} of the "
            "plans of the first, {two} of the second.",
            name=name, first=in_quotes(a.first), second=in_quotes(a.second), feature=in_quotes(feature),
            one=words.percent(p), two=words.percent(q),
        )
    ]  # fmt: skip


def _twins(audit: Audit, name: str, one: AttributeAudit) -> list[str]:
    t = one.twins
    if t is None or t.why_not or not t.larger.n:
        return []
    how = cost_telling(unit_of(audit))
    return [
        ngettext(
            "{name}: had they belonged to another group, with all that follows from it, the cost would differ by more "
            "than {same} for {larger} of {n} person ({low} to {high}), by {apart} on average.",
            "{name}: had they belonged to another group, with all that follows from it, the cost would differ by more "
            "than {same} for {larger} of {n} people ({low} to {high}), by {apart} on average.",
            t.larger.n, name=name, same=how.more(SAME), larger=words.percent(t.larger.value),
            low=words.percent(t.larger.low), high=words.percent(t.larger.high), apart=how.more(t.individual.value),
        )
    ]  # fmt: skip


def _segregation(name: str, one: AttributeAudit) -> list[str]:
    changes = [
        (group, dimension, dimension in stored["worse"], clear_of_zero(parts["difference"]))
        for group, stored in one.society.items()
        for dimension, parts in stored["dimensions"].items()
    ]
    worse = [(group, dimension) for group, dimension, more, clear in changes if more and clear][:4]
    if not worse:
        return []
    shown = listed([f"{in_quotes(g)} ({gettext(DIMENSIONS[d][0])})" for g, d in worse])
    nearer = sum(clear and not more for _, _, more, clear in changes)
    text = gettext(
        "{name}: if everybody acted on their plan, these would stand further apart from everybody else in one way at "
        "least: {shown}.",
        name=name, shown=shown,
    )  # fmt: skip
    if nearer:
        text += " " + gettext(
            "In {n} of {all} lines of its table a group stands nearer.", n=nearer, all=len(changes)
        )
    return [" ".join([text, *(dimension(d) for d in dict.fromkeys(d for _, d in worse))])]


def dimension(name: str) -> str:
    """Return a dimension of segregation and how to read it, as a sentence."""
    called, what = DIMENSIONS[name]
    return gettext("{name}: {what}.", name=heading(gettext(called)), what=gettext(what))


def _gap(audit: Audit, gap: Gap) -> str:
    """Return the difference with the group that has more first, its interval, and how sure it is."""
    first, second = gap.first, gap.second
    one, two = gap.values
    e = gap.estimate
    if e.value < 0:
        first, second, one, two, e = second, first, two, one, turned(e)
    how = telling(gap.metric, unit_of(audit))
    kind, _, title = gap.metric.partition(" ")
    return gettext(
        _SENTENCES[kind], title=in_short(title), one=how.value(one), two=how.value(two), first=those_of(first),
        second=those_of(second), apart=how.difference(e),
    )  # fmt: skip


def _noticeable(audit: Audit, one: AttributeAudit) -> str:
    """Return how large a difference must be for a single comparison to notice it four times in five."""
    known = sorted((g.answered for g in one.groups if g.compared), reverse=True)
    if len(known) < 2:
        return ""
    room = float(np.sqrt(1 / known[0] + 1 / known[-1]))
    p, cost = audit.overall.figures["usable"].value, audit.overall.figures["cost"].std
    points = words.number(100 * 2.8 * float(np.sqrt(p * (1 - p))) * room, 0) if 0 < p < 1 else ""
    price = cost_telling(unit_of(audit)).more(2.8 * cost * room) if np.isfinite(cost) and cost > 0 else ""
    if not points and not price:
        return ""
    if points and price:
        what = gettext(
            "of {points} points in who has a plan or of {price} in cost", points=points, price=price
        )
    elif points:
        what = gettext("of {points} points in who has a plan", points=points)
    else:
        what = gettext("of {price} in cost", price=price)
    return gettext(
        "Between the largest and the smallest group compared ({one} and {two} people), a difference {what} would be "
        "noticed four times in five even if it were the only comparison, and a smaller one less often.",
        one=words.number(known[0]), two=words.number(known[-1]), what=what,
    )  # fmt: skip


def _standard_error(gap: Gap) -> float:
    e = gap.estimate
    return (e.high - e.low) / 3.92 if np.isfinite(e.high - e.low) else 0.0


def _worst_off(audit: Audit, sub: Subgroup) -> str:
    n, who = words.number(sub.n), listed(sub.conditions)
    if sub.metric == "usable":
        return gettext(
            "Worst served: of the {n} people looked at with {who}, {value} have a usable plan; {rest} of everybody "
            "else.",
            n=n, who=who, value=share(sub.value), rest=share(sub.rest),
        )  # fmt: skip
    show = cost_telling(unit_of(audit)).value
    return gettext(
        "Dearest: for the {n} people looked at with {who}, a plan costs {value} on average; {rest} for everybody else.",
        n=n, who=who, value=show(sub.value), rest=show(sub.rest),
    )  # fmt: skip


def _summary(one: Summary) -> str:
    everybody, title = one.everybody, summary_title(one.name)
    people = words.number(everybody.served.n)
    if not everybody.served.value:
        return gettext(
            "Few rules instead of a plan for each ({title}): no common change was found that serves any of {people} "
            "people.",
            title=title, people=people,
        )  # fmt: skip
    text = ngettext(
        "Few rules instead of a plan for each ({title}): {n} rule serves {served} of {people} people who had no say in "
        "it.",
        "Few rules instead of a plan for each ({title}): {n} rules serve {served} of {people} people who had no say in "
        "them.",
        len(one.lines), title=title, served=SHARES.estimate(everybody.served), people=people,
    )  # fmt: skip
    if everybody.own_served.n:
        text += " " + gettext("Plans of their own serve {share}.", share=share(everybody.own_served.value))
    if one.extra.n:
        by = cost_telling(one.unit).more(abs(one.extra.value))
        text += " " + (
            gettext("Those whom both serve pay {by} more under the rules on average.", by=by)
            if one.extra.value >= 0
            else gettext("Those whom both serve pay {by} less under the rules on average.", by=by)
        )
    return text
