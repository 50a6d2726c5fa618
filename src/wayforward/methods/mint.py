"""mint: the cheapest set of interventions in a known causal world, by a satisfiability solver, with proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from wayforward.methods.mace import Mace
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Problem


@public
@dataclass
class Mint(Mace):
    """Bisect the cost of acts whose consequences turn the decision: what follows is part of the solver's formula.

    In the order of causes, a feature is what the person sets, or what its equation gives with their own noise
    (abduction, action, prediction); costs count what they set. Equations may be sums, products with numbers, least,
    greatest and absolute values, and conditions (a mechanism as a table: `"3 * (education == 'degree') + u"`), rounded
    to what is legal; the links of rules are read, too. The proof that none exists is about every set of acts. Where
    nothing follows it is `mace`. Where a world has no equations, one is smooth, or what follows has no bounds, the
    options are those of the first search and nothing is proved.

    precision, work, incumbent, default budget, z3: as in `mace`.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(Problem(..., world=scm), refused, method="mint")``.
    Raises: as `mace`.
    Source: A.-H. Karimi, B. Schoelkopf, I. Valera (2021), Algorithmic Recourse: from Counterfactual Explanations to
    Interventions, FAccT; arXiv:2002.06278.
    """

    name: ClassVar[str] = "mint"
    summary: ClassVar[str] = "small models in known causal worlds: the cheapest interventions, proved"
    citation: ClassVar[str] = "Karimi, Schölkopf & Valera (2021), FAccT, arXiv:2002.06278"

    def _knows(self, problem: Problem) -> bool:
        return True
