"""The linear world: ordinary least squares, its own closed forms, files, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wayforward.errors import DataError, FileFormatError, WorldError
from wayforward.schema import Feature, Schema
from wayforward.world import SCM
from wayforward.world.graph import CausalGraph
from wayforward.world.linear import LinearWorld
from wayforward.world.loan import loan

NAN = np.nan
SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80),
        Feature(name="region", kind="categorical", levels=("north", "south", "east")),
        Feature(name="income", kind="real", low=0, high=90),
        Feature(name="kids", kind="integer", low=0, high=9),
        Feature(name="owns", kind="binary", levels=(0, 1)),
        Feature(name="class", kind="ordinal", levels=("low", "middle", "high")),
    )
)
GRAPH = CausalGraph.read(
    {"income": ["age", "region"], "kids": ["age"], "owns": ["income"], "class": ["income", "owns"]},
    SCHEMA.names,
)


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 81, n)
    region = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    income = np.clip(5 + 0.4 * age + np.array([0, 4, -3])[region] + rng.normal(0, 5, n), 0, 90)
    kids = np.clip(np.rint(0.05 * age - 1 + rng.normal(0, 1, n)), 0, 9)
    owns = (0.03 * income - 0.3 + rng.normal(0, 0.4, n) > 0.5) * 1.0
    status = np.clip(np.rint(0.05 * income + 0.4 * owns - 0.6 + rng.normal(0, 0.4, n)), 0, 2)
    return np.stack([age, region, income, kids, owns, status], 1).astype(float)


@pytest.fixture(scope="module")
def world():
    return LinearWorld.fit(GRAPH, people(), SCHEMA)


def test_a_linear_world_is_found_again():
    true = SCM.linear(
        {"b": {"a": 2.0}, "c": {"a": -1.0, "b": 0.5}},
        {"a": "Normal(1, 2)", "b": "Normal(0, 1)", "c": "Normal(3, 0.5)"},
    )
    x = true.sample(40_000, 0)
    world = LinearWorld.fit(CausalGraph.read(true), x)
    assert world.weights["b"]["a"] == pytest.approx(2, abs=0.01)
    assert [world.weights["c"][k] for k in "ab"] == pytest.approx([-1, 0.5], abs=0.02)
    assert world.report["c"]["noise_sd"] == pytest.approx(0.5, abs=0.01)
    assert world.report["b"]["explained"] == pytest.approx(16 / 17, abs=0.005)
    test = true.sample(2000, 1)
    assert abs((world.log_density(test) - true.log_density(test)).mean()) < 2e-3
    action = np.full((2000, 3), NAN)
    action[:, 0] = np.random.default_rng(2).normal(size=2000)
    miss = world.consequences(test, action) - true.consequences(test, action)
    assert (np.abs(miss).max(0) < 0.05 * test.std(0)).all()
    drawn = world.sample(40_000, 3)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(x.T), rtol=0.05, atol=0.05)


def test_weights_are_those_of_scikit_learn(world):
    from sklearn.linear_model import LinearRegression

    x = people()
    design = np.stack([x[:, 0], *(x[:, 1] == k for k in range(3))], 1)
    peer = LinearRegression().fit(design, x[:, 2])
    got = world.weights["income"]
    assert list(got) == ["age", "region=north", "region=south", "region=east"]
    assert got["age"] == pytest.approx(peer.coef_[0])
    assert got["region=south"] - got["region=north"] == pytest.approx(peer.coef_[2] - peer.coef_[1])
    assert world.report["income"]["explained"] == pytest.approx(peer.score(design, x[:, 2]))


def test_acts_move_what_follows_and_nothing_else(world):
    x = people(50, 1)
    rng = np.random.default_rng(0)
    other = people(150, 2).reshape(50, 3, 6)
    action = np.where(rng.random(other.shape) < 0.3, other, NAN)
    after = world.consequences(x, action)
    acted = ~np.isnan(action)
    free = ~(acted[..., None] & world.descendants).any(-2) & ~acted
    before = np.broadcast_to(x[:, None], after.shape)
    assert (after[free] == before[free]).all() and (after[acted] == action[acted]).all()
    legal = after[..., [0, 1, 3, 4, 5]]
    assert (legal == np.rint(legal)).all() and (after >= SCHEMA.low).all() and (after <= SCHEMA.high).all()
    one = np.stack([[world.consequences(x[i], action[i, k]) for k in range(3)] for i in range(50)])
    np.testing.assert_array_equal(one, after)


def test_a_line_does_not_leave_the_range_of_the_table():
    """A count cannot fall below none, although its bounds were only observed; noise and density say so, too."""
    rng = np.random.default_rng(0)
    stress = rng.normal(3, 1, 2000)
    late = np.maximum(0, np.rint(stress - 2.5 + rng.normal(0, 1, 2000)))
    schema = Schema(
        (
            Feature(name="stress", kind="real"),
            Feature(name="late", kind="integer", low=0, high=late.max(), bounds="observed"),
        )
    )
    x = np.stack([stress, late], 1)
    world = LinearWorld.fit([("stress", "late")], x, schema)
    after = world.consequences(x, np.stack([stress - 5, np.full(2000, NAN)], 1))
    assert after[:, 1].min() == 0 and (after[:, 1] <= late).all()
    grid = np.stack([np.full(11, 3.0), np.arange(11)], 1)[: int(late.max()) + 1]
    assert np.exp(world.log_density_parts(grid)[:, 1]).sum() == pytest.approx(1)
    np.testing.assert_allclose(world.predict(world.abduct(x)), x, atol=1e-9)


def test_moving_to_another_region_shifts_income_by_the_difference(world):
    x = people(20, 1)
    x[:, 1] = 0
    action = np.full((20, 6), NAN)
    action[:, 1] = 1
    weight = world.weights["income"]
    expected = np.clip(x[:, 2] + weight["region=south"] - weight["region=north"], 0, 90)
    np.testing.assert_allclose(world.consequences(x, action)[:, 2], expected)


def test_soft_actions_are_shifts(world):
    soft = world.softly(["income"])
    x = people(20, 1)
    action = np.full((20, 6), NAN)
    action[:, 0], action[:, 2] = x[:, 0] + 1, x[:, 2] + 3
    natural = world.consequences(x, np.where(np.arange(6) == 2, NAN, action))[:, 2]
    np.testing.assert_allclose(soft.consequences(x, action)[:, 2], natural + 3)
    np.testing.assert_allclose(world.consequences(x, action)[:, 2], x[:, 2] + 3)
    with pytest.raises(WorldError, match="Did you mean 'income'"):
        world.softly(["incom"])


def test_noise_and_people_go_both_ways(world):
    x = people(200, 1)
    np.testing.assert_allclose(world.predict(world.abduct(x)), x, atol=1e-9)
    action = np.full(x.shape, NAN)
    action[::2, 0], action[::3, 2] = 40, 20
    np.testing.assert_allclose(
        world.predict(world.abduct(x), action), world.consequences(x, action), atol=1e-9
    )


def test_the_density_adds_up_to_one(world):
    """A number integrates to 1 and levels sum to 1, given the causes: the world holds a distribution."""
    one = people(1, 5)
    for j, values in ((3, np.arange(10)), (4, [0, 1]), (5, [0, 1, 2]), (1, [0, 1, 2])):
        rows = np.repeat(one, len(values), 0)
        rows[:, j] = values
        assert np.exp(world.log_density_parts(rows)[:, j]).sum() == pytest.approx(1)
    grid = np.repeat(one, 4001, 0)
    grid[:, 2] = np.linspace(-60, 140, 4001)
    assert np.trapezoid(np.exp(world.log_density_parts(grid)[:, 2]), grid[:, 2]) == pytest.approx(1)
    parts = world.log_density_parts(people(10))
    np.testing.assert_allclose(parts.sum(-1), world.log_density(people(10)))
    part = world.parts["kids"]
    f = part.intercept + part.weights[0] * one[0, 0]
    edge = stats.norm(f, part.noise.sd).cdf([1.5, 2.5])
    one[0, 3] = 2
    assert world.log_density_parts(one)[0, 3] == pytest.approx(math.log(edge[1] - edge[0]))


def test_tensors_say_what_arrays_say(world):
    torch = pytest.importorskip("torch")
    x = people(60, 3)
    action = np.where(
        np.random.default_rng(0).random((60, 2, 6)) < 0.3, people(120, 4).reshape(60, 2, 6), NAN
    )
    value, acted = torch.tensor(np.nan_to_num(action)), torch.tensor(~np.isnan(action))
    xt, u = torch.tensor(x), world.abduct(x)
    np.testing.assert_allclose(world.abduct_torch(xt), u, atol=1e-10)
    np.testing.assert_allclose(
        world.predict_torch(torch.tensor(u), value, acted), world.predict(u, action), atol=1e-10
    )
    np.testing.assert_allclose(
        world.consequences_torch(xt, value, acted), world.consequences(x, action), atol=1e-9
    )
    np.testing.assert_allclose(world.log_density_torch(xt), world.log_density(x), atol=1e-10)
    xt.requires_grad_()
    world.log_density_torch(xt).sum().backward()
    assert torch.isfinite(xt.grad).all()
    h = 1e-6 * (np.arange(6) == 2)
    slope = (world.log_density(x + h) - world.log_density(x - h)) / 2e-6
    np.testing.assert_allclose(xt.grad[:, 2], slope, rtol=1e-5, atol=1e-7)


def test_what_keeps_its_density_keeps_it(world):
    """The oracle skips the parts that are said to stay: acts elsewhere must not move them."""
    free = LinearWorld.fit(GRAPH, people(), SCHEMA.revise(income={"low": None, "high": None}))
    assert world.keeps_density(world).tolist() == [False] * 6
    assert free.keeps_density(free).tolist() == [False, False, True, False, False, False]
    x = people(100, 8)
    action = np.full(x.shape, NAN)
    action[:, 0], action[:, 1] = 60, 2
    after = free.consequences(x, action)
    parts = free.log_density_parts(after)[:, 2], free.log_density_parts(x)[:, 2]
    np.testing.assert_allclose(*parts, atol=1e-9)


def test_float32_stays_float32(world):
    torch = pytest.importorskip("torch")
    x = torch.tensor(people(20, 9), dtype=torch.float32)
    u = world.abduct_torch(x)
    assert u.dtype == world.predict_torch(u).dtype == world.log_density_torch(x).dtype == torch.float32


def test_saved_and_loaded(world, tmp_path):
    path = world.softly("kids").save(tmp_path / "world.safetensors")
    back = LinearWorld.load(path)
    x = people(40, 7)
    assert back.graph == world.graph and back.soft == {"kids"} and back.report == world.report
    np.testing.assert_array_equal(back.log_density(x), world.log_density(x))
    turned = Schema((Feature(name="new", kind="real"), *reversed(SCHEMA.features)))
    other = LinearWorld.load(path, turned)
    mixed = np.concatenate([np.zeros((40, 1)), x[:, ::-1]], 1)
    action = np.full((40, 7), NAN)
    action[:, 6] = 30
    want = world.consequences(x, action[:, :0:-1])
    np.testing.assert_array_equal(other.consequences(mixed, action)[:, :0:-1], want)
    with pytest.raises(WorldError, match="'new' is no node"):
        other.log_density(mixed)
    for wrong, said in (
        (SCHEMA.drop("age"), "node 'age'"),
        (SCHEMA.revise(region={"levels": ("north", "south", "west")}), "'region' as categorical"),
        (SCHEMA.revise(owns={"kind": "integer", "levels": ()}), "'owns' as binary"),
    ):
        with pytest.raises(WorldError, match=said):
            LinearWorld.load(path, wrong)


@pytest.mark.parametrize("damage", ["cut", "text", "noise", "missing", "weights"])
def test_broken_files(world, tmp_path, damage):
    import json

    from safetensors.numpy import save_file

    path = world.save(tmp_path / "w.safetensors")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "text":
        path.write_text("equations: {}")
    elif damage == "missing":
        path.unlink()
    elif damage == "noise":
        save_file({"a": np.zeros(1)}, path, metadata={"wayforward": json.dumps({"kind": "LinearWorld"})})
    else:
        save_file({"a": np.zeros(1)}, path)
    with pytest.raises(FileFormatError, match=r"w\.safetensors"):
        LinearWorld.load(path)


def test_what_cannot_be_fitted():
    x = people(60)
    with pytest.raises(WorldError, match="'region' is categorical and has causes"):
        LinearWorld.fit(CausalGraph.read([("age", "region")], SCHEMA.names), x, SCHEMA)
    with pytest.raises(WorldError, match="column 'kids' that is no node"):
        LinearWorld.fit([("age", "income"), ("region", "owns"), ("age", "class")], x, SCHEMA)
    with pytest.raises(WorldError, match="cycle"):
        LinearWorld.fit([("age", "income"), ("income", "age")], x, SCHEMA)
    with pytest.raises(DataError, match="3 rows"):
        LinearWorld.fit(GRAPH, x[:3], SCHEMA)
    wide = [(f"x{i}", "y") for i in range(20)]
    with pytest.raises(DataError, match="20 causes of 'y'"):
        LinearWorld.fit(wide, np.random.default_rng(0).normal(size=(15, 21)))
    x[:, 3] = 2
    with pytest.raises(DataError, match="'kids' of the training table is 2 in every row"):
        LinearWorld.fit(GRAPH, x, SCHEMA)
    gone = people(60)
    gone[7, 2] = NAN
    missing = SCHEMA.revise(income={"missing": True})
    with pytest.raises(DataError, match=r"'income' .* has 1 missing values, the first in row 7"):
        LinearWorld.fit(GRAPH, gone, missing)


def test_the_loan_world_is_not_linear_but_close():
    """How good the baseline is: its figures, so that a richer world can be compared with it."""
    true = loan()
    x, test = true.sample(10_000, 0), true.sample(4000, 1)
    world = LinearWorld.fit(CausalGraph.read(true), x)
    gap = true.log_density(test).mean() - world.log_density(test).mean()
    assert 0 < gap < 1.6  # nats; what is lost is mostly gender's two values and the gamma of age
    action = np.full(test.shape, NAN)
    action[:, 5] = test[:, 5] + 2
    miss = (world.consequences(test, action) - true.consequences(test, action))[:, 6]
    assert 0.05 < np.sqrt((miss**2).mean()) / test[:, 6].std() < 0.25
