"""Attribute inference: somebody's plan and all but one of their features are known; what is the one?

The attacker asks the service for the same person with each value that the feature may have, and holds the answers
against the plan: values whose answer is another are out. Among those left the likeliest is guessed, by a forest that
was taught on other people; the same forest alone is the yardstick. What the plan gives away is the difference.

Source: M. Fredrikson, S. Jha, T. Ristenpart (2015), Model inversion attacks, CCS; here with plans
instead of confidences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import Estimate, rate
from wayforward.impact.disclosure.service import Service
from wayforward.model.tables import encode_with, one_hot_of
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema import Schema
from wayforward.shapes import Mask, People, Rows

MOST_VALUES = 8
_AT_ONCE = 3  # attributes looked at where none is named


@public
@dataclass(frozen=True)
class AttributeInference:
    """How often the feature is guessed right, with the plan and without; left: values that the plan leaves, of all."""

    name: str
    people: int
    values: int
    with_plan: Estimate
    without: Estimate
    left: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "with_plan": self.with_plan.to_dict(), "without": self.without.to_dict()}


def candidates(schema: Schema) -> list[str]:
    """Return the features to infer: those marked as sensitive with few levels, else the first ones with few levels."""
    few = [f.name for f in schema.features if 2 <= f.n_levels <= MOST_VALUES]
    marked = [name for name in schema.sensitive if name in few]
    return (marked or few)[:_AT_ONCE]


def infer(
    service: Service, answer: Recourse, known: People, names: Sequence[str], most: int, seed: int
) -> list[AttributeInference]:
    """Infer features of refused people from their plans. known (c, d): other people, from whom the attacker learns."""
    some = answer[np.flatnonzero(answer.found[:, 0])[:most]]
    return [_one(service, some, known, name, seed) for name in names] if some.n else []


def _one(service: Service, answer: Recourse, known: People, name: str, seed: int) -> AttributeInference:
    schema, j = answer.schema, answer.schema.index(name)
    count = int(schema.n_levels[j])
    truth = answer.x[:, j]
    likely = _likely(schema, known, answer.x, j, count, seed)
    fits = np.zeros((answer.n, count), dtype=bool)
    for value in range(count):
        x = answer.x.copy()
        x[:, j] = value
        fits[:, value] = _same(answer, service.ask(x), j)
    guess = np.where(fits.any(1), np.where(fits, likely, -1.0).argmax(1), likely.argmax(1))
    return AttributeInference(
        name,
        answer.n,
        count,
        rate(guess == truth),
        rate(likely.argmax(1) == truth),
        float(fits.sum(1).mean()),
    )


def _same(one: Recourse, other: Recourse, j: int) -> Mask:
    """(n,) bool: both answers tell to do the same. Acting on the feature itself to where one stands is no act."""
    a, b = (np.where(answer.acted, answer.action, np.nan) for answer in (one, other))
    return np.asarray((~one.schema.differs(a, b)).all((1, 2)) & (one.found == other.found).all(1))


def _likely(schema: Schema, known: Rows, x: People, j: int, count: int, seed: int) -> np.ndarray:
    """(n, count) how likely each value is by the other features."""
    from sklearn.ensemble import RandomForestClassifier

    encode = encode_with(one_hot_of(schema))

    def others(rows: People) -> np.ndarray:
        rows = rows.copy()
        rows[:, j] = 0.0
        return np.nan_to_num(encode(rows))

    taught = known[~np.isnan(known[:, j])]
    model = RandomForestClassifier(60, min_samples_leaf=3, random_state=seed, n_jobs=1)
    model.fit(others(taught), taught[:, j].astype(np.int64))
    out = np.zeros((len(x), count))
    out[:, model.classes_] = model.predict_proba(others(x))
    return out


__all__ = ["MOST_VALUES", "AttributeInference", "candidates", "infer"]
