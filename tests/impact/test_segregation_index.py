"""The theorems of balanced recourse as numbers: closed forms, grids, and the bound on what balance costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayforward.errors import DataError
from wayforward.impact.segregation import (
    cost_bound,
    cost_of_region,
    rectangle_world,
    rectangles,
    segregation_index,
)

KINDS = ("original", "distance", "realistic", "balanced")


def test_si_rectangles() -> None:
    """Gao & Lakkaraju (2023), theorems 4.1 and 5.1 with a = b = 1, c = u = .5: .5616, .5811, .6180, .5000.

    In closed form, and measured on a grid of people who follow each kind of recourse.
    """
    want = dict(zip(KINDS, (0.5616, 0.5811, 0.6180, 0.5000), strict=True))
    got = rectangles(1, 1, 0.5, 0.5)
    world = rectangle_world(1, 1, 0.5, 0.5)
    for kind in KINDS:
        assert round(got[kind], 4) == want[kind]
        assert segregation_index(*world.people(kind)) == pytest.approx(got[kind], abs=1e-12)


sizes = st.floats(0.05, 4)


@settings(max_examples=30)
@given(sizes, sizes, st.integers(1, 19), sizes)
def test_theorems_4_1_and_5_1_for_any_rectangles(a: float, b: float, overlap: int, u: float) -> None:
    """Gao & Lakkaraju (2023): distance-based and realistic recourse always raise the index, balanced lowers it."""
    c = b * overlap / 20
    got = rectangles(a, b, c, u)
    assert got["distance"] > got["original"] - 1e-12
    assert got["realistic"] > got["original"] - 1e-12
    assert got["balanced"] < got["original"]
    world = rectangle_world(a, b, c, u)
    for kind in KINDS:
        assert segregation_index(*world.people(kind)) == pytest.approx(got[kind], rel=1e-9)


def test_the_index_notices_a_wrong_term() -> None:
    """Swapped groups and another order give other numbers: the fixtures above can fail."""
    x1, x2, x3, x4 = rectangle_world(1, 1, 0.5, 0.5).people("original")
    assert segregation_index(x1, x2, x4, x3) == pytest.approx(0.5 + 2 - np.hypot(0.5, 2))
    assert segregation_index(x1, x2, x1, x4) == pytest.approx(0.5 + np.hypot(0.5, 2))


@pytest.mark.parametrize("terms", [3, 4])
def test_the_expected_form_is_a_mean_over_all_pairs(terms: int) -> None:
    """Against plain loops; the mean within the first group counts a person with themselves."""
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(n, 2)) + i for i, n in enumerate((9, 7, 8, 6))]

    def mean(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean([np.sqrt(((a - b) ** 2).sum()) for a in x for b in y]))

    x1, x2, x3, x4 = sets
    want = mean(x1, x2) + mean(x1, x4) - mean(x1, x3) - (mean(x1, x1) if terms == 4 else 0)
    got = segregation_index(*sets, form="expected", terms=terms)  # type: ignore[arg-type]
    assert got == pytest.approx(want, rel=1e-12)
    assert segregation_index(x1, x1, x3, x3, form="expected") == pytest.approx(0, abs=1e-12)
    hausdorff = {segregation_index(*sets, terms=t) for t in (3, 4)}  # d_H(X1, X1) is 0
    assert len(hausdorff) == 1


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_theorem_5_4_bounds_the_cost(seed: int, e: int) -> None:
    """Gao & Lakkaraju (2023), theorem 5.4: balanced and realistic recourse cost no more than Hausdorff distances."""
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(int(rng.integers(1, 30)), e)) * rng.uniform(0.1, 3) for _ in range(4)]
    x3, x4, region, other = sets
    assert cost_of_region(x3, x4, region) <= cost_bound(x3, x4, region) + 1e-12
    assert cost_of_region(x3, x4, region, other) <= cost_bound(x3, x4, region, other) + 1e-12


def test_the_bound_is_met_where_everybody_is_equally_far() -> None:
    """One refused person a group: the cost is the bound; balanced groups give one bound for both kinds."""
    x3, x4, region = np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]]), np.array([[1.0, 1.0]])
    assert cost_of_region(x3, x4, region) == pytest.approx(cost_bound(x3, x4, region)) == 2 * np.sqrt(2)
    world = rectangle_world(1, 1, 0.5, 0.5)
    both = world.x1[world.x1[:, 0] >= 0.5]
    cost = cost_of_region(world.x3, world.x4, both)
    assert cost < cost_bound(world.x3, world.x4, both)
    assert cost_bound(world.x3, world.x4, both) >= cost_bound(world.x3, world.x4, world.x1, world.x2)
    assert cost_bound(world.x3, world.x4, both, both) == cost_bound(world.x3, world.x4, both)


def test_bad_sets_are_told_by_name() -> None:
    """Empty, other columns, missing, and words that are none."""
    x = np.zeros((2, 2))
    for sets, words in (
        ((x, x[:0], x, x), "x2 is empty"),
        ((x, x, np.zeros((2, 3)), x), "same columns"),
        ((x, x, x, np.full((1, 2), np.nan)), "x4 has missing"),
        ((x, x, x, np.zeros(2)), "same columns"),
    ):
        with pytest.raises(DataError, match=words):
            segregation_index(*sets)
    with pytest.raises(DataError, match="no form"):
        segregation_index(x, x, x, x, form="mean")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="3 or 4 terms"):
        segregation_index(x, x, x, x, terms=2)  # type: ignore[arg-type]
    for bad in ((0, 1, 0.5, 1), (1, 1, 1, 1), (1, 1, -0.1, 1)):
        with pytest.raises(DataError, match="Rectangles need"):
            rectangles(*bad)
    with pytest.raises(DataError, match="no recourse 'far'"):
        rectangle_world(1, 1, 0.5, 0.5).people("far")  # type: ignore[arg-type]
