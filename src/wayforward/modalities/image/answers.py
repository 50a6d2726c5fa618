"""Answers about images: the changed image, which parts changed, and a picture of three panels with alternative text."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.answers.figures import svg
from wayforward.errors import DataError
from wayforward.language import gettext, ngettext
from wayforward.modalities.answers import LetterPart, Phrases, UnitRecourse
from wayforward.modalities.arrays import ArrayUnits, PlainArrays, decode_array
from wayforward.modalities.image.segments import Grid
from wayforward.palette import GREY, ORANGE
from wayforward.plain_files import as_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LISTED = 6  # parts that a sentence names
_ENDS = {".png": "png", ".svg": "svg"}


@dataclass(frozen=True)
class ImageRecourse(UnitRecourse):
    """Up to k changed images for each of n images. recourse: the same as rows, for evaluation and files."""

    contents: tuple[str, ...]
    composer: ArrayUnits | PlainArrays
    grid: Grid | None = None

    def before(self, i: int) -> np.ndarray:
        """Return image i as it is, (h, w) or (h, w, c)."""
        return np.asarray(decode_array(self.contents[self._row(i)]).reshape(self.composer.shape))

    def after(self, i: int, option: int = 0) -> np.ndarray:
        """Return the exact image that was judged, (h, w) or (h, w, c); image i itself where there is no such option."""
        if option not in self.options(i):
            return self.before(i)
        row = self.recourse.after[self._row(i), option][None]
        schema = self.recourse.problem.schema
        return np.asarray(self.composer.compose(row, schema)[0].reshape(self.composer.shape))

    def changed(self, i: int, option: int = 0) -> list[int]:
        """Return the units that an option changes: cells row by row, segments or pixels, from 0."""
        return self._units(i, option, 0 if isinstance(self.composer, PlainArrays) else 1)

    def mask(self, i: int, option: int = 0) -> np.ndarray:
        """Return (h, w) bool: the pixels of the units that an option changes."""
        label = self._labels(i)
        return np.asarray(np.isin(label, self.changed(i, option)).any(2))

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: how many parts would have to change, and where they are."""
        units = self.changed(i, option)
        if not units:
            raise DataError(
                f"Image {i} has no option {option}: {self.recourse.outcome[self._row(i), 0].value}"
            )
        many = words.spelled(len(units))
        if isinstance(self.composer, PlainArrays):
            return ngettext(
                "With this pixel changed the answer would be yes: {places}.",
                "With these {n} pixels changed the answer would be yes: {places}.",
                len(units),
                n=many,
                places=self._places(i, units),
            )
        return ngettext(
            "With this part of the picture changed the answer would be yes: {places}.",
            "With these {n} parts of the picture changed the answer would be yes: {places}.",
            len(units),
            n=many,
            places=self._places(i, units),
        )

    def alt(self, i: int, option: int = 0) -> str:
        """Return what the picture of an option shows, for who cannot see it."""
        three = gettext(
            "Three pictures side by side: as it is, with the change, and where and how much it changes."
        )
        return f"{three} {self.sentence(i, option)}"

    def figure(self, i: int, option: int = 0) -> Figure:
        """Draw an option: the image as it is, with the change, and where and how much each pixel changes.

        What changes has a frame. Raises: DataError where there is no such option; MissingExtra without matplotlib.
        """
        self.sentence(i, option)  # says what is missing
        before, after = (_grey(values, self.composer) for values in (self.before(i), self.after(i, option)))
        gap = np.abs(self.after(i, option) - self.before(i).astype(np.float64))
        gap = gap if gap.ndim == 2 else gap.max(2)
        high, wide = gap.shape
        with figure_style():
            figure = new_figure(7.5, 0.6 + 2.4 * min(high / wide, 2.0))
            axes = figure.subplots(1, 3)
            size = self.composer.high - self.composer.low
            for ax, values, title, heat in (
                (axes[0], before, gettext("as given"), False),
                (axes[1], after, gettext("with the change"), False),
                (axes[2], gap / size, gettext("where it changes"), True),
            ):
                ax.imshow(
                    values,
                    cmap="Oranges" if heat else "gray",
                    vmin=0,
                    vmax=1,
                    interpolation="none",
                    extent=(0, wide, high, 0),
                )
                ax.set_title(title, loc="left")
                ax.set_xticks([])
                ax.set_yticks([])
                ax.spines[:].set_color(GREY)
            for ax in axes[1:]:
                _frame(ax, self.mask(i, option))
        return figure

    def svg(self, i: int, option: int = 0) -> str:
        """Return the picture of an option as inline SVG with title and description; the same option, the same text."""
        name = f"image-{self._row(i)}-{option}"
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

    def _phrases(self, number: int = 0) -> Phrases:
        return Phrases(
            title=gettext("What would have to be different in these pictures"),
            numbered=gettext("Picture {n}", n=number),
            accepted=gettext("The answer to your picture is yes. Nothing in it need change."),
            refused=gettext("A computer model looked at your picture. The answer is no for now."),
            none_exist=gettext("No change of its parts makes the answer yes. This was proved."),
            not_found=gettext("We found no parts whose change makes the answer yes. There may be some."),
            closing=gettext("The model itself said yes to the changed picture, as it is shown here.")
            + "\n"
            + gettext(
                "This says what the model looks at. It does not say that your picture should be changed."
            ),
        )

    def _shown(self, i: int, option: int) -> LetterPart:
        return LetterPart("figure", self.svg(i, option), "")

    def _missing(self, i: int) -> str:
        return f"There is no image {i}; there are {len(self.contents)}, from 0."

    def _labels(self, i: int) -> np.ndarray:
        """(h, w, c) the unit of each number."""
        content = self.contents[self._row(i)]
        shape = decode_array(content).shape
        if isinstance(self.composer, PlainArrays):
            return np.arange(int(np.prod(shape))).reshape(shape)
        return self.composer.parts(content).label.reshape(shape)

    def _places(self, i: int, units: list[int]) -> str:
        label = self._labels(i)[:, :, 0] if not isinstance(self.composer, PlainArrays) else self._labels(i)
        texts = []
        for unit in units:
            if self.grid is not None:
                row, column = self.grid.place(unit)
                texts.append(gettext("row {row}, column {column}", row=row + 1, column=column + 1))
                continue
            rows, columns = np.nonzero(label == unit)[:2]
            if isinstance(self.composer, PlainArrays):
                at = {"row": int(rows[0]) + 1, "column": int(columns[0]) + 1}
                texts.append(gettext("row {row}, column {column}", **at))
            else:
                texts.append(
                    _where((rows.mean() + 0.5) / len(label), (columns.mean() + 0.5) / label.shape[1])
                )
        texts = list(dict.fromkeys(texts))
        more = len(texts) - _LISTED
        if more > 0:
            texts = [*texts[:_LISTED], ngettext("one more", "{n} more", more, n=more)]
        return "; ".join(texts)


def _where(down: float, right: float) -> str:
    """Name a place by the third of the height and of the width that it lies in, each from 0 to 1."""
    names = (
        (gettext("top left"), gettext("top"), gettext("top right")),
        (gettext("left"), gettext("middle"), gettext("right")),
        (gettext("bottom left"), gettext("bottom"), gettext("bottom right")),
    )
    return names[min(int(down * 3), 2)][min(int(right * 3), 2)]


def _grey(values: np.ndarray, composer: ArrayUnits | PlainArrays) -> np.ndarray:
    """(h, w) or (h, w, 3) from 0 to 1: colours as they are, other channels as their mean."""
    unit = (values.astype(np.float64) - composer.low) / (composer.high - composer.low)
    return np.clip(unit if unit.ndim == 2 or unit.shape[2] == 3 else unit.mean(2), 0, 1)


def _frame(ax: Axes, mask: np.ndarray) -> None:
    """Draw a line around what is marked (h, w), seen on dark and on light."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    wide = np.pad(mask, 1)
    ends = [((x, y), (x + 1, y)) for y, x in np.argwhere(wide[1:, 1:-1] != wide[:-1, 1:-1])]
    ends += [((x, y), (x, y + 1)) for y, x in np.argwhere(wide[1:-1, 1:] != wide[1:-1, :-1])]
    points = np.array(ends, dtype=np.float64).reshape(-1, 2)
    outline = Outline(points, np.tile([Outline.MOVETO, Outline.LINETO], len(ends)))
    for width, colour in ((3.6, "white"), (1.8, ORANGE)):
        ax.add_patch(
            PathPatch(outline, fill=False, ec=colour, lw=width, capstyle="projecting", clip_on=False)
        )
