"""Somebody acts for somebody else: a family member, a counsel, a guardian."""

from __future__ import annotations

import numpy as np

from wayforward.errors import PreferencesError, is_number, require_kind, require_switch, shown
from wayforward.preferences.preferences import Preferences
from wayforward.public import public


@public
def on_behalf(
    subject: Preferences, actor: Preferences, *, share: float = 1.0, refusals: bool = True
) -> Preferences:
    """Return the preferences under which an actor seeks recourse for a subject, person by person (n of each).

    Whose cost counts: weights are ``share x actor + (1 - share) x subject``; 1: only the actor's effort, 0: only what
    the subject bears. Whose constraints hold: what the actor cannot do (frozen) and where either lets the subject be
    led (limits and levels, of consequences too) are kept, and the smaller number of changes and of months. refusals:
    what the subject froze, and acts that they refuse, no actor does; False: the subject alone cannot do it, and the
    actor may.
    Where the limits of the two leave no value, the feature is frozen, and the subject's limits stay. Who can act at all
    on a feature is the schema's: ``problem.with_(schema=schema.revise(...))`` where an actor can do more.

    Raises: PreferencesError for another number of people, other features, and a share outside 0 to 1.
    Source: A.-H. Karimi, G. Barthe, B. Schoelkopf & I. Valera (2022), A survey of algorithmic recourse, section 5.3.
    Example: ``wf.recommend(problem, x, preferences=on_behalf(patient, daughter, share=0.5))``.
    """
    require_kind(subject, Preferences, "subject", PreferencesError)
    require_kind(actor, Preferences, "actor", PreferencesError)
    require_switch(refusals, "refusals", PreferencesError)
    if not is_number(share) or not 0 <= share <= 1:
        raise PreferencesError(
            f"share={shown(share)} is no share of the cost. Give 0 (the subject's) to 1 (the actor's)."
        )
    actor.schema.require_read_alike(
        subject.schema,
        "The subject's and the actor's preferences follow different schemas",
        "Give both over one schema.",
        PreferencesError,
    )
    if subject.n != actor.n:
        raise PreferencesError(
            f"The subject's preferences are of {subject.n} people, the actor's of {actor.n}. "
            "Give both for the same people, in the same order."
        )
    low, high = np.maximum(subject.low, actor.low), np.minimum(subject.high, actor.high)
    frozen, nothing = actor.frozen | (subject.frozen & refusals), low > high
    levels = {}
    for j in subject.levels.keys() | actor.levels.keys():
        both = subject.level_ok(j) & actor.level_ok(j)
        none = ~both.any(1)
        nothing[:, j] |= none
        levels[j] = np.where(none[:, None], subject.level_ok(j), both)
    refused = {act: no & refusals for act, no in subject.refused.items()}
    for act, no in actor.refused.items():
        refused[act] = refused.get(act, False) | no
    return Preferences(
        subject.schema, frozen | nothing, np.where(nothing, subject.low, low),
        np.where(nothing, subject.high, high), share * actor.weight + (1 - share) * subject.weight, levels,
        np.minimum(subject.most, actor.most), months=np.minimum(subject.time, actor.time),
        refused=refused,
    )  # fmt: skip
