"""The real tables as the public code runs them: origin rows, EBR, IBR and baselines, beside the paper and beside ours.

Facts, not code, of the public code beside R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social
Segregation, ICML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward_studies.balanced import tables
from wayforward_studies.balanced.as_run_real import METHODS, TablePeople, counted
from wayforward_studies.balanced.extra import ExtraReplication, ExtraRequest
from wayforward_studies.balanced.published import BY_METHOD
from wayforward_studies.balanced.run import BalancedReplication
from wayforward_studies.balanced.setting import AS_RUN
from wayforward_studies.balanced.tables import MethodResult
from wayforward_studies.pages import Line, Page, Table
from wayforward_studies.replication import made_in

PAGES = ("as-run-tables",)
INTRO = (
    "The settings of [Table 6](table-6.md) with people, classifier and methods as the public code has them (facts from "
    "its code, no code of it), judged by the same rule; paper first. GMC: missing rows dropped, then whoever is three "
    "deviations or more from the mean in any of the ten features, which leaves exactly the paper's 115,527 people; of "
    "age only whether it is above the median (51); a yes is no delinquency. Law: LSAT, UGPA, ZFYA and Sander index "
    "move, sex and race (White or other) do not; a yes is the bar passed; no region, which the code makes constant. "
    "COMPAS and German are not in the public code: their features are those of Table 6, levels of German as ranks, and "
    "the methods are those of Law. 10,000 a run at most, numbers over [0, 1] of those, of whom the 75 % that the "
    "classifier is trained on are counted. Everybody refused goes where the method says, valid or not, and who finds "
    "nothing to the point of zeros; costs and yNN are of all of them. Means over {seeds} draws."
)
_BESIDE = "The verdict of each number as run, then that of the same number on [Table 6](table-6.md)."
NOTES = """\
## What is run

- **Classifier**: one hidden layer of 32, RMSprop at .002, 99 epochs, batches of 1,024, without weights for rare labels.
- **ebr**: a mixture density network (50 centres, layers 16 and 16, 1,000 epochs) of the accepted, given what cannot
  change. For each kind of immutables draws of the own group's density, of which one stays with the chance of the other
  group's density / 20, until 1,000 are there; of those the .6 least likely in both groups go (.7 on GMC), and the
  nearest accepted one is the answer. Where none is accepted, it is the farthest.
- **ibr**: an autoencoder d-256-2 (100 epochs, batches of 32, KL rising to 1) whose decoder sees the immutables but the
  group, paid for the entropy of a discriminator (weight 1; 200 on GMC); shells of width .01 around a person's code, 100
  points each. **c-chvae**: the same with the group, KL rising to .3, 500 epochs, and no discriminator.
- **wachter**: Adam at .01 on cross-entropy and .01 of the L1 change, over *all* columns, to the first row with a yes;
  then what cannot change is put back, as the paper says, so that many rows are invalid. **wachter, within limits**
  moves only what can change, and is judged beside the same numbers. **growing-spheres**: 1,000 points a shell of .2.
- **Not stated, chosen here:** one logit for the classifier; at most 100,000 draws for a kind of people (20,000 on
  German, where nearly everybody is of their own kind); the density network's rate (.001); batches of 128 for c-chvae;
  that shells move the decoder's immutables, too, which are then the person's own; two-valued features as numbers.
- **Not run:** CRUDS, whose losses the public facts leave open, and causal recourse, whose code is not public.
"""


@dataclass(frozen=True)
class AsRunTablesRequest(ExtraRequest):
    """seeds: draws of people, classifier and method. n: people a run."""

    offered: ClassVar[tuple[str, ...]] = PAGES
    settings: ClassVar[tuple[str, ...]] = tuple(AS_RUN)
    full: ClassVar[int] = 3
    seeds: int = 3


@dataclass
class AsRunTablesReplication(ExtraReplication):
    """The page 'as-run-tables'."""

    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = (
        *ExtraReplication.decides,
        *(f"balanced/as_run_{part}.py" for part in ("real", "methods", "nets", "people")),
    )
    title: ClassVar[str] = "The real tables as the public code runs them"
    intro: ClassVar[str] = INTRO
    notes: ClassVar[str] = NOTES

    def people(self, setting: str, seed: int) -> TablePeople:
        """The people of a setting and seed."""
        return TablePeople(self.study(setting, seed))

    def ends(self, method: str, table: str) -> dict[str, np.ndarray]:
        """Where a method leads the refused, by setting and seed: all of a table are answered side by side."""
        request = self.request
        seeds = range(request.seed, request.seed + request.seeds)
        names = [(setting, seed) for setting in AS_RUN if setting.startswith(f"{table}-") for seed in seeds]

        def make() -> dict[str, np.ndarray]:
            got = METHODS[method]([self.people(*name) for name in names])
            return {f"{setting} {seed}": end for (setting, seed), end in zip(names, got, strict=True)}

        stage = f"ends-{table}-{method}".replace(", ", "-").replace(" ", "-")
        return self.checkpoints.arrays(stage, [table, method, request.seed, request.seeds, request.n], make)

    def one(self, name: str, method: str, seed: int) -> dict[str, float]:
        """The numbers of one method, setting and seed."""

        def make() -> dict[str, float]:
            end = self.ends(method, name.split("-")[0])[f"{name} {seed}"]
            return counted(self.people(name, seed), end)

        stage = f"as-run-{name}-{method}-{seed}".replace(", ", "-").replace(" ", "-")
        request = self.request
        return self.checkpoints.numbers(stage, [name, method, seed, request.seeds, request.n], make)

    def lines_of(self, setting: str) -> list[MethodResult]:
        """The origin row and every method."""
        published = BY_METHOD[AS_RUN[setting]]
        lines = [self.line(setting, m, published.get(m.partition(",")[0], {})) for m in METHODS]
        return [self.origin_of(lines[0], published["origin"]), *lines]

    def about(self) -> Mapping[str, Any]:
        """Digests of the people, and the verdicts of Table 6."""
        people = {setting: self._people(setting) for setting in self.request.chosen}
        return {"people": people, "table 6": _table_6(self.request.out)}

    @classmethod
    def repeated(cls, page: Page, folder: Path) -> Page:
        """With the verdicts of Table 6."""
        return replace(page, provenance={**page.provenance, "table 6": _table_6(folder)})

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """A table for each setting, and the verdicts beside those of Table 6."""
        out = super().laid_out(page)
        ours = page.provenance["table 6"]
        measured_lines = tables.results(page.rows, page.provenance["origin"])
        words = {(row["setting"], row["method"], row["measure"]): row["verdict"] for row in out.rows}
        measured = dict.fromkeys((row["setting"], row["method"]) for row in out.rows)
        lines = []
        for setting, method in measured:
            there = f"{AS_RUN[setting]} {method.partition(',')[0]}"
            pairs = [
                f"{words.get((setting, method, m)) or '–'}; {ours.get(f'{there} {m}') or '–'}"
                for m in tables.TOLERANCE
            ]
            lines.append(Line((AS_RUN[setting], method, *pairs)))
        beside = Table(("setting", "method", *tables.HEADS), tuple(lines), "As run, then ours", _BESIDE)
        open_ = [f"{m} on {s}" for s in AS_RUN for m in METHODS if (s, m) not in measured]
        still = f"- **Not measured yet:** {', '.join(open_)}.\n" if open_ else ""
        return replace(
            out,
            checks=tables.nearer(tables.of_means(measured_lines)),
            tables=(*out.tables, beside) if ours else out.tables,
            notes=f"{cls.notes}{still}\n{made_in(page.provenance)}",
        )


def _table_6(folder: Path) -> dict[str, str]:
    """The verdict of each number of Table 6, from its page in the folder; none where it is not there."""
    file = folder / "table-6.json"
    rows = BalancedReplication.laid_out(Page.read(file)).rows if file.exists() else ()
    return {f"{row['setting']} {row['method']} {row['measure']}": row["verdict"] for row in rows}
