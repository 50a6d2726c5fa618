"""Answers about arrays: the changed array, which units changed, and a picture with alternative text."""

from __future__ import annotations

import io
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.answers.figures import svg
from wayforward.errors import DataError
from wayforward.modalities.answers import LetterPart, UnitRecourse
from wayforward.modalities.arrays import ArrayUnits, PlainArrays, decode_array
from wayforward.plain_files import as_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDS = {".png": "png", ".svg": "svg"}


@dataclass(frozen=True)
class ArrayRecourse(UnitRecourse):
    """Up to k changed arrays for each of n. recourse: the same as rows, for evaluation and files.

    thing: its name in errors.
    """

    contents: tuple[str, ...]
    composer: ArrayUnits | PlainArrays

    thing: ClassVar[str]

    @abstractmethod
    def alt(self, i: int, option: int = 0) -> str:
        """Return what the picture of an option shows, for who cannot see it."""

    @abstractmethod
    def figure(self, i: int, option: int = 0) -> Figure:
        """Draw an option. Raises: DataError where there is no such option; MissingExtra without matplotlib."""

    def before(self, i: int) -> np.ndarray:
        """Return array i as it is, in its own shape."""
        return np.asarray(decode_array(self.contents[self._read_row(i)]).reshape(self.composer.shape))

    def after(self, i: int, option: int = 0) -> np.ndarray:
        """Return the exact array that was judged, in its own shape; array i itself where there is no such option."""
        if option not in self.options(i):
            return self.before(i)
        row = self.recourse.after[self._row(i), option][None]
        schema = self.recourse.problem.schema
        return np.asarray(self.composer.compose(row, schema)[0].reshape(self.composer.shape))

    def changed(self, i: int, option: int = 0) -> list[int]:
        """Return the units that an option changes, from 0: the labels that `units` gave them, or numbers in order."""
        return self._units(i, option, 0 if isinstance(self.composer, PlainArrays) else 1)

    def svg(self, i: int, option: int = 0) -> str:
        """Return the picture of an option as inline SVG with title and description; the same option, the same text."""
        name = f"{self.thing}-{self._row(i)}-{option}"
        return svg(self.figure(i, option), name, self._phrases(i + 1).numbered, self.alt(i, option))

    def save(self, i: int, path: str | Path, option: int = 0) -> Path:
        """Write the picture of an option as PNG or SVG, as the end of the name says; return its path.

        Raises: DataError for another end, and where there is no such option; WriteError.
        """
        at = as_path(path)
        if at.suffix.lower() not in _ENDS:
            raise DataError(f"'{at.name}' ends in neither .png nor .svg. Give one of them.")
        if at.suffix.lower() == ".svg":
            write_bytes(at, self.svg(i, option).encode("utf-8"))
            return at
        out = io.BytesIO()
        described = {"Software": None, "Description": self.alt(i, option)}
        self.figure(i, option).savefig(out, format="png", dpi=144, metadata=described)
        write_bytes(at, out.getvalue())
        return at

    def _need(self, i: int, option: int) -> list[int]:
        """The units that an option changes. Raises: DataError where there is no such option."""
        units = self.changed(i, option)
        if not units:
            raise DataError(
                f"{self.thing.capitalize()} {i} has no option {option}: "
                f"{self.recourse.outcome[self._row(i), 0].value}"
            )
        return units

    def _shown(self, i: int, option: int) -> LetterPart:
        return LetterPart("figure", self.svg(i, option), "")

    def _missing(self, i: int) -> str:
        return f"There is no {self.thing} {i}; there are {len(self.contents)}, from 0."

    def _labels(self, i: int) -> np.ndarray:
        """The unit of each number, in the shape of what is kept of the array."""
        content = self.contents[self._read_row(i)]
        shape = decode_array(content).shape
        if isinstance(self.composer, PlainArrays):
            return np.arange(int(np.prod(shape))).reshape(shape)
        return self.composer.parts(content).label.reshape(shape)
