"""Deadlines: what is found in time is returned and judged, nobody waits much longer, and nothing false is claimed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wayforward as wf
from wayforward import deadline as clocks
from wayforward.answers import letter
from wayforward.errors import MethodError
from wayforward.evaluate import second_opinion
from wayforward.methods import Method
from wayforward.methods.certificates import certified
from wayforward.methods.in_time import Turn
from wayforward.recourse import Outcome, Recourse
from wayforward.testing.problems import Case, case


class Slow:
    """A clock that only a model moves."""

    def __init__(self, start: float) -> None:
        self.time = start

    def __call__(self) -> float:
        return self.time


CLOCK = Slow(0.0)


@pytest.fixture
def slow() -> Iterator[Slow]:
    """A clock at rest, in the place of the machine's."""
    with clocks.clock_of(CLOCK):
        yield CLOCK


@cache
def opaque(call: float = 1.0, row: float = 0.0, n: int = 16) -> tuple[Case, Method]:
    """A problem whose model is a function that takes its time, seconds a call and a row; and a method for it."""
    it = case("forest", "independent", 0, n)
    plain = it.problem.model

    def ask(rows: np.ndarray) -> np.ndarray:
        CLOCK.time += call + row * len(rows)
        return plain.native(rows)[0]

    model = wf.wrap(ask, it.problem.schema, classes=plain.classes, output="probability")
    problem = it.problem.decided_by(model, it.problem.target)
    return Case(problem, it.x), wf.method("local-search").fit(problem)


def same(one: Recourse, other: Recourse) -> None:
    """The same bits."""
    for name in ("action", "after", "cost", "score", "outcome"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_time_enough_changes_nothing(slow: Slow) -> None:
    it, fitted = opaque()
    plain = fitted.recommend(it.x[:6], 2)
    got = fitted.recommend(it.x[:6], 2, deadline=1e9)
    same(plain, got)
    assert not got.cut_short.any()


@pytest.mark.parametrize(
    ("method", "seconds"), [("local-search", 6.0), ("growing-spheres", 12.0), ("nice", 25.0), ("dice", 12.0)]
)
def test_a_model_of_a_second_a_call_is_bounded_within_one_and_a_half_times(
    slow: Slow, method: str, seconds: float
) -> None:
    it, fitted = opaque()
    fitted = fitted if method == fitted.name else wf.method(method).fit(it.problem)
    slow.time = 0.0
    got = fitted.recommend(it.x, 2, deadline=seconds)
    assert slow.time <= 1.5 * seconds
    assert got.n == len(it.x)
    assert second_opinion(it.problem, got).usable[got.found].all()
    assert (got.outcome[got.cut_short] != Outcome.NONE_EXISTS).all()


@pytest.mark.parametrize("seconds", [0.2, 3.0, 90.0])
def test_a_model_of_a_tenth_of_a_second_a_row_is_asked_in_blocks_that_fit(slow: Slow, seconds: float) -> None:
    it, fitted = opaque(0.0, 0.1)
    slow.time = 0.0
    got = fitted.recommend(it.x, 1, deadline=seconds)
    assert slow.time <= 1.5 * seconds
    assert second_opinion(it.problem, got).usable[got.found].all()
    refused = it.refused
    assert (got.outcome[~refused][:, 0][got.readable[~refused]] == Outcome.ACCEPTED).all()
    assert got.cut_short[refused].all() if seconds < 50 else got.readable.all()
    if seconds < 1:  # not everybody could be asked about
        late = ~got.readable
        assert late.any() and (got.reasons[late] == clocks.NOT_IN_TIME).all() and got.cut_short[late].all()
        judged = wf.evaluate(got[np.flatnonzero(late)], it.problem)
        assert judged.usable == 0 and judged.outcomes["NOT_ASKED"] == late.sum() == judged["not_asked"].n
        assert "nothing to evaluate" in judged.notes[0] and np.isnan(judged.cost)


def test_more_time_finds_more(slow: Slow) -> None:
    it, fitted = opaque()
    found = []
    for seconds in (4.0, 15.0, 1e6):
        slow.time = 0.0
        got = fitted.recommend(it.x, 1, deadline=seconds)
        found.append(int(got.found[:, 0].sum()))
    assert found[0] < found[-1] == max(found)
    assert found[1] > 0, "what was found by then is kept"


def test_seconds_a_person_are_shared_by_those_who_are_searched_for_together(slow: Slow) -> None:
    it, fitted = opaque()
    slow.time = 0.0
    fitted.recommend(it.x, 1, deadline=wf.Deadline(person=0.5))
    assert slow.time <= 1.5 * 0.5 * len(it.x)
    slow.time = 0.0
    fitted.recommend(it.x, 1, deadline=wf.Deadline(person=100.0, total=5.0))
    assert slow.time <= 1.5 * 5.0


def test_answers_say_in_words_that_they_depend_on_it(slow: Slow) -> None:
    it, fitted = opaque()
    seen = []
    for seconds in (4.0, 18.0):
        slow.time = 0.0
        got = fitted.recommend(it.x, 1, deadline=seconds)
        assert f"{int(got.cut_short.sum())} ended by the deadline" in repr(got)
        assert got.meta["deadline"] == {"total": seconds}
        seen += [(got, i) for i in np.flatnonzero(got.cut_short)]
    found = next((got, i) for got, i in seen if got.found[i, 0])
    empty = next((got, i) for got, i in seen if not got.found[i, 0])
    assert "time given for the search was over" in found[0].explain(int(found[1]))
    assert "time given for the search was over" in letter(it.problem, found[0], int(found[1]))
    assert "in the time that was given" in empty[0].explain(int(empty[1]))
    assert "in der Zeit, die vorgesehen war" in empty[0].explain(int(empty[1]), language="de")


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_files_keep_whose_search_was_ended(slow: Slow, tmp_path: Path, ending: str) -> None:
    it, fitted = opaque()
    slow.time = 0.0
    got = fitted.recommend(it.x, 1, deadline=12.0)
    back = Recourse.load(got.save(tmp_path / f"answers.{ending}"))
    assert (back.ended_by == got.ended_by).all() and back.cut_short.any()
    assert (got[np.flatnonzero(got.cut_short)].cut_short).all()


def test_compiled_searches_take_few_people_at_a_time() -> None:
    """The kernel of a forest cannot be stopped: the clock moves by what each piece of people is said to take."""
    it = case("forest", "independent", 0, 120)
    fitted = wf.method("local-search").fit(it.problem)
    plain = fitted.recommend(it.x, 2)
    same(plain, fitted.recommend(it.x, 2, deadline=1e6))
    ticks = iter(np.arange(0.0, 1e6, 0.25))
    with clocks.clock_of(lambda: float(next(ticks))):
        got = fitted.recommend(it.x, 2, deadline=10.0)
    assert got.cut_short.any() and got.n == len(it.x)
    assert (got.outcome[got.cut_short] != Outcome.NONE_EXISTS).all()
    there = ~got.cut_short
    np.testing.assert_array_equal(got.action[there], plain.action[there])


def test_who_asks_for_less_time_than_preparing_took_is_answered(slow: Slow) -> None:
    """Preparing asks about 400 people at once, 4.5 seconds; a few take 0.6, as `wrap` saw when it asked about some."""
    it, fitted = opaque(0.5, 0.01)
    slow.time = 0.0
    got = fitted.recommend(it.x, 1, deadline=3.0)
    assert got.readable.all() and got.accepted.any() and slow.time <= 1.5 * 3.0


@pytest.mark.parametrize("given", [0, -1.0, float("nan"), float("inf"), "60", True, (1, 2), 10**400])
def test_what_is_no_time_is_refused(given: Any) -> None:
    it = case("linear", "independent", 0, 12)
    with pytest.raises(MethodError, match="deadline"):
        wf.recommend(it.problem, it.x, deadline=given)
    with pytest.raises(MethodError, match="ends nothing"):
        wf.Deadline()


def test_the_pace_of_a_model_is_bounded_from_above() -> None:
    """After one call all of its time may be the rows'; after two sizes it is a line; growth is limited."""
    pace = clocks.Pace()
    assert pace.most(5.0, 100) == 1
    pace.learn(1, 1.0)
    assert pace.most(5.0, 100) == 5 and pace.seconds(5) == 5.0
    pace.learn(5, 1.0)
    assert pace.most(5.0, 1000) == 80 and pace.seconds(80) == 1.0
    assert pace.most(0.5, 1000) == 0


def test_tables_and_kinds_keep_to_it_and_say_so(slow: Slow, tmp_path: Path) -> None:
    it, fitted = opaque()
    slow.time = 0.0
    people = it.problem.schema.decode(it.x)
    answers = wf.recommend_table(fitted, people, tmp_path / "late", deadline=12.0, rows_per_shard=8)
    assert slow.time <= 1.5 * 12.0
    parts = list(answers.parts())
    assert answers.counts()["cut_short"] == sum(int(part.cut_short.sum()) for part in parts) > 0
    assert answers.manifest["question"]["deadline"] == {"total": 12.0}
    slow.time = 0.0
    got = wf.recommend(it.problem, it.x, fitted, kinds=("cheapest", "fewest"), deadline=20.0)
    assert slow.time <= 1.5 * 20.0 and got.cut_short.any()


def test_no_process_is_started_for_a_few_seconds(slow: Slow) -> None:
    """Starting one takes longer than the search; this model, a local function, could not even travel there."""
    it, fitted = opaque()
    answers = []
    for workers in (1, 2):
        slow.time = 0.0
        answers.append(fitted.recommend(it.x, 1, deadline=9.0, workers=workers, on="processes"))
    same(*answers)
    assert answers[1].found.any()


def test_where_no_time_is_left_nothing_is_certified() -> None:
    it = case("forest", "independent", 0, 40)
    method = wf.method("local-search").fit(it.problem)
    got = method.recommend(it.x, 1)
    assert np.isfinite(certified(got).bound).any()
    assert np.isnan(certified(got, end=clocks.now()).bound).all()


def test_a_turn_that_travels_keeps_what_is_left_of_its_time() -> None:
    """In another process; a wall clock that was set back meanwhile makes no time."""
    with clocks.clock_of(lambda: 100.0):
        packed = pickle.dumps(Turn(107.0, (np.zeros(1, bool), np.zeros(1))))
    with clocks.clock_of(lambda: 5000.0):
        assert 5006.0 < pickle.loads(packed).end <= 5007.0
