"""Trust a fast path only after it agreed with the wrapped object itself on legal rows and at its own
thresholds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.adapted import Adapted
from wayforward.model.fast import Fast
from wayforward.schema import Schema
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence


def sample_rows(
    schema: Schema, m: int, *, seed: int = 0, missing: bool = True, thresholds: Sequence[Floats] | None = None
) -> Floats:
    """(m, d) legal rows, uniform over bounds and levels; a tenth of the values missing where allowed."""
    rng = np.random.default_rng(seed)
    x = np.empty((m, schema.d))
    for j in range(schema.d):
        low, high = float(schema.low[j]), float(schema.high[j])
        if schema.has_levels[j]:
            x[:, j] = rng.integers(0, schema.n_levels[j], m)
            continue
        if not (np.isfinite(low) and np.isfinite(high)):
            known = thresholds[j] if thresholds is not None and len(thresholds[j]) else np.array([0.0])
            spread = max(float(np.ptp(known)), 1.0)
            low = low if np.isfinite(low) else min(float(known.min()) - spread, high - spread)
            high = high if np.isfinite(high) else max(float(known.max()) + spread, low + spread)
        x[:, j] = rng.uniform(low, high, m)
    x = np.asarray(schema.snap(x), dtype=np.float64)
    if missing and schema.missing.any():
        x[(rng.random(x.shape) < 0.1) & schema.missing] = np.nan
    return x


def threshold_rows(schema: Schema, thresholds: Sequence[Floats], m: int) -> Floats:
    """(<= 2 m, d) rows with one value at a split and, next to it, the first value beyond it."""
    rng = np.random.default_rng(1)
    rows = sample_rows(schema, m, seed=2, missing=False, thresholds=thresholds)
    numeric = [j for j in range(schema.d) if len(thresholds[j])]
    if not numeric:
        return rows
    above = rows.copy()
    for i in range(m):
        j = numeric[int(rng.integers(len(numeric)))]
        t = float(rng.choice(thresholds[j]))
        if schema.integral[j]:
            rows[i, j], above[i, j] = np.floor(t), np.floor(t) + 1.0
        else:
            rows[i, j], above[i, j] = t, np.nextafter(t, np.inf)
    both = np.concatenate([rows, above])
    result: Floats = both[np.abs(np.nan_to_num(both)).max(axis=1) < 1e30]
    return result


def check_missing(native: Adapted, schema: Schema) -> None:
    """Raises: ModelError if the schema lets a value be missing that the model does not accept."""
    if not schema.missing.any():
        return
    row = sample_rows(schema, 1, missing=False)
    row[:, schema.missing] = np.nan
    try:
        out, _ = native.predict(row)
        if np.isfinite(np.asarray(out, dtype=np.float64)).all():
            return
    except ModelError:
        native.predict(sample_rows(schema, 1, missing=False))  # another trouble has its own message
    for j in np.flatnonzero(schema.missing):
        row = sample_rows(schema, 1, missing=False)
        row[:, j] = np.nan
        try:
            out, _ = native.predict(row)
            good = bool(np.isfinite(np.asarray(out, dtype=np.float64)).all())
        except ModelError:
            good = False
        if not good:
            raise ModelError(
                f"The schema lets '{schema.names[j]}' be missing, but {native.name} does not accept a "
                "missing value there. Impute inside the pipeline, or declare missing=False and fill the "
                "values in."
            )


def disagreement(fast: Fast, native: Adapted, schema: Schema, extra: Floats | None) -> str:
    """Compare both paths; '' if they agree within the tolerance and no label flips, else what differed."""
    thresholds, tolerance = fast.thresholds(), native.tolerance
    parts = [sample_rows(schema, 256, thresholds=thresholds)]
    if thresholds is not None:
        parts.append(threshold_rows(schema, thresholds, 192))
    if extra is not None and len(extra):
        parts.append(extra[:512])
    x = np.concatenate(parts)
    truth, label = native.predict(x)
    mine = fast.outputs(x)
    if mine.shape != truth.shape:
        return f"shape {mine.shape} instead of {truth.shape}"
    scale = np.maximum(1.0, np.abs(truth)) if native.task == "regression" else 1.0
    gap = np.abs(mine - truth) / scale
    worst = float(gap.max(initial=0.0))
    if not worst <= tolerance:
        return f"outputs differ by {worst:.2g} on {int((gap.max(axis=1) > tolerance).sum())} of {len(x)} rows"
    if native.task == "classification" and mine.shape[1] > 1:
        top = np.partition(mine, -2, axis=1)
        clear = top[:, -1] - top[:, -2] > 4 * tolerance
        flips = int((mine.argmax(axis=1) != label)[clear].sum())
        if flips:
            return f"the label is not that of the largest output on {flips} of {len(x)} rows"
    return ""
