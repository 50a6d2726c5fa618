"""Fit by restricted maximum likelihood: Laplace's approximation over coefficients, exact for normal errors.

Source: S. N. Wood (2011), Fast stable restricted maximum likelihood and marginal likelihood estimation of
semiparametric generalized linear models, J. R. Stat. Soc. B 73(1); S. N. Wood, N. Pya, B. Saefken (2016), Smoothing
parameter and model selection for general smooth models, J. Am. Stat. Assoc. 111(516).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayforward.errors import DataError
from wayforward.lazy import cached_property
from wayforward.study.arrow import Arrow, Coefficients, Rows
from wayforward.study.families import Family, Likelihood

Values = NDArray[np.float64]

_WIDE = 30.0  # log precisions are sought within minus and plus this
_STARTS = (0.0, 4.0)  # of log precisions, from as much variance as an error has
_LONGEST = 4.0  # step of a log precision
_STILL = 1e-6  # slope at the end


@dataclass(frozen=True)
class Penalised:
    """Answers, design, family, and which coefficients share a variance.

    shared: (p,) number of the ridge of each shared column, -1 where it is free. own: (q,) the same for the own columns.
    """

    y: Values
    rows: Rows
    family: Family
    shared: NDArray[np.int64]
    own: NDArray[np.int64]

    @property
    def n_ridges(self) -> int:
        """How many variances are estimated."""
        return int(max(self.shared.max(), self.own.max(initial=-1))) + 1

    @cached_property
    def sizes(self) -> Values:
        """Coefficients under each ridge (v,)."""
        m = len(self.rows.start)
        return np.array([(self.shared == j).sum() + m * (self.own == j).sum() for j in range(self.n_ridges)])

    def at(self, log_precision: Values, own: Values) -> Solution:
        """The coefficients of greatest penalised likelihood at these precisions (v,) and own parameters (t,)."""
        precision = np.exp(log_precision)
        ridge = (np.where(self.shared < 0, 0, precision[self.shared]), precision[self.own])
        b: Coefficients = (np.zeros(len(self.shared)), np.zeros((len(self.rows.start), len(self.own))))
        b[0][0] = self.family.start(self.y)[1]  # a fresh start: the result hangs on nothing before
        eta = self.rows.times((b[0][:, None], b[1][:, :, None]))[:, 0]
        now = self.family.likelihood(self.y, eta, own)
        value = now.value.sum() - _size(b, ridge)
        for _ in range(100):
            arrow = Arrow(self.rows, -now.bend, ridge)
            up = self.rows.transposed(now.slope[:, None])
            gradient = (up[0][:, 0] - ridge[0] * b[0], up[1][:, :, 0] - ridge[1] * b[1])
            step = arrow.solve((gradient[0][:, None], gradient[1][:, :, None]))
            gain = float(step[0][:, 0] @ gradient[0] + (step[1][:, :, 0] * gradient[1]).sum())
            if gain < 1e-13 * (1 + abs(value)):
                return Solution(self, log_precision, own, ridge, b, eta, now, arrow)
            move = self.rows.times(step)[:, 0]
            for share in 0.5 ** np.arange(30):
                new = (b[0] + share * step[0][:, 0], b[1] + share * step[1][:, :, 0])
                then = self.family.likelihood(self.y, eta + share * move, own)
                better = then.value.sum() - _size(new, ridge)
                if better > value - 1e-12 * abs(value):
                    break
            b, eta, now, value = new, eta + share * move, then, better
        return Solution(self, log_precision, own, ridge, b, eta, now, Arrow(self.rows, -now.bend, ridge))

    def fit(self) -> Solution:
        """The most likely precisions and own parameters. Raises: DataError where none are found."""
        own, intercept = self.family.start(self.y)
        flat = self.family.likelihood(self.y, np.full(len(self.y), intercept), own)
        spread = [np.r_[self.rows.shared[:, self.shared == j].ravel(), self.rows.own[:, self.own == j].ravel()]
                  for j in range(self.n_ridges)]  # fmt: skip
        unit = np.log(-flat.bend.mean() * np.array([(one**2).mean() for one in spread]))
        found = [self._newton(unit + start, own) for start in _STARTS]
        best = min((one for one in found if one is not None), key=lambda one: one.criterion[0], default=None)
        if best is None:
            raise DataError("No fit was found: the likelihood is not finite. Look for extreme values of x.")
        return best

    def _newton(self, log_precision: Values, own: Values) -> Solution | None:
        """Newton's steps from a start, none longer than `_LONGEST`; the way down where the bend is upwards."""
        try:
            now = self.at(log_precision, own)
            for _ in range(100):
                value, slope = now.criterion
                if np.abs(slope).max() < _STILL:
                    break
                size, way = np.linalg.eigh(now.hessian(two_sided=False))
                step = -way @ ((way.T @ slope) / np.maximum(np.abs(size), 1e-4))
                step *= min(1.0, _LONGEST / np.abs(step).max())
                for share in 0.5 ** np.arange(20):
                    then = self._moved(now, share * step)
                    if then is not None and then.criterion[0] < value:
                        break
                else:
                    break  # as low as arithmetic gets
                now = then
            return now
        except np.linalg.LinAlgError:
            return None

    def _moved(self, now: Solution, step: Values) -> Solution | None:
        """The solution a step away, kept within the bounds; None where it cannot be computed."""
        v = self.n_ridges
        try:
            then = self.at(np.clip(now.log_precision + step[:v], -_WIDE, _WIDE), now.own + step[v:])
        except np.linalg.LinAlgError:
            return None
        return then if np.isfinite(then.criterion[0]) else None


def _size(b: Coefficients, ridge: tuple[Values, Values]) -> float:
    """Half of the penalty."""
    return float((ridge[0] * b[0] ** 2).sum() + (ridge[1] * b[1] ** 2).sum()) / 2


@dataclass(frozen=True)
class Solution:
    """Coefficients at given precisions, and all that follows from them."""

    problem: Penalised
    log_precision: Values  # (v,)
    own: Values  # (t,) of the family
    ridge: tuple[Values, Values]
    b: Coefficients  # (p,) and (m, q)
    predictor: Values  # (n,)
    likelihood: Likelihood
    arrow: Arrow  # the penalised Hessian

    @cached_property
    def traces(self) -> Values:
        """(v,) precision times the summed variance of the coefficients under each ridge: what it takes away."""
        shared, own = self.arrow.variance()
        p = self.problem
        return np.array(
            [
                np.exp(rho) * (shared[p.shared == j].sum() + own[:, p.own == j].sum())
                for j, rho in enumerate(self.log_precision)
            ]
        )

    @property
    def edf(self) -> Values:
        """Effective degrees of freedom of the coefficients under each ridge (v,)."""
        return self.problem.sizes - self.traces

    @cached_property
    def criterion(self) -> tuple[float, Values]:
        """Minus the restricted log-likelihood and its gradient by (log precision, own parameters)."""
        p, now, b = self.problem, self.likelihood, self.b
        free = int((p.shared < 0).sum())
        value = now.value.sum() - _size(b, self.ridge) + (p.sizes * self.log_precision).sum() / 2
        value += (free * np.log(2 * np.pi) - self.arrow.log_determinant()) / 2
        v, t = len(self.log_precision), len(self.own)
        right = (np.zeros((len(b[0]), v + t)), np.zeros((*b[1].shape, v + t)))
        square = np.empty(v)
        for j, rho in enumerate(self.log_precision):
            at, own = p.shared == j, p.own == j
            right[0][at, j] = -np.exp(rho) * b[0][at]
            right[1][:, own, j] = -np.exp(rho) * b[1][:, own]
            square[j] = np.exp(rho) * ((b[0][at] ** 2).sum() + (b[1][:, own] ** 2).sum())
        right[0][:, v:], right[1][:, :, v:] = p.rows.transposed(now.slope_by_own)
        moved = p.rows.times(self.arrow.solve(right))  # (n, v + t) predictor by every parameter
        h = self.arrow.row_variance()
        slope = (h * now.twist) @ moved / 2
        slope[:v] += (p.sizes - square - self.traces) / 2
        slope[v:] += now.by_own.sum(0) + h @ now.bend_by_own / 2
        return -float(value), -slope

    def hessian(self, *, two_sided: bool = True) -> Values:
        """Second derivatives of the criterion, from differences of its gradient (v + t, v + t)."""
        at, step, v = np.r_[self.log_precision, self.own], 1e-3, len(self.log_precision)

        def slope(x: Values) -> Values:
            return self.problem.at(x[:v], x[v:]).criterion[1]

        moves = step * np.eye(len(at))
        ahead = np.array([slope(at + move) for move in moves])
        behind = np.array([slope(at - move) for move in moves]) if two_sided else self.criterion[1]
        found = (ahead - behind) / (step * (1 + two_sided))
        return np.asarray((found + found.T) / 2)
