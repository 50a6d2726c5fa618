"""What an applicant can do with their case: say limits, see plans, choose, keep, ask what if, take a receipt along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import update

from wayforward.answers.receipt import Receipt
from wayforward.errors import DataError
from wayforward.language import day_text, gettext, language
from wayforward.serve.case_store import (
    Applicant,
    CaseChanged,
    CaseError,
    CaseStore,
    action_row,
    table_of,
)
from wayforward.serve.consent import CURRENT
from wayforward.serve.events import record
from wayforward.serve.plans import SEED, ComparedPlans, PlanText, WhatIf, compared, plain_row, plans_of, texts
from wayforward.serve.storage.tables import ApplicantCase, now
from wayforward.serve.turns import Rank

if TYPE_CHECKING:
    from wayforward.answers.refusal import Reason
    from wayforward.people.dialogue.question import Question
    from wayforward.people.dialogue.wording import Ending
    from wayforward.recourse import Recourse

MOST_KEPT = 12
MOST_COMPARED = 4
VALID_DAYS = 90  # of a receipt


class Cases(CaseStore):
    """Every method is one act of an applicant."""

    def consent(self, id: str, version: int | None) -> None:
        """Note that the person agrees to a version of the text. Raises: CaseChanged where it is not today's."""
        if version != CURRENT:
            raise CaseChanged(
                gettext("This text was changed since you opened the page. Please read it again.")
            )
        with self.database.session() as session:
            open_yet = ApplicantCase.consent_version.is_distinct_from(CURRENT)
            agreed = {"consent": now(), "consent_version": CURRENT}
            if session.execute(
                update(ApplicantCase)
                .where(ApplicantCase.id == id, open_yet)
                .values(agreed)
                .returning(ApplicantCase.id)
            ).first():
                record(session, "applicant", f"consent given to text {CURRENT}", id)

    def withdraw(self, id: str) -> None:
        """The person agrees no longer: nothing more is worked out, and what they said waits to be deleted."""
        with self.database.session() as session:
            nothing = {"consent": None, "consent_version": None}
            session.execute(update(ApplicantCase).where(ApplicantCase.id == id).values(nothing))
            record(session, "applicant", "consent withdrawn", id)
        self._drop(id)

    def limits(
        self,
        id: str,
        limits: Mapping[str, Any],
        changes: Any = None,
        revision: int | None = None,
        within: Any = None,
    ) -> Applicant:
        """Take all limits at once, as `Dialogue.form` asks for them; plans kept before stay in the list. within: a
        number of months, or a deadline as people type it.

        Raises: ReplyError that names the feature.
        """
        from wayforward.people.dialogue import Dialogue

        with self._changing(id, revision, "reply", Rank.SEARCH) as one:
            dialogue = Dialogue(one.project.problem, one.x[0], questionnaire="page", seed=SEED)
            ends = (
                dialogue.ask() is None
            )  # before a word was said: it was proved that nothing helps, or it is a yes
            if ends and one.project.problem.reached(one.x)[0][0]:
                raise CaseError(gettext("The answer is a yes already. There is nothing to change."))
            given = {name: value for name, value in limits.items() if value not in (None, "", {})}
            reply = {"limits": given, "changes": changes} | ({} if within is None else {"within": within})
            if not ends:
                dialogue.answer(reply)
            one.state["limits"] = reply
            one.dialogue = dialogue
        return one

    def reply(self, id: str, question_id: str, reply: Any, revision: int | None = None) -> Applicant:
        """Answer the question on the table. Raises: ReplyError for what fits no answer; CaseChanged for another one."""
        with self._changing(id, revision, "reply") as one:
            question = None if one.dialogue is None else one.dialogue.ask()
            if question is None or one.dialogue is None:
                raise CaseError(gettext("There is no question open."))
            if question.id != question_id:
                raise CaseChanged(gettext("This question was answered already. Here is how it stands now."))
            one.dialogue.answer(reply, question_id)
        return one

    def undo(self, id: str, revision: int | None = None) -> Applicant:
        """Take back the last reply; before the first one the limits are open again."""
        with self._changing(id, revision) as one:
            if one.dialogue is None:
                raise CaseError(gettext("There is nothing to take back."))
            if one.dialogue.answered <= 1 and one.state["limits"]:
                one.dialogue = None
                one.state["limits"] = {}
            else:
                one.dialogue.undo()
        return one

    def question(self, one: Applicant) -> Question | None:
        """Return the question on the table; None before the limits and at the end."""
        if one.dialogue is None:
            return None
        with one.lock, one.project.turn:
            return one.dialogue.ask()

    def learned(self, one: Applicant) -> list[str]:
        """Return what the choices so far say, in sentences."""
        if one.dialogue is None:
            return []
        with one.lock, one.project.turn.of(Rank.STEP):
            return one.dialogue.learned()

    def form(self, one: Applicant) -> list[dict[str, Any]]:
        """Return one entry for each feature that the person may change, with help and what others have. places: what
        levels are called in a reply, in any language; hard: the same for how hard something is, and its words.
        """
        from wayforward.people.dialogue.question import LIKERT
        from wayforward.people.dialogue.questionnaire import ahead, form_entry

        problem, schema = one.project.problem, one.project.schema
        with one.project.turn:
            people = problem.population(one.x)
            entries = [form_entry(people, int(j)) for j in np.flatnonzero(people.may[0])]
        for entry in entries:
            feature = schema[entry["feature"]]
            entry["help"] = feature.text_description
            entry["step"] = feature.step or (1 if feature.kind == "integer" else None)
            ends = (entry.get("low"), entry.get("high"))
            entry["spread"] = one.project.spread(feature.name, entry["now"], *ends)
            entry["others"] = one.project.others(feature.name, entry["now"])
            entry["unit"], entry["title"] = feature.text_unit, feature.text_label
            entry["hard"] = list(zip(LIKERT, entry["difficulty"][:-1], strict=True))
            if feature.has_levels:
                entry["places"] = [level + 1 for level in ahead(people, schema.index(feature.name))]
        return entries

    # -- answers -------------------------------------------------------------------------------------------

    def decision(self, one: Applicant) -> dict[str, Any]:
        """Return the answer, how near it was, and the principal reasons, in sentences."""
        from wayforward.answers.standing import near_text

        problem = one.project.problem
        with one.project.turn.of(Rank.STEP):
            accepted, value = problem.reached(one.x)
            takes = problem.bound_target.needed()
            found = [] if accepted[0] else [reason.text(problem.schema, one.x[0]) for reason in self.why(one)]
        return {
            "accepted": bool(accepted[0]),
            "near": near_text(takes, float(value[0])),
            "reasons": [text[:1].upper() + text[1:] + "." for text in found],
            "yes": one.project.yes,
        }

    def why(self, one: Applicant) -> list[Reason]:
        """Return the principal reasons: the same on every page and in the letter, whatever the person says later."""
        from wayforward.answers import reasons

        place = (one.case.id, 0)
        with self._lock:
            if (held := self._why.get(place)) is not None:
                return held
        problem = one.project.problem
        with one.project.turn.of(Rank.STEP):
            found = reasons(problem, one.project.method.recommend(one.x, seed=SEED).rounded, 0)
        self._hold(self._why, place, found)
        return found

    def options(self, one: Applicant) -> Recourse:
        """Return the plans under the person's limits: one of each kind. Worked out once."""
        place = (one.case.id, one.wishes)
        with self._lock:
            if (held := self._plans.get(place)) is not None:
                return held
        self._spend(one, "plans")
        with one.project.turn.of(Rank.SEARCH):
            found = plans_of(one.project.method, one.x, one.preferences)
        self._hold(self._plans, place, found)
        return found

    def plans(self, one: Applicant) -> list[PlanText]:
        """Return the plans under the person's limits, in words."""
        place = (one.case.id, one.wishes, language(), date.today())
        with self._lock:
            shown = self._texts.get(place)
        if shown is None:
            found = self.options(one)
            with one.project.turn.of(Rank.SEARCH):
                shown = texts(found, set())
            self._hold(self._texts, place, shown)
        marked = {tuple(entry["action"]) for entry in one.state["kept"]}
        return [replace(plan, is_kept=plan.action in marked) for plan in shown]

    def end(self, one: Applicant) -> Ending | None:
        """Return how the dialogue ended, beside the plans that its page shows; None before that, and without one."""
        if one.dialogue is None:
            return None
        with one.lock, one.project.turn.of(Rank.STEP):
            return one.dialogue.end_beside(lambda: self.options(one))

    def chosen(self, one: Applicant) -> PlanText | None:
        """Return the plan that the dialogue led to, beside `end`, which says what else is enough; None for no plan."""
        if one.dialogue is None:
            return None
        with one.lock, one.project.turn.of(Rank.STEP):
            plan = one.dialogue.plan
            marked = {tuple(entry["action"]) for entry in one.state["kept"]}
            return None if plan is None else texts(plan, marked, slack=False)[0]

    def no_plan(self, one: Applicant) -> str:
        """Say why there is no plan, as far as it is known; '' where there is one."""
        from wayforward.answers import outcome_text

        found = self.options(one)
        return "" if found.found[0].any() else outcome_text(found.outcome[0, 0])

    def keep(self, id: str, action: Sequence[float | None], revision: int | None = None) -> Applicant:
        """Keep a plan, so that it is not lost. Raises: CaseError for what is no plan of this person, or too many."""
        with self._changing(id, revision) as one:
            plain = plain_row(action_row(action))
            self.count_unseen(one, plain)
            if not self._judged(one, [plain]).found[0].any():
                raise CaseError(gettext("That is no plan of this case."))
            if len(one.state["kept"]) >= MOST_KEPT:
                raise CaseError(gettext("At most {n} plans can be kept. Let one go first.", n=MOST_KEPT))
            if plain not in [entry["action"] for entry in one.state["kept"]]:
                one.state["kept"].append({"action": plain, "at": now().isoformat(timespec="seconds")})
        return one

    def let_go(self, id: str, place: int, revision: int | None = None) -> Applicant:
        """Keep a plan no longer."""
        with self._changing(id, revision) as one:
            if not 0 <= place < len(one.state["kept"]):
                raise CaseError(gettext("That plan is not in the list (any more)."))
            del one.state["kept"][place]
        return one

    def bookmarks(self, one: Applicant) -> list[PlanText]:
        """Return the plans that were kept, judged again now: by this model and this person's limits."""
        out = []
        for place, entry in enumerate(one.state["kept"]):
            with one.project.turn.of(Rank.STEP):
                judged = self._judged(one, [entry["action"]])
                shown = texts(judged, set())
            if shown:
                plan = shown[0]
            else:
                plan = PlanText(
                    "",
                    "",
                    (gettext("This plan no longer holds."),),
                    (),
                    (),
                    (),
                    tuple(entry["action"]),
                    False,
                )
            day = datetime.fromisoformat(entry["at"]).astimezone(UTC).date()
            name = gettext("Kept plan {n}, of {day}", n=place + 1, day=day_text(day))
            out.append(PlanText(**{**vars(plan), "key": str(place), "name": name, "is_kept": True}))
        return out

    def compare(self, one: Applicant, keys: Sequence[str]) -> ComparedPlans:
        """Lay plans side by side: keys p0, p1, ... of those under today's limits, k0, k1, ... of those that were kept.

        Raises: CaseError for fewer than two, or more than four, or for one that is not there (any more).
        """
        found = {f"p{plan.key}": (self.plan_name(i, plan), plan) for i, plan in enumerate(self.plans(one), 1)}
        found |= {f"k{plan.key}": (plan.name, plan) for plan in self.bookmarks(one) if plan.holds}
        chosen = list(dict.fromkeys(keys))
        if not 2 <= len(chosen) <= MOST_COMPARED or not set(chosen) <= set(found):
            raise CaseError(
                gettext("Tick two plans that you want to see side by side, at most {n}.", n=MOST_COMPARED)
            )
        return compared([found[key][1] for key in chosen], [found[key][0] for key in chosen])

    @staticmethod
    def plan_name(place: int, plan: PlanText) -> str:
        """What a page calls a plan: "Plan 1: fewest changes"."""
        return gettext("Plan {n}: {name}", n=place, name=plan.name[:1].lower() + plan.name[1:])

    def count_unseen(self, one: Applicant, plain: Sequence[float | None]) -> None:
        """Count a plan that was not shown: whether it holds is an answer of the model. Raises: CaseError.

        What was kept, the dialogue's plan and the plans of today's limits are known to hold, and cost nothing.
        """
        with self._lock:
            held = self._plans.get((one.case.id, one.wishes))
        known = [entry["action"] for entry in one.state["kept"]]
        shown = [held, None if one.dialogue is None else one.dialogue.plan]
        for found in filter(None, shown):
            known += [plain_row(row) for row in found.action[0][found.found[0]]]
        if plain not in known:
            self._spend(one, "plan")

    def _judged(self, one: Applicant, actions: Sequence[Sequence[float | None]]) -> Recourse:
        rows = [action_row(action) for action in actions]
        if any(row.shape != one.x[0].shape for row in rows):
            raise CaseError(gettext("That is no plan of this case."))
        return one.project.problem.check(
            one.x, np.stack(rows)[None], len(actions), preferences=one.preferences
        )

    def what_if(self, one: Applicant, values: Mapping[str, Any]) -> WhatIf:
        """Ask the model about the person with other values of what they may change; what follows from it is worked out.

        Raises: DataError that names the column and the value; CaseError where the budget is spent.
        """
        problem, schema = one.project.problem, one.project.schema
        with one.project.turn:
            people = problem.population(one.x)
            may = {schema.names[j] for j in np.flatnonzero(people.may[0])}
            if set(values) - may:
                raise DataError(
                    gettext(
                        "'{name}' is nothing that can be changed here.", name=sorted(set(values) - may)[0]
                    )
                )
            before = {name: cells[0] for name, cells in schema.decode(one.x, like="dict").items()}
            profile = schema.encode(table_of([{**before, **values}]))
            action = np.where(profile != one.x, profile, np.nan)
            self._spend(one, "what-if")
            judged = problem.check(one.x, action[None], 1)
            led = problem.standing(one.x, problem.consequences(one.x, action))
            after = judged.after[0, 0] if judged.found[0, 0] else led[0]
            yes, value = problem.reached(after[None])
            from wayforward.answers.standing import near_text

            broken = (
                ()
                if judged.found[0, 0] or not yes[0]
                else (gettext("Nobody in your place could do exactly this."),)
            )
            text = "" if yes[0] else near_text(problem.bound_target.needed(), float(value[0]))
        return WhatIf(bool(yes[0]), text, broken)

    # -- what they take along ------------------------------------------------------------------------------

    def letter(self, one: Applicant, *, contact: str = "", day: date | None = None) -> str:
        """Return the letter: answer, reasons, limits, plans, what to keep in mind."""
        from wayforward.answers import Letterhead, letter

        head = Letterhead(day=day or date.today(), case=one.case.id[:8], contact=contact)
        with one.project.turn.of(Rank.SEARCH):
            return letter(one.project.problem, self.options(one), 0, reasons=self.why(one), head=head)

    def receipt(
        self, one: Applicant, action: Sequence[float | None], lender: str, day: date | None = None
    ) -> Receipt:
        """Return a signed receipt of a plan that holds now. Raises: CaseError for one that does not."""
        with one.lock, one.project.turn:
            self.count_unseen(one, plain_row(action_row(action)))
            judged = self._judged(one, [list(action)])
            accepted = bool(one.project.problem.reached(one.x)[0][0])
        if accepted:
            raise CaseError(gettext("The answer is a yes already. There is nothing to change."))
        if not judged.found[0].any():
            raise CaseError(
                gettext("This plan does not hold (any more), so that no receipt can be given for it.")
            )
        plan, today = texts(judged, set())[0], day or date.today()
        content = {
            "lender": gettext(lender),
            "case": one.case.id[:8],
            "model": one.case.model_id,
            "issued": today.isoformat(),
            "valid_until": (today + timedelta(days=VALID_DAYS)).isoformat(),
            "answer_before": "no",
            "answer_after": "yes",
            "plan": list(plan.steps),
            "follows": list(plan.follows),
            "language": language(),
        }
        return self.keys.signer.sign(content)
