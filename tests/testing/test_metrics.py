"""Every metric of the library keeps the contract of metrics, and the contract catches those that break it."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.evaluate import MEANING, METRICS, Metric, Share, evaluate, register_metric
from wayforward.evaluate.metric import measure
from wayforward.methods import recommend
from wayforward.testing import MetricContract, case
from wayforward.testing.metrics import answers

for _name in METRICS:  # one class a metric, as whoever adds one writes it
    globals()[f"Test_{_name}"] = type(f"Test_{_name}", (MetricContract,), {"metric": _name})


def numbers(e):
    return np.where(e.has, (~np.isnan(e.real_acts)).sum(1), np.nan)


def metric(function, name="mine", **more):
    return Metric(name, "made up", "features", "everybody", function, **more)


@pytest.fixture
def registered():
    """A metric of an outsider, taken out of the tables again afterwards."""
    mine = metric(numbers)
    register_metric(mine)
    yield mine
    del METRICS["mine"], MEANING["mine"]


def test_a_metric_that_joins_the_table_is_in_every_evaluation(registered):
    problem, x = case("linear", "independent", 0, 40).problem, case("linear", "independent", 0, 40).x
    got = evaluate(recommend(problem, x, k=2, seed=1), problem, metrics="headline")
    assert got["mine"].value == got["acted"].value
    assert list(got.totals)[-1] == "mine" and got.table()[-1]["meaning"] == "made up"
    np.testing.assert_array_equal(got.people["mine"] > 0, got.chosen >= 0)
    with pytest.raises(DataError, match="already"):
        register_metric(metric(numbers))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "two words"}, "is no name"),
        ({"meaning": ""}, "no meaning"),
        ({"unit": " "}, "no unit"),
        ({"denominator": ""}, "no denominator"),
        ({"level": "most"}, "level='most'"),
    ],
)
def test_a_metric_says_what_it_is(wrong, message):
    parts = {"name": "mine", "meaning": "made up", "unit": "features", "denominator": "everybody"} | wrong
    with pytest.raises(DataError, match=message):
        Metric(measure=numbers, **parts)


def test_one_number_a_person():
    evidence = answers("independent")
    with pytest.raises(DataError, match="gave shape"):
        measure([metric(lambda e: np.zeros(3))], evidence)
    assert measure([metric(lambda e: None)], evidence) == ({}, {})


class Contract(MetricContract):
    """The contract for a function, asked by hand."""

    __test__ = False

    def __init__(self, function):
        self.metric = metric(function)


@pytest.mark.parametrize(
    ("function", "test"),
    [
        (lambda e: np.where(e.has, 1.0, np.inf), "test_values_are_numbers_with_their_denominator"),
        (lambda e: np.arange(e.n) * 1.0, "test_the_order_of_people_changes_nothing"),
        (lambda e: np.full(e.n, e.n * 1.0), "test_everybody_twice_changes_no_mean"),
        (lambda e: Share(np.arange(e.n) < 5), "test_everybody_twice_changes_no_mean"),
        (lambda e: np.where(e.has, 1.0, np.inf), "test_nothing_found_is_no_error"),
        (lambda e: None, "test_it_is_measured_here"),
    ],
)
def test_the_contract_catches(function, test):
    with pytest.raises(AssertionError):
        getattr(Contract(function), test)("independent")


def test_the_contract_catches_who_writes_into_an_answer():
    contract = Contract(lambda e: e.action.fill(0) or numbers(e))
    with pytest.raises(ValueError, match="read-only"):
        contract.test_it_is_measured_here("independent")
