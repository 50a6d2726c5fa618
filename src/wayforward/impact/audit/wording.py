"""How an audit's numbers and names read: shared by its findings, its tables and its page."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.words import in_quotes
from wayforward.impact.audit.figures import RATES
from wayforward.impact.summaries.summary import listed
from wayforward.language import N_, Translatable, gettext, ngettext, pgettext, translated

if TYPE_CHECKING:
    from wayforward.evaluate.stats import Estimate
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.schema import Schema

MEASURES = {
    "refused": N_("refused by the model"),
    "usable": N_("have a usable plan"),
    "proved": N_("no allowed change helps (proved)"),
    "not_found": N_("no plan found, none excluded"),
    "valid": N_("have a plan that the model accepts"),
    "plausible": N_("have a plan like people who are accepted"),
    "copies": N_("plan is the whole row of a person of the table"),
    "likely": N_("plan leads to somebody at least as likely"),
    "cost": N_("cost of the plan"),
    "burden": N_("burden: distance to where the plan leads"),
    "cost_all": N_("cost, no plan counting as the dearest (of all answered)"),
    "log_density": N_("log-density where the plan leads"),
    "density_gain": N_("gain in log-density"),
}
SUMMARIES = {  # what the summaries are called
    "tree": N_("A tree of groups, one thing to do for each"),
    "ares": N_("If-then rules (AReS)"),
    "globe-ce": N_("Directions to go along (GLOBE-CE)"),
}
_INSIDE = {  # a sentence
    "tree": N_("a tree of groups, one thing to do for each"),
    "ares": N_("if-then rules (AReS)"),
    "globe-ce": N_("directions to go along (GLOBE-CE)"),
}
EVERYBODY_ELSE = N_("everybody else")  # the other side of a comparison that names one group
_IN_SHORT = {"tree": N_("a tree of groups"), "ares": "AReS", "globe-ce": "GLOBE-CE"}
DIMENSIONS = {  # of segregation: name, and how to read it
    "centralization": (
        N_("centralization"),
        N_("share of the group who live where it is the majority; more is more segregated"),
    ),
    "atkinson": (
        N_("unevenness (Atkinson)"),
        N_("how unevenly the group is spread over areas; more is more segregated"),
    ),
    "proximity": (N_("proximity"), N_("how near the group and the others stand; less is more segregated")),
    "exposure": (N_("exposure"), N_("how much of the others a member meets nearby; less is more segregated")),
    "concentration": (
        N_("concentration"),
        N_("how little space the group takes up; more is more segregated"),
    ),
}

_SIGNS = {"==": N_("is"), "!=": N_("is not"), ">=": N_("is at least"), "<=": N_("is at most")}  # of rules


def name_of(name: str) -> str:
    """Return the name of a group for a cell of a table."""
    return gettext(EVERYBODY_ELSE) if name == EVERYBODY_ELSE else in_quotes(name)


def those_of(name: str) -> str:
    """Return the name of a group for the inside of a sentence, behind "of" or "for"."""
    return pgettext("of or for", "everybody else") if name == EVERYBODY_ELSE else in_quotes(name)


def heading(text: str) -> str:
    """Return a phrase with a capital and no full stop, for the head or a cell of a table."""
    return words.sentence(text)[:-1]


def share(value: float) -> str:
    """Return a rate in per cent."""
    return gettext("nobody") if not np.isfinite(value) else words.percent(value, 1)


def yes_or_no(answer: bool) -> str:
    """Return an answer for a cell of a table."""
    return pgettext("cell", "yes") if answer else pgettext("cell", "no")


def with_interval(value: str, low: str, high: str) -> str:
    """Return a figure with its interval."""
    return gettext("{value} ({low} to {high})", value=value, low=low, high=high)


@dataclass(frozen=True)
class Telling:
    """How one kind of figure reads. percent: in per cent, and differences in points; least, most: decimals; nobody:
    what is told where there is no value; of_differences: the figure itself is a difference."""

    percent: bool
    least: int
    most: int
    nobody: str = N_("not known")
    of_differences: bool = False

    def value(self, value: float, decimals: int | None = None) -> str:
        """Return a figure: "12.3 %"."""
        if self.of_differences:
            return self.more(value)
        if not np.isfinite(value):
            return self._no_number(value)
        shown = self.decimals(value) if decimals is None else decimals
        return words.percent(value, shown) if self.percent else words.number(value, shown)

    def more(self, value: float, decimals: int | None = None) -> str:
        """Return a difference of two figures: "4.1 points"."""
        size = self._size(value, self.decimals(value) if decimals is None else decimals)
        if not self.percent or not np.isfinite(value):
            return size
        one = round(100 * value, 9) == 1
        return ngettext("{n} point", "{n} points", 1 if one else 2, n=words.number(1) if one else size)

    def estimate(self, e: Estimate | None) -> str:
        """Return an estimate with its interval, all of it with the same decimals."""
        if e is None or not e.n:
            return gettext("nobody")
        decimals = self.decimals(e.value, e.low, e.high)
        if np.isnan(e.low) and np.isnan(e.high):  # withheld: of so few that it would tell of somebody
            return self.value(e.value, decimals)
        return with_interval(*(self.value(part, decimals) for part in (e.value, e.low, e.high)))

    def difference(self, e: Estimate) -> str:
        """Return a difference of two figures with its interval, all of it with the same decimals."""
        if not e.n:
            return gettext("nobody")
        decimals = self.decimals(e.value, e.low, e.high)
        if np.isnan(e.low) and np.isnan(e.high):
            return self.more(e.value, decimals)
        low, high = (self._size(part, decimals) for part in (e.low, e.high))
        return with_interval(self.more(e.value, decimals), low, high)

    def decimals(self, *values: float) -> int:
        """Return the decimals that show some figures, told together, alike."""
        sizes = [abs(v) * (100 if self.percent else 1) for v in values if np.isfinite(v)]
        return min(self.most, max(self.least, words.about(max(sizes, default=0.0), 2)))

    def _size(self, value: float, decimals: int) -> str:
        if not np.isfinite(value):
            return self._no_number(value)
        return words.number(100 * value if self.percent else value, decimals)

    def _no_number(self, value: float) -> str:
        return gettext(self.nobody) if np.isnan(value) else gettext("never")


SHARES = Telling(percent=True, least=1, most=1, nobody=N_("nobody"))
COSTS = Telling(percent=True, least=1, most=3)
NUMBERS = Telling(percent=False, least=2, most=4)


def telling(metric: str, unit: str) -> Telling:
    """Return how a measure is told where the cost of a plan counts in `unit`."""
    if is_rate(metric):
        return SHARES
    if metric in ("burden", "cost_all"):  # in ranges whatever the problem's own cost is
        return COSTS
    if metric == "cost":
        return cost_telling(unit)
    if metric.startswith("extra "):  # a difference of costs
        return replace(cost_telling(unit), of_differences=True)
    return NUMBERS


def cost_telling(unit: str) -> Telling:
    """Return how the cost of a plan is told that counts in `unit`."""
    return COSTS if unit == words.RANGES else NUMBERS


def turned(e: Estimate) -> Estimate:
    """Return a difference seen from the other side."""
    return replace(e, value=-e.value, low=-e.high, high=-e.low)


def unit_of(audit: Audit) -> str:
    """Return the unit of the costs of plans; files of earlier versions do not say it."""
    return str(audit.meta.get("cost_unit") or words.RANGES)


def stored_rate(e: dict[str, Any]) -> str:
    """Return a rate that is held as plain values, with its interval."""
    if not e["n"] or e["value"] is None:
        return gettext("not measured")
    return with_interval(share(e["value"]), share(e["low"]), share(e["high"]))


def each_model(side: dict[str, Any]) -> str:
    """Return the share of plans that hold under each retrained model, from the least to the most; the ends of many."""
    shares = sorted(side["yes_by_retrained_model"])
    if len(shares) > 10:
        return gettext("{low} to {high}", low=share(shares[0]), high=share(shares[-1]))
    return listed([share(v) for v in shares])


def p_value(p: float) -> str:
    """Return a p-value for a table."""
    if not np.isfinite(p):
        return gettext("not tested")
    return gettext("below {n}", n=words.number(0.001)) if p < 0.001 else words.number(p, 3)


def clear_of_zero(e: dict[str, Any]) -> bool:
    """Return whether the interval of a stored difference lies on one side of zero."""
    return e["low"] is not None and e["high"] is not None and (e["low"] > 0 or e["high"] < 0)


def measures_of(one: AttributeAudit) -> list[str]:
    """Return the measures that groups are compared in, in the order of tables, lines for many last."""
    return list(dict.fromkeys([*MEASURES, *(g.metric for g in one.gaps)]))


def in_short(name: str) -> str:
    """Return what a way of making rules is called in brackets."""
    return gettext(_IN_SHORT.get(name, name))


def summary_name(name: str) -> str:
    """Return what a way of making rules is called at the head of a section or a row."""
    return gettext(SUMMARIES.get(name, name))


def summary_title(name: str) -> str:
    """Return what a way of making rules is called inside a sentence."""
    return gettext(_INSIDE.get(name, name))


def measure_name(metric: str) -> str:
    """Return what a measure is called; those about rules for many carry the name of the way they were made."""
    if metric in MEASURES:
        return gettext(MEASURES[metric])
    kind, _, name = metric.partition(" ")
    if kind == "lines":
        return gettext("served by few rules ({name})", name=in_short(name))
    return gettext("cost of few rules less own plans ({name})", name=in_short(name))


def is_rate(metric: str) -> bool:
    """Return whether a measure is a share of people."""
    return metric in RATES or metric.startswith("lines ")


def cost_unit(audit: Audit) -> str:
    """Return what a cost is, in words."""
    return words.cost_text(unit_of(audit))


def cost_axis(text: str, unit: str) -> str:
    """Return the label of an axis of costs with what they are told in."""
    if unit == words.RANGES:
        return gettext("{text}, in per cent of a range", text=text)
    return gettext("{text}, in {unit}", text=text, unit=gettext(unit))


def feature_titles(audit: Audit) -> dict[str, str]:
    """Return the names that people read for the names of features."""
    return {f.name: words.label(f) for f in audit.schema.features}


def with_titles(audit: Audit) -> Audit:
    """Return the audit in the language in use, with attributes under the names that people read, where they are
    features of the model."""
    names, out = feature_titles(audit), []
    for one in audit.attributes:
        parts = [names.get(part, part) for part in one.parts]
        out.append(replace(one, name=listed(parts), parts=tuple(parts)))
    found: Audit = _translated(replace(audit, attributes=tuple(out)))
    return found


def _translated(value: Any) -> Any:
    """Return what an audit holds with every text of it in the language in use."""
    if isinstance(value, Translatable):
        return translated(value)
    if type(value) in (tuple, list):
        return type(value)(_translated(one) for one in value)
    if type(value) is dict:
        return {_translated(key): _translated(one) for key, one in value.items()}
    if is_dataclass(value) and type(value).__module__.startswith("wayforward.impact."):
        held = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        new = {name: _translated(one) for name, one in held.items() if isinstance(one, (str, tuple, list, dict))
               or is_dataclass(one)}  # fmt: skip
        return replace(value, **new)  # type: ignore[type-var]
    return value


def rule_in_words(schema: Schema, rule: str) -> str:
    """Return a rule with the names that people read, of features and of levels."""
    titles: dict[str, str] = {}  # of the levels of the features that the rule names
    for feature in schema.features:
        for when, phrase in (("after", N_("{name} after acting")), ("before", N_("{name} before"))):
            shown = gettext(phrase, name=in_quotes(words.label(feature))).replace("\\", r"\\")
            rule, n = re.subn(rf"\b{when}\.{re.escape(feature.name)}(?!\w)", shown, rule)
            if n and feature.has_levels:
                titles |= {str(level): feature.level_text(i) for i, level in enumerate(feature.levels)}
    rule = re.sub(r"'([^']*)'", lambda found: in_quotes(titles.get(found[1], found[1])), rule)
    return re.sub("|".join(_SIGNS), lambda found: gettext(_SIGNS[found[0]]), rule)
