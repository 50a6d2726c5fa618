"""What the pages of original papers share: numbers, the ways in which they are measured, and how they are laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wayforward_studies import causes
from wayforward_studies.pages import Line, Page, Row, Table, number
from wayforward_studies.replication import made_in
from wayforward_studies.verdicts import RULE, Cell, half_width, opened

SEPARATOR = " / "


@dataclass(frozen=True)
class Number:
    """A number of the paper. where: what it is of, as `Original.keys` name it. spread: printed beside it."""

    where: tuple[str, ...]
    measure: str
    paper: float
    tolerance: float
    sign: int
    spread: float | None = None

    def key(self, way: str) -> str:
        """What a measured value of it is called."""
        return SEPARATOR.join((*self.where, way, self.measure))


@dataclass(frozen=True)
class Original:
    """One paper's page. ways: how numbers are measured, the first one as the paper did, and what is special in each.

    measured: (seed, people) -> values by `Number.key`, and others that stand in the page's JSON. A way may lack some of
    the numbers. n: people at most; None: everybody. decides: modules that a measurement depends on.
    """

    name: str
    title: str
    intro: str
    tolerance: str
    notes: str
    keys: tuple[str, ...]
    numbers: tuple[Number, ...]
    ways: Mapping[str, str]
    measured: Callable[[int, int | None], Mapping[str, float]]
    decides: tuple[str, ...]
    n: int | None = None
    decimals: Mapping[str, int] = field(default_factory=dict)

    def rows(self, got: Sequence[Mapping[str, float]]) -> Iterator[Row]:
        """A row for each number and way that measures it, from what each seed gave."""
        for place, way in enumerate(self.ways):
            for one in self.numbers:
                values = np.array([seed[one.key(way)] for seed in got if one.key(way) in seed])
                if len(values):
                    yield self._row(one, way, values, beside=place > 0)

    def _row(self, one: Number, way: str, values: np.ndarray, *, beside: bool) -> Row:
        known = values[np.isfinite(values)]
        row: Row = {
            "page": self.name,
            **dict(zip(self.keys, one.where, strict=True)),
            "way": way,
            "beside": beside,
            "measure": one.measure,
            "paper": one.paper,
            "paper_spread": one.spread,
            "tolerance": one.tolerance,
            "sign": one.sign,
            "ours": float(known.mean()) if known.size else float("nan"),
            "spread": float(known.std()) if known.size else float("nan"),
            "seeds": len(known),
        }
        return {**row, "verdict": str(cell(row).verdict), "open": opened({one.measure: cell(row)})}

    def laid_out(self, page: Page) -> Page:
        """The page with its tables and texts, from its rows."""
        made = page.provenance
        tables = [self._counted(page.rows)]
        if len(self.ways) > 1:
            tables.append(self._beside(page.rows))
        told = {**made["means"], "seeds": made["seeds"]}
        page = replace(
            page,
            title=self.title,
            tables=tuple(tables),
            intro=self.intro.format(**told),
            tolerance=f"{self.tolerance} {RULE}",
            notes=f"{self.notes.strip().format(**told)}\n\n{made_in(made)}",
        )
        why = _why(page)
        return replace(page, tables=(*page.tables, why)) if why.lines else page

    def _counted(self, rows: Sequence[Row]) -> Table:
        def line(row: Row) -> Line:
            beside = "" if row["paper_spread"] is None else f" ({self._shown(row, row['paper_spread'])})"
            half = half_width(number(row["spread"]), row["seeds"])
            wide = f" ± {self._shown(row, half)}" if np.isfinite(half) else ""
            shown = (
                *(row[key] for key in self.keys),
                row["measure"],
                self._shown(row, row["paper"]) + beside,
                self._shown(row, row["ours"]) + wide,
                f"{row['tolerance']:.3g}",
            )
            return Line(shown, (cell(row),), kind="published numbers")

        heads = (*self.keys, "number", "paper", "ours", "tolerance")
        return Table(heads, tuple(line(row) for row in rows if not row["beside"]))

    def _beside(self, rows: Sequence[Row]) -> Table:
        measures = tuple(dict.fromkeys(one.measure for one in self.numbers))
        found: dict[tuple[str, ...], dict[str, Row]] = {}
        for row in rows:
            if row["beside"]:
                found.setdefault((row["way"], *(row[key] for key in self.keys)), {})[row["measure"]] = row

        def text(row: Row | None) -> str:
            if row is None:
                return ""
            return f"{self._shown(row, row['ours'])} for {self._shown(row, row['paper'])}; {row['verdict']}"

        lines = tuple(
            Line((*where, *(text(by.get(name)) for name in measures))) for where, by in found.items()
        )
        about = "\n".join(f"- *{way}*: {text}" for way, text in list(self.ways.items())[1:])
        return Table(
            ("way", *self.keys, *measures),
            lines,
            "Other ways",
            f"Judged by the same rule, not counted.\n\n{about}",
            beside=True,
        )

    def _shown(self, row: Row, value: float | None) -> str:
        value = number(value)
        return f"{value:.{self.decimals.get(row['measure'], 2)}f}" if np.isfinite(value) else "none"


def cell(row: Row) -> Cell:
    """A row's number beside the paper's, with the interval of its mean over seeds."""
    ours, half = number(row["ours"]), half_width(number(row["spread"]), row["seeds"])
    return Cell(ours, row["paper"], row["tolerance"], row["sign"], (ours - half, ours + half))


def _why(page: Page) -> Table:
    """What each worse number of a page hangs on."""
    found: dict[tuple[str, str], list[str]] = {}
    for row, measure in causes.worse(page):
        cause = causes.cause_of(page.paper, row, measure)
        word, text = ("none", "none stated") if cause is None else (cause.word, cause.text)
        where = ", ".join(str(value) for value in _where(row))
        found.setdefault((word, text), []).append(f"{where}, {measure}")
    lines = tuple(Line(("; ".join(names), word, text)) for (word, text), names in found.items())
    heads = ("worse numbers", "cause", "which, how it was tested, or what was tried")
    text = (
        "*tested*: with one thing changed, above, the number itself is within the tolerance or better. *in part*: it "
        "moves and is not within, or by another way than the cause names. *unknown*: what was tried did not explain it."
    )
    return Table(heads, lines, causes.TITLE, text)


def _where(row: Row) -> Iterator[Any]:
    names = list(row)
    yield from (row[name] for name in names[1 : names.index("way")])
