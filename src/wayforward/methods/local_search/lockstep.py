"""The general way of a local search: any model, rule, world and condition, for all people at once in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.candidates import SearchSettings
from wayforward.methods.local_search.listing import may_be_listed
from wayforward.methods.local_search.memory import Memory
from wayforward.methods.local_search.search import Search, fill_slots
from wayforward.shapes import Actions, Mask, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.streams import Streams

_IN_VAIN = 10  # searches in a row without an option of its own, after which further ones are not searched for


def options_in_lockstep(
    settings: SearchSettings,
    people: Population,
    k: int,
    streams: Streams,
    limit: int | np.ndarray,
    hint: Rows | None = None,
    patient: Mask | None = None,
) -> tuple[Actions, Mask]:
    """Return up to k options of each person (n, k, d), and (n,) bool: proved that there is none.

    The first is searched for in the same way whatever k is; the others lie at or above its cost. limit: model rows a
    person and option. hint (n, d): an action to start from, NaN where there is none. patient (n,): who has nothing is
    searched for until the budget is gone, or there is a proof; left out, everybody.
    """
    n, d = people.n, people.d
    out = np.full((n, k, d), np.nan)
    cap = people.rows + limit
    first = Search(settings, people, np.zeros((n, d), dtype=bool), cap, streams, 0)
    memory = first.memory = _memory(settings, people)
    first.hint, first.patient = hint, patient
    few = may_be_listed(people)
    first.run(np.flatnonzero(~few))
    first.look_at_all(np.flatnonzero(few))
    who = np.flatnonzero(first.found & ~few)
    banned = _dearest(first)
    # The dearest change may be the wrong one to build on: who may do something else looks once more without it.
    search = Search(settings, people, banned.copy(), cap, streams, 1)
    search.start, search.memory = first.start, memory
    if memory is not None:  # only what is cheaper is worth asking about
        search.cost[who] = first.cost[who]
    search.run(who[~search.stuck[who]], sparing_only=True)
    search.cost[~search.found] = np.inf
    spare = first.spare + search.spare
    better = np.flatnonzero(search.found & (search.cost < first.cost - 1e-12))
    _swap(first, search, better)
    if memory is not None:
        spare += _look_again(first, memory, who)
    out[first.found, 0] = first.best[first.found]
    vain = np.zeros(n, dtype=int)
    for option in range(1, k):
        who = who[vain[who] < _IN_VAIN]
        if not who.size:
            break
        if option > 1:
            search = Search(settings, people, banned.copy(), cap, streams, option)
            search.start, search.memory = first.start, memory
        # a second option has a budget of its own, too
        late = search.stuck | (people.rows >= cap) | (~search.found if memory is not None else False)
        again = who[late[who]] if option == 1 else who
        search.floor, search.cap = (people, first.cost), people.rows + limit
        search.run(again)
        search.drop_repeats(out[:, :option])
        spare += search.spare
        lost = who[~search.found[who]]
        if lost.size:  # there is no way without the dearest changes: look for one that leans on them less
            spare += _lean_less(search, first, lost, banned[lost], out[lost, :option])
        out[search.found, option] = search.best[search.found]
        vain = np.where(search.found, 0, vain + 1)
        banned |= _dearest(first) | _dearest(search)
    if k > 1:
        first.cap = people.rows + (k - 1) * limit
        some = np.flatnonzero(few & first.found)
        out[some], _ = first.listed_options(some, k, first.cost, settings.fill)
        fill_slots(people, out, spare, first.cost)
        if settings.fill:
            wanting = np.flatnonzero(np.isnan(out).all(2).any(1) & first.found & ~few)
            fill_slots(people, out, [*spare, *first.variations(wanting, out)], first.cost, whatever=True)
    return out, first.none


def _memory(settings: SearchSettings, people: Population) -> Memory | None:
    """Return an empty memory of what an opaque model says, where a stand-in proposes."""
    if settings.stand_in is None or people.problem.robust is not None or people.aim is not None:
        return None
    return Memory(settings.stand_in, people)


def _look_again(
    first: Search, memory: Memory, who: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Look for something cheaper than the incumbents with all that was learned of people since; return spares."""
    again = Search(
        first.settings, first.people, np.zeros((first.n, first.d), dtype=bool), first.cap, first.streams, 2
    )
    again.start, again.memory, again.floor = first.start, memory, first.floor
    again.keep(who, first.best[who], first.cost[who])
    again.run(who, sparing_only=True)
    first.keep(who, again.best[who], again.cost[who], pool=False)
    return again.spare


def _swap(one: Search, two: Search, who: np.ndarray) -> None:
    """Exchange the incumbents of some people."""
    one.best[who], two.best[who] = two.best[who], one.best[who]
    one.cost[who], two.cost[who] = two.cost[who], one.cost[who]


def _lean_less(
    search: Search, first: Search, lost: np.ndarray, banned: np.ndarray, taken: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Search for some people with the banned changes four times as dear; keep what is found; return spares."""
    people = search.people
    plain, some = people.take(lost), people.take(lost)
    some.weight, some.plain_weight = some.weight * np.where(banned, 4.0, 1.0), False
    left = np.maximum(search.cap[lost] - people.rows[lost], 0)
    again = Search(
        search.settings,
        some,
        np.zeros_like(banned),
        some.rows + left,
        search.streams.take(lost),
        search.option,
    )
    again.start, again.floor = search.start[lost], (plain, first.cost[lost])
    again.run(np.arange(len(lost)))
    again.drop_repeats(taken)
    people.rows[lost] += some.rows
    at = lost[again.found]
    search.keep(at, again.best[again.found], people.cost(at, again.best[again.found]), pool=False)
    return [(lost[who], action, people.cost(lost[who], action)) for who, action, _ in again.spare]


def _dearest(search: Search) -> np.ndarray:
    """Return (n, d) bool: the dearest change of each person's incumbent."""
    out = np.zeros((search.n, search.d), dtype=bool)
    who = np.flatnonzero(search.found)
    out[who, search.people.parts(who, search.best[who]).argmax(1)] = True
    return out
