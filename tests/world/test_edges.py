"""Equations at their edges: the logarithm of nothing, a division by nothing, noise that nobody can have.

An act that leads to no finite number is no option, a person whose own noise cannot be worked out is not asked about,
and neither stops anybody else.
"""

from __future__ import annotations

import math
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate.row_world import consequences as row_by_row
from wayforward.problem.proofs import out_of_reach
from wayforward.recourse import Outcome
from wayforward.schema import SchemaWarning
from wayforward.world import SCM, SubPopulation
from wayforward.world.base import World

NAN = np.nan
SAVING = wf.Schema(
    (
        wf.Feature(name="income", kind="integer", low=-1, high=10),
        wf.Feature(name="savings", kind="integer", low=0, high=50, actionability="mutable"),
    )
)
EDGES = ("income * u", "log(income) + u", "-2 / income + u", "u / income", "income / u", "-logit(income) + u")


def asking(equation: str, schema: wf.Schema = SAVING, least: float = 40, **parts: object) -> wf.Problem:
    """A yes for whoever has so much, which `savings` must follow from an income for."""
    model = wf.wrap(lambda x: (x[:, -1] >= least).astype(float), schema, output="label", classes=(0, 1))
    world = SCM({"income": "u", schema.names[-1]: equation})
    return wf.Problem(schema, model, wf.Target(favourable=1), world=world, **parts)


def quietly(*arguments: object, **more: object) -> wf.Recourse:
    """`recommend`, with a warning about those who cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)
        return wf.recommend(*arguments, **more)


# -- people who cannot be ----------------------------------------------------------------------------------


@pytest.mark.parametrize("equation", EDGES)
def test_noise_that_nobody_can_have_leads_nowhere_and_is_told(equation):
    problem = asking(equation)
    edge = 1.0 if "logit" in equation else 0.0
    x = np.array([[edge, 2.0]])
    assert np.isnan(problem.world.consequences(x, [[5.0, NAN]])[0, 1])
    with pytest.warns(SchemaWarning, match=r"Row 0: 'savings' is 2, and its equation .* tells no noise"):
        got = wf.recommend(problem, x, certify=True)
    assert got.outcome[0, 0] is Outcome.NOT_ASKED and not np.isfinite(got.after).any()
    assert "check your savings" in got.explain(0)
    with pytest.raises(DataError, match="Row 0 of the people table: 'savings' is 2"):
        wf.recommend(problem, x, strict=True)
    assert not problem.check(x, np.array([[[5.0, NAN]]])).found.any()


@pytest.mark.parametrize("equation", ["log(income) + u", "income * u", "sqrt(income) + u"])
@pytest.mark.parametrize("odd", [0.0, -1.0])
def test_one_person_whom_an_equation_cannot_give_stops_nobody(equation, odd):
    schema = wf.Schema(
        (
            wf.Feature(name="income", kind="real", low=-5, high=10, step=1),
            wf.Feature(name="s", kind="real", actionability="mutable"),
        )
    )
    problem = asking(equation, schema, least=2.5)
    x = np.array([[3.0, 2.0], [odd, 2.0]])
    alone, both = quietly(problem, x[:1]), quietly(problem, x)
    assert alone.outcome[0, 0] is Outcome.FOUND
    np.testing.assert_array_equal(both.after[0], alone.after[0])
    cannot = equation == "log(income) + u" or (odd, equation) in (
        (0.0, "income * u"),
        (-1.0, "sqrt(income) + u"),
    )
    assert (both.outcome[1, 0] is Outcome.NOT_ASKED) == cannot == bool(both.reasons[1])
    assert np.isfinite(both.after[both.found]).all()


def test_only_who_may_need_their_noise_is_left_out():
    """An income that nobody can act on moves nothing, so that nobody's noise counts."""
    schema = SAVING.revise(income={"actionability": "immutable"}, savings={"actionability": "actionable"})
    got = wf.recommend(asking("log(income) + u", schema), np.array([[0.0, 2.0]]))
    assert got.after[0, 0].tolist() == [0.0, 40.0]


def test_audits_and_societies_go_on_without_them():
    from wayforward.groups import Groups
    from wayforward.impact.audit import audit
    from wayforward.impact.society import Scenario, Setting, simulate

    problem = asking("income * u", least=20)
    x = np.array([[0.0, 2.0], *([float(i), float(j)] for i in (2, 3) for j in range(2, 12))])
    groups = Groups("half", ("one", "other"), np.arange(len(x)) % 2)
    found = audit(problem, x, [groups], "local-search", smallest=2)
    assert found.unread.count == 1 and found.unread.columns == {"savings": 1} and found.n == len(x) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)
        story = simulate(Scenario(rounds=3), Setting(problem, x, groups))
    assert story.rounds == 3 and np.isfinite(story.society.x).all()
    assert story.society.x[0].tolist() == [0.0, 2.0]  # without advice they stay where they are


# -- acts that lead nowhere --------------------------------------------------------------------------------


def test_what_is_not_known_is_no_option_where_a_value_may_be_missing():
    schema = SAVING.revise(savings={"missing": True})
    x, act = np.array([[3.0, 2.0]]), np.array([[[0.0, NAN], [9.0, NAN]]])
    model = wf.wrap(lambda x: (~(x[:, 1] <= 2)).astype(float), schema, output="label", classes=(0, 1))
    taken = wf.Problem(
        schema, model, wf.Target(favourable=1), world=SCM({"income": "u", "savings": "log(income) + u"})
    )
    assert np.isnan(taken.consequences(x, act[:, 0]))[0].tolist() == [False, True]
    got = taken.check(x, act, k=2)  # the model says yes to whose savings are not known
    assert got.found[0].tolist() == [True, False] and got.action[0, 0, 0] == 9
    there = np.array([[[0.0, 2.0]]])
    assert wf.evaluate.evaluate_rows(x, there, taken, action=act[:, :1], replay=True).usable == 0


class Beyond(World):
    """A stranger's world, whose consequences are infinite from 5 on."""

    def bind(self, schema):
        """The same over any schema."""
        self.schema = schema
        return self

    def consequences(self, before, action):
        """The second feature follows the first."""
        before, action = np.broadcast_arrays(before, action)
        after = np.where(np.isnan(action), before, action)
        after[..., 1] = np.where(after[..., 0] >= 5, np.inf, before[..., 1] + after[..., 0] - before[..., 0])
        return after

    def consequences_torch(self, before, value, acted):
        """Nothing here asks for it."""
        raise NotImplementedError

    @property
    def descendants(self):
        """The first moves the second."""
        return np.array([[False, True], [False, False]])


def test_an_infinite_consequence_of_a_strangers_world_is_no_option():
    schema = SAVING.revise(savings={"kind": "real", "low": None, "high": None})
    model = wf.wrap(lambda x: (x[:, 1] >= 7).astype(float), schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), world=Beyond())
    got = wf.recommend(problem, np.array([[3.0, 2.0], [3.0, 6.0]]))
    assert (
        got.outcome[:, 0].tolist() == [Outcome.NOT_FOUND, Outcome.FOUND]
        or got.outcome[0, 0] is Outcome.NONE_EXISTS
    )
    assert got.after[1, 0].tolist() == [4.0, 7.0]


WORLD = SCM(
    {
        "a": "u",
        "b": "log(a) + u",
        "c": "b * u",
        "d": "sqrt(c + 0.3) / a + u",
        "e": "max(a, -1) + u",
        "f": "u / a",
    },
    dict.fromkeys("abcdef", "Normal(0, 1)"),
)


@pytest.mark.parametrize("soft", [False, ["b", "d"]])
def test_arrays_tensors_bounds_and_rows_agree_at_the_edges(soft):
    world = WORLD.softly(soft)
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=-9, high=9) for name in "abcdef"))
    rng, bound = np.random.default_rng(0), world.bind(schema)
    x = np.round(rng.uniform(-2, 3, (400, 6)))
    action = np.where(rng.random(x.shape) < 0.3, np.round(rng.uniform(-2, 3, x.shape)), NAN)
    after = bound.consequences(x, action)
    assert np.isnan(after).any() and not np.isinf(after).any() and np.isfinite(after).all(1).any()
    np.testing.assert_array_equal(after[7:9], bound.consequences(x[7:9], action[7:9]))
    low, high = np.nan_to_num(action), np.nan_to_num(action)
    least, most = bound.consequence_bounds(x, low, high, ~np.isnan(action), np.isnan(action))
    inside = np.isnan(after) | np.isnan(least) | ((after >= least - 1e-12) & (after <= most + 1e-12))
    assert inside.all()
    model = wf.wrap(lambda x: (x[:, 0] > 0).astype(float), schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), world=world)
    np.testing.assert_allclose(row_by_row(problem, x, action), after, rtol=1e-12)
    torch = pytest.importorskip("torch")
    value = torch.tensor(np.nan_to_num(action), requires_grad=True)
    led = bound.consequences_torch(torch.tensor(x), value, torch.tensor(~np.isnan(action)))
    np.testing.assert_allclose(led.detach().numpy(), after, rtol=1e-12)
    slope = torch.autograd.grad(led[torch.isfinite(led)].sum(), value)[0]
    assert torch.isfinite(slope).all() and (slope != 0).any()
    u = torch.tensor(np.nan_to_num(bound.abduct(x)), requires_grad=True)
    led, density = bound.lead_torch(torch.tensor(x), u, np.ones(6, dtype=bool))
    np.testing.assert_allclose(led.detach().numpy(), bound.predict(u.detach().numpy()), rtol=1e-12)
    whole = torch.isfinite(led).all(1)
    assert (density[~whole] == -np.inf).all() and torch.isfinite(density[whole]).any()
    total = led[torch.isfinite(led)].sum() + density[torch.isfinite(density)].sum()
    assert torch.isfinite(torch.autograd.grad(total, u)[0]).all()


def test_a_density_says_that_nobody_is_so():
    x = np.array([[1.0, 2, 2, 3, 1, 1], [0.0, 2, 2, 3, 1, 1], [-1.0, 2, 2, 3, 1, 1]])
    assert np.isfinite(WORLD.log_density(x)).tolist() == [True, False, False]
    assert (WORLD.log_density(x)[1:] == -np.inf).all()
    torch = pytest.importorskip("torch")
    at = torch.tensor(x, requires_grad=True)
    density = WORLD.log_density_torch(at)
    np.testing.assert_allclose(density.detach().numpy(), WORLD.log_density(x))
    assert torch.isfinite(torch.autograd.grad(density[0], at)[0]).all()


def test_people_like_this_person_need_no_noise_of_their_own():
    """Whose own noise cannot be worked out has what follows for people like them; and others are not harmed."""
    world = SCM({"a": "u", "b": "log(a) + u", "c": "b + u"}, dict.fromkeys("abc", "Normal(0, 1)"))
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real") for name in "abc"))
    inside = SubPopulation(world).bind(schema)
    before = np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 2.0]])
    after = inside.consequences(before, np.array([[1.0, NAN, NAN], [1.0, NAN, NAN]]))
    np.testing.assert_allclose(after, [[1, 0, 0], [1, 0, 0]], atol=1e-12)
    held = inside.consequences(before[:1], np.array([[NAN, 3.0, NAN]]))
    np.testing.assert_allclose(held, [[0, 3, 3]], atol=1e-12)
    assert np.isnan(inside.consequences(before, np.array([[0.0, NAN, NAN]] * 2))[1, 1:]).all()
    torch = pytest.importorskip("torch")
    value, acted = torch.tensor([[NAN, 3.0, NAN]]), torch.tensor([[False, True, False]])
    led = inside.consequences_torch(torch.tensor(before[:1]), torch.nan_to_num(value).double(), acted)
    np.testing.assert_allclose(led, held, atol=1e-12)


@pytest.mark.parametrize("name", ["wachter", "local-search", "causal-oracle", "mint", "icarma"])
def test_methods_go_round_the_edge(name):
    """An income of 0, beside which most people stand, leads nowhere; acts in both directions are tried."""
    pytest.importorskip("torch")
    schema = wf.Schema(
        (
            wf.Feature(name="income", kind="real", low=0, high=10),
            wf.Feature(name="s", kind="real", low=-20, high=20, actionability="mutable"),
        )
    )
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(0, 2, 60), rng.uniform(-2, 2, 60)])
    x[::9, 0] = 0.0
    y = (x[:, 0] + x[:, 1] > 1.5).astype(int)
    model = wf.model.train("lr", schema, x, y)
    world = SCM({"income": "u", "s": "log(income) + u"}, {"income": "Uniform(0, 2)", "s": "Normal(0, 1)"})
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=x, world=world)
    if name == "mint":
        pytest.importorskip("z3")
    quick = {"icarma": {"epochs": 5}}.get(name, {})
    got = quietly(problem, x, wf.method(name, **quick))
    at_edge = x[:, 0] == 0
    assert {outcome.name for outcome in got.outcome[at_edge, 0]} == {"NOT_ASKED"}
    assert np.isfinite(got.after[got.found]).all()
    assert got.found.any() or name == "mint"


# -- against Python's own arithmetic -----------------------------------------------------------------------


def _safe(work, *numbers):
    try:
        value = work(*numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _logit(p):
    return math.log(p / (1 - p))


def _floored(a):
    return -2.0 if a == 0 else max(math.log(a), -2)  # the logarithm of 0 is below every floor


FORMS = [  # text, (cause, noise) -> effect, (cause, effect) -> noise
    ("log({0}) + u", lambda a, u: math.log(a) + u, lambda a, b: b - math.log(a)),
    ("u - log({0})", lambda a, u: u - math.log(a), lambda a, b: b + math.log(a)),
    ("sqrt({0}) + u", lambda a, u: math.sqrt(a) + u, lambda a, b: b - math.sqrt(a)),
    ("{0} * u", lambda a, u: a * u, lambda a, b: b / a),
    ("3 / {0} + u", lambda a, u: 3 / a + u, lambda a, b: b - 3 / a),
    ("-3 / ({0} - 2) + u", lambda a, u: -3 / (a - 2) + u, lambda a, b: b + 3 / (a - 2)),
    ("logit({0} / 3) + u", lambda a, u: _logit(a / 3) + u, lambda a, b: b - _logit(a / 3)),
    ("u - 4 * logit({0} / 3)", lambda a, u: u - 4 * _logit(a / 3), lambda a, b: b + 4 * _logit(a / 3)),
    ("max(log({0} + 1), -2) + u", lambda a, u: _floored(a + 1) + u, lambda a, b: b - _floored(a + 1)),
    ("{0} + exp(u)", lambda a, u: a + math.exp(u), lambda a, b: math.log(b - a)),
]  # fmt: skip


@st.composite
def questions(draw):
    """A chain a -> b -> c of forms with edges, kinds of the effects, people, and how much is a yes."""
    forms = [draw(st.sampled_from(FORMS)) for _ in "bc"]
    kinds = [draw(st.sampled_from(["integer", "real", "open"])) for _ in "bc"]
    people = draw(st.lists(st.tuples(*[st.integers(-1, 4)] * 3), min_size=1, max_size=4))
    return forms, kinds, np.array(people, dtype=float), draw(st.sampled_from([1.5, 4.5, 7.5]))


@given(questions())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_told_is_what_python_works_out(question):
    forms, kinds, x, least = question
    features = [wf.Feature(name="a", kind="integer", low=-1, high=4)]
    for name, kind in zip("bc", kinds, strict=True):
        ends = {} if kind == "open" else {"low": -9, "high": 9}
        features.append(
            wf.Feature(name=name, kind="real" if kind == "open" else kind, actionability="mutable", **ends)
        )
    schema = wf.Schema(tuple(features))
    texts = {"a": "u", "b": forms[0][0].format("a"), "c": forms[1][0].format("b")}

    def decide(rows):
        assert np.isfinite(rows).all()  # a model sees nothing else
        return (rows[:, 1] + rows[:, 2] >= least).astype(float)

    model = wf.wrap(decide, schema, output="label", classes=(0, 1))
    problem = wf.Problem(schema, model, wf.Target(favourable=1), world=SCM(texts))
    got = quietly(problem, x)
    for i, (a, *own) in enumerate(x.tolist()):
        noise = []
        for (_, forward, back), cause, effect in zip(forms, (a, own[0]), own, strict=True):
            u = _safe(back, cause, effect)
            noise.append(None if u is None or _safe(forward, cause, u) is None else u)
        if None in noise:
            assert got.outcome[i, 0] is Outcome.NOT_ASKED and got.reasons[i]
            continue
        if sum(own) >= least:
            assert got.outcome[i, 0] is Outcome.ACCEPTED
            continue
        ways, close = {}, False
        for act in range(-1, 5):
            row, moved = [float(act)], act != a
            for (_, forward, _), kind, was, u in zip(forms, kinds, own, noise, strict=True):
                value = _safe(forward, row[-1], u) if moved else was
                if value is None:
                    break
                if kind == "integer":
                    close |= abs(value % 1 - 0.5) < 1e-9
                    value = min(max(float(round(value)), -9.0), 9.0)
                elif kind == "real" and not -9 <= value <= 9:
                    close |= abs(abs(value) - 9) < 1e-6
                    break
                row.append(value)
                moved = value != was
            else:
                close |= abs(row[1] + row[2] - least) < 1e-9
                if act != a and row[1] + row[2] >= least:
                    ways[abs(act - a)] = row
        if close:  # rounding decides
            continue
        if not ways:
            assert got.outcome[i, 0] in (Outcome.NONE_EXISTS, Outcome.NOT_FOUND)
            continue
        assert got.outcome[i, 0] is Outcome.FOUND
        best = got.after[i, 0].tolist()
        assert abs(best[0] - a) == min(ways)
        assert any(np.allclose(best, way) for way in ways.values()) or best[0] != ways[min(ways)][0]
        assert not out_of_reach(problem.population(x[i : i + 1])).any()
