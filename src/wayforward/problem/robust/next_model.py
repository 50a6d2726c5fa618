"""A yes that is likely from the next model, judged by models that were trained alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import ProblemError, is_number
from wayforward.language import gettext, in_english, marks
from wayforward.problem.robust.base import Again, Robust
from wayforward.problem.robust.models import AllModels
from wayforward.problem.robust.spelling import Spelling, number

if TYPE_CHECKING:
    from wayforward.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class NextModel(AllModels):
    """A yes that is likely from the next model, as far as a sample of m models trained alike can tell.

    Where the next model's score comes from the distribution that the sample's come from, it is above zero with
    probability `share` if the sample's median less t deviations is, t the quantile of Student's t with m - 1 degrees
    of freedom, times sqrt(1 + 1/m) as for any prediction of one more value. The deviation is that of the scores below
    the median, which alone endanger a yes. And all but (1 - share) m of the models say yes themselves. `AllModels` asks
    the most pessimistic of m models; this is steadier, so that options hold in models that no search has seen.

    models: as of `AllModels`, 2 or more, all trained alike. share: 0.5 to below 1.
    `measure`: the share of the listed models that say yes.
    Example: ``Problem(schema, model, target, robust=NextModel(retrained(fit, x, y, 20), share=0.9))``.
    Raises: ProblemError.
    """

    name: ClassVar[str] = "next-model"
    spelling: ClassVar[Spelling | None] = Spelling(
        "next:20,share=0.9", "how many models to train again", {"share": number}
    )

    share: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.share) and 0.5 <= self.share < 1):
            raise ProblemError(
                f"NextModel has share={self.share!r}. Give a share from 0.5 to below 1, such as 0.9."
            )
        if len(self.models) < 2:
            raise ProblemError("NextModel was given one model, which has no spread. Give 2 or more, best 20.")

    @classmethod
    def from_text(cls, name: str, value: str, settings: dict[str, Any], again: Again | None) -> Robust:
        """See `Robust`; the value is how many models are trained again."""
        found = AllModels.from_text(name, value, {}, again)
        assert isinstance(found, AllModels)
        return cls(found.models, **settings)

    def left(self, scores: np.ndarray) -> np.ndarray:
        """See `AllModels`; above zero where the next model's score is likely to be."""
        m = len(scores)
        middle = np.median(scores, axis=0)
        below = np.minimum(scores - middle, 0.0)
        spread = np.sqrt(2 * (below**2).sum(0) / (m - 1))
        likely = middle - _t_quantile(self.share, m - 1) * np.sqrt(1 + 1 / m) * spread
        against = int((1 - self.share) * m + 1e-9)  # so many of the models may say no
        return np.asarray(np.minimum(likely, np.partition(scores, against, axis=0)[against]))

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`; where it is close, by the models themselves."""
        left, clear = self._clear(after)
        if not clear.all():
            left[~clear] = self.left(
                self._native(after[~clear], lambda target, outputs, _: target.score(outputs))
            )
        return np.asarray(left > 0)

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext(
            "a yes from the next model with probability {share}, judged by {n} trained again",
            share=marks(f"{self.share:g}"), n=len(self.models),
        )  # fmt: skip


@cache
def _t_quantile(share: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(share, freedom))
