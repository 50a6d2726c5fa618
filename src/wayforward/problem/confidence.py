"""How sure an option must be in a world that is uncertain: a share of what may follow, or a lower bound on the score.

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic Recourse under Imperfect Causal
Knowledge: a Probabilistic Approach, NeurIPS, equations 9 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.errors import ProblemError, is_integer
from wayforward.language import gettext, in_english, marks
from wayforward.problem.over_draws import deviation as deviation_over_draws
from wayforward.problem.over_draws import mean as mean_over_draws
from wayforward.problem.target import BoundTarget
from wayforward.public import public


@public
@dataclass(frozen=True)
class Confidence:
    """What the draws of an option must show, besides the expected consequences, which must reach the target as ever.

    share: at least this share of them reaches the target ("succeeds with probability at least"). gamma: the mean of
    the score people see (the probability of a yes, or the predicted number) less `gamma` standard deviations still
    reaches it. draws: how many; each option is judged on draws of its own, evenly spread (`streams.spread`).

    Where a draw leads is shown to the model as it is: only the expected profile must be legal, keep the rules and be
    plausible, because nobody chooses the others. A certain world keeps every promise.

    Example: ``Problem(..., world=world, confidence=Confidence(gamma=2.0, draws=100))``.
    Raises: ProblemError for a share or a gamma that says nothing.
    """

    share: float | None = None
    gamma: float | None = None
    draws: int = 200

    def __post_init__(self) -> None:
        if self.share is None and self.gamma is None:
            raise ProblemError(
                "A Confidence needs a share of the draws, such as 0.95, or a gamma, such as 2.0."
            )
        if self.share is not None and not (_number(self.share) and 0 < self.share <= 1):
            raise ProblemError(
                f"confidence={self.share!r} is no share of what may follow. Give a number above 0, at most 1, such as "
                "0.95."
            )
        if self.gamma is not None and not (_number(self.gamma) and self.gamma >= 0):
            raise ProblemError(f"gamma={self.gamma!r} is no number of standard deviations. Give 0 or more.")
        if not is_integer(self.draws) or self.draws < 10:
            raise ProblemError(f"draws={self.draws!r} are too few to tell a probability by. Give 10 or more.")

    @classmethod
    def of(cls, given: float | Confidence | None) -> Confidence | None:
        """A number is a share."""
        return given if given is None or isinstance(given, Confidence) else cls(given)

    def describe(self) -> str:
        """The demand in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The demand in words, in the language in use."""
        words = []
        if self.share is not None:
            words.append(gettext("succeeds with probability {share} or more", share=marks(f"{self.share:g}")))
        if self.gamma is not None:
            words.append(
                gettext(
                    "a mean score of {n} standard deviations more than needed", n=marks(f"{self.gamma:g}")
                )
            )
        return words[0] if len(words) == 1 else gettext("{first} and {last}", first=words[0], last=words[1])

    @property
    def quantile(self) -> float:
        """The share of draws that a search aims at."""
        from scipy.special import ndtr

        by_gamma = 0.0 if self.gamma is None else float(ndtr(self.gamma))
        return max(self.share or 0.0, by_gamma)

    def holds(self, yes: np.ndarray, value: np.ndarray, target: BoundTarget, spare: int = 0) -> np.ndarray:
        """Judge draws: yes (m, q) reached, value (m, q) what people see -> (q,) bool, sure enough.

        spare: draws that must reach the target beyond the share.
        """
        good = np.ones(yes.shape[1], dtype=bool)
        if self.share is not None:
            good &= yes.mean(0) >= min(self.share + spare / len(yes), 1.0) - 1e-12
        if self.gamma is not None:
            mean, room = mean_over_draws(value), self.gamma * deviation_over_draws(value)
            if target.target.interval is not None:
                low, high = target.target.edges()
                margin = target.target.margin
                good &= (mean - room >= low + margin) & (mean + room <= high - margin)
            else:
                good &= mean - room >= target.level
        return good


def _number(value: object) -> bool:
    return (
        isinstance(value, (int, float, np.floating))
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
    )
