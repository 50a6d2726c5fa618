"""Compile what everyday methods need, so that no later process has to: `wayforward warm`, run once after installing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.methods import method
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema

METHODS = ("local-search", "nearest-observable", "nice", "growing-spheres", "wachter", "face")
_MODELS = {
    "lr": "sklearn",
    "mlp": "sklearn",
    "rf": "sklearn",
    "gb": "sklearn",
    "xgb": "xgboost",
    "lgbm": "lightgbm",
}


def compile_everything(methods: tuple[str, ...] = METHODS) -> Iterator[tuple[str, float]]:
    """Fit and warm methods for small models of every kind that is installed; yield (model, seconds) after each.

    Kernels are compiled for the kinds of numbers that they are given, so they are given small models of each kind.
    """
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Feature(name="amount", kind="real", low=0.0, high=100.0),
            Feature(name="count", kind="integer", low=0, high=20, step=1),
            Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
            Feature(name="member", kind="binary", levels=(0, 1), actionability="immutable"),
        )
    )
    x = np.column_stack(
        [rng.uniform(0, 100, 600), rng.integers(0, 21, 600), rng.integers(0, 3, 600), rng.integers(0, 2, 600)]
    ).astype(np.float64)
    # steps and slopes in all numbers, so that small and large trees grow
    y = (x[:, 0] / 50 + x[:, 1] / 10 + (x[:, 2] == 0) + rng.normal(0, 0.5, 600) > 2.6).astype(np.int64)
    for model, library in _MODELS.items():
        if find_spec(library) is None or find_spec("sklearn") is None:
            continue
        started = time.perf_counter()
        _warm(schema, model, x, y, methods)
        yield model, time.perf_counter() - started


def _warm(schema: Schema, model: str, x: np.ndarray, y: np.ndarray, methods: tuple[str, ...]) -> None:
    from wayforward.model import train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = Problem(schema, train(model, schema, x, y, seed=0), Target(1), data=x)
        for name in methods:
            try:
                method(name).fit(problem).warm()
            except WayforwardError:  # not for this kind of model
                continue
