"""Hand-made linear problems: scores that a person can add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from wayforward import Problem, Schema, Target


def build(schema: Schema, bias: float, weights: Mapping[str, float | Sequence[float]]) -> Any:
    """A fitted pipeline whose log-odds are bias + weight x value (numbers) or + the weight of the level."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers = [f.name for f in schema.features if not f.has_levels]
    levels = [f for f in schema.features if f.has_levels]
    middle = schema.snap(np.where(np.isfinite(schema.low), schema.low, 0.0))
    frame = schema.decode(np.stack([middle, middle]), like="pandas")
    parts: list[Any] = [("numbers", "passthrough", numbers)] if numbers else []
    parts += [(f.name, OneHotEncoder(categories=[list(f.levels)]), [f.name]) for f in levels]
    model = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(frame, [0, 1])
    coef = [float(weights.get(name, 0.0)) for name in numbers]  # type: ignore[arg-type]
    for f in levels:
        coef += list(weights.get(f.name, [0.0] * f.n_levels))  # type: ignore[arg-type]
    model[-1].coef_, model[-1].intercept_ = np.array([coef]), np.array([float(bias)])
    return model


@pytest.fixture(scope="session")
def linear_model() -> Callable[..., Any]:
    """linear_model(schema, bias, weights): the pipeline alone."""
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
