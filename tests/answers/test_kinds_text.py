"""What is said of kinds of plans: their names, their price, how long they last; nothing where nobody asked."""

from dataclasses import replace

import numpy as np
import pytest

from wayforward.answers import letter, report
from wayforward.answers.kinds_text import kind_name, kind_notes, no_lasting_text, price_text
from wayforward.answers.tables import plans_table


@pytest.fixture
def two(problem):
    """Somebody with two plans: 5,000 EUR for .25 of the range, 5,600 EUR for .28."""
    x = np.array([[40, 2000.0, 0, 0.2, 0, 0, 4.0]])
    action = np.full((1, 2, 7), np.nan)
    action[0, 0, 1], action[0, 1, 1] = 5000, 5600
    got = problem.check(x, action, k=2)
    assert got.found.all()
    meta = {"kinds": ["cheapest", "lasting"], "retraining": {"judged": 10}}
    kind = np.array([["cheapest", "lasting"]], dtype=object)
    return replace(got, kind=kind, lasts=np.array([[0.4, 0.9]]), meta=meta)


def test_names_prices_and_counts(two):
    assert [kind_name(two, o) for o in (0, 1)] == ["least effort", "made to last"]
    assert price_text(two, 0) == "" and "20" in price_text(two, 1)
    both = replace(two, kind=np.array([["cheapest+fewest", "lasting"]], dtype=object))
    assert kind_name(both, 0) == "least effort and fewest changes"
    far = replace(two, cost=two.cost * [[1, 3]])
    assert price_text(far, 1) == "about 3.6 times the effort of plan 1"
    assert price_text(far, 1, first="option 1").endswith("of option 1")


def test_the_letter_names_each_plan_and_its_price(problem, two):
    text = letter(problem, two, 0, reasons=False)
    assert "Plan 1 (least effort)" in text and "Plan 2 (made to last)" in text
    assert "more effort than plan 1." in text
    explained = (
        "Models are renewed from time to time. In a test, 4 of 10 renewed models said yes to this plan."
    )
    assert text.count("Models are renewed") == 1 and explained in text  # what the test is, is said once
    assert "In the same test, 9 of 10 said yes to this plan." in text
    assert "no plan that is likely to hold" not in text
    means = "Made to last means: it should still be a yes when the model is trained again."
    assert text.count(means) == 1 and text.index(means) > text.index("Plan 2")
    told = replace(two, problem=problem).explain(0)
    assert "made to last" in told and told.count(means) == 1 and told.count("a little off") == 1


def test_a_table_says_which_plan_a_kind_is_the_same_as_and_which_kind_nobody_found(problem, two):
    """Two plans of three kinds: the plan with the fewest changes is the cheapest one."""
    three = problem.check(two.x, two.action, k=3)
    meta = {"kinds": ["cheapest", "fewest", "lasting"]}
    kinds = np.array([["cheapest+fewest", "lasting", ""]], dtype=object)
    rows = replace(three, kind=kinds, meta=meta).to_frame("dict")
    assert rows["outcome"].tolist() == ["FOUND", "FOUND", "SAME"]
    assert rows["kind"].tolist() == ["cheapest+fewest", "lasting", "fewest"]
    np.testing.assert_array_equal(rows["same_as"], [np.nan, np.nan, 0])
    alone = problem.check(two.x, two.action[:, :1], k=3)
    alone = replace(alone, kind=np.array([["cheapest+fewest", "", ""]], dtype=object), meta=meta)
    rows = alone.to_frame("dict")
    assert rows["outcome"].tolist() == ["FOUND", "SAME", "NOT_FOUND"]
    assert rows["kind"].tolist() == ["cheapest+fewest", "fewest", "lasting"]
    nobody = problem.check(two.x, np.full((1, 3, 7), np.nan), k=3)
    assert set(replace(nobody, meta=meta).to_frame("dict")["outcome"]) == {"NOT_FOUND"}


def test_who_has_no_lasting_plan_is_told_so(problem, two):
    alone = replace(two, kind=np.array([["cheapest", ""]], dtype=object))
    for text in (letter(problem, alone, 0, reasons=False), alone.explain(0)):
        assert "We found no plan that is likely to hold when the model is renewed." in text
    assert no_lasting_text(two) == ""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("", ""),
        ("fewest", "fewest changes"),
        ("cheapest+fewest", "least effort and fewest changes"),
        ("cheapest+fewest+lasting", "least effort, fewest changes and made to last"),
    ],
)
def test_what_an_option_is_best_at_is_a_list_as_people_write_it(two, kind, name):
    assert kind_name(replace(two, kind=np.array([[kind, ""]], dtype=object)), 0) == name


def test_one_plan_that_is_both_is_told_once(problem, two):
    one = problem.check(two.x, two.action[:, :1], k=2)
    one = replace(one, kind=np.array([["cheapest+lasting", ""]], dtype=object), meta=two.meta)
    text = letter(problem, one, 0, reasons=False)
    assert text.count("savings") == 1 and "It is also the plan that is made to last." in text
    titled = " ".join(kind_notes(one, 0, titled=True))  # a page that calls it "least effort and made to last"
    assert "It is also" not in titled and "Made to last means" in titled


def test_where_nobody_asked_nothing_is_said(problem, two):
    plain = problem.check(two.x, two.action, k=2)
    assert kind_notes(plain, 1) == [] and no_lasting_text(plain) == ""
    assert "least effort" not in letter(problem, plain, 0) and "kind" not in plans_table(plain)[0]
    assert plans_table(two)[1]["kind"] == "lasting" and plans_table(two)[1]["lasts"] == 0.9


def test_the_report_shows_kinds(problem, two, tmp_path):
    pytest.importorskip("matplotlib")
    text = report(problem, two, tmp_path / "page.html").read_text()
    assert "made to last, cost" in text and "In the same test, 9 of 10 said yes to this plan" in text
    assert "more effort than option 1." in text and "plan 1" not in text
