"""Conditions as text: what is read is what was written, and what is wrong is named."""

from __future__ import annotations

import pytest

from wayforward.errors import ProblemError
from wayforward.problem import AllModels, Stable, UnderNoise, WithinDelta
from wayforward.problem.robust import Together, check, read


@pytest.mark.parametrize(
    ("text", "kind", "settings"),
    [
        ("within-delta:0.05", WithinDelta, {"delta": 0.05, "norm": "linf", "bias": True}),
        ("within-delta:1e-3,norm=l2,bias=no", WithinDelta, {"delta": 1e-3, "norm": "l2", "bias": False}),
        ("noise:0.02,alpha=0.1", UnderNoise, {"sigma": 0.02, "share": 0.9}),
        (" noise : 0.02 , share = 0.95, draws=40 ", UnderNoise, {"sigma": 0.02, "share": 0.95, "draws": 40}),
        ("under-noise:0.1,on=numbers", UnderNoise, {"sigma": 0.1, "on": "numbers"}),
        ("stable:0.6", Stable, {"tau": 0.6, "sigma": 0.02, "kind": "trex"}),
        ("stable:0.6,sigma=0.05,kind=robx", Stable, {"tau": 0.6, "sigma": 0.05, "kind": "robx"}),
    ],
)
def test_a_text_is_the_condition_it_says(text, kind, settings):
    """Values, settings, spaces and the other name."""
    got = read(text)
    assert type(got) is kind
    assert {name: getattr(got, name) for name in settings} == settings


def test_models_are_those_that_were_trained_again():
    """`again` is asked once, for so many."""
    asked = []

    def again(m):
        asked.append(m)
        return [object() for _ in range(m)]

    got = read("models:3", again)
    assert isinstance(got, AllModels)
    assert len(got.models) == 3
    assert asked == [3]


def test_several_must_all_hold():
    """A list gives one condition of all, in order; a list of one gives that one."""
    got = read(["within-delta:0.05", "noise:0.02"])
    assert isinstance(got, Together)
    assert [type(part) for part in got.parts] == [WithinDelta, UnderNoise]
    assert isinstance(read(["stable:0.5"]), Stable)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("delta:0.05", "no 'delta'.*within-delta, noise, models, next, stable"),
        ("nois:0.05", "Did you mean 'noise'"),
        ("noise", "needs the size of errors.*noise:0.02"),
        ("noise:", "needs the size"),
        ("noise:much", "'much' of 'noise' is not a number"),
        ("noise:nan", "sigma"),
        ("noise:0.02,0.9", "'0.9' is no setting.*share="),
        ("noise:0.02,shares=0.9", "'shares=0.9' is no setting of 'noise'"),
        ("noise:0.02,share=0.9,share=0.8", "given twice"),
        ("noise:0.02,share=0.9,alpha=0.1", "say the same"),
        ("noise:0.02,alpha=90", "alpha=90"),
        ("noise:0.02,share=2", "share=2"),
        ("noise:0.02,draws=3.5", "'3.5' of 'draws' is not a whole number"),
        ("within-delta:-1", "delta=-1"),
        ("within-delta:0.1,norm=l3", "norm='l3'"),
        ("within-delta:0.1,bias=maybe", "'maybe' of 'bias' is not yes or no"),
        ("models:0", "0 models"),
        ("models:1000000", "1000000 models"),
        ("models:2.5", "not a whole number"),
        ("models:2,seed=1", "It has none"),
        ("stable:1.5", "tau=1.5"),
        ("stable:0.5,kind=other", "kind='other'"),
        ("", "no ''"),
        ([], "No condition"),
        ([0.05], "0.05 is no text"),
        (None, "None is no text"),
        (0.05, "0.05 is no text"),
        (b"noise:0.02", "is no text"),
        ({"noise": 0.02}, "is no text"),
        ("noise:1_000", "'1_000' of 'noise' is not a number"),
        ("models:1_0", "'1_0' of 'models' is not a whole number"),
        ("noise:\u0663", "is not a number"),
        ("noise:0.02,draws=999999999", "more than memory holds"),
        ("noise:9", "sigma=9.0 is no share of a range. Give 0 to 1"),  # 9 % was meant
        ("stable:0.5,sigma=9", "sigma=9.0 is no share"),
    ],
)
def test_what_is_wrong_is_named(text, words):
    """The text, the part at fault, and what is known; without training anything."""
    with pytest.raises(ProblemError, match=words):
        check(text)


def test_models_need_a_way_to_train():
    """Said where there is none."""
    with pytest.raises(ProblemError, match="models:5.*AllModels"):
        read("models:5")
    check("models:5")
