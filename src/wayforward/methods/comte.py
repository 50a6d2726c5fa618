"""comte: replace whole channels of a series, or features, by those of one that has the wanted answer; few of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget
from wayforward.methods.engines.distractors import FromDistractors, distractor_values
from wayforward.methods.engines.edits import EditSearch, Replacements
from wayforward.methods.settings import check_least
from wayforward.problem.batching import ask, distinct_changes
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_FORBIDDEN = 1e6  # loss of a set that the person may not change, beside its size
_BLOCK = 1 << 23  # numbers of candidate rows made at once
_BIT_BY_BIT = 24  # units of which all sets may be looked at


@public
@dataclass
class Comte(FromDistractors):
    """Find few units whose values, taken all from one distractor, turn the decision: a search over sets of units.

    A unit is a channel of a time series (`wf.SeriesProblem`), a part of it, or a feature of a table. A distractor is a
    series, or a person, with the wanted answer; several are tried, the nearest ones, and the smallest set is returned,
    of equals the one of which the model is surest. Sets are climbed to from random ones: a random unit is put in or
    taken out where that lowers max(0, certainty - p)^2 + penalty * max(0, units - size), p the probability of the
    wanted answer, until no unit does. Then units that the decision does not need are taken out. Where no climb turns
    it, the unit that raises p most is added until it turns: at the latest with all of the distractor's values.

    distractors: tried, at most; of series as many as the problem offers. restarts: random sets for each of them.
    certainty, penalty, size: as above; all of these as in the published code. exhaustive: with up to so many units that
    may change (24 at most), all sets smaller than the one found are looked at, so that none is; 0 as published.
    For a prediction max(0, certainty - p) is the share of the distance to the target that is left. Default budget:
    50,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.SeriesProblem(model, series, favourable="fine").recommend(series[:3], method="comte", k=2)``.
    Raises: ProblemError from `fit` where there is neither a table nor a unit.
    Source: E. Ates, B. Aksar, V. J. Leung, A. K. Coskun (2021), Counterfactual Explanations for Multivariate Time
    Series, ICAPAI; arXiv:2008.10781.
    """

    name: ClassVar[str] = "comte"
    summary: ClassVar[str] = "replaces few channels of a series, or values, by those of one distractor"
    citation: ClassVar[str] = "Ates et al. (2021), ICAPAI, arXiv:2008.10781"
    chunk: ClassVar[int] = 256

    distractors: int = 2
    restarts: int = 5
    certainty: float = 0.95
    penalty: float = 0.8
    size: int = 3
    exhaustive: int = 12

    def __post_init__(self) -> None:
        check_least(self, distractors=1, restarts=0, size=0)
        if self.exhaustive > _BIT_BY_BIT:
            raise MethodError(
                f"'{self.name}' has exhaustive={self.exhaustive}, which is {2.0**self.exhaustive:.0e} sets a person. "
                f"Use {_BIT_BY_BIT} or less."
            )

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(50_000)
        cap = people.rows + limit
        goal = distractor_values(people, self.others_, self.distractors, limit)
        sets = _Sets(people, goal, cap, self)
        found = sets.climbed(streams)
        found = sets.pruned(found.joined(sets.greedy(found)))
        if self.exhaustive:
            found = found.joined(sets.smaller(found, k))
        action = np.where(found.mask, goal[found.who, found.slot], np.nan)
        return distinct_changes(people, found.who, action, k, better=found.sure)


@dataclass
class _Found:
    """Sets that turn a decision: who (m,), slot (m,) of the distractor, mask (m, d), sure (m,), higher is better."""

    who: np.ndarray
    slot: np.ndarray
    mask: np.ndarray
    sure: np.ndarray

    def take(self, at: np.ndarray) -> _Found:
        return _Found(self.who[at], self.slot[at], self.mask[at], self.sure[at])

    def joined(self, other: _Found) -> _Found:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Found(*(np.concatenate(pair) for pair in pairs))


@dataclass
class _Sets:
    """Sets of units of people, each with the values of one distractor: goal (n, D, d), NaN where nothing changes."""

    people: Population
    goal: np.ndarray
    cap: np.ndarray
    settings: Comte

    def __post_init__(self) -> None:
        people = self.people
        self.usable = ~np.isnan(self.goal)  # (n, D, d)
        self.of_class = people.problem.bound_target.target.interval is None
        # Whole arrays are made of units to ask about them, which is dear; a row of a table is not.
        units = self.settings.others_ is None
        self.known = _Answers.of(self.usable, self.settings.exhaustive) if units else None
        if not self.of_class:
            own = people.score(np.arange(people.n), people.x)
            self.way = np.maximum(-own, 1e-12)

    def climbed(self, streams: Streams) -> _Found:
        """Climb from random sets; return where those ended that turn the decision."""
        people, (n, many, d) = self.people, self.goal.shape
        restarts = self.settings.restarts
        everybody = np.arange(n)
        draw = np.where(self.usable[:, :, None], streams.uniform(everybody, many, restarts, d), np.inf)
        first = draw.argsort(-1, kind="stable").argsort(-1, kind="stable")  # no more than may change
        most = np.maximum(people.max_changes, 1)[:, None, None, None]
        start = ((draw < 0.5) | (first == 0)) & (first < most) & self.usable[:, :, None]
        who, slot, chain = np.nonzero(start.any(3))
        affordable = people.rows[who] + rank_in_run(who) < self.cap[who]
        who, slot, chain = who[affordable], slot[affordable], chain[affordable]
        mask = start[who, slot, chain]
        sure, turned = self._ask(who, slot, mask)
        loss = self._loss(who, mask, sure)
        live, turn = np.arange(len(who)), 1
        while live.size:
            row, unit = np.nonzero(self._flips(who[live], slot[live], mask[live]))
            count = np.bincount(row, minlength=live.size)
            spend = np.bincount(who[live], weights=count, minlength=n)
            fits = people.rows + spend <= self.cap
            keep = fits[who[live]][row]
            row, unit = live[row[keep]], unit[keep]
            child_sure, child_turned, child_loss = self._flipped(who, slot, mask, row, unit)
            better = np.flatnonzero(child_loss < loss[row] - 1e-12)
            order = streams.uniform(everybody, many, restarts, d, tag=turn)
            drawn = order[who[row[better]], slot[row[better]], chain[row[better]], unit[better]]
            best = better[_first(row[better], drawn)]
            live = row[best]
            mask[live, unit[best]] ^= True
            sure[live], turned[live], loss[live] = child_sure[best], child_turned[best], child_loss[best]
            turn += 1
        return _Found(who, slot, mask, sure).take(turned)

    def greedy(self, found: _Found) -> _Found:
        """For those who have nothing: add the unit that helps most, again and again, for each distractor."""
        people, d = self.people, self.people.d
        left = np.setdiff1d(np.arange(people.n), found.who)
        parts = [_Found(*(part[:0] for part in vars(found).values()))]
        for slot in range(self.goal.shape[1]):
            left = left[(people.rows[left] < self.cap[left]) & self.usable[left, slot].any(1)]
            if not left.size:
                break
            some = people.take(left)
            edits = Replacements.of(self.goal[left, slot])
            worth = self._chance if self.of_class else None
            action = EditSearch(some, edits, "score", d, d, worth, greedy=True).run(
                1, self.cap[left] - people.rows[left]
            )[:, 0]
            people.rows[left] += some.rows
            got = np.flatnonzero(~np.isnan(action).all(1))
            mask = ~np.isnan(action[got])
            sure, _ = self._ask(left[got], np.full(len(got), slot), mask)
            parts.append(_Found(left[got], np.full(len(got), slot), mask, sure))
        out = parts[0]
        for part in parts[1:]:
            out = out.joined(part)
        return out

    def pruned(self, found: _Found) -> _Found:
        """Take out units that the decision does not need, each time the one without which the model is surest."""
        live = np.flatnonzero(found.mask.sum(1) > 1)
        while live.size:
            row, unit = np.nonzero(found.mask[live])
            count = np.bincount(found.who[live[row]], minlength=self.people.n)
            keep = (self.people.rows + count <= self.cap)[found.who[live[row]]]
            row, unit = live[row[keep]], unit[keep]
            sure, turned, _ = self._flipped(found.who, found.slot, found.mask, row, unit)
            good = np.flatnonzero(turned)
            best = good[_first(row[good], -sure[good])]
            live = row[best]
            found.mask[live, unit[best]] = False
            found.sure[live] = sure[best]
            live = live[found.mask[live].sum(1) > 1]
        return found

    def smaller(self, found: _Found, k: int) -> _Found:
        """Look at all sets smaller than the smallest found, by size, of who has few enough units; k of each person."""
        people, many, most = self.people, self.goal.shape[1], self.settings.exhaustive
        units = self.usable.sum(2)  # (n, D)
        place = np.argsort(~self.usable, axis=2, kind="stable")
        below = np.where(units <= most, units + 1, 0)
        np.minimum.at(below, found.who, found.mask.sum(1)[:, None])
        below = np.minimum(below, people.max_changes[:, None] + 1)
        out = found.take(np.zeros(0, dtype=int))
        for size in range(1, int(below.max(initial=0))):
            live = (size < below) & (units >= size)
            count = np.array([comb(min(int(u), most), size) for u in units.ravel()]).reshape(units.shape)
            live &= (people.rows + np.where(live, count, 0).sum(1) <= self.cap)[:, None]
            parts = []
            for width in np.unique(units[live]):
                chosen = np.array(list(combinations(range(int(width)), size)))  # (c, size)
                who, slot = np.nonzero(live & (units == width))
                step = max(1, _BLOCK // (len(chosen) * people.d))
                for begin in range(0, len(who), step):
                    w, s = who[begin : begin + step], slot[begin : begin + step]
                    picked = place[w, s][:, chosen].reshape(-1, size)
                    mask = np.zeros((len(picked), people.d), dtype=bool)
                    np.put_along_axis(mask, picked, True, axis=1)
                    w, s = np.repeat(w, len(chosen)), np.repeat(s, len(chosen))
                    sure, turned = self._ask(w, s, mask)
                    parts.append(_Found(w, s, mask, sure).take(turned))
            for part in parts:
                out = out.joined(part)
                below[part.who] = 0
        order = np.lexsort((-out.sure, out.who))
        return out.take(order[rank_in_run(out.who[order]) < max(k, many)])

    # -- questions -------------------------------------------------------------------------------------------

    def _chance(self, who: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(self.people.problem.bound_target.value(outputs))

    def _ask(self, who: np.ndarray, slot: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) how sure the model is of the wanted answer, -inf where the person may not, and bool: it turns.

        Of few units of a thing every set is asked about once.
        """
        if self.known is None:
            return self._newly(who, slot, mask)
        place = self.known.place(who, slot, mask)
        new, first = np.unique(place[~self.known.there[place]], return_index=True)
        if new.size:
            at = np.flatnonzero(~self.known.there[place])[first]
            self.known.sure[new], self.known.turned[new] = self._newly(who[at], slot[at], mask[at])
            self.known.there[new] = True
        return self.known.sure[place], self.known.turned[place]

    def _newly(self, who: np.ndarray, slot: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sure, turned = np.full(len(who), -np.inf), np.zeros(len(who), dtype=bool)
        step = max(1, _BLOCK // self.people.d)
        for begin in range(0, len(who), step):
            part = slice(begin, begin + step)
            action = np.where(mask[part], self.goal[who[part], slot[part]], np.nan)
            worth = self._chance if self.of_class else None
            sure[part], turned[part] = ask(self.people, who[part], action, worth)
        return sure, turned

    def _loss(self, who: np.ndarray, mask: np.ndarray, sure: np.ndarray) -> np.ndarray:
        settings, size = self.settings, mask.sum(1)
        short = settings.certainty - sure if self.of_class else -sure / self.way[who]
        with np.errstate(over="ignore"):
            loss = np.maximum(short, 0.0) ** 2 + settings.penalty * np.maximum(size - settings.size, 0)
        return np.asarray(np.where(np.isneginf(sure), _FORBIDDEN + size, loss))

    def _flips(self, who: np.ndarray, slot: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(m, d) bool: units that may be put in or taken out, so that a set is neither empty nor too large."""
        size = mask.sum(1)
        in_, out = size < self.people.max_changes[who], size > 1
        return np.asarray(self.usable[who, slot] & np.where(mask, out[:, None], in_[:, None]))

    def _flipped(
        self, who: np.ndarray, slot: np.ndarray, mask: np.ndarray, row: np.ndarray, unit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sets row (q,) of mask (m, d), each with one unit (q,) put in or taken out: sure, turned and loss (q,)."""
        sure, turned, loss = (
            np.full(len(row), -np.inf),
            np.zeros(len(row), dtype=bool),
            np.full(len(row), np.inf),
        )
        step = max(1, _BLOCK // self.people.d)
        for begin in range(0, len(row), step):
            part = slice(begin, begin + step)
            r, child = row[part], mask[row[part]]
            child[np.arange(len(r)), unit[part]] ^= True
            sure[part], turned[part] = self._ask(who[r], slot[r], child)
            loss[part] = self._loss(who[r], child, sure[part])
        return sure, turned, loss


@dataclass
class _Answers:
    """What the model said of sets of few units, each at the number that its units are the bits of.

    bit (n, D, d): of each unit. sure, turned, there (n * D * 2^units,).
    """

    bit: np.ndarray
    sure: np.ndarray
    turned: np.ndarray
    there: np.ndarray

    @classmethod
    def of(cls, usable: np.ndarray, most: int) -> _Answers | None:
        """Nothing said yet; None where there are more than `most` units, or too much to hold. usable (n, D, d)."""
        units = int(usable.sum(2).max(initial=0))
        size = usable.shape[0] * usable.shape[1] << units
        if units > most or size > _BLOCK:
            return None
        bit = np.where(usable, 1 << np.maximum(usable.cumsum(2) - 1, 0), 0).astype(np.int64)
        return cls(bit, np.zeros(size), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool))

    def place(self, who: np.ndarray, slot: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(m,) where the answers about sets mask (m, d) are."""
        n, many, _ = self.bit.shape
        chosen = np.where(mask, self.bit[who, slot], 0).sum(1)
        return np.asarray((who * many + slot) * (len(self.sure) // max(n * many, 1)) + chosen)


def _first(group: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Of each group (m,) the index of the entry that is least by (m,); of equals the first."""
    order = np.lexsort((by, group))
    return np.asarray(order[rank_in_run(group[order]) == 0])
