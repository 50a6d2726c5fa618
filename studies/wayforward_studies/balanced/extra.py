"""What extra pages of balanced recourse share that have a table like the paper's for each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from wayforward_studies.balanced import tables
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import MOST, SETTINGS
from wayforward_studies.balanced.tables import MethodResult
from wayforward_studies.pages import Page
from wayforward_studies.replication import Request, at_least, known, made_in

SEEDS = 5
MARKS = (
    " ± is the standard deviation over the draws; the interval that judges a number is wider where draws are few "
    "(of three 3 times, of ten .75 times that). **Bold**: more segregated than the origin; with a °, within chance."
)


@dataclass(frozen=True)
class ExtraRequest(Request):
    """One page. seeds: draws of people, classifier and method. n: people a run."""

    settings: ClassVar[tuple[str, ...]] = SETTINGS
    offered: ClassVar[tuple[str, ...]] = ()
    full: ClassVar[int] = SEEDS  # seeds of the page in the docs

    extras: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    seeds: int = SEEDS
    n: int = MOST
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", self.extras or self.offered)
        known("extra page", self.extras, self.offered)
        known("data set", self.datasets, self.settings)
        at_least(40, n=self.n)
        at_least(1, seeds=self.seeds)

    @property
    def pages(self) -> tuple[str, ...]:
        """The one page."""
        return self.extras

    @property
    def chosen(self) -> tuple[str, ...]:
        """The settings that are asked for."""
        return self.datasets or self.settings

    @property
    def quick(self) -> bool:
        """Fewer people or draws than the page in the docs?"""
        return self.n < MOST or self.seeds < self.full


@dataclass
class ExtraReplication(BalancedReplication):
    """A page with a table for each setting; a subclass says which lines stand in it."""

    draws: ClassVar[int] = 0  # an origin row is of the seeds, as its lines are
    title: ClassVar[str]
    intro: ClassVar[str]  # 'seeds' is filled in
    notes: ClassVar[str] = ""
    request: Any

    def lines_of(self, setting: str) -> list[MethodResult]:
        """The lines of one setting."""
        raise NotImplementedError

    def measure(self, name: str) -> Page:
        """Measure every setting."""
        request = self.request
        lines: list[MethodResult] = []
        with self.show(name, len(request.chosen)) as tick:
            for done, setting in enumerate(request.chosen, 1):
                lines += self.lines_of(setting)
                tick(done)
        made = {
            **{key: value for key, value in request.to_dict().items() if key != "extras"},
            "refused people a run": {
                line.setting: line.mean["refused"] for line in lines if "refused" in line.mean
            },
            "origin": {line.setting: dict(line.origin) for line in lines},
            "seconds_of_stages": sum(self.checkpoints.seconds.values()),
            **self.about(),
        }
        rows = tuple(row for line in lines for row in line.rows())
        return Page(self.paper, request.file(name), self.title, rows, (), made)

    def about(self) -> Mapping[str, Any]:
        """More for the provenance."""
        return {}

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with a table for each setting."""
        made = page.provenance
        lines = tables.results(page.rows, made["origin"])
        return replace(
            page,
            title=cls.title,
            rows=tuple(row for line in lines for row in line.rows()),
            intro=cls.intro.format(seeds=made["seeds"]) + (MARKS if made["seeds"] > 1 else ""),
            tolerance=tables.tolerance(),
            tables=tables.tables(lines, made["refused people a run"]),
            notes=cls.notes + made_in(made),
        )
