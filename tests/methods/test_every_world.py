"""Every method works in every kind of world, and worlds answer a whole batch as they answer one person.

A small credit world with a binary cause and a whole-numbered effect; the fitted worlds learn it from a table.
A method or a world that is registered later is tested here without a new line.
"""

from __future__ import annotations

from functools import lru_cache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from wayforward.errors import MissingExtra, WorldError
from wayforward.groups import Groups
from wayforward.methods import method as make_method
from wayforward.methods import names
from wayforward.model import train
from wayforward.preferences import Preferences
from wayforward.problem import Confidence, Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.world import SCM, CausalGraph, LinearWorld, SubPopulation

NAN = np.nan
SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="course", kind="binary", levels=("no", "yes"), direction="increase"),
        Feature(name="income", kind="real", low=0, high=120, direction="increase"),
        Feature(name="savings", kind="integer", low=0, high=200),
        Feature(name="debt", kind="real", low=0, high=100),
        Feature(name="rating", kind="real", low=0, high=100, actionability="mutable"),
    ),
    ("after.savings <= 4 * after.income + 20",),
)
TRUE = SCM(
    {
        "age": "u",
        "course": "u",
        "income": "10 + 0.4 * age + 6 * course + u",
        "savings": "0.8 * income + u",
        "debt": "30 - 0.2 * savings + u",
        "rating": "40 + 0.3 * income - 0.4 * debt + u",
    },
    {
        "age": "Uniform(25, 65)",
        "course": "Bernoulli(0.4)",
        "income": "Normal(0, 6)",
        "savings": "Normal(0, 6)",
        "debt": "Normal(0, 4)",
        "rating": "Normal(0, 5)",
    },
)
GRAPH = CausalGraph.read(TRUE)
PEOPLE = 5
QUICK = {  # parameters that make the tests quick
    "mc-brp": {"draws": 80},
    "hcls": {"rounds": 6, "exchanges": 1},
    "cfrl": {"epochs": 5, "steps": 15, "people": 100, "width": 16, "batch": 32},
    "mahajan": {"epochs": 5, "tuning": 2, "people": 100, "batch": 32},
    "plausible-counterfactuals": {"epochs": 5, "population": 8, "generations": 4, "front": 10},
    "clear": {"grid": 10},
    "lore": {"samples": 60, "generations": 1, "depth": 4},
    "local-foil-trees": {"samples": 60, "depth": 4},
    "abele": {"samples": 60, "generations": 1, "depth": 4, "epochs": 4},
    "geco": {"seeds": 6, "keep": 20, "mutants": 20, "crosses": 20, "rounds": 4},
    "moc": {"population": 10, "generations": 8, "front": 10},
    "certifai": {"population": 20, "generations": 6},
    "permute-attack": {"population": 16, "generations": 8, "runs": 2, "patience": 2},
    "asp": {"values": 6, "most": 2},
    "ordce": {"base": "nearest-observable"},
    "dace": {"prototypes": 3, "values": 6, "solves": 2, "changes": 2, "nodes": 50},
    "fare": {"learners": 8, "rounds": 1, "simulations": 6, "most": 3, "beam": 16},
    "efare": {"learners": 8, "rounds": 1, "simulations": 6, "most": 3, "beam": 16},
    "focus": {"steps": 15, "rate": 0.1},
    "wachter": {"rounds": 3, "steps": 10, "rate": 0.2},
    "dice": {"steps": 20, "rate": 0.1},
    "dece": {"steps": 20, "rate": 0.1},
    "lowprofool": {"rounds": 2, "steps": 8, "rate": 0.2},
    "carma": {"seeds": (1,), "epochs": 15, "mask_width": 8, "action_width": 16, "margin": 0.3},
    "icarma": {"seeds": (1,), "epochs": 15, "mask_width": 8, "action_width": 16, "margin": 0.3},
    "causal-oracle": {"bins": 6},
    "probabilistic": {"samples": 16, "beam": 2, "refine": 1},
    "cem": {"constants": 2, "steps": 6},
    "macem": {"constants": 2, "steps": 6},
    "emap": {"epochs": 2, "width": 8, "most": 60},
    "frace": {"epochs": 2, "width": 8, "most": 60},
    "guided-prototypes": {"constants": 2, "steps": 6},
    "revise": {"epochs": 10, "steps": 8, "rounds": 2},
    "clue": {"epochs": 10, "steps": 8, "rounds": 2},
    "cruds": {"epochs": 10},
    "c-chvae": {"epochs": 10},
    "ebr": {"proposals": 96, "rounds": 6},
    "ibr": {"epochs": 10},
    "roar": {"rounds": 3, "steps": 8},
    "probe": {"rounds": 3, "steps": 8, "draws": 10},
    "rbr": {"samples": 60, "steps": 8},
    "mace": {"work": 50_000, "precision": 0.05},
    "mint": {"work": 50_000, "precision": 0.05},
    "lime-c": {"samples": 40},
    "shap-c": {"samples": 40},
    "shap-counterfactuals": {"reference": "prototype"},
    "trex": {"draws": 20, "neighbours": 3, "steps": 5, "pool": 300},
}
OF_TREES = (  # ask for a model that shows its trees
    "feature-tweaking",
    "lire",
    "gradient-boosted-counterfactuals",
    "ocean",
    "focus",
    "oae",
)
BUDGET = {
    "local-search": 600,
    "growing-spheres": 1000,
    "wachter": 250,
    "dice": 300,
    "dece": 600,
    "lowprofool": 300,
}  # model rows a person
WORLDS = ("scm", "soft", "linear", "soft linear", "flow", "gp", "sub-population")


@lru_cache
def people(n, seed):
    x = TRUE.bind(SCHEMA).sample(n, seed)
    x = np.clip(x, SCHEMA.low, SCHEMA.high)
    x[:, 3] = np.minimum(x[:, 3], np.floor(4 * x[:, 2] + 20))
    return x


@lru_cache
def world(kind):
    """A world of this kind, bound to the schema; the fitted ones learn from 300 people."""
    table = people(300, 0)
    if kind in ("scm", "soft"):
        return SCM(
            {e.name: str(e) for e in TRUE.equations},
            TRUE.noise,
            soft=["savings", "debt"] if kind == "soft" else False,
        ).bind(SCHEMA)
    if kind in ("linear", "soft linear"):
        return LinearWorld.fit(GRAPH, table, SCHEMA, soft=kind == "soft linear")
    if kind == "sub-population":
        return SubPopulation(TRUE).bind(SCHEMA)
    try:
        if kind == "flow":
            from wayforward.world import CausalFlow

            return CausalFlow.fit(GRAPH, table, SCHEMA, hidden=(8,), epochs=40, rate=0.02)
        from wayforward.world import GaussianProcessWorld

        return GaussianProcessWorld.fit(GRAPH, table, SCHEMA, most=40, tune=40)
    except MissingExtra as missing:
        pytest.skip(str(missing))


@lru_cache
def model(kind="lr"):
    x = people(300, 1)
    score = x @ np.array([0.0, 0.0, 0.05, 0.03, -0.05, 0.04])
    return train(kind, SCHEMA, x, (score > np.quantile(score, 0.6)).astype(int), seed=0)


@lru_cache
def problem(kind, of="lr"):
    confidence = {"confidence": Confidence(share=0.6, draws=20)} if world(kind).uncertain else {}
    return Problem(
        SCHEMA, model(of), Target(favourable=1), data=people(300, 1), world=world(kind), **confidence
    )


def wishes(x):
    """From the fifth on nobody changes debt, two have a limit on income, one changes one thing only."""
    asked = Preferences.none(SCHEMA, len(x)).freeze("debt", who=list(range(4, len(x))))
    asked = asked.limit("income", high="+20%", x=x, who=[0, 1])
    return asked.at_most(1, who=[2])


def between(name):
    """Balance is between groups: younger and older people of the problem's table."""
    if name not in ("ebr", "ibr"):
        return {}
    return {
        "groups": Groups.of("age group", people(300, 1)[:, 0], cut=[45]),
        "beta": 0.05 if name == "ebr" else 10.0,
    }


@pytest.mark.parametrize("kind", [kind for kind in WORLDS if kind != "soft linear"])
@pytest.mark.parametrize("name", names())
def test_every_method_in_every_world(name, kind):
    asked = problem(kind, "rf" if name in OF_TREES else "lr")
    x = people(60, 2)
    x = x[~asked.reached(x)[0]][:PEOPLE]
    limits = wishes(x)
    try:
        fitted = make_method(name, **QUICK.get(name, {}), **between(name)).fit(asked)
        got = fitted.recommend(x, 2, preferences=limits, seed=3, budget=BUDGET.get(name))
    except MissingExtra as missing:
        pytest.skip(str(missing))
    who, slot = np.nonzero(got.found)
    before, action, after = x[who], got.action[who, slot], got.after[who, slot]
    assert len(who), f"{name} found nothing in the {kind} world"
    # the model itself says yes, on the exact row
    assert asked.reached(after)[0].all()
    assert (asked.model.predict(after) == 1).all() if hasattr(asked.model, "predict") else True
    # what follows is what the world says
    assert not SCHEMA.differs(asked.consequences(before, action), after).any()
    # what nobody acted on and no act moves is the same float
    acted = ~np.isnan(action)
    moved = (acted[:, :, None] & world(kind).descendants).any(1) | acted
    np.testing.assert_array_equal(after[~moved], before[~moved])
    # limits, rules, actionability, legal values
    assert not acted[:, ~SCHEMA.actionable].any() and not acted[who >= 4, 4].any()
    assert (action[:, 2] <= before[:, 2] * 1.2 + 1e-9)[acted[:, 2] & (who < 2)].all()
    assert ((acted & SCHEMA.differs(action, before))[who == 2].sum(1) <= 1).all()  # holding is no change
    assert SCHEMA.compiled_rules.satisfied(before, after).all()
    assert (after[:, SCHEMA.integral] == np.rint(after[:, SCHEMA.integral])).all()
    assert ((after >= SCHEMA.low - 1e-9) & (after <= SCHEMA.high + 1e-9)).all()


@pytest.mark.parametrize("kind", WORLDS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**31), n=st.integers(1, 5), k=st.integers(1, 3), share=st.floats(0.1, 0.9))
def test_a_batch_is_answered_as_each_person_alone(kind, seed, n, k, share):
    """Different interventions for each person and option, one by one and all at once."""
    rng = np.random.default_rng(seed)
    x, to = people(300, 3)[rng.integers(0, 300, n)], people(300, 4)[rng.integers(0, 300, (n, k))]
    action = np.where(rng.random(to.shape) < share, to, NAN)
    after = world(kind).consequences(x, action)
    assert after.shape == action.shape
    one = np.array([[world(kind).consequences(x[i], action[i, o]) for o in range(k)] for i in range(n)])
    np.testing.assert_array_equal(after, one)
    acted = ~np.isnan(action)
    moved = (acted[..., None] & world(kind).descendants).any(-2) | acted
    np.testing.assert_array_equal(after[~moved], np.broadcast_to(x[:, None], after.shape)[~moved])
    if "soft" not in kind:
        np.testing.assert_array_equal(after[acted], action[acted])


@pytest.mark.parametrize("kind", WORLDS)
def test_gradients_of_every_world_are_finite(kind):
    """What learning methods take the gradient of: people from moved noise, acts among them, and their density."""
    torch = pytest.importorskip("torch")
    it, x = world(kind), people(40, 5)
    rng = np.random.default_rng(0)
    acted = torch.tensor((rng.random(x.shape) < 0.3) & SCHEMA.actionable)
    try:
        u = it.abduct_torch(torch.tensor(x)).detach()
    except WorldError:
        assert kind == "sub-population"  # it has no noise of one's own
        return
    u[:, 2:5] += 0.1 * torch.tensor(rng.normal(size=(40, 3)))
    u.requires_grad_()
    value = torch.tensor(people(40, 6), requires_grad=True)
    after = it.predict_torch(u, value, acted)
    (after.sum() + it.log_density_torch(after).sum()).backward()
    assert torch.isfinite(u.grad).all() and torch.isfinite(value.grad).all()
    assert (value.grad[~acted] == 0).all() and (value.grad[acted] != 0).any()
