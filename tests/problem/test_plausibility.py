"""Plausibility: published fixtures, thresholds, and what every kind promises."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from sklearn.neighbors import LocalOutlierFactor

from wayforward.errors import FileFormatError, ProblemError
from wayforward.problem.plausibility import (
    Domain,
    IsolationForest,
    KernelDensity,
    Lof,
    Neighbours,
    Plausibility,
    Prototype,
    agreement,
    medoids,
    plausibility_from_dict,
    plausibility_named,
)
from wayforward.schema import Feature, Schema

LINE = Schema((Feature(name="a", kind="real", low=0, high=20),))
MIXED = Schema(
    (
        Feature(name="pay", kind="real", low=0, high=5000),
        Feature(name="share", kind="real", low=0, high=1, missing=True),
        Feature(name="school", kind="ordinal", levels=("low", "mid", "high")),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
    )
)
NAMES = ("domain", "neighbours", "lof", "isolation-forest", "kernel-density", "prototype")


def people(n: int, seed: int = 0) -> np.ndarray:
    """Two clouds: low pay and few qualifications, or high pay and many."""
    rng = np.random.default_rng(seed)
    rich = rng.random(n) < 0.5
    pay = np.clip(np.where(rich, 3500, 1200) + rng.normal(0, 250, n), 0, 5000)
    share = np.clip(np.where(rich, 0.8, 0.3) + rng.normal(0, 0.05, n), 0, 1)
    share[rng.random(n) < 0.05] = math.nan
    return np.column_stack(
        [pay, share, np.where(rich, 2, rng.integers(0, 2, n)), rng.integers(0, 3, n)]
    ).astype(float)


REFERENCE = people(600)
FAR = np.array([[4900.0, 0.02, 0, 1]])  # high pay with a low share: nobody is like that


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> Plausibility:
    return plausibility_named(request.param)


# -- published and analytic --------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "factor"), [(4.0, 1.0), (5.5, 1.0), (20.0, 3.25), (0.4, 1.0)])
def test_the_fixture_f_lof(at: float, factor: float) -> None:
    """Reference {0, 1, 3, 7}, k = 1; equal to scikit-learn's novelty LOF."""
    fitted = Lof(k=1).fit(LINE, np.array([[0.0], [1], [3], [7]]))
    assert fitted.score(np.array([at])) == pytest.approx(-factor, rel=1e-6)


def test_path_lengths_by_hand() -> None:
    """One tree of two people singles both out at depth 1; of four equal people none: H(3) * 2 - 3/2 deep."""
    two = IsolationForest(trees=1, sample=2).fit(LINE, np.array([[0.0], [10]]))
    np.testing.assert_array_equal(two.score(np.array([[0.0], [3], [20]])), 1.0)
    same = IsolationForest(trees=7, sample=4).fit(LINE, np.full((4, 1), 3.0))
    np.testing.assert_allclose(
        same.score(np.array([[3.0], [9]])), 2 * (1 + 1 / 2 + 1 / 3) - 1.5, atol=2.0**-13
    )


def test_path_lengths_agree_with_scikit_learn() -> None:
    """On numbers: the same order of people as its isolation forest, whose score is 2^(-length / c), up to chance."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    schema = Schema(tuple(Feature(name=n, kind="real", low=-9, high=9) for n in "abc"))
    rng = np.random.default_rng(0)
    x, q = rng.normal(size=(500, 3)), rng.normal(size=(200, 3)) * 2
    theirs = (
        ensemble.IsolationForest(n_estimators=200, max_samples=256, random_state=0).fit(x).score_samples(q)
    )
    c = 2 * (1 / np.arange(1, 256)).sum() - 2 * 255 / 256
    ours = IsolationForest(trees=200).fit(schema, x).score(q)
    apart = ours + np.log2(-theirs) * c  # of about 9 on average
    assert abs(apart.mean()) < 0.05 and np.abs(apart).mean() < 0.3
    assert np.corrcoef(ours, -np.log2(-theirs))[0, 1] > 0.985


def test_lof_agrees_with_scikit_learn_on_mixed_people() -> None:
    """Range-scaled numbers and one-hot over the root of 2 have the same Euclidean distances."""
    x = np.where(np.isnan(REFERENCE), 0.5, REFERENCE)
    q = people(200, 1)
    q[:, 1] = np.nan_to_num(q[:, 1], nan=0.1)

    def encoded(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, :3] / [5000, 1, 2], np.eye(3)[rows[:, 3].astype(int)] / math.sqrt(2)])

    theirs = LocalOutlierFactor(n_neighbors=20, novelty=True).fit(encoded(x)).score_samples(encoded(q))
    np.testing.assert_allclose(Lof(k=20).fit(MIXED, x).score(q), theirs, rtol=1e-6)


def test_the_mean_distance_to_the_neighbours() -> None:
    """0, 1, ..., 9 on a range of 20: two neighbours are at a mean of 1/20, from the ends 1.5/20."""
    fitted = Neighbours(k=2, quantile=0.5).fit(LINE, np.arange(10.0)[:, None])
    assert fitted.threshold == pytest.approx(-1 / 20)
    np.testing.assert_allclose(
        fitted.score(np.array([[4.0], [4.5], [12.0]])), [-0.5 / 20, -0.5 / 20, -3.5 / 20]
    )
    assert Neighbours(k=2, quantile=1).fit(LINE, np.arange(10.0)[:, None]).threshold == pytest.approx(
        -1.5 / 20
    )


def test_the_density_of_a_single_bump() -> None:
    """With one feature Scott's bandwidth is std * n^(-1/5); the density is the mean of the bumps."""
    reference = np.array([[2.0], [4.0], [4.5], [9.0]])
    h = reference.std() / 20 * 4 ** (-1 / 5)
    q = np.array([[0.0], [4.2], [20.0]])
    bumps = np.exp(-0.5 * ((q - reference.T) / 20 / h) ** 2) / (h * math.sqrt(2 * math.pi))
    fitted = KernelDensity(quantile=0.5).fit(LINE, reference)
    np.testing.assert_allclose(fitted.score(q), np.log(bumps.mean(axis=1)), rtol=1e-9)
    without = (bumps_of(reference, h).sum(axis=1) - 1 / (h * math.sqrt(2 * math.pi))) / 3
    assert fitted.threshold == pytest.approx(float(np.median(np.log(without))))


def bumps_of(reference: np.ndarray, h: float) -> np.ndarray:
    return np.exp(-0.5 * ((reference - reference.T) / 20 / h) ** 2) / (h * math.sqrt(2 * math.pi))


def test_a_level_that_nobody_has_is_never_as_likely_as_one_that_all_have() -> None:
    """Few people smooth much, but at most to half of what would make all L levels alike: 1 / 2 - 1 / (2 L)."""
    two = Schema((Feature(name="home", kind="categorical", levels=("rent", "own")),))
    fitted = KernelDensity().fit(two, np.zeros((2, 1)))
    np.testing.assert_allclose(np.exp(fitted.score(np.array([[0.0], [1.0]]))), [0.75, 0.25])


def test_a_category_that_nobody_has_is_less_likely() -> None:
    reference = REFERENCE[REFERENCE[:, 3] != 2]
    fitted = KernelDensity().fit(MIXED, reference)
    there, nowhere = reference[:20].copy(), reference[:20].copy()
    nowhere[:, 3] = 2
    assert (fitted.score(nowhere) < fitted.score(there)).all()


def test_medoids_are_the_centres_of_the_groups() -> None:
    values = np.array([0.0, 1, 2, 10, 11, 12, 13, 14])
    distance = np.abs(values[:, None] - values)
    np.testing.assert_array_equal(medoids(distance, 2), [1, 5])
    np.testing.assert_array_equal(medoids(distance, 1), [3])
    assert len(medoids(distance, 20)) == 8
    assert len(medoids(np.zeros((4, 4)), 3)) == 1  # copies need no second prototype


def test_prototypes_are_real_people() -> None:
    fitted = Prototype(m=4).fit(MIXED, REFERENCE)
    assert fitted.prototypes is not None and fitted.prototypes.shape == (4, 4)
    for row in fitted.prototypes:
        assert (np.isclose(row, REFERENCE, equal_nan=True).all(axis=1)).any()
    assert (fitted.score(fitted.prototypes) == 0).all()


def test_domain_counts_the_values_that_do_not_exist() -> None:
    fitted = Domain().fit(MIXED)
    rows = np.array([[100.0, 0.5, 1, 2], [9999, 0.5, 1, 3], [100, math.nan, 0.5, 0]])
    np.testing.assert_array_equal(fitted.score(rows), [0, -2, -1])
    np.testing.assert_array_equal(fitted.holds(rows[:1], rows), [True, False, False])
    assert fitted.holds(rows[1], rows[1]) and not Domain(strict=True).fit(MIXED).holds(rows[1], rows[1])


def test_agreement_is_one_among_the_accepted_and_zero_among_the_refused() -> None:
    """yNN = 1 when all neighbours are predicted favourable; 0 when none."""
    reference = np.r_[np.arange(5.0), np.arange(15.0, 20)][:, None]
    accepted = np.arange(10) >= 5
    got = agreement(
        LINE, np.array([[18.0], [1.0], [1.0], [9.4], [math.nan]]), [1, 1, 0, 1, 1], reference, accepted
    )
    np.testing.assert_allclose(got, [1, 0, 1, 0.4, math.nan])
    assert agreement(LINE, np.array([[9.6]]), [True], reference, accepted, k=10) == [0.5]


# -- promises of every kind --------------------------------------------------------------------------------


def test_usual_people_are_plausible_and_strange_ones_are_not(kind: Plausibility) -> None:
    fitted = kind.fit(MIXED, REFERENCE)
    assert fitted.holds(FAR, people(200, 2)).mean() > 0.85
    strange = FAR if kind.name != "domain" else np.array([[9000.0, 0.5, 1, 1]])
    assert not fitted.holds(REFERENCE[:1], strange)[0]


def test_nobody_is_asked_to_be_more_usual_than_they_are(kind: Plausibility) -> None:
    strange = FAR if kind.name != "domain" else np.array([[9000.0, 0.5, 1, 1]])
    assert kind.fit(MIXED, REFERENCE).holds(strange, strange)[0]
    strict = plausibility_from_dict({**kind.to_dict(), "parameters": {"strict": True}})
    assert not strict.fit(MIXED, REFERENCE).holds(strange, strange)[0]


def test_a_row_scores_the_same_alone_and_in_any_batch(kind: Plausibility) -> None:
    fitted = kind.fit(MIXED, REFERENCE)
    q = people(3000, 3)
    score, order = fitted.score(q), np.random.default_rng(0).permutation(3000)
    np.testing.assert_array_equal(fitted.score(q[order]), score[order])
    for i in range(0, 3000, 371):
        assert fitted.score(q[i]) == score[i]
    holds = fitted.holds(people(3000, 4), q)
    np.testing.assert_array_equal(fitted.holds(people(3000, 4)[order], q[order]), holds[order])


def test_options_and_empty_slots(kind: Plausibility) -> None:
    fitted = kind.fit(MIXED, REFERENCE)
    before, after = people(7, 5), np.stack([people(7, 6), np.full((7, 4), math.nan), people(7, 8)], axis=1)
    score, holds = fitted.score(after), fitted.holds(before, after)
    assert score.shape == holds.shape == (7, 3)
    assert np.isnan(score[:, 1]).all() and not holds[:, 1].any()
    np.testing.assert_array_equal(score[:, 2], fitted.score(after[:, 2]))
    np.testing.assert_array_equal(holds[:, 2], fitted.holds(before, after[:, 2]))


def test_only_the_accepted_count(kind: Plausibility) -> None:
    accepted = REFERENCE[:, 0] > 2500
    fitted = kind.fit(MIXED, REFERENCE, accepted)
    direct = kind.fit(MIXED, REFERENCE[accepted])
    np.testing.assert_array_equal(fitted.score(REFERENCE), direct.score(REFERENCE))
    assert fitted.threshold == direct.threshold
    if kind.name != "domain":
        assert fitted.score(REFERENCE[accepted]).mean() > fitted.score(REFERENCE[~accepted]).mean()


def test_large_references_are_thinned_the_same_way_every_time() -> None:
    for make in (Neighbours, Lof, KernelDensity, Prototype):
        one, two = (make(most=100).fit(MIXED, REFERENCE) for _ in range(2))
        np.testing.assert_array_equal(one.score(REFERENCE[:20]), two.score(REFERENCE[:20]))
        other = make(most=100, seed=1).fit(MIXED, REFERENCE)
        assert (other.score(REFERENCE[:20]) != one.score(REFERENCE[:20])).any()


def test_it_survives_json(kind: Plausibility) -> None:
    back = plausibility_from_dict(json.loads(json.dumps(kind.to_dict(), allow_nan=False)))
    q = people(10, 9)
    np.testing.assert_array_equal(back.fit(MIXED, REFERENCE).score(q), kind.fit(MIXED, REFERENCE).score(q))
    assert back.describe() == kind.describe()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "domain"])
def test_one_accepted_person_is_enough_or_refused(name: str) -> None:
    if name == "lof":
        with pytest.raises(ProblemError, match="at least 2 accepted people"):
            plausibility_named(name).fit(MIXED, REFERENCE[:1])
        return
    fitted = plausibility_named(name).fit(MIXED, REFERENCE[:1])
    assert np.isfinite(fitted.score(REFERENCE[:1])).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Neighbours(k=0), "k=0"),
        (lambda: Neighbours(quantile=0), "quantile=0"),
        (lambda: Lof(limit=-1), "limit=-1"),
        (lambda: KernelDensity(bandwidth=0), "bandwidth=0"),
        (lambda: IsolationForest(sample=1), "sample=1"),
        (lambda: Prototype(m=2.5), "m=2.5"),  # type: ignore[arg-type]
        (lambda: plausibility_named("likely"), r"no plausibility 'likely'\. Known: domain"),
        (lambda: Neighbours().score(np.zeros(4)), "not fitted"),
        (lambda: Neighbours().fit(MIXED), "there are none. Give data"),
        (lambda: Neighbours().fit(MIXED, REFERENCE, np.zeros(600, bool)), "there are none. Give data"),
        (lambda: Neighbours().fit(MIXED, REFERENCE, np.zeros(6, bool)), r"shape \(6,\), the reference 600"),
        (lambda: Neighbours().fit(MIXED, REFERENCE[:, :2]), "4 features"),
        (lambda: Domain().fit(MIXED).score(np.zeros(3)), "4 features on the last axis"),
        (
            lambda: agreement(LINE, np.zeros((2, 1)), [1], np.zeros((3, 1)), [1, 1, 1]),
            "One decision each|one decision",
        ),
    ],
)
def test_the_errors_say_what_to_do(make: object, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "stored", [{}, [], {"plausibility": "x"}, {"plausibility": "lof", "parameters": {"z": 1}}]
)
def test_a_broken_file_is_refused(stored: object) -> None:
    with pytest.raises(FileFormatError, match="stored plausibility"):
        plausibility_from_dict(stored)  # type: ignore[arg-type]
