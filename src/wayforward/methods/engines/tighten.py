"""Move values that were set back towards people's own, guided by the score: few rows where it is smooth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.gradient.zeroth import is_smooth
from wayforward.methods.engines.polish import revert, shrink

if TYPE_CHECKING:
    from wayforward.problem import Population

_CLOSE = 2e-4  # an interval this narrow, in ranges, is not halved again


def polish(
    people: Population, who: np.ndarray, action: np.ndarray, begun: np.ndarray | None = None
) -> np.ndarray:
    """Make changes fewer and smaller; rows who (m,), action (m, d) reach the decision before and after.

    Gives changes back, dearest first, and moves values back; begun (m, d) how far a search went with each change: a
    second try gives back first what it cared least about, and the cheaper of both is returned. Never dearer.
    """
    price = people.cost(who, action)
    parts = np.nan_to_num(people.parts(who, action))
    acted = ~np.isnan(action)
    again = np.zeros(0, dtype=np.int64)
    if begun is not None:  # another order can only differ where levels were mixed
        again = np.flatnonzero((acted & (begun < 1.0)).any(1) & (acted.sum(1) > 1))
    rows = np.concatenate([np.arange(len(who)), again])
    priority = parts if begun is None else np.concatenate([parts, -begun[again]])
    trial = revert(people, who[rows], action[rows], priority, sweeps=2)
    twice = np.flatnonzero(
        ((trial[len(who) :] != trial[again]) & ~(np.isnan(trial[len(who) :]) & np.isnan(trial[again]))).any(1)
    )
    rows = np.concatenate([np.arange(len(who)), again[twice]])
    trial = np.concatenate([trial[: len(who)], trial[len(who) :][twice]])
    trial = tighten(people, who[rows], exchange(people, who[rows], trial))
    paid = people.cost(who[rows], trial)
    best = action.copy()
    for part in (slice(0, len(who)), slice(len(who), None)):
        at = rows[part]
        better = paid[part] < price[at] - 1e-12
        best[at[better]], price[at[better]] = trial[part][better], paid[part][better]
    return best


def exchange(people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Give changes back whose share the most effective change can take over for less; rows that reach the decision.

    The most effective change is that of the ordered feature which gains most score for its cost; it goes as much
    further as the others' gains ask for. A row is changed only where it was seen to reach and to be cheaper.
    """
    many = np.flatnonzero((~np.isnan(action)).sum(1) > 1)
    if not many.size or not is_smooth(people.problem):
        return action
    out = action.copy()
    who, action = who[many], action[many]
    x, parts = people.x[who], people.parts(who, action)
    acted = ~np.isnan(action)
    score, cost = people.score(who, people.after(who, action)), people.cost(who, action)
    row, j = np.nonzero(acted)
    trial = action[row]
    trial[np.arange(len(row)), j] = np.nan
    gain = np.full(action.shape, np.nan)
    gain[row, j] = score[row] - people.score(who[row], people.after(who[row], trial))
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(acted & (gain > 0), gain / np.maximum(parts, 1e-12), 0.0)
    can = acted & people.schema.ordered & ~np.isnan(x) & (worth > 0)
    main = np.where(can, worth, -1.0).argmax(1)
    able = can[np.arange(len(who)), main]
    order = np.argsort(np.where(acted, worth, np.inf), axis=1, kind="stable")
    for place in range(int(acted.sum(1).max(initial=0))):
        column = order[:, place]
        rows = np.flatnonzero(able & (place < acted.sum(1)) & (column != main))
        if not rows.size:
            continue
        j, i = column[rows], main[rows]
        needed = np.maximum(gain[rows, j], 0.0) / gain[rows, i] * 1.02
        trial = action[rows]
        own = x[rows, i]
        trial[np.arange(rows.size), i] = trial[np.arange(rows.size), i] + needed * (action[rows, i] - own)
        trial[np.arange(rows.size), j] = np.nan
        trial = people.snap(who[rows], trial)
        seen = people.evaluate(who[rows], trial)
        better = seen.reached & (seen.cost < cost[rows] - 1e-12)
        at = rows[better]
        grown = trial[better, i[better]] - own[better]
        with np.errstate(divide="ignore", invalid="ignore"):
            gain[at, i[better]] *= grown / (action[at, i[better]] - own[better])
        action[at], cost[at] = trial[better], seen.cost[better]
    out[many] = action
    return out


def tighten(people: Population, who: np.ndarray, action: np.ndarray, *, rounds: int = 5) -> np.ndarray:
    """Move ordered values back, dearest first, as far as the decision allows; only rows that were seen to reach it.

    By regula falsi on the score, `rounds` rows a feature; a model whose score says nothing between yes and no
    (labels, trees) is halved 12 times instead.
    """
    if not is_smooth(people.problem):
        return shrink(people, who, action)
    action = action.copy()
    x, schema = people.x[who], people.schema
    order = np.argsort(-np.nan_to_num(people.parts(who, action)), axis=1, kind="stable")
    most = int((~np.isnan(action)).sum(1).max(initial=0))
    seen = people.evaluate(who, action)
    score, cost = seen.score, seen.cost
    for place in range(most):
        column = order[:, place]
        value, own = (np.asarray(t[np.arange(len(who)), column]) for t in (action, x))
        rows = np.flatnonzero(~np.isnan(value) & ~np.isnan(own) & schema.ordered[column] & (value != own))
        if not rows.size:
            continue
        j = column[rows]
        good, bad = action[rows, j].copy(), own[rows].copy()
        trial = action[rows]
        trial[np.arange(rows.size), j] = np.nan
        above, below = score[rows].copy(), people.score(who[rows], people.after(who[rows], trial))
        side = np.zeros(rows.size)
        slack = people.problem.slack
        for _ in range(rounds):
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(below < slack, (slack - below) / (above - below), 0.5)
            share = np.clip(np.nan_to_num(share, nan=0.5) + 0.01, 0.02, 0.98)
            narrow = np.abs(good - bad) <= _CLOSE * schema.span[j]
            spare = above > 1e-3 * np.maximum(np.abs(above - below), 1e-12)  # else it is at the edge already
            live = np.flatnonzero(~narrow & spare)
            if not live.size:
                break
            at = rows[live]
            trial = action[at]
            trial[np.arange(live.size), j[live]] = bad[live] + share[live] * (good[live] - bad[live])
            trial = people.snap(who[at], trial)
            new_value = trial[np.arange(live.size), j[live]]
            # Between two points of the lattice there may be one more than the guess rounds to.
            step = np.nan_to_num(schema.step[j[live]])
            stuck = (new_value == good[live]) & (step > 0)
            nearer = new_value - np.sign(good[live] - bad[live]) * step
            new_value = np.where(stuck, nearer, new_value)
            trial[np.arange(live.size), j[live]] = new_value
            new = (
                ~np.isnan(new_value)
                & (np.abs(new_value - good[live]) > 0)
                & ((new_value - bad[live]) * (good[live] - bad[live]) > 0)
            )
            bad[live[~new]] = good[live[~new]]  # nothing between: done
            live, at, trial, new_value = live[new], at[new], trial[new], new_value[new]
            if not live.size:
                continue
            got = people.evaluate(who[at], trial)
            yes = got.reached & (got.cost < cost[at])
            no = ~yes
            good[live[yes]], above[live[yes]] = new_value[yes], got.score[yes]
            cost[at[yes]], score[at[yes]] = got.cost[yes], got.score[yes]
            action[at[yes], j[live[yes]]] = new_value[yes]
            bad[live[no]] = new_value[no]
            below[live[no]] = np.where(
                np.isfinite(got.score[no]), np.minimum(got.score[no], 0), below[live[no]]
            )
            # The end that stays twice counts half (Illinois), so that both ends close in.
            below[live[yes & (side[live] > 0)]] *= 0.5
            above[live[no & (side[live] < 0)]] *= 0.5
            side[live] = np.where(yes, 1.0, -1.0)
    return action
