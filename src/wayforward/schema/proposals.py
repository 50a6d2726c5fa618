"""What a column's name and values suggest about who can change it: proposals, to be confirmed by whoever knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import SchemaError
from wayforward.schema.feature import Feature

_LABELS = frozenset(
    ("y", "label", "labels", "target", "outcome", "decision", "class", "granted", "approved", "accepted")
)
_PROTECTED = frozenset(
    ("sex", "gender", "race", "ethnicity", "ethnic", "nationality", "religion", "citizenship", "disability")
)
_FIXED = frozenset(("age", "born", "birth", "birthday", "birthdate", "dob", "birthplace", "marital", "caste"))
_NAMES = frozenset(("id", "ids", "uuid", "guid", "identifier", "key"))
_PAST = frozenset(
    (
        "past", "prior", "priors", "previous", "ever", "since", "history", "late", "overdue", "delinquency",
        "delinquencies", "delinquent", "default", "defaults", "bankruptcy", "bankruptcies", "inquiries", "arrests",
        "convictions", "claims",
    )
)  # fmt: skip
_UP = frozenset(("income", "salary", "salaries", "wage", "wages", "earnings", "education", "schooling"))
_MOST_CLASSES = 10


def check_label(name: str, different: int) -> None:
    """Raise SchemaError for a column that is called like a decision and has few values."""
    if name.lower() in _LABELS and different <= _MOST_CLASSES:
        raise SchemaError(
            f"Column '{name}' is called like the decision itself, which is no feature. Leave it out with "
            f"Schema.infer(table, label={name!r}); if it is a feature, say something about it: {name}={{}}."
        )


def propose(feature: Feature, different: int, rows: int) -> tuple[Feature, str]:
    """Return the feature with what its name and values suggest, and that in words; '' where they suggest nothing.

    different: how many values there are in so many rows.
    """
    words = _words(feature.name)
    if words & _PROTECTED:
        kind: dict[str, Any] = {"sensitive": True} if feature.has_levels else {}
        return replace(
            feature, actionability="immutable", **kind
        ), "nobody changes it; groups may be compared"
    if words & _FIXED:
        return replace(feature, actionability="immutable"), "nobody changes it"
    if words & _NAMES or (feature.kind == "integer" and different == rows > 50 and _in_turn(feature, rows)):
        return replace(feature, actionability="immutable"), "names people, so nobody changes it"
    if words & _PAST:
        return replace(feature, actionability="immutable"), "is about the past, so nobody changes it"
    if words & _UP and feature.ordered and feature.kind != "binary":
        return replace(feature, direction="increase"), "goes up only"
    return feature, ""


def _words(name: str) -> set[str]:
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.split(r"[^a-z]+", parts.lower())) - {""}


def _in_turn(feature: Feature, rows: int) -> bool:
    """True if the whole numbers are all different and lie as close as numbers that are given out one by one."""
    assert feature.low is not None and feature.high is not None
    return feature.high - feature.low < 2 * rows


def learnt_levels(change: dict[str, Any], values: Sequence[Any]) -> dict[str, Any]:
    """Return the revision of a column with the levels of its values where it is to have levels and names none."""
    if change.get("kind") not in ("binary", "ordinal", "categorical") or "levels" in change:
        return change
    plain = {v.item() if isinstance(v, np.generic) else v for v in values}
    whole = all(isinstance(v, float) and v.is_integer() for v in plain)
    return {**change, "levels": sorted({int(v) for v in plain} if whole else plain)}
