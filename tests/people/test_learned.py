"""learned: what answers do to the belief, how near it comes with few questions, limits, errors of people, replay."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import wayforward as wf
from wayforward import Feature, Outcome, Schema, Target
from wayforward.errors import MethodError
from wayforward.evaluate.actions import ground_truth
from wayforward.people.elicitor import CANNOT_SAY, Kind, converse
from wayforward.people.elicitors import elicitor
from wayforward.people.elicitors.hare import Hare, MultiHare
from wayforward.people.elicitors.learned import Learned
from wayforward.people.elicitors.taste_particles import Belief, Replies
from wayforward.people.ideal_profiles import draw_wanted
from wayforward.people.simulated import IdealProfile, PersonalCost, ReplyNoise
from wayforward.preferences import Preferences
from wayforward.streams import Streams
from wayforward.testing import ElicitorContract, case

SMALL = {"particles": 192, "pool": 96, "shown": 20}


@pytest.fixture(scope="module")
def toy():
    """200 people far below a linear bar over four numbers, and what they have in mind."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=0.0, high=1.0) for j in range(4)))
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 1, size=(400, 4))
    weight = np.array([4.0, 3.0, 2.0, 3.0])
    model = LogisticRegression().fit(data, (data @ weight > 6).astype(int))
    model.coef_, model.intercept_ = weight[None, :], np.array([-6.0])
    problem = wf.Problem(schema, model, Target(favourable=1), data=data)
    x = rng.uniform(0.0, 0.3, size=(200, 4))
    return problem, x, draw_wanted(problem, problem.population(x), "far", seed=3)


def gtp(problem, x, session, wanted):
    got = session.recourse()
    assert got.found[:, 0].all()
    return ground_truth(problem.schema, x, got.after[:, 0], wanted)[0]


def talked(way, problem, x, people, **begin):
    return converse(way.fit(problem).begin(x, **begin), people)


# -- the belief -----------------------------------------------------------------------------------------------


def one_ideal(wish, place, *, sharp, slip):
    """A belief of one person over ideals only, all alike sharp."""
    many, d = wish.shape
    return Belief(
        wish=wish[None], place=place[None], sound=np.ones((1, many), dtype=bool), load=np.zeros((1, 0, d)),
        sharp=np.full((1, many), np.log(sharp)), slip=np.full((1, many), np.log(slip)), log=np.zeros((1, many)),
        mean=np.ones((1, d)), far=np.ones(1), families=((0, many), (many, many), (many, many)),
    )  # fmt: skip


def test_a_sharp_answer_leaves_the_half_space_of_the_chosen_plan():
    """The bisector of the two plans parts the ideals that stay from those that go."""
    wish = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    belief = one_ideal(wish, wish, sharp=1e6, slip=1e-9)
    pair = np.array([[0.5, 0.0, 0.2], [-0.4, 0.3, 0.0]])
    replies = Replies(pair[None, None], np.zeros((1, 1, 2, 3)), np.array([[1]]))
    belief.log = belief.log + belief.fit(replies)
    nearer = np.linalg.norm(wish - pair[1], axis=1) < np.linalg.norm(wish - pair[0], axis=1)
    assert 0.2 < nearer.mean() < 0.8
    assert belief.weight[0, nearer].sum() > 1 - 1e-6


def test_bradley_terry_by_hand():
    """Dislikes 1 and 3, sharpness 0.5, a tenth slips: the first is chosen with .9 / (1 + e^-1) + .05."""
    wish = np.zeros((1, 1))
    belief = one_ideal(wish, wish, sharp=0.5, slip=0.1)
    chance = belief.chance(np.full((1, 1, 1), 1.0), np.full((1, 1, 1), 3.0))
    np.testing.assert_allclose(chance, 0.9 / (1 + np.exp(-1.0)) + 0.05, rtol=1e-6)
    replies = Replies(np.array([[[[1.0], [3.0]]] * 2]), np.zeros((1, 2, 2, 1)), np.array([[0, CANNOT_SAY]]))
    np.testing.assert_allclose(belief.fit(replies), np.log(chance[:, :, 0]), rtol=1e-6)


def test_noiseless_answers_narrow_the_belief(toy):
    problem, x, wanted = toy
    x, wanted = x[:40], wanted[:40]
    session = Learned(accept="never", **SMALL).fit(problem).begin(x)
    before = session.belief.take(np.arange(40))
    converse(session, IdealProfile(session.people, wanted))
    replies = session.replies
    for belief, least, most in ((before, 0.0, 0.2), (session.belief, 0.5, 1.0)):
        n, ideals = belief.wish.shape[:2]
        apart = np.linalg.norm(
            replies.place[:, None] - belief.place[:, :, None, None], axis=-1
        )  # (n, A, H, 2)
        chosen = np.where(
            replies.reply[:, None] == 0, apart[..., 0] <= apart[..., 1], apart[..., 1] <= apart[..., 0]
        )
        share = belief.weight[:, :ideals] / belief.weight[:, :ideals].sum(1, keepdims=True)
        agrees = (share * chosen.all(2)).sum(1).mean()
        assert least <= agrees <= most


def test_contradictions_never_end_a_belief(toy):
    problem, x, _ = toy
    session = Learned(accept="never", budget=20, **SMALL).fit(problem).begin(x[:8])
    turn = 0
    while (session.pending.kind != Kind.DONE).any():
        # the very same answer whatever is shown, which no taste gives
        session.answer(np.full(8, turn % 2))
        turn += 1
        assert np.isfinite(session.belief.log.max(1)).all()
        np.testing.assert_allclose(session.belief.weight.sum(1), 1.0)
    assert session.recourse().found[:, 0].all()


# -- how near it comes ----------------------------------------------------------------------------------------


def test_ten_questions_beat_thirty_of_multi_hare_and_ten_of_hare(toy):
    problem, x, wanted = toy
    people = problem.population(x)
    start = wf.recommend(problem, x, seed=0).action[:, 0]
    got = {}
    for name, way in {
        "learned": Learned(budget=10, **SMALL),
        "hare": Hare(budget=10),
        "multi": MultiHare(budget=30),
    }.items():
        session = talked(way, problem, x, IdealProfile(people, wanted), start=start)
        assert (session.questions <= way.budget).all()
        got[name] = gtp(problem, x, session, wanted).mean()
    base = ground_truth(problem.schema, x, np.where(np.isnan(start), x, start), wanted)[0].mean()
    assert got["learned"] < 0.9 * got["multi"]
    assert got["learned"] < 0.75 * got["hare"]
    assert got["learned"] < 0.4 * base


@pytest.fixture(scope="module")
def clear(toy):
    """GTP of 40 people who never err."""
    problem, x, wanted = toy[0], toy[1][:40], toy[2][:40]
    people = IdealProfile(problem.population(x), wanted)
    return gtp(problem, x, talked(Learned(**SMALL), problem, x, people), wanted).mean()


@pytest.mark.parametrize(
    "noise",
    [ReplyNoise(kappa=10), ReplyNoise(flip=0.15), ReplyNoise(lazy=0.3), ReplyNoise(fickle=0.2)],
    ids=str,
)
def test_people_who_err_lose_some_of_the_gain_not_all(toy, clear, noise):
    problem, x, wanted = toy[0], toy[1][:40], toy[2][:40]
    people, way = problem.population(x), Learned(**SMALL)
    loud = gtp(problem, x, talked(way, problem, x, IdealProfile(people, wanted, noise=noise)), wanted).mean()
    base = wf.recommend(problem, x, seed=0)
    first = ground_truth(problem.schema, x, base.after[:, 0], wanted)[0].mean()
    assert clear - 0.01 <= loud < 0.75 * first


def test_people_with_costs_of_their_own_pay_less(toy):
    problem, x, _ = toy
    x = x[:40]
    people = problem.population(x)
    weight = np.exp(np.random.default_rng(5).normal(0, 1, size=x.shape))
    users = PersonalCost(people, weight)
    session = talked(Learned(**SMALL), problem, x, users)
    start = wf.recommend(problem, x, seed=0).action[:, 0]
    everyone, after = np.arange(len(x)), problem.consequences(x, session.best)
    paid = users.dislike(everyone, session.best, after)
    first = users.dislike(everyone, start, problem.consequences(x, start))
    assert paid.mean() < 0.9 * first.mean()
    mind = session.learned()["reluctance"]
    np.testing.assert_allclose(np.nanmean(mind, axis=1), 1.0)
    # what is believed to be hard is hard
    assert np.corrcoef(np.log(mind).ravel(), np.log(weight).ravel())[0, 1] > 0.3


def test_what_was_learned_is_near_what_is_wanted(toy):
    problem, x, wanted = toy
    session = talked(Learned(**SMALL), problem, x[:40], IdealProfile(problem.population(x[:40]), wanted[:40]))
    said = session.learned()
    far = ground_truth(problem.schema, x[:40], said["wanted"], wanted[:40])[0]
    assert far.mean() < 0.5 * ground_truth(problem.schema, x[:40], x[:40], wanted[:40])[0].mean()
    assert (said["answers"] == 9).all()
    np.testing.assert_allclose(said["family"].sum(1), 1.0)


# -- what is shown --------------------------------------------------------------------------------------------


class Watcher:
    """Answers with a coin of each person's own, and sees to it that every plan shown is one."""

    def __init__(self, session, seed=0):
        self.session, self.seed, self.turn = session, seed, 0
        self.shown = []

    def reply(self, questions):
        self.turn += 1
        people = self.session.people
        got = people.problem.check(people.x, questions.action, 2, preferences=people.preferences)
        there = questions.exists.sum(1)
        assert (got.found.sum(1) == there).all()
        assert (there[questions.kind == Kind.CHOOSE] == 2).all()
        self.shown.append(questions.action)
        draw = Streams.of(people.x, self.seed).uniform(np.arange(people.n), 2, tag=self.turn)
        coin = np.where(draw[:, 0] < 0.1, CANNOT_SAY, (draw[:, 1] < 0.5).astype(np.int64))
        return np.where(questions.kind == Kind.ACCEPT, 0, coin)


@pytest.mark.parametrize(
    ("kind", "world"),
    [("linear", "independent"), ("forest", "independent"), ("network", "causal"), ("label", "causal")],
)
def test_every_plan_shown_is_one(kind, world):
    it = case(kind, world)
    wish = Preferences.none(it.problem.schema, len(it.x)).freeze("housing").at_most(3)
    session = Learned(budget=6, **SMALL).fit(it.problem).begin(it.x, preferences=wish)
    watch = converse(session, Watcher(session))
    assert watch is session and (session.pending.kind == Kind.DONE).all()
    base = wf.recommend(it.problem, it.x, preferences=wish)
    got = session.recourse()
    np.testing.assert_array_equal(got.found[:, 0], base.found[:, 0])
    assert base.found[:, 0].sum() > 10


def test_limits_that_come_late_hold_from_then_on():
    it = case("network")
    x = it.x[it.refused][:14]
    n, schema = len(x), it.problem.schema
    session = Learned(budget=8, **SMALL).fit(it.problem).begin(x)
    watch = Watcher(session)
    for _ in range(3):
        session.answer(watch.reply(session.pending))
    wish = Preferences.none(schema, n).freeze("savings", who=np.arange(0, n, 2))
    session.answer(watch.reply(session.pending), wish)
    at = schema.index("savings")
    while (session.pending.kind != Kind.DONE).any():
        assert np.isnan(session.pending.action[::2, :, at]).all()
        session.answer(watch.reply(session.pending))
    best = session.best
    assert np.isnan(best[::2, at]).all()
    there = ~np.isnan(best).all(1)
    np.testing.assert_array_equal(session.recourse().outcome[there, 0] == Outcome.FOUND, True)
    possible = wf.recommend(it.problem, x, preferences=wish).found[:, 0]
    assert (there | ~possible).mean() > 0.9


def test_limits_touch_only_those_who_stated_them():
    it = case("linear")
    x = it.x[it.refused][:6]
    schema = it.problem.schema
    way = Learned(budget=5, **SMALL).fit(it.problem)
    one, two = way.begin(x), way.begin(x)
    wish = Preferences.none(schema, 6).freeze("debt", who=[1])
    for turn in range(4):
        reply = np.zeros(6, dtype=np.int64)
        one.answer(reply, wish if turn == 1 else None)
        two.answer(reply)
    others = np.array([0, 2, 3, 4, 5])
    np.testing.assert_array_equal(one.best[others], two.best[others])


def test_nothing_left_ends_kindly():
    it = case("linear")
    x = it.x[it.refused][:4]
    session = Learned(budget=5, **SMALL).fit(it.problem).begin(x)
    session.answer(
        np.zeros(4, dtype=int), Preferences.none(it.problem.schema, 4).freeze(*it.problem.schema.names[1:7])
    )
    assert (session.pending.kind == Kind.DONE).all()
    assert np.isnan(session.best).all()
    assert session.learned()["wanted"].shape == x.shape


# -- the talk -------------------------------------------------------------------------------------------------


def test_alone_in_any_order_and_again_is_the_same():
    it = case("network")
    x = it.x[it.refused][:5]
    way = Learned(budget=4, **SMALL).fit(it.problem)

    def replies(rows):
        session = way.begin(x[rows], seed=4)
        watch = Watcher(session)
        converse(session, watch)
        return np.stack(watch.shown, axis=1), session.best

    shown, best = replies(np.arange(5))
    for rows in (np.array([3]), np.array([4, 2, 0]), np.arange(5)):
        again, plan = replies(rows)
        np.testing.assert_array_equal(again, shown[rows])
        np.testing.assert_array_equal(plan, best[rows])


def test_looking_at_the_best_plan_changes_nothing():
    it = case("linear")
    x = it.x[it.refused][:3]
    way = Learned(budget=4, **SMALL).fit(it.problem)
    one, two = way.begin(x), way.begin(x)
    for _ in range(4):
        assert one.best.shape == x.shape
        one.answer(np.ones(3, dtype=int))
        two.answer(np.ones(3, dtype=int))
    np.testing.assert_array_equal(one.best, two.best)


def test_the_last_question_asks_whether_the_plan_will_do(toy):
    problem, x, wanted = toy
    people = IdealProfile(problem.population(x[:5]), wanted[:5], satisfied=10.0)
    for accept, kinds in (("end", [1, 1, 1, 2]), ("never", [1, 1, 1, 1])):
        seen = []
        session = Learned(budget=4, accept=accept, **SMALL).fit(problem).begin(x[:5])
        while (session.pending.kind != Kind.DONE).any():
            seen.append(int(session.pending.kind[0]))
            shown = session.pending.action[:, 0]
            session.answer(people.reply(session.pending))
        assert seen == kinds
        assert (session.questions == 4).all()
        if accept == "end":
            np.testing.assert_array_equal(session.best, shown)


def test_who_is_sure_asks_early_and_ends(toy):
    problem, x, wanted = toy
    people = IdealProfile(problem.population(x[:12]), wanted[:12], satisfied=10.0)
    session = talked(Learned(budget=20, accept="sure", doubt=0.1, **SMALL), problem, x[:12], people)
    assert (session.questions < 20).mean() > 0.7 and session.questions.min() >= 2
    refusing = IdealProfile(problem.population(x[:12]), wanted[:12])
    session = talked(Learned(budget=12, accept="sure", doubt=0.1, **SMALL), problem, x[:12], refusing)
    assert (session.questions == 12).all()
    assert (session.heard >= 10).all() and (
        session.heard == 10
    ).any()  # one question at the end, one where sure before


def test_who_cannot_say_keeps_the_first_plan(toy):
    problem, x, _ = toy
    session = Learned(budget=3, **SMALL).fit(problem).begin(x[:5])
    start = session.best
    np.testing.assert_array_equal(start, wf.recommend(problem, x[:5], seed=0).action[:, 0])
    for _ in range(3):
        session.answer(np.full(5, CANNOT_SAY))
    np.testing.assert_array_equal(session.best, start)
    assert (session.pending.kind == Kind.DONE).all()


def test_given_first_plans_are_taken_and_without_one_all_is_over(toy):
    problem, x, _ = toy
    start = np.full((2, 4), np.nan)
    start[0] = 0.9
    session = elicitor("learned", **SMALL).fit(problem).begin(x[:2], start)
    assert session.pending.kind.tolist() == [Kind.CHOOSE, Kind.DONE]
    np.testing.assert_array_equal(session.best, start)


@pytest.mark.parametrize("mixture", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_each_family_stands_alone(toy, mixture):
    problem, x, wanted = toy
    session = Learned(budget=4, mixture=mixture, **SMALL).fit(problem).begin(x[:10])
    converse(session, Watcher(session))
    assert session.recourse().found[:, 0].all()


def test_easy_pairs_differ_in_less(toy):
    problem, x, wanted = toy
    many, x = {}, x[:16]
    for easy in (0.0, 1.0):
        session = Learned(easy=easy, accept="never", **SMALL).fit(problem).begin(x)
        watch = Watcher(session)
        converse(session, watch)
        pair = problem.consequences(x[:, None, None], np.stack(watch.shown, axis=1))
        many[easy] = problem.schema.differs(pair[:, :, 0], pair[:, :, 1]).sum(2).mean()
    assert many[1.0] < many[0.0] - 0.3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": 0}, "budget=0"),
        ({"particles": 3}, "particles=3"),
        ({"easy": 2.0}, "easy=2.0"),
        ({"accept": "maybe"}, "accept='maybe'"),
        ({"mixture": (0, 0, 0)}, "mixture"),
        ({"mixture": (1, 1)}, "mixture"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(MethodError, match=message.replace("(", r"\(")):
        elicitor("learned", **wrong)
    with pytest.raises(MethodError, match="start has shape"):
        it = case("linear")
        Learned(**SMALL).fit(it.problem).begin(it.x, np.zeros((1, 2)))


class TestLearned(ElicitorContract):
    elicitor = "learned"
    parameters: ClassVar = {"budget": 4, **SMALL}
