"""What people can reach: every place that rules and limits leave them, listed by blocks of features.

Features that no rule, link or consequence ties together are listed apart, so that few values are judged even where
their product is large.
Source: A. Kothari, B. Kulynych, T.-W. Weng, B. Ustun (2024), Prediction without Preclusion, ICLR, arXiv:2308.12820.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.problem.enumeration import Choices, actions_of, choices_of
from wayforward.shapes import Ints, Mask, Rows, Who

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem

_BLOCK = 1 << 16  # rows judged at once
_RAW = 1 << 20  # combinations of one block of one person, at most


@dataclass(frozen=True, eq=False)
class ReachableSet:
    """Where one person can get: points (m, d), as they are first; action (m, d): what leads there.

    complete: these are all; False where some value may be any number, or there are more than were asked for.
    """

    points: Rows
    action: Rows
    complete: bool

    def __len__(self) -> int:
        return len(self.points)


def reachable_sets(
    problem: Problem, x: Any, preferences: Preferences | None = None, most: int = 100_000
) -> list[ReachableSet]:
    """List all that each of the people x (a table or (n, d)) can reach, at most `most` actions of each.

    It does not ask the model, so that the sets hold for any model.
    Example: ``[len(one) for one in reachable_sets(problem, refused)]``.
    """
    people = problem.population(problem.schema.encode(x), preferences)
    ways = Ways.of(people, most)
    out = []
    for i in range(people.n):
        rows = [np.full((1, people.d), np.nan)]
        if ways.complete[i]:
            rows += [action for _, action in ways.walk(np.array([i]))]
        action = np.concatenate(rows)
        points = people.after(np.full(len(action), i), action)
        _, first = np.unique(np.nan_to_num(points, nan=np.inf), axis=0, return_index=True)
        first = np.sort(first)
        out.append(ReachableSet(points[first], action[first], bool(ways.complete[i])))
    return out


@dataclass(frozen=True)
class Ways:
    """All that n people may do, as products of blocks: total (n,) actions before what ties blocks together is judged.

    block b: its features columns[b], what may be done with them rows[b] (m, d), and the first (n,) and the number (n,)
    of each person's. complete (n,) bool: nothing of the person is left out.
    """

    people: Population
    columns: list[Ints]
    rows: list[Rows]
    first: list[Ints]
    size: list[Ints]
    complete: Mask

    @classmethod
    def of(cls, people: Population, most: int) -> Ways:
        """List each block; people of whom a block has too many combinations, or all of them together, are left out."""
        choices, n = choices_of(people), people.n
        columns, tied = _blocks(people, choices)
        complete, rows, first, size = np.ones(n, dtype=bool), [], [], []
        for part, rules in zip(columns, tied, strict=True):
            mine = np.zeros(people.d, dtype=bool)
            mine[part] = True
            some = replace(choices, count=np.where(mine, choices.count, 1.0))
            complete &= some.total <= min(_RAW, 64.0 * most)
            owner, action = _judged(people, some, np.flatnonzero(complete), rules)
            rows.append(action)
            first.append(np.searchsorted(owner, np.arange(n)))
            size.append(np.searchsorted(owner, np.arange(n), side="right") - first[-1])
        total = np.ones(n)
        for one in size:
            total = total * one
        return cls(people, columns, rows, first, size, complete & (total <= most))

    @property
    def total(self) -> Ints:
        """(n,) products of what the blocks leave; 0 for who is left out."""
        whole = np.ones(self.people.n, dtype=np.int64)
        for size in self.size:
            whole = np.where(self.complete, whole * size, 0)
        return whole

    def walk(self, who: Ints, each: int = _BLOCK) -> Iterator[tuple[Who, Rows]]:
        """Yield whose (m,) and actions (m, d) that are allowed, a part of everybody's at a time."""
        total, done = self.total, np.zeros(self.people.n, dtype=np.int64)
        while True:
            who = who[done[who] < total[who]]
            if not who.size:
                return
            for some in np.array_split(who, -(-who.size * each // _BLOCK)):
                take = np.minimum(each, total[some] - done[some])
                owner = np.repeat(some, take)
                number = np.arange(len(owner)) - np.repeat(np.cumsum(take) - take, take) + done[owner]
                done[some] += take
                action = self._action(owner, number)
                after = self.people.after(owner, action)
                good = self.people.allowed(owner, action, after) & ~np.isnan(action).all(1)
                yield owner[good], action[good]

    def _action(self, owner: Who, number: Ints) -> Rows:
        action, rest = np.full((len(owner), self.people.d), np.nan), number
        for columns, rows, first, size in zip(self.columns, self.rows, self.first, self.size, strict=True):
            place = first[owner] + rest % size[owner]
            rest = rest // size[owner]
            action[:, columns] = rows[place][:, columns]
        return action


def _blocks(people: Population, choices: Choices) -> tuple[list[Ints], list[Mask]]:
    """Return the features of each block, and (r,) bool: the rules that are about nothing else that may move."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    d, schema, effects = people.d, people.schema, people.problem.effects
    acts = (choices.count > 1).any(0)
    moves = acts | (acts.astype(np.int64) @ effects.astype(np.int64) > 0)
    tie = effects & moves[:, None]
    rules = schema.compiled_rules if schema.rules else None
    involved = np.zeros((0, d), dtype=bool) if rules is None else rules.involved & moves
    counting = np.zeros(len(involved), dtype=bool)
    if rules is not None:
        counting = np.array([rule.counts_all for rule in rules.conditions], dtype=bool)
    for features in involved[~counting]:
        at = np.flatnonzero(features)
        tie[at[:-1], at[1:]] = True
    _, block = connected_components(csr_array(tie), directed=False)
    found = [np.flatnonzero((block == b) & acts) for b in np.unique(block[acts])]
    whole = [(block == block[part[0]]) for part in found]
    return found, [~counting & ~(involved & ~mine).any(1) for mine in whole]


def _judged(people: Population, choices: Choices, who: Ints, rules: Mask) -> tuple[Who, Rows]:
    """Return whose (m,) and what may be done (m, d) with one block, nothing included, by the rules about it alone."""
    total = choices.total[who].astype(np.int64)
    owners, actions = [np.empty(0, np.int64)], [np.empty((0, people.d))]
    lot = (np.cumsum(total) - total) // _BLOCK
    for part in np.unique(lot):
        some, count = who[lot == part], total[lot == part]
        owner = np.repeat(some, count)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        action = actions_of(people, choices, owner, number)
        x = people.x[owner]
        good = np.ones(len(owner), dtype=bool)
        if people.problem.independent:  # setting what is there already is leaving it alone
            good = ~(~np.isnan(action) & ~people.schema.differs(action, x)).any(1)
        owner, action, x = owner[good], action[good], x[good]
        after = people.after(owner, action)
        judged = people.problem.judge_rows(people, owner, action, after)
        good = judged["legal"] & judged["wishes"]
        if rules.any():
            good &= np.asarray(people.schema.compiled_rules.holds(x, after))[:, rules].all(1)
        owners.append(owner[good])
        actions.append(action[good])
    return np.concatenate(owners), np.concatenate(actions)
