"""What answers give away: closed forms where there are any, and what a service shows of its table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward.errors import DataError, MethodError
from wayforward.impact.disclosure.attack import PLAIN, Attack, attack
from wayforward.impact.disclosure.attributes import infer
from wayforward.impact.disclosure.extraction import ball_rows, hyperplane, in_balls
from wayforward.impact.disclosure.membership import auc, closeness, distances, membership
from wayforward.impact.disclosure.page import findings, render
from wayforward.impact.disclosure.reconstruction import reconstruction
from wayforward.impact.disclosure.service import Service
from wayforward.impact.disclosure.shadows import Shadows, shadowed, threshold
from wayforward.problem import Disclosure

WEIGHT, OFFSET = np.array([0.5, -1.0, 2.0]), -0.3


def line() -> LogisticRegression:
    """A linear classifier of three numbers, made and not trained."""
    model = LogisticRegression()
    model.coef_, model.intercept_ = WEIGHT[None], np.array([OFFSET])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 3
    return model


def numbers(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, 3))


def linear_problem(**more: object) -> wf.Problem:
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=-3, high=3) for name in "abc"))
    return wf.Problem(schema, line(), wf.Target(favourable=1), data=numbers(400, 1), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seen() -> Attack:
    """A small attack on the line, with two defences."""
    return attack(
        linear_problem(), "local-search", numbers(240, 2), queries=(40,), seeds=2, most=60,
        defences={"a grid": Disclosure(grid=0.2), "far": Disclosure(beyond=0.5)},
    )  # fmt: skip


def test_copies_are_the_same_whether_decisions_were_copied_before(seen: Attack) -> None:
    """Copies from decisions alone are made once for all ways of answering; each of these alone gives the same."""
    held = linear_problem(disclosure=Disclosure(grid=0.2))
    alone = attack(held, "local-search", numbers(240, 2), queries=(40,), seeds=2, most=60, defences={})
    one, other = (
        {(f.attack, f.family): f for f in e.extraction} for e in (alone.exposures[0], seen.exposures[1])
    )
    assert one == other and ("labels", "net") in one


def test_a_line_is_read_off_d_points_of_its_boundary() -> None:
    """d points in general position on a hyperplane determine it (d + 1 of them do so for certain)."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 3))
    points[:, 2] = -(points[:, :2] @ WEIGHT[:2] + OFFSET) / WEIGHT[2]
    for m in (3, 4):
        weight, offset = hyperplane(points[:m], rng.normal(size=(50, 3)))
        np.testing.assert_allclose(
            np.append(weight, offset) / weight[2], np.append(WEIGHT, OFFSET) / WEIGHT[2]
        )


def test_options_lie_on_the_boundary_and_give_the_line_away(seen: Attack) -> None:
    """Cheapest options of a linear model lie on its boundary, so that a plane through 40 of them is the model."""
    plane = {f.queries: f for f in seen.exposures[0].extraction if f.attack == "plane"}
    assert plane[40].agreement.value > 0.98
    far = {f.queries: f for f in seen.exposures[2].extraction if f.attack == "plane"}
    assert far[40].balanced.value < plane[40].balanced.value


def test_factual_balls_of_cheapest_answers_hold_refused_rows_only() -> None:
    """Whatever costs less than the cheapest option is refused: eq. 7 of the survey."""
    problem = linear_problem()
    x = numbers(80, 3)
    x = x[~problem.reached(x)[0]]
    answer = wf.recommend(problem, x, method="local-search", certify=True)
    answer = answer[np.flatnonzero(answer.proved_cheapest)]
    assert answer.n > 20
    rows = ball_rows(problem, answer, np.random.default_rng(0))
    assert len(rows) > 50
    assert not problem.reached(rows)[0].any()
    probe = numbers(500, 4)
    covered = in_balls(
        problem, answer, probe
    )  # every feature has the same range: costs go with sums of changes
    assert covered.any()
    assert not problem.reached(probe[covered])[0].any()
    far = np.abs(probe[:, None] - answer.x).sum(2) / np.abs(answer.after[:, 0] - answer.x).sum(1)
    np.testing.assert_array_equal(covered, (far * answer.plain_cost[:, 0] < answer.plain_cost[:, 0]).any(1))


def test_the_area_under_the_curve_is_the_share_of_pairs() -> None:
    """Beside all pairs, ties half; 1/2 for equal scores, 1 for those that are apart."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 6, 40).astype(float), rng.integers(0, 5, 30).astype(float)
    pairs = (one[:, None] > other).mean() + (one[:, None] == other).mean() / 2
    assert auc(one, other).value == pytest.approx(pairs)
    assert auc(one, one).value == pytest.approx(0.5)
    assert auc(other + 10, other).value == 1.0


@pytest.mark.parametrize(("apart", "n"), [(2.5, 10), (3.5, 20)])
def test_an_area_of_one_is_not_told_as_certain(apart: float, n: int) -> None:
    """DeLong's interval has no width there: of 1,000 draws 63 and 60 % held the true area, ours hold 85 % and more."""
    rng, true = np.random.default_rng(0), norm.cdf(apart / np.sqrt(2))
    drawn = [auc(rng.normal(apart, 1, n), rng.normal(0, 1, n)) for _ in range(300)]
    assert np.mean([one.low <= true <= one.high for one in drawn]) > 0.85
    assert all(one.low < one.high for one in drawn)
    assert auc(np.ones(10), np.zeros(10)).low == pytest.approx(0.8, abs=0.001)  # Newcombe's method 5
    assert auc(np.zeros(10), np.ones(10)).high == pytest.approx(0.2, abs=0.001)
    few = auc(np.ones(1), np.zeros(30))
    assert few.low < 0.5 < few.value == few.high


def test_true_positives_allow_one_false_alarm_in_a_thousand() -> None:
    """Of 2,000 others two may be above; of 999 none."""
    other = np.arange(2000.0)
    found = membership("cost", np.array([1996.5, 1997.5, 1998.5, 5.0]), other)
    assert found.allowed == 2
    assert found.found.value == 0.5  # above all but two: 1997 is the third greatest
    assert membership("cost", np.array([998.5, 1.0]), np.arange(999.0)).found.value == 0.5


def test_nobody_is_told_from_others_by_a_model_that_learnt_nothing_of_them(seen: Attack) -> None:
    """The line is given, not learnt: every area under the curve is one half, but for chance."""
    for exposure in seen.exposures:
        for one in exposure.membership:
            assert abs(one.auc.value - 0.5) < 2 * (one.auc.high - one.auc.low)


def test_closeness_finds_the_nearest_returned_row() -> None:
    """Beside brute force; another category is a distance of one."""
    people, returned = numbers(30, 5), numbers(20, 6)
    people[:, 2], returned[:, 2] = np.round(people[:, 2]), np.round(returned[:, 2])
    spread = np.array([0.5, 2.0, 9.0])
    got = closeness(people, returned, np.array([False, False, True]), spread)
    for person, value in zip(people, got, strict=True):
        gaps = (person[:2] - returned[:, :2]) / spread[:2]
        far = np.sqrt((gaps**2).sum(1) + (person[2] != returned[:, 2]))
        assert value == pytest.approx(-far.min())


def test_what_comes_from_the_table_is_found_in_the_table() -> None:
    """`nearest-observable` without projection returns rows of people, and each is found; a search returns none."""
    problem = linear_problem()
    x = numbers(40, 7)
    members = problem.require_reference()
    whole = wf.recommend(
        problem, x[~problem.reached(x)[0]], method="nearest-observable", project=False, minimal=False
    )
    told = reconstruction(whole, members, numbers(400, 8))
    assert told.rows[0].value == 1.0 and told.values[0].value == 1.0 and told.rare[0].value == 1.0
    assert told.rows[1].value == 0.0
    few = reconstruction(
        whole, members, numbers(30, 8)
    )  # the rest of the table is not forgotten where few are unseen
    assert few.among == 30 and few.rows[0].value < 1.0 and few.rows[2].value == told.rows[2].value == 1.0
    crowded = reconstruction(whole, np.tile(members, (5, 1)), numbers(400, 8))
    assert crowded.rare[2].value == 0.0 and crowded.values[2].value == 1.0  # in all of it five hold each
    searched = wf.recommend(problem, x[~problem.reached(x)[0]], method="local-search")
    assert reconstruction(searched, members, numbers(400, 8)).rows[0].value == 0.0


def test_a_plan_gives_a_feature_away_that_the_model_weighs() -> None:
    """Each job moves the boundary, so another job has another plan: one value is left, the right one."""
    schema = wf.Schema((
        wf.Feature(name="a", kind="real", low=-3, high=3),
        wf.Feature(name="job", kind="ordinal", levels=("x", "y", "z"), actionability="immutable"),
    ))  # fmt: skip
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[1.0, 0.37]]), np.array([-2.0])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-3, 0.5, 160), rng.integers(0, 3, 160)])
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=x)
    service = Service(problem, wf.method("local-search").fit(problem))
    (got,) = infer(service, service.ask(x[:40]), x[40:], ["job"], 40, 0)
    assert got.left == 1.0 and got.with_plan.value == 1.0 and got.without.value < 0.7
    assert service.queries == 40 * 4
    blind = LogisticRegression()
    blind.coef_, blind.intercept_ = np.array([[1.0, 0.0]]), np.array([-2.0])
    blind.classes_, blind.n_features_in_ = np.array([0, 1]), 2
    problem = wf.Problem(schema, blind, wf.Target(favourable=1), data=x)
    service = Service(problem, wf.method("local-search").fit(problem))
    (got,) = infer(service, service.ask(x[:40]), x[40:], ["job"], 40, 0)
    assert got.left == 3.0 and got.with_plan == got.without


def test_the_service_counts_who_asks_and_people_are_the_same_in_every_exposure(seen: Attack) -> None:
    """60 unseen, 60 members, and everybody who asks for a decision; no features with levels to infer."""
    assert [e.name for e in seen.exposures] == [PLAIN, "a grid", "far"]
    assert len({e.queries for e in seen.exposures}) == 1
    assert seen.exposures[0].queries >= 120
    assert all(e.usable.n == seen.exposures[0].usable.n for e in seen.exposures)
    assert seen.exposures[2].dearer.value > 0


def test_the_same_seed_gives_the_same_numbers() -> None:
    """To the last digit."""
    once, again = (
        json.dumps(attack(linear_problem(), "growing-spheres", numbers(120, 2), queries=(10,), seeds=1, most=25,
                          defences={}).to_dict())
        for _ in range(2)
    )  # fmt: skip
    assert once == again


def test_the_page_says_what_was_measured_in_both_languages(seen: Attack) -> None:
    """It stands alone, and no text of it is left in English."""
    english, german = render(seen), render(seen, language="de")
    for sentence in findings(seen):
        assert len(sentence) > 20
    for page in (english, german):
        assert page.count("<svg") == 4
        assert "<script" not in page and "http" not in page.replace("http-equiv", "").replace(
            "http://www.w3.org", ""
        )
    assert "Was Antworten preisgeben" in german
    assert "Membership" not in german and "queries" not in german


def test_too_few_people_are_named() -> None:
    """With both counts and what to do."""
    with pytest.raises(DataError, match="at least 20 of each"):
        attack(linear_problem(), "local-search", numbers(30, 2), defences={})
    with pytest.raises(DataError, match="not trained on"):
        attack(linear_problem(), "local-search")


def labels_of(x: np.ndarray) -> np.ndarray:
    return (x @ WEIGHT + OFFSET + np.random.default_rng(0).logistic(size=len(x)) > 0).astype(int)


def test_a_threshold_lets_no_more_false_alarms_by_than_it_says() -> None:
    known = np.random.default_rng(0).permutation(2000.0 * np.arange(1, 2001) / 2000)
    assert threshold(known, 0.001) == 1998.0 and (known > threshold(known, 0.001)).sum() == 2
    assert (known > threshold(known, 0.01)).sum() == 20
    assert threshold(known[:99], 0.01) == known[:99].max()


def by_shadows(d: int, n: int, fit: Callable[[np.ndarray, np.ndarray, int], LogisticRegression]) -> Any:
    """Shadow models against a linear model of d numbers that learnt n labels drawn by chance."""

    def drawn(m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        return rng.normal(size=(m, d)), rng.integers(0, 2, m)

    (x, y), (own, labels), (others, _) = drawn(n, 1), drawn(2 * n, 2), drawn(120, 3)
    schema = wf.Schema(tuple(wf.Feature(name=f"x{i}", kind="real", low=-6, high=6) for i in range(d)))
    problem = wf.Problem(schema, fit(x, y, 0), wf.Target(favourable=1), data=x)
    method, spread = wf.method("local-search"), np.ones(d)

    def far(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        refused = rows[~problem.reached(rows)[0]]
        return refused, distances(method.fit(problem).recommend(refused), spread)

    return shadowed(problem, method, own, labels, Shadows(labels, 4, fit), far(x), far(others), spread)


def test_shadow_models_tell_members_of_a_model_that_knows_them_by_heart() -> None:
    """More numbers than people: every member lies at the margin, at once as far as a model can put them."""
    for one in by_shadows(120, 48, lambda x, y, _: LogisticRegression(C=1e4).fit(x, y)):
        assert one.auc.low > 0.5 and one.auc.value > 0.7
        assert all(a.false.value < 0.1 for a in one.alarms)


def test_shadow_models_tell_nobody_of_a_model_that_cannot_remember() -> None:
    """The same line whatever it is given: members are like others, but for chance."""

    def given(x: np.ndarray, y: np.ndarray, _: int) -> LogisticRegression:
        model = LogisticRegression()
        model.coef_, model.intercept_ = np.arange(1.0, 5.0)[None], np.array([0.1])
        model.classes_, model.n_features_in_ = np.array([0, 1]), 4
        return model

    distance, surprise = by_shadows(4, 150, given)
    assert distance.auc.low < 0.5 < distance.auc.high and distance.members > 40
    assert surprise.auc.value == pytest.approx(
        0.5, abs=0.02
    )  # what is expected comes, but for scales of the cost
    assert all(one.true.value < 0.1 for one in distance.alarms)


def test_the_page_says_what_shadow_models_found() -> None:
    people = numbers(200, 9)
    got = attack(
        linear_problem(), "local-search", people, queries=(20,), seeds=1, most=40, defences={},
        shadows=Shadows(labels_of(people), 2, lambda x, y, seed: line()),
    )  # fmt: skip
    assert any(
        "shadow models tell members from others no better than chance" in text for text in findings(got)
    )
    assert "Membership by shadow models" in render(got)
    assert "Mitgliedschaft nach Schattenmodellen" in render(got, language="de")
    assert [one["score"] for one in got.to_dict()["exposures"][0]["shadows"]] == ["distance", "surprise"]


def test_shadow_models_need_labels_and_people() -> None:
    with pytest.raises(MethodError, match="models=1 shadow models cannot be trained"):
        Shadows([0], 1)
    with pytest.raises(DataError, match="labels of shape"):
        attack(linear_problem(), "local-search", numbers(200, 9), shadows=Shadows([0, 1]))
