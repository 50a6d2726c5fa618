"""Segregation of an audit's groups before and after everybody acts on their plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.evaluate.stats import Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.comparison import MOST_PAIRED
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.result import AttributeAudit
from wayforward.impact.privacy import FEWEST, in_steps_of_people, rounded
from wayforward.impact.segregation import before_after_each
from wayforward.language import Translatable, gettext, reason
from wayforward.shapes import Ints

_POPULATION = 6000  # people among whom segregation is measured
_OTHERS = "\0"  # the name of all groups that are not compared: no group has it
_RESAMPLES = 50  # draws behind its intervals


def with_segregation(audits: list[AttributeAudit], measured: Measured) -> list[AttributeAudit]:
    """Add the segregation of each compared group from everybody else, before and after all the answered act."""
    rows, answers = _population(measured)
    known = {groups.name: groups for groups in measured.attributes}
    out = []
    for one in audits:
        groups = None if one.crossed else known.get(one.name)
        large = [g.name for g in one.groups if g.compared]
        if groups is not None and 2 <= len(large) <= MOST_PAIRED:
            measured.progress(f"segregation by {one.name}", 0, 1)
            try:
                one = replace(one, society=_changes(measured, groups, rows, answers, large))
            except WayforwardError as error:
                note = Translatable(partial(_not_measured, error))
                one = replace(one, notes=(*one.notes, note))
        out.append(one)
    return out


def _not_measured(error: WayforwardError) -> str:
    return gettext("Segregation was not measured: {why}", why=reason(error))


def _changes(
    measured: Measured, groups: Groups, rows: Ints, answers: Ints, large: list[str]
) -> dict[str, Any]:
    """Return plain values of each large group, among the people at these rows."""
    at = np.flatnonzero(np.isin(rows, measured.who))
    changes = before_after_each(
        measured.problem, measured.x[rows], measured.recourse[answers], _told_alone(groups.take(rows), large), who=at,
        seed=measured.seed,
    )  # fmt: skip
    out = {}
    for name, change in changes.items():
        if name not in large:
            continue
        intervals = change.intervals(resamples=_RESAMPLES, seed=measured.seed, people=1000)
        plans = int(measured.has_cost.sum())
        out[name] = {
            "people": change.people,
            "followed": in_steps_of_people(change.followed, max(plans, change.followed)),
            "dimensions": {
                dimension: {part: _in_digits(e).to_dict() for part, e in parts.items()}
                for dimension, parts in intervals.items()
            },
            "worse": list(change.worse),
        }
    return out


def _told_alone(groups: Groups, large: Sequence[str]) -> Groups:
    """Return groups of which the others are one: what they are, and how many, is not told here."""
    place = np.array([large.index(name) if name in large else len(large) for name in groups.names])
    member = np.where(groups.member >= 0, place[groups.member], -1)
    if (member == len(large)).sum() < FEWEST:  # a sample of few
        member[member == len(large)] = -1
    return Groups(groups.name, (*large, _OTHERS), member, groups.feature)


def _in_digits(e: Estimate) -> Estimate:
    """Return an index, which is a ratio of counts of people, in two digits."""
    return Estimate(rounded(e.value), rounded(e.low), rounded(e.high), e.n, rounded(e.median), rounded(e.std))


def _population(measured: Measured) -> tuple[Ints, Ints]:
    """Return rows of a sample of everybody in which all the refused are answered, and positions among the answered."""
    share = len(measured.who) / int(measured.refused.sum())
    accepted = np.flatnonzero(~measured.refused)
    wanted = round(share * len(accepted))
    shrink = min(1.0, _POPULATION / (wanted + len(measured.who)))
    rng = np.random.default_rng([measured.seed, 13])
    some = rng.choice(accepted, round(shrink * wanted), replace=False)
    answers = np.sort(rng.choice(len(measured.who), round(shrink * len(measured.who)), replace=False))
    return np.sort(np.concatenate([some, measured.who[answers]])), answers
