"""Local search: the default method, for any model, any rule and any world, for all people at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.robust_search import same_people
from wayforward.methods.local_search.candidates import SearchSettings
from wayforward.methods.local_search.crossings import tree_crossings
from wayforward.methods.local_search.listing import may_be_listed
from wayforward.methods.local_search.lockstep import options_in_lockstep
from wayforward.methods.local_search.search import fill_slots
from wayforward.methods.local_search.seeker import Seeker
from wayforward.methods.local_search.surrogate import stand_in
from wayforward.methods.settings import check_switches, check_whole
from wayforward.problem.proofs import out_of_reach
from wayforward.shapes import Actions, Mask, Rows, Who

if TYPE_CHECKING:
    from wayforward.neighbours import NeighbourIndex
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_STARTS = 20_000  # accepted reference people that starts are taken from
_HINTS = 6  # options met past the rules, of which one may keep them
_HINT_ROWS = 20_000  # rows that the compiled search may spend where it does not know all rules


@dataclass
class LocalSearch(Method):
    """Find the cheapest change that turns the decision, from neighbours and sparse moves, ending in a polish.

    Every person starts twice: from accepted observed people who are near in what the person may act on, or near in
    everything, moved onto what the person may do; and from where they stand, by scanning single moves and combining
    them greedily by score gained per cost (exact for additive scores, re-scanned for others). The incumbent's cost
    bounds every later scan: moves that cost more are never shown to the model, and the grid is drawn anew, finer,
    inside what the incumbent could pay for; on trees it is made of their thresholds. The best candidates are polished:
    changes are undone and values move back as far as the decision holds, and pairs of moves are exchanged, until no
    single change that it tries makes the option cheaper. Where features move as consequences, holding them is a move
    too. Candidates that only break a rule are mended. A row exactly at the boundary is shown to the model itself.

    The first option does not hang on k: everybody looks once more without the dearest change, which may be the wrong
    one to build on. More options leave out the dearest change of the ones before, and an option that does all that
    another one does, and more, is not returned. People with nothing yet get draws from their own stream and a climb of
    the score; then, unless it is proved that there is nothing, all accepted observed people are tried, nearest first,
    and draws go on until the budget is gone. More budget goes on where less would have stopped, so that it never
    makes the first option dearer (where rules couple features: below the default budget, and from it on). Who may do
    little enough has all of it looked at, cheapest first, so that nothing is missed.

    With labels only there is no score to follow; neighbours, single moves, draws and the polish remain.

    A model that cannot be read (a function, an API) is asked little: what it said of the observed people teaches a
    stand-in (lines, boosted trees or a small net), which proposes; what the model says of a person's own rows corrects
    the stand-in for that person. Who is left without an option is searched for as above, with the whole budget. So in
    worlds where nothing follows, without a plausibility and a robustness, and where costs add up.

    grid: values scanned per feature and side. starts: neighbours tried. beam: candidates polished.
    rounds: sweeps in the shrunken box. fill: slots that would stay empty take options that ask for more than others.
    compiled: where the model and the cost allow it, one person after another is searched in compiled code (see
    `Seeker`), and in lockstep only who has nothing then; where a rule couples features the answer stands if it keeps
    the rule, else, as in a causal world, the lockstep starts from it. grid, starts, beam, rounds: for the lockstep.
    sparing: a model that cannot be read is asked few rows, at several times the work beside the model.
    device: torch evaluates a dense network there, the candidates of all people of a step in one product a layer; all
    is then searched in lockstep, whose moves and bounds stay on the CPU. See `Model.on`.
    Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="local-search", k=3, seed=0)``.
    Source: this project; the start is E7.1 and the polish C9 of the field's catalogue of components.
    """

    name: ClassVar[str] = "local-search"
    summary: ClassVar[str] = (
        "any model, any rule, any world; cheapest change by starts, sparse moves and a polish"
    )
    citation: ClassVar[str] = "wayforward"
    least_cost: ClassVar[bool] = True

    grid: int = 8
    starts: int = 8
    beam: int = 3
    rounds: int = 1
    fill: bool = False
    compiled: bool = True
    sparing: bool = True
    device: str | None = None

    def __post_init__(self) -> None:
        check_whole(self, grid=1, starts=0, beam=1, rounds=0)
        check_switches(self, "fill", "compiled", "sparing")

    def _fit(self, problem: Problem) -> None:
        self.reference_ = np.empty((0, problem.schema.d))
        self.index_: NeighbourIndex | None = None
        if problem.reference is not None and problem.reference_reached.any():
            from wayforward.neighbours import NeighbourIndex

            accepted = problem.reference_accepted
            if len(accepted) > _STARTS:  # an even, seedless thinning, so that answers do not depend on a seed
                accepted = accepted[np.linspace(0, len(accepted) - 1, _STARTS).astype(np.int64)]
            self.reference_ = np.ascontiguousarray(np.unique(accepted, axis=0))
            self.index_ = NeighbourIndex(problem.schema, self.reference_)
        self.everyone_: Rows | None = None
        self.crossings_ = tree_crossings(problem)
        self.stand_in_ = stand_in(problem, self.reference_) if self.sparing else None
        self.there_ = None if self.device is None else problem.with_(device=self.device)
        plain = self.compiled and self.there_ is None
        self.seeker_ = Seeker.of(problem, self.reference_) if plain else None

    @property
    def frees_interpreter(self) -> bool:
        """True where the search is compiled."""
        return self.seeker_ is not None and self.seeker_.judges

    def __getstate__(self) -> dict[str, Any]:
        """Return the method with all accepted people, whom its last resort follows: the table itself stays behind."""
        if hasattr(self, "problem_"):
            self._everyone()
        return super().__getstate__()

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> tuple[Actions, Mask]:
        limit = budget.rows_or(20_000)
        if people.aim is not None:
            return self._in_lockstep(people, k, streams, limit)
        if self.seeker_ is None:
            out, none = self._in_lockstep(people, k, streams, limit)
        else:
            out, none = self._compiled_first(self.seeker_, people, k, streams, limit)
        lost = np.flatnonzero(np.isnan(out[:, 0]).all(1) & ~none)
        if lost.size:  # for the others it was tried on the way
            lost = lost[may_be_listed(people.take(lost))]
            none[lost] = self._out_of_reach(people.take(lost))
        return out, none

    @property
    def _judge_proves(self) -> bool:
        # where what was seen bounds the search, its proofs are about less than all that may be done
        schema = self.problem_.schema
        endless = (~np.isfinite(schema.low) | ~np.isfinite(schema.high))[schema.actionable]
        return bool(self._prove and endless.any())

    def _out_of_reach(self, people: Population) -> Mask:
        return out_of_reach(people) if self._prove else np.zeros(people.n, dtype=bool)

    def _compiled_first(
        self, seeker: Seeker, people: Population, k: int, streams: Streams, limit: int
    ) -> tuple[Actions, Mask]:
        """Search in compiled code, and go on with those for whom that was not enough.

        A proof is tried before much of the budget is spent on somebody for whom little is promised. Then come the
        lockstep's own starts and draws, then all accepted people, in compiled code, and draws until the budget is gone.
        """
        n = people.n
        out, none = np.full((n, k, people.d), np.nan), np.zeros(n, dtype=bool)
        hint = np.full((n, 2, people.d), np.nan)
        final = (
            people.problem.independent and people.problem.plausibility is None
        )  # else a start is all it gives
        few = may_be_listed(people)  # who can do little has all of it looked at
        many = np.flatnonzero(~few)
        if many.size and seeker.judges:
            some = people if many.size == n else people.take(many)
            out[many] = seeker.options(some, k, limit, everyone=False)
            hint[many, 0] = out[many, 0]
            if some is not people:
                people.rows[many] += some.rows
        elif many.size:
            out[many], hint[many] = self._past_the_rules(seeker, people, many, k, limit, final)
        lost = np.flatnonzero(np.isnan(out[:, 0]).all(1) & np.isnan(hint[:, 0]).all(1) & ~few)
        none[lost] = self._out_of_reach(people.take(lost))
        slots = out[:, -1 if self.fill or not seeker.judges else 0]
        rest = np.flatnonzero(np.isnan(slots).all(1) & ~none)
        self._go_on(people, rest, out, none, k, streams, limit, hint, patient=few | (not final))
        lost = np.isnan(out[:, 0]).all(1) & ~none & ~few
        if not final:
            return out, none
        broken = np.flatnonzero(lost & ~np.isnan(hint[:, 0]).all(1))  # a yes that breaks a rule is none
        none[broken] = self._out_of_reach(people.take(broken))
        lost = np.flatnonzero(lost & ~none & (people.rows < limit))
        if lost.size:
            some = people.take(lost)
            found = seeker.options(some, k if seeker.judges else 1, limit - people.rows[lost])
            people.rows[lost] += some.rows
            hint[lost, 0] = found[:, 0]
            out[lost, : found.shape[1]] = self._that_keep_rules(seeker, some, found)
            # what breaks a rule says nothing about the others
            open_ = np.isnan(out[lost, 0]).all(1)
            open_ &= (people.rows[lost] < limit) | ~np.isnan(found[:, 0]).all(1)
            self._go_on(people, lost[open_], out, none, k, streams, limit, hint, patient=np.ones_like(few))
        return out, none

    def _past_the_rules(
        self, seeker: Seeker, people: Population, who: np.ndarray, k: int, limit: int, final: bool
    ) -> tuple[Actions, np.ndarray]:
        """Search without the rules that the seeker does not know, for some people: options (c, k, d) that keep them all
        the same; and a start (c, 2, d) for those without one: what breaks a rule, and the cheapest that breaks none.

        Where little may be asked nobody starts so: a start that budgets shape would make some of them worse than less.
        """
        some = people.take(who)
        out, hint = np.full((some.n, k, some.d), np.nan), np.full((some.n, 2, some.d), np.nan)
        if limit < _HINT_ROWS:
            return out, hint
        hint[:, :1] = seeker.options(some, 1, _HINT_ROWS, everyone=False)
        if final:
            out[:, :1] = self._that_keep_rules(seeker, some, hint[:, :1])
        good = ~np.isnan(out[:, 0]).all(1)
        broken, more = np.flatnonzero(~good & ~np.isnan(hint[:, 0]).all(1)), np.flatnonzero(good)
        if broken.size:
            few = some.take(broken)
            found = seeker.options(few, _HINTS, _HINT_ROWS // _HINTS, everyone=False)
            if final:
                hint[broken, 1] = self._that_keep_rules(seeker, few, found)[:, 0]
            some.rows[broken] += few.rows
        if more.size and k > 1:
            few = some.take(more)
            found = self._that_keep_rules(seeker, few, seeker.options(few, k, limit, everyone=False))
            out[more, 1:] = found[:, 1:]
            some.rows[more] += few.rows
        people.rows[who] += some.rows
        return out, hint

    def _go_on(
        self,
        people: Population,
        who: np.ndarray,
        out: Actions,
        none: Mask,
        k: int,
        streams: Streams,
        limit: int,
        hint: np.ndarray,
        patient: Mask,
    ) -> None:
        """Search for some people in lockstep, with what is left of their budgets; add to their options and proofs."""
        if not who.size:
            return
        some = people.take(who)
        # whom a start was made for, or who has an option, still has the whole budget
        least = np.where(np.isnan(hint[who, 0]).all(1) & np.isnan(out[who, 0]).all(1), 0, limit)
        left = np.maximum(limit - people.rows[who], least)
        more, none[who] = self._in_lockstep(some, k, streams.take(who), left, hint[who, 0], patient[who])
        started = np.flatnonzero(~np.isnan(hint[who, 0]).all(1) & np.isnan(out[who, 0]).all(1))
        if started.size:  # what a start makes the search overlook is looked for, too
            few, at = some.take(started), streams.take(who[started])
            plain, _ = self._in_lockstep(few, k, at, limit, None, patient[who[started]])
            some.rows[started] += few.rows
            other = np.full_like(plain, np.nan)
            other[:, 0] = hint[who[started], 1]
            for options in (plain, other):
                mine = more[started]
                price = [few.cost(np.arange(few.n), found[:, 0]) for found in (options, mine)]
                there = ~np.isnan(options[:, 0]).all(1)
                better = there & ((price[0] < price[1]) | np.isnan(mine[:, 0]).all(1))
                more[started[better]] = options[better]
        out[who] = self._added(some, out[who], more)
        people.rows[who] += some.rows

    def _that_keep_rules(self, seeker: Seeker, people: Population, found: Actions) -> Actions:
        """Return those of the options (n, k, d) that keep all rules, in their order."""
        if seeker.judges:
            return found
        n, k, d = found.shape
        keeps = self._allowed(people, np.repeat(np.arange(n), k), found.reshape(-1, d)).reshape(n, k)
        order = np.argsort(~keeps, axis=1, kind="stable")
        return np.take_along_axis(np.where(keeps[:, :, None], found, np.nan), order[:, :, None], axis=1)

    @staticmethod
    def _allowed(people: Population, who: Who, action: Rows) -> Mask:
        """Return (m,) bool: there is an act, and it is allowed."""
        return np.asarray(people.allowed(who, action, people.after(who, action)) & ~np.isnan(action).all(1))

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
            if self.fill:
                fill_slots(people, out, spares, least, whatever=True)
        return out

    def _in_lockstep(
        self,
        people: Population,
        k: int,
        streams: Streams,
        limit: int | np.ndarray,
        hint: Rows | None = None,
        patient: Mask | None = None,
    ) -> tuple[Actions, Mask]:
        """Search for everybody at once, in steps; limit: model rows a person and option; hint (n, d): where to
        start, NaN where nothing is known; patient (n,): spend the whole budget before giving up."""
        if self.there_ is not None:
            people = same_people(people, self.there_)
        settings = SearchSettings(
            self.grid,
            self.starts,
            self.beam,
            self.rounds,
            self.reference_,
            self.index_,
            self.crossings_,
            self._everyone,
            self.fill,
            self.stand_in_,
        )
        return options_in_lockstep(settings, people, k, streams, limit, hint, patient)

    def _everyone(self) -> Rows:
        """Return all accepted reference people (R, d), each once."""
        if self.everyone_ is None:
            problem = self.problem_
            known = problem.reference is not None and problem.reference_reached.any()
            self.everyone_ = np.unique(problem.reference_accepted, axis=0) if known else self.reference_
        return self.everyone_
