"""How little an option can cost against a linear score or a network of rectified units: branch and bound over boxes.

A box of rows has an affine bound on the score (`AffineNet`), and with it a bound on what any row in it must cost
(`least_sum`): exact for a linear score and costs that are sums of straight steps. The box of least bound is split where
its bound is most too low: between the values that a number may have, around where the person stands, or where the
network bends. What surely breaks a rule, or changes too much, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.deadline import look
from wayforward.errors import ProblemError, UnsupportedModel
from wayforward.methods.engines.exact.box_costs import BoxBound, BoxMenu, least_peak, least_sum
from wayforward.methods.engines.seeker import packing
from wayforward.model.adapted import SINGLE
from wayforward.model.affine_net import AffineNet, NetBoxes
from wayforward.model.rounding import DOUBLE_UNIT, SINGLE_UNIT
from wayforward.problem.cost import LpMix
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_ROUND = 24  # boxes of a person that are split at once
_CLOSE = 1e-7  # bounds that are so near to what somebody has are as good as it
_ROOM = 1e-9  # of a span: by so much the judge lets a value miss a bound
_LACKING = 6  # values that somebody lacks, at most; whoever lacks more is left out


@dataclass
class _Boxes:
    """owner (b,), low and high (b, d), ok (b, L) levels; bound (b,) on the cost of their rows; split: where. way (b,):
    which of the ways of filling in what people lack (`RelaxedBoxes.filled`) it is of."""

    owner: Ints
    way: Ints
    low: Floats
    high: Floats
    ok: Mask
    bound: Floats
    feature: Ints  # to split; -1: nothing is left to split
    cut: Floats
    around: Mask  # split into where the person stands and the sides of it

    def take(self, at: np.ndarray) -> _Boxes:
        return _Boxes(*(part[at] for part in vars(self).values()))

    @staticmethod
    def join(parts: list[_Boxes]) -> _Boxes:
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return _Boxes(*(np.concatenate(column) for column in columns))


@dataclass
class _Rows:
    """Rows worth a look at: last (n, 2, d) those at which an option of the last boxes may lie, of the box of least
    bound; shut (n, d) that of the box of least bound which nothing can split, and that bound (n,)."""

    last: Actions
    shut: Actions
    bound: Floats


class RelaxedBoxes:
    """Bounds on what options of one problem cost. Make it with `RelaxedBoxes.of`."""

    def __init__(self, problem: Problem, net: AffineNet, need: float, kind: str) -> None:
        self.problem, self.schema, self.net, self.need, self.kind = problem, problem.schema, net, need, kind
        cost, scales = problem.cost, problem.cost.fitted_scales
        if kind == "sum":
            fixed, line, square = cost.step_sum() or (0.0, 0.0, 0.0)
        else:
            assert isinstance(cost, LpMix)
            fixed, line, square = (0.0, 0.0, cost.l2**2) if kind == "norm" else (0.0, cost.linf, 0.0)
        self.fixed, self.line, self.square = fixed, line / scales.divisor, square / scales.divisor**2
        self.whole = scales.span
        self.step = np.where(problem.schema.has_levels, np.nan, problem.schema.step)
        self.changes = problem.least_change
        self.rules = bool(problem.schema.rules) and len(problem.schema.compiled_rules.conditions) > 0
        self.reads = (
            problem.schema.compiled_rules.involved.any(0) if self.rules else np.zeros(problem.schema.d, bool)
        )

    @classmethod
    def of_method(cls, problem: Problem, name: str, takes: str, otherwise: str) -> RelaxedBoxes | None:
        """Read a problem for a method that has no other way; None where something follows from acts.

        takes, otherwise: which models, and what to use instead, for the error. Raises: UnsupportedModel, ProblemError.
        """
        form = problem.model.dense
        if form is None or not set(form.activations) <= {"relu", "identity"}:
            raise UnsupportedModel(
                f"'{name}' {takes}; {problem.model.name} is neither. "
                f"local-search takes any model; {otherwise}."
            )
        boxes = cls.of(problem.asking_no_more())
        if boxes is None and problem.independent:
            raise ProblemError(
                f"'{name}' adds up steps, or takes the greatest or their Euclidean norm, against a score with one "
                f"output; {problem.model.name} with a cost in {problem.cost.unit} is not of that kind. Use a cost such "
                "as LpMix(l1=1.0), or local-search."
            )
        return boxes

    @classmethod
    def of(cls, problem: Problem) -> RelaxedBoxes | None:
        """Read a problem; None where it is not of this kind: a linear score or a network of rectified units with one
        output, a cost that is a sum of steps, the greatest one or their Euclidean norm, nothing that follows."""
        form, cost = problem.model.dense, problem.cost
        if form is None or not problem.independent or problem.target.interval is not None:
            return None
        kind = "sum" if cost.separable and cost.step_sum() is not None else ""
        if isinstance(cost, LpMix) and not (cost.l0 or cost.l1 or cost.l2_squared or (cost.l2 and cost.linf)):
            kind = "norm" if cost.l2 else "peak"
        if not kind:
            return None
        mix = packing.one_output(problem, form.weights[-1].shape[1], form.link)
        margins = None if mix is None else packing.margin_range(problem, form.link, mix)
        if mix is None or margins is None:
            return None
        unit = SINGLE_UNIT if problem.model.tolerance >= SINGLE else DOUBLE_UNIT
        net = AffineNet.of(form, problem.schema.level_columns, mix[:, None], unit)
        return None if net is None or form.encoder.ufuncs else cls(problem, net, margins[0], kind)

    def least_cost(self, people: Population, cutoff: Floats, limit: int) -> Floats:
        """(n,) no action that the judge may accept costs less; NaN where nothing is proved, at most cutoff (n,)."""
        return self.search(people, cutoff, limit)[0]

    def search(self, people: Population, cutoff: Floats, limit: int) -> tuple[Floats, Actions]:
        """Return bounds (n,) as `least_cost`, and rows (n, 3, d) at which an option may lie: two of the last boxes, and
        that of the cheapest box which nothing could split, where the bound ends unless the model refuses the row.

        limit: boxes a person.
        """
        n, d = people.x.shape
        points = _Rows(np.full((n, 2, d), np.nan), np.full((n, d), np.nan), np.full(n, np.inf))
        boxes, unclear = self._everything(people, cutoff)
        boxes = self._bounded(people, boxes, cutoff, points)
        looked = np.bincount(boxes.owner, minlength=n)
        least, done = np.full(n, np.nan), unclear.copy()
        while True:
            look()
            lowest = np.full(n, np.inf)
            np.minimum.at(lowest, boxes.owner, boxes.bound)
            sealed = np.full(n, np.inf)  # of boxes that nothing can split any more
            shut = boxes.feature < 0
            np.minimum.at(sealed, boxes.owner[shut], boxes.bound[shut])
            over = (lowest >= cutoff * (1 - _CLOSE)) | (sealed <= lowest * (1 + _CLOSE)) | (looked >= limit)
            ends = over & ~done
            least[ends] = np.minimum(lowest, cutoff)[ends]
            done |= ends
            boxes = boxes.take(np.flatnonzero(~done[boxes.owner]))
            if not len(boxes.owner):
                return least, np.concatenate([points.last, points.shut[:, None]], axis=1)
            order = np.lexsort((boxes.bound, boxes.owner))
            place = np.arange(len(order)) - np.searchsorted(boxes.owner[order], boxes.owner[order])
            go = order[(place < _ROUND) & (boxes.feature[order] >= 0)]
            parts = self._bounded(people, self._split(people, boxes.take(go)), cutoff, points)
            looked += np.bincount(boxes.owner[go], minlength=n) * 2
            stay = np.setdiff1d(np.arange(len(order)), go)
            boxes = _Boxes.join([boxes.take(stay), parts])

    # -- boxes ---------------------------------------------------------------------------------------------

    def _everything(self, people: Population, cutoff: Floats) -> tuple[_Boxes, Mask]:
        """Boxes of all that the judge allows and the cutoff pays for, one for each way of filling in what a person
        lacks; (n,) bool: too much is missing, or something has no end."""
        schema, used = self.schema, self.net.used | self.reads
        lacks = people.may & used & np.isnan(people.x)
        owners, fills = [np.arange(people.n)], [np.zeros((people.n, people.d), dtype=bool)]
        for j in np.flatnonzero(lacks.any(0)):
            owner, more = np.concatenate(owners), np.concatenate(fills)
            also = np.flatnonzero(lacks[owner, j] & (lacks[owner].sum(1) <= _LACKING))
            more = more[also]
            more[:, j] = True
            owners.append(owner[also])
            fills.append(more)
        who, self.filled = np.concatenate(owners), np.concatenate(fills)
        x = people.x[who]
        self.base = self.net.base_of(np.where(self.filled, 0.0, x))
        unclear = lacks.sum(1) > _LACKING
        may = people.may[who] & used & (self.filled | ~np.isnan(x))
        room = np.where(np.isnan(self.step), _ROOM * schema.span, 0.0)
        with np.errstate(invalid="ignore"):
            near = people.problem.cost.reach_for(
                people.x, np.where(np.isfinite(cutoff), cutoff, 1e300), people.weight
            )
            low = np.fmax(people.least - room, np.where(np.isfinite(near[0]), near[0], -np.inf))[who]
            high = np.fmin(people.greatest + room, np.where(np.isfinite(near[1]), near[1], np.inf))[who]
            if self.filled.any():  # whatever is filled in costs the same
                low = np.where(self.filled, (people.least - room)[who], low)
                high = np.where(self.filled, (people.greatest + room)[who], high)
            low, high = self._inward(low, high)
            low, high = (
                np.where(self.filled, low, np.minimum(low, x)),
                np.where(self.filled, high, np.maximum(high, x)),
            )
        fixed = ~may | schema.has_levels
        low, high = np.where(fixed, x, low), np.where(fixed, x, high)
        hidden = schema.has_levels | (np.isnan(x) & ~self.filled)
        low, high = np.where(hidden, 0.0, low), np.where(hidden, 0.0, high)
        np.logical_or.at(unclear, who, ~(np.isfinite(low) & np.isfinite(high)).all(1))
        owner, index = schema.level_owner, schema.level_index
        own = index == x[:, owner]
        ok = np.where(may[:, owner], people.levels[who] | own, own)
        way = np.flatnonzero(~unclear[who])
        boxes = _Boxes(who[way], way, low[way], high[way], ok[way], np.zeros(len(way)), np.full(len(way), -1),
                       np.zeros(len(way)), np.zeros(len(way), bool))  # fmt: skip
        return boxes, unclear

    def _inward(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The first and the last point of each lattice inside."""
        schema, step = self.schema, self.step
        slack = schema.slack
        with np.errstate(invalid="ignore"):
            first, last = schema.round(low), schema.round(high)
            first = np.where(first < low - slack, schema.round(first + step), first)
            last = np.where(last > high + slack, schema.round(last - step), last)
        whole = ~np.isnan(step) & np.isfinite(low)
        low = np.where(whole, first, low)
        return low, np.where(~np.isnan(step) & np.isfinite(high), last, high)

    def _menu(self, people: Population, boxes: _Boxes, slope: Floats, table: Floats, need: Floats) -> BoxMenu:
        """What the values of each feature cost and gain: of a number the ends and where the person stands."""
        schema, who = self.schema, boxes.owner
        x, weight = np.nan_to_num(people.x[who]), people.weight[who]
        filled = self.filled[boxes.way]
        b, d = x.shape
        width = max(3, int(schema.n_levels.max(initial=0)))
        value, cost, gain = np.zeros((b, d, width)), np.full((b, d, width), np.inf), np.zeros((b, d, width))
        power = weight**2 if self.kind == "norm" else weight
        line, square = self.line * weight, self.square * power
        fixed = np.broadcast_to(self.fixed * weight, (b, d))
        inside = (boxes.low <= x) & (x <= boxes.high) & ~filled
        for k, (place, there) in enumerate(((boxes.low, True), (boxes.high, True), (x, inside))):
            way = np.where(filled, self.whole, np.abs(place - x))
            price = line * way + square * way**2 + fixed * (way > 0.5 * _ROOM * schema.span)
            value[:, :, k], gain[:, :, k] = place, slope * place
            cost[:, :, k] = np.where(there, price, np.inf)
        numbers = ~schema.has_levels & (filled | ~np.isnan(people.x[who]))
        cost[~numbers, 1:], cost[~numbers, 0] = np.inf, 0.0
        value[~numbers], gain[~numbers] = 0.0, 0.0
        for j, at in schema.level_columns.items():
            here = np.flatnonzero(filled[:, j] | ~np.isnan(people.x[who, j]))
            index = np.arange(int(schema.n_levels[j]))
            step = np.abs(index - x[here, j, None])
            step = np.minimum(step, 1.0) if schema.is_categorical[j] else step
            step = np.where(filled[here, j, None], self.whole[j], step)
            price = (
                self.line[j] * step * weight[here, j, None] + self.square[j] * step**2 * power[here, j, None]
            )
            price = price + self.fixed * weight[here, j, None] * (step > 0)
            cost[here, j, : len(index)] = np.where(boxes.ok[here][:, at], price, np.inf)
            value[here, j, : len(index)], gain[here, j, : len(index)] = index, table[here][:, at]
        only = numbers & (boxes.low < boxes.high) & ~filled
        return BoxMenu(
            value, cost, gain, need, np.where(only, square, 0.0), np.where(only, line, 0.0), fixed, x, boxes.low,
            boxes.high, np.where(only, slope, 0.0),
        )  # fmt: skip

    def _bounded(self, people: Population, boxes: _Boxes, cutoff: Floats, points: _Rows) -> _Boxes:
        """Bound boxes, leave out those that hold nothing of interest, and say where to split the others."""
        boxes = boxes.take(np.flatnonzero(~self._empty(people, boxes)))
        if not len(boxes.owner):
            return boxes
        who = boxes.owner
        above = self.net.above(NetBoxes(boxes.low, boxes.high, boxes.ok, self.base[boxes.way]))
        menu = self._menu(people, boxes, above.slope, above.table, self.need - above.const - above.room)
        relaxed = least_peak(menu) if self.kind == "peak" else least_sum(menu)
        bound = np.sqrt(np.maximum(relaxed.bound, 0.0)) if self.kind == "norm" else relaxed.bound
        boxes.bound = np.maximum(boxes.bound, bound)
        left = np.flatnonzero(boxes.bound < cutoff[who] * (1 - _CLOSE * 1e-2))
        boxes, relaxed = boxes.take(left), BoxBound(*(part[left] for part in relaxed))
        if len(left):
            self._choose(people, boxes, relaxed, above.loose[left], points)
        return boxes

    def _empty(self, people: Population, boxes: _Boxes) -> Mask:
        """(b,) bool: no row is inside, too many features surely change, or a rule is surely broken."""
        schema, who, filled = self.schema, boxes.owner, self.filled[boxes.way]
        x = people.x[who]
        gone = (boxes.low > boxes.high).any(1)
        with np.errstate(invalid="ignore"):
            moved = ((boxes.low > x) | (boxes.high < x)) & ~schema.has_levels
        for j, at in schema.level_columns.items():
            here = ~np.isnan(x[:, j])
            ok = boxes.ok[:, at]
            gone |= (here | filled[:, j]) & ~ok.any(1)
            moved[:, j] = here & ~ok[np.arange(len(x)), np.nan_to_num(x[:, j]).astype(np.int64)]
        moved |= filled
        gone |= moved.sum(1) > people.max_changes[who]
        if self.rules and len(x):
            levels = {j: boxes.ok[:, at] for j, at in schema.level_columns.items()}
            own = {j: np.arange(ok.shape[1]) == x[:, j, None] for j, ok in levels.items()}
            low, high = boxes.low.copy(), boxes.high.copy()
            for j, ok in levels.items():
                low[:, j], high[:, j] = ok.argmax(1), ok.shape[1] - 1 - ok[:, ::-1].argmax(1)
            stays = np.isnan(x) & ~filled
            low, high = np.where(stays, np.nan, low), np.where(stays, np.nan, high)
            truth = schema.compiled_rules.interval(x, x, low, high, before_levels=own, after_levels=levels)
            gone |= np.asarray((truth == -1).any(1))
        return np.asarray(gone)

    # -- splitting -----------------------------------------------------------------------------------------

    def _choose(
        self, people: Population, boxes: _Boxes, relaxed: BoxBound, loose: Floats, points: _Rows
    ) -> None:
        """Set where each box is split, or that nothing is left to split."""
        schema, who = self.schema, boxes.owner
        x, b = people.x[who], len(who)
        each = np.arange(b)
        mixed = relaxed.few + relaxed.share[:, None] * (relaxed.enough - relaxed.few)
        mixed = np.where(schema.has_levels, relaxed.enough, mixed)
        filled = self.filled[boxes.way]
        gone = np.isnan(x) & ~filled
        row = np.where(gone, np.nan, mixed)
        last = np.lexsort((-boxes.bound, who))  # of each person the box of least bound comes last
        points.last[who[last], 0] = row[last]
        points.last[who[last], 1] = np.where(gone, np.nan, relaxed.enough)[last]
        score = self.net.margin(self.base[boxes.way], np.where(gone & ~schema.has_levels, 0.0, row))
        tight: Mask = score >= self.need - 1e-9 * (1.0 + abs(self.need))
        onto = np.where(np.isnan(self.step) | gone, mixed, schema.round(mixed))
        at_own = (np.abs(mixed - np.nan_to_num(x)) <= _ROOM * schema.span) & ~filled
        onto = np.where(at_own, np.nan_to_num(x), onto)
        width = np.where(schema.has_levels | gone, 0.0, boxes.high - boxes.low) / schema.span
        both = np.zeros(x.shape, dtype=bool)  # a level may stay or be another one
        for j, at in schema.level_columns.items():
            width[:, j] = (boxes.ok[:, at].sum(1) - 1).clip(0) / max(int(schema.n_levels[j]) - 1, 1)
            own = boxes.ok[:, at][each, np.nan_to_num(x[:, j]).astype(np.int64)]
            both[:, j] = own & (width[:, j] > 0) & ~np.isnan(x[:, j])
        can = width > 1e-9
        inside = (
            (boxes.low <= np.nan_to_num(x))
            & (np.nan_to_num(x) <= boxes.high)
            & ~np.isnan(x)
            & ~schema.has_levels
        )
        moved = filled | (np.abs(mixed - np.nan_to_num(x)) > _ROOM * schema.span)
        # 1 what is chosen is half one value and half another; 2 numbers off their lattice, or moved by too little
        part = np.abs(relaxed.enough - relaxed.few) * can * (relaxed.share[:, None] < 1.0)
        part = np.where(schema.has_levels, part > 0, part / schema.span)
        jumpy = schema.has_levels | (self.fixed > 0) & inside & moved
        off = np.abs(onto - mixed) > 1e-7 * schema.span
        little = inside & moved & (np.abs(mixed - np.nan_to_num(x)) < self.changes - schema.slack)
        first = np.where((part > 0) & jumpy | off & can | little & can, 1.0 + part, 0.0)
        # 3 too many changes
        many = np.asarray((moved.sum(1) > people.max_changes[who])[:, None] & moved & (inside | both) & can)
        first = np.where(first.any(1, keepdims=True), first, np.where(many, 1.0 + width, 0.0))
        bend = np.where(can, loose, 0.0)
        use_bend = np.asarray(~tight & (bend > 0).any(1))
        rank = np.where(use_bend[:, None], bend, first)
        ruled = np.where(can & self.reads, width, 0.0)
        bad = np.zeros(b, dtype=bool)
        if self.rules:
            after = np.where(gone, x, onto)
            bad = ~np.asarray(schema.compiled_rules.satisfied(x, after))
        rank = np.where(rank.any(1, keepdims=True), rank, np.where(bad[:, None], ruled, 0.0))
        rank = np.where(
            rank.any(1, keepdims=True) | np.asarray(tight)[:, None], rank, np.where(can, width, 0.0)
        )
        boxes.feature = np.where(rank.any(1), rank.argmax(1), -1)
        shut = last[(boxes.feature[last] < 0) & (boxes.bound[last] < points.bound[who[last]])]
        points.shut[who[shut]], points.bound[who[shut]] = row[shut], boxes.bound[shut]
        j = np.maximum(boxes.feature, 0)
        boxes.around = (
            inside[each, j]
            & ~use_bend
            & (many[each, j] | little[each, j] | ((self.fixed > 0) & (part[each, j] > 0)))
        )
        low, high = boxes.low[each, j], boxes.high[each, j]
        value = mixed[each, j]
        middle = (low + high) / 2
        inner = (value > low + 0.02 * (high - low)) & (value < high - 0.02 * (high - low)) & ~use_bend
        inner |= off[each, j] & ~use_bend
        boxes.cut = np.where(inner, value, middle)

    def _split(self, people: Population, boxes: _Boxes) -> _Boxes:
        """The parts of boxes."""
        schema, each = self.schema, np.arange(len(boxes.owner))
        j, levels = boxes.feature, schema.has_levels[boxes.feature]
        x = people.x[boxes.owner, j]
        parts = []
        at = np.flatnonzero(boxes.around)
        if at.size:
            here, below, above = (boxes.take(at) for _ in range(3))
            rows, f = np.arange(at.size), j[at]
            here.low[rows, f] = here.high[rows, f] = x[at]
            least = np.where(np.isnan(self.step[f]), _ROOM * schema.span[f], 3 * schema.slack[f])
            apart = np.maximum(self.changes[f] - schema.slack[f], least)
            below.high[rows, f], above.low[rows, f] = x[at] - apart, x[at] + apart
            parts += [here, self._on_lattice(below, f), self._on_lattice(above, f)]
        at = np.flatnonzero(levels)
        if at.size:
            one, two = boxes.take(at), boxes.take(at)
            for f in np.unique(j[at]):
                mine, columns = np.flatnonzero(j[at] == f), schema.level_columns[int(f)]
                ok = one.ok[mine, columns]
                own = np.arange(ok.shape[1]) == x[at][mine, None]
                half = ok & (ok.cumsum(1) <= ok.sum(1)[:, None] // 2)
                half = np.where((ok & own).any(1)[:, None], ok & own, half)  # as they are, or anything else
                one.ok[mine, columns], two.ok[mine, columns] = half, ok & ~half
            parts += [one, two]
        at = np.flatnonzero(~levels & ~boxes.around)
        if at.size:
            one, two = boxes.take(at), boxes.take(at)
            rows, f, cut = np.arange(at.size), j[at], boxes.cut[at]
            mine = people.x[boxes.owner[at], f]
            step = self.step[f]
            full = schema.round(np.where(np.arange(schema.d) == f[:, None], cut[:, None], 0.0))[rows, f]
            under = np.where(full > cut, full - step, full)
            over = under + step
            over = np.where((mine > under) & (mine < over) & (mine > one.low[rows, f]), mine, over)
            one.high[rows, f] = np.where(np.isnan(step), cut, np.maximum(under, one.low[rows, f]))
            two.low[rows, f] = np.where(np.isnan(step), cut, np.minimum(over, two.high[rows, f]))
            parts += [one, two]
        return _Boxes.join(parts) if parts else boxes.take(each[:0])

    def _on_lattice(self, boxes: _Boxes, f: Ints) -> _Boxes:
        low, high = self._inward(boxes.low, boxes.high)
        rows = np.arange(len(f))
        boxes.low[rows, f], boxes.high[rows, f] = low[rows, f], high[rows, f]
        return boxes
