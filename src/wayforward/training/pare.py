"""Models that are trained so that the refused have a way, and a threshold under which most surely do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom
from sklearn.utils import check_random_state

from wayforward.errors import DataError, is_number, is_whole, require
from wayforward.shapes import Floats
from wayforward.training.allowed import AllowedChanges
from wayforward.training.linear import Layers, LinearRecourse, check_counts, check_settings


class PARE(LinearRecourse):
    """Logistic regression, or a network, that loses as well where no allowed change reaches a yes.

    Minimise the mean of ``loss(f(x), y) + lam * loss(f(x + d), yes)`` and ``|w|^2 / (2 C n)``, with logistic loss and d
    the best change within `allowed` along the gradient of f at x: exact for a linear f. `lam=0` is plain training.

    lam: weight of recourse, 0 to 2 in the paper. allowed: what people may change, in units of X; left out, every column
    by .75. hidden: units of each hidden layer (rectified; needs torch); () is linear. C: inverse strength of the
    ridge. epochs, batch, rate: of Adam, for networks.
    Fitted: `coef_`, `intercept_` of a linear one; `layers_` of a network.

    Example: ``PARE(lam=1).fit(X, y).calibrate(X_held_out, eps=0.05, delta=0.05)``.
    Raises: ValueError, as scikit-learn does; MissingExtra for networks without torch.
    Source: A. Ross, H. Lakkaraju & O. Bastani (2021), Learning Models for Actionable Recourse, NeurIPS,
    arXiv:2011.06146 (PARE in the survey).
    """

    def __init__(
        self,
        lam: float = 1.0,
        allowed: AllowedChanges | None = None,
        hidden: tuple[int, ...] = (),
        C: float = 1.0,
        epochs: int = 15,
        batch: int = 128,
        rate: float = 0.002,
        random_state: Any = None,
    ) -> None:
        self.lam, self.allowed, self.hidden, self.C = lam, allowed, hidden, C
        self.epochs, self.batch, self.rate, self.random_state = epochs, batch, rate, random_state

    def fit(self, X: Any, y: Any) -> PARE:
        """Train on rows (n, e) and labels (n,)."""
        check_settings(self, "lam", "C", "rate")
        check_counts(self, epochs=0, batch=1)
        if not isinstance(self.hidden, (tuple, list)) or not all(is_whole(one, 1) for one in self.hidden):
            raise ValueError(
                f"hidden={self.hidden!r} must hold the units of each hidden layer, such as (16,)."
            )
        if not (self.allowed is None or isinstance(self.allowed, AllowedChanges)):
            raise ValueError(
                f"allowed={self.allowed!r} is no AllowedChanges. Give AllowedChanges.box, or of."
            )
        X, sign = self._begin(X, y)
        self.allowed_ = AllowedChanges.box(X.shape[1]) if self.allowed is None else self.allowed
        if len(self.allowed_.low) != X.shape[1]:
            raise ValueError(f"allowed changes are of {len(self.allowed_.low)} columns; X has {X.shape[1]}.")
        if self.hidden:
            self.layers_ = self._train_network(X, sign)
        else:
            ridge = 1 / (self.C * len(X))
            start = np.zeros(X.shape[1] + 1)
            found = minimize(
                self._objective,
                start,
                (X, sign, ridge),
                "L-BFGS-B",
                jac=True,
                options={"maxiter": 1000, "gtol": 1e-8},
            )
            self._set(found.x)
        return self

    def _objective(self, theta: Floats, X: Floats, sign: Floats, ridge: float) -> tuple[float, Floats]:
        w = theta[:-1]
        margin = sign * (X @ w + theta[-1])
        push = -sign * expit(-margin) / len(X)
        value = np.logaddexp(0, -margin).mean() + 0.5 * ridge * w @ w
        gradient = X.T @ push + ridge * w
        bias = push.sum()
        if self.lam > 0:
            led = X + self.allowed_.best(w, X)
            score = led @ w + theta[-1]
            push = -self.lam * expit(-score) / len(X)
            value += self.lam * np.logaddexp(0, -score).mean()
            gradient, bias = gradient + led.T @ push, bias + push.sum()
        return float(value), np.append(gradient, bias)

    # -- networks ------------------------------------------------------------------------------------------

    def _train_network(self, X: Floats, sign: Floats) -> list[tuple[Floats, Floats]]:
        torch = require("torch", extra="torch")
        rng = check_random_state(self.random_state)
        widths = [X.shape[1], *self.hidden, 1]
        layers = [
            (
                torch.tensor(rng.normal(0, np.sqrt(2 / a), (a, b)), requires_grad=True),
                torch.zeros(b, dtype=torch.float64, requires_grad=True),
            )
            for a, b in pairwise(widths)
        ]
        parts = [part for layer in layers for part in layer]
        weights = [layer[0] for layer in layers]

        def score(rows: Any) -> Any:
            for at, (weight, bias) in enumerate(layers):
                rows = rows @ weight + bias
                rows = rows if at == len(layers) - 1 else torch.relu(rows)
            return rows[:, 0]

        adam = torch.optim.Adam(parts, lr=self.rate)
        loss = torch.nn.functional.softplus
        for _ in range(int(self.epochs)):
            order = rng.permutation(len(X))
            for start in range(0, len(X), int(self.batch)):
                some = order[start : start + int(self.batch)]
                rows = torch.tensor(X[some], requires_grad=self.lam > 0)
                own = score(rows)
                total = loss(-torch.tensor(sign[some]) * own).mean()
                if self.lam > 0:
                    (slope,) = torch.autograd.grad(own.sum(), rows, retain_graph=True)
                    led = torch.tensor(X[some] + self.allowed_.best(slope.numpy(), X[some]))
                    total = total + self.lam * loss(-score(led)).mean()
                ridge = sum((weight**2).sum() for weight in weights) / (2 * self.C * len(X))
                adam.zero_grad()
                (total + ridge).backward()
                adam.step()
        return [(weight.detach().numpy(), bias.detach().numpy()) for weight, bias in layers]

    def _score(self, X: Floats) -> Floats:
        return self._forward(X)[0] if self.hidden else super()._score(X)

    def _forward(self, X: Floats) -> tuple[Floats, Floats]:
        """(n, e) -> scores (n,) and their gradients (n, e), of a network."""
        rows, on = X, []
        for weight, bias in self.layers_[:-1]:
            rows = rows @ weight + bias
            on.append(rows > 0)
            rows = np.maximum(rows, 0.0)
        weight, bias = self.layers_[-1]
        back = np.broadcast_to(weight[:, 0], (len(X), len(weight)))
        for mask, (inner, _) in zip(reversed(on), reversed(self.layers_[:-1]), strict=True):
            back = (back * mask) @ inner.T
        return np.asarray(rows @ weight[:, 0] + bias[0]), np.asarray(back)

    def as_layers(self) -> Layers:
        """Weights, biases and activations of each layer and the link of the last, for `wf.wrap`."""
        if not self.hidden:
            return super().as_layers()
        activations = ["relu"] * (len(self.layers_) - 1) + ["identity"]
        return [w for w, _ in self.layers_], [b for _, b in self.layers_], activations, "logistic"

    # -- recourse ------------------------------------------------------------------------------------------

    def reachable_score(self, X: Any) -> Floats:
        """(n, e) -> (n,) the best score within `allowed`; of a network, where its gradient leads: at least this."""
        X = self._rows(X)
        slope = self._forward(X)[1] if self.hidden else self.coef_[0]
        return np.asarray(np.maximum(self._score(X), self._score(X + self.allowed_.best(slope, X))))

    def calibrate(self, X: Any, eps: float = 0.05, delta: float = 0.05) -> PARE:
        """Lower the threshold until at most a share `eps` of people lack recourse, with probability 1 - `delta`.

        X (n, e): people from those of whom this is to hold, such as all or the refused, who took no part in training.
        The threshold never rises. It moves into the intercept: zero stays the boundary, .5 its probability.
        Raises: DataError where n is too small for any promise.
        """
        reach = np.sort(self.reachable_score(X))
        bar = min(0.0, float(reach[recourse_rank(len(reach), eps, delta)]))
        bar -= 1e-9 * (1 + abs(bar)) * (bar < 0)  # who stands on the boundary is let in
        self.threshold_ = bar
        if self.hidden:
            weight, bias = self.layers_[-1]
            self.layers_[-1] = weight, bias - bar
        else:
            self.intercept_ = self.intercept_ - bar
        return self


def recourse_rank(n: int, eps: float, delta: float) -> int:
    """Return how many of n calibration people may lie below a threshold: most k with P(Bin(n, eps) <= k) <= delta.

    Then all but a share eps of people lie above it with probability 1 - delta. Raises: DataError where even none below
    promises too little, and for shares outside (0, 1).
    """
    if not (is_number(eps) and is_number(delta) and 0 < eps < 1 and 0 < delta < 1):
        raise DataError(f"eps={eps!r} and delta={delta!r} must be shares between 0 and 1, such as 0.05.")
    k = int(np.searchsorted(binom.cdf(np.arange(n), n, eps), delta, side="right")) - 1
    if k < 0:
        least = int(np.ceil(np.log(delta) / np.log1p(-eps)))
        raise DataError(
            f"{n} people are too few to promise that at most {eps:g} lack recourse with probability {1 - delta:g}. "
            f"Give {least} or more, or a larger eps or delta."
        )
    return k
