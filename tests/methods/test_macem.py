"""macem: elastic-net changes by asking alone; categories along their frequencies, or by drawn levels."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.methods.engines.gradient.categories import Frequencies, Sampled, level_shares
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.macem import Macem
from wayforward.testing import MethodContract, case


class TestSampled(MethodContract):
    method = "macem"
    parameters = {"constants": 3, "steps": 16}
    finds = 0.7


@pytest.mark.parametrize("categories", ["frequency", "sampled"])
@pytest.mark.parametrize(("kind", "share"), [("linear", 1.0), ("forest", 0.95)])
def test_costs_are_near_those_of_cem_and_nearly_everybody_is_served(kind, share, categories):
    """Linear: within 5 % of `cem` with its gradients. Forest: at least .95 of those whom it serves."""
    it = case(kind, "independent", 0, 40)
    some = it.x[it.refused]
    base = wf.recommend(it.problem, some, method="cem")
    got = wf.recommend(it.problem, some, method=Macem(categories=categories))
    both = base.found[:, 0] & got.found[:, 0]
    assert both.sum() >= share * base.found[:, 0].sum()
    if kind == "linear":
        assert got.cost[both, 0].mean() == pytest.approx(base.cost[both, 0].mean(), rel=0.05)


def setting(kind="linear"):
    it = case(kind, "independent", 0, 24)
    people = it.problem.population(it.x[it.refused])
    return it.problem, people


def test_a_level_is_as_far_away_as_its_share():
    """A move of half the distance of two shares lands on the nearer level; the own level where nothing moves."""
    problem, people = setting()
    found = Frequencies(problem, range_widths(problem))
    j = problem.schema.index("housing")
    share = level_shares(problem, np.array([j]))[0, :3]
    place = (share - share.min()) / (share.max() - share.min())
    state = found.start(people, np.arange(people.n), people.free)
    assert np.isnan(found.hard(people, state)[:, j]).all()
    for to in range(3):
        own = people.x[:, j].astype(int)
        state.move[:, j] = place[to] - place[own] + 1e-6
        level = np.where(np.isnan(found.hard(people, state)[:, j]), own, found.hard(people, state)[:, j])
        np.testing.assert_array_equal(level, to)


def test_slopes_of_a_linear_score_are_its_differences():
    """Along frequencies: the difference of the neighbours over their distance. Drawn: near the one-by-one slopes."""
    problem, people = setting()
    who = np.arange(people.n)
    along = Frequencies(problem, range_widths(problem))
    state = along.start(people, who, people.free)
    score, move, _ = along(people, state)
    j = problem.schema.index("housing")
    place = along.at[list(along.mapped).index(j), :3]
    worth = np.stack(
        [people.score(who, people.after(who, only(people, j, level))) for level in range(3)], axis=1
    )
    order = np.argsort(place)
    rank = np.argsort(order)[people.x[:, j].astype(int)]
    ends = order[np.clip(rank + 1, 0, 2)], order[np.clip(rank - 1, 0, 2)]
    expected = (worth[who, ends[0]] - worth[who, ends[1]]) / (place[ends[0]] - place[ends[1]])
    np.testing.assert_allclose(move[:, j], np.where(people.free[:, j], expected, 0.0), atol=1e-6)
    drawn = Sampled(problem, range_widths(problem), draws=4000)
    one_by_one = problem_slopes(problem, people)
    share = drawn(people, drawn.start(people, who, people.free))[2]
    np.testing.assert_allclose(share, one_by_one, atol=0.15)


def only(people, j, level):
    action = np.full(people.x.shape, np.nan)
    action[:, j] = np.where(people.x[:, j] == level, np.nan, level)
    return action


def problem_slopes(problem, people):
    from wayforward.methods.engines.gradient.zeroth import Zeroth

    found = Zeroth(problem, range_widths(problem))
    return found(people, found.start(people, np.arange(people.n), people.free))[2]


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"categories": "some"}])
def test_parameters_out_of_bounds_are_named(wrong):
    """One error each."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        Macem(**wrong)
