"""Is a fitted flow any good: does it keep to its graph, look like the data, and is its noise normal?

Source: A. Javaloy et al. (2023), Causal normalizing flows, NeurIPS, section 6; A. Gretton et al. (2012), A kernel
two-sample test, JMLR 13 (maximum mean discrepancy).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import kstwobign

from wayforward.errors import require
from wayforward.public import public
from wayforward.streams import generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayforward.world.flow import CausalFlow

_MOST_JACOBIANS = 512


@public
@dataclass(frozen=True)
class FlowDiagnosis:
    """What n rows that the flow has not seen say about it.

    off_graph: mean |dz_j / dx_k| where k is neither j nor a cause of j; 0 by construction. mmd: maximum mean
    discrepancy between the rows and samples of the flow (0: the same), and mmd_same, its 95% point when both are
    truly the same. log_density: mean over the rows with a 95% interval. calibration: feature -> greatest gap
    between the distribution of Phi(z) and a uniform one; calibration_same: the gap that 95 of 100 perfect
    features stay under. uniform (n, d): Phi(z), within a cell at a random place.
    """

    names: tuple[str, ...]
    off_graph: float
    mmd: float
    mmd_same: float
    log_density: float
    interval: tuple[float, float]
    calibration: dict[str, float]
    calibration_same: float
    uniform: np.ndarray

    def __str__(self) -> str:
        worst = max(self.calibration, key=lambda name: self.calibration[name])
        return (
            f"mean log-density {self.log_density:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f}); "
            f"off the graph {self.off_graph:.1e}; MMD {self.mmd:.4f} (the same: below {self.mmd_same:.4f}); "
            f"calibration worst for '{worst}': {self.calibration[worst]:.3f} "
            f"(perfect: below {self.calibration_same:.3f})"
        )

    def figure_calibration(self) -> Figure:
        """For each feature, the share of people below each point of its noise; perfect is the diagonal.

        Raises: MissingExtra without matplotlib.
        """
        require("matplotlib", extra="plots")
        from matplotlib.figure import Figure

        from wayforward.palette import BLUE, GREY

        across = min(4, len(self.names))
        down = -(-len(self.names) // across)
        figure = Figure(figsize=(2.4 * across, 2.5 * down), layout="constrained")
        grid = np.linspace(0, 1, 101)
        for j, name in enumerate(self.names):
            axes = figure.add_subplot(down, across, j + 1)
            share = np.searchsorted(np.sort(self.uniform[:, j]), grid, side="right") / len(self.uniform)
            axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
            axes.plot(grid, share, color=BLUE)
            axes.set_title(f"{name}\ngap {self.calibration[name]:.3f}", fontsize=8)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            axes.tick_params(labelsize=7)
        figure.supxlabel("quantile of the flow", fontsize=8)
        figure.supylabel("share of people below it", fontsize=8)
        return figure


def diagnose(flow: CausalFlow, x: np.ndarray, samples: int, seed: int) -> FlowDiagnosis:
    """x (n, d) rows in schema order."""
    rng = generator(seed)
    log_density = flow.log_density(x)
    error = 1.96 * float(log_density.std()) / len(x) ** 0.5
    mean, uniform = float(log_density.mean()), _uniform(flow, x, rng)
    names = flow.schema.names
    return FlowDiagnosis(
        names=names,
        off_graph=_off_graph(flow, x[rng.permutation(len(x))[:_MOST_JACOBIANS]]),
        mmd=(pair := _mmd(x, flow.sample(min(samples, len(x)), rng), rng))[0],
        mmd_same=pair[1],
        log_density=mean,
        interval=(mean - error, mean + error),
        calibration={name: _gap(uniform[:, j]) for j, name in enumerate(names)},
        calibration_same=float(kstwobign.ppf(0.95)) / len(x) ** 0.5,
        uniform=uniform,
    )


def _gap(u: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance to the uniform distribution."""
    u, n = np.sort(u), len(u)
    return float(max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max()))


def _uniform(flow: CausalFlow, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n, d) Phi(z); a discrete value stands at a random place of its cell, so that perfect is uniform."""
    out = ndtr(flow.abduct(x))
    columns = [np.ascontiguousarray(x[:, place]) for place in flow.columns]
    causes = dict(enumerate(columns))
    for j, place in enumerate(flow.columns):
        if flow.plan.columns[j].form == "cells":
            low, high = flow.cell_of(j, columns[j], causes)
            out[:, place] = low + (high - low) * rng.random(len(x))
    return np.asarray(out)


def _off_graph(flow: CausalFlow, x: np.ndarray) -> float:
    """Mean |dz_j / dx_k| over pairs that the graph does not join; features scaled by their spread."""
    torch = require("torch", extra="torch")
    rows = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    z = flow.abduct_torch(rows)
    spread = np.where(x.std(0) > 0, x.std(0), 1.0)
    joined = np.eye(flow.schema.d, dtype=bool)
    joined[np.ix_(flow.columns, flow.columns)] |= flow.graph.adjacency()
    total, count = 0.0, 0
    for j in range(flow.schema.d):
        slope: Any = torch.autograd.grad(z[:, j].sum(), rows, retain_graph=True, allow_unused=True)[0]
        if slope is not None:
            total += float(np.abs(slope.numpy() * spread)[:, ~joined[j]].sum())
        count += int((~joined[j]).sum()) * len(x)
    return total / max(count, 1)


def _mmd(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, draws: int = 100) -> tuple[float, float]:
    """Gaussian-kernel MMD of equally many rows of both (median distance), and its 95% point under permutation."""
    m = min(len(x), len(y), 1000)
    x, y = x[rng.permutation(len(x))[:m]], y[:m]
    spread = np.where(x.std(0) > 0, x.std(0), 1.0)
    both = np.concatenate([x, y]) / spread
    square = (both**2).sum(1)
    distance = np.maximum(square[:, None] + square - 2 * both @ both.T, 0.0)
    kernel = np.exp(-distance / np.median(distance[distance > 0]))
    np.fill_diagonal(kernel, 0.0)
    sign = np.repeat([1.0, -1.0], m)
    signs = np.stack([sign, *(rng.permutation(sign) for _ in range(draws))], axis=1)
    gap, total = (signs * (kernel @ signs)).sum(0), float(kernel.sum())  # within less between, and both
    values = (total + gap) / (2 * m * (m - 1)) - (total - gap) / (2 * m * m)
    seen, same = np.sqrt(np.maximum([values[0], np.quantile(values[1:], 0.95)], 0.0))
    return float(seen), float(same)
