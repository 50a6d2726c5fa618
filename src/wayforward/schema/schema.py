"""The features of a table in order, and the rules between them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import (
    DataError,
    RuleError,
    SchemaError,
    WayforwardError,
    harmless,
    is_list,
    numbers_in,
    require_switch,
    shown,
    suggest,
)
from wayforward.lazy import cached_property
from wayforward.plain_files import dump_yaml, parse_yaml, read_text
from wayforward.public import public
from wayforward.schema.carried import remember, remembered
from wayforward.schema.feature import CARRIED_HAVE, FIELDS, Feature, check_choice
from wayforward.schema.inference import as_text, infer_feature
from wayforward.schema.notebook import small_table
from wayforward.schema.odd_rows import read
from wayforward.schema.proposals import check_label, learnt_levels, names_people
from wayforward.schema.proposals import propose as proposed
from wayforward.schema.tables import (
    decode_column,
    encode,
    native_table,
    read_frame,
    table_library,
)
from wayforward.schema.translation import check_units

if TYPE_CHECKING:
    from wayforward.rules import RuleSet
    from wayforward.schema.pandas_tables import PandasTables

_MAX_FILE = 4_000_000  # characters of a schema
_LATTICE_TOLERANCE = 1e-6  # share of a step by which a stored value may miss the lattice


@public
@dataclass(frozen=True)
class Schema:
    """The features of a table in order, and the rules between them; reads and writes YAML.

    Example: ``Schema.infer(train).revise(age={"actionability": "immutable"}).with_rules("after.a >= before.a")``.
    Raises: SchemaError and RuleError, which name the feature and the next step.
    """

    features: tuple[Feature, ...]
    rules: tuple[str, ...] = ()
    guesses: dict[str, str] = field(
        default_factory=dict, compare=False
    )  # feature -> what `infer` made of its name

    def __post_init__(self) -> None:
        for name in ("features", "rules"):
            if not is_list(getattr(self, name), texts=True):
                raise SchemaError(f"{name}={shown(getattr(self, name))} is no list. Give a list of {name}.")
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

    def __getstate__(self) -> dict[str, Any]:
        return {
            "features": self.features,
            "rules": self.rules,
            "guesses": self.guesses,
            "values": remembered(f.name for f in self.features if f.carried),
        }  # the rest is worked out anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        remember(state.pop("values", {}))
        vars(self).update({"guesses": {}} | state)

    # -- nouns ---------------------------------------------------------------------------------------------

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return tuple(feature.name for feature in self.features)

    def index(self, name: object) -> int:
        """Position of a feature, by its name; a column called 3 is the feature '3'.

        Raises: SchemaError with the nearest name.
        """
        try:
            return self.names.index(str(name))
        except ValueError:
            raise SchemaError(f"There is no feature '{name}'.{suggest(name, self.names)}") from None

    def __getitem__(self, name: object) -> Feature:
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
        """(d,) least legal value; -inf where there is none; 0 for levels, and below what is carried."""
        return np.where(self.has_levels | self.carried, 0.0, self._column("low", -np.inf))

    @cached_property
    def high(self) -> np.ndarray:
        """(d,) greatest legal value; inf where there is none; L-1 for levels; above what is carried."""
        high = np.where(self.has_levels, self.n_levels - 1.0, self._column("high", np.inf))
        return np.where(self.carried, 1.0, high)

    @cached_property
    def step(self) -> np.ndarray:
        """(d,) distance between legal values; NaN where any real number is legal."""
        return np.where(self.has_levels, 1.0, self._column("step", np.nan))

    @cached_property
    def least_change(self) -> np.ndarray:
        """(d,) least change that is worth an effort; 0 where every change counts."""
        return self._column("least_change", 0.0)

    @cached_property
    def span(self) -> np.ndarray:
        """(d,) width of the range, above zero."""
        return np.array([feature.span for feature in self.features])

    @cached_property
    def pace(self) -> np.ndarray:
        """(d,) how much of its unit a person moves a feature in a month; inf where it takes no time."""
        return self._column("pace", np.inf)

    @cached_property
    def delay(self) -> np.ndarray:
        """(d,) months before a change counts."""
        return self._column("delay", 0.0)

    @cached_property
    def timed(self) -> bool:
        """True if some feature says how long its change takes."""
        return bool(np.isfinite(self.pace).any() or self.delay.any())

    @cached_property
    def slack(self) -> np.ndarray:
        """(d,) difference up to which two values are the same: rounding, as a share of the range."""
        return np.asarray(1e-9 * self.span)

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
    def carried(self) -> np.ndarray:
        """(d,) bool: the model is given the person's own value, and nothing else is done with it."""
        return self._where("carried", True)

    @cached_property
    def on_lattice(self) -> np.ndarray:
        """(l,) positions of the numeric features with a step."""
        return np.flatnonzero(~self.has_levels & ~np.isnan(self.step))

    @cached_property
    def level_owner(self) -> np.ndarray:
        """(L,) the feature of each level, all levels of all features one after the other."""
        return np.repeat(np.arange(self.d), self.n_levels)

    @cached_property
    def level_index(self) -> np.ndarray:
        """(L,) the index of each level within its feature, in the order of `level_owner`."""
        return np.concatenate([np.arange(count) for count in self.n_levels.tolist()])

    @cached_property
    def level_columns(self) -> dict[int, slice]:
        """Where the levels of each feature that has some are in `level_owner`."""
        end = np.cumsum(self.n_levels).tolist()
        return {
            j: slice(end[j] - self.features[j].n_levels, end[j])
            for j in np.flatnonzero(self.has_levels).tolist()
        }

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
        """(d,) bool: values may be missing; False for what is carried, where that is a value as any other."""
        return np.array([bool(f.missing) and not f.carried for f in self.features], dtype=bool)

    @cached_property
    def may_be_stuck(self) -> np.ndarray:
        """(k,) positions of the features with states that no advice leads out of; see `stuck`."""
        return np.flatnonzero([(f.stays_missing or bool(f.special)) and not f.carried for f in self.features])

    def stuck(self, x: np.ndarray) -> np.ndarray:
        """(..., d) bool: a missing value that stays missing, or a special value: no act, no number."""
        out = np.zeros(x.shape, dtype=bool)
        for j in self.may_be_stuck.tolist():
            feature = self.features[j]
            out[..., j] = np.isin(x[..., j], list(feature.special_words))
            if feature.stays_missing:
                out[..., j] |= np.isnan(x[..., j])
        return out

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
    def lattice(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        origin, step, per_unit = (part[columns] for part in self.lattice)
        count = np.round((x - origin) / step)
        fraction = np.where(
            per_unit > 0, per_unit, 1.0
        )  # k / 100 is the double that people write; k * 0.01 is not
        grid = np.where(per_unit > 0, origin + count / fraction, origin + count * step)
        return np.where(np.isnan(self.step[columns]), x, grid)

    def snap(self, x: np.ndarray, columns: np.ndarray | slice | int = slice(None)) -> np.ndarray:
        """Nearest legal value of every entry; NaN stays. (..., d), or one entry a column of `columns`."""
        if type(x) is not np.ndarray or x.dtype != np.float64:
            x = numbers_in(x, "x")
        low, high, step = self.low[columns], self.high[columns], self.step[columns]
        grid = self.round(np.clip(x, low, high), columns)
        slack = self.slack[columns]
        with np.errstate(invalid="ignore"):
            over = grid > high + slack
            if over.any():  # the last step may end short of a bound: take the point before it
                grid = np.where(over, self.round(grid - step, columns), grid)
            under = grid < low - slack
            if under.any():
                grid = np.where(under, self.round(grid + step, columns), grid)
        return grid

    def legal(
        self, after: np.ndarray, before: np.ndarray | None = None, acted: np.ndarray | None = None
    ) -> np.ndarray:
        """(..., d) bool: the value exists: in bounds, on the step, a known level.

        A value that equals the one before is always legal: a person may stay where they are. acted (..., d): where
        it is given, a step binds what people set; what follows in a world may fall between two steps, as long as it
        is a whole number where the feature counts.
        """
        if type(after) is not np.ndarray or after.dtype != np.float64:
            after = numbers_in(after, "after")
        with np.errstate(invalid="ignore"):
            low, high, any_number = self._edges
            origin, step, _ = self.lattice
            units = (after - origin) / step
            off = np.abs(units - np.round(units)) > _LATTICE_TOLERANCE
            if acted is not None and not acted.all():
                off = np.where(
                    acted | ~self.counted, off, np.abs(after - np.round(after)) > _LATTICE_TOLERANCE
                )
                off &= acted | self.counted
            good = (after >= low) & (after <= high) & (any_number | ~off)
            good |= np.isnan(after) & self.missing
            if before is not None:
                good |= ~self.differs(after, before)
        return np.asarray(good)

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(d,) least and greatest value that passes for legal, and whether any number between them is."""
        return self.low - self.slack, self.high + self.slack, np.isnan(self.step)

    def read_otherwise(self, other: Schema) -> str | None:
        """Say why a row of this schema means something else in another one: columns, their order or levels; or None.

        Rows hold the places of levels, so that two schemas of the same columns may read one row in two ways. Bounds,
        steps and who may change what are no part of it.
        """
        if self is other:
            return None
        if self.names != other.names:
            odd = sorted(set(self.names) ^ set(other.names))
            return (
                f"they differ in {', '.join(map(repr, odd[:5]))}"
                if odd
                else "their columns have another order"
            )
        for one, two in zip(self.features, other.features, strict=True):
            if one.levels != two.levels:
                return f"'{one.name}' has other levels, or their order is another"
        return None

    def require_read_alike(self, other: Schema, what: str, then: str, error: type[WayforwardError]) -> None:
        """Raise this error, which says what, why and then what to do, where rows mean something else in another."""
        if (why := self.read_otherwise(other)) is not None:
            raise error(f"{what}: {why}. {then}")

    def differs(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(..., d) bool: two values are not the same (missing equals missing)."""
        with np.errstate(invalid="ignore"):
            apart = np.abs(a - b) > self.slack
        return np.asarray(apart | (np.isnan(a) != np.isnan(b)))

    def months(self, before: np.ndarray, action: np.ndarray) -> np.ndarray:
        """before and action (..., d) -> (..., d) months until each act counts; 0 where nobody moves anything."""
        moved = ~np.isnan(action) & self.differs(action, before)
        size = np.where(moved & self.ordered, np.abs(action - before), 0.0)
        return np.where(moved, self.delay + np.nan_to_num(size) / self.pace, 0.0)

    # -- tables --------------------------------------------------------------------------------------------

    def encode(self, table: Any, what: str = "people") -> np.ndarray:
        """A pandas, polars or pyarrow table, one mapping, or an (n, d) array -> (n, d) in feature units.

        Columns that the schema does not know are left out. `what` names the table in errors.
        Raises: DataError that names the column, the value and the next step.
        """
        return encode(self, table, what)

    def read(self, table: Any, what: str = "people") -> tuple[np.ndarray, dict[int, str]]:
        """As `encode`, where one odd row stops nobody else: (n, d) numbers, and row number -> why it cannot be read.

        A cell at fault is NaN. A value outside declared bounds, an unknown level, a text where a number belongs and a
        missing value where none may be are faults of the row. Raises: DataError for a faulty table: a column that is
        not there, an array of another shape, no rows.
        """
        return read(self, table, what)

    def decode(self, x: np.ndarray, like: Any = None) -> Any:
        """(n, d) in feature units -> a table with the original level values.

        `like`: 'pandas', 'polars', 'pyarrow', 'dict', a table of that library, or None for the first installed.
        Whole-number columns come back as integers where no value is missing or has a fraction, which is never cut off.
        Raises: DataError for an array of another shape, and for an index that no level has.
        """
        x = numbers_in(x, "x")
        if x.ndim != 2 or x.shape[1] != self.d:
            raise DataError(f"decode needs an (n, {self.d}) array; got shape {x.shape}.")
        self.check_levels(x)
        like = table_library(like)
        values = np.array(x.T, order="C")  # (d, n): columns of the table's own
        if like == "pandas" and self._pandas_tables is not None:
            return self._pandas_tables.table(values)
        columns = {f.name: decode_column(values[j], f) for j, f in enumerate(self.features)}
        return native_table(columns, like, copy=False)

    def check_levels(
        self, x: np.ndarray, advice: str = "Encode a table first, or snap the rows to the schema."
    ) -> None:
        """Raises: DataError for an index (n, d) that no level has; it may be missing."""
        has = self.has_levels
        index = x[:, has]
        good = (index >= 0) & (index < self.n_levels[has]) & (index == np.floor(index)) | np.isnan(index)
        if good.all():
            return
        i, j = (int(at) for at in np.argwhere(~good)[0])
        feature = self.features[np.flatnonzero(has)[j]]
        raise DataError(
            f"'{feature.name}' has {index[i, j]:g} in row {i}; a level index must be a whole number from 0 to "
            f"{feature.n_levels - 1}. {advice}"
        )

    @cached_property
    def _pandas_tables(self) -> PandasTables | None:
        from wayforward.schema.pandas_tables import PandasTables

        try:
            return PandasTables(self.features)
        except (ImportError, AttributeError):
            return None

    # -- making and revising -------------------------------------------------------------------------------

    @classmethod
    def infer(
        cls, table: Any, *, rules: Sequence[str] = (), label: str | None = None, propose: bool = True,
        **overrides: Mapping[str, Any],
    ) -> Schema:  # fmt: skip
        """Read a schema off a pandas, polars or pyarrow table of features. label: the decision, which is left out.

        Whole numbers become integers (0 and 1: binary), other numbers reals with the number of decimals seen as
        step, text and booleans levels; an ordered pandas categorical becomes ordinal; a column with missing values
        is marked `missing`. Bounds are those observed. The least change of a number is proposed: a round number, at
        most a fiftieth of the range in which the middle half of its different values lie, where that exceeds a step.
        `overrides` are given on to `revise`; a column that they make categorical learns its levels from the table.
        propose: age, sex, names of people and what is past become immutable, an income goes up only, by their names;
        `guesses` and the repr say so, for you to confirm or revise.
        Raises: DataError for an empty table, SchemaError for a column that cannot be a feature, or that is called like
        the decision.
        """
        require_switch(propose, "propose", SchemaError)
        frame = read_frame(table, "training")
        if len(frame) == 0:
            raise DataError(
                "The training table has no rows, so no schema can be read off it. Give some rows."
            )
        if not frame.columns:
            raise DataError("The training table has no columns, so no schema can be read off it.")
        label = None if label is None else str(label)  # columns may be numbered
        if label is not None and label not in frame.columns:
            raise DataError(f"The training table has no column '{label}'.{suggest(label, frame.columns)}")
        made: list[Feature] = []
        guesses: dict[str, str] = {}
        for name in (name for name in frame.columns if name != label):
            feature = infer_feature(frame[name])
            if propose:
                values = frame[name].drop_nulls().unique().to_numpy()
                if name not in overrides:
                    check_label(name, len(values))
                if not (feature.has_levels or feature.carried):
                    values = np.asarray(values, dtype=np.float64)
                    values = values[~np.isnan(values)]
                if names_people(feature, len(values), len(frame)):
                    feature = as_text(frame[name], bool(feature.missing))
                feature, guess = proposed(feature, values, len(frame))
                guesses |= {name: guess} if guess else {}
            made.append(feature)
        schema = cls(tuple(made), guesses=guesses)
        learnt = {
            name: learnt_levels(dict(change), frame[name].drop_nulls().unique().to_list())
            for name, change in overrides.items()
            if name in frame.columns and isinstance(change, Mapping)
        }
        schema = schema.revise({**overrides, **learnt}) if overrides else schema
        return schema.with_rules(*rules) if rules else schema

    def revise(
        self, changes: Mapping[Any, Mapping[str, Any]] | None = None, /, **more: Mapping[str, Any]
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
            for unknown in (key for key in change if key not in FIELDS):
                raise SchemaError(
                    f"A feature has no field '{unknown}' (in '{name}').{suggest(unknown, FIELDS)}"
                )
            edit = dict(change)
            old = new[j]
            kind = edit.get("kind", old.kind)
            check_choice(name, "kind", kind)
            if kind == "carried" and edit.get("actionability", "immutable") != "immutable":
                raise SchemaError(
                    f"'{name}' is carried: the model is given it as it is, and nobody acts on it. Give another kind, "
                    "such as 'categorical', to make it actionable."
                )
            if old.carried and kind != "carried":
                edit = {"dtype": "", "example": None, **edit}
            if kind == "carried":
                edit = _bare(old) | edit
            elif kind in ("real", "integer") and old.has_levels:
                edit = {"levels": (), "level_labels": (), **edit}
            elif kind not in ("real", "integer") and not old.has_levels:
                edit = {"low": None, "high": None, "step": None, "least_change": None, "special": (), **edit}
                if "levels" not in edit:
                    raise SchemaError(f"'{name}' becomes {kind} and needs its levels. Add levels=[...].")
            levels = edit.get("levels")  # what is no list of levels is refused by the feature
            if isinstance(levels, Iterable) and "level_labels" not in edit and tuple(levels) != old.levels:
                edit["level_labels"] = ()
            if "bounds" not in edit and ({"low", "high"} & set(edit)):
                edit["bounds"] = "declared"
            new[j] = replace(old, **edit)
        revised = {str(name) for name in (*(changes or {}), *more)}
        return Schema(tuple(new), self.rules, {k: v for k, v in self.guesses.items() if k not in revised})

    def with_rules(self, *rules: str) -> Schema:
        """A new schema with more rules. Raises: RuleError that points into the rule's text."""
        for rule in rules:
            if not isinstance(rule, str):
                raise SchemaError(f"A rule is a text; got {type(rule).__name__}.")
        return Schema(self.features, self.rules + tuple(rules), self.guesses)

    def drop(self, *names: object) -> Schema:
        """A new schema without some features (rules that name them are an error)."""
        gone = {self.names[self.index(name)] for name in names}
        remaining = tuple(f for f in self.features if f.name not in gone)
        return Schema(remaining, self.rules, {k: v for k, v in self.guesses.items() if k not in gone})

    @cached_property
    def without_carried(self) -> Schema:
        """The schema of the features that something can be worked out with; itself where nothing is carried."""
        gone = [feature.name for feature in self.features if feature.carried]
        return self.drop(*gone) if gone else self

    # -- files ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data: fields that hold their default are left out."""
        plain = {one.name: one.default for one in fields(Feature)}
        features = []
        for feature in self.features:
            entry = {k: v for k, v in asdict(feature).items() if k in ("name", "kind") or v != plain[k]}
            if "special" in entry:
                entry["special"] = {_plain(value): words for value, words in dict(feature.special).items()}
            if "translations" in entry:
                entry["translations"] = {
                    code: one.to_dict() for code, one in dict(feature.translations).items()
                }
            features.append({k: v if isinstance(v, dict) else _plain(v) for k, v in entry.items()})
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
            check_units(entry, f"In the {source}, ")
            try:
                made.append(adapter.validate_python(entry))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(
                    str(part) for part in first["loc"] if "[" not in str(part)
                )  # no names of types
                near = (
                    suggest(str(first["loc"][-1]), FIELDS)
                    if first["type"] == "unexpected_keyword_argument"
                    else ""
                )
                raise SchemaError(
                    f"In the {source}, feature '{name}': {place}: {first['msg']}, not {shown(first['input'])}.{near}"
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
        elif not isinstance(source, (str, os.PathLike)):
            raise SchemaError(f"from_yaml reads a path or YAML text; got {shown(source)}. Give one of them.")
        else:
            text, name = read_text(source, "schema file", _MAX_FILE), f"schema file '{Path(source).name}'"
        return cls.from_dict(parse_yaml(text, name, _MAX_FILE), name)

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """A JSON schema of the YAML file, for editors."""
        from pydantic import TypeAdapter

        schema = TypeAdapter(Schema).json_schema()
        del schema["properties"]["guesses"]  # not in files
        help_text = {
            "low": "Least legal value.",
            "high": "Greatest legal value.",
            "step": "Distance between legal values; leave out if any real number is legal.",
            "least_change": "The least change worth an effort, in the unit; no advice moves it by less.",
            "levels": "The values of a binary, ordinal (in order) or categorical column.",
            "level_labels": "The levels in words for people, in the same order.",
            "unit": "The unit that people say, such as EUR/month.",
            "actionability": "actionable, mutable (changes only as a consequence) or immutable.",
            "direction": "Which way a person may move it.",
            "missing": "May the value be missing, and may advice ask for it? Only where the model accepts it.",
            "special": "Codes that are states and no numbers, in words, such as -7: no such event.",
            "bounds": "declared: a value outside is an error. observed: read off a table.",
            "pace": "How much of its unit (how many levels) a person moves it in a month; left out: it takes no time.",
            "delay": "Months before a change counts.",
            "dtype": "Of a carried feature: the type of the column in the training table; '' is text.",
            "example": "Of a carried feature: what the model is given when it is asked about nobody in particular.",
            "translations": "The words for people in other languages: de: {label: ..., level_labels: [...]}.",
        }
        for key, words in help_text.items():
            schema["$defs"]["Feature"]["properties"][key]["description"] = words
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return schema

    def _repr_html_(self) -> str:
        rows = [
            (
                f.name, f.kind, _reach(f),
                f.actionability, f.direction, self.guesses.get(f.name, ""),
            )
            for f in self.features
        ]  # fmt: skip
        head = ("feature", "kind", "values", "who", "direction", "guessed, to be confirmed")
        return small_table(f"Schema: {self.d} features", head, rows, [f"rule: {rule}" for rule in self.rules])

    def __repr__(self) -> str:
        lines = [f"Schema({self.d} features, {len(self.rules)} rules)"]
        for f in self.features:
            lines.append(f"  {f.name}: {f.kind}, {_reach(f)}, {f.actionability}, {f.direction}")
        lines += [f"  rule: {rule}" for rule in self.rules]
        lines += [f"  guessed: {name}: {guess}" for name, guess in self.guesses.items()]
        return harmless("\n".join(lines))


def _reach(feature: Feature) -> str:
    """Say which values a feature has, codes that are states and missing ones included."""
    if feature.carried:
        return feature.dtype or "text"
    low, high = (v if v is None else f"{v:.10g}" for v in (feature.low, feature.high))
    parts = [
        f"{feature.n_levels} levels" if feature.has_levels else f"{low} to {high} {feature.unit}".rstrip()
    ]
    parts += [f"by {feature.least_change:.10g} or more"] if feature.least_change else []
    parts += [f"{code:g} ({words})" for code, words in feature.special_words.items()]
    return ", ".join([*parts, "may be missing"] if feature.missing else parts)


def _bare(feature: Feature) -> dict[str, Any]:
    """The fields that a carried feature cannot have, as if they had never been given."""
    return {one.name: one.default for one in fields(feature) if one.name not in CARRIED_HAVE}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value.item() if isinstance(value, np.generic) else value
