"""What `wayforward serve` does before it opens the door: checks, the first model, the demonstration."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from wayforward.language import N_
from wayforward.plain_files import make_folder, place_of
from wayforward.serve import accounts
from wayforward.serve.first_answers import answer_once
from wayforward.serve.permissions import Role
from wayforward.serve.process import give_back
from wayforward.serve.projects import Given, published
from wayforward.serve.retraining import DONE
from wayforward.serve.services import Services
from wayforward.serve.storage.tables import ModelVersion, User

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_DEMO_PEOPLE = 3
_DEMO_PACES = {"education": 1 / 12, "income": 40.0, "savings": 250.0}  # made up, like its people


@contextmanager
def first_come(home: Path) -> Iterator[None]:
    """Of servers that start at the same moment on one folder the first prepares it, and the others wait for that."""
    make_folder(home, mode=0o700)
    with place_of(home / ".starting"):
        file = (home / ".starting").open("a")
    with file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare(services: Services, given: Given | None, demonstration: bool) -> list[str]:
    """Put a given model, or that of the demonstration, behind the door; return lines to print once.

    Whoever starts the server publishes by that: the two pairs of eyes are about what comes in through the door.
    """
    lines: list[str] = []
    with services.database.session(write=False) as session:
        any_model = session.scalar(select(func.count()).select_from(ModelVersion)) or 0
        any_user = session.scalar(select(func.count()).select_from(User)) or 0
    if given is not None:
        _add(services, given)
    elif demonstration and not any_model:
        lines += _demonstration(services)
    elif not any_model:
        lines.append(
            "There is no model yet. An operator adds one at /staff/models, and an approver publishes it."
        )
    if not any_user:
        lines += _first_accounts(services, demonstration)
    return lines


def _add(services: Services, given: Given) -> str:
    id = services.projects.bring(given)
    with services.database.session() as session:
        services.projects.register(session, id, given, None)
        services.projects.publish(session, id, None)
    return id


def add_version(services: Services, given: Given, who: accounts.Somebody) -> str:
    """Add a version that somebody sent, and return its id; somebody else publishes it. Raises: as `Projects.bring`."""
    id = services.projects.bring(given)
    with services.database.session() as session:
        services.projects.register(session, id, given, session.get(User, who.user_id))
    return id


def _first_accounts(services: Services, demonstration: bool) -> list[str]:
    """An administrator; in a demonstration one account of each role. Their passwords are drawn, and told this once."""
    roles = list(Role) if demonstration else [Role.ADMIN]
    lines = ["Accounts, shown this once:"]
    with services.database.session() as session:
        for role in roles:
            password = "-".join(secrets.token_hex(2) for _ in range(4))
            accounts.add_user(session, role.value, role.value, password)
            lines.append(f"  {role.value:<11} {password}")
    return lines


def _demonstration(services: Services) -> list[str]:
    """The loan world of made-up people: a model, and a few refused people with their codes."""
    from wayforward.answers import write_csv
    from wayforward.data import everyday, load

    schema = everyday.schema()
    paces = [replace(one, pace=_DEMO_PACES.get(one.name)) for one in schema.features]
    schema = replace(schema, features=tuple(paces))
    train, test = load("loan").split(test=0.3, seed=0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = {**schema.decode(everyday.people(train), like="dict"), train.label: train.y}
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        write_csv([dict(zip(columns, row, strict=True)) for row in rows], folder / "train.csv")
        schema.to_yaml(folder / "schema.yaml")
        everyday.world().to_yaml(folder / "world.yaml")
        given = Given(
            title=N_("A loan (made-up people)"), model="gb", schema=folder / "schema.yaml", train=folder / "train.csv",
            label=train.label, favourable=("1",), world=folder / "world.yaml", open_to_all=True,
        )  # fmt: skip
        id = _add(services, given)
    problem = services.projects.project(id).problem
    x = everyday.people(test)
    refused = x[~problem.reached(x)[0]]
    chosen = refused[np.linspace(0, len(refused) - 1, _DEMO_PEOPLE).astype(int)]
    made = services.cases.make(id, schema.decode(chosen, like="dict"), by="setup")
    url = services.settings.public_url.rstrip("/")
    soon = "The first page takes a minute or two: searches are compiled once, and kept."
    return [soon, "Made-up applicants, shown this once:", *(f"  {url}/w/{code}" for _, code in made)]


def warm(services: Services) -> None:
    """Warm each published version."""
    with services.database.session(write=False) as session:
        ids = [version.id for version in published(session)]
    services.projects.getting_ready.update(ids)
    try:
        for id in ids:
            warm_version(services, id)
    finally:
        services.projects.getting_ready.difference_update(ids)


def prepare_apart(home: Path, id: str) -> None:
    """Train the models again, and compile what searches run, in a process of its own, which writes both: it takes
    minutes and much memory, and applicants do not wait meanwhile. What is there already is not done twice.
    """
    if not (home / "retrained" / id / DONE).exists():
        subprocess.run(
            [sys.executable, "-m", "wayforward.serve.retraining", str(home), id],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip


def warm_version(services: Services, id: str) -> None:
    """Answer a refused person, so that no applicant waits for what is worked out once, such as models trained again."""
    services.projects.getting_ready.add(id)
    try:
        _answered_once(services, id)
    finally:
        services.projects.getting_ready.discard(id)
        give_back()


def _answered_once(services: Services, id: str) -> None:
    prepare_apart(services.settings.home, id)
    answer_once(services.projects.project(id))
