"""The tables: what the paper states beside what was measured, with a verdict for every line and every finding.

A GTP is compared as such where our base method starts within 15 % of the paper's; elsewhere the share by which asking
lowers it is compared, to 10 points, since people who start elsewhere end elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wayforward_studies.findings import Check, findings
from wayforward_studies.hare.published import (
    BASE,
    COPIED,
    HARE,
    MEASURES,
    MULTI,
    SCALES,
    Case,
    Row,
    Way,
    rows,
)

NEAR, POINTS = 0.15, 0.10
_TIE = 0.01  # the paper prints two digits: what differs by less may be a tie

NAMES = {
    "wachter": "Wachter",
    "growing-spheres": "growing spheres",
    "face": "FACE as published",
    "face-strict": "FACE within limits",
    "c-chvae": "C-CHVAE",
    "clue": "CLUE",
    "cruds": "CRUDS",
}
HEADS = {
    "gtp": "GTP",
    "gtd": "GTD",
    "success": "success",
    "violations": "violations",
    "redundancy": "redundancy",
    "proximity": "proximity",
    "sparsity": "sparsity",
}


@dataclass(frozen=True)
class Value:
    """A mean over seeds of means over people, and its standard deviation over seeds; n: plans in all."""

    mean: float
    spread: float
    n: int

    @classmethod
    def of(cls, seeds: Sequence[np.ndarray]) -> Value:
        """From one array of people for each seed; people without a number are left out."""
        known = [one[~np.isnan(one)] for one in seeds]
        means = np.array([one.mean() if one.size else np.nan for one in known])
        if np.isnan(means).all():
            return cls(float("nan"), float("nan"), 0)
        return cls(float(np.nanmean(means)), float(np.nanstd(means)), int(sum(one.size for one in known)))


@dataclass(frozen=True)
class Line:
    """One line: a case, a way of asking, what was measured, and, where the paper has this line, what it states.

    base: our GTP before anybody was asked; base_paper: the paper's. note: why there is nothing, where there is nothing.
    """

    case: Case
    way: Way
    values: Mapping[str, Value]
    paper: Row | None = None
    base: float = float("nan")
    base_paper: float | None = None
    note: str = ""

    @property
    def gtp(self) -> float:
        """The measured GTP."""
        return self.values["gtp"].mean if "gtp" in self.values else float("nan")

    @property
    def verdict(self) -> str:
        """See `verdict`; empty where there is nothing to compare."""
        if self.paper is None or not self.values or self.base_paper is None:
            return ""
        if (self.case, self.way) in COPIED:
            return "copied in the paper"
        return verdict(self.way, self.gtp, self.base, self.paper.stated["gtp"].mean, self.base_paper)

    def to_dict(self) -> dict[str, Any]:
        """One flat row for CSV and JSON."""
        case, way = self.case, self.way
        out: dict[str, Any] = {
            "dataset": case.dataset,
            "classifier": case.classifier,
            "base": case.base,
            "scale": case.scale,
            "answers": case.answers,
            "pinned": case.pinned,
            "world": case.world or "independent",
            "asked": "base" if way == BASE else way.asker,
            "budget": way.budget,
            "iterations": way.iterations,
            "calibrate": way.calibrate,
            "keep_incumbent": way.keep,
        }
        for name in (*MEASURES, "questions"):
            value = self.values.get(name)
            stated = None if self.paper is None else self.paper.stated.get(name)
            out[f"{name}_paper"] = None if stated is None else stated.mean
            out[f"{name}_paper_spread"] = None if stated is None else stated.spread
            out[name] = None if value is None else value.mean
            out[f"{name}_spread"] = None if value is None else value.spread
        return out | {
            "plans": self.values["gtp"].n if self.values else 0,
            "verdict": self.verdict,
            "note": self.note,
        }


def verdict(way: Way, gtp: float, base: float, paper: float, base_paper: float) -> str:
    """'within', 'better' or 'worse' for a way of asking; 'within' or 'apart' for a base method.

    gtp, base: measured, after asking and before. paper, base_paper: stated.
    """
    close = abs(base / base_paper - 1) <= NEAR + 1e-9
    if way == BASE:
        return "within" if close else "apart"
    if close:
        gap, slack = gtp / paper - 1, NEAR
    else:  # the share by which asking lowers the distance
        gap, slack = (1 - paper / base_paper) - (1 - gtp / base), POINTS
    return "within" if abs(gap) <= slack + 1e-9 else "better" if gap < 0 else "worse"


@dataclass(frozen=True)
class Table:
    """One table with the findings that hang on it. measures: its columns; spread over seeds."""

    lines: tuple[Line, ...]
    measures: tuple[str, ...]
    checks: tuple[Check, ...] = field(default=())

    @property
    def counts(self) -> dict[str, int]:
        """How many published lines of asking are within, better, worse, and how many bases within or apart."""
        words = [(line.way == BASE, line.verdict) for line in self.lines]
        out = {word: words.count((False, word)) for word in ("within", "better", "worse")}
        return out | {f"base {word}": words.count((True, word)) for word in ("within", "apart")}


# -- findings ----------------------------------------------------------------------------------------------------

Values = Mapping[tuple[Case, Way], Mapping[str, float]]


def measured(lines: Iterable[Line]) -> Values:
    """The means of lines that hold something, by case and way."""
    return {
        (line.case, line.way): {name: value.mean for name, value in line.values.items()}
        for line in lines
        if line.values
    }


def stated(number: int) -> Values:
    """The same of the paper, without the lines that it copied."""
    return {
        (row.case, row.way): {name: one.mean for name, one in row.stated.items()}
        for row in rows(number)
        if (row.case, row.way) not in COPIED
    }


def checks(number: int, lines: Sequence[Line]) -> tuple[Check, ...]:
    """What the paper reads out of a table, asked of our numbers and of its own.

    A finding holds if it does in at least as large a share of the cases as in the paper's own numbers.
    """
    ours, paper = measured(lines), stated(number)
    asked = {case for case, _ in ours}
    paper = {key: value for key, value in paper.items() if key[0] in asked}
    return tuple(
        check
        for name, statement, test in _FINDINGS[number]
        if (check := _asked(name, statement, test, ours, paper)) is not None
    )


Test = Callable[[Values, Case], bool | None]  # None: the case does not have what the finding is about


def _asked(name: str, statement: str, test: Test, ours: Values, paper: Values) -> Check | None:
    def count(values: Values) -> tuple[int, int, list[str]]:
        cases = sorted({case for case, _ in values})
        told = [(case, test(values, case)) for case in cases]
        told = [(case, yes) for case, yes in told if yes is not None]
        return sum(bool(yes) for _, yes in told), len(told), [_short(c) for c, yes in told if not yes]

    held, cases, missed = count(ours)
    if not cases:
        return None
    theirs, all_theirs, _ = count(paper)
    words = f"{held} of {cases} cases" + (f" (paper: {theirs} of {all_theirs})" if all_theirs else "")
    if missed:
        words += f"; not in {', '.join(missed[:6])}" + (
            f" and {len(missed) - 6} more" if len(missed) > 6 else ""
        )
    share = theirs / all_theirs if all_theirs else 1.0
    return Check(name, statement, held / cases >= share - 1e-9, words)


def _short(case: Case) -> str:
    words = [
        case.dataset,
        *([] if case.classifier == "ann" else [case.classifier]),
        NAMES.get(case.base, case.base),
    ]
    return " ".join(words + ([] if case.scale == "far" else [case.scale]))


def _chain(name: str, ways: Sequence[Way], *, strict: bool = False, slack: float = _TIE) -> Test:
    """Each way is no worse than the one before it, or, strictly, better."""

    def test(values: Values, case: Case) -> bool | None:
        got = [values[case, way][name] for way in ways if (case, way) in values and name in values[case, way]]
        if len(got) < len(ways):
            return None
        pairs = itertools.pairwise(got)
        return all(b < a if strict else b <= a + slack for a, b in pairs)

    return test


def _same(name: str, ways: Sequence[Way], slack: float) -> Test:
    def test(values: Values, case: Case) -> bool | None:
        got = [values[case, way].get(name) for way in ways if (case, way) in values]
        numbers = [one for one in got if one is not None]
        return None if len(numbers) < 2 else max(numbers) - min(numbers) <= slack

    return test


def _none(name: str, bases: Sequence[str]) -> Test:
    def test(values: Values, case: Case) -> bool | None:
        got = [one[name] for (c, _), one in values.items() if c == case and name in one]
        return None if not got or case.base not in bases else max(got) == 0

    return test


def _some(name: str, base: str) -> Test:
    def test(values: Values, case: Case) -> bool | None:
        got = [one[name] for (c, _), one in values.items() if c == case and name in one]
        return None if not got or case.base != base else min(got) > 0.5

    return test


def _at(scale: str, test: Test) -> Test:
    return lambda values, case: test(values, case) if case.scale == scale else None


_BUDGETS = tuple(Way(1, b) for b in (10, 30, 70, 100))
_ITERATED = {t: Way(t, 30) for t in (1, 3, 5, 10)}
_BEST = Way(5, 30, "best")


def _pairs(first: Way, second: Way, statement: str, *, strict: bool) -> list[tuple[str, str, Test]]:
    return [
        (
            f"{second} against {'the base' if first == BASE else first}, {HEADS[name]}",
            statement,
            _chain(name, (first, second), strict=strict),
        )
        for name in ("gtp", "gtd")
    ]


_ORDER = [
    *_pairs(BASE, HARE, "Asking beats the base method: HARE is nearer to what people want.", strict=True),
    *_pairs(HARE, MULTI, "Multi-HARE is as near as HARE or nearer.", strict=False),
]
_FINDINGS: dict[int, list[tuple[str, str, Test]]] = {
    1: _ORDER,
    2: [
        ("more questions, GTP", "GTP falls (or stays) with every larger budget.", _chain("gtp", (BASE, *_BUDGETS))),
        ("more questions, GTD", "GTD falls (or stays) with every larger budget.",
         _chain("gtd", (BASE, *_BUDGETS), slack=0.03)),
        ("30 questions do most of it", "The step from 30 to 100 questions is smaller than that from none to 30.",
         lambda v, c: None if (c, BASE) not in v or (c, Way(1, 100)) not in v
         else v[c, HARE]["gtp"] - v[c, Way(1, 100)]["gtp"] < v[c, BASE]["gtp"] - v[c, HARE]["gtp"]),
    ],
    3: [
        ("three iterations against one", "Refining in iterations gives plans nearer to what people want.",
         _chain("gtp", (_ITERATED[1], _ITERATED[3]))),
        ("five iterations against one", "Refining in iterations gives plans nearer to what people want.",
         _chain("gtp", (_ITERATED[1], _ITERATED[5]))),
        ("ten iterations: a plateau", "With ten iterations there is little to gain over five (GTP within .05).",
         _same("gtp", (_ITERATED[5], _ITERATED[10]), 0.05)),
    ],
    4: [
        *_ORDER,
        ("success is unchanged", "Success is that of the base method.", _same("success", (BASE, HARE, MULTI), 0.0101)),
        ("nothing forbidden", "Wachter and growing spheres change no immutable feature, before and after asking.",
         _none("violations", ("wachter", "growing-spheres"))),
        ("FACE as published changes immutables", "Plans around FACE's rows change immutable features.",
         _some("violations", "face")),
        ("further away, nearer to the wish", "Plans that people like are not the nearest: the proximity grows.",
         lambda v, c: None if any((c, w) not in v or "proximity" not in v[c, w] for w in (BASE, MULTI))
         else v[c, MULTI]["proximity"] > v[c, BASE]["proximity"]),
    ],
    5: [
        ("calibrate every candidate, GTP", "Calibrating all candidates is better than calibrating the best one.",
         _chain("gtp", (_BEST, MULTI))),
        ("calibrate every candidate, GTD", "Calibrating all candidates is better than calibrating the best one.",
         _chain("gtd", (_BEST, MULTI))),
    ],
    6: [(f"{name}, {scale}", text, _at(scale, test)) for scale in SCALES for name, text, test in _ORDER],
}  # fmt: skip


# -- writing -----------------------------------------------------------------------------------------------------


def columns(table: Table) -> tuple[str, ...]:
    """Heads of the table."""
    more = ["questions"] if any(line.way.budget for line in table.lines) else []
    verdicts = ["verdict"] if any(line.paper for line in table.lines) else []
    return ("data", "base", "asked", *(HEADS[name] for name in table.measures), *more, *verdicts)


def cells(table: Table, line: Line) -> tuple[str, ...]:
    """One line as text: paper, then measured."""
    case = line.case
    data = [case.dataset.upper() if case.dataset != "adult" else "Adult"]
    data += [case.classifier.upper()]
    data += [f"{case.scale}" + ("" if case.pinned else ", percentile")]
    data += [case.answers] if case.answers != "exact" else []
    data += [f"{case.world} world"] if case.world else []
    out = [", ".join(data), NAMES.get(case.base, case.base), str(line.way)]
    if line.note:
        out += [line.note, *[""] * (len(table.measures) - 1)]
    else:
        out += [_number(line, name) for name in table.measures]
    head = columns(table)
    if "questions" in head:
        asked = line.values.get("questions")
        out.append(f"{asked.mean:.1f}" if asked is not None and line.way.budget else "")
    if "verdict" in head:
        out.append(line.verdict)
    return tuple(out)


def _number(line: Line, name: str) -> str:
    value = line.values.get(name)
    if value is None or not value.n:
        return "-"
    told = f"{value.mean:.2f} ± {value.spread:.2f}"
    paper = None if line.paper is None else line.paper.stated.get(name)
    return told if paper is None else f"{paper.mean:.2f} → {told}"


def summary(table: Table) -> str:
    """How many published lines are how."""
    counts = table.counts
    if not sum(counts.values()):
        return ""
    asked = counts["within"] + counts["better"] + counts["worse"]
    bases = counts["base within"] + counts["base apart"]
    words = [
        f"Of {asked} published lines with questions, {counts['within']} are within the tolerance, "
        f"{counts['better']} are better and {counts['worse']} are worse"
    ]
    if bases:
        words.append(f"{counts['base within']} of {bases} base methods start within 15 % of the paper's")
    return "; ".join(words) + "."


def markdown(table: Table) -> str:
    """The summary, the table and the findings as Markdown."""
    head = columns(table)
    out = [summary(table), ""] if summary(table) else []
    out += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    out += ["| " + " | ".join(cells(table, line)) + " |" for line in table.lines]
    return "\n".join(out) + "\n" + findings(table.checks)
