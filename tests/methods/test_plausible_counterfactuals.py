"""plausible-counterfactuals: nothing in a front beats another, fronts only get better, likely rows, its contract."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.methods import method
from wayforward.streams import Streams
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

NAME = "plausible-counterfactuals"
QUICK = {"population": 10, "generations": 5, "front": 12, "epochs": 4}


class TestContract(MethodContract):
    method = NAME
    parameters = QUICK
    finds = 0.9
    people = 8


def found(generations, **more):
    it = case("network", "independent", 0, 40)
    x = it.x[it.refused]
    fitted = method(NAME, **QUICK | {"generations": generations} | more).fit(it.problem)
    people = it.problem.population(x)
    return it, x, fitted.searched(people, Streams.of(x, 0), np.full(len(x), 20_000))


def test_nothing_in_a_front_beats_another_and_later_fronts_lose_nothing():
    """Mutually non-dominated by plain loops; each option of an earlier front is matched or beaten by a later one, so
    that the volume that the front dominates never falls."""
    fronts = [found(generations)[2] for generations in (1, 4, 9)]
    for front in fronts:
        for value, there in zip(front.value, front.there, strict=True):
            some = value[there]
            for i, one in enumerate(some):
                for j, other in enumerate(some):
                    assert i == j or not ((one <= other).all() and (one < other).any())
    for early, late in zip(fronts, fronts[1:], strict=False):
        for i in range(len(early.value)):
            before, after = early.value[i][early.there[i]], late.value[i][late.there[i]]
            for one in before:
                assert (after <= one).all(1).any()
    gained = [front.value[:, :, 2][front.there].min() for front in fronts]
    assert gained[2] < gained[0]  # something likelier was bred


def test_the_objectives_are_what_they_say():
    it, x, front = found(3)
    model = method(NAME, **QUICK).fit(it.problem).latent_.generator
    who, place = np.nonzero(front.there)
    after = it.problem.consequences(x[who], front.found.action[who, place])
    assert it.problem.reached(after)[0].all()
    chance = it.problem.model.outputs(after)[:, 1]
    np.testing.assert_allclose(front.value[who, place, 0], 1 - 2 * chance, atol=1e-6)
    np.testing.assert_allclose(front.value[who, place, 2], -model.log_bound(after, draws=1), atol=1e-6)


def test_the_likeliest_of_a_front_is_likelier_than_the_cheapest_option():
    it = case("network", "independent", 0, 40)
    x = it.x[it.refused]
    fitted = method(NAME, population=16, generations=10, epochs=12).fit(it.problem)
    got, cheap = fitted.recommend(x, 6, minimal=False), wf.recommend(it.problem, x)
    model = fitted.latent_.generator
    like = np.where(got.found, 0.0, -np.inf)
    like[got.found] = model.log_bound(got.after[got.found])
    both = got.found[:, 0] & cheap.found[:, 0]
    assert both.mean() > 0.9
    assert np.median(like.max(1)[both] - model.log_bound(cheap.after[both, 0])) > 0


def test_whole_rows_as_published_and_a_share_that_is_none():
    _, _, front = found(4, adopt="all")
    acts = ~np.isnan(front.found.action[front.there])
    assert acts.sum(1).mean() > 2
    with pytest.raises(MethodError, match="mutate=2"):
        method(NAME, mutate=2.0)
