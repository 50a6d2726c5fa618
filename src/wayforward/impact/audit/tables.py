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
    SUMMARIES,
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
    telling,
    unit_of,
)
from wayforward.impact.privacy import FEWEST
from wayforward.impact.summaries.summary import listed

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
    "Group", "People", "Refused", "Answered", "Have a usable plan", "No allowed change helps (proved)",
    "No plan found", "Compared",
)  # fmt: skip
_WORLDS = {
    "independent": "independent: acting on one thing moves nothing else",
    "BoundSCM": "structural equations say what follows from an act",
    "LinearWorld": "linear equations, fitted to data, say what follows from an act",
    "CausalFlow": "a causal flow, fitted to data, says what follows from an act",
    "GaussianProcessWorld": "Gaussian processes over a causal graph, fitted to data, say what follows from an act",
    "SubPopulation": "what an act moves takes fresh noise, as of other people alike",
}


def everybody(audit: Audit) -> TableRows:
    """Return every measure over all people."""
    rows = []
    for name, e in audit.overall.figures.items():
        show = telling(name, unit_of(audit)).value
        if e.n:
            rows.append(
                {
                    "Measure": heading(MEASURES[name]),
                    "Value": show(e.value),
                    "95 % interval": f"{show(e.low)} to {show(e.high)}",
                    "People behind it": words.number(e.n),
                }
            )
    return rows


def counts(one: AttributeAudit) -> TableRows:
    """Return how many people stand behind the numbers of each group."""
    rows = []
    for g in one.groups:
        if g.hidden:
            rows.append(dict.fromkeys(_COUNTS, g.hidden) | {"Group": g.name})
            continue
        ends = ["withheld" if g.counts_withheld else words.number(n) for n in (g.found, g.proved, g.open)]
        people = map(words.number, (g.people, g.refused, g.answered))
        compared = "yes" if g.compared else "in who is refused" if g.compared_refused else "too few"
        rows.append(dict(zip(_COUNTS, (g.name, *people, *ends, compared), strict=True)))
    return rows


def measure_rows(audit: Audit, one: AttributeAudit, measures: list[str], rate: bool) -> TableRows:
    """Return some measures, all rates or all means, of each group."""
    rows = []
    for g in one.groups:
        if not g.people or g.hidden or (g.withheld and not rate):
            continue
        row = {"Group": g.name}
        for m in measures:
            e = g.figures.get(m)
            hidden = g.withheld and (e is None or not e.n)
            row[heading(MEASURES[m])] = "withheld" if hidden else telling(m, unit_of(audit)).estimate(e)
        rows.append(row)
    return rows


def largest_gaps(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the largest difference in each measure."""
    return [gap_row(audit, g) for m in measures_of(one) if (g := one.largest(m)) is not None]


def gap_row(audit: Audit, gap: Gap) -> dict[str, str]:
    """Return one difference with both sides, its interval and p-values."""
    how = telling(gap.metric, unit_of(audit))
    return {
        "Measure": heading(measure_name(gap.metric)),
        "Group": f"{name_of(gap.first)}: {how.value(gap.values[0])} of {words.number(gap.counts[0])}",
        "Beside": f"{name_of(gap.second)}: {how.value(gap.values[1])} of {words.number(gap.counts[1])}",
        "Difference": how.difference(gap.estimate),
        "p, alone": p_value(gap.p),
        "p, corrected": p_value(gap.corrected),
        "Stands": "yes" if gap.significant else "no",
    }


def served(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the share of each group that common budgets serve."""
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
            row[f"Within {_cost(audit).value(budget)}{of}"] = SHARES.estimate(e)
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
        return "too few plans to tell" if np.isnan(e.value) else "no budget does"

    names = ("a quarter", "half", "three quarters", "nine in ten")
    return [
        {"Group": f"{g.name} ({words.number(g.answered)})"}
        | {f"To serve {name}": cell(e) for name, e in zip(names, g.needed, strict=True)}
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
            "Feature": audit.schema.features[j].text_label,
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
                "Measure": heading(MEASURES[s.metric]),
                "Groups": f"{name_of(s.first)} less {name_of(s.second)}",
                "Among people alike in": s.by,
                "As it is": how.more(s.whole, decimals),
                "Among them": how.more(s.within, decimals),
                "People": words.number(s.n),
                "Direction": _turn(s),
            }
        )
    return rows


def _turn(s: Simpson) -> str:
    """Return which of the two differences is clear of chance, where they point opposite ways."""
    if not s.turns:
        return "stays" if s.whole * s.within >= 0 else "may be chance"
    whole, within = abs(s.whole) > 1.96 * s.errors[0], abs(s.within) > 1.96 * s.errors[1]
    return "turns" if whole and within else "gone among them" if whole else "seen only among them"


def twin_pairs(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return people of each group beside their twins in another."""
    if one.twins is None or one.twins.why_not:
        return []
    return [
        {
            "Person's group": pair.group,
            "Twin's group": pair.other,
            "People": words.number(pair.people),
            "Twin is accepted": SHARES.estimate(pair.accepted),
            "Twin's cost less the person's": _cost(audit).difference(pair.difference),
            "Plan for one of the two only": SHARES.estimate(pair.one_sided),
        }
        for pair in one.twins.pairs
    ]


def segregation(one: AttributeAudit) -> TableRows:
    """Return each dimension of each group's segregation before and after people act."""

    def plain(value: float | None) -> str:
        return "not known" if value is None else words.number(value, 4)

    rows = []
    for group, stored in one.society.items():
        for dimension, parts in stored["dimensions"].items():
            d = parts["difference"]
            way = "more segregated" if dimension in stored["worse"] else "less segregated"
            if d["value"] is None or abs(d["value"]) < 5e-5:
                way = "as before"
            elif not clear_of_zero(d):
                way += ", may be chance"
            rows.append(
                {
                    "Group": group,
                    "Dimension": DIMENSIONS[dimension][0],
                    "Before": plain(parts["before"]["value"]),
                    "After": plain(parts["after"]["value"]),
                    "Change": f"{plain(d['value'])} ({plain(d['low'])} to {plain(d['high'])})",
                    "Direction": way,
                }
            )
    return rows


def parts_of_two(audit: Audit, one: AttributeAudit) -> TableRows:
    """Return the results of each part of an intersection of two attributes."""
    rows = []
    for g in one.groups:
        if g.hidden or not (g.answered or g.compared_refused):
            continue
        differs = ", ".join(
            MEASURES[gap.metric] for gap in one.gaps if gap.first == g.name and gap.significant
        )
        rows.append(
            {
                "Part": g.name,
                "People": words.number(g.people),
                "Refused": SHARES.estimate(g.figures["refused"]),
                "Answered": words.number(g.answered),
                "Have a usable plan": "withheld" if g.withheld else SHARES.estimate(g.figures["usable"]),
                "Proved: none exists": "withheld" if g.counts_withheld else words.number(g.proved),
                "Mean cost": "withheld" if g.withheld else _cost(audit).estimate(g.figures["cost"]),
                "Differs from everybody else in": differs
                or ("nothing that stands" if g.compared_refused else "too few to say"),
            }
        )
    return rows


def worst_off(audit: Audit, sub: Subgroup) -> dict[str, str]:
    """Return one subgroup beside everybody else."""
    how = telling(sub.metric, unit_of(audit))
    return {
        "People": heading(listed(sub.conditions)),
        "Measure": heading(MEASURES[sub.metric]),
        "In it": f"{how.value(sub.value)} of {words.number(sub.n)}",
        "Everybody else": how.value(sub.rest),
        "Difference": how.difference(sub.gap),
        "p, corrected": p_value(sub.corrected),
        "Stands": "yes" if sub.significant and sub.fares_worse else "no",
    }


def summary_lines(one: Summary) -> TableRows:
    """Return the lines of a summary."""
    return [
        {
            "Rule": str(place),
            "For whom": heading(listed(line.who) or "everybody"),
            "What to do": f"{words.sentence(listed(line.change))} {line.how_much}".rstrip(),
            "Speaks to": words.number(line.n_addressed),
            "Works for, of these": SHARES.estimate(line.works),
            "Mean cost, where it works": cost_telling(one.unit).estimate(line.cost),
            "Cheapest that works, of all": share(line.used),
        }
        for place, line in enumerate(one.lines, 1)
    ]


def summary_groups(audit: Audit, one: Summary) -> TableRows:
    """Return groups under the lines of a summary, beside plans of their own."""
    titles = feature_titles(audit)
    return [
        {
            "Group": f"{titles.get(part.attribute, part.attribute)}: {part.group}"
            if part.attribute
            else "Everybody",
            "People told of": words.number(part.served.n),
            "Served by a rule": SHARES.estimate(part.served),
            "Served by a plan of their own": SHARES.estimate(part.own_served),
            "Mean cost of the rules": _cost(audit).estimate(part.cost),
            "Rules cost more than own plans by": _cost(audit).difference(part.extra),
        }
        for part in (one.everybody, *one.groups)
        if part.served.n >= FEWEST
    ]


def summaries_served(audit: Audit) -> TableRows:
    """Return shares served at the common budgets, by each summary and by plans of their own."""
    rows = []
    for one in audit.summaries:
        sides = [(SUMMARIES.get(one.name, one.name), one.curve.served, one.everybody.served)]
        if one is audit.summaries[-1] and one.curve.own:
            sides.append(("Plans of their own", one.curve.own, one.everybody.own_served))
        for name, curve, whole in sides:
            at = dict(zip(one.curve.cost, curve, strict=True))
            rows.append(
                {"Way": name}
                | {f"Within {_cost(audit).value(b)}": share(at[b]) for b in audit.budgets if b in at}
                | {"At any cost": share(whole.value)}
            )
    return rows


def robustness(audit: Audit) -> TableRows:
    """Return the share of each group's plans that work with errors and under retrained models."""
    rows, titles = [], feature_titles(audit)
    for side in audit.robustness.get("groups", ()):
        attribute = titles.get(side["attribute"], side["attribute"])
        row = {
            "Group": f"{attribute}: {side['group']}" if attribute else side["group"],
            "Plans": words.number(side["n"]),
            "A yes when carried out with errors": stored_rate(side["yes_with_errors"]),
        }
        if audit.robustness["models"]:
            row["Still a yes under each model trained again"] = each_model(side)
            row["On average"] = stored_rate(side["yes_of_retrained_models"])
            row["All retrained models say yes"] = stored_rate(side["yes_of_all_retrained_models"])
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
                "Group": f"{attribute}: {side['group']}" if attribute else side["group"],
                "Refused people answered": words.number(side["n"]),
                "Recourse is possible": words.number(side["possible"]),
                "Fixed: proved for everything within reach": words.number(side["proved"]),
                "Fixed: every place within reach was judged": words.number(side["listed"]),
                "Open": words.number(side["open"]),
                "Share fixed": words.percent(none / side["n"], 1) if side["n"] else "–",
            }
        )
    return rows


def facts(audit: Audit) -> TableRows:
    """Return what was audited, how, with what settings and versions."""
    m = audit.meta
    rows: list[tuple[str, Any]] = [
        ("Method", ": ".join(t for t in (m.get("method", ""), m.get("method_in_words", "")) if t)),
        *([] if m.get("model") == "Wrapped" else [("Model", m.get("model", ""))]),
        ("A yes is", "; it means: ".join(t for t in (m.get("target", ""), m.get("yes_means", "")) if t)),
        ("World", _WORLDS.get(m.get("world", ""), m.get("world", ""))),
        ("Cost", cost_unit(audit)),
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


def features(audit: Audit) -> TableRows:
    """Return what every feature means, its range and who may act on it."""
    return features_table(audit.schema)


def meanings(audit: Audit) -> TableRows:
    """Return what every measure of this audit is."""
    return [
        {"Measure": heading(MEASURES[name]), "What it is": words.sentence(text)}
        for name, text in MEANING.items()
        if name in audit.overall.figures
    ]
