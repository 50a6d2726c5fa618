"""Checks of the settings of methods and elicitors, worded alike, and what `parameters` adds to a method's."""

from __future__ import annotations

import os
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from wayforward.errors import MethodError, is_integer, is_number, is_one_of, is_real, shown

if TYPE_CHECKING:
    from wayforward.methods.base import Method


class Named(Protocol):
    """What has settings and a name to call it by in errors."""

    name: ClassVar[str]


MOST = 1_000_000_000  # of whole numbers: 64 bits add up what hangs on them


class CheckedSettings(ABCMeta):
    """Checks the settings of a method against what its fields are declared as, before the method is made.

    A field's type is its range: int, from 0 to a thousand million (any, where it is a seed); float, finite and from 0
    (inf, too, where `endless` names it); bool; text; a path; a function; each with None where the field says so. What
    is narrower than its type, a method checks itself.
    """

    def __call__(cls, *given: Any, **named: Any) -> Any:
        """Make a method. Raises: MethodError for a setting that is none."""
        fields: dict[str, Field[Any]] = getattr(cls, "__dataclass_fields__", {})
        own = [name for name, field in fields.items() if field.init and "ClassVar" not in str(field.type)]
        for name, value in (*zip(own, given, strict=False), *named.items()):
            if name in fields:
                _check(cls, name, str(fields[name].type), value)
        return super().__call__(*given, **named)


def _check(method: Any, setting: str, declared: str, value: Any) -> None:
    kind, optional = declared.removesuffix(" | None"), declared.endswith("| None")
    if kind not in _DECLARED or setting == "device" or (optional and value is None):
        return
    holds, advice = _DECLARED[kind]
    if kind == "int" and "seed" in setting:
        holds, advice = _is_seed, "Use a whole number of 0 or more, of up to 63 bits."
    if (
        kind == "float"
        and setting in getattr(method, "endless", ())
        and np.isscalar(value)
        and value == np.inf
    ):
        return
    if not holds(value):
        or_none = advice.rstrip(".") + ", or None." if optional else advice
        raise MethodError(f"'{method.name}' has {setting}={shown(value)}. {or_none}")


def _is_seed(value: Any) -> bool:
    return is_integer(value) and 0 <= value < 2**63


def _is_count(value: Any) -> bool:
    return is_integer(value) and 0 <= value <= MOST


def _is_amount(value: Any) -> bool:
    return is_real(value) and bool(0 <= value < 1e300)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _are_whole(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_count, value))


def _are_amounts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and _is_amount(v) for k, v in value.items())


def _are_weights(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and is_number(v) for k, v in value.items())


def _has(*names: str) -> Callable[[Any], bool]:
    """Whether an object has these attributes; a class has them for nobody."""
    return lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in names)


# how a field is declared -> what it may be, and what to use
_DECLARED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (_is_count, f"Use a whole number of 0 or more, at most {MOST:,}."),
    "float": (_is_amount, "Use a number of 0 or more."),
    "bool": (lambda value: isinstance(value, (bool, np.bool_)), "Use True or False."),
    "str": (lambda value: isinstance(value, str), "Use a text."),
    "Path | str": (_is_path, "Use a path."),
    "Tick": (callable, "Use a function."),
    "Sequence[int]": (_are_whole, "Use a list of whole numbers of 0 or more."),
    "tuple[int, ...]": (_are_whole, "Use a tuple of whole numbers of 0 or more."),
    "Mapping[str, float]": (_are_amounts, "Use names with a number of 0 or more each."),
    "str | Mapping[str, float]": (
        lambda value: isinstance(value, str) or _are_amounts(value),
        "Use a word, or names with a number of 0 or more each.",
    ),
    "Mapping[str, Mapping[str, float]]": (
        lambda value: isinstance(value, Mapping) and all(map(_are_weights, value.values())),
        "Use {name: {name: number}}.",
    ),
    "Sequence[Any]": (lambda value: isinstance(value, (list, tuple)), "Use a list."),
    "Generator": (_has("coding", "encode"), "Use a generator that was trained on the same schema."),
    "Groups | str": (
        lambda value: isinstance(value, str) or _has("member", "names")(value),
        "Use the name of a feature, or wayforward.groups.Groups.",
    ),
    "World": (_has("log_density"), "Use a world, such as wayforward.SCM."),
    "ICarma": (_has("recommend"), "Use a fitted method of the name icarma."),
    "PreferenceLaw | Draw": (
        lambda value: callable(value) or _has("profile", "w_min")(value),
        "Use a law of preferences, or a function that draws them.",
    ),
}


def require_setting(part: Named, setting: str, valid: bool, advice: str) -> None:
    """Raise MethodError with the setting's value and the advice unless it is valid."""
    if not valid:
        value = getattr(part, setting)
        raise MethodError(f"'{part.name}' has {setting}={shown(value)}. {advice}")


def check_least(part: Named, **least: float) -> None:
    """Check that settings are at least so much; None is the method's own default. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(part, setting)
        require_setting(part, setting, value is None or value >= low, f"Use {low} or more.")


def check_whole(part: Named, **least: int) -> None:
    """Check that settings are whole numbers of at least so much. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(part, setting)
        whole = is_integer(value)
        require_setting(part, setting, whole and value >= low, f"Use a whole number of {low} or more.")


def check_switches(part: Named, *settings: str) -> None:
    """Check that settings are True or False. Raises: MethodError."""
    for setting in settings:
        valid = isinstance(getattr(part, setting), (bool, np.bool_))
        require_setting(part, setting, valid, "Use True or False.")


def check_positive(part: Named, *settings: str) -> None:
    """Check that settings are above 0. Raises: MethodError."""
    for setting in settings:
        require_setting(part, setting, getattr(part, setting) > 0, "Use a number above 0.")


def check_list(part: Named, *settings: str) -> None:
    """Check that settings are lists or arrays of one dimension, or None. Raises: MethodError."""
    for setting in settings:
        require_setting(
            part, setting, _dimensions(getattr(part, setting)) in (None, 1), "Give a list, or leave it out."
        )


def check_table(part: Named, *settings: str) -> None:
    """Check that settings are tables or arrays (n, d), or None. Raises: MethodError."""
    for setting in settings:
        value = getattr(part, setting)
        table = hasattr(value, "columns") or isinstance(value, Mapping) or _dimensions(value) in (None, 2)
        require_setting(part, setting, table, "Give a table of people, or leave it out.")


def _dimensions(value: object) -> int | None:
    """How many dimensions an array, or a list of such, has; None: there is nothing; -1: it is of several lengths."""
    try:
        return None if value is None else np.ndim(value)  # type: ignore[arg-type]
    except ValueError:
        return -1


def check_choices(part: Named, **choices: Iterable[str]) -> None:
    """Check that settings are among the words that are known. Raises: MethodError."""
    for setting, known in choices.items():
        words = tuple(known)
        valid = is_one_of(getattr(part, setting), words)
        require_setting(part, setting, valid, f"Choose one of {', '.join(words)}.")


def slope_source(method: Method) -> dict[str, Any]:
    """Return where a fitted method's slopes come from, for its `parameters`; nothing before it is fitted."""
    found = getattr(method, "slopes_", None)
    return {} if found is None else {"slopes": "gradients" if found.exact else "estimates"}
