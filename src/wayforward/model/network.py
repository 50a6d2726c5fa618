"""A model as a differentiable torch network over a relaxed code of raw rows, for gradient methods.

The code has one block a feature: a numeric feature is (x - offset) / scale; a level feature is one-hot over
all its levels, whatever the pipeline does with them; a feature that may be missing has one more column, 1
where it is. The pipeline's own encoding is linear in this code (functions such as log1p aside) and folded
into the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.model.encoder import Encoder
from wayforward.model.forms import Block, DenseForm, Link
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats


@public
class TorchNetwork:
    """encode: (m, d) raw -> (m, e) code; logits: (m, e) -> (m, c); decode: back to raw rows.

    blocks: one Block a feature, in schema order. Softmax of the logits gives the model's outputs (two
    classes: the first logit is 0); a regression has one column, the prediction. All calls are differentiable
    with respect to the code and, for numeric features, to raw values. device, dtype: where and how the
    tensors live.
    Raises: MissingExtra if torch is not installed.
    """

    def __init__(
        self,
        encoder: Encoder,
        head: Callable[[Any], Any],
        link: Link,
        *,
        device: Any = "cpu",
        dtype: Any = None,
    ) -> None:
        torch = require("torch", extra="torch")
        self.schema: Schema = encoder.schema
        self.encoder, self._head, self.link = encoder, head, link
        self.device, self.dtype = torch.device(device), dtype or torch.float64
        self.blocks = code_blocks(encoder)
        self.width = self.blocks[-1].columns.stop
        matrix, shift, self._curved = fold_encoder(encoder, self.blocks)
        self._matrix = torch.as_tensor(matrix, dtype=self.dtype, device=self.device)
        self._shift = torch.as_tensor(shift, dtype=self.dtype, device=self.device)

    def tensor(self, x: Any) -> Any:
        """Rows as a tensor on this network's device and in its dtype."""
        torch = require("torch", extra="torch")
        return torch.as_tensor(x, dtype=self.dtype, device=self.device)

    def encode(self, x: Any) -> Any:
        """(m, d) raw rows (tensor or array) -> (m, e) code."""
        torch = require("torch", extra="torch")
        x = self.tensor(x)
        parts = []
        for block in self.blocks:
            value = x[:, block.feature]
            gone = torch.isnan(value)
            if block.kind == "numeric":
                clean = torch.where(gone, torch.zeros_like(value), (value - block.offset) / block.scale)
                parts.append(clean[:, None])
                if block.missing is not None:
                    parts.append(gone[:, None].to(self.dtype))
                continue
            count = block.columns.stop - block.columns.start
            index = torch.where(gone, torch.full_like(value, count - 1), value).long()
            parts.append(torch.nn.functional.one_hot(index, count).to(self.dtype))
        return torch.cat(parts, dim=1)

    def decode(self, code: Any) -> Any:
        """(m, e) code -> (m, d) raw rows: numeric values as they are, the largest of a block's levels."""
        torch = require("torch", extra="torch")
        columns = []
        for block in self.blocks:
            part = code[:, block.columns]
            if block.kind == "numeric":
                value = part[:, 0] * block.scale + block.offset
                if block.missing is not None:
                    value = torch.where(part[:, 1] > 0.5, torch.full_like(value, float("nan")), value)
            else:
                value = part.argmax(dim=1).to(self.dtype)
                if block.missing is not None:
                    value = torch.where(
                        value == part.shape[1] - 1, torch.full_like(value, float("nan")), value
                    )
            columns.append(value)
        return torch.stack(columns, dim=1)

    def margin(self, code: Any) -> Any:
        """(m, e) code -> (m, q) before the link: one column for two classes (log-odds of the second) or
        regression.
        """
        torch = require("torch", extra="torch")
        encoded = code @ self._matrix + self._shift
        for e, block, function, (centre, divisor, factor, shift, missing) in self._curved:
            value = code[:, block.columns.start] * block.scale + block.offset
            curved = (getattr(torch, function)(value) - centre) / divisor * factor + shift
            if block.missing is not None:
                gone = code[:, block.missing]
                curved = curved * (1.0 - gone) + missing * gone
            mask = torch.zeros(encoded.shape[1], dtype=self.dtype, device=self.device)
            mask[e] = 1.0
            encoded = encoded + curved[:, None] * mask
        return self._head(encoded)

    def logits(self, code: Any) -> Any:
        """(m, e) code -> (m, c): their softmax gives the outputs; a regression gives its prediction."""
        torch = require("torch", extra="torch")
        margin = self.margin(code)
        if self.link == "logistic":
            return torch.cat([torch.zeros_like(margin), margin], dim=1)
        if self.link == "ovr":
            p = torch.sigmoid(margin)
            return torch.log(p / p.sum(dim=1, keepdim=True))
        if self.link == "probability":
            p = torch.cat([1.0 - margin, margin], dim=1) if margin.shape[1] == 1 else margin
            return torch.log(p.clamp(min=1e-12))
        return margin

    def outputs(self, code: Any) -> Any:
        """(m, e) code -> (m, c): probabilities in the model's class order, or predictions."""
        torch = require("torch", extra="torch")
        logits = self.logits(code)
        return logits if self.link == "identity" else torch.softmax(logits, dim=1)


def code_blocks(encoder: Encoder) -> tuple[Block, ...]:
    """The block of each feature, in the unit of its first scaling, else in a share of its range."""
    schema = encoder.schema
    units: dict[int, tuple[float, float]] = {}
    for column in encoder.columns:
        if column.table is None and column.factor != 0.0 and not column.ufunc and column.steps:
            slope = column.factor / column.divisor
            units.setdefault(column.feature, (column.centre - column.shift / slope, abs(1.0 / slope)))
    blocks, at = [], 0
    for j in range(schema.d):
        gone = bool(schema.missing[j])
        if schema.has_levels[j]:
            size = int(schema.n_levels[j]) + gone
            blocks.append(Block(j, slice(at, at + size), "levels", missing=at + size - 1 if gone else None))
        else:
            size = 1 + gone
            offset, scale = units.get(j, _own_unit(schema, j))
            blocks.append(Block(j, slice(at, at + size), "numeric", offset, scale, at + 1 if gone else None))
        at += size
    return tuple(blocks)


def _own_unit(schema: Schema, j: int) -> tuple[float, float]:
    low, high = float(schema.low[j]), float(schema.high[j])
    if np.isfinite(low) and np.isfinite(high) and high > low:
        return (low + high) / 2.0, (high - low) / 4.0
    return (low if np.isfinite(low) else high if np.isfinite(high) else 0.0), 1.0


def fold_encoder(encoder: Encoder, blocks: tuple[Block, ...]) -> tuple[Floats, Floats, list[Any]]:
    """Matrix and shift of encoded = code @ matrix + shift, and the columns that a function bends."""
    matrix, shift = np.zeros((blocks[-1].columns.stop, encoder.width)), np.zeros(encoder.width)
    curved = []
    for e, column in enumerate(encoder.columns):
        if column.feature < 0:
            shift[e] = column.table[0]
            continue
        block = blocks[column.feature]
        start = block.columns.start
        if column.table is not None:
            size = block.columns.stop - start
            matrix[start : start + size, e] = column.table[:size]
            continue
        if column.ufunc:
            affine = (
                column.centre,
                column.divisor,
                column.factor,
                column.shift,
                float(np.nan_to_num(column.missing)),
            )
            curved.append((e, block, column.ufunc, affine))
            continue
        slope = column.factor / column.divisor
        matrix[start, e] = slope * block.scale
        shift[e] = (block.offset - column.centre) * slope + column.shift
        if block.missing is not None:
            matrix[block.missing, e] = column.missing - shift[e]
    return matrix, shift, curved


def dense_network(form: DenseForm, device: Any = "cpu", dtype: Any = None) -> TorchNetwork:
    """The network of known layers, on a device and in a precision (float64 by default)."""
    torch = require("torch", extra="torch")
    dtype = dtype or torch.float64
    layers = [
        (
            torch.as_tensor(np.ascontiguousarray(w), dtype=dtype, device=device),
            torch.as_tensor(np.ascontiguousarray(b), dtype=dtype, device=device),
            name,
        )
        for w, b, name in zip(form.weights, form.biases, form.activations, strict=True)
    ]
    return TorchNetwork(form.encoder, TorchLayers(layers), form.link, device=device, dtype=dtype)


@dataclass(frozen=True)
class TorchLayers:
    """Dense layers: weight, bias and the name of the activation of each."""

    layers: list[tuple[Any, Any, str]]

    def __call__(self, encoded: Any) -> Any:
        """(m, e) encoded -> (m, q)."""
        for weight, bias, name in self.layers:
            encoded = encoded @ weight + bias
            if name in ("relu", "tanh"):
                encoded = getattr(encoded, name)()
            elif name == "logistic":
                encoded = encoded.sigmoid()
        return encoded
