"""Missing is not a number, nor is a code: no act touches them unless the schema allows it, whatever the method."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import letter, words
from wayforward.errors import SchemaError
from wayforward.evaluate.judge import second_opinion
from wayforward.methods import names
from wayforward.recourse import Outcome
from wayforward.schema import Schema

SINCE = {
    "name": "since", "kind": "integer", "low": 0, "high": 60, "missing": "stays",
    "special": {-7: "no such event", -9: "no record"},
}  # fmt: skip


def schema(**since):
    return Schema(
        (
            wf.Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
            wf.Feature(**SINCE | since),
            wf.Feature(name="pay", kind="integer", low=0, high=90),
        )
    )


def problem(about):
    """Who waits long or is paid well is accepted: 0.02 since + 0.02 pay > 1, a missing or special wait counting 0."""

    def chance(x):
        since = np.where(np.isnan(x[:, 1]) | (x[:, 1] < 0), 0.0, x[:, 1])
        return 1 / (1 + np.exp(-8 * (0.02 * since + 0.02 * x[:, 2] - 1)))

    rng = np.random.default_rng(0)
    past = np.stack(
        [rng.integers(18, 90, 200), rng.integers(0, 60, 200), rng.integers(0, 90, 200)], 1
    ).astype(float)
    past[::5, 1], past[1::5, 1] = -7, np.nan if about["since"].missing else -9
    return wf.Problem(about, wf.wrap(chance, about), wf.Target(favourable=1), data=past)


PEOPLE = np.array([[30, -7, 10], [30, -9, 10], [30, np.nan, 10], [30, 5, 10.0]])


@pytest.mark.parametrize(
    "method",
    [n for n in names() if n in ("local-search", "growing-spheres", "nearest-observable", "dice", "face")],
)
def test_no_method_moves_a_state_nor_leads_into_one(method):
    """A number moves along its line and never into a code; a code and a missing value stay."""
    it = problem(schema())
    got = wf.recommend(it, PEOPLE, method, k=3, seed=0)
    found = got.found
    assert found[:, 0].any()
    after = got.after[:, :, 1]
    np.testing.assert_array_equal(after[:3][found[:3]], np.repeat(PEOPLE[:3, 1][:, None], 3, 1)[found[:3]])
    assert (after[3][found[3]] >= 0).all() and np.isnan(got.action[:3, :, 1]).all()
    assert second_opinion(it, got).usable[found].all()


def test_both_judges_refuse_to_move_a_state():
    it = problem(schema())
    action = np.full((4, 1, 3), np.nan)
    action[:, 0, 1], action[:, 0, 2] = 20, 60
    got = it.check(PEOPLE, action)
    assert got.found[:, 0].tolist() == [False, False, False, True]
    good = it.check(PEOPLE[[3]], action[[3]])
    forged = wf.Recourse.concat([good] * 4)
    forged.x[:], forged.after[:, 0, 0] = PEOPLE, PEOPLE[:, 0]
    assert second_opinion(it, forged).legal[:, 0].tolist() == [False, False, False, True]
    into = np.array([[[np.nan, -7, 85]]])
    assert not it.check(PEOPLE[[3]], into).found.any()


def test_what_may_be_told_is_asked_for_and_nothing_else():
    """As True of earlier versions did: then a plan may say 'tell us your since, if it is ...'."""
    frozen = {"name": "pay", "kind": "integer", "low": 0, "high": 90, "actionability": "immutable"}
    people = np.array([[30, np.nan, 40], [30, 5, 40.0]])
    for missing, asks in (("may be told", True), (True, True), ("stays", False), ("does not apply", False)):
        about = Schema((*schema(missing=missing).features[:2], wf.Feature(**frozen)))
        got = wf.recommend(problem(about), people)
        assert got.found[1, 0] and got.found[0, 0] == asks
        assert ("tell us your since" in got.explain(0).lower()) == asks
        if not asks:
            assert got.outcome[0, 0] is Outcome.NONE_EXISTS


def test_states_are_told_in_words():
    about = schema(missing="does not apply")
    since = about["since"]
    assert [words.value_text(since, v) for v in (-7, -9, np.nan, 5)] == [
        "no such event", "no record", "does not apply", "5",
    ]  # fmt: skip
    it = problem(about)
    text = letter(it, wf.recommend(it, PEOPLE), 0)
    assert "-7" not in text and "pay" in text


def test_a_schema_with_states_goes_through_files():
    about = schema()
    assert Schema.from_yaml(about.to_yaml()) == about and Schema.from_dict(about.to_dict()) == about
    assert about.to_dict()["features"][1]["special"] == {-9: "no record", -7: "no such event"}
    got = wf.recommend(problem(about), PEOPLE)
    import json

    assert Schema.from_dict(json.loads(json.dumps(got.schema.to_dict()))) == about


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"special": {5: "five"}}, "within 0"),
        ({"special": {-7: "x"}, "low": None}, "within None"),
        ({"missing": "perhaps"}, "must be one of may be told, stays, does not apply"),
        ({"kind": "categorical", "levels": ("a", "b"), "special": {-7: "x"}}, "Make each a level"),
    ],
)
def test_what_is_no_state_is_refused(change, says):
    with pytest.raises(SchemaError, match=says):
        schema().revise(since=change)


def test_a_state_passes_where_another_number_outside_does_not():
    about = schema()
    x, reasons = about.read(np.array([[30, -7, 1], [30, -8, 1], [30, 61, 1], [30, np.nan, 1]]))
    assert sorted(reasons) == [1, 2] and x[0, 1] == -7


def test_codes_are_proposed_with_the_draft():
    """Codes far from everything else; -1 beside other numbers below zero is a number, 99 beside 60 is one, too."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 400
    wait, late, gain, score = (
        rng.integers(low, high, n) for low, high in ((0, 60), (0, 12), (-5, 30), (40, 99))
    )
    wait[:40], wait[40:60], late[:5], late[5:9], score[0] = -7, -9, 98, 96, 99
    lost = pd.Series(rng.normal(size=n)).where(np.arange(n) > 9)
    got = Schema.infer(pd.DataFrame({"wait": wait, "dues": late, "gain": gain, "score": score, "lost": lost}))
    assert {f.name: f.special_words for f in got.features} == {
        "wait": {-9: "code -9", -7: "code -7"}, "dues": {96: "code 96", 98: "code 98"},
        "gain": {}, "score": {}, "lost": {},
    }  # fmt: skip
    assert (got["wait"].low, got["wait"].high, got["dues"].high) == (0, 59, 11)
    assert got["lost"].missing == "stays" and not got["wait"].missing
    assert list(got.guesses) == ["wait", "dues", "lost"] and "states and no numbers" in got.guesses["wait"]
    plain = Schema.infer(pd.DataFrame({"wait": wait, "lost": lost}), propose=False)
    assert not plain["wait"].special and plain["lost"].missing is True and plain["wait"].low == -9
