"""comte: a classifier of one series gives that series; sets are as small as brute force's; limits hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.recourse import Outcome
from wayforward.testing import MethodContract

RNG = np.random.default_rng(0)


class TestComte(MethodContract):
    method = "comte"
    parameters = {"restarts": 2}
    kinds = ("linear", "forest", "network")
    finds = 0.9
    people = 10


def tangled(seed, channels, people=40):
    """Probabilities of two classes by a score with pairs of channels in it, and series (n, channels, 5)."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(size=channels), rng.normal(size=(channels, channels)) * 2 / channels
    series = rng.normal(size=(people, channels, 5)) + rng.normal(size=(people, channels, 1)) * 1.5

    def score(given):
        level = np.tanh(given.mean(2))
        return level @ single + np.einsum("mi,ij,mj->m", level, pairs, level)

    bar = np.quantile(score(series), 0.7)

    def probability(given):
        return 1 / (1 + np.exp(-2 * (score(given) - bar)))

    return probability, series


def all_sets(asked, series, probability):
    """The smallest set of channels from one of the distractors, by trying all; inf where none turns the decision."""
    channels = series.shape[0]
    sets = np.array(list(itertools.product((False, True), repeat=channels)))
    smallest = np.inf
    for other in asked.units.fill(series):
        mixed = np.where(sets[:, :, None], other, series)
        turned = probability(mixed) > 0.5
        smallest = min(smallest, sets.sum(1)[turned].min(initial=99))
    return smallest


@pytest.mark.parametrize("decisive", [0, 3])
def test_of_a_classifier_that_reads_one_series_it_is_that_series(decisive):
    """The fixture: whatever else differs, one channel is replaced, and by a series that the model says yes to."""
    series = RNG.normal(size=(60, 5, 8))
    asked = wf.SeriesProblem(
        lambda given: np.clip(given[:, decisive].mean(1) + 0.5, 0.01, 0.99), series, favourable=1
    )
    for exhaustive in (0, 12):
        got = asked.recommend(series, "comte", exhaustive=exhaustive)
        refused = np.flatnonzero(got.recourse.refused)
        assert len(refused) > 10 and got.recourse.found[refused, 0].all()
        assert all(got.changed(i) == [decisive] for i in refused)


@pytest.mark.parametrize(("channels", "seed"), [(4, 0), (8, 1), (12, 2)])
def test_sets_are_as_small_as_those_of_brute_force(channels, seed):
    """All 16 to 4,096 sets of channels with each of three distractors, on a score with products of channels."""
    probability, series = tangled(seed, channels)
    asked = wf.SeriesProblem(probability, series, favourable=1, distractors=3)
    got = asked.recommend(series, "comte", distractors=3)
    refused = np.flatnonzero(got.recourse.refused)[:10]
    assert len(refused) == 10
    for i in refused:
        assert len(got.changed(i)) == all_sets(asked, series[i], probability)


def test_as_published_it_is_never_worse_than_all_of_the_distractor_and_mostly_smallest():
    probability, series = tangled(3, 10)
    asked = wf.SeriesProblem(probability, series, favourable=1)
    got = asked.recommend(series, "comte", exhaustive=0)
    refused = np.flatnonzero(got.recourse.refused)
    assert got.recourse.found[refused, 0].all()
    sizes = [len(got.changed(i)) for i in refused]
    assert max(sizes) <= 10
    best = [all_sets(asked, series[i], probability) for i in refused]
    assert np.mean(np.array(sizes) == best) > 0.9


def test_an_option_is_of_one_distractor_and_options_differ():
    probability, series = tangled(4, 6)
    asked = wf.SeriesProblem(probability, series, favourable=1, distractors=3)
    got = asked.recommend(series, "comte", k=3)
    several = 0
    for i in np.flatnonzero(got.recourse.found[:, 0]):
        for option in got.options(i):
            levels = got.recourse.action[i, option]
            assert len(np.unique(levels[~np.isnan(levels)])) == 1
            first = got.source(i, option)[0]
            mask = got.mask(i, option)
            np.testing.assert_array_equal(got.after(i, option), np.where(mask, first, series[i]))
        several += len(got.options(i)) > 1
    assert several > 5


def test_what_stays_stays_and_no_more_change_than_allowed():
    probability, series = tangled(5, 6)
    asked = wf.SeriesProblem(probability, series, favourable=1, channels=list("abcdef"), keep=["a"])
    got = asked.recommend(series, "comte", keep=["c", 4], most=2, k=2)
    found = np.flatnonzero(got.recourse.found[:, 0])
    assert len(found) > 3
    for i in found:
        for option in got.options(i):
            changed = set(got.changed(i, option))
            assert not changed & {0, 2, 4} and len(changed) <= 2
    for i in np.flatnonzero(got.recourse.refused & ~got.recourse.found[:, 0]):
        # of the free channels b, d, f at most two, each from any of two distractors: nothing turns the decision
        fills = asked.units.fill(series[i])
        for mixed in itertools.product((0, 1, 2), repeat=3):
            if sum(level > 0 for level in mixed) <= 2:
                tried = series[i].copy()
                for channel, level in zip((1, 3, 5), mixed, strict=True):
                    if level:
                        tried[channel] = fills[level - 1][channel]
                assert probability(tried[None])[0] <= 0.5
        assert got.recourse.outcome[i, 0] is Outcome.NONE_EXISTS


def test_a_series_has_the_same_bits_alone_and_in_any_order():
    probability, series = tangled(6, 14)
    asked = wf.SeriesProblem(probability, series, favourable=1)
    got, order = asked.recommend(series, "comte", k=2, seed=4), np.random.default_rng(1).permutation(40)
    other = asked.recommend(series[order], "comte", k=2, seed=4)
    np.testing.assert_array_equal(other.recourse.action[:, :, 1:], got.recourse.action[order][:, :, 1:])
    alone = asked.recommend(series[7:8], "comte", k=2, seed=4)
    np.testing.assert_array_equal(alone.recourse.action[0], got.recourse.action[7])


def test_a_budget_bounds_the_rows_of_the_model():
    probability, series = tangled(7, 12)
    asked = wf.SeriesProblem(probability, series[:30], favourable=1)
    problem = asked.problem(series[0])
    x = asked.rows(series)
    x = x[~problem.reached(x)[0]]
    before = problem.model.counter.rows
    got = wf.recommend(problem, x, "comte", budget=100)
    assert got.found[:, 0].mean() > 0.5
    assert problem.model.counter.rows - before < 300 * len(x)  # with the judge's own


def test_all_sets_of_many_units_are_no_setting():
    with pytest.raises(MethodError, match="exhaustive=30"):
        wf.method("comte", exhaustive=30)
