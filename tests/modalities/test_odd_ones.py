"""One odd text, image, series or person of a list stops nobody: it is NOT_ASKED with its reason, the others go on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wayforward as wf
from wayforward.errors import DataError, MethodError
from wayforward.modalities.graph.graph import shop
from wayforward.modalities.text.corpora import reviews
from wayforward.schema import SchemaWarning

TEXTS, LABELS = reviews(60, seed=3)
ARRAYS = np.random.default_rng(0).normal(size=(30, 3, 6))


def texts():
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, LABELS)
    bad = [text for text, label in zip(TEXTS, pipeline.predict(TEXTS), strict=True) if label == "bad"][:2]
    return wf.TextProblem(pipeline, TEXTS, favourable="good"), bad, None, "it is a NoneType. Give a string."


def _sums(arrays):
    return np.clip(0.5 + arrays.reshape(len(arrays), 3, 6)[:, 1].mean(1), 0, 1)


def series():
    asked = wf.SeriesProblem(_sums, ARRAYS, favourable=1, channels=["oil", "heat", "flow"])
    odd = ARRAYS[0].copy()
    odd[2, 4] = np.inf
    return asked, ARRAYS[_sums(ARRAYS) < 0.5][:2], odd, "'flow' is inf at time 4, from 0."


def shorter_series():
    asked, some, _, _ = series()
    return asked, some, ARRAYS[0][:, :5], r"it has shape \(3, 5\)"


def images():
    asked = wf.ImageProblem(
        _sums, ARRAYS, favourable=1, units=wf.modalities.image.Grid(3, 3), replace=3.0, span=(-9, 9)
    )
    odd = ARRAYS[0].copy()
    odd[0, 1] = 10
    return asked, ARRAYS[_sums(ARRAYS) < 0.5][:2], odd, "it has 10.0 at row 0, column 1"


def people():
    graph = shop()
    return wf.RecommenderProblem(graph), list(graph.people[:2]), "Nemo", "'Nemo' is no person of the graph"


@pytest.mark.parametrize("kind", [texts, series, shorter_series, images, people])
def test_one_odd_one_stops_nobody(kind):
    asked, good, odd, reason = kind()
    given = [good[0], odd, good[1]]
    with pytest.warns(
        SchemaWarning,
        match=f"1 of 3 {asked.things} could not be read.*about it .*{asked.thing.capitalize()} 1: {reason}",
    ):
        got = asked.recommend(given, most=3)
    alone = asked.recommend(list(good), most=3)
    whole, others = got.recourse, alone.recourse
    assert others.found[:, 0].any()
    assert [o.name for o in whole.outcome[:, 0]] == [
        others.outcome[0, 0].name,
        "NOT_ASKED",
        others.outcome[1, 0].name,
    ]
    np.testing.assert_array_equal(whole.action[[0, 2]], others.action)
    assert got.letter(0) == alone.letter(0) and "could not be read" in got.letter(1)
    assert "nicht lesbar" in got.letter(1, language="de")
    assert np.isnan(whole.x[1]).all() and whole.preferences.max_changes.tolist() == [3, 3, 3]
    assert whole.to_frame().shape[0] == 3
    with pytest.raises(DataError, match=f"{asked.thing.capitalize()} 1: {reason}"):
        asked.recommend(given, strict=True)
    with pytest.raises(DataError, match=f"{reason}|Give numbers of shape"):  # of whom there is nobody else
        asked.recommend([odd])
    with pytest.raises(MethodError, match="strict"):
        asked.recommend(given, strict="yes")
    with pytest.raises(DataError, match="could not be read"):
        (getattr(got, "before", None) or getattr(got, "after", None) or got.removed)(1)
