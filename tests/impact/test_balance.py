"""Balance as an option of every method, and what it costs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import DataError, FileFormatError, ProblemError
from wayforward.groups import Groups
from wayforward.impact.balance import balance_curve
from wayforward.model import train
from wayforward.problem import Balanced
from wayforward.problem.learned import problem_density
from wayforward.problem.plausibility import plausibility_from_dict, plausibility_named
from wayforward.testing import case

CENTRES = ((0.325, 0.685), (0.675, 0.685), (0.325, 0.315), (0.675, 0.315))


def square() -> tuple[Schema, np.ndarray, np.ndarray, np.ndarray]:
    """The synthetic set: two groups side by side, those who repay above those who do not, 200 people each.

    Gao & Lakkaraju (2023), ICML, section 6.2.
    """
    rng = np.random.default_rng(0)
    x = np.concatenate([c + 0.1 * rng.normal(size=(200, 2)) for c in np.array(CENTRES)]).clip(0, 1)
    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=1) for name in "ab"))
    return schema, x, np.repeat([1, 1, 0, 0], 200), np.tile(np.repeat(["M", "F"], 200), 2)


@pytest.fixture(scope="module")
def society() -> tuple[Problem, Groups]:
    schema, x, y, sex = square()
    model = train("lr", schema, x, y, seed=0)
    return Problem(schema, model, Target(1), data=x), Groups.of("sex", sex)


@pytest.mark.parametrize("method", ["local-search", "growing-spheres", "nearest-observable", "nice", "face"])
def test_every_method_can_be_asked_for_balance(society, method):
    """Its options are above beta, and the two groups are led to places nearer to each other."""
    problem, groups = society
    x = problem.reference
    balanced = Problem(
        problem.schema, problem.model, Target(1), data=x, plausibility=Balanced(groups, 0.3, "kernel")
    )
    free, got = wf.recommend(problem, x, method=method), wf.recommend(balanced, x, method=method)
    no = ~got.accepted
    assert got.found[no, 0].mean() > 0.9
    density = problem_density(balanced, groups, "kernel", seed=0)
    assert density.above(got.after[got.found], 0.3).all()
    assert not density.above(free.after[no, 0], 0.3).all()
    apart = [
        abs(np.subtract(*(g.after[no & groups.mask(i) & g.found[:, 0], 0, 0].mean() for i in (0, 1))))
        for g in (free, got)
    ]
    assert apart[1] < 0.7 * apart[0]


def test_balanced_recourse_lessens_segregation_where_the_cheapest_does_not(society):
    """EBR, IBR and balanced local search worsen no index; the cheapest recourse worsens centralization.

    Gao & Lakkaraju (2023), ICML, Table 1.
    """
    pytest.importorskip("torch")
    from wayforward.impact.segregation import before_after

    problem, groups = society
    x = problem.reference
    balanced = Problem(problem.schema, problem.model, Target(1), data=x, plausibility=Balanced(groups, 0.3))
    answers = {
        "cheapest": wf.recommend(problem, x),
        "ebr": wf.recommend(problem, x, method="ebr", groups=groups),
        "ibr": wf.recommend(problem, x, method="ibr", groups=groups),
        "balanced": wf.recommend(balanced, x),
    }
    worse = {name: before_after(problem, x, got, groups).n_increases for name, got in answers.items()}
    assert worse == {"cheapest": 1, "ebr": 0, "ibr": 0, "balanced": 0}
    cost = {name: got.cost[got.found].mean() for name, got in answers.items()}
    assert cost["cheapest"] < cost["balanced"] <= cost["ebr"] * 1.02


def test_the_curve_falls_in_share_and_rises_in_cost(society):
    problem, groups = society
    some = np.arange(300, 700)
    curve = balance_curve(
        problem,
        problem.reference[some],
        groups,
        of=groups.take(some),
        method="nearest-observable",
        betas=(0.2, 0.5, 0.8),
        density="kernel",
    )
    rows = curve.rows()
    assert [row["beta"] for row in rows] == [0.0, 0.2, 0.5, 0.8]
    assert (np.diff([row["found"] for row in rows]) <= 0).all()
    assert (np.diff([row["cost"] for row in rows]) > 0).all()
    assert rows[0]["people"] == (~problem.reached(problem.reference[some])[0]).sum()
    assert rows[1]["gap"] == pytest.approx(abs(rows[1]["cost M"] - rows[1]["cost F"]))
    assert problem.plausibility is None  # the problem that was given is as it was


def test_what_it_needs_is_told(society):
    problem, groups = society
    x = problem.reference
    with pytest.raises(DataError, match="of=Groups"):
        balance_curve(problem, x, groups, density="kernel")
    with pytest.raises(DataError, match="labels for 3 people"):
        balance_curve(problem, x, groups, density="kernel", of=groups.take(np.arange(3)))
    with pytest.raises(ProblemError, match="accepts every one"):
        yes = problem.reference_reached
        balance_curve(problem, x[yes], groups, density="kernel", of=groups.take(np.flatnonzero(yes)))
    strict = Problem(
        problem.schema, problem.model, Target(1), data=x, plausibility=Balanced(groups, density="kernel")
    )
    with pytest.raises(ProblemError, match="plausibility already"):
        balance_curve(strict, x, groups)


def asking(it, **more) -> Problem:
    old = it.problem
    return Problem(
        old.schema,
        old.model,
        old.target,
        data=old.reference,
        world=old.world,
        plausibility=Balanced("region", 0.3, "kernel", **more),
    )


@pytest.mark.parametrize("method", ["wachter", "cem", "local-search"])
def test_who_is_led_elsewhere_gets_a_balanced_row_near_by(method):
    """People all of whose options miss the region get one inside it; nobody loses an option of their own."""
    it = case("network", "independent", 0, 24)
    strict, open_ = asking(it, lead=False), asking(it)
    alone, got = wf.recommend(strict, it.x, method=method), wf.recommend(open_, it.x, method=method)
    assert got.found[it.refused, 0].mean() > 0.8
    assert (got.cost[:, 0] <= alone.cost[:, 0]).all()
    assert open_.plausibility.score(got.after[got.found]).min() >= 0
    if method != "local-search":
        assert alone.found[it.refused, 0].mean() < 0.7


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_a_person_who_is_led_gets_the_same_answer_alone(world):
    it = case("network", world, 0, 24)
    problem = asking(it)
    method = wf.method("growing-spheres").fit(problem)
    got, no = method.recommend(it.x, 2, seed=3), np.flatnonzero(it.refused)
    for who in (no[:1], no[1:2], no[2:7], no[::-1]):
        some = method.recommend(it.x[who], 2, seed=3)
        np.testing.assert_array_equal(some.action, got.action[who])


def test_limits_of_a_person_hold_for_who_is_led():
    from wayforward.preferences import Preferences

    it = case("network", "independent", 0, 24)
    wish = Preferences.none(it.problem.schema, len(it.x)).at_most(3).freeze("phone")
    got = wf.recommend(asking(it), it.x, method="wachter", preferences=wish)
    assert (~np.isnan(got.action[got.found])).sum(1).max() <= 3
    assert np.isnan(got.action[got.found][:, it.problem.schema.index("phone")]).all()
    assert got.found[it.refused, 0].mean() > 0.4


# -- the plausibility ------------------------------------------------------------------------------------------


def test_a_name_a_sentence_and_a_file():
    it = case("linear", "independent", 0, 24)
    problem = it.problem
    made = plausibility_from_dict(json.loads(json.dumps(Balanced("region", 0.2, "kernel").to_dict())))
    balanced = Problem(
        problem.schema, problem.model, problem.target, data=problem.reference, plausibility=made
    )
    assert "beta 0.2, mass" in balanced.plausibility.describe()
    assert "region 0" in balanced.plausibility.describe()
    assert plausibility_named("balanced").strict
    with pytest.raises(FileFormatError):
        plausibility_from_dict({"plausibility": "balanced", "parameters": {"gamma": 1}})
    with pytest.raises(ProblemError, match="labels of people"):
        Balanced(Groups.of("side", ["a", "b"])).to_dict()


def test_scores_are_nats_above_the_threshold_and_a_row_is_judged_alone():
    it = case("network", "independent", 0, 24)
    problem, x = it.problem, it.problem.reference_accepted[:60]
    fitted = Balanced("region", 0.3, "kernel").fit_problem(problem)
    score = fitted.score(x)
    density = problem_density(problem, "region", "kernel", seed=0)
    assert fitted.fitted is density
    np.testing.assert_array_equal(score, density.log_product(x) - density.threshold(x, 0.3))
    np.testing.assert_array_equal(fitted.holds(x, x), score >= 0)
    assert fitted.score(x[7]) == score[7]
    kind = Balanced("region", 0.3, "kernel", strict=False).fit_problem(problem)
    assert kind.holds(x, x).all()


def test_the_same_on_its_own_table():
    """`fit` without a problem takes what the schema calls immutable as given."""
    it = case("linear", "independent", 0, 24)
    x = it.problem.reference
    fitted = Balanced("region", 0.3, "kernel").fit(it.problem.schema, x, it.problem.reference_reached)
    assert fitted.fitted.given.tolist() == [f.name == "age" for f in it.problem.schema.features]
    assert fitted.score(x[:5]).shape == (5,)
    with pytest.raises(ProblemError, match="Give data"):
        Balanced("region").fit(it.problem.schema)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"beta": 1.0}, "less than 1"),
        ({"beta": float("nan")}, "beta=nan"),
        ({"beta_scale": "log"}, "mass, relative, absolute"),
        ({"density": "histogram"}, "mixture, kernel, flow"),
    ],
)
def test_settings_that_cannot_be_are_told(parameters, words):
    with pytest.raises(ProblemError, match=words):
        Balanced("sex", **parameters)
