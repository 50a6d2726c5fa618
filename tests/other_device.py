"""A second device that computes, on a machine that has only a processor.

Tensors are on torch's "meta" device to everybody who asks, and hold their numbers in a tensor of the processor. As on
an accelerator, an operation that mixes both devices fails, `numpy` fails, random numbers need a generator of the same
device, and nothing crosses but by `to`, `cpu` or `copy_`. The numbers are those of the processor to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

NAME = "meta"
_AT = torch.ops.aten
_CROSS = {_AT._to_copy.default, _AT.copy_.default}  # what may take tensors of both devices
_INDEX = {_AT.index.Tensor, _AT.index_put.default, _AT.index_put_.default, _AT._index_put_impl_.default}


class There(torch.Tensor):
    """A tensor of the other device; `here` has its numbers."""

    __module__ = "torch.elsewhere"  # torch is known by the name of a tensor's module
    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> There:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, here.shape, strides=here.stride(), storage_offset=here.storage_offset(), dtype=here.dtype,
            device=NAME,
        )  # fmt: skip
        made.here = here
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == torch.Tensor.data.__set__:  # a new object each time  # type: ignore[attr-defined]
            args[0].here = args[1].here
        if func is torch.Tensor.numpy:
            if not (kwargs or {}).get("force"):
                raise TypeError(f"can't convert {NAME} device type tensor to numpy. Use Tensor.cpu() first.")
            return args[0].detach().cpu().numpy()
        if func is torch.Tensor.tolist:
            return args[0].detach().cpu().tolist()
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})

    def __repr__(self) -> str:  # type: ignore[override]
        return f"There({self.here!r})"


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [v for v in tree_iter((args, kwargs)) if isinstance(v, torch.Tensor)]
    there = any(isinstance(v, There) for v in tensors)
    wanted = None if kwargs.get("device") is None else torch.device(kwargs["device"]).type
    if not there and wanted != NAME:
        return func(*args, **kwargs)
    if func not in _CROSS:
        must = tree_iter(args[:1] if func in _INDEX else (args, kwargs))
        mixed = [v for v in must if isinstance(v, torch.Tensor) and not isinstance(v, There) and v.dim()]
        if (there and mixed) or (func in _INDEX and not isinstance(args[0], There)):
            raise RuntimeError(f"{func}: expected all tensors to be on the same device, found {NAME} and cpu")
        if kwargs.get("generator") is not None:
            raise RuntimeError(f"{func}: expected a '{NAME}' device type for generator but found 'cpu'")
    plain, named = tree_map(lambda v: v.here if isinstance(v, There) else v, (args, kwargs))
    if wanted is not None:
        named["device"] = "cpu"
    out = func(*plain, **named)
    if func._schema.is_mutable:
        return args[0] if "out" not in kwargs else kwargs["out"]
    if wanted is not None and wanted != NAME:
        return out
    return tree_map(lambda v: There(v) if isinstance(v, torch.Tensor) else v, out)


def _indices(index: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(index) if len(index) else np.zeros(0, np.int64))


class _Made(TorchFunctionMode):
    """Tensors made of lists and arrays, also to index with, which torch would leave without numbers."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            index = tuple(_indices(i) if isinstance(i, (list, np.ndarray)) else i for i in index)
            return func(args[0], index, *args[2:])
        wanted = kwargs.get("device")
        if func not in (torch.tensor, torch.as_tensor, torch.asarray) or wanted is None:
            return func(*args, **kwargs)
        if isinstance(args[0], torch.Tensor):
            return args[0].to(wanted, kwargs.get("dtype"))
        made = func(
            *args, **{name: v for name, v in kwargs.items() if name not in ("device", "requires_grad")}
        )
        return made.to(wanted).requires_grad_(kwargs.get("requires_grad", False))


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


@contextmanager
def other_device() -> Iterator[str]:
    """Make the device computable; yield its name."""
    with _Made(), _Mode():
        yield NAME
