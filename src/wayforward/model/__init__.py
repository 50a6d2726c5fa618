"""The decision maker: `wrap` any trained model, `train` one of the zoo, `load` and `save` without pickle."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Access": "base",
    "Counter": "base",
    "FlatForest": "base",
    "LinearForm": "base",
    "Model": "base",
    "Scorer": "base",
    "TorchNetwork": "network",
    "ZOO": "zoo",
    "load": "files",
    "save": "files",
    "train": "zoo",
    "wrap": "wrapping",
}

__all__ = [
    "ZOO",
    "Access",
    "Counter",
    "FlatForest",
    "LinearForm",
    "Model",
    "Scorer",
    "TorchNetwork",
    "load",
    "save",
    "train",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"wayforward.model.{_HOME[name]}"), name)
    raise AttributeError(f"module 'wayforward.model' has no attribute '{name}'")


if TYPE_CHECKING:
    from wayforward.model.base import Access, Counter, FlatForest, LinearForm, Model, Scorer
    from wayforward.model.files import load, save
    from wayforward.model.network import TorchNetwork
    from wayforward.model.wrapping import wrap
    from wayforward.model.zoo import ZOO, train
