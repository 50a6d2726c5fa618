"""The tables of an audit: rows of text, one beside every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.page import features_table
from wayforward.impact.audit.figures import MEANING
from wayforward.impact.audit.wording import (
    DIMENSIONS,
    MEASURES,
    SHARES,
    clear_of_zero,
    cost_telling,
    cost_unit,
    each_model,
    feature_titles,
    heading,
    measure_name,
    measures_of,
    name_of,
    p_value,
    share,
    stored_rate,
    summary_name,
    telling,
    unit_of,
    with_interval,
    yes_or_no,
)
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD
from wayforward.impact.summaries.summary import listed
from wayforward.language import N_, gettext, language

if TYPE_CHECKING:
    from wayforward.evaluate.stats import Estimate
    from wayforward.impact.audit.gaps import Gap
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.audit.strata import Simpson
    from wayforward.impact.audit.wording import Telling
    from wayforward.impact.audit.worst_off import Subgroup
    from wayforward.impact.summaries import Summary

TableRows = list[dict[str, str]]  # column -> text

_COUNTS = (
    N_("Group"), N_("People"), N_("Refused"), N_("Answered"), N_("Have a usable plan"),
    N_("No allowed change helps (proved)"), N_("No plan found"), N_("Compared"),
)  # fmt: skip

_BUDGETS = [
    N_("Within {cost} (enough for a quarter of the plans)"),
    N_("Within {cost} (enough for half of the plans)"),
    N_("Within {cost} (enough for three quarters of the plans)"),
    N_("Within {cost} (enough for all plans)"),
]
_TO_SERVE = (
    N_("To serve a quarter"),
    N_("To serve half"),
    N_("To serve three quarters"),
    N_("To serve nine in ten"),
)


def everybody(audit: Audit) -> TableRows:
    """Return every measure over all people."""
    rows = []
    for name, e in audit.overall.figures.items():
        show = telling(name, unit_of(audit)).value
        if e.n:
            rows.append(
                {
                    gettext("Measure"): heading(gettext(MEASURES[name])),
                    gettext("Value"): show(e.value),
                    gettext("95 % interval"): gettext("withheld")
                    if np.isnan(e.low)
                    else gettext("{low} to {high}", low=show(e.low), high=show(e.high)),
                    gettext("People behind it"): words.number(e.n),
                }
            )
    return rows


def counts(one: AttributeAudit) -> TableRows:
    """Return how many people stand behind the numbers of each group."""
    rows, heads = [], [gettext(name) for name in _COUNTS]
    for g in one.groups:
        if g.hidden:
            rows.append(dict.fromkeys(heads, g.hidden) | {heads[0]: g.name})
            continue
        withheld = gettext("withheld")
        ends = [withheld if g.counts_withheld else words.number(n) for n in (g.found, g.proved, g.open)]
        people = map(words.number, (g.people, g.refused, g.answered))
        compared = yes_or_no(True) if g.compared else gettext("too few")
        if g.compared_refused and not g.compared:
            compared = gettext("in who is refused")
        rows.append(dict(zip(heads, (g.name, *people, *ends, compared), strict=True)))
    return rows


def measure_rows(audit: Audit, one: AttributeAudit, measures: list[str], rate: bool) -> TableRows:
    """Return some measures, all rates or all means, of each group."""
    rows = []
    for g in one.groups:
        if not g.people or g.hidden or (g.withheld and not rate):
            continue
        row = {gettext("Group"): g.name}
        for m in measures:
            e = g.figures.get(m)
            hidden = g.withheld and (e is None or not e.n)
            figure = gettext("withheld") if hidden else telling(m, unit_of(audit)).estimate(e)
            row[heading(gettext(MEASURES[m]))] = figure
        rows.append(row)
    return rows


def largest_gaps(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the largest difference in each measure."""
    return [gap_row(audit, g) for m in measures_of(one) if (g := one.largest(m)) is not None]


def gap_row(audit: Audit, gap: Gap) -> dict[str, str]:
    """Return one difference with both sides, its interval and p-values."""
    how = telling(gap.metric, unit_of(audit))
    return {
        gettext("Measure"): heading(measure_name(gap.metric)),
        gettext("Group"): _side(how, gap.first, gap.values[0], gap.counts[0]),
        gettext("Beside"): _side(how, gap.second, gap.values[1], gap.counts[1]),
        gettext("Difference"): how.difference(gap.estimate),
        gettext("p, alone"): p_value(gap.p),
        gettext("p, corrected"): p_value(gap.corrected),
        gettext("Stands"): yes_or_no(gap.significant),
    }


def _side(how: Telling, name: str, value: float, n: int) -> str:
    return gettext("{name}: {value} of {n}", name=name_of(name), value=how.value(value), n=words.number(n))


def served(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the share of each group that common budgets serve."""
    names = _BUDGETS if len(audit.budgets) == 4 else [N_("Within {cost}")] * len(audit.budgets)
    rows: TableRows = []
    if not audit.budgets:
        return rows
    for g in one.groups:
        if not g.answered or g.withheld:
            continue
        row = {gettext("Group"): f"{g.name} ({words.number(g.answered)})"}
        for budget, name, e in zip(audit.budgets, names, g.served, strict=True):
            few = gettext("too few plans to tell") if g.found < FEWEST_SPREAD else gettext("withheld")
            cell = SHARES.estimate(e) if e.n else few
            row[gettext(name, cost=_cost(audit).value(budget))] = cell
        rows.append(row)
    return rows


def _cost(audit: Audit) -> Telling:
    """Return how costs of plans are told."""
    return cost_telling(unit_of(audit))


def needed(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the budget that it takes to serve a share of each group."""

    def cell(e: Estimate) -> str:
        if np.isfinite(e.value):
            return _cost(audit).estimate(e)
        return gettext("too few plans to tell") if np.isnan(e.value) else gettext("no budget does")

    return [
        {gettext("Group"): f"{g.name} ({words.number(g.answered)})"}
        | {gettext(name): cell(e) for name, e in zip(_TO_SERVE, g.needed, strict=True)}
        for g in one.groups
        if g.answered and not g.withheld
    ]


def changed_features(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the share of each group's plans that ask to change each feature, the most frequent first."""
    groups = [g for g in one.groups if np.isfinite(g.acted_on).all()]
    if not groups:
        return []
    shares = np.array([g.acted_on for g in groups])
    order = [int(j) for j in np.argsort(-shares.max(0), kind="stable") if shares[:, j].max() > 0]
    return [
        {
            gettext("Feature"): audit.schema.features[j].text_label,
            **{f"{g.name} ({words.count(g.found, 'plan')})": words.percent(g.acted_on[j]) for g in groups},
        }
        for j in order
    ]


def gaps_among_alike(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return those that turn, and for each way of being alike the pair with the largest difference."""
    widest: dict[tuple[str, str], Simpson] = {}
    for s in one.simpson:
        key = s.metric, s.by
        if key not in widest or abs(s.whole) > abs(widest[key].whole):
            widest[key] = s
    chosen = {
        (s.metric, s.by, s.first, s.second): s
        for s in [*widest.values(), *(s for s in one.simpson if s.turns)]
    }
    rows = []
    for s in chosen.values():
        how = telling(s.metric, unit_of(audit))
        decimals = how.decimals(s.whole, s.within)
        rows.append(
            {
                gettext("Measure"): heading(gettext(MEASURES[s.metric])),
                gettext("Groups"): gettext(
                    "{first} less {second}", first=name_of(s.first), second=name_of(s.second)
                ),
                gettext("Among people alike in"): s.by,
                gettext("As it is"): how.more(s.whole, decimals),
                gettext("Among them"): how.more(s.within, decimals),
                gettext("People"): words.number(s.n),
                gettext("Direction"): _turn(s),
            }
        )
    return rows


def _turn(s: Simpson) -> str:
    """Return which of the two differences is clear of chance, where they point opposite ways."""
    if not s.turns:
        return gettext("stays") if s.whole * s.within >= 0 else gettext("may be chance")
    whole, within = abs(s.whole) > 1.96 * s.errors[0], abs(s.within) > 1.96 * s.errors[1]
    if whole and within:
        return gettext("turns")
    return gettext("gone among them") if whole else gettext("seen only among them")


def twin_pairs(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return people of each group beside their twins in another."""
    if one.twins is None or one.twins.why_not:
        return []
    return [
        {
            gettext("Person's group"): pair.group,
            gettext("Twin's group"): pair.other,
            gettext("People"): words.number(pair.people),
            gettext("Twin is accepted"): SHARES.estimate(pair.accepted),
            gettext("Twin's cost less the person's"): _cost(audit).difference(pair.difference),
            gettext("Plan for one of the two only"): SHARES.estimate(pair.one_sided),
        }
        for pair in one.twins.pairs
    ]


_MORE = N_("more segregated"), N_("more segregated, may be chance")
_LESS = N_("less segregated"), N_("less segregated, may be chance")


def segregation(one: AttributeAudit) -> TableRows:
    """Return each dimension of each group's segregation before and after people act."""

    def plain(value: float | None) -> str:
        return gettext("not known") if value is None else words.number(value, 4)

    rows = []
    for group, stored in one.society.items():
        for dimension, parts in stored["dimensions"].items():
            d = parts["difference"]
            sure, perhaps = _MORE if dimension in stored["worse"] else _LESS
            way = gettext(sure if clear_of_zero(d) else perhaps)
            if d["value"] is None or abs(d["value"]) < 5e-5:
                way = gettext("as before")
            rows.append(
                {
                    gettext("Group"): group,
                    gettext("Dimension"): gettext(DIMENSIONS[dimension][0]),
                    gettext("Before"): plain(parts["before"]["value"]),
                    gettext("After"): plain(parts["after"]["value"]),
                    gettext("Change"): with_interval(plain(d["value"]), plain(d["low"]), plain(d["high"])),
                    gettext("Direction"): way,
                }
            )
    return rows


def parts_of_two(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the results of each part of an intersection of two attributes."""
    rows, withheld = [], gettext("withheld")
    for g in one.groups:
        if g.hidden or not (g.answered or g.compared_refused):
            continue
        differs = ", ".join(
            gettext(MEASURES[gap.metric]) for gap in one.gaps if gap.first == g.name and gap.significant
        )
        rows.append(
            {
                gettext("Part"): g.name,
                gettext("People"): words.number(g.people),
                gettext("Refused"): SHARES.estimate(g.figures["refused"]),
                gettext("Answered"): words.number(g.answered),
                gettext("Have a usable plan"): withheld
                if g.withheld
                else SHARES.estimate(g.figures["usable"]),
                gettext("Proved: none exists"): withheld if g.counts_withheld else words.number(g.proved),
                gettext("Mean cost"): withheld if g.withheld else _cost(audit).estimate(g.figures["cost"]),
                gettext("Differs from everybody else in"): differs
                or (gettext("nothing that stands") if g.compared_refused else gettext("too few to say")),
            }
        )
    return rows


def worst_off(audit: Audit, sub: Subgroup) -> dict[str, str]:
    """Return one subgroup beside everybody else."""
    how = telling(sub.metric, unit_of(audit))
    return {
        gettext("People"): heading(listed(sub.conditions)),
        gettext("Measure"): heading(gettext(MEASURES[sub.metric])),
        gettext("In it"): gettext("{value} of {n}", value=how.value(sub.value), n=words.number(sub.n)),
        gettext("Everybody else"): how.value(sub.rest),
        gettext("Difference"): how.difference(sub.gap),
        gettext("p, corrected"): p_value(sub.corrected),
        gettext("Stands"): yes_or_no(sub.significant and sub.fares_worse),
    }


def summary_lines(one: Summary) -> TableRows:
    """Return the lines of a summary."""
    return [
        {
            gettext("Rule"): str(place),
            gettext("For whom"): heading(listed(line.who) or gettext("everybody")),
            gettext("What to do"): f"{words.sentence(listed(line.change))} {line.how_much}".rstrip(),
            gettext("Speaks to"): words.number(line.n_addressed)
            if line.n_addressed or not line.withheld
            else gettext("withheld"),
            gettext("Works for, of these"): gettext("withheld")
            if line.withheld
            else SHARES.estimate(line.works),
            gettext("Mean cost, where it works"): cost_telling(one.unit).estimate(line.cost),
            gettext("Cheapest that works, of all"): gettext("withheld")
            if line.withheld
            else share(line.used),
        }
        for place, line in enumerate(one.lines, 1)
    ]


def summary_groups(audit: Audit, one: Summary) -> TableRows:
    """Return groups under the lines of a summary, beside plans of their own."""
    titles = feature_titles(audit)
    return [
        {
            gettext("Group"): f"{titles.get(part.attribute, part.attribute)}: {part.group}"
            if part.attribute
            else gettext("Everybody"),
            gettext("People told of"): words.number(part.served.n),
            gettext("Served by a rule"): SHARES.estimate(part.served),
            gettext("Served by a plan of their own"): SHARES.estimate(part.own_served),
            gettext("Mean cost of the rules"): _cost(audit).estimate(part.cost),
            gettext("Rules cost more than own plans by"): _cost(audit).difference(part.extra),
        }
        for part in (one.everybody, *one.groups)
        if part.served.n >= FEWEST
    ]


def summaries_served(audit: Audit) -> TableRows:
    """Return shares served at the common budgets, by each summary and by plans of their own."""
    rows = []
    for one in audit.summaries:
        sides = [(summary_name(one.name), one.curve.served, one.everybody.served)]
        if one is audit.summaries[-1] and one.curve.own:
            sides.append((gettext("Plans of their own"), one.curve.own, one.everybody.own_served))
        for name, curve, whole in sides if one.curve.cost else ():
            at = dict(zip(one.curve.cost, curve, strict=True))
            rows.append(
                {gettext("Way"): name}
                | {
                    gettext("Within {cost}", cost=_cost(audit).value(b)): share(at[b])
                    for b in audit.budgets
                    if b in at
                }
                | {gettext("At any cost"): share(whole.value)}
            )
    return rows


def robustness(audit: Audit) -> TableRows:
    """Return the share of each group's plans that work with errors and under retrained models."""
    rows, titles = [], feature_titles(audit)
    for side in audit.robustness.get("groups", ()):
        attribute = titles.get(side["attribute"], side["attribute"])
        row = {
            gettext("Group"): f"{attribute}: {side['group']}" if attribute else gettext(side["group"]),
            gettext("Plans"): words.number(side["n"]),
            gettext("A yes when carried out with errors"): stored_rate(side["yes_with_errors"]),
        }
        if audit.robustness["models"]:
            row[gettext("Still a yes under each model trained again")] = each_model(side)
            row[gettext("On average")] = stored_rate(side["yes_of_retrained_models"])
            row[gettext("All retrained models say yes")] = stored_rate(side["yes_of_all_retrained_models"])
        rows.append(row)
    return rows


def fixed(audit: Audit) -> TableRows:
    """Return of how many people of each group the answer is fixed, and how that is known."""
    rows, titles = [], feature_titles(audit)
    for side in audit.fixed.get("groups", ()):
        attribute = titles.get(side["attribute"], side["attribute"])
        none = side["proved"] + side["listed"]
        rows.append(
            {
                gettext("Group"): f"{attribute}: {side['group']}" if attribute else gettext(side["group"]),
                gettext("Refused people answered"): words.number(side["n"]),
                gettext("Recourse is possible"): words.number(side["possible"]),
                gettext("Fixed: proved for everything within reach"): words.number(side["proved"]),
                gettext("Fixed: every place within reach was judged"): words.number(side["listed"]),
                gettext("Still open"): words.number(side["open"]),
                gettext("Share fixed"): words.percent(none / side["n"], 1) if side["n"] else "–",
            }
        )
    return rows


def facts(audit: Audit) -> TableRows:
    """Return what was audited, how, with what settings and versions."""
    m = audit.meta
    summary = m.get("method_in_words", "") if language() == "en" else ""  # methods' own words are English
    method = ": ".join(t for t in (m.get("method", ""), summary) if t)
    yes = m.get("target", "")
    if m.get("yes_means"):
        yes = gettext("{target}; it means: {means}", target=yes, means=m["yes_means"])
    rows: list[tuple[str, Any]] = [
        (gettext("Method"), method),
        *([] if m.get("model") == "Wrapped" else [(gettext("Model"), m.get("model", ""))]),
        (gettext("A yes is"), yes),
        (gettext("World"), words.world_text(m.get("world", ""))),
        (gettext("Cost"), cost_unit(audit)),
        *([(gettext("A plan must also be"), m["robust"])] if m.get("robust") else []),
        (gettext("People looked at"), words.number(audit.n)),
        (gettext("Refused"), words.number(audit.refused)),
        (gettext("Answered"), words.number(audit.answered)),
        (gettext("Smallest group that is compared"), words.number(m.get("smallest_group_compared", 0))),
        (gettext("Second method"), m.get("second_method") or gettext("none")),
        (gettext("Correction"), audit.correction),
        (gettext("Seed"), m.get("seed", "")),
        (gettext("Plans that the method called good and this audit did not"), m.get("refuted", 0)),
    ]
    rows += [
        (gettext("Data: {name}", name=gettext(name)), value) for name, value in m.get("source", {}).items()
    ]
    rows += [(gettext("Version of {name}", name=name), v) for name, v in m.get("versions", {}).items()]
    return [{gettext("Fact"): name, gettext("Value"): str(value)} for name, value in rows]


def features(audit: Audit) -> TableRows:
    """Return what every feature means, its range and who may act on it."""
    return features_table(audit.schema)


def meanings(audit: Audit) -> TableRows:
    """Return what every measure of this audit is."""
    return [
        {
            gettext("Measure"): heading(gettext(MEASURES[name])),
            gettext("What it is"): words.sentence(gettext(text)),
        }
        for name, text in MEANING.items()
        if name in audit.overall.figures
    ]
