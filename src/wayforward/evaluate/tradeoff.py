"""What plausibility costs: from the cheapest way to the decision, whatever it is, to plausible ways only.

Two things can be given up for plausibility. Money: a price on options that are less likely than the person was leaves
everybody with an option and makes it dearer. Answers: a limit on how far below the person's own log-density an option
may end leaves some without any. `tradeoff` measures both curves for the same people, and sets the causal oracle and
iCARMA beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import ProblemError

if TYPE_CHECKING:
    from wayforward.methods.icarma import ICarma
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.world import World

#: Prices on an option that is less likely than the person was, in units of the cost.
PRICES = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, np.inf)
#: How many nats an option may fall short of the person's own log-density.
SLACKS = (0.0, 0.5, 1.0, 2.0, 4.0, np.inf)


@dataclass(frozen=True)
class Point:
    """How n people fare. validity: share with an option that turns the decision. plausibility: share of those who are
    recommended something whose recommendation is at least as likely as they were; NaN where nobody is. cost: mean over
    people with a valid option; NaN where nobody has one. costs (n,): of each, inf where there is none.
    """

    validity: float
    plausibility: float
    cost: float
    costs: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, valid: np.ndarray, advised: np.ndarray, likely: np.ndarray, costs: np.ndarray) -> Point:
        """From valid, advised and likely (n,) bool, and costs (n,)."""
        some = costs[valid]
        return cls(
            float(valid.mean()),
            float(likely[advised].mean()) if advised.any() else float("nan"),
            float(some.mean()) if some.size else float("nan"),
            np.where(valid, costs, np.inf),
        )

    def cost_beside(self, other: Point) -> tuple[float, float]:
        """Mean cost here and there, over people who have an option in both."""
        both = np.isfinite(self.costs) & np.isfinite(other.costs)
        if not both.any():
            return float("nan"), float("nan")
        return float(self.costs[both].mean()), float(other.costs[both].mean())


@dataclass(frozen=True)
class Tradeoff:
    """priced: one point for each of the prices; limited: one for each of the slacks; others: methods by name."""

    prices: tuple[float, ...]
    priced: tuple[Point, ...]
    slacks: tuple[float, ...]
    limited: tuple[Point, ...]
    others: dict[str, Point]
    n: int

    @property
    def hard(self) -> Point:
        """Every option at least as likely as the person was."""
        return self.limited[self.slacks.index(0.0)]

    @property
    def conflict(self) -> float:
        """Share of people for whom no plausible option was found, though one that turns the decision was."""
        return self.priced[0].validity - self.hard.validity

    def rows(self) -> list[dict[str, Any]]:
        """One row a point, for tables and CSV."""
        named = [("price", price, point) for price, point in zip(self.prices, self.priced, strict=True)]
        named += [("limit", slack, point) for slack, point in zip(self.slacks, self.limited, strict=True)]
        named += [(name, float("nan"), point) for name, point in self.others.items()]
        return [
            {
                "what": what,
                "setting": setting,
                "validity": p.validity,
                "plausibility": p.plausibility,
                "cost": p.cost,
            }
            for what, setting, p in named
        ]


def tradeoff(
    problem: Problem,
    x: Any,
    preferences: Preferences | None = None,
    *,
    prices: Sequence[float] = PRICES,
    slacks: Sequence[float] = SLACKS,
    density: World | None = None,
    icarma: ICarma | None = None,
    oracle: bool = False,
    seed: int = 0,
) -> Tradeoff:
    """The whole trade between turning the decision, staying plausible, and cost, for people whom the model refuses.

    problem: without a plausibility of its own. x: a table or (n, d); people whom the model accepts are left out.
    Searched once by `icarma-polished`; a price then only chooses, for each person, between the cheapest option and the
    cheapest one that is at least as likely, so the curve over prices is exact for what was found. density: the world
    that tells log-densities; None: the problem's. icarma: fitted networks, a point beside the curve and a start of the
    search. oracle: also ask the causal oracle, without and with plausibility.

    Example: ``tradeoff(setting.problem(), refused, oracle=True).rows()``.
    Raises: ProblemError if the model accepts everybody or slacks lack 0 or inf; as `icarma-polished` in 'price'.
    """
    from wayforward.methods.causal_oracle import CausalOracle
    from wayforward.methods.icarma_polished import Polished

    slacks = tuple(sorted(float(slack) for slack in slacks))
    if 0.0 not in slacks or np.inf not in slacks:
        raise ProblemError(f"slacks={slacks} must hold 0 (plausible) and inf (whatever).")
    rows = problem.schema.encode(x)
    ask = np.flatnonzero(~problem.reached(rows)[0])
    if not ask.size:
        raise ProblemError("The model accepts every one of these people, so there is nothing to trade.")
    rows, wishes = rows[ask], None if preferences is None else preferences.take(ask)
    method = Polished(plausibility="price", density=density, icarma=icarma).fit(problem)
    found = [
        method.search(
            problem.population(
                rows[i : i + method.chunk],
                None if wishes is None else wishes.take(np.arange(i, min(i + method.chunk, len(rows)))),
            ),
            np.array(slacks),
            seed=seed,
        )
        for i in range(0, len(rows), method.chunk)
    ]
    cost = np.concatenate([part.cost for part in found])  # (n, L, Q)
    short = np.concatenate([part.short for part in found])
    action = np.concatenate([part.action for part in found])
    n, levels, slots = cost.shape
    best = cost.argmin(2)[:, :, None]
    cost, short = (np.take_along_axis(a, best, 2)[:, :, 0] for a in (cost, short))
    action = np.take_along_axis(action, best[..., None], 2)[:, :, 0]
    cost = _confirmed(problem, rows, action, cost)
    strict, loose = slacks.index(0.0), slacks.index(np.inf)
    priced = []
    for price in prices:
        fine = np.where(short[:, loose] > 0, min(float(price), 1e12), 0.0)
        plain = cost[:, strict] <= cost[:, loose] + fine
        chosen = np.where(plain, cost[:, strict], cost[:, loose])
        valid = np.isfinite(chosen)
        priced.append(Point.of(valid, valid, plain | (short[:, loose] <= 0), chosen))
    limited = []
    for level in range(levels):
        plain = np.isfinite(cost[:, strict])
        chosen = np.where(plain, cost[:, strict], cost[:, level])
        valid = np.isfinite(chosen)
        limited.append(Point.of(valid, valid, plain, chosen))
    others: dict[str, Point] = {}
    if oracle:
        for name, variant in (
            ("causal-oracle, any option", problem),
            ("causal-oracle, plausible", method.judged_),
        ):
            got = CausalOracle().fit(variant).recommend(rows, preferences=wishes)
            others[name] = _judged(method.judged_, rows, got.action[:, 0], got.found[:, 0], wishes)
    if icarma is not None:
        others["icarma"] = _judged(
            method.judged_, rows, icarma.propose(rows, wishes).action, np.ones(n, bool), wishes
        )
    return Tradeoff(tuple(float(p) for p in prices), tuple(priced), slacks, tuple(limited), others, n)


def _confirmed(problem: Problem, x: np.ndarray, action: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """(n, L) costs, infinite where the model itself does not say yes to what the fast one did."""
    who, level = np.nonzero(np.isfinite(cost))
    led = problem.consequences(x[who], action[who, level])
    yes = problem.reached(problem.standing(x[who], led))[0]
    out = cost.copy()
    out[who[~yes], level[~yes]] = np.inf
    return out


def _judged(
    problem: Problem, x: np.ndarray, action: np.ndarray, advised: np.ndarray, preferences: Preferences | None
) -> Point:
    """What the model, the rules and the density of `problem` say about other methods' actions (n, d)."""
    people = problem.population(x, preferences)
    who = np.arange(len(x))
    advised = advised & ~np.isnan(action).all(1)
    after = people.after(who, action)
    valid = advised & people.allowed(who, action, after)
    valid[valid] = problem.reached(after[valid])[0]
    likely = np.zeros(len(x), dtype=bool)
    likely[advised] = people.plausible(who[advised], after[advised])
    return Point.of(valid, advised, likely, people.cost(who, action))
