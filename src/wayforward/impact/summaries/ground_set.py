"""The ground set of AReS and the search for few rules in it, without ever writing the rules down.

A rule is (subgroup, state, change). What a change does for a person does not depend on why it is asked of them, so the
gain of every rule is one matrix product: subgroups (S, n) times states and changes (n, P). Products are made for the
pairs (state, change) with the largest upper bound first, until no bound is above the best gain found: the lazy greedy
of Minoux, a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wayforward.lazy import cached_property

_BLOCK = 96  # pairs of a state and a change in one product
_NEVER = 1e6  # beyond any gain, in people
_MOVES = 60  # of a local search at most
_EPS = 1e-3  # of the improvement by a factor 1 + eps / n^4 that a move must make

Triple = tuple[int, int, int]  # positions of a subgroup, a state and a change


@dataclass(frozen=True)
class GroundSet:
    """All rules, as factors. n people, S subgroups, I states, T changes, P pairs of a state and a change.

    groups (S, n), states (I, n) bool: who meets them. pair (P, 2): state and change. value (T, n): what the change is
    worth to a person, once. wrong (T, n): what asking it of them costs. price (P,), group_price (S,): of a rule.
    group_at (S, d), change_at (T, d) bool: features; a subgroup says nothing about what is changed. group_width (S,),
    state_width (I,): conditions. rules, width, subgroups, least: limits. constant: makes the objective non-negative.
    """

    groups: np.ndarray
    states: np.ndarray
    pair: np.ndarray
    value: np.ndarray
    wrong: np.ndarray
    price: np.ndarray
    group_price: np.ndarray
    group_at: np.ndarray
    change_at: np.ndarray
    group_width: np.ndarray
    state_width: np.ndarray
    rules: int
    width: int
    subgroups: int
    least: int
    constant: float

    @cached_property
    def _matrix(self) -> np.ndarray:
        """(S, n + d + w + 1) float32: who is in a group; forbidden where features meet or words are too many; price."""
        widest = int(self.group_width.max(initial=0))
        wide = self.group_width[:, None] == np.arange(widest + 1)
        parts = [self.groups, -_NEVER * self.group_at, -_NEVER * wide, -self.group_price[:, None]]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    @cached_property
    def _too_wide(self) -> np.ndarray:
        """(I, w + 1) bool: a group of so many conditions is too wide with this state."""
        widest = int(self.group_width.max(initial=0))
        return np.asarray(np.arange(widest + 1) + self.state_width[:, None] > self.width)

    @cached_property
    def _met(self) -> np.ndarray:
        return self.states.astype(np.float32)

    @cached_property
    def _pair_of(self) -> dict[tuple[int, int], int]:
        return {(int(i), int(t)): p for p, (i, t) in enumerate(self.pair)}

    @cached_property
    def _blocks(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """For all pairs that change the same features: pairs, their states and changes, and where in these each is."""
        key = np.unique(self.change_at, axis=0, return_inverse=True)[1].reshape(-1)[self.pair[:, 1]]
        order = np.argsort(key, kind="stable")
        out = []
        for pairs in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
            states, i = np.unique(self.pair[pairs, 0], return_inverse=True)
            changes, t = np.unique(self.pair[pairs, 1], return_inverse=True)
            out.append((pairs, states, changes, i, t))
        return out

    @property
    def size(self) -> int:
        """Rules in the ground set, those too narrow or too wide included."""
        return len(self.groups) * len(self.pair)

    def addressed(self, triple: Triple) -> np.ndarray:
        """Return whom the rule speaks to, (n,) bool."""
        return np.asarray(self.groups[triple[0]] & self.states[triple[1]])

    def worth(self, triple: Triple) -> np.ndarray:
        """Return what the rule is worth to each person, (n,), 0 for whom it does not speak to."""
        return np.where(self.addressed(triple), self.value[triple[2]].astype(np.float64), 0.0)

    def loss(self, triple: Triple) -> float:
        """Return what the rule costs, whoever else is served."""
        g, i, t = triple
        wrong = self.wrong[t].astype(np.float64) @ self.addressed(triple)
        return float(wrong + self.price[self._pair_of[i, t]] + self.group_price[g])

    def objective(self, triples: Iterable[Triple]) -> float:
        """Return the objective of a set of rules: people count once, at their best rule."""
        chosen = list(triples)
        if not chosen:
            return self.constant
        best = np.stack([self.worth(one) for one in chosen]).max(0)
        return float(self.constant + best.sum() - sum(self.loss(one) for one in chosen))

    def best(
        self,
        base: np.ndarray,
        floor: float,
        groups: np.ndarray | None = None,
        banned: frozenset[Triple] = frozenset(),
    ) -> tuple[float, Triple] | None:
        """Find the rule that gains most beyond what people have, base (n,); None where none gains more than floor.

        groups (S,) bool: only of these subgroups. banned: rules that may not be taken.
        """  # fmt: skip
        if not len(self.pair):
            return None
        plus, net = self._nets(base)
        bound = self._bounds(plus)
        order = np.argsort(-bound, kind="stable")
        order = order[bound[order] > floor]
        found: tuple[float, Triple] | None = None
        here = np.arange(len(self.groups)) if groups is None else np.flatnonzero(groups)
        matrix = self._matrix if groups is None else self._matrix[here]
        n = self.groups.shape[1]
        for start in range(0, len(order), _BLOCK):
            some = order[start : start + _BLOCK]
            if bound[some[0]] <= floor:
                break
            state, change = self.pair[some, 0], self.pair[some, 1]
            met = self._met[state]
            right = np.concatenate(
                [met * net[change], self.change_at[change], self._too_wide[state], np.ones((len(some), 1))],
                axis=1, dtype=np.float32,
            )  # fmt: skip
            gain = matrix @ right.T
            gain -= self.price[some].astype(np.float32)
            # How many a rule speaks to is counted only where it would be taken.
            while True:
                g, p = divmod(int(gain.argmax()), len(some))
                if not gain[g, p] > floor:
                    break
                triple = (int(here[g]), int(state[p]), int(change[p]))
                addressed = matrix[:, :n] @ met[p]
                if addressed[g] >= self.least and triple not in banned:
                    floor, found = float(gain[g, p]), (float(gain[g, p]), triple)
                    break
                gain[addressed < self.least, p] = -np.inf
                gain[g, p] = -np.inf
        return found

    def _nets(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (T, n) what each change adds for each person, with and without the part below zero."""
        more = self.value - base.astype(np.float32)
        np.maximum(more, 0, out=more)
        more -= self.wrong
        return np.maximum(more, 0), more

    def _bounds(self, plus: np.ndarray) -> np.ndarray:
        """Return (P,) the most that a rule with this state and change gains in any subgroup, rounding included."""
        out = np.empty(len(self.pair))
        for pairs, states, changes, i, t in self._blocks:
            out[pairs] = (self._met[states] @ plus[changes].T)[i, t]
        return np.asarray(out * (1 + 1e-4) - self.price)


def choose(ground: GroundSet) -> list[Triple]:
    """Choose few rules with a high objective: greedy, then deletes, additions and exchanges.

    Twice, and the better of the two.
    J. Lee, V. Mirrokni, V. Nagarajan and M. Sviridenko (2009), Non-monotone submodular maximization under matroid and
    knapsack constraints, STOC: a local optimum, or one of what is left when its rules are gone, has at least a share
    1 / (k + 2 + 1 / k) of the best objective under k matroids. A limit on subgroups is no matroid; where it binds, the
    share is not promised. We start from the greedy rules, not from the best single one: no worse, and sooner done.
    """
    first = _local(ground, frozenset())
    second = _local(ground, frozenset(first)) if first else []
    chosen = max(first, second, key=ground.objective)
    return _by_gain(ground, chosen)


def _local(ground: GroundSet, banned: frozenset[Triple]) -> list[Triple]:
    chosen: list[Triple] = []
    while len(chosen) < ground.rules:
        got = ground.best(_worth_now(ground, chosen), 1e-9, _open_subgroups(ground, chosen), banned)
        if got is None:
            break
        chosen.append(got[1])
    n = max(ground.size, 1)
    for _ in range(_MOVES):
        now = ground.objective(chosen)
        step = max(now * _EPS / float(n) ** 4, 1e-6)
        moved = _move(ground, chosen, now + step, banned)
        if moved is None:
            break
        chosen = moved
    return chosen


def _move(
    ground: GroundSet, chosen: list[Triple], least: float, banned: frozenset[Triple]
) -> list[Triple] | None:
    """Return the best delete, addition or exchange that reaches `least`; None where none does."""
    best: tuple[float, list[Triple]] | None = None
    for s in range(len(chosen)):
        rest = chosen[:s] + chosen[s + 1 :]
        value = ground.objective(rest)
        if value >= least:
            best, least = (value, rest), value
        got = ground.best(_worth_now(ground, rest), least - value, _open_subgroups(ground, rest), banned)
        if got is not None and got[1] not in rest:
            value = ground.objective([*rest, got[1]])
            if value >= least:
                best, least = (value, [*rest, got[1]]), value
    if len(chosen) < ground.rules:
        value = ground.objective(chosen)
        got = ground.best(_worth_now(ground, chosen), least - value, _open_subgroups(ground, chosen), banned)
        if got is not None:
            new = ground.objective([*chosen, got[1]])
            if new >= least:
                best = (new, [*chosen, got[1]])
    return None if best is None else best[1]


def _worth_now(ground: GroundSet, chosen: list[Triple]) -> np.ndarray:
    """Return what the rules chosen are worth to each person, (n,)."""
    if not chosen:
        return np.zeros(ground.value.shape[1])
    return np.asarray(np.stack([ground.worth(one) for one in chosen]).max(0))


def _open_subgroups(ground: GroundSet, chosen: list[Triple]) -> np.ndarray | None:
    """Return the subgroups that a further rule may have, (S,) bool; None for all."""
    used = {one[0] for one in chosen}
    if len(used) < ground.subgroups:
        return None
    out = np.zeros(len(ground.groups), dtype=bool)
    out[list(used)] = True
    return out


def _by_gain(ground: GroundSet, chosen: list[Triple]) -> list[Triple]:
    """Return the same rules, each the one that adds most to those before it."""
    left, out = list(chosen), list[Triple]()
    while left:
        one = max(left, key=lambda t: ground.objective([*out, t]))
        left.remove(one)
        out.append(one)
    return out
