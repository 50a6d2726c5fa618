"""Gaps among people who are alike in something else, for a difference that turns within them (Simpson's paradox)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wayforward.answers import words
from wayforward.groups import Groups
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.gaps import plain_number
from wayforward.impact.privacy import FEWEST_SPREAD, rounded
from wayforward.language import Translatable, gettext
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask


@public
@dataclass(frozen=True)
class Simpson:
    """A gap beside the same gap among people who are alike in something else, or only where both methods found a plan.

    whole: the gap as it is. within: mean of the gaps inside the strata, weighted by their people. turns: they point
    opposite ways. by: what the strata are. strata: how many held enough of both groups.
    """

    attribute: str
    metric: str
    first: str
    second: str
    by: str
    whole: float
    within: float
    strata: int
    n: int
    errors: tuple[float, float] = (0.0, 0.0)  # standard errors of both

    @property
    def turns(self) -> bool:
        """The direction is another within, and at least one of the two is clearer than chance makes it."""
        clear = abs(self.whole) > 1.96 * self.errors[0] or abs(self.within) > 1.96 * self.errors[1]
        return bool(self.whole * self.within < 0 and clear)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "metric": self.metric, "first": self.first, "second": self.second,
            "by": self.by, "whole": plain_number(self.whole), "within": plain_number(self.within),
            "strata": self.strata, "standard_errors": list(self.errors), "n": self.n, "turns": self.turns,
        }  # fmt: skip


def gaps_among_alike(
    measured: Measured, groups: Groups, names: tuple[str, str], one: Mask, two: Mask
) -> list[Simpson]:
    """Return the gaps in coverage and in cost again, among people alike in something else or found by both methods.

    one, two (m,) bool: the two sides among those answered.
    """
    strata = _strata(measured, groups)
    out = []
    for metric in sorted({"usable", "cost"} - measured.without_differences, reverse=True):
        values = measured.measures[metric]
        known = np.isfinite(values)
        a, b = one & known, two & known
        fewest = measured.fewest if metric == "usable" else max(measured.fewest, FEWEST_SPREAD)
        if min(a.sum(), b.sum()) < fewest:
            continue
        whole, error = _difference(values[a], values[b])
        for by, stratum in strata:
            inside = _within(values, a, b, stratum, max(5, measured.smallest // 2))
            if inside is not None:
                within, own, number, n = inside
                out.append(Simpson(groups.name, metric, *names, by, whole, within, number, n, (error, own)))
        if metric == "cost" and measured.second_cost is not None:
            both = np.isfinite(measured.second_cost)
            if min((a & both).sum(), (b & both).sum()) >= fewest:
                within, own = _difference(values[a & both], values[b & both])
                n = int((a & both).sum() + (b & both).sum())
                by = Translatable(lambda: gettext("only where a second method finds a plan, too"))
                out.append(Simpson(groups.name, metric, *names, by, whole, within, 1, n, (error, own)))
    return out


def _strata(measured: Measured, groups: Groups) -> list[tuple[str, Ints]]:
    """Return what people may be alike in, and the stratum of each of those answered (m,), below 0 for none."""
    score = measured.recourse.score_before
    out: list[tuple[str, Ints]] = []
    if score.size and np.isfinite(score).all():
        edges = np.unique(np.quantile(score, (0.2, 0.4, 0.6, 0.8)))
        by = Translatable(lambda: gettext("how far from a yes the model puts them, in fifths"))
        out.append((by, np.searchsorted(edges, score)))
    features = measured.problem.schema.features
    for other in measured.attributes:
        if other.name != groups.name:
            name = other.name
            if other.feature is not None:
                name = Translatable(partial(words.label, features[other.feature]))
            out.append((name, other.member[measured.who]))
    return out


def _within(
    values: Floats, a: Mask, b: Mask, stratum: Ints, least: int
) -> tuple[float, float, int, int] | None:
    """Return the mean difference inside strata with `least` people of both sides, its error, strata and people.

    None where fewer than two strata have so many.
    """
    inside, weight, errors = [], [], []
    for s in np.unique(stratum[stratum >= 0]):
        here = stratum == s
        if min((a & here).sum(), (b & here).sum()) >= least:
            gap, own = _difference(values[a & here], values[b & here])
            inside.append(gap)
            errors.append(own)
            weight.append(int((a & here).sum() + (b & here).sum()))
    if len(inside) < 2:
        return None
    share = np.array(weight) / sum(weight)
    error = rounded(float(np.sqrt(share**2 @ np.array(errors) ** 2)))
    return float(share @ np.array(inside)), error, len(inside), sum(weight)


def _difference(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the difference of two means and its standard error."""
    return float(a.mean() - b.mean()), rounded(float(np.sqrt(a.var() / a.size + b.var() / b.size)))
