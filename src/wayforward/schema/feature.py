"""One feature: its kind, unit, bounds, steps, and who may change it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.errors import SchemaError, did_you_mean, is_list, is_one_of, is_real, require_switch, shown
from wayforward.language import gettext, language, one_line
from wayforward.public import public
from wayforward.schema.carried import example_of
from wayforward.schema.translation import (
    NOTHING,
    FeatureWords,
    Translations,
    check_units,
    checked,
    special_pairs,
)
from wayforward.schema.units import unit_text

_HUMP = re.compile(r"(?<=[a-z]{2})[A-Z](?=[a-z])")  # "openDebt", and neither "iPhone" nor "PhD"
_DOT = re.compile(r"(?<=[^\W\d])\.(?=[^\W\d])")  # hours.per.week
Kind = Literal["real", "integer", "binary", "ordinal", "categorical", "carried"]
Actionability = Literal["actionable", "mutable", "immutable"]
Direction = Literal["any", "increase", "decrease"]
Bounds = Literal["declared", "observed"]
Missing = Literal["may be told", "stays", "does not apply"]
Level = bool | int | float | str

_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "actionability": get_args(Actionability),
    "direction": get_args(Direction),
    "bounds": get_args(Bounds),
    "missing": get_args(Missing),
}

# the fields that say something of a carried feature
CARRIED_HAVE = (
    "name",
    "kind",
    "unit",
    "label",
    "description",
    "actionability",
    "missing",
    "dtype",
    "example",
    "translations",
)


@public
@dataclass(frozen=True, kw_only=True)
class Feature:
    """One thing about a person, in the unit they would say it in.

    name: the column. kind: real, integer, binary, ordinal, categorical, or carried: a date, a text or an identifier
    that the model is given as it is, and that no cost, distance or advice has to do with.
    low, high: the least and the greatest legal value (numeric kinds). step: the distance between legal values.
    least_change: the least change that is worth an effort, in the feature's unit; no advice moves it by less, None:
    every change counts (numeric kinds).
    levels: the values of a binary, ordinal (in order) or categorical column as the table holds them;
    level_labels: the same for people. unit, label, description: words for people.
    translations: the words for people in other languages, by code: {"de": {"label": "Alter"}}; see `FeatureWords`.
    actionability: 'actionable', 'mutable' (changes only as a consequence) or 'immutable'.
    direction: which way a person may move it. missing: may the value be missing: no (False); 'may be told', as True
    of earlier versions: advice may ask for a value that is not stated yet; 'stays': no advice touches a value that is
    missing; 'does not apply': the same, and so it is told. special (numeric kinds): codes that are states and no
    numbers, in words: {-7: "no such event"}; they lie outside low to high, and no advice leads out of them or there.
    pace: how much of its unit (how many levels) a person moves it in a month; None where it takes no time, or nobody
    knows. delay: months before a change counts.
    dtype, example (carried): the type of the column in the training table ('datetime64[us]'; '' is text), and what the
    model is given there when it is asked about nobody in particular.
    bounds: 'declared' (a value outside is an error) or 'observed' (low and high were read off a table: a person
    may stand somewhat outside, with a warning, but no advice leads there).
    Raises: SchemaError that names the feature, the value and the next step.
    """

    name: str
    kind: Kind
    low: float | None = None
    high: float | None = None
    step: float | None = None
    least_change: float | None = None
    levels: tuple[Level, ...] = ()
    level_labels: tuple[str, ...] = ()
    unit: str = ""
    label: str = ""
    description: str = ""
    actionability: Actionability = "actionable"
    direction: Direction = "any"
    missing: bool | Missing = False
    special: dict[float, str] | tuple[tuple[float, str], ...] = ()
    sensitive: bool = False
    bounds: Bounds = "declared"
    pace: float | None = None
    delay: float = 0.0
    dtype: str = ""
    example: Level | None = None
    translations: Translations = ()

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(f"A feature needs a name; got {self.name!r}. Give the name of its column.")
        for field in ("kind", "actionability", "direction", "bounds"):
            check_choice(self.name, field, getattr(self, field))
        require_switch(self.sensitive, f"'{self.name}' has sensitive", SchemaError)
        if not isinstance(self.missing, (bool, np.bool_)):
            check_choice(self.name, "missing", self.missing)
        try:
            object.__setattr__(self, "special", special_pairs(self.special))
        except SchemaError as error:
            raise SchemaError(f"'{self.name}' has {error}") from None
        check_units({"name": self.name, "unit": self.unit})
        for field in ("levels", "level_labels"):
            object.__setattr__(self, field, self._listed(field))
        states = set(dict(self.special))  # the checks below speak the language in use
        object.__setattr__(self, "translations", checked(self.translations, self.name, self.n_levels, states))
        if self.kind == "carried":
            object.__setattr__(self, "actionability", "immutable")
            self._check_carried()
        elif self.dtype or self.example is not None:
            raise SchemaError(
                f"'{self.name}' is {self.kind} and has a dtype or an example, which carried features have. Leave "
                "them out, or use kind='carried'."
            )
        self._check_levels() if self.has_levels else self._check_numbers()
        self._check_time()

    def _listed(self, field: str) -> tuple[Any, ...]:
        """The levels or their labels as a tuple. Raises: SchemaError for what is no list in an order."""
        given = getattr(self, field)
        if isinstance(given, (str, bytes, Mapping, set, frozenset)) or not is_list(given, texts=True):
            raise SchemaError(
                f"'{self.name}' has {field}={shown(given)}, which is no list. Give a list in order, such as "
                "['low', 'high']."
            )
        found = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        if field == "level_labels":
            return tuple(str(label) for label in found)
        wrong = next((v for v in found if not isinstance(v, (bool, int, float, str, type(None)))), None)
        if wrong is not None:
            raise SchemaError(
                f"'{self.name}' lists the level {shown(wrong)}, which is neither a text nor a number. Write it as one."
            )
        return found

    def _check_carried(self) -> None:
        for field in fields(self):
            if field.name not in CARRIED_HAVE and getattr(self, field.name) != field.default:
                raise SchemaError(
                    f"'{self.name}' is carried and has {field.name}={getattr(self, field.name)!r}. Nobody acts on it, "
                    f"and nothing is worked out with it: leave {field.name} out, or give it another kind."
                )
        try:
            example_of(self)
        except (TypeError, ValueError):
            raise SchemaError(
                f"'{self.name}' has dtype={self.dtype!r} and example={self.example!r}, which do not go together. Give "
                "an example as the column holds it."
            ) from None

    def _check_time(self) -> None:
        for field, given in (("pace", self.pace), ("delay", self.delay)):
            if given is None and field == "pace":
                continue
            number = is_real(given)
            if not number or not 0 <= float(given or 0) < math.inf or (field == "pace" and not given):
                least = "above 0" if field == "pace" else "of at least 0"
                raise SchemaError(
                    f"'{self.name}' has {field}={given!r}. Give a number {least}, or leave it out."
                )
            object.__setattr__(self, field, float(given or 0))
        if self.pace is not None and self.kind == "categorical":
            raise SchemaError(
                f"'{self.name}' is categorical and has pace={self.pace:g}, but its levels have no order. Use delay, "
                "the months before a change counts."
            )

    def _check_levels(self) -> None:
        for field in ("low", "high", "step", "least_change"):
            if getattr(self, field) is not None:
                raise SchemaError(
                    f"'{self.name}' is {self.kind} and has {field}={getattr(self, field)}. "
                    "List its levels instead, or use kind='integer' or 'real'."
                )
        if self.special:
            raise SchemaError(
                f"'{self.name}' is {self.kind} and has special values. Make each a level instead."
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
        for field in ("low", "high", "step", "least_change"):
            value = getattr(self, field)
            if value is None:
                continue
            if not is_real(value):
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
        if self.least_change is not None and self.least_change <= 0:
            raise SchemaError(
                f"'{self.name}' has least_change={self.least_change:g}. It is above zero; leave it out where every "
                "change counts."
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

        for value in self.special_words:
            below, above = (
                (self.low is not None and value < self.low),
                (self.high is not None and value > self.high),
            )
            if not (below or above) or not math.isfinite(value):
                raise SchemaError(
                    f"'{self.name}' has the special value {value:g} within {self.low} to {self.high}, where it could "
                    "be a number. Set low and high so that it lies outside."
                )

    @property
    def stays_missing(self) -> bool:
        """True if no advice touches a missing value."""
        return self.missing in ("stays", "does not apply")

    @property
    def special_words(self) -> dict[float, str]:
        """Special value -> what it means, in words of the language in use."""
        words = dict(self.translation.special or self.special)
        return {value: one_line(text) for value, text in words.items()}

    @property
    def translation(self) -> FeatureWords:
        """The words in the language in use; an empty one where the schema has none."""
        return dict(self.translations).get(language(), NOTHING) if self.translations else NOTHING

    @property
    def has_levels(self) -> bool:
        """True for binary, ordinal and categorical features, whose values are level indices."""
        return self.kind in ("binary", "ordinal", "categorical")

    @property
    def carried(self) -> bool:
        """True for a date, text or identifier that the model is given as it is, and nobody acts on."""
        return self.kind == "carried"

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
    def own_label(self) -> str:
        """The label in the schema's own language, or the column name made readable."""
        name = _DOT.sub(" ", _HUMP.sub(lambda found: f" {found[0].lower()}", self.name))
        return one_line(self.label or name.replace("_", " ").replace("-", " ")).strip()

    @property
    def text_label(self) -> str:
        """What people call it, in the language in use: the label, or the column name made readable."""
        return one_line(self.translation.label) or self.own_label

    @property
    def text_unit(self) -> str:
        """The unit in the language in use, for several: "years", "Jahre"."""
        return self.unit_of(math.nan)

    def unit_of(self, value: float) -> str:
        """The unit of a value in the language in use: "1 year", "2 years"; '' where there is none."""
        own = self.translation.unit
        if not own:
            return unit_text(one_line(self.unit), value)
        return own if isinstance(own, str) else own[0 if value == 1 else 1]

    @property
    def text_description(self) -> str:
        """The description in the language in use."""
        return one_line(self.translation.description or self.description)

    @property
    def text_levels(self) -> tuple[str, ...]:
        """The labels of the levels in the language in use; () where levels are called as the table has them."""
        return tuple(one_line(label) for label in self.translation.level_labels or self.level_labels)

    def level_text(self, index: float) -> str:
        """The words for a level index."""
        i, labels = int(index), self.text_levels
        return labels[i] if labels else one_line(str(self.levels[i])).strip() or gettext("(empty)")


FIELDS = tuple(field.name for field in fields(Feature))


def check_choice(name: str, field: str, value: str) -> None:
    """Raise SchemaError if a field of the feature `name` is none of the values that it can have."""
    allowed = _CHOICES[field]
    if not is_one_of(value, allowed):
        hint = did_you_mean(str(value), allowed)
        raise SchemaError(f"'{name}' has {field}={value!r}; it must be one of {', '.join(allowed)}.{hint}")
