"""From the options of a command to a problem and its people."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.cli.places import USES, Use, require_not_written
from wayforward.data.user_tables import features_of, labels_of, read_table, without_label
from wayforward.errors import (
    DataError,
    FileFormatError,
    PreferencesError,
    ProblemError,
    WorldError,
    did_you_mean,
)
from wayforward.plain_files import bounded_lines, file_digest, no_file, read_text, write_text

if TYPE_CHECKING:
    from wayforward.data import Dataset
    from wayforward.preferences import Preferences
    from wayforward.problem import Disclosure, Problem, Retraining
    from wayforward.schema import Origin, Schema
    from wayforward.world import World

_ASKED = 1_000_003  # of the resamples of --robust models:5, so that an audit judges by others


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything that decides the problem and the people; plain data, so that it can be hashed and stored."""

    data: str | None = None
    train: Path | None = None
    label: str | None = None
    favourable: tuple[str, ...] = ()
    people: Path | None = None
    schema: Path | None = None
    model: str = "gb"
    seed: int = 0
    n: int | None = None
    target_threshold: float | None = None
    world: str = "independent"
    cost: str = "l1"
    plausibility: str | None = None
    preferences: Path | None = None
    profile: str = "linear"
    confidence: float | None = None
    sub_population: bool = False
    robust: tuple[str, ...] = ()
    crowd: int | None = None
    grid: float | None = None
    beyond: float | None = None
    epsilon: float | None = None
    noise_key: Path | None = None

    @property
    def disclosure(self) -> Disclosure | None:
        """What options must not give away; None where nothing is asked for."""
        from wayforward.problem import Disclosure

        epsilon = 0.0 if self.epsilon is None else self.epsilon
        if self.epsilon is not None and not epsilon > 0:
            raise DataError(f"--epsilon {epsilon:g} is no budget of privacy. Use above 0, such as 1.")
        wanted = Disclosure(crowd=self.crowd or 0, grid=self.grid, beyond=self.beyond or 0.0, epsilon=epsilon)
        return None if wanted == Disclosure() else wanted

    def disclosure_of(self, schema: Schema, frame: Any) -> Disclosure | None:
        """Return `disclosure` with its noise: the same for the same secret, table and epsilon.

        Raises: DataError without a --noise-key: each command would spend the budget again or show the boundary from
        another distance, and what a stopped one left would be of other noise than what it goes on with.
        """
        wanted = self.disclosure
        if wanted is None or not (wanted.epsilon or wanted.beyond):
            return wanted
        if self.noise_key is None:
            raise DataError(
                f"{'--epsilon' if wanted.epsilon else '--beyond'} draws noise by a secret, so that asking again tells "
                "no more. Name a file for it with --noise-key; it is made where it is not there."
            )
        about = [schema.to_dict(), wanted.epsilon, wanted.delta, schema.encode(frame).tobytes().hex()]
        drawn = hashlib.blake2b(
            json.dumps(about, default=str).encode(), key=_secret(self.noise_key), digest_size=16
        )
        return replace(wanted, noise_seed=int.from_bytes(drawn.digest(), "big"))

    def plain(self) -> dict[str, Any]:
        """The question as JSON holds it; options left out are left out."""
        given = {name: value for name, value in asdict(self).items() if value not in (None, ())}
        if self.preferences is None:
            given.pop("profile")  # says something about wishes only
        if not self.sub_population:
            given.pop("sub_population")
        return {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}

    @classmethod
    def from_plain(cls, stored: dict[str, Any]) -> Inputs:
        """The reverse of `plain`. Raises: DataError if the options are not those of this version."""
        known = {name: value for name, value in stored.items() if name in cls.__dataclass_fields__}
        for name in ("train", "people", "schema", "preferences", "noise_key"):
            if name in known:
                known[name] = Path(known[name])
        if "noise_key" in known and not known["noise_key"].exists():
            raise DataError(
                f"The answer was made with the secret '{known['noise_key']}' (--noise-key), which is not there. Bring "
                "it back: without it nobody can judge the answer."
            )
        for name in ("favourable", "robust"):
            known[name] = tuple(known.get(name, ()))
        files = (name for name in known if USES.get(name) is Use.READ)
        require_not_written([(f"the saved answer (--{name})", Path(known[name])) for name in files])
        return cls(**known)

    def ready(self, id: str | None = None) -> Ready:
        """Read, train or load, put the problem together and choose the people.

        id: the column of --people that names them; without --people, of --train. Raises: WayforwardError.
        """
        from wayforward.schema import Origin

        if id is not None and self.people is None and self.data is not None:
            raise DataError(
                f"--id {id} is a column that names people, and the people of --data {self.data} have no names. Leave "
                "it out: they are numbered from 0, as in explain --person 0; or name your own with --people FILE."
            )
        prepared = self.prepare(id=id)
        problem, files = prepared.problem, dict(prepared.files)
        reasons: dict[int, str] = {}
        origin = None
        if self.people is not None:
            table = read_table(self.people)
            x, reasons = problem.read(table)
            origin = Origin.of(table, len(x), id) if id is not None else None
            x, reasons = x[: self.n], {i: why for i, why in reasons.items() if i < len(x[: self.n])}
            origin = None if origin is None else origin.take(np.arange(len(x)))
            if len(reasons) == len(x):
                raise DataError(f"None of these people could be read. Row 0: {reasons[0]}")
            files["people"] = _sha256(self.people)
            from_training = 0
        else:
            x, seen = _refused(prepared, self)
            from_training = len(seen)
            if id is not None:  # all of --train: there is no other table
                named = Origin.of(prepared.table, len(prepared.train), id)
                origin = None if named is None else replace(named.take(seen), table=None, rows=None)
        wishes = None
        if self.preferences is not None:
            wishes = read_wishes(self.preferences, problem.schema, x, self)
            files["preferences"] = _sha256(self.preferences)
        title = prepared.title if self.people is None else self.people.stem
        return Ready(problem, x, wishes, title, prepared.seconds_train, from_training, files, reasons, origin)

    def prepare(self, schema: Schema | None = None, id: str | None = None) -> Prepared:
        """Build the problem and its tables; a schema given (that of saved answers) is used as it is.

        id: a column that names people, which is guessed to be no feature.
        """
        if (self.data is None) == (self.train is None):
            raise DataError(
                "Say where the data is: either --data NAME (see: wayforward datasets) or --train FILE."
            )
        return _from_data_set(self, schema) if self.data is not None else _from_tables(self, schema, id)


@dataclass(frozen=True)
class Prepared:
    """A problem, its tables, and the seconds and files it took."""

    problem: Problem
    title: str
    train: Any
    labels: np.ndarray  # of train, as the model learnt them
    test: Any  # people the model was not trained on, or None
    seconds_train: float
    files: dict[str, str]  # sha256 of what was read
    test_labels: np.ndarray | None = None  # of test: was their label the favourable one?
    yes_means: str = ""  # what the favourable label stands for
    table: Any = None  # train as it was read, with every column


@dataclass(frozen=True)
class Ready:
    """A problem and the people to answer (n, d)."""

    problem: Problem
    x: np.ndarray
    preferences: Preferences | None
    title: str
    seconds_train: float
    from_training: int = 0  # how many of the people the model was trained on
    files: dict[str, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)  # of people who could not be read, by row
    origin: Origin | None = None

    @property
    def schema(self) -> Schema:
        """The schema of the problem."""
        return self.problem.schema

    @property
    def read(self) -> np.ndarray:
        """(m,) the rows of those who could be read."""
        return np.setdiff1d(np.arange(len(self.x)), list(self.reasons))

    def wishes_of(self, who: np.ndarray) -> Preferences | None:
        """The preferences of some of the people (m,), None where nobody has any."""
        return None if self.preferences is None else self.preferences.take(who)


def _from_data_set(question: Inputs, schema: Schema | None) -> Prepared:
    from wayforward.data import load

    if question.label is not None or question.favourable:
        raise DataError(
            f"The data set '{question.data}' knows its label and what is favourable. Leave both options out."
        )
    assert question.data is not None
    found = load(question.data)
    train, test = found.split(test=0.3, seed=question.seed)
    y = train.is_favourable.astype(np.int64)  # 1 is the favourable label in every set
    schema = schema or (_schema(question, None) if question.schema is not None else found.schema)
    if not schema.actionable.any() and (other := lets_people_act(found)):
        from wayforward.cli.console import say

        sets = f"{found.name} has other sets of who can change what"
        say(f"note: here nobody can act on anything, so nobody can have an option; {sets}: --data {other}.")
    prepared = _put_together(question, schema, train.frame, y, (1,), test.frame, found.title, found.world)
    return replace(prepared, test_labels=test.is_favourable, yes_means=found.label_text.get(1, ""))


def lets_people_act(found: Dataset) -> str:
    """The name, as --data takes it, under which people of this data set can act: 'compas:benchmark'; '' if none."""
    able = [name for name, acts in found.acts.items() if acts.apply(found.schema).actionable.any()]
    chosen = "benchmark" if "benchmark" in able else next(iter(able), "")
    return f"{found.name}:{'+'.join((*found.variant, chosen))}" if chosen else ""


def _from_tables(question: Inputs, schema: Schema | None, id: str | None = None) -> Prepared:
    assert question.train is not None
    if question.label is None or not question.favourable:
        raise DataError(
            "--train needs --label COLUMN and --favourable VALUE: which column is the decision, and which "
            "value people want."
        )
    table = read_table(question.train)
    features = features_of(table, question.label, question.train.name)
    y = labels_of(table, question.label, question.favourable, question.train.name)
    schema = schema or _schema(question, without_label(features, id))
    prepared = _put_together(
        question, schema, features, y, question.favourable, None, question.train.stem, None
    )
    return replace(prepared, table=table)


def _schema(question: Inputs, features: Any) -> Schema:
    from wayforward.schema import Schema

    if question.schema is not None:
        return Schema.from_yaml(question.schema)
    from wayforward.cli.console import say

    schema = Schema.infer(features)
    for name, guess in schema.guesses.items():
        say(f"note: guessed of '{name}': {guess}. A --schema file says otherwise.")
    return schema


def _put_together(
    question: Inputs, schema: Schema, frame: Any, y: Any, favourable: tuple[Any, ...], test: Any,
    title: str, world: World | None,
) -> Prepared:  # fmt: skip
    from wayforward.model import wrap
    from wayforward.problem import Problem, Target
    from wayforward.problem.cost import cost_named
    from wayforward.problem.robust import check, read

    if question.robust:
        check(question.robust)  # before a model is trained
    started = time.perf_counter()
    estimator, files = _model(question, schema, frame, y)
    seconds = time.perf_counter() - started
    if question.train is not None:
        files["train"] = _sha256(question.train)
    found = _world(question.world, world)
    if Path(question.world).is_file():
        files["world"] = _sha256(Path(question.world))
    if question.sub_population:
        from wayforward.world import SubPopulation

        if found is None:
            raise WorldError(
                "--sub-population needs a world in which something follows. Name one with --world."
            )
        found = SubPopulation(found)
    robust = None
    if question.robust:
        robust = read(
            question.robust,
            lambda m: trained_again(question, schema, frame, y, m, seed=question.seed + _ASKED),
        )
    problem = Problem(
        schema,
        wrap(estimator, schema),
        Target(
            favourable=favourable[0] if len(favourable) == 1 else favourable,
            threshold=question.target_threshold,
        ),
        data=frame,
        world=found,
        cost=cost_named(question.cost),
        plausibility=_plausibility(question.plausibility, found),
        confidence=question.confidence,
        robust=robust,
        retraining=_retraining(question, schema, y),
        disclosure=question.disclosure_of(schema, frame),
    )
    return Prepared(problem, title, frame, y, test, seconds, files)


def _retraining(question: Inputs, schema: Schema, y: np.ndarray) -> Retraining:
    """How the model is trained again for options that last: as here, or a model from a file by its own recipe."""
    from wayforward.model import ZOO, train
    from wayforward.problem import Retraining

    if question.model not in ZOO:
        return Retraining(y, seed=question.seed)
    return Retraining(
        y,
        fit=lambda rows, labels, at: train(question.model, schema, rows, labels, seed=at),
        seed=question.seed,
    )


def trained_again(
    question: Inputs, schema: Schema, frame: Any, y: np.ndarray, m: int, *, seed: int
) -> list[Any]:
    """m models of the same kind, each trained on a resample of the past people.

    Raises: ProblemError for a model from a file, which nobody here can train again.
    """
    from wayforward.cli.console import say
    from wayforward.evaluate.robustness import retrained
    from wayforward.model import ZOO, train

    if question.model not in ZOO:
        raise ProblemError(
            f"--model {question.model} is a file, and cannot be trained again. Leave models: out of --robust, or "
            f"name one of {', '.join(ZOO)}."
        )
    say(f"training {m} model{'s' if m > 1 else ''} again ...")
    return retrained(
        lambda rows, labels, at: train(question.model, schema, rows, labels, seed=at),
        schema.encode(frame), y, m, seed=seed,
    )  # fmt: skip


def _refused(prepared: Prepared, question: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """People whom the model refuses: first those it was not trained on, in an order that the seed fixes.

    The second: the rows of the training table of those who are from there, the last ones.
    """
    schema = prepared.problem.schema
    rng = np.random.default_rng(question.seed)
    fresh, seen, rows = np.empty((0, schema.d)), np.empty((0, schema.d)), np.empty(0, dtype=np.int64)
    if prepared.test is not None:
        x = schema.encode(prepared.test)
        fresh = x[rng.permutation(np.flatnonzero(~prepared.problem.reached(x)[0]))]
    if not len(fresh) or (question.n or 0) > len(fresh):
        x = schema.encode(prepared.train)
        rows = rng.permutation(np.flatnonzero(~prepared.problem.reached(x)[0]))
        seen = x[rows]
    x = np.concatenate([fresh, seen])[: question.n]
    if not len(x):
        raise DataError(
            "The model refuses nobody in this data. Check --favourable, or name people with --people."
        )
    return x, rows[: max(0, len(x) - len(fresh))]


def _model(question: Inputs, schema: Schema, frame: Any, y: Any) -> tuple[Any, dict[str, str]]:
    from wayforward.model import ZOO, load, train
    from wayforward.model.files import own_process

    if question.model in ZOO:
        return train(question.model, schema, frame, y, seed=question.seed), {}
    path = Path(question.model)
    if not path.is_file():
        hint = did_you_mean(question.model, ZOO)
        raise DataError(f"--model {question.model} is neither one of {', '.join(ZOO)} nor a file.{hint}")
    own_process()
    return load(path, schema), {"model": _sha256(path)}


def _world(name: str, of_data: World | None) -> World | None:
    if name == "independent":
        return None
    if name in ("scm", "loan"):
        if of_data is None:
            raise WorldError(
                f"--world {name} needs data that was drawn from known equations, such as --data loan."
            )
        return of_data
    from wayforward.world import load_world

    path = Path(name)
    if not path.is_file():
        raise WorldError(
            f"--world {name} is neither 'independent' nor 'scm' nor a world file. Choose one of them."
        )
    return load_world(path)


def density_of(problem: Problem, x: np.ndarray) -> str | None:
    """ "world" where the problem's world says how likely people are, so that plausibility is measured with it."""
    if problem.independent or not len(x):
        return None
    try:
        problem.world.log_density(x[:1])
    except WorldError:
        return None
    return "world"


def _plausibility(name: str | None, world: World | None) -> Any:
    if name is None:
        return None
    if name == "at-least-as-likely":
        from wayforward.problem import AtLeastAsLikely

        if world is None:
            raise WorldError(
                f"--plausibility {name} asks a world how likely people are. Name one with --world."
            )
        return AtLeastAsLikely(world)
    from wayforward.problem import Domain, IsolationForest, KernelDensity, Lof, Neighbours, Prototype

    known = {
        "domain": Domain,
        "neighbours": Neighbours,
        "lof": Lof,
        "isolation-forest": IsolationForest,
        "kernel-density": KernelDensity,
        "prototype": Prototype,
    }
    if name not in known:
        raise DataError(
            f"There is no plausibility '{name}'. Choose one of {', '.join(known)}, at-least-as-likely."
        )
    return known[name]()


def read_wishes(path: Path, schema: Schema, x: np.ndarray, question: Inputs) -> Preferences:
    """Read the limits and weights of people x (n, d) from JSON or CSV. Raises: FileFormatError, PreferencesError."""
    from wayforward.preferences import Preferences

    if not path.is_file():
        raise FileFormatError(no_file(path))
    if path.suffix == ".csv":
        with path.open(encoding="latin-1") as file:
            lines = bounded_lines(file, path.name)
            empty = not any(line.strip(" \r\n\t,") for line in islice(lines, 1, None))
        if empty:
            raise FileFormatError(
                f"'{path.name}' has no row, so nobody wishes anything. Give a row for each wish, or "
                "leave --preferences out."
            )
        profile: Any = question.profile
        return Preferences.from_table(schema, path, len(x), x=x, profile=profile)
    if path.suffix != ".json":
        raise FileFormatError(
            f"'{path.name}' is not read: wishes are .csv, one a row, or .json from Preferences.save. Convert it."
        )
    found = Preferences.load(path, schema)
    if found.n < len(x) or (found.n > len(x) and question.n is None):
        raise PreferencesError(
            f"'{path.name}' holds the wishes of {found.n} people, and {len(x)} are asked about. Give the wishes of "
            "the same people in the same order, or a .csv file, which names them by row number."
        )
    return found.take(np.arange(len(x)))


def _secret(path: Path) -> bytes:
    """Read a secret of 32 bytes in hexadecimals, drawn on first use; only its owner can read it. Raises: DataError."""
    if not path.exists():
        write_text(path, secrets.token_hex(32) + "\n", private=True)
    text = read_text(path, "secret").strip()
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise DataError(
            f"'{path.name}' holds no secret of --noise-key. Name a file that is not there: it is made."
        )
    return bytes.fromhex(text)


def _sha256(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise FileFormatError(f"'{path.name}' cannot be read: {error.strerror}. Check the path.") from None


__all__ = [
    "Inputs", "Prepared", "Ready", "density_of", "lets_people_act", "read_wishes", "trained_again",
]  # fmt: skip
