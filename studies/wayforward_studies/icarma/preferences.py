"""What the people of the study say they can do: drawn from a seed, the same for every method.

The same rankings serve every number of features and every profile, so that what differs between two lines of a
table is the limit and not the luck of the draw.

Source: iCARMA, appendices B.2 and C.1.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from wayforward.preferences import (
    LOAN_LAWS,
    Preferences,
    Profile,
    draw_rankings,
    draw_scores,
    draw_thresholds,
    loan_plan,
    ranking_law,
)
from wayforward.schema import Schema
from wayforward_studies.icarma.published import IcarmaCase

LEVELS = 4  # a ranking of four features and a scale of four scores


def actionable_names(schema: Schema) -> tuple[str, ...]:
    """The features that people are asked about: those that anybody may act on."""
    return tuple(f.name for f in schema.features if f.actionability == "actionable")


def law(schema: Schema, name: str) -> np.ndarray | None:
    """Probability of each ranking under a named law; None for the uniform one."""
    return None if name == "uniform" else ranking_law(actionable_names(schema), LOAN_LAWS[name])


def preferences(schema: Schema, case: IcarmaCase, n: int, *, seed: int = 0) -> Preferences:
    """The preferences of n people, which the seed decides."""
    wishes = Preferences.from_scores(schema, _scores(schema, case, n, seed), LEVELS, profile="constant")
    return weighed(wishes, case.profile)


def weighed(wishes: Preferences, profile: str) -> Preferences:
    """The same answers, turned into weights by another profile."""
    if wishes.score is None:
        return wishes
    shape: Any = profile
    chosen: Profile = shape
    return Preferences.from_scores(wishes.schema, wishes.score, LEVELS, profile=chosen)


def two_features(schema: Schema, privileged: np.ndarray, *, seed: int = 0) -> Preferences:
    """Two features for each person (threshold 3), drawn from the law of their profile; privileged (n,) bool."""
    return loan_plan(threshold=3, seed=seed).draw(
        schema, np.where(privileged, "privileged", "non-privileged"), "test"
    )


def _scores(schema: Schema, case: IcarmaCase, n: int, seed: int) -> np.ndarray:
    """(n, a) scores 1..4, and 5 for "I cannot", over the features that people are asked about."""
    a = len(actionable_names(schema))
    if case.elicited == "scores":
        return draw_scores(n, a, LEVELS, _stream(seed, "scores"), cannot=not case.features)
    ranks = draw_rankings(n, a, _stream(seed, f"ranks {case.law}"), law=law(schema, case.law))
    if case.features:
        threshold = np.full(n, case.features + 1)
    else:
        threshold = draw_thresholds(n, a, _stream(seed, "thresholds"))
    return np.where(ranks >= threshold[:, None], a + 1.0, ranks)


def _stream(seed: int, what: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(what.encode())])
