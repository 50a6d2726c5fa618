"""The additive mixed model of the published evaluation study: y ~ s(x) + s(uid) + s(uid, x).

A smooth curve over x, and for each participant an intercept and a slope of their own, all variances by restricted
maximum likelihood. It gives the numbers of R's mgcv (`method="REML"`, `bs="re"`) in a fraction of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from scipy.stats import t as student

from wayforward.errors import DataError, is_one_of
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.study.arrow import Rows
from wayforward.study.families import FAMILIES
from wayforward.study.reml import Penalised, Solution
from wayforward.study.smooth import Smooth
from wayforward.study.term_tests import boundary_test, curve_test

Values = NDArray[np.float64]

TERMS = ("s(x)", "s(uid)", "s(uid, x)")


@public
@dataclass(frozen=True)
class Term:
    """One line of the summary. statistic: F where the scale is estimated, else chi-square; see `Gamm.terms`."""

    name: str
    edf: float
    reference: float  # degrees of freedom that the statistic is compared with
    statistic: float
    p: float
    deviation: float | None = None  # of a random effect, its standard deviation


@public
@dataclass(frozen=True)
class StudyCurve:
    """The curve at x, with the intercept: value and 95 % band, all (g,)."""

    x: Values
    value: Values
    low: Values
    high: Values


@public
@dataclass(frozen=True)
class Gamm:
    """A fitted model; `Gamm.fit` makes it."""

    smooth: Smooth
    solution: Solution
    people: tuple[str, ...]  # (m,) who, in the order of `effects`
    x: Values  # (n,) sorted by participant
    random: tuple[str, ...]  # of TERMS

    @classmethod
    def fit(
        cls,
        y: ArrayLike,
        x: ArrayLike,
        uid: Sequence[Any] | NDArray[Any],
        *,
        family: str = "gaussian",
        basis: str = "thin-plate",
        k: int = 10,
        random: Sequence[str] = TERMS[1:],
    ) -> Gamm:
        """Fit answers y (n,) on x (n,) of participants uid (n,).

        family: 'gaussian', 'binomial' (0 and 1) or 'ordered' (1, 2, 3 ...). basis: 'thin-plate' or 'cubic', of size k.
        random: 's(uid)', 's(uid, x)' or both.

        Raises: DataError for answers that the family cannot hold, values that are no numbers, fewer than two
        participants or nobody with two answers.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> uid, x = np.repeat(np.arange(30), 8), rng.uniform(0, 1, 240)
        >>> y = np.sin(6 * x) + rng.normal(0, 0.5, 30)[uid] + rng.normal(0, 0.2, 240)
        >>> got = Gamm.fit(y, x, uid, random=["s(uid)"])
        >>> [f"{term.name}: {term.edf:.1f}" for term in got.terms]
        ['s(x): 7.8', 's(uid): 28.6']
        """
        if not is_one_of(family, FAMILIES):
            raise DataError(f"There is no family '{family}'. Choose one of {', '.join(FAMILIES)}.")
        unknown = set(random) - set(TERMS[1:])
        if unknown or not random:
            raise DataError(
                f"random={list(random)} names no random effects. Choose from {', '.join(TERMS[1:])}."
            )
        answers, along = _numbers("y", y), _numbers("x", x)
        names, who = np.unique(np.asarray(uid).astype(str), return_inverse=True)
        if not len(answers) == len(along) == len(who):
            raise DataError(
                f"y, x and uid have {len(answers)}, {len(along)} and {len(who)} values. Give as many."
            )
        if len(names) < 2 or len(names) == len(who):
            raise DataError(
                f"{len(who)} answers of {len(names)} participants say nothing of how participants differ. "
                "Give several answers of at least two."
            )
        order = np.argsort(who, kind="stable")
        answers, along, who = answers[order], along[order], who[order]
        smooth = Smooth.of(along, k, basis)
        chosen = tuple(name for name in TERMS[1:] if name in random)
        ones = np.ones(len(along))
        own = np.column_stack([ones if name == TERMS[1] else along for name in chosen])
        start = np.r_[0, np.flatnonzero(np.diff(who)) + 1]
        how = FAMILIES[family]
        problem = Penalised(
            how.check(answers), Rows(np.column_stack([ones, smooth.design(along)]), own, start, who), how,
            np.r_[-1, -1, np.zeros(k - 2, int)], 1 + np.arange(len(chosen)),
        )  # fmt: skip
        return cls(smooth, problem.fit(), tuple(names.tolist()), along, chosen)

    @property
    def n(self) -> int:
        """How many answers."""
        return len(self.x)

    @property
    def family(self) -> str:
        """The name of the answers' distribution."""
        return self.solution.problem.family.name

    @property
    def scale(self) -> float:
        """The variance of the errors; 1 for families that have none."""
        return float(np.exp(self.solution.own[0])) if self._estimated else 1.0

    @property
    def _estimated(self) -> bool:
        return self.solution.problem.family.estimates_scale

    @property
    def edf(self) -> float:
        """Effective degrees of freedom of the whole model."""
        return float(2 + self.solution.edf.sum())

    @property
    def residual(self) -> float:
        """Residual degrees of freedom."""
        return self.n - self.edf

    @property
    def log_likelihood(self) -> float:
        """Of the answers given all coefficients, at the variance of the errors that makes it greatest."""
        if not self._estimated:
            return float(self.solution.likelihood.value.sum())
        rest = self.solution.problem.y - self.solution.predictor
        return float(-self.n / 2 * (np.log(2 * np.pi * (rest**2).mean()) + 1))

    @property
    def reml(self) -> float:
        """The restricted log-likelihood, up to a constant that models of the same answers share."""
        return -self.solution.criterion[0]

    @cached_property
    def aic(self) -> float:
        """Akaike's criterion, conditional on the participants, corrected for what is uncertain in the variances.

        The correction is of first order (Wood, Pya and Saefken 2016); mgcv adds a smaller term of second order.
        """
        return 2 * (self.edf + self._uncertain + len(self.solution.own) - self.log_likelihood)

    @cached_property
    def _uncertain(self) -> float:
        """Degrees of freedom that estimating the variances costs."""
        solution, p = self.solution, self.solution.problem
        v = len(solution.log_precision)
        value, vector = np.linalg.eigh(solution.hessian())
        root = vector[:, value > 1e-6] / np.sqrt(value[value > 1e-6])  # (v + t, ...) of their covariance
        right = (np.zeros((len(solution.b[0]), v)), np.zeros((*solution.b[1].shape, v)))
        for j, rho in enumerate(solution.log_precision):
            right[0][p.shared == j, j] = -np.exp(rho) * solution.b[0][p.shared == j]
            right[1][:, p.own == j, j] = -np.exp(rho) * solution.b[1][:, p.own == j]
        moved = p.rows.times(solution.arrow.solve(right)) @ root[:v]  # (n, ...)
        return float((-solution.likelihood.bend[:, None] * moved**2).sum())

    @property
    def intercept(self) -> tuple[float, float, float, float]:
        """Coefficient, standard error, t (z where no scale is estimated) and p-value."""
        value, error = float(self.solution.b[0][0]), float(np.sqrt(self.solution.arrow.covariance[0, 0]))
        far = abs(value / error)
        p = student.sf(far, self.residual) if self._estimated else norm.sf(far)
        return value, error, value / error, float(2 * p)

    @cached_property
    def curve_term(self) -> Term:
        """The line of the curve alone, which asks for no second fit."""
        solution, c = self.solution, slice(1, len(self.solution.b[0]))
        design = solution.problem.rows.shared[:, c]
        rank = self._reference()
        statistic, p = curve_test(
            design, solution.b[0][c], solution.arrow.covariance[c, c], rank, self.residual if self._estimated else None
        )  # fmt: skip
        shown = statistic / (rank if self._estimated else 1)
        return Term(TERMS[0], 1 + float(solution.edf[0]), rank, shown, p)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The curve and the random effects.

        The curve has a Wald test (Wood 2013). A random effect has the statistic b' V^-1 b of its coefficients (over its
        edf where the scale is estimated), and the p-value of the restricted likelihood ratio against the model without
        it, whose null value lies on the boundary.
        """
        solution, out = self.solution, [self.curve_term]
        for j, name in enumerate(self.random):
            edf, b = float(solution.edf[1 + j]), solution.b[1][:, j]
            wald = float(b @ self._covariance_of(j, b))
            ratio = 2 * (self.reml - self._without(name))
            deviation = float(np.exp(-solution.log_precision[1 + j] / 2))
            shown = wald / max(edf, 1e-9) if self._estimated else wald
            out.append(Term(name, edf, edf, shown, boundary_test(ratio), deviation))
        return tuple(out)

    def _reference(self) -> float:
        """Reference degrees of freedom of the curve: the trace of 2F - FF over it."""
        arrow, p, precision = self.solution.arrow, self.solution.problem, np.exp(self.solution.log_precision)
        ridge = self.solution.ridge
        inner = (arrow.covariance**2 * ridge[0][:, None] * ridge[0][None, :])[1:, 1:].sum()
        cross = (arrow.pull @ arrow.covariance)[:, :, 1:]  # (m, q, c), up to its sign
        outer = (cross**2 * precision[p.own][None, :, None] * ridge[0][None, None, 1:]).sum()
        return float(min(len(ridge[0]) - 1 - inner - outer, len(ridge[0]) - 1))

    def _covariance_of(self, j: int, b: Values) -> Values:
        """The inverse of the covariance of one random effect, times b (m,)."""
        arrow = self.solution.arrow
        block, pull = arrow.inverse[:, j, j], arrow.pull[:, j, :]  # covariance: diag(block) + pull C pull'
        inner = arrow.corner + pull.T @ (pull / block[:, None])
        return np.asarray(b / block - (pull @ np.linalg.solve(inner, pull.T @ (b / block))) / block)

    def _without(self, name: str) -> float:
        """The restricted log-likelihood without a random effect."""
        p = self.solution.problem
        left = [j for j, other in enumerate(self.random) if other != name]
        rows = Rows(p.rows.shared, p.rows.own[:, left], p.rows.start, p.rows.who)
        smaller = Penalised(p.y, rows, p.family, p.shared, 1 + np.arange(len(left)))
        return -smaller.fit().criterion[0]

    def curve(self, x: ArrayLike | None = None, *, points: int = 100) -> StudyCurve:
        """The curve with the intercept and its 95 % band, on the scale of the predictor.

        x: (g,) within what was observed; left out: `points` values over all of it. Raises: DataError beyond it.
        """
        least, most = float(self.x.min()), float(self.x.max())
        at = np.linspace(least, most, points) if x is None else _numbers("x", x)
        if at.min() < least or at.max() > most:
            raise DataError(f"The curve is known from {least:g} to {most:g} only. Ask within that.")
        design = np.column_stack([np.ones(len(at)), self.smooth.design(at)])
        value = design @ self.solution.b[0]
        half = norm.ppf(0.975) * np.sqrt(((design @ self.solution.arrow.covariance) * design).sum(1))
        return StudyCurve(at, value, value - half, value + half)

    def mean(self, predictor: ArrayLike) -> Values:
        """Mean answers at values of the predictor (g,), such as a curve's."""
        return self.solution.problem.family.mean(np.asarray(predictor, float), self.solution.own)

    @property
    def effects(self) -> Values:
        """Each participant's own coefficients (m, q), in the order of `random`."""
        return self.solution.b[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the summary, without a row of any participant."""
        value, error, ratio, p = self.intercept
        return {
            "family": self.family, "basis": self.smooth.basis, "answers": self.n, "participants": len(self.people),
            "intercept": {"value": value, "error": error, "statistic": ratio, "p": p},
            "terms": [vars(term) for term in self.terms],
            "scale": self.scale, "edf": self.edf, "log_likelihood": self.log_likelihood, "aic": self.aic,
        }  # fmt: skip


def _numbers(name: str, values: ArrayLike) -> Values:
    """Values (n,) as floats. Raises: DataError."""
    try:
        out = np.asarray(values, float)
    except (TypeError, ValueError):
        raise DataError(
            f"{name} holds values that are no numbers. Convert or leave out their rows."
        ) from None
    if out.ndim != 1 or not len(out) or not np.isfinite(out).all():
        raise DataError(f"{name} must be a list of finite numbers. Leave out rows where it is missing.")
    return out
