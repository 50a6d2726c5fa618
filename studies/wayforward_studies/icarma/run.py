"""One request, all its tables and figures: measured, compared, written with what they were made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import DataError
from wayforward_studies.checkpoints import Show, quiet
from wayforward_studies.icarma import fairness as case_study
from wayforward_studies.icarma import figures, findings, fit, tables
from wayforward_studies.icarma.published import TITLES, IcarmaCase, IcarmaPublished, rows
from wayforward_studies.icarma.setting import IcarmaSetting
from wayforward_studies.icarma.solvers import IcarmaStudy
from wayforward_studies.pages import Page, Row, save
from wayforward_studies.replication import Replication, Request, checksums, known, made_with
from wayforward_studies.verdicts import Check

TABLES, FIGURES, DATASETS = (1, 2, 3, 5, 6), (3, 4, 7, 8), ("loan", "gmsc")
_ON = {
    ("table", 1): DATASETS,
    ("table", 2): DATASETS,
    **{("table", number): ("loan",) for number in (3, 5, 6)},
    ("figure", 3): ("loan",),
    ("figure", 4): ("loan",),
    ("figure", 7): DATASETS,
    ("figure", 8): ("gmsc",),
}
_ORACLES = (("table", 1), ("table", 2), ("table", 5), ("table", 6))


@dataclass(frozen=True)
class IcarmaRequest(Request):
    """Only tables named: no figure, and the other way round.

    fresh: Loan on people drawn anew. released: Loan with the classifier that CARMA's authors released, of which the
    oracle's lines are measured and no others. seeds, epochs: of iCARMA (epochs None: those of `SETUPS`).
    n: for a quick look.
    """

    tables: tuple[int, ...] = ()
    figures: tuple[int, ...] = ()
    fresh: bool = False
    released: bool = False
    seeds: int = 10
    epochs: int | None = None
    out: Path = Path("docs/replication/icarma")

    def __post_init__(self) -> None:
        known("table", self.tables, TABLES)
        known("figure", self.figures, FIGURES)
        known("data set", self.datasets, DATASETS)
        if self.fresh and self.released:
            raise DataError(
                "--fresh draws people anew, --released asks those of the released files. Give one of them."
            )
        if self.released and "gmsc" in self.datasets:
            raise DataError(
                "--released is about Loan: no classifier of GMSC was released. Leave --dataset out."
            )
        if not self.pages:
            named = ", ".join([f"table {t}" for t in self.tables] + [f"figure {f}" for f in self.figures])
            raise DataError(
                f"{named} is not about {' and '.join(self.datasets)}. Leave --dataset out, or name the other one."
            )

    @property
    def pages(self) -> tuple[str, ...]:
        """'table-1-loan' and so on."""
        everything = not self.tables and not self.figures
        wanted = [("table", t) for t in (TABLES if everything else self.tables)]
        wanted += [("figure", f) for f in (FIGURES if everything else self.figures)]
        if self.released:  # figures and Table 3 are iCARMA's
            wanted = [(what, number) for what, number in wanted if (what, number) in _ORACLES]
        chosen = self.datasets or (("loan",) if self.fresh or self.released else DATASETS)
        return tuple(
            f"{what}-{number}-{name}"
            for name in DATASETS
            for what, number in wanted
            if name in _ON[what, number] and name in chosen
        )


@dataclass
class IcarmaReplication(Replication):
    """Studies are made when a page needs them. make: gives the setting of a data set, for tests with a small one."""

    paper: ClassVar[str] = "icarma"
    decides: ClassVar[tuple[str, ...]] = tuple(
        f"icarma/{name}.py" for name in ("fairness", "measures", "preferences", "setting", "solvers")
    )
    request: IcarmaRequest
    make: Callable[[str, IcarmaRequest, Show], IcarmaSetting] | None = None
    studies: dict[str, IcarmaStudy] = field(default_factory=dict)

    def study(self, dataset: str) -> IcarmaStudy:
        """The study of one data set, made once."""
        if dataset not in self.studies:
            request = self.request
            setting = (self.make or make_setting)(dataset, request, self.show)
            self.studies[dataset] = IcarmaStudy(
                setting, self.checkpoints, request.n, request.seeds, request.epochs, request.seed, self.show
            )
        return self.studies[dataset]

    def measure(self, name: str) -> Page:
        """Measure one table or figure."""
        what, place, dataset = name.split("-")
        number, study = int(place), self.study(dataset)
        study.used.clear()
        file = self.request.file(f"{what}-{number}-{study.setting.name}")
        found: Sequence[Check] = ()
        drawn: tuple[str, ...] = ()
        if what == "table":
            lines, found = measure_table(study, number, dataset, only_oracles=self.request.released)
            if number == 1 and not self.request.released:
                drawn = self._trade_off(study, dataset, file)
        elif number == 4:
            fair = case_study.run(study)
            found, lines = list(case_study.checks(fair)), fair.rows()
            drawn = save(figures.fairness(fair), self.request.out, file)
        elif number == 7:
            lines, drawn = self._fit(study, dataset, file)
        else:
            lines, drawn = self._densities(study, number, dataset, file)
        title = _title(what, number, study.setting.name)
        return Page(self.paper, file, title, tuple(lines), tuple(found), self._provenance(study), drawn)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its table, verdicts and text."""
        what, number = page.name.split("-")[:2]
        notes = _notes(page)
        if what == "figure":
            if number == "7":
                page = replace(page, checks=fit.checks(page.rows), tables=(fit.table(page.rows),))
                notes = f"Flow: {page.provenance['made'].get('flow', 'the equations')}. {notes}"
            elif number == "4":
                again = {
                    c.name: c for m in ("cost", "density") for c in case_study.intersectional(page.rows, m)
                }
                page = replace(page, checks=tuple(again.get(c.name, c) for c in page.checks))
            elif number in ("3", "8"):
                page = replace(page, checks=findings.of_figure(int(number), page.rows))
            tolerance = fit.NOT_COMPARED if number == "7" else _NOT_COMPARED
            return replace(page, intro=_FIGURES[int(number)], tolerance=tolerance, notes=notes)
        judged = tuple(tables.judge(row) for row in page.rows)
        dataset = page.name.split("-")[2]
        lines = (*judged, *page.provenance.get("beside", ()))
        found = findings.checks(int(number), dataset, lines) + tuple(c for c in page.checks if c.aim)
        return replace(
            page,
            rows=judged,
            checks=found,
            intro=tables.TABLE,
            tolerance=tables.tolerance(),
            tables=tables.tables(judged),
            notes=notes,
        )

    @classmethod
    def repeated(cls, page: Page, folder: Path) -> Page:
        """The page with the lines of Table 1 that findings of its own need: those of GMSC's Table 2 compare with it."""
        file = folder / page.name.replace("table-2-gmsc", "table-1-gmsc")
        if not page.name.startswith("table-2-gmsc") or not (file := file.with_suffix(".json")).is_file():
            return page
        lines = [row for row in Page.read(file).rows if row["method"] == "icarma"]
        return replace(page, provenance={**page.provenance, "beside": lines})

    def _trade_off(self, study: IcarmaStudy, dataset: str, file: str) -> tuple[str, ...]:
        panels: dict[str, list[figures.TradeOffPoint]] = {}
        for case, method, paper in _lines(study, 1, dataset):
            points = panels.setdefault(str(case), [])
            label, found = _SHORT.get(method, findings.METHODS[method]), study.measured(case, method)
            points.append(figures.TradeOffPoint(label, found.validity.value, found.plausibility.value))
            if paper is not None:
                points.append(figures.TradeOffPoint(label, paper.validity, paper.plausibility, paper=True))
            if method == study.ours[-1]:
                points += [
                    figures.TradeOffPoint("ours: price", v, p, curve=way) for way, v, p in study.curve(case)
                ]
        return save(figures.trade_off(panels), self.request.out, f"{file}-trade-off")

    def _fit(self, study: IcarmaStudy, dataset: str, file: str) -> tuple[list[Row], tuple[str, ...]]:
        setting = study.setting
        seen = () if dataset == "loan" else ("train", "validation")  # Loan's flow has a folder of its own
        splits = [name for name in ("train", "validation", "test") if name not in seen]
        people = np.concatenate([getattr(setting, name) for name in splits])[: study.n]
        drawn = study.problems["learned"].world.sample(fit.DRAWS, np.random.default_rng([study.seed, 7]))
        names = setting.schema.names
        return fit.fitted(names, people, drawn), save(
            fit.figure(names, people, drawn), self.request.out, file
        )

    def _densities(
        self, study: IcarmaStudy, number: int, dataset: str, file: str
    ) -> tuple[list[Row], tuple[str, ...]]:
        if number == 3:
            panels = {
                title: {
                    "iCARMA": study.people(IcarmaCase(dataset, features=many), "icarma", study.home("icarma")),
                    "oracle": study.people(IcarmaCase(dataset, features=many), "oracle", "true"),
                }
                for title, many in (
                    ("all 4 features", 4), ("3 features", 3), ("2 features", 2), ("1 feature", 1)
                )
            }  # fmt: skip
            data = [
                {
                    "setting": title,
                    "method": method,
                    **_quantiles(one.after[one.proposed] - one.before[one.proposed]),
                }
                for title, methods in panels.items()
                for method, one in methods.items()
            ]
            return data, save(figures.densities(panels), self.request.out, file)
        cases = {
            "all 4 features": IcarmaCase(dataset),
            "hard limits at random": IcarmaCase(dataset, features=0),
            "soft, linear weights": IcarmaCase(dataset, profile="linear"),
            "hard (3) and soft, linear": IcarmaCase(dataset, features=3, profile="linear"),
        }
        found = {t: study.people(case, "icarma", study.home("icarma")) for t, case in cases.items()}
        values = {"as they are": next(iter(found.values())).before}
        values |= {title: one.after[one.proposed] for title, one in found.items()}
        data = [{"setting": title, **_quantiles(v)} for title, v in values.items()]
        return data, save(figures.spread(values), self.request.out, file)

    def _provenance(self, study: IcarmaStudy) -> dict[str, Any]:
        return {
            "quick look": self.request.quick,
            "data": study.setting.name,
            "people asked": len(study.x),
            "splits": study.setting.checksums,
            "seed": self.request.seed,
            "made": dict(study.setting.chosen),
            "parameters": dict(study.used),
            "seconds": {name: round(s, 2) for name, s in sorted(self.checkpoints.seconds.items())},
        }


def _lines(
    study: IcarmaStudy, number: int, dataset: str
) -> list[tuple[IcarmaCase, str, IcarmaPublished | None]]:
    """IcarmaCase, method and published line of a table: the paper's lines, and ours after those of a case."""
    published = rows(number, dataset)
    with_ours = number == 1 or (number == 2 and dataset == "loan")
    out: list[tuple[IcarmaCase, str, IcarmaPublished | None]] = []
    for i, row in enumerate(published):
        out.append((row.case, row.method, row))
        last = i + 1 == len(published) or published[i + 1].case != row.case
        if last and with_ours:
            out += [(row.case, method, None) for method in study.ours]
    return out


def measure_table(
    study: IcarmaStudy, number: int, dataset: str, only_oracles: bool = False
) -> tuple[list[Row], list[Check]]:
    """Every line of a table on one data set, or those of oracles, and the findings."""
    out, found = [], {}
    for case, method, paper in _lines(study, number, dataset):
        if only_oracles and not method.startswith("oracle"):
            continue
        home = study.home(method)
        replayed = home == "learned" and case.dataset == "loan"
        other = study.measured(case, method, "true") if replayed else None
        found[case, method] = study.measured(case, method)
        out.append(tables.flat(case, method, found[case, method], paper, home, other))
    checked: list[Check] = []  # the paper's findings are read from the rows
    if number == 1:
        for case in dict.fromkeys(case for case, _ in found):
            methods = [method for other, method in found if other == case]
            checked += tables.aims(case, {method: study.people(case, method, "true") for method in methods})
    return out, checked


def make_setting(dataset: str, request: IcarmaRequest, show: Show = quiet) -> IcarmaSetting:
    """The setting of a data set with its flow; both are stored in the cache."""
    from wayforward_studies.icarma import setting as settings

    loan = settings.fresh_loan_setting if request.fresh else settings.loan_setting
    make = {
        "loan": settings.released_loan_setting if request.released else loan,
        "gmsc": settings.gmsc_setting,
    }[dataset]
    with show(f"{dataset}: classifier", 1) as tick:
        setting = make(seed=request.seed, cache=request.cache)
        tick(1)
    if request.released or all("table-6" in name for name in request.pages if dataset in name):
        return setting  # oracles know the equations
    with show(f"{dataset}: causal flow, epochs", 1000) as tick:
        return settings.with_flow(
            setting, seed=request.seed, cache=request.cache, progress=lambda done, total: tick(done)
        )


_SHORT = {"polished-hard": "ours: hard limit", "polished-price": "ours: price"}

_NOT_COMPARED = (
    "No tolerance: the paper prints no numbers of this figure. "
    "A finding is *undecided* where a 95 % interval holds zero."
)
_FIGURES = {
    3: "Log-density of where proposals lead against that of where people stand, for fewer and fewer features. Points "
    "below the line are less likely than the person was; those far below the frame are drawn on its edge.",
    4: "Who may act on what is drawn in four ways; gender and race are balanced. Women are gender 0, the group with "
    "the lower income; race is a fair coin. Cost is the mean of valid proposals, without weights; the log-density is "
    "that of where all proposals lead. Bars are 95 % bootstrap intervals.",
    7: "Does the flow that iCARMA learns in look like the data? Each feature of people as an area, of draws from the "
    "flow as a line; values beyond the frame stand in its outermost bars. The paper shows Give Me Some Credit.",
    8: "Log-density (in the flow) of the refused people as they are and of where the proposals of iCARMA lead.",
}


def _title(what: str, number: int, setting: str) -> str:
    named = {
        "loan": "Loan, released splits",
        "loan-fresh": "Loan, drawn anew",
        "loan-released": "Loan, released classifier",
        "gmsc": "Give Me Some Credit",
    }
    topics = {
        3: "Log-density after against before, by number of features",
        4: "Case study: fairness by gender and race",
        7: "Features of people and of draws from the flow",
        8: "Log-densities before and after",
    }
    topic = TITLES[number] if what == "table" else topics[number]
    return f"{what.capitalize()} {number}. {topic} ({named.get(setting, setting)})"


def _notes(page: Page) -> str:
    p = page.provenance
    seeds = max((len(one.get("seeds", ())) for one in p["parameters"].values()), default=0)
    chosen = f"iCARMA chosen on validation from {seeds} seeds; " if seeds else ""
    of = "everybody" if page.stem.startswith("figure-7") else f"{p['people asked']:,} refused people"
    return (
        f"Made of {of}; splits (sha256) {checksums(p['splits'])}; seed {p['seed']}; "
        f"{chosen}{sum(p['seconds'].values()):,.0f} seconds of work; {made_with(p)}."
    )


def _quantiles(values: np.ndarray) -> dict[str, float]:
    finite = values[np.isfinite(values)]
    names = ("q05", "q25", "median", "q75", "q95")
    got = np.quantile(finite, (0.05, 0.25, 0.5, 0.75, 0.95)) if finite.size else np.full(5, np.nan)
    return {"people": int(finite.size), **dict(zip(names, got.tolist(), strict=True))}
