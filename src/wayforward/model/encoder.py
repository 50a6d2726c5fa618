"""Read a fitted preprocessing as columns: each is affine in one numeric feature, or a table over one level
feature.

Tables come from the transformer itself, probed on a few rows that visit every level; affine parts are read
from the fitted parameters and keep the transformer's own order of floating-point operations, so that encoded
values agree to the last bit. What cannot be read this way raises `NotRead`, and the model stays on its
native path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from wayforward.model.frames import all_values, as_dense, columns_at, one_at_a_time
from wayforward.model.kernels import affine_columns
from wayforward.schema import Schema
from wayforward.schema.carried import series_of
from wayforward.shapes import Floats

MONOTONE = {  # rising ufuncs, so that a split on the result is a split on the raw value
    name: getattr(np, name)
    for name in ("log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1", "arctan", "tanh")
}


_WIDEST = 4096  # columns that are made of a carried feature
_REMEMBERED, _AT_ONCE = (
    16_384,
    32,
)  # values of carried features whose columns are kept, and that are encoded at once
_PROBED_ROWS = 8192  # shown to a transformer at once


class NotRead(Exception):
    """A preprocessing that mixes columns, or a part of a kind that is not read; the message says which.

    features: numeric features that a transformer took which can only be read as a table over their values.
    """

    def __init__(self, message: str, features: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.features = tuple(features)


@dataclass(frozen=True)
class Column:
    """One column on its way through the preprocessing.

    feature: raw feature, -1 for a constant. Numeric: ((f(x) - centre) / divisor) * factor + shift with
    `missing` in place of NaN. Level feature or constant: `table` (L + 1,), the last entry for a missing
    value. Of what is carried: column `place` of its `own` part.
    """

    feature: int
    centre: float = 0.0
    divisor: float = 1.0
    factor: float = 1.0
    shift: float = 0.0
    missing: float = np.nan
    ufunc: str = ""
    table: Any = None
    own: CarriedPart | None = None
    place: int = 0
    steps: tuple[tuple[str, float, float], ...] = ()  # the transformers' own operations, in order

    def divided(self, centre: float, divisor: float) -> Column:
        """(value - centre) / divisor."""
        gone = (self.missing - centre) / divisor
        if self.factor == 0.0:
            return replace(self, shift=(self.shift - centre) / divisor, missing=gone)
        steps = (*self.steps, ("divide", centre, divisor))
        if not self.steps:
            return replace(self, centre=centre, divisor=divisor, missing=gone, steps=steps)
        return self._combined(1.0 / divisor, -centre / divisor, gone, steps)

    def scaled(self, factor: float, shift: float) -> Column:
        """value * factor + shift."""
        gone = self.missing * factor + shift
        if self.factor == 0.0:
            return replace(self, shift=self.shift * factor + shift, missing=gone)
        steps = (*self.steps, ("scale", factor, shift))
        if all(kind == "divide" for kind, _, _ in self.steps) and len(self.steps) <= 1:
            return replace(self, factor=factor, shift=shift, missing=gone, steps=steps)
        return self._combined(factor, shift, gone, steps)

    def _combined(
        self, factor: float, shift: float, gone: float, steps: tuple[tuple[str, float, float], ...]
    ) -> Column:
        return replace(
            self, factor=self.factor * factor, shift=self.shift * factor + shift, missing=gone, steps=steps
        )

    def indicator(self, gone: float) -> Column:
        """1 where the value is missing, in place of the value."""
        return replace(self, centre=0.0, divisor=1.0, factor=0.0, shift=0.0, missing=gone, ufunc="", steps=())

    @property
    def magnitude(self) -> tuple[float, float]:
        """(a, b): no number on the way to the encoded value is larger than a |f(x)| + b, which roundoff scales with."""
        if self.factor == 0.0:
            return 0.0, abs(self.shift)
        a, b = 1.0, 0.0
        for kind, one, other in self.steps:
            if kind == "divide":
                a, b = a / abs(other), (b + abs(one)) / abs(other)
            else:
                a, b = a * abs(one), b * abs(one) + abs(other)
        return a, b

    def value(self, x: Floats) -> Floats:
        """Raw finite values -> encoded values, with the transformers' own rounding."""
        with np.errstate(all="ignore"):
            out = MONOTONE[self.ufunc](np.ascontiguousarray(x)) if self.ufunc else x
            if self.factor == 0.0:
                return np.full(len(x), self.shift)
            for kind, a, b in self.steps:
                out = (out - a) / b if kind == "divide" else out * a + b
        result: Floats = out
        return result


class CarriedPart:
    """A transformer of carried features alone: their encoded values (m, e), worked out once for each value.

    features: raw features that it takes. called: their columns in its table; one: it takes a single column as it is.
    """

    def __init__(
        self, schema: Schema, features: Sequence[int], transformer: Any, called: Sequence[Any], one: bool
    ) -> None:
        self.schema, self.features, self.transformer = schema, list(features), transformer
        self.called, self.one = list(called), one
        self._known: dict[bytes, Floats] = {}

    def encode(self, x: Floats) -> Floats:
        """(m, d) raw -> (m, e) encoded; a row's values never depend on the other rows."""
        keys = np.ascontiguousarray(x[:, self.features])
        names = [key.tobytes() for key in keys]
        known = self._known if len(self._known) < _REMEMBERED else {}
        new = {name: i for i, name in enumerate(names) if name not in known}
        at = list(new.values())
        for start in range(
            0, len(at), _AT_ONCE
        ):  # always as many, so that a product of matrices rounds alike
            part = at[start : start + _AT_ONCE]
            made = self._ask(keys[part + part[:1] * (_AT_ONCE - len(part))])
            known.update({names[i]: row for i, row in zip(part, made, strict=False)})
        self._known = known
        return np.stack([known[name] for name in names])

    def _ask(self, keys: Floats) -> Floats:
        import pandas as pd

        features = [self.schema.features[j] for j in self.features]
        columns = {
            c: series_of(keys[:, i], f) for i, (c, f) in enumerate(zip(self.called, features, strict=True))
        }
        table: Any = pd.DataFrame(columns)
        made = self.transformer.transform(table.iloc[:, 0] if self.one else table)
        return np.asarray(all_values(made), dtype=np.float64)


@dataclass
class Encoder:
    """Encoded columns of raw rows, ready for the kernels.

    columns: the encoded columns in the order the head reads them.
    """

    schema: Schema
    columns: list[Column]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numeric = [e for e, c in enumerate(self.columns) if c.table is None and c.own is None]
        self.tables = [e for e, c in enumerate(self.columns) if c.table is not None]
        self.parts: dict[
            CarriedPart, tuple[list[int], list[int]]
        ] = {}  # -> encoded columns, columns of the part
        for e, c in enumerate(self.columns):
            if c.own is not None:
                for places, place in zip(self.parts.setdefault(c.own, ([], [])), (e, c.place), strict=True):
                    places.append(place)
        self.ufuncs = sorted({(c.feature, c.ufunc) for c in self.columns if c.ufunc})
        self.source = np.array([self._source(self.columns[e]) for e in self.numeric], np.int64)
        self.affine = np.array(
            [
                (c.centre, c.divisor, c.factor, c.shift, c.missing)
                for c in (self.columns[e] for e in self.numeric)
            ],
            np.float64,
        ).reshape(-1, 5)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.columns)

    def _source(self, column: Column) -> int:
        if not column.ufunc:
            return column.feature
        return self.schema.d + self.ufuncs.index((column.feature, column.ufunc))

    def extend(self, x: Floats) -> Floats:
        """Raw rows with one more column for each numeric feature that enters through a function such as
        log1p.
        """
        if not self.ufuncs:
            return x
        with np.errstate(invalid="ignore", divide="ignore"):
            more = [MONOTONE[name](np.ascontiguousarray(x[:, j])) for j, name in self.ufuncs]
        return np.ascontiguousarray(np.column_stack([x, *more]))

    def encode(self, x: Floats) -> Floats:
        """(m, d) raw -> (m, e) encoded, row by row the same in any batch."""
        out = np.empty((len(x), self.width))
        if self.numeric:
            out[:, self.numeric] = affine_columns(self.extend(x), self.source, self.affine)
            for e in self.numeric:
                column = self.columns[e]
                if len(column.steps) > 2:  # the four numbers round otherwise than a longer chain
                    value = x[:, column.feature]
                    out[:, e] = np.where(np.isnan(value), column.missing, column.value(value))
        for part, (here, there) in self.parts.items():
            out[:, here] = part.encode(x)[:, there]
        for e in self.tables:
            column = self.columns[e]
            if column.feature < 0:
                out[:, e] = column.table[0]
                continue
            value = x[:, column.feature]
            gone = np.isnan(value)
            last = len(column.table) - 1
            out[:, e] = column.table[np.where(gone, last, np.where(gone, 0.0, value)).astype(np.int64)]
        return out


# -- reading fitted transformers ---------------------------------------------------------------------------


def probe_rows(schema: Schema) -> Floats:
    """Rows that visit every level of every feature: (max levels + 1, d); the last stands for missing."""
    count = schema.n_levels
    rows = int(count.max(initial=0)) + 1
    x = np.tile(_middle(schema), (rows, 1))
    for j in np.flatnonzero(schema.has_levels):
        x[:, j] = np.minimum(np.arange(rows), count[j] - 1)
        if schema.missing[j]:
            x[count[j] :, j] = np.nan
    return x


def _middle(schema: Schema) -> Floats:
    low = np.where(np.isfinite(schema.low), schema.low, np.where(np.isfinite(schema.high), schema.high, 0.0))
    out: Floats = np.asarray(schema.snap(low), dtype=np.float64)
    return out


def read(transformer: Any, columns: list[Column], probe: Any, schema: Schema) -> tuple[list[Column], Any]:
    """Follow the columns through one fitted transformer: (columns, probe table) before -> after.

    Raises: NotRead.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectorMixin
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        MaxAbsScaler,
        MinMaxScaler,
        RobustScaler,
        StandardScaler,
    )

    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return columns, probe
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            columns, probe = read(step, columns, probe, schema)
        return columns, probe
    if isinstance(transformer, ColumnTransformer):
        return _column_transformer(transformer, columns, probe, schema)
    _refuse_carried(columns, schema)
    after = as_dense(transformer.transform(probe))
    if isinstance(transformer, FeatureUnion):
        made: list[Column] = []
        for _, step in transformer.transformer_list:
            if not (isinstance(step, str) and step == "drop"):
                made += read(step, columns, probe, schema)[0]
        return _with_tables(made, after), after
    if isinstance(transformer, SelectorMixin):
        keep = np.flatnonzero(transformer.get_support())
        return _with_tables([columns[i] for i in keep], after), after
    if not any(c.table is None for c in columns):
        return _probed(transformer, columns, probe, after), after
    d = len(columns)
    op: Callable[[int, Column], Column]
    if isinstance(transformer, StandardScaler):
        mean = transformer.mean_ if transformer.with_mean else np.zeros(d)
        scale = transformer.scale_ if transformer.with_std else np.ones(d)
        op = lambda i, c: c.divided(float(mean[i]), float(scale[i]))
    elif isinstance(transformer, RobustScaler):
        centre = transformer.center_ if transformer.with_centering else np.zeros(d)
        width = transformer.scale_ if transformer.with_scaling else np.ones(d)
        op = lambda i, c: c.divided(float(centre[i]), float(width[i]))
    elif isinstance(transformer, MaxAbsScaler):
        op = lambda i, c: c.divided(0.0, float(transformer.scale_[i]))
    elif isinstance(transformer, MinMaxScaler):
        if transformer.clip:
            raise NotRead("MinMaxScaler(clip=True) is not affine", [c.feature for c in columns])
        op = lambda i, c: c.scaled(float(transformer.scale_[i]), float(transformer.min_[i]))
    elif isinstance(transformer, SimpleImputer):
        return _imputed(transformer, columns, after), after
    elif isinstance(transformer, FunctionTransformer):
        op = _function(transformer, columns)
    else:
        raise NotRead(
            f"{type(transformer).__name__} of a numeric feature is not read",
            sorted({c.feature for c in columns if c.table is None}),
        )
    made = [c if c.table is not None else op(i, c) for i, c in enumerate(columns)]
    return _with_tables(made, after), after


def _with_tables(columns: list[Column], after: Any) -> list[Column]:
    """Level columns take the values that the transformer gave to the probe."""
    values = all_values(after)
    if values.ndim != 2 or values.shape[1] != len(columns):
        raise NotRead(f"{len(columns)} columns were expected, the transformer gave {values.shape}")
    return [
        c if c.table is None or c.feature < 0 else replace(c, table=values[:, e])
        for e, c in enumerate(columns)
    ]


def _column_transformer(
    t: Any, columns: list[Column], probe: Any, schema: Schema
) -> tuple[list[Column], Any]:
    after = as_dense(t.transform(probe))
    width = after.shape[1]
    made: list[Column | None] = [None] * width
    places = t.output_indices_
    inputs = t._transformer_to_input_indices
    for name, step, given in t.transformers_:
        where = places.get(name, slice(0, 0))
        if (isinstance(step, str) and step == "drop") or where.start == where.stop:
            continue
        take = [int(i) for i in inputs[name]]
        if any(_is_carried(columns[i], schema) for i in take):
            made[where] = _carried(
                step, [columns[i] for i in take], columns_at(probe, take), schema,
                isinstance(given, (str, int)), where.stop - where.start,
            )  # fmt: skip
            continue
        part, _ = read(step, [columns[i] for i in take], columns_at(probe, take), schema)
        if len(part) != where.stop - where.start:
            raise NotRead(
                f"the step '{name}' gave {len(part)} columns, {where.stop - where.start} were expected"
            )
        made[where] = part
    if any(c is None for c in made):
        raise NotRead("the ColumnTransformer has an output column whose source is not known")
    return _with_tables([c for c in made if c is not None], after), after


def _imputed(t: Any, columns: list[Column], after: Any) -> list[Column]:
    if any(isinstance(s, float) and np.isnan(s) for s in t.statistics_):
        raise NotRead("SimpleImputer dropped an empty column")
    made = [
        c
        if c.table is not None
        else replace(c, missing=float(t.statistics_[i]) if np.isnan(c.missing) else c.missing)
        for i, c in enumerate(columns)
    ]
    if t.add_indicator and t.indicator_ is not None:
        for i in t.indicator_.features_:
            c = columns[int(i)]
            flag = float(np.isnan(c.missing)) if c.table is None else 0.0
            made.append(c if c.table is not None else c.indicator(flag))
    return _with_tables(made, after)


def _function(t: Any, columns: list[Column]) -> Callable[[int, Column], Column]:
    if t.func is None:
        return lambda i, c: c
    name = getattr(t.func, "__name__", "")
    if MONOTONE.get(name) is not t.func or t.kw_args:
        raise NotRead(
            f"FunctionTransformer({name or 'function'}) of a numeric feature is not read",
            sorted({c.feature for c in columns if c.table is None}),
        )

    def op(i: int, c: Column) -> Column:
        if c.steps or c.ufunc:
            raise NotRead(f"{name} after a scaling is not read")
        if not np.isnan(c.missing):
            c = replace(c, missing=float(t.func(c.missing)))
        return replace(c, ufunc=name)

    return op


def _probed(t: Any, columns: list[Column], probe: Any, after: Any) -> list[Column]:
    """All inputs are level columns: vary one at a time, in one table, and see which outputs follow."""
    values = all_values(after)
    rows, width = values.shape
    if len(columns) == 1:
        return [replace(columns[0], table=values[:, e]) for e in range(width)]
    owner = np.full(width, -1)
    tables: list[Any] = [values[:1, e] for e in range(width)]
    own = [i for i, column in enumerate(columns) if column.feature >= 0]
    lot = max(1, _PROBED_ROWS // rows)
    for start in range(0, len(own), lot):
        some = own[start : start + lot]
        varied = all_values(t.transform(one_at_a_time(probe, some)))
        for (b, i), e in product(enumerate(some), range(width)):
            seen = varied[b * rows : b * rows + rows, e]
            if _same(seen):
                continue
            if owner[e] >= 0 and columns[owner[e]].feature != columns[i].feature:
                raise NotRead(f"{type(t).__name__} mixes columns")
            owner[e] = i
            tables[e] = seen
    return [
        replace(columns[owner[e]], table=values[:, e])
        if owner[e] >= 0
        else Column(feature=-1, table=tables[e])
        for e in range(width)
    ]


def _same(values: np.ndarray) -> bool:
    first = values[0]
    return all(v == first or (v != v and first != first) for v in values.tolist())


def _is_carried(column: Column, schema: Schema) -> bool:
    return column.feature >= 0 and bool(schema.carried[column.feature])


def _refuse_carried(columns: Sequence[Column], schema: Schema) -> None:
    for column in columns:
        if _is_carried(column, schema):
            raise NotRead(f"it reads '{schema.names[column.feature]}' as each person has it")


def _carried(
    step: Any, columns: Sequence[Column], probe: Any, schema: Schema, one: bool, width: int
) -> list[Column]:
    """The columns that a step makes of carried features alone. Raises: NotRead."""
    names = [schema.names[c.feature] if c.feature >= 0 else "" for c in columns]
    alone = all(_is_carried(c, schema) and c.own is None for c in columns)
    if not alone or any(schema[name].missing for name in names):
        raise NotRead(
            f"it reads '{next(filter(None, names))}' with other columns, or where it may be missing"
        )
    if isinstance(step, str) or not hasattr(probe, "iloc") or width > _WIDEST:
        raise NotRead(f"it reads '{names[0]}' as each person has it")
    part = CarriedPart(schema, [c.feature for c in columns], step, list(probe.columns), one)
    return [Column(feature=columns[0].feature, own=part, place=k) for k in range(width)]


def finish(columns: list[Column], schema: Schema) -> Encoder:
    """Numbers out of probed tables. Raises: NotRead for a level that is no number, and for what is carried."""
    _refuse_carried([column for column in columns if column.own is None], schema)
    done = []
    for column in columns:
        if column.table is None:
            done.append(column)
            continue
        try:
            table = np.asarray(column.table, dtype=np.float64)
        except (TypeError, ValueError):
            raise NotRead(f"'{schema.names[column.feature]}' reaches the estimator as text") from None
        if column.feature < 0:
            done.append(replace(column, table=table[:1]))
            continue
        count = int(schema.n_levels[column.feature])
        short = table[: count + 1].copy()
        if len(short) == count:
            short = np.append(short, short[-1])
        if not schema.missing[column.feature]:
            short[count] = short[count - 1]  # never read
        done.append(replace(column, table=short))
    return Encoder(schema, done)
