"""Few rules for many people as part of an audit: made beside the plans, and compared between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from wayforward.errors import DataError, WayforwardError, shown
from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.comparison import pairs_of, side_name, sides_of
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.gaps import Gap, mean_gap, rate_gap
from wayforward.impact.audit.result import AttributeAudit
from wayforward.impact.privacy import (
    FEWEST_SPREAD,
    in_steps,
    mean_in_steps,
    mean_of_enough,
    rate_in_steps,
    rounded,
    step_of,
)
from wayforward.impact.summaries import Summariser, Summary, summarize
from wayforward.impact.summaries.registry import summariser
from wayforward.language import Translatable, gettext, reason


def summarisers_of(summaries: Sequence[str | Summariser]) -> list[Summariser]:
    """Return summarisers by name, before any work. Raises: DataError for an unknown or a repeated one."""
    if isinstance(summaries, str):
        summaries = (summaries,)
    if not isinstance(summaries, Sequence):
        raise DataError(
            f"summaries={shown(summaries)} is no list. Give names, such as ('tree',), or () for none."
        )
    found = [summariser(one) if isinstance(one, str) else one for one in summaries]
    for one in found:
        if not hasattr(one, "name") or not hasattr(one, "learn"):
            raise DataError(f"summaries holds {shown(one)}. Use names such as 'tree', or summarisers.")
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"The summary '{twice[0]}' was asked for twice. Name each once.")
    return found


def summaries_of(measured: Measured, summarisers: Sequence[Summariser], most: int) -> list[Summary]:
    """Summarise the people answered beside the audit's plans; all are learnt from and scored on the same people."""
    out = []
    for one in summarisers if most > 0 else ():
        measured.progress(f"rules for many: {one.name}", 0, 1)
        try:
            out.append(
                summarize(
                    measured.problem, measured.answered, one,
                    groups=[attribute.take(measured.who) for attribute in measured.attributes],
                    preferences=measured.preferences, most=most, beside=measured.recourse,
                    grid=sorted({*measured.grid, *measured.budgets}), seed=measured.seed,
                )
            )  # fmt: skip
        except WayforwardError as error:
            measured.notes.append(Translatable(partial(_none_made, one.name, error)))
    return out


def _none_made(name: str, error: WayforwardError) -> str:
    return gettext("No rules for many were made by {name}: {why}.", name=name, why=reason(error).rstrip("."))


def with_line_gaps(
    audits: list[AttributeAudit], measured: Measured, summaries: Sequence[Summary]
) -> list[AttributeAudit]:
    """Add to each attribute how lines serve its groups, and what they cost beside own plans."""
    known = {groups.name: groups for groups in measured.attributes}
    out = []
    for one in audits:
        groups = None if one.crossed else known.get(one.name)
        if groups is not None:
            gaps = [gap for summary in summaries for gap in _line_gaps(measured, one, groups, summary)]
            one = replace(one, gaps=(*one.gaps, *gaps))
        out.append(one)
    return out


def _line_gaps(measured: Measured, one: AttributeAudit, groups: Groups, summary: Summary) -> list[Gap]:
    """Return differences in who is served, and in what lines cost more than own plans, over those scored."""
    label, served = groups.member[measured.who][summary.who], summary.line >= 0
    own = measured.recourse[summary.who]
    both = served & own.found[:, 0]
    extra = np.full(len(both), np.nan)
    extra[both] = summary.recourse.cost[both, 0] - own.cost[both, 0]
    out = []
    for a, b in pairs_of(one.groups, False):
        names = groups.names[a], side_name(groups, b)
        first, second = sides_of(label, a, b)
        enough = max(measured.smallest, FEWEST_SPREAD)
        if min(first.sum(), second.sum()) >= enough and served.any() and not served.all():
            shares = [rate_in_steps(stats.rate(served[side])) for side in (first, second)]
            hit = np.concatenate([np.arange(e.n) < round(e.value * e.n) for e in shares])
            sides = np.repeat([True, False], [e.n for e in shares])
            estimate, p = rate_gap(hit, sides, ~sides)
            values, counts = (shares[0].value, shares[1].value), (shares[0].n, shares[1].n)
            out.append(Gap(groups.name, f"lines {summary.name}", *names, estimate, values, counts, p))
        means = [
            mean_in_steps(mean_of_enough(extra[side], measured.seed), int(side.sum()))
            for side in (first, second)
        ]
        both_sides = first & both, second & both
        if all(e.n >= enough for e in means) and np.ptp(extra[both]) > 0:
            estimate, p = mean_gap(extra, *both_sides, measured.seed)
            step = step_of(1 / min(int(side.sum()) for side in both_sides), float(extra[both].std()))
            values, counts = (means[0].value, means[1].value), (means[0].n, means[1].n)
            gap = Estimate(
                in_steps(estimate.value, step),
                in_steps(estimate.low, step),
                in_steps(estimate.high, step),
                sum(counts),
            )
            out.append(Gap(groups.name, f"extra {summary.name}", *names, gap, values, counts, rounded(p)))
    return out
