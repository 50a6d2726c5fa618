"""The numba kernels of `compiled`: a dense network's score, its slopes, and the descent, one search at a time.

Every search is worked out alone and in a fixed order, without fast-math: the batch changes no bit. Coordinates of a
search, c of them: p moves (in ranges), then the shares of one block of levels after another (`begin` (b + 1,): where
each starts).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wayforward.compiling import kernel

LOGIT, SQUARED, HINGE, PROBABILITY = 0, 1, 2, 3


class Layers(NamedTuple):
    """A network as the kernels read it, and what its margin is measured against.

    first (c, h): weights of the coordinates into the first layer; first_t its transpose; flat, flat_t: the further
    layers and their transposes; shift: their biases; shapes (layers + 1,): units of each layer, the last one 1; kinds:
    activations. The score is min(side * margin - low, high - side * margin).
    """

    first: Any
    first_t: Any
    flat: Any
    flat_t: Any
    shift: Any
    shapes: Any
    kinds: Any
    side: float
    low: float
    high: float


@kernel
def base(code: Any, weight: Any, bias: Any, out: Any) -> None:
    """Compute the first layer before its activation: code (m, e), weight (e, h), bias (h,) -> out (m, h)."""
    for i in range(code.shape[0]):
        h = out[i]
        for t in range(h.shape[0]):
            h[t] = bias[t]
        for e in range(code.shape[1]):
            v = code[i, e]
            if v != 0.0:
                w = weight[e]
                for t in range(h.shape[0]):
                    h[t] += v * w[t]


@kernel
def _activate(h: Any, n: int, kind: int) -> None:
    if kind == 1:
        for t in range(n):
            h[t] = max(h[t], 0.0)
    elif kind == 2:
        for t in range(n):
            h[t] = np.tanh(h[t])
    elif kind == 3:
        for t in range(n):
            e = np.exp(-abs(h[t]))
            h[t] = (1.0 if h[t] >= 0 else e) / (1.0 + e)


@kernel
def _steepen(h: Any, delta: Any, n: int, kind: int) -> None:
    """Multiply by the derivative of the activation whose value is h, in place."""
    if kind == 1:
        for t in range(n):
            if h[t] <= 0.0:
                delta[t] = 0.0
    elif kind == 2:
        for t in range(n):
            delta[t] *= 1.0 - h[t] * h[t]
    elif kind == 3:
        for t in range(n):
            delta[t] *= h[t] * (1.0 - h[t])


@kernel
def _forward(start: Any, z: Any, own: Any, net: Any, act: Any) -> Any:
    """Return the margin at coordinates z (c,); the layers are left in act (layers + 1, widest)."""
    first, flat, shift, shapes, kinds = net.first, net.flat, net.shift, net.shapes, net.kinds
    n = shapes[0]
    h = act[0]
    for t in range(n):
        h[t] = start[t]
    for c in range(z.shape[0]):
        v = z[c] - own[c]
        if v != 0.0:
            w = first[c]
            for t in range(n):
                h[t] += v * w[t]
    _activate(h, n, kinds[0])
    at = 0
    bias = 0
    for layer in range(shapes.shape[0] - 1):
        n_out = shapes[layer + 1]
        g = act[layer + 1]
        for o in range(n_out):
            g[o] = shift[bias + o]
        for t in range(n):
            v = h[t]
            if v != 0.0:
                w = flat[at + t * n_out : at + (t + 1) * n_out]
                for o in range(n_out):
                    g[o] += v * w[o]
        _activate(g, n_out, kinds[layer + 1])
        at += n * n_out
        bias += n_out
        n = n_out
        h = g
    return h[0]


@kernel
def _backward(act: Any, net: Any, delta: Any, other: Any, slope: Any) -> None:
    """Write the slopes (c,) of the margin, after `_forward`."""
    first_t, flat_t, shapes, kinds = net.first_t, net.flat_t, net.shapes, net.kinds
    delta[0] = 1.0
    layers = shapes.shape[0] - 1
    _steepen(act[layers], delta, 1, kinds[layers])
    at = flat_t.shape[0]
    for back in range(layers):
        layer = layers - 1 - back
        n, n_out = shapes[layer], shapes[layer + 1]
        at -= n * n_out
        for t in range(n):
            other[t] = 0.0
        for o in range(n_out):
            v = delta[o]
            if v != 0.0:
                w = flat_t[at + o * n : at + (o + 1) * n]
                for t in range(n):
                    other[t] += v * w[t]
        _steepen(act[layer], other, n, kinds[layer])
        for t in range(n):
            delta[t] = other[t]
    for c in range(slope.shape[0]):
        slope[c] = 0.0
    for t in range(shapes[0]):
        v = delta[t]
        if v != 0.0:
            w = first_t[t]
            for c in range(slope.shape[0]):
                slope[c] += v * w[c]


@kernel
def gradients(start: Any, z: Any, own: Any, net: Any, score: Any, slope: Any) -> None:
    """Write score (m,) and slope (m, c) at coordinates z (m, c)."""
    side, low, high = net.side, net.low, net.high
    widest = net.shapes.max()
    act = np.empty((net.shapes.shape[0], widest))
    delta, other = np.empty(widest), np.empty(widest)
    for i in range(z.shape[0]):
        value = side * _forward(start[i], z[i], own[i], net, act)
        _backward(act, net, delta, other, slope[i])
        sign = side if value - low <= high - value else -side
        score[i] = min(value - low, high - value)
        for c in range(z.shape[1]):
            slope[i, c] *= sign


@kernel
def _slack(score: float, size: float, aim: float, kind: int) -> Any:
    """Return the derivative of the loss by the score."""
    short = aim - score / size
    if kind == SQUARED:
        return -2.0 * short / size
    if kind == HINGE:
        return -1.0 / size if short > 0 else 0.0
    if kind == PROBABILITY:
        e = np.exp(-abs(score / size))
        p = (1.0 if score >= 0 else e) / (1.0 + e)
        return -2.0 * (1.0 - p) * p * (1.0 - p) / size
    return -2.0 * max(short, 0.0) / size


@kernel
def _simplex(point: Any, may: Any, falling: Any) -> None:
    """Project on the simplex of the allowed coordinates, in place."""
    n = 0
    for c in range(point.shape[0]):
        if may[c]:  # insertion sort, largest first
            v = point[c]
            at = n
            while at > 0 and falling[at - 1] < v:
                falling[at] = falling[at - 1]
                at -= 1
            falling[at] = v
            n += 1
    total = 0.0
    over = 0.0
    for k in range(n):
        total += falling[k]
        level = (total - 1.0) / (k + 1)
        if falling[k] > level:
            over = level
    for c in range(point.shape[0]):
        point[c] = max(point[c] - over, 0.0) if may[c] else 0.0


@kernel
def descend(
    start: Any,
    z: Any,
    own: Any,
    may: Any,
    begin: Any,
    floor: Any,
    ceiling: Any,
    price: Any,
    away: Any,
    weight: Any,
    more: Any,
    net: Any,
    scaled: bool,
    loss: int,
    squared: bool,
    aim: float,
    steps: int,
    rate: float,
) -> None:
    """Take the steps of `steps.run` at z (m, c), in place. more (m,): what scores must be beyond the boundary."""
    side, low, high = net.side, net.low, net.high
    widest = net.shapes.max()
    act = np.empty((net.shapes.shape[0], widest))
    delta, other = np.empty(widest), np.empty(widest)
    m, c_all = z.shape
    p = begin[0]
    slope, mean, second = np.empty(c_all), np.empty(c_all), np.empty(c_all)
    falling = np.empty(c_all)
    for i in range(m):
        at, free = z[i], may[i]
        for c in range(c_all):
            mean[c] = 0.0
            second[c] = 0.0
        size = 1.0
        pace = rate
        decay, decay2 = 1.0, 1.0
        for step in range(1, steps + 1):
            value = side * _forward(start[i], at, own[i], net, act)
            _backward(act, net, delta, other, slope)
            sign = side if value - low <= high - value else -side
            score = min(value - low, high - value) - more[i]
            if step == 1:
                width = max(abs(score), 1e-6)
                size = width if scaled else 1.0
                steep = 0.0
                for j in range(p):
                    if free[j]:
                        s = -sign * slope[j]
                        shut = (at[j] <= floor[i, j] and s > 0) or (at[j] >= ceiling[i, j] and s < 0)
                        if not shut:
                            steep = max(steep, abs(s) / price[i, j])
                way = max(abs(aim * size - score), 1e-3 * width) / max(steep, 1e-12)
                pace = min(max(way / 8.0, 1e-6), rate)
            pull = weight[i] * _slack(score, size, aim, loss) * sign
            fall = 0.01 + 0.495 * (1.0 + np.cos(np.pi * step / steps))
            decay *= 0.8
            decay2 *= 0.95
            for c in range(c_all):
                s = pull * slope[c] + away[i, c]
                if c < p and squared:
                    s += 2.0 * at[c] * price[i, c] * price[i, c]
                    second[c] = 0.95 * second[c] + 0.05 * s * s
                mean[c] = 0.8 * mean[c] + 0.2 * s
            here = pace * fall
            if squared:
                for j in range(p):
                    if free[j]:
                        root = np.sqrt(second[j] / (1.0 - decay2))
                        v = at[j] - here / (root + 1e-12) * mean[j] / (1.0 - decay)
                        at[j] = min(max(v, floor[i, j]), ceiling[i, j])
            else:
                steep = 1.0
                for j in range(p):
                    s = mean[j] / (1.0 - decay) / price[i, j]
                    shut = (at[j] <= floor[i, j] and s > 0) or (at[j] >= ceiling[i, j] and s < 0)
                    slope[j] = 0.0 if shut or not free[j] else s
                    steep = max(steep, abs(slope[j]))
                wide = here / steep
                for j in range(p):
                    if free[j]:
                        effort = at[j] * price[i, j] - wide * slope[j]
                        v = max(abs(effort) - wide, 0.0) / price[i, j]
                        v = v if effort > 0 else -v
                        at[j] = min(max(v, floor[i, j]), ceiling[i, j])
            for b in range(begin.shape[0] - 1):
                one, two = begin[b], begin[b + 1]
                steep = 1e-12
                count = 0
                for c in range(one, two):
                    if free[c]:
                        count += 1
                        steep = max(steep, abs(mean[c] / (1.0 - decay)))
                if count < 2:
                    continue
                wide = rate * fall / steep
                for c in range(one, two):
                    at[c] -= wide * mean[c] / (1.0 - decay)
                _simplex(at[one:two], free[one:two], falling)
