"""How much like real people a profile looks: neighbours, LOF, isolation forest, connectedness, density.

Every score is per row (m,) and gives NaN for a row that is all NaN (not found). Neighbours are looked up in
range-scaled columns, `distance.euclidean_columns`, so income in EUR and a category weigh alike. The reference
is subsampled above a stated size, with a seed, because these scores need a sample and not a census.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wayforward.errors import DataError, shown
from wayforward.evaluate.distance import euclidean_columns
from wayforward.schema import Schema
from wayforward.shapes import Floats, Mask


@dataclass
class Reference:
    """Known people with the model's own decision about each, and the indexes over them.

    Args:
        x: (R, d) reference people, feature units.
        favourable: (R,) bool, the model accepts them; predictions and not labels.
        correct: (R,) bool, the prediction equals the label; None when there are no labels, and then every
            accepted person counts as correctly accepted in `connected`.
        most: rows kept per index; more are subsampled with `seed`.
    """

    schema: Schema
    x: Floats
    favourable: Mask
    correct: Mask | None = None
    most: int = 10_000
    seed: int = 0
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.x = np.asarray(self.x, dtype=np.float64)
        self.favourable = np.asarray(self.favourable, dtype=bool)
        if len(self.x) > self.most:
            sample = np.sort(np.random.default_rng(self.seed).choice(len(self.x), self.most, replace=False))
            self.x, self.favourable = self.x[sample], self.favourable[sample]
            self.correct = None if self.correct is None else np.asarray(self.correct, dtype=bool)[sample]

    def yNN(self, rows: np.ndarray, favourable: np.ndarray | None = None, k: int = 5) -> Floats:
        """Share of the k nearest reference people whom the model decides about as about the row: (m,).

        `favourable` (m,) is the decision about each row; None means all favourable, the published shortcut.
        """
        rows = np.asarray(rows, dtype=np.float64)
        out, real = _blank(rows)
        if not real.any() or not len(self.x):
            return out
        near = self._index("all", self.x).kneighbors(
            self._columns(rows[real]), n_neighbors=min(k, len(self.x)), return_distance=False
        )
        wanted = np.ones(len(rows), dtype=bool) if favourable is None else np.asarray(favourable, dtype=bool)
        out[real] = (self.favourable[near] == wanted[real][:, None]).mean(1)
        return out

    def nearest_favourable(self, rows: np.ndarray) -> Floats:
        """Distance to the nearest reference person whom the model accepts: (m,), range-scaled Euclidean."""
        rows = np.asarray(rows, dtype=np.float64)
        out, real = _blank(rows)
        if real.any() and self.favourable.any():
            index = self._index("favourable", self.x[self.favourable])
            out[real] = index.kneighbors(self._columns(rows[real]), n_neighbors=1)[0][:, 0]
        return out

    def lof(self, rows: np.ndarray, k: int = 20) -> Floats:
        """Local outlier factor against the accepted reference people: (m,), 1 = as among its neighbours.

        Source: M. Breunig, H.-P. Kriegel, R. Ng & J. Sander (2000), SIGMOD.
        """
        rows = np.asarray(rows, dtype=np.float64)
        out, real = _blank(rows)
        if real.any() and self.favourable.sum() > 1:
            if "lof" not in self._cache:
                from sklearn.neighbors import LocalOutlierFactor

                accepted = self.x[self.favourable]
                model = LocalOutlierFactor(n_neighbors=min(k, len(accepted) - 1), novelty=True)
                self._cache["lof"] = model.fit(self._columns(accepted))
            out[real] = -self._cache["lof"].score_samples(self._columns(rows[real]))
        return out

    def isolation(self, rows: np.ndarray) -> Floats:
        """Isolation-forest score against all reference people: (m,), near 0.5 is ordinary, near 1 is odd.

        Source: F. T. Liu, K. M. Ting & Z.-H. Zhou (2008), ICDM.
        """
        rows = np.asarray(rows, dtype=np.float64)
        out, real = _blank(rows)
        if real.any() and len(self.x) > 1:
            if "isolation" not in self._cache:
                from sklearn.ensemble import IsolationForest

                self._cache["isolation"] = IsolationForest(random_state=self.seed).fit(self._columns(self.x))
            out[real] = -self._cache["isolation"].score_samples(self._columns(rows[real]))
        return out

    def connected(self, rows: np.ndarray, radius: float | None = None, most: int = 4000) -> Floats:
        """1 where a chain of accepted people, each step within `radius`, joins a row to one who was rightly
        accepted, 0 where not: (m,).

        `radius` None takes the 95 % quantile of the distances between nearest accepted neighbours. At most
        `most` accepted people form the chain.

        Source: T. Laugel, M.-J. Lesot, C. Marsala, X. Renard & M. Detyniecki (2019), IJCAI.
        """
        rows = np.asarray(rows, dtype=np.float64)
        out, real = _blank(rows)
        accepted = np.flatnonzero(self.favourable)
        if not real.any() or len(accepted) < 2:
            return out
        from scipy.sparse.csgraph import connected_components
        from sklearn.neighbors import NearestNeighbors

        if len(accepted) > most:
            accepted = np.sort(np.random.default_rng(self.seed).choice(accepted, most, replace=False))
        key = f"chain {most}"
        if key not in self._cache:
            columns = self._columns(self.x[accepted])
            index = NearestNeighbors().fit(columns)
            step = float(np.quantile(index.kneighbors(columns, n_neighbors=2)[0][:, 1], 0.95))
            self._cache[key] = index, columns, max(step, 1e-9)
        index, columns, step = self._cache[key]
        reach = step if radius is None else radius
        chain = index.radius_neighbors_graph(columns, radius=reach)
        label = connected_components(chain, directed=False)[1]
        right = np.ones(len(accepted), dtype=bool) if self.correct is None else self.correct[accepted]
        good = np.isin(label, np.unique(label[right]))
        link = index.radius_neighbors_graph(self._columns(rows[real]), radius=reach)
        out[real] = (link @ good.astype(np.float64) > 0).astype(np.float64)
        return out

    def _columns(self, rows: Floats) -> Floats:
        return euclidean_columns(self.schema, rows)

    def _index(self, name: str, rows: Floats) -> Any:
        if name not in self._cache:
            from sklearn.neighbors import NearestNeighbors

            self._cache[name] = NearestNeighbors().fit(self._columns(rows))
        return self._cache[name]


def log_density_of(density: Any, rows: np.ndarray) -> Floats:
    """Log-density of each row (m, d) -> (m,) from any density object; NaN for a row that is all NaN.

    Takes an object with `log_density`, `log_prob`, `score_samples` or `score`, or a plain function.
    """
    rows = np.asarray(rows, dtype=np.float64)
    out, real = _blank(rows)
    if not real.any():
        return out
    for name in ("log_density", "log_prob", "score_samples", "score"):
        if callable(getattr(density, name, None)):
            out[real] = np.asarray(getattr(density, name)(rows[real]), dtype=np.float64)
            return out
    if not callable(density):
        raise DataError(
            f"density={shown(density)} cannot be asked. Give a fitted density, or a function of rows (m, d)."
        )
    out[real] = np.asarray(density(rows[real]), dtype=np.float64)
    return out


def at_least_as_likely(density: Any, before: np.ndarray, after: np.ndarray) -> tuple[Floats, Floats]:
    """Whether each profile is at least as likely after as before, and the gain in log-density: (m,), (m,).

    The mean of the first over people who received a recommendation is the plausibility of CARMA and its
    interactive successor; people without one are NaN, so the mean leaves them out of the denominator.
    """
    gain = log_density_of(density, after) - log_density_of(density, before)
    return np.where(np.isnan(gain), np.nan, (gain >= -1e-6).astype(np.float64)), gain


def _blank(rows: Floats) -> tuple[Floats, Mask]:
    """An all-NaN result and the rows that hold a profile."""
    return np.full(len(rows), np.nan), np.asarray(~np.isnan(rows).all(-1))
