"""torch modules: asked in padded batches, differentiable through `TorchNetwork`; plain stacks of layers are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError, require
from wayforward.model.adapted import Adapted, OutputKind, WrapOptions, as_probabilities, first_line
from wayforward.model.base import Access, Task
from wayforward.model.encoder import Encoder, NotRead
from wayforward.model.fast import DenseFast, Fast, padded, steady_places
from wayforward.model.forms import Link
from wayforward.model.network import TorchNetwork
from wayforward.model.tables import encode_with, encoder_for
from wayforward.model.verify import sample_rows
from wayforward.schema import Schema
from wayforward.shapes import Floats


def adapt(module: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """A module on encoded rows; its outputs are looked at to see what they are. Raises: ModelError, MissingExtra."""
    torch = require("torch", extra="torch")
    name, task = options.name, options.task
    parameters = list(module.parameters()) + list(module.buffers())
    floating = [p for p in parameters if p.is_floating_point()]
    device = parameters[0].device if parameters else torch.device("cpu")
    dtype = floating[0].dtype if floating else torch.float32
    module.eval()
    first = next((m for m in module.modules() if isinstance(m, torch.nn.Linear)), None)
    encoding = encoder_for(schema, options, None if first is None else first.in_features, one_hot=True)
    encode = encode_with(encoding)

    def ask(x: Floats) -> Floats:
        with torch.inference_mode():
            rows = torch.tensor(encode(x), dtype=dtype, device=device)  # its own, aligned memory
            try:
                got = module(rows)
            except (Exception, SystemExit) as error:
                raise ModelError(
                    f"{name} failed on a ({len(x)}, {rows.shape[1]}) tensor: {first_line(error).rstrip(' .')}. Without "
                    "an encoder it is given numeric features as they are and one column a level; give "
                    "wrap(..., encoder=...)."
                ) from error
        out: Floats = got.double().cpu().numpy()
        return out[:, None] if out.ndim == 1 else out

    probe = ask(sample_rows(schema, 64, missing=False))
    if probe.ndim != 2 or len(probe) != 64:
        raise ModelError(
            f"{name} returned shape {probe.shape} for 64 rows; (64,), (64, 1) or (64, classes) is needed."
        )
    kind = output_kind(module, probe, task, options.output)
    places = steady_places(ask, sample_rows(schema, 8, missing=False))
    link = link_of(kind, probe)
    if task == "regression":
        native = Adapted.of_values(lambda x: padded(ask, x, places=places), name)
    else:
        native = Adapted.of_probabilities(
            lambda x: as_probabilities(padded(ask, x, places=places), kind, name),
            options.classes_of(probe.shape[1]),
            name,
        )
        if options.output == "auto":
            native.notes.append(
                f"outputs are read as {'probabilities' if kind == 'probability' else 'logits'}"
            )

    def fast() -> Fast:
        if not isinstance(encoding, Encoder):
            raise NotRead("the encoder cannot be read column by column")
        dense = _read_sequential(module, encoding, link, torch)
        return dense or TorchHead(encoding, module, link, device, dtype, lambda x: native.predict(x)[0])

    return replace(native, read=fast)


def link_of(kind: str, outputs: Floats) -> Link:
    """How outputs (m, q) of a kind become those of the model."""
    if kind == "value":
        return "identity"
    return "probability" if kind == "probability" else "logistic" if outputs.shape[1] == 1 else "softmax"


def output_kind(module: Any, probe: Floats, task: Task, output: OutputKind) -> str:
    """Return 'probability', 'logit' or 'value': what outputs (m, q) of a module are."""
    if output in ("probability", "logit"):
        return str(output)
    if task == "regression":
        return "value"
    last = [m for m in module.modules() if not list(m.children())][-1:]
    if last and type(last[0]).__name__ in ("Sigmoid", "Softmax"):
        return "probability"
    if last and type(last[0]).__name__ == "Linear":
        return "logit"
    inside = bool(((probe >= 0) & (probe <= 1)).all())
    sums = probe.shape[1] == 1 or bool(np.allclose(probe.sum(axis=1), 1.0, atol=1e-4))
    return "probability" if inside and sums else "logit"


class TorchHead(Fast):
    """A torch module that stays one: asked in padded chunks, differentiable through its network."""

    kind = "torch"
    access = Access.GRADIENT

    def __init__(
        self,
        encoder: Encoder,
        module: Any,
        link: Link,
        device: Any,
        dtype: Any,
        ask: Callable[[Floats], Floats],
    ) -> None:
        self.encoder, self.module, self.link = encoder, module, link
        self.device, self.dtype, self._ask = device, dtype, ask

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return self._ask(x)

    def network(self) -> TorchNetwork:
        """The module as a TorchNetwork."""
        head = ModuleHead(self.module, self.dtype)
        return TorchNetwork(self.encoder, head, self.link, device=self.device, dtype=self.dtype)


@dataclass(frozen=True)
class ModuleHead:
    """A module as the head of a network: its outputs have two axes."""

    module: Any
    dtype: Any

    def __call__(self, encoded: Any) -> Any:
        """(m, e) encoded -> (m, q)."""
        got = self.module(encoded.to(self.dtype))
        return got[:, None] if got.ndim == 1 else got


def _read_sequential(module: Any, encoder: Encoder, link: Link, torch: Any) -> Any:
    """A plain stack of Linear layers and activations as a DenseFast; None for anything else."""
    if type(module) is not torch.nn.Sequential:
        return None
    names = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "logistic"}
    weights: list[Floats] = []
    biases: list[Floats] = []
    activations: list[str] = []
    end: Link = link
    layers = [m for m in module if type(m).__name__ not in ("Identity", "Dropout")]
    for i, layer in enumerate(layers):
        kind = type(layer).__name__
        if kind == "Linear":
            weights.append(layer.weight.detach().double().cpu().numpy().T)
            bias = layer.bias
            biases.append(
                np.zeros(layer.out_features) if bias is None else bias.detach().double().cpu().numpy()
            )
            activations.append("identity")
        elif (
            i == len(layers) - 1
            and kind == "Sigmoid"
            and weights
            and weights[-1].shape[1] == 1
            and link == "probability"
        ):
            end = "logistic"
        elif i == len(layers) - 1 and kind == "Softmax" and layer.dim in (1, -1) and link == "probability":
            end = "softmax"
        elif kind in names and weights and activations[-1] == "identity":
            activations[-1] = names[kind]
        else:
            return None
    if not weights or weights[0].shape[0] != encoder.width:
        return None
    return DenseFast(encoder, weights, biases, activations, end)
