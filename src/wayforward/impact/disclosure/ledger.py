"""A ledger of how many answers each client was given, so that no client is given enough of them to copy a model.

How many are enough is what `attack` measures. The web application keeps such budgets by case and by model; this is for
whoever answers from a program of their own, in one process or in many. Clients stand in the file as keyed hashes.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from wayforward.errors import DataError, WayforwardError, WriteError, is_whole, require_kind, shown
from wayforward.plain_files import as_path, place_of
from wayforward.public import public

_TABLES = (
    "CREATE TABLE IF NOT EXISTS answers (client TEXT, day TEXT, count INTEGER, PRIMARY KEY (client, day))",
    "CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT)",
)
_KEY = 32  # bytes
_NOT_NOW = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM,
)  # fmt: skip
_WAIT = 30.0  # seconds for another process that is writing


class BudgetSpent(WayforwardError):
    """A client was given as many answers as they may have."""


@public
class Ledger:
    """Answers given to each client, in an SQLite file that several processes may share.

    A client is known by a name; spaces around it and ways to type an accent make no other one.
    per_client: answers that a client may have in all. per_day: on one day; None: no limit of its own.

    Example: ``Ledger("answers.db", per_client=200, per_day=20).spend("bank 7", 5)``.
    Raises: DataError for limits below 1, or a file that is no ledger; WriteError where it cannot be
    written now: a full disk, or another process that writes for half a minute.
    """

    def __init__(self, path: str | Path, per_client: int, per_day: int | None = None) -> None:
        for name, limit in (("per_client", per_client), ("per_day", per_day)):
            if not is_whole(limit, 1) and not (limit is None and name == "per_day"):
                raise DataError(
                    f"{name}={shown(limit)} is no number of answers. Use a whole number of 1 or more."
                )
        self.path, self.per_client = as_path(path), int(per_client)
        self.per_day = None if per_day is None else int(per_day)
        with self._open() as ledger:
            for table in _TABLES:
                ledger.execute(table)
            ledger.execute("INSERT OR IGNORE INTO setting VALUES ('key', ?)", (secrets.token_hex(_KEY),))

    def spend(self, client: str, answers: int, day: date | None = None) -> int:
        """Count answers to a client before they are given; return how many are left. All of them count, or none.

        day: today, where it is left out. Raises: BudgetSpent, and nothing is counted.
        """
        if not is_whole(answers):
            raise DataError(
                f"answers={shown(answers)} cannot be counted, and answers cannot be given back. Count 0 or more."
            )
        if day is not None and not isinstance(day, date):
            raise DataError(f"day={shown(day)} is no day. Give a datetime.date, or leave it out for today.")
        at = day or date.today()
        on = date(
            at.year, at.month, at.day
        ).isoformat()  # a datetime is a date, and each second would be a day
        client, answers = _client(client), int(answers)  # of NumPy's whole numbers SQLite keeps the bytes
        with self._open() as ledger:
            who = self._known(ledger, client)
            total, today = ledger.execute(
                "SELECT COALESCE(SUM(count), 0), COALESCE(SUM(CASE WHEN day = ? THEN count END), 0) FROM answers "
                "WHERE client = ?",
                (on, who),
            ).fetchone()
            left = self.per_client - total
            if self.per_day is not None:
                left = min(left, self.per_day - today)
            if answers > left:
                raise BudgetSpent(
                    f"{answers} answers were asked for, and {max(left, 0)} are left to this client (at most "
                    f"{self.per_client} in all"
                    + ("" if self.per_day is None else f", {self.per_day} a day")
                    + "). "
                    "Ask for fewer, or have a person look at it."
                )
            ledger.execute(
                "INSERT INTO answers VALUES (?, ?, ?) ON CONFLICT (client, day) DO UPDATE SET count = count + ?",
                (who, on, answers, answers),
            )
        return int(left - answers)

    def given(self, client: str) -> int:
        """Return how many answers a client was given in all."""
        client = _client(client)
        with self._open() as ledger:
            who = self._known(ledger, client)
            found = ledger.execute("SELECT COALESCE(SUM(count), 0) FROM answers WHERE client = ?", (who,))
            return int(found.fetchone()[0])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction that nobody else is inside of; undone if the block raises."""
        with place_of(self.path):
            try:
                ledger = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            except sqlite3.Error as error:
                raise DataError(f"The ledger '{self.path.name}' cannot be opened: {error}.") from None
            try:
                ledger.execute("BEGIN IMMEDIATE")
                yield ledger
                ledger.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                # of these a new file would be a new budget
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NOT_NOW:
                    raise WriteError(
                        f"'{self.path.name}' cannot be written ({error}), so nothing was counted. Make room, or wait "
                        "until nobody else writes, and ask again; do not give the answers."
                    ) from None
                raise DataError(
                    f"'{self.path.name}' is no ledger that can be read ({error}). Give a file that a Ledger wrote, "
                    "or a new name."
                ) from None
            finally:
                ledger.close()  # what was not committed is undone

    @staticmethod
    def _known(ledger: sqlite3.Connection, client: str) -> str:
        """The client as the file names them. Raises: sqlite3.DatabaseError for a key or counts that no ledger wrote."""
        key = ledger.execute("SELECT value FROM setting WHERE name = 'key'").fetchone()
        try:
            secret = bytes.fromhex(key[0])
        except (TypeError, ValueError):
            secret = b""
        if len(secret) != _KEY:
            raise sqlite3.DatabaseError("its key is none")
        who = hashlib.blake2b(client.encode("utf-8", "surrogatepass"), key=secret, digest_size=16).hexdigest()
        odd = "SELECT 1 FROM answers WHERE client = ? AND (typeof(count) != 'integer' OR count < 0)"
        if ledger.execute(odd, (who,)).fetchone():  # they would count as answers given back
            raise sqlite3.DatabaseError("it counts answers that are no whole number of 0 or more")
        return who


def _client(client: object) -> str:
    """Return a client's name as it is counted: without spaces around it, of one spelling of its letters.

    Nobody gets a second budget by a space or by an accent that is typed otherwise. Raises: DataError for no name.
    """
    require_kind(client, str, "client")
    name = unicodedata.normalize("NFC", str(client)).strip()
    if not name:
        raise DataError(f"client={shown(client)} names nobody, so nobody's budget counts it. Give a name.")
    return name


__all__ = ["BudgetSpent", "Ledger"]
