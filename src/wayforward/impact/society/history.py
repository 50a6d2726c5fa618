"""What was seen in a society, round by round and group by group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError, FileFormatError, did_you_mean
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.impact.society.scenario import Scenario
from wayforward.language import N_, gettext
from wayforward.plain_files import as_path, read_json, write_text
from wayforward.public import public
from wayforward.shapes import Floats

FORMAT = "wayforward society 1"

STOCKS = (
    "open",
    "acting",
    "granted",
    "left",
    "good",
)  # people at the end of a round; good: would do well if granted
FLOWS = (
    "arrived", "applied", "eligible", "passed_over", "given", "defaulted", "refused", "gone", "advised",
    "served",
    "offered", "agreed", "paid", "earned", "returned", "held", "yes", "improved", "gamed", "righted", "harmed",
)  # fmt: skip

# name -> (numerator, denominator, what it says, which is looked up when it is told)
FIGURES: Mapping[str, tuple[str, str, str]] = {
    "acceptance": ("eligible", "applied", N_("share of those who applied whom the model accepts")),
    "grants": ("given", "applied", N_("share of those who applied who were granted")),
    "default": ("defaulted", "given", N_("share of those granted who do badly")),
    "advice": ("served", "advised", N_("share of those due for advice for whom there is a plan")),
    "cost": ("offered", "served", N_("mean cost of the plans")),
    "agreed": ("agreed", "served", N_("share of those with a plan who set out to act")),
    "holds": ("held", "returned", N_("share of the plans that would still be a yes when people return")),
    "success": ("yes", "returned", N_("share of those who return to whom the model says yes")),
    "improvement": ("improved", "returned", N_("share of those who return who would do well now and not before")),
    "gaming": ("gamed", "returned", N_("share of those who return who get a yes and would do badly")),
    "righted": ("righted", "returned", N_("share of those who return who get a yes and had done well all along")),
    "harm": ("harmed", "returned", N_("share of those who return who would have done well and now would not")),
    "profit": ("earned", "given", N_("mean interest earned less losses, in the unit of the amount, on each granted")),
    "good": ("good", "present", N_("share of everybody present who would do well")),
}  # fmt: skip


@public
@dataclass(eq=False)
class History:
    """T rounds, g groups and one more column for people without a label.

    stocks: name -> (T + 1, g + 1), the first row is the start. flows: name -> (T, g + 1), sums over people.
    segregation: dimension -> (T + 1, g), each group against all others; NaN where it was not measured. models (T,):
    which model decided, 0 is the first. truth: whether outcomes are known. society: the people at the end (not in
    files). titles: the groups' names as people read them, () where nobody said other ones.
    """

    scenario: Scenario
    attribute: str
    names: tuple[str, ...]
    stocks: dict[str, Floats] = field(default_factory=dict)
    flows: dict[str, Floats] = field(default_factory=dict)
    segregation: dict[str, Floats] = field(default_factory=dict)
    models: list[int] = field(default_factory=list)
    truth: bool = True
    seconds: list[float] = field(default_factory=list)
    society: Any = None
    titles: tuple[str, ...] = ()

    @classmethod
    def empty(cls, scenario: Scenario, attribute: str, names: tuple[str, ...], truth: bool) -> History:
        """Nothing seen yet."""
        g = len(names)
        return cls(
            scenario, attribute, names, {n: np.empty((0, g + 1)) for n in STOCKS},
            {n: np.empty((0, g + 1)) for n in FLOWS}, {n: np.empty((0, g)) for n in DIMENSIONS}, truth=truth,
        )  # fmt: skip

    def title(self, group: str) -> str:
        """Return what people read for the name of a group."""
        return self.titles[self.names.index(group)] if self.titles else group

    @property
    def rounds(self) -> int:
        """Rounds seen."""
        return len(self.flows["applied"])

    @property
    def people(self) -> Floats:
        """(T + 1, g + 1) everybody who ever entered, wherever they are now."""
        return np.asarray(sum(self.stocks[name] for name in ("open", "acting", "granted", "left")))

    def total(self, name: str) -> Floats:
        """Return a flow or a stock over all groups: (T,) or (T + 1,). Raises: DataError for an unknown one."""
        return np.asarray(self._part(name).sum(1))

    def _part(self, name: str) -> Floats:
        if name == "present":
            return np.asarray(self.people - self.stocks["left"])
        if name in self.stocks:
            return self.stocks[name]
        if name not in self.flows:
            raise DataError(f"Nothing called '{name}' was counted. Known: {', '.join((*FLOWS, *STOCKS))}.")
        return self.flows[name]

    def figure(self, name: str, *, group: str | None = None, over: bool = False) -> Floats:
        """One of `FIGURES` or a dimension of segregation by round: (T,), or (T + 1,) with the start.

        group: of one group; None: of all people, and for segregation of the smallest group. over: one number over all
        rounds (1,). NaN where nobody counts, or where outcomes are not known.
        Raises: DataError for an unknown figure or group.
        """
        if group is not None and group not in self.names:
            raise DataError(f"'{self.attribute}' has no group '{group}'. Known: {', '.join(self.names)}.")
        if name in DIMENSIONS:
            at = self._smallest() if group is None else self.names.index(group)
            return np.asarray(self.segregation[name][:, at])
        if name not in FIGURES:
            known = (*FIGURES, *DIMENSIONS)
            raise DataError(
                f"There is no figure '{name}'.{did_you_mean(name, known)} Known: {', '.join(known)}."
            )
        column = slice(None) if group is None else slice(i := self.names.index(group), i + 1)
        top, bottom = (self._part(n)[:, column].sum(1) for n in FIGURES[name][:2])
        if over:
            top, bottom = top.sum(keepdims=True), bottom.sum(keepdims=True)
        if not self.truth and name in (
            "default",
            "improvement",
            "gaming",
            "righted",
            "harm",
            "good",
            "profit",
        ):
            return np.full(len(top), np.nan)
        return np.asarray(np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0))

    def _smallest(self) -> int:
        size = self.people[0, :-1]
        return int(np.where(size > 0, size, np.inf).argmin())

    def notes(self) -> list[str]:
        """What a reader should know: a lender who trains again, and whom the new models decide about."""
        applied, trained = self.total("applied"), np.flatnonzero(np.diff([0, *self.models]))
        every = self.scenario.lender.retrain
        if not every or (len(trained) and applied[trained[0] :].any()):
            return []
        if self.rounds <= every and applied[-1:].any():
            return [
                gettext(
                    "No model that was trained again decided about anybody: the lender trains after round {n}, and "
                    "there was none after it. Play more rounds.",
                    n=every,
                )
            ]
        return [
            gettext(
                "No model that was trained again decided about anybody, so retraining changed nothing: after the first "
                "rounds nobody applied any more. Let people arrive (arrivals: 50), or come back later (delay: [1, 4])."
            )
        ]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each round and group, and for all: counts, figures and segregation; for tables and files."""
        out = []
        for t in range(self.rounds):
            for at, name in [(None, "all"), *enumerate(self.names)]:
                row: dict[str, Any] = {"round": t + 1, "group": name}
                for part in FLOWS:
                    row[part] = float(self.flows[part][t].sum() if at is None else self.flows[part][t, at])
                for part in STOCKS:
                    row[f"{part}_now"] = float(
                        self.stocks[part][t + 1].sum() if at is None else self.stocks[part][t + 1, at]
                    )
                for figure in FIGURES:
                    shift = int(figure == "good")
                    row[figure] = float(self.figure(figure, group=None if at is None else name)[t + shift])
                for dimension in DIMENSIONS:
                    row[dimension] = (
                        float("nan") if at is None else float(self.segregation[dimension][t + 1, at])
                    )
                out.append(row)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no row of a person."""

        def plain(parts: Mapping[str, Floats]) -> dict[str, Any]:
            return {n: [[None if v != v else v for v in row] for row in a.tolist()] for n, a in parts.items()}

        return {
            "format": FORMAT,
            "scenario": self.scenario.to_dict(),
            "attribute": self.attribute,
            "names": list(self.names),
            **({"titles": list(self.titles)} if self.titles else {}),
            "stocks": plain(self.stocks),
            "flows": plain(self.flows),
            "segregation": plain(self.segregation),
            "models": list(self.models),
            "truth": self.truth,
            "seconds": list(self.seconds),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> History:
        """Undo `to_dict`. Raises: FileFormatError."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise FileFormatError("This holds no history of a society. Simulate it again.")
        names = tuple(data["names"])
        flows = {"earned": np.zeros((len(data["models"]), len(names) + 1)).tolist()} | data["flows"]

        def arrays(parts: Mapping[str, Any], wide: int) -> dict[str, Floats]:
            return {n: np.array(rows, dtype=np.float64).reshape(-1, wide) for n, rows in parts.items()}

        return cls(
            Scenario.from_dict(data["scenario"]), data["attribute"], names, arrays(data["stocks"], len(names) + 1),
            arrays(flows, len(names) + 1), arrays(data["segregation"], len(names)), list(data["models"]),
            bool(data["truth"]), list(data["seconds"]), titles=tuple(data.get("titles", ())),
        )  # fmt: skip

    def save(self, path: str | Path) -> Path:
        """Write as JSON."""
        path = as_path(path)
        write_text(path, json.dumps(self.to_dict(), allow_nan=False))
        return path

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what `save` wrote. Raises: FileFormatError."""
        try:
            return cls.from_dict(read_json(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                f"'{Path(path).name}' holds no history ({type(error).__name__}). Simulate again."
            ) from None

    def same(self, other: History) -> bool:
        """Return whether both saw the same; times do not count."""
        one, two = self.to_dict(), other.to_dict()
        return all(one[k] == two[k] for k in one if k != "seconds")

    def __str__(self) -> str:
        """The last round and the whole, in a small table."""
        lines = [
            f"{self.scenario.name}: {self.rounds} rounds, {int(self.total('open')[0]):,} people at the start"
        ]
        heads = ["all", *self.names]
        lines.append(f"{'over all rounds':16}" + "".join(f"{n[:18]:>20}" for n in heads))
        for name in FIGURES:
            values = [self.figure(name, group=g, over=True)[0] for g in (None, *self.names)]
            lines.append(f"{name:16}" + "".join(f"{v:20.3f}" if v == v else f"{'-':>20}" for v in values))
        for name in DIMENSIONS:
            values = [self.figure(name, group=g) for g in self.names]
            cells = []
            for v in values:
                known = v[~np.isnan(v)]
                cells.append(f"{known[0]:8.3f} -> {known[-1]:8.3f}" if len(known) else f"{'-':>20}")
            lines.append(f"{name:16}" + f"{'':20}" + "".join(f"{c:>20}" for c in cells))
        return "\n".join(lines)
