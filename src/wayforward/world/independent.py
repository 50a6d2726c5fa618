"""The world where nothing follows from an action but the action itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import WorldError
from wayforward.public import public
from wayforward.rules.arrays import Array, align, operations
from wayforward.shapes import Mask, Rows
from wayforward.world.base import World, aligned, either

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
class Independent(World):
    """Features move only where the person acts: the world of nearest contrastive explanations.

    Source: S. Wachter, B. Mittelstadt, C. Russell (2018), Counterfactual Explanations without Opening
    the Black Box; named independently manipulable features by A.-H. Karimi, B. Schoelkopf, I. Valera (2021).

    Example:
        >>> Independent().consequences([[1.0, 2.0]], [[[5.0, np.nan], [np.nan, np.nan]]]).tolist()
        [[[5.0, 2.0], [1.0, 2.0]]]
    """

    nothing_follows = True
    bounded = True

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema

    def __repr__(self) -> str:
        return "Independent()"

    def bind(self, schema: Schema) -> Independent:
        """Any schema will do."""
        return Independent(schema)

    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after: the action where there is one, else as before."""
        action = np.asarray(action, dtype=np.float64)
        before, action = aligned(before, action, action.shape[-1] if action.ndim else 0)
        return np.asarray(np.where(np.isnan(action), before, action))

    def consequence_bounds(
        self, before: Rows, low: Rows, high: Rows, acts: Mask, rests: Mask
    ) -> tuple[Rows, Rows]:
        """The boxes themselves, and where people stand."""
        return either((low, high), (before, before), acts, rests)

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors, differentiable in `value`."""
        before, value = align(before, value)
        return operations(value).where(acted, value, before)

    @property
    def descendants(self) -> np.ndarray:
        """(d, d) bool, all False. Raises: WorldError before `bind`."""
        if self.schema is None:
            raise WorldError("This world is not bound to a schema yet. Call world.bind(schema) first.")
        return np.zeros((self.schema.d, self.schema.d), dtype=bool)

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): each person is their own noise."""
        return np.array(x, dtype=np.float64)

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d), (..., d) -> (..., d): the inverse of `abduct`, with an action on top."""
        return np.array(u, dtype=np.float64) if action is None else self.consequences(u, action)

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): each person is their own noise."""
        return x

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) -> (..., d): the noise, and the value where somebody acts. Differentiable."""
        return u if value is None or acted is None else self.consequences_torch(u, value, acted)
