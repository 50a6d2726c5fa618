"""Recourse for many in a few lines that a regulator can read, learnt on half of the people, scored on the others.

`register` makes a summariser known by name; `wayforward.testing.SummariserContract` is what all of them promise.
"""

from wayforward.impact.summaries.base import Rules, Summariser
from wayforward.impact.summaries.registry import SUMMARISERS, register, summariser
from wayforward.impact.summaries.summary import Summary, SummaryLine, summarize
from wayforward.lazy import renamed_names

__all__ = [
    "SUMMARISERS",
    "Rules",
    "Summariser",
    "Summary",
    "SummaryLine",
    "register",
    "summariser",
    "summarize",
]

__getattr__ = renamed_names(__name__, Line="SummaryLine")
