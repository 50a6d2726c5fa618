"""Preferences: the published weights, limits that add up, files both ways, errors that name the person."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.errors import FileFormatError, PreferencesError
from wayforward.preferences import GAMMAS, Preferences, score_priors, score_weights
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
        Feature(name="income", kind="real", low=0, high=9000, unit="EUR/month"),
        Feature(name="savings", kind="real", low=0, high=50_000, missing=True),
        Feature(name="loan_amount", kind="real", low=0, high=20_000),
        Feature(name="school", kind="ordinal", levels=("none", "school", "degree")),
        Feature(name="rating", kind="real", low=0, high=1, actionability="mutable"),
    )
)
ACT = [1, 2, 3, 4]
X = np.array([[30, 2000.0, 500, 8000, 1, 0.5], [50, 4000, math.nan, 3000, 2, 0.1], [41, 100, 0, 50, 0, 0.9]])


def same(one: Preferences, other: Preferences) -> None:
    for name in ("frozen", "low", "high", "weight", "max_changes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.score is None) == (other.score is None) and one.score_levels == other.score_levels
    if one.score is not None and other.score is not None:
        np.testing.assert_array_equal(one.score, other.score)
    for j in range(SCHEMA.d):
        np.testing.assert_array_equal(one.level_ok(j), other.level_ok(j))


# -- weights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("constant", [1, 1, 1, 1]),
        ("linear", [1, 4, 7, 10]),
        ("convex", [1, 2, 5, 10]),
        ("concave", [1, 6.196, 8.348, 10]),
    ],
)
def test_the_weights_of_icarma(profile: str, expected: list[float]) -> None:
    """K = 4, w_max 10 (iCARMA eqs. 4 and 12)."""
    got = score_weights([1, 2, 3, 4], 4, profile=profile)  # type: ignore[arg-type]
    np.testing.assert_allclose(got, expected, atol=5e-4)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("constant", [0.5, 0.5, 0.5, 0.5]),
        ("linear", [0.5, 0.35, 0.2, 0.05]),
        ("convex", [0.5, 0.45, 0.3, 0.05]),
        ("concave", [0.5, 0.2402, 0.1326, 0.05]),
    ],
)
def test_the_priors_of_icarma(profile: str, expected: list[float]) -> None:
    """Eq. 14 with pi from .5 to .05; the ends are 1 / (2 w) of the weights' ends."""
    got = score_priors([1, 2, 3, 4], 4, profile=profile)  # type: ignore[arg-type]
    np.testing.assert_allclose(got, expected, atol=5e-5)
    np.testing.assert_allclose(score_priors([0, 5, math.nan, 1], 4), 0.5)
    with pytest.raises(PreferencesError, match="pi_max=0.1 to pi_min=0.2"):
        score_priors([1], 4, pi_max=0.1, pi_min=0.2)
    for off in (9, -1, math.inf):
        with pytest.raises(
            PreferencesError, match=f"A score is {off}. Give 1 .easiest. to 4 .hardest., or 5"
        ):
            score_priors([1, off], 4)


@pytest.mark.parametrize("most", [2**63, 1e308, -1e308, 10**400])
def test_a_file_that_says_how_many_changes_beyond_all_counting(most: float) -> None:
    schema = Schema(tuple(Feature(name=c, kind="integer", low=0, high=9) for c in "abc"))
    stored = Preferences.none(schema, 2).at_most(1).to_dict()
    stored["max_changes"][1][1] = most
    if not 0 < most < 10**400:
        with pytest.raises((FileFormatError, PreferencesError), match="broken|max_changes is -1e"):
            Preferences.from_dict(schema, stored)
    else:
        assert Preferences.from_dict(schema, stored).most.tolist() == [1, 3]


def test_the_weights_take_any_range_and_exponent() -> None:
    np.testing.assert_allclose(score_weights([1, 3], 3, w_min=2, w_max=6), [2, 6])
    np.testing.assert_allclose(score_weights([2], 3, w_min=2, w_max=6, gamma=3), [2 + 4 / 8])
    np.testing.assert_array_equal(score_weights([0, 1, math.nan, 2], 1), np.ones(4))


@given(
    levels=st.integers(2, 10),
    profile=st.sampled_from(sorted(GAMMAS)),
    w_min=st.floats(0.1, 5),
    width=st.floats(0, 50),
)
def test_harder_is_never_cheaper(levels: int, profile: str, w_min: float, width: float) -> None:
    scores = np.arange(1, levels + 1)
    w = score_weights(scores, levels, profile=profile, w_min=w_min, w_max=w_min + width)  # type: ignore[arg-type]
    assert (np.diff(w) >= -1e-12).all()
    if profile != "constant":
        np.testing.assert_allclose([w[0], w[-1]], [w_min, w_min + width])


# -- elicited ----------------------------------------------------------------------------------------------


def test_likert_answers_freeze_what_people_cannot_do() -> None:
    got = Preferences.from_likert(SCHEMA, [[1, 3, 5, 6], [6, 6, 6, 2]], levels=5)
    np.testing.assert_array_equal(got.frozen[:, ACT], [[0, 0, 0, 1], [1, 1, 1, 0]])
    np.testing.assert_allclose(got.weight[:, ACT], [[1, 5.5, 10, 1], [1, 1, 1, 3.25]])
    np.testing.assert_array_equal(got.score, [[0, 1, 3, 5, 6, 0], [0, 6, 6, 6, 2, 0]])
    assert not got.frozen[:, [0, 5]].any()  # the schema's business
    assert got.score_levels == 5


def test_answers_come_as_arrays_mappings_and_tables() -> None:
    columns = {"income": [1, 2], "school": [3, 6]}
    one = Preferences.from_likert(SCHEMA, columns)
    same(one, Preferences.from_likert(SCHEMA, pd.DataFrame(columns)))
    same(one, Preferences.from_likert(SCHEMA, pl.DataFrame(columns)))
    assert np.isnan(one.score[:, 2]).all() and not one.frozen[:, 2].any() and (one.weight[:, 2] == 1).all()
    wide = np.full((2, 6), 1.0)
    wide[:, [0, 5]] = 0
    same(Preferences.from_likert(SCHEMA, wide), Preferences.from_likert(SCHEMA, np.ones((2, 4))))


def test_rankings_use_the_scale_of_all_actionable_features() -> None:
    got = Preferences.from_rankings(
        SCHEMA, [["savings", "income"], ["school", "income", "savings", "loan_amount"]]
    )
    np.testing.assert_array_equal(got.score[:, ACT], [[2, 1, 5, 5], [2, 3, 4, 1]])
    np.testing.assert_allclose(got.weight[:, ACT], [[4, 1, 1, 1], [4, 7, 10, 1]])  # K = 4 for both people
    np.testing.assert_array_equal(got.frozen[:, ACT], [[0, 0, 1, 1], [0, 0, 0, 0]])
    same(got, Preferences.from_rankings(SCHEMA, [[2, 1, math.nan, 5], [2, 3, 4, 1]]))


def test_yes_or_no_has_no_weights() -> None:
    got = Preferences.from_yes_no(SCHEMA, {"income": ["yes", "no"], "school": [0, 1]})
    np.testing.assert_array_equal(got.frozen[:, ACT], [[0, 0, 0, 1], [1, 0, 0, 0]])
    assert (got.weight == 1).all() and got.score_levels == 1
    same(
        Preferences.from_yes_no(SCHEMA, np.array([[True, False, True, True]])),
        Preferences.from_yes_no(
            SCHEMA, {"income": [True], "savings": [False], "loan_amount": [1], "school": [1]}
        ),
    )


# -- wishes ------------------------------------------------------------------------------------------------


def test_wishes_add_up_and_the_tighter_limit_holds() -> None:
    wish = (
        Preferences.none(SCHEMA, 3)
        .freeze("school", who=[0])
        .limit("income", high=5000)
        .limit("income", high="+10%", x=X)
        .limit("loan_amount", low="-500", x=X, who=1)
        .limit("school", low="school", who=np.array([False, False, True]))
        .forbid("school", "none")
        .allow("school", "none", "degree", who=1)
        .weigh(savings=3, income=[1, 2, 3])
        .weigh({"income": 9}, who=0)
        .at_most(2, who=[1, 2])
    )
    np.testing.assert_array_equal(wish.frozen.nonzero(), [[0], [4]])
    np.testing.assert_allclose(wish.high[:, 1], [2200, 4400, 110])
    np.testing.assert_allclose(wish.low[:, 3], [-np.inf, 2500, -np.inf])
    np.testing.assert_allclose(wish.low[:, 4], [-np.inf, -np.inf, 1])
    np.testing.assert_array_equal(wish.level_ok(4), [[0, 1, 1], [0, 0, 1], [0, 1, 1]])
    np.testing.assert_array_equal(wish.weight[:, [1, 2]], [[9, 3], [2, 3], [3, 3]])
    np.testing.assert_array_equal(wish.most, [6, 2, 2])
    assert wish.any_wish and not Preferences.none(SCHEMA, 3).any_wish


def test_a_percentage_is_upwards_for_negative_numbers_too() -> None:
    """Of the size of what somebody has; where zero means nothing, of the range."""
    schema = Schema(
        (Feature(name="balance", kind="real", low=-100, high=300), Feature(name="n", kind="real"))
    )
    x = np.array([[-20.0, 1], [0, 1], [50, 1]])
    wish = Preferences.none(schema, 3)
    np.testing.assert_allclose(wish.limit("balance", high="+10%", x=x).high[:, 0], [-18, 0, 55])
    np.testing.assert_allclose(wish.limit("balance", low="−10 %", x=x).low[:, 0], [-22, 0, 45])
    np.testing.assert_allclose(wish.limit("balance", high="+10% of range", x=x).high[:, 0], [20, 40, 90])
    np.testing.assert_allclose(wish.limit("balance", low="now-5", x=x).low[:, 0], [-25, -5, 45])
    rows = [{"person": 0, "feature": "balance", "low": "now-5", "high": "+10% of range"}]
    both = Preferences.from_table(schema, rows, 3, x=x)
    assert (both.low[0, 0], both.high[0, 0]) == (-25, 20)
    with pytest.raises(PreferencesError, match="'n' has the limit .* no range"):
        wish.limit("n", high="+10% of range", x=x)


def test_a_noun_does_not_change() -> None:
    weight = np.ones((2, 6))
    wish = Preferences(
        SCHEMA, np.zeros((2, 6), bool), np.full((2, 6), -np.inf), np.full((2, 6), np.inf), weight
    )
    weight[0, 0] = 7
    assert wish.weight[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        wish.weight[0, 0] = 2
    wish.freeze("income")
    assert not wish.frozen.any()


def test_people_are_taken_and_joined() -> None:
    one = Preferences.none(SCHEMA, 2).freeze("income").allow("school", "degree", who=0)
    two = Preferences.from_likert(SCHEMA, [[1, 2, 3, 4]]).at_most(1)
    both = Preferences.concat([one, two])
    assert both.n == len(both) == 3
    np.testing.assert_array_equal(both.most, [6, 6, 1])
    np.testing.assert_array_equal(both.level_ok(4), [[0, 0, 1], [1, 1, 1], [1, 1, 1]])
    assert np.isnan(both.score[:2]).all()
    same(both.take([2]), two)
    same(both.take([2, 0]).take(np.array([False, True])), both.take([0]))
    same(Preferences.concat([one.take([0]), one.take([1])]), one)


# -- files -------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000))
def test_saved_wishes_are_replayed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 6))
    wish = Preferences(
        SCHEMA,
        rng.random((n, 6)) < 0.3,
        np.where(rng.random((n, 6)) < 0.5, -np.inf, rng.normal(0, 1e4, (n, 6))),
        np.where(rng.random((n, 6)) < 0.5, np.inf, 1e6),
        np.where(rng.random((n, 6)) < 0.5, 1.0, rng.uniform(0.01, 10, (n, 6))),
        {4: rng.random((n, 3)) < 0.6} if seed % 2 else {},
        rng.integers(0, 7, n),
        np.where(rng.random((n, 6)) < 0.3, np.nan, rng.integers(0, 6, (n, 6))) if seed % 3 else None,
        5 if seed % 3 else None,
    )
    same(Preferences.from_dict(SCHEMA, json.loads(json.dumps(wish.to_dict(), allow_nan=False))), wish)


SMALL = {
    "none": lambda n: Preferences.none(SCHEMA, n),
    "frozen": lambda n: Preferences.none(SCHEMA, n).freeze("income", "school"),
    "limits": lambda n: Preferences.none(SCHEMA, n).limit("income", low=1.0, high=np.full(n, 5000.0)),
    "no level": lambda n: Preferences.none(SCHEMA, n).forbid("school", "none", "school", "degree"),
    "no changes": lambda n: Preferences.none(SCHEMA, n).at_most(0),
    "weights": lambda n: Preferences.none(SCHEMA, n).weigh(income=np.full(n, 3.0)),
    "nobody": lambda n: Preferences.none(SCHEMA, n + 2).freeze("income").take([]),
    "joined": lambda n: Preferences.concat([Preferences.none(SCHEMA, 0), Preferences.none(SCHEMA, n)]),
    "scores": lambda n: Preferences.from_likert(SCHEMA, np.broadcast_to([0, 6, 1, 5, 2, 0], (n, 6))[:, ACT]),
    "ranks": lambda n: Preferences.from_rankings(SCHEMA, {SCHEMA.names[j]: [j] * n for j in ACT}),
    "yes or no": lambda n: Preferences.from_yes_no(SCHEMA, {"income": [False] * n}),
    "a table": lambda n: Preferences.from_table(SCHEMA, [], n),
    "a table of nobody": lambda n: Preferences.from_table(SCHEMA, [], people=[]),
    "NumPy's own number of levels": lambda n: replace(
        Preferences.none(SCHEMA, n), score=np.ones((n, 6)), score_levels=np.int64(5)
    ),
}


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("what", SMALL)
def test_wishes_of_few_and_of_nobody_are_replayed(tmp_path: Path, what: str, n: int) -> None:
    wish = SMALL[what](n)
    wish.save(tmp_path / "wishes.json")
    same(Preferences.load(tmp_path / "wishes.json", SCHEMA), wish)


def test_many_people_with_one_wish_are_replayed(tmp_path: Path) -> None:
    """A file may not ask for any amount of memory with one number; one that was saved has a sign for each person."""
    wide = Schema(
        (*SCHEMA.features, Feature(name="town", kind="categorical", levels=tuple(map(str, range(4000)))))
    )
    wish = Preferences.none(wide, 5000).allow("town", "7", who=4999)
    wish.save(tmp_path / "wishes.json")
    got = Preferences.load(tmp_path / "wishes.json", wide)
    assert got.n == 5000
    np.testing.assert_array_equal(got.level_ok(6), wish.level_ok(6))
    stored = json.loads((tmp_path / "wishes.json").read_text())
    for crowd in (None, stored["crowd"][1:], 5000, list(stored["crowd"])):
        with pytest.raises(FileFormatError, match="said to be those of 5000 people"):
            Preferences.from_dict(wide, stored | {"crowd": crowd})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Preferences.none(SCHEMA, 2).limit("income", low=math.inf),
            "'income' has the limits inf and inf",
        ),
        (
            lambda: Preferences.none(SCHEMA, 2).limit("income", high=-math.inf),
            "'income' has the limits -inf and -inf",
        ),
        (
            lambda: replace(Preferences.none(SCHEMA, 2), score=np.full((2, 6), math.inf)),
            "'age' has score inf",
        ),
        (
            lambda: replace(Preferences.none(SCHEMA, 2), score_levels=5.5),
            "score_levels=5.5 is no number of levels",
        ),
        (lambda: Preferences.none(SCHEMA, -1), "n=-1 is no number of people"),
        (lambda: Preferences.none(SCHEMA, True), "n=True is no number of people"),
        (lambda: Preferences.from_table(SCHEMA, [], -1), "n=-1 is no number of people"),
        (lambda: Preferences.none(None, 1), "schema is a NoneType. Give a Schema"),  # type: ignore[arg-type]
    ],
)
def test_what_no_file_could_hold_is_refused(make: Callable[[], Preferences], message: str) -> None:
    with pytest.raises(PreferencesError, match=message):
        make()


def test_a_file_finds_its_features_by_name(tmp_path: Path) -> None:
    wish = Preferences.none(SCHEMA, 2).freeze("income", who=1).forbid("school", "none").weigh(savings=2)
    wish.save(tmp_path / "wishes.json")
    same(Preferences.load(tmp_path / "wishes.json", SCHEMA), wish)
    turned = Preferences.load(tmp_path / "wishes.json", Schema(SCHEMA.features[::-1]))
    np.testing.assert_array_equal(turned.frozen, wish.frozen[:, ::-1])
    with pytest.raises(PreferencesError, match="'income', which is not a feature"):
        Preferences.load(tmp_path / "wishes.json", SCHEMA.drop("income"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": "wayforward/preferences", "version": 99}',
        '{"format": "wayforward/preferences", "version": 1}',
        '{"format": "wayforward/preferences", "version": 1, "n": 1, "features": {"income": {"low": 3}}}',
        '{"format": "wayforward/preferences", "version": 1, "n": 1, "features": {"income": {"frozen": [7]}}}',
        '{"format": "wayforward/preferences", "version": 1, "n": -1, "features": {}}',
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(FileFormatError):
        Preferences.load(tmp_path / "w.json", SCHEMA)


CSV = """person,feature,can,low,high,allow,weight,max_changes
0,income,no,,,,,
1,income,,1000,+10%,,,
1,school,,,,school|degree,2.5,
2,,,,,,,3
2,school,yes,school,,,,
"""


def test_a_tidy_table_or_a_csv_file(tmp_path: Path) -> None:
    expected = (
        Preferences.none(SCHEMA, 3)
        .freeze("income", who=0)
        .limit("income", low=1000, high="+10%", x=X, who=1)
        .allow("school", "school", "degree", who=1)
        .weigh(who=1, school=2.5)
        .at_most(3, who=2)
        .limit("school", low="school", who=2)
    )
    (tmp_path / "wishes.csv").write_text(CSV)
    same(Preferences.from_table(SCHEMA, tmp_path / "wishes.csv", x=X), expected)
    frame = pd.read_csv(tmp_path / "wishes.csv")
    same(Preferences.from_table(SCHEMA, frame, 3, x=X), expected)
    same(Preferences.from_table(SCHEMA, pl.from_pandas(frame), 3, x=X), expected)
    named = [{"person": "ann", "feature": "income", "can": False}]
    assert Preferences.from_table(SCHEMA, named, people=["bob", "ann"]).frozen[1, 1]


def test_a_tidy_table_of_ranks_and_scores() -> None:
    ranks = [{"person": 0, "feature": "income", "rank": 2}, {"person": 0, "feature": "school", "rank": 1}]
    got = Preferences.from_table(SCHEMA, ranks, 2)
    np.testing.assert_allclose(got.weight, [[1, 4, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    scores = [
        {"person": 1, "feature": "income", "score": 4},
        {"person": 0, "feature": "income", "score": 3, "weight": 7},
    ]
    got = Preferences.from_table(SCHEMA, scores, 2, levels=3)
    assert got.frozen[1, 1] and got.weight[0, 1] == 7 and got.score[0, 1] == 3


# -- errors ------------------------------------------------------------------------------------------------

NONE = Preferences.none(SCHEMA, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NONE.freeze("incme"), "'incme', which is not a feature. Did you mean 'income'"),
        (lambda: NONE.freeze("income", who=3), "no person 3; people are numbered 0 to 2"),
        (lambda: NONE.freeze("income", who=[True, False]), r"mask of people has shape \(2,\)"),
        (lambda: NONE.freeze("income", who=[0.5]), "row numbers or a mask"),
        (lambda: NONE.weigh(income=0), "'income' has weight 0 for person 0"),
        (lambda: NONE.weigh(income=[1, math.inf, 1]), "'income' has weight inf for person 1"),
        (lambda: NONE.limit("income", low=5, high=4, who=2), "'income' has low=5 above high=4 for person 2"),
        (lambda: NONE.limit("income", high="+10%"), "Add x=x"),
        (lambda: NONE.limit("income", high="much", x=X), "limit 'much'"),
        (lambda: NONE.limit("savings", high="+10%", x=X), "'savings' is missing for person 1"),
        (lambda: NONE.limit("school", low="degre"), "'school' has no level 'degre'. Did you mean 'degree'"),
        (lambda: NONE.allow("income", 3), "'income' is a number"),
        (lambda: NONE.limit("age", high=50), "'age' has a wish .limit., but it is immutable"),
        (lambda: NONE.weigh(rating=2), "'rating' has weight 2, but it is mutable"),
        (lambda: NONE.weigh(income=[1, 2]), r"'income' has weights of shape \(2,\)"),
        (
            lambda: Preferences.from_yes_no(SCHEMA, {"age": ["no", "yes"]}),
            "'age' has the answer yes for person 1",
        ),
        (
            lambda: Preferences.from_table(
                SCHEMA,
                [{"person": 1, "feature": name, "rank": r} for name, r in (("income", 1), ("savings", 3))],
            ),
            "'savings' has rank 3 for person 1, and rank 2 is missing",
        ),
        (lambda: NONE.at_most([1, 2.5, 3]), "max_changes is 2.5 for person 1"),
        (lambda: NONE.at_most(-1), "max_changes is -1"),
        (lambda: Preferences.from_likert(SCHEMA, [[1, 2, 3, 7]]), "'school' has score 7 for person 0"),
        (
            lambda: Preferences.from_likert(SCHEMA, {"income": [1, None]}),
            "'income' has score nan for person 1",
        ),
        (
            lambda: Preferences.from_likert(SCHEMA, {"age": [1]}),
            "'age' has score 1 for person 0, but it is immutable",
        ),
        (lambda: Preferences.from_likert(SCHEMA, {"incom": [1]}), "Did you mean 'income'"),
        (
            lambda: Preferences.from_likert(SCHEMA, {"income": ["hard"]}),
            "'income' has the answer 'hard' for person 0",
        ),
        (lambda: Preferences.from_likert(SCHEMA, {"income": [1], "school": [1, 2]}), "One answer|one answer"),
        (lambda: Preferences.from_likert(SCHEMA, np.ones((2, 3))), r"shape \(2, 3\)"),
        (lambda: Preferences.from_likert(SCHEMA, np.ones((2, 4)), levels=0), "scale of 0 levels"),
        (lambda: Preferences.from_likert(SCHEMA, np.ones((2, 4)), profile="steep"), "cost profile 'steep'"),
        (lambda: Preferences.from_likert(SCHEMA, np.ones((2, 4)), w_min=3, w_max=2), "w_min=3"),
        (lambda: Preferences.from_rankings(SCHEMA, [[1, 2, 3, 4], [1, 1, 2, 5]]), "has rank 1 for person 1"),
        (
            lambda: Preferences.from_rankings(SCHEMA, [[1, 3, 5, 5]]),
            "'savings' has rank 3 for person 0, who ranks 2",
        ),
        (lambda: Preferences.from_rankings(SCHEMA, [["income", "age"]]), "ranks 'age', which is immutable"),
        (lambda: Preferences.from_rankings(SCHEMA, [["income", "income"]]), "ranks 'income' twice"),
        (
            lambda: Preferences.from_yes_no(SCHEMA, {"income": ["maybe"]}),
            "'maybe' for person 0. Give yes or no",
        ),
        (lambda: Preferences.from_yes_no(SCHEMA, {"income": [2]}), "'income' has the answer 2"),
        (lambda: Preferences.concat([]), "nothing to join"),
        (lambda: Preferences.concat([NONE, Preferences.none(SCHEMA.drop("age"), 1)]), "different schemas"),
        (
            lambda: Preferences.from_table(SCHEMA, [{"feature": "income"}]),
            "Row 0 of the wishes has no 'person'",
        ),
        (
            lambda: Preferences.from_table(SCHEMA, [{"person": 0, "feature": "income", "lo": 1}]),
            "column 'lo'",
        ),
        (lambda: Preferences.from_table(SCHEMA, [{"person": 5, "feature": "income"}], 2), "about person 5"),
        (lambda: Preferences.from_table(SCHEMA, [{"person": 0, "can": "no"}]), "which is not a feature"),
        (
            lambda: Preferences.from_table(SCHEMA, [{"person": 0, "feature": "age", "score": 2}]),
            "'age' has score 2 for person 0, but it is immutable",
        ),
        (
            lambda: Preferences.from_table(
                SCHEMA, [{"person": 0, "feature": name, "rank": 1} for name in ("income", "savings")]
            ),
            "Person 0 gives the same rank twice",
        ),
        (
            lambda: Preferences.from_table(SCHEMA, [{"person": 0, "feature": "income", "weight": "big"}]),
            "'big' for 'income'",
        ),
        (
            lambda: Preferences(SCHEMA, NONE.frozen, NONE.low, NONE.high, NONE.weight[:, :5]),
            r"weight of shape \(3, 5\)",
        ),
        (
            lambda: Preferences(SCHEMA, NONE.frozen, NONE.low, NONE.high, NONE.weight, {1: NONE.frozen}),
            "levels are given for 'income'",
        ),
    ],
)
def test_the_errors_name_the_feature_and_the_person(make: object, words: str) -> None:
    with pytest.raises(PreferencesError, match=words):
        make()  # type: ignore[operator]


def test_a_wish_about_a_name_that_several_people_have_is_nobodys() -> None:
    """It was the last one's alone."""
    wish = [{"person": "A", "feature": "income", "can": "no"}]
    with pytest.raises(PreferencesError, match="'A', and several people are called that"):
        Preferences.from_table(SCHEMA, wish, people=["A", "B", "A"])
    assert Preferences.from_table(SCHEMA, wish, people=("B", "A", "C", "C")).frozen[1].any()


@pytest.mark.parametrize("read", [Preferences.from_table, Preferences.from_yes_no])
def test_a_column_that_is_there_twice_is_named(read: Callable[..., Preferences]) -> None:
    table = pd.DataFrame([[0, "no", "yes"]], columns=["person", "can", "can"])
    with pytest.raises(PreferencesError, match="can"):
        read(SCHEMA, table)
