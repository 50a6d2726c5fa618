"""The decision maker: `wrap` any trained model, `train` one of the zoo, `load` and `save` without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

_HOME = {
    "Adapted": "adapted",
    "Access": "base",
    "Counter": "base",
    "Decision": "base",
    "DenseForm": "forms",
    "FlatForest": "forms",
    "LinearForm": "forms",
    "Model": "base",
    "Network": "forms",
    "Scorer": "base",
    "TorchNetwork": "network",
    "ZOO": "zoo",
    "WrapOptions": "adapted",
    "load": "files",
    "panel_outputs": "panel",
    "register_adapter": "adapters",
    "save": "files",
    "train": "zoo",
    "wrap": "wrapping",
}

__all__ = [
    "ZOO",
    "Access",
    "Adapted",
    "Counter",
    "Decision",
    "DenseForm",
    "FlatForest",
    "LinearForm",
    "Model",
    "Network",
    "Scorer",
    "TorchNetwork",
    "WrapOptions",
    "load",
    "panel_outputs",
    "register_adapter",
    "save",
    "train",
    "wrap",
]


__getattr__ = face(__name__, _HOME)


if TYPE_CHECKING:
    from wayforward.model.adapted import Adapted, WrapOptions
    from wayforward.model.adapters import register_adapter
    from wayforward.model.base import Access, Counter, Decision, Model, Scorer
    from wayforward.model.files import load, save
    from wayforward.model.forms import DenseForm, FlatForest, LinearForm, Network
    from wayforward.model.network import TorchNetwork
    from wayforward.model.panel import panel_outputs
    from wayforward.model.wrapping import wrap
    from wayforward.model.zoo import ZOO, train
