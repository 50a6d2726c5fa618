"""How far beyond the boundary an option is: the share of plans alike that still get a yes if a figure is a little off.

A plan alike differs in the numbers that the person acts on: each is off by an error whose size is about half of one
meaningful step, so that nearly all errors lie within one step. A meaningful step is the feature's least change, else
its step, else a hundredth of its range. The errors are those of `UnderNoise`, evenly spread and keyed to the person, so
that the same plan always gets the same share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import ProblemError, is_number, shown
from wayforward.problem.robust import UnderNoise
from wayforward.shapes import Costs, PerFeature, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.recourse import Recourse

DRAWS = 40  # plans alike of each option
_BLOCK = 4_096  # options asked about at once


def meaningful_step(problem: Problem) -> PerFeature:
    """(d,) a small error in each number: its least change, else its step, else 1 % of its range; 0 for levels."""
    schema = problem.schema
    step = np.where(np.isnan(schema.step), 0.01 * problem.range_widths, schema.step)
    least = problem.least_change
    return np.where(schema.has_levels, 0.0, np.where(least > 0, least, step))


def small_errors(problem: Problem, share: float) -> UnderNoise:
    """The condition that an option holds in this share of plans alike; not fitted yet. Raises: ProblemError."""
    if not (is_number(share) and 0 < share < 1):
        raise ProblemError(f"margin={shown(share)} is no share between 0 and 1, such as 0.9.")
    width = problem.range_widths
    size = meaningful_step(problem) / np.where(width > 0, width, 1.0) / 2
    sigma = {name: float(size[j]) for j, name in enumerate(problem.schema.names) if size[j] > 0}
    return UnderNoise(sigma, share=share, draws=DRAWS, closed=False)


def margin_of(people: Population, who: Who, action: Rows, after: Rows) -> PerRow:
    """(m,) share of plans alike that get a yes: options who (m,), action and after (m, d).

    By the fast path of the model where there is one, else by the model itself: `DRAWS` rows an option. Options that act
    on levels alone are carried out as they are: 1.
    """
    problem = people.problem
    errors = problem.shared("small errors", lambda: small_errors(problem, 0.9).fit(problem))
    out = np.ones(len(who))
    erring = errors.erring(problem, people.x[who], action, after).any(1) if len(errors.columns) else out < 0
    rows = np.flatnonzero(erring)
    for start in range(0, len(rows), _BLOCK):
        some = rows[start : start + _BLOCK]
        led = errors.carried(people, who[some], action[some], after[some]).reshape(-1, people.d)
        if problem.model.has_fast_path:
            yes = problem.bound_target.turned(problem.model.outputs(led))
        else:
            yes = problem.reached(led)[0]
        out[some] = yes.reshape(DRAWS, -1).mean(0)
    return out


def margins(recourse: Recourse) -> Costs:
    """(n, k) margin of each option of an answer that knows its problem; NaN in empty slots."""
    out = np.full((recourse.n, recourse.k), np.nan)
    who, slot = np.nonzero(recourse.found)
    if len(who):
        people = recourse.problem.population(recourse.x)
        out[who, slot] = margin_of(people, who, recourse.action[who, slot], recourse.after[who, slot])
    return out
