"""People keep their names: the index, an id column, and the columns and types of the table they came in."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def schema():
    return wf.Schema(
        (
            wf.Feature(name="age", kind="integer", low=18, high=90, actionability="immutable"),
            wf.Feature(name="pay", kind="integer", low=0, high=9000, direction="increase"),
            wf.Feature(name="rate", kind="real", low=0, high=1, actionability="immutable"),
            wf.Feature(name="job", kind="categorical", levels=("clerk", "cook", "coach")),
        )
    )


@pytest.fixture(scope="module")
def problem(schema):
    model = wf.wrap(lambda x: 1 / (1 + np.exp(4 - x[:, 1] / 1000 - (x[:, 3] == 2))), schema)
    return wf.Problem(schema, model, wf.Target(favourable=1))


@pytest.fixture
def people():
    return pd.DataFrame(
        {
            "customer": ["c7", "c3", "c3", "c9"],
            "job": pd.Categorical(
                ["cook", "clerk", "cook", "coach"], ["clerk", "cook", "coach"], ordered=False
            ),
            "pay": np.array([1500, 2500, 800, 8000], dtype="int32"),
            "age": pd.array([30, 40, 50, 60], dtype="Int64"),
            "rate": np.array([0.125, 0.5, 0.25, 1.0], dtype="float32"),
        }
    )


@pytest.mark.filterwarnings("ignore:The schema does not know")
@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.Index(["x", "y", "y", "z"]), ["index"]),
        (pd.Index([9, 9, 9, 9], name="case"), ["case"]),
        (
            pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 1)], names=["shop", None]),
            ["shop", "index_1"],
        ),
    ],
)
def test_an_index_is_kept_in_tables_slices_and_files(problem, people, index, names, tmp_path):
    got = wf.recommend(problem, people.set_index(index), k=2)
    frame = got.to_frame("pandas")
    assert list(frame.columns[: 1 + len(names)]) == ["person", *names]
    for level, name in enumerate(names):
        want = np.repeat(index.get_level_values(level).to_list(), 2).tolist()
        assert frame[name].tolist() == want
        for ending in ("json", "parquet"):
            back = wf.Recourse.load(got.save(tmp_path / f"got.{ending}"))
            assert back.to_frame("pandas")[name].tolist() == want
            assert back[np.array([2, 0])].origin.values[level].tolist() == [want[4], want[0]]
    after = got.people_after()
    assert after.index.equals(index) and list(after.columns) == list(people.columns)


@pytest.mark.filterwarnings("ignore:The schema does not know")
@pytest.mark.parametrize("key", ["2024-01-03", "2024-01-03 00:00:00", np.datetime64("2024-01-03"), "day"])
def test_people_named_by_days_are_found_by_the_day(problem, people, key, tmp_path):
    days = pd.date_range("2024-01-01", periods=4, name="came")
    got = wf.recommend(problem, people.set_index(days), k=1)
    key = days[2] if key == "day" else key
    assert got.find(key).tolist() == [2] and got.explain(id=key) == got.explain(2)
    for ending in ("json", "parquet"):
        assert wf.Recourse.load(got.save(tmp_path / f"got.{ending}")).find("2024-01-03").tolist() == [2]
    with pytest.raises(DataError, match="Nobody is called"):
        got.find("2024-01-09")


def test_a_table_with_columns_of_two_levels_says_how_to_name_them(problem, people):
    plain, table = people.copy(), people.copy()
    table.columns = pd.MultiIndex.from_product([list(people.columns), ["now"]])
    with pytest.raises(DataError, match="not a text") as refused:
        wf.recommend(problem, table)
    exec(str(refused.value).partition("for example with ")[2].removesuffix("."), {"table": table})
    assert list(table.columns) == [f"{name} now" for name in plain.columns]


def test_people_are_named_by_a_column_and_explained_by_name(problem, people, tmp_path):
    got = wf.recommend(problem, people, id="customer")
    assert got.to_frame("pandas")["customer"].tolist() == people["customer"].tolist()
    assert got.explain(id="c7") == got.explain(0) and got.find("c3").tolist() == [1, 2]
    assert wf.Recourse.load(got.save(tmp_path / "got.json")).find("c9").tolist() == [3]
    with pytest.raises(
        DataError, match=r"2 people are called 'c3': positions 1, 2.*explain\(1\), or --person 1"
    ):
        got.explain(id="c3")
    with pytest.raises(DataError, match="Nobody is called 'c4'"):
        got.explain(id="c4")
    with pytest.raises(DataError, match="a position, explain"):
        got.explain()
    with pytest.raises(DataError, match="no column 'custmer'.*Did you mean 'customer'"):
        wf.recommend(problem, people, id="custmer")
    with pytest.raises(DataError, match="Name the column"):
        wf.recommend(problem, people.drop(columns="customer")).find("c7")


@pytest.mark.filterwarnings("ignore:The schema does not know")
@pytest.mark.parametrize("like", ["pandas", "polars", "pyarrow"])
def test_people_after_are_the_table_with_what_changed(problem, people, like):
    """Columns, order and types; a cell that no option changes has the bits that it had, an unread one too."""
    table = people
    if like == "polars":
        table = pytest.importorskip("polars").from_pandas(people)
    elif like == "pyarrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(people)
    got = wf.recommend(problem, table)
    after = got.people_after()
    assert type(after) is type(table)
    if like == "pandas":
        assert after.dtypes.to_list() == people.dtypes.to_list()
    else:
        assert after.schema == table.schema
        after = after.to_pandas()
    np.testing.assert_array_equal(
        problem.schema.encode(after[list(problem.schema.names)]),
        np.where(got.rounded.changed[:, 0], got.rounded.after[:, 0], got.x),
    )
    for name in ("customer", "rate"):
        assert after[name].tolist() == people[name].tolist()
    assert after.iloc[3].tolist() == people.iloc[3].tolist()  # accepted already
    assert problem.reached(problem.schema.encode(after[list(problem.schema.names)]))[0].all()


def test_rows_that_could_not_be_read_stay_as_they_came(problem, people):
    odd = people.drop(columns="customer").assign(age=[30, 40, 7, 60])
    with pytest.warns(UserWarning, match="could not be read"):
        got = wf.recommend(problem, odd[1:])
    assert got.people_after().iloc[1].tolist() == odd.iloc[2].tolist()
    assert got.origin.values[0].tolist() == [1, 2, 3] and got[1:].people_after().index.tolist() == [2, 3]


def test_a_limit_from_where_people_stand_is_read_off_a_table_with_odd_rows(problem, people):
    odd = people.drop(columns="customer").assign(job=["cook", "pilot", "cook", "coach"])
    wishes = wf.Preferences.none(problem.schema, 4).limit("pay", high="+10%", x=odd)
    assert wishes.high[[0, 2, 3], 1].tolist() == pytest.approx([1650, 880, 8800])
    with pytest.warns(UserWarning, match="1 of 4 people could not be read"):
        got = wf.recommend(problem, odd, preferences=wishes)
    assert got.readable.tolist() == [True, False, True, True]


def test_people_after_of_arrays_and_files_are_decoded(problem, people, tmp_path):
    x = problem.schema.encode(people)
    for got in (
        wf.recommend(problem, x),
        wf.Recourse.load(wf.recommend(problem, x).save(tmp_path / "got.json")),
    ):
        assert problem.reached(problem.schema.encode(got.people_after()))[0].all() and got.origin is None
    with pytest.raises(DataError, match="There is no option 1"):
        got.people_after(1)


def test_kinds_of_options_keep_odd_rows_and_names_too(problem, people):
    with pytest.warns(UserWarning, match="1 of 4 people could not be read"):
        got = wf.recommend(
            problem, people.assign(age=[30, 7, 50, 60]), id="customer", kinds=("cheapest", "fewest")
        )
    assert got.readable.tolist() == [True, False, True, True] and got.find("c9").tolist() == [3]
    assert got.found[:, 0].tolist() == [True, False, True, False] and (got.kind[1] == "").all()


@pytest.mark.parametrize("like", ["pandas", "polars", "pyarrow"])
def test_a_plan_may_lead_to_what_the_type_of_a_column_does_not_hold(problem, people, like):
    """A batch of people knows fewer levels, and smaller numbers, than plans lead to; nothing is lost on the way."""
    few = people.drop(columns="customer").iloc[[1, 2]].reset_index(drop=True)
    few["job"] = few["job"].cat.remove_unused_categories()
    few = few.assign(pay=np.array([100, 120], dtype="int8"))
    if like == "polars":
        pl = pytest.importorskip("polars")
        few = pl.from_pandas(few).with_columns(pl.col("job").cast(pl.Enum(["clerk", "cook"])))
    elif like == "pyarrow":
        few = pytest.importorskip("pyarrow").Table.from_pandas(few)
    wishes = wf.Preferences.none(problem.schema, 2).limit("pay", high=3500)
    got = wf.recommend(problem, few, preferences=wishes)
    assert (got.rounded.after[:, 0, 3] == 2).all()  # coach, whom the batch does not have
    np.testing.assert_array_equal(problem.schema.encode(got.people_after()), got.rounded.after[:, 0])


def test_a_row_comes_back_with_the_types_of_the_table_that_the_problem_knows(schema, people):
    """A row of mixed types has none of its own; a booster that was fitted on categories needs them."""
    table = people.drop(columns="customer")
    problem = wf.Problem(schema, lambda x: x[:, 1] / 9000, wf.Target(favourable=1), data=table)
    after = wf.recommend(problem, table.iloc[1]).people_after()
    assert after.dtypes.to_dict() == table.dtypes.to_dict()
