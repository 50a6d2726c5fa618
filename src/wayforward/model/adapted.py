"""What an adapter is given and what it returns: how the wrapped object is asked, and how it may be read."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from wayforward.errors import ModelError, is_list, shown
from wayforward.model.base import LARGEST, Access, Decision, Task
from wayforward.model.fast import Fast
from wayforward.model.kernels import sigmoid, softmax
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Outputs

if TYPE_CHECKING:
    from wayforward.model.encoder import Encoder

Predict: TypeAlias = Callable[[Floats], tuple[Outputs, Ints]]
OutputKind = Literal["auto", "probability", "label", "logit", "value"]
_LEAD = 0.02  # what `labelled` gives a label at most
DOUBLE, SINGLE = 1e-9, 2e-5  # how far a fast path may be from a model that computes in float64, in float32
_OTHER_OUTPUTS = (  # what to say of a model whose outputs are no probabilities
    "Give wrap(..., output='logit') for scores, output='label' for labels, or task='regression' for a prediction."
)


@public
@dataclass(frozen=True)
class WrapOptions:
    """The arguments of `wrap`, and what errors call the model."""

    name: str
    task: Task = "classification"
    classes: tuple[Any, ...] | None = None
    output: OutputKind = "auto"
    takes: str = "array"
    frame: Any = None
    encoder: Any = None
    prepare: Callable[[Any], Any] | None = None
    batch_rows: int | None = None
    random: bool = False

    def classes_of(self, columns: int, default: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Return one class a column: those given to `wrap`, else the default or 0, 1, ... Raises: ModelError."""
        width = max(columns, 2)
        if self.classes is None:
            return tuple(range(width) if default is None else default)
        if len(self.classes) != width:
            raise ModelError(
                f"{self.name} returns {columns} columns; classes has {len(self.classes)} entries. Give {width}, one a "
                "column, in order."
            )
        return self.classes


@public
@dataclass
class Adapted:
    """How the wrapped object itself is asked; it has the last word on a decision.

    predict: (m, d) rows in feature units -> outputs (m, c), label index (m,); a row's result never depends on the
    other rows. access: what predict shows. name: what errors call it. notes: what the adapter decided.
    read: makes the fast path, which is used where it agrees with predict within the tolerance (relative for a
    regression); it raises `NotRead` where the model cannot be read. None: there is no fast path.
    decision: how the label follows from the outputs; None where that is not known, so that `wrap` finds it out.
    batch: the rows that somebody's function is handed in each call, filled up where there are fewer; None: as they are.
    categories: of the columns that go as pandas categories. table: turns rows (m, d) into what an estimator is asked
    on, through the preparation that `wrap` was given; None where that is not an estimator's own input.
    askings: how often predict asks the object about each row.
    encoded: predict with an encoder in the place of the object's own first steps, or None where the two make other bits
    of rows (m, d), None for no look; None: the object has no such steps. steps_read: this is what predict does.
    """

    predict: Predict
    task: Task
    classes: tuple[Any, ...]
    access: Access
    name: str
    notes: list[str] = field(default_factory=list)
    read: Callable[[], Fast] | None = None
    tolerance: float = SINGLE
    decision: Decision | None = LARGEST
    batch: int | None = None
    categories: Mapping[str, Sequence[Any]] | None = None
    table: Callable[[Floats], Any] | None = None
    askings: int = 1
    encoded: Callable[[Encoder, Floats | None], Predict | None] | None = None
    steps_read: bool = False

    @classmethod
    def of_values(cls, ask: Callable[[Floats], Floats], name: str) -> Adapted:
        """A regression. ask: (m, d) -> (m,) or (m, 1) predictions."""

        def predict(x: Floats) -> tuple[Outputs, Ints]:
            out = ask(x)
            return (out[:, None] if out.ndim == 1 else out), np.zeros(len(x), np.int64)

        return cls(predict, "regression", (), Access.PROBABILITY, name)

    @classmethod
    def of_probabilities(cls, ask: Callable[[Floats], Floats], classes: Sequence[Any], name: str) -> Adapted:
        """A classifier that decides for the most likely class. ask: (m, d) -> (m, c)."""

        def predict(x: Floats) -> tuple[Outputs, Ints]:
            p = ask(x)
            return p, p.argmax(axis=1)

        return cls(predict, "classification", tuple(classes), Access.PROBABILITY, name)

    @classmethod
    def of_labels(cls, ask: Callable[[Floats], Any], classes: Sequence[Any], name: str) -> Adapted:
        """A classifier that shows its decision only. ask: (m, d) -> (m,) of the classes."""

        def predict(x: Floats) -> tuple[Outputs, Ints]:
            index = label_indices(ask(x), classes, name)
            return one_hot(index, len(classes)), index

        return cls(predict, "classification", tuple(classes), Access.LABEL, name)


def label_indices(labels: Any, classes: Sequence[Any], name: str) -> Ints:
    """Caller's labels -> column indices. Raises: ModelError for a label that is no class."""
    flat = np.asarray(labels).reshape(-1)
    known = np.asarray(classes)
    if known.dtype.kind in "biuf" and flat.dtype.kind in "biuf":
        order = np.argsort(known, kind="stable")
        at = np.clip(np.searchsorted(known[order], flat), 0, len(known) - 1)
        index = order[at]
        good = known[index] == flat
    else:
        code = {c: k for k, c in enumerate(classes)}
        index = np.array([code.get(v, code.get(str(v), -1)) for v in flat.tolist()], dtype=np.int64)
        good = index >= 0
    if not good.all():
        bad = flat[int(np.argmin(good))]
        shown = bad.item() if isinstance(bad, np.generic) else bad
        raise ModelError(
            f"{name} returned the label {shown!r}, which is not one of its classes "
            f"({', '.join(repr(c) for c in list(classes)[:10])}). Give all of them: wrap(..., classes=...)."
        )
    return np.asarray(index, dtype=np.int64)


def one_hot(index: Ints, width: int) -> Floats:
    """(m,) column indices -> (m, width) of 0 and 1."""
    out = np.zeros((len(index), width))
    out[np.arange(len(index)), index] = 1.0
    return out


def labelled(guide: Floats, index: Ints) -> Floats:
    """(m, c) numbers that sum to one, (m,) label index -> (m, c) of which the label's is the largest.

    Where it is clearly the largest (by .02), nothing changes; elsewhere its lead shrinks to nothing as the numbers
    speak against it, so that they still tell which row is nearer to another label.
    """
    rows = np.arange(len(guide))
    others = guide.copy()
    others[rows, index] = -1.0
    lead = guide[rows, index] - others.max(axis=1)
    wanted = np.where(lead >= _LEAD, lead, _LEAD * (0.01 + 0.99 * (lead + 1.0) / (_LEAD + 1.0)))
    share = np.where(lead >= _LEAD, 0.0, (wanted - lead) / np.maximum(1.0 - lead, _LEAD))[:, None]
    out: Floats = guide * (1.0 - share) + one_hot(index, guide.shape[1]) * share
    return out


def two_columns(p: Floats) -> Floats:
    """(m,) probability of the second class -> (m, 2)."""
    return np.stack([1.0 - p, p], axis=1)


def as_probabilities(out: Floats, kind: str, name: str, advice: str = _OTHER_OUTPUTS) -> Floats:
    """(m,), (m, 1) or (m, c) probabilities or logits -> (m, c). advice: what to do of a value outside [0, 1].

    Raises: ModelError outside [0, 1].
    """
    single = out.ndim == 1 or out.shape[1] == 1
    if kind == "logit":
        return two_columns(sigmoid(out.reshape(-1))) if single else softmax(out)
    with np.errstate(invalid="ignore"):
        wrong = (out < -1e-6) | (out > 1 + 1e-6)
    if wrong.any():
        raise ModelError(f"{name} returned {out[wrong].flat[0]:g}, which is no probability. {advice}")
    if single:
        out = two_columns(out.reshape(-1))
    bounded: Floats = np.clip(out, 0.0, 1.0)
    if len(bounded) and (bounded.sum(axis=1) <= 0).any():
        raise ModelError(
            f"{name} returned 0 for every class of a row, so that no decision follows. Return probabilities that "
            "add up to 1."
        )
    return bounded


def labels_in(classes: Any, least: int = 2) -> tuple[Any, ...]:
    """Return labels as a tuple, in their order. Raises: ModelError for no list of `least` or more, each once."""
    listed = tuple(classes) if is_list(classes) else None
    if (
        listed is None
        or len(listed) < least
        or any(not np.isscalar(one) or one != one for one in listed)  # NaN is no label: it equals nothing
        or any(one == two for one, two in combinations(listed, 2))
    ):
        raise ModelError(
            f"classes={shown(classes)} is no list of {'two' if least == 2 else least} or more labels, each once. Give "
            "them in column order."
        )
    return listed


def first_line(error: BaseException, most: int = 200) -> str:
    """The start of what another library says about an error, or its type."""
    text = str(error).strip()
    return text.splitlines()[0][:most] if text else type(error).__name__


class _Filters:
    """The filters of warnings as they were before the first of several threads set them aside."""

    lock = threading.Lock()
    threads = 0
    before: warnings.catch_warnings[None] | None = None


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings meanwhile, in any number of threads at once.

    `warnings.catch_warnings` alone keeps the filters of the process: of two threads that overlap, the second to end
    would leave behind what the first had set.
    """
    with _Filters.lock:
        _Filters.threads += 1
        if _Filters.before is None:
            _Filters.before = warnings.catch_warnings()
            _Filters.before.__enter__()
            warnings.simplefilter("ignore")
    try:
        yield
    finally:
        with _Filters.lock:
            _Filters.threads -= 1
            if not _Filters.threads and _Filters.before is not None:
                _Filters.before.__exit__(None, None, None)
                _Filters.before = None
