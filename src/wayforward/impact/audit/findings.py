"""The findings of an audit in plain words, each with its interval and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.answers import words
from wayforward.impact.audit import proved
from wayforward.impact.audit.twins import SAME
from wayforward.impact.audit.wording import (
    DIMENSIONS,
    SHARES,
    clear_of_zero,
    cost_telling,
    each_model,
    heading,
    in_quotes,
    in_short,
    measures_of,
    name_of,
    share,
    stored_rate,
    summary_title,
    telling,
    turned,
    unit_of,
    with_titles,
)
from wayforward.impact.summaries.summary import listed

if TYPE_CHECKING:
    from wayforward.impact.audit.gaps import Gap
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.audit.worst_off import Subgroup
    from wayforward.impact.summaries import Summary

_SENTENCES = {  # about one group
    "refused": "the model refuses {value} of",
    "usable": "{value} of those answered have a usable plan among",
    "proved": "no allowed change helps (proved) {value} of",
    "plausible": "{value} have a plan like accepted people among",
    "cost": "a plan costs {value} on average for",
    "burden": "plans lead {value} away on average for",
    "cost_all": "counting no plan as the dearest, a plan costs {value} on average for",
    "density_gain": "plans change the log-density by {value} on average for",
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
    text = (
        f"The model decided about {words.count(audit.n, 'person', 'people')} and refused "
        f"{words.number(audit.refused)} ({words.percent(overall.figures['refused'].value, 1)}). "
    )
    if audit.answered < audit.refused:
        text += (
            f"A plan was looked for on behalf of {words.number(audit.answered)} of them, drawn by chance: "
            f"{words.number(overall.found)} have one that was checked and works"
        )
    else:
        have = (
            "All of these"
            if 1 < overall.found == audit.refused
            else f"{words.number(overall.found)} of these"
        )
        text += f"{have} have a plan that was checked and works"
    return text + f" ({words.percent(overall.figures['usable'].value, 1)})."


def _everybody(audit: Audit) -> list[Finding]:
    overall, out = audit.overall, []
    share_without = 1 - overall.found / overall.answered if overall.answered else 0.0
    if not audit.schema.actionable.any():
        other = audit.meta.get("lets_people_act")
        nobody = (
            "The schema lets nobody act on any feature, so nobody can have a plan. To see what a plan would be, audit "
            "with a schema that says what people can change"
            + (f", or with another set of this data: --data {other}." if other else ".")
        )
        out.append(Finding(100, nobody, "everybody"))
    if overall.found == overall.answered:
        everybody = "Everybody who was answered has a usable plan, so groups can differ in its cost only."
        out.append(Finding(25, everybody, "everybody"))
    if overall.proved:
        proved = (
            f"For {words.count(overall.proved, 'person', 'people')} of the {words.number(overall.answered)} answered "
            "it is proved that nothing they are allowed to change leads to a yes."
        )
        out.append(Finding(90 + share_without, proved, "everybody"))
    if overall.open:
        more = " more" if overall.proved else ""
        still_open = (
            f"For {words.number(overall.open)}{more} of them no plan was found, and none is excluded: "
            "another method, or more work, may find one."
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
        text = (
            f"Where two attributes meet, {words.count(len(significant), 'difference')} of {compared} "
            f"{'stands' if len(significant) == 1 else 'stand'} after correction. The clearest: {_gap(audit, widest)}"
        )
        return [Finding(40, text, "crossed")]
    if any(np.isfinite(g.p) for g in gaps):
        text = (
            f"Where two attributes meet, none of {compared} differences is larger than chance would make one of so "
            "many."
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
    text = (
        f"Fixed predictions: nothing that they may do turns the answer of {words.number(none)} of "
        f"{words.number(whole['n'])} refused people ({words.percent(none / whole['n'], 1)}). "
        f"{words.number(whole['proved'])} of them are proved by bounds or an exact search, "
        f"{words.number(whole['listed'])} by judging all that they can reach; {words.number(whole['open'])} more are "
        "open."
    )
    return [Finding(60 + 30 * none / whole["n"], text, "fixed")]


def _robustness(audit: Audit) -> list[Finding]:
    found = audit.robustness
    if not found.get("groups"):
        return []
    whole, models = found["groups"][0], found["models"]
    held = whole["yes_of_retrained_models"] if models else whole["yes_with_errors"]
    if held["value"] is None:
        return []
    if models:
        what = (
            f"Under {words.count(models, 'model')} trained again on resamples of the same people, {each_model(whole)} "
            "of the plans are still a yes"
        )
        what += f"; {stored_rate(held)} on average" if models > 1 else ""
    else:
        what = (
            f"Carried out with errors of about {words.percent(found['error'])} of a feature's range, plans lead to a "
            f"yes in {stored_rate(held)} of cases"
        )
    robust = audit.meta.get("robust")
    known = f"Every plan is {robust}" if robust else "Plans were checked for today's model only"
    return [Finding(45 + 40 * (1 - held["value"]), f"Does the advice last? {what}. {known}.", "lasting")]


def _attribute(audit: Audit, one: AttributeAudit) -> list[tuple[float, str]]:
    name = heading(f"by {one.name}")
    tested = [g for g in one.gaps if np.isfinite(g.p)]
    if not tested:
        return [(30, f"{name}: nothing was compared. {' '.join(one.notes)}".strip())]
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
            text += f" Among people alike in this, it points the other way: {turned[0].by}."
        clear = abs(gap.estimate.value) / (_standard_error(gap) or 1.0)
        out.append((50 + min(clear, 30.0), text))
    compared = {g.metric for g in tested}
    quiet = [m for m in ("usable", "cost") if m in compared and not any(g.metric == m for g in shown)]
    if quiet:
        label = {"usable": "who has a plan", "cost": "what a plan costs"}
        text = (
            f"{name}: in {' and in '.join(label[m] for m in quiet)}, no difference is larger than chance would "
            "make one of so many comparisons. That does not show that there is none"
        )
        limit = _noticeable(audit, one)
        out.append((15, text + (f": {limit}." if limit else ".")))
    more = ((35, _agreement(name, one)), (34, _twins(audit, name, one)), (33, _segregation(name, one)))
    return out + [(importance, text) for importance, texts in more for text in texts]


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
        f"{name}: {in_quotes(a.first)} and {in_quotes(a.second)} are asked for different things. Most apart is "
        f"{in_quotes(feature)}: in {words.percent(p)} of the plans of the first, {words.percent(q)} of the second."
    ]


def _twins(audit: Audit, name: str, one: AttributeAudit) -> list[str]:
    t = one.twins
    if t is None or t.why_not or not t.larger.n:
        return []
    how = cost_telling(unit_of(audit))
    return [
        f"{name}: had they belonged to another group, with all that follows from it, the cost would differ by more "
        f"than {how.more(SAME)} for {words.percent(t.larger.value)} of {words.count(t.larger.n, 'person', 'people')} "
        f"({words.percent(t.larger.low)} to {words.percent(t.larger.high)}), by {how.more(t.individual.value)} on "
        "average."
    ]


def _segregation(name: str, one: AttributeAudit) -> list[str]:
    changes = [
        (group, dimension, dimension in stored["worse"], clear_of_zero(parts["difference"]))
        for group, stored in one.society.items()
        for dimension, parts in stored["dimensions"].items()
    ]
    worse = [(group, dimension) for group, dimension, more, clear in changes if more and clear][:4]
    if not worse:
        return []
    shown = listed([f"{in_quotes(g)} ({DIMENSIONS[d][0]})" for g, d in worse])
    nearer = sum(clear and not more for _, _, more, clear in changes)
    return [
        f"{name}: if everybody acted on their plan, these would stand further apart from everybody else in one way "
        f"at least: {shown}. "
        + (f"In {nearer} of {len(changes)} lines of its table a group stands nearer. " if nearer else "")
        + " ".join(
            f"{heading(DIMENSIONS[d][0])} is {DIMENSIONS[d][1]}." for d in dict.fromkeys(d for _, d in worse)
        )
    ]


def _gap(audit: Audit, gap: Gap) -> str:
    """Return the difference with the group that has more first, its interval, and how sure it is."""
    first, second = gap.first, gap.second
    one, two = gap.values
    e = gap.estimate
    if e.value < 0:
        first, second, one, two, e = second, first, two, one, turned(e)
    how = telling(gap.metric, unit_of(audit))
    beginning = _beginning(gap.metric)
    joins = {"on average for": "for", "among": "among"}
    join = next((word for end, word in joins.items() if beginning.endswith(end)), "of")
    return (
        f"{beginning.format(value=how.value(one))} {name_of(first)} and {how.value(two)} {join} "
        f"{name_of(second)}: a difference of {how.difference(e)}."
    )


def _beginning(metric: str) -> str:
    if metric in _SENTENCES:
        return _SENTENCES[metric]
    kind, _, name = metric.partition(" ")
    title = in_short(name)
    if kind == "lines":
        return f"a few rules for many people ({title}) serve {{value}} of"
    return f"following few rules ({title}) costs {{value}} more than a plan of their own on average for"


def _noticeable(audit: Audit, one: AttributeAudit) -> str:
    """Return how large a difference must be for a single comparison to notice it four times in five."""
    known = sorted((g.answered for g in one.groups if g.compared), reverse=True)
    if len(known) < 2:
        return ""
    room = float(np.sqrt(1 / known[0] + 1 / known[-1]))
    p, cost = audit.overall.figures["usable"].value, audit.overall.figures["cost"].std
    parts = []
    if 0 < p < 1:
        parts.append(
            f"of {words.number(100 * 2.8 * float(np.sqrt(p * (1 - p))) * room, 0)} points in who has a plan"
        )
    if np.isfinite(cost) and cost > 0:
        parts.append(f"of {cost_telling(unit_of(audit)).more(2.8 * cost * room)} in cost")
    if not parts:
        return ""
    return (
        f"between the largest and the smallest group compared ({words.number(known[0])} and "
        f"{words.number(known[-1])} people), a difference {' or '.join(parts)} would be noticed four times in five "
        "even if it were the only comparison, and a smaller one less often"
    )


def _standard_error(gap: Gap) -> float:
    e = gap.estimate
    return (e.high - e.low) / 3.92 if np.isfinite(e.high - e.low) else 0.0


def _worst_off(audit: Audit, sub: Subgroup) -> str:
    who = f"the {words.number(sub.n)} people looked at with {listed(sub.conditions)}"
    if sub.metric == "usable":
        return f"Worst served: of {who}, {share(sub.value)} have a usable plan; {share(sub.rest)} of everybody else."
    show = cost_telling(unit_of(audit)).value
    return (
        f"Dearest: for {who}, a plan costs {show(sub.value)} on average; {show(sub.rest)} for everybody else."
    )


def _summary(one: Summary) -> str:
    everybody = one.everybody
    text = f"Few rules instead of a plan for each ({summary_title(one.name)}): "
    if not everybody.served.value:
        return (
            text + f"no common change was found that serves any of {words.number(everybody.served.n)} people."
        )
    text += (
        f"{words.count(len(one.lines), 'rule serves', 'rules serve')} {SHARES.estimate(everybody.served)} of "
        f"{words.number(everybody.served.n)} people who had no say in them"
    )
    if everybody.own_served.n:
        text += f", plans of their own {share(everybody.own_served.value)}"
    if one.extra.n:
        more = "more" if one.extra.value >= 0 else "less"
        by = cost_telling(one.unit).more(abs(one.extra.value))
        text += f". Those whom both serve pay {by} {more} under the rules on average"
    return text + "."
