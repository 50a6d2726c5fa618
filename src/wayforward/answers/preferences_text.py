"""What a person said about themselves, in plain sentences: what they cannot change, how far, what is harder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError

if TYPE_CHECKING:
    from wayforward.preferences import Preferences

_MOST_NAMED = 4


def wishes(preferences: Preferences, i: int) -> list[str]:
    """Person i's limits and weights as sentences; empty where they said nothing.

    Example: ["You cannot change your income.", "You want to change 2 things at most."].
    Raises: DataError if there is no such person.
    """
    if not -preferences.n <= i < preferences.n:
        raise DataError(f"There is no person {i}; people are numbered 0 to {preferences.n - 1}.")
    free = preferences.schema.actionable & ~preferences.frozen[i]
    return limits(preferences, i) + _harder(preferences, i, free)


def limits(preferences: Preferences, i: int) -> list[str]:
    """Person i's limits alone as sentences."""
    schema, sentences = preferences.schema, list[str]()
    free = schema.actionable & ~preferences.frozen[i]
    fixed = np.flatnonzero(schema.actionable & preferences.frozen[i])
    if fixed.size:
        names = [f"your {words.label(schema.features[j])}" for j in fixed]
        sentences.append(f"You cannot change {words.join(names, 'or')}.")
    for j in np.flatnonzero(~schema.immutable):
        sentences += _limits(preferences, i, int(j))
    if preferences.most[i] < min(schema.d, int(free.sum())):
        sentences.append(f"You want to change {words.count(int(preferences.most[i]), 'thing')} at most.")
    if np.isfinite(preferences.time[i]):
        shown = words.number(preferences.time[i])
        unit = "month" if preferences.time[i] == 1 else "months"
        sentences.append(f"You want to be done within {shown} {unit}.")
    return sentences


def _limits(preferences: Preferences, i: int, j: int) -> list[str]:
    feature = preferences.schema.features[j]
    name, low, high = words.label(feature), preferences.low[i, j], preferences.high[i, j]
    sentences = []
    if np.isfinite(high):
        sentences.append(f"Your {name} can be {words.limit_value(feature, high)} at most.")
    if np.isfinite(low):
        sentences.append(f"Your {name} can be {words.limit_value(feature, low)} at least.")
    if j in preferences.levels and not preferences.levels[j][i].all():
        ok = preferences.levels[j][i]
        short = ok.sum() <= _MOST_NAMED
        named = [words.quoted(words.level_words(feature, float(v))) for v in np.flatnonzero(ok == short)]
        if not ok.any():
            sentences.append(f"Your {name} cannot become anything else.")
        elif short:
            sentences.append(f"Your {name} can only become {words.join(named, 'or')}.")
        else:
            sentences.append(f"Your {name} cannot become {words.join(named, 'or')}.")
    return sentences


def _harder(preferences: Preferences, i: int, free: np.ndarray) -> list[str]:
    weight = preferences.weight[i]
    places = np.flatnonzero(free)
    values = np.unique(weight[places])
    if len(values) < 2:
        return []
    features = preferences.schema.features
    if len(values) == len(places) and len(places) <= 6:
        order = [words.label(features[j]) for j in places[np.argsort(weight[places], kind="stable")]]
        return [f"From the easiest to the hardest for you: {words.join(order)}."]
    hard = [f"your {words.label(features[j])}" for j in places[weight[places] == values[-1]]]
    return [f"What is hardest for you to change: {words.join(hard[:_MOST_NAMED])}."]
