"""Budgets of answers: counted before they are given, whole or not at all, by many processes in one file."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import wayforward as wf
from wayforward.errors import DataError, WriteError
from wayforward.impact.disclosure.ledger import BudgetSpent, Ledger
from wayforward.impact.disclosure.service import Service
from wayforward.testing import case
from wayforward.workers import as_done


def test_what_is_too_much_is_refused_and_not_counted(tmp_path: Path) -> None:
    """In all, and on a day; another client has a budget of their own; a new Ledger of the file goes on."""
    ledger = Ledger(tmp_path / "a.db", per_client=10, per_day=6)
    monday, tuesday = date(2026, 11, 23), date(2026, 11, 24)
    assert ledger.spend("one", 5, monday) == 1
    with pytest.raises(BudgetSpent, match=r"2 answers .* 1 are left"):
        ledger.spend("one", 2, monday)
    assert Ledger(tmp_path / "a.db", per_client=10, per_day=6).spend("one", 5, tuesday) == 0
    assert ledger.given("one") == 10 and ledger.given("two") == 0
    assert ledger.spend("two", 6, monday) == 0


def test_a_day_is_a_day_and_numpys_numbers_are_numbers(tmp_path: Path) -> None:
    """A moment is no day of its own, and what an array counts is counted."""
    ledger = Ledger(tmp_path / "a.db", np.int64(10), np.int32(4))
    for minute in range(4):
        ledger.spend("one", np.int64(1), datetime(2026, 11, 23, 9, minute))
    with pytest.raises(BudgetSpent):
        ledger.spend("one", 1, date(2026, 11, 23))
    assert ledger.spend("one", np.uint8(3), date(2026, 11, 24)) == 1
    assert ledger.given("one") == 7 and Ledger(tmp_path / "a.db", 10).given("one") == 7


def test_clients_stand_in_the_file_as_hashes(tmp_path: Path) -> None:
    """Whoever reads the file learns no name; the same name in another ledger has another hash."""
    for name in ("a.db", "b.db"):
        Ledger(tmp_path / name, per_client=3).spend("Erika Mustermann", 1)
    held = [(tmp_path / name).read_bytes() for name in ("a.db", "b.db")]
    assert all(b"Mustermann" not in content for content in held)


def test_no_client_gets_a_second_budget_by_a_space_or_an_accent(tmp_path: Path) -> None:
    """Nor does anybody ask in the name of nobody."""
    ledger = Ledger(tmp_path / "a.db", per_client=3)
    for name in ("Zoë", " Zoë", "Zoë\t", "Zoe\u0308"):
        assert ledger.given(name) == ledger.given("Zoë")
    for name in ("Zoë ", "Zoe\u0308", "\u2003Zoë"):
        ledger.spend(name, 1)
    with pytest.raises(BudgetSpent):
        ledger.spend("Zoë", 1)
    for name in ("", " \n"):
        with pytest.raises(DataError, match="names nobody"):
            ledger.spend(name, 1)


def test_many_at_once_get_no_more_than_there_is(tmp_path: Path) -> None:
    """40 threads ask for one answer each of 25."""
    ledger = Ledger(tmp_path / "a.db", per_client=25)

    def ask(_: int) -> int:
        try:
            ledger.spend("all", 1)
        except BudgetSpent:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(40))) == 25
    assert ledger.given("all") == 25


def _ask(path: Path) -> int:
    try:
        Ledger(path, per_client=7).spend("all", 1)
    except BudgetSpent:
        return 0
    return 1


def test_processes_share_a_ledger(tmp_path: Path) -> None:
    """Two processes ask for one answer each of 7, twelve times: what one was given, the other has less."""
    Ledger(tmp_path / "a.db", per_client=7)
    given = [one for _, one in as_done(_ask, [(tmp_path / "a.db",)] * 12, workers=2, on="processes")]
    assert sum(given) == 7 and Ledger(tmp_path / "a.db", per_client=7).given("all") == 7


def test_a_service_counts_once_however_many_work_for_it(tmp_path: Path) -> None:
    """A service whose method works by processes spends one answer a person, in the process that was asked."""
    easy = case("linear", n=60)
    fitted = wf.method("growing-spheres", samples=50).fit(easy.problem).with_workers(2, "processes")
    ledger = Ledger(tmp_path / "a.db", per_client=100)
    Service(easy.problem, fitted, ledger=ledger).ask(easy.x, client="bank")
    assert ledger.given("bank") == 60


def test_a_service_asks_its_ledger_first(tmp_path: Path) -> None:
    """Who has spent their answers gets none, and no search is made."""
    easy = case("linear")
    method = wf.method("local-search").fit(easy.problem)
    service = Service(easy.problem, method, ledger=Ledger(tmp_path / "a.db", per_client=12))
    assert service.ask(easy.x[:8], "one").n == 8
    before = easy.problem.model.counter.rows
    with pytest.raises(BudgetSpent):
        service.ask(easy.x[:8], "one")
    assert easy.problem.model.counter.rows == before and service.queries == 8
    assert len(service.decide(easy.x[:4], "one")) == 4


def test_people_are_counted_and_not_their_columns(tmp_path: Path) -> None:
    """Eight people as a mapping of columns are eight, whatever the number of columns; one is one."""
    easy = case("linear")
    ledger = Ledger(tmp_path / "a.db", per_client=10)
    service = Service(easy.problem, wf.method("local-search").fit(easy.problem), ledger=ledger)
    columns: Any = easy.problem.schema.decode(easy.x[:9], "dict")
    assert service.decide(columns, "one").shape == (9,) and ledger.given("one") == 9
    assert service.decide({name: values[:1] for name, values in columns.items()}, "one").shape == (1,)
    service.ask(columns, "two")
    with pytest.raises(BudgetSpent):
        service.ask(columns, "two")


def test_what_is_no_ledger_is_named(tmp_path: Path) -> None:
    """A file of something else, and limits that are none."""
    (tmp_path / "a.db").write_text("name,answers\n" * 50)
    with pytest.raises(DataError, match=r"'a.db' is no ledger"):
        Ledger(tmp_path / "a.db", per_client=3)
    with pytest.raises(DataError, match="per_client=0"):
        Ledger(tmp_path / "b.db", per_client=0)
    with pytest.raises(DataError, match="cannot be given back"):
        Ledger(tmp_path / "b.db", per_client=3).spend("one", -1)


@pytest.mark.parametrize(
    "change",
    [
        *(f"UPDATE answers SET count = {value}" for value in ("'x'", "NULL", "-1000", "0.5")),
        *(f"UPDATE setting SET value = {value}" for value in ("'x'", "NULL", "''", "7")),
        "DELETE FROM setting",
    ],
)
def test_a_ledger_that_somebody_changed_gives_no_answers(tmp_path: Path, change: str) -> None:
    """Counts that are none gave more answers than the budget; a key that is none was a raw error."""
    ledger = Ledger(tmp_path / "a.db", per_client=3)
    ledger.spend("bank", 3)
    with sqlite3.connect(tmp_path / "a.db") as file:
        file.execute(change)
    file.close()
    for ask in (lambda: ledger.spend("bank", 1), lambda: ledger.given("bank")):
        with pytest.raises(DataError, match="'a.db' is no ledger that can be read"):
            ask()


def test_a_ledger_that_cannot_be_written_now_counts_nothing_and_says_so(tmp_path: Path, monkeypatch) -> None:
    """It was called no ledger, and a new name was advised, which is a new budget for everybody."""
    monkeypatch.setattr("wayforward.impact.disclosure.ledger._WAIT", 0.05)
    ledger = Ledger(tmp_path / "a.db", per_client=3)
    ledger.spend("bank", 1)
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WriteError, match="'a.db' cannot be written .* nothing was counted"):
            ledger.spend("bank", 1)
    with closing(sqlite3.connect(tmp_path / "a.db")) as other:
        pages = other.execute("PRAGMA page_count").fetchone()[0]
    connect = sqlite3.connect

    def full(*args, **more):
        made = connect(*args, **more)
        made.execute(f"PRAGMA max_page_count = {pages}")
        return made

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(WriteError, match="disk is full"):
        for i in range(400):
            ledger.spend(f"client {i}", 1)
    assert ledger.given("bank") == 1


class Spending(RuleBasedStateMachine):
    """A ledger beside a plain count of what each client was given on each day."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "a.db"
        self.ledger = Ledger(self.path, per_client=9, per_day=4)
        self.plain: dict[tuple[str, int], int] = {}

    @rule(client=st.sampled_from("ab"), day=st.integers(1, 4), answers=st.integers(0, 5))
    def spend(self, client: str, day: int, answers: int) -> None:
        total = sum(n for (who, _), n in self.plain.items() if who == client)
        today = self.plain.get((client, day), 0)
        if total + answers > 9 or today + answers > 4:
            with pytest.raises(BudgetSpent):
                self.ledger.spend(client, answers, date(2026, 1, day))
        else:
            left = self.ledger.spend(client, answers, date(2026, 1, day))
            assert left == min(9 - total, 4 - today) - answers
            self.plain[client, day] = today + answers

    @rule()
    def open_again(self) -> None:
        self.ledger = Ledger(self.path, per_client=9, per_day=4)

    @invariant()
    def counts_agree(self) -> None:
        for client in "ab":
            assert self.ledger.given(client) == sum(n for (who, _), n in self.plain.items() if who == client)

    def teardown(self) -> None:
        self.folder.cleanup()


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)
