"""Plans to show and to recommend: rows that a person may do and that reach the decision, in many directions.

m rows, n people, `who` (m,) picks people. A plan is an action (NaN: left alone); blends of two plans need *full* rows,
where a feature that is left alone holds its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.batching import tidy

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.shapes import Actions, Mask, PerRow, Rows, Who
    from wayforward.streams import Streams

_BLOCK = 1 << 17  # rows evaluated at once
_LEAST, _MOST = 0.05, 2.0  # lengths of random ways, in widths of the ranges
_LEAP = 1 / 3  # chance that a category goes along with a way
_TRIED = 2048  # observed people that ways may lead to


def works(people: Population, who: Who, action: Rows, *, judge: bool = True) -> Mask:
    """(m,) bool: the person may do it, and it reaches the decision as surely as the problem asks.

    judge: where worlds are uncertain, on the judge's own draws, for what is shown; else on draws that the person keeps.
    """
    out = np.zeros(len(who), dtype=bool)
    for start in range(0, len(who), _BLOCK):
        part = slice(start, start + _BLOCK)
        acts = start + np.flatnonzero(~np.isnan(action[part]).all(1))
        if not acts.size:
            continue
        good = people.evaluate(who[acts], action[acts]).reached
        if people.problem.demanding and good.any():
            owner, act = who[acts[good]], action[acts[good]]
            certain = (
                people.problem.chance(people.x[owner], act)[1] if judge else people.promise(owner, act)[0]
            )
            good[good] = certain
        out[acts] = good
    return out


def begun(people: Population, who: Who, action: Rows) -> tuple[Rows, Mask]:
    """Plans to start from (m, d) that work, NaN where none does, and (m,) which do.

    As they are if they can be, since in a causal world holding a value is an act; else what tidying leaves of them.
    """
    out, good = action.copy(), works(people, who, action)
    rest = np.flatnonzero(~good)
    if rest.size:
        out[rest] = tidy(people, who[rest], action[rest])
        good[rest] = works(people, who[rest], out[rest])
    return np.where(good[:, None], out, np.nan), good


def full(people: Population, who: Who, action: Rows) -> Rows:
    """Actions with the person's own value where a feature is left alone."""
    return np.where(np.isnan(action), people.x[who], action)


def leaping(people: Population) -> np.ndarray:
    """(d,) bool: features with nothing between two values."""
    schema = people.schema
    return np.asarray(schema.is_categorical | (schema.n_levels == 2))


def blend(people: Population, one: Rows, other: Rows, t: PerRow, turn: Rows) -> Rows:
    """(m, d) full rows between two: numbers in proportion t (m,), a category once t has come to `turn` (m, d)."""
    leap = leaping(people) | np.isnan(one) | np.isnan(other)
    with np.errstate(invalid="ignore"):
        between = one + t[:, None] * (other - one)
    return np.where(leap, np.where(t[:, None] >= turn, other, one), between)


def barely(
    people: Population, who: Who, away: Rows, there: Rows, turn: Rows, halvings: int
) -> tuple[Rows, Mask]:
    """The plan nearest to `away` on the way to `there` (full rows) that works: action (m, d) and (m,) if there is one.

    Bisection: each row that is kept was seen to work as it is, on the steps that the schema allows.
    """
    first = tidy(people, who, there)
    best, good = first.copy(), works(people, who, first)
    go = np.flatnonzero(good)
    low, high = np.zeros(go.size), np.ones(go.size)
    for _ in range(halvings):
        middle = (low + high) / 2
        row = tidy(people, who[go], blend(people, away[go], there[go], middle, turn[go]))
        yes = works(people, who[go], row, judge=False)
        best[go[yes]] = row[yes]
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    if people.problem.demanding and go.size:
        lost = go[~works(people, who[go], best[go])]
        best[lost] = first[lost]
    return np.where(good[:, None], best, np.nan), good


def aims(people: Population, streams: Streams, start: Actions, size: int, tag: int) -> Rows:
    """(n x size, d) full rows to aim at: random ways from the person and from their start plans, observed people.

    start (n, b, d): plans known already, NaN where there is none.
    """
    n, d, schema = people.n, people.d, people.schema
    everyone = np.arange(n)
    normal = streams.normal(everyone, size, d, tag=tag)
    draw = streams.uniform(everyone, size, 2 * d + 4, tag=tag + 1)
    own, level, rest = draw[..., :d], draw[..., d : 2 * d], draw[..., 2 * d :]
    low, high = people.low[:, None, :], people.high[:, None, :]
    here = np.broadcast_to(people.x[:, None, :], (n, size, d))
    # from where: the person, or one of the start plans
    plan = np.where(np.isnan(start), people.x[:, None, :], start)
    pick = np.floor(rest[..., 0] * start.shape[1]).astype(np.int64)
    known = np.take_along_axis(plan, pick[..., None], axis=1)
    origin = np.where(rest[..., 1, None] < 1 / 3, known, here)
    origin = np.where(np.isnan(origin), (low + high) / 2, origin)
    # how many features go along: all, half or a quarter of them
    share = np.asarray([1.0, 0.5, 0.25])[np.floor(rest[..., 2, None] * 3).astype(np.int64)]
    goes = people.free[:, None, :] & (own < share)
    few = np.where(people.free[:, None, :], own, np.inf)  # who allows few changes gets ways with few
    goes &= few.argsort(2).argsort(2) < people.max_changes[:, None, None]
    length = np.sqrt(np.square(np.where(goes, normal, 0.0)).sum(2, keepdims=True))
    radius = _LEAST * (_MOST / _LEAST) ** rest[..., 3, None]
    aim = np.clip(origin + radius * normal / np.where(length > 0, length, 1.0) * schema.span, low, high)
    aim = np.where(goes, aim, np.where(rest[..., 1, None] < 1 / 3, known, here))
    leap = leaping(people)
    for j in np.flatnonzero(leap):
        ok = people.level_ok[int(j)] & (np.arange(schema.n_levels[j]) != people.x[:, j, None])
        many = ok.sum(1)[:, None]
        order = np.argsort(~ok, axis=1, kind="stable")
        place = np.floor(level[..., j] * many).astype(np.int64).clip(0, np.maximum(many - 1, 0))
        other = np.take_along_axis(order, place, axis=1)
        jumps = goes[..., j] & (own[..., j] < _LEAP * share[..., 0]) & (many > 0)
        stay = np.where(rest[..., 1] < 1 / 3, known[..., j], here[..., j])
        aim[..., j] = np.where(jumps, other, stay)
    if (
        people.problem.reference is not None
    ):  # a quarter of the ways lead towards people whom the model accepts
        seen = people.problem.reference_accepted[:_TRIED]
        if len(seen):
            row = seen[np.floor(level[..., 0] * len(seen)).astype(np.int64)]
            aim = np.where((rest[..., 1, None] > 0.75) & goes, row, aim)
    return aim.reshape(-1, d)


def pool(
    people: Population, streams: Streams, start: Actions, size: int, tag: int, halvings: int = 12
) -> tuple[Actions, Mask]:
    """Plans that work: action (n, size + b, d), those that exist first, and (n, size + b) bool where there is one.

    The first b are the start plans; the others lie just beyond the decision boundary, each on a way of its own.
    """
    n, b, d = start.shape
    who = np.repeat(np.arange(n), size)
    aim = aims(people, streams, start, size, tag)
    turn = streams.uniform(np.arange(n), size, d + 1, tag=tag + 2).reshape(-1, d + 1)
    turn = np.where(turn[:, -1:] < 0.5, 0.0, turn[:, :-1])  # half of the ways change their categories at once
    action, good = barely(people, who, people.x[who], aim, turn, halvings)
    first = np.repeat(np.arange(n), b)
    known, sound = begun(people, first, start.reshape(-1, d))
    action = np.concatenate([known.reshape(n, b, d), action.reshape(n, size, d)], axis=1)
    ok = np.concatenate([sound.reshape(n, b), good.reshape(n, size)], axis=1)
    order = np.argsort(~ok, axis=1, kind="stable")
    return np.take_along_axis(action, order[..., None], axis=1), np.take_along_axis(ok, order, axis=1)
