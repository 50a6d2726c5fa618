"""The neighbour index against brute force, with and without numba, alone and in batches."""

from __future__ import annotations

import builtins
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayforward import neighbours
from wayforward.errors import MissingExtra, ProblemError
from wayforward.neighbours import NeighbourIndex
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="pay", kind="real", low=0, high=5000),
        Feature(name="share", kind="real", low=0, high=1, missing=True),
        Feature(name="visits", kind="integer", low=0, high=4),
        Feature(name="school", kind="ordinal", levels=("low", "mid", "high")),
        Feature(name="job", kind="categorical", levels=("a", "b", "c")),
    )
)
METRICS = ("l1", "l2", "heom")


def people(n: int, seed: int = 0) -> np.ndarray:
    """Coarse values, so that ties are common."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 11, n) * 500, rng.integers(0, 5, n) / 4, rng.integers(0, 5, n)]
    columns += [rng.integers(0, 3, n), rng.integers(0, 3, n)]
    x = np.column_stack(columns).astype(float)
    x[rng.random(n) < 0.15, 1] = math.nan
    return x


def brute(q: np.ndarray, r: np.ndarray, metric: str, weight: np.ndarray) -> np.ndarray:
    """(m, N) distances, written down another way."""
    out = np.zeros((len(q), len(r)))
    for j, span in enumerate((5000, 1, 4, 2, None)):
        a, b = q[:, j, None], r[None, :, j]
        step = (a != b).astype(float) if span is None else np.abs(a - b) / span
        step = np.where(np.isnan(a) | np.isnan(b), 1.0, step)
        if metric != "heom":
            step = np.where(np.isnan(a) & np.isnan(b), 0.0, step)
        out += (weight[:, j, None] * step) ** (1 if metric == "l1" else 2)
    return out if metric == "l1" else np.sqrt(out)


@pytest.fixture(params=["numpy", "numba"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "numba":
        pytest.importorskip("numba")
    return str(request.param)


@pytest.mark.parametrize("metric", METRICS)
def test_it_finds_the_nearest_rows_of_all(engine: str, metric: str) -> None:
    q, r = people(60, 1), people(700, 2)
    index = NeighbourIndex(SCHEMA, r, metric=metric, engine=engine)  # type: ignore[arg-type]
    expected = brute(q, r, metric, np.ones(q.shape))
    np.testing.assert_allclose(index.distances(q), expected, atol=1e-12)
    near = index.query(q, 7)
    np.testing.assert_allclose(near.distance, np.sort(expected, axis=1)[:, :7], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(expected, near.row, axis=1), near.distance, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_distances_go_by_row_number(engine: str, metric: str) -> None:
    r = np.repeat(people(5, 3), 100, axis=0)[np.random.default_rng(0).permutation(500)]
    near = NeighbourIndex(SCHEMA, r, metric=metric, engine=engine).query(r[:4], 30)  # type: ignore[arg-type]
    exact = NeighbourIndex(SCHEMA, r, metric=metric, engine="numpy").distances(r[:4])  # type: ignore[arg-type]
    expected = np.argsort(exact, axis=1, kind="stable")[:, :30]
    np.testing.assert_array_equal(near.row, expected)


@given(
    seed=st.integers(0, 10_000),
    metric=st.sampled_from(METRICS),
    n=st.sampled_from([1, 2, 130, 400]),
    k=st.sampled_from([1, 3, 150]),
    options=st.sets(st.sampled_from(["allowed", "reach", "weight", "leave_out"])),
)
def test_numba_changes_no_bit_and_masks_hold(
    seed: int, metric: str, n: int, k: int, options: set[str]
) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    q, r = people(12, seed + 1), people(n, seed)
    kwargs: dict[str, np.ndarray] = {}
    expected = brute(q, r, metric, np.ones(q.shape))
    if "weight" in options:
        kwargs["weight"] = rng.choice([0.0, 0.5, 2.0], q.shape)
        expected = brute(q, r, metric, kwargs["weight"])
    if "allowed" in options:
        kwargs["allowed"] = rng.random(n) < 0.6
        expected[:, ~kwargs["allowed"]] = np.inf
    if "leave_out" in options:
        kwargs["leave_out"] = rng.integers(-1, n, len(q))
        some = kwargs["leave_out"] >= 0
        expected[some, kwargs["leave_out"][some]] = np.inf
    if "reach" in options:
        bound = np.nan_to_num(q)
        frozen = rng.random(q.shape) < 0.3
        kwargs["low"], kwargs["high"] = np.where(frozen, bound, -np.inf), np.where(frozen, bound, np.inf)
        outside = frozen[:, None, :] & ~(r[None] == bound[:, None, :])
        expected[outside.any(axis=2)] = np.inf
    fast = NeighbourIndex(SCHEMA, r, metric=metric, engine="numba").query(q, k, **kwargs)  # type: ignore[arg-type]
    slow = NeighbourIndex(SCHEMA, r, metric=metric, engine="numpy").query(q, k, **kwargs)  # type: ignore[arg-type]
    np.testing.assert_array_equal(fast.distance, slow.distance)
    np.testing.assert_array_equal(fast.row, slow.row)
    padded = np.full((len(q), max(k, n)), np.inf)
    padded[:, :n] = np.sort(expected, axis=1)
    np.testing.assert_allclose(fast.distance, padded[:, :k], atol=1e-12)
    assert ((fast.row == -1) == np.isinf(fast.distance)).all()
    for i in range(len(q)):
        got = fast.row[i][fast.row[i] >= 0]
        assert len(set(got)) == len(got)
        np.testing.assert_allclose(expected[i, got], fast.distance[i, : len(got)], atol=1e-12)


def test_a_person_has_the_same_neighbours_alone_and_in_any_batch(engine: str) -> None:
    q, r = people(1500, 4), people(900, 5)  # more than one chunk of queries
    index = NeighbourIndex(SCHEMA, r, metric="l2", engine=engine)  # type: ignore[arg-type]
    near = index.query(q, 5)
    order = np.random.default_rng(0).permutation(len(q))
    again = index.query(q[order], 5)
    np.testing.assert_array_equal(again.row, near.row[order])
    np.testing.assert_array_equal(again.distance, near.distance[order])
    for i in (0, 1023, 1024, 1499):
        one = index.query(q[i], 5)
        assert (one.row[0] == near.row[i]).all() and (one.distance[0] == near.distance[i]).all()


def test_the_order_of_the_rows_does_not_matter_but_for_ties(engine: str) -> None:
    rng = np.random.default_rng(1)
    r = people(600, 6)
    r[:, 0] += rng.random(600)
    order = rng.permutation(600)
    near = NeighbourIndex(SCHEMA, r, engine=engine).query(people(20, 7), 4)  # type: ignore[arg-type]
    other = NeighbourIndex(SCHEMA, r[order], engine=engine).query(people(20, 7), 4)  # type: ignore[arg-type]
    np.testing.assert_array_equal(near.distance, other.distance)
    np.testing.assert_array_equal(near.row, order[other.row])


def test_scales_of_the_rows_and_of_the_caller() -> None:
    schema = Schema((Feature(name="a", kind="real", low=0, high=100), Feature(name="b", kind="real")))
    r = np.array([[0.0, 0], [10, 4], [20, 8], [90, 12]])
    q = np.array([[0.0, 4.0]])
    for scale, width in (
        ("std", r.std(axis=0)),
        ("mad", [10, 4]),
        ("range", [100, 12]),
        ([2.0, 3.0], [2, 3]),
    ):
        got = NeighbourIndex(schema, r, scale=scale).distances(q)  # type: ignore[arg-type]
        np.testing.assert_allclose(got, (np.abs(r - q) / width).sum(axis=1)[None])
    weighted = NeighbourIndex(schema, r, weight=[0, 1]).query(q, 1)
    assert weighted.row[0, 0] == 1 and weighted.distance[0, 0] == 0


def test_memory_stays_bounded_for_many_queries() -> None:
    index = NeighbourIndex(SCHEMA, people(4000), engine="numpy")
    q = people(20_000, 8)
    index.query(q[:10], 3)
    tracemalloc.start()
    index.query(q, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # all distances at once would be 640 MB


def test_without_numba_numpy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.split(".")[0] == "numba":
            raise ModuleNotFoundError("No module named 'numba'", name="numba")
        return real(name, *rest, **more)  # type: ignore[arg-type]

    def absent(module: str, extra: str) -> None:
        raise MissingExtra(f"This needs {module}. Install it with: pip install 'wayforward[{extra}]'")

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("wayforward.errors.require", absent)
    neighbours._kernel.cache_clear()
    try:
        assert (NeighbourIndex(SCHEMA, people(50)).query(people(50), 1).distance == 0).all()
        with pytest.raises(MissingExtra, match="fast"):
            NeighbourIndex(SCHEMA, people(50), engine="numba").query(people(5), 1)
    finally:
        neighbours._kernel.cache_clear()


def test_no_rows_and_no_people_are_fine(engine: str) -> None:
    empty = NeighbourIndex(SCHEMA, np.empty((0, 5)), engine=engine).query(people(2), 3)  # type: ignore[arg-type]
    assert (empty.row == -1).all() and np.isinf(empty.distance).all()
    nobody = NeighbourIndex(SCHEMA, people(5), engine=engine).query(np.empty((0, 5)), 3)  # type: ignore[arg-type]
    assert nobody.row.shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NeighbourIndex(SCHEMA, people(5), metric="l3"), "metric 'l3'"),  # type: ignore[arg-type]
        (lambda: NeighbourIndex(SCHEMA, people(5), engine="gpu"), "engine 'gpu'"),  # type: ignore[arg-type]
        (lambda: NeighbourIndex(SCHEMA, people(5), scale="iqr"), "scale 'iqr'"),  # type: ignore[arg-type]
        (lambda: NeighbourIndex(SCHEMA, people(5), scale=[1.0, 0, 1, 1, 1]), "widths above 0"),
        (lambda: NeighbourIndex(SCHEMA, people(5), weight=[-1.0, 0, 1, 1, 1]), "negative"),
        (lambda: NeighbourIndex(SCHEMA, people(5)[:, :3]), r"shape \(5, 3\)"),
        (lambda: NeighbourIndex(SCHEMA, people(5)).query(people(2), 0), "k is 0"),
        (lambda: NeighbourIndex(SCHEMA, people(5)).query(people(2), allowed=[True]), r"\(5,\) for the rows"),
        (lambda: NeighbourIndex(SCHEMA, people(5)).query(people(2), low=np.zeros((3, 5))), "low and high"),
        (
            lambda: NeighbourIndex(SCHEMA, people(5)).query(people(2), weight=np.ones((3, 5))),
            "weights have shape",
        ),
    ],
)
def test_the_errors_say_what_to_do(make: object, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        make()  # type: ignore[operator]
