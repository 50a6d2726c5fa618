"""What an audit found out, as data: attributes, and the whole."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.impact.audit.agreement import Agreement
from wayforward.impact.audit.figures import MEANING, SHARES_SERVED, GroupFigures
from wayforward.impact.audit.gaps import Correction, Gap, corrected
from wayforward.impact.audit.strata import Simpson
from wayforward.impact.audit.twins import Twins
from wayforward.impact.audit.unread import Unread
from wayforward.impact.audit.worst_off import Subgroup
from wayforward.language import N_
from wayforward.lazy import Renamed, hook
from wayforward.plain_files import write_text
from wayforward.public import public
from wayforward.schema.notebook import small_table

if TYPE_CHECKING:
    from wayforward.impact.summaries import Summary
    from wayforward.schema import Schema


@public
@dataclass(frozen=True)
class AttributeAudit:
    """Everything about one attribute, or about one intersection of two. parts: the attributes that it is of."""

    name: str
    parts: tuple[str, ...]
    crossed: bool
    in_model: bool
    unlabelled: int
    groups: tuple[GroupFigures, ...]
    gaps: tuple[Gap, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    simpson: tuple[Simpson, ...] = ()
    twins: Twins | None = None
    society: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def largest(self, metric: str, significant: bool = False) -> Gap | None:
        """Return the largest gap in a measure between groups that were compared, or of those that are significant."""
        known = [g for g in self.gaps if g.metric == metric and np.isfinite(g.estimate.value)]
        known = [g for g in known if g.significant] if significant else known
        return max(known, key=lambda g: abs(g.estimate.value), default=None)

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Plain values for JSON; names: of the features."""
        return {
            "name": self.name,
            "intersection": self.crossed,
            "seen_by_the_model": self.in_model,
            "without_a_label": self.unlabelled,
            "groups": [g.to_dict(names) for g in self.groups],
            "gaps": [g.to_dict() for g in self.gaps],
            "agreement": [a.to_dict() for a in self.agreement],
            "simpson": [s.to_dict() for s in self.simpson],
            "twins": None if self.twins is None else self.twins.to_dict(),
            "segregation": self.society,
            "notes": list(self.notes),
        }


@public
@dataclass(frozen=True, eq=False)
class Audit:
    """What `audit` found out. It holds no person's row; `report` writes the page, `to_json` the numbers.

    n: people looked at; unread: who could not be read, besides; refused: of them by the model; answered: of these,
    looked for a plan. overall: figures of everybody. attributes: each attribute, then each intersection. worst:
    subgroups that fare worst. summaries: few lines for many people. budgets: common costs at which `served` is
    measured, their curve at `grid`. comparisons: how many gaps were looked at; n_significant: how many are larger
    than chance makes them. fixed: whose answer nothing can turn, and how that is known (`audit.fixed`). proved: of how
    many the plan is the cheapest possible (`audit.proved`). meta: method, model, target, cost, seed, versions. notes:
    what could not be measured.
    """

    n: int
    refused: int
    answered: int
    overall: GroupFigures
    attributes: tuple[AttributeAudit, ...]
    worst: tuple[Subgroup, ...]
    budgets: tuple[float, ...]
    grid: tuple[float, ...]
    correction: Correction
    schema: Schema
    robustness: dict[str, Any] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    proved: dict[str, Any] = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)
    summaries: tuple[Summary, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    stands = Renamed("n_significant")

    def __getitem__(self, name: str) -> AttributeAudit:
        """One attribute or intersection by name. Raises: DataError for an unknown one."""
        for one in self.attributes:
            if one.name == name:
                return one
        raise DataError(
            f"The audit has no attribute '{name}'. It has {', '.join(one.name for one in self.attributes)}."
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = []
        for by, group in [
            ("", self.overall),
            *((a.name, g) for a in self.attributes if not a.crossed for g in a.groups),
        ]:
            hidden = bool(group.hidden or group.withheld)
            means = [group.figures[name].value for name in ("refused", "usable", "cost")]
            shares = ["withheld"] * 4 if hidden else [group.people, *means]
            rows.append((by, group.name, *shares))
        title = f"Audit of {self.n:,} people, {self.refused:,} refused, {self.answered:,} answered"
        return small_table(
            title, ("by", "group", "people", "refused", "usable", "mean cost"), rows, self.notes
        )

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Every comparison of the audit."""
        return tuple(g for one in self.attributes for g in one.gaps)

    @property
    def comparisons(self) -> int:
        """Comparisons that had people on both sides, agreements included."""
        agreements = sum(len(one.agreement) for one in self.attributes)
        return sum(bool(np.isfinite(g.p)) for g in self.gaps) + agreements

    @property
    def n_significant(self) -> int:
        """Comparisons that are larger than chance would make one among all of them."""
        agreements = sum(a.significant for one in self.attributes for a in one.agreement)
        return sum(g.significant for g in self.gaps) + agreements

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes null. No person's row is in it."""
        names = self.schema.names
        return {
            "format": "wayforward.audit/1",
            "n": self.n,
            "refused": self.refused,
            "answered": self.answered,
            "unread": self.unread.to_dict(),
            "overall": self.overall.to_dict(names),
            "budgets": list(self.budgets),
            "shares_served": list(SHARES_SERVED),
            "correction": self.correction,
            "comparisons": self.comparisons,
            "stand": self.n_significant,
            "meaning": dict(MEANING),
            "attributes": [one.to_dict(names) for one in self.attributes],
            "worst_off": [one.to_dict() for one in self.worst],
            "summaries": [one.to_dict() for one in self.summaries],
            "robustness": self.robustness,
            "fixed": self.fixed,
            "proved": self.proved,
            "meta": self.meta,
            "notes": list(self.notes),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text with every number, written to `path` if given."""
        text = json.dumps(_jsonable(self.to_dict()), indent=2, allow_nan=False, ensure_ascii=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def report(self, path: str | Path, title: str = N_("Audit of recourse")) -> Path:
        """Write one HTML page: the old name of `wayforward.impact.audit.report`, for one release."""
        warnings.warn(
            "Audit.report(path) is now the function wayforward.impact.audit.report(audit, path). The old name goes "
            "with the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        written: Path = hook("impact.audit.page:report")(self, path, title)
        return written

    def __repr__(self) -> str:
        return (
            f"Audit({self.n} people, {self.refused} refused, {self.answered} answered, "
            f"{', '.join(a.name for a in self.attributes)}: {self.n_significant} of {self.comparisons} differences "
            "stand)"
        )


def with_corrections(audits: list[AttributeAudit], how: Correction) -> list[AttributeAudit]:
    """Correct the p-values of all gaps and agreements of an audit as one family."""
    gaps = [g for one in audits for g in one.gaps]
    agreements = [a for one in audits for a in one.agreement]
    known = [i for i, g in enumerate(gaps) if np.isfinite(g.p)]
    p = corrected(np.array([*(gaps[i].p for i in known), *(a.p for a in agreements)]), how)
    for place, i in enumerate(known):
        gaps[i] = replace(gaps[i], corrected=float(p[place]))
    agreements = [replace(a, corrected=float(v)) for a, v in zip(agreements, p[len(known) :], strict=True)]
    next_gap, next_agreement = iter(gaps), iter(agreements)
    return [
        replace(
            one,
            gaps=tuple(next(next_gap) for _ in one.gaps),
            agreement=tuple(next(next_agreement) for _ in one.agreement),
        )
        for one in audits
    ]


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if hasattr(value, "tolist"):
        return _jsonable(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
