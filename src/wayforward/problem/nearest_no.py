"""The nearest point of a box that is not an option: branch and bound over what people may do, with the model's bounds.

A box in which no such point exists is a promise: whatever legal point of it somebody chooses, the answer is a yes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wayforward.deadline import look
from wayforward.problem import branching
from wayforward.problem.branching import ActionBoxes
from wayforward.problem.population import Population
from wayforward.problem.reach import lattice_ends
from wayforward.shapes import Floats, Ints, Mask, PerFeature

BOXES = 3_000  # looked at for a question before what is left open counts as a no
NARROW = 1e-7  # of a span: a range of numbers that is not split any more
_SIGHT = 100.0  # spans that are looked over where a box has no end
_GRIDS = (
    2.0 ** np.arange(-40, 1),
    np.arange(1, 17) / 16,
    np.arange(1, 17) / 16,
)  # ever finer shares of what is left


class NearestNo(NamedTuple):
    """at (q,): up to there, coming from the near side, all is an option; inf times the side where all of the box is.

    seen (q,): the nearest point that is none for certain; where the two differ, what lies between is not known.
    """

    at: Floats
    seen: Floats


def certifiable(people: Population) -> Mask:
    """(n,) bool: bounds say enough of the person to speak for every point of a box, with nothing else asked for."""
    problem = people.problem
    plain = problem.independent and problem.plausibility is None and problem.robust is None
    plain = plain and not problem.demanding and problem.model.bounded
    listed = problem.model.listed
    between = (people.x != people.schema.round(people.x))[:, listed] & ~np.isnan(people.x[:, listed])
    return np.asarray(plain & ~between.any(1))


def nearest_no(
    people: Population, boxes: ActionBoxes, axis: Ints, side: Floats, leeway: float = 0.0
) -> NearestNo:
    """Search each box for the point nearest along its axis that is a no or breaks a rule.

    people: one for each box, the box q is of person q. axis (q,): a feature with numbers; side (q,) 1 or -1: the near
    end is the lower or the upper one; side 0: whether there is any such point (at 0 then, else inf). leeway: `at` may
    lie nearer by this share of the way than need be, which saves most of the time on networks.
    Sound for every legal point of a box; it does not look at personal limits, which are the box's business.
    """
    n = len(boxes)
    stop, seen, looked = np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    cuts, span = people.problem.model.thresholds(), people.schema.span
    if leeway and cuts is None and side.all():
        boxes = _up_to_sighted(people, boxes, axis, side, stop, leeway)
    boxes = _on_lattice(people, boxes)
    while len(boxes):
        look()
        looked += np.bincount(boxes.owner, minlength=n)
        key = _key(boxes, axis, side)
        yes, no = _verdict(people, boxes)
        for ends in (stop, seen):
            np.minimum.at(ends, boxes.owner[no], key[no])
        left = np.flatnonzero(~yes & ~no & (key < stop[boxes.owner]))
        boxes, key = boxes.take(left), key[left]
        column, at = _split(boxes, cuts, span, np.where(side == 0, -1, axis)[boxes.owner])
        given_up = (column < 0) | (looked[boxes.owner] > BOXES)
        np.minimum.at(stop, boxes.owner[given_up], key[given_up])
        left = np.flatnonzero(~given_up)
        boxes = _halves(people, boxes.take(left), column[left], at[left])
        boxes = boxes.take(np.flatnonzero(_key(boxes, axis, side) < stop[boxes.owner]))
    sign = np.where(side == 0, 1.0, side)
    return NearestNo(sign * stop, sign * seen)


def _key(boxes: ActionBoxes, axis: Ints, side: Floats) -> Floats:
    """(b,) how far along its axis the near end of a box is."""
    each, mine = np.arange(len(boxes)), side[boxes.owner]
    column = axis[boxes.owner]
    near = np.where(mine > 0, boxes.low[each, column], -boxes.high[each, column])
    return np.asarray(np.where(mine == 0, 0.0, near))


def _up_to_sighted(
    people: Population, boxes: ActionBoxes, axis: Ints, side: Floats, stop: Floats, leeway: float
) -> ActionBoxes:
    """Cut boxes (q) a little before the first no in sight, which goes into stop (q,): of points along the axis, else as
    near to the person as the box lets them stay, by the fast path. Nothing is promised on the ground of these points.
    """
    each = np.arange(len(boxes))
    least = np.clip(people.x, boxes.low, boxes.high)
    level = people.schema.has_levels
    least[:, level] = boxes.low[:, level]
    begin = np.where(side > 0, boxes.low[each, axis], -boxes.high[each, axis])
    end = np.where(side > 0, boxes.high[each, axis], -boxes.low[each, axis])
    with np.errstate(invalid="ignore"):
        end = np.where(np.isfinite(end), end, begin + _SIGHT * people.schema.span[axis])
    yes, no, seen = (
        np.zeros(len(boxes)),
        np.ones(len(boxes)),
        np.zeros(len(boxes), dtype=bool),
    )  # shares of the way
    for grid in _GRIDS:  # (g,) in (0, 1]
        share = yes + (no - yes) * grid[:, None]  # (g, q)
        rows = np.repeat(least[None], len(grid), axis=0)
        rows[:, each, axis] = side * (begin + share * (end - begin))
        presumed = people.problem.presumed(rows.reshape(-1, rows.shape[2]))
        if presumed is None:
            return boxes
        bad = ~presumed.reshape(len(grid), -1)
        first, here = bad.argmax(0), bad.any(0)
        yes = np.where(first > 0, share[first - 1, each], yes)
        no, seen = np.where(here, share[first, each], no), seen | here
    end, step, schema = begin + no * (1 - leeway) * (end - begin), people.schema.step[axis], people.schema
    last = side * schema.round((side * end)[None], columns=axis)[0]  # the last step in front of it
    last = np.where(np.isnan(step), end, np.where(last > end, last - step, last))
    stop[seen] = np.where(np.isnan(step), end, last + step)[seen]
    up, down, out = np.flatnonzero(seen & (side > 0)), np.flatnonzero(seen & (side < 0)), boxes.take(each)
    out.high[up, axis[up]], out.low[down, axis[down]] = last[up], -last[down]
    return out


def _verdict(people: Population, boxes: ActionBoxes) -> tuple[Mask, Mask]:
    """(b,), (b,) bool: every legal point is an option, none is."""
    problem = people.problem
    bounds = problem.model.box_bounds(boxes.low, boxes.high, boxes.levels)
    assert bounds is not None  # of those who are certifiable
    yes = problem.bound_target.surely_reached(bounds.least, bounds.most)
    no = problem.bound_target.surely_missed(bounds.least, bounds.most)
    holds, broken = _rules(people, boxes)
    single = boxes.single().all(1)
    ask = np.flatnonzero(~yes & ~no & ~broken & (bounds.constant | single))
    if ask.size:  # too near to the boundary for bounds: the model itself has the last word
        yes[ask] = problem.reached(branching.corner(people, boxes.take(ask)))[0]
        no[ask] = ~yes[ask]
    points = np.flatnonzero(single & ~holds & ~broken)
    if points.size:
        rows = branching.corner(people, boxes.take(points))
        holds[points] = people.schema.compiled_rules.satisfied(people.x[boxes.owner[points]], rows)
        broken[points] = ~holds[points]
    return yes & holds, no | broken


def _rules(people: Population, boxes: ActionBoxes) -> tuple[Mask, Mask]:
    """(b,), (b,) bool: every rule holds all over the box, some rule is broken all over it."""
    rules = people.schema.compiled_rules if people.schema.rules else None
    if rules is None or not len(rules.conditions):
        return np.ones(len(boxes), dtype=bool), np.zeros(len(boxes), dtype=bool)
    before = people.x[boxes.owner]
    own = {j: np.arange(ok.shape[1]) == before[:, j, None] for j, ok in boxes.levels.items()}
    truth = rules.interval(
        before, before, boxes.low, boxes.high, before_levels=own, after_levels=boxes.levels
    )
    return np.asarray((truth == 1).all(1)), np.asarray((truth == -1).any(1))


def _split(
    boxes: ActionBoxes, cuts: list[Floats] | None, span: PerFeature, axis: Ints
) -> tuple[Ints, Floats]:
    """(b,) the feature to split at and (b,) where, the last value of the lower part; -1: nothing is left to split.

    A forest is split at its thresholds, in the middle of those that are inside; other models, and what only rules
    read, in the middle of the widest range. The axis (b,) comes first among equals.
    """
    b, d = boxes.low.shape
    open_ = boxes.acts & ~boxes.single()
    with np.errstate(invalid="ignore"):
        width = (boxes.high - boxes.low) / span
        middle = boxes.low + (boxes.high - boxes.low) / 2
        reach = np.maximum(span, 2 * np.abs(np.where(np.isfinite(boxes.low), boxes.low, boxes.high)))
    middle = np.where(np.isfinite(boxes.low) & ~np.isfinite(boxes.high), boxes.low + reach, middle)
    middle = np.where(~np.isfinite(boxes.low) & np.isfinite(boxes.high), boxes.high - reach, middle)
    middle = np.where(~np.isfinite(boxes.low) & ~np.isfinite(boxes.high), 0.0, middle)
    worth = np.where(open_ & (width > NARROW), np.minimum(width, 1.0), 0.0)
    for j, ok in boxes.levels.items():
        many = ok.sum(1)
        worth[:, j] = np.where(open_[:, j] & (many > 1), many / ok.shape[1], 0.0)
    for j, cut in enumerate(cuts or []):
        if not len(cut):
            continue
        first, last = np.searchsorted(cut, boxes.low[:, j]), np.searchsorted(cut, boxes.high[:, j])
        inside = np.where(open_[:, j], last - first, 0)
        rows = np.flatnonzero(inside > 0)
        middle[rows, j] = cut[(first[rows] + last[rows]) // 2]
        worth[rows, j] = 1.0 + inside[rows]
    rows = np.flatnonzero(axis >= 0)
    worth[rows, axis[rows]] *= 2.0
    column = worth.argmax(1) if b else np.empty(0, dtype=np.int64)
    each = np.arange(b)
    return np.where(worth[each, column] > 0, column, -1), middle[each, column]


def _halves(people: Population, boxes: ActionBoxes, column: Ints, at: Floats) -> ActionBoxes:
    """Both parts of every box, split in front of the first value above `at`; of levels, half of them each."""
    schema, each = people.schema, np.arange(len(boxes))
    lower, upper = boxes.take(each), boxes.take(each)
    step = schema.step[column]
    point = schema.round(at[:, None].T, columns=column).ravel()
    below = np.where(point > at, schema.round((point - step)[:, None].T, columns=column).ravel(), point)
    above = schema.round((below + step)[:, None].T, columns=column).ravel()
    lower.high[each, column] = np.where(np.isnan(step), at, below)
    upper.low[each, column] = np.where(np.isnan(step), np.nextafter(at, np.inf), above)
    for j, ok in boxes.levels.items():
        mine = np.flatnonzero(column == j)
        rank = ok[mine].cumsum(1)
        first = ok[mine] & (rank <= ok[mine].sum(1)[:, None] // 2)
        for part, some in ((lower, first), (upper, ok[mine] & ~first)):
            part.levels[j][mine] = some
            part.low[mine, j] = some.argmax(1)
            part.high[mine, j] = some.shape[1] - 1 - some[:, ::-1].argmax(1)
    both = ActionBoxes.join([lower, upper])
    return both.take(np.flatnonzero(~(both.low > both.high).any(1)))


def _on_lattice(people: Population, boxes: ActionBoxes) -> ActionBoxes:
    """Boxes whose ends are legal values of what is acted on; those that hold none are left out."""
    j = people.schema.on_lattice
    if j.size:
        ends = np.stack([boxes.low[:, j], boxes.high[:, j]])
        sure = boxes.acts[:, j] & np.isfinite(ends)
        first, last = lattice_ends(
            people.schema, np.where(sure[0], ends[0], 0.0), np.where(sure[1], ends[1], 0.0), j
        )
        boxes.low[:, j] = np.where(sure[0], first, boxes.low[:, j])
        boxes.high[:, j] = np.where(sure[1], last, boxes.high[:, j])
    return boxes.take(np.flatnonzero(~(boxes.low > boxes.high).any(1)))
