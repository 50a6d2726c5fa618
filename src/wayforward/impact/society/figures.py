"""A society over time, drawn: one panel a figure, one line a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.impact.society.history import FIGURES, History
from wayforward.language import N_, gettext
from wayforward.public import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = (
    "acceptance",
    "cost",
    "default",
    "holds",
    "improvement",
    "gaming",
    "centralization",
    "atkinson",
    "proximity",
)
TITLES = {
    "acceptance": N_("Accepted by the model"),
    "grants": N_("Granted"),
    "default": N_("Defaults"),
    "advice": N_("There is a plan"),
    "cost": N_("Mean cost of plans"),
    "agreed": N_("Set out to act"),
    "holds": N_("Advice that still holds"),
    "success": N_("Yes on return"),
    "improvement": N_("Improved"),
    "gaming": N_("Gamed"),
    "righted": N_("Righted"),
    "harm": N_("Worse than before"),
    "good": N_("Would do well"),
    "profit": N_("Earned on each granted"),
    "centralization": N_("Centralization"),
    "atkinson": N_("Unevenness (Atkinson)"),
    "proximity": N_("Closeness to the others"),
    "exposure": N_("Chance to meet the others"),
    "concentration": N_("Concentration (delta)"),
}


def title_of(figure: str) -> str:
    """Return what a figure is called, in the language in use."""
    return gettext(TITLES[figure]) if figure in TITLES else figure


def in_percent(figure: str) -> bool:
    """Return whether people read a figure in per cent: shares of people, and costs, which are of widths of ranges."""
    return figure in FIGURES and figure != "profit"


def in_words(figure: str, value: float) -> str:
    """Return a figure as people read it: "12.3 %" of a share or a cost, an index as a number; a dash for none."""
    if not np.isfinite(value):
        return "–"
    return words.percent(value, 1) if in_percent(figure) else words.number(value, digits(value))


def digits(value: float) -> int:
    """Return the decimals of a figure that is not told in per cent."""
    return min(3, max(2, words.about(value, 3)))


@public
def figure_society(
    history: History | Mapping[str, History], figures: Sequence[str] = (), *, group: str | None = None
) -> Figure:
    """Lines over rounds. One history: a line a group. Several by name (such as two policies): a line each.

    figures: left out, those of `DRAWN` of which anything is known. group: the one that is drawn where there are several
    histories; left out, all people (segregation: the smallest group). Lines differ in dash and marker besides colour.
    Raises: DataError for an unknown figure; MissingExtra without matplotlib.
    """
    from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes
    from wayforward.palette import GREY, LIGHT

    if isinstance(history, Mapping):
        if not history:
            raise DataError("There is no history to draw.")
        lines = [(name, one, group) for name, one in history.items()]
    else:
        lines = [(f"{history.attribute}: {history.title(name)}", history, name) for name in history.names]
    if not figures:
        known = (f for f in DRAWN if any(np.isfinite(one.figure(f, group=g)).any() for _, one, g in lines))
        figures = tuple(known) or DRAWN
    wide = 3
    tall = -(-len(figures) // wide)
    with figure_style():
        sheet = new_figure(11.0, 0.6 + 2.3 * tall)
        axes = sheet.subplots(tall, wide, squeeze=False).ravel()
        for ax, name in zip(axes, figures, strict=False):
            for i, (label, one, whose) in enumerate(lines):
                dash, marker, colour = LINES[i % len(LINES)]
                y = one.figure(name, group=whose)
                at = np.arange(one.rounds + 1)[-len(y) :] if len(y) else np.arange(0)
                known = ~np.isnan(y)
                ax.plot(at[known], y[known], dash, marker=marker, color=colour, ms=4, lw=1.6, label=label)
            ax.set_title(title_of(name), loc="left", weight="bold")
            if name in DIMENSIONS:
                higher = DIMENSIONS[name] > 0
                ax.set_xlabel(
                    gettext("round (higher: more segregated)") if higher else gettext("round (lower: more segregated)"),
                    color=GREY,
                )  # fmt: skip
            else:
                ax.set_xlabel(gettext("round"), color=GREY)
            ax.locator_params(axis="x", nbins=6, integer=True)
            last = max(one.rounds for _, one, _ in lines)
            ax.set_xlim(-0.04 * last - 0.1, 1.04 * last + 0.1)
            ax.margins(y=0.15)
            if in_percent(name):
                percent_ticks(ax.yaxis, share=name != "cost")
            plain_axes(ax)
            ax.grid(axis="y", color=LIGHT, lw=0.6)
        for ax in axes[len(figures) :]:
            ax.set_visible(False)
        handles, labels = axes[0].get_legend_handles_labels()
        sheet.legend(handles, labels, loc="outside lower left", ncols=5, frameon=False)
    return sheet
