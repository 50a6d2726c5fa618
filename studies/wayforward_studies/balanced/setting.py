"""The people of each study: the calibrated synthetic set, and four real tables with the features that the paper counts.

Numbers span [0, 1] by their least and greatest value, so that distances are the paper's. Whoever the paper calls
immutable is; where it names only some of the features, the rest is said in `KEPT` and in the docs.

Source: Gao & Lakkaraju (2023), section 6 and appendix C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.segregation import Areas, Segregation, places, segregation
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.world import World
from wayforward_studies.balanced.published import INDICES

#: Where the four groups of the synthetic set stand, with a standard deviation of .1: accepted M and F, refused M and F.
CENTRES = ((0.325, 0.685), (0.675, 0.685), (0.325, 0.315), (0.675, 0.315))

REAL = ("compas-race", "compas-sex", "law-race", "law-sex", "german-sex", "gmc-age")
SETTINGS = ("synthetic", *REAL)

#: Features that make places, and which methods may change.
KEPT: Mapping[str, tuple[str, ...]] = {
    "synthetic": ("a", "b"),
    "compas": ("priors_count", "length_of_stay", "two_year_recid"),
    "law": ("LSAT", "UGPA", "sander_index", "ZFYA"),
    "german": (
        "people_liable",
        "installment_rate",
        "employment_since",
        "job",
        "credit_amount",
        # The paper names those above; these three of the others give its origin row.
        "duration_months",
        "checking_status",
        "housing",
    ),
    "gmc": (
        "RevolvingUtilizationOfUnsecuredLines",
        "NumberOfTime30_59DaysPastDueNotWorse",
        "DebtRatio",
        "MonthlyIncome",
        "NumberOfOpenCreditLinesAndLoans",
        "NumberOfTimes90DaysLate",
        "NumberRealEstateLoansOrLines",
        "NumberOfTime60_89DaysPastDueNotWorse",
        "NumberOfDependents",
    ),
}
#: GMC: the most that people have. Without outliers [0, 1] is as wide as published, and nearly as many people remain.
GMC_MOST: Mapping[str, float] = {
    "RevolvingUtilizationOfUnsecuredLines": 1.1,
    "DebtRatio": 2.0,
    "MonthlyIncome": 30_000.0,
}
PLAIN = ("law", "gmc")
#: Settings with the people that the public code takes -> those of the paper that they are. It is silent about COMPAS
#: and German: theirs are ours, as numbers throughout, and the same part of them.
AS_RUN: Mapping[str, str] = {
    f"{name}run-{attribute}": f"{name}-{attribute}"
    for name, attribute in (
        ("law", "race"), ("law", "sex"), ("compas", "race"), ("compas", "sex"), ("german", "sex"), ("gmc", "age"),
    )
}  # fmt: skip
#: GMC: who is nearer than that to the mean stays; and the part of a run that is looked at.
_DEVIATIONS, _TRAINING = 3.0, 0.75
MOST = 10_000  # people a run, as in the paper
_GERMAN = 1_000  # people of German


@dataclass(frozen=True)
class BalancedStudy:
    """One setting of one seed: everybody x (n, d), their groups, and the features that make places."""

    name: str
    schema: Schema
    x: np.ndarray
    y: np.ndarray
    groups: Groups
    keep: tuple[str, ...]
    classifier: str
    seed: int
    world: World | None = None  # what follows from what people do; None: nothing
    raw: bool = False  # places are in the features' own units, not in shares of their ranges
    plain: bool = False  # the classifier is trained without weights for rare labels
    model: Any = None  # a trained classifier, in place of one that would be trained

    @cached_property
    def problem(self) -> Problem:
        """A classifier trained on everybody, as published, and its reference people."""
        model = self._trained() if self.model is None else self.model
        return Problem(self.schema, model, Target(1), data=self.x, world=self.world, least_change=None)

    def _trained(self) -> Any:
        from sklearn.base import clone

        from wayforward.model import train

        y = self.y.astype(int)
        model = train(self.classifier, self.schema, self.x, y, seed=self.seed)
        if self.plain:
            # The zoo weighs rare refusals up, and the published costs and small shifts come out without weights.
            people, weighted = self.schema.decode(self.x), model
            for start in range(20):  # without weights some starts end in a yes for everybody
                state = {"model__random_state": self.seed + 100 * start}
                model = clone(model).set_params(**state).fit(people, y)
                refused = (np.asarray(model.predict(people)) == 0).mean()
                if refused > 0.005:
                    break
            if not refused:  # in a small draw with few refusals every start may; then the weights stay
                model = weighted
        return model

    @cached_property
    def areas(self) -> Areas:
        """Where the original people live, fitted with the seed."""
        return Areas.fit(self.places(self.x), seed=self.seed)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where people stand (n, e), in shares of each range or, `raw`, in the features' own units."""
        schema = self.schema
        if self.raw:
            schema = Schema(tuple(Feature(name=f.name, kind="real", low=0, high=1) for f in schema.features))
        return places(schema, rows, keep=self.keep)

    def segregated(
        self, rows: np.ndarray, group: str | None = None, radius: float | None = None
    ) -> Segregation:
        """How far a group (None: the smallest) is apart from the rest, on the original areas."""
        here = self.places(rows)
        return segregation(here, self.groups, group=group, areas=self.areas, radius=radius)

    def indices(
        self, rows: np.ndarray, group: str | None = None, radius: float | None = None
    ) -> dict[str, float]:
        """The three published indices; radius of a neighbourhood: left out, the rows' own."""
        return self._three(self.segregated(rows, group, radius))

    @cached_property
    def before(self) -> Segregation:
        """Before anybody acts."""
        return self.segregated(self.x)

    @property
    def origin(self) -> dict[str, float]:
        """The three indices before anybody acts."""
        return self._three(self.before)

    @staticmethod
    def _three(got: Segregation) -> dict[str, float]:
        return {name: float(getattr(got, name)) for name in INDICES}


@lru_cache(maxsize=9)
def study(name: str, seed: int = 0, most: int = MOST) -> BalancedStudy:
    """A setting, made once; real tables larger than `most` give as many people, drawn for each seed.

    Raises: DataError for an unknown name, or where a raw file is absent.
    """
    if name not in (*SETTINGS, *AS_RUN, "german-causal"):
        raise DataError(f"The study has no data set '{name}'. Choose one of {', '.join(SETTINGS)}.")
    if name == "synthetic":
        return _synthetic(seed, min(200, most // 4))
    if name == "german-causal":
        return _german_causal(seed, min(_GERMAN, most))
    data, attribute = name.split("-")
    schema, x, y, labels = _table(data)
    label, names = labels[attribute]
    some = drawn(len(x), seed, most)
    x = _spanning(schema, x[some])  # [0, 1] of the run's people: in 10,000 of them fewer stand far out
    if name in AS_RUN:
        part = np.random.default_rng([2024, seed]).permutation(len(some))[: round(_TRAINING * len(some))]
        x, some = x[part], some[part]
    feature = schema.index(attribute) if attribute in schema.names else None
    groups = Groups(attribute, names, label[some].astype(np.int64), feature if attribute != "age" else None)
    keep = KEPT[data.removesuffix("run")]
    return BalancedStudy(name, schema, x, y[some], groups, keep, "mlp", seed, plain=data in PLAIN)


def drawn(n: int, seed: int, most: int) -> np.ndarray:
    """Which rows of a table of n people a seed looks at."""
    rng = np.random.default_rng([2023, seed])
    return np.sort(rng.choice(n, most, replace=False)) if n > most else np.arange(n)


def with_centres(
    seed: int, n: int, centres: tuple[tuple[float, float], ...], deviation: float
) -> BalancedStudy:
    """The synthetic set of n people with other centres, in the order of `CENTRES`, and another deviation."""
    return _synthetic(seed, n // 4, centres, deviation)


def _synthetic(
    seed: int, each: int, centres: tuple[tuple[float, float], ...] = CENTRES, deviation: float = 0.1
) -> BalancedStudy:
    rng = np.random.default_rng([7, seed])
    four = [c + deviation * rng.normal(size=(each, 2)) for c in np.array(centres)]
    place = np.concatenate(four).clip(0, 1)
    member = np.tile(np.repeat([0, 1], each), 2)
    numbers = [Feature(name=name, kind="real", low=0, high=1) for name in KEPT["synthetic"]]
    sex = Feature(name="group", kind="binary", levels=("M", "F"), actionability="immutable", sensitive=True)
    schema = Schema((*numbers, sex))
    y = np.repeat([1, 1, 0, 0], each)
    groups = Groups("group", ("M", "F"), member, 2)
    return BalancedStudy(
        "synthetic", schema, np.column_stack([place, member]), y, groups, KEPT["synthetic"], "lr", seed
    )


def _german_causal(seed: int, n: int) -> BalancedStudy:
    """People of the equations that Karimi et al. (2020) modelled after German, seven features in their own units.

    The paper names these features, of which German itself lacks income and education, and prints the proximity of their
    units (see the page of Table 4).
    """
    from wayforward.data import load

    data = load("loan:karimi+carma")
    some = np.random.default_rng([2023, seed]).choice(len(data.x), n, replace=False)
    x, y = data.x[some], data.is_favourable[some].astype(int)
    groups = Groups("gender", ("0", "1"), x[:, 0].astype(np.int64), 0)
    free = ("education", "loan_amount", "loan_duration", "income", "savings")
    return BalancedStudy(
        "german-causal", data.schema, x, y, groups, free, "mlp", seed, world=data.world, raw=True
    )


_Labels = dict[str, tuple[np.ndarray, tuple[str, str]]]


@lru_cache(maxsize=2)
def _table(name: str) -> tuple[Schema, np.ndarray, np.ndarray, _Labels]:
    """The whole table with numbers in [0, 1], the favourable label, and groups by attribute."""
    from wayforward.data import load

    if name in ("compas", "compasrun"):
        # The paper predicts a high score, and whether a person offended again is one of the features.
        data, again = load("compas", variant="score"), load("compas")
        columns: dict[str, Any] = {c: _column(data, c) for c in ("age", "priors_count", "length_of_stay")}
        columns["two_year_recid"] = ~again.is_favourable
        columns["c_charge_degree"] = _column(data, "c_charge_degree") > 0
        columns["sex"] = _column(data, "sex") > 0
        columns["race"] = _is(data, "race", "African-American")
        names = {"sex": ("Female", "Male"), "race": ("other", "African-American")}
    elif name in ("law", "lawrun"):
        data = load("law")
        region = ("region_first",) if name == "law" else ()
        columns = {c: _column(data, c) for c in ("LSAT", "UGPA", "ZFYA", *region)}
        # A sum of two others, and a feature like any other in the paper.
        columns["sander_index"] = 0.6 * columns["LSAT"] / 48 + 0.4 * columns["UGPA"] / 4.2
        columns["sex"] = _column(data, "sex") > 0
        columns["race"] = _is(data, "race", "White")
        names = {"sex": ("1", "2"), "race": ("other", "White")}
    elif name in ("german", "germanrun"):
        data = load("german")
        columns = {f.name: _column(data, f.name) for f in data.schema.features}
        del columns["personal_status_sex"]
        columns["sex"] = ~_is(data, "personal_status_sex", "A92")
        names = {"sex": ("female", "male")}
    elif name == "gmcrun":
        return _gmc_as_run()
    else:
        data = load("gmsc")
        some = np.all([_column(data, name) <= most for name, most in GMC_MOST.items()], axis=0)
        columns = {f.name: _column(data, f.name)[some] for f in data.schema.features}
        names = {}
    known = None if name == "germanrun" else data.schema  # there, ranks of levels
    schema, x = _scaled(columns, known, KEPT[name.removesuffix("run")], tuple(names))
    labels: _Labels = {a: (np.asarray(columns[a]).astype(np.int64), n) for a, n in names.items()}
    if name == "gmc":
        age = columns["age"]  # the paper does not say where it cuts; older than the mean gives its row
        labels["age"] = ((age >= age.mean()).astype(np.int64), ("younger", "older"))
    y = data.is_favourable.astype(int)
    return schema, x, y[some] if name == "gmc" else y, labels


def _gmc_as_run() -> tuple[Schema, np.ndarray, np.ndarray, _Labels]:
    """The raw file without missing rows and without whoever is far from the mean in any feature: 115,527 people."""
    from wayforward.data import gmsc
    from wayforward.data.files import Files

    late, x = gmsc.read(Files("gmsc", known=gmsc.ENTRY.files))
    whole = ~np.isnan(x).any(1)
    x, late = x[whole], late[whole]
    near = (np.abs(x - x.mean(0)) < _DEVIATIONS * x.std(0, ddof=1)).all(1)
    x, late = x[near], late[near]
    columns = dict(zip(gmsc.NAMES, x.T, strict=True))
    older = columns["age"] > np.median(columns["age"])
    schema, scaled = _scaled({**columns, "age": older}, None, KEPT["gmc"], ("age",))
    return schema, scaled, (~late).astype(int), {"age": (older.astype(np.int64), ("younger", "older"))}


def _scaled(
    columns: Mapping[str, np.ndarray], known: Schema | None, free: tuple[str, ...], sensitive: tuple[str, ...]
) -> tuple[Schema, np.ndarray]:
    """Two-valued columns stay two levels, categories stay as they are, all else becomes a number from 0 to 1."""
    features, values = [], []
    for name, column in columns.items():
        acts: Any = "actionable" if name in free else "immutable"
        about: dict[str, Any] = {"name": name, "actionability": acts, "sensitive": name in sensitive}
        if column.dtype == bool:
            features.append(Feature(kind="binary", levels=(0, 1), **about))
            values.append(column.astype(np.float64))
        elif known is not None and name in known.names and known[name].kind in ("categorical", "binary"):
            features.append(Feature(kind=known[name].kind, levels=tuple(known[name].levels), **about))
            values.append(column)
        else:
            features.append(Feature(kind="real", low=0, high=1, **about))
            values.append((column - column.min()) / (column.max() - column.min()))
    return Schema(tuple(features)), np.column_stack(values)


def _spanning(schema: Schema, x: np.ndarray) -> np.ndarray:
    """(n, d) with every number from 0 to 1, by its least and greatest value here."""
    number = ~schema.has_levels
    low, high = x[:, number].min(0), x[:, number].max(0)
    out = x.copy()
    out[:, number] = (x[:, number] - low) / np.where(high > low, high - low, 1.0)
    return out


def _column(data: Any, name: str) -> np.ndarray:
    return np.asarray(data.x[:, data.schema.index(name)], dtype=np.float64)


def _is(data: Any, name: str, level: str) -> np.ndarray:
    return np.asarray(_column(data, name) == data.schema[name].levels.index(level))
