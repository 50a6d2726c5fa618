"""mahajan: the hinge, monotone values, causal proximity by hand, effects that rise with causes, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import MethodError, ProblemError
from wayforward.methods.mahajan import Mahajan
from wayforward.testing import MethodContract, case
from wayforward.world import SCM

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity, load_generator, save_generator  # noqa: E402
from wayforward.methods.engines.amortised.causal_vae import CausalVae, CausalVaeSettings, hinge  # noqa: E402
from wayforward.methods.engines.amortised.perturbation import TrainingScore  # noqa: E402
from wayforward.methods.engines.latent.search import Latent  # noqa: E402

QUICK = {"tuning": 4, "people": 150, "batch": 64, "epochs": 3, "draws": 3}


class TestContract(MethodContract):
    method = "mahajan"
    parameters = QUICK
    finds = 0.9
    people = 10


def test_the_hinge_is_nothing_where_the_margin_is_met_and_nowhere_else():
    """max(0, margin - (p(yes) - p(no))), Mahajan, Tan & Sharma (2019), eq. 4; p(yes) = sigmoid(score)."""
    score = np.linspace(-6, 6, 241)
    chance = 1 / (1 + np.exp(-score))
    got = hinge(torch.as_tensor(score), 0.165).numpy()
    np.testing.assert_allclose(got, np.maximum(0.165 - (2 * chance - 1), 0), atol=1e-12)
    edge = np.log((1 + 0.165) / (1 - 0.165))
    np.testing.assert_array_equal(got == 0, score >= edge)


def test_values_with_a_direction_go_that_way():
    """Some 40 % of decoded values go the other way where nothing is asked for it, 1 to 2 % by the usual weight, and
    fewer still by a greater one: a penalty, so no bound holds to the last value on every machine."""
    it = case("network", "independent", 0, 60)
    more = {**QUICK, "people": 400, "batch": 32, "tuning": 30, "rate": 0.01}
    loose, usual, strict = (
        Mahajan(**more, unary=unary).fit(it.problem).report_ for unary in (0.0, 20.0, 100.0)
    )
    assert strict.wrong_way <= usual.wrong_way < 0.04 < 0.3 < loose.wrong_way
    assert strict.wrong_way < 0.01
    assert usual.turned >= 0.95


@pytest.mark.parametrize(("effect", "expected"), [("u", (1.0, 2.0)), ("2 * x1 + u", (1.0, 0.0))])
def test_proximity_is_measured_from_what_causes_lead_to(linear, effect, expected):
    """From (1, 3) to (2, 5) where x2 = 2 x1 + u: 1 + |5 - (2 * 2 + 1)|; where nothing follows, the plain 1 + 2."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in ("x1", "x2")))
    data = np.random.default_rng(0).uniform(0, 10, size=(60, 2))
    problem = linear(schema, -9.0, {"x1": 1.0, "x2": 0.5}, data=data, world=SCM({"x1": "u", "x2": effect}))
    ones = np.ones(2)
    space = Latent(
        problem, Identity(schema, unit=1.0), "mahajan", span=ones, price=ones,
        descent=TrainingScore(problem, "mahajan", seed=0),
    )  # fmt: skip
    settings = CausalVaeSettings(1, 1, 1, 1e-3, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 0)
    losses = CausalVae(space, settings, [(0, 1, 1.5)])
    people = problem.population(np.array([[1.0, 3.0]]))
    one = np.zeros(1, dtype=int)
    block = space.still(people, space.start(people, one, people.free, 1.0), one)

    def at(*row):
        return space.relaxed_rows(block, torch.tensor([row], dtype=space.dtype))

    assert losses.proximity(block, at(2.0, 5.0)).item() == pytest.approx(sum(expected), abs=1e-5)
    assert losses.binary(block, at(2.0, 4.6)).item() == 0  # 1.5 for 1, and more than that
    assert losses.binary(block, at(2.0, 4.0)).item() == pytest.approx(0.5, abs=0.02)
    assert losses.binary(block, at(0.5, 3.0)).item() == 0  # the cause fell


def test_effects_rise_with_their_causes_in_every_option():
    """The slope is that of least squares, and options keep it though the judge knows no such rule."""
    it = case("network", "independent", 0, 60)
    schema, reference = it.problem.schema, it.problem.reference
    u, v = schema.index("income"), schema.index("savings")
    method = Mahajan(**QUICK, raises={"income": "savings"}).fit(it.problem)
    (slope,) = method.slopes_.values()
    assert slope == pytest.approx(max(0.0, np.polyfit(reference[:, u], reference[:, v], 1)[0]))
    got = method.recommend(it.x, 3)
    change = got.after[got.found] - np.repeat(it.x[:, None], 3, axis=1)[got.found]
    assert len(change) > 20
    assert (change[:, v] >= slope * change[:, u] - 1e-6)[change[:, u] > 0].all()
    free = Mahajan(**QUICK).fit(it.problem).recommend(it.x, 3)
    other = free.after[free.found] - np.repeat(it.x[:, None], 3, axis=1)[free.found]
    assert (other[:, v] < slope * other[:, u])[other[:, u] > 0].any()  # which is not kept by itself


def test_a_trained_generator_goes_through_a_file(tmp_path):
    it = case("linear", "independent", 0, 30)
    method = Mahajan(**QUICK).fit(it.problem)
    file = save_generator(tmp_path / "trained.safetensors", method.generator_)
    again = Mahajan(**QUICK, generator=load_generator(file, it.problem.schema)).fit(it.problem)
    one, two = (m.recommend(it.x, 2, seed=1) for m in (method, again))
    np.testing.assert_array_equal(one.action, two.action)
    assert again.report_ is None


def test_what_cannot_be_learnt_is_named(linear):
    it = case("linear", "independent", 0, 30)
    with pytest.raises(MethodError, match="raises=3"):
        Mahajan(raises=3)
    for pair in ({"housing": "income"}, {"education": "educatoin"}):
        with pytest.raises(MethodError, match="that have an order: age, income"):
            Mahajan(**QUICK, raises=pair).fit(it.problem)
    problem = it.problem
    accepted = Problem(problem.schema, problem.model, Target(1), data=problem.reference_accepted)
    with pytest.raises(ProblemError, match="nobody to learn from"):
        Mahajan(**QUICK).fit(accepted)
