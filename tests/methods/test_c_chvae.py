"""c-chvae: shells, the distance that a perfect autoencoder finds, what is decoded and what may change, many models."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Problem, Schema, Target
from wayforward.errors import MethodError, ProblemError
from wayforward.preferences import Preferences
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.density.generative import Identity  # noqa: E402
from wayforward.methods.c_chvae import CChvae, shell  # noqa: E402
from wayforward.model import train  # noqa: E402
from wayforward.problem.learned import fit_generator  # noqa: E402


class TestContract(MethodContract):
    method = "c-chvae"
    parameters = {"epochs": 8, "samples": 32}
    finds = 0.85


def plane(d: int = 2, **more) -> Schema:
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=-50, high=50, **more) for j in range(d)))


PUBLISHED = {"step": 0.1, "widen": 1.0, "shells": 1000, "partial": 0.0, "further": 0, "shrink": False}


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_every_direction_is_in_its_shell(p):
    """l <= |delta|_p < h for all directions, and the lengths fill the shell."""
    got = shell(np.random.default_rng(0), 5000, 6, 0.3, 0.5, p)
    length = np.linalg.norm(got, ord=p, axis=1)
    assert (length >= 0.3 - 1e-12).all()
    assert (length < 0.5).all()
    assert np.quantile(length, [0.1, 0.9]) == pytest.approx([0.32, 0.48], abs=0.01)
    first = shell(np.random.default_rng(0), 5000, 6, 0.0, 0.5, p)
    assert (np.linalg.norm(first, ord=p, axis=1) < 0.5).all()
    assert abs(got.mean(0)).max() < 0.02  # no side is preferred


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_perfect_autoencoder_finds_the_boundary_within_one_step(linear, p):
    """Identity: the length found is in [d*, d* + step] for a linear boundary at L_p distance d*, S = 10^4, d = 2.

    Pawelczyk, Broelemann & Kasneci (2020), WWW, Algorithm 1.
    """
    w, data = np.array([1.0, -0.5]), np.random.default_rng(0).normal(size=(50, 2)) * 5
    problem = linear(plane(), -2.0, {"x0": w[0], "x1": w[1]}, data=data)
    x = np.array([[0.0, 0.0], [1.0, 1.0], [-0.5, 0.3]])
    dual = np.abs(w).max() if p == 1 else np.sqrt(w @ w)
    far = (2.0 - x @ w) / dual  # L_p distance of each person from the boundary
    model = Identity(problem.schema, unit=1.0)
    method = CChvae(**PUBLISHED | {"step": 0.25}, samples=10_000, p=p, nearest="l1", keep=1, generator=model)
    got = method.fit(problem).recommend(x, budget=1_000_000)
    found = np.linalg.norm(got.after[:, 0] - x, ord=p, axis=1)
    assert (found >= far - 1e-6).all()
    assert (found <= far + 0.25).all()


def test_categories_orders_and_whole_numbers_come_back_legal():
    """Everything decoded is a value that exists; the category and the order that decide are found."""
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="o", kind="ordinal", levels=("l", "m", "h"), direction="increase"),
            Feature(name="i", kind="integer", low=0, high=20),
            Feature(name="r", kind="real", low=0, high=10, step=0.5),
        )
    )
    data = np.stack(
        [
            rng.integers(0, 3, 600),
            rng.integers(0, 3, 600),
            rng.integers(0, 21, 600),
            rng.integers(0, 21, 600) / 2,
        ],
        axis=1,
    ).astype(float)
    model = wf.wrap(
        lambda r: ((r[:, 0] == 1) & (r[:, 1] >= 1)).astype(np.int64), schema, output="label", classes=(0, 1)
    )
    problem = Problem(schema, model, Target(1), data=data)
    x = data[~problem.reached(data)[0]][:40]
    got = CChvae(epochs=20).fit(problem).recommend(x)
    assert got.found.all()
    assert (got.after[:, 0, 0] == 1).all()
    assert (got.after[:, 0, 1] >= np.maximum(x[:, 1], 1)).all()
    assert np.isnan(got.action[:, 0, 2:]).all()  # nothing that the decision does not need


def test_only_levels_that_a_person_may_choose_are_decoded():
    """A level that somebody rules out is never chosen, and the next likeliest is."""
    it = case("linear", "independent", 0, 40)
    schema = it.problem.schema
    wish = Preferences.none(schema, len(it.x)).allow("housing", "rent", "free")
    got = CChvae(epochs=8).fit(it.problem).recommend(it.x, 2, preferences=wish)
    j = schema.index("housing")
    who, slot = np.nonzero(got.found)
    moved = ~np.isnan(got.action[who, slot, j])
    assert (got.after[who, slot, j][moved] != 1).all()
    assert got.found[it.refused, 0].mean() > 0.8


def test_the_published_search_adopts_whole_rows_and_the_polish_makes_them_cheaper():
    it = case("network", "independent", 0, 60)
    whole = CChvae(**PUBLISHED | {"widen": 1.5, "shells": 20}, epochs=20).fit(it.problem).recommend(it.x)
    ours = CChvae(epochs=20).fit(it.problem).recommend(it.x)
    assert ours.found[it.refused].mean() >= whole.found[it.refused].mean() > 0.5
    both = ours.found[:, 0] & whole.found[:, 0]
    changes = [(~np.isnan(got.action[both, 0])).sum(1).mean() for got in (ours, whole)]
    assert changes[0] < changes[1]
    assert ours.cost[both, 0].mean() < 0.7 * whole.cost[both, 0].mean()


def test_decoded_rows_look_more_like_people_than_cheap_ones():
    """Whole decoded rows have a higher likelihood under a model of their own than the options of local-search.

    Pawelczyk, Broelemann & Kasneci (2020), WWW, section 4: attainable counterfactuals lie where people are.
    """
    it = case("network", "independent", 0, 60)
    judge = fit_generator("vae", it.problem, epochs=20, seed=5)
    whole = CChvae(**PUBLISHED | {"widen": 1.5, "shells": 20}, epochs=20).fit(it.problem).recommend(it.x)
    cheap = wf.recommend(it.problem, it.x)
    both = whole.found[:, 0] & cheap.found[:, 0]
    like = [np.median(judge.log_bound(got.after[both, 0])) for got in (whole, cheap)]
    assert like[0] > like[1]


def test_wishes_on_the_number_of_changes_are_met_by_partial_adoption():
    it = case("network", "independent", 0, 40)
    wish = Preferences.none(it.problem.schema, len(it.x)).at_most(1)
    ours = CChvae(epochs=8).fit(it.problem).recommend(it.x, preferences=wish)
    assert ((~np.isnan(ours.action[ours.found])).sum(1) == 1).all()
    assert ours.found[it.refused].mean() > 0.5


def test_an_option_that_all_models_accept():
    """Consensus under predictive multiplicity: every option of ours is accepted by both models.

    Pawelczyk, Broelemann & Kasneci (2020), UAI, arXiv:2006.13132.
    """
    it = case("network", "independent", 0, 60)
    problem, data = it.problem, it.problem.reference
    y = problem.reached(data)[0]
    flip = np.random.default_rng(0).random(len(y)) < 0.1
    other = train("lr", problem.schema, data, (y ^ flip).astype(np.int64), seed=1)
    judge = Problem(problem.schema, other, Target(favourable=1), data=data)
    alone = CChvae(epochs=8).fit(problem).recommend(it.x)
    agreed = CChvae(epochs=8, others=[other]).fit(problem).recommend(it.x)
    assert agreed.found[it.refused].mean() > 0.8
    assert judge.reached(agreed.after[agreed.found])[0].all()
    assert not judge.reached(alone.after[alone.found])[0].all()


def test_many_people_cost_no_more_memory_than_allowed(monkeypatch):
    """Blocks of people: the answers are the same."""
    import wayforward.methods.c_chvae as file

    it = case("linear", "independent", 0, 24)
    method = CChvae(epochs=8).fit(it.problem)
    one = method.recommend(it.x, 2)
    monkeypatch.setattr(file, "_ROWS", 100)
    two = method.recommend(it.x, 2)
    np.testing.assert_array_equal(one.action, two.action)


def test_a_trained_model_is_shared(linear):
    it = case("linear", "independent", 0, 24)
    one, two = CChvae(epochs=8).fit(it.problem), CChvae(epochs=8, samples=5).fit(it.problem)
    assert one.generator_ is two.generator_
    assert two.parameters()["samples"] == 5


def test_nothing_reachable_is_an_answer(linear):
    """Only a feature that the model does not read may change: every shell is looked at, nothing is returned."""
    fixed = Feature(name="x0", kind="real", low=-5, high=5, actionability="immutable")
    schema = Schema((fixed, Feature(name="x1", kind="real", low=-5, high=5)))
    data = np.random.default_rng(0).normal(size=(100, 2))
    problem = linear(schema, -1.0, {"x0": 1.0}, data=data)
    no = data[~problem.reached(data)[0]][:3]
    got = CChvae(epochs=3).fit(problem).recommend(no)
    assert not got.found.any()
    assert set(got.outcome[:, 0]) <= {Outcome.NOT_FOUND, Outcome.NONE_EXISTS}
    assert got.meta["model_rows"] <= 3 * 4000


def test_where_nobody_may_act_the_answer_is_that_none_exists(linear):
    data = np.random.default_rng(0).normal(size=(100, 2))
    problem = linear(plane(actionability="immutable"), -1.0, {"x0": 1.0}, data=data)
    got = CChvae(epochs=3).fit(problem).recommend(data)
    assert (got.outcome[~got.accepted, 0] == Outcome.NONE_EXISTS).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"samples": 0}, "samples=0"),
        ({"step": 0.0}, "step=0"),
        ({"widen": 0.5}, "widen=0.5"),
        ({"p": 0.5}, "p=0.5"),
        ({"partial": 2.0}, "partial=2"),
        ({"nearest": "far"}, "cost, l1"),
    ],
)
def test_settings_that_cannot_be_are_told(parameters, words):
    with pytest.raises(MethodError, match=words):
        CChvae(**parameters)


def test_it_needs_people_to_learn_from(linear):
    with pytest.raises(ProblemError, match="data=train"):
        CChvae().fit(linear(plane(), -2.0, {"x0": 1.0}))
