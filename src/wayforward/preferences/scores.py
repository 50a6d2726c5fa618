"""Actionability scores -> weights of the cost, and priors of methods that learn what to change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wayforward.errors import PreferencesError, is_one_of, numbers_in
from wayforward.public import public
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

Profile: TypeAlias = Literal["constant", "linear", "convex", "concave"]

#: Exponent of each cost profile (iCARMA); 'constant' ignores the scores.
GAMMAS: dict[str, float] = {"constant": 0.0, "linear": 1.0, "convex": 2.0, "concave": 0.5}


@public
def score_weights(
    score: npt.ArrayLike,
    levels: int,
    *,
    profile: Profile = "linear",
    w_min: float = 1.0,
    w_max: float = 10.0,
    gamma: float | None = None,
) -> Floats:
    """Cost weights of actionability scores, same shape: ``w_min + (w_max - w_min) t ** gamma``.

    ``t = (score - 1) / (levels - 1)`` runs from 0 for the easiest to 1 for the hardest; with one level t is
    0. The profiles set gamma: linear 1, convex 2, concave 0.5; constant gives 1 everywhere. Scores that are
    0, NaN or `levels` + 1 ('cannot': nobody acts there) get `w_min`. Raises: PreferencesError for scores off the scale.

    Example: ``score_weights([1, 2, 3, 4], 4, profile="convex")`` is 1, 2, 5, 10.
    Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, eqs. 4 and 12.
    """
    if not (0 < w_min <= w_max < math.inf):
        raise PreferencesError(f"Weights run from w_min={w_min} to w_max={w_max}. Give 0 < w_min <= w_max.")
    hard = _hardness(score, levels, profile, gamma)
    return np.ones(hard.shape) if profile == "constant" else np.asarray(w_min + (w_max - w_min) * hard)


@public
def score_priors(
    score: npt.ArrayLike,
    levels: int,
    *,
    profile: Profile = "linear",
    pi_max: float = 0.5,
    pi_min: float = 0.05,
    gamma: float | None = None,
) -> Floats:
    """How likely an act on each feature should be before anything is known, same shape as the scores.

    ``pi_max - (pi_max - pi_min) t ** gamma``, with t and gamma as in `score_weights`: what is easiest has
    `pi_max`, what is hardest `pi_min`; constant gives `pi_max` everywhere. A method that learns masks is
    drawn towards these. Scores that are 0, NaN or `levels` + 1 ('cannot') get `pi_max`; nobody acts there.
    Raises: PreferencesError for scores that are off the scale.

    Example: ``score_priors([1, 2, 3, 4], 4)`` is .5, .35, .2, .05.
    Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, eq. 14.
    """
    if not 0 < pi_min <= pi_max < 1:
        raise PreferencesError(
            f"Priors run from pi_max={pi_max} to pi_min={pi_min}. Give 0 < pi_min <= pi_max < 1."
        )
    return np.asarray(pi_max - (pi_max - pi_min) * _hardness(score, levels, profile, gamma))


def check_scores(schema: Schema, score: Floats, top: int, *, misplaced: Mask, scored: Mask) -> None:
    """Raise for a score (n, d) where `misplaced`, or where `scored` for one off the scale of 1 to top + 1."""
    for i, j in np.argwhere(misplaced)[:1]:
        raise PreferencesError(
            f"'{schema.names[j]}' has score {score[i, j]:g} for person {i}, but it is "
            f"{schema.features[j].actionability} in the schema. Leave it out, or revise its actionability."
        )
    fair = (score >= 1) & (score <= top + 1) & (score == np.floor(score))
    for i, j in np.argwhere(scored & ~fair)[:1]:
        raise PreferencesError(
            f"'{schema.names[j]}' has score {score[i, j]:g} for person {i}. Give a whole number from 1 "
            f"(easiest) to {top} (hardest), or {top + 1} for 'cannot'."
        )


def _hardness(score: npt.ArrayLike, levels: int, profile: str, gamma: float | None) -> Floats:
    """t ** gamma: 0 for the easiest score to 1 for the hardest; 0 where the profile or nobody's score says so."""
    if not is_one_of(profile, GAMMAS):
        raise PreferencesError(f"There is no cost profile {profile!r}. Choose one of {', '.join(GAMMAS)}.")
    if gamma is not None and not 0 < gamma < math.inf:
        raise PreferencesError(f"gamma is {gamma}. Give a number above 0.")
    s = numbers_in(score, "score", PreferencesError)
    off = s[~(np.isnan(s) | ((s >= 0) & (s <= levels + 1)))]
    if off.size:
        raise PreferencesError(
            f"A score is {off[0]:g}. Give 1 (easiest) to {levels} (hardest), or {levels + 1} for 'cannot'."
        )
    if profile == "constant":
        return np.zeros(s.shape)
    inside = (s >= 1) & (s <= levels)
    t = np.where(inside, s - 1, 0.0) / max(levels - 1, 1)
    return np.asarray(t ** (GAMMAS[profile] if gamma is None else gamma))
