"""probe: options that stay a yes with a chosen probability when they are carried out with an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.devices import on_processor
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_widths
from wayforward.methods.engines.robust_search import Otherwise
from wayforward.methods.roar import RobustDescent, check_otherwise
from wayforward.methods.settings import check_choices, check_least, require_setting
from wayforward.model import Access
from wayforward.problem.robust import Robust, UnderNoise, linear_slope
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem


@public
@dataclass
class Probe(RobustDescent):
    """Descend distance until the invalidation rate, the chance that an error undoes the option, is `rate` or less.

    The error is Gaussian with a standard deviation of `sigma` x the range, on='numbers': on every number, as
    published, or 'acted': on those that the option sets. Invalidation rate: 1 - Phi(f / (sigma |slope of f|)) at the
    option, exact for a linear score (errors not cut off) and the published first-order estimate where the model has
    gradients (estimate= 'gradient'); estimate='draws' counts `draws` errors instead, which is what models without
    gradients and causal worlds (errors on what is acted on) get anyway. The search is that of `wachter`. Published: a
    hinge on the rate in the loss; here the rate must be met, at the least distance found. otherwise: as in `roar`.

    rate: published up to 0.35; `UnderNoise` asks the same of every method. rounds, steps, shrink, device, block: as in
    `wachter`. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="probe", sigma=0.05, rate=0.1)``.
    Raises: MethodError for a rate that is none.
    Source: M. Pawelczyk, T. Datta, J. van-den-Heuvel, G. Kasneci, H. Lakkaraju (2023), Probabilistically Robust
    Recourse: Navigating the Trade-offs between Costs and Robustness, ICLR; arXiv:2203.06768.
    """

    name: ClassVar[str] = "probe"
    summary: ClassVar[str] = "still a yes when carried out with errors: a bound on the invalidation rate"
    citation: ClassVar[str] = (
        "Pawelczyk, Datta, van-den-Heuvel, Kasneci & Lakkaraju (2023), ICLR, arXiv:2203.06768"
    )
    needs: ClassVar[int] = Access.LABEL

    sigma: float = 0.05
    rate: float = 0.1
    on: Literal["numbers", "acted"] = "numbers"
    estimate: Literal["gradient", "draws"] = "gradient"
    draws: int = 50
    otherwise: Otherwise = "plain"
    rounds: int = 10
    steps: int = 24
    shrink: bool = True
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        require_setting(self, "rate", 0 < self.rate < 1, "Use a probability between 0 and 1.")
        check_least(self, rounds=1, steps=1, block=1, draws=1)
        require_setting(self, "sigma", 0 <= self.sigma < np.inf, "Use a number of 0 or more.")
        check_choices(self, on=("numbers", "acted"), estimate=("gradient", "draws"))
        check_otherwise(self)

    def condition(self, problem: Problem) -> Robust:
        """Return the bound on the invalidation rate, by gradients where they tell it and by draws elsewhere."""
        from wayforward.methods.engines.gradient.slopes import has_gradients

        on = self.on if problem.independent else "acted"
        drawn = UnderNoise(self.sigma, share=1 - self.rate, on=on, draws=self.draws)
        first = self.estimate == "gradient" and problem.independent and linear_slope(problem) is None
        if first and self.sigma > 0 and has_gradients(problem):
            return FirstOrder(drawn, device=self.device, block=self.block)
        return drawn


@dataclass(frozen=True, eq=False)
class FirstOrder(Robust):
    """`UnderNoise` as if the score were linear around each row, by its gradient there. Independent world."""

    name: ClassVar[str] = "first-order"

    noise: UnderNoise
    device: str | None = None
    block: int = 256
    _slopes: Any = field(default=None, init=False, repr=False)
    _share: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        from wayforward.methods.engines.gradient.compiled import Compiled
        from wayforward.methods.engines.gradient.slopes import Gradients

        span = range_widths(problem)
        noise = self.noise.fit(problem)
        found: Any = Compiled.of(problem, span) if on_processor(self.device) else None
        if found is None:
            found = Gradients(problem, "probe", device=self.device, span=span, block=self.block)
        share = np.zeros(problem.schema.d)
        share[noise.columns] = noise.spread / span[noise.columns]
        return self.with_state(noise=noise, _slopes=found, _share=share)

    def size(self, people: Population, who: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the standard deviation (m,) of the score under the errors, to first order."""
        x, found = people.x[who], self._slopes
        number = np.broadcast_to(~people.schema.has_levels, after.shape) & ~np.isnan(after) & ~np.isnan(x)
        move = np.where(number, (after - x) / found.span, 0.0)
        share = found.own(after).astype(np.float64)
        state = RelaxedState(who, move, share, np.broadcast_to(True, after.shape).copy())
        _, slope, _ = found(people, state)
        erring = np.zeros(after.shape, dtype=bool)
        erring[:, self.noise.columns] = self.noise.erring(people.problem, x, None, after)
        return np.asarray(np.sqrt(((np.where(erring, slope, 0.0) * self._share) ** 2).sum(1)))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        from scipy.special import ndtri

        if not len(who):
            return plain
        sure = plain - float(ndtri(self.noise.share)) * self.size(people, who, after)
        return np.asarray(np.minimum(plain, sure))

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= self.noise.share - 1e-9)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """Return the probability (m,) of a yes, to first order."""
        from scipy.special import ndtr

        people = problem.population(before)
        size = self.size(people, np.arange(len(before)), after)
        score = problem.bound_target.score(problem.model.outputs(after))
        return np.asarray(ndtr(score / np.maximum(size, 1e-12)))

    def describe(self) -> str:
        """Return the condition in words."""
        return self.noise.describe() + ", to first order"
