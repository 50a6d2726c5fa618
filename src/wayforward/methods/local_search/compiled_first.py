"""A search in compiled code first, and in lockstep for those for whom that was not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.seeker import Seeker
from wayforward.methods.local_search.candidates import SearchSettings
from wayforward.methods.local_search.listing import may_be_listed
from wayforward.methods.local_search.lockstep import options_in_lockstep
from wayforward.methods.local_search.search import fill_slots
from wayforward.methods.local_search.starts import DESCENT, descended
from wayforward.shapes import Actions, Mask, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_HINTS = 6  # options met past the rules, of which one may keep them
_HINT_ROWS = 20_000  # rows that the compiled search may spend where it does not know all rules


class CompiledFirst:
    """Search for up to k options of each person; limit: model rows a person and option. far (n,): whom the compiled
    search goes on for, because a proof was too long.

    While it runs: out (n, k, d) options, none (n,) proofs, met (n, d) ways that a proof met instead, and
    hint (n, 2, d), where the lockstep starts from: what the compiled search came to, whether or not it keeps the
    rules, and the cheapest of its options that keeps them all.
    """

    def __init__(
        self,
        seeker: Seeker,
        settings: SearchSettings,
        people: Population,
        k: int,
        streams: Streams,
        limit: int,
        far: Mask | None = None,
    ) -> None:
        self.seeker, self.settings, self.people = seeker, settings, people
        self.k, self.streams, self.limit = k, streams, limit
        n, d = people.n, people.d
        self.far = np.zeros(n, dtype=bool) if far is None else far
        self.out, self.none = np.full((n, k, d), np.nan), np.zeros(n, dtype=bool)
        self.hint, self.met = np.full((n, 2, d), np.nan), np.full((n, d), np.nan)
        # else what the compiled search finds is a start and no answer
        self.final = people.problem.independent and people.problem.plausibility is None

    def run(self) -> tuple[Actions, Mask]:
        """Return the options (n, k, d), and (n,) bool: proved that there is none.

        A proof is tried before much of the budget is spent on somebody for whom little is promised. Then come the
        lockstep's own starts and draws, descents where the model has gradients, then all accepted people, in compiled
        code, and draws until the budget is gone.
        """
        people, seeker, limit = self.people, self.seeker, self.limit
        few = may_be_listed(people)  # who can do little has all of it looked at
        many = np.flatnonzero(~few)
        if many.size and seeker.judges:
            self.out[many] = self._that_keep_rules(many, self._seek(many, self.k, limit))
            self.hint[many, 0] = self.out[many, 0]
        elif many.size and limit >= _HINT_ROWS:
            self._seek_past_the_rules(many)
        self._prove_of(self._empty & ~self._hinted & ~few)
        # beside rules the compiled search may overlook alternatives
        every = self.settings.fill or not seeker.judges or len(seeker.land.line) > 0
        last = self.out[:, -1 if every else 0]
        self._go_on(np.flatnonzero(np.isnan(last).all(1) & ~self.none), few | (not self.final))
        if not self.final:
            return self.out, self.none
        self._prove_of(self._empty & ~self.none & ~few & self._hinted)  # a yes that breaks a rule is none
        self._descend(np.flatnonzero(self._empty & ~self.none & ~few & (people.rows + DESCENT < limit)))
        lost = np.flatnonzero(self._empty & ~self.none & ~few & (people.rows < limit))
        if lost.size:
            found = self._seek(lost, self.k if seeker.judges else 1, limit - people.rows[lost], everyone=True)
            self.hint[lost, 0] = found[:, 0]
            self.out[lost, : found.shape[1]] = self._that_keep_rules(lost, found)
            # what breaks a rule says nothing about the others
            open_ = self._empty[lost]
            open_ &= (people.rows[lost] < limit) | ~np.isnan(found[:, 0]).all(1)
            self._go_on(lost[open_], np.ones_like(few))
        rest = np.flatnonzero(self._empty & ~np.isnan(self.met).all(1))
        if rest.size:  # nothing else led anywhere
            self.hint[rest, 0] = self.met[rest]
            self._go_on(rest, np.ones_like(few))
        self._make_cheaper(np.flatnonzero(~self._empty & ~self._hinted & ~few))
        return self.out, self.none

    def _make_cheaper(self, who: np.ndarray) -> None:
        """Let the compiled search, which came to nothing by itself, go on from the first option that people have."""
        if not who.size or self.limit < _HINT_ROWS:
            return
        mine = self.out[who, 0]
        found = self._that_keep_rules(who, self._seek(who, 1, _HINT_ROWS, start=mine))[:, 0]
        people = self.people
        better = ~np.isnan(found).all(1)
        better[better] = people.cost(who[better], found[better]) < people.cost(who[better], mine[better])
        at = who[better]
        if at.size:
            out = np.full_like(self.out[at], np.nan)
            out[:, 0] = found[better]
            self.out[at] = self._added(people.take(at), out, self.out[at])

    @property
    def _empty(self) -> Mask:
        """(n,) bool: the person has no option yet."""
        return np.asarray(np.isnan(self.out[:, 0]).all(1))

    @property
    def _hinted(self) -> Mask:
        """(n,) bool: the compiled search came to something, whatever rules it breaks."""
        return np.asarray(~np.isnan(self.hint[:, 0]).all(1))

    def _prove_of(self, mask: Mask) -> None:
        who = np.flatnonzero(mask)
        if who.size:
            self.none[who], self.met[who] = self.settings.prove(self.people.take(who))

    def _seek(
        self,
        who: np.ndarray,
        k: int,
        limit: int | np.ndarray,
        everyone: bool = False,
        start: Rows | None = None,
    ) -> Actions:
        """Return what the compiled search finds for some people (c, k, d), and count the rows that it asks about."""
        some = self.people if len(who) == self.people.n else self.people.take(who)
        found = self.seeker.options(some, k, limit, everyone=everyone, start=start, far=self.far[who])
        if some is not self.people:
            self.people.rows[who] += some.rows
        return found

    def _descend(self, who: np.ndarray) -> None:
        """Descend along the gradients of the model, and go on in lockstep from what that comes to."""
        if self.settings.descend is None or not who.size:
            return
        found = descended(self.settings.descend, self.people, who, self.streams)
        there = ~np.isnan(found).all(1)
        self.hint[who[there], 0] = found[there]
        self._go_on(who[there], np.ones(self.people.n, dtype=bool))

    def _seek_past_the_rules(self, who: np.ndarray) -> None:
        """Search without the rules that the seeker does not know: what keeps them all the same is an option.

        A start for who has none: what breaks a rule, and the cheapest that breaks none. Where little may be asked
        nobody starts so: a start that budgets shape would make some of them worse than less.
        """
        self.hint[who, :1] = self._seek(who, 1, _HINT_ROWS)
        if self.final:
            self.out[who, :1] = self._that_keep_rules(who, self.hint[who, :1])
        good = ~self._empty[who]
        broken, more = who[~good & self._hinted[who]], who[good]
        if broken.size:
            found = self._seek(broken, _HINTS, _HINT_ROWS // _HINTS)
            if self.final:
                self.hint[broken, 1] = self._cheapest(broken, self._that_keep_rules(broken, found))
        if more.size and self.k > 1:
            found = self._that_keep_rules(more, self._seek(more, self.k, self.limit))
            self.out[more, 1:] = found[:, 1:]

    def _go_on(self, who: np.ndarray, patient: Mask) -> None:
        """Search for some people in lockstep, with what is left of their budgets; add to their options and proofs.

        patient (n,): who has nothing is searched for until the budget is gone, or there is a proof.
        """
        if not who.size:
            return
        people, k, limit = self.people, self.k, self.limit
        some = people.take(who)
        # whom a start was made for, or who has an option, still has the whole budget
        unlucky = self._empty[who]
        least = np.where(unlucky & ~self._hinted[who], 0, limit)
        left = np.maximum(limit - people.rows[who], least)
        more, self.none[who] = options_in_lockstep(
            self.settings, some, k, self.streams.take(who), left, self.hint[who, 0], patient[who]
        )
        started = np.flatnonzero(unlucky & self._hinted[who])
        if started.size:  # what a start makes the search overlook is looked for, too
            few, at = some.take(started), who[started]
            plain, _ = options_in_lockstep(
                self.settings, few, k, self.streams.take(at), limit, None, patient[at]
            )
            some.rows[started] += few.rows
            other = np.full_like(plain, np.nan)
            other[:, 0] = self.hint[at, 1]
            for options in (plain, other):
                mine = more[started]
                price = [few.cost(np.arange(few.n), found[:, 0]) for found in (options, mine)]
                there = ~np.isnan(options[:, 0]).all(1)
                better = there & ((price[0] < price[1]) | np.isnan(mine[:, 0]).all(1))
                more[started[better]] = options[better]
        self.out[who] = self._added(some, self.out[who], more)
        people.rows[who] += some.rows

    def _that_keep_rules(self, who: np.ndarray, found: Actions) -> Actions:
        """Return those of some people's options (c, k, d) that keep all rules, in their order."""
        if self.seeker.judges and not len(self.seeker.land.line):  # else rounding may be decided elsewhere
            return found
        n, k, d = found.shape
        people, owner, action = self.people, np.repeat(who, k), found.reshape(-1, d)
        keeps = people.allowed(owner, action, people.after(owner, action)) & ~np.isnan(action).all(1)
        keeps = keeps.reshape(n, k)
        order = np.argsort(~keeps, axis=1, kind="stable")
        return np.take_along_axis(np.where(keeps[:, :, None], found, np.nan), order[:, :, None], axis=1)

    def _cheapest(self, who: np.ndarray, found: Actions) -> Rows:
        """(c, d): of each of some people's options (c, k, d) the cheapest, NaN where there is none."""
        n, k, d = found.shape
        cost = self.people.cost(np.repeat(who, k), found.reshape(-1, d)).reshape(n, k)
        best = np.where(np.isnan(found).all(2), np.inf, cost).argmin(1)
        return np.asarray(found[np.arange(n), best])

    def _added(self, people: Population, out: Actions, more: Actions) -> Actions:
        """Fill the slots of people who have an option with others, and take all of the others for who has none."""
        none = np.isnan(out[:, 0]).all(1)
        out[none] = more[none]
        who, option = np.nonzero(~np.isnan(more).all(2) & ~none[:, None])
        if who.size:
            least = np.full(people.n, np.inf)
            least[~none] = people.cost(np.flatnonzero(~none), out[~none, 0])
            spare = more[who, option]
            spares = [(who, spare, people.cost(who, spare))]
            fill_slots(people, out, spares, least)
            if self.settings.fill:
                fill_slots(people, out, spares, least, whatever=True)
        return out
