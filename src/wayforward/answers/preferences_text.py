"""What a person said about themselves, in plain sentences: what they cannot change, how far, what is harder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError, no_person
from wayforward.language import gettext, ngettext
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.preferences import Preferences

_MOST_NAMED = 4


@public
def wishes(preferences: Preferences, i: int) -> list[str]:
    """Person i's limits and weights as sentences; empty where they said nothing.

    Example: ["You cannot change your income.", "You want to change 2 things at most."].
    Raises: DataError if there is no such person.
    """
    if not -preferences.n <= i < preferences.n:
        raise DataError(no_person(i, preferences.n))
    free = preferences.schema.actionable & ~preferences.frozen[i]
    return limits(preferences, i) + _harder(preferences, i, free)


def limits(preferences: Preferences, i: int) -> list[str]:
    """Person i's limits alone as sentences."""
    schema, sentences = preferences.schema, list[str]()
    free = schema.actionable & ~preferences.frozen[i]
    fixed = np.flatnonzero(schema.actionable & preferences.frozen[i])
    if fixed.size:
        names = words.join([_your(preferences, int(j)) for j in fixed], "or")
        sentences.append(gettext("You cannot change {names}.", names=names))
    for j in np.flatnonzero(~schema.immutable):
        sentences += _limits(preferences, i, int(j))
    if preferences.most[i] < min(schema.d, int(free.sum())):
        many = int(preferences.most[i])
        sentences.append(
            ngettext("You want to change {n} thing at most.", "You want to change {n} things at most.", many)
        )
    if np.isfinite(preferences.time[i]):
        sentences.append(
            ngettext(
                "You want to be done within {n} month.",
                "You want to be done within {n} months.",
                1 if preferences.time[i] == 1 else 2,
                n=words.number(preferences.time[i]),
            )
        )
    refused = [act for act, will_not in preferences.refused.items() if will_not[i]]
    if refused:
        sentences.append(gettext("You cannot do this: {acts}.", acts="; ".join(refused)))
    return sentences


def _your(preferences: Preferences, j: int) -> str:
    return gettext("your {name}", name=words.label(preferences.schema.features[j]))


def _limits(preferences: Preferences, i: int, j: int) -> list[str]:
    feature = preferences.schema.features[j]
    name, low, high = words.label(feature), preferences.low[i, j], preferences.high[i, j]
    sentences = []
    if np.isfinite(high):
        most = words.limit_value(feature, high)
        sentences.append(gettext("Your {name} can be {value} at most.", name=name, value=most))
    if np.isfinite(low):
        least = words.limit_value(feature, low)
        sentences.append(gettext("Your {name} must be at least {value}.", name=name, value=least))
    if j in preferences.levels and not preferences.levels[j][i].all():
        ok = preferences.levels[j][i]
        short = ok.sum() <= _MOST_NAMED
        some = [words.quoted(words.level_words(feature, float(v))) for v in np.flatnonzero(ok == short)]
        named = words.join(some, "or")
        if not ok.any():
            sentences.append(gettext("Your {name} cannot become anything else.", name=name))
        elif short:
            sentences.append(gettext("Your {name} can only become {values}.", name=name, values=named))
        else:
            sentences.append(gettext("Your {name} cannot become {values}.", name=name, values=named))
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
        return [gettext("From the easiest to the hardest for you: {names}.", names=words.join(order))]
    hard = [_your(preferences, int(j)) for j in places[weight[places] == values[-1]]]
    names = words.join(hard[:_MOST_NAMED])
    return [gettext("What is hardest for you to change: {names}.", names=names)]
