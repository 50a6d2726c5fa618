"""Segregation of an audit's groups before and after everybody acts on their plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.groups import Groups
from wayforward.impact.audit.comparison import MOST_PAIRED
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.result import AttributeAudit
from wayforward.impact.segregation import before_after_each
from wayforward.language import Translatable, gettext, reason
from wayforward.shapes import Ints

_POPULATION = 6000  # people among whom segregation is measured
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
        measured.problem, measured.x[rows], measured.recourse[answers], groups.take(rows), who=at,
        seed=measured.seed,
    )  # fmt: skip
    out = {}
    for name, change in changes.items():
        if not any(g == name or name.startswith(f"{g} ") for g in large):
            continue
        intervals = change.intervals(resamples=_RESAMPLES, seed=measured.seed, people=1000)
        out[name] = {
            "people": change.people,
            "followed": change.followed,
            "dimensions": {
                dimension: {part: e.to_dict() for part, e in parts.items()}
                for dimension, parts in intervals.items()
            },
            "worse": list(change.worse),
        }
    return out


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
