"""The segregation index of four groups, its closed forms for rectangles, and the bound on what balance costs.

Source: R. Gao & H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML: section 4 and
theorems 4.1, 5.1 and 5.4. Two slips of the print are mended: the refused of the second group stand in [-u-a, -u], and u
and mu are one symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial import cKDTree

from wayforward.errors import DataError, is_one_of, numbers_in
from wayforward.impact.segregation.pairs import hausdorff, mean_of_pairs
from wayforward.public import public
from wayforward.shapes import Floats


@public
def segregation_index(
    x1: Any,
    x2: Any,
    x3: Any,
    x4: Any,
    *,
    form: Literal["hausdorff", "expected"] = "hausdorff",
    terms: Literal[3, 4] = 4,
) -> float:
    """Return how far the groups lie apart, less how far each lies from itself: d(1,2) + d(1,4) - d(1,1) - d(1,3).

    x1, x2 (n, e): accepted people of the first and of the second group. x3, x4: their refused people, before or after
    they acted. form: 'hausdorff' takes the Hausdorff distance, as the theorems do; 'expected' the mean distance of all
    pairs, as the text does. terms=3 leaves out d(1,1), which is 0 in the Hausdorff form; the mean counts a person with
    themselves, so that two groups that stand in the same places give 0 with four terms.
    The expected form has no theorem: balanced recourse may raise it in some geometries.

    Example: ``segregation_index(*rectangle_world(1, 1, .5, .5).people("original"))`` is 0.5616.
    Raises: DataError for an empty group, or other columns.
    """
    if not is_one_of(form, ("hausdorff", "expected")):
        raise DataError(f"There is no form {form!r}. Choose 'hausdorff' or 'expected'.")
    if terms not in (3, 4):
        raise DataError(f"The segregation index has 3 or 4 terms, not {terms!r}.")
    sets = _sets({"x1": x1, "x2": x2, "x3": x3, "x4": x4})
    one, two, three, four = (sets[name] for name in ("x1", "x2", "x3", "x4"))
    apart = hausdorff if form == "hausdorff" else mean_of_pairs
    within = apart(one, one) if terms == 4 else 0.0
    return float(apart(one, two) + apart(one, four) - within - apart(one, three))


@public
def rectangles(a: float, b: float, c: float, u: float) -> dict[str, float]:
    """Return the Hausdorff segregation index of the rectangle world in closed form, for each kind of recourse.

    a: height of each rectangle, b: width, u: gap between a rectangle and the decision boundary, c: overlap of the two
    groups (the second lies b - c to the right), 0 <= c < b. Keys: original, distance, realistic, balanced.
    Whatever the numbers: distance and realistic are above original (theorem 4.1), balanced is below (theorem 5.1).

    Example: ``rectangles(1, 1, .5, .5)`` -> .5616, .5811, .6180, .5000.
    """
    _check_rectangles(a, b, c, u)
    shift = b - c
    depth = {"original": 2 * u + a, "distance": u + a, "realistic": a}
    got = {name: float(shift + np.hypot(shift, t) - t) for name, t in depth.items()}
    return got | {"balanced": float(shift)}


@public
@dataclass(frozen=True)
class RectangleWorld:
    """The world of the theorems on a grid: where the four groups stand, and where each kind of recourse leads them.

    x1, x2, x3, x4 (n, 2): first accepted, second accepted, first refused, second refused. Above y = 0 all are accepted.
    """

    x1: Floats
    x2: Floats
    x3: Floats
    x4: Floats
    gap: float
    overlap: tuple[float, float]  # the x that both groups reach

    def people(
        self, recourse: Literal["original", "distance", "realistic", "balanced"]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the four groups after everybody refused took the nearest point that this kind of recourse allows."""
        return self.x1, self.x2, self.follow(self.x3, recourse), self.follow(self.x4, recourse)

    def follow(self, x: Floats, recourse: str) -> Floats:
        """Return where refused people x (n, 2) go: 'distance' to the boundary, 'realistic' to where their own group is
        accepted, 'balanced' to where both groups are."""
        if recourse == "original":
            return x
        if not is_one_of(recourse, ("distance", "realistic", "balanced")):
            raise DataError(
                f"There is no recourse {recourse!r}. Choose original, distance, realistic or balanced."
            )
        across = np.clip(x[:, 0], *self.overlap) if recourse == "balanced" else x[:, 0]
        return np.stack([across, np.full(len(x), 0.0 if recourse == "distance" else self.gap)], axis=1)


@public
def rectangle_world(a: float, b: float, c: float, u: float, *, side: int = 21) -> RectangleWorld:
    """Return four rectangles as grids of side x side points, corners included; c / b must fall on the grid."""
    _check_rectangles(a, b, c, u)
    across, up = np.linspace(0, b, side), np.linspace(0, a, side)
    grid = np.stack([part.ravel() for part in np.meshgrid(across, up, indexing="ij")], axis=1)
    shift = np.array([b - c, 0.0])
    refused = grid * [1, -1] - [0, u]
    return RectangleWorld(
        grid + [0, u], grid + [0, u] + shift, refused, refused + shift, float(u), (float(b - c), float(b))
    )


@public
def cost_bound(x3: Any, x4: Any, region: Any, region4: Any = None) -> float:
    """Return the most that balanced recourse can cost the two groups together: d_H(X3, X') + d_H(X4, X') (theorem 5.4).

    x3, x4 (n, e): refused people of the two groups. region (q, e): the places that are likely in both groups and
    accepted. With `region4` each group has its own region, which bounds realistic recourse. The cost that is bounded
    is the sum of the groups' mean Euclidean distance to the nearest point of the region; see `cost_of_region`.
    """
    sets = _sets({"x3": x3, "x4": x4, "region": region, "region4": region if region4 is None else region4})
    return hausdorff(sets["x3"], sets["region"]) + hausdorff(sets["x4"], sets["region4"])


@public
def cost_of_region(x3: Any, x4: Any, region: Any, region4: Any = None) -> float:
    """Return the cost of the nearest points of a region: the groups' mean distances added up, at most `cost_bound`."""
    sets = _sets({"x3": x3, "x4": x4, "region": region, "region4": region if region4 is None else region4})
    near = [cKDTree(sets[to]).query(sets[of])[0].mean() for of, to in (("x3", "region"), ("x4", "region4"))]
    return float(near[0] + near[1])


def _sets(given: dict[str, Any]) -> dict[str, Floats]:
    """Return finite point sets with the same columns. Raises: DataError."""
    sets = {name: numbers_in(value, name) for name, value in given.items()}
    wide = {s.shape[1] if s.ndim == 2 else -1 for s in sets.values()}
    if wide != {max(wide)} or -1 in wide:
        shapes = ", ".join(f"{name} {s.shape}" for name, s in sets.items())
        raise DataError(f"Groups need rows with the same columns; got {shapes}.")
    for name, s in sets.items():
        if not len(s):
            raise DataError(f"Group {name} is empty, so its distance to another is not defined.")
        if not np.isfinite(s).all():
            raise DataError(f"Group {name} has missing or infinite coordinates. Use `places` to make them.")
    return sets


def _check_rectangles(a: float, b: float, c: float, u: float) -> None:
    if min(a, b, u) <= 0 or not 0 <= c < b:
        raise DataError(f"Rectangles need a, b, u > 0 and 0 <= c < b; got a={a}, b={b}, c={c}, u={u}.")
