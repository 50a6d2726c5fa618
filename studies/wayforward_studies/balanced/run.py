"""Everybody follows the advice: are the groups further apart afterwards? Tables and figures of balanced recourse.

Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from wayforward.errors import DataError
from wayforward_studies.balanced.deviations import DEVIATIONS
from wayforward_studies.balanced.measures import METHODS, OURS, answer, measured, method_of
from wayforward_studies.balanced.published import BY_BETA, BY_METHOD, INDICES, MEASURES
from wayforward_studies.balanced.setting import MOST, REAL, SETTINGS, Study, study
from wayforward_studies.checkpoints import Kept, Show, code_version, fingerprint, quiet
from wayforward_studies.findings import Check, findings
from wayforward_studies.writing import csv_text, plain, put

#: Modules that decide a kept stage, beside the package's.
DECIDES = ("balanced/measures.py", "balanced/setting.py")

TABLES = {
    1: "Synthetic set",
    2: "German by sex and GMC by age",
    3: "Invalidation",
    4: "Causal recourse on German",
    5: "Ablation over beta",
    6: "Every real setting",
}
FIGURES = {1: "The theorems in the world of rectangles", 2: "Where the synthetic people go"}
#: How far a mean may lie from the paper's and still be called the same.
TOLERANCE = {
    "centralization": 0.01,
    "atkinson": 0.02,
    "proximity": 0.01,
    "cost": 0.05,
    "gap": 0.02,
    "ynn": 0.1,
    "invalid": 0.02,
    "increases": 0.0,
}
PAPER = "Replicates R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML."
_MEANING = {-1: "lower", 1: "higher"}
#: Which direction is good; the others are only told.
_BETTER = {
    "centralization": -1,
    "atkinson": -1,
    "proximity": 1,
    "cost": -1,
    "gap": -1,
    "ynn": 1,
    "invalid": -1,
    "increases": -1,
}


@dataclass(frozen=True)
class Request:
    """What to measure. Nothing named: everything. n: people of a run at most, 10,000 as in the paper."""

    tables: tuple[int, ...] = ()
    figures: tuple[int, ...] = ()
    datasets: tuple[str, ...] = ()
    n: int = MOST
    seeds: int = 5
    seed: int = 0
    out: Path = Path("docs/replication/balanced")
    cache: Path | None = None

    def __post_init__(self) -> None:
        for what, known, asked in (("table", TABLES, self.tables), ("figure", FIGURES, self.figures)):
            for number in asked:
                if number not in known:
                    raise DataError(
                        f"The paper has no {what} {number} of ours. Choose one of {', '.join(map(str, known))}."
                    )
        for name in self.datasets:
            if name not in SETTINGS:
                raise DataError(f"The study has no data set '{name}'. Choose one of {', '.join(SETTINGS)}.")
        if not self.tables and not self.figures:
            object.__setattr__(self, "tables", tuple(TABLES))
            object.__setattr__(self, "figures", tuple(FIGURES))
        for what, number, least in (("n", self.n, 40), ("seeds", self.seeds, 1)):
            if number < least:
                raise DataError(f"{what}={number} leaves too little to measure. Use {least} or more.")

    @property
    def quick(self) -> bool:
        """Fewer people than published?"""
        return self.n < MOST


@dataclass(frozen=True)
class Line:
    """A method in a setting: means over the seeds, their spread, and what the paper prints.

    half: half of the 95 % interval (Student's t) of each index's difference from the origin, paired by seed.
    """

    setting: str
    method: str
    mean: Mapping[str, float]
    spread: Mapping[str, float]
    origin: Mapping[str, float]
    paper: Mapping[str, float]
    seeds: int
    half: Mapping[str, float] = field(default_factory=dict)

    @property
    def chance(self) -> tuple[str, ...]:
        """Worse indices whose difference from the origin may be chance: its interval contains 0, or there is none."""
        off = {name: abs(self.mean[name] - self.origin[name]) for name in self.worse}
        return tuple(name for name in off if not off[name] > self.half.get(name, np.inf))

    @property
    def worse(self) -> tuple[str, ...]:
        """Indices whose mean over the seeds is worse than the origin's, as the paper counts them."""
        return tuple(
            name
            for name in INDICES
            if name in self.mean and _BETTER[name] * (self.mean[name] - self.origin[name]) < -1e-12
        )

    def verdict(self, name: str) -> str:
        """'same', or whether ours is lower or higher than printed by more than the tolerance; '' without a number."""
        if name not in self.paper or not np.isfinite(self.mean.get(name, np.nan)):
            return ""
        off = self.mean[name] - self.paper[name]
        return "same" if abs(off) <= TOLERANCE[name] else _MEANING[1 if off > 0 else -1]


@dataclass(frozen=True)
class Page:
    """A table or a figure as it was written."""

    name: str
    title: str
    lines: tuple[Line, ...]
    checks: tuple[Check, ...]
    files: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "lines": rows(self.lines),
            "findings": [{"name": c.name, "measured": c.measured, "verdict": c.verdict} for c in self.checks],
            "files": list(self.files),
            "seconds": self.seconds,
        }


@dataclass
class Replication:
    """The whole study; stages are kept in `request.cache`."""

    request: Request
    show: Show = quiet
    kept: Kept = field(init=False)
    _studies: dict[tuple[str, int], Study] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.kept = Kept(None if self.request.cache is None else self.request.cache / "balanced", own=DECIDES)

    def pages(self) -> list[Page]:
        """Everything that was asked for, written."""
        return [self.table(number) for number in self.request.tables] + [
            self.figure(number) for number in self.request.figures
        ]

    def study(self, name: str, seed: int) -> Study:
        """A setting, made once; the last few are held."""
        if (name, seed) not in self._studies:
            while len(self._studies) > 8:
                self._studies.pop(next(iter(self._studies)))
            self._studies[name, seed] = study(name, seed, self.request.n)
        return self._studies[name, seed]

    def one(self, name: str, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, np.ndarray]:
            it = self.study(name, seed)
            return {key: np.array(value) for key, value in measured(it, *answer(method, it)).items()}

        decides = {
            "setting": name,
            "method": method,
            "seed": seed,
            "n": self.request.n,
            "form": _form(name, method),
        }
        stage = f"{name}-{method}-{seed}".replace(" ", "_").replace("=", "_")
        return {key: float(value) for key, value in self.kept.arrays(stage, decides, make).items()}

    def line(self, name: str, method: str, paper: Mapping[str, float]) -> Line:
        """A method in a setting, over the seeds."""
        request = self.request
        got = [self.one(name, method, request.seed + k) for k in range(request.seeds)]
        mean = {key: float(np.mean([g[key] for g in got])) for key in got[0]}
        spread = {key: float(np.std([g[key] for g in got])) for key in got[0]}
        origin = {key: mean[f"origin {key}"] for key in INDICES}
        apart = {key: np.array([g[key] - g[f"origin {key}"] for g in got]) for key in INDICES}
        half = {key: paired_half(apart[key]) for key in INDICES}
        return Line(name, method, mean, spread, origin, paper, request.seeds, half)

    def _people(self, name: str) -> dict[str, str]:
        """A digest of everybody's rows, labels and groups, for each seed."""
        seeds = range(self.request.seed, self.request.seed + self.request.seeds)
        some = {f"seed {k}": self.study(name, k) for k in seeds}
        return {key: fingerprint(it.x, it.y, it.groups.member) for key, it in some.items()}

    def lines(self, name: str, methods: Sequence[str]) -> list[Line]:
        """The origin row and all methods of a setting."""
        out: list[Line] = []
        with self.show(f"{name}: methods", len(methods)) as tick:
            for i, method in enumerate(methods):
                out.append(self.line(name, method, BY_METHOD.get(name, {}).get(method, {})))
                tick(i + 1)
        first = out[0]
        origin = Line(
            name,
            "origin",
            first.origin,
            {key: first.spread[f"origin {key}"] for key in INDICES},
            first.origin,
            BY_METHOD.get(name, {}).get("origin", {}),
            first.seeds,
        )
        return [origin, *out]

    def table(self, number: int) -> Page:
        """Measure and write one table."""
        from wayforward_studies.balanced.tables import causal_lines, checks_of

        started = time.perf_counter()
        if number == 1:
            lines = self.lines("synthetic", (*METHODS, *OURS))
        elif number == 4:
            lines = causal_lines(self)
        elif number == 5:
            with self.show("synthetic: beta", len(BY_BETA)) as tick:
                lines = []
                for i, (method, paper) in enumerate(BY_BETA.items()):
                    lines.append(self.line("synthetic", method, paper))
                    tick(i + 1)
        else:
            names = REAL if number != 2 else ("german-sex", "gmc-age")
            chosen = [n for n in names if not self.request.datasets or n in self.request.datasets]
            lines = [line for n in chosen for line in self.lines(n, METHODS[:-1])]
        return self._write(f"table-{number}", TABLES[number], lines, checks_of(number, lines), [], started)

    def figure(self, number: int) -> Page:
        """Draw one figure; the theorems' checks stand under figure 1."""
        from wayforward_studies.balanced import figures
        from wayforward_studies.balanced.tables import theorems

        started = time.perf_counter()
        name = f"figure-{number}"
        self.request.out.mkdir(parents=True, exist_ok=True)
        if number == 1:
            drawn = figures.rectangles(self.request.out, name)
            checks = theorems()
        else:
            it = self.study("synthetic", self.request.seed)
            ends = {
                m: answer(m, it) for m in ("ibr", "ebr", "c-chvae", "growing-spheres", "wachter", "cruds")
            }
            drawn = figures.people(it, ends, self.request.out, name)
            checks = []
        return self._write(name, FIGURES[number], [], checks, drawn, started)

    def _write(
        self,
        name: str,
        title: str,
        lines: Sequence[Line],
        checks: Sequence[Check],
        drawn: Sequence[str],
        started: float,
    ) -> Page:
        from wayforward.methods.base import versions
        from wayforward_studies.balanced.tables import markdown

        request = self.request
        out = request.out
        out.mkdir(parents=True, exist_ok=True)
        called = name + ("-quick" if request.quick else "")
        files = [*drawn, f"{called}.md", f"{called}.json", *([f"{called}.csv"] if lines else [])]
        seconds = time.perf_counter() - started
        page = Page(called, title, tuple(lines), tuple(checks), tuple(files), seconds)
        heading = f"# {name.replace('-', ' ').capitalize()}: {title}"
        text = [heading, "", _about(request, bool(lines)), ""]
        text += [f"![{title}]({d})" for d in drawn if d.endswith(".svg")]
        text += [markdown(lines)] if lines else [""]
        if checks:
            text += ["## Findings", findings(checks)]
        if name in DEVIATIONS:
            text += ["## Deviations", "", DEVIATIONS[name]]
        put(out / f"{called}.md", "\n".join(text))
        if lines:
            put(out / f"{called}.csv", csv_text(rows(lines)))
        told = {
            **page.to_dict(),
            "provenance": {
                **{key: value for key, value in asdict(request).items() if key not in ("out", "cache")},
                "code": code_version(self.kept.own),
                "parameters": {
                    f"{one.setting} {one.method}": _form(one.setting, one.method)
                    for one in lines
                    if one.method != "origin"
                },
                "people": {one: self._people(one) for one in dict.fromkeys(line.setting for line in lines)},
                "versions": versions(),
                "seconds_of_stages": sum(
                    value
                    for key, value in self.kept.seconds.items()
                    if any(key.startswith(line.setting) for line in lines)
                ),
            },
        }
        told.pop("seconds")
        put(out / f"{called}.json", json.dumps(plain(told), indent=1) + "\n")
        return page


def paired_half(differences: np.ndarray) -> float:
    """(s,) differences -> half of the 95 % interval of their mean; inf for a single one."""
    n = len(differences)
    if n < 2:
        return float("inf")
    return float(student.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))


def _form(name: str, method: str) -> str:
    """The settings of a method in words, so that other settings are measured anew."""
    return repr(method_of(method, replace(study("synthetic", 0, 40), name=name)))


def _about(request: Request, table: bool) -> str:
    if not table:
        return f"{PAPER} Made with the command `wayforward replicate balanced`."
    look = f"{PAPER} " + ("**A quick look**, no replication. " if request.quick else "")
    one = request.seeds == 1
    over = "One seed" if one else f"Means over {request.seeds} seeds"
    spread = "" if one else ", ± the spread over seeds"
    chance = (
        "" if one else "; with a °, within chance (the 95 % interval of the difference, by seed, contains 0)"
    )
    return (
        f"{look}{over} (draw of people, classifier, method), paper first, ours second{spread}. "
        f"**Bold**: worse than the origin{chance}. "
        "Centralization and Atkinson: higher is more segregated; proximity: lower is. "
        f"At most {request.n:,} people a run."
    )


def rows(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """One row for each line and measure."""
    out = []
    for line in lines:
        for name in MEASURES:
            if name == "increases" and line.method == "origin":
                continue
            value = float(len(line.worse)) if name == "increases" else line.mean.get(name, np.nan)
            if name not in line.mean and name not in line.paper:
                continue
            out.append(
                {
                    "setting": line.setting,
                    "method": line.method,
                    "measure": name,
                    "paper": line.paper.get(name),
                    "ours": value,
                    "spread": line.spread.get(name, np.nan),
                    "half_of_paired_interval": line.half.get(name, np.nan),
                    "seeds": line.seeds,
                    "verdict": "" if name == "increases" else line.verdict(name),
                }
            )
    return out
