"""wachter: descend a weighted sum of missing score and distance, and raise the weight until the decision turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.gradient.descent import Descent
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_widths
from wayforward.methods.engines.gradient.slopes import has_gradients, slopes
from wayforward.methods.engines.gradient.steps import Ell, Loss, run
from wayforward.methods.engines.tighten import polish
from wayforward.methods.settings import check_choices, check_least, check_positive, slope_source
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


_EARLY = 3  # doublings before single changes are tried


@public
@dataclass
class Wachter(Method):
    """Descend lam x (missing score)^2 + distance, all people at once, doubling lam until the decision turns.

    Distance is L1 (by proximal steps, so features that are not worth their price stay exactly unmoved) or squared L2 of
    the changes over the problem's scales, or over median absolute deviations as published. Features with levels move on
    the simplex of their allowed levels. Bounds, directions and frozen features hold during the descent; the search is
    relaxed and only hard rows count: values on their steps, one level each, asked at the end of every round. A round
    that succeeds ends the person's search: lam is then the least of its series, the distance the smallest. In a causal
    world gradients run through the consequences. A missing number stays missing.

    Slopes: gradients where the model has them (compiled for linear scores and dense networks, else by torch). Any other
    model, labels included, is asked about neighbouring rows instead (zeroth-order estimates; some ten to a hundred
    model rows a step); `parameters()` and the answer's `meta` say which. estimate: None as said, True always so.

    immutables: 'project' as above; 'overwrite_after' searches as the published method does, as if everything could
    change, and puts back afterwards what may not, which can lose the decision. Later options leave out the dearest
    change of those before; `restarts` adds random starts to each. Not part of the published method: complete, which
    goes on from where descents end without success by the best single change, again and again; shrink, which gives
    changes back that the decision does not need and moves values back.

    lam: first weight. rounds: doublings. steps: of Adam, a round. rate: step size in widths of a range. aim: score
    (log-odds beyond the boundary) aimed at. loss: 'logit' one-sided square, 'squared', 'hinge', 'probability' (as
    published). device: see `device_of`; None: where the model lives. block: searches a tensor; more suit a GPU.
    A step counts as one model row, or as the rows that its estimate took; default budget 20,000 a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="wachter", norm="l1")``.
    Source: S. Wachter, B. Mittelstadt, C. Russell (2018), Counterfactual Explanations without Opening the Black Box,
    Harvard J. Law & Technology 31(2); arXiv:1711.00399.
    """

    name: ClassVar[str] = "wachter"
    summary: ClassVar[str] = (
        "descent on score and distance for everybody at once, by gradients or by asking about neighbouring rows"
    )
    citation: ClassVar[str] = "Wachter, Mittelstadt & Russell (2018), Harvard JOLT 31(2), arXiv:1711.00399"
    needs: ClassVar[int] = Access.LABEL

    norm: Literal["l1", "l2"] = "l1"
    scale: Literal["cost", "mad"] = "cost"
    loss: Ell = "logit"
    lam: float = 2.0
    rounds: int = 10
    steps: int = 24
    rate: float = 0.04
    aim: float = 0.1
    restarts: int = 0
    immutables: Literal["project", "overwrite_after"] = "project"
    estimate: bool | None = None
    complete: bool = True
    shrink: bool = True
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        check_choices(
            self,
            norm=("l1", "l2"),
            scale=("cost", "mad"),
            loss=get_args(Ell),
            immutables=("project", "overwrite_after"),
        )
        check_least(self, rounds=1, steps=1, block=1, restarts=0)
        check_positive(self, "lam", "rate")

    def _fit(self, problem: Problem) -> None:
        from wayforward.problem import MadL1

        scales = (
            MadL1().fit(problem.schema, problem.require_reference()).fitted_scales
            if self.scale == "mad"
            else problem.cost.fitted_scales
        )
        self.span_ = range_widths(problem)
        # Price of moving by one range, or of changing a category, in units of the distance.
        self.price_ = np.where(problem.schema.is_categorical, 1.0, self.span_) / scales.divisor
        if self.estimate is False and not has_gradients(problem):
            Descent(problem, self.name, device=self.device, span=self.span_)  # says what is missing
        self.slopes_ = slopes(
            problem, self.name, device=self.device, span=self.span_, zeroth=self.estimate, block=self.block
        )

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, where its slopes come from."""
        return {**super().parameters(), **slope_source(self)}

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        wide = self._unbound(people) if self.immutables == "overwrite_after" else people
        search = LambdaSearch(self, people, wide, streams)

        def find(free: np.ndarray, option: int) -> np.ndarray:
            return search.option(free, option, people.rows + limit)

        return leaving_out(people, wide.free, k, find)

    def _unbound(self, people: Population) -> Population:
        """Return the same people in a problem where everything may change, as the published method sees them."""
        from dataclasses import replace

        from wayforward.preferences import Preferences
        from wayforward.problem import Population

        old = people.problem
        features = tuple(replace(f, actionability="actionable", direction="any") for f in old.schema.features)
        loose = old.with_(schema=replace(old.schema, features=features))
        wide = Population(loose, people.x, Preferences.none(loose.schema, people.n))
        wide.weight = people.weight
        return wide


class LambdaSearch:
    """Descend for some people with ever larger weights of the decision, and record what turns it.

    wide: the same people as the descent sees them, which is more freely for immutables='overwrite_after'.
    """

    def __init__(self, method: Wachter, people: Population, wide: Population, streams: Streams) -> None:
        self.method, self.people, self.wide, self.streams = method, people, wide, streams
        self.slopes = method.slopes_
        self.reaching: list[
            tuple[np.ndarray, ...]
        ] = []  # who, rank, action, begun of what turns the decision

    def option(self, free: np.ndarray, option: int, cap: np.ndarray) -> np.ndarray:
        """Return each person's cheapest valid action (n, d) from all its starts; NaN where none. free (n, d) bool."""
        people, method = self.people, self.method
        self.best, self.cost = np.full((people.n, people.d), np.nan), np.full(people.n, np.inf)
        starts = 1 + method.restarts
        who = np.repeat(np.arange(people.n), starts)
        rank = np.tile(np.arange(starts), len(who) // starts)
        states = self.slopes.start(self.wide, who, free[who])
        self._start_at_random(states, rank, option)
        lam = np.full(len(who), method.lam)
        early = _EARLY if method.complete and self.wide is people else method.rounds
        left = self._descend_rounds(states, lam, rank, cap, np.arange(len(who)), min(early, method.rounds))
        if left.size and early < method.rounds:
            self._complete(states.take(left), free, cap)
            left = left[~np.isfinite(self.cost[who[left]])]
            self._descend_rounds(states, lam, rank, cap, left, method.rounds - early, completed=True)
        return self.best

    def _descend_rounds(
        self,
        states: RelaxedState,
        lam: np.ndarray,
        rank: np.ndarray,
        cap: np.ndarray,
        left: np.ndarray,
        rounds: int,
        *,
        completed: bool = False,
    ) -> np.ndarray:
        """Descend from the starts left (q,) with ever larger lam (m,); return those that did not get there."""
        people, wide, method = self.people, self.wide, self.method
        row_cost = method.steps * self._rows_a_step(states)
        last = np.full(states.move.shape, np.inf)
        for _ in range(rounds):
            live = left[people.rows[states.who[left]] + row_cost[left] <= cap[states.who[left]]]
            if not live.size:
                break
            part = states.take(live)
            price = method.price_ * people.weight[part.who]
            loss = Loss(method.loss, method.aim, method.norm, lam[live], price)
            run(self.slopes, wide, part, loss, steps=method.steps, rate=method.rate)
            if wide is not people:
                people.rows, wide.rows = people.rows + wide.rows, np.zeros_like(wide.rows)
            states.put(live, part)
            reached = np.zeros(live.size, dtype=bool)
            stuck = np.zeros(live.size, dtype=bool)
            before: np.ndarray | None = None
            for eager in (False, True):
                action = self.slopes.harden(wide, part, eager=eager)
                if wide is not people:
                    action = np.where(people.free[part.who], action, np.nan)
                new = np.ones(live.size, dtype=bool)
                if before is not None:
                    new = ~((action == before) | (np.isnan(action) & np.isnan(before))).all(1)
                elif completed:  # nothing else helped: go on only while a larger lam still changes something
                    near = np.abs(action - last[live]) <= 1e-3 * people.schema.span
                    stuck = (near | (np.isnan(action) & np.isnan(last[live]))).all(1)
                    last[live] = action
                before = action
                begun = self.slopes.begun(part, action)
                reached[new] |= self._record(part.who[new], rank[live][new], action[new], begun[new])
            if wide is not people:
                reached |= self._unrestricted_reached(part)
            lam[live] *= 2
            left = np.setdiff1d(left, live[reached | stuck])
        self._polish_recorded()
        return left

    def _rows_a_step(self, states: RelaxedState) -> np.ndarray:
        """Return the model rows (m,) that one step of each start takes, at most."""
        if self.slopes.exact:
            return np.ones(len(states.who), dtype=np.int64)
        return np.asarray(self.slopes.rows(states.free))

    def _complete(self, states: RelaxedState, free: np.ndarray, cap: np.ndarray) -> None:
        """Go on by single changes, from the ends of descents without success and from where the person stands."""
        people = self.people
        open_ = np.unique(states.who[~np.isfinite(self.cost[states.who])])
        first = np.unique(states.who, return_index=True)[1]
        first = first[np.isin(states.who[first], open_)]
        ends = self.slopes.harden(people, states.take(first))
        nowhere = np.full_like(ends, np.nan)
        for start, thrifty in ((ends, True), (nowhere, True), (nowhere, False), (ends, False)):
            if not thrifty:
                self._polish_recorded()
            at = np.arange(open_.size) if thrifty else np.flatnonzero(~np.isfinite(self.cost[open_]))
            if not at.size:
                continue
            done, reached = complete(people, open_[at], start[at], free, rounds=12, cap=cap, thrifty=thrifty)
            some = np.flatnonzero(reached)
            none = np.zeros(some.size, dtype=np.int64)
            self._record(open_[at[some]], none, done[some], None)
        self._polish_recorded()

    def _record(
        self, who: np.ndarray, rank: np.ndarray, action: np.ndarray, begun: np.ndarray | None
    ) -> np.ndarray:
        """Return (m,) bool: reached; record that for `_polish_recorded`."""
        some = np.flatnonzero(~np.isnan(action).all(1))
        reached = np.zeros(len(who), dtype=bool)
        reached[some] = ask(self.people, who[some], action[some])[1]
        at = np.flatnonzero(reached)
        if at.size:
            begun = np.ones_like(action) if begun is None else begun
            self.reaching.append((who[at], rank[at], action[at], begun[at]))
        return reached

    def _polish_recorded(self) -> None:
        """Polish what was recorded, all at once; what is cheaper than a person's best so far takes its place."""
        if not self.reaching:
            return
        people, best, cost = self.people, self.best, self.cost
        who, rank, action, begun = (np.concatenate(part) for part in zip(*self.reaching, strict=True))
        self.reaching = []
        if self.method.shrink:
            action = polish(people, who, action, begun)
        price = people.cost(who, action)
        # Each person's cheapest; ties to the earlier start, then to the earlier candidate.
        order = np.lexsort((np.arange(len(who)), rank, price.round(12), who))
        first = order[rank_in_run(who[order]) == 0]
        better = first[price[first] < cost[who[first]] - 1e-12]
        cost[who[better]], best[who[better]] = price[better], action[better]

    def _unrestricted_reached(self, states: RelaxedState) -> np.ndarray:
        """Return (m,) bool: the unrestricted row turns the decision, which ends the search of 'overwrite_after'."""
        wide = self.wide
        action = self.slopes.harden(wide, states)
        after = np.where(np.isnan(action), wide.x[states.who], action)
        outputs = wide.problem.model.outputs(after)
        return np.asarray(wide.problem.bound_target.score(outputs) > wide.problem.slack)

    def _start_at_random(self, states: RelaxedState, rank: np.ndarray, option: int) -> None:
        """Move later starts to a random point within reach, near the person for small draws."""
        people, streams = self.wide, self.streams
        for one in range(1, 1 + self.method.restarts):
            rows = np.flatnonzero(rank == one)
            who = states.who[rows]
            low, high, _ = self.slopes.bounds(people, who)
            draw = streams.uniform(who, people.d, tag=7000 + 100 * option + one)
            far = streams.uniform(who, 1, tag=8000 + 100 * option + one)
            move = np.where(draw < 0.5, (1 - 2 * draw) * low, (2 * draw - 1) * high) * far
            states.move[rows] = np.where(states.free[rows] & ~people.schema.has_levels, move, 0.0)
