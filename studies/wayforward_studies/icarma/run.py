"""One request, all its tables and figures: measured, compared, written with what they were made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward_studies.checkpoints import Kept, Show, quiet
from wayforward_studies.findings import Check, findings
from wayforward_studies.icarma import fairness as case_study
from wayforward_studies.icarma import figures
from wayforward_studies.icarma.published import TITLES, Case, rows
from wayforward_studies.icarma.setting import Setting
from wayforward_studies.icarma.solvers import Study
from wayforward_studies.icarma.tables import METHODS, Line, Table, aims, checks, markdown
from wayforward_studies.writing import csv_text, plain, put, save

#: Modules that decide a kept stage, beside the package's.
DECIDES = (
    "icarma/fairness.py",
    "icarma/measures.py",
    "icarma/preferences.py",
    "icarma/setting.py",
    "icarma/solvers.py",
)

TABLES, FIGURES, DATASETS = (1, 2, 3, 5, 6), (3, 4, 8), ("loan", "gmsc")
_ON = {
    ("table", 1): DATASETS,
    ("table", 2): DATASETS,
    **{("table", number): ("loan",) for number in (3, 5, 6)},
    ("figure", 3): ("loan",),
    ("figure", 4): ("loan",),
    ("figure", 8): ("gmsc",),
}


@dataclass(frozen=True)
class Request:
    """What to measure. Nothing named: everything; only tables named: no figure, and the other way round.

    fresh: Loan on people drawn anew. seeds, epochs: of iCARMA (epochs None: as the paper prints them). n: at most so
    many people, for a quick look. out: where tables and figures go. cache: where finished stages are kept.
    """

    tables: tuple[int, ...] = ()
    figures: tuple[int, ...] = ()
    datasets: tuple[str, ...] = ()
    fresh: bool = False
    seeds: int = 10
    epochs: int | None = None
    n: int | None = None
    seed: int = 0
    out: Path = Path("docs/replication/icarma")
    cache: Path | None = None

    def __post_init__(self) -> None:
        for what, given, known in (("table", self.tables, TABLES), ("figure", self.figures, FIGURES)):
            for number in given:
                if number not in known:
                    raise DataError(
                        f"There is no {what} {number} to measure; the paper's are "
                        f"{', '.join(map(str, known))}. Choose one of them."
                    )
        for name in self.datasets:
            if name not in DATASETS:
                raise DataError(f"The study has no data set '{name}'. Choose one of {', '.join(DATASETS)}.")
        if not self.pages:
            named = ", ".join([f"table {t}" for t in self.tables] + [f"figure {f}" for f in self.figures])
            raise DataError(
                f"{named} is not about {' and '.join(self.datasets)}. Leave --dataset out, or name the other one."
            )

    @property
    def pages(self) -> tuple[tuple[str, int, str], ...]:
        """('table' or 'figure', number, data set) of every page that was asked for."""
        everything = not self.tables and not self.figures
        wanted = [("table", t) for t in (TABLES if everything else self.tables)]
        wanted += [("figure", f) for f in (FIGURES if everything else self.figures)]
        chosen = self.datasets or (("loan",) if self.fresh else DATASETS)
        return tuple(
            (what, i, name)
            for name in DATASETS
            for what, i in wanted
            if name in _ON[what, i] and name in chosen
        )


@dataclass(frozen=True)
class Page:
    """One table or figure, measured. files: what was written. provenance: what it was made of."""

    title: str
    name: str
    table: Table | None
    checks: tuple[Check, ...]
    files: tuple[str, ...]
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "title": self.title,
            "lines": [] if self.table is None else [line.to_dict() for line in self.table.lines],
            "counts": {} if self.table is None else self.table.counts,
            "findings": [
                {"name": c.name, "paper": c.statement, "measured": c.measured, "verdict": c.verdict}
                for c in self.checks
            ],
            "files": list(self.files),
            "provenance": self.provenance,
        }


@dataclass
class Replication:
    """Measures the pages of a request one by one; studies are made when a page needs them.

    make: gives the setting of a data set, so that tests can bring a small one.
    """

    request: Request
    show: Show = quiet
    make: Callable[[str, Request, Show], Setting] | None = None
    studies: dict[str, Study] = field(default_factory=dict)

    def study(self, dataset: str) -> Study:
        """The study of one data set, made once."""
        if dataset not in self.studies:
            request = self.request
            setting = (self.make or make_setting)(dataset, request, self.show)
            self.studies[dataset] = Study(
                setting,
                Kept(request.cache, own=DECIDES),
                request.n,
                request.seeds,
                request.epochs,
                request.seed,
                self.show,
            )
        return self.studies[dataset]

    def page(self, what: str, number: int, dataset: str) -> Page:
        """Measure one table or figure and write its files."""
        study = self.study(dataset)
        study.kept.seconds.clear()
        study.used.clear()
        name = f"{what}-{number}-{study.setting.name}" + ("-quick" if self.request.n else "")
        found: tuple[Check, ...] = ()
        table, body, drawn, data = None, "", [], []
        if what == "table":
            table = measure_table(study, number, dataset)
            found, data, body = table.checks, [line.to_dict() for line in table.lines], markdown(table)
            if number == 1:
                drawn = self._trade_off(study, table, name)
        elif number == 4:
            fair = case_study.run(study)
            found, data = case_study.checks(fair), fair.rows()
            body = _FAIR + findings(found)
            drawn = save(figures.fairness(fair), self.request.out, name)
        else:
            drawn, data = self._densities(study, number, dataset, name)
            body = _DENSITY[number]
        title = _title(what, number, study)
        provenance = self._provenance(study)
        page = Page(
            title, name, table, found, (f"{name}.csv", f"{name}.md", f"{name}.json", *drawn), provenance
        )
        self._write(page, body, data, [d for d in drawn if d.endswith(".svg")])
        return page

    def _trade_off(self, study: Study, table: Table, name: str) -> list[str]:
        panels: dict[str, list[figures.Point]] = {}
        for line in table.lines:
            points = panels.setdefault(str(line.case), [])
            label = _SHORT.get(line.method, METHODS[line.method])
            points.append(
                figures.Point(label, line.measured.validity.value, line.measured.plausibility.value)
            )
            if line.paper is not None:
                points.append(figures.Point(label, line.paper.validity, line.paper.plausibility, paper=True))
        for title, points in panels.items():
            case = next(line.case for line in table.lines if str(line.case) == title)
            points += [figures.Point("ours: price", v, p, curve=way) for way, v, p in study.curve(case)]
        return save(figures.trade_off(panels), self.request.out, f"{name}-trade-off")

    def _densities(
        self, study: Study, number: int, dataset: str, name: str
    ) -> tuple[list[str], list[dict[str, Any]]]:
        if number == 3:
            panels = {
                title: {
                    "iCARMA": study.people(Case(dataset, features=many), "icarma", study.home("icarma")),
                    "oracle": study.people(Case(dataset, features=many), "oracle", "true"),
                }
                for title, many in (
                    ("all 4 features", 4),
                    ("3 features", 3),
                    ("2 features", 2),
                    ("1 feature", 1),
                )
            }
            data = [
                {
                    "setting": title,
                    "method": method,
                    **_quantiles(one.after[one.proposed] - one.before[one.proposed]),
                }
                for title, methods in panels.items()
                for method, one in methods.items()
            ]
            return save(figures.densities(panels), self.request.out, name), data
        cases = {
            "all 4 features": Case(dataset),
            "hard limits at random": Case(dataset, features=0),
            "soft, linear weights": Case(dataset, profile="linear"),
            "hard (3) and soft, linear": Case(dataset, features=3, profile="linear"),
        }
        found = {t: study.people(case, "icarma", study.home("icarma")) for t, case in cases.items()}
        values = {"as they are": next(iter(found.values())).before}
        values |= {title: one.after[one.proposed] for title, one in found.items()}
        data = [{"setting": title, **_quantiles(v)} for title, v in values.items()]
        return save(figures.spread(values), self.request.out, name), data

    def _provenance(self, study: Study) -> dict[str, Any]:
        from wayforward.methods.base import versions

        request, setting = self.request, study.setting
        return {
            "quick look": bool(request.n),
            "data": setting.name,
            "people asked": len(study.x),
            "splits": setting.checksums,
            "seed": request.seed,
            "made": dict(setting.chosen),
            "parameters": dict(study.used),
            "seconds": {name: round(s, 2) for name, s in sorted(study.kept.seconds.items())},
            "versions": versions(),
        }

    def _write(self, page: Page, body: str, data: Sequence[dict[str, Any]], drawn: Sequence[str]) -> None:
        out = self.request.out
        out.mkdir(parents=True, exist_ok=True)
        text = [f"# {page.title}", ""]
        if page.provenance["quick look"]:
            text += [
                f"**A quick look at {page.provenance['people asked']:,} people, not the replication.**",
                "",
            ]
        text += [body.rstrip(), ""]
        for file in drawn:
            text += [f"```{{image}} {file}", f":alt: {page.title}", "```", ""]
        text += [_made(page), ""]
        put(out / f"{page.name}.md", "\n".join(text))
        put(out / f"{page.name}.csv", csv_text(data))
        put(out / f"{page.name}.json", json.dumps(plain(page.to_dict()), indent=1, allow_nan=False) + "\n")


def measure_table(study: Study, number: int, dataset: str) -> Table:
    """Every line of a table on one data set, ours after the paper's, and the findings."""
    lines: list[Line] = []
    published = rows(number, dataset)
    for i, row in enumerate(published):
        lines.append(_line(study, row.case, row.method, row))
        last = i + 1 == len(published) or published[i + 1].case != row.case
        if last and (number == 1 or (number == 2 and dataset == "loan")):
            lines += [_line(study, row.case, method) for method in study.ours]
    found = {(line.case, line.method): line.measured for line in lines}
    told = checks(number, dataset, found)
    if number == 1:
        for case in dict.fromkeys(line.case for line in lines):
            methods = [line.method for line in lines if line.case == case]
            told += aims(case, {method: study.people(case, method, "true") for method in methods})
    return Table(number, dataset, tuple(lines), told)


def _line(study: Study, case: Case, method: str, row: Any = None) -> Line:
    home = study.home(method)
    other = study.measured(case, method, "true") if home == "learned" and case.dataset == "loan" else None
    return Line(case, method, study.measured(case, method), row, home, other)


def make_setting(dataset: str, request: Request, show: Show = quiet) -> Setting:
    """The setting of a data set with its flow; both are kept in the cache."""
    from wayforward_studies.icarma.setting import fresh_loan_setting, gmsc_setting, loan_setting, with_flow

    make = {"loan": fresh_loan_setting if request.fresh else loan_setting, "gmsc": gmsc_setting}[dataset]
    with show(f"{dataset}: classifier", 1) as tick:
        setting = make(seed=request.seed, cache=request.cache)
        tick(1)
    with show(f"{dataset}: causal flow, epochs", 1000) as tick:
        return with_flow(
            setting, seed=request.seed, cache=request.cache, progress=lambda done, total: tick(done)
        )


_SHORT = {"polished-hard": "ours: hard limit", "polished-price": "ours: price"}

_FAIR = """\
Who may act on what is drawn in four ways; gender and race are balanced. Women are gender 0, the group with the lower
income; race is a fair coin. Cost is the mean of valid proposals, without weights; the log-density is that of where all
proposals lead. Bars are 95 % bootstrap intervals. A finding is *undecided* where an interval holds zero.
"""
_DENSITY = {
    3: "Log-density of where proposals lead against that of where people stand, for fewer and fewer features. Points\n"
    "below the line are less likely than the person was; those far below the frame are drawn on its edge.\n",
    8: "Log-density (in the flow) of the refused people as they are and of where the proposals of iCARMA lead.\n",
}


def _title(what: str, number: int, study: Study) -> str:
    named = {"loan": "Loan, released splits", "loan-fresh": "Loan, drawn anew", "gmsc": "Give Me Some Credit"}
    topics = {
        3: "Log-density after against before, by number of features",
        4: "Case study: fairness by gender and race",
        8: "Log-densities before and after",
    }
    topic = TITLES[number] if what == "table" else topics[number]
    where = named.get(study.setting.name, study.setting.name)
    return f"{what.capitalize()} {number}. {topic} ({where})"


def _made(page: Page) -> str:
    p = page.provenance
    slow = sum(p["seconds"].values())
    seeds = max((len(one.get("seeds", ())) for one in p["parameters"].values()), default=0)
    chosen = f"iCARMA chosen on validation from {seeds} seeds; " if seeds else ""
    splits = ", ".join(f"{name} `{value}`" for name, value in p["splits"].items())
    return (
        f"Made of {p['people asked']:,} refused people; splits (sha256) {splits}; seed {p['seed']}; {chosen}"
        f"{slow:,.0f} seconds of work; wayforward "
        f"{p['versions'].get('wayforward', '')}, Python {p['versions']['python']}, numpy {p['versions']['numpy']}"
        f"{', torch ' + p['versions']['torch'] if 'torch' in p['versions'] else ''}. All numbers: "
        f"{{download}}`CSV <{page.name}.csv>`, {{download}}`JSON with the provenance <{page.name}.json>`."
    )


def _quantiles(values: np.ndarray) -> dict[str, float]:
    finite = values[np.isfinite(values)]
    names = ("q05", "q25", "median", "q75", "q95")
    got = np.quantile(finite, (0.05, 0.25, 0.5, 0.75, 0.95)) if finite.size else np.full(5, np.nan)
    return {"people": int(finite.size), **dict(zip(names, got.tolist(), strict=True))}
