"""How a condition is written as text: its value, its settings, and an example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Spelling:
    """example: 'noise:0.02,alpha=0.1'. value: what stands behind the colon, in words. keys: readers of settings."""

    example: str
    value: str
    keys: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)


def number(text: str) -> float:
    """Read a number. Raises: ValueError."""
    return float(_as_people_write(text))


def whole(text: str) -> int:
    """Read a whole number. Raises: ValueError."""
    return int(_as_people_write(text))


def yes(text: str) -> bool:
    """Read yes or no. Raises: ValueError."""
    if text.lower() not in ("yes", "no", "true", "false"):
        raise ValueError
    return text.lower() in ("yes", "true")


def convert(condition: str, key: str, text: str, reader: Callable[[str], Any]) -> Any:
    """Read one value of a condition. Raises: ValueError that says which value of what is at fault."""
    try:
        return reader(text)
    except ValueError:
        word = "a whole number" if reader is whole else "yes or no" if reader is yes else "a number"
        raise ValueError(f"'{text}' of '{key}' is not {word}.") from None


def _as_people_write(text: str) -> str:
    """Python also takes 1_000 and the digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError
    return text
