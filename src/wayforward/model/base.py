"""What a method may ask of a model: outputs, access, cost counters, and views that show its inside.

Arrays hold float64 values in feature units; level features hold level indices; NaN is a missing value.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from wayforward.deadline import OutOfTime, Pace, in_time, look, pause_here
from wayforward.errors import DeviceError, ModelError, UnsupportedModel, numbers_in
from wayforward.model import kernels
from wayforward.model.forms import BoxBounds, DenseForm, FlatForest, LinearForm, Network, Rivals
from wayforward.model.memory import RowMemory
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask, Who

Task = Literal["classification", "regression"]
_DEVICES = ("auto", "cpu", "cuda", "mps", "xpu", "hpu", "xla", "meta", "privateuseone")  # of torch


class Access(IntEnum):
    """How far into a model one can see; each step offers the steps before it."""

    LABEL = 1
    PROBABILITY = 2
    GRADIENT = 3
    WHITE_BOX = 4


def single_valued(low: Floats, high: Floats, levels: Mapping[int, Mask]) -> Mask:
    """(n, d) bool: the box leaves the feature one value, or it is missing."""
    single: Mask = (low == high) | np.isnan(low)
    for j, allowed in levels.items():
        single[:, j] = (allowed.sum(axis=1) <= 1) | np.isnan(low[:, j])
    return single


@public
@dataclass(frozen=True)
class Decision:
    """How the label of a classifier follows from its outputs.

    below, above: of two classes, the second is never the label at a probability of less than `below`, and always at one
    of `above` or more; both .5 where the label is the largest output, both one number where that was read, else next
    to each other as far as was found out. by_output: False where the label does not follow from the outputs, so that
    it has to be asked for (`Model.by_label`). exact: the estimator itself says so; what was found out by asking holds
    on the rows that were asked and proves nothing.
    """

    below: float = 0.5
    above: float = 0.5
    by_output: bool = True
    exact: bool = True

    @property
    def largest(self) -> bool:
        """True where the label is the largest output."""
        return self.by_output and self.below <= 0.5 <= self.above

    def needed(self, column: int) -> float:
        """Return the probability of a column, of two, from which it is the label."""
        return self.above if column == 1 else 1.0 - self.below

    def label(self, outputs: Floats) -> Ints:
        """(m, c) outputs -> (m,) label index, as far as it follows from them."""
        whole = outputs.shape[1] != 2 or self.largest
        return np.asarray(outputs.argmax(axis=1) if whole else outputs[:, 1] >= self.above, dtype=np.int64)

    def clear(self, outputs: Floats, by: float) -> Mask:
        """(m, c) outputs -> (m,) bool: the label stays the same if the outputs are wrong by `by`."""
        if not self.by_output or outputs.shape[1] < 2:
            return np.zeros(len(outputs), dtype=bool)
        if outputs.shape[1] == 2:
            return (outputs[:, 1] < self.below - by) | (outputs[:, 1] > self.above + by)
        top = np.partition(outputs, -2, axis=1)
        return np.asarray(top[:, -1] - top[:, -2] > 2 * by)

    def describe(self, classes: tuple[Any, ...]) -> str:
        """Say what is unlike the largest output; '' where nothing is."""
        if not self.by_output:
            return "its label does not follow from its outputs"
        if self.largest:
            return ""
        for digits in range(1, 10):  # the shortest number between the two
            level = np.ceil(self.below * 10**digits - 1e-9) / 10**digits
            if level <= self.above:
                break
        about = "" if self.exact else "about "
        return f"decides for {classes[1]!r} from a probability of {about}{level:.9g}"


LARGEST = Decision()


_LOCK = threading.Lock()  # of all counters: held for four additions


class _Thread(threading.local):
    """What each thread counts for itself."""

    def __init__(self) -> None:
        self.tallies: list[tuple[Counter, Counter]] = []


_THREAD = _Thread()


@public
@dataclass
class Counter:
    """How many queries a model had: rows and calls of the fast path, rows of the wrapped object itself.

    Several threads may count at once; nothing is lost.
    """

    rows: int = 0
    calls: int = 0
    native_rows: int = 0
    native_calls: int = 0

    def reset(self) -> None:
        """Back to zero."""
        self.rows = self.calls = self.native_rows = self.native_calls = 0

    def add(self, rows: int, calls: int = 1) -> None:
        """Count rows of the fast path."""
        look()
        with _LOCK:
            for counter in (self, *self._open()):
                counter.rows += rows
                counter.calls += calls

    def add_native(self, rows: int, calls: int = 1) -> None:
        """Count rows of the wrapped object itself."""
        pause_here()
        with _LOCK:
            for counter in (self, *self._open()):
                counter.native_rows += rows
                counter.native_calls += calls

    @contextmanager
    def of_this_thread(self) -> Iterator[Counter]:
        """Count what this thread asks meanwhile, whatever other threads ask of the same model.

        Example: ``with model.counter.of_this_thread() as spent: ...``, then ``spent.rows``.
        """
        spent = Counter()
        _THREAD.tallies.append((self, spent))
        try:
            yield spent
        finally:
            _THREAD.tallies.pop()

    def _open(self) -> list[Counter]:
        return [spent for counter, spent in _THREAD.tallies if counter is self]


@public
class Scorer:
    """A model narrowed to people whose frozen features do not move; the same numbers, faster."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def outputs(self, who: Who, rows: Floats) -> Floats:
        """who (m,) person of each row, rows (m, d) -> (m, c); frozen values must be the person's own."""
        return self.model.outputs(rows)

    def each_change(self, who: Who, rows: Floats, values: Floats) -> Floats | None:
        """Outputs (m, d, c) of each row with one feature at a time set to values (m, d), NaN where none is set; None
        where asking about the rows one by one is as quick."""
        return None


@dataclass
class Checked:
    """Shape, range and class checks that every adapter shares."""

    task: Task
    classes: tuple[Any, ...]
    name: str

    def outputs(self, out: Any, m: int) -> Floats:
        """Outputs for m rows as numbers (m, c). Raises: ModelError for another shape, and for what is not finite."""
        width = 1 if self.task == "regression" else len(self.classes)
        try:
            array = np.asarray(out, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"{self.name} returned {type(out).__name__} values that are not numbers. "
                "For labels, give wrap(..., output='label', classes=...)."
            ) from None
        if array.shape != (m, width):
            raise ModelError(
                f"{self.name} returned shape {array.shape} for {m} rows; ({m}, {width}) is needed. "
                "Check the classes and task arguments of wrap."
            )
        if not np.isfinite(array).all():
            bad = int(np.argmax(~np.isfinite(array).all(axis=1)))
            raise ModelError(
                f"{self.name} returned {array[bad][~np.isfinite(array[bad])][0]} in row {bad} of {m}. "
                "Check that it accepts every value the schema allows (missing values, unseen levels)."
            )
        return array


@public
class Model(ABC):
    """The decision maker, wrapped.

    classes: the caller's labels in the order of the output columns (empty for regression).
    decision: how its label follows from its outputs.
    tolerance: how far beyond zero a score of the fast path must be, so that the model itself agrees.
    wrapped: the object itself, where there is one. notes: what the adapter decided, for example why a fast path
    was not taken. askings: how often it is asked about each row; more than once where it is random.
    """

    schema: Schema
    task: Task = "classification"
    classes: tuple[Any, ...] = ()
    access: Access = Access.LABEL
    decision: Decision = LARGEST
    name: str = "The model"
    tolerance: float = 1e-9
    wrapped: Any = None
    askings: int = 1
    _memory: RowMemory | None = None

    def __init__(self) -> None:
        self.counter = Counter()
        self.notes: list[str] = []
        self.paces = Pace(), Pace()  # of the fast path, of the wrapped object itself

    # -- what every model does ---------------------------------------------------------------------------

    @abstractmethod
    def _outputs(self, x: Floats) -> Floats:
        """(m, d) checked rows -> (m, c), each row independent of the others."""

    @abstractmethod
    def _native(self, x: Floats) -> tuple[Floats, Ints]:
        """(m, d) checked rows -> outputs (m, c) and label index (m,) of the wrapped object itself."""

    def _handed(self, m: int, native: bool) -> tuple[int, int]:
        """How many rows and calls it takes to ask about m rows: what is counted."""
        return m, 1

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c) by the fast path: probabilities in `classes` order, or predictions (m, 1).

        Counted. A row's result never depends on the other rows. Raises: ModelError.
        """
        x = self.as_rows(x)
        if len(x) == 0:
            return np.empty((0, self.width))

        def ask(part: Floats) -> tuple[Floats]:
            self.count(len(part))
            return (self.checked(self._outputs(part), len(part)),)

        return in_time(ask, x, self.paces[0 if self.has_fast_path else 1])[0]

    def count(self, m: int) -> None:
        """Count a question about m rows to the fast path."""
        self.counter.add(*self._handed(m, native=False))

    def checked(self, out: Any, m: int) -> Floats:
        """Return outputs for m rows (m, c). Raises: ModelError for another shape, and for what is not finite."""
        return self._checked.outputs(out, m)

    def native(self, x: Floats) -> tuple[Floats, Ints]:
        """(m, d) -> outputs (m, c) and label index (m,) by the wrapped object itself, on rows as it was
        trained.

        The last word on a decision, counted apart. Regression: label index zeros. Raises: ModelError.
        """
        x = self.as_rows(x)
        if len(x) == 0:
            return np.empty((0, self.width)), np.empty(0, np.int64)
        if self._memory is None:
            return self._ask_native(x)
        try:
            return self._memory.answer(x, self._ask_native)
        except OutOfTime:
            raise OutOfTime from None  # what it has are answers to other rows than the first of these

    def _ask_native(self, x: Floats) -> tuple[Floats, Ints]:
        def ask(part: Floats) -> tuple[Floats, Ints]:
            self.counter.add_native(*self._handed(len(part), native=True))
            out, label = self._native(part)
            return self._checked.outputs(out, len(part)), label

        out, label = in_time(ask, x, self.paces[1])
        return out, label

    def remember(self) -> None:
        """Let `native` look up what it was asked before, uncounted; a model that is random is asked every time."""
        self._memory = RowMemory() if self.askings == 1 else None

    def specialise(self, x: Floats, free: Mask) -> Scorer:
        """x (n, d) people, free (n, d) features that may move -> a Scorer for rows of these people."""
        return Scorer(self)

    @property
    def has_fast_path(self) -> bool:
        """True where `outputs` is not the wrapped object itself, but what was read of it."""
        return False

    def by_label(self) -> Model:
        """Return the model as a search for its own label sees it: outputs of which the label's is the largest.

        The model itself, unless its label does not follow from its outputs. `native` shows its own outputs anyway.
        """
        return self

    def on(self, device: str) -> Model:
        """Return the same model, whose `outputs` torch evaluates on a device (see `device_of`); counted together.

        For dense networks whose weights are known. `native`, which has the last word, stays where it is.
        Raises: ModelError for another model; DeviceError; MissingExtra.
        """
        if str(device).split(":")[0] not in _DEVICES:
            raise DeviceError(f"device={device!r} is not known. Use 'cpu', 'cuda', 'cuda:1', ... or 'auto'.")
        raise ModelError(
            f"{self.name} is no dense network whose weights are known, so torch cannot evaluate it on '{device}'. "
            "Leave the device out."
        )

    # -- views, None where the model does not have them --------------------------------------------------

    @property
    def linear(self) -> LinearForm | None:
        """The model as one linear score, or None."""
        return None

    @property
    def single_index(self) -> LinearForm | None:
        """A linear score with one margin such that an output rises or falls with it and hangs on nothing else that
        anybody may act on, whatever the curve between them, or None: the score of a linear model, of a Cox model."""
        return None

    def rivals(self, x: Floats, value: Floats) -> Rivals | None:
        """Return the scores between which the model decides on rows x (n, d), and how values (n, d), NaN for none, each
        alone change them; None where scores do not add up feature by feature."""
        return None

    @property
    def dense(self) -> DenseForm | None:
        """The model as dense layers on encoded columns (a linear score is one), or None."""
        return None

    @property
    def forest(self) -> FlatForest | None:
        """The model as a tree ensemble, or None."""
        return None

    def forget_inside(self) -> None:
        """Free what only a look inside takes, such as `forest`: for a model that is only asked."""

    @property
    def network(self) -> Network | None:
        """The model as a differentiable torch network, built on first use, or None. Raises: MissingExtra."""
        return None

    def thresholds(self) -> list[Floats] | None:
        """For each feature the sorted values v, in raw units, such that x <= v and x > v may be told apart.

        v is the last float64 on its side and `np.nextafter(v, inf)` the first on the other, in the model's
        own precision. Level features have an empty array. None where the model is not piecewise constant.
        """
        return None

    def margin_bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None = None
    ) -> tuple[Floats, Floats] | None:
        """Sound bounds on every output over boxes: low, high (n, d) -> (n, c) least, (n, c) greatest.

        levels j -> (n, L): allowed levels of a level feature; without it the indices from low to high are
        allowed. NaN in low stands for a value that is missing and stays so. None where no bound is known.
        """
        return None

    @property
    def bounded(self) -> bool:
        """True where `margin_bounds` and `box_bounds` know something."""
        return type(self).margin_bounds is not Model.margin_bounds

    @property
    def listed(self) -> Ints:
        """(l,) features that were read value by value: bounds are about their legal values, not what lies between."""
        return np.empty(0, np.int64)

    def box_bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None = None
    ) -> BoxBounds | None:
        """As `margin_bounds`, for proofs: bounds on what `native` gives, in whatever order and precision it computes.

        At least `tolerance` wider than those of the fast path. constant: `native` answers all rows of the box alike,
        so that one speaks for all. Bounds of a box never depend on the other boxes.
        """
        bounds = self.margin_bounds(low, high, levels)
        if bounds is None:
            return None
        least, most = bounds
        single = single_valued(low, high, {} if levels is None else levels)
        return BoxBounds(least - self.tolerance, most + self.tolerance, np.asarray(single.all(axis=1)))

    def bounds_at(self, margin: Floats) -> tuple[Floats, Floats] | None:
        """Return (m, c) least and greatest outputs that `native` may give where the exact margin of `forest` is this
        (m, q); None without a forest."""
        return None

    # -- shared ------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Number of output columns."""
        return 1 if self.task == "regression" else len(self.classes)

    @property
    def _checked(self) -> Checked:
        return Checked(self.task, self.classes, self.name)

    def class_index(self, label: Any) -> int:
        """Column of a class. Raises: ModelError that lists the classes."""
        for k, known in enumerate(self.classes):
            if np.isscalar(label) and not isinstance(label, np.void) and known == label:
                return k
        listed = ", ".join(repr(c) for c in self.classes[:10])
        raise ModelError(
            f"{self.name} knows no class {label!r}; it has {listed or 'none: it is a regression'}."
        )

    def needs(self, access: Access, method: str) -> None:
        """Raises: UnsupportedModel where a method needs more access than this model offers."""
        if self.access < access:
            raise UnsupportedModel(
                f"'{method}' needs {access.name.lower().replace('_', ' ')} access; {self.name} offers "
                f"{self.access.name.lower().replace('_', ' ')}. Use a method that asks for less, such as "
                "local-search."
            )

    def as_rows(self, x: Any) -> Floats:
        """Return rows (m, d) as contiguous floats. Raises: ModelError for another shape."""
        rows = np.ascontiguousarray(numbers_in(x, "x", ModelError))
        if rows.ndim != 2 or rows.shape[1] != self.schema.d:
            raise ModelError(
                f"{self.name} was given rows of shape {rows.shape}; the schema has {self.schema.d} features, "
                f"so (m, {self.schema.d}) is needed. Encode a table with schema.encode first."
            )
        if self._first_bad(rows) < 0:
            return rows
        if not np.isfinite(rows).all():
            wrong = np.isinf(rows).any(axis=0) | (np.isnan(rows).any(axis=0) & ~self.schema.missing)
            if wrong.any():
                j = int(np.argmax(wrong))
                what = "an infinite value" if np.isinf(rows[:, j]).any() else "a missing value"
                raise ModelError(
                    f"{self.name} was given {what} in '{self.schema.names[j]}'. Fill it in"
                    + (
                        "."
                        if "inf" in what
                        else ", or declare missing=True in the schema if the model accepts it."
                    )
                )
        has = self.schema.has_levels
        if has.any():  # a level that does not exist would read outside a table
            part = rows[:, has]
            count = self.schema.n_levels[has]
            with np.errstate(invalid="ignore"):
                off = (part < 0) | (part >= count) | (part != np.floor(part))
            off &= ~np.isnan(part)
            if off.any():
                at = int(np.argmax(off.any(axis=0)))
                j = int(np.flatnonzero(has)[at])
                value = part[int(np.argmax(off[:, at])), at]
                raise ModelError(
                    f"{self.name} was given level {value:g} of '{self.schema.names[j]}', which has levels 0 "
                    f"to {count[at] - 1}. Snap the row to the schema first."
                )
        return rows

    def _first_bad(self, rows: Floats) -> int:
        """Quick look: -1 if every value may be seen; without numba always 0, which asks for the slow look."""
        fast = kernels.jit()
        if fast is None:
            return 0
        return int(fast.check(rows, self.schema.n_levels, self.schema.missing))

    def __repr__(self) -> str:
        what = f"{len(self.classes)} classes" if self.task == "classification" else "regression"
        own = self.decision.describe(self.classes)
        return f"<{type(self).__name__} {self.name}: {what}, access {self.access.name.lower()}{own and ', '}{own}>"
