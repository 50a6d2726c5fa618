"""The default method: as cheap as brute force on small lattices, and no single change improves what it returns."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayforward.methods import method as make_method
from wayforward.methods import recommend
from wayforward.model import Model, wrap
from wayforward.preferences import Preferences
from wayforward.problem import LpMix, Mahalanobis, Neighbours, PercentileShift, Problem, Target
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema
from wayforward.testing import case
from wayforward.world import SCM

pytest.importorskip("sklearn")


def small(kind, seed, rules=(), **more):
    from wayforward.model import train

    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=7),
            Feature(name="b", kind="integer", low=0, high=7, direction="increase"),
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="d", kind="ordinal", levels=("l", "m", "h")),
            Feature(name="e", kind="integer", low=0, high=9, actionability="immutable"),
        ),
        tuple(rules),
    )
    x = np.column_stack([rng.integers(0, n, 400) for n in (8, 8, 3, 3, 10)]).astype(float)
    taste = rng.normal(0, 0.5, 5)
    score = x @ taste + 0.15 * x[:, 0] * (x[:, 2] == 1) - 0.1 * (x[:, 1] - 4) ** 2
    y = (score > np.quantile(score, 0.65)).astype(int)
    return Problem(schema, train(kind, schema, x, y, seed=seed), Target(1), data=x, **more), x


def brute_force(problem, x, preferences=None):
    """(n,) least cost over the whole lattice, inf where nothing works."""
    people = problem.population(x, preferences)
    best = np.full(len(x), np.inf)
    for i in range(len(x)):
        axes = [
            np.r_[np.nan, np.arange(problem.schema.low[j], problem.schema.high[j] + 1)]
            if people.free[i, j]
            else [np.nan]
            for j in range(problem.schema.d)
        ]
        action = np.array(list(itertools.product(*axes)))
        who = np.full(len(action), i)
        after = people.after(who, action)
        ok = people.allowed(who, action, after)
        ok[ok] = problem.reached(after[ok])[0]
        if ok.any():
            best[i] = people.cost(who[ok], action[ok]).min()
    return best


RULES = ("after.a + after.b <= 10", "changed(c) implies after.d >= before.d", "at most 3 changes")


@pytest.mark.parametrize("kind", ["lr", "mlp", "rf", "gb"])
@pytest.mark.parametrize("rules", [(), RULES], ids=["free", "ruled"])
def test_close_to_brute_force(kind, rules):
    problem, x = small(kind, 5, rules)
    x = x[~problem.reached(x)[0]][:60]
    got, best = recommend(problem, x), brute_force(problem, x)
    exists = np.isfinite(best)
    assert (got.found[:, 0] == exists).mean() >= 0.98  # it may miss; it never finds what is not there
    assert not (got.found[:, 0] & ~exists).any()
    both = got.found[:, 0] & exists
    gap = got.cost[both, 0] - best[both]
    assert gap.min() > -1e-9
    assert (gap < 1e-9).mean() >= 0.9 and gap.mean() <= 0.02 * best[both].mean()
    proved = got.outcome[:, 0] == Outcome.NONE_EXISTS
    assert not (proved & exists).any()


@pytest.mark.parametrize(
    "cost",
    [
        LpMix(l0=0.2, l1=1),
        LpMix(l1=0.5, linf=1),
        Mahalanobis(),
        PercentileShift("max"),
        PercentileShift("total", log=True),
    ],
)
def test_every_cost_is_followed(cost):
    problem, x = small("mlp", 2, cost=cost)
    x = x[~problem.reached(x)[0]][:40]
    got, best = recommend(problem, x), brute_force(problem, x)
    both = got.found[:, 0] & np.isfinite(best)
    assert both.sum() >= np.isfinite(best).sum() - 1
    assert (got.cost[both, 0] - best[both] < 1e-9).mean() >= 0.8
    assert got.cost[both, 0].mean() <= best[both].mean() * 1.06


@pytest.mark.parametrize(
    ("kind", "world"), [("linear", "independent"), ("forest", "independent"), ("network", "causal")]
)
def test_no_single_change_makes_an_option_cheaper(kind, world):
    it = case(kind, world, 1, 30)
    problem, x = it.problem, it.x[it.refused]
    got = recommend(problem, x)
    people, schema = problem.population(x), problem.schema
    for i in np.flatnonzero(got.found[:, 0]):
        action = got.action[i, 0]
        trials = []
        for j in np.flatnonzero(~np.isnan(action)):
            undone = action.copy()
            undone[j] = np.nan
            trials.append(undone)
            if schema.is_categorical[j]:
                continue
            for share in (0.05, 0.2, 0.5, 0.9):
                nearer = action.copy()
                nearer[j] = schema.snap(action[j] + share * (x[i, j] - action[j]), columns=int(j))
                trials.append(nearer)
        rows = np.array(trials)
        who = np.full(len(rows), i)
        cost = people.cost(who, rows)
        rows, who = rows[cost < got.cost[i, 0] - 1e-5], who[cost < got.cost[i, 0] - 1e-5]
        if len(rows) and world == "independent" and kind == "linear":  # a monotone score: sections are exact
            assert not people.evaluate(who, rows).reached.any()
        elif len(rows):
            undo = np.isnan(rows).sum(1) > np.isnan(action).sum()
            assert not people.evaluate(who[undo], rows[undo]).reached.any()


def everything_that_works(problem, x):
    """All allowed actions of one person (1, d) that the model accepts, and where they lead, cheapest first."""
    people = problem.population(x)
    axes = [
        np.r_[np.nan, np.arange(problem.schema.low[j], problem.schema.high[j] + 1)]
        if people.free[0, j]
        else [np.nan]
        for j in range(problem.schema.d)
    ]
    action = np.array(list(itertools.product(*axes)))
    action = action[~(action == x).any(1)]
    who = np.zeros(len(action), dtype=int)
    after = people.after(who, action)
    good = people.allowed(who, action, after) & ~np.isnan(action).all(1)
    good[good] = problem.reached(after[good])[0]
    action, after = action[good], after[good]
    order = np.argsort(people.cost(who[good], action), kind="stable")
    return action[order], after[order]


@pytest.mark.parametrize(("kind", "rules"), [("lr", ()), ("rf", RULES)], ids=["lr", "ruled-rf"])
def test_options_are_alternatives_and_not_more_of_the_same(kind, rules):
    """Nobody is offered an option that does all that another one does, and more, and every slot is filled for which
    there is an alternative; with `fill` every slot for which anything else works."""
    from wayforward.methods.local_search.domination import goes_farther

    problem, x = small(kind, 3, rules)
    x = x[~problem.reached(x)[0]][:25]
    got, full = recommend(problem, x, k=4), recommend(problem, x, k=4, fill=True)
    people = problem.population(x)
    short = 0
    for i in range(len(x)):
        action, after = everything_that_works(problem, x[i : i + 1])
        options = got.action[i, got.found[i]]
        for o in range(len(options)):
            others = np.delete(options, o, axis=0)[None]
            assert not goes_farther(people, np.array([i]), others, options[o : o + 1], 0.0).any()
        least = []
        for row in action:  # cheapest first: nothing that comes later does less
            if not least or not goes_farther(people, np.array([i]), np.array([least]), row[None], 0.0)[0]:
                least.append(row)
        assert got.found[i].sum() == min(4, len(least))
        assert full.found[i].sum() == min(4, len(np.unique(after, axis=0)))
        short += full.found[i].sum() > got.found[i].sum()
    assert short  # somebody has too few alternatives
    for answer in (got, full):
        np.testing.assert_allclose(answer.cost[:, 0], recommend(problem, x, k=1).cost[:, 0])
        np.testing.assert_allclose(answer.cost[:, 0], brute_force(problem, x))


def test_slots_are_filled_where_nothing_can_be_listed():
    it = case("linear", "independent", 1, 30)
    problem, x = it.problem, it.x[it.refused]
    few, full = recommend(problem, x, k=8), recommend(problem, x, k=8, fill=True)
    assert full.found.all() and not few.found.all()
    np.testing.assert_array_equal(few.cost[:, 0], full.cost[:, 0])


def test_labels_alone_and_no_data_are_enough():
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10),
            Feature(name="b", kind="real", low=0, high=10),
            Feature(name="c", kind="categorical", levels=("x", "y")),
        )
    )
    model = wrap(
        lambda r: ((r[:, 0] > 6) & (r[:, 1] > 4)).astype(int), schema, output="label", classes=(0, 1)
    )
    x = np.random.default_rng(0).uniform(0, [6, 4, 1], size=(30, 3))
    x[:, 2] = x[:, 2].round()
    got = recommend(Problem(schema, model, Target(1)), x)
    assert got.found.all()
    np.testing.assert_allclose(got.cost[:, 0], (6 - x[:, 0]) / 10 + (4 - x[:, 1]) / 10, atol=1e-4)


def test_a_rule_that_couples_changes_is_solved_for():
    schema = Schema(
        (
            Feature(name="work", kind="integer", low=0, high=24, unit="h"),
            Feature(name="rest", kind="integer", low=0, high=24, unit="h"),
            Feature(name="play", kind="integer", low=0, high=24, unit="h"),
        ),
        ("after.work + after.rest + after.play == 24",),
    )
    model = wrap(lambda r: 1 / (1 + np.exp(-(r[:, 0] - 9.5))), schema, classes=(0, 1))
    x = np.array([[4.0, 10.0, 10.0], [8.0, 8.0, 8.0]])
    got = recommend(Problem(schema, model, Target(1)), x)
    assert got.found.all() and (got.after[:, 0].sum(1) == 24).all()
    np.testing.assert_allclose(got.cost[:, 0], [12 / 24, 4 / 24])


@pytest.mark.parametrize("direction", ["any", "increase"])
def test_what_another_act_would_move_can_be_held(direction):
    """Doing a drags b along, and the model wants b low: holding b where it is costs nothing."""
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=9),
            Feature(name="b", kind="integer", low=0, high=9, direction=direction),
        ),
        ("a drags b by 1",),
    )
    model = wrap(
        lambda r: ((r[:, 0] >= 5) & (r[:, 1] <= 2)).astype(int), schema, output="label", classes=(0, 1)
    )
    got = recommend(Problem(schema, model, Target(1)), np.array([[2.0, 1.0], [4.0, 2.0]]))
    assert got.found.all()
    np.testing.assert_allclose(got.cost[:, 0], [3 / 9, 1 / 9])
    np.testing.assert_array_equal(got.after[:, 0], [[5, 1], [5, 2]])


def test_an_implication_between_changes_is_mended():
    problem, x = small("lr", 7, ("changed(a) or changed(b) implies changed(c)",))
    x = x[~problem.reached(x)[0]][:40]
    got, best = recommend(problem, x), brute_force(problem, x)
    assert (got.found[:, 0] == np.isfinite(best)).mean() >= 0.95


def test_plausibility_is_searched_for_not_filtered_after():
    problem, x = small("rf", 4, plausibility=Neighbours())
    x = x[~problem.reached(x)[0]][:50]
    got = recommend(problem, x)
    assert got.found.mean() > 0.9
    found = got.found[:, 0]
    assert problem.plausibility.holds(x[found], got.after[found, 0]).all()


def test_work_is_bounded_and_more_work_is_never_dearer():
    problem, x = small("mlp", 8)
    x = x[~problem.reached(x)[0]][:40]
    cheap = [recommend(problem, x, budget=rows) for rows in (5, 60, 5000)]
    rows = [r.meta["model_rows"] / len(x) for r in cheap]
    assert rows[0] < rows[1] < rows[2] and rows[0] < 200
    assert cheap[2].found.sum() >= cheap[1].found.sum() >= cheap[0].found.sum()


@functools.cache
def lattice(kind, seed, ruled, threshold=None):
    """A small problem, and the people that its model refuses; with a threshold: the score of an observed row."""
    problem, x = small(kind, seed, RULES if ruled else ())
    if threshold is not None:
        attained = np.unique(problem.reached(x)[1])
        at = float(attained[int(threshold * (len(attained) - 1))])
        problem = Problem(problem.schema, problem.model, Target(1, threshold=at), data=x)
    return make_method("local-search").fit(problem), x[~problem.reached(x)[0]][:30]


@pytest.mark.parametrize("kind", ["rf", "gb", "lr"])
@pytest.mark.parametrize("threshold", [0.8, 1.0])
def test_a_row_exactly_at_the_threshold_is_a_yes(kind, threshold):
    method, x = lattice(kind, 4, False, threshold)
    got, best = method.recommend(x), brute_force(method.problem_, x)
    np.testing.assert_array_equal(got.found[:, 0], np.isfinite(best))
    found = got.found[:, 0]
    assert (got.cost[found, 0] - best[found] < 1e-9).mean() >= 0.9


def test_the_model_itself_decides_where_both_classes_are_as_likely():
    """The first of two classes wins a tie; nothing is better than a tie here."""
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=9),
            Feature(name="b", kind="integer", low=0, high=9),
        )
    )
    model = wrap(
        lambda r: np.where((r[:, 0] >= 4) & (r[:, 1] >= 6), 0.5, 0.8 - r[:, 0] / 50 - r[:, 1] / 50),
        schema,
        classes=("no", "yes"),
    )
    x = np.array([[0.0, 0.0], [3.0, 8.0]])
    got = recommend(Problem(schema, model, Target("no")), x)
    np.testing.assert_allclose(got.cost[:, 0], [10 / 9, 1 / 9])
    never = recommend(Problem(schema, model, Target("no", threshold=0.51)), x, budget=500)
    assert not never.found.any()


class Optimist(Model):
    """A fast path that says yes a little too early; the model itself decides."""

    def __init__(self, schema, gap):
        super().__init__()
        self.schema, self.classes, self.gap = schema, (0, 1), gap

    def _p(self, x, gap):
        p = 1 / (1 + np.exp(-(x.sum(1) - 10 + gap)))
        return np.stack([1 - p, p], axis=1)

    def _outputs(self, x):
        return self._p(x, self.gap)

    def _native(self, x):
        p = self._p(x, 0.0)
        return p, p.argmax(1)


@pytest.mark.parametrize("gap", [1e-7, 1e-4])
def test_where_the_fast_path_is_too_generous_the_search_goes_on(gap):
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=10) for n in "abc"))
    x = np.random.default_rng(0).uniform(0, 3, (20, 3))
    problem = Problem(schema, Optimist(schema, gap), Target(1), data=x)
    for k in (1, 3):
        got = recommend(problem, x, k=k)
        assert got.found[:, 0].all()
        np.testing.assert_allclose(got.cost[:, 0], (10 - x.sum(1)) / 10, atol=1e-3 + gap)


def test_nobody_is_left_behind_whom_an_accepted_person_shows_a_way():
    """Many accepted people are nearer, but only one of the person's own kind can be followed."""
    schema = Schema(
        (
            Feature(name="kind", kind="categorical", levels=("p", "q"), actionability="immutable"),
            *(Feature(name=name, kind="integer", low=0, high=99) for name in "abcdef"),
        )
    )
    rng = np.random.default_rng(0)
    code = rng.integers(0, 100, (300, 6)).astype(float)
    known = np.column_stack([np.ones(300), code])
    known[150] = [0, *rng.integers(60, 100, 6)]  # the only one of kind p

    def codes(rows):
        return (rows[:, None] == known).all(2).any(1).astype(int)

    model = wrap(codes, schema, output="label", classes=(0, 1))
    problem = Problem(schema, model, Target(1), data=known)
    x = np.column_stack([np.zeros(3), rng.integers(0, 40, (3, 6))]).astype(float)
    for k in (1, 2):
        got = recommend(problem, x, k=k)
        np.testing.assert_array_equal(got.after[:, 0], np.repeat(known[150:151], 3, axis=0))
    few = recommend(problem, x, budget=100)
    assert not few.found.any() and few.meta["model_rows"] <= 3 * 102


def test_who_has_no_way_had_the_whole_budget():
    schema = Schema(tuple(Feature(name=n, kind="real", low=0, high=1) for n in "ab"))
    never = wrap(lambda r: np.zeros(len(r), dtype=int), schema, output="label", classes=(0, 1))
    got = recommend(Problem(schema, never, Target(1)), np.array([[0.2, 0.3], [0.4, 0.5]]), budget=3000)
    assert not got.found.any() and 2 * 3000 <= got.meta["model_rows"] <= 2 * 3002


@settings(max_examples=10, deadline=None)
@given(
    kind=st.sampled_from(["lr", "mlp", "rf"]),
    seed=st.integers(0, 2),
    ruled=st.booleans(),
    budgets=st.lists(st.integers(1, 3000), min_size=2, max_size=2).map(sorted),
    k=st.integers(2, 4),
)
def test_neither_more_options_nor_more_budget_make_the_first_option_dearer(kind, seed, ruled, budgets, k):
    method, x = lattice(kind, seed, ruled)
    x = x[:8]
    less, more = (method.recommend(x, budget=rows).cost[:, 0] for rows in budgets)
    assert (more <= less + 1e-12).all()
    several = method.recommend(x, k, budget=budgets[1])
    np.testing.assert_allclose(several.cost[:, 0], more, rtol=0, atol=1e-12)


def test_wishes_shape_the_search():
    problem, x = small("lr", 9)
    x = x[~problem.reached(x)[0]][:40]
    plain = recommend(problem, x)
    wish = Preferences.none(problem.schema, len(x)).freeze("a").at_most(1)
    got = recommend(problem, x, preferences=wish)
    best = brute_force(problem, x, wish)
    assert not got.acted[:, :, 0].any() and got.acted.sum(2).max() <= 1
    found = got.found[:, 0]
    assert (found == np.isfinite(best)).all()
    np.testing.assert_allclose(got.cost[found, 0], best[found])
    assert (got.cost[found, 0] >= plain.cost[found, 0] - 1e-9).all()


def test_nobody_found_is_an_answer_for_several_options_too():
    schema = Schema(
        (Feature(name="a", kind="integer", low=0, high=9), Feature(name="b", kind="real", low=0, high=1))
    )
    never = wrap(lambda r: np.zeros(len(r), dtype=int), schema, output="label", classes=(0, 1))
    x = np.array([[1.0, 0.5], [3.0, 0.1]])
    for budget in (None, 1):
        got = recommend(Problem(schema, never, Target(1)), x, k=3, budget=budget)
        assert got.outcome.shape == (2, 3) and not got.found.any()


@pytest.mark.parametrize("budget", [1, 7, 50])
def test_a_small_budget_is_kept_and_a_persons_answer_stays_their_own(budget):
    problem, x = small("lr", 5, RULES)
    x = x[~problem.reached(x)[0]][:16]
    wish = Preferences.none(problem.schema, len(x)).at_most(1, who=[0, 3, 6]).freeze("a", who=[1, 2, 3])
    method = make_method("local-search").fit(problem)
    got = method.recommend(x, 3, preferences=wish, budget=budget)
    assert got.meta["model_rows"] <= len(x) * (
        3 * budget + 3
    )  # and one look at where they stand for each option
    for i in range(len(x)):
        alone = method.recommend(x[i : i + 1], 3, preferences=wish.take(np.array([i])), budget=budget)
        np.testing.assert_array_equal(alone.action[0], got.action[i])


def test_how_many_changes_others_allow_does_not_matter():
    problem, x = small("mlp", 8)
    x = x[~problem.reached(x)[0]][:30]
    wish = Preferences.none(problem.schema, len(x)).at_most(1, who=list(range(29)))
    method = make_method("local-search").fit(problem)
    got = method.recommend(x, preferences=wish)
    some = np.arange(29)
    np.testing.assert_array_equal(
        method.recommend(x[some], preferences=wish.take(some)).action, got.action[some]
    )


def test_only_what_an_act_could_move_is_held():
    """ "Keep your loan where it is" is said only where another act of the same option would move the loan."""
    schema = Schema(
        (
            Feature(name="group", kind="binary", levels=(0, 1), actionability="immutable"),
            Feature(name="income", kind="real", low=0, high=100, direction="increase"),
            Feature(name="savings", kind="real", low=0, high=100),
            Feature(name="loan", kind="real", low=0, high=100),
        )
    )
    world = SCM({"group": "u", "income": "u", "savings": "income + u", "loan": "5 * group + u"})

    def lender(rows):  # likes income, and savings in a narrow band only
        return 1 / (1 + np.exp(-(rows[:, 1] - 40 - 10 * (np.abs(rows[:, 2] - 30) > 2) - 0.1 * rows[:, 3])))

    problem = Problem(schema, wrap(lender, schema, classes=(0, 1)), Target(1), world=world)
    x = np.column_stack([np.arange(20) % 2, np.linspace(5, 35, 20), np.full(20, 30.0), np.full(20, 20.0)])
    got = recommend(problem, x, k=2)
    held = ~np.isnan(got.action) & ~got.acted
    could = (got.acted.astype(float) @ problem.descendants.astype(float)) > 0
    assert held.any() and not (held & ~could).any()


@pytest.mark.parametrize(("d", "room", "least", "most"), [(5, 2.0, 0.8, 0.6), (7, 2.8, 0.7, 0.1)])
def test_a_yes_in_a_narrow_place_between_all_features_is_found_by_descents(
    d: int, room: float, least: float, most: float
) -> None:
    """20 (room - |A x - A c|_1) > 0 as a network: no single move gets there, and no draw is likely to.

    Bounds that are to prove that there is nothing meet some of these places where there are few features; the boxes of
    last resort, which meet most of them, are left out.
    """
    from sklearn.neural_network import MLPClassifier

    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=1) for j in range(d)))
    with_descents, without, refused = 0, 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        turn, centre = rng.normal(size=(d, d)), rng.uniform(0.3, 0.7, d)
        net = MLPClassifier((2 * d,)).partial_fit(
            rng.uniform(size=(20, d)), np.arange(20) % 2, classes=[0, 1]
        )
        net.coefs_ = [np.hstack([turn.T, -turn.T]), np.full((2 * d, 1), -20.0)]
        net.intercepts_ = [np.concatenate([-turn @ centre, turn @ centre]), np.array([room])]
        problem = Problem(schema, net, Target(favourable=1), least_change=None)
        x = rng.uniform(size=(8, d))
        x = x[net.predict(x) == 0]
        method = make_method("local-search").fit(problem)
        method.relaxed_ = (None,)
        with_descents += int(method.recommend(x, 1, seed=0).found.sum())
        method.gradients_ = False
        without += int(method.recommend(x, 1, seed=0).found.sum())
        refused += len(x)
    assert with_descents >= least * refused > most * refused > without
