"""A measured page: its tables, findings and files, written as Markdown, CSV and JSON and read again."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.errors import FileFormatError
from wayforward.plain_files import make_folder, read_json, write_text, written
from wayforward_studies.verdicts import Cell, Check, Verdict, counted, of_all

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]  # flat, plain data: one line of the CSV


@dataclass(frozen=True)
class Line:
    """One line of a table. shown: its cells as text. cells: the numbers that are judged.

    note: in the verdict's place. kind: what it is counted among. names: of the numbers that are judged, if not clear.
    """

    shown: tuple[str, ...]
    cells: tuple[Cell, ...] = ()
    note: str = ""
    kind: str = "published lines"
    names: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """That of its numbers together; None where nothing is compared."""
        return None if self.note else of_all(self.cells)


@dataclass(frozen=True)
class Table:
    """Lines under heads; `title` and `text` stand above them. A last column with verdicts where there are any.

    beside: another way than the paper's, judged but not counted among its numbers.
    """

    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    title: str = ""
    text: str = ""
    beside: bool = False

    @property
    def judged(self) -> bool:
        """Is there anything to compare with?"""
        return any(line.verdict or line.note for line in self.lines)

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads, with that of the verdicts."""
        return (*self.heads, "verdict") if self.judged else self.heads

    def rows(self) -> list[tuple[str, ...]]:
        """The text of every line."""
        if not self.judged:
            return [line.shown for line in self.lines]
        return [(*line.shown, line.note or line.verdict or "") for line in self.lines]

    def markdown(self) -> list[str]:
        """Its lines of Markdown."""
        out = [f"## {self.title}", ""] if self.title else []
        out += [self.text, ""] if self.text else []
        return [*out, *grid(self.columns, self.rows()), ""]


@dataclass(frozen=True)
class Page:
    """One table or figure of a study, measured.

    rows: flat, for CSV and JSON. findings, figures (file names), provenance: what it was made of. The rest is laid out
    from these (`Replication.laid_out`), so that a page can be written again from its JSON: tables, intro and notes
    (Markdown above and below them), and tolerance, in a sentence.
    """

    paper: str
    name: str
    title: str
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    provenance: Mapping[str, Any]
    figures: tuple[str, ...] = ()
    tables: tuple[Table, ...] = field(default=())
    tolerance: str = ""
    intro: str = ""
    notes: str = ""

    @property
    def quick(self) -> bool:
        """Is it a look at fewer people or seeds than the study has?"""
        return self.name.endswith("-quick")

    @property
    def stem(self) -> str:
        """Its name, whichever seeds it was measured with and however quickly."""
        return stem(self.name)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of everything that `write` and the figures leave in the folder."""
        endings = ("csv", "md", "json") if self.rows else ("md", "json")
        return (*(f"{self.name}.{ending}" for ending in endings), *self.figures)

    @property
    def _kinds(self) -> dict[str, dict[str, int]]:
        """How many lines are within, better, worse, undecided, by what they are."""
        words: dict[str, list[Verdict]] = {}
        for table in self.tables:
            for line in table.lines:
                if line.verdict is not None:
                    words.setdefault(line.kind, []).append(line.verdict)
        order = sorted(words, key=lambda kind: not kind.startswith("published"))
        return {kind: counted(words[kind]) for kind in order}

    @property
    def counts(self) -> dict[str, int]:
        """How many lines are within, better, worse, undecided; those of a second kind under its name."""
        return {
            word if i == 0 else f"{kind} {word}": n
            for i, (kind, counts) in enumerate(self._kinds.items())
            for word, n in counts.items()
        }

    @property
    def summary(self) -> str:
        """The counts in a sentence for each kind."""
        return " ".join(
            f"Of {sum(counts.values())} {kind}, {counts['within']} are within the tolerance, {counts['better']} "
            f"better, {counts['worse']} worse and {counts['undecided']} undecided."
            for kind, counts in self._kinds.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "paper": self.paper,
            "name": self.name,
            "title": self.title,
            "tolerance": self.tolerance,
            "lines": list(self.rows),
            "counts": self.counts,
            "findings": [check.to_dict() for check in self.checks],
            "files": list(self.files),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def read(cls, file: Path) -> Page:
        """The page of a JSON file, not laid out. Raises: FileFormatError where it is none."""
        with read_from(file):
            data = read_json(file)
            found = tuple(Check.from_dict(one) for one in data["findings"])
            drawn = tuple(name for name in data["files"] if name.endswith((".svg", ".png")))
            return cls(
                data["paper"], data["name"], data["title"], tuple(data["lines"]), found, data["provenance"], drawn
            )  # fmt: skip

    def markdown(self) -> str:
        """The page as it stands in the docs."""
        out = [f"# {self.title}", ""]
        if self.quick:
            made = self.provenance
            people = next(made[name] for name in ("people asked", "people a seed", "n") if name in made)
            each = (
                f" for each of {made['seeds']} seeds"
                if made.get("people a seed") and made["seeds"] > 1
                else ""
            )
            out += [f"**A quick look at {people:,} people{each}, not the replication.**", ""]
        out += [part + "\n" for part in (self.intro, self.tolerance, self.summary) if part]
        for table in self.tables:
            out += table.markdown()
        if self.checks:
            found = [(c.name, c.statement, c.measured, c.verdict) for c in self.checks]
            out += ["## Findings", "", *grid(("finding", "as stated", "measured", "verdict"), found), ""]
        for name in self.figures:
            if name.endswith(".svg"):
                out += [f"```{{image}} {name}", f":alt: {self.title}", "```", ""]
        out += [self.notes, ""] if self.notes else []
        data = f"{{download}}`CSV <{self.name}.csv>`, " if self.rows else ""
        out += [f"All numbers: {data}{{download}}`JSON with the provenance <{self.name}.json>`.", ""]
        return "\n".join(out)

    def write(self, folder: Path) -> None:
        """Write Markdown, CSV (where there are rows) and JSON."""
        make_folder(folder)
        text = self.markdown()  # before anything is written
        if self.rows:
            write_text(folder / f"{self.name}.csv", csv_text(self.rows))
        write_text(folder / f"{self.name}.md", text)
        indent = 1 if len(self.rows) < 600 else None
        write_text(
            folder / f"{self.name}.json",
            json.dumps(plain(self.to_dict()), indent=indent, allow_nan=False) + "\n",
        )


@contextmanager
def read_from(file: Path) -> Iterator[None]:
    """Whatever a page's JSON that was edited raises is a FileFormatError that names the file."""
    try:
        yield
    except (
        OSError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        StopIteration,
    ) as error:
        raise FileFormatError(
            f"'{file.name}' is no page of a study ({error}). Measure it again, without --render."
        ) from None


def stem(name: str) -> str:
    """The name of a page as `Request.pages` has it: without other seeds and 'quick'."""
    return re.sub(r"(-seed-\d+)?(-quick)?$", "", name)


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    out = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return out + ["| " + " | ".join(row) + " |" for row in rows]


def save(figure: Figure, folder: Path, name: str) -> tuple[str, ...]:
    """Write SVG and PNG without dates, so that the same numbers give the same files. Returns the names."""
    import matplotlib

    make_folder(folder)
    with (
        matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}),
        written(folder / f"{name}.svg") as half,
    ):
        figure.savefig(half, format="svg", metadata={"Date": None, "Creator": None}, dpi=110)
    with written(folder / f"{name}.png") as half:
        figure.savefig(half, format="png", metadata={"Software": None}, dpi=110)
    return f"{name}.svg", f"{name}.png"


def csv_text(data: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, with every key that one has; numbers with six digits, nothing for NaN and None."""
    text = io.StringIO()
    names = list(dict.fromkeys(key for row in data for key in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) for k, v in row.items()} for row in data)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return "" if value is None else value


def plain(value: Any) -> Any:
    """What JSON can hold; NaN becomes null and numbers keep six digits."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return str(value)


def number(value: float | None) -> float:
    """A number of a row; NaN where JSON has null."""
    return math.nan if value is None else float(value)
