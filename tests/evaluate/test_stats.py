"""Intervals: Wilson's published closed form, a bootstrap that covers, and denominators that never vanish."""

import numpy as np
import pytest

from wayforward.evaluate import stats


def test_wilson_matches_the_published_example():
    """Newcombe (1998), Statistics in Medicine 17: 81 of 263 has the score interval .2553 to .3662."""
    low, high = stats.wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_wilson_stays_inside_at_the_ends():
    """Newcombe (1998): 0 of 20 has the interval 0 to .1611."""
    low, high = stats.wilson(0, 20)
    assert low == 0.0 and round(high, 4) == 0.1611
    low, high = stats.wilson(20, 20)
    assert high == 1.0 and round(low, 4) == 1 - 0.1611


def test_rate_counts_only_the_rows_it_is_told_to():
    got = stats.rate(np.array([1, 0, 1, 1], bool), np.array([1, 1, 1, 0], bool))
    assert got.n == 3 and got.value == pytest.approx(2 / 3)


def test_nothing_measured_is_nan_and_not_zero():
    got = stats.rate(np.array([], bool))
    assert got.n == 0 and np.isnan(got.value) and got.to_dict()["value"] is None
    assert stats.mean(np.array([np.nan, np.inf])).n == 0


def test_mean_ignores_missing_and_infinite_and_says_how_many_remain():
    got = stats.mean(np.array([1.0, 2.0, np.nan, np.inf, 6.0]))
    assert (got.value, got.n, got.median) == (3.0, 3, 2.0)
    assert got.low <= 3 <= got.high


def test_bootstrap_is_seeded_and_close_to_the_normal_interval():
    values = np.random.default_rng(3).normal(size=2000)
    one, two = stats.mean(values, seed=5), stats.mean(values, seed=5)
    assert one == two
    half = 1.96 * values.std() / np.sqrt(2000)
    assert one.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert one.high == pytest.approx(values.mean() + half, abs=0.15 * half)


def test_bootstrap_interval_covers_the_truth_as_often_as_it_claims():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        got = stats.mean(rng.exponential(size=80), seed=trial, resamples=300)
        covered += got.low <= 1.0 <= got.high
    assert 0.87 <= covered / 200 <= 0.99


def test_all_metrics_share_resamples_so_a_metric_alone_equals_itself_among_others():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=50), rng.normal(size=50)
    b[:20] = np.nan
    both = stats.means({"a": a, "b": b}, seed=2)
    alone = stats.mean(a, seed=2)
    assert (both["a"].low, both["a"].high) == pytest.approx((alone.low, alone.high), abs=1e-12)
    assert both["b"].n == 30


def test_difference_of_means_resamples_within_groups():
    a, b = np.full(10, 3.0), np.full(5, 1.0)
    got = stats.mean_difference(a, b)
    assert (got.value, got.low, got.high, got.n) == (2.0, 2.0, 2.0, 15)


def test_a_large_population_uses_the_normal_interval_and_agrees_with_the_bootstrap(monkeypatch):
    values = np.random.default_rng(4).gamma(2.0, size=5000)
    boot = stats.mean(values, seed=1)
    monkeypatch.setattr(stats, "NORMAL_ABOVE", 100)
    normal = stats.mean(values, seed=1)
    assert normal.low == pytest.approx(boot.low, abs=0.01)
    assert normal.high == pytest.approx(boot.high, abs=0.01)
