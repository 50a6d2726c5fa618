"""Evaluation studies with participants: the statistics of their ratings, and simulated participants."""

from wayforward.lazy import face

__all__ = ["Analysis", "Gamm", "analyse"]

__getattr__ = face("wayforward.study", {"Analysis": "analysis", "Gamm": "gamm", "analyse": "analysis"})
