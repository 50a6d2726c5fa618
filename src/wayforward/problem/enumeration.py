"""Proofs by trying everything: where a person's actions can be listed, all of them are judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.problem.population import Population
from wayforward.shapes import Floats, Mask, Rows, Who

_BLOCK = 1 << 16  # actions judged at once
_FIRST = (
    256  # actions of a person in the first round: who has a way is often found early; then four times as many
)


@dataclass(frozen=True)
class Choices:
    """What each person may do with each feature: leave it alone (choice 0), or set it to one of some values.

    count (n, d) choices as float. start, step (n, d): values of a lattice. order: level feature -> (n, L) its allowed
    levels first. hold (n, d): the last choice is the person's own value, which holds it while its causes move.
    """

    count: np.ndarray
    start: np.ndarray
    hold: Mask
    order: dict[int, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """(n,) actions in all; inf where some value may be any number."""
        return np.asarray(self.count.prod(1))


def none_among_all(people: Population, most: int) -> Mask:
    """(n,) bool: proved by trying every action of the person, at most `most`, that none is allowed and a yes.

    What is judged: the schema, the rules, the wishes and the model itself; of what bounds can exclude it is not asked.
    Whatever else a problem demands only takes options away. A person's answer depends on nobody else.
    """
    choices = choices_of(people)
    total = choices.total
    whole = total <= most
    total = np.where(whole, total, 0.0).astype(np.int64)
    done, exists, each = np.zeros(people.n, dtype=np.int64), np.zeros(people.n, dtype=bool), _FIRST
    while True:
        open_ = np.flatnonzero(whole & ~exists & (done < total))
        if not open_.size:
            return np.asarray(whole & ~exists)
        for some in np.array_split(open_, -(-open_.size * each // _BLOCK)):
            take = np.minimum(each, total[some] - done[some])
            who = np.repeat(some, take)
            number = np.arange(len(who)) - np.repeat(np.cumsum(take) - take, take) + done[who]
            exists[who[_good(people, who, actions_of(people, choices, who, number))]] = True
            done[some] += take
        each *= 4


def cheapest_among_all(people: Population, most: int, cutoff: Floats) -> Floats:
    """(n,) the least cost of all actions that are allowed and a yes, found by trying every one, at most `most`.

    cutoff (n,): what costs as much is not of interest, so that it is the most that is returned. NaN: too many actions.
    """
    choices = choices_of(people)
    whole = choices.total <= most
    total = np.where(whole, choices.total, 0.0).astype(np.int64)
    best = np.where(whole, cutoff, np.nan)
    for some in np.array_split(np.flatnonzero(whole), max(1, -(-int(total.sum()) // _BLOCK))):
        if not some.size:
            continue
        who = np.repeat(some, total[some])
        number = np.arange(len(who)) - np.repeat(np.cumsum(total[some]) - total[some], total[some])
        action = actions_of(people, choices, who, number)
        cost = people.cost(who, action)
        cheap = np.flatnonzero(cost < cutoff[who])
        good = cheap[_good(people, who[cheap], action[cheap])]
        np.minimum.at(best, who[good], cost[good])
    return best


def choices_of(people: Population) -> Choices:
    """Return what each person may do with each feature."""
    schema, x, may = people.schema, people.x, people.may
    led = may.astype(np.int64) @ people.problem.descendants.astype(np.int64) > 0
    step = np.nan_to_num(schema.step, nan=1.0)
    with np.errstate(invalid="ignore"):
        start = schema.round(people.least)
        start = np.where(start < people.least - 1e-9 * schema.span, schema.round(start + step), start)
        count = np.floor((people.greatest + 1e-9 * schema.span - start) / step) + 1
    alone = people.least == people.greatest  # one value, on no lattice
    start = np.where(np.isnan(schema.step), people.least, start)
    count = np.where(np.isnan(schema.step), np.where(alone, 1.0, np.inf), np.fmax(count, 0.0))
    count = np.where(np.isfinite(start), count, np.inf)
    order = {}
    for j, ok in people.level_ok.items():
        other = ok & (np.arange(ok.shape[1]) != x[:, j, None])
        order[j], count[:, j] = np.argsort(~other, axis=1, kind="stable"), other.sum(1)
    hold = may & led & ~np.isnan(x)
    return Choices(np.where(may, 1.0 + count + hold, 1.0), start, hold, order)


def actions_of(people: Population, choices: Choices, who: Who, number: np.ndarray) -> Rows:
    """Return the actions (m, d), NaN where left alone: whose (m,), and which (m,) of all that the person may do."""
    schema, rest = people.schema, number
    action = np.full((len(who), people.d), np.nan)
    step = np.nan_to_num(schema.step, nan=0.0)
    for j in np.flatnonzero((choices.count > 1).any(0)).tolist():
        count = choices.count[who, j].astype(np.int64)
        choice, rest = rest % count, rest // count
        if j in choices.order:
            order = choices.order[j]
            value = order[who, np.clip(choice - 1, 0, order.shape[1] - 1)].astype(float)
        else:
            value = schema.round(choices.start[who, j] + (choice - 1) * step[j], columns=j)
        value = np.where(choices.hold[who, j] & (choice == count - 1), people.x[who, j], value)
        action[:, j] = np.where(choice > 0, value, np.nan)
    return action


def _good(people: Population, who: Who, action: Rows) -> np.ndarray:
    """Positions of the actions (m, d) that are allowed and lead to a yes."""
    problem = people.problem
    if problem.independent:
        action = np.where(people.schema.differs(action, people.x[who]), action, np.nan)
    after = people.after(who, action)
    good = np.flatnonzero(~np.isnan(action).all(1) & people.allowed(who, action, after))
    bounds = problem.model.box_bounds(after[good], after[good]) if good.size else None
    if bounds is not None:
        good = good[~problem.bound_target.surely_missed(bounds.least, bounds.most)]
    return good[problem.reached(after[good])[0]] if good.size else good
