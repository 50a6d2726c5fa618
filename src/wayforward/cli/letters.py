"""Letters as files: one for each of some people, with one plan of each kind where the model can be trained again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import DataError
from wayforward.language import one_line

if TYPE_CHECKING:
    from wayforward.answers import Letterhead
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

LETTERS = ("person-*.txt",)  # their files
_AFFORDABLE = 250_000  # rows that models may be trained on again without being asked to


def kinds_for_people(problem: Problem) -> tuple[str, ...]:
    """Return the kinds of options that letters and examples show: those that last too, where that takes seconds."""
    again = problem.retraining
    if again is None or problem.reference is None:
        return ()
    rows = len(problem.reference) * (again.searched + again.judged)
    return ("cheapest", "lasting") if rows <= _AFFORDABLE and callable(again.fit) else ()


def letterhead(contact: str | None, until: str | None, letters: Path | None) -> Letterhead:
    """Return what stands around letters. Raises: DataError for what is no day, is over, or goes with no letter."""
    from wayforward.answers import Letterhead

    if letters is None and (contact is not None or until is not None):
        raise DataError("--contact and --until stand in letters. Say where these go with --letters FOLDER.")
    try:
        day = None if until is None else date.fromisoformat(until)
    except ValueError:
        raise DataError(f"--until {until!r} is no day. Give year, month and day: 2027-03-31.") from None
    if day is not None and day < date.today():
        raise DataError(f"--until {until} is over. Give the last day on which the plans hold.")
    return Letterhead(contact=one_line(contact or ""), until=day)


def write_letters(
    problem: Problem, got: Recourse, folder: Path, who: Sequence[int] | np.ndarray, names: Sequence[str] = (),
    head: Letterhead | None = None,
) -> list[str]:  # fmt: skip
    """Write a letter to each of these people of an answer; return the texts, in the order given.

    Options of an answer that holds no kinds are told with those made to last (`kinds_for_people`). names: of the files,
    without their ending; left out, person-003 and so on. head: what stands around them; the case number is what `--id`
    calls the person.
    """
    from wayforward.answers import Letterhead, letter
    from wayforward.answers.region_text import regions_told
    from wayforward.methods.kinds import kinds_beside
    from wayforward.plain_files import make_folder, write_text
    from wayforward.schema.origin import name_text

    if not len(who):
        return []
    kinds = () if (got.kind != "").any() else kinds_for_people(problem)
    rows = np.asarray(who, dtype=np.int64)
    shown = kinds_beside(problem, got, rows, kinds) if kinds else got[rows]
    ids = () if shown.origin is None else shown.origin.values
    cases = [one_line(", ".join(name_text(values[i]) for values in ids)) for i in range(len(rows))]
    if shown.problem is not None:
        regions_told(shown.rounded)  # together; each letter takes its own
    around = head or Letterhead()
    texts = [letter(problem, shown, i, head=replace(around, case=case)) for i, case in enumerate(cases)]
    make_folder(folder)
    for name, text in zip(names or [f"person-{i:03d}" for i in rows], texts, strict=True):
        write_text(folder / f"{name}.txt", text + "\n")
    return texts
