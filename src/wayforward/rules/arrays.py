"""One spelling for NumPy and torch, so that a rule or an equation is written once.

torch is never imported here before the caller has handed over a tensor.
"""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np

from wayforward.errors import numbers_in

Array: TypeAlias = Any  # a float64 NumPy array or a torch tensor; a Python float where nothing varies


class NumpyOps:
    """The operations that the tree needs, on NumPy arrays."""

    differentiable = False
    abs = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)
    tanh = staticmethod(np.tanh)
    arctanh = staticmethod(np.arctanh)
    isnan = staticmethod(np.isnan)
    isfinite = staticmethod(np.isfinite)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    where = staticmethod(np.where)
    rint = staticmethod(np.rint)

    @staticmethod
    def lift(value: Array) -> Array:
        """A float64 array of whatever this is."""
        return np.asarray(value, dtype=np.float64)

    @staticmethod
    def like(value: Array, other: Array) -> Array:
        """The value in the precision of another; arrays have one only."""
        return value

    @staticmethod
    def number(truth: Array) -> Array:
        """1.0 where true, 0.0 where false."""
        return np.asarray(truth, dtype=np.float64)

    @staticmethod
    def sigmoid(value: Array) -> Array:
        """The logistic function."""
        value = np.asarray(value, dtype=np.float64)
        small = np.exp(-np.abs(value))  # never overflows, and keeps full precision in both tails
        return np.where(value >= 0, 1.0, small) / (1.0 + small)

    @staticmethod
    def straight_through(soft: Array, hard: Array) -> Array:
        """The hard value; there is no gradient to keep."""
        return hard

    @staticmethod
    def stack(columns: list[Array]) -> Array:
        """Columns (...) side by side: (..., d)."""
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    @staticmethod
    def replaced(array: Array, columns: dict[int, Array], shape: tuple[int, ...]) -> Array:
        """A copy of the array in this shape, with some columns (...) exchanged."""
        out = np.array(np.broadcast_to(array, shape))
        for index, column in columns.items():
            out[..., index] = column
        return out

    @staticmethod
    def broadcast(array: Array, shape: tuple[int, ...]) -> Array:
        """A view of the wanted shape."""
        return np.broadcast_to(array, shape)

    @staticmethod
    def falses(shape: tuple[int, ...], like: Array) -> Array:
        """(shape) bool, all False."""
        return np.zeros(shape, dtype=bool)


class TorchOps:
    """The same operations on torch tensors, differentiable where the mathematics is."""

    differentiable = True

    def __init__(self) -> None:
        torch: Any = importlib.import_module("torch")
        self.torch = torch
        self.isnan, self.isfinite = torch.isnan, torch.isfinite

    def lift(self, value: Array) -> Array:
        """A float64 array of whatever this is."""
        if isinstance(value, self.torch.Tensor):
            return value
        return self.torch.as_tensor(value, dtype=self.torch.float64)

    def like(self, value: Array, other: Array) -> Array:
        """The value in the precision of another tensor."""
        return value.to(other.dtype) if isinstance(other, self.torch.Tensor) else value

    def number(self, truth: Array) -> Array:
        """1.0 where true, 0.0 where false."""
        return self.lift(truth).to(self.torch.float64)

    def __getattr__(self, name: str) -> Any:
        # exp, log, sqrt, tanh, abs, sigmoid, arctanh take one argument that may be a Python float
        function = getattr(self.torch, "round" if name == "rint" else name)
        return lambda value: function(self.lift(value))

    def minimum(self, left: Array, right: Array) -> Array:
        """The smaller of two, NaN where either is."""
        return self.torch.minimum(*self._pair(left, right))

    def maximum(self, left: Array, right: Array) -> Array:
        """The larger of two, NaN where either is."""
        return self.torch.maximum(*self._pair(left, right))

    def where(self, condition: Array, left: Array, right: Array) -> Array:
        """Left where the condition holds, else right."""
        return self.torch.where(condition, *self._pair(left, right))

    def straight_through(self, soft: Array, hard: Array) -> Array:
        """The hard value with the gradient of the soft one (Bengio, Leonard & Courville 2013)."""
        return soft + (hard - soft).detach()

    def flowing(self, where: Array, value: Array) -> Array:
        """The value, whose gradient flows where the condition holds and nowhere else: 0 times infinity is NaN."""
        return self.torch.where(where, value, value.detach())

    def stack(self, columns: list[Array]) -> Array:
        """Columns (...) side by side: (..., d)."""
        return self.torch.stack(self.torch.broadcast_tensors(*columns), dim=-1)

    def replaced(self, array: Array, columns: dict[int, Array], shape: tuple[int, ...]) -> Array:
        """The array in this shape with some columns (...) exchanged; gradients flow through both."""
        full = self.torch.broadcast_to(array, shape)
        parts = [columns.get(j, full[..., j]) for j in range(shape[-1])]
        return self.torch.stack([self.torch.broadcast_to(part, shape[:-1]) for part in parts], dim=-1)

    def broadcast(self, array: Array, shape: tuple[int, ...]) -> Array:
        """A view of the wanted shape."""
        return self.torch.broadcast_to(array, shape)

    def falses(self, shape: tuple[int, ...], like: Array) -> Array:
        """(shape) bool, all False."""
        return self.torch.zeros(shape, dtype=self.torch.bool, device=like.device)

    def _pair(self, left: Array, right: Array) -> tuple[Array, Array]:
        tensor = left if isinstance(left, self.torch.Tensor) else right
        if isinstance(tensor, self.torch.Tensor):
            left, right = (
                part
                if isinstance(part, self.torch.Tensor)
                else self.torch.as_tensor(part, dtype=tensor.dtype, device=tensor.device)
                for part in (left, right)
            )
            return left, right
        return self.lift(left), self.lift(right)


def operations(*arrays: Array) -> Any:
    """The operations for these arrays: torch's if one of them is a tensor, else NumPy's."""
    if any(type(array).__module__.partition(".")[0] == "torch" for array in arrays):
        return TorchOps()
    return NumpyOps


def align(before: Array, after: Array) -> tuple[Array, Array]:
    """Line up the people: (n, d) goes with (n, k, d), and one row (d,) goes with anything.

    Leading axes are matched, not trailing ones, because the first axis is always the person:
    with n = k the NumPy rule would silently pair person i with option i.
    """
    if not hasattr(before, "ndim"):
        before = numbers_in(before, "before")
    if not hasattr(after, "ndim"):
        after = numbers_in(after, "after")
    if 1 < before.ndim < after.ndim:
        extra = (1,) * (after.ndim - before.ndim)
        before = before.reshape((*before.shape[:-1], *extra, before.shape[-1]))
    elif 1 < after.ndim < before.ndim:
        extra = (1,) * (before.ndim - after.ndim)
        after = after.reshape((*after.shape[:-1], *extra, after.shape[-1]))
    return before, after


def broadcast_shape(before: Array, after: Array) -> tuple[int, ...]:
    """The leading shape (without d) that two aligned arrays broadcast to."""
    return np.broadcast_shapes(tuple(before.shape[:-1]), tuple(after.shape[:-1]))
