"""Two ways to let estimated slopes go through categories: along the shares of their levels, and by drawn levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.gradient.relaxed_state import RelaxedState
from wayforward.methods.engines.gradient.zeroth import Zeroth
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_BEGUN = 0.02  # a move of a category this wide has begun


def level_shares(problem: Problem, features: np.ndarray) -> np.ndarray:
    """Return the shares (g, w) of each level of some features, a missing value last, among accepted people.

    Among all of the table where the model accepts nobody. Places that do not exist, such as that of a missing value
    where none may be missing, hold NaN.
    """
    schema = problem.schema
    rows = problem.reference_accepted
    rows = rows if len(rows) else problem.require_reference()
    many = schema.n_levels[features]
    out = np.full((len(features), int(many.max(initial=0)) + 1), np.nan)
    for g, j in enumerate(features):
        place = np.where(np.isnan(rows[:, j]), many[g], np.nan_to_num(rows[:, j])).astype(np.int64)
        exist = many[g] + int(schema.missing[j])
        out[g, :exist] = np.bincount(place, minlength=exist) / len(rows)
    return out


class Frequencies(Zeroth):
    """Slopes that move categories along the shares of their levels: how frequent a level is, is its number.

    The least and the most frequent level of a feature are a range apart; the level set is the nearest that the person
    may have. Its slope is the difference of the next level on each side, 2 rows a category however many levels it has.
    Levels of equal share cannot be told apart: the person's own, else the first, stands for them. Levels with an order
    stay on the simplex. See `slopes.Slopes`.
    """

    def __init__(self, problem: Problem, span: np.ndarray, *, seed: int = 0) -> None:
        schema = problem.schema
        self.mapped = np.flatnonzero(schema.is_categorical)
        super().__init__(
            problem,
            np.where(schema.is_categorical, 1.0, span),
            seed=seed,
            by_move=~schema.has_levels | schema.is_categorical,
        )
        share = level_shares(problem, self.mapped)
        if len(self.mapped):
            least, most = np.nanmin(share, axis=1, keepdims=True), np.nanmax(share, axis=1, keepdims=True)
            share = (share - least) / np.where(most > least, most - least, 1.0)
        self.at = share  # (g, w) places from 0 to 1

    def rows(self, free: np.ndarray) -> np.ndarray:
        """See `Zeroth.rows`."""
        return np.asarray(super().rows(free) + 2 * free[:, self.mapped].sum(1))

    def bounds(self, people: Population, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Layout.bounds`."""
        low, high, may = super().bounds(people, who)
        place, here, _ = self._places(people, who)
        low[:, self.mapped] = np.nanmin(place, axis=2) - here
        high[:, self.mapped] = np.nanmax(place, axis=2) - here
        return low, high, may

    def put(self, people: Population, state: RelaxedState, action: np.ndarray) -> None:
        """See `Layout.put`."""
        super().put(people, state, action)
        g = np.arange(len(self.mapped))
        acted = ~np.isnan(action[:, self.mapped]) & state.free[:, self.mapped]
        level = np.nan_to_num(action[:, self.mapped]).astype(np.int64)
        own = self._places(people, state.who)[1]
        state.move[:, self.mapped] = np.where(acted, self.at[g, level] - own, state.move[:, self.mapped])

    def put_levels(
        self, people: Population, state: RelaxedState, value: np.ndarray, *, eager: bool = False
    ) -> None:
        """See `Layout.put_levels`."""
        super().put_levels(people, state, value, eager=eager)
        place, here, own = self._places(people, state.who)
        level = self._nearest(place, here, own, state.move[:, self.mapped], eager)
        moved = state.free[:, self.mapped] & (level != own)
        value[:, self.mapped] = np.where(moved, level, np.nan)

    def _places(self, people: Population, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return places of levels that people may have (m, g, w), NaN elsewhere; their own place and level (m, g)."""
        value = people.x[who][:, self.mapped]
        many = people.schema.n_levels[self.mapped]
        own = np.where(np.isnan(value), many, np.nan_to_num(value)).astype(np.int64)
        place = np.full((len(who), *self.at.shape), np.nan)
        for g, j in enumerate(self.mapped):
            ok = people.level_ok[int(j)][who]
            place[:, g, : ok.shape[1]] = np.where(ok, self.at[g, : ok.shape[1]], np.nan)
        here = self.at[np.arange(len(self.mapped)), own]
        np.put_along_axis(place, own[..., None], here[..., None], axis=2)
        return place, here, own

    @staticmethod
    def _nearest(
        place: np.ndarray, here: np.ndarray, own: np.ndarray, move: np.ndarray, eager: bool
    ) -> np.ndarray:
        """Return the level (m, g) nearest to where each move leads; eager: once it has begun, not the own place."""
        apart = np.abs(place - (here + move)[..., None])
        begun = np.abs(move) > _BEGUN if eager else np.zeros(move.shape, dtype=bool)
        stays = place == here[..., None]
        apart = np.where(begun[..., None] & stays, np.inf, apart)
        tied = np.take_along_axis(apart, own[..., None], axis=2)[..., 0] - 1e-12  # the own level wins ties
        np.put_along_axis(apart, own[..., None], tied[..., None], axis=2)
        apart = np.where(np.isnan(apart), np.inf, apart)
        level = apart.argmin(2)
        return np.where(np.isfinite(apart.min(2, initial=np.inf)), level, own)

    def _moves(self, people: Population, state: RelaxedState, action: np.ndarray, turn: int) -> np.ndarray:
        move = super()._moves(people, state, action, turn)
        row, g = np.nonzero(state.free[:, self.mapped])
        if not row.size:
            return move
        place, _, own = self._places(people, state.who)
        set_ = action[:, self.mapped]
        level = np.where(np.isnan(set_), own, np.nan_to_num(set_)).astype(np.int64)[row, g]
        there, mine = place[row, g], own[row, g]  # (q, w), (q,)
        now = there[np.arange(len(row)), level]
        ends, trials = [], []
        for side in (1.0, -1.0):
            ahead = np.where(side * (there - now[:, None]) > 0, side * there, np.inf)
            next_ = np.where(np.isfinite(ahead.min(1)), ahead.argmin(1), level)
            trial = action[row]
            trial[np.arange(len(row)), self.mapped[g]] = np.where(next_ == mine, np.nan, next_)
            ends.append(there[np.arange(len(row)), next_])
            trials.append(trial)
        got = self._score(people, np.tile(state.who[row], 2), np.concatenate(trials))
        rise = np.diff(np.clip(got, -self.cap, self.cap).reshape(2, -1)[::-1], axis=0)[0]
        width = ends[0] - ends[1]
        slope = rise / np.where(width > 0, width, np.inf)
        move[row, self.mapped[g]] = np.where(np.isfinite(slope), slope, 0.0)
        return move


class Sampled(Zeroth):
    """Slopes of levels by drawn rows: at each call levels are drawn from the simplex, and others around them.

    A search is at the levels that it draws from its shares, so that over many steps slopes are those of the mixture.
    Around it `draws` rows each keep half of its levels and draw the others by how frequent they are; a level's slope is
    how much higher the rows with it score than those that keep the search's own. See `slopes.Slopes`.
    """

    def __init__(self, problem: Problem, span: np.ndarray, *, draws: int = 16, seed: int = 0) -> None:
        super().__init__(problem, span, seed=seed)
        self.draws = draws
        wide = level_shares(problem, self.level)
        chance = np.nan_to_num(wide[:, : self.wide]) + 1e-3  # levels of nobody are drawn, too
        self.chance = np.where(self.exists, np.pad(chance, ((0, 0), (0, self.wide - chance.shape[1]))), 0.0)

    def rows(self, free: np.ndarray) -> np.ndarray:
        """See `Zeroth.rows`."""
        return np.asarray(super().rows(free) - (self.size * free[:, self.level]).sum(1) + self.draws)

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0, levels: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`."""
        streams = Streams.of(people.x, self.seed)
        here = _drawn(state.share, streams.uniform(state.who, len(self.level), tag=9300 + turn))
        place = RelaxedState(state.who, state.move, _one_hot(here, self.wide), state.free)
        action = self.hard(people, place)
        score = self._score(people, state.who, action)
        move = self._moves(people, state, action, turn)
        share = np.zeros_like(state.share)
        if levels and len(self.level):
            share = self._by_draws(people, state, action, here, streams, turn)
        return score, move, share

    def _by_draws(
        self,
        people: Population,
        state: RelaxedState,
        action: np.ndarray,
        here: np.ndarray,
        streams: Streams,
        turn: int,
    ) -> np.ndarray:
        m, many, f = len(state.who), self.draws, len(self.level)
        open_ = self.bounds(people, state.who)[2] & state.free[:, self.level, None]
        chance = np.where(open_, self.chance, 0.0)
        chance = chance / np.maximum(chance.sum(2, keepdims=True), 1e-300)
        draw = streams.uniform(state.who, 2, many, f, tag=9500 + turn)
        other = _drawn(chance[:, None], draw[:, 0])  # (m, s, f)
        change = (draw[:, 1] < 0.5) & open_.any(2)[:, None]
        level = np.where(change, other, here[:, None])
        own = self.own_place(people.x[state.who])[:, None]
        known = level < self.schema.n_levels[self.level]
        trial = np.repeat(action[:, None], many, axis=1)
        before = trial[..., self.level]
        trial[..., self.level] = np.where(change & known, np.where(level == own, np.nan, level), before)
        who = np.repeat(state.who, many)
        got = self._score(people, who, trial.reshape(-1, people.d)).reshape(m, many)
        got = np.clip(got, -self.cap, self.cap)
        good = np.isfinite(got)
        seen = _one_hot(level, self.wide) * good[..., None, None]  # (m, s, f, l)
        total = (seen * np.where(good, got, 0.0)[..., None, None]).sum(1)
        times = seen.sum(1)
        mean = total / np.maximum(times, 1.0)
        base = np.take_along_axis(mean, here[..., None], axis=2)
        known_base = np.take_along_axis(times, here[..., None], axis=2) > 0
        return np.asarray(np.where((times > 0) & known_base & open_, mean - base, 0.0))


def _drawn(chance: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """Draw a place of each block (..., l) of chances by numbers (...) between 0 and 1."""
    place = (draw[..., None] > chance.cumsum(-1)).sum(-1)
    last = (
        chance.shape[-1] - 1 - (np.flip(chance, -1) > 0).argmax(-1)
    )  # rounding may leave a little above the sum
    return np.asarray(np.minimum(place, last))


def _one_hot(place: np.ndarray, wide: int) -> np.ndarray:
    return np.asarray(place[..., None] == np.arange(wide), dtype=np.float64)
