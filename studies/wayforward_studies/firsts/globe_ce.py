"""GLOBE-CE's notebook of German Credit: one direction for everybody refused, or a few rules, and whom they turn.

Facts, not code, of the authors' public repository: D. Ley, S. Mishra, D. Magazzeni (2023), GLOBE-CE: A
Translation-Based Approach for Global Counterfactual Explanations, ICML.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward_studies.firsts.original import SEPARATOR

if TYPE_CHECKING:
    from wayforward.impact.summaries import Summariser
    from wayforward.problem import Population

NUMBERS = ("duration_months", "credit_amount", "age")
TRAIN, BINS = 800, 10  # the first rows of the file train; a number costs its change in tenths of its range
SAMPLES, MAGNITUDE, WIDTH = 1000, 2.0, 2  # directions, their cost, and how many features one moves
SCALARS, FARTHEST, SERVED = 1000, 100.0, 0.999
LIMIT = 1000  # steps of the regression

MEASURES = ("coverage", "cost")
AS_RUN, CONVERGED, EARLY, ONE, WIDER, LIBRARY, OPEN = (
    "as published", "regression to its end", "regression after 300 steps", "one feature", "three features",
    "wayforward's globe-ce", "open form",
)  # fmt: skip
DRAWS = 20  # more directions of a seed, for how far their numbers lie apart


@dataclass(frozen=True)
class Linear:
    """A regression feature by feature: worth of each level, slope of each number by its range's tenth, a constant."""

    worth: tuple[np.ndarray, ...]
    slope: np.ndarray
    constant: float


@dataclass(frozen=True)
class People:
    """Refused people: places of their levels (n, features with levels), and score (n,), above 0 a yes."""

    level: np.ndarray
    score: np.ndarray


@lru_cache(1)
def table() -> tuple[np.ndarray, np.ndarray, tuple[int, ...], np.ndarray]:
    """Levels (1000, 17) as places, numbers (1000, 3), how many levels each has, and labels."""
    from wayforward.data import load

    data = load("german")
    at = [data.schema.index(name) for name in NUMBERS]
    others = [j for j in range(data.schema.d) if j not in at]
    places, many = [], []
    for j in others:
        values, place = np.unique(data.x[:, j], return_inverse=True)  # a level nobody has is no column
        places.append(place)
        many.append(len(values))
    return np.column_stack(places), data.x[:, at], tuple(many), data.is_favourable.astype(int)


def coded(level: np.ndarray, numbers: np.ndarray, many: tuple[int, ...]) -> np.ndarray:
    """One-hot columns and numbers."""
    hot = [level[:, j : j + 1] == np.arange(k) for j, k in enumerate(many)]
    return np.concatenate([*hot, numbers], axis=1).astype(float)


def moved(
    people: People, model: Linear, hot: list[np.ndarray], number: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and costs (s, n) after translations: hot, (s, levels) a feature, and number (s, 3), in tenths of ranges.

    A person takes the level whose column is largest once the translation is added to their own one-hot columns.
    """
    score = people.score + (number @ model.slope)[:, None]
    cost = np.repeat(np.abs(number).sum(1)[:, None], len(people.score), axis=1)
    for j, add in enumerate(hot):
        best, own = add.argmax(1), people.level[:, j]
        goes = add.max(1)[:, None] > add[:, own] + 1
        score = score + np.where(goes, model.worth[j][best][:, None] - model.worth[j][own], 0.0)
        cost = cost + goes
    return score, cost


def sampled(
    many: tuple[int, ...], width: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], np.ndarray]:
    """Directions: `width` features by chance, uniform shares of all their columns, numbers up or down, one cost."""
    d = len(many) + len(NUMBERS)
    use = np.argsort(rng.random((SAMPLES, d)), axis=1).argsort(1) < width
    hot = [rng.random((SAMPLES, k)) * use[:, j : j + 1] for j, k in enumerate(many)]
    sign = rng.choice([-1, 1], (SAMPLES, len(NUMBERS)))
    number = rng.random((SAMPLES, len(NUMBERS))) * use[:, len(many) :] * sign
    total = sum(part.sum(1) for part in hot) + np.abs(number).sum(1)
    share = (MAGNITUDE / np.maximum(total, 1e-12))[:, None]
    return [part * share / 0.5 for part in hot], number * share  # a change of level is two changes of a half


def explained(
    people: People, model: Linear, many: tuple[int, ...], width: int, seed: int
) -> dict[str, float]:
    """The direction that turns most people at one cost, the cheaper of two; then each person as far as they need."""
    hot, number = sampled(many, width, np.random.default_rng([1, seed]))
    score, cost = moved(people, model, hot, number)
    yes = score > 0
    with np.errstate(invalid="ignore"):
        mean = np.where(yes, cost, 0.0).sum(1) / yes.sum(1)
    best = np.lexsort((mean, -yes.sum(1)))[0]

    def along(far: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = far[:, None]
        return moved(people, model, [scale * part[best] for part in hot], scale * number[best])

    top = 1.0
    while top < FARTHEST and (along(np.array([top]))[0] > 0).mean() < SERVED:
        top *= 2
    low = top / 2
    for _ in range(60):
        middle = (low + top) / 2
        low, top = (low, middle) if (along(np.array([middle]))[0] > 0).mean() > SERVED else (middle, top)
    score, cost = along(np.linspace(0, max(top, 1.0), SCALARS))
    reached = np.asarray((score > 0).any(0))
    first = cost[(score > 0).argmax(0), np.arange(len(reached))]
    return {"coverage": 100 * reached.mean(), "cost": float(first[reached].mean())}


def fitted(solver: dict[str, Any]) -> tuple[People, Linear, np.ndarray, np.ndarray, dict[str, float]]:
    """A regression on the first rows, whom it refuses of them, and how right it is, in per cent."""
    from sklearn.linear_model import LogisticRegression

    level, numbers, many, y = table()
    x = coded(level, numbers, many)
    with warnings.catch_warnings(action="ignore"):  # it stops before its end, as published
        model = LogisticRegression(**solver).fit(x[:TRAIN], y[:TRAIN])
    said = model.predict(x)
    ends = np.cumsum((0, *many))
    weight = model.coef_[0]
    width = np.ptp(numbers[:TRAIN], axis=0) / BINS
    linear = Linear(
        tuple(weight[a:b] for a, b in itertools.pairwise(ends)),
        weight[ends[-1] :] * width,
        float(model.intercept_[0]),
    )
    refused = np.flatnonzero(said[:TRAIN] == 0)
    right = {
        "right_training": (said == y)[:TRAIN].mean(),
        "right_test": (said == y)[TRAIN:].mean(),
    }
    people = People(level[refused], model.decision_function(x[refused]))
    return people, linear, refused, weight, {key: 100 * float(value) for key, value in right.items()}


def asked(weight: np.ndarray, constant: float, refused: np.ndarray) -> Population:
    """The refused people as the library sees them: every feature moves, a tenth of a range costs as much as a level."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from wayforward.preferences import Preferences
    from wayforward.problem import Problem, Target
    from wayforward.schema import Feature, Schema

    level, numbers, many, _ = table()
    names = [f"feature {j}" for j in range(len(many))]
    features = [
        Feature(name=name, kind="binary" if k == 2 else "categorical", levels=tuple(range(k)))
        for name, k in zip(names, many, strict=True)
    ]
    features += [
        Feature(name=name, kind="real", low=float(v.min()), high=float(v.max()))
        for name, v in zip(NUMBERS, numbers[:TRAIN].T, strict=True)
    ]
    schema = Schema(tuple(features))
    columns = dict(zip(NUMBERS, numbers[:TRAIN].T, strict=True))
    people = pd.DataFrame(level[:TRAIN], columns=names).assign(**columns)
    hot = OneHotEncoder(categories=[list(range(k)) for k in many])
    coder = ColumnTransformer([("levels", hot, names), ("numbers", "passthrough", list(NUMBERS))])
    model = make_pipeline(coder, LogisticRegression(max_iter=1))
    with warnings.catch_warnings(action="ignore"):  # it is told its weights
        model.fit(people, np.arange(TRAIN) % 2)
    model[-1].coef_, model[-1].intercept_ = weight[None], np.array([constant])
    problem = Problem(schema, model, Target(favourable=1), data=people, least_change=None)
    x = problem.encode(people.iloc[refused])
    wish = Preferences.none(schema, len(x)).weigh(dict.fromkeys(NUMBERS, float(BINS)))
    return problem.population(x, wish)


def summarised(people: Population, method: Summariser, seed: int) -> dict[str, float]:
    """Whom the lines of a summariser turn, and what the cheapest that does costs them."""
    action, _ = method.learn(people, seed).actions(people)
    who, slot = np.nonzero(~np.isnan(action).all(2))
    got = people.evaluate(who, action[who, slot])
    cost = np.full(action.shape[:2], np.inf)
    cost[who, slot] = np.where(got.reached, got.cost, np.inf)
    least = cost.min(1, initial=np.inf)
    return {"coverage": 100 * np.isfinite(least).mean(), "cost": float(least[np.isfinite(least)].mean())}


def measured(seed: int, n: int | None) -> dict[str, float]:
    """Everything of one seed, which draws directions."""
    from wayforward.impact.summaries.ares import Ares
    from wayforward.impact.summaries.globe_ce import GlobeCe
    from wayforward.schema.tables import SchemaWarning

    many = table()[2]
    out: dict[str, float] = {}

    def note(method: str, way: str, got: dict[str, float]) -> None:
        out.update({SEPARATOR.join((method, way, key)): value for key, value in got.items()})

    for way, solver, width in (
        (AS_RUN, {"max_iter": LIMIT}, WIDTH),
        (CONVERGED, {"solver": "newton-cg", "max_iter": 10_000}, WIDTH),
        (EARLY, {"max_iter": 300}, WIDTH),
        (ONE, {"max_iter": LIMIT}, 1),
        (WIDER, {"max_iter": LIMIT}, 3),
    ):
        people, model, refused, weight, right = fitted(solver)
        people = People(people.level[:n], people.score[:n])
        note("GLOBE-CE", way, explained(people, model, many, width, seed))
        if way == AS_RUN:
            out |= {**right, "refused": float(len(refused))}
            draws = [explained(people, model, many, width, DRAWS * (seed + 1) + k) for k in range(DRAWS)]
            for key in MEASURES:
                low, middle, high = np.quantile([one[key] for one in draws], (0.1, 0.5, 0.9))
                out |= {f"{key}_tenth": low, f"{key}_median": middle, f"{key}_most": high}
            with warnings.catch_warnings(
                action="ignore", category=SchemaWarning
            ):  # all may move, as published
                asking = asked(weight, model.constant, refused[:n])
                note("GLOBE-CE", LIBRARY, summarised(asking, GlobeCe(lines=1, width=WIDTH), seed))
                rules = Ares(rules=20, width=7, subgroups=10, bins=BINS, support=0.16, form="published")
                note("AReS", AS_RUN, summarised(asking, rules, seed))
                more = Ares(rules=20, width=7, subgroups=10, bins=BINS, support=0.16)
                note("AReS", OPEN, summarised(asking, more, seed))
    return {key: float(value) for key, value in out.items()}
