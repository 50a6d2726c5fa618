"""What auditors read of finished audits: figures by group side by side and over time, and single pseudonymous cases.

An audit leaves its numbers (`audit.json`), which hold no person's row, and cases (`cases.json`): how somebody fared,
under a name that was drawn, without a value of theirs. Groups of fewer than `FEWEST` people are in neither.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from wayforward.errors import DataError
from wayforward.language import LANGUAGES, N_, gettext, language, translated, use_language
from wayforward.plain_files import write_text
from wayforward.serve.jobs import DONE, Jobs, NoSuchJob, audit_page
from wayforward.serve.storage.tables import Job, ModelVersion
from wayforward.shapes import Ints

if TYPE_CHECKING:
    from wayforward.impact.audit import Audit
    from wayforward.impact.audit.figures import Measured

FEWEST = 10
MOST_CASES, MOST_AUDITS = 200, 12
# What an audit tells was attacked along up to three; along seven, few ways are left in which all counts come about.
MOST_FEATURES = 3
#: What can be looked at, and is it a share?
MEASURES = {
    "refused": (N_("refused by the model, of all people"), True),
    "usable": (N_("have a plan that works, of those answered"), True),
    "proved": (N_("proved: no allowed change helps, of those answered"), True),
    "plausible": (N_("have a plan that looks like people who are accepted, of those answered"), True),
    "cost": (N_("mean cost of the plan, as a share of a range, of those with one"), False),
    "burden": (
        N_("mean distance from the person to where the plan leads, as a share of a range, of those with one"),
        False,
    ),
    "cost_all": (
        N_("mean cost as a share of a range, no plan counting as the dearest, of those answered"),
        False,
    ),
}
EVERYBODY = N_("everybody")


@dataclass(frozen=True)
class AuditEntry:
    """A finished audit. threshold: None where it was the model's own."""

    id: str
    model: str
    title: str
    made: datetime
    threshold: float | None


@dataclass(frozen=True)
class Cell:
    """A figure with its 95 % interval and the people behind it; value None where it is withheld or unknown."""

    value: float | None
    low: float | None
    high: float | None
    n: int | None

    @classmethod
    def of(cls, estimate: dict[str, Any] | None, hidden: bool = False) -> Cell:
        """A figure as an audit stores it; of fewer than `FEWEST` people nothing is told, nor without an interval."""
        if (
            hidden
            or estimate is None
            or None in (estimate["value"], estimate["low"])
            or estimate["n"] < FEWEST
        ):
            return cls(None, None, None, None)
        return cls(estimate["value"], estimate["low"], estimate["high"], estimate["n"])

    def less(self, other: Cell) -> Cell:
        """The difference of two figures from their own intervals, as of other people in each.

        Source: G. Y. Zou & A. Donner (2008), Statist. Med. 27; of two shares with Wilson's intervals it is Newcombe's.
        """
        mine, theirs = (self.value, self.low, self.high), (other.value, other.low, other.high)
        if None in mine or None in theirs:
            return Cell(None, None, None, None)
        (a, a_low, a_high), (b, b_low, b_high) = mine, theirs
        assert a is not None and a_low is not None and a_high is not None and self.n is not None
        assert b is not None and b_low is not None and b_high is not None and other.n is not None
        down, up = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
        return Cell(a - b, a - b - down, a - b + up, self.n + other.n)


@dataclass(frozen=True)
class View:
    """Figures of one measure, by one attribute: rows of (group, a cell for each audit), the differences last less first
    where there are two audits or more. attributes: that could be chosen."""

    by: str
    measure: str
    audits: tuple[AuditEntry, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    attributes: tuple[str, ...]

    @property
    def differences(self) -> tuple[Cell, ...]:
        """A cell for each row; () of a single audit."""
        return tuple(cells[-1].less(cells[0]) for _, cells in self.rows) if len(self.audits) > 1 else ()

    @property
    def is_share(self) -> bool:
        """Is the measure a share of people?"""
        return MEASURES[self.measure][1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "by": self.by, "measure": self.measure, "meaning": gettext(MEASURES[self.measure][0]),
            "audits": [vars(one) for one in self.audits],
            "rows": [{"group": group, "cells": [vars(cell) for cell in cells]} for group, cells in self.rows],
            "last_less_first": [vars(cell) for cell in self.differences],
        }  # fmt: skip

    def table(self) -> list[dict[str, Any]]:
        """A row for each group and audit, for a file."""
        return [
            {"measure": self.measure, "by": self.by, "group": group, "audit": one.id, "model": one.model,
             "threshold": one.threshold, "made": one.made.isoformat(timespec="seconds"), **vars(cell)}
            for group, cells in self.rows
            for one, cell in zip(self.audits, cells, strict=True)
        ]  # fmt: skip


def finished(session: Session, folder: Path) -> list[AuditEntry]:
    """Return the audits whose numbers are there, the newest first."""
    chosen = (
        select(Job, ModelVersion.title)
        .join(ModelVersion, ModelVersion.id == Job.model_id)
        .where(Job.kind == "audit", Job.status == DONE)
        .order_by(Job.made.desc())
    )
    return [
        AuditEntry(job.id, job.model_id, title, job.made, job.given.get("threshold"))
        for job, title in session.execute(chosen)
        if (folder / job.id / "audit.json").is_file()
    ]


def text_of(jobs: Jobs, session: Session, id: str) -> str:
    """Return everything that an audit measured, as JSON. Raises: NoSuchJob."""
    return _file(jobs, session, id, "audit.json").read_text(encoding="utf-8")


def report_text(jobs: Jobs, session: Session, id: str) -> str:
    """Return the page of an audit, as the library writes it, in the language in use; of an audit of an earlier version
    there is the English one. Raises: NoSuchJob."""
    page = jobs.result(session, id, "audit")
    own = audit_page(page.parent, language())
    return (own if own.is_file() else page).read_text(encoding="utf-8")


def numbers(jobs: Jobs, session: Session, id: str) -> dict[str, Any]:
    """Return everything that an audit measured. Raises: NoSuchJob."""
    found: dict[str, Any] = json.loads(text_of(jobs, session, id))
    return found


def view(jobs: Jobs, session: Session, ids: Sequence[str], by: str = "", measure: str = "") -> View:
    """Return one measure of up to `MOST_AUDITS` audits side by side, the oldest first. by: an attribute or where two
    meet; left out, the first that all of them have. Raises: NoSuchJob, DataError.
    """
    measure = measure or "usable"
    if measure not in MEASURES:
        raise DataError(
            gettext(
                "There is no measure '{name}'. Use one of {names}.",
                name=measure[:40],
                names=", ".join(MEASURES),
            )
        )
    if not ids or len(ids) > MOST_AUDITS:
        raise DataError(gettext("Choose from one to {n} audits.", n=MOST_AUDITS))
    every = {one.id: one for one in finished(session, jobs.folder)}
    if unknown := [id for id in ids if id not in every]:
        raise NoSuchJob(gettext("There is no finished audit '{id}' (any more).", id=unknown[0][:22]))
    chosen = sorted((every[id] for id in dict.fromkeys(ids)), key=lambda one: (one.made, one.id))
    read = [numbers(jobs, session, one.id) for one in chosen]
    shared = [{one["name"]: one for one in audit["attributes"]} for audit in read]
    names = [name for name in shared[0] if all(name in one for one in shared)]
    by = by or (names[0] if names else "")
    if by not in names:
        raise DataError(
            gettext("These audits do not all compare along '{name}'. Use one of {names}.", name=by[:80],
                    names=", ".join(names) or "–")
        )  # fmt: skip
    columns: list[dict[str, Cell]] = []
    for audit, attributes in zip(read, shared, strict=True):
        column = {EVERYBODY: Cell.of(audit["overall"]["figures"].get(measure))}
        for group in attributes[by]["groups"]:
            few = (group["people"] or 0) < FEWEST
            column[group["group"]] = Cell.of(group["figures"].get(measure), few)
        columns.append(column)
    groups = list(dict.fromkeys(group for column in columns for group in column))
    nothing = Cell(None, None, None, None)
    rows = tuple((group, tuple(column.get(group, nothing) for column in columns)) for group in groups)
    return View(by, measure, tuple(chosen), rows, tuple(names))


def cases(jobs: Jobs, session: Session, id: str) -> list[dict[str, Any]]:
    """Return the pseudonymous cases of an audit, in an order that was drawn. Raises: NoSuchJob."""
    found: list[dict[str, Any]] = json.loads(
        _file(jobs, session, id, "cases.json").read_text(encoding="utf-8")
    )
    return found


def case(jobs: Jobs, session: Session, id: str, name: str) -> dict[str, Any]:
    """Return one of them. Raises: NoSuchJob."""
    for one in cases(jobs, session, id):
        if one["case"] == name:
            return one
    raise NoSuchJob(gettext("There is no such case in this audit."))


def _file(jobs: Jobs, session: Session, id: str, name: str) -> Path:
    file = jobs.result(session, id, "audit").with_name(name)
    if not file.is_file():  # an audit of an earlier version has its page only
        raise NoSuchJob(gettext("There is no result of such a job."))
    return file


def write_group_names(found: Audit, path: Path) -> None:
    """Write what the groups of an audit are called in each language: its numbers know them by their English names."""
    names = {group.name for one in found.attributes for group in one.groups}
    called: dict[str, dict[str, str]] = {}
    for code in LANGUAGES:
        with use_language(code):
            called[code] = {str(name): translated(name) for name in names}
    write_text(path, json.dumps(called, ensure_ascii=False))


def group_names(jobs: Jobs, session: Session, *ids: str) -> dict[str, str]:
    """Return what groups of these audits are called in the language in use, by their English names. Of an audit of an
    earlier version nothing is known. Raises: NoSuchJob."""
    out: dict[str, str] = {EVERYBODY: gettext(EVERYBODY)}
    for id in ids:
        file = jobs.result(session, id, "audit").with_name("names.json")
        if file.is_file():
            out |= json.loads(file.read_text(encoding="utf-8")).get(language(), {})
    return out


def write_cases(measured: Measured, path: Path, fewest: int, beside: Sequence[np.ndarray] = ()) -> None:
    """Write how some of those answered fared, without a value of theirs: under a name that is drawn, in an order that
    is drawn. Groups of one attribute are named where `fewest` of those answered or more are in it, if that does not
    tell who fewer others are. Of several attributes all are named, or none where so few are in all groups of somebody
    together: what is told of each attribute less the cases that are named would tell of these. beside: of which groups
    (n,) each person is in other audits, whose cases are known again by what they cost; as of several attributes.
    """
    schema, judged = measured.problem.schema, measured.judged
    attributes = measured.attributes
    label = (
        np.stack([one.member for one in attributes], axis=1) if attributes else np.empty((len(measured.x), 0))
    )
    _, kind, size = np.unique(label[measured.who], axis=0, return_inverse=True, return_counts=True)
    few = size < fewest
    if few.any() and size[few].sum() < fewest and not few.all():  # whoever is not named would be of these
        few[np.where(few, len(label), size).argmin()] = True
    if len(attributes) > 1:
        few[:] = few.any()
    named = ~few[kind.reshape(-1)]
    if beside:
        sizes = np.unique(np.c_[label, np.stack(beside, axis=1)][measured.who], axis=0, return_counts=True)[1]
        named &= sizes.min() >= fewest
    out = []
    for i in _some(np.where(named, kind.reshape(-1), len(size)), fewest).tolist():
        at = int(measured.who[i])
        has = bool(measured.has_cost[i])
        acted = np.flatnonzero(judged.acted[i]).tolist() if has else []
        action, x = measured.recourse.action[i, 0], measured.recourse.x[i]
        usual = measured.measures["cost"]
        out.append({
            "case": secrets.token_hex(6),
            "groups": {
                one.name: one.names[one.member[at]] for one in attributes if one.member[at] >= 0
            } if named[i] else {},
            "outcome": "FOUND" if has else "NONE_EXISTS" if measured.measures["proved"][i] > 0 else "NOT_FOUND",
            "cost": round(float(usual[i]), 3) if has else None,
            "dearer_than": round(float((usual[measured.has_cost] < usual[i]).mean()), 2) if has else None,
            "changes": [
                {"feature": schema.names[j],
                 "direction": "other" if schema.has_levels[j] else "up" if action[j] > x[j] else "down"}
                for j in acted
            ],
        })  # fmt: skip
    write_text(path, json.dumps(out, ensure_ascii=False, allow_nan=False))


def _some(kind: Ints, fewest: int) -> Ints:
    """Draw at most MOST_CASES of people whose groups as they are named are kind (m,), in an order that is drawn.

    Of each kind all are drawn, or `fewest` are not: else what is told of the group would tell of those who are not.
    """
    drawn = np.random.default_rng().permutation(len(kind))
    if len(drawn) <= MOST_CASES:
        return drawn
    size = np.bincount(kind)
    most = np.minimum(size * MOST_CASES // len(kind), np.maximum(size - fewest, 0))
    return np.asarray(drawn[turn_of(kind[drawn]) < most[kind[drawn]]])


def turn_of(values: Ints) -> Ints:
    """Return how often each of (n,) values stands before."""
    order = np.argsort(values, kind="stable")
    start = np.searchsorted(values[order], values[order])
    out = np.empty(len(values), dtype=np.int64)
    out[order] = np.arange(len(values)) - start
    return out
