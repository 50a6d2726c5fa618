"""How an image is cut into units, and what may take a unit's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import ndimage

from wayforward.errors import ProblemError, is_whole, require_number, shown
from wayforward.modalities.arrays import nearest
from wayforward.public import public

_WINDOW = 3.0  # widths of the kernel that a density reaches


class Segmenter(Protocol):
    """A way to cut images. Any function of an (h, w, c) image that gives integer labels (h, w) from 0 is one."""

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """(h, w, c) -> (h, w)."""


@public
@dataclass(frozen=True)
class Grid:
    """Cells of a grid, row by row. rows, columns: how many."""

    rows: int = 4
    columns: int = 4

    def __post_init__(self) -> None:
        if not (is_whole(self.rows, 1) and is_whole(self.columns, 1)):
            raise ProblemError(
                f"A grid of {shown(self.rows)} by {shown(self.columns)} has no cells. Use whole numbers of 1 or more."
            )

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """See `Segmenter`. Raises: ProblemError for more rows or columns than pixels."""
        high, wide = image.shape[:2]
        if self.rows > high or self.columns > wide:
            raise ProblemError(
                f"A grid of {self.rows} by {self.columns} has more cells than an image of {high} by {wide} has pixels."
            )
        row, column = np.arange(high) * self.rows // high, np.arange(wide) * self.columns // wide
        return np.asarray(row[:, None] * self.columns + column)

    def place(self, unit: int) -> tuple[int, int]:
        """Return row and column of a cell, from 0."""
        return divmod(unit, self.columns)


@public
@dataclass(frozen=True)
class Quickshift:
    """Segments of pixels that look alike and lie together: each pixel joins the nearest one where it is denser.

    kernel: width of the density, in pixels; None: a sixteenth of the shorter side, from 1 to 4. distance: pixels
    farther apart, in place and colour, are never joined. ratio: how much colour counts beside place, 0 to 1; colours
    are measured from 0 to 100 over the span, (least, greatest) value; None: that of the problem, or of the image.
    The values published for SEDC-T, on photographs, are 4, 200 and .2. The same image always has the same segments.
    Raises: ProblemError.
    Source: A. Vedaldi, S. Soatto (2008), Quick Shift and Kernel Methods for Mode Seeking, ECCV.
    """

    kernel: float | None = None
    distance: float = 10.0
    ratio: float = 0.5
    span: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        ends = {"kernel": (0.01, 100.0), "distance": (0.0, 1e9), "ratio": (0.0, 1.0)}
        for name, (low, high) in ends.items():
            if name != "kernel" or self.kernel is not None:
                require_number(getattr(self, name), name, low, high, ProblemError)

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """See `Segmenter`."""
        high, wide, _ = image.shape
        kernel = min(4.0, max(1.0, min(high, wide) / 16)) if self.kernel is None else self.kernel
        low, most = (image.min(), image.max()) if self.span is None else self.span
        colour = (image - low) / max(most - low, 1e-12) * 100 * self.ratio
        reach = max(1, int(np.ceil(_WINDOW * kernel)))
        steps = range(-reach, reach + 1)
        offsets = [(y, x) for y in steps for x in steps]
        density = np.zeros((high, wide))
        for y, x in offsets:
            density += np.exp(-_apart(colour, y, x) / (2 * kernel**2))
        place = np.arange(high * wide).reshape(high, wide)
        order = np.lexsort((-place.ravel(), density.round(9).ravel()))
        rank = np.empty(high * wide, dtype=np.int64)  # of equals the first pixel is the denser one
        rank[order] = np.arange(high * wide)
        rank = rank.reshape(high, wide)
        nearest, parent = np.full((high, wide), np.inf), place.copy()
        for y, x in offsets:
            gap, other = _apart(colour, y, x), _moved(rank, y, x, -1)
            closer = (other > rank) & (gap < nearest) & (gap <= self.distance**2)
            nearest[closer] = gap[closer]
            parent[closer] = _moved(place, y, x, -1)[closer]
        root = parent.ravel()
        while (root[root] != root).any():
            root = root[root]
        first, label = np.unique(root, return_inverse=True)
        begins = np.full(len(first), root.size)
        np.minimum.at(begins, label, np.arange(root.size))
        return np.asarray(begins.argsort().argsort()[label].reshape(high, wide))


def _moved(values: np.ndarray, y: int, x: int, beyond: float) -> np.ndarray:
    """Values (h, w, ...) of the pixel y rows below and x columns right; `beyond` where there is none."""
    high, wide = values.shape[:2]
    out = np.full_like(values, beyond)
    rows, columns = slice(max(-y, 0), high - max(y, 0)), slice(max(-x, 0), wide - max(x, 0))
    from_rows, from_columns = slice(max(y, 0), high + min(y, 0)), slice(max(x, 0), wide + min(x, 0))
    if rows.start < rows.stop and columns.start < columns.stop:
        out[rows, columns] = values[from_rows, from_columns]
    return out


def _apart(colour: np.ndarray, y: int, x: int) -> np.ndarray:
    """(h, w) squared distance to the pixel y rows below and x columns right, in place and colour; endless beyond."""
    return np.asarray(((_moved(colour, y, x, np.inf) - colour) ** 2).sum(2) + y * y + x * x)


@dataclass(frozen=True)
class MeanFill:
    """The mean of the image, channel by channel."""

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """(h, w, c) -> the same shape."""
        return np.broadcast_to(image.mean((0, 1)), image.shape)


@dataclass(frozen=True)
class BlurFill:
    """The image, blurred. width: of the Gaussian kernel, in pixels; None: an eighth of the shorter side."""

    width: float | None = None

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """(h, w, c) -> the same shape."""
        width = min(image.shape[:2]) / 8 if self.width is None else self.width
        return np.asarray(ndimage.gaussian_filter(image, (width, width, 0), mode="nearest"))


@dataclass(frozen=True, eq=False)
class DistractorFill:
    """The nearest of other images (R, h, w, c), which have the answer that is wanted. grid: any of its cells.

    Without a grid a unit takes what the distractor has at the same place: one choice. With one it takes any cell, in
    the grid's order.
    """

    others: np.ndarray
    grid: Grid | None = None

    def distractor(self, image: np.ndarray) -> np.ndarray:
        """Return the nearest other image (h, w, c), by the sum of squares; of equals the first."""
        return np.asarray(nearest(self.others, image)[0])

    def __call__(self, image: np.ndarray) -> np.ndarray:
        """(h, w, c) -> (L, h, w, c)."""
        other = self.distractor(image)
        if self.grid is None:
            return other[None]
        high, wide = other.shape[0] // self.grid.rows, other.shape[1] // self.grid.columns
        places = [self.grid.place(unit) for unit in range(self.grid.rows * self.grid.columns)]
        cells = [other[y * high : (y + 1) * high, x * wide : (x + 1) * wide] for y, x in places]
        return np.stack([np.tile(cell, (self.grid.rows, self.grid.columns, 1)) for cell in cells])
