"""What a column's name and values suggest about who can change it: proposals, to be confirmed by whoever knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.errors import SchemaError
from wayforward.schema.feature import Feature
from wayforward.schema.inference import days_in, least_change_of

_LABELS = frozenset(
    ("y", "label", "labels", "target", "outcome", "decision", "class", "granted", "approved", "accepted")
)
_PROTECTED = frozenset(
    ("sex", "gender", "race", "ethnicity", "ethnic", "nationality", "religion", "citizenship", "disability")
)
_FIXED = frozenset(("age", "born", "birth", "birthday", "birthdate", "dob", "birthplace", "marital", "caste"))
_YEARS = frozenset(("year", "yr", "jahr", "baujahr", "vintage", "built"))
_NAMES = frozenset(("id", "ids", "uuid", "guid", "identifier", "key"))
_DIGITS = frozenset(  # last words of names of numbers that nobody counts with, where most of them differ
    (
        "number",
        "no",
        "nr",
        "num",
        "ref",
        "reference",
        "case",
        "account",
        "zip",
        "zipcode",
        "postcode",
        "phone",
    )
)
_PAST = frozenset(
    (
        "past", "prior", "priors", "previous", "ever", "since", "history", "late", "overdue", "delinquency",
        "delinquencies", "delinquent", "default", "defaults", "bankruptcy", "bankruptcies", "inquiries", "arrests",
        "convictions", "claims",
    )
)  # fmt: skip
_UP = frozenset(("income", "salary", "salaries", "wage", "wages", "earnings", "education", "schooling"))
_OWN = frozenset(
    ("savings", "saving", "assets", "asset", "wealth", "balance", "balances")
)  # money of one's own
_OWN_WORDS = _OWN | frozenset(  # with which such a name is plainly that: a balance of a card or a loan is none
    (
        "account", "accounts", "bank", "checking", "deposit", "deposits", "cash", "liquid", "own", "my", "personal",
        "household", "total", "amount", "average", "avg", "mean", "monthly", "value", "in", "of", "eur", "usd", "gbp",
        "chf", "euro", "euros",
    )
)  # fmt: skip
_MOST_CLASSES = 10
_BELOW = (-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -99.0, -999.0, -9999.0)
_ABOVE = (96.0, 97.0, 98.0, 99.0, 996.0, 997.0, 998.0, 999.0, 9998.0, 9999.0, 99999.0, 999999.0)
_MOST_CODES = 3
_FEWEST = 5  # different numbers beside which a code stands out
_FAR = 10.0  # times as far from zero as the code: fewer numbers will do


def check_label(name: str, different: int) -> None:
    """Raise SchemaError for a column that is called like a decision and has few values."""
    if name.lower() in _LABELS and different <= _MOST_CLASSES:
        raise SchemaError(
            f"Column '{name}' is called like the decision itself, which is no feature. Leave it out with "
            f"Schema.infer(table, label={name!r}); if it is a feature, say something about it: {name}={{}}."
        )


def propose(feature: Feature, values: np.ndarray, rows: int) -> tuple[Feature, str]:
    """Return the feature with what its name and values suggest, and that in words; '' where they suggest nothing.

    values: the different ones, in so many rows.
    """
    if feature.carried:
        dates = feature.dtype.startswith(("date", "time")) or days_in(values.tolist())
        held = "dates" if dates else "texts that are people's own"
        return replace(
            feature, missing="stays" if feature.missing else False
        ), f"holds {held}: the model is given them as they are, nobody acts on them"
    notes = []
    found = codes_in(values) if not feature.has_levels else ()
    if found:
        values = values[~np.isin(values, found)]
        feature = replace(
            feature,
            special={v: f"code {v:g}" for v in found},
            low=float(values.min()),
            high=float(values.max()),
            least_change=least_change_of(values, feature.step, rows),
        )
        shown = ", ".join(f"{v:g}" for v in found)
        notes.append(
            f"{shown} {'is a state and no number' if len(found) == 1 else 'are states and no numbers'}"
        )
    if feature.missing:
        feature = replace(feature, missing="stays")
        notes.append("a missing value stays missing")
    feature, guess = _by_name(feature, len(values), rows)
    if feature.kind == "integer" and feature.actionability == "actionable" and _looks_coded(values, rows):
        shown = ", ".join(f"{v:g}" for v in np.sort(values))
        notes.append(f"holds only {shown}; if these are codes, infer it with kind='categorical'")
    return feature, "; ".join([*notes, *([guess] if guess else [])])


def names_people(feature: Feature, different: int, rows: int) -> bool:
    """True for a column of texts whose name is that of an identifier, and whose values nearly all differ."""
    texts = feature.has_levels and all(isinstance(level, str) for level in feature.levels)
    return texts and bool(_words(feature.name) & _NAMES) and different > rows / 2


def is_year(feature: Feature, words: Iterable[str]) -> bool:
    """True for the year of a calendar: a whole number between 1000 and 2200, with a word for it in its name."""
    within = (
        feature.low is not None and feature.high is not None and feature.low >= 1000 and feature.high <= 2200
    )
    return feature.kind == "integer" and within and not _YEARS.isdisjoint(words)


def is_identifier(feature: Feature) -> bool:
    """True for a feature that nobody changes and that is called an identifier: customer_id."""
    return feature.actionability == "immutable" and bool(_words(feature.name) & _NAMES)


def codes_in(values: np.ndarray) -> tuple[float, ...]:
    """Return those of the different values (m,) that look like codes of a state: -9, 99, 9999 and the like, far off.

    Codes below zero count where everything else is zero or more, and beside fewer than five other numbers where each is
    ten times as far from zero (-7, 500, 1000); large ones where everything else is at most a third.
    """
    below = values[np.isin(values, _BELOW)]
    rest = values[~np.isin(values, below)]
    far = below.size and len(rest) > 1 and rest.min() >= -_FAR * below.min()
    counted_down = np.isin((-1.0, -2.0), below).all()  # a run of numbers below zero is no set of codes
    if (
        len(below) > _MOST_CODES
        or counted_down
        or (len(rest) < _FEWEST and not far)
        or rest.min() < 0
        or not (rest == np.round(rest)).all()
    ):
        below, rest = below[:0], values
    above: np.ndarray = rest[np.isin(rest, _ABOVE)]
    plain = rest[~np.isin(rest, above)]
    if len(plain) < _FEWEST or plain.min() < 0 or not above.size or plain.max() > above.min() / 3:
        above = above[:0]
    return tuple(float(v) for v in np.sort(np.concatenate([below, above])))


def _looks_coded(values: np.ndarray, rows: int) -> bool:
    """True for 3 to 10 whole numbers, often repeated, at uneven distances that leave out half of the range or more."""
    if not 3 <= len(values) <= _MOST_CLASSES or rows < 10 * len(values):
        return False
    gaps = np.diff(np.sort(values))
    return bool(gaps.sum() + 1 > 2 * len(values) and np.ptp(gaps) > 0)


def _by_name(feature: Feature, different: int, rows: int) -> tuple[Feature, str]:
    words = _words(feature.name)
    if words & _PROTECTED:
        kind: dict[str, Any] = {"sensitive": True} if feature.has_levels else {}
        return replace(
            feature, actionability="immutable", **kind
        ), "nobody changes it; groups may be compared"
    if words & _FIXED:
        return replace(feature, actionability="immutable"), "nobody changes it"
    if is_year(feature, words):
        return replace(feature, actionability="immutable"), "is a year of the calendar, so nobody changes it"
    if words & _NAMES or (feature.kind == "integer" and different == rows > 50 and _in_turn(feature, rows)):
        return replace(feature, actionability="immutable"), "names people, so nobody changes it"
    if (
        feature.kind == "integer"
        and different > rows / 2
        and rows > 50
        and _words_of(feature.name)[-1] in _DIGITS
    ):
        return replace(feature, actionability="immutable"), "is a name in digits, so nobody changes it"
    if words & _PAST:
        return replace(feature, actionability="immutable"), "is about the past, so nobody changes it"
    if words & _UP and feature.ordered and feature.kind != "binary":
        return replace(feature, direction="increase"), "goes up only"
    if words & _OWN and words <= _OWN_WORDS and feature.ordered and feature.kind != "binary":
        return replace(feature, direction="increase"), "is one's own money, so it is not lowered"
    return feature, ""


def _words(name: str) -> set[str]:
    return set(_words_of(name)) - {""}


def _words_of(name: str) -> list[str]:
    """The words of a name in their order, small; one empty word where it has none."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", parts.lower()) if word] or [""]


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
