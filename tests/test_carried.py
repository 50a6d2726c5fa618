"""Columns that a model reads and nobody acts on: the person's own dates, texts and names reach it as they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.errors import DataError, ModelError, RuleError, SchemaError, WayforwardError
from wayforward.schema import carried

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

_WORDS = [
    "late", "paid", "moved", "job", "lost", "new", "house", "car", "school", "garden", "repair", "promised", "early",
]  # fmt: skip
_OWN = ["customer_id", "opened", "notes"]


def people(n: int, seed: int):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "customer_id": [f"C-{seed}-{i:05d}" for i in range(n)],
            "opened": pd.Timestamp("2010-01-01")
            + pd.to_timedelta(rng.integers(0, 5000 * 86_400_000, n), "ms"),
            "age": rng.integers(18, 80, n),
            "income": rng.integers(800, 6000, n),
            "job": rng.choice(["cook", "clerk", "driver"], n),
            "notes": [" ".join(rng.choice(_WORDS, 7)) for _ in range(n)],
        }
    )
    days = (pd.Timestamp("2024-01-01") - table["opened"]).dt.days
    lost = table["notes"].str.contains("lost")
    return table, np.where(table["income"] - 500 * lost + days / 10 > 3000, "yes", "no")


def _days(column):
    return (pd.Timestamp("2024-01-01") - column.iloc[:, 0]).dt.days.to_numpy()[:, None] / 1000.0


def pipeline(head):
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    return make_pipeline(
        ColumnTransformer(
            [
                ("number", StandardScaler(), ["age", "income"]),
                ("level", OneHotEncoder(), ["job"]),
                ("day", FunctionTransformer(_days), ["opened"]),
                ("text", TfidfVectorizer(), "notes"),
            ]
        ),
        head,
    )


@pytest.fixture(scope="module")
def lent():
    from sklearn.linear_model import LogisticRegression

    table, y = people(400, 0)
    model = pipeline(LogisticRegression(max_iter=500)).fit(table, y)
    schema = wf.Schema.infer(table)
    return schema, model, wf.Problem(schema, model, wf.Target(favourable="yes"), data=table), table


def test_inference_carries_dates_texts_and_names(lent):
    schema = lent[0]
    assert {f.name: f.dtype for f in schema.features if f.carried} == {
        "customer_id": str(lent[3]["customer_id"].dtype),
        "opened": str(lent[3]["opened"].dtype),
        "notes": str(lent[3]["notes"].dtype),
    }
    assert not schema.actionable[[schema.index(name) for name in _OWN]].any()
    assert "holds dates" in schema.guesses["opened"] and "nobody acts on" in schema.guesses["notes"]
    text = schema.to_yaml()
    assert wf.Schema.from_yaml(text) == schema
    assert not any(
        own in text for own in ("C-0-0", "late ", lent[3]["opened"].iloc[0].isoformat())
    )  # nobody's


def test_the_model_is_given_what_the_table_holds(lent):
    """The model's own probabilities, of people not seen before; matrix products round by the batch."""
    schema, model, problem, table = lent
    new, _ = people(50, 1)
    mine = problem.model.native(schema.encode(new))[0]
    np.testing.assert_allclose(mine, model.predict_proba(new), rtol=1e-12)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(table), "pandas"), table)


@pytest.mark.parametrize("searched", [False, True])
def test_first_steps_see_the_rows_asked_about_and_no_more(searched):
    """A head with matrix products is asked in chunks of one size; the texts before it are read once each."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    read = []
    table, y = people(120, 0)
    model = pipeline(LogisticRegression(max_iter=500))
    model.steps[0][1].transformers[3][1].set_params(
        token_pattern=None, tokenizer=lambda text: [*text.split(), *(read.append(text) or ())]
    )
    if searched:
        model = GridSearchCV(model, {"logisticregression__C": [1.0]}, cv=2)
    model.fit(table, y)
    schema = wf.Schema.infer(table)
    native = wf.wrap(model, schema).native
    new = table.iloc[:40]
    rows = schema.encode(new)
    read.clear()
    out, label = native(rows)
    assert len(read) == 40
    np.testing.assert_allclose(out, model.predict_proba(new), rtol=1e-12)
    assert [model.classes_[i] for i in label] == model.predict(new).tolist()
    for i in range(0, 40, 7):
        np.testing.assert_array_equal(native(rows[i : i + 1])[0][0], out[i])


def test_first_steps_that_look_at_other_rows_are_asked_with_the_last():
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    from wayforward.model.adapters.in_steps import front_and_head, rows_stay_alone
    from wayforward.model.tables import Table

    table, y = people(120, 0)
    numbers = table[["age", "income"]]
    schema = wf.Schema.infer(numbers)
    as_table = Table(schema, list(schema.names), None, "the model", None)

    def parts(*steps):
        found = front_and_head(make_pipeline(*steps, LogisticRegression()).fit(numbers, y))
        return found is not None and rows_stay_alone(found[0], as_table)

    centred = FunctionTransformer(lambda rows: rows - rows.mean())
    assert parts(StandardScaler())
    assert not parts(StandardScaler(), PCA()) and not parts(centred)


@pytest.mark.parametrize("head", ["forest", "net", "boosting"])
def test_options_reach_the_decision_of_the_model_itself(head):
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    heads = {
        "forest": RandomForestClassifier(20, random_state=0),
        "net": MLPClassifier((8,), max_iter=60, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    }
    table, y = people(400, 0)
    parts = pipeline(heads[head])
    if head == "boosting":  # takes no sparse columns
        parts.steps[0][1].sparse_threshold = 0
    with pytest.warns() if head == "net" else _nothing():
        model = parts.fit(table, y)
    problem = wf.Problem(wf.Schema.infer(table), model, wf.Target(favourable="yes"), data=table)
    new, _ = people(12, 2)
    new.index = [f"row {i}" for i in range(12)]
    got = wf.recommend(problem, new, method="growing-spheres")
    after = got.people_after()
    assert got.found[:, 0].any() and (model.predict(after) == "yes")[got.found[:, 0]].all()
    pd.testing.assert_frame_equal(after[_OWN], new[_OWN])
    assert (after.dtypes == new.dtypes).all() and after.index.equals(new.index)


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def test_nobody_is_advised_about_them_and_no_word_shows_them(lent, tmp_path):
    problem = lent[2]
    new, _ = people(20, 3)
    got = wf.recommend(problem, new, k=3, method="growing-spheres")
    at = [problem.schema.index(name) for name in _OWN]
    assert got.found.any() and np.isnan(got.action[:, :, at]).all() and not got.changed[:, :, at].any()
    who = int(np.flatnonzero(got.found[:, 0])[0])
    from wayforward.answers import letter, report
    from wayforward.answers.refusal import reasons

    page = report(problem, got, tmp_path / "page.html").read_text(encoding="utf-8")
    letters = " ".join([letter(problem, got, who), got.explain(who)])
    assert not any(word in letters for word in ("customer id", "opened", "notes", "as it is"))
    own = ["C-3-0", new["notes"].iloc[who], new["opened"].iloc[who].isoformat()[:10], "e-25", "e-26", "e-27"]
    assert not any(word in letters + page for word in own)
    assert all(set(reason.features).isdisjoint(at) for reason in reasons(problem, got, who))


def test_costs_distances_and_densities_ignore_them(lent):
    """The same people with other dates, texts and names are as far from each other, and as likely, to the bit."""
    from wayforward.neighbours import NeighbourIndex
    from wayforward.problem import KernelDensity, Lof, Neighbours
    from wayforward.scaling import scales

    schema, _, _, table = lent
    x, bare = schema.encode(table), schema.without_carried
    own = bare.encode(table)
    other = schema.encode(table.assign(**{name: table[name].to_numpy()[::-1] for name in _OWN}))
    new = schema.encode(people(30, 4)[0])
    for metric in ("l1", "l2", "heom"):
        for scale in ("range", "std", "mad"):
            want = NeighbourIndex(bare, own, metric=metric, scale=scale).query(new[:, ~schema.carried], 3)
            for rows in (x, other):
                found = NeighbourIndex(schema, rows, metric=metric, scale=scale).query(new, 3)
                np.testing.assert_array_equal(found.row, want.row)
                np.testing.assert_allclose(found.distance, want.distance, rtol=1e-12)
    assert (scales(schema, x, "mad")[schema.carried] == 1).all()
    for kind in (KernelDensity, Lof, Neighbours):
        one, two = (kind().fit(schema, rows).score(new) for rows in (x, other))
        np.testing.assert_array_equal(one, two)


def test_answers_in_files_are_whole_in_another_process(lent, tmp_path):
    new, _ = people(12, 5)
    new.loc[3, "age"] = 400
    problem = wf.Problem(
        lent[0].revise(age={"low": 18, "high": 99}), lent[1], wf.Target(favourable="yes"), data=lent[3]
    )
    with pytest.warns(wf.schema.SchemaWarning, match="1 of 12"):
        got = wf.recommend(problem, new, k=2, method="growing-spheres")
    code = (
        "import sys, wayforward as wf; got = wf.Recourse.load(sys.argv[1]); frame = got.to_frame('pandas');"
        "print(frame['before.opened'][0], '|', frame['before.notes'][4], '|', got.action[..., [0, 1, 5]].size,"
        "(got.action[..., [0, 1, 5]] == got.action[..., [0, 1, 5]]).sum(), got.changed[..., [0, 1, 5]].sum())"
    )
    for ending in ("json", "parquet"):
        file = tmp_path / f"answers.{ending}"
        got.save(file)
        said = subprocess.run(
            [sys.executable, "-c", code, file], capture_output=True, text=True, check=True
        ).stdout
        assert said.split("|")[0].strip() == str(new["opened"].iloc[0])
        assert said.split("|")[1].strip() == new["notes"].iloc[2] and said.split()[-3:] == ["72", "0", "0"]
        again = wf.Recourse.load(file)
        for name in ("x", "action", "after"):
            np.testing.assert_array_equal(getattr(again, name), getattr(got.rounded, name))


def test_a_pickle_takes_the_values_along(lent, tmp_path):
    schema, rows = lent[0], lent[0].encode(lent[3].head(3))
    file = tmp_path / "rows"
    file.write_bytes(pickle.dumps((schema, rows)))
    code = (
        "import pickle, sys; s, x = pickle.load(open(sys.argv[1], 'rb')); "
        "print(s.decode(x, 'dict')['notes'].tolist())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, check=True
    ).stdout
    assert said.strip() == str(lent[3]["notes"].head(3).tolist())


def test_shards_are_answered_and_forgotten(lent, tmp_path):
    from wayforward.scale import Answers

    new, _ = people(40, 6)
    new.to_csv(tmp_path / "people.csv", index=False)
    known = len(carried._known["notes"])
    wf.recommend_table(
        lent[2],
        tmp_path / "people.csv",
        tmp_path / "out",
        method="growing-spheres",
        id="customer_id",
        rows_per_shard=15,
    )
    assert len(carried._known["notes"]) == known
    want = wf.recommend(lent[2], new, method="growing-spheres")
    parts = list(Answers.open(tmp_path / "out").parts())
    np.testing.assert_array_equal(np.concatenate([part.action for part in parts]), want.rounded.action)
    assert parts[1].find("C-6-00016").tolist() == [1]
    assert parts[1].to_frame("pandas")["before.notes"].tolist() == new["notes"].iloc[15:30].tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dict"])
def test_every_library_and_every_kind_of_moment(library):
    native = pytest.importorskip(library) if library != "dict" else None
    n = 60
    columns = {
        "day": [date(2020, 1, 1) + timedelta(days=i) for i in range(n)],
        "moment": [datetime(2020, 1, 1, 3, 4, 5) + timedelta(hours=i) for i in range(n)],
        "took": [timedelta(minutes=i + 1) for i in range(n)],
        "text": [f"word{i} a b c" for i in range(n)],
        "pay": list(range(n)),
    }
    made = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table", "dict": ""}[library]
    table = getattr(native, made)(columns) if native else columns
    schema = wf.Schema.infer(table if native else pd.DataFrame(columns))
    assert [f.kind for f in schema.features] == ["carried"] * 4 + ["integer"]
    x = schema.encode(table)
    back = schema.decode(x, library)
    np.testing.assert_array_equal(schema.encode(back), x)
    assert len(np.unique(x[:, :4])) == 4 * n and (x[:, :4] < 1e-240).all()
    np.testing.assert_array_equal(schema.encode({k: v[7] for k, v in columns.items()}), x[[7]])
    texts = {k: str(v[7]) for k, v in columns.items()} | {"pay": 7}  # as a CSV file has them
    np.testing.assert_array_equal(schema.encode(texts), x[[7]])


def test_moments_keep_their_zone_and_their_precision():
    day = pd.date_range("2020-01-01", periods=60, freq="37h", tz="Europe/Berlin").as_unit("ns")
    table = pd.DataFrame({"at": day + pd.to_timedelta(np.arange(60), "ns"), "pay": np.arange(60)})
    schema = wf.Schema.infer(table)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(table), "pandas"), table)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=40), st.none()), min_size=1, max_size=20))
def test_any_text_comes_back_and_keys_hang_on_it_alone(texts):
    feature = wf.Feature(name="any text", kind="carried", missing="stays")
    schema = wf.Schema((feature, wf.Feature(name="pay", kind="integer")))
    x = schema.encode({"any text": texts, "pay": [1] * len(texts)})
    assert schema.decode(x, "dict")["any text"].tolist() == texts
    assert not np.isnan(x).any() and (np.abs(x[:, 0]) < 1e-240).all()
    alone = [schema.encode({"any text": [text], "pay": [1]})[0, 0] for text in texts]
    assert x[:, 0].tolist() == alone
    assert len(set(alone)) == len(set(texts))


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wf.Feature(name="a", kind="carried", low=3), SchemaError, "leave low out"),
        (lambda: wf.Feature(name="a", kind="real", example=3), SchemaError, "kind='carried'"),
        (lambda: wf.Feature(name="a", kind="carried", dtype="datetime64[us]", example="soon"), SchemaError, "example"),
        (lambda: _two().revise(note={"actionability": "actionable"}), SchemaError, "nobody acts on it"),
        (lambda: _two().with_rules("after.note == 3").compiled_rules, RuleError, "cannot be compared"),
        (lambda: _two().encode({"note": [["a"]], "pay": [1]}), DataError, "'note'"),
        (lambda: _two().encode({"note": [None], "pay": [1]}), DataError, "'missing': 'stays'"),
        (lambda: _two().decode(np.array([[3e-250, 1.0]]), "dict"), DataError, "is not known here"),
        (lambda: wf.wrap(lambda x: x[:, 1], _two(), takes="array"), ModelError, "takes='frame'"),
    ],
)  # fmt: skip
def test_mistakes_name_the_next_step(make, error, words):
    with pytest.raises(error, match=words) as raised:
        make()
    assert isinstance(raised.value, WayforwardError)


def _two():
    return wf.Schema(
        (wf.Feature(name="note", kind="carried"), wf.Feature(name="pay", kind="integer", low=0, high=9))
    )


def test_an_example_that_the_model_refuses_is_named(lent):
    """An encoder that knows the towns of its training table alone: people of these are asked, nobody's is an error."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table, y = people(400, 0)
    table["town"] = [f"town {i % 300}" for i in range(400)]
    steps = [("n", StandardScaler(), ["income"]), ("town", OneHotEncoder(), ["town"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(table, y)
    schema = wf.Schema.infer(table, town={"kind": "carried"})
    wrapped = wf.wrap(model, schema)
    np.testing.assert_allclose(wrapped.outputs(schema.encode(table)), model.predict_proba(table), rtol=1e-12)
    nobody = schema.encode(table.head(1)) * (~schema.carried)
    with pytest.raises(ModelError, match="refuses the example of what is carried .*town.*revise"):
        wrapped.native(nobody)
    told = wf.wrap(model, schema.revise(town={"example": "town 7"}))
    assert told.has_fast_path and np.isfinite(told.native(nobody)[0]).all()


def test_they_make_no_groups(lent):
    from wayforward.groups import Groups

    with pytest.raises(DataError, match="'notes' is carried"):
        Groups.of("notes", lent[0].encode(lent[3]), lent[0])


def test_a_value_that_no_column_holds_is_that_row_alone(lent):
    new, _ = people(4, 7)
    odd = new.astype({"opened": object})
    odd.loc[2, "opened"] = "some day"
    with pytest.warns(wf.schema.SchemaWarning, match="1 of 4"):
        got = wf.recommend(lent[2], odd, method="growing-spheres")
    assert got.readable.tolist() == [True, True, False, True] and "'opened'" in got.reasons[2]


def test_a_function_of_tables_is_given_them(lent):
    schema = lent[0]
    model = wf.wrap(lambda table: table["notes"].str.contains("lost") * 0.6 + 0.2, schema)
    new, _ = people(20, 8)
    want = new["notes"].str.contains("lost").to_numpy() * 0.6 + 0.2
    np.testing.assert_allclose(model.native(schema.encode(new))[0][:, 1], want)


def test_models_that_leave_them_out_keep_their_fast_path(lent):
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    schema, _, _, table = lent
    y = people(400, 0)[1]
    numbers = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["age", "income"])]), LogisticRegression()
    ).fit(table, y)
    assert wf.wrap(numbers, schema).linear is not None
    assert wf.wrap(wf.model.train("lr", schema, table, y), schema).linear is not None
    plain = LogisticRegression(max_iter=3000).fit(table[["age", "income"]].to_numpy(), y)
    arrays = wf.wrap(plain, wf.Schema.infer(table.drop(columns="job")))
    assert arrays.linear is not None


def test_what_is_made_of_them_is_worked_out_once_for_each_value(lent):
    """The quick path gives the model's own numbers, a row's never depend on the others, and steps run on few rows."""
    schema, model, problem, _ = lent
    new = schema.encode(people(40, 11)[0])
    rows = np.repeat(new, 30, axis=0)
    rows[:, schema.index("income")] = np.tile(np.arange(30) * 150.0 + 900, 40)
    wrapped = problem.model
    assert wrapped.has_fast_path and wrapped.linear is None
    np.testing.assert_allclose(wrapped.outputs(rows), wrapped.native(rows)[0], rtol=1e-9)
    fresh = wf.wrap(model, schema)
    alone = np.concatenate([fresh.outputs(row[None]) for row in rows[::97]])
    np.testing.assert_array_equal(alone, wrapped.outputs(rows)[::97])
    fresh, seen = wf.wrap(model, schema), []
    text = model[0].named_transformers_["text"]
    transform = text.transform
    text.transform = lambda values: seen.append(len(values)) or transform(values)
    try:
        fresh.outputs(rows)
    finally:
        del text.transform
    assert (
        seen == [32] * 3
    )  # the rows come 512 at a time, each with some of the 40 texts; 32 are encoded at once


@pytest.mark.parametrize("way", ["mixed", "missing", "passed on"])
def test_what_cannot_be_told_apart_is_asked_of_the_model_itself(lent, way):
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    schema, _, _, table = lent
    y = people(400, 0)[1]
    columns = ["opened", "income"] if way == "mixed" else ["opened"]
    steps = [("day", FunctionTransformer(_days), columns), ("n", StandardScaler(), ["age", "income"])]
    after = [StandardScaler()] if way == "passed on" else []
    model = make_pipeline(ColumnTransformer(steps), *after, LogisticRegression()).fit(table, y)
    if way == "missing":
        schema = schema.revise(opened={"missing": "stays"})
    wrapped = wf.wrap(model, schema)
    assert not wrapped.has_fast_path and "'opened'" in wrapped.notes[-1]
    x = schema.encode(people(9, 12)[0])
    np.testing.assert_allclose(wrapped.outputs(x), model.predict_proba(people(9, 12)[0]), rtol=1e-12)


def test_worlds_leave_them_alone(lent):
    schema, model, _, table = lent
    world = wf.LinearWorld.fit([("age", "income")], table.drop(columns="job"), schema=schema.drop("job"))
    problem = wf.Problem(schema, model, wf.Target(favourable="yes"), data=table, world=world)
    new, _ = people(20, 9)
    got = wf.recommend(problem, new, method="growing-spheres")
    assert got.found.any() and not got.changed[..., schema.carried].any()


def test_a_dialogue_goes_on_in_another_process(lent, tmp_path):
    from wayforward.people.dialogue import Dialogue

    schema, model, problem, table = lent
    new, _ = people(20, 10)
    refused = new[model.predict(new) == "no"].head(1)
    talk = Dialogue(problem, refused, seed=0)
    stored = talk.to_dict()
    for book in carried._known.values():  # as where nobody has read them
        for value in (schema.encode(refused)[0, [0, 1, 5]]).tolist():
            book.pop(value, None)
    again = Dialogue.from_dict(problem, stored)
    assert again.ask() == talk.ask() and np.array_equal(again.x, talk.x)
