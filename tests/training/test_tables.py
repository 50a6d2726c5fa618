"""Trained on tables, read by `wrap`, and answered about; fair inputs by the closed form of twins."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wayforward as wf
from wayforward.errors import DataError, WorldError
from wayforward.groups import Groups
from wayforward.impact.audit.twins import twins
from wayforward.problem.cost import LpMix
from wayforward.testing.problems import case
from wayforward.training import (
    PARE,
    AllowedChanges,
    CausallyFairInputs,
    EqualizingRecourse,
    StrategicRecourse,
    train,
)


@pytest.mark.parametrize("head", [EqualizingRecourse(tau=0.1), PARE(), StrategicRecourse(improvable=[0])])
def test_a_trained_classifier_is_read_and_its_refused_get_plans(head: object) -> None:
    """`wrap` reads it as linear, so that exact methods take it; the judge agrees."""
    it = case("linear", "independent", 0, 200)
    schema, x = it.problem.schema, it.x
    y = it.problem.reached(x)[0].astype(int)
    group = next((f.name for f in schema.features if f.has_levels and f.n_levels == 2), None)
    fits = isinstance(head, EqualizingRecourse) and group is not None
    model = train(head, schema, x, y, group=group if fits else None)
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=x)
    assert problem.model.access == wf.Access.WHITE_BOX
    assert (problem.reached(x)[0] == model.predict(schema.decode(x))).all()
    refused = x[~problem.reached(x)[0]][:5]
    got = wf.recommend(problem, refused, method="actionable-recourse")
    assert got.found.any()


def test_what_is_allowed_is_the_schema_s() -> None:
    """Immutables stay, directions hold, numbers move by a share of their range, and back in units they are legal."""
    from wayforward.model.zoo import table_encoder

    it = case("linear", "independent", 0, 200)
    schema, x = it.problem.schema, it.x
    encoder = table_encoder(schema, scale=True, impute=True).fit(schema.decode(x))
    allowed = AllowedChanges.of(schema, encoder, 0.2, x)
    rows = encoder.transform(schema.decode(x))
    led = rows + allowed.best(np.random.default_rng(0).normal(size=rows.shape), rows)
    start = encoder.output_indices_["numeric"]
    names = next(names for kind, _, names in encoder.transformers_ if kind == "numeric")
    scaler = encoder.named_transformers_["numeric"][-1]
    at = [schema.index(name) for name in names]
    after = led[:, start][:, : len(at)] * scaler.scale_[: len(at)] + scaler.mean_[: len(at)]
    change = after - x[:, at]
    assert (np.abs(change[:, ~schema.actionable[at]]) < 1e-9).all()
    assert (change[:, schema.direction[at] > 0] > -1e-9).all()
    assert (change[:, schema.direction[at] < 0] < 1e-9).all()
    assert (np.abs(change) <= 0.2 * schema.span[at] + 1e-9).all()
    assert ((after >= schema.low[at] - 1e-6) & (after <= schema.high[at] + 1e-6))[np.isfinite(after)].all()
    for places, way in allowed.switches:
        before, now = rows[:, places].argmax(1), led[:, places].argmax(1)
        assert (led[:, places].sum(1) == rows[:, places].sum(1)).all()
        assert ((now - before) * way >= 0).all()


def test_what_train_refuses() -> None:
    """Names that are none, and labels that do not fit."""
    it = case("linear", "independent", 0, 40)
    y = np.arange(40) % 2
    with pytest.raises(DataError, match="no feature 'nobody'"):
        train(PARE(), it.problem.schema, it.x, y, without=["nobody"])
    with pytest.raises(DataError, match="one label a row"):
        train(PARE(), it.problem.schema, it.x, y[:5])
    left = it.problem.schema.names[0]
    model = train(PARE(), it.problem.schema, it.x, y, without=[left])
    assert not any(name.startswith(left) for name in model[0].get_feature_names_out())


def society() -> tuple[wf.Schema, wf.World, np.ndarray]:
    """X1 = .5 A + u1, X2 = u2 of people with A = -1 and u = (-.4, -.3), as many as may be told of."""
    schema = wf.Schema([
        wf.Feature(name="A", kind="binary", levels=(-1, 1), actionability="immutable"),
        wf.Feature(name="X1", kind="real", low=-10, high=10), wf.Feature(name="X2", kind="real", low=-10, high=10),
    ])  # fmt: skip
    world = wf.SCM({"A": "u", "X1": "A - 0.5 + u", "X2": "u"}).bind(schema)
    return schema, world, np.repeat([[0.0, -0.9, -0.3]], 30, axis=0)


def gap(model: object, method_name: str) -> float:
    """Mean largest difference in cost from a twin."""
    schema, world, x = society()
    problem = wf.Problem(
        schema, model, wf.Target(favourable=1), data=x, world=world, cost=LpMix(l1=0.0, l2=20.0)
    )
    method = wf.method(method_name).fit(problem)
    cost = method.recommend(x, 1, seed=0).plain_cost[:, 0]
    groups = Groups.of("A", x, schema)
    return twins(problem, method, x, cost, groups).individual.value


def line(*weight: float) -> LogisticRegression:
    """h = the sum of these, by hand."""
    made = LogisticRegression().fit(np.eye(len(weight)), np.arange(len(weight)) % 2)
    made.coef_, made.intercept_ = np.array([weight]), np.zeros(1)
    return made


def test_the_gap_between_twins_and_its_end() -> None:
    """Plain 1.2/sqrt 2 - .2/sqrt 2 = .7071; on fair inputs u1 + u2 both pay .7/sqrt 2, and the gap is 0."""
    schema, world, x = society()
    assert gap(line(0.0, 1.0, 1.0), "ceml") == pytest.approx(np.sqrt(0.5), abs=1e-3)
    fair = make_pipeline(CausallyFairInputs(world, "A").fit(x), line(1.0, 1.0))
    np.testing.assert_allclose(fair[0].transform(x)[0], [-0.4, -0.3])
    assert gap(fair, "probabilistic") == pytest.approx(0, abs=1e-3)


def test_fair_inputs_of_a_trained_model() -> None:
    """Trained on people of both groups, twins score alike; without it they do not."""
    schema, world, _ = society()
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 2, 400), rng.normal(size=400), rng.normal(size=400)], axis=1).astype(float)
    x[:, 1] += x[:, 0] - 0.5
    y = (x[:, 1] + x[:, 2] > 0).astype(int)
    table = schema.decode(x)
    act = np.full_like(x, np.nan)
    act[:, 0] = 1 - x[:, 0]
    twin = schema.decode(world.consequences(x, act))
    fair = make_pipeline(CausallyFairInputs(world, ["A"]), LogisticRegression()).fit(table, y)
    plain = LogisticRegression().fit(table, y)
    np.testing.assert_allclose(fair.predict_proba(table), fair.predict_proba(twin), atol=1e-9)
    assert np.abs(plain.predict_proba(table) - plain.predict_proba(twin)).max() > 0.2
    with pytest.raises(WorldError, match="no feature"):
        CausallyFairInputs(world, "B").fit(table)
    with pytest.raises(WorldError, match="world of a schema"):
        CausallyFairInputs(wf.SCM({"A": "u"}), "A").fit(table)
