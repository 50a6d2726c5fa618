"""moc: the volume under the front of all rows of a lattice, archives that only get better, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from wayforward import Feature, Problem, Schema, Target, wrap
from wayforward.methods import method
from wayforward.methods.engines.fronts import Front, crowding, fronts
from wayforward.methods.engines.population import Individuals
from wayforward.testing import MethodContract

EVERY = np.array(list(product(range(6), repeat=4)), dtype=float)


class TestContract(MethodContract):
    method = "moc"
    parameters = {"population": 12, "generations": 10, "front": 20}
    finds = 0.8
    people = 8


def lattice(seed):
    """A forest on 1,296 rows, 150 observed people, and people whom it refuses."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="integer", low=0, high=5) for j in range(4)))
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (300, 4)).astype(float)
    y = (x @ rng.normal(1, 0.4, 4) + 2 * (x[:, 0] > 3) * (x[:, 1] > 2) > 11.5).astype(int)
    forest = RandomForestClassifier(12, max_depth=5, random_state=seed).fit(x, y)
    problem = Problem(schema, wrap(forest, schema), Target(1), data=x[::2])
    return problem, EVERY[~problem.reached(EVERY)[0]][::60][:10]


def objectives(problem, x, rows):
    """(N, 3) Gower's distance, changes, and Gower's distance to the nearest observed person, in plain terms."""
    near = np.abs(rows[:, None] - problem.reference).mean(2).min(1) / 5
    return np.stack([np.abs(rows - x).mean(1) / 5, (rows != x).sum(1), near], 1).round(9)


def volume(value, corner):
    """The volume that options (N, 3) dominate before a corner: of each box of the grid that they make, its part."""
    value = value[(value < corner).all(1)]
    axes = [np.append(np.unique(value[:, o]), corner[o]) for o in range(3)]
    low = np.stack(np.meshgrid(*(axis[:-1] for axis in axes), indexing="ij"), -1).reshape(-1, 3)
    wide = np.stack(np.meshgrid(*(np.diff(axis) for axis in axes), indexing="ij"), -1).reshape(-1, 3)
    under = (value[None] <= low[:, None] + 1e-12).all(2).any(1)
    return float(wide[under].prod(1).sum())


@pytest.mark.parametrize("seed", [0, 2])
def test_the_front_is_nearly_that_of_all_rows(seed):
    """At least 95 % of the true volume, before the worst of the true front in each objective and a bit."""
    problem, people = lattice(seed)
    got = method("moc").fit(problem).recommend(people, 50, minimal=False)
    share, fewest = [], []
    for i, x in enumerate(people):
        yes = EVERY[problem.reached(EVERY)[0]]
        every = objectives(problem, x, yes)
        true = every[fronts(every[None], np.ones((1, len(every)), bool))[0] == 0]
        corner = true.max(0) + [0.05, 1, 0.05]
        mine = objectives(problem, x, got.after[i][got.found[i]])
        assert (fronts(mine[None], np.ones((1, len(mine)), bool)) == 0).all()
        share.append(volume(mine, corner) / volume(true, corner))
        fewest.append(mine[:, 1].min() == every[:, 1].min())
    assert min(share) >= 0.95
    assert all(fewest)


def test_an_archive_never_loses_volume():
    """Random batches, far more than it holds; each person alone gets the same."""
    rng = np.random.default_rng(0)
    front, alone, before = Front(5, 6, 2, 3), Front(1, 6, 2, 3), np.zeros(5)
    for _ in range(60):
        value = np.round(rng.random((5, 8, 3)) + rng.random((5, 1, 1)), 2)
        value[rng.random((5, 8)) < 0.2] = np.inf
        flat = np.zeros((5, 8))
        key = rng.integers(1, 1 << 40, (5, 8))
        found = Individuals(rng.random((5, 8, 2)), flat, flat, np.ones((5, 8), bool), key)
        front.add(np.arange(5), found, value)
        alone.add(np.arange(1), found.take(np.array([2])), value[[2]])
        for i in range(5):
            after = volume(front.value[i][front.there[i]], np.array([2.0, 2, 2]))
            assert after >= before[i] - 1e-12
            before[i] = after
    np.testing.assert_array_equal(alone.value[0], front.value[2])
    assert (before > 4).all()


def test_fronts_and_crowding_by_hand():
    value = np.array([[[0.0, 4], [1, 2], [4, 0], [2, 3], [5, 5], [9, 9]]])
    there = np.array([[True, True, True, True, True, False]])
    rank = fronts(value, there)
    assert rank[0, :5].tolist() == [0, 0, 0, 1, 2]
    far = crowding(value, rank)
    assert np.isinf(far[0, [0, 2, 3, 4]]).all()
    assert far[0, 1] == pytest.approx(4 / 9 + 4 / 9)
