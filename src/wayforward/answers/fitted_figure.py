"""A figure whose titles, axis labels and legend fit: what is wider than its axes is broken into lines when it is drawn.

A constrained layout makes room for the height of titles and labels and not for their width, so that long ones, such as
those of another language, ran into their neighbours or out of the figure.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text


class FittedFigure(Figure):
    """A figure that breaks its titles and axis labels, and lays out its legend, before it is drawn."""

    def draw(self, renderer: Any) -> None:
        """Fit, then draw."""
        if (engine := self.get_layout_engine()) is not None:
            engine.execute(self)
        for ax in filter(Axes.get_visible, self.axes):
            _fit_axes(ax, renderer)
        for legend in list(self.legends):
            _fit_legend(self, legend, renderer)
        # To save, matplotlib first asks for the layout with all drawing taken out, and then draws without one.
        if engine is not None and "draw_path" in vars(renderer):
            engine.execute(self)
        else:
            super().draw(renderer)


def _fit_axes(ax: Axes, renderer: Any) -> None:
    box = ax.get_window_extent(renderer)
    titles = [ax.get_title(loc="left"), ax.get_title(), ax.get_title(loc="right")]
    for text in (child for child in ax.get_children() if isinstance(child, Text)):
        if text.get_text() and text.get_text() in titles:
            _break(text, box.width, renderer)
    _break(ax.xaxis.label, box.width, renderer)
    _break(ax.yaxis.label, box.height, renderer)


def _break(text: Text, room: float, renderer: Any) -> None:
    """Break a text into lines that are no wider than the room, along the way it is written; a word stays whole."""
    along = "height" if text.get_rotation() == 90 else "width"
    if getattr(text.get_window_extent(renderer), along) <= room:
        return
    lines: list[str] = []
    for word in text.get_text().split():
        text.set_text(f"{lines[-1]} {word}" if lines else word)
        if lines and getattr(text.get_window_extent(renderer), along) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    text.set_text("\n".join(lines))


def _fit_legend(figure: Figure, legend: Legend, renderer: Any) -> None:
    """Give a legend below the figure as many columns as fit."""
    labels = [text.get_text() for text in legend.get_texts()]
    # whole handles, where there are any: a legend keeps only a part of a bar with its mark
    drawn = [pair for ax in figure.axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
    whole = [name for _, name in drawn] == labels
    handles = [handle for handle, _ in drawn] if whole else legend.legend_handles
    columns = len(labels)
    while columns > 1 and legend.get_window_extent(renderer).width > figure.bbox.width:
        columns -= 1
        legend.remove()
        legend = figure.legend(
            handles=handles, labels=labels, loc="outside lower left", ncols=columns, frameon=False,
            handletextpad=legend.handletextpad,
        )  # fmt: skip
