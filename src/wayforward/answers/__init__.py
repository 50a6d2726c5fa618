"""Answers for people: sentences, letters, tables, figures and a report that stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

_HOME = {
    "Contrast": "contrast",
    "Letterhead": "letters",
    "Reason": "refusal",
    "SideBySide": "causes",
    "consequences": "text",
    "explain": "text",
    "features_asked": "tables",
    "figure_coverage": "figures",
    "figure_options": "figures",
    "figure_population": "figures",
    "group_table": "tables",
    "letter": "letters",
    "options_table": "tables",
    "outcome_text": "text",
    "plans_table": "tables",
    "reasons": "refusal",
    "report": "page",
    "rounded": "text",
    "side_by_side": "causes",
    "steps": "text",
    "why": "contrast",
    "wishes": "preferences_text",
    "without_causes": "causes",
    "write_csv": "tables",
}

__all__ = [
    "Contrast",
    "Letterhead",
    "Reason",
    "SideBySide",
    "consequences",
    "explain",
    "features_asked",
    "figure_coverage",
    "figure_options",
    "figure_population",
    "group_table",
    "letter",
    "options_table",
    "outcome_text",
    "plans_table",
    "reasons",
    "report",
    "rounded",
    "side_by_side",
    "steps",
    "why",
    "wishes",
    "without_causes",
    "write_csv",
]


__getattr__ = face(__name__, _HOME, {"figure_segregation": "wayforward.impact.segregation"})


if TYPE_CHECKING:
    from wayforward.answers.causes import SideBySide, side_by_side, without_causes
    from wayforward.answers.contrast import Contrast, why
    from wayforward.answers.figures import figure_coverage, figure_options, figure_population
    from wayforward.answers.letters import Letterhead, letter
    from wayforward.answers.page import report
    from wayforward.answers.preferences_text import wishes
    from wayforward.answers.refusal import Reason, reasons
    from wayforward.answers.tables import features_asked, group_table, options_table, plans_table, write_csv
    from wayforward.answers.text import consequences, explain, outcome_text, steps
    from wayforward.problem.rounding import rounded
