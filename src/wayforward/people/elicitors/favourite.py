"""favourite: the plan liked best so far stays on the screen, beside those most likely to beat it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.methods.settings import check_whole, require_setting
from wayforward.people.elicitor import CANNOT_SAY, BaseElicitor, Kind, Questions, Session, checked_replies
from wayforward.people.elicitors.effort_tastes import ScreenChoices, dislike, tastes
from wayforward.people.elicitors.plan_pool import works
from wayforward.people.plan_order import alike, asks_more
from wayforward.problem.minimal import minimal_actions
from wayforward.shapes import Actions, People, Rows, Who
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population, Problem

_NONE = -1
_FEWER = 3  # after an answer fewer tastes are likely than before any
_FLAGS, _PLACES = ("usable", "shown", "offered", "done"), ("questions", "favourite", "screens", "chosen")
_BLOCK = 64  # people thought about at once, which bounds memory and changes no answer


@dataclass
class Favourite(BaseElicitor):
    """Show up to `side` plans side by side: the favourite so far, and those that are most likely to beat it.

    Before the first screen the base method searches for `tastes` likely tastes at once, and for a third as many after
    each answer; what it finds is made minimal, and what asks for more than another plan, or is like one that was seen,
    is not shown. Of the others those are shown that are expected to gain most over the favourite. The plan chosen is
    the favourite from then on, so that a plan that was seen is never lost, and the last plan is the best of those
    seen. Once no plan is expected to gain more than `worth` (a share of the favourite's own dislike), the favourite is
    offered; somebody who wants to see more is shown what is left.

    budget: questions at most. Example: ``Favourite(budget=4).fit(problem).begin(refused, seed=0)``.
    Raises: MethodError for parameters out of range.
    Source: our own; expected improvement as in J. Mockus (1975), On Bayesian methods for seeking the extremum.
    """

    name: ClassVar[str] = "favourite"
    summary: ClassVar[str] = (
        "the favourite stays, beside the plans most likely to beat it; any base method and model"
    )
    alone_first: ClassVar[bool] = False

    base: str | Method = "local-search"
    base_parameters: dict[str, Any] | None = None
    budget: int = 8
    side: int = 3
    tastes: int = 24
    worth: float = 0.02

    def __post_init__(self) -> None:
        check_whole(self, budget=1, side=2, tastes=1)
        require_setting(self, "worth", 0 <= self.worth < 1, "Use a share from 0 to below 1.")

    def attach(self, problem: Problem) -> Self:
        """See `Elicitor.attach`: the base method is fitted when a plan is searched for."""
        vars(self).pop("base_", None)
        self._take(problem)
        return self

    def _session(self, people: Population, plans: Actions, seed: int) -> FavouriteSession:
        return FavouriteSession(self, people, plans[:, 0], seed)

    def resume(
        self, x: People, stored: dict[str, Any], *, preferences: Preferences | None = None, seed: int = 0
    ) -> FavouriteSession:
        """See `Elicitor.resume`."""
        session = FavouriteSession.__new__(FavouriteSession)
        session._set(self, self._fitted_problem().population(x, preferences), seed)
        session._restore(stored)
        return session


class FavouriteSession(Session):
    """Conversations of `Favourite`. n people, K plans found so far, H screens, c plans a screen.

    plans (n, K, d), NaN where there is none. usable, shown (n, K) bool. favourite (n,) its place, -1 for none. screens
    (n, H, c) places of what was chosen from, chosen (n, H); both -1 for nothing.
    """

    def __init__(self, elicitor: Favourite, people: Population, start: Rows, seed: int) -> None:
        self._set(elicitor, people, seed)
        n, d, c = people.n, people.d, elicitor.side
        everyone = np.arange(n)
        self.plans = np.full((n, 0, d), np.nan)
        self.usable, self.shown = np.zeros((n, 0), dtype=bool), np.zeros((n, 0), dtype=bool)
        self.questions = np.zeros(n, dtype=np.int64)
        self.favourite = np.full(n, _NONE)
        self.screens, self.chosen = np.full((n, 0, c), _NONE), np.full((n, 0), _NONE)
        self.offered, self.done = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._add(everyone, start[:, None])
        had = everyone[self.usable.any(1) | ~np.isnan(start).all(1)]
        self.usual = np.ones(n)
        self._search(had, elicitor.tastes)
        self.usual = self._usual()
        self._ask()

    def _set(self, elicitor: Favourite, people: Population, seed: int) -> None:
        self.elicitor, self.people, self.seed = elicitor, people, seed
        self._streams = Streams.of(people.x, seed)

    def _usual(self) -> np.ndarray:
        """(n,) what the cheapest usable plan costs: the unit of dislikes."""
        cost = np.where(self.usable, self._parts(np.arange(self.people.n)).sum(2), np.inf).min(
            1, initial=np.inf
        )
        return np.asarray(np.where(np.isfinite(cost) & (cost > 0), cost, 1.0))

    # -- plans ---------------------------------------------------------------------------------------------

    def _parts(self, who: Who) -> np.ndarray:
        """(m, K, d) costs of the acts, without personal weights; 0 where there is no plan."""
        m, many = len(who), self.plans.shape[1]
        flat = np.repeat(who, many)
        parts = self.people.problem.cost.parts(
            self.people.x[flat], self.plans[who].reshape(m * many, self.people.d)
        )
        return np.asarray(np.nan_to_num(parts.reshape(m, many, self.people.d)))

    def _add(self, who: Who, action: Actions) -> None:
        """Keep new plans (m, T, d) that hold, without what can be left out; each once."""
        m, many, d = action.shape
        good = works(self.people, np.repeat(who, many), action.reshape(-1, d)).reshape(m, many)
        some = self.people if m == self.people.n else self.people.take(who)
        new = np.full((self.people.n, many, d), np.nan)
        new[who] = minimal_actions(some, np.where(good[..., None], action, np.nan))
        there = ~np.isnan(new).all(2)
        both = np.concatenate([self.plans, new], axis=1)
        same = (
            (both[:, :, None] == both[:, None]) | (np.isnan(both[:, :, None]) & np.isnan(both[:, None]))
        ).all(3)
        there &= ~np.tril(same, -1)[:, self.plans.shape[1] :].any(2)
        order = np.argsort(~there, axis=1, kind="stable")[:, : int(there.sum(1).max(initial=0))]
        new = np.take_along_axis(np.where(there[..., None], new, np.nan), order[..., None], 1)
        self.plans = np.concatenate([self.plans, new], axis=1)
        self.usable = np.concatenate([self.usable, ~np.isnan(new).all(2)], axis=1)
        self.shown = np.concatenate([self.shown, np.zeros(new.shape[:2], dtype=bool)], axis=1)

    def _search(self, who: Who, many: int) -> None:
        """Look for plans that suit `many` of the tastes that are likely now."""
        people = self.people
        if not who.size:
            return
        weight = np.exp(self._tastes(who)[:, :many, :-1]).reshape(len(who) * many, -1)
        flat = np.repeat(who, many)
        own = people.preferences.take(flat)
        own = replace(own, weight=own.weight * weight)
        got = self.elicitor.base_.recommend(people.x[flat], 1, preferences=own, seed=self.seed)
        action = np.where(got.found[:, :1], got.action[:, 0], np.nan)
        self._add(who, action.reshape(len(who), many, people.d))

    # -- tastes --------------------------------------------------------------------------------------------

    def _tastes(self, who: Who) -> np.ndarray:
        """(m, P, d + 1) likely tastes."""
        screens, d = self.screens[who], self.people.d
        m, turns, c = screens.shape
        at = np.maximum(screens, 0).reshape(m, -1, 1)
        parts = (
            np.take_along_axis(self._own_parts(who), at, 1).reshape(m, turns, c, d)
            if turns
            else np.zeros((m, 0, c, d))
        )
        answers = ScreenChoices(parts, screens >= 0, self.chosen[who])
        return tastes(self._streams.take(who), d, answers, self.usual[who])

    def _own_parts(self, who: Who) -> np.ndarray:
        """(m, K, d) costs of the acts under the weights that people gave."""
        return np.asarray(self._parts(who) * self.people.weight[who][:, None, :])

    # -- questions -----------------------------------------------------------------------------------------

    @property
    def pending(self) -> Questions:
        """The plans side by side, the favourite first; or the favourite, to be accepted."""
        return self._pending

    @property
    def best(self) -> Rows:
        """The favourite; before any answer, the cheapest plan."""
        n = self.people.n
        cost = np.where(self.usable, self._own_parts(np.arange(n)).sum(2), np.inf)
        if not cost.shape[1]:
            return np.full((n, self.people.d), np.nan)
        at = np.where(self.favourite >= 0, self.favourite, cost.argmin(1))
        row = self.plans[np.arange(n), at]
        return np.asarray(np.where(self.usable[np.arange(n), at][:, None], row, np.nan))

    def _ask(self) -> None:
        """Put the next question to everybody who is not done."""
        n, c = self.people.n, self.elicitor.side
        kind, screen = np.full(n, int(Kind.DONE)), np.full((n, c), _NONE)
        self.done |= (self.questions >= self.elicitor.budget) | ~self.usable.any(1)
        who = np.flatnonzero(~self.done)
        for start in range(0, len(who), _BLOCK):
            part = who[start : start + _BLOCK]
            screen[part], gain = self._screen(part)
            there = (screen[part] >= 0).sum(1)
            wants = (there > 1) & ((gain >= self.elicitor.worth) | self.offered[part])
            offer = ~wants & ~self.offered[part] & (there > 0)
            kind[part] = np.where(wants, int(Kind.CHOOSE), np.where(offer, int(Kind.ACCEPT), int(Kind.DONE)))
            screen[part[offer], 1:] = _NONE
        self.done |= kind == Kind.DONE
        screen[self.done] = _NONE
        self._put(kind, screen)

    def _put(self, kind: np.ndarray, screen: np.ndarray) -> None:
        n, c, d = *screen.shape, self.people.d
        action, after = np.full((n, c, d), np.nan), np.full((n, c, d), np.nan)
        who, slot = np.nonzero(screen >= 0)
        place = screen[who, slot]
        action[who, slot] = self.plans[who, place]
        after[who, slot] = self.people.after(who, action[who, slot])
        self.shown[who, place] = True
        self._on_screen, self._pending = screen, Questions(kind, action, after)

    def _screen(self, who: Who) -> tuple[np.ndarray, np.ndarray]:
        """(m, c) places of the favourite and those to show beside it, and (m,) what they are expected to gain."""
        m = len(who)
        each = np.arange(m)
        plans, parts = self.plans[who], self._own_parts(who)
        free = self.usable[who] & ~self._unfit(who, plans, parts)
        cost = dislike(self._tastes(who), parts, self.usual[who])  # (m, P, K)
        screen = np.full((m, self.elicitor.side), _NONE)
        first = self.favourite[who]
        mean = np.where(free, cost.mean(1), np.inf)
        first = np.where(first >= 0, first, np.where(np.isfinite(mean).any(1), mean.argmin(1), _NONE))
        screen[:, 0] = first
        at = np.maximum(first, 0)
        now = np.take_along_axis(cost, at[:, None, None], 2)  # (m, P, 1)
        whole = np.maximum(now.mean((1, 2)), 1e-12)
        total = np.zeros(m)
        for slot in range(1, screen.shape[1]):
            last = np.take_along_axis(plans, np.maximum(screen[:, slot - 1], 0)[:, None, None], 1)
            free &= ~alike(self.people, who, plans, np.broadcast_to(last, plans.shape))
            free[each, np.maximum(screen[:, slot - 1], 0)] = False
            gain = np.where(free, np.maximum(now - cost, 0.0).mean(1) / whole[:, None], -1.0)
            best = gain.argmax(1)
            share = gain[each, best]
            # a third plan is more to read: it must be worth that
            take = (share >= 0) & (first >= 0) & ((slot == 1) | (share >= self.elicitor.worth / 2))
            take &= (screen[:, slot - 1] >= 0) | (slot == 1)
            screen[:, slot] = np.where(take, best, _NONE)
            total += np.where(take, share, 0.0)
            rival = np.take_along_axis(cost, best[:, None, None], 2)
            now = np.where(take[:, None, None], np.minimum(now, rival), now)
        return screen, total

    def _unfit(self, who: Who, plans: Actions, parts: np.ndarray) -> np.ndarray:
        """(m, K) bool: seen, like one that was seen, or asking for more than one that is usable."""
        shown, usable = self.shown[who], self.usable[who]
        cost = np.where(shown, -1.0, parts.sum(2))
        rank = np.argsort(np.argsort(cost, axis=1, kind="stable"), axis=1)
        rival = (usable | shown)[:, None, :] & ((rank[:, None, :] < rank[:, :, None]) | shown[:, None, :])
        rival &= ~np.eye(rival.shape[1], dtype=bool)
        more = asks_more(self.people, who, plans, rival)
        shape = (*plans.shape[:2], *plans.shape[1:])
        one = np.broadcast_to(plans[:, :, None, :], shape)
        near = alike(self.people, who, one, np.broadcast_to(plans[:, None], shape)) & shown[:, None, :]
        return np.asarray(shown | more | near.any(2))

    # -- answers -------------------------------------------------------------------------------------------

    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """See `Session.answer`. Raises: MethodError for a reply that fits no option."""
        kind, screen = self._pending.kind, self._on_screen
        reply = checked_replies(self._pending, reply)
        choose = kind == Kind.CHOOSE
        heard = choose & (reply != CANNOT_SAY)
        self.screens = np.concatenate(
            [self.screens, np.where(choose[:, None], screen, _NONE)[:, None]], axis=1
        )
        self.chosen = np.concatenate([self.chosen, np.where(heard, reply, _NONE)[:, None]], axis=1)
        first = choose & (self.favourite < 0)
        self.favourite[first] = screen[first, 0]
        who = np.flatnonzero(heard)
        self.favourite[who] = screen[who, reply[who]]
        self.questions += kind != Kind.DONE
        judged = kind == Kind.ACCEPT
        self.favourite[judged] = screen[judged, 0]
        self.done |= judged & (reply == 1)
        self.offered |= judged
        search = heard & ~self.done & (self.questions < self.elicitor.budget)
        if wishes is not None:
            self._restrict(wishes)
            search |= ~self.done
        self._search(np.flatnonzero(search), max(1, self.elicitor.tastes // _FEWER))
        if wishes is not None:
            self._refill()
        self._ask()

    def _restrict(self, wishes: Preferences) -> None:
        """Forget plans that break new limits."""
        self.people = self.people.problem.population(self.people.x, wishes)
        who, place = np.nonzero(~np.isnan(self.plans).all(2))
        self.usable[who, place] = works(self.people, who, self.plans[who, place])
        gone = self.favourite >= 0
        gone &= ~self.usable[np.arange(len(gone)), np.maximum(self.favourite, 0)]
        self.favourite[gone] = _NONE

    def _refill(self) -> None:
        """Who has lost the favourite takes the plan seen that is liked best, if one still holds."""
        who = np.flatnonzero((self.favourite < 0) & (self.usable & self.shown).any(1))
        if who.size:
            mean = dislike(self._tastes(who), self._own_parts(who), self.usual[who]).mean(1)
            self.favourite[who] = np.where(self.usable[who] & self.shown[who], mean, np.inf).argmin(1)

    # -- state ---------------------------------------------------------------------------------------------

    def stored(self) -> dict[str, Any]:
        """See `Session.stored`. 'found' only grows, so that earlier states of a session need its beginning only."""
        assert self.people.n == 1, "a state is one person's"
        found = [[None if v != v else v for v in row] for row in self.plans[0].tolist()]
        rows = {name: getattr(self, name).tolist() for name in (*_FLAGS, *_PLACES, "usual")}
        screen = {"kind": self._pending.kind.tolist(), "screen": self._on_screen.tolist()}
        return {"found": found, "many": self.plans.shape[1], **rows, **screen}

    def _restore(self, stored: dict[str, Any]) -> None:
        c, many = self.elicitor.side, int(stored["many"])
        self.plans = np.array(stored["found"][:many], dtype=np.float64).reshape(1, many, self.people.d)
        for name in _FLAGS:
            setattr(self, name, np.array(stored[name], dtype=bool))
        for name in _PLACES:
            setattr(self, name, np.array(stored[name], dtype=np.int64))
        self.screens, self.chosen = self.screens.reshape(1, -1, c), self.chosen.reshape(1, -1)
        self.usual = np.array(stored["usual"], dtype=np.float64)
        self._put(np.array(stored["kind"]), np.array(stored["screen"], dtype=np.int64).reshape(1, c))
