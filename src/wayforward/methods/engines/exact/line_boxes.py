"""The cheapest row that a linear score accepts, or that there is none: branch and bound in compiled code.

Source: M. Fisher (1981), The Lagrangian relaxation method for solving integer programming problems, Management Science
27(1); the choice of one value a feature is a multiple-choice knapsack, P. Sinha, A. Zoltners (1979), Operations
Research 27(3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from wayforward.methods.engines.exact.box_records import BoxPeople, Line, LineRoom
from wayforward.methods.engines.exact.forest_boxes import BOXES, LEVELS, PACE, ForestBoxes, clauses_of, summed
from wayforward.methods.engines.seeker import packing
from wayforward.model import kernels
from wayforward.model.adapted import SINGLE
from wayforward.model.affine_net import AffineNet
from wayforward.model.rounding import DOUBLE_UNIT, SINGLE_UNIT
from wayforward.problem.robust import WithinDelta
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from wayforward.problem import Population, Problem

_LEVEL_AT = 10  # row of `feature`, as the seeker has it: the first column of its levels
_FAR = 1e6  # spans from 0 that a number without an end may go; who could go farther is left open


class _Worst(NamedTuple):
    """What a score loses at worst where each weight moves by so much: const, offset and gone (d,), table (all levels)
    as they stand; dent, centre (d,) of numbers, see `Line`."""

    const: float
    offset: Floats
    gone: Floats
    table: Floats
    dent: Floats
    centre: Floats

    @classmethod
    def of(cls, problem: Problem, net: AffineNet, size: float) -> _Worst | None:
        """Read it off the columns of the model; None where several columns grow with one number."""
        d, encoder = problem.schema.d, net.encoder
        const, table = 0.0, np.zeros(len(net.table))
        offset, gone, dent, centre = (np.zeros(d) for _ in range(4))
        number = dict(zip(encoder.numeric, encoder.source.tolist(), strict=True))
        for e, column in enumerate(encoder.columns):
            if column.table is not None and column.feature < 0:
                const += size * abs(float(column.table[0]))
            elif column.table is not None:
                table[net.places[column.feature]] += size * np.abs(column.table[:-1])
                gone[column.feature] += size * abs(float(np.nan_to_num(column.table[-1])))
            else:
                f, slope = number[e], column.factor / column.divisor
                shift = column.shift - column.centre * slope
                gone[f] += size * abs(float(np.nan_to_num(column.missing)))
                if slope == 0.0:
                    offset[f] += size * abs(shift)
                    continue
                if dent[f] > 0.0 or problem.schema.has_levels[f]:
                    return None
                dent[f], centre[f] = size * abs(slope), -shift / slope
        return cls(const, offset, gone, table, dent, centre)


class LineBoxes(ForestBoxes):
    """Search people's cheapest option of one linear score. Make it with `LineBoxes.of`; see `ForestBoxes`.

    `WithinDelta` with each weight by itself is part of the search: the score then is the least of all such weights, of
    which each column loses its size. (Weights that move together lose the length of the row, which is no sum.)

    What is found costs at most a billionth more than what is proved. Who may change a number without an end, within
    what is paid at most, is left open.
    """

    within: ClassVar[float] = 1e-8

    def __init__(
        self, problem: Problem, net: AffineNet, feature: Floats, number: Floats, edge: tuple[float, float],
        worst: _Worst | None = None,
    ) -> None:  # fmt: skip
        self.schema, self.feature, self.number, self.ordinary = problem.schema, feature, number, None
        self.need, self.sure = edge
        self.provable, self.power, self.pace = True, 1.0, float(PACE)
        self.level_rules, self.clauses, every = clauses_of(problem.schema)
        self.complete = every and problem.plausibility is None
        self.most = _most_changes(self.clauses, problem.schema.d)
        schema, d = problem.schema, problem.schema.d
        ends = np.maximum(np.abs(schema.low), np.abs(schema.high))
        far = np.where(np.isfinite(ends), ends * (1 + 1e-6) + schema.span * 1e-6, _FAR * schema.span)
        table = np.zeros(int(schema.n_levels.sum()))
        each = net.table[:, 0] if worst is None else net.table[:, 0] - worst.table
        for j, at in net.places.items():
            start = int(feature[_LEVEL_AT, j])
            table[start : start + int(schema.n_levels[j])] = each[at]
        offset, gone = net.offset[:d, 0].copy(), net.gone[:d, 0].copy()
        dent, centre = np.zeros((2, d))
        self.bias, self.fixed, self.reach = float(net.bias[0]), float(net.fixed[0]), net.reach[:d, 0]
        self.lost = net.lost[0] + net.lost_here
        if worst is not None:
            offset, gone = offset - worst.offset, gone - worst.gone
            dent, centre = worst.dent, worst.centre
            self.bias -= worst.const
            self.fixed += worst.const + (worst.offset + worst.gone + dent * np.abs(centre)).sum()
            self.fixed += worst.table.sum()
            self.reach, self.lost = self.reach + dent, 2.0 * self.lost
        self.line = Line(net.slope[:d, 0].copy(), offset, gone, table, far, dent, centre)

    @classmethod
    def of(cls, problem: Problem) -> LineBoxes | None:
        """Pack a problem; None where it is not of this kind: a linear score with one output, a cost that is a sum of
        steps or their Euclidean norm, nothing that follows from an action, no more asked for than today's decision, or
        than that of all weights around."""
        form = problem.model.dense
        if kernels.jit() is None or form is None or len(form.weights) != 1 or form.encoder.ufuncs:
            return None
        robust = problem.robust
        known = robust is None or (isinstance(robust, WithinDelta) and robust.norm == "linf")
        if not problem.independent or not known or problem.demanding:
            return None
        priced = summed(problem)
        if priced is None or priced[2] or problem.target.interval is not None:
            return None
        problem, power, _ = priced
        mix = packing.one_output(problem, form.weights[-1].shape[1], form.link)
        margins = None if mix is None else packing.margin_range(problem, form.link, mix)
        if mix is None or margins is None or set(form.activations) > {"relu", "identity"}:
            return None
        unit = SINGLE_UNIT if problem.model.tolerance >= SINGLE else DOUBLE_UNIT
        net = AffineNet.of(form, problem.schema.level_columns, mix[:, None], unit)
        if net is None or (problem.schema.n_levels[net.used] > LEVELS).any():
            return None
        worst = None
        if isinstance(robust, WithinDelta):
            size = robust.delta * float(np.abs(mix).sum())
            worst = _Worst.of(problem, net, size)
            if worst is None:
                return None
            worst = worst._replace(const=worst.const + size * robust.bias)
        land = packing.terrain(problem, net.used, margins, (0.0, 1.0))
        edge = (margins[0], margins[0] + margins[2])
        boxes = cls(problem, net, land.feature, np.append(land.number, 0.0), edge, worst)
        boxes.power = power
        return boxes

    def least_cost(self, people: Population, cutoff: Floats, limit: int = BOXES) -> Floats:
        """See `ForestBoxes.least_cost`; NaN for who may change a number without an end, too."""
        least = super().least_cost(people, cutoff, limit)
        return np.where(least > 0, least, np.nan)

    def _extent(self, people: Population) -> Floats:
        """(n,) the size of what a score is summed from."""
        return np.asarray(self.fixed + np.fmax(np.abs(people.x), self.line.far) @ self.reach)

    def _needs(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        room = self.lost * self._extent(people)
        return self.need - self.bias - room, self.sure - self.bias + room

    def _searcher(
        self,
        people: Population,
        feature: Floats,
        need: np.ndarray,
        sure: np.ndarray,
        limit: int,
        begin: float,
        whole: bool,
    ) -> Callable[..., None]:
        from wayforward.methods.engines.exact import _lines_jit

        extent, boxes, d = self._extent(people), 2 * limit + 8, people.d
        room = LineRoom(
            np.empty((boxes, d)), np.empty((boxes, d)), np.empty((boxes, d), np.uint64), np.empty(boxes),
            np.empty((boxes, 2), np.int64), np.empty(boxes), np.empty(boxes, np.uint64), np.zeros((8, d)),
            np.empty(d, np.int64), np.empty(d), np.empty(d), np.ones(1),
        )  # fmt: skip

        def search(mine: BoxPeople, some: slice, *found: np.ndarray) -> None:
            np.minimum(mine.most, self.most, out=mine.most)
            _lines_jit.search_lines(
                mine, self.line, feature, self.number, need[some], sure[some], extent[some], self.clauses, room, *found
            )  # fmt: skip

        return search


def _most_changes(clauses: Any, d: int) -> int:
    """How many features the rules let change, as far as a rule is about that alone."""
    most = d
    for first, stop in zip(clauses.atom_at[:-1], clauses.atom_at[1:], strict=True):
        terms = slice(clauses.term_at[first], clauses.term_at[first + 1])
        weight = clauses.weight[terms]
        whole = stop == first + 1 and clauses.kind[first] == 0 and len(weight) > 0
        alike = (
            whole and (clauses.term[terms, 1] == 2).all() and (weight == weight[0]).all() and weight[0] > 0
        )
        if alike and len(np.unique(clauses.term[terms, 0])) == d:
            most = min(most, int(np.floor(clauses.bound[first] / weight[0] * (1 + 1e-9))))
    return most
