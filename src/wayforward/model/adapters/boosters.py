"""XGBoost, LightGBM and CatBoost: models with scikit-learn's interface, and boosters alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from wayforward.errors import ModelError, require
from wayforward.model.adapted import SINGLE, Adapted, WrapOptions, as_probabilities
from wayforward.model.adapters.categories import categories_of
from wayforward.model.adapters.sklearn_estimator import adapt_fitted, check_fitted, not_fitted
from wayforward.model.encoder import Encoder, NotRead, probe_rows
from wayforward.model.fast import Fast
from wayforward.model.tables import Encode, Table, encode_with, encoder_for, numbers_of, trained_names
from wayforward.model.tree_readers import read_trees
from wayforward.model.trees import ForestFast
from wayforward.schema import Schema
from wayforward.shapes import Floats


def adapt_catboost(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """A CatBoost model. Raises: ModelError."""
    if not getattr(model, "is_fitted", lambda: True)():
        raise not_fitted(options.name)
    return replace(adapt_fitted(model, schema, options), tolerance=SINGLE)


def adapt_xgboost(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """An XGBoost model or booster. Raises: ModelError, MissingExtra."""
    if hasattr(model, "get_params"):
        try:
            model.get_booster()  # its own word on being fitted
        except Exception:
            raise not_fitted(options.name) from None
        return adapt_fitted(model, schema, options)
    xgboost = require("xgboost", extra="trees")
    names = trained_names(model)
    rows_of, encoding = _rows_of(model, names, schema, options, model.num_features())

    def ask(x: Floats) -> Floats:
        rows = xgboost.DMatrix(rows_of(x), feature_names=names, nthread=1, enable_categorical=True)
        return np.asarray(model.predict(rows), np.float64)

    objective = str(json.loads(model.save_config())["learner"]["objective"]["name"])
    if objective == "multi:softmax":
        raise ModelError(
            f"{options.name} returns labels only (multi:softmax). Train it with multi:softprob, then wrap it."
        )
    return _booster(model, ask, objective, encoding, schema, options)


def adapt_lightgbm(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """A LightGBM model or booster. Raises: ModelError."""
    if hasattr(model, "get_params"):
        check_fitted(model, options.name)
        return replace(adapt_fitted(model, schema, options), tolerance=SINGLE)
    rows_of, encoding = _rows_of(model, trained_names(model), schema, options, model.num_feature())

    def ask(x: Floats) -> Floats:
        return np.asarray(model.predict(rows_of(x), num_threads=1), np.float64)

    objective = str(model.dump_model(num_iteration=1).get("objective", "")).split(" ")[0]
    return _booster(model, ask, objective, encoding, schema, options)


def _rows_of(
    model: Any, names: list[str] | None, schema: Schema, options: WrapOptions, width: int
) -> tuple[Callable[[Floats], Any], Encoder | None]:
    """What turns rows into what a booster alone takes: numbers, or a table with categories; the encoding, if read."""
    if options.encoder is None and names is not None:
        own = hasattr(options.frame, "dtypes")
        categories = {} if own else categories_of(model, schema, options.name)
        if own or categories:
            return Table(
                schema, names, options.frame, options.name, options.prepare, categories=categories
            ), None
    encoding = _encoding(names, schema, options, width)
    return encode_with(encoding), encoding if isinstance(encoding, Encoder) else None


def _encoding(names: list[str] | None, schema: Schema, options: WrapOptions, width: int) -> Encoder | Encode:
    if options.encoder is None and names is not None:
        table = Table(schema, names, "dict", options.name)  # an error where a name is not in the schema
        for name in (schema.names[j] for j in table.order if schema.carried[j]):
            raise ModelError(
                f"{options.name} is asked on numbers, and '{name}' is carried as it is. Revise it to a number, or wrap "
                "the model with scikit-learn's interface."
            )
        return numbers_of(schema, table.order)
    return encoder_for(schema, options, width, one_hot=False)


def _booster(
    booster: Any,
    ask: Encode,
    objective: str,
    encoding: Encoder | None,
    schema: Schema,
    options: WrapOptions,
) -> Adapted:
    name = options.name
    if objective.startswith(("binary", "multi", "softmax")):
        first = ask(probe_rows(schema)[:1])
        classes = options.classes_of(first.shape[1] if first.ndim == 2 else 1)
        native = Adapted.of_probabilities(
            lambda x: as_probabilities(ask(x), "probability", name), classes, name
        )
    else:
        native = Adapted.of_values(ask, name)

    def fast() -> Fast:
        if encoding is None:
            raise NotRead("it is asked on tables, or through a function")
        return ForestFast(encoding, read_trees(booster), partial(read_trees, booster))

    return replace(native, read=fast)
