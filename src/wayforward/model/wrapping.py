"""wrap: an adapter for every kind of model, found by type without importing what is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.base import Access, Model, Native, Scorer, Task
from wayforward.model.encoder import Encoder, NotRead, finish, identity, probe_rows, raw_columns, read
from wayforward.model.fast import DenseFast, Fast, GenericFast, LinearFast
from wayforward.model.forms import DenseForm, FlatForest, LinearForm, Link, Network
from wayforward.model.native import (
    OutputKind,
    Table,
    callable_native,
    level_values,
    scores_to_outputs,
    sklearn_native,
    trained_names,
)
from wayforward.model.verify import check_missing, disagreement
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask


class Wrapped(Model):
    """A model made of the object itself (native) and, where it could be read and verified, a fast path."""

    def __init__(self, wrapped: Any, schema: Schema, native: Native, fast: Fast | None) -> None:
        super().__init__()
        self.wrapped, self.schema = wrapped, schema
        self.native_path, self.fast = native, fast
        self.task, self.classes, self.name = native.task, native.classes, native.name
        self.access = native.access
        self.notes += native.notes
        if any(form is not None for form in (self.linear, self.dense, self.forest)):
            self.access = Access.WHITE_BOX
        self._network: Network | None = None

    def _outputs(self, x: Floats) -> Floats:
        return self.native_path.predict(x)[0] if self.fast is None else self.fast.outputs(x)

    def _native(self, x: Floats) -> tuple[Floats, Ints]:
        return self.native_path.predict(x)

    def specialise(self, x: Floats, free: Mask) -> Scorer:
        """See Model.specialise."""
        default = Scorer(self)
        return default if self.fast is None else self.fast.specialise(x, free, default)

    @property
    def linear(self) -> LinearForm | None:
        """See Model.linear."""
        return None if self.fast is None else self.fast.linear()

    @property
    def dense(self) -> DenseForm | None:
        """See Model.dense."""
        return None if self.fast is None else self.fast.dense()

    @property
    def forest(self) -> FlatForest | None:
        """See Model.forest."""
        return None if self.fast is None else self.fast.forest()

    @property
    def network(self) -> Network | None:
        """See Model.network."""
        if self._network is None and self.fast is not None:
            self._network = self.fast.network()
        return self._network

    def thresholds(self) -> list[Floats] | None:
        """See Model.thresholds."""
        return None if self.fast is None else self.fast.thresholds()

    def margin_bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None = None
    ) -> tuple[Floats, Floats] | None:
        """See Model.margin_bounds."""
        if self.fast is None:
            return None
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        return self.fast.bounds(low, high, {} if levels is None else levels)


def wrap(
    model: Any,
    schema: Schema,
    *,
    task: Task = "classification",
    classes: Any = None,
    output: OutputKind = "auto",
    takes: str = "array",
    frame: Any = None,
    encoder: Any = None,
    prepare: Callable[[Any], Any] | None = None,
    verify_on: Any = None,
    fast: bool = True,
    batch_rows: int | None = 512,
) -> Model:
    """Wrap a trained model so that every method can ask it; a wrapped model comes back as it is.

    model: a fitted scikit-learn estimator or Pipeline on the raw table (or on an array in schema order), a
    torch module, an XGBoost, LightGBM or CatBoost model, a path to an ONNX file or an onnxruntime session, or
    a callable. task, classes, output: what a callable, torch or ONNX model returns: 'classification' or
    'regression'; the labels in column order; 'probability', 'label', 'logit', 'value', or 'auto' to look at
    it. takes: 'array' gives a callable (m, d) float64 in feature units with level indices; 'frame' gives a
    table. frame: table library the model was trained on ('pandas', 'polars', 'pyarrow', or that table, whose
    pandas categories are then kept); None picks the first installed. encoder: for models trained on encoded
    arrays, a fitted transformer from the raw table, or a callable. prepare: a last function on each table.
    verify_on: a table or (N, d) array of further rows on which the fast path must agree with the model.
    fast=False keeps to the wrapped object alone. batch_rows: a callable is asked in padded batches of this
    size, so that a row's result cannot depend on its batch; None asks all rows at once.
    Raises: ModelError that says what is wrong and what to do; MissingExtra.
    Example: ``wrap(pipeline, schema)``.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(schema, Schema):
        raise ModelError(f"wrap needs a Schema; got {type(schema).__name__}. Make one: Schema.infer(table).")
    labels = None if classes is None else tuple(classes)
    extra = None if verify_on is None else np.asarray(schema.encode(verify_on, "verification"))
    name = _name(model)
    kind = _family(model)
    if kind == "sklearn":
        _fitted(model, name)
        native, path, notes = _sklearn(model, schema, frame, encoder, prepare, name, fast)
    elif kind in ("onnx", "torch", "xgboost", "lightgbm", "catboost"):
        from wayforward.model import adapters

        native, path, notes = adapters.make(
            kind, model, schema, task=task, classes=labels, output=output, encoder=encoder, frame=frame,
            prepare=prepare, name=name, fast=fast,
        )  # fmt: skip
    elif callable(model):
        if takes not in ("array", "frame"):
            raise ModelError(f"takes={takes!r} is not known. Use 'array' or 'frame'.")
        table: Callable[[Floats], Any] = (
            Table(schema, list(schema.names), frame, name, prepare)
            if takes == "frame"
            else (prepare or (lambda x: x))
        )
        native = callable_native(model, schema, table, name, task, labels, output, batch_rows)
        path, notes = None, []
    else:
        raise ModelError(
            f"{name} cannot be wrapped: it is no known model and not callable. Give a fitted estimator, a "
            "torch module, a booster, an ONNX file, or a function of rows."
        )
    check_missing(native, schema)
    made = Wrapped(model, schema, native, None)
    made.notes += notes
    if path is not None:
        tolerance = 1e-9 if kind == "sklearn" and not _single_precision(model) else 2e-5
        why = disagreement(path, native, schema, tolerance, extra)
        if why:
            made.notes.append(f"the fast path was dropped: {why}")
        else:
            made = Wrapped(model, schema, native, path)
            made.notes += notes
    if extra is not None:
        native.predict(extra[:8])
    return made


def _family(model: Any) -> str:
    """Which adapter, by the module of the type and of its bases."""
    import os

    if isinstance(model, (str, os.PathLike)):
        return "onnx"
    roots = [(t.__module__.split(".")[0], t.__name__) for t in type(model).__mro__]
    names = {root for root, _ in roots}
    if "onnxruntime" in names:
        return "onnx"
    if "torch" in names and any(n == "Module" for _, n in roots):
        return "torch"
    for library in ("xgboost", "lightgbm", "catboost"):
        if roots[0][0] == library or (library in names and "sklearn" not in roots[0][0]):
            return library
    if "sklearn" in names or (hasattr(model, "predict") and hasattr(model, "get_params")):
        return "sklearn"
    if hasattr(model, "predict") and (hasattr(model, "predict_proba") or hasattr(model, "classes_")):
        return "sklearn"
    return "callable"


def _name(model: Any) -> str:
    import os

    if isinstance(model, (str, os.PathLike)):
        return f"The ONNX model '{os.path.basename(os.fspath(model))}'"
    if hasattr(model, "steps"):
        return (
            f"The pipeline ending in {type(model.steps[-1][1]).__name__}"
            if model.steps
            else "The empty pipeline"
        )
    label = getattr(model, "__name__", None) if not isinstance(model, type) else None
    return f"The function {label}" if label and callable(model) else f"The {type(model).__name__}"


def _fitted(model: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type):
        raise ModelError(f"{name} is a class. Give a fitted object of it.")
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError) as error:
        if isinstance(error, TypeError) and hasattr(model, "predict"):
            return  # a duck-typed model without fit
        raise ModelError(f"{name} is not fitted. Call fit on training data first, then wrap it.") from None


def _single_precision(model: Any) -> bool:
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    coef = getattr(last, "coef_", None)
    return type(last).__module__.split(".")[0] == "xgboost" or getattr(coef, "dtype", None) == np.float32


def _sklearn(
    model: Any, schema: Schema, frame: Any, encoder: Any, prepare: Any, name: str, fast: bool
) -> tuple[Native, Fast | None, list[str]]:
    from sklearn.pipeline import Pipeline

    if encoder is not None:
        if not hasattr(encoder, "transform"):
            from sklearn.preprocessing import FunctionTransformer

            encoder = FunctionTransformer(encoder)
        whole = Pipeline([("encoder", encoder), ("model", model)])
        return _sklearn(whole, schema, frame, None, prepare, name, fast)
    names = trained_names(model)
    if names is None:
        first = model.steps[0][1] if hasattr(model, "steps") else model
        names = trained_names(first) if first is not model and not isinstance(first, str) else None
        # a CatBoost model from a file has lost the number, but not the names
        width = getattr(model, "n_features_in_", schema.d) or len(
            getattr(model, "feature_names_", schema.names)
        )
        if names is None and width != schema.d:
            raise ModelError(
                f"{name} was trained on an array of {width} columns; the schema has {schema.d} features. "
                "Give wrap(..., encoder=...) the fitted transformer from the raw table to that array."
            )
    table = Table(schema, names, frame, name, prepare)
    native = sklearn_native(model, schema, table, name)
    if not fast:
        return native, None, ["fast=False: the wrapped object answers every question"]
    try:
        return native, _compiled(model, schema, table, native), []
    except NotRead as why:
        return native, None, [f"no fast path: {why}"]
    except Exception as error:  # reading is a shortcut: whatever goes wrong, the model itself still answers
        return native, None, [f"no fast path: {type(error).__name__}: {error}"]


def _compiled(model: Any, schema: Schema, table: Table, native: Native) -> Fast | None:
    """compile_sklearn; whole-number features that cannot be read otherwise are read value by value."""
    from wayforward.model.lattice import LatticeFast, tabled

    listed: list[int] = []
    use, view = schema, table
    while True:
        try:
            made = compile_sklearn(model, use, view, native)
        except NotRead as why:
            more = [j for j in why.features if j >= 0 and j not in listed]
            wider = tabled(schema, [*listed, *more]) if more else None
            if wider is None:
                raise
            listed, use = listed + more, wider
            view = Table(use, table.names, table.like, native.name, table.prepare)
            continue
        return LatticeFast(made, schema, listed, native) if listed and made is not None else made


def compile_sklearn(model: Any, schema: Schema, table: Table, native: Native) -> Fast | None:
    """Read preprocessing and head of a fitted estimator. Raises: NotRead."""
    from sklearn.pipeline import Pipeline

    steps = [s for _, s in model.steps] if isinstance(model, Pipeline) else [model]
    before, head = steps[:-1], steps[-1]
    while isinstance(head, Pipeline):
        before, head = before + [s for _, s in head.steps[:-1]], head.steps[-1][1]
    if table.prepare is not None:
        raise NotRead("a prepare function runs on each table")
    if not before and table.names is None:
        encoder = identity(schema, level_values(schema))
        single = True
    else:
        columns = raw_columns(schema, table.order)
        probe = table(probe_rows(schema))
        if table.names is None:
            for i, values in enumerate(level_values(schema)):
                if values is not None:
                    columns[i] = type(columns[i])(feature=i, table=probe[:, i])
        else:
            columns = _named_tables(columns, probe)
        for step in before:
            columns, probe = read(step, columns, probe, schema)
        encoder = finish(columns, schema)
        single = hasattr(probe, "columns")
    return head_of(head, encoder, native, None if not single else probe if before or table.names else None)


def _named_tables(columns: Any, probe: Any) -> Any:
    """Level columns of the raw table hold the table's own values."""
    from dataclasses import replace

    get: Callable[[int], Any]
    if hasattr(probe, "iloc"):
        get = lambda i: np.asarray(probe.iloc[:, i], dtype=object)
    elif hasattr(probe, "column_names"):
        get = lambda i: np.array(probe.column(i).to_pylist(), dtype=object)
    else:
        get = lambda i: np.array(probe[probe.columns[i]].to_list(), dtype=object)
    return [c if c.table is None else replace(c, table=get(i)) for i, c in enumerate(columns)]


def head_of(head: Any, encoder: Encoder, native: Native, probe: Any) -> Fast:
    """The fast form of a final estimator on encoded columns; a generic one if its kind is not read."""
    made = _linear_head(head, encoder) or _dense_head(head, encoder) or _forest_head(head, encoder)
    if made is not None:
        return made
    names = getattr(head, "feature_names_in_", None)
    if native.task == "regression":

        def value(rows: Floats) -> Floats:
            out = np.asarray(head.predict(_named(rows, names)), np.float64)
            return out[:, None] if out.ndim == 1 else out

        return GenericFast(encoder, value)
    if hasattr(head, "predict_proba"):
        return GenericFast(
            encoder, lambda rows: np.asarray(head.predict_proba(_named(rows, names)), np.float64)
        )
    if hasattr(head, "decision_function"):
        return GenericFast(
            encoder, lambda rows: scores_to_outputs(head.decision_function(_named(rows, names)))
        )
    raise NotRead(f"{type(head).__name__} returns labels only")


def _named(rows: Floats, names: Any) -> Any:
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names))


def _linear_head(head: Any, encoder: Encoder) -> Fast | None:
    name, module = type(head).__name__, type(head).__module__
    if not module.startswith("sklearn.") or not hasattr(head, "coef_") or not hasattr(head, "intercept_"):
        return None
    if ".linear_model" not in module and name not in ("LinearSVC", "LinearSVR"):
        return None
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "IsotonicRegression"):
        return None
    coef = np.atleast_2d(
        np.asarray(head.coef_.toarray() if hasattr(head.coef_, "toarray") else head.coef_, np.float64)
    )
    intercept = np.broadcast_to(np.atleast_1d(np.asarray(head.intercept_, np.float64)), (len(coef),)).copy()
    link: Link
    if not hasattr(head, "classes_"):
        if len(coef) != 1:
            return None
        link = "identity"
    elif len(coef) == 1:
        if getattr(head, "loss", "") == "modified_huber":
            return None  # its probabilities are clipped scores
        link = "logistic"
    elif hasattr(head, "predict_proba") and name.startswith("SGD"):
        if head.loss != "log_loss":
            return None
        link = "ovr"
    else:
        link = "softmax"
    if encoder.ufuncs:
        return DenseFast(encoder, [coef.T], [intercept], ["identity"], link)
    return LinearFast(encoder, coef, intercept, link)


def _dense_head(head: Any, encoder: Encoder) -> Fast | None:
    if not type(head).__module__.startswith("sklearn.neural_network") or not hasattr(head, "coefs_"):
        return None
    links: dict[str, Link] = {"logistic": "logistic", "softmax": "softmax", "identity": "identity"}
    if head.out_activation_ not in links or (
        head.out_activation_ == "logistic" and head.coefs_[-1].shape[1] > 1
    ):
        return None
    if head.out_activation_ == "identity" and head.coefs_[-1].shape[1] > 1:
        return None
    names = [head.activation] * (len(head.coefs_) - 1) + ["identity"]
    return DenseFast(encoder, list(head.coefs_), list(head.intercepts_), names, links[head.out_activation_])


def _forest_head(head: Any, encoder: Encoder) -> Fast | None:
    from wayforward.model.tree_readers import read_trees
    from wayforward.model.trees import ForestFast

    try:
        trees = read_trees(head)
    except NotRead:
        return None
    return ForestFast(encoder, trees)
