"""One request, all its tables: measured, compared, written with what they were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward_studies.checkpoints import Kept, Show, quiet
from wayforward_studies.findings import Check
from wayforward_studies.hare import figures
from wayforward_studies.hare.published import (
    BASE,
    CLASSIFIERS,
    DATASETS,
    HARE,
    MEASURES,
    MULTI,
    SCALES,
    TITLES,
    Case,
    Row,
    Way,
    rows,
)
from wayforward_studies.hare.setting import Table as Data
from wayforward_studies.hare.study import NOISES, Study, known_base, parameters_of, table_of
from wayforward_studies.hare.tables import Line, Table, Value, checks, markdown, stated
from wayforward_studies.writing import csv_text, plain, put, save

#: Modules that decide a kept stage, beside the package's.
DECIDES = ("hare/published.py", "hare/setting.py", "hare/study.py")

PEOPLE, SEEDS = 150, 5
EXTRAS = ("printed", "percentiles", "strict-face", "learned", "noise", "ensembles", "causal")


@dataclass(frozen=True)
class Request:
    """What to measure. Nothing named: all six tables.

    extras: pages beyond the paper, of `EXTRAS`, or 'all'. seeds: classifiers, people's wishes and draws. n: people a
    seed. out: where pages go. cache: where finished stages are kept.
    """

    tables: tuple[int, ...] = ()
    datasets: tuple[str, ...] = ()
    classifiers: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    seeds: int = SEEDS
    n: int = PEOPLE
    out: Path = Path("docs/replication/hare")
    cache: Path | None = None

    def __post_init__(self) -> None:
        if "all" in self.extras:
            object.__setattr__(self, "extras", EXTRAS)
        known: tuple[tuple[str, tuple[Any, ...], tuple[Any, ...]], ...] = (
            ("table", self.tables, tuple(TITLES)),
            ("data set", self.datasets, DATASETS),
            ("classifier", self.classifiers, CLASSIFIERS),
            ("extra page", self.extras, EXTRAS),
        )
        for what, given, all_of_them in known:
            for one in given:
                if one not in all_of_them:
                    raise DataError(
                        f"The study has no {what} {one!r}. Choose one of {', '.join(map(str, all_of_them))}."
                    )
        if self.seeds < 1 or self.n < 1:
            raise DataError(f"seeds={self.seeds} and n={self.n} leave nobody to ask. Give 1 or more of each.")
        for number in self.tables:
            if not list(self.rows(number)):
                raise DataError(f"Table {number} has no line about that. Leave an option out.")

    @property
    def quick(self) -> bool:
        """Fewer people or seeds than the paper has."""
        return self.n < PEOPLE or self.seeds < SEEDS

    @property
    def pages(self) -> tuple[str, ...]:
        """Names of the pages: 'table-1' and so on, then the extras."""
        wanted = self.tables or (() if self.extras else tuple(TITLES))
        return (*(f"table-{number}" for number in wanted), *self.extras)

    def rows(self, number: int) -> list[Row]:
        """The lines of a table that were asked for."""
        return [row for row in rows(number) if self.about(row.case)]

    def about(self, case: Case) -> bool:
        """Was this case asked for?"""
        return (
            case.dataset in (self.datasets or DATASETS)
            and (case.classifier in self.classifiers or not self.classifiers)
            and (case.base in self.bases or not self.bases)
        )


@dataclass(frozen=True)
class Page:
    """One table, measured. files: what was written. provenance: what it was made of."""

    title: str
    name: str
    table: Table
    files: tuple[str, ...]
    provenance: dict[str, Any]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The findings."""
        return self.table.checks

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "title": self.title,
            "lines": [line.to_dict() for line in self.table.lines],
            "counts": self.table.counts,
            "findings": [
                {"name": c.name, "paper": c.statement, "measured": c.measured, "verdict": c.verdict}
                for c in self.table.checks
            ],
            "files": list(self.files),
            "provenance": self.provenance,
        }


Asked = tuple[Case, Way, Row | None]


@dataclass
class Replication:
    """Measures the pages of a request one by one. tables: data sets to use instead of the study's, for tests."""

    request: Request
    show: Show = quiet
    tables: dict[str, Data] = field(default_factory=dict)
    _cpu: dict[str, float] = field(default_factory=dict, repr=False)
    _chosen: dict[str, Any] = field(default_factory=dict, repr=False)

    def page(self, name: str) -> Page:
        """Measure one page and write its files."""
        self.kept = Kept(self.request.cache, own=DECIDES)
        self._cpu.clear()
        self._chosen.clear()
        if name.startswith("table-"):
            number = int(name.removeprefix("table-"))
            asked: list[Asked] = [(row.case, row.way, row) for row in self.request.rows(number)]
            title, text = f"Table {number}. {TITLES[number]}", _TOLD[number]
            names = MEASURES if number == 4 else MEASURES[:2]
            lines = self.lines(asked)
            table = Table(lines, names, checks(number, lines))
        else:
            title, text, asked = self._extra(name)
            lines = self.lines(asked)
            some = (
                ("gtp", "gtd", "success", "violations")
                if name in ("strict-face", "ensembles")
                else MEASURES[:2]
            )
            table = Table(lines, some, _extra_checks(name, lines))
        file = name + ("-quick" if self.request.quick else "")
        drawn = self._figure(name, lines, file)
        page = Page(
            title, file, table, (f"{file}.csv", f"{file}.md", f"{file}.json", *drawn), self._provenance(lines)
        )
        self._write(page, text, drawn)
        return page

    # -- measuring ------------------------------------------------------------------------------------------

    def lines(self, asked: Sequence[Asked]) -> tuple[Line, ...]:
        """Every line, all seeds together; cases of one classifier are measured together."""
        request = self.request
        missing = {base: known_base(base) for base in dict.fromkeys(case.base for case, _, _ in asked)}
        wanted = list(dict.fromkeys((case, way) for case, way, _ in asked if missing[case.base] is None))
        wanted += [
            (case, BASE)
            for case, way, _ in asked
            if (case, BASE) not in wanted and missing[case.base] is None
        ]
        wanted = list(dict.fromkeys(wanted))
        found: dict[tuple[Case, Way], list[dict[str, np.ndarray]]] = {}
        groups = dict.fromkeys((case.dataset, case.classifier, case.world) for case, _ in wanted)
        with self.show("people asked", max(1, len(wanted) * request.seeds)) as tick:
            done = 0
            for group in groups:
                some = [(c, w) for c, w in wanted if (c.dataset, c.classifier, c.world) == group]
                for seed in range(request.seeds):
                    study = Study(
                        group[0],
                        group[1],
                        seed,
                        request.n,
                        self.kept,
                        world=group[2],
                        table=self.tables.get(group[0]),
                    )
                    for case, way in some:
                        got = study.measured(case, way)
                        self._cpu[f"{case.key}-{way.key}-{seed}"] = float(got["cpu"])
                        found.setdefault((case, way), []).append(got)
                        done += 1
                        tick(done)
                    self._chosen["-".join(filter(None, (*group, str(seed))))] = study.told()
        values = {
            key: {name: Value.of([one[name] for one in seeds]) for name in (*MEASURES, "questions")}
            for key, seeds in found.items()
        }
        return tuple(self._line(case, way, row, values, missing[case.base]) for case, way, row in asked)

    def _line(
        self,
        case: Case,
        way: Way,
        row: Row | None,
        values: dict[tuple[Case, Way], dict[str, Value]],
        gone: str | None,
    ) -> Line:
        if gone is not None:
            return Line(case, way, {}, row, note=f"not there: {gone}")
        base = values[case, BASE]["gtp"].mean
        paper = _stated_base(case)
        return Line(case, way, values[case, way], row, base, paper)

    def _extra(self, name: str) -> tuple[str, str, list[Asked]]:
        title, text, asked = _EXTRA[name]
        known = [(case, way, row) for case, way, row in asked() if self.request.about(case)]
        return title, text, known

    # -- writing --------------------------------------------------------------------------------------------

    def _figure(self, name: str, lines: Sequence[Line], file: str) -> list[str]:
        out = self.request.out
        if name == "table-1":
            return save(figures.agreement(lines), out, file)
        if name == "table-2":
            place: dict[Any, float] = {0: 0, 10: 10, 30: 30, 70: 70, 100: 100}
            panels = figures.by_place(lines, place, lambda line: line.way.budget)
            return save(figures.curves(panels, "questions", {v: str(k) for k, v in place.items()}), out, file)
        if name == "table-3":
            place = {1: 0, 3: 1, 5: 2, 10: 3}
            panels = figures.by_place(lines, place, lambda line: line.way.iterations)
            return save(
                figures.curves(panels, "iterations", {v: str(k) for k, v in place.items()}), out, file
            )
        if name == "table-6":
            some = [line for line in lines if line.case.base == "growing-spheres"]
            place = {scale: float(i) for i, scale in enumerate(SCALES)}
            panels = figures.by_way(some or lines, place, lambda line: line.case.scale)
            return save(figures.curves(panels, "wish", {v: str(k) for k, v in place.items()}), out, file)
        if name == "learned":
            some = [line for line in lines if line.case.scale == "far" and line.case.classifier == "ann"]
            place = {0: 0, 5: 5, 10: 10, 30: 30}
            asked = [
                (label, [line for line in some if line.way == BASE or line.way.key.startswith(start)])
                for label, start in (
                    ("ours: learned", "learned"),
                    ("Multi-HARE", "hare-5"),
                    ("HARE", "hare-1"),
                )
            ]
            panels = {}
            for label, part in asked:
                for dataset, curve in figures.by_place(part, place, lambda line: line.way.budget).items():
                    one = curve[0]
                    panels.setdefault(dataset, []).append(
                        figures.Curve(label, one.place, one.value, one.spread, one.paper)
                    )
            return save(figures.curves(panels, "questions", {v: str(k) for k, v in place.items()}), out, file)
        if name == "noise":
            place = {answers: float(i) for i, answers in enumerate(NOISES)}
            panels = figures.by_way(lines, place, lambda line: line.case.answers)
            ticks = {v: str(k).replace("-", "\n") for k, v in place.items()}
            return save(figures.curves(panels, "answers", ticks), out, file)
        return []

    def _provenance(self, lines: Sequence[Line]) -> dict[str, Any]:
        from wayforward.methods.base import versions

        request = self.request
        names = dict.fromkeys(line.case.dataset for line in lines)
        tables = {name: self.tables.get(name) or table_of(name) for name in names}
        return {
            "quick look": request.quick,
            "people a seed": request.n,
            "seeds": request.seeds,
            "data (sha256)": {name: table.checksum for name, table in tables.items()},
            "classifiers": dict(self._chosen),
            "base methods": {
                base: parameters_of(base)
                for base in dict.fromkeys(line.case.base for line in lines)
                if known_base(base) is None
            },
            "seconds": round(sum(self.kept.seconds.values()), 1),
            "processor seconds": round(sum(self._cpu.values()), 1),
            "versions": versions(),
        }

    def _write(self, page: Page, text: str, drawn: Sequence[str]) -> None:
        out = self.request.out
        out.mkdir(parents=True, exist_ok=True)
        body = [f"# {page.title}", ""]
        if page.provenance["quick look"]:
            body += [
                f"**A quick look (people: {self.request.n}, seeds: {self.request.seeds}), not the replication.**",
                "",
            ]
        body += [text, "", markdown(page.table).rstrip(), ""]
        for file in drawn:
            if file.endswith(".svg"):
                body += [f"```{{image}} {file}", f":alt: {page.title}", "```", ""]
        body += [_made(page), ""]
        put(out / f"{page.name}.md", "\n".join(body))
        put(out / f"{page.name}.csv", csv_text([line.to_dict() for line in page.table.lines]))
        put(out / f"{page.name}.json", json.dumps(plain(page.to_dict()), indent=1, allow_nan=False) + "\n")


def _made(page: Page) -> str:
    p = page.provenance
    splits = ", ".join(f"{name} `{value}`" for name, value in p["data (sha256)"].items())
    torch = f", torch {p['versions']['torch']}" if "torch" in p["versions"] else ""
    seeds = f"{p['seeds']} seed{'s' if p['seeds'] > 1 else ''}"
    return (
        f"Made of {seeds} with {p['people a seed']} refused people each; data (sha256) {splits}; "
        f"{p['processor seconds']:,.0f} seconds of one processor ({p['seconds']:,.0f} by the clock of a busy machine); "
        f"wayforward {p['versions'].get('wayforward', '')}, Python {p['versions']['python']}, numpy "
        f"{p['versions']['numpy']}{torch}. All numbers: {{download}}`CSV <{page.name}.csv>`, "
        f"{{download}}`JSON with the provenance <{page.name}.json>`."
    )


def _stated_base(case: Case) -> float | None:
    for number in (1, 6):
        got = stated(number).get((case, BASE))
        if got is not None:
            return got["gtp"]
    return None


_TOLD = {
    1: "The wish is far away. GTP and GTD: distance and direction from the plan to what the person wants (less is "
    "better); *paper → mean over seeds ± its standard deviation over seeds*.",
    2: "The wish is far away; HARE with one iteration and 10 to 100 questions.",
    3: "The wish is far away; 30 questions in 1, 3, 5 or 10 iterations.",
    4: "The wish is far away. Violations: immutable features changed. Redundancy: changes that could be taken back "
    "alone. Proximity: the **square** of the distance between person and plan, as in the benchmark that the paper's "
    "measures come from; with the distance itself its numbers contradict each other. Sparsity: features changed.",
    5: "The wish is far away; Multi-HARE. *Only the best calibrated*: people compare plans as they were sampled, and "
    "only the winner of each round is moved to the boundary.",
    6: "Wishes at three distances from the person. The figure shows growing spheres.",
}


# -- beyond the paper --------------------------------------------------------------------------------------------


def _grid(cases: Sequence[Case], ways: Sequence[Way], paper: int | None = None) -> list[Asked]:
    """Every case with every way; paper: the table that states the same case as the paper has it."""
    told = {} if paper is None else {(row.case, row.way): row for row in rows(paper)}
    return [(case, way, told.get((case, way))) for case in cases for way in ways]


_LEARNED = {b: Way(1, b, asker="learned") for b in (5, 10, 30)}


def _printed() -> list[Asked]:
    cases = [Case(dataset, "growing-spheres") for dataset in DATASETS]
    ways = [Way(t, 30, keep=keep) for t in (1, 3, 5, 10) for keep in (True, False)]
    told = {(row.case, row.way): row for row in rows(3)}
    return [(c, w, told.get((c, Way(w.iterations, 30)))) for c in cases for w in ways]


def _percentiles() -> list[Asked]:
    cases = [Case(dataset, "wachter", scale=scale, pinned=False) for dataset in DATASETS for scale in SCALES]
    return _grid(cases, (BASE, HARE, MULTI))


def _strict() -> list[Asked]:
    cases = [Case(dataset, base) for dataset in DATASETS for base in ("face", "face-strict")]
    return _grid(cases, (BASE, HARE, MULTI), 1)


def _learned() -> list[Asked]:
    far = [Case(dataset, "growing-spheres", clf) for dataset in DATASETS for clf in CLASSIFIERS]
    near = [Case(d, "growing-spheres", "ann", s) for d in DATASETS for s in SCALES[:2]]
    return _grid([*far, *near], (BASE, *_LEARNED.values(), HARE, MULTI))


def _noise() -> list[Asked]:
    cases = [Case(d, "growing-spheres", answers=answers) for d in DATASETS for answers in NOISES]
    return _grid(cases, (HARE, MULTI, _LEARNED[10], _LEARNED[30]))


def _ensembles() -> list[Asked]:
    cases = [Case(d, "growing-spheres", clf) for d in DATASETS for clf in ("gb", "rf")]
    return _grid(cases, (BASE, HARE, MULTI, _LEARNED[10]))


def _causal() -> list[Asked]:
    cases = [
        Case("gmsc", base, world=world) for base in ("wachter", "growing-spheres") for world in ("", "linear")
    ]
    return _grid(cases, (BASE, HARE, MULTI, _LEARNED[10]))


_EXTRA: dict[str, tuple[str, str, Any]] = {
    "printed": (
        "Beyond the paper: the algorithm as printed",
        "As printed, Algorithm 4 drops the plan from before when a round begins; on all other pages it takes part in "
        "each round. As printed, five rounds help on Adult and Credit, less so, and hurt on COMPAS; ten rounds of "
        "three plans end about where one round of thirty does, or far behind it (COMPAS). The paper's Table 3 has ten "
        "rounds ahead of one on Adult and Credit and level with it on COMPAS. With the plan from before, its orderings "
        "are found in every data set; as printed, its numbers for five and ten rounds are met more closely.",
        _printed,
    ),
    "percentiles": (
        "Beyond the paper: wishes at percentiles",
        "Wishes at the 10th, 50th and 90th percentile of each person's own distances to the boundary along random "
        "ways, instead of at the paper's mean distances.",
        _percentiles,
    ),
    "strict-face": (
        "Beyond the paper: FACE within limits",
        "FACE as published proposes an observed person's row, immutables included, and asking does not mend that. "
        "Within limits, its walk goes only where the person may go.",
        _strict,
    ),
    "learned": (
        "Beyond the paper: our own way of asking",
        "`learned` keeps a belief about the person's taste, updates it with every answer and asks the pair that "
        "teaches most. The aim: Multi-HARE's GTP at 30 questions with at most 10.",
        _learned,
    ),
    "noise": (
        "Beyond the paper: people who err",
        "*flip*: a share of comparisons answered the wrong way round. *bradley-terry*: odds of exp(10 x difference in "
        "distance). *lazy*: three in ten questions shrugged off. *fickle*: two in ten times the first plan, unread. "
        "*drifting*: at first the near wish in mind, at the end the far one.",
        _noise,
    ),
    "ensembles": (
        "Beyond the paper: tree ensembles",
        "Gradient boosting and random forests have no slopes: HARE estimates them from neighbouring rows.",
        _ensembles,
    ),
    "causal": (
        "Beyond the paper: a causal world",
        "Give Me Some Credit with its published graph and linear equations: plans are acts, and what follows from "
        "them counts, for the decision as for what people want. Beside it the world where nothing follows.",
        _causal,
    ),
}


def _extra_checks(name: str, lines: Sequence[Line]) -> tuple[Check, ...]:
    found = {(line.case, line.way): line.gtp for line in lines if line.values}
    if name != "learned":
        return ()
    out = []
    for budget, way in _LEARNED.items():
        cases = [case for case, w in found if w == way and (case, MULTI) in found]
        better = [case for case in cases if found[case, way] <= found[case, MULTI] + 0.005]
        ratio = [found[case, way] / found[case, MULTI] for case in cases]
        if cases:
            out.append(
                Check(
                    f"{budget} questions against Multi-HARE's 30",
                    "Our aim: no further from the wish than Multi-HARE after 30 questions."
                    if budget <= 10
                    else "The same number of questions.",
                    len(better) == len(cases),
                    f"{len(better)} of {len(cases)} cases; GTP {np.mean(ratio):.2f} times Multi-HARE's on average "
                    f"({min(ratio):.2f} to {max(ratio):.2f})",
                    aim=True,
                )
            )
    return tuple(out)
