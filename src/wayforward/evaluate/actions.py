"""What a recommendation asks for: broken limits, superfluous changes, unwanted changes, closeness to a wish.

Rows are (m, d) or (..., d) in feature units; every function returns one number per row, NaN for a row that
is all NaN (not found).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wayforward.evaluate.distance import changed, euclidean_columns
from wayforward.schema import Schema
from wayforward.shapes import Floats, Mask


def out_of_domain(schema: Schema, after: np.ndarray) -> Mask:
    """Values that no one could have: off the bounds, between integers, a level that does not exist: (..., d).

    A code that is a state is a value. Independent of where the person stands; the step lattice is a matter of acting
    and is judged elsewhere.
    """
    after = np.asarray(after, dtype=np.float64)
    slack = 1e-9 * schema.span
    outside = ((after < schema.low - slack) | (after > schema.high + slack)) & ~schema.stuck(after)
    fractional = schema.integral & (after != np.round(after))
    # A value that is absent where the schema allows none is a broken value, unless the row is empty.
    absent = np.isnan(after) & ~schema.missing & ~np.isnan(after).all(-1, keepdims=True)
    return np.asarray(outside | (fractional & ~np.isnan(after)) | np.isinf(after) | absent)


def violations(
    schema: Schema, before: np.ndarray, after: np.ndarray, action: np.ndarray | None = None
) -> dict[str, Floats]:
    """How many limits each row breaks, kind by kind: each (...).

    - immutables: immutable features that changed (numeric: beyond the tolerance), a block counting once;
    - direction: features that moved against their declared direction;
    - range: features outside their domain, where they were not already there before;
    - acted: features acted on that nobody may act on (only when `action` is given).
    """
    before, after = np.broadcast_arrays(
        np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    )
    moved = changed(schema, before, after)
    empty = np.isnan(after).all(-1)
    against = moved & (schema.direction != 0) & (np.sign(after - before) == -schema.direction)
    out = {
        "immutables": (moved & schema.immutable).sum(-1),
        "direction": against.sum(-1),
        "range": (out_of_domain(schema, after) & (moved | np.isnan(after))).sum(-1),
    }
    if action is not None:
        acted = ~np.isnan(np.asarray(action, dtype=np.float64))
        out["acted"] = (acted & ~schema.actionable & (moved | schema.mutable)).sum(-1)
    return {name: np.where(empty, np.nan, count.astype(np.float64)) for name, count in out.items()}


def redundancy(
    schema: Schema,
    before: np.ndarray,
    after: np.ndarray,
    reached: Callable[[Floats], Mask],
    *,
    action: np.ndarray | None = None,
    consequences: Callable[[Floats, Floats], Floats] | None = None,
    chunk: int = 100_000,
) -> Floats:
    """How many changes of each row could be taken back, one alone, with the decision still reached: (m,).

    All (row, feature) reverts go to the model together, `chunk` rows a call. With `action` and
    `consequences` an act is taken back and what follows is worked out anew; without them a changed value is
    put back. A category is one feature. The function `reached` takes (r, d) and gives (r,) bool.
    """
    before = np.asarray(before, dtype=np.float64)
    after = np.asarray(after, dtype=np.float64)
    if (action is None) != (consequences is None):
        raise ValueError("redundancy needs both action and consequences, or neither. Pass the world's too.")
    if action is None:
        touched = changed(schema, before, after)
    else:
        action = np.asarray(action, dtype=np.float64)
        touched = ~np.isnan(action)
    row, feature = np.nonzero(touched)
    spare = np.zeros(after.shape[0])
    for start in range(0, len(row), chunk):
        i, j = row[start : start + chunk], feature[start : start + chunk]
        each = np.arange(len(i))
        if action is None or consequences is None:
            reverted = after[i].copy()
            reverted[each, j] = before[i, j]
        else:
            less = action[i].copy()
            less[each, j] = np.nan
            # With no act left a person stands where they stood.
            none_left = np.isnan(less).all(-1)
            reverted = before[i].copy()
            if (~none_left).any():
                reverted[~none_left] = consequences(before[i][~none_left], less[~none_left])
        np.add.at(spare, i, np.asarray(reached(reverted), dtype=np.float64))
    return np.where(np.isnan(after).all(-1), np.nan, spare)


def acted_and_changed(
    schema: Schema, before: np.ndarray, action: np.ndarray, after: np.ndarray
) -> tuple[Floats, Floats]:
    """Number of features acted on, and number that changed only as a consequence: (...), (...)."""
    acted = ~np.isnan(np.asarray(action, dtype=np.float64))
    downstream = changed(schema, before, after) & ~acted
    empty = np.isnan(np.asarray(after, dtype=np.float64)).all(-1)
    return (
        np.where(empty, np.nan, acted.sum(-1).astype(np.float64)),
        np.where(empty, np.nan, downstream.sum(-1).astype(np.float64)),
    )


def hard_action(
    action: np.ndarray, score: np.ndarray, may_act: np.ndarray, *, absolute: float | None = None
) -> Floats:
    """1 where a recommendation acts on what the person finds hardest, 0 where not, NaN without one: (n,).

    Shapes: action (n, d); score (n, d), higher = harder; may_act (n, d) bool, what each person could act on.
    With ties any feature at the person's own maximum counts; `absolute` asks for that score instead. A feature
    that nobody asked about (NaN) is not the hardest; a person who was asked about nothing gets NaN.
    The mean is the hard-action probability (hap) of interactive CARMA.
    """
    acted = ~np.isnan(np.asarray(action, dtype=np.float64))
    may_act = np.asarray(may_act, dtype=bool)
    score = np.asarray(score, dtype=np.float64)
    may_act = may_act & ~np.isnan(score)
    among = np.where(may_act, score, -np.inf)
    hardest = may_act & (
        among == among.max(-1, keepdims=True) if absolute is None else score >= absolute - 1e-12
    )
    return np.where(acted.any(-1) & may_act.any(-1), (acted & hardest).any(-1).astype(np.float64), np.nan)


def proximity(schema: Schema, before: np.ndarray, after: np.ndarray) -> Floats:
    """Euclidean distance in range-scaled columns: (m,)."""
    gap = euclidean_columns(schema, after) - euclidean_columns(schema, before)
    empty = np.isnan(np.asarray(after, dtype=np.float64)).all(-1)
    return np.where(empty, np.nan, np.sqrt((gap**2).sum(-1)))


def ground_truth(
    schema: Schema, before: np.ndarray, after: np.ndarray, wanted: np.ndarray
) -> tuple[Floats, Floats]:
    """Distance (GTP) and direction mismatch (GTD) to the profile a person truly prefers: (m,), (m,).

    GTP is the Euclidean distance between the two profiles, GTD is 1 - cosine between the two changes; a
    change of length zero has GTD 1. Source: the human-in-the-loop evaluation of HARE.
    """
    start = euclidean_columns(schema, before)
    one = euclidean_columns(schema, after) - start
    two = euclidean_columns(schema, wanted) - start
    empty = np.isnan(np.asarray(after, dtype=np.float64)).all(-1)
    length = np.linalg.norm(one, axis=-1) * np.linalg.norm(two, axis=-1)
    cosine = np.divide((one * two).sum(-1), length, out=np.zeros(length.shape), where=length > 1e-12)
    distance = np.linalg.norm(one - two, axis=-1)
    return np.where(empty, np.nan, distance), np.where(empty, np.nan, 1 - cosine)


def regret(true_cost_of_given: np.ndarray, true_cost_of_best: np.ndarray) -> Floats:
    """What a person pays more, in their own true cost, than the best they could have had: (n,).

    NaN where either is missing or infinite. Source: preference elicitation for recourse (PEAR).
    """
    given = np.asarray(true_cost_of_given, dtype=np.float64)
    best = np.asarray(true_cost_of_best, dtype=np.float64)
    both = np.isfinite(given) & np.isfinite(best)
    return np.where(both, given - np.where(both, best, 0.0), np.nan)


def optimality_gap(cost: np.ndarray, oracle: np.ndarray) -> Floats:
    """cost / oracle cost - 1 on rows that both solved, NaN elsewhere: (n,). Two costs of zero gap by zero."""
    cost, oracle = np.asarray(cost, dtype=np.float64), np.asarray(oracle, dtype=np.float64)
    both = np.isfinite(cost) & np.isfinite(oracle)
    out = np.full(cost.shape, np.nan)
    positive = both & (oracle > 0)
    out[positive] = cost[positive] / oracle[positive] - 1
    out[both & (oracle <= 0)] = np.where(cost[both & (oracle <= 0)] <= 0, 0.0, np.inf)
    return out
