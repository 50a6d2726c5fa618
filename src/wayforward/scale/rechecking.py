"""Plans in shards judged again after a change of the model, one shard at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wayforward.evaluate.rechecked import Rechecked
from wayforward.evaluate.rechecked import recheck as recheck_one
from wayforward.scale.answers import Answers

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse


def recheck(
    answers: Recourse | Answers | str | Path,
    problem: Problem,
    progress: Callable[[int, int], object] | None = None,
) -> Rechecked:
    """Judge the options of saved answers by another problem, such as one with a model that was trained again.

    As `evaluate.rechecked.recheck`, which see, also of the folder that `recommend_table` wrote. progress is called with
    (shards done, all).
    Example: ``wf.recheck("answers.parquet", new_problem).counts()``.
    Raises: DataError for a problem with other features or levels, or a folder with nobody's answers; FileFormatError.
    """
    if isinstance(answers, (str, Path)) and Path(answers).is_dir():
        answers = Answers.open(answers)
    if not isinstance(answers, Answers):
        return recheck_one(answers, problem)
    done, n = [], len(answers.entries())
    for part in answers.parts():
        done.append(recheck_one(part, problem))
        if progress is not None:
            progress(len(done), n)
    return Rechecked.concat(done)
