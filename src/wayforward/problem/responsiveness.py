"""How features respond: the share of a feature's legal values with which a person would get a yes.

Source: S. Cheon, A. Wernerfelt, S. Friedler, B. Ustun (2025), Feature Responsiveness Scores, ICLR, arXiv:2410.22598.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.problem.enumeration import actions_of, choices_of
from wayforward.shapes import Ints, Mask, People
from wayforward.streams import keys_of, spread

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Responsiveness:
    """How often acting on one feature alone turns the decision, for n people and d features.

    share (n, d): of the legal values of the feature, what follows from setting them included, those with a yes; NaN
    where the person can set no other value. values (n, d): how many were judged. exact (n, d) bool: these are all.
    low, high (n, d): where values were drawn, a 95 % interval (Clopper and Pearson); elsewhere the share itself.
    """

    share: People
    values: Ints
    exact: Mask
    low: People
    high: People


def responsiveness(
    problem: Problem, x: Any, preferences: Preferences | None = None, samples: int = 500
) -> Responsiveness:
    """Measure, for each of the people x (a table or (n, d)), how each feature responds.

    A feature with at most `samples` legal values is judged at all of them, another one at so many that are evenly
    spread, moved by an offset that is the person's own. Example: ``responsiveness(problem, refused).share.mean(0)``.
    """
    from scipy.stats import beta

    rows = problem.schema.encode(x)
    people = problem.population(rows, preferences)
    choices = choices_of(people)
    n, d = rows.shape
    yes, values = np.zeros((n, d), dtype=np.int64), np.zeros((n, d), dtype=np.int64)
    exact = np.ones((n, d), dtype=bool)
    for j in np.flatnonzero(people.may.any(0)).tolist():
        alone = replace(choices, count=np.where(np.arange(d) == j, choices.count, 1.0))
        listed = np.flatnonzero(people.may[:, j] & (alone.total <= samples + 1))
        owner = np.repeat(listed, alone.total[listed].astype(np.int64))
        number = np.arange(len(owner)) - np.searchsorted(owner, owner)
        action = actions_of(people, alone, owner, number)
        drawn = np.flatnonzero(people.may[:, j] & (alone.total > samples + 1))
        exact[drawn, j] = False
        if drawn.size:
            more = np.full((len(drawn) * samples, d), np.nan)
            low, high = people.low[drawn, j], people.high[drawn, j]
            u = spread(keys_of(rows[drawn], j), samples, 1)[:, :, 0].T
            value = problem.schema.snap((low[:, None] + u * (high - low)[:, None]).ravel(), columns=j)
            more[:, j] = value
            owner, action = np.concatenate([owner, np.repeat(drawn, samples)]), np.concatenate([action, more])
        acts = problem.schema.differs(action, rows[owner])[:, j] & ~np.isnan(action[:, j])
        owner, action = owner[acts], action[acts]
        after = people.after(owner, action)
        good = people.allowed(owner, action, after)
        owner, action, after = owner[good], action[good], after[good]
        values[:, j] = np.bincount(owner, minlength=n)
        if len(owner):
            yes[:, j] = np.bincount(owner[people.reached(owner, after)], minlength=n)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(values > 0, yes / values, np.nan)
        low = np.where(yes > 0, beta.ppf(0.025, yes, values - yes + 1), 0.0)
        high = np.where(yes < values, beta.ppf(0.975, yes + 1, values - yes), 1.0)
    known = exact | (values == 0)
    return Responsiveness(share, values, exact, np.where(known, share, low), np.where(known, share, high))
