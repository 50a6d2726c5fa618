"""Checks of a method's settings, worded alike for all methods, and what `parameters` adds to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import MethodError

if TYPE_CHECKING:
    from wayforward.methods.base import Method


def require_setting(method: Method, setting: str, valid: bool, advice: str) -> None:
    """Raise MethodError with the setting's value and the advice unless it is valid."""
    if not valid:
        value = getattr(method, setting)
        shown = repr(value) if isinstance(value, str) else value
        raise MethodError(f"'{method.name}' has {setting}={shown}. {advice}")


def check_least(method: Method, **least: float) -> None:
    """Check that settings are at least so much; None is the method's own default. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(method, setting)
        require_setting(method, setting, value is None or value >= low, f"Use {low} or more.")


def check_whole(method: Method, **least: int) -> None:
    """Check that settings are whole numbers of at least so much. Raises: MethodError."""
    for setting, low in least.items():
        value = getattr(method, setting)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        require_setting(method, setting, whole and value >= low, f"Use a whole number of {low} or more.")


def check_switches(method: Method, *settings: str) -> None:
    """Check that settings are True or False. Raises: MethodError."""
    for setting in settings:
        valid = isinstance(getattr(method, setting), (bool, np.bool_))
        require_setting(method, setting, valid, "Use True or False.")


def check_positive(method: Method, *settings: str) -> None:
    """Check that settings are above 0. Raises: MethodError."""
    for setting in settings:
        require_setting(method, setting, getattr(method, setting) > 0, "Use a number above 0.")


def check_choices(method: Method, **choices: Iterable[str]) -> None:
    """Check that settings are among the words that the method knows. Raises: MethodError."""
    for setting, known in choices.items():
        words = tuple(known)
        valid = getattr(method, setting) in words
        require_setting(method, setting, valid, f"Choose one of {', '.join(words)}.")


def slope_source(method: Method) -> dict[str, Any]:
    """Return where a fitted method's slopes come from, for its `parameters`; nothing before it is fitted."""
    found = getattr(method, "slopes_", None)
    return {} if found is None else {"slopes": "gradients" if found.exact else "estimates"}
