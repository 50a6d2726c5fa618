"""Where a search starts: accepted neighbours; for those who have nothing yet all of them, and random actions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.references import References, l1_metric
from wayforward.methods.local_search.candidates import Descend, set_values
from wayforward.methods.local_search.moves import Moves
from wayforward.ranks import rank_in_run
from wayforward.shapes import Rows, Who

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_DRAWS = 6  # rounds of draws before all accepted people are tried
DESCENT = 5_000  # model rows of descents, for whom so many are left


def descended(descend: Descend, people: Population, who: Who, streams: Streams) -> Rows:
    """Return where descents of some people end (m, d), and count the rows that they ask about."""
    some = people.take(who)
    action = descend(some, streams.take(who), DESCENT)
    people.rows[who] += some.rows
    return action


class Starts(Moves):
    """Start from accepted observed people, or from draws that climb the score."""

    def _start_from_neighbours(self, who: np.ndarray) -> None:
        """Start from accepted observed people, moved onto what each person may do."""
        near = self._near_accepted(who)
        row, start = np.nonzero(~np.isnan(near).all(2))
        self._try_actions(who[row], near[row, start])

    def _last_resorts(self, who: np.ndarray) -> None:
        """Go on for those who have nothing yet, until the budget is gone, or it is proved that there is nothing."""
        if not who.size:
            return
        met = np.full((self.n, self.d), np.nan)
        self._draw_actions(who, range(_DRAWS))
        who = who[~self.found[who]]
        if self.patient is not None:
            who = who[self.patient[who]]
        if who.size:
            self.none[who], met[who] = self.settings.prove(self.people.take(who))
            who = who[~self.none[who]]
        if who.size:
            self._descend(who)
            who = who[~self.found[who]]
        if who.size:
            self._try_actions(who, met[who])
            who = who[~self.found[who]]
        if who.size:
            self._follow_everyone(who)
            self._draw_actions(who, count(_DRAWS))

    def _descend(self, who: np.ndarray) -> None:
        """Descend along the gradients of the model: a yes may be a narrow place between many features."""
        who = who[(self.cap - self.people.rows)[who] > DESCENT]
        if self.settings.descend is None or not who.size:
            return
        action = descended(self.settings.descend, self.people, who, self.streams)
        there = ~np.isnan(action).all(1)
        self._try_actions(who[there], self._legal(who[there], action[there]))

    def _follow_everyone(self, who: np.ndarray) -> None:
        """Become like the nearest accepted person whose values, as far as one may have them, turn the decision."""
        rows = self.settings.everyone()
        if not len(rows):
            return

        def ask(some: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.ask(who[some], action)

        left = int((self.cap - self.people.rows)[who].max())
        some = self.people.take(who)
        nearest = References(some, rows, l1_metric(self.problem.cost), project=True, ask=ask)
        action = nearest.usable(1, left)[0][:, 0]
        found = ~np.isnan(action).all(1)
        who, action = who[found], action[found]
        self.keep(who, action, self.people.cost(who, action))

    def _draw_actions(self, who: np.ndarray, attempts: Iterable[int]) -> None:
        """Draw whole actions from each person's own stream, corners included, and climb the score from the best of
        them, whatever it costs, until something is found."""
        people, schema = self.people, self.schema
        for attempt in attempts:
            who = who[~self.found[who] & (people.rows[who] < self.cap[who])]
            if not who.size:
                return
            size, tag = 64, 1000 * self.option + 10 * attempt
            place = self.streams.uniform(who, size, self.d, tag=tag + 1)
            some = self.streams.uniform(who, size, self.d, tag=tag + 2)
            share = self.streams.uniform(who, size, 1, tag=tag + 3)
            owner = np.repeat(who, size)
            act = (some < np.maximum(share, 1.0 / self.d)).reshape(-1, self.d)
            place = place.reshape(-1, self.d)
            if attempt % 2 and len(self.settings.reference):  # mix the values of accepted people
                row = (place * len(self.settings.reference)).astype(np.int64)
                value = self.settings.reference[row, np.arange(self.d)]
            else:
                # a quarter of the values at either end of the reach
                reach = np.clip(2.0 * place - 0.5, 0.0, 1.0)
                value = people.low[owner] + reach * (people.high[owner] - people.low[owner])
                for j in np.flatnonzero(schema.is_categorical):
                    value[:, j] = np.floor(place[:, j] * schema.n_levels[j])
            action = self._legal(owner, np.where(act, value, np.nan))
            if self.holdable.any():
                still = self.streams.uniform(who, size, self.d, tag=tag + 4).reshape(-1, self.d) < 0.3
                still &= (
                    self.holdable & self.may[owner] & np.isnan(action) & ~np.isnan(action).all(1)[:, None]
                )
                action = np.where(still, people.x[owner], action)
            score, valid = self.ask(owner, action)
            self.keep(owner[valid], action[valid], people.cost(owner[valid], action[valid]))
            lost = ~self.found[owner]
            if lost.any():
                best = np.flatnonzero(lost)[np.lexsort((-score[lost], owner[lost]))]
                best = best[rank_in_run(owner[best]) < 3]
                self._climb_score(owner[best], action[best], score[best])

    def _climb_score(self, who: np.ndarray, base: np.ndarray, here: np.ndarray) -> None:
        """Climb the score from whole actions, feature by feature, until the decision turns or no move helps."""
        for _ in range(2 * self.d):
            go = ~self.found[who] & np.isfinite(here)
            who, base, here = who[go], base[go], here[go]
            if not who.size:
                return
            feature, value = self._single_moves(who)
            if not feature.size:
                return
            score, _ = self._scan(who, base, feature, value, np.full(len(who), np.inf))
            pick = score.argmax(1)
            each = np.arange(len(who))
            better = score[each, pick] > here + 1e-9
            base = set_values(base, feature[pick], value[each, pick])
            who, base, here = who[better], base[better], score[each, pick][better]
