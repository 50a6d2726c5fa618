"""Fixed predictions: refused people whose answer nothing that they may do turns, by group, and how that is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.suppression import may_be_told
from wayforward.problem.verification import verdicts

_MOST = 50_000  # actions of a person that are listed


def verdicts_of(measured: Measured) -> np.ndarray:
    """Return (m,) of each person answered: 'possible', 'open', or how it is known to be fixed: 'proved', 'listed'.

    A plan that was found speaks for itself; what a person can reach is listed and judged where it is little; proofs of
    the method and bounds settle others. What even that leaves is open.
    """
    measured.progress("whose answer is fixed", 0, 1)
    people = measured.problem.population(measured.answered, measured.preferences)
    got = verdicts(people, np.zeros(len(measured.who), dtype=bool), _MOST, measured.recourse)
    return np.where(got.verdict == "none", got.by, got.verdict)


def fixed_by_group(measured: Measured, how: np.ndarray, hidden: set[tuple[str, str]]) -> dict[str, Any]:
    """Count of everybody answered, then of each group that is not hidden, whose answer is fixed and how it is known.

    how (m,): see `verdicts_of`. Returns plain values.
    """
    rows = [_row("", "everybody", how)] if len(how) >= measured.fewest else []
    for groups in measured.attributes:
        shown = may_be_told(groups.member[measured.who], groups, measured.fewest, hidden)
        rows += [_row(groups.name, name, how[some]) for name, some in shown]
    return {"most_listed": _MOST, "groups": rows}


def _row(attribute: str, group: str, how: np.ndarray) -> dict[str, Any]:
    counts = {name: int((how == name).sum()) for name in ("possible", "proved", "listed", "open")}
    return {"attribute": attribute, "group": group, "n": len(how), **counts}
