"""A person's whole search as one compiled routine, one person after another, outside the interpreter."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import pause_here, pauses
from wayforward.methods.engines.seeker.packing import (
    cell_forest,
    layered_net,
    level_rules,
    linear_rules,
    margin_range,
    one_output,
    terrain,
)
from wayforward.methods.engines.seeker.records import (
    CellForest,
    Hints,
    LayeredNet,
    Room,
    Terrain,
    Wishes,
)
from wayforward.model import kernels
from wayforward.shapes import Actions, Mask, Rows

if TYPE_CHECKING:
    from wayforward.model.forms import Link
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

_FEW = 1024  # references that everybody looks at
_AT_ONCE = 2  # people between two looks at who waits, where others are let in: some milliseconds of a network
_EFFORT = np.array([8.0, 4.0, 6.0, 4.0, 16.0])  # first grid, grid, leads, rounds of exchange, steps of a walk


class Seeker:
    """Search a person's options in compiled code, for a score that is one additive forest or one net.

    Make it with `Seeker.of`, which returns None where the model, the target or the cost is of another kind. It knows
    rules about levels of one feature, and for nets sums of numbers below a bound; `judges` is False where what it
    finds may break another rule, or is not all that an option must be, because something follows from it or it must be
    plausible: then it is a start.
    """

    def __init__(
        self,
        schema: Schema,
        forest: CellForest | None,
        net: LayeredNet | None,
        land: Terrain,
        reference: Rows,
        rules: list[tuple[int, np.ndarray]],
        judges: bool,
    ) -> None:
        self.forest = None if forest is None else CellForest(*map(np.array, forest))
        self.net = None if net is None else LayeredNet(*map(np.array, net))
        self.land, self.rules, self.judges = land, rules, judges
        number = land.number.copy()
        number[3:6] += number[5] * np.array([1.0, -1.0, -1.0])
        self.strict = land._replace(number=number)  # only what is a yes in every precision
        self.gap = float(land.number[5])
        few = reference
        if len(reference) > _FEW:
            few = reference[np.linspace(0, len(reference) - 1, _FEW).astype(np.int64)]
        self.hints = Hints(np.array(reference, order="C"), np.array(few, order="C"))
        self.n_levels = int(schema.n_levels.sum())
        self._idle: list[tuple[CellForest | LayeredNet, Room]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_idle": []}

    @classmethod
    def of(cls, problem: Problem, reference: Rows) -> Seeker | None:
        """Pack a problem; None where it is not of this kind. reference (N, d): accepted people to start from."""
        if kernels.jit() is None or problem.robust is not None or problem.demanding:
            return None
        rules, every = level_rules(problem.schema)
        line = np.empty((0, 2 * problem.schema.d + 1))
        if not every and problem.model.forest is None:
            line, every = linear_rules(problem.schema)
        judges = every and problem.independent and problem.plausibility is None
        if not problem.cost.separable or problem.cost.step_sum() is None:
            return None
        flat, dense = problem.model.forest, problem.model.dense
        forest = net = None
        scale = (0.0, 1.0)
        link: Link
        if flat is not None:
            link = (
                flat.link if flat.link != "identity" or problem.target.interval is not None else "probability"
            )
            q = flat.value.shape[1]
        elif dense is not None:
            link, q = dense.link, dense.weights[-1].shape[1]
        else:
            return None
        mix = one_output(problem, q, link)
        margins = None if mix is None else margin_range(problem, link, mix)
        if mix is None or margins is None:
            return None
        if flat is not None:
            made = cell_forest(flat, problem.schema, mix)
            if made is None:
                return None
            forest, used, scale = made
        else:
            assert dense is not None
            net, used = layered_net(dense, problem.schema, mix)
        land = terrain(problem, used, margins, scale)._replace(line=line)
        return cls(problem.schema, forest, net, land, reference, rules, judges)

    def options(
        self,
        people: Population,
        k: int,
        limit: int | np.ndarray,
        *,
        everyone: bool = True,
        start: Rows | None = None,
        far: Mask | None = None,
    ) -> Actions:
        """Return up to k options a person (n, k, d). limit: rows a person and option. everyone: who has nothing tries
        to become like any accepted reference, which spends the budget where nothing exists. start (n, d): actions that
        turn the decision, to make cheaper; NaN where there is none. far (n,): whom a forest refuses
        by far: their plan is rebuilt at last, one or two changes at a time, and they try everyone in any case."""
        far = np.zeros(people.n, dtype=bool) if far is None or self.forest is None else far
        out, score, rows = self._seek(people, k, limit, self.land, far, far | everyone, start)
        # a score so near to the boundary is decided by the model itself; where it says no, the search is stricter
        who, option = np.nonzero(score < self.gap)
        if who.size:
            wrong = ~people.problem.reached(out[who, option])[0]
            again = np.unique(who[wrong])
            if again.size:
                score[who[wrong], option[wrong]] = np.nan
                some = people.take(again)
                left = limit[again] if isinstance(limit, np.ndarray) else limit
                more, other, spent = self._seek(some, k, left, self.strict, far[again], far[again] | everyone)
                rows[again] += spent
                lost = np.isnan(score[again, 0])
                out[again[lost]], score[again[lost]] = more[lost], other[lost]
        people.rows += rows
        found = _actions(people, out, score)
        if people.best is not None:
            who, option = np.nonzero(~np.isnan(found).all(2))
            people.propose(who, found[who, option])
        people.problem.model.counter.add(int(rows.sum()))
        return found

    def proposals(self, people: Population, k: int, limit: int, aim: float) -> Actions:
        """Return up to k options a person (n, k, d) whose margin is `aim` beyond what is asked for, as far as this
        model goes: nobody is asked about them and no row is counted. For a model that stands in for another one."""
        number = self.land.number.copy()
        number[3:5] += aim * np.array([1.0, -1.0])
        some = np.zeros(people.n, dtype=bool)
        out, score, _ = self._seek(people, k, limit, self.land._replace(number=number), some, ~some)
        return _actions(people, out, score)

    def _seek(
        self,
        people: Population,
        k: int,
        limit: int | np.ndarray,
        land: Terrain,
        far: Mask,
        everyone: Mask,
        start: Rows | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n, d = people.n, people.d
        level = np.array(people.levels, order="C") if self.n_levels else np.zeros((n, 1), dtype=np.bool_)
        for j, follows in self.rules:
            x = people.x[:, j]
            at = np.where(np.isnan(x), len(follows) - 1, x).astype(np.int64)
            level[:, people.schema.level_columns[j]] &= follows[at]
        # copies: an array of another layout, or one that may not be written to, would be compiled for anew
        wishes = Wishes(
            np.array(people.x, dtype=np.float64, order="C"),
            np.array(people.low, dtype=np.float64, order="C"),
            np.array(people.high, dtype=np.float64, order="C"),
            np.array(people.weight, dtype=np.float64, order="C"),
            np.array(people.free, dtype=np.bool_, order="C"),
            level,
            np.array(people.max_changes, dtype=np.int64),
            np.full(n, limit, dtype=np.int64) if np.ndim(limit) == 0 else np.array(limit, dtype=np.int64),
            np.array(far, dtype=np.bool_, order="C"),
            np.array(everyone, dtype=np.bool_, order="C"),
        )
        out, score, rows = np.full((n, k, d), np.nan), np.empty((n, k)), np.zeros(n, np.int64)
        if start is not None:
            there = ~np.isnan(start).all(1)
            out[there, 0] = np.where(np.isnan(start[there]), people.x[there], start[there])
        jit = _kernels()
        seek = jit.seek_in_net if self.forest is None else jit.seek_in_forest
        try:
            model, room = self._idle.pop()
        except IndexError:  # one for each thread that searches at the same time
            model, room = self._rooms(jit)
        step = _AT_ONCE if pauses() else max(n, 1)
        for first in range(0, n, step):
            pause_here()
            seek(
                wishes, first, min(first + step, n), model, land, self.hints, _EFFORT, room, out, score, rows
            )
        self._idle.append((model, room))
        return out, score, rows

    def _rooms(self, jit: ModuleType) -> tuple[CellForest | LayeredNet, Room]:
        """The model and the search with room of their own for one task."""
        d, r = self.land.feature.shape[1], len(self.land.line)
        room = Room(
            np.zeros((jit.PER_ROWS + r, d)),
            np.zeros((jit.MARK_ROWS, d), np.int64),
            np.zeros(jit.ONE_SIZE + r),
            np.empty((jit.POOL_ROWS, d + 1)),
            np.zeros(max(self.n_levels, 1), dtype=bool),
        )
        if self.forest is not None:
            own = self.forest
            room_of = ("add", "stack", "few", "few_nodes", "few_value", "few_roots", "touched", "run")
            return own._replace(**{name: getattr(own, name).copy() for name in room_of}), room
        assert self.net is not None
        net = self.net
        of_net = ("room", "rest", "bracket", "live", "tried")
        return net._replace(**{name: getattr(net, name).copy() for name in of_net}), room


def _actions(people: Population, after: np.ndarray, score: np.ndarray) -> Actions:
    """Return rows after the change (n, k, d) as actions; NaN where the score (n, k) is."""
    acted = ~np.isnan(score)[:, :, None] & people.schema.differs(after, people.x[:, None, :])
    return np.where(acted, after, np.nan)


def _kernels() -> ModuleType:
    from wayforward.methods.engines.seeker import _jit

    return _jit
