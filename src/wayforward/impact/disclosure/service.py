"""A service of recourse as an applicant sees it: decisions, and options for whoever is refused; queries counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from wayforward.methods.base import Method
from wayforward.problem import Problem
from wayforward.recourse import Recourse
from wayforward.shapes import Mask, People


@dataclass
class Service:
    """Answer people who ask, and count them: one query a person, whatever comes back.

    An attacker knows the schema, the cost and what is answered; neither model nor table. `queries` is their number.
    """

    problem: Problem
    method: Method  # fitted to the problem
    k: int = 1
    seed: int = 0
    queries: int = field(default=0, init=False)

    def decide(self, x: People) -> Mask:
        """(n, d) -> (n,) bool: who is accepted."""
        self.queries += len(x)
        return self.problem.reached(x)[0]

    def ask(self, x: People) -> Recourse:
        """Return decisions and options of people (n, d), all at once."""
        self.queries += len(x)
        return self.method.recommend(x, self.k, seed=self.seed)
