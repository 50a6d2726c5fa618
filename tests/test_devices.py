"""Every torch engine on another device: the same numbers, nothing left behind, files for any machine."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target, testing
from wayforward.devices import device_of, on_processor
from wayforward.errors import DeviceError, MethodError, ModelError, WorldError
from wayforward.methods.engines.gradient.relaxed import StandIn
from wayforward.testing.worlds import WORLD_SCHEMA, sample_graph, sample_people, sample_world
from wayforward.world import SCM, GaussianProcessWorld, LinearWorld, SubPopulation
from wayforward.world.loan import loan
from wayforward.world.scm import linear_chain

torch = pytest.importorskip("torch")

pytest.importorskip("zuko")

from wayforward.world.flow import CausalFlow  # noqa: E402

from .other_device import NAME, There, other_device  # noqa: E402

QUICK = {"seeds": (1000, 2000), "epochs": 3, "batch": 256, "rate": 0.02, "plausibility": 0.5}


def case(kind, world, seed, n):
    """A problem that shares nothing: one that other tests asked before may hold densities trained in full."""
    it = testing.case(kind, world, seed, n)
    return replace(it, problem=pickle.loads(pickle.dumps(it.problem)))


def same(one, two):
    """The same options, to the last bit."""
    np.testing.assert_array_equal(one.action, two.action)
    np.testing.assert_array_equal(one.outcome, two.outcome)


def both(make, problem, x, k=1):
    """Fit and answer on the CPU and on the other device; the methods."""
    here = make(device="cpu").fit(problem)
    first = here.recommend(x, k)
    with other_device() as device:
        there = make(device=device).fit(problem)
        second = there.recommend(x, k)
    same(first, second)
    assert first.found.any()
    return here, there


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Smaller products and shorter trainings: the processor does the accelerator's work here."""
    monkeypatch.setattr("wayforward.model.dense_torch.MANY", 256)
    monkeypatch.setattr("wayforward.density.mixture._STEPS", 6)
    monkeypatch.setattr("wayforward.density.mixture.MixtureNetwork.block", 128)
    monkeypatch.setitem(StandIn.__init__.__kwdefaults__, "epochs", 2)


# -- names ---------------------------------------------------------------------------------------------------------


def test_a_device_is_named_and_tried():
    assert device_of("cpu") == device_of(None) == torch.device("cpu")
    assert on_processor(None)
    assert on_processor("auto") == (not torch.cuda.is_available())
    with other_device() as device:
        assert device_of(device).type == device_of(None, near=device).type == NAME
        assert not on_processor(device)


@pytest.mark.parametrize("name", ["gpu", "cuda:77", NAME])
def test_a_device_that_is_not_there_is_named_with_what_to_use(name):
    with pytest.raises(DeviceError, match=f"device='{name}' cannot be used .* Use one of cpu.* or 'auto'"):
        device_of(name)


def test_the_other_device_is_as_strict_as_an_accelerator():
    with other_device() as device:
        there = torch.ones(3, device=device)
        assert isinstance(there, There)
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(3)
        with pytest.raises(TypeError, match="numpy"):
            there.numpy()
        with pytest.raises(RuntimeError, match="generator"):
            torch.rand(3, device=device, generator=torch.Generator())
        assert there.cpu().numpy().tolist() == [1, 1, 1]


# -- engines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("carma", "forest"), ("icarma", "network")])
def test_amortised_networks(name, kind, tmp_path):
    """Trained and asked elsewhere; a file goes back and forth; a forest is learnt by a stand-in."""
    it = case(kind, "causal", 0, 30)
    here, there = both(lambda **m: wf.method(name, **QUICK, **m), it.problem, it.x, 2)
    assert there.engine_.device.type == NAME
    answer = here.recommend(it.x)
    with other_device() as device:
        path = there.save(tmp_path / "networks.safetensors")
        same(type(there).load(path, it.problem, device=device).recommend(it.x), answer)
    same(type(there).load(path, it.problem).recommend(it.x), answer)


def test_a_training_goes_on_elsewhere(tmp_path):
    it, path = case("network", "causal", 0, 30), tmp_path / "part.safetensors"
    whole = wf.method("carma", **QUICK).fit(it.problem).recommend(it.x)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with other_device() as device, pytest.raises(KeyboardInterrupt):
        wf.method("carma", **QUICK, device=device, checkpoint=path, progress=stop).fit(it.problem)
    same(wf.method("carma", **QUICK, checkpoint=path).fit(it.problem).recommend(it.x), whole)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("c-chvae", {"epochs": 2}),
        ("cfrl", {"epochs": 2, "steps": 10, "people": 100, "batch": 32, "width": 16}),
        ("mahajan", {"epochs": 2, "tuning": 2, "people": 100, "batch": 32}),
        ("plausible-counterfactuals", {"epochs": 2, "population": 6, "generations": 2}),
        ("abele", {"epochs": 2, "samples": 20, "generations": 1}),
        ("ibr", {"epochs": 2, "groups": "region"}),
        ("clue", {"epochs": 2, "steps": 20}),
        ("revise", {"epochs": 2, "steps": 20}),
        ("cruds", {"epochs": 2, "samples": 20}),
    ],
)
def test_generators(name, more):
    it = case("network", "independent", 0, 12)
    both(lambda **m: wf.method(name, **more, **m), it.problem, it.x)


@pytest.mark.parametrize("density", ["mixture", "flow"])
def test_densities(density):
    it = case("network", "independent", 0, 12)
    more = {"density": density, "proposals": 16, "rounds": 2, "beta": 0.0}
    here, there = both(lambda **m: wf.method("ebr", groups="region", **more, **m), it.problem, it.x)
    rows = it.problem.reference[:40]
    np.testing.assert_array_equal(there.density_.device.type, NAME)
    with other_device():
        np.testing.assert_array_equal(there.density_.log_density(rows), here.density_.log_density(rows))


def test_a_plausibility_shares_the_densities_of_its_device():
    from wayforward.problem import Balanced

    it = case("network", "independent", 0, 12)
    with other_device() as device:
        problem = wf.Problem(
            it.problem.schema, it.problem.model, it.problem.target, data=it.problem.reference,
            plausibility=Balanced("region", device=device),
        )  # fmt: skip
        method = wf.method("ebr", groups="region", device=device).fit(problem)
        assert problem.plausibility.densities is method.density_
        assert "device" not in problem.plausibility.to_dict()["parameters"]


@pytest.mark.parametrize(
    ("name", "world"),
    [("wachter", "causal"), ("dice", "causal"), ("clue", "causal"), ("probe", "independent"),
     ("lowprofool", "independent")],
)  # fmt: skip
def test_gradients(name, world, monkeypatch):
    """Without compiled code, which has no twin elsewhere."""
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    more = {"dice": {"steps": 8}, "clue": {"epochs": 2, "steps": 8}, "lowprofool": {"steps": 8}}.get(
        name, {"rounds": 5, "steps": 8}
    )
    it = case("network", world, 0, 10)
    both(lambda **m: wf.method(name, **more, **m), it.problem, it.x)


@pytest.mark.parametrize("where", ["cpu", None])
def test_a_module_that_lives_elsewhere_is_asked_there(where):
    """It stays a module: carma follows it, or learns on the CPU and asks it over there; wachter follows it."""

    class Twisted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 1, dtype=torch.float64)
            with torch.no_grad():
                self.linear.weight.copy_(torch.tensor([[0.0, 3.0, 3.0]]))
                self.linear.bias.fill_(-3.0)

        def forward(self, x):
            return self.linear(x) + 0.1 * x[:, :1].sin()

    world = linear_chain(1.0, 0.5, 0.3)
    x = world.sample(200, rng=0)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-30, high=30) for j in (1, 2, 3)))

    def answers(home, name, **more):
        model = wf.wrap(Twisted().to(home), schema, output="logit", classes=(0, 1))
        problem = Problem(schema, model, Target(1), data=x, world=world)
        method = wf.method(name, **more).fit(problem)
        return method, method.recommend(x[:20])

    carma = QUICK | {"plausibility": 0.0}
    expected = [answers("cpu", "carma", **carma)[1], answers("cpu", "wachter")[1]]
    with other_device() as device:
        method, got = answers(device, "carma", **carma, device=where)
        assert method.engine_.device.type == (where or NAME)
        same(got, expected[0])
        if where is None:
            same(answers(device, "wachter")[1], expected[1])
        else:
            with pytest.raises(MethodError, match=f"lives on {NAME}.* module.to\\('cpu'\\)"):
                answers(device, "wachter", device=where)


# -- worlds --------------------------------------------------------------------------------------------------------

LAWS = ("Normal(1, 2)", "Gamma(3, 1.5)", "Exponential(2)", "Laplace(1, 2)", "Uniform(-1, 3)", "Bernoulli(0.3)",
        "Categorical(0.2, 0.5, 0.3)", "Mixture(0.5, -2, 1.2, 0.5, 1, 1)")  # fmt: skip


def worlds():
    """One world of every kind by its name, made when it is asked for."""
    graph, people = sample_graph(), sample_people(300)
    laws = {f"r{i}": law for i, law in enumerate(LAWS)} | {"e": "Normal(0, 1)", "f": "Constant(2)"}
    equations = dict.fromkeys(laws, "u") | {"e": "sigmoid(r0) * 2 + abs(r3) + u", "f": "max(r1, 3) + u"}
    quick = {"epochs": 3, "batch": 100, "hidden": (8,)}
    return {
        "equations": lambda: sample_world().bind(WORLD_SCHEMA),
        "shifts": lambda: sample_world(soft=True).bind(WORLD_SCHEMA),
        "laws": lambda: SCM(equations, laws),
        "loan": loan,
        "sub-population": lambda: SubPopulation(sample_world()).bind(WORLD_SCHEMA),
        "linear": lambda: LinearWorld.fit(graph, people, WORLD_SCHEMA),
        "gaussian process": lambda: GaussianProcessWorld.fit(graph, people[:80], WORLD_SCHEMA),
        "affine flow": lambda: CausalFlow.fit(graph, people, WORLD_SCHEMA, **quick),
        "spline flow": lambda: CausalFlow.fit(graph, people, WORLD_SCHEMA, kind="spline", soft=True, **quick),
    }


@pytest.mark.parametrize("name", worlds())
def test_worlds(name):
    """Whatever a world says of tensors, it says where they are, with the same bits."""
    world = worlds()[name]()
    x = sample_people(6) if world.schema is WORLD_SCHEMA else world.sample(6, 0)
    other, rng = np.roll(x, 1, axis=0), np.random.default_rng(0)
    acted = rng.random(x.shape) < 0.4

    def said(device):
        before, value, mask = (torch.tensor(a, device=device) for a in (x, other, acted))
        u = attempt(lambda: world.abduct_torch(before))
        keys = np.arange(len(x), dtype=np.uint64)
        yield u
        yield attempt(lambda: world.predict_torch(u))
        yield attempt(lambda: world.predict_torch(u, value, mask))
        yield attempt(lambda: world.consequences_torch(before, value, mask))
        yield attempt(lambda: world.fresh_consequences_torch(before, value, mask))
        yield attempt(lambda: world.draws_torch(before, value, mask, 3, keys))
        yield attempt(lambda: world.log_density_torch(before))
        yield from attempt(lambda: world.lead_torch(before, u, np.ones(x.shape[1], dtype=bool))) or ()

    def attempt(ask):
        try:
            return ask()
        except WorldError:
            return None

    here = list(said("cpu"))
    assert sum(part is not None for part in here) >= 2
    with other_device() as device:
        for one, two in zip(here, said(device), strict=True):
            assert (one is None) == (two is None)
            if one is not None:
                assert two.device.type == NAME
                np.testing.assert_array_equal(two.cpu().numpy(), one.numpy())


def test_rules_judge_and_drag_where_the_rows_are():
    x = sample_people(20)
    texts = (
        "after.savings <= 4 * after.income or after.course == 'yes'",
        "age drags savings by 0.5",
        "savings drags debt by 2",
    )
    rules, after = replace(WORLD_SCHEMA, rules=texts).compiled_rules, np.roll(x, 1, axis=0)
    acted = np.random.default_rng(0).random(x.shape) < 0.4
    with other_device() as device:
        rows = [torch.tensor(a, device=device) for a in (x, after, acted)]
        for ask in (rules.satisfied, rules.holds, rules.truth):
            np.testing.assert_array_equal(ask(*rows[:2]).cpu().numpy(), ask(x, after))
        np.testing.assert_array_equal(rules.drag(*rows).cpu().numpy(), rules.drag(x, after, acted))


@pytest.mark.parametrize("kind", ["affine", "spline"])
def test_a_flow_is_learnt_elsewhere(kind, tmp_path):
    """The same weights, also where a fit is cut off on one device and goes on on the other."""
    quick = {"kind": kind, "epochs": 3, "batch": 150, "hidden": (8,)}
    graph, people, path = sample_graph(), sample_people(300), tmp_path / "flow.part"
    here = CausalFlow.fit(graph, people, WORLD_SCHEMA, **quick)
    with other_device() as device:
        there = CausalFlow.fit(graph, people, WORLD_SCHEMA, **quick, device=device)
        CausalFlow.fit(graph, people, WORLD_SCHEMA, **quick | {"epochs": 2}, device=device, checkpoint=path)
    on = CausalFlow.fit(graph, people, WORLD_SCHEMA, **quick, checkpoint=path)
    assert here.weights
    for name, value in here.weights.items():
        np.testing.assert_array_equal(there.weights[name], value)
        np.testing.assert_array_equal(on.weights[name], value)
    assert there.report.held_out == here.report.held_out


# -- networks of a local search ------------------------------------------------------------------------------------


def test_a_network_is_evaluated_elsewhere_and_no_row_depends_on_the_others():
    """German credit has levels, gaps and numbers; the last bits are those of one device, whatever the batch."""
    it = case("network", "independent", 0, 60)
    model, x = it.problem.model, np.tile(it.x, (30, 1))
    with other_device() as device:
        there = model.on(device)
        got = there.outputs(x)
        np.testing.assert_allclose(got, model.outputs(x), rtol=0, atol=1e-13)
        for start, rows in ((0, 1), (5, 7), (59, 1000)):
            np.testing.assert_array_equal(there.outputs(x[start : start + rows]), got[start : start + rows])
    assert there.counter is model.counter


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_a_local_search_on_a_device_answers_as_the_lockstep_does(world):
    it = case("network", world, 0, 6)
    here = wf.method("local-search", compiled=False).fit(it.problem).recommend(it.x, 2)
    with other_device() as device:
        there = wf.method("local-search", device=device).fit(it.problem).recommend(it.x, 2)
    np.testing.assert_array_equal(there.found, here.found)
    np.testing.assert_allclose(there.cost, here.cost, rtol=1e-9)
    assert here.found.any()
    assert there.meta["model_rows"] == here.meta["model_rows"]


@pytest.mark.parametrize(
    ("name", "more"), [("nice", {}), ("growing-spheres", {}), ("local-search", {"device": NAME})]
)
def test_whole_problems_ask_elsewhere_and_a_person_alone_gets_the_same_answer(name, more):
    it = case("network", "independent", 0, 6)
    here = wf.method(name, **{"compiled": False} if more else {}).fit(it.problem).recommend(it.x)
    with other_device() as device:
        method = wf.method(name, **more).fit(it.problem.with_(device=device))
        there = method.recommend(it.x)
        who = np.flatnonzero(there.found[:, 0])[[0, -1]]
        alone = [method.recommend(it.x[i : i + 1]).action[0] for i in who]
    np.testing.assert_array_equal(there.found, here.found)
    np.testing.assert_allclose(there.cost, here.cost, rtol=1e-9)
    np.testing.assert_array_equal(alone, there.action[who])


def test_a_search_on_a_device_goes_to_other_processes():
    import pickle

    it = case("network", "independent", 0, 10)
    method = wf.method("local-search", device="cpu").fit(it.problem)
    same(pickle.loads(pickle.dumps(method)).recommend(it.x), method.recommend(it.x))


def test_what_is_no_network_says_so():
    it = case("forest", "independent", 0, 5)
    with pytest.raises(ModelError, match="no dense network .* 'cpu'. Leave the device out"):
        wf.method("local-search", device="cpu").fit(it.problem)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["carma", "c-chvae", "ebr", "wachter", "local-search"])
def test_on_a_gpu_as_good_as_here(name):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    it = case("network", "causal" if name == "carma" else "independent", 0, 60)
    more = {"carma": {"epochs": 20}, "ebr": {"groups": "region"}}.get(name, {})
    here, there = (wf.method(name, **more, device=d).fit(it.problem).recommend(it.x) for d in ("cpu", "cuda"))
    both_found = here.found[:, 0] & there.found[:, 0]
    assert both_found.sum() >= 0.9 * here.found[:, 0].sum()
    np.testing.assert_allclose(there.cost[both_found, 0].mean(), here.cost[both_found, 0].mean(), rtol=0.05)
