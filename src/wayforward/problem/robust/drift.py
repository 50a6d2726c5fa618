"""A yes when the plan is done, although the world has moved on by then: prices, rates, the bar of the market."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError, is_number, shown
from wayforward.language import gettext, in_english
from wayforward.problem.robust.base import Robust
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem

_LONGEST = 120.0  # months
_STEPS = 14  # of a bisection: to about a hundredth of a month
_MOST = 8  # features: their ends make 2 ** 8 futures


@public
@dataclass(frozen=True, eq=False)
class Drift(Robust):
    """A yes at the end of the plan, when features that nobody here can act on have drifted.

    rates: context feature -> units a month, one number or the (least, greatest) that it may be. wait: months from the
    end of the plan to the decision. How long a plan takes is `Problem.months`, by the pace and the delay of the schema.
    The drift acts as an intervention beside the person's own: what hangs on the context in the problem's world
    follows, and so the profile that the model is asked about is the one on that day. A context stays in the range of
    its feature.

    `measure`: the months of drift that a row bears, up to 120; it holds if these are as many as the plan takes and
    the wait. The worst rates lie at the ends for scores that are linear in the context; for other models the ends are
    what is asked. Today's decision counts as ever.

    Example: ``Problem(..., robust=Drift({"interest_rate": (0, 0.05)}, wait=1))``.
    Raises: ProblemError for a feature that is none, has levels, or that people can act on, and for rates that are none.
    Source: A.-H. Karimi, G. Barthe, B. Schoelkopf & I. Valera (2022), A survey of algorithmic recourse, section 5.3:
    context variables, which it leaves open.
    """

    name: ClassVar[str] = "drift"

    rates: Mapping[str, float | tuple[float, float]]
    wait: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.rates, Mapping) or not 1 <= len(self.rates) <= _MOST:
            raise ProblemError(
                f"rates={shown(self.rates)} are none. Give 1 to {_MOST}: {{feature: units a month}}."
            )
        read = {}
        for name, rate in self.rates.items():
            one: Any = rate
            ends = tuple(one) if isinstance(one, (tuple, list)) or np.ndim(one) == 1 else (one, one)
            if len(ends) != 2 or not all(is_number(one) for one in ends) or ends[0] > ends[1]:
                raise ProblemError(
                    f"Drift: '{name}' has the rate {shown(rate)}. Give a number a month, or (least, greatest)."
                )
            read[name] = (float(ends[0]), float(ends[1]))
        if not is_number(self.wait) or self.wait < 0:
            raise ProblemError(f"wait={shown(self.wait)} is no number of months. Give 0 or more.")
        object.__setattr__(self, "rates", read)

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        for name in self.rates:
            feature = problem.schema[name]
            if feature.has_levels:
                raise ProblemError(f"Drift: '{name}' has levels, and does not drift. Name a number.")
            if feature.actionability == "actionable":
                raise ProblemError(
                    f"Drift: people can act on '{name}', so it is no context. Make it mutable in the schema."
                )
        schema = problem.schema
        if not self.wait and not ((schema.delay > 0) | np.isfinite(schema.pace))[schema.actionable].any():
            raise ProblemError(
                "Drift: no plan takes any time, so nothing drifts until it is done. Say how fast people can go, with "
                "pace= or delay= of features, or give wait=, months until the decision."
            )
        return self.with_state()

    @property
    def ends(self) -> list[dict[str, float]]:
        """Every way in which all rates are at one of their ends."""
        ways = itertools.product(*(sorted({low, high}) for low, high in self._read.values()))
        return [dict(zip(self._read, way, strict=True)) for way in ways]

    @property
    def _read(self) -> dict[str, tuple[float, float]]:
        return {name: rate for name, rate in self.rates.items() if isinstance(rate, tuple)}

    def profiles(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, months: np.ndarray
    ) -> list[np.ndarray]:
        """Where people (m, d) stand after so many months (m,) under each of `ends`: (m, d) each."""
        schema, out = problem.schema, []
        for rates in self.ends:
            moved = action.copy()
            for name, rate in rates.items():
                j = schema.index(name)
                value = np.clip(before[:, j] + rate * months, schema.low[j], schema.high[j])
                moved[:, j] = np.where(rate * months == 0, action[:, j], value)
            out.append(problem.standing(before, problem.consequences(before, moved)))
        return out

    def months(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) months until the decision: those of the plan, and the wait."""
        return np.asarray(problem.months(before, action, after) + self.wait)

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        problem, before = people.problem, people.x[who]
        if action is None:
            action = np.where(problem.schema.differs(after, before), after, np.nan)
        months = self.months(problem, before, action, after)
        scores = [
            problem.bound_target.score(problem.model.outputs(rows)) - problem.slack
            for rows in self.profiles(
                problem, before, action, np.where(np.isfinite(months), months, _LONGEST)
            )
        ]
        return np.asarray(np.min([plain, *scores], axis=0))

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        months = self.months(problem, before, action, after)
        return np.asarray(np.isfinite(months) & self._holds_after(problem, before, action, months))

    def _holds_after(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, months: np.ndarray
    ) -> np.ndarray:
        """(m,) bool: a yes after so many months, whatever end the rates take; what the person moved is legal."""
        schema, acted = problem.schema, ~np.isnan(action) & ~problem.soft
        months = np.where(np.isfinite(months), months, _LONGEST)
        own = np.array([name not in self.rates for name in schema.names])
        good = np.ones(len(before), dtype=bool)
        for rows in self.profiles(problem, before, action, months):
            good &= (schema.legal(rows, acted=acted) | ~schema.differs(rows, before))[:, own].all(1)
            if schema.rules:
                good &= schema.compiled_rules.satisfied(before, rows)
            good[good] = problem.reached(rows[good])[0]
        return good

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) months of drift that each row bears, up to 120; 0 for one that is no yes today."""
        low, high = np.zeros(len(before)), np.full(len(before), _LONGEST)
        low = np.where(self._holds_after(problem, before, action, high), high, low)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            good = self._holds_after(problem, before, action, middle)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return low

    def fingerprint(self, rows: np.ndarray) -> list[Any]:
        """See `Robust`."""
        return [self.name, self.describe(), {"rates": sorted(self._read.items()), "wait": self.wait}]

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext("a yes when the plan is done, although {names} drift", names=", ".join(self.rates))
