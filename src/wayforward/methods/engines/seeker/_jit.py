"""The seeker's kernels: one person's whole search, one person after another; see `seeker` for what is done.

Every kernel takes a forest and a net, one of which is None: what the other would need is never compiled. A person's
answer depends on the person alone: fixed orders, no fast-math, nothing left over from the person before. State is held
in a few arrays, because every array that a kernel is given costs time to call and to compile it:

per (rows, d): one number a feature, named by the constants below, and then a row for each rule that is a sum.
mark (rows, d): whole numbers. one: single numbers, and then what each such rule may come to at most.
ok: the levels that the person may choose. pool (m, d + 1): settled options and their costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from wayforward.methods.engines.seeker.records import (
    CellForest,
    Hints,
    LayeredNet,
    Room,
    Terrain,
    Wishes,
)
from wayforward.model._jit import kernel as entry

F = TypeVar("F", bound=Callable[..., Any])
_INF = np.inf
POOL_ROWS = 24  # settled options that are remembered for further slots
_ATTEMPTS = 8  # ways of going less far that are tried for one more option
_RULED = 1e-9  # how far beyond its bound a rule's sum may be
_LEAST = 1e-12  # what costs less by less than this is not cheaper
_PUSHES = 6  # features that are pushed in turn
_WAYS = 12  # of a push: two ends, by halves less far, and a step
_REACH = 1.15  # a walk may cost this much more than the incumbent before it is settled

# rows of `per`; the first come from `Terrain.feature`
KIND, ORIGIN, STEP, PER_UNIT, TINY, NEAR, SPAN, INVERSE, WHOLE, N_LEVELS, LEVEL_AT, USED, LEAST = range(13)
X, FIRST, LAST, WEIGHT, PLAIN = range(13, 18)  # the person; WEIGHT is what the search goes by
PART, CHEAP, CHEAP_AT, RATE, RATE_AT, TOP, TOP_AT = range(18, 25)  # what a profile found; see `_profile`
BEST, HERE, TRIAL, LEAD, LEAD_RATE, LEAD_TOP = range(25, 31)
OWN_FIRST, OWN_LAST = range(31, 33)  # FIRST and LAST of the person, where a search is to stay within less
UP_FROM, DOWN_FROM = range(33, 35)  # the nearest values on either side of X that are worth an effort
KEPT_FIRST, KEPT_LAST = range(35, 37)  # FIRST and LAST while a profile keeps within the rules
PER_ROWS = 37
# rows of `mark`
MAY, ONLY, ACTIVE, CELL, FROM_CELL, TO_CELL, LOW_CELL, HIGH_CELL, STAMP, LEVELED, OWN_MAY, BACK = range(12)
MARK_ROWS = 12
# entries of `one`; the first come from `Terrain.number`
FIXED, SLOPE, SQUARE, LOWEST, HIGHEST, GAP, BASE, UNIT = range(8)
FIRST_GRID, GRID, LEADS, ROUNDS, STEPS = range(8, 13)
MOST, LIMIT, SPENT, POOLED, COST = range(13, 18)
ONE_SIZE = 18
# columns of a forest's nodes
FEATURE, RANK, LEFT, GONE = range(4)


_numba: Any = numba  # its types know less than it does
_INNER = {"nogil": True, "fastmath": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_BARE = {
    **_INNER,
    "_nrt": False,
}  # nothing is counted: every count of an array's references takes as long as a sum


def small(function: F) -> F:
    """Compile into whatever calls it: what is given to it costs more than what it does."""
    return cast(F, _numba.njit(forceinline=True, **_INNER)(function))


def kernel(function: F) -> F:
    """Compile for kernels alone: without the wrappers for Python, which cost as much as the kernel."""
    return cast(F, _numba.njit(_nrt=True, **_INNER)(function))


def quick(function: F) -> F:
    """The same for what is called most often: it makes no array and counts no references."""
    return cast(F, _numba.njit(**_BARE)(function))


def _as_pointer(context: Any, address: Any) -> Any:
    """Take a whole number for an address."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


_pointer: Any = intrinsic(_as_pointer)


@kernel
def bare(array: Any) -> Any:
    """The same numbers without a count of references: counting costs more than most kernels do. Whoever calls `seek`
    holds the arrays while it runs."""
    return _numba.carray(_pointer(array.ctypes.data), array.shape, array.dtype)


@quick
def write(to: Any, values: Any) -> None:
    """Write values (d,) to a row. A slice would bring the text of an error for other shapes, which takes longer to
    compile than the kernel."""
    for f in range(values.shape[0]):
        to[f] = values[f]


@small
def price_of(f: Any, v: Any, x: Any, weight: Any, per: Any, one: Any) -> Any:
    """Cost of setting feature f to v."""
    if np.isnan(v):
        return 0.0
    if np.isnan(x):
        size = per[WHOLE, f]
    else:
        gap = abs(v - x)
        if gap <= per[TINY, f]:
            return 0.0
        size = (1.0 if per[KIND, f] == 2 else gap) * per[INVERSE, f]
    return weight * (one[FIXED] + (one[SLOPE] + one[SQUARE] * size) * size)


@small
def far_of(f: Any, room: Any, weight: Any, per: Any, one: Any) -> Any:
    """How far a cost of `room` takes feature f; below 0: nowhere."""
    left = room / weight - one[FIXED]
    if left < 0.0:
        return -1.0
    if one[SQUARE] > 0.0:
        size = (np.sqrt(one[SLOPE] * one[SLOPE] + 4.0 * one[SQUARE] * left) - one[SLOPE]) / (
            2.0 * one[SQUARE]
        )
    elif one[SLOPE] > 0.0:
        size = left / one[SLOPE]
    else:
        return _INF
    return size / per[INVERSE, f]


@small
def _snap(f: Any, v: Any, per: Any) -> Any:
    """Nearest point of the feature's lattice, by the arithmetic of `Schema.round`."""
    step = per[STEP, f]
    if np.isnan(step):
        return v
    count = np.rint((v - per[ORIGIN, f]) / step)
    if per[PER_UNIT, f] > 0.0:
        return per[ORIGIN, f] + count / per[PER_UNIT, f]
    return per[ORIGIN, f] + count * step


@kernel
def lattice_inside(f: Any, edge: Any, side: Any, per: Any) -> Any:
    """The point of the lattice at or inside an edge: above it (side 1) or below it (side -1)."""
    step = per[STEP, f]
    if np.isnan(step) or not np.isfinite(edge):
        return edge
    v = _snap(f, edge, per)
    if side * (edge - v) > per[TINY, f]:
        v = _snap(f, v + side * step, per)
    return v


@small
def _score(margin: Any, one: Any) -> Any:
    return min(margin - one[LOWEST], one[HIGHEST] - margin)


@small
def _changed(f: Any, v: Any, per: Any) -> Any:
    x = per[X, f]
    if np.isnan(x):
        return not np.isnan(v)
    return not abs(v - x) <= per[TINY, f]


@small
def _too_little(f: Any, v: Any, per: Any) -> Any:
    """True for a move by less than what is worth an effort."""
    return v > per[DOWN_FROM, f] and v < per[UP_FROM, f] and abs(v - per[X, f]) > per[TINY, f]


@small
def _consider(f: Any, v: Any, score: Any, total: Any, start: Any, paid: Any, per: Any) -> None:
    """Note a move of feature f to v: it leads from (start, paid) to (score, total)."""
    if score >= 0.0:
        if total < per[CHEAP, f]:
            per[CHEAP, f] = total
            per[CHEAP_AT, f] = v
        return
    if score > per[TOP, f]:
        per[TOP, f] = score
        per[TOP_AT, f] = v
    gain = score - start
    if gain > 0.0:
        rate = gain / max(total - paid, 1e-12)
        if rate > per[RATE, f]:
            per[RATE, f] = rate
            per[RATE_AT, f] = v


# -- forests -----------------------------------------------------------------------------------------------


@small
def _cell_of(f: Any, v: Any, forest: CellForest) -> Any:
    low = forest.places[0, f]
    count = forest.places[0, f + 1] - low
    while count > 0:
        half = count >> 1
        if forest.cut[low + half] < v:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return low - forest.places[0, f]


@quick
def _cells(y: Any, forest: Any, per: Any, cell: Any) -> None:
    """The cells of a row: -1 for a missing number."""
    for f in range(y.shape[0]):
        if per[KIND, f] > 0:
            cell[f] = int(per[N_LEVELS, f] if np.isnan(y[f]) else y[f])
        else:
            cell[f] = -1 if np.isnan(y[f]) else _cell_of(f, y[f], forest)


@quick
def _forest_row(forest: Any, per: Any, one: Any, mark: Any, y: Any) -> Any:
    """Margin of one row."""
    cell, leveled = mark[CELL], mark[LEVELED]
    _cells(y, forest, per, cell)
    nodes, value, sides, roots = forest.nodes, forest.value, forest.sides, forest.roots
    trees, total = roots.shape[0], np.int64(0)
    if forest.few[0] >= 0:
        nodes, value, roots = forest.few_nodes, forest.few_value, forest.few_roots
        trees, total = forest.few[0], forest.few[1]
    for t in range(trees):
        node: Any = np.int64(roots[t])
        f = int(nodes[node, FEATURE])
        while f >= 0:
            rank = nodes[node, RANK]
            if leveled[f]:
                left = (sides[rank] >> np.uint64(cell[f])) & np.uint64(1) != np.uint64(0)
            else:
                left = cell[f] <= rank if cell[f] >= 0 else nodes[node, GONE] > 0
            node = int(nodes[node, LEFT]) + (0 if left else 1)
            f = int(nodes[node, FEATURE])
        total += value[node]
    one[SPENT] += 1
    return one[BASE] + one[UNIT] * total


@quick
def _window(f: Any, room: Any, forest: Any, per: Any, one: Any, mark: Any, ok: Any) -> None:
    """Write the cells, or levels, that a cost of `room` can bring feature f to, and the one it has; a missing number
    has no cell: an empty window where no value is to be had."""
    x = per[X, f]
    if per[KIND, f] > 0:
        levels = np.uint64(0)
        at = int(per[LEVEL_AT, f])
        for v in range(int(per[N_LEVELS, f])):
            if (ok[at + v] or v == x) and price_of(f, float(v), x, per[WEIGHT, f], per, one) < room:
                levels |= np.uint64(1) << np.uint64(v)
        mark[FROM_CELL, f] = np.int64(levels)
        return
    if np.isnan(x):
        mark[FROM_CELL, f] = 0
        mark[TO_CELL, f] = -1
        a = per[FIRST, f]
        if price_of(f, a, x, per[WEIGHT, f], per, one) < room and a <= per[LAST, f]:
            mark[FROM_CELL, f] = _cell_of(f, a, forest)
            mark[TO_CELL, f] = _cell_of(f, per[LAST, f], forest)
        return
    far = far_of(f, room, per[WEIGHT, f], per, one) * (1.0 + 1e-9) + per[TINY, f]
    a, b = max(x - far, per[FIRST, f]), min(x + far, per[LAST, f])
    here = _cell_of(f, x, forest)
    mark[FROM_CELL, f] = here
    mark[TO_CELL, f] = here
    if a <= b:
        mark[FROM_CELL, f] = min(here, _cell_of(f, a, forest))
        mark[TO_CELL, f] = max(here, _cell_of(f, b, forest))


@quick
def _cut(bound: Any, forest: Any, per: Any, one: Any, mark: Any, ok: Any) -> None:
    """Write what of the forest can be reached for a cost below `bound`; single leaves become one sum."""
    forest.few[0] = -1
    _cells(per[X], forest, per, mark[CELL])
    cell, leveled = mark[CELL], mark[LEVELED]
    for f in range(cell.shape[0]):
        if mark[MAY, f]:
            _window(f, bound, forest, per, one, mark, ok)
        if not mark[MAY, f]:
            mark[TO_CELL, f] = cell[f]
            mark[FROM_CELL, f] = 0 if leveled[f] else cell[f]
        if leveled[f]:
            mark[FROM_CELL, f] |= np.int64(np.uint64(1) << np.uint64(cell[f]))
    low, high = mark[FROM_CELL], mark[TO_CELL]
    nodes, value, sides, roots = forest.nodes, forest.value, forest.sides, forest.roots
    few_nodes, few_value, stack = forest.few_nodes, forest.few_value, forest.stack
    none = np.uint64(0)
    trees = 0
    size = 0
    total = np.int64(0)
    for t in range(roots.shape[0]):
        stack[0, 0] = roots[t]
        stack[0, 1] = -1
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth, 0]
            place = stack[depth, 1]
            f = int(nodes[node, FEATURE])
            while f >= 0:
                rank = nodes[node, RANK]
                if leveled[f]:
                    levels = np.uint64(low[f])
                    left, right = levels & sides[rank] != none, levels & ~sides[rank] != none
                elif cell[f] < 0:
                    left, right = nodes[node, GONE] > 0, nodes[node, GONE] == 0
                    if low[f] <= high[f]:
                        left, right = True, True
                else:
                    left, right = low[f] <= rank, high[f] > rank
                if left and right:
                    break
                node = int(nodes[node, LEFT]) + (0 if left else 1)
                f = int(nodes[node, FEATURE])
            if f < 0 and place < 0:
                total += value[node]
                continue
            if place < 0:
                place = size
                forest.few_roots[trees] = place
                trees += 1
                size += 1
            few_nodes[place, FEATURE] = f
            few_nodes[place, RANK] = nodes[node, RANK]
            few_nodes[place, LEFT] = size
            few_nodes[place, GONE] = nodes[node, GONE]
            few_value[place] = value[node]
            if f >= 0:
                stack[depth, 0] = int(nodes[node, LEFT]) + 1
                stack[depth, 1] = size + 1
                stack[depth + 1, 0] = int(nodes[node, LEFT])
                stack[depth + 1, 1] = size
                depth += 2
                size += 2
    forest.few[0] = trees
    forest.few[1] = total
    forest.few[2] = size
    one[SPENT] += 1


@quick
def _walk_trees(forest: Any, per: Any, one: Any, mark: Any) -> Any:
    """Fill `add` for all active features in their windows of cells; return the margin where one stands.

    Of each tree: the path of where one stands; then from each split on it that asks about an active feature the other
    side, with that feature anywhere in its window. What is written for a feature is what its cells add: to the first
    cell of a run and, taken back, to the one after it; for levels to each level.
    """
    nodes, value, sides, roots = forest.nodes, forest.value, forest.sides, forest.roots
    trees, total = roots.shape[0], np.int64(0)
    if forest.few[0] >= 0:
        nodes, value, roots = forest.few_nodes, forest.few_value, forest.few_roots
        trees, total = forest.few[0], forest.few[1]
    add, stack, start_of, touched = forest.add, forest.stack, forest.places[1], forest.touched
    cell, active, leveled = mark[CELL], mark[ACTIVE], mark[LEVELED]
    from_cell, to_cell, low_cell, high_cell, stamp = (
        mark[FROM_CELL], mark[TO_CELL], mark[LOW_CELL], mark[HIGH_CELL], mark[STAMP],
    )  # fmt: skip
    bit = np.uint64(1)
    none = np.uint64(0)
    walked, seen = 0, 0
    for f in range(active.shape[0]):
        stamp[f] = -1
    for t in range(trees):
        node: Any = np.int64(roots[t])
        f = int(nodes[node, FEATURE])
        steps = 0
        while f >= 0:
            walked += 1
            rank = nodes[node, RANK]
            if leveled[f]:
                left = (sides[rank] >> np.uint64(cell[f])) & bit != none
            else:
                left = cell[f] <= rank if cell[f] >= 0 else nodes[node, GONE] > 0
            if active[f]:
                stack[steps, 3] = node
                stack[steps, 4] = left
                steps += 1
            node = int(nodes[node, LEFT]) + (0 if left else 1)
            f = int(nodes[node, FEATURE])
        own = value[node]
        total += own
        for i in range(steps):
            split = stack[i, 3]
            left = stack[i, 4] > 0
            free = np.int64(nodes[split, FEATURE])
            rank = nodes[split, RANK]
            if stamp[free] != t:
                stamp[free] = t
                low_cell[free] = from_cell[free]
                high_cell[free] = to_cell[free]
            at = start_of[free]
            low = low_cell[free]
            high = high_cell[free]
            if leveled[free]:
                here = np.uint64(low)
                if left:
                    other = here & ~sides[rank]
                    here &= sides[rank]
                else:
                    other = here & sides[rank]
                    here &= ~sides[rank]
                low_cell[free] = np.int64(here)
                if other == none:
                    continue
                low = np.int64(other)
                high = 0
            elif left:
                high_cell[free] = min(high, rank)
                low = max(low, np.int64(rank) + 1)
                if low > high:
                    continue
            else:
                low_cell[free] = max(low, np.int64(rank) + 1)
                high = min(high, np.int64(rank))
                if low > high:
                    continue
            stack[0, 0] = np.int64(nodes[split, LEFT]) + (1 if left else 0)
            stack[0, 1] = low
            stack[0, 2] = high
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth, 0]
                low = stack[depth, 1]
                high = stack[depth, 2]
                f = int(nodes[node, FEATURE])
                while f >= 0:
                    seen += 1
                    rank = nodes[node, RANK]
                    child = int(nodes[node, LEFT])
                    if f == free:
                        if leveled[f]:
                            yes = np.uint64(low) & sides[rank]
                            no = np.uint64(low) & ~sides[rank]
                            if no == none:
                                node = child
                            elif yes == none:
                                node = child + 1
                            else:
                                stack[depth, 0] = child + 1
                                stack[depth, 1] = np.int64(no)
                                depth += 1
                                low = np.int64(yes)
                                node = child
                        elif high <= rank:
                            node = child
                        elif low > rank:
                            node = child + 1
                        else:
                            stack[depth, 0] = child + 1
                            stack[depth, 1] = np.int64(rank) + 1
                            stack[depth, 2] = high
                            depth += 1
                            high = np.int64(rank)
                            node = child
                    else:
                        if leveled[f]:
                            left = (sides[rank] >> np.uint64(cell[f])) & bit != none
                        else:
                            left = cell[f] <= rank if cell[f] >= 0 else nodes[node, GONE] > 0
                        node = child + (0 if left else 1)
                    f = int(nodes[node, FEATURE])
                gain = value[node] - own
                if not leveled[free]:
                    low += at
                    high += at + 1
                    add[low] += gain
                    add[high] -= gain
                    touched[low >> 6] |= bit << np.uint64(low & 63)
                    touched[high >> 6] |= bit << np.uint64(high & 63)
                    continue
                rest = np.uint64(low)
                level = 0
                while rest != none:
                    if rest & bit != none:
                        add[at + level] += gain
                    rest >>= bit
                    level += 1
    one[SPENT] += 1 + seen // max(walked, 1)
    return one[BASE] + one[UNIT] * total


@quick
def _runs(low: Any, high: Any, forest: Any) -> Any:
    """Gather what was added to the cells low to high as runs of one sum: their first cells, ended by high + 1, and
    sums; forget what was added. Returns how many."""
    add, touched, run = forest.add, forest.touched, forest.run
    count = 1
    total = add[low]
    run[0, 0] = low
    add[low] = 0
    for word in range(low >> 6, ((high + 1) >> 6) + 1):
        bits = touched[word]
        touched[word] = 0
        at = word << 6
        while bits != np.uint64(0):
            while bits & np.uint64(255) == np.uint64(0):
                bits >>= np.uint64(8)
                at += 8
            if bits & np.uint64(1) != np.uint64(0):
                if at > high:
                    add[at] = 0
                elif at > low and add[at] != 0:
                    run[count - 1, 1] = total
                    total += add[at]
                    run[count, 0] = at
                    count += 1
                    add[at] = 0
            bits >>= np.uint64(1)
            at += 1
    run[count - 1, 1] = total
    run[count, 0] = high + 1
    return count


@quick
def _forest_profile(
    forest: Any, per: Any, one: Any, mark: Any, ok: Any, y: Any, total: Any, bound: Any
) -> Any:
    """Fill cheap, rate and top of the active features; return the score at y."""
    d = y.shape[0]
    _cells(y, forest, per, mark[CELL])
    for f in range(d):
        if not mark[ACTIVE, f]:
            continue
        at = forest.places[1, f]
        _window(f, bound - (total - per[PART, f]), forest, per, one, mark, ok)
        if per[KIND, f] > 0:
            for v in range(int(per[N_LEVELS, f])):
                forest.add[at + v] = 0
    margin = _walk_trees(forest, per, one, mark)
    start = _score(margin, one)
    for f in range(d):
        if not mark[ACTIVE, f]:
            continue
        x = per[X, f]
        rest = total - per[PART, f]
        at = forest.places[1, f]
        moved = _changed(f, y[f], per)
        if np.isnan(x) and moved:  # back to no value
            own = y[f]
            y[f] = np.nan
            got = _score(_forest_row(forest, per, one, mark, y), one)
            y[f] = own
            _consider(f, np.nan, got, rest, start, total, per)
        if per[KIND, f] > 0:
            levels = np.uint64(mark[FROM_CELL, f])
            for v in range(int(per[N_LEVELS, f])):
                if (levels >> np.uint64(v)) & np.uint64(1) == np.uint64(0) or v == y[f]:
                    continue
                price = rest + price_of(f, float(v), x, per[WEIGHT, f], per, one)
                if price < bound:
                    _consider(
                        f,
                        float(v),
                        _score(margin + one[UNIT] * forest.add[at + v], one),
                        price,
                        start,
                        total,
                        per,
                    )
            continue
        low, high = mark[FROM_CELL, f], mark[TO_CELL, f]
        if low > high:
            continue
        runs = _runs(at + low, at + high, forest)
        run = forest.run
        here = low - 1 if np.isnan(x) else _cell_of(f, x, forest)
        first, last, weight = per[FIRST, f], per[LAST, f], per[WEIGHT, f]
        own = -1  # the run that x is in
        record = -_INF
        if here >= low:
            own = runs - 1
            while run[own, 0] > at + here:
                own -= 1
            record = _score(margin + one[UNIT] * run[own, 1], one)
            if moved:
                _consider(f, x, record, rest, start, total, per)
                if record >= 0.0:
                    continue
        best = record
        # farther out only more score is worth more cost; beyond the first yes nothing is
        for i in range(own + 1, runs):
            got = _score(margin + one[UNIT] * run[i, 1], one)
            if got <= best:
                continue
            v = max(forest.cells[0, run[i, 0]], first, per[UP_FROM, f])
            if v > min(forest.cells[1, run[i + 1, 0] - 1], last) or abs(v - x) <= per[TINY, f]:
                continue
            price = rest + price_of(f, v, x, weight, per, one)
            if not price < bound:
                break
            best = got
            if v != y[f]:
                _consider(f, v, got, price, start, total, per)
            if got >= 0.0:
                break
        best = record
        for i in range(own - 1, -1, -1):
            got = _score(margin + one[UNIT] * run[i, 1], one)
            if got <= best:
                continue
            v = min(forest.cells[1, run[i + 1, 0] - 1], last, per[DOWN_FROM, f])
            if v < max(forest.cells[0, run[i, 0]], first) or abs(v - x) <= per[TINY, f]:
                continue
            price = rest + price_of(f, v, x, weight, per, one)
            if not price < bound:
                break
            best = got
            if v != y[f]:
                _consider(f, v, got, price, start, total, per)
            if got >= 0.0:
                break
    return start


# -- nets --------------------------------------------------------------------------------------------------


@quick
def _function(kind: Any, v: Any) -> Any:
    """One of the functions of columns, by its number in `Encoder`."""
    if kind == 1:
        return np.log(v)
    if kind == 2:
        return np.log1p(v)
    if kind == 3:
        return np.log2(v)
    if kind == 4:
        return np.log10(v)
    if kind == 5:
        return np.sqrt(v)
    if kind == 6:
        return np.cbrt(v)
    if kind == 7:
        return np.exp(v)
    if kind == 8:
        return np.expm1(v)
    if kind == 9:
        return np.arctan(v)
    return np.tanh(v)


@small
def _code(net: LayeredNet, c: Any, v: Any) -> Any:
    if np.isnan(v):
        return net.code[c, 4]
    kind = int(net.code[c, 5])
    if kind > 0:
        v = _function(kind, v)
    return ((v - net.code[c, 0]) / net.code[c, 1]) * net.code[c, 2] + net.code[c, 3]


@quick
def _add_feature(net: Any, per: Any, f: Any, v: Any, sign: Any, h: Any) -> None:
    """Add what feature f at v gives to the first layer, sign times."""
    n = net.table.shape[1]
    at = net.places[1, f]
    if at >= 0:
        row = net.table[at + int(per[N_LEVELS, f] if np.isnan(v) else v)]
        for t in range(n):
            h[t] += sign * row[t]
    for c in range(net.places[0, f], net.places[0, f + 1]):
        code = sign * _code(net, c, v)
        row = net.first[c]
        for t in range(n):
            h[t] += code * row[t]


@small
def _act(h: Any, n: Any, kind: Any) -> None:
    if kind == 1:
        for t in range(n):
            h[t] = max(h[t], 0.0)
    elif kind == 2:
        for t in range(n):
            h[t] = np.tanh(h[t])
    elif kind == 3:
        for t in range(n):
            e = np.exp(-abs(h[t]))
            h[t] = (1.0 if h[t] >= 0 else e) / (1.0 + e)


@quick
def _forward(flat: Any, shift: Any, base: Any, n_out: Any, count: Any, live: Any, h: Any, g: Any) -> None:
    """g = shift + weights h; four units at a time, so that sums are read and written seldom."""
    if n_out == 1:
        a, b = shift[base], 0.0
        u = 0
        while u + 2 <= count:
            a += h[u] * flat[live[u]]
            b += h[u + 1] * flat[live[u + 1]]
            u += 2
        if u < count:
            a += h[u] * flat[live[u]]
        g[0] = a + b
        return
    for t in range(n_out):
        g[t] = shift[base + t]
    u = 0
    while u + 4 <= count:
        v0, v1, v2, v3 = h[u], h[u + 1], h[u + 2], h[u + 3]
        r0 = flat[live[u] : live[u] + n_out]
        r1 = flat[live[u + 1] : live[u + 1] + n_out]
        r2 = flat[live[u + 2] : live[u + 2] + n_out]
        r3 = flat[live[u + 3] : live[u + 3] + n_out]
        for t in range(n_out):
            g[t] += (v0 * r0[t] + v1 * r1[t]) + (v2 * r2[t] + v3 * r3[t])
        u += 4
    while u < count:
        v0 = h[u]
        r0 = flat[live[u] : live[u] + n_out]
        for t in range(n_out):
            g[t] += v0 * r0[t]
        u += 1


@quick
def _onward(net: Any, one: Any, h: Any, g: Any) -> Any:
    """Score of a first layer before its activation; h and g are used up."""
    one[SPENT] += 1
    n = net.shapes[0, 0]
    layers = net.shapes.shape[1] - 1
    if layers == 0:
        return _score(h[0], one)
    _act(h, n, net.shapes[1, 0])
    flat, live = net.flat, net.live
    at = 0
    base = 0
    for layer in range(layers):
        n_out = net.shapes[0, layer + 1]
        count = 0  # units that are off add nothing
        for u in range(n):
            if h[u] != 0.0:
                h[count] = h[u]
                live[count] = at + u * n_out
                count += 1
        _forward(flat, net.shift, base, n_out, count, live, h, g)
        _act(g, n_out, net.shapes[1, layer + 1])
        at += n * n_out
        base += n_out
        n = n_out
        swap = h
        h = g
        g = swap
    return _score(h[0], one)


@quick
def _first_layer(net: Any, per: Any, y: Any, h: Any) -> None:
    for t in range(net.table.shape[1]):
        h[t] = net.table[0, t]
    for f in range(y.shape[0]):
        _add_feature(net, per, f, y[f], 1.0, h)


@quick
def _net_row(net: Any, per: Any, one: Any, y: Any) -> Any:
    """Score of one row."""
    _first_layer(net, per, y, net.room[0])
    return _onward(net, one, net.room[0], net.room[1])


@quick
def _net_at(net: Any, per: Any, one: Any, f: Any, v: Any) -> Any:
    """Score with feature f at v; `rest` holds the first layer without it."""
    for t in range(net.table.shape[1]):
        net.room[0, t] = net.rest[f, t]
    _add_feature(net, per, f, v, 1.0, net.room[0])
    return _onward(net, one, net.room[0], net.room[1])


@quick
def _net_values(net: Any, per: Any, one: Any, f: Any, own: Any, start: Any, count: Any) -> Any:
    """Score of feature f at each of the first `count` values of `tried`, beside them; own: the value that it has, which
    scores `start`. Returns how many the budget was enough for."""
    for c in range(count):
        v = net.tried[0, c]
        if v == own or (np.isnan(v) and np.isnan(own)):
            net.tried[1, c] = start
            continue
        if one[SPENT] >= one[LIMIT]:
            return c
        net.tried[1, c] = _net_at(net, per, one, f, v)
    return count


@quick
def _net_profile(
    net: Any, per: Any, one: Any, mark: Any, ok: Any, y: Any, total: Any, bound: Any, grid: Any
) -> Any:
    """As `_forest_profile`, on a grid of values; then crossings are sectioned where that may be the cheapest."""
    d = y.shape[0]
    n = net.table.shape[1]
    rest0, tried = net.rest[d], net.tried
    _first_layer(net, per, y, rest0)
    for t in range(n):
        net.room[0, t] = rest0[t]
    start = _onward(net, one, net.room[0], net.room[1])
    brackets = 0
    for f in range(d):
        if not mark[ACTIVE, f]:
            continue
        x, weight = per[X, f], per[WEIGHT, f]
        rest = total - per[PART, f]
        moved = _changed(f, y[f], per)
        for t in range(n):
            net.rest[f, t] = rest0[t]
        _add_feature(net, per, f, y[f], -1.0, net.rest[f])
        count = 0
        if per[KIND, f] > 0 or np.isnan(x):
            if per[KIND, f] > 0:
                for level in range(int(per[N_LEVELS, f])):
                    v = float(level)
                    mine = (ok[int(per[LEVEL_AT, f]) + level] or v == x) and v != y[f]
                    if mine and rest + price_of(f, v, x, weight, per, one) < bound:
                        tried[0, count] = v
                        count += 1
            elif rest + price_of(f, per[FIRST, f], x, weight, per, one) < bound:
                old = np.nan
                for i in range(2 * grid + 1):
                    v = _snap(f, per[FIRST, f] + (per[LAST, f] - per[FIRST, f]) * i / (2 * grid), per)
                    if v != old and v != y[f] and v >= per[FIRST, f] and v <= per[LAST, f]:
                        tried[0, count] = v
                        count += 1
                    old = v
            if np.isnan(x) and moved and mark[BACK, f]:  # back to no value
                tried[0, count] = x
                count += 1
            done = _net_values(net, per, one, f, y[f], start, count)
            for i in range(done):
                price = rest + price_of(f, tried[0, i], x, weight, per, one)
                _consider(f, tried[0, i], tried[1, i], price, start, total, per)
            if done < count:
                return start
            continue
        if one[SPENT] >= one[LIMIT]:
            return start
        sides = _grid(f, x, moved, bound - rest, grid, per, one, tried)
        done = _net_values(net, per, one, f, y[f], start, sides[2])
        at_x = start
        if moved:
            at_x = tried[1, 0]
            if mark[BACK, f]:
                _consider(f, x, at_x, rest, start, total, per)
        at = 1 if moved else 0
        for side in range(2):
            end = sides[side]
            before, before_score, open_ = x, at_x, True
            nearest = tried[2, side]  # where legal values begin on this side
            while at < min(end, done):
                v, got = tried[0, at], tried[1, at]
                if v != y[f]:
                    price = rest + price_of(f, v, x, weight, per, one)
                    if price < bound:
                        _consider(f, v, got, price, start, total, per)
                if got >= 0.0 and open_ and before == x and nearest != x:
                    open_ = False  # the nearest value there is
                if got >= 0.0 and before_score < 0.0 and open_:
                    net.bracket[brackets, 0] = f
                    net.bracket[brackets, 1] = before
                    net.bracket[brackets, 2] = before_score
                    net.bracket[brackets, 3] = v
                    net.bracket[brackets, 4] = got
                    brackets += 1
                    open_ = False
                before, before_score = v, got
                at += 1
        if done < sides[2]:
            return start
    _section(net, per, one, mark, total, bound, start, brackets)
    return start


@small
def _grid(f: Any, x: Any, moved: Any, room: Any, grid: Any, per: Any, one: Any, tried: Any) -> Any:
    """Write to `tried` what a number is tried at for a cost of `room`: x, if it moved, values below, values above.
    Returns where those below end, where those above end, and how many they are together."""
    count, below = 0, 0
    if moved:
        tried[0, 0] = x
        count = 1
    below = count
    far = far_of(f, room, per[WEIGHT, f], per, one)
    for side in range(2):
        if side == 1:
            below = count
        if far < 0.0:
            continue
        sign = 1.0 if side == 1 else -1.0
        end = min(x + far, per[LAST, f]) if side == 1 else max(x - far, per[FIRST, f])
        begin = x
        if side == 1 and per[FIRST, f] > x:
            begin = per[FIRST, f]
        elif side == 0 and per[LAST, f] < x:
            begin = per[LAST, f]
        if side == 1 and per[UP_FROM, f] > begin:
            begin = per[UP_FROM, f]
        elif side == 0 and per[DOWN_FROM, f] < begin:
            begin = per[DOWN_FROM, f]
        tried[2, side] = begin
        if sign * (end - begin) < 0.0 or sign * (end - x) <= per[TINY, f]:
            continue
        before = x
        for i in range(0 if begin != x else 1, grid + 1):
            share = i / grid
            v = _snap(f, begin + (end - begin) * share * np.sqrt(share), per)
            if sign * (v - end) > per[TINY, f]:
                v = _snap(f, v - sign * per[STEP, f], per)
            if sign * (v - before) <= per[TINY, f] or sign * (v - begin) < -per[TINY, f]:
                continue
            tried[0, count] = v
            count += 1
            before = v
    return below, count, count


@quick
def _section(
    net: Any, per: Any, one: Any, mark: Any, total: Any, bound: Any, start: Any, brackets: Any
) -> None:
    """Narrow the crossings whose failing end is cheaper than the cheapest move so far: false position."""
    cheapest = bound
    for f in range(per[CHEAP].shape[0]):
        if mark[ACTIVE, f]:
            cheapest = min(cheapest, per[CHEAP, f])
    for b in range(brackets):
        f = int(net.bracket[b, 0])
        x = per[X, f]
        rest = total - per[PART, f]
        fails, low, holds, high = net.bracket[b, 1], net.bracket[b, 2], net.bracket[b, 3], net.bracket[b, 4]
        low -= one[GAP]
        high -= one[GAP]
        tight = 1e-6 * per[SPAN, f]
        if not np.isnan(per[STEP, f]):
            tight = max(tight, 1.5 * per[STEP, f])
        last = 0
        for turn in range(40):
            if (
                abs(holds - fails) <= tight
                or rest + price_of(f, fails, x, per[WEIGHT, f], per, one) >= cheapest - _LEAST
            ):
                break
            if one[SPENT] >= one[LIMIT]:
                return
            share = low / (low - high) if high > low and turn % 4 != 3 else 0.5
            v = _snap(f, fails + (holds - fails) * min(max(share, 1e-3), 1.0 - 1e-3), per)
            if v in (fails, holds):
                v = _snap(f, 0.5 * (fails + holds), per)
                if v in (fails, holds):
                    break
            got = _net_at(net, per, one, f, v) - one[GAP]
            if got >= 0.0:
                holds, high = v, got
                price = rest + price_of(f, v, x, per[WEIGHT, f], per, one)
                if price < bound:
                    _consider(f, v, got + one[GAP], price, start, total, per)
                    cheapest = min(cheapest, price)
                if last == 1:
                    low *= 0.5
                last = 1
            else:
                fails, low = v, got
                if last == -1:
                    high *= 0.5
                last = -1


# -- the search --------------------------------------------------------------------------------------------


@quick
def _load(r: Any, y: Any, per: Any, one: Any) -> Any:
    """By how much row y is beyond rule r; NaN where it hangs on a missing value."""
    total = -one[ONE_SIZE + r]
    for f in range(y.shape[0]):
        if per[PER_ROWS + r, f] != 0.0:
            total += per[PER_ROWS + r, f] * y[f]
    return total


@quick
def _keeps(y: Any, per: Any, one: Any) -> Any:
    """True where row y keeps the rules that are sums."""
    legal = True
    for r in range(per.shape[0] - PER_ROWS):
        legal = legal and not _load(r, y, per, one) > _RULED
    return legal


@quick
def _narrow(y: Any, per: Any, one: Any, mark: Any) -> Any:
    """Let each feature alone, from y, move only to where all rules hold; return whether they hold in y."""
    legal = True
    for f in range(y.shape[0]):
        per[KEPT_FIRST, f] = per[FIRST, f]
        per[KEPT_LAST, f] = per[LAST, f]
    for r in range(per.shape[0] - PER_ROWS):
        broken = _load(r, y, per, one) > _RULED
        legal = legal and not broken
        for f in range(y.shape[0]):
            weight = per[PER_ROWS + r, f]
            if weight == 0.0:
                mark[ACTIVE, f] = mark[ACTIVE, f] and not broken
                continue
            others = -one[ONE_SIZE + r]
            for g in range(y.shape[0]):
                if g != f and per[PER_ROWS + r, g] != 0.0:
                    others += per[PER_ROWS + r, g] * y[g]
            if np.isnan(others) or np.isinf(others):
                continue
            edge = -others / weight
            x = per[X, f]
            if weight > 0.0:
                per[LAST, f] = min(per[LAST, f], lattice_inside(f, edge, -1.0, per))
                mark[BACK, f] = mark[BACK, f] and not x > edge + per[TINY, f]
            else:
                per[FIRST, f] = max(per[FIRST, f], lattice_inside(f, edge, 1.0, per))
                mark[BACK, f] = mark[BACK, f] and not x < edge - per[TINY, f]
    return legal


@quick
def _profile(
    forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, y: Any, bound: Any, only: Any, grid: Any
) -> Any:
    """From y, for each feature of `only` alone, what is to be had for a total below `bound`.

    Returns the score and the cost of y, and the changes that it has.
    """
    d = y.shape[0]
    total = 0.0
    changes = 0
    for f in range(d):
        per[PART, f] = price_of(f, y[f], per[X, f], per[WEIGHT, f], per, one)
        total += per[PART, f]
        if _changed(f, y[f], per):
            changes += 1
    for f in range(d):
        per[CHEAP, f] = _INF
        per[RATE, f] = 0.0
        per[TOP, f] = -_INF
        mark[ACTIVE, f] = only[f] and total - per[PART, f] < bound
        if mark[ACTIVE, f] and changes >= one[MOST] and not _changed(f, y[f], per):
            mark[ACTIVE, f] = False
        mark[BACK, f] = True
    start = 0.0
    if forest is not None:
        start = _forest_profile(forest, per, one, mark, ok, y, total, bound)
    if net is not None:
        ruled = per.shape[0] > PER_ROWS
        legal = True
        if ruled:
            legal = _narrow(y, per, one, mark)
        start = _net_profile(net, per, one, mark, ok, y, total, bound, grid)
        if ruled:
            for f in range(d):
                per[FIRST, f] = per[KEPT_FIRST, f]
                per[LAST, f] = per[KEPT_LAST, f]
        if not legal:
            start = -_INF
    return start, total, float(changes)


@quick
def _row(forest: Any, net: Any, per: Any, one: Any, mark: Any, y: Any) -> Any:
    """Score of one row."""
    got = 0.0
    if forest is not None:
        got = _score(_forest_row(forest, per, one, mark, y), one)
    if net is not None:
        got = _net_row(net, per, one, y)
    return got


@small
def _total(y: Any, weight: Any, per: Any, one: Any) -> Any:
    total = 0.0
    for f in range(y.shape[0]):
        total += price_of(f, y[f], per[X, f], weight[f], per, one)
    return total


@quick
def _least_of(values: Any, there: Any) -> Any:
    """Position of the least finite value, -1 where there is none."""
    best = -1
    for f in range(values.shape[0]):
        if there[f] and values[f] < _INF and (best < 0 or values[f] < values[best]):
            best = f
    return best


@quick
def _most_rate(per: Any, mark: Any) -> Any:
    best = -1
    for f in range(per[RATE].shape[0]):
        if mark[ACTIVE, f] and per[RATE, f] > 0.0 and (best < 0 or per[RATE, f] > per[RATE, best]):
            best = f
    return best


@quick
def _offer(y: Any, total: Any, per: Any, one: Any, pool: Any) -> Any:
    """Remember a settled option; return True where it is the new incumbent."""
    d = y.shape[0]
    plain = _total(y, per[PLAIN], per, one)
    worst = 0
    new = True
    size = int(one[POOLED])
    for i in range(size):
        same = True
        for f in range(d):
            if not (pool[i, f] == y[f] or (np.isnan(pool[i, f]) and np.isnan(y[f]))):
                same = False
                break
        if same:
            new = False
            break
        if pool[i, d] > pool[worst, d]:
            worst = i
    if new:
        if size < POOL_ROWS:
            worst = size
            one[POOLED] += 1
        if size < POOL_ROWS or plain < pool[worst, d]:
            pool[worst, d] = plain
            for f in range(d):
                pool[worst, f] = y[f]
    if total < one[COST] - _LEAST:
        one[COST] = total
        for f in range(d):
            per[BEST, f] = y[f]
        return True
    return False


@quick
def _settle(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, y: Any, total: Any) -> Any:
    """Undo and shrink changes while the decision holds, the greatest saving first; return what y then costs."""
    d = y.shape[0]
    for _ in range(6 * d):
        for f in range(d):
            mark[ONLY, f] = mark[MAY, f] and _changed(f, y[f], per)
        if one[SPENT] >= one[LIMIT]:
            break
        _profile(forest, net, per, one, mark, ok, y, total - _LEAST, mark[ONLY], int(one[GRID]))
        f = _least_of(per[CHEAP], mark[ACTIVE])
        if f < 0:
            break
        saved = total - per[CHEAP, f]
        y[f] = per[CHEAP_AT, f]
        total = _total(y, per[WEIGHT], per, one)
        if forest is None and saved < 1e-9:
            break
    return total


@quick
def _walk(
    forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any, y: Any, reach: Any, first: Any
) -> Any:
    """From y take the move with most score per cost until one turns the decision, settle, offer.

    Returns True for a new incumbent.
    """
    for step in range(int(one[STEPS])):
        if one[SPENT] >= one[LIMIT]:
            return False
        bound = one[COST] * reach
        score, total, _ = _profile(
            forest, net, per, one, mark, ok, y, bound, mark[MAY], first if step == 0 else int(one[GRID])
        )
        if score >= one[GAP] and total < bound:
            f = -1
        else:
            f = _least_of(per[CHEAP], mark[ACTIVE])
            if f < 0:
                f = _most_rate(per, mark)
                if f < 0:
                    return False
                y[f] = per[RATE_AT, f]
                continue
            y[f] = per[CHEAP_AT, f]
        total = _total(y, per[WEIGHT], per, one)
        total = _settle(forest, net, per, one, mark, ok, y, total)
        return _offer(y, total, per, one, pool)
    return False


@quick
def _project(ref: Any, limit: Any, y: Any, per: Any, one: Any, mark: Any, ok: Any) -> Any:
    """Move the person onto a reference where they may; return the cost, inf where it is not below limit."""
    d = y.shape[0]
    total = 0.0
    changes = 0
    for f in range(d):
        x = per[X, f]
        y[f] = x
        v = ref[f]
        if not mark[MAY, f] or np.isnan(v) or v == x:
            continue
        if per[KIND, f] > 0:
            if not ok[int(per[LEVEL_AT, f]) + int(v)]:
                continue
        else:
            v = min(max(v, per[FIRST, f]), per[LAST, f])
            v = _snap(f, v, per)
            if _too_little(f, v, per):
                v = per[UP_FROM, f] if v > x else per[DOWN_FROM, f]
            if not (v >= per[FIRST, f] and v <= per[LAST, f]):
                continue
        if not _changed(f, v, per):
            continue
        changes += 1
        total += price_of(f, v, x, per[WEIGHT, f], per, one)
        y[f] = v
        if total >= limit or changes > one[MOST]:
            return _INF
    return total if changes > 0 else _INF


@quick
def _from_near(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any, hints: Any) -> None:
    """Start from the nearest accepted reference."""
    limit = 3.0 * one[COST]
    best = -1
    for i in range(hints.few.shape[0]):
        total = _project(hints.few[i], limit, per[TRIAL], per, one, mark, ok)
        if total < limit and _keeps(per[TRIAL], per, one):
            limit = total
            best = i
    if best < 0 or one[SPENT] >= one[LIMIT]:
        return
    total = _project(hints.few[best], _INF, per[TRIAL], per, one, mark, ok)
    if _row(forest, net, per, one, mark, per[TRIAL]) >= 0.0:
        total = _settle(forest, net, per, one, mark, ok, per[TRIAL], total)
        _offer(per[TRIAL], total, per, one, pool)


@kernel
def _from_all(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any, hints: Any) -> None:
    """Nobody yet: all accepted references by what they cost, until one holds."""
    n = hints.all.shape[0]
    cost = np.empty(n)
    for i in range(n):
        cost[i] = _project(hints.all[i], _INF, per[TRIAL], per, one, mark, ok)
    for i in np.argsort(cost):
        if cost[i] == _INF or one[SPENT] >= one[LIMIT]:
            return
        total = _project(hints.all[i], _INF, per[TRIAL], per, one, mark, ok)
        if _keeps(per[TRIAL], per, one) and _row(forest, net, per, one, mark, per[TRIAL]) >= 0.0:
            total = _settle(forest, net, per, one, mark, ok, per[TRIAL], total)
            _offer(per[TRIAL], total, per, one, pool)
            return


@quick
def _next_lead(per: Any) -> Any:
    """The feature with the greatest number above 0 in LEAD, -1 for none."""
    lead = -1
    for f in range(per.shape[1]):
        if per[LEAD, f] > 0.0 and (lead < 0 or per[LEAD, f] > per[LEAD, lead]):
            lead = f
    return lead


@quick
def _lead(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any) -> None:
    """Let the features with most score per cost lead once, with that move and with the one with most score."""
    d = per[X].shape[0]
    if one[SPENT] >= one[LIMIT]:
        return
    _profile(forest, net, per, one, mark, ok, per[X], one[COST] * _REACH, mark[MAY], int(one[FIRST_GRID]))
    for f in range(d):
        per[LEAD, f] = per[RATE, f] if mark[ACTIVE, f] else 0.0
        per[LEAD_RATE, f] = per[RATE_AT, f]
        per[LEAD_TOP, f] = per[TOP_AT, f]
    for _ in range(int(one[LEADS])):
        lead = _next_lead(per)
        if lead < 0:
            return
        per[LEAD, lead] = 0.0
        for way in range(1, 3):
            if way == 2 and per[LEAD_TOP, lead] == per[LEAD_RATE, lead]:
                continue
            for f in range(d):
                per[HERE, f] = per[X, f]
            per[HERE, lead] = per[LEAD_RATE if way == 1 else LEAD_TOP, lead]
            _walk(forest, net, per, one, mark, ok, pool, per[HERE], _REACH, int(one[GRID]))


@small
def _to_try(lead: Any, way: Any, per: Any, ok: Any) -> Any:
    """Another value for a change of the incumbent: none, a third and two thirds of its way, a step back, a step on;
    the value that it has where there is no such value."""
    x, v = per[X, lead], per[BEST, lead]
    if way == 0:
        return x
    if per[KIND, lead] == 2 or np.isnan(x):
        return v
    if way < 3:
        to = _snap(lead, x + (v - x) * way / 3.0, per)
    else:
        step = per[STEP, lead]
        if np.isnan(step):
            step = abs(v - x) / 16.0
        to = v - step if (v > x) == (way == 3) else v + step
        to = _snap(lead, to, per)
    if _too_little(lead, to, per):
        return v
    if not _changed(lead, to, per) or (to > x) != (v > x) or to < per[FIRST, lead] or to > per[LAST, lead]:
        return v
    if per[KIND, lead] > 0 and not ok[int(per[LEVEL_AT, lead]) + int(to)]:
        return v
    return to


@quick
def _exchange(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any) -> None:
    """Give each change of the incumbent another value, and let up to two other moves make up for it, or save."""
    d = per.shape[1]
    for _ in range(int(one[ROUNDS])):
        improved = False
        for lead in range(d):
            for way in range(5):
                if not _changed(lead, per[BEST, lead], per):
                    break
                v = _to_try(lead, way, per, ok)
                if v == per[BEST, lead]:
                    continue
                for f in range(d):
                    per[HERE, f] = per[BEST, f]
                per[HERE, lead] = v
                bound = one[COST] - _LEAST
                for turn in range(2):
                    if one[SPENT] >= one[LIMIT]:
                        return
                    for f in range(d):
                        mark[ONLY, f] = mark[MAY, f] and f != lead
                    score, total, _ = _profile(
                        forest, net, per, one, mark, ok, per[HERE], bound, mark[ONLY], int(one[GRID])
                    )
                    done = score >= one[GAP] and total < bound
                    if not done:
                        f = _least_of(per[CHEAP], mark[ACTIVE])
                        if f >= 0:
                            per[HERE, f] = per[CHEAP_AT, f]
                            done = True
                        elif turn == 0:
                            f = _most_rate(per, mark)
                            if f < 0:
                                break
                            per[HERE, f] = per[RATE_AT, f]
                    if done:
                        total = _total(per[HERE], per[WEIGHT], per, one)
                        total = _settle(forest, net, per, one, mark, ok, per[HERE], total)
                        if _offer(per[HERE], total, per, one, pool):
                            improved = True
                        break
        if not improved:
            return


@quick
def _push_value(f: Any, way: Any, per: Any, ok: Any) -> Any:
    """Where a feature may be pushed to: on either side to its end, by halves less far, or by a step; or its levels; the
    value that it has in the incumbent where there is no such value."""
    x, v = per[X, f], per[BEST, f]
    if np.isnan(x):
        return v
    if per[KIND, f] > 0:
        legal = way < per[N_LEVELS, f] and ok[int(per[LEVEL_AT, f]) + way]
        return float(way) if legal else v
    if way >= _WAYS:
        return v
    to = per[LAST, f] if way % 2 == 0 else per[FIRST, f]
    if way >= _WAYS - 2:
        to = v + per[STEP, f] if way % 2 == 0 else v - per[STEP, f]
    elif way >= 2:
        to = _snap(f, v + (to - v) * 0.5 ** (way // 2), per)
    if np.isnan(to) or _too_little(f, to, per) or not (to >= per[FIRST, f] and to <= per[LAST, f]):
        return v
    return to


@quick
def _push(net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any) -> Any:
    """Push each feature of the incumbent farther than it must go, the most score per cost first: as far as pays best
    when another change is taken back for it, then settle. True where that is cheaper."""
    d = per.shape[1]
    changes = 0
    for f in range(d):
        per[HERE, f] = per[BEST, f]
        changes += _changed(f, per[BEST, f], per)
    from_score = _net_row(net, per, one, per[HERE])
    for f in range(d):
        per[LEAD, f] = 0.0
        if not mark[MAY, f] or (changes >= one[MOST] and not _changed(f, per[BEST, f], per)):
            continue
        paid = price_of(f, per[BEST, f], per[X, f], per[WEIGHT, f], per, one)
        for way in range(max(_WAYS, int(per[N_LEVELS, f]))):
            v = _push_value(f, way, per, ok)
            if v == per[BEST, f] or np.isnan(v):
                continue
            more = price_of(f, v, per[X, f], per[WEIGHT, f], per, one) - paid
            if more >= one[COST]:
                continue
            if one[SPENT] >= one[LIMIT]:
                return False
            per[HERE, f] = v
            gain = _net_row(net, per, one, per[HERE]) - from_score
            per[LEAD, f] = max(per[LEAD, f], gain / max(more, 1e-12))
        per[HERE, f] = per[BEST, f]
    improved = False
    for _ in range(_PUSHES):
        lead = _next_lead(per)
        if lead < 0 or one[SPENT] >= one[LIMIT]:
            break
        per[LEAD, lead] = 0.0
        best = one[COST]
        for way in range(max(_WAYS, int(per[N_LEVELS, lead]))):
            v = _push_value(lead, way, per, ok)
            if v == per[BEST, lead] or np.isnan(v):
                continue
            for f in range(d):
                per[HERE, f] = per[BEST, f]
                mark[ONLY, f] = mark[MAY, f] and f != lead and _changed(f, per[BEST, f], per)
            per[HERE, lead] = v
            _profile(None, net, per, one, mark, ok, per[HERE], best - _LEAST, mark[ONLY], int(one[GRID]))
            f = _least_of(per[CHEAP], mark[ACTIVE])
            if f >= 0 and per[CHEAP, f] < best:
                best = per[CHEAP, f]
                for g in range(d):
                    per[TRIAL, g] = per[HERE, g]
                per[TRIAL, f] = per[CHEAP_AT, f]
        if best < one[COST] - _LEAST:
            total = _total(per[TRIAL], per[WEIGHT], per, one)
            total = _settle(None, net, per, one, mark, ok, per[TRIAL], total)
            if _offer(per[TRIAL], total, per, one, pool):
                improved = True
    return improved


@kernel
def _search(
    forest: Any,
    net: Any,
    per: Any,
    one: Any,
    mark: Any,
    ok: Any,
    pool: Any,
    hints: Any,
    start: Any,
    first: Any,
    everyone: Any,
) -> None:
    """One option, acting on `may` only: left in `best` and `cost`. first: start (d,) is a row to begin from, all NaN
    for none. everyone: whoever has nothing by then tries to become like any reference."""
    one[COST] = _INF
    if forest is not None:
        forest.few[0] = -1
    there = False
    for f in range(start.shape[0]):
        there = there or (first and not np.isnan(start[f]))
        per[HERE, f] = start[f]
    if there and _keeps(per[HERE], per, one) and _row(forest, net, per, one, mark, per[HERE]) >= one[GAP]:
        total = _total(per[HERE], per[WEIGHT], per, one)
        total = _settle(forest, net, per, one, mark, ok, per[HERE], total)
        _offer(per[HERE], total, per, one, pool)
    for f in range(per[X].shape[0]):
        per[HERE, f] = per[X, f]
    _walk(forest, net, per, one, mark, ok, pool, per[HERE], 1.0, int(one[FIRST_GRID]))
    _from_near(forest, net, per, one, mark, ok, pool, hints)
    if forest is not None:  # noqa: SIM102
        if one[COST] < _INF:
            _cut(one[COST] * _REACH, forest, per, one, mark, ok)
    _lead(forest, net, per, one, mark, ok, pool)
    if one[COST] == _INF and everyone:
        _from_all(forest, net, per, one, mark, ok, pool, hints)
        if one[COST] < _INF:
            _lead(forest, net, per, one, mark, ok, pool)
    if one[COST] < _INF:
        _exchange(forest, net, per, one, mark, ok, pool)
    if net is not None:
        for _ in range(int(one[ROUNDS])):
            if not (one[COST] < _INF and _push(net, per, one, mark, ok, pool)):
                break
            _exchange(forest, net, per, one, mark, ok, pool)


@kernel
def _dearest(y: Any, rank: Any, per: Any, one: Any) -> Any:
    """The change of an option with the given rank in price, -1 where there are fewer."""
    limit, before = _INF, -1
    for _ in range(rank + 1):
        best, most = -1, -1.0
        for f in range(per.shape[1]):
            if not _changed(f, y[f], per):
                continue
            price = price_of(f, y[f], per[X, f], per[PLAIN, f], per, one)
            if (price < limit or (price == limit and f > before)) and price > most:
                best, most = f, price
        if best < 0:
            return -1
        limit, before = most, best
    return before


@kernel
def _without_dearest(forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any) -> Any:
    """Look once more without the dearest change, which may be the wrong one to build on; again where that helped."""
    d = per.shape[1]
    for _ in range(3):
        banned = _dearest(per[BEST], 0, per, one)
        before = one[COST]
        mark[MAY, banned] = 0
        for f in range(d):
            per[HERE, f] = per[X, f]
        _walk(forest, net, per, one, mark, ok, pool, per[HERE], _REACH, int(one[FIRST_GRID]))
        _lead(forest, net, per, one, mark, ok, pool)
        mark[MAY, banned] = 1
        if not one[COST] < before - _LEAST:
            return
        _exchange(forest, net, per, one, mark, ok, pool)


@quick
def _rebuild(forest: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any) -> Any:
    """Take back one or two changes of the incumbent at once, and let other features make up for them; True where that
    is cheaper."""
    d = per.shape[1]
    improved = False
    for one_of in range(d):
        for other in range(one_of, d):
            if not (mark[MAY, one_of] and _changed(one_of, per[BEST, one_of], per)):
                break
            if not (mark[MAY, other] and _changed(other, per[BEST, other], per)):
                continue
            if one[SPENT] >= one[LIMIT]:
                return improved
            for f in range(d):
                per[HERE, f] = per[BEST, f]
            for f in (one_of, other):
                per[HERE, f] = per[X, f]
                mark[MAY, f] = 0
            if _walk(forest, None, per, one, mark, ok, pool, per[HERE], 1.0, int(one[GRID])):
                improved = True
            mark[MAY, one_of] = mark[MAY, other] = 1
    return improved


@kernel
def _farther(taken: Any, mine: Any, per: Any) -> Any:
    """True where `mine` does all that `taken` does, at least as far (see `goes_farther`)."""
    some = False
    for f in range(mine.shape[0]):
        if not _changed(f, taken[f], per):
            continue
        some = True
        if not _changed(f, mine[f], per):
            return False
        if np.isnan(per[X, f]):
            if per[KIND, f] == 2 and taken[f] != mine[f]:
                return False
            continue
        if per[KIND, f] == 2:
            if taken[f] != mine[f]:
                return False
            continue
        gap = taken[f] - per[X, f]
        own = mine[f] - per[X, f]
        if (own if gap > 0 else -own) < abs(gap) - per[NEAR, f]:
            return False
    return some


@kernel
def _same_set(a: Any, b: Any, per: Any) -> Any:
    same = True
    for f in range(a.shape[0]):
        same = same and _changed(f, a[f], per) == _changed(f, b[f], per)
    return same


@kernel
def _fill(out: Any, count: Any, k: Any, least: Any, per: Any, one: Any, pool: Any) -> Any:
    """Fill slots from the pool: other sets of changes first, then other values; the cheapest first."""
    d = out.shape[1]
    for fresh in range(2):
        while count < k:
            pick = -1
            for i in range(int(one[POOLED])):
                if pool[i, d] < least - _LEAST or (pick >= 0 and pool[i, d] >= pool[pick, d]):
                    continue
                good = True
                for o in range(count):
                    if _farther(out[o], pool[i, :d], per) or (
                        fresh == 0 and _same_set(out[o], pool[i, :d], per)
                    ):
                        good = False
                        break
                if good:
                    pick = i
            if pick < 0:
                break
            for f in range(out.shape[1]):
                out[count, f] = pool[pick, f]
            count += 1
    return count


@kernel
def _open_box(per: Any, mark: Any, ok: Any, levels: Any) -> None:
    """Let the person do again all that they may."""
    for f in range(per.shape[1]):
        per[FIRST, f] = per[OWN_FIRST, f]
        per[LAST, f] = per[OWN_LAST, f]
        mark[MAY, f] = mark[OWN_MAY, f]
    for i in range(ok.shape[0]):
        ok[i] = levels[i]


@kernel
def _keep_short_of(y: Any, f: Any, per: Any, mark: Any, ok: Any) -> None:
    """Let feature f go less far than an option does; see `_farther`."""
    x, v = per[X, f], y[f]
    if np.isnan(x):
        mark[MAY, f] = 0
        return
    if per[KIND, f] > 0:
        at = int(per[LEVEL_AT, f])
        for level in range(int(per[N_LEVELS, f])):
            if per[KIND, f] == 2:
                ok[at + level] = ok[at + level] and level != v
            else:
                ok[at + level] = ok[at + level] and (level < v if v > x else level > v)
        return
    gap = per[NEAR, f] * (1.0 + 1e-6)
    if v > x:
        per[LAST, f] = min(per[LAST, f], lattice_inside(f, v - gap, -1.0, per))
        if per[LAST, f] < per[FIRST, f]:
            mark[MAY, f] = 0
    else:
        per[FIRST, f] = max(per[FIRST, f], lattice_inside(f, v + gap, 1.0, per))
        if per[LAST, f] < per[FIRST, f]:
            mark[MAY, f] = 0


@kernel
def _is_new(out: Any, count: Any, least: Any, per: Any, one: Any) -> Any:
    """True where the incumbent is an option of its own beside those there are."""
    if one[COST] == _INF or one[COST] < least - _LEAST:
        return False
    new = True
    for o in range(count):
        new = new and not _farther(out[o], per[BEST], per)
    return new


@kernel
def _search_beside(
    forest: Any, net: Any, per: Any, one: Any, mark: Any, ok: Any, pool: Any, hints: Any, out: Any, count: Any,
    levels: Any,
) -> Any:  # fmt: skip
    """Look for one more option: without the dearest changes of those there are, else going less far in one of them."""
    least = _total(out[0], per[PLAIN], per, one)
    for attempt in range(1 + _ATTEMPTS):
        _open_box(per, mark, ok, levels)
        if attempt == 0:
            for o in range(count):
                mark[MAY, _dearest(out[o], 0, per, one)] = 0
        else:
            number = attempt - 1
            for o in range(count):
                changes = 0
                for f in range(per.shape[1]):
                    changes += _changed(f, out[o, f], per)
                _keep_short_of(out[o], _dearest(out[o], number % changes, per, one), per, mark, ok)
                number //= changes
            if number > 0:
                return False
        there = False
        for f in range(per.shape[1]):
            there = there or mark[MAY, f] > 0
        if there:
            _search(forest, net, per, one, mark, ok, pool, hints, out[0], False, False)
            if _is_new(out, count, least, per, one):
                return True
        if one[SPENT] >= one[LIMIT]:
            return False
    return False


@kernel
def _options(
    forest: Any,
    net: Any,
    per: Any,
    one: Any,
    mark: Any,
    ok: Any,
    pool: Any,
    hints: Any,
    out: Any,
    levels: Any,
    far: Any,
    everyone: Any,
) -> Any:
    """Write up to k options of one person to out (k, d), as rows after the change; return how many. out[0] is where
    the search begins, all NaN for nowhere. far, everyone: see `Wishes`."""
    k, d = out.shape
    limit = one[LIMIT]
    _open_box(per, mark, ok, levels)
    _search(forest, net, per, one, mark, ok, pool, hints, out[0], True, everyone)
    if one[COST] == _INF:
        return 0
    if forest is not None:  # noqa: SIM102
        if far:
            _cut(one[COST] * _REACH, forest, per, one, mark, ok)
    _without_dearest(forest, net, per, one, mark, ok, pool)
    if forest is not None:  # noqa: SIM102
        if far:
            for _ in range(int(one[ROUNDS])):
                _cut(one[COST] * _REACH, forest, per, one, mark, ok)
                if not _rebuild(forest, per, one, mark, ok, pool):
                    break
                _exchange(forest, None, per, one, mark, ok, pool)
    least = one[COST]
    write(out[0], per[BEST])
    count = 1
    for option in range(1, k):
        one[LIMIT] = (option + 1) * limit
        if not _search_beside(forest, net, per, one, mark, ok, pool, hints, out, count, levels):
            break
        write(out[count], per[BEST])
        count += 1
    if k > 1:
        count = _fill(out, count, k, least, per, one, pool)
    return count


@kernel
def _seek(
    wishes: Wishes, begin: Any, end: Any, forest: Any, net: Any, land: Terrain, hints: Hints, effort: Any, room: Room,
    out: Any, score: Any, spent: Any,
) -> None:  # fmt: skip
    per, mark, one, pool, ok = room
    for row in range(land.feature.shape[0]):
        write(per[row], land.feature[row])
    write(one, land.number)
    write(one[FIRST_GRID:], effort)
    for f in range(per.shape[1]):
        mark[LEVELED, f] = per[KIND, f] > 0
    for i in range(begin, end):
        write(per[X], wishes.x[i])
        write(per[WEIGHT], wishes.weight[i])
        write(per[PLAIN], wishes.weight[i])
        for f in range(per.shape[1]):
            per[FIRST, f] = wishes.low[i, f]
            per[LAST, f] = wishes.high[i, f]
            if per[KIND, f] == 0:
                per[FIRST, f] = lattice_inside(f, wishes.low[i, f], 1.0, per)
                per[LAST, f] = lattice_inside(f, wishes.high[i, f], -1.0, per)
            per[OWN_FIRST, f], per[OWN_LAST, f] = per[FIRST, f], per[LAST, f]
            per[UP_FROM, f], per[DOWN_FROM, f] = -_INF, _INF
            if per[LEAST, f] > 0.0 and not np.isnan(per[X, f]):
                per[UP_FROM, f] = lattice_inside(f, per[X, f] + per[LEAST, f], 1.0, per)
                per[DOWN_FROM, f] = lattice_inside(f, per[X, f] - per[LEAST, f], -1.0, per)
            mark[OWN_MAY, f] = wishes.free[i, f] and per[USED, f] > 0
        for r in range(land.line.shape[0]):
            d = per.shape[1]
            one[ONE_SIZE + r] = land.line[r, 2 * d]
            for f in range(d):
                per[PER_ROWS + r, f] = land.line[r, f]
                if land.line[r, d + f] != 0.0:
                    one[ONE_SIZE + r] -= land.line[r, d + f] * wishes.x[i, f]
            if np.isnan(one[ONE_SIZE + r]):
                one[ONE_SIZE + r] = _INF
        one[MOST] = wishes.most[i]
        one[LIMIT] = wishes.limit[i]
        one[SPENT] = 0
        one[POOLED] = 0
        count = _options(forest, net, per, one, mark, ok, pool, hints, out[i], wishes.level[i], wishes.far[i],
                         wishes.everyone[i])  # fmt: skip
        spent[i] = one[SPENT]
        if forest is not None:
            forest.few[0] = -1
        for o in range(out.shape[1]):
            score[i, o] = _row(forest, net, per, one, mark, out[i, o]) if o < count else np.nan


@entry
def seek_in_forest(
    wishes: Wishes, begin: Any, end: Any, forest: CellForest, land: Terrain, hints: Hints, effort: Any, room: Room,
    out: Any, score: Any, spent: Any,
) -> None:  # fmt: skip
    """Search for the people from begin to end: out (n, k, d) rows after the change, score (n, k), NaN where there is
    none, rows spent (n,). out[:, 0] is where the searches begin, all NaN for nowhere."""
    w, g, h, r = wishes, forest, hints, room
    _seek(
        Wishes(
            bare(w.x), bare(w.low), bare(w.high), bare(w.weight), bare(w.free), bare(w.level), bare(w.most),
            bare(w.limit), bare(w.far), bare(w.everyone),
        ),
        begin, end,
        CellForest(
            bare(g.nodes), bare(g.value), bare(g.sides), bare(g.roots), bare(g.places), bare(g.cut),
            bare(g.cells), bare(g.add), bare(g.stack), bare(g.few), bare(g.few_nodes),
            bare(g.few_value), bare(g.few_roots), bare(g.touched), bare(g.run),
        ),
        None, land, Hints(bare(h.all), bare(h.few)), effort,
        Room(bare(r.per), bare(r.mark), bare(r.one), bare(r.pool), bare(r.ok)),
        bare(out), bare(score), bare(spent),
    )  # fmt: skip


@entry
def seek_in_net(
    wishes: Wishes, begin: Any, end: Any, net: LayeredNet, land: Terrain, hints: Hints, effort: Any, room: Room,
    out: Any, score: Any, spent: Any,
) -> None:  # fmt: skip
    """As `seek_in_forest`."""
    w, g, h, r = wishes, net, hints, room
    _seek(
        Wishes(
            bare(w.x), bare(w.low), bare(w.high), bare(w.weight), bare(w.free), bare(w.level), bare(w.most),
            bare(w.limit), bare(w.far), bare(w.everyone),
        ),
        begin, end, None,
        LayeredNet(
            bare(g.places), bare(g.code), bare(g.first), bare(g.table), bare(g.flat), bare(g.shift),
            bare(g.shapes), bare(g.room), bare(g.rest), bare(g.bracket), bare(g.live), bare(g.tried),
        ),
        land, Hints(bare(h.all), bare(h.few)), effort,
        Room(bare(r.per), bare(r.mark), bare(r.one), bare(r.pool), bare(r.ok)),
        bare(out), bare(score), bare(spent),
    )  # fmt: skip
