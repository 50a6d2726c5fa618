"""The synthetic set as the public notebook draws it, its linear classifier, and its indices.

Facts, not code, of the public notebook of Gao & Lakkaraju (2023). The indices are counted in two ways: as the notebook
counts them, and as this library does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from wayforward.groups import Groups
from wayforward.impact.segregation import Areas, segregation

MEANS = ((0.0, 10.0), (5.0, 5.0), (-5.0, -10.0), (0.0, -15.0))  # accepted M and F, refused M and F
EACH, TRAINING = 200, 600
#: The quantile of the distances within group M that is the radius of a neighbourhood.
NOTEBOOK_QUANTILE, PAPER_QUANTILE = 0.1, 0.2
WAYS = ("notebook", "ours")


@dataclass(frozen=True)
class DrawnPeople:
    """One draw: x (800, 2), group (800,) with 0 for M, label (800,). The first 600 are the training part."""

    x: np.ndarray
    group: np.ndarray
    label: np.ndarray
    seed: int

    @cached_property
    def weights(self) -> np.ndarray:
        """(3,) slope and constant of the classifier."""
        return rmsprop_line(self.x[:TRAINING], self.label[:TRAINING], self.seed)

    @property
    def here(self) -> np.ndarray:
        """(r, 2): whom the classifier refuses in the training part."""
        return np.asarray(self.x[:TRAINING][self.refused])

    def score(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """(..., 2) -> (...): log-odds of a yes; the same for everybody."""
        return np.asarray(rows @ self.weights[:2] + self.weights[2])

    def slope(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """(q, 2) -> (q, 2): how the log-odds change."""
        return np.broadcast_to(self.weights[:2], rows.shape)

    @cached_property
    def refused(self) -> np.ndarray:
        """(600,) bool: whom the classifier refuses in the training part."""
        return np.asarray(self.score(self.x[:TRAINING]) <= 0)

    @cached_property
    def radius(self) -> dict[str, float]:
        """Of a neighbourhood, by the way of counting."""
        within = pdist(self.x[:TRAINING][self.group[:TRAINING] == 0])
        quantiles = zip(WAYS, (NOTEBOOK_QUANTILE, PAPER_QUANTILE), strict=True)
        return {way: float(np.quantile(within, q)) for way, q in quantiles}

    @cached_property
    def areas(self) -> dict[str, Areas]:
        """By the way of counting: the notebook fits its areas to accepted rows, the paper's text to everybody."""
        here = self.x[:TRAINING]
        return {
            "notebook": Areas.fit(here[~self.refused], seed=self.seed),
            "ours": Areas.fit(here, seed=self.seed),
        }

    def indices(self, rows: np.ndarray, group: np.ndarray, way: str) -> dict[str, float]:
        """The three indices of people at rows (n, 2), counted in a way."""
        got = segregation(
            rows,
            Groups("group", ("M", "F"), group),
            group="M",
            areas=self.areas[way],
            radius=self.radius[way],
        )
        central = got.centralization
        if way == "notebook":
            central = mispaired(rows, group, self.radius[way])
        return {"centralization": central, "atkinson": got.atkinson, "proximity": got.proximity}


@lru_cache(maxsize=2)
def drawn_people(seed: int) -> DrawnPeople:
    """Draw the four normals, scale, shuffle and split, with the generator that the notebook uses."""
    random = np.random.RandomState(seed)
    x = np.concatenate([random.multivariate_normal(mean, 5 * np.eye(2), EACH) for mean in MEANS])
    x = (x / np.abs(x).max(0) + 1) / 2
    order = random.permutation(len(x))
    # scikit-learn's unstratified split does the same with this generator: the first quarter is held out.
    split = random.permutation(len(x))
    order = order[np.r_[split[len(x) - TRAINING :], split[: len(x) - TRAINING]]]
    group, label = np.tile(np.repeat([0, 1], EACH), 2), np.repeat([1, 1, 0, 0], EACH)
    return DrawnPeople(x[order], group[order], label[order], seed)


def mispaired(rows: np.ndarray, group: np.ndarray, radius: float) -> float:
    """Return the notebook's centralization: 'is central' of each of the m of group M, paired with the first m rows.

    Its flags are those of the m members, in order, and the group column is everybody's, so a flag counts if whoever
    stands in that row is of M: m times the share of M among the first m rows, on average, and not the m central ones.
    """
    inside = group == 0
    m = int(inside.sum())
    if not m:
        return float("nan")
    near = cKDTree(rows)
    around = near.query_ball_point(rows[inside], radius)
    central = np.array([inside[some].mean() > 0.5 for some in around])
    return float((central & inside[:m]).mean())


def rmsprop_line(
    x: np.ndarray, y: np.ndarray, seed: int, *, rate: float = 0.1, epochs: int = 200, batch: int = 32
) -> np.ndarray:
    """Train a logistic line by RMSprop (decay .99) and return slope and constant (d + 1,)."""
    rng = np.random.default_rng([11, seed])
    rows = np.column_stack([x, np.ones(len(x))])
    line = rng.uniform(-0.5, 0.5, rows.shape[1])
    square = np.zeros_like(line)
    for _ in range(epochs):
        order = rng.permutation(len(rows))
        for begin in range(0, len(rows), batch):
            some = order[begin : begin + batch]
            chance = 1 / (1 + np.exp(-rows[some] @ line))
            slope = (chance - y[some]) @ rows[some] / len(some)
            square = 0.99 * square + 0.01 * slope * slope
            line -= rate * slope / (np.sqrt(square) + 1e-8)
    return np.asarray(line)


def rmsprop_net(
    x: np.ndarray, y: np.ndarray, seed: int, *, rate: float = 0.002, epochs: int = 99, batch: int = 1024
) -> tuple[np.ndarray, ...]:
    """Train one hidden layer of 32 (ReLU) by RMSprop (decay .99): weights (d, 32), biases (32,), (32,) and (1,)."""
    rng = np.random.default_rng([31, seed])
    d = x.shape[1]
    parts = [
        rng.uniform(-1, 1, shape) / np.sqrt(wide)
        for wide, shape in ((d, (d, 32)), (d, 32), (32, 32), (32, 1))
    ]
    squares = [np.zeros_like(part) for part in parts]
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for begin in range(0, len(x), batch):
            some = order[begin : begin + batch]
            hidden = np.maximum(x[some] @ parts[0] + parts[1], 0)
            wrong = (1 / (1 + np.exp(-(hidden @ parts[2] + parts[3]))) - y[some]) / len(some)
            back = (wrong[:, None] * parts[2]) * (hidden > 0)
            slopes = (x[some].T @ back, back.sum(0), hidden.T @ wrong, wrong.sum(keepdims=True))
            for part, square, slope in zip(parts, squares, slopes, strict=True):
                square *= 0.99
                square += 0.01 * slope * slope
                part -= rate * slope / (np.sqrt(square) + 1e-8)
    return tuple(parts)
