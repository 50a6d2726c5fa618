"""face: walk among observed people, where they are dense, to the nearest one whom the model accepts."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.graph import (
    Entries,
    Mode,
    NeighbourGraph,
    Weighting,
    follow,
    nearest_targets,
)
from wayforward.methods.settings import check_choices, check_least, require_setting
from wayforward.problem.batching import ask
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Mask, People
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema
    from wayforward.streams import Streams

Immutables = Literal["respect", "ignore"]

# different rows that every combination of immutable values must have, for walks to stay inside it
_STRATUM = 1000
# all targets, the most helpful eighth, and 64th; a tier holds this many or more
_TIERS, _FEWER, _LEAST = 3, 8, 16
_JUDGES = 16  # refused people, of all scores, who say how helpful a target is
_HELPFUL = 4096  # targets that somebody is asked about before all walks are worked out for them
_FORWARD = 64  # people whose walks to all targets are worked out at once: two arrays of (64, N)
_PAIRS = 2_000_000  # walks sorted at once


@public
@dataclass(frozen=True)
class Observed:
    """Observed targets as they are, cheapest way first; NaN and inf in empty slots.

    target (n, k, d); length (n, k) of the way; path (n, k, s, d): the rows on the way, the target last, NaN after it.
    """

    target: np.ndarray
    length: np.ndarray
    path: np.ndarray


@public
@dataclass
class Face(Method):
    """Walk from observed neighbour to observed neighbour, where people are dense, to an accepted one.

    Observed people are the nodes of a sparse graph; a step weighs its length times f(density), so a short walk goes
    where people are. Targets are accepted people with at least `confidence` in the decision, without the share
    `density` of them that stand most alone. The options are the cheapest different targets by length of the walk, and
    `Recourse.path` holds each walk.

    mode: 'knn' steps to the `neighbours` nearest; 'epsilon' to those of them within `radius` ranges (another category
    is 1 away, so a radius below 1 changes none); 'kernel' as 'knn', weighted by a kernel density at the middle of the
    step. weighting: f, 'log' or 'inverse' (`engines.graph.Weights`).

    immutables='respect' (the default): only what people act on counts as distance; a row on the way is moved onto what
    this person may do (others' immutable values are not copied, limits hold), the model is asked about where that
    puts them, and the cheapest targets that then still are a yes are the options. Steps go only in the directions of
    the schema, and stay among people with the same immutable values as far as all combinations of these have 1,000
    different rows. Every row of a path is legal for the person, and so is every step. immutables='ignore' is the
    published method: rows as they are, whoever they are. The judge finds such an option only where nothing forbidden
    changes; `observed` returns the rows themselves. An option that was shortened (`Method.with_minimal`) leaves the
    walk: its path is its end alone.

    The nearest usable target is found exactly if it is among the `ends` nearest targets of the person; those who can
    use none of these are asked about the `ends` nearest of the surest eighth of the targets, then of the surest 64th;
    whoever still has nothing, although one of the surest targets would do, has the ways to all targets worked out.
    bridges: where the graph falls into pieces, join each piece to the nearest rows of the others (not part of the
    published method, which calls their people unreachable; never in mode 'epsilon').
    pool: at most so many reference rows, evenly taken; None for all.
    Default budget: 20,000 model rows a person. In a causal world a walk says what to set, and what follows is judged.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="face", k=2).path``.
    Source: R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach (2020), FACE: Feasible and Actionable
    Counterfactual Explanations, AIES; arXiv:1909.09369.
    """

    name: ClassVar[str] = "face"
    summary: ClassVar[str] = (
        "the shortest walk among observed people, where they are dense, to an accepted one"
    )
    citation: ClassVar[str] = (
        "Poyiadzi, Sokol, Santos-Rodriguez, De Bie & Flach (2020), AIES, arXiv:1909.09369"
    )
    needs_data: ClassVar[bool] = True
    copies_people: ClassVar[bool] = True

    mode: Mode = "knn"
    neighbours: int = 20
    radius: float = 0.25
    weighting: Weighting = "log"
    confidence: float = 0.0
    density: float = 0.0
    immutables: Immutables = "respect"
    pool: int | None = 30_000
    ends: int = 16
    bridges: bool = True

    def __post_init__(self) -> None:
        self._searches: list[WalkSearch] | None = None  # of one call, see `_chunk`
        check_choices(
            self,
            mode=get_args(Mode),
            weighting=get_args(Weighting),
            immutables=get_args(Immutables),
        )
        check_least(self, neighbours=1, ends=1)
        require_setting(self, "radius", self.radius > 0, "Use a radius above 0, in ranges.")
        for name in ("confidence", "density"):
            require_setting(self, name, 0 <= getattr(self, name) < 1, "Use a share from 0 to below 1.")
        some = self.pool is None or self.pool >= 2
        require_setting(self, "pool", some, "Use 2 or more rows, or None for all.")

    # -- what all people share -----------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        schema, rows = problem.schema, problem.require_reference()
        yes, value = problem.reached(rows)
        if self.confidence > 0 and problem.model.task == "classification":
            yes = yes & (value >= self.confidence)
            if not yes.any():
                raise MethodError(
                    f"'{self.name}' has confidence={self.confidence}, and no reference row reaches it. Ask for less."
                )
        some = np.arange(len(rows))
        if self.pool is not None and len(rows) > self.pool:
            some = np.linspace(0, len(rows) - 1, self.pool).astype(np.int64)
        rows, yes = rows[some], yes[some]
        respect = self.immutables == "respect"
        self.columns_ = schema.actionable.copy() if respect else np.ones(schema.d, dtype=bool)
        # One node for all rows that nobody can tell apart on the way; accepted if one of them is.
        telling = self.columns_.copy()
        self.strata_ = _strata(schema, rows, self.columns_) if respect else []
        telling[self.strata_] = True
        plain = np.nan_to_num(rows[:, telling], nan=np.inf)
        first, node = np.unique(plain, axis=0, return_index=True, return_inverse=True)[1:]
        target = np.bincount(node.reshape(-1), weights=yes, minlength=len(first)) > 0
        rows = rows[self._represent(first, node.reshape(-1), yes)]
        self.code_ = [int(schema.n_levels[j]) for j in self.strata_]
        stratum = _stratum_of(rows, self.strata_, self.code_)
        self.graph_ = NeighbourGraph(
            schema, rows, columns=self.columns_, mode=self.mode, k=self.neighbours, radius=self.radius,
            weighting=self.weighting, direction=schema.direction if respect else None, stratum=stratum,
            bridges=self.bridges,
        )  # fmt: skip
        self.targets_ = self._without_lonely(np.flatnonzero(target))
        self.tiers_ = [self.targets_]
        sure = self._helpful(problem, rows) if respect else np.zeros(len(self.targets_))
        order = self.targets_[np.argsort(-sure, kind="stable")]
        self.helpful_ = order[:_HELPFUL]
        while respect and len(self.tiers_) < _TIERS:
            few = len(self.tiers_[-1]) // _FEWER
            if few < _LEAST:
                break
            self.tiers_.append(np.sort(order[:few]))
        self.nearest_ = [
            nearest_targets(self.graph_.step, tier, min(self.ends, len(tier))) for tier in self.tiers_
        ]

    def _helpful(self, problem: Problem, rows: np.ndarray) -> np.ndarray:
        """Return for how many refused people each target (targets,) would do; ties are ordered by its own score."""
        everyone = problem.require_reference()
        refused = np.flatnonzero(~problem.reference_reached)
        score = problem.bound_target.score(problem.model.outputs(rows[self.targets_]))
        own = np.argsort(np.argsort(score, kind="stable"), kind="stable") / len(score)
        if not refused.size:
            return own
        # from those who miss a yes by little to those who miss it by much
        order = np.argsort(
            problem.bound_target.score(problem.model.outputs(everyone[refused])), kind="stable"
        )
        some = refused[order[np.linspace(0, len(order) - 1, min(_JUDGES, len(order))).astype(np.int64)]]
        search = WalkSearch(self, problem.population(everyone[some]), 1, 0)
        does = np.zeros(len(self.targets_))
        for i in range(len(some)):
            who = np.full(len(self.targets_), i)
            does += ask(search.people, who, search.act(who, self.targets_))[1]
        return np.asarray(does + own)

    @staticmethod
    def _represent(first: np.ndarray, node: np.ndarray, yes: np.ndarray) -> np.ndarray:
        """Return the row that represents each node: the first accepted one, or else the first."""
        out = first.copy()
        at = np.flatnonzero(yes)[::-1]
        out[node[at]] = at
        return out

    def _without_lonely(self, targets: np.ndarray) -> np.ndarray:
        """Return the targets without the share `density` of them that lie farthest from their neighbours."""
        if self.density <= 0:
            return targets
        step = self.graph_.step[targets]
        # few or long steps to the neighbours: alone
        apart = np.asarray(step.sum(1)).reshape(-1) / np.maximum(np.diff(step.indptr), 1)
        apart[np.diff(step.indptr) == 0] = np.inf
        keep = np.argsort(apart, kind="stable")[: max(1, int(np.ceil((1 - self.density) * len(targets))))]
        return np.sort(targets[keep])

    # -- everyone's walks ----------------------------------------------------------------------------------

    def _enter(self, people: Population, who: np.ndarray) -> Entries:
        """Return where people enter the graph; only what they may act on counts as distance, by their weights."""
        x = people.x[who]
        weight = np.ones(x.shape)
        if self.immutables == "respect":
            weight = np.asarray(people.weight[who] * people.free[who])
        return self.graph_.enter(x, weight, _stratum_of(x, self.strata_, self.code_))

    def _ranked(
        self, entries: Entries, tier: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return everyone's different targets, nearest first: target, length, entry and slot to follow, each (n, q)."""
        near = self.nearest_[tier]
        n, m = entries.node.shape
        q = near.length.shape[1]
        node = np.maximum(entries.node, 0)
        length = (entries.weight[:, :, None] + near.length[node]).reshape(n, m * q)
        target = np.where(np.isfinite(length), near.target[node].reshape(n, m * q), -1)
        entry = np.repeat(node, q, axis=1)
        slot = np.broadcast_to(np.arange(q), (n, m, q)).reshape(n, m * q)
        rows = np.arange(n)[:, None]
        order = np.lexsort((length, target), axis=1)
        again = np.zeros((n, m * q), dtype=bool)
        again[:, 1:] = target[rows, order][:, 1:] == target[rows, order][:, :-1]
        far = length.copy()
        far[rows, order] = np.where(again, np.inf, length[rows, order])
        order = np.lexsort((target, far), axis=1)[:, :q]  # the first q are exact; further ones might not be
        far = far[rows, order]
        return np.where(np.isfinite(far), target[rows, order], -1), far, entry[rows, order], slot[rows, order]

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        search = WalkSearch(self, people, k, budget.rows_or(20_000))
        step = max(1, _PAIRS // (self.neighbours * self.ends))
        for begin in range(0, people.n, step):
            who = np.arange(begin, min(begin + step, people.n))
            entries = self._enter(people, who)
            if self.immutables == "ignore":
                search.take_as_observed(who, *(part[:, :k] for part in self._ranked(entries)))
                continue
            for tier in range(len(self.tiers_)):
                left = np.flatnonzero(search.unfinished(who))
                target, _, entry, slot = self._ranked(entries.take(left), tier)
                search.ask_nearest(who[left], target, entry, slot, tier)
            left = np.flatnonzero(search.unfinished(who) & (search.found[who] < 1))
            left = left[search.could_use_helpful(who[left], entries.node[left])]
            for start in range(0, left.size, _FORWARD):
                part = left[start : start + _FORWARD]
                search.ask_all(who[part], entries.take(part))
        if self._searches is not None:
            self._searches.append(search)
        return search.action

    def observed(self, x: Any, k: int = 1) -> Observed:
        """Return each person's k cheapest targets as observed, whoever they are: neither moved nor judged.

        x: a table of people or (n, d). What `immutables='ignore'` proposes before anybody judges it.
        """
        people = self.problem_.population(self.problem_.schema.encode(x))
        entries = self._enter(people, np.arange(people.n))
        target, length, entry, slot = (part[:, :k] for part in self._ranked(entries))
        n, q = target.shape
        walk = follow(self.nearest_[0], np.where(target >= 0, entry, -1).reshape(-1), slot.reshape(-1))
        rows = self.graph_.rows
        path = np.where((walk >= 0)[:, :, None], rows[walk], np.nan).reshape(n, q, -1, people.d)
        goal = np.where((target >= 0)[:, :, None], rows[target], np.nan)
        pad = ((0, 0), (0, k - q))
        return Observed(
            np.pad(goal, (*pad, (0, 0)), constant_values=np.nan),
            np.pad(length, pad, constant_values=np.inf),
            np.pad(path, (*pad, (0, 0), (0, 0)), constant_values=np.nan),
        )

    def unreachable(self, x: Any) -> Mask:
        """Return (n,) bool: no walk leads from this person's neighbours to any target."""
        people = self.problem_.population(self.problem_.schema.encode(x))
        entries = self._enter(people, np.arange(people.n))
        far = entries.weight + self.nearest_[0].length[np.maximum(entries.node, 0), 0]
        return np.asarray(~np.isfinite(far).any(1))

    @property
    def _prove(self) -> bool:
        """False for rows as they are: they mostly ask for what is forbidden, which proves nothing."""
        return self.immutables != "ignore"

    # -- the walk itself ------------------------------------------------------------------------------------

    def _chunk(self, x: People, wishes: Preferences | None, k: int, seed: int, budget: Budget) -> Recourse:
        walker = copy.copy(self)  # so that two calls at once do not mix their walks
        searches: list[WalkSearch] = []
        walker._searches = searches
        got = Method._chunk(walker, x, wishes, k, seed, budget)
        path = np.full((*got.action.shape[:2], 1, got.d), np.nan)
        who, slot = np.nonzero(got.found)
        path[who, slot, 0] = got.after[who, slot]
        if searches and who.size:
            people = self.problem_.population(x, wishes)
            points = searches[0].points(people, who, got.action[who, slot], got.after[who, slot])
            if (disclosure := self.problem_.disclosure) is not None:
                points = disclosure.told_on_the_way(self.problem_, people.x[who], points)
            path = np.full((*got.action.shape[:2], points.shape[1], got.d), np.nan)
            path[who, slot] = points
        return replace(got, path=path)


class WalkSearch:
    """Look for targets that people can use, nearest first; action (n, k, d) and the rows walked over."""

    def __init__(self, method: Face, people: Population, k: int, limit: int) -> None:
        self.method, self.people, self.k = method, people, k
        self.rows = method.graph_.rows
        self.cap = people.rows + limit
        self.action = np.full((people.n, k, people.d), np.nan)
        self.key = np.zeros((people.n, k), dtype=np.uint64)  # of the actions, to tell them apart
        self.found = np.zeros(people.n, dtype=np.int64)
        self.walk: dict[int, np.ndarray] = {}  # hash of person and action -> rows walked over

    def act(self, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return what people set (m, d) to become like a row of the graph; NaN where they stay as they are."""
        people, schema = self.people, self.people.schema
        goal = self.rows[row]
        if self.method.immutables == "respect":
            goal = people.snap(who, goal)
        return np.where(schema.differs(goal, people.x[who]) & ~np.isnan(goal), goal, np.nan)

    def take_as_observed(
        self, who: np.ndarray, target: np.ndarray, length: np.ndarray, entry: np.ndarray, slot: np.ndarray
    ) -> None:
        """Take targets as they are, which is the published method."""
        at, place = np.nonzero(target >= 0)
        owner = who[at]
        self.action[owner, place] = self.act(owner, target[at, place])
        walk = follow(self.method.nearest_[0], entry[at, place], slot[at, place])
        self._remember(owner, self.action[owner, place], walk)

    def ask_nearest(
        self, who: np.ndarray, target: np.ndarray, entry: np.ndarray, slot: np.ndarray, tier: int
    ) -> None:
        """Ask about targets (m, q), -1 where none, nearest first, until k are usable."""
        first, lot = 0, max(self.k, 4)
        left = np.arange(len(who))
        while left.size and first < target.shape[1]:
            some = slice(first, first + lot)
            at, place, action = self._ask_about(who[left], target[left, some])
            at, place = left[at], place + first
            walk = follow(self.method.nearest_[tier], entry[at, place], slot[at, place])
            self._remember(who[at], action, walk)
            first, lot = some.stop, lot * 2
            left = left[self.unfinished(who[left])]

    def could_use_helpful(self, who: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return (m,) bool: some of the most helpful targets would do for a person."""
        graph, out = self.method.graph_, np.zeros(len(who), dtype=bool)
        first = 0
        for lot in (_HELPFUL // 8, _HELPFUL):  # mostly a few are enough to know
            helpful = self.method.helpful_[first:lot]
            first = lot
            left = np.flatnonzero(~out)
            for begin in range(0, len(left) if len(helpful) else 0, _FORWARD):
                part = left[begin : begin + _FORWARD]
                owner, row = np.repeat(who[part], len(helpful)), np.tile(helpful, len(part))
                home = graph.stratum[np.maximum(node[part, 0], 0)]
                room = np.tile(np.arange(len(helpful)), len(part)) < (self.cap - self.people.rows)[owner]
                good = (graph.stratum[row] == np.repeat(home, len(helpful))) & room
                action = self.act(owner[good], row[good])
                moves = ~np.isnan(action).all(1)
                good[good] = moves
                good[good] = ask(self.people, owner[good], action[moves])[1]
                out[part] = good.reshape(-1, len(helpful)).any(1)
        return out

    def ask_all(self, who: np.ndarray, entries: Entries) -> None:
        """Work out the walks to all targets and ask about them, nearest first."""
        graph, targets = self.method.graph_, self.method.targets_
        n, m = graph.n, len(who)
        at, place = np.nonzero(entries.node >= 0)
        door = sparse.csr_matrix((entries.weight[at, place], (at, entries.node[at, place])), shape=(m, n))
        whole = sparse.bmat([[graph.step, None], [door, sparse.csr_matrix((m, m))]], format="csr")
        far, before = dijkstra(whole, indices=np.arange(n, n + m), return_predecessors=True)
        far = far[:, targets]
        order = np.argsort(far, axis=1, kind="stable")
        goal = np.where(np.isfinite(np.take_along_axis(far, order, axis=1)), targets[order], -1)
        first, lot = 0, 32
        left = np.arange(m)
        while left.size and first < goal.shape[1]:
            some = slice(first, first + lot)
            at, place, action = self._ask_about(who[left], goal[left, some])
            at, place = left[at], place + first
            self._remember(who[at], action, _walk_back(before[at], goal[at, place], n))
            first, lot = some.stop, lot * 2
            left = left[self.unfinished(who[left]) & (goal[left, min(first, goal.shape[1] - 1)] >= 0)]

    def unfinished(self, who: np.ndarray) -> np.ndarray:
        """Return (m,) bool: has fewer than k options, and may ask for more rows."""
        return np.asarray((self.found[who] < self.k) & (self.people.rows[who] < self.cap[who]))

    def _ask_about(self, who: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ask about targets (m, q), record usable ones that are new; return their places in `target` and actions."""
        people = self.people
        room = self.cap[who] - people.rows[who]
        at, place = np.nonzero((target >= 0) & (np.arange(target.shape[1]) < room[:, None]))
        owner = who[at]
        action = self.act(owner, target[at, place])
        moves = ~np.isnan(action).all(1)
        at, place, owner, action = at[moves], place[moves], owner[moves], action[moves]
        good = ask(people, owner, action)[1]
        at, place, owner, action = at[good], place[good], owner[good], action[good]
        key = keys_of(np.nan_to_num(action, nan=np.inf), 0)
        # two rows may be the same once they are moved onto what the person may do
        new = ~(self.key[owner] == key[:, None]).any(1)
        order = np.lexsort((place, key, owner))
        twice = np.zeros(len(order), dtype=bool)
        same = (np.diff(owner[order]) == 0) & (key[order][1:] == key[order][:-1])
        twice[order[1:][same]] = True
        new &= ~twice
        at, place, owner, action, key = at[new], place[new], owner[new], action[new], key[new]
        into = self.found[owner] + rank_in_run(owner)
        fits = into < self.k
        at, place, owner, action, into = at[fits], place[fits], owner[fits], action[fits], into[fits]
        self.action[owner, into], self.key[owner, into] = action, key[fits]
        np.add.at(self.found, owner, 1)
        return at, place, action

    def _remember(self, who: np.ndarray, action: np.ndarray, walk: np.ndarray) -> None:
        """Store the rows walked over for each person and action."""
        for key, rows in zip(_keys(self.people.x[who], action), walk, strict=True):
            self.walk[int(key)] = rows

    def points(
        self, people: Population, who: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """Return where each walk leads people (m, s, d), the end last, NaN after it: only legal rows and steps."""
        method, schema = self.method, people.schema
        found = [self.walk.get(int(key)) for key in _keys(people.x[who], action)]
        longest = max((len(rows) for rows in found if rows is not None), default=0)
        walk = np.full((len(who), longest), -1, dtype=np.int64)
        for i, rows in enumerate(found):
            if rows is not None:
                walk[i, : len(rows)] = rows
        last = (walk >= 0).sum(1) - 1
        out = np.full((len(who), longest + 1, people.d), np.nan)
        count = np.zeros(len(who), dtype=np.int64)
        x = people.x[who]
        here, set_, end = x.copy(), x.copy(), np.where(np.isnan(action), x, action)
        for s in range(longest):
            on = np.flatnonzero(s < last)
            if not on.size:
                break
            row = method.graph_.rows[walk[on, s]]
            if method.immutables == "respect":
                row = people.snap(who[on], row)
            act = np.where(schema.differs(row, x[on]) & ~np.isnan(row), row, np.nan)
            value = np.where(np.isnan(act), x[on], act)
            there = people.after(who[on], act)
            keep = schema.differs(there, here[on]).any(1) & schema.differs(there, after[on]).any(1)
            if method.immutables == "respect":
                with np.errstate(invalid="ignore"):
                    back = (value - set_[on]) * schema.direction < 0
                    back |= (end[on] - value) * schema.direction < 0
                keep &= ~back.any(1)
                keep[keep] = people.allowed(who[on][keep], act[keep], there[keep])
            at = on[keep]
            out[at, count[at]] = there[keep]
            here[at], set_[at] = there[keep], value[keep]
            count[at] += 1
        out[np.arange(len(who)), count] = after
        return out[:, : int(count.max(initial=0)) + 1]


def _keys(x: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return a key (m,) for each person and action."""
    return keys_of(np.concatenate([x, np.nan_to_num(action, nan=np.inf)], axis=1), 0)


def _walk_back(before: np.ndarray, goal: np.ndarray, n: int) -> np.ndarray:
    """Return the rows walked over (m, s) to goal (m,), -1 after the end. before: the row before each."""
    at, out, rows = goal.copy(), [], np.arange(len(goal))
    while ((at >= 0) & (at < n)).any():
        at = np.where((at >= 0) & (at < n), at, -1)
        out.append(at)
        at = np.where(at >= 0, before[rows, at], -1)
    walk = np.stack(out[::-1], axis=1) if out else np.empty((len(goal), 0), dtype=np.int64)
    order = np.argsort(walk < 0, axis=1, kind="stable")  # shorter ones start later: to the front
    return np.asarray(np.take_along_axis(walk, order, axis=1))


# -- people who can take the same walks ------------------------------------------------------------------------


def _strata(schema: Schema, rows: np.ndarray, columns: np.ndarray) -> list[int]:
    """Return immutable features of few values, fewest first; each combination has `_STRATUM` rows to walk on."""
    chosen: list[int] = []
    few = [int(j) for j in np.flatnonzero(schema.immutable & schema.has_levels)]
    for j in sorted(few, key=lambda j: int(schema.n_levels[j])):
        trial = [*chosen, j]
        each = [int(schema.n_levels[i]) for i in trial]
        if np.isnan(rows[:, trial]).any() or np.prod(each) * _STRATUM > len(rows):
            continue
        plain = np.nan_to_num(rows[:, [*trial, *np.flatnonzero(columns)]], nan=np.inf)
        different = np.unique(plain, axis=0)[:, : len(trial)].astype(np.int64)
        code = np.ravel_multi_index(tuple(different.T), each)
        if np.bincount(code, minlength=int(np.prod(each))).min() >= _STRATUM:
            chosen = trial
    return chosen


def _stratum_of(x: np.ndarray, strata: list[int], each: list[int]) -> np.ndarray:
    """Return the combination (m,) of immutable values that each row has. each: levels of the features `strata`."""
    if not strata:
        return np.zeros(len(x), dtype=np.int64)
    value = np.nan_to_num(x[:, strata]).astype(np.int64)
    return np.asarray(np.ravel_multi_index(tuple(value.T), each))
