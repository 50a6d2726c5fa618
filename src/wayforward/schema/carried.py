"""Values that a model reads and nobody acts on, such as dates, texts and identifiers: rows carry a key of each.

A key is a number so near to nought (below 1e-244) that a distance, a deviation or a density takes all of them for the
same, and hangs on the value alone: the same value has the same key in any table, batch and process. What a key stands
for is remembered by this process, and goes along where a schema is pickled for another one.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, Protocol

import numpy as np

from wayforward.errors import DataError


class Carried(Protocol):
    """What is asked of a feature here."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def dtype(self) -> str:
        """The type of the column in the training table; '' is text."""

    @property
    def missing(self) -> bool | str:
        """May it be missing?"""

    @property
    def example(self) -> Any:
        """What stands in where there is no person."""


_LEAST = 83  # exponents from here on: 2**-940 to 2**-813
_FRACTION, _EXPONENTS = (1 << 52) - 1, 127
_EDGE = 2.0**-812  # every key lies below
_MISSING = 2.0**-941  # the key of a missing value, so that it is like all the others
_NO_DATE = "2000-01-01"
_known: dict[str, dict[float, Any]] = {}  # feature -> key -> value
_passing = threading.local()  # the same of the people whom this thread will have done with


@contextmanager
def forgetting() -> Iterator[None]:
    """Forget afterwards what this thread meanwhile read: people of a shard, whose rows nobody keeps."""
    before = getattr(_passing, "known", None)
    _passing.known = {}
    try:
        yield
    finally:
        _passing.known = before


def keys_of(values: Sequence[Any], feature: Carried, what: str, *, again: bool = False) -> np.ndarray:
    """Remember the values (n,) of a carried feature; return their keys (n,).

    again: a file or a tool gives them back, so that one may be missing: of people who were not read. Raises: DataError
    for a value of another type, and for a missing one where none may be.
    """
    known = _known.setdefault(feature.name, {})
    passing = getattr(_passing, "known", None)
    new = known if passing is None else passing.setdefault(feature.name, {})
    keys = np.full(len(values), _MISSING)
    seen: dict[Any, float] = {}
    for i, value in enumerate(values):
        if _gone(value):
            if not (feature.missing or again):
                raise DataError(
                    f"Column '{feature.name}' of the {what} table has a missing value in row {i}. Fill it in, or, if "
                    f"the model accepts missing values, revise the schema: {feature.name}={{'missing': 'stays'}}."
                )
            continue
        try:
            key = seen.get(value)
            if key is None:
                own = _typed(value, feature.dtype)
                key = seen[value] = _key(own)
                if (known[key] if key in known else new.setdefault(key, own)) != own:
                    raise DataError(
                        f"Column '{feature.name}' has two values with one key. Drop one of the two rows."
                    )
        except (TypeError, ValueError, OverflowError):
            wanted = "text" if not feature.dtype else feature.dtype
            shown = f" {value!r}" if feature.dtype and isinstance(value, str) else ""
            raise DataError(
                f"Column '{feature.name}' of the {what} table has the {type(value).__name__}{shown} in row {i}, which "
                f"is no {wanted}. Correct it, or infer the schema from a table in which the column looks like this."
            ) from None
        keys[i] = key
    return keys


def values_of(keys: np.ndarray, feature: Carried) -> tuple[list[Any], np.ndarray]:
    """Return the different values behind keys (n,), None for missing ones, and which of them each row has (n,).

    What is no key, as nought in a row that nobody gave, stands for the feature's example. Raises: DataError for a key
    whose value this process never saw.
    """
    different, which = np.unique(keys, return_inverse=True)
    known: Mapping[float, Any] = _known.get(feature.name, {})
    passing = getattr(_passing, "known", None)
    if passing:
        known = ChainMap(passing.get(feature.name, {}), _known.get(feature.name, {}))
    values: list[Any] = []
    for key in different.tolist():
        if math.isnan(key) or key == _MISSING:
            values.append(None)
        elif not 0.0 < key < _EDGE:
            values.append(example_of(feature))
        elif key in known:
            values.append(known[key])
        else:
            raise DataError(
                f"The value of '{feature.name}' that a row stands for is not known here. Give the table itself, so "
                "that it is read again."
            )
    return values, which


def array_of(keys: np.ndarray, feature: Carried) -> np.ndarray:
    """(n,) keys -> (n,) values as a column holds them: days and times as NumPy has them, else objects."""
    values, which = values_of(keys, feature)
    plain = "," not in feature.dtype and feature.dtype.startswith(("datetime64", "timedelta64"))
    out = np.empty(len(values), dtype=object)
    out[:] = values
    if plain:
        out = np.array([None if v is None else _numpy(v) for v in values], dtype=feature.dtype)
    return np.asarray(out[which])


def series_of(keys: np.ndarray, feature: Carried) -> Any:
    """(n,) keys -> a pandas column of the type that the training table had."""
    import pandas as pd

    values, which = values_of(keys, feature)
    try:
        made = pd.Series(values, dtype=feature.dtype or _text_type())
    except (TypeError, ValueError):  # a type of another library, or of a later pandas
        made = pd.Series(values)
    return made.take(which).reset_index(drop=True)


def plain_values(keys: np.ndarray, feature: Carried) -> list[Any]:
    """(n,) keys -> values as JSON holds them; `keys_of` reads them again."""
    values, which = values_of(keys, feature)
    texts = [v if v is None or isinstance(v, (str, bool, int, float)) else _text(v) for v in values]
    return [texts[i] for i in which.tolist()]


def settled(x: np.ndarray, action: np.ndarray, after: np.ndarray, carried: np.ndarray) -> None:
    """Write into action and after (n, k, d), as a file gave them, what every answer holds there of carried (d,)."""
    action[..., carried] = np.nan
    there = ~np.isnan(after[..., ~carried]).all(-1, keepdims=True)
    after[..., carried] = np.where(there, x[:, None, carried], np.nan)


def remembered(names: Iterable[str]) -> dict[str, dict[float, Any]]:
    """What this process knows of some features, for another one."""
    return {name: dict(_known[name]) for name in names if name in _known}


def remember(known: Mapping[str, Mapping[float, Any]]) -> None:
    """Take in what another process knew."""
    for name, values in known.items():
        _known.setdefault(name, {}).update(values)


def example_of(feature: Carried) -> Any:
    """The value that stands in where there is no person: the feature's `example`, or a neutral one."""
    if feature.example is not None:
        return _typed(feature.example, feature.dtype)
    if feature.dtype.startswith(("datetime", "date")):
        return _typed(_NO_DATE, feature.dtype)
    if feature.dtype.startswith("timedelta"):
        return _typed("P0D", feature.dtype)
    return 0 if _numeric(feature.dtype) else time() if feature.dtype == "time" else ""


def _key(value: Any) -> float:
    text = f"{_sort(value)}:{_text(value)}"
    number = int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )
    bits = (_LEAST + (number >> 52 & _EXPONENTS) << 52) | number & _FRACTION
    return float(np.uint64(bits).view(np.float64))


def _sort(value: Any) -> str:
    for kind in (str, bool, int, float, datetime, date, time, timedelta):
        if isinstance(value, kind):
            return kind.__name__
    raise TypeError


def _text(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _typed(value: Any, dtype: str) -> Any:
    """The value in the type of its column. Raises: TypeError, ValueError."""
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if dtype == "date":
        return (
            value.date()
            if isinstance(value, datetime)
            else value
            if isinstance(value, date)
            else date.fromisoformat(value)
        )
    if dtype == "time":
        return value if isinstance(value, time) else time.fromisoformat(value)
    if dtype.startswith("datetime"):
        return _moment(value, dtype)
    if dtype.startswith("timedelta"):
        return _span(value)
    if _numeric(dtype):
        number = float(value)
        return (
            int(value)
            if not isinstance(value, float) or (number.is_integer() and dtype[0] != "f")
            else number
        )
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():  # whole numbers of a file with gaps
        value = int(value)
    if isinstance(value, (bool, int, float)):
        return str(value)
    raise TypeError


def _moment(value: Any, dtype: str) -> Any:
    if isinstance(value, (bool, int, float)):
        raise TypeError
    try:
        import pandas as pd
    except ImportError:
        return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    made = pd.Timestamp(value)
    zone = dtype.partition(",")[2].strip(" ]")
    return made.tz_localize(zone) if zone and made.tzinfo is None else made


def _span(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        raise TypeError
    try:
        import pandas as pd
    except ImportError:
        if isinstance(value, timedelta):
            return value
        raise
    return pd.Timedelta(value)


def _numpy(value: Any) -> Any:
    return (
        value.to_numpy()
        if hasattr(value, "to_numpy")
        else np.datetime64(value)
        if isinstance(value, datetime)
        else np.timedelta64(value)
    )


def _numeric(dtype: str) -> bool:
    return dtype.lower().startswith(("int", "uint", "float"))


def _text_type() -> str:
    """How this pandas keeps texts."""
    import pandas as pd

    return str(pd.Series(["a"]).dtype)


def _gone(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )
