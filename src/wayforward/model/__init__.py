"""The decision maker: `wrap` any trained model, `train` one of the zoo, `load` and `save` without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

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


__getattr__ = face(__name__, _HOME)


if TYPE_CHECKING:
    from wayforward.model.base import Access, Counter, FlatForest, LinearForm, Model, Scorer
    from wayforward.model.files import load, save
    from wayforward.model.network import TorchNetwork
    from wayforward.model.wrapping import wrap
    from wayforward.model.zoo import ZOO, train
