"""GMC and Law with the people that the public code takes: their indices before anybody acts.

Facts, not code, of the public code beside R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social
Segregation, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward_studies.balanced import tables
from wayforward_studies.balanced.published import BY_METHOD, INDICES
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import AS_RUN, MOST
from wayforward_studies.balanced.tables import MethodResult
from wayforward_studies.pages import Page
from wayforward_studies.replication import Request, at_least, known, made_with

PAGES = ("as-run-tables",)
SEEDS = 5


@dataclass(frozen=True)
class AsRunTablesRequest(Request):
    """seeds: draws of people, classifier and method. n: people a run."""

    extras: tuple[str, ...] = PAGES
    seeds: int = SEEDS
    n: int = MOST
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        known("extra page", self.extras, PAGES)
        at_least(40, n=self.n)
        at_least(1, seeds=self.seeds)

    @property
    def pages(self) -> tuple[str, ...]:
        """The one page."""
        return self.extras

    @property
    def quick(self) -> bool:
        """Fewer people or draws than the page in the docs?"""
        return self.n < MOST or self.seeds < SEEDS


@dataclass
class AsRunTablesReplication(BalancedReplication):
    """The page 'as-run-tables'."""

    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    request: Any

    def measure(self, name: str) -> Page:
        """Measure the origin row of every setting."""
        request = self.request
        lines, people = [], {}
        with self.show("as run", len(AS_RUN)) as tick:
            for setting, paper in AS_RUN.items():
                got = [self.study(setting, request.seed + k) for k in range(request.seeds)]
                mean = {key: float(np.mean([one.origin[key] for one in got])) for key in INDICES}
                spread = {key: float(np.std([one.origin[key] for one in got])) for key in INDICES}
                stated = BY_METHOD[paper]["origin"]
                lines.append(MethodResult(setting, "origin", mean, spread, mean, stated, request.seeds))
                people[setting] = self._people(setting)
                tick(len(lines))
        rows = tuple(row for line in lines for row in line.rows())
        made = {key: value for key, value in request.to_dict().items() if key != "extras"}
        made |= {"origin": {line.setting: dict(line.origin) for line in lines}, "people": people}
        return Page(self.paper, request.file(name), _TITLE, rows, (), made)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with a table for each setting."""
        made = page.provenance
        lines = tables.results(page.rows, made["origin"])
        return replace(
            page,
            title=_TITLE,
            intro=INTRO.format(seeds=made["seeds"]),
            tolerance=tables.tolerance(),
            tables=tables.tables(lines, {}),
            notes=f"{NOTES}{made_with(made)}.",
        )


_TITLE = "Origin rows with the people that the public code takes: GMC and Law"
INTRO = (
    "GMC: missing rows dropped, then whoever is three deviations or more from the mean in any of the ten features, "
    "which leaves exactly the paper's 115,527 people; groups cut at the median age (51); a yes is no delinquency. Law: "
    "the four features LSAT, UGPA, ZFYA and Sander index, sex and race (White or other), a yes is the bar passed; no "
    "region, which the code makes constant. 10,000 a run, numbers over [0, 1] of those, of whom the 75 % that the "
    "classifier is trained on are counted. Means over {seeds} draws, paper first."
)
NOTES = """\
The indices before anybody acts hang on no method and on no classifier. The methods of [Table 6](table-6.md) were not
run on these people: the public code has no script of its Law data and none that finds IBR's answers.

"""
