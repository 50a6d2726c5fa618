"""What people want: limits, weights, elicited scores, and draws of them for experiments."""

from __future__ import annotations

from wayforward.people.preferences import GAMMAS, Preferences, Profile, score_weights
from wayforward.people.sampling import (
    LOAN_LAWS,
    draw_rankings,
    draw_scores,
    draw_thresholds,
    ranking_law,
)

__all__ = [
    "GAMMAS",
    "LOAN_LAWS",
    "Preferences",
    "Profile",
    "draw_rankings",
    "draw_scores",
    "draw_thresholds",
    "ranking_law",
    "score_weights",
]
