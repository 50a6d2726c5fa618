"""What people hand in as it is: numbered columns, a row, a function that wants a table; and what a notebook shows."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ModelError

pd = pytest.importorskip("pandas")
linear = pytest.importorskip("sklearn.linear_model")


@pytest.fixture(scope="module")
def numbered():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({0: rng.integers(18, 90, 300), 1: rng.integers(0, 9000, 300)})
    return table, (table[1] > 4000).astype(int)


def test_numbered_columns_are_read(numbered):
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table, y = numbered
    schema = wf.Schema.infer(table, **{"0": {"actionability": "immutable"}})
    assert schema.names == ("0", "1")
    model = make_pipeline(
        ColumnTransformer([("scale", StandardScaler(), [0, 1])]), linear.LogisticRegression()
    ).fit(table, y)
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=table)
    refused = table[y == 0].head(5)
    after = wf.recommend(problem, refused).people_after()
    assert list(after.columns) == [0, 1] and after.index.equals(refused.index) and model.predict(after).all()


def test_numbered_columns_with_texts_work_wherever_people_are_given(numbered):
    """A pipeline that was trained on them sees a table, also where its encoder would ignore the numbers of levels."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from wayforward.answers import why
    from wayforward.groups import Groups
    from wayforward.impact.audit import audit

    table = numbered[0].assign(**{"2": np.array(["f", "m", "m"] * 100)})
    table.columns = [0, 1, 2]
    y = (table[1] + 2000 * (table[2] == "m") > 5000).astype(int)
    steps = [("scale", StandardScaler(), [0, 1]), ("level", OneHotEncoder(handle_unknown="ignore"), [2])]
    model = make_pipeline(ColumnTransformer(steps), linear.LogisticRegression()).fit(table, y)
    schema = wf.Schema.infer(table.assign(**{"3": y}).rename(columns={"3": 3}), label=3, propose=False)
    schema = schema.revise({"2": {"actionability": "immutable"}})
    problem = wf.Problem(schema, model, wf.Target(favourable=1), data=table)
    np.testing.assert_allclose(
        problem.model.native(schema.encode(table))[0], model.predict_proba(table), rtol=1e-12
    )
    refused = table[model.predict(table) == 0].head(30)
    row = refused.iloc[3]
    everybody, one = wf.recommend(problem, refused, id=0), wf.recommend(problem, row)
    assert one.explain(0) == everybody.explain(3) and everybody.origin.names == ("0",)
    assert model.predict(one.people_after()).tolist() == [1] and list(one.people_after().columns) == [0, 1, 2]
    assert why(problem, row).text(0) == why(problem, refused).text(3)
    x = schema.encode(refused)
    found = audit(
        problem, refused, Groups.of("2", x, schema), beside=None, society=False, summaries=(), lasting_of=0
    )
    assert found.n == 30
    for function in (
        lambda rows: rows[1] / 9000,
        lambda rows: rows["1"] / 9000,
        lambda rows: rows[:, 1] / 9000,
    ):
        asked = wf.wrap(function, schema).native(x)[0][:, 1]
        np.testing.assert_array_equal(asked, refused[1] / 9000)


def test_a_column_is_no_person(numbered):
    schema = wf.Schema.infer(numbered[0])
    with pytest.raises(wf.errors.DataError, match="is a Series, which is no table"):
        schema.encode(numbered[0][0])


def test_a_row_of_a_table_is_a_person(numbered):
    table = numbered[0].rename(columns={0: "age", 1: "pay"}).assign(job="cook")
    schema = wf.Schema.infer(table.assign(job=["cook", "clerk"] * 150))
    np.testing.assert_array_equal(schema.encode(table.iloc[7]), schema.encode(table.iloc[[7]]))
    model = wf.wrap(lambda x: (x[:, 1] > 9000) * 1.0, schema, output="label", classes=(0, 1))
    got = wf.recommend(wf.Problem(schema, model, wf.Target(favourable=1)), table.iloc[7])
    assert (
        got.n == 1
        and got.origin.values[0].tolist() == [7]
        and list(got.people_after().columns) == ["age", "pay", "job"]
    )


def test_a_function_that_wants_a_table_is_recognised(numbered):
    schema = wf.Schema.infer(numbered[0].rename(columns={0: "age", 1: "pay"}))
    model = wf.wrap(lambda frame: np.where(frame["pay"] > 4000, 0.9, 0.1), schema)
    assert model.native(np.array([[30, 5000.0], [30, 10.0]]))[0][:, 1].tolist() == [0.9, 0.1]
    with pytest.raises(ModelError, match="failed on 2 rows"):
        wf.wrap(lambda frame: np.where(frame["pay"] > 4000, 0.9, 0.1), schema, takes="array")
    with pytest.raises(ModelError, match="failed on 2 rows: IndexError"):
        wf.wrap(lambda x: x[:, 7], schema)


def test_a_problem_says_in_one_line_what_it_asks_and_shows_nobody():
    schema = wf.Schema((wf.Feature(name="pay", kind="integer", low=0, high=90),))
    model = wf.wrap(lambda x: x[:, 0] / 90, schema)
    people = np.full((1200, 1), 77.0)
    shown = [repr(wf.Problem(schema, model, wf.Target(favourable=1), data=data)) for data in (people, None)]
    assert (
        shown[0] == f"Problem(1 features, model {model.name}, target {wf.Target(1).describe()}, 1,200 people)"
    )
    assert shown[1].endswith("no people)") and "77" not in shown[0] and "\n" not in shown[0]


def test_notebooks_show_small_escaped_tables():
    """Nothing of the data becomes markup, and a large answer stays short."""
    schema = wf.Schema(
        (
            wf.Feature(name="<b>pay</b>", kind="integer", low=0, high=90, unit="<EUR>"),
            wf.Feature(name="sex", kind="binary", levels=("<i>", "m"), actionability="immutable"),
        )
    )
    problem = wf.Problem(schema, wf.wrap(lambda x: x[:, 0] / 90, schema), wf.Target(favourable=1))
    people = pd.DataFrame({"<b>pay</b>": np.arange(40), "sex": ["<i>", "m"] * 20}, index=["<script>"] * 40)
    got = wf.recommend(problem, people)
    judged = wf.evaluate(got, problem, bootstrap=0)
    for thing in (schema, problem, got, judged):
        html = thing._repr_html_()
        assert html.startswith("<div>") and html.count("<tr>") <= 50 and len(html) < 30_000
        assert not any(tag in html for tag in ("<b>pay", "<i>", "<script>", "<EUR>"))
    assert "&lt;script&gt;" in got._repr_html_() and "&lt;b&gt;pay" in schema._repr_html_()

    from wayforward.groups import Groups
    from wayforward.impact.audit import audit

    x = schema.encode(people)
    found = audit(
        problem, x, Groups.of("sex", x, schema), beside=None, society=False, summaries=(), lasting_of=0
    )
    assert "&lt;i&gt;" in found._repr_html_() and "<i>" not in found._repr_html_()


def test_a_notebook_shows_what_people_would_do_and_what_codes_mean(numbered):
    """One line an option that is there, with its plan in words; a schema with its states, no raw floats."""
    table = numbered[0].rename(columns={0: "age", 1: "pay"}).assign(late=[-7, 3, 9] * 100)
    schema = wf.Schema.infer(table, late={"low": 0, "special": {-7: "never"}})
    problem = wf.Problem(schema, lambda x: x[:, 1] / 9000, wf.Target(favourable=1), data=table)
    got = wf.recommend(problem, table.iloc[:40], k=3)
    html = got._repr_html_()
    assert "Raise your pay from" in html and "inf" not in html and "nan" not in html
    assert got.explain(int(np.flatnonzero(got.found[:, 0])[0])).split(". ")[0].split("Raise ")[1] in html
    assert html.count("<tr>") <= 31 and "more people" in html
    assert "-7 (never)" in schema._repr_html_() and ".0 to" not in schema._repr_html_() + repr(schema)


def test_a_numbered_column_is_named_by_its_number(numbered):
    """Wherever a feature is named: '0' and 0 are the same column."""
    schema = wf.Schema.infer(numbered[0])
    assert schema.index(1) == 1 and schema[0].name == "0" and schema.drop(0).names == ("1",)
    assert schema.revise({0: {"actionability": "immutable"}})["0"].actionability == "immutable"
    wishes = wf.Preferences.none(schema, 2).freeze(0).limit(1, high=500)
    assert wishes.frozen[:, 0].all() and (wishes.high[:, 1] == 500).all()
    with pytest.raises(wf.errors.SchemaError, match="no feature '7'"):
        schema.index(7)


FIRST_USE = """
import random, threading
import wayforward as wf
names, wrong, together = list(wf.__all__), [], threading.Barrier(8)
random.Random({seed}).shuffle(names)

def use(mine):
    together.wait()
    for name in mine:
        try:
            getattr(wf, name)
        except ImportError as error:
            wrong.append(f"{{name}}: {{error}}")

threads = [threading.Thread(target=use, args=(names[i::8],)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*wrong, end="")
"""


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_threads_that_use_it_first_at_once_see_nothing_half_made(seed):
    """A service with a pool of threads got "cannot import name ... from partially initialized module"."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE.format(seed=seed)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
