"""Whether plans still work when carried out with errors, and under models trained again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.evaluate import stats
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.suppression import may_be_told
from wayforward.language import Translatable, gettext, reason
from wayforward.shapes import Ints, Mask

_ERROR = 0.05  # standard deviation of errors in carrying out a plan, in shares of a feature's range
_DRAWS = 50  # times that errors are drawn


def robustness_by_group(
    measured: Measured, others: Sequence[Any], most: int, hidden: set[tuple[str, str]]
) -> dict[str, Any]:
    """Measure on at most so many plans whether they still work: for everybody, then each group that is not hidden.

    others: models trained again. Returns plain values; empty where nothing was measured.
    """
    from wayforward.evaluate.robustness import robustness

    recourse = measured.recourse
    at = np.flatnonzero(recourse.found[:, 0])
    if not at.size or most < 1:
        return {}
    if at.size > most:
        at = np.sort(np.random.default_rng([measured.seed, 29]).choice(at, most, replace=False))
    measured.progress("whether the advice lasts", 0, 1)
    votes = np.empty((0, len(recourse)), dtype=bool)
    if len(others):
        from wayforward.problem.robust import AllModels

        votes = np.zeros((len(others), len(recourse)), dtype=bool)
        votes[:, at] = AllModels(others).fit(measured.problem).votes(recourse.after[at, 0])
    rows = []
    for attribute, name, some in _sides(measured, at, hidden):
        try:
            result = robustness(
                recourse[some], measured.problem, sigma=_ERROR, draws=_DRAWS, seed=measured.seed
            )
        except WayforwardError as error:
            measured.notes.append(Translatable(partial(_not_measured, error)))
            return {}
        rows.append(_row(attribute, name, result.noise, votes[:, some]))
    return {"error": _ERROR, "models": len(others), "groups": rows}


def _not_measured(error: WayforwardError) -> str:
    return gettext("Whether advice lasts was not measured: {why}", why=reason(error))


def _sides(measured: Measured, at: Ints, hidden: set[tuple[str, str]]) -> list[tuple[str, str, Ints]]:
    """Return (attribute, group, positions among the answered): everybody first, then each group that may be told."""
    out = [("", "everybody", at)] if len(at) >= measured.fewest else []
    for groups in measured.attributes:
        shown = may_be_told(groups.member[measured.who[at]], groups, measured.fewest, hidden)
        out += [(groups.name, name, at[some]) for name, some in shown]
    return out


def _row(attribute: str, name: str, noise: Estimate, votes: Mask) -> dict[str, Any]:
    """Return one group as plain values; votes (m models, n plans)."""
    all_agree = stats.rate(np.asarray(votes.all(0))) if len(votes) else NOTHING
    return {
        "attribute": attribute,
        "group": name,
        "n": votes.shape[1],
        "yes_with_errors": noise.to_dict(),
        "yes_of_retrained_models": both_ways(votes).to_dict(),
        "yes_by_retrained_model": [float(v) for v in votes.mean(1)],
        "yes_of_all_retrained_models": all_agree.to_dict(),
    }


def both_ways(votes: Mask) -> Estimate:
    """Return the mean of votes (m models, n plans), with a 95 % interval over other models and other plans.

    The variances of the models' means and of the plans' means add up, and Satterthwaite's degrees of freedom allow for
    few models (F. E. Satterthwaite 1946, Biometrics Bull. 2). One model says nothing of others: then over plans only.
    The estimate's n counts plans.
    """
    from scipy.stats import t

    m, n = votes.shape
    if not m or not n:
        return NOTHING
    value = float(votes.mean())
    parts = [
        (float(means.var(ddof=1)) / means.size, means.size - 1)
        for means in (votes.mean(1), votes.mean(0))
        if means.size > 1
    ]
    whole = sum(v for v, _ in parts)
    if whole <= 0:
        return Estimate(value, value, value, n)
    freedom = whole**2 / sum(v**2 / df for v, df in parts)
    half = float(t.ppf(0.975, freedom)) * float(np.sqrt(whole))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), n)
