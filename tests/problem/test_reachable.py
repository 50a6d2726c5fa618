"""What people can reach is what brute force lists, verdicts are those of brute force, and shares are counted."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.lattices import lattice, legal_actions

import wayforward as wf
from wayforward.errors import DataError
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.reachable import reachable_sets
from wayforward.problem.responsiveness import responsiveness
from wayforward.problem.verification import verify
from wayforward.schema import Feature, Schema

pytest.importorskip("sklearn")

REACH = Schema(  # F-REACH of the method catalogue
    (
        Feature(name="age", kind="integer", low=18, high=99, actionability="mutable"),
        Feature(name="married", kind="binary", levels=(0, 1), actionability="immutable"),
        Feature(name="years", kind="integer", low=0, high=50),
        Feature(name="b", kind="categorical", levels=("b1", "b2", "b3")),
    ),
    ("after.years >= before.years", "after.years <= before.years + 1", "years drags age by 1"),
)


def of_function(schema, yes, data):
    model = wf.wrap(lambda rows: yes(rows).astype(int), schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(favourable=1), data=data)


def test_the_published_example_has_exactly_six_points():
    x = np.array([[32.0, 1.0, 5.0, 0.0]])
    problem = of_function(REACH, lambda rows: rows[:, 0] >= 34, x)
    (found,) = reachable_sets(problem, x)
    assert found.complete
    expected = {(32.0 + step, 1.0, 5.0 + step, b) for step in (0, 1) for b in (0.0, 1.0, 2.0)}
    assert {tuple(row) for row in found.points.tolist()} == expected
    assert len(found) == 6
    got = verify(problem, x)
    assert got.certificate(0) == {"person": 0, "verdict": "none", "by": "listed", "judged": 8}


@lru_cache(maxsize=64)
def lattice_problem(kind, seed, rules):
    rng = np.random.default_rng(seed)
    features = (
        Feature(name="a", kind="integer", low=0, high=4),
        Feature(name="b", kind="integer", low=0, high=4, direction="increase"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z")),
        Feature(name="d", kind="ordinal", levels=("l", "m", "h"), direction="decrease"),
        Feature(name="e", kind="integer", low=0, high=9, actionability="immutable"),
    )
    told = (
        (), ("after.a + after.b <= 5",),
        ("at most 2 changes", "after.c == 'z' implies after.d != 'l'", "a drags b by 1"),
    )[rules]  # fmt: skip
    x = np.column_stack(
        [
            rng.integers(0, 5, 300),
            rng.integers(0, 5, 300),
            rng.integers(0, 3, (300, 2)),
            rng.integers(0, 10, 300),
        ]
    ).astype(float)
    score = x @ np.array([0.4, 0.5, 0.3, -0.4, 0.7]) + rng.normal(0, 0.5, 300)
    return lattice(kind, seed, features, told, x, score, refused=0.75)


@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    kind=st.sampled_from(["rf", "lr", "gb"]),
    seed=st.integers(0, 3),
    rules=st.integers(0, 2),
    most=st.integers(1, 4),
    start=st.integers(0, 60),
)
def test_sets_verdicts_and_shares_are_those_of_brute_force(kind, seed, rules, most, start):
    problem, data = lattice_problem(kind, seed, rules)
    x = data[~problem.reached(data)[0]][start : start + 4]
    wishes = Preferences.none(problem.schema, len(x)).at_most(most).forbid("c", "y", who=[0])
    people = problem.population(x, wishes)
    sets, verdict = reachable_sets(problem, x, wishes), verify(problem, x, wishes)
    shares = responsiveness(problem, x, wishes)
    for i in range(len(x)):
        action, after = legal_actions(problem, people, i)
        places = {tuple(x[i]), *map(tuple, after.tolist())}
        assert sets[i].complete
        assert len(sets[i]) == len(places)
        assert {tuple(row) for row in sets[i].points.tolist()} == places
        yes = problem.reached(after)[0] if len(after) else np.zeros(0, dtype=bool)
        assert verdict.verdict[i] == ("possible" if yes.any() else "none")
        if yes.any():
            assert problem.check(
                x[[i]], verdict.action[[i]][:, None], 1, preferences=wishes.take([i])
            ).found.all()
        for j in range(problem.schema.d):
            alone = (~np.isnan(action)).sum(1) == 1
            alone &= ~np.isnan(action[:, j]) & (action[:, j] != x[i, j])
            assert shares.values[i, j] == alone.sum()
            if alone.any():
                assert shares.share[i, j] == pytest.approx(yes[alone].mean())
                assert shares.exact[i, j]


def test_sets_without_an_end_are_not_complete_and_bounds_still_prove():
    from wayforward.model import train

    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=1),
            Feature(name="e", kind="real", low=0, high=9, actionability="immutable"),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.random(400), 9 * rng.random(400)])
    model = train("lr", schema, data, (data[:, 1] + data[:, 0] > 6).astype(int), seed=0)
    problem = Problem(schema, model, Target(favourable=1), data=data)
    x = np.array([[0.2, 1.0], [0.2, 5.6], [0.9, 9.0]])
    assert [one.complete for one in reachable_sets(problem, x)] == [False] * 3
    got = verify(problem, x)
    assert got.verdict.tolist() == ["none", "open", "accepted"]
    assert got.by[0] == "proved"
    found = wf.recommend(problem, x, seed=0)
    assert verify(problem, x, answer=found).verdict.tolist() == ["none", "possible", "accepted"]
    with pytest.raises(DataError, match="these people"):
        verify(problem, x, answer=found[:2])
    with pytest.raises(DataError, match="other people"):
        verify(problem, x, answer=found[[1, 0, 2]])
    frozen = Preferences.none(schema, 3).freeze("a")
    stuck = wf.recommend(problem, x, seed=0, preferences=frozen)
    assert verify(problem, x, frozen, answer=stuck).verdict.tolist() == ["none", "none", "accepted"]
    with pytest.raises(DataError, match="other preferences"):  # what is impossible there may be possible here
        verify(problem, x, answer=stuck)
    assert got.counts() == {
        "possible": 0, "none_listed": 0, "none_proved": 1, "open": 1, "accepted": 1,
    }  # fmt: skip
    shares = responsiveness(problem, x, samples=400)
    assert not shares.exact[1, 0]
    grid = np.column_stack([np.linspace(0, 1, 4001), np.full(4001, 5.6)])
    truth = problem.reached(grid)[0].mean()
    assert shares.low[1, 0] <= truth <= shares.high[1, 0]
    assert abs(shares.share[1, 0] - truth) < 0.01


def test_blocks_list_what_products_could_not():
    """Six blocks of eight values each: 262,144 places of which rules leave 3 ** 6."""
    names = [f"{letter}{n}" for n in range(6) for letter in "ab"]
    schema = Schema(
        tuple(Feature(name=name, kind="integer", low=0, high=7) for name in names),
        tuple(f"after.a{n} + after.b{n} <= 1" for n in range(6)),
    )
    x = np.zeros((1, 12))
    problem = of_function(schema, lambda rows: rows.sum(1) >= 7, x)
    (found,) = reachable_sets(problem, x, most=1000)
    assert found.complete
    assert len(found) == 3**6
    assert verify(problem, x, most=5000).verdict[0] == "none"


def test_an_answer_of_another_model_is_no_proof():
    """What that one accepts is no way here, and what it never accepts may be one."""
    schema = Schema((Feature(name="a", kind="integer", low=0, high=3),))
    never, late, soon = (
        Problem(schema, wf.wrap(lambda rows, at=at: rows[:, 0] >= at, schema, output="label"), Target(True))
        for at in (9, 3, 1)
    )
    x = np.zeros((1, 1))
    asked = {problem: wf.recommend(problem, x) for problem in (never, late, soon)}
    wanted = {never: "none", late: "possible", soon: "possible"}
    for problem, verdict in wanted.items():
        for answer in asked.values():
            got = verify(problem, x, answer=answer)
            assert got.verdict.tolist() == [verdict]
            assert verdict == "none" or problem.reached(got.action)[0].all()
