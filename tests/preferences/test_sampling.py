"""Drawn preferences: what the distributions of the iCARMA study say, and the same draw for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward.errors import FileFormatError, PreferencesError
from wayforward.preferences import (
    LOAN_LAWS,
    PreferenceLaw,
    PreferencePlan,
    Preferences,
    draw_rankings,
    draw_scores,
    draw_thresholds,
    loan_plan,
    privileged_at_random,
    privileged_by_income,
    privileged_by_race,
    ranking_law,
)
from wayforward.schema import Feature, Schema

NAMES = ("loan_amount", "loan_duration", "income", "savings")
SCHEMA = Schema(
    (
        Feature(name="age", kind="real", low=0, high=99, actionability="immutable"),
        *(Feature(name=name, kind="real", low=-20, high=20) for name in NAMES),
    )
)
ACT = slice(1, 5)
ORDERS = np.array(list(itertools.permutations((1, 2, 3, 4))))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_uniform_scores_and_nobody_is_stuck() -> None:
    scores = draw_scores(20_000, 4, 4, rng(), cannot=True)
    counts = np.bincount(scores.ravel().astype(int), minlength=6)[1:] / scores.size
    np.testing.assert_allclose(counts, 0.2, atol=0.01)
    assert (scores <= 4).any(axis=1).all()
    assert draw_scores(500, 4, 4, rng()).max() == 4


def test_a_law_of_scores() -> None:
    scores = draw_scores(5000, 2, 3, rng(), law=[0.5, 0.5, 0])
    assert set(np.unique(scores)) == {1, 2}


def test_uniform_rankings_are_permutations_of_equal_chance() -> None:
    ranks = draw_rankings(24_000, 4, rng())
    assert (np.sort(ranks, axis=1) == [1, 2, 3, 4]).all()
    counts = np.unique(ranks, axis=0, return_counts=True)[1]
    assert len(counts) == 24 and (abs(counts - 1000) < 150).all()
    assert draw_rankings(3, 12, rng()).shape == (3, 12)  # too many orders to list, still uniform


def test_thresholds_leave_one_feature_less_than_they_say() -> None:
    cut = draw_thresholds(4000, 4, rng(1))
    assert set(np.unique(cut)) == {2, 3, 4, 5}
    ranks = draw_rankings(4000, 4, rng(2), threshold=cut)
    np.testing.assert_array_equal((ranks <= 4).sum(axis=1), cut - 1)
    for i in range(50):
        kept = np.sort(ranks[i][ranks[i] <= 4])
        np.testing.assert_array_equal(kept, np.arange(1, cut[i]))


@pytest.mark.parametrize("group", sorted(LOAN_LAWS))
def test_the_groups_of_the_loan_study(group: str) -> None:
    """Half of the orders have no chance; 4 have 1/6 and 8 have 1/24."""
    law = ranking_law(NAMES, LOAN_LAWS[group])
    assert law.sum() == pytest.approx(1)
    assert sorted(np.round(1 / law[law > 0]).astype(int)) == [6] * 4 + [24] * 8
    first = np.argmin(ORDERS, axis=1)
    favoured = [NAMES.index(name) for name in LOAN_LAWS[group]]
    assert set(first[law > 0]) == set(favoured)
    ranks = draw_rankings(2000, 4, rng(), law=law)
    assert np.isin(np.argmin(ranks, axis=1), favoured).all()


def test_opposite_groups_share_no_order() -> None:
    for one, other in (("causal", "reverse"), ("privileged", "non-privileged")):
        a, b = ranking_law(NAMES, LOAN_LAWS[one]), ranking_law(NAMES, LOAN_LAWS[other])
        assert not ((a > 0) & (b > 0)).any() and ((a > 0) | (b > 0)).all()


def test_the_same_seed_draws_the_same() -> None:
    law = ranking_law(NAMES, LOAN_LAWS["causal"])
    for draw in (
        lambda g: draw_scores(50, 4, 4, g, cannot=True),
        lambda g: draw_rankings(50, 4, g, law=law, threshold=3),
        lambda g: draw_rankings(50, 4, g),
    ):
        np.testing.assert_array_equal(draw(rng(3)), draw(rng(3)))
        assert (draw(rng(3)) != draw(rng(4))).any()


def test_a_law_draws_preferences_and_reads_back() -> None:
    law = PreferenceLaw(favoured=LOAN_LAWS["privileged"], threshold=3, profile="linear")
    drawn = law.draw(SCHEMA, 400, rng())
    assert (~drawn.frozen[:, ACT]).sum(axis=1).tolist() == [2] * 400  # threshold 3 leaves two features
    first = np.argmin(drawn.score[:, ACT], axis=1)
    assert set(first) == {NAMES.index("income"), NAMES.index("savings")}
    assert set(np.unique(drawn.weight[:, ACT])) == {1.0, 4.0}
    assert PreferenceLaw.from_dict(law.to_dict()) == law
    assert not PreferenceLaw().draw(SCHEMA, 9, rng()).frozen.any()
    many = PreferenceLaw(threshold="random").draw(SCHEMA, 4000, rng())
    np.testing.assert_allclose(np.bincount((~many.frozen[:, ACT]).sum(1))[1:] / 4000, 0.25, atol=0.03)
    scores = PreferenceLaw(answers="scores", cannot=True, levels=4).draw(SCHEMA, 4000, rng())
    assert scores.frozen[:, ACT].mean() == pytest.approx(0.2, abs=0.01)


def test_a_plan_gives_each_group_its_law_and_is_replayed(tmp_path) -> None:
    plan = loan_plan(seed=5)
    privileged = privileged_at_random(600, rng())
    groups = np.where(privileged, "privileged", "non-privileged")
    drawn = plan.draw(SCHEMA, groups)
    first = np.argmin(drawn.score[:, ACT], axis=1)
    assert set(first[privileged]) == {2, 3} and set(first[~privileged]) == {0, 1}
    assert set(plan.draw(SCHEMA, groups, "train").frozen[:, ACT].sum(axis=1)) == {0, 1, 2, 3}
    plan.save(tmp_path / "plan.json")
    again = PreferencePlan.load(tmp_path / "plan.json")
    assert again == plan
    drawn.save(tmp_path / "drawn.json")
    replayed = Preferences.load(tmp_path / "drawn.json", SCHEMA)
    for name in ("frozen", "weight", "score"):
        np.testing.assert_array_equal(getattr(again.draw(SCHEMA, groups), name), getattr(drawn, name))
        np.testing.assert_array_equal(getattr(replayed, name), getattr(drawn, name))
    assert plan.draw(SCHEMA, 3, "train").n == 3
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(FileFormatError, match="Save it again"):
        PreferencePlan.load(tmp_path / "plan.json")


def test_privilege_at_random_by_income_and_by_race() -> None:
    assert privileged_at_random(20_000, rng()).mean() == pytest.approx(0.5, abs=0.02)
    income = rng(1).normal(size=1000)
    rich = privileged_by_income(income)
    assert rich.sum() == 250 and income[rich].min() > income[~rich].max()
    assert privileged_by_income([1.0, 1.0, 1.0, 1.0]).tolist() == [False, False, False, True]
    white = rng(2).random(40_000) < 0.5
    got = privileged_by_race(white, rng(3))
    assert got[white].mean() == pytest.approx(0.9, abs=0.01)
    assert got[~white].mean() == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: draw_scores(2, 0, 4, rng()), "0 features"),
        (lambda: draw_scores(2, 2, 3, rng(), law=[0.5, 0.5]), "3 probabilities"),
        (lambda: draw_scores(2, 2, 1, rng(), cannot=True, law=[0, 1]), "lets nobody change"),
        (lambda: draw_rankings(2, 0, rng()), "0 features"),
        (lambda: draw_rankings(2, 3, rng(), law=[1.0]), "6 probabilities"),
        (lambda: draw_rankings(2, 3, rng(), threshold=[2, 9]), "threshold of person 1 is 9"),
        (lambda: draw_rankings(2, 9, rng(), law=[1.0]), "too many orders"),
        (lambda: ranking_law(NAMES, ("incme",)), "'incme' is not among"),
        (lambda: ranking_law(NAMES, ()), "no order left"),
        (lambda: PreferenceLaw(answers="words"), "answers is 'words'"),
        (lambda: PreferenceLaw(threshold=1), "threshold is 1"),
        (lambda: PreferenceLaw(profile="steep"), "cost profile 'steep'"),
        (lambda: PreferenceLaw(answers="scores", threshold=3), "cannot=True"),
        (lambda: PreferenceLaw(favoured=("incme",)).draw(SCHEMA, 2, rng()), "'incme' is not among"),
        (lambda: PreferenceLaw(threshold=9).draw(SCHEMA, 2, rng()), "from 2 .* to 5"),
        (lambda: loan_plan().draw(SCHEMA, ["rich"]), "No law covers the group 'rich' in test"),
        (lambda: loan_plan().draw(SCHEMA, 2, "dev"), "no part 'dev'"),
        (lambda: privileged_at_random(2, rng(), share=2), "share is 2"),
        (lambda: privileged_by_income([1, np.nan]), "1 missing values"),
        (lambda: privileged_by_race([1, 2], rng()), "True or False"),
    ],
)
def test_the_errors_say_what_to_do(make: object, words: str) -> None:
    with pytest.raises(PreferencesError, match=words):
        make()  # type: ignore[operator]
