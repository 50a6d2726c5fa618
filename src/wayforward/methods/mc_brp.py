"""mc-brp: within which ranges of a few features a prediction becomes reasonable, by drawing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, check_seed
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.rankings import line_weights
from wayforward.methods.engines.reference_values import reference_row, reference_values
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood, at_most, labelled, size_within
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Floats, Mask
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

_LIME = 4  # one in so many rows ranks features


@public
@dataclass(frozen=True, eq=False)
class ReasonableRanges:
    """Of n people the draws that reached the decision. x (n, d). mean, std, low, high (n, d): of what numbers were set
    to there, NaN where the feature was not drawn or nothing reached. trend (n, d): 1 or -1, the sign of the correlation
    of a number with how far a draw is beyond the decision; 0 where there is none. share (n,): of draws that reached."""

    schema: Schema
    x: Floats
    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    trend: Floats
    share: Floats

    def lines(self, i: int) -> list[str]:
        """Person i's ranges as text: "stock: 12 to 30 (now 4, more helps)"."""

        def known(value: float) -> str:
            return "missing" if np.isnan(value) else f"{value:.6g}"

        help_ = {1.0: ", more helps", -1.0: ", less helps"}
        return [
            f"{name}: {self.mean[i, j] - self.std[i, j]:.6g} to {self.mean[i, j] + self.std[i, j]:.6g} "
            f"(now {known(self.x[i, j])}{help_.get(float(self.trend[i, j]), '')})"
            for j, name in enumerate(self.schema.names)
            if not np.isnan(self.mean[i, j])
        ]


@public
@dataclass
class McBrp(BreedingMethod):
    """Draw the few features that matter most to a prediction, and keep the draws that reach the decision.

    Features are ranked by a line fitted around the person; the first `features` of them that the person may act on are
    drawn together, evenly between Tukey's fences of the table (levels evenly). `ranges(x)` returns mean and deviation
    of what was kept, and whether more or less of a feature helps; the cheapest draws kept, and the means themselves
    where they reach, are options. Made for regression with unusually large errors: `large_errors` states that problem,
    in which a yes is an error within the fence of all errors.

    draws: of each person. Not part of the published method: complete, which goes on by single changes for whom no draw
    does; shrink, which gives back what the decision does not need. Published: draws=5000 (1000 for each feature),
    complete=False, shrink=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("mc-brp").fit(problem).ranges(refused).lines(0)``.
    Raises: ProblemError without observed people.
    Source: A. Lucic, H. Haned, M. de Rijke (2020), Why Does My Model Fail? Contrastive Local Explanations for Retail
    Forecasting, FAT*; arXiv:1908.00085.
    """

    name: ClassVar[str] = "mc-brp"
    summary: ClassVar[str] = (
        "ranges of the few features that matter most in which a prediction becomes reasonable"
    )
    citation: ClassVar[str] = "Lucic, Haned & de Rijke (2020), FAT*, arXiv:1908.00085"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    features: int = 5
    draws: int = 1_000
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, features=1, draws=10)
        check_switches(self, "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        rows = problem.require_reference()
        self.fences_ = np.array(
            [tukey_fences(rows[~np.isnan(rows[:, j]), j]) for j in range(problem.schema.d)]
        ).T
        self.row_ = reference_row(problem, "mean")

    def _width(self, d: int) -> int:
        return self.draws

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        near, drawn = self._drawn(people, streams, size_within(self.draws, limit))
        who, place = np.nonzero(near.reached)
        action = np.where(drawn[who], near.value[who, place], np.nan)
        action = np.where(people.schema.differs(action, people.x[who]), action, np.nan)
        order = np.lexsort((people.cost(who, action).round(12), who))
        order = order[rank_in_run(who[order]) < 2 * k]
        return finished(
            people, who[order], action[order], k, cap=cap, go_on=self.complete, shrink=self.shrink
        )

    def _drawn(self, people: Population, streams: Streams, size: int) -> tuple[Neighbourhood, Mask]:
        """Return draws, the last of them the means of those before that reached, and the features drawn (n, d)."""
        n, d = people.x.shape
        everybody = np.arange(n)
        worth = np.abs(
            line_weights(people, reference_values(people, self.row_), streams, max(size // _LIME, 2))
        )
        key = np.where(people.free, -worth.round(9), np.inf)
        first = key.argsort(1, kind="stable").argsort(1, kind="stable") < self.features
        drawn = first & people.free
        many = max(size - size // _LIME - 1, 1)
        low = np.maximum(people.low, self.fences_[0])
        high = np.minimum(people.high, self.fences_[1])
        low, high = (np.where(low <= high, a, b) for a, b in ((low, people.low), (high, people.high)))
        share = streams.uniform(everybody, many, d, tag=20)
        value = low[:, None] + share * (high - low)[:, None]
        for j, ok in people.level_ok.items():
            rank = np.floor(share[..., j] * np.maximum(ok.sum(1), 1)[:, None])
            value[..., j] = (np.cumsum(ok, axis=1)[:, None] <= rank[..., None]).sum(2)
        change = at_most(people, np.broadcast_to(drawn[:, None], value.shape), share)
        near = labelled(people, np.where(change, value, np.nan))
        mean = np.where(drawn & ~people.schema.has_levels, _summary(near, "mean"), np.nan)
        last = labelled(people, mean[:, None])
        both = (np.concatenate(pair, axis=1) for pair in zip(near, last, strict=True))
        return Neighbourhood(*both), drawn

    def ranges(self, x: Any, *, seed: int = 0) -> ReasonableRanges:
        """Return in which ranges the draws of people lie that reach the decision.

        x: a table of people or an (n, d) array; those of `recommend` with the same seed. Raises: MethodError before
        `fit`; DataError.
        """
        problem = self._fitted_problem()
        check_seed(seed)
        people = problem.population(problem.schema.encode(x))
        near, drawn = self._drawn(people, Streams.of(people.x, seed), self.draws)
        near = Neighbourhood(*(part[:, :-1] for part in near))
        drawn = drawn & ~problem.schema.has_levels
        mean, std, low, high = (
            np.where(drawn, _summary(near, how), np.nan) for how in ("mean", "std", "min", "max")
        )
        return ReasonableRanges(
            problem.schema, people.x, mean, std, low, high, _trend(near) * drawn, near.reached.mean(1)
        )


def _summary(near: Neighbourhood, how: str) -> Floats:
    """(n, d): mean, std, min or max over the draws that reached; NaN where none did."""
    counted = near.reached[..., None] & ~np.isnan(near.value)
    many = counted.sum(1)
    if how in ("min", "max"):
        end = np.inf if how == "min" else -np.inf
        out = getattr(np.where(counted, near.value, end), how)(axis=1)
        return np.where(many > 0, out, np.nan)
    mean = np.where(counted, near.value, 0.0).sum(1) / np.maximum(many, 1)
    if how == "std":
        gap = np.where(counted, near.value - mean[:, None], 0.0)
        mean = np.sqrt((gap**2).sum(1) / np.maximum(many, 1))
    return np.where(many > 0, mean, np.nan)


def _trend(near: Neighbourhood) -> Floats:
    """(n, d): the sign of the correlation of values with scores, over the draws that the person may do."""
    there = np.isfinite(near.score)
    many = np.maximum(there.sum(1), 1)[:, None]
    score = np.where(there, near.score, 0.0)
    score = np.where(there, score - score.sum(1, keepdims=True) / many, 0.0)
    value = np.where(there[..., None], np.nan_to_num(near.value), 0.0)
    value = np.where(there[..., None], value - value.sum(1, keepdims=True) / many[..., None], 0.0)
    return np.asarray(np.sign(np.einsum("ns,nsd->nd", score, value).round(9)))


@public
def tukey_fences(values: Floats) -> tuple[float, float]:
    """Return the fences of values (m,): the quartiles, and one and a half times their distance beyond."""
    if not len(values):
        return -np.inf, np.inf
    first, third = np.quantile(values, [0.25, 0.75])
    return float(first - 1.5 * (third - first)), float(third + 1.5 * (third - first))


@public
def large_errors(schema: Schema, model: Any, table: Any, outcome: Any) -> tuple[Problem, Floats]:
    """State the problem of a regression's large errors: what would have to differ for a prediction to be reasonable?

    schema, model, table: as for `wf.Problem`; outcome (N,): what was observed. Returns a problem with one feature more,
    the observed outcome, which nobody can change; its model gives the absolute error, and a yes is an error of at most
    the upper fence of all errors; and the rows (m, d + 1) whose errors lie beyond it. Any method answers it.
    Raises: DataError; ProblemError if outcomes are not one number a row, or the model is no regression.
    Example: ``problem, odd = large_errors(schema, forest, table, sales)``.
    """
    from wayforward.errors import ProblemError
    from wayforward.model import wrap
    from wayforward.problem import Problem, Target
    from wayforward.schema import Feature, Schema

    inner = wrap(model, schema)
    if inner.task != "regression":
        raise ProblemError(
            "Errors need a regression model; this one classifies. Use any other method for classes."
        )
    x, actual = schema.encode(table), np.asarray(outcome, dtype=np.float64).ravel()
    if len(actual) != len(x) or not np.isfinite(actual).all():
        raise ProblemError(
            f"There are {len(x)} rows and {len(actual)} outcomes. Give one finite number for each row."
        )
    name = "observed outcome"
    while name in schema.names:
        name += "_"
    wide = Schema(
        (*schema.features, Feature(name=name, kind="real", actionability="immutable")), schema.rules
    )

    def error(rows: Any) -> Floats:
        known = wide.encode(rows)
        return np.asarray(np.abs(known[:, -1] - inner.outputs(known[:, :-1])[:, 0]))

    rows = np.column_stack([x, actual])
    errors = np.abs(actual - inner.outputs(x)[:, 0])
    fence = tukey_fences(errors)[1]
    wrapped = wrap(error, wide, task="regression")
    return Problem(wide, wrapped, Target(interval=(None, fence)), data=rows), rows[errors > fence]
