"""MACE's Table 3: how much nearer the exact nearest counterfactual is than the nearest observed row.

Facts, not code, of public records of the paper: A.-H. Karimi, G. Barthe, B. Balle, I. Valera (2020), Model-Agnostic
Counterfactual Explanations for Consequential Decisions, AISTATS, arXiv:1905.11190. Credit's columns are those that
B. Ustun, A. Spangher, Y. Liu (2019) made of the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward_studies.firsts.original import SEPARATOR

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Schema

PEOPLE = 500
ROUND = 250  # people of a label are a multiple of it
TEST = {"adult": 6_601, "credit": 3_900}
DOLLAR = 32.75  # NT$
NORMS: dict[str, dict[str, Any]] = {"l0": {"l0": 1, "l1": 0}, "l1": {}, "linf": {"l1": 0, "linf": 1}}
IMPROVEMENT = "improvement"

AS_RUN, TODAY, KEEP = "as published", "lbfgs", "sex kept, age kept or higher"
_SEX, _AGE = ("Sex", "isMale"), ("Age", "AgeGroup")
CHECKED = 3  # people of a seed whom the solver of `mace` is asked about


@dataclass(frozen=True)
class Columns:
    """A table of n rows: values (n, d), levels as places among theirs; y: 1 is a yes.

    levels: how many a categorical or ordinal feature has. ordinal, whole: features that are so.
    """

    names: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    levels: Mapping[str, int]
    ordinal: tuple[str, ...]
    whole: tuple[str, ...]

    def coded(self, x: np.ndarray) -> np.ndarray:
        """Columns that the regression reads: numbers, one-hot levels, thermometers of ordinal levels."""
        out = []
        for j, name in enumerate(self.names):
            many = np.arange(self.levels.get(name, 0))
            if name in self.ordinal:
                out.append(x[:, j : j + 1] >= many)
            elif len(many) > 2:
                out.append(x[:, j : j + 1] == many)
            else:
                out.append(x[:, j : j + 1])
        return np.concatenate(out, axis=1).astype(float)

    def worth(self, weight: np.ndarray) -> dict[str, np.ndarray]:
        """What each level of a feature with levels adds to the score, and a number by unit, (levels or 1,)."""
        out, at = {}, 0
        for name in self.names:
            many = self.levels.get(name, 0)
            width = many if many > 2 or name in self.ordinal else 1
            part = weight[at : at + width]
            at += width
            if many == 2 and name not in self.ordinal:
                part = np.array([0.0, part[0]])
            out[name] = np.cumsum(part) if name in self.ordinal else part
        return out


@lru_cache(2)
def columns(name: str) -> Columns:
    """The processed table of a data set."""
    return _adult() if name == "adult" else _credit()


def _adult() -> Columns:
    from wayforward.data import load

    data = load("adult")
    at = {feature.name: data.x[:, j] for j, feature in enumerate(data.schema.features)}
    education = data.schema["education"].levels
    low, middle = education.index("7th-8th"), education.index("12th")
    level = np.select(
        [at["education"] <= low, at["education"] <= middle], [0, 1], at["education"] - middle + 1
    )
    us = data.schema["native_country"].levels.index("United-States")
    made = {
        "Sex": at["sex"], "Age": at["age"], "NativeCountry": (at["native_country"] == us).astype(float),
        "WorkClass": at["workclass"], "EducationNumber": at["education"] + 1, "EducationLevel": level,
        "MaritalStatus": at["marital_status"], "Occupation": at["occupation"], "Relationship": at["relationship"],
        "CapitalGain": at["capital_gain"], "CapitalLoss": at["capital_loss"], "HoursPerWeek": at["hours_per_week"],
    }  # fmt: skip
    levels = {
        name: int(made[name].max()) + 1
        for name in (
            "Sex",
            "NativeCountry",
            "WorkClass",
            "EducationLevel",
            "MaritalStatus",
            "Occupation",
            "Relationship",
        )
    }
    return Columns(
        tuple(made), np.column_stack(list(made.values())), data.is_favourable.astype(int), levels,
        ("EducationLevel",), ("Age", "EducationNumber", "HoursPerWeek"),
    )  # fmt: skip


def _credit() -> Columns:
    from wayforward.data import load

    data = load("default_credit", variant="raw-codes")

    def code(name: str) -> np.ndarray:
        levels = np.array([int(level) for level in data.schema[name].levels])
        return np.asarray(levels[data.x[:, data.schema.index(name)].astype(int)])

    def money(names: list[str]) -> np.ndarray:
        return np.round(data.x[:, [data.schema.index(name) for name in names]] / DOLLAR, -1)

    bills, paid = (money([f"{kind}_AMT{i}" for i in range(1, 7)]) for kind in ("BILL", "PAY"))
    spent = bills / np.maximum(money(["LIMIT_BAL"]), 1)
    late = np.maximum(np.column_stack([code(f"PAY_{i}") for i in (0, 2, 3, 4, 5, 6)]), 0)
    overdue = np.column_stack([np.zeros(len(late)), late > 0])
    age = data.x[:, data.schema.index("AGE")]
    made = {
        "isMale": code("SEX") == 1,
        "isMarried": code("MARRIAGE") == 1,
        "AgeGroup": np.digitize(age, (25, 40, 60)),
        "EducationLevel": np.select([code("EDUCATION") == k for k in (3, 2, 1)], (1, 2, 3), 0),
        "MaxBillAmountOverLast6Months": np.maximum(bills.max(1), 0),
        "MaxPaymentAmountOverLast6Months": np.maximum(paid.max(1), 0),
        "MonthsWithZeroBalanceOverLast6Months": (paid > bills).sum(1),
        "MonthsWithLowSpendingOverLast6Months": (spent < 0.2).sum(1),
        "MonthsWithHighSpendingOverLast6Months": (spent > 0.8).sum(1),
        "MostRecentBillAmount": np.maximum(bills[:, 0], 0),
        "MostRecentPaymentAmount": np.maximum(paid[:, 0], 0),
        "TotalOverdueCounts": (np.diff(overdue, axis=1) > 0).sum(1),
        "TotalMonthsOverdue": late.sum(1),
        "HasHistoryOfOverduePayments": late.sum(1) > 0,
    }
    known = np.isin(code("MARRIAGE"), (1, 2))
    whole = tuple(name for name in made if name.startswith(("Months", "Total")))
    levels = {
        "isMale": 2,
        "isMarried": 2,
        "AgeGroup": 4,
        "EducationLevel": 4,
        "HasHistoryOfOverduePayments": 2,
    }
    x = np.column_stack(list(made.values())).astype(float)[known]
    return Columns(
        tuple(made), x, data.is_favourable.astype(int)[known], levels, ("AgeGroup", "EducationLevel"), whole
    )


def balanced(table: Columns, rng: np.random.Generator) -> np.ndarray:
    """Rows, drawn and mixed, as many of one label as of the other."""
    each = min(np.bincount(table.y)) // ROUND * ROUND
    some = [rng.permutation(np.flatnonzero(table.y == label))[:each] for label in (0, 1)]
    return rng.permutation(np.concatenate(some))


def asked(
    table: Columns, rows: np.ndarray, weight: np.ndarray, constant: float, keep: bool = False
) -> Problem:
    """The question: the regression read level by level, and every feature within the range of the drawn rows.

    keep: sex stays, and age only rises.
    """
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from wayforward.problem import Problem, Target

    schema = _schema(table, rows, keep)
    worth = table.worth(weight)
    with_levels = [name for name in table.names if name in table.levels]
    numbers = [name for name in table.names if name not in table.levels]
    known = [list(range(table.levels[name])) for name in with_levels]
    coder = ColumnTransformer(
        [
            ("levels", OneHotEncoder(categories=known), with_levels),
            ("numbers", "passthrough", numbers),
        ]
    )
    people = pd.DataFrame(table.x[rows], columns=list(table.names)).astype(dict.fromkeys(with_levels, int))
    model = make_pipeline(coder, LogisticRegression(max_iter=1))
    with warnings.catch_warnings(action="ignore"):  # it is told its weights
        model.fit(people.iloc[:200], np.arange(200) % 2)
    model[-1].coef_ = np.concatenate([worth[name] for name in (*with_levels, *numbers)])[None]
    model[-1].intercept_ = np.array([constant])
    return Problem(schema, model, Target(favourable=1), data=people, least_change=None)


def _schema(table: Columns, rows: np.ndarray, keep: bool) -> Schema:
    from wayforward.schema import Feature, Schema

    x = table.x[rows]

    def feature(j: int, name: str) -> Feature:
        acts: dict[str, Any] = {}
        if keep and name in _SEX:
            acts = {"actionability": "immutable"}
        if keep and name in _AGE:
            acts = {"direction": "increase"}
        if name in table.levels:
            kind = (
                "ordinal" if name in table.ordinal else "binary" if table.levels[name] == 2 else "categorical"
            )
            return Feature(name=name, kind=kind, levels=tuple(range(table.levels[name])), **acts)  # type: ignore[arg-type]
        low, high = float(x[:, j].min()), float(x[:, j].max())
        if name in table.whole:
            return Feature(name=name, kind="integer", low=int(low), high=int(high), **acts)
        return Feature(name=name, kind="real", low=low, high=high, **acts)

    return Schema(tuple(feature(j, name) for j, name in enumerate(table.names)))


def steps(table: Columns, rows: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Changes of features as shares of their ranges; another level of a categorical one counts 1."""
    width = np.ptp(table.x[rows], axis=0)
    named = [name in table.levels and name not in table.ordinal for name in table.names]
    off = np.abs(after - before)
    return np.asarray(np.where(named, off > 0, off / width))


def distance(step: np.ndarray, norm: str) -> np.ndarray:
    """Of steps (..., d); l0 and l1 are means over features."""
    of = {"l0": (step > 1e-9).mean(-1), "l1": step.mean(-1), "linf": step.max(-1)}
    return np.asarray(of[norm])


def nearest_observed(
    table: Columns, rows: np.ndarray, people: np.ndarray, accepted: np.ndarray, keep: bool
) -> dict[str, np.ndarray]:
    """The least distance of each person (m, d) to an accepted row (k, d), by norm; inf where none may be."""
    out = {norm: np.full(len(people), np.inf) for norm in NORMS}
    for i, person in enumerate(people):
        those = accepted
        if keep:
            sex, age = (
                next(j for j, name in enumerate(table.names) if name in names) for names in (_SEX, _AGE)
            )
            those = accepted[(accepted[:, sex] == person[sex]) & (accepted[:, age] >= person[age])]
        if len(those):
            step = steps(table, rows, person, those)
            for norm in NORMS:
                out[norm][i] = distance(step, norm).min()
    return out


def measured(seed: int, n: int | None) -> dict[str, float]:
    """Everything of one seed, which draws the balanced rows and their parts."""
    from sklearn.linear_model import LogisticRegression

    out: dict[str, float] = {}
    for name, size in TEST.items():
        table = columns(name)
        rng = np.random.default_rng([1, seed])
        rows = balanced(table, rng)
        train, test = rows[size:], rows[:size]
        for way in (AS_RUN, TODAY, KEEP):
            model = LogisticRegression(solver="lbfgs" if way == TODAY else "liblinear")
            with warnings.catch_warnings(
                action="ignore"
            ):  # lbfgs stops after its hundred steps, as it does by default
                model.fit(table.coded(table.x[train]), table.y[train])
            got = _improvements(table, rows, test, model.coef_[0], float(model.intercept_[0]), n, way)
            out |= {SEPARATOR.join((name, key)): value for key, value in got.items()}
            out[f"{name} accuracy, {way}"] = model.score(table.coded(table.x[test]), table.y[test])
    return {key: float(value) for key, value in out.items()}


def _improvements(
    table: Columns,
    rows: np.ndarray,
    test: np.ndarray,
    weight: np.ndarray,
    constant: float,
    n: int | None,
    way: str,
) -> dict[str, float]:
    from wayforward.methods import recommend
    from wayforward.problem.cost import LpMix
    from wayforward.schema.tables import SchemaWarning

    keep = way == KEEP
    problem = asked(table, rows, weight, constant, keep)
    x = table.x[test]
    yes = problem.reached(x)[0]
    people, accepted = x[~yes][:n], x[yes]
    seen = nearest_observed(table, rows, people, accepted, keep)
    out: dict[str, float] = {}
    for norm, cost in NORMS.items():
        question = problem.with_(cost=LpMix(**cost))
        with warnings.catch_warnings(action="ignore", category=SchemaWarning):  # all may change, as published
            got = recommend(question, people, "actionable-recourse")
            solved = recommend(question, people[:CHECKED], "mace") if way == AS_RUN else None
        near = distance(steps(table, rows, people, got.after[:, 0]), norm)
        some = got.found[:, 0] & np.isfinite(seen[norm])
        out[SEPARATOR.join((norm, way, IMPROVEMENT))] = 100 * (1 - near / seen[norm])[some].mean()
        out[SEPARATOR.join((norm, way, "left out"))] = float((~some).sum())
        if solved is not None:  # by how much the solver's answers are dearer, in per cent
            out[f"{norm} solver"] = 100 * (solved.cost[:, 0] / got.cost[:CHECKED, 0] - 1).mean()
    return out
