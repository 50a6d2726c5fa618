"""Normal equations with a few shared columns and a small block for each participant.

The matrix has the shape of an arrow: a dense corner and a block diagonal. Factorising it costs a participant's few
rows each instead of the cube of all columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Values = NDArray[np.float64]
Coefficients = tuple[Values, Values]  # shared (p, ...) and own (m, q, ...)


@dataclass(frozen=True)
class Rows:
    """Design of n answers, sorted by participant: shared columns (n, p), own columns (n, q), m participants."""

    shared: Values
    own: Values
    start: NDArray[np.int64]  # (m,) first row of each participant
    who: NDArray[np.int64]  # (n,) number of the participant

    def per_person(self, values: Values) -> Values:
        """Sums (m, ...) over the rows of each participant."""
        return np.asarray(np.add.reduceat(values, self.start, axis=0))

    def times(self, b: Coefficients) -> Values:
        """Predictors (n, r) of coefficients (p, r) and (m, q, r)."""
        return np.asarray(self.shared @ b[0] + np.einsum("nq,nqr->nr", self.own, b[1][self.who]))

    def transposed(self, values: Values) -> Coefficients:
        """The transposed design times values (n, r)."""
        return self.shared.T @ values, self.per_person(self.own[:, :, None] * values[:, None, :])


class Arrow:
    """X'WX + S, factorised. weight: (n,). ridge: penalties (p,) and (q,) on the diagonal."""

    def __init__(self, rows: Rows, weight: Values, ridge: tuple[Values, Values]) -> None:
        self.rows = rows
        heavy = weight[:, None] * rows.own  # (n, q)
        self.block = rows.per_person(heavy[:, :, None] * rows.own[:, None, :]) + np.diag(
            ridge[1]
        )  # (m, q, q)
        self.inverse = np.linalg.inv(self.block)
        cross = rows.per_person(heavy[:, :, None] * rows.shared[:, None, :])  # (m, q, p)
        self.pull = self.inverse @ cross  # (m, q, p)
        corner = (rows.shared * weight[:, None]).T @ rows.shared + np.diag(ridge[0])
        self.corner = corner - np.einsum("mqp,mqr->pr", cross, self.pull)
        self.factor = cho_factor(self.corner, lower=True)
        self.covariance: Values = cho_solve(
            self.factor, np.eye(len(corner))
        )  # (p, p) of the shared coefficients

    def log_determinant(self) -> float:
        """Log of the determinant."""
        blocks = np.linalg.slogdet(self.block)[1].sum()
        return float(2 * np.log(np.diag(self.factor[0])).sum() + blocks)

    def solve(self, right: Coefficients) -> Coefficients:
        """The inverse times right sides (p, r) and (m, q, r)."""
        shared = cho_solve(self.factor, right[0] - np.einsum("mqp,mqr->pr", self.pull, right[1]))
        return shared, self.inverse @ right[1] - self.pull @ shared

    def variance(self) -> tuple[Values, Values]:
        """The diagonal of the inverse: (p,) and (m, q)."""
        own = np.einsum("mqq->mq", self.inverse) + np.einsum(
            "mqp,pr,mqr->mq", self.pull, self.covariance, self.pull, optimize=True
        )
        return np.diag(self.covariance), own

    def row_variance(self) -> Values:
        """x' inverse x for each row (n,): how uncertain its predictor is."""
        rows = self.rows
        rest = rows.shared - np.einsum("nq,nqp->np", rows.own, self.pull[rows.who])
        own = np.einsum("nq,nqr,nr->n", rows.own, self.inverse[rows.who], rows.own, optimize=True)
        return np.asarray(own + ((rest @ self.covariance) * rest).sum(1))
