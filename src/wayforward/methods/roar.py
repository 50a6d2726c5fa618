"""roar: options whose worst score over small shifts of a linear model, or of a local one, still turns the decision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from wayforward.errors import is_one_of
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.engines.robust_search import Otherwise, robust_options
from wayforward.methods.settings import check_choices, check_least, require_setting
from wayforward.methods.wachter import Wachter
from wayforward.model import Access
from wayforward.problem.robust import Robust, WithinDelta, with_robust
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.model import DenseForm
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


class RobustDescent(Method):
    """A search like `wachter`'s for options that meet one more condition; `Roar` and `Probe` say which.

    otherwise: 'plain' returns what turns today's decision for whom no option meets the condition, 'none' nothing.
    rounds, steps, shrink, device, block: as in `wachter`.
    """

    otherwise: Otherwise
    rounds: int
    steps: int
    shrink: bool
    device: str | None
    block: int

    @abstractmethod
    def condition(self, problem: Problem) -> Robust:
        """Return the condition that options must meet, not yet fitted."""

    def _fit(self, problem: Problem) -> None:
        search = Wachter(
            rounds=self.rounds, steps=self.steps, shrink=self.shrink, device=self.device, block=self.block
        )
        self.plain_ = replace(search).fit(problem) if self.otherwise == "plain" else None
        self.robust_ = search.fit(with_robust(problem, self.condition(problem)))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        return robust_options(self.robust_, self.plain_, people, k, streams, budget)


@public
@dataclass
class Roar(RobustDescent):
    """Descend distance and the worst score over all weights within rho, until even that turns the decision.

    The worst score is f(x') - rho |c(x')|, with the sum of absolute values for norm='linf' (each weight moves by at
    most rho) and the length for 'l2'. c(x') are the columns that a linear model or a dense network reads; for any
    other model numbers as shares of the observed range and one-hot levels. Exact for a linear score; for others the
    weights are those of a linear model around x', which is what the published method has from LIME. The search is
    that of `wachter`: gradients where the model has them, estimates from neighbouring rows elsewhere; rules, worlds
    and limits hold. Published loss: cross-entropy plus a price on distance, so that it may stop short of either; here
    the worst score must turn the decision, at the least distance found. otherwise: for whom no such option is found,
    'plain' returns one that turns the decision of today's model alone, 'none' nothing.

    rho: published 0.1 on standardised features. bias: the intercept shifts, too. rounds, steps, shrink, device,
    block: as in `wachter`. `WithinDelta` asks the same of every method, as a condition that the judge holds against
    the answer.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="roar", rho=0.1)``.
    Raises: MethodError for a rho below 0.
    Source: S. Upadhyay, S. Joshi, H. Lakkaraju (2021), Towards Robust and Reliable Algorithmic Recourse, NeurIPS;
    arXiv:2102.13620.
    """

    name: ClassVar[str] = "roar"
    summary: ClassVar[str] = "still a yes when weights shift a little: worst score of a linear or local model"
    citation: ClassVar[str] = "Upadhyay, Joshi & Lakkaraju (2021), NeurIPS, arXiv:2102.13620"
    needs: ClassVar[int] = Access.LABEL

    rho: float = 0.1
    norm: Literal["linf", "l2"] = "linf"
    bias: bool = False
    otherwise: Otherwise = "plain"
    rounds: int = 10
    steps: int = 24
    shrink: bool = True
    device: str | None = None
    block: int = 256

    def __post_init__(self) -> None:
        check_least(self, rounds=1, steps=1, block=1)
        require_setting(self, "rho", 0 <= self.rho < np.inf, "Use a number of 0 or more.")
        check_choices(self, norm=("linf", "l2"))
        check_otherwise(self)

    def condition(self, problem: Problem) -> Robust:
        """Return the condition that the worst score turns the decision."""
        return Shifted(self.rho, self.norm, self.bias)


@dataclass(frozen=True, eq=False)
class Shifted(Robust):
    """The worst score over weights within rho of a linear model around each row. See `Roar`."""

    name: ClassVar[str] = "shifted"

    rho: float
    norm: Literal["linf", "l2"] = "linf"
    bias: bool = False
    _form: DenseForm | None = field(default=None, init=False, repr=False)
    _exact: WithinDelta | None = field(default=None, init=False, repr=False)
    _low: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)
    _width: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        form, exact = problem.model.dense, None
        if problem.model.linear is not None and form is not None:
            exact = WithinDelta(self.rho, self.norm, self.bias).fit(problem)
        width = range_widths(problem)
        return self.with_state(
            _form=form,
            _exact=exact,
            _low=np.nan_to_num(problem.observed_range[0]),
            _width=np.where(problem.schema.has_levels, np.nan, width),
        )

    def size(self, after: np.ndarray) -> np.ndarray:
        """Return the length (m,) of each row (m, d) as a linear model reads it."""
        if self._form is not None:
            code = np.abs(self._form.encoder.encode(after))
        else:  # a level counts 1, whichever it is
            code = np.where(
                np.isnan(self._width), 1.0, np.nan_to_num(np.abs(after - self._low) / self._width)
            )
        total = (code if self.norm == "linf" else code**2).sum(1) + self.bias
        return np.asarray(total if self.norm == "linf" else np.sqrt(total))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        if self.rho == 0:
            return plain
        if self._exact is not None:
            return self._exact.score(people, who, after, action, plain)
        return plain - self.rho * self.size(after)

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) > problem.slack)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """Return the worst score (m,)."""
        if self._exact is not None:
            return self._exact.worst(after)
        plain = problem.bound_target.score(problem.model.outputs(after))
        return np.asarray(plain - self.rho * self.size(after))

    def describe(self) -> str:
        """Return the condition in words."""
        return f"a yes for every linear model around the option whose weights shift by at most {self.rho:g}"


def check_otherwise(method: Any) -> None:
    """Check the setting `otherwise` of a method. Raises: MethodError."""
    known = is_one_of(method.otherwise, get_args(Otherwise))
    require_setting(method, "otherwise", known, "Choose 'plain' (for today's model) or 'none'.")
