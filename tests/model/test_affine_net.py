"""Bounds of networks of rectified units: they hold for every row, and are exact where the network is affine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.model.conftest import LEVELS, NUMERIC, table, target

from wayforward.model import wrap
from wayforward.model.fast import DenseFast
from wayforward.schema import Schema

pytest.importorskip("sklearn")


def network(hidden: tuple[int, ...], *, missing: bool, classes: int = 2):
    """A net on numbers, one of them as its cube root, too, and one-hot levels."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    frame = table(400, missing=missing)
    y = target(frame) + (frame.age > 60) * (classes > 2)
    root = make_pipeline(FunctionTransformer(np.cbrt, feature_names_out="one-to-one"), StandardScaler())
    read = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NUMERIC),
            ("root", root, ["income"]),
            ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), LEVELS),
        ]
    )
    net = MLPClassifier(hidden, max_iter=30, learning_rate_init=0.02, random_state=0)
    schema = Schema.infer(frame)
    model = wrap(make_pipeline(read, net).fit(frame, y), schema)
    return model, schema.encode(frame)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("hidden", [(9,), (8, 7), (6, 6, 5)])
def test_bounds_hold_for_the_model_itself(hidden, classes):
    model, x = network(hidden, missing=True, classes=classes)
    schema, rng = model.schema, np.random.default_rng(0)
    x = x[:60]
    free = (rng.random(x.shape) < 0.5) & ~np.isnan(x)
    reach = rng.choice([0.02, 0.2, 1.0], (60, 1)) * np.where(schema.has_levels, schema.n_levels, schema.span)
    top = np.where(schema.has_levels, schema.n_levels - 1.0, schema.high)
    low = np.where(free, np.fmax(x - reach, np.where(schema.has_levels, 0.0, schema.low)), x)
    high = np.where(free, np.fmin(x + reach, top), x)
    low, high = (
        np.where(schema.has_levels, np.ceil(low), low),
        np.where(schema.has_levels, np.floor(high), high),
    )
    bounds = model.box_bounds(low, high)
    assert bounds is not None and bounds.loose is not None
    assert (np.nan_to_num(bounds.loose) > 0).any(1).mean() > 0.5
    assert (np.nan_to_num(bounds.loose)[low == high] == 0).all()
    for _ in range(60):
        row = low + np.where(rng.random(x.shape) < 0.5, rng.random(x.shape), rng.integers(0, 2, x.shape)) * (
            high - low
        )
        out = model.native(np.where(schema.has_levels, np.round(row), row))[0]
        assert (out >= bounds.least).all() and (out <= bounds.most).all()


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_bounds_are_attained_where_no_unit_turns():
    """Near a row the network is affine, so that its extremes lie at corners: levels apart, two layers led through."""
    model, x = network((8, 7), missing=False)
    schema = model.schema
    at = [schema.index(name) for name in ("age", "debt")]
    low, high = x[:30].copy(), x[:30].copy()
    near = np.array([0.002, 0.05])
    low[:, at], high[:, at] = low[:, at] - near, high[:, at] + near
    bounds = model.box_bounds(low, high)
    corners = []
    for ends in itertools.product((low, high), repeat=2):
        row = low.copy()
        for j, end in zip(at, ends, strict=True):
            row[:, j] = end[:, j]
        corners.append(model.native(row)[0])
    width = np.ptp(corners, axis=0)
    room = 2 * model.tolerance + 1e-12
    np.testing.assert_allclose(bounds.most, np.max(corners, axis=0), atol=room)
    np.testing.assert_allclose(bounds.least, np.min(corners, axis=0), atol=room)
    assert np.median(width) > 1000 * room


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_layer_without_units_that_turn_changes_no_bound():
    """A network with a layer that hands its inputs on is the network without it, of another width."""
    model, x = network((8, 7), missing=True)
    schema, fast = model.schema, model.fast
    hand_on = np.hstack([np.eye(8), np.zeros((8, 9))])
    wide = DenseFast(
        fast.encoder,
        [fast.weights[0], hand_on, np.vstack([fast.weights[1], np.ones((9, 7))]), *fast.weights[2:]],
        [fast.biases[0], np.zeros(17), *fast.biases[1:]],
        [fast.activations[0], "identity", *fast.activations[1:]],
        fast.link,
    )
    low, high = np.fmax(x[:40] - 0.2 * ~schema.has_levels, schema.low), x[:40]
    one, other = (net.bounds(low, high, {}, 2.0**-53) for net in (fast, wide))
    np.testing.assert_allclose(other.least, one.least, atol=1e-9)
    np.testing.assert_allclose(other.most, one.most, atol=1e-9)
    assert (np.isnan(other.loose) == np.isnan(one.loose)).all() and (
        (other.loose > 0) == (one.loose > 0)
    ).mean() > 0.9
