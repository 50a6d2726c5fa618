"""Conditions as text, for a command line and for files: `within-delta:0.05`, `noise:0.02,alpha=0.1`, `models:5`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wayforward.errors import ProblemError
from wayforward.problem.robust.base import Robust
from wayforward.problem.robust.models import AllModels
from wayforward.problem.robust.noise import Stable, UnderNoise
from wayforward.problem.robust.weights import WithinDelta

Again = Callable[[int], Sequence[Any]]
_MOST = 100  # models trained again: more is a slip of the finger


def read(text: str | Iterable[str], again: Again | None = None) -> Robust:
    """A condition in words, or several that must all hold.

    NAME:VALUE, then settings as ,KEY=VALUE:

    - ``within-delta:0.05`` (norm=linf or l2, bias=yes or no): `WithinDelta`
    - ``noise:0.02`` (share=0.9 or alpha=0.1, on=acted or numbers, draws=100): `UnderNoise`
    - ``models:5``: `AllModels` of five that `again(5)` returns: the model trained again on resamples of the past
    - ``stable:0.5`` (sigma=0.02, kind=trex or robx, draws=100): `Stable`

    Example: ``read(["within-delta:0.05", "noise:0.02,share=0.95"])``.
    Raises: ProblemError that names the part at fault and what is known; for ``models`` where there is no `again`.
    """
    if isinstance(text, str):
        return _one(text, again)
    if not isinstance(text, Iterable) or isinstance(text, (bytes, dict)):
        raise ProblemError(f"robust: {text!r} is no text, and no list of them. Write one of {_examples()}.")
    parts = [_one(part, again) for part in text]
    found = Robust.of(parts) if parts else None
    if found is None:
        raise ProblemError(f"No condition was given. Write one of {_examples()}.")
    return found


def check(text: str | Iterable[str]) -> None:
    """Raises what `read` would, without training a model."""
    read(text, lambda m: [None] * m)


@dataclass(frozen=True)
class _Kind:
    example: str
    what: str  # the value, in words
    make: Callable[..., Robust]
    keys: dict[str, Callable[[str], Any]]


def _one(text: Any, again: Again | None) -> Robust:
    if not isinstance(text, str):
        raise ProblemError(
            f"robust: {text!r} is no text. Write one of {_examples()}, in quotes where a file needs them."
        )
    head, *rest = (part.strip() for part in text.split(","))
    name, colon, value = (part.strip() for part in head.partition(":"))
    kind = _KINDS.get(_ALSO.get(name, name))
    if kind is None:
        near = difflib.get_close_matches(name, [*_KINDS, *_ALSO], 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise ProblemError(f"robust '{text}': there is no '{name}'. Known: {', '.join(_KINDS)}.{hint}")
    if not colon or not value:
        raise ProblemError(f"robust '{text}': '{name}' needs {kind.what}. Write {kind.example}.")
    settings: dict[str, Any] = {}
    for part in rest:
        key, equals, given = (piece.strip() for piece in part.partition("="))
        if not equals or key not in kind.keys:
            raise ProblemError(
                f"robust '{text}': '{part}' is no setting of '{name}'. "
                + (f"It has {', '.join(f'{key}=' for key in kind.keys)}." if kind.keys else "It has none.")
            )
        if key in settings:
            raise ProblemError(f"robust '{text}': '{key}' is given twice. Leave one out.")
        settings[key] = _value(text, key, given, kind.keys[key])
    if "alpha" in settings:
        if "share" in settings:
            raise ProblemError(
                f"robust '{text}': share and alpha say the same (alpha = 1 - share). Leave one out."
            )
        alpha = settings.pop("alpha")
        if not 0 < alpha < 1:
            raise ProblemError(
                f"robust '{text}': alpha={alpha:g} is no probability between 0 and 1, such as 0.1."
            )
        settings["share"] = round(1 - alpha, 12)
    if kind.make is AllModels:
        m = _value(text, name, value, _whole)
        if not 1 <= m <= _MOST:
            raise ProblemError(f"robust '{text}': {m} models cannot be trained. Ask for 1 to {_MOST}.")
        if again is None:
            raise ProblemError(
                f"robust '{text}': there is no way to train the model again here. Use a condition that needs no "
                "other models, or Problem(robust=AllModels([...])) with models of your own."
            )
        return AllModels(again(m))
    try:
        return kind.make(_value(text, name, value, _number), **settings)
    except ProblemError as error:
        raise ProblemError(f"robust '{text}': {error}") from None


def _value(text: str, key: str, given: str, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(given)
    except ValueError:
        word = "a whole number" if convert is _whole else "yes or no" if convert is _yes else "a number"
        raise ProblemError(f"robust '{text}': '{given}' of '{key}' is not {word}.") from None


def _number(given: str) -> float:
    return float(_plain(given))


def _whole(given: str) -> int:
    return int(_plain(given))


def _plain(given: str) -> str:
    """As people write numbers: Python also takes 1_000 and the digits of other scripts."""
    if "_" in given or not given.isascii():
        raise ValueError
    return given


def _yes(given: str) -> bool:
    if given.lower() not in ("yes", "no", "true", "false"):
        raise ValueError
    return given.lower() in ("yes", "true")


def _stable(tau: float, sigma: float = 0.02, **more: Any) -> Stable:
    return Stable(tau, sigma, **more)


_KINDS = {
    "within-delta": _Kind(
        "within-delta:0.05", "how far weights may shift", WithinDelta, {"norm": str, "bias": _yes}
    ),
    "noise": _Kind(
        "noise:0.02,alpha=0.1",
        "the size of errors as a share of a range",
        UnderNoise,
        {"share": _number, "alpha": _number, "on": str, "draws": _whole},
    ),
    "models": _Kind("models:5", "how many models to train again", AllModels, {}),
    "stable": _Kind(
        "stable:0.5,sigma=0.02",
        "the stability to reach",
        _stable,
        {"sigma": _number, "kind": str, "draws": _whole},
    ),
}
_ALSO = {UnderNoise.name: "noise", AllModels.name: "models"}


def _examples() -> str:
    return ", ".join(kind.example for kind in _KINDS.values())
