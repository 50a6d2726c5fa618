"""The synthetic set as the public notebook ran it: its data and indices, EBR, IBR, two baselines; twenty draws.

Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, and the public
notebook beside it (facts only).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from wayforward.errors import DataError
from wayforward_studies.balanced import as_run_pages as layout
from wayforward_studies.balanced.as_run_methods import METHODS, TRIED, counted
from wayforward_studies.balanced.as_run_people import TRAINING, drawn_people
from wayforward_studies.balanced.published import BY_METHOD
from wayforward_studies.checkpoints import code_version
from wayforward_studies.pages import Page, Row
from wayforward_studies.replication import Replication, Request, at_least, known, made_in

PAGES = ("as-run",)
DRAWS, FEW = 20, 3  # draws of the methods, and of what was tried besides


@dataclass(frozen=True)
class AsRunRequest(Request):
    """The synthetic set as run. seeds: draws of everything; seed: the first, 0 as in the notebook."""

    extras: tuple[str, ...] = PAGES
    seeds: int = DRAWS
    out: Path = Path("docs/replication/balanced")

    def __post_init__(self) -> None:
        known("extra page", self.extras, PAGES)
        known("data set", self.datasets, ("synthetic",))
        at_least(1, seeds=self.seeds)
        if self.n is not None:
            raise DataError(
                "The page 'as-run' has the notebook's 800 people. Leave --n out; --seeds 2 is a quick look."
            )

    @property
    def pages(self) -> tuple[str, ...]:
        """The one page."""
        return self.extras

    @property
    def quick(self) -> bool:
        """Fewer draws than the page in the docs?"""
        return self.seeds < DRAWS


@dataclass
class AsRunReplication(Replication):
    """The page 'as-run'."""

    paper: ClassVar[str] = "balanced"
    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = (
        "balanced/as_run_methods.py", "balanced/as_run_nets.py", "balanced/as_run_people.py",
    )  # fmt: skip
    subfolder: ClassVar[str] = "balanced-as-run"
    request: AsRunRequest

    def one(self, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method in one draw; of the origin where the method is 'origin'."""

        def make() -> dict[str, float]:
            people = drawn_people(seed)
            x, group = people.x[:TRAINING], people.group[:TRAINING]
            if method == "origin":
                return {
                    f"{way} {name}": value
                    for way in ("notebook", "ours")
                    for name, value in people.indices(x, group, way).items()
                } | {"M": float((group == 0).sum()), "refused": float(people.refused.sum())}
            end, about = (METHODS | TRIED)[method](people)
            return counted(people, end) | {f"about {name}": value for name, value in about.items()}

        stage = f"{method}-{seed}".replace(" ", "_").replace(",", "").replace("/", "_")
        return self.checkpoints.numbers(stage, {"method": method, "seed": seed}, make)

    def draws(self, method: str, n: int) -> list[dict[str, float]]:
        """The numbers of the first n draws."""
        return [self.one(method, self.request.seed + k) for k in range(n)]

    def measure(self, name: str) -> Page:
        """Measure every method over the draws."""
        request = self.request
        few = min(FEW, request.seeds)
        names = ["origin", *METHODS, *TRIED]
        got: dict[str, list[dict[str, float]]] = {}
        with self.show("as-run: methods", len(names)) as tick:
            for done, method in enumerate(names, 1):
                got[method] = self.draws(method, few if method in TRIED else request.seeds)
                tick(done)
        ours = _table_1(request.out)
        rows: list[Row] = []
        for method in ("origin", *METHODS):
            rows += layout.rows("as-run", method, got[method], got["origin"], ours.get(method, {}))
        for method in ("ibr", "ebr", *TRIED):  # over the same draws
            rows += layout.rows("tried", method, got[method][:few], got["origin"], {})
        about = {
            method: {
                key: [one[key] for one in got[method]] for key in got[method][0] if key.startswith("about ")
            }
            for method in names
        }
        made: dict[str, Any] = {
            **{key: value for key, value in request.to_dict().items() if key != "extras"},
            "people a seed": TRAINING,
            "draws of what was tried": few,
            "code": code_version(self.decides),
            "about": about,
            "fewer of M refused": [self._fewer(request.seed + k) for k in range(request.seeds)],
            "centralization": {
                name: [one["ours centralization"] for one in got[name]] for name in ("ibr", "ebr")
            },
            "M": [one["M"] for one in got["origin"]],
            "refused": [one["refused"] for one in got["origin"]],
            "seconds_of_stages": sum(self.checkpoints.seconds.values()),
        }
        return Page(
            self.paper, request.file(name), layout.TITLE, tuple(rows), layout.checks(rows, made), made
        )

    @staticmethod
    def _fewer(seed: int) -> bool:
        """Are fewer of M than of F refused?"""
        people = drawn_people(seed)
        return bool(people.group[:TRAINING][people.refused].mean() > 0.5)

    @classmethod
    def repeated(cls, page: Page, folder: Path) -> Page:
        """With the numbers of Table 1."""
        ours = _table_1(folder)
        rows = (
            {**row, "table 1": ours.get(row["method"], {}).get(row["measure"])}
            if (row["kind"], row["counted"]) == ("as-run", "ours")
            else row
            for row in page.rows
        )
        return replace(page, rows=tuple(rows))

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its tables."""
        made = page.provenance
        return replace(
            page,
            title=layout.TITLE,
            intro=layout.intro(made),
            tolerance=layout.tolerance(),
            tables=layout.tables(page.rows, made),
            notes=layout.notes(page.rows, made) + made_in(made),
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """None: the tables are wide."""
        return (), ()


def _table_1(folder: Path) -> Mapping[str, Mapping[str, float]]:
    """The numbers of Table 1 in our setting, from its page in the folder; none where it is not there."""
    file = folder / "table-1.json"
    out: dict[str, dict[str, float]] = {}
    for row in Page.read(file).rows if file.exists() else ():
        if row["ours"] is not None and row["method"] in BY_METHOD["synthetic"]:
            out.setdefault(row["method"], {})[row["measure"]] = row["ours"]
    return out
