"""Shortest walks on neighbour graphs: published lengths, brute force, and what no graph may hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from wayforward import Feature, Schema
from wayforward.errors import MethodError
from wayforward.methods.engines.graph import (
    NeighbourGraph,
    Weights,
    follow,
    nearest_targets,
    to_targets,
)


def graph_of(edges, n):
    row, column, weight = zip(*edges, strict=True)
    return sparse.csr_matrix((np.array(weight, dtype=float), (row, column)), shape=(n, n))


def example():
    """The graph of the specification, E7.6, both ways."""
    ways = [(0, 1, 3), (0, 2, 4), (1, 2, 4), (2, 3, 3), (2, 4, 4), (3, 4, 4), (3, 5, 1), (4, 5, 1)]
    return graph_of([*ways, *((b, a, w) for a, b, w in ways)], 6)


def squares(n, d=2, seed=0, **more):
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=1) for j in range(d)))
    rows = np.random.default_rng(seed).random((n, d))
    settings = {"mode": "knn", "k": 4, "radius": 0.2, "weighting": "log", **more}
    return NeighbourGraph(schema, rows, columns=np.ones(d, dtype=bool), **settings)


# -- published lengths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
def test_the_example_costs_eight(compiled):
    """FACE, arXiv:1909.09369: shortest path 0-2-3-5 of cost 8; who always takes the cheapest step pays 11."""
    step = example()
    one = to_targets(step, np.array([5]))
    assert one.length[0] == 8
    way, at = [0], 0
    while one.next[at] >= 0:
        at = int(one.next[at])
        way.append(at)
    assert way == [0, 2, 3, 5]
    ways = nearest_targets(step, np.array([5]), 3, compiled=compiled)
    assert ways.length[0].tolist() == [8, np.inf, np.inf]
    assert follow(ways, np.array([0]), np.array([0])).tolist() == [[0, 2, 3, 5]]
    greedy, at, seen = 0.0, 0, {0}
    while at != 5:
        row = step[at].toarray()[0]
        on = min((j for j in np.flatnonzero(row) if j not in seen), key=lambda j: row[j])
        greedy, at = greedy + row[on], on
        seen.add(on)
    assert greedy == 11


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 12))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 5))
    edges = {(a, b): w for a, b, w in draw(st.lists(pair, min_size=1, max_size=40)) if a != b}
    targets = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    return n, edges, sorted(targets)


def every_length(n, edges, targets):
    """Floyd and Warshall, by hand: (n, targets)."""
    far = np.full((n, n), np.inf)
    far[np.arange(n), np.arange(n)] = 0
    for (a, b), w in edges.items():
        far[a, b] = w
    for mid in range(n):
        far = np.minimum(far, far[:, mid : mid + 1] + far[mid])
    return far[:, targets]


@settings(max_examples=120, deadline=None)
@given(graphs(), st.integers(1, 4))
def test_lengths_are_those_of_brute_force(graph, many):
    """Directed graphs with ties, pieces that nothing leads out of, and targets that lie on the way."""
    n, edges, targets = graph
    step = graph_of([(a, b, w) for (a, b), w in edges.items()], n) if edges else sparse.csr_matrix((n, n))
    want = every_length(n, edges, targets)
    one = to_targets(step, np.array(targets))
    np.testing.assert_allclose(one.length, want.min(1))
    ways = nearest_targets(step, np.array(targets), many)
    full = np.sort(np.concatenate([want, np.full((n, many), np.inf)], 1), axis=1)[:, :many]
    np.testing.assert_allclose(ways.length, full)
    np.testing.assert_array_equal(ways.target[:, 0] >= 0, one.target >= 0)
    node, slot = np.nonzero(ways.target >= 0)
    for at, s, walk in zip(node, slot, follow(ways, node, slot), strict=True):
        walk = walk[walk >= 0]
        assert walk[-1] == ways.target[at, s]
        length = sum(edges[a, b] for a, b in zip(walk[:-1], walk[1:], strict=True))
        assert length == ways.length[at, s]
        assert len(set(ways.target[at, : s + 1].tolist())) == s + 1
    twin = nearest_targets(step, np.array(targets), many, compiled=False)
    for name in ("length", "target", "next", "slot"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(ways, name))


# -- which steps there are ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["knn", "epsilon", "kernel"])
def test_steps_join_the_nearest_and_go_both_ways(mode):
    graph = squares(50, mode=mode)
    rows = graph.rows
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    near = apart <= np.sort(apart, axis=1)[:, 3:4]
    if mode == "epsilon":
        near &= apart <= 0.2
    np.testing.assert_array_equal(graph.step.toarray() > 0, near | near.T)
    assert (graph.step.toarray() == graph.step.toarray().T).all() or mode == "kernel"


def test_directions_are_looked_for_among_what_may_be_walked_to():
    """The four nearest with a value at least as high, although nearer people have less."""
    graph = squares(60, direction=np.array([1, 0]))
    rows, step = graph.rows, graph.step.tocoo()
    assert (rows[step.row, 0] <= rows[step.col, 0]).all()
    low = np.argsort(rows[:, 0])[:40]
    assert (np.diff(graph.step.indptr)[low] >= 4).all()


def test_pieces_are_joined_by_their_nearest_rows():
    """Three crowds far apart: bridges make them one, and take no longer step than they must."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=1) for j in range(2)))
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(0, 0.1, (30, 2)) + at for at in ([0, 0], [0.5, 0], [0.9, 0.8])])
    ask = {"columns": np.ones(2, bool), "mode": "knn", "k": 3, "radius": 1.0, "weighting": "log"}
    apart, joined = (NeighbourGraph(schema, rows, bridges=b, **ask) for b in (False, True))
    assert len(np.unique(apart.component())) >= 3
    assert len(np.unique(joined.component())) == 1
    new = (joined.step != apart.step).tocoo()
    assert 0 < new.nnz < 60
    gap = np.linalg.norm(rows[:30, None] - rows[None, 30:60], axis=2)
    nearest = np.unravel_index(gap.argmin(), gap.shape)
    assert joined.step[nearest[0], nearest[1] + 30] > 0


def test_weights_are_the_published_ones():
    """knn: f(r / s) s with r = k / (N ball); in two dimensions the ball is pi; -log where z is small."""
    ask = {"n": 1000, "d": 2, "k": 10, "radius": 0.1, "density": None}
    length = np.array([0.5, 1.0])
    r = 10 / (1000 * np.pi)
    got = Weights("knn", "log", **ask)(length, length, length)
    np.testing.assert_allclose(got, -np.log((r / length) / (1 + r / length)) * length)
    np.testing.assert_allclose(got, -np.log(r / length) * length, rtol=2e-3)
    got = Weights("epsilon", "log", **ask)(length, length, length)
    np.testing.assert_allclose(got, np.log1p(length / 0.01) * length)
    inverse = Weights("knn", "inverse", **ask)(length, length, length)
    assert inverse[1] / inverse[0] == pytest.approx(4)  # s / z is s squared over r


@pytest.mark.parametrize("d", [1, 12, 2000])
def test_weights_are_positive_where_the_plain_logarithm_is_not(d):
    """Pitfall 6 of the catalogue: -log of a density above 1 is negative. Tiny steps, and dimensions without end."""
    length = np.array([1e-9, 1e-3, 1.0, 30.0])
    for mode in ("knn", "epsilon"):
        for weighting in ("log", "inverse"):
            ask = Weights(mode, weighting, n=10**6, d=d, k=20, radius=0.25, density=None)
            got = ask(length, length, length)
            assert (got > 0).all()
            assert np.isfinite(got).all()
            assert (np.diff(got) > 0).all()


def test_the_crowd_is_cheaper_than_the_void():
    """kernel: the same length weighs less where people are."""
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=1) for j in range(2)))
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0.2, 0.03, (200, 2)), [[0.7, 0.7], [0.8, 0.7]]]).clip(0, 1)
    graph = NeighbourGraph(
        schema, rows, columns=np.ones(2, bool), mode="kernel", k=5, radius=1, weighting="log"
    )
    ends = np.array([[[0.15, 0.2], [0.25, 0.2]], [[0.7, 0.7], [0.8, 0.7]]])
    crowd, void = graph.weights(np.array([0.1, 0.1]), ends[:, 0], ends[:, 1])
    assert crowd < 0.5 * void


def test_a_weight_that_is_not_positive_is_refused():
    step = example()
    step.data[3] = -1.0
    for search in (lambda: to_targets(step, np.array([5])), lambda: nearest_targets(step, np.array([5]), 2)):
        with pytest.raises(MethodError, match="positive weights"):
            search()


def test_no_target_is_no_way():
    ways = to_targets(example(), np.array([], dtype=np.int64))
    assert np.isinf(ways.length).all()
    assert (ways.target == -1).all()


def test_a_person_enters_by_their_nearest_rows():
    """Entering and walking on = the shortest path of a graph that holds the person, too."""
    graph = squares(80)
    targets = np.flatnonzero(graph.rows.sum(1) > 1.5)
    x = np.random.default_rng(5).random((6, 2))
    entries = graph.enter(x, np.ones((6, 2)), np.zeros(6, dtype=np.int64))
    ways = to_targets(graph.step, targets)
    best = (entries.weight + ways.length[entries.node]).min(1)
    for i in range(6):
        door = np.zeros((1, 80))
        door[0, entries.node[i]] = entries.weight[i]
        whole = np.block([[graph.step.toarray(), np.zeros((80, 1))], [door, np.zeros((1, 1))]])
        assert best[i] == pytest.approx(dijkstra(whole, indices=80)[targets].min())
