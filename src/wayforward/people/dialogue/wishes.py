"""What a person said they cannot do, as plain data: one wish each, so that one can be given up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, gettext, ngettext
from wayforward.people.dialogue.deadlines import deadline_sentence, later_words, within_words

if TYPE_CHECKING:
    from wayforward.preferences.preferences import Preferences
    from wayforward.schema import Schema

# feature and one of: can (False), low, high, levels (the indices that may be taken), weight, score with of;
# or, about no feature, act (the name of one that they will not do), max_changes, months (a deadline, with its words)
# or ranks (names, the easiest first).
Wish: TypeAlias = dict[str, Any]

HARD = ("can", "low", "high", "levels", "max_changes", "months", "act")


def preferences_of(schema: Schema, wishes: Sequence[Wish]) -> Preferences:
    """The wishes of one person as `Preferences` with n = 1. Raises: PreferencesError where two contradict."""
    from wayforward.preferences.preferences import Preferences

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
            out = out.at_most(wish["max_changes"])  # the last word counts, and so with deadlines
        elif "months" in wish:
            out = replace(
                out, months=np.full(1, float(wish["months"]))
            )  # acts take time where features do not
        elif "act" in wish:
            out = out.refuse(wish["act"])
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
    if np.isfinite(preferences.time[0]):
        out.append({"months": float(preferences.time[0]), "words": within_words(float(preferences.time[0]))})
    out += [{"act": act} for act, will_not in preferences.refused.items() if will_not[0]]
    return out


_CANNOT_GO = {
    ("up",): N_("Your {name} cannot go up."),
    ("down",): N_("Your {name} cannot go down."),
    ("down", "up"): N_("Your {name} cannot go down, or up."),
}
_DO = {
    "raise": N_("raise your {name}"),
    "lower": N_("lower your {name}"),
    "change": N_("change your {name}"),
}


def act_words(schema: Schema, name: str, verb: str | None = None) -> str:
    """ "raise your savings": what could be done about a feature; verb: raise, lower or change, where it is known."""
    feature = schema[name]
    return gettext(_DO[words.verb(feature) if verb is None else verb], name=words.label(feature))


def limit_sentences(schema: Schema, wishes: Sequence[Wish], x: np.ndarray) -> list[str]:
    """What somebody said, in sentences; x (d,). A limit on what cannot change at all says nothing more."""
    from wayforward.answers import wishes as sentences

    frozen = {wish["feature"] for wish in wishes if "can" in wish}
    still: dict[str, list[str]] = {}
    rest = []
    ends = [deadline_sentence(wish) for wish in wishes if "months" in wish][-1:]
    for wish in wishes:
        if "months" in wish:
            continue
        side = next((key for key in ("low", "high") if key in wish), None)
        if wish.get("feature") in frozen and not {"can", "weight", "score"} & set(wish):
            continue
        if side is not None and wish[side] == x[schema.index(wish["feature"])]:
            still.setdefault(wish["feature"], []).append("up" if side == "high" else "down")
        else:
            rest.append(wish)
    stays = [
        gettext(_CANNOT_GO[tuple(sorted(set(directions)))], name=words.label(schema[name]))
        for name, directions in still.items()
    ]
    out = sentences(preferences_of(schema, rest), 0)
    return [*out[: len(frozen) > 0], *stays, *out[len(frozen) > 0 :], *ends]


def given_up(schema: Schema, wishes: Sequence[Wish], x: np.ndarray) -> str:
    """Wishes about one thing as something to give up, after "if you could": "change your working time"."""
    first = wishes[-1]
    if "months" in first:
        return later_words(wishes[-1])
    if "act" in first:
        return str(first["act"])
    if "max_changes" in first:
        return ngettext(
            "change more than {n} thing", "change more than {n} things", int(first["max_changes"])
        )
    feature = schema[first["feature"]]
    name, now = words.label(feature), x[schema.index(first["feature"])]
    keys = {key for wish in wishes for key in wish}
    if "can" in keys:
        return act_words(schema, feature.name)
    if "levels" in keys:
        return gettext("choose another {name} than those you named", name=name)
    ends: dict[str, str] = {}
    for side, verb in (("low", "lower"), ("high", "raise")):
        values = [wish[side] for wish in wishes if side in wish]
        if values and values[0] == now and len(keys) == 2:
            return act_words(schema, feature.name, verb)
        if values:
            ends[side] = words.limit_value(feature, values[0])
    if len(ends) == 2:
        return gettext("go below {low} or above {high} with your {name}", name=name, **ends)
    if "low" in ends:
        return gettext("go below {low} with your {name}", name=name, **ends)
    return gettext("go above {high} with your {name}", name=name, **ends)
