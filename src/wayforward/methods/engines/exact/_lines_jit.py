"""The kernels of `line_boxes`: branch and bound over boxes of rows against a linear score, one person after another.

The boxes are those of `_boxes_jit`, and so are the clauses of the rules. The bound of a box is a Lagrangian one: each
feature takes the value that is best at a price on the score, and at a second price on the linear rule that the answer
to the first breaks the most. Both prices are the best ones, found by meeting tangents. Between the values that just
do not reach the score and those that do lies a row, which is a way forward if it keeps the rules: so the first boxes
have one, mostly, and what costs as much is left out from there on. A box is split where its bound is too low: where
the bound mixes two values, or where the row breaks a rule.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from wayforward.compiling import kernel as entry
from wayforward.methods.engines.exact._boxes_jit import (
    FOUND,
    LEGAL_FROM,
    LEGAL_TO,
    LINEAR,
    NONE_EXISTS,
    OPEN,
    UNSURE,
    begin_person,
    bit,
    cheapest_row,
    first_broken,
    keep_payable,
    split_by_clause,
    surely_broken,
    surely_moves,
)
from wayforward.methods.engines.exact._boxes_jit import PER_ROWS as FOREST_ROWS
from wayforward.methods.engines.exact.box_records import BoxPeople, Clauses, Line, LineRoom
from wayforward.methods.engines.seeker._jit import (
    FIXED,
    INVERSE,
    KIND,
    LEAST,
    LEVEL_AT,
    N_LEVELS,
    SLOPE,
    SPAN,
    SQUARE,
    STEP,
    WEIGHT,
    X,
    bare,
    kernel,
    lattice_inside,
    price_of,
    quick,
    small,
    write,
)  # fmt: skip

DOWN, UP = FOREST_ROWS, FOREST_ROWS + 1  # rows of `per`: the nearest other values on either side of X
PER_ROWS = FOREST_ROWS + 2
FEW, ENOUGH, ROW, TRIAL, OF_RULE, OF_CHANGE, BEST_FEW, BEST_ENOUGH = range(8)  # rows of `LineRoom.rows`
CUT, MASK, AROUND = range(3)  # ways to split
_INF = np.inf
_SAME = 1e-9  # of a cost: what is dearer by less is as good
_ROUNDING = 1e-13  # of the sizes that a bound is summed from
_LEAPS, _MEETINGS, _SECOND = 60, 60, 12  # prices tried at most: until one is enough, between two, on a rule
_KEPT = 1e-9  # of a rule's size: what breaks it by less keeps it
_NARROW = 1e-9  # of a span
_PUSHED = 1e-12  # of the sizes of a score: so much farther a number goes than it needs to


@small
def _copy(rows: Any, at: Any, other: Any) -> None:
    for f in range(rows.shape[1]):
        rows[at, f] = rows[other, f]


@small
def _gain(f: Any, v: Any, line: Any, per: Any) -> Any:
    if per[KIND, f] == 0:
        return line.slope[f] * v - line.dent[f] * abs(v - line.centre[f])
    return line.table[int(per[LEVEL_AT, f]) + int(v)]


@small
def _slope(f: Any, v: Any, side: Any, line: Any) -> Any:
    """What a number gains for each unit that it grows, on one side of a value."""
    beyond = v > line.centre[f] or (v == line.centre[f] and side > 0.0)
    return line.slope[f] - (line.dent[f] if beyond else -line.dent[f])


@small
def _where_enough(f: Any, v: Any, end: Any, more: Any, line: Any) -> Any:
    """The value on the way from v to an end at which a number has gained so much more; at the end it has."""
    side, centre = 1.0 if end > v else -1.0, line.centre[f]
    if line.dent[f] > 0.0 and side * (centre - v) > 0.0 and side * (end - centre) > 0.0:
        first = _slope(f, v, side, line) * (centre - v)
        if first < more:
            return centre + (more - first) / _slope(f, centre, side, line)
    return v + more / _slope(f, v, side, line)


@quick
def _pick(
    f: Any, pay: Any, toll: Any, low: Any, high: Any, bits: Any, rows: Any, line: Any, per: Any, one: Any
) -> Any:
    """Return (least, value): what a feature's value costs less `pay` times its gain and with `toll` times what it adds
    to the second rule, and the value at which that is least; inf: the box is empty."""
    x, weight = per[X, f], per[WEIGHT, f]
    each, moved, dent = rows[OF_RULE, f], rows[OF_CHANGE, f], line.dent[f]
    least, value = _INF, np.nan
    if per[KIND, f] != 0:
        for level in range(int(per[N_LEVELS, f])):
            if bits & bit(level):
                v = float(level)
                worth = price_of(f, v, x, weight, per, one) - pay * _gain(f, v, line, per)
                worth += toll * (each * v + (moved if v != x else 0.0))
                if worth < least:
                    least, value = worth, v
        return least, value
    if low <= x <= high:
        least, value = toll * each * x - pay * _gain(f, x, line, per), x
    for side in range(2):
        if np.isnan(x):
            first, last = low, high
        elif side == 0:
            first, last = low, min(high, per[DOWN, f])
        else:
            first, last = max(low, per[UP, f]), high
        if not first <= last:
            continue
        for end in range(3 if dent == 0.0 else 6):
            v = first if end == 0 else last
            if end >= 4:  # the legal values on either side of the centre
                v = lattice_inside(f, line.centre[f], -1.0 if end == 4 else 1.0, per)
                v = min(max(v, first), last)
            elif end >= 2:  # where a square turns, beyond the centre and before it
                if one[SQUARE] == 0.0 or np.isnan(x):
                    continue
                slope = line.slope[f] - (dent if end == 2 else -dent)
                pull = (pay * slope - toll * each) * (1.0 if side else -1.0) / (weight * per[INVERSE, f])
                size = (pull - one[SLOPE]) / (2.0 * one[SQUARE])
                v = x + (size if side else -size) / per[INVERSE, f]
                v = min(max(v, first), last)
            worth = (
                price_of(f, v, x, weight, per, one) - pay * _gain(f, v, line, per) + toll * (each * v + moved)
            )
            if worth < least:
                least, value = worth, v
    return least, value


@quick
def _picks(
    at: Any, pay: Any, toll: Any, low: Any, high: Any, bits: Any, rows: Any, active: Any, line: Any, per: Any, one: Any
) -> Any:  # fmt: skip
    """Write the values of all features at two prices; return (least sum, gains, what they add to the second rule)."""
    total, gained, load = 0.0, 0.0, 0.0
    for i in range(len(active)):
        f = active[i]
        least, v = _pick(f, pay, toll, low[f], high[f], bits[f], rows, line, per, one)
        rows[at, f] = v
        if least == _INF:
            return _INF, 0.0, 0.0
        total += least
        gained += _gain(f, v, line, per)
        load += rows[OF_RULE, f] * v + (rows[OF_CHANGE, f] if v != per[X, f] else 0.0)
    return total, gained, load


@quick
def _at_toll(
    toll: Any, need: Any, size: Any, low: Any, high: Any, bits: Any, room: Any, active: Any, line: Any, per: Any,
    one: Any,
) -> Any:  # fmt: skip
    """The best price on the score at a price on the second rule: write the values that just do not gain enough and
    those that do; return (bound, share of the way between them at which they do, what the row there adds to the
    second rule)."""
    rows = room.rows
    base, few, load = _picks(FEW, 0.0, toll, low, high, bits, rows, active, line, per, one)
    if few >= need:
        _copy(rows, ENOUGH, FEW)
        return base, 1.0, load
    bound, low_price, high_price = (
        base,
        base,
        0.0,
    )  # prices: what the values cost in all, the second rule's included
    pay, gained, more = room.pay[0], 0.0, 0.0
    for _ in range(_LEAPS):
        value, gained, more = _picks(ENOUGH, pay, toll, low, high, bits, rows, active, line, per, one)
        bound = max(bound, value + pay * need - _ROUNDING * pay * size)
        high_price = value + pay * gained
        if gained >= need:
            break
        _copy(rows, FEW, ENOUGH)
        low_price, few, load = high_price, gained, more
        pay *= 8.0
    if gained < need:
        return bound, 0.0, load
    for _ in range(_MEETINGS):
        pay = (high_price - low_price) / (gained - few)
        value, there, here = _picks(ROW, pay, toll, low, high, bits, rows, active, line, per, one)
        found = value + pay * need
        bound = max(bound, found - _ROUNDING * pay * size)
        meets = low_price + pay * (need - few)
        if found >= meets - 1e-12 * (abs(meets) + pay * abs(need)) or there in (few, gained):
            break
        if there >= need:
            _copy(rows, ENOUGH, ROW)
            high_price, gained, more = value + pay * there, there, here
        else:
            _copy(rows, FEW, ROW)
            low_price, few, load = value + pay * there, there, here
    room.pay[0] = pay * 2.0 if pay > 0.0 else 1.0
    share = (need - few) / (gained - few)
    return bound, share, load + share * (more - load)


@quick
def _read_rule(c: Any, rows: Any, active: Any, may: Any, rules: Any, per: Any) -> Any:
    """Write what each feature adds to a clause of one linear atom (-1: to the number of changes, bound not included);
    return (its bound less what the others add, its size)."""
    d = per.shape[1]
    for f in range(d):
        rows[OF_RULE, f] = 0.0
        rows[OF_CHANGE, f] = 1.0 if c < 0 else 0.0
    if c < 0:
        return 0.0, 1.0
    a = rules.atom_at[c]
    left, size = rules.bound[a], abs(rules.bound[a])
    for t in range(rules.term_at[a], rules.term_at[a + 1]):
        f, weight, what = rules.term[t, 0], rules.weight[t], rules.term[t, 1]
        if what == 2:
            rows[OF_CHANGE, f] += weight
            size = max(size, abs(weight))
            continue
        size = max(size, abs(weight * per[X, f])) if not np.isnan(per[X, f]) else size
        if what == 0 or not may[f]:
            left -= weight * per[X, f]
        else:
            rows[OF_RULE, f] += weight
    return left, size


@quick
def _no_rule(rows: Any) -> None:
    for f in range(rows.shape[1]):
        rows[OF_RULE, f] = rows[OF_CHANGE, f] = 0.0


@quick
def _worst_rule(
    share: Any, most: Any, rows: Any, active: Any, may: Any, rules: Any, per: Any, live: Any
) -> Any:
    """The clause of one linear atom that the mixed row breaks the most, -1: the number of changes, -2: none."""
    worst, which = _KEPT, -2
    changes = 0.0
    for i in range(len(active)):
        f = active[i]
        changes += (1.0 - share) * (rows[FEW, f] != per[X, f]) + share * (rows[ENOUGH, f] != per[X, f])
    if changes - most > worst:
        worst, which = (changes - most) / (most + 1.0), -1
    for c in range(len(live)):
        a = rules.atom_at[c]
        if not live[c] or rules.atom_at[c + 1] != a + 1 or rules.kind[a] != LINEAR:
            continue
        over, size = -rules.bound[a], abs(rules.bound[a])
        for t in range(rules.term_at[a], rules.term_at[a + 1]):
            f, weight, what = rules.term[t, 0], rules.weight[t], rules.term[t, 1]
            x = per[X, f]
            if what == 2:
                part = 0.0
                if may[f]:
                    part = (1.0 - share) * (rows[FEW, f] != x) + share * (rows[ENOUGH, f] != x)
            elif what == 0 or not may[f]:
                part = x
            else:
                part = rows[FEW, f] + share * (rows[ENOUGH, f] - rows[FEW, f])
            over += weight * part
            size = max(size, abs(weight * part))
        if over > worst * size and size > 0.0:
            worst, which = over / size, c
    return which


@quick
def _relaxed(
    need: Any, size: Any, most: Any, cutoff: Any, low: Any, high: Any, bits: Any, room: Any, active: Any, may: Any,
    line: Any, per: Any, one: Any, rules: Any, live: Any,
) -> Any:  # fmt: skip
    """Bound a box; leave the values that are just not enough, and those that are, in their rows; return (bound, share,
    the clause that has a price: -2 none)."""
    rows = room.rows
    _no_rule(rows)
    bound, share, _ = _at_toll(0.0, need, size, low, high, bits, room, active, line, per, one)
    if bound >= cutoff:
        return bound, share, -2
    which = _worst_rule(share, most, rows, active, may, rules, per, live)
    if which == -2:
        return bound, share, which
    left, scale = _read_rule(which, rows, active, may, rules, per)
    left = float(most) if which < 0 else left
    left += 4e-9 * scale  # what the judge lets pass
    load = 0.0
    for i in range(len(active)):
        f = active[i]
        v, w = rows[FEW, f], rows[ENOUGH, f]
        one_, two = rows[OF_RULE, f] * v, rows[OF_RULE, f] * w
        one_ += rows[OF_CHANGE, f] if v != per[X, f] else 0.0
        two += rows[OF_CHANGE, f] if w != per[X, f] else 0.0
        load += one_ + share * (two - one_)
    if not load > left:  # it is broken by less than the judge lets pass: a price would bound nothing
        return bound, share, -2
    at, value, over = 0.0, bound, load - left  # of the last price that is too low, and the least that is not
    top, top_value, top_over = _INF, 0.0, 0.0
    _copy(rows, BEST_FEW, FEW)
    _copy(rows, BEST_ENOUGH, ENOUGH)
    best_share, trial = share, max(bound, 1e-6) / max(over, 1e-12) * 0.5
    for _ in range(_SECOND):
        if top < _INF:
            trial = (top_value - value + over * at - top_over * top) / (over - top_over)
            if not at < trial < top:  # rounding
                break
        meets = value + over * (trial - at)
        found, part, load = _at_toll(trial, need, size, low, high, bits, room, active, line, per, one)
        found -= trial * left + _ROUNDING * trial * abs(left)
        beyond = load - left
        if found > bound:
            bound, best_share = found, part
            _copy(rows, BEST_FEW, FEW)
            _copy(rows, BEST_ENOUGH, ENOUGH)
        if bound >= cutoff or (top < _INF and found >= meets - 1e-9 * abs(meets)):
            break
        if beyond > 0.0:
            at, value, over = trial, found, beyond
            trial *= 4.0
        else:
            top, top_value, top_over = trial, found, beyond
            if beyond == 0.0:
                break
    _copy(rows, FEW, BEST_FEW)
    _copy(rows, ENOUGH, BEST_ENOUGH)
    return bound, best_share, which


@quick
def _hopeless(
    need: Any, most: Any, low: Any, high: Any, bits: Any, active: Any, line: Any, per: Any, left: Any
) -> Any:
    """Whether no row of a box gains enough with so many changes."""
    gained, moves, count = 0.0, 0, 0
    for i in range(len(active)):
        f = active[i]
        x, best, own = per[X, f], -_INF, -_INF
        if per[KIND, f] == 0:
            best = max(_gain(f, low[f], line, per), _gain(f, high[f], line, per))
            if line.dent[f] > 0.0 and low[f] < line.centre[f] < high[f]:
                best = max(best, _gain(f, line.centre[f], line, per))
            if low[f] <= x <= high[f]:
                own = _gain(f, x, line, per)
        else:
            for level in range(int(per[N_LEVELS, f])):
                if bits[f] & bit(level):
                    gain = _gain(f, float(level), line, per)
                    best = max(best, gain)
                    own = gain if float(level) == x else own
        if own == -_INF:
            gained += best
            moves += 1
            continue
        gained += own
        left[count] = best - own
        count += 1
    for _ in range(min(most - moves, count)):
        at = 0
        for i in range(1, count):
            if left[i] > left[at]:
                at = i
        if not left[at] > 0.0:
            break
        gained += left[at]
        left[at] = 0.0
    return moves > most or gained < need


@quick
def _row_between(
    share: Any,
    sure: Any,
    size: Any,
    low: Any,
    high: Any,
    room: Any,
    active: Any,
    line: Any,
    per: Any,
    one: Any,
) -> Any:
    """Write the row on the way from the values that are not enough to those that are, each as far as it must go; return
    its gains."""
    rows = room.rows
    row, few, enough = rows[TRIAL], rows[FEW], rows[ENOUGH]
    gained = 0.0
    for i in range(len(active)):
        f = active[i]
        v = few[f]
        if (
            per[KIND, f] == 0 and v != per[X, f] and one[SQUARE] > 0.0
        ):  # where a square turns is no legal value yet
            side = 1.0 if _slope(f, v, 1.0, line) > 0.0 else -1.0
            v = min(max(lattice_inside(f, v, side, per), low[f]), high[f])
        row[f] = v
        gained += _gain(f, v, line, per)
    for i in range(len(active)):
        f = active[i]
        if gained >= sure:
            break
        if few[f] == enough[f]:
            continue
        more = _gain(f, enough[f], line, per) - _gain(f, row[f], line, per)
        if more <= 0.0 and share < 1.0:
            continue
        v = enough[f]
        if per[KIND, f] == 0 and more > 0.0 and gained + more > sure:
            side = 1.0 if enough[f] > row[f] else -1.0
            just = _where_enough(f, row[f], enough[f], sure - gained + _PUSHED * size, line)
            v, x = lattice_inside(f, just, side, per), per[X, f]
            if side * (just - v) > 0.0:  # on the lattice, but a little short
                v = lattice_inside(f, v + side * per[STEP, f], side, per)
            if v > per[DOWN, f] and v < per[UP, f] and v != x:  # too little is no change
                if side > 0.0:
                    v = x if v < x else per[UP, f]
                else:
                    v = x if v > x else per[DOWN, f]
            v = min(max(v, low[f]), high[f])
        gained += _gain(f, v, line, per) - _gain(f, row[f], line, per)
        row[f] = v
    gained = 0.0  # summed as everywhere
    for i in range(len(active)):
        gained += _gain(active[i], row[active[i]], line, per)
    return gained


@quick
def _gain_of(row: Any, active: Any, line: Any, per: Any) -> Any:
    gained = 0.0
    for i in range(len(active)):
        gained += _gain(active[i], row[active[i]], line, per)
    return gained


@quick
def _cost_of(row: Any, active: Any, per: Any, one: Any) -> Any:
    total, changes = 0.0, 0
    for i in range(len(active)):
        f = active[i]
        total += price_of(f, row[f], per[X, f], per[WEIGHT, f], per, one)
        changes += row[f] != per[X, f]
    return total, changes


@small
def _inside(f: Any, low: Any, high: Any, per: Any) -> Any:
    """A range that ends on legal values; where the person stands is one."""
    x = per[X, f]
    first, last = max(low, per[LEGAL_FROM, f]), min(high, per[LEGAL_TO, f])
    v = lattice_inside(f, first, 1.0, per)
    first = lattice_inside(f, v + per[STEP, f], 1.0, per) if v < first else v
    v = lattice_inside(f, last, -1.0, per)
    last = lattice_inside(f, v - per[STEP, f], -1.0, per) if v > last else v
    if low <= x <= high:
        first, last = min(first, x), max(last, x)
    return first, last


@small
def _next(f: Any, side: Any, per: Any) -> Any:
    """The nearest other value on one side of where the person stands."""
    x = per[X, f]
    v = min(per[LEGAL_TO, f], x - per[LEAST, f]) if side < 0.0 else max(per[LEGAL_FROM, f], x + per[LEAST, f])
    v = lattice_inside(f, v, side, per)
    if side * (v - x) <= 0.0:
        v = np.nextafter(x, side * _INF)
        if not np.isnan(per[STEP, f]):
            v = lattice_inside(f, x + side * per[STEP, f], side, per)
    return v


@quick
def _choose(
    share: Any, priced: Any, broken: Any, changes: Any, most: Any, low: Any, high: Any, bits: Any, room: Any,
    active: Any, line: Any, per: Any, one: Any,
) -> Any:  # fmt: skip
    """Choose where the bound mixes two values with nothing between them: (feature, way, cut, mask); -1: nowhere."""
    rows = room.rows
    best, feature, way, cut, mask = 0.0, -1, CUT, 0.0, np.uint64(0)
    for i in range(len(active)):
        f = active[i]
        x, a, b = per[X, f], rows[FEW, f], rows[ENOUGH, f]
        between, below = a + share * (b - a), np.nan
        if per[KIND, f] == 0 and not np.isnan(per[STEP, f]) and between != x:
            below = lattice_inside(f, between, -1.0, per)
            off = abs(between - below) > 1e-7 * per[SPAN, f] and low[f] <= below < high[f]
            below = below if off else np.nan
        mixed = a != b and share < 1.0
        if not mixed and np.isnan(below):
            continue
        apart = 1e-12 + abs(
            price_of(f, b if mixed else below, x, per[WEIGHT, f], per, one)
            - price_of(f, a, x, per[WEIGHT, f], per, one)
        )
        if apart <= best:
            continue
        if per[KIND, f] != 0:
            ga, gb = _gain(f, a, line, per), _gain(f, b, line, per)
            chosen = np.uint64(0)
            for level in range(int(per[N_LEVELS, f])):
                if bits[f] & bit(level) and (
                    level == int(a)
                    or (level != int(b) and _gain(f, float(level), line, per) < 0.5 * (ga + gb))
                ):
                    chosen |= bit(level)
            best, feature, way, mask = apart, f, MASK, chosen
            continue
        jumps = (
            mixed
            and (a == x or b == x)
            and (one[FIXED] > 0.0 or (priced >= -1 and rows[OF_CHANGE, f] != 0.0))
        )
        if jumps:
            best, feature, way = apart, f, AROUND
            continue
        if not np.isnan(below):
            best, feature, way, cut = apart, f, CUT, below
        elif between > per[DOWN, f] and between < per[UP, f] and low[f] <= x <= high[f]:
            best, feature, way = apart, f, AROUND
    if feature < 0 and broken < 0 and changes > most:
        for i in range(len(active)):
            f = active[i]
            if rows[TRIAL, f] != per[X, f] and surely_moves(f, low, high, bits, per) == 2:
                gain = abs(_gain(f, rows[TRIAL, f], line, per) - _gain(f, per[X, f], line, per)) + 1e-300
                if gain > best:
                    best, feature, way = gain, f, AROUND
    return feature, way, cut, mask


@quick
def _anywhere(low: Any, high: Any, bits: Any, room: Any, active: Any, per: Any) -> Any:
    """The same, at the widest feature: first of those between whose two values the bound lies."""
    rows, widest, feature, way, cut, mask = room.rows, 0.0, -1, CUT, 0.0, np.uint64(0)
    for i in range(len(active)):
        f = active[i]
        extra = 10.0 if rows[FEW, f] != rows[ENOUGH, f] else 0.0
        if per[KIND, f] == 0:
            width = (high[f] - low[f]) / per[SPAN, f]
            if width > _NARROW and width + extra > widest:
                at = low[f] + (high[f] - low[f]) / 2.0
                between = (rows[FEW, f] + rows[ENOUGH, f]) / 2.0
                if low[f] + 0.02 * (high[f] - low[f]) < between < high[f] - 0.02 * (high[f] - low[f]):
                    at = between
                at = lattice_inside(f, at, -1.0, per)
                if low[f] <= at < high[f]:
                    widest, feature, way, cut = width + extra, f, CUT, at
            continue
        inside, seen, half = 0, 0, np.uint64(0)
        for level in range(int(per[N_LEVELS, f])):
            inside += (bits[f] & bit(level)) != 0
        width = (inside - 1) / per[N_LEVELS, f]
        if inside > 1 and width + extra > widest:
            for level in range(int(per[N_LEVELS, f])):
                if bits[f] & bit(level) and 2 * seen < inside:
                    half |= bit(level)
                    seen += 1
            widest, feature, way, mask = width + extra, f, MASK, half
    return feature, way, cut, mask


@kernel
def _search(
    need: Any, sure: Any, extent: Any, most: Any, cutoff: Any, limit: Any, active: Any, may: Any, room: Any, line: Any,
    per: Any, one: Any, rules: Any, live: Any, out: Any,
) -> Any:  # fmt: skip
    """Search from the box in the first place of the room; see the module. Return (end, boxes looked at, bound)."""
    heap = [(0.0, 0)]
    heap.pop()
    cut_at = np.zeros(3)
    rows = room.rows
    row = rows[TRIAL]
    write(row, per[X])
    size, looked, best, unsure, doubted = 1, 0, cutoff, _INF, _INF
    fresh, parent = 1, -1
    room.pay[0] = 1.0
    least_open = 0.0
    while True:
        for at in range(size - fresh, size):  # bound the new boxes
            if parent >= 0 and looked >= limit:
                heapq.heappush(heap, (room.bound[parent], at))
                room.split[at, 0] = -2  # not looked at
                continue
            looked += 1
            low, high, bits = room.low[at], room.high[at], room.bits[at]
            empty = False
            for i in range(len(active)):
                f = active[i]
                if per[KIND, f] == 0:
                    low[f], high[f] = _inside(f, low[f], high[f], per)
                    empty = empty or not low[f] <= high[f]
                else:
                    empty = empty or bits[f] == 0
            if empty:
                continue
            if best < _INF:
                cost, _ = cheapest_row(rows[ROW], low, high, bits, active, per, one)
                if cost >= best * (1.0 - _SAME):
                    continue
                keep_payable(rows[ROW], cost, best, low, high, bits, active, per, one)
                for i in range(len(active)):
                    f = active[i]
                    if per[KIND, f] == 0:
                        low[f], high[f] = _inside(f, low[f], high[f], per)
            empty = _hopeless(need, most, low, high, bits, active, line, per, room.left)
            for c in range(len(live)):
                empty = empty or (live[c] and surely_broken(c, low, high, bits, rules, per))
            if empty:
                continue
            bound, share, priced = _relaxed(
                need, extent, most, best * (1.0 - _SAME), low, high, bits, room, active, may, line, per, one, rules,
                live,
            )  # fmt: skip
            bound = max(bound, 0.0 if parent < 0 else room.bound[parent])
            if bound >= best * (1.0 - _SAME):
                continue
            gained = _row_between(share, sure, extent, low, high, room, active, line, per, one)
            cost, changes = _cost_of(row, active, per, one)
            broken = first_broken(row, rules, per, live)
            good = broken < 0 and changes <= most
            if good and gained >= sure and cost < best:
                best = cost
                write(out, per[X])
                for i in range(len(active)):
                    out[active[i]] = row[active[i]]
                if bound >= best * (1.0 - _SAME):
                    continue
            f, way, cut, mask = -1, CUT, 0.0, np.uint64(0)
            plain = broken >= 0 and (priced == -2 or rules.atom_at[broken + 1] > rules.atom_at[broken] + 1)
            for turn in range(2):
                if turn == (0 if plain else 1) and broken >= 0:
                    f, how = split_by_clause(broken, row, low, high, bits, may, rules, per, cut_at)
                    if f >= 0:
                        way = CUT if how == 0 else AROUND if how == 2 else MASK
                        cut = cut_at[0]
                        if how == 1:
                            mask = bit(cut_at[1] + 1.0) - bit(0)
                        elif how == 3:
                            mask = rules.allowed[int(cut_at[2])]
                elif turn == (1 if plain else 0):
                    f, way, cut, mask = _choose(
                        share, priced, broken, changes, most, low, high, bits, room, active, line, per, one
                    )
                if f >= 0:
                    break
            if f < 0:
                f, way, cut, mask = _anywhere(low, high, bits, room, active, per)
            if f < 0:  # one row is left
                if gained >= need and changes <= most:
                    if broken >= 0:
                        doubted = min(doubted, bound)  # neither kept nor surely broken: too near to tell
                    elif cost < unsure:
                        unsure = cost
                        write(rows[BEST_FEW], row)
                        write(room.near, per[X])
                        for i in range(len(active)):
                            room.near[active[i]] = row[active[i]]
                continue
            room.bound[at], room.split[at, 0], room.split[at, 1] = bound, f, way
            room.cut[at], room.mask[at] = cut, mask
            heapq.heappush(heap, (bound, at))
        if not len(heap):
            least_open = _INF
            break
        bound, at = heapq.heappop(heap)
        least_open = bound
        if bound >= min(best, unsure) * (1.0 - _SAME):
            break
        if looked >= limit or room.split[at, 0] == -2 or size + 3 > room.low.shape[0]:
            least = min(bound, doubted, unsure)
            return (FOUND if best < cutoff else OPEN), looked, min(least, best)
        f, way, parent, fresh = room.split[at, 0], room.split[at, 1], at, 0
        x = per[X, f]
        for part in range(3 if way == AROUND and per[KIND, f] == 0 else 2):
            write(room.low[size], room.low[at])
            write(room.high[size], room.high[at])
            write(room.bits[size], room.bits[at])
            if way == CUT:
                if part == 0:
                    room.high[size, f] = room.cut[at]
                else:
                    room.low[size, f] = np.nextafter(room.cut[at], _INF)
            elif way == MASK:
                room.bits[size, f] &= room.mask[at] if part == 0 else ~room.mask[at]
            elif per[KIND, f] != 0:
                room.bits[size, f] &= bit(x) if part == 0 else ~bit(x)
            elif part == 0:
                room.low[size, f] = room.high[size, f] = x
            elif part == 1:
                room.high[size, f] = min(room.high[size, f], per[DOWN, f])
            else:
                room.low[size, f] = max(room.low[size, f], per[UP, f])
            if per[KIND, f] == 0 and not room.low[size, f] <= room.high[size, f]:
                continue
            size += 1
            fresh += 1
    least = min(least_open, doubted, unsure, best * (1.0 - _SAME))
    if unsure < best * (1.0 - _SAME) and doubted >= unsure:
        write(out, room.near)
        return UNSURE, looked, least
    if best < cutoff:
        return FOUND, looked, least
    if doubted < _INF or unsure < _INF:
        return OPEN, looked, least
    return NONE_EXISTS, looked, _INF


@kernel
def _bare_all(people: Any, line: Any, rules: Any, room: Any, out: Any) -> Any:
    """The same without counts of references, see `bare`."""
    p, g, r, m = people, line, rules, room
    return (
        BoxPeople(
            bare(p.x), bare(p.least), bare(p.greatest), bare(p.weight), bare(p.may), bare(p.fill), bare(p.levels),
            bare(p.stays), bare(p.most), bare(p.cutoff), bare(p.limit),
        ),
        Line(
            bare(g.slope), bare(g.offset), bare(g.gone), bare(g.table), bare(g.far), bare(g.dent), bare(g.centre)
        ),
        Clauses(
            bare(r.atom_at), bare(r.kind), bare(r.feature), bare(r.before), bare(r.changed), bare(r.allowed),
            bare(r.bound), bare(r.strict), bare(r.term_at), bare(r.term), bare(r.weight), bare(r.reads),
        ),
        LineRoom(
            bare(m.low), bare(m.high), bare(m.bits), bare(m.bound), bare(m.split), bare(m.cut), bare(m.mask),
            bare(m.rows), bare(m.active), bare(m.left), bare(m.near), bare(m.pay),
        ),
        bare(out),
    )  # fmt: skip


@entry
def search_lines(
    people: Any, line: Any, feature: Any, number: Any, need: Any, sure: Any, extent: Any, rules: Any, room: Any,
    out: Any, end: Any, bound: Any, looked: Any,
) -> None:  # fmt: skip
    """Search for each person: out (n, d) the cheapest row that is a yes, end (n,) how the search ended, bound (n,) that
    nothing costs less, looked (n,) boxes. need, sure (n,): what the score may be at least, and what is surely enough;
    extent (n,): the size of what it is summed from."""
    people, line, rules, room, out = _bare_all(people, line, rules, room, out)
    n, d = people.x.shape
    per, one = np.zeros((PER_ROWS, d)), np.zeros(len(number))
    for row in range(feature.shape[0]):
        write(per[row], feature[row])
    write(one, number)
    gone, may = np.zeros(d, np.bool_), np.zeros(d, np.bool_)
    live = np.zeros(len(rules.atom_at) - 1, np.bool_)
    for i in range(n):
        low, high = room.low[0], room.high[0]
        count, stuck = begin_person(
            i, people, rules, per, gone, may, live, low, high, room.bits[0], room.active
        )
        if stuck:  # a level that the rules forbid has nowhere to go
            end[i], bound[i] = NONE_EXISTS, _INF
            continue
        active = room.active[:count]
        rest, wild = 0.0, False
        for f in range(d):
            x = per[X, f]
            if gone[f]:
                rest += line.gone[f]
                continue
            rest += line.offset[f]
            if not may[f]:
                rest += _gain(f, x, line, per)
            elif per[KIND, f] == 0:
                if np.isnan(x):
                    per[DOWN, f], per[UP, f] = -_INF, _INF
                else:
                    per[DOWN, f], per[UP, f] = _next(f, -1.0, per), _next(f, 1.0, per)
        if people.cutoff[i] < _INF:
            least, _ = cheapest_row(room.rows[ROW], low, high, room.bits[0], active, per, one)
            if least < people.cutoff[i]:
                keep_payable(
                    room.rows[ROW], least, people.cutoff[i], low, high, room.bits[0], active, per, one
                )
        for j in range(count):
            f = active[j]
            wild = wild or (per[KIND, f] == 0 and not max(abs(low[f]), abs(high[f])) <= line.far[f])
        if wild:  # there is no end to what it may be
            end[i] = OPEN
            continue
        end[i], looked[i], bound[i] = _search(
            need[i] - rest, sure[i] - rest, extent[i], people.most[i], people.cutoff[i], people.limit[i], active, may,
            room, line, per, one, rules, live, out[i],
        )  # fmt: skip
