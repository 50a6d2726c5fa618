"""Common actions: one order for many people, such as "raise savings to at least 2,000 EUR", carried out by each.

A move is about one feature; an action is up to a few moves about different features. What a move sets depends on the
person's own value alone, so that an action means the same for everybody who reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, gettext, ngettext
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Feature, Schema

_ROWS_AT_ONCE = 1 << 17  # candidate rows judged at once
_SHARES = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)  # quantiles that grids of values are made of
_USUAL = 30  # sets of changes that plans of one's own are told apart by
_LEAST = 10  # people on whom a prediction is worth making
_FEW = 12  # lattice points up to which a grid holds every one


_TO = {  # (up, to the last there is, levels)
    (True, True, False): N_("bring {name} up to {value}"),
    (False, True, False): N_("bring {name} down to {value}"),
    (True, False, True): N_("raise {name} to {value} or higher"),
    (True, False, False): N_("raise {name} to at least {value}"),
    (False, False, True): N_("lower {name} to {value} or lower"),
    (False, False, False): N_("lower {name} to at most {value}"),
}


def by_size(feature: Feature, amount: float, size: str) -> str:
    """Return the order to raise or lower a feature by a size, which is in words."""
    if amount > 0:
        return gettext("raise {name} by {size}", name=words.label(feature), size=size)
    return gettext("lower {name} by {size}", name=words.label(feature), size=size)


@dataclass(frozen=True, order=True)
class Move:
    """What to do about one feature. feature: its position.

    'to': take this level. 'at least', 'at most': go there, who is there already does nothing. 'by': add the value.
    """

    feature: int
    kind: Literal["to", "at least", "at most", "by"]
    value: float

    def sets(self, schema: Schema, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each person (n, d) sets the feature to (n,), and who can (n,) bool.

        NaN where they need not act. Nobody can add to a value that is not stated; who is asked to reach a value
        states it.
        """
        now = x[:, self.feature]
        gone = np.isnan(now)
        if self.kind == "by":
            return np.asarray(schema.round(now + self.value, columns=self.feature)), ~gone
        slack = 1e-9 * schema.span[self.feature]
        with np.errstate(invalid="ignore"):
            if self.kind == "at least":
                there = now >= self.value - slack
            elif self.kind == "at most":
                there = now <= self.value + slack
            else:
                there = now == self.value
        return np.where(there & ~gone, np.nan, self.value), np.ones(len(x), dtype=bool)

    def words(self, schema: Schema) -> str:
        """Return the order in words, such as: lower duration by 6 months."""
        feature = schema.features[self.feature]
        name = words.label(feature)
        if self.kind == "by":
            size = words.value_text(feature, abs(self.value)) if not feature.has_levels else ""
            if feature.has_levels:
                size = ngettext("one step", "{n} steps", int(abs(self.value)))
            return by_size(feature, self.value, size)
        text = words.value_text(feature, self.value)
        text = words.quoted(text) if feature.has_levels else text
        last = self._last(feature)
        if self.kind == "to" or (last and feature.has_levels):
            return gettext("change {name} to {value}", name=name, value=text)
        return gettext(_TO[self.kind == "at least", last, feature.has_levels], name=name, value=text)

    def _last(self, feature: Feature) -> bool:
        """Return whether nothing lies beyond the value."""
        if feature.has_levels:
            return self.value == (feature.n_levels - 1 if self.kind == "at least" else 0)
        return self.value == (feature.high if self.kind == "at least" else feature.low)


Action = tuple[Move, ...]  # in the order of their features; () is to do nothing


def action_of(moves: Iterable[Move]) -> Action:
    """Return moves in order, the same whatever order they came in."""
    return tuple(sorted(moves))


def carried(schema: Schema, action: Action, x: np.ndarray) -> np.ndarray:
    """Return what each person in x (n, d) sets, (n, d): what the action says; nothing where they cannot do a part."""
    out, can = np.full(x.shape, np.nan), np.ones(len(x), dtype=bool)
    for move in action:
        out[:, move.feature], ok = move.sets(schema, x)
        can &= ok
    out[~can] = np.nan
    return out


def plain(value: float, unit: float = 0.0, digits: int = 2) -> float:
    """Return a value that people can remember: two significant digits, and none finer than the unit."""
    if value == 0 or not np.isfinite(value):
        return value
    size = max(10.0 ** (np.floor(np.log10(abs(value))) - digits + 1), unit)
    return float(f"{round(value / size) * size:.12g}")


def units(people: Population) -> np.ndarray:
    """Return the size below which differences of each feature (d,) say little.

    A power of ten, 1 to 10 in 200 of its spread.
    """
    problem, out = people.problem, np.zeros(people.d)
    rows = people.x if problem.reference is None else problem.reference
    for j in np.flatnonzero(~people.schema.has_levels):
        seen = rows[np.isfinite(rows[:, j]), j]
        spread = float(np.subtract(*np.quantile(seen, (0.95, 0.05)))) if len(seen) else 0.0
        if spread > 0:
            out[j] = 10.0 ** np.floor(np.log10(spread / 20))
    return out


# -- which moves there are -----------------------------------------------------------------------------------


def moves_of(people: Population, plans: np.ndarray, origin: np.ndarray) -> tuple[list[Move], bool]:
    """Return moves worth a look for these people, and whether they are all that the lattice has.

    plans (p, d): what each of p people would set on their own, with their rows in `origin` (p, d). Values are those
    of accepted people and of the plans, rounded to what people can say.
    """
    out: list[Move] = []
    whole, unit = True, units(people)
    for j in np.flatnonzero(people.free.any(0)).tolist():
        some, all_of = _of_feature(people, j, plans[:, j], origin[:, j], float(unit[j]))
        out += some
        whole &= all_of
    return out, whole


def _of_feature(
    people: Population, j: int, planned: np.ndarray, origin: np.ndarray, unit: float
) -> tuple[list[Move], bool]:
    schema = people.schema
    feature, direction = schema.features[j], int(schema.direction[j])
    free = people.free[:, j]
    now = people.x[free, j]
    now = now[np.isfinite(now)]
    if schema.is_categorical[j] or feature.kind == "binary":
        offered = np.flatnonzero(people.level_ok[j][free].any(0))
        if len(offered) > 2 * _FEW:
            offered = np.sort(offered[np.argsort(-_seen(people, j, offered), kind="stable")][: 2 * _FEW])
            return [Move(j, "to", float(level)) for level in offered], False
        if feature.kind == "binary" and direction:
            offered = offered[offered == (1 if direction > 0 else 0)]
        return [Move(j, "to", float(level)) for level in offered], True
    low, high = float(people.low[free, j].min()), float(people.high[free, j].max())
    step = schema.step[j]
    if not np.isnan(step) and (high - low) / step < _FEW:
        grid = schema.round(np.arange(low, high + step / 2, step), columns=j)
        change = np.arange(1, round((high - low) / step) + 1) * step
        whole = True
    else:
        grid, change, whole = (
            _grid(people, j, planned, now, unit),
            _changes(people, j, planned, origin, now, unit),
            False,
        )
    out: list[Move] = []
    if direction >= 0:
        first = now.min() if len(now) else -np.inf
        out += [Move(j, "at least", float(v)) for v in grid if v > first]
        out += [Move(j, "by", float(v)) for v in change]
    if direction <= 0:
        last = now.max() if len(now) else np.inf
        out += [Move(j, "at most", float(v)) for v in grid if v < last]
        out += [Move(j, "by", float(-v)) for v in change]
    return out, whole


def _seen(people: Population, j: int, levels: np.ndarray) -> np.ndarray:
    rows = people.problem.reference
    rows = people.x if rows is None else rows
    return np.array([(rows[:, j] == level).sum() for level in levels])


def _grid(people: Population, j: int, planned: np.ndarray, now: np.ndarray, unit: float) -> np.ndarray:
    """Return values to reach: where accepted people stand, where plans lead, and the ends."""
    problem = people.problem
    seen = [now]
    if problem.reference is not None and problem.reference_reached.any():
        seen.append(problem.reference_accepted[:, j])
    parts = [_quantiles(part, _SHARES) for part in (*seen, planned)]
    parts.append(_quantiles(seen[-1], (0.02, 0.98)))
    values = np.concatenate([*parts, people.schema.low[[j]], people.schema.high[[j]]])
    values = np.array([plain(v, unit) for v in values[np.isfinite(values)]])
    return np.unique(people.schema.snap(values, columns=j))


def _changes(
    people: Population, j: int, planned: np.ndarray, origin: np.ndarray, now: np.ndarray, unit: float
) -> np.ndarray:
    """Return sizes of a change: those of plans, and shares of how far apart people are."""
    apart = float(np.subtract(*np.quantile(now, (0.9, 0.1)))) if len(now) else 0.0
    apart = apart or people.schema.span[j] / 4
    size = np.concatenate(
        [_quantiles(np.abs(planned - origin), _SHARES), apart * np.array([0.1, 0.25, 0.5, 1, 2])]
    )
    size = np.array([plain(v, unit) for v in size])
    step = people.schema.step[j]
    if not np.isnan(step):
        size = np.maximum(np.round(size / step), 1) * step
    return np.unique(size[size > 1e-9 * people.schema.span[j]])


def _quantiles(values: np.ndarray, shares: tuple[float, ...]) -> np.ndarray:
    values = values[np.isfinite(values)]
    return np.quantile(values, shares) if len(values) else np.empty(0)


def from_plans(people: Population, plans: np.ndarray, origin: np.ndarray, changes: int) -> list[Action]:
    """Return plans (p, d) of people (p, d) as orders for many: the usual sets of changes, values at a few quantiles."""
    schema, unit = people.schema, units(people)
    with np.errstate(invalid="ignore"):
        moved = ~np.isnan(plans) & schema.differs(plans, origin)
        way = np.where(moved & schema.ordered, np.where(plans > origin, 1, -1), 0)
        way = np.where(moved & schema.is_categorical, 2 + np.nan_to_num(plans), way).astype(np.int64)
    few = np.flatnonzero((moved.sum(1) <= changes) & moved.any(1))
    kinds, which, count = np.unique(way[few], axis=0, return_inverse=True, return_counts=True)
    out: dict[Action, None] = {}
    for k in np.argsort(-count, kind="stable")[:_USUAL]:
        mine = few[which.ravel() == k]
        for share in (0.5, 0.75, 0.9):
            reach, change = [], []
            for j in np.flatnonzero(kinds[k]).tolist():
                side = int(kinds[k, j])
                if schema.is_categorical[j] or schema.features[j].kind == "binary":
                    reach.append(Move(j, "to", float(plans[mine[0], j])))
                    change.append(reach[-1])
                    continue
                target = float(np.quantile(plans[mine, j], share if side > 0 else 1 - share))
                target = float(schema.snap(np.array([plain(target, unit[j])]), columns=j)[0])
                reach.append(Move(j, "at least" if side > 0 else "at most", target))
                far = np.abs(plans[mine, j] - origin[mine, j])
                far = far[np.isfinite(far)]  # nobody adds to what is not stated
                size = plain(float(np.quantile(far, share)), unit[j]) if far.size else 0.0
                step = schema.step[j]
                size = size if np.isnan(step) or not far.size else max(round(size / step), 1) * step
                change.append(Move(j, "by", side * size) if size > 0 else reach[-1])
            out[action_of(reach)] = out[action_of(change)] = None
    return list(out)


def between(schema: Schema, move: Move, others: Sequence[Move], unit: float) -> list[Move]:
    """Return moves like this one with values half way to the nearest others of its kind, in round numbers."""
    if move.kind == "to" or schema.has_levels[move.feature]:
        return []
    values = np.array([o.value for o in others if o.feature == move.feature and o.kind == move.kind])
    out = set()
    for side in (values[values < move.value][-1:], values[values > move.value][:1]):
        for share in (0.25, 0.5) if len(side) else ():
            for digits in (2, 3):
                middle = plain(move.value + share * (float(side[0]) - move.value), unit, digits)
                if move.kind == "by":
                    step = schema.step[move.feature]
                    middle = middle if np.isnan(step) else float(np.round(middle / step) * step)
                else:
                    middle = float(schema.snap(np.array([middle]), columns=move.feature)[0])
                if middle != move.value and middle * move.value >= 0 and (middle != 0 or move.kind != "by"):
                    out.add(Move(move.feature, move.kind, middle))
    return sorted(out)


# -- what they do --------------------------------------------------------------------------------------------


class Trials:
    """Common actions tried on n people: served (A, n) bool and cost (A, n), inf where not served.

    actions: the first is to do nothing. Every action is carried out and judged once for each person; people on whom two
    actions come to the same share the answer. rows: model rows that may be spent in all; actions beyond are left out.
    """

    def __init__(self, people: Population, rows: int) -> None:
        self.people, self.rows, self.spent = people, rows, 0
        self.actions: list[Action] = []
        self.index: dict[Action, int] = {}
        self._served: list[np.ndarray] = []
        self._cost: list[np.ndarray] = []
        self._moves: dict[Move, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.add([()])

    @property
    def left(self) -> int:
        """Model rows that may still be spent."""
        return max(self.rows - self.spent, 0)

    @property
    def served(self) -> np.ndarray:
        """(A, n) bool."""
        return np.stack(self._served)

    @property
    def cost(self) -> np.ndarray:
        """(A, n), inf where not served."""
        return np.stack(self._cost)

    def add(self, actions: Iterable[Action]) -> int:
        """Try new actions on everybody; how many were new. Stops where the budget ends."""
        fresh = [a for a in dict.fromkeys(actions) if a not in self.index]
        n = self.people.n
        fresh = fresh[: self.left // max(n, 1) + (not self.actions)]
        served, cost, _ = self.look(fresh, np.arange(n))
        for a, s, c in zip(fresh, served, cost, strict=True):
            self.index[a] = len(self.actions)
            self.actions.append(a)
            self._served.append(s)
            self._cost.append(c)
        return len(fresh)

    def look(self, actions: Sequence[Action], who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (A, m) served, cost and score for the people who (m,), not remembered; score -inf: illegal."""
        shape = (len(actions), len(who))
        served, cost, score = np.zeros(shape, dtype=bool), np.full(shape, np.inf), np.full(shape, -np.inf)
        step = max(1, _ROWS_AT_ONCE // max(len(who), 1))
        for start in range(0, len(actions), step):
            part = slice(start, start + step)
            served[part], cost[part], score[part] = self._judge(actions[part], who)
        return served, cost, score

    def _judge(self, actions: Sequence[Action], who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        people = self.people
        a, m, d = len(actions), len(who), people.d
        rows, can = np.full((a, m, d), np.nan), np.ones((a, m), dtype=bool)
        key = np.zeros((a, m), dtype=np.uint64)
        for i, action in enumerate(actions):
            for move in action:
                value, ok, mark = self.values_of(move)
                rows[i, :, move.feature] = value[who]
                can[i] &= ok[who]
                key[i] ^= mark[who]
        can &= ~np.isnan(rows).all(2)
        served, cost, score = np.zeros(a * m, dtype=bool), np.full(a * m, np.inf), np.full(a * m, -np.inf)
        todo = np.flatnonzero(can)
        if todo.size:
            owner = np.tile(who, a)[todo]
            same = np.stack([key.ravel()[todo], owner.astype(np.uint64)], 1)
            _, first, back = np.unique(
                same.view([("", np.uint64)] * 2).ravel(), return_index=True, return_inverse=True
            )
            who_once, row_once = owner[first], rows.reshape(-1, d)[todo[first]]
            got = people.evaluate(who_once, row_once)
            good = got.reached.copy()
            if people.problem.demanding and good.any():
                good[good] = people.promise(who_once[good], row_once[good])[0]
            self.spent += int(got.allowed.sum())
            served[todo] = good[back]
            cost[todo] = np.where(good, got.cost, np.inf)[back]
            score[todo] = np.where(got.allowed, got.score, -np.inf)[back]
        return served.reshape(a, m), cost.reshape(a, m), score.reshape(a, m)

    def values_of(self, move: Move) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each person (n,) what the move sets, whether they can, and a key of it; worked out once."""
        if move not in self._moves:
            value, ok = move.sets(self.people.schema, self.people.x)
            mark = keys_of(np.stack([np.full(len(value), float(move.feature)), value], 1), 3)
            mark[np.isnan(value)] = 0
            self._moves[move] = value, ok, mark
        return self._moves[move]


def promising(
    trials: Trials, moves: Sequence[Move], groups: np.ndarray, who: np.ndarray, changes: int, gamma: float
) -> list[Action]:
    """Return actions that should do well for some group of people, if scores of single moves add up.

    groups (g, m) bool over the people who (m,). Every single move is tried and every pair predicted; longer actions
    grow from the best pairs of each group. Exact for additive scores and costs; for others only where to look. At most
    half of what is left of the budget is spent, on fewer people where it is short.
    """
    afford = trials.left // (2 * max(len(moves), 1))
    if afford < len(who):
        if afford < _LEAST:
            return []
        thin = np.linspace(0, len(who) - 1, afford).astype(np.int64)
        who, groups = who[thin], groups[:, thin]
    if not moves:
        return []
    people, m = trials.people, len(who)
    weight = np.ascontiguousarray(groups.T, dtype=np.float32)  # (m, g)
    base = people.score(who, people.x[who])
    alone = [(move,) for move in moves]
    _, _, score = trials.look(alone, who)
    price = np.empty((len(moves), m))
    gain = np.empty((len(moves), m))
    for i, move in enumerate(moves):
        value = trials.values_of(move)[0][who]
        row = np.full((m, people.d), np.nan)
        row[:, move.feature] = value
        price[i] = people.cost(who, row)
        gain[i] = np.where(np.isnan(value), 0.0, score[i] - base)
    feature = np.array([move.feature for move in moves])
    gain, price = gain.astype(np.float32), price.astype(np.float32)
    start, slack = base.astype(np.float32), people.problem.slack
    short = np.maximum(-start, 1e-9)

    def sums(first: np.ndarray, second: np.ndarray, paid: np.ndarray) -> np.ndarray:
        """Return (c, g) the loss of each group under candidates whose gains are the sums of two rows."""
        total = first + second
        reach = np.clip(total / short, 0.0, 1.0)  # where nobody is served yet, more of the way is better
        loss = np.where(start + total > slack, np.minimum(paid, gamma), gamma * (1 - 1e-4 * reach))
        return np.asarray(loss.astype(np.float32) @ weight)

    out: dict[Action, None] = {}
    chosen = np.arange(len(moves))[:, None]  # (c, k) moves of each candidate
    so_far, paid = gain, price
    for size in range(1, changes + 1):
        if size > 1:
            found: list[tuple[np.ndarray, np.ndarray]] = []
            for i in range(len(chosen)):
                fit = ~np.isin(feature, feature[chosen[i]])
                if size == 2:
                    fit &= np.arange(len(moves)) > chosen[i, 0]  # each pair once
                j = np.flatnonzero(fit)
                if j.size:
                    found.append((np.full(j.size, i), j))
            if not found:
                break
            left, right = (np.concatenate(part) for part in zip(*found, strict=True))
            losses = np.concatenate(
                [
                    sums(
                        so_far[left[s : s + 512]],
                        gain[right[s : s + 512]],
                        paid[left[s : s + 512]] + price[right[s : s + 512]],
                    )
                    for s in range(0, len(left), 512)
                ]
            )
            chosen = np.concatenate([chosen[left], right[:, None]], 1)
        else:
            losses = sums(gain, np.zeros_like(gain), price)
        best = _two_best(losses)
        for c in np.unique(best):
            out[action_of(moves[i] for i in chosen[c])] = None
        if size >= 2:
            keep = np.unique(best)
            chosen = np.unique(np.sort(chosen[keep], axis=1), axis=0)
            so_far, paid = gain[chosen].sum(1), price[chosen].sum(1)
    return list(out)


def _two_best(losses: np.ndarray) -> np.ndarray:
    """Return (2, g) rows of the two least in each column; ties to the first. Changes its argument."""
    first, column = losses.argmin(0), np.arange(losses.shape[1])
    losses[first, column] = np.inf
    return np.stack([first, losses.argmin(0)])
