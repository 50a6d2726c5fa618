"""Branch and bound over boxes of a forest, against everything that people may do."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import recommend
from wayforward.deadline import OutOfTime, now, until
from wayforward.methods import method
from wayforward.methods.engines.exact.forest_boxes import End, ForestBoxes
from wayforward.model import kernels, train
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing.small_forests import EVERY, FEATURES, RULES, least_cost, refused, wished

pytest.importorskip("sklearn")
pytestmark = pytest.mark.skipif(kernels.jit() is None, reason="needs numba")


@pytest.mark.parametrize("wishes", [False, True], ids=["free", "wishes"])
@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("model", ["rf", "gb"])
def test_it_finds_what_trying_everything_finds(model, rules, wishes):
    seen = set()
    for seed in range(4):
        problem, x = refused(model, seed, rules)
        people = problem.population(x, wished(problem.schema, x, seed) if wishes else None)
        boxes = ForestBoxes.of(problem)
        assert boxes is not None and boxes.complete and boxes.provable
        got, best = boxes.search(people), least_cost(problem, people)
        found = got.end == End.FOUND
        np.testing.assert_array_equal(found, np.isfinite(best))
        np.testing.assert_array_equal(got.proved, np.isinf(best))
        np.testing.assert_allclose(got.bound[found], best[found], rtol=1e-12)
        action = np.where(problem.schema.differs(got.after, people.x), got.after, np.nan)
        who = np.flatnonzero(found)
        assert (
            problem.reached(got.after[who])[0].all()
            and people.allowed(who, action[who], got.after[who]).all()
        )
        np.testing.assert_allclose(people.cost(who, action[who]), best[who], rtol=1e-12)
        seen |= {*got.end}
    assert seen == {End.FOUND, End.NONE_EXISTS}


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("model", ["rf", "gb"])
def test_what_somebody_lacks_is_filled_in_or_stays(model, rules):
    """Equal to trying everything, every way of telling what is missing included; bounds too, however few boxes."""
    told = 0
    for seed in range(2):
        problem, x = refused(model, seed, rules, lacking=True)
        people = problem.population(x, wished(problem.schema, x, seed) if seed else None)
        boxes = ForestBoxes.of(problem)
        got, best = boxes.search(people), least_cost(problem, people)
        found = got.end == End.FOUND
        np.testing.assert_array_equal(found, np.isfinite(best))
        np.testing.assert_array_equal(got.proved, np.isinf(best))
        np.testing.assert_allclose(got.bound[found], best[found], rtol=1e-12)
        told += (np.isnan(people.x) & ~np.isnan(got.after))[found].any(1).sum()
        cutoff = np.where(found, best * 1.5, 9.0)
        np.testing.assert_allclose(boxes.least_cost(people, cutoff), np.minimum(best, cutoff), rtol=1e-12)
        for limit in (1, 4, 20):
            few = boxes.search(people, limit=limit)
            assert (few.bound <= best * (1 + 1e-12)).all() and not (few.proved & np.isfinite(best)).any()
            assert (boxes.least_cost(people, cutoff, limit) <= best * (1 + 1e-12)).all()
    assert told > 1


def test_more_that_is_missing_than_ways_are_searched_claims_no_proof(monkeypatch):
    from wayforward.methods.engines.exact import forest_boxes

    problem, x = refused("rf", 1, (), lacking=True)
    x = np.where(np.isin(np.arange(x.shape[1]), [0, 2, 3]), np.nan, x)
    x = x[~problem.reached(x)[0]]
    people, boxes = problem.population(x), ForestBoxes.of(problem)
    best = least_cost(problem, people)
    whole = boxes.search(people)
    np.testing.assert_array_equal(whole.end == End.FOUND, np.isfinite(best))
    monkeypatch.setattr(forest_boxes, "_WAYS", 2)
    few = boxes.search(people)
    assert (few.bound <= best * (1 + 1e-12)).all() and not few.proved.any()
    assert (boxes.least_cost(people, np.full(len(x), 9.0)) <= best * (1 + 1e-12)).all()
    assert (few.bound < best).any()


def test_a_deadline_holds_inside_of_compiled_searches():
    """Whoever is searched for has boxes for half of the time that is left, by how fast the last ones went."""
    problem, x = refused("rf", 2, RULES[3])
    people, boxes = problem.population(x), ForestBoxes.of(problem)
    whole = boxes.search(people)
    boxes.pace = 1e-3
    with until(now() + 100.0):
        first = boxes.search(people.take(np.arange(1)))
    assert first.looked[0] <= 2 < whole.looked[0] and first.bound[0] <= whole.bound[0]
    with until(now() + 1_000.0):
        again = boxes.search(people)  # it went faster than that
    np.testing.assert_array_equal(again.end[5:], whole.end[5:])
    np.testing.assert_array_equal(again.after[5:], whole.after[5:])
    with pytest.raises(OutOfTime), until(now() - 1.0):
        boxes.search(people)


def test_a_row_exactly_at_the_threshold_is_a_yes():
    for seed in range(3):
        problem, _ = refused("rf", seed, ())
        levels = np.unique(problem.model.outputs(EVERY)[:, 1])
        for level in levels[:: max(len(levels) // 6, 1)][1:]:
            tied = Problem(problem.schema, problem.model, Target(1, threshold=float(level)), data=EVERY)
            people = tied.population(EVERY[~tied.reached(EVERY)[0]][:24])
            got, best = ForestBoxes.of(tied).search(people), least_cost(tied, people)
            assert not (got.proved & np.isfinite(best)).any()
            found = got.end == End.FOUND
            assert found[np.isfinite(best)].all()
            np.testing.assert_allclose(got.bound[found], best[found], rtol=1e-9)


def test_what_is_dearer_than_what_somebody_has_is_not_looked_for():
    problem, x = refused("gb", 0, ())
    people, boxes = problem.population(x), ForestBoxes.of(problem)
    best = least_cost(problem, people)
    at = np.flatnonzero(np.isfinite(best))
    some = people.take(at)
    same, more = boxes.search(some, cutoff=best[at]), boxes.search(some, cutoff=best[at] * 1.001)
    assert (same.end == End.NONE_EXISTS).all() and not same.proved.any()
    assert (more.end == End.FOUND).all()


def test_a_search_that_stops_early_says_how_cheap_an_option_can_be():
    problem, x = refused("rf", 2, RULES[3])
    people, boxes = problem.population(x), ForestBoxes.of(problem)
    best = least_cost(problem, people)
    for limit in (1, 3, 10):
        got = boxes.search(people, limit=limit)
        assert (got.looked <= 2 * limit + 2).all()
        assert (got.bound <= best + 1e-12).all()
        assert not (got.proved & np.isfinite(best)).any()
    assert (boxes.search(people, limit=1).end == End.OPEN).any()


def test_values_between_numbers_keep_a_rule_that_couples_them():
    schema = Schema(
        (
            Feature(name="have", kind="real", low=0, high=10),
            Feature(name="owe", kind="real", low=0, high=10),
        ),
        rules=("after.owe <= 0.7 * after.have - 1",),
    )
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 10, (600, 2))
    problem = Problem(
        schema, train("gb", schema, data, (data[:, 1] > 4).astype(int), seed=0), Target(1), data=data
    )
    x = np.array([[6.0, 1.0], [2.0, 0.3], [9.0, 2.0]])
    people = problem.population(x)
    got = ForestBoxes.of(problem).search(people)
    assert (got.end == End.FOUND).all()
    # owing about 4 needs about 5 / 0.7 to be had
    assert got.after[:, 1] == pytest.approx([4, 4, 4], abs=0.3)
    np.testing.assert_allclose(got.after[:2, 1], 0.7 * got.after[:2, 0] - 1, atol=1e-6)
    assert got.after[2, 0] == 9.0


@pytest.mark.parametrize("k", [1, 3])
def test_local_search_begins_with_it(k):
    """Of a forest nobody is left between found and proved, and the first option is the cheapest there is."""
    problem, x = refused("rf", 1, RULES[3])
    got = method("local-search").fit(problem).recommend(x, k, seed=0)
    best = least_cost(problem, problem.population(x))
    np.testing.assert_allclose(got.cost[got.found[:, 0], 0], best[np.isfinite(best)], rtol=1e-12)
    assert [end.name for end in got.outcome[:, 0]] == [
        "FOUND" if ok else "NONE_EXISTS" for ok in np.isfinite(best)
    ]


def test_an_answer_depends_on_the_person_alone():
    problem, x = refused("gb", 3, RULES[1])
    boxes = ForestBoxes.of(problem)
    together = boxes.search(problem.population(x))
    for i in (0, 7, 23):
        alone = boxes.search(problem.population(x[i : i + 1]))
        np.testing.assert_array_equal(alone.after[0], together.after[i])
        assert (alone.end[0], alone.looked[0]) == (together.end[i], together.looked[i])


def test_who_stands_next_to_a_threshold_moves_by_what_counts_as_a_change():
    """A value nearer than the slack is the same value, so it is no option, and nobody is lost for it."""
    schema = Schema((Feature(name="debt", kind="real", low=0, high=10, direction="decrease"),))
    data = np.random.default_rng(0).uniform(0, 10, (300, 1))
    problem = Problem(
        schema, train("gb", schema, data, (data[:, 0] < 4).astype(int), seed=0), Target(1), data=data
    )
    row = data[~problem.reached(data)[0]].min(0, keepdims=True)
    near, far = float(data[problem.reached(data)[0]].max()), float(row[0, 0])
    while np.nextafter(near, far) < far:  # the last yes and the first no
        middle = (near + far) / 2
        yes = problem.reached(np.array([[middle]]))[0][0]
        near, far = (middle, far) if yes else (near, middle)
    x = far + np.array([[0.0], [0.3], [0.9]]) * schema.slack
    got = method("local-search").fit(problem).recommend(x, 1, seed=0)
    assert got.found.all()
    np.testing.assert_allclose(got.action[:, 0, 0], x[:, 0] - schema.slack[0], atol=0.02 * schema.slack[0])


def test_no_proof_leaves_out_what_the_judge_lets_pass_for_the_least_change():
    """By the slack less than the least change is enough, and the only yes may lie right there."""
    from sklearn.ensemble import RandomForestClassifier

    from wayforward.model import wrap

    schema = Schema((Feature(name="debt", kind="real", low=-1000, high=1000, least_change=1.0),))
    sliver = np.array([[-1000.0], [0.0], [1 - 2.5e-6], [1 - 1e-6], [1 + 0.5e-6], [1000.0]])
    forest = RandomForestClassifier(n_estimators=1, bootstrap=False, random_state=0)
    model = wrap(forest.fit(sliver, [0, 0, 0, 1, 0, 0]), schema)
    problem = Problem(schema, model, Target(1), data=sliver)
    x, option = np.zeros((1, 1)), np.array([[[1 - 0.8e-6]]])
    assert problem.check(x, option, 1).found.all()
    got = ForestBoxes.of(problem).search(problem.population(x))
    assert not got.proved.any()


def test_a_level_that_a_rule_forbids_has_to_go():
    """Also of a feature that the forest never asks about; who cannot change it has no option, which is proved."""
    from sklearn.ensemble import RandomForestClassifier

    from wayforward.model import wrap

    rules = ("after.home in {'own', 'rent'}", "after.old == 0")
    schema = Schema(FEATURES, rules=rules)
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    model = wrap(forest.fit(EVERY[:, :2] @ np.eye(2, 6), (EVERY[:, 0] + EVERY[:, 1] > 5).astype(int)), schema)
    problem = Problem(schema, model, Target(1), data=EVERY)
    x = EVERY[~problem.reached(EVERY)[0]][::7]
    people = problem.population(x)
    got, best = ForestBoxes.of(problem).search(people), least_cost(problem, people)
    assert np.isfinite(best[x[:, 4] == 0]).all() and np.isinf(best[x[:, 4] == 1]).all()
    np.testing.assert_array_equal(got.end == End.FOUND, np.isfinite(best))
    np.testing.assert_array_equal(got.proved, np.isinf(best))
    np.testing.assert_allclose(got.bound[np.isfinite(best)], best[np.isfinite(best)], rtol=1e-12)
    said = method("local-search").fit(problem).recommend(x, 1, seed=0)
    np.testing.assert_allclose(said.cost[:, 0], best, rtol=1e-12)


def test_a_rule_about_more_levels_than_bits_proves_nothing():
    """Who lives where a rule forbids may move, though the forest does not read where somebody lives."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    for count in (62, 63, 70):
        places = Feature(name="place", kind="categorical", levels=tuple(f"p{i}" for i in range(count)))
        numbers = [Feature(name=name, kind="integer", low=0, high=9) for name in "ac"]
        schema, rng = Schema((*numbers, places), rules=("after.place != 'p3'",)), np.random.default_rng(0)
        data = np.stack([rng.integers(0, high, 300) for high in (10, 10, count)], 1).astype(float)
        forest = RandomForestClassifier(4, max_depth=3, random_state=0)
        model = make_pipeline(ColumnTransformer([("kept", "passthrough", ["a", "c"])]), forest)
        model.fit(schema.decode(data), (data[:, 0] + data[:, 1] > 11).astype(int))
        problem = Problem(schema, model, Target(1), data=data)
        got = recommend(problem, np.array([[2.0, 3, 3], [2, 3, 5]]), certify=True)
        assert got.found[:, 0].all() and (got.bound[:, 0] <= got.cost[:, 0] * (1 + 1e-9)).all()
        assert got.acted[:, 0, 2].tolist() == [True, False]
