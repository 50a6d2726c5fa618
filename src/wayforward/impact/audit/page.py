"""An audit as one HTML page that stands alone: findings in plain words, figures, and a table beside every figure.

No script, no request to anywhere, no person's row. The page measures; it never says that a model is fair.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import figures, words
from wayforward.answers.page import template_engine
from wayforward.impact.audit import charts, honesty_tables, proved, tables
from wayforward.impact.audit.figures import RATES
from wayforward.impact.audit.findings import lead, ranked
from wayforward.impact.audit.twins import SAME
from wayforward.impact.audit.wording import (
    DIMENSIONS,
    SHARES,
    SUMMARIES,
    cost_telling,
    cost_unit,
    heading,
    in_quotes,
    p_value,
    rule_in_words,
    share,
    turned,
    unit_of,
    with_titles,
)
from wayforward.plain_files import as_path, write_text

if TYPE_CHECKING:
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.summaries import Summary

_FIRST = 8  # findings on the first page; the others stand behind them

_ABOUT = {  # what a reader may expect of each summary
    "tree": "A few questions sort people into groups; everybody in a group is told the same thing to do. Each person "
    "belongs to one group.",
    "ares": "Rules of the form: if somebody belongs to a group and stands so, change this to that. Several rules may "
    "speak to one person.",
    "globe-ce": "Everybody is shown the same few directions and goes along one of them, step by step, as far as they "
    "need. Whoever is at the end of what is possible in one thing goes on in the others.",
}


def report(audit: Audit, path: str | Path, title: str = "Audit of recourse") -> Path:
    """Write the page to one HTML file and return its path. Raises: MissingExtra without matplotlib or Jinja2."""
    path = as_path(path)
    write_text(path, render(audit, title))
    return path


def render(audit: Audit, title: str = "Audit of recourse") -> str:
    """Return the HTML text. Everything that comes from data or schema is escaped by the template engine."""
    audit = with_titles(audit)
    plain = [one for one in audit.attributes if not one.crossed]
    found = ranked(audit)
    text: str = (
        template_engine("wayforward.impact")
        .get_template("audit.html.j2")
        .render(
            title=title,
            lead=lead(audit),
            findings=found[:_FIRST],
            more_findings=found[_FIRST:],
            reading=_reading(audit),
            everybody=tables.everybody(audit),
            attributes=[_attribute(audit, one, place) for place, one in enumerate(plain)],
            crossed=[
                _intersection(audit, one)
                for one in audit.attributes
                if one.crossed and tables.parts_of_two(audit, one)
            ],
            worst_text=_worst_off(audit),
            worst=[tables.worst_off(audit, one) for one in audit.worst],
            summaries_text=_about_summaries(audit),
            summaries=[_summary(audit, one) for one in audit.summaries],
            summaries_figure=_summaries_figure(audit),
            summaries_served=tables.summaries_served(audit),
            fixed=tables.fixed(audit),
            proved=proved.table(audit),
            proved_words=(proved.heading(), proved.text(), proved.caption()),
            robustness=tables.robustness(audit),
            robustness_text=_robustness(audit),
            honesty_text=honesty_tables.text(audit),
            yardsticks=honesty_tables.yardsticks(audit),
            misreports=honesty_tables.misreports(audit),
            facts=tables.facts(audit),
            meaning=tables.meanings(audit),
            features=tables.features(audit),
            rules=[rule_in_words(audit.schema, rule) for rule in audit.schema.rules],
            notes=list(audit.notes),
        )
    )
    return text


def _reading(audit: Audit) -> list[str]:
    """Return how to read the page: what a plan, an interval, a correction and a cost are."""
    how = (
        "Holm's correction keeps the chance of even one false alarm below 5 %"
        if audit.correction == "holm"
        else "the correction of Benjamini and Hochberg keeps the share of false alarms among those raised below 5 %"
    )
    robust = audit.meta.get("robust")
    return [
        "People whom the model refuses ask for a plan: a change that they are allowed to make and after which the "
        "model says yes. This page measures who has such a plan, what it costs, and how groups differ. It measures "
        "only: no number here certifies that a model or its advice is fair, and a difference does not say why it "
        "exists.",
        *_about_the_model(audit),
        "Answered are those for whom a plan was looked for. A plan is usable if it was checked and works. It is like "
        "people who are accepted if it leads no further from the nearest of them than 95 % of them stand from theirs.",
        "An interval in brackets is a 95 % interval. This audit made "
        f"{words.count(audit.comparisons, 'comparison')}; with so many, one in twenty looks remarkable by chance "
        "alone. A difference is said to stand when it remains after allowing for all of them "
        f"({how}). {heading(words.count(audit.n_significant, 'difference')) if audit.n_significant else 'None'} "
        f"{'stand' if audit.n_significant > 1 else 'stands'} here. Not among them are the subgroups that fare worst, "
        "which are corrected among themselves, and twins, segregation, gaps among people who are alike and plans that "
        "last, whose intervals stand by themselves.",
        *(
            [
                f"Here a plan must also withstand change. It must be: {robust}. Whoever has no such plan counts as "
                "having none, even where one works today."
            ]
            if robust
            else []
        ),
        f"A cost is {cost_unit(audit)}. Costs are means over people who have a plan. A group can look cheap because "
        "its hard cases have no plan at all, so read costs together with the share that has one, or take the measure "
        "in which no plan counts as the dearest: one whole range for every feature that people can act on.",
    ]


def _about_the_model(audit: Audit) -> list[str]:
    """Return what a yes means and how often the model is right, where that is known."""
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


# -- one attribute -----------------------------------------------------------------------------------------


def _attribute(audit: Audit, one: AttributeAudit, place: int) -> dict[str, Any]:
    """Return everything that the template shows of an attribute."""
    text = [
        "The model sees this attribute." if one.in_model else "The model does not see this attribute.",
        *one.notes,
    ]
    if one.unlabelled:
        text.append(
            f"{words.count(one.unlabelled, 'person has no label and belongs', 'people have no label and belong')} "
            "to no group."
        )
    measures = list(audit.overall.figures)
    largest = tables.largest_gaps(audit, one)
    return {
        "name": one.name,
        "text": text,
        **_attribute_figures(audit, one, place),
        "counts": tables.counts(one),
        "rates": tables.measure_rows(
            audit, one, [m for m in RATES if m in measures and m != "not_found"], True
        ),
        "means": tables.measure_rows(audit, one, [m for m in measures if m not in RATES], False),
        "gaps": largest,
        "gap_text": _gaps(audit, one),
        "matrices": [tables.gap_row(audit, g) for g in one.gaps] if len(one.gaps) > len(largest) else [],
        "served": tables.served(audit, one),
        "needed": tables.needed(audit, one),
        "agreement": _agreement(one),
        "asked_table": tables.changed_features(audit, one),
        "simpson": tables.gaps_among_alike(audit, one),
        "simpson_text": (
            "A difference between groups can be a difference between other things in which the groups differ. Here it "
            "is told as it is, and as the mean of the differences among people who are alike in something else. Where "
            "the two point opposite ways, the first alone misleads."
        ),
        "twins_text": _twins(audit, one),
        "twins": tables.twin_pairs(audit, one),
        "society_text": _segregation(one),
        "society": tables.segregation(one),
    }


def _attribute_figures(audit: Audit, one: AttributeAudit, place: int) -> dict[str, Any]:
    """Return the figures of an attribute as SVG, '' where there is nothing to draw."""
    from markupsafe import Markup

    answered = charts.shown(one)
    drawn = {"outcomes": "", "budget": "", "asked": ""}
    if answered:
        drawn["outcomes"] = figures.svg(
            charts.figure_outcomes(audit, one), f"outcomes-{place}", f"Outcomes by {one.name}",
            "For each group: the share refused, how those answered fared, and the mean cost of a plan. "
            "The tables below hold the same numbers.",
        )  # fmt: skip
    if any(g.curve for g in answered):
        drawn["budget"] = figures.svg(
            charts.figure_budget(audit, one), f"budget-{place}", f"Share served within a budget, by {one.name}",
            "One rising line a group. The table below holds the shares at four budgets.",
        )  # fmt: skip
    if any(np.isfinite(g.acted_on).all() for g in answered):
        drawn["asked"] = figures.svg(
            charts.figure_changed_features(audit, one), f"asked-{place}", f"What plans ask for, by {one.name}",
            "For each feature, the share of each group's plans that ask to change it. The table holds the same "
            "numbers.",
        )  # fmt: skip
    return {name: Markup(value) for name, value in drawn.items()}


def _gaps(audit: Audit, one: AttributeAudit) -> str:
    cost = [g for g in one.gaps if g.metric == "cost" and np.isfinite(g.estimate.value)]
    known = [
        g for g in one.groups if g.compared and g.figures.get("cost") is not None and g.figures["cost"].n
    ]
    text = ""
    if cost and len(known) > 1:
        low = min(known, key=lambda g: g.figures["cost"].value)
        high = max(known, key=lambda g: g.figures["cost"].value)
        how = cost_telling(unit_of(audit))
        more = how.more(high.figures["cost"].value - low.figures["cost"].value)
        for gap in cost:
            if {gap.first, gap.second} == {low.name, high.name}:
                more = how.difference(turned(gap.estimate) if gap.first == low.name else gap.estimate)
        text = (
            f"Between the dearest group ({in_quotes(high.name)}) and the cheapest ({in_quotes(low.name)}) lies "
            f"a difference of {more} in mean cost. "
        )
    return text + (
        "p is the chance of a difference at least so large if the groups were alike; corrected, with care for all "
        "comparisons of this audit."
    )


def _agreement(one: AttributeAudit) -> str:
    if not one.agreement:
        return "Too few plans to say whether groups are asked for the same things."
    least = min(one.agreement, key=lambda a: a.value - a.by_chance)
    feature, p, q = least.most
    same = (
        ""
        if least.significant
        else " The difference is no larger than chance would make one among all comparisons."
    )
    return (
        "Agreement is 1 where two groups are asked to change the same things equally often, and 0 where nothing is "
        "common. It is least, beside what chance would give groups of these sizes, between "
        f"{in_quotes(least.first)} and {in_quotes(least.second)}: {words.number(least.value, 2)}, by chance "
        f"{words.number(least.by_chance, 2)} (p {p_value(least.p)}, corrected {p_value(least.corrected)}). Most apart "
        f"is {in_quotes(feature)}: {words.percent(p)} against {words.percent(q)}.{same}"
    )


def _twins(audit: Audit, one: AttributeAudit) -> list[str]:
    t = one.twins
    if t is None:
        return []
    if t.why_not:
        return [f"Not measured: {t.why_not.replace(repr(t.attribute), repr(one.name))}."]
    how = cost_telling(unit_of(audit))
    does = "; ".join(in_quotes(g) if g == v else f"{in_quotes(g)}: {v}" for g, v in t.values)
    text = [
        "A twin is the same refused person, had they belonged to another group: the causal world sets the attribute "
        "and lets follow what follows, while everything particular to the person stays. A twin whom the model accepts "
        f"needs no plan and pays nothing. The attribute is set to: {does}.",
        f"The largest difference to any twin is {how.difference(t.individual)} in cost on average over "
        f"{words.count(t.people, 'person', 'people')}; it exceeds {how.more(SAME)} for "
        f"{SHARES.estimate(t.larger)} of them.",
    ]
    if t.impossible:
        text.append(
            f"{words.count(t.impossible, 'twin')} would lie outside what the schema allows, and are left out."
        )
    return text


def _segregation(one: AttributeAudit) -> str:
    if not one.society:
        return ""
    first = next(iter(one.society.values()))
    return (
        f"{words.number(first['followed'])} of {words.number(first['people'])} people (a sample of all) act on their "
        "plan; the others stay as they are. Each group is set beside everybody else. These intervals stand "
        "by themselves and are not among the corrected comparisons. "
        + " ".join(f"{heading(name)}: {what}." for name, what in DIMENSIONS.values())
    )


def _intersection(audit: Audit, one: AttributeAudit) -> dict[str, Any]:
    text = [note for note in one.notes if "refuses nobody" not in note]
    return {"name": one.name, "text": text, "rows": tables.parts_of_two(audit, one)}


# -- the whole ---------------------------------------------------------------------------------------------


def _worst_off(audit: Audit) -> list[str]:
    if not audit.worst:
        return ["Too few people were answered, or all fared alike, so no subgroup was searched for."]
    significant = sum(s.significant and s.fares_worse for s in audit.worst)
    return [
        "Subgroups were searched for among all combinations of up to three conditions on the features and attributes. "
        "A search always finds something, so the conditions were chosen on one half of the people, drawn by chance, "
        "and the numbers below come from the other half, corrected for how many subgroups are told. A condition says "
        "whom the numbers are about, not why.",
        f"{words.number(significant)} of {words.count(len(audit.worst), 'subgroup')} "
        f"{'fares' if significant == 1 else 'fare'} worse on people who had no say in the choice, too.",
    ]


def _about_summaries(audit: Audit) -> list[str]:
    if not audit.summaries:
        return []
    one = audit.summaries[0]
    return [
        "Nobody can read a plan for each of thousands of people. Here a few rules stand for all of them: for whom, and "
        f"what to do. They were learnt from {words.number(one.learnt)} refused people; every number here is told of "
        f"{words.number(one.n_scored)} others, drawn by chance, who had no say in them.",
        "Every rule was carried out for everybody it speaks to and checked like any other plan. It works for a person "
        "if they may do it, no rule of the schema and no wish of theirs is broken, and the model then says yes. Whom "
        "several rules serve takes the cheapest. A rule that works says what turns this model, not what is good for "
        "people.",
    ]


def _summary(audit: Audit, one: Summary) -> dict[str, Any]:
    about = _ABOUT.get(one.name, words.sentence(str(one.meta.get("in_words", ""))))
    text = [about, _served(one)] if one.lines else ["No rule was found that serves anybody."]
    return {
        "name": SUMMARIES.get(one.name, one.name),
        "text": [t for t in text if t],
        "lines": tables.summary_lines(one),
        "groups": tables.summary_groups(audit, one),
    }


def _served(one: Summary) -> str:
    """Return whom the lines of a summary serve, at what cost, beside plans of their own."""
    everybody, how = one.everybody, cost_telling(one.unit)
    text = f"Together they serve {SHARES.estimate(everybody.served)} of the {words.number(one.n_scored)}"
    text += f", at a mean cost of {how.estimate(everybody.cost)}." if everybody.cost.n else "."
    if everybody.own_cost.n:
        text += (
            f" Plans made for each of them serve {share(everybody.own_served.value)}, at "
            f"{how.value(everybody.own_cost.value)}."
        )
    if one.extra.n:
        e, way = one.extra, "more"
        if e.value < 0:
            e, way = turned(e), "less"
        if not one.extra.n == everybody.cost.n == everybody.own_cost.n:
            text += " These two costs are of different people."
        text += (
            f" Over the {words.number(e.n)} whom both serve, the rules cost {how.difference(e)} {way} than plans of "
            "their own."
        )
    return text


def _summaries_figure(audit: Audit) -> Any:
    from markupsafe import Markup

    if not audit.grid or not audit.summaries:
        return ""
    names = [SUMMARIES.get(one.name, one.name) for one in audit.summaries]
    drawn = figures.svg(
        charts.figure_summaries(audit.summaries, names, audit.grid[-1] or 1.0),
        "summaries", "Share served against cost: few rules, and plans of their own",
        "Rising lines: for each way of making rules, and for plans made for each person, the share of people served "
        "within a cost. The table below holds the shares at four costs.",
    )  # fmt: skip
    return Markup(drawn)


def _robustness(audit: Audit) -> list[str]:
    found, robust = audit.robustness, audit.meta.get("robust")
    if not found:
        return []
    text = (
        (
            f"Every plan is {robust}. "
            if robust
            else "A plan was checked for today's model, carried out to the letter. "
        )
        + "Here people miss what they aim for by chance, by about "
        f"{words.percent(found['error'])} of a feature's range (a standard deviation), and the model is asked again."
    )
    if found["models"]:
        text += (
            f" Plans were also shown to {words.count(found['models'], 'model')} of the same kind, trained on resamples "
            "of the same past people, as a lender may train the next one. "
        )
        text += (
            "The interval of the average allows for other such models and for other plans; that of plans to which "
            "all of them say yes is over plans only."
            if found["models"] > 1
            else "One model does not show how far such models differ: these intervals are over plans only."
        )
    return [text + " Rates are over a sample of the plans."]
