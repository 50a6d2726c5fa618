"""The schema: what it infers, what it refuses and how it says so, what it writes and reads back."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward.errors import DataError, FileFormatError, RuleError, SchemaError
from wayforward.schema import Feature, Schema, SchemaWarning, decode_column

pd = pytest.importorskip("pandas")


def table():
    return pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "pay": [1.25, 2.5, 3.0, 1.0],
            "rate": [0.123456789, 0.2, 0.3, 0.4],
            "school": pd.Categorical(
                ["low", "high", "low", "mid"], categories=["low", "mid", "high"], ordered=True
            ),
            "job": ["a", "b", "c", "a"],
            "own": [True, False, True, True],
            "kids": [1.0, None, 2.0, 5.0],
            "flag": [0, 1, 0, 0],
        }
    )


def small(**changes):
    schema = Schema(
        (
            Feature(name="age", kind="integer", low=18, high=90, unit="years"),
            Feature(name="pay", kind="real", low=0, high=10, step=0.5),
            Feature(name="job", kind="categorical", levels=("a", "b", "c")),
        )
    )
    return schema.revise(**changes) if changes else schema


def convert(frame, library):
    if library == "pandas":
        return frame
    if library == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_infer_reads_every_kind_off_any_table_library(library):
    frame = table().astype({"school": str}) if library != "pandas" else table()
    schema = Schema.infer(convert(frame, library))
    kinds = {f.name: f.kind for f in schema.features}
    assert kinds["age"] == "integer" and kinds["pay"] == "real" and kinds["job"] == "categorical"
    assert kinds["own"] == "binary" and kinds["flag"] == "binary" and kinds["kids"] == "integer"
    assert kinds["school"] == ("ordinal" if library == "pandas" else "categorical")
    assert schema["kids"].missing and not schema["age"].missing
    assert schema["pay"].step == 0.01 and schema["rate"].step is None
    assert (schema["age"].low, schema["age"].high, schema["age"].bounds) == (20, 50, "observed")


@pytest.mark.parametrize(("scale", "step"), [(1e-12, None), (1e-8, None), (1.0, 0.01)])
def test_a_step_is_no_longer_than_where_people_stand(scale, step):
    """Numbers next to zero were all taken for multiples of .1, so that nothing else could be reached: "proved"."""
    values = np.round(np.random.default_rng(0).normal(size=50), 2)
    assert Schema.infer(pd.DataFrame({"a": values * scale})).features[0].step == step
    assert Schema.infer(pd.DataFrame({"a": 3.5 + values * scale})).features[0].step == step
    assert Schema.infer(pd.DataFrame({"a": [0.5] * 9})).features[0].step == 0.1


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_encode_and_decode_are_inverse(library):
    native = convert(table().astype({"school": str}), library)
    schema = Schema.infer(native)
    x = schema.encode(native)
    again = schema.decode(x, like=native)
    assert type(again) is type(native)
    np.testing.assert_array_equal(schema.encode(again), x)
    assert np.isnan(x[1, schema.index("kids")])


def test_one_mapping_is_one_person():
    assert small().encode({"age": 30, "pay": 2.5, "job": "b"}).tolist() == [[30.0, 2.5, 1.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"age": None}, "has no column 'age'"),
        ({"age": ["x", 1]}, "Column 'age' of the people table has 'x' in row 0; it must be a number (years)"),
        ({"age": [30, np.nan]}, "missing value in row 1"),
        ({"age": [30, np.inf]}, "infinite value in row 1"),
        ({"age": [30, 999]}, "has the value 999 in row 1, outside 18 to 90 years"),
        (
            {"job": ["a", "aa"]},
            "has the value 'aa' in row 1, which is not one of its levels ('a', 'b', 'c'). Did you mean 'a'?",
        ),
        ({"job": ["a", None]}, "missing value in row 1"),
    ],
)
def test_bad_tables_are_refused_by_name_value_and_next_step(change, words):
    columns = {"age": [30, 40], "pay": [1.0, 2.0], "job": ["a", "b"], **change}
    frame = pd.DataFrame({k: v for k, v in columns.items() if v is not None})
    with pytest.raises(DataError) as error:
        small().encode(frame)
    assert words in str(error.value)


def test_a_misspelled_column_gets_the_nearest_name():
    with pytest.raises(DataError, match="Did you mean 'agee'"):
        small().encode(pd.DataFrame({"agee": [30], "pay": [1.0], "job": ["a"]}))


def test_empty_tables_and_other_things_are_refused():
    with pytest.raises(DataError, match="has no rows"):
        small().encode(pd.DataFrame({"age": [], "pay": [], "job": []}))
    with pytest.raises(DataError, match="no rows, so no schema"):
        Schema.infer(table().iloc[:0])
    with pytest.raises(DataError, match="Give a pandas, polars or pyarrow table"):
        small().encode(42)
    with pytest.raises(DataError, match="'a' 2 times|twice"):
        Schema.infer(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_without_a_text_name_are_refused():
    with pytest.raises(DataError, match="a column named 1.5.*rename"):
        Schema.infer(pd.DataFrame([[1, 2], [3, 4]], columns=[1.5, "b"]))


def test_arrays_are_checked_like_tables():
    with pytest.raises(DataError, match=r"must be \(n, 3\)"):
        small().encode(np.zeros((2, 2)))
    with pytest.raises(DataError, match="a level index must be a whole number from 0 to 2"):
        small().encode(np.array([[30, 1, 3.0]]))


def test_observed_bounds_widen_with_a_warning_and_declared_ones_refuse():
    schema = Schema.infer(table()[["age", "pay"]])
    with pytest.warns(SchemaWarning, match="outside what was observed"):
        schema.encode(pd.DataFrame({"age": [60], "pay": [2.0]}))
    with pytest.warns(SchemaWarning, match="far outside: check the unit"):
        np.testing.assert_array_equal(schema.encode(pd.DataFrame({"age": [600], "pay": [2.0]})), [[600, 2]])
    with pytest.raises(DataError, match="outside 20 to 55"):  # declared now
        schema.revise(age={"high": 55}).encode(pd.DataFrame({"age": [60], "pay": [2.0]}))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "integr"}, "Did you mean 'integer'?"),
        ({"kind": "integer", "low": 5, "high": 1}, "low=5 above high=1"),
        ({"kind": "integer", "low": 0.5}, "whole number"),
        ({"kind": "real", "step": -1}, "A step is above zero"),
        ({"kind": "real", "low": float("nan")}, "Leave it out"),
        ({"kind": "real", "levels": (1, 2)}, "lists levels"),
        ({"kind": "binary", "levels": (1, 2, 3)}, "exactly two"),
        ({"kind": "ordinal"}, "has no levels"),
        ({"kind": "categorical", "levels": ("a", "a")}, "twice"),
        ({"kind": "categorical", "levels": ("a", "b"), "direction": "increase"}, "no order"),
        ({"kind": "ordinal", "levels": ("a", "b"), "level_labels": ("A",)}, "one label for each level"),
        ({"kind": "real", "actionability": "never"}, "must be one of actionable, mutable, immutable"),
        ({"kind": "real", "low": "ten"}, "not a number"),
    ],
)
def test_a_feature_checks_itself(fields, words):
    with pytest.raises(SchemaError) as error:
        Feature(name="f", **fields)
    assert words in str(error.value) and "'f'" in str(error.value)


def test_revise_names_the_nearest_feature_and_field():
    with pytest.raises(SchemaError, match="Did you mean 'age'"):
        small(agee={"low": 3})
    with pytest.raises(SchemaError, match="Did you mean 'low'"):
        small(age={"lo": 3})
    with pytest.raises(SchemaError, match="needs its levels"):
        small(age={"kind": "ordinal"})
    got = small(age={"kind": "ordinal", "levels": ["young", "old"], "direction": "increase"})
    assert got["age"].n_levels == 2 and got.direction.tolist() == [1, 0, 0]
    assert small().revise({"pay": {"high": 20}})["pay"].high == 20


def test_rules_point_into_their_text():
    with pytest.raises(RuleError) as error:
        small().with_rules("after.agee >= before.age")
    assert "Did you mean 'age'" in str(error.value) and "^" in str(error.value)
    with pytest.raises(RuleError, match="contradict"):
        small().with_rules("after.age > 50", "after.age < 40")
    with pytest.raises(SchemaError, match="one text"):
        Schema(small().features, "after.age > 3")


def test_yaml_both_ways_and_plain_data():
    schema = small(age={"actionability": "immutable", "label": "Alter", "sensitive": True}).with_rules(
        "after.pay >= before.pay"
    )
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert json.loads(json.dumps(Schema.json_schema()))["$defs"]["Feature"]["properties"]["low"][
        "description"
    ]


def test_yaml_files(tmp_path):
    path = tmp_path / "schema.yaml"
    small().to_yaml(path)
    assert Schema.from_yaml(path) == small()
    with pytest.raises(FileFormatError, match="cannot be read"):
        Schema.from_yaml(tmp_path / "none.yaml")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not a text file"):
        Schema.from_yaml(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("features: [\n", "no valid YAML in line"),
        ("features: &a [*a]\nrules: []\n", "alias in line 1"),
        ("features:\n - !!python/object/apply:os.system ['true']\n", "no valid YAML"),
        ("features:\n - {name: a, kind: real, name: b}\n", "'name' twice"),
        ("features:\n - {name: a, kind: real, lo: 1}\n", "lo"),
        ("features:\n - {name: a, kind: integer, low: much}\n", "feature 'a': low"),
        ("fields:\n - 3\n", "has no 'features'"),
        ("features: 3\nrules: []\n", "must be a list"),
        ("features: []\n", "at least one feature"),
        ("features:\n - {name: a, kind: real}\nrules: {a: 1}\n", "list of texts"),
        ("features:\n" + "[" * 3000 + "\n", "no valid YAML"),
        ("features:\n" + "[" * 100_000, "no valid YAML"),
        ("features:\n" + "[" * 100_000 + "]" * 100_000, "no valid YAML"),
        ("features:\n {a: " + "{a: " * 100_000, "no valid YAML"),
        ("features:\n" + "- " * 100_000, "no valid YAML"),
        ("features:\n" + "? " * 100_000, "no valid YAML"),
    ],
)
def test_broken_and_hostile_yaml_is_refused(text, words):
    with pytest.raises((SchemaError, FileFormatError), match=words):
        Schema.from_yaml(text)


def test_snap_lands_on_the_lattice_and_inside():
    schema = Schema(
        (
            Feature(name="a", kind="real", low=1, high=9.9, step=2),
            Feature(name="b", kind="real", low=0, high=1, step=0.1),
            Feature(name="c", kind="real", low=-1.5, high=1.5),
            Feature(name="d", kind="integer", low=-3, high=7, step=5),
        )
    )
    got = schema.snap(np.array([[9.8, 0.30000000000000004, 7.0, 6.9]]))
    assert got.tolist() == [[9.0, 0.3, 1.5, 7.0]]
    assert schema.legal(got).all()
    assert schema.legal(np.array([[2.0, 0.35, 2.0, 3.0]])).tolist() == [[False] * 4]
    assert schema.legal(np.array([[2.0, 0.3, 2.0, 2.0]]), np.array([[2.0, 0.0, 2.0, 0.0]])).tolist() == [
        [True, True, True, True]
    ]


@given(
    low=st.floats(-1e4, 1e4),
    span=st.floats(0.01, 1e4),
    step=st.one_of(st.none(), st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0, 3.0, 50.0])),
    value=st.floats(-1e6, 1e6),
)
def test_what_snap_returns_is_legal_and_nearest(low, span, step, value):
    feature = Feature(name="f", kind="real", low=low, high=low + span, step=step)
    schema = Schema((feature,))
    got = schema.snap(np.array([[value]]))
    assert schema.legal(got).all()
    np.testing.assert_array_equal(schema.snap(got), got)
    if step is not None and span > 2 * step:
        inside = np.clip(value, low, low + span)
        assert abs(got[0, 0] - inside) <= step * (1 + 1e-9) + 1e-9 * span


def test_encoding_does_not_depend_on_the_type_of_numbers():
    schema = Schema((Feature(name="f", kind="ordinal", levels=(1, 2, 3)),))
    for column in ([1, 2], [1.0, 2.0], np.array([1, 2], dtype=np.int8)):
        assert schema.encode(pd.DataFrame({"f": column})).ravel().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "text", ["features:\n- name: 2020-99-99\n  kind: real\n", "features: " + "9" * 5000 + "\n"]
)
def test_yaml_values_that_spell_nothing_are_one_clear_error(text):
    with pytest.raises(FileFormatError, match="cannot be read"):
        Schema.from_yaml(text)


def test_a_mapping_with_very_many_keys_is_read_in_linear_time():
    from wayforward.plain_files import parse_yaml

    started = time.process_time()
    parse_yaml("".join(f"k{i}: 1\n" for i in range(20_000)), "file")
    assert time.process_time() - started < 20


def test_a_schema_is_made_written_and_read_in_work_that_grows_with_its_features():
    """Lines of Python that are run, which no busy machine changes: twice the features, about twice the lines."""
    lines = dict.fromkeys((100, 200), 0)
    for n in lines:

        def count(*_, n=n):
            lines[n] += 1
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            many = Schema(tuple(Feature(name=f"f{i}", kind="integer", low=0, high=i + 1) for i in range(n)))
            again = Schema.from_yaml(many.to_yaml())
        finally:
            sys.settrace(before)
        assert again == many
    assert lines[200] < 2.2 * lines[100]


def test_a_bound_too_large_for_a_number_is_refused():
    with pytest.raises(SchemaError, match="huge"):
        Feature(name="a", kind="integer", low=0, high=10**400)


MIXED = Schema(
    (
        Feature(name="age", kind="integer", low=18, high=90, missing=True),
        Feature(name="pay", kind="real", low=0, high=10, missing=True),
        Feature(name="job", kind="categorical", levels=("a", "b", "c"), missing=True),
        Feature(name="flag", kind="binary", levels=(0, 1), missing=True),
        Feature(name="own", kind="binary", levels=(False, True), missing=True),
        Feature(name="grade", kind="ordinal", levels=(10, 20, 30)),
        Feature(name="town", kind="categorical", levels=("x", "y")),
        Feature(name="code", kind="categorical", levels=("A", 1)),
    )
)


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 600])
def test_tables_of_blocks_are_those_of_one_column_after_the_other(n, missing):
    """Types of columns included, also where a column is missing as a whole, and whatever was written to another one."""
    rng = np.random.default_rng(n)
    high = np.where(MIXED.has_levels, MIXED.n_levels - 1, MIXED.high)
    x = np.round(MIXED.low + rng.random((n, MIXED.d)) * (high - MIXED.low))
    x[:, 1] = rng.random(n)
    x[(rng.random(x.shape) < missing) & MIXED.missing] = np.nan
    x[:, 6] = 1.0  # one text in all rows
    columns = {f.name: decode_column(x[:, j], f) for j, f in enumerate(MIXED.features)}
    for _ in range(2):
        got = MIXED.decode(x, like="pandas")
        pd.testing.assert_frame_equal(got, pd.DataFrame(columns), check_column_type=True)
        before = Schema(MIXED.features)
        vars(before)["_pandas_tables"] = None  # as before version 3 of pandas
        pd.testing.assert_frame_equal(got, before.decode(x, like="pandas"), check_column_type=True)
        got.loc[0, "town"] = "x"
        got.loc[0, "grade"] = 20
    np.testing.assert_array_equal(MIXED.encode(MIXED.decode(x)), x)


@pytest.mark.parametrize(
    "kinds", [{}, {"kids": "Int64", "job": "category", "own": "boolean"}, {"job": object}]
)
def test_few_rows_are_read_as_many_are(kinds):
    """A table of few rows is read row by row, whatever types pandas has for its columns."""
    frame = table().astype({"school": str})
    schema = Schema.infer(frame)
    frame.loc[1, "kids"] = None
    many = pd.concat([frame.astype(kinds)] * 5, ignore_index=True)
    numbers = many[["age", "pay", "rate"]]
    for some, of in ((many, schema), (numbers, schema.drop("school", "job", "own", "kids", "flag"))):
        x = of.encode(some)
        for n in (1, 2, 8):
            np.testing.assert_array_equal(of.encode(some.iloc[:n]), x[:n])


def test_one_odd_cell_in_a_file_makes_texts_of_a_column_and_stops_nobody_else(tmp_path):
    """What spells a number or a level is read as one; an odd cell is its row's fault alone."""
    pd = pytest.importorskip("pandas")
    schema = Schema(
        (
            Feature(name="rent", kind="integer", low=0, high=900),
            Feature(name="late", kind="binary", levels=(False, True)),
            Feature(name="grade", kind="ordinal", levels=(1, 2, 3)),
        )
    )
    file = tmp_path / "people.csv"
    file.write_text("rent,late,grade\n690,False,1\nmuch,True,2\n1e2,maybe,2\n 8.0 ,True,x\n70,True,3\n")
    table = pd.read_csv(file)
    x, odd = schema.read(table)
    assert sorted(odd) == [1, 2, 3] and "'much'" in odd[1] and "'maybe'" in odd[2] and "'x'" in odd[3]
    np.testing.assert_array_equal(x[[0, 4]], [[690, 0, 0], [70, 1, 2]])
    assert x[2, 0] == 100 and x[3, 0] == 8
    for text in ("nan", "inf", "1_000", "0x1", "1,000", "", "٣"):
        with pytest.raises(DataError, match="must be a number"):
            schema.encode({"rent": [text], "late": [True], "grade": [1]})
