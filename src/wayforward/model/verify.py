"""Trust a fast path only after it agreed with the wrapped object itself on legal rows and at its own
thresholds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.adapted import Adapted
from wayforward.model.base import Decision
from wayforward.model.fast import Fast
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints
from wayforward.streams import generator

if TYPE_CHECKING:
    from collections.abc import Sequence


_PAIRS, _STEPS, _ROUNDS = 32, 16, 6  # walks between rows of unlike labels, each cut in 17 parts 6 times
_NOISE = 1e-7  # outputs that differ by less are taken for equal
_TIED = 0.01  # a larger share of labels against equal outputs: they say too little


def sample_rows(
    schema: Schema, m: int, *, seed: int = 0, missing: bool = True, thresholds: Sequence[Floats] | None = None
) -> Floats:
    """(m, d) legal rows, uniform over bounds and levels; a tenth of the values missing or special where allowed."""
    rng = generator(seed)
    x = np.empty((m, schema.d))
    for j in range(schema.d):
        low, high = float(schema.low[j]), float(schema.high[j])
        if schema.has_levels[j]:
            x[:, j] = rng.integers(0, schema.n_levels[j], m)
            continue
        if schema.carried[j]:
            x[:, j] = 0.0  # its example
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
    for j, feature in enumerate(schema.features):
        if feature.special:
            at = rng.random(m) < 0.1
            x[at, j] = rng.choice(list(feature.special_words), int(at.sum()))
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


def compared_rows(fast: Fast, schema: Schema, extra: Floats | None) -> Floats:
    """Rows (m, d) on which a fast path must agree: legal ones, pairs around its own thresholds, and those given."""
    thresholds = fast.thresholds()
    parts = [sample_rows(schema, 256, thresholds=thresholds)]
    if thresholds is not None:
        parts.append(threshold_rows(schema, thresholds, 192))
    if extra is not None and len(extra):
        parts.append(extra[:512])
    return np.concatenate(parts)


def disagreement(
    fast: Fast, native: Adapted, schema: Schema, extra: Floats | None, decision: Decision
) -> str:
    """Compare both paths; '' if they agree within the tolerance and no label flips, else what differed."""
    tolerance, x = native.tolerance, compared_rows(fast, schema, extra)
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
        by = 2 * tolerance if decision.exact else max(2 * tolerance, _NOISE)
        flips = int((decision.label(mine) != label)[decision.clear(mine, by)].sum())
        if flips:
            return f"the label is another one than its outputs say on {flips} of {len(x)} rows"
    return ""


# -- how the label follows from the outputs ----------------------------------------------------------------


def find_decision(native: Adapted, schema: Schema, extra: Floats | None) -> tuple[Decision, str]:
    """Find out by asking how the label follows from the outputs, and what to note of it.

    Asked on legal rows, on rows of `extra`, and by bisection on walks between rows of unlike labels, where the label
    turns. Of two classes, a threshold is looked for; the label must hang on the probability alone, and rise with it.
    """
    try:
        out, label = _asked_rows(native, schema, extra)
    except ModelError:  # it says what is wrong when it is asked
        return Decision(exact=False), ""
    if out.ndim != 2 or out.shape[1] != len(native.classes) or not np.isfinite(out).all():
        return Decision(exact=False), ""
    largest = Decision(exact=False)
    wrong, clear = largest.label(out) != label, largest.clear(out, _NOISE)
    if not (wrong & clear).any() and wrong.mean() < _TIED:
        return largest, ""
    on = f"on {len(out)} rows asked"
    if (wrong & clear).any() and out.shape[1] == 2 and 0 < label.sum() < len(label):
        no, yes = float(out[label == 0, 1].max()), float(out[label == 1, 1].min())
        if no - yes <= _NOISE:
            nudge = 0.01 * max(yes - no, 0.0)
            found = Decision(min(no, yes) + nudge, max(no, yes) - nudge, exact=False)
            return found, f"{native.name} {found.describe(native.classes)} (found by bisection, {on})"
    return (
        Decision(by_output=False, exact=False),
        f"the label of {native.name} does not follow from its outputs ({on}): searches ask for the label itself, and "
        "the outputs guide them",
    )


def _asked_rows(native: Adapted, schema: Schema, extra: Floats | None) -> tuple[Floats, Ints]:
    """Outputs (m, c) and labels (m,) of legal rows, and of rows nearer and nearer to where the label turns."""
    rng = np.random.default_rng(4)
    rows = sample_rows(schema, 256, seed=4)
    if extra is not None and len(extra):
        rows = np.concatenate(
            [rows, extra[np.linspace(0, len(extra) - 1, min(len(extra), 512)).astype(np.int64)]]
        )
    out, label = native.predict(rows)
    parts = [(np.asarray(out, np.float64), label)]
    one, two = (rng.integers(0, len(rows), 64 * _PAIRS) for _ in "ab")
    unlike = np.flatnonzero(label[one] != label[two])[:_PAIRS]
    one, two = one[unlike], two[unlike]
    if not unlike.size:
        return parts[0]
    # a level turns somewhere in the first half of the walk, numbers all along it
    turn = rng.uniform(0.0, 0.5, (len(one), 1, schema.d))
    here, there, first = rows[one][:, None], rows[two][:, None], label[one]
    least, most = np.zeros(len(one)), np.ones(len(one))
    jumps = schema.has_levels | np.isnan(here) | np.isnan(there)
    for _ in range(_ROUNDS):
        share = least[:, None] + (most - least)[:, None] * np.arange(1, _STEPS + 1) / (_STEPS + 1)
        at = share[:, :, None]
        walk = np.where(jumps, np.where(at < turn, here, there), here + at * (there - here))
        flat = np.asarray(schema.snap(walk.reshape(-1, schema.d)), np.float64)
        out, label = native.predict(flat)
        parts.append((np.asarray(out, np.float64), label))
        other = label.reshape(len(one), _STEPS) != first[:, None]
        step = np.where(other.any(axis=1), other.argmax(axis=1), _STEPS)
        edges = np.concatenate([least[:, None], share, most[:, None]], axis=1)
        pick = np.arange(len(one))
        least, most = edges[pick, step], edges[pick, step + 1]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
