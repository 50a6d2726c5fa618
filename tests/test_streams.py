"""A person's random numbers hang on the seed and on that person alone."""

from __future__ import annotations

import numpy as np
from scipy import stats

from wayforward.streams import Streams, keys_of


def test_numbers_do_not_depend_on_the_batch_or_its_order():
    x = np.random.default_rng(0).normal(size=(50, 4))
    everyone = Streams.of(x, 7).uniform(np.arange(50), 3, 2, tag=5)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(
        Streams.of(x[order], 7).uniform(np.arange(50), 3, 2, tag=5), everyone[order]
    )
    np.testing.assert_array_equal(Streams.of(x[3:4], 7).uniform(np.arange(1), 3, 2, tag=5), everyone[3:4])


def test_seeds_tags_and_people_give_other_numbers():
    x = np.random.default_rng(0).normal(size=(2, 3))
    one = Streams.of(x, 0).uniform(np.arange(2), 8)
    assert not np.isin(one, Streams.of(x, 1).uniform(np.arange(2), 8)).any()
    assert not np.isin(one, Streams.of(x, 0).uniform(np.arange(2), 8, tag=1)).any()
    assert len(np.unique(one)) == one.size
    assert len(np.unique(keys_of(np.arange(4000.0).reshape(2000, 2), 0))) == 2000


def test_numbers_are_uniform_and_normal():
    x = np.arange(200.0)[:, None]
    streams = Streams.of(x, 3)
    assert stats.kstest(streams.uniform(np.arange(200), 100).ravel(), "uniform").pvalue > 0.001
    assert stats.kstest(streams.normal(np.arange(200), 100).ravel(), "norm").pvalue > 0.001
    across = streams.uniform(np.arange(200), 100)
    assert np.abs(np.corrcoef(across[:-1].ravel(), across[1:].ravel())[0, 1]) < 0.03


def test_minus_zero_is_zero_and_generators_repeat():
    assert (keys_of(np.array([[0.0]]), 1) == keys_of(np.array([[-0.0]]), 1)).all()
    streams = Streams.of(np.array([[1.0], [2.0]]), 0)
    assert streams.generator(1).random() == streams.take(np.array([1])).generator(0).random()
