"""What every data set promises, whatever its table."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward.data as datasets
from wayforward.data.dataset import Acts
from wayforward.errors import DataError
from wayforward.schema import Feature

FORMS = (
    "loan",
    "loan:karimi",
    "loan:recourse",
    "loan:clf",
    "loan:causal_estimator",
    "german",
    "adult",
    "adult:missing",
    "compas",
    "compas:unfiltered",
    "compas:screened",
    "compas:score",
    "gmsc",
    "gmsc:missing",
    "gmsc:outliers",
    "gmsc:clipped",
    "law",
    "law:zfya",
    "law:zfya_score",
    "law:bar",
    "law:bar+missing",
    "default_credit",
    "default_credit:raw-codes",
)


@pytest.mark.parametrize("name", FORMS)
def test_every_value_is_one_that_the_schema_allows(read, name):
    data = read(name)
    assert data.x.shape == (data.n, data.d) and data.y.shape == (data.n,)
    legal = data.schema.legal(data.x) | np.isnan(data.x)
    worst = data.schema.names[int(np.argmin(legal.mean(axis=0)))]
    assert legal.all(), f"{worst}: {(~legal).sum()} values off the domain or the lattice"
    gaps = np.isnan(data.x).any(axis=0)
    assert (gaps == data.schema.missing).all(), "missing is declared exactly where values are missing"


@pytest.mark.parametrize("name", FORMS)
def test_every_level_that_is_declared_occurs(read, name):
    data = read(name)
    for j, feature in enumerate(data.schema.features):
        if feature.kind == "categorical":  # ordinal scales may hold a rung that nobody stands on
            seen = np.unique(data.x[~np.isnan(data.x[:, j]), j])
            assert seen.size == feature.n_levels, feature.name


@pytest.mark.parametrize("name", FORMS)
def test_the_table_gives_the_array_back(read, name):
    data = read(name).take(np.arange(0, read(name).n, 37))
    assert list(data.frame.columns) == list(data.schema.names)
    np.testing.assert_array_equal(data.schema.encode(data.frame), data.x)


@pytest.mark.parametrize("name", FORMS)
def test_the_rules_hold_for_everybody_as_they_stand(read, name):
    data = read(name)
    if data.schema.rules:
        assert data.schema.compiled_rules.kept(data.x, data.x).all()


@pytest.mark.parametrize("name", FORMS)
def test_every_actionability_set_applies_and_keeps_the_person_fixed(read, name):
    data = read(name)
    assert {"recommended", "benchmark"} <= set(data.acts)
    for chosen in data.acts:
        other = data.with_actionability(chosen)
        assert other.actionability == chosen and other.schema.names == data.schema.names
        free = [
            other.schema[name].name
            for name in other.sensitive
            if not other.schema.immutable[other.schema.index(name)]
        ]
        # Papers that let people change these are quoted as they are; the library's own two sets never do.
        assert not free or chosen not in ("recommended", "benchmark"), free
    if not name.startswith("compas"):
        assert data.schema.actionable.any()


@pytest.mark.parametrize("name", FORMS)
def test_the_card_tells_every_choice(read, name):
    data = read(name)
    card = data.card()
    assert data.source.terms in card and data.source.citation in card
    assert f"{data.n:,} people" in card and data.steps[-1].rows == data.n
    for text in (*data.notes, *(step.what for step in data.steps), *data.schema.rules):
        assert text in card
    for feature in data.schema.features:
        assert f"| `{feature.name}` |" in card
    for chosen in data.acts:
        assert f"- `{chosen}`:" in card


@pytest.mark.parametrize("entry", datasets.catalogue(), ids=lambda entry: entry.name)
def test_the_catalogue_is_true(read, entry):
    data = read(entry.name)
    assert data.n == entry.rows
    assert set(data.acts) == set(entry.acts)
    assert set(data.sensitive) == set(entry.sensitive)
    assert set(entry.variants).isdisjoint(entry.acts)
    for word in entry.variants:
        read(f"{entry.name}:{'bar+' if (entry.name, word) == ('law', 'missing') else ''}{word}")


def test_the_split_is_stratified_deterministic_and_complete(read):
    data = read("loan")
    train, test = data.split(test=0.25, seed=3)
    again = data.split(test=0.25, seed=3)[1]
    np.testing.assert_array_equal(test.x, again.x)
    assert not np.array_equal(test.x, data.split(test=0.25, seed=4)[1].x)
    assert train.n + test.n == data.n and test.n == pytest.approx(0.25 * data.n, abs=1)
    assert test.is_favourable.mean() == pytest.approx(data.is_favourable.mean(), abs=1e-4)
    both = np.concatenate([train.x, test.x])
    np.testing.assert_array_equal(np.sort(both[:, 1]), np.sort(data.x[:, 1]))
    np.testing.assert_array_equal(datasets.load("loan").extra["noise"], data.extra["noise"])
    assert train.extra["noise"].shape == (train.n, 7)


def test_the_published_split(read):
    train, test = read("adult").split("published")
    assert (train.n, test.n) == (30_162, 15_060)
    with pytest.raises(DataError, match="published no split"):
        read("loan").split("published")


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, "half"])
def test_a_wrong_share_is_named(read, share):
    with pytest.raises(DataError, match="between 0 and 1"):
        read("loan").split(share)


def test_a_split_that_leaves_a_side_empty_is_refused(read):
    with pytest.raises(DataError, match="leaves one side empty"):
        read("loan").take(np.arange(1)).split(0.3)


@pytest.mark.parametrize("like", ["pandas", "polars", "pyarrow"])
def test_the_whole_table_in_three_libraries(read, like):
    pytest.importorskip(like)
    table = read("loan").take(np.arange(5)).table(like)
    assert type(table).__module__.startswith(like) and table.shape == (5, 8)
    names = table.column_names if like == "pyarrow" else list(table.columns)
    assert names[-1] == "granted"


@pytest.mark.parametrize(
    ("name", "variant", "words"),
    [
        ("germany", None, "no data set 'germany'.*mean 'german'.*default_credit"),
        ("german", "typo", "'german' has no variant 'typo'.*recommended.*benchmark"),
        ("adult:missing", "carla+hare", "two actionability sets, carla and hare"),
        ("loan:clf+recourse", None, "clf and recourse of 'loan' exclude"),
        ("gmsc", "missing+clipped", "clipped and missing of 'gmsc' exclude"),
        ("law", "zfya+missing", "missing and zfya of 'law' exclude"),
    ],
)
def test_a_wrong_name_says_what_is_known(name, variant, words):
    with pytest.raises(DataError, match=words):
        datasets.load(name, variant=variant)


def test_an_unknown_actionability_set_says_what_is_known(read):
    with pytest.raises(DataError, match="no actionability set 'x'.*benchmark, carma"):
        read("loan").with_actionability("x")


def test_words_combine_in_any_order(read):
    data = read("german:reachml")
    assert data.actionability == "reachml" and data.variant == ()
    assert repr(data) == "Dataset(german: 1,000 people, 20 features, reachml)"
    assert len(data) == data.n == 1_000
    assert data.schema.direction[data.schema.index("savings")] == 1


def test_acts_except_for_and_but():
    made_of = tuple(Feature(name=name, kind="real") for name in "abc")
    acts = Acts.except_for("a paper", made_of, immutable=("a",), mutable=("b",))
    assert acts.marks == {"a": "I", "b": "M", "c": "A"}
    assert acts.but("another", {"c": "A-"}).marks["c"] == "A-" and acts.marks["c"] == "A"


def test_names_and_repr_hold_no_row(read):
    assert datasets.names()[0] == "loan" and len(set(datasets.names())) == 7
    assert "array" not in repr(read("german"))
