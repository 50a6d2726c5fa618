"""Hand-made linear problems: scores that a person can add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from wayforward import Problem, Schema, Target


def build(schema: Schema, bias: float, weights: Mapping[str, float | Sequence[float]]) -> Any:
    """A fitted classifier whose log-odds are bias + weight x value (numbers) or + the weight of the level."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers = [f.name for f in schema.features if not f.has_levels]
    levels = [f for f in schema.features if f.has_levels]
    middle = schema.snap(np.where(np.isfinite(schema.low), schema.low, 0.0))
    frame = schema.decode(np.stack([middle, middle]), like="pandas")
    head = LogisticRegression()
    model: Any = head
    if levels:  # numbers alone need no step before, each asking of which takes as long as a small search
        coder = OneHotEncoder(categories=[list(f.levels) for f in levels])
        parts: list[Any] = [("numbers", "passthrough", numbers)] if numbers else []
        parts.append(("levels", coder, [f.name for f in levels]))
        model = make_pipeline(ColumnTransformer(parts), head)
    model.fit(frame, [0, 1])
    coef = [float(weights.get(name, 0.0)) for name in numbers]  # type: ignore[arg-type]
    for f in levels:
        coef += list(weights.get(f.name, [0.0] * f.n_levels))  # type: ignore[arg-type]
    head.coef_, head.intercept_ = np.array([coef]), np.array([float(bias)])
    return model


@pytest.fixture(scope="session")
def linear_model() -> Callable[..., Any]:
    """linear_model(schema, bias, weights): the classifier alone."""
    return build


@pytest.fixture(scope="session")
def linear() -> Callable[..., Problem]:
    """linear(schema, bias, weights, data=None, **problem): yes where the score is at least 0."""

    def make(
        schema: Schema, bias: float, weights: Mapping[str, Any], data: Any = None, **more: Any
    ) -> Problem:
        target = more.pop("target", Target(1, threshold=0.5))
        return Problem(schema, build(schema, bias, weights), target, data=data, **more)

    return make


@pytest.fixture(scope="session")
def three_stumps() -> Callable[..., Problem]:
    """three_stumps(kind="real", **problem): F-FOR3, stumps x1 > 2, x2 > 3, x1 > 4.5 on two features from 0 to 10."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    from wayforward import Feature
    from wayforward.problem import LpMix

    def make(kind: Any = "real", high: float = 10.0, **more: Any) -> Problem:
        schema = Schema(tuple(Feature(name=n, kind=kind, low=0, high=high) for n in ("x1", "x2")))
        values = np.arange(0, high + 0.5)
        grid = np.stack(np.meshgrid(values, values), -1).reshape(-1, 2)
        forest = RandomForestClassifier(3, max_depth=1, random_state=0)
        forest.fit(schema.decode(grid, like="pandas"), np.arange(len(grid)) % 2)
        for at, (j, cut) in enumerate(((0, 2.0), (1, 3.0), (0, 4.5))):
            rows = np.zeros((2, 2))
            rows[:, j] = cut - 0.5, cut + 0.5
            forest.estimators_[at] = DecisionTreeClassifier(max_depth=1).fit(rows, [0, 1])
        return Problem(schema, forest, Target(1), data=grid, **{"cost": LpMix(), **more})

    return make


@pytest.fixture(scope="session")
def absolute_value() -> Callable[[Any], Problem]:
    """absolute_value(cost): F-RELU, a yes where |x1 - x2| >= .5 by two units, on two features from -2 to 2."""
    from sklearn.neural_network import MLPClassifier

    from wayforward import Feature

    def make(cost: Any) -> Problem:
        schema = Schema(tuple(Feature(name=n, kind="real", low=-2, high=2) for n in ("x1", "x2")))
        data = np.random.default_rng(0).uniform(-2, 2, (60, 2))
        net = MLPClassifier((2,), max_iter=1).fit(data, np.arange(60) % 2)
        net.coefs_ = [np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((2, 1))]
        net.intercepts_ = [np.zeros(2), np.array([-0.5])]
        return Problem(schema, net, Target(1), data=data, cost=cost)

    return make
