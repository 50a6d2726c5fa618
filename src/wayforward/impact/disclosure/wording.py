"""The words of an attack's page, in the language in use."""

from __future__ import annotations

import numpy as np

from wayforward.answers import words
from wayforward.evaluate.stats import Estimate
from wayforward.language import N_, gettext

_ATTACKS = {
    "labels": N_("decisions of people at random"),
    "both": N_("decisions of people at random, and their options"),
    "options": N_("options of refused people"),
    "boundary": N_("options, and what lies just short of them"),
    "balls": N_("options, and factual balls"),
    "plane": N_("plane through the options"),
}
_FAMILIES = {"line": N_("Linear model"), "forest": N_("Forest"), "net": N_("Net")}
_SCORES = {
    "cost": N_("cost of the answer"),
    "distance": N_("distance to the answer"),
    "closeness": N_("closeness to answers of others"),
    "surprise": N_("distance beyond what shadow models expect"),
}


def attack_name(name: str) -> str:
    """Return what a copy was taught by."""
    return gettext(_ATTACKS[name])


def family_name(name: str) -> str:
    """Return the kind of a copy."""
    return gettext(_FAMILIES[name])


def score_name(name: str) -> str:
    """Return by what somebody is taken for a member."""
    return gettext(_SCORES[name])


def defence_name(name: str) -> str:
    """Return a way of answering; names that the library does not know stay as they are."""
    return gettext(name)


def share(e: Estimate) -> str:
    """Return a share with its interval; "not measured" where nothing was."""
    if not np.isfinite(e.value):
        return gettext("not measured")
    if not np.isfinite(e.low):
        return words.percent(e.value, 1)
    return gettext(
        "{value} ({low} to {high})", value=words.percent(e.value, 1), low=words.percent(e.low, 1),
        high=words.percent(e.high, 1),
    )  # fmt: skip


def value(e: Estimate, digits: int = 2) -> str:
    """Return a number with its interval; "not measured" where nothing was."""
    if not np.isfinite(e.value):
        return gettext("not measured")
    return gettext(
        "{value} ({low} to {high})", value=words.number(e.value, digits), low=words.number(e.low, digits),
        high=words.number(e.high, digits),
    )  # fmt: skip


__all__ = ["attack_name", "defence_name", "family_name", "score_name", "share", "value"]
