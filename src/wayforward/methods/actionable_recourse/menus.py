"""Everybody's menu: the values that they may choose, as tables and as runs over a lattice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.actionable_recourse.prepared import PreparedPrograms
from wayforward.methods.engines.exact.selection import Menu

if TYPE_CHECKING:
    from wayforward.problem import Population

_TABLE = 64  # a lattice with more values becomes one run where its cost is linear


@dataclass(frozen=True)
class PersonalMenus:
    """What everybody may choose. full: all of it. whole_set (n,) bool: no value was left out."""

    full: Menu
    whole_set: np.ndarray

    def helpful(self, ruled: np.ndarray) -> Menu:
        """Return the menu without entries that lose score in every inequality, unless a rule reads the feature (d,)."""
        menu = self.full
        keep = (menu.gain > 0).any(0) | ruled[None, :, None]
        ends = menu.run_gain[..., 0] + menu.run_gain[..., 1] * np.maximum(menu.count, 0)
        run = (ends > 0).any(0) | ruled[None, :, None]
        return replace(menu, cost=np.where(keep, menu.cost, np.inf), count=np.where(run, menu.count, -1.0))


def personal_menus(prepared: PreparedPrograms, people: Population, tabled: np.ndarray) -> PersonalMenus:
    """Build everybody's menu, one feature after another. tabled (d,): features that must be tables (odd rules)."""
    schema, scores, effort = people.schema, prepared.scores, prepared.effort
    n, d, r = people.n, people.d, scores.rows
    tables: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    run = {name: np.zeros((n, d, 2)) for name in ("start", "step")}
    run["count"] = np.full((n, d, 2), -1.0)
    run_gain, run_cost, run_peak = np.zeros((r, n, d, 2, 2)), np.zeros((n, d, 2, 2)), np.zeros((n, d, 2, 2))
    whole_set = np.ones(n, dtype=bool)
    for j in range(d):
        x, weight, free = people.x[:, j], people.weight[:, j], people.free[:, j]
        here = scores.part(j, x)
        runs = _as_runs(prepared, people, j, bool(tabled[j]))
        if runs is not None:
            start, step, count = runs
            for s in (0, 1):
                has = count[:, s] >= 0
                first = np.where(has, start[:, s], x)
                then = np.where(has, start[:, s] + step[:, s], x)
                run["start"][:, j, s], run["step"][:, j, s], run["count"][:, j, s] = (
                    first,
                    np.where(has, step[:, s], 0),
                    count[:, s],
                )
                run_gain[:, :, j, s, 0] = scores.part(j, first) - here
                run_gain[:, :, j, s, 1] = scores.part(j, then) - scores.part(j, first)
                for target, measure in ((run_cost, effort.added), (run_peak, effort.peaks)):
                    target[:, j, s] = _line(partial(measure, j), x, first, then, weight)
            values = np.full((n, 0), np.nan)
        else:
            values, full = _values(prepared, people, j)
            whole_set &= full | ~free
        stays = np.abs(values - x[:, None]) <= 1e-9 * schema.span[j]
        ok = ~np.isnan(values) & free[:, None] & ~stays
        value = np.where(ok, values, np.nan)
        safe = np.where(ok, values, np.nan_to_num(x)[:, None])
        gain = scores.part(j, safe) - here[..., None]
        cost = np.where(ok, effort.added(j, x[:, None], safe, weight[:, None]), np.inf)
        peak = np.where(ok, effort.peaks(j, x[:, None], safe, weight[:, None]), 0.0)
        tables.append((value, np.where(ok, gain, 0.0), cost, peak))
    v = max((t[0].shape[1] for t in tables), default=0)

    def side_by_side(part: int, fill: float) -> np.ndarray:
        rows = []
        for t in tables:
            array = t[part]
            pad = [(0, 0)] * (array.ndim - 1) + [(0, v - array.shape[-1])]
            rows.append(np.pad(array, pad, constant_values=fill))
        return np.stack(rows, axis=-2)

    menu = Menu(
        value=side_by_side(0, np.nan),
        gain=side_by_side(1, 0.0),
        cost=side_by_side(2, np.inf),
        peak=side_by_side(3, 0.0),
        start=run["start"],
        step=run["step"],
        count=run["count"],
        whole=~np.isnan(schema.step),
        run_gain=run_gain,
        run_cost=run_cost,
        run_peak=run_peak,
        need=-scores.total(people.x),
        most=np.minimum(people.max_changes, d),
    )
    return PersonalMenus(menu, whole_set)


def _line(
    measure: partial[np.ndarray], x: np.ndarray, first: np.ndarray, then: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return a linear measure (n, 2) at a run's start and per step, read off where a fixed part is paid."""
    at_then = measure(x, then, weight)
    at_next = measure(x, then + (then - first), weight)
    slope = np.where(then != first, at_next - at_then, 0.0)
    return np.stack([np.where(then != first, at_then - slope, 0.0), slope], axis=-1)


def _edges(people: Population, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) lowest and highest lattice value within each person's reach (the reach itself without a lattice)."""
    schema = people.schema
    low, high = people.low[:, j], people.high[:, j]
    step = schema.step[j]
    if np.isnan(step):
        return low, high
    slack = 1e-9 * schema.span[j]
    first, last = schema.snap(low, columns=j), schema.snap(high, columns=j)
    first = np.where(first < low - slack, schema.snap(first + step, columns=j), first)
    last = np.where(last > high + slack, schema.snap(last - step, columns=j), last)
    return first, last


def _as_runs(
    prepared: PreparedPrograms, people: Population, j: int, tabled: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return start, step and count (n, 2) upwards and downwards if feature j is worth a run, by the feature alone.

    People whose value is missing get no run; their table has the ends of their reach.
    """
    schema = people.schema
    if tabled or schema.has_levels[j] or schema.missing[j] or not prepared.effort.linear:
        return None
    step = schema.step[j]
    if not np.isnan(step) and schema.span[j] / step <= _TABLE:
        return None
    x, free = people.x[:, j], people.free[:, j]
    low, high = _edges(people, j)
    slack, least = 1e-9 * schema.span[j], people.problem.least_change[j]
    if least > 0.0:
        start = np.stack([np.maximum(low, x + least), np.minimum(high, x - least)], axis=1)
        if np.isnan(step):
            width = np.stack([high, low], axis=1) - start
            there = (width * np.array([1.0, -1.0]) >= -slack) & free[:, None]
            return start, np.where(there, width, 0.0), np.where(there, 1.0, -1.0)
    if np.isnan(step):
        start = np.stack([x, x], axis=1)
        width = np.stack([high - x, low - x], axis=1)
        # Outside the reach already: the way back starts at its edge, which the person may choose as well.
        start = np.where(np.stack([x < low, x > high], axis=1), np.stack([low, high], axis=1), start)
        width = np.where(
            np.stack([x < low, x > high], axis=1), (high - low)[:, None] * np.array([1.0, -1.0]), width
        )
        there = (width * np.array([1.0, -1.0]) > slack) & free[:, None]
        return start, width, np.where(there, 1.0, -1.0)
    up, down = schema.snap(x, columns=j), schema.snap(x, columns=j)
    up = np.maximum(np.where(up <= x + slack, schema.snap(up + step, columns=j), up), low)
    down = np.minimum(np.where(down >= x - slack, schema.snap(down - step, columns=j), down), high)
    if least > 0.0:
        up, down = schema.snap(start[:, 0], columns=j), schema.snap(start[:, 1], columns=j)
        up = np.where(up < start[:, 0] - slack, schema.snap(up + step, columns=j), up)
        down = np.where(down > start[:, 1] + slack, schema.snap(down - step, columns=j), down)
    count = np.stack([np.round((high - up) / step), np.round((down - low) / step)], axis=1)
    beyond = np.stack([up > x + slack, down < x - slack], axis=1) & free[:, None]
    return (
        np.stack([up, down], axis=1),
        np.broadcast_to(np.array([step, -step]), (len(x), 2)),
        np.where(beyond & (count >= 0), count, -1.0),
    )


def _too_little(people: Population, j: int, value: np.ndarray) -> np.ndarray:
    """(n, v) bool: the value (n, v) of feature j is nearer to the person's than the least change."""
    with np.errstate(invalid="ignore"):
        gap, slack = np.abs(value - people.x[:, j, None]), 1e-9 * people.schema.span[j]
        return np.asarray((gap < people.problem.least_change[j] - slack) & (gap > slack))


def _values(prepared: PreparedPrograms, people: Population, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n, v) of feature j for a table, NaN where not allowed, and (n,) bool: all of them are there."""
    schema, n = people.schema, people.n
    if schema.has_levels[j]:
        ok = people.level_ok[j]
        return np.where(ok, np.arange(ok.shape[1], dtype=np.float64), np.nan), np.ones(n, dtype=bool)
    low, high = _edges(people, j)
    step, slack = schema.step[j], 1e-9 * schema.span[j]
    if not np.isnan(step):
        count = np.where(people.free[:, j], np.round((high - low) / step), -1)
        if np.isfinite(schema.span[j]) and schema.span[j] / step <= max(_TABLE, 4 * prepared.grid):
            width = int(count.max(initial=-1)) + 1
            value = schema.snap(low[:, None] + step * np.arange(width), columns=j)
            there = (np.arange(width) <= count[:, None]) & ~_too_little(people, j, value)
            return np.where(there, value, np.nan), np.ones(n, dtype=bool)
    knots = prepared.quantiles[j]
    ends = [people.x[:, j, None] + side * people.problem.least_change[j] for side in (-1.0, 1.0)]
    value = np.concatenate(
        [np.broadcast_to(knots, (n, len(knots))), low[:, None], high[:, None], *ends], axis=1
    )
    if not np.isnan(step):
        value = schema.snap(value, columns=j)
    outside = (value < low[:, None] - slack) | (value > high[:, None] + slack)
    value = np.sort(np.where(outside | _too_little(people, j, value), np.nan, value), axis=1)
    value[:, 1:][value[:, 1:] == value[:, :-1]] = np.nan
    return value, np.zeros(n, dtype=bool)
