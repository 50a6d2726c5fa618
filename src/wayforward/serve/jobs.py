"""Long work in processes of its own: its state in the database, its files in a folder, resumed wherever it was left.

A supervisor gives each waiting job to a process (`worker.py`). The process says every second that it lives; whoever
finds one that no longer does takes the job up again, and what was finished is not done twice.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import shutil
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from wayforward.errors import WayforwardError
from wayforward.language import N_, gettext, use_language
from wayforward.plain_files import make_folder
from wayforward.serve.accounts import Somebody
from wayforward.serve.events import record
from wayforward.serve.keys import Keys
from wayforward.serve.overview import kinds_for
from wayforward.serve.permissions import Act
from wayforward.serve.projects import ProjectError
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import Job, ModelVersion, now

KINDS = ("plans", "audit")
WAITING, RUNNING, STOPPING, DONE, FAILED, STOPPED = (
    N_("waiting"),
    N_("running"),
    N_("stopping"),
    N_("done"),
    N_("failed"),
    N_("stopped"),
)
OPEN = (WAITING, RUNNING, STOPPING)
_SILENT = timedelta(seconds=20)
_ATTEMPTS = 3
_ENTERED_WITHIN = 3600.0  # seconds: a folder is there a moment before its job is in the database


class JobError(WayforwardError):
    """A job cannot be started, stopped or read like this."""


class NoSuchJob(JobError):
    """There is no such job, or it has no result of this kind."""


class TableNotKnown(JobError):
    """Nobody who may see how each person of a table fares has had it audited."""


class Jobs:
    """The jobs of a deployment. home: the folder under which each job has one of its own."""

    def __init__(self, database: Database, home: Path) -> None:
        self.database, self.home, self.folder = database, home, home / "jobs"

    def start(self, kind: str, model_id: str, given: dict[str, Any], people: Path, by: Somebody) -> str:
        """Put a job in the queue with its table of people; return its id. Raises: JobError, ProjectError.

        Whoever makes up the rows of an audit asks about whom they like: a hundred copies of one person tell how this
        one fares. So who may not fetch what each person gets is answered about tables only that somebody who may has
        had audited, to the last byte; about these with any model, threshold and features.
        """
        if kind not in KINDS:
            raise JobError(
                gettext("There is no job '{kind}'. Use one of {kinds}.", kind=kind, kinds=", ".join(KINDS))
            )
        if kind == "audit":
            given = given | self._known_table(people, by)
        id = secrets.token_urlsafe(16)
        place = self.folder / id
        make_folder(place, 0o700)
        try:
            shutil.copyfile(people, place / f"people{people.suffix.lower()}")
            with self.database.session() as session:
                version = session.get(ModelVersion, model_id)
                if version is None or version.published is None:
                    raise ProjectError(gettext("Jobs are about a model that was published. Choose one."))
                session.add(Job(id=id, kind=kind, model_id=model_id, user_id=by.user_id, given=given))
                record(session, by.name, f"job started: {kind}", id)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return id

    def _known_table(self, people: Path, by: Somebody) -> dict[str, Any]:
        """Return what is noted of an audit's table: a keyed hash, where it makes the table known. Raises: JobError."""
        key = hashlib.blake2b(b"tables of people", key=Keys.at(self.home).master, digest_size=32).digest()
        with people.open("rb") as file:
            mark = hashlib.file_digest(file, lambda: hashlib.blake2b(key=key, digest_size=16)).hexdigest()
        if by.may(Act.FETCH_RESULTS):
            return {"table": mark}
        known = select(Job.id).where(
            Job.kind == "audit", Job.status == DONE, Job.given["table"].as_string() == mark
        )
        with self.database.session(write=False) as session:
            if session.scalars(known.limit(1)).first() is None:
                raise TableNotKnown(
                    gettext(
                        "Nobody who may see each person's plan has had this table audited here. Rows of your own would "
                        "tell how a person fares. Ask an operator to start its first audit. Then start yours of the "
                        "same file, to the last byte, with any model, threshold and features."
                    )
                )
        return {}

    def stop(self, id: str, by: Somebody) -> None:
        """Stop a job that waits or runs, of a kind that somebody may see. Raises: JobError, NoSuchJob."""
        with self.database.session() as session:
            job = session.get(Job, id)
            if job is None or job.kind not in kinds_for(by):
                raise NoSuchJob(gettext("There is no such job (any more)."))
            if job.status not in OPEN:
                raise JobError(gettext("This job is over already."))
            if job.status == WAITING:
                job.status, job.ended = STOPPED, now()
            else:
                job.status = STOPPING
            over = job.status == STOPPED
            record(session, by.name, "job stopped", id)
        if over:
            self._delete_people(id)

    def claim(self, worker: str) -> str | None:
        """Take a job that waits, or one whose process has gone silent; return its id, or None where there is none."""
        id, over = self._take(worker)
        if over and id is not None:
            self._delete_people(id)
        return None if over else id

    def _take(self, worker: str) -> tuple[str | None, bool]:
        """(the next job, or None; is it over with that?)."""
        with self.database.session() as session:
            # a beat of later than now is from before the clock was set back
            silent = or_(Job.beat.is_(None), Job.beat < now() - _SILENT, Job.beat > now() + _SILENT)
            chosen = (
                select(Job)
                .where(or_(Job.status == WAITING, Job.status.in_((RUNNING, STOPPING)) & silent))
                .order_by(Job.made)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            job = session.scalars(chosen).first()
            if job is None:
                return None, False
            if job.status == STOPPING:
                job.status, job.ended = STOPPED, now()
                return job.id, True
            if job.attempts >= _ATTEMPTS:
                job.status, job.ended = FAILED, now()
                with use_language(job.given.get("language", "en")):
                    job.note = gettext(
                        "It broke down {n} times. Please tell those who look after this server.", n=_ATTEMPTS
                    )
                return job.id, True
            job.status, job.worker, job.beat, job.attempts = RUNNING, worker, now(), job.attempts + 1
            return job.id, False

    def beat(self, id: str, worker: str, done: int | None = None, total: int | None = None) -> bool:
        """Say that a job is alive and how far it is; False where it is no longer this worker's, or is to stop."""
        values: dict[str, Any] = {"beat": now()}
        values |= {name: value for name, value in (("done", done), ("total", total)) if value is not None}
        with self.database.session() as session:
            mine = (Job.id == id) & (Job.worker == worker) & (Job.status == RUNNING)
            found = session.execute(update(Job).where(mine).values(values).returning(Job.id))
            return found.first() is not None

    def end(self, id: str, worker: str, status: str, note: str = "") -> None:
        """Say how a job ended, where it is still this worker's. The people's table is deleted, however it ended."""
        with self.database.session() as session:
            mine = (Job.id == id) & (Job.worker == worker) & Job.status.in_((RUNNING, STOPPING))
            values = {"status": status, "note": note[:500], "ended": now()}
            found = session.execute(update(Job).where(mine).values(values).returning(Job.id)).first()
        if found is not None:
            self._delete_people(id)

    def _delete_people(self, id: str) -> None:
        """Delete what a job was given and what it was working on; its result stays."""
        for file in (self.folder / id).glob("people.*"):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.folder / id / "answers", ignore_errors=True)

    def sweep(self, days: int) -> int:
        """Delete jobs that ended so many days ago, with their results; return how many. People's tables that a server
        left behind when it was killed go, too: of jobs that are over, and of jobs that were never entered.
        """
        with self.database.session() as session:
            old = list(session.scalars(select(Job).where(Job.ended < now() - timedelta(days=days))))
            for job in old:
                session.delete(job)
        with self.database.session(write=False) as session:
            status = {row.id: row.status for row in session.execute(select(Job.id, Job.status))}
        for place in self.folder.iterdir() if self.folder.is_dir() else ():
            if place.name in status:
                if status[place.name] not in OPEN:
                    self._delete_people(place.name)
            elif time.time() - place.stat().st_mtime > _ENTERED_WITHIN:
                shutil.rmtree(place, ignore_errors=True)
        for job in old:
            shutil.rmtree(self.folder / job.id, ignore_errors=True)
        return len(old)

    def result(self, session: Session, id: str, kind: str) -> Path:
        """Return the file or folder that a finished job left. Raises: JobError."""
        job = session.get(Job, id)
        if job is None or job.kind != kind or job.status != DONE:
            raise NoSuchJob(gettext("There is no result of such a job."))
        return self.folder / id / ("answers.csv" if kind == "plans" else "audit.html")


def audit_page(folder: Path, code: str) -> Path:
    """Return where the page of an audit in a language is, in the folder of its job: "audit.html" is the English one."""
    return folder / ("audit.html" if code == "en" else f"audit.{code}.html")


class Supervisor:
    """Gives jobs to processes, one at a time, from a thread of the server; jobs it leaves go on at the next start."""

    def __init__(self, jobs: Jobs, home: Path) -> None:
        self.jobs, self.home = jobs, home
        self.name = secrets.token_hex(8)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to look for jobs."""
        self._thread.start()

    def stop(self) -> None:
        """End; a running job is left for the next start."""
        self._over.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._over.wait(1.0):
            worker = f"{self.name}-{secrets.token_hex(4)}"
            try:
                id = self.jobs.claim(worker)
                if id is not None:
                    self._watch(id, worker)
            except SQLAlchemyError as error:  # the database may be away for a while; the jobs wait
                logging.getLogger("wayforward.serve").error("jobs: the database: %s", type(error).__name__)

    def _watch(self, id: str, worker: str) -> None:
        """Run one job in a process until it ends, is to stop, or the server ends; one that breaks goes silent."""
        process = subprocess.Popen(
            [sys.executable, "-m", "wayforward.serve.worker", str(self.home), id, worker],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(
            self.jobs.database.url.encode()
        )  # not in the list of processes: it may hold a password
        process.stdin.close()
        while process.poll() is None:
            if self._over.wait(0.5):
                process.terminate()
                process.wait()
                return
            with self.jobs.database.session(write=False) as session:
                job = session.get(Job, id)
                gone = job is None or job.worker != worker or job.status not in (RUNNING, STOPPING)
                stop = job is not None and job.status == STOPPING
            if (gone or stop) and process.poll() is None:
                process.terminate()
                process.wait()
                self.jobs.end(id, worker, STOPPED)
