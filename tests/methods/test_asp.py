"""asp on three stumps and on a majority, responsibilities against their definition, and its contract."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from itertools import combinations, product

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import MissingExtra, UnsupportedModel
from wayforward.methods import method
from wayforward.testing import MethodContract, case
from wayforward.testing.small_forests import RULES, refused, wished


class TestContract(MethodContract):
    method = "asp"
    parameters = {"values": 5, "most": 2}
    finds = 0.9
    people = 12


def test_three_stumps_on_whole_numbers(three_stumps):
    """F-FOR3 on 0..6, as clingo has it: one change, distance 5, x1 = 5."""
    got = method("asp").fit(three_stumps("integer", 6)).recommend(np.zeros((1, 2)))
    np.testing.assert_array_equal(got.after[0, 0], [5.0, 0.0])
    assert got.cost[0, 0] * 6 == pytest.approx(5.0)


@pytest.mark.parametrize("model", ["rf", "gb"])
def test_clingo_finds_as_few_changes_at_as_little_cost(model):
    """The published program and everything tried: the same least number of changes, and of these the least cost."""
    pytest.importorskip("clingo")
    for seed in (0, 2):
        problem, x = refused(model, seed, RULES[seed])
        x = x[:10]
        wishes = wished(problem.schema, x, seed)
        as_found = {"preferences": wishes, "minimal": False, "shrink": False, "complete": False}
        one = wf.recommend(problem, x, "asp", **as_found)
        two = wf.recommend(problem, x, "asp", solver="clingo", k=2, **as_found)
        np.testing.assert_array_equal(one.found[:, 0], two.found[:, 0])
        counts = [(~np.isnan(got.action[:, 0])).sum(1) for got in (one, two)]
        np.testing.assert_array_equal(*counts)
        np.testing.assert_allclose(one.cost[:, 0], two.cost[:, 0], rtol=1e-5)
        both = two.found[:, 1]  # another set of features, as small
        acts = ~np.isnan(two.action[both])
        assert (acts[:, 0] != acts[:, 1]).any(1).all() and (acts.sum(2) == counts[1][both, None]).all()
    assert one.found[:, 0].sum() > 4 and both.any()


def test_a_program_needs_clingo_and_trees(monkeypatch):
    with pytest.raises(UnsupportedModel if find_spec("clingo") else MissingExtra):
        method("asp", solver="clingo").fit(refused("lr", 0, ())[0])
    monkeypatch.setitem(sys.modules, "clingo", None)
    with pytest.raises(MissingExtra, match="asp"):
        method("asp", solver="clingo").fit(refused("rf", 0, ())[0])


def test_three_stumps_as_a_program(three_stumps):
    pytest.importorskip("clingo")
    got = wf.recommend(three_stumps("integer", 6), np.zeros((1, 2)), "asp", solver="clingo")
    np.testing.assert_array_equal(got.after[0, 0], [5.0, 0.0])


def defined(problem, x, features, values):
    """x-responsibility by its definition: all sets of features, all values."""
    out = np.zeros(len(x))
    yes = lambda row: bool(problem.reached(row[None])[0][0])  # noqa: E731
    for size in range(1, len(features) + 1):
        for some in combinations(features, size):
            for given in product(*(values[j] for j in some)):
                row = x.copy()
                row[list(some)] = given
                if not yes(row) or (row == x).sum() != len(x) - size:
                    continue
                for j in some:
                    rest = row.copy()
                    rest[j] = x[j]
                    if not yes(rest):
                        out[j] = max(out[j], 1 / size)
    return out


VOTES = Schema(tuple(Feature(name=n, kind="binary", levels=("no", "yes")) for n in "abc"))


def test_a_majority_of_three():
    """Two yes votes are needed: of three that say no each is half responsible; of two that say no each is wholly."""
    model = wf.wrap(lambda rows: (rows.sum(1) >= 2).astype(int), VOTES, output="label", classes=(0, 1))
    problem = Problem(VOTES, model, Target(1), data=np.array(list(product((0, 1), repeat=3)), dtype=float))
    fitted = method("asp").fit(problem)
    got = fitted.responsibility(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.0]]))
    np.testing.assert_allclose(got, [[0.5, 0.5, 0.5], [0, 1, 1], [0, 0, 0]])


def test_responsibilities_are_as_defined():
    schema = Schema(tuple(Feature(name=n, kind="integer", low=0, high=3) for n in "abc"))
    every = np.array(list(product(range(4), repeat=3)), dtype=float)
    values = {j: np.arange(4.0) for j in range(3)}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = rng.random(64) < 0.15
        model = wf.wrap(
            lambda rows, table=table: table[(rows @ [16, 4, 1]).astype(int)].astype(int),
            schema, output="label", classes=(0, 1),
        )  # fmt: skip
        problem = Problem(schema, model, Target(1), data=every)
        x = every[~table][:6]
        fitted = method("asp").fit(problem)
        got = fitted.responsibility(x)
        for person, found in zip(x, got, strict=True):
            np.testing.assert_allclose(found, defined(problem, person, (0, 1, 2), values))
        options = fitted.recommend(x, minimal=False)
        for i, person in enumerate(x):  # fewest changes, then the least distance
            least = min(((row != person).sum(), np.abs(row - person).sum()) for row in every[table])
            option = options.after[i, 0]
            assert ((option != person).sum(), np.abs(option - person).sum()) == least


def test_nothing_with_fewer_changes_exists():
    it = case("forest", "independent", 0, 40)
    x = it.x[it.refused][:10]
    got = method("asp").fit(it.problem).recommend(x)
    other = method("local-search").fit(it.problem).recommend(x)
    assert ((~np.isnan(got.action[:, 0])).sum(1) <= (~np.isnan(other.action[:, 0])).sum(1)).mean() > 0.8


def test_where_the_budget_ends_nothing_is_said_of_responsibility():
    """One after another, no change of three makes two votes; pairs are not paid for."""
    model = wf.wrap(lambda rows: (rows.sum(1) >= 2).astype(int), VOTES, output="label", classes=(0, 1))
    problem = Problem(VOTES, model, Target(1), data=np.array(list(product((0, 1), repeat=3)), dtype=float))
    got = method("asp").fit(problem).responsibility(np.array([[0, 0, 0], [1, 1, 0.0]]), budget=5)
    assert np.isnan(got[0]).all() and (got[1] == 0).all()
