"""Recourse for many in a few lines that a regulator can read, learnt on half of the people, told of the others."""

from wayforward.impact.summaries.summary import Line, Rules, Summariser, Summary, summarize

__all__ = ["Line", "Rules", "Summariser", "Summary", "summarize"]
