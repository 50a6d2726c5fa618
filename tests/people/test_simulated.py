"""Simulated people: they answer as their truth says, err as often as they are told to, alone or in any batch."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import PreferencesError
from wayforward.evaluate.distance import euclidean_columns
from wayforward.people.elicitor import CANNOT_SAY, Kind, Questions
from wayforward.people.ideal_profiles import draw_wanted
from wayforward.people.simulated import IdealProfile, PersonalCost, ReplyNoise
from wayforward.problem import Population
from wayforward.testing.problems import case, random_people


@pytest.fixture(scope="module", autouse=True)
def _made() -> None:
    """Made when the first test runs: whoever only collects tests would compile a kernel."""
    global CASE, PROBLEM
    CASE = case("linear", "independent", 3, n=120)
    PROBLEM = CASE.problem


def many(n: int) -> Population:
    """n people of the small credit world, refused or not."""
    return PROBLEM.population(random_people(PROBLEM.schema, n, np.random.default_rng(5)))


def question(people: Population, options: int, seed: int = 0, kind: Kind = Kind.CHOOSE) -> Questions:
    """The same kind of question to everybody: profiles of other people, drawn for each person by their own row."""
    rng = np.random.default_rng(seed)
    pool = random_people(PROBLEM.schema, 200, rng)
    key = np.abs(people.x[:, 1] * 7919 + people.x[:, 2]).astype(np.int64)
    after = np.stack([pool[(key + 31 * i + seed) % len(pool)] for i in range(options)], axis=1)
    action = np.where(PROBLEM.schema.differs(after, people.x[:, None, :]), after, np.nan)
    return Questions(np.full(people.n, int(kind)), action, after)


def nearest(questions: Questions, wanted: np.ndarray) -> np.ndarray:
    gap = (
        euclidean_columns(PROBLEM.schema, questions.after)
        - euclidean_columns(PROBLEM.schema, wanted)[:, None]
    )
    return np.asarray(np.square(gap).sum(2).argmin(1))


def test_without_noise_the_option_nearest_to_the_profile_is_chosen() -> None:
    people = many(300)
    wanted = random_people(PROBLEM.schema, 300, np.random.default_rng(1))
    questions = question(people, 5)
    assert (IdealProfile(people, wanted).reply(questions) == nearest(questions, wanted)).all()


def test_missing_options_are_never_chosen() -> None:
    people = many(300)
    wanted = random_people(PROBLEM.schema, 300, np.random.default_rng(1))
    questions = question(people, 4)
    after = questions.after.copy()
    after[:, 2:] = np.nan
    for noise in (ReplyNoise(), ReplyNoise(flip=1.0), ReplyNoise(kappa=0.1)):
        reply = IdealProfile(people, wanted, noise=noise).reply(
            Questions(questions.kind, questions.action, after)
        )
        assert set(reply.tolist()) <= {0, 1}


@pytest.mark.parametrize("share", [0.1, 0.35])
def test_the_share_of_wrong_answers_is_the_one_given(share: float) -> None:
    people = many(4000)
    wanted = random_people(PROBLEM.schema, 4000, np.random.default_rng(1))
    questions = question(people, 3)
    reply = IdealProfile(people, wanted, noise=ReplyNoise(flip=share)).reply(questions)
    right = nearest(questions, wanted)
    assert abs((reply != right).mean() - share) < 0.025
    # A wrong answer is any of the others: each of the two about as often.
    wrong = (reply - right)[reply != right] % 3
    assert abs((wrong == 1).mean() - 0.5) < 0.08


def test_lazy_people_shrug_and_fickle_people_take_the_first_option() -> None:
    people = many(4000)
    wanted = random_people(PROBLEM.schema, 4000, np.random.default_rng(1))
    questions = question(people, 3)
    lazy = IdealProfile(people, wanted, noise=ReplyNoise(lazy=0.2)).reply(questions)
    assert abs((lazy == CANNOT_SAY).mean() - 0.2) < 0.02
    right = nearest(questions, wanted)
    assert (lazy[lazy != CANNOT_SAY] == right[lazy != CANNOT_SAY]).all()
    fickle = IdealProfile(people, wanted, noise=ReplyNoise(fickle=0.3)).reply(questions)
    late = right != 0
    assert abs((fickle[late] == 0).mean() - 0.3) < 0.03
    assert (fickle[~late] == 0).all()


@pytest.mark.parametrize("kappa", [0.5, 2.0])
def test_bradley_terry_people_choose_with_the_odds_of_the_model(kappa: float) -> None:
    """Bradley & Terry (1952), Biometrika 39: odds of a over b are exp(kappa x (dislike of b - dislike of a))."""
    people = many(6000)
    wanted = random_people(PROBLEM.schema, 6000, np.random.default_rng(1))
    somebody = IdealProfile(people, wanted, noise=ReplyNoise(kappa=kappa))
    questions = question(people, 2)
    dislike = somebody.dislikes(questions)
    chance = 1 / (1 + np.exp(kappa * (dislike[:, 0] - dislike[:, 1])))
    first = somebody.reply(questions) == 0
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
        some = (chance >= low) & (chance < high)
        if some.sum() > 300:
            assert abs(first[some].mean() - chance[some].mean()) < 3 * np.sqrt(0.25 / some.sum())


def test_errors_differ_from_question_to_question_and_with_the_seed() -> None:
    people = many(500)
    wanted = random_people(PROBLEM.schema, 500, np.random.default_rng(1))
    questions = question(people, 3)
    one = IdealProfile(people, wanted, noise=ReplyNoise(flip=0.5))
    first, second = one.reply(questions), one.reply(questions)
    assert (first != second).any()
    again = IdealProfile(people, wanted, noise=ReplyNoise(flip=0.5)).reply(questions)
    assert (again == first).all()
    assert (IdealProfile(people, wanted, noise=ReplyNoise(flip=0.5), seed=1).reply(questions) != first).any()


def test_a_person_answers_alone_as_in_any_batch_whatever_others_are_shown() -> None:
    people = many(60)
    wanted = random_people(PROBLEM.schema, 60, np.random.default_rng(1))
    noise = ReplyNoise(flip=0.2, kappa=1.0, lazy=0.1, fickle=0.1)
    questions = question(people, 3)
    everyone = IdealProfile(people, wanted, noise=noise).reply(questions)
    wide = np.full((60, 6, people.d), np.nan)  # others are shown more options: padding
    wide[:, :3] = questions.after
    padded = IdealProfile(people, wanted, noise=noise).reply(
        Questions(questions.kind, np.concatenate([questions.action, wide[:, 3:]], axis=1), wide)
    )
    assert (padded == everyone).all()
    order = np.random.default_rng(0).permutation(60)
    some = people.take(order[:7])
    part = IdealProfile(some, wanted[order[:7]], noise=noise).reply(
        Questions(questions.kind[order[:7]], questions.action[order[:7]], questions.after[order[:7]])
    )
    assert (part == everyone[order[:7]]).all()


def test_a_plan_is_accepted_up_to_what_satisfies() -> None:
    people = many(300)
    wanted = random_people(PROBLEM.schema, 300, np.random.default_rng(1))
    questions = question(people, 1, kind=Kind.ACCEPT)
    assert not IdealProfile(people, wanted).reply(questions).any()  # nothing ends early by default
    content = IdealProfile(people, wanted, satisfied=1.2)
    assert (content.reply(questions) == (content.dislikes(questions)[:, 0] <= 1.2)).all()
    assert 0 < content.reply(questions).mean() < 1


def test_taste_that_drifts_ends_at_the_later_profile() -> None:
    people = many(300)
    rng = np.random.default_rng(1)
    first, last = random_people(PROBLEM.schema, 300, rng), random_people(PROBLEM.schema, 300, rng)
    drifting = IdealProfile(people, first, later=last, over=10)
    questions = question(people, 4)
    same = []
    for turn in range(12):
        reply = drifting.reply(questions)
        same.append((reply == nearest(questions, last)).mean())
        if turn == 0:
            assert (reply == nearest(questions, first)).mean() > 0.85
    assert same[0] < 0.9
    assert same[9:] == [1.0, 1.0, 1.0]


def test_personal_cost_weighs_the_problems_cost() -> None:
    people = many(300)
    weight = np.random.default_rng(2).uniform(1, 10, size=(300, people.d))
    somebody = PersonalCost(people, weight)
    questions = question(people, 3)
    cost = np.stack([PROBLEM.cost.total(people.x, questions.action[:, i], weight) for i in range(3)], axis=1)
    assert (somebody.reply(questions) == cost.argmin(1)).all()


@pytest.mark.parametrize("bad", [{"flip": 1.5}, {"lazy": -0.1}, {"fickle": 2.0}, {"kappa": 0.0}])
def test_noise_that_means_nothing_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(PreferencesError, match=next(iter(bad))):
        ReplyNoise(**bad)


def test_profiles_must_fit_the_people() -> None:
    people = many(10)
    with pytest.raises(PreferencesError, match="one profile a person"):
        IdealProfile(people, people.x[:4])
    with pytest.raises(PreferencesError, match="over=0"):
        IdealProfile(people, people.x, later=people.x, over=0)


def test_people_with_a_reachable_profile_are_the_usual_case() -> None:
    people = PROBLEM.population(CASE.x[CASE.refused])
    wanted = draw_wanted(PROBLEM, people)
    assert (~np.isnan(wanted).all(1)).mean() > 0.9
