"""Drawn preferences: what the distributions of the iCARMA study say, and the same draw for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wayforward.errors import PreferencesError
from wayforward.people import LOAN_LAWS, draw_rankings, draw_scores, draw_thresholds, ranking_law

NAMES = ("loan_amount", "loan_duration", "income", "savings")
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
    ],
)
def test_the_errors_say_what_to_do(make: object, words: str) -> None:
    with pytest.raises(PreferencesError, match=words):
        make()  # type: ignore[operator]
