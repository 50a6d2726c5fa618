"""Reasons are those of brute force on lattices, and the duals of options: each option acts on some feature of each."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.lattices import lattice, legal_actions

import wayforward as wf
from wayforward.answers import letter, report
from wayforward.answers.reason_set_text import reason_set_lines
from wayforward.errors import DataError, ProblemError
from wayforward.methods.reason_sets import reason_sets
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.recourse import Recourse
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

pytest.importorskip("sklearn")


@lru_cache(maxsize=64)
def lattice_problem(kind, seed, rules):
    rng = np.random.default_rng(seed)
    features = (
        Feature(name="a", kind="integer", low=0, high=3),
        Feature(name="b", kind="integer", low=0, high=3, direction="increase"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
        Feature(name="d", kind="ordinal", levels=("l", "m", "h"), direction="decrease"),
        Feature(name="e", kind="integer", low=0, high=3),
    )
    told = ((), ("after.a + after.b <= 4", "at most 3 changes"))[rules]
    columns = rng.integers(0, 4, (300, 2)), rng.integers(0, 3, (300, 2)), rng.integers(0, 4, 300)
    x = np.column_stack(columns).astype(float)
    score = x @ np.array([0.4, 0.5, 0.3, -0.6, 0.3]) + rng.normal(0, 0.4, 300)
    return lattice(kind, seed, features, told, x, score, refused=0.85)


def by_force(problem, people, i, holds=False):
    """All irreducible reasons of person i: minimal sets of features that every option on the lattice acts on."""
    action, after = legal_actions(problem, people, i, holds)
    action = action[problem.reached(after)[0]]
    options = {frozenset(np.flatnonzero(row).tolist()) for row in ~np.isnan(action)}
    may = np.flatnonzero(people.may[i]).tolist()
    meeting = [
        frozenset(some)
        for size in range(len(may) + 1)
        for some in itertools.combinations(may, size)
        if all(set(some) & option for option in options)
    ]
    return {one for one in meeting if not any(other < one for other in meeting)}


@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    kind=st.sampled_from(["rf", "lr", "gb"]), seed=st.integers(0, 2), rules=st.integers(0, 1),
    start=st.integers(0, 60), most=st.integers(1, 5),
)  # fmt: skip
def test_reasons_are_those_of_brute_force(kind, seed, rules, start, most):
    problem, data = lattice_problem(kind, seed, rules)
    x = data[~problem.reached(data)[0]][start : start + 5]
    wishes = Preferences.none(problem.schema, len(x)).at_most(most)
    found = wf.recommend(problem, x, k=2, seed=0, preferences=wishes)
    people = problem.population(x, wishes)
    for i, got in enumerate(reason_sets(found, most=50)):
        assert got.exact and got.complete
        assert {frozenset(one) for one in got.sets} == by_force(problem, people, i)
        assert [len(one) for one in got.sets] == sorted(len(one) for one in got.sets)
        for option in np.flatnonzero(found.found[i]):
            acts = set(np.flatnonzero(found.acted[i, option]).tolist())
            assert all(acts & set(one) for one in got.sets)
    few = reason_sets(found, most=1)
    assert [one.sets for one in few] == [one.sets[:1] for one in reason_sets(found, most=50)]


@pytest.mark.parametrize("kind", ["forest", "linear"])
def test_without_its_reasons_nobody_has_an_option_and_with_less_of_them_everybody(kind):
    it = case(kind, seed=1)
    x = it.x[~it.problem.reached(it.x)[0]][:8]
    found = wf.recommend(it.problem, x, k=1, seed=0)
    sets = reason_sets(found, most=2)
    assert all(one.exact for one in sets)
    names = it.problem.schema.names
    for i, one in enumerate(sets):
        for reason in one.sets:
            for left_out in (None, *reason):
                frozen = [names[j] for j in reason if j != left_out]
                wishes = Preferences.none(it.problem.schema, 1).freeze(*frozen)
                got = wf.recommend(it.problem, x[[i]], preferences=wishes, seed=0)
                assert got.outcome[0, 0].name == ("NONE_EXISTS" if left_out is None else "FOUND")


def test_without_bounds_reasons_are_by_search_and_say_so():
    real = {"kind": "real", "low": 0, "high": 1}
    schema = Schema((Feature(name="a", **real), Feature(name="b", **real)))
    model = wf.wrap(lambda rows: (rows[:, 0] > 0.8).astype(int), schema, output="label", classes=(0, 1))
    data = np.random.default_rng(0).random((100, 2))
    problem = Problem(schema, model, Target(favourable=1), data=data)
    (got,) = reason_sets(wf.recommend(problem, np.array([[0.2, 0.5]]), seed=0), most=1)
    assert got.sets == ((0,),) and not got.exact
    (line,) = reason_set_lines(schema, got)
    assert line == "As long as your a stays as it is, we found nothing else that turns the answer."


def test_letters_and_reports_say_what_keeps_the_no_and_every_plan_changes_some_of_it(tmp_path):
    pytest.importorskip("babel")
    it = case("forest", seed=1)
    x = it.x[~it.problem.reached(it.x)[0]][:6]
    found = wf.recommend(it.problem, x, k=2, seed=0)
    for i, got in enumerate(reason_sets(found, most=2)):
        english, german = (
            letter(it.problem, found, i, keeping=got, language=language) for language in ("en", "de")
        )
        for features in got.sets:
            names = [it.problem.schema.features[j].name for j in features]
            if len(names) == 1:
                text = f"As long as your {names[0]} stays as it is, nothing else"
                assert f"„{names[0]}“ so bleibt" in german
            else:
                listed = ", ".join(f"your {name}" for name in names[:-1])
                comma = "," if len(names) > 2 else ""
                text = f"As long as {listed}{comma} and your {names[-1]} stay as they are, nothing else"
            assert text in english
            changed = found.rounded.acted[i][found.rounded.found[i]]
            assert changed[:, list(features)].any(1).all()
    page = report(it.problem, found, tmp_path / "page.html", keeping=reason_sets(found, most=2)).read_text(
        "utf-8"
    )
    assert "What keeps the answer a no" in page and "Proved for 6 of 6 people who were refused" in page
    assert f"As long as your {names[0]}" in page or f"As long as {listed}" in page
    with pytest.raises(DataError, match="of 1 people, the recourse 6"):
        report(it.problem, found, tmp_path / "page.html", keeping=reason_sets(found[:1]))
    nothing = Preferences.none(it.problem.schema, 1).freeze(*it.problem.schema.names)
    fixed = wf.recommend(it.problem, x[:1], preferences=nothing, seed=0)
    (got,) = reason_sets(fixed)
    assert got.sets == ((),) and got.exact and got.complete
    assert reason_set_lines(it.problem.schema, got, "de") == [
        "Nichts, was Sie tun dürfen, ändert die Antwort. Das ist bewiesen."
    ]


def test_nobody_accepted_has_reasons_and_errors_say_what_to_do(tmp_path):
    problem, data = lattice_problem("lr", 0, 0)
    yes = problem.reached(data)[0]
    x = np.concatenate([data[yes][:1], data[~yes][:1]])
    found = wf.recommend(problem, x, seed=0)
    first, second = reason_sets(found)
    assert first.sets == () and second.sets
    with pytest.raises(DataError, match="Ask for 1 or more"):
        reason_sets(found, most=0)
    with pytest.raises(ProblemError, match="Ask again"):
        reason_sets(Recourse.load(found.save(tmp_path / "a.json")))


def test_what_has_to_be_held_is_a_reason():
    """More income eats savings, point by point, unless these are held, which alone makes a yes possible."""
    schema = Schema(
        (
            Feature(name="income", kind="integer", low=0, high=100),
            Feature(name="savings", kind="integer", low=0, high=50),
        )
    )
    model = wf.wrap(lambda rows: 1 / (1 + np.exp((119.5 - rows.sum(1)) / 10)), schema)
    data = np.random.default_rng(0).integers(0, (101, 51), (300, 2)).astype(float)
    world = wf.SCM({"income": "u", "savings": "u - income"})
    problem = Problem(schema, model, Target(1), data=data, world=world)
    found = wf.recommend(problem, np.array([[50.0, 50], [60, 50]]), seed=0)
    people = problem.population(found.x)
    for i, one in enumerate(reason_sets(found)):
        assert (
            set(map(frozenset, one.sets))
            == by_force(problem, people, i, holds=True)
            == {
                frozenset([0]),
                frozenset([1]),
            }
        )
        assert one.complete
