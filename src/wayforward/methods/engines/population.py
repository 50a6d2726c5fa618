"""A population of candidates for each of many people, who evolve at the same time and never meet.

What differs between evolutionary methods are parts: where values come from (`Values`), how candidates begin, cross and
mutate, who stays, when a person is done. All arrays are (n, P, d): P candidates of each of n people. Every random
number belongs to a person, so that nobody's answer depends on who else is in the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.problem.batching import ask, tidy
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_CHANGE = 1e6  # what a change counts where fewer are better at any cost
_AGAIN = 1e9  # and one that changes the same features as a better one comes after all others


class Individuals(NamedTuple):
    """action (n, P, d), NaN where left alone; score, cost (n, P), -inf and inf in empty places; reached (n, P) bool;
    key (n, P): the same for the same action."""

    action: Floats
    score: Floats
    cost: Floats
    reached: Mask
    key: Ints

    def take(self, some: Ints) -> Individuals:
        """The candidates of some of the people."""
        return Individuals(*(part[some] for part in self))

    def at(self, place: Ints) -> Individuals:
        """The candidates at places (n, k) of each person."""
        row = np.arange(len(place))[:, None]
        return Individuals(*(part[row, place] for part in self))

    def and_also(self, other: Individuals) -> Individuals:
        """Both, side by side."""
        return Individuals(*(np.concatenate(both, axis=1) for both in zip(self, other, strict=True)))

    @property
    def there(self) -> Mask:
        """(n, P) bool: what the person may do; other places are empty."""
        return np.asarray(np.isfinite(self.score))

    def best(self, worth: Floats, most: int) -> Individuals:
        """At most so many different ones of each person, least worth (n, P) first, then empty places."""
        worth = np.where(self.there & ~repeated(self.key, worth), worth, np.inf)
        place = np.argsort(worth, axis=1, kind="stable")[:, :most]
        out = self.at(place)
        gone = ~np.isfinite(np.take_along_axis(worth, place, 1))
        out.action[gone], out.score[gone], out.cost[gone] = np.nan, -np.inf, np.inf
        out.reached[gone], out.key[gone] = False, 0
        return out


def features_changed(action: Floats) -> Ints:
    """(n, P) the same number for actions (n, P, d) that change the same features."""
    acted = ~np.isnan(action)
    return np.asarray(acted @ (1 << np.arange(acted.shape[2], dtype=np.int64) % 62))


def repeated(key: Ints, worth: Floats) -> Mask:
    """(n, P) bool: another place of the person holds the same action, and is worth less or comes before."""
    order = np.lexsort((np.broadcast_to(np.arange(key.shape[1]), key.shape), worth, key), axis=1)
    ranked = np.take_along_axis(key, order, 1)
    again = np.zeros(key.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], 1)
    return again


class Evolution:
    """What generations share: people, their streams and budgets, and what reached the decision so far.

    cap (n,): model rows of each person at most. values: where an action may only take values of it. size: so many
    different options of each person are remembered, the cheapest; fewest: those with the fewest changes, then the
    cheapest. Of those that change the same features the best goes first. missing (n,): how far people are from the
    decision.
    """

    def __init__(
        self,
        people: Population,
        streams: Streams,
        cap: Ints,
        size: int,
        *,
        values: Values | None = None,
        fewest: bool = False,
    ) -> None:
        self.people, self.streams, self.cap, self.size = people, streams, cap, size
        self.values, self.fewest = values, fewest
        everybody = np.arange(people.n)
        start = people.score(everybody, people.x)
        self.missing = np.where(np.isfinite(start) & (start < 0), -start, 1.0)
        nothing = np.full((people.n, size, people.d), np.nan)
        none = np.full((people.n, size), np.inf)
        self.archive = Individuals(nothing, -none, none.copy(), none < 0, np.zeros(none.shape, np.int64))

    def evaluate(self, at: Ints, action: Floats) -> Individuals:
        """Ask about candidates (q, P, d) of people at (q,) as far as their budgets go, and remember what reached."""
        people, (q, p, d) = self.people, action.shape
        who = np.repeat(at, p)
        flat = tidy(people, who, action.reshape(-1, d))
        if self.values is not None:
            flat = np.where(self.values.holds(flat), flat, np.nan)
        key = keys_of(flat, 0).view(np.int64).reshape(q, p)
        fresh = ~np.isnan(flat).all(1).reshape(q, p) & ~repeated(key, np.zeros((q, p)))
        fresh &= np.cumsum(fresh, axis=1) <= (self.cap - people.rows)[at, None]
        row = np.flatnonzero(fresh)
        score, cost = np.full(q * p, -np.inf), np.full(q * p, np.inf)
        reached = np.zeros(q * p, dtype=bool)
        score[row], reached[row] = ask(people, who[row], flat[row])
        cost[row] = people.cost(who[row], flat[row])
        shape = (q, p)
        found = Individuals(
            flat.reshape(q, p, d), score.reshape(shape), cost.reshape(shape), reached.reshape(shape), key
        )
        seen = self.archive.take(at).and_also(found)
        worth = seen.cost + _CHANGE * self.fewest * (~np.isnan(seen.action)).sum(2)
        worth = np.where(seen.reached, worth, np.inf)
        best = seen.best(worth + _AGAIN * repeated(features_changed(seen.action), worth), self.size)
        for whole, part in zip(self.archive, best, strict=True):
            whole[at] = part
        return found

    def gap(self, at: Ints, found: Individuals) -> Floats:
        """(q, P) how much of what people at (q,) lacked is still missing: 0 where the decision is turned, at most 2."""
        gap = np.clip(-found.score / self.missing[at, None], 1e-9, 2.0)
        return np.where(found.reached, 0.0, gap)

    def spent(self, at: Ints) -> Mask:
        """(q,) bool: no budget is left."""
        return np.asarray(self.people.rows[at] >= self.cap[at])

    def options(self) -> tuple[Ints, Floats]:
        """What reached the decision: who (m,), action (m, d)."""
        who, place = np.nonzero(self.archive.reached)
        return who, self.archive.action[who, place]

    # -- operators -----------------------------------------------------------------------------------------

    def draw(self, at: Ints, *shape: int, tag: int) -> Floats:
        """(q, *shape) numbers in (0, 1) of people at (q,); every tag gives others."""
        return self.streams.uniform(at, *shape, tag=tag)

    def drawn(self, at: Ints, values: Values, change: Mask, tag: int) -> Floats:
        """Floats (q, P, d) that set what is to change (q, P, d) to drawn values."""
        out = np.full(change.shape, np.nan)
        row, place, j = np.nonzero(change & self.people.free[at][:, None])
        share = self.draw(at, *change.shape[1:], tag=tag)[row, place, j]
        out[row, place, j] = values.draw(at[row], j, share)
        return out

    def one_gene(self, at: Ints, likely: Floats, tag: int) -> Mask:
        """(q, P, d) bool: one feature of each candidate that its person may act on, by likelihood (q, P, d) >= 0."""
        likely = np.where(self.people.free[at][:, None], likely, 0.0)
        wait = -np.log(self.draw(at, *likely.shape[1:], tag=tag)) / np.maximum(likely, 1e-300)
        wait = np.where(likely > 0, wait, np.inf)
        first = wait.argmin(2)
        chosen = np.arange(likely.shape[2]) == first[:, :, None]
        return np.asarray(chosen & np.isfinite(wait))


@public
def blended(one: Floats, other: Floats, share: Floats, spread: float = 6.0) -> Floats:
    """Simulated binary crossing of numbers, by numbers share in (0, 1), all of one shape.

    spread: the greater, the nearer children are to their parents.
    """
    wide = np.where(share < 0.5, 2 * share, 1 / (2 * (1 - share))) ** (1 / spread)
    return np.asarray(((1 + wide) * one + (1 - wide) * other) / 2)


def crossed(one: Floats, other: Floats, swap: Mask) -> Floats:
    """Take what is to swap (n, P, d) from the other parent, values and what it leaves alone alike."""
    return np.where(swap, other, one)


def united(one: Floats, other: Floats) -> Floats:
    """What either parent does; the first one's value where both do."""
    return np.where(np.isnan(one), other, one)


def by_chance(chance: Floats, share: Floats) -> Ints:
    """Roulette: places (n, m) of candidates drawn with chances (n, P) by numbers share (n, m) in (0, 1)."""
    total = np.cumsum(chance, axis=1)
    total = total / np.maximum(total[:, -1:], 1e-300)
    place = (share[:, :, None] > total[:, None, :]).sum(2)
    return np.asarray(np.minimum(place, chance.shape[1] - 1))


class Values:
    """Values that people may set features to.

    observed: values of people of the table, as often as they occur; else anything within reach, all as likely.
    """

    def __init__(self, people: Population, reference: Floats | None, *, observed: bool) -> None:
        self.people, self.observed = people, observed and reference is not None
        schema = people.schema
        self.columns: list[Floats] = []  # of each feature, in order: what was observed
        for j in range(schema.d if self.observed else 0):
            assert reference is not None
            column = reference[~np.isnan(reference[:, j]), j]
            legal = schema.snap(column, columns=j)
            self.columns.append(np.sort(legal[np.abs(legal - column) <= schema.slack[j]]))

    def draw(self, who: Ints, feature: Ints, share: Floats) -> Floats:
        """(m,) values of features (m,) for people who (m,), by numbers share (m,) in (0, 1); NaN: there are none."""
        out = np.full(len(who), np.nan)
        for j in np.unique(feature):
            row = np.flatnonzero(feature == j)
            draw = self._level if self.people.schema.has_levels[j] else self._number
            out[row] = draw(who[row], int(j), share[row])
        return out

    def spread(self, who: Ints, j: int, most: int, share: Floats) -> Floats:
        """(m, most) values of a feature: all there are if they are so few, else evenly drawn by share (m, most)."""
        people = self.people
        if people.schema.has_levels[j]:
            every = np.arange(people.schema.n_levels[j], dtype=float)
        elif self.observed:
            every = np.unique(self.columns[j])
        else:
            every = _lattice(people, j, most)
        if 0 < len(every) <= most:
            out = np.full((len(who), most), np.nan)
            low, high = people.low[who, j, None], people.high[who, j, None]
            out[:, : len(every)] = np.where((every >= low) & (every <= high), every, np.nan)
            if people.schema.has_levels[j]:
                out[:, : len(every)] = np.where(people.level_ok[j][who], every, np.nan)
            return out
        even = (np.arange(most) + share) / most
        return self.draw(np.repeat(who, most), np.full(even.size, j), even.reshape(-1)).reshape(-1, most)

    def holds(self, action: Floats) -> Mask:
        """(m, d) bool: the value is one of the table."""
        return np.stack([np.isin(action[:, j], column) for j, column in enumerate(self.columns)], axis=1)

    def _level(self, who: Ints, j: int, share: Floats) -> Floats:
        people = self.people
        many = people.schema.n_levels[j]
        often = np.ones(many)
        if self.observed:
            often = np.bincount(self.columns[j].astype(np.int64), minlength=many).astype(float)
        chance = np.where(people.level_ok[j][who], often, 0.0)
        chance[np.arange(many) == people.x[who, j, None]] = 0.0
        value = by_chance(chance, share[:, None])[:, 0].astype(float)
        return np.where(chance.sum(1) > 0, value, np.nan)

    def _number(self, who: Ints, j: int, share: Floats) -> Floats:
        people = self.people
        low, high = people.low[who, j], people.high[who, j]
        if not self.observed:
            return np.asarray(low + share * (high - low))
        column, slack = self.columns[j], people.schema.slack[j]
        begin = np.searchsorted(column, low - slack)
        end = np.searchsorted(column, high + slack, side="right")
        place = begin + np.floor(share * (end - begin)).astype(np.int64)
        there = np.flatnonzero(end > begin)
        out = np.full(len(who), np.nan)
        out[there] = column[place[there]]
        return out


def _lattice(people: Population, j: int, most: int) -> Floats:
    """All values of a feature with a step between the ends of the schema, if they are at most so many."""
    schema = people.schema
    low, high, step = schema.low[j], schema.high[j], schema.step[j]
    if not (np.isfinite([low, high, step]).all() and step > 0 and (high - low) / step < most):
        return np.empty(0)
    return np.asarray(low + step * np.arange(int((high - low) / step + 1e-9) + 1))
