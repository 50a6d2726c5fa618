"""People in the loop: dialogues, ways of asking what somebody wants, and simulated people for experiments."""

from wayforward.lazy import face

_WANTS = (
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
    "privileged_at_random",
    "privileged_by_income",
    "privileged_by_race",
    "ranking_law",
    "score_priors",
    "score_weights",
)  # what people want has a package of its own

__getattr__ = face(__name__, {}, dict.fromkeys(_WANTS, "wayforward.preferences"))
