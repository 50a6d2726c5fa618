"""Conditions as text, for a command line and for files: `within-delta:0.05`, `noise:0.02,alpha=0.1`, `models:5`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from wayforward.errors import ProblemError, is_list
from wayforward.problem.robust.base import Again, Robust
from wayforward.problem.robust.spelling import Spelling, convert
from wayforward.public import public
from wayforward.registry import Registry

ROBUST = Registry(
    "condition",
    "wayforward.problem.robust",
    ProblemError,
    {
        "within-delta": "weights:WithinDelta",
        "noise": "noise:UnderNoise",
        "models": "models:AllModels",
        "next": "next_model:NextModel",
        "stable": "noise:Stable",
    },
)

register_robust = ROBUST.register


@public
def read(text: str | Iterable[str], again: Again | None = None) -> Robust:
    """A condition in words, or several that must all hold.

    NAME:VALUE, then settings as ,KEY=VALUE:

    - ``within-delta:0.05`` (norm=linf or l2, bias=yes or no): `WithinDelta`
    - ``noise:0.02`` (share=0.9 or alpha=0.1, on=acted or numbers, draws=100): `UnderNoise`
    - ``models:5``: `AllModels` of five that `again(5)` returns: the model trained again on resamples of the past
    - ``next:20`` (share=0.9): `NextModel` of twenty that `again(20)` returns
    - ``stable:0.5`` (sigma=0.02, kind=trex or robx, draws=100): `Stable`

    Example: ``read(["within-delta:0.05", "noise:0.02,share=0.95"])``.
    Raises: ProblemError that names the part at fault and what is known; for ``models`` and ``next`` without `again`.
    """
    if isinstance(text, str):
        return _one(text, again)
    if not is_list(text, texts=True) or isinstance(text, (bytes, dict)):
        raise ProblemError(f"robust: {text!r} is no text, and no list of them. Write one of {_examples()}.")
    parts = [_one(part, again) for part in text]
    found = Robust.of(parts) if parts else None
    if found is None:
        raise ProblemError(f"No condition was given. Write one of {_examples()}.")
    return found


@public
def check(text: str | Iterable[str]) -> None:
    """Raises what `read` would, without training a model."""
    read(text, lambda m: [None] * m)


def _one(text: Any, again: Again | None) -> Robust:
    if not isinstance(text, str):
        raise ProblemError(
            f"robust: {text!r} is no text. Write one of {_examples()}, in quotes where a file needs them."
        )
    head, *rest = (part.strip() for part in text.split(","))
    name, colon, value = (part.strip() for part in head.partition(":"))
    kind = _kinds().get(name)
    if kind is None or kind.spelling is None:
        near = difflib.get_close_matches(name, _kinds(), 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise ProblemError(f"robust '{text}': there is no '{name}'. Known: {', '.join(ROBUST)}.{hint}")
    if not colon or not value:
        raise ProblemError(
            f"robust '{text}': '{name}' needs {kind.spelling.value}. Write {kind.spelling.example}."
        )
    try:
        return kind.from_text(name, value, _settings(name, rest, kind.spelling), again)
    except (ValueError, ProblemError) as error:
        raise ProblemError(f"robust '{text}': {error}") from None


def _settings(name: str, parts: Sequence[str], spelling: Spelling) -> dict[str, Any]:
    """Read KEY=VALUE parts. Raises: ValueError that names the part at fault."""
    settings: dict[str, Any] = {}
    for part in parts:
        key, equals, given = (piece.strip() for piece in part.partition("="))
        if not equals or key not in spelling.keys:
            known = ", ".join(f"{key}=" for key in spelling.keys)
            raise ValueError(
                f"'{part}' is no setting of '{name}'. " + (f"It has {known}." if known else "It has none.")
            )
        if key in settings:
            raise ValueError(f"'{key}' is given twice. Leave one out.")
        settings[key] = convert(name, key, given, spelling.keys[key])
    if "alpha" in settings:
        if "share" in settings:
            raise ValueError("share and alpha say the same (alpha = 1 - share). Leave one out.")
        alpha = settings.pop("alpha")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha={alpha:g} is no probability between 0 and 1, such as 0.1.")
        settings["share"] = round(1 - alpha, 12)
    return settings


def _kinds() -> dict[str, type[Robust]]:
    """Return the conditions by the names of the table, and by their own."""
    found: dict[str, type[Robust]] = {name: ROBUST.find(name) for name in ROBUST}
    return found | {kind.name: kind for kind in found.values()}


def _examples() -> str:
    kinds = (ROBUST.find(name) for name in ROBUST)
    return ", ".join(kind.spelling.example for kind in kinds if kind.spelling is not None)
