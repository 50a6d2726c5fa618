"""What a world may be asked: what follows from an action, and, where it knows, how likely people are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import WorldError, did_you_mean
from wayforward.rules.arrays import Array, align

if TYPE_CHECKING:
    from wayforward.schema import Schema


class World(ABC):
    """What follows from an action.

    A world is first described by names and then bound to a schema; a bound world works on arrays
    (..., d) in schema order, in feature units with level indices. People lead: before (n, d) goes with
    an action (n, k, d). An action holds the value that a person sets and NaN where they leave the
    feature alone; setting a feature to the value it already has still holds it while its causes move.

    A new world needs `bind`, `consequences` and, for gradient methods, `consequences_torch`; the rest
    raises WorldError until a world knows better.
    """

    nothing_follows: bool = False  # nobody's action moves anything else
    uncertain: bool = False  # what follows from an action is known only with a spread, which `draws` tells

    @abstractmethod
    def bind(self, schema: Schema) -> World:
        """The same world over the columns of a schema, matched by name.

        Raises: WorldError for a node that the schema does not have.
        """

    @abstractmethod
    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action.

        What nothing acted on and no cause moved comes back as the same float that went in.
        Raises: WorldError if a person cannot have come from this world.
        """

    @abstractmethod
    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors: `value` (..., d) counts where `acted` (..., d); differentiable in `value`."""

    @property
    @abstractmethod
    def descendants(self) -> np.ndarray:
        """(d, d) bool: acting on the row's feature can move the column's feature."""

    def draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> np.ndarray:
        """(m, n, d) or (m, n, k, d): m profiles that may follow from each action, equally likely.

        seed_keys (n,) or in the shape of the action without d: uint64; equal keys see equal chances (see
        `streams.spread`), so that a person's draws depend on nobody else. In a world that is certain all are the same.
        """
        after = self.consequences(before, action)
        return np.broadcast_to(after, (m, *after.shape))

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): the noise that makes these people who they are."""
        raise self._unknown("abduct")

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d) noise, (..., d) action or None -> (..., d) people."""
        raise self._unknown("predict")

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density in nats (per feature unit; a probability for discrete features)."""
        raise self._unknown("log_density")

    def log_density_parts(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): what each feature adds to `log_density`; it depends on the feature and its causes."""
        raise self._unknown("log_density_parts")

    def keeps_density(self, density: World) -> np.ndarray:
        """(d,) bool: under `density` a feature's part stays the same unless somebody acts on that very feature."""
        return np.zeros(len(self.descendants), dtype=bool)

    def sample(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) people drawn from the world; `rng` is a generator or a seed."""
        raise self._unknown("sample")

    # -- the same on tensors, for methods that learn (amortised, gradient) ----------------------------------

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        raise self._unknown("abduct_torch")

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted` (..., d), the feature is set to `value`. Differentiable."""
        raise self._unknown("predict_torch")

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable."""
        raise self._unknown("log_density_torch")

    def _unknown(self, what: str) -> WorldError:
        return WorldError(
            f"{type(self).__name__} does not offer '{what}'. Use a structural causal model with a "
            "distribution for every noise (wayforward.SCM)."
        )


def unknown_nodes(nodes: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raise WorldError if a node of the world is no column of the schema."""
    missing = [node for node in nodes if node not in names]
    if missing:
        hint = did_you_mean(missing[0], names) or f" Its columns are: {', '.join(list(names)[:8])}."
        raise WorldError(f"The {what} has a node '{missing[0]}' that the schema does not have.{hint}")


def aligned(before: Any, action: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Check and line up before (n, d) with an action (n, k, d). Raises: WorldError on other shapes."""
    before, action = np.asarray(before, dtype=np.float64), np.asarray(action, dtype=np.float64)
    for what, array in (("before", before), ("action", action)):
        if array.ndim < 1 or array.shape[-1] != d:
            raise WorldError(f"{what} has shape {array.shape}, but its last axis must hold {d} features.")
    before, action = align(before, action)
    try:
        np.broadcast_shapes(before.shape, action.shape)
    except ValueError:
        raise WorldError(
            f"before {before.shape} and action {action.shape} do not belong to the same people."
        ) from None
    return before, action
