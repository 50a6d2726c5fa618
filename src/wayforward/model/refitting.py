"""A wrapped estimator trained once more, from its own settings, on other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.model.adapted import label_indices, without_warnings
from wayforward.model.adapters.sklearn_inside import knows_none
from wayforward.model.tables import Table, trained_names
from wayforward.model.wrapping import Wrapped

if TYPE_CHECKING:
    from wayforward.model.base import Model
    from wayforward.shapes import Rows


def refit(model: Model, x: Rows, labels: np.ndarray, seed: int) -> Model:
    """Fit a fresh copy of the wrapped estimator on rows x (m, d) with labels (m,); wrap it as the model was.

    The copy has the settings of the estimator and `seed` wherever it takes a random state. It sees the rows as the
    estimator saw its own: a table or an array, through the encoder and the preparation that `wrap` was given.
    Raises: UnsupportedModel where the model does not hold its own recipe: a function, an API, a booster alone, a torch
    module, an ONNX file; DataError for labels that are none of its classes.
    """
    from sklearn.base import clone

    from wayforward.model.wrapping import wrap

    if not isinstance(model, Wrapped) or not _has_recipe(model.wrapped):
        raise UnsupportedModel(
            f"{model.name} cannot be trained again from what is here: it holds no recipe. Give one: "
            "Retraining(labels, fit=lambda rows, labels, seed: ...), or let models of another kind stand in: "
            "Retraining(labels, fit='gb')."
        )
    options, fresh = model.options, clone(model.wrapped)
    names = {name: seed for name in fresh.get_params() if name.split("__")[-1] == "random_state"}
    fresh.set_params(**names)
    y = np.asarray(labels)
    if model.classes:
        y = np.asarray(model.wrapped.classes_)[label_indices(y, model.classes, "The table of labels")]
    # what the adapter found out by asking, too: a pipeline does not always say that it was trained on a table
    table = model.native_path.table
    if table is None:
        trained = model.wrapped if options.encoder is None else options.encoder
        table = Table(
            model.schema, _names(trained), options.frame, model.name, options.prepare, knows_none(trained),
            model.native_path.categories,
        )  # fmt: skip
    rows = table(x)
    if options.encoder is not None:
        rows = (
            options.encoder.transform(rows)
            if hasattr(options.encoder, "transform")
            else options.encoder(rows)
        )
    with without_warnings():
        fresh.fit(rows, y)
    return wrap(
        fresh, model.schema, task=options.task, classes=options.classes, output=options.output, takes=options.takes,
        frame=options.frame, encoder=options.encoder, prepare=options.prepare, batch_rows=options.batch_rows,
    )  # fmt: skip


def _has_recipe(estimator: Any) -> bool:
    return not isinstance(estimator, type) and all(hasattr(estimator, name) for name in ("get_params", "fit"))


def _names(estimator: Any) -> list[str] | None:
    """Column names that an estimator, or the first step of a pipeline, was trained on; None for arrays."""
    names = trained_names(estimator)
    if names is None and hasattr(estimator, "steps") and not isinstance(estimator.steps[0][1], str):
        names = trained_names(estimator.steps[0][1])
    return names
