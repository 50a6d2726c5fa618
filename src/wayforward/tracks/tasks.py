"""The tasks: a table, a classifier trained on it by code, refused people, and what counts as an answer.

A task is the same wherever it is built: nothing in it is drawn but from its own seed, and two digests say so, one of
the people and the table, one of what the classifier answers.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wayforward import data as datasets
from wayforward.errors import DataError, is_one_of
from wayforward.lazy import cached_property
from wayforward.model import load, save, train
from wayforward.preferences import Preferences
from wayforward.preferences.sampling import draw_scores
from wayforward.problem import Disclosure, Problem, Retraining, Target
from wayforward.shapes import Actions, OptionMask

Kind = Literal["contrastive", "consequential", "personal", "robust", "private", "groups"]

_ROWS = 2_000  # of the table that the classifier learns: a rebuild of all tasks takes seconds
_JUDGES = 5  # models trained again that an option of the robust track meets
_CROWD, _GRID = 5, 0.05
_LEVELS = 5  # of the scores that people give; one more stands for "I cannot"


@dataclass(frozen=True)
class Track:
    """One question. served: what an option must be so that its person counts as served."""

    name: Kind
    title: str
    served: str


#: In the order of the page.
TRACKS: dict[str, Track] = {
    track.name: track
    for track in (
        Track(
            "contrastive", "Contrastive",
            "an option that is legal, keeps all rules and is a yes of the model itself; nothing follows from it",
        ),
        Track(
            "consequential", "Consequential",
            "an action that is a yes of the model itself where it leads in a causal world, known to everybody",
        ),
        Track(
            "personal", "Personal",
            "an option that also keeps the person's wishes: features that they cannot change; the cost weighs "
            "the others by how hard they are for this person",
        ),
        Track(
            "robust", "Robust",
            f"an option that is also a yes of each of {_JUDGES} models of the same kind, trained on resamples that "
            "no search has seen",
        ),
        Track(
            "private", "Private",
            f"an option of which all values that it sets are held at once by {_CROWD} or more people of the table, "
            "numbers on a public grid",
        ),
        Track(
            "groups", "Groups",
            "an option as in the contrastive track; the share counted is that of the group that is served worst",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One task: a data set with its set of who may act, a classifier of the zoo, and n refused people.

    groups: the feature along which people are compared, in the track of that name. k: options a person.
    """

    name: str
    track: Kind
    data: str
    model: str
    groups: str = ""
    k: int = 1
    n: int = 60
    seed: int = 0

    @property
    def absent(self) -> str:
        """Why the task cannot be built on this machine; '' where it can."""
        name = self.data.partition(":")[0]
        if datasets.available(name):
            return ""
        return f"the files of '{name}' are not on this machine; put them in a folder named by WAYFORWARD_DATA"

    def build(self, model: Path | None = None) -> BuiltTask:
        """Make the task. model: a file with its classifier, trained before. Raises: DataError if files are absent."""
        if self.absent:
            raise DataError(f"The task '{self.name}' cannot be built here: {self.absent}.")
        table = datasets.load(self.data)
        past, held = table.split(test=0.3, seed=self.seed)
        rng = np.random.default_rng([self.seed, 0x7A5C])
        past = past.take(np.sort(rng.permutation(past.n)[:_ROWS]))
        labels = past.is_favourable.astype(np.int64)
        fitted = (
            train(self.model, table.schema, past.x, labels, seed=self.seed)
            if model is None
            else load(model, table.schema).wrapped
        )
        problem = Problem(
            table.schema,
            fitted,
            Target(favourable=1),
            data=past.x,
            world=table.world if self.track == "consequential" else None,
            retraining=self._retraining(table.schema, labels) if self.track == "robust" else None,
            disclosure=Disclosure(crowd=_CROWD, together=True, grid=_GRID)
            if self.track == "private"
            else None,
        )
        refused = rng.permutation(held.x[~problem.reached(held.x)[0]])
        x, groups = self._people(problem, refused)
        wishes = self._wishes(problem, len(x), rng) if self.track == "personal" else None
        return BuiltTask(self, problem, x, labels, fitted, wishes, groups)

    def _retraining(self, schema: Any, labels: np.ndarray) -> Retraining:
        return Retraining(
            labels,
            fit=lambda rows, y, at: train(self.model, schema, rows, y, seed=at),
            judged=_JUDGES,
            seed=self.seed,
        )

    def _people(self, problem: Problem, refused: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first n refused people and the group of each; where groups are compared, as many of each."""
        if not self.groups:
            return refused[: self.n], np.full(min(self.n, len(refused)), "", dtype=object)
        feature, j = problem.schema[self.groups], problem.schema.index(self.groups)
        kinds = [i for i in range(feature.n_levels) if (refused[:, j] == i).any()]
        take = [np.flatnonzero(refused[:, j] == i)[: self.n // len(kinds)] for i in kinds]
        x = refused[np.sort(np.concatenate(take))]
        return x, np.array([feature.level_text(value) for value in x[:, j]], dtype=object)

    def _wishes(self, problem: Problem, n: int, rng: np.random.Generator) -> Preferences:
        able = int(problem.schema.actionable.sum())
        scores = draw_scores(n, able, _LEVELS, rng, cannot=True)
        return Preferences.from_scores(problem.schema, scores, _LEVELS)


@dataclass(frozen=True, eq=False)
class BuiltTask:
    """A task that was built: its problem, the people x (n, d), their wishes and groups (n,)."""

    task: Task
    problem: Problem
    x: np.ndarray
    labels: np.ndarray = field(repr=False)
    fitted: Any = field(repr=False)
    wishes: Preferences | None = None
    groups: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)

    @cached_property
    def digest(self) -> str:
        """Of what is asked: the definition, what counts, the schema, the table and labels, the people, their wishes."""
        found = hashlib.sha256(
            json.dumps(
                [asdict(self.task), TRACKS[self.task.track].served, self.problem.schema.to_dict()],
                sort_keys=True,
            ).encode()
        )
        parts = [self.problem.require_reference(), self.labels, self.x]
        if self.wishes is not None:
            parts += [self.wishes.frozen, self.wishes.weight]
        for part in parts:
            found.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        return found.hexdigest()[:16]

    @cached_property
    def model_digest(self) -> str:
        """Of what the classifier answers about the table and the people, to three digits: libraries differ beyond."""
        rows = np.concatenate([self.problem.require_reference(), self.x])
        yes, value = self.problem.reached(rows)
        return hashlib.sha256(yes.tobytes() + (np.round(value, 3) + 0.0).tobytes()).hexdigest()[:16]

    @cached_property
    def keys(self) -> list[str]:
        """(n,) one name a person, which hangs on the task and on their row: rows about others are seen by it."""
        own = self.task.name.encode()
        return [
            f"{i}-{hashlib.sha256(own + bytes([0]) + str(i).encode() + row.tobytes()).hexdigest()[:8]}"
            for i, row in enumerate(np.ascontiguousarray(self.x))
        ]

    def holds(self, action: Actions, usable: OptionMask) -> OptionMask:
        """(n, k) bool: which usable options (of actions (n, k, d)) also keep what the track asks for besides."""
        good = usable.copy()
        who, slot = np.nonzero(usable)
        if not len(who) or self.task.track not in ("robust", "private"):
            return good
        acts, before = action[who, slot], self.x[who]
        rows = self.problem.consequences(before, acts)
        if self.task.track == "robust":
            assert self.problem.retraining is not None
            good[who, slot] = self.problem.retraining.votes(self.problem, rows).all(0)
        else:
            assert self.problem.disclosure is not None
            for condition in self.problem.disclosure.conditions():
                good[who, slot] &= condition.holds(self.problem, before, acts, rows)
        return good

    @cached_property
    def model_file(self) -> bytes:
        """The classifier as a .skops file, for other processes and other languages; no pickle."""
        with tempfile.TemporaryDirectory(prefix="wayforward-") as folder:
            return save(self.fitted, Path(folder) / "model.skops").read_bytes()


_ALL = (
    Task("loan-lr", "contrastive", "loan", "lr"),
    Task("german-rf", "contrastive", "german:benchmark", "rf"),
    Task("adult-mlp", "contrastive", "adult", "mlp"),
    Task("loan-world-lr", "consequential", "loan", "lr"),
    Task("loan-world-rf", "consequential", "loan", "rf"),
    Task("loan-wishes-rf", "personal", "loan", "rf"),
    Task("german-wishes-lr", "personal", "german:benchmark", "lr"),
    Task("loan-again-rf", "robust", "loan", "rf"),
    Task("german-again-lr", "robust", "german:benchmark", "lr"),
    Task("loan-crowd-lr", "private", "loan", "lr"),
    Task("loan-groups-lr", "groups", "loan", "lr", groups="gender"),
    Task("adult-groups-rf", "groups", "adult", "rf", groups="sex"),
)

#: name -> task
TASKS: dict[str, Task] = {one.name: one for one in _ALL}


def task(name: str) -> Task:
    """Return a task by its name. Raises: DataError that lists those there are."""
    if not is_one_of(name, TASKS):
        raise DataError(f"There is no task '{name}'. There are: {', '.join(TASKS)}.")
    return TASKS[name]
