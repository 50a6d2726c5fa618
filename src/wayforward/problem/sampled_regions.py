"""Regions by drawing, where no bounds speak for every point: boxes shrink until many fresh points are all options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.shapes import Floats, Ints, Mask, Rows, Who
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem.growing_boxes import Growing
    from wayforward.problem.population import Population
    from wayforward.schema import Schema

SHARE, CONFIDENCE = 0.99, 0.95
_TRIES = 6  # sizes that are tested; the last one is the option itself
# all of so many points are options in a box of which less than SHARE is one with a probability below this, in any try
DRAWS = int(np.ceil(np.log((1 - CONFIDENCE) / (_TRIES - 1)) / np.log(SHARE)))
_FEW = 24  # points of a first look
_PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of the way to the end that a side is moved


def drawn(schema: Schema, low: Rows, high: Rows, levels: dict[int, np.ndarray], u: Floats) -> Rows:
    """Return points (m, d) of boxes by numbers u (m, d) in (0, 1), on the lattice; levels j -> (m, L) bool."""
    span, step = schema.span, schema.step
    with np.errstate(invalid="ignore"):
        value = np.where(np.isfinite(high - low), low + u * (high - low), low - np.log1p(-u) * span)
        value = np.where(np.isfinite(low), value, np.where(np.isfinite(high), high + np.log1p(-u) * span, u))
        count = np.floor((high - low) / step + 1e-6) + 1
        last = np.where(np.isfinite(count), np.floor(u * count), np.round((value - low) / step))
        grid = schema.round(np.where(np.isfinite(low), low + last * step, high - last * step))
    value = np.where(np.isnan(step), value, grid)
    value = np.where(low == high, low, value)
    for j, ok in levels.items():
        count = ok.sum(1)
        rank = np.minimum((u[:, j] * count).astype(np.int64), np.maximum(count - 1, 0))
        value[:, j] = np.where(count > 0, (ok.cumsum(1) > rank[:, None]).argmax(1), low[:, j])
    return np.asarray(value)


def sampled(people: Population, box: Growing, rows: Ints) -> tuple[float, float]:
    """Grow the boxes at rows (m,), of person i each, by drawing; return the share and the confidence of all of them.

    A first look decides how far each side moves; then fresh points of the whole box are judged in full, and where one
    of them is no option the box is halved towards the option and judged again with fresh points.
    """
    streams = Streams.of(np.concatenate([people.x, np.nan_to_num(box.action[rows], nan=-1.0)], axis=1), 0)
    finite = _within_reach(people, box, rows)
    for away in (True, False):
        for j in np.flatnonzero(box.acts[rows].any(0)).tolist():
            at = np.flatnonzero(box.acts[rows, j])
            if people.schema.has_levels[j]:
                if away:
                    _look_at_levels(people, box, rows, at, j, streams)
            else:
                _look_at_side(people, box, rows, at, j, away, finite, streams)
    wide = [box.low[rows].copy(), box.high[rows].copy()]
    single = {j: np.arange(ok.shape[1]) == box.action[rows, j, None] for j, ok in box.levels.items()}
    open_ = np.arange(len(rows))
    for tried in range(_TRIES):
        part = 0.5**tried if tried < _TRIES - 1 else 0.0
        _shrink(people, box, rows, open_, wide, part)
        for j, ok in box.levels.items():
            if tried:
                ok[rows[open_]] = np.where(box.acts[rows[open_], j, None], single[j][open_], ok[rows[open_]])
                box.hull(j, rows[open_])
        if tried < _TRIES - 1:
            open_ = open_[~_all_good(people, box, rows, open_, streams, DRAWS, 1000 + tried)]
    return SHARE, CONFIDENCE


def _within_reach(people: Population, box: Growing, rows: Ints) -> tuple[Rows, Rows]:
    """Ends (m, d) that can be drawn from: where the judge knows none, those of what was observed."""
    action = box.action[rows]
    low, high = box.least[rows], box.greatest[rows]
    low = np.where(np.isfinite(low), low, np.fmin(people.low, action))
    return low, np.where(np.isfinite(high), high, np.fmax(people.high, action))


def _shrink(people: Population, box: Growing, rows: Ints, at: Ints, wide: list[Rows], part: float) -> None:
    """Set the ends to a part of the way from the option to where they were."""
    action, numbers = box.action[rows[at]], box.acts[rows[at]] & ~people.schema.has_levels
    for ends, end in ((box.low, wide[0]), (box.high, wide[1])):
        value = people.schema.round(action + part * (end[at] - action))
        ends[rows[at]] = np.where(numbers, value if part < 1 else end[at], ends[rows[at]])


def _all_good(
    people: Population, box: Growing, rows: Ints, at: Ints, streams: Streams, m: int, tag: int
) -> Mask:
    """(a,) bool: m points of each box are options, judged in full."""
    mine = rows[at]
    u = streams.uniform(at, m, people.d, tag=tag).reshape(-1, people.d)
    each = np.repeat(np.arange(len(at)), m)
    levels = {j: ok[mine][each] for j, ok in box.levels.items()}
    row = drawn(people.schema, box.low[mine][each], box.high[mine][each], levels, u)
    action = np.where(box.acts[mine][each], row, box.action[mine][each])  # what is held stays held
    return np.asarray(_good(people, at[each], action).reshape(-1, m).all(1))


def _good(people: Population, who: Who, action: Rows) -> Mask:
    refused = np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
    return people.problem.judge_options(people, who, action, refused)[1]


def _look_at_side(
    people: Population, box: Growing, rows: Ints, at: Ints, j: int, away: bool, finite: tuple[Rows, Rows],
    streams: Streams,
) -> None:  # fmt: skip
    """Move one side as far as a few points beyond it are all options."""
    mine = rows[at]
    up = box.up[mine, j] == away
    start = np.where(up, box.high[mine, j], box.low[mine, j])
    end = np.where(up, finite[1][at, j], finite[0][at, j])
    side, column = np.where(up, 1.0, -1.0), np.full(len(at), j)
    left = np.flatnonzero(side * (end - start) > people.schema.slack[j])
    for place, part in enumerate(_PARTS):
        if not left.size:
            return
        some = mine[left]
        value = start[left] + part * (end[left] - start[left])
        value = end[left] if part == 1.0 else people.schema.round(value, columns=j)
        before = box.low[some].copy(), box.high[some].copy()
        box.put(some, column[left], side[left], value)
        tag = 2 * (len(_PARTS) * j + place) + int(away)
        good = _all_good(people, box, rows, at[left], streams, _FEW, tag)
        box.low[some[~good]], box.high[some[~good]] = before[0][~good], before[1][~good]
        left = left[~good]


def _look_at_levels(people: Population, box: Growing, rows: Ints, at: Ints, j: int, streams: Streams) -> None:
    """Add every level of a feature with which a few points are all options."""
    mine = rows[at]
    good = box.levels[j][mine]
    for level in range(good.shape[1]):
        some = np.flatnonzero(box.choice[j][mine, level] & ~good[:, level])
        if not some.size:
            continue
        own = box.levels[j][mine[some]].copy()
        box.levels[j][mine[some]] = np.arange(good.shape[1]) == level
        good[some, level] = _all_good(people, box, rows, at[some], streams, _FEW, 500 + level)
        box.levels[j][mine[some]] = own
    if people.schema.features[j].kind == "ordinal":
        good = box.contiguous(j, mine, good)
    box.levels[j][mine] = good
    box.hull(j, mine)
