"""Sequences of acts that turn the decision, for everybody at once: a beam search over a discrete menu.

A *lane* is one search: a person, a vector of weights, and a feature to begin with. Every lane keeps its `width` most
promising beginnings; what turns the decision goes to the person's bank and is not extended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.people.elicitors.cost_graph import CostGraph
from wayforward.problem import Population
from wayforward.streams import keys_of

_ROWS = 1 << 18  # candidate rows at once


@dataclass(frozen=True)
class ActMenu:
    """What each person may set: feature (a,), value (n, a); NaN where the person has no such act."""

    feature: np.ndarray
    value: np.ndarray


def menu_of(people: Population, points: int) -> ActMenu:
    """`points` values across each person's reach of a number, every allowed level of the others."""
    schema, n = people.schema, people.n
    feature, value = [], []
    who = np.arange(n)
    for j in np.flatnonzero(people.free.any(0)).tolist():
        if schema.has_levels[j]:
            ok = people.level_ok[j]
            at = np.where(ok, np.arange(ok.shape[1], dtype=np.float64), np.nan)
        else:
            share = np.linspace(0.0, 1.0, points)
            low, high = np.nan_to_num(people.low[:, j, None]), np.nan_to_num(people.high[:, j, None])
            at = low + share * (high - low)
        trial = np.full((n * at.shape[1], schema.d), np.nan)
        trial[:, j] = at.reshape(-1)
        owner = np.repeat(who, at.shape[1])
        snapped = people.snap(owner, trial)[:, j].reshape(at.shape)
        own = people.x[:, j, None]
        snapped = np.where((snapped == own) | ~people.free[:, j, None], np.nan, snapped)
        snapped[:, 1:] = np.where(snapped[:, 1:] == snapped[:, :-1], np.nan, snapped[:, 1:])
        feature.append(np.full(at.shape[1], j))
        value.append(snapped)
    if not feature:
        return ActMenu(np.zeros(0, dtype=np.int64), np.zeros((n, 0)))
    return ActMenu(np.concatenate(feature), np.concatenate(value, axis=1))


@dataclass(frozen=True)
class Bank:
    """Sequences that turn the decision: action and place (n, b, d), parts (n, b, s, w); all NaN action: none.

    place: 0 for the first act, -1 for no act. parts: see `CostGraph.parts`, step by step.
    """

    action: np.ndarray
    place: np.ndarray
    parts: np.ndarray

    @property
    def exists(self) -> np.ndarray:
        """(n, b) bool."""
        return np.asarray(~np.isnan(self.action).all(2))

    def costs(self, graph: CostGraph, weight: np.ndarray) -> np.ndarray:
        """weight (n, ..., w) -> (n, ..., b) cost of every sequence; inf where there is none."""
        extra = weight.ndim - 2
        parts = self.parts.reshape(self.parts.shape[0], *(1,) * extra, *self.parts.shape[1:])
        there = self.exists.reshape(len(self.action), *(1,) * extra, -1)
        return np.where(there, graph.cost(parts, weight[..., None, :]), np.inf)

    def best(self, cost: np.ndarray, most: int) -> Bank:
        """The `most` cheapest of each person, each sequence once. cost (n, b)."""
        n, b, d = self.action.shape
        text = np.concatenate([np.nan_to_num(self.action, nan=np.inf), self.place.astype(np.float64)], axis=2)
        key = keys_of(text.reshape(n * b, -1), 0).reshape(n, b)
        order = np.lexsort((np.broadcast_to(key, cost.shape), cost.round(12)), axis=1)
        sorted_key = np.take_along_axis(key, order, 1)
        # equal sequences have equal cost, so they stand side by side
        again = np.zeros((n, b), dtype=bool)
        again[:, 1:] = sorted_key[:, 1:] == sorted_key[:, :-1]
        gone = again | ~np.take_along_axis(self.exists, order, 1)
        order = np.take_along_axis(order, np.argsort(gone, axis=1, kind="stable"), 1)[:, :most]
        present = ~np.sort(gone, axis=1, kind="stable")[:, :most]
        action = np.take_along_axis(self.action, order[..., None], 1)
        action = np.where(present[..., None], action, np.nan)
        place = np.where(present[..., None], np.take_along_axis(self.place, order[..., None], 1), -1)
        parts = np.take_along_axis(self.parts, order[..., None, None], 1) * present[..., None, None]
        return Bank(action, place, parts)

    def join(self, other: Bank) -> Bank:
        """Both, one after the other."""
        return Bank(
            np.concatenate([self.action, other.action], axis=1),
            np.concatenate([self.place, other.place], axis=1),
            np.concatenate([self.parts, other.parts], axis=1),
        )

    def only(self, keep: np.ndarray) -> Bank:
        """Without what keep (n, b) says no to."""
        return Bank(
            np.where(keep[..., None], self.action, np.nan),
            np.where(keep[..., None], self.place, -1),
            self.parts * keep[..., None, None],
        )


def search(
    people: Population, graph: CostGraph, menu: ActMenu, weight: np.ndarray, *, depth: int, width: int
) -> Bank:
    """Everybody's sequences under some weights (n, m, w): for each first feature and each length the cheapest."""
    n, m, _ = weight.shape
    firsts = np.unique(menu.feature)
    a, d = len(menu.feature), people.d
    q = n * m * len(firsts)
    owner = np.repeat(np.arange(n), m * len(firsts))
    taste = np.repeat(weight.reshape(n * m, -1), len(firsts), axis=0)
    first = np.tile(firsts, n * m)
    found = Bank(
        np.full((q, depth, d), np.nan), np.full((q, depth, d), -1), np.zeros((q, depth, depth, graph.width))
    )
    step = max(1, _ROWS // max(1, width * a))
    for begin in range(0, q, step):
        part = slice(begin, begin + step)
        _search_block(people, graph, menu, owner[part], taste[part], first[part], found, part, depth, width)
    shape = (n, m * len(firsts) * depth)
    return Bank(
        found.action.reshape(*shape, d),
        found.place.reshape(*shape, d),
        found.parts.reshape(*shape, depth, graph.width),
    )


def _search_block(
    people: Population,
    graph: CostGraph,
    menu: ActMenu,
    owner: np.ndarray,
    taste: np.ndarray,
    first: np.ndarray,
    found: Bank,
    part: slice,
    depth: int,
    width: int,
) -> None:
    """Search some lanes; the cheapest sequence of each length goes to `found[part]`."""
    q, a, d = len(owner), len(menu.feature), people.d
    lane = np.arange(q)
    action, place = np.full((q, 1, d), np.nan), np.full((q, 1, d), -1)
    state = people.x[owner][:, None, :]
    cost, alive = np.zeros((q, 1)), np.ones((q, 1), dtype=bool)
    parts = np.zeros((q, 1, depth, graph.width))
    value = menu.value[owner]  # (q, a)
    price = np.maximum(taste, 0.0)[:, graph.own[menu.feature]]
    pace: np.ndarray | None = None
    start = people.score(owner, people.x[owner]) if q else np.zeros(0)
    for turn in range(depth):
        w = action.shape[1]
        standing = graph.standing(state, np.maximum(taste, 0.0)[:, None, :])[:, :, menu.feature]
        here = state[:, :, menu.feature]
        change = graph.change(here, np.broadcast_to(value[:, None, :], here.shape), menu.feature)
        each = np.maximum(change * price[:, None, :] + standing, graph.floor)
        total = cost[:, :, None] + each  # (q, w, a)
        can = alive[:, :, None] & ~np.isnan(value)[:, None, :] & np.isnan(action[:, :, menu.feature])
        if turn == 0:
            can &= (menu.feature == first[:, None])[:, None, :]
        room = people.max_changes[owner] > turn
        can &= room[:, None, None]
        l_at, w_at, a_at = np.nonzero(can)
        if not l_at.size:
            return
        trial = action[l_at, w_at]
        trial[np.arange(l_at.size), menu.feature[a_at]] = value[l_at, a_at]
        who = owner[l_at]
        after = people.after(who, trial)
        score = people.score(who, after)
        yes = np.flatnonzero(score > people.problem.slack)
        good = np.zeros(l_at.size, dtype=bool)
        good[yes] = people.allowed(who[yes], trial[yes], after[yes])
        yes = np.flatnonzero(good)
        good[yes] = people.plausible(who[yes], after[yes])
        paid = total[l_at, w_at, a_at]
        # the cheapest that turns the decision with so many acts
        table = np.full((q, w * a), np.inf)
        table[l_at[good], (w_at * a + a_at)[good]] = paid[good]
        pick = table.argmin(1)
        hit = np.flatnonzero(np.isfinite(table[lane, pick]))
        if hit.size:
            beam, act = pick[hit] // a, pick[hit] % a
            new, spot, steps = _extended(
                graph, menu, hit, beam, act, action, place, parts, state, value, turn
            )
            found.action[part][hit, turn], found.place[part][hit, turn] = new, spot
            found.parts[part][hit, turn] = steps
        if turn == depth - 1:
            return
        # What does not suffice yet: its cost, and what the rest would cost at the lane's best pace so far.
        gain = np.maximum(score - start[l_at], 1e-12) / np.maximum(paid, 1e-12)
        best = np.zeros(q)
        np.maximum.at(best, l_at, gain)
        pace = best if pace is None else np.maximum(pace, best)
        hope = np.full((q, w * a), np.inf)
        rest = np.maximum(-score, 0.0) / np.maximum(pace[l_at], 1e-12)
        hope[l_at, w_at * a + a_at] = np.where(good, np.inf, paid + rest)
        keep = np.argsort(hope, axis=1, kind="stable")[:, :width]
        beam, act = keep // a, keep % a
        row, col = np.repeat(lane, keep.shape[1]), keep.reshape(-1)
        new, spot, steps = _extended(
            graph, menu, row, col // a, col % a, action, place, parts, state, value, turn
        )
        alive = np.isfinite(np.take_along_axis(hope, keep, 1))
        cost = np.take_along_axis(total.reshape(q, w * a), keep, 1)
        action, place = new.reshape(q, -1, d), spot.reshape(q, -1, d)
        parts = steps.reshape(q, -1, depth, graph.width)
        state = people.after(np.repeat(owner, keep.shape[1]), new).reshape(q, -1, d)


def _extended(
    graph: CostGraph,
    menu: ActMenu,
    lane: np.ndarray,
    beam: np.ndarray,
    act: np.ndarray,
    action: np.ndarray,
    place: np.ndarray,
    parts: np.ndarray,
    state: np.ndarray,
    value: np.ndarray,
    turn: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Beginnings with one more act: action and place (m, d), parts (m, s, w)."""
    rows = np.arange(len(lane))
    feature = menu.feature[act]
    new, spot, steps = action[lane, beam].copy(), place[lane, beam].copy(), parts[lane, beam].copy()
    new[rows, feature] = value[lane, act]
    spot[rows, feature] = turn
    steps[:, turn] = graph.parts(state[lane, beam], feature, np.nan_to_num(value[lane, act]))
    return new, spot, steps
