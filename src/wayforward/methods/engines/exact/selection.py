"""Choose at most one new value for each feature, so that the gains suffice and the cost is least.

A `Menu` lists for n people what each feature may become, what that gains and what it costs. Two kinds of entry:
single values (a table), and runs: evenly spaced or continuous values along which gain and cost are linear, so
that a feature with a million legal values needs one entry. Two solvers read it:

- `cheapest_sum` and `cheapest_peak` work on everybody at once (Lagrangian bound and repair; bisection on the
  level) and say for whom their answer is proved optimal;
- `solve` is a mixed-integer program for one person, with cuts, linear rules and limits on the number of changes.

Source: B. Ustun, A. Spangher, Y. Liu (2019), Actionable Recourse in Linear Classification, FAT*; for the bound:
P. Sinha, A. Zoltners (1979), The Multiple-Choice Knapsack Problem, Oper. Res. 27(3).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from wayforward.deadline import look

_CHANGE = 1e-5  # of the scaled objective, for each change: a billionth of a typical cost
_TIE = 1e-12  # relative rounding error that a sum of gains may carry
_CELLS = 3_000_000  # menu entries worked on at once


@dataclass(frozen=True)
class Menu:
    """What n people may choose. d features, v table entries, 2 runs (upwards and downwards), r needs.

    value, cost, peak (n, d, v): cost inf marks an entry that does not exist. gain (r, n, d, v).
    start, step, count (n, d, 2): a run holds start + step * q for q in [0, count]; count < 0: no run.
    whole (d,): q is a whole number. run_gain, run_cost, run_peak: at q = 0 and per unit of q, last axis 2.
    need (r, n): the gains must sum to this. most (n,): features that may change.
    """

    value: np.ndarray
    gain: np.ndarray
    cost: np.ndarray
    peak: np.ndarray
    start: np.ndarray
    step: np.ndarray
    count: np.ndarray
    whole: np.ndarray
    run_gain: np.ndarray  # (r, n, d, 2, 2)
    run_cost: np.ndarray  # (n, d, 2, 2)
    run_peak: np.ndarray
    need: np.ndarray
    most: np.ndarray

    @property
    def n(self) -> int:
        """Number of people."""
        return int(self.value.shape[0])

    @property
    def width(self) -> int:
        """Table entries a feature."""
        return int(self.value.shape[2])

    def take(self, who: np.ndarray) -> Menu:
        """Copy the menu of some of the people."""
        people_axis = {"gain": 1, "run_gain": 1, "need": 1, "whole": None}
        part = {}
        for f in fields(self):
            axis = people_axis.get(f.name, 0)
            array = getattr(self, f.name)
            part[f.name] = array if axis is None else np.take(array, who, axis=axis)
        return Menu(**part)

    def values(self, pick: Pick) -> np.ndarray:
        """Return the values (n, d) that a pick sets; NaN where a feature is left alone."""
        v = self.width
        out = (
            entries_at(self.value, np.clip(pick.column, 0, v - 1))
            if v
            else np.full(pick.column.shape, np.nan)
        )
        run = np.clip(pick.column - v, 0, 1)
        along = entries_at(self.start, run) + entries_at(self.step, run) * pick.amount
        out = np.where(pick.column >= v, along, out)
        return np.where(pick.column < 0, np.nan, out)

    def totals(self, pick: Pick) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gains (r, n), the summed cost (n,) and the greatest peak (n,) of a pick."""
        gain = np.stack(
            [self.quantity(pick, g, rg).sum(1) for g, rg in zip(self.gain, self.run_gain, strict=True)]
        )
        return (
            gain,
            self.quantity(pick, self.cost, self.run_cost).sum(1),
            self.quantity(pick, self.peak, self.run_peak).max(1),
        )

    def quantity(self, pick: Pick, table: np.ndarray, run: np.ndarray) -> np.ndarray:
        """Return one quantity (n, d) of the picked entries; 0 where a feature is left alone."""
        v = self.width
        out = entries_at(table, np.clip(pick.column, 0, v - 1)) if v else np.zeros(pick.column.shape)
        side = np.clip(pick.column - v, 0, 1)
        along = entries_at(run[..., 0], side) + entries_at(run[..., 1], side) * pick.amount
        out = np.where(pick.column >= v, along, out)
        return np.where(pick.column < 0, 0.0, out)

    def best_gain(self) -> np.ndarray:
        """Return the most that each feature can gain by itself, (r, n, d); 0 by staying."""
        ends = self.run_gain[..., 0] + self.run_gain[..., 1] * np.maximum(self.count, 0)
        ends = np.where(self.count >= 0, np.maximum(ends, self.run_gain[..., 0]), 0.0).max(-1)
        if not self.width:
            return np.asarray(np.maximum(ends, 0.0))
        table = np.where(np.isfinite(self.cost), self.gain, 0.0).max(-1)
        return np.asarray(np.maximum(np.maximum(table, ends), 0.0))


@dataclass(frozen=True)
class Pick:
    """What n people choose: column (n, d), -1 to stay, below v a table entry, v and v + 1 a run at `amount`."""

    column: np.ndarray
    amount: np.ndarray

    def take(self, who: np.ndarray) -> Pick:
        """Copy the picks of some of the people."""
        return Pick(self.column[who], self.amount[who])

    def where(self, use: np.ndarray, other: Pick) -> Pick:
        """Return these picks for the people whom `use` (n,) bool marks, the other ones for the rest."""
        use = use[:, None]
        return Pick(np.where(use, self.column, other.column), np.where(use, self.amount, other.amount))


@dataclass(frozen=True)
class Chosen:
    """pick, which may be of any quality; found (n,): it suffices; optimal (n,): and nothing is cheaper."""

    pick: Pick
    found: np.ndarray
    optimal: np.ndarray


def entries_at(table: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Pick one entry of the last axis: table (..., v), column (...)."""
    return np.take_along_axis(table, column[..., None], axis=-1)[..., 0]


def reachable(menu: Menu) -> np.ndarray:
    """Test whether the best choices reach every need, (n,) bool; False proves that nothing on the menu does."""
    best = -np.sort(-menu.best_gain(), axis=-1)  # (r, n, d) greatest first
    inside = np.arange(best.shape[-1]) < menu.most[:, None]
    total = np.where(inside, best, 0.0).sum(-1)
    return np.asarray((total >= menu.need - _slack(menu)).all(0))


def _slack(menu: Menu) -> np.ndarray:
    return np.asarray(_TIE * (np.abs(menu.need) + menu.best_gain().sum(-1)))


def in_chunks(menu: Menu, solver: Any) -> Chosen:
    """Run a population solver on pieces of bounded size; the answer does not depend on the cut."""
    d = menu.value.shape[1]
    size = max(1, _CELLS // (d * (menu.width + 6)))
    parts = [solver(menu.take(np.arange(at, min(at + size, menu.n)))) for at in range(0, menu.n, size)]
    pick = Pick(
        np.concatenate([p.pick.column for p in parts]), np.concatenate([p.pick.amount for p in parts])
    )
    return Chosen(pick, np.concatenate([p.found for p in parts]), np.concatenate([p.optimal for p in parts]))


# -- everybody at once: least sum of costs -----------------------------------------------------------------


def cheapest_sum(menu: Menu) -> Chosen:
    """Minimise the total cost, one need: bisect the price of gain, then repair either side by its best single change.

    Optimal where the repaired choice meets the Lagrangian bound; always so where all runs are continuous and
    there is no table (a fractional knapsack).
    """
    n, d, v = menu.value.shape
    need = menu.need[0]
    gain, cost, column, amount = _corners(menu)
    price_low, price_high = np.zeros(n), _first_price(gain, cost, need)
    low = _greedy(gain, cost, price_low)
    high = _greedy(gain, cost, price_high)
    bound = np.maximum(_dual(gain, cost, price_low, need), _dual(gain, cost, price_high, need))
    for _ in range(64):
        # Whose prices have met stays as they are: an answer does not depend on who else is still searched for.
        going = price_high - price_low > 1e-15 * price_high
        if not going.any():
            break
        middle = (price_low + price_high) / 2
        chosen = _greedy(gain, cost, middle)
        bound = np.where(going, np.maximum(bound, _dual(gain, cost, middle, need)), bound)
        enough = _sum_at(gain, chosen) >= need
        up, down = going & enough, going & ~enough
        high, low = np.where(up[:, None], chosen, high), np.where(down[:, None], chosen, low)
        price_high, price_low = np.where(up, middle, price_high), np.where(down, middle, price_low)
    best: Pick | None = None
    best_cost = np.full(n, np.inf)
    for corner in (high, low):
        pick = Pick(
            np.where(corner < 0, -1, entries_at(np.broadcast_to(column, gain.shape), np.maximum(corner, 0))),
            np.where(corner < 0, 0.0, entries_at(amount, np.maximum(corner, 0))),
        )
        going = np.ones(n, dtype=bool)
        for _ in range(4):
            pick, total = _repair(menu, pick)
            going &= total < best_cost - 1e-15
            best = pick if best is None else pick.where(going, best)
            best_cost = np.where(going, total, best_cost)
            if not going.any():
                break
    assert best is not None
    found = np.isfinite(best_cost)
    few = (best.column >= 0).sum(1) <= menu.most
    closed = best_cost <= bound + 1e-9 * np.maximum(bound, 1e-12)
    return Chosen(best, found & few, found & few & closed)


def _corners(menu: Menu) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return gain, cost, column and amount (n, d, v + 4) of the table and of both ends of the runs."""
    n, d, v = menu.value.shape
    none = menu.count < 0
    first = none | ~menu.whole[:, None]  # a continuous run starts by staying
    last = np.maximum(menu.count, 0)
    gain = np.concatenate(
        [menu.gain[0], menu.run_gain[0, ..., 0], menu.run_gain[0, ..., 0] + menu.run_gain[0, ..., 1] * last],
        axis=2,
    )
    cost = np.concatenate(
        [
            menu.cost,
            np.where(first, np.inf, menu.run_cost[..., 0]),
            np.where(none, np.inf, menu.run_cost[..., 0] + menu.run_cost[..., 1] * last),
        ],
        axis=2,
    )
    column = np.concatenate([np.arange(v), [v, v + 1, v, v + 1]])
    amount = np.concatenate([np.zeros((n, d, v + 2)), last], axis=2)
    return np.where(np.isfinite(cost), gain, 0.0), cost, column, amount


def _greedy(gain: np.ndarray, cost: np.ndarray, price: np.ndarray) -> np.ndarray:
    """Return the corner (n, d) with the most profit at this price of gain; -1 to stay."""
    profit = price[:, None, None] * gain - cost
    best = profit.argmax(2)
    return np.asarray(np.where(entries_at(profit, best) > 0, best, -1))


def _dual(gain: np.ndarray, cost: np.ndarray, price: np.ndarray, need: np.ndarray) -> np.ndarray:
    profit = (price[:, None, None] * gain - cost).max(2)
    return np.asarray(price * need - np.maximum(profit, 0).sum(1))


def _sum_at(gain: np.ndarray, corner: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(corner < 0, 0.0, entries_at(gain, np.maximum(corner, 0))).sum(1))


def _first_price(gain: np.ndarray, cost: np.ndarray, need: np.ndarray) -> np.ndarray:
    """Return a price (n,) at which every feature takes its greatest gain, or nearly."""
    some = np.where(np.isfinite(cost), cost, 0.0).max((1, 2))
    price = np.maximum(some, 1e-12) / np.maximum(need, 1e-300)
    for _ in range(200):
        short = (_sum_at(gain, _greedy(gain, cost, price)) < need) & (price <= 1e30)
        if not short.any():
            break
        price = np.where(short, price * 4, price)
    return np.asarray(price)


def _repair(menu: Menu, pick: Pick) -> tuple[Pick, np.ndarray]:
    """Change the one feature that makes the whole suffice most cheaply; return the pick and its total (n,) or inf."""
    n, d, v = menu.value.shape
    gain = menu.quantity(pick, menu.gain[0], menu.run_gain[0])
    cost = menu.quantity(pick, menu.cost, menu.run_cost)
    missing = (menu.need[0] - gain.sum(1))[:, None] + gain  # (n, d) what feature j must gain alone
    slack = _slack(menu)[0][:, None]
    column, amount = np.full((n, d), -1), np.zeros((n, d))
    new = np.where(missing <= slack, 0.0, np.inf)
    if v:
        table = np.where(menu.gain[0] >= (missing - slack)[..., None], menu.cost, np.inf)
        at = table.argmin(2)
        cheaper = entries_at(table, at) < new
        new, column = np.where(cheaper, entries_at(table, at), new), np.where(cheaper, at, column)
    for side in (0, 1):
        base, slope = menu.run_gain[0, :, :, side, 0], menu.run_gain[0, :, :, side, 1]
        count = menu.count[:, :, side]
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(slope > 0, (missing - base) / slope, np.where(base >= missing - slack, 0.0, np.inf))
        whole = menu.whole[None, :]
        q = np.where(whole, np.ceil(q - 1e-9), q)
        near = (q > count) & (q <= count * (1 + 1e-9))  # an end that is missed by rounding alone
        q = np.maximum(np.where(near, count, q), 0.0)
        fits = (q <= count) & (whole | (q > 0))
        q = np.where(fits, q, 0.0)
        along = np.where(fits, menu.run_cost[:, :, side, 0] + menu.run_cost[:, :, side, 1] * q, np.inf)
        cheaper = along < new
        new, column = np.where(cheaper, along, new), np.where(cheaper, v + side, column)
        amount = np.where(cheaper, q, amount)
    total = cost.sum(1)[:, None] - cost + new
    j = total.argmin(1)
    rows = np.arange(n)
    out = Pick(pick.column.copy(), pick.amount.copy())
    out.column[rows, j], out.amount[rows, j] = column[rows, j], amount[rows, j]
    return out, total[rows, j]


# -- everybody at once: least greatest cost ----------------------------------------------------------------


def cheapest_peak(menu: Menu) -> Chosen:
    """Minimise the greatest peak, one need, then take few and cheap changes below it.

    At a level the best choice is each feature's greatest gain below it, and the `most` greatest of those; the
    least level that suffices is found by bisection, so the peak is optimal for everybody. Below that level the
    total is that of `cheapest_sum`, which is not always least.
    """
    n, d, v = menu.value.shape
    need, slack = menu.need[0], _slack(menu)[0]
    tops = [np.zeros(n)]
    if v:
        tops.append(np.where(np.isfinite(menu.cost), menu.peak, 0.0).max((1, 2)))
    ends = menu.run_peak[..., 0] + menu.run_peak[..., 1] * np.maximum(menu.count, 0)
    tops.append(np.where(menu.count >= 0, ends, 0.0).max((1, 2)))
    high = np.max(tops, axis=0)
    low = np.full(n, -1.0)  # below every level: even free moves are out of reach
    found = _most_gain(_below(menu, high)) >= need - slack
    for _ in range(200):
        going = high - low > 1e-15 * np.maximum(high, 1e-300)
        if not going.any():
            break
        middle = (low + high) / 2
        enough = _most_gain(_below(menu, middle)) >= need - slack
        low, high = np.where(going & ~enough, middle, low), np.where(going & enough, middle, high)
    capped = _below(menu, high)
    chosen = cheapest_sum(capped)
    # Where the number of changes binds, the sum's answer may have too many: take the greatest gains instead.
    many = found & ~chosen.found
    if many.any():
        greatest = _greatest(capped)
        chosen = Chosen(greatest.where(many, chosen.pick), chosen.found | many, chosen.optimal)
    return Chosen(chosen.pick, found & chosen.found, found & chosen.found)


def _below(menu: Menu, level: np.ndarray) -> Menu:
    """Drop from the menu what costs more than `level` (n,)."""
    cap = (level * (1 + 1e-14))[:, None, None]
    cost = np.where(menu.peak <= cap, menu.cost, np.inf)
    base, slope = menu.run_peak[..., 0], menu.run_peak[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(slope > 0, (cap - base) / slope, np.where(base <= cap, np.inf, -1.0))
    room = np.where(menu.whole[:, None], np.floor(room + 1e-9), room)
    count = np.where(menu.count < 0, -1.0, np.where(room < 0, -1.0, np.minimum(room, menu.count)))
    return replace(menu, cost=cost, count=count)


def _most_gain(menu: Menu) -> np.ndarray:
    best = -np.sort(-menu.best_gain()[0], axis=-1)
    return np.asarray(np.where(np.arange(best.shape[-1]) < menu.most[:, None], best, 0.0).sum(-1))


def _greatest(menu: Menu) -> Pick:
    """Each feature's greatest gain, on the `most` best features."""
    gain, cost, column, amount = _corners(menu)
    best = np.where(np.isfinite(cost), gain, -np.inf).argmax(2)
    value = entries_at(np.where(np.isfinite(cost), gain, 0.0), best)
    rank = np.argsort(np.argsort(-value, axis=1, kind="stable"), axis=1, kind="stable")
    use = (value > 0) & (rank < menu.most[:, None])
    return Pick(
        np.where(use, entries_at(np.broadcast_to(column, gain.shape), best), -1),
        np.where(use, entries_at(amount, best), 0.0),
    )


# -- continuous features under the Euclidean norm ----------------------------------------------------------


def water_filling(
    slope: np.ndarray, effort: np.ndarray, room: np.ndarray, need: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least sqrt(sum (effort * step)^2) with sum(slope * step) >= need and 0 <= step <= room; all (n, d), need (n,).

    The optimum is step = min(room, t * slope / effort^2) for one multiplier t, which is found exactly: the sum is
    piecewise linear in t and its corners are sorted. Returns step (n, d) and found (n,).
    """
    use = (slope > 0) & (room > 0)
    rate = np.where(use, slope / effort**2, 0.0)  # step per unit of t
    corner = np.where(use, room / np.where(use, rate, 1.0), np.inf)  # t at which the feature is full
    order = np.argsort(corner, axis=1, kind="stable")
    sorted_corner = np.take_along_axis(corner, order, 1)
    speed = np.take_along_axis(
        np.where(use, slope * rate, 0.0), order, 1
    )  # gain per unit of t while not full
    full = np.take_along_axis(np.where(use, slope * room, 0.0), order, 1)
    before = np.cumsum(full, 1) - full  # gain of the features that are full already
    left = np.cumsum(speed[:, ::-1], 1)[:, ::-1]  # speed of those that are not
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(left > 0, (need[:, None] - before) / left, np.inf)
    fits = t <= sorted_corner * (1 + 1e-12)
    found = (full.sum(1) >= need * (1 - 1e-12)) & fits.any(1)
    at = fits.argmax(1)
    multiplier = np.where(found, t[np.arange(len(t)), at], 0.0)
    return np.minimum(rate * multiplier[:, None], np.where(use, room, 0.0)), found


# -- one person: a mixed-integer program -------------------------------------------------------------------

Objective = Literal["sum", "peak", "mix"]


@dataclass(frozen=True)
class Cut:
    """sum of coefficient x [entry is chosen] >= least; entries are (feature, column), column None: any."""

    terms: tuple[tuple[int, int | None, float], ...]
    least: float


@dataclass(frozen=True)
class Most:
    """sum of weight x value after + sum of weight x [feature changes] <= most."""

    values: tuple[tuple[int, float], ...]
    changes: tuple[tuple[int, float], ...]
    most: float


@dataclass(frozen=True)
class Among:
    """The level of a feature is one of `allowed`; a missing level counts as one of them."""

    feature: int
    allowed: frozenset[int]


@dataclass(frozen=True)
class ChangedTo:
    """The feature changes, or, if `wanted` is False, does not."""

    feature: int
    wanted: bool


Atom = Most | Among | ChangedTo
Clause = tuple[Atom, ...]  # one of these must hold


@dataclass(frozen=True)
class Program:
    """One person's menu (n = 1), the person as they are, and everything that couples features."""

    menu: Menu
    x: np.ndarray  # (d,)
    objective: Objective
    peak_weight: float = 1.0
    cuts: tuple[Cut, ...] = ()
    clauses: tuple[Clause, ...] = ()
    tight: float = 0.0  # share of its size by which a linear rule must hold with room to spare
    nodes: int = 100_000


@dataclass(frozen=True)
class Solved:
    """column, amount (d,) or None; status: 'optimal', 'feasible' (work limit), 'infeasible' or 'stopped'."""

    status: Literal["optimal", "feasible", "infeasible", "stopped"]
    column: np.ndarray | None = None
    amount: np.ndarray | None = None


def solve(program: Program) -> Solved:
    """Choose for one person at least cost under all cuts and rules. Deterministic: nodes are limited, not time."""
    if program.objective == "peak":
        first = _milp(program, "peak")
        if first.column is None or first.amount is None:
            return first
        pick = Pick(first.column[None], first.amount[None])
        level = program.menu.totals(pick)[2]
        capped = replace(program, menu=_below(program.menu, level * (1 + 1e-9)))
        second = _milp(capped, "sum")
        if second.column is None:
            return first
        both = first.status == second.status == "optimal"
        return Solved("optimal" if both else "feasible", second.column, second.amount)
    return _milp(program, program.objective)


@dataclass(frozen=True)
class _Variables:
    """The variables of a program: a binary for each of b entries, then an amount for each run, then the peak.

    feature, column (b,): of each entry; side (b,): 0 or 1, which run. runs: the entries that are runs. amount (b,): the
    variable of a run's amount, -1 for the table. of_feature: the entries of each feature.
    """

    feature: np.ndarray
    column: np.ndarray
    side: np.ndarray
    is_run: np.ndarray
    runs: np.ndarray
    amount: np.ndarray
    of_feature: list[np.ndarray]

    @classmethod
    def of(cls, menu: Menu) -> _Variables:
        """Number every entry that exists on the menu of one person."""
        v, d = menu.width, menu.value.shape[1]
        table_j, table_c = np.nonzero(np.isfinite(menu.cost[0]))
        run_j, run_c = np.nonzero(menu.count[0] >= 0)
        feature, column = np.concatenate([table_j, run_j]), np.concatenate([table_c, v + run_c])
        is_run = column >= v
        runs = np.flatnonzero(is_run)
        amount = np.full(len(feature), -1)
        amount[runs] = len(feature) + np.arange(len(runs))
        of_feature = [np.flatnonzero(feature == j) for j in range(d)]
        return cls(feature, column, np.maximum(column - v, 0), is_run, runs, amount, of_feature)

    @property
    def b(self) -> int:
        """Number of binaries."""
        return len(self.feature)

    @property
    def peak(self) -> int:
        """The variable of the peak."""
        return self.b + len(self.runs)

    def of_runs(self, array: np.ndarray) -> np.ndarray:
        """Select what belongs to the runs: (d, 2, ...) -> (len(runs), ...)."""
        return np.asarray(array[self.feature[self.runs], self.side[self.runs]])

    def quantity(self, table: np.ndarray, run: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficient of every binary (b,) and of every run's amount (len(runs),)."""
        v = table.shape[1]
        flat = table[self.feature, np.minimum(self.column, max(v - 1, 0))] if v else np.zeros(self.b)
        return np.where(self.is_run, run[self.feature, self.side, 0], flat), self.of_runs(run)[:, 1]


class _Rows:
    """The linear constraints of a program, row by row."""

    def __init__(self) -> None:
        self.columns: list[np.ndarray] = []
        self.coefficients: list[np.ndarray] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, columns: Any, coefficients: Any, low: float, high: float) -> None:
        """Demand low <= sum of coefficients x columns <= high."""
        self.columns.append(np.asarray(columns, dtype=np.int64))
        self.coefficients.append(np.asarray(coefficients, dtype=np.float64))
        self.low.append(low)
        self.high.append(high)

    def constraint(self, size: int) -> Any:
        """Return all rows as SciPy's `LinearConstraint` over `size` variables."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        # SciPy before 1.15 gives HiGHS the indices as they are, and that takes 32 bits only
        indptr = np.cumsum([0] + [len(columns) for columns in self.columns], dtype=np.int32)
        entries = np.concatenate(self.coefficients), np.concatenate(self.columns, dtype=np.int32), indptr
        matrix = csr_array(entries, shape=(len(self.columns), size))
        matrix.sum_duplicates()
        return LinearConstraint(matrix, np.asarray(self.low), np.asarray(self.high))


def _milp(program: Program, objective: Objective) -> Solved:
    """Solve a program for one objective by SciPy's HiGHS."""
    from scipy.optimize import Bounds, milp

    menu = program.menu
    variables, rows = _Variables.of(menu), _Rows()
    if not variables.b:
        return Solved("infeasible")
    count = _add_choices_and_needs(program, variables, rows)
    peak = variables.quantity(menu.peak[0], menu.run_peak[0]) if objective in ("peak", "mix") else None
    _add_limits(menu, variables, rows, peak)
    extra = _add_cuts_and_clauses(program, variables, rows)
    if extra is None:
        return Solved("infeasible")
    b, runs = variables.b, variables.runs
    amounts = variables.amount[runs]
    size = variables.peak + 1 + extra
    whole = np.ones(size)  # binaries, those of the clauses included
    whole[amounts] = menu.whole[variables.feature[runs]]
    whole[variables.peak] = 0
    upper = np.ones(size)
    upper[amounts] = count
    upper[variables.peak] = np.inf
    got = milp(
        _weights(program, variables, objective, count, size),
        integrality=whole,
        bounds=Bounds(np.zeros(size), upper),
        constraints=rows.constraint(size),
        # These programs are small: presolve saves no time, loses solutions to tolerances now and then, and then prints.
        options={"mip_rel_gap": 0.0, "node_limit": program.nodes, "presolve": False},
    )
    if got.x is None:
        return Solved("infeasible" if got.status == 2 else "stopped")
    column, amount = np.full(len(menu.whole), -1), np.zeros(len(menu.whole))
    for entry in np.flatnonzero(got.x[:b] > 0.5):
        j = int(variables.feature[entry])
        column[j] = variables.column[entry]
        if variables.is_run[entry]:
            q = float(np.clip(got.x[variables.amount[entry]], 0.0, menu.count[0, j, variables.side[entry]]))
            amount[j] = round(q) if menu.whole[j] else q
    return Solved("optimal" if got.status == 0 else "feasible", column, amount)


def _add_choices_and_needs(program: Program, variables: _Variables, rows: _Rows) -> np.ndarray:
    """Allow one entry a feature, amounts of chosen runs only, and demand every need; return the runs' most amounts."""
    menu, b, runs = program.menu, variables.b, variables.runs
    for at in variables.of_feature:
        if len(at) > 1:
            rows.add(at, np.ones(len(at)), -np.inf, 1.0)
    count = variables.of_runs(menu.count[0])
    gains = [variables.quantity(g[0], rg[0]) for g, rg in zip(menu.gain, menu.run_gain, strict=True)]
    if len(gains) == 1 and all((part >= 0).all() for part in gains[0]):
        # With gains above zero, no single one above the need counts for more than the need, and unless a rule wants
        # it no run goes on beyond it: small coefficients, which a solver's tolerances suit.
        need = float(menu.need[0, 0])
        gain_b, gain_q = gains[0]
        gains[0] = np.where(variables.is_run, gain_b, np.minimum(gain_b, need)), gain_q
        if not program.clauses:
            with np.errstate(divide="ignore", invalid="ignore"):
                enough = np.where(gain_q > 0, (need - gain_b[runs]) / gain_q, 0.0)
            enough = np.where(menu.whole[variables.feature[runs]], np.ceil(enough - 1e-9), enough)
            count = np.clip(enough, 0.0, count)
    for run, entry in enumerate(runs):
        if count[run] > 0:
            rows.add([b + run, entry], [1.0 / count[run], -1.0], -np.inf, 0.0)
    for r, (gain_b, gain_q) in enumerate(gains):
        need = float(menu.need[r, 0])
        scale = max(abs(need), float(np.abs(gain_b).max(initial=0.0)) * 1e-3, 1e-300)
        rows.add(
            np.r_[np.arange(b), variables.amount[runs]], np.r_[gain_b, gain_q] / scale, need / scale, np.inf
        )
    return count


def _add_limits(
    menu: Menu, variables: _Variables, rows: _Rows, peak: tuple[np.ndarray, np.ndarray] | None
) -> None:
    """Limit the number of changes, and, with the coefficients of `peak`, bound the peak from below."""
    if menu.most[0] < sum(len(at) > 0 for at in variables.of_feature):
        rows.add(np.arange(variables.b), np.ones(variables.b), -np.inf, float(menu.most[0]))
    if peak is None:
        return
    for at in variables.of_feature:
        if len(at):
            some = at[variables.is_run[at]]
            local = np.searchsorted(variables.runs, some)
            columns = np.r_[at, variables.amount[some], variables.peak]
            rows.add(columns, np.r_[peak[0][at], peak[1][local], -1.0], -np.inf, 0.0)


def _add_cuts_and_clauses(program: Program, variables: _Variables, rows: _Rows) -> int | None:
    """Add cuts and rules; return the number of further binaries, None where one of them can never hold."""
    for cut in program.cuts:
        columns: list[int] = []
        coefficients: list[float] = []
        for j, c, coefficient in cut.terms:
            at = variables.of_feature[j]
            at = at if c is None else at[variables.column[at] == c]
            columns.extend(at.tolist())
            coefficients.extend([coefficient] * len(at))
        if columns:
            rows.add(columns, coefficients, cut.least, np.inf)
        elif cut.least > 0:
            return None
    extra = 0  # one more binary for each linear part of a disjunction
    for clause in program.clauses:
        lowered = _lower(program, clause, variables, variables.peak + 1 + extra)
        if lowered is None:
            return None
        extra += lowered.binaries
        for part in lowered.rows:
            rows.add(*part)
    return extra


def _weights(
    program: Program, variables: _Variables, objective: Objective, count: np.ndarray, size: int
) -> np.ndarray:
    """Return the objective (size,), scaled: the solver stops at an absolute gap of 1e-6, so make costs large."""
    menu, b, runs = program.menu, variables.b, variables.runs
    cost_b, cost_q = variables.quantity(menu.cost[0], menu.run_cost[0])
    peak_b, peak_q = variables.quantity(menu.peak[0], menu.run_peak[0])
    weights = np.zeros(size)
    if objective in ("sum", "mix"):
        weights[:b], weights[variables.amount[runs]] = cost_b, cost_q
    if objective in ("peak", "mix"):
        weights[variables.peak] = program.peak_weight if objective == "mix" else 1.0
    typical = np.median(np.r_[cost_b[cost_b > 0], (cost_b[runs] + cost_q * count)[cost_q > 0], 1e-300])
    if objective != "sum":
        typical = max(
            float(np.median(np.r_[peak_b[peak_b > 0], (peak_q * count)[peak_q > 0], 1e-300])), 1e-300
        )
    scaled = weights * (1e4 / max(float(typical), 1e-300))
    scaled[:b] += _CHANGE  # of equal costs the fewer changes, whichever version of the solver breaks the tie
    return scaled


@dataclass(frozen=True)
class _Lowered:
    rows: list[tuple[list[int], list[float], float, float]]
    binaries: int


def _lower(
    program: Program,
    clause: Clause,
    variables: _Variables,
    next_binary: int,
) -> _Lowered | None:
    """Lower a clause to rows of the program; None if it can never hold."""
    menu, x, of_feature, column = program.menu, program.x, variables.of_feature, variables.column
    rows: list[tuple[list[int], list[float], float, float]] = []
    one_of: tuple[list[int], list[float]] = (
        [],
        [],
    )  # columns and coefficients, whose sum must be at least `rest`
    rest, binaries = 1.0, 0
    for atom in clause:
        if isinstance(atom, ChangedTo):
            at = of_feature[atom.feature].tolist()
            one_of[0].extend(at)
            one_of[1].extend([1.0 if atom.wanted else -1.0] * len(at))
            rest -= 0.0 if atom.wanted else 1.0
            continue
        if isinstance(atom, Among):
            stays = bool(np.isnan(x[atom.feature])) or int(x[atom.feature]) in atom.allowed
            for entry in of_feature[atom.feature].tolist():
                level = int(menu.value[0, atom.feature, column[entry]])
                one_of[0].append(entry)
                one_of[1].append(float(level in atom.allowed) - float(stays))
            rest -= float(stays)
            continue
        columns: list[int] = []
        coefficients: list[float] = []
        most, greatest = atom.most, 0.0
        for j, weight in atom.values:
            most -= weight * x[j]
            reach = 0.0
            for entry in of_feature[j].tolist():
                if variables.is_run[entry]:
                    s = variables.side[entry]
                    base, slope = weight * (menu.start[0, j, s] - x[j]), weight * menu.step[0, j, s]
                    columns += [entry, int(variables.amount[entry])]
                    coefficients += [base, slope]
                    reach = max(reach, base, base + slope * menu.count[0, j, s])
                else:
                    columns.append(entry)
                    coefficients.append(weight * (menu.value[0, j, column[entry]] - x[j]))
                    reach = max(reach, coefficients[-1])
            greatest += reach
        for j, weight in atom.changes:
            at = of_feature[j].tolist()
            columns += at
            coefficients += [weight] * len(at)
            greatest += max(weight, 0.0) if at else 0.0
        scale = max([abs(c) for c in coefficients] + [abs(most), 1e-300])
        # A bound that the person's own position meets exactly must survive rounding.
        most += (1e-9 - program.tight) * scale
        if greatest <= most:
            return _Lowered([], 0)  # always true, and with it the clause
        if len(clause) == 1:
            if not columns:
                return None
            rows.append((columns, [c / scale for c in coefficients], -np.inf, most / scale))
            return _Lowered(rows, 0)
        chosen = next_binary + binaries
        binaries += 1
        slack = (greatest - most) / scale  # sum <= most + slack (1 - chosen)
        rows.append(
            ([*columns, chosen], [*(c / scale for c in coefficients), slack], -np.inf, most / scale + slack)
        )
        one_of[0].append(chosen)
        one_of[1].append(1.0)
    if rest <= 0 and not any(c < 0 for c in one_of[1]):
        return _Lowered([], 0)
    if not one_of[0]:
        return None
    rows.append((one_of[0], one_of[1], rest, np.inf))
    return _Lowered(rows, binaries)


def solve_all(programs: list[Program], workers: int) -> list[Solved]:
    """Solve many programs, in this process or in a pool; the order and the answers are the same."""
    if workers <= 1 or len(programs) < 4 * workers:
        solved = []
        for program in programs:
            look()
            solved.append(solve(program))
        return solved
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(solve, programs, chunksize=max(1, len(programs) // (4 * workers))))
