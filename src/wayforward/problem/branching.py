"""Boxes of what people may do: made, narrowed by what is legal, split. The search for proofs works on them.

A box holds, for each feature, a range of values to set (of a level feature a set of levels), and whether the feature
is surely set or surely left alone. Where nothing else can move a feature, leaving it alone is setting it to what it
is, so that a range which holds the person's own value holds that as well; a value that is missing is in no range.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from wayforward.problem.population import Population
from wayforward.shapes import Mask, People, Rows

_SLACK = 1e-9  # of a span: by so much the judge lets a value miss a bound


@dataclass
class ActionBoxes:
    """b boxes: owner (b,), low, high (b, d), and for level features the levels inside, j -> (b, L).

    acts, rests (b, d) bool: surely set, surely left alone. fine (b, d) bool: the range is of what follows, which may
    fall between two steps. answered (b,): the model was asked, and says yes to all of the box, so that only something
    else can rule it out.
    """

    owner: np.ndarray
    low: np.ndarray
    high: np.ndarray
    levels: dict[int, np.ndarray]
    acts: np.ndarray
    rests: np.ndarray
    fine: np.ndarray
    answered: np.ndarray

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, rows: np.ndarray) -> ActionBoxes:
        """Return copies of some of them."""
        made = {part.name: getattr(self, part.name)[rows] for part in fields(self) if part.name != "levels"}
        return ActionBoxes(levels={j: ok[rows] for j, ok in self.levels.items()}, **made)

    @staticmethod
    def join(parts: list[ActionBoxes]) -> ActionBoxes:
        """Return all of them as one."""
        made = {
            part.name: np.concatenate([getattr(one, part.name) for one in parts])
            for part in fields(ActionBoxes)
            if part.name != "levels"
        }
        levels = {j: np.concatenate([one.levels[j] for one in parts]) for j in parts[0].levels}
        return ActionBoxes(levels=levels, **made)

    def set_to(self, rows: np.ndarray, columns: np.ndarray, value: np.ndarray) -> None:
        """Leave one value: row by row, the column and the value (m,)."""
        self.low[rows, columns] = self.high[rows, columns] = value
        for j, ok in self.levels.items():
            mine = columns == j
            if mine.any():
                ok[rows[mine]] = np.arange(ok.shape[1]) == value[mine, None]

    def single(self) -> Mask:
        """(b, d) bool: one value is left, or the value is missing."""
        single = (self.low == self.high) | np.isnan(self.low)
        for j, ok in self.levels.items():
            single[:, j] = (ok.sum(1) == 1) | np.isnan(self.low[:, j])
        return np.asarray(single)

    def holds(self, x: Rows) -> Mask:
        """(b, d) bool: the values x (b, d) are inside."""
        with np.errstate(invalid="ignore"):
            inside = (self.low <= x) & (x <= self.high)
        for j, ok in self.levels.items():
            level = np.nan_to_num(x[:, j]).astype(np.int64)
            inside[:, j] = ok[np.arange(len(x)), level] & ~np.isnan(x[:, j])
        return np.asarray(inside)


def everything(people: Population, led: Mask, *, loose: bool) -> ActionBoxes:
    """(n boxes): everything that the judge would let each person reach; a search may stop at what was observed.

    led (n, d) bool: features that a consequence may move. loose: nothing is known of how, so that they may have any
    legal value, whatever the action.
    """
    schema, may, x = people.schema, people.may, people.x
    room = np.where(np.isnan(schema.step), _SLACK * schema.span, 0.0)  # a lattice has no values in between
    low = np.where(may, np.fmin(people.least - room, x), x)
    high = np.where(may, np.fmax(people.greatest + room, x), x)
    levels = {}
    for j, ok in people.level_ok.items():
        stay = np.arange(ok.shape[1]) == x[:, j, None]
        levels[j] = np.where(may[:, j, None], ok | stay, stay)
    acts, rests = (
        may & ~led & ~np.isnan(x),
        ~may,
    )  # no range holds a missing value: it is set, or it stays missing
    if loose:
        least, greatest = legal_range(people)
        low, high = np.where(led, least, low), np.where(led, greatest, high)
        for j, ok in levels.items():
            index = np.arange(ok.shape[1])
            ok |= led[:, j, None] & (index >= least[:, j, None]) & (index <= greatest[:, j, None])
        acts, rests = may | led, ~(may | led)
    fine, answered = led & loose, np.zeros(people.n, dtype=bool)
    return ActionBoxes(np.arange(people.n), low, high, levels, acts, rests, fine, answered)


def legal_range(people: Population) -> tuple[People, People]:
    """(n, d) least and greatest value that a feature may have afterwards, whatever led there: illegal ones are none."""
    schema, wish, x = people.schema, people.preferences, people.x
    room = _SLACK * schema.span
    low = np.where(schema.immutable, np.inf, np.fmax(schema.low, wish.low) - room)
    high = np.where(schema.immutable, -np.inf, np.fmin(schema.high, wish.high) + room)
    return np.fmin(low, x - room), np.fmax(high, x + room)


def widths(people: Population, boxes: ActionBoxes) -> np.ndarray:
    """(b, d) share of its span that a feature still covers; 0 where one value (or next to nothing) is left."""
    schema = people.schema
    with np.errstate(invalid="ignore"):
        width = (boxes.high - boxes.low) / schema.span
        step = _steps(people, boxes.fine)
        tiny = np.where(np.isnan(step), 1e-6, 0.5 * np.nan_to_num(step) / schema.span)
        endless = ~np.isfinite(width)  # no middle to split at
        width = np.where(endless | (width <= tiny), 0.0, width)
    for j, ok in boxes.levels.items():
        count = ok.sum(1)
        width[:, j] = np.where(count > 1, count / ok.shape[1], 0.0)
    return np.where(boxes.rests, 0.0, width)


def _steps(people: Population, fine: Mask) -> Rows:
    """(b, d) distance between values; NaN where any number will do."""
    schema = people.schema
    return np.asarray(np.where(fine, np.where(schema.counted, 1.0, np.nan), schema.step))


def _rounded(people: Population, boxes: ActionBoxes, value: Rows) -> Rows:
    """(b, d) nearest value that exists; what follows is a whole number where the feature counts, else as it is."""
    schema = people.schema
    fine = np.where(schema.counted, np.round(value), value)
    return np.asarray(np.where(boxes.fine, fine, schema.round(value)))


def empty(people: Population, boxes: ActionBoxes) -> Mask:
    """(b,) bool: no legal value is left of some feature."""
    return np.asarray(np.isnan(np.where(np.isnan(boxes.low), 0.0, corner(people, boxes))).any(1))


def corner(people: Population, boxes: ActionBoxes) -> Rows:
    """(b, d) one row of each box: the least legal value, else where the person stands; NaN where there is neither.

    A value that is missing stays so.
    """
    x = people.x[boxes.owner]
    low = np.where(np.isfinite(boxes.low), boxes.low, np.where(np.isfinite(boxes.high), boxes.high, 0.0))
    point, step = _rounded(people, boxes, low), np.nan_to_num(_steps(people, boxes.fine))
    with np.errstate(invalid="ignore"):
        point = np.where(point < low, _rounded(people, boxes, low + step), point)
        point = np.where((point >= boxes.low) & (point <= boxes.high), point, np.nan)
    for j, ok in boxes.levels.items():
        point[:, j] = np.where(ok.any(1), ok.argmax(1), np.nan)
    point = np.where(np.isnan(point) & boxes.holds(x), x, point)
    return np.where(np.isnan(boxes.low), np.nan, point)


def middle(people: Population, boxes: ActionBoxes) -> Rows:
    """(b, d) a row near the middle of each box, where that is inside; elsewhere its `corner`."""
    row = corner(people, boxes)
    with np.errstate(invalid="ignore"):
        half = _rounded(people, boxes, (boxes.low + boxes.high) / 2)
        inside = (half >= boxes.low) & (half <= boxes.high) & ~people.schema.has_levels
    row = np.where(inside, half, row)
    for j, ok in boxes.levels.items():
        count = ok.cumsum(1)
        row[:, j] = np.where(ok.any(1), (2 * count >= count[:, -1:]).argmax(1), row[:, j])
    return row


def few_changes(people: Population, boxes: ActionBoxes, counted: Mask) -> Mask:
    """(b,) bool: more features surely differ than the person would change. Where all are used up, the rest is held.

    counted (b, d) bool: the range holds what is set, not what follows. Narrows the boxes in place.
    """
    x = people.x[boxes.owner]
    most = people.max_changes[boxes.owner]
    needed = _surely_changed(people, boxes, counted)
    used = needed.sum(1)
    held = (used >= most)[:, None] & counted & ~needed & ~boxes.rests & ~np.isnan(x) & ~boxes.single()
    rows, columns = np.nonzero(held)
    boxes.set_to(rows, columns, x[rows, columns])
    return np.asarray(used > most)


def _surely_changed(people: Population, boxes: ActionBoxes, counted: Mask) -> Mask:
    x = people.x[boxes.owner]
    return np.asarray(counted & boxes.acts & ~boxes.holds(x) & ~np.isnan(x))


def halved(people: Population, boxes: ActionBoxes, width: np.ndarray, counted: Mask | None) -> ActionBoxes:
    """Split every box along its widest feature; a feature that may be set or not, into these two.

    Somebody who would change fewer features than are open: into where they stand, and what is below and above. counted:
    as in `few_changes`; None where nobody would.
    """
    each = np.arange(len(boxes))
    column = width.argmax(1)
    undecided = ~boxes.acts[each, column] & ~boxes.rests[each, column]
    scarce = np.zeros(len(boxes), dtype=bool)
    if counted is not None:
        changed = _surely_changed(people, boxes, counted)
        open_ = counted & boxes.acts & boxes.holds(people.x[boxes.owner]) & (width > 0)
        scarce = (changed.sum(1) + open_.sum(1) > people.max_changes[boxes.owner]) & open_.any(1) & ~undecided
        column = np.where(scarce, np.where(open_, width, -1.0).argmax(1), column)
    parts = []
    modes = np.flatnonzero(undecided)
    if modes.size:
        for name in ("acts", "rests"):
            part, at = boxes.take(modes), (np.arange(len(modes)), column[modes])
            getattr(part, name)[at] = True
            if name == "rests":
                gone = np.isnan(people.x[part.owner, column[modes]])
                part.low[at] = np.where(gone, np.nan, part.low[at])
                part.high[at] = np.where(gone, np.nan, part.high[at])
            parts.append(part)
    if scarce.any():
        rows = np.flatnonzero(scarce)
        parts += _around(people, boxes.take(rows), column[rows])
    rows = np.flatnonzero(~scarce & ~undecided)
    if rows.size:
        parts += _in_two(people, boxes.take(rows), column[rows])
    return ActionBoxes.join(parts)


def _around(people: Population, boxes: ActionBoxes, column: np.ndarray) -> list[ActionBoxes]:
    """The person's own value of a feature, and what is below and above it."""
    each, schema = np.arange(len(boxes)), people.schema
    here = people.x[boxes.owner, column]
    one, two, three = boxes.take(each), boxes.take(each), boxes.take(each)
    one.set_to(each, column, here)
    step = schema.step[column]
    nearest = schema.round(here[:, None].T, columns=column).ravel()
    apart = _SLACK * schema.span[column]
    below = np.where(nearest < here - apart, nearest, nearest - step)
    above = np.where(nearest > here + apart, nearest, nearest + step)
    two.high[each, column] = np.where(np.isnan(step), np.nextafter(here, -np.inf), below)
    three.low[each, column] = np.where(np.isnan(step), np.nextafter(here, np.inf), above)
    ranked = np.zeros(len(boxes), dtype=bool)
    for j, ok in boxes.levels.items():
        mine = np.flatnonzero(column == j)
        ranked[mine] = True
        two.levels[j][mine] = ok[mine] & (np.arange(ok.shape[1]) != here[mine, None])
        two.low[mine, j], two.high[mine, j] = _edges(two.levels[j][mine])
    lower = np.flatnonzero(ranked | (two.low[each, column] <= two.high[each, column]))
    upper = np.flatnonzero(~ranked & (three.low[each, column] <= three.high[each, column]))
    return [one, two.take(lower), three.take(upper)]


def _in_two(people: Population, boxes: ActionBoxes, column: np.ndarray) -> list[ActionBoxes]:
    """Two halves along a feature; on a lattice, between two of its points.

    Somebody who stands between these two points may stay there, so that the upper half begins where they stand.
    """
    schema, each = people.schema, np.arange(len(boxes))
    one, two = boxes.take(each), boxes.take(each)
    middle = (boxes.low[each, column] + boxes.high[each, column]) / 2
    step = _steps(people, boxes.fine)[each, column]
    point = schema.round(middle[:, None].T, columns=column).ravel()
    point = np.where(boxes.fine[each, column], np.round(middle), point)
    point = np.where(point > middle, point - step, point)  # the last lattice point of the lower half
    upper = np.where(np.isnan(step), middle, point + step)
    here = people.x[boxes.owner, column]
    upper = np.where((here > point) & (here > boxes.low[each, column]) & (here < upper), here, upper)
    one.high[each, column] = np.where(np.isnan(step), middle, np.maximum(point, boxes.low[each, column]))
    two.low[each, column] = np.minimum(upper, boxes.high[each, column])
    for j, ok in boxes.levels.items():
        mine = np.flatnonzero(column == j)
        if mine.size:
            rank = ok[mine].cumsum(1)
            first = ok[mine] & (rank <= ok[mine].sum(1)[:, None] // 2)
            one.levels[j][mine], two.levels[j][mine] = first, ok[mine] & ~first
            one.low[mine, j], one.high[mine, j] = _edges(one.levels[j][mine])
            two.low[mine, j], two.high[mine, j] = _edges(two.levels[j][mine])
    return [one, two]


def _edges(ok: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ok.argmax(1).astype(float), (ok.shape[1] - 1 - ok[:, ::-1].argmax(1)).astype(float)
