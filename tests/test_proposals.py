"""What a schema that was inferred proposes, and what it leaves for people to say."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wayforward as wf
from wayforward.errors import DataError, SchemaError
from wayforward.schema import SchemaWarning
from wayforward.schema.inference import least_change_of

pd = pytest.importorskip("pandas")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 120
    return pd.DataFrame(
        {
            "customerId": np.arange(n) + 5000,
            "Age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "monthly_income": rng.integers(500, 9000, n),
            "times_late_90": rng.integers(0, 9, n),
            "package": rng.choice([3, 7, 12], n),
            "savings": rng.integers(0, 9000, n),
            "granted": rng.integers(0, 2, n),
        }
    )


def test_names_propose_who_can_change_what(table):
    """A whole word counts, whatever the case: 'package' holds 'age' and is no age."""
    schema = wf.Schema.infer(table, label="granted")
    who = {f.name: (f.actionability, f.direction, f.sensitive) for f in schema.features}
    assert who == {
        "customerId": ("immutable", "any", False),
        "Age": ("immutable", "any", False),
        "sex": ("immutable", "any", True),
        "monthly_income": ("actionable", "increase", False),
        "times_late_90": ("immutable", "any", False),
        "package": ("actionable", "any", False),
        "savings": ("actionable", "increase", False),
    }
    assert list(schema.guesses) == [
        "customerId",
        "Age",
        "sex",
        "monthly_income",
        "times_late_90",
        "package",
        "savings",
    ]
    assert "guessed: Age: nobody changes it" in repr(schema)
    assert pickle.loads(pickle.dumps(schema)).guesses == schema.guesses


def test_numbers_that_name_something_are_nobodys_to_change(table):
    """An account number moved up in plans; a number of loans, and an income that nobody shares, stay free."""
    n = len(table)
    rng = np.random.default_rng(1)
    more = table.assign(
        account_number=rng.permutation(n) * 7 + 100_000, caseNo=rng.integers(1, 9000, n),
        zip=rng.integers(10_000, 99_999, n), number_of_loans=rng.integers(0, 9, n), house_number=rng.integers(1, 40, n),
    )  # fmt: skip
    schema = wf.Schema.infer(more, label="granted")
    for name in ("account_number", "caseNo", "zip"):
        assert schema[name].actionability == "immutable"
        assert schema.guesses[name] == "is a name in digits, so nobody changes it"
    for name in ("number_of_loans", "house_number", "monthly_income", "savings"):
        assert schema[name].actionability == "actionable"


def test_money_of_ones_own_is_not_lowered_where_the_name_is_plain(table):
    """A balance of a card or of a loan is a debt, a rate of saving is a habit, and a word decides only as a whole."""
    rng = np.random.default_rng(2)
    own = ("savings", "bank_balance", "totalAssets", "balance")
    other = ("card_balance", "current_balance", "outstanding_balance", "savings_goal", "balancesheet")
    more = pd.DataFrame({name: rng.integers(0, 9000, len(table)) for name in (*own, *other)})
    schema = wf.Schema.infer(more)
    assert {name: schema[name].direction for name in more} == dict.fromkeys(own, "increase") | dict.fromkeys(
        other, "any"
    )
    assert set(schema.guesses) == set(own)
    assert schema.guesses["savings"] == "is one's own money, so it is not lowered"


def test_what_is_said_is_no_guess_any_more(table):
    schema = wf.Schema.infer(table, label="granted", Age={"actionability": "actionable"})
    assert schema["Age"].actionability == "actionable" and "Age" not in schema.guesses
    schema = schema.revise(sex={"sensitive": False}).drop("customerId").with_rules("at most 2 changes")
    assert list(schema.guesses) == ["monthly_income", "times_late_90", "package", "savings"]
    assert wf.Schema.from_yaml(schema.to_yaml()) == schema
    plain = wf.Schema.infer(table, label="granted", propose=False)
    assert plain.actionable.all() and not plain.guesses and not plain.direction.any()


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ((-7, 500, 1000, 2000), {-7}),
        ((-9, -8, 100, 200), {-9, -8}),
        ((-3, 0, 3, 6), set()),
        ((-7, 60, 90), set()),
    ],
)
def test_a_code_stands_out_beside_few_numbers_that_are_far_from_it(values, codes):
    schema = wf.Schema.infer(pd.DataFrame({"insured": np.repeat(values, 40)}))
    assert set(schema["insured"].special_words) == codes
    assert schema["insured"].low == min(set(values) - codes)


def test_a_year_of_the_calendar_is_nobodys_to_change():
    rng = np.random.default_rng(3)
    schema = wf.Schema.infer(
        pd.DataFrame({"yr built": rng.integers(1962, 2025, 300), "miles a year": rng.integers(0, 2000, 300)})
    )
    assert [f.actionability for f in schema.features] == ["immutable", "actionable"]
    assert schema.guesses == {"yr built": "is a year of the calendar, so nobody changes it"}


def test_a_column_called_like_the_decision_is_refused(table):
    with pytest.raises(SchemaError, match="'granted' is called like the decision.*label='granted'"):
        wf.Schema.infer(table)
    assert "granted" in wf.Schema.infer(table, granted={}).names
    with pytest.raises(DataError, match="no column 'grantd'.*Did you mean 'granted'"):
        wf.Schema.infer(table, label="grantd")


def test_codes_learn_their_levels_from_the_table(table):
    schema = wf.Schema.infer(
        table, label="granted", package={"kind": "categorical"}, savings={"high": 10_000}
    )
    assert schema["package"].levels == (3, 7, 12) and schema["savings"].high == 10_000
    floats = table.assign(package=table["package"].where(table.index > 3))
    assert wf.Schema.infer(floats, label="granted", package={"kind": "ordinal"})["package"].levels == (
        3,
        7,
        12,
    )


def test_a_schema_in_which_all_may_change_is_said_once(table):
    schema = wf.Schema.infer(table[["package", "savings"]], propose=False)
    table = table[table["savings"] < 4000]
    model = wf.wrap(lambda x: (x[:, 1] > 4000) * 0.8, schema)
    problem = wf.Problem(schema, model, wf.Target(favourable=1))
    with pytest.warns(SchemaWarning, match="Nothing in this schema is declared immutable"):
        wf.recommend(problem, schema.encode(table)[:3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.recommend(problem, schema.encode(table)[:3])
        said = schema.revise(package={"actionability": "immutable"})
        wf.recommend(wf.Problem(said, model.wrapped, wf.Target(favourable=1)), schema.encode(table)[:3])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=20, max_size=60, unique=True),
    st.sampled_from([1.0, 0.1, 0.01]),
)
def test_a_least_change_is_the_largest_round_number_within_a_fiftieth_of_the_middle_half(whole, step):
    """The words of the draft, by brute force over 1, 2 and 5 times every power of ten."""
    values = np.round(np.array(whole) * step, 2)
    low, high = np.quantile(values, (0.25, 0.75))
    rounds = [
        share * 10.0**k for k in range(-4, 7) for share in (1, 2, 5) if share * 10.0**k <= (high - low) / 50
    ]
    largest = max((one for one in rounds if one > step * 1.0001), default=None)
    got = least_change_of(values, step, len(values))
    if largest is None:
        assert got is None
    else:
        assert got == pytest.approx(largest, rel=1e-9)


def test_few_uneven_whole_numbers_are_asked_about(table):
    """A plan that sets a code between two codes means nothing: what may be codes is said, and not decided."""
    even = np.tile([12, 24, 36, 48], 30)
    schema = wf.Schema.infer(table.drop(columns="granted").assign(term=even))
    assert "holds only 3, 7, 12; if these are codes" in schema.guesses["package"]
    assert schema["package"].kind == "integer" and "term" not in schema.guesses
    assert "codes" not in schema.guesses["times_late_90"] and "codes" not in schema.guesses["savings"]


def test_many_sentences_are_texts_even_where_several_people_have_the_same():
    rng = np.random.default_rng(1)
    parts = [
        "quiet garden please",
        "near my work",
        "the family grows",
        "moving for studies",
        "an old damp flat",
    ]
    said = [", ".join(rng.permutation(parts)[: 3 + i % 3]) for i in range(900)]
    towns = [f"town {i % 60}" for i in range(900)]
    table = pd.DataFrame({"why": said, "town": towns, "rooms": rng.integers(1, 6, 900)})
    assert 50 < table["why"].nunique() < 450
    schema = wf.Schema.infer(table)
    assert [feature.kind for feature in schema.features] == ["carried", "categorical", "integer"]
    assert "nobody acts on them" in schema.guesses["why"]


def test_dates_written_as_texts_are_carried_however_many_people_share_one():
    days = [f"2024-{1 + i % 9:02d}-{1 + i % 28:02d}" for i in range(300)]
    odd = [*days[:-1], "soon"]
    table = pd.DataFrame({"handed_in": days, "half": odd, "rooms": np.arange(300) % 5})
    schema = wf.Schema.infer(table)
    assert schema["handed_in"].kind == "carried" and schema["handed_in"].example == "2024-05-15"
    assert schema.guesses["handed_in"].startswith("holds dates: ")
    assert schema["half"].kind == "categorical"  # one is no date
    assert wf.Schema.infer(table, handed_in={"kind": "categorical"})["handed_in"].kind == "categorical"
