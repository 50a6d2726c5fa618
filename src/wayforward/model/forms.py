"""What can be seen inside a model that was read: a linear score, dense layers, a forest, a differentiable network.

Values are in feature units; level features hold level indices; NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from wayforward.model.encoder import Encoder
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask

Link = Literal["identity", "logistic", "softmax", "ovr", "probability"]


class BoxBounds(NamedTuple):
    """What a model can say over boxes: least, most (n, c) outputs; constant (n,): the same bits all over the box.

    loose (n, d): how much of what the bounds are too wide by hangs on each feature's range, NaN where that is not
    known; None where it never is.
    """

    least: Floats
    most: Floats
    constant: Mask
    loose: Floats | None = None


class Rivals(NamedTuple):
    """Scores of n rows that add up feature by feature, of which the largest decides. now (n, q), -inf for who is not in
    the running; change (n, d, q): what each score gains where one feature alone takes another value; wanted (n, q)
    bool: whose lead is a yes, None for the classes that the target names."""

    now: Floats
    change: Floats
    wanted: Mask | None = None


@public
@dataclass(frozen=True)
class LinearForm:
    """A linear score in feature units: margin = bias + one part a feature.

    bias (q,); weight (d, q) per unit, 0 for level features; tables j -> (L, q) the part of each level;
    missing (d, q) the part of a missing value (NaN where the feature cannot be missing).
    q = 1 for regression and for two classes, whose margin is the log-odds of the second class (for models
    without probabilities: the signed distance); else one column a class, compared by softmax.
    """

    schema: Schema
    bias: Floats
    weight: Floats
    tables: Mapping[int, Floats]
    missing: Floats

    def parts(self, x: Floats) -> Floats:
        """(m, d) -> (m, d, q): what each feature adds to the margin."""
        x = np.asarray(x, dtype=np.float64)
        out = np.where(np.isnan(x)[:, :, None], self.missing, np.nan_to_num(x)[:, :, None] * self.weight)
        for j, table in self.tables.items():
            gone = np.isnan(x[:, j])
            level = np.where(gone, 0.0, x[:, j]).astype(np.int64)
            out[:, j] = np.where(gone[:, None], self.missing[j], table[level])
        result: Floats = out
        return result

    def margin(self, x: Floats) -> Floats:
        """(m, d) -> (m, q)."""
        total: Floats = self.bias + self.parts(x).sum(axis=1)
        return total


@public
@dataclass(frozen=True, eq=False)
class DenseForm:
    """Dense layers on encoded columns; a linear score is one layer.

    weights: (in, out) a layer; biases: (out,); activations: 'identity', 'relu', 'tanh' or 'logistic', that of the last
    layer 'identity'; link: what turns the margins into outputs. margin: (m, d) raw rows -> (m, q) before the link.
    """

    encoder: Encoder
    weights: Sequence[Floats]
    biases: Sequence[Floats]
    activations: Sequence[str]
    link: Link
    margin: Callable[[Floats], Floats]


@public
@dataclass(frozen=True)
class FlatForest:
    """A tree ensemble in raw feature units, as arrays over nodes.

    feature (N,) the raw feature of a split, -1 at a leaf. A numeric split goes left when x <= threshold: the
    threshold is the last float64 on the left in the model's own precision, so `np.nextafter(threshold, inf)`
    is the first on the right. A level split goes left when left_levels[level_set[node], level]; the last
    column, index L of the feature, stands for a missing value. missing_left (N,) for numeric splits. left,
    right (N,) children. leaf (N,) row of `value` at a leaf, -1 elsewhere. roots (T,). value (leaves, q):
    margin = base + scale * sum over trees; `link` turns it into outputs: 'identity' (probabilities or a
    prediction), 'logistic' (q = 1) or 'softmax'. With link 'identity', two classes and q = 1 the sum is the
    probability of the second class.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Mask
    level_set: Ints
    left_levels: Mask
    leaf: Ints
    value: Floats
    roots: Ints
    base: Floats
    scale: float
    link: Literal["identity", "logistic", "softmax"]


@dataclass(frozen=True)
class Block:
    """The columns of one feature in the code.

    columns: its slice (the missing column included, as the last). kind: 'numeric' or 'levels'. offset, scale:
    feature units of a numeric column, value = code * scale + offset. missing: column that is 1 for a missing
    value, or None.
    """

    feature: int
    columns: slice
    kind: Literal["numeric", "levels"]
    offset: float = 0.0
    scale: float = 1.0
    missing: int | None = None


class Network(Protocol):
    """What a gradient method may ask of a model: code (m, e) of raw rows (m, d), and outputs (m, c) of a code.

    blocks: one `Block` a feature, in schema order. Tensors are torch's; see `TorchNetwork`.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    width: int
    device: Any
    dtype: Any

    def encode(self, x: Any) -> Any:
        """(m, d) raw rows (tensor or array) -> (m, e) code."""

    def decode(self, code: Any) -> Any:
        """(m, e) code -> (m, d) raw rows."""

    def logits(self, code: Any) -> Any:
        """(m, e) code -> (m, c): their softmax gives the outputs; a regression gives its prediction."""

    def outputs(self, code: Any) -> Any:
        """(m, e) code -> (m, c): probabilities in the model's class order, or predictions."""
