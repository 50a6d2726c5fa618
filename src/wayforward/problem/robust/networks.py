"""The least output of a dense network over all weights within delta, bounded from below.

Back from the output, a lower bound that is linear in a layer's values goes on to one that is linear in the values of
the layer before: weights shift to their worst by the sign of what they are multiplied with, and each activation is
replaced by a line below it (above it, where its weight is negative). At the first hidden layer, whose units move
independently of one another, the least value is exact. So is everything for networks with one hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wayforward.model import kernels

Layer = tuple[np.ndarray, np.ndarray, str]  # weight (in, out), bias (out,), activation
_ROUNDING = 1e-12  # outward, relative to the magnitudes that are summed


@dataclass
class Boxes:
    """Where the hidden layers of b rows can be, (b, units) each.

    down, up: (low, high) of the sums with weights that are the worst of all below, or above; after: (low, high) after
    the activation, whatever the weights.
    """

    down: list[tuple[np.ndarray, np.ndarray]]
    up: list[tuple[np.ndarray, np.ndarray]]
    after: list[tuple[np.ndarray, np.ndarray]]

    def sums(self, place: int, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of a layer's sums with the weights that are worst for slope * activation."""
        (a, b), (c, d) = self.down[place], self.up[place]
        return np.where(slope > 0, a, c), np.where(slope > 0, b, d)


def boxes(layers: Sequence[Layer], code: np.ndarray, delta: float, bias: bool) -> Boxes:
    """Intervals through the hidden layers for encoded rows (b, e): exact for the first two after ReLU."""
    down, up, after = [], [], []
    low = high = code
    for place, (weight, shift, name) in enumerate(layers[:-1]):
        if place == 0:
            middle = code @ weight + shift
            reach = delta * (np.abs(code).sum(1, keepdims=True) + bias) + np.zeros_like(middle)
            one, two = (middle - reach, middle - reach), (middle + reach, middle + reach)
        elif (low >= 0).all():  # then the worst weights are those of a corner, and the ends are reached
            one = _ends(low, high, weight - delta, shift - delta * bias)
            two = _ends(low, high, weight + delta, shift + delta * bias)
        else:
            least, most = _ends(low, high, weight, shift)
            far = delta * (np.maximum(np.abs(low), np.abs(high)).sum(1, keepdims=True) + bias)
            near = delta * (np.maximum(np.maximum(low, -high), 0).sum(1, keepdims=True) + bias)
            one, two = (least - far, most - near), (least + near, most + far)
        one, two = _wider(*one), _wider(*two)
        low, high = ACTIVATED[name](one[0]), ACTIVATED[name](two[1])
        down.append(one)
        up.append(two)
        after.append((low, high))
    return Boxes(down, up, after)


def _ends(
    low: np.ndarray, high: np.ndarray, weight: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest h @ weight + shift over a box."""
    plus, minus = np.maximum(weight, 0), np.minimum(weight, 0)
    return low @ plus + high @ minus + shift, high @ plus + low @ minus + shift


def _wider(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spare = _ROUNDING * (1.0 + np.maximum(np.abs(low), np.abs(high)))
    return low - spare, high + spare


def least(layers: Sequence[Layer], at: Boxes, delta: float, bias: bool, direction: np.ndarray) -> np.ndarray:
    """(b,) a lower bound of outputs (b, q) @ direction (q,) over all weights within delta."""
    weight, shift, _ = layers[-1]
    length = np.abs(direction).sum()
    slope = np.broadcast_to(weight @ direction, at.after[-1][0].shape)
    share = np.full((len(slope), 1), delta * length)  # of the sum of absolute values, taken off
    rest = np.full(len(slope), shift @ direction - delta * bias * length)
    best = _at_ends(slope, share, rest, *at.after[-1])  # by intervals; lines are not always better
    for place in range(len(layers) - 2, 0, -1):
        slope, rest = _without_sizes(slope, share, rest, *at.after[place])
        line, offset = _lines(slope, *at.sums(place, slope), layers[place][2])
        slope, share, rest = _back(layers[place], line, rest + offset.sum(1), delta, bias)
        best = np.maximum(best, _at_ends(slope, share, rest, *at.after[place - 1]))
    return best


def _without_sizes(
    slope: np.ndarray, share: np.ndarray, rest: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """slope h - share |h| from below by a line: |h| is below its chord."""
    width = high - low
    rise = np.where(width > 0, (np.abs(high) - np.abs(low)) / np.where(width > 0, width, 1.0), 0.0)
    return slope - share * rise, rest - (share * (np.abs(low) - rise * low)).sum(1)


def _back(
    layer: Layer, line: np.ndarray, rest: np.ndarray, delta: float, bias: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A bound by a layer's sums (b, out) -> by its inputs: slopes (b, in), share of their sizes (b, 1), rest (b,)."""
    weight, shift, _ = layer
    length = np.abs(line).sum(1)
    return line @ weight.T, (delta * length)[:, None], rest + line @ shift - delta * bias * length


def _at_ends(
    slope: np.ndarray, share: np.ndarray, rest: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """(b,) least value over a box: a concave sum is least at ends."""
    one, two = slope * low - share * np.abs(low), slope * high - share * np.abs(high)
    spare = _ROUNDING * (1.0 + np.abs(rest) + np.maximum(np.abs(one), np.abs(two)).sum(1))
    return np.asarray(np.minimum(one, two).sum(1) + rest - spare)


def _lines(slope: np.ndarray, low: np.ndarray, high: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """slope * activation(z) from below on [low, high]: (line, offset), both (b, units)."""
    if name == "identity":
        return slope, np.zeros_like(slope)
    if name == "relu":
        width = np.where(high > low, high - low, 1.0)
        on, off = low >= 0, high <= 0
        chord = np.where(on, 1.0, np.where(off, 0.0, high / width))
        under = np.where(on, 1.0, np.where(off, 0.0, (high > -low).astype(np.float64)))
        line = np.where(slope > 0, under, chord)
        return slope * line, np.where(slope > 0, 0.0, -slope * chord * np.where(on | off, 0.0, low))
    # both bend the same way: logistic(z) = 1/2 + tanh(z / 2) / 2
    scale = 1.0 if name == "tanh" else 0.5
    rise, base = _below_tanh(scale * low, scale * high)
    fall, top = _below_tanh(-scale * high, -scale * low)
    line, offset = np.where(slope > 0, rise, fall), np.where(slope > 0, base, -top)
    if name == "tanh":
        return slope * line, slope * offset
    return slope * line * 0.25, slope * (0.5 + 0.5 * offset)


def _below_tanh(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A line (rise, offset) below tanh on [low, high]: the chord where it is below, else a tangent."""
    a, b = np.tanh(low), np.tanh(high)
    wide = high - low > 1e-9
    chord = np.where(wide, (b - a) / np.where(wide, high - low, 1.0), 0.0)
    below = wide & ((low >= 0) | (1 - a**2 >= chord))
    # the tangent at a negative point is below tanh up to 0, and further if it is below at the upper end
    left, right = np.array(low), np.minimum(high, 0.0)
    middle = np.where(high <= 0, (low + high) / 2, low)
    crossing = (high > 0) & (low < 0)
    for _ in range(12):
        point = (left + right) / 2
        value = np.tanh(point)
        fits = value + (1 - value**2) * (high - point) <= b
        left, right = np.where(fits, point, left), np.where(fits, right, point)
    point = np.where(crossing, left, middle)
    value = np.tanh(point)
    rise = np.where(below, chord, np.where(wide, 1 - value**2, 0.0))
    offset = np.where(below, a - chord * low, np.where(wide, value - rise * point, a))
    return rise, offset - 1e-12


ACTIVATED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "logistic": kernels.sigmoid,
}
