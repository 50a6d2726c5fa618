"""The course of one conversation: limits, a first plan, choices, the end. It remembers no files and no log.

Given the problem, the person, the setup and the replies, everything that it asks is determined; so a log of the
replies is a whole state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import consequences, steps, why, words
from wayforward.answers.rounding import GENEROSITY, round_away
from wayforward.errors import PreferencesError, ReplyError
from wayforward.people.dialogue import questionnaire as q
from wayforward.people.dialogue.lessons import Compared, circle
from wayforward.people.dialogue.question import (
    NEITHER,
    STOP,
    UNSURE,
    AnswerKind,
    Option,
    Reply,
    chosen,
    clean,
    freeze_or_limit,
    number,
    said,
    several,
    yes_or_no,
)
from wayforward.people.dialogue.state import digest
from wayforward.people.dialogue.wishes import HARD, Wish, given_up, preferences_of, told
from wayforward.people.elicitor import CANNOT_SAY, Elicitor, Kind, Session
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Problem

_SILENT = 1000  # questions that answer themselves, before a session is taken to go in circles
_MORE = 0.02  # of a value: how much further it may go to be easy to say
_SAYABLE = (1.0, 0.1, 0.01)  # of that: tried one after another
_WAYS = 4  # limits that are named where they stand in the way
PLANS = ("first", "pair", "accept", "final")


@dataclass(frozen=True)
class Plan:
    """A plan as shown: round numbers, judged after rounding. action, after (d,); cost in the
    problem's unit."""

    action: np.ndarray
    after: np.ndarray
    cost: float
    steps: tuple[str, ...]
    follows: tuple[str, ...]

    @property
    def name(self) -> str:
        """The same for plans that read alike."""
        return digest([*self.steps, *self.follows])


@dataclass(frozen=True)
class Way:
    """Limits (positions in the list of wishes) that would have to give, and the plan that this opens."""

    wishes: tuple[int, ...]
    plan: Plan


@dataclass
class Pending:
    """The question on the table. what: limit questions as in the questionnaire, one of PLANS, or
    reconsider."""

    what: str
    item: q.Item | None = None
    plans: list[Plan] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # which option of the session each plan is
    ways: list[Way] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """A fingerprint of what is shown; words aside, so that a better sentence does not spoil a
        stored state."""
        rows = [plan.action for plan in (*self.plans, *(way.plan for way in self.ways))]
        shown = np.stack(rows) if rows else np.zeros((0, 1))
        return digest(
            self.what, None if self.item is None else self.item.key, shown, [way.wishes for way in self.ways]
        )


@dataclass(frozen=True)
class Setup:
    """Everything besides the replies. wishes: limits known before; start (d,): a plan that was reached before.

    spent: questions about plans that were answered before. declined: names of plans that were not good
    enough. edges: plans chosen over others, by name.
    """

    problem: Problem
    x: np.ndarray  # (1, d)
    elicitor: Elicitor
    base: Method
    parts: tuple[str, ...]
    seed: int
    wishes: tuple[Wish, ...] = ()
    start: np.ndarray | None = None
    spent: int = 0
    declined: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()


class Conversation:
    """One person, from the first question to the end. pending: the question, or None at the end;
    ended: how."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.problem, self.x = setup, setup.problem, setup.x
        self.schema = self.problem.schema
        self.wishes: list[Wish] = list(setup.wishes)
        self.spent, self.declined = setup.spent, set(setup.declined)
        self.revived = set[str]()  # declined, and preferred to others since
        self.compared: list[Compared] = []
        self.edges: list[tuple[str, str]] = list(setup.edges)
        self.seen: list[Plan] = []
        self.session: Session | None = None
        self.best: Plan | None = None
        self.outcome: Outcome | None = None
        self.ended: str | None = None
        self.reason = ""
        self.ways: list[Way] = []
        self.pending: Pending | None = None
        self.queue: list[q.Item] = []
        self._notes: list[str] = []
        self._known: dict[Any, Plan | None] = {}  # plans by limits, action and order, in words
        self._open()

    # -- what is known -------------------------------------------------------------------------------------

    @property
    def preferences(self) -> Preferences:
        """The wishes so far, n = 1."""
        return preferences_of(self.schema, self.wishes)

    @property
    def budget(self) -> int:
        """Questions about plans at most."""
        return int(getattr(self.setup.elicitor, "budget", 30))

    @property
    def left(self) -> int:
        """Questions at most from here, the one on the table included."""
        if self.pending is None:
            return 0
        if self.pending.what in PLANS:
            if self.pending.what == "final":
                return 1
            return max(1, self.budget - self.spent) + 1
        if self.pending.what == "reconsider":
            return 1 + max(1, self.budget - self.spent) + 1
        extra = 0 if "yes-no" in self.setup.parts else 1
        return len(self.queue) + 1 + extra + max(0, self.budget - self.spent) + 2

    # -- the course ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        yes, value = self.problem.reached(self.x)
        self._value = float(value[0])
        if yes[0]:
            self._end("already")
            return
        if self.setup.start is None:
            got = self._found(self.wishes)
            if not got.found[0, 0]:
                self.outcome = got.outcome[0, 0]
                self._stuck()
                return
        self._ask_limits()

    def _ask_limits(self) -> None:
        everything = self.problem.population(self.x, self.preferences)
        self.asking = everything  # what may be done before the questionnaire: the questions are about this
        self.queue = q.items(self.setup.parts, everything)
        self._next_limit()

    def _next_limit(self) -> None:
        frozen = self.preferences.frozen[0]
        while self.queue:
            item = self.queue.pop(0)
            if item.feature >= 0 and frozen[item.feature]:
                continue
            if item.what == "rank" and (self.asking.may[0] & ~frozen).sum() < 2:
                continue
            if item.what == "rank":
                self.asking = self.problem.population(self.x, self.preferences)
            self._put(Pending(item.what, item))
            return
        self._plan()

    def _plan(self) -> None:
        """A first plan under the wishes; with a start that still holds, that."""
        self.session = None
        start = self.setup.start
        plan = None if start is None else self._shown(start[None])[0]
        if plan is None:
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            if not got.found[0, 0]:
                self._stuck()
                return
            self.first = got.action[0, :1]
            plan = self._shown(self.first)[0]
        else:
            assert start is not None
            self.first = start[None]
        assert plan is not None
        self.best = plan
        if self.spent >= self.budget:
            self._finish()
        elif plan.name in self.declined:
            self._begin_session()
        else:
            self._put(Pending("first", plans=[plan], places=[0]))

    def _begin_session(self) -> None:
        self.session = self.setup.elicitor.begin(
            self.x, self.first, preferences=self.preferences, seed=self.setup.seed
        )
        self._next()

    def _next(self) -> None:
        """The session's next question that needs a person; those that do not answer themselves."""
        session = self.session
        assert session is not None
        for _ in range(_SILENT):
            self._note_best()
            questions = session.pending
            kind = int(questions.kind[0])
            if kind == Kind.DONE or self.spent >= self.budget:
                break
            exists = np.flatnonzero(questions.exists[0])
            order = None if questions.order is None else questions.order[0, exists]
            plans = self._shown(questions.action[0, exists], order)
            if kind == Kind.ACCEPT:
                if plans and plans[0] is not None and plans[0].name not in self.declined:
                    self._put(Pending("accept", plans=[plans[0]], places=[0]))
                    return
                session.answer(np.array([0]))
                continue
            keep: dict[str, int] = {}
            for place, plan in enumerate(plans):
                if plan is not None:
                    keep.setdefault(plan.name, place)
            for less, more in permutations([plans[place] for place in keep.values()], 2):
                if less is not None and more is not None and set(less.steps) < set(more.steps):
                    keep.pop(more.name, None)  # "do this, or do this and more" is no choice
            if len(keep) > 1:
                kept = [plans[place] for place in keep.values()]
                places = [int(exists[place]) for place in keep.values()]
                self._put(Pending("pair", plans=[p for p in kept if p is not None], places=places))
                return
            session.answer(np.array([int(exists[place]) for place in keep.values()] or [CANNOT_SAY]))
        self._finish()

    def _note_best(self) -> None:
        assert self.session is not None
        row = self.session.best[0]
        plan = None if np.isnan(row).all() else self._shown(row[None])[0]
        self.best = plan if plan is not None else self._still_good()

    def _still_good(self) -> Plan | None:
        """The plan liked best that keeps the wishes: the last one taken, else the last one seen."""
        liked = [plan for plan in reversed(self.seen) if any(plan.name == better for better, _ in self.edges)]
        for plan in (*([self.best] if self.best is not None else []), *liked, *reversed(self.seen)):
            again = self._shown(plan.action[None])[0]
            if again is not None:
                return again
        return None

    def _finish(self) -> None:
        if self.best is None:
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            if got.found[0, 0]:
                self.best = self._shown(got.action[0, :1])[0]
        if self.best is None:
            self._stuck()
        elif self.best.name in self.declined and self.best.name not in self.revived:
            self._end("rejected")
        else:
            self._put(Pending("final", plans=[self.best], places=[0]))

    def _stuck(self) -> None:
        """No plan within the limits: which of them would have to give?"""
        self.best = None
        self.ways = self.open_ways()
        if self.ways:
            self._put(Pending("reconsider", ways=self.ways))
        else:
            self._end("none")

    def _end(self, how: str) -> None:
        self.pending, self.ended = None, how
        if how == "none" and not self.ways:  # no limit is to blame: say at least what made the difference
            contrast = why(self.problem, self.x, seed=self.setup.seed)
            self.reason = contrast.text(0) if contrast.known[0] else ""
        if how in ("rejected", "stopped") and not self.ways and self.best is not None:
            self.ways = [way for way in self.open_ways() if way.plan.name not in self.declined]

    def _put(self, pending: Pending) -> None:
        pending.notes = self._notes + pending.notes
        self._notes = []
        self.pending = pending
        for plan in pending.plans:
            if plan.name not in {one.name for one in self.seen}:
                self.seen.append(plan)

    # -- replies -------------------------------------------------------------------------------------------

    def take(self, reply: Reply) -> None:
        """Go on with a reply as `read` gives it."""
        p = self.pending
        assert p is not None
        plans = p.what in PLANS
        if plans and p.what != "final":
            self.spent += 1
        if reply.get("stop"):
            self._stop(p)
        elif "wish" in reply:
            self._wish(p, reply["wish"])
        elif p.what == "first" or p.what == "final":
            self._take_plan(p, reply)
        elif p.what == "reconsider":
            self._reconsider(p, reply)
        elif p.what == "accept":
            self._take_accept(p, reply)
        elif p.what == "pair":
            self._take_pair(p, reply)
        else:
            assert p.item is not None
            wishes, follow = q.wishes_from(p.item, reply, self.asking)
            self.wishes += wishes
            self.queue = follow + self.queue
            self._next_limit()

    def _stop(self, p: Pending) -> None:
        if p.what not in PLANS and p.what != "reconsider":  # they have heard enough questions: show the plan
            self.queue = []
            got = self._found(self.wishes)
            self.outcome = got.outcome[0, 0]
            self.best = self._shown(got.action[0, :1])[0] if got.found[0, 0] else None
        self._end("stopped" if self.best is not None else "none")

    def _wish(self, p: Pending, wish: Wish) -> None:
        """Something that the person cannot do, said on the way."""
        self.wishes.append(wish)
        self._notes.append(f"Noted. {' '.join(told(self.schema, [wish], self.x[0]))}")
        if p.what not in PLANS and p.what != "reconsider":
            assert p.item is not None
            self.queue = [
                item for item in self.queue if "can" not in wish or self._named(item) != wish["feature"]
            ]
            if p.item.what == "rank" or self._named(p.item) != wish["feature"]:
                self.queue.insert(0, p.item)  # the question itself is still open
            self._next_limit()
        elif self.session is not None and p.what in ("pair", "accept"):
            self.session.answer(np.array([CANNOT_SAY if p.what == "pair" else 0]), self.preferences)
            self._next()
        else:
            self._plan()

    def _named(self, item: q.Item) -> str:
        return self.schema.names[item.feature] if item.feature >= 0 else ""

    def _take_plan(self, p: Pending, reply: Reply) -> None:
        if reply.get("yes"):
            self.best = p.plans[0]
            self._end("accepted")
        elif p.what == "final":
            if not reply.get("unsure"):
                self._decline(p.plans[0])
            self._end("stopped" if reply.get("unsure") else "rejected")
        else:
            if not reply.get("unsure"):
                self._decline(p.plans[0])
            self._begin_session()

    def _decline(self, plan: Plan) -> None:
        self.declined.add(plan.name)
        self.revived.discard(plan.name)

    def _take_accept(self, p: Pending, reply: Reply) -> None:
        assert self.session is not None
        if reply.get("yes"):
            self.session.answer(np.array([1]))
            self.best = p.plans[0]
            self._end("accepted")
            return
        if not reply.get("unsure"):
            self._decline(p.plans[0])
        self.session.answer(np.array([CANNOT_SAY if reply.get("unsure") else 0]))
        self._next()

    def _take_pair(self, p: Pending, reply: Reply) -> None:
        assert self.session is not None
        if reply.get("unsure"):
            self.session.answer(np.array([CANNOT_SAY]))
        else:
            taken = p.plans[reply["option"]]
            turned = False
            for other in p.plans:
                if other is taken:
                    continue
                turned |= circle(self.edges, taken.name, other.name)
                self.compared.append(Compared(taken.after, other.after))
            if turned:
                self._notes.append(
                    "Before, you chose the other way round (directly, or by way of a third plan). "
                    "That is all right: people "
                    "change their minds. We go on with what you said last."
                )
                names = {plan.name for plan in p.plans}
                self.edges = [edge for edge in self.edges if not set(edge) <= names]
            self.revived.add(taken.name)
            self.edges += [(taken.name, other.name) for other in p.plans if other is not taken]
            self.session.answer(np.array([p.places[reply["option"]]]))
        self._next()

    def _reconsider(self, p: Pending, reply: Reply) -> None:
        at = reply.get("option", len(p.ways))
        if reply.get("unsure") or at >= len(p.ways):
            self._end("none")
            return
        gone = set(p.ways[at].wishes)
        self.wishes = [wish for i, wish in enumerate(self.wishes) if i not in gone]
        self.ways, self.outcome = [], None
        if hasattr(self, "asking"):
            self._plan()
        else:
            self._ask_limits()

    # -- plans ---------------------------------------------------------------------------------------------

    def _found(self, wishes: Sequence[Wish]) -> Recourse:
        own = preferences_of(self.schema, wishes)
        return self.setup.base.recommend(self.x, 1, preferences=own, seed=self.setup.seed)

    def _shown(self, action: np.ndarray, order: np.ndarray | None = None) -> list[Plan | None]:
        """(c, d) actions -> plans in round numbers that keep every wish and reach a yes; None where
        one does not."""
        wishes = len(self.wishes), digest(self.wishes)
        keys = [
            (wishes, row.tobytes(), b"" if order is None else order[i].tobytes())
            for i, row in enumerate(action)
        ]
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            own = self.preferences.take(np.zeros(len(new), dtype=np.int64))
            plans = self._plans(action[new], own, None if order is None else order[new])
            self._known.update({keys[i]: plan for i, plan in zip(new, plans, strict=True)})
        return [self._known[key] for key in keys]

    def _plans(
        self, action: np.ndarray, own: Preferences, order: np.ndarray | None = None
    ) -> list[Plan | None]:
        """(c, d) actions, own with n = c -> each in the roundest numbers that hold when judged, or None.

        All roundings are judged in one go: a call of a model in use takes long, however few rows it has.
        """
        c, many = len(action), len(_SAYABLE) + len(GENEROSITY) + 1
        x = np.repeat(self.x, c, axis=0)
        rounder = [round_away(self.schema, x, action, generosity) for generosity in GENEROSITY]
        said = [self._sayable(x, action, share) for share in _SAYABLE]
        tries = np.stack([*said, *rounder, action], axis=1)
        who = np.repeat(np.arange(c), many)
        got = self.problem.check(
            x[who],
            tries.reshape(c * many, 1, -1),
            1,
            preferences=own.take(who),
            decision=(np.zeros(len(who), dtype=bool), np.full(len(who), self._value)),
        )
        holds = got.found[:, 0].reshape(c, many)
        out: list[Plan | None] = []
        for i in range(c):
            if not holds[i].any():
                out.append(None)
                continue
            one = i * many + int(holds[i].argmax())
            steps = self._steps(got, one, None if order is None else order[i])
            follows = tuple(consequences(got, one))
            out.append(Plan(got.action[one, 0], got.after[one, 0], float(got.cost[one, 0]), steps, follows))
        return out

    def _sayable(self, x: np.ndarray, action: np.ndarray, share: float = 1.0) -> np.ndarray:
        """(c, d) numbers that somebody would say: a tiny change may go a little further, so that 0.29475 becomes 0.29.

        Further by 2 % of the value and a thousandth of the range at most, times the share.
        """
        with np.errstate(invalid="ignore"):
            most = share * np.minimum(_MORE * np.abs(action), 0.001 * self.schema.span)
            room = most / GENEROSITY[0]
            away = np.where(action > x, action - room, action + room)  # as if it had come from there
            near = np.abs(action - x) < room
        from_here = np.where(near & ~np.isnan(action), away, x)
        return round_away(self.schema, from_here, action, GENEROSITY[0])

    def _steps(self, got: Recourse, i: int, order: np.ndarray | None) -> tuple[str, ...]:
        if order is None or (order < 0).all():
            return tuple(steps(got, i))
        acts = sorted(np.flatnonzero(~np.isnan(got.action[i, 0])), key=lambda j: (order[j], j))
        told = [words.change_text(self.schema.features[j], got.x[i, j], got.action[i, 0, j]) for j in acts]
        return tuple(
            words.sentence(text if place == 0 else f"then {text}") for place, text in enumerate(told)
        )

    def open_ways(self) -> list[Way]:
        """Which limit, given up alone, would open a plan; where none would, which two, or all. The
        easiest first."""
        hard = [i for i, wish in enumerate(self.wishes) if any(key in wish for key in HARD)]
        alone = [tuple(group) for group in self._groups(hard)]
        for sets in (
            alone,
            [a + b for a, b in combinations(alone, 2)] if 2 < len(alone) <= 8 else [],
            [tuple(hard)],
        ):
            sets = [one for one in sets if one]
            if not sets:
                continue
            wishes = [
                preferences_of(self.schema, [w for i, w in enumerate(self.wishes) if i not in one])
                for one in sets
            ]
            from wayforward.preferences.preferences import Preferences

            got = self.setup.base.recommend(
                np.repeat(self.x, len(sets), axis=0),
                1,
                preferences=Preferences.concat(wishes),
                seed=self.setup.seed,
            )
            action = np.where(got.found[:, :1], got.action[:, 0], np.nan)
            plans = self._plans(action, Preferences.concat(wishes))
            found = [
                Way(tuple(sorted(one)), plan)
                for one, plan in zip(sets, plans, strict=True)
                if plan is not None
            ]
            if self.best is not None:  # only what would make it easier
                found = [way for way in found if way.plan.cost < 0.95 * self.best.cost]
            if found or self.best is not None:
                return sorted(found, key=lambda way: (way.plan.cost, way.wishes))[:_WAYS]
        return []

    def _groups(self, hard: list[int]) -> list[list[int]]:
        """Positions of hard wishes, those about one feature together: they are given up together."""
        groups: dict[str, list[int]] = {}
        for i in hard:
            groups.setdefault(self.wishes[i].get("feature", ""), []).append(i)
        return list(groups.values())

    # -- reading what was typed ----------------------------------------------------------------------------

    def read(
        self, reply: Any, options: Sequence[Option], codes: Sequence[str], kind: AnswerKind, many: bool
    ) -> Reply:
        """What somebody typed, as the log keeps it. Raises: ReplyError that says what would fit."""
        p = self.pending
        assert p is not None
        reply = clean(reply)
        text = said(reply)
        if text in UNSURE:
            return {"unsure": True}
        if text in STOP:
            return {"stop": True}
        wish = self._read_wish(p, reply)
        if wish is not None:
            return wish
        if p.what in PLANS and p.what != "pair":
            return {"yes": self._read_yes(reply, options)}
        if p.what == "pair" and text in NEITHER:
            return {"unsure": True}
        if p.what == "pair":
            return {"option": chosen(reply, options)}
        if p.what == "reconsider":
            no = yes_or_no(reply)
            return {"option": len(p.ways) if no is False else chosen(reply, options)}
        assert p.item is not None
        j = p.item.feature
        if p.item.what == "can":
            answer = yes_or_no(reply)
            way = re.fullmatch(
                r"(?:yes,? )?(?:but )?only (?:(up|higher|more)|(down|lower|less|fewer))", text or ""
            )
            if way is not None and {"up", "down"} <= set(codes):
                return {"code": "up" if way[1] else "down"}
            code = codes[chosen(reply, options)] if answer is None else "yes" if answer else "no"
            return {"code": code}
        if p.item.what in ("low", "high"):
            now = float(self.x[0, j])
            value = number(reply, self.schema.features[j], now)
            return {"number": q.check_bound(self.asking, j, p.item.what, value)}
        if p.item.what == "levels":
            levels = [int(code) for code in codes]
            if not many:
                return {"levels": levels[: chosen(reply, options) + 1]}
            return {"levels": sorted(levels[i] for i in several(reply, options))}
        if p.item.what == "score":
            if yes_or_no(reply) is False:
                return {"score": len(codes)}
            return {"score": chosen(reply, options) + 1}
        return {"rank": [codes[i] for i in several(self._names(reply), options)]}

    def _names(self, reply: Any) -> Any:
        """A ranking may also come as a list of feature names."""
        if not isinstance(reply, (list, tuple)):
            return reply
        may = [self.schema.names[j] for j in np.flatnonzero(self.asking.may[0])]
        return [may.index(one) + 1 if one in may else one for one in reply]

    def _read_yes(self, reply: Any, options: Sequence[Option]) -> bool:
        answer = yes_or_no(reply)
        return chosen(reply, options) == 0 if answer is None else answer

    def _read_wish(self, p: Pending, reply: Any) -> Reply | None:
        here = None if p.item is None or p.item.feature < 0 else p.item.feature
        people = self.problem.population(self.x, self.preferences)
        may = np.flatnonzero(people.may[0]).tolist()
        if isinstance(reply, dict):
            return self._plain_wish(reply, may)
        found = freeze_or_limit(reply, self.schema, may, here)
        if found is None:
            return None
        j, side, text = found
        name = self.schema.names[j]
        if side == "can":
            return {"wish": {"feature": name, "can": False}}
        return {"wish": self._limit(j, side, text)}

    def _plain_wish(self, reply: dict[str, Any], may: list[int]) -> Reply:
        """{"cannot": "income"}, {"feature": "income", "high": 6000}: for a page with buttons."""
        name = reply.get("cannot", reply.get("feature"))
        known = [self.schema.names[j] for j in may]
        if name not in known or not (
            {"cannot"} >= set(reply) or {"feature", "low"} == set(reply) or {"feature", "high"} == set(reply)
        ):
            raise ReplyError(
                'That reply is not read. Give text, a number, {"cannot": FEATURE} or '
                '{"feature": FEATURE, "high": VALUE} '
                f"with one of {', '.join(known)}."
            )
        if "cannot" in reply:
            return {"wish": {"feature": name, "can": False}}
        side = "high" if "high" in reply else "low"
        return {"wish": self._limit(self.schema.index(name), side, reply[side])}

    def _limit(self, j: int, side: str, value: Any) -> Wish:
        feature, name = self.schema.features[j], self.schema.names[j]
        if feature.has_levels:
            if not feature.ordered:
                raise ReplyError(
                    f"Your {words.label(feature)} has no order, so nothing is above or below. Say 'cannot'."
                )
            levels = [words.level_words(feature, i) for i in range(feature.n_levels)]
            at = chosen(value, [Option(str(i + 1), text) for i, text in enumerate(levels)])
            return {"feature": name, side: float(at)}
        people = self.problem.population(self.x, None)
        value = number(value, feature, float(self.x[0, j]))
        return {"feature": name, side: q.check_bound(people, j, side, value)}

    def allowed(self, reply: Reply) -> None:
        """Raises: ReplyError if the reply contradicts a limit that was stated before."""
        p = self.pending
        assert p is not None
        wishes = [reply["wish"]] if "wish" in reply else []
        if not wishes and p.item is not None and not reply.get("stop"):
            wishes = q.wishes_from(p.item, reply, self.asking)[0]
        try:
            preferences_of(self.schema, [*self.wishes, *wishes])
        except PreferencesError:
            raise ReplyError(
                "That goes against a limit that you gave before: nothing would be left in between. "
                "Give another number, "
                "or take the earlier answer back."
            ) from None

    def give_text(self, way: Way) -> str:
        """What giving up the limits of a way means, after "if you could"."""
        mine = [
            [self.wishes[i] for i in group if i in way.wishes] for group in self._groups(list(way.wishes))
        ]
        return words.join([given_up(self.schema, wishes, self.x[0]) for wishes in mine])
