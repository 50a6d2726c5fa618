"""Structural causal models: counterfactuals, legality, densities, and what is refused."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import networkx
import numpy as np
import pytest
from hypothesis import given
from scipy import integrate, stats

from wayforward.errors import FileFormatError, WorldError
from wayforward.schema import Feature, Schema
from wayforward.world import SCM, Independent
from wayforward.world.scm import linear_chain

NAN = np.nan


def table(**kinds):
    """A schema from name=kind or name=Feature fields."""
    made = []
    for name, fields in kinds.items():
        fields = {"kind": fields} if isinstance(fields, str) else fields
        made.append(Feature(name=name.replace("_", "-"), **fields))
    return Schema(tuple(made))


# -- published numbers ----------------------------------------------------------------------------


def test_a_raise_also_grows_savings():
    """Example of A.-H. Karimi, B. Schoelkopf, I. Valera (2021), arXiv:2002.06278: fixture F-SCM-1."""
    world = SCM({"salary": "u", "savings": "0.3 * salary + u"})
    person = np.array([[75_000.0, 25_000.0]])
    assert world.abduct(person)[0, 1] == pytest.approx(2500)
    after = world.consequences(person, [[85_000, NAN]])
    np.testing.assert_allclose(after, [[85_000, 28_000]])

    def score(x):
        return x[..., 0] + 5 * x[..., 1] - 225_000

    assert score(person) < 0 and score(after) == pytest.approx(0)
    # without consequences, only a third more salary or a fifth more savings would do
    alone = Independent().consequences(person, [[[100_000, NAN], [NAN, 30_000], [85_000, NAN]]])
    assert score(alone)[0].tolist() == [0, 0, -15_000]
    # acting on the effect does not move its cause
    np.testing.assert_allclose(world.consequences(person, [[NAN, 30_000]]), [[75_000, 30_000]])


def test_the_counterfactual_of_a_linear_node():
    """Fixture F-SCM-2: x2 = 2 x1 + u at (1, 2.5): x1 = 1.25 brings x2 to 3."""
    world = SCM({"x1": "u", "x2": "2 * x1 + u"})
    np.testing.assert_allclose(world.consequences([1, 2.5], [1.25, NAN]), [1.25, 3.0])


def test_setting_a_value_that_is_there_holds_it_while_its_causes_move():
    chain = linear_chain(2.0, 3.0, skip=1.0)
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(chain.consequences(x, [2, NAN, NAN]), [2, 4, 10])
    np.testing.assert_allclose(chain.consequences(x, [2, 2, NAN]), [2, 2, 4])
    np.testing.assert_allclose(chain.consequences(x, [2, 2, 3]), [2, 2, 3])
    np.testing.assert_allclose(chain.consequences(x, [NAN, 2, NAN]), x)


def test_additive_counterfactuals_follow_their_closed_form():
    """x'_v = x_v + f_v(parents') - f_v(parents), whatever the noise was."""
    world = SCM({"a": "u", "b": "max(a, 0) + tanh(a) + u", "c": "a * b + u"})
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(200, 3)), rng.normal(size=200)
    action = np.full_like(x, NAN)
    action[:, 0] = a
    after = world.consequences(x, action)

    def f(v):
        return np.maximum(v, 0) + np.tanh(v)

    b = x[:, 1] + f(a) - f(x[:, 0])
    np.testing.assert_allclose(after, np.stack([a, b, x[:, 2] + a * b - x[:, 0] * x[:, 1]], 1), atol=1e-12)


# -- who acts on what -----------------------------------------------------------------------------


def test_interventions_differ_by_person_and_option():
    world = SCM({"x1": "u", "x2": "0.5 * x1 + u"})
    before = np.array([[2.0, 2.0], [4.0, 0.0]])
    action = np.array([[[4, NAN], [NAN, 7], [NAN, NAN]], [[0, 1], [NAN, NAN], [6, NAN]]])
    expected = [[[4, 3], [2, 7], [2, 2]], [[0, 1], [4, 0], [6, 1]]]
    np.testing.assert_allclose(world.consequences(before, action), expected)
    for i in range(2):
        for k in range(3):
            np.testing.assert_array_equal(
                world.consequences(before[i], action[i, k]), world.consequences(before, action)[i, k]
            )


def test_soft_interventions_shift_instead_of_fixing():
    equations = {"x1": "u", "x2": "2 * x1 + u", "x3": "x2 + u"}
    x = np.array([1.0, 3.0, 5.0])
    action = [2, 4, NAN]
    hard, soft = SCM(equations), SCM(equations, soft=["x2"])
    np.testing.assert_allclose(hard.consequences(x, action), [2, 4, 6])
    np.testing.assert_allclose(soft.consequences(x, action), [2, 6, 8])  # 3, +2 by x1, +1 by the shift
    np.testing.assert_allclose(SCM(equations, soft=True).consequences(x, [NAN, 4, 9]), [1, 4, 10])
    with pytest.raises(WorldError, match="list of soft interventions has a node 'x9'"):
        SCM(equations, soft=["x9"])


# -- random worlds --------------------------------------------------------------------------------

_PARENT = ["{p}", "sigmoid({p})", "tanh({p})", "abs({p})", "max({p}, 0.5)", "exp(0.1 * {p})", "({p} > 0)"]
_OWN = [
    "{f} + u", "{f} - 2 * u", "u / (1 + abs({f}))", "u * exp(0.2 * {f})", "sigmoid({f} + u)",
    "exp(u / 4) + {f}", "log(exp(u) / exp({f}))", "3 - tanh(0.3 * u + {f})", "logit(sigmoid(u - {f}))",
    "(1 + {f} * {f}) / exp(u / 8)", "sqrt(exp(u) * exp({f}))", "sum({f}, u, 1)",
]  # fmt: skip


@st.composite
def worlds(draw):
    d = draw(st.integers(1, 5))
    equations = {}
    for j in range(d):
        parts = [draw(st.sampled_from(_PARENT)).format(p=f"x{i}") for i in range(j) if draw(st.booleans())]
        equations[f"x{j}"] = draw(st.sampled_from(_OWN)).format(f=f"({' + '.join(parts) or '0.25'})")
    noise = dict.fromkeys(equations, "Normal(0, 1)")
    names = draw(st.permutations(list(equations)))  # the order of the equations is not that of causes
    return SCM({name: equations[name] for name in names}, noise)


@given(worlds(), st.integers(0, 2**32 - 1))
def test_the_noise_leads_back_to_the_person(world, seed):
    u = world.sample_noise(20, seed)
    x = world.predict(u)
    assert np.isfinite(x).all()
    np.testing.assert_allclose(world.abduct(x), u, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(world.predict(world.abduct(x)), x, rtol=1e-9, atol=1e-9)


@given(worlds(), st.integers(0, 2**32 - 1))
def test_who_does_nothing_stays_the_same_float_and_so_does_what_no_cause_moved(world, seed):
    rng = np.random.default_rng(seed)
    x = world.sample(20, rng)
    assert np.array_equal(world.consequences(x, np.full_like(x, NAN)), x)
    action = np.where(rng.random(x.shape) < 0.3, x + rng.normal(size=x.shape), NAN)
    after = world.consequences(x, action)
    acted = ~np.isnan(action)
    reached = (acted @ world.descendants.astype(int)) > 0
    assert np.array_equal(after[~(acted | reached)], x[~(acted | reached)])
    assert np.array_equal(after[acted], action[acted])
    # holding a value, or what an action led to, changes nothing
    np.testing.assert_allclose(world.consequences(x, after), after)
    np.testing.assert_allclose(world.predict(world.abduct(x), action), after, rtol=1e-6, atol=1e-6)


@given(worlds(), st.integers(0, 2**32 - 1))
def test_torch_agrees_with_numpy_and_has_the_right_gradient(world, seed):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    x = world.sample(4, rng)
    acted = rng.random((4, 3, world.d)) < 0.4
    value = np.where(acted, rng.normal(size=acted.shape), 0.0)
    value[:, 0] = x  # a search starts from the person: no value differs yet
    tensor = torch.tensor(value, requires_grad=True)
    got = world.consequences_torch(torch.tensor(x), tensor, torch.tensor(acted))
    expected = world.consequences(x, np.where(acted, value, NAN))
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-6, atol=1e-6)
    (gradient,) = torch.autograd.grad(got.sum(), tensor)
    assert torch.isfinite(gradient).all() and (gradient[torch.tensor(~acted)] == 0).all()


def test_the_gradient_flows_from_where_a_search_starts():
    torch = pytest.importorskip("torch")
    chain = linear_chain(2.0, 3.0, skip=1.0)
    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    value = x.clone().requires_grad_()
    after = chain.consequences_torch(x, value, torch.tensor([[True, False, False]]))
    assert torch.autograd.grad(after[0, 2], value)[0].tolist() == [[7, 0, 0]]


@given(worlds())
def test_descendants_and_order_agree_with_networkx(world):
    graph = world.graph
    assert networkx.is_directed_acyclic_graph(graph)
    for j, name in enumerate(world.names):
        below = {world.names[i] for i in np.flatnonzero(world.descendants[j])}
        assert below == networkx.descendants(graph, name)
    place = {name: i for i, name in enumerate(world.names[j] for j in world.order)}
    assert all(place[cause] < place[effect] for cause, effect in graph.edges)


# -- probability ----------------------------------------------------------------------------------


def test_a_linear_chain_is_a_multivariate_normal():
    chain = linear_chain(0.5, -2.0, skip=1.0, sd=(1.0, 0.5, 2.0))
    mix = np.array([[1, 0, 0], [0.5, 1, 0], [0.0, -2, 1]])  # x = mix @ u
    covariance = mix @ np.diag([1.0, 0.25, 4.0]) @ mix.T
    x = chain.sample(5000, 0)
    np.testing.assert_allclose(np.cov(x.T), covariance, atol=0.5)
    expected = stats.multivariate_normal([0, 0, 0], covariance).logpdf(x)
    np.testing.assert_allclose(chain.log_density(x), expected)


@pytest.mark.parametrize("equation", [e.format(f="0.3") for e in _OWN])
def test_every_invertible_step_carries_its_volume(equation):
    world = SCM({"x": equation}, {"x": "Normal(0.2, 0.7)"})

    def density(x):
        try:
            return math.exp(world.log_density(np.array([x])))
        except WorldError:  # outside of what the equation can give
            return 0.0

    u = stats.norm(0.2, 0.7)
    ends = sorted(world.predict(np.array([[u.ppf(p)] for p in (0.01, 0.99)]))[:, 0])
    mass = integrate.quad(density, *ends, epsabs=1e-8)[0]
    assert mass == pytest.approx(0.98, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("Normal(1, 2)", stats.norm(1, 2)),
        ("Gamma(10, 3.5)", stats.gamma(10, scale=3.5)),
        ("Exponential(2)", stats.expon(scale=2)),
        ("Laplace(-1, 0.5)", stats.laplace(-1, 0.5)),
        ("Uniform(-2, 3)", stats.uniform(-2, 5)),
    ],
)
def test_distributions_agree_with_scipy(text, peer):
    world = SCM({"x": "u"}, {"x": text})
    x = np.linspace(-4, 60, 301)
    got = world.log_density(x[:, None])
    np.testing.assert_allclose(np.exp(got), peer.pdf(x), atol=1e-12)
    draws = world.sample(4000, 1)[:, 0]
    assert stats.kstest(draws, peer.cdf).pvalue > 1e-3
    assert str(world.noise["x"]) == text


def test_discrete_distributions():
    world = SCM(
        {"g": "u", "c": "u", "k": "u"},
        {"g": "Bernoulli(0.25)", "c": "Categorical(0.2, 0.5, 0.3)", "k": "Constant(3)"},
    )
    x = world.sample(20_000, 0)
    assert x[:, 0].mean() == pytest.approx(0.25, abs=0.01) and (x[:, 2] == 3).all()
    np.testing.assert_allclose(np.bincount(x[:, 1].astype(int)) / 20_000, [0.2, 0.5, 0.3], atol=0.015)
    assert world.log_density([1, 2, 3]) == pytest.approx(math.log(0.25 * 0.3))
    assert world.log_density([[0.5, 2, 3], [1, 3, 3], [1, 2, 4]]).tolist() == [-np.inf] * 3


def test_no_distribution_no_sample():
    world = SCM({"a": "u", "b": "a + u"}, {"a": "Normal(0, 1)"})
    with pytest.raises(WorldError, match="noise of 'b' has no distribution"):
        world.sample(3, 0)
    with pytest.raises(WorldError, match="noise of 'b' has no distribution"):
        world.log_density([0, 0])
    with pytest.raises(WorldError, match="Independent does not offer 'sample'"):
        Independent().sample(3, 0)


# -- a schema -------------------------------------------------------------------------------------


def test_a_bound_world_follows_the_columns_by_name():
    schema = table(savings="real", hobby={"kind": "categorical", "levels": ("chess", "golf")}, salary="real")
    world = SCM({"salary": "u", "savings": "0.3 * salary + u"}).bind(schema)
    before = np.array([[25_000.0, 1, 75_000]])
    action = np.array([[[NAN, 0, 85_000], [NAN, NAN, NAN]]])
    np.testing.assert_allclose(
        world.consequences(before, action), [[[28_000, 0, 85_000], [25_000, 1, 75_000]]]
    )
    assert world.descendants.tolist() == [[False] * 3, [False] * 3, [True, False, False]]
    assert set(world.graph.nodes) == {"savings", "hobby", "salary"}
    u = world.abduct(before)
    np.testing.assert_allclose(u, [[2500, 1, 75_000]])
    np.testing.assert_allclose(world.predict(u), before)
    np.testing.assert_allclose(world.predict(u, action), world.consequences(before, action))
    with pytest.raises(WorldError, match="'hobby' is no node of the world"):
        world.sample(2, 0)


def test_a_node_that_the_schema_lacks_is_an_error():
    with pytest.raises(
        WorldError, match="has a node 'salry' that the schema does not have. Did you mean 'salary'"
    ):
        SCM({"salry": "u"}).bind(table(salary="real"))


def test_consequences_on_discrete_features_are_legal():
    schema = table(
        hours={"kind": "integer", "low": 0, "high": 40},
        seen={"kind": "integer", "low": 0, "high": 40, "bounds": "observed"},
        badge={"kind": "ordinal", "levels": ("none", "bronze", "gold")},
        member={"kind": "binary", "levels": ("no", "yes")},
        effort="real",
    )
    world = SCM(
        {
            "effort": "u",
            "hours": "10 * effort + u",
            "seen": "10 * effort + u",
            "badge": "effort + u",
            "member": "0.4 * badge + u",
        }
    ).bind(schema)
    before = np.array([12.0, 12, 1, 0, 1.0])
    for effort, expected in [
        (1.26, [15, 15, 1, 0]),
        (1.6, [18, 18, 2, 0]),
        (9, [40, 92, 2, 0]),
        (-9, [0, -88, 0, 0]),
    ]:
        after = world.consequences(before, [NAN, NAN, NAN, NAN, effort])
        np.testing.assert_allclose(after[:4], expected)
    # the effect follows the legal badge (gold, +1), not the number behind it (+8)
    assert world.consequences(before, [NAN, NAN, 2, NAN, NAN])[3] == 0
    torch = pytest.importorskip("torch")
    value = torch.tensor([0, 0, 0, 0, 1.26], dtype=torch.float64, requires_grad=True)
    acted = torch.tensor([False] * 4 + [True])
    after = world.consequences_torch(torch.tensor(before), value, acted)
    np.testing.assert_allclose(after.detach().numpy(), [15, 15, 1, 0, 1.26])
    assert torch.autograd.grad(after[0], value)[0][4].item() == pytest.approx(10)  # straight through


def test_levels_in_equations_are_written_by_value():
    schema = table(job={"kind": "categorical", "levels": ("clerk", "nurse", "pilot")}, pay="real")
    world = SCM({"job": "u", "pay": "2000 + 900 * (job == 'pilot') + 300 * (job in {'nurse', 'clerk'}) + u"})
    bound = world.bind(schema)
    after = bound.consequences([0, 2400], [[2, NAN], [1, NAN], [0, NAN]])
    np.testing.assert_allclose(after[:, 1], [3000, 2400, 2400])
    with pytest.raises(WorldError, match="must know the levels. Call world.bind"):
        world.consequences([0, 2400], [2, NAN])
    with pytest.raises(
        WorldError, match="compares 'job' with 'pilt', which is none of its levels. Did you mean 'pilot'"
    ):
        SCM({"job": "u", "pay": "(job == 'pilt') + u"}).bind(schema)
    with pytest.raises(WorldError, match="'pay' is a number. Compare it with a number"):
        SCM({"pay": "u", "job": "u * (1 + (pay == 'x'))"}).bind(schema)
    with pytest.raises(WorldError, match="'job' is categorical and has causes"):
        SCM({"pay": "u", "job": "pay + u"}).bind(schema)


def test_a_name_with_spaces_stands_in_backticks():
    schema = Schema((Feature(name="hours per week", kind="real"), Feature(name="pay", kind="real")))
    world = SCM({"hours per week": "u", "pay": "12 * `hours per week` + u"}).bind(schema)
    np.testing.assert_allclose(world.consequences([40, 500], [50, NAN]), [50, 620])
    linear = SCM.linear({"pay": {"hours per week": 12}}).bind(schema)
    np.testing.assert_allclose(linear.consequences([40, 500], [50, NAN]), [50, 620])


# -- people who cannot be ---------------------------------------------------------------------------


def test_of_an_impossible_person_nobody_knows_what_follows_and_only_where_it_matters():
    world = SCM({"a": "u", "share": "sigmoid(a + u)", "c": "u"})
    people = np.array([[0.0, 0.4, 1.0], [0.0, 1.7, 1.0]])
    assert world.consequences(people, [NAN, NAN, 2.0])[:, 1].tolist() == [0.4, 1.7]
    np.testing.assert_array_equal(world.consequences(people, [1.0, NAN, NAN])[1], [1.0, NAN, 1.0])
    np.testing.assert_array_equal(world.abduct(people)[1], [0.0, NAN, 1.0])
    assert world.consequences(people, [1.0, NAN, NAN])[0, 1] == pytest.approx(1 / (1 + np.exp(-1) * 1.5))
    schema = Schema(
        tuple(Feature(name=name, kind="real") for name in "ac") + (Feature(name="share", kind="real"),)
    )
    bound, x = world.bind(schema), people[:, [0, 2, 1]]
    found = bound.impossible(x, np.ones(3, dtype=bool))
    assert list(found) == [1] and found[1][0] == 2
    assert "'share' is 1.7, and its equation \"sigmoid(a + u)\" tells no noise" in found[1][1]
    assert bound.impossible(x, np.array([True, True, False])) == {}
    # who acts on the share sets it, whatever it was
    action = np.array([[1.0, NAN, NAN], [1.0, 0.5, NAN]])
    assert world.consequences(people, action)[1].tolist() == [1.0, 0.5, 1.0]
    torch = pytest.importorskip("torch")
    value = torch.tensor(np.nan_to_num(action), requires_grad=True)
    after = world.consequences_torch(torch.tensor(people), value, torch.tensor(~np.isnan(action)))
    np.testing.assert_allclose(after.detach().numpy(), world.consequences(people, action))
    assert torch.isfinite(torch.autograd.grad(after.sum(), value)[0]).all()


def test_a_missing_value_makes_only_its_effects_unknown():
    world = SCM({"a": "u", "b": "a + u", "c": "u"})
    after = world.consequences([NAN, 2.0, 3.0], [[1.0, NAN, NAN], [NAN, NAN, 9.0]])
    np.testing.assert_array_equal(after, [[1, NAN, 3], [NAN, 2, 9]])


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        ({}, "An SCM needs equations"),
        ({"a": "b + u", "b": "c + u", "c": "a + u"}, "form a cycle: a -> c -> b -> a"),
        ({"a": "0.5 * a + u"}, "form a cycle: a -> a"),
        ({"a": "salary + u"}, "'salary' has no equation.* Every cause needs one"),
        ({"salary": "u", "a": "salry + u"}, "'salry' has no equation. Did you mean 'salary'"),
        ({"a b": "u", "c": "a b + u"}, "needs backticks: `a b`"),
        ({"a": "3"}, "holds the noise u 0 times.*Add '\\+ u'"),
        ({"a": "u + 0.1 * u"}, "holds the noise u 2 times.*one place"),
        ({"a": "max(u, 0)"}, r"inside max\(\.\.\.\), so it cannot be recovered"),
        ({"a": "abs(1 + u)"}, r"inside abs\(\.\.\.\)"),
        ({"a": "u", "b": "1 + (u > a)"}, "inside a condition"),
        ({"a": "0 * u"}, "inside a product with 0"),
        ({"a": "u +"}, "The equation of 'a' cannot be read. The text ends"),
        ({"a": "exq(u)"}, "There is no function 'exq'. Did you mean 'exp'"),
        ({"a": "u + 'high'"}, "A level cannot be added"),
        ({"a": "u + ('high' == 'low')"}, "can only be compared with a node"),
        ({"u": "u"}, "cannot be called 'u'"),
        ({"a": 3}, "A rule is a text, not int"),
    ],
)  # fmt: skip
def test_equations_that_make_no_world(equations, message):
    with pytest.raises(WorldError, match=message):
        SCM(equations)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ({"b": "Normal(0, 1)"}, "noise for 'b', which has no equation"),
        ({"a": "Norml(0, 1)"}, "no distribution 'Norml'. Did you mean 'Normal'"),
        ({"a": "Normal(0, 1, 2)"}, "Normal takes mean, sd"),
        ({"a": "Normal(0, -1)"}, r"Normal\(0, -1\) is no distribution: the standard deviation"),
        ({"a": "Normal(zero)"}, "'zero' is no number"),
        ({"a": "Normal"}, "cannot be read"),
        ({"a": "Categorical(0.5, 0.6)"}, "must add up to 1"),
        ({"a": 3}, "is 3, which is no distribution"),
    ],
)
def test_noise_that_is_no_distribution(noise, message):
    with pytest.raises(WorldError, match=message):
        SCM({"a": "u"}, noise)


def test_shapes_that_do_not_fit():
    world = SCM({"a": "u", "b": "a + u"})
    with pytest.raises(WorldError, match=r"action has shape \(3,\), but its last axis must hold 2"):
        world.consequences([1, 2], [1, 2, 3])
    with pytest.raises(WorldError, match="do not belong to the same people"):
        world.consequences(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(WorldError, match="not bound to a schema"):
        _ = Independent().descendants


# -- files ------------------------------------------------------------------------------------------


def test_yaml_both_ways(tmp_path):
    world = SCM(
        {"hours-per-week": "u", "pay": "12 * `hours-per-week` + u"},
        {"hours-per-week": "Normal(40, 5)", "pay": "Gamma(2, 3)"},
        soft=["pay"],
    )
    text = world.to_yaml(tmp_path / "world.yaml")
    for again in (
        SCM.from_yaml(text),
        SCM.from_yaml(tmp_path / "world.yaml"),
        SCM.from_yaml(str(tmp_path / "world.yaml")),
    ):
        assert again.to_yaml() == text and again.soft == {"pay"} and again.noise == world.noise
        assert np.array_equal(again.sample(5, 3), world.sample(5, 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just text\n", "has no 'equations:'"),
        ("equations: [a, b]\n", "has no 'equations:'"),
        ("equations:\n  a: [u]\n", "entry 'a' that is no text"),
        ("equations:\n  a: u\nnoize: {}\n", "unknown key 'noize'"),
        ("equations:\n  a: u\nnoise: [1]\n", "'noise' must have one line"),
        ("equations:\n  a: u\nsoft: 3\n", "'soft' must be true, false or a list"),
        ("equations: {a: u\n", "no valid YAML"),
        ("equations: !!python/object/apply:os.system ['true']\n", "no valid YAML"),
        ("equations:\n  a: &a [*a]\n", "alias in line 2"),
        ("[" * 5000 + "\n", "no valid YAML"),
        ("#" * 1_000_001 + "\n", "at most 1000000 are read"),
    ],
)
def test_broken_and_hostile_files_are_refused(text, message):
    with pytest.raises(FileFormatError, match=message):
        SCM.from_yaml(text)


def test_a_file_that_is_not_there():
    with pytest.raises(FileFormatError, match="'nowhere.yaml' cannot be read"):
        SCM.from_yaml("nowhere.yaml")
