"""The world where nothing follows."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.schema import Feature, Schema
from wayforward.world import Independent

NAN = np.nan


def test_only_what_is_acted_on_moves():
    before = np.array([[1.0, 2.0], [3.0, NAN]])
    action = np.array([[[5, NAN], [NAN, NAN]], [[NAN, 4], [3, NAN]]])
    after = Independent().consequences(before, action)
    np.testing.assert_array_equal(after, [[[5, 2], [1, 2]], [[3, 4], [3, NAN]]])


def test_torch_agrees():
    torch = pytest.importorskip("torch")
    before, value = torch.tensor([[1.0, 2.0]]), torch.tensor([[[5.0, 0.0], [0.0, 6.0]]], requires_grad=True)
    acted = torch.tensor([[[True, False], [False, True]]])
    after = Independent().consequences_torch(before, value, acted)
    assert after.tolist() == [[[5, 2], [1, 6]]]
    assert torch.autograd.grad(after.sum(), value)[0].tolist() == acted.double().tolist()


def test_nothing_descends_and_everybody_is_their_own_noise():
    schema = Schema((Feature(name="a", kind="real"), Feature(name="b", kind="real")))
    world = Independent().bind(schema)
    assert (
        isinstance(world, Independent) and not world.descendants.any() and world.descendants.shape == (2, 2)
    )
    x = np.array([[1.0, 2.0]])
    assert np.array_equal(world.predict(world.abduct(x)), x)
    assert np.array_equal(world.predict(world.abduct(x), [[NAN, 3]]), [[1, 3]])
