"""Hostile cells, tables and arguments, one row a case: a faulty cell costs its row, a faulty argument is named."""

from __future__ import annotations

import datetime
import decimal
import math
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers.tables import options_table
from wayforward.density.private import private_people
from wayforward.errors import (
    DataError,
    MethodError,
    ModelError,
    PreferencesError,
    ProblemError,
    SchemaError,
    WayforwardError,
    WorkerError,
    shown,
)
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.audit import report as audit_page
from wayforward.impact.disclosure import Ledger
from wayforward.methods import method, names
from wayforward.problem import Disclosure
from wayforward.recourse import Outcome
from wayforward.schema import SchemaWarning

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402


class Case:
    """A small problem with a column of each kind, and four people who are refused."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.table = pd.DataFrame(
            {
                "a": rng.normal(5, 2, 200),
                "b": rng.integers(0, 9, 200),
                "c": rng.integers(0, 2, 200),
                "job": rng.choice(["x", "y", "z"], 200),
            }
        )
        encoder = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
        model = make_pipeline(encoder, LogisticRegression())
        self.estimator = model.fit(self.table, (self.table.a + self.table.b > 10).astype(int))
        self.schema = wf.Schema.infer(self.table).revise(c={"actionability": "immutable"})
        self.model = wf.wrap(self.estimator, self.schema)
        self.problem = wf.Problem(self.schema, self.model, wf.Target(favourable=1), data=self.table)
        self.people = self.table[self.estimator.predict(self.table) == 0].iloc[:4].reset_index(drop=True)
        self.x = self.schema.encode(self.people)
        self.ledger = Ledger(tempfile.mkdtemp() + "/ledger.db", per_client=5)
        self.columns = self.people.to_dict("list")

    def ask(self, people, **options):
        return wf.recommend(self.problem, people, **options)

    def with_cell(self, name, value):
        cells = self.people.astype(object).to_dict("list")
        cells[name] = list(cells[name])
        cells[name][1] = value
        return cells

    def wrap(self, function=None, **options):
        return wf.wrap(function or (lambda rows: (rows[:, 0] > 4).astype(int)), self.schema, **options)


@pytest.fixture(scope="module")
def case():
    return Case()


# -- cells: the row is NOT_ASKED, with its column and the value ------------------------------------------------

NUMBERS = {
    "a list": [1, 2], "a tuple": (1,), "an empty list": [], "a dict": {"k": 1}, "a set": {1}, "an array": np.arange(2),
    "an object": object(), "a function": len, "a whole number beyond float": 10**400, "beyond its text": 10**5000,
    "complex": 3 + 2j, "NumPy's complex": np.complex128(3 + 2j), "bytes": b"3", "a date": datetime.date(2020, 1, 1),
    "a time": datetime.datetime(2020, 1, 1), "NumPy's date": np.datetime64("2020-01-01"),
    "NumPy's time difference": np.timedelta64(3, "s"), "a time difference": pd.Timedelta(3), "text": "lots",
    "a number beyond float in text": "1e400", "NaN in text": "nan", "a signalling NaN": decimal.Decimal("sNaN"),
    "masked": np.ma.masked, "None": None, "NA": pd.NA, "NaT": pd.NaT,
}  # fmt: skip
LEVELS = {**NUMBERS, "an unknown level": "q", "a time difference without a unit": np.timedelta64(3)}


@pytest.mark.parametrize(
    ("column", "what"), [*(("a", w) for w in NUMBERS), *(("b", w) for w in NUMBERS), *(("job", w) for w in LEVELS)]
)  # fmt: skip
def test_a_faulty_cell_costs_its_row(case, column, what):
    value = LEVELS[what]
    with pytest.warns(SchemaWarning, match="1 of 4 people could not be read"):
        got = case.ask(case.with_cell(column, value))
    assert (got.outcome[:, 0] == Outcome.NOT_ASKED).tolist() == [False, True, False, False]
    assert f"'{column}'" in got.reasons[1] and len(got.reasons[1]) < 300
    with pytest.raises(DataError, match=f"'{column}'"):
        case.ask(case.with_cell(column, value), strict=True)


def masked(values, dtype):
    return np.ma.array(np.array(values, dtype=dtype), mask=[False, True, False, False])


def masked_rows(case):
    rows = np.ma.array(case.x.copy(), mask=np.zeros(case.x.shape, dtype=bool))
    rows[1, 0] = np.ma.masked
    return rows


def as_objects(case, value):
    rows = case.x.astype(object)
    rows[1, 0] = value
    return rows


ROWS = {
    "a masked array": masked_rows,
    "a masked column": lambda c: c.columns | {"a": masked(c.columns["a"], float)},
    "a masked column of levels": lambda c: c.columns | {"job": masked(c.columns["job"], object)},
    "text in an array of objects": lambda c: as_objects(c, "huh"),
    "a list in an array of objects": lambda c: as_objects(c, [1]),
    "None in an array of objects": lambda c: as_objects(c, None),
    "a number beyond float in an array": lambda c: as_objects(c, 10**400),
}


@pytest.mark.parametrize("what", ROWS)
def test_a_faulty_row_of_an_array_costs_itself(case, what):
    with pytest.warns(SchemaWarning, match="1 of 4 people could not be read"):
        got = case.ask(ROWS[what](case))
    assert (got.outcome[:, 0] == Outcome.NOT_ASKED).tolist() == [False, True, False, False]
    others = [0, 2, 3]
    np.testing.assert_array_equal(got.after[others], case.ask(case.people.iloc[others]).after)


def polars_with(case, **columns):
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(case.people)
    makers = {
        "struct": pl.struct("b", "c"),
        "list": pl.concat_list("b", "c"),
        "time": datetime.datetime(2020, 1, 1),
    }
    return frame.with_columns(**{name: makers[kind] for name, kind in columns.items()})


WHOLE_COLUMNS = {
    "structs": lambda c: polars_with(c, a="struct"),
    "structs as levels": lambda c: polars_with(c, job="struct"),
    "lists": lambda c: polars_with(c, a="list"),
    "lists as levels": lambda c: polars_with(c, job="list"),
    "times": lambda c: polars_with(c, a="time"),
    "times of pandas": lambda c: c.people.assign(a=pd.Timestamp("2020-01-01")),
    "complex": lambda c: c.columns | {"a": c.x[:, 0] + 2j},
    "times of NumPy": lambda c: c.columns | {"a": np.array(["2020-01-01"] * 4, "datetime64[s]")},
    "two columns": lambda c: c.columns | {"a": np.ones((4, 2))},
}


@pytest.mark.parametrize("what", WHOLE_COLUMNS)
def test_a_column_of_what_is_no_number_costs_everybody(case, what):
    with pytest.warns(SchemaWarning, match="4 of 4 people could not be read"):
        got = case.ask(WHOLE_COLUMNS[what](case))
    assert (got.outcome == Outcome.NOT_ASKED).all()


def test_a_fraction_of_an_integer_is_kept_and_said(case):
    """Nothing is cut off (see test_off_the_lattice), and nobody is left to think that it was a whole number."""
    for people in (case.with_cell("b", 6.5), np.where(np.arange(4)[:, None] == [[9, 1, 9, 9]], 6.5, case.x)):
        with pytest.warns(SchemaWarning, match="'b' .* 1 value.* with a fraction, such as 6.5"):
            got = case.ask(people)
        assert got.x[1, 1] == 6.5 and (got.outcome != Outcome.NOT_ASKED).all()


def test_a_series_in_a_mapping_is_a_column(case):
    np.testing.assert_array_equal(case.ask({name: case.people[name] for name in case.people}).x, case.x)
    assert case.ask(case.people.iloc[0].to_dict()).n == 1


# -- arguments: an error of the package that names the argument, the value and the next step --------------------

NOT_A_SCHEMA = (5, None, b"x", [1], {})
INTERVALS = (
    (math.nan, None),
    (None, math.nan),
    (None, None),
    (-math.inf, math.inf),
    (math.inf, None),
    (2, 1),
)
THRESHOLDS = ("0.5", math.nan, math.inf, -1, 0, 1, 2, True, 1j, [0.5])
BUDGETS = (math.nan, math.inf, 1.5, True, -1, 0, "x")
SIZES = (0, -1, 1.5, True, "3", math.nan)
CLASSES = ((1, 1), (), (1,), 5, "ab", np.zeros((2, 2)), [[0], [1]])
SWITCHES = {
    "minimal": lambda c, v: c.ask(c.people, minimal=v),
    "minimal of a method": lambda c, v: method("wachter").with_minimal(v),
    "strict": lambda c, v: c.ask(c.people, strict=v),
    "certify": lambda c, v: c.ask(c.people, certify=v),
    "exact": lambda c, v: c.ask(c.people).to_frame("dict", exact=v),
    "exact, saved": lambda c, v: c.ask(c.people).save("answers.json", exact=v),
    "sample": lambda c, v: c.ask(c.people).regions(sample=v),
    "changed_only": lambda c, v: options_table(c.ask(c.people), 0, changed_only=v),
    "propose": lambda c, v: wf.Schema.infer(c.table, propose=v),
    "sensitive": lambda c, v: c.schema.revise(a={"sensitive": v}),
    "together": lambda c, v: Disclosure(crowd=2, together=v),
    "fresh": lambda c, v: wf.recommend_table(c.problem, c.table, "out", fresh=v),
    "certify of a table": lambda c, v: wf.recommend_table(c.problem, c.table, "out", certify=v),
    "fast": lambda c, v: wf.wrap(c.estimator, c.schema, fast=v),
    "random": lambda c, v: c.wrap(random=v),
}
ODD = (
    None,
    True,
    "x",
    -1,
    1.5,
    math.nan,
    10**400,
    b"x",
    {},
    (1, 2),
    object(),
    len,
    np.array([]),
    np.zeros((2, 2)),
)
NOT_TEXT = tuple(v for v in ODD if not isinstance(v, str))
NOT_FLOAT = tuple(v for v in ODD if not isinstance(v, float))
AUDITED = {
    **dict.fromkeys(("smallest", "fewest", "twins_of", "lasting_of", "proved_of", "summaries_of", "seed"), ODD),
    "most": ODD[1:], "workers": tuple(v for v in ODD if v is not True), "method": NOT_TEXT, "correction": ODD,
    "intersections": tuple(v for v in ODD if v is not True), "society": tuple(v for v in ODD if v is not True),
    "groups": ODD, "others": (None, True, "x", 5, b"x", object(), len), "problem": ODD,
    "preferences": ODD[1:], "summaries": (None, True, -1, 1.5, object(), len, [0], [None]),
    "say": (True, "x", 5), "see": (True, "x", 5),
}  # fmt: skip
ATTACKED = {
    "seeds": ODD, "most": ODD, "seed": ODD, "queries": (None, True, "x", 5, {}, (1,), ("a",), object()),
    "attributes": (True, "x", -1, {}, object()), "defences": (True, "x", -1, {"a": 1}, {1: Disclosure()}, [1]),
    "shadows": (True, "x", 5), "say": (True, "x", 5), "problem": ODD, "method": NOT_TEXT,
}  # fmt: skip
PRIVATE = {
    "epsilon": NOT_FLOAT, "delta": ODD, **dict.fromkeys(("n", "clusters", "rounds"), (*ODD, 10**9)),
    "width": (None, True, "x", -1, 1.5, math.nan), "bounds": ("x", 5, [1], {"a": 1}, {"a": (1,)}, {1: (0, 1)}),
    "seed": ("x", -1, 1.5, True), "schema": ODD,
}  # fmt: skip
HELD_BACK = {
    "crowd": ODD, "together": tuple(v for v in ODD if v is not True), "beyond": NOT_FLOAT,
    "epsilon": NOT_FLOAT, "delta": ODD, "grid": (True, "x", -1, math.nan), "bounds": PRIVATE["bounds"],
    "noise_seed": ("x", -1, 1.5, True),
}  # fmt: skip
UNDECIDED = {"an empty array": np.array([]), "two numbers": np.array([1.0, 2.0]), "a text": "x"}


def of_each(odd, call):
    """A row for each value of each argument; the error names the argument, or what it is."""
    return {
        f"{name} {i} of {len(odd)}": (lambda c, n=name, v=v: call(c, n, v), WayforwardError, WORDS.get(name, name))
        for name, values in odd.items() for i, v in enumerate(values)
    }  # fmt: skip


WORDS = {"seed": "seed", "noise_seed": "seed of the noise"}
LEVEL_LISTS = (
    "abc",
    b"ab",
    {"a"},
    {"a": 1},
    5,
    ["a", [1]],
    ["a", "a"],
    ["a", None],
    ["a", math.nan],
    [],
)
ARGUMENTS = {
    "times as an array": (lambda c: c.ask(c.x.astype("datetime64[s]")), DataError, "datetime64.*Give numbers"),
    "time differences": (lambda c: c.ask(c.x.astype("int64").astype("timedelta64[s]")), DataError, "timedelta64"),
    "a complex array": (lambda c: c.ask(c.x + 2j), DataError, "complex128 values. Give numbers"),
    "an array of records": (lambda c: c.ask(c.people.to_records()), DataError, "shape"),
    "a scalar beside columns": (lambda c: c.ask(c.columns | {"a": 3.0}), DataError, "'a' .*one value, 3.0, beside 4"),
    "a text beside columns": (lambda c: c.ask(c.columns | {"job": "x"}), DataError, "'job' .* one value, 'x'"),
    "an array of no axis": (lambda c: c.ask(c.columns | {"a": np.array(3.0)}), DataError, "'a' .* one value"),
    "unequal columns": (lambda c: c.ask(c.columns | {"a": [1.0, 2.0]}), DataError, "'a' .* 2 values; 'b' has 4"),
    **{f"budget {b}": (lambda c, b=b: c.ask(c.people, budget=b), MethodError, "budget=") for b in BUDGETS},
    **{
        f"k {shown(k)[:9]}": (lambda c, k=k: c.ask(c.people, k=k), MethodError, "options were asked for. Ask for k=1")
        for k in (10**30, 10**5000, 10**4, 0, -1, 1.5, "3", True, None, [1], math.nan)
    },
    "seed": (lambda c: c.ask(c.people, seed=math.nan), MethodError, "seed=nan is no seed"),
    **{
        f"levels {v!r}": (lambda c, v=v: c.schema.revise(job={"levels": v}), SchemaError, "levels=.*, which is no list")
        for v in (None, 0, True, 1.5, pd.NA)
    },
    **{
        f"kind {v!r}": (lambda c, v=v: c.schema.revise(job={"kind": v}), SchemaError, "kind=.*must be one of")
        for v in (pd.NA, np.array(["real", "integer"]))
    },
    **{
        f"a name {v!r}": (lambda c, v=v: c.ask(c.table, id="job").find(v), DataError, "Nobody is called")
        for v in (pd.NA, np.array([1, 2]))
    },
    "places of several lengths": (lambda c: c.ask(c.people)[[[0, 1], [0]]], DataError, "names no people"),
    "a seed below 0": (lambda c: c.ask(c.people, seed=-1), MethodError, "seed=-1 is no seed"),
    "strict": (lambda c: c.ask(c.people, strict="no"), MethodError, "strict='no' is neither True nor False"),
    **{
        f"{name} {value}": (
            lambda c, call=call, v=v: call(c, v), WayforwardError, f"{name.split(',')[0].split()[0]}.*="
        )
        for name, call in SWITCHES.items() for value, v in UNDECIDED.items()
    },
    **of_each(
        AUDITED, lambda c, n, v: audit(**{"problem": c.problem, "x": c.people, "groups": [], "twins_of": 0} | {n: v})
    ),
    **of_each(ATTACKED, lambda c, n, v: wf.attack(**{"problem": c.problem, "people": c.people} | {n: v})),
    **of_each(
        PRIVATE,
        lambda c, n, v: private_people(**{"schema": c.schema, "rows": c.x, "epsilon": 1.0, "n": 5} | {n: v}),
    ),
    **of_each(HELD_BACK, lambda c, n, v: Disclosure(**{n: v})),
    **of_each(
        {"client": (None, 5, b"a"), "answers": ODD, "day": ("x", 5)},
        lambda c, n, v: c.ledger.spend(**{"client": "a", "answers": 1} | {n: v}),
    ),
    **of_each({"cut": (True, "x", 5, [[1]], ["a"], {})}, lambda c, n, v: Groups.of("a", [1, 2], **{n: v})),
    **of_each({"schema": (True, "x", 5)}, lambda c, n, v: Groups.of("a", [1, 2], v)),
    **of_each(
        {"people": ([], [1], [[1, 2]], ["x"], np.zeros(3), None, 5)}, lambda c, n, v: Groups.of("job", v, c.schema)
    ),
    **of_each({"labels": (None, 5, "x", len)}, lambda c, n, v: Groups.of("a", v)),
    "no audit": (lambda c: audit_page(c.people, "a.html"), DataError, "audit is a DataFrame. Give a Audit"),
    "workers on an array": (lambda c: c.ask(c.people, on=np.array([])), WorkerError, "on=.* is not known"),
    "leeway": (lambda c: c.ask(c.people).regions(leeway=np.array([])), DataError, "leeway=.* is no share"),
    "wishes as a number": (lambda c: wf.Preferences.from_table(c.schema, 5), PreferencesError, "5 is no table"),
    "data as a number": (lambda c: wf.data.load(5), DataError, "name is a int. Give a str"),
    "progress": (lambda c: c.ask(c.people, progress=5), MethodError, "progress=5 cannot be called"),
    "kinds": (lambda c: c.ask(c.people, kinds=5), MethodError, "kinds=5 is no list"),
    "swapped": (lambda c: wf.recommend(c.people, c.problem), MethodError, "Swap the two"),
    "swapped, method": (lambda c: wf.recommend(c.problem, "local-search", c.people), MethodError, "method="),
    **{f"interval {i}": (lambda c, i=i: wf.Target(interval=i), ProblemError, "interval") for i in INTERVALS},
    **{f"favourable {f}": (lambda c, f=f: wf.Target(f), ProblemError, "names no class") for f in ((), [], set(), {})},
    **{f"threshold {t}": (lambda c, t=t: wf.Target(1, threshold=t), ProblemError, "threshold=") for t in THRESHOLDS},
    "world": (lambda c: wf.Problem(c.schema, c.model, wf.Target(1), world="scm"), ProblemError, "world='scm'"),
    "cost": (lambda c: wf.Problem(c.schema, c.model, wf.Target(1), cost="l1"), ProblemError, "cost='l1'"),
    "plausibility": (
        lambda c: wf.Problem(c.schema, c.model, wf.Target(1), plausibility="lof"), ProblemError, "plausibility='lof'"
    ),
    **{
        f"wishes {w!r}": (lambda c, w=w: c.ask(c.people, preferences=w), PreferencesError, "preferences is")
        for w in ("text", {"a": 1}, 5, [1])
    },
    "allow nothing": (lambda c: wf.Preferences.none(c.schema, 4).allow("job"), PreferencesError, "No level of 'job'"),
    "forbid nothing": (lambda c: wf.Preferences.none(c.schema, 4).forbid("job"), PreferencesError, "No level of 'job'"),
    **{
        f"levels {v!r}": (lambda c, v=v: wf.Feature(name="j", kind="categorical", levels=v), SchemaError, "'j'")
        for v in LEVEL_LISTS
    },
    "levels in a revision": (lambda c: c.schema.revise(job={"levels": "xyz"}), SchemaError, "'job' .*no list"),
    **{f"from_yaml {v!r}": (lambda c, v=v: wf.Schema.from_yaml(v), SchemaError, "from_yaml") for v in NOT_A_SCHEMA},
    **{
        f"decode of level {v}": (
            lambda c, v=v: c.schema.decode(np.where(np.arange(4) == 3, v, c.x)), DataError, "'job' .* from 0 to 2"
        )
        for v in (99, -1, 1.5, math.inf)
    },
    "decode of text": (lambda c: c.schema.decode("x"), DataError, "x=.x. holds something else than numbers"),
    "output": (lambda c: c.wrap(output="foo"), ModelError, "output='foo' is not known"),
    "task": (lambda c: c.wrap(task="foo"), ModelError, "task='foo' is not known"),
    "takes": (lambda c: wf.wrap(c.estimator, c.schema, takes="foo"), ModelError, "takes='foo' is not known"),
    "fast": (lambda c: wf.wrap(c.estimator, c.schema, fast="x"), ModelError, "fast='x' is not known"),
    "frame": (lambda c: wf.wrap(c.estimator, c.schema, frame=5), ModelError, "frame=5 is no table"),
    "encoder": (lambda c: wf.wrap(c.estimator, c.schema, encoder=5), ModelError, "encoder=5 cannot be called"),
    "prepare": (lambda c: wf.wrap(c.estimator, c.schema, prepare=5), ModelError, "prepare=5 cannot be called"),
    **{f"classes {v!r}": (lambda c, v=v: c.wrap(classes=v), ModelError, "classes=") for v in CLASSES},
    **{f"batch_rows {v!r}": (lambda c, v=v: c.wrap(batch_rows=v), ModelError, "batch_rows=") for v in SIZES},
    **{
        f"batch_rows {v!r} of an estimator": (
            lambda c, v=v: wf.wrap(c.estimator, c.schema, batch_rows=v), ModelError, "batch_rows="
        )
        for v in SIZES
    },
    "no columns": (lambda c: c.wrap(lambda rows: np.zeros((len(rows), 0))), ModelError, r"shape \(2, 0\)"),
    "no columns of a regression": (
        lambda c: c.wrap(lambda rows: np.zeros((len(rows), 0)), task="regression"), ModelError, "shape"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ARGUMENTS)
def test_a_faulty_argument_is_named(case, what):
    call, error, message = ARGUMENTS[what]
    with warnings.catch_warnings(), pytest.raises(error, match=message) as got:
        warnings.simplefilter("ignore")
        call(case)
    assert len(str(got.value)) < 500


def test_a_budget_beyond_every_machine_word_is_no_limit(case):
    np.testing.assert_array_equal(case.ask(case.people, budget=10**30).after, case.ask(case.people).after)


# -- settings of methods ------------------------------------------------------------------------------------

WRONG = {
    "int": (-1, 1.5, math.nan, math.inf, "x", True, [3], 10**30),
    "float": (-1, math.nan, "x", True, [3], 1j),
    "bool": (-1, 2, math.nan, "x", [3], 0.5),
    "str": (5, [3], math.nan),
}


def settings_of(name):
    return [(field.name, str(field.type)) for field in fields(type(method(name))) if field.init]


@pytest.mark.parametrize("name", names())
def test_no_setting_takes_what_it_cannot_be(name):
    """Every whole number, number, switch and text that a method has; None where the field does not say so."""
    for setting, declared in settings_of(name):
        if setting == "device":  # has an error of its own, where torch is asked for
            continue
        kind = declared.removesuffix(" | None")
        wrong = WRONG.get(kind, ())
        if "seed" in setting:
            wrong = (*wrong, 2**63)
        for value in (*wrong, *((None,) if kind in WRONG and kind == declared else ())):
            with pytest.raises(MethodError, match=rf"'{name}' has {setting}="):
                method(name, **{setting: value})


OBJECTS = {
    "generator": ("revise", "cruds", "clue", "c-chvae", "cfrl", "mahajan", "plausible-counterfactuals", "abele", "ibr"),
    "others": ("c-chvae", "ibr"), "groups": ("ebr", "ibr"), "ranges": ("dece",),
    "raises": ("mahajan",),
    "effects": ("ordce",), "importance": ("lowprofool",), "law": ("icarma",), "profile": ("icarma",),
    "otherwise": ("roar", "probe", "trex"), "density": ("icarma-polished",), "icarma": ("icarma-polished",),
}  # fmt: skip


@pytest.mark.parametrize("setting", OBJECTS)
def test_no_setting_takes_another_kind_of_object(setting):
    """What no method can use is told when the method is made, not by a traceback when it is fitted."""
    for name in OBJECTS[setting]:
        for value in (3, True, object(), np.array([]), np.zeros((2, 2))):
            with pytest.raises(MethodError, match=rf"'{name}' has {setting}="):
                method(name, **{setting: value})


def test_what_settings_are_declared_as_is_what_is_checked():
    """Nearly every field is of a kind that is checked before a method is made; here are the others."""
    kinds = Counter(kind.removesuffix(" | None") for name in names() for _, kind in settings_of(name))
    known = {*WRONG, "Path | str", "Tick", "Sequence[int]", "tuple[int, ...]", "Mapping[str, float]"}
    assert sum(n for kind, n in kinds.items() if kind in known) > 200
    others = [kind for kind in kinds if kind not in known and not kind.startswith("Literal[")]
    assert len(others) < 40, others


# -- models that answer otherwise when they are asked again, or in another batch --------------------------------


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda rows: (rows[:, 0] / 12 + rng.uniform(-0.3, 0.3, len(rows)) > 0.5).astype(int)


def counting(start):
    asked = iter(range(start, 99))
    return lambda rows: np.full(len(rows), next(asked) / 99)


RANDOM = np.random.default_rng(1)
UNSTEADY = {
    "random labels": (noisy(0), "asked again"),
    "random probabilities": (lambda rows: RANDOM.random(len(rows)), "asked again"),
    "a state": (counting(0), "asked again"),
    "the size of the batch": (
        lambda rows: np.full(len(rows), 0.9 if len(rows) > 3 else 0.1),
        "alone and in a batch",
    ),
    "the mean of the batch": (
        lambda rows: 1 / (1 + np.exp(rows[:, 0].mean() - rows[:, 0])),
        "alone and in a batch",
    ),
}


@pytest.mark.parametrize("what", UNSTEADY)
def test_a_model_that_is_not_steady_is_refused(case, what):
    function, words = UNSTEADY[what]
    with pytest.raises(ModelError, match=words):
        case.wrap(function, output="label" if "labels" in what else "probability")


def test_an_estimator_that_is_not_steady_is_refused(case):
    class Dice(LogisticRegression):
        def predict_proba(self, rows):
            return np.random.default_rng().dirichlet([1, 1], len(rows))

    table = case.table[["a", "b"]]
    model = Dice().fit(table, case.estimator.predict(case.table))
    with pytest.raises(ModelError, match="Dice answers differently when it is asked again"):
        wf.wrap(model, wf.Schema.infer(table))


def test_a_model_that_ends_the_process_is_an_error(case):
    """`sys.exit` in a model ended whoever asked it, with the model's code and without a word."""

    class Ending(LogisticRegression):
        def predict_proba(self, rows):
            sys.exit(0)

    table = case.table[["a", "b"]]
    model = Ending().fit(table, case.estimator.predict(case.table))
    schema = wf.Schema.infer(table)
    module = pytest.importorskip("torch").nn.Linear(2, 1)
    module.forward = lambda rows: sys.exit(0)
    for one in (model, lambda rows: sys.exit(0), module):
        with pytest.raises(ModelError, match="failed on .*SystemExit|failed on .*tensor"):
            wf.wrap(one, schema)


def test_a_random_model_is_asked_often_and_the_share_of_yes_is_told(case):
    """25 askings a row; of a label with p = x / 10, the share is within 4 standard deviations of p."""
    rng = np.random.default_rng(0)
    model = case.wrap(
        lambda rows: (rng.random(len(rows)) < rows[:, 0] / 10).astype(int), random=True, output="label"
    )
    rows = np.repeat(np.array([[1.0, 3, 1, 0], [5.0, 3, 1, 0], [9.0, 3, 1, 0]]), 20, axis=0)
    model.counter.reset()
    out, label = model.native(rows)
    assert model.counter.native_rows == 25 * len(rows)
    share = out[:, 1].reshape(3, 20).mean(1)
    assert (np.abs(share - [0.1, 0.5, 0.9]) < 4 * np.sqrt([0.09 / 500, 0.25 / 500, 0.09 / 500])).all()
    np.testing.assert_allclose(out * 25, np.round(out * 25), atol=1e-9)
    assert (label[:20] == 0).all() and (label[40:] == 1).all()
    assert any("asked 25 times" in note for note in model.notes)
    problem = wf.Problem(case.schema, model, wf.Target(1, threshold=0.8), data=case.table)
    got = wf.recommend(problem, case.people)
    assert got.meta["askings"] == 25 and (got.score[got.found] >= 0.8).all()
    assert got.found.any() and "asked 25 times" in got.explain(int(np.flatnonzero(got.found[:, 0])[0]))


def test_a_model_without_the_tags_of_scikit_learn_is_wrapped(case):
    class Plain:
        classes_ = np.array([0, 1])

        def fit(self, rows, labels):
            return self

        def predict(self, rows):
            return (np.asarray(rows)[:, 0] > 6).astype(int)

        def predict_proba(self, rows):
            p = 1 / (1 + np.exp(6 - np.asarray(rows, dtype=float)[:, 0]))
            return np.stack([1 - p, p], axis=1)

    table = case.table[["a", "b"]]
    schema = wf.Schema.infer(table).revise(b={"actionability": "immutable"})
    problem = wf.Problem(schema, wf.wrap(Plain(), schema), wf.Target(1), data=table)
    assert wf.recommend(problem, table[table.a < 6].iloc[:3]).found.all()
    for broken, words in (
        ({"classes_": np.array([])}, "no classes_"),
        ({"predict_proba": lambda *_: np.ones((12, 1))}, "shape"),
    ):
        with pytest.raises(ModelError, match=words):
            wf.wrap(type("Broken", (Plain,), broken)(), schema)


# -- files of schemas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["\x85", "\x00", "\u2028", "\u202e", "\x1b[31m", "\n", "\ufeff", " a", "[/red]", "é", "no"]
)
def test_every_level_survives_a_file(tmp_path, text):
    level = wf.Feature(name="j", kind="categorical", levels=("a", text))
    schema = wf.Schema((level, wf.Feature(name="n", kind="real", low=0, high=1)))
    schema.to_yaml(tmp_path / "schema.yaml")
    assert wf.Schema.from_yaml(tmp_path / "schema.yaml").features[0].levels == ("a", text)
