"""Beyond the paper: balance as an option, people who do not follow, more than two groups, rules and personal limits.

Four pages, resumable like the tables: 'options', 'compliance', 'groups' and 'limits'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward_studies.balanced import beyond_people as people
from wayforward_studies.balanced import beyond_ways as ways
from wayforward_studies.balanced.beyond_ways import Way
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.balanced.setting import Study, study
from wayforward_studies.checkpoints import Kept, Show, quiet
from wayforward_studies.findings import Check

#: Modules that decide a kept stage, beside the package's.
DECIDES = tuple(f"balanced/{name}.py" for name in ("beyond_people", "beyond_ways", "measures", "setting"))

PAGES = ("options", "compliance", "groups", "limits")
SETTINGS = ("synthetic", "law-race", "compas-race", "german-sex", "gmc-age")
PEOPLE, SEEDS = 2000, 3
_METHODS = ("local-search", "nice", "carma", "icarma", "c-chvae", "ibr")
_BETAS = (None, 0.1, 0.3)
_WAYS: Mapping[str, tuple[Way, ...]] = {
    "options": (*(Way(m, b) for m in _METHODS for b in _BETAS), Way("ebr", 0.1), Way("ebr", 0.3)),
    "compliance": (
        Way("local-search"), Way("local-search", 0.3), Way("ebr", 0.3), Way("ibr"), Way("c-chvae")
    ),
    "groups": (Way("local-search"), Way("local-search", 0.3), Way("ebr", 0.3), Way("ibr")),
    "limits": (Way("local-search"), Way("local-search", 0.3), Way("icarma", 0.3), Way("ebr", 0.3), Way("ibr")),
}  # fmt: skip
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "options": SETTINGS,
    "compliance": ("synthetic", "compas-race", "german-sex"),
    "groups": tuple(people.MANY),
    "limits": ("synthetic", "compas-race", "law-race", "german-sex"),
}
LIMITS = ("rules", "rules and limits")


@dataclass(frozen=True)
class Request:
    """What to measure beyond the paper. Nothing named: every page. n: people of a setting at most."""

    pages: tuple[str, ...] = PAGES
    datasets: tuple[str, ...] = ()
    n: int = PEOPLE
    seeds: int = SEEDS
    seed: int = 0
    out: Path = Path("docs/replication/balanced")
    cache: Path | None = None

    def __post_init__(self) -> None:
        if "all" in self.pages:
            object.__setattr__(self, "pages", PAGES)
        for name in self.pages:
            if name not in PAGES:
                raise DataError(
                    f"The study has no extra page '{name}'. Choose one of {', '.join(PAGES)}, all."
                )
            if self.datasets and not self.settings(name):
                raise DataError(
                    f"The page '{name}' has none of {', '.join(self.datasets)}. Choose of {', '.join(_SETTINGS[name])}."
                )
        for what, number, least in (("n", self.n, 60), ("seeds", self.seeds, 1)):
            if number < least:
                raise DataError(f"{what}={number} leaves too little to measure. Use {least} or more.")

    def settings(self, page: str) -> tuple[str, ...]:
        """The settings of a page that were asked for."""
        return tuple(s for s in _SETTINGS[page] if not self.datasets or s in self.datasets)

    @property
    def quick(self) -> bool:
        """Fewer people or seeds than the pages in the docs?"""
        return self.n < PEOPLE or self.seeds < SEEDS


@dataclass(frozen=True)
class Line:
    """A way in a setting: its mean and its standard deviation over the seeds. part: a group, or what limits people."""

    setting: str
    way: Way
    part: str
    mean: Mapping[str, float]
    spread: Mapping[str, float]
    each: tuple[Mapping[str, float], ...] = field(repr=False, default=())

    def seeds(self, measure: str) -> np.ndarray:
        """(seeds,) of one measure."""
        return np.array([one[measure] for one in self.each])

    @property
    def worse(self) -> list[str]:
        """Indices whose mean over the seeds is worse than before."""
        before = {name: self.mean[f"origin {name}"] for name in INDICES}
        return ways.worse(before, self.mean)


@dataclass(frozen=True)
class Page:
    """A page as it was written."""

    name: str
    title: str
    lines: tuple[Line, ...]
    checks: tuple[Check, ...]
    files: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each line and measure."""
        return [
            {
                "setting": line.setting,
                "method": line.way.method,
                "beta": line.way.beta,
                "part": line.part,
                "measure": name,
                "mean": value,
                "spread": line.spread[name],
                "seeds": len(line.each),
            }
            for line in self.lines
            for name, value in line.mean.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        told = [
            {"name": c.name, "stated": c.statement, "measured": c.measured, "verdict": c.verdict}
            for c in self.checks
        ]
        return {
            "name": self.name,
            "title": self.title,
            "lines": self.rows(),
            "findings": told,
            "files": list(self.files),
        }


@dataclass
class Beyond:
    """Measures and writes the pages of a request; finished stages are kept in `request.cache`."""

    request: Request
    show: Show = quiet
    kept: Kept = field(init=False)
    _studies: dict[tuple[str, int], Study] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        folder = None if self.request.cache is None else self.request.cache / "balanced-beyond"
        self.kept = Kept(folder, own=DECIDES)

    def study(self, name: str, seed: int) -> Study:
        """A setting, made once; the last few are held. 'name, rules' is one under its rules."""
        if (name, seed) not in self._studies:
            while len(self._studies) > 4:
                self._studies.pop(next(iter(self._studies)))
            base, _, rules = name.partition(", ")
            if rules:
                it = people.ruled(self.study(base, seed))
            else:
                many = people.MANY.get(name)
                n = self.request.n
                it = study(name, seed, n) if many is None else many(seed, n)
            self._studies[name, seed] = it
        return self._studies[name, seed]

    def page(self, name: str) -> Page:
        """Measure one page and write its files."""
        from wayforward_studies.balanced import beyond_pages as written

        lines = self.lines(name)
        return written.write(self.request, name, lines, self.kept)

    def lines(self, page: str) -> list[Line]:
        """Every line of a page, seed after seed within a setting, so that a study is made once."""
        request, parts = self.request, LIMITS if page == "limits" else ("",)
        settings, chosen = request.settings(page), _WAYS[page]
        got: dict[tuple[str, Way, str], list[dict[str, float]]] = {}
        with self.show(
            f"{page}: ways to advise", len(settings) * len(chosen) * len(parts) * request.seeds
        ) as tick:
            done = 0
            for setting in settings:
                for seed in range(request.seed, request.seed + request.seeds):
                    for part in parts:
                        for way in chosen:
                            one = self.one(page, setting, way, part, seed)
                            got.setdefault((setting, way, part), []).append(one)
                            done += 1
                            tick(done)
        return [_line(*key, each) for key, each in got.items()]

    def one(self, page: str, setting: str, way: Way, part: str, seed: int) -> dict[str, float]:
        """The numbers of one way, setting and seed."""

        def make() -> dict[str, np.ndarray]:
            it = self.study(f"{setting}, rules" if page == "limits" else setting, seed)
            measure: Mapping[str, Callable[[Study, Way], dict[str, float]]] = {
                "options": ways.option,
                "compliance": ways.followed,
                "groups": ways.grouped,
            }
            if page == "limits":
                wishes = people.wished(it) if part == LIMITS[1] else None
                told = ways.limited(it, way, wishes)
            else:
                told = measure[page](it, way)
            return {key: np.array(value) for key, value in told.items()}

        decides = {
            "page": page, "setting": setting, "way": way.name, "part": part, "seed": seed, "n": self.request.n,
            "form": repr(way.made(self.study("synthetic", 0))), "rules": people.RULES.get(setting), "version": 1,
        }  # fmt: skip
        stage = f"{page}-{setting}-{way.name}-{part}-{seed}".replace(" ", "_").replace(",", "")
        return {key: float(value) for key, value in self.kept.arrays(stage, decides, make).items()}


def _line(setting: str, way: Way, part: str, each: Sequence[dict[str, float]]) -> Line:
    with np.errstate(all="ignore"):
        values = {key: np.array([one[key] for one in each]) for key in each[0]}
        mean = {key: _mean(v) for key, v in values.items()}
        spread = {
            key: float(np.std(v[np.isfinite(v)])) if np.isfinite(v).any() else np.nan
            for key, v in values.items()
        }
    return Line(setting, way, part, mean, spread, tuple(each))


def _mean(values: np.ndarray) -> float:
    """Of the seeds in which there is a number."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan
