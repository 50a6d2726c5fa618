"""nice: copy features from the nearest accepted person, most reward first, until the decision turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.errors import DataError, array_in
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.polish import revert, shrink
from wayforward.methods.engines.references import References, heom
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import check_choices, check_least, check_list
from wayforward.model import Access
from wayforward.neighbours import NeighbourIndex
from wayforward.problem.batching import ask, distinct_changes
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

Reward = Literal["none", "sparsity", "proximity", "plausibility"]
_CROWD = 2000  # accepted rows that represent all of them in the plausibility reward
_NEAR = 5


@public
@dataclass
class Nice(Method):
    """Start at the person and copy one feature after another from their nearest accepted neighbour.

    The neighbour is the nearest accepted row under HEOM (ordered features by range, categories 0 or 1). By default it
    is moved onto what the person may do and the next neighbours are tried where the first is not usable; then
    features are copied one by one, each time the one with the greatest reward, until the decision turns. The neighbour
    itself turns it, so a person with a usable neighbour is always served. `project=False` with `neighbours=1` is the
    published method, whose neighbour knows no immutable feature and is judged afterwards.

    reward: 'sparsity' the gain in score; 'proximity' the gain per distance; 'plausibility' the gain times how much
    nearer to accepted people (mean distance to the 5 nearest) the change leads, in place of the published
    auto-encoder's error; 'none' the neighbour itself. justified: with `labels`, the true outcomes of the reference
    rows as the model's classes, only neighbours that the model classifies correctly. scale: HEOM by 'range' or 'std'.
    neighbours: how many to start from; the cheapest result is kept. polish: give back what is no longer needed, then
    move values back as far as the decision allows (not part of the published method).
    All people step in lockstep, at most d model calls; default budget 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="nice", reward="proximity")``.
    Source: D. Brughmans, P. Leyman, D. Martens (2023), NICE: an algorithm for nearest instance counterfactual
    explanations, Data Mining and Knowledge Discovery; arXiv:2104.07411.
    """

    name: ClassVar[str] = "nice"
    summary: ClassVar[str] = (
        "copies few features from the nearest accepted neighbour, the most rewarding first"
    )
    citation: ClassVar[str] = "Brughmans, Leyman & Martens (2023), DMKD, arXiv:2104.07411"
    needs: ClassVar[int] = Access.PROBABILITY
    needs_data: ClassVar[bool] = True
    copies_people: ClassVar[bool] = True

    reward: Reward = "sparsity"
    project: bool = True
    justified: bool = True
    labels: Any = None
    scale: Literal["range", "std"] = "range"
    neighbours: int = 1
    polish: bool = False
    pool: int | None = None

    def __post_init__(self) -> None:
        check_choices(self, reward=get_args(Reward), scale=("range", "std"))
        check_least(self, neighbours=1, pool=1)
        check_list(self, "labels")

    def _fit(self, problem: Problem) -> None:
        good = problem.reference_reached
        if self.labels is not None and self.justified:
            good = good & self._outcomes(problem)
            if not good.any():
                raise DataError(
                    f"'{self.name}' found no accepted row whose label is favourable. "
                    "Check labels, or use justified=False."
                )
        self.rows_ = thinned(np.unique(problem.require_reference()[good], axis=0), self.pool)
        self.metric_ = heom(problem, self.scale)
        self.crowd_ = thinned(self.rows_, _CROWD)

    def _outcomes(self, problem: Problem) -> np.ndarray:
        """Return (N,) bool: reference rows whose true label is favourable."""
        given = array_in(self.labels, "labels")
        rows = len(problem.require_reference())
        if given.shape != (rows,):
            raise DataError(
                f"'{self.name}' got labels of shape {given.shape}; the reference has {rows} rows. Give one each."
            )
        target = problem.target
        if target.interval is not None:
            low, high = target.edges()
            return np.asarray((given >= low) & (given <= high))
        wanted = {str(label) for label in target.labels}
        return np.array([str(label) in wanted for label in given.tolist()])

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        many = max(k, self.neighbours)
        if self.project:
            full, _ = References(people, self.rows_, self.metric_, project=True).usable(many, limit)
        else:
            full = self._published(people, many)
        who, slot = np.nonzero(~np.isnan(full).all(2))
        goal = full[who, slot]
        if self.reward == "none" or not who.size:
            action = goal
        else:
            action = self._copy(people, who, goal, cap)
        if self.polish and who.size:
            _, reached = ask(people, who, action)
            at = np.flatnonzero(reached)
            action[at] = revert(people, who[at], action[at], people.parts(who[at], action[at]), sweeps=3)
            action[at] = shrink(people, who[at], action[at])
        return distinct_changes(people, who, action, k)

    def _published(self, people: Population, many: int) -> np.ndarray:
        """Return nearest rows as they are (n, many, d), as if every feature were free."""
        row = self._index(people.problem, self.rows_).query(people.x, many).row
        goal = self.rows_[np.maximum(row, 0)]
        return np.where((row >= 0)[..., None] & people.schema.differs(goal, people.x[:, None]), goal, np.nan)

    def _index(self, problem: Problem, rows: np.ndarray) -> NeighbourIndex:
        return NeighbourIndex(problem.schema, rows, scale=1.0 / self.metric_.scale)

    def _copy(self, people: Population, who: np.ndarray, goal: np.ndarray, cap: np.ndarray) -> np.ndarray:
        """Return actions (m, d) that copy features from goal (m, d) until the decision turns."""
        m, d = goal.shape
        action = np.full((m, d), np.nan)
        left = ~np.isnan(goal)
        score = self._score(people, who, people.x[who])
        crowded = self._crowding(people, who, action) if self.reward == "plausibility" else np.ones(m)
        live = np.flatnonzero(left.any(1))
        while live.size:
            row, column = np.nonzero(left[live])
            start = live[row]
            child = action[start].copy()
            child[np.arange(len(start)), column] = goal[start, column]
            after = people.after(who[start], child)
            value = self._score(people, who[start], after)
            turned = self._reached(people, who[start], child, after, value)
            worth = value - score[start]
            if self.reward == "proximity":
                step = np.nan_to_num(
                    self._distance(people, who[start], child)
                    - self._distance(people, who[start], action[start])
                )
                worth = worth / np.maximum(step, 1e-12)
            elif self.reward == "plausibility":
                near = self._crowding(people, who[start], child)
                ratio = crowded[start] / np.maximum(near, 1e-12)
                worth = np.where(worth >= 0, worth * ratio, worth / np.maximum(ratio, 1e-12))
            order = np.lexsort((column, -worth.round(12), ~turned, start))
            lead = order[rank_in_run(start[order]) == 0]
            at = start[lead]
            action[at], score[at] = child[lead], value[lead]
            if self.reward == "plausibility":
                crowded[at] = near[lead]
            left[at, column[lead]] = False
            on = ~turned[lead] & left[at].any(1)
            spent = people.rows[who[at]] >= cap[who[at]]
            action[at[on & spent]] = goal[at[on & spent]]  # no work left: the neighbour itself is usable
            live = at[on & ~spent]
        return action

    def _score(self, people: Population, who: np.ndarray, after: np.ndarray) -> np.ndarray:
        if self.project:
            return people.score(who, after)
        # The population's model is narrowed to what people may change, and the published neighbour changes anything.
        people.rows += np.bincount(who, minlength=people.n)
        return people.problem.bound_target.score(people.problem.model.outputs(after))

    def _reached(
        self, people: Population, who: np.ndarray, action: np.ndarray, after: np.ndarray, score: np.ndarray
    ) -> np.ndarray:
        turned = score > people.problem.slack
        if not self.project:
            return turned
        at = np.flatnonzero(turned)
        good = people.allowed(who[at], action[at], after[at])
        good[good] = people.plausible(who[at][good], after[at][good])
        turned[at] = good
        return turned

    def _distance(self, people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the HEOM distance (m,) between the person and what they would set."""
        x = people.x[who]
        gap = np.abs(action - x) * self.metric_.scale
        gap = np.where(self.metric_.categorical, (action != x).astype(np.float64), gap)
        gap = np.where(np.isnan(x), self.metric_.full, gap)
        return np.asarray(np.where(np.isnan(action), 0.0, gap * people.weight[who]).sum(1))

    def _crowding(self, people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the mean distance (m,) from where actions lead to the nearest accepted people; small is plausible."""
        near = self._index(people.problem, self.crowd_).query(
            people.after(who, action), min(_NEAR, len(self.crowd_))
        )
        return np.asarray(near.distance.mean(1))
