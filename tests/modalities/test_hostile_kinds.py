"""Problems of survival times, recommenders, series and images: a faulty argument or file is named, none is guessed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import wayforward as wf
from wayforward.errors import DataError, MethodError, ModelError, ProblemError
from wayforward.impact.collective import act_together
from wayforward.modalities.graph import ActionGraph
from wayforward.modalities.image import Grid, Quickshift
from wayforward.modalities.image.sets import shapes
from wayforward.modalities.series import Stretches
from wayforward.modalities.series.sets import control_charts, machines, read_series
from wayforward.modalities.survival import Cox
from wayforward.modalities.survival.samples import (
    CENTRE,
    PLANTED,
    heart_baseline,
    heart_patients,
    heart_schema,
)
from wayforward.problem.robust.drift import Drift
from wayforward.problem.robust.hidden import HiddenCauses
from wayforward.schema import SchemaWarning

PAIR, EDGES = np.eye(2), pd.DataFrame({"source": ["ann"], "target": ["a"]})
SIDES = {"people": ["ann"], "items": ["a"]}
SERIES = np.random.default_rng(0).normal(size=(20, 2, 6))


def graph(**given):
    return ActionGraph(**{"names": ["ann", "a"], "weights": PAIR, **SIDES, **given})


def edges(table=EDGES, **given):
    return ActionGraph.from_edges(table, **{**SIDES, **given})


BYTES = np.random.default_rng(0).integers(0, 256, (20, 4, 4)).astype(np.uint8)


def bright(images):
    return images.reshape(len(images), -1)[:, :8].mean(1) / 255


def pictures(**given):
    return wf.ImageProblem(bright, BYTES, favourable=1, **given)


def two(arrays):
    return np.full(len(arrays), 2.0)


def broken(array):
    raise ValueError("nothing to see")


def many_edges(weight, name="weight"):
    table = EDGES.assign(weight=[1.0])
    return pd.concat([table, table.assign(weight=[weight])], ignore_index=True).rename(
        columns={"weight": name}
    )


def rising(arrays):
    return np.clip(0.5 + arrays.reshape(len(arrays), 2, 6)[:, 0].mean(1), 0, 1)


def survival(**wanted):
    times, people = np.arange(12.0, 121, 12), pd.DataFrame(heart_patients(40)[0])
    cox = Cox(PLANTED, times, heart_baseline(times), centre=CENTRE)
    return wf.SurvivalProblem(heart_schema(), cox, people, **wanted), people


def together_on_what_is_carried():
    asked, people = survival(longer=6)
    return act_together(asked.problem, asked.rows(people.head(3)), {asked.problem.schema.names[-1]: 3}, 1.0)


ARGUMENTS = {
    "survival that is no curve": (lambda: Cox({}, [1, 2], "x"), ModelError, "needs a probability for each"),
    "survival of several lengths": (lambda: Cox({}, [1, 2], [[1], [1, 0]]), ModelError, "for each"),
    "levels of a number": (
        lambda: Cox({"age": {"old": 1}}, [1], [1]).form(heart_schema()), ModelError, "'age', a number"
    ),
    "a centre that is none": (lambda: Cox({}, [1], [1], {"age": {"old": 1}}), ModelError, "centre of Cox"),
    "a rate without a length": (lambda: Drift({"a": np.array([[1.0]])}), ProblemError, "has the rate"),
    "times of several lengths": (lambda: Cox({}, [[1], [1, 2]], [1, 0]), ModelError, "finite numbers"),
    "a change of what is carried": (together_on_what_is_carried, DataError, "carried as it is"),
    "weights that are no matrix": (lambda: graph(weights="x"), DataError, "is no matrix of numbers"),
    "names that are none": (lambda: graph(names=None), DataError, "names=None is no list of names"),
    "people that are none": (lambda: graph(people=5), DataError, "people=5 is no list of names"),
    "items that are a text": (lambda: graph(items="a"), DataError, "items='a' is no list of names"),
    "edges' people that are none": (lambda: edges(people=5), DataError, "people=5 is no list of names"),
    "edges' columns in a list": (lambda: edges(source=["source"]), DataError, "have no column"),
    "both_ways that is no switch": (lambda: edges(both_ways="x"), DataError, "neither True nor False"),
    "an end that is empty": (lambda: edges(pd.DataFrame({"source": ["ann", None], "target": ["a", "a"]})), DataError,
                             "Row 1 of the edges lacks an end"),
    "an end that pandas has none of": (
        lambda: edges(pd.DataFrame({"source": pd.array(["ann", pd.NA], "string"), "target": ["a", "a"]})), DataError,
        "Row 1 of the edges lacks an end",
    ),
    "a replacement beyond what is counted": (
        lambda: wf.SeriesProblem(rising, SERIES, favourable=1, replace=10**400), ProblemError, "is not known"
    ),
    "a span beyond what is counted": (
        lambda: wf.ImageProblem(rising, SERIES, favourable=1, span=(0, 10**400)), DataError, "no pair of numbers"
    ),
    "pairs that are none": (lambda: HiddenCauses(0.1, pairs=5), ProblemError, "pairs=5 are none"),
    "a pair of one": (lambda: HiddenCauses(0.1, pairs=[("a",)]), ProblemError, "are none"),
    "pairs of numbers": (lambda: HiddenCauses(0.1, pairs=[(1, 2)]), ProblemError, "are none"),
    "a schema that is none": (
        lambda: wf.SurvivalProblem(None, Cox({}, [1], [1]), [], longer=1), ProblemError, "schema is a NoneType"
    ),
    "channels that are none": (
        lambda: wf.SeriesProblem(rising, SERIES, favourable=1, channels=True), DataError, "channels=\\[?True"
    ),
    "a walk without an end": (
        lambda: wf.RecommenderProblem(graph(), restart=1e-123), ModelError, "restart=1e-123 is no probability"
    ),
    "classes that are none": (
        lambda: wf.SeriesProblem(rising, SERIES, favourable=1, classes=True), ModelError, "classes=True is no list"
    ),
    "units that are an array": (
        lambda: wf.ImageProblem(rising, SERIES, favourable=1, units=np.zeros(0)), ProblemError, "is not known"
    ),
    "a switch that is an array": (
        lambda: survival(longer=6)[0].recommend(survival(longer=6)[1].head(2), strict=np.zeros(0)), MethodError,
        "strict=.* neither True nor False",
    ),
    "pixels of NaN": (
        lambda: pictures(replace=float("nan")), ProblemError, "replace=nan is no value of a pixel, .* 0 to 255"
    ),
    "pixels beyond the span": (lambda: pictures(replace=999), ProblemError, "replace=999 .* from 0 to 255"),
    "pixels below it": (lambda: pictures(replace=np.float32(-1)), ProblemError, "replace=.*-1.* from 0 to 255"),
    "single pixels beyond it": (lambda: pictures(replace=999, units="pixels"), ProblemError, "replace=999"),
    "series of NaN": (
        lambda: wf.SeriesProblem(rising, SERIES, favourable=1, replace=np.nan), ProblemError, "a finite number"
    ),
    "half a row of cells": (lambda: Grid(1.5), ProblemError, "A grid of 1.5 by 4"),
    "rows of a text": (lambda: Grid("a"), ProblemError, "A grid of 'a' by 4"),
    "a kernel of none": (lambda: Quickshift(kernel=0), ProblemError, "kernel=0"),
    "segments that go on": (lambda: Quickshift(distance=np.nan), ProblemError, "distance=nan"),
    "half a stretch": (lambda: Stretches(1.5), ProblemError, "parts=1.5"),
    "cuts that fail": (
        lambda: pictures(units=broken).recommend(BYTES), ProblemError, "units, .* an image of 4 by 4: Value"
    ),
    "a probability of 2": (
        lambda: wf.SeriesProblem(two, SERIES, favourable=1, replace="mean").recommend(SERIES), ModelError,
        "returned 2, which is no probability. Return numbers from 0 to 1",
    ),
    "a problem of one's own": (
        lambda: pictures().recommend(BYTES, problem=1), ProblemError, "problem cannot be given here: .* images"
    ),
    "a problem of survival": (
        lambda: survival(longer=6)[0].recommend(survival(longer=6)[1].head(2), problem=1), ProblemError,
        "problem cannot be given here",
    ),
    "weights whose sum is beyond counting": (
        lambda: graph(weights=PAIR * 1e300), DataError, "from 'ann' to 'ann' has the weight 1e\\+300.*1e-100 to 1e100"
    ),
    "weights of which nothing is left": (lambda: graph(weights=PAIR * 1e-310), DataError, "1e-310"),
    "weights in two parts": (lambda: graph(weights=PAIR * 1j), DataError, "is no matrix of numbers"),
    "an edge of NaN": (
        lambda: edges(many_edges(np.nan), weight="weight"), DataError, "Row 1 of the edges has nan in column 'weight'"
    ),
    "an edge below nothing": (
        lambda: edges(many_edges(-2), weight="weight"), DataError, "Row 1 of the edges has -2 in column 'weight'"
    ),
    "an edge in two parts": (lambda: edges(many_edges(2j), weight="weight"), DataError, "is no number"),
    "edges with a column twice": (lambda: edges(many_edges(1, "target")), DataError, "the column 'target' twice"),
    "too many charts": (lambda: control_charts(10**9), DataError, "Draw fewer"),
    "charts by a seed below 0": (lambda: control_charts(5, seed=-1), DataError, "seed=-1"),
    "machines by a text": (lambda: machines("5"), DataError, "n='5'"),
    "shapes of a text": (lambda: shapes(5, "x"), DataError, "size='x'"),
    "too many shapes": (lambda: shapes(10**9), DataError, "Draw fewer"),
}  # fmt: skip


@pytest.mark.parametrize("what", ARGUMENTS)
def test_a_faulty_argument_is_named(what):
    call, error, message = ARGUMENTS[what]
    with pytest.raises(error, match=message):
        call()


FILES = {
    "line.ts": ("@data\n1,2,3\n", "line 2 has no numbers beside its label"),
    "line.tsv": ("1\n", "line 1 has"),
    "unclosed.arff": ("@data\n'1,2\\n3,4\n", "line 2"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_faulty_file_of_series_is_named(tmp_path, name):
    content, message = FILES[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        read_series(tmp_path / name)


def test_a_file_of_edges_that_is_no_csv_is_named(tmp_path):
    (tmp_path / "edges.csv").write_text(f'source,target\n"{"a" * 200_000}",x\n')
    with pytest.raises(DataError, match="is no CSV"):
        edges(tmp_path / "edges.csv")


def test_names_that_read_like_nothing_are_names():
    told = edges(pd.DataFrame({"source": ["ann", "ann"], "target": ["None", "nan"]}), items=["None", "nan"])
    assert told.items == ("None", "nan") and len(told.actions("ann")) == 2


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_masked_in_a_series_is_a_gap(whole):
    """Whatever lies behind it: the series is not asked about, and others answer as alone."""
    asked = wf.SeriesProblem(rising, SERIES, favourable=1)
    some = SERIES[rising(SERIES) < 0.5][:2]
    masked = np.ma.masked_array(some, mask=np.zeros(some.shape, dtype=bool))
    masked[1, 0, 3] = np.ma.masked
    with pytest.warns(SchemaWarning, match="is nan at time 3"):
        got = asked.recommend(masked if whole else list(masked))
    assert [o.name == "NOT_ASKED" for o in got.recourse.outcome[:, 0]] == [False, True]
    np.testing.assert_array_equal(got.after(0), asked.recommend(some[:1]).after(0))


def test_what_is_masked_in_an_image_is_a_gap():
    asked = wf.ImageProblem(rising, SERIES, favourable=1, span=(-9, 9), units=wf.modalities.image.Grid(2, 3))
    some = SERIES[rising(SERIES) < 0.5][:2]
    masked = np.ma.masked_array(some, mask=np.zeros(some.shape, dtype=bool))
    masked[1, 0, 3] = np.ma.masked
    with pytest.warns(SchemaWarning, match="it has nan at row 0, column 3"):
        assert asked.recommend(masked).recourse.outcome[1, 0].name == "NOT_ASKED"


@pytest.mark.parametrize("value", [np.float32(200), np.int64(200), 200])
def test_a_number_of_numpy_replaces_units_too(value):
    got = pictures(replace=value, units=Grid(2, 2)).recommend(BYTES[bright(BYTES) < 0.5][:1])
    assert got.recourse.found[0, 0] and (got.after(0)[got.mask(0)] == 200).all()


def test_pixels_of_bytes_become_whole_numbers():
    """The model is asked about the image that is returned, which bytes can hold."""
    dark = BYTES[bright(BYTES) < 0.5][:2]
    got = pictures(units="pixels").recommend(dark, "growing-spheres")
    assert got.recourse.found[:, 0].all()
    for i in range(2):
        after = np.asarray(got.after(i))
        assert (after % 1 == 0).all() and (after != dark[i]).any()
        np.testing.assert_allclose(got.recourse.score[i, 0], bright(after[None])[0])
