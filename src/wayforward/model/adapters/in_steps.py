"""Pipelines asked in two parts: the first steps see the rows asked about, the last step sees chunks of one size.

A last step with matrix products is asked in chunks of one size (`fast.padded`). Steps that look at each value by itself
need no chunks, and texts, dates and tables are dear to make five hundred times for a handful of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wayforward.model.adapted import without_warnings
from wayforward.model.fast import take
from wayforward.model.tables import Table
from wayforward.model.verify import sample_rows

_PROBES = 6
# Transformers of scikit-learn without a matrix product: a row comes out alike alone and among others.
_ALONE = (
    "Binarizer", "ColumnTransformer", "CountVectorizer", "DictVectorizer", "FeatureHasher", "FeatureUnion",
    "FunctionTransformer", "HashingVectorizer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator",
    "Normalizer", "OneHotEncoder", "OrdinalEncoder", "Pipeline", "PowerTransformer", "QuantileTransformer",
    "RobustScaler", "SimpleImputer", "StandardScaler", "TargetEncoder", "TfidfTransformer", "TfidfVectorizer",
    "VarianceThreshold",
)  # fmt: skip


def front_and_head(estimator: Any, table: Table) -> tuple[Any, Any] | None:
    """Return the first steps of a fitted pipeline and its last step, or None where the two are to be asked as one.

    The first steps are transformers that are known to treat rows one by one; yet some rows are tried, more of them
    where functions of the user's are inside: they must come out to the last bit as they do alone.
    """
    while type(estimator).__module__ == "sklearn.model_selection._search":  # asks the best of what it tried
        estimator = getattr(estimator, "best_estimator_", None)
    if not (_of_sklearn(estimator) and type(estimator).__name__ == "Pipeline" and len(estimator.steps) > 1):
        return None
    front = estimator[:-1]
    kinds = [part for step in front.steps for part in _parts(step[1])]
    if not all(part is None or (_of_sklearn(part) and type(part).__name__ in _ALONE) for part in kinds):
        return None
    alone_too = _PROBES if any(type(part).__name__ == "FunctionTransformer" for part in kinds) else 2
    try:
        with without_warnings():
            x = sample_rows(table.schema, _PROBES, missing=False)
            whole = front.transform(table(x))
            alone = [front.transform(table(x[i : i + 1])) for i in range(alone_too)]
    except Exception:
        return None
    if not (isinstance(whole, np.ndarray) or hasattr(whole, "iloc") or hasattr(whole, "tocsr")):
        return None
    same = all(_same(take(whole, np.array([i])), one) for i, one in enumerate(alone))
    return (front, estimator.steps[-1][1]) if whole.shape[0] == _PROBES and same else None


def _of_sklearn(part: Any) -> bool:
    return type(part).__module__.split(".")[0] == "sklearn"


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
