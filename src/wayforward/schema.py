"""What the columns of a table mean: kinds, units, bounds, steps, who may change what, and rules.

A `Schema` is the one place that says which values exist and which may change. Arrays that follow a schema
hold float64 values in the unit that people say; a binary, ordinal or categorical value is the index of its
level; NaN is a missing value, and only where the feature declares that values may be missing.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.errors import DataError, RuleError, SchemaError
from wayforward.plain_files import dump_yaml, parse_yaml, read_text

if TYPE_CHECKING:
    from wayforward.rules import RuleSet

Kind = Literal["real", "integer", "binary", "ordinal", "categorical"]
Actionability = Literal["actionable", "mutable", "immutable"]
Direction = Literal["any", "increase", "decrease"]
Bounds = Literal["declared", "observed"]
Level = bool | int | float | str

_KINDS = ("real", "integer", "binary", "ordinal", "categorical")
_MAX_LEVELS_INFERRED = 500
_MAX_FILE = 4_000_000  # characters of a schema
_LATTICE_TOLERANCE = 1e-6  # share of a step by which a stored value may miss the lattice


class SchemaWarning(UserWarning):
    """Something about a table that a careful user would want to know, and that does not stop the work."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One thing about a person, in the unit they would say it in.

    name: the column. kind: real, integer, binary, ordinal or categorical.
    low, high: the least and the greatest legal value (numeric kinds). step: the distance between legal values.
    levels: the values of a binary, ordinal (in order) or categorical column as the table holds them;
    level_labels: the same for people. unit, label, description: words for people.
    actionability: 'actionable', 'mutable' (changes only as a consequence) or 'immutable'.
    direction: which way a person may move it. missing: may the value be missing.
    bounds: 'declared' (a value outside is an error) or 'observed' (low and high were read off a table: a person
    may stand somewhat outside, with a warning, but no advice leads there).
    Raises: SchemaError that names the feature, the value and the next step.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    step: float | None = None
    levels: tuple[Level, ...] = ()
    level_labels: tuple[str, ...] = ()
    unit: str = ""
    label: str = ""
    description: str = ""
    actionability: Actionability = "actionable"
    direction: Direction = "any"
    missing: bool = False
    sensitive: bool = False
    bounds: Bounds = "declared"

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"A feature needs a name; got {self.name!r}. Give the name of its column.")
        self._one_of("kind", self.kind, _KINDS)
        self._one_of("actionability", self.actionability, ("actionable", "mutable", "immutable"))
        self._one_of("direction", self.direction, ("any", "increase", "decrease"))
        self._one_of("bounds", self.bounds, ("declared", "observed"))
        object.__setattr__(self, "levels", tuple(self.levels))
        object.__setattr__(self, "level_labels", tuple(str(label) for label in self.level_labels))
        self._check_levels() if self.has_levels else self._check_numbers()

    def _one_of(self, field: str, value: str, allowed: tuple[str, ...]) -> None:
        if value not in allowed:
            near = difflib.get_close_matches(str(value), allowed, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise SchemaError(
                f"'{self.name}' has {field}={value!r}; it must be one of {', '.join(allowed)}.{hint}"
            )

    def _check_levels(self) -> None:
        for field in ("low", "high", "step"):
            if getattr(self, field) is not None:
                raise SchemaError(
                    f"'{self.name}' is {self.kind} and has {field}={getattr(self, field)}. "
                    "List its levels instead, or use kind='integer' or 'real'."
                )
        if len(set(self.levels)) != len(self.levels):
            double = next(v for v in self.levels if self.levels.count(v) > 1)
            raise SchemaError(f"'{self.name}' lists the level {double!r} twice. Remove one.")
        if any(v is None or (isinstance(v, float) and not math.isfinite(v)) for v in self.levels):
            raise SchemaError(
                f"'{self.name}' lists a missing or infinite level. Use missing=True for missing values."
            )
        if self.kind == "binary" and len(self.levels) != 2:
            raise SchemaError(
                f"'{self.name}' is binary and has {len(self.levels)} levels {list(self.levels)[:5]}. "
                "Give exactly two, or use kind='categorical'."
            )
        if not self.levels:
            raise SchemaError(f"'{self.name}' is {self.kind} and has no levels. List the values it can take.")
        if self.level_labels and len(self.level_labels) != len(self.levels):
            raise SchemaError(
                f"'{self.name}' has {len(self.levels)} levels and {len(self.level_labels)} level_labels. "
                "Give one label for each level, in the same order."
            )
        if self.kind == "categorical" and self.direction != "any":
            raise SchemaError(
                f"'{self.name}' is categorical and has direction='{self.direction}', but its levels have no "
                "order. Use kind='ordinal' with the levels in order, or direction='any'."
            )

    def _check_numbers(self) -> None:
        if self.levels or self.level_labels:
            raise SchemaError(
                f"'{self.name}' is {self.kind} and lists levels. Use kind='ordinal' or 'categorical'."
            )
        for field in ("low", "high", "step"):
            value = getattr(self, field)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
                raise SchemaError(
                    f"'{self.name}' has {field}={value!r}, which is not a number. Give a number."
                )
            if not -1e300 <= value <= 1e300:
                shown = "a huge number" if isinstance(value, int) else value
                raise SchemaError(f"'{self.name}' has {field}={shown}. Leave it out where there is no bound.")
            object.__setattr__(self, field, float(value))
        if self.step is not None and self.step <= 0:
            raise SchemaError(
                f"'{self.name}' has step={self.step}. A step is above zero; leave it out for none."
            )
        if self.kind == "integer":
            step = 1.0 if self.step is None else self.step
            if step != round(step):
                raise SchemaError(
                    f"'{self.name}' is an integer with step={step}. Use kind='real' or a whole step."
                )
            object.__setattr__(self, "step", step)
            for field in ("low", "high"):
                value = getattr(self, field)
                if value is not None and value != round(value):
                    raise SchemaError(
                        f"'{self.name}' is an integer with {field}={value}. Use a whole number."
                    )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise SchemaError(
                f"'{self.name}' has low={self.low:g} above high={self.high:g} {self.unit}".rstrip()
                + ". Swap the two; for a value nobody can change, use actionability='immutable'."
            )

    @property
    def has_levels(self) -> bool:
        """True for binary, ordinal and categorical features, whose values are level indices."""
        return self.kind in ("binary", "ordinal", "categorical")

    @property
    def n_levels(self) -> int:
        """Number of levels; 0 for numeric features."""
        return len(self.levels)

    @property
    def ordered(self) -> bool:
        """True unless the feature is categorical."""
        return self.kind != "categorical"

    @property
    def span(self) -> float:
        """Width of the range of legal values, above zero (1 where there is no or an empty range)."""
        if self.kind == "categorical":
            return 1.0
        if self.has_levels:
            return float(max(len(self.levels) - 1, 1))
        if self.low is None or self.high is None or self.high <= self.low:
            return 1.0
        return self.high - self.low

    @property
    def text_label(self) -> str:
        """What people call it: the label, or the column name made readable."""
        return self.label or self.name.replace("_", " ").replace("-", " ").strip()

    def level_text(self, index: float) -> str:
        """The words for a level index."""
        i = int(index)
        return self.level_labels[i] if self.level_labels else str(self.levels[i])


_FIELDS = tuple(field.name for field in fields(Feature))


@dataclass(frozen=True)
class Schema:
    """The features of a table in order, and the rules between them; reads and writes YAML.

    Example: ``Schema.infer(train).revise(age={"actionability": "immutable"}).with_rules("after.a >= before.a")``.
    Raises: SchemaError and RuleError, which name the feature and the next step.
    """

    features: tuple[Feature, ...]
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if isinstance(self.rules, str):
            raise SchemaError(
                f"rules is one text, {self.rules!r}. Give a list of rules: rules=[{self.rules!r}]."
            )
        object.__setattr__(self, "rules", tuple(self.rules))
        if not self.features:
            raise SchemaError(
                "A schema needs at least one feature; got none. Add the columns that the model reads."
            )
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise SchemaError(f"A schema is made of Feature objects; got {type(feature).__name__}.")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise SchemaError(
                    f"The feature '{name}' is there twice. Rename or drop one of the two columns."
                )
            seen.add(name)
        if self.rules:
            clash = self.compiled_rules.contradiction()
            if clash:
                raise RuleError(f"The rules contradict each other: {clash} Remove or loosen one of them.")

    # -- nouns ---------------------------------------------------------------------------------------------

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return tuple(feature.name for feature in self.features)

    def index(self, name: str) -> int:
        """Position of a feature. Raises: SchemaError with the nearest name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"There is no feature '{name}'.{_did_you_mean(name, self.names)}") from None

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.index(name)]

    @cached_property
    def compiled_rules(self) -> RuleSet:
        """The rules, parsed once. Raises: RuleError that points into the text."""
        from wayforward.rules import RuleSet

        return RuleSet.parse(self.rules, self.features)

    def _column(self, field: str, empty: float) -> np.ndarray:
        values = (getattr(feature, field) for feature in self.features)
        return np.array([empty if value is None else value for value in values], dtype=np.float64)

    @cached_property
    def low(self) -> np.ndarray:
        """(d,) least legal value; -inf where there is none; 0 for levels."""
        return np.where(self.has_levels, 0.0, self._column("low", -np.inf))

    @cached_property
    def high(self) -> np.ndarray:
        """(d,) greatest legal value; inf where there is none; L-1 for levels."""
        return np.where(self.has_levels, self.n_levels - 1.0, self._column("high", np.inf))

    @cached_property
    def step(self) -> np.ndarray:
        """(d,) distance between legal values; NaN where any real number is legal."""
        return np.where(self.has_levels, 1.0, self._column("step", np.nan))

    @cached_property
    def span(self) -> np.ndarray:
        """(d,) width of the range, above zero."""
        return np.array([feature.span for feature in self.features])

    @cached_property
    def n_levels(self) -> np.ndarray:
        """(d,) number of levels; 0 for numeric features."""
        return np.array([feature.n_levels for feature in self.features])

    def _where(self, field: str, value: object) -> np.ndarray:
        return np.array([getattr(feature, field) == value for feature in self.features], dtype=bool)

    @cached_property
    def has_levels(self) -> np.ndarray:
        """(d,) bool: binary, ordinal or categorical."""
        return self._where("has_levels", True)

    @cached_property
    def is_categorical(self) -> np.ndarray:
        """(d,) bool: levels without an order."""
        return self._where("kind", "categorical")

    @cached_property
    def ordered(self) -> np.ndarray:
        """(d,) bool: numeric, binary or ordinal."""
        return ~self.is_categorical

    @cached_property
    def integral(self) -> np.ndarray:
        """(d,) bool: values are whole numbers (level indices included)."""
        return np.asarray(self.has_levels | self._where("kind", "integer"))

    @cached_property
    def actionable(self) -> np.ndarray:
        """(d,) bool: people can act on it."""
        return self._where("actionability", "actionable")

    @cached_property
    def mutable(self) -> np.ndarray:
        """(d,) bool: changes only as a consequence."""
        return self._where("actionability", "mutable")

    @cached_property
    def immutable(self) -> np.ndarray:
        """(d,) bool: never changes."""
        return self._where("actionability", "immutable")

    @cached_property
    def missing(self) -> np.ndarray:
        """(d,) bool: values may be missing."""
        return self._where("missing", True)

    @cached_property
    def direction(self) -> np.ndarray:
        """(d,) int: +1 may only increase, -1 may only decrease, 0 either."""
        up, down = self._where("direction", "increase"), self._where("direction", "decrease")
        return np.asarray(up.astype(int) - down.astype(int))

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the features marked as sensitive."""
        return tuple(feature.name for feature in self.features if feature.sensitive)

    @cached_property
    def _lattice(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(d,) origin, step and steps per unit (0 where a step is not a whole fraction of one)."""
        step = np.where(np.isnan(self.step), 1.0, self.step)
        low = np.where(np.isfinite(self.low), self.low, 0.0)
        on_zero = np.abs(low / step - np.round(low / step)) < 1e-9
        per_unit = 1.0 / step
        whole = np.abs(per_unit - np.round(per_unit)) < 1e-9 * per_unit
        return np.where(on_zero, 0.0, low), step, np.where(whole, np.round(per_unit), 0.0)

    @cached_property
    def counted(self) -> np.ndarray:
        """(d,) bool: values are whole numbers: integers, and features with levels."""
        return np.array([f.has_levels or f.kind == "integer" for f in self.features], dtype=bool)

    # -- values --------------------------------------------------------------------------------------------

    def round(self, x: np.ndarray, columns: np.ndarray | slice | int = slice(None)) -> np.ndarray:
        """Nearest point of every entry's lattice, bounds aside; NaN stays. Shapes as in `snap`."""
        origin, step, per_unit = (part[columns] for part in self._lattice)
        count = np.round((x - origin) / step)
        fraction = np.where(
            per_unit > 0, per_unit, 1.0
        )  # k / 100 is the double that people write; k * 0.01 is not
        grid = np.where(per_unit > 0, origin + count / fraction, origin + count * step)
        return np.where(np.isnan(self.step[columns]), x, grid)

    def snap(self, x: np.ndarray, columns: np.ndarray | slice | int = slice(None)) -> np.ndarray:
        """Nearest legal value of every entry; NaN stays. (..., d), or one entry a column of `columns`."""
        low, high, step = self.low[columns], self.high[columns], self.step[columns]
        grid = self.round(np.clip(x, low, high), columns)
        slack = 1e-9 * self.span[columns]
        with np.errstate(
            invalid="ignore"
        ):  # the last step may end short of a bound: take the point before it
            grid = np.where(grid > high + slack, self.round(grid - step, columns), grid)
            return np.where(grid < low - slack, self.round(grid + step, columns), grid)

    def legal(
        self, after: np.ndarray, before: np.ndarray | None = None, acted: np.ndarray | None = None
    ) -> np.ndarray:
        """(..., d) bool: the value exists: in bounds, on the step, a known level.

        A value that equals the one before is always legal: a person may stay where they are. acted (..., d): where
        it is given, a step binds what people set; what follows in a world may fall between two steps, as long as it
        is a whole number where the feature counts.
        """
        with np.errstate(invalid="ignore"):
            slack = 1e-9 * self.span
            inside = (after >= self.low - slack) & (after <= self.high + slack)
            origin, step, _ = self._lattice
            units = (after - origin) / step
            off = np.abs(units - np.round(units)) > _LATTICE_TOLERANCE
            if acted is not None:
                off = np.where(
                    acted | ~self.counted, off, np.abs(after - np.round(after)) > _LATTICE_TOLERANCE
                )
                off &= acted | self.counted
            good = inside & ~(off & ~np.isnan(self.step))
            good |= np.isnan(after) & self.missing
            if before is not None:
                good |= ~self.differs(after, before)
        return np.asarray(good)

    def differs(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(..., d) bool: two values are not the same (missing equals missing)."""
        with np.errstate(invalid="ignore"):
            apart = np.abs(a - b) > 1e-9 * self.span
        return np.asarray(apart | (np.isnan(a) != np.isnan(b)))

    # -- tables --------------------------------------------------------------------------------------------

    def encode(self, table: Any, what: str = "people") -> np.ndarray:
        """A pandas, polars or pyarrow table, one mapping, or an (n, d) array -> (n, d) in feature units.

        Columns that the schema does not know are left out. `what` names the table in errors.
        Raises: DataError that names the column, the value and the next step.
        """
        if isinstance(table, np.ndarray):
            return self._encode_array(table, what)
        if isinstance(table, Mapping):
            table = {k: v if isinstance(v, (list, tuple, np.ndarray)) else [v] for k, v in table.items()}
            columns: Any = table
            names = list(table)
            n = len(next(iter(table.values()), []))
        else:
            frame = _frame(table, what)
            columns, names, n = frame, frame.columns, len(frame)
        absent = [name for name in self.names if name not in names]
        if absent:
            raise DataError(
                f"The {what} table has no column '{absent[0]}'"
                + (f" (nor {len(absent) - 1} more: {', '.join(absent[1:6])})" if absent[1:] else "")
                + f".{_did_you_mean(absent[0], names)} Add the column, or drop the feature with schema.drop."
            )
        if n == 0:
            raise DataError(f"The {what} table has no rows. Give at least one person.")
        x = np.empty((n, self.d))
        for j, feature in enumerate(self.features):
            x[:, j] = self._encode_column(columns[feature.name], feature, what)
        self._check_values(x, what)
        return x

    def _encode_array(self, array: np.ndarray, what: str) -> np.ndarray:
        if array.ndim != 2 or array.shape[1] != self.d:
            raise DataError(
                f"The {what} array has shape {array.shape}; the schema has {self.d} features, so it must be "
                f"(n, {self.d}), in feature units with level indices."
            )
        if array.shape[0] == 0:
            raise DataError(f"The {what} array has no rows. Give at least one person.")
        try:
            x = np.array(array, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"The {what} array holds {array.dtype} values. Give numbers, or a table."
            ) from error
        for j in np.flatnonzero(self.has_levels):
            value = x[:, j]
            wrong = ~np.isnan(value) & (
                (value < 0) | (value >= self.n_levels[j]) | (value != np.round(value))
            )
            if wrong.any():
                i = int(np.argmax(wrong))
                raise DataError(
                    f"Column '{self.names[j]}' of the {what} array has {value[i]:g} in row {i}; a level index must "
                    f"be a whole number from 0 to {self.n_levels[j] - 1}. Give the table itself to use level names."
                )
        self._check_values(x, what)
        return x

    def _encode_column(self, column: Any, feature: Feature, what: str) -> np.ndarray:
        if not feature.has_levels:
            return _numbers(column, feature, what)
        values = (
            column
            if isinstance(column, (list, tuple))
            else column.to_list()
            if hasattr(column, "to_list")
            else list(column)
        )
        code: dict[Any, float] = {level: float(i) for i, level in enumerate(feature.levels)}
        code[None] = np.nan
        try:
            found = np.array([code.get(value, -1.0) for value in values], dtype=np.float64)
        except TypeError as error:
            raise DataError(f"Column '{feature.name}' of the {what} table holds lists or objects.") from error
        for i in np.flatnonzero(
            found == -1.0
        ).tolist():  # usually none: float NaN, pandas NA, numpy scalars and text that spells a number
            found[i] = _level_of(values[i], feature, code)
        unknown = np.flatnonzero(found == -1.0)
        if unknown.size:
            i = int(unknown[0])
            known = ", ".join(repr(level) for level in feature.levels[:8]) + (
                ", ..." if feature.n_levels > 8 else ""
            )
            near = difflib.get_close_matches(str(values[i]), [str(level) for level in feature.levels], 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise DataError(
                f"Column '{feature.name}' of the {what} table has the value {values[i]!r} in row {i}, which is not "
                f"one of its levels ({known}).{hint} Correct it, or add the level to the schema and refit the model."
            )
        return found

    def _check_values(self, x: np.ndarray, what: str) -> None:
        for j, feature in enumerate(self.features):
            value = x[:, j]
            gone = np.isnan(value)
            if gone.any() and not feature.missing:
                raise DataError(
                    f"Column '{feature.name}' of the {what} table has a missing value in row {int(np.argmax(gone))}. "
                    f"Fill it in, or, if the model accepts missing values, "
                    f"revise the schema: {feature.name}={{'missing': True}}."
                )
            endless = np.isinf(value)
            if endless.any():
                raise DataError(
                    f"Column '{feature.name}' of the {what} table has an infinite value in row "
                    f"{int(np.argmax(endless))}. Replace it with a number."
                )
            if feature.has_levels:
                continue
            slack = 1e-9 * feature.span
            outside = (value < self.low[j] - slack) | (value > self.high[j] + slack)
            if not outside.any():
                continue
            i = int(np.argmax(outside))
            edge = f"{self.low[j]:g} to {self.high[j]:g} {feature.unit}".strip()
            if feature.bounds == "declared":
                raise DataError(
                    f"Column '{feature.name}' of the {what} table has the value {value[i]:g} in row {i}, outside "
                    f"{edge}. Correct the value, or widen the schema with revise."
                )
            far = (value < self.low[j] - feature.span) | (value > self.high[j] + feature.span)
            if far.any():
                i = int(np.argmax(far))
                raise DataError(
                    f"Column '{feature.name}' of the {what} table has the value {value[i]:g} in row {i}, far outside "
                    f"what was observed ({edge}). Check the unit; if it is right, widen the schema with revise."
                )
            warnings.warn(
                f"Column '{feature.name}' of the {what} table has {int(outside.sum())} value(s) outside what was "
                f"observed ({edge}). They are kept; no advice leads outside. Widen the schema with revise if it may.",
                SchemaWarning,
                stacklevel=4,
            )

    def decode(self, x: np.ndarray, like: Any = None) -> Any:
        """(n, d) in feature units -> a table with the original level values.

        `like`: 'pandas', 'polars', 'pyarrow', 'dict', a table of that library, or None for the first installed.
        Whole-number columns come back as integers where no value is missing.
        """
        x = np.asarray(x, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.d:
            raise DataError(f"decode needs an (n, {self.d}) array; got shape {x.shape}.")
        columns = {
            feature.name: self._decode_column(x[:, j], feature) for j, feature in enumerate(self.features)
        }
        return _to_library(columns, like)

    @staticmethod
    def _decode_column(value: np.ndarray, feature: Feature) -> np.ndarray:
        gone = np.isnan(value)
        if not feature.has_levels:
            return value.astype(np.int64) if feature.kind == "integer" and not gone.any() else value
        kinds = {type(level) for level in feature.levels}
        plain = len(kinds) == 1 and kinds <= {bool, int, float}
        index = np.where(gone, 0, value).astype(np.int64)
        if plain and not gone.any():
            return np.array(feature.levels)[index]
        out = np.array(feature.levels, dtype=object)[index]
        if gone.any():
            out[gone] = None
        return out

    # -- making and revising -------------------------------------------------------------------------------

    @classmethod
    def infer(cls, table: Any, *, rules: Sequence[str] = (), **overrides: Mapping[str, Any]) -> Schema:
        """Read a schema off a pandas, polars or pyarrow table of features (leave the label out).

        Whole numbers become integers (0 and 1: binary), other numbers reals with the number of decimals seen as
        step, text and booleans levels; an ordered pandas categorical becomes ordinal; a column with missing values
        is marked `missing`. Bounds are those observed. `overrides` are given on to `revise`.
        Raises: DataError for an empty table, SchemaError for a column that cannot be a feature.
        """
        frame = _frame(table, "training")
        if len(frame) == 0:
            raise DataError(
                "The training table has no rows, so no schema can be read off it. Give some rows."
            )
        if not frame.columns:
            raise DataError("The training table has no columns, so no schema can be read off it.")
        schema = cls(tuple(_infer_feature(frame[name]) for name in frame.columns))
        schema = schema.revise(**overrides) if overrides else schema
        return schema.with_rules(*rules) if rules else schema

    def revise(
        self, changes: Mapping[str, Mapping[str, Any]] | None = None, /, **more: Mapping[str, Any]
    ) -> Schema:
        """A new schema with some fields of some features changed, in one call.

        Example: ``schema.revise(age={"actionability": "immutable"}, income={"direction": "increase"})``; for names
        that are no Python names: ``schema.revise({"hours-per-week": {"high": 60}})``.
        Raises: SchemaError for an unknown feature or field, with the nearest name.
        """
        new = list(self.features)
        for name, change in {**(changes or {}), **more}.items():
            j = self.index(name)
            if not isinstance(change, Mapping):
                raise SchemaError(
                    f"The revision of '{name}' is {change!r}. Give a mapping such as {{'high': 60}}."
                )
            for field in change:
                if field not in _FIELDS:
                    raise SchemaError(
                        f"A feature has no field '{field}' (in '{name}').{_did_you_mean(field, _FIELDS)}"
                    )
            edit = dict(change)
            old = new[j]
            kind = edit.get("kind", old.kind)
            old._one_of("kind", kind, _KINDS)
            if kind in ("real", "integer") and old.has_levels:
                edit = {"levels": (), "level_labels": (), **edit}
            elif kind not in ("real", "integer") and not old.has_levels:
                edit = {"low": None, "high": None, "step": None, **edit}
                if "levels" not in edit:
                    raise SchemaError(f"'{name}' becomes {kind} and needs its levels. Add levels=[...].")
            if "levels" in edit and "level_labels" not in edit and tuple(edit["levels"]) != old.levels:
                edit["level_labels"] = ()
            if "bounds" not in edit and ({"low", "high"} & set(edit)):
                edit["bounds"] = "declared"
            new[j] = replace(old, **edit)
        return Schema(tuple(new), self.rules)

    def with_rules(self, *rules: str) -> Schema:
        """A new schema with more rules. Raises: RuleError that points into the rule's text."""
        for rule in rules:
            if not isinstance(rule, str):
                raise SchemaError(f"A rule is a text; got {type(rule).__name__}.")
        return Schema(self.features, self.rules + tuple(rules))

    def drop(self, *names: str) -> Schema:
        """A new schema without some features (rules that name them are an error)."""
        gone = {self.index(name) for name in names}
        return Schema(tuple(f for j, f in enumerate(self.features) if j not in gone), self.rules)

    # -- files ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data: fields that hold their default are left out."""
        plain = {field.name: field.default for field in fields(Feature)}
        features = []
        for feature in self.features:
            entry = {k: v for k, v in asdict(feature).items() if k in ("name", "kind") or v != plain[k]}
            features.append({k: _plain(v) for k, v in entry.items()})
        return {"features": features, "rules": list(self.rules)}

    def to_yaml(self, path: str | Path | None = None) -> str:
        """The schema as YAML text, written to `path` if given."""
        return dump_yaml(self.to_dict(), path, width=110)

    @classmethod
    def from_dict(cls, data: Any, source: str = "schema") -> Schema:
        """Check plain data and make a schema of it. Raises: SchemaError that names the place."""
        if not isinstance(data, Mapping) or "features" not in data:
            raise SchemaError(f"The {source} has no 'features'. Start from `wayforward schema infer`.")
        extra = set(data) - {"features", "rules"}
        if extra:
            raise SchemaError(f"The {source} has an unknown entry '{sorted(map(str, extra))[0]}'. Remove it.")
        from pydantic import TypeAdapter, ValidationError

        entries = data["features"]
        if not isinstance(entries, list):
            raise SchemaError(f"'features' in the {source} is {type(entries).__name__}; it must be a list.")
        adapter = TypeAdapter(Feature)
        made = []
        for i, entry in enumerate(entries):
            name = entry.get("name", f"number {i + 1}") if isinstance(entry, Mapping) else f"number {i + 1}"
            try:
                made.append(adapter.validate_python(entry))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(str(part) for part in first["loc"])
                near = (
                    _did_you_mean(str(first["loc"][-1]), _FIELDS)
                    if first["type"] == "unexpected_keyword_argument"
                    else ""
                )
                raise SchemaError(
                    f"In the {source}, feature '{name}': {place}: {first['msg']}.{near}"
                ) from None
        rules = data.get("rules") or ()
        if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, str) for rule in rules):
            raise SchemaError(f"'rules' in the {source} must be a list of texts.")
        return cls(tuple(made), tuple(rules))

    @classmethod
    def from_yaml(cls, source: str | Path) -> Schema:
        """Read a schema from a YAML file, or from YAML text. No code is ever run; aliases are refused.

        Raises: FileFormatError for a file that is missing, broken or hostile; SchemaError for wrong content.
        """
        if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
            text, name = source, "schema text"
        else:
            text, name = read_text(source, "schema file", _MAX_FILE), f"schema file '{Path(source).name}'"
        return cls.from_dict(parse_yaml(text, name, _MAX_FILE), name)

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """A JSON schema of the YAML file, for editors."""
        from pydantic import TypeAdapter

        schema = TypeAdapter(Schema).json_schema()
        help_text = {
            "low": "Least legal value.",
            "high": "Greatest legal value.",
            "step": "Distance between legal values; leave out if any real number is legal.",
            "levels": "The values of a binary, ordinal (in order) or categorical column.",
            "level_labels": "The levels in words for people, in the same order.",
            "unit": "The unit that people say, such as EUR/month.",
            "actionability": "actionable, mutable (changes only as a consequence) or immutable.",
            "direction": "Which way a person may move it.",
            "missing": "May the value be missing? Only where the model accepts it.",
            "bounds": "declared: a value outside is an error. observed: read off a table.",
        }
        for field, words in help_text.items():
            schema["$defs"]["Feature"]["properties"][field]["description"] = words
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return schema

    def __repr__(self) -> str:
        lines = [f"Schema({self.d} features, {len(self.rules)} rules)"]
        for f in self.features:
            reach = f"{f.n_levels} levels" if f.has_levels else f"{f.low} to {f.high} {f.unit}".rstrip()
            lines.append(f"  {f.name}: {f.kind}, {reach}, {f.actionability}, {f.direction}")
        return "\n".join([*lines, *(f"  rule: {rule}" for rule in self.rules)])


# -- helpers -----------------------------------------------------------------------------------------------


def _did_you_mean(name: str, names: Any) -> str:
    near = difflib.get_close_matches(str(name), [str(n) for n in names], 1, 0.5)
    return (
        f" Did you mean '{near[0]}'?" if near else f" Known: {', '.join(str(n) for n in list(names)[:12])}."
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value.item() if isinstance(value, np.generic) else value


def _frame(table: Any, what: str) -> Any:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"The {what} table is a {type(table).__name__}. Give a pandas, polars or pyarrow table, or an array."
        ) from None
    except Exception as error:  # narwhals refuses double names with an error of the table library
        raise DataError(f"The {what} table cannot be read: {error}") from None
    names = list(frame.columns)
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise DataError(
            f"The {what} table has a column named {unnamed[0]!r}, which is not a text. Give every column a text name, "
            "for example with table.rename(columns=str)."
        )
    double = [name for name in names if names.count(name) > 1]
    if double:
        raise DataError(f"The {what} table has the column '{double[0]}' twice. Rename or drop one of them.")
    return frame


def _numbers(column: Any, feature: Feature, what: str) -> np.ndarray:
    raw = np.asarray(column if isinstance(column, (list, tuple, np.ndarray)) else column.to_numpy())
    if raw.dtype.kind in "fiub":
        return raw.astype(np.float64)
    out = np.empty(len(raw))
    for i, value in enumerate(raw):
        if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
            out[i] = np.nan
            continue
        try:
            if isinstance(value, str):
                raise ValueError
            out[i] = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"Column '{feature.name}' of the {what} table has {value!r} in row {i}; it must be a number"
                + (f" ({feature.unit})" if feature.unit else "")
                + ". Correct it, or revise the feature to kind='categorical'."
            ) from None
    return out


def _level_of(value: Any, feature: Feature, code: dict[Any, float]) -> float:
    """Index of a value that a plain look-up missed; NaN for a missing value, -1 for an unknown one."""
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    if isinstance(value, np.generic):
        return code.get(value.item(), -1.0)
    return -1.0


def _to_library(columns: dict[str, np.ndarray], like: Any) -> Any:
    from importlib.util import find_spec

    if like is None:
        like = next((lib for lib in ("pandas", "polars", "pyarrow") if find_spec(lib)), "dict")
    elif not isinstance(like, str):
        like = type(like).__module__.split(".")[0]
    if like == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    if like == "polars":
        import polars as pl

        return pl.DataFrame(
            {k: v.tolist() if v.dtype == object else v for k, v in columns.items()}, nan_to_null=True
        )
    if like == "pyarrow":
        import pyarrow as pa

        return pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})
    if like == "dict":
        return columns
    raise DataError(f"decode knows 'pandas', 'polars', 'pyarrow' and 'dict'; got {like!r}.")


def _infer_feature(series: Any) -> Feature:
    import narwhals.stable.v2 as nw

    name, dtype = series.name, series.dtype
    if dtype.is_temporal():
        raise SchemaError(f"Column '{name}' holds dates. Turn it into a number, such as days, or drop it.")
    values = [v for v in series.drop_nulls().unique(maintain_order=False).to_list() if v == v]
    gone = bool(series.is_null().any()) or (dtype.is_float() and bool(series.is_nan().any()))
    if not values:
        raise SchemaError(f"Column '{name}' has only missing values. Drop it.")
    if dtype == nw.Boolean or all(isinstance(v, (bool, np.bool_)) for v in values):
        return Feature(name=name, kind="binary", levels=(False, True), missing=gone)
    if dtype.is_numeric():
        return _infer_number(name, np.asarray(values, dtype=np.float64), gone)
    kind: Kind = "categorical"
    levels: list[Any]
    if dtype in (nw.Enum, nw.Categorical):
        levels = list(series.cat.get_categories().to_list())
        native = nw.to_native(series)
        if getattr(getattr(native, "dtype", None), "ordered", False):
            kind = "ordinal"
    else:
        if not all(isinstance(v, (str, int, float, bool, np.generic)) for v in values):
            raise SchemaError(
                f"Column '{name}' holds {type(values[0]).__name__} objects. Use text or numbers."
            )
        if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values):
            return _infer_number(name, np.asarray(values, dtype=np.float64), gone)
        mixed = {type(v) for v in values}
        if len(mixed) > 1:
            raise SchemaError(
                f"Column '{name}' mixes {', '.join(sorted(t.__name__ for t in mixed))}. Make it one type."
            )
        levels = sorted(values)
    if len(levels) > _MAX_LEVELS_INFERRED or (len(levels) > 50 and len(levels) > 0.9 * len(series)):
        raise SchemaError(
            f"Column '{name}' has {len(levels)} different texts in {len(series)} rows: an identifier or free text? "
            "Drop it, or group its values."
        )
    if len(levels) == 2 and kind == "categorical":
        kind = "binary"
    return Feature(name=name, kind=kind, levels=tuple(levels), missing=gone)


def _infer_number(name: str, values: np.ndarray, gone: bool) -> Feature:
    if np.isinf(values).any():
        raise SchemaError(f"Column '{name}' has an infinite value. Replace it with a number.")
    low, high = float(values.min()), float(values.max())
    if set(values.tolist()) <= {0.0, 1.0} and len(values) == 2:
        return Feature(name=name, kind="binary", levels=(0, 1), missing=gone)
    if (values == np.round(values)).all() and max(abs(low), abs(high)) < 2**52:
        return Feature(name=name, kind="integer", low=low, high=high, missing=gone, bounds="observed")
    for decimals in range(1, 5):
        scaled = values * 10**decimals
        if (np.abs(scaled - np.round(scaled)) < 1e-6).all():
            step: float | None = 10.0**-decimals
            break
    else:
        step = None
    return Feature(name=name, kind="real", low=low, high=high, step=step, missing=gone, bounds="observed")
