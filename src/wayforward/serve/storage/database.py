"""A database by its URL: SQLite with a write-ahead log, or PostgreSQL; brought up to date when it is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session, sessionmaker

from wayforward.errors import DataError, MissingExtra
from wayforward.lazy import without_packages
from wayforward.plain_files import make_folder, place_of

_WAIT_MS = 10_000
_MIGRATION = 0x77617900  # any number that nobody else locks
_MIGRATIONS = Path(__file__).parent / "migrations"


class Database:
    """Sessions on one database: ``with Database(url).session() as s: ...`` is committed at the end, or not at all.

    Raises: DataError for a URL that cannot be opened; MissingExtra without the driver.
    """

    def __init__(self, url: str, *, migrate: bool = True) -> None:
        self.url = url
        self.engine = _engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        if migrate:
            try:
                self.migrate()
            except OperationalError as error:
                first = str(error.orig).splitlines()[0]
                raise DataError(f"The database cannot be opened: {first}. Check --database.") from None

    @contextmanager
    def session(self, *, write: bool = True) -> Iterator[Session]:
        """A unit of work. write: SQLite takes its one write lock at once, so that no two units mix."""
        with self._sessions() as session:
            if write and self.engine.dialect.name == "sqlite":
                session.connection(execution_options={"wayforward_immediate": True})
            with session.begin() if not session.in_transaction() else _committed(session):
                yield session

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to the state of this version, or of an earlier one where a test begins there."""
        if revision == "head" and self._is_current():
            return
        with without_packages("pygments"):  # 5 MB for coloured templates
            from alembic import command
            from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        with (
            self.engine.connect() as connection,
            _loose(connection),
            connection.execution_options(wayforward_immediate=True).begin(),
        ):  # of two that start at once the second waits, and finds nothing to do
            if self.engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION})
            config.attributes["connection"] = connection
            command.upgrade(config, revision)

    def _is_current(self) -> bool:
        """Are the tables those of this version? Told without Alembic, which takes half a second and 6 MB."""
        newest = max(file.name for file in (_MIGRATIONS / "versions").glob("[0-9]*.py")).partition("_")[0]
        with (
            suppress(OperationalError, ProgrammingError),
            self.engine.connect() as connection,
        ):  # no such table
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == newest
        return False

    def wipe(self) -> None:
        """Empty the write-ahead log of SQLite, where deleted rows could still be read. PostgreSQL vacuums itself."""
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


@contextmanager
def _loose(connection: Connection) -> Iterator[None]:
    """Let SQLite make a table anew to change it: with foreign keys on, rows that point at the old one would go."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")  # heard outside of a transaction only
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


@contextmanager
def _committed(session: Session) -> Iterator[None]:
    try:
        yield
    except BaseException:
        session.rollback()
        raise
    session.commit()


def _engine(url: str) -> Engine:
    try:
        engine = create_engine(url, pool_pre_ping=True)
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"This database needs {missing.name}. Install it with: pip install 'wayforward[postgres]'"
        ) from missing
    except ArgumentError:
        raise DataError(
            "--database is no URL of a database. Give postgresql+psycopg://USER@HOST/NAME or sqlite:///FILE."
        ) from None
    if engine.dialect.name not in ("sqlite", "postgresql"):
        raise DataError(f"--database {engine.dialect.name} is not supported. Use PostgreSQL or SQLite.")
    if engine.dialect.name == "sqlite":
        if engine.url.database:
            file = Path(engine.url.database)
            make_folder(file.parent)
            with place_of(file):
                os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
        event.listen(engine, "connect", _sqlite)
        event.listen(engine, "begin", _begin)
    return engine


def _sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not at the driver's first write
    for setting in (
        "journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={_WAIT_MS}", "foreign_keys=ON", "secure_delete=ON",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Any) -> None:
    immediate = connection.get_execution_options().get("wayforward_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
