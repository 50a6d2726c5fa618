"""rbr: move options where even the least favourable of similar worlds makes a yes likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.settings import check_least, check_positive
from wayforward.model import Access
from wayforward.problem.batching import distinct_changes, tidy
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_ROWS = 256  # options moved at once


@public
@dataclass
class Rbr(Method):
    """Take options of a base method and climb the worst-case odds of a yes, within a little more cost.

    Around each option, which lies at the model's boundary, `samples` profiles are drawn in a ball of `radius` (shares
    of the ranges of the numbers that may change) and labelled by the model: a Gaussian mixture of width `width` for
    each label. The worst case moves every component of the no towards the option by `shift_no`, and every component
    of the yes away by `shift_yes` (the means of a Wasserstein ball; the published one lets the widths vary, too). The
    log-odds of that climb by projected gradient on the numbers that the option sets (widen=True: on all that may
    change), never dearer than (1 + slack) x the option's cost; the best row that is a yes by the model is returned,
    the option itself where nothing is better. So it changes nothing for people whose options set levels alone. Labels
    suffice.

    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="rbr", slack=0.5)``.
    Raises: MethodError for settings that make no sense.
    Source: T.-D. H. Nguyen, N. Bui, D. Nguyen, M.-C. Yue, V. A. Nguyen (2022), Robust Bayesian Recourse, UAI;
    arXiv:2206.10833.
    """

    name: ClassVar[str] = "rbr"
    summary: ClassVar[str] = (
        "worst-case odds of a yes among samples around the boundary, within a cost radius"
    )
    citation: ClassVar[str] = "Nguyen, Bui, Nguyen, Yue & Nguyen (2022), UAI, arXiv:2206.10833"
    needs: ClassVar[int] = Access.LABEL

    base: str = "local-search"
    slack: float = 0.5
    samples: int = 200
    radius: float = 0.2
    width: float = 0.1
    shift_yes: float = 0.02
    shift_no: float = 0.02
    steps: int = 20
    widen: bool = False

    def __post_init__(self) -> None:
        check_least(self, samples=1, steps=1, slack=0, shift_yes=0, shift_no=0)
        check_positive(self, "radius", "width")

    def _fit(self, problem: Problem) -> None:
        from wayforward.methods import method

        self.base_ = method(self.base).fit(problem)
        span = range_widths(problem)
        self.numbers_ = np.flatnonzero(~problem.schema.has_levels & (span > 0))
        self.span_ = span[self.numbers_]

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        base = self.base_.unjudged_actions(people, k, streams, budget)[:, :k]
        who, slot = np.nonzero(~np.isnan(base).all(2))
        action = base[who, slot]
        if len(self.numbers_):
            # budgets are kept by leaving options as they are
            room = people.rows[who] + self.samples + self.steps + 1 <= (slot + 2) * limit
            for start in range(0, len(who), _ROWS):
                rows = np.arange(start, min(start + _ROWS, len(who)))
                rows = rows[room[rows]]
                if rows.size:
                    action[rows] = self._climb(people, who[rows], slot[rows], action[rows], streams)
        return distinct_changes(people, who, action, k)

    def _climb(
        self, people: Population, who: np.ndarray, slot: np.ndarray, action: np.ndarray, streams: Streams
    ) -> np.ndarray:
        """Climb from actions (m, d); return the action (m, d) with the best worst-case odds on each path."""
        column = self.numbers_
        x, start = people.x[who], people.after(who, action)
        free = people.free[who][:, column] & ~np.isnan(start[:, column]) & ~np.isnan(x[:, column])
        acted = free & ~np.isnan(action[:, column])
        move = free if self.widen else np.where(acted.any(1, keepdims=True), acted, False)
        seen = people.evaluate(who, action)
        live = np.flatnonzero(move.any(1) & seen.reached)
        best = action.copy()
        if not live.size:
            return best
        yes, no, where = self._samples(people, who[live], slot[live], start[live], free[live], streams)
        most = (1 + self.slack) * seen.cost[live]
        trial, now = action[live].copy(), start[live]
        score, slope = self._odds(now[:, column] / self.span_, where, yes, no)
        top = score.round(9)
        for step in range(self.steps):
            pull = np.where(move[live], slope, 0.0)
            length = np.sqrt((pull**2).sum(1, keepdims=True))
            pace = self.radius / 4 * (1 - step / self.steps)
            here = np.where(np.isnan(trial[:, column]), x[live][:, column], trial[:, column])
            # rounded, because exponentials differ in the last bit with the size of a batch
            way = np.round(pull / np.maximum(length, 1e-12), 9)
            value = here + pace * way * self.span_
            new = trial.copy()
            new[:, column] = np.where(move[live], value, trial[:, column])
            new = self._within(people, who[live], new, most, move[live])
            seen = people.evaluate(who[live], new)
            go = seen.allowed & (seen.cost <= most * (1 + 1e-9))
            trial[go], now = new[go], np.where(go[:, None], seen.after, now)
            score, slope = self._odds(now[:, column] / self.span_, where, yes, no)
            better = go & seen.reached & (score.round(9) > top)
            top[better] = score[better].round(9)
            best[live[better]] = new[better]
        return best

    def _within(
        self, people: Population, who: np.ndarray, action: np.ndarray, most: np.ndarray, move: np.ndarray
    ) -> np.ndarray:
        """Return legal actions (m, d) that cost `most` at most, moved back along the line to where people stand."""
        x, column = people.x[who], self.numbers_
        out = tidy(people, who, action)
        for _ in range(3):
            cost = people.cost(who, out)
            fixed = people.cost(who, np.where(_over_all_columns(move, column, people.d), np.nan, out))
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(
                    cost > most * (1 + 1e-9), np.clip((most - fixed) / (cost - fixed), 0.0, 1.0), 1.0
                )
            if (share >= 1).all():
                break
            share = np.floor(share * 1e9) / 1e9
            back = out.copy()
            part = x[:, column] + share[:, None] * (out[:, column] - x[:, column])
            back[:, column] = np.where(move, part, out[:, column])
            over = np.flatnonzero(share < 1)  # the others keep every bit
            out[over] = tidy(people, who[over], back[over])
        return out

    def _samples(
        self,
        people: Population,
        who: np.ndarray,
        slot: np.ndarray,
        start: np.ndarray,
        free: np.ndarray,
        streams: Streams,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample around where options lead; return labels yes, no (m, s) bool and places (m, s, p) in ranges."""
        s, column, p = self.samples, self.numbers_, len(self.numbers_)
        normal, far = np.empty((len(who), s, p)), np.empty((len(who), s, 1))
        for one in np.unique(slot):
            at = np.flatnonzero(slot == one)
            normal[at] = streams.normal(who[at], s, p, tag=4100 + 2 * int(one))
            far[at] = streams.uniform(who[at], s, 1, tag=4101 + 2 * int(one))
        normal = np.where(free[:, None], normal, 0.0)
        length = np.sqrt((normal**2).sum(2, keepdims=True))
        share = far ** (1 / np.maximum(free.sum(1), 1))[:, None, None]  # uniform in the ball
        rows = np.repeat(start[:, None], s, axis=1)
        value = start[:, None, column] + self.radius * share * normal / np.maximum(length, 1e-12) * self.span_
        value = np.where(free[:, None], people.schema.snap(value, column), start[:, None, column])
        rows[:, :, column] = value
        owner = np.repeat(who, s)
        yes = people.reached(owner, rows.reshape(-1, people.d)).reshape(-1, s)
        return yes, ~yes, np.nan_to_num(value / self.span_)

    def _odds(
        self, here: np.ndarray, where: np.ndarray, yes: np.ndarray, no: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return worst-case log-odds (m,) and their slopes (m, p) at places (m, p); 0 without samples of a label."""
        gap = np.nan_to_num(here)[:, None] - where
        apart = np.sqrt((gap**2).sum(2))
        unit = gap / np.maximum(apart, 1e-12)[..., None]
        score, slope = np.zeros(len(here)), np.zeros(here.shape)
        for label, side, far in (
            (yes, 1.0, apart + self.shift_yes),
            (no, -1.0, np.maximum(apart - self.shift_no, 0.0)),
        ):
            power = np.where(label, -(far**2) / (2 * self.width**2), -np.inf)
            high = np.where(label.any(1), power.max(1), 0.0)
            weight = np.exp(power - high[:, None])
            total = weight.sum(1)
            log = np.where(total > 0, high + np.log(np.maximum(total, 1e-300)), 0.0)
            score += side * log
            pull = -(weight / np.maximum(total, 1e-300)[:, None] * far)[..., None] * unit / self.width**2
            slope += side * pull.sum(1)
        return score, slope


def _over_all_columns(move: np.ndarray, column: np.ndarray, d: int) -> np.ndarray:
    """Return the mask (m, p) of some columns as one (m, d) of all."""
    out = np.zeros((len(move), d), dtype=bool)
    out[:, column] = move
    return out
