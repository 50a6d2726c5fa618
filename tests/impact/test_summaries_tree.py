"""Trees of common actions: what each person does is what the line says, and small cases equal brute force."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.impact.conditions import Condition
from wayforward.impact.summaries import summarize
from wayforward.impact.summaries.common_actions import (
    Action,
    Move,
    Trials,
    action_of,
    carried,
    moves_of,
    plain,
)
from wayforward.impact.summaries.path_words import path_words
from wayforward.impact.summaries.tree import Node, Tree, TreeRules, _Fit, _inner
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing import SummariserContract
from wayforward.testing.problems import case

PLANTED = Schema(
    (
        Feature(name="town", kind="binary", levels=("north", "south"), actionability="immutable"),
        Feature(name="tests", kind="integer", low=0, high=4, direction="increase"),
        Feature(name="courses", kind="integer", low=0, high=4, direction="increase"),
        Feature(name="sex", kind="binary", levels=("f", "m"), actionability="immutable", sensitive=True),
    )
)


def decided(schema: Schema, yes, data: np.ndarray) -> Problem:
    """A problem whose model says yes where `yes(rows)`."""
    model = wrap(lambda rows: yes(np.asarray(rows)).astype(int), schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(favourable=1), data=data)


@lru_cache(maxsize=2)
def planted(where: int = 0) -> tuple[Problem, np.ndarray]:
    """In the north (or for one sex) three tests open the door, elsewhere three courses; nobody has either."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, [2, 3, 3, 2], (160, 4)).astype(float)
    seen = np.concatenate([x, rng.integers(0, [2, 5, 5, 2], (100, 4)).astype(float)])
    yes = lambda rows: np.where(rows[:, where] == 0, rows[:, 1] >= 3, rows[:, 2] >= 3)
    return decided(PLANTED, yes, seen), x


def test_two_planted_subgroups_are_told_apart_by_one_question() -> None:
    problem, x = planted()
    got = summarize(problem, x, "tree")
    assert [(one.who, one.change) for one in got.lines] == [
        (("town is north",), ("raise tests to at least 3",)),
        (("town is south",), ("raise courses to at least 3",)),
    ]
    assert got.everybody.served.value == 1.0
    np.testing.assert_allclose(got.extra.value, 0.0, atol=1e-12)


def test_questions_leave_out_sensitive_features_unless_they_are_asked_for() -> None:
    problem, x = planted(where=3)
    plain_tree, other = summarize(problem, x, Tree()), summarize(problem, x, Tree(sensitive=True))
    assert not any("sex" in part for one in plain_tree.lines for part in one.who)
    assert [one.who for one in other.lines] == [("sex is f",), ("sex is m",)]
    assert plain_tree.everybody.served.value == 1.0  # both ways at once serve everybody, at twice the cost
    assert plain_tree.extra.value > other.extra.value + 0.1


NUMBERS = Schema(
    (
        Feature(name="savings", kind="real", low=0, high=100, step=0.5, unit="EUR", missing=True),
        Feature(name="debts", kind="integer", low=0, high=9),
        Feature(name="degree", kind="ordinal", levels=("none", "school", "college")),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "free")),
    )
)
WHO = np.array([[10.0, 3, 0, 0], [99.5, 0, 2, 1], [np.nan, 9, 1, 2]])


@pytest.mark.parametrize(
    "move, sets, says",
    [
        (Move(0, "at least", 50), [50, None, 50], "raise savings to at least 50 EUR"),
        (Move(0, "at most", 0), [0, 0, 0], "bring savings down to 0 EUR"),
        (Move(0, "by", 2.5), [12.5, 102, "never"], "raise savings by 2.5 EUR"),
        (Move(1, "by", -2), [1, -2, 7], "lower debts by 2"),
        (Move(1, "at most", 3), [None, None, 3], "lower debts to at most 3"),
        (Move(2, "at least", 1), [1, None, None], "raise degree to school or higher"),
        (Move(2, "at least", 2), [2, None, 2], "change degree to college"),
        (Move(2, "by", 1), [1, 3, 2], "raise degree by one step"),
        (Move(3, "to", 1), [1, None, 1], "change housing to own"),
    ],
)
def test_a_move_does_for_each_person_what_its_words_say(move: Move, sets: list, says: str) -> None:
    want = np.array([np.nan if v in (None, "never") else v for v in sets], dtype=float)
    np.testing.assert_array_equal(carried(NUMBERS, (move,), WHO)[:, move.feature], want)
    assert move.words(NUMBERS) == says


def test_who_cannot_do_a_part_of_an_order_does_none_of_it() -> None:
    got = carried(NUMBERS, (Move(0, "by", 5.0), Move(1, "at most", 2)), WHO)
    np.testing.assert_array_equal(got[0], [15, 2, np.nan, np.nan])
    np.testing.assert_array_equal(got[1], [104.5, np.nan, np.nan, np.nan])
    assert np.isnan(got[2]).all()  # nobody can add to savings that are not stated


@pytest.mark.parametrize(
    "value, unit, want",
    [(23_412, 0, 23_000), (0.0123, 0.01, 0.01), (0.00015, 0.01, 0.0), (7.0, 1, 7.0), (-86, 0, -86)],
)
def test_values_are_rounded_to_what_people_say(value: float, unit: float, want: float) -> None:
    assert plain(value, unit) == want


def test_what_trials_promise_is_what_the_judge_says() -> None:
    for kind in ("linear", "forest"):
        for world in ("independent", "causal"):
            got = case(kind, world, n=60)
            problem, x = got.problem, got.x[got.refused]
            people = problem.population(x)
            moves, _ = moves_of(people, np.empty((0, people.d)), np.empty((0, people.d)))
            rng = np.random.default_rng(0)
            tried = [
                action_of({moves[i].feature: moves[i] for i in rng.integers(0, len(moves), 3)}.values())
                for _ in range(10)
            ]
            trials = Trials(people, 10**6)
            trials.add(tried)
            for action in tried:
                rows = carried(problem.schema, action, x)
                judged = problem.check(x, rows[:, None])
                mine = trials.index[action]
                np.testing.assert_array_equal(trials.served[mine], judged.found[:, 0])
                np.testing.assert_allclose(trials.cost[mine], judged.cost[:, 0])


SMALL = Schema(
    (
        Feature(name="tests", kind="integer", low=0, high=4, direction="increase"),
        Feature(name="debts", kind="integer", low=0, high=3),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "free")),
        Feature(name="age", kind="integer", low=20, high=60, actionability="immutable"),
    )
)


@pytest.mark.parametrize("seed", range(4))
def test_one_leaf_holds_the_best_common_action_on_the_lattice(seed: int) -> None:
    """Brute force over every action of at most two changes: most people served, then least cost."""
    rng = np.random.default_rng(seed)
    weight = rng.normal([1.0, -0.8, 0, 0.02], [0.3, 0.3, 0, 0.01])
    home = rng.normal(0, 0.7, 3)
    yes = lambda rows: rows @ (weight * [1, 1, 0, 1]) + home[rows[:, 2].astype(int)] > 2.5
    data = np.column_stack(
        [rng.integers(0, 5, 90), rng.integers(0, 4, 90), rng.integers(0, 3, 90), rng.integers(20, 61, 90)]
    ).astype(float)
    problem = decided(SMALL, yes, data)
    x = data[~yes(data)]
    rules = Tree(lines=1, changes=2, unserved=1000, per_change=0, mixed=0).learn(problem.population(x), seed)
    assert rules.all_actions

    def after(column: np.ndarray, how: str, v: float) -> np.ndarray:
        return {
            "up": np.maximum(column, v),
            "down": np.minimum(column, v),
            "by": column + v,
            "to": column * 0 + v,
        }[how]

    options = {
        0: [("up", v) for v in range(1, 5)] + [("by", v) for v in range(1, 5)],
        1: [(h, v) for h in ("up", "down") for v in range(4)] + [("by", v) for v in (-3, -2, -1, 1, 2, 3)],
        2: [("to", v) for v in range(3)],
    }
    best = (0, 0.0)
    for size in (1, 2):
        for some in combinations(options, size):
            for hows in product(*(options[j] for j in some)):
                moved = x.copy()
                for j, (how, v) in zip(some, hows, strict=True):
                    moved[:, j] = after(x[:, j], how, v)
                legal = (moved[:, 0] <= 4) & (moved[:, 1] >= 0) & (moved[:, 1] <= 3)
                served = legal & yes(np.where(legal[:, None], moved, x))
                price = np.abs(moved - x)[:, :2] / [4, 3]
                cost = price.sum(1) + (moved[:, 2] != x[:, 2])
                best = max(best, (int(served.sum()), -round(float(cost[served].sum()), 9)))
    got = problem.check(x, rules.actions(problem.population(x))[0])
    mine = (int(got.found.sum()), -round(float(got.cost[got.found].sum()), 9))
    assert mine == best and best[0] > 0


def tables(seed: int, most: int, n: int = 60) -> _Fit:
    rng = np.random.default_rng(seed)
    loss = np.where(rng.random((5, n)) < 0.4, rng.random((5, n)) / 2, 1.0)
    return _Fit(loss, rng.random((6, n)) < 0.5, 0.01, 4, most)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_tree_of_two_and_three_leaves(seed: int) -> None:
    """Every tree of that size, valued from the tables by hand."""
    for most in (2, 3):
        fit = tables(seed, most)
        fit.tree = fit.pruned(fit.grown(None))
        fit.anneal(np.random.default_rng(seed), 1500)

        def value(masks: list[np.ndarray], fit: _Fit = fit) -> float:
            if len(masks) > 1 and min(m.sum() for m in masks) < fit.least:
                return np.inf
            return sum(min(row[m].sum() for row in fit.loss) for m in masks) / fit.n + fit.line * len(masks)

        everybody = np.ones(fit.n, dtype=bool)
        options = [value([everybody])]
        for c in range(6):
            one, two = fit.holds[c], ~fit.holds[c]
            options.append(value([one, two]))
            if most == 3:
                for side, rest in ((one, two), (two, one)):
                    options += [value([side & h, side & ~h, rest]) for h in fit.holds]
        np.testing.assert_allclose(fit.value(fit.tree), min(options))


def random_tree(rng: np.random.Generator, depth: int) -> Node:
    if depth == 0 or rng.random() < 0.2:
        return None
    return int(rng.integers(6)), random_tree(rng, depth - 1), random_tree(rng, depth - 1)


def test_pruning_never_makes_a_tree_worse_and_drops_what_saves_nothing() -> None:
    rng = np.random.default_rng(3)
    shorter = 0
    for seed in range(30):
        fit = tables(seed, 64, n=200)
        fit.least = 1
        tree = random_tree(rng, 4)
        pruned = fit.pruned(tree)
        assert fit.value(pruned) <= fit.value(tree) + 1e-12
        shorter += _inner(pruned) < _inner(tree)
        fit.loss[:] = fit.loss[:1]  # all actions alike: no question pays
        fit._best.clear()
        assert fit.pruned(tree) is None
    assert shorter > 10


def test_the_best_tree_has_no_more_leaves_than_the_bound() -> None:
    problem, x = planted()
    rules = Tree(unserved=1.0, per_line=0.4).learn(problem.population(x), 0)
    assert len(rules.words) <= (1.0 + 0.4) / 0.4
    assert len(Tree(lines=1).learn(problem.population(x), 0).words) == 1


@lru_cache(maxsize=4)
def learnt(kind: str, world: str, seed: int = 0) -> tuple[Problem, np.ndarray, TreeRules]:
    got = case(kind, world, n=100)
    x = got.x[got.refused]
    return got.problem, x, Tree(steps=200, rows=150, mixed=0).learn(got.problem.population(x), seed)


@pytest.mark.parametrize(
    "kind, world", [("linear", "independent"), ("forest", "causal"), ("label", "independent")]
)
def test_lines_obey_the_schema_and_serve_people(kind: str, world: str) -> None:
    problem, x, rules = learnt(kind, world)
    action, line = rules.actions(problem.population(x))
    acted = ~np.isnan(action[:, 0])
    assert not acted[:, ~problem.schema.actionable].any()
    with np.errstate(invalid="ignore"):
        assert not ((action[:, 0] - x) * problem.schema.direction < 0).any()
    got = problem.check(x, action)
    assert got.found.mean() > 0.3
    assert problem.schema.compiled_rules.satisfied(x[got.found[:, 0]], got.after[got.found]).all()
    assert (line >= 0).all() and line.max() < len(rules.words)
    loss = rules.value
    assert 0 < loss < 1 + 0.1 / 10 + 1e-9  # better than to serve nobody


def test_everybody_in_a_leaf_gets_the_same_order_and_a_persons_action_hangs_on_their_row_alone() -> None:
    problem, x, rules = learnt("linear", "independent")
    action, line = rules.actions(problem.population(x))
    order = np.random.default_rng(0).permutation(len(x))
    again, whose = rules.actions(problem.population(x[order]))
    np.testing.assert_array_equal(again, action[order])
    np.testing.assert_array_equal(whose, line[order])
    for i in (0, 1, 2):
        np.testing.assert_array_equal(rules.actions(problem.population(x[i : i + 1]))[0][0], action[i])
    for leaf, moves in enumerate(rules.orders):
        here = line[:, 0] == leaf
        np.testing.assert_array_equal(action[here, 0], carried(problem.schema, moves, x[here]))


def test_the_same_seed_gives_the_same_tree() -> None:
    problem, x, rules = learnt("forest", "causal")
    again = Tree(steps=200, rows=150, mixed=0).learn(problem.population(x), 0)
    assert again.words == rules.words and again.value == rules.value and again.spent == rules.spent


@pytest.mark.parametrize("rows", [3, 40, 120])
def test_budgets_bind_and_more_work_is_not_worse(rows: int) -> None:
    problem, x, _ = learnt("linear", "independent")
    rules = Tree(rows=rows, steps=100, mixed=0).learn(problem.population(x), 0)
    assert rules.spent <= rows * len(x)
    assert rules.value <= 1 + 0.1 / 10 + 1e-9


def test_mixtures_of_few_people_make_lines_hold_for_others() -> None:
    """With fifteen people to learn from, the best of many actions is often best by chance."""
    problem = case("linear", n=400).problem
    x = case("linear", n=400).x[case("linear", n=400).refused]
    got = {mixed: [] for mixed in (0, 200)}
    for seed in range(4):
        few = np.random.default_rng(seed).permutation(len(x))
        for mixed, served in got.items():
            rules = Tree(mixed=mixed, smallest=5, steps=100, rows=300).learn(
                problem.population(x[few[:15]]), seed
            )
            assert sum(rules.learnt) == 15
            others = x[few[15:]]
            served.append(problem.check(others, rules.actions(problem.population(others))[0]).found.mean())
    assert np.mean(got[200]) > np.mean(got[0]) + 0.03


def test_wishes_are_kept_by_the_lines_learnt() -> None:
    problem, x, rules = learnt("linear", "independent")
    at = problem.schema.index
    wanted = {m.feature for order in rules.orders for m in order}
    frozen = sorted(problem.schema.names[j] for j in wanted)[0]
    wishes = Preferences.none(problem.schema, len(x)).freeze(frozen)
    people = problem.population(x, wishes)
    other = Tree(steps=200, rows=150, mixed=0).learn(people, 0)
    assert at(frozen) in wanted and at(frozen) not in {m.feature for order in other.orders for m in order}
    assert problem.check(x, other.actions(people)[0], preferences=wishes).found.mean() > 0.1


@pytest.mark.parametrize("kind", ["categorical", "real"])
def test_tables_of_one_kind(kind: str) -> None:
    rng = np.random.default_rng(0)
    if kind == "categorical":
        schema = Schema(
            tuple(Feature(name=f"c{j}", kind="categorical", levels=("a", "b", "c")) for j in range(4))
        )
        x = rng.integers(0, 3, (120, 4)).astype(float)
        yes = lambda rows: (rows == 2).sum(1) >= 3
    else:
        schema = Schema(tuple(Feature(name=f"r{j}", kind="real", low=0, high=10) for j in range(4)))
        x = rng.uniform(0, 10, (120, 4))
        yes = lambda rows: rows.sum(1) > 24
    problem = decided(schema, yes, x)
    got = summarize(problem, x[~yes(x)], Tree(steps=200, mixed=0), beside=None)
    assert got.everybody.served.value > 0.7
    kinds = {m.kind for order in got.rules.orders for m in order}  # type: ignore[attr-defined]
    assert kinds <= ({"to"} if kind == "categorical" else {"at least", "at most", "by"})


def test_where_nobody_can_be_served_the_tree_says_so() -> None:
    problem = decided(PLANTED, lambda rows: rows[:, 0] > 5, planted()[1])
    got = summarize(problem, planted()[1], "tree", beside=None)
    assert [one.text for one in got.lines] == ["Everybody: no common change was found that helps."]
    assert (
        got.everybody.served.value == 0.0
        and got.lines[0].n_addressed == got.n_scored
        and got.lines[0].works.value == 0.0
    )


def test_people_who_may_change_nothing_are_told_that_nothing_was_found() -> None:
    problem, x = planted()
    wishes = Preferences.none(PLANTED, len(x)).freeze("tests").freeze("courses")
    rules = Tree().learn(problem.population(x, wishes), 0)
    assert rules.orders == ((),)


@pytest.mark.parametrize(
    "path, want",
    [
        ([(1, "below", 5, True), (1, "below", 3, True)], "debts below 3"),
        ([(1, "below", 2, False), (1, "below", 7, True)], "debts from 2 to below 7"),
        ([(1, "below", 1, True)], "debts exactly 0"),
        ([(1, "below", 2, False)], "debts at least 2"),
        ([(0, "below", 20, True)], "savings below 20 EUR"),
        ([(0, "below", 20, False)], "savings at least 20 EUR, or not stated"),
        ([(0, "missing", np.nan, False), (0, "below", 20, False)], "savings at least 20 EUR"),
        ([(0, "missing", np.nan, True)], "savings not stated"),
        ([(0, "missing", np.nan, False)], "savings stated"),
        ([(2, "below", 2, True)], "degree is school or lower"),
        ([(2, "below", 2, True), (2, "below", 1, False)], "degree is school"),
        ([(2, "below", 1, False)], "degree is school or higher"),
        ([(3, "is", 0, True)], "housing is rent"),
        ([(3, "is", 0, False)], "housing is not rent"),
        ([(3, "is", 0, False), (3, "is", 2, False)], "housing is own"),
    ],
)
def test_the_way_to_a_leaf_is_told_in_as_few_words_as_it_needs(path: list, want: str) -> None:
    conditions = [(Condition(j, kind, value, ""), holds) for j, kind, value, holds in path]
    assert path_words(NUMBERS, conditions) == (want,)


def test_words_describe_exactly_the_people_in_the_leaf() -> None:
    """A leaf's path, asked of rows, and the leaf that rows come to are the same."""
    problem, x, _ = learnt("linear", "independent")
    rules = Tree(per_line=0.0, per_change=0.0, smallest=3, steps=300, mixed=0).learn(problem.population(x), 1)
    assert len(rules.words) > 2
    leaf = rules.leaf(x)
    for i, path in enumerate(rules._paths(rules.tree)):
        here = np.all([c.holds(x) == holds for c, holds in path], axis=0)
        np.testing.assert_array_equal(here, leaf == i)
    assert sum(rules.learnt) == len(x)
    assert [int((leaf == i).sum()) for i in range(len(rules.words))] == list(rules.learnt)


@pytest.mark.parametrize(
    "bad", [{"lines": 0}, {"changes": 0}, {"unserved": 0}, {"per_line": -1}, {"smallest": 0}]
)
def test_settings_that_make_no_tree_are_refused(bad: dict) -> None:
    with pytest.raises(DataError, match=next(iter(bad))):
        Tree(**bad)


def test_an_action_is_the_same_in_any_order() -> None:
    one, two = Move(1, "by", 2.0), Move(0, "at least", 5.0)
    want: Action = (two, one)
    assert action_of([one, two]) == action_of([two, one]) == want


def test_amounts_that_are_missing_do_not_break_the_tree() -> None:
    """Own plans state what was missing; by how much they change it nobody can say."""
    rng = np.random.default_rng(3)
    schema = Schema(
        (
            Feature(name="savings", kind="integer", low=0, high=900, missing=True),
            Feature(name="debts", kind="integer", low=0, high=40),
        )
    )
    x = np.column_stack([rng.integers(0, 300, 120), rng.integers(0, 40, 120)]).astype(float)
    x[rng.random(120) < 0.4, 0] = np.nan
    problem = decided(schema, lambda rows: np.nan_to_num(rows[:, 0]) - 3 * rows[:, 1] >= 200, x)
    got = summarize(problem, x, Tree(rows=100, steps=50), beside=None)
    assert got.everybody.served.value > 0.9


def test_a_value_on_the_cut_is_not_below_it() -> None:
    """Six steps of 0.3 make a little less than 1.8, and 0.1 + 0.2 a little more than 0.3."""
    below, least = (Condition(0, kind, 1.8, "") for kind in ("below", "at least"))
    x = np.array([[6 * 0.3], [1.8], [1.7], [np.nan]])
    assert x[0, 0] < 1.8
    assert below.holds(x).tolist() == [False, False, True, False]
    assert least.holds(x).tolist() == [True, True, False, False]
    assert Condition(0, "at least", 0.1 + 0.2, "").holds(np.array([[0.3]])).all()


class TestTree(SummariserContract):
    """What every summariser promises."""

    summariser, parameters, serves = "tree", {"lines": 4, "rows": 150, "steps": 200}, 0.3
