"""Images to try things on: handwritten digits that come with scikit-learn, and shapes that are drawn here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wayforward.errors import DataError, require_whole
from wayforward.public import public
from wayforward.streams import generator

SHAPES = ("circle", "square", "triangle")
_MARK = 3  # pixels of a mark, each way
MOST_NUMBERS = 50_000_000  # of images that are drawn


@public
@dataclass(frozen=True, eq=False)
class ImageSet:
    """images (n, h, w), labels (n,), span: the least and the greatest value, and a card: what they are, whose, what to
    know. marks (n, 2): row and column where a mark begins, -1 where there is none."""

    images: np.ndarray
    labels: np.ndarray
    span: tuple[float, float]
    card: str
    marks: np.ndarray | None = None


_DIGITS = """# Digits

1,797 handwritten digits from 43 people, 8 by 8 pixels, each the number of dark points, 0 to 16, in a cell of 4 by 4.
They are the test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998, UCI Machine
Learning Repository, doi:10.24432/C50P49, CC BY 4.0) and come with scikit-learn; nothing is downloaded. No image says
who wrote it, and images of one writer stand beside each other: a random split has the same hands on both sides.
"""
_SHAPES = """# Shapes

{n} images of {size} by {size} pixels, 0 to 1, drawn by this library with seed {seed}: a filled circle, square or
triangle of random size, place and brightness, with noise of .02. Half of them have a mark, a bright cross of
{mark} by {mark} pixels in a corner. labels are the shapes; where a mark begins stands in `marks`. What a classifier
of marks looks at is therefore known.
"""


@public
def digits() -> ImageSet:
    """Return scikit-learn's digits: images (1797, 8, 8) from 0 to 16, labels 0 to 9."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return ImageSet(found.images, found.target, (0.0, 16.0), _DIGITS)


@public
def shapes(n: int = 300, size: int = 24, seed: int = 0) -> ImageSet:
    """Return n drawn shapes (n, size, size) from 0 to 1, labels 'circle', 'square' or 'triangle', half with a mark.

    Raises: DataError for images of fewer than 16 pixels.
    """
    require_whole(n=n, size=size, seed=seed)
    if size < 16 or n < 1:
        raise DataError(f"n={n}, size={size} leaves nothing to draw. Use n >= 1 and size >= 16.")
    if n * size**2 > MOST_NUMBERS:
        raise DataError(f"n={n}, size={size} would be more than {MOST_NUMBERS:,} numbers. Draw fewer.")
    rng = generator(seed)
    y, x = np.mgrid[:size, :size] + 0.5
    radius = rng.uniform(0.17, 0.3, n) * size
    middle = rng.uniform(0.35, 0.65, (n, 2)) * size
    bright, kind = rng.uniform(0.4, 0.75, n), rng.integers(0, len(SHAPES), n)
    down, right = y - middle[:, 0, None, None], x - middle[:, 1, None, None]
    r = radius[:, None, None]
    inside = np.stack(
        [
            down**2 + right**2 <= r**2,
            np.maximum(abs(down), abs(right)) <= 0.85 * r,
            (down <= 0.8 * r) & (abs(right) <= (down + r) * 0.6),
        ]
    )[kind, np.arange(n)]
    images = 0.1 + inside * (bright - 0.1)[:, None, None] + rng.normal(0, 0.02, (n, size, size))
    marks = np.where(rng.random((n, 2)) < 0.5, 1, size - _MARK - 1)
    marks[rng.random(n) < 0.5] = -1
    middle_of_mark = _MARK // 2
    for i in np.flatnonzero(marks[:, 0] >= 0):
        row, column = marks[i]
        images[i, row + middle_of_mark, column : column + _MARK] = 1.0
        images[i, row : row + _MARK, column + middle_of_mark] = 1.0
    card = _SHAPES.format(n=n, size=size, seed=seed, mark=_MARK)
    return ImageSet(np.clip(images, 0, 1), np.array(SHAPES)[kind], (0.0, 1.0), card, marks)
