"""An application with one small model, and browsers that come to it."""

from __future__ import annotations

import io
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the web application needs the extra web")
pytest.importorskip("argon2")
pytest.importorskip("limits")
pytest.importorskip("httpx2")

import numpy as np
from argon2 import PasswordHasher
from fastapi.testclient import TestClient

from wayforward.answers import write_csv
from wayforward.schema import Feature, Schema
from wayforward.serve import accounts
from wayforward.serve.consent import CURRENT
from wayforward.serve.http.app import create_app
from wayforward.serve.permissions import Role
from wayforward.serve.projects import Given, Projects
from wayforward.serve.services import Services
from wayforward.serve.settings import ServeSettings
from wayforward.serve.storage.database import Database

PASSWORD = "four words that rhyme"
PLANTED = 2718  # the income of an applicant, to be looked for where no value may be


@pytest.fixture
def logged() -> Iterator[Callable[[], str]]:
    """What has been written into logs during the test, with tracebacks."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logging.getLogger().addHandler(handler)
    yield text.getvalue
    logging.getLogger().removeHandler(handler)


def schema() -> Schema:
    """Four features: a bound, levels, something that nobody changes, an unusual text."""
    return Schema(
        (
            Feature(name="age", kind="integer", low=18, high=90, unit="years", actionability="immutable"),
            Feature(name="income", kind="integer", low=0, high=9000, unit="EUR/month", direction="increase",
                    least_change=50),
            Feature(name="debt", kind="integer", low=0, high=9000, unit="EUR", direction="decrease", least_change=50),
            Feature(name="home", kind="categorical", levels=("rent", "own", "<b>&other"), label="home"),
        )
    )  # fmt: skip


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Files of a model that looks at income, debt and home."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    levels = np.array(["rent", "own", "<b>&other"])
    rows = []
    for _ in range(400):
        income, debt, home = int(rng.integers(500, 6000)), int(rng.integers(0, 5000)), str(rng.choice(levels))
        yes = income - debt / 2 + 800 * (home == "own") > 2600
        rows.append(
            {
                "age": int(rng.integers(18, 80)),
                "income": income,
                "debt": debt,
                "home": home,
                "granted": int(yes),
            }
        )
    write_csv(rows, folder / "train.csv")
    schema().to_yaml(folder / "schema.yaml")
    return Given(
        title="A small loan", model="lr", schema=folder / "schema.yaml", train=folder / "train.csv", label="granted",
        favourable=("1",), open_to_all=True,
    )  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database, on both kinds; for `services` one that has its tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'wayforward.db'}"
    else:
        make = request.getfixturevalue("postgres")
        yield make(tables="services" in request.fixturenames)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Make a PostgreSQL database, on a server of our own, where its programs are installed."""
    from .postgres import server

    return server(tmp_path_factory)


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory, given: Given) -> tuple[Given, Projects]:
    """The same model from a file, read once for all tests."""
    folder = tmp_path_factory.mktemp("warm")
    services = Services.at(ServeSettings(home=folder))
    with services.database.session() as session:
        id = services.projects.add(session, given, None).id
    services.database.close()
    file = Given(**{**vars(given), "model": services.projects.folder / id / "model.skops"})
    return file, Projects(folder)


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing is slow on purpose; not here."""
    monkeypatch.setattr(
        accounts, "_hasher", lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    )


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with all tables and no row."""
    file = tmp_path_factory.mktemp("empty") / "wayforward.db"
    Database(f"sqlite:///{file}").close()
    return file


@contextmanager
def deployed(database: str, folder: Path, empty: Path, warm: tuple[Given, Projects]) -> Iterator[Services]:
    """The services of a fresh deployment with one published model and an account of each role."""
    if database.startswith("sqlite:///"):  # making the tables has tests of its own
        shutil.copy(empty, database.removeprefix("sqlite:///"))
    found = Services.at(ServeSettings(home=folder / "home", database=database, contact="Ms Roe, room 3"))
    with found.database.session() as session:
        file, shared = warm
        found.projects._warm = shared._warm  # what was read for one test is ready for the next
        version = found.projects.add(session, file, None)
        found.projects.publish(session, version.id, None)
        for role in Role:
            accounts.add_user(session, role.value, role.value, PASSWORD)
    yield found
    found.database.close()


@pytest.fixture
def services(database: str, empty: Path, tmp_path: Path, warm: tuple[Given, Projects]) -> Iterator[Services]:
    """A fresh deployment for each test."""
    with deployed(database, tmp_path, empty, warm) as found:
        yield found


def published(services: Services) -> str:
    """The id of the one model of a deployment."""
    return next(path.name for path in services.projects.folder.iterdir() if not path.name.startswith("."))


@pytest.fixture
def model(services: Services) -> str:
    """The id of the model."""
    return published(services)


class Browser(TestClient):
    """Somebody at a browser without JavaScript: a page, its forms, and what is in them."""

    def get_page(self, path: str, status: int = 200) -> str:
        """Open a page."""
        return self._seen(self.get(path), status)

    def submit(self, path: str, status: int = 200, **fields: object) -> str:
        """Send a form of the page that is open."""
        hidden = {name: found[1] for name in ("token", "revision", "version") if (found := self.hidden(name))}
        return self._seen(self.post(path, data={**hidden, **fields}), status)

    def hidden(self, name: str) -> re.Match[str] | None:
        """The hidden field of a form on the page that is open."""
        return re.search(rf'name="{name}" value="([^"]*)"', self.text)

    def value(self, name: str) -> str:
        """What is in a hidden field."""
        import html

        found = self.hidden(name)
        assert found is not None, f"no field {name}"
        return html.unescape(found[1])

    def _seen(self, answer: object, status: int) -> str:
        assert answer.status_code == status, (
            answer.status_code,
            re.sub(r"<[^>]+>|\s+", " ", answer.text)[:600],
        )  # type: ignore[attr-defined]
        self.text: str = answer.text  # type: ignore[attr-defined]
        return self.text

    def log_in(self, name: str) -> Browser:
        """Log in as a role."""
        self.get_page("/login")
        self.submit("/login", name=name, password=PASSWORD)
        return self


@pytest.fixture
def browser(services: Services) -> Callable[[], Browser]:
    """Open another browser."""
    app = create_app(services=services)
    return lambda: Browser(app, base_url="http://127.0.0.1:8000")


@pytest.fixture
def fresh_code(services: Services, model: str) -> str:
    """The code of a refused applicant who has not agreed to anything yet."""
    person = {"age": 30, "income": PLANTED - 1000, "debt": 1500, "home": "rent"}
    return services.cases.make(model, [person])[0][1]


@pytest.fixture
def code(services: Services, fresh_code: str) -> str:
    """The code of a refused applicant who has agreed to go on."""
    services.cases.consent(services.cases.by_code(fresh_code), CURRENT)
    return fresh_code
