"""What answers in a file say of how they were made, looked at before sentences are made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from wayforward.errors import DataError, is_integer, is_number, is_whole, shown


def require_meta(meta: Any, features: Collection[str]) -> None:
    """Raise DataError for an entry of `Recourse.meta` of another kind than any answer has. features: of its schema."""
    if not isinstance(meta, dict):
        raise DataError(f"'meta' is {shown(meta)}. Ask again.")
    wrong = next((name for name, fits in _FITS.items() if name in meta and not fits(meta[name])), None)
    if wrong is None and "leads" in meta:
        known = set(features)
        fits = isinstance(meta["leads"], dict) and all(
            _texts(effects) and {cause, *effects} <= known for cause, effects in meta["leads"].items()
        )
        wrong = None if fits else "leads"
    if wrong is not None:
        raise DataError(f"'{wrong}' of 'meta' is {shown(meta[wrong])}, which it cannot be. Ask again.")


def _kind(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


def _needed(value: Any) -> bool:
    """Is this what `BoundTarget.needed` says?"""
    if not isinstance(value, dict):
        return False
    if "level" in value:
        return is_number(value["level"])
    ends = [value.get(end) for end in ("low", "high")]
    given = [end for end in ends if end is not None]
    sound = isinstance(value.get("unit", ""), str) and all(map(is_number, given))
    return sound and (not value or ({"low", "high"} <= set(value) and bool(given)))


def _room(value: Any) -> bool:
    names = ("share", "most", "moved", "price")
    return not value or (isinstance(value, dict) and all(is_number(value.get(name)) for name in names))


def _retraining(value: Any) -> bool:
    return isinstance(value, dict) and is_whole(value.get("judged", 0))


_FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("method", "target", "cost_unit", "not_certified"), _kind(str)),
    **dict.fromkeys(("parameters", "versions"), _kind(dict)),
    **dict.fromkeys(("kinds", "objectives"), _texts),
    **dict.fromkeys(("seconds_fit", "seconds_recommend"), is_number),
    **dict.fromkeys(
        ("model_rows", "model_calls", "native_rows", "n_shortened"), lambda n: is_whole(n, 0, 10**18)
    ),
    "rounded": _kind(bool),
    "question": _kind(dict, type(None)),
    "seed": is_integer,
    "askings": lambda n: is_whole(n, 1),
    "needed": _needed,
    "room": _room,
    "retraining": _retraining,
}

__all__ = ["require_meta"]
