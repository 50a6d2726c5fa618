"""A cause, tested: the tables if an autoencoder says nothing about people and leads everybody to one place.

The public notebook's does so on the synthetic set. A decoder that hears nothing of a person gives the mean of those
whom it was trained on: of everybody (IBR, which hides the group), of the own group (C-CHVAE, which shows it), of the
own group's accepted (CRUDS, which asks for the label, too). Only numbers move; who is refused there, stays.

Source of the numbers beside: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation,
ICML, Tables 1 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward_studies.balanced import tables
from wayforward_studies.balanced.measures import measured
from wayforward_studies.balanced.published import BY_METHOD
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import MOST, SETTINGS, BalancedStudy
from wayforward_studies.pages import Page
from wayforward_studies.replication import Request, at_least, known, made_in

PAGES = ("one-place",)
SEEDS = 5
#: Method -> whether its decoder sees the group, and whether it asks for the favourable label.
HEARD: Mapping[str, tuple[bool, bool]] = {
    "ibr": (False, False),
    "c-chvae": (True, False),
    "cruds": (True, True),
}


@dataclass(frozen=True)
class OnePlaceRequest(Request):
    """seeds: draws of people and classifier. n: people a run."""

    extras: tuple[str, ...] = PAGES
    datasets: tuple[str, ...] = ()
    seeds: int = SEEDS
    n: int = MOST
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        known("extra page", self.extras, PAGES)
        known("data set", self.datasets, SETTINGS)
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
class OnePlaceReplication(BalancedReplication):
    """The page 'one-place'."""

    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = (*BalancedReplication.decides, "balanced/one_place.py")
    request: Any

    def one(self, name: str, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, np.ndarray]:
            it = self.study(name, seed)
            return {key: np.array(value) for key, value in measured(it, *to_one_place(it, method)).items()}

        stage = f"one-place-{name}-{method}-{seed}"
        got = self.checkpoints.arrays(stage, [name, method, seed, self.request.n], make)
        return {key: float(value) for key, value in got.items()}

    def measure(self, name: str) -> Page:
        """Measure every setting."""
        request = self.request
        settings = request.datasets or SETTINGS
        lines = []
        with self.show("one place", len(settings)) as tick:
            for done, setting in enumerate(settings, 1):
                lines += [self.line(setting, m, BY_METHOD[setting][m]) for m in HEARD]
                tick(done)
        rows = tuple(row for line in lines for row in line.rows())
        refused = {line.setting: line.mean["refused"] for line in lines}
        made = {
            **{key: value for key, value in request.to_dict().items() if key != "extras"},
            "refused people a run": refused,
            "origin": {line.setting: dict(line.origin) for line in lines},
            "seconds_of_stages": sum(self.checkpoints.seconds.values()),
        }
        return Page(self.paper, request.file(name), _TITLE, rows, (), made)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with a table for each setting."""
        made = page.provenance
        lines = tables.results(page.rows, made["origin"])
        return replace(
            page,
            title=_TITLE,
            rows=tuple(row for line in lines for row in line.rows()),
            intro=INTRO.format(seeds=made["seeds"]),
            tolerance=tables.tolerance(),
            tables=tables.tables(lines, made["refused people a run"]),
            notes=made_in(made),
        )


def to_one_place(study: BalancedStudy, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(refused (n,), found (n,), everybody afterwards (n, d)) where a method's decoder gives means, see `HEARD`."""
    group, label = HEARD[method]
    x, member = study.x, study.groups.member
    refused = ~study.problem.reached(x)[0]
    free = [j for j in map(study.schema.index, study.keep) if not study.schema.has_levels[j]]
    after = x.copy()
    for g in np.unique(member):
        taught = (study.y == 1) if label else np.ones(len(x), dtype=bool)
        taught &= (member == g) | (not group)
        after[np.ix_(refused & (member == g), free)] = x[np.ix_(taught, free)].mean(0)
    found = refused & study.problem.reached(after)[0]
    return refused, found, np.where(found[:, None], after, x)


_TITLE = "Everybody to one place: what an autoencoder does that says nothing about people"
INTRO = (
    "No method: the mean of everybody's numbers in place of IBR, of the own group's in place of C-CHVAE, of the own "
    "group's people with the favourable label in place of CRUDS; categories stay, and so does whom the classifier "
    "refuses there. Beside what the paper prints for those methods, to see which of its numbers an autoencoder "
    "explains that gives means, as the public notebook's does on the synthetic set ([as run](as-run.md)). Whether the "
    "paper's did, nobody can know. Means over {seeds} seeds, paper first."
)
