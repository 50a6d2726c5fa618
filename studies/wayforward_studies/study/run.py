"""Simulate the published study many times and analyse each as the paper does: `wayforward replicate study`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward_studies.pages import Page
from wayforward_studies.replication import Replication, Request, at_least
from wayforward_studies.study import figures, tables
from wayforward_studies.study.published import DISTANCES, MODELS, OUTCOMES

PAGES = ("table-s2", "figure-1", "figure-3")
#: Where curves are read. Beyond these few plans lie, and not in every study.
GRID = {"sparsity": np.arange(1.0, 12.5, 0.5), "proximity": np.arange(0.25, 8.01, 0.25)}
BINS = {"sparsity": np.arange(0.5, 17), "proximity": np.arange(0.0, 12.01, 0.5)}


@dataclass(frozen=True)
class StudyRequest(Request):
    """n: participants of a study. seeds: studies."""

    n: int = 362
    seeds: int = 40
    out: Path = Path("docs/replication/study")

    def __post_init__(self) -> None:
        at_least(20, n=self.n)
        at_least(2, seeds=self.seeds)

    @property
    def quick(self) -> bool:
        """Fewer participants than the study had, or too few studies to say what is chance."""
        return self.n < 362 or self.seeds < 20

    @property
    def pages(self) -> tuple[str, ...]:
        """Always all."""
        return PAGES


@dataclass
class StudyReplication(Replication):
    """Simulated studies, each analysed once for all pages."""

    paper: ClassVar[str] = "study"
    decides: ClassVar[tuple[str, ...]] = ("study/run.py",)
    subfolder: ClassVar[str] = "study"
    request: StudyRequest
    _seconds: float = field(default=0.0, repr=False)
    _simulated: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def measure(self, name: str) -> Page:
        """One page, from all simulated studies."""
        studies, request, file = self.studies(), self.request, self.request.file(name)
        made = {**request.to_dict(), "seconds_of_stages": self._seconds}
        rows, found = tables.MEASURED[name](studies, GRID, BINS)
        drawn = figures.DRAWN[name](rows, request.out, file) if name in figures.DRAWN else ()
        return Page(self.paper, file, tables.TITLES[name], tuple(rows), tuple(found), made, drawn)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its tables and texts."""
        return tables.laid_out(page)

    def studies(self) -> dict[str, np.ndarray]:
        """Every array of `simulated`, one study after another along the first axis."""
        if not self._simulated:
            parts = []
            with self.show("studies", self.request.seeds) as tick:
                for k in range(self.request.seeds):
                    seed = self.request.seed + k
                    decides = {"n": self.request.n, "seed": seed}
                    make = partial(simulated, self.request.n, seed)
                    parts.append(self.checkpoints.arrays(f"study-{seed}", decides, make))
                    tick(k + 1)
            self._seconds = sum(self.checkpoints.seconds.values())
            self._simulated = {key: np.stack([part[key] for part in parts]) for key in parts[0]}
        return self._simulated


def simulated(participants: int, seed: int) -> dict[str, np.ndarray]:
    """Simulate and analyse one study.

    numbers (4, 7) as `published.NUMBERS`; p (4, 3) of curve, levels and slopes; curve-OUTCOME-X (3, g): value and 95 %
    band along `GRID`, NaN where no plan lies; count-X and span-X of the distances shown; left: ratings analysed;
    rich: profiles of the pool above 13 million yen.
    """
    import pandas as pd

    from wayforward.study import analyse, simulate_study
    from wayforward.study.population import draw_shown

    table = simulate_study(participants, seed=seed)
    models = analyse(pd.DataFrame(table), OUTCOMES, DISTANCES, impossible="impossible").models
    out = {
        "numbers": np.array([_numbers(models[key]) for key in MODELS]),
        "p": np.array([[term.p for term in models[key].terms] for key in MODELS]),
        "left": np.array((table["impossible"] == 0).sum()),
        "rich": np.array((draw_shown(participants, np.random.default_rng(seed)).pool_income >= 13).sum()),
    }
    for outcome, x in MODELS:
        model, at = models[outcome, x], GRID[x]
        inside = (at >= model.x.min()) & (at <= model.x.max())
        line = np.full((3, len(at)), np.nan)
        curve = model.curve(at[inside])
        line[:, inside] = curve.value, curve.low, curve.high
        out[f"curve-{outcome}-{x}"] = line
    for x in DISTANCES:
        values = table[x].astype(float)
        out[f"count-{x}"] = np.histogram(values, BINS[x])[0]
        out[f"span-{x}"] = np.array([values.min(), values.max()])
    return out


def _numbers(model: Any) -> Sequence[float]:
    value, error, _, _ = model.intercept
    curve, level, slope = model.terms
    return value, error, curve.edf, curve.statistic, level.edf, slope.edf, model.aic
