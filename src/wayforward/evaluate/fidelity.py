"""Fidelity of a surrogate: does it put the boundary where the model has it?

Source: A. White, A. d'Avila Garcez (2020), Measurable Counterfactual Local Explanations for Any Classifier, ECAI;
arXiv:1908.03020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.evaluate.judge import ask_model
from wayforward.methods.engines.surrogate.crossings import crossings
from wayforward.public import public
from wayforward.scaling import scales
from wayforward.shapes import Floats, Ints, Mask, People, PerPerson, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.problem import Problem

_CLOSE = 0.25  # deviations, as published


@public
@dataclass(frozen=True)
class CounterfactualFidelity:
    """Where numbers alone turn the decision of n people, by the model and by a surrogate: actual, estimate (n, d), NaN
    where they do not. error (n, d): how far these lie apart, in standard deviations; inf where the surrogate sees no
    crossing; NaN where the model has none. close: as much as counts as right."""

    actual: Floats
    estimate: Floats
    error: Floats
    close: float

    @property
    def right(self) -> PerPerson:
        """(n,) share of a person's crossings that the surrogate has right; NaN where the model has none."""
        there = ~np.isnan(self.error)
        many = there.sum(1)
        share = (there & (self.error <= self.close)).sum(1) / np.maximum(many, 1)
        return np.where(many > 0, share, np.nan)

    @property
    def fidelity(self) -> float:
        """The share of all crossings that the surrogate has right; NaN where there are none."""
        there = ~np.isnan(self.error)
        return float((self.error[there] <= self.close).mean()) if there.any() else np.nan


@public
def counterfactual_fidelity(
    problem: Problem,
    x: People,
    surrogate: Callable[[Who, Rows], PerRow],
    *,
    close: float = _CLOSE,
    grid: int = 50,
) -> CounterfactualFidelity:
    """Compare where single numbers turn the decision of people x (n, d), by the problem's model and by any surrogate.

    surrogate: people (m,) and rows (m, d) -> scores (m,), above zero a yes. Numbers that people may act on move both
    ways to the ends of their range, one at a time, and whatever turns the answer first counts, on the same grid for
    both; legality and consequences play no part. Model rows: 2 grid and some more for each person and number.
    Example: ``counterfactual_fidelity(problem, x, clear.surrogate(x)).fidelity``.
    """
    schema = problem.schema
    reference = problem.reference
    width = scales(schema, x if reference is None else reference, "std")
    seen = problem.observed_range
    low = np.broadcast_to(np.where(np.isfinite(schema.low), schema.low, seen[0]), x.shape)
    high = np.broadcast_to(np.where(np.isfinite(schema.high), schema.high, seen[1]), x.shape)
    free = np.broadcast_to(schema.actionable & ~schema.has_levels, x.shape)
    everybody = np.arange(len(x))

    def model(who: Who, rows: Rows) -> Mask:
        return np.asarray(ask_model(problem, rows)[0])

    def guess(who: Who, rows: Rows) -> Mask:
        return np.asarray(surrogate(who, rows) > 0)

    levels = np.zeros((len(x), len(schema.level_owner)), dtype=bool)
    own = model(everybody, x)
    found = []
    for answers in (model, guess):

        def turned(who: Ints, j: Ints, value: Floats, answers: Callable[[Who, Rows], Mask] = answers) -> Mask:
            rows = x[who].copy()
            rows[np.arange(len(who)), j] = value
            return np.asarray(answers(who, rows) != own[who])

        found.append(crossings(schema, x, low, high, free, levels, turned, grid).nearest(x))
    actual, estimate = found
    error = np.abs(actual - estimate) / width
    error = np.where(np.isnan(actual), np.nan, np.where(np.isnan(estimate), np.inf, error))
    return CounterfactualFidelity(actual, estimate, error, close)
