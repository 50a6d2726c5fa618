"""Answers about images: the changed image, which parts changed, and a picture of three panels with alternative text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.answers import words
from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.language import gettext, ngettext
from wayforward.modalities.answers import Phrases
from wayforward.modalities.array_answers import ArrayRecourse
from wayforward.modalities.arrays import ArrayUnits, PlainArrays
from wayforward.modalities.image.segments import Grid
from wayforward.palette import GREY, ORANGE
from wayforward.public import public

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LISTED = 6  # parts that a sentence names


@public
@dataclass(frozen=True)
class ImageRecourse(ArrayRecourse):
    """Up to k changed images (h, w) or (h, w, c) for each of n. recourse: the same as rows, for evaluation and files.

    The units of a grid are its cells, row by row.
    """

    thing: ClassVar[str] = "image"

    grid: Grid | None = None

    def mask(self, i: int, option: int = 0) -> np.ndarray:
        """Return (h, w) bool: the pixels of the units that an option changes."""
        label = self._labels(i)
        return np.asarray(np.isin(label, self.changed(i, option)).any(2))

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: how many parts would have to change, and where they are."""
        units = self._need(i, option)
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
        self._need(i, option)
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
