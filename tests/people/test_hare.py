"""hare, multi-hare: boundary points, questions counted, nearer to what people have in mind, limits that come late."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression

import wayforward as wf
from wayforward import Feature, Outcome, Schema, Target
from wayforward.errors import MethodError
from wayforward.evaluate.actions import ground_truth
from wayforward.people.elicitor import CANNOT_SAY, Kind, converse
from wayforward.people.elicitors import elicitor
from wayforward.people.elicitors.boundary_search import boundary
from wayforward.people.elicitors.hare import Hare, MultiHare
from wayforward.people.elicitors.plan_pool import works
from wayforward.people.ideal_profiles import draw_wanted
from wayforward.people.simulated import IdealProfile, ReplyNoise
from wayforward.preferences import Preferences
from wayforward.streams import Streams
from wayforward.testing import ElicitorContract, case
from wayforward.testing.problems import small_world
from wayforward.world import SCM, SubPopulation

QUICK = {"steps": 15}


def plane(weight, bar, *, low=-5.0, high=5.0, n=400):
    """A problem with a linear score weight . x - bar over numbers."""
    d = len(weight)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=low, high=high) for j in range(d)))
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, size=(n, d))
    model = LogisticRegression().fit(x, (x @ weight > bar).astype(int))
    model.coef_, model.intercept_ = np.array([weight], dtype=float), np.array([-float(bar)])
    return wf.Problem(schema, model, Target(favourable=1), data=x)


@pytest.fixture(scope="module")
def toy():
    """200 people far below a bar that lies three quarters up the square of four features."""
    problem = plane(np.array([4.0, 3.0, 2.0, 3.0]), 6.0, low=0.0, high=1.0)
    x = np.random.default_rng(1).uniform(0.0, 0.3, size=(200, 4))
    return problem, x


class Recorder:
    """Somebody who answers, and a list of what they were asked."""

    def __init__(self, inner):
        self.inner, self.shown, self.replies = inner, [], []

    def reply(self, questions):
        self.shown.append(questions)
        self.replies.append(self.inner(questions) if callable(self.inner) else self.inner.reply(questions))
        return self.replies[-1]


def first(questions):
    """Takes the first of two, accepts nothing."""
    return np.zeros(len(questions.kind), dtype=np.int64)


def silent(questions):
    return np.full(len(questions.kind), CANNOT_SAY)


# -- the boundary ---------------------------------------------------------------------------------------------


def test_the_boundary_point_of_a_linear_score_has_its_closed_form():
    """x = 0 and the boundary w . x = 1: the segment to c meets it at c / (w . c)."""
    w = np.array([1.0, -2.0, 0.5])
    problem = plane(w, 1.0)
    c = np.random.default_rng(2).uniform(-5, 5, size=(60, 3))
    c = c[c @ w > 1.05]
    people = problem.population(np.zeros((len(c), 3)))
    who = np.arange(len(c))
    got = boundary(people, who, c, problem.schema.span, tolerance=1e-6)
    np.testing.assert_allclose(got, c / (c @ w)[:, None], atol=1e-5)  # 1e-6 of a range of 10
    assert works(people, who, got, judge=False).all()
    coarse = boundary(people, who, c, problem.schema.span, tolerance=0.05)
    gap = np.linalg.norm(coarse - c / (c @ w)[:, None], axis=1) / 10
    assert (gap < 0.05).all() and gap.max() > 1e-4
    assert works(people, who, coarse, judge=False).all()


def test_a_boundary_point_costs_one_row_a_halving():
    problem = plane(np.array([1.0, 1.0]), 1.0)
    people = problem.population(np.zeros((3, 2)))
    before = people.rows.copy()
    c = np.tile([4.0, 3.0], (3, 1))
    boundary(people, np.arange(3), c, problem.schema.span, tolerance=1e-6)
    assert (people.rows - before == np.ceil(np.log2(0.5 / 1e-6))).all()


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_a_boundary_point_holds_and_levels_stay(kind, world):
    it = case(kind, world)
    got = wf.recommend(it.problem, it.x, method="growing-spheres", k=3)
    who, slot = np.nonzero(got.found)
    action = got.action[who, slot]
    people = it.problem.population(it.x)
    near = boundary(people, who, action, it.problem.schema.span, tolerance=1e-4)
    assert works(people, who, near, judge=False).all()
    kept = it.problem.schema.is_categorical | (it.problem.schema.n_levels == 2)
    np.testing.assert_array_equal(near[:, kept], action[:, kept])
    length = np.abs(near - people.x[who]) <= np.abs(action - people.x[who]) + 1e-6
    assert (length | np.isnan(near))[:, ~kept].all()
    fewer = boundary(people, who, action, it.problem.schema.span, tolerance=1e-4, give_back=True)
    assert works(people, who, fewer, judge=False).all()
    assert ((~np.isnan(fewer)).sum(1) <= (~np.isnan(near)).sum(1)).all()


# -- questions ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """A bar near people who stand in the middle of a wide range, and plans far beyond it."""
    problem = plane(np.array([1.0, 1.0, 1.0]), 0.1)
    x = np.random.default_rng(4).uniform(-0.1, 0.0, size=(20, 3))
    return problem, x, np.full((20, 3), 2.0)


@pytest.mark.parametrize("budget", [2, 6, 30])
def test_a_round_is_k_less_one_comparisons_and_one_acceptance(wide, budget):
    """Where every direction leads to a yes, HARE asks exactly its budget."""
    problem, x, start = wide
    session = elicitor("hare", budget=budget, gamma=0.1, steps=40).fit(problem).begin(x, start, seed=3)
    people = Recorder(first)
    converse(session, people)
    kinds = np.array([questions.kind for questions in people.shown])
    assert len(kinds) == budget and (session.questions == budget).all()
    assert (kinds[:-1] == Kind.CHOOSE).all() and (kinds[-1] == Kind.ACCEPT).all()


@pytest.mark.parametrize("budget, rounds", [(30, 5), (12, 3), (13, 3)])
def test_multi_hare_asks_a_share_of_the_budget_in_each_round(wide, budget, rounds):
    problem, x, start = wide
    hare = elicitor("multi-hare", budget=budget, iterations=rounds, gamma=0.1, steps=40).fit(problem)
    session = hare.begin(x, start)
    people = Recorder(first)
    converse(session, people)
    kinds = np.array([questions.kind for questions in people.shown])
    k = budget // rounds
    assert hare.plans == k and (session.round == rounds).all()
    assert (kinds[: k - 1] == Kind.CHOOSE).all() and (kinds[k - 1] == Kind.ACCEPT).all()
    for i in range(len(x)):
        accept = np.flatnonzero(kinds[:, i] == Kind.ACCEPT)
        assert len(accept) == rounds and (np.diff(accept) <= k).all()
        assert session.questions[i] == (kinds[:, i] != Kind.DONE).sum() <= k * rounds


def test_every_candidate_meets_the_winner_of_those_before(toy):
    """King of the hill: one of two options was preferred the time before, and no plan comes back once it lost."""
    problem, x = toy
    session = Hare(budget=12).fit(problem).begin(x[:5])
    wanted = draw_wanted(problem, session.people, "far")
    people = Recorder(IdealProfile(session.people, wanted))
    converse(session, people)
    for i in range(5):
        lost, champion = [], None
        for questions, reply in zip(people.shown, people.replies, strict=True):
            if questions.kind[i] != Kind.CHOOSE:
                continue
            pair = [tuple(questions.after[i, 0]), tuple(questions.after[i, 1])]
            assert champion is None or champion in pair
            assert not set(pair) & set(lost)
            champion = pair[reply[i]]
            lost.append(pair[1 - reply[i]])
        last = [questions for questions in people.shown if questions.kind[i] == Kind.ACCEPT][-1]
        assert tuple(last.after[i, 0]) == champion
        np.testing.assert_allclose(session.best[i], np.array(champion))


@pytest.mark.parametrize("budget, iterations", [(1, 1), (1, 5), (3, 5), (7, 5), (9, 5), (10, 1), (10, 10)])
def test_a_small_budget_is_kept(toy, budget, iterations):
    """Fewer questions than two a round: plans are offered one by one, and only an accepted one replaces the first."""
    problem, x = toy
    session = Hare(budget=budget, iterations=iterations, **QUICK).fit(problem).begin(x[:10])
    start = session.best.copy()
    converse(session, Recorder(first))
    assert (session.questions <= budget).all() and (session.questions >= 1).all()
    if budget < 2 * iterations:
        np.testing.assert_array_equal(session.best, start)
        again = Hare(budget=budget, iterations=iterations, **QUICK).fit(problem).begin(x[:10])
        offered = again.pending.action[:, 0]
        again.answer(np.ones(10, dtype=np.int64))
        np.testing.assert_array_equal(again.best, offered)
        assert (again.pending.kind == Kind.DONE).all() and (again.questions == 1).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0},
        {"iterations": 0},
        {"budget": 2.5},
        {"gamma": 0.0},
        {"rate": -1.0},
        {"tolerance": 0.0},
        {"spread": -1.0},
        {"narrow": 0.0},
        {"halvings": -1},
        {"calibrate": "none"},
        {"bases": "wachter"},
    ],
)
def test_impossible_settings_are_named(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong)).rstrip("s")):
        elicitor("hare", **wrong)


def test_a_start_of_another_shape_and_a_wrong_reply_are_told(toy):
    problem, x = toy
    hare = Hare(budget=4, **QUICK).fit(problem)
    with pytest.raises(MethodError, match="one action for each person"):
        hare.begin(x[:3], np.full((2, 4), np.nan))
    session = hare.begin(x[:2])
    with pytest.raises(MethodError, match="fits no option"):
        session.answer(np.array([0, 2]))


# -- what it is worth -----------------------------------------------------------------------------------------


def gtp(problem, session, wanted):
    return ground_truth(problem.schema, session.people.x, session.recourse().after[:, 0], wanted)[0]


def test_people_end_nearer_to_what_they_have_in_mind(toy):
    """HARE nearer than the base, Multi-HARE no farther than HARE for what is far: the order of table 1 of the paper."""
    problem, x = toy
    people = problem.population(x)
    wanted = draw_wanted(problem, people, "far", seed=5)
    base = wf.recommend(problem, x)
    before = ground_truth(problem.schema, x, base.after[:, 0], wanted)[0]
    one = converse(Hare(steps=40).fit(problem).begin(x, base.action[:, 0]), IdealProfile(people, wanted))
    many = converse(
        MultiHare(steps=40).fit(problem).begin(x, base.action[:, 0]), IdealProfile(people, wanted)
    )
    assert one.recourse().found.all() and many.recourse().found.all()  # success is unchanged
    after, later = gtp(problem, one, wanted), gtp(problem, many, wanted)
    assert after.mean() < 0.7 * before.mean()
    assert later.mean() <= after.mean()
    assert ((after < before).mean() > 0.9) and ((later < before).mean() > 0.9)


def test_errors_cost_but_do_not_break(toy):
    problem, x = toy
    people = problem.population(x[:60])
    wanted = draw_wanted(problem, people, "far")
    start = wf.recommend(problem, x[:60]).action[:, 0]
    hare = Hare(**QUICK).fit(problem)
    sure = converse(hare.begin(x[:60], start), IdealProfile(people, wanted))
    noise = ReplyNoise(flip=0.2, lazy=0.2, fickle=0.1)
    torn = converse(hare.begin(x[:60], start), IdealProfile(people, wanted, noise=noise))
    assert torn.recourse().found.all()
    assert gtp(problem, sure, wanted).mean() < gtp(problem, torn, wanted).mean()


def test_a_kept_incumbent_is_never_worse(toy):
    """With the plan from before in each round, nobody who answers truly ends farther away than they began."""
    problem, x = toy
    people = problem.population(x[:60])
    start = wf.recommend(problem, x[:60]).after[:, 0]  # what they have in mind is what they begin with
    hare = {keep: MultiHare(keep_incumbent=keep, narrow=0.7, **QUICK).fit(problem) for keep in (False, True)}
    ends = {
        keep: converse(
            it.begin(x[:60], np.where(start == x[:60], np.nan, start)), IdealProfile(people, start)
        )
        for keep, it in hare.items()
    }
    assert gtp(problem, ends[True], start).max() < 1e-12
    assert gtp(problem, ends[False], start).min() > 1e-6


def test_only_the_best_is_calibrated_if_asked(toy):
    problem, x = toy
    session = Hare(calibrate="best", budget=6, **QUICK).fit(problem).begin(x[:20])
    people = Recorder(first)
    converse(session, people)
    shown = np.concatenate(
        [questions.after[questions.kind == Kind.CHOOSE].reshape(-1, 4) for questions in people.shown]
    )
    score = problem.population(shown).score(np.arange(len(shown)), shown)
    last = session.recourse().after[:, 0]
    assert np.median(score) > 0.1
    assert problem.population(last).score(np.arange(20), last).max() < 1e-3
    every = converse(Hare(budget=6, **QUICK).fit(problem).begin(x[:20]), Recorder(first))
    assert every.recourse().found.all()


def test_directions_differ(wide):
    """The mean greatest cosine falls to that of points spread over a sphere, and the model still says yes."""
    problem, x, start = wide
    people, who = problem.population(x), np.arange(20)

    def sampled(around, **settings):
        sampler = Hare(halvings=0, gamma=0.1, **settings).fit(problem).sampler_
        plan, good = sampler(people, who, around, 6, Streams.of(x, 0), np.ones(20))
        p = (np.where(np.isnan(plan), x[:, None], plan) - around[:, None]) / problem.schema.span / 0.1
        np.testing.assert_allclose(np.linalg.norm(p, axis=2), 1.0, atol=1e-6)
        return (p @ p.transpose(0, 2, 1) - 2 * np.eye(6)).max(2).mean(), good.mean()

    random, _ = sampled(start, steps=0)
    spread, good = sampled(start)
    assert (
        random > 0.5 and spread < 0.3 and good == 1.0
    )  # the best six directions of a space are at right angles
    near = np.full((20, 3), 0.05)  # on the boundary: half of all directions lead back
    _, alone = sampled(near, steps=0)
    both, some = sampled(near)
    close, most = sampled(near, spread=0.0)
    assert 0.3 < alone < 0.7 and max(alone, some) < most == 1.0 and both < close / 2


# -- the same for everybody -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, world", [("network", "independent"), ("forest", "independent"), ("linear", "causal")]
)
def test_a_person_alone_and_in_another_order_is_asked_the_same(kind, world):
    it = case(kind, world, n=12)
    x = it.x[it.refused]
    order = np.random.default_rng(0).permutation(len(x))
    hare = MultiHare(budget=10, iterations=2, steps=5).fit(it.problem)
    taste = np.random.default_rng(9).normal(size=it.problem.schema.d)

    def like(questions):
        value = np.nan_to_num(questions.after / it.problem.schema.span) @ taste
        return np.where(questions.kind == Kind.CHOOSE, value.argmax(1), 0)

    def history(rows):
        people = Recorder(like)
        session = hare.begin(x[rows], seed=7)
        converse(session, people)
        return session, np.stack([questions.action for questions in people.shown])

    together, questions = history(np.arange(len(x)))
    shuffled, mixed = history(order)
    np.testing.assert_array_equal(shuffled.best, together.best[order])
    np.testing.assert_array_equal(mixed, questions[:, order])
    assert together.questions.max() > 3
    for i in (0, len(x) - 1):
        alone, own = history(np.array([i]))
        np.testing.assert_array_equal(alone.best[0], together.best[i])
        np.testing.assert_array_equal(own[:, 0], questions[: len(own), i])
    assert not np.array_equal(
        np.nan_to_num(hare.begin(x, seed=8).pool), np.nan_to_num(hare.begin(x, seed=7).pool)
    )


@pytest.mark.parametrize("kind", ["linear", "forest", "network", "label"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_every_plan_that_is_shown_is_judged_found(kind, world):
    """Whatever the model, the rules and the world; those without a first plan are done at once."""
    it = case(kind, world)
    problem, x = it.problem, it.x
    base = wf.recommend(problem, x)
    session = Hare(budget=8, iterations=2, steps=10).fit(problem).begin(x, base.action[:, 0])
    done = session.pending.kind == Kind.DONE
    np.testing.assert_array_equal(done, ~base.found[:, 0])
    people = Recorder(first)
    converse(session, people)
    assert (session.questions[done] == 0).all() and (session.questions[~done] > 0).all()
    shown = np.concatenate([questions.action for questions in people.shown], axis=1)
    there = np.concatenate([questions.after for questions in people.shown], axis=1)
    got = problem.check(x, shown, shown.shape[1])
    distinct = [len(np.unique(row[~np.isnan(row).all(1)], axis=0)) for row in there]
    np.testing.assert_array_equal(got.found.sum(1), distinct)
    np.testing.assert_array_equal(session.recourse().found[:, 0], base.found[:, 0])
    changes = (~np.isnan(shown)).sum(2)
    assert changes.max() <= 4  # a rule of these problems
    assert (changes > 1).any() and np.mean(distinct) > 2


def test_levels_move_unless_only_numbers_may():
    it = case("linear", "independent")
    x = it.x[it.refused]
    level = it.problem.schema.has_levels
    start = wf.recommend(it.problem, x).action[:, 0]
    pools = {}
    for only in (False, True):
        session = Hare(budget=12, numbers_only=only, **QUICK).fit(it.problem).begin(x, start)
        pools[only] = session.pool[~np.isnan(session.pool).all(2)]
        if only:
            who = np.flatnonzero(~np.isnan(start).all(1))
            same = np.isnan(session.pool) | (session.pool == start[:, None])
            assert same[who][:, :, level].all()
    assert (~np.isnan(pools[False][:, level])).sum() > (~np.isnan(pools[True][:, level])).sum()


def test_any_base_method_will_do():
    it = case("forest", "independent")
    x = it.x[it.refused][:12]
    base = wf.method("nice").fit(it.problem)
    session = converse(Hare(base=base, budget=5, **QUICK).fit(it.problem).begin(x), Recorder(first))
    assert (session.recourse().found[:, 0] == base.recommend(x).found[:, 0]).all()
    named = elicitor("hare", base="growing-spheres", base_parameters={"samples": 50}, budget=5, **QUICK)
    assert named.fit(it.problem).base_.samples == 50
    assert named.parameters()["base"] == "growing-spheres"


def test_a_prediction_in_euros_is_a_target_too(toy):
    """The cross entropy of a score with a unit is taken of what was missing at the start."""
    schema, x = toy[0].schema, toy[1][:20]
    data = np.random.default_rng(0).uniform(size=(300, 4))
    model = LinearRegression().fit(data, 5000 * data.sum(1))
    problem = wf.Problem(
        schema, wf.wrap(model, schema, task="regression"), Target(interval=(9000.0, np.inf)), data=data
    )
    session = converse(Hare(budget=8, **QUICK).fit(problem).begin(x), Recorder(first))
    assert session.recourse().found.all() and session.questions.mean() > 4


@pytest.mark.parametrize(
    "way",
    [
        Hare(budget=6, steps=4),
        elicitor("learned", budget=6, particles=96, pool=48, shown=12),
        elicitor("pear", budget=6, sweeps=5),
    ],
    ids=lambda way: way.name,
)
def test_in_an_uncertain_world_every_plan_keeps_the_promise(way):
    """Plans are as sure as the problem asks, also at the end of their way back, however people are asked."""
    it = case("linear", "causal", n=16)
    noise = {
        "income": "Normal(0, 1)",
        "savings": "Normal(0, 3000)",
        "debt": "Normal(0, 1)",
        "rating": "Normal(0, 5)",
    }
    world = SubPopulation(SCM({e.name: str(e) for e in small_world().equations}, noise=noise))
    problem = wf.Problem(
        it.problem.schema,
        it.problem.model,
        it.problem.target,
        data=it.problem.reference,
        world=world,
        confidence=wf.Confidence(share=0.9, draws=60),
    )
    x = it.x[it.refused][:5]
    base = wf.recommend(problem, x)
    session = way.fit(problem).begin(x, base.action[:, 0])
    people = Recorder(first)
    converse(session, people)
    assert base.found.any()
    np.testing.assert_array_equal(session.recourse().found[:, 0], base.found[:, 0])
    assert (session.recourse().chance[base.found[:, 0], 0] >= 0.9).all()
    shown = np.concatenate([questions.action for questions in people.shown], axis=1)
    who, slot = np.nonzero(~np.isnan(shown).all(2))
    assert problem.chance(x[who], shown[who, slot])[1].all() and len(who) > base.found.sum()


# -- users and wishes -----------------------------------------------------------------------------------------


def test_who_accepts_is_asked_nothing_more(toy):
    problem, x = toy
    say = np.array([1, 1, 1, 0, 0, CANNOT_SAY])
    session = MultiHare(budget=10, **QUICK).fit(problem).begin(x[:6])
    people = Recorder(lambda questions: np.where(questions.kind == Kind.ACCEPT, say, 0))
    converse(session, people)
    kinds = np.array([questions.kind for questions in people.shown])
    accepts = (kinds == Kind.ACCEPT).sum(0)
    assert (accepts[:3] == 1).all() and (accepts[3:] > 1).all()
    for i in range(3):
        last = people.shown[int((kinds[:, i] == Kind.ACCEPT).argmax())]
        np.testing.assert_array_equal(session.best[i], last.action[i, 0])
    assert (session.questions == (kinds != Kind.DONE).sum(0)).all()


def test_who_cannot_say_anything_keeps_the_first_plan(toy):
    problem, x = toy
    start = wf.recommend(problem, x[:10]).action[:, 0]
    session = converse(MultiHare(**QUICK).fit(problem).begin(x[:10], start), Recorder(silent))
    np.testing.assert_array_equal(session.best, start)
    assert (session.questions > 10).all()


def test_who_rejects_everything_still_has_a_plan(toy):
    problem, x = toy
    session = converse(MultiHare(**QUICK).fit(problem).begin(x[:10]), Recorder(first))
    assert session.recourse().found.all() and (session.questions <= 30).all()


def test_who_is_accepted_or_has_no_way_is_done_at_once(toy):
    problem, _ = toy
    x = np.array([[1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]])
    wish = Preferences.none(problem.schema, 3).freeze("x0", "x1", "x2", "x3", who=[1])
    session = Hare(budget=4, **QUICK).fit(problem).begin(x, preferences=wish)
    assert session.pending.kind.tolist() == [Kind.DONE, Kind.DONE, Kind.CHOOSE]
    assert session.recourse().outcome[:, 0].tolist() == [Outcome.ACCEPTED, Outcome.NOT_FOUND, Outcome.FOUND]


def test_without_candidates_the_first_plan_is_what_people_are_asked_about():
    """One binary feature: every direction leads to the plan itself."""
    schema = Schema((Feature(name="job", kind="binary", levels=(0, 1)),))
    problem = wf.Problem(
        schema, wf.wrap(lambda x: x[:, 0], schema, output="probability", classes=(0, 1)), Target(favourable=1)
    )
    session = MultiHare(keep_incumbent=False, **QUICK).fit(problem).begin(np.zeros((1, 1)))
    people = Recorder(first)
    converse(session, people)
    assert session.recourse().found.all() and session.best[0, 0] == 1.0
    assert {int(questions.kind[0]) for questions in people.shown} == {int(Kind.ACCEPT)}


def test_what_is_frozen_midway_is_never_shown_again(toy):
    """The plan that leads is cut down or replaced, and fresh candidates take the place of the broken ones."""
    problem, x = toy
    session = Hare(budget=20).fit(problem).begin(x[:20])
    for _ in range(5):
        session.answer(np.zeros(20, dtype=np.int64))
    wish = Preferences.none(problem.schema, 20).freeze("x1", who=np.arange(10))
    wish = wish.limit("x0", high=0.6, who=np.arange(5, 15))
    before = session.questions.copy()
    session.answer(np.zeros(20, dtype=np.int64), wish)
    assert (session.questions == before + 1).all()
    people = Recorder(first)
    converse(session, people)
    shown = np.concatenate([questions.action for questions in people.shown], axis=1)
    assert np.isnan(shown[:10, :, 1]).all()
    assert not (shown[5:15, :, 0] > 0.6 + 1e-9).any()
    assert (~np.isnan(shown[10:, :, 1])).any() and (shown[15:, :, 0] > 0.6).any()
    got = session.recourse()
    assert got.preferences is wish and got.found.all()
    assert (session.questions <= 20).all() and session.questions[:15].mean() > 10


def test_limits_that_leave_no_way_end_the_talk(toy):
    problem, x = toy
    session = MultiHare(**QUICK).fit(problem).begin(x[:4])
    wish = Preferences.none(problem.schema, 4).freeze("x0", "x1", "x2", "x3", who=[2])
    session.answer(np.zeros(4, dtype=np.int64), wish)
    assert session.pending.kind[2] == Kind.DONE and np.isnan(session.best[2]).all()
    assert (session.pending.kind[[0, 1, 3]] != Kind.DONE).all()


def test_a_wish_with_the_last_answer_still_counts(toy):
    problem, x = toy
    session = Hare(budget=1, **QUICK).fit(problem).begin(x[:3])
    offered = session.pending.action[:, 0]
    acted = int((~np.isnan(offered[0])).argmax())
    wish = Preferences.none(problem.schema, 3).freeze(f"x{acted}", who=[0])
    session.answer(np.ones(3, dtype=np.int64), wish)
    assert np.isnan(session.best[0, acted]) and (session.pending.kind == Kind.DONE).all()
    np.testing.assert_array_equal(session.best[1:], offered[1:])


@settings(max_examples=8)
@given(data=st.data())
def test_no_wish_is_ever_broken(data):
    """Frozen features, limits, forbidden levels and few changes, at the start and on the way, in both worlds."""
    world = data.draw(st.sampled_from(["independent", "causal"]))
    kind = data.draw(st.sampled_from(["linear", "forest"]))
    it = case(kind, world, n=8)
    x, schema = it.x[it.refused], it.problem.schema

    def wishes():
        wish = Preferences.none(schema, len(x))
        for name in data.draw(st.lists(st.sampled_from(["income", "savings", "debt", "phone"]), max_size=2)):
            wish = wish.freeze(name, who=np.arange(0, len(x), 2))
        if data.draw(st.booleans()):
            wish = wish.limit("income", high="+20% of range", x=x).limit("debt", low="-30% of range", x=x)
        if data.draw(st.booleans()):
            wish = wish.forbid("housing", data.draw(st.sampled_from(["rent", "own", "free"])))
        return wish.at_most(data.draw(st.integers(1, 9)))

    wish = wishes()
    settings_ = {
        "keep_incumbent": data.draw(st.booleans()),
        "calibrate": data.draw(st.sampled_from(["every", "best"])),
        "numbers_only": data.draw(st.booleans()),
        "give_back": data.draw(st.booleans()),
    }
    hare = Hare(budget=6, iterations=2, steps=4, **settings_).fit(it.problem)
    session = hare.begin(x, preferences=wish, seed=1)
    late = data.draw(st.integers(0, 4))
    for turn in range(30):
        questions = session.pending
        if (questions.kind == Kind.DONE).all():
            break
        shown = ~np.isnan(questions.after).all(2)
        who, slot = np.nonzero(shown)
        people = it.problem.population(x, wish)
        assert works(people, who, questions.action[who, slot], judge=False).all()
        reply = np.array([data.draw(st.integers(-1, 1)) for _ in range(3)])[np.arange(len(x)) % 3]
        if turn == late:
            wish = wishes()
            session.answer(reply, wish)
        else:
            session.answer(reply)
        some = np.flatnonzero(~np.isnan(session.best).all(1))
        assert works(it.problem.population(x, wish), some, session.best[some], judge=False).all()
    assert (session.questions <= 6).all()


class TestHare(ElicitorContract):
    elicitor = "hare"
    parameters: ClassVar = {"budget": 5, "steps": 15}


class TestMultiHare(ElicitorContract):
    elicitor = "multi-hare"
    parameters: ClassVar = {"budget": 6, "iterations": 2, "steps": 15, "keep_incumbent": True}
