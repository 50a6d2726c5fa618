"""Beyond the paper: balance as an option, people who do not follow, more than two groups, rules and personal limits.

Four pages, resumable like the tables: 'options', 'compliance', 'groups' and 'limits'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from wayforward.errors import DataError
from wayforward_studies.balanced import beyond_measures as measures
from wayforward_studies.balanced import beyond_pages as layout
from wayforward_studies.balanced import beyond_people as people
from wayforward_studies.balanced.beyond_measures import AtBeta
from wayforward_studies.balanced.beyond_results import LIMITS, BeyondResult, results
from wayforward_studies.balanced.setting import BalancedStudy
from wayforward_studies.pages import Page
from wayforward_studies.replication import Replication, Request, at_least, known, made_in

PAGES = ("options", "compliance", "groups", "limits")
SETTINGS = ("synthetic", "law-race", "compas-race", "german-sex", "gmc-age")
PEOPLE, SEEDS = 2000, 3
_METHODS = ("local-search", "nice", "carma", "icarma", "c-chvae", "ibr")
_BETAS = (None, 0.1, 0.3)
_NEAREST, _BALANCED, _EBR, _IBR = (
    AtBeta("local-search"),
    AtBeta("local-search", 0.3),
    AtBeta("ebr", 0.3),
    AtBeta("ibr"),
)
_METHODS_OF: Mapping[str, tuple[AtBeta, ...]] = {
    "options": (*(AtBeta(m, b) for m in _METHODS for b in _BETAS), AtBeta("ebr", 0.1), _EBR),
    "compliance": (_NEAREST, _BALANCED, _EBR, _IBR, AtBeta("c-chvae")),
    "groups": (_NEAREST, _BALANCED, _EBR, _IBR),
    "limits": (_NEAREST, _BALANCED, AtBeta("icarma", 0.3), _EBR, _IBR),
}
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "options": SETTINGS,
    "compliance": ("synthetic", "compas-race", "german-sex"),
    "groups": tuple(people.MANY),
    "limits": ("synthetic", "compas-race", "law-race", "german-sex"),
}


@dataclass(frozen=True)
class BeyondRequest(Request):
    """What to measure beyond the paper. Nothing named: every page. n: people of a setting at most."""

    extras: tuple[str, ...] = PAGES
    n: int = PEOPLE
    seeds: int = SEEDS
    seed: int = 0
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        if "all" in self.extras:
            object.__setattr__(self, "extras", PAGES)
        known("extra page", self.extras, (*PAGES, "all"))
        for name in self.extras:
            if self.datasets and not self.settings(name):
                raise DataError(
                    f"The page '{name}' has none of {', '.join(self.datasets)}. Choose of {', '.join(_SETTINGS[name])}."
                )
        at_least(60, n=self.n)
        at_least(1, seeds=self.seeds)

    @property
    def pages(self) -> tuple[str, ...]:
        """The extra pages."""
        return self.extras

    def settings(self, page: str) -> tuple[str, ...]:
        """The settings of a page that were asked for."""
        return tuple(s for s in _SETTINGS[page] if not self.datasets or s in self.datasets)

    @property
    def quick(self) -> bool:
        """Fewer people or seeds than the pages in the docs?"""
        return self.n < PEOPLE or self.seeds < SEEDS


@dataclass
class BeyondReplication(Replication):
    """The four pages beyond the paper."""

    paper: ClassVar[str] = "balanced"
    decides: ClassVar[tuple[str, ...]] = tuple(
        f"balanced/{name}.py" for name in ("beyond_measures", "beyond_people", "measures", "setting")
    )
    subfolder: ClassVar[str] = "balanced-beyond"
    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    request: BeyondRequest

    def measure(self, name: str) -> Page:
        """Measure one page and draw its figure."""
        lines, file = self.lines(name), self.request.file(name)
        draw = layout.FIGURES.get(name)
        drawn = () if draw is None else draw(lines, self.request.out, file)
        made = {key: value for key, value in self.request.to_dict().items() if key != "extras"}
        made["seconds_of_stages"] = sum(self.checkpoints.seconds.values())
        rows = tuple(row for line in lines for row in line.rows())
        return Page(self.paper, file, layout.TITLES[name], rows, layout.checks(name, lines), made, drawn)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with a table for each setting."""
        name, made = page.stem, page.provenance
        return replace(
            page,
            intro=layout.intro(name, made),
            tolerance=layout.TOLERANCE,
            tables=layout.tables(name, results(page.rows)),
            notes=made_in(made),
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """None: the tables are wide."""
        return (), ()

    def lines(self, page: str) -> list[BeyondResult]:
        """Every line of a page, seed after seed within a setting, so that a study is made once."""
        request, parts = self.request, LIMITS if page == "limits" else ("",)
        stages = [
            (setting, method, part, seed)
            for setting in request.settings(page)
            for seed in range(request.seed, request.seed + request.seeds)
            for part in parts
            for method in _METHODS_OF[page]
        ]
        got: dict[tuple[str, AtBeta, str], list[dict[str, float]]] = {}
        with self.show(f"{page}: methods", len(stages)) as tick:
            for done, (setting, method, part, seed) in enumerate(stages, 1):
                one = self.one(page, setting, method, part, seed)
                got.setdefault((setting, method, part), []).append(one)
                tick(done)
        return [BeyondResult.over(*key, each) for key, each in got.items()]

    def one(self, page: str, setting: str, method: AtBeta, part: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, np.ndarray]:
            it = people.named(f"{setting}, rules" if page == "limits" else setting, seed, self.request.n)
            of_page: Mapping[str, Callable[[BalancedStudy, AtBeta], dict[str, float]]] = {
                "options": measures.option,
                "compliance": measures.followed,
                "groups": measures.grouped,
            }
            if page == "limits":
                wishes = people.wished(it) if part == LIMITS[1] else None
                found = measures.limited(it, method, wishes)
            else:
                found = of_page[page](it, method)
            return {key: np.array(value) for key, value in found.items()}

        form = repr(method.made(people.named("synthetic", 0, self.request.n)))
        decides = {
            "page": page, "setting": setting, "way": method.name, "part": part, "seed": seed, "n": self.request.n,
            "form": form, "rules": people.RULES.get(setting), "version": 1,
        }  # fmt: skip
        stage = f"{page}-{setting}-{method.name}-{part}-{seed}".replace(" ", "_").replace(",", "")
        return {key: float(value) for key, value in self.checkpoints.arrays(stage, decides, make).items()}
