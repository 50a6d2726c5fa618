"""Evaluation studies with participants: the statistics of their ratings, and simulated participants."""

from wayforward.lazy import face

__all__ = ["Analysis", "Gamm", "Power", "Rater", "analyse", "power", "simulate_study"]

_HOME = {
    "Analysis": "analysis", "Gamm": "gamm", "Power": "sample_size", "Rater": "participants",
    "analyse": "analysis", "power": "sample_size", "simulate_study": "participants",
}  # fmt: skip
__getattr__ = face("wayforward.study", _HOME)
