"""What answers give away about the model and about the people it was trained on (survey of recourse, 5.4.3)."""

from __future__ import annotations

from wayforward.impact.disclosure.attack import DEFENCES, Attack, Exposure, attack
from wayforward.impact.disclosure.ledger import BudgetSpent, Ledger
from wayforward.impact.disclosure.service import Service
from wayforward.impact.disclosure.shadows import Shadows

__all__ = ["DEFENCES", "Attack", "BudgetSpent", "Exposure", "Ledger", "Service", "Shadows", "attack"]
