"""A second opinion on every option: nothing that a recourse says about itself is believed.

From the people, the acts and the profiles that an option claims, this works out again whether the profile
follows from the acts, whether it is legal, keeps the rules and the person's wishes, and what the model itself
says about that exact row. It shares no code with `Problem.check`, so that a mistake there shows here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wayforward.errors import DataError
from wayforward.evaluate.actions import out_of_domain

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.schema import Schema

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """What is true of each option, worked out again: (n, k) bool, False in empty slots.

    returned: the slot claims an option. follows: the profile is what the acts lead to. legal: values exist
    and sit on the step, nothing immutable moved, only actionable features were acted on, in their direction.
    rules: all rules hold. wishes: the person's limits hold. valid: the model itself says yes to the profile.
    value (n, k): the model's probability or prediction for it, NaN where it could not be asked.
    asked (n,): the model says no to the person as they are, so that they ask for recourse.
    """

    returned: Mask
    follows: Mask
    legal: Mask
    rules: Mask
    wishes: Mask
    valid: Mask
    value: Array
    asked: Mask
    value_before: Array

    @property
    def usable(self) -> Mask:
        """(n, k) bool: the person asked, and all of it holds."""
        good = self.returned & self.follows & self.legal & self.rules & self.wishes & self.valid
        return np.asarray(good & self.asked[:, None])


def judge(
    problem: Problem,
    x: Array,
    action: Array,
    after: Array,
    preferences: Preferences | None = None,
    *,
    all_asked: bool = False,
) -> Judged:
    """Work out again what is true of options: x (n, d), action and after (n, k, d).

    `all_asked` takes it as known that the model refuses all of these people, which saves asking it.
    Raises: DataError if the preferences are for other people.
    """
    n, k, _ = action.shape
    if preferences is not None and preferences.frozen.shape[0] != n:
        raise DataError(
            f"The preferences are for {preferences.frozen.shape[0]} people and the recourse for {n}. "
            "Pass the preferences of these people, in the same order."
        )
    schema = problem.schema
    if all_asked:
        yes, value_before = np.zeros(n, dtype=bool), np.full(n, np.nan)
    else:
        yes, value_before = ask_model(problem, x)
    returned = np.asarray(~np.isnan(action).all(-1))
    who, slot = np.nonzero(returned)
    before, act, end = x[who], action[who, slot], after[who, slot]
    if problem.independent:
        act = np.where(
            schema.differs(act, before), act, np.nan
        )  # staying put is no act where nothing else moves

    valid, value = ask_model(problem, end)
    found = {
        "follows": _follows(problem, before, act, end),
        "legal": _legal(schema, before, act, end),
        "rules": _rules(schema, before, end),
        "wishes": _wishes(schema, preferences, who, before, act, end),
        "valid": valid,
    }
    spread: dict[str, Mask] = {}
    for name, flag in found.items():
        spread[name] = np.zeros((n, k), dtype=bool)
        spread[name][who, slot] = flag
    values = np.full((n, k), np.nan)
    values[who, slot] = value
    return Judged(returned=returned, value=values, asked=~yes, value_before=value_before, **spread)


def ask_model(problem: Problem, rows: Array) -> tuple[Mask, Array]:
    """(m, d) -> (m,) bool and (m,) value from the model itself; False, NaN for rows it cannot be shown."""
    schema = problem.schema
    yes, value = np.zeros(len(rows), dtype=bool), np.full(len(rows), np.nan)
    index = np.where(np.isnan(rows), 0.0, rows)
    with np.errstate(invalid="ignore"):
        bad_level = schema.has_levels & (
            (index < 0) | (index >= schema.n_levels) | (index != np.round(index))
        )
    hidden = bad_level | np.isinf(rows) | (np.isnan(rows) & ~schema.missing)
    show = ~hidden.any(-1)
    if show.any():
        yes[show], value[show] = problem.reached(np.ascontiguousarray(rows[show]))
    return yes, value


def _follows(problem: Problem, before: Array, act: Array, end: Array) -> Mask:
    some = ~np.isnan(act).all(-1)
    expected = before.copy()
    stands = (
        np.isnan(act) & ~problem.schema.has_levels & np.isfinite(before)
    )  # maybe outside what was observed
    usable = some & ~(out_of_domain(problem.schema, np.where(np.isnan(act), before, act)) & ~stands).any(-1)
    if usable.any():
        expected[usable] = problem.consequences(before[usable], act[usable])
    # An act outside the domain leads to no defined place; its profile is judged as it stands and is illegal.
    expected[some & ~usable] = end[some & ~usable]
    return np.asarray(~problem.schema.differs(expected, end).any(-1))


def _legal(schema: Schema, before: Array, act: Array, end: Array) -> Mask:
    moved = schema.differs(end, before)
    acted = ~np.isnan(act)
    fine = ~(out_of_domain(schema, end) & moved).any(-1)
    fine &= ~(moved & ~_on_step(schema, end, acted)).any(-1)
    fine &= ~(moved & schema.immutable).any(-1)
    fine &= ~(acted & ~schema.actionable).any(-1)
    fine &= ~np.isnan(end).all(-1)
    with np.errstate(invalid="ignore"):
        backwards = acted & ((act - before) * schema.direction < -1e-9 * schema.span)
    return np.asarray(fine & ~backwards.any(-1))


def _on_step(schema: Schema, rows: Array, acted: Mask) -> Mask:
    """Values that are whole steps away from zero or from the lower bound, whichever the lattice starts at.

    What follows from an act may fall between two steps of an amount, never between two whole numbers of a count.
    """
    step = np.where(np.isnan(schema.step), 1.0, schema.step)
    low = np.where(np.isfinite(schema.low), schema.low, 0.0)
    start = np.where(np.abs(low / step - np.round(low / step)) < 1e-9, 0.0, low)
    with np.errstate(invalid="ignore"):
        steps = (rows - start) / step
        on = np.isnan(schema.step) | np.isnan(rows) | (np.abs(steps - np.round(steps)) <= 1e-6)
        between = np.array([not f.has_levels and f.kind != "integer" for f in schema.features])
        follows = between | (np.abs(rows - np.round(rows)) <= 1e-6) | np.isnan(rows)
    return np.asarray(np.where(acted, on, follows))


def _rules(schema: Schema, before: Array, end: Array) -> Mask:
    kept = np.ones(len(end), dtype=bool)
    if not schema.rules or not len(end):
        return kept
    # A rule says nothing about a value that does not exist; somebody may stand outside what was observed, though.
    broken = (out_of_domain(schema, end) & schema.differs(end, before)).any(-1)
    kept[broken] = False
    ask = ~broken
    if ask.any():
        kept[ask] = np.asarray(schema.compiled_rules.kept(before[ask], end[ask]), dtype=bool)
    return kept


def _wishes(
    schema: Schema,
    preferences: Preferences | None,
    who: NDArray[np.intp],
    before: Array,
    act: Array,
    end: Array,
) -> Mask:
    kept = np.ones(len(end), dtype=bool)
    if preferences is None:
        return kept
    acted = ~np.isnan(act)
    moved = schema.differs(end, before)
    slack = 1e-9 * schema.span
    with np.errstate(invalid="ignore"):
        beyond = (end < preferences.low[who] - slack) | (end > preferences.high[who] + slack)
    kept &= ~(acted & np.asarray(preferences.frozen)[who]).any(-1)
    kept &= ~(beyond & moved).any(-1)
    if preferences.max_changes is not None:
        kept &= (acted & schema.differs(act, before)).sum(-1) <= preferences.max_changes[who]
    for j, allowed in preferences.levels.items():
        level = end[:, j]
        known = ~np.isnan(level) & (level >= 0) & (level < allowed.shape[1])
        index = np.where(known, level, 0).astype(np.int64)
        kept &= ~moved[:, j] | (known & np.asarray(allowed)[who, index])
    return kept
