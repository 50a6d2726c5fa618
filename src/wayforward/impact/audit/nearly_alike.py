"""Groups of several attributes that are nearly the same people: whom their sums, told beside each other, would tell of.

All of a group less all of a group of another attribute, or of groups put together on both sides, is what those fare by
whom the two differ. Of two attributes the groups are the two sides of a graph, and the people of both are the weights
of its edges: what adds up from sums is a cut (A. Schrijver 2003, Combinatorial Optimization, section 13), and the least
is found by M. Stoer & F. Wagner (1997), A simple min-cut algorithm, J. ACM 44(4). Of more attributes at once it is in
the space of the rows of their equations; there only one or two people, or parts of few where all meet, are looked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from wayforward.shapes import Floats, Ints, Mask

_CLOSE = 1e-9
_BLOCK = 1000  # parts of people set beside all others at once
_PAIRED = 3000  # of more parts only one at a time is looked for: so many equations hardly ever tell of two


def few_between(labels: Sequence[Ints], fewest: int) -> tuple[Mask, tuple[int, ...]]:
    """Return who (n,) bool, fewer than `fewest` of n people, are told of by sums over the groups of several attributes,
    and at which of these; nobody and () where there are none.

    labels: (n,) each, the group of which sums are told, -1 where none are: what all others add up to follows from that
    of everybody.
    """
    for first, second in itertools.combinations(range(len(labels)), 2):
        cut = _least_cut(labels[first], labels[second])
        if 0 < cut.sum() < fewest:
            return cut, (first, second)
    if len(labels) > 2:
        found = parts_of_few(np.stack(labels, 1), fewest)
        if found.any():
            return found, tuple(range(len(labels)))
    return np.zeros(len(labels[0]) if labels else 0, dtype=bool), ()


def _least_cut(one: Ints, other: Ints) -> Mask:
    """Return the fewest people (n,) bool without whom some groups of two attributes are the same people as some of the
    other, and not all; nobody where no two parts of the groups are joined."""
    n, best = len(one), np.zeros(len(one), dtype=bool)
    names, node = np.unique(np.concatenate([2 * one, 2 * other + 1]), return_inverse=True)
    left, right = node.reshape(-1)[:n], node.reshape(-1)[n:]
    weight = np.zeros((len(names), len(names)))
    np.add.at(weight, (left, right), 1)
    weight += weight.T
    for some in _joined(weight):
        if len(some) < 2:
            continue
        side = np.zeros(len(names), dtype=bool)
        side[some[_stoer_wagner(weight[np.ix_(some, some)])]] = True
        cut = side[left] != side[right]
        if not best.any() or cut.sum() < best.sum():
            best = cut
    return best


def _joined(weight: Floats) -> list[Ints]:
    """Return the positions of each part (k,) of a graph with weights (v, v) whose nodes are joined."""
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(weight > 0, directed=False)
    return [np.flatnonzero(part == k) for k in range(count)]


def _stoer_wagner(weight: Floats) -> Mask:
    """Return one side (v,) bool of a least cut of a graph with symmetric weights (v, v), 2 nodes or more."""
    weight = weight.copy()
    members = np.eye(len(weight), dtype=bool)
    alive = list(range(len(weight)))
    best, side = np.inf, members[0]
    while len(alive) > 1:
        reach, order, rest = weight[alive[0]].copy(), [alive[0]], alive[1:]
        while rest:
            order.append(max(rest, key=reach.__getitem__))
            rest.remove(order[-1])
            last = reach[order[-1]]
            reach += weight[order[-1]]
        before, end = order[-2:]
        if last < best:
            best, side = last, members[end].copy()
        members[before] |= members[end]
        weight[before] += weight[end]
        weight[:, before] += weight[:, end]
        weight[before, before] = 0
        alive.remove(end)
    return np.asarray(side)


def parts_of_few(labels: Ints, fewest: int, of_all: bool = True) -> Mask:
    """Return the people (n,) bool of one or two parts where all attributes (n, k) meet, fewer than `fewest`, whose sum
    or difference follows from the sums over groups, and (of_all) from that over all n."""
    parts, at, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    at, nobody = at.reshape(-1), np.zeros(len(labels), dtype=bool)
    small = np.flatnonzero(counts < fewest)
    if not small.size:
        return nobody
    rows = [np.ones(len(parts))] if of_all else []
    rows += [(column == g).astype(float) for column in parts.T for g in np.unique(column[column >= 0])]
    values, directions = np.linalg.svd(np.array(rows), full_matrices=False)[1:]
    known = directions[values > _CLOSE * values[0]]  # an orthonormal basis of what follows
    of = known[:, small]
    open_ = 1 - (of**2).sum(0)  # what of a part alone does not follow
    determined = small[open_ < _CLOSE]
    if determined.size:
        return np.asarray(at == determined[0])
    for start in range(0, len(small) if len(small) <= _PAIRED else 0, _BLOCK):
        block = slice(start, start + _BLOCK)
        also = (
            np.outer(open_[block], open_) - (of[:, block].T @ of) ** 2 < _CLOSE
        )  # one open direction for two parts
        also &= np.add.outer(counts[small[block]], counts[small]) < fewest
        also &= np.arange(len(small)) > np.arange(len(small))[block, None]
        if also.any():
            first, second = (int(place[0]) for place in np.nonzero(also))
            return np.asarray((at == small[start + first]) | (at == small[second]))
    return nobody
