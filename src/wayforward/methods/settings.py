"""Checks of the settings of methods and elicitors, worded alike, and what `parameters` adds to a method's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from wayforward.errors import MethodError

if TYPE_CHECKING:
    from wayforward.methods.base import Method


class Named(Protocol):
    """What has settings and a name to call it by in errors."""

    name: ClassVar[str]


def require_setting(part: Named, setting: str, valid: bool, advice: str) -> None:
    """Raise MethodError with the setting's value and the advice unless it is valid."""
    if not valid:
        value = getattr(part, setting)
        shown = repr(value) if isinstance(value, str) else value
        raise MethodError(f"'{part.name}' has {setting}={shown}. {advice}")


def check_least(part: Named, **least: float) -> None:
    """Check that settings are at least so much; None is the method's own default. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(part, setting)
        require_setting(part, setting, value is None or value >= low, f"Use {low} or more.")


def check_whole(part: Named, **least: int) -> None:
    """Check that settings are whole numbers of at least so much. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(part, setting)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
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


def check_choices(part: Named, **choices: Iterable[str]) -> None:
    """Check that settings are among the words that are known. Raises: MethodError."""
    for setting, known in choices.items():
        words = tuple(known)
        valid = getattr(part, setting) in words
        require_setting(part, setting, valid, f"Choose one of {', '.join(words)}.")


def slope_source(method: Method) -> dict[str, Any]:
    """Return where a fitted method's slopes come from, for its `parameters`; nothing before it is fitted."""
    found = getattr(method, "slopes_", None)
    return {} if found is None else {"slopes": "gradients" if found.exact else "estimates"}
