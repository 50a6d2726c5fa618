"""Bounds over all weights within delta: attacked by models chosen to break them, exact where that can be counted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayforward.problem.robust.networks import ACTIVATED, _below_tanh, _without_sizes, boxes, least

SLOPES = {
    "relu": lambda z: (z > 0).astype(float),
    "tanh": lambda z: 1 - np.tanh(z) ** 2,
    "logistic": lambda z: ACTIVATED["logistic"](z) * (1 - ACTIVATED["logistic"](z)),
    "identity": np.ones_like,
}


def network(rng, widths, name):
    """Random layers of some widths; the last one is linear."""
    names = [name] * (len(widths) - 2) + ["identity"]
    return [
        (rng.normal(size=(a, b)) / np.sqrt(a), 0.3 * rng.normal(size=b), act)
        for a, b, act in zip(widths, widths[1:], names, strict=False)
    ]


def forward(layers, code):
    sums, values = [], [code]
    for weight, shift, name in layers:
        sums.append(values[-1] @ weight + shift)
        values.append(ACTIVATED[name](sums[-1]))
    return sums, values


def attacked(layers, code, direction, delta, bias, rng, starts=6, turns=12):
    """The least output (of one row) of models in corners of the box, each chosen by the slopes of the one before."""
    best = np.inf
    for start in range(starts):
        at = layers
        if start:
            at = [
                (
                    w + delta * rng.choice([-1, 1], size=w.shape),
                    b + bias * delta * rng.choice([-1, 1], size=b.shape),
                    name,
                )
                for w, b, name in layers
            ]
        for _ in range(turns):
            sums, values = forward(at, code)
            best = min(best, float(values[-1] @ direction))
            slope, chosen = direction, []
            for place in range(len(layers) - 1, -1, -1):
                slope = slope * SLOPES[layers[place][2]](sums[place])
                weight, shift, name = layers[place]
                way = np.outer(values[place], slope)
                chosen.append((weight - delta * np.sign(way), shift - bias * delta * np.sign(slope), name))
                slope = at[place][0] @ slope
            at = chosen[::-1]
    return best


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    name=st.sampled_from(["relu", "tanh", "logistic", "identity"]),
    hidden=st.sampled_from([(5,), (6, 4), (4, 5, 3), (3, 4, 4, 3)]),
    delta=st.sampled_from([0.001, 0.02, 0.1, 0.5]),
    bias=st.booleans(),
)
def test_no_model_within_delta_is_below_the_bound(seed, name, hidden, delta, bias):
    """Weights by chance, in corners, and in corners chosen by slopes; one and three outputs."""
    rng = np.random.default_rng(seed)
    q = int(rng.choice([1, 3]))
    layers = network(rng, (4, *hidden, q), name)
    code = rng.normal(size=(3, 4))
    direction = rng.choice([-1.0, 0.0, 1.0], size=q) if q > 1 else rng.choice([-1.0, 1.0], size=1)
    bound = least(layers, boxes(layers, code, delta, bias), delta, bias, direction)
    for _ in range(40):
        corner = rng.random() < 0.5

        def moved(a, on=True, corner=corner):
            shift = rng.uniform(-1, 1, size=a.shape)
            return a + on * delta * (np.sign(shift) if corner else shift)

        other = [(moved(w), moved(b, bias), act) for w, b, act in layers]
        assert (forward(other, code)[1][-1] @ direction >= bound - 1e-12).all()
    for row, told in zip(code, bound, strict=True):
        assert attacked(layers, row, direction, delta, bias, rng) >= told - 1e-12


@pytest.mark.parametrize("name", ["relu", "tanh", "logistic"])
def test_one_hidden_layer_is_exact(name):
    """The worst of all 512 corners is the bound."""
    rng = np.random.default_rng(3)
    layers = network(rng, (2, 2, 1), name)
    code, delta = rng.normal(size=(5, 2)), 0.3
    for direction in ([1.0], [-1.0]):
        bound = least(layers, boxes(layers, code, delta, True), delta, True, np.array(direction))
        worst = np.full(5, np.inf)
        for signs in itertools.product([-1.0, 1.0], repeat=9):
            s = delta * np.array(signs)
            moved = [
                (layers[0][0] + s[:4].reshape(2, 2), layers[0][1] + s[4:6], name),
                (layers[1][0] + s[6:8, None], layers[1][1] + s[8:], "identity"),
            ]
            worst = np.minimum(worst, forward(moved, code)[1][-1] @ np.array(direction))
        np.testing.assert_allclose(bound, worst, atol=1e-9)


def test_two_hidden_layers_lose_little_and_far_less_than_intervals():
    """Between the worst model found and the bound lies a fraction of what intervals lose; delta 0 is the output."""
    rng = np.random.default_rng(0)
    layers = network(rng, (8, 24, 24, 1), "relu")
    code, direction = rng.normal(size=(20, 8)), np.ones(1)
    at = boxes(layers, code, 0.02, True)
    bound = least(layers, at, 0.02, True, direction)
    low, high = at.after[-1]
    weight, shift, _ = layers[-1]
    ends = np.minimum(low * (weight[:, 0] - 0.02), high * (weight[:, 0] - 0.02))
    interval = ends.sum(1) + shift[0] - 0.02
    worst = np.array([attacked(layers, row, direction, 0.02, True, rng) for row in code])
    assert (bound >= interval - 1e-9).all()
    assert np.median((worst - bound) / (worst - interval)) < 0.5
    plain = forward(layers, code)[1][-1][:, 0]
    np.testing.assert_allclose(
        least(layers, boxes(layers, code, 0.0, True), 0.0, True, direction), plain, atol=1e-8
    )


@given(low=st.floats(-8, 8), width=st.floats(0, 10))
def test_lines_below_tanh_are_below(low, width):
    """On a fine grid of the interval, whichever way it bends."""
    rise, offset = _below_tanh(np.array([low]), np.array([low + width]))
    z = np.linspace(low, low + width, 400)
    assert (rise * z + offset <= np.tanh(z) + 1e-12).all()


@given(
    low=st.floats(-4, 4),
    width=st.floats(0, 5),
    slope=st.floats(-3, 3),
    share=st.floats(0, 2),
    rest=st.floats(-1, 1),
)
def test_lines_instead_of_sizes_are_below_and_meet_them_at_the_ends(low, width, slope, share, rest):
    """slope h - share |h| + rest is concave on the interval, so that the chord between its ends is below it."""
    ends = np.array([[low]]), np.array([[low + width]])
    line, offset = _without_sizes(np.array([[slope]]), np.array([[share]]), np.array([rest]), *ends)
    h = np.linspace(low, low + width, 50)
    truth = slope * h - share * np.abs(h) + rest
    assert (line[0, 0] * h + offset[0] <= truth + 1e-9).all()
    assert line[0, 0] * h[[0, -1]] + offset[0] == pytest.approx(truth[[0, -1]], abs=1e-9)
