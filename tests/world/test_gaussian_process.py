"""The Gaussian-process world: F-GP, exact updates, draws, densities, tensors, files, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError, FileFormatError, WorldError
from wayforward.schema import Feature, Schema
from wayforward.streams import keys_of, spread
from wayforward.world import CausalGraph, GaussianProcessWorld
from wayforward.world.gp_node import GpNode

GRAPH = {"x2": ["x1", "group"], "x3": ["x1", "x2"], "count": ["x2"]}
NAN = np.nan


def schema(**changes):
    parts = {
        "x1": {"kind": "real", "low": -20, "high": 20},
        "group": {"kind": "categorical", "levels": ("a", "b", "c")},
        "x2": {"kind": "real", "low": -20, "high": 20},
        "x3": {"kind": "real", "low": -20, "high": 20},
        "count": {"kind": "integer", "low": 0, "high": 9},
    }
    parts |= changes
    return Schema(tuple(Feature(name=name, **what) for name, what in parts.items()))


def people(n, seed):
    rng = np.random.default_rng(seed)
    x1, group = rng.normal(0, 1.5, n), rng.integers(0, 3, n).astype(float)
    x2 = 3 / (1 + np.exp(-2 * x1)) - 1 + 0.8 * (group == 1) + rng.normal(0, 0.3, n)
    x3 = -0.5 * (0.1 * x1 + 0.5 * x2**2) + rng.normal(0, 0.7, n)
    count = np.clip(np.rint(4 + 2 * x2 + rng.normal(0, 0.5, n)), 0, 9)
    return np.stack([x1, group, x2, x3, count], axis=-1)


@pytest.fixture(scope="module")
def data():
    return people(300, 0)


@pytest.fixture(scope="module")
def world(data):
    return GaussianProcessWorld.fit(GRAPH, data, schema(), most=120, tune=80)


def act(n, **values):
    out = np.full((n, 5), NAN)
    for name, value in values.items():
        out[:, schema().index(name)] = value
    return out


# -- one node, against the formulas written out ------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.0, 0.4])
def node(request):
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(40, 2))
    target = np.sin(inputs[:, 0]) + 0.3 * inputs[:, 1] + 0.2 * rng.normal(size=40)
    keys = keys_of(np.c_[inputs, target].round(9), 0)
    return GpNode(inputs, target, np.array([0.8, 2.0]), 1.3, 0.05, keys, slope=request.param)


def rbf(node, a, b):
    far = (((a[:, None] - b[None]) / node.length) ** 2).sum(-1)
    return node.amplitude * np.exp(-0.5 * far) + node.slope * a @ b.T


@pytest.mark.parametrize("inside", [True, False])
def test_posterior_of_a_person_is_the_one_of_the_whole_system(node, inside):
    """E11.3: with A = (K + s2 I)^-1 over the rows and the person, mean s2 [A y]_i and variance s2 (1 - s2 A_ii)."""
    rng = np.random.default_rng(5)
    z = node.inputs[:3] if inside else rng.normal(size=(3, 2))
    y = node.target[:3] if inside else rng.normal(size=3)
    points = rng.normal(size=(3, 2))
    own = node.own(z, y)
    for kind in ("exact", "published"):
        mean, variance = node.counterfactual(own, np.arange(3), points, spread=True, kind=kind)
        for i in range(3):
            rows = node.inputs if inside else np.r_[node.inputs, z[i : i + 1]]
            target = node.target if inside else np.r_[node.target, y[i]]
            at = i if inside else len(node.inputs)
            precision = np.linalg.inv(rbf(node, rows, rows) + node.noise * np.eye(len(rows)))
            k, s2 = rbf(node, points[i : i + 1], rows)[0], node.noise
            noise = s2 * (precision @ target)[at]
            np.testing.assert_allclose(own.noise[i], noise, atol=1e-8)
            np.testing.assert_allclose(own.spread[i], s2 * (1 - s2 * precision[at, at]), atol=1e-8)
            np.testing.assert_allclose(mean[i], k @ precision @ target + noise, atol=1e-8)
            sum_of_both = (
                rbf(node, points[i : i + 1], points[i : i + 1])[0, 0]
                - k @ precision @ k
                + s2 * (1 - s2 * precision[at, at])
            )
            exact = sum_of_both - 2 * s2 * (precision @ k)[at]
            np.testing.assert_allclose(variance[i], exact if kind == "exact" else sum_of_both, atol=1e-8)


@pytest.mark.parametrize("inside", [True, False])
def test_with_the_same_causes_the_mean_is_the_value_and_the_exact_variance_is_zero(node, inside):
    """F-GP."""
    rng = np.random.default_rng(6)
    z = node.inputs[:5] if inside else rng.normal(size=(5, 2))
    y = node.target[:5] if inside else rng.normal(size=5)
    own = node.own(z, y)
    mean, variance = node.counterfactual(own, np.arange(5), z, spread=True)
    np.testing.assert_allclose(mean, y, atol=1e-8)
    np.testing.assert_allclose(variance, 0, atol=1e-8)
    assert (node.counterfactual(own, np.arange(5), z, spread=True, kind="published")[1] > 1e-4).all()


def test_far_away_the_variance_is_that_of_somebody_else(node):
    if node.slope:
        pytest.skip("with a trend the variance grows without end")
    own = node.own(node.inputs[:1], node.target[:1])
    _, variance = node.counterfactual(own, np.zeros(1, int), np.full((1, 2), 50.0), spread=True)
    np.testing.assert_allclose(variance, node.amplitude + own.spread, rtol=1e-6)


# -- the world ---------------------------------------------------------------------------------------------


def test_what_no_cause_moves_keeps_its_bits_in_the_mean_and_in_every_draw(world):
    x = people(20, 1)
    action = act(20, x2=x[:, 2] + 1)
    keys = keys_of(x, 0)
    for after in (world.consequences(x, action)[None], world.draws(x, action, 7, keys)):
        assert (after[..., :2] == x[:, :2]).all()
        assert (after[..., 2] == action[:, 2]).all()
        assert (after[..., 3] != x[:, 3]).all()
    own = act(20, x1=x[:, 0], x2=x[:, 2], count=x[:, 4])
    assert (world.consequences(x, own) == x).all()
    assert (world.draws(x, own, 5, keys) == x).all()
    mean, variance = world.counterfactual(x, act(20, x1=x[:, 0]))
    assert (mean == x).all() and (variance == 0).all()


def test_draws_have_the_mean_and_the_variance_of_the_counterfactual(world):
    x = people(6, 2)
    action = act(6, x1=x[:, 0] + 1)
    mean, variance = world.counterfactual(x, action)
    drawn = world.draws(x, action, 4000, keys_of(x, 0))
    np.testing.assert_allclose(drawn.mean(0)[:, 2], mean[:, 2], atol=1e-3)  # one step down: a normal
    np.testing.assert_allclose(drawn.var(0)[:, 2], variance[:, 2], rtol=0.02, atol=1e-6)
    assert (drawn.var(0)[:, 3] > 0.9 * variance[:, 3]).all()  # its causes are uncertain, too


def test_the_person_keeps_their_noise_and_people_like_them_do_not(world, data):
    """With many rows and little noise the counterfactual is x + f(new) - f(old), and a fresh draw forgets x."""
    x = people(40, 4)
    action = act(40, x1=x[:, 0] + 0.5)
    after, fresh = world.consequences(x, action), world.fresh_consequences(x, action)
    f = lambda x1: 3 / (1 + np.exp(-2 * x1)) - 1  # noqa: E731
    true = x[:, 2] + f(action[:, 0]) - f(x[:, 0])
    inner = np.abs(x[:, 0]) < 2
    assert np.abs(after[:, 2] - true)[inner].mean() < 0.15
    assert np.abs(fresh[:, 2] - true)[inner].mean() > 0.2  # noise of 0.3
    drawn = world.fresh_draws(x, action, 200, keys_of(x, 0))
    assert 0.2 < drawn.std(0)[inner, 2].mean() < 0.5


def test_discrete_effects_take_legal_values(world):
    x = people(30, 5)
    action = act(30, x2=x[:, 2] + 2)
    for after in (world.consequences(x, action), world.draws(x, action, 9, keys_of(x, 0))):
        count = after[..., 4]
        assert (count == np.rint(count)).all() and (count >= 0).all() and (count <= 9).all()


def test_a_row_does_not_depend_on_the_rows_beside_it(world):
    x = people(50, 6)
    action = act(50, x1=x[:, 0] + 0.7)
    keys = keys_of(x, 0)
    after, drawn = world.consequences(x, action), world.draws(x, action, 11, keys)
    for some in ([3], [7, 3, 20]):
        assert (world.consequences(x[some], action[some]) == after[some]).all()
        assert (world.draws(x[some], action[some], 11, keys[some]) == drawn[:, some]).all()
    both = np.stack([action, act(50, x2=1.0)], axis=1)
    assert (world.consequences(x, both)[:, 0] == after).all()
    assert (world.draws(x, both, 11, keys)[:, :, 0] == drawn).all()


def test_soft_interventions_are_shifts(world):
    x = people(10, 7)
    action = act(10, x1=x[:, 0] + 1, x2=x[:, 2] + 2)
    soft = world.softly()
    natural = world.consequences(x, act(10, x1=x[:, 0] + 1))
    np.testing.assert_allclose(soft.consequences(x, action)[:, 2], natural[:, 2] + 2)
    assert (world.consequences(x, action)[:, 2] == action[:, 2]).all()
    with pytest.raises(WorldError, match="nobody"):
        world.but(soft=["nobody"])


def test_a_person_of_the_table_is_not_counted_twice(data):
    small = GaussianProcessWorld.fit(
        {"x2": ["x1"]}, data[:60, [0, 2]], schema_of("x1", "x2"), most=60, tune=60
    )
    node, x = small.effects["x2"].node, data[:60, [0, 2]]
    noise, spread_ = small.noise_posterior(x[:4])
    own = node.own(
        small.effects["x2"].seen(x[:4]), (x[:4, 1] - small.effects["x2"].centre) / small.effects["x2"].size
    )
    assert (own.near == 0).all()  # found among the rows
    stranger = small.noise_posterior(x[:4] + [0, 1e-3])
    assert (np.abs(stranger[0]) < np.abs(noise) + 1e-3)[
        :, 1
    ].all()  # a second row like it: the function bends there
    assert (stranger[1][:, 1] < spread_[:, 1]).all()


def schema_of(*names):
    return Schema(tuple(Feature(name=name, kind="real", low=-20, high=20) for name in names))


# -- density, samples, noise -------------------------------------------------------------------------------


def test_noise_and_prediction_undo_each_other(world):
    x = people(30, 8)
    np.testing.assert_allclose(world.predict(world.abduct(x)), x, atol=1e-10)


def test_the_density_integrates_to_one(world):
    x = people(3, 9)
    grid = np.linspace(-8, 8, 4001)
    for j in (0, 2, 3):
        line = np.repeat(x[:1], len(grid), axis=0)
        line[:, j] = grid
        part = np.exp(world.log_density_parts(line)[:, j])
        assert part.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-3)
    line = np.repeat(x[:1], 10, axis=0)
    line[:, 4] = np.arange(10)
    assert np.exp(world.log_density_parts(line)[:, 4]).sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(world.log_density(x), world.log_density_parts(x).sum(-1))


def test_samples_look_like_the_table(world, data):
    drawn = world.sample(3000, 1)
    np.testing.assert_allclose(drawn.mean(0), data.mean(0), atol=0.35)
    np.testing.assert_allclose(drawn.std(0), data.std(0), rtol=0.25)
    assert np.isfinite(world.log_density(drawn)).all()


def test_the_report_says_how_well_it_fits(world):
    report = world.report["x2"]
    assert 0.2 < report["noise_sd"] < 0.45 and report["explained"] > 0.8 and 0.85 < report["inside_95"] <= 1


# -- tensors -----------------------------------------------------------------------------------------------


def test_tensors_give_the_same_and_gradients(world):
    torch = pytest.importorskip("torch")
    x = people(5, 10)
    action = act(5, x1=x[:, 0] + 1)
    told, keys = ~np.isnan(action), keys_of(x, 0)
    before, acted = torch.tensor(x), torch.tensor(told)
    value = torch.tensor(np.where(told, action, x), requires_grad=True)
    after = world.consequences_torch(before, value, acted)
    np.testing.assert_allclose(after.detach().numpy(), world.consequences(x, action), atol=1e-9)
    drawn = world.draws_torch(before, value, acted, 9, keys)
    np.testing.assert_allclose(drawn.detach().numpy(), world.draws(x, action, 9, keys), atol=1e-6)
    fresh = world.draws_torch(before, value, acted, 9, keys, fresh=True)
    np.testing.assert_allclose(fresh.detach().numpy(), world.fresh_draws(x, action, 9, keys), atol=1e-6)
    after[:, 2].sum().backward()
    step = 1e-5
    moved = world.consequences(x, act(5, x1=x[:, 0] + 1 + step))[:, 2] - world.consequences(x, action)[:, 2]
    np.testing.assert_allclose(value.grad[:, 0], moved / step, rtol=1e-3, atol=1e-4)
    u = world.abduct_torch(before)
    np.testing.assert_allclose(u, world.abduct(x), atol=1e-10)
    np.testing.assert_allclose(world.predict_torch(u), x, atol=1e-10)
    np.testing.assert_allclose(
        world.predict_torch(u, value, acted).detach(), world.predict(world.abduct(x), action), atol=1e-9
    )
    np.testing.assert_allclose(world.log_density_torch(before), world.log_density(x), atol=1e-8)


# -- files -------------------------------------------------------------------------------------------------


def test_a_saved_world_is_the_same_world(world, tmp_path):
    x = people(6, 11)
    action = act(6, x1=x[:, 0] + 1)
    again = GaussianProcessWorld.load(world.save(tmp_path / "world.safetensors"), schema())
    assert (again.consequences(x, action) == world.consequences(x, action)).all()
    assert (again.draws(x, action, 5, keys_of(x, 0)) == world.draws(x, action, 5, keys_of(x, 0))).all()
    np.testing.assert_array_equal(again.log_density(x), world.log_density(x))
    assert again.report == world.report and again.graph == world.graph
    from wayforward.world.files import load_world

    assert isinstance(load_world(tmp_path / "world.safetensors", schema()), GaussianProcessWorld)


def test_a_wider_schema_in_another_order_holds_the_same_world(world, tmp_path):
    own = schema()
    names = ["count", "x3", "x2", "extra", "group", "x1"]
    extra = Feature(name="extra", kind="real", low=0, high=1)
    wide = Schema(tuple(extra if name == "extra" else own[name] for name in names))
    bound = world.bind(wide)
    x = people(8, 12)
    action = act(8, x1=x[:, 0] + 1)
    at = [own.names.index(name) if name != "extra" else 0 for name in names]
    wider, acting = x[:, at], action[:, at]
    wider[:, 3], acting[:, 3] = 0.5, NAN
    keep = [i for i in range(6) if i != 3]
    again = GaussianProcessWorld.load(bound.save(tmp_path / "wide.safetensors"), wide)
    for some in (bound, again):
        after, drawn = some.consequences(wider, acting), some.draws(wider, acting, 4, keys_of(x, 0))
        assert (after[:, 3] == 0.5).all() and (drawn[..., 3] == 0.5).all()
        np.testing.assert_array_equal(after[:, keep], world.consequences(x, action)[:, at][:, keep])
        assert (some.predict(some.abduct(wider), acting)[:, 3] == 0.5).all()
    with pytest.raises(WorldError, match="'extra'"):
        bound.log_density(wider)


def test_a_broken_file_or_another_schema_is_refused(world, tmp_path):
    path = world.save(tmp_path / "world.safetensors")
    with pytest.raises(WorldError, match="'group'"):
        GaussianProcessWorld.load(path, schema(group={"kind": "categorical", "levels": ("a", "b")}))
    with pytest.raises(WorldError, match="'group' that the schema does not have"):
        GaussianProcessWorld.load(path, schema_of("x1", "x2", "x3", "count"))
    (tmp_path / "cut.safetensors").write_bytes(path.read_bytes()[:-500])
    with pytest.raises(FileFormatError, match="cut"):
        GaussianProcessWorld.load(tmp_path / "cut.safetensors")
    (tmp_path / "text.safetensors").write_text("no world")
    with pytest.raises(FileFormatError, match="Gaussian"):
        GaussianProcessWorld.load(tmp_path / "text.safetensors")
    with pytest.raises(FileFormatError, match="no file"):
        GaussianProcessWorld.load(tmp_path / "none.safetensors")


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [{"most": 0}, {"most": -5}, {"most": 1e3}, {"tune": 0}])
def test_how_many_rows_it_learns_from_is_checked(data, wrong):
    (name,) = wrong
    with pytest.raises(WorldError, match=f"{name}={wrong[name]}"):
        GaussianProcessWorld.fit(GRAPH, data, schema(), **wrong)


def test_bad_tables_and_graphs_are_named(data):
    fit = GaussianProcessWorld.fit
    with pytest.raises(DataError, match="12 rows"):
        fit(GRAPH, data[:12], schema())
    constant = data.copy()
    constant[:, 0] = 1.0
    with pytest.raises(DataError, match="'x1'"):
        fit(GRAPH, constant, schema())
    gone = data.copy()
    gone[7, 2] = NAN
    with pytest.raises(DataError, match="'x2'"):
        fit(GRAPH, gone, schema())
    with pytest.raises(DataError, match="'x2'.*1 missing"):
        fit(GRAPH, gone, schema(x2={"kind": "real", "low": -20, "high": 20, "missing": True}))
    with pytest.raises(WorldError, match="cycle"):
        fit([*CausalGraph.read(GRAPH).edges, ("x3", "x1")], data, schema())
    with pytest.raises(WorldError, match="'group'.*categorical"):
        fit(GRAPH | {"group": ["x1"]}, data, schema())
    with pytest.raises(WorldError, match="'height'"):
        fit(GRAPH | {"x3": ["x1", "height"]}, data, schema())
    with pytest.raises(WorldError, match="'count'"):
        fit({"x2": ["x1", "group"], "x3": ["x2"]}, data, schema())


def test_evenly_spread_numbers():
    """Each axis has one number in each of m intervals; a person's numbers hang on their key alone."""
    keys = keys_of(np.arange(6.0)[:, None], 0)
    number = spread(keys, 50, 3)
    assert number.shape == (50, 6, 3)
    assert (
        np.sort(np.floor((number - number.min(0)) * 50 + 1e-9), axis=0) == np.arange(50)[:, None, None]
    ).all()
    assert (spread(keys[[4, 1]], 50, 3) == number[:, [4, 1]]).all()
    assert (number > 0).all() and (number < 1).all()
