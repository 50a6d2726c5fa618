"""A cause, tested: the tables if an autoencoder says nothing about people and leads everybody to one place.

The public notebook's does so on the synthetic set. A decoder that hears nothing of a person gives the mean of those
whom it was trained on: of everybody (IBR, which hides the group), of the own group (C-CHVAE, which shows it), of the
own group's accepted (CRUDS, which asks for the label, too). Only numbers move; who is refused there, stays.

Source of the numbers beside: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation,
ICML, Tables 1 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wayforward_studies.balanced.extra import ExtraReplication, ExtraRequest
from wayforward_studies.balanced.measures import measured
from wayforward_studies.balanced.published import BY_METHOD
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import BalancedStudy
from wayforward_studies.balanced.tables import MethodResult

PAGES = ("one-place",)
#: Method -> whether its decoder sees the group, and whether it asks for the favourable label.
HEARD: Mapping[str, tuple[bool, bool]] = {
    "ibr": (False, False),
    "c-chvae": (True, False),
    "cruds": (True, True),
}


@dataclass(frozen=True)
class OnePlaceRequest(ExtraRequest):
    """seeds: draws of people and classifier. n: people a run."""

    offered: ClassVar[tuple[str, ...]] = PAGES


@dataclass
class OnePlaceReplication(ExtraReplication):
    """The page 'one-place'."""

    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = (*BalancedReplication.decides, "balanced/one_place.py")
    title: ClassVar[str] = "Everybody to one place: what an autoencoder does that says nothing about people"
    intro: ClassVar[str] = (
        "No method: the mean of everybody's numbers in place of IBR, of the own group's in place of C-CHVAE, of the "
        "own group's people with the favourable label in place of CRUDS; categories stay, and so does whom the "
        "classifier refuses there. Beside what the paper prints for those methods, to see which of its numbers an "
        "autoencoder explains that gives means, as the public notebook's does on the synthetic set "
        "([as run](as-run.md)). Whether the paper's did, no public source says. Means over {seeds} seeds, paper first."
    )

    def one(self, name: str, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, float]:
            it = self.study(name, seed)
            return measured(it, *to_one_place(it, method))

        stage = f"one-place-{name}-{method}-{seed}"
        return self.checkpoints.numbers(stage, [name, method, seed, self.request.n], make)

    def lines_of(self, setting: str) -> list[MethodResult]:
        """The three methods that have a decoder."""
        return [self.line(setting, m, BY_METHOD[setting][m]) for m in HEARD]


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
