"""What a person said they cannot do, as plain data: one wish each, so that one can be given up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wayforward.answers import words

if TYPE_CHECKING:
    from wayforward.people.preferences import Preferences
    from wayforward.schema import Schema

# feature and one of: can (False), low, high, levels (the indices that may be taken), weight, score with of;
# or, about no feature, max_changes or ranks (names, the easiest first).
Wish: TypeAlias = dict[str, Any]

HARD = ("can", "low", "high", "levels", "max_changes")


def preferences_of(schema: Schema, wishes: Sequence[Wish]) -> Preferences:
    """The wishes of one person as `Preferences` with n = 1. Raises: PreferencesError where two contradict."""
    from wayforward.people.preferences import Preferences

    out = Preferences.none(schema, 1)
    scores: dict[str, list[float]] = {}
    levels, ranks = 5, None
    for wish in wishes:
        name = wish.get("feature", "")
        if "can" in wish:
            out = out.freeze(name)
        elif "low" in wish:
            low = out.low.copy()
            low[0, schema.index(name)] = max(low[0, schema.index(name)], wish["low"])
            out = replace(out, low=low)
        elif "high" in wish:
            high = out.high.copy()
            high[0, schema.index(name)] = min(high[0, schema.index(name)], wish["high"])
            out = replace(out, high=high)
        elif "levels" in wish:
            j = schema.index(name)
            ok = out.level_ok(j) & np.isin(np.arange(schema.n_levels[j]), wish["levels"])[None]
            out = replace(out, levels={**out.levels, j: ok})
        elif "weight" in wish:
            out = out.weigh({name: wish["weight"]})
        elif "score" in wish:
            scores[name], levels = [float(wish["score"])], int(wish["of"])
        elif "ranks" in wish:
            ranks = list(wish["ranks"])
        elif "max_changes" in wish:
            out = out.at_most(min(int(out.most[0]), wish["max_changes"]))
    given = None
    if ranks:
        given = Preferences.from_rankings(schema, [ranks])
    elif scores:
        given = Preferences.from_likert(schema, scores, levels)
    if given is not None:
        own = np.ones((1, schema.d))
        own[0, [schema.index(name) for name in (ranks or scores)]] = 1.0
        out = replace(
            out,
            weight=out.weight * np.where(given.frozen, 1.0, given.weight),
            score=given.score,
            score_levels=given.score_levels,
        )
    return out


def wishes_of(preferences: Preferences) -> list[Wish]:
    """Stored preferences of one person (n = 1) as single wishes."""
    schema, out = preferences.schema, list[Wish]()
    for j, name in enumerate(schema.names):
        if preferences.frozen[0, j] and schema.actionable[j]:
            out.append({"feature": name, "can": False})
        for side in ("low", "high"):
            value = float(getattr(preferences, side)[0, j])
            if np.isfinite(value):
                out.append({"feature": name, side: value})
        if j in preferences.levels and not preferences.levels[j][0].all():
            out.append({"feature": name, "levels": np.flatnonzero(preferences.levels[j][0]).tolist()})
        if preferences.weight[0, j] != 1.0:
            out.append({"feature": name, "weight": float(preferences.weight[0, j])})
    if preferences.most[0] < schema.d:
        out.append({"max_changes": int(preferences.most[0])})
    return out


def given_up(schema: Schema, wish: Wish) -> str:
    """The wish as something to give up, after "if you could": "change your working time"."""
    if "max_changes" in wish:
        return f"change more than {words.count(wish['max_changes'], 'thing')}"
    feature = schema[wish["feature"]]
    name = words.label(feature)
    if "can" in wish:
        way = {"increase": "raise", "decrease": "lower"}.get(feature.direction, "change")
        return f"{way if feature.ordered and feature.kind != 'binary' else 'change'} your {name}"
    if "levels" in wish:
        return f"choose another {name} than those you named"
    side, value = ("high", wish["high"]) if "high" in wish else ("low", wish["low"])
    shown = shown_value(schema, schema.index(wish["feature"]), value)
    return f"go {'above' if side == 'high' else 'below'} {shown} with your {name}"


def shown_value(schema: Schema, j: int, value: float) -> str:
    """A limit in words: no more digits than somebody would say."""
    feature = schema.features[j]
    if feature.has_levels:
        at = float(np.clip(round(value), 0, feature.n_levels - 1))
        return words.quoted(words.level_words(feature, at))
    return words.value_text(feature, value, max(words.about(value, 4), words.decimals_of(value, 2)))
