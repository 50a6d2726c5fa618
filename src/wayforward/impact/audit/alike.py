"""Gaps among people who are alike in something else, for a difference that turns within them (Simpson's paradox)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wayforward.answers import words
from wayforward.groups import Groups
from wayforward.impact.audit.comparison import (
    Pair,
    crossing_figures,
    is_published,
    pairs_of,
    side_name,
    sides_of,
    tells_of_few,
    told_of,
)
from wayforward.impact.audit.figures import GroupFigures, Measured
from wayforward.impact.audit.result import AttributeAudit
from wayforward.impact.audit.strata import Simpson
from wayforward.impact.audit.suppression import cells_of_few
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, in_steps, in_steps_of_people, rounded, step_of
from wayforward.language import Translatable, gettext
from wayforward.shapes import Floats, Ints, Mask

_METRICS = ("usable", "cost")


def with_alike(audits: Sequence[AttributeAudit], measured: Measured) -> list[AttributeAudit]:
    """Add to each attribute the gaps among people who are alike in something else.

    audits: what is told of each attribute and of their parts, which this must not tell more of.
    """
    known = {groups.name: groups for groups in measured.attributes}
    crossed = _crossings(audits, measured)
    out = []
    for one in audits:
        if not one.crossed:
            groups = known[one.name]
            label = groups.member[measured.who]
            alike = [
                found
                for a, b in pairs_of(one.groups, False)
                if is_published(one.groups, a, b, "cost")
                for found in _gaps_among_alike(
                    measured, groups, (a, b), sides_of(label, a, b),
                    [*_by_attribute(audits, measured, one, (a, b), crossed), *_by_score(measured)],
                )
            ]  # fmt: skip
            one = replace(one, simpson=tuple(alike))
        out.append(one)
    return out


def _crossings(
    audits: Sequence[AttributeAudit], measured: Measured
) -> dict[tuple[str, str], tuple[GroupFigures, ...]]:
    """Return the parts where two attributes meet as an audit tells them, or would: (attribute, other) -> parts."""
    published = {one.name: one.groups for one in audits if one.crossed}
    reported = told_of(measured, audits)
    out = {}
    for a, b in itertools.combinations(measured.attributes, 2):
        if measured.fewest > FEWEST and cells_of_few(a, b, measured.fewest):
            continue  # nothing is told of such parts
        crossed = a.cross(b)
        parts = published.get(crossed.name)
        if parts is None:
            parts = crossing_figures(measured, crossed, (a, b), audits)
            if tells_of_few(measured, [*reported, (crossed, parts)]):
                continue
            reported.append((crossed, parts))
        table = np.arange(len(parts)).reshape(a.n_groups, b.n_groups)
        out[a.name, b.name] = parts
        out[b.name, a.name] = tuple(parts[g] for g in table.T.ravel())
    return out


@dataclass(frozen=True)
class _Strata:
    """What people are alike in. stratum (m,): of those answered, below 0 for none. known: measure -> the strata of
    which the audit tells the means of both sides, so that what is made of these says nothing new; None: of none."""

    by: str
    stratum: Ints
    known: Mapping[str, frozenset[int]] | None = None


def _by_attribute(
    audits: Sequence[AttributeAudit], measured: Measured, one: AttributeAudit, pair: Pair,
    crossed: Mapping[tuple[str, str], tuple[GroupFigures, ...]],
) -> list[_Strata]:  # fmt: skip
    """Return the other attributes, of whose groups only those that are told where they meet both sides count."""
    figures = {of.name: of.groups for of in audits}
    features = measured.problem.schema.features
    out = []
    for other in measured.attributes:
        parts = crossed.get((one.name, other.name))
        if parts is None:
            continue
        n, (a, b) = other.n_groups, pair
        sides = [
            (parts[a * n + s], figures[other.name][s] if b is None else parts[b * n + s]) for s in range(n)
        ]
        known = {
            metric: frozenset(
                s for s, two in enumerate(sides) if all(not f.hidden and f.figures[metric].n for f in two)
            )
            for metric in _METRICS
        }
        name = other.name
        if other.feature is not None:
            name = Translatable(partial(words.label, features[other.feature]))
        out.append(_Strata(name, other.member[measured.who], known))
    return out


def _by_score(measured: Measured) -> list[_Strata]:
    score = measured.recourse.score_before
    if not score.size or not np.isfinite(score).all():
        return []
    edges = np.unique(np.quantile(score, (0.2, 0.4, 0.6, 0.8)))
    by = Translatable(lambda: gettext("how far from a yes the model puts them, in fifths"))
    return [_Strata(by, np.searchsorted(edges, score))]


def _gaps_among_alike(
    measured: Measured, groups: Groups, pair: Pair, sides: tuple[Mask, Mask], strata: Sequence[_Strata]
) -> list[Simpson]:
    """Return the gaps in coverage and in cost again, among people alike in something else or found by both methods.

    sides: (m,) bool each, among those answered.
    """
    names = groups.names[pair[0]], side_name(groups, pair[1])
    out = []
    for metric in sorted({*_METRICS} - measured.without_differences, reverse=True):
        values = measured.measures[metric]
        known = np.isfinite(values)
        a, b = (side & known for side in sides)
        if min(a.sum(), b.sum()) < max(measured.fewest, FEWEST_SPREAD):
            continue
        whole, error = _difference(values[a], values[b])
        make = partial(Simpson, groups.name, metric, *names, whole=whole)
        for one in strata:
            inside = _within(values, sides, one, metric, max(5, measured.smallest // 2))
            if inside is not None:
                within, own, number, n = inside
                out.append(make(by=one.by, within=within, strata=number, n=n, errors=(error, own)))
        if metric == "cost" and measured.second_cost is not None:
            both = np.isfinite(measured.second_cost)
            left = [int((side & ~both).sum()) for side in (a, b)]
            stay = [int((side & both).sum()) for side in (a, b)]
            # Whom the second method alone does not serve would be what the mean of all is short of.
            if any(0 < some < FEWEST for some in left) or min(stay) < max(measured.fewest, FEWEST_SPREAD):
                continue
            within, own = _difference(values[a & both], values[b & both])
            if any(left):
                within = in_steps(within, step_of(1 / min(stay), float(values[a | b].std())))
            n = in_steps_of_people(sum(stay), sum(stay) + sum(left))
            by = Translatable(lambda: gettext("only where a second method finds a plan, too"))
            out.append(make(by=by, within=within, strata=1, n=n, errors=(error, own)))
    return out


def _within(
    values: Floats, sides: tuple[Mask, Mask], strata: _Strata, metric: str, least: int
) -> tuple[float, float, int, int] | None:
    """Return the mean difference inside strata with `least` people of both sides, its error, strata and people.

    None where fewer than two strata have so many. Of means that the audit tells elsewhere it is exact. Else it is told
    in steps that three people make, and a stratum counts by who was answered: that `least` of them have a plan must
    tell it of nobody.
    """
    inside, weight, errors, heaviest = [], [], [], []
    known = strata.known
    for s in np.unique(strata.stratum[strata.stratum >= 0]):
        here = [side & (strata.stratum == s) for side in sides]
        a, b = (values[some & np.isfinite(values)] for some in here)
        if known is None and min(some.sum() for some in here) < least + (FEWEST if metric == "cost" else 0):
            continue
        if min(a.size, b.size) >= least and (known is None or int(s) in known[metric]):
            gap, own = _difference(a, b)
            inside.append(gap)
            errors.append(own)
            weight.append(a.size + b.size)
            heaviest.append(
                weight[-1] / min(a.size, b.size)
            )  # times the sum of weights: what a person counts
    if len(inside) < 2:
        return None
    share = np.array(weight) / sum(weight)
    error = rounded(float(np.sqrt(share**2 @ np.array(errors) ** 2)))
    within, n = float(share @ np.array(inside)), sum(weight)
    if known is None:
        of = np.concatenate([values[side & np.isfinite(values)] for side in sides])
        spread = 1.0 if metric == "usable" else float(of.std())
        within = in_steps(within, step_of(max(heaviest) / n, spread))
        n = in_steps_of_people(n, of.size)
    return within, error, len(inside), n


def _difference(a: Floats, b: Floats) -> tuple[float, float]:
    """Return the difference of two means and its standard error."""
    return float(a.mean() - b.mean()), rounded(float(np.sqrt(a.var() / a.size + b.var() / b.size)))
