"""Sequences of acts of all people at once: states are extended by one act at a time, cheapest and most helpful kept."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from wayforward.errors import PreferencesError, suggest
from wayforward.shapes import Actions, Floats, Ints, Mask, Rows, Who

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population
    from wayforward.schema.acts import ActModel

_HALVINGS = 12  # of how far an act goes, when it is taken back
_MORE = 4  # times k sequences are shortened, as several may become one
_LEAST = 1e-12  # what costs less by less than this is not cheaper


@dataclass
class States:
    """m states that sequences lead to.

    who (m,): whose. action (m, d): all that was set on the way, NaN where left alone. after (m, d): the state. spent
    (m,): what the acts cost. months (m,): how long they take. acts (m, most): the acts in order, -1 behind the last;
    value (m, most): what each moved its feature to. score (m,): how far the decision is turned.
    """

    who: Who
    action: Rows
    after: Rows
    spent: Floats
    months: Floats
    acts: Ints
    value: Floats
    score: Floats

    def take(self, rows: np.ndarray) -> Self:
        """Some of them."""
        return type(self)(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def put(self, rows: np.ndarray, other: Self) -> None:
        """Write others in the place of some of them."""
        for f in fields(self):
            getattr(self, f.name)[rows] = getattr(other, f.name)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """All of them."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})


class Sequences(NamedTuple):
    """Sequences that turn the decision, the cheapest of a person first.

    person (m,): by place in the search. own (m, w): who that is, see `own_of`. action (m, d). acts (m, most). months,
    spent (m,). path (m, most, d): the state after each act, NaN behind the last.
    """

    person: Ints
    own: Floats
    action: Rows
    acts: Ints
    months: Floats
    spent: Floats
    path: np.ndarray

    @classmethod
    def joined(cls, parts: list[Sequences]) -> Sequences:
        """All of them."""
        return (
            cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
            if parts
            else cls.none(0, 1)
        )

    @classmethod
    def none(cls, d: int, most: int) -> Sequences:
        """No sequence at all."""
        rows, none = np.empty((0, d)), np.empty(0)
        return cls(none.astype(int), rows, rows, np.empty((0, most), int), none, none, np.empty((0, most, d)))

    def actions(self, n: int, k: int) -> Actions:
        """(n, k or more, d) the options of each person, the cheapest first: more where the judge is to choose."""
        k = max(k, int(np.bincount(self.person, minlength=1).max()))
        out = np.full((n, k, self.action.shape[1]), np.nan)
        slot = place_within(self.person)
        out[self.person, slot] = self.action
        return out

    def which(self, own: Floats, action: Rows) -> Ints:
        """(m,) for options (m, d) of people (m, w): their first sequence that leads there; -1 for none."""
        if not len(self.person) or not len(own):
            return np.full(len(own), -1)
        mine, theirs = (np.concatenate(pair, axis=1) for pair in ((self.own, self.action), (own, action)))
        rows = np.concatenate([mine, theirs])
        label = np.unique(np.where(np.isnan(rows), np.inf, rows), axis=0, return_inverse=True)[1].ravel()
        first = np.full(label.max() + 1, -1)
        first[label[: len(mine)][::-1]] = np.arange(len(mine))[::-1]
        return np.asarray(first[label[len(mine) :]])


class ActSearch:
    """Search sequences of at most `most` acts for people; `width`: how many ways there are to go on from a state.

    shorten: leave out acts without which a sequence can still be carried out, turns the decision and gets no dearer.
    """

    def __init__(
        self, people: Population, acts: ActModel, k: int, most: int, grid: int, *, shorten: bool = True
    ) -> None:
        self.shorten = shorten
        self.people, self.acts, self.k, self.most, self.grid = people, acts, k, most, grid
        self.schema = people.schema
        levels = self.schema.n_levels
        self.width = sum(
            1 if j < 0 else int(levels[j]) if self.schema.has_levels[j] else 2 * grid for j in acts.moved
        )
        self.best = np.full(people.n, np.inf)  # what the k-th cheapest kind of sequence costs
        wishes = people.wishes
        self.time = np.full(people.n, np.inf) if wishes is None else np.asarray(wishes.time)
        self.refused = np.zeros((people.n, len(acts)), dtype=bool)
        names = [act.name for act in acts]
        for act, will_not in ({} if wishes is None else wishes.refused).items():
            if act not in names:
                raise PreferencesError(
                    f"Somebody refuses the act '{act}', which is none.{suggest(act, names)}"
                )
            self.refused[:, names.index(act)] = will_not

    def run(self, keep: int, limit: int) -> Sequences:
        """Return the cheapest sequence of each set of acts, at most k a person. keep: states of a person that go on;
        limit: model rows a person."""
        people, front, found = self.people, self.start(), []
        self.first = people.score(np.arange(people.n), people.x)  # (n,) as they stand
        for length in range(self.most):
            more = self._extended(front, length)
            spare = limit - people.rows[more.who]
            more = more.take(place_within(more.who) < spare)  # in the order of cost
            got = people.evaluate(more.who, more.action)
            more.score = got.score
            found.append(more.take(got.reached))
            self._bound(found)
            front = more.take(~got.reached)
            front = front.take(self._go_on(front, keep))
            if not front.who.size:
                break
        return self.finished(States.joined(found))

    def finished(self, found: States) -> Sequences:
        """Return the cheapest k of sequences that turn the decision, each taken back as far as it goes; beside them,
        where the judge makes draws of its own, some as they were found."""
        self.best[:] = np.inf  # a sequence may be taken back by as little as there is
        whole = found
        if self.shorten:
            found = self._shortened(self._cheapest(found, _MORE * self.k))
        ends = self._taken_back(self._cheapest(found, 2 * self.k))
        ends = self._cheapest(self._shortened(ends) if self.shorten else ends, self.k)
        if self.people.problem.demanding:  # the judge makes other draws: what just held may fail
            ends = States.joined([ends, self._cheapest(whole, (_MORE - 1) * self.k)])
            ends = ends.take(np.argsort(ends.who, kind="stable"))
        return self._with_paths(ends)

    def start(self) -> States:
        """Everybody as they stand, before any act."""
        n, d = self.people.n, self.people.d
        zeros, none = np.zeros(n), np.full((n, d), np.nan)
        return States(
            np.arange(n), none, self.people.x.copy(), zeros, zeros, np.full((n, self.most), -1),
            np.full((n, self.most), np.nan), np.full(n, -np.inf),
        )  # fmt: skip

    def _extended(self, front: States, length: int) -> States:
        """Every state that one more act leads to, the cheapest of those that are the same, in order of cost."""
        more = self.ways_on(front, length)[0]
        more = more.take(np.lexsort((more.spent, more.who)))
        done = np.sort(more.acts, axis=1)
        key = np.concatenate(
            [more.who[:, None], done, np.where(np.isnan(more.action), np.inf, more.action)], axis=1
        )
        return more.take(np.sort(np.unique(key, axis=0, return_index=True)[1]))

    @property
    def first_choice(self) -> Ints:
        """(acts + 1,) the number of each act's first choice: one, one a level, or one a value that is tried."""
        levels, moved = self.schema.n_levels, self.acts.moved
        each = [
            1 if j < 0 else int(levels[j]) if self.schema.has_levels[j] else 2 * self.grid + 1 for j in moved
        ]
        return np.concatenate([[0], np.cumsum(each)])

    def ways_on(self, front: States, length: int) -> tuple[States, Ints, Ints]:
        """Return every state that one more act leads to, which row of the front each is from, and by which choice."""
        parts, parents, choices = [], [], []
        for a in range(len(self.acts)):
            able = self.people.free[front.who][:, self.acts.columns[a]].all(1) & ~(front.acts == a).any(1)
            able &= ~self.refused[front.who, a]
            rows, value, column = self._choices(a, front, np.flatnonzero(able))
            start = front.take(rows)
            start.acts[:, length], start.value[:, length] = a, value
            made, good = self._step(start, length)
            parts.append(made.take(good))
            parents.append(rows[good])
            choices.append(self.first_choice[a] + column[good])
        return States.joined(parts), np.concatenate(parents), np.concatenate(choices)

    def _choices(self, a: int, front: States, rows: np.ndarray) -> tuple[np.ndarray, Floats, Ints]:
        """Return row numbers of states, repeated, what act a may move its feature to from there, and which choice of
        the act that is."""
        j = int(self.acts.moved[a])
        if j < 0:
            return rows, np.full(len(rows), np.nan), np.zeros(len(rows), np.int64)
        who, now = front.who[rows], front.after[rows, j]
        low, high = self.acts.span(a, now)
        low, high = np.fmax(self.people.low[who, j], low), np.fmin(self.people.high[who, j], high)
        if self.schema.has_levels[j]:
            to = np.repeat(np.arange(float(self.schema.n_levels[j]))[None], len(rows), axis=0)
            good = (to >= low[:, None] - 1e-9) & (to <= high[:, None] + 1e-9)
        else:
            share = np.arange(1, self.grid + 1) / self.grid
            near = np.fmin(np.fmax(now, low), high)  # the end of the range that is nearest to the state
            to = np.concatenate(
                [near[:, None] + share * (end - near)[:, None] for end in (low, high)], axis=1
            )
            to = self.schema.snap(np.concatenate([near[:, None], to], axis=1), columns=j)
            good = (to >= low[:, None] - self.schema.slack[j]) & (to <= high[:, None] + self.schema.slack[j])
        good &= np.isfinite(to) & (to != now[:, None])
        at, column = np.nonzero(good)
        return rows[at], to[at, column], column

    def _step(self, start: States, at: int) -> tuple[States, Mask]:
        """Carry out the act at a place of each sequence; return the new states and where it can be carried out.

        Where there is none (-1), the state stays. What an act sets must be legal and within the person's limits, all it
        needs must hold, and it must cost less than what is known and keep to the person's time.
        """
        people, schema = self.people, self.schema
        made = start.take(np.arange(len(start.who)))
        good = np.ones(len(start.who), dtype=bool)
        for a in np.unique(start.acts[:, at]):
            rows = np.flatnonzero(start.acts[:, at] == a)
            if a < 0 or not rows.size:
                continue
            who, state = start.who[rows], start.after[rows]
            target = self.acts.targets(a, state, start.value[rows, at])
            new = np.where(np.isnan(target), start.action[rows], target)
            new = np.where(schema.differs(new, people.x[who]) | ~np.isnan(start.action[rows]), new, np.nan)
            legal = people.snap(who, new)
            with np.errstate(invalid="ignore"):
                fine = ~(schema.differs(legal, new) & ~np.isnan(target)).any(1)
            after = people.after(who, legal)
            fine &= schema.differs(after, state).any(1) & self.acts.possible(a, state, after)
            fine &= self._far_enough(a, state, start.value[rows, at])
            price, months = self._price(a, who, state, target), self._months(a, state, target)
            earlier = start.acts[rows, :at]
            factor = np.where(earlier < 0, 1.0, self.acts.eased[earlier, a]).prod(1) if at else 1.0
            made.action[rows], made.after[rows] = legal, after
            made.spent[rows] += price * factor
            made.months[rows] += months
            good[rows] = fine
        good &= (made.spent < self.best[made.who] - _LEAST) & (made.months <= self.time[made.who] + 1e-9)
        return made, good

    def _far_enough(self, a: int, state: Rows, value: Floats) -> Mask:
        """(m,) bool: from its state act a moves its feature by no more and no less than it may."""
        j = int(self.acts.moved[a])
        if j < 0:
            return np.ones(len(state), dtype=bool)
        low, high = self.acts.span(a, state[:, j])
        slack = max(float(self.schema.slack[j]), 1e-9)
        return np.asarray(
            ~((value < low - slack) | (value > high + slack))
        )  # a missing value is as near as any

    def _price(self, a: int, who: Who, state: Rows, target: Rows) -> Floats:
        people, own = self.people, self.acts[a].cost
        if own is None:
            weight = None if people.plain_weight else people.weight[who]
            return np.asarray(people.problem.cost.total(state, target, weight))
        return np.asarray(own * people.weight[who][:, self.acts.columns[a]].max(1))

    def _months(self, a: int, state: Rows, target: Rows) -> Floats:
        own = self.acts[a].months
        return self.schema.months(state, target).max(1) if own is None else np.full(len(state), float(own))

    def _bound(self, found: list[States]) -> None:
        """Learn what the k-th cheapest set of acts costs, which nothing dearer can replace."""
        kinds = self._cheapest(States.joined(found), self.k)
        last = place_within(kinds.who) == self.k - 1
        self.best[kinds.who[last]] = kinds.spent[last]

    def _cheapest(self, ends: States, most: int) -> States:
        """The cheapest sequence of each set of acts, at most so many a person, in order of person and cost."""
        ends = ends.take(np.lexsort((*ends.acts.T[::-1], (ends.acts >= 0).sum(1), ends.spent, ends.who)))
        key = np.concatenate([ends.who[:, None], np.sort(ends.acts, axis=1)], axis=1)
        ends = ends.take(np.sort(np.unique(key, axis=0, return_index=True)[1]))
        where = np.where(np.isnan(ends.action), np.inf, ends.action)  # two sets of acts may lead to one place
        same = np.concatenate([ends.who[:, None], where], axis=1)
        ends = ends.take(np.sort(np.unique(same, axis=0, return_index=True)[1]))
        return ends.take(place_within(ends.who) < most)

    def _go_on(self, front: States, keep: int) -> np.ndarray:
        """Row numbers of those that go on: of each person those of most score per cost and the cheapest, in turn."""
        gain = front.score - self.first[front.who]
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where(np.isfinite(gain) & (gain > 0), front.spent / gain, np.inf)
        ranks = []
        for key in (price, front.spent):
            order = np.lexsort((front.spent, key, front.who))
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = place_within(front.who[order])
            ranks.append(rank)
        order = np.lexsort((ranks[1], np.minimum(2 * ranks[0], 2 * ranks[1] + 1), front.who))
        return np.sort(order[place_within(front.who[order]) < keep])

    def _replayed(self, ends: States) -> tuple[States, Mask, np.ndarray]:
        """Carry out whole sequences from where people stand: end states, whether it can be done, path (m, most, d)."""
        start = self.start().take(ends.who)
        start.acts, start.value = ends.acts, ends.value
        good = np.ones(len(ends.who), dtype=bool)
        path = np.full((len(ends.who), self.most, self.people.d), np.nan)
        for at in range(self.most):
            start, fine = self._step(start, at)
            good &= fine
            there = start.acts[:, at] >= 0
            path[there, at] = start.after[there]
        return start, good, path

    def _shortened(self, ends: States) -> States:
        """Leave out acts, the one that saves most first, as far as the decision and all conditions hold without."""
        live = np.arange(len(ends.who))
        while live.size:
            row, at = np.nonzero((ends.acts[live] >= 0) & ((ends.acts[live] >= 0).sum(1) > 1)[:, None])
            row = live[row]
            tried = ends.take(row)
            keep = np.arange(self.most)[None] + (np.arange(self.most) >= at[:, None])  # later acts move up
            for part, empty in ((tried.acts, -1), (tried.value, np.nan)):
                longer = np.concatenate([part, np.full((len(row), 1), empty)], axis=1)
                part[:] = np.take_along_axis(longer, keep, 1)
            made, good = self._turned(tried)
            good &= made.spent <= ends.spent[row] + _LEAST
            best = np.flatnonzero(good)
            best = best[np.lexsort((made.spent[best], row[best]))]
            best = best[np.diff(row[best], prepend=-1) != 0]
            live = row[best]
            ends.put(live, made.take(best))
        return ends

    def _taken_back(self, ends: States) -> States:
        """Take back how far each act goes, the last first, as far as the decision and all conditions hold."""
        for at in [*range(self.most - 1, -1, -1)] * 2:
            j = np.where(ends.acts[:, at] >= 0, self.acts.moved[ends.acts[:, at]], -1)
            rows = np.flatnonzero((j >= 0) & ~self.schema.has_levels[np.maximum(j, 0)])
            if rows.size:
                ends.put(rows, self._bisected(ends.take(rows), at, j[rows]))
        return ends

    def _bisected(self, ends: States, at: int, feature: Ints) -> States:
        """Move the act at a place of each sequence back by halves, as long as it gets no dearer."""
        near, far = self._moved_from(ends, at, feature, self._replayed(ends)[2]), ends.value[:, at].copy()
        for _ in range(_HALVINGS):
            tried = ends.take(np.arange(len(ends.who)))
            tried.value[:, at] = self.schema.snap((near + far) / 2, columns=feature)
            made, good = self._turned(tried)
            good &= made.spent <= ends.spent + _LEAST
            near, far = np.where(good, near, tried.value[:, at]), np.where(good, tried.value[:, at], far)
            ends.put(np.flatnonzero(good), made.take(good))
        return ends

    def _turned(self, tried: States) -> tuple[States, Mask]:
        """Carry out sequences; return where they lead, and whether they can be done and turn the decision."""
        made, good, _ = self._replayed(tried)
        rows = np.flatnonzero(good)
        got = self.people.evaluate(made.who[rows], made.action[rows])
        good[rows], made.score[rows] = got.reached, got.score
        return made, good

    def _moved_from(self, ends: States, at: int, feature: Ints, path: np.ndarray) -> Floats:
        """(m,) the value of each sequence's feature before its act at a place."""
        state = self.people.x[ends.who] if at == 0 else path[:, at - 1]
        return np.asarray(state[np.arange(len(ends.who)), feature])

    def _with_paths(self, ends: States) -> Sequences:
        path = self._replayed(ends)[2]
        own = own_of(self.people.x, self.people.wishes)[ends.who]
        return Sequences(ends.who, own, ends.action, ends.acts, ends.months, ends.spent, path)


class GoalSearch(ActSearch):
    """The cheapest sequence of at most `most` acts that sets exactly what each person's goal (n, d) says, NaN where it
    leaves alone. An act that moves a feature moves it to where the goal is, or to where one other act that adds to
    the feature begins, so that a roundabout way may be missed; no sequence is returned that leads elsewhere.
    """

    def __init__(self, people: Population, acts: ActModel, most: int, goal: Rows) -> None:
        super().__init__(people, acts, 1, most, 0)
        self.goal = goal

    def found(self) -> Sequences:
        """Return a sequence of each person at most; people without one are not in it."""
        front, found = self.start(), []
        for length in range(self.most):
            more = self._extended(front, length)
            goal, set_ = self.goal[more.who], ~np.isnan(more.action)
            more = more.take(~(set_ & np.isnan(goal)).any(1))  # what is set stays set
            goal, set_ = self.goal[more.who], ~np.isnan(more.action)
            there = ((set_ == ~np.isnan(goal)) & ~(self.schema.differs(more.action, goal) & set_)).all(1)
            found.append(more.take(there))
            np.minimum.at(self.best, more.who[there], more.spent[there])
            front = more.take(~there)
            if not front.who.size:
                break
        return self._with_paths(self._cheapest(States.joined(found), 1))

    def _choices(self, a: int, front: States, rows: np.ndarray) -> tuple[np.ndarray, Floats, Ints]:
        j = int(self.acts.moved[a])
        if j < 0:
            return super()._choices(a, front, rows)
        name, others = self.schema.names[j], [act for b, act in enumerate(self.acts) if b != a]
        rest = np.unique([0.0, *(act.adds[name] for act in others if name in act.adds)])
        who, now = front.who[rows], front.after[rows, j]
        to = self.goal[who, j][:, None] - rest
        low, high = self.acts.span(a, now)
        slack = self.schema.slack[j]
        low, high = np.fmax(self.people.low[who, j], low), np.fmin(self.people.high[who, j], high)
        good = (to >= low[:, None] - slack) & (to <= high[:, None] + slack) & (to != now[:, None])
        at, column = np.nonzero(good)
        return rows[at], to[at, column], column


def own_of(x: Rows, wishes: Preferences | None) -> Floats:
    """(n, w) what tells people apart: their rows and their wishes. Other wishes make other sequences to one place."""
    return x if wishes is None else np.concatenate([x, wishes.as_rows()], axis=1)


def place_within(who: Ints) -> Ints:
    """(m,) of sorted numbers: how many equal ones stand before."""
    first = np.r_[True, who[1:] != who[:-1]] if len(who) else np.empty(0, dtype=bool)
    start = np.flatnonzero(first)
    return np.arange(len(who)) - np.repeat(start, np.diff(np.r_[start, len(who)]))
