"""Images as rows of cells or segments that can be replaced: a problem, and answers that are pictures."""

from wayforward.modalities.image.answers import ImageRecourse
from wayforward.modalities.image.problem import ImageProblem
from wayforward.modalities.image.segments import Grid, Quickshift
from wayforward.modalities.image.sets import ImageSet

__all__ = ["Grid", "ImageProblem", "ImageRecourse", "ImageSet", "Quickshift"]
