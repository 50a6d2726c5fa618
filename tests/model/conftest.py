"""A small mixed table, two of its columns with missing values, and labels that depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from wayforward.schema import Schema

NUMERIC = ["age", "income", "debt"]
LEVELS = ["job", "edu", "own"]


def table(n: int = 900, seed: int = 0, missing: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": np.round(rng.normal(3000, 900, n), 2),
            "job": rng.choice(["clerk", "nurse", "smith", "tutor"], n),
            "edu": rng.choice(["low", "mid", "high"], n),
            "own": rng.choice([0, 1], n),
            "debt": rng.exponential(500, n),
        }
    )
    if missing:
        frame.loc[rng.random(n) < 0.1, "debt"] = np.nan
        frame.loc[rng.random(n) < 0.05, "job"] = None
    return frame


def target(frame: pd.DataFrame) -> np.ndarray:
    score = frame.income / 900 + (frame.job == "nurse") * 2 + frame.own - frame.debt.fillna(900) / 600
    return (score + np.sin(frame.age) > 3.2).to_numpy().astype(int)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return table()


@pytest.fixture(scope="session")
def y(frame: pd.DataFrame) -> np.ndarray:
    return target(frame)


@pytest.fixture(scope="session")
def schema(frame: pd.DataFrame) -> Schema:
    return Schema.infer(frame, edu={"kind": "ordinal", "levels": ["low", "mid", "high"]})


@pytest.fixture(scope="session")
def full(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table without missing values."""
    return table(missing=False)


@pytest.fixture(scope="session")
def full_schema(full: pd.DataFrame) -> Schema:
    return Schema.infer(full, edu={"kind": "ordinal", "levels": ["low", "mid", "high"]})


@pytest.fixture(scope="session")
def trained(frame: pd.DataFrame, y: np.ndarray, schema: Schema) -> Callable[[str], Any]:
    """A model of the zoo by name, trained once a session."""
    from wayforward.model import train

    made: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in made:
            made[name] = train(name, schema, frame, y)
        return made[name]

    return get
