"""The process that gets a version ready: ``python -m wayforward.serve.retraining HOME MODEL`` trains it again, for
lasting plans, and compiles what searches run."""

from __future__ import annotations

import sys
from pathlib import Path

from wayforward.plain_files import make_folder
from wayforward.serve.first_answers import answer_once
from wayforward.serve.process import begin_process
from wayforward.serve.projects import Projects

DONE = "done"  # a file beside the models: all of them are there


def get_ready(home: Path, id: str) -> None:
    """Train and compile what is not there yet, and write it. Raises: ProjectError for no such version."""
    projects = Projects(home)
    answer_once(projects.project(id))
    place = projects.retrained / id
    make_folder(place, 0o700)
    (place / DONE).touch(mode=0o600)


if __name__ == "__main__":
    begin_process()
    get_ready(Path(sys.argv[1]), sys.argv[2])
