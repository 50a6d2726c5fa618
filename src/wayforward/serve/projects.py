"""Models that decisions are made with: stored by content, published by a second person, held warm while they are used.

A version is a folder of files as they were given (model, schema, past people, world) and a question in plain data. Its
id is the hash of all of them, so that the same id always means the same judge.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from wayforward.errors import DataError, WayforwardError
from wayforward.language import gettext
from wayforward.lazy import cached_property
from wayforward.plain_files import make_folder
from wayforward.serve.events import record
from wayforward.serve.storage.tables import ModelVersion, User, now
from wayforward.serve.turns import ThreadTurn

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.problem import Problem
    from wayforward.schema import Schema

_WARM = 4  # versions held in memory at once
_BINS, _IN_A_BIN = 24, 20  # bars of a histogram at most, and people in each on average at least
_MANY = 200  # past people, of whom shares are told in tenths; in hundredths of ten times as many
MODEL_ENDINGS = (".skops", ".onnx", ".safetensors", ".ubj", ".json", ".txt", ".cbm")


class ProjectError(WayforwardError):
    """A version of a model cannot be added, published or used."""


class NoSuchVersion(ProjectError):
    """There is no such version of a model."""


class GettingReady(ProjectError):
    """A version is being warmed: whoever comes meanwhile is told so, and comes again."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What makes a version. model: a file, or lr, mlp, rf, gb, xgb or lgbm to train it here. train: past people with
    the column `label`; favourable: the label that people want. threshold: how probable it must be; None: its own.
    """

    title: str
    model: Path | str
    schema: Path
    train: Path
    label: str
    favourable: tuple[str, ...]
    world: Path | None = None
    threshold: float | None = None
    seed: int = 0
    open_to_all: bool = False

    def question(self) -> dict[str, Any]:
        """What is no file, as plain data."""
        return {
            "title": self.title, "label": self.label, "favourable": list(self.favourable),
            "threshold": self.threshold, "seed": self.seed, "trained": self.model if self.trains else None,
        }  # fmt: skip

    @property
    def trains(self) -> bool:
        """Is the model to be trained here?"""
        from wayforward.model import ZOO

        return isinstance(self.model, str) and self.model in ZOO


@dataclass
class Project:
    """One version, ready to answer. `turn` is held while its problem works: threads of a server take turns, those that
    search for plans after those that only ask."""

    id: str
    title: str
    problem: Problem
    yes: str = ""
    decides: str = ""  # a hash of model and schema: of versions with other titles or thresholds the same
    turn: ThreadTurn = field(default_factory=ThreadTurn, repr=False)

    @property
    def schema(self) -> Schema:
        """The schema of the problem."""
        return self.problem.schema

    @cached_property
    def method(self) -> Method:
        """What looks for plans, fitted once."""
        from wayforward.methods import method

        return method("local-search").fit(self.problem)

    @cached_property
    def _columns(self) -> list[np.ndarray]:
        """What past people have, feature by feature, in order."""
        rows = self.problem.reference
        if rows is None:
            return [np.empty(0) for _ in self.schema.features]
        return [np.sort(column[np.isfinite(column)]) for column in rows.T]

    def spread(
        self, name: str, here: float | None, low: float | None = None, high: float | None = None
    ) -> list[dict[str, Any]]:
        """Return what past people have of a feature: counts of levels, or of equal steps from `low` to `high`, the ends
        of a slider beside it; left out, the ends that most are within. you: is `here` in it?

        Counts under ten are shown as none, so that no single person shows. Numbers are counted once, between ends that
        hang on nobody who asks, and spread evenly in between: steps that begin at a number of one's own choice would
        tell who is on which side of it.
        """
        j = self.schema.index(name)
        column = self._columns[j]
        if not len(column):
            return []
        if self.schema.features[j].has_levels:
            values, counts = np.unique(column, return_counts=True)
            steps = list(zip(values.tolist(), values.tolist(), counts.tolist(), strict=True))
            mine = [i for i, value in enumerate(values) if value == here]
        else:
            least, most = np.quantile(column, [0.005, 0.995]).tolist()
            if low is None or high is None or not low < high:
                low, high = least, most
            # of the share of the range, not of a count: how many bars there are tells nothing of anybody
            share = min((high - low) / max(most - least, 1e-9), 1.0)
            edges = self._edges(j, low, high, share)
            counts = np.diff(np.interp(edges, *self._below(j))).round().astype(int)
            steps = list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))
            mine = []
            if here is not None and edges[0] <= here <= edges[-1]:
                mine = [min(int(np.searchsorted(edges, here, "right")), len(edges) - 1) - 1]
        return [
            {"low": a, "high": b, "count": count if count >= 10 else 0, "you": i in mine}
            for i, (a, b, count) in enumerate(steps)
        ]

    def _edges(self, j: int, low: float, high: float, share: float = 1.0) -> np.ndarray:
        """Ends of bars from low to high, as many as suit a share of all people."""
        bins = int(np.clip(len(self._columns[j]) * share / _IN_A_BIN, 3, _BINS))
        if self.schema.features[j].kind == "integer" and high - low < bins:
            return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5  # a bar for each number
        return np.linspace(low, max(high, low + 1e-9), bins + 1)

    def _below(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Fixed edges over what most have of a number, and how many are below each; of steps with ten at least."""
        column = self._columns[j]
        edges = self._edges(j, *np.quantile(column, [0.005, 0.995]).tolist())
        counts = np.histogram(column, edges)[0]
        return edges, np.r_[0, np.where(counts >= 10, counts, 0).cumsum()]

    def others(self, name: str, here: float | None) -> str:
        """Say what a histogram shows in words: how many of a hundred past people have less and more, or the same level.

        Rounded so that no step is of fewer than ten people, and '' where too few are known: whoever asks again and
        again with other numbers of their own learns nothing of a single person.
        """
        j = self.schema.index(name)
        column = self._columns[j]
        step = next((step for step in (1, 5, 10) if step * len(column) >= _MANY * 10), None)
        if here is None or np.isnan(here) or step is None:
            return ""
        less, more = float((column < here).mean()), float((column > here).mean())
        if self.schema.features[j].has_levels:
            return gettext("Of 100 other people about {n} have the same.", n=_in_steps(1 - less - more, step))
        return gettext(
            "Of 100 other people about {less} have less, and about {more} have more.",
            less=_in_steps(less, step), more=_in_steps(more, step),
        )  # fmt: skip


def _in_steps(share: float, step: int) -> int:
    return step * round(100 * share / step)


class Projects:
    """The versions under a home folder. Those used last stay warm. getting_ready: ids of those being warmed."""

    def __init__(self, home: Path) -> None:
        self.folder, self.retrained = home / "models", home / "retrained"
        self.getting_ready: set[str] = set()
        self._warm: OrderedDict[str, Project] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}

    def add(self, session: Session, given: Given, by: User | None) -> ModelVersion:
        """`bring` and `register` in one. Raises: as `bring` does."""
        return self.register(session, self.bring(given), given, by)

    def bring(self, given: Given) -> str:
        """Check and copy the files of a version, and return its id; the same content twice is the same version. It can
        take minutes, so that no unit of work of the database should be open: others would wait for it.

        Raises: ProjectError, DataError, ModelError, SchemaError, FileFormatError: what is wrong with the files.
        """
        make_folder(self.folder)
        draft = self.folder / f".draft-{secrets.token_hex(8)}"
        make_folder(draft, 0o700)
        try:
            self._fill(draft, given)
            id = _content_hash(draft)
            project = _read(id, draft)  # what cannot answer is not kept
            if not project.schema.actionable.any():
                raise ProjectError(
                    gettext("In this schema nobody can change anything, so nobody can have a plan.")
                )
            place = self.folder / id
            if not place.exists():
                os.rename(draft, place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return id

    def register(self, session: Session, id: str, given: Given, by: User | None) -> ModelVersion:
        """Enter a version whose files are there."""
        found = session.get(ModelVersion, id)
        if found is None:
            found = ModelVersion(
                id=id, title=given.title[:200], question=given.question(), open_to_all=given.open_to_all,
                added_by=None if by is None else by.id,
            )  # fmt: skip
            session.add(found)
            session.flush()
            record(session, "setup" if by is None else by.name, "model added", id)
        return found

    def _fill(self, folder: Path, given: Given) -> None:
        """Put the files of a version into an empty folder."""
        (folder / "question.json").write_text(json.dumps(given.question(), sort_keys=True) + "\n")
        shutil.copyfile(given.schema, folder / "schema.yaml")
        ending = ".parquet" if given.train.suffix.lower() == ".parquet" else ".csv"
        shutil.copyfile(given.train, folder / f"train{ending}")
        if given.world is not None:
            ending = ".safetensors" if given.world.suffix.lower() == ".safetensors" else ".yaml"
            shutil.copyfile(given.world, folder / f"world{ending}")
        if given.trains:
            from wayforward.model import save, train

            schema, frame, y = _people(folder, given.question())
            endings = {"xgb": ".skops", "lgbm": ".skops"}
            save(
                train(str(given.model), schema, frame, y, seed=given.seed),
                folder / f"model{endings.get(str(given.model), '.skops')}",
            )
            return
        model = Path(given.model)
        if model.suffix.lower() not in MODEL_ENDINGS or not model.is_file():
            raise ProjectError(
                gettext(
                    "'{name}' is no model file that can be read. Use one of {endings}.",
                    name=model.name,
                    endings=", ".join(MODEL_ENDINGS),
                )
            )
        shutil.copyfile(model, folder / f"model{model.suffix.lower()}")

    def publish(self, session: Session, id: str, by: User | None) -> ModelVersion:
        """Let applicants meet a version. Whoever added it cannot publish it. Raises: ProjectError."""
        found = session.get(ModelVersion, id)
        if found is None:
            raise NoSuchVersion(gettext("There is no such version of a model."))
        if by is not None and found.added_by == by.id:
            raise ProjectError(
                gettext("Somebody else has to publish what you have added: four eyes see more than two.")
            )
        if found.published is None:
            found.published, found.published_by = now(), None if by is None else by.id
            record(session, "setup" if by is None else by.name, "model published", id)
        return found

    def project(self, id: str, threshold: float | None = None) -> Project:
        """Return a version, ready to answer; read once and held. threshold: at another one than its own, read anew.

        Raises: ProjectError if its files were changed.
        """
        if threshold is not None:
            return _read(id, self._whole(id), self.retrained / id, threshold)
        with self._lock:
            if (found := self._warm.get(id)) is not None:
                self._warm.move_to_end(id)
                return found
            loading = self._loading.setdefault(id, threading.Lock())
        with loading:
            with self._lock:
                if (found := self._warm.get(id)) is not None:
                    return found
            found = _read(id, self._whole(id), self.retrained / id)
            with self._lock:
                self._warm[id] = found
                while len(self._warm) > _WARM:
                    self._warm.popitem(last=False)
            return found

    def schema(self, id: str) -> Schema:
        """Return the schema of a version, without the model; an empty one where its files are gone."""
        from wayforward.schema import Schema

        file = self.folder / id / "schema.yaml"
        return Schema.from_yaml(file) if file.is_file() else Schema(())

    def _whole(self, id: str) -> Path:
        """The folder of a version. Raises: ProjectError if its files were changed."""
        place = self.folder / id
        if not place.is_dir() or _content_hash(place) != id:
            raise ProjectError(
                gettext("The files of this model are gone or were changed. Put them back from the backup.")
            )
        return place


def published(session: Session) -> list[ModelVersion]:
    """Return the versions that applicants may meet, the newest first."""
    chosen = (
        select(ModelVersion)
        .where(ModelVersion.published.is_not(None))
        .order_by(ModelVersion.published.desc())
    )
    return list(session.scalars(chosen))


def _content_hash(folder: Path, of: tuple[str, ...] = ("",)) -> str:
    """Hash the files of a version; of: how their names begin."""
    whole = hashlib.sha256()
    for file in sorted(file for file in folder.iterdir() if file.name.startswith(of)):
        with file.open("rb") as content:
            whole.update(f"{file.name}\0{hashlib.file_digest(content, 'sha256').hexdigest()}\0".encode())
    return whole.hexdigest()


def _one(folder: Path, stem: str) -> Path | None:
    return next(iter(sorted(folder.glob(f"{stem}.*"))), None)


def _people(folder: Path, question: dict[str, Any]) -> tuple[Schema, Any, np.ndarray]:
    """The schema, past people and their decisions."""
    from wayforward.data.user_tables import features_of, labels_of, read_table
    from wayforward.schema import Schema

    file = _one(folder, "train")
    if file is None:
        raise DataError(gettext("There is no table of past people."))
    table = read_table(file)
    features = features_of(table, question["label"], file.name)
    y = labels_of(table, question["label"], tuple(question["favourable"]), file.name)
    return Schema.from_yaml(folder / "schema.yaml"), features, y


def _read(id: str, folder: Path, trained: Path | None = None, threshold: float | None = None) -> Project:
    """Put the problem of a version together. trained: where models that were trained again are. threshold: in place of
    the version's own."""
    from wayforward.model import load, train
    from wayforward.model.files import before_models
    from wayforward.problem import Problem, Retraining, Target
    from wayforward.world import load_world

    before_models()
    question = json.loads((folder / "question.json").read_text())
    schema, frame, y = _people(folder, question)
    model, world = _one(folder, "model"), _one(folder, "world")
    if model is None:
        raise ProjectError(gettext("There is no model in this version."))
    favourable = tuple(question["favourable"])
    kind, seed = question["trained"], question["seed"]
    again = Retraining(y, seed=seed, folder=trained)
    if kind is not None:
        again = Retraining(
            y,
            fit=lambda rows, labels, at: train(kind, schema, rows, labels, seed=at),
            seed=seed,
            folder=trained,
        )
    judge = load(model, schema)
    judge.remember()  # pages ask about the same plans again and again
    problem = Problem(
        schema,
        judge,
        Target(
            favourable=favourable[0] if len(favourable) == 1 else favourable,
            threshold=question["threshold"] if threshold is None else threshold,
        ),
        data=frame,
        world=None if world is None else load_world(world),
        retraining=again,
    )
    decides = _content_hash(folder, ("model", "schema"))
    return Project(id, question["title"], problem, yes=favourable[0], decides=decides)
