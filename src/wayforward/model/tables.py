"""What a wrapped object is given: a table or an array as it was trained on, or the columns of an encoder."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.adapted import WrapOptions
from wayforward.model.encoder import Column, Encoder, NotRead, finish, probe_rows, read
from wayforward.model.frames import as_dense, column_values
from wayforward.schema import Schema
from wayforward.shapes import Floats

Encode: TypeAlias = Callable[[Floats], Floats]


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
        none: bool | frozenset[str] = False,
        categories: Mapping[str, Sequence[Any]] | None = None,
        numbered: bool = False,
    ) -> None:
        self.schema, self.names, self.like, self.prepare = schema, names, like, prepare
        self.numbered = numbered  # columns are called 0, 1, 2 in tables, too, and not "0"
        self.categories = categories  # of columns that go as pandas categories
        # columns whose missing values are None, not NaN, where the table library tells them apart; True: all
        self.none = none if isinstance(none, frozenset) else frozenset(schema.names if none else ())
        self.order = list(range(schema.d))
        if names is not None:
            unknown = [n for n in names if n not in schema.names]
            if unknown:  # LightGBM keeps 'years of service' as 'years_of_service'
                spaced = {n.replace(" ", "_"): n for n in schema.names}
                if len(spaced) == schema.d and all(n in spaced for n in names):
                    names, unknown = [spaced[n] for n in names], []
                    self.names = names
            if unknown:
                raise ModelError(
                    f"{name} was trained on the column '{unknown[0]}', which is not in the schema"
                    + (f" (nor {len(unknown) - 1} more: {', '.join(unknown[1:6])})" if unknown[1:] else "")
                    + ". Infer the schema from the table that the model was trained on."
                )
            self.order = [schema.index(n) for n in names]
        self._values = level_values(schema)
        kinds = (
            like.dtypes.to_dict() if hasattr(like, "columns") and hasattr(like, "iloc") else {}
        )  # a pandas table: keep its categories
        self._casts = {
            n: kind for n, kind in kinds.items() if hasattr(kind, "categories") and n in schema.names
        }
        if categories and not self._casts:
            import pandas as pd

            self.like = "pandas"
            self._casts = {n: pd.CategoricalDtype(list(values)) for n, values in categories.items()}

    def __call__(self, x: Floats) -> Any:
        """(m, d) feature units -> a table, or (m, d) numbers."""
        if self.names is None:
            out = x.copy()
            for j, values in enumerate(self._values):
                if values is not None:
                    gone = np.isnan(x[:, j])
                    out[:, j] = np.where(gone, np.nan, values[np.where(gone, 0.0, x[:, j]).astype(np.int64)])
            if self.schema.carried.any():  # no numbers, so they were not among what it was trained on
                out = out[:, ~self.schema.carried]
            return self.prepare(out) if self.prepare else out
        frame = self.schema.decode(x, like=self.like)
        if hasattr(frame, "iloc"):
            frame = self._with_missing(frame)
            frame = frame.astype(self._casts) if self._casts else frame
            frame = frame.rename(columns=int) if self.numbered else frame
        if list(self.names) != list(self.schema.names):
            frame = frame.iloc[:, self.order] if hasattr(frame, "iloc") else frame.select(self.names)
        return self.prepare(frame) if self.prepare else frame

    def columns(self) -> tuple[list[Column], Any]:
        """Its columns before any preprocessing, and a small table that visits every level."""
        probe = self(probe_rows(self.schema))
        has_levels = self.schema.has_levels
        return [
            Column(feature=j, table=column_values(probe, i)) if has_levels[j] else Column(feature=j)
            for i, j in enumerate(self.order)
        ], probe

    def _with_missing(self, frame: Any) -> Any:
        """Levels with a missing value as pandas reads them from a file, in any batch: NaN, unless None is known."""
        for f in self.schema.features:
            if f.missing and (f.carried or f.levels) and f.name in self.none:
                column = frame[f.name].astype(object)  # pandas' own texts have no None
                frame[f.name] = column.where(column.notna(), None)
            elif f.missing and (f.carried or f.levels) and frame[f.name].dtype == object:
                column = frame[f.name].where(frame[f.name].notna(), np.nan)
                text = _pandas_has_text() and all(isinstance(v, str) for v in f.levels)
                frame[f.name] = column.astype("str") if text else column
        return frame


def are_numbers(names: Sequence[str]) -> bool:
    """True for columns that a table calls 0, 1, 2, which are texts in a schema."""
    return all(name.isdecimal() and str(int(name)) == name for name in names)


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


def encoder_for(
    schema: Schema, options: WrapOptions, width: int | None, *, one_hot: bool
) -> Encoder | Encode:
    """The encoding of raw rows for a model on `width` numbers: an Encoder where it can be read, else a function.

    Without an encoder: numeric as is and levels one-hot (one_hot, or where the width says so), else the level numbers.
    """
    encoder, name = options.encoder, options.name
    if encoder is None:
        plain, wide = numbers_of(schema), one_hot_of(schema)
        choices = (wide, plain) if one_hot else (plain, wide)
        found = next((choice for choice in choices if width in (None, choice.width)), None)
        if found is None:
            raise ModelError(
                f"{name} takes {width} numbers a row; the schema has {schema.d} features, {wide.width} with one "
                "column a level. Give wrap(..., encoder=...) the transformer that its training data went through."
            )
        return found
    if not hasattr(encoder, "transform"):
        return lambda x: np.asarray(encoder(x.copy()), dtype=np.float64)
    table = Table(schema, trained_names(encoder), options.frame, name)
    try:
        columns, probe = table.columns()
        made = finish(read(encoder, columns, probe, schema)[0], schema)
        if made.parts:
            raise NotRead("it reads what is carried")
        return made
    except NotRead:
        return lambda x: np.asarray(as_dense(encoder.transform(table(x))), dtype=np.float64)


def encode_with(encoding: Encoder | Encode) -> Encode:
    """Its function: (m, d) raw rows -> (m, width)."""
    return encoding.encode if isinstance(encoding, Encoder) else encoding


def numbers_of(schema: Schema, order: Sequence[int] | None = None) -> Encoder:
    """The encoding of a model trained on an array: numeric as is, levels by their numbers, nothing that is carried."""
    values = level_values(schema)
    columns = []
    for j in np.flatnonzero(~schema.carried).tolist() if order is None else order:
        table = values[j]
        columns.append(Column(feature=j, table=None if table is None else np.append(table, np.nan)))
    return Encoder(schema, columns)


def one_hot_of(schema: Schema) -> Encoder:
    """Numeric as is, one 0/1 column a level."""
    columns = []
    for j in np.flatnonzero(~schema.carried).tolist():
        if not schema.has_levels[j]:
            columns.append(Column(feature=j))
            continue
        count = int(schema.n_levels[j])
        for k in range(count):
            table = np.zeros(count + 1)
            table[k] = 1.0
            columns.append(Column(feature=j, table=table))
    return Encoder(schema, columns)
