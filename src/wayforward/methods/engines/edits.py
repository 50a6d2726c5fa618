"""Edits: units take a reference value, best first over subsets; the children of everybody are asked about at once.

A unit is a feature: a word of a text, a number of a table, a bin. A state is a set of edits, kept as the action (d,)
that it is. The best state of each person is expanded by every edit that it lacks; what reaches the decision is found,
and nothing that holds what was found is looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from wayforward.methods.engines.reference_values import choose_alike
from wayforward.problem.batching import ask
from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.problem.population import Worth

Order = Literal["score", "gain per cost"]
_BLOCK = 1 << 23  # numbers of child rows made at once
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WIDTH = 32  # children of an expansion that may be expanded themselves, at most


class Edits(Protocol):
    """The edits there are."""

    @property
    def unit(self) -> np.ndarray:
        """(C,) the feature of each, the same for everybody."""

    @property
    def again(self) -> bool:
        """True if one feature may be edited several times."""

    def values(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """(m, C) what each edit sets beside actions (m, d); NaN where it cannot be added."""


@dataclass
class Replacements:
    """Replace a unit by its reference value: value (n, C) of features unit (C,), each once."""

    value: np.ndarray
    unit: np.ndarray
    again: bool = False

    @classmethod
    def of(cls, value: np.ndarray) -> Replacements:
        """One value a feature: value (n, d), NaN where there is none."""
        return cls(value, np.arange(value.shape[1]))

    def values(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """See `Edits`."""
        return np.where(np.isnan(action[:, self.unit]), self.value[who], np.nan)


@dataclass
class Swaps:
    """Set a unit to any of its levels but its own. once: a level serves one unit only.

    allowed (n, C): levels that people may have; level, unit (C,): the levels of all features, one after another.
    """

    allowed: np.ndarray
    level: np.ndarray
    unit: np.ndarray
    once: bool
    again: bool = False

    @classmethod
    def of(cls, people: Population) -> Swaps:
        """All levels of what people may change; once if all units choose among the same levels of a category."""
        schema, x = people.schema, people.x
        level, unit = schema.level_index, schema.level_owner
        allowed = people.levels & people.free[:, unit] & (level != x[:, unit])
        return cls(allowed, level, unit, choose_alike(schema))

    def values(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """See `Edits`."""
        sets = action[:, self.unit]  # (m, C)
        open_ = self.allowed[who] & np.isnan(sets)
        if self.once:
            used = np.zeros((len(who), int(self.level.max()) + 1), dtype=bool)
            row, edit = np.nonzero(sets == self.level)
            used[row, self.level[edit]] = True
            open_ &= ~used[:, self.level]
        return np.where(open_, self.level.astype(np.float64), np.nan)


@dataclass
class _Frontier:
    """What each person may expand next: of every expansion (n, E) its state and its best children (n, E, w)."""

    states: list[np.ndarray] = field(default_factory=list)
    marks: list[np.ndarray] = field(default_factory=list)
    worth: list[np.ndarray] = field(default_factory=list)
    move: list[np.ndarray] = field(default_factory=list)
    value: list[np.ndarray] = field(default_factory=list)

    def pop(self, who: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of the best child of each of who (m,): state (m, d) before it, its mark, move, value, worth (-inf: none)."""
        worth = np.stack([part[who] for part in self.worth], axis=1)
        m, _, w = worth.shape
        best = worth.reshape(m, -1).argmax(1)
        turn, place = best // w, best % w
        found = worth[np.arange(m), turn, place]
        state, mark = np.empty((m, self.states[0].shape[1])), np.empty(m, dtype=np.uint64)
        move, value = np.empty(m, dtype=int), np.empty(m)
        for e in np.unique(turn):
            at = np.flatnonzero(turn == e)
            owner, cell = who[at], (who[at], place[at])
            self.worth[e][cell] = -np.inf
            state[at], mark[at] = self.states[e][owner], self.marks[e][owner]
            move[at], value[at] = self.move[e][cell], self.value[e][cell]
        return state, mark, move, value, found

    def expanded(self, who: np.ndarray, state: np.ndarray, mark: np.ndarray) -> np.ndarray:
        """(m,) bool: states (m, d) that who (m,) expanded before."""
        out = np.zeros(len(who), dtype=bool)
        for states, marks in zip(self.states, self.marks, strict=True):
            at = np.flatnonzero(marks[who] == mark)  # alike, so most likely the same
            if at.size:
                one, other = states[who[at]], state[at]
                out[at] |= ((one == other) | (np.isnan(one) & np.isnan(other))).all(1)
        return out


def _mark(unit: np.ndarray, value: np.ndarray) -> np.ndarray:
    """(m,) what a unit at a value adds to the mark of a state, which is the same for the same states; 0 of NaN."""
    bits = (value + 0.0).view(np.uint64)  # one nought
    spread = ((bits ^ (bits >> np.uint64(29))) + _ODD) * (2 * unit.astype(np.uint64) + np.uint64(1))
    return np.where(np.isnan(value), np.uint64(0), spread * _ODD ^ spread >> np.uint64(32))


def _best(worth: np.ndarray, w: int) -> np.ndarray:
    """(m, w) places of the greatest of each row (m, c), the greatest first and of equal ones the first."""
    if worth.shape[1] <= 2 * w:
        return np.argsort(-worth, axis=1, kind="stable")[:, :w]
    least = np.partition(worth, -w, axis=1)[:, -w, None]
    above, level = worth > least, worth == least
    few = above | (level & (level.cumsum(1) <= w - above.sum(1)[:, None]))
    chosen = np.nonzero(few)[1]
    if chosen.size < len(worth) * w:  # what is no number is neither above nor level
        return np.argsort(-worth, axis=1, kind="stable")[:, :w]
    place = chosen.reshape(-1, w)
    order = np.argsort(-np.take_along_axis(worth, place, 1), axis=1, kind="stable")
    return np.take_along_axis(place, order, 1)


@dataclass
class EditSearch:
    """Best-first search over sets of edits. most: units of a set; expansions: states a person expands, at most.

    order: expand the state with the greatest 'score', or the greatest 'gain per cost': gain since the start by the mean
    cost of its edits, so that with equal costs both orders are one. worth: in place of the score, see
    `Population.evaluate`. greedy: expand the best child each time, and go back to no other.
    """

    people: Population
    edits: Edits
    order: Order = "score"
    most: int = 30
    expansions: int = 50
    worth: Worth | None = None
    greedy: bool = False

    def run(self, k: int, cap: np.ndarray) -> np.ndarray:
        """Return actions (n, F, d) that reach the decision; cap (n,): model rows at most.

        A few more than k where there are several: two may become one when they are shortened.
        """
        want = k if k == 1 else k + 2
        people, d = self.people, self.people.d
        n = people.n
        found, count = np.full((n, want, d), np.nan), np.zeros(n, dtype=np.int64)
        frontier, live = _Frontier(), np.arange(n)
        state, mark = np.full((n, d), np.nan), np.zeros(n, dtype=np.uint64)
        start = people.score(live, people.x) if self.order == "gain per cost" else np.zeros(n)
        most = np.minimum(self.most, people.max_changes)
        for turn in range(self.expansions):
            value = self._without_found(live, state[live], found, count)
            several = (~np.isnan(state[live])).sum(1)
            value[(several >= most[live])[:, None] & np.isnan(state[live][:, self.edits.unit])] = np.nan
            score, turned = self._children(live, state[live], value)
            self._record(live, state, value, score, turned, found, count)
            worth = np.where(turned, -np.inf, score)
            if not self.edits.again:
                worth[several + 1 >= most[live]] = -np.inf
            if self.order == "gain per cost":
                spent = people.cost(live, state[live])[:, None] + self._alone(
                    live, value
                )  # of a sum over features
                worth = (worth - start[live, None]) * (several + 1)[:, None] / np.maximum(spent, 1e-9)
            frontier = _Frontier() if self.greedy else frontier
            self._extend(frontier, live, state, mark, worth, value)
            live = live[(count[live] < want) & (people.rows[live] < cap[live])]
            if turn + 1 < self.expansions:
                live = self._next(frontier, live, state, mark, found)
            if not live.size:
                break
        return found

    # -- one expansion ---------------------------------------------------------------------------------------

    def _without_found(
        self, who: np.ndarray, state: np.ndarray, found: np.ndarray, count: np.ndarray
    ) -> np.ndarray:
        """(m, C) values of the edits that may be added: none that makes the state hold what was found."""
        value, unit = self.edits.values(who, state), self.edits.unit
        if not count[who].any():
            return value
        for held in np.moveaxis(found[who], 1, 0):
            lacks = ~np.isnan(held) & ~(held == state)
            row = np.flatnonzero(lacks.sum(1) == 1)
            last = lacks[row].argmax(1)
            same = (unit == last[:, None]) & (value[row] == held[row, last][:, None])
            value[row] = np.where(same, np.nan, value[row])
        return value

    def _children(
        self, who: np.ndarray, state: np.ndarray, value: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(m, C) score of each child, -inf where it is none, and bool: it seems to reach the decision."""
        people, unit = self.people, self.edits.unit
        plain = len(unit) == people.d and bool((unit == np.arange(people.d)).all())
        if plain and people.problem.plausibility is None and self.worth is None:
            quick = people.each_change(who, state, value)
            if quick is not None:
                return quick, quick > people.problem.slack
        score, turned = np.full(value.shape, -np.inf), np.zeros(value.shape, dtype=bool)
        row, move = np.nonzero(~np.isnan(value))
        step = max(1, _BLOCK // people.d)
        for begin in range(0, len(row), step):
            part = slice(begin, begin + step)
            r, c = row[part], move[part]
            child = self.child(state[r], c, value[r, c])
            score[r, c], turned[r, c] = ask(people, who[r], child, self.worth)
        return score, turned

    def child(self, state: np.ndarray, move: np.ndarray, value: np.ndarray) -> np.ndarray:
        """(m, d) the states with one more edit; one that sets a feature to the person's own value is taken back."""
        child = state.copy()
        child[np.arange(len(move)), self.edits.unit[move]] = value
        return child

    def _alone(self, who: np.ndarray, value: np.ndarray) -> np.ndarray:
        """(m, C) what each edit costs by itself."""
        people, unit = self.people, self.edits.unit
        out = np.zeros(value.shape)
        for begin in range(0, len(unit), people.d):  # edits of different features, as many as fit in a row
            some = np.arange(begin, min(begin + people.d, len(unit)))
            action = np.full((len(who), people.d), np.nan)
            action[:, unit[some]] = value[:, some]
            out[:, some] = np.nan_to_num(people.parts(who, action))[:, unit[some]]
        return out

    def _record(
        self, who: np.ndarray, state: np.ndarray, value: np.ndarray, score: np.ndarray, turned: np.ndarray,
        found: np.ndarray, count: np.ndarray,
    ) -> None:  # fmt: skip
        """Add the children that reach the decision to what was found: the cheapest, then the highest score."""
        row, move = np.nonzero(turned)
        if not row.size:
            return
        some, place = np.unique(row, return_inverse=True)
        cost = self._alone(who[some], np.where(turned[some], value[some], np.nan))[place, move].round(12)
        order = np.lexsort((move, -score[row, move], cost, row))
        row, move = row[order], move[order]
        room = rank_in_run(row) < found.shape[1] - count[who[row]]
        row, move = row[room], move[room]
        child = self.child(state[who[row]], move, value[row, move])
        good = self.people.evaluate(who[row], child).reached
        row, child = row[good], child[good]
        owner = who[row]
        found[owner, count[owner] + rank_in_run(row)] = child
        np.add.at(count, owner, 1)

    def _extend(
        self, frontier: _Frontier, who: np.ndarray, state: np.ndarray, mark: np.ndarray, worth: np.ndarray,
        value: np.ndarray,
    ) -> None:  # fmt: skip
        n, w = self.people.n, min(_WIDTH, worth.shape[1])
        best = _best(worth, w)
        top_worth, top_move, top_value = (
            np.full((n, w), -np.inf),
            np.zeros((n, w), int),
            np.full((n, w), np.nan),
        )
        top_worth[who] = np.take_along_axis(worth, best, 1)
        top_move[who], top_value[who] = best, np.take_along_axis(value, best, 1)
        frontier.states.append(state.copy())
        frontier.marks.append(mark.copy())
        frontier.worth.append(top_worth)
        frontier.move.append(top_move)
        frontier.value.append(top_value)

    def _next(
        self, frontier: _Frontier, live: np.ndarray, state: np.ndarray, mark: np.ndarray, found: np.ndarray
    ) -> np.ndarray:
        """Set the next state of each of live (m,); return those who have one."""
        ready, open_ = np.zeros(self.people.n, dtype=bool), live
        while open_.size:
            parent, was, move, value, worth = frontier.pop(open_)
            some = worth > -np.inf
            open_, parent, move = open_[some], parent[some], move[some]
            new = self.child(parent, move, value[some])
            unit, row = self.edits.unit[move], np.arange(len(move))
            marks = was[some] + _mark(unit, new[row, unit]) - _mark(unit, parent[row, unit])
            again = frontier.expanded(open_, new, marks)  # another way to a state that was expanded
            for held in np.moveaxis(found[open_], 1, 0):
                again |= ~np.isnan(held).all(1) & (np.isnan(held) | (held == new)).all(1)
            fresh = open_[~again]
            state[fresh], mark[fresh], ready[fresh] = new[~again], marks[~again], True
            open_ = open_[again]
        return np.asarray(live[ready[live]])


def by_score(
    people: Population, value: np.ndarray, found: np.ndarray, cap: np.ndarray, *, most: int, expansions: int
) -> np.ndarray:
    """Add to found (n, F, d) one option for each person who has none, by the score alone: (n, F + 1, d).

    value (n, d): what features may be set to. cap (n,): model rows at most.
    """
    out = np.full((people.n, 1, people.d), np.nan)
    left = np.flatnonzero(np.isnan(found).all((1, 2)) & (people.rows < cap))
    if left.size:
        some = people.take(left)
        search = EditSearch(some, Replacements.of(value[left]), "score", most, expansions)
        out[left] = search.run(1, cap[left] - people.rows[left])
        people.rows[left] += some.rows
    return np.concatenate([found, out], axis=1)
