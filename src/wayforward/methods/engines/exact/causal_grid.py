"""Grid search for the cheapest acts in any world: every set of features, a few values each, in order of cost.

A person with r features to act on and a grid of b values for each has (b + 1)^r combinations. They are never all
written down. A compiled search lists the next cheapest ones of each person (depth first, options of a feature in order
of cost, cut off by the dearest one that is still wanted); these few are checked by their consequences, the rules, the
plausibility and at last the model; whoever has an answer leaves, and for the others a longer list is made.

Where the problem asks for profiles at least as likely as before and the world tells densities feature by feature, the
density of all combinations is known from small tables before any of them is listed: what a feature adds to the
log-density depends on itself and its causes, so one table for each such group of features holds it, and a combination
whose tables cannot add up is cut off early. Whatever is listed is still checked by the density itself.

The cost of a combination is the sum of the costs of its features. For other costs every combination is priced, in
blocks. An answer does not depend on who else is in the batch.

Source: Majumdar & Valera (2024), CARMA, FAccT, and Budde et al. (2026), iCARMA, section 5, for the grid and its use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.errors import MethodError, WorldError
from wayforward.model import kernels
from wayforward.ranks import rank_in_run

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.shapes import People

Grid = Literal["range", "around"]
Price = Callable[[np.ndarray, np.ndarray], np.ndarray]  # people (m,), options (m, r) -> cost (m,)

_FIRST, _GROWTH = 64, 8  # candidates listed for one person at first, and from turn to turn
_LONGEST = 1 << 18  # and at most
_STRIDE = 64.0  # greatest step of the cost from list to list
_CELLS = 1 << 22  # array cells held at once
_BLOCK = 1 << 16  # candidate rows evaluated at once
_TABLE = 1 << 15  # cells of one person's density tables; a larger one would cost more than it saves
_COMBINATIONS = 400_000_000  # combinations of one person that are searched; beyond, fewer acts at once
_LOOSE = 1e-9  # how much a table may fall short: the density itself decides
_ZOOM = 9  # values of a feature in one round of refinement
_SHRINK = 0.35  # width of a round's grid as a share of the round before: a little more than one step of it
_ENOUGH = 1e-3  # relative gain below which a refinement ends


# -- the grid ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GridOptions:
    """What each person may set each feature to: value, cost (n, d, O), count (n, d).

    Option 0 leaves the feature alone (NaN, cost 0); the others follow in order of cost and are distinct. Beyond
    `count` there is nothing: value NaN, cost infinite. moves (n, d, O): the value differs from the one before.
    """

    value: np.ndarray
    cost: np.ndarray
    count: np.ndarray
    moves: np.ndarray

    @classmethod
    def of(cls, people: Population, value: np.ndarray) -> GridOptions:
        """Snap values (n, d, b), NaN for none, to what each person may do; sort them by cost, each one once."""
        n, d, b = value.shape
        who = np.repeat(np.arange(n), b)
        rows = people.snap(who, np.ascontiguousarray(value.transpose(0, 2, 1)).reshape(-1, d))
        value = rows.reshape(n, b, d).transpose(0, 2, 1)
        value = np.where(people.free[:, :, None], value, np.nan)
        value = np.sort(value, axis=2)  # NaN last
        gap = 1e-9 * np.nan_to_num(people.schema.span, nan=1.0)[:, None]
        with np.errstate(invalid="ignore"):
            value[:, :, 1:][np.diff(value, axis=2) <= gap] = np.nan
        x = people.x[:, :, None]
        moves = ~np.isnan(value) & people.schema.differs(
            value.transpose(0, 2, 1), people.x[:, None]
        ).transpose(0, 2, 1)
        if people.problem.independent:  # nothing follows from an act that changes nothing
            value = np.where(moves, value, np.nan)
        cost = np.empty(value.shape)
        for j in range(d):
            cost[:, j] = people.problem.cost.part(j, x[:, j], value[:, j]) * people.weight[:, j, None]
        cost = np.where(np.isnan(value), np.inf, cost)
        order = np.argsort(cost, axis=2, kind="stable")
        left = np.zeros((n, d, 1))
        return cls(
            np.concatenate([left * np.nan, np.take_along_axis(value, order, 2)], axis=2),
            np.concatenate([left, np.take_along_axis(cost, order, 2)], axis=2),
            1 + np.isfinite(cost).sum(2),
            np.concatenate([left != 0, np.take_along_axis(moves, order, 2)], axis=2),
        )


def grid_ends(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest value (d,) of the people in the reference whom the model refuses.

    Everybody's, where nobody is refused; the bounds of the schema, where nobody has a value.
    Raises: MethodError for a feature that people act on and that has neither.
    """
    schema = problem.schema
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in (schema.low, schema.high))
    if problem.reference is not None:
        rows = problem.reference[~problem.reference_reached]
        rows = rows if len(rows) else problem.reference
        seen = ~np.isnan(rows).all(0)
        low[seen], high[seen] = np.nanmin(rows[:, seen], axis=0), np.nanmax(rows[:, seen], axis=0)
    unknown = (np.isnan(low) | np.isnan(high)) & schema.actionable & ~schema.has_levels
    if unknown.any():
        raise MethodError(
            f"'{schema.names[int(np.argmax(unknown))]}' has no bounds in the schema and no value in the data, so it "
            "has no grid. Give the feature low and high, or the problem people: Problem(..., data=train)."
        )
    return low, high


def grid_values(people: Population, ends: tuple[np.ndarray, np.ndarray], bins: int, grid: Grid) -> np.ndarray:
    """Lay a grid of values (n, d, b), before they are moved to what each person may do; levels: all of them."""
    x = people.x
    low, high = (np.broadcast_to(end, x.shape) for end in ends)
    if grid == "around":
        centre = np.where(np.isnan(x), (low + high) / 2, x)
        low, high = centre - 2 * (centre - low), centre + 2 * (high - centre)
    with np.errstate(invalid="ignore"):
        value = low[:, :, None] + np.linspace(0.0, 1.0, bins) * (high - low)[:, :, None]
    value[:, :, bins - 1] = high
    return _with_levels(people, value)


def zoomed(people: Population, action: np.ndarray, width: np.ndarray, bins: int) -> np.ndarray:
    """Lay a grid (n, d, b) within `width` (n, d) of what `action` (n, d) sets, or of the person's own values.

    The value in the middle is the one that it is now, so a search in this grid never loses what it started from.
    """
    centre = np.where(np.isnan(action), people.x, action)
    share = np.linspace(-1.0, 1.0, bins + 1 - bins % 2)
    return _with_levels(people, centre[:, :, None] + share * width[:, :, None])


def _with_levels(people: Population, value: np.ndarray) -> np.ndarray:
    """Replace the values (n, d, b) of features with levels by all of their levels; NaN beyond."""
    schema = people.schema
    levels = int(schema.n_levels[schema.has_levels].max(initial=0))
    out = np.full((*people.x.shape, max(value.shape[2], levels)), np.nan)
    out[:, :, : value.shape[2]] = value
    for j in np.flatnonzero(schema.has_levels):
        out[:, j] = np.nan
        out[:, j, : schema.n_levels[j]] = np.arange(schema.n_levels[j])
    return out


# -- the search --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cheapest:
    """action (n, k, d), NaN where there is none; cost (n, k), inf there; complete (n,): nothing was cut short."""

    action: np.ndarray
    cost: np.ndarray
    complete: np.ndarray


def cheapest(
    people: Population,
    options: GridOptions,
    k: int = 1,
    *,
    plausible: bool = True,
    free: np.ndarray | None = None,
    most: int | None = None,
    rows: int | None = None,
    other_than: np.ndarray | None = None,
) -> Cheapest:
    """Find each person's k cheapest feasible combinations, every one moving another set of features.

    plausible: the problem's plausibility must hold, where it has one. free (n, d) bool: act on these features only,
    out of those that the person may act on. most: features acted on at once. rows: model rows for each person.
    other_than (n, q, d) bool: sets of moved features that are not wanted.
    """
    n, d = people.x.shape
    got = Cheapest(np.full((n, k, d), np.nan), np.full((n, k), np.inf), np.ones(n, dtype=bool))
    may = options.count > 1
    if free is not None:
        may &= free
    limit = people.rows + (np.iinfo(np.int64).max // 2 if rows is None else rows)
    patterns, label = np.unique(np.packbits(may, axis=1), axis=0, return_inverse=True)
    label = label.reshape(-1)
    for pattern in range(len(patterns)):
        who = np.flatnonzero(label == pattern)
        features = np.flatnonzero(may[who[0]])
        if not features.size:
            continue
        search = _Search(people, options, features, k, plausible, most, limit)
        step = max(1, _CELLS // max(search.cells, 1))
        for begin in range(0, len(who), step):
            some = who[begin : begin + step]
            search.run(some, got, None if other_than is None else other_than[some])
    return got


class _Search:
    """The search for people who may act on the same features, in the order in which it sets them."""

    def __init__(
        self,
        people: Population,
        options: GridOptions,
        features: np.ndarray,
        k: int,
        plausible: bool,
        most: int | None,
        limit: np.ndarray,
    ) -> None:
        self.people, self.options, self.k, self.limit = people, options, k, limit
        problem = people.problem
        self.moved = problem.descendants | np.eye(people.d, dtype=bool)  # (cause, effect), itself included
        # causes first: what they do is then known early
        self.features = features[np.argsort(self.moved[np.ix_(features, features)].sum(0), kind="stable")]
        self.r = len(features)
        self.most = self.r if most is None else min(most, self.r)
        self.strict = plausible and problem.plausibility is not None
        self.bound = None if problem.plausibility is None else problem.plausibility.likelihood_bound
        self.radix = options.count[:, self.features].max(
            0
        )  # (r,) options of each feature, leaving it alone included
        if math.prod(self.radix.tolist()) > 2**62:
            raise MethodError(
                f"Up to {int(self.radix.max()) - 1} values for each of {self.r} features are more combinations than "
                "can be counted. Use fewer bins, or freeze features."
            )
        self.factors = self._factors()
        self.density = any(factor.parts for factor in self.factors)
        self.tabled = sum(
            self._cells(factor.scope) for factor in self.factors
        )  # cells of one person's tables
        self.cells = 2 * self.r * int(self.radix.max()) + sum(
            self._cells(factor.scope) * (2 + len(factor.values)) for factor in self.factors
        )
        self.whole = bool(self.factors) and self.values_tabled

    def _cells(self, scope: tuple[int, ...]) -> int:
        return math.prod(self.radix[list(scope)].tolist())

    # -- tables -------------------------------------------------------------------------------------------

    def _factors(self) -> list[_Factor]:
        """Choose what one person's tables hold: values and densities, else densities alone, else nothing."""
        people = self.people
        values = {
            j: tuple(p for p, f in enumerate(self.features) if self.moved[f, j]) for j in range(people.d)
        }
        values = {j: scope for j, scope in values.items() if scope}
        parts = self._parts() if self.strict and self.bound is not None else {}
        for tabled in (values, {}):
            self.values_tabled = bool(tabled)
            widest = _widest([*tabled.values(), *parts.values()])
            if sum(self._cells(scope) for scope in widest) <= _TABLE:
                return [
                    _Factor(
                        scope,
                        [j for j, own in tabled.items() if _home(own, widest) == scope],
                        [j for j, own in parts.items() if _home(own, widest) == scope],
                    )
                    for scope in widest
                ]
        return []

    def _parts(self) -> dict[int, tuple[int, ...]]:
        """Map features whose part of the log-density acts can change to the positions of the acts that can."""
        assert self.bound is not None
        people, density = self.people, self.bound[0]
        try:
            density.log_density_parts(people.x[:1])
            tabled = np.asarray(density.descendants) | np.eye(people.d, dtype=bool)
        except (AttributeError, WorldError):
            return {}
        keeps = people.problem.world.keeps_density(density).copy()
        if people.schema.rules:  # what a rule drags along no longer has its own noise
            keeps[[link.target_index for link in people.schema.compiled_rules.links]] = False
        keeps[self.features] = False
        reach = (
            self.moved.astype(int) @ tabled.astype(int)
        ) > 0  # acting on the row can change the column's part
        scopes = {
            j: tuple(p for p, f in enumerate(self.features) if reach[f, j]) for j in np.flatnonzero(~keeps)
        }
        return {int(j): scope for j, scope in scopes.items() if scope}

    # -- turns --------------------------------------------------------------------------------------------

    def run(self, who: np.ndarray, got: Cheapest, other_than: np.ndarray | None = None) -> None:
        """Search for these people (m,) and write down what is found."""
        people, n = self.people, len(who)
        space = _Combinations.of(self, who)
        taken = np.zeros((n, self.k), dtype=np.int64)
        if other_than is not None:  # a set that needs other features cannot come up
            bits = (other_than[:, :, self.features].astype(np.int64) << np.arange(self.r)).sum(2)
            bits[other_than.sum(2) > other_than[:, :, self.features].sum(2)] = 0
            taken = np.concatenate([taken, bits], axis=1)
        space.taken, open_ = taken, np.arange(n)
        length, seen = _FIRST, 0
        if self.density:
            space.tabulate(open_)
        while open_.size:
            room = self.limit[who[open_]] - people.rows[who[open_]]
            ended = room <= 0
            got.complete[who[open_[ended]]] = False
            open_, room = open_[~ended], room[~ended]
            if self.whole and not len(space.offset) and open_.size and 2 * length >= self.tabled:
                space.tabulate(open_)
            go = np.ones(len(open_), dtype=bool)
            step = max(1, _CELLS // length)
            for begin in range(0, len(open_), step):
                part = slice(begin, begin + step)
                go[part] = self._turn(space, open_[part], length, seen, room[part], got)
            open_ = open_[go]
            seen += length
            length = min(length * _GROWTH, _LONGEST)

    def _turn(
        self, space: _Combinations, at: np.ndarray, length: int, seen: int, room: np.ndarray, got: Cheapest
    ) -> np.ndarray:
        """List and check for the people at `at` (m,); return (m,) bool: still to be searched."""
        cost, index, found = space.next(at, length)
        wanted = np.minimum(found, room)
        start, live = 0, np.arange(len(at))
        while live.size:
            stop = start + max(_FIRST // 2, (seen + start) // 2)
            ranks = np.arange(start, min(stop, length))
            row, column = np.nonzero(ranks < wanted[live][:, None])
            local, rank = live[row], ranks[column]
            self._evaluate(space, at[local], index[local, rank], cost[local, rank], got)
            start = stop
            live = live[(space.many[at[live]] < self.k) & (wanted[live] > start)]
        full = space.many[at] >= self.k
        got.complete[space.who[at[~full & (wanted < found)]]] = False
        return np.asarray(~full & (wanted == found) & space.move(at, cost, found, index))

    def _evaluate(
        self, space: _Combinations, at: np.ndarray, index: np.ndarray, cost: np.ndarray, got: Cheapest
    ) -> None:
        """Check combinations (m,), in order of (person, cost), and write down what is wanted."""
        option = space.options_of(index)
        bits = space.bits_of(at, option)
        if space.taken.shape[1] > 1:
            new = ~(space.taken[at] == bits[:, None]).any(1)
            at, cost, option, bits = at[new], cost[new], option[new], bits[new]
        hit = np.flatnonzero(self._feasible(space, at, option))
        if not hit.size:
            return
        _, first = np.unique(np.stack([at[hit], bits[hit]], axis=1), axis=0, return_index=True)
        hit = hit[np.sort(first)]  # each person's cheapest of each set, cheapest first
        slot = space.many[at[hit]] + rank_in_run(at[hit])
        hit, slot = hit[slot < self.k], slot[slot < self.k]
        owner = at[hit]
        got.action[space.who[owner], slot] = self.action(space.who[owner], option[hit])
        got.cost[space.who[owner], slot] = cost[hit]
        space.taken[owner, slot] = bits[hit]
        space.many += np.bincount(owner, minlength=len(space.many))

    def action(self, who: np.ndarray, option: np.ndarray) -> np.ndarray:
        """Turn options (m, r) of people (m,) into actions (m, d)."""
        action = np.full((len(who), self.people.d), np.nan)
        for p, j in enumerate(self.features):
            action[:, j] = self.options.value[who, j, option[:, p]]
        return action

    def _feasible(self, space: _Combinations, at: np.ndarray, option: np.ndarray) -> np.ndarray:
        """Test combinations, (m,) bool: allowed, accepted by the model and, where the search is strict, plausible."""
        people = self.people
        good = np.zeros(len(at), dtype=bool)
        for begin in range(0, len(at), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            who = space.who[at[part]]
            if space.values and (space.row[at[part]] >= 0).all():  # what follows is in the tables
                after = space.after(at[part], option[part])
                ok = np.ones(len(who), dtype=bool)
                if people.schema.rules:
                    ok &= np.asarray(people.schema.compiled_rules.satisfied(people.x[who], after))
                ok[ok] = people.reached(who[ok], after[ok])
                who, at_good = who[ok], begin + np.flatnonzero(ok)
                if who.size:  # few are left: the problem itself decides
                    good[at_good] = self._feasible_by_problem(who, self.action(who, option[at_good]), None)
            else:
                good[part] = self._feasible_by_problem(who, self.action(who, option[part]), self.density)
        return good

    def _feasible_by_problem(self, who: np.ndarray, action: np.ndarray, tabled: bool | None) -> np.ndarray:
        """Test actions by the problem. tabled: the density is all but known to do; None: the model accepts, too."""
        people = self.people
        after = people.after(who, action)
        ok = people.allowed(who, action, after)
        early = self.strict and self.bound is not None and tabled is False
        if early and ok.any():
            ok[ok] = people.plausible(who[ok], after[ok])
        if tabled is not None and ok.any():
            ok[ok] = people.reached(who[ok], after[ok])
        if self.strict and not early and ok.any():
            ok[ok] = people.plausible(who[ok], after[ok])
        if people.problem.demanding and ok.any():
            ok[ok] = people.promise(who[ok], action[ok])[0]
        return ok


@dataclass(frozen=True)
class _Factor:
    """One table: the positions that it depends on, the features whose values and density parts it settles."""

    scope: tuple[int, ...]
    values: list[int]
    parts: list[int]


def _widest(scopes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the scopes that lie in no other one."""
    return sorted({s for s in scopes if not any(set(s) < set(other) for other in scopes)})


def _home(scope: tuple[int, ...], widest: list[tuple[int, ...]]) -> tuple[int, ...]:
    return next(other for other in widest if set(scope) <= set(other))


@dataclass
class _Combinations:
    """All combinations of some people, listed piece by piece. n people, r features, O options.

    A combination is one number: its options are the digits, the first feature leading.
    """

    search: _Search
    who: np.ndarray
    cost: np.ndarray  # (n, r, O)
    count: np.ndarray  # (n, r)
    moves: np.ndarray  # (n, r, O)
    most_acts: np.ndarray  # (n,)
    most_moves: np.ndarray  # (n,)
    cursor_cost: np.ndarray  # (n,)
    cursor_index: np.ndarray  # (n,)
    ceiling: np.ndarray  # (n,) dearest that is listed next; grows until everything is listed
    row: np.ndarray  # (n,) row of the tables, -1 for none
    table: np.ndarray  # (t, T) what is added to the log-density; -inf where it is not allowed
    need: np.ndarray  # (t,) least sum
    best: np.ndarray  # (t, r + 1) most that the features from this one on can still add
    offset: np.ndarray  # (F,) where a table begins
    stride: np.ndarray  # (F, r)
    depth_of: np.ndarray  # (F,) the feature at which a table is complete
    values: list[np.ndarray]  # for each factor (t, cells, effects): where the acts lead
    many: np.ndarray  # (n,) options found
    taken: np.ndarray  # (n, k) sets of features that have an option already, as bits

    @classmethod
    def of(cls, search: _Search, who: np.ndarray) -> _Combinations:
        """Set up the combinations of these people."""
        n, r, width, options = len(who), search.r, int(search.radix.max()), search.options
        pick = np.ix_(who, search.features)
        count = options.count[pick]
        many = np.zeros((n, r + 1))  # combinations with that many acts
        many[:, 0] = 1.0
        for p in range(r):
            many[:, 1:] += many[:, :-1] * (count[:, p, None] - 1.0)
        most = np.minimum(search.most, np.maximum((many.cumsum(1) <= _COMBINATIONS).sum(1) - 1, 1))
        none = np.zeros(0, dtype=np.int64)
        return cls(
            search, who, np.ascontiguousarray(options.cost[pick][:, :, :width]), count,
            np.ascontiguousarray(options.moves[pick][:, :, :width]), most,
            search.people.max_changes[who].astype(np.int64), np.full(n, -1.0), np.full(n, -1, dtype=np.int64),
            np.full(n, np.inf), np.full(n, -1, dtype=np.int64), np.zeros((1, 0)), np.full(1, -np.inf),
            np.zeros((1, r + 1)), none, np.zeros((0, r), dtype=np.int64), none, [],
            np.zeros(n, dtype=np.int64), np.zeros((n, 0), dtype=np.int64),
        )  # fmt: skip

    @property
    def dearest(self) -> np.ndarray:
        """(n,) from here on no end is set: what no combination costs more than; always, for costs that are no sums."""
        if not self.search.people.problem.cost.separable:
            return np.full(len(self.who), -np.inf)
        return np.asarray(np.where(np.isfinite(self.cost), self.cost, 0.0).max(2).sum(1))

    # -- tables -------------------------------------------------------------------------------------------

    def tabulate(self, at: np.ndarray) -> None:
        """Work out the tables of the people at `at`."""
        search, people = self.search, self.search.people
        who = self.who[at]
        before = need = None
        if search.density:
            assert search.bound is not None
            before = search.bound[0].log_density_parts(people.x[who])
            total = before.sum(1)
            room = search.bound[1] + _LOOSE * (1 + 2 * np.abs(total))
            need = np.where(np.isfinite(total), -room, -np.inf)
            before[~np.isfinite(total)] = np.nan
        parts: list[tuple[int, np.ndarray, np.ndarray]] = []  # depth, stride, table
        self.values = []
        for factor in search.factors:
            value, gain = self._worked_out(factor, who, before)
            if factor.values:
                self.values.append(value)
            shape = (len(who), *search.radix[list(factor.scope)])
            gain = gain.reshape(shape)
            for upto in range(
                1, len(factor.scope) + 1
            ):  # the most that is possible after each of its features
                top = gain.max(axis=tuple(range(upto + 1, len(shape)))) if upto + 1 < len(shape) else gain
                if upto > 1:
                    lead = gain.max(axis=tuple(range(upto, len(shape))))[..., None]
                    top = np.where(np.isfinite(lead), top - np.where(np.isfinite(lead), lead, 0.0), 0.0)
                stride = np.zeros(search.r, dtype=np.int64)
                stride[list(factor.scope[:upto])] = _place_values(search.radix[list(factor.scope[:upto])])
                parts.append((factor.scope[upto - 1], stride, top.reshape(len(who), -1)))
        parts.sort(key=lambda part: part[0])
        sizes = [table.shape[1] for _, _, table in parts]
        self.table = np.ascontiguousarray(np.concatenate([table for _, _, table in parts], axis=1))
        self.offset = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
        self.stride = np.array([stride for _, stride, _ in parts])
        self.depth_of = np.array([depth for depth, _, _ in parts], dtype=np.int64)
        self.best = np.zeros((len(who), search.r + 1))
        for depth, _, table in parts:
            self.best[:, : depth + 1] += table.max(1)[:, None]
        self.need = np.full(len(who), -1e300) if need is None else np.maximum(need, -1e300)
        self.row[:] = -1
        self.row[at] = np.arange(len(at))

    def _worked_out(
        self, factor: _Factor, who: np.ndarray, before: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute values (n, cells, effects) and gain (n, cells) of one factor."""
        search, people = self.search, self.search.people
        shape = tuple(search.radix[list(factor.scope)].tolist())
        option = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)  # (t, s)
        cells, d = len(option), people.d
        value, gain = np.empty((len(who), cells, len(factor.values))), np.zeros((len(who), cells))
        others = np.ones(d, dtype=bool)
        others[factor.values] = False
        step = max(1, _BLOCK // cells)
        for begin in range(0, len(who), step):
            part = slice(begin, begin + step)
            some = who[part]
            action = np.full((len(some), cells, d), np.nan)
            for place, position in enumerate(factor.scope):
                j = search.features[position]
                action[:, :, j] = search.options.value[some, j][:, option[:, place]]
            owner = np.repeat(some, cells)
            acts = action.reshape(-1, d)
            after = people.after(owner, acts)
            if factor.parts:
                assert before is not None and search.bound is not None
                parts_after = search.bound[0].log_density_parts(after).reshape(len(some), cells, d)
                change = (parts_after - before[part, None])[:, :, factor.parts].sum(2)
                gain[part] = np.where(
                    np.isnan(change), np.where(np.isnan(before[part, :1]), 0.0, -np.inf), change
                )
            if factor.values:
                value[part] = after[:, factor.values].reshape(len(some), cells, -1)
                after[:, others] = people.x[owner][:, others]
                acts[:, others] = np.nan
                judged = people.problem.judge_rows(people, owner, acts, after)
                ok = (judged["legal"] & judged["wishes"]).reshape(len(some), cells)
                gain[part] = np.where(ok, gain[part], -np.inf)
        return value, gain

    def after(self, at: np.ndarray, option: np.ndarray) -> np.ndarray:
        """Look up in the tables where options (m, r) of people (m,) lead, (m, d)."""
        search = self.search
        after = search.people.x[self.who[at]]
        row = self.row[at]
        held = [factor for factor in search.factors if factor.values]
        for factor, value in zip(held, self.values, strict=True):
            cell = np.zeros(len(at), dtype=np.int64)
            for position in factor.scope:
                cell = cell * search.radix[position] + option[:, position]
            after[:, factor.values] = value[row, cell]
        return np.asarray(after)

    # -- combinations -------------------------------------------------------------------------------------

    def options_of(self, index: np.ndarray) -> np.ndarray:
        """Return the options (m, r) of each combination (m,)."""
        radix = self.search.radix
        out = np.empty((len(index), len(radix)), dtype=np.int64)
        for p in range(len(radix) - 1, -1, -1):
            index, out[:, p] = np.divmod(index, radix[p])
        return out

    def bits_of(self, at: np.ndarray, option: np.ndarray) -> np.ndarray:
        """Return the set of features that each combination (m, r) moves, as bits (m,)."""
        bits = np.zeros(len(at), dtype=np.int64)
        for p in range(self.search.r):
            bits |= self.moves[at, p, option[:, p]].astype(np.int64) << p
        return bits

    def next(self, at: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return cost, index (m, length) of the next combinations in order of (cost, index); found (m,) how many."""
        m, skip = len(at), self.taken[at]
        cost, index = np.full((m, length), np.inf), np.zeros((m, length), dtype=np.int64)
        found = np.zeros(m, dtype=np.int64)
        if not self.search.people.problem.cost.separable:
            self._listed(at, skip, cost, index, found, self._priced)
        elif kernels.jit() is None:
            self._listed(at, skip, cost, index, found, None)
        else:
            from wayforward.methods.engines.exact._grid_jit import cheapest as compiled

            compiled(
                self.cost[at], self.count[at], self.moves[at], self.most_acts[at], self.most_moves[at],
                self.search.radix, self.cursor_cost[at], self.cursor_index[at], self.ceiling[at], skip,
                self.row[at], self.table, self.offset, self.stride, self.depth_of, self.best, self.need,
                cost, index, found,
            )  # fmt: skip
        return cost, index, found

    def move(self, at: np.ndarray, cost: np.ndarray, found: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Move the cursor behind what was listed; return (m,) bool: there may be more.

        The next list ends at a cost at which it should be `_GROWTH` times as long, judged by how the costs of this one
        grow: a search that knows its end need not sort what it will not use.
        """
        length = cost.shape[1]
        full = found == length
        last = np.where(found > 0, cost[np.arange(len(at)), np.maximum(found - 1, 0)], np.inf)
        below = self.ceiling[at]
        more = full | np.isfinite(below)
        self.cursor_cost[at] = np.where(full, last, below)
        self.cursor_index[at] = np.where(full, index[:, -1], np.iinfo(np.int64).max)
        early = cost[np.arange(len(at)), np.maximum(found // 4, 0)]
        with np.errstate(divide="ignore", invalid="ignore"):
            pace = np.log(_GROWTH) / np.log(4.0)
            ratio = np.where((found >= 8) & (early > 0), (last / early) ** pace, _STRIDE)
        reach = np.where(full, last, below) * np.clip(ratio, 1.05, _STRIDE)
        self.ceiling[at] = np.where(reach >= self.dearest[at], np.inf, reach)
        return np.asarray(more)

    # -- without numba, and for costs that are no sums ------------------------------------------------------

    def _priced(self, person: np.ndarray, digits: np.ndarray) -> np.ndarray:
        """Return the cost (m,) of each combination (m, r) by itself."""
        who = self.who[person]
        return self.search.people.cost(who, self.search.action(who, digits))

    def _listed(self, at: Any, skip: Any, cost: Any, index: Any, found: Any, price: Price | None) -> None:
        """List as the compiled search does: all combinations of a few people at once, set after set."""
        length, places = cost.shape[1], _place_values(self.search.radix)
        pool: list[list[np.ndarray]] = [[np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)]]
        for acted, block, digits in self._blocks(at):
            local = np.arange(block.start, block.stop)
            person = at[local]
            shape = (len(local), *(len(column) for column in digits))
            legal = np.broadcast_to(
                (self.most_acts[person] >= len(acted)).reshape(-1, *[1] * len(acted)), shape
            )
            total = np.zeros((len(local), *[1] * len(acted)))
            moved = np.zeros(total.shape, dtype=np.int64)
            bits = np.zeros(total.shape, dtype=np.int64)
            place = np.zeros([1] * (len(acted) + 1), dtype=np.int64)
            where: dict[int, np.ndarray] = {}
            for axis, (p, column) in enumerate(zip(acted, digits, strict=True)):
                side = [len(local), *[1] * len(acted)]
                side[axis + 1] = len(column)
                total = total + self.cost[person, p][:, column].reshape(side)
                act = self.moves[person, p][:, column].reshape(side)
                moved, bits = moved + act, bits | (act.astype(np.int64) << p)
                where[p] = column.reshape([1] * (axis + 1) + [-1] + [1] * (len(acted) - axis - 1))
                place = place + where[p] * places[p]
            legal = (
                legal
                & np.isfinite(total)
                & (bits > 0)
                & (moved <= _along_people(self.most_moves[person], total))
            )
            if len(self.offset) and (self.row[person] >= 0).all():
                shift = np.zeros((len(local), *[1] * len(acted)))
                rows = self.row[person].reshape(-1, *[1] * len(acted))
                for f in range(len(self.offset)):
                    cell = self.offset[f] + sum(self.stride[f, p] * where[p] for p in acted)
                    shift = shift + self.table[rows, cell]
                legal = legal & (shift >= _along_people(self.need[self.row[person]], total))
            for q in range(skip.shape[1]):
                legal = legal & (bits != _along_people(skip[local, q], total))
            legal, place = np.broadcast_to(legal, shape), np.broadcast_to(place, shape)
            picked = np.nonzero(legal)
            if not len(picked[0]):
                continue
            owner, number = local[picked[0]], place[picked]
            if price is None:
                dear = np.broadcast_to(total, shape)[picked]
            else:
                dear = price(at[owner], self.options_of(number))
            c0, i0 = self.cursor_cost[at[owner]], self.cursor_index[at[owner]]
            new = ((dear > c0) | ((dear == c0) & (number > i0))) & (dear <= self.ceiling[at[owner]])
            pool.append([owner[new], dear[new], number[new]])
            if sum(len(part[0]) for part in pool) > _CELLS:
                pool = [_shortest(pool, length)]
        owner, dear, number = _shortest(pool, length)
        rank = rank_in_run(owner)
        cost[owner, rank], index[owner, rank] = dear, number
        found += np.bincount(owner, minlength=len(found))

    def _blocks(self, at: Any) -> Iterator[tuple[tuple[int, ...], slice, list[np.ndarray]]]:
        """Yield every set of features with every option, in pieces: positions, people, options of each position."""
        top = int(self.most_acts[at].max(initial=1))
        for size in range(1, top + 1):
            for acted in itertools.combinations(range(self.search.r), size):
                ends = [int(self.count[at, p].max()) for p in acted]
                digits = [np.arange(1, end) for end in ends]
                tail = math.prod(len(column) for column in digits[1:])
                for start in range(1, ends[0], max(1, _CELLS // max(tail, 1))):
                    first = np.arange(start, min(start + max(1, _CELLS // max(tail, 1)), ends[0]))
                    step = max(1, _CELLS // max(len(first) * tail, 1))
                    for begin in range(0, len(at), step):
                        yield acted, slice(begin, min(begin + step, len(at))), [first, *digits[1:]]


def _place_values(radix: np.ndarray) -> np.ndarray:
    """Return what one more of each digit adds to the number, (r,)."""
    return np.asarray(np.append(np.cumprod(radix[:0:-1])[::-1], 1), dtype=np.int64)


def _along_people(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Lay values (n,) along the first axis of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _shortest(pool: list[list[np.ndarray]], length: int) -> list[np.ndarray]:
    """Return owner, cost and index of each owner's `length` cheapest, in order of (owner, cost, index)."""
    owner, dear, number = (np.concatenate([part[c] for part in pool]) for c in range(3))
    order = np.lexsort((number, dear, owner))
    order = order[rank_in_run(owner[order]) < length]
    return [owner[order], dear[order], number[order]]


# -- finer -------------------------------------------------------------------------------------------------


def refined(
    people: Population,
    options: GridOptions,
    start: Cheapest,
    rounds: int,
    *,
    plausible: bool = True,
    free: np.ndarray | None = None,
    most: int | None = None,
    rows: int | None = None,
) -> Cheapest:
    """Move answers on ever finer grids around them; never dearer, and never less than checked.

    A round searches all sets of features again, with a few values on both sides of where each feature is; its grid is
    about a third as wide as the one before. It ends for a person who gains next to nothing. Options go on moving
    different sets of features.
    """
    n, k, _ = start.action.shape
    best = Cheapest(start.action.copy(), start.cost.copy(), start.complete.copy())
    whole = np.sort(options.value, axis=2)
    gap = np.diff(np.where(options.count[:, :, None] > 2, whole, np.nan), axis=2)
    wide = (
        np.nanmax(np.where(np.isnan(gap), 0.0, gap), axis=2) if gap.shape[2] else np.zeros((n, gap.shape[1]))
    )
    for slot in range(k):
        open_ = np.flatnonzero(np.isfinite(best.cost[:, slot]))
        width = wide.copy()
        for _ in range(rounds):
            if not open_.size:
                break
            some = people.take(open_)
            near = GridOptions.of(some, zoomed(some, best.action[open_, slot], width[open_], _ZOOM))
            others = np.delete(best.action[open_], slot, axis=1)
            moved = ~np.isnan(others) & people.schema.differs(others, some.x[:, None])
            found = cheapest(
                some, near, plausible=plausible, free=None if free is None else free[open_], most=most,
                rows=rows, other_than=moved,
            )  # fmt: skip
            people.rows[open_] += some.rows
            old, new = best.cost[open_, slot], found.cost[:, 0]
            better = new < old
            at = open_[better]
            best.action[at, slot], best.cost[at, slot] = found.action[better, 0], new[better]
            open_ = open_[better & (old - new > _ENOUGH * old)]
            width *= _SHRINK
    return best


# -- for other methods -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """The two ends of the trade between cost and plausibility; action (n, d), NaN where there is none, cost (n,)."""

    valid: np.ndarray
    valid_cost: np.ndarray
    plausible: np.ndarray
    plausible_cost: np.ndarray


def grid_candidates(
    problem: Problem,
    x: People,
    preferences: Preferences | None = None,
    *,
    masks: np.ndarray | None = None,
    bins: int = 25,
    grid: Grid = "range",
    most: int | None = None,
    rows: int | None = None,
) -> Pair:
    """Each person's cheapest feasible combination on the grid, without and with the problem's plausibility.

    x (n, d) people whom the model refuses. masks (n, d) bool: act on these features only (of those allowed). rows:
    model rows for each person and search. Nothing is returned for a person for whom the grid holds nothing.

    Example: ``pair = grid_candidates(setting.strict(), refused); pair.plausible_cost``.
    """
    people = problem.population(np.asarray(x, dtype=np.float64), preferences)
    options = GridOptions.of(people, grid_values(people, grid_ends(problem), bins, grid))
    loose = cheapest(people, options, plausible=False, free=masks, most=most, rows=rows)
    if problem.plausibility is None:
        return Pair(loose.action[:, 0], loose.cost[:, 0], loose.action[:, 0], loose.cost[:, 0])
    strict = cheapest(people, options, free=masks, most=most, rows=rows)
    return Pair(loose.action[:, 0], loose.cost[:, 0], strict.action[:, 0], strict.cost[:, 0])
