"""The way of one participant through a protocol: what comes next, what an answer does, and where it ends.

Whoever stores it (the web application, a rehearsal) holds `state`, plain data; nothing else is needed to go on. Time
comes from outside, so that a test can wait two weeks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from wayforward.errors import DialogueError, ReplyError
from wayforward.language import gettext
from wayforward.study.items import ChoiceItem, in_language
from wayforward.study.pool import ProfilePool, side_by_side
from wayforward.study.protocol import PROFILE, StudyPart, StudyProtocol, StudyScreen

MOST_SECONDS = 3600.0  # on one page: longer is no dwelling


class Standing(StrEnum):
    """Where a participation is. ADMISSION: through the screening; the next number is to be given."""

    CONSENT = "consent"
    SCREENING = "screening"
    ADMISSION = "admission"
    ACTIVE = "active"
    EXCLUDED = "excluded"
    FULL = "full"
    FINISHED = "finished"


ENDED = frozenset({Standing.EXCLUDED, Standing.FULL, Standing.FINISHED})


class CourseError(DialogueError):
    """The study cannot do this now. The message is for the participant."""


class AnswersError(ReplyError):
    """Some answers of a page are not there or fit no question. problems: position of the item -> what is wrong."""

    def __init__(self, problems: dict[int, str]) -> None:
        self.problems = problems
        super().__init__(" ".join(problems.values()))


@dataclass(frozen=True)
class StudyStep:
    """A page of one participant. key: its name in the answers. copy: which plan, 0 where there is one page."""

    key: str
    screen: StudyScreen
    part: StudyPart | None = None
    copy: int = 0
    plan: list[dict[str, Any]] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)


@dataclass
class ParticipantCourse:
    """One participation. pool: of a study that shows plans."""

    protocol: StudyProtocol
    state: dict[str, Any]
    pool: ProfilePool | None = None

    def __post_init__(self) -> None:
        self.state.setdefault("drafts", {})  # participations of before there were several

    @classmethod
    def begin(
        cls, protocol: StudyProtocol, language: str = "", pool: ProfilePool | None = None
    ) -> ParticipantCourse:
        """A new participation, before consent."""
        language = language if language in protocol.languages else protocol.languages[0]
        state: dict[str, Any] = {
            "protocol": protocol.hash, "language": language, "standing": Standing.CONSENT, "answers": {}, "drafts": {},
            "seconds": {}, "ended": {}, "failed": [], "why": "",
        }  # fmt: skip
        return cls(protocol, state, pool)

    @property
    def standing(self) -> Standing:
        """Where it is."""
        return Standing(self.state["standing"])

    def words(self, text: Any) -> str:
        """A text of the protocol in the participant's language."""
        return in_language(text, self.state["language"])

    # -- what comes next -----------------------------------------------------------------------------------

    def step(self) -> StudyStep | None:
        """The page on the table; None before consent, at the admission and at the end."""
        if self.standing not in (Standing.SCREENING, Standing.ACTIVE):
            return None
        return next((one for one in self.steps() if one.key not in self.state["answers"]), None)

    def waits_until(self) -> datetime | None:
        """When the next part begins; None where nothing is waited for, or only for the participant."""
        step = self.step()
        if step is None or step.part is None or not step.part.wait_days:
            return None
        place = self.protocol.parts.index(step.part)
        ended = (
            self.state["ended"].get(self.protocol.parts[place - 1].id) if place else self.state["admitted"]
        )
        return datetime.fromisoformat(ended) + timedelta(days=step.part.wait_days)

    def progress(self) -> tuple[int, int]:
        """How many pages are behind, and how many there are as far as is known."""
        steps = list(self.steps())
        return sum(one.key in self.state["answers"] for one in steps), len(steps)

    def steps(self) -> Iterator[StudyStep]:
        """Every page as far as is known, answered or not."""
        for screen in self.protocol.screening:
            yield StudyStep(screen.id, screen, items=screen.all_items)
        if "arm" not in self.state:
            return
        for part in self.protocol.parts:
            blocks = {block.id: block for block in part.blocks}
            for name in self.state["orders"][part.id]:
                screens = {screen.id: screen for screen in blocks[name].screens}
                for id in self.state["orders"][f"{part.id}/{name}"]:
                    if not screens[id].arms or self.state["arm"] in screens[id].arms:
                        yield from self.copies(part, screens[id])

    def copies(self, part: StudyPart, screen: StudyScreen) -> Iterator[StudyStep]:
        """The pages of a screen: one, or one for each plan that is shown."""
        if screen.each is None:
            yield StudyStep(screen.id, screen, part, items=screen.all_items)
            return
        for copy, plan in enumerate(self.state.get("plans", []), 1):
            rows = side_by_side(self.state["profile"], plan)
            changed = [f"{row['name']}: {row['now']} → {row['then']}" for row in rows if row["changes"]]
            impossible = ChoiceItem(
                kind="choice", id="impossible", options=list(changed), several=True, required=False,
                text={
                    "en": "Which of these changes are impossible for you? Leave all empty if none is.",
                    "de": "Welche dieser Änderungen sind für Sie unmöglich? Lassen Sie alle leer, wenn keine.",
                },
            )  # fmt: skip
            items = [*screen.all_items, impossible]
            yield StudyStep(f"{screen.id}#{copy}", screen, part, copy, rows, items)

    # -- what a participant does ---------------------------------------------------------------------------

    def consent(self, now: datetime) -> None:
        """The participant agrees."""
        if self.standing is Standing.CONSENT:
            self.state["consented"] = _text(now)
            self._stand(Standing.SCREENING if self.protocol.screening else Standing.ADMISSION)

    def save(self, key: str, raw: Mapping[int, Sequence[str]]) -> None:
        """Keep what is typed so far, unread. Raises: CourseError for a page that is not on the table."""
        self._at(key)
        self.state["drafts"][key] = {str(place): list(typed) for place, typed in raw.items()}

    def draft(self, step: StudyStep) -> dict[int, list[str]]:
        """What was typed on this page before, by the position of the item."""
        return {int(i): typed for i, typed in self.state["drafts"].get(step.key, {}).items()}

    def answer(self, key: str, raw: Mapping[int, Sequence[str]], now: datetime, seconds: float = 0.0) -> None:
        """Take a page. raw: position of the item -> what was typed. seconds: how long the page was open.

        Raises: AnswersError with what is wrong, by item; CourseError for a page that is not on the table.
        """
        step = self._at(key, now)
        if step.screen.task:
            raise CourseError(gettext("Please do the task on this page first."))
        found, problems = {}, {}
        for place, item in enumerate(step.items):
            try:
                found[item.id] = item.read(raw.get(place, ()))
            except ReplyError as error:
                problems[place] = str(error)
        if problems:
            raise AnswersError(problems)
        self._done(step, found, now, seconds)

    def before(self) -> StudyStep | None:
        """The page to which a participant can go back: of the same visit, and none that decided about what follows."""
        step, found = self.step(), None
        if step is None or not self.protocol.back:
            return None
        for one in self.steps():
            if one.key == step.key:
                break
            found = one
        if found is None or found.part != step.part or found.screen.task or found.screen.ready == PROFILE:
            return None
        return found

    def back(self, key: str, raw: Mapping[int, Sequence[str]]) -> None:
        """Open the page before once more; what is typed on this one is not lost. Raises: CourseError.

        A failed attention check stays failed, and time on a page is added up.
        """
        self.save(key, raw)
        step = self.before()
        if step is None:
            raise CourseError(gettext("There is no page to go back to."))
        given = self.state["answers"].pop(step.key)
        self.save(step.key, {i: item.typed(given[item.id]) for i, item in enumerate(step.items)})
        self.state["backs"] = self.state.get("backs", 0) + 1

    def finish_task(self, key: str, result: dict[str, Any], now: datetime, seconds: float = 0.0) -> None:
        """Take what came of a task: plain data. Raises: CourseError."""
        step = self._at(key, now)
        if not step.screen.task:
            raise CourseError(gettext("There is no task on this page."))
        self.state.get("tasks", {}).pop(key, None)
        self._done(step, result, now, seconds)

    def admit(
        self, number: int, taken: int, taken_alike: int, now: datetime, place: int | None = None
    ) -> None:
        """Give the participant a number (0, 1, ...), by it an arm and all orders; or end it where a quota is full.

        taken: how many are admitted and have not withdrawn; taken_alike: those of them with this `cell`. place: how
        many of this `stratum` were admitted before, where the protocol has strata.
        """
        if self.standing is not Standing.ADMISSION:
            raise CourseError(gettext("This participation is admitted already."))
        quota = self.protocol.quota
        if taken >= quota.most or taken_alike >= quota.each.get(self.cell, taken_alike + 1):
            self._stand(Standing.FULL)
            return
        place, stratum = (number, ()) if place is None else (place, self.stratum)
        self.state |= {
            "number": number, "arm": self.protocol.arm(place, stratum)[0],
            "orders": self.protocol.orders(number, place, stratum), "admitted": _text(now),
        }  # fmt: skip
        self._stand(Standing.ACTIVE)
        self._end_parts(now)

    @property
    def cell(self) -> int:
        """The code of the item that the quota counts by; 0 where it counts by none."""
        value = self._screened(self.protocol.quota.by) if self.protocol.quota.by else 0
        return value if isinstance(value, int) else 0

    @property
    def stratum(self) -> tuple[int, ...]:
        """What was chosen for each item that the randomisation is stratified by; () where it is by none."""
        return tuple(int(self._screened(id)) for id in self.protocol.strata)

    # -- inside --------------------------------------------------------------------------------------------

    def _at(self, key: str, now: datetime | None = None) -> StudyStep:
        step = self.step()
        if step is None or step.key != key:
            raise CourseError(gettext("This page was answered already. Here is where you are now."))
        until = self.waits_until()
        if now is not None and until is not None and now < until:
            raise CourseError(gettext("The next part has not begun yet. Please come back later."))
        return step

    def _done(self, step: StudyStep, found: dict[str, Any], now: datetime, seconds: float) -> None:
        self.state["answers"][step.key] = found
        spent = self.state["seconds"].get(step.key, 0.0) + min(max(seconds, 0.0), MOST_SECONDS)
        self.state["seconds"][step.key] = round(spent, 1)
        self.state["drafts"].pop(step.key, None)
        for item in step.items:
            expect = getattr(item, "expect", None)
            name = f"{step.key}.{item.id}"
            if expect is not None and found[item.id] != expect and name not in self.state["failed"]:
                self.state["failed"].append(name)
        allowed = self.protocol.checks.allowed
        if allowed is not None and len(self.state["failed"]) > allowed:
            self._stand(Standing.EXCLUDED, "attention")
        elif step.part is None:
            self._screen(step, found)
        else:
            if step.screen.ready == PROFILE:
                self._show_plans(found)
            self._end_parts(now)

    def _screen(self, step: StudyStep, found: dict[str, Any]) -> None:
        if out := [item.id for item in step.items if item.excludes(found[item.id])]:
            self._stand(Standing.EXCLUDED, f"screening: {out[0]}")
        elif self.step() is None:
            self._stand(Standing.ADMISSION)

    def _show_plans(self, found: dict[str, Any]) -> None:
        assert self.protocol.plans is not None
        if self.pool is None:
            raise CourseError(gettext("The pool of this study is missing. Please tell the researchers."))
        profile = [found[f"item-{i}"] for i in range(1, 17)]
        seed = [self.protocol.seed, self.state["number"], 3]
        plans = self.pool.choose(profile, self._screened(self.protocol.plans.income), seed)
        if plans is None:
            self._stand(Standing.EXCLUDED, "fewer than five plans")
        else:
            self.state |= {"profile": profile, "plans": plans}

    def _end_parts(self, now: datetime) -> None:
        """Note the end of every part without an open page, and of the whole."""
        if self.standing is not Standing.ACTIVE:
            return
        step = self.step()
        last = (
            len(self.protocol.parts)
            if step is None or step.part is None
            else self.protocol.parts.index(step.part)
        )
        for part in self.protocol.parts[:last]:
            self.state["ended"].setdefault(part.id, _text(now))
        if step is None:
            self._stand(Standing.FINISHED)

    def _stand(self, standing: Standing, why: str = "") -> None:
        self.state["standing"], self.state["why"] = standing.value, why

    def _screened(self, id: str) -> Any:
        for screen in self.protocol.screening:
            if id in (found := self.state["answers"].get(screen.id, {})):
                return found[id]
        return None


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
