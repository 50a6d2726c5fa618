"""Proofs that no recourse exists, from sound bounds on the model over everything a person may reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.problem.population import Population
from wayforward.shapes import Mask

_BOXES = 512  # boxes a person's reach may be split into before the proof is given up
_ROUNDS = 40
_PEOPLE = 64  # at once


@dataclass
class _Boxes:
    """b boxes of values: owner (b,), low, high (b, d), and for level features the levels inside, j -> (b, L)."""

    owner: np.ndarray
    low: np.ndarray
    high: np.ndarray
    levels: dict[int, np.ndarray]

    def take(self, rows: np.ndarray) -> _Boxes:
        return _Boxes(
            self.owner[rows], self.low[rows], self.high[rows], {j: ok[rows] for j, ok in self.levels.items()}
        )

    @staticmethod
    def join(a: _Boxes, b: _Boxes) -> _Boxes:
        return _Boxes(
            np.concatenate([a.owner, b.owner]),
            np.concatenate([a.low, b.low]),
            np.concatenate([a.high, b.high]),
            {j: np.concatenate([a.levels[j], b.levels[j]]) for j in a.levels},
        )


def out_of_reach(people: Population) -> Mask:
    """(n,) bool: proved that no allowed action turns the decision, whatever method searches.

    The box of everything that a person may reach holds every allowed action (costs and plausibility only shrink it).
    Branch and bound: a box is discarded where a rule is surely broken all over it, or where even the most favourable
    output that the model can give inside is a no; what is left is halved. If nothing is left, nothing exists. Needs a
    world in which nothing else moves and, unless rules alone decide, a model that bounds its outputs over boxes.
    Elsewhere, and where a few hundred boxes do not settle it, the answer is False: not proved.
    """
    if not people.problem.independent or people.n == 0:
        return np.zeros(people.n, dtype=bool)
    if people.n <= _PEOPLE:
        return _out_of_reach(people)
    parts = np.array_split(np.arange(people.n), -(-people.n // _PEOPLE))  # bounds the memory that boxes take
    return np.concatenate([_out_of_reach(people.take(part)) for part in parts])


def _out_of_reach(people: Population) -> Mask:
    schema, n = people.schema, people.n
    proved = np.zeros(n, dtype=bool)
    boxes = _reach(people)
    conditions = bool(schema.rules) and len(schema.compiled_rules.conditions) > 0
    tried = np.ones(n, dtype=np.int64)
    given_up = np.zeros(n, dtype=bool)
    for _ in range(_ROUNDS):
        gone = _rules_broken(people, boxes) if conditions else np.zeros(len(boxes.owner), dtype=bool)
        missed = _surely_missed(people, boxes)
        if missed is not None:
            gone |= missed
        boxes = boxes.take(np.flatnonzero(~gone))
        left = np.bincount(boxes.owner, minlength=n) > 0
        proved = ~left & ~given_up
        if missed is None:  # no bounds from this model: splitting would only repeat the rules
            return proved
        width = _widths(people, boxes)
        given_up[boxes.owner[(width <= 0).all(1)]] = (
            True  # a single point that is not ruled out: it may be a yes
        )
        given_up |= tried > _BOXES
        boxes = boxes.take(np.flatnonzero(~given_up[boxes.owner]))
        if not len(boxes.owner):
            return proved
        boxes = _halved(people, boxes)
        tried += np.bincount(boxes.owner, minlength=n)
    return proved


def _reach(people: Population) -> _Boxes:
    """Everything that the judge would let a person reach; a search may stop at what was observed."""
    may, x = people.may, people.x
    low = np.where(may, np.fmin(people.least, x), x)
    high = np.where(may, np.fmax(people.greatest, x), x)
    levels = {}
    for j, ok in people.level_ok.items():
        stay = np.arange(ok.shape[1]) == x[:, j, None]
        levels[j] = np.where(may[:, j, None], ok | stay, stay)
    return _Boxes(np.arange(people.n), low, high, levels)


def _rules_broken(people: Population, boxes: _Boxes) -> Mask:
    before = people.x[boxes.owner]
    fixed = {j: np.arange(ok.shape[1]) == before[:, j, None] for j, ok in boxes.levels.items()}
    gone = np.isnan(before)  # it may also stay missing, and then breaks no rule: nothing is known of it
    low, high = np.where(gone, np.nan, boxes.low), np.where(gone, np.nan, boxes.high)
    truth = people.schema.compiled_rules.interval(
        before, before, low, high, before_levels=fixed, after_levels=boxes.levels
    )
    return np.asarray((truth == -1).any(1))


def _surely_missed(people: Population, boxes: _Boxes) -> Mask | None:
    """(b,) bool, or None where the model gives no bounds. A feature that is missing and may be set has no box."""
    problem = people.problem
    before = people.x[boxes.owner]
    sound = ~(np.isnan(before) & people.may[boxes.owner]).any(1)
    missed = np.zeros(len(boxes.owner), dtype=bool)
    if sound.any():
        levels = {j: ok[sound] for j, ok in boxes.levels.items()}
        bounds = problem.model.margin_bounds(boxes.low[sound], boxes.high[sound], levels)
        if bounds is None:
            return None
        missed[sound] = problem.bound_target.surely_missed(*bounds)
    return missed


def _widths(people: Population, boxes: _Boxes) -> np.ndarray:
    """(b, d) share of its span that a feature still covers; 0 where one value (or next to nothing) is left."""
    schema = people.schema
    with np.errstate(invalid="ignore"):
        width = (boxes.high - boxes.low) / schema.span
        tiny = np.where(np.isnan(schema.step), 1e-6, 0.5 * np.nan_to_num(schema.step) / schema.span)
        endless = ~np.isfinite(width)  # no middle to split at
        width = np.where(endless | (width <= tiny), 0.0, width)
    for j, ok in boxes.levels.items():
        count = ok.sum(1)
        width[:, j] = np.where(count > 1, count / ok.shape[1], 0.0)
    return np.where(people.may[boxes.owner], width, 0.0)


def _halved(people: Population, boxes: _Boxes) -> _Boxes:
    """Split every box in two along its widest feature; on a lattice, between two of its points.

    Somebody who stands between these two points may stay there, so that the upper half begins where they stand.
    """
    schema = people.schema
    each = np.arange(len(boxes.owner))
    col = _widths(people, boxes).argmax(1)
    one, two = boxes.take(each), boxes.take(each)
    middle = (boxes.low[each, col] + boxes.high[each, col]) / 2
    step = schema.step[col]
    point = schema.round(middle[:, None].T, columns=col).ravel()
    point = np.where(point > middle, point - step, point)  # the last lattice point of the lower half
    upper = np.where(np.isnan(step), middle, point + step)
    here = people.x[boxes.owner, col]
    upper = np.where((here > point) & (here > boxes.low[each, col]) & (here < upper), here, upper)
    one.high[each, col] = np.where(np.isnan(step), middle, np.maximum(point, boxes.low[each, col]))
    two.low[each, col] = np.minimum(upper, boxes.high[each, col])
    for j, ok in boxes.levels.items():
        mine = np.flatnonzero(col == j)
        if mine.size:
            rank = ok[mine].cumsum(1)
            first = ok[mine] & (rank <= ok[mine].sum(1)[:, None] // 2)
            one.levels[j][mine], two.levels[j][mine] = first, ok[mine] & ~first
            one.low[mine, j], one.high[mine, j] = _edges(one.levels[j][mine])
            two.low[mine, j], two.high[mine, j] = _edges(two.levels[j][mine])
    return _Boxes.join(one, two)


def _edges(ok: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ok.argmax(1).astype(float), (ok.shape[1] - 1 - ok[:, ::-1].argmax(1)).astype(float)
