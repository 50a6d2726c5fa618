"""The measures of the study, over everybody who was asked, whether or not their proposal works.

Validity is a share of all people; plausibility and hap are shares of those who got a proposal; the cost is that of
valid proposals, without weights, so that people with other preferences can be compared.

Source: iCARMA, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.evaluate import stats
from wayforward.evaluate.actions import hard_action
from wayforward.evaluate.stats import Estimate
from wayforward.preferences import Preferences
from wayforward.problem import AtLeastAsLikely, Problem


@dataclass(frozen=True)
class IcarmaMeasures:
    """What was found, each number with its 95 % interval and its denominator.

    both: valid and plausible, a share of all people. shift: mean log-density after minus before, in nats. reach:
    share who got any proposal. cost: the spread over people is `cost.std`.
    """

    n: int
    validity: Estimate
    plausibility: Estimate
    hap: Estimate
    cost: Estimate
    both: Estimate
    shift: Estimate
    reach: Estimate

    def value(self, name: str) -> float:
        """The number by name, such as 'validity'."""
        estimate: Estimate = getattr(self, name)
        return estimate.value


@dataclass(frozen=True)
class PerPerson:
    """One number a person (n,): did it work, is it plausible, what does it cost; NaN without a proposal."""

    proposed: np.ndarray  # bool
    valid: np.ndarray  # bool
    plausible: np.ndarray  # bool
    hard: np.ndarray  # 1, 0, NaN
    cost: np.ndarray
    before: np.ndarray  # log-density of the person as they are
    after: np.ndarray  # log-density of where the proposal leads


def per_person(problem: Problem, x: np.ndarray, action: np.ndarray, wishes: Preferences) -> PerPerson:
    """Replay actions (n, d) of people x (n, d) in the problem's world, ask its model, and look up both densities."""
    proposed = ~np.isnan(action).all(1)
    after = np.full(x.shape, np.nan)
    if proposed.any():
        after[proposed] = problem.consequences(x[proposed], action[proposed])
    valid, plausible = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
    cost, was, now = (np.full(len(x), np.nan) for _ in range(3))
    was[:] = problem.world.log_density(x)
    # A proposal may lead to where nobody can stand; such a row is neither valid nor plausible.
    whole = proposed & np.isfinite(after).all(1)
    if whole.any():
        valid[whole] = problem.reached(after[whole])[0]
        likely = AtLeastAsLikely(problem.world).fit(problem.schema, problem.reference)
        plausible[whole] = likely.holds(x[whole], after[whole])
        now[whole] = problem.world.log_density(after[whole])
    cost[proposed] = problem.cost.total(x[proposed], action[proposed])
    score = np.zeros(x.shape) if wishes.score is None else wishes.score
    may = np.asarray(problem.schema.actionable) & ~wishes.frozen
    return PerPerson(proposed, valid, plausible, hard_action(action, score, may), cost, was, now)


def measure(people: PerPerson, *, seed: int = 0) -> IcarmaMeasures:
    """The measures of everybody, with Wilson intervals for shares and bootstrap intervals for means."""
    with np.errstate(invalid="ignore"):
        moved = people.after - people.before
    means = stats.means(
        {
            "cost": np.where(people.valid, people.cost, np.nan),
            "shift": np.where(np.isfinite(moved), moved, np.nan),
        },
        seed=seed,
    )
    return IcarmaMeasures(
        n=len(people.valid),
        validity=stats.rate(people.valid),
        plausibility=stats.rate(people.plausible, people.proposed),
        hap=stats.rate(people.hard == 1, np.isfinite(people.hard)),
        both=stats.rate(people.valid & people.plausible),
        reach=stats.rate(people.proposed),
        **means,
    )
