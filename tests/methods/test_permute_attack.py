"""permute-attack: no value that the table lacks, as few changes as there can be on lattices, and its contract."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from wayforward import Feature, Problem, Schema, Target, wrap
from wayforward.methods import method
from wayforward.testing import MethodContract, case

EVERY = np.array(list(product(range(5), repeat=4)), dtype=float)


class TestContract(MethodContract):
    method = "permute-attack"
    parameters = {"population": 20, "parents": 6, "generations": 15, "runs": 3, "patience": 3}
    finds = 0.6
    people = 8


@pytest.mark.parametrize("bar", [5.5, 7.5])
def test_as_few_changes_as_there_can_be(bar):
    """Two features together do what one cannot; by trying all 625 rows."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="integer", low=0, high=4) for j in range(4)))

    def chance(rows):
        score = rows @ [1.0, 0.8, 0.6, 0.3] + 2.0 * (rows[:, 1] > 2) * (rows[:, 2] > 2) - bar
        return 1 / (1 + np.exp(-score))

    problem = Problem(schema, wrap(chance, schema), Target(1), data=EVERY)
    yes = EVERY[problem.reached(EVERY)[0]]
    people = EVERY[~problem.reached(EVERY)[0]][::19]
    fewest = np.array([(yes != x).sum(1).min() for x in people])
    assert set(fewest) >= {1, 2}
    got = method("permute-attack").fit(problem).recommend(people)
    np.testing.assert_array_equal(got.acted[:, 0].sum(1), fewest)


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_no_value_is_set_that_nobody_has(world):
    it = case("network", world, 0, 40)
    rows = it.problem.reference[::3]
    problem = Problem(
        it.problem.schema, it.problem.model, it.problem.target, data=rows, world=it.problem.world
    )
    got = method("permute-attack").fit(problem).recommend(it.x[it.refused][:12], 2)
    assert got.found[:, 0].mean() > 0.5
    for j in range(rows.shape[1]):
        value = got.action[:, :, j]
        assert np.isin(value[~np.isnan(value)], rows[:, j]).all()
