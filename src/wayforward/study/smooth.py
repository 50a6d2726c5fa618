"""Spline bases of one quantity, turned so that the penalty is a ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space

from wayforward.errors import DataError, is_one_of

Values = NDArray[np.float64]

BASES = ("thin-plate", "cubic")
_MOST_KNOTS = 2000  # of a thin-plate basis; more distinct values are thinned to their quantiles


@dataclass(frozen=True)
class Smooth:
    """A curve over x: a straight line and `k - 2` wiggles, each with the same penalty.

    `design` has mean zero over the values that it was made from, so that the curve needs an intercept beside it.
    The penalty is the integral of the squared second derivative, up to a constant.
    """

    basis: str
    knots: Values  # (u,) where the wiggles are hung up
    weights: Values  # (u or k, k - 2) from values at the knots to wiggles
    mean: Values  # (k - 1,) taken off the columns
    scale: Values  # (k - 1,) the columns are divided by

    @classmethod
    def of(cls, x: Values, k: int = 10, basis: str = "thin-plate") -> Smooth:
        """The basis for values (n,). k: its size before it is centred; basis: 'thin-plate' or 'cubic'.

        Raises: DataError for fewer than k distinct values, k < 3, or a basis that is not there.
        """
        if not is_one_of(basis, BASES):
            raise DataError(f"There is no spline basis '{basis}'. Choose one of {', '.join(BASES)}.")
        distinct = np.unique(x)
        if not 3 <= k <= len(distinct):
            raise DataError(
                f"A curve of size k={k} needs 3 <= k <= the number of distinct values, here {len(distinct)}. "
                "Choose another k."
            )
        make = _thin_plate if basis == "thin-plate" else _cubic
        knots, weights = make(distinct, k)
        raw = cls(basis, knots, weights, np.zeros(k - 1), np.ones(k - 1))
        columns = raw.design(x)
        spread = columns.std(0)
        one = np.r_[spread[0], np.full(k - 2, spread[1:].max())]  # wiggles keep their size to each other
        return cls(basis, knots, weights, columns.mean(0), one)

    def design(self, x: Values) -> Values:
        """Columns (n, k - 1) for values (n,): the line, then the wiggles."""
        if self.basis == "thin-plate":
            wiggles = _kernel(x, self.knots) @ self.weights
        else:
            wiggles = CubicSpline(self.knots, np.eye(len(self.knots)), bc_type="natural")(x) @ self.weights
        return (np.column_stack([x, wiggles]) - self.mean) / self.scale


def _kernel(x: Values, knots: Values) -> Values:
    """The thin-plate kernel of one dimension with a penalty on the second derivative."""
    return np.abs(x[:, None] - knots[None, :]) ** 3 / 12


def _thin_plate(distinct: Values, k: int) -> tuple[Values, Values]:
    """Eigenvectors of the kernel at the values that are there, those of greatest eigenvalue (Wood 2003)."""
    if len(distinct) > _MOST_KNOTS:
        distinct = np.quantile(distinct, np.linspace(0, 1, _MOST_KNOTS))
    value, vector = np.linalg.eigh(_kernel(distinct, distinct))
    first = np.argsort(-np.abs(value))[:k]
    value, vector = value[first], vector[:, first]
    line = np.column_stack([np.ones_like(distinct), distinct - distinct.mean()])
    free = null_space((vector.T @ line).T)  # (k, k - 2): no line among the wiggles
    return distinct, vector @ free @ _root(free.T * value @ free)


def _cubic(distinct: Values, k: int) -> tuple[Values, Values]:
    """The natural cubic spline through its values at k quantiles of the distinct values."""
    knots = np.quantile(distinct, np.linspace(0, 1, k))
    bend = CubicSpline(knots, np.eye(k), bc_type="natural")(
        knots, 2
    )  # (k, k) second derivatives, linear between
    gap = np.diff(knots)
    gram = np.diag(np.r_[gap, 0] + np.r_[0, gap]) / 3
    gram += (np.diag(gap, 1) + np.diag(gap, -1)) / 6
    return knots, _root(bend.T @ gram @ bend, 2)


def _root(penalty: Values, free: int = 0) -> Values:
    """Columns w with w' penalty w = 1; its `free` smallest directions, which cost nothing, are left out."""
    value, vector = np.linalg.eigh(penalty)
    return np.asarray(vector[:, free:] / np.sqrt(value[free:]))
