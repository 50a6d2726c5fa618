"""A version answers one of its refused past people, so that no applicant waits for what is worked out once."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from wayforward.errors import ProblemError
from wayforward.serve.plans import SEED, plans_of, texts
from wayforward.serve.projects import Project
from wayforward.serve.turns import Rank

_TRIED = 4  # refused people at most who are answered, until one has a plan


def _refused_rows(project: Project) -> np.ndarray:
    """Return rows (up to 4, d) of past people whom the version refuses."""
    problem = project.problem
    if problem.reference is None:
        return np.empty((0, problem.schema.d))
    refused: np.ndarray = problem.reference[~problem.reached(problem.reference)[0]]
    return refused[:_TRIED]


def answer_once(project: Project) -> None:
    """Have models trained again, or read, and searches compiled, or read from their cache."""
    problem, turn, refused = project.problem, project.turn, _refused_rows(project)
    with turn.of(Rank.SEARCH), suppress(ProblemError):  # a model that decides as before is told of elsewhere
        if problem.retraining is not None and len(refused):
            problem.retraining.condition(problem)
            problem.retraining.votes(problem, refused[:1])
    for x in refused[:, None]:
        with turn.of(Rank.SEARCH):
            if _went_all_the_way(project, x):
                return


def _went_all_the_way(project: Project, x: np.ndarray) -> bool:
    """Do what an applicant comes to see first: reasons, plans in words, a first question. Had they a plan?"""
    from wayforward.answers import reasons
    from wayforward.people.dialogue import Dialogue

    found = plans_of(project.method, x)
    texts(found, set())
    reasons(project.problem, found, 0)
    dialogue = Dialogue(project.problem, x[0], questionnaire="page", seed=SEED)
    if dialogue.ask() is not None:
        dialogue.answer({"limits": {}, "changes": None})
    return bool(found.found.any())
