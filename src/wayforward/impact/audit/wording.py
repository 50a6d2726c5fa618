"""How an audit's numbers and names read: shared by its findings, its tables and its page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.impact.audit.figures import RATES
from wayforward.impact.summaries.summary import listed

if TYPE_CHECKING:
    from wayforward.evaluate.stats import Estimate
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.schema import Schema

MEASURES = {
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
SUMMARIES = {  # what the summaries are called
    "tree": "A tree of groups, one thing to do for each",
    "ares": "If-then rules (AReS)",
    "globe-ce": "Directions to go along (GLOBE-CE)",
}
DIMENSIONS = {  # of segregation: name, and how to read it
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


def in_quotes(name: str) -> str:
    """Return the name of a group or feature for the inside of a sentence, its ends plain to see."""
    return f"\u201c{name}\u201d"


def heading(text: str) -> str:
    """Return a phrase with a capital and no full stop, for the head or a cell of a table."""
    return words.sentence(text)[:-1]


def share(value: float) -> str:
    """Return a rate in per cent."""
    return "nobody" if not np.isfinite(value) else words.percent(value, 1)


def number(value: float) -> str:
    """Return a mean or a cost with as many digits as it needs."""
    if np.isinf(value):
        return "never"
    if np.isnan(value):
        return "not known"
    return words.number(value, max(2, min(4, words.about(value, 2))))


def estimate(e: Estimate | None, rate: bool) -> str:
    """Return an estimate with its interval."""
    if e is None or not e.n:
        return "nobody"
    show = share if rate else number
    return f"{show(e.value)} ({show(e.low)} to {show(e.high)})"


def stored_rate(e: dict[str, Any]) -> str:
    """Return a rate that is held as plain values, with its interval."""
    if not e["n"] or e["value"] is None:
        return "not measured"
    return f"{share(e['value'])} ({share(e['low'])} to {share(e['high'])})"


def each_model(side: dict[str, Any]) -> str:
    """Return the share of plans that hold under each retrained model, from the least to the most; the ends of many."""
    shares = sorted(side["yes_by_retrained_model"])
    if len(shares) > 10:
        return f"{share(shares[0])} to {share(shares[-1])}"
    return listed([share(v) for v in shares])


def p_value(p: float) -> str:
    """Return a p-value for a table."""
    if not np.isfinite(p):
        return "not tested"
    return "below 0.001" if p < 0.001 else words.number(p, 3)


def clear_of_zero(e: dict[str, Any]) -> bool:
    """Return whether the interval of a stored difference lies on one side of zero."""
    return e["low"] is not None and e["high"] is not None and (e["low"] > 0 or e["high"] < 0)


def measures_of(one: AttributeAudit) -> list[str]:
    """Return the measures that groups are compared in, in the order of tables, lines for many last."""
    return list(dict.fromkeys([*MEASURES, *(g.metric for g in one.gaps)]))


def measure_name(metric: str) -> str:
    """Return what a measure is called; those about rules for many carry the name of the way they were made."""
    if metric in MEASURES:
        return MEASURES[metric]
    kind, _, name = metric.partition(" ")
    return (
        f"served by few rules ({name})" if kind == "lines" else f"cost of few rules less own plans ({name})"
    )


def is_rate(metric: str) -> bool:
    """Return whether a measure is a share of people."""
    return metric in RATES or metric.startswith("lines ")


def cost_unit(audit: Audit) -> str:
    """Return what a cost of 1 is."""
    unit = str(audit.meta.get("cost_unit", ""))
    if not unit or "range" in unit:
        return "the sum of all changes, each as a share of the range of its feature: 1 is a change across a whole range"
    return f"told in {unit}"


def feature_titles(audit: Audit) -> dict[str, str]:
    """Return the names that people read for the names of features."""
    return {f.name: words.label(f) for f in audit.schema.features}


def with_titles(audit: Audit) -> Audit:
    """Return the audit with attributes under the names that people read, where they are features of the model."""
    names, out = feature_titles(audit), []
    for one in audit.attributes:
        parts = [names.get(part, part) for part in one.parts]
        out.append(replace(one, name=" and ".join(parts), parts=tuple(parts)))
    return replace(audit, attributes=tuple(out))


def rule_in_words(schema: Schema, rule: str) -> str:
    """Return a rule with the names that people read."""
    for feature in schema.features:
        for when, phrase in (("after", "after acting"), ("before", "before")):
            shown = f"{in_quotes(words.label(feature))} {phrase}".replace("\\", r"\\")
            rule = re.sub(rf"\b{when}\.{re.escape(feature.name)}(?!\w)", shown, rule)
    return rule
