"""Structural causal models on tensors: the same numbers as on arrays, and gradients that are true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from wayforward.errors import WorldError
from wayforward.schema import Feature, Schema
from wayforward.world import SCM, Independent
from wayforward.world.loan import FEATURES, loan
from wayforward.world.noise import KNOWN, Mixture, Normal, parse_noise

torch = pytest.importorskip("torch")
NAN = np.nan

LAWS = [
    "Normal(1, 2)", "Gamma(3, 1.5)", "Exponential(2)", "Laplace(1, 2)", "Uniform(-1, 3)", "Bernoulli(0.3)",
    "Categorical(0.2, 0.5, 0.3)", "Constant(2)", "Mixture(0.5, -2, 1.2, 0.5, 1, 1)",
]  # fmt: skip


def loan_schema():
    """Gender by level, an age in whole years, one feature that the world does not know."""
    kinds = {"gender": {"kind": "binary", "levels": (0, 1)}, "age": {"kind": "integer", "low": -35}}
    made = [Feature(name=n, **kinds.get(n, {"kind": "real"})) for n in reversed(FEATURES)]
    return Schema(tuple(made))


WORLDS = {
    "loan": loan(),
    "soft": SCM({"a": "u", "b": "tanh(a) + u", "c": "a * b + exp(u)"}, soft=["b", "c"],
                noise={"a": "Mixture(0.5, -2, 1.2, 0.5, 1, 1)", "b": "Laplace(0, 1)", "c": "Normal(0, 1)"}),
    "odd": SCM({"a": "u", "b": "sigmoid(a + u)", "c": "b / u", "d": "logit(b) * 2 - u", "e": "log(u) + a"},
               {"a": "Uniform(-2, 2)", "b": "Normal(0, 1)", "c": "Normal(3, 1)", "d": "Exponential(2)",
                "e": "Gamma(2, 2)"}),
    "bound": loan().bind(loan_schema()),
}  # fmt: skip


def setting(world, n=40, k=3):
    """People, their noise, and a different action for each person and option."""
    rng = np.random.default_rng(1)
    x = world.sample(n, rng)
    other = world.sample(n * k, rng).reshape(n, k, -1)
    action = np.where(rng.random(other.shape) < 0.4, other, NAN)
    return x, world.abduct(x), action


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_tensors_say_what_arrays_say(world):
    x, u, action = setting(world)
    acted, value = torch.tensor(~np.isnan(action)), torch.tensor(np.nan_to_num(action))
    np.testing.assert_allclose(world.abduct_torch(torch.tensor(x)), u, atol=1e-10, rtol=1e-12)
    np.testing.assert_allclose(world.predict_torch(torch.tensor(u)), world.predict(u), atol=1e-10, rtol=1e-12)
    after = world.predict(u, action)
    np.testing.assert_allclose(
        world.predict_torch(torch.tensor(u), value, acted), after, atol=1e-10, rtol=1e-12
    )
    np.testing.assert_allclose(
        world.consequences_torch(torch.tensor(x), value, acted), world.consequences(x, action), atol=1e-9
    )
    np.testing.assert_allclose(world.log_density_torch(torch.tensor(x)), world.log_density(x), atol=1e-10)


@pytest.mark.parametrize("world", list(WORLDS.values())[:3], ids=list(WORLDS)[:3])
def test_gradients_are_finite_and_equal_finite_differences(world):
    x, u, action = setting(world, n=6, k=2)
    acted = torch.tensor(~np.isnan(action))
    free = [j for j, name in enumerate(world.names) if not world.noise[name].discrete]

    def differences(function, at, h=1e-6):
        out = np.zeros(at.shape)
        for j in free:
            step = np.zeros(at.shape[-1])
            step[j] = h
            out[..., j] = (function(at + step) - function(at - step)) / (2 * h)
        return out

    def check(function, tensors, at):
        at_torch = torch.tensor(at, requires_grad=True)
        tensors(at_torch).sum().backward()
        assert torch.isfinite(at_torch.grad).all()
        np.testing.assert_allclose(
            at_torch.grad.numpy()[..., free], differences(function, at)[..., free], rtol=2e-5, atol=2e-5
        )

    check(lambda v: world.log_density(v), world.log_density_torch, x)
    check(lambda v: world.predict(v).sum(-1), lambda v: world.predict_torch(v).sum(-1), u)
    check(lambda v: world.abduct(v).sum(-1), lambda v: world.abduct_torch(v).sum(-1), x)
    some = np.where(np.isnan(action), 0.5, action)
    check(
        lambda v: world.predict(u, np.where(np.isnan(action), NAN, v)).sum(-1),
        lambda v: world.predict_torch(torch.tensor(u), v, acted).sum(-1),
        some,
    )


def test_a_latent_shift_is_an_intervention():
    """Section 9 of the specification: moving a feature's noise equals setting the value that it gives."""
    world = loan()
    x, u, _ = setting(world)
    shifted = u.copy()
    shifted[:, 3:] += np.random.default_rng(0).normal(size=(40, 4)) * np.array([1, 0, 1, 0])
    by_noise = world.predict_torch(torch.tensor(shifted)).numpy()
    action = np.where(shifted != u, by_noise, NAN)
    np.testing.assert_allclose(world.consequences(x, action), by_noise, atol=1e-10)


def test_what_cannot_be_has_no_density_and_no_broken_gradient():
    world = WORLDS["odd"]
    x = torch.tensor(world.sample(4, 0))
    x[0, 1], x[1, 0], x[2, 0] = 1.7, NAN, 5.0
    x.requires_grad_()
    got = world.log_density_torch(x)
    assert got[0] == -np.inf and torch.isnan(got[1]) and got[2] == -np.inf and torch.isfinite(got[3])
    got[3].backward()
    assert torch.isfinite(x.grad[[0, 2, 3]]).all()
    assert torch.isnan(world.abduct_torch(x[:1].detach()))[0].tolist() == [False, True, False, True, False]


def test_levels_and_whole_numbers_stay_legal_and_pass_gradients():
    schema = Schema((Feature(name="a", kind="real"), Feature(name="b", kind="integer")))
    world = SCM({"a": "u", "b": "2 * a + u"}, {"a": "Normal(0, 1)", "b": "Normal(0, 1)"}).bind(schema)
    u = torch.tensor([[0.3, 0.5]], requires_grad=True, dtype=torch.float64)
    after = world.predict_torch(u)
    assert after.tolist() == [[0.3, 1.0]]
    after[0, 1].backward()
    assert u.grad.tolist() == [[2.0, 1.0]]


def test_float32_stays_float32():
    world = loan()
    x = torch.tensor(world.sample(5, 0), dtype=torch.float32)
    u = world.abduct_torch(x)
    assert u.dtype == world.predict_torch(u).dtype == world.log_density_torch(x).dtype == torch.float32


def test_float32_stays_float32_through_conditions():
    world = SCM(
        {"a": "u", "b": "2 * (a > 0) + u", "c": "sigmoid(b * (a >= b) + u)"},
        {"a": "Normal(0, 1)", "b": "Normal(0, 1)", "c": "Normal(0, 1)"},
    )
    x = torch.tensor(world.sample(5, 0), dtype=torch.float32)
    x[0, 2] = 7.0  # no noise gives this
    u = world.abduct_torch(x[1:])
    value, acted = torch.zeros_like(u), torch.ones_like(u, dtype=torch.bool)
    assert u.dtype == world.predict_torch(u, value, acted).dtype == torch.float32
    assert (
        world.log_density_torch(x).dtype
        == world.consequences_torch(x[1:], value, acted).dtype
        == torch.float32
    )


def test_the_independent_world_on_tensors():
    x, value = torch.tensor([[1.0, 2.0]]), torch.tensor([[5.0, 6.0]], requires_grad=True)
    world = Independent()
    after = world.predict_torch(world.abduct_torch(x), value, torch.tensor([[True, False]]))
    assert after.tolist() == [[5.0, 2.0]] and world.predict_torch(x).tolist() == [[1.0, 2.0]]
    after.sum().backward()
    assert value.grad.tolist() == [[1.0, 0.0]]


def test_softly_is_soft():
    world = SCM({"a": "u", "b": "2 * a + u"})
    schema = Schema((Feature(name="b", kind="real"), Feature(name="a", kind="real")))
    x, act = np.array([[1.0, 5.0]]), np.array([[2.0, 6.0]])
    assert world.softly().consequences(x, act).tolist() == [[2.0, 8.0]]
    assert world.softly(["b"]).bind(schema).consequences(x[:, ::-1], act[:, ::-1]).tolist() == [[8.0, 2.0]]
    assert world.bind(schema).softly().consequences(x[:, ::-1], act[:, ::-1]).tolist() == [[8.0, 2.0]]
    with pytest.raises(WorldError, match="'c'"):
        world.softly("c")


@pytest.mark.parametrize("text", LAWS)
def test_laws_on_tensors(text):
    law = parse_noise(text, "x")
    assert parse_noise(str(law), "x") == law
    u = np.array([-3.0, -1.0, 0.0, 0.4, 1.0, 2.0, 2.7, 9.0, np.nan])
    np.testing.assert_allclose(law.log_density(torch.tensor(u)), law.log_density(u), atol=1e-12)
    at = torch.tensor(u[:-1], requires_grad=True)
    got = law.log_density(at)
    if got.requires_grad:
        got[torch.isfinite(got)].sum().backward()
        assert torch.isfinite(at.grad).all()


def test_a_mixture_is_a_density_and_is_sampled():
    law = Mixture(((0.3, -2.0, 0.5), (0.7, 1.0, 1.0)))
    assert set(KNOWN) >= {"Mixture"}
    assert integrate.quad(lambda u: np.exp(law.log_density(u)), -12, 12)[0] == pytest.approx(1)
    draws = law.sample(np.random.default_rng(0), 200_000)
    assert draws.mean() == pytest.approx(0.1, abs=0.01)
    assert draws.var() == pytest.approx(0.3 * (0.25 + 4) + 0.7 * 2 - 0.01, abs=0.03)
    assert Mixture(((1.0, 3.0, 2.0),)).log_density(1.0) == pytest.approx(Normal(3, 2).log_density(1.0))


@pytest.mark.parametrize("text", ["Mixture(0.5, 1)", "Mixture(0.5, 0, 1)", "Mixture(1, 0, 0)", "Mixture()"])
def test_what_is_no_mixture(text):
    with pytest.raises(WorldError, match="x|Mixture"):
        parse_noise(text, "x")
