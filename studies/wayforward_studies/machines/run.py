"""Are numbers the same on another machine? Small tables under the kernels of others: `wayforward replicate machines`.

A processor decides which instructions a library uses, and with them the order of sums; that of another machine can be
asked for in a process of its own.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from wayforward.errors import MethodError
from wayforward_studies.checkpoints import code_version
from wayforward_studies.machines.profiles import PROFILES, Profile
from wayforward_studies.machines.tables import SMALL, Measured, Small
from wayforward_studies.overview import flips, turned
from wayforward_studies.pages import Line, Page, Row, Table, plain
from wayforward_studies.replication import Replication, Request, at_least, made_in
from wayforward_studies.verdicts import Check

PAGES = ("kernels",)


@dataclass(frozen=True)
class MachinesRequest(Request):
    """n: people of each table at most; None: as many as the page in the docs has. seed: of every table."""

    out: Path = Path("docs/replication/machines")

    def __post_init__(self) -> None:
        at_least(1, n=self.n)

    @property
    def pages(self) -> tuple[str, ...]:
        """Always the one."""
        return PAGES


@dataclass
class MachinesReplication(Replication):
    """The page 'kernels'. profiles: the first is what the others are compared with. small: the tables."""

    paper: ClassVar[str] = "machines"
    decides: ClassVar[tuple[str, ...]] = ("machines/profiles.py", "machines/tables.py")
    subfolder: ClassVar[str] = "machines"
    request: MachinesRequest
    profiles: tuple[Profile, ...] = PROFILES
    small: Mapping[str, Small] = field(default_factory=lambda: SMALL)

    def measure(self, name: str) -> Page:
        """Measure every table under every profile, a process for each, and compare."""
        with TemporaryDirectory() as folder:
            found = {}
            with self.show("profiles", len(self.profiles)) as tick:
                for profile in self.profiles:
                    found[profile.name] = self.under(profile, Path(folder))
                    tick(len(found))
            works = {key: self._work(key, Path(folder)) for key in self.small}
        first = found[self.profiles[0].name]
        rows = tuple(
            {"table": key, "title": self.small[key].title, "profile": profile.name}
            | compared(type(works[key]), first[key], found[profile.name][key])
            for key in self.small
            for profile in self.profiles[1:]
            if key in found[profile.name]
        )
        made = {
            "seed": self.request.seed,
            "n": {key: self._people(key) for key in self.small},
            "profiles": [_used(profile, found[profile.name]) for profile in self.profiles],
            "seconds_of_stages": sum(one.seconds for tables in found.values() for one in tables.values()),
        }
        return Page(self.paper, self.request.file(name), TITLE, rows, (), made)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its tables and findings."""
        made = page.provenance
        return replace(
            page,
            title=TITLE,
            checks=tuple(_checks(page.rows)),
            tables=tuple(_tables(page.rows, made)),
            intro=_INTRO,
            tolerance=_TOLERANCE,
            notes=f"{_NOTES}{_lacking(page.rows, made)}\n\n{made_in(made)}",
        )

    def _people(self, key: str) -> int:
        most = self.small[key].n
        return most if self.request.n is None else min(most, self.request.n)

    def _work(self, key: str, folder: Path) -> Replication:
        return self.small[key].make(self._people(key), self.request.seed, None, folder)

    def under(self, profile: Profile, spare: Path) -> dict[str, Measured]:
        """Every table under a profile; those that are not stored yet are measured in one process.

        The first profile writes the classifier that the others read for tables with a fixed one. spare: a folder for
        what is not stored. Raises: MethodError with what a process that failed said last.
        """
        first, seed = self.profiles[0], self.request.seed
        tasks, files = [], {}
        for key, small in self.small.items():
            if profile.tables and key not in profile.tables:
                continue
            version = code_version(self._work(key, spare).decides)
            decides = [first.variables, profile.variables, key, self._people(key), seed, version]
            name = f"{profile.name}-{key}".replace(" ", "-")
            files[key] = self.checkpoints.file(name, decides, ".json") or spare / f"{name}.json"
            weights = self.checkpoints.file("classifier", [first.variables, seed, version], "")
            weights = weights or spare / f"classifier-{version}"
            lost = profile == first and small.fixed and not weights.exists()
            if lost or not files[key].exists():
                shared = str(weights) if small.fixed or profile == first else None
                tasks.append([key, self._people(key), seed, shared, str(files[key])])
        if tasks:
            command = [sys.executable, "-m", "wayforward_studies.machines.tables", json.dumps(tasks)]
            got = subprocess.run(
                command,
                env=profile.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            if got.returncode:
                raise MethodError(
                    f"The tables could not be measured under '{profile.name}': {got.stderr.strip()[-600:]}"
                )
        return {key: Measured.read(file) for key, file in files.items()}


def compared(work: type[Replication], first: Measured, other: Measured) -> Row:
    """Count the numbers of two measurements of a table that are not the same bits, and what follows from that.

    other_digits: those that differ in the six digits of a page. tolerances: the largest difference of a judged number,
    in units of its tolerance; None where nothing is judged.
    """
    pairs = list(_pairs(first.page.rows, other.page.rows))
    apart = [(a, b) for a, b in pairs if a != b and not (math.isnan(a) and math.isnan(b))]
    pages = [_as_shown(work, one.page) for one in (first, other)]
    cells = [[c for t in page.tables for line in t.lines for c in line.cells] for page in pages]
    steps = [
        abs(a.ours - b.ours) / a.tolerance
        for a, b in zip(*cells, strict=True)
        if a.tolerance and math.isfinite(a.ours) and math.isfinite(b.ours)
    ]
    judged, lines = flips(*pages)
    found = turned(*pages)
    return {
        "numbers": len(pairs),
        "other_bits": len(apart),
        "other_digits": sum(plain(a) != plain(b) for a, b in apart),
        "relative": max((abs(a - b) / max(abs(a), abs(b)) for a, b in apart), default=0.0),
        "tolerances": max(steps, default=None),
        "judged": judged,
        "verdicts_otherwise": sum(line.count(" then ") for line in lines),
        "findings": sum(not check.aim for check in pages[0].checks),
        "findings_otherwise": len(found),
        "which": "; ".join([*lines, *found]),
        "refused_first": first.refused,
        "refused": other.refused,
        "same_weights": None if first.weights is None else first.weights == other.weights,
    }


def _pairs(rows: Iterable[Row], others: Iterable[Row]) -> Iterator[tuple[float, float]]:
    """The numbers of two measurements, place by place; NaN where one has none."""
    for row, other in zip(rows, others, strict=True):
        for name, value in row.items():
            both = (value, other[name])
            if any(isinstance(one, (int, float)) and not isinstance(one, bool) for one in both):
                a, b = (math.nan if one is None else float(one) for one in both)
                yield a, b


def _as_shown(work: type[Replication], page: Page) -> Page:
    """The page as it would be written: numbers of six digits, laid out."""
    rows = tuple(plain(row) for row in page.rows)
    return work.laid_out(replace(page, rows=rows, provenance=plain(page.provenance)))


def _used(profile: Profile, tables: Mapping[str, Measured]) -> dict[str, Any]:
    """A profile with the kernels that its processes report, which are the same for every table."""
    kernels = [dict(one.kernels) for one in tables.values()]
    if any(one != kernels[0] for one in kernels):
        raise MethodError(f"The processes of '{profile.name}' report different kernels: {kernels}.")
    return {
        "name": profile.name,
        "switched": profile.switched,
        "variables": dict(profile.variables),
        "kernels": kernels[0],
        "seconds": sum(one.seconds for one in tables.values()),
    }


def _tables(rows: Sequence[Row], made: Mapping[str, Any]) -> Iterator[Table]:
    layers = list(made["profiles"][0]["kernels"])
    yield Table(
        ("profile", "what is switched", *layers, "processor seconds"),
        tuple(
            Line((one["name"], one["switched"], *one["kernels"].values(), f"{one['seconds']:.0f}"))
            for one in made["profiles"]
        ),
        "Profiles",
        "What each process reports of itself.",
    )
    by: dict[str, dict[str, Row]] = {}
    for row in rows:
        by.setdefault(row["title"], {})[row["profile"]] = row
    names = [one["name"] for one in made["profiles"][1:]]
    yield Table(
        ("table", "numbers", *names),
        tuple(
            Line(
                (title, str(next(iter(here.values()))["numbers"]), *(_cell(here.get(name)) for name in names))
            )
            for title, here in by.items()
        ),
        "Numbers that differ",
        f"How many of a table's numbers differ from those under *{made['profiles'][0]['name']}* in the six digits that "
        "pages hold; in brackets the largest difference of a judged number in units of its tolerance; then how many "
        "verdicts and findings are otherwise. *last bits*: beyond the sixth digit only. Empty: not measured.",
    )
    asked = [row for row in rows if row["refused"] is not None]
    if asked:
        yield Table(
            ("table", "this machine", *names),
            tuple(
                Line((title, *_refused(here, names)))
                for title, here in by.items()
                if all(row["refused"] is not None for row in here.values())
            ),
            "Refused people of Loan's test split",
            "And whether the classifier's weights are the same bits.",
        )


def _lacking(rows: Sequence[Row], made: Mapping[str, Any]) -> str:
    """What the command measures and the page does not hold, in a sentence."""
    tables, profiles = {row["table"] for row in rows}, {one["name"] for one in made["profiles"]}
    lost = [small.title for key, small in SMALL.items() if key not in tables]
    lost += [f"*{profile.name}*" for profile in PROFILES if profile.name not in profiles]
    return f" Not measured yet (nor where a table is empty): {'; '.join(lost)}." if lost else ""


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if not row["other_bits"]:
        return "same bits"
    if not row["other_digits"]:
        return f"last bits of {row['other_bits']}"
    largest = f"{row['relative']:.1g} relative" if row["tolerances"] is None else f"{row['tolerances']:.2g}"
    flipped = row["verdicts_otherwise"] + row["findings_otherwise"]
    return f"{row['other_digits']} ({largest})" + (f"; {flipped} otherwise" if flipped else "")


def _refused(here: Mapping[str, Row], names: Sequence[str]) -> Iterator[str]:
    yield f"{next(iter(here.values()))['refused_first']:,}"
    for row in map(here.get, names):
        same = "same" if row and row["same_weights"] else "other"
        yield f"{row['refused']:,}, {same} weights" if row else ""


def _checks(rows: Sequence[Row]) -> Iterator[Check]:
    again = [row for row in rows if row["profile"] == PROFILES[1].name]
    other = sum(row["other_bits"] for row in again)
    yield Check(
        "measured again",
        "the same kernels give the same bits",
        other == 0,
        f"{other} of {sum(row['numbers'] for row in again):,} numbers have other bits",
        aim=True,
    )
    for key, what in (("verdicts_otherwise", "verdict"), ("findings_otherwise", "finding")):
        turned = [row for row in rows if row[key]]
        asked = "judged" if what == "verdict" else "findings"
        yield Check(
            f"no {what} changes",
            f"under other kernels every {what} is the same",
            not turned,
            f"{sum(row[key] for row in turned)} of {sum(row[asked] for row in rows):,}"
            + "".join(f"; {row['title']}, *{row['profile']}*: {row[key]}" for row in turned),
            aim=True,
        )
    given = [row for row in rows if row["table"] in ("icarma-fixed", "icarma-released")]
    trained = [row for row in rows if row["table"] == "icarma-trained"]
    if given and trained:
        yield Check(
            "training is the cause",
            "the oracle's numbers differ where its classifier is trained, and in no digit of a page where it is given",
            not any(row["other_digits"] for row in given) and any(row["other_digits"] for row in trained),
            "; ".join(
                f"{name}: {sum(row['other_digits'] for row in some)} of {sum(row['numbers'] for row in some):,}, "
                f"{sum(row['other_bits'] for row in some)} in bits"
                for name, some in (("given", given), ("trained", trained))
            ),
            aim=True,
        )


TITLE = "The same numbers under the kernels of other machines"
_INTRO = (
    "Which instructions a numerical library uses hangs on the processor, and with them the order in which it sums and "
    "how it rounds. Small tables (few people, one or two seeds) are measured in processes whose libraries are told to "
    "use the kernels of other processors: all of them together, and one layer at a time where digits differ."
)
_TOLERANCE = (
    "Tolerance: that of each table's own page; differences are in units of it. Findings are aims of ours."
)
_NOTES = """\
What it means, paper by paper:

- **iCARMA.** With a given classifier no digit of a page hangs on the machine; where one is trained, torch's kernels
  give it other weights and a few people are refused or not. Why a table of 100 people then moves so far: wishes are
  drawn by place, so one more person who is refused gives everybody behind another wish. It is a new draw of 100
  people, whose chance is five times that of the page's 2,369.
- **Balanced recourse.** No mean of the table and no verdict hangs on the machine, though some of its methods train
  networks: one spread or half width of 347 numbers differs by a millionth.
- **HARE.** The base's plans are the same in every digit. What is asked and chosen after them is not: with twenty people
  GTP, direction and proximity move by up to half a tolerance, and no verdict changes. torch has no part in it, nor
  have compiled searches; each of the other layers alone suffices.
- **The study.** Only last bits differ: no digit of its page hangs on the machine.
- **PEAR.** In eight of nine settings no digit differs. Where the lender knows no edge of the graph, the regret of four
  people differs by a fifth from the first plan on: there the page's third digit is chance. No finding changes.

Which numbers are judged otherwise stands in the CSV. Not measured: other operating systems, other versions of the
libraries, other kinds of processors (ARM)."""
