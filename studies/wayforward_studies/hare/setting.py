"""Who is refused by what: the study's three data sets in [0, 1], its two classifiers, its people.

Adult, COMPAS and Give Me Some Credit have the features that the paper counts: numbers scaled to [0, 1], categories
made binary, the published immutables. A data set is built from `wayforward.data`, so nothing is read twice.

Source: HARE, sections 4.1 and 4.2; the preparation of the benchmark that it took its base methods from (CARLA).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wayforward.errors import DataError
from wayforward.preferences import Preferences
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.world import World

#: Classifiers: the two of the paper, then two ensembles that it does not try, from the model zoo, and a regression that
#: is not trained to the end.
MODELS = ("ann", "lr", "gb", "rf", "lr-brief")
_BRIEF, _BATCH, _RATE = 2000, 1024, 0.004  # steps, people a step and the rate of RMSprop for the last

_TEST, _SPLIT = 0.3, 0  # the split is the same for every seed, as are the people it holds back
_TAUGHT = 0.8  # share of the training people whom a classifier sees; which ones, hangs on the seed
_HIDDEN = (18, 9)  # three layers with the output, as narrow as the benchmark's


@dataclass(frozen=True)
class HareData:
    """A data set of the study: x (N, d) in [0, 1], y (N,) bool, True for the favourable label."""

    name: str
    schema: Schema
    x: np.ndarray
    y: np.ndarray

    @cached_property
    def checksum(self) -> str:
        """Sixteen digits that change with the people."""
        return hashlib.sha256(self.x.tobytes() + self.y.tobytes()).hexdigest()[:16]

    @cached_property
    def held_out(self) -> np.ndarray:
        """(N,) bool: people kept from training, in equal shares of both labels."""
        rng = np.random.default_rng(_SPLIT)
        held = np.zeros(len(self.y), dtype=bool)
        for group in (self.y, ~self.y):
            rows = np.flatnonzero(group)
            held[rng.permutation(rows)[: round(_TEST * rows.size)]] = True
        return held


@dataclass(frozen=True)
class HareSetting:
    """One classifier of one seed, and the people whom it refuses, x (n, d).

    numbers (n, d): the wishes of people who would change numbers only, as the paper's methods do. chosen: how the
    classifier came out. model: the classifier as it was trained.
    """

    table: HareData
    classifier: str
    seed: int
    problem: Problem
    x: np.ndarray
    chosen: Mapping[str, Any] = field(default_factory=dict)
    model: Any = None

    @property
    def numbers(self) -> Preferences:
        """Everybody's wish to leave categories as they are."""
        schema = self.problem.schema
        levels = [name for name, level in zip(schema.names, schema.has_levels, strict=True) if level]
        return Preferences.none(schema, len(self.x)).freeze(*levels)

    @cached_property
    def people(self) -> Population:
        """Those who are refused, with their wish to change numbers only."""
        return self.problem.population(self.x, self.numbers)


def make_table(name: str) -> HareData:
    """The table of a data set of the study. Raises: DataError for another name, or where the raw file is absent."""
    makers = {"adult": _adult, "compas": _compas, "gmsc": _gmsc}
    if name not in makers:
        raise DataError(f"The study has no data set '{name}'. Choose one of {', '.join(makers)}.")
    return makers[name]()


def make_setting(table: HareData, classifier: str, seed: int, n: int, *, world: str = "") -> HareSetting:
    """Train a classifier on the training people and take the first n whom it refuses among the others.

    The order of those held back is drawn once, so that every seed asks nearly the same people; the classifier is
    trained anew for each seed, on four fifths of the training people, because the paper's rate of success differs
    from seed to seed. world: 'linear' for the
    causal graph of Give Me Some Credit with equations fitted by regression; '' for one where nothing follows.
    """
    if classifier not in MODELS:
        raise DataError(f"The study has no classifier '{classifier}'. Choose one of {', '.join(MODELS)}.")
    fit, rest = np.flatnonzero(~table.held_out), np.flatnonzero(table.held_out)
    taught = np.random.default_rng([_SPLIT, seed]).permutation(fit)[: round(_TAUGHT * len(fit))]
    model = _trained(table, classifier, np.sort(taught), seed)
    problem = Problem(
        table.schema,
        model,
        Target(favourable=1),
        data=table.x[fit],
        world=_world(table, world, fit),
        least_change=None,
    )
    yes = problem.reached(table.x[rest])[0]
    order = np.random.default_rng(_SPLIT + 1).permutation(len(rest))
    refused = rest[order[~yes[order]]][:n]
    chosen = {"accuracy": float((yes == table.y[rest]).mean()), "refused": float(1 - yes.mean())}
    rounded = {k: round(v, 4) for k, v in chosen.items()}
    return HareSetting(table, classifier, seed, problem, table.x[refused], rounded, model)


def _trained(table: HareData, classifier: str, rows: np.ndarray, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from wayforward.model import train
    from wayforward.model.zoo import without_convergence_warnings

    x, y = table.x[rows], table.y[rows].astype(int)
    if classifier in ("gb", "rf"):
        return train(classifier, table.schema, x, y, seed=seed)
    if classifier == "lr":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(x, y)
    if classifier == "lr-brief":
        return _brief(x, y, seed)
    small = len(x) < 10_000
    network = MLPClassifier(
        _HIDDEN,
        alpha=1e-3,
        batch_size=64 if small else 256,
        max_iter=60 if small else 15,
        early_stopping=True,
        n_iter_no_change=8 if small else 4,
        random_state=seed,
    )
    return without_convergence_warnings(lambda: make_pipeline(StandardScaler(), network).fit(x, y))


def _brief(x: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """A regression on numbers as they are, by few steps of RMSprop: weights of what is rare stay small.

    The benchmark's code trains so, at half the rate for each of two outputs, whose difference decides; for how long the
    paper does not say.
    """
    from sklearn.linear_model import LogisticRegression

    rng, rows, order = np.random.default_rng(seed), np.column_stack([x, np.ones(len(x))]), np.arange(len(x))
    weight, square = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for step in range(_BRIEF):
        at = step * _BATCH % len(x)
        if at < _BATCH:
            order = rng.permutation(len(x))
        some = order[at : at + _BATCH]
        slope = rows[some].T @ (1 / (1 + np.exp(-rows[some] @ weight)) - y[some]) / len(some)
        square = 0.99 * square + 0.01 * slope**2
        weight = weight - _RATE * slope / (np.sqrt(square) + 1e-8)
    model = LogisticRegression().fit(x[:1000], y[:1000])
    model.coef_, model.intercept_ = weight[None, :-1], weight[-1:]
    return model


def _world(table: HareData, name: str, fit: np.ndarray) -> World | None:
    if not name:
        return None
    if name != "linear" or table.name != "gmsc":
        raise DataError(f"There is no world '{name}' of '{table.name}' in the study. Use 'linear' with gmsc.")
    from wayforward.data import gmsc
    from wayforward.world import LinearWorld

    return LinearWorld.fit(gmsc.GRAPH, table.x[fit], table.schema)


# -- the three tables ----------------------------------------------------------------------------------------------

Columns = Mapping[str, np.ndarray]


def _made(
    name: str, numbers: Columns, binary: Columns, immutable: tuple[str, ...], y: np.ndarray
) -> HareData:
    """numbers: values that become [0, 1] by their least and greatest; binary: (N,) bool."""

    def acts(column: str) -> Any:
        return "immutable" if column in immutable else "actionable"

    features = [Feature(name=c, kind="real", low=0, high=1, actionability=acts(c)) for c in numbers]
    features += [Feature(name=c, kind="binary", levels=(0, 1), actionability=acts(c)) for c in binary]
    scaled = [(v - v.min()) / (v.max() - v.min()) for v in numbers.values()]
    x = np.column_stack([*scaled, *(v.astype(np.float64) for v in binary.values())])
    return HareData(name, Schema(tuple(features)), x, y)


def _adult() -> HareData:
    from wayforward.data import load

    data = load("adult")
    column, level = _reader(data)
    return _made(
        "adult",
        {
            "age": column("age"),
            "fnlwgt": np.asarray(data.extra["fnlwgt"], dtype=np.float64),
            "education_num": column(
                "education"
            ),  # the levels in order: one to one with the number of the source
            "capital_gain": column("capital_gain"),
            "capital_loss": column("capital_loss"),
            "hours_per_week": column("hours_per_week"),
        },
        {
            "workclass": level("workclass", "Private"),
            "marital_status": level(
                "marital_status", "Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"
            ),
            "occupation": level("occupation", "Exec-managerial", "Prof-specialty"),
            "relationship": level("relationship", "Husband"),
            "race": level("race", "White"),
            "sex": level("sex", "Male"),
            "native_country": level("native_country", "United-States"),
        },
        ("age", "fnlwgt", "relationship", "race", "sex", "native_country"),
        data.is_favourable,
    )


def _compas() -> HareData:
    """The task of the benchmark: will the score be high? Whether a person offended again is one of the features."""
    from wayforward.data import load

    data, again = load("compas", variant="score"), load("compas")
    column, level = _reader(data)
    return _made(
        "compas",
        {
            "age": column("age"),
            "two_year_recid": (~again.is_favourable).astype(np.float64),
            "priors_count": column("priors_count"),
            "length_of_stay": column("length_of_stay"),
        },
        {
            "c_charge_degree": level("c_charge_degree", "F"),
            "race": level("race", "African-American"),
            "sex": level("sex", "Male"),
        },
        ("age", "race", "sex"),
        data.is_favourable,
    )


def _gmsc() -> HareData:
    from wayforward.data import gmsc, load

    data = load("gmsc")
    column, _ = _reader(data)
    return _made(
        "gmsc",
        {name: column(name) for name in gmsc.NAMES},
        {},
        ("age", "NumberOfDependents"),
        data.is_favourable,
    )


def _reader(data: Any) -> Any:
    schema = data.schema

    def column(name: str) -> np.ndarray:
        return np.asarray(data.x[:, schema.index(name)])

    def level(name: str, *ones: str) -> np.ndarray:
        places = [schema[name].levels.index(one) for one in ones]
        return np.isin(column(name), places)

    return column, level
