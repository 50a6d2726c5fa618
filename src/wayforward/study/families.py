"""What an answer's distribution is, given the model's linear predictor: likelihoods and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from wayforward.errors import DataError

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Likelihood:
    """Log-likelihood of each answer (n,), its derivatives by the predictor, and those again by t own parameters."""

    value: Values  # (n,)
    slope: Values  # (n,) first derivative by the predictor
    bend: Values  # (n,) second, below zero
    twist: Values  # (n,) third
    by_own: Values  # (n, t) of `value` by the own parameters
    slope_by_own: Values  # (n, t)
    bend_by_own: Values  # (n, t)


class Family(Protocol):
    """The distribution of an answer. `estimates_scale`: tests use F and t instead of chi-square and z."""

    name: ClassVar[str]
    estimates_scale: ClassVar[bool]

    def check(self, y: Values) -> Values:
        """Answers (n,) as the likelihood wants them. Raises: DataError for others."""

    def start(self, y: Values) -> tuple[Values, float]:
        """Where the search begins: own parameters (t,) and the intercept."""

    def likelihood(self, y: Values, predictor: Values, own: Values) -> Likelihood:
        """Answers and predictors (n,), own parameters (t,)."""

    def mean(self, predictor: Values, own: Values) -> Values:
        """The mean answer at predictors (n,)."""

    def draw(self, predictor: Values, own: Values, rng: np.random.Generator) -> Values:
        """Answers (n,) by chance."""


class Gaussian:
    """Numbers with normal errors; own parameter: log of the errors' variance."""

    name: ClassVar[str] = "gaussian"
    estimates_scale: ClassVar[bool] = True

    def check(self, y: Values) -> Values:
        """Any numbers that are not all equal."""
        if np.ptp(y) == 0:
            raise DataError(
                f"All {len(y)} answers are {y[0]:g}; nothing can be explained. Use another outcome."
            )
        return y

    def start(self, y: Values) -> tuple[Values, float]:
        """Half of the variance is error."""
        return np.array([np.log(y.var() / 2)]), float(y.mean())

    def likelihood(self, y: Values, predictor: Values, own: Values) -> Likelihood:
        """The normal density."""
        precision = np.exp(-own[0])
        rest, one = y - predictor, np.ones_like(y)
        square = precision * rest**2 / 2
        return Likelihood(
            -square - (np.log(2 * np.pi) + own[0]) / 2, precision * rest, -precision * one, 0 * one,
            (square - 0.5)[:, None], (-precision * rest)[:, None], (precision * one)[:, None],
        )  # fmt: skip

    def mean(self, predictor: Values, own: Values) -> Values:
        """The predictor itself."""
        return predictor

    def draw(self, predictor: Values, own: Values, rng: np.random.Generator) -> Values:
        """With normal errors."""
        return np.asarray(predictor + rng.normal(0, np.exp(own[0] / 2), len(predictor)))


class Binomial:
    """Yes (1) or no (0), logit link."""

    name: ClassVar[str] = "binomial"
    estimates_scale: ClassVar[bool] = False

    def check(self, y: Values) -> Values:
        """Zeros and ones, some of each."""
        if set(np.unique(y)) != {0.0, 1.0}:
            raise DataError(
                "A binomial outcome needs both 0 and 1 and nothing else. Use gaussian or ordered."
            )
        return y

    def start(self, y: Values) -> tuple[Values, float]:
        """The log-odds of all answers."""
        return np.empty(0), float(np.log(y.mean() / (1 - y.mean())))

    def likelihood(self, y: Values, predictor: Values, own: Values) -> Likelihood:
        """Bernoulli."""
        p = expit(predictor)
        none = np.empty((len(y), 0))
        return Likelihood(
            y * predictor + log_expit(-predictor), y - p, -p * (1 - p), -p * (1 - p) * (1 - 2 * p), none, none, none
        )  # fmt: skip

    def mean(self, predictor: Values, own: Values) -> Values:
        """The probability of yes."""
        return np.asarray(expit(predictor))

    def draw(self, predictor: Values, own: Values, rng: np.random.Generator) -> Values:
        """A coin each."""
        return np.asarray(rng.random(len(predictor)) < expit(predictor), float)


class Ordered:
    """Levels 1 to r in order, with logistic cuts: P(y <= c) = expit(cut[c] - predictor); the first cut is -1.

    Own parameters: logs of the r - 2 gaps between cuts.
    """

    name: ClassVar[str] = "ordered"
    estimates_scale: ClassVar[bool] = False

    def check(self, y: Values) -> Values:
        """Whole numbers from 1 on, three levels at least, each of them used."""
        used = np.unique(y)
        if len(used) < 3 or not np.array_equal(used, np.arange(1, len(used) + 1)):
            raise DataError(
                f"An ordered outcome needs the levels 1, 2, 3 ... without a gap, at least three; there are "
                f"{', '.join(f'{v:g}' for v in used[:8])}. Renumber them, or use gaussian or binomial."
            )
        return y

    def start(self, y: Values) -> tuple[Values, float]:
        """The cuts that fit the shares of all levels."""
        share = np.cumsum(np.bincount(y.astype(int))[1:-1]) / len(y)
        cuts = np.log(share / (1 - share))
        return np.log(np.diff(cuts)), float(-1 - cuts[0])

    def cuts(self, own: Values) -> Values:
        """The r + 1 cuts, from minus to plus infinity."""
        return np.asarray(np.r_[-np.inf, -1.0, -1.0 + np.cumsum(np.exp(own)), np.inf])

    def likelihood(self, y: Values, predictor: Values, own: Values) -> Likelihood:
        """Differences of two logistic distribution functions; stable far out."""
        cuts, level = self.cuts(own), y.astype(int)
        u, v = cuts[level] - predictor, cuts[level - 1] - predictor  # upper and lower end
        wide = -np.expm1(v - u)
        up, down = expit(u), expit(v)
        a = expit(-u) / (expit(-v) * wide)  # density over probability, at the upper end
        b = -down / (up * wide)  # and, with its sign, at the lower
        aa, bb = a * (1 - 2 * up), b * (1 - 2 * down)
        aaa, bbb = a * (1 - 6 * up + 6 * up**2), b * (1 - 6 * down + 6 * down**2)
        uu, uv, vv = aa - a * a, -a * b, bb - b * b
        uuu, vvv = aaa - 3 * aa * a + 2 * a**3, bbb - 3 * bb * b + 2 * b**3
        uuv, uvv = -aa * b + 2 * a * a * b, -bb * a + 2 * a * b * b
        gap = np.exp(own)[None, :] * (
            np.arange(len(own)) + 2 <= level[:, None]
        )  # (n, t) upper end by parameter
        low = np.exp(own)[None, :] * (np.arange(len(own)) + 2 <= level[:, None] - 1)
        gap[level == len(cuts) - 1] = 0.0  # infinity does not move
        return Likelihood(
            log_expit(u) + log_expit(-v) + np.log(wide), -(a + b), uu + 2 * uv + vv,
            -(uuu + 3 * uuv + 3 * uvv + vvv), a[:, None] * gap + b[:, None] * low,
            -((uu + uv)[:, None] * gap + (uv + vv)[:, None] * low),
            (uuu + 2 * uuv + uvv)[:, None] * gap + (uuv + 2 * uvv + vvv)[:, None] * low,
        )  # fmt: skip

    def mean(self, predictor: Values, own: Values) -> Values:
        """The mean level."""
        over = expit(predictor[:, None] - self.cuts(own)[None, 1:-1])  # P(y > c)
        return np.asarray(1 + over.sum(1))

    def draw(self, predictor: Values, own: Values, rng: np.random.Generator) -> Values:
        """A level each."""
        hidden = predictor + rng.logistic(size=len(predictor))
        return np.asarray(1 + (hidden[:, None] > self.cuts(own)[None, 1:-1]).sum(1), float)


FAMILIES: dict[str, Family] = {one.name: one for one in (Gaussian(), Binomial(), Ordered())}
