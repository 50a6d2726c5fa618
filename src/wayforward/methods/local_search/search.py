"""The search for one option for everyone, from starts over moves to a polish; and filling what it left empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.candidates import cheapest, set_values
from wayforward.methods.local_search.domination import goes_farther
from wayforward.methods.local_search.listing import Listing
from wayforward.methods.local_search.polish import TIGHT
from wayforward.methods.local_search.rule_repair import RuleRepair
from wayforward.methods.local_search.sparing import Sparing
from wayforward.methods.local_search.starts import Starts

if TYPE_CHECKING:
    from wayforward.problem import Population

_FINER = 2  # times the thresholds that a second sweep looks at, inside what the incumbent could pay for


class Search(Starts, RuleRepair, Sparing, Listing):
    """One option for everyone.

    Afterwards: found (n,), best (n, d), cost (n,), and spare: other options met on the way.
    """

    def run(self, who: np.ndarray, sparing_only: bool = False) -> None:
        """Search for some of the people; sparing_only: not for those for whom a stand-in finds nothing."""
        if not who.size:
            return
        unknown = who[np.isnan(self.start[who])]
        if unknown.size:
            self.start[unknown] = self._look(unknown)
        if self.hint is not None:
            some = who[~np.isnan(self.hint[who]).all(1)]
            self._try_actions(some, self._legal(some, self.hint[some]))
        if self.memory is not None:
            self._search_sparingly(who)
            who = who[~self.found[who]]
            if sparing_only or not who.size:
                return
        self._start_from_neighbours(who)
        self._sweep(who)
        if self.coupled:
            self._mend_rules(who)
        if not self.option:  # further options have other ways to be filled
            self._last_resorts(who[~self.found[who]])
        # who goes on is decided person by person, so that nobody's answer hangs on the others
        active = who
        for _ in range(self.settings.rounds):
            before = self.cost.copy()
            self._polish_pool()
            active = active[self.found[active]]
            if active.size:
                self._sweep(active, _FINER)
                self._polish_pool()
            active = active[self.cost[active] < before[active] - 1e-9]
            if not active.size:
                break
        active = who[self.found[who]]
        if active.size:
            self._exchange_until_settled(active)
        for _ in range(3):  # the last polish: until no single change makes the option cheaper
            if not active.size:
                break
            before = self.cost.copy()
            self._undo_and_narrow(active, self.best[active], self.cost[active], TIGHT)
            active = active[self.cost[active] < before[active] - TIGHT]

    def _look(self, who: np.ndarray) -> np.ndarray:
        """Return the score (m,) of people as they are, whatever is left of their budget."""
        score, _ = self.ask(who, np.full((len(who), self.d), np.nan))
        dark = np.flatnonzero(~np.isfinite(score))
        if dark.size:
            score[dark] = self.people.score(who[dark], self.people.x[who[dark]]).round(9)
        return score

    def look_at_all(self, who: np.ndarray) -> None:
        """Look at everything that these people may do, cheapest first, until there is an option."""
        if not who.size:
            return
        best, whole = self.listed_options(who, 1, np.zeros(self.n))
        found = ~np.isnan(best[:, 0]).all(1)
        self.keep(who[found], best[found, 0], self.people.cost(who[found], best[found, 0]), pool=False)

    def variations(
        self, who: np.ndarray, options: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return what holds when one more value of an option (n, o, d) is set: who, action, cost."""
        bound, self.cost = self.cost, np.full(self.n, np.inf)
        feature, value = self._single_moves(who)
        self.cost = bound
        out = []
        for option in range(options.shape[1]):
            row, move = np.nonzero(~np.isnan(value) & ~np.isnan(options[who, option]).all(1)[:, None])
            owner = who[row]
            action = set_values(options[owner, option], feature[move], value[row, move])
            _, valid = self.ask(owner, action)
            owner, action = owner[valid], action[valid]
            out.append((owner, action, self.people.cost(owner, action)))
        return out

    def drop_repeats(self, taken: np.ndarray) -> None:
        """Drop what is an option (n, o, d) already, or more of one: nothing new."""
        worse = self.found & goes_farther(self.people, np.arange(self.n), taken, self.best)
        self.cost[worse], self.best[worse], self.found[worse] = np.inf, np.nan, False


def fill_slots(
    people: Population,
    out: np.ndarray,
    spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    least: np.ndarray,
    whatever: bool = False,
) -> None:
    """Fill empty slots (n, k, d) with what the searches met on the way: other sets of changes first, then other values.

    What only goes farther than an option that is there already is no option of its own, unless `whatever` is distinct
    will do. least (n,): what an option must cost.
    """
    if not spare:
        return
    who, action, cost = (np.concatenate(part) for part in zip(*spare, strict=True))
    some = np.flatnonzero((cost >= least[who] - 1e-12) & ~np.isnan(out[who, 0]).all(1))
    who, action, cost = who[some], action[some], cost[some]
    bits = 2.0 ** (np.arange(people.d) % 50)
    sets = (~np.isnan(action)) @ bits

    def new(at: np.ndarray, option: int, fresh_set: bool) -> np.ndarray:
        """Return those spares that are no repetition of what their owners have as this option."""
        taken = out[who[at], option]
        there = np.flatnonzero(~np.isnan(taken).all(1))
        if not there.size:
            return at
        mine, theirs = action[at[there]], taken[there]
        if whatever:
            x = people.x[who[at[there]]]
            again = ~people.schema.differs(*(np.where(np.isnan(a), x, a) for a in (theirs, mine))).any(1)
        else:
            again = goes_farther(people, who[at[there]], theirs[:, None], mine)
        if fresh_set:
            again |= (~np.isnan(theirs)) @ bits == sets[at[there]]
        return np.delete(at, there[again])

    for fresh_set in (False,) if whatever else (True, False):
        at = np.arange(len(who))
        for option in range(out.shape[1]):
            at = new(at, option, fresh_set)
        for option in range(1, out.shape[1]):
            if not at.size:
                break
            some = at[np.isnan(out[who[at], option]).all(1)]
            lead = some[cheapest(who[some], cost[some])]
            if lead.size:
                out[who[lead], option] = action[lead]
                at = new(at, option, fresh_set)
