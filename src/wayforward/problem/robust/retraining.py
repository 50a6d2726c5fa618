"""How a model is trained again on resamples of the past people, so that plans can be made to last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from wayforward.errors import (
    DataError,
    FileFormatError,
    ModelError,
    ProblemError,
    is_integer,
    is_number,
    shown,
)
from wayforward.plain_files import make_folder
from wayforward.problem.robust.models import AllModels
from wayforward.problem.robust.next_model import NextModel
from wayforward.public import public
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem.problem import Problem
    from wayforward.schema import Schema
    from wayforward.shapes import Mask, Rows

Fit = Callable[
    [np.ndarray, np.ndarray, int], Any
]  # rows (N, d), labels (N,), seed -> a model that `wf.wrap` takes
_JUDGED = 500_009  # seeds of the models that judge are so far from those of the search
_ALIKE = 0.1  # shares of people accepted that lie farther apart are another training's


@dataclass(frozen=True, eq=False)
class Retraining:
    """How the model is trained again on bootstrap resamples of the observed people (the problem's `data`).

    labels: (N,) what the model learnt about each of them, or the name of that column of `data`. fit: (rows (m, d),
    labels (m,), seed) -> a model; left out, a fresh copy of the model itself, where it is a scikit-learn estimator or
    pipeline or has that interface; a name of the zoo ('gb'): models of that kind stand in for one that nobody can train
    here. searched: models that a search for lasting options sees; judged: others, that only judge. share: how surely,
    by the models of the search, a lasting option must get a yes from the next one (see `NextModel`); somewhat more than
    is wanted, because a search finds what looks good in its own models. seed: of the resamples. folder: where trained
    models are written, and read again by whoever asks the same later; of this model and these people alone.

    Models are trained when they are first needed, and then kept.
    Example: ``Problem(schema, pipeline, target, data=train, retraining=Retraining(labels))``.
    Raises: ProblemError, DataError.
    """

    labels: Any
    fit: Fit | str | None = None
    searched: int = 20
    judged: int = 10
    share: float = 0.98
    seed: int = 0
    folder: Path | None = None
    _trained: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _labels: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)
    _people: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), init=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("searched", 2), ("judged", 1)):
            value = getattr(self, name)
            if not is_integer(value) or value < least:
                raise ProblemError(
                    f"Retraining: {name}={value!r} models cannot be trained. Use {least} or more."
                )
        if not (is_number(self.share) and 0.5 <= self.share < 1):
            raise ProblemError(
                f"Retraining: share={self.share!r} is no share from 0.5 to below 1, such as 0.9."
            )

    def bound(self, problem: Problem, data: Any) -> Self:
        """Return a copy that knows the labels of the problem's observed people. Raises: DataError, ProblemError."""
        people = problem.require_reference()
        labels = _column(data, self.labels) if isinstance(self.labels, str) else np.asarray(self.labels)
        if labels.shape != (len(people),):
            raise DataError(
                f"Retraining has labels of shape {labels.shape}; the problem's data holds {len(people)} people. Give "
                "one label for each of them, in the same order."
            )
        other = type(self)(
            self.labels, self.fit, self.searched, self.judged, self.share, self.seed, self.folder
        )
        object.__setattr__(other, "_labels", labels)
        object.__setattr__(other, "_people", people)  # made-up ones may stand in the problem's table later
        return other

    @property
    def stands_in(self) -> str:
        """The kind of model that stands in for the problem's own; '' where it is trained itself."""
        return self.fit if isinstance(self.fit, str) else ""

    def condition(self, problem: Problem) -> NextModel:
        """Return the condition that a lasting option meets: on the models that a search sees."""
        if "searched" not in self._trained:
            models = self._models(problem, self.searched, self.seed)
            self._trained["searched"] = NextModel(models, self.share).fit(problem)
        found: NextModel = self._trained["searched"]
        return found

    def votes(self, problem: Problem, after: Rows) -> Mask:
        """after (m, d) -> (judged, m) bool: which of the models that no search has seen say yes."""
        if "judged" not in self._trained:
            models = self._models(problem, self.judged, self.seed + _JUDGED)
            self._trained["judged"] = AllModels(models).fit(problem)
        judges: AllModels = self._trained["judged"]
        return judges.votes(after)

    def describe(self) -> dict[str, Any]:
        """Plain values for `Recourse.meta`."""
        made = f"{self.stands_in}, which stands in for the model" if self.stands_in else "the model itself"
        out = {"trained_again": made, "searched": self.searched, "judged": self.judged, "share": self.share}
        return out | ({"agreement": self._trained["agreement"]} if "agreement" in self._trained else {})

    def _models(self, problem: Problem, m: int, seed: int) -> list[Any]:
        from wayforward.model import train
        from wayforward.model.refitting import refit

        schema, fit = problem.schema, self.fit
        if not callable(fit) and len(np.unique(self._labels)) < 2:  # a recipe of one's own may not need them
            raise DataError(
                f"Retraining: all {len(self._labels)} labels are {shown(self._labels.tolist()[0])}, so nothing is "
                "learned. Give labels that differ."
            )

        def again(rows: np.ndarray, labels: np.ndarray, at: int) -> Any:
            if fit is None:
                return refit(problem.model, rows, labels, at)
            return (
                train(fit, schema, rows, labels, seed=at) if isinstance(fit, str) else fit(rows, labels, at)
            )

        def stored(rows: np.ndarray, labels: np.ndarray, at: int) -> Any:
            return _stored(self.folder, at, schema, lambda: again(rows, labels, at))

        models = retrained(stored, self._people, self._labels, m, seed=seed)
        return self._checked(problem, models)

    def _checked(self, problem: Problem, models: list[Any]) -> list[Any]:
        """Return the models, wrapped. Raises: ProblemError where they are no second training of the problem's model."""
        from wayforward.model import wrap

        people, before = problem.require_reference(), problem.reference_reached
        wrapped = [wrap(model, problem.schema) for model in models]
        for model in wrapped:
            model.forget_inside()  # they judge, and nobody searches in them
        again = AllModels(wrapped).fit(problem).votes(people)
        rate, rates = float(before.mean()), again.mean(1)
        self._trained["agreement"] = round(float((again == before).mean()), 4)
        if (again == before).all():
            raise ProblemError(
                f"Trained again on resamples, {problem.model.name} decides every one of the {len(people)} observed "
                "people as before, so it does not learn from what it is given. Give Retraining(fit=...) its recipe."
            )
        if self.fit is None and abs(float(rates.mean()) - rate) > _ALIKE + 3 * float(rates.std()):
            raise ProblemError(
                f"Models trained again accept {rates.mean():.0%} of the observed people where this one accepts "
                f"{rate:.0%}, so they were trained in another way (weights of classes, other people or labels?). Give "
                "Retraining(fit=lambda rows, labels, seed: ...) the recipe of the model itself."
            )
        return wrapped


def _stored(folder: Path | None, seed: int, schema: Schema, fit: Callable[[], Any]) -> Any:
    """Return the model of this seed from its file; without one it is trained and, where that can be, written."""
    if folder is None:
        return fit()
    from wayforward.model import load, save

    path = folder / f"{seed}.skops"
    with suppress(FileFormatError, ModelError):  # no file yet, or one of other versions of the libraries
        return load(path, schema)
    model = fit()
    make_folder(folder)
    with suppress(FileFormatError):
        save(model, path)
    return model


@public
def retrained(fit: Fit, x: np.ndarray, y: np.ndarray, m: int = 10, *, seed: int = 0) -> list[Any]:
    """m models trained on resamples of the table, as a lender may train next year's.

    fit: (rows (N, d), labels (N,), seed) -> a model that `wf.wrap` takes. Each sees a bootstrap resample.
    Example: ``retrained(lambda x, y, s: train("mlp", schema, x, y, seed=s), past.x, labels)``.
    Raises: DataError for lengths that differ, or m below 1.
    """
    if len(x) != len(y) or not len(x):
        raise DataError(f"There are {len(x)} rows and {len(y)} labels. Give one label for each row.")
    if m < 1:
        raise DataError(f"m={m} models were asked for. Ask for 1 or more.")
    several = len(np.unique(y)) > 1
    out = []
    for i in range(m):
        rng = generator(seed, i)
        rows = rng.integers(0, len(x), len(x))
        while several and len(np.unique(y[rows])) < 2:  # a rare label was not drawn
            rows = rng.integers(0, len(x), len(x))
        out.append(fit(x[rows], y[rows], seed + i))
    return out


def _column(data: Any, name: str) -> np.ndarray:
    import narwhals as nw

    if not hasattr(data, "columns") or isinstance(data, np.ndarray):
        raise DataError(
            f"Retraining(labels={name!r}) names a column, and data is no table. Give the labels themselves."
        )
    table = nw.from_native(data, eager_only=True)
    if name not in table.columns:
        raise DataError(
            f"data has no column '{name}' for Retraining. It has {', '.join(table.columns[:12])}."
        )
    return np.asarray(table[name].to_numpy())
