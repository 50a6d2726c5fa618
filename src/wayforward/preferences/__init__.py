"""What people want: limits, weights, elicited scores, and draws of them for experiments."""

from __future__ import annotations

from wayforward.preferences.acting import on_behalf
from wayforward.preferences.preferences import Preferences
from wayforward.preferences.sampling import (
    LOAN_LAWS,
    PreferenceLaw,
    PreferencePlan,
    draw_rankings,
    draw_scores,
    draw_thresholds,
    loan_plan,
    privileged_at_random,
    privileged_by_income,
    privileged_by_race,
    ranking_law,
)
from wayforward.preferences.scores import GAMMAS, Profile, score_priors, score_weights

__all__ = [
    "GAMMAS",
    "LOAN_LAWS",
    "PreferenceLaw",
    "PreferencePlan",
    "Preferences",
    "Profile",
    "draw_rankings",
    "draw_scores",
    "draw_thresholds",
    "loan_plan",
    "on_behalf",
    "privileged_at_random",
    "privileged_by_income",
    "privileged_by_race",
    "ranking_law",
    "score_priors",
    "score_weights",
]
