"""The pandas categories that a booster was trained on, as it keeps them: which columns, and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from wayforward.errors import ModelError, require
from wayforward.schema import Schema


def categories_of(model: Any, schema: Schema, name: str) -> dict[str, list[Any]]:
    """Return column -> categories of a LightGBM or XGBoost model, in the order of its training table; {} for others.

    Columns that the schema does not have are left out. Raises: ModelError where a column was trained on categories that
    the booster does not tell, or has none of the schema's levels among them.
    """
    found = READERS[_library(model)](model, schema) if tells_categories(model) else {}
    known = {column: values for column, values in found.items() if column in schema.names}
    for column, values in known.items():
        if values is None:
            raise ModelError(
                f"{name} was trained on the pandas categories of '{column}' and does not tell their order. Give the "
                "table that it was trained on: wrap(model, schema, frame=table)."
            )
        levels = schema[column].levels
        if levels and not set(levels) & set(values):
            raise ModelError(
                f"{name} was trained on categories of '{column}' such as {values[0]!r}, and the schema's levels are "
                f"such as {levels[0]!r}. Infer the schema from the table that it was trained on."
            )
    return {column: list(values) for column, values in known.items() if values is not None}


def tells_categories(model: Any) -> bool:
    """True for models of a library that keeps the pandas categories of its training table."""
    return _library(model) in READERS


def _library(model: Any) -> str:
    return type(model).__module__.split(".")[0]


def _of_lightgbm(model: Any, schema: Schema) -> dict[str, list[Any] | None]:
    booster = getattr(model, "booster_", model)
    stored = booster.pandas_categorical or []
    if not stored:
        return {}
    at = re.search(
        r"^\[categorical_feature: ([\d,]+)\]$", booster.model_to_string(num_iteration=1), re.MULTILINE
    )
    places = [] if at is None else [int(place) for place in at[1].split(",")]
    names = list(booster.feature_name())
    # ordered categories count as numbers there, so that only their levels tell which column they are of
    ways = list(islice(_aligned(stored, names, set(places), schema), 2))
    if not ways:  # columns that were made categorical by their number, too
        return {}
    if len(ways) == 2:
        return dict.fromkeys(column for way in ways for column in way)
    return dict(ways[0])


def _aligned(
    stored: list[list[Any]], names: list[str], sure: set[int], schema: Schema, at: int = 0
) -> Iterator[dict[str, list[Any]]]:
    """Yield each way to give the categories, which are in the order of the columns, to columns from `at` on: to all
    that are surely categorical, and to others that have such levels."""
    if not stored:
        if not any(place >= at for place in sure):
            yield {}
        return
    for place in range(at, len(names)):
        name = names[place]
        levels = set(schema[name].levels) if name in schema.names else set()
        if place in sure or levels & set(stored[0]):
            for rest in _aligned(stored[1:], names, sure, schema, place + 1):
                yield {name: stored[0], **rest}
        if place in sure:
            return


def _of_xgboost(model: Any, schema: Schema) -> dict[str, list[Any] | None]:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    kinds, names = booster.feature_types or [], booster.feature_names or []
    columns = [name for name, kind in zip(names, kinds, strict=False) if kind == "c"]
    if not columns:
        return {}
    if not hasattr(booster, "get_categories"):  # before 3.1 it stored none
        return dict.fromkeys(columns)
    require("pyarrow", extra="frames")
    stored = dict(booster.get_categories(export_to_arrow=True).to_arrow() or ())
    return {name: None if stored.get(name) is None else stored[name].to_pylist() for name in columns}


READERS: dict[str, Callable[[Any, Schema], dict[str, list[Any] | None]]] = {
    "lightgbm": _of_lightgbm,
    "xgboost": _of_xgboost,
}
