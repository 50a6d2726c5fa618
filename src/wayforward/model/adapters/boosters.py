"""XGBoost, LightGBM and CatBoost: models with scikit-learn's interface, and boosters alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError, require
from wayforward.model.adapted import SINGLE, Adapted, WrapOptions, as_probabilities
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
    encoding = _encoding(names, schema, options, model.num_features())
    encode = encode_with(encoding)

    def ask(x: Floats) -> Floats:
        rows = xgboost.DMatrix(encode(x), feature_names=names, nthread=1)
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
    encoding = _encoding(trained_names(model), schema, options, model.num_feature())
    encode = encode_with(encoding)

    def ask(x: Floats) -> Floats:
        return np.asarray(model.predict(encode(x), num_threads=1), np.float64)

    objective = str(model.dump_model(num_iteration=1).get("objective", "")).split(" ")[0]
    return _booster(model, ask, objective, encoding, schema, options)


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
    encoding: Encoder | Encode,
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
        if not isinstance(encoding, Encoder):
            raise NotRead("the encoder is a function")
        return ForestFast(encoding, read_trees(booster))

    return replace(native, read=fast)
