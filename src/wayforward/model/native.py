"""How each library's own object is asked, on tables or arrays as it was trained: it has the last word."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.base import Access, Native, Task, label_indices, one_hot
from wayforward.model.fast import padded
from wayforward.model.kernels import sigmoid, softmax
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints

OutputKind = Literal["auto", "probability", "label", "logit", "value"]
_TIE = 1e-9  # nearer than this the estimator's own predict is asked for the label


def level_values(schema: Schema) -> list[Floats | None]:
    """What an array-trained model sees for each level feature: the level values if they are numbers, else
    indices.
    """
    out: list[Floats | None] = []
    for f in schema.features:
        if not f.has_levels:
            out.append(None)
        elif all(isinstance(v, (bool, int, float, np.number)) for v in f.levels):
            out.append(np.array([float(v) for v in f.levels]))
        else:
            out.append(np.arange(f.n_levels, dtype=np.float64))
    return out


class Table:
    """Raw rows -> what a model was trained on: a table with its columns in order, or a number array."""

    def __init__(
        self,
        schema: Schema,
        names: list[str] | None,
        like: Any,
        name: str,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        self.schema, self.names, self.like, self.prepare = schema, names, like, prepare
        self.order = list(range(schema.d))
        if names is not None:
            unknown = [n for n in names if n not in schema.names]
            if unknown:  # LightGBM keeps 'years of service' as 'years_of_service'
                kept = {n.replace(" ", "_"): n for n in schema.names}
                if len(kept) == schema.d and all(n in kept for n in names):
                    names, unknown = [kept[n] for n in names], []
                    self.names = names
            if unknown:
                raise ModelError(
                    f"{name} was trained on the column '{unknown[0]}', which is not in the schema"
                    + (f" (nor {len(unknown) - 1} more: {', '.join(unknown[1:6])})" if unknown[1:] else "")
                    + ". Infer the schema from the table that the model was trained on."
                )
            self.order = [schema.index(n) for n in names]
        self._values = level_values(schema)
        kinds = like.dtypes.to_dict() if hasattr(like, "iloc") else {}  # a pandas table: keep its categories
        self._casts = {
            n: kind for n, kind in kinds.items() if hasattr(kind, "categories") and n in schema.names
        }

    def __call__(self, x: Floats) -> Any:
        """(m, d) feature units -> a table, or (m, d) numbers."""
        if self.names is None:
            out = x.copy()
            for j, values in enumerate(self._values):
                if values is not None:
                    gone = np.isnan(x[:, j])
                    out[:, j] = np.where(gone, np.nan, values[np.where(gone, 0.0, x[:, j]).astype(np.int64)])
            return self.prepare(out) if self.prepare else out
        frame = self.schema.decode(x, like=self.like)
        if hasattr(frame, "iloc"):
            frame = self._texts(frame)
            frame = frame.astype(self._casts) if self._casts else frame
        if list(self.names) != list(self.schema.names):
            frame = frame[self.names] if hasattr(frame, "iloc") else frame.select(self.names)
        return self.prepare(frame) if self.prepare else frame

    def _texts(self, frame: Any) -> Any:
        """Texts with a missing value as pandas reads them from a file: NaN, not None, in any batch."""
        for f in self.schema.features:
            if f.missing and all(isinstance(v, str) for v in f.levels) and f.levels:
                column = frame[f.name]
                if column.dtype == object:
                    column = column.where(column.notna(), np.nan)
                    frame[f.name] = column.astype("str") if _pandas_has_text() else column
        return frame


@functools.cache
def _pandas_has_text() -> bool:
    """True where pandas has its own text type (pandas 3), whose missing value is NaN."""
    import pandas as pd

    return bool(pd.Series(["a"]).dtype != object)


def trained_names(estimator: Any) -> list[str] | None:
    """Column names that an estimator was trained on, or None if it saw an array."""
    if type(estimator).__module__.startswith("lightgbm"):
        booster = getattr(estimator, "booster_", estimator)
        names = list(booster.feature_name())
        return None if all(n == f"Column_{i}" for i, n in enumerate(names)) else [str(n) for n in names]
    if type(estimator).__module__.startswith("catboost"):
        names = list(estimator.feature_names_ or [])
        return None if all(str(n) == str(i) for i, n in enumerate(names)) else [str(n) for n in names]
    if type(estimator).__module__.startswith("xgboost"):
        booster = estimator.get_booster() if hasattr(estimator, "get_booster") else estimator
        return None if booster.feature_names is None else [str(n) for n in booster.feature_names]
    try:
        found = estimator.feature_names_in_
    except AttributeError:
        return None
    return [str(n) for n in found]


_ROW_BY_ROW = ("Tree", "Forest", "Boosting", "XGB", "LGBM", "CatBoost")


def is_row_by_row(estimator: Any) -> bool:
    """True for models whose own prediction of a row cannot depend on the batch (no matrix products)."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return any(word in type(last).__name__ for word in _ROW_BY_ROW)


def scores_to_outputs(score: Any) -> Floats:
    """Decision scores (m,) or (m, c) -> numbers in (0, 1) that rank as the scores do; no probabilities."""
    score = np.asarray(score, dtype=np.float64)
    if score.ndim == 1:
        p = sigmoid(score)
        return np.stack([1.0 - p, p], axis=1)
    return softmax(score)


def sklearn_native(estimator: Any, schema: Schema, table: Table, name: str) -> Native:
    """Any fitted estimator with the scikit-learn interface."""
    from sklearn.base import is_classifier, is_regressor

    known = getattr(estimator, "classes_", None)
    if not (is_classifier(estimator) or (known is not None and len(known))):
        if not (is_regressor(estimator) or hasattr(estimator, "predict")):
            raise ModelError(f"{name} has no predict. Give a fitted classifier or regressor, or a callable.")
        return Native(_sklearn_value(estimator, table, name), "regression", (), Access.PROBABILITY, name)
    classes = tuple(
        c.item() if isinstance(c, np.generic) else c for c in np.asarray(estimator.classes_).tolist()
    )
    if len(classes) < 2:
        raise ModelError(f"{name} knows only the class {classes[0]!r}. Train it on data with both outcomes.")
    notes = []
    if hasattr(estimator, "predict_proba"):
        ask, access = estimator.predict_proba, Access.PROBABILITY
    elif hasattr(estimator, "decision_function"):
        ask, access = (lambda rows: scores_to_outputs(estimator.decision_function(rows))), Access.PROBABILITY
        notes.append(
            "outputs are decision scores squashed into (0, 1); they rank, they are not probabilities"
        )
    else:
        ask, access = None, Access.LABEL
    own_label = _own_label(estimator)
    fixed = not is_row_by_row(estimator)

    def predict(x: Floats) -> tuple[Floats, Ints]:
        if ask is None:
            label = _labels(estimator, table, classes, name, x, fixed)
            return one_hot(label, len(classes)), label
        out = np.asarray(_asked(lambda rows: ask(table(rows)), x, name, fixed), dtype=np.float64)
        if out.ndim != 2 or out.shape[1] != len(classes):
            return out, np.zeros(len(x), np.int64)  # the shape check names the trouble
        if own_label:
            return out, _labels(estimator, table, classes, name, x, fixed)
        label = out.argmax(axis=1)
        if out.shape[1] > 1:
            top = np.partition(out, -2, axis=1)
            close = np.flatnonzero(top[:, -1] - top[:, -2] < _TIE)
            if close.size:
                label[close] = _labels(estimator, table, classes, name, x[close], fixed)
        return out, label

    return Native(predict, "classification", classes, access, name, notes)


def _sklearn_value(estimator: Any, table: Table, name: str) -> Callable[[Floats], tuple[Floats, Ints]]:
    fixed = not is_row_by_row(estimator)

    def predict(x: Floats) -> tuple[Floats, Ints]:
        out = np.asarray(_asked(lambda rows: estimator.predict(table(rows)), x, name, fixed), np.float64)
        return (out[:, None] if out.ndim == 1 else out), np.zeros(len(x), np.int64)

    return predict


def _own_label(estimator: Any) -> bool:
    """True where predict is not the largest probability: the label then has to be asked for."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    module = type(last).__module__
    if not module.startswith(("sklearn.", "xgboost", "lightgbm", "catboost")):
        return True
    return type(last).__name__ in (
        "SVC",
        "NuSVC",
        "FixedThresholdClassifier",
        "TunedThresholdClassifierCV",
        "GridSearchCV",
        "RandomizedSearchCV",
        "OneVsOneClassifier",
        "OutputCodeClassifier",
        "SelfTrainingClassifier",
        "FrozenEstimator",
    )


def _labels(estimator: Any, table: Table, classes: Any, name: str, x: Floats, fixed: bool) -> Ints:
    return label_indices(_asked(lambda rows: estimator.predict(table(rows)), x, name, fixed), classes, name)


def _asked(ask: Callable[[Floats], Any], x: Floats, name: str, fixed: bool) -> Any:
    """Ask, and turn whatever the library raises into one clear error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return padded(ask, x) if fixed else ask(x)
    except ModelError:
        raise
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"{name} failed on {len(x)} rows that follow the schema: {type(error).__name__}: {first[:300]} "
            "Check that the schema's features, levels and missing values are those it was trained on "
            "(wrap(..., frame='polars') if it needs another table library; wrap(..., frame=table), with the table "
            "it was trained on, if it needs that table's pandas categories)."
        ) from error


def callable_native(
    function: Callable[[Any], Any],
    schema: Schema,
    table: Callable[[Floats], Any],
    name: str,
    task: Task,
    classes: tuple[Any, ...] | None,
    output: OutputKind,
    batch_rows: int | None = 512,
) -> Native:
    """A function of rows: probabilities (m,), (m, 2) or (m, c), labels (m,), logits, or values."""

    def ask(x: Floats) -> Any:
        return padded(once, x, batch_rows) if batch_rows else once(x)

    def once(x: Floats) -> Any:
        try:
            got = _array(function(table(x)), name)
        except ModelError:
            raise
        except Exception as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelError(
                f"{name} failed on {len(x)} rows: {type(error).__name__}: {first[:300]} "
                "It is given an (m, d) array in feature units; wrap(..., takes='frame') gives a table."
            ) from error
        if len(got) != len(x):
            raise ModelError(
                f"{name} returned {len(got)} results for {len(x)} rows. Return one for each row, in order."
            )
        return got

    kind, found = _kind_of(ask, schema, name, task, classes, output)
    if task == "regression":

        def value(x: Floats) -> tuple[Floats, Ints]:
            out = _numbers(ask(x), name)
            return (out[:, None] if out.ndim == 1 else out), np.zeros(len(x), np.int64)

        return Native(value, "regression", (), Access.PROBABILITY, name)
    if kind == "label":

        def labels(x: Floats) -> tuple[Floats, Ints]:
            index = label_indices(ask(x), found, name)
            return one_hot(index, len(found)), index

        return Native(labels, "classification", found, Access.LABEL, name)

    def probabilities(x: Floats) -> tuple[Floats, Ints]:
        out = as_probabilities(_numbers(ask(x), name), kind, name)
        return out, out.argmax(axis=1)

    return Native(probabilities, "classification", found, Access.PROBABILITY, name)


def _array(got: Any, name: str) -> Any:
    if hasattr(got, "detach"):
        got = got.detach().cpu().numpy()
    if hasattr(got, "to_numpy"):
        got = got.to_numpy()
    array = np.asarray(got)
    if array.ndim == 0:
        raise ModelError(
            f"{name} returned one value, {array.item()!r}, for a batch of rows. Return one for each row."
        )
    return array


def _numbers(got: Any, name: str) -> Floats:
    try:
        out: Floats = np.asarray(got, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{name} returned {np.asarray(got).ravel()[:1].tolist()} where a number was expected. "
            "For labels, give wrap(..., output='label', classes=...)."
        ) from None
    return out


def as_probabilities(out: Floats, kind: str, name: str) -> Floats:
    """(m,), (m, 1) or (m, c) probabilities or logits -> (m, c). Raises: ModelError outside [0, 1]."""
    if kind == "logit":
        if out.ndim == 1 or out.shape[1] == 1:
            p = sigmoid(out.reshape(-1))
            return np.stack([1.0 - p, p], axis=1)
        return softmax(out)
    if out.ndim == 1 or (out.ndim == 2 and out.shape[1] == 1):
        p = out.reshape(-1)
        out = np.stack([1.0 - p, p], axis=1)
    with np.errstate(invalid="ignore"):
        wrong = (out < -1e-6) | (out > 1 + 1e-6)
    if wrong.any():
        raise ModelError(
            f"{name} returned {out[wrong].flat[0]:g}, which is no probability. Give wrap(..., "
            "output='logit') for scores, output='label' for labels, or task='regression' for a prediction."
        )
    bounded: Floats = np.clip(out, 0.0, 1.0)
    return bounded


def _kind_of(
    ask: Callable[[Floats], Any],
    schema: Schema,
    name: str,
    task: Task,
    classes: tuple[Any, ...] | None,
    output: OutputKind,
) -> tuple[str, tuple[Any, ...]]:
    """Look at two rows: what does the function return, and how many classes has it."""
    from wayforward.model.verify import sample_rows

    first = ask(sample_rows(schema, 2, missing=False))
    if task == "regression":
        return "value", ()
    if first.ndim == 2 and first.shape[1] > 1:
        found = tuple(range(first.shape[1])) if classes is None else classes
        if len(found) != first.shape[1]:
            raise ModelError(
                f"{name} returns {first.shape[1]} columns; classes has {len(found)} entries. Give one class "
                "a column, in order."
            )
        return ("logit" if output == "logit" else "probability"), found
    if first.ndim > 2:
        raise ModelError(f"{name} returned shape {first.shape}; (m,) or (m, classes) is needed.")
    found = (0, 1) if classes is None else classes
    if output == "label" or (output == "auto" and (first.dtype.kind in "bOUSiu" or len(found) > 2)):
        if classes is None and first.dtype.kind not in "biu":
            raise ModelError(
                f"{name} returns labels such as {first[:1].tolist()[0]!r}. Give all of them: wrap(..., "
                "classes=(...))."
            )
        return "label", found
    if len(found) != 2:
        raise ModelError(
            f"{name} returns one number a row; classes has {len(found)} entries. Return one column a class."
        )
    return ("logit" if output == "logit" else "probability"), found
