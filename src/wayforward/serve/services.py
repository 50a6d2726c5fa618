"""The services of one deployment, put together once."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import exists, select

from wayforward.errors import FileFormatError
from wayforward.plain_files import make_folder
from wayforward.serve.budget import QueryBudget
from wayforward.serve.cases import Cases
from wayforward.serve.jobs import Jobs
from wayforward.serve.keys import NAME, Keys
from wayforward.serve.limits import RateLimits
from wayforward.serve.projects import Projects
from wayforward.serve.settings import ServeSettings
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import ApplicantCase, Participant, StudyRow
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
        """Open the home and the database of a deployment.

        Raises: DataError; FileFormatError, also where people's words are there and the keys that sealed them are not.
        """
        make_folder(settings.home, mode=0o700)
        for part in ("models", "jobs"):  # so that what is backed up is there from the first day
            make_folder(settings.home / part, mode=0o700)
        database, projects = Database(settings.database_url), Projects(settings.home)
        if not (settings.home / NAME).exists():
            sealed = (ApplicantCase, Participant, StudyRow)
            with database.session(write=False) as session:
                held = [session.scalar(select(exists(select(rows.id)))) for rows in sealed]
            if any(held) or any((settings.home / "jobs").glob("*/*.sealed")):
                database.close()
                raise FileFormatError(
                    "Cases, studies or audits are here, and the keys that sealed them are not in the home folder. Put "
                    f"'{NAME}' back from its backup: with new keys nobody could open them again."
                )
        keys = Keys.at(settings.home)
        cases = Cases(
            database, keys, projects, QueryBudget(settings.queries_per_case, settings.queries_per_day)
        )
        studies = Studies(database, keys, cases)
        return cls(
            settings, database, keys, projects, cases, Jobs(database, settings.home), studies,
            StudyTasks(cases, studies),
        )  # fmt: skip
