"""What can go wrong, with types: every message names the thing, the value seen and the next step."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np

# what nobody sees and a terminal obeys, or what turns the letters around it: controls, marks of direction, halves
UNSEEN = (
    *range(9), *range(11, 32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F),
    *range(0x2066, 0x206A), *range(0xD800, 0xE000), 0xFEFF,
)  # fmt: skip
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in UNSEEN}


def harmless(text: str) -> str:
    """Return a text with escapes in place of what a terminal or the order of its letters obeys; lines and tabs stay."""
    return text if text.isprintable() else text.translate(_ESCAPES)


class WayforwardError(Exception):
    """Base of every error that wayforward raises on purpose. Its text is `harmless`, whatever a table or file holds."""

    def __str__(self) -> str:
        return harmless(super().__str__())


class SchemaError(WayforwardError):
    """A feature or a schema contradicts itself, or a schema file cannot be read."""


class RuleError(WayforwardError):
    """A rule cannot be read, names an unknown feature, or contradicts another rule.

    Attributes: text, the rule as written; start and end, the span at fault (character offsets).
    """

    def __init__(self, message: str, text: str = "", start: int = 0, end: int | None = None) -> None:
        self.text, self.start = text, start
        self.end = end if end is not None else start + 1
        if text:
            before, at_fault = (len(harmless(part)) for part in (text[:start], text[start : self.end]))
            caret = " " * max(before, start) + "^" * max(1, at_fault, self.end - start)
            message = f"{message}\n  {text}\n  {caret}"
        super().__init__(message)


class DataError(WayforwardError):
    """A table or an array of people does not fit the schema."""


class ModelError(WayforwardError):
    """A model answered with the wrong shape, with NaN, or not at all."""


class UnsupportedModel(WayforwardError):
    """A method needs more of the model than the model offers."""


class ProblemError(WayforwardError):
    """The parts of a problem do not fit together."""


class MethodError(WayforwardError):
    """A method is unknown or was asked for something it does not do."""


class PreferencesError(WayforwardError):
    """Preferences do not fit the people or the schema."""


class DialogueError(WayforwardError):
    """A dialogue was asked for something that it cannot do now, or its stored state does not fit."""


class ReplyError(DialogueError):
    """A reply fits no answer to the question; the message says what would. feature: what of a page it is about."""

    def __init__(self, text: str, feature: str = "") -> None:
        super().__init__(text)
        self.feature = feature


class WorldError(WayforwardError):
    """A causal world is inconsistent or does not fit the schema."""


class FileFormatError(WayforwardError):
    """A file is broken, hostile, or of a format that is not read."""


class WriteError(FileFormatError):
    """A file cannot be written: no room, no right to, no such folder. What was there before is as it was."""


class WorkerError(WayforwardError):
    """Several workers cannot share the work: it cannot be sent to them, or one of them died."""


class DeviceError(WayforwardError):
    """torch was to work on a device that is not there, or that cannot do what is needed."""


class MissingExtra(WayforwardError, ImportError):
    """An optional dependency is needed and is not installed."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one line how to get it.

    Example: ``torch = require("torch", extra="torch")``.
    Raises: MissingExtra if the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"This needs {module}. Install it with: pip install 'wayforward[{extra}]'"
        ) from missing


def did_you_mean(given: object, known: Collection[str]) -> str:
    """Return " Did you mean 'x'?", or nothing if no known word is near."""
    word = given if isinstance(given, str) else shown(given)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if not near:
        folded = {k.casefold(): k for k in known}
        near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
        near = [folded[n] for n in near]
    if not near:  # `hours-per-week` without quotes starts with a word of the real name
        near = [k for k in known if len(word) > 2 and k.casefold().startswith(word.casefold())][:1]
    return f" Did you mean '{near[0]}'?" if near else ""


def require_kind(value: object, kind: type, name: str, error: type[WayforwardError] = DataError) -> None:
    """Raise an error that names an argument which is no object of the kind that is needed."""
    if not isinstance(value, kind):
        raise error(
            f"{name} is a {type(value).__name__}. Give a {kind.__name__}."
        )  # a table holds people's rows


def require_switch(value: object, name: str, error: type[WayforwardError] = DataError) -> None:
    """Raise an error that names an argument which is neither True nor False; an array would decide nothing."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{name}={shown(value)} is neither True nor False. Use one of them.")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of Python or NumPy; True, False and spans of time are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def is_real(value: object) -> TypeGuard[float]:
    """Whether a value is a number of Python or NumPy, perhaps NaN or beyond all bounds; complex ones are none."""
    return is_integer(value) or isinstance(value, (float, np.floating))


def is_number(value: object) -> bool:
    """Whether a value is a finite number; True and False are none."""
    return is_real(value) and bool(-1e300 < value < 1e300)


def is_whole(value: object, least: int = 0, most: int = 1_000_000_000) -> bool:
    """Whether a value is a whole number from `least` to `most`; True and False are none."""
    return is_integer(value) and least <= int(value) <= most


def is_list(value: object, texts: bool = False) -> TypeGuard[Iterable[Any]]:
    """Whether a value can be gone through; a text only where `texts`, an array without dimensions never."""
    many = isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0
    return many and (texts or not isinstance(value, (str, bytes)))


def require_whole(error: type[WayforwardError] = DataError, least: int = 0, **given: object) -> None:
    """Raise an error that names the first argument which is no whole number of `least` or more."""
    for name, value in given.items():
        if not is_whole(value, least):
            raise error(
                f"{name}={shown(value)} is no whole number that can be used here. Use {least} or more."
            )


def numbers_in(value: object, name: str, error: type[WayforwardError] = DataError) -> np.ndarray:
    """Return an argument as an array of float64, NaN where masked. Raises: the error for what is no number."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        given = np.asanyarray(value)
        if given.dtype.kind in "cmMSU":  # NumPy would drop a part, or count seconds
            raise TypeError
        return np.asarray(np.ma.filled(given.astype(np.float64, copy=False), np.nan))
    except (TypeError, ValueError, OverflowError):
        alone = value is None or np.isscalar(value)  # a table would show people's rows
        what = f"{name}={shown(value)}" if alone else f"{name}, a {type(value).__name__},"
        raise error(f"{what} holds something else than numbers. Give an array of numbers.") from None


def array_in(value: object, name: str, error: type[WayforwardError] = DataError) -> np.ndarray:
    """Return an argument as an array of what it holds. Raises: the error for lists within lists of unlike lengths."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise error(
            f"{name}, a {type(value).__name__}, makes no array. Give rows of equal lengths."
        ) from None


def flags_in(value: object, name: str, error: type[WayforwardError] = DataError) -> np.ndarray:
    """Return an argument as an array of bool; 0 and 1 are such. Raises: the error for anything else, or masked."""
    if type(value) is np.ndarray and value.dtype == np.bool_:
        return value
    found = numbers_in(value, name, error)
    if not ((found == 0) | (found == 1)).all():
        raise error(f"{name} holds something else than True and False. Give one of them each.")
    return found.astype(np.bool_)


def names_in(value: object, name: str, error: type[WayforwardError] = DataError) -> tuple[str, ...]:
    """Return an argument as names; a text is one name. Raises: the error where it is no list of texts."""
    given = (value,) if isinstance(value, str) else value
    if not (is_list(given) and isinstance(given, Collection)) or not all(
        isinstance(one, str) for one in given
    ):
        raise error(f"{name}={shown(value)} is no list of names. Give a list of texts.")
    return tuple(given)


def require_number(
    value: object, name: str, low: float, high: float, error: type[WayforwardError] = DataError
) -> None:
    """Raise an error that names an argument which is no number from low to high."""
    if not (is_number(value) and low <= value <= high):  # type: ignore[operator]
        raise error(f"{name}={shown(value)} is no number from {low:g} to {high:g}. Give one.")


def require_function(value: object, name: str, error: type[WayforwardError] = DataError) -> None:
    """Raise an error that names an argument which cannot be called; None is left out."""
    if value is not None and not callable(value):
        raise error(f"{name}={shown(value)} cannot be called. Give a function, or leave it out.")


def is_one_of(value: object, known: Collection[str]) -> bool:
    """Whether a value is one of the words that are known. An array, whose cells ``in`` would compare, is none."""
    return isinstance(value, str) and value in known


def shown(value: object, most: int = 80) -> str:
    """Return a value as errors show it: its repr in at most so many characters, or what kind of thing it is."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits, or an object that cannot say what it is
        return f"a {type(value).__name__}"
    text = " ".join(text.split())  # a table has lines
    return text if len(text) <= most else text[: most - 3] + "..."


def no_person(i: object, n: int) -> str:
    """Return what to say of a person's number that none of n people has."""
    return f"There is no person {shown(i)}; " + (
        f"people are numbered 0 to {n - 1}." if n else "it is about nobody."
    )


def suggest(word: object, known: Collection[object]) -> str:
    """Return " Did you mean 'x'?", the first twelve names if none is near, or nothing if there are none."""
    names = [str(name) for name in known]
    if not names:
        return ""
    return did_you_mean(word, names) or f" Known: {', '.join(names[:12])}."
