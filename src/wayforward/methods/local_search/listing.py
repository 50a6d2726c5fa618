"""Options of people who may do little enough for all of it to be listed: the cheapest ones that there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.candidates import Candidates
from wayforward.methods.local_search.domination import goes_farther
from wayforward.problem.enumeration import Choices, actions_of, choices_of
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Mask, PerRow, Rows, Who
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Population

_ROWS = 1 << 17  # actions listed at once
_FIRST = 32  # of a person in the first lot, cheapest first; then twice as many
_FEW, _FEW_DEAR = 4096, 256  # actions that are listed; where the model cannot be read
_BAND = 1e-5  # of a score: so near to the boundary the model itself is asked


def may_be_listed(people: Population) -> Mask:
    """(n,) bool: all that the person may do is little enough to look at in order of cost."""
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # numbers alone are often too many: no need to count exactly
        steps = (people.high - people.low) / people.problem.reach.number_step
        numbers = np.where(people.free, steps - 1.0, 1.0)
    if (np.fmax(numbers, 1.0).prod(1) > _FEW).all():
        return np.zeros(people.n, dtype=bool)
    return choices_of(people).total <= (_FEW if people.problem.model.bounded else _FEW_DEAR)


@dataclass(frozen=True)
class _Listed:
    """All that some people may do, cheapest first: who (m,), action (m, d), cost (m,); start (p + 1,) of each."""

    who: Who
    action: Rows
    cost: PerRow
    start: np.ndarray


class Listing(Candidates):
    """Look at everything that somebody may do, in order of cost."""

    def listed_options(
        self, who: np.ndarray, k: int, least: np.ndarray, fill: bool = False
    ) -> tuple[Actions, Mask]:
        """Return the k cheapest options of each person (c, k, d), and (c,) bool: everything was looked at.

        First those that differ clearly (`goes_farther`), then those of which none does all that another one does; with
        `fill` any other rows. least (n,): what an option must cost.
        """
        self.band, self.every_tie = _BAND, True  # nothing that the model itself accepts may be missed
        out = np.full((len(who), k, self.d), np.nan)
        whole = np.zeros(len(who), dtype=bool)
        choices = choices_of(self.people)
        for some in _lots(choices.total[who].astype(np.int64)):
            listed = self._listed(choices, who[some], least)
            out[some], whole[some] = self._walk(listed, who[some], k, fill)
        self.band, self.every_tie = self.slack, False
        return out, whole

    def _listed(self, choices: Choices, who: np.ndarray, least: np.ndarray) -> _Listed:
        """List what some people may do, each way of getting somewhere once, cheapest first."""
        total = choices.total[who].astype(np.int64)
        owner = np.repeat(who, total)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
        action = actions_of(self.people, choices, owner, number)
        x = self.people.x[owner]
        if self.problem.independent:
            there = ~(~np.isnan(action) & ~self.schema.differs(action, x)).any(1)
        else:
            there = np.ones(len(owner), dtype=bool)
        there &= ~np.isnan(action).all(1)
        owner, action = owner[there], action[there]
        after = self.people.after(owner, action)
        cost = self.people.cost(owner, action)
        there = self.people.allowed(owner, action, after) & (cost >= least[owner] - 1e-12)
        owner, action, cost, after = owner[there], action[there], cost[there], after[there]
        acts = (~np.isnan(action)).sum(1)
        order = np.lexsort((np.arange(len(owner)), acts, cost.round(12), owner))
        if not self.problem.independent:  # of several ways to the same place the cheapest
            place = keys_of(np.nan_to_num(after[order], nan=np.inf), 0)
            at = np.lexsort((np.arange(len(order)), place, owner[order]))
            same = np.zeros(len(order), dtype=bool)
            same[at[1:]] = (place[at[1:]] == place[at[:-1]]) & (owner[order[at[1:]]] == owner[order[at[:-1]]])
            order = order[~same]
        owner, action, cost = owner[order], action[order], cost[order]
        start = np.searchsorted(owner, who), np.searchsorted(owner, who, side="right")
        return _Listed(owner, action, cost, np.stack(start))

    def _walk(self, listed: _Listed, who: np.ndarray, k: int, fill: bool) -> tuple[Actions, Mask]:
        """Ask about the listed actions, cheapest first, until k clearly different ones are found."""
        clear, close = (np.full((len(who), k, self.d), np.nan) for _ in range(2))
        rest = np.full((len(who), k if fill else 0, self.d), np.nan)
        first, last = listed.start
        done, lot = first.copy(), _FIRST
        open_ = np.arange(len(who))
        while open_.size:
            take = np.minimum(lot, last[open_] - done[open_])
            place = np.repeat(open_, take)
            row = np.arange(len(place)) - np.repeat(np.cumsum(take) - take, take) + done[place]
            owner, action = listed.who[row], listed.action[row]
            if not fill:  # of what does all that an option does nobody asks
                worse = goes_farther(self.people, owner, clear[place], action, 0.0)
                worse |= goes_farther(self.people, owner, close[place], action, 0.0)
                place, owner, action = place[~worse], owner[~worse], action[~worse]
            _, valid = self.ask(owner, action)
            place, owner, action = place[valid], owner[valid], action[valid]
            for wanted, share in ((clear, None), (close, 0.0), (rest, -1.0)):
                for slot in range(wanted.shape[1]):
                    worse = np.zeros(len(place), dtype=bool)
                    if share is None or share >= 0:
                        for there in (clear, close) if share is not None else (clear,):
                            worse |= goes_farther(self.people, owner, there[place], action, share)
                    lead = np.flatnonzero(~worse & np.isnan(wanted[place, slot]).all(1))
                    lead = lead[rank_in_run(place[lead]) == 0]
                    wanted[place[lead], slot] = action[lead]
                    left = np.ones(len(place), dtype=bool)
                    left[lead] = False
                    place, owner, action = place[left], owner[left], action[left]
            done[open_] += take
            lot *= 2
            spent = self.people.rows[who[open_]] >= self.cap[who[open_]]
            open_ = open_[np.isnan(clear[open_, k - 1]).all(1) & (done[open_] < last[open_]) & ~spent]
        every = np.concatenate([clear, close, rest], axis=1)
        order = np.argsort(np.isnan(every).all(2), axis=1, kind="stable")[:, :k]
        return np.take_along_axis(every, order[:, :, None], axis=1), done >= last


def _lots(total: np.ndarray) -> Iterator[np.ndarray]:
    """Yield positions of people in lots of about as many actions."""
    lot = np.cumsum(total) // _ROWS
    for number in np.unique(lot):
        yield np.flatnonzero(lot == number)
