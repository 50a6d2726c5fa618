"""Everybody follows the advice: are the groups further apart afterwards? Tables and figures of balanced recourse.

Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward_studies.balanced import figures, tables, toy
from wayforward_studies.balanced.deviations import DEVIATIONS
from wayforward_studies.balanced.measures import METHODS, OURS, answer, measured, method_of
from wayforward_studies.balanced.published import BY_BETA, BY_METHOD, INDICES
from wayforward_studies.balanced.setting import MOST, REAL, SETTINGS, BalancedStudy, study
from wayforward_studies.balanced.tables import MethodResult
from wayforward_studies.checkpoints import code_version, fingerprint
from wayforward_studies.pages import Page
from wayforward_studies.replication import Replication, Request, at_least, known, made_in
from wayforward_studies.verdicts import Check, half_width

TABLES = {
    1: "Synthetic set",
    2: "German by sex and GMC by age",
    3: "Invalidation",
    4: "Causal recourse on German",
    5: "Ablation over beta",
    6: "Every real setting",
}
FIGURES = {1: "The theorems in the world of rectangles", 2: "Where the synthetic people go"}
#: Of how many draws of people the origin rows are where each draw is of other people, see `centred`.
DRAWS, OTHER_PEOPLE = 100, ("law-race", "law-sex", "gmc-age")
#: Of how many draws lines that the paper has not are at most: one of them takes a minute.
DRAWS_OF_OURS = 10
_FIGURE_2 = ("ibr", "ebr", "c-chvae", "growing-spheres", "wachter", "cruds")
#: Of pages that were measured before the public code was known to keep the origin's radius.
_OWN = "that of the people who are looked at, before and after; the public code keeps the origin's"
_Answer = tuple[np.ndarray, np.ndarray, np.ndarray]  # as `answer` gives it
PAPER = "Replicates R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML."


@dataclass(frozen=True)
class BalancedRequest(Request):
    """n: people of a run at most, 10,000 as in the paper. seeds: draws of people, classifiers and methods."""

    tables: tuple[int, ...] = ()
    figures: tuple[int, ...] = ()
    n: int = MOST
    seeds: int = 5
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        known("table", self.tables, TABLES)
        known("figure", self.figures, FIGURES)
        known("data set", self.datasets, SETTINGS)
        if not self.tables and not self.figures:
            object.__setattr__(self, "tables", tuple(TABLES))
            object.__setattr__(self, "figures", tuple(FIGURES))
        at_least(40, n=self.n)
        at_least(1, seeds=self.seeds)

    @property
    def quick(self) -> bool:
        """Fewer people than published?"""
        return self.n < MOST

    @property
    def pages(self) -> tuple[str, ...]:
        """'table-1' and so on, then the figures."""
        return (
            *(f"table-{number}" for number in self.tables),
            *(f"figure-{number}" for number in self.figures),
        )


@dataclass
class BalancedReplication(Replication):
    """The tables and figures of the paper."""

    paper: ClassVar[str] = "balanced"
    decides: ClassVar[tuple[str, ...]] = ("balanced/measures.py", "balanced/setting.py")
    subfolder: ClassVar[str] = "balanced"
    draws: ClassVar[int] = DRAWS
    request: BalancedRequest
    _answers: dict[tuple[str, str, int], _Answer] = field(default_factory=dict, init=False, repr=False)

    def study(self, name: str, seed: int) -> BalancedStudy:
        """A setting; the last few are held."""
        return study(name, seed, self.request.n)

    def one(self, name: str, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, float]:
            return measured(self.study(name, seed), *self._answer(name, method, seed))

        form = _form(name, method)
        decides = {"setting": name, "method": method, "seed": seed, "n": self.request.n, "form": form}
        stage = f"{name}-{method}-{seed}".replace(" ", "_").replace("=", "_")
        return self.checkpoints.numbers(stage, decides, make)

    def _answer(self, name: str, method: str, seed: int) -> _Answer:
        """What a method answers; one that knows no groups gives every grouping of the same people the same, once."""
        it = self.study(name, seed)
        if name not in REAL or hasattr(method_of(method, it), "groups"):
            return answer(method, it)
        key = (name.split("-")[0], method, seed)
        if key not in self._answers:
            self._answers[key] = answer(method, it)
        return self._answers[key]

    def line(self, name: str, method: str, paper: Mapping[str, float]) -> MethodResult:
        """A method in a setting, over the seeds."""
        request = self.request
        seeds = min(request.seeds, DRAWS_OF_OURS) if method in OURS else request.seeds
        got = [self.one(name, method, request.seed + k) for k in range(seeds)]
        mean = {key: float(np.mean([g[key] for g in got])) for key in got[0]}
        spread = {key: float(np.std([g[key] for g in got])) for key in got[0]}
        moved = {key: np.array([g[key] - g[f"origin {key}"] for g in got]) for key in INDICES}
        interval = {}
        if draws := self._draws(name) or (request.seeds if seeds < request.seeds else 0):
            origins = [self.origin(name, request.seed + k) for k in range(draws)]
            for key in INDICES:
                before = np.array([one[key] for one in origins])
                mean[f"origin {key}"], spread[f"origin {key}"] = float(before.mean()), float(before.std())
                interval[f"origin {key}"] = half_width(spread[f"origin {key}"], draws)
                mean[key], interval[key] = centred(before, moved[key])
        origin = {key: mean[f"origin {key}"] for key in INDICES}
        half = {key: paired_half(moved[key]) for key in INDICES}
        return MethodResult(name, method, mean, spread, origin, paper, seeds, half, interval)

    def _draws(self, name: str) -> int:
        """Of how many draws of people the origin row of a setting is, if of more than there are seeds; else 0."""
        more = name in OTHER_PEOPLE and not self.request.quick and 1 < self.request.seeds < self.draws
        return self.draws if more else 0

    def origin(self, name: str, seed: int) -> dict[str, float]:
        """The three indices of a draw of people before anybody acts."""
        decides = {"setting": name, "seed": seed, "n": self.request.n}
        return self.checkpoints.numbers(
            f"{name}-origin-{seed}", decides, lambda: self.study(name, seed).origin
        )

    def lines(self, name: str, methods: Sequence[str]) -> list[MethodResult]:
        """The origin row and all methods of a setting."""
        paper = BY_METHOD.get(name, {})
        out: list[MethodResult] = []
        with self.show(f"{name}: methods", len(methods)) as tick:
            for method in methods:
                out.append(self.line(name, method, paper.get(method, {})))
                tick(len(out))
        return [self.origin_of(out[0], paper.get("origin", {})), *out]

    @staticmethod
    def origin_of(line: MethodResult, paper: Mapping[str, float]) -> MethodResult:
        """The origin row of the setting of a line."""
        spread = {key: line.spread[f"origin {key}"] for key in INDICES}
        interval = {
            key: line.interval[f"origin {key}"] for key in INDICES if f"origin {key}" in line.interval
        }
        return MethodResult(
            line.setting, "origin", line.origin, spread, line.origin, paper, line.seeds, interval=interval
        )

    def measure(self, name: str) -> Page:
        """Measure one table, or draw one figure; the theorems' checks stand under figure 1."""
        what, place = name.split("-")
        number, file = int(place), self.request.file(name)
        lines: list[MethodResult] = []
        checks: Sequence[Check] = ()
        drawn: tuple[str, ...] = ()
        if what == "table":
            lines = self._table(number)
            checks = tables.checks_of(number, lines)
        elif number == 1:
            drawn, checks = figures.rectangles(self.request.out, file), [*tables.theorems(), toy.check()]
        else:
            it = self.study("synthetic", self.request.seed)
            ends = {method: answer(method, it) for method in _FIGURE_2}
            drawn = figures.people(it, ends, self.request.out, file)
        rows = tuple(row for line in lines for row in line.rows())
        return Page(self.paper, file, "", rows, tuple(checks), self._provenance(lines), drawn)

    def _table(self, number: int) -> list[MethodResult]:
        if number == 1:
            return self.lines("synthetic", (*METHODS, *OURS))
        if number == 4:
            return self.lines("german-causal", ("causal",))
        if number == 5:
            out: list[MethodResult] = []
            with self.show("synthetic: beta", len(BY_BETA)) as tick:
                for method, paper in BY_BETA.items():
                    out.append(self.line("synthetic", method, paper))
                    tick(len(out))
            return out
        names = REAL if number != 2 else ("german-sex", "gmc-age")
        chosen = [n for n in names if not self.request.datasets or n in self.request.datasets]
        return [line for n in chosen for line in self.lines(n, METHODS[:-1])]

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with a table for each setting, verdicts and text."""
        name, made = page.stem, page.provenance
        what, number = name.split("-")
        alone = number == "3"  # of Table 6's numbers: invalidation
        kept = [row for row in page.rows if not alone or row["measure"] == "invalid"]
        lines = tables.results(kept, made["origin"])
        if number in ("1", "2", "5", "6"):  # from the rows, which do not say what a single seed does
            rest = tables.of_means(lines)
            again = (*(tables.others(rest) if number in ("2", "6") else ()), *tables.orders(rest))
            more = {check.name: check for check in again}
            page = replace(page, checks=(*(c for c in page.checks if c.name not in more), *more.values()))
        deviations = f"## Deviations\n\n{DEVIATIONS[name]}\n" if name in DEVIATIONS else ""
        return replace(
            page,
            title=f"{what.capitalize()} {number}. {(TABLES if lines else FIGURES)[int(number)]}",
            rows=tuple(row for line in lines for row in line.rows()),
            intro=f"{PAPER} {_over(made)}, paper first, ours second."
            if alone
            else _table_intro(made, min(line.seeds for line in lines))
            if lines
            else PAPER,
            tolerance=tables.tolerance(alone) if lines else "No tolerance: there are no numbers to compare.",
            tables=tables.tables(lines, made["refused people a run"], alone),
            notes=deviations + made_in(made),
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row for each measure."""
        shown = ("setting", "method", "measure", "paper", "ours", "verdict")
        rows = [[row[name] for name in shown] for row in page.rows]
        cells = [
            [f"{v:.4f}" if isinstance(v, float) else str("" if v is None else v) for v in row] for row in rows
        ]
        return shown, cells

    def _provenance(self, lines: Sequence[MethodResult]) -> dict[str, Any]:
        settings = dict.fromkeys(line.setting for line in lines)
        stages = self.checkpoints.seconds.items()
        methods = [line for line in lines if line.method != "origin"]
        refused = {
            name: float(np.mean([line.mean["refused"] for line in methods if line.setting == name]))
            for name in settings
        }
        return {
            **self.request.to_dict(),
            "code": code_version(self.decides),
            "parameters": {f"{one.setting} {one.method}": _form(one.setting, one.method) for one in methods},
            "people": {name: self._people(name) for name in settings},
            "radius": "the origin's",
            "draws of people": {name: self._draws(name) or self.request.seeds for name in settings},
            "refused people a run": refused,
            "origin": {line.setting: dict(line.origin) for line in lines},
            "seconds_of_stages": sum(s for key, s in stages if key.startswith(tuple(settings))),
        }

    def _people(self, name: str) -> dict[str, str]:
        """A digest of everybody's rows, labels and groups, for each seed."""
        seeds = range(self.request.seed, self.request.seed + self.request.seeds)
        some = {f"seed {k}": self.study(name, k) for k in seeds}
        return {key: fingerprint(it.x, it.y, it.groups.member) for key, it in some.items()}


def paired_half(differences: np.ndarray) -> float:
    """(s,) differences -> half of the 95 % interval of their mean; inf for a single one."""
    return half_width(float(differences.std()), len(differences))


def centred(before: np.ndarray, moved: np.ndarray) -> tuple[float, float]:
    """Mean of an index after advice and half of its 95 % interval, when the origin is known from more draws.

    before (N,): the origin of every draw of people. moved (s,): how far advice moves it in the first s of them. The
    mean is that of both added: it does not hang on which people the few draws hold that a method was asked for.
    """
    of, few = len(before), len(moved)
    shared = float(np.cov(before[:few], moved)[0, 1])
    variance = before.var(ddof=1) / of + moved.var(ddof=1) / few + 2 * shared / of
    half = half_width(math.sqrt(max(variance, 0.0) * (few - 1)), few)  # Student's t of the fewer draws
    return float(before.mean() + moved.mean()), half


def _form(name: str, method: str) -> str:
    """The settings of a method in words, so that other settings are measured anew."""
    return repr(method_of(method, replace(study("synthetic", 0, 40), name=name)))


def _over(made: Mapping[str, Any]) -> str:
    return f"Means over {made['seeds']} seeds" if made["seeds"] > 1 else "One seed"


def _table_intro(made: Mapping[str, Any], ours: int) -> str:
    """ours: of how many seeds lines are that the paper has not."""
    seeds, n = made["seeds"], made["n"]
    over = _over(made)
    if ours < seeds:
        over += f" ({ours} in lines of ours)"
    spread = ", ± the spread over seeds" if seeds > 1 else ""
    chance = (
        "; with a °, within chance (the 95 % interval of the difference, by seed, contains 0)"
        if seeds > 1
        else ""
    )
    draws = max(made.get("draws of people", {}).values(), default=seeds)
    more = (
        f" On Law and GMC, where each draw is of other people, the origin is the mean over {draws} draws of people; "
        f"an index after advice is that and the mean change over the {seeds} seeds, and its interval has both errors."
        if draws > seeds
        else ""
    )
    return (
        f"{PAPER} {over} (draw of people, classifier, method), paper first, ours second{spread}.{more} "
        f"**Bold**: more segregated than the origin{chance}. "
        f"Centralization and Atkinson: higher is more segregated; proximity: lower is. At most {n:,} people a run. "
        f"The radius of a neighbourhood is {made.get('radius', _OWN)}."
    )
