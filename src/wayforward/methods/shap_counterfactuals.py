"""shap-counterfactuals: the sets of features whose replacement turns the decision, the most gain per cost first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayforward.methods.engines.edits import Order
from wayforward.methods.engines.reference_values import Reference
from wayforward.methods.sedc import Sedc
from wayforward.model import Access
from wayforward.public import public


@public
@dataclass
class ShapCounterfactuals(Sedc):
    """Replace features by their mean, or another value, until the decision turns: most gain in score per cost first.

    `sedc` for any decision, any reference value and costs of features: the gain of a set is divided by the mean cost of
    its features, so that with equal costs the order is the same. What explains a decision is what must change for
    another one; a feature with a great Shapley value may be in no such set (that is the point of the paper).

    reference: 'mean' of people, of categories the most frequent; 'mode', 'median', 'prototype' and 'removed' as of
    `sedc`. most, expansions, default budget: as there. Costs, and weights of the person, are those of the problem.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="shap-counterfactuals", reference="prototype")``.
    Raises: ProblemError without a table, unless reference='removed'.
    Source: C. Fernandez-Loria, F. Provost, X. Han (2022), Explaining Data-Driven Decisions made by AI Systems: The
    Counterfactual Approach, MIS Quarterly 46(3); arXiv:2001.07417.
    """

    name: ClassVar[str] = "shap-counterfactuals"
    summary: ClassVar[str] = "sets features to a reference value, the most gain per cost first"
    citation: ClassVar[str] = "Fernandez-Loria, Provost & Han (2022), MISQ 46(3), arXiv:2001.07417"
    needs: ClassVar[int] = Access.LABEL
    order: ClassVar[Order] = "gain per cost"

    reference: Reference = "mean"
