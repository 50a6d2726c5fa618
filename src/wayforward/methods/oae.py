"""oae: the cheapest intervals of an additive tree model that turn its decision, one interval a feature, proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayforward.methods.ocean import Ocean
from wayforward.public import public


@public
@dataclass
class Oae(Ocean):
    """Choose one interval between thresholds for each feature, at the least sum of costs, so that the trees say yes.

    The thresholds of all trees cut each feature into intervals in which nothing changes. The published program takes
    one interval a feature and one leaf a tree that agree; an interval costs what it takes to enter it, at the value
    that is nearest to the person's own. Here the same optimum comes from the search of `ocean`, which is this question
    with rules, limits and plausibility beside it: random forests and boosted trees, a threshold on the weighted sum of
    leaves, costs that are sums of steps, the greatest step or the Euclidean norm.

    boxes, default budget, what is proved and for whom: as in `ocean`.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="oae", certify=True)``.
    Raises: UnsupportedModel for a model that shows no trees; ProblemError for another cost, or several outputs.
    Source: Z. Cui, W. Chen, Y. He, Y. Chen (2015), Optimal Action Extraction for Random Forests and Boosted Trees, KDD;
    doi:10.1145/2783258.2783281.
    """

    name: ClassVar[str] = "oae"
    summary: ClassVar[str] = "the cheapest intervals between a forest's thresholds that turn it, proved"
    citation: ClassVar[str] = "Cui, Chen, He & Chen (2015), KDD, doi:10.1145/2783258.2783281"
