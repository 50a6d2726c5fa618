"""A service of recourse as an applicant sees it: decisions, and options for whoever is refused; queries counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wayforward.impact.disclosure.ledger import Ledger
from wayforward.methods.base import Method
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema.tables import columns_and_reader
from wayforward.shapes import Mask


@public
@dataclass
class Service:
    """Answer people who ask, and count them: one query a person, whatever comes back.

    An attacker knows the schema, the cost and what is answered; neither model nor table. method: fitted to the problem.
    ledger: counts what each client is given, and refuses what is too much. queries: asked so far.
    """

    problem: Problem
    method: Method
    k: int = 1
    seed: int = 0
    ledger: Ledger | None = None
    queries: int = field(default=0, init=False)

    def decide(self, x: Any, client: str = "") -> Mask:
        """(n, d) or a table -> (n,) bool: who is accepted. Raises: BudgetSpent."""
        self._count(x, client)
        return self.problem.reached(x)[0]

    def ask(self, x: Any, client: str = "") -> Recourse:
        """Return decisions and options of people (n, d) or a table. Raises: BudgetSpent, before any search."""
        self._count(x, client)
        return self.method.recommend(x, self.k, seed=self.seed)

    def _count(self, x: Any, client: str) -> None:
        # the length of a mapping is that of its columns
        _, n, _ = columns_and_reader(self.problem.schema.features, x, "people")
        if self.ledger is not None:
            self.ledger.spend(client, n)
        self.queries += n
