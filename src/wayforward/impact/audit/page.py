"""An audit as one HTML page that stands alone: findings in plain words, figures, and a table beside every figure.

No script, no request to anywhere, no person's row. The page measures; it never says that a model is fair.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import figures, words
from wayforward.impact.audit import charts
from wayforward.impact.audit.run import MEANING
from wayforward.impact.audit.twins import SAME
from wayforward.impact.summaries.summary import listed
from wayforward.plain_files import write_text

if TYPE_CHECKING:
    from wayforward.evaluate.stats import Estimate
    from wayforward.impact.audit.gaps import Gap
    from wayforward.impact.audit.run import AttributeAudit, Audit, GroupFigures, Simpson
    from wayforward.impact.audit.worst_off import Subgroup
    from wayforward.impact.summaries import Summary
    from wayforward.schema import Schema

_RATES = ("refused", "usable", "proved", "not_found", "valid", "plausible", "likely")
_MEASURES = {
    "refused": "refused by the model",
    "usable": "have a usable plan",
    "proved": "no allowed change helps (proved)",
    "not_found": "no plan found, none excluded",
    "valid": "have a plan that the model accepts",
    "plausible": "have a plan like people who are accepted",
    "likely": "plan leads to somebody at least as likely",
    "cost": "cost of the plan",
    "burden": "burden: distance to where the plan leads",
    "cost_all": "cost, no plan counting as the dearest (of all answered)",
    "log_density": "log-density where the plan leads",
    "density_gain": "gain in log-density",
}
_SAID = {  # as a sentence about one group
    "refused": "the model refuses {value} of",
    "usable": "{value} of those answered have a usable plan among",
    "proved": "no allowed change helps (proved) {value} of",
    "plausible": "{value} have a plan like accepted people among",
    "cost": "a plan costs {value} on average for",
    "burden": "plans lead {value} away on average for",
    "cost_all": "counting no plan as the dearest, a plan costs {value} on average for",
    "density_gain": "plans gain {value} in log-density on average for",
}
_COUNTS = (
    "Group", "People", "Refused", "Answered", "Have a usable plan", "No allowed change helps (proved)",
    "No plan found", "Compared",
)  # fmt: skip
_LINES = {  # what the summaries are called, and what a reader may expect of each
    "tree": "A tree of groups, one thing to do for each",
    "ares": "If-then rules (AReS)",
    "globe-ce": "Directions to go along (GLOBE-CE)",
}
_ABOUT = {
    "tree": "A few questions sort people into groups; everybody in a group is told the same thing to do. Each person "
    "belongs to one group.",
    "ares": "Rules of the form: if somebody belongs to a group and stands so, change this to that. Several rules may "
    "speak to one person.",
    "globe-ce": "Everybody is shown the same few directions and goes along one of them, step by step, as far as they "
    "need. Whoever is at the end of what is possible in one thing goes on in the others.",
}
_WORLDS = {"independent": "independent: acting on one thing moves nothing else"}
_DIMENSIONS = {
    "centralization": (
        "centralization",
        "share of the group who live where it is the majority; more is more segregated",
    ),
    "atkinson": (
        "unevenness (Atkinson)",
        "how unevenly the group is spread over areas; more is more segregated",
    ),
    "proximity": ("proximity", "how near the group and the others stand; less is more segregated"),
    "exposure": ("exposure", "how much of the others a member meets nearby; less is more segregated"),
    "concentration": ("concentration", "how little space the group takes up; more is more segregated"),
}


def report(audit: Audit, path: str | Path, title: str = "Audit of recourse") -> Path:
    """Write the page to one HTML file and return its path. Raises: MissingExtra without matplotlib or Jinja2."""
    path = Path(path)
    write_text(path, render(audit, title))
    return path


def render(audit: Audit, title: str = "Audit of recourse") -> str:
    """The HTML text. Everything that comes from data or schema is escaped by the template engine."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    engine = Environment(
        loader=ChoiceLoader([PackageLoader("wayforward.impact"), PackageLoader("wayforward.answers")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    audit = _titled(audit)
    plain = [one for one in audit.attributes if not one.crossed]
    return engine.get_template("audit.html.j2").render(
        title=title,
        lead=_lead(audit),
        findings=findings(audit),
        reading=_reading(audit),
        everybody=_everybody(audit.overall),
        attributes=[_attribute(audit, one, place) for place, one in enumerate(plain)],
        crossed=[
            _crossed(one)
            for one in audit.attributes
            if one.crossed and any((g.answered or g.compared_refused) and not g.hidden for g in one.groups)
        ],
        worst_text=_worst_text(audit),
        worst=[_worst_row(audit, one) for one in audit.worst],
        summaries_text=_summaries_text(audit),
        summaries=[_summary(audit, one) for one in audit.summaries],
        summaries_figure=_summaries_figure(audit),
        summaries_served=_summaries_served(audit),
        robustness=_robust_rows(audit),
        robustness_text=_robust_text(audit),
        facts=_facts(audit),
        meaning=[
            {"Measure": _MEASURES[name], "What it is": text}
            for name, text in MEANING.items()
            if name in audit.overall.figures
        ],
        features=_features(audit),
        rules=[_rule_words(audit.schema, rule) for rule in audit.schema.rules],
        notes=list(audit.notes),
    )


def _q(name: str) -> str:
    """The name of a group or feature inside a sentence, its ends plain to see."""
    return f"\u201c{name}\u201d"


def _rule_words(schema: Schema, rule: str) -> str:
    """A rule with the names that people read."""
    for feature in schema.features:
        for when, said in (("after", "after acting"), ("before", "before")):
            shown = f"{_q(words.label(feature))} {said}".replace("\\", r"\\")
            rule = re.sub(rf"\b{when}\.{re.escape(feature.name)}(?!\w)", shown, rule)
    return rule


# -- findings in plain words -----------------------------------------------------------------------------------


def _lead(audit: Audit) -> str:
    all_ = audit.overall
    text = (
        f"The model decided about {words.count(audit.n, 'person', 'people')} and refused "
        f"{words.number(audit.refused)} "
        f"({words.percent(all_.figures['refused'].value, 1)}). "
    )
    if audit.answered < audit.refused:
        text += (
            f"A plan was looked for on behalf of {words.number(audit.answered)} of them, drawn by chance: "
            f"{words.number(all_.found)} have one that was checked and works"
        )
    else:
        text += f"{words.number(all_.found)} of these have a plan that was checked and works"
    share = all_.figures["usable"]
    return text + f" ({words.percent(share.value, 1)})."


def _titles(audit: Audit) -> dict[str, str]:
    return {f.name: words.label(f) for f in audit.schema.features}


def _titled(audit: Audit) -> Audit:
    """Attributes under the names that people read, where they are features of the model."""
    names, out = _titles(audit), []
    for one in audit.attributes:
        parts = [names.get(part, part) for part in one.parts]
        out.append(replace(one, name=" and ".join(parts), parts=tuple(parts)))
    return replace(audit, attributes=tuple(out))


def findings(audit: Audit) -> list[str]:
    """The page's first list: what an auditor should know, each in a sentence or two."""
    audit, all_ = _titled(audit), audit.overall
    out = []
    if not audit.schema.actionable.any():
        other = audit.meta.get("lets_people_act")
        out.append(
            "The schema lets nobody act on any feature, so nobody can have a plan. To see what a plan would be, audit "
            "with a schema that says what people can change"
            + (f", or with another set of this data: --data {other}." if other else ".")
        )
    if all_.found == all_.answered:
        out.append("Everybody who was answered has a usable plan, so groups can differ in its cost only.")
    if all_.proved:
        out.append(
            f"For {words.count(all_.proved, 'person', 'people')} of the {words.number(all_.answered)} answered it is "
            "proved that nothing they are allowed to change leads to a yes."
        )
    if all_.open:
        more = " more" if all_.proved else ""
        out.append(
            f"For {words.number(all_.open)}{more} of them no plan was found, and none is excluded: "
            "another method, or more work, may find one."
        )
    for one in audit.attributes:
        if not one.crossed:
            out += _attribute_findings(audit, one)
    parts = [g for one in audit.attributes if one.crossed for g in one.gaps if g.stands]
    looked = sum(np.isfinite(g.p) for one in audit.attributes if one.crossed for g in one.gaps)
    if parts:
        kinds = [g for g in parts if g.metric != "refused"] or parts
        widest = max(kinds, key=lambda g: abs(g.estimate.value) / (_spread(audit, g) or 1.0))
        out.append(
            f"Where two attributes meet, {words.count(len(parts), 'difference')} of {words.number(int(looked))} "
            f"{'stands' if len(parts) == 1 else 'stand'} after correction. The clearest: {_gap_sentence(widest)}"
        )
    elif looked:
        out.append(
            f"Where two attributes meet, none of {words.number(int(looked))} differences is larger than chance "
            "would make "
            "one of so many."
        )
    if audit.robustness.get("groups"):
        whole = audit.robustness["groups"][0]
        held = whole["yes_of_retrained_models"] if audit.robustness["models"] else whole["yes_with_errors"]
        if held["value"] is not None:
            what = (
                f"Under {words.count(audit.robustness['models'], 'model')} trained again on resamples of the same "
                f"people, {_each(whole)} of the plans are still a yes"
                + (f"; {_held(held)} on average" if audit.robustness["models"] > 1 else "")
                if audit.robustness["models"]
                else f"Carried out with errors of about {words.percent(audit.robustness['error'])} of a feature's "
                f"range, plans lead to a yes in {_held(held)} of cases"
            )
            asked = audit.meta.get("robust")
            known = f"Every plan is {asked}" if asked else "Plans were checked for today's model only"
            out.append(f"Does the advice last? {what}. {known}.")
    out += [_summary_finding(audit, one) for one in audit.summaries]
    seen: set[str] = set()
    for sub in audit.worst:
        if sub.stands and _fares_worse(sub) and sub.metric not in seen:
            seen.add(sub.metric)
            out.append(_worst_sentence(sub))
    return out


def _attribute_findings(audit: Audit, one: AttributeAudit) -> list[str]:
    out = []
    name = words.sentence(f"by {one.name}")[:-1]
    tested = [g for g in one.gaps if np.isfinite(g.p)]
    if not tested:
        return [f"{name}: nothing was compared. {' '.join(one.notes)}".strip()]
    standing = [g for metric in _measures_of(one) if (g := _largest_standing(one, metric)) is not None]
    # Cost, burden and cost with failures say nearly the same; the first that stands is told here, all in the tables.
    told: list[Gap] = []
    for gap in standing:
        if gap.metric in ("burden", "cost_all") and any(
            t.metric in ("cost", "usable", "cost_all") for t in told
        ):
            continue
        told.append(gap)
    for place, gap in enumerate(told):
        lead = f"{name}: " if place == 0 else f"{name}, too: "
        text = lead + _gap_sentence(gap)
        turned = [
            s
            for s in one.simpson
            if s.turns and (s.metric, s.first, s.second) == (gap.metric, gap.first, gap.second)
        ]
        if turned:
            text += f" Among people alike in this, it points the other way: {turned[0].by}."
        out.append(text)
    compared = {g.metric for g in tested}
    quiet = [m for m in ("usable", "cost") if m in compared and not any(t.metric == m for t in told)]
    if quiet:
        label = {"usable": "who has a plan", "cost": "what a plan costs"}
        text = (
            f"{name}: in {' and in '.join(label[m] for m in quiet)}, no difference is larger than chance would "
            "make one "
            "of so many comparisons. That does not show that there is none"
        )
        limit = _noticeable(audit, one)
        out.append(text + (f": {limit}." if limit else "."))
    apart = [a for a in one.agreement if a.stands]
    if apart:
        a = min(apart, key=lambda a: a.value - a.by_chance)
        feature, p, q = a.most
        out.append(
            f"{name}: {_q(a.first)} and {_q(a.second)} are asked for different things. "
            "Most apart is "
            f"{_q(feature)}: in {words.percent(p)} of the plans of the first, {words.percent(q)} of "
            "the second."
        )
    t = one.twins
    if t is not None and not t.why_not and t.larger.n:
        out.append(
            f"{name}: had they belonged to another group, with all that follows from it, the cost would differ "
            "by more "
            f"than {SAME} for {words.percent(t.larger.value)} of {words.count(t.larger.n, 'person', 'people')} "
            f"({_span_percent(t.larger)}), by {_number(t.individual.value)} on average."
        )
    worse = [
        (group, d)
        for group, told_ in one.society.items()
        for d, parts in told_["dimensions"].items()
        if d in told_["worse"] and _clear_of_zero(parts["difference"])
    ]
    changes = [
        (d not in told_["worse"]) and _clear_of_zero(parts["difference"])
        for told_ in one.society.values()
        for d, parts in told_["dimensions"].items()
    ]
    if worse:
        shown = listed([f"{_q(g)} ({_DIMENSIONS[d][0]})" for g, d in worse[:4]])
        what = dict.fromkeys(d for _, d in worse[:4])
        out.append(
            f"{name}: if everybody acted on their plan, these would stand further apart from everybody else in one way "
            f"at least: {shown}. "
            + (
                f"In {sum(changes)} of {len(changes)} lines of its table a group stands nearer. "
                if any(changes)
                else ""
            )
            + " ".join(f"{words.sentence(_DIMENSIONS[d][0])[:-1]} is {_DIMENSIONS[d][1]}." for d in what)
        )
    return out


def _measures_of(one: AttributeAudit) -> list[str]:
    """The measures that groups are compared in, in the order of tables, lines for many last."""
    return list(dict.fromkeys([*_MEASURES, *(g.metric for g in one.gaps)]))


def _measure(metric: str) -> str:
    """What a measure is called; those about rules for many carry the name of the way they were made."""
    if metric in _MEASURES:
        return _MEASURES[metric]
    kind, _, name = metric.partition(" ")
    return (
        f"served by few rules ({name})" if kind == "lines" else f"cost of few rules less own plans ({name})"
    )


def _is_rate(metric: str) -> bool:
    return metric in _RATES or metric.startswith("lines ")


def _said(metric: str) -> str:
    if metric in _SAID:
        return _SAID[metric]
    kind, _, name = metric.partition(" ")
    if kind == "lines":
        return f"a few rules for many people ({name}) serve {{value}} of those told of among"
    return f"following few rules ({name}) costs {{value}} more than a plan of their own on average for"


def _largest_standing(one: AttributeAudit, metric: str) -> Gap | None:
    known = [g for g in one.gaps if g.metric == metric and g.stands]
    return max(known, key=lambda g: abs(g.estimate.value), default=None)


def _gap_sentence(gap: Gap) -> str:
    """The difference with the group that has more first, its interval, and how sure it is."""
    first, second = gap.first, gap.second
    one, two = gap.values
    e = gap.estimate
    value, low, high = e.value, e.low, e.high
    if value < 0:
        first, second, one, two, value, low, high = second, first, two, one, -value, -high, -low
    show = _share if _is_rate(gap.metric) else _number
    points = (
        f"{words.number(100 * value, 1)} points ({words.number(100 * low, 1)} to {words.number(100 * high, 1)})"
        if _is_rate(gap.metric)
        else f"{_number(value)} ({_number(low)} to {_number(high)})"
    )
    said = _said(gap.metric).format(value=show(one))
    return f"{said} {_q(first)} and {show(two)} of {_q(second)}: a difference of {points}.".replace(
        f" on average for {_q(first)} and {show(two)} of",
        f" on average for {_q(first)} and {show(two)} for",
    ).replace(
        f"among {_q(first)} and {show(two)} of",
        f"among {_q(first)} and {show(two)} among",
    )


def _noticeable(audit: Audit, one: AttributeAudit) -> str:
    """How large a difference would have to be for a single comparison to notice it four times in five."""
    known = sorted((g.answered for g in one.groups if g.compared), reverse=True)
    if len(known) < 2:
        return ""
    room = float(np.sqrt(1 / known[0] + 1 / known[-1]))
    p, cost = audit.overall.figures["usable"].value, audit.overall.figures["cost"].std
    parts = []
    if 0 < p < 1:
        parts.append(
            f"{words.number(100 * 2.8 * float(np.sqrt(p * (1 - p))) * room, 0)} points in who has a plan"
        )
    if np.isfinite(cost) and cost > 0:
        parts.append(f"{_number(2.8 * cost * room)} in cost")
    if not parts:
        return ""
    return (
        f"between the largest and the smallest group compared ({words.number(known[0])} and "
        f"{words.number(known[-1])} people), a difference has to reach about {' and '.join(parts)} to be noticed "
        "most of the time even by itself"
    )


def _spread(audit: Audit, gap: Gap) -> float:
    e = gap.estimate
    return (e.high - e.low) / 3.92 if np.isfinite(e.high - e.low) else 0.0


def _fares_worse(sub: Subgroup) -> bool:
    return sub.gap.value < 0 if sub.metric == "usable" else sub.gap.value > 0


def _worst_sentence(sub: Subgroup) -> str:
    with_ = listed(sub.conditions)
    people = f"of the {words.number(sub.n)} people looked at with {with_}"
    if sub.metric == "usable":
        return f"Worst served: {people}, {_share(sub.value)} have a usable plan; {_share(sub.rest)} of everybody else."
    return (
        f"Dearest: for the {words.number(sub.n)} people looked at with {with_}, a plan costs "
        f"{_number(sub.value)} on "
        f"average; {_number(sub.rest)} for everybody else."
    )


def _worst_text(audit: Audit) -> list[str]:
    if not audit.worst:
        return ["Too few people were answered, or all fared alike, so no subgroup was searched for."]
    standing = [s for s in audit.worst if s.stands and _fares_worse(s)]
    return [
        "Subgroups were searched for among all combinations of up to three conditions on the features and "
        "attributes. "
        "A search always finds something, so the conditions were chosen on one half of the people, drawn by "
        "chance, and "
        "the numbers below come from the other half, corrected for how many subgroups are told. A condition "
        "says whom the "
        "numbers are about, not why.",
        f"{words.sentence(words.count(len(standing), 'subgroup'))[:-1]} of {words.number(len(audit.worst))} "
        f"{'fares' if len(standing) == 1 else 'fare'} worse on people who had no say in the choice, too.",
    ]


def _reading(audit: Audit) -> list[str]:
    how = (
        "Holm's correction keeps the chance of even one false alarm below 5 %"
        if audit.correction == "holm"
        else "the correction of Benjamini and Hochberg keeps the share of false alarms among those raised below 5 %"
    )
    return [
        "People whom the model refuses ask for a plan: a change that they are allowed to make and after which "
        "the model "
        "says yes. This page measures who has such a plan, what it costs, and how groups differ. It measures "
        "only: no "
        "number here certifies that a model or its advice is fair, and a difference does not say why it exists.",
        *_about_the_model(audit),
        "Answered are those for whom a plan was looked for. A plan is usable if it was checked and works. It is like "
        "people who are accepted if it leads no further from the nearest of them than 95 % of them stand from theirs.",
        "An interval in brackets is a 95 % interval. This audit made "
        f"{words.count(audit.comparisons, 'comparison')}; with "
        "so many, one in twenty looks remarkable by chance alone. A difference is said to stand when it "
        "remains after "
        f"allowing for all of them ({how}). {words.sentence(words.count(audit.stands, 'difference'))[:-1]} "
        f"{'stands' if audit.stands == 1 else 'stand'} here. Not among them are the subgroups that fare worst, which "
        "are corrected among themselves, and twins, segregation, gaps among people who are alike and plans that last, "
        "whose intervals stand by themselves.",
        *(
            [
                f"Here a plan must also withstand change. It must be: {audit.meta['robust']}. Whoever has no such plan "
                "counts as having none, even where one works today."
            ]
            if audit.meta.get("robust")
            else []
        ),
        f"A cost is {_unit(audit)}. Costs are means over people who have a plan. A group can look cheap because its "
        "hard cases have no plan at all, so read costs together with the share that has one, or take the "
        "measure in which "
        "no plan counts as the dearest: one whole range for every feature that people can act on.",
    ]


def _about_the_model(audit: Audit) -> list[str]:
    """What a yes means and how often the model is right, where that is known."""
    q, means = audit.meta.get("quality"), audit.meta.get("yes_means")
    text = f"A yes is {audit.meta['target']}, which stands for: {means}. " if means else ""
    if q:
        text += (
            f"The model agrees with the label on record for {words.percent(q['accuracy'], 1)} of the "
            f"{words.number(q['n'])} people looked at (balanced accuracy {words.percent(q['balanced_accuracy'], 1)}"
        )
        if q["accepts_of_favourable"] is not None and q["refuses_of_others"] is not None:
            text += (
                f": it accepts {words.percent(q['accepts_of_favourable'], 1)} of those with the favourable label "
                f"and refuses {words.percent(q['refuses_of_others'], 1)} of the others"
            )
        text += "). "
        if q["weighted"]:
            text += (
                "One label is rare, so the model was trained as if both were equally common: it can give the rare "
                "label to many more people than have it. "
            )
    return [text.rstrip()] if text else []


def _unit(audit: Audit) -> str:
    unit = str(audit.meta.get("cost_unit", ""))
    if not unit or "range" in unit:
        return "the sum of all changes, each as a share of the range of its feature: 1 is a change across a whole range"
    return f"told in {unit}"


# -- tables ----------------------------------------------------------------------------------------------------


def _share(value: float) -> str:
    return "nobody" if not np.isfinite(value) else words.percent(value, 1)


def _number(value: float) -> str:
    if np.isinf(value):
        return "never"
    if np.isnan(value):
        return "not known"
    return words.number(value, max(2, min(4, words.about(value, 2))))


def _cell(e: Estimate | None, rate: bool) -> str:
    if e is None or not e.n:
        return "nobody"
    show = _share if rate else _number
    return f"{show(e.value)} ({show(e.low)} to {show(e.high)})"


def _span_percent(e: Estimate) -> str:
    return f"{words.percent(e.low)} to {words.percent(e.high)}"


def _everybody(all_: GroupFigures) -> list[dict[str, str]]:
    return [
        {
            "Measure": words.sentence(_MEASURES[name])[:-1],
            "Value": _share(e.value) if name in _RATES else _number(e.value),
            "95 % interval": f"{_share(e.low)} to {_share(e.high)}"
            if name in _RATES
            else f"{_number(e.low)} to {_number(e.high)}",
            "People behind it": words.number(e.n),
        }
        for name, e in all_.figures.items()
        if e.n
    ]


def _attribute(audit: Audit, one: AttributeAudit, place: int) -> dict[str, Any]:
    from markupsafe import Markup

    answered = charts.shown(one)
    text = list(one.notes)
    text.insert(
        0, "The model sees this attribute." if one.in_model else "The model does not see this attribute."
    )
    if one.unlabelled:
        text.append(
            f"{words.count(one.unlabelled, 'person has no label and belongs', 'people have no label and belong')} "
            "to no group."
        )
    drawn = {"outcomes": "", "budget": "", "asked": ""}
    if answered:
        drawn["outcomes"] = figures.svg(
            charts.figure_outcomes(one), f"outcomes-{place}", f"Outcomes by {one.name}",
            "For each group: the share refused, how those answered fared, and the mean cost of a plan. "
            "The tables below hold the same numbers.",
        )  # fmt: skip
    if any(g.curve for g in answered):
        drawn["budget"] = figures.svg(
            charts.figure_budget(audit, one), f"budget-{place}", f"Share served within a budget, by {one.name}",
            "One rising line a group. The table below holds the shares at four budgets.",
        )  # fmt: skip
    if any(np.isfinite(g.asked_for).all() for g in answered):
        drawn["asked"] = figures.svg(
            charts.figure_asked(audit, one), f"asked-{place}", f"What plans ask for, by {one.name}",
            "For each feature, the share of each group's plans that ask to change it. The table holds the same "
            "numbers.",
        )  # fmt: skip
    twins_text, twins_rows = _twins(one)
    society_text, society_rows = _society(one)
    return {
        "name": one.name,
        "text": text,
        **{name: Markup(value) for name, value in drawn.items()},
        "counts": [
            dict.fromkeys(_COUNTS, g.hidden) | {"Group": g.name}
            if g.hidden
            else {
                "Group": g.name,
                "People": words.number(g.people),
                "Refused": words.number(g.refused),
                "Answered": words.number(g.answered),
                "Have a usable plan": words.number(g.found),
                "No allowed change helps (proved)": words.number(g.proved),
                "No plan found": words.number(g.open),
                "Compared": "yes" if g.compared else "in who is refused" if g.compared_refused else "too few",
            }
            for g in one.groups
        ],
        "rates": _measure_rows(
            one, [m for m in _RATES if m in audit.overall.figures and m != "not_found"], True
        ),
        "means": _measure_rows(one, [m for m in audit.overall.figures if m not in _RATES], False),
        "gaps": [_gap_row(g) for g in _largest_each(one)],
        "gap_text": _gap_text(one),
        "matrices": [_gap_row(g) for g in one.gaps] if len(one.gaps) > len(_largest_each(one)) else [],
        "served": _served(audit, one),
        "needed": _needed(one),
        "agreement": _agreement_text(one),
        "asked_table": _asked_table(audit, one),
        "simpson": _simpson_rows(one),
        "simpson_text": (
            "A difference between groups can be a difference between other things in which the groups differ. "
            "Here it is "
            "told as it is, and as the mean of the differences among people who are alike in something else. "
            "Where the two "
            "point opposite ways, the first alone misleads."
        ),
        "twins_text": twins_text,
        "twins": twins_rows,
        "society_text": society_text,
        "society": society_rows,
    }


def _measure_rows(one: AttributeAudit, measures: list[str], rate: bool) -> list[dict[str, str]]:
    rows = []
    for g in one.groups:
        if not g.people or g.hidden or (g.withheld and not rate):
            continue
        row = {"Group": g.name}
        for m in measures:
            e = g.figures.get(m)
            hidden = g.withheld and (e is None or not e.n)
            row[words.sentence(_MEASURES[m])[:-1]] = "withheld" if hidden else _cell(e, rate)
        rows.append(row)
    return rows


def _largest_each(one: AttributeAudit) -> list[Gap]:
    return [g for m in _measures_of(one) if (g := one.largest(m)) is not None]


def _gap_row(gap: Gap) -> dict[str, str]:
    rate = _is_rate(gap.metric)
    show = _share if rate else _number
    e, scale = gap.estimate, 100 if rate else 1
    unit = " points" if rate else ""

    def size(v: float) -> str:
        if not np.isfinite(v):
            return "not known"
        return words.number(scale * v, 1) if rate else _number(v)

    return {
        "Measure": words.sentence(_measure(gap.metric))[:-1],
        "Group": f"{gap.first}: {show(gap.values[0])} of {words.number(gap.counts[0])}",
        "Beside": f"{gap.second}: {show(gap.values[1])} of {words.number(gap.counts[1])}",
        "Difference": f"{size(e.value)}{unit} ({size(e.low)} to {size(e.high)})",
        "p, alone": _p(gap.p),
        "p, corrected": _p(gap.corrected),
        "Stands": "yes" if gap.stands else "no",
    }


def _gap_text(one: AttributeAudit) -> str:
    cost = [g for g in one.gaps if g.metric == "cost" and np.isfinite(g.estimate.value)]
    known = [
        g for g in one.groups if g.compared and g.figures.get("cost") is not None and g.figures["cost"].n
    ]
    text = ""
    if cost and len(known) > 1:
        low = min(known, key=lambda g: g.figures["cost"].value)
        high = max(known, key=lambda g: g.figures["cost"].value)
        text = (
            f"Between the dearest group ({_q(high.name)}) and the cheapest ({_q(low.name)}) lies "
            f"a difference of {_number(high.figures['cost'].value - low.figures['cost'].value)} in mean cost. "
        )
    return text + (
        "p is the chance of a difference at least so large if the groups were alike; corrected, with care for all "
        "comparisons of this audit."
    )


def _p(p: float) -> str:
    if not np.isfinite(p):
        return "not tested"
    return "below 0.001" if p < 0.001 else words.number(p, 3)


def _served(audit: Audit, one: AttributeAudit) -> list[dict[str, str]]:
    names = ["a quarter of the", "half of the", "three quarters of the", "all"]
    if len(audit.budgets) != 4:
        names = [""] * len(audit.budgets)
    rows = []
    for g in one.groups:
        if not g.answered or g.withheld:
            continue
        row = {"Group": f"{g.name} ({words.number(g.answered)})"}
        for budget, name, e in zip(audit.budgets, names, g.served, strict=True):
            of = f" (enough for {name} plans)" if name else ""
            row[f"Within {_number(budget)}{of}"] = _cell(e, True)
        rows.append(row)
    return rows


def _needed(one: AttributeAudit) -> list[dict[str, str]]:
    names = ("a quarter", "half", "three quarters", "nine in ten")
    return [
        {
            "Group": f"{g.name} ({words.number(g.answered)})",
            **{
                f"To serve {name}": _cell(e, False)
                if np.isfinite(e.value)
                else "too few plans to tell"
                if np.isnan(e.value)
                else "no budget does"
                for name, e in zip(names, g.needed, strict=True)
            },
        }
        for g in one.groups
        if g.answered and not g.withheld
    ]


def _agreement_text(one: AttributeAudit) -> str:
    if not one.agreement:
        return "Too few plans to say whether groups are asked for the same things."
    least = min(one.agreement, key=lambda a: a.value - a.by_chance)
    feature, p, q = least.most
    same = (
        ""
        if least.stands
        else " The difference is no larger than chance would make one among all comparisons."
    )
    return (
        "Agreement is 1 where two groups are asked to change the same things equally often, and 0 where "
        "nothing is common. "
        f"Least, beside what chance would give groups of these sizes, is it between {_q(least.first)} and "
        f"{_q(least.second)}: {words.number(least.value, 2)}, by chance {words.number(least.by_chance, 2)} "
        f"(p {_p(least.p)}, corrected {_p(least.corrected)}). Most apart is {_q(feature)}: "
        f"{words.percent(p)} against {words.percent(q)}.{same}"
    )


def _asked_table(audit: Audit, one: AttributeAudit) -> list[dict[str, str]]:
    groups = [g for g in one.groups if np.isfinite(g.asked_for).all()]
    if not groups:
        return []
    shares = np.array([g.asked_for for g in groups])
    order = [int(j) for j in np.argsort(-shares.max(0), kind="stable") if shares[:, j].max() > 0]
    return [
        {
            "Feature": audit.schema.features[j].text_label,
            **{f"{g.name} ({words.count(g.found, 'plan')})": words.percent(g.asked_for[j]) for g in groups},
        }
        for j in order
    ]


def _simpson_rows(one: AttributeAudit) -> list[dict[str, str]]:
    """Those that turn, and for each way of being alike the pair with the largest difference."""
    rows, kept = [], set()
    widest: dict[tuple[str, str], Any] = {}
    for s in one.simpson:
        key = s.metric, s.by
        if key not in widest or abs(s.whole) > abs(widest[key].whole):
            widest[key] = s
    for s in [*widest.values(), *(s for s in one.simpson if s.turns)]:
        if (s.metric, s.by, s.first, s.second) in kept:
            continue
        kept.add((s.metric, s.by, s.first, s.second))
        rate = s.metric in _RATES
        size = (lambda v: f"{words.number(100 * v, 1)} points") if rate else _number
        rows.append(
            {
                "Measure": words.sentence(_MEASURES[s.metric])[:-1],
                "Groups": f"{s.first} less {s.second}",
                "Among people alike in": s.by,
                "As it is": size(s.whole),
                "Among them": size(s.within),
                "People": words.number(s.n),
                "Direction": _turn(s),
            }
        )
    return rows


def _turn(s: Simpson) -> str:
    """Which of the two differences is clear of chance, where they point opposite ways."""
    if not s.turns:
        return "stays" if s.whole * s.within >= 0 else "may be chance"
    whole, within = abs(s.whole) > 1.96 * s.errors[0], abs(s.within) > 1.96 * s.errors[1]
    return "turns" if whole and within else "gone among them" if whole else "seen only among them"


def _twins(one: AttributeAudit) -> tuple[list[str], list[dict[str, str]]]:
    t = one.twins
    if t is None:
        return [], []
    if t.why_not:
        return [f"Not measured: {t.why_not.replace(repr(t.attribute), repr(one.name))}."], []
    does = "; ".join(_q(g) if g == v else f"{_q(g)}: {v}" for g, v in t.values)
    text = [
        "A twin is the same refused person, had they belonged to another group: the causal world sets the "
        "attribute and "
        "lets follow what follows, while everything particular to the person stays. A twin whom the model "
        "accepts needs no "
        f"plan and pays nothing. The attribute is set to: {does}.",
        f"The largest difference to any twin is {_cell(t.individual, False)} in cost on average over "
        f"{words.count(t.people, 'person', 'people')}; it exceeds {SAME} for {_cell(t.larger, True)} of them.",
    ]
    if t.impossible:
        text.append(
            f"{words.count(t.impossible, 'twin')} would lie outside what the schema allows, and are left out."
        )
    rows = [
        {
            "Person's group": pair.group,
            "Twin's group": pair.other,
            "People": words.number(pair.people),
            "Twin is accepted": _cell(pair.accepted, True),
            "Twin's cost less the person's": _cell(pair.difference, False),
            "Plan for one of the two only": _cell(pair.one_sided, True),
        }
        for pair in t.pairs
    ]
    return text, rows


def _society(one: AttributeAudit) -> tuple[str, list[dict[str, str]]]:
    if not one.society:
        return "", []
    first = next(iter(one.society.values()))
    text = (
        f"{words.number(first['followed'])} of {words.number(first['people'])} people (a sample of all) act on their "
        "plan; the others stay as they are. Each group is set beside everybody else. These intervals stand "
        "by themselves and are not among the corrected comparisons. "
        + " ".join(f"{words.sentence(name)[:-1]}: {what}." for name, what in _DIMENSIONS.values())
    )
    rows = []
    for group, told in one.society.items():
        for dimension, parts in told["dimensions"].items():
            d = parts["difference"]
            way = "more segregated" if dimension in told["worse"] else "less segregated"
            if d["value"] is None or abs(d["value"]) < 5e-5:
                way = "as before"
            elif not _clear_of_zero(d):
                way += ", may be chance"
            rows.append(
                {
                    "Group": group,
                    "Dimension": _DIMENSIONS[dimension][0],
                    "Before": _plain_number(parts["before"]["value"]),
                    "After": _plain_number(parts["after"]["value"]),
                    "Change": f"{_plain_number(d['value'])} ({_plain_number(d['low'])} to "
                    f"{_plain_number(d['high'])})",
                    "Direction": way,
                }
            )
    return text, rows


def _clear_of_zero(e: dict[str, Any]) -> bool:
    return e["low"] is not None and e["high"] is not None and (e["low"] > 0 or e["high"] < 0)


def _plain_number(value: float | None) -> str:
    return "not known" if value is None else words.number(value, 4)


def _crossed(one: AttributeAudit) -> dict[str, Any]:
    rows = []
    for g in one.groups:
        if g.hidden or not (g.answered or g.compared_refused):
            continue
        row = {
            "Part": g.name,
            "People": words.number(g.people),
            "Refused": _cell(g.figures["refused"], True),
            "Answered": words.number(g.answered),
            "Have a usable plan": "withheld" if g.withheld else _cell(g.figures["usable"], True),
            "Proved: none exists": words.number(g.proved),
            "Mean cost": "withheld" if g.withheld else _cell(g.figures["cost"], False),
        }
        mine = [gap for gap in one.gaps if gap.first == g.name and gap.stands]
        row["Differs from everybody else in"] = (
            ", ".join(_MEASURES[gap.metric] for gap in mine)
            if mine
            else ("nothing that stands" if g.compared_refused else "too few to say")
        )
        rows.append(row)
    return {"name": one.name, "text": [n for n in one.notes if "refuses nobody" not in n], "rows": rows}


def _worst_row(audit: Audit, sub: Subgroup) -> dict[str, str]:
    rate = sub.metric == "usable"
    show = _share if rate else _number
    scale, unit = (100, " points") if rate else (1, "")
    span = [
        words.number(scale * v, 1) if rate else _number(v) for v in (sub.gap.value, sub.gap.low, sub.gap.high)
    ]
    return {
        "People": words.sentence(listed(sub.conditions))[:-1],
        "Measure": _MEASURES[sub.metric],
        "In it": f"{show(sub.value)} of {words.number(sub.n)}",
        "Everybody else": show(sub.rest),
        "Difference": f"{span[0]}{unit} ({span[1]} to {span[2]})",
        "p, corrected": _p(sub.corrected),
        "Stands": "yes" if sub.stands and _fares_worse(sub) else "no",
    }


def _summary_finding(audit: Audit, one: Summary) -> str:
    all_ = one.everybody
    if not all_.served.value:
        return (
            f"Few rules instead of a plan for each ({_summary_name(one.name)}): no common change was found that serves "
            f"any of {words.number(all_.served.n)} people."
        )
    text = (
        f"Few rules instead of a plan for each ({_summary_name(one.name)}): "
        f"{words.count(len(one.lines), 'rule serves', 'rules serve')} "
        f"{_cell(all_.served, True)} of {words.number(all_.served.n)} people who had no say in them"
    )
    if all_.own_served.n:
        text += f", plans of their own {_share(all_.own_served.value)}"
    if one.extra.n:
        more = "more" if one.extra.value >= 0 else "less"
        text += (
            f". Those whom both serve pay {_number(abs(one.extra.value))} {more} under the rules on average"
        )
    return text + "."


def _summary_name(name: str) -> str:
    text = _LINES.get(name, name)
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _summaries_text(audit: Audit) -> list[str]:
    if not audit.summaries:
        return []
    one = audit.summaries[0]
    return [
        "Nobody can read a plan for each of thousands of people. Here a few rules stand for all of them: for whom, and "
        f"what to do. They were learnt from {words.number(one.learnt)} refused people; every number here is told of "
        f"{words.number(one.told)} others, drawn by chance, who had no say in them.",
        "Every rule was carried out for everybody it speaks to and checked like any other plan. It works for a person "
        "if they may do it, no rule of the schema and no wish of theirs is broken, and the model then says yes. Whom "
        "several rules serve takes the cheapest. A rule that works says what turns this model, not what is good for "
        "people.",
    ]


def _summary(audit: Audit, one: Summary) -> dict[str, Any]:
    all_ = one.everybody
    text = [_ABOUT.get(one.name, words.sentence(str(one.meta.get("in_words", ""))))]
    text.append(
        f"Together they serve {_cell(all_.served, True)} of the {words.number(one.told)}"
        + (f", at a mean cost of {_cell(all_.cost, False)}." if all_.cost.n else ".")
        + (
            f" Plans made for each of them serve {_share(all_.own_served.value)}, at {_number(all_.own_cost.value)}."
            if all_.own_cost.n
            else ""
        )
    )
    if one.extra.n:
        e, way = one.extra, "more"
        if e.value < 0:
            e, way = replace(e, value=-e.value, low=-e.high, high=-e.low), "less"
        if not one.extra.n == all_.cost.n == all_.own_cost.n:
            text[-1] += " These two costs are of different people."
        text[-1] += (
            f" Over the {words.number(e.n)} whom both serve, the rules cost "
            f"{_cell(e, False)} {way} than plans of their own."
        )
    if not one.lines:
        text = ["No rule was found that serves anybody."]
    lines = [
        {
            "Rule": str(place),
            "For whom": words.sentence(listed(line.who) or "everybody")[:-1],
            "What to do": f"{words.sentence(listed(line.change))} {line.how_much}".rstrip(),
            "Speaks to": words.number(line.told),
            "Works for, of these": _cell(line.works, True),
            "Mean cost, where it works": _cell(line.cost, False),
            "Cheapest that works, of all": _share(line.used),
        }
        for place, line in enumerate(one.lines, 1)
    ]
    titles = _titles(audit)
    groups = [
        {
            "Group": "Everybody"
            if not part.attribute
            else f"{titles.get(part.attribute, part.attribute)}: {part.group}",
            "People told of": words.number(part.served.n),
            "Served by a rule": _cell(part.served, True),
            "Served by a plan of their own": _cell(part.own_served, True),
            "Mean cost of the rules": _cell(part.cost, False),
            "Rules cost more than own plans by": _cell(part.extra, False),
        }
        for part in (all_, *one.groups)
        if part.served.n >= 3
    ]
    return {
        "name": _LINES.get(one.name, one.name),
        "text": [t for t in text if t],
        "lines": lines,
        "groups": groups,
    }


def _summaries_figure(audit: Audit) -> Any:
    from markupsafe import Markup

    if not audit.grid or not audit.summaries:
        return ""
    names = [_LINES.get(one.name, one.name) for one in audit.summaries]
    drawn = figures.svg(
        charts.figure_summaries(audit.summaries, names, audit.grid[-1] or 1.0),
        "summaries", "Share served against cost: few rules, and plans of their own",
        "Rising lines: for each way of making rules, and for plans made for each person, the share of people served "
        "within a cost. The table below holds the shares at four costs.",
    )  # fmt: skip
    return Markup(drawn)


def _summaries_served(audit: Audit) -> list[dict[str, str]]:
    """Shares served at the common budgets of the audit."""
    rows = []
    for one in audit.summaries:
        sides = [(_LINES.get(one.name, one.name), one.curve.served, one.everybody.served)]
        if one is audit.summaries[-1] and one.curve.own:
            sides.append(("Plans of their own", one.curve.own, one.everybody.own_served))
        for name, curve, whole in sides:
            at = dict(zip(one.curve.cost, curve, strict=True))
            rows.append(
                {"Way": name}
                | {f"Within {_number(b)}": _share(at[b]) for b in audit.budgets if b in at}
                | {"At any cost": _share(whole.value)}
            )
    return rows


def _robust_rows(audit: Audit) -> list[dict[str, str]]:
    rows, titles = [], _titles(audit)
    for side in audit.robustness.get("groups", ()):
        attribute = titles.get(side["attribute"], side["attribute"])
        name = f"{attribute}: {side['group']}" if attribute else side["group"]
        row = {
            "Group": name,
            "Plans": words.number(side["n"]),
            "A yes when carried out with errors": _held(side["yes_with_errors"]),
        }
        if audit.robustness["models"]:
            row["Still a yes under each model trained again"] = _each(side)
            row["On average"] = _held(side["yes_of_retrained_models"])
            row["All retrained models say yes"] = _held(side["yes_of_all_retrained_models"])
        rows.append(row)
    return rows


def _each(side: dict[str, Any]) -> str:
    """The share of plans that hold under each retrained model, from the least to the most; the ends of many."""
    shares = sorted(side["yes_by_retrained_model"])
    if len(shares) > 10:
        return f"{_share(shares[0])} to {_share(shares[-1])}"
    return listed([_share(v) for v in shares])


def _held(e: dict[str, Any]) -> str:
    if not e["n"] or e["value"] is None:
        return "not measured"
    return f"{_share(e['value'])} ({_share(e['low'])} to {_share(e['high'])})"


def _robust_text(audit: Audit) -> list[str]:
    found = audit.robustness
    if not found:
        return []
    text = (
        (
            f"Every plan is {audit.meta['robust']}. "
            if audit.meta.get("robust")
            else "A plan was checked for today's model, carried out to the letter. "
        )
        + "Here people miss what they aim for "
        "by chance, "
        f"by about {words.percent(found['error'])} of a feature's range (a standard deviation), and the model "
        "is asked again."
    )
    if found["models"]:
        text += (
            f" Plans were also shown to {words.count(found['models'], 'model')} of the same kind, trained on "
            "resamples of "
            "the same past people, as a lender may train the next one. "
            + (
                "The interval of the average allows for other such models and for other plans; that of plans to which "
                "all of them say yes is over plans only."
                if found["models"] > 1
                else "One model does not show how far such models differ: these intervals are over plans only."
            )
        )
    return [text + " Rates are over a sample of the plans."]


def _facts(audit: Audit) -> list[dict[str, str]]:
    m = audit.meta
    rows = [
        ("Method", ": ".join(t for t in (m.get("method", ""), m.get("method_in_words", "")) if t)),
        *([] if m.get("model") == "Wrapped" else [("Model", m.get("model", ""))]),
        ("A yes is", "; it means: ".join(t for t in (m.get("target", ""), m.get("yes_means", "")) if t)),
        ("World", _WORLDS.get(m.get("world", ""), m.get("world", ""))),
        ("Cost", _unit(audit)),
        *([("A plan must also be", m["robust"])] if m.get("robust") else []),
        ("People looked at", words.number(audit.n)),
        ("Refused", words.number(audit.refused)),
        ("Answered", words.number(audit.answered)),
        ("Smallest group that is compared", words.number(m.get("smallest_group_compared", 0))),
        ("Second method", m.get("second_method") or "none"),
        ("Correction", audit.correction),
        ("Seed", m.get("seed", "")),
        ("Plans that the method called good and this audit did not", m.get("refuted", 0)),
    ]
    rows += [(f"Data: {name}", value) for name, value in m.get("source", {}).items()]
    rows += [(f"Version of {name}", v) for name, v in m.get("versions", {}).items()]
    return [{"Fact": name, "Value": str(value)} for name, value in rows]


def _features(audit: Audit) -> list[dict[str, str]]:
    from wayforward.answers.page import features_table

    return features_table(audit.schema)
