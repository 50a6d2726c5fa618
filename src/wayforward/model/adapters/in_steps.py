"""Pipelines asked in two parts: the first steps see the rows asked about, the last step sees chunks of one size.

A last step with matrix products is asked in chunks of one size (`fast.padded`). Steps that look at each value by itself
need no chunks, and texts, dates and tables are dear to make five hundred times for a handful of rows.

First steps that were read (`model.encoder`) are arithmetic on single values. scikit-learn takes some 6 ms to do it for
a handful of rows, nearly all of it looks at tables; done as read, with the same bits, it is a few microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wayforward.model.adapted import without_warnings
from wayforward.model.encoder import Encoder
from wayforward.model.fast import take
from wayforward.model.tables import Table
from wayforward.model.verify import sample_rows
from wayforward.shapes import Floats

_PROBES = 6
# Transformers of scikit-learn without a matrix product: a row comes out alike alone and among others.
_ALONE = (
    "Binarizer", "ColumnTransformer", "CountVectorizer", "DictVectorizer", "FeatureHasher", "FeatureUnion",
    "FunctionTransformer", "HashingVectorizer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator",
    "Normalizer", "OneHotEncoder", "OrdinalEncoder", "Pipeline", "PowerTransformer", "QuantileTransformer",
    "RobustScaler", "SimpleImputer", "StandardScaler", "TargetEncoder", "TfidfTransformer", "TfidfVectorizer",
    "VarianceThreshold",
)  # fmt: skip

# Of these, what `model.encoder` reads to the last bit.
_READ = (
    "ColumnTransformer", "MaxAbsScaler", "MinMaxScaler", "OneHotEncoder", "OrdinalEncoder", "Pipeline", "RobustScaler",
    "StandardScaler",
)  # fmt: skip


def front_and_head(estimator: Any) -> tuple[Any, Any] | None:
    """Return the first steps of a fitted pipeline and its last step, or None where the two are to be asked as one.

    The first steps are transformers that are known to treat rows one by one; see `rows_stay_alone`.
    """
    steps = _first_and_last(estimator)
    if steps is None or not all(
        part is None or (_of_sklearn(part) and type(part).__name__ in _ALONE) for part in _kinds(steps[0])
    ):
        return None
    return steps


def rows_stay_alone(front: Any, table: Table) -> bool:
    """Return whether some rows, tried, come out of first steps to the last bit as they do alone; more of them are tried
    where functions of the user's are inside."""
    alone_too = _PROBES if any(type(part).__name__ == "FunctionTransformer" for part in _kinds(front)) else 2
    try:
        with without_warnings():
            x = sample_rows(table.schema, _PROBES, missing=False)
            whole = front.transform(table(x))
            alone = [front.transform(table(x[i : i + 1])) for i in range(alone_too)]
    except Exception:
        return False
    if not (isinstance(whole, np.ndarray) or hasattr(whole, "iloc") or hasattr(whole, "tocsr")):
        return False
    same = all(_same(take(whole, np.array([i])), one) for i, one in enumerate(alone))
    return bool(whole.shape[0] == _PROBES and same)


class ReadFront:
    """The first steps of a pipeline as an encoder has read them; the steps themselves where that is not enough.

    The steps are asked about rows with a missing value, and from when on they are other than they were read: trained
    again, with another parameter, or with another number in what they learned.
    """

    def __init__(self, front: Any, table: Table, encoder: Encoder) -> None:
        self.front, self.table, self.encoder = front, table, encoder
        self._read = [(part, dict(vars(part))) for part in _kinds(front)]
        self._arrays = [
            (array, array.copy())
            for _, then in self._read
            for value in then.values()
            for array in _arrays(value)
        ]

    def __call__(self, x: Floats) -> Any:
        """Rows (m, d) -> (m, e), what the steps make of them, to the last bit."""
        if not (np.isfinite(x).all() and self._as_read()):
            return self.front.transform(self.table(x))
        self.table.schema.check_levels(x)
        return self.encoder.encode(x)

    def agrees(self, x: Floats) -> bool:
        """Return whether the steps themselves make the same bits of those rows (m, d) without a missing value, of all
        together and of one alone."""
        x = x[np.isfinite(x).all(axis=1)]
        for some in (x, x[:1]):
            try:
                with without_warnings():
                    theirs = self.front.transform(self.table(some))
            except Exception:  # they say so themselves when they are asked
                return False
            ours = self.encoder.encode(some)
            same = isinstance(theirs, np.ndarray) and theirs.dtype == ours.dtype
            if not (same and np.array_equal(theirs, ours)):
                return False
        return True

    def _as_read(self) -> bool:
        same = all(
            len(vars(part)) == len(then)
            and all(vars(part).get(name) is value for name, value in then.items())
            for part, then in self._read
        )
        return same and all(_unchanged(array, then) for array, then in self._arrays)


def read_front(estimator: Any, table: Table, encoder: Encoder) -> tuple[ReadFront, Any] | None:
    """Return the first steps of a fitted pipeline, as read, and its last step; None where a step may be read amiss."""
    steps = _first_and_last(estimator)
    if steps is None or table.prepare is not None or encoder.ufuncs or encoder.parts:
        return None
    front, head = steps
    return (ReadFront(front, table, encoder), head) if all(map(_is_read, _kinds(front))) else None


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield what a transformer has learned: an array, or those of a list of them."""
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one, np.ndarray):
            yield one


def _unchanged(array: np.ndarray, then: np.ndarray) -> bool:
    """Return whether an array still holds what it held; NaN is NaN."""
    return bool(((array == then) | ((array != array) & (then != then))).all())


def _is_read(part: Any) -> bool:
    name = type(part).__name__
    if part is None or not _of_sklearn(part):
        return part is None
    if name == "FunctionTransformer":  # what ColumnTransformer makes of 'passthrough'
        return part.func is None
    if name == "SimpleImputer":
        return isinstance(part.missing_values, float) and bool(np.isnan(part.missing_values))
    return name in _READ


def _first_and_last(estimator: Any) -> tuple[Any, Any] | None:
    while type(estimator).__module__ == "sklearn.model_selection._search":  # asks the best of what it tried
        estimator = getattr(estimator, "best_estimator_", None)
    if not (_of_sklearn(estimator) and type(estimator).__name__ == "Pipeline" and len(estimator.steps) > 1):
        return None
    return estimator[:-1], estimator.steps[-1][1]


def _of_sklearn(part: Any) -> bool:
    return type(part).__module__.split(".")[0] == "sklearn"


def _kinds(front: Any) -> Iterator[Any]:
    """Yield all transformers of first steps."""
    for _, step in front.steps:
        yield from _parts(step)


def _parts(part: Any) -> Iterator[Any]:
    """Yield a transformer and all inside of it; None for what passes or is dropped."""
    if part is None or isinstance(part, str):
        return
    yield part
    for inner in (
        *getattr(part, "transformers_", ()),
        *getattr(part, "transformer_list", ()),
        *getattr(part, "steps", ()),
    ):
        yield from _parts(inner[1])


def _same(one: Any, other: Any) -> bool:
    a, b = (np.asarray(part.toarray() if hasattr(part, "toarray") else part) for part in (one, other))
    if a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b, equal_nan=True) if a.dtype.kind == "f" else (a == b).all())
