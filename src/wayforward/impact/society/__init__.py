"""Society over time: people act on advice, a lender retrains, new people arrive, and groups move.

`Scenario` says what happens, `simulate` plays it, `History` holds what was seen, `figure_society` draws it.
"""

from wayforward.impact.society.comparison import Comparison, compare
from wayforward.impact.society.figures import figure_society
from wayforward.impact.society.history import FIGURES, History
from wayforward.impact.society.running import Society, simulate
from wayforward.impact.society.scenario import Advice, Compliance, Lender, Scenario, examples
from wayforward.impact.society.setting import Setting, setting_of

__all__ = [
    "FIGURES",
    "Advice",
    "Comparison",
    "Compliance",
    "History",
    "Lender",
    "Scenario",
    "Setting",
    "Society",
    "compare",
    "examples",
    "figure_society",
    "setting_of",
    "simulate",
]
