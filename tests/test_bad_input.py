"""What people get wrong, end to end: each is told what is wrong, where, and what to do next. Nobody is lost."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import (
    DataError,
    FileFormatError,
    MethodError,
    ModelError,
    PreferencesError,
    ProblemError,
    RuleError,
    SchemaError,
    WayforwardError,
)
from wayforward.groups import Groups
from wayforward.recourse import Outcome
from wayforward.schema import SchemaWarning

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def train():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "income": rng.integers(500, 9000, 300),
            "job": rng.choice(["clerk", "cook", "coach"], 300),
        }
    )
    frame["y"] = (frame["income"] + 20 * frame["age"] + 900 * (frame["job"] == "coach") > 6000).astype(int)
    return frame


@pytest.fixture(scope="module")
def schema(train):
    schema = wf.Schema.infer(train.drop(columns="y"))
    return schema.revise(
        age={"actionability": "immutable", "low": 18, "high": 80}, income={"direction": "increase"}
    )


@pytest.fixture(scope="module")
def pipeline(train, schema):
    from wayforward.model import train as fit

    return fit("lr", schema, train.drop(columns="y"), train["y"])


@pytest.fixture(scope="module")
def problem(schema, pipeline, train):
    return wf.Problem(schema, pipeline, wf.Target(favourable=1), data=train)


@pytest.fixture
def people(train):
    return train[train["y"] == 0].drop(columns="y").head(8)


def said(error, *words):
    text = str(error.value)
    for word in words:
        assert word in text, f"{word!r} not in {text!r}"


def test_unknown_column_is_named_and_left_out(problem, people):
    with pytest.warns(SchemaWarning, match="'shoe_size'"):
        got = wf.recommend(problem, people.assign(shoe_size=42))
    assert got.n == len(people)


def test_unknown_column_in_a_revision(schema):
    with pytest.raises(SchemaError) as error:
        schema.revise(incme={"high": 3})
    said(error, "'incme'", "Did you mean 'income'")


def test_missing_column(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.drop(columns="income"))
    said(error, "no column 'income'", "Add the column")


def test_wrong_type(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.assign(income="a lot"), strict=True)
    said(error, "'income'", "'a lot'", "must be a number")


def test_value_outside_the_schema(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.assign(age=17), strict=True)
    said(error, "'age'", "17", "outside 18 to 80", "Correct the value")


def test_unseen_category(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.assign(job="cok"), strict=True)
    said(error, "'job'", "'cok'", "Did you mean 'cook'")


def test_missing_value(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.assign(income=np.nan), strict=True)
    said(error, "'income'", "missing value in row 0", "Fill it in")


def test_infinite_value(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.assign(income=np.inf), strict=True)
    said(error, "'income'", "infinite value in row 0")


ODD = {
    "income": [("a lot", "must be a number"), (np.nan, "missing value"), (np.inf, "infinite")],
    "age": [(17, "outside 18 to 80"), (None, "missing value")],
    "job": [("cok", "Did you mean 'cook'"), (None, "missing value")],
}


@pytest.mark.parametrize("like", ["pandas", "polars", "pyarrow", "dict"])
@pytest.mark.parametrize(
    ("column", "value", "words"), [(c, *case) for c, cases in ODD.items() for case in cases]
)
def test_an_odd_row_stops_nobody_else(problem, people, column, value, words, like):
    """n in, n out: the row is kept with its reason, and the others have the answers that they have without it."""
    cells = people.astype({column: object}).to_dict("list")
    cells[column][3] = value
    if like in ("polars", "pyarrow") and any(isinstance(v, str) for v in cells[column]) and column != "job":
        pytest.skip("a column of several types is no column there")
    if like == "polars":
        cells = pytest.importorskip("polars").DataFrame(cells, strict=False)
    elif like == "pyarrow":
        cells = pytest.importorskip("pyarrow").table(cells)
    elif like == "pandas":
        cells = pd.DataFrame(cells)
    with pytest.warns(SchemaWarning, match="1 of 8 people could not be read"):
        got = wf.recommend(problem, cells, k=2)
    assert (
        got.n == 8
        and got.outcomes()["NOT_ASKED"] == 1
        and got.readable.tolist() == [i != 3 for i in range(8)]
    )
    assert column in got.reasons[3] and words in got.reasons[3] and "row" not in got.reasons[3]
    assert np.isnan(got.x[3, problem.schema.index(column)]) and np.isinf(got.cost[3]).all()
    others = np.delete(np.arange(8), 3)
    alone = wf.recommend(problem, people.iloc[others], k=2)
    for name in ("x", "action", "after", "cost", "score", "score_before", "plain_cost"):
        np.testing.assert_array_equal(getattr(got[others], name), getattr(alone, name))
    assert (got[others].outcome == alone.outcome).all()


def no_utf8(texts, at):
    """An Arrow array of texts, of which one is no UTF-8, as Parquet files of other programs hold them."""
    pa = pytest.importorskip("pyarrow")
    raw = pa.array([b"\xff\xfe" if i == at else text.encode() for i, text in enumerate(texts)], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def test_a_text_that_is_no_utf8_stops_nobody_else(problem, people, tmp_path):
    """In a table in memory, in a file, among labels of groups, and where a schema is inferred."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cells = people.to_dict("list")
    for column in (no_utf8(cells["job"], 3), no_utf8(cells["job"], 3).dictionary_encode()):
        table = pa.table(cells | {"job": column})
        with pytest.warns(SchemaWarning, match="1 of 8 people could not be read"):
            got = wf.recommend(problem, table)
        assert got.readable.tolist() == [i != 3 for i in range(8)] and "job" in got.reasons[3]
    pq.write_table(pa.table(cells | {"job": no_utf8(cells["job"], 3)}), tmp_path / "people.parquet")
    answers = wf.recommend_table(problem, tmp_path / "people.parquet", tmp_path / "out")
    assert [one["person"] for one in answers.problems()] == [3]
    assert "\ufffd" in "".join(wf.Schema.infer(table)["job"].levels)
    assert Groups.of("job", no_utf8(cells["job"], 3)).n_groups >= 2


def test_odd_rows_only_are_all_kept(problem, people):
    with pytest.warns(
        SchemaWarning, match="8 of 8 people could not be read.* Row 0: .* Row 2: .* 5 more: see"
    ):
        got = wf.recommend(problem, people.assign(age=3), k=2)
    assert (got.outcome == Outcome.NOT_ASKED).all() and all("outside 18 to 80" in why for why in got.reasons)
    with pytest.raises(DataError, match="None of these people could be read"):
        wf.evaluate(got, problem)


def test_a_faulty_table_or_argument_still_raises(problem, people):
    for wrong in (people.drop(columns="age"), people.iloc[:0], np.zeros((3, 2)), "people.csv", 3):
        with pytest.raises(WayforwardError):
            wf.recommend(problem, wrong)
    with pytest.raises(PreferencesError):
        wf.recommend(problem, people.assign(age=3), preferences=wf.Preferences.none(problem.schema, 3))


def test_an_odd_row_is_kept_by_files_tables_letters_and_rates(problem, people, tmp_path):
    odd = people.astype({"income": object})
    odd.iloc[2, odd.columns.get_loc("income")] = "lots"
    with pytest.warns(SchemaWarning, match="could not be read"):
        got = wf.recommend(problem, odd, preferences=wf.Preferences.none(problem.schema, 8))
    for ending in ("json", "parquet"):
        back = wf.Recourse.load(got.save(tmp_path / f"got.{ending}"))
        assert (back.outcome == got.outcome).all() and back.reasons.tolist() == got.reasons.tolist()
        np.testing.assert_array_equal(back.x, got.x)
    frame = got.to_frame("pandas")
    assert (
        frame["outcome"].tolist() == [o.name for o in got.outcome.ravel()] and "'lots'" in frame["reason"][2]
    )
    from wayforward.answers import letter, plans_table

    for text in (letter(problem, got, 2), got.explain(2), plans_table(got)[2]["plan"]):
        assert "could not be read" in text and "check your income" in text and "lots" not in text
    judged, without = wf.evaluate(got, problem, groups="job"), wf.evaluate(got[got.readable], problem)
    found, refused = int((judged.outcome == Outcome.FOUND).sum()), int(without.refused.sum())
    assert judged["usable"].value == found / (refused + 1) and judged["usable_read"].value == found / refused
    assert judged["not_asked"].value == 1 / 8 and judged.outcomes["NOT_ASKED"] == 1 and judged.refuted == 0
    rows = {(r["group"], r["metric"]): r for r in judged.by_group()}
    assert sum(r["n"] for (_, metric), r in rows.items() if metric == "usable") == refused + 1
    assert judged["cost"].value == without["cost"].value
    assert judged.to_dict()["not_asked"] == 1 and any("could not be read" in note for note in judged.notes)


def test_an_audit_counts_who_could_not_be_read(problem, train):
    from wayforward.groups import Groups
    from wayforward.impact.audit import audit

    everybody = train.drop(columns="y")
    odd = everybody.assign(age=np.where(np.arange(300) % 60 == 0, 3, everybody["age"]))
    groups = Groups.of("job", everybody["job"])
    quick = {"beside": None, "society": False, "summaries": (), "lasting_of": 0}
    got = audit(problem, odd, groups, **quick)
    rest = np.flatnonzero(np.arange(300) % 60 != 0)
    want = audit(problem, everybody.iloc[rest], groups.take(rest), **quick)
    assert (got.n, got.refused, got.unread.count, got.unread.columns) == (295, want.refused, 5, {"age": 5})
    assert got.overall.figures == want.overall.figures
    assert any("5 people could not be read" in note for note in got.notes)
    assert got.to_dict()["unread"]["people"] == 5


def test_empty_table(problem, people):
    with pytest.raises(DataError) as error:
        wf.recommend(problem, people.iloc[:0])
    said(error, "people table has no rows", "at least one person")


def test_single_class_data(schema, train):
    from wayforward.model import train as fit

    with pytest.raises(WayforwardError) as error:
        fit("lr", schema, train.drop(columns="y"), np.ones(len(train)))
    said(error, "All 300 labels are 1", "at least two outcomes")


def test_nobody_in_the_data_is_accepted(schema, pipeline, train, people):
    only = train[train["y"] == 0]
    poor = only[only["income"] < 2000]
    problem = wf.Problem(schema, pipeline, wf.Target(favourable=1), data=poor)
    with pytest.raises(ProblemError) as error:
        wf.recommend(problem, people, method="nice")
    said(error, "accepts nobody in the table", "Check the target")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda frame: np.zeros((len(frame), 3)), "3"),
        (lambda frame: np.zeros(3), "3"),
        (lambda frame: np.full(len(frame), np.nan), "nan"),
        (lambda frame: ["yes"] * len(frame), "yes"),
    ],
)
def test_a_model_that_returns_nonsense(schema, people, answer, word):
    with pytest.raises(ModelError) as error:
        it = wf.Problem(schema, wf.wrap(answer, schema, classes=(0, 1)), wf.Target(favourable=1))
        wf.recommend(it, people)
    said(error, word)


def test_everybody_is_accepted_already(problem, train):
    rich = train.drop(columns="y").assign(income=8900, age=80, job="coach").head(3)
    with pytest.warns(SchemaWarning, match="accepts every one of these people already"):
        got = wf.recommend(problem, rich, k=2)
    assert (got.outcome == Outcome.ACCEPTED).all() and got.n == 3
    np.testing.assert_array_equal(got.after[:, 0], got.x)


def test_nothing_is_actionable(schema, pipeline, people, train):
    fixed = schema.revise({name: {"actionability": "immutable"} for name in schema.names})
    got = wf.recommend(wf.Problem(fixed, pipeline, wf.Target(favourable=1), data=train), people)
    refused = ~got.accepted
    assert refused.any() and (got.outcome[refused, 0] == Outcome.NONE_EXISTS).all() and got.n == len(people)


def test_contradictory_rules(schema):
    with pytest.raises(RuleError) as error:
        schema.with_rules("after.income >= 5000", "after.income <= 4000")
    said(error, "contradict", "after.income >= 5000", "after.income <= 4000")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("after.incme >= before.income", ("Did you mean 'income'", "^^^^^")),
        ("after.income >>= 3", ("^",)),
        ("after.job == 'clark'", ("clark", "clerk")),
        ("after.income >= before.income and", ("^",)),
        ("(after.income > 3", ("^",)),
    ],
)
def test_a_rule_with_a_typo(schema, rule, words):
    with pytest.raises(RuleError) as error:
        schema.with_rules(rule)
    said(error, rule, *words)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "three"])
def test_no_options(problem, people, k):
    with pytest.raises(MethodError, match="Ask for k=1 or more"):
        wf.recommend(problem, people, k=k)


def test_unknown_method_and_parameter(problem, people):
    with pytest.raises(MethodError, match="Did you mean 'nice'"):
        wf.recommend(problem, people, method="nise")
    with pytest.raises(MethodError, match="It takes: "):
        wf.recommend(problem, people, method="local-search", gird=3)


def test_a_broken_schema_file(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("features:\n  - name: age\n   kind: integer\n")
    with pytest.raises(FileFormatError) as error:
        wf.Schema.from_yaml(path)
    said(error, "schema.yaml", "line 3")


def test_a_hostile_yaml_file(tmp_path):
    path, mark = tmp_path / "schema.yaml", tmp_path / "mark"
    path.write_text(f"features:\n  - !!python/object/apply:os.system ['touch {mark}']\n")
    with pytest.raises(FileFormatError):
        wf.Schema.from_yaml(path)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.skops", "model.onnx", "model.json"])
def test_a_hostile_model_file(tmp_path, schema, name):
    import pickle

    from wayforward.model import load

    mark = tmp_path / "mark"

    class Bomb:
        def __reduce__(self):
            return (eval, (f"open({str(mark)!r}, 'w').close()",))

    path = tmp_path / name
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(WayforwardError) as error:
        load(path, schema)
    said(error, name)
    assert not mark.exists()


def test_n_people_in_n_rows_out(problem, train):
    everyone = train.drop(columns="y")
    got = wf.recommend(problem, everyone, k=2)
    assert got.n == len(everyone) == sum(got.outcomes().values())
    np.testing.assert_array_equal(got.x, problem.schema.encode(everyone))


# -- what people wish --------------------------------------------------------------------------------------


def test_a_preference_about_what_nobody_can_change(schema):
    none = wf.Preferences.none(schema, 2)
    for make in (
        lambda: none.limit("age", high=30),
        lambda: none.weigh(age=3),
        lambda: wf.Preferences.from_likert(schema, {"age": [1, 2]}),
        lambda: wf.Preferences.from_rankings(schema, [["income", "age"], ["income"]]),
        lambda: wf.Preferences.from_yes_no(schema, {"age": [True, False]}),
    ):
        with pytest.raises(PreferencesError) as error:
            make()
        said(error, "'age'", "immutable", "Leave")


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([[1, 1]], ("rank 1 for person 0", "1 to 2 once")),
        ([[1, 4]], ("rank 4 for person 0", "1 to 2 once")),
        ([[2, 3]], ("rank 2 for person 0", "1 to 1 once")),
    ],
)
def test_a_ranking_with_a_tie_or_a_gap(schema, ranks, words):
    with pytest.raises(PreferencesError) as error:
        wf.Preferences.from_rankings(schema, {"income": [ranks[0][0]], "job": [ranks[0][1]]})
    said(error, *words)


def test_preferences_of_other_people_or_another_schema(problem, people, schema):
    with pytest.raises(PreferencesError) as error:
        wf.recommend(problem, people, preferences=wf.Preferences.none(schema, 3))
    said(error, "for 3 people", "there are 8")
    with pytest.raises(PreferencesError) as error:
        wf.recommend(problem, people, preferences=wf.Preferences.none(schema.drop("job"), 8))
    said(error, "2 features", "3 features")


def test_a_relative_limit_for_somebody_whose_value_is_missing(schema):
    with pytest.raises(PreferencesError) as error:
        x = np.array([[30.0, 900, 0], [40, np.nan, 1]])
        wf.Preferences.none(schema, 2).limit("income", high="+10%", x=x)
    said(error, "'income' is missing for person 1", "Give a number")


@pytest.mark.parametrize(
    "forbid",
    [
        lambda wish, x: wish.freeze("income", "job"),
        lambda wish, x: wish.at_most(0),
        lambda wish, x: wish.limit("income", high=x[:, 1]).forbid("job", "clerk", "cook", "coach"),
        lambda wish, x: wish.limit("income", high=0).freeze("job"),
    ],
    ids=["frozen", "no change at all", "no room", "below where they stand"],
)
def test_everything_forbidden_is_an_answer_and_not_an_error(problem, people, forbid):
    x = problem.schema.encode(people)
    wish = forbid(wf.Preferences.none(problem.schema, len(x)), x)
    for method in ("local-search", "nearest-observable", "actionable-recourse"):
        got = wf.recommend(problem, people, method=method, preferences=wish, k=2)
        refused = ~got.accepted
        assert refused.any() and (got.outcome[refused] == Outcome.NONE_EXISTS).all(), method
        assert np.isinf(got.plain_cost[refused]).all()


@pytest.mark.parametrize("text", ["", "{", '{"format": "wayforward/preferences", "version": 1, "n": "x"}'])
def test_a_broken_file_of_preferences(tmp_path, schema, text):
    (tmp_path / "wishes.json").write_text(text)
    with pytest.raises(FileFormatError):
        wf.Preferences.load(tmp_path / "wishes.json", schema)
