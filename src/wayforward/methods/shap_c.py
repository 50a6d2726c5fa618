"""shap-c: rank words or features by sampled Shapley values, and take the shortest prefix that is a yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.engines.rankings import shapley_values
from wayforward.methods.lime_c import LimeC
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams


@public
@dataclass
class ShapC(LimeC):
    """Rank units by their Shapley values, of replacing them, and edit along the ranking until the decision turns.

    The published method estimates them by KernelSHAP; here they are means over orders in which units are replaced, each
    second one backwards: exact where the score is a sum over units. Everything else is as in `lime-c`.

    samples: rows that the values are estimated from; an order takes as many as there are units, and at least two orders
    are looked at, or one where the budget has room for no more.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.TextProblem(pipeline, texts, favourable="yes").recommend(texts, method="shap-c")``.
    Source: Y. Ramon, D. Martens, F. Provost, T. Evgeniou (2020), A comparison of instance-level counterfactual
    explanation algorithms for behavioral and textual data, ADAC 14; arXiv:1912.01819.
    """

    name: ClassVar[str] = "shap-c"
    summary: ClassVar[str] = "takes out words or values along the ranking of their sampled Shapley values"

    def _worth(self, people: Population, value: np.ndarray, streams: Streams, rows: int) -> np.ndarray:
        orders = min(max(2, self.samples // people.d), max(1, rows // people.d))
        return shapley_values(people, value, streams, orders)
