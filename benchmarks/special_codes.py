"""Applicants like those of a credit bureau: 23 features, most of them with special codes, and a forest on them.

Bureau tables write -9 where there is no record at all, -8 where no account can be used, and -7 where what a column
counts never happened. Such codes stand far from the values beside them, and they widen the range of a feature. The
public table of this kind may not be redistributed; this one is drawn, with the same shape: counts, months since,
percentages, a heavy tail here and there, and a label that most columns move in one direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS = 9_871
# name, kind of number, share of -7 and of -8 among people with a record, direction of the score (+1: more is better)
COLUMNS: tuple[tuple[str, str, float, float, int], ...] = (
    ("risk_estimate", "score", 0.0, 0.0, 1),
    ("months_since_oldest", "months", 0.0, 0.02, 1),
    ("months_since_newest", "few months", 0.0, 0.0, 1),
    ("months_in_file", "months", 0.0, 0.0, 1),
    ("satisfactory", "count", 0.0, 0.0, 1),
    ("ever_60_late", "small count", 0.0, 0.0, -1),
    ("ever_90_late", "small count", 0.0, 0.0, -1),
    ("never_late_percent", "percent", 0.0, 0.0, 1),
    ("months_since_late", "few months", 0.47, 0.02, 1),
    ("worst_late_year", "grade", 0.0, 0.0, 1),
    ("worst_late_ever", "grade", 0.0, 0.0, 1),
    ("accounts", "count", 0.0, 0.0, 1),
    ("accounts_new", "small count", 0.0, 0.0, -1),
    ("instalment_percent", "percent", 0.0, 0.0, -1),
    ("months_since_inquiry", "few months", 0.18, 0.04, 1),
    ("inquiries", "tail", 0.0, 0.0, -1),
    ("inquiries_late", "tail", 0.0, 0.0, -1),
    ("revolving_burden", "percent tail", 0.0, 0.02, -1),
    ("instalment_burden", "percent tail", 0.0, 0.33, -1),
    ("revolving_open", "small count", 0.0, 0.01, -1),
    ("instalment_open", "small count", 0.0, 0.08, -1),
    ("high_use", "small count", 0.0, 0.06, -1),
    ("with_balance", "percent", 0.0, 0.01, -1),
)


def applicants(rows: int = ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Values (rows, 23), labels (rows,) 1 for who paid, and the names of the columns."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=rows)
    x = np.empty((rows, len(COLUMNS)))
    for j, (_, kind, never, unusable, way) in enumerate(COLUMNS):
        lean = 0.55 * way * quality + rng.normal(0, 0.84, rows)
        x[:, j] = _numbers(kind, lean, rng)
        draw = rng.random(rows)
        x[draw < never, j] = -7
        x[(draw >= never) & (draw < never + unusable), j] = -8
    gone = rng.random(rows) < 0.06
    x[gone] = -9
    chance = 1 / (1 + np.exp(-1.7 * (quality + rng.normal(0, 0.6, rows)) + 0.1))
    chance[gone] = 0.3  # surely refused, and far from everybody with a record
    return x, (rng.random(rows) < chance).astype(np.int64), [column[0] for column in COLUMNS]


def _numbers(kind: str, lean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers of one kind that rise with `lean` (rows,), about standard normal."""
    if kind == "score":
        value = 72 + 10 * lean
    elif kind == "months":
        value = np.exp(5.1 + 0.45 * lean)
    elif kind == "few months":
        value = np.exp(2.2 + 0.9 * lean)
    elif kind == "count":
        value = 21 + 9 * lean
    elif kind == "small count":
        value = np.exp(0.6 + 0.8 * lean) - 1
    elif kind == "grade":
        value = np.clip(5 + 2 * lean, 0, 9)
    elif kind == "tail":
        value = np.exp(0.2 + 1.1 * lean) - 0.5
    elif kind == "percent":
        value = np.clip(60 + 28 * lean, 0, 100)
    else:  # percent tail: most below 100, some far above
        value = np.exp(3.4 + 0.7 * lean)
    return np.asarray(np.maximum(np.round(value), 0))


def problem(model: str = "rf", rows: int = ROWS, seed: int = 0) -> tuple[Any, np.ndarray]:
    """The problem of a model of the zoo on such people, and those whom it refuses among the held-out."""
    import pandas as pd

    import wayforward as wf
    from wayforward.model import train

    x, y, names = applicants(rows, seed)
    frame = pd.DataFrame(x.astype(np.int64), columns=names)
    schema = wf.Schema.infer(frame, propose=False).revise(months_since_oldest={"actionability": "mutable"})
    order = np.random.default_rng(seed).permutation(rows)
    past, held = order[: int(0.7 * rows)], order[int(0.7 * rows) :]
    encoded = schema.encode(frame)
    fitted = train(model, schema, encoded[past], y[past], seed=seed)
    made = wf.Problem(schema, fitted, wf.Target(favourable=1), data=encoded[past])
    return made, encoded[held][~made.reached(encoded[held])[0]]
