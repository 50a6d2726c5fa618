"""How long advice lasts: options under errors in carrying them out, retrained models and other good models.

Every rate is over people who got an option, with their number: what nobody was told cannot fail. `Evaluation.usable`
says how many that are. Rates of draws and models are means over people, so intervals are over people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.errors import DataError
from wayforward.evaluate import stats
from wayforward.evaluate.evidence import option_costs
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.problem.robust import AllModels, Stable, UnderNoise, WithinDelta, retrained
from wayforward.problem.robust.models import models_in
from wayforward.public import public
from wayforward.recourse import require_option

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

__all__ = ["Lasting", "keeps", "near_best", "retrained", "robustness"]


@public
@dataclass(frozen=True)
class Lasting:
    """Rates of an answer's first options (or of `option`), each with a 95 % interval over people.

    noise: probability of a yes when carried out with errors. invalidation: 1 - noise, PROBE's rate. noise_kept: share
    of people for whom it is `share` or more. models: share of retrained models that still say yes, mean over people;
    all_models: share of people to whom all do; by_model (m,): share of people for each. multiplicity, all_good: the
    same for other good models. stability: mean of the model around the option less its mean difference (TreX). delta:
    how far weights may shift (`WithinDelta.measure`), for linear models and dense networks. Not measured: n = 0.
    """

    noise: Estimate = NOTHING
    invalidation: Estimate = NOTHING
    noise_kept: Estimate = NOTHING
    models: Estimate = NOTHING
    all_models: Estimate = NOTHING
    by_model: tuple[float, ...] = ()
    multiplicity: Estimate = NOTHING
    all_good: Estimate = NOTHING
    stability: Estimate = NOTHING
    delta: Estimate = NOTHING
    cost: Estimate = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        out: dict[str, Any] = {
            name: value.to_dict() for name, value in vars(self).items() if isinstance(value, Estimate)
        }
        return {**out, "by_model": list(self.by_model)}

    def table(self) -> str:
        """One line for each number that was measured."""
        rows = [
            (name, value) for name, value in vars(self).items() if isinstance(value, Estimate) and value.n
        ]
        return "\n".join(
            f"{name:14} {v.value:.3f} ({v.low:.3f} to {v.high:.3f}), n={v.n}" for name, v in rows
        )


@public
def robustness(
    recourse: Recourse,
    problem: Problem,
    *,
    models: Sequence[Any] = (),
    good: Sequence[Any] = (),
    sigma: float | None = 0.05,
    share: float = 0.9,
    on: Literal["acted", "numbers"] = "acted",
    draws: int = 200,
    option: int = 0,
    stable: float | None = None,
    seed: int = 0,
) -> Lasting:
    """How long the options of any answer last.

    models: retrained ones (see `retrained`); good: other models that do as well (see `near_best`). sigma: errors in
    shares of a feature's range, on what is acted on, or on='numbers' (PROBE); None leaves them out. draws: always
    drawn, never in closed form, so that methods are told apart by the same errors, which are others than a search has
    seen. share: for noise_kept. stable: sigma of the stability. option: which of the k. seed: of intervals.
    Example: ``robustness(recourse, problem, models=retrained(fit, x, y, 10)).table()``.
    Raises: DataError where the answer has no such option.
    """
    recourse.require_schema(problem.schema)
    models, good = models_in(models, problem, "models"), models_in(good, problem, "good")
    require_option(recourse, option)
    at = np.flatnonzero(recourse.found[:, option])
    before, action, after = recourse.x[at], recourse.action[at, option], recourse.after[at, option]
    out: dict[str, Any] = {}
    if not len(at):
        return Lasting()
    cost = recourse.plain_cost[at, option]
    if recourse.problem is not problem:  # which may count in another unit
        cost = option_costs(problem, before, action[:, None], after[:, None], None)[:, 0]
    out["cost"] = stats.mean(np.where(np.isfinite(cost), cost, np.nan), seed=seed)
    if sigma is not None:
        noise = _Fresh(sigma, share=share, on=on, draws=draws, closed=False).fit(problem)
        chance = noise.measure(problem, before, action, after)
        out["noise"] = stats.mean(chance, seed=seed)
        out["invalidation"] = stats.mean(1 - chance, seed=seed)
        out["noise_kept"] = stats.rate(chance >= share - 1e-9)
    if len(models):
        votes = AllModels(models).fit(problem).votes(after)
        out["models"], out["all_models"] = (
            stats.mean(votes.mean(0), seed=seed),
            stats.rate(np.asarray(votes.all(0))),
        )
        out["by_model"] = tuple(votes.mean(1).tolist())
    if len(good):
        votes = AllModels(good).fit(problem).votes(after)
        out["multiplicity"], out["all_good"] = (
            stats.mean(votes.mean(0), seed=seed),
            stats.rate(np.asarray(votes.all(0))),
        )
    if stable is not None and problem.target.interval is None:
        around = Stable(0.5, stable, draws=draws).fit(problem)
        out["stability"] = stats.mean(around.measure(problem, before, action, after), seed=seed)
    if problem.model.dense is not None:
        delta = WithinDelta(0.01).fit(problem).measure(problem, before, action, after)
        out["delta"] = stats.mean(delta, seed=seed)
    return Lasting(**out)


@public
def keeps(recourse: Recourse, problem: Problem, *, option: int = 0) -> Estimate:
    """Share of options that keep the problem's own condition, with a 95 % interval over people who got one.

    1 for what this problem's judge let through; a second opinion where the model or the condition is another.
    Raises: DataError for a problem that asks for nothing.
    """
    if problem.robust is None:
        raise DataError(
            "The problem asks for nothing more than a yes. Give it one: Problem(..., robust=...)."
        )
    recourse.require_schema(problem.schema)
    require_option(recourse, option)
    at = np.flatnonzero(recourse.found[:, option])
    if not len(at):
        return NOTHING
    yes = problem.reached(recourse.after[at, option])[0]
    some = at[yes]
    yes[yes] = problem.robust.holds(
        problem, recourse.x[some], recourse.action[some, option], recourse.after[some, option]
    )
    return stats.rate(yes)


class _Fresh(UnderNoise):
    """Errors that no search has seen: keyed to a person with another tag."""

    def _noise(self, before: np.ndarray) -> np.ndarray:
        moved = np.concatenate([before, np.full((len(before), 1), 17.0)], axis=1)
        return super()._noise(moved)


@public
def near_best(
    models: Sequence[Any], schema: Any, x: np.ndarray, y: np.ndarray, *, within: float = 0.01
) -> list[Any]:
    """Of some models, those whose accuracy on rows (N, d) with labels (N,) is within `within` of the best one's.

    A Rashomon set to judge model multiplicity by. Labels: the models' own.
    Raises: DataError for no model.
    """
    from wayforward.model import wrap

    if not len(models):
        raise DataError("near_best was given no model.")
    wrapped = [wrap(model, schema) for model in models]
    right = []
    for model in wrapped:
        label = np.asarray(model.classes, dtype=object)[model.native(x)[1]]
        right.append(float(np.mean([str(a) == str(b) for a, b in zip(label, y, strict=True)])))
    return [model for model, hit in zip(wrapped, right, strict=True) if hit >= max(right) - within]
