"""Pages of the papers that first described methods, of which public records state numbers; one page a paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from wayforward_studies.checkpoints import Checkpoints
from wayforward_studies.firsts.published import ORIGINALS
from wayforward_studies.pages import Page, stem
from wayforward_studies.replication import Replication, Request, at_least, known

SEEDS = 5


@dataclass(frozen=True)
class OriginalsRequest(Request):
    """extras: the pages. n: people at most; left out: as many as the paper. seeds: of all that is drawn."""

    extras: tuple[str, ...] = ()
    seeds: int = SEEDS
    out: Path = Path("docs/replication/originals")

    def __post_init__(self) -> None:
        known("page", self.extras, (*ORIGINALS, "all"))
        at_least(1, n=self.n, seeds=self.seeds)

    @property
    def quick(self) -> bool:
        """Fewer people or seeds than the page in the docs?"""
        return self.n is not None or self.seeds < SEEDS

    @property
    def pages(self) -> tuple[str, ...]:
        """Those asked for; nothing named: all."""
        asked = [name for name in self.extras if name != "all"]
        return tuple(asked) if asked and "all" not in self.extras else tuple(ORIGINALS)


@dataclass
class OriginalsReplication(Replication):
    """A page for each original paper."""

    paper: ClassVar[str] = "originals"
    decides: ClassVar[tuple[str, ...]] = tuple(
        module for one in ORIGINALS.values() for module in one.decides
    )  # of all pages; a stage hangs on its page's alone
    subfolder: ClassVar[str] = "originals"
    request: OriginalsRequest

    def measure(self, name: str) -> Page:
        """Measure a page's numbers in all its ways, seed by seed."""
        request, one = self.request, ORIGINALS[name]
        store = self.checkpoints = Checkpoints(self.checkpoints.folder, own=one.decides)
        n = one.n if request.n is None else request.n
        got = []
        with self.show(name, request.seeds) as tick:
            for seed in range(request.seed, request.seed + request.seeds):
                got.append(store.numbers(f"{name}-{seed}", [seed, n], partial(one.measured, seed, n)))
                tick(len(got))
        rows = tuple(one.rows(got))
        named = {number.key(way) for number in one.numbers for way in one.ways}
        means = {key: sum(seed[key] for seed in got) / len(got) for key in got[0] if key not in named}
        made = {
            "seeds": request.seeds, "seed": request.seed, "n": n, "means": means,
            "seconds_of_stages": sum(store.seconds.values()),
        }  # fmt: skip
        return Page(self.paper, request.file(name), one.title, rows, (), made)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its tables and texts."""
        return ORIGINALS[stem(page.name)].laid_out(page)
