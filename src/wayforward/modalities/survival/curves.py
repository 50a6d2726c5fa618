"""Survival curves of people, whoever fitted the model: scikit-survival's, lifelines', a function's, a Cox form's."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward import errors
from wayforward.errors import ModelError, did_you_mean, is_number
from wayforward.modalities.model import safely
from wayforward.model import WrapOptions
from wayforward.model.fast import padded
from wayforward.model.forms import LinearForm
from wayforward.model.tables import Table
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats

_CHUNK = (
    128  # rows of one asking: of one size, as a matrix product may round a row by how many stand beside it
)
_STEP = 1e-6  # a probability may be off by so much
_WHAT = "a table"
_ADVICE = (
    "Give a fitted model with predict_survival_function (scikit-survival, lifelines), a Cox(...), or a function of a "
    "table that gives one curve a row, with times=."
)


@public
@dataclass(frozen=True)
class Cox:
    """A proportional hazards model as it is printed: log hazard ratios, and the curve where they add up to nothing.

    weights: of each numeric column the log hazard ratio of one unit, of each column with levels {level: log hazard
    ratio}; what is left out is 0. times (T,): ascending. survival (T,): the share of people with a sum of 0 for whom
    the event has not come by then. centre: of numeric columns, what is taken off first.
    Example: ``Cox({"age": 0.04, "smoker": {"yes": 0.7}}, times, survival, centre={"age": 60})``.
    Raises: ModelError for times that do not ascend and survival that rises.
    Source: D. R. Cox (1972), Regression Models and Life-Tables, Journal of the Royal Statistical Society B 34(2).
    """

    weights: Mapping[str, Any]
    times: Sequence[float]
    survival: Sequence[float]
    centre: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        times = checked_times(self.times, "Cox")
        survival = numbers_in(self.survival)
        if survival.shape != times.shape:
            raise ModelError(
                f"Cox has {len(times)} times; survival needs a probability for each, got shape {survival.shape}."
            )
        wrong = survival[~((survival >= 0) & (survival <= 1))]
        if len(wrong):
            raise ModelError(
                f"The survival of Cox has {wrong[0]:g}, which is no probability. Give the share that is left at each "
                "time; of a cumulative baseline hazard, np.exp(-hazard)."
            )
        if (np.diff(survival) > 0).any():
            raise ModelError("The survival of Cox rises with time. Give the share that is left at each time.")
        for what in ("weights", "centre"):
            given = getattr(self, what)
            if not isinstance(given, Mapping) and not (what == "centre" and given is None):
                raise ModelError(f"The {what} of Cox are a {type(given).__name__}. Give {{column: number}}.")
            for name, value in (given or {}).items():
                levels = isinstance(value, Mapping) and what == "weights"
                for one in value.values() if levels else (value,):
                    if not is_number(one):
                        raise ModelError(f"The {what} of Cox have {one!r} for '{name}', which is no number.")

    def form(self, schema: Schema) -> LinearForm:
        """Return minus the log hazard ratio as a linear score. Raises: ModelError for a column or level not there."""
        weight, tables, bias = np.zeros((schema.d, 1)), {}, 0.0
        for name in (*self.weights, *(self.centre or {})):
            if name not in schema.names:
                raise ModelError(
                    f"Cox has the column '{name}', which is not in the schema.{did_you_mean(name, schema.names)}"
                )
        for name, value in self.weights.items():
            j = schema.index(name)
            feature = schema.features[j]
            if feature.has_levels:
                given = dict(value) if isinstance(value, Mapping) else {}
                unknown = [level for level in given if level not in feature.levels]
                if unknown or not isinstance(value, Mapping):
                    levels = ", ".join(map(repr, feature.levels))
                    raise ModelError(
                        f"Cox has {value!r} for '{name}', whose levels are {levels}. Give {{level: log hazard ratio}}."
                    )
                tables[j] = -np.array([[float(given.get(level, 0.0))] for level in feature.levels])
                continue
            if isinstance(value, Mapping):
                raise ModelError(
                    f"Cox has {value!r} for '{name}', a number. Give the log hazard ratio of one unit."
                )
            weight[j] = -float(value)
            bias -= float(weight[j, 0]) * float((self.centre or {}).get(name, 0.0))
        return LinearForm(schema, np.array([bias]), weight, tables, np.full((schema.d, 1), np.nan))


@dataclass(frozen=True)
class CurveGrid:
    """Times (T,) at which curves are known, and until when an expected lifetime counts."""

    times: Floats
    horizon: float

    @property
    def widths(self) -> tuple[float, Floats]:
        """How long everybody is there for sure, and (T,) how long each value of a curve lasts, within the horizon."""
        ends = np.minimum(np.append(self.times, self.horizon), self.horizon)
        return float(ends[0]), np.maximum(np.diff(ends), 0.0)

    def lifetimes(self, curves: Floats) -> Floats:
        """(m, T) -> (m,) expected time to the event within the horizon: the area under each curve."""
        sure, widths = self.widths
        return np.asarray(sure + (curves * widths).sum(1))

    def alive(self, curves: Floats, moment: float) -> Floats:
        """(m, T) -> (m,) probability that the event has not come by then."""
        place = int(np.searchsorted(self.times, moment, side="right")) - 1
        return np.ones(len(curves)) if place < 0 else np.asarray(curves[:, place])


class Curves:
    """Asks a survival model about rows (m, d) of a schema for curves (m, T) at `times`.

    Raises: ModelError for what gives no curves.
    """

    def __init__(self, model: Any, schema: Schema, times: Any, frame: Any, options: WrapOptions) -> None:
        self.name = f"The survival model {_name(model)}"
        self.form = model.form(schema) if isinstance(model, Cox) else None
        self.model, self.table = model, Table(schema, list(schema.names), frame, self.name, options.prepare)
        self._ask = getattr(model, "predict_survival_function", None)
        if self._ask is None and not callable(model) and self.form is None:
            raise ModelError(f"{self.name} has no predict_survival_function and cannot be called. {_ADVICE}")
        self._arrays = self._ask is not None and _takes(self._ask, "return_array")
        known = model.times if isinstance(model, Cox) else _own_times(model)
        if times is None and known is None:
            known = self._index(schema)
        self.own = None if known is None else checked_times(known, self.name)  # where its arrays are known
        given = self.own if times is None else checked_times(times, "times")
        if given is None:
            raise ModelError(
                f"{self.name} does not say at which times its curves are known. Give times=[...]."
            )
        if self.own is not None:
            _within(given, self.own)
        self.times = given

    def __call__(self, rows: Floats) -> Floats:
        """(m, d) -> (m, T)."""
        if not len(rows):
            return np.empty((0, len(self.times)))
        if self.form is not None:
            return proportional(hazard_of(self.printed), self.form.margin(rows)[:, 0])
        out = padded(self._once, self.table(rows.copy()), _CHUNK)
        if not ((out > -_STEP) & (out < 1 + _STEP)).all():
            raise ModelError(
                f"{self.name} gave a curve with a value that is no probability. Give the share that is left."
            )
        if (np.diff(out, axis=1) > _STEP).any():
            raise ModelError(
                f"{self.name} gave a curve that rises with time. Give the share that is left at each time, and not "
                "that of those whom the event has met."
            )
        return np.ascontiguousarray(np.clip(out, 0.0, 1.0))  # of one layout, so that sums add up alike

    @property
    def printed(self) -> Floats:
        """(T,) the survival of a `Cox`."""
        return np.asarray(self._at(np.asarray(self.model.survival, np.float64)[None])[0])

    def _once(self, table: Any) -> Floats:
        out = self._read(table)
        if out.shape != (_CHUNK, len(self.times)):
            raise ModelError(
                f"{self.name} gave curves of shape {out.shape} for {_CHUNK} rows and {len(self.times)} times. "
                "Give one curve a row, with one value a time."
            )
        return out

    def _read(self, table: Any) -> Floats:
        got = safely(lambda: self._answer(table), self.name, _WHAT, _ADVICE)
        if self._ask is not None and _is_frame(got):  # lifelines: a column a person, a row a time
            return _steps(np.asarray(got.index, np.float64), got.to_numpy(np.float64).T, self.times)
        if self._ask is not None and callable(got[0]):  # scikit-survival's step functions
            return np.stack([_function(one, self.times) for one in got])
        try:
            out = errors.numbers_in(got, "the answer", ModelError)
        except ModelError:
            raise ModelError(f"{self.name} gave a curve with a value that is no number. {_ADVICE}") from None
        return self._at(out) if self.own is not None and out.ndim == 2 else out

    def _answer(self, table: Any) -> Any:
        if self._ask is None:
            return self.model(table)
        return self._ask(table, return_array=True) if self._arrays else self._ask(table)

    def _at(self, curves: Floats) -> Floats:
        """Curves at the model's own times -> at those wanted."""
        if self.own is None or self.own is self.times or curves.shape[1] != len(self.own):
            return curves
        return _steps(self.own, curves, self.times)

    def _index(self, schema: Schema) -> Floats | None:
        """The times of a model that gives tables of curves."""
        from wayforward.model.verify import sample_rows

        if self._ask is None:
            return None
        rows = self.table(sample_rows(schema, 1, missing=False))
        got = safely(lambda: self._answer(rows), self.name, _WHAT, _ADVICE)
        if _is_frame(got):
            return np.asarray(got.index, np.float64)
        return np.asarray(got[0].x) if len(got) and hasattr(got[0], "x") else None


def hazard_of(survival: Floats) -> Floats:
    """The cumulative hazard of a curve."""
    return np.asarray(-np.log(np.maximum(survival, 1e-300)))


def proportional(hazard: Floats, index: Floats) -> Floats:
    """(T,) cumulative hazard where the index is 0, (m,) index, minus the log hazard ratio -> (m, T) curves."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-hazard * np.exp(-np.clip(index, -700, 700))[:, None]))


def checked_times(times: Any, name: str) -> Floats:
    """Return times (T,). Raises: ModelError."""
    found = numbers_in(times)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or found[0] < 0:
        raise ModelError(f"{name}: times must be finite numbers of 0 or more, such as [6, 12, 24].")
    if (np.diff(found) <= 0).any():
        raise ModelError(f"{name}: times must ascend, each of them once.")
    return found


def numbers_in(given: Any) -> Floats:
    """Return an array of numbers, NaN where masked; an empty one for what is none."""
    try:
        found = np.asanyarray(given)
    except (TypeError, ValueError):  # lists of several lengths
        return np.empty(0)
    if found.dtype.kind not in "iuf":
        return np.empty(0)
    return np.asarray(np.ma.filled(found.astype(np.float64), np.nan))


def _is_frame(got: Any) -> bool:
    return hasattr(got, "index") and hasattr(got, "to_numpy")


def _within(wanted: Floats, known: Floats) -> None:
    """Raises: ModelError for times after the last at which a model knows its curves."""
    if wanted[-1] > known[-1]:
        raise ModelError(
            f"times has {wanted[-1]:g}, and the model knows its curves up to {known[-1]:g}. Nobody knows what comes "
            "later: choose earlier times, or leave times out."
        )


def _steps(known: Floats, curves: Floats, wanted: Floats) -> Floats:
    """Curves (m, K) that hold their value from one known time to the next -> (m, T). Raises: see `_within`."""
    _within(wanted, known)
    place = np.searchsorted(known, wanted, side="right")
    return np.asarray(np.concatenate([np.ones((len(curves), 1)), curves], axis=1)[:, place])


def _function(step: Any, wanted: Floats) -> Floats:
    if hasattr(step, "x") and hasattr(step, "y"):
        return np.asarray(
            _steps(np.asarray(step.x, np.float64), np.asarray(step.y, np.float64)[None], wanted)[0]
        )
    return np.asarray(step(wanted), dtype=np.float64)


def _takes(function: Any, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.name == name or one.kind is one.VAR_KEYWORD for one in parameters)


def _own_times(model: Any) -> Any:
    """Where scikit-survival says that its arrays are known; of a pipeline, its last step."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    for name in ("unique_times_", "event_times_"):
        try:
            found = getattr(last, name, None)
        except Exception:  # a property that the model cannot answer yet: its curves say it
            found = None
        if found is not None:
            return found
    return None


def _name(model: Any) -> str:
    steps = getattr(model, "steps", None)
    return f"ending in {type(steps[-1][1]).__name__}" if steps else type(model).__name__
