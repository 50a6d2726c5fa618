"""Graphs that are known in part: every way to direct what is undirected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wayforward.errors import WorldError, is_list, shown
from wayforward.public import public
from wayforward.world.graph import CausalGraph, Edge


@public
def orientations(
    directed: Iterable[Edge],
    undirected: Iterable[Edge],
    nodes: Sequence[str] | None = None,
    *,
    most: int = 64,
) -> list[CausalGraph]:
    """Return every causal graph that a partially directed one stands for, at most `most`.

    directed: (cause, effect) pairs that are known. undirected: pairs whose direction is not. nodes: all of them, in
    order; left out, those of the pairs. No graph has a cycle, and none a collider ``a -> c <- b`` of pairs that are not
    linked, beside those of the known edges: of a CPDAG these are the members of its equivalence class, which no table
    tells apart.
    Raises: WorldError for a pair given twice, for no such graph, and for more than `most`.
    Source: J. Pearl (2009), Causality, theorem 1.2.8 (Verma and Pearl).
    Example: ``orientations([("age", "income")], [("income", "savings")])``.
    """
    known, open_ = (
        _pairs(given, what) for given, what in ((directed, "directed"), (undirected, "undirected"))
    )
    names = (
        list(nodes) if nodes is not None else list(dict.fromkeys(n for pair in known + open_ for n in pair))
    )
    linked = [frozenset(pair) for pair in known + open_]
    if len(set(linked)) < len(linked):
        twice = next(pair for pair in linked if linked.count(pair) > 1)
        raise WorldError(f"The pair {' and '.join(sorted(twice))} is given twice. Give each pair once.")
    adjacent = set(linked)
    CausalGraph.read(known, nodes=names)  # a cycle among what is known is an error that names it
    allowed = _colliders(known, adjacent)
    found: list[CausalGraph] = []
    stack = [known]
    while stack:
        edges = stack.pop()
        if len(edges) < len(linked):
            a, b = open_[len(edges) - len(known)]
            ways = ([*edges, way] for way in ((b, a), (a, b)))  # the last is looked at first
            stack += [way for way in ways if _colliders(way, adjacent) <= allowed and not _cycle(way)]
            continue
        if len(found) == most:
            raise WorldError(
                f"More than {most} graphs direct these {len(open_)} pairs. Direct some, or ask for most={4 * most}."
            )
        found.append(CausalGraph.read(edges, nodes=names))
    if not found:
        raise WorldError(
            "No graph directs these pairs without a cycle or a new collider. Look at the pairs that are known."
        )
    return found


def _colliders(edges: Sequence[Edge], adjacent: set[frozenset[str]]) -> set[tuple[frozenset[str], str]]:
    """Pairs of causes that are not linked, and their common effect."""
    causes: dict[str, list[str]] = {}
    for cause, effect in edges:
        causes.setdefault(effect, []).append(cause)
    return {
        (frozenset((a, b)), effect)
        for effect, several in causes.items()
        for i, a in enumerate(several)
        for b in several[:i]
        if frozenset((a, b)) not in adjacent
    }


def _cycle(edges: Sequence[Edge]) -> bool:
    """Return whether the last edge closes a cycle."""
    start, goal = edges[-1][1], edges[-1][0]
    seen, stack = {start}, [start]
    while stack:
        at = stack.pop()
        if at == goal:
            return True
        more = {effect for cause, effect in edges if cause == at} - seen
        seen |= more
        stack += more
    return False


def _pairs(given: Iterable[tuple[str, str]], what: str) -> list[tuple[str, str]]:
    pairs = [tuple(one) if is_list(one) else () for one in given] if is_list(given) else [()]
    if not all(len(one) == 2 and all(isinstance(name, str) for name in one) for one in pairs):
        raise WorldError(
            f"{what}={shown(given)} holds something else than pairs. Give pairs (cause, effect)."
        )
    return [(first, second) for first, second in pairs]
