"""The search for one option for everyone, from starts over moves to a polish; and filling what it left empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.candidates import cheapest
from wayforward.methods.local_search.polish import TIGHT, CandidatePolish
from wayforward.methods.local_search.rule_repair import RuleRepair
from wayforward.methods.local_search.starts import Starts

if TYPE_CHECKING:
    from wayforward.problem import Population

_FINER = 2  # times the thresholds that a second sweep looks at, inside what the incumbent could pay for


class Search(Starts, RuleRepair, CandidatePolish):
    """One option for everyone.

    Afterwards: found (n,), best (n, d), cost (n,), and spare: other options met on the way.
    """

    def run(self, who: np.ndarray) -> None:
        """Search for some of the people."""
        if not who.size:
            return
        unknown = who[np.isnan(self.start[who])]
        if unknown.size:
            self.start[unknown] = self._look(unknown)
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

    def drop_repeats(self, taken: np.ndarray) -> None:
        """Drop what is an option (n, o, d) already, or more of one: nothing new."""
        worse = self.found & goes_farther(self.people, np.arange(self.n), taken, self.best)
        self.cost[worse], self.best[worse], self.found[worse] = np.inf, np.nan, False


def fill_slots(
    people: Population,
    out: np.ndarray,
    spare: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    least: np.ndarray,
) -> np.ndarray:
    """Fill empty slots with what the searches met on the way: other sets of changes first, then other values.

    What only goes farther than an option that is there already is no option of its own. least (n,): what an option
    must cost.
    """
    if not spare:
        return out
    who, action, cost = (np.concatenate(part) for part in zip(*spare, strict=True))
    bits = 2.0 ** (np.arange(people.d) % 50)
    for fresh_set in (True, False):
        for option in range(1, out.shape[1]):
            need = np.isnan(out[:, option]).all(1) & ~np.isnan(out[:, 0]).all(1)
            at = np.flatnonzero(need[who] & (cost >= least[who] - 1e-12))
            if not at.size:
                continue
            before = out[who[at], :, :]
            worse = goes_farther(people, who[at], before, action[at])
            if fresh_set:
                there = ~np.isnan(before).all(2)
                same = (~np.isnan(before)) @ bits == ((~np.isnan(action[at])) @ bits)[:, None]
                worse |= (same & there).any(1)
            at = at[~worse]
            lead = at[cheapest(who[at], cost[at])]
            out[who[lead], option] = action[lead]
    return out


def goes_farther(people: Population, who: np.ndarray, taken: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return (c,) bool: the action (c, d) does all that one of the options taken (c, o, d) does, at least as far.

    As far: within a hundredth of the range. Such an action asks for more and gives the same.
    """
    schema, x = people.schema, people.x[who][:, None, :]
    acts, mine = ~np.isnan(taken), ~np.isnan(action)[:, None, :]
    with np.errstate(invalid="ignore"):
        gap, own = taken - x, action[:, None, :] - x
        near = np.where(schema.has_levels, 1e-9, np.maximum(0.01 * schema.span, np.nan_to_num(schema.step)))
        as_far = (np.sign(gap) * own >= np.abs(gap) - near) | np.isnan(x)
        as_far = np.where(schema.is_categorical, taken == action[:, None, :], as_far)
    covers = (~acts | (mine & as_far)).all(2) & acts.any(2)
    return np.asarray(covers.any(1))
