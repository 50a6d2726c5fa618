"""From decoded rows to options, everybody at once: what is adopted of them, several ways, and what methods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.engines.asking import ask, distinct_changes, tidy
from wayforward.methods.engines.latent import Descend, Lanes, Latent, Objective
from wayforward.methods.engines.polish import revert, shrink

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_FACTORS = (1.5, 2.0, 4.0)  # how far beyond a decoded row
_ROWS = 1 << 17  # decoded rows held at once


def adopt(people: Population, who: np.ndarray, goal: np.ndarray, cap: np.ndarray) -> np.ndarray:
    """Adopt only what helps of decoded rows: goal (m, d) -> actions (m, d) that reach the decision; NaN where none.

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
        left[at, column[lead]] = False
        done[at] = seen.reached[lead]
        live = at[~done[at] & left[at].any(1) & (people.rows[who[at]] < cap[who[at]])]
    return np.where(done[:, None], action, np.nan)


class Kept:
    """The cheapest option of each of m lanes so far: action (m, d), cost (m,), found (m,) bool.

    partial: of every row adopt only what helps; else the whole row or nothing. cap (n,): model rows of each person.
    """

    def __init__(self, people: Population, m: int, *, partial: bool, cap: np.ndarray) -> None:
        self.people, self.partial, self.cap = people, partial, cap
        self.action, self.cost = np.full((m, people.d), np.nan), np.full(m, np.inf)

    @property
    def found(self) -> np.ndarray:
        """(m,) bool: the lane has an option."""
        return np.isfinite(self.cost)

    def __call__(self, lane: np.ndarray, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Look at rows (p, d) of different lanes; (p,) bool: the lane's option became cheaper."""
        gained = np.zeros(len(lane), dtype=bool)
        at = np.flatnonzero(~np.isnan(row).all(1))
        if not at.size:
            return gained
        row, who = row[at], who[at]
        if self.partial:
            few = adopt(self.people, who, row, self.cap)
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

    def beyond(self, lane: np.ndarray, who: np.ndarray, row: np.ndarray) -> None:
        """Lanes without an option go on past their rows (p, d), in the same direction, as far as people may."""
        x, ordered = self.people.x[who], self.people.schema.ordered
        for factor in _FACTORS:
            open_ = np.flatnonzero(~self.found[lane])
            if not open_.size:
                return
            far = np.where(ordered, x[open_] + factor * (row[open_] - x[open_]), row[open_])
            self(lane[open_], who[open_], tidy(self.people, who[open_], far))

    def polished(self, who: np.ndarray) -> np.ndarray:
        """(m, d) the options, needless changes given back and values moved back as far as the decision allows."""
        at = np.flatnonzero(self.found)
        if at.size:
            few = self.action[at]
            few = revert(self.people, who[at], few, self.people.parts(who[at], few), sweeps=2)
            self.action[at] = shrink(self.people, who[at], few)
        return self.action


@dataclass(frozen=True)
class Plan:
    """A whole search: an objective, how lanes move, and what is made of the rows that they visit.

    weight: of the score, first; lanes without an option go on with `growth` times as much, in at most `rounds` rounds,
    from the third on from random starts. starts: random starts a person beside the encoded one, `scatter` standard
    deviations wide. partial: adopt only what helps of a row; polish: move values back afterwards. tag: of the random
    numbers.
    """

    objective: Objective
    how: Descend
    weight: float
    rounds: int
    growth: float
    starts: int
    scatter: float
    partial: bool
    polish: bool
    tag: int


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
            latent.search(people, part, plan.objective, plan.how, cap, _Part(kept, live))
            lanes.z[live] = part.z
            live = live[~kept.found[live]]
            if not live.size:
                break
            lanes.weight[live] *= plan.growth
            if turn:  # what did not lead anywhere twice begins elsewhere
                scatter(lanes, live, streams, plan, 100 * option + 10 * turn)
        if plan.partial and live.size:
            row = latent.decoded(people, who[live], lanes.free[live], lanes.z[live])
            kept.beyond(live, who[live], row)
        action = kept.polished(who) if plan.polish else kept.action
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
    steps: np.ndarray,
    moves: np.ndarray,
    cap: np.ndarray,
    *,
    kept: int,
    partial: bool,
    polish: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Options from decoded draws: whose (m,) they are, and the actions (m, d).

    Everybody's code, with the dimensions that move (q,) at 0, plus every one of steps (s, q) is decoded and asked. The
    `kept` best of each person are looked at closely: those that are usable, fewest changes first, then by cost; then
    those with the highest score.
    """
    s = len(steps)
    owners, rows = [], []
    lot = max(1, _ROWS // s)
    for begin in range(0, people.n, lot):
        some = np.arange(begin, min(begin + lot, people.n))
        z = np.where(moves, 0.0, latent.encode(people.x[some]))
        action = latent.around(people, some, z, steps).reshape(-1, people.d)
        who = np.repeat(some, s)
        after = people.after(who, action)
        score = people.score(who, after)
        usable = score > people.problem.slack
        usable[usable] = people.allowed(who[usable], action[usable], after[usable])
        usable[usable] = people.plausible(who[usable], after[usable])
        cost, acted = people.cost(who, action).round(12), (~np.isnan(action)).sum(1)
        order = np.lexsort((cost, np.where(usable, acted, -score), ~usable, who))
        best = order.reshape(len(some), s)[:, :kept].reshape(-1)
        owners.append(who[best])
        rows.append(action[best])
    who, row = np.concatenate(owners), np.concatenate(rows)
    lane = np.arange(len(who))
    found = Kept(people, len(who), partial=partial, cap=cap)
    found(lane, who, row)
    if partial:
        lost = np.isin(who, who[found.found], invert=True)
        found.beyond(lane[lost], who[lost], row[lost])
    option = found.polished(who) if polish else found.action
    return who[found.found], option[found.found]


class _Part:
    """Some of the lanes of a `Kept`."""

    def __init__(self, kept: Kept, lanes: np.ndarray) -> None:
        self.kept, self.lanes = kept, lanes

    @property
    def found(self) -> np.ndarray:
        return self.kept.found[self.lanes]

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


def latent_of(method: Any, problem: Problem, kind: str, **settings: Any) -> Latent:
    """The latent search of a method: its own generator, or one trained on the problem's observed people.

    method: has latent, epochs, device, generator, name. Distances are the problem's cost: L1 over its scales.
    """
    from wayforward.problem import LpMix

    generator = method.generator
    if generator is None:
        from wayforward.methods.engines.generative import fit_generator

        asked = {"latent": method.latent, "epochs": method.epochs}
        asked = {key: value for key, value in asked.items() if value is not None}
        generator = fit_generator(
            kind, problem, problem._needs_reference(), device=method.device, **asked, **settings
        )
    span = LpMix().fit(problem.schema, problem.reference)._scales.span
    divisor = problem.cost._scales.divisor
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
