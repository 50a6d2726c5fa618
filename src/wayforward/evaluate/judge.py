"""A second opinion on every option: nothing that a recourse says about itself is believed.

From the people, the acts and the profiles that an option claims, this works out again whether the profile
follows from the acts, whether it is legal, keeps the rules and the person's wishes, and what the model itself
says about that exact row. One row after the other, in plain Python, from the schema's features, the target's fields
and the person's preferences; it calls none of `Problem.check`, `Problem.consequences`, `Problem.reached`,
`Schema.differs`, `Schema.legal` or `RuleSet.satisfied`, so that a mistake there shows here.

What both share, and what a second opinion therefore cannot find wrong: the wrapped model's native answer
(`Model.native`), the parser that reads rules and equations into trees, and the functions of learned worlds (see
`row_world`). Row by row costs about 50 microseconds an option of nine features, besides asking the model: five
seconds for 100,000 people, who are evaluated in fifteen. So one judge serves few and many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import DataError, require_kind
from wayforward.evaluate.row_rules import BeforeAfter, truth
from wayforward.evaluate.row_world import consequences, lattice_start
from wayforward.public import public
from wayforward.rules.expression import Drag
from wayforward.shapes import Actions, Costs, OptionMask, People, PerPerson, PerRow, PersonMask, RowMask, Rows

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.schema import Feature

_CHUNK = 65_536  # rows shown to the model at once


@dataclass(frozen=True)
class Judged:
    """What is true of each option, worked out again: (n, k) bool, False in empty slots.

    returned: the slot claims an option. follows: the profile is what the acts lead to. legal: values exist
    and sit on the step, nothing immutable moved, only actionable features were acted on, in their direction and by
    their least change at least.
    rules: all rules hold. wishes: the person's limits hold. valid: the model itself says yes to the profile.
    value (n, k): the model's probability or prediction for it, NaN where it could not be asked.
    refused (n,): the model says no to the person as they are, so that they ask for recourse.
    """

    returned: OptionMask
    follows: OptionMask
    legal: OptionMask
    rules: OptionMask
    wishes: OptionMask
    valid: OptionMask
    value: Costs
    refused: PersonMask
    value_before: PerPerson

    @property
    def usable(self) -> OptionMask:
        """(n, k) bool: the person asked, and all of it holds."""
        good = self.returned & self.follows & self.legal & self.rules & self.wishes & self.valid
        return np.asarray(good & self.refused[:, None])


@public
def second_opinion(problem: Problem, recourse: Recourse, preferences: Preferences | None = None) -> Judged:
    """Judge every option of a recourse again, one at a time and on its own: the slowest and plainest judge there is.

    preferences: left out, those stored with the recourse. Also a learned world is asked about one option at a time.
    Example: ``second_opinion(problem, recourse).usable[recourse.found].all()``.
    Raises: DataError if the preferences are for other people.
    """
    wishes = recourse.preferences if preferences is None else preferences
    return judge(problem, recourse.x, recourse.action, recourse.after, wishes, alone=True)


def judge(
    problem: Problem,
    x: People,
    action: Actions,
    after: Actions,
    preferences: Preferences | None = None,
    *,
    all_refused: bool = False,
    alone: bool = False,
) -> Judged:
    """Work out again what is true of options: x (n, d), action and after (n, k, d).

    all_refused: it is known that the model refuses all of these people, which saves asking it. alone: learned worlds
    are asked about one option at a time.
    Raises: DataError if the preferences are for other people.
    """
    from wayforward.preferences import Preferences

    n, k, _ = action.shape
    if preferences is not None:
        require_kind(preferences, Preferences, "preferences")
        if preferences.frozen.shape[0] != n:
            raise DataError(
                f"The preferences are for {preferences.frozen.shape[0]} people and the recourse for {n}. "
                "Pass the preferences of these people, in the same order."
            )
    if all_refused:
        yes, value_before = np.zeros(n, dtype=bool), np.full(n, np.nan)
    else:
        yes, value_before = ask_model(problem, x)
    returned = np.asarray(~np.isnan(action).all(-1))
    who, slot = np.nonzero(returned)
    columns = [_Column(feature) for feature in problem.schema.features]
    if not problem.least_change.any():  # where every change counts
        for column in columns:
            column.least = 0.0
    act = action[who, slot]
    if problem.independent:  # staying put is no act where nothing else moves
        act = np.array([_real_acts(columns, *row) for row in _rows(x[who], act)]).reshape(act.shape)
    found = _judged_rows(problem, columns, who, x[who], act, after[who, slot], preferences, alone)
    end = after[who, slot]
    nowhere = (~np.isfinite(end) & ~np.isnan(x[who])).any(1) & (not problem.world.nothing_follows)
    found["valid"], found["value"] = ask_model(problem, np.where(nowhere[:, None], x[who], end))
    found["valid"] = found["valid"] & ~nowhere
    spread = {
        name: np.full((n, k), np.nan) if name == "value" else np.zeros((n, k), dtype=bool) for name in found
    }
    for name, flags in found.items():
        spread[name][who, slot] = flags
    return Judged(returned=returned, refused=~yes, value_before=value_before, **spread)


def _judged_rows(
    problem: Problem,
    columns: Sequence[_Column],
    who: np.ndarray,
    before: Rows,
    act: Rows,
    end: Rows,
    preferences: Preferences | None,
    alone: bool,
) -> dict[str, np.ndarray]:
    """Return (m,) bool for each question that needs no model."""
    schema = problem.schema
    conditions = [rule.body for rule in schema.compiled_rules.rules] if schema.rules else []
    limits = None if preferences is None else _Limits(preferences)
    spans = [column.span for column in columns]
    soft = [name in problem.world.soft for name in schema.names]
    led = _expected(problem, columns, before, act, end, alone)
    out = {name: np.zeros(len(who), dtype=bool) for name in ("follows", "legal", "rules", "wishes")}
    rows = zip(who.tolist(), led, *(part.tolist() for part in (before, act, end)), strict=True)
    for i, (person, expected, was, acts, now) in enumerate(rows):
        moved = [column.differs(a, b) for column, a, b in zip(columns, was, now, strict=True)]
        empty = all(map(math.isnan, now))
        unreal = not empty and any(
            differs and not column.exists(x) for column, x, differs in zip(columns, now, moved, strict=True)
        )
        out["follows"][i] = not any(c.differs(a, b) for c, a, b in zip(columns, expected, now, strict=True))
        set_ = _shifts(columns, soft, was, acts)
        out["legal"][i] = not empty and not unreal and _legal(columns, soft, set_, was, acts, now, moved)
        # A rule says nothing about a value that does not exist; somebody may stand outside what was observed, though.
        pair = BeforeAfter(was, now, spans)
        out["rules"][i] = not conditions or not (
            unreal or any(not isinstance(c, Drag) and truth(c, pair) is False for c in conditions)
        )
        out["wishes"][i] = limits is None or limits.hold(columns, person, set_, was, acts, now, moved)
    return out


# -- the model and the target ------------------------------------------------------------------------------


def ask_model(problem: Problem, rows: Rows) -> tuple[RowMask, PerRow]:
    """(m, d) -> (m,) bool and (m,) value from the model itself; False, NaN for rows it cannot be shown."""
    schema = problem.schema
    yes, value = np.zeros(len(rows), dtype=bool), np.full(len(rows), np.nan)
    index = np.where(np.isnan(rows), 0.0, rows)
    with np.errstate(invalid="ignore"):
        bad_level = schema.has_levels & (
            (index < 0) | (index >= schema.n_levels) | (index != np.round(index))
        )
    hidden = bad_level | np.isinf(rows) | (np.isnan(rows) & ~schema.missing)
    shown = np.flatnonzero(~hidden.any(-1))
    for start in range(0, len(shown), _CHUNK):
        part = shown[start : start + _CHUNK]
        yes[part], value[part] = _decided(problem, np.ascontiguousarray(rows[part]))
    return yes, value


def _decided(problem: Problem, rows: Rows) -> tuple[RowMask, PerRow]:
    """Ask the native model; apply the target's classes, threshold, interval and margin to its answer."""
    target, model = problem.target, problem.model
    outputs, labels = model.native(rows)
    if target.interval is not None:
        low, high = (
            edge if given is None else float(given)
            for edge, given in zip((-math.inf, math.inf), target.interval, strict=True)
        )
        predicted = outputs[:, 0]
        low, high = _plus(low, target.margin), _plus(high, -target.margin)
        yes = [low <= p <= high for p in predicted.tolist()]
        return np.array(yes, dtype=bool), predicted
    wanted = sorted({_class_of(model.classes, label) for label in target.labels})
    value = outputs[:, wanted[0]] if len(wanted) == 1 else outputs[:, wanted].sum(1)
    if target.threshold is not None:
        yes = [p >= _plus(target.threshold, target.margin) for p in value.tolist()]
    else:
        chosen = outputs.argmax(1) if labels is None else labels
        needed = model.decision.needed(wanted[0])
        clear = _by_margin(outputs.tolist(), value.tolist(), wanted, target.margin, needed)
        yes = [label in wanted and enough for label, enough in zip(chosen.tolist(), clear, strict=True)]
    return np.array(yes, dtype=bool), value


def _by_margin(
    outputs: list[list[float]], value: list[float], wanted: Sequence[int], margin: float, needed: float
) -> Iterator[bool]:
    """Tell for each row whether the decision is as clear as wanted; of two classes, by the probability of a yes."""
    for row, p in zip(outputs, value, strict=True):
        if not margin:
            yield True
        elif len(row) == 2:
            yield p >= _plus(needed, margin)
        else:
            other = max(share for j, share in enumerate(row) if j not in wanted)
            yield _plus(max(row[j] for j in wanted) - other, -2 * margin) >= 0


def _plus(edge: float, margin: float) -> float:
    """Return a sum as people write it: 0.1 + 0.2 is 0.3; without a margin the edge itself, to the last bit."""
    return round(edge + margin, 12) if margin else edge


def _class_of(classes: Sequence[object], label: object) -> int:
    return next(i for i, known in enumerate(classes) if known == label or str(known) == str(label))


# -- what a row may be -------------------------------------------------------------------------------------


class _Column:
    """A feature as numbers: bounds, span, lattice, which way, how far at least and by whom it may be moved."""

    def __init__(self, feature: Feature) -> None:
        levels = feature.has_levels
        self.low = 0.0 if levels else -math.inf if feature.low is None else feature.low
        self.high = feature.n_levels - 1.0 if levels else math.inf if feature.high is None else feature.high
        self.span = feature.span
        self.step = 1.0 if levels else feature.step
        self.start = lattice_start(feature)
        self.levels, self.counted = feature.n_levels, levels or feature.kind == "integer"
        self.missing = bool(feature.missing)
        self.stays = set(feature.special_words)
        self.stays_missing = feature.missing in ("stays", "does not apply")
        self.actionable = feature.actionability == "actionable"
        self.immutable = feature.actionability == "immutable"
        self.least = 0.0 if feature.least_change is None else feature.least_change
        self.direction = {"increase": 1, "decrease": -1, "any": 0}[feature.direction]

    def stuck(self, x: float) -> bool:
        """Return whether this is a state that nobody moves: a special value, or a missing one that stays missing."""
        return x in self.stays or (self.stays_missing and math.isnan(x))

    def differs(self, a: float, b: float) -> bool:
        """Return whether two values are not the same; missing equals missing."""
        return abs(a - b) > 1e-9 * self.span or math.isnan(a) != math.isnan(b)

    def exists(self, x: float) -> bool:
        """Return whether somebody could have this value: inside the bounds, a whole number where it counts."""
        if math.isnan(x):
            return self.missing
        slack = 1e-9 * self.span
        inside = self.low - slack <= x <= self.high + slack and not math.isinf(x)
        return inside and not (self.counted and x != round(x))

    def usable(self, act: float, before: float) -> bool:
        """Return whether an act, or the value of who leaves it alone, may enter a world.

        Somebody may stand outside what was observed.
        """
        if not math.isnan(act):
            return self.exists(act)
        return (not self.levels and math.isfinite(before)) or self.exists(before)

    def on_step(self, x: float, acted: bool) -> bool:
        """Return whether a value is whole steps from the start of the lattice.

        What follows from an act may fall between two steps of an amount, never between two whole numbers of a count.
        """
        if math.isnan(x) or (self.step is None if acted else not self.counted):
            return True
        steps = (x - self.start) / self.step if acted and self.step is not None else x
        return math.isfinite(steps) and abs(steps - round(steps)) <= 1e-6

    def too_little(self, before: float, act: float) -> bool:
        """Return whether an act moves the value, and by less than is worth an effort."""
        return self.differs(before, act) and abs(act - before) < self.least - 1e-9 * self.span

    def backwards(self, before: float, act: float) -> bool:
        """Return whether an act goes against the direction."""
        return (act - before) * self.direction < -1e-9 * self.span


def _rows(*parts: np.ndarray) -> Iterator[tuple[list[float], ...]]:
    return zip(*(part.tolist() for part in parts), strict=True)


def _real_acts(columns: Sequence[_Column], before: list[float], act: list[float]) -> list[float]:
    return [a if c.differs(a, b) else math.nan for c, b, a in zip(columns, before, act, strict=True)]


def _expected(
    problem: Problem, columns: Sequence[_Column], before: Rows, act: Rows, end: Rows, alone: bool
) -> list[list[float]]:
    """Return where the acts lead. Acts outside the domain lead to no defined place: to the profile itself, for once."""
    expected, ask = [], []
    for i, (was, acts, now) in enumerate(_rows(before, act, end)):
        if all(map(math.isnan, acts)):
            expected.append(was)
            continue
        expected.append(now)
        if all(column.usable(a, b) for column, a, b in zip(columns, acts, was, strict=True)):
            ask.append(i)
    for i, led in zip(ask, consequences(problem, before[ask], act[ask], alone=alone), strict=True):
        expected[i] = led
    return expected


def _shifts(
    columns: Sequence[_Column], soft: Sequence[bool], before: list[float], act: list[float]
) -> dict[int, float]:
    """Return {column: value} of soft acts: what is set there, which is not where they end."""
    return {
        j: a
        for j, (column, was, a) in enumerate(zip(columns, before, act, strict=True))
        if soft[j] and not math.isnan(a) and column.differs(a, was)
    }


def _legal(
    columns: Sequence[_Column],
    soft: Sequence[bool],
    set_: dict[int, float],
    before: list[float],
    act: list[float],
    end: list[float],
    moved: list[bool],
) -> bool:
    """Tell whether a profile of values that exist may be reached by these acts."""
    for j, a in set_.items():
        if not columns[j].exists(a) or not columns[j].on_step(a, True):
            return False
    for j, (column, was, a, now, differs) in enumerate(zip(columns, before, act, end, moved, strict=True)):
        acted = not math.isnan(a)
        on_step = column.on_step(now, acted and not soft[j])
        if differs and (column.immutable or column.stuck(was) or not on_step):
            return False
        if differs and not math.isfinite(now):  # nobody knows where this leads
            return False
        if acted and (not column.actionable or column.backwards(was, a) or column.too_little(was, a)):
            return False
    return True


class _Limits:
    """The hard limits of people as plain lists."""

    def __init__(self, preferences: Preferences) -> None:
        self.frozen, self.low, self.high = (
            np.asarray(part).tolist() for part in (preferences.frozen, preferences.low, preferences.high)
        )
        most = preferences.max_changes
        self.most = None if most is None else np.asarray(most).tolist()
        self.months = np.asarray(preferences.time).tolist()
        self.time = [(feature.pace, feature.delay) for feature in preferences.schema.features]
        self.levels = {int(j): np.asarray(allowed).tolist() for j, allowed in preferences.levels.items()}

    def hold(
        self,
        columns: Sequence[_Column],
        person: int,
        set_: dict[int, float],
        before: list[float],
        act: list[float],
        end: list[float],
        moved: list[bool],
    ) -> bool:
        """Tell whether acts and profile keep to what this person said; nobody has to act because they stand outside."""
        acted = [not math.isnan(a) for a in act]
        if any(f and a for f, a in zip(self.frozen[person], acted, strict=True)):
            return False
        ended = {j: now for j, (now, differs) in enumerate(zip(end, moved, strict=True)) if differs}
        if not (self._allowed(columns, person, ended) and self._allowed(columns, person, set_)):
            return False
        changes = sum(a and c.differs(w, b) for a, c, w, b in zip(acted, columns, act, before, strict=True))
        if self.most is not None and changes > self.most[person]:
            return False
        return not math.isfinite(self.months[person]) or self._in_time(columns, person, before, act, moved)

    def _allowed(self, columns: Sequence[_Column], person: int, values: dict[int, float]) -> bool:
        """Tell whether values {column: value} lie within the person's limits and levels."""
        for j, x in values.items():
            slack = 1e-9 * columns[j].span
            if x < self.low[person][j] - slack or x > self.high[person][j] + slack:
                return False
            allowed = self.levels.get(j)
            if allowed is not None and not (0 <= x < len(allowed[person]) and allowed[person][int(x)]):
                return False
        return True

    def _in_time(
        self,
        columns: Sequence[_Column],
        person: int,
        before: list[float],
        act: list[float],
        moved: list[bool],
    ) -> bool:
        """Tell whether every act, and what follows without one, counts before the person's deadline."""
        for column, (pace, delay), was, a, differs in zip(
            columns, self.time, before, act, moved, strict=True
        ):
            acted = not math.isnan(a) and column.differs(was, a)
            size = abs(a - was) if acted and not math.isnan(was) else 0.0
            needed = delay + (size / pace if pace else 0.0) if acted or differs else 0.0
            if needed > self.months[person] + 1e-6:
                return False
        return True
