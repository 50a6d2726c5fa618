"""Proofs that no recourse exists, from sound bounds on the model over everything a person may reach."""

from __future__ import annotations

import numpy as np

from wayforward.problem.population import Population
from wayforward.shapes import Mask


def out_of_reach(people: Population) -> Mask:
    """(n,) bool: proved that no allowed action turns the decision, whatever method searches.

    The box of everything that a person may reach contains every allowed action (rules, costs and plausibility only
    shrink it), so if even the most favourable output that the model can give anywhere in the box is a no, nothing
    exists. Needs a model that bounds its outputs over boxes, and a world in which nothing else moves; elsewhere, and
    where the bound is not tight enough, the answer is False: not proved.
    """
    problem = people.problem
    n = people.n
    if not problem.independent:
        return np.zeros(n, dtype=bool)
    free = people.free
    low = np.where(free, np.fmin(people.low, people.x), people.x)
    high = np.where(free, np.fmax(people.high, people.x), people.x)
    levels = {}
    for j, ok in people.level_ok.items():
        stay = np.arange(ok.shape[1]) == people.x[:, j, None]
        levels[j] = np.where(free[:, j, None], ok | stay, stay)
    proved = np.zeros(n, dtype=bool)
    if problem.schema.rules and len(problem.schema.compiled_rules.conditions):
        fixed = {j: np.arange(ok.shape[1]) == people.x[:, j, None] for j, ok in people.level_ok.items()}
        truth = problem.schema.compiled_rules.interval(
            people.x, people.x, low, high, before_levels=fixed, after_levels=levels
        )
        proved |= (truth == -1).any(1)
    whole = ~np.isnan(low).any(1)  # a missing value can take branches that a box does not describe
    if whole.any():
        part = {j: ok[whole] for j, ok in levels.items()}
        bounds = problem.model.margin_bounds(low[whole], high[whole], part)
        if bounds is not None:
            proved[whole] |= problem.bound_target.surely_missed(*bounds)
    return proved
