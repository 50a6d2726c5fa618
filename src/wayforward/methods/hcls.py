"""hcls: spend a budget of effort where it lowers the risk most, by hill climbing and exchanges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.finish import finished
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.problem.batching import ask, tidy
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_SHARES = (0.1, 0.35, 1.0)  # of the way to as far as the budget goes
_HALVINGS = 40
_LITTLE = 1e-6  # cost below which costs do not differ


@public
@dataclass
class Hcls(Method):
    """Lower the risk as far as a budget of effort goes: the change that gains most score for its cost, again and again.

    spend: the budget, in units of the problem's cost; options are the best profiles that it buys, whether or not less
    would do, and whom it does not turn has none. None, which is not part of the published method: as much as the
    decision takes, less what it does not need. Every number may go as far as the budget lets it, every level that is
    affordable is tried. Then exchanges: each of the dearest acts is left out in turn and its cost spent otherwise. What
    follows in a causal world (indirectly changeable features) follows here, too. `scores(x, budgets)` returns the
    least risk found for each of several budgets.

    rounds: changes of a climb, at most. exchanges: acts that are left out in turn. complete: with spend=None, go on by
    single changes for whom no climb reaches the decision.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("hcls", spend=0.5).fit(problem).recommend(refused)``.
    Source: M. T. Lash, Q. Lin, W. N. Street, J. G. Robinson, J. Ohlmann (2017), Generalized Inverse Classification,
    SDM; arXiv:1610.01675.
    """

    name: ClassVar[str] = "hcls"
    summary: ClassVar[str] = "spends a budget of effort where it lowers the risk most, by hill climbing"
    citation: ClassVar[str] = "Lash, Lin, Street, Robinson & Ohlmann (2017), SDM, arXiv:1610.01675"
    needs: ClassVar[int] = Access.LABEL
    chunk: ClassVar[int] = 512

    spend: float | None = None
    rounds: int = 15
    exchanges: int = 2
    complete: bool = True

    def __post_init__(self) -> None:
        check_least(self, rounds=1, exchanges=0)
        check_switches(self, "complete")

    @property
    def _keeps_more(self) -> bool:
        return self.spend is not None  # a lower risk than the decision takes is what was asked for

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        room = np.full(people.n, np.inf if self.spend is None else self.spend)
        who, action, score, reached = self._climbs(people, room, cap, stop=self.spend is None)
        if self.spend is None:
            there = np.flatnonzero(reached)
            return finished(people, who[there], action[there], k, cap=cap, go_on=self.complete, shrink=True)
        order = np.lexsort((-score.round(9), who))
        order = order[rank_in_run(who[order]) < k]
        out = np.full((people.n, k, people.d), np.nan)
        out[who[order], rank_in_run(who[order])] = action[order]
        return out

    def scores(self, x: Any, budgets: Any) -> Floats:
        """Return the best score (n, b) found for people within each of several budgets (b,), in ascending order.

        Scores are those of the target: above zero is a yes, and the greater, the less the risk. x: a table of people or
        an (n, d) array. Raises: MethodError before `fit`, or for budgets that do not ascend from 0; DataError.
        """
        problem = self._fitted_problem()
        numbers = np.asarray(budgets).ravel()
        given = numbers.astype(np.float64) if numbers.dtype.kind in "iuf" else np.empty(0)
        if not len(given) or not np.isfinite(given).all() or given[0] < 0 or (np.diff(given) < 0).any():
            raise MethodError(
                "budgets are numbers of 0 or more, in ascending order, such as [0.1, 0.2, 0.5]."
            )
        people = problem.population(problem.schema.encode(x))
        best = people.score(np.arange(people.n), people.x)
        out = np.empty((people.n, len(given)))
        for b, spend in enumerate(given.tolist()):
            cap = people.rows + 20_000
            who, _, score, _ = self._climbs(people, np.full(people.n, spend), cap, stop=False)
            np.maximum.at(best, who, score)  # what a smaller budget buys a greater one does
            out[:, b] = best
        return out

    def _climbs(
        self, people: Population, room: Floats, cap: Ints, *, stop: bool
    ) -> tuple[Ints, Floats, Floats, Mask]:
        """Climb, and once more without each of the dearest acts: who (m,), action (m, d), score, reached (m,)."""
        who = np.arange(people.n)
        shut = np.zeros((people.n, people.d), dtype=bool)
        first = _climb(people, who, shut, room, cap, self.rounds, stop)
        dear = np.argsort(-np.nan_to_num(people.parts(who, first[0])), axis=1, kind="stable")
        owners, parts = [who], [first]
        for place in range(min(self.exchanges, people.d)):
            some = np.flatnonzero((~np.isnan(first[0])).sum(1) > place)
            without = np.zeros((len(some), people.d), dtype=bool)
            without[np.arange(len(some)), dear[some, place]] = True
            owners.append(some)
            parts.append(_climb(people, some, without, room[some], cap, self.rounds, stop))
        owner = np.concatenate(owners)
        action, score, reached = (np.concatenate(some) for some in zip(*parts, strict=True))
        there = ~np.isnan(action).all(1)
        return owner[there], action[there], score[there], reached[there]


def _climb(
    people: Population, who: Ints, shut: Mask, room: Floats, cap: Ints, rounds: int, stop: bool
) -> tuple[Floats, Floats, Mask]:
    """Climb within budgets room (m,), without features that are shut (m, d): action (m, d), score, reached (m,).

    stop: at the decision; who is there goes no farther. cap (n,): model rows of each person at most.
    """
    action = np.full((len(who), people.d), np.nan)
    score = people.score(who, people.x[who]) if len(who) else np.empty(0)
    reached = np.zeros(len(who), dtype=bool)
    live = np.arange(len(who))
    for _ in range(rounds):
        if not live.size:
            break
        row, trial = _affordable(people, who[live], action[live], shut[live], room[live])
        many = np.bincount(row, minlength=len(live))
        fits = people.rows[who[live]] + many <= cap[who[live]]
        row, trial = row[fits[row]], trial[fits[row]]
        if not len(row):
            break
        owner = who[live][row]
        got, yes = ask(people, owner, trial)
        here = np.where(np.isnan(action[live]).all(1), 0.0, people.cost(who[live], action[live]))
        extra = np.maximum(people.cost(owner, trial) - here[row], 0.0)
        gain = got - score[live][row]
        good = np.isfinite(got) & (gain > 1e-9)
        worth = np.where(good, (gain / (extra + _LITTLE)).round(6), -np.inf)
        turns = yes & stop
        order = np.lexsort((-gain, -worth, np.where(turns, extra, np.inf), row))
        best = order[rank_in_run(row[order]) == 0]
        best = best[good[best] | turns[best]]
        at = live[row[best]]
        action[at], score[at], reached[at] = trial[best], got[best], yes[best]
        live = np.sort(at[~(reached[at] & stop)])
    return action, score, reached


def _affordable(
    people: Population, who: Ints, action: Floats, shut: Mask, room: Floats
) -> tuple[Ints, Floats]:
    """Single changes of actions (m, d) that the budgets room (m,) allow: row (q,) in order, action (q, d)."""
    rows, trials = [], []
    for j in range(people.d):
        at = np.flatnonzero(people.free[who, j] & ~shut[:, j])
        if not at.size:
            continue
        if people.schema.has_levels[j]:
            place, level = np.nonzero(people.level_ok[j][who[at]])
            options = [(at[place], level.astype(np.float64))]
        else:
            here = np.where(np.isnan(action[at, j]), people.x[who[at], j], action[at, j])
            here = np.where(np.isnan(here), people.low[who[at], j], here)
            options = []
            for end in (people.low[who[at], j], people.high[who[at], j]):
                far = _as_far(people, who[at], action[at], j, here, end, room[at])
                options += [(at, here + share * (far - here)) for share in _SHARES]
        for row, value in options:
            trial = action[row]
            trial[:, j] = value
            rows.append(row)
            trials.append(trial)
    if not rows:
        return np.empty(0, np.int64), np.empty((0, people.d))
    row = np.concatenate(rows)
    trial = tidy(people, who[row], np.concatenate(trials))
    there = ~np.isnan(trial).all(1)
    row, trial = row[there], trial[there]
    keep = people.cost(who[row], trial) <= room[row] + 1e-9
    row, trial = row[keep], trial[keep]
    order = np.argsort(row, kind="stable")
    return row[order], trial[order]


def _as_far(
    people: Population, who: Ints, action: Floats, j: int, here: Floats, end: Floats, room: Floats
) -> Floats:
    """(m,) the value of feature j nearest to end (m,) on the way from here (m,) that the budgets room (m,) allow."""

    def within(value: Floats) -> Mask:
        trial = action.copy()
        trial[:, j] = value
        return np.asarray(people.cost(who, trial) <= room + 1e-12)

    if np.isinf(room).all():
        return end
    good, bad = here.copy(), end.copy()
    done = within(end)
    for _ in range(_HALVINGS):
        middle = (good + bad) / 2
        yes = within(middle)
        good, bad = np.where(yes, middle, good), np.where(yes, bad, middle)
    return np.where(done, end, good)
