"""One person who asks alone, as at a service: the answer of a call of many, with one call of the model."""

from __future__ import annotations

import threading
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import wayforward as wf
from wayforward.model import train, wrap
from wayforward.model.adapted import without_warnings
from wayforward.problem import Problem, Target
from wayforward.testing.problems import random_labels, random_people, random_schema

FIELDS = ("x", "action", "after", "cost", "plain_cost", "chance", "score", "outcome", "score_before", "path")


@cache
def setting(model: str) -> tuple[Problem, np.ndarray]:
    """A problem with every kind of feature and rules, and people of whom the model refuses most."""
    rng = np.random.default_rng(5)
    schema = random_schema(rng, rules=True)
    x = random_people(schema, 260, rng)
    y, _ = random_labels(schema, x)
    pipeline = train(model, schema, x, y, seed=0)
    if model == "lr":
        problem = Problem(schema, pipeline, Target(1), data=x)
    else:  # a threshold, and a table as it comes
        problem = Problem(schema, pipeline, Target(1, threshold=0.6), data=schema.decode(x, like="pandas"))
    refused = ~problem.reached(x)[0]
    return problem, np.concatenate([x[refused][:9], x[~refused][:2]])


def same(one: Any, other: Any) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("model", ["lr", "rf"])
def test_one_by_one_gives_the_bits_of_one_call(model: str, k: int) -> None:
    problem, x = setting(model)
    method = wf.method("local-search").fit(problem)
    together = method.recommend(x, k)
    assert together.found.any() and together.accepted.any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those who are accepted already
        for i in range(len(x)):
            same(method.recommend(x[i : i + 1], k), together[i])


@pytest.mark.parametrize("given", ["mapping", "pandas", "polars", "pyarrow"])
def test_a_person_is_the_same_person_in_any_form(given: str) -> None:
    problem, x = setting("lr")
    method, row = wf.method("nice").fit(problem), x[:1]
    if given == "mapping":
        table = problem.schema.decode(row, like="dict")
        table = {name: values[0] for name, values in table.items()}
    else:
        table = problem.schema.decode(row, like=given)
    same(method.recommend(table), method.recommend(row))


@pytest.mark.parametrize("k", [1, 3])
def test_the_model_itself_is_asked_once_about_a_person_and_all_their_options(k: int) -> None:
    problem, x = setting("rf")
    method = wf.method("local-search").fit(problem)
    counter = problem.model.counter
    calls, rows = counter.native_calls, counter.native_rows
    got = method.recommend(x[:1], k)
    assert got.found.any() and counter.native_calls == calls + 1
    assert got.meta["native_rows"] == counter.native_rows - rows >= 1 + got.found.sum()


def test_a_model_that_cannot_be_read_is_asked_about_the_person_first() -> None:
    problem, x = setting("lr")
    closed = Problem(
        problem.schema,
        wrap(problem.model.wrapped, problem.schema, fast=False),
        Target(1),
        data=problem.reference,
    )
    assert closed.presumed(x) is None
    read, whole = (wf.method("nearest-observable").fit(it).recommend(x) for it in (problem, closed))
    np.testing.assert_array_equal(read.outcome, whole.outcome)
    np.testing.assert_array_equal(read.after, whole.after)


def test_whom_only_the_fast_path_accepts_is_searched_for_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And whom only the fast path refuses is accepted: the model itself has the last word."""
    problem, x = setting("lr")
    method = wf.method("nearest-observable").fit(problem)
    right = method.recommend(x, 2)
    truth, honest = problem.reached(x)[0], problem.presumed
    for wrong in (np.ones(len(x), bool), ~truth, np.arange(len(x)) % 2 == 0):
        monkeypatch.setattr(
            problem, "presumed", lambda rows, wrong=wrong: wrong if len(rows) == len(x) else honest(rows)
        )
        same(method.recommend(x, 2), right)


def test_threads_that_ask_one_method_get_the_same_answers_and_lose_no_count() -> None:
    problem, x = setting("rf")
    method = wf.method("nice").fit(problem)
    alone = [method.recommend(x[i : i + 1]) for i in range(9)]
    problem.model.counter.reset()
    got: dict[tuple[int, int], Any] = {}
    wait = threading.Barrier(4)

    def ask(thread: int) -> None:
        wait.wait()
        for i in range(9):
            got[thread, i] = method.recommend(x[i : i + 1])

    threads = [threading.Thread(target=ask, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 36
    for (_, i), one in got.items():
        same(one, alone[i])
        for count in ("model_rows", "model_calls", "native_rows"):
            assert one.meta[count] == alone[i].meta[count]
    counter = problem.model.counter
    assert counter.rows == 4 * sum(one.meta["model_rows"] for one in alone)
    assert counter.native_rows == 4 * sum(one.meta["native_rows"] for one in alone)


def test_filters_of_warnings_are_back_after_threads_that_overlap() -> None:
    before = list(warnings.filters)
    first, second = without_warnings(), without_warnings()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert warnings.filters[0][0] == "ignore"
    second.__exit__(None, None, None)
    assert warnings.filters == before


@pytest.mark.parametrize("model", ["lr", "rf"])
def test_warming_counts_nothing_and_changes_no_answer(model: str) -> None:
    problem, x = setting(model)
    cold = wf.method("local-search").fit(problem)
    problem.model.counter.reset()
    warm = wf.method("local-search").fit(problem).warm(k=2)
    counter = problem.model.counter
    assert (counter.rows, counter.calls, counter.native_rows, counter.native_calls) == (0, 0, 0, 0)
    same(warm.recommend(x[:2]), cold.recommend(x[:2]))


def test_typical_people_are_refused_ones_first_and_do_without_a_table() -> None:
    problem, _ = setting("lr")
    bare = Problem(problem.schema, problem.model, problem.target)
    for it in (problem, bare):
        x = it.typical_people(each=3)
        assert x.shape == (6, problem.schema.d)
        np.testing.assert_array_equal(it.reached(x)[0], [False] * 3 + [True] * 3)


@pytest.mark.parametrize("model", ["lr", "rf", "mlp", "gb"])
def test_whom_the_model_accepts_in_the_table_is_as_it_says_itself(model: str) -> None:
    problem, _ = setting(model)
    again = Problem(problem.schema, problem.model, problem.target, data=problem.reference)
    rows = problem.model.counter.native_rows
    quick = again.reference_reached
    assert problem.model.counter.native_rows - rows < 0.2 * len(quick)
    np.testing.assert_array_equal(quick, problem.reached(problem.reference)[0])
