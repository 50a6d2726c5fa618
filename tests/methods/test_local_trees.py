"""lore and local-foil-trees: one split gives one rule of one condition, trees are those of a plain fit, contracts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from wayforward import Feature, Problem, Schema, Target, wrap
from wayforward.errors import MethodError
from wayforward.language import use_language
from wayforward.methods import method
from wayforward.methods.engines.surrogate.trees import grow
from wayforward.testing import MethodContract

SCHEMA = Schema(
    (
        Feature(name="x1", kind="real", low=0, high=10),
        Feature(name="x2", kind="real", low=0, high=10),
        Feature(name="home", kind="categorical", levels=("rent", "own", "none")),
    )
)
NAMES = ("lore", "local-foil-trees")
PEOPLE = np.array([[0.7, 4.0, 0], [1.9, 9.0, 2], [1.2, 0.5, 1]])


class TestLore(MethodContract):
    method = "lore"
    parameters = {"samples": 60, "generations": 1, "depth": 4}
    finds = 0.9
    people = 8


class TestLocalFoilTrees(MethodContract):
    method = "local-foil-trees"
    parameters = {"samples": 60, "depth": 4}
    finds = 0.9
    people = 8


@pytest.fixture(scope="module")
def one_split():
    """Yes where x1 > 2, whatever else."""
    x = np.random.default_rng(0).uniform(0, 10, (300, 3))
    x[:, 2] %= 3
    x[:, 2] = np.floor(x[:, 2])
    model = DecisionTreeClassifier(max_depth=1).fit([[1.0, 0, 0], [3.0, 0, 0]], [0, 1])
    frame = wrap(lambda rows: model.predict_proba(np.asarray(rows, dtype=float)), SCHEMA)
    return Problem(SCHEMA, frame, Target(1), data=x)


@pytest.mark.parametrize("name", NAMES)
def test_of_one_split_the_rule_is_one_condition(one_split, name):
    fitted = method(name, complete=False, shrink=False).fit(one_split)
    for found in fitted.rules(PEOPLE, k=3):
        assert found.agrees and found.fidelity > 0.98
        (only,) = found.contrasts
        assert only.conditions == 1 and only.confidence == 1
        words = only.change.split()
        assert words[:2] == ["x1", ">"] and float(words[2]) == pytest.approx(2, abs=0.3)
        assert found.because == f"x1 <= {words[2]}"
    got = fitted.recommend(PEOPLE, minimal=False)
    assert got.found.all()  # the nearest point of the box
    assert ((got.action[:, 0, 0] > 2) & (got.action[:, 0, 0] < 2.5)).all()
    assert np.isnan(got.action[:, 0, 1:]).all()


def plain_tree(value, label, depth):
    """A tree of scikit-learn on levels as columns of their own: its share of right answers."""
    columns = np.column_stack([value[:, :2], value[:, 2:3] == np.arange(3)])
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(columns, label)
    return (tree.predict(columns) == label).mean(), tree.tree_.threshold[0]


def test_trees_of_all_people_at_once_are_those_of_a_plain_fit():
    """Where every cut may be looked at (few rows) the first cut and the share of right answers agree."""
    rng = np.random.default_rng(1)
    value = rng.uniform(0, 10, (20, 80, 3))
    value[..., 2] = rng.integers(0, 3, value.shape[:2])
    bar = rng.uniform(3, 7, (20, 1))
    label = np.where(value[..., 2] == 1, value[..., 0] > bar, value[..., 1] > 9)
    x = value[:, 0].copy()
    got = grow(SCHEMA, x, value, label, np.ones(label.shape), depth=3, leaf=1)
    for i in range(20):
        right, cut = plain_tree(value[i], label[i], 3)
        assert (got.yes[got.leaf[i]] == label[i]).mean() == pytest.approx(right, abs=1e-12)
        ends = np.concatenate([part[got.owner == i].ravel() for part in (got.boxes.low, got.boxes.high)])
        assert cut == 0.5 or np.isclose(ends, cut).any()
        mine = got.leaf[i]
        low, high = got.boxes.low[mine, :2], got.boxes.high[mine, :2]
        assert ((value[i, :, :2] >= low) & (value[i, :, :2] <= high)).all()
        assert got.boxes.levels[mine, value[i, :, 2].astype(int)].all()
        assert got.home[got.owner == i].sum() == 1 and got.home[mine[0]]


def test_a_tree_is_the_same_alone_and_misses_nothing_where_values_do():
    rng = np.random.default_rng(2)
    value = rng.uniform(0, 10, (7, 60, 3))
    value[..., 2] = rng.integers(0, 3, value.shape[:2])
    value[rng.random(value.shape) < 0.1] = np.nan
    label = np.nan_to_num(value[..., 0]) > 4
    x = value[:, 0].copy()
    every = grow(SCHEMA, x, value, label, np.ones(label.shape), depth=4, leaf=1)
    alone = grow(SCHEMA, x[3:4], value[3:4], label[3:4], np.ones((1, 60)), depth=4, leaf=1)
    mine = every.owner == 3
    for one, other in zip(every.boxes.take(mine), alone.boxes, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(every.way[mine], alone.way)
    assert (every.yes[every.leaf] == label).all()


@pytest.mark.parametrize("name", NAMES)
def test_rules_of_nobody_and_of_what_is_no_number(one_split, name):
    """Where the model accepts everybody there is no rule (it was an error), and odd arguments are named."""
    fitted = method(name, samples=50).fit(one_split)
    assert fitted.rules(np.array([[9.0, 4.0, 0]])) == []
    with pytest.raises(MethodError, match="k=0"):
        fitted.rules(PEOPLE, k=0)
    with pytest.raises(MethodError, match="seed='a'"):
        fitted.rules(PEOPLE, seed="a")


@pytest.mark.parametrize("name", NAMES)
def test_fidelity_is_that_of_rows_that_the_tree_has_not_seen(name):
    """Where the answer is a coin of the exact row, a tree that knows its rows by heart is right half of the time."""

    def coin(rows):
        wave = np.sin(1e6 * np.asarray(rows, dtype=float)[:, :2]).sum(1)
        return np.where(wave > 0, 0.9, 0.1)

    x = np.random.default_rng(0).uniform(0, 10, (300, 3))
    x[:, 2] //= 4
    problem = Problem(SCHEMA, wrap(coin, SCHEMA), Target(1), data=x)
    fitted = method(name, samples=400, depth=30, leaf=1).fit(problem)
    found = fitted.rules(x[:12])
    assert len(found) > 3
    assert 0.35 < np.mean([one.fidelity for one in found]) < 0.65


def test_rules_are_told_in_german(one_split):
    with use_language("de"):
        text = str(method("lore", samples=100).fit(one_split).rules(PEOPLE)[0])
    assert text.startswith("Nein, weil x1 <= ") and "\nJa, wenn x1 > " in text and "neuen Zeilen" in text
