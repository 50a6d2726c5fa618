"""A linear classifier for people who respond to it: gaming is expected, and improvement is made worth it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from wayforward.errors import is_integer
from wayforward.shapes import Floats
from wayforward.training.linear import LinearRecourse, check_settings

_TINY = 1e-12


class StrategicRecourse(LinearRecourse):
    """Linear classifier that is right after people respond to it, and that leads the refused to improve.

    People change features at the cost (x' - x)' S^-1 (x' - x) and do so where that is at most `gain`: the best response
    is in closed form, so is the score that decides, ``f(x) + sqrt(gain * w_A' S_A w_A)``. Of the features A that they
    can change, `improvable` ones change their true qualification, `manipulable` ones do not. Minimise the mean of
    ``loss(f(response on A), y) + lam * loss(f(response on improvable ones), yes)`` and ``|w|^2 / (2 C n)``, with the
    logistic loss in place of the 0-1 loss. Without either kind of features, and at lam=0, this is logistic regression.

    lam: weight of improvement. manipulable, improvable: columns. covariance: S, (e,) its diagonal or (e, e); left out,
    ones. gain: what a yes is worth, 2 in the paper. C: inverse strength of the ridge.

    Example: ``StrategicRecourse(lam=0.5, improvable=[0, 1], manipulable=[2]).fit(X, y)``.
    Raises: ValueError, as scikit-learn does, and for columns or a covariance that do not fit.
    Source: Y. Chen, J. Wang & Y. Liu (2020), Linear Classifiers that Encourage Constructive Adaptation,
    arXiv:2011.00355 (Strategic Recourse in the survey).
    """

    def __init__(
        self,
        lam: float = 0.5,
        manipulable: Sequence[int] = (),
        improvable: Sequence[int] = (),
        covariance: Any = None,
        gain: float = 2.0,
        C: float = 1.0,
    ) -> None:
        self.lam, self.manipulable, self.improvable = lam, manipulable, improvable
        self.covariance, self.gain, self.C = covariance, gain, C

    def fit(self, X: Any, y: Any) -> StrategicRecourse:
        """Train on rows (n, e) as people are before they respond, and labels (n,)."""
        check_settings(self, "lam", "gain", "C")
        X, sign = self._begin(X, y)
        every = self._spread(X.shape[1])
        better = self._spread(X.shape[1], self.improvable)
        ridge = 1 / (self.C * len(X))

        def objective(theta: Floats) -> tuple[float, Floats]:
            w, score = theta[:-1], X @ theta[:-1] + theta[-1]
            value, gradient, bias = 0.5 * ridge * w @ w, ridge * w, 0.0
            for weight, label, spread in ((1.0, sign, every), (self.lam, np.ones(len(X)), better)):
                lift = np.sqrt(self.gain * (w @ spread @ w) + _TINY)
                margin = label * (score + lift)
                push = -weight * label * expit(-margin) / len(X)
                value += weight * np.logaddexp(0, -margin).mean()
                gradient = gradient + X.T @ push + push.sum() * self.gain * (spread @ w) / lift
                bias += push.sum()
            return float(value), np.append(gradient, bias)

        # the paper's objective is not convex: begin where nobody responds
        plain = np.append(np.zeros(X.shape[1]), np.log((sign > 0).mean() / (sign < 0).mean()))
        starts = [plain, np.append(((X - X.mean(0)) * sign[:, None]).mean(0), plain[-1])]
        found = [
            minimize(objective, start, method="L-BFGS-B", jac=True, options={"maxiter": 1000, "gtol": 1e-8})
            for start in starts
        ]
        self._set(min(found, key=lambda one: one.fun).x)
        return self

    def _spread(self, e: int, columns: Sequence[int] | None = None) -> Floats:
        """(e, e) how far a unit of cost leads when these columns move and no other: (S^-1 on them)^-1, else 0.

        columns: left out, manipulable and improvable ones.
        """
        columns = [*self.manipulable, *self.improvable] if columns is None else columns
        odd = [one for one in columns if not is_integer(one)]
        if odd:
            raise ValueError(f"{odd[0]!r} is no column of X. Give their places, such as [0, 2].")
        at = np.unique(np.asarray(list(columns), dtype=np.int64))
        if at.size and not (at[0] >= 0 and at[-1] < e):
            raise ValueError(
                f"There is no column {at[-1] if at[-1] >= e else at[0]}; X has columns 0 to {e - 1}."
            )
        s = np.ones(e) if self.covariance is None else np.asarray(self.covariance, dtype=np.float64)
        s = np.diag(s) if s.ndim == 1 else s
        if s.shape != (e, e) or not np.allclose(s, s.T) or not (np.linalg.eigvalsh(s) > 0).all():
            raise ValueError(
                f"covariance must be positive definite, ({e},) or ({e}, {e}); got shape {s.shape}."
            )
        out = np.zeros((e, e))
        if at.size:
            out[np.ix_(at, at)] = np.linalg.inv(np.linalg.inv(s)[np.ix_(at, at)])
        return out

    def respond(self, X: Any, columns: Sequence[int] | None = None) -> tuple[Floats, Floats]:
        """Best responses (n, e) of people (n, e) who may change these columns, and their costs (n,), 0 of who stays.

        columns: left out, manipulable and improvable ones. Who moves stands on the boundary to
        the last bits, where `predict` may say either; `after_response` tells the labels.
        """
        X = self._rows(X)
        spread = self._spread(X.shape[1], columns)
        along = spread @ self.coef_[0]
        steep, score = float(self.coef_[0] @ along), self._score(X)
        cost = score**2 / steep if steep > 0 else np.full(len(X), np.inf)
        moves = (score <= 0) & (cost <= self.gain)
        led = X - np.where(moves, score, 0.0)[:, None] * (along / steep if steep > 0 else along)
        return led, np.where(moves, cost, 0.0)

    def after_response(self, X: Any, columns: Sequence[int] | None = None) -> Any:
        """(n, e) -> (n,) labels that people have once they responded."""
        X = self._rows(X)
        spread = self._spread(X.shape[1], columns)
        lift = np.sqrt(self.gain * (self.coef_[0] @ spread @ self.coef_[0]))
        score = self._score(X)
        yes = (score > 0) | ((lift > 0) & (score >= -lift))
        return self.classes_[yes.astype(int)]
