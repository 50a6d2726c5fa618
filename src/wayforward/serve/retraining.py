"""The process that trains a version again, for lasting plans: ``python -m wayforward.serve.retraining HOME MODEL``."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from wayforward.errors import ProblemError
from wayforward.serve.projects import Projects

DONE = "done"  # a file beside the models: all of them are there


def train(home: Path, id: str) -> None:
    """Train what is not there yet, and write it to the home folder. Raises: ProjectError for no such version."""
    projects = Projects(home)
    problem = projects.project(id).problem
    if problem.retraining is None:
        return
    with suppress(ProblemError):  # a model that decides as before is no reason to try again at each start
        problem.retraining.condition(problem)
        problem.retraining.votes(problem, problem.require_reference()[:1])
    place = projects.retrained / id
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    (place / DONE).touch(mode=0o600)


if __name__ == "__main__":
    train(Path(sys.argv[1]), sys.argv[2])
