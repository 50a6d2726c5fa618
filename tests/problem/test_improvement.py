"""A change of the outcome and not of the score alone: closed forms in linear Gaussian worlds, and gaming that ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import ProblemError
from wayforward.problem import Improvement
from wayforward.testing import RobustContract

SCHEMA = wf.Schema([
    wf.Feature(name="skill", kind="real", low=-10, high=10), wf.Feature(name="badge", kind="real", low=-10, high=10)
])  # fmt: skip
S = 0.5  # standard deviation of what a badge says beside the outcome
MECHANISM = wf.SCM(
    {"skill": "u", "works": "skill + u", "badge": "works + u"},
    noise={"works": "Normal(0, 1)", "badge": f"Normal(0, {S})"},
)


def game() -> LogisticRegression:
    """h = skill + 3 badge - 1: the badge tells more, and is cheaper to get."""
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0, 3.0]]), np.array([-1.0])
    return model


def problem(condition: Improvement | None) -> wf.Problem:
    """The world of the features alone: the badge keeps what it says of this person beside their skill."""
    world = wf.SCM({"skill": "u", "badge": "skill + u"})
    return wf.Problem(SCHEMA, game(), wf.Target(favourable=1), world=world, robust=condition)


def exact(x: np.ndarray, skill: np.ndarray) -> np.ndarray:
    """P(works > 0 | do(skill), x): of e = badge - skill, u has mean e / (1 + S^2), variance S^2 / (1 + S^2)."""
    e = x[:, 1] - x[:, 0]
    return norm.cdf((skill + e / (1 + S**2)) / np.sqrt(S**2 / (1 + S**2)))


def test_the_chance_of_this_person() -> None:
    """What their badge says of them counts; a badge that is only set changes nothing."""
    fitted = problem(Improvement(MECHANISM, "works")).robust
    assert isinstance(fitted, Improvement)
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (50, 2))
    after = np.stack([rng.normal(0, 1, 50), rng.normal(0, 5, 50)], axis=1)
    np.testing.assert_allclose(fitted.chance(x, after), exact(x, after[:, 0]), atol=1e-4)
    badge = np.stack([x[:, 0], np.full(50, 9.0)], axis=1)
    np.testing.assert_allclose(fitted.chance(x, badge), fitted.chance(x, x), atol=1e-12)
    assert np.isnan(fitted.chance(x[:1], np.array([[np.nan, 1.0]]))).all()


def test_the_chance_of_people_like_this_one() -> None:
    """Without effects, or where they do not count: Phi(skill)."""
    alone = wf.SCM({"skill": "u", "works": "2 * skill - 1 + u"}, noise={"works": "Normal(0, 2)"})
    skill = np.linspace(-3, 3, 13)
    rows = np.stack([skill, skill], axis=1)
    for mechanism, kind, z in (
        (alone, "individual", (2 * skill - 1) / 2), (MECHANISM, "sub-population", skill)
    ):  # fmt: skip
        fitted = problem(Improvement(mechanism, "works", kind=kind)).robust
        np.testing.assert_allclose(fitted.chance(rows, rows), norm.cdf(z), atol=1e-3)
    above = problem(Improvement(alone, "works", level=1.0)).robust
    np.testing.assert_allclose(above.chance(rows, rows), norm.cdf((2 * skill - 2) / 2), atol=1e-3)


@pytest.mark.parametrize(
    ("law", "above"), [("Bernoulli(0.3)", 0.3), ("Constant(0)", 0.0), ("Exponential(2)", np.exp(-0.25))]
)
def test_other_noises(law: str, above: float) -> None:
    """P(u > .5) of discrete and skewed noises."""
    mechanism = wf.SCM({"works": "u - 0.5"}, noise={"works": law})
    fitted = problem(Improvement(mechanism, "works")).robust
    assert fitted.chance(np.zeros((1, 2)), np.zeros((1, 2)))[0] == pytest.approx(above, abs=3e-3)


def test_gaming_ends() -> None:
    """Plain plans get a badge and change no outcome; under the condition they change it, by as much as is needed."""
    x = np.array([[-1.0, -1.5], [-0.5, -0.5], [0.0, -1.0]])
    plain = wf.recommend(problem(None), x, method="local-search", seed=0)
    asked = problem(Improvement(MECHANISM, "works", share=0.9))
    condition = asked.robust
    assert plain.found.all() and (condition.chance(x, plain.after[:, 0]) < 0.9).all()
    got = wf.recommend(asked, x, method="local-search", seed=0)
    assert got.found.all() and asked.reached(got.after[:, 0])[0].all()
    np.testing.assert_array_less(0.9 - 1e-4, exact(x, got.after[:, 0, 0]))
    np.testing.assert_allclose(exact(x, got.after[:, 0, 0]), 0.9, atol=0.05)  # and no more than is needed
    assert (got.cost > plain.cost).all()
    only_badge = SCHEMA.revise(skill={"actionability": "mutable"})
    nobody = wf.Problem(only_badge, game(), wf.Target(favourable=1), world=wf.SCM({"skill": "u", "badge": "skill + u"}),
                        robust=Improvement(MECHANISM, "works", share=0.9))  # fmt: skip
    assert not wf.recommend(nobody, x).found.any()


def test_what_it_refuses() -> None:
    """Outcomes that are none, and noises that nobody gave."""
    for given, why in (
        ({"outcome": "work"}, "no equation for 'work'"), ({"outcome": "works", "share": 1.0}, "share=1.0"),
        ({"outcome": "works", "kind": "both"}, "kind='both'"),
    ):  # fmt: skip
        with pytest.raises(ProblemError, match=why):
            Improvement(MECHANISM, **given)
    for mechanism, outcome, why in (
        (MECHANISM, "badge", "is a feature"),
        (wf.SCM({"skill": "u", "works": "skill + u"}), "works", "noise of 'works'"),
        (wf.SCM({"skil": "u", "works": "skil + u"}, noise={"works": "Normal(0, 1)"}), "works", "'skil'"),
    ):
        with pytest.raises(ProblemError, match=why):
            problem(Improvement(mechanism, outcome))


class TestImprovement(RobustContract):
    condition = Improvement(
        wf.SCM({"income": "u", "pays": "0.001 * income - 2 + u"}, noise={"pays": "Normal(0, 1)"}), "pays", 0.6
    )
    kinds = ("linear", "forest")
