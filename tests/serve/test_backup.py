"""Backup and restore as docs/guide/deployment.md has them: after both folder and database are gone, nothing is lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import make_url

from wayforward.answers.receipt import Receipt
from wayforward.errors import FileFormatError
from wayforward.serve.http.app import create_app
from wayforward.serve.keys import Keys
from wayforward.serve.services import Services
from wayforward.serve.settings import ServeSettings

from .conftest import Browser

HOME_PARTS = ("keys.json", "models")


def keep_a_plan(services: Services, code: str) -> Receipt:
    """Keep one as the applicant, and take its receipt."""
    one = Browser(create_app(services=services), base_url="http://127.0.0.1:8000")
    one.get_page(f"/w/{code}")
    one.get_page("/case/limits")
    one.submit("/case/limits", **{"can-2": "no"})
    action = json.dumps(json.loads(one.value("action")))
    one.submit("/case/keep", action=action)
    answer = one.post("/case/receipt", data={"token": one.value("token"), "action": action, "as": "file"})
    return Receipt.from_dict(answer.json())


def restore(url: str, saved: Path, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Save the database to a file, and put the file into another, empty database; give its URL."""
    if url.startswith("sqlite"):
        with sqlite3.connect(make_url(url).database or "") as open_database:
            open_database.execute(f"VACUUM INTO '{saved}'")
        open_database.close()
        fresh = tmp_path / "new" / "wayforward.db"
        fresh.parent.mkdir()
        shutil.copy(saved, fresh)
        return f"sqlite:///{fresh}"
    other = request.getfixturevalue("postgres")()
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    run = lambda *parts: subprocess.run(list(map(str, parts)), check=True, capture_output=True, timeout=120)
    run(programs / "pg_dump", "--format=custom", f"--file={saved}", f"--dbname={_plain(url)}")
    run(programs / "pg_restore", "--exit-on-error", f"--dbname={_plain(other)}", saved)
    return str(other)


def _plain(url: str) -> str:
    return url.replace("+psycopg", "")


def test_a_backup_brings_everything_back(services, code, database, request, tmp_path) -> None:
    receipt = keep_a_plan(services, code)
    url = restore(database, tmp_path / "saved", request, tmp_path)
    home, backup = services.settings.home, tmp_path / "backup"
    backup.mkdir()
    for name in HOME_PARTS:
        (shutil.copytree if (home / name).is_dir() else shutil.copy)(home / name, backup / name)
    services.database.close()
    shutil.rmtree(home)

    again = Services.at(ServeSettings(home=backup, database=url))
    again.projects._warm = services.projects._warm
    one = Browser(create_app(services=again), base_url="http://127.0.0.1:8000")
    one.get_page(f"/w/{code}")
    assert "Kept plan 1" in one.get_page("/case/plans")
    assert receipt.holds(again.keys.signer.public_key)
    again.database.close()


def test_a_database_without_its_keys_tells_nothing(services, code, database, request, tmp_path) -> None:
    """So whoever finds one backup alone finds nobody."""
    keep_a_plan(services, code)
    url = restore(database, tmp_path / "saved", request, tmp_path)
    shutil.copytree(services.settings.home / "models", tmp_path / "other" / "models")
    settings = ServeSettings(home=tmp_path / "other", database=url)
    with pytest.raises(FileFormatError, match=r"'keys\.json' back from"):
        Services.at(settings)
    Keys.at(settings.home)
    stranger = Services.at(settings)
    one = Browser(
        create_app(services=stranger), base_url="http://127.0.0.1:8000", raise_server_exceptions=False
    )
    answers = [one.get(f"/w/{code}"), one.get("/case/letter"), one.get("/case/plans")]
    assert all(answer.status_code >= 400 and "1,718" not in answer.text for answer in answers)
    stranger.database.close()
