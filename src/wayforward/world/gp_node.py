"""One effect and its causes, fitted by a Gaussian process: value = f(causes) + noise, all formulas exact.

Shapes: N kept rows, p inputs, P people, T points asked about. Everything here is standardised; the world puts the
units back. No result of a row depends on which other rows are asked about: products of matrices go in blocks of one
size, padded, and the other sums run along one row.

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic Recourse under Imperfect Causal
Knowledge: a Probabilistic Approach, NeurIPS, section 4; C. E. Rasmussen and C. K. I. Williams (2006), Gaussian
Processes for Machine Learning, chapters 2 and 5.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wayforward.lazy import cached_property
from wayforward.streams import keys_of

Variance = Literal["exact", "published"]
_BLOCK = 192  # rows of every product of matrices
_CELLS = 2_000_000  # kernel values held at once: 16 MB an array


@dataclass(frozen=True)
class Own:
    """What P people's own values tell: their noise, and the function near where they stand.

    At new causes with kernel row k*, cg = near * k(own, *) + pull . k* is minus the covariance of the function there
    with the person's noise, over the noise variance; the posterior mean is k* . alpha + lift * cg + noise, and the
    posterior variance of the function is the one from the data less cg^2 * again.
    """

    inputs: np.ndarray  # (P, p)
    noise: np.ndarray  # (P,) posterior mean of the noise
    spread: np.ndarray  # (P,) posterior variance of the noise
    near: np.ndarray  # (P,)
    pull: np.ndarray  # (P, N)
    lift: np.ndarray  # (P,)
    again: np.ndarray  # (P,)


@dataclass(frozen=True)
class GpNode:
    """A Gaussian process with an RBF kernel, one length an input (ARD), a linear trend, and white noise.

    inputs (N, p) and target (N,): the kept rows, standardised. length (p,); amplitude, slope and noise: variances (of
    the smooth part, of each input's weight in the trend, 0 for none, and of the noise).
    keys (N,): which people the rows are, so that nobody's own value counts twice.
    """

    inputs: np.ndarray
    target: np.ndarray
    length: np.ndarray
    amplitude: float
    noise: float
    keys: np.ndarray
    slope: float = 0.0

    @classmethod
    def fit(
        cls, inputs: np.ndarray, target: np.ndarray, *, seed: int, tune: int, trend: bool = True
    ) -> GpNode:
        """Lengths and variances by marginal likelihood on `tune` of the rows; the posterior from all of them."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(np.ones(inputs.shape[1]), (0.05, 1e3))
        if trend:
            kernel += ConstantKernel(0.3, (1e-4, 1e2)) * DotProduct(0.0, "fixed")
        kernel += WhiteKernel(0.3, (1e-6, 4.0))
        few = slice(0, tune)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # a length at its bound: the input does not matter
            found = (
                GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=seed)
                .fit(inputs[few], target[few])
                .kernel_
            )
        smooth = found.k1.k1 if trend else found.k1
        amplitude = float(smooth.k1.constant_value)
        return cls(
            inputs=np.ascontiguousarray(inputs),
            target=np.ascontiguousarray(target),
            length=np.atleast_1d(smooth.k2.length_scale).astype(np.float64),
            amplitude=amplitude,
            noise=max(
                float(found.k2.noise_level), 1e-7 * amplitude
            ),  # less, and the inverse loses its digits
            keys=_keys(inputs, target),
            slope=float(found.k1.k2.k1.constant_value) if trend else 0.0,
        )

    # -- what the data say ---------------------------------------------------------------------------------

    @cached_property
    def _precision(self) -> np.ndarray:
        """(N, N) A = (K + noise I)^-1."""
        from scipy.linalg import cho_factor, cho_solve

        covariance = self.kernel(self.inputs)
        covariance[np.diag_indices_from(covariance)] += self.noise
        inverse = cho_solve(cho_factor(covariance, lower=True), np.eye(len(covariance)))
        return np.ascontiguousarray((inverse + inverse.T) / 2)

    @cached_property
    def _root(self) -> np.ndarray:
        """(N, r) with k' A k = |k' root|^2 for the kernel row k of any point, up to 1e-10 of its variance.

        From the eigenvectors q of K, value e: k' A k is the sum of (q . k)^2 / (e + noise), and (q . k)^2 is at most
        e times the variance there, so directions with next to no value are left out; few are left where f is smooth.
        """
        value, vector = np.linalg.eigh(self.kernel(self.inputs))
        value = np.maximum(value, 0.0)
        keep = np.cumsum(value / (value + self.noise)) > 1e-10
        return np.ascontiguousarray(vector[:, keep] / np.sqrt(value[keep] + self.noise))

    def _explained(self, k: np.ndarray) -> np.ndarray:
        """(T, N) -> (T,) k' A k: how much the data tell about the function there."""
        return np.asarray(np.square(_times(k, self._root)).sum(1))

    @cached_property
    def _alpha(self) -> np.ndarray:
        """(N,) A y."""
        return np.asarray((self._precision * self.target).sum(1))

    @cached_property
    def _place(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.keys, kind="stable")
        return self.keys[order], order

    def kernel(self, points: np.ndarray) -> np.ndarray:
        """(T, p) -> (T, N) covariance of the function with the kept rows."""
        far = np.zeros((len(points), len(self.inputs)))
        along = np.zeros(far.shape)
        for j, length in enumerate(self.length):
            far += np.square((points[:, j, None] - self.inputs[:, j]) / length)
            if self.slope:
                along += points[:, j, None] * self.inputs[:, j]
        smooth = self.amplitude * np.exp(-0.5 * far)
        return np.asarray(smooth + self.slope * along if self.slope else smooth)

    def _alone(self, points: np.ndarray) -> np.ndarray:
        """(T, p) -> (T,) variance of the function before any data."""
        return np.asarray(self.amplitude + self.slope * np.square(points).sum(1))

    def _between(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """(T, p), (T, p) -> (T,) covariance of the function at two points, before any data."""
        far = np.square((one - other) / self.length).sum(1)
        return np.asarray(self.amplitude * np.exp(-0.5 * far) + self.slope * (one * other).sum(1))

    def prior(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(T, p) -> (T,) mean and variance of the function, from the data alone."""
        mean, variance = np.empty(len(points)), np.empty(len(points))
        for part in self._parts(len(points)):
            k = self.kernel(points[part])
            mean[part] = (k * self._alpha).sum(1)
            variance[part] = self._alone(points[part]) - self._explained(k)
        return mean, np.maximum(variance, 0.0)

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """(N,) mean and variance of each kept row's value, told by the other rows."""
        own = np.diag(self._precision)
        return self.target - self._alpha / own, 1 / own

    # -- what a person's own value adds --------------------------------------------------------------------

    def own(self, inputs: np.ndarray, value: np.ndarray) -> Own:
        """inputs (P, p), value (P,) of people -> what they tell. People among the kept rows are counted once.

        Anybody else's value is added to the data, exactly: with mean mu and variance v of the function from the data
        and s2 the noise, their noise has the mean s2 (value - mu) / (v + s2) and the variance s2 v / (v + s2).
        """
        s2, count = self.noise, len(self.inputs)
        keys, order = self._place
        key = _keys(inputs, value)
        at = np.minimum(np.searchsorted(keys, key), count - 1)
        known, row = keys[at] == key, order[at]
        k = self.kernel(inputs)
        weight = _times(_times(k, self._root), self._root.T)  # A k, in the directions that count
        mean, variance = (k * self._alpha).sum(1), np.maximum(self._alone(inputs) - (weight * k).sum(1), 0.0)
        gain = 1 / (variance + s2)
        left = (value - mean) * gain
        inside = np.diag(self._precision)[row]
        left = np.where(known, self._alpha[row], left)
        gain_all = np.where(known, inside, gain)
        return Own(
            inputs=inputs,
            noise=s2 * left,
            spread=np.maximum(s2 * (1 - s2 * gain_all), 0.0),
            near=np.where(known, 0.0, gain),
            pull=np.where(known[:, None], self._precision[row], -weight * gain[:, None]),
            lift=np.where(known, 0.0, left / gain),
            again=np.where(known, 0.0, 1 / gain),
        )

    def counterfactual(
        self, own: Own, who: np.ndarray, points: np.ndarray, *, spread: bool, kind: Variance = "exact"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where people who (T,) would stand with the causes `points` (T, p): mean and variance (T,).

        exact: the function there and the person's noise are correlated once their value is known; with their own
        causes the variance is 0. published: the sum of both variances, as in the paper. Not `spread`: variance 0.
        """
        mean, variance = np.empty(len(points)), np.zeros(len(points))
        for part in self._parts(len(points)):
            k, i = self.kernel(points[part]), who[part]
            cg = own.near[i] * self._between(points[part], own.inputs[i]) + (own.pull[i] * k).sum(1)
            mean[part] = (k * self._alpha).sum(1) + own.lift[i] * cg + own.noise[i]
            if spread:
                data = self._alone(points[part]) - self._explained(k)
                variance[part] = data - np.square(cg) * own.again[i] + own.spread[i]
                if kind == "exact":
                    variance[part] -= 2 * self.noise * cg
        return mean, np.maximum(variance, 0.0)

    def _parts(self, count: int) -> list[slice]:
        step = max(1, _CELLS // len(self.inputs))
        return [slice(start, start + step) for start in range(0, count, step)]

    # -- the same on tensors -------------------------------------------------------------------------------

    def tensors(self, torch: Any, like: Any) -> dict[str, Any]:
        """Inputs, alpha and the root as tensors of the kind of `like`."""
        made = {
            "inputs": self.inputs,
            "alpha": self._alpha,
            "root": self._root,
            "length": self.length,
        }
        return {
            name: torch.as_tensor(array, dtype=like.dtype, device=like.device) for name, array in made.items()
        }

    def kernel_torch(self, torch: Any, t: dict[str, Any], points: Any) -> Any:
        """(T, p) -> (T, N)."""
        far = (((points[:, None, :] - t["inputs"]) / t["length"]) ** 2).sum(-1)
        return self.amplitude * torch.exp(-0.5 * far) + self.slope * (points @ t["inputs"].T)

    def prior_torch(self, torch: Any, points: Any, *, spread: bool = True) -> tuple[Any, Any]:
        """(T, p) -> (T,) mean and variance of the function, from the data alone."""
        t = self.tensors(torch, points)
        k = self.kernel_torch(torch, t, points)
        mean = k @ t["alpha"]
        if not spread:
            return mean, torch.zeros_like(mean)
        alone = self.amplitude + self.slope * (points**2).sum(-1)
        return mean, (alone - ((k @ t["root"]) ** 2).sum(-1)).clamp_min(0.0)

    def counterfactual_torch(
        self, torch: Any, own: Own, who: np.ndarray, points: Any, *, spread: bool, kind: Variance = "exact"
    ) -> tuple[Any, Any]:
        """`counterfactual` on tensors; differentiable in `points`."""
        t = self.tensors(torch, points)

        def lift(array: np.ndarray) -> Any:
            return torch.as_tensor(array[who], dtype=points.dtype, device=points.device)

        k = self.kernel_torch(torch, t, points)
        far = (((points - lift(own.inputs)) / t["length"]) ** 2).sum(-1)
        between = self.amplitude * torch.exp(-0.5 * far) + self.slope * (points * lift(own.inputs)).sum(-1)
        cg = lift(own.near) * between + (lift(own.pull) * k).sum(-1)
        mean = k @ t["alpha"] + lift(own.lift) * cg + lift(own.noise)
        if not spread:
            return mean, torch.zeros_like(mean)
        alone = self.amplitude + self.slope * (points**2).sum(-1)
        variance = alone - ((k @ t["root"]) ** 2).sum(-1) - cg**2 * lift(own.again)
        variance = variance + lift(own.spread)
        return mean, (variance - 2 * self.noise * cg if kind == "exact" else variance).clamp_min(0.0)


def _keys(inputs: np.ndarray, value: np.ndarray) -> np.ndarray:
    """(P,) which person this is, by causes and own value, up to the last digits of a standardised number."""
    return keys_of(np.column_stack([inputs, value]).round(9), 0)


def _times(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(T, N) @ (N, r) in padded blocks, so that a row's product is the same whatever stands beside it."""
    out = np.empty((len(rows), other.shape[1]))
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        if len(part) < _BLOCK:
            part = np.concatenate([part, np.zeros((_BLOCK - len(part), rows.shape[1]))])
        out[start : start + _BLOCK] = (part @ other)[: len(rows) - start]
    return out
