"""Profiles in mind: reachable, on the boundary, as far away as their scale says, the same alone and in any batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wayforward.errors import PreferencesError
from wayforward.evaluate.actions import proximity
from wayforward.people.ideal_profiles import draw_wanted
from wayforward.preferences import Preferences
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

SCHEMA = Schema(tuple(Feature(name=name, kind="real", low=0, high=1) for name in "abc"))


def threshold(rows: np.ndarray) -> np.ndarray:
    """A yes from a + b + c = 1.5 on."""
    return (np.asarray(rows, dtype=np.float64).sum(1) >= 1.5).astype(np.float64)


def simple(n: int = 200) -> tuple[Problem, Population]:
    from wayforward.model import wrap

    model = wrap(threshold, SCHEMA, output="probability", classes=(0, 1))
    problem = Problem(SCHEMA, model, Target(favourable=1))
    return problem, problem.population(np.random.default_rng(0).uniform(0, 0.45, size=(n, 3)))


def test_profiles_lie_on_the_boundary_of_a_known_model() -> None:
    problem, people = simple()
    for scale in ("near", "intermediate", "far"):
        wanted = draw_wanted(problem, people, scale)
        assert np.abs(wanted.sum(1) - 1.5).max() < 1e-6
        assert (wanted.sum(1) >= 1.5 - 1e-12).all()  # on the side of the yes


def test_scales_are_percentiles_and_ordered() -> None:
    problem, people = simple()
    far = {
        s: proximity(SCHEMA, people.x, draw_wanted(problem, people, s))
        for s in ("near", "intermediate", "far")
    }
    assert (far["near"] < far["intermediate"]).all()
    assert (far["intermediate"] < far["far"]).all()
    shortest = (1.5 - people.x.sum(1)) / np.sqrt(3)  # to the plane, straight
    assert (far["near"] >= shortest - 1e-9).all()
    assert far["near"].mean() < 1.2 * shortest.mean()


def test_a_radius_is_met_where_the_person_can_go_that_far() -> None:
    problem, people = simple()
    wanted = draw_wanted(problem, people, radius=0.9, n_paths=1024)
    gap = np.abs(proximity(SCHEMA, people.x, wanted) - 0.9)
    assert np.median(gap) < 0.02
    near = proximity(SCHEMA, people.x, draw_wanted(problem, people, radius=1e-6))
    assert (near <= proximity(SCHEMA, people.x, draw_wanted(problem, people, "near")) + 1e-12).all()


@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_profiles_can_be_reached_within_every_limit(kind: str, world: str) -> None:
    one = case(kind, world, 1, n=40)
    x = one.x[one.refused]
    schema = one.problem.schema
    wishes = replace(
        Preferences.none(schema, len(x)),
        max_changes=np.resize([1, 2, 9], len(x)),
        frozen=np.resize([True, False], (len(x), 1)) & (np.arange(schema.d) == schema.index("housing")),
    )
    people = one.problem.population(x, wishes)
    wanted = draw_wanted(one.problem, people)
    some = ~np.isnan(wanted).all(1)
    assert some.mean() > 0.6
    assert one.problem.reached(wanted[some])[0].all()
    assert not (schema.differs(wanted, x) & schema.immutable)[some].any()
    if world == "independent":  # the profile is the action itself, so the judge can be asked about it
        action = np.where(schema.differs(wanted, x), wanted, np.nan)
        judged = one.problem.check(x, action[:, None, :], preferences=wishes)
        assert (judged.found[:, 0] == some).all()


def test_numbers_only_leaves_levels_alone() -> None:
    one = case("linear", "independent", 1, n=60)
    people = one.problem.population(one.x[one.refused])
    schema = one.problem.schema
    both = draw_wanted(one.problem, people)
    some = ~np.isnan(both).all(1)
    assert (schema.differs(both, people.x)[some] & schema.has_levels).any()
    numbers = draw_wanted(one.problem, people, numbers_only=True)
    known = ~np.isnan(numbers).all(1)
    assert known.any()
    assert not (schema.differs(numbers, people.x)[known] & schema.has_levels).any()


def test_a_person_has_the_same_profile_alone_in_a_batch_and_permuted() -> None:
    one = case("network", "independent", 2, n=60)
    people = one.problem.population(one.x[one.refused])
    everyone = draw_wanted(one.problem, people, "intermediate", seed=4)
    order = np.random.default_rng(1).permutation(people.n)
    np.testing.assert_array_equal(
        draw_wanted(one.problem, people.take(order), "intermediate", seed=4), everyone[order]
    )
    for i in (0, 3):
        alone = draw_wanted(one.problem, people.take(np.array([i])), "intermediate", seed=4)
        np.testing.assert_array_equal(alone[0], everyone[i])
    assert (draw_wanted(one.problem, people, "intermediate", seed=5) != everyone).any()


def test_who_can_reach_nothing_has_no_profile() -> None:
    problem, people = simple(5)
    stuck = replace(Preferences.none(SCHEMA, 5), high=np.full((5, 3), 0.48))
    assert np.isnan(draw_wanted(problem, problem.population(people.x, stuck))).all()
    assert draw_wanted(problem, people.take(np.arange(0))).shape == (0, 3)


def test_scales_and_radii_that_mean_nothing_are_refused() -> None:
    problem, people = simple(3)
    with pytest.raises(PreferencesError, match="near, intermediate, far"):
        draw_wanted(problem, people, "distant")  # type: ignore[arg-type]
    with pytest.raises(PreferencesError, match="radius=-1"):
        draw_wanted(problem, people, radius=-1)
    with pytest.raises(PreferencesError, match="n_paths=0"):
        draw_wanted(problem, people, n_paths=0)
