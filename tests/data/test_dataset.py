"""What a data set can do: splits, tables, variants by name, a set of another package."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward.data as datasets
from wayforward.data.dataset import Acts
from wayforward.errors import DataError
from wayforward.registry import Registry
from wayforward.schema import Feature


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


def test_a_data_set_of_another_package(tmp_path, monkeypatch):
    """One module with ENTRY and a function; from then on it is loaded, listed and found as the others are."""
    places = {name: f"wayforward.data.{name}:build" for name in datasets.names()}
    monkeypatch.setattr(datasets, "DATASETS", Registry("data set", "wayforward.data", DataError, places))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "people.py").write_text(TOY)
    datasets.register("toy", "toys.people:build")
    data = datasets.load("toy:benchmark")
    assert (data.n, data.schema.names, data.actionability) == (4, ("age", "pay"), "benchmark")
    assert datasets.available("toy") and datasets.names()[-1] == "toy" and data.world is None
    assert datasets.catalogue()[-1].title == "A toy" and "Sensitive: `age`" in data.card()
    with pytest.raises(DataError, match="a data set 'toy' already"):
        datasets.register("toy", "others.people:build")
    with pytest.raises(DataError, match="no place of a data set"):
        datasets.register("other", "toys.people")


TOY = """
import numpy as np
from wayforward.data import Acts, Entry, Source, Step, made, number

ENTRY = Entry(
    name="toy", title="A toy", rows=4, favourable="1 (yes)", sensitive=("age",), acts=("recommended", "benchmark"),
    source=Source(origin="made here", citation="none", terms="free", url="https://example.org"), needs_files=False,
)
FEATURES = (number("age", "age", 18, 90, sensitive=True), number("pay", "pay", 0, 9, unit="kEUR"))
ACTS = {name: Acts("Pay can rise.", {"age": "I", "pay": "A+"}) for name in ENTRY.acts}


def build(files, chosen):
    return made(
        ENTRY, chosen=chosen, features=FEATURES, acts=ACTS, columns={"age": [20, 30, 40, 50], "pay": [1, 2, 3, 4]},
        y=np.array([0, 0, 1, 1]), label="yes", label_text={1: "yes", 0: "no"}, steps=(Step("made", 4),), notes=(),
        dropped={},
    )
"""
