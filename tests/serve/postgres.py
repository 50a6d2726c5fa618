"""A PostgreSQL server of the tests' own, from Debian's programs, in a folder of its own, on a socket."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from wayforward.serve.storage.database import Database


def server(factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Start it; return what makes a database, empty or with all tables and no row, and gives its URL. Skips where it
    is not installed."""
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs the extra postgres")
    programs = (
        sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").exists() else []
    )
    if not programs:
        pytest.skip("PostgreSQL is not installed here")
    bin_, folder = programs[-1], Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path must be short
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    run = lambda *parts: subprocess.run(
        [*as_user, *map(str, parts)], check=True, capture_output=True, timeout=120
    )
    run(bin_ / "initdb", "-D", folder / "data", "-U", "tests", "--auth=trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    try:
        run(bin_ / "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
    except subprocess.SubprocessError as error:
        pytest.skip(f"PostgreSQL does not start here ({type(error).__name__})")

    at = f"postgresql+psycopg://tests@/{{}}?host={folder}"
    connection = psycopg.connect(host=str(folder), user="tests", dbname="postgres", autocommit=True)

    def stop() -> None:
        connection.close()
        subprocess.run([*as_user, str(bin_ / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop"],
                       check=False, capture_output=True)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    made = iter(range(10_000))

    @cache
    def with_tables() -> str:
        """The name of a database to copy: Alembic takes many times as long to make the tables."""
        name = fresh_name()
        Database(at.format(name)).close()
        return name

    def fresh_name(like: str = "template1") -> str:
        name = f"test{next(made)}"
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        return name

    return lambda tables=False: at.format(fresh_name(with_tables()) if tables else fresh_name())
