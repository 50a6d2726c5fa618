"""Does a world look like the people it is meant for? Margins, likelihood, and what its noise still hides.

Every world that samples, tells densities and finds noise can be asked; what a world does not offer is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError, WorldError
from wayforward.public import public
from wayforward.streams import generator
from wayforward.world.base import World
from wayforward.world.graph import CausalGraph

if TYPE_CHECKING:
    from wayforward.schema import Schema

_MOST = 20_000  # rows of a table that are looked at
_FEWEST = 10


@public
@dataclass(frozen=True)
class FeatureCheck:
    """One feature, in the table and in the world.

    gap: greatest difference between the two distributions, 0 (the same) to 1 (Kolmogorov's distance; of a nominal
    feature, the total variation). noise_left: greatest correlation of the feature's noise, or of its square, with
    a cause or its square; above `WorldCheck.by_chance`, the causes do more than the world knows. NaN: no causes.
    """

    name: str
    causes: tuple[str, ...]
    mean: float
    mean_world: float
    sd: float
    sd_world: float
    gap: float
    noise_left: float


@public
@dataclass(frozen=True)
class WorldCheck:
    """What `check` found: rows (looked at), log_density (mean, nats a person; NaN where the world tells none),
    round_trip (greatest error of predict(abduct(x)), in standard deviations), by_chance (what `noise_left` stays
    under for 99 of 100 true features), features."""

    rows: int
    log_density: float
    interval: tuple[float, float]
    round_trip: float
    by_chance: float
    features: tuple[FeatureCheck, ...]

    def __str__(self) -> str:
        worst = max(self.features, key=lambda f: f.gap)
        hidden = [f for f in self.features if f.noise_left > self.by_chance]
        text = f"mean log-density {self.log_density:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f}); "
        text += f"margins differ most in '{worst.name}' ({worst.gap:.3f})"
        if hidden:
            most = max(hidden, key=lambda f: f.noise_left)
            text += (
                f"; the noise of {len(hidden)} effect{'s' * (len(hidden) > 1)} still depends on a cause, most in "
                f"'{most.name}' ({most.noise_left:.2f}, by chance below {self.by_chance:.2f})"
            )
        return text


@public
def check(world: World, table: Any, schema: Schema | None = None, *, seed: int = 0) -> WorldCheck:
    """Compare a world with people: a table, or an (n, d) array in schema order.

    Best with people whom the world was not fitted to. schema: not needed for a bound world.
    Raises: WorldError for an unbound world without a schema, DataError for a table that does not fit.
    """
    if schema is not None:
        world = world.bind(schema)
    own = world.schema
    if own is None:
        raise WorldError("This world is not bound to a schema yet. Give one: check(world, table, schema).")
    x = own.encode(table, "people")
    x = x[~np.isnan(x).any(1)]
    if len(x) < _FEWEST:
        raise DataError(f"{len(x)} whole rows are too few to check a world with. Give at least {_FEWEST}.")
    rng = generator(seed, 0xC8EC)
    if len(x) > _MOST:
        x = x[np.sort(rng.permutation(len(x))[:_MOST])]
    graph = CausalGraph.read(world.graph or (), own.names)  # no graph: no causes
    unknown = np.full(x.shape, np.nan)
    drawn = _offered(lambda: world.sample(len(x), rng), unknown)
    density = _offered(lambda: world.log_density(x), unknown[:, 0])
    noise = _offered(lambda: world.abduct(x), np.empty(0))
    sd = np.where(x.std(0) > 0, x.std(0), 1.0)
    trip = float((np.abs(world.predict(noise) - x) / sd).max()) if noise.size else np.nan
    half = 1.96 * density.std() / np.sqrt(len(x))
    features = []
    for j, feature in enumerate(own.features):
        causes = graph.parents[feature.name]
        features.append(
            FeatureCheck(
                feature.name,
                causes,
                float(x[:, j].mean()),
                float(drawn[:, j].mean()),
                float(x[:, j].std()),
                float(drawn[:, j].std()),
                _gap(x[:, j], drawn[:, j], feature.ordered),
                np.nan if not noise.size or not causes else _correlation_left(noise[:, j], x, own, causes),
            )
        )
    tries = max(1, 4 * sum(len(f.causes) for f in features))
    by_chance = float(np.sqrt(2 * np.log(200 * tries) / len(x)))
    mean = float(density.mean())
    return WorldCheck(len(x), mean, (mean - half, mean + half), trip, by_chance, tuple(features))


def _offered(answer: Callable[[], np.ndarray], otherwise: np.ndarray) -> np.ndarray:
    """What a world answers, or else where it does not know."""
    try:
        return answer()
    except WorldError:
        return otherwise


def _gap(seen: np.ndarray, drawn: np.ndarray, ordered: bool) -> float:
    if np.isnan(drawn).any():
        return np.nan
    values = np.unique(np.concatenate([seen, drawn]))
    share, other = (np.searchsorted(np.sort(a), values, side="right") / len(a) for a in (seen, drawn))
    if ordered:
        return float(np.abs(share - other).max())
    return float(0.5 * np.abs(np.diff(share, prepend=0) - np.diff(other, prepend=0)).sum())


def _correlation_left(noise: np.ndarray, x: np.ndarray, schema: Schema, causes: tuple[str, ...]) -> float:
    """Greatest correlation of (noise, noise squared) with (cause, cause squared); a nominal cause level by level."""
    seen = []
    for cause in causes:
        j = schema.index(cause)
        if schema.is_categorical[j]:
            seen += [(x[:, j] == level) * 1.0 for level in range(int(schema.n_levels[j]))]
        else:
            seen += [x[:, j], (x[:, j] - x[:, j].mean()) ** 2]
    greatest = 0.0
    for one in (noise, (noise - noise.mean()) ** 2):
        for other in seen:
            if one.std() > 0 and other.std() > 0:
                greatest = max(greatest, abs(float(np.corrcoef(one, other)[0, 1])))
    return greatest
