"""From decoded rows to options, everybody at once: what is adopted of them, and searches for several options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.complete import complete
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.latent.search import AdamSteps, Latent, LatentState, Objective
from wayforward.methods.engines.tighten import polish
from wayforward.problem.batching import ask
from wayforward.shapes import Mask, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.methods.engines.latent.settings import DecodedSettings, LatentSettings
    from wayforward.problem import Population
    from wayforward.streams import Streams

_ROWS = 1 << 17  # decoded rows held at once
_CLOSE_LOOK = 50  # model rows that looking at one row closely may take
_GROWTH = 4.0  # of the weight of the score from round to round


def adopt(people: Population, who: Who, goal: Rows, cap: np.ndarray) -> tuple[Rows, Rows, PerRow]:
    """Adopt only what helps of decoded rows goal (m, d); return actions (m, d) that reach the decision, NaN for none.

    Also returns the highest-scoring actions on the way (m, d), for rows that do not lead that far, and their score
    (m,). Features are taken over one after another, most score for its cost first, until the decision turns or nothing
    is left; of features that turn it, the cheapest. A row that some rule forbids is no step.
    """
    m, d = goal.shape
    action, done = np.full((m, d), np.nan), np.zeros(m, dtype=bool)
    left = ~np.isnan(goal)
    live = np.flatnonzero(left.any(1))
    score = np.full(m, -np.inf)
    score[live] = people.score(who[live], people.x[who[live]])
    paid = np.zeros(m)
    nearest, top = action.copy(), score.copy()
    while live.size:
        place, column = np.nonzero(left[live])
        row = live[place]
        child = action[row].copy()
        child[np.arange(len(row)), column] = goal[row, column]
        seen = people.evaluate(who[row], child)
        with np.errstate(invalid="ignore"):
            gain = seen.score - score[row]
        dear = np.maximum(seen.cost - paid[row], 1e-9)
        worth = np.where(seen.reached, -seen.cost, np.where(gain > 0, gain / dear, gain * dear))
        worth = np.where(np.isfinite(seen.score), worth, -np.inf)
        order = np.lexsort((column, -worth.round(12), ~seen.reached, row))
        lead = order[np.r_[True, row[order][1:] != row[order][:-1]]]
        lead = lead[np.isfinite(seen.score[lead])]
        at = row[lead]
        action[at], score[at], paid[at] = child[lead], seen.score[lead], seen.cost[lead]
        higher = at[score[at] > top[at]]
        nearest[higher], top[higher] = action[higher], score[higher]
        left[at, column[lead]] = False
        done[at] = seen.reached[lead]
        live = at[~done[at] & left[at].any(1) & (people.rows[who[at]] < cap[who[at]])]
    return np.where(done[:, None], action, np.nan), nearest, top


class BestOptions:
    """The cheapest option of each of m searches so far: action (m, d), cost (m,), found (m,) bool.

    partial: of every row adopt only what helps; else the whole row or nothing. cap (n,): model rows of each person.
    nearest (m, d), top (m,): what came nearest to the decision, and its score, for people without an option.
    """

    def __init__(self, people: Population, m: int, *, partial: bool, cap: np.ndarray) -> None:
        self.people, self.partial, self.cap = people, partial, cap
        self.action, self.cost = np.full((m, people.d), np.nan), np.full(m, np.inf)
        self.nearest, self.top = np.full((m, people.d), np.nan), np.full(m, -np.inf)

    @property
    def found(self) -> np.ndarray:
        """(m,) bool: the search has an option."""
        return np.asarray(np.isfinite(self.cost))

    def __call__(self, search: np.ndarray, who: Who, row: Rows) -> Mask:
        """Take rows (p, d) of different searches (p,); return (p,) bool: the search's option became cheaper."""
        gained = np.zeros(len(search), dtype=bool)
        at = np.flatnonzero(~np.isnan(row).all(1))
        if not at.size:
            return gained
        row, who = row[at], who[at]
        if self.partial:
            few, nearest, score = adopt(self.people, who, row, self.cap)
            higher = score > self.top[search[at]]
            self.nearest[search[at[higher]]], self.top[search[at[higher]]] = nearest[higher], score[higher]
            missed = np.flatnonzero(np.isnan(few).all(1))
            few[missed] = self._whole(who[missed], row[missed])
        else:
            few = self._whole(who, row)
        some = ~np.isnan(few).all(1)
        at, few = at[some], few[some]
        cost = self.people.cost(who[some], few)
        less = cost < self.cost[search[at]] - 1e-12
        self.action[search[at[less]]], self.cost[search[at[less]]] = few[less], cost[less]
        gained[at[less]] = True
        return gained

    def _whole(self, who: Who, row: Rows) -> Rows:
        if not len(row):
            return row
        return np.where(ask(self.people, who, row)[1][:, None], row, np.nan)

    def nearest_searches(self, who: Who) -> np.ndarray:
        """Return the search (q,) that came nearest to the decision, one of each person; who (m,): of all searches."""
        order = np.lexsort((np.arange(len(who)), -self.top, who))
        return order[np.r_[True, who[order][1:] != who[order][:-1]]] if len(who) else order

    def complete(self, who: Who, free: np.ndarray) -> None:
        """Complete by single changes, from what came nearest, for people none of whose searches has an option.

        who (m,): the people of all searches; free (n, d) bool: what they may change.
        """
        has = np.zeros(self.people.n, dtype=bool)
        has[who[self.found]] = True
        best = self.nearest_searches(who)
        search = best[~has[who[best]]]
        if search.size:
            done, reached = complete(
                self.people, who[search], self.nearest[search], free, rounds=12, cap=self.cap, thrifty=True
            )
            at = search[reached]
            self.action[at], self.cost[at] = done[reached], self.people.cost(who[at], done[reached])

    def polished(self, who: Who) -> Rows:
        """Return the options (m, d), needless changes given back and values moved back as far as they may."""
        at = np.flatnonzero(self.found)
        if at.size:
            self.action[at] = polish(self.people, who[at], self.action[at])
        return self.action


def descended_options(
    latent: Latent,
    people: Population,
    k: int,
    streams: Streams,
    limit: int,
    settings: LatentSettings,
    *,
    objective: Objective,
    how: AdamSteps,
    late: AdamSteps | None = None,
    weight: float = 1.0,
    rounds: int | None = None,
    completes: bool = True,
) -> np.ndarray:
    """Descend in the latent space and return (n, k, d), up to k options of everybody.

    Each later option leaves out the dearest change of those before it and starts at random. limit: model rows a person
    and option. weight: of the score, first; searches without an option go on with four times as much, in at most
    `rounds` rounds (None: those of the settings), from the third on from random starts, and moving as `late` says, if
    given. completes: people without an option may go on by single changes.
    """
    n, starts, tag = people.n, 1 + settings.starts, settings.tag
    who, start = np.repeat(np.arange(n), starts), np.tile(np.arange(starts), n)

    def find(free: np.ndarray, option: int) -> np.ndarray:
        cap = people.rows + limit
        state = latent.start(people, who, free[who], weight)
        best = BestOptions(people, len(who), partial=settings.partial, cap=cap)
        random = np.flatnonzero((start > 0) | (option > 0))
        scatter(state, random, streams, how, settings.scatter, tag + 100 * option)
        live = np.arange(len(who))
        best(live, who, latent.decoded(people, who, state.free, state.z))
        for turn in range(settings.rounds if rounds is None else rounds):
            part = state.take(live)
            steps = how if turn < 2 or late is None else late
            latent.search(people, part, objective, steps, cap, best, live)
            state.z[live] = part.z
            live = live[~best.found[live]]
            if not live.size:
                break
            state.weight[live] *= _GROWTH
            if turn:  # what did not lead anywhere twice begins elsewhere
                scatter(state, live, streams, how, settings.scatter, tag + 100 * option + 10 * turn)
        if completes and settings.completes:
            best.complete(who, free)
        return best.polished(who) if settings.shrinks else best.action

    return leaving_out(people, people.free, k, find)


def drawn_options(
    latent: Latent,
    people: Population,
    who: np.ndarray,
    z: np.ndarray,
    steps: np.ndarray,
    cap: np.ndarray,
    settings: LatentSettings,
    *,
    most: int,
    last: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Decode draws and return options: whose (m,) they are, and the actions (m, d).

    For people who (n,), every code z (n, q) plus every one of steps (s, q) is decoded and evaluated. The `most` best of
    each person are looked at closely: those that are usable, fewest changes first, then by cost; then those with the
    highest score. last: people without an option may then go on by single changes.
    """
    s = len(steps)
    owners, rows = [], []
    lot = max(1, _ROWS // s)
    for begin in range(0, len(who), lot):
        some = who[begin : begin + lot]
        action = latent.around(people, some, z[begin : begin + lot], steps).reshape(-1, people.d)
        owner = np.repeat(some, s)
        first = _best_rows(people, owner, action, s, most)
        owners.append(owner[first])
        rows.append(action[first])
    owner, row = np.concatenate(owners), np.concatenate(rows)
    best = BestOptions(people, len(owner), partial=settings.partial, cap=cap)
    best(np.arange(len(owner)), owner, row)
    if last and settings.completes:
        best.complete(owner, people.free)
    action = best.polished(owner) if settings.shrinks else best.action
    return owner[best.found], action[best.found]


def _best_rows(people: Population, owner: Who, action: Rows, s: int, most: int) -> np.ndarray:
    """Return places of the `most` best of every person's s rows: those that are usable, fewest changes first, then by
    cost; then those with the highest score."""
    after = people.after(owner, action)
    score = people.score(owner, after)
    usable = score > people.problem.slack
    usable[usable] = people.allowed(owner[usable], action[usable], after[usable])
    usable[usable] = people.plausible(owner[usable], after[usable])
    cost, acted = people.cost(owner, action).round(12), (~np.isnan(action)).sum(1)
    order = np.lexsort((cost, np.where(usable, acted, -score), ~usable, owner))
    return np.asarray(order.reshape(-1, s)[:, :most].reshape(-1))


def proposed_options(
    people: Population,
    proposals: np.ndarray,
    k: int,
    cap: np.ndarray,
    settings: DecodedSettings,
    *,
    most: int,
) -> np.ndarray:
    """Return options (n, k, d) from proposals (n, s, d) of whole rows, which are legal value by value.

    The `most` best of each person (fewer where the budget is small) are looked at closely, as `drawn_options` does;
    then comes the end that searches share (`finished`). cap (n,): model rows of each person at most.
    """
    n, s, d = proposals.shape
    most = max(1, min(most, int((cap - people.rows).max(initial=0)) // _CLOSE_LOOK))
    owner, row = np.repeat(np.arange(n), s), proposals.reshape(-1, d)
    first = _best_rows(people, owner, row, s, most)
    owner, row = owner[first], row[first]
    best = BestOptions(people, len(owner), partial=settings.partial, cap=cap)
    best(np.arange(len(owner)), owner, row)
    return finished(
        people, owner[best.found], best.action[best.found], k, cap=cap, go_on=settings.completes,
        shrink=settings.shrinks, start=best.nearest[best.nearest_searches(owner)],
    )  # fmt: skip


def scatter(
    state: LatentState, rows: np.ndarray, streams: Streams, how: AdamSteps, width: float, tag: int
) -> None:
    """Put some searches at random around where they began; draws belong to the person and the search's rank."""
    if not rows.size:
        return
    q = state.z.shape[1]
    # The rank of a search among those of its person: who is in order.
    first = np.searchsorted(state.who, state.who[rows])
    for rank in np.unique(rows - first).tolist():
        some = rows[rows - first == rank]
        noise = width * streams.normal(state.who[some], q, tag=tag + rank)
        moves, radius = how.moves, how.radius
        if moves is not None:
            noise = np.where(moves, noise, 0.0)
        if radius is not None:
            length = np.sqrt(np.square(noise).sum(1, keepdims=True))
            noise = noise * np.minimum(1.0, radius / np.maximum(length, 1e-12))
        state.z[some] = state.home[some] + noise
