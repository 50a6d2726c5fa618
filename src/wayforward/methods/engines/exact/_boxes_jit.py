"""The kernels of `forest_boxes`: best-first branch and bound over boxes of rows, one person after another.

A box holds, of each numeric feature, a range of values and of the cells that the forest's splits cut it into, of each
feature with levels the set of levels inside, as bits. Its bound is the cost of the cheapest legal row inside; the boxes
wait in a heap, the cheapest first, ties by age. What a box is asked, in this order: can some row in it keep every
clause of the rules; can the greatest leaves that each tree can still reach make a yes; is its cheapest row a yes that
keeps the rules, which ends the search, because no other box is cheaper. Else it is split: where the trees disagree
most, by what either side would lose of its bound, or where a broken clause asks for it.

Of a box only what can be paid is kept: each feature's range ends where it would cost more than what the others leave.
So that this bites, a person is searched for within little first, then within more, up to all there is: the forest that
little can reach is small, and its greatest leaves say more.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from wayforward.compiling import kernel as entry
from wayforward.methods.engines.exact.box_records import (
    BoxPeople,
    BoxRoom,
    Clauses,
    ReachedForest,
)
from wayforward.methods.engines.seeker._jit import (
    FEATURE,
    GONE,
    INVERSE,
    KIND,
    LEAST,
    LEFT,
    N_LEVELS,
    RANK,
    SPAN,
    STEP,
    TINY,
    USED,
    WEIGHT,
    WHOLE,
    X,
    bare,
    far_of,
    kernel,
    lattice_inside,
    price_of,
    quick,
    small,
    write,
)  # fmt: skip
from wayforward.methods.engines.seeker.records import CellForest

LEGAL_FROM, LEGAL_TO = 18, 19  # rows of `per` beside those of the seeker: what an action may set
PER_ROWS = 20
PEAK = 8  # entry of `one` behind those of the seeker: a row costs as much as its dearest change
NONE_EXISTS, FOUND, OPEN, UNSURE, TOO_DEAR = range(5)  # how a search ended; the last: nothing for that little
LINEAR, LEVELS, MOVED = range(3)  # kinds of atoms
TOP = GONE  # column of the nodes that a person can reach: the greatest leaf below
_INF = np.inf
_ONE = np.uint64(1)
_FAR = 1e300
_LOWEST = np.int64(-(1 << 62))
_NARROW = 1e-9  # of a span: what is narrower is not split for a rule
_FEWER = 1e-12  # of a cost: what is dearer by less may be rounding
_MORE = 3.0  # times as much may be paid in the next round


@small
def bit(level: Any) -> Any:
    return _ONE << np.uint64(level)


@kernel
def _nearest(f: Any, low: Any, high: Any, per: Any) -> Any:
    """The legal value of a numeric feature in a range that is nearest to where the person stands; NaN: none."""
    x = per[X, f]
    if low <= x <= high:
        return x
    if np.isnan(x):  # it is filled in, and any value costs the same
        if np.isfinite(low):
            v = lattice_inside(f, max(low, per[LEGAL_FROM, f]), 1.0, per)
            v = lattice_inside(f, v + per[STEP, f], 1.0, per) if v < low else v
            return v if v <= min(high, per[LEGAL_TO, f]) else np.nan
        v = lattice_inside(f, min(high, per[LEGAL_TO, f], _FAR), -1.0, per)
        return v if v <= high else np.nan
    if high < x:
        v = lattice_inside(f, min(high, per[LEGAL_TO, f], x - per[LEAST, f]), -1.0, per)
        if v > high:  # on the lattice, but an ulp outside
            v = lattice_inside(f, v - per[STEP, f], -1.0, per)
        return v if v >= low and v >= per[LEGAL_FROM, f] else np.nan
    v = lattice_inside(f, max(low, per[LEGAL_FROM, f], x + per[LEAST, f]), 1.0, per)
    if v < low:
        v = lattice_inside(f, v + per[STEP, f], 1.0, per)
    return v if v <= high and v <= per[LEGAL_TO, f] else np.nan


@small
def _other(a: Any, b: Any) -> Any:
    """Two values are not the same; missing equals missing."""
    return a != b and not (np.isnan(a) and np.isnan(b))


@kernel
def _cheapest_level(f: Any, bits: Any, per: Any, one: Any) -> Any:
    """The cheapest level of a set; NaN: the set is empty."""
    x = per[X, f]
    if not np.isnan(x) and bits & bit(x):
        return x
    best, least = np.nan, _INF
    for level in range(int(per[N_LEVELS, f])):
        if bits & bit(level):
            price = price_of(f, float(level), x, per[WEIGHT, f], per, one)
            if price < least:
                best, least = float(level), price
    return best


@quick
def cheapest_row(row: Any, low: Any, high: Any, bits: Any, active: Any, per: Any, one: Any) -> Any:
    """Write the cheapest row of a box; return its cost (inf: there is no row) and how many features change."""
    total, changes = 0.0, 0
    for i in range(len(active)):
        f = active[i]
        if per[KIND, f] == 0:
            row[f] = _nearest(f, low[f], high[f], per)
        else:
            row[f] = _cheapest_level(f, bits[f], per, one)
        if np.isnan(row[f]):
            return _INF, changes
        price = price_of(f, row[f], per[X, f], per[WEIGHT, f], per, one)
        total = max(total, price) if one[PEAK] > 0 else total + price
        changes += row[f] != per[X, f]
    return total, changes


@kernel
def _all_changes(low: Any, high: Any, bits: Any, active: Any, per: Any, one: Any) -> Any:
    """What no row of a box costs more than; a number without an end goes a span far."""
    total = 0.0
    for i in range(len(active)):
        f, most = active[i], 0.0
        x, weight = per[X, f], per[WEIGHT, f]
        if per[KIND, f] == 0:
            for side in range(2):
                end = low[f] if side == 0 else high[f]
                if np.isnan(x):
                    end = 0.0
                elif not np.isfinite(end):
                    end = x - per[SPAN, f] if side == 0 else x + per[SPAN, f]
                most = max(most, price_of(f, end, x, weight, per, one))
        else:
            for level in range(int(per[N_LEVELS, f])):
                if bits[f] & bit(level):
                    most = max(most, price_of(f, float(level), x, weight, per, one))
        total += most
    return total


@quick
def keep_payable(
    row: Any, total: Any, cutoff: Any, low: Any, high: Any, bits: Any, active: Any, per: Any, one: Any
) -> None:
    """Take from a box what costs the cutoff or more; row: its cheapest row, which costs `total`."""
    for i in range(len(active)):
        f = active[i]
        x, weight = per[X, f], per[WEIGHT, f]
        left = cutoff * (1.0 + _FEWER)
        if one[PEAK] == 0:
            left -= total - price_of(f, row[f], x, weight, per, one)
        if per[KIND, f] == 0:
            if np.isnan(x):
                continue
            far = max(far_of(f, left, weight, per, one), 0.0) * (1.0 + 1e-9) + 2.0 * per[TINY, f]
            low[f], high[f] = max(low[f], x - far), min(high[f], x + far)
            continue
        for level in range(int(per[N_LEVELS, f])):
            if bits[f] & bit(level) and price_of(f, float(level), x, weight, per, one) > left:
                bits[f] &= ~bit(level)


@small
def _cell(f: Any, v: Any, forest: Any) -> Any:
    """Number of the cell that a value falls into."""
    first, last = forest.places[0, f], forest.places[0, f + 1]
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if forest.cut[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low - first


@small
def _sides(f: Any, rank: Any, first: Any, last: Any, bits: Any, forest: Any, per: Any) -> Any:
    """Whether rows of a box go left, and whether some go right, at a split."""
    if per[KIND, f] == 0:
        return first[f] <= rank, last[f] > rank
    return (forest.sides[rank] & bits[f]) != 0, (~forest.sides[rank] & bits[f]) != 0


@quick
def _prune(forest: Any, first: Any, last: Any, bits: Any, gone: Any, per: Any, own: Any, stack: Any) -> None:
    """Copy what of the forest can be reached: its nodes, with the greatest leaf below each of them, and roots."""
    count = 0
    for t in range(len(forest.roots)):
        own.roots[t] = count
        stack[0, 0], stack[0, 1] = forest.roots[t], count
        count += 1
        top = 1
        while top:
            top -= 1
            node, at = stack[top, 0], stack[top, 1]
            while forest.nodes[node, FEATURE] >= 0:
                f, rank = forest.nodes[node, FEATURE], forest.nodes[node, RANK]
                if gone[f] and per[KIND, f] == 0:
                    left = forest.nodes[node, GONE] != 0
                    right = not left
                else:
                    left, right = _sides(f, rank, first, last, bits, forest, per)
                if left and right:
                    break
                node = forest.nodes[node, LEFT] + (0 if left else 1)
            own.nodes[at, FEATURE], own.nodes[at, TOP] = forest.nodes[node, FEATURE], forest.value[node]
            if forest.nodes[node, FEATURE] >= 0:
                own.nodes[at, RANK], own.nodes[at, LEFT] = forest.nodes[node, RANK], count
                stack[top, 0], stack[top, 1] = forest.nodes[node, LEFT], count
                stack[top + 1, 0], stack[top + 1, 1] = forest.nodes[node, LEFT] + 1, count + 1
                top += 2
                count += 2
    for node in range(count - 1, -1, -1):  # children come after their parents
        if own.nodes[node, FEATURE] >= 0:
            child = own.nodes[node, LEFT]
            own.nodes[node, TOP] = max(own.nodes[child, TOP], own.nodes[child + 1, TOP])


@small
def _greatest(
    start: Any, nodes: Any, first: Any, last: Any, bits: Any, forest: Any, per: Any, stack: Any
) -> Any:
    """The greatest leaf below a node that rows of a box can reach."""
    best = _LOWEST
    stack[0, 0] = start
    top = 1
    while top:
        top -= 1
        node = stack[top, 0]
        while nodes[node, TOP] > best:  # else nothing below is greater
            f = nodes[node, FEATURE]
            if f < 0:
                best = nodes[node, TOP]
                break
            left, right = _sides(f, nodes[node, RANK], first, last, bits, forest, per)
            child = nodes[node, LEFT]
            if left and right:
                better = child if nodes[child, TOP] >= nodes[child + 1, TOP] else child + 1
                stack[top, 0] = 2 * child + 1 - better
                top += 1
                node = better
            else:
                node = child + (0 if left else 1)
    return best


@small
def _key(f: Any, rank: Any, forest: Any, per: Any) -> Any:
    """Where the votes for a split are counted; two features may have sets of levels in common."""
    if per[KIND, f] == 0:
        return forest.places[0, f] + rank
    return len(forest.cut) + f * len(forest.sides) + rank


@quick
def _bound(
    begin: Any, stop: Any, first: Any, last: Any, bits: Any, cell: Any, known: Any, reached: Any, forest: Any, own: Any,
    per: Any, votes: Any, splits: Any, stack: Any,
) -> Any:  # fmt: skip
    """Return (greatest sum of leaves in a box, sum at its cheapest row, splits still open at the tops of trees), over
    the trees from begin to stop.

    votes (keys, 2): by how much the bound falls on the left and on the right of a split; splits: the splits with votes.
    known: the sum at the cheapest row, where the box that this is a part of had the same one. reached (trees,): the
    node of each tree that all rows of the box come to; it is brought up to date.
    """
    most, here, open_ = np.int64(0), np.int64(0), 0
    nodes = own.nodes
    for t in range(begin, stop):
        node = np.int64(reached[t])
        f = nodes[node, FEATURE]
        while f >= 0:
            left, right = _sides(f, nodes[node, RANK], first, last, bits, forest, per)
            if left and right:
                break
            node = nodes[node, LEFT] + (0 if left else 1)
            f = nodes[node, FEATURE]
        reached[t] = node
        if f < 0:
            most += nodes[node, TOP]
            here += nodes[node, TOP]
            continue
        best, other = _LOWEST, _LOWEST  # of the left, of the right
        for side in range(2):
            best, other = (
                other,
                _greatest(nodes[node, LEFT] + side, nodes, first, last, bits, forest, per, stack),
            )
        below, above = best, other
        best, key = max(below, above), _key(f, nodes[node, RANK], forest, per)
        if votes[key, 0] == 0 and votes[key, 1] == 0:
            splits[open_, 0], splits[open_, 1] = f, nodes[node, RANK]
            open_ += 1
        votes[key, 0] += best - below + 1  # one more, so that a split without a loss is remembered as well
        votes[key, 1] += best - above + 1
        most += best
        if known != _LOWEST:
            continue
        while f >= 0:
            rank = nodes[node, RANK]
            goes = cell[f] <= rank if per[KIND, f] == 0 else (forest.sides[rank] & bit(cell[f])) != 0
            node = nodes[node, LEFT] + (0 if goes else 1)
            f = nodes[node, FEATURE]
        here += nodes[node, TOP]
    return most, here if known == _LOWEST else known, open_


@quick
def _best_split(gap: Any, open_: Any, forest: Any, per: Any, votes: Any, splits: Any) -> Any:
    """Return (feature, rank, loss on the left, loss on the right) of the split whose sides both lose the most."""
    for i in range(1, open_):  # by feature and rank: few, and nearly in order
        f, rank, at = splits[i, 0], splits[i, 1], i
        while at > 0 and (splits[at - 1, 0] > f or (splits[at - 1, 0] == f and splits[at - 1, 1] > rank)):
            splits[at, 0], splits[at, 1] = splits[at - 1, 0], splits[at - 1, 1]
            at -= 1
        splits[at, 0], splits[at, 1] = f, rank
    best, choice, begin = -1.0, 0, 0
    losses = (np.int64(0), np.int64(0))
    while begin < open_:
        f, end, left = splits[begin, 0], begin, np.int64(0)
        while end < open_ and splits[end, 0] == f:
            left += votes[_key(f, splits[end, 1], forest, per), 0]
            end += 1
        right = np.int64(0)
        for i in range(begin, end):
            key = _key(f, splits[i, 1], forest, per)
            if (
                per[KIND, f] == 0
            ):  # whoever stays below a split stays below all higher ones: what they lose adds up
                right += votes[key, 1]
            else:
                left, right = votes[key, 0], votes[key, 1]
            rate = (min(left / gap, 1.0) + 1e-6) * (min(right / gap, 1.0) + 1e-6)
            if rate > best:
                best, choice, losses = rate, i, (left, right)
            if per[KIND, f] == 0:
                left -= votes[key, 0]
        begin = end
    return splits[choice, 0], splits[choice, 1], losses[0], losses[1]


@kernel
def _extreme(f: Any, side: Any, low: Any, high: Any, bits: Any, per: Any) -> Any:
    """The least (side -1) or greatest (side 1) value of a feature in a box."""
    if per[KIND, f] == 0:
        return high[f] if side > 0 else low[f]
    levels = int(per[N_LEVELS, f])
    for step in range(levels):
        level = levels - 1 - step if side > 0 else step
        if bits[f] & bit(level):
            return float(level)
    return per[X, f]


@small
def surely_moves(f: Any, low: Any, high: Any, bits: Any, per: Any) -> Any:
    """1 where a feature surely changes all over a box, 0 where it surely does not, else 2."""
    x = per[X, f]
    if np.isnan(x):
        gone = np.isnan(low[f]) if per[KIND, f] == 0 else bits[f] == bit(per[N_LEVELS, f])
        return 0 if gone else 1
    if per[KIND, f] == 0:
        if not low[f] <= x <= high[f]:
            return 1
        return 0 if low[f] == high[f] else 2
    if not bits[f] & bit(x):
        return 1
    return 0 if bits[f] == bit(x) else 2


@kernel
def _linear_least(a: Any, low: Any, high: Any, bits: Any, rules: Any, per: Any) -> Any:
    """Return (least value of a linear atom's left side over a box less its bound, its size)."""
    total, size = -rules.bound[a], abs(rules.bound[a])
    for t in range(rules.term_at[a], rules.term_at[a + 1]):
        f, weight, what = rules.term[t, 0], rules.weight[t], rules.term[t, 1]
        if what == 0:  # before
            part = weight * per[X, f]
        elif what == 1:  # after
            part = weight * _extreme(f, -1 if weight > 0 else 1, low, high, bits, per)
        else:  # changed
            moves = surely_moves(f, low, high, bits, per)
            part = weight * (1.0 if moves == 1 else 0.0 if moves == 0 else (0.0 if weight > 0 else 1.0))
        total += part
        size = max(size, abs(part))
    return total, size


@kernel
def _linear_at(a: Any, row: Any, rules: Any, per: Any) -> Any:
    """The same at a row."""
    total, size = -rules.bound[a], abs(rules.bound[a])
    for t in range(rules.term_at[a], rules.term_at[a + 1]):
        f, weight, what = rules.term[t, 0], rules.weight[t], rules.term[t, 1]
        if what == 0:
            part = weight * per[X, f]
        elif what == 1:
            part = weight * row[f]
        else:
            part = weight * (1.0 if _other(row[f], per[X, f]) else 0.0)
        total += part
        size = max(size, abs(part))
    return total, size


@kernel
def surely_broken(c: Any, low: Any, high: Any, bits: Any, rules: Any, per: Any) -> Any:
    """Whether no row of a box keeps a clause."""
    for a in range(rules.atom_at[c], rules.atom_at[c + 1]):
        f = rules.feature[a]
        if rules.kind[a] == LINEAR:
            least, size = _linear_least(a, low, high, bits, rules, per)
            if not least > 4e-9 * size:  # wider than what the judge lets pass
                return False
        elif rules.kind[a] == LEVELS:
            if rules.before[a]:
                if rules.allowed[a] & bit(per[X, f]):
                    return False
            elif per[KIND, f] == 0 or rules.allowed[a] & bits[f]:
                return False
        else:
            moves = surely_moves(f, low, high, bits, per)
            if moves == 2 or (moves == 1) == rules.changed[a]:
                return False
    return True


@kernel
def _holds(c: Any, row: Any, rules: Any, per: Any) -> Any:
    """Whether a row keeps a clause."""
    for a in range(rules.atom_at[c], rules.atom_at[c + 1]):
        f = rules.feature[a]
        if rules.kind[a] == LINEAR:
            over, size = _linear_at(a, row, rules, per)
            if over <= (-2e-9 * size if rules.strict[a] else 0.5e-9 * size):
                return True
        elif rules.kind[a] == LEVELS:
            if rules.allowed[a] & bit(per[X, f] if rules.before[a] else row[f]):
                return True
        elif _other(row[f], per[X, f]) == rules.changed[a]:
            return True
    return False


@kernel
def first_broken(row: Any, rules: Any, per: Any, live: Any) -> Any:
    """The first clause that a row breaks; -1: none."""
    for c in range(len(live)):
        if live[c] and not _holds(c, row, rules, per):
            return c
    return -1


@kernel
def _towards(a: Any, f: Any, row: Any, rules: Any, per: Any) -> Any:
    """The value of a feature at which a linear atom just holds with all else as in a row; NaN: it has no say."""
    weight = 0.0
    for t in range(rules.term_at[a], rules.term_at[a + 1]):
        if rules.term[t, 0] == f and rules.term[t, 1] == 1:
            weight += rules.weight[t]
    if weight == 0.0:
        return np.nan
    over, size = _linear_at(a, row, rules, per)
    if rules.strict[a]:
        over += 4e-9 * size
    return row[f] - over / weight


@kernel
def split_by_clause(
    c: Any, row: Any, low: Any, high: Any, bits: Any, may: Any, rules: Any, per: Any, cut: Any
) -> Any:
    """Choose how to split a box whose cheapest row breaks a clause: (feature, way); feature -1: it cannot be split.

    way 0: at cut[0], what is below and what is above; 1: in the levels of cut[1] and others; 2: the person's own value,
    below and above it.
    """
    widest, feature, way = 0.0, -1, 0
    for a in range(rules.atom_at[c], rules.atom_at[c + 1]):
        if rules.kind[a] == LINEAR:
            for t in range(rules.term_at[a], rules.term_at[a + 1]):
                f = rules.term[t, 0]
                if not may[f] or rules.term[t, 1] == 0:
                    continue
                if rules.term[t, 1] == 2:
                    if surely_moves(f, low, high, bits, per) == 2 and feature < 0:
                        feature, way = f, 2
                    continue
                helpful = -1 if rules.weight[t] > 0 else 1
                if row[f] == _extreme(f, helpful, low, high, bits, per):
                    continue  # nothing in the box helps the clause more than this value
                if per[KIND, f] != 0:
                    inside = 0
                    for level in range(int(per[N_LEVELS, f])):
                        inside += (bits[f] & bit(level)) != 0
                    if inside / per[N_LEVELS, f] > widest:
                        feature, way, widest, seen = f, 1, inside / per[N_LEVELS, f], 0
                        for level in range(int(per[N_LEVELS, f])):
                            seen += (bits[f] & bit(level)) != 0
                            if 2 * seen >= inside:
                                cut[1] = level
                                break
                    continue
                width = (high[f] - low[f]) / (per[WHOLE, f] / per[INVERSE, f])
                if width > max(widest, _NARROW):
                    target = _towards(a, f, row, rules, per)
                    middle = low[f] + (high[f] - low[f]) / 2.0
                    at = lattice_inside(f, middle, -1.0, per)
                    if low[f] < target < high[f]:  # the side that helps holds the target itself
                        at = lattice_inside(f, target, helpful, per)
                        at = at if helpful < 0 else np.nextafter(at, -_INF)
                    at = at if low[f] <= at < high[f] else middle
                    if low[f] <= at < high[f]:
                        feature, way, widest = f, 0, width
                        cut[0] = at
        elif rules.kind[a] == LEVELS and not rules.before[a]:
            f = rules.feature[a]
            if may[f] and (bits[f] & rules.allowed[a]) and (bits[f] & ~rules.allowed[a]):
                cut[2] = a
                return f, 3
        elif rules.kind[a] == MOVED:
            f = rules.feature[a]
            if may[f] and surely_moves(f, low, high, bits, per) == 2 and feature < 0:
                feature, way = f, 2
    return feature, way


@kernel
def _push(
    heap: Any, size: Any, low: Any, high: Any, bits: Any, most: Any, cutoff: Any, active: Any, forest: Any, per: Any,
    one: Any, room: Any, rules: Any, live: Any,
) -> Any:  # fmt: skip
    """Put the box in the last place of the room on the heap, unless it surely holds nothing; return the new size."""
    cost, changes = cheapest_row(room.trial, low, high, bits, active, per, one)
    if cost >= cutoff or changes > most:
        return size
    if cutoff < _INF:
        keep_payable(room.trial, cost, cutoff, low, high, bits, active, per, one)
    for c in range(len(live)):
        if live[c] and surely_broken(c, low, high, bits, rules, per):
            return size
    for i in range(len(active)):
        f = active[i]
        if per[KIND, f] == 0:
            room.first[size, f], room.last[size, f] = _cell(f, low[f], forest), _cell(f, high[f], forest)
    heapq.heappush(heap, (cost, size))
    return size + 1


@kernel
def _copy(room: Any, at: Any, size: Any) -> None:
    write(room.low[size], room.low[at])
    write(room.high[size], room.high[at])
    write(room.bits[size], room.bits[at])
    write(room.first[size], room.first[at])
    write(room.last[size], room.last[at])
    write(room.reached[size], room.reached[at])
    room.known[size] = _LOWEST


@kernel
def _search(
    forest: Any, own: Any, per: Any, one: Any, need: Any, sure: Any, usual: Any, split: Any, most: Any, cutoff: Any,
    limit: Any, active: Any, may: Any, room: Any, rules: Any, live: Any, out: Any,
) -> Any:  # fmt: skip
    """Search from the box in the first place of the room; see the module. The trees from `split` on add up to `usual`
    at least at any row that counts. Return (end, boxes looked at, bound); OPEN
    with fewer boxes than the limit: nothing surely, but a clause was too near to tell."""
    heap = [(0.0, 0)]
    heap.pop()
    cut = np.zeros(3)
    room.reached[0], room.known[0] = own.roots, _LOWEST
    size = _push(
        heap,
        0,
        room.low[0],
        room.high[0],
        room.bits[0],
        most,
        cutoff,
        active,
        forest,
        per,
        one,
        room,
        rules,
        live,
    )
    cell = np.zeros(per.shape[1], np.int64)
    row = per[X].copy()
    looked, doubt = 0, _INF
    while len(heap):
        cost, at = heapq.heappop(heap)
        if looked >= limit or size + 3 > room.low.shape[0]:
            return OPEN, looked, min(cost, doubt)
        looked += 1
        low, high, bits = room.low[at], room.high[at], room.bits[at]
        first, last = room.first[at], room.last[at]
        cheapest_row(row, low, high, bits, active, per, one)
        for i in range(len(active)):
            f = active[i]
            cell[f] = _cell(f, row[f], forest) if per[KIND, f] == 0 else int(row[f])
        best, here, open_ = _bound(
            0, split, first, last, bits, cell, room.known[at], room.reached[at], forest, own, per, room.votes,
            room.splits, room.stack,
        )  # fmt: skip
        gap = float(best - need) + 1.0
        if best >= need and here < need:
            f, rank, left, right = _best_split(gap, open_, forest, per, room.votes, room.splits)
        else:
            f, rank, left, right = -1, -1, np.int64(0), np.int64(0)
        for i in range(open_):
            key = _key(room.splits[i, 0], room.splits[i, 1], forest, per)
            room.votes[key, 0] = room.votes[key, 1] = 0
        if best < need:
            continue
        lacking, trees, above = here < need, split, best - need
        if split < len(own.roots):
            top, mine, open_ = _bound(
                split, len(own.roots), first, last, bits, cell, _LOWEST, room.reached[at], forest, own, per, room.votes,
                room.splits, room.stack,
            )  # fmt: skip
            if not lacking and mine < usual <= top:
                gap = float(top - usual) + 1.0
                f, rank, left, right = _best_split(gap, open_, forest, per, room.votes, room.splits)
                lacking, trees, above = True, len(own.roots) - split, top - usual
            for i in range(open_):
                key = _key(room.splits[i, 0], room.splits[i, 1], forest, per)
                room.votes[key, 0] = room.votes[key, 1] = 0
            if top < usual:
                continue
        if not lacking:
            broken = first_broken(row, rules, per, live)
            if broken < 0:
                write(out, row)
                return (FOUND if here >= sure else UNSURE), looked, min(cost, doubt)
            f, way = split_by_clause(broken, row, low, high, bits, may, rules, per, cut)
            if f < 0:
                doubt = min(doubt, cost)  # the clause is neither kept nor surely broken: too near to tell
                continue
            size = _children(
                heap, at, size, f, way, cut, most, cutoff, active, forest, per, one, room, rules, live
            )
            continue
        for side in range(2):
            if above < (left if side == 0 else right) - trees:
                continue  # this side cannot be a yes any more; votes count up to one a tree too much
            _copy(room, at, size)
            if per[KIND, f] == 0:
                same = (cell[f] <= rank) == (side == 0)
            else:
                same = ((forest.sides[rank] & bit(cell[f])) != 0) == (side == 0)
            room.known[size] = here if same else _LOWEST
            if per[KIND, f] == 0:
                edge = forest.cut[forest.places[0, f] + rank]
                if side == 0:
                    room.high[size, f] = min(edge, room.high[size, f])
                else:
                    room.low[size, f] = max(np.nextafter(edge, _INF), room.low[size, f])
            else:
                room.bits[size, f] &= forest.sides[rank] if side == 0 else ~forest.sides[rank]
            size = _push(
                heap, size, room.low[size], room.high[size], room.bits[size], most, cutoff, active, forest, per, one,
                room, rules, live,
            )  # fmt: skip
    return (NONE_EXISTS if doubt == _INF else OPEN), looked, doubt


@kernel
def _children(
    heap: Any, at: Any, size: Any, f: Any, way: Any, cut: Any, most: Any, cutoff: Any, active: Any, forest: Any,
    per: Any, one: Any, room: Any, rules: Any, live: Any,
) -> Any:  # fmt: skip
    """Split a box as `split_by_clause` chose; return the new size."""
    x = per[X, f]
    for part in range(3 if way == 2 else 2):
        _copy(room, at, size)
        if way == 0:
            if part == 0:
                room.high[size, f] = cut[0]
            else:
                room.low[size, f] = np.nextafter(cut[0], _INF)
        elif way == 1:
            below = bit(cut[1] + 1.0) - _ONE
            room.bits[size, f] &= below if part == 0 else ~below
        elif way == 3:
            allowed = rules.allowed[int(cut[2])]
            room.bits[size, f] &= allowed if part == 0 else ~allowed
        elif per[KIND, f] == 0:
            if part == 0:
                room.low[size, f] = room.high[size, f] = x
            elif part == 1:
                room.high[size, f] = np.nextafter(x, -_INF)
            else:
                room.low[size, f] = np.nextafter(x, _INF)
            if room.low[size, f] > room.high[size, f]:
                continue
        else:
            if part == 2:
                continue
            room.bits[size, f] &= bit(x) if part == 0 else ~bit(x)
        size = _push(
            heap, size, room.low[size], room.high[size], room.bits[size], most, cutoff, active, forest, per, one, room,
            rules, live,
        )  # fmt: skip
    return size


@kernel
def _bare_all(people: Any, forest: Any, own: Any, rules: Any, room: Any, out: Any) -> Any:
    """The same without counts of references, see `bare`."""
    p, g, o, r, m = people, forest, own, rules, room
    return (
        BoxPeople(
            bare(p.x), bare(p.least), bare(p.greatest), bare(p.weight), bare(p.may), bare(p.fill), bare(p.levels),
            bare(p.stays), bare(p.most), bare(p.cutoff), bare(p.limit),
        ),
        CellForest(
            bare(g.nodes), bare(g.value), bare(g.sides), bare(g.roots), bare(g.places), bare(g.cut), bare(g.cells),
            bare(g.add), bare(g.stack), bare(g.few), bare(g.few_nodes), bare(g.few_value), bare(g.few_roots),
            bare(g.touched), bare(g.run),
        ),
        ReachedForest(bare(o.nodes), bare(o.roots)),
        Clauses(
            bare(r.atom_at), bare(r.kind), bare(r.feature), bare(r.before), bare(r.changed), bare(r.allowed),
            bare(r.bound), bare(r.strict), bare(r.term_at), bare(r.term), bare(r.weight), bare(r.reads),
        ),
        BoxRoom(
            bare(m.low), bare(m.high), bare(m.bits), bare(m.first), bare(m.last), bare(m.votes), bare(m.splits),
            bare(m.stack), bare(m.active), bare(m.trial), bare(m.reached), bare(m.known),
        ),
        bare(out),
    )  # fmt: skip


@kernel
def begin_person(
    i: Any, people: Any, rules: Any, per: Any, gone: Any, may: Any, live: Any, low: Any, high: Any, bits: Any,
    active: Any,
) -> Any:  # fmt: skip
    """Write the box of all that a person may do, the features that may change, and the clauses that count for them;
    return (how many features may change, whether somebody is where they may not stay)."""
    write(per[X], people.x[i])
    write(per[WEIGHT], people.weight[i])
    count, stuck = 0, False
    for f in range(per.shape[1]):
        x = per[X, f]
        gone[f] = np.isnan(x) and not people.fill[i, f]
        wanted = people.fill[i, f] or per[USED, f] > 0 or rules.reads[f] or not people.stays[i, f]
        may[f] = people.may[i, f] and wanted and not gone[f]
        stuck = stuck or (people.fill[i, f] and not may[f])
        low[f] = high[f] = x
        bits[f] = bit(per[N_LEVELS, f] if np.isnan(x) else x) if per[KIND, f] != 0 else np.uint64(0)
        if not may[f]:
            stuck = stuck or not people.stays[i, f]
            continue
        if per[KIND, f] == 0:
            per[LEGAL_FROM, f] = lattice_inside(f, people.least[i, f], 1.0, per)
            per[LEGAL_TO, f] = lattice_inside(f, people.greatest[i, f], -1.0, per)
            low[f], high[f] = per[LEGAL_FROM, f], per[LEGAL_TO, f]
            if not np.isnan(x):
                low[f], high[f] = min(low[f], x), max(high[f], x)
        else:
            stay = bits[f] if people.stays[i, f] and not np.isnan(x) else np.uint64(0)
            bits[f] = people.levels[i, f] | stay
            stuck = stuck or bits[f] == 0
        active[count] = f
        count += 1
    for c in range(len(live)):
        live[c] = True
        for a in range(rules.atom_at[c], rules.atom_at[c + 1]):
            if (
                rules.kind[a] == LEVELS
            ):  # unknown where it reads a missing value; whether one stays so is known
                f = rules.feature[a]
                live[c] = live[c] and not (np.isnan(per[X, f]) if rules.before[a] else gone[f])
            elif rules.kind[a] == LINEAR:
                for t in range(rules.term_at[a], rules.term_at[a + 1]):
                    f, what = rules.term[t, 0], rules.term[t, 1]
                    unknown = what != 2 and (np.isnan(per[X, f]) if what == 0 else gone[f])
                    live[c] = live[c] and not unknown
    return count, stuck


@entry
def search_boxes(
    people: Any, forest: Any, own: Any, feature: Any, number: Any, need: Any, sure: Any, usual: Any, split: Any,
    rules: Any, room: Any, begin: Any, whole: Any, out: Any, end: Any, bound: Any, looked: Any,
) -> None:  # fmt: skip
    """Search for each person: out (n, d) the cheapest row that is a yes, end (n,) how the search ended, bound (n,) that
    nothing costs less, looked (n,) boxes. begin: the share of the dearest row's cost that the first round may pay, from
    1 on all; whole: the last round, in which all may be paid, is held."""
    people, forest, own, rules, room, out = _bare_all(people, forest, own, rules, room, out)
    n, d = people.x.shape
    per, one = np.zeros((PER_ROWS, d)), np.zeros(PEAK + 1)
    for row in range(feature.shape[0]):
        write(per[row], feature[row])
    write(one, number)
    gone, may = np.zeros(d, np.bool_), np.zeros(d, np.bool_)
    live = np.zeros(len(rules.atom_at) - 1, np.bool_)
    own_low, own_high, own_bits = np.empty(d), np.empty(d), np.empty(d, np.uint64)
    for i in range(n):
        count, stuck = begin_person(i, people, rules, per, gone, may, live, room.low[0], room.high[0], room.bits[0],
                                    room.active)  # fmt: skip
        if stuck:  # a level that the rules forbid has nowhere to go
            end[i], bound[i] = NONE_EXISTS, _INF
            continue
        low, high, bits = room.low[0], room.high[0], room.bits[0]
        for f in range(d):
            if per[KIND, f] == 0 and not gone[f]:
                room.first[0, f], room.last[0, f] = _cell(f, low[f], forest), _cell(f, high[f], forest)
        active = room.active[:count]
        write(own_low, low)
        write(own_high, high)
        write(own_bits, bits)
        all_of_it = _all_changes(low, high, bits, active, per, one)
        pay, end[i] = begin * all_of_it, TOO_DEAR
        while end[i] == TOO_DEAR:
            last = pay >= min(all_of_it, people.cutoff[i])
            if last and not whole:
                break
            cutoff = people.cutoff[i] if last else pay
            write(low, own_low)
            write(high, own_high)
            write(bits, own_bits)
            if cutoff < _INF:
                least, _ = cheapest_row(room.trial, low, high, bits, active, per, one)
                if least < cutoff:
                    keep_payable(room.trial, least, cutoff, low, high, bits, active, per, one)
            for j in range(count):
                f = active[j]
                if per[KIND, f] == 0:
                    room.first[0, f], room.last[0, f] = _cell(f, low[f], forest), _cell(f, high[f], forest)
            _prune(forest, room.first[0], room.last[0], bits, gone, per, own, room.stack)
            write(out[i], people.x[i])
            left = people.limit[i] - looked[i]
            found, boxes, least = _search(
                forest, own, per, one, need[i], sure[i], usual[i], split, people.most[i], cutoff, left, active, may,
                room, rules, live, out[i],
            )  # fmt: skip
            looked[i] += boxes
            bound[i] = max(bound[i], min(least, cutoff))
            if last or found in (FOUND, UNSURE) or (found == OPEN and boxes >= left):
                end[i], bound[i] = found, max(bound[i], least)
            pay *= _MORE
