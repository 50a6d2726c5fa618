"""ordce: which option, and in which order: what an early act moves by itself need not be moved any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.recourse import Recourse
from wayforward.shapes import Actions, Floats, Ints, People

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_STEP = 0.01  # of a range: the push by which a world's effects are measured


@public
@dataclass
class OrdCe(Method):
    """Weigh options of a base method together with their best order, and tell the order.

    Acts are done one after another. Moving a feature moves what follows from it, C[j, k] units of j for each unit of k;
    the own movement that an act still needs is the change that is wanted less what earlier own movements induced. The
    cost of an order is the sum of own movements, over the problem's scales and times the person's weights; every order
    of up to `most` acts is tried, for all options of everybody at once, and the least of cost + gamma x cost of the
    order decides. `Recourse.path` holds the profiles on the way, in that order. What a profile leads to is judged in
    the problem's world as ever.

    effects: effect -> {cause: weight}, direct linear effects of a unit on a unit, without a cycle; None measures C in
    the problem's world, at typical people (nothing follows in the independent one, so that no order is better).
    candidates: options of `base` that are weighed. Options with more than `most` acts come causes first.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="ordce", effects={"savings": {"income": 0.3}}).path``.
    Raises: MethodError for settings that make no sense; SchemaError for an unknown feature.
    Source: K. Kanamori, T. Takagi, K. Kobayashi, Y. Ike, K. Uemura, H. Arimura (2021), Ordered Counterfactual
    Explanation by Mixed-Integer Linear Optimization, AAAI; arXiv:2012.11782.
    """

    name: ClassVar[str] = "ordce"
    summary: ClassVar[str] = "options of another method with the order in which their acts cost least"
    citation: ClassVar[str] = (
        "Kanamori, Takagi, Kobayashi, Ike, Uemura & Arimura (2021), AAAI, arXiv:2012.11782"
    )
    needs: ClassVar[int] = Access.LABEL

    effects: Mapping[str, Mapping[str, float]] | None = None
    gamma: float = 1.0
    candidates: int = 6
    most: int = 4
    base: str = "local-search"

    def __post_init__(self) -> None:
        check_least(self, gamma=0.0, candidates=1, most=1)

    def _fit(self, problem: Problem) -> None:
        from wayforward.methods import method

        schema = problem.schema
        self.base_ = method(self.base).fit(problem)
        if self.effects is None:
            self.induced_ = _measured(problem)
        else:
            direct = np.zeros((schema.d, schema.d))
            for effect, causes in self.effects.items():
                for cause, weight in causes.items():
                    direct[schema.index(effect), schema.index(cause)] = weight
            self.induced_ = total_effects(direct)
        self.induced_[schema.is_categorical] = self.induced_[:, schema.is_categorical] = 0.0

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        found = self.base_.unjudged_actions(people, max(k, self.candidates), streams, budget)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        action = found[who, slot]
        good = ask(people, who, action)[1]
        who, action = who[good], action[good]
        _, in_order = self._ordered(people, who, action)
        worth = people.cost(who, action) + self.gamma * in_order
        out = np.full((people.n, k, people.d), np.nan)
        rows = np.lexsort((np.arange(len(who)), worth.round(12), who))
        place = rank_in_run(who[rows])
        rows, place = rows[place < k], place[place < k]
        out[who[rows], place] = action[rows]
        return out

    def _ordered(self, people: Population, who: np.ndarray, action: Actions) -> tuple[Ints, Floats]:
        """Return the best order (m, d) of the acts of rows, -1 after the last, and what it costs (m,)."""
        schema, x = people.schema, people.x[who]
        acted = ~np.isnan(action) & schema.differs(action, x)
        far = np.where(acted, np.where(schema.is_categorical | np.isnan(x), 1.0, action - x), 0.0)
        price = people.weight[who] / people.problem.cost.fitted_scales.divisor
        price = np.where(schema.is_categorical, people.weight[who], price)
        return best_order(far, acted, self.induced_, price, self.most)

    def _chunk(self, x: People, wishes: Preferences | None, k: int, seed: int, budget: Budget) -> Recourse:
        got = super()._chunk(x, wishes, k, seed, budget)
        who, slot = np.nonzero(got.found)
        people = self.problem_.population(x, wishes)
        action = got.action[who, slot]
        order, _ = self._ordered(people, who, action)
        longest = int((order >= 0).sum(1).max(initial=1))
        path = np.full((*got.action.shape[:2], longest, got.d), np.nan)
        done = np.where(
            people.schema.differs(action, x[who]), np.nan, action
        )  # what is held is held from the start
        for step in range(longest):
            go = np.flatnonzero(order[:, step] >= 0)
            done[go, order[go, step]] = action[go, order[go, step]]
            path[who[go], slot[go], step] = people.after(who[go], done[go])
        return replace(got, path=path)


@public
def total_effects(direct: Floats) -> Floats:
    """(d, d) direct linear effects of column on row, acyclic -> effects along all paths: the sum of all powers."""
    total, power = direct.copy(), direct
    for _ in range(len(direct) - 1):
        power = power @ direct
        total = total + power
    return np.asarray(total)


@public
def best_order(
    far: Floats, acted: np.ndarray, induced: Floats, price: Floats, most: int
) -> tuple[Ints, Floats]:
    """Return the order (m, d) in which wanted changes far (m, d) cost least, -1 after the last, and that cost (m,).

    induced (d, d): what a unit of own movement of the column adds to the row; price (m, d): of a unit of own movement.
    Rows with more than `most` acts are put in order of how much each act moves others.
    """
    m, d = far.shape
    best, cost = np.full((m, d), -1, dtype=np.int64), np.full(m, np.inf)
    count = acted.sum(1)
    reach = -np.abs(induced).sum(0)
    first = np.argsort(np.where(acted, np.broadcast_to(reach, (m, d)), np.inf), axis=1, kind="stable")
    for size in np.unique(count).tolist():
        rows = np.flatnonzero(count == size)
        ways = permutations(range(size)) if size <= most else [tuple(range(size))]
        for way in ways:
            order = first[rows][:, list(way)]
            paid = order_cost(far[rows], order, induced, price[rows])
            better = paid < cost[rows] - 1e-12
            at = rows[better]
            best[at, :size], cost[at] = order[better], paid[better]
    return best, cost


@public
def order_cost(far: Floats, order: Ints, induced: Floats, price: Floats) -> Floats:
    """(m,) the price of own movements when the changes far (m, d) are made in an order (m, s) of features."""
    row, own = np.arange(len(far)), np.zeros_like(far)
    total = np.zeros(len(far))
    for step in range(order.shape[1]):
        j = order[:, step]
        own[row, j] = far[row, j] - (induced[j] * own).sum(1)
        total += price[row, j] * np.abs(own[row, j])
    return total


def _measured(problem: Problem) -> Floats:
    """Return how much each feature moves others for a unit of its own, in the world of a problem, at typical people."""
    schema = problem.schema
    out = np.zeros((schema.d, schema.d))
    if problem.independent:
        return out
    x = problem.typical_people()
    for k in np.flatnonzero(schema.actionable & schema.ordered).tolist():
        step = max(_STEP * schema.span[k], float(np.nan_to_num(schema.step[k])))
        action = np.full(x.shape, np.nan)
        action[:, k] = x[:, k] + step
        held = np.where(np.isnan(action), np.nan, x)
        moved = problem.consequences(x, action) - problem.consequences(x, held)
        out[:, k] = np.nan_to_num(moved).mean(0) / step
        out[k, k] = 0.0
    return out
