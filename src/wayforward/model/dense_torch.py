"""A dense network that torch evaluates on a device: many people's candidates in one matrix product a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.model.fast import DenseFast
from wayforward.shapes import Floats

_TILE = 16  # widths are filled up to whole tiles, so that rows are rounded the same wherever they stand
FEW, MANY = 1024, 1 << 16  # rows of one product on a CPU, and elsewhere: always as many, filled up


class DenseOnDevice(DenseFast):
    """The same network as `plain`, in double precision on a torch device; what it says is read on the CPU.

    A row's numbers do not depend on the rows beside it; on another device they differ by rounding.
    """

    def __init__(self, plain: DenseFast, device: Any) -> None:
        super().__init__(plain.encoder, plain.weights, plain.biases, plain.activations, plain.link)
        self.torch, self.device = require("torch", extra="torch"), device
        self.rows = FEW if device.type == "cpu" else MANY
        net = self._arrays
        level = np.flatnonzero(net.offset >= 0)
        self._source, self._affine = self._put(net.source), self._put(net.affine.T)
        self._level, self._offset = self._put(level), self._put(net.offset[level])
        self._n_levels = self._put(net.levels[level])
        self._first, self._bias = self._put(_tiled(net.first)), self._put(_tiled(net.bias[None])[0])
        self._table = self._put(net.table if not len(net.table) else _tiled(net.table)[: len(net.table)])
        self._rest = [
            (self._put(_tiled(w)), self._put(_tiled(b[None])[0]))
            for w, b in zip(self.weights[1:], self.biases[1:], strict=True)
        ]

    def _put(self, array: np.ndarray) -> Any:
        return self.torch.as_tensor(np.ascontiguousarray(array), device=self.device)

    def margin(self, x: Floats) -> Floats:
        """(m, d) -> (m, q) before the link."""
        torch, wide = self.torch, self.encoder.extend(x)
        out = np.empty((len(x), len(self.biases[-1])))
        with torch.no_grad():
            for start in range(0, len(x), self.rows):
                part = wide[start : start + self.rows]
                block = torch.zeros((self.rows, wide.shape[1]), dtype=torch.float64, device=self.device)
                block[: len(part)] = self._put(part)
                got = self._margin(block)[: len(part), : out.shape[1]]
                out[start : start + self.rows] = got.cpu().numpy()
        return out

    def _margin(self, x: Any) -> Any:
        """Rows (m, d) and what functions make of them -> (m, q), filled up to whole tiles."""
        torch = self.torch
        value, (centre, divisor, factor, shift, missing) = x[:, self._source], self._affine
        code = torch.where(value.isnan(), missing, ((value - centre) / divisor) * factor + shift)
        code = torch.nn.functional.pad(code, (0, len(self._first) - code.shape[1]))
        h = torch.addmm(self._bias, code, self._first)
        if len(self._level):
            value = x[:, self._level]
            level = torch.where(value.isnan(), self._n_levels, value).long()
            h = h + torch.nn.functional.embedding_bag(self._offset + level, self._table, mode="sum")
        h = self._activated(h, self.activations[0])
        for (weight, bias), name in zip(self._rest, self.activations[1:], strict=True):
            h = self._activated(torch.addmm(bias, h, weight), name)
        return h

    def _activated(self, h: Any, name: str) -> Any:
        if name == "identity":
            return h
        return self.torch.sigmoid(h) if name == "logistic" else getattr(self.torch, name)(h)


def _tiled(array: Floats) -> Floats:
    """(a, b) filled up with zeros to whole tiles."""
    a, b = (-(-max(size, 1) // _TILE) * _TILE for size in array.shape)
    out = np.zeros((a, b))
    out[: array.shape[0], : array.shape[1]] = array
    return out
