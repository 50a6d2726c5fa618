"""Causal flows: exact where the world is linear, true to their graph, the same in every batch."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from wayforward.errors import DataError, FileFormatError, WorldError
from wayforward.schema import Feature, Schema
from wayforward.world.scm import linear_chain

torch = pytest.importorskip("torch")
pytest.importorskip("zuko")

from wayforward.world.flow import CausalFlow  # noqa: E402
from wayforward.world.graph import CausalGraph  # noqa: E402

NAN = np.nan
CHAIN = linear_chain(0.8, -1.2, 0.5)
QUICK = {"epochs": 60, "batch": 500, "rate": 5e-3, "hidden": (16,)}

# one feature of every kind: a nominal cause, a count, a share within declared bounds, a wide whole number
MIXED = Schema(
    (
        Feature(name="region", kind="categorical", levels=("north", "south", "west")),
        Feature(name="age", kind="integer", low=18, high=90, bounds="observed"),
        Feature(name="wage", kind="integer", low=0, high=90_000, bounds="observed"),
        Feature(name="late", kind="integer", low=0, high=12),
        Feature(name="share", kind="real", low=0, high=1),
        Feature(name="owner", kind="binary", levels=("no", "yes")),
        Feature(name="grade", kind="ordinal", levels=("low", "mid", "high")),
    )
)
EDGES = [
    ("region", "wage"),
    ("age", "wage"),
    ("wage", "late"),
    ("wage", "share"),
    ("late", "share"),
    ("share", "owner"),
    ("share", "grade"),
]


def mixed(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    region = rng.choice(3, n, p=(0.5, 0.3, 0.2))
    age = np.clip(np.rint(rng.normal(45, 12, n)), 18, 90)
    wage = np.clip(
        np.rint(20_000 + np.array([0, 9000, -4000])[region] + 300 * age + rng.normal(0, 4000, n)), 0, None
    )
    late = rng.poisson(np.exp(0.5 - wage / 40_000)).clip(0, 12)
    share = 1 / (1 + np.exp(2 - wage / 30_000 - 0.3 * late + 0.7 * rng.normal(size=n)))
    owner = (share + 0.2 * rng.normal(size=n) > 0.5).astype(float)
    grade = np.clip(np.rint(3 * share + 0.5 * rng.normal(size=n) - 0.5), 0, 2)
    return np.stack([region, age, wage, late, share, owner, grade], axis=1).astype(float)


@pytest.fixture(scope="module")
def chain() -> CausalFlow:
    return CausalFlow.fit(CHAIN, CHAIN.sample(3000, 0), **(QUICK | {"epochs": 40, "batch": 250}))


@pytest.fixture(scope="module", params=["affine", "spline"])
def told(request: pytest.FixtureRequest) -> CausalFlow:
    return CausalFlow.fit(EDGES, mixed(2500), MIXED, kind=request.param, bins=5, **(QUICK | {"epochs": 20}))


def actions(x: np.ndarray, rng: np.random.Generator, k: int = 3) -> np.ndarray:
    """Different interventions for each person and option, on values that others have."""
    action = np.stack([x[rng.permutation(len(x))] for _ in range(k)], axis=1)
    action[rng.random(action.shape) < 0.6] = NAN
    return action


# -- what it knows -----------------------------------------------------------------------------------------
def test_counterfactuals_of_a_linear_gaussian_chain(chain):
    """J. Pearl (2009), Causality, 7.1: the flow must find what the equations say; target of (2023): 5% of a spread."""
    x, rng = CHAIN.sample(3000, 1), np.random.default_rng(2)
    action = actions(x, rng)
    got, want = chain.consequences(x, action), CHAIN.consequences(x, action)
    error = np.sqrt(((got - want) ** 2).mean((0, 1))) / x.std(0)
    assert (error < 0.05).all(), error
    assert abs(chain.log_density(x).mean() - CHAIN.log_density(x).mean()) < 0.02


def test_a_diagnosis_of_the_chain_finds_nothing(chain):
    x = CHAIN.sample(3000, 3)
    found = chain.diagnose(x, samples=800)
    assert found.off_graph < 1e-6
    assert found.mmd < 0.1
    assert max(found.calibration.values()) < 0.06
    assert found.interval[0] < found.log_density < found.interval[1]
    assert found.uniform.shape == x.shape
    assert "MMD" in str(found)
    assert "held-out" in str(chain.report)


def test_a_diagnosis_finds_a_graph_that_is_wrong():
    x = CHAIN.sample(2000, 0)
    wrong = CausalFlow.fit(CausalGraph.read([], nodes=["x1", "x2", "x3"]), x, **(QUICK | {"epochs": 20}))
    found = wrong.diagnose(CHAIN.sample(2000, 1), samples=500)
    assert found.mmd > 2 * found.mmd_same
    assert found.log_density < CHAIN.log_density(x).mean() - 0.3


def test_the_calibration_figure_has_one_panel_for_each_feature(told):
    pytest.importorskip("matplotlib")
    figure = told.diagnose(mixed(300, 5), samples=200).figure_calibration()
    assert len(figure.axes) == MIXED.d


# -- what every world promises -----------------------------------------------------------------------------
def test_what_no_cause_moved_is_the_same_float(told):
    x, rng = mixed(400, 1), np.random.default_rng(0)
    action = actions(x, rng)
    after = told.consequences(x, action)
    acted = ~np.isnan(action)
    assert (after[acted] == action[acted]).all()
    changed = acted & (action != x[:, None, :])
    can_move = np.einsum("nkc,ce->nke", changed.astype(int), told.descendants.astype(int)) > 0
    still = ~acted & ~can_move
    assert (after[still] == np.broadcast_to(x[:, None, :], after.shape)[still]).all()
    assert (after[can_move & ~acted] != np.broadcast_to(x[:, None, :], after.shape)[can_move & ~acted]).any()
    nothing = np.full_like(action, NAN)
    assert (told.consequences(x, nothing) == x[:, None, :]).all()
    assert (told.consequences(x, x) == x).all()


def test_consequences_are_legal(told):
    x = mixed(600, 2)
    after = told.consequences(x, actions(x, np.random.default_rng(1)))
    assert MIXED.legal(after).all()
    assert MIXED.legal(told.sample(500, 0)).all()


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
def test_a_row_is_the_same_to_the_last_bit_in_every_batch(told, size):
    x, rng = mixed(5200, 3), np.random.default_rng(4)
    action = actions(x, rng, k=2)
    after, density, noise = told.consequences(x, action), told.log_density(x), told.abduct(x)
    at = rng.permutation(len(x))[:size]
    assert (told.consequences(x[at], action[at]) == after[at]).all()
    assert (told.consequences(x[at], action[at, 1]) == after[at, 1]).all()
    assert (told.log_density(x[at]) == density[at]).all()
    assert (told.abduct(x[at]) == noise[at]).all()


def test_an_end_that_many_people_stand_on_is_never_passed():
    rng = np.random.default_rng(0)
    wage = rng.normal(0, 1, 600)
    use = np.clip(0.4 - 0.3 * wage + 0.3 * rng.normal(size=600), 0, 1)
    observed = [
        Feature(name="wage", kind="real", low=-5, high=5, bounds="observed"),
        Feature(name="use", kind="real", low=0, high=1, bounds="observed"),
    ]
    x = np.stack([wage, use], axis=1)
    flow = CausalFlow.fit(
        [("wage", "use")], x, Schema(tuple(observed)), kind="spline", **(QUICK | {"epochs": 5})
    )
    after = flow.consequences(x, np.stack([wage + 2, np.full(600, NAN)], axis=1))
    assert (after[:, 0] > 5).sum() == (wage > 3).sum()  # nobody stands on 5: no end
    assert after[:, 1].min() == 0.0
    assert after[:, 1].max() <= 1.0
    tensors = flow.predict_torch(
        flow.abduct_torch(torch.tensor(x)), torch.tensor(after), torch.tensor([True, False])
    )
    np.testing.assert_allclose(tensors, after, atol=1e-9)


def test_noise_makes_the_same_people_again(told):
    x = mixed(500, 6)
    u = told.abduct(x)
    np.testing.assert_allclose(told.predict(u), x, rtol=1e-9, atol=1e-9)
    action = actions(x, np.random.default_rng(5))
    np.testing.assert_allclose(
        told.predict(u, action), told.consequences(x, action), rtol=1e-9, atol=1e-9
    )  # two routes to the same people


def test_a_shift_of_the_noise_is_an_act_with_the_value_that_comes_out(chain):
    """A. Majumdar & I. Valera (2024), CARMA: both routes lead to the same person."""
    x = CHAIN.sample(200, 6)
    u = chain.abduct(x)
    u[:, 1] += 0.7
    shifted = chain.predict(u)
    action = np.where([False, True, False], shifted, NAN)
    np.testing.assert_allclose(chain.consequences(x, action), shifted, atol=1e-9)


def test_soft_acts_come_on_top_of_what_follows(chain):
    soft = chain.softly(["x2"])
    x, action = CHAIN.sample(50, 1), np.full((50, 3), NAN)
    action[:, 0], action[:, 1] = x[:, 0] + 1.0, x[:, 1] + 0.25
    natural = np.where([True, False, False], action, NAN)
    np.testing.assert_allclose(
        soft.consequences(x, action)[:, 1], chain.consequences(x, natural)[:, 1] + 0.25, atol=1e-12
    )
    assert (chain.consequences(x, action)[:, 1] == action[:, 1]).all()
    np.testing.assert_allclose(soft.predict(soft.abduct(x), action), soft.consequences(x, action), atol=1e-10)
    acted, value = torch.tensor(~np.isnan(action)), torch.tensor(np.nan_to_num(action))
    on_tensors = soft.consequences_torch(torch.tensor(x), value, acted)
    np.testing.assert_allclose(on_tensors, soft.consequences(x, action), atol=1e-10)
    made = soft.predict_torch(soft.abduct_torch(torch.tensor(x)), value, acted)
    np.testing.assert_allclose(made, on_tensors, atol=1e-10)


def test_the_graph_is_kept(told):
    below = told.descendants
    assert below[0].tolist() == [False, False, True, True, True, True, True]
    assert below[5].tolist() == [False] * 7
    assert told.graph.edges == CausalGraph.read(EDGES, nodes=MIXED.names).edges


# -- probabilities -----------------------------------------------------------------------------------------
def test_probabilities_of_levels_add_up(told):
    x = mixed(40, 7)
    for name in ("region", "owner", "grade", "late"):
        j = MIXED.index(name)
        every = np.repeat(x[:, None, :], int(MIXED.high[j] - MIXED.low[j]) + 1, axis=1)
        every[..., j] = np.arange(MIXED.low[j], MIXED.high[j] + 1)
        alone = told.log_density_parts(every)[..., j]
        np.testing.assert_allclose(np.exp(alone).sum(1), 1.0, atol=1e-9)


def test_frequencies_are_learnt(told):
    x, drawn = mixed(20_000, 8), told.sample(20_000, 1)
    for name in ("region", "owner", "grade"):
        j = MIXED.index(name)
        seen = [np.bincount(part[:, j].astype(int), minlength=3) / len(part) for part in (x, drawn)]
        np.testing.assert_allclose(seen[1], seen[0], atol=0.06)
    assert abs(drawn[:, 2].mean() / x[:, 2].mean() - 1) < 0.05


# -- tensors -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors_agree_with_numpy(told, dtype):
    x, rng = mixed(300, 9), np.random.default_rng(6)
    action = actions(x, rng)
    tight = {"rtol": 1e-8, "atol": 1e-8} if dtype is torch.float64 else {"rtol": 5e-3, "atol": 5e-3}
    rows, acted = torch.tensor(x, dtype=dtype), torch.tensor(~np.isnan(action))
    np.testing.assert_allclose(told.abduct_torch(rows), told.abduct(x), **tight)
    np.testing.assert_allclose(told.log_density_torch(rows), told.log_density(x), **tight)
    if dtype is torch.float32:
        return  # a value on the edge of a cell may round the other way
    value = torch.tensor(action)  # NaN where nobody acts does no harm
    np.testing.assert_allclose(
        told.consequences_torch(rows, value, acted), told.consequences(x, action), **tight
    )
    u = told.abduct(x)
    made, density = told.predict_with_density_torch(
        torch.tensor(u)[:, None, :].expand(value.shape), value, acted
    )
    np.testing.assert_allclose(made, told.predict(u, action), **tight)
    np.testing.assert_allclose(density, told.log_density(made.numpy()), **tight)


def test_gradients_flow_through_consequences_and_densities(told):
    x = torch.tensor(mixed(50, 10))
    value = x.clone().requires_grad_()
    acted = torch.zeros_like(x, dtype=torch.bool)
    acted[:, 2] = True
    after = told.consequences_torch(x, value, acted)
    slope = torch.autograd.grad(after[:, 4].sum(), value)[0]
    assert torch.isfinite(slope).all()
    assert (slope[:, 2] != 0).all()
    assert (slope[:, [0, 1, 3, 4, 5, 6]] == 0).all()
    z = told.abduct_torch(x).requires_grad_()
    made, density = told.predict_with_density_torch(z)
    for what in (density.sum(), made.sum()):
        slope = torch.autograd.grad(what, z, retain_graph=True)[0]
        assert torch.isfinite(slope).all()
        assert (slope != 0).any()


def test_the_gradient_is_the_slope_of_what_it_says(chain):
    x = CHAIN.sample(20, 4)
    acted = np.zeros_like(x, dtype=bool)
    acted[:, 0] = True
    value = torch.tensor(x, requires_grad=True)
    after = chain.consequences_torch(torch.tensor(x), value, torch.tensor(acted))
    slope = torch.autograd.grad(after[:, 2].sum(), value)[0][:, 0].numpy()
    step = np.where(acted, x + 1e-5, NAN)
    np.testing.assert_allclose(slope, (chain.consequences(x, step)[:, 2] - x[:, 2]) / 1e-5, atol=1e-3)


# -- fitting -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["affine", "spline"])
def test_an_interrupted_fit_goes_on_to_the_same_flow(tmp_path, kind):
    x, at = CHAIN.sample(300, 0), tmp_path / "fit.safetensors"
    whole = CausalFlow.fit(CHAIN, x, kind=kind, epochs=12, batch=100, hidden=(8,))

    def stop(epoch: int, epochs: int) -> None:
        if epoch == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CausalFlow.fit(CHAIN, x, kind=kind, epochs=12, batch=100, hidden=(8,), checkpoint=at, progress=stop)
    seen: list[int] = []
    again = CausalFlow.fit(
        CHAIN,
        x,
        kind=kind,
        epochs=12,
        batch=100,
        hidden=(8,),
        checkpoint=at,
        progress=lambda e, n: seen.append(e),
    )
    assert seen == [8, 9, 10, 11, 12]
    assert whole.weights.keys() == again.weights.keys()
    assert all((whole.weights[name] == again.weights[name]).all() for name in whole.weights)
    assert whole.report.held_out == again.report.held_out
    longer = CausalFlow.fit(CHAIN, x, kind=kind, epochs=13, batch=100, hidden=(8,), checkpoint=at)
    assert longer.report.epochs == 13  # a finished fit can be taken further


def test_the_same_seed_gives_the_same_flow_and_leaves_other_randomness_alone():
    x = CHAIN.sample(200, 0)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = CausalFlow.fit(CHAIN, x, epochs=3, seed=1)
    assert torch.rand(1) == expected
    assert all(
        (first.weights[k] == v).all() for k, v in CausalFlow.fit(CHAIN, x, epochs=3, seed=1).weights.items()
    )
    other = CausalFlow.fit(CHAIN, x, epochs=3, seed=2)
    assert any((first.weights[k] != v).any() for k, v in other.weights.items())


def test_it_stops_early_and_keeps_the_best():
    x = CHAIN.sample(100, 0)
    flow = CausalFlow.fit(CHAIN, x, epochs=2000, patience=5, rate=0.05, held_out=CHAIN.sample(50, 9))
    assert flow.report.epochs < 2000
    assert flow.report.best == flow.report.epochs - 5
    assert flow.report.held_out == pytest.approx(flow.log_density(CHAIN.sample(50, 9)).mean(), abs=1e-4)


def test_a_broken_or_foreign_checkpoint_is_told(tmp_path):
    x, at = CHAIN.sample(100, 0), tmp_path / "fit.safetensors"
    CausalFlow.fit(CHAIN, x, epochs=2, checkpoint=at)
    with pytest.raises(WorldError, match="belongs to another fit"):
        CausalFlow.fit(CHAIN, CHAIN.sample(100, 1), epochs=2, checkpoint=at)
    at.write_bytes(at.read_bytes()[:80])
    with pytest.raises(FileFormatError, match="no readable checkpoint"):
        CausalFlow.fit(CHAIN, x, epochs=2, checkpoint=at)


# -- files -------------------------------------------------------------------------------------------------
def test_a_saved_flow_says_the_same(told, tmp_path):
    at = told.save(tmp_path / "flow.safetensors")
    again = CausalFlow.load(at, MIXED)
    x = mixed(100, 11)
    action = actions(x, np.random.default_rng(7))
    assert (again.consequences(x, action) == told.consequences(x, action)).all()
    assert (again.log_density(x) == told.log_density(x)).all()
    assert again.report == told.report
    assert again.graph == told.graph


def test_a_flow_file_that_is_broken_or_something_else(chain, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    at = chain.save(tmp_path / "flow.safetensors")
    content = at.read_bytes()
    for bad in (b"", content[:40], content[:-8], b"\xff" * 64):
        (tmp_path / "bad.safetensors").write_bytes(bad)
        with pytest.raises(FileFormatError, match="no readable causal flow"):
            CausalFlow.load(tmp_path / "bad.safetensors")
    safetensors.save_file({"weight": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(FileFormatError, match="no readable causal flow"):
        CausalFlow.load(tmp_path / "other.safetensors")
    with pytest.raises(FileFormatError, match="There is no file"):
        CausalFlow.load(tmp_path / "none.safetensors")
    with pytest.raises(FileFormatError):  # another graph than the weights were made for
        header = int.from_bytes(content[:8], "little")
        told = json.loads(content[8 : 8 + header])
        inner = json.loads(told["__metadata__"]["wayforward"])
        inner["graph"]["edges"] = [["x1", "x2"]]
        told["__metadata__"]["wayforward"] = json.dumps(inner)
        head = json.dumps(told).encode()
        (tmp_path / "graph.safetensors").write_bytes(
            len(head).to_bytes(8, "little") + head + content[8 + header :]
        )
        CausalFlow.load(tmp_path / "graph.safetensors")


@pytest.mark.parametrize(
    "entry, value", [("mean", NAN), ("scale", -1.0), ("width", 0.0), ("centre", "x"), ("low", 9e9)]
)
def test_a_flow_file_whose_numbers_cannot_be_is_told(told, tmp_path, entry, value):
    """Weights alone do not make a flow: a scale below zero would turn its map around, NaN would spread."""
    safetensors = pytest.importorskip("safetensors")
    writer = pytest.importorskip("safetensors.numpy")
    at = told.save(tmp_path / "flow.safetensors")
    with safetensors.safe_open(at, framework="np") as stream:
        head = json.loads(stream.metadata()["wayforward"])
        weights = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    head["plan"]["columns"][4][entry] = value
    writer.save_file(weights, at, metadata={"wayforward": json.dumps(head)})
    with pytest.raises(FileFormatError, match="what it says of 'share' cannot be"):
        CausalFlow.load(at)


def test_another_schema_is_told_and_another_order_is_understood(told, tmp_path):
    at = told.save(tmp_path / "flow.safetensors")
    levels = Feature(name="owner", kind="binary", levels=("yes", "no"))
    with pytest.raises(WorldError, match="'owner' as binary with the levels no, yes"):
        CausalFlow.load(at, Schema((*MIXED.features[:5], levels, MIXED.features[6])))
    with pytest.raises(WorldError, match="'grade'"):
        CausalFlow.load(at, Schema(MIXED.features[:6]))
    extra = Feature(name="height", kind="real")
    wider = Schema((extra, *reversed(MIXED.features)))
    bound = told.bind(wider)
    x = mixed(50, 12)
    action = actions(x, np.random.default_rng(8))
    tall = np.concatenate([np.full((50, 1), 1.8), x[:, ::-1]], axis=1)
    asked = np.concatenate([np.full((50, 3, 1), NAN), action[..., ::-1]], axis=2)
    after = bound.consequences(tall, asked)
    assert (after[..., :0:-1] == told.consequences(x, action)).all()
    assert (after[..., 0] == 1.8).all()
    tensors = bound.consequences_torch(
        torch.tensor(tall), torch.tensor(asked), torch.tensor(~np.isnan(asked))
    )
    np.testing.assert_allclose(tensors, after, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(bound.predict(bound.abduct(tall), asked), after, rtol=1e-8, atol=1e-8)
    with pytest.raises(WorldError, match="'height' is no node"):
        bound.log_density(tall)


# -- bad input ---------------------------------------------------------------------------------------------
ROWS = CHAIN.sample(60, 0)


@pytest.mark.parametrize(
    ("graph", "rows", "options", "error", "says"),
    [
        ([("a", "b"), ("b", "a")], ROWS[:, :2], {}, WorldError, "cycle"),
        ([("x1", "x2")], ROWS, {}, DataError, "graph has 2 nodes"),
        (CHAIN, ROWS[:20], {}, DataError, "has 20 rows; a world is learned from at least 30"),
        (
            CHAIN,
            np.where([True, False, True], ROWS, 3.0),
            {},
            DataError,
            "'x2' of the training table is 3 in every row",
        ),
        (
            CHAIN,
            np.where(np.arange(60)[:, None] == 5, NAN, ROWS),
            {},
            DataError,
            "'x1' of the training table has a missing value in row 5",
        ),
        (CHAIN, ROWS, {"kind": "cubic"}, WorldError, "'affine' or 'spline'"),
        (CHAIN, ROWS, {"held_out": 1.5}, WorldError, "no share"),
        (CHAIN, ROWS, {"hidden": ()}, WorldError, "at least one layer"),
        (CHAIN, ROWS, {"rate": 0.0}, WorldError, "above zero"),
        (CHAIN, ROWS, {"soft": ["y"], "epochs": 1}, WorldError, "'y'"),
    ],
)
def test_bad_input_is_told(graph, rows, options, error, says):
    with pytest.raises(error, match=says):
        CausalFlow.fit(graph, rows, **options)


def test_a_column_that_is_not_in_the_graph_is_told():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=["x1", "x2", "other"])
    with pytest.raises(WorldError, match="other"):
        CausalFlow.fit([("x1", "x2")], table)
    with pytest.raises(WorldError, match="x3"):
        CausalFlow.fit([("x1", "x2"), ("x2", "x3")], table)


def test_a_nominal_effect_is_told():
    with pytest.raises(WorldError, match="'region' is categorical and has causes"):
        CausalFlow.fit([*EDGES, ("age", "region")], mixed(100), MIXED)


def test_shapes_that_do_not_fit_are_told(chain):
    with pytest.raises(WorldError, match="shape"):
        chain.abduct(np.zeros((4, 2)))
    with pytest.raises(WorldError, match="do not belong"):
        chain.consequences(np.zeros((4, 3)), np.zeros((5, 3)))


def test_a_missing_value_stays_missing_and_harms_nobody_else(chain):
    x = CHAIN.sample(4, 0)
    action = np.where([True, False, False], x + 1, NAN)
    clean = chain.consequences(x, action)
    x[1, 1] = NAN
    after = chain.consequences(x, action)
    assert np.isnan(after[1, 1:]).all()
    assert (after[[0, 2, 3]] == clean[[0, 2, 3]]).all()


def test_of_a_missing_cause_nothing_follows_in_both_kinds(told):
    """A spline is straight far out, and a cause that nobody knows is not far out."""
    x = mixed(40, 5)
    x[0, 2] = NAN  # wage, which late and share follow from
    after = told.consequences(x, np.where(np.arange(7) == 2, 30_000.0, np.full(x.shape, NAN)))
    assert np.isnan(after[0, 3:]).all()
    assert not np.isnan(after[1:]).any()
    assert np.isnan(told.log_density_parts(x)[0, 3:5]).all()


# -- speed and the study's world ---------------------------------------------------------------------------
def test_a_hundred_thousand_people_take_no_time(told):
    x = mixed(100_000, 13)
    action = np.where(np.arange(7) == 2, x + 1000, NAN)
    start = time.process_time()
    told.consequences(x, action)
    assert time.process_time() - start < 4.0


@pytest.mark.slow
def test_loan_flow_meets_the_targets_of_the_study():
    """A. Javaloy et al. (2023) on the released tensors of CARMA: hidden 64, affine; truth -13.49."""
    from wayforward.data import load

    fit, people = load("loan", variant="causal_estimator"), load("loan", variant="recourse+icarma")
    flow = CausalFlow.fit(
        fit.graph,
        fit.x[fit.fold == 0],
        fit.schema,
        held_out=fit.x[fit.fold == 1],
        hidden=(64,),
        kind="affine",
    )
    x, true = people.x[people.fold == 2], people.world
    assert abs(flow.log_density(x).mean() - true.log_density(x).mean()) < 0.1
    rng, pool = np.random.default_rng(0), people.x[people.fold == 0]
    action = np.full_like(x, NAN)
    for name in ("income", "savings", "loan_duration", "loan_amount"):
        j, on = people.schema.index(name), rng.random(len(x)) < 0.5
        action[on, j] = pool[rng.integers(0, len(pool), len(x)), j][on]
    got, want = flow.consequences(x, action), true.consequences(x, action)
    assert (np.sqrt(((got - want) ** 2).mean(0)) / x.std(0) < 0.05).all()
    acted = ~np.isnan(action)
    still = ~acted & ~(acted @ flow.descendants)
    assert (got[still] == x[still]).all()
    found = flow.diagnose(x)
    assert found.off_graph < 1e-6
    assert max(found.calibration.values()) < 0.04
