"""Survival times to try things on: made-up people after a heart attack, by proportional hazards that are known."""

from __future__ import annotations

import numpy as np

from wayforward.public import public
from wayforward.schema import Feature, Schema
from wayforward.shapes import Floats, Mask
from wayforward.streams import generator

#: log hazard ratios: of a year, of an hour of exercise a week, of a point of blood pressure, of smoking, of the diet
PLANTED = {
    "age": 0.05, "exercise": -0.12, "pressure": 0.015, "smoker": {"yes": 0.7}, "diet": {"mixed": -0.2, "fresh": -0.5},
}  # fmt: skip
CENTRE = {"age": 60.0, "exercise": 3.0, "pressure": 140.0}
_SHAPE, _SCALE, _LEVELS = 1.3, 70.0, {"smoker": ("no", "yes"), "diet": ("poor", "mixed", "fresh")}


@public
def heart_schema() -> Schema:
    """What one can do after a heart attack: exercise, pressure, smoking and diet; nobody changes their age."""
    return Schema(
        (
            Feature(name="age", kind="integer", low=30, high=90, unit="years", actionability="immutable"),
            Feature(name="exercise", kind="real", low=0, high=12, step=0.5, unit="hours/week", direction="increase"),
            Feature(name="pressure", kind="integer", low=90, high=200, unit="mmHg", direction="decrease"),
            Feature(name="smoker", kind="binary", levels=_LEVELS["smoker"], direction="decrease"),
            Feature(name="diet", kind="ordinal", levels=_LEVELS["diet"], direction="increase"),
        )
    )  # fmt: skip


@public
def heart_patients(n: int = 400, seed: int = 0) -> tuple[dict[str, np.ndarray], Floats, Mask]:
    """Return n made-up people as columns, months until they died or were last seen (n,), and who died (n,) bool.

    Times are Weibull (shape 1.3) with hazards in proportion to exp of `PLANTED`; people are last seen after 12 to 120
    months, evenly.
    """
    rng = generator(seed)
    table: dict[str, np.ndarray] = {
        "age": rng.integers(40, 86, n),
        "exercise": np.round(rng.gamma(1.2, 1.5, n) * 2).clip(0, 24) / 2,
        "pressure": rng.normal(145, 15, n).round().clip(95, 195).astype(np.int64),
        "smoker": rng.choice(_LEVELS["smoker"], n, p=(0.65, 0.35)),
        "diet": rng.choice(_LEVELS["diet"], n, p=(0.4, 0.4, 0.2)),
    }
    risk = np.zeros(n)
    for name, weight in PLANTED.items():
        column = table[name]
        if isinstance(weight, dict):
            risk += np.array([weight.get(str(level), 0.0) for level in column])
        else:
            risk += float(weight) * (column - CENTRE[name])  # type: ignore[arg-type]
    months = _SCALE * (rng.exponential(size=n) * np.exp(-risk)) ** (1 / _SHAPE)
    seen = rng.uniform(12, 120, n)
    return table, np.minimum(months, seen), months <= seen


@public
def heart_baseline(months: Floats) -> Floats:
    """Return the share (T,) of people with a risk of 0 (`PLANTED`, `CENTRE`) who live so long."""
    return np.exp(-((np.asarray(months, np.float64) / _SCALE) ** _SHAPE))
