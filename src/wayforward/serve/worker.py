"""The process of one job: ``python -m wayforward.serve.worker HOME JOB WORKER``, the database's URL on its input."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.language import LANGUAGES, N_, gettext, language, marks, ngettext, use_language
from wayforward.serve.audit_differences import refuse_few_between
from wayforward.serve.audits import FEWEST, MOST_FEATURES, write_cases, write_group_names
from wayforward.serve.jobs import DONE, FAILED, Jobs, audit_page
from wayforward.serve.keys import Keys
from wayforward.serve.projects import Project, Projects
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import Job

if TYPE_CHECKING:
    from wayforward.impact.audit.figures import Measured

_EVERY = 1.0  # seconds
_ENDS = {  # names of `Outcome`
    "FOUND": N_("found"),
    "NONE_EXISTS": N_("none exists"),
    "NOT_FOUND": N_("not found"),
    "ACCEPTED": N_("accepted"),
    "NOT_ASKED": N_("not asked"),
}


class _Gone(Exception):
    """The job is no longer ours."""


class _Pulse:
    """Tells the database once a second that the job lives and how far it is."""

    def __init__(self, jobs: Jobs, id: str, worker: str) -> None:
        self.jobs, self.id, self.worker = jobs, id, worker
        self.done = self.total = 0
        self.alive = True
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            self.alive = self.jobs.beat(self.id, self.worker, self.done, self.total)

    def __call__(self, done: int, total: int | None) -> None:
        """Note how far it is. Raises: _Gone where the job was stopped or taken by another process."""
        self.done, self.total = int(done), int(total or 0)
        if not self.alive:
            raise _Gone

    def stop(self) -> None:
        """End, with a last word."""
        self._over.set()
        self._thread.join()
        self.jobs.beat(self.id, self.worker, self.done, self.total)


def run(home: Path, url: str, id: str, worker: str) -> int:
    """Do one job; return the exit status."""
    from wayforward.model.files import before_threads

    before_threads()
    database = Database(url, migrate=False)
    try:
        return _work(Jobs(database, home), home, id, worker)
    finally:
        database.close()


def _work(jobs: Jobs, home: Path, id: str, worker: str) -> int:
    with jobs.database.session(write=False) as session:
        job = session.get(Job, id)
    if job is None or job.worker != worker:
        return 0
    pulse = _Pulse(jobs, id, worker)
    folder = jobs.folder / id
    try:
        work = {"plans": _plans, "audit": _audit}[job.kind]
        with use_language(job.given.get("language", "en")):
            project = Projects(home).project(job.model_id, job.given.get("threshold"))
            note = work(project, folder, dict(job.given), pulse)
    except _Gone:
        pulse.stop()
        return 0
    except WayforwardError as error:  # a mistake of those who asked: told, and not tried again
        pulse.stop()
        jobs.end(id, worker, FAILED, str(error))
        return 0
    pulse.stop()
    jobs.end(id, worker, DONE, note)
    return 0


def _people(folder: Path) -> Path:
    return next(iter(sorted(folder.glob("people.*"))))


def _plans(
    project: Project, folder: Path, given: dict[str, Any], pulse: Callable[[int, int | None], None]
) -> str:
    """Plans of a whole table, shard by shard; what is there already is kept."""
    from wayforward.answers import plans_table, write_csv
    from wayforward.scale import recommend_table

    answers = recommend_table(
        project.problem, _people(folder), folder / "answers", k=int(given.get("k", 3)), room=0.05,
        rows_per_shard=2000, progress=pulse, deadline=given.get("deadline"),
    )  # fmt: skip
    rows, before = [], 0
    for part in answers.parts():
        rows += [row | {"person": before + row["person"]} for row in plans_table(part)]
        before += part.n
    write_csv(rows, folder / "answers.csv")
    counts = answers.counts()
    ends = [
        f"{marks(f'{count:,}')} {gettext(_ENDS[name])}" for name, count in counts["outcomes"].items() if count
    ]
    if counts.get("cut_short"):
        ends.append(gettext("{n} ended by the deadline", n=marks(f"{counts['cut_short']:,}")))
    return ", ".join(ends)


def _audit(
    project: Project, folder: Path, given: dict[str, Any], pulse: Callable[[int, int | None], None]
) -> str:
    """Who has recourse, by the sensitive features; one page."""
    from wayforward.data.user_tables import read_table, without_label
    from wayforward.groups import Groups, cuts_near_thirds
    from wayforward.impact.audit import audit, report

    schema = project.schema
    table = without_label(read_table(_people(folder)), given.get("label"))
    x, odd = project.problem.read(table)
    names = [name for name in given.get("groups", []) if name in schema.names] or list(schema.sensitive)
    if not names:
        raise WayforwardError(
            gettext("This schema marks no feature as sensitive. Name the features to compare people along.")
        )
    if len(set(names)) > MOST_FEATURES:
        raise WayforwardError(
            gettext(
                "{n} features were named. Along more than {most} the counts together would tell how each person fares. "
                "Name up to {most} of them.",
                n=len(set(names)), most=MOST_FEATURES,
            )
        )  # fmt: skip
    spoken = language()

    def see(measured: Measured) -> None:
        """Nothing is told of an audit that would tell of few beside another one."""
        with use_language(spoken):
            elsewhere = refuse_few_between(
                folder, project.decides, measured, Keys.at(folder.parent.parent), project.id
            )
        write_cases(measured, folder / "cases.json", FEWEST, elsewhere)

    with use_language("en"):  # groups of all audits are called alike
        attributes = []
        for name in names:
            cut = None if schema[name].has_levels else cuts_near_thirds(x[:, schema.index(name)])
            attributes.append(Groups.of(name, x, schema, cut=cut))
        found = audit(
            project.problem, table if odd else x, attributes, most=int(given.get("most", 2000)), smallest=FEWEST,
            fewest=FEWEST, see=see,
            say=lambda what, done, total: pulse(done, total) if what == "looking for plans" else pulse(total, total),
        )  # fmt: skip
    found.to_json(folder / "audit.json")
    write_group_names(found, folder / "names.json")
    for code in LANGUAGES:  # the title of a project may be one that the catalogs know
        with use_language(code):
            title = gettext("Audit of recourse: {title}", title=gettext(project.title))
            report(found, audit_page(folder, code), title)
    return ngettext("{n} person", "{n} people", int(np.count_nonzero(~np.isin(np.arange(len(x)), list(odd)))))


if __name__ == "__main__":
    raise SystemExit(run(Path(sys.argv[1]), sys.stdin.read(), sys.argv[2], sys.argv[3]))
