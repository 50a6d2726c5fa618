"""The services of one deployment, put together once."""

from __future__ import annotations

from dataclasses import dataclass, field

from wayforward.serve.budget import QueryBudget
from wayforward.serve.cases import Cases
from wayforward.serve.jobs import Jobs
from wayforward.serve.keys import Keys
from wayforward.serve.limits import RateLimits
from wayforward.serve.projects import Projects
from wayforward.serve.settings import ServeSettings
from wayforward.serve.storage.database import Database
from wayforward.serve.studies import Studies
from wayforward.serve.study_tasks import StudyTasks


@dataclass(frozen=True)
class Services:
    """What the doors call."""

    settings: ServeSettings
    database: Database
    keys: Keys
    projects: Projects
    cases: Cases
    jobs: Jobs
    studies: Studies
    tasks: StudyTasks
    limits: RateLimits = field(default_factory=RateLimits)

    @classmethod
    def at(cls, settings: ServeSettings) -> Services:
        """Open the home and the database of a deployment. Raises: DataError, FileFormatError."""
        keys, database, projects = (
            Keys.at(settings.home),
            Database(settings.database_url),
            Projects(settings.home),
        )
        cases = Cases(
            database, keys, projects, QueryBudget(settings.queries_per_case, settings.queries_per_day)
        )
        studies = Studies(database, keys, cases)
        return cls(
            settings, database, keys, projects, cases, Jobs(database, settings.home), studies,
            StudyTasks(cases, studies),
        )  # fmt: skip
