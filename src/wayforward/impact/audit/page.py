"""An audit as one HTML page that stands alone: findings in plain words, figures, and a table beside every figure.

No script, no request to anywhere, no person's row. The page measures; it never says that a model is fair.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import figures, words
from wayforward.answers.page import template_engine
from wayforward.answers.words import in_quotes
from wayforward.errors import require_kind
from wayforward.impact.audit import charts, honesty_tables, proved, tables
from wayforward.impact.audit.figures import RATES
from wayforward.impact.audit.findings import dimension, lead, ranked
from wayforward.impact.audit.result import Audit
from wayforward.impact.audit.twins import SAME
from wayforward.impact.audit.wording import (
    DIMENSIONS,
    SHARES,
    cost_telling,
    cost_unit,
    p_value,
    rule_in_words,
    share,
    summary_name,
    turned,
    unit_of,
    with_titles,
)
from wayforward.language import N_, gettext, ngettext, translated, use_language, visible
from wayforward.plain_files import as_path, write_text
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.impact.audit.result import AttributeAudit
    from wayforward.impact.summaries import Summary

_FIRST = 8  # findings on the first page; the others stand behind them

_ABOUT = {  # what a reader may expect of each summary
    "tree": N_(
        "A few questions sort people into groups; everybody in a group is told the same thing to do. Each person "
        "belongs to one group."
    ),
    "ares": N_(
        "Rules of the form: if somebody belongs to a group and stands so, change this to that. Several rules may "
        "speak to one person."
    ),
    "globe-ce": N_(
        "Everybody is shown the same few directions and goes along one of them, step by step, as far as they need. "
        "Whoever is at the end of what is possible in one thing goes on in the others."
    ),
}
_TITLE = N_("Audit of recourse")


@public
def report(audit: Audit, path: str | Path, title: str = _TITLE, language: str | None = None) -> Path:
    """Write the page to one HTML file and return its path, in "en", "de" or the language in use.

    Raises: MissingExtra without matplotlib or Jinja2.
    """
    require_kind(audit, Audit, "audit")
    require_kind(title, str, "title")
    path = as_path(path)
    write_text(path, render(audit, title, language))
    return path


def render(audit: Audit, title: str = _TITLE, language: str | None = None) -> str:
    """Return the HTML text. Everything that comes from data or schema is escaped by the template engine."""
    with use_language(language):
        return _rendered(audit, gettext(translated(title)))


def _rendered(audit: Audit, title: str) -> str:
    audit = with_titles(_without_spared_parts(audit))
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
    return visible(text)  # names of groups are somebody's, also within a sentence


def _without_spared_parts(audit: Audit) -> Audit:
    """Return the audit without notes of parts that are never refused: where two attributes meet there are many."""
    attributes = [
        replace(one, notes=tuple(note for note in one.notes if "refuses nobody" not in note))
        if one.crossed
        else one
        for one in audit.attributes
    ]
    return replace(audit, attributes=tuple(attributes))


def _compared(audit: Audit) -> list[str]:
    """Return how many differences were looked at, what their correction is, and what stands outside of it."""
    if not audit.comparisons:
        return [gettext("An interval in brackets is a 95 % interval. No groups were compared.")]
    how = gettext(
        "the correction of Benjamini and Hochberg keeps the share of false alarms among those raised below 5 %"
    )
    if audit.correction == "holm":
        how = gettext("Holm's correction keeps the chance of even one false alarm below 5 %")
    n = audit.n_significant
    return [
        ngettext(
            "An interval in brackets is a 95 % interval. This audit made {n} comparison. A difference is said to stand "
            "when chance alone would make one so large less often than once in twenty times.",
            "An interval in brackets is a 95 % interval. This audit made {n} comparisons; with so many, one in "
            "twenty looks remarkable by chance alone. A difference is said to stand when it remains after "
            "allowing for all of them ({how}).",
            audit.comparisons,
            how=how,
        ),
        ngettext("{n} difference stands here.", "{n} differences stand here.", n)
        if n
        else gettext("None stands here."),
        gettext(
            "Not among them are the subgroups that fare worst, which are corrected among themselves, and "
            "twins, segregation, gaps among people who are alike and plans that last, whose intervals stand by "
            "themselves."
        ),
    ]


def _reading(audit: Audit) -> list[str]:
    """Return how to read the page: what a plan, an interval, a correction and a cost are."""
    robust = audit.meta.get("robust")
    return [
        gettext(
            "People whom the model refuses ask for a plan: a change that they are allowed to make and after which the "
            "model says yes. This page measures who has such a plan, what it costs, and how groups differ. It measures "
            "only: no number here certifies that a model or its advice is fair, and a difference does not say why it "
            "exists."
        ),
        *_about_the_model(audit),
        gettext(
            "Answered are those for whom a plan was looked for. A plan is usable if it was checked and works. It is "
            "like people who are accepted if it leads no further from the nearest of them than 95 % of them stand from "
            "theirs."
        ),
        " ".join(_compared(audit)),
        *(
            [
                gettext(
                    "Here a plan must also withstand change. It must be: {robust}. Whoever has no such plan counts as "
                    "having none, even where one works today.",
                    robust=robust,
                )
            ]
            if robust
            else []
        ),
        gettext(
            "A cost is {unit}. Costs are means over people who have a plan. A group can look cheap because its hard "
            "cases have no plan at all, so read costs together with the share that has one, or take the measure in "
            "which no plan counts as the dearest: one whole range for every feature that people can act on.",
            unit=cost_unit(audit),
        ),
    ]  # fmt: skip


def _about_the_model(audit: Audit) -> list[str]:
    """Return what a yes means and how often the model is right, where that is known."""
    q, means, out = audit.meta.get("quality"), audit.meta.get("yes_means"), []
    if means:
        out.append(
            gettext("A yes is {target}, which stands for: {means}.", target=audit.meta["target"], means=means)
        )
    if q:
        balanced = words.percent(q["balanced_accuracy"], 1)
        known = {"accuracy": words.percent(q["accuracy"], 1), "n": words.number(q["n"]), "balanced": balanced}
        if q["accepts_of_favourable"] is None or q["refuses_of_others"] is None:
            agrees = gettext(
                "The model agrees with the label on record for {accuracy} of the {n} people looked at (balanced "
                "accuracy {balanced}).",
                **known,
            )
        else:
            agrees = gettext(
                "The model agrees with the label on record for {accuracy} of the {n} people looked at (balanced "
                "accuracy {balanced}: it accepts {accepts} of those with the favourable label and refuses {refuses} of "
                "the others).",
                **known,
                accepts=words.percent(q["accepts_of_favourable"], 1),
                refuses=words.percent(q["refuses_of_others"], 1),
            )
        out.append(agrees)
        if q["weighted"]:
            out.append(
                gettext(
                    "One label is rare, so the model was trained as if both were equally common: it can give the rare "
                    "label to many more people than have it."
                )
            )
    return [" ".join(out)] if out else []


# -- one attribute -----------------------------------------------------------------------------------------


def _attribute(audit: Audit, one: AttributeAudit, place: int) -> dict[str, Any]:
    """Return everything that the template shows of an attribute."""
    text = [
        gettext("The model sees this attribute.")
        if one.in_model
        else gettext("The model does not see this attribute."),
        *one.notes,
    ]
    if one.unlabelled:
        text.append(
            ngettext(
                "{n} person has no label and belongs to no group.",
                "{n} people have no label and belong to no group.",
                one.unlabelled,
            )
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
        "simpson_text": gettext(
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
            charts.figure_outcomes(audit, one), f"outcomes-{place}", gettext("Outcomes by {name}", name=one.name),
            gettext(
                "For each group: the share refused, how those answered fared, and the mean cost of a plan. The tables "
                "below hold the same numbers."
            ),
        )  # fmt: skip
    if any(g.curve for g in answered):
        drawn["budget"] = figures.svg(
            charts.figure_budget(audit, one), f"budget-{place}",
            gettext("Share served within a budget, by {name}", name=one.name),
            gettext("One rising line a group. The table below holds the shares at four budgets."),
        )  # fmt: skip
    if any(np.isfinite(g.acted_on).all() for g in answered):
        drawn["asked"] = figures.svg(
            charts.figure_changed_features(audit, one), f"asked-{place}",
            gettext("What plans ask for, by {name}", name=one.name),
            gettext(
                "For each feature, the share of each group's plans that ask to change it. The table holds the same "
                "numbers."
            ),
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
        text = gettext(
            "Between the dearest group ({high}) and the cheapest ({low}) lies a difference of {more} in mean cost.",
            high=in_quotes(high.name), low=in_quotes(low.name), more=more,
        ) + " "  # fmt: skip
    return text + gettext(
        "p is the chance of a difference at least so large if the groups were alike; corrected, with care for all "
        "comparisons of this audit."
    )


def _agreement(one: AttributeAudit) -> str:
    if not one.agreement:
        return gettext("Too few plans to say whether groups are asked for the same things.")
    least = min(one.agreement, key=lambda a: a.value - a.by_chance)
    feature, p, q = least.most
    text = gettext(
        "Agreement is 1 where two groups are asked to change the same things equally often, and 0 where nothing is "
        "common. It is least, beside what chance would give groups of these sizes, between {first} and {second}: "
        "{value}, by chance {chance} (p {p}, corrected {corrected}).",
        first=in_quotes(least.first), second=in_quotes(least.second), value=words.number(least.value, 2),
        chance=words.number(least.by_chance, 2), p=p_value(least.p), corrected=p_value(least.corrected),
    )  # fmt: skip
    if p == q:
        return text + " " + gettext("Both are asked to change each feature equally often.")
    text += " " + gettext(
        "Most apart is {feature}: {one} against {two}.",
        feature=in_quotes(feature), one=words.percent(p), two=words.percent(q),
    )  # fmt: skip
    if not least.significant:
        text += " " + gettext("The difference is no larger than chance would make one among all comparisons.")
    return text


def _twins(audit: Audit, one: AttributeAudit) -> list[str]:
    t = one.twins
    if t is None:
        return []
    if t.why_not:
        return [gettext("Not measured: {why}.", why=t.why_not)]
    how = cost_telling(unit_of(audit))
    does = "; ".join(in_quotes(g) if g == v else f"{in_quotes(g)}: {v}" for g, v in t.values)
    text = [
        gettext(
            "A twin is the same refused person, had they belonged to another group: the causal world sets the "
            "attribute and lets follow what follows, while everything particular to the person stays. A twin whom the "
            "model accepts needs no plan and pays nothing. The attribute is set to: {values}.",
            values=does,
        ),
        gettext(
            "The largest difference to any twin is {apart} in cost on average over {people}; it exceeds {same} for "
            "{larger} of them.",
            apart=how.difference(t.individual), people=words.count(t.people, "person", "people"),
            same=how.more(SAME), larger=SHARES.estimate(t.larger),
        ),
    ]  # fmt: skip
    if t.impossible:
        text.append(
            ngettext(
                "{n} twin would lie outside what the schema allows, and is left out.",
                "{n} twins would lie outside what the schema allows, and are left out.",
                t.impossible,
            )
        )
    return text


def _segregation(one: AttributeAudit) -> str:
    if not one.society:
        return ""
    first = next(iter(one.society.values()))
    text = gettext(
        "{followed} of {n} people (a sample of all) act on their plan; the others stay as they are. Each group is set "
        "beside everybody else. These intervals stand by themselves and are not among the corrected comparisons.",
        followed=words.number(first["followed"]), n=words.number(first["people"]),
    )  # fmt: skip
    return " ".join([text, *(dimension(name) for name in DIMENSIONS)])


def _intersection(audit: Audit, one: AttributeAudit) -> dict[str, Any]:
    return {"name": one.name, "text": list(one.notes), "rows": tables.parts_of_two(audit, one)}


# -- the whole ---------------------------------------------------------------------------------------------


def _worst_off(audit: Audit) -> list[str]:
    if not audit.worst:
        return [gettext("Too few people were answered, or all fared alike, so no subgroup was searched for.")]
    significant = sum(s.significant and s.fares_worse for s in audit.worst)
    return [
        gettext(
            "Subgroups were searched for among all combinations of up to three conditions on the features and "
            "attributes. A search always finds something, so the conditions were chosen on one half of the people, "
            "drawn by chance, and the numbers below come from the other half, corrected for how many subgroups are "
            "told. A condition says whom the numbers are about, not why."
        ),
        ngettext(
            "{n} of {subgroups} fares worse on people who had no say in the choice, too.",
            "{n} of {subgroups} fare worse on people who had no say in the choice, too.",
            significant, subgroups=words.count(len(audit.worst), "subgroup", "subgroups"),
        ),
    ]  # fmt: skip


def _about_summaries(audit: Audit) -> list[str]:
    if not audit.summaries:
        return []
    one = audit.summaries[0]
    return [
        gettext(
            "Nobody can read a plan for each of thousands of people. Here a few rules stand for all of them: for whom, "
            "and what to do. They were learnt from {learnt} refused people; every number here is told of {scored} "
            "others, drawn by chance, who had no say in them.",
            learnt=words.number(one.learnt), scored=words.number(one.n_scored),
        ),
        gettext(
            "Every rule was carried out for everybody it speaks to and checked like any other plan. It works for a "
            "person if they may do it, no rule of the schema and no wish of theirs is broken, and the model then says "
            "yes. Whom several rules serve takes the cheapest. A rule that works says what turns this model, not what "
            "is good for people."
        ),
    ]  # fmt: skip


def _summary(audit: Audit, one: Summary) -> dict[str, Any]:
    about = gettext(_ABOUT.get(one.name, words.sentence(str(one.meta.get("in_words", "")))))
    text = [about, _served(one)] if one.lines else [gettext("No rule was found that serves anybody.")]
    return {
        "name": summary_name(one.name),
        "text": [t for t in text if t],
        "lines": tables.summary_lines(one),
        "groups": tables.summary_groups(audit, one),
    }


def _served(one: Summary) -> str:
    """Return whom the lines of a summary serve, at what cost, beside plans of their own."""
    everybody, how = one.everybody, cost_telling(one.unit)
    text = [
        gettext(
            "Together they serve {served} of the {n}.",
            served=SHARES.estimate(everybody.served), n=words.number(one.n_scored),
        )
    ]  # fmt: skip
    if everybody.cost.n:
        text = [
            gettext(
                "Together they serve {served} of the {n}, at a mean cost of {cost}.",
                served=SHARES.estimate(everybody.served), n=words.number(one.n_scored),
                cost=how.estimate(everybody.cost),
            )
        ]  # fmt: skip
    if everybody.own_cost.n:
        text.append(
            gettext(
                "Plans made for each of them serve {share}, at {cost}.",
                share=share(everybody.own_served.value), cost=how.value(everybody.own_cost.value),
            )
        )  # fmt: skip
    if one.extra.n:
        e = one.extra
        if not e.n == everybody.cost.n == everybody.own_cost.n:
            text.append(gettext("These two costs are of different people."))
        if e.value < 0:
            less = how.difference(turned(e))
            text.append(
                gettext(
                    "Over the {n} whom both serve, the rules cost {less} less than plans of their own.",
                    n=words.number(e.n), less=less,
                )
            )  # fmt: skip
        else:
            more = how.difference(e)
            text.append(
                gettext(
                    "Over the {n} whom both serve, the rules cost {more} more than plans of their own.",
                    n=words.number(e.n), more=more,
                )
            )  # fmt: skip
    return " ".join(text)


def _summaries_figure(audit: Audit) -> Any:
    from markupsafe import Markup

    drawable = [one for one in audit.summaries if one.curve.cost]
    if not audit.grid or not drawable:
        return ""
    names = [summary_name(one.name) for one in drawable]
    drawn = figures.svg(
        charts.figure_summaries(drawable, names, audit.grid[-1] or 1.0),
        "summaries", gettext("Share served against cost: few rules, and plans of their own"),
        gettext(
            "Rising lines: for each way of making rules, and for plans made for each person, the share of people "
            "served within a cost. The table below holds the shares at four costs."
        ),
    )  # fmt: skip
    return Markup(drawn)


def _robustness(audit: Audit) -> list[str]:
    found, robust = audit.robustness, audit.meta.get("robust")
    if not found:
        return []
    text = [
        gettext("Every plan is {robust}.", robust=robust)
        if robust
        else gettext("A plan was checked for today's model, carried out to the letter."),
        gettext(
            "Here people miss what they aim for by chance, by about {error} of a feature's range (a standard "
            "deviation), and the model is asked again.",
            error=words.percent(found["error"]),
        ),
    ]
    if found["models"]:
        text.append(
            ngettext(
                "Plans were also shown to {n} model of the same kind, trained on a resample of the same past people, "
                "as a lender may train the next one. One model does not show how far such models differ: these "
                "intervals are over plans only.",
                "Plans were also shown to {n} models of the same kind, trained on resamples of the same past people, "
                "as a lender may train the next one. The interval of the average allows for other such models and for "
                "other plans; that of plans to which all of them say yes is over plans only.",
                found["models"],
            )
        )
    return [" ".join([*text, gettext("Rates are over a sample of the plans.")])]
