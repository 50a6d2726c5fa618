"""Tasks of studies: a participant looks for a plan for a made-up person, by a dialogue or by limits and what-ifs.

The same engine as an applicant's: a case without a code, which belongs to the participation. What is stored of it in
the end is the plan, how many screens it took, and facts that an analysis needs; then the case is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.language import gettext
from wayforward.serve.case_store import Applicant, CaseChanged, CaseError, CaseGone, action_row, table_of
from wayforward.serve.plans import SEED, PlanText, WhatIf, plain_row, texts
from wayforward.serve.projects import published
from wayforward.serve.storage.tables import now
from wayforward.serve.turns import Rank
from wayforward.study.course import MOST_SECONDS, CourseError, ParticipantCourse, StudyStep
from wayforward.study.protocol import StudyProtocol

if TYPE_CHECKING:
    from wayforward.people.dialogue.question import Question
    from wayforward.serve.cases import Cases
    from wayforward.serve.studies import Participation, Studies

ELICITOR = "hare"  # of task: dialogue


@dataclass(frozen=True)
class OpenTask:
    """A task on the table: the participation, its page, the case of the made-up person."""

    one: Participation
    step: StudyStep
    case: Applicant

    @property
    def is_dialogue(self) -> bool:
        """Is it the dialogue of choices between plans?"""
        return self.step.screen.task == "dialogue"


class StudyTasks:
    """Every method is one act of a participant. Raises: CourseError where no task is on the table."""

    def __init__(self, cases: Cases, studies: Studies) -> None:
        self.cases, self.studies = cases, studies
        self._cheapest: dict[str, float] = {}

    def open(self, id: str) -> OpenTask:
        """Open the task of a participation; the first time its case is made. Raises: CourseError, CaseGone."""
        one = self.studies.open(id)
        step, until = one.course.step(), one.course.waits_until()
        if step is None or not step.screen.task or (until is not None and now() < until):
            raise CourseError(gettext("There is no task on this page."))
        name = one.course.state.get("tasks", {}).get(step.key, {}).get("case", "")
        try:
            return OpenTask(one, step, self.cases.open(name))
        except CaseGone:
            name = self._begin(one, step)
        return OpenTask(self.studies.open(id), step, self.cases.open(name))

    def _begin(self, one: Participation, step: StudyStep) -> str:
        model, row = self.studies.model_of(one.id), one.course.protocol.vignette
        assert row is not None and model is not None
        elicitor = ELICITOR if step.screen.task == "dialogue" else None
        name = self.cases.make_up(model, row, one.id, elicitor, step.screen.questions)
        self._note(one.id, step.key, case=name)
        return name

    def seen(self, task: OpenTask) -> None:
        """Note that a page of the task is shown from now on."""
        self._note(task.one.id, task.step.key, since=now().timestamp())

    def _note(self, id: str, key: str, **values: Any) -> None:
        """Note something of a task. Numbers called screens, what_ifs and undone are added up, others replaced."""

        def act(course: ParticipantCourse) -> None:
            noted = course.state.setdefault("tasks", {}).setdefault(key, {})
            for name, value in values.items():
                noted[name] = noted.get(name, 0) + value if name in _COUNTED else value
            if "screens" in values:
                spent = now().timestamp() - noted.get("since", now().timestamp())
                noted["seconds"] = noted.get("seconds", 0.0) + min(max(spent, 0.0), MOST_SECONDS)

        self.studies.note(id, act)

    # -- what a page shows ---------------------------------------------------------------------------------

    def person(self, task: OpenTask) -> list[tuple[str, str]]:
        """Return what the made-up person has, in words; without what nobody can change and plans never speak of."""
        from wayforward.answers.words import own_text

        x, schema = task.case.x[0], task.case.project.schema
        shown = [j for j, one in enumerate(schema.features) if one.actionability != "immutable"]
        return [(schema.features[j].text_label, own_text(schema.features[j], x[j])) for j in shown]

    def question(self, task: OpenTask) -> Question | None:
        """Return the question of the dialogue; None at its end."""
        return self.cases.question(task.case)

    def plans(self, task: OpenTask) -> tuple[list[PlanText], str]:
        """Return the plans to choose from: under the limits, or where the dialogue led to; and why there is none."""
        if not task.is_dialogue:
            try:
                return self.cases.plans(task.case), self.cases.no_plan(task.case)
            except CaseError as error:  # the model was asked very often: they can still go on without a plan
                return [], str(error)
        assert task.case.dialogue is not None
        with task.case.lock, task.case.project.turn.of(Rank.STEP):
            if (plan := task.case.dialogue.plan) is not None:
                return texts(plan, set()), ""
            end = task.case.dialogue.end
            return [], "" if end is None else end.text

    # -- what a participant does ---------------------------------------------------------------------------

    def reply(self, id: str, question: str, reply: str, revision: int | None) -> None:
        """Answer a question of the dialogue: by the key of an option, in no words. Raises: CaseChanged."""
        task = self._of_kind(id, "dialogue")
        shown = self.question(task)
        keys = [] if shown is None else [one.key for one in shown.options]
        if reply not in _ALSO and reply.removeprefix("take ") not in keys:
            raise CaseChanged(gettext("This question was answered already. Here is how it stands now."))
        self.cases.reply(task.case.case.id, question, reply, revision)
        self._note(id, task.step.key, screens=1)

    def undo(self, id: str, revision: int | None) -> None:
        """Take back the last answer. Raises: CaseChanged, CaseError."""
        task = self._of_kind(id, "dialogue")
        if not self.can_undo(task):
            raise CaseError(gettext("There is nothing to take back."))
        self.cases.undo(task.case.case.id, revision)
        self._note(id, task.step.key, screens=1, undone=1)

    def can_undo(self, task: OpenTask) -> bool:
        """Is there an answer to take back?"""
        return task.case.dialogue is not None and task.case.dialogue.can_undo

    def limits(self, id: str, limits: Mapping[str, Any], changes: Any, revision: int | None) -> None:
        """Take the page of limits. Raises: CaseChanged, ReplyError that names the feature."""
        task = self._of_kind(id, "sliders")
        self.cases.limits(task.case.case.id, limits, changes, revision)
        self._note(id, task.step.key, screens=1)

    def what_if(self, task: OpenTask, values: Mapping[str, Any], screen: bool = True) -> WhatIf:
        """Ask the model about other values. screen: was a page sent, and not only a slider moved?"""
        if task.is_dialogue:
            raise CourseError(gettext("There is no task on this page."))
        found = self.cases.what_if(task.case, values)
        self._note(task.one.id, task.step.key, what_ifs=1, **({"screens": 1} if screen else {}))
        return found

    def finish(self, id: str, action: Sequence[float | None] | None, revision: int | None) -> None:
        """Take a plan, or none (None), and go on with the questionnaire. Raises: CaseError for what is no plan."""
        task = self.open(id)
        if revision != task.one.revision:
            raise CaseChanged(gettext("This page was answered already. Here is where you are now."))
        facts = self._facts(task, action)
        self._note(id, task.step.key, screens=1)
        noted = self.studies.open(id).course.state["tasks"][task.step.key]
        result = {**facts, **{name: noted.get(name, 0) for name in _COUNTED}}
        seconds = noted.get("seconds", 0.0)
        self.studies.change(
            id, revision, lambda course: course.finish_task(task.step.key, result, now(), seconds)
        )
        self.cases.drop_made_up(task.case.case.id)

    def _of_kind(self, id: str, kind: str) -> OpenTask:
        task = self.open(id)
        if task.step.screen.task != kind:
            raise CourseError(gettext("There is no task on this page."))
        return task

    def _facts(self, task: OpenTask, action: Sequence[float | None] | None) -> dict[str, Any]:
        """What is stored of a plan: nothing of it hangs on what the person said, so that plans can be compared."""
        case, problem = task.case, task.case.project.problem
        dialogue = case.dialogue
        facts: dict[str, Any] = {
            "model": case.case.model_id, "chosen": action is not None, "plan": {}, "changes": None, "cost": None,
            "cheapest_cost": self._least(case), "questions": 0 if dialogue is None else dialogue.answered,
            "limits": case.state["limits"],
        }  # fmt: skip
        if action is None:
            return facts
        row = action_row(action)
        if row.shape != case.x[0].shape:
            raise CaseError(gettext("That is no plan of this case."))
        with case.lock, case.project.turn:
            self.cases.count_unseen(case, plain_row(row))
            judged = problem.check(case.x, row[None, None], 1)
        if not judged.found[0, 0]:
            raise CaseError(gettext("That is no plan of this case."))
        acted = np.flatnonzero(np.isfinite(row) & (row != case.x[0]))
        names = problem.schema.names
        facts |= {
            "plan": {names[j]: [float(case.x[0, j]), float(row[j])] for j in acted}, "changes": len(acted),
            "cost": round(float(judged.cost[0, 0]), 6),
        }  # fmt: skip
        return facts

    def _least(self, case: Applicant) -> float | None:
        """The least cost of a plan that the search knows, without limits."""

        place = json.dumps([case.case.model_id, case.state["x"]])
        if place not in self._cheapest:
            with case.project.turn.of(Rank.SEARCH):
                found = case.project.method.recommend(case.x, seed=SEED).rounded
            if not found.found[0, 0]:
                return None
            self._cheapest[place] = round(float(found.cost[0, 0]), 6)
        return self._cheapest[place]


_ALSO = ("cannot say", "stop here")
_COUNTED = ("screens", "what_ifs", "undone")


def model_for(cases: Cases, protocol: StudyProtocol) -> str | None:
    """Return the published model that tasks of a protocol are about; None where it has none.

    It is the one that the protocol names, or the newest one that refuses its made-up person and has a plan for them.
    Raises: CaseError that says why none fits.
    """
    if not protocol.vignette:
        return None
    with cases.database.session(write=False) as session:
        versions = [one for one in published(session) if protocol.model in ("", one.id, one.title)]
    if not versions:
        if protocol.model:
            why = gettext("There is no published model '{name}'.", name=protocol.model)
        else:
            why = gettext("There is no published model.")
        raise CaseError(why + " " + gettext("An operator adds one, and an approver publishes it."))
    problems = [_misfit(cases, version.id, protocol.vignette) for version in versions]
    for version, problem in zip(versions, problems, strict=True):
        if not problem:
            return str(version.id)
    raise CaseError(
        gettext(
            "vignette: no published model fits. '{title}': {why}", title=versions[0].title, why=problems[0]
        )
    )


def _misfit(cases: Cases, model_id: str, row: Mapping[str, Any]) -> str:
    """Why a model cannot be asked about a made-up person; "" where it can."""
    project = cases.projects.project(model_id)
    try:
        x = project.problem.encode(table_of([row]))
    except DataError as error:
        return str(error)

    with project.turn.of(Rank.SEARCH):
        if project.problem.reached(x)[0][0]:
            return gettext("It says yes to this person. Give one whom it refuses.")
        if not project.method.recommend(x, seed=SEED).found[0, 0]:
            return gettext("There is no plan for this person. Give one who has a way.")
    return ""
