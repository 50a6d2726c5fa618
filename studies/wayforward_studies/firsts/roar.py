"""ROAR's Table 1, correction shift: recourse that holds when weights shift, on two tables of German Credit.

Facts, not code, of public records of the paper: S. Upadhyay, S. Joshi, H. Lakkaraju (2021), Towards Robust and
Reliable Algorithmic Recourse, NeurIPS, arXiv:2102.13620. For the four features in use the corrected table is the same
1,000 rows in another order, which is drawn here.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wayforward_studies.firsts.original import SEPARATOR

FOLDS, ROWS = 5, 1000
DELTA, PRICES = (
    0.1,
    tuple(np.arange(1, 11) / 10),
)  # how far weights may shift; prices of a cost to choose from
RATE, STILL, MOST = (
    1e-3,
    1e-4,
    20_000,
)  # of Adam: its rate, the change of the loss that ends it, steps at most
SAMPLES, WIDTH, DIGITS = (
    5000,
    0.75,
    4,
)  # of LIME: rows, width of its kernel by the root of the columns, digits
COMPARISONS, REGULAR = 50, 0.01  # of each ordered pair of features, and the regularisation of their costs
WIDE = 10.0  # how far the library's own method may move a column

Score = Callable[[np.ndarray], np.ndarray]  # (m, 7) -> (m,) log-odds of a yes


@lru_cache(1)
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns (1000, 7), three numbers in deviations and four one-hot; labels; the order in which folds are cut."""
    import pandas as pd

    from wayforward.data import load

    data = load("german")
    names = ("duration_months", "credit_amount", "age")
    numbers = data.x[:, [data.schema.index(name) for name in names]]
    status = data.x[:, data.schema.index("personal_status_sex")]
    levels = np.arange(len(data.schema["personal_status_sex"].levels))
    scaled = (numbers - numbers.mean(0)) / numbers.std(0)
    x = np.column_stack([scaled, (status[:, None] == levels).astype(float)])
    order = pd.Series(range(ROWS)).sample(frac=1, random_state=1).to_numpy()
    return x, data.is_favourable.astype(int), order


def folds(order: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows (training, test) of each of the consecutive parts."""
    parts = np.split(order, FOLDS)
    return [(np.concatenate([*parts[:i], *parts[i + 1 :]]), parts[i]) for i in range(FOLDS)]


def pair_costs(seed: int, d: int = 7) -> np.ndarray:
    """Costs (d,) by Bradley and Terry of features whose comparisons fall as a coin does; the least is 0."""
    rng = np.random.default_rng([2, seed])
    wins = np.zeros((d, d))
    for i, j in zip(*np.nonzero(~np.eye(d, dtype=bool)), strict=True):
        won = rng.binomial(COMPARISONS, 0.5)
        wins[i, j] += won
        wins[j, i] += COMPARISONS - won
    wins += REGULAR * (1 - np.eye(d))
    strength = np.ones(d)
    for _ in range(1000):  # minorise and maximise
        met = (wins + wins.T) / (strength[:, None] + strength)
        strength = wins.sum(1) / met.sum(1)
        strength /= strength.mean()
    return np.asarray(np.log(strength) - np.log(strength).min())


@dataclass(frozen=True)
class Lines:
    """A linear score for each of m rows: weight (m, d) and constant (m,)."""

    weight: np.ndarray
    constant: np.ndarray

    def of(self, some: np.ndarray) -> Lines:
        """Of some of the rows."""
        return Lines(self.weight[some], self.constant[some])


def descend(x: np.ndarray, line: Lines, price: np.ndarray) -> np.ndarray:
    """Where Adam leads rows x (m, d) from themselves: the worst case's cross-entropy and a price (m, d) on distance.

    The worst case over weights and constant within DELTA is the score less DELTA (|x|_1 + 1). A row ends where its loss
    changes by no more than STILL.
    """
    out = x.copy()
    live = np.arange(len(x))
    now, first, second = x.copy(), np.zeros_like(x), np.zeros_like(x)
    start, before = x, np.full(len(x), np.inf)
    for t in range(1, MOST + 1):
        score = (now * line.weight).sum(1) + line.constant - DELTA * (np.abs(now).sum(1) + 1)
        loss = np.logaddexp(0, -score) + (price * np.abs(now - start)).sum(1)
        moving = np.abs(before - loss) > STILL
        before = loss
        if not moving.all():
            out[live[~moving]] = now[~moving]
            live, now, first, second, start, price, before, score = (
                part[moving] for part in (live, now, first, second, start, price, before, score)
            )
            line = line.of(moving)
            if not len(live):
                break
        slope = price * np.sign(now - start)
        slope -= (line.weight - DELTA * np.sign(now)) / (1 + np.exp(score))[:, None]
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        now = now - RATE * first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    out[live] = now
    return out


def surrogates(
    score: Score, rows: np.ndarray, train: np.ndarray, rng: np.random.Generator
) -> tuple[Lines, Lines]:
    """LIME's ridge around each row (m, d) of the log-odds and of the chance of a yes.

    Coefficients are those of deviations of the training columns, as the public code takes them.
    """
    middle, deviation = train.mean(0), _deviation(train)
    d = rows.shape[1]
    weight, constant = np.empty((2, *rows.shape)), np.empty((2, len(rows)))
    for i, row in enumerate(rows):
        near = rng.normal(size=(SAMPLES, d))
        near[0] = (row - middle) / deviation
        told = score(near * deviation + middle)
        told = np.stack([told, 1 / (1 + np.exp(-told))], axis=1)
        by = np.exp(-((near - near[0]) ** 2).sum(1) / (2 * WIDTH**2 * d))
        centre, mean = by @ near / by.sum(), by @ told / by.sum()
        off = near - centre
        found = np.linalg.solve((off.T * by) @ off + np.eye(d), (off.T * by) @ (told - mean))
        weight[:, i], constant[:, i] = found.T, mean - centre @ found
    weight = np.round(weight, DIGITS)
    return Lines(weight[0], constant[0]), Lines(weight[1], constant[1])


def _deviation(train: np.ndarray) -> np.ndarray:
    deviation = train.std(0)
    return np.where(deviation > 0, deviation, 1.0)


def logistic(x: np.ndarray, y: np.ndarray) -> tuple[Score, Lines, object]:
    """A regression's score, its one line, and itself."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(x, y)
    line = Lines(model.coef_, model.intercept_)
    return model.decision_function, line, model


def network(x: np.ndarray, y: np.ndarray, seed: int) -> tuple[Score, object]:
    """A network of 50, 100 and 200 rectified units: its log-odds, and itself with a sigmoid at the end."""
    import torch

    sizes = (x.shape[1], 50, 100, 200)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [
            layer for a, b in itertools.pairwise(sizes) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())
        ]
        body = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))
    rows, told = (torch.tensor(part, dtype=torch.float32) for part in (x, y))
    steps = torch.optim.Adam(body.parameters())
    for _ in range(100):
        steps.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(body(rows)[:, 0], told).backward()
        steps.step()

    def score(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(body(torch.tensor(rows, dtype=torch.float32))[:, 0], dtype=np.float64)

    return score, torch.nn.Sequential(*body, torch.nn.Sigmoid())


def price_of(valid: np.ndarray) -> int:
    """The place of the price before the first at which fewer are valid, of shares (prices,)."""
    falls = np.flatnonzero(np.diff(valid) < 0)
    return int(falls[0]) if falls.size else len(valid) - 1


@dataclass(frozen=True)
class Fold:
    """One fold: scores of both models, the old one itself, refused rows of its test and of its training part."""

    old: Score
    new: Score
    model: object
    train: np.ndarray
    test_refused: np.ndarray
    train_refused: np.ndarray


def of_all(parts: list[Fold]) -> tuple[np.ndarray, np.ndarray]:
    """Refused test people of all folds: whose fold each is of, and their rows."""
    at = np.concatenate([np.full(len(one.test_refused), i) for i, one in enumerate(parts)])
    return at, np.concatenate([one.test_refused for one in parts])


def answered(
    parts: list[Fold], test: list[Lines], train: list[Lines] | None, cost: np.ndarray
) -> dict[str, float]:
    """Means over folds of cost and validity, and spreads. train: lines to choose a price by; None: the first."""
    at, x = of_all(parts)
    chosen = np.full(FOLDS, PRICES[0])
    if train is not None:
        found = _paths(parts, train, cost)
        chosen = np.array([PRICES[price_of(valid)] for valid in found])
    after = descend(x, joined(test), chosen[at][:, None] * cost)
    return means(parts, at, x, after, cost) | {"price": float(chosen.mean())}


def _paths(parts: list[Fold], train: list[Lines], cost: np.ndarray) -> np.ndarray:
    """The share of each fold's refused training people whom each price turns, (folds, prices)."""
    many = [len(one.train_refused) for one in parts]
    x = np.concatenate([one.train_refused for one in parts])
    line = joined(train)
    tiled = Lines(np.tile(line.weight, (len(PRICES), 1)), np.tile(line.constant, len(PRICES)))
    price = np.repeat(PRICES, len(x))[:, None] * cost
    after = descend(np.tile(x, (len(PRICES), 1)), tiled, price).reshape(len(PRICES), len(x), -1)
    ends = np.cumsum([0, *many])
    return np.array(
        [
            [(one.old(after[k, a:b]) > 0).mean() for k in range(len(PRICES))]
            for one, (a, b) in zip(parts, itertools.pairwise(ends), strict=True)
        ]
    )


def joined(lines: list[Lines]) -> Lines:
    """Those of all folds, one after another."""
    return Lines(
        np.concatenate([one.weight for one in lines]), np.concatenate([one.constant for one in lines])
    )


def means(
    parts: list[Fold], at: np.ndarray, x: np.ndarray, after: np.ndarray, cost: np.ndarray
) -> dict[str, float]:
    """Means over folds of the cost and of validity by the old and the new model, and their spreads over folds."""
    each = []
    for i, one in enumerate(parts):
        here = at == i
        moved = (cost * np.abs(after[here] - x[here])).sum(1).mean()
        each.append([moved, (one.old(after[here]) > 0).mean(), (one.new(after[here]) > 0).mean()])
    values = np.array(each)
    out = dict(zip(MEASURES, values.mean(0), strict=True))
    return out | dict(zip((f"{name}, spread" for name in MEASURES), values.std(0), strict=True))


def library(parts: list[Fold], cost: np.ndarray) -> dict[str, float]:
    """The same of the library's `roar`: the least distance at which the worst score turns the decision."""
    from wayforward.methods import recommend
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem, Target
    from wayforward.schema import Feature, Schema
    from wayforward.schema.tables import SchemaWarning

    d = len(cost)
    schema = Schema(tuple(Feature(name=f"column {j}", kind="real", low=-WIDE, high=WIDE) for j in range(d)))
    found = []
    for one in parts:
        problem = Problem(schema, one.model, Target(favourable=1), data=one.train, least_change=None)
        x = one.test_refused
        # a weight is above 0: what is free costs next to nothing
        wish = Preferences.none(schema, len(x)).weigh(
            {f"column {j}": max(float(cost[j]), 1e-3) for j in range(d)}
        )
        with warnings.catch_warnings(action="ignore", category=SchemaWarning):  # all may move, as published
            got = recommend(problem, x, "roar", preferences=wish, rho=DELTA, bias=True)
        found.append(np.where(got.found, got.after[:, 0], x))
    at, x = of_all(parts)
    return means(parts, at, x, np.concatenate(found), cost)


def measured(seed: int, n: int | None) -> dict[str, float]:
    """Everything of one seed: an order of the corrected table, costs of features, networks and LIME's samples."""
    x, y, order = table()
    other = np.random.default_rng([1, seed]).permutation(ROWS)
    costs = {"l1": np.ones(x.shape[1]), "pfc": pair_costs(seed, x.shape[1])}
    out: dict[str, float] = {}
    for kind in ("linear", "network"):
        parts = []
        for (train, test), (later, _) in zip(folds(order), folds(other), strict=True):
            if kind == "linear":
                (old, _, model), (new, *_) = logistic(x[train], y[train]), logistic(x[later], y[later])
            else:
                (old, model), (new, _) = network(x[train], y[train], seed), network(x[later], y[later], seed)
            refused = [rows[old(rows) < 0][:n] for rows in (x[test], x[train])]
            out[f"{kind} refused"] = out.get(f"{kind} refused", 0.0) + len(refused[0]) / FOLDS
            parts.append(Fold(old, new, model, x[train], *refused))
        ways = _linear(parts) if kind == "linear" else _local(parts, seed)
        for name, cost in costs.items():
            for way, (test_lines, train_lines) in ways.items():
                got = answered(parts, test_lines, train_lines, cost)
                out |= {SEPARATOR.join((kind, name, way, key)): value for key, value in got.items()}
            got = library(parts, cost)
            out |= {SEPARATOR.join((kind, name, LIBRARY, key)): value for key, value in got.items()}
    return {key: float(value) for key, value in out.items()}


Ways = Mapping[str, tuple[list[Lines], list[Lines] | None]]


def _linear(parts: list[Fold]) -> Ways:
    lines = [
        [
            Lines(np.repeat(one.model.coef_, len(rows), axis=0), np.repeat(one.model.intercept_, len(rows)))  # type: ignore[attr-defined]
            for one, rows in zip(parts, part, strict=True)
        ]
        for part in ([one.test_refused for one in parts], [one.train_refused for one in parts])
    ]
    return {AS_RUN: (lines[0], lines[1]), FIXED: (lines[0], None)}


def _local(parts: list[Fold], seed: int) -> Ways:
    rng = np.random.default_rng([3, seed])

    both = [
        [surrogates(one.old, getattr(one, part), one.train, rng) for one in parts]
        for part in ("test_refused", "train_refused")
    ]
    logs, shares = ([[lines[k] for lines in part] for part in both] for k in (0, 1))
    own = [[_own_units(line, one.train) for line, one in zip(lines, parts, strict=True)] for lines in logs]
    single = [[_largest(line) for line in lines] for lines in shares]
    return {
        AS_RUN: (logs[0], logs[1]),
        FIXED: (logs[0], None),
        UNITS: (own[0], own[1]),
        CHANCES: (shares[0], shares[1]),
        SINGLE: (single[0], single[1]),
    }


def _own_units(line: Lines, train: np.ndarray) -> Lines:
    """The same line over the columns themselves."""
    weight = line.weight / _deviation(train)
    return Lines(weight, line.constant - weight @ train.mean(0))


def _largest(line: Lines) -> Lines:
    """The largest coefficient of each line in the place of all."""
    at = np.abs(line.weight).argmax(1)
    one = line.weight[np.arange(len(at)), at]
    return Lines(np.repeat(one[:, None], line.weight.shape[1], axis=1), line.constant)


MEASURES = ("cost", "validity, old model", "validity, new model")
AS_RUN, FIXED, UNITS, CHANCES, SINGLE, LIBRARY = (
    "equations",
    "price of .1",
    "LIME in the columns' units",
    "LIME of chances",
    "one coefficient",
    "wayforward's roar",
)
