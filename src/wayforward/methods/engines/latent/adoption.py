"""From decoded rows to options, everybody at once: what is adopted of them, several ways, and what methods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.latent.search import Descend, Lanes, Latent, Objective
from wayforward.methods.engines.tighten import polish
from wayforward.problem.batching import ask, distinct_changes

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_ROWS = 1 << 17  # decoded rows held at once


def adopt(
    people: Population, who: np.ndarray, goal: np.ndarray, cap: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Adopt only what helps of decoded rows: goal (m, d) -> actions (m, d) that reach the decision; NaN where none.

    Also, for rows that do not lead that far, the best that was come past: actions (m, d) and their score (m,).

    Features are taken over one after another, most score for its cost first, until the decision turns or nothing is
    left; of features that turn it, the cheapest. A row that some rule forbids is no step.
    """
    m, d = goal.shape
    action, done = np.full((m, d), np.nan), np.zeros(m, dtype=bool)
    left = ~np.isnan(goal)
    live = np.flatnonzero(left.any(1))
    score = np.full(m, -np.inf)
    score[live] = people.score(who[live], people.x[who[live]])
    paid = np.zeros(m)
    most, top = action.copy(), score.copy()
    while live.size:
        row, column = np.nonzero(left[live])
        lane = live[row]
        child = action[lane].copy()
        child[np.arange(len(lane)), column] = goal[lane, column]
        seen = people.evaluate(who[lane], child)
        with np.errstate(invalid="ignore"):
            gain = seen.score - score[lane]
        dear = np.maximum(seen.cost - paid[lane], 1e-9)
        worth = np.where(seen.reached, -seen.cost, np.where(gain > 0, gain / dear, gain * dear))
        worth = np.where(np.isfinite(seen.score), worth, -np.inf)
        order = np.lexsort((column, -worth.round(12), ~seen.reached, lane))
        lead = order[np.r_[True, lane[order][1:] != lane[order][:-1]]]
        lead = lead[np.isfinite(seen.score[lead])]
        at = lane[lead]
        action[at], score[at], paid[at] = child[lead], seen.score[lead], seen.cost[lead]
        higher = at[score[at] > top[at]]
        most[higher], top[higher] = action[higher], score[higher]
        left[at, column[lead]] = False
        done[at] = seen.reached[lead]
        live = at[~done[at] & left[at].any(1) & (people.rows[who[at]] < cap[who[at]])]
    return np.where(done[:, None], action, np.nan), most, top


class Kept:
    """The cheapest option of each of m lanes so far: action (m, d), cost (m,), found (m,) bool.

    partial: of every row adopt only what helps; else the whole row or nothing. cap (n,): model rows of each person.
    """

    def __init__(self, people: Population, m: int, *, partial: bool, cap: np.ndarray) -> None:
        self.people, self.partial, self.cap = people, partial, cap
        self.action, self.cost = np.full((m, people.d), np.nan), np.full(m, np.inf)
        # What came nearest to the decision: where people without an option go on from.
        self.most, self.top = np.full((m, people.d), np.nan), np.full(m, -np.inf)

    @property
    def found(self) -> np.ndarray:
        """(m,) bool: the lane has an option."""
        return np.asarray(np.isfinite(self.cost))

    def __call__(self, lane: np.ndarray, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Look at rows (p, d) of different lanes; (p,) bool: the lane's option became cheaper."""
        gained = np.zeros(len(lane), dtype=bool)
        at = np.flatnonzero(~np.isnan(row).all(1))
        if not at.size:
            return gained
        row, who = row[at], who[at]
        if self.partial:
            few, most, score = adopt(self.people, who, row, self.cap)
            higher = score > self.top[lane[at]]
            self.most[lane[at[higher]]], self.top[lane[at[higher]]] = most[higher], score[higher]
            missed = np.flatnonzero(np.isnan(few).all(1))
            few[missed] = self._whole(who[missed], row[missed])
        else:
            few = self._whole(who, row)
        some = ~np.isnan(few).all(1)
        at, few = at[some], few[some]
        cost = self.people.cost(who[some], few)
        less = cost < self.cost[lane[at]] - 1e-12
        self.action[lane[at[less]]], self.cost[lane[at[less]]] = few[less], cost[less]
        gained[at[less]] = True
        return gained

    def _whole(self, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        if not len(row):
            return row
        return np.where(ask(self.people, who, row)[1][:, None], row, np.nan)

    def complete(self, who: np.ndarray, free: np.ndarray) -> None:
        """People none of whose lanes has an option go on from what came nearest, by single changes.

        who (m,): the people of all lanes; free (n, d) bool: what they may change.
        """
        has = np.zeros(self.people.n, dtype=bool)
        has[who[self.found]] = True
        order = np.lexsort((np.arange(len(who)), -self.top, who))
        best = order[np.r_[True, who[order][1:] != who[order][:-1]]] if len(who) else order
        lane = best[~has[who[best]]]
        if lane.size:
            done, reached = complete(
                self.people, who[lane], self.most[lane], free, rounds=12, cap=self.cap, thrifty=True
            )
            at = lane[reached]
            self.action[at], self.cost[at] = done[reached], self.people.cost(who[at], done[reached])

    def polished(self, who: np.ndarray) -> np.ndarray:
        """(m, d) the options, needless changes given back and values moved back as far as the decision allows."""
        at = np.flatnonzero(self.found)
        if at.size:
            self.action[at] = polish(self.people, who[at], self.action[at])
        return self.action


@dataclass(frozen=True)
class Plan:
    """A whole search: an objective, how lanes move, and what is made of the rows that they visit.

    weight: of the score, first; lanes without an option go on with `growth` times as much, in at most `rounds` rounds,
    from the third on from random starts, and moving as `late` says, if it says anything. starts: random starts a
    person beside the encoded one, `scatter` standard deviations wide. partial: adopt only what helps of a row. shrink:
    polish afterwards. complete: people without an option go on by single changes. tag: of the random numbers.
    """

    objective: Objective
    how: Descend
    weight: float
    rounds: int
    growth: float
    starts: int
    scatter: float
    partial: bool
    shrink: bool
    complete: bool
    tag: int
    late: Descend | None = None


def ways(latent: Latent, people: Population, k: int, streams: Streams, limit: int, plan: Plan) -> np.ndarray:
    """(n, k, d) up to k options of everybody by descents in the latent space.

    Each later option leaves out the dearest change of those before it and starts at random. limit: model rows a person
    and option.
    """
    n, d = people.n, people.d
    banned = np.zeros((n, d), dtype=bool)
    owners, found = [], []
    for option in range(k):
        free = people.free & ~banned
        stuck = ~free.any(1)
        free[stuck] = people.free[stuck]
        cap = people.rows + limit
        many = 1 + plan.starts
        who = np.repeat(np.arange(n), many)
        lanes = latent.start(people, who, free[who], plan.weight)
        start = np.tile(np.arange(many), n)
        kept = Kept(people, len(who), partial=plan.partial, cap=cap)
        scatter(lanes, np.flatnonzero((start > 0) | (option > 0)), streams, plan, 100 * option)
        live = np.arange(len(who))
        kept(live, who, latent.decoded(people, who, lanes.free, lanes.z))
        for turn in range(plan.rounds):
            part = lanes.take(live)
            how = plan.how if turn < 2 or plan.late is None else plan.late
            latent.search(people, part, plan.objective, how, cap, _Part(kept, live))
            lanes.z[live] = part.z
            live = live[~kept.found[live]]
            if not live.size:
                break
            lanes.weight[live] *= plan.growth
            if turn:  # what did not lead anywhere twice begins elsewhere
                scatter(lanes, live, streams, plan, 100 * option + 10 * turn)
        if plan.complete:
            kept.complete(who, free)
        action = kept.polished(who) if plan.shrink else kept.action
        at = np.flatnonzero(~np.isnan(action).all(1))
        owners.append(who[at])
        found.append(action[at])
        for rank in range(many):  # a person's starts, in order
            at = np.flatnonzero((np.tile(np.arange(many), n) == rank) & ~np.isnan(action).all(1))
            main = np.where(np.isnan(action[at]), -np.inf, people.parts(who[at], action[at])).argmax(1)
            banned[who[at], main] = True
    return distinct_changes(people, np.concatenate(owners), np.concatenate(found), k)


def drawn_ways(
    latent: Latent,
    people: Population,
    who: np.ndarray,
    z: np.ndarray,
    steps: np.ndarray,
    cap: np.ndarray,
    *,
    kept: int,
    partial: bool,
    shrink: bool,
    last: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Options from decoded draws: whose (m,) they are, and the actions (m, d).

    For people who (n,), every code z (n, q) plus every one of steps (s, q) is decoded and asked. The `kept` best of
    each person are looked at closely: those that are usable, fewest changes first, then by cost; then those with the
    highest score. last: people without an option then go on by single changes.
    """
    s = len(steps)
    owners, rows = [], []
    lot = max(1, _ROWS // s)
    for begin in range(0, len(who), lot):
        some = who[begin : begin + lot]
        action = latent.around(people, some, z[begin : begin + lot], steps).reshape(-1, people.d)
        owner = np.repeat(some, s)
        after = people.after(owner, action)
        score = people.score(owner, after)
        usable = score > people.problem.slack
        usable[usable] = people.allowed(owner[usable], action[usable], after[usable])
        usable[usable] = people.plausible(owner[usable], after[usable])
        cost, acted = people.cost(owner, action).round(12), (~np.isnan(action)).sum(1)
        order = np.lexsort((cost, np.where(usable, acted, -score), ~usable, owner))
        best = order.reshape(len(some), s)[:, :kept].reshape(-1)
        owners.append(owner[best])
        rows.append(action[best])
    lane_of, row = np.concatenate(owners), np.concatenate(rows)
    found = Kept(people, len(lane_of), partial=partial, cap=cap)
    found(np.arange(len(lane_of)), lane_of, row)
    if last:
        found.complete(lane_of, people.free)
    option = found.polished(lane_of) if shrink else found.action
    return lane_of[found.found], option[found.found]


class _Part:
    """Some of the lanes of a `Kept`."""

    def __init__(self, kept: Kept, lanes: np.ndarray) -> None:
        self.kept, self.lanes = kept, lanes

    @property
    def found(self) -> np.ndarray:
        return np.asarray(self.kept.found[self.lanes])

    def __call__(self, lane: np.ndarray, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        return self.kept(self.lanes[lane], who, row)


def scatter(lanes: Lanes, rows: np.ndarray, streams: Streams, plan: Plan, tag: int) -> None:
    """Put some of the lanes at random around where they began: draws belong to the person and the rank of the lane."""
    if not rows.size:
        return
    q = lanes.z.shape[1]
    # The rank of a lane among its person's lanes: who is in order, lane after lane.
    first = np.searchsorted(lanes.who, lanes.who[rows])
    for rank in np.unique(rows - first).tolist():
        some = rows[rows - first == rank]
        noise = plan.scatter * streams.normal(lanes.who[some], q, tag=plan.tag + tag + rank)
        moves, radius = plan.how.moves, plan.how.radius
        if moves is not None:
            noise = np.where(moves, noise, 0.0)
        if radius is not None:
            length = np.sqrt(np.square(noise).sum(1, keepdims=True))
            noise = noise * np.minimum(1.0, radius / np.maximum(length, 1e-12))
        lanes.z[some] = lanes.home[some] + noise


# -- what the methods share ------------------------------------------------------------------------------------


def latent_of(method: Any, problem: Problem, kind: Any, **settings: Any) -> Any:
    """The `Latent` search of a method: its own generator, or one trained on the problem's observed people.

    method: has latent, epochs, device, generator, name. Distances are L1 over the scales of the problem's cost. None
    where nobody may ever act on anything, so that there is nothing to search.
    """
    from wayforward.problem import LpMix

    generator = method.generator
    if generator is None and not problem.schema.actionable.any():
        return None
    if generator is None:
        from wayforward.problem.learned import fit_generator

        asked = {"latent": method.latent, "epochs": method.epochs}
        asked = {key: value for key, value in asked.items() if value is not None}
        generator = fit_generator(
            kind, problem, problem.require_reference(), device=method.device, **asked, **settings
        )
    span = LpMix().fit(problem.schema, problem.reference).fitted_scales.span
    divisor = problem.cost.fitted_scales.divisor
    price = np.where(problem.schema.is_categorical, 1.0, span) / divisor
    return Latent(problem, generator, method.name, span=span, price=price, device=method.device)


def check_latent(method: Any) -> None:
    """Fields that the methods share. Raises: MethodError."""
    for field, least in (("steps", 1), ("rounds", 1), ("starts", 0), ("latent", 1), ("epochs", 1)):
        value = getattr(method, field, None)
        if value is not None and value < least:
            raise MethodError(f"'{method.name}' has {field}={value}. Use {least} or more.")
    for field in ("rate", "scatter"):
        value = getattr(method, field, None)
        if value is not None and not value > 0:
            raise MethodError(f"'{method.name}' has {field}={value}. Use a number above 0.")
    if method.adopt not in ("part", "all"):
        raise MethodError(f"'{method.name}' has adopt={method.adopt!r}. Choose 'part' or 'all'.")
