"""Answers about time series: the changed series, which channels changed, and a picture of small panels with words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.answers import words
from wayforward.answers.figure_style import figure_style, new_figure, plain_axes, wrap_label
from wayforward.language import gettext, ngettext, pgettext, visible
from wayforward.modalities.answers import LetterPart, Phrases
from wayforward.modalities.array_answers import ArrayRecourse
from wayforward.palette import GREY, INK, ORANGE
from wayforward.public import public

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LISTED = 6  # places that a sentence names
_PANELS = 24  # channels drawn, those that change first


@public
@dataclass(frozen=True)
class SeriesRecourse(ArrayRecourse):
    """Up to k changed series (channels, times) for each of n. recourse: the same as rows, for evaluation and files.

    names: of the channels; empty: they have numbers.
    """

    thing: ClassVar[str] = "series"

    names: tuple[str, ...] = ()

    def mask(self, i: int, option: int = 0) -> np.ndarray:
        """Return (channels, times) bool: what lies in the units that an option changes."""
        return np.asarray(np.isin(self._labels(i), self.changed(i, option)))

    def channels(self, i: int, option: int = 0) -> list[int]:
        """Return the channels of which an option changes something, from 0."""
        return [int(channel) for channel in np.flatnonzero(self.mask(i, option).any(1))]

    def source(self, i: int, option: int = 0) -> list[np.ndarray]:
        """Return the series (channels, times) that each of `changed` takes its numbers from, in their order."""
        fills = self.composer.parts(self.contents[self._row(i)]).fills  # type: ignore[union-attr]
        levels = self.recourse.action[self._row(i), option, [1 + u for u in self.changed(i, option)]]
        return [fills[int(level)].reshape(self.composer.shape) for level in levels]

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: how many channels, or stretches of them, would have to be others."""
        units = self._need(i, option)
        places = [self._place(np.isin(self._labels(i), unit)) for unit in units]
        more = len(places) - _LISTED
        if more > 0:
            places = [*places[:_LISTED], ngettext("one more", "{n} more", more, n=more)]
        many, listed = words.spelled(len(units)), "; ".join(places)
        mask = self.mask(i, option)
        if mask[mask.any(1)].all() and len(units) == int(mask.any(1).sum()):
            return ngettext(
                "With this channel changed the answer would be yes: {places}.",
                "With these {n} channels changed the answer would be yes: {places}.",
                len(units),
                n=many,
                places=listed,
            )
        return ngettext(
            "With this part of the series changed the answer would be yes: {places}.",
            "With these {n} parts of the series changed the answer would be yes: {places}.",
            len(units),
            n=many,
            places=listed,
        )

    def describe(self, i: int, option: int = 0) -> list[str]:
        """Return a line for each channel that an option changes: what its numbers are there before and after."""
        self._need(i, option)
        before, after, mask = self.before(i), self.after(i, option), self.mask(i, option)
        lines = []
        for channel in self.channels(i, option):
            there = mask[channel]
            alone = np.zeros_like(mask)
            alone[channel] = there
            (a, b), (c, d) = (_range(values[channel, there]) for values in (before, after))
            lines.append(
                gettext(
                    "{place}: from {low} to {high} as given, from {new_low} to {new_high} with the change.",
                    place=self._place(alone),
                    low=a,
                    high=b,
                    new_low=c,
                    new_high=d,
                )
            )
        return lines

    def alt(self, i: int, option: int = 0) -> str:
        """Return what the picture of an option shows, for who cannot see it."""
        panels = gettext(
            "Small panels, one a channel: the series as given, and in another line with the change."
        )
        return " ".join([panels, self.sentence(i, option), *self.describe(i, option)])

    def figure(self, i: int, option: int = 0) -> Figure:
        """Draw an option: a panel for each channel, the series as given and, where it changes, with the change.

        Panels that change have a frame, and what changes is shaded. Of more than 24 channels those that change come
        first, then as many of the others. Raises: DataError where there is no such option; MissingExtra without
        matplotlib.
        """
        self._need(i, option)
        before, after, mask = self.before(i), self.after(i, option), self.mask(i, option)
        order = np.argsort(~mask.any(1), kind="stable") if len(before) > _PANELS else np.arange(len(before))
        drawn = np.sort(order[:_PANELS])
        columns = 1 if len(drawn) < 3 else 2 if len(drawn) < 9 else 3
        rows = -(-len(drawn) // columns)
        with figure_style():
            figure = new_figure(7.5, 0.9 + 1.15 * rows)
            axes = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
            for ax, channel in zip(axes, drawn, strict=False):
                _panel(
                    ax, before[channel], after[channel], mask[channel], wrap_label(self._name(channel), 34, 1)
                )
            for place, ax in enumerate(axes):
                ax.set_visible(place < len(drawn))
                if place < len(drawn) <= place + columns:
                    ax.tick_params(labelbottom=True)
                    ax.set_xlabel(pgettext("axis", "time"))
            figure.legend(
                handles=_legend(), loc="outside upper left", ncols=3, frameon=False, handlelength=2.4
            )
        return figure

    def _phrases(self, number: int = 0) -> Phrases:
        return Phrases(
            title=gettext("What would have to be different in these series"),
            numbered=gettext("Series {n}", n=number),
            accepted=gettext("The answer to your series is yes. Nothing in it need change."),
            refused=gettext("A computer model looked at your series. The answer is no for now."),
            none_exist=gettext(
                "Whichever of its parts take the numbers on offer, the answer stays no. This was proved."
            ),
            not_found=gettext("We found no parts whose change makes the answer yes. There may be some."),
            closing=gettext("The model itself said yes to the changed series, as it is shown here.")
            + "\n"
            + gettext(
                "This says what the model looks at. It does not say that your series should be changed."
            ),
        )

    def _shown(self, i: int, option: int) -> LetterPart:
        return LetterPart("figure", self.svg(i, option), "\n".join(self.describe(i, option)))

    def _name(self, channel: int) -> str:
        return visible(self.names[channel]) if self.names else gettext("channel {n}", n=channel + 1)

    def _place(self, mask: np.ndarray) -> str:
        """Name what a mask (channels, times) covers: channels, and the times if not all."""
        rows = np.flatnonzero(mask.any(1)).tolist()
        named = words.join([words.in_quotes(self._name(c)) if self.names else self._name(c) for c in rows])
        times = np.flatnonzero(mask.any(0))
        if len(times) == mask.shape[1]:
            return named
        first, last = words.number(int(times[0]) + 1), words.number(int(times[-1]) + 1)
        return gettext("{channel}, times {first} to {last}", channel=named, first=first, last=last)


def _range(values: np.ndarray) -> tuple[str, str]:
    low, high = float(values.min()), float(values.max())
    decimals = min(words.about(max(abs(low), abs(high)), 3), 6)
    return words.number(low, decimals), words.number(high, decimals)


def _panel(ax: Axes, before: np.ndarray, after: np.ndarray, mask: np.ndarray, name: str) -> None:
    plain_axes(ax)
    time = np.arange(1, len(before) + 1)
    changes = bool(mask.any())
    ax.plot(time, before, color=GREY, lw=1.1, marker="." if len(time) == 1 else None)
    ax.set_title(
        name,
        loc="left",
        fontsize=9,
        pad=3,
        color=INK if changes else GREY,
        fontweight="bold" if changes else None,
    )
    ax.locator_params(axis="y", nbins=3)
    ax.tick_params(labelsize=8, length=2)
    ax.set_xlim(0.5, len(time) + 0.5)
    if not changes:
        return
    for start, end in _runs(mask):
        ax.axvspan(start + 0.5, end + 0.5, color=ORANGE, alpha=0.12, lw=0)
        to = slice(max(start - 1, 0), end + 1)  # from the number before to the one after
        ax.plot(
            time[to],
            after[to],
            color=ORANGE,
            lw=1.6,
            ls=(0, (4, 1.5)),
            marker="." if len(time) == 1 else None,
        )
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(ORANGE)
    ax.spines[:].set_linewidth(1.4)


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Beginnings and ends of what is True in (t,)."""
    edge = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(start), int(end)) for start, end in edge.reshape(-1, 2)]


def _legend() -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=GREY, lw=1.1, label=gettext("as given")),
        Line2D([], [], color=ORANGE, lw=1.6, ls=(0, (4, 1.5)), label=gettext("with the change")),
        Patch(facecolor=ORANGE, alpha=0.25, label=gettext("where it changes")),
    ]
