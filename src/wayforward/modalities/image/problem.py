"""What an image's answer would take to be another: an image is its cells, segments or pixels, and each may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from wayforward.errors import DataError, ProblemError, array_in, is_real, shown
from wayforward.modalities.array_problem import ArrayProblem
from wayforward.modalities.arrays import (
    MOST_NUMBERS,
    ArrayModel,
    ArrayUnits,
    CheckedLabels,
    ConstantFill,
    PlainArrays,
    encode_array,
    plain_schema,
    read_array,
)
from wayforward.modalities.image.answers import ImageRecourse
from wayforward.modalities.image.segments import (
    BlurFill,
    DistractorFill,
    Grid,
    MeanFill,
    Quickshift,
)
from wayforward.modalities.units import padded_size, unit_schema
from wayforward.model.adapters import library_of
from wayforward.problem import Target
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema import Schema

Units = Literal["grid", "quickshift", "pixels"]
Replace = Literal["mean", "blur", "distractor", "cells"]


@public
class ImageProblem(ArrayProblem[ImageRecourse]):
    """An image model, and the answer that is wanted of it: which parts of an image would have to change, to what?

    model: a fitted scikit-learn classifier or pipeline on flattened images (n, h * w * c), a torch module of
    (n, c, h, w), or a function of images as they are given that returns probabilities. images: (n, h, w) or
    (n, h, w, c), some of the kind it is asked about, with `labels` (n,) where they are known. favourable: the answer
    that is wanted, such as another class, or target: a `wf.Target` in its place. classes: of a module or a function,
    its labels in column order. span: the least and the greatest value of a pixel; left out, 0 to 255 of bytes, else
    those of the images.

    units: 'grid', a grid of 4 by 4, or `Grid(rows, columns)`; 'quickshift' or `Quickshift(...)`; a function of an
    (h, w, c) image that gives labels (h, w); or 'pixels', whose values themselves may change, for methods that descend
    or learn from images. replace: what a unit takes: the 'mean' of its image, the image's 'blur', a number within the
    span, the same place of a 'distractor', the nearest of `images` with the wanted answer (and, with labels, whose
    label it is), or any of its 'cells' (a grid that divides the image); what it takes from others is shown in answers.
    Of bytes it is rounded, pixels that change are whole numbers. keep: (h, w) bool, pixels whose units stay in every
    image.

    Changing a unit costs 1. What is said of an image was judged on the exact image that is returned, by the model
    itself. In `recommend`, `keep` is a further mask and `most` says how many units may change.
    Example: ``ImageProblem(model, images, favourable=8).recommend(images[:3], method="sedc-t", k=3)``.
    Raises: ProblemError, DataError, ModelError.
    """

    things: ClassVar[str] = "images"
    thing: ClassVar[str] = "image"

    def __init__(
        self,
        model: Any,
        images: Any,
        favourable: Any = None,
        *,
        target: Target | None = None,
        labels: Any = None,
        classes: Sequence[Any] | None = None,
        units: Units | Callable[[np.ndarray], np.ndarray] = "grid",
        replace: Replace | float = "mean",
        span: tuple[float, float] | None = None,
        keep: Any = None,
    ) -> None:
        super().__init__(favourable, target)
        try:
            given = read_array(images)
        except ValueError:
            raise DataError(
                "images have several shapes. Give arrays of one shape, (h, w) or (h, w, c)."
            ) from None
        if given.ndim not in (3, 4) or not given.size or given.dtype.kind not in "biuf":
            raise DataError(
                f"images has shape {given.shape} and type {given.dtype}. Give numbers of shape (n, h, w) or "
                "(n, h, w, c)."
            )
        self.shape = given.shape[1:]
        self.span = _span(given, span)
        self._whole = given.dtype == np.uint8
        self.examples = self._all(given)
        self._labels(labels)  # they are wanted of distractors alone, and must be right anyway
        self.keep = self._mask(keep)
        self.pixels = isinstance(units, str) and units == "pixels"
        self.first = 0 if self.pixels else 1
        self.replace, self._choices = replace, False
        channels: Literal["last"] | None = "last" if len(self.shape) > 2 else None
        if self.pixels:
            if replace != "mean":
                _fill(replace, self.span)
            plain = PlainArrays(self.shape, *self.span)
            self.units: ArrayUnits | PlainArrays = plain
            own = library_of(model) != "sklearn" or not hasattr(model, "predict")
            self.model: Any = ArrayModel(model, plain, classes, channels) if own else model
            return
        cut = _segmenter(units, self.span)
        fill = _fill(replace, self.span)
        self.units = ArrayUnits(self.shape, *self.span, CheckedLabels(cut, "an image", "pixel"), fill)
        self.grid = cut if isinstance(cut, Grid) else None
        self.model = ArrayModel(model, self.units, classes, channels)
        if replace in ("distractor", "cells"):
            self._give_distractors(labels)

    def _give_distractors(self, labels: Any) -> None:
        if self.replace == "cells" and (
            self.grid is None or self.shape[0] % self.grid.rows or self.shape[1] % self.grid.columns
        ):
            raise ProblemError(
                f"replace='cells' needs a grid whose cells have one size, and images are {self.shape[0]} by "
                f"{self.shape[1]}. Give units=Grid(rows, columns) that divide them, or replace='distractor'."
            )
        others = self._wanted(labels, "replace='mean'")
        self._choices = self.replace == "cells"
        self._replace_from(DistractorFill(others, self.grid if self._choices else None))

    # -- what images are as units --------------------------------------------------------------------------

    def _checked(self, given: np.ndarray) -> str:
        with np.errstate(invalid="ignore"):
            odd = ~((given >= self.span[0]) & (given <= self.span[1]))
        if odd.any():
            place = tuple(int(i) for i in np.argwhere(odd)[0])
            raise DataError(
                f"it has {given[place]} at row {place[0]}, column {place[1]}; pixels are from {self.span[0]:g} to "
                f"{self.span[1]:g}. Correct it, or give span=(least, greatest)."
            )
        return encode_array(given if given.ndim == 3 else given[..., None])

    def _size(self, content: str) -> int:
        if isinstance(self.units, PlainArrays):
            return int(np.prod(self.shape))
        count = self.units.count(content)
        return count if self.grid is not None else padded_size(count)

    def _schema(self, size: int) -> Schema:
        if isinstance(self.units, PlainArrays):
            if size > MOST_NUMBERS:
                raise ProblemError(
                    f"units='pixels' gives rows of {size:,} numbers; up to {MOST_NUMBERS:,} are supported. Use "
                    "units='grid' or smaller images."
                )
            return plain_schema(
                [f"pixel {','.join(map(str, at))}" for at in np.ndindex(self.shape)], *self.span, self._whole
            )
        middle = np.full((*self.shape[:2], self.shape[2] if len(self.shape) > 2 else 1), np.mean(self.span))
        choices = tuple(f"cell {i + 1}" for i in range(size)) if self._choices else ("replaced",)
        return unit_schema("image", "part", size, choices, encode_array(middle), alike=self._choices)

    def _fixed_units(self, content: str, keep: Any) -> list[int]:
        return self._units_under(content, self.keep | self._mask(keep))

    def _answer(self, contents: list[str], recourse: Recourse) -> ImageRecourse:
        return ImageRecourse(recourse, tuple(contents), self.units, getattr(self, "grid", None))

    def _mask(self, keep: Any) -> np.ndarray:
        """(h, w) bool."""
        if keep is None or (isinstance(keep, tuple) and not keep):
            return np.zeros(self.shape[:2], dtype=bool)
        mask = array_in(keep, "keep", ProblemError)
        if mask.shape != self.shape[:2] or mask.dtype != bool:
            raise ProblemError(
                f"keep has shape {mask.shape} and type {mask.dtype}. Give True or False for each of "
                f"{self.shape[0]} by {self.shape[1]} pixels."
            )
        return mask


def _span(images: np.ndarray, given: Any) -> tuple[float, float]:
    if given is None:
        if images.dtype == np.uint8:
            return 0.0, 255.0
        if not np.isfinite(images).all():
            return -np.inf, np.inf  # the reader names the value
        low, high = float(images.min()), float(images.max())
        return (low, high) if high > low else (low, low + 1.0)
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"span={shown(given)} is no pair of numbers. Give (least, greatest).") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise DataError(f"span={shown(given)} is no range. Give (least, greatest), two finite numbers.")
    return low, high


def _segmenter(units: Any, span: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    if isinstance(units, Quickshift) or (isinstance(units, str) and units == "quickshift"):
        made = Quickshift() if isinstance(units, str) else units
        return made if made.span is not None else replace(made, span=span)
    if isinstance(units, str) and units == "grid":
        return Grid()
    if not callable(units):
        raise ProblemError(
            f"units={shown(units)} is not known. Use 'grid', 'quickshift', 'pixels', Grid(rows, columns), or give a "
            "function."
        )
    made_of: Callable[[np.ndarray], np.ndarray] = units
    return made_of


def _fill(given: Any, span: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    if is_real(given):
        if not span[0] <= given <= span[1]:  # NaN neither
            raise ProblemError(
                f"replace={shown(given)} is no value of a pixel, which are from {span[0]:g} to {span[1]:g}. Give one "
                "of them, or span=(least, greatest)."
            )
        return ConstantFill(float(given))
    known: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "mean": MeanFill(),
        "blur": BlurFill(),
        "distractor": MeanFill(),
        "cells": MeanFill(),
    }
    if not isinstance(given, str) or given not in known:
        raise ProblemError(
            f"replace={shown(given)} is not known. Use a number or one of {', '.join(map(repr, known))}."
        )
    return known[given]
