"""Time series as rows of channels or stretches of time that can be replaced: a problem, and answers with pictures."""

from wayforward.modalities.series.answers import SeriesRecourse
from wayforward.modalities.series.problem import SeriesProblem
from wayforward.modalities.series.segments import Stretches
from wayforward.modalities.series.sets import SeriesSet

__all__ = ["SeriesProblem", "SeriesRecourse", "SeriesSet", "Stretches"]
