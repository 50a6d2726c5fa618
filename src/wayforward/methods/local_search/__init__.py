"""Local search: the default method, for any model, any rule and any world, for all people at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.forest_boxes import ForestBoxes
from wayforward.methods.engines.exact.line_boxes import LineBoxes
from wayforward.methods.engines.exact.relaxed_boxes import RelaxedBoxes
from wayforward.methods.engines.exact.relaxed_search import cheapest_in_boxes
from wayforward.methods.engines.gradient.compiled import Compiled
from wayforward.methods.engines.robust_search import same_people
from wayforward.methods.engines.seeker import Seeker
from wayforward.methods.local_search.candidates import SearchSettings
from wayforward.methods.local_search.cheapest_first import CheapestFirst
from wayforward.methods.local_search.compiled_first import CompiledFirst
from wayforward.methods.local_search.crossings import tree_crossings
from wayforward.methods.local_search.listing import may_be_listed
from wayforward.methods.local_search.lockstep import options_in_lockstep
from wayforward.methods.local_search.surrogate import stand_in
from wayforward.methods.settings import check_switches, check_whole
from wayforward.methods.wachter import Wachter
from wayforward.problem.proofs import settled
from wayforward.public import public
from wayforward.shapes import Actions, Mask, Rows

if TYPE_CHECKING:
    from wayforward.neighbours import NeighbourIndex
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_STARTS = 20_000  # accepted reference people that starts are taken from
_BOXES = 2_000  # looked at for a person whom nothing else serves


@public
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
    the score; then, unless it is proved that there is nothing, descents where the model has compiled gradients, all
    accepted observed people, nearest first, and draws until the budget is gone. More budget goes on where less would
    have stopped, so that it never makes the first option dearer (where rules couple features: below the default budget,
    and from it on). Who may do little enough has all of it looked at, cheapest first, so that nothing is missed.

    Of a forest or a line the cheapest option itself is searched for in compiled code, or the proof that there is none,
    by branch and bound over boxes (see `ForestBoxes`, `LineBoxes`): in the worlds where nothing follows and costs add
    up, which takes about as long. What is above is for the further options, and for the few for whom the boxes run
    out.

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

    @property
    def _keeps_more(self) -> bool:
        return self.fill  # which asks for options that go farther than others

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
        self.gradients_ = Compiled.of(problem, np.ones(problem.schema.d)) is not None
        self.descent_: Wachter | None = None
        self.crossings_ = tree_crossings(problem)
        self.stand_in_ = stand_in(problem, self.reference_) if self.sparing else None
        self.there_ = None if self.device is None else problem.with_(device=self.device)
        plain = self.compiled and self.there_ is None
        self.seeker_ = Seeker.of(problem, self.reference_) if plain else None
        self.boxes_ = (ForestBoxes.of(problem) or LineBoxes.of(problem)) if plain else None
        self.relaxed_: tuple[RelaxedBoxes | None] | None = None

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
        if self.boxes_ is None or people.aim is not None:
            return self._searched(people, k, streams, budget)
        first = CheapestFirst(self.boxes_, people)
        rest = first.open if k == 1 else np.flatnonzero(~first.none)
        out = np.full((people.n, k, people.d), np.nan)
        if rest.size:
            some = people if rest.size == people.n else people.take(rest)
            out[rest], first.none[rest] = self._searched(some, k, streams.take(rest), budget, first.far[rest])
            if some is not people:
                people.rows[rest] += some.rows
        return first.beside(out), first.none

    def _searched(
        self, people: Population, k: int, streams: Streams, budget: Budget, far: Mask | None = None
    ) -> tuple[Actions, Mask]:
        """Return options (n, k, d) and proofs (n,) of the search itself. far (n,): see `CheapestFirst`."""
        limit = budget.rows_or(20_000)
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
            self._settled,
            self._descend if self.gradients_ else None,
        )
        if self.seeker_ is not None and people.aim is None:
            out, none = CompiledFirst(self.seeker_, settings, people, k, streams, limit, far).run()
        else:
            there = people if self.there_ is None else same_people(people, self.there_)
            out, none = options_in_lockstep(settings, there, k, streams, limit)
            if people.aim is not None:
                return out, none
        lost = np.flatnonzero(np.isnan(out[:, 0]).all(1) & ~none)
        if lost.size:  # for the others it was tried on the way
            lost = lost[may_be_listed(people.take(lost))]
            none[lost] = self._settled(people.take(lost))[0]
        self._look_into_boxes(people, out, none, limit)
        return out, none

    def _look_into_boxes(self, people: Population, out: Actions, none: Mask, limit: int) -> None:
        """Search what a network leaves open for people without option or proof, in whose reach yeses may be few."""
        lost = np.flatnonzero(np.isnan(out[:, 0]).all(1) & ~none)
        if not lost.size or self.boxes_ is not None:
            return
        if self.relaxed_ is None:  # few people need it
            self.relaxed_ = (RelaxedBoxes.of(self.problem_.asking_no_more()),)
        boxes = self.relaxed_[0]
        if boxes is None:
            return
        some = people.take(lost)
        found, proved = cheapest_in_boxes(boxes, some, out[lost], limit, _BOXES, 1)
        people.rows[lost] += some.rows
        out[lost] = found
        none[lost] = proved & self._prove

    def _descend(self, people: Population, streams: Streams, rows: int) -> Rows:
        """Return where descents from several starts turn the decision (m, d); NaN where none does."""
        if self.descent_ is None:  # few people need it
            self.descent_ = Wachter(norm="l2", restarts=8).fit(self.problem_)
        return self.descent_._recommend(people, 1, streams, Budget(rows))[:, 0]

    @property
    def _judge_proves(self) -> bool:
        # where what was seen bounds the search, its proofs are about less than all that may be done
        schema = self.problem_.schema
        endless = (~np.isfinite(schema.low) | ~np.isfinite(schema.high))[schema.actionable]
        return bool(self._prove and endless.any())

    def _settled(self, people: Population) -> tuple[Mask, Rows]:
        if self._prove:
            return settled(people)
        return np.zeros(people.n, dtype=bool), np.full(people.x.shape, np.nan)

    def _everyone(self) -> Rows:
        """Return all accepted reference people (R, d), each once."""
        if self.everyone_ is None:
            problem = self.problem_
            known = problem.reference is not None and problem.reference_reached.any()
            self.everyone_ = np.unique(problem.reference_accepted, axis=0) if known else self.reference_
        return self.everyone_
