"""Ordinary models for benchmarks, examples and tests: fitted pipelines, the same for a seed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from wayforward.errors import (
    DataError,
    ModelError,
    array_in,
    is_one_of,
    require,
    require_kind,
    require_whole,
    shown,
)
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Ints

ZOO = ("lr", "mlp", "rf", "gb", "xgb", "lgbm")
_RARE = 0.2  # a class rarer than this share of an equal split is weighted up


@public
def train(name: str, schema: Schema, table: Any, y: Any, seed: int = 0, device: str = "cpu") -> Any:
    """Fit one of the zoo on a raw table -> a scikit-learn Pipeline that takes such tables.

    name: lr (logistic regression), mlp (two hidden layers of 64), rf (100 trees, depth 10), gb (histogram
    gradient boosting), xgb, lgbm. table: the features as a pandas, polars or pyarrow table, or (n, d) in
    feature units; other columns are left out, and so are those that are only carried. y (n,): labels of any kind.
    Strong imbalance is met with class weights (repeated rows where a scikit-learn before 1.7 gives mlp none). Missing
    values are imputed with an indicator, or handled by the trees themselves.
    Raises: ModelError for an unknown name; DataError for labels that do not fit; MissingExtra.
    Example: ``train("rf", schema, frame, y)``.
    """
    if not is_one_of(name, ZOO):
        raise ModelError(f"There is no model '{name}'. Use one of {', '.join(ZOO)}, or give a file.")
    require_kind(schema, Schema, "schema")
    require_whole(seed=seed)
    x = np.asarray(schema.encode(table, "training"), dtype=np.float64)
    labels = whole_labels(y, len(x))
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise DataError(
            f"All {len(x)} labels are {classes[:1].tolist()[0]!r}. Give training data with at least two "
            "outcomes."
        )
    frame = schema.decode(x)
    weight = len(x) / (len(classes) * counts)[codes]
    return _MAKERS[name](
        schema, frame, labels, codes, weight if has_rare_label(counts) else None, seed, device
    )


def whole_labels(y: Any, rows: int) -> np.ndarray:
    """Return labels (n,) of so many rows. Raises: DataError for another number, one that is missing, and a fraction."""
    labels = array_in(y.to_numpy() if hasattr(y, "to_numpy") else y, "y")
    if labels.shape != (rows,):
        raise DataError(
            f"The labels have shape {labels.shape}; the table has {rows} rows. Give one label a row."
        )
    gaps = label_gaps(y if np.ma.isMaskedArray(y) else labels)
    if gaps.size:
        column = getattr(y, "name", None)
        raise DataError(
            f"{'The labels' if column is None else repr(str(column))}: the label of row {gaps[0]}, from 0, is missing. "
            "Fill it in, or leave the row out."
        )
    odd = np.flatnonzero(labels != np.rint(labels)) if labels.dtype.kind == "f" else np.arange(0)
    if len(odd):
        raise DataError(
            f"The label of row {odd[0]}, from 0, is {shown(float(labels[odd[0]]))}, which names no class. Say first "
            "what counts as a yes: y > 0.5, for example."
        )
    return labels


def label_gaps(labels: Any) -> Ints:
    """Return the rows whose label is missing: masked, None, NaN or another library's sign of it."""
    if np.ma.isMaskedArray(labels):
        return np.flatnonzero(np.ma.getmaskarray(labels))
    if labels.dtype.kind == "O":
        return np.flatnonzero(
            [
                one is None or (not isinstance(one, str) and str(one) in ("nan", "NaT", "<NA>"))
                for one in labels
            ]
        )
    return np.flatnonzero(labels != labels)


def has_rare_label(counts: Ints) -> bool:
    """True where one of these labels is so rare that `train` weighs the labels."""
    return bool(counts.min() < _RARE * counts.sum() / len(counts) * 1.5)


def _columns(schema: Schema) -> tuple[list[str], list[str]]:
    numeric = [f.name for f in schema.features if not (f.has_levels or f.carried)]
    return numeric, [f.name for f in schema.features if f.has_levels]


def table_encoder(
    schema: Schema, *, scale: bool, impute: bool, one_hot: bool = True, without: Collection[str] = ()
) -> Any:
    """An unfitted scikit-learn ColumnTransformer from the raw table to numbers; without: features left out."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    numeric, levels = ([name for name in names if name not in without] for names in _columns(schema))
    steps: list[Any] = []
    if impute and any(schema[name].missing for name in numeric):
        steps.append(SimpleImputer(strategy="median", add_indicator=True))
    if scale:
        steps.append(StandardScaler())
    categories = [np.array(_sorted_numbers(schema[name].levels), dtype=object) for name in levels]
    coder: Any
    if one_hot:
        coder = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=False)
    else:
        coder = OrdinalEncoder(
            categories=categories, handle_unknown="use_encoded_value", unknown_value=np.nan
        )
    parts: list[Any] = []
    if numeric:
        parts.append(("numeric", make_pipeline(*steps) if steps else "passthrough", numeric))
    if levels:
        parts.append(("levels", coder, levels))
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def _sorted_numbers(levels: tuple[Any, ...]) -> list[Any]:
    """Return levels in order where they are numbers: scikit-learn takes categories that are numbers no other way."""
    return sorted(levels) if all(isinstance(v, (int, float)) for v in levels) else list(levels)


def _pipeline(encoder: Any, head: Any, frame: Any, y: Any, weight: Any) -> Any:
    import inspect

    from sklearn.pipeline import Pipeline

    pipeline = Pipeline([("encode", encoder), ("model", head)])
    if weight is not None and "sample_weight" not in inspect.signature(head.fit).parameters:
        again = np.repeat(np.arange(len(y)), np.maximum(1, np.round(weight)).astype(int))
        return pipeline.fit(frame.iloc[again] if hasattr(frame, "iloc") else frame[again], y[again])
    return pipeline.fit(frame, y, **({} if weight is None else {"model__sample_weight": weight}))


def _lr(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    from sklearn.linear_model import LogisticRegression

    head = LogisticRegression(max_iter=1000, random_state=seed)
    return _pipeline(table_encoder(schema, scale=True, impute=True), head, frame, y, weight)


def _mlp(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    from sklearn.neural_network import MLPClassifier

    n = len(y)
    small = n < 2000
    epochs = int(np.clip(1_000_000 // n, 10, 40))  # a large table teaches as much in fewer rounds
    head = MLPClassifier(
        (64, 64),
        alpha=1e-3,
        batch_size=min(n, 64 if small else 256),
        early_stopping=True,
        validation_fraction=0.15,
        n_iter_no_change=8 if small else 4,
        max_iter=80 if small else epochs,
        random_state=seed,
    )
    encoder = table_encoder(schema, scale=True, impute=True)
    return without_convergence_warnings(lambda: _pipeline(encoder, head, frame, y, weight))


def without_convergence_warnings(fit: Callable[[], Any]) -> Any:
    """Call `fit` with scikit-learn's warnings about the iteration limit off; return what it returns."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the iteration limit is part of the recipe
        return fit()


def _rf(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    leaf = 5 if len(y) < 5000 else 10
    head = RandomForestClassifier(100, max_depth=10, min_samples_leaf=leaf, random_state=seed, n_jobs=1)
    return _pipeline(table_encoder(schema, scale=False, impute=True), head, frame, y, weight)


def _gb(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    head = HistGradientBoostingClassifier(
        max_iter=100,
        max_leaf_nodes=15,
        learning_rate=0.1,
        min_samples_leaf=20,
        early_stopping=False,
        random_state=seed,
    )
    return _pipeline(table_encoder(schema, scale=False, impute=False), head, frame, y, weight)


def _xgb(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    xgboost = require("xgboost", extra="trees")
    head = _labelled(xgboost.XGBClassifier, y)(
        n_estimators=150,
        max_depth=5,
        learning_rate=0.1,
        subsample=0.9,
        n_jobs=1,
        random_state=seed,
        device=device,
    )
    return _pipeline(table_encoder(schema, scale=False, impute=False), head, frame, y, weight)


def _lgbm(schema: Schema, frame: Any, y: Any, codes: Any, weight: Any, seed: int, device: str) -> Any:
    lightgbm = require("lightgbm", extra="trees")
    head = lightgbm.LGBMClassifier(
        n_estimators=150,
        num_leaves=15,
        learning_rate=0.1,
        n_jobs=1,
        random_state=seed,
        verbose=-1,
        deterministic=True,
    )
    return _pipeline(table_encoder(schema, scale=False, impute=False), head, frame, y, weight)


def _labelled(kind: Any, y: Any) -> Any:
    classes = np.unique(y)
    if np.array_equal(classes, np.arange(len(classes))):
        return kind
    raise DataError(
        f"xgb needs the labels 0 to {len(classes) - 1}; got {classes[:3].tolist()}. Recode the labels, "
        "or use another model of the zoo."
    )


_MAKERS: dict[str, Callable[..., Any]] = {
    "lr": _lr,
    "mlp": _mlp,
    "rf": _rf,
    "gb": _gb,
    "xgb": _xgb,
    "lgbm": _lgbm,
}
