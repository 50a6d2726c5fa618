"""Small problems with everything in them: every kind of feature, every actionability, rules, both worlds."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.streams import generator
from wayforward.world import SCM, World

KINDS = ("linear", "forest", "network", "label")
WORLDS = ("independent", "causal")

RULES = (
    "at most 4 changes",
    "after.housing != before.housing implies after.savings >= 1000",
    "after.savings <= 12 * after.income",
)


@dataclass(frozen=True)
class Case:
    """A problem and people (n, d), some of whom the model accepts already."""

    problem: Problem
    x: np.ndarray

    @property
    def refused(self) -> np.ndarray:
        """(n,) bool: the model says no."""
        return ~self.problem.reached(self.x)[0]


def random_schema(rng: np.random.Generator, *, rules: bool = True) -> Schema:
    """Nine features of a small credit world, every kind and actionability; steps and directions are drawn."""
    step = float(rng.choice([50.0, 100.0, 250.0]))
    region = tuple(f"region {i}" for i in range(int(rng.integers(3, 6))))
    savings: Any = "increase" if rng.random() < 0.5 else "any"
    education: Any = "increase" if rng.random() < 0.7 else "any"
    features = (
        Feature(name="age", kind="integer", low=18, high=80, unit="years", actionability="immutable"),
        Feature(
            name="income", kind="real", low=0, high=9000, step=step, unit="EUR/month", direction="increase"
        ),
        Feature(name="savings", kind="integer", low=0, high=50_000, unit="EUR", direction=savings),
        Feature(name="debt", kind="real", low=0, high=20_000, unit="EUR", direction="decrease"),
        Feature(
            name="education",
            kind="ordinal",
            levels=("none", "school", "degree", "doctor"),
            direction=education,
        ),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "free")),
        Feature(name="phone", kind="binary", levels=(0, 1)),
        Feature(name="region", kind="categorical", levels=region, actionability="immutable", sensitive=True),
        Feature(name="rating", kind="real", low=0, high=100, actionability="mutable"),
    )
    return Schema(features, RULES if rules else ())


def random_people(schema: Schema, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, d) people of `random_schema` who keep its rules, so that staying as they are is allowed."""
    low, span = schema.low, schema.span
    share = rng.beta(1.3, 2.5, size=(n, schema.d))
    x = np.where(schema.has_levels, 0.0, np.nan_to_num(low) + share * span)
    for j in np.flatnonzero(schema.has_levels):
        x[:, j] = rng.integers(0, schema.n_levels[j], size=n)
    at = schema.index
    x[:, at("savings")] = np.minimum(x[:, at("savings")], 12 * x[:, at("income")])
    x = schema.snap(x)
    x[:, at("savings")] = np.minimum(x[:, at("savings")], np.floor(12 * x[:, at("income")]))
    return x


def small_world() -> SCM:
    """Income feeds savings and the rating, debt lowers the rating; the other features have no causes here."""
    return SCM(
        {
            "income": "u",
            "savings": "0.5 * income + u",
            "debt": "u",
            "rating": "0.004 * income - 0.001 * debt + u",
        }
    )


def _score(schema: Schema, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(m, d) -> (m,): what the made-up lender likes, with one interaction."""
    at = {name: x[:, schema.index(name)] for name in schema.names}
    taste = rng.normal(0, 0.3, size=8)
    return np.asarray(
        (1.0 + taste[0]) * at["income"] / 1500
        + (0.8 + taste[1]) * at["savings"] / 12_000
        - (1.0 + taste[2]) * at["debt"] / 6000
        + 0.4 * at["education"]
        + 0.3 * (at["housing"] == 1)
        + 0.2 * at["phone"]
        + 0.02 * at["rating"]
        + 0.01 * at["age"]
        + 0.3 * (at["income"] > 3000) * at["education"]
    )


@dataclass(frozen=True)
class LabelModel:
    """The made-up lender of `random_labels` as a model that shows labels only: 1 above the bar."""

    schema: Schema
    seed: int
    bar: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,) labels."""
        score = _score(self.schema, rows, np.random.default_rng([self.seed, 7]))
        return np.asarray(score > self.bar).astype(np.int64)


def random_labels(schema: Schema, x: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (n,), 1 for two of five people of `random_schema`, and the scores (n,) behind them."""
    score = _score(schema, x, generator(seed, 7))
    return (score > np.quantile(score, 0.6)).astype(np.int64), score


def random_model(schema: Schema, x: np.ndarray, kind: str, seed: int = 0) -> Any:
    """A model of one of `KINDS`: logistic regression, forest, network, or a function that gives labels."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    from wayforward.model import train, wrap
    from wayforward.model.zoo import table_encoder

    y, score = random_labels(schema, x, seed)
    if kind == "forest":
        encoder = table_encoder(schema, scale=False, impute=False)
        forest = RandomForestClassifier(12, max_depth=6, min_samples_leaf=3, random_state=seed)
        return make_pipeline(encoder, forest).fit(schema.decode(x), y)
    if kind == "label":
        decide = LabelModel(schema, seed, float(np.quantile(score, 0.6)))
        return wrap(decide, schema, output="label", classes=(0, 1))
    return train({"linear": "lr", "network": "mlp"}[kind], schema, x, y, seed=seed)


@lru_cache(maxsize=64)
def _problem(kind: str, world: str, seed: int) -> tuple[Problem, np.random.Generator]:
    """Train a model and put the question once, for people of any number; the generator goes on with the people."""
    rng = generator(seed, KINDS.index(kind), WORLDS.index(world))
    schema = random_schema(rng)
    data = random_people(schema, 400, rng)
    what: World | None = small_world() if world == "causal" else None
    model = random_model(schema, data, kind, seed)
    return Problem(schema, model, Target(favourable=1), data=data, world=what), rng


@lru_cache(maxsize=64)
def case(kind: str = "linear", world: str = "independent", seed: int = 0, n: int = 40) -> Case:
    """A problem with a model of `kind` in one of `WORLDS`, and n people; the same for the same arguments."""
    problem, rng = _problem(kind, world, seed)
    return Case(problem, random_people(problem.schema, n, deepcopy(rng)))
