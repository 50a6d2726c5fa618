"""One conversation: what each reply changes, and what comes after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wayforward.people.dialogue.course import LIMITS, Course
from wayforward.people.dialogue.question import Reply
from wayforward.people.dialogue.questionnaire import QuestionnaireItem, wishes_from
from wayforward.people.dialogue.setup import PLANS, PendingQuestion
from wayforward.people.dialogue.wishes import Wish
from wayforward.people.elicitor import CANNOT_SAY


class Conversation(Course):
    """One person, from the first question to the end. pending: the question, or None at the end; ended: how."""

    def take(self, reply: Reply) -> None:
        """Go on with a reply as `read` gives it."""
        p = self.on_table
        if "keep" in reply:  # the question stays
            self.seen.mark(p.plans[reply["keep"]].name)
            return
        if p.what in PLANS and p.what not in ("final", "recall"):
            self.spent += 1
        if reply.get("stop"):
            self._stop(p)
        elif "page" in reply:
            self._page(p, reply["page"], reply.get("unread", ()))
        elif "take" in reply:
            self.best = p.plans[reply["take"]]
            self._end("accepted")
        elif "wish" in reply:
            self._wish(p, reply["wish"])
        elif p.what == "first" or p.what == "final":
            self._take_plan(p, reply)
        elif p.what == "reconsider":
            self._reconsider(p, reply)
        elif p.what == "accept":
            self._take_accept(p, reply)
        elif p.what in ("pair", "last"):
            self._take_pair(p, reply)
        elif p.what == "recall":
            if reply.get("unsure"):
                self._end("stopped")
                return
            at = reply["option"]
            self.best = p.plans[at] if at < len(p.plans) else self.best
            self._end("accepted" if at < len(p.plans) else "rejected")
        else:
            assert p.item is not None
            wishes, follow = wishes_from(p.item, reply, self.asking)
            self.wishes += wishes
            self.queue = follow + self.queue
            self._next_limit()

    def _stop(self, p: PendingQuestion) -> None:
        if p.what not in PLANS and p.what != "reconsider":  # they have heard enough questions: show the plan
            self.queue = []
            self.best = self._afresh()
        self._end("stopped" if self.best is not None else "none")

    def _wish(self, p: PendingQuestion, wish: Wish) -> None:
        """Something that the person cannot do, said on the way."""
        self.wishes.append(wish)
        self.notes.append({"wish": wish})
        if p.what not in PLANS and p.what != "reconsider":
            assert p.item is not None
            self.queue = [
                item for item in self.queue if "can" not in wish or self._named(item) != wish["feature"]
            ]
            if "score" in wish or self._named(p.item) != wish.get("feature") or p.item.what == "rank":
                self.queue.insert(0, p.item)  # the question itself is still open
                self.limit_screens -= p.item.what in LIMITS
            self._next_limit()
        elif self.session is not None and p.what in ("pair", "accept"):
            self.best = None
            self.session.answer(np.array([CANNOT_SAY if p.what == "pair" else 0]), self.preferences)
            self._next()
        else:
            self._plan()

    def _page(self, p: PendingQuestion, wishes: Sequence[Wish], unread: Sequence[dict[str, str]]) -> None:
        """All limits at once: no more screens about them, but for the same one where a part was not read."""
        self.wishes += wishes
        if unread and p.item is not None:
            self.notes.append({"page": list(wishes), "unread": list(unread)})
            self.queue.insert(0, p.item)
            self._next_limit()
            return
        if wishes:
            self.notes.append({"page": list(wishes), "unread": []})
        if p.what in PLANS or p.what == "reconsider":
            self._plan()
            return
        self.queue = [item for item in self.queue if item.what == "rank"]
        self._next_limit()

    def _named(self, item: QuestionnaireItem) -> str:
        return self.schema.names[item.feature] if item.feature >= 0 else ""

    def _take_plan(self, p: PendingQuestion, reply: Reply) -> None:
        if reply.get("yes"):
            self.best = p.plans[0]
            self._end("accepted")
        elif p.what == "final":
            if reply.get("unsure"):
                self._end("stopped")
            else:
                self.seen.decline(p.plans[0])
                self._recall(self.seen_beside(p.plans[0]))
        else:
            if not reply.get("unsure"):
                self.seen.decline(p.plans[0])
            self._begin_session()

    def _take_accept(self, p: PendingQuestion, reply: Reply) -> None:
        assert self.session is not None
        if reply.get("yes"):
            self.session.answer(np.array([1]))
            self.best = p.plans[0]
            self._end("accepted")
            return
        if not reply.get("unsure"):
            self.seen.decline(p.plans[0])
        self.session.answer(np.array([CANNOT_SAY if reply.get("unsure") else 0]))
        self._next()

    def _take_pair(self, p: PendingQuestion, reply: Reply) -> None:
        assert self.session is not None
        if not reply.get("unsure"):
            taken = p.plans[reply["option"]]
            if self.seen.prefer(taken, [other for other in p.plans if other is not taken]):
                self.notes.append({"turned": True})
        if p.what == "last":
            self.best = p.plans[reply.get("option", 0)]
            self._put(PendingQuestion("final", plans=[self.best], places=[0]))
            return
        self.session.answer(np.array([CANNOT_SAY if reply.get("unsure") else p.places[reply["option"]]]))
        self._next()

    def _reconsider(self, p: PendingQuestion, reply: Reply) -> None:
        at = reply.get("option", len(p.relaxations))
        if reply.get("unsure") or at >= len(p.relaxations):
            self._end("none")
            return
        gone = set(p.relaxations[at].wishes)
        self.wishes = [wish for i, wish in enumerate(self.wishes) if i not in gone]
        self.relaxations, self.outcome = [], None
        if self.limits_requested:
            self._plan()
        else:
            self._ask_limits()
