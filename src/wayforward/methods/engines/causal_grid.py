"""Grid search for the cheapest acts in any world: every set of features, a few values each, in order of cost.

A person with r features to act on and a grid of b values for each has (b + 1)^r combinations. They are never all
written down. A compiled search lists the next cheapest ones of each person (depth first, options of a feature in order
of cost, cut off by the dearest one that is still wanted); their consequences, the rules, the plausibility and at last
the model are asked about these few; whoever has an answer leaves, and for the others a longer list is made.

Where the problem asks for profiles at least as likely as before and the world tells densities feature by feature, the
density of all combinations is known from small tables before any of them is listed: what a feature adds to the
log-density depends on itself and its causes, so one table for each such group of features holds it, and a combination
whose tables cannot add up is cut off early. The density itself is still asked of whatever is listed.

The cost of a combination is the sum of the costs of its features. For other costs every combination is priced, in
blocks. People never meet: an answer does not depend on who else is asked about.

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
from wayforward.problem.plausibility import AtLeastAsLikely

if TYPE_CHECKING:
    from wayforward.people import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.shapes import People

Grid = Literal["range", "around"]
Price = Callable[[np.ndarray, np.ndarray], np.ndarray]  # people (m,), options (m, r) -> cost (m,)

_FIRST, _GROWTH, _LONGEST = (
    48,
    6,
    1 << 18,
)  # candidates listed for one person: at first, from turn to turn, at most
_CELLS = 1 << 22  # array cells held at once
_BLOCK = 1 << 16  # candidate rows asked about at once
_TABLE = 1 << 15  # cells of one person's density tables; a larger one would cost more than it saves
_COMBINATIONS = 400_000_000  # combinations of one person that are searched; beyond, fewer acts at once
_LOOSE = 1e-9  # how much a table may fall short: the density itself decides
_ZOOM = 9  # values of a feature in one round of refinement
_SHRINK = 0.35  # width of a round's grid as a share of the round before: a little more than one step of it
_ENOUGH = 1e-3  # relative gain below which a refinement ends


# -- the grid ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What each person may set each feature to: value, cost (n, d, O), count (n, d).

    Option 0 leaves the feature alone (NaN, cost 0); the others follow in order of cost and are distinct. Beyond
    `count` there is nothing: value NaN, cost infinite. moves (n, d, O): the value differs from the one before.
    """

    value: np.ndarray
    cost: np.ndarray
    count: np.ndarray
    moves: np.ndarray

    @classmethod
    def of(cls, people: Population, value: np.ndarray) -> Options:
        """From values (n, d, b), NaN for none: moved to what each person may do, sorted by cost, each one once."""
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
    """(d,) and (d,): least and greatest value of the people in the reference whom the model refuses.

    Everybody's, where nobody is refused; the bounds of the schema without a reference. NaN: not known.
    """
    if problem.reference is None:
        return problem.observed_range
    rows = problem.reference[~problem.reference_reached]
    rows = rows if len(rows) else problem.reference
    gone = np.isnan(rows).all(0)
    filled = np.where(gone, 0.0, rows)
    low, high = np.nanmin(filled, axis=0), np.nanmax(filled, axis=0)
    return np.where(gone, np.nan, low), np.where(gone, np.nan, high)


def grid_values(people: Population, ends: tuple[np.ndarray, np.ndarray], bins: int, grid: Grid) -> np.ndarray:
    """(n, d, b) values before they are moved to what each person may do; features with levels: all of them."""
    schema, x = people.schema, people.x
    low, high = (np.broadcast_to(end, x.shape) for end in ends)
    if grid == "around":
        stand = np.where(np.isnan(x), (low + high) / 2, x)
        low, high = stand - 2 * (stand - low), stand + 2 * (high - stand)
    share = np.linspace(0.0, 1.0, bins)
    levels = int(schema.n_levels[schema.has_levels].max(initial=0))
    value = np.full((*x.shape, max(bins, levels)), np.nan)
    with np.errstate(invalid="ignore"):
        value[:, :, :bins] = low[:, :, None] + share * (high - low)[:, :, None]
    value[:, :, bins - 1] = high
    for j in np.flatnonzero(schema.has_levels):
        value[:, j] = np.nan
        value[:, j, : schema.n_levels[j]] = np.arange(schema.n_levels[j])
    unknown = np.isnan(value).all(2) & people.free
    if unknown.any():
        name = schema.names[int(np.flatnonzero(unknown.any(0))[0])]
        raise MethodError(
            f"'{name}' has no bounds in the schema and no value in the data, so it has no grid. Give low and high "
            "to the feature, or Problem(..., data=train)."
        )
    return value


def zoomed(people: Population, action: np.ndarray, width: np.ndarray, bins: int) -> np.ndarray:
    """(n, d, b) values within `width` (n, d) of what `action` (n, d) sets, or of where the person stands.

    The value in the middle is the one that it is now, so a search in this grid never loses what it started from.
    """
    centre = np.where(np.isnan(action), people.x, action)
    share = np.linspace(-1.0, 1.0, bins + 1 - bins % 2)
    value = centre[:, :, None] + share * width[:, :, None]
    levels = int(people.schema.n_levels[people.schema.has_levels].max(initial=0))
    out = np.full((*people.x.shape, max(value.shape[2], levels)), np.nan)
    out[:, :, : value.shape[2]] = value
    for j in np.flatnonzero(people.schema.has_levels):
        out[:, j] = np.nan
        out[:, j, : people.schema.n_levels[j]] = np.arange(people.schema.n_levels[j])
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
    options: Options,
    k: int = 1,
    *,
    plausible: bool = True,
    free: np.ndarray | None = None,
    most: int | None = None,
    rows: int | None = None,
) -> Cheapest:
    """Each person's k cheapest feasible combinations, every one moving another set of features.

    plausible: the problem's plausibility must hold, where it has one. free (n, d) bool: act on these features only,
    out of those that the person may act on. most: features acted on at once. rows: model rows for each person.
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
            search.run(who[begin : begin + step], got)
    return got


class _Search:
    """People who may act on the same features, in the order in which the search sets them."""

    def __init__(
        self,
        people: Population,
        options: Options,
        features: np.ndarray,
        k: int,
        plausible: bool,
        most: int | None,
        limit: np.ndarray,
    ) -> None:
        self.people, self.options, self.k, self.limit = people, options, k, limit
        problem = people.problem
        self.moved = problem.descendants | np.eye(people.d, dtype=bool)  # (cause, effect), itself included
        # causes first: what they do to the density is then known early
        self.features = features[np.argsort(self.moved[np.ix_(features, features)].sum(0), kind="stable")]
        self.r = len(features)
        self.most = self.r if most is None else min(most, self.r)
        self.strict = plausible and problem.plausibility is not None
        self.dense = problem.plausibility if isinstance(problem.plausibility, AtLeastAsLikely) else None
        self.width = int(options.count[:, features].max()) if people.n else 1
        self.factors = self._factors() if self.strict and self.dense is not None else []
        self.cells = 2 * self.r * self.width + sum(self.width ** len(scope) for scope, _ in self.factors)
        if self.width**self.r > 2**62:
            raise MethodError(
                f"A grid of {self.width - 1} values for each of {self.r} features is beyond counting. Use fewer bins, "
                "or freeze features."
            )

    # -- density tables ---------------------------------------------------------------------------------

    def _factors(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Groups of positions in `features`, each with the features whose density they settle; empty: no tables."""
        density = self.dense.world  # type: ignore[union-attr]
        people = self.people
        try:
            density.log_density_parts(people.x[:1])
        except (AttributeError, WorldError):
            return []
        told = np.asarray(density.descendants) | np.eye(people.d, dtype=bool)
        keeps = people.problem.world.keeps_density(density).copy()
        if people.schema.rules:  # what a rule drags along no longer has its own noise
            keeps[[link.target_index for link in people.schema.compiled_rules.links]] = False
        reach = (
            self.moved.astype(int) @ told.astype(int)
        ) > 0  # acting on the row can change the column's part
        scopes: dict[tuple[int, ...], list[int]] = {}
        for j in range(people.d):
            if keeps[j] and j not in self.features:
                continue
            scope = tuple(p for p, f in enumerate(self.features) if reach[f, j])
            if scope:
                scopes.setdefault(scope, []).append(j)
        widest = [s for s in scopes if not any(set(s) < set(other) for other in scopes)]
        if sum(self.width ** len(scope) for scope in widest) > _TABLE:
            return []
        out = {scope: list[int]() for scope in widest}
        for scope, parts in scopes.items():
            out[next(s for s in widest if set(scope) <= set(s))] += parts
        return sorted(out.items(), key=lambda item: (item[0][-1], item[0]))

    def _tables(self, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, T) what each combination of a factor's options adds to the log-density, and the least sum (n,)."""
        people, world = self.people, self.dense.world  # type: ignore[union-attr]
        before = world.log_density_parts(people.x[who])
        stood = before.sum(1)
        known = np.isfinite(stood)
        parts = []
        for scope, effects in self.factors:
            shape = (self.width,) * len(scope)
            option = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)  # (t, s)
            out = np.empty((len(who), len(option)))
            step = max(1, _BLOCK // len(option))
            for begin in range(0, len(who), step):
                some = who[begin : begin + step]
                action = np.full((len(some), len(option), people.d), np.nan)
                for at, position in enumerate(scope):
                    j = self.features[position]
                    action[:, :, j] = self.options.value[some, j][:, option[:, at]]
                owner = np.repeat(some, len(option))
                after = people.after(owner, action.reshape(-1, people.d))
                told = world.log_density_parts(after).reshape(len(some), len(option), people.d)
                gain = told[:, :, effects] - before[begin : begin + step, None, effects]
                out[begin : begin + step] = gain.sum(2)
            parts.append(out)
        table = np.concatenate(parts, axis=1)
        table = np.where(known[:, None], np.where(np.isnan(table), -np.inf, table), 0.0)
        room = self.dense.slack + _LOOSE * (1 + 2 * np.abs(stood))  # type: ignore[union-attr]
        return table, np.where(known, -room, -np.inf)

    # -- turns ------------------------------------------------------------------------------------------

    def run(self, who: np.ndarray, got: Cheapest) -> None:
        """Search for these people (m,) and write down what is found."""
        people, n = self.people, len(who)
        space = _Space.of(self, who)
        taken = np.zeros((n, self.k), dtype=np.int64)  # sets of features that have an option already
        many = np.zeros(n, dtype=np.int64)
        open_ = np.arange(n)
        length = _FIRST
        while open_.size:
            room = self.limit[who[open_]] - people.rows[who[open_]]
            ended = room <= 0
            got.complete[who[open_[ended]]] = False
            open_, room = open_[~ended], room[~ended]
            if not open_.size:
                break
            go = np.ones(len(open_), dtype=bool)
            step = max(1, _CELLS // length)
            for begin in range(0, len(open_), step):
                part = slice(begin, begin + step)
                go[part] = self._turn(space, who, open_[part], length, room[part], taken, many, got)
            open_ = open_[go]
            length = min(length * _GROWTH, _LONGEST)

    def _turn(
        self,
        space: _Space,
        who: np.ndarray,
        at: np.ndarray,
        length: int,
        room: np.ndarray,
        taken: np.ndarray,
        many: np.ndarray,
        got: Cheapest,
    ) -> np.ndarray:
        """List and ask for the people at `at` (m,); (m,) bool: still to be searched."""
        cost, index, found = space.next(at, length, taken)
        wanted = np.minimum(found, room)
        keep = np.arange(cost.shape[1]) < wanted[:, None]
        local, rank = np.nonzero(keep)
        option = space.options_of(index[local, rank])
        action = self.action(who[at[local]], option)
        good = self._ask(who[at[local]], action)
        moved = np.take_along_axis(space.moves[at[local]], option[:, :, None], 2)[:, :, 0]
        bits = (moved.astype(np.int64) << np.arange(self.r)).sum(1)
        hit = np.flatnonzero(good)
        _, first = np.unique(np.stack([local[hit], bits[hit]], axis=1), axis=0, return_index=True)
        hit = hit[np.sort(first)]  # each person's cheapest of each set, cheapest first
        if hit.size:
            from wayforward.runs import rank_in_run

            slot = many[at[local[hit]]] + rank_in_run(local[hit])
            fits = slot < self.k
            hit, slot = hit[fits], slot[fits]
            owner = at[local[hit]]
            got.action[who[owner], slot], got.cost[who[owner], slot] = (
                action[hit],
                cost[local[hit], rank[hit]],
            )
            taken[owner, slot] = bits[hit]
            many += np.bincount(owner, minlength=len(many))
        full = many[at] >= self.k
        more = found == length
        got.complete[who[at[~full & (wanted < found)]]] = False
        space.move(at, cost, index, found)
        return np.asarray(~full & more & (wanted == found))

    def action(self, who: np.ndarray, option: np.ndarray) -> np.ndarray:
        """(m,) people, (m, r) options -> (m, d)."""
        action = np.full((len(who), self.people.d), np.nan)
        for p, j in enumerate(self.features):
            action[:, j] = self.options.value[who, j, option[:, p]]
        return action

    def _ask(self, who: np.ndarray, action: np.ndarray) -> np.ndarray:
        """(m,) bool: allowed, a yes of the model and, where it is asked for, plausible."""
        people = self.people
        good = np.zeros(len(who), dtype=bool)
        for begin in range(0, len(who), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            some, acts = who[part], action[part]
            after = people.after(some, acts)
            ok = people.allowed(some, acts, after)
            early = self.strict and self.dense is not None
            if early and ok.any():
                ok[ok] = people.plausible(some[ok], after[ok])
            if ok.any():
                ok[ok] = people.reached(some[ok], after[ok])
            if self.strict and not early and ok.any():
                ok[ok] = people.plausible(some[ok], after[ok])
            good[part] = ok
        return good


@dataclass
class _Space:
    """All combinations of some people, listed piece by piece. n people, r features, O options.

    A combination is one number: its options are the digits in base O, the first feature leading.
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
    table: np.ndarray  # (n, T)
    need: np.ndarray  # (n,)
    offset: np.ndarray  # (F,)
    stride: np.ndarray  # (F, r)
    depth_of: np.ndarray  # (F,)
    best: np.ndarray  # (n, r + 1)

    @classmethod
    def of(cls, search: _Search, who: np.ndarray) -> _Space:
        """The space of these people."""
        n, r, width, options = len(who), search.r, search.width, search.options
        pick = np.ix_(who, search.features)
        table, need = np.zeros((n, 0)), np.full(n, -np.inf)
        offset = np.zeros(len(search.factors), dtype=np.int64)
        stride = np.zeros((len(search.factors), r), dtype=np.int64)
        best = np.zeros((n, r + 1))
        if search.factors:
            table, need = search._tables(who)
            at = 0
            for f, (scope, _) in enumerate(search.factors):
                offset[f] = at
                size = width ** len(scope)
                for place, position in enumerate(reversed(scope)):
                    stride[f, position] = width**place
                best[:, : scope[-1] + 1] += table[:, at : at + size].max(1)[:, None]
                at += size
        count = options.count[pick]
        most = np.full(n, search.most, dtype=np.int64)
        ways = np.zeros((n, r + 1))  # combinations with that many acts
        ways[:, 0] = 1.0
        for p in range(r):
            ways[:, 1:] += ways[:, :-1] * (count[:, p, None] - 1.0)
        most = np.minimum(most, np.maximum((ways.cumsum(1) <= _COMBINATIONS).sum(1) - 1, 1))
        return cls(
            search, who, np.ascontiguousarray(options.cost[pick][:, :, :width]), count,
            np.ascontiguousarray(options.moves[pick][:, :, :width]), most,
            search.people.max_changes[who].astype(np.int64), np.full(n, -1.0), np.full(n, -1, dtype=np.int64),
            table, need, offset, stride, np.array([scope[-1] for scope, _ in search.factors], dtype=np.int64), best,
        )  # fmt: skip

    def options_of(self, index: np.ndarray) -> np.ndarray:
        """(m,) -> (m, r): the options of each combination."""
        width, r = self.cost.shape[2], self.cost.shape[1]
        out = np.empty((len(index), r), dtype=np.int64)
        for p in range(r - 1, -1, -1):
            index, out[:, p] = np.divmod(index, width)
        return out

    def next(
        self, at: np.ndarray, length: int, skip: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """cost, index (m, length) of the next combinations in order of (cost, index); found (m,) how many."""
        from wayforward.model import kernels

        m = len(at)
        cost, index = np.full((m, length), np.inf), np.zeros((m, length), dtype=np.int64)
        found = np.zeros(m, dtype=np.int64)
        if not self.search.people.problem.cost.separable:
            self._priced(at, skip[at], cost, index, found)
        elif kernels.jit() is None:
            self._listed(at, skip[at], cost, index, found, self._summed)
        else:
            from wayforward.methods.engines._grid_jit import cheapest as compiled

            compiled(
                self.cost[at], self.count[at], self.moves[at], self.most_acts[at], self.most_moves[at],
                self.cursor_cost[at], self.cursor_index[at], skip[at], self.table[at], self.offset, self.stride,
                self.depth_of, self.best[at], self.need[at], cost, index, found,
            )  # fmt: skip
        return cost, index, found

    def move(self, at: np.ndarray, cost: np.ndarray, index: np.ndarray, found: np.ndarray) -> None:
        """What was listed will not be listed again."""
        some = found > 0
        last = found[some] - 1
        self.cursor_cost[at[some]] = cost[some, last]
        self.cursor_index[at[some]] = index[some, last]

    # -- without numba, and for costs that are no sums ------------------------------------------------------

    def _priced(self, at: Any, skip: Any, cost: Any, index: Any, found: Any) -> None:
        """As `_listed`, each combination priced by itself."""

        def price(local: np.ndarray, digits: np.ndarray) -> np.ndarray:
            who = self.who[at[local]]
            return self.search.people.cost(who, self.search.action(who, digits))

        self._listed(at, skip, cost, index, found, price)

    def _summed(self, local: np.ndarray, digits: np.ndarray) -> np.ndarray:
        raise AssertionError("replaced by a sum over whole blocks")

    def _listed(self, at: Any, skip: Any, cost: Any, index: Any, found: Any, price: Price) -> None:
        """The NumPy twin of the compiled search: all combinations of a few people at once, set after set."""
        length, width, r = cost.shape[1], self.cost.shape[2], self.cost.shape[1]
        summed = price == self._summed
        pool: list[list[np.ndarray]] = [[np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)]]
        for acted, block, digits in self._blocks(at, width, r):
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
                place = place + where[p] * width ** (r - 1 - p)
            legal = legal & np.isfinite(total) & (bits > 0) & (moved <= _side(self.most_moves[person], total))
            if len(self.offset):
                shift = np.zeros((len(local), *[1] * len(acted)))
                rows = np.arange(len(local)).reshape(-1, *[1] * len(acted))
                for f in range(len(self.offset)):
                    cell = self.offset[f] + sum(self.stride[f, p] * where[p] for p in acted)
                    shift = shift + self.table[person][rows, cell]
                legal = legal & (shift >= _side(self.need[person], total))
            for q in range(skip.shape[1]):
                legal = legal & (bits != _side(skip[local, q], total))
            legal, place = np.broadcast_to(legal, shape), np.broadcast_to(place, shape)
            picked = np.nonzero(legal)
            if not len(picked[0]):
                continue
            owner, number = local[picked[0]], place[picked]
            if summed:
                dear = np.broadcast_to(total, shape)[picked]
            else:
                dear = price(owner, self.options_of(number))
            c0, i0 = self.cursor_cost[at[owner]], self.cursor_index[at[owner]]
            new = (dear > c0) | ((dear == c0) & (number > i0))
            pool.append([owner[new], dear[new], number[new]])
            if sum(len(part[0]) for part in pool) > _CELLS:
                pool = [_shortest(pool, length)]
        owner, dear, number = _shortest(pool, length)
        from wayforward.runs import rank_in_run

        rank = rank_in_run(owner)
        cost[owner, rank], index[owner, rank] = dear, number
        found += np.bincount(owner, minlength=len(found))

    def _blocks(
        self, at: Any, width: int, r: int
    ) -> Iterator[tuple[tuple[int, ...], slice, list[np.ndarray]]]:
        """Every set of features with every option, cut into pieces: positions, people, options of each position."""
        top = int(self.most_acts[at].max(initial=1))
        for size in range(1, top + 1):
            for acted in itertools.combinations(range(r), size):
                ends = [int(self.count[at, p].max()) for p in acted]
                digits = [np.arange(1, end) for end in ends]
                tail = math.prod(len(column) for column in digits[1:])
                for start in range(1, ends[0], max(1, _CELLS // max(tail, 1))):
                    first = np.arange(start, min(start + max(1, _CELLS // max(tail, 1)), ends[0]))
                    step = max(1, _CELLS // max(len(first) * tail, 1))
                    for begin in range(0, len(at), step):
                        yield acted, slice(begin, min(begin + step, len(at))), [first, *digits[1:]]


def _side(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """(n,) along the first axis of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))


def _shortest(pool: list[list[np.ndarray]], length: int) -> list[np.ndarray]:
    """owner, cost, index of each owner's `length` cheapest, in order of (owner, cost, index)."""
    from wayforward.runs import rank_in_run

    owner, dear, number = (np.concatenate([part[c] for part in pool]) for c in range(3))
    order = np.lexsort((number, dear, owner))
    order = order[rank_in_run(owner[order]) < length]
    return [owner[order], dear[order], number[order]]


# -- finer -------------------------------------------------------------------------------------------------


def refined(
    people: Population,
    options: Options,
    start: Cheapest,
    rounds: int,
    *,
    plausible: bool = True,
    free: np.ndarray | None = None,
    most: int | None = None,
    rows: int | None = None,
) -> Cheapest:
    """The same answers, moved on ever finer grids around them; never dearer, and never less than checked.

    A round searches all sets of features again, with a few values on both sides of where each feature is; its grid
    is about a third as wide as the one before. It ends for a person who gains next to nothing. Options after the first
    keep to the features that they move, so that they stay different.
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
            near = Options.of(some, zoomed(some, best.action[open_, slot], width[open_], _ZOOM))
            may = np.ones(some.x.shape, dtype=bool) if free is None else free[open_].copy()
            if slot:
                may &= ~np.isnan(best.action[open_, slot])
            found = cheapest(some, near, 1, plausible=plausible, free=may, most=most, rows=rows)
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
    options = Options.of(people, grid_values(people, grid_ends(problem), bins, grid))
    loose = cheapest(people, options, plausible=False, free=masks, most=most, rows=rows)
    if problem.plausibility is None:
        return Pair(loose.action[:, 0], loose.cost[:, 0], loose.action[:, 0], loose.cost[:, 0])
    strict = cheapest(people, options, free=masks, most=most, rows=rows)
    return Pair(loose.action[:, 0], loose.cost[:, 0], strict.action[:, 0], strict.cost[:, 0])
