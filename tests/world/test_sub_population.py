"""The sub-population view: F-SCM-2, fresh noise only where an act moves something, any world that knows its noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from wayforward.errors import WorldError
from wayforward.schema import Feature, Schema
from wayforward.streams import keys_of
from wayforward.world import SCM, Independent, SubPopulation

NAN = np.nan


def numbers(*names):
    return Schema(tuple(Feature(name=name, kind="real", low=-100, high=100) for name in names))


def chain(**more):
    return SCM({"x1": "u", "x2": "2 * x1 + u"}, noise={"x1": "Normal(0, 1)", "x2": "Normal(0, 1)"}, **more)


def test_the_average_forgets_the_persons_own_noise():
    """F-SCM-2: x = (1, 2.5) has u = .5; their counterfactual reaches 3 at 1.25, the average at 1.5."""
    x, schema = np.array([[1.0, 2.5]]), numbers("x1", "x2")
    own, other = chain().bind(schema), SubPopulation(chain()).bind(schema)
    assert own.consequences(x, np.array([[1.25, NAN]]))[0, 1] == pytest.approx(3.0)
    assert other.consequences(x, np.array([[1.5, NAN]]))[0, 1] == pytest.approx(3.0)
    drawn = other.draws(x, np.array([[2.3224, NAN]]), 1000, keys_of(x, 0))
    assert (drawn[:, 0, 1] >= 3).mean() == pytest.approx(0.95, abs=0.0015)
    assert other.uncertain and not own.uncertain


def test_what_no_act_moves_keeps_its_bits():
    schema = numbers("x1", "x2", "x3", "x4")
    world = SubPopulation(
        SCM(
            {"x1": "u", "x2": "x1 + u", "x3": "x2 * x2 + u", "x4": "x1 + u"},
            noise=dict.fromkeys(("x1", "x2", "x3", "x4"), "Laplace(0, 1)"),
        )
    ).bind(schema)
    x = world.sample(30, 0)
    keys = keys_of(x, 0)
    action = np.full((30, 4), NAN)
    action[:, 1] = x[:, 1] + 1
    for after in (world.consequences(x, action)[None], world.draws(x, action, 6, keys)):
        assert (after[..., [0, 3]] == x[:, [0, 3]]).all()
        assert (after[..., 1] == action[:, 1]).all()
        assert (after[..., 2] != x[:, 2]).all()
    held = np.full((30, 4), NAN)
    held[:, 0], held[:, 1] = x[:, 0] + 1, x[:, 1]  # x2 is held, so that x3 has no reason to move
    after = world.draws(x, held, 6, keys)
    assert (after[..., 1:3] == x[:, 1:3]).all() and (after[..., 3] != x[:, 3]).all()
    still = np.where(np.arange(4) == 0, x, NAN)
    assert (world.draws(x, still, 6, keys) == x).all()
    nothing = np.full((30, 4), NAN)
    assert (world.consequences(x, nothing) == x).all()


def test_the_draws_are_the_interventional_distribution():
    schema = numbers("x1", "x2")
    world = SubPopulation(chain()).bind(schema)
    x = np.array([[1.0, 2.5]])
    drawn = world.draws(x, np.array([[3.0, NAN]]), 500, keys_of(x, 0))[:, 0, 1]
    assert kstest(drawn, norm(6, 1).cdf).pvalue > 0.5


def test_a_row_does_not_depend_on_the_rows_beside_it():
    world = SubPopulation(chain()).bind(numbers("x1", "x2"))
    x = world.sample(20, 1)
    action = np.stack([x[:, 0] + 1, np.full(20, NAN)], axis=-1)
    drawn = world.draws(x, action, 5, keys_of(x, 0))
    assert (world.draws(x[[4, 2]], action[[4, 2]], 5, keys_of(x[[4, 2]], 0)) == drawn[:, [4, 2]]).all()
    options = np.stack([action, action + 1], axis=1)
    assert (world.draws(x, options, 5, keys_of(x, 0))[:, :, 0] == drawn).all()


def test_noise_from_people_where_the_world_has_no_distribution():
    schema = numbers("x1", "x2")
    bare = SCM({"x1": "u", "x2": "2 * x1 + u"})
    x = np.array([[1.0, 2.5]])
    with pytest.raises(WorldError, match="'x2' has no distribution"):
        SubPopulation(bare).bind(schema).consequences(x, np.array([[2.0, NAN]]))
    seen = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 5.0]] * 40)  # noise 1, 2, 3
    world = SubPopulation(bare, seen).bind(schema)
    assert world.consequences(x, np.array([[2.0, NAN]]))[0, 1] == pytest.approx(6.0)
    drawn = world.draws(x, np.array([[2.0, NAN]]), 300, keys_of(x, 0))[:, 0, 1]
    np.testing.assert_allclose(np.unique(drawn, return_counts=True), [[5, 6, 7], [100, 100, 100]], atol=1)


def test_soft_interventions_shift_what_fresh_noise_gives():
    schema = numbers("x1", "x2")
    world = SubPopulation(chain(soft=True)).bind(schema)
    x = np.array([[1.0, 2.5]])
    assert world.consequences(x, np.array([[1.5, 3.0]]))[0].tolist() == pytest.approx([1.5, 3.5])
    drawn = world.draws(x, np.array([[1.5, 3.0]]), 400, keys_of(x, 0))[:, 0, 1]
    assert drawn.mean() == pytest.approx(3.5, abs=0.01)


def test_tensors_give_the_same():
    torch = pytest.importorskip("torch")
    world = SubPopulation(chain()).bind(numbers("x1", "x2"))
    x = world.sample(8, 2)
    action = np.stack([x[:, 0] + 1, np.full(8, NAN)], axis=-1)
    acted = ~np.isnan(action)
    value = torch.tensor(np.where(acted, action, x), requires_grad=True)
    after = world.consequences_torch(torch.tensor(x), value, torch.tensor(acted))
    np.testing.assert_allclose(after.detach(), world.consequences(x, action))
    drawn = world.draws_torch(torch.tensor(x), value, torch.tensor(acted), 5, keys_of(x, 0))
    np.testing.assert_allclose(drawn.detach(), world.draws(x, action, 5, keys_of(x, 0)))
    drawn.sum().backward()
    np.testing.assert_allclose(value.grad[:, 0], 5 * 3.0)


def test_it_passes_on_what_the_world_inside_knows():
    world, inner = SubPopulation(chain()).bind(numbers("x1", "x2")), chain().bind(numbers("x1", "x2"))
    x = inner.sample(5, 3)
    assert (world.log_density(x) == inner.log_density(x)).all()
    assert (world.abduct(x) == inner.abduct(x)).all()
    assert (world.descendants == inner.descendants).all()


def test_worlds_that_cannot_are_refused():
    with pytest.raises(WorldError, match="already"):
        SubPopulation(SubPopulation(chain()))
    with pytest.raises(WorldError, match="str"):
        SubPopulation("chain")
    with pytest.raises(WorldError, match="bound"):
        SubPopulation(chain()).consequences(np.zeros((1, 2)), np.ones((1, 2)))
    with pytest.raises(WorldError, match="graph"):
        SubPopulation(Independent()).bind(numbers("x1", "x2"))
