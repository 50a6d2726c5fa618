"""Train one of these classifiers on a raw table, as `wayforward.model.train` trains the plain ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wayforward.errors import DataError, is_number
from wayforward.model.zoo import table_encoder, whole_labels
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.training.allowed import AllowedChanges


@public
def train(
    head: Any,
    schema: Schema,
    table: Any,
    y: Any,
    *,
    group: str | None = None,
    reach: float = 0.1,
    without: str | Sequence[str] = (),
) -> Any:
    """Fit a classifier behind an encoder -> a scikit-learn Pipeline that takes such tables, for `wf.wrap`.

    head: a classifier, left as it is (a clone is trained). table: a table, or (n, d) in feature units. y (n,): labels,
    the greater one favourable. group: a feature of two groups, for those whose `fit` takes groups. reach: share of each
    range that numbers may change by, for those with `allowed`; what may change, and which way, is the schema's word.
    without: features that the model is not shown, such as the group.
    Raises: DataError, SchemaError, ValueError.
    Example: ``train(EqualizingRecourse(tau=0.05), schema, frame, y, group="sex")``.
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    x = np.asarray(schema.encode(table, "training"), dtype=np.float64)
    labels = whole_labels(y, len(x))
    if not (is_number(reach) and reach >= 0):
        raise DataError(f"reach={reach!r} is no share of a range of 0 or more, such as 0.1.")
    if isinstance(without, str):
        without = [without]
    unknown = [name for name in (*without, *([] if group is None else [group])) if name not in schema.names]
    if unknown:
        raise DataError(f"The schema has no feature '{unknown[0]}'. It has {', '.join(schema.names[:8])}.")
    frame = schema.decode(x)
    encoder = table_encoder(schema, scale=True, impute=True, without=without)
    head = clone(head)
    encoder.fit(frame)
    if "allowed" in head.get_params() and head.get_params()["allowed"] is None:
        head.set_params(allowed=AllowedChanges.of(schema, encoder, reach, x))
    given = {} if group is None else {"groups": x[:, schema.index(group)]}
    head.fit(encoder.transform(frame), labels, **given)
    return Pipeline([("encode", encoder), ("model", head)])
