"""feature-tweaking: move into the nearest leaf of one tree that says yes, where the whole ensemble says yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.tree_regions import NearestInBoxes, TreeRegions, forest_of
from wayforward.methods.settings import check_least, check_switches
from wayforward.model import Access, FlatForest
from wayforward.model.fast import apply_link
from wayforward.public import public
from wayforward.shapes import Actions, Mask

if TYPE_CHECKING:
    from wayforward.model.forms import Link
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class FeatureTweaking(Method):
    """Propose the nearest point of every leaf that says yes by itself; keep what the whole ensemble accepts.

    Every tree offers its leaves of the wanted answer (of boosted trees those that add to its log-odds), and each leaf
    is a box: a person goes to its nearest point, which changes only conditions of the path that they violate. Points
    are asked about in order of cost, for everybody at once, until k reach the decision; a point that turns one tree
    alone is no answer. Limits, steps and frozen features are part of the box.

    eps: how far beyond a threshold, in widths of the feature's range; 0 is the next legal value. violated_only=False
    also moves conditions that hold already to their threshold, as published. Not part of the published method, which
    leaves people without an answer where no single path turns the ensemble: complete, which goes on for them by single
    changes; shrink, which gives back what the decision does not need. Published: eps=0.1, violated_only=False,
    complete=False, shrink=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="feature-tweaking", k=3)``.
    Raises: UnsupportedModel for a model that shows no trees; MethodError for an eps below 0.
    Source: G. Tolomei, F. Silvestri, A. Haines, M. Lalmas (2017), Interpretable Predictions of Tree-based Ensembles via
    Actionable Feature Tweaking, KDD; arXiv:1706.06691.
    """

    name: ClassVar[str] = "feature-tweaking"
    summary: ClassVar[str] = (
        "into the nearest leaf of one tree that says yes, where the whole ensemble says yes, too"
    )
    citation: ClassVar[str] = "Tolomei, Silvestri, Haines & Lalmas (2017), KDD, arXiv:1706.06691"
    needs: ClassVar[int] = Access.LABEL

    eps: float = 0.0
    violated_only: bool = True
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_least(self, eps=0.0)
        check_switches(self, "violated_only", "complete", "shrink")

    def _fit(self, problem: Problem) -> None:
        flat = forest_of(problem, self.name)
        regions = TreeRegions(flat, problem.schema)
        self.boxes_ = regions.leaves.take(np.flatnonzero(_says_yes(problem, flat)))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        leaves = NearestInBoxes(people, self.boxes_, further=self.eps, every=not self.violated_only)
        found, _ = leaves.usable(2 * k, limit)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        return finished(people, who, found[who, slot], k, cap=cap, go_on=self.complete, shrink=self.shrink)


def _says_yes(problem: Problem, flat: FlatForest) -> Mask:
    """(l,) bool: the leaf alone turns the decision; of boosted trees, it adds to the wanted answer's log-odds."""
    bound = problem.bound_target
    if flat.link == "identity":
        alone = flat.base + flat.scale * len(flat.roots) * flat.value
        link: Link = "identity" if problem.target.interval is not None else "probability"
        return np.asarray(bound.score(apply_link(alone, link)) > 0)
    wanted = np.isin(np.arange(bound.n_classes), bound.columns)
    side = np.where(wanted, 1.0, -1.0)
    return np.asarray(flat.value @ (side[1:] if flat.value.shape[1] == 1 else side) > 0)
