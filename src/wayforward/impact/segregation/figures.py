"""What follows when people act, drawn: segregation before and after, one panel a dimension and one row a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wayforward.answers import words
from wayforward.answers.figure_style import figure_style, new_figure, plain_axes, wrap_label
from wayforward.errors import DataError
from wayforward.impact.segregation.change import Change
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.palette import BLUE, GREY, LIGHT, ORANGE
from wayforward.public import public

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {
    "centralization": "Centralization",
    "atkinson": "Unevenness (Atkinson)",
    "proximity": "Closeness of both sides",
    "exposure": "Chance to meet the others",
    "concentration": "Concentration (delta)",
}


@public
def figure_segregation(
    changes: Change | Mapping[str, Change], *, resamples: int = 200, seed: int = 0, people: int = 2000
) -> Figure:
    """Draw each dimension before (hollow ring) and after (triangle that points where it moved), with 95 % intervals.

    changes: one comparison, or several by name, such as those of `before_after_each` or of several methods. Filled
    orange: more segregated than before; filled blue: less. resamples=0 leaves the intervals out.
    Raises: DataError without a change; MissingExtra without matplotlib.
    """
    several = {changes.before.group: changes} if isinstance(changes, Change) else dict(changes)
    if not several:
        raise DataError("There is no change to draw.")
    spans = {
        name: change.intervals(resamples=resamples, seed=seed, people=people) if resamples else None
        for name, change in several.items()
    }
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(13.0, 1.3 + 0.62 * len(several))
        axes = figure.subplots(1, len(DIMENSIONS), sharey=True, squeeze=False)[0]
        for ax, (dimension, way) in zip(axes, DIMENSIONS.items(), strict=True):
            ax.set_title(_TITLES[dimension], loc="left", weight="bold")
            ax.set_xlabel(f"{'higher' if way > 0 else 'lower'}: more segregated", color=GREY)
            for y, (name, change) in enumerate(several.items()):
                before, after = getattr(change.before, dimension), getattr(change.after, dimension)
                worse = dimension in change.worse
                colour = ORANGE if worse else BLUE
                marker = ">" if after > before else "<" if after < before else "s"
                span = spans[name]
                for place, value, look in (
                    (y - 0.14, before, {"marker": "o", "mfc": "white", "mec": GREY, "mew": 1.5}),
                    (y + 0.14, after, {"marker": marker, "color": colour}),
                ):
                    if span is not None:
                        part = span[dimension]["before" if place < y else "after"]
                        ax.plot([part.low, part.high], [place, place], color=GREY, lw=1.6, zorder=1)
                    ax.plot(value, place, ms=8, ls="", zorder=2, **look)
                ax.text(
                    after,
                    y + 0.26,
                    words.number(after, 3),
                    ha="center",
                    va="top",
                    fontsize=8.5,
                    weight="bold" if worse else "normal",
                )
            ax.margins(x=0.12)
            ax.set_ylim(len(several) - 0.35, -0.55)
            ax.tick_params(axis="y", length=0)
            ax.locator_params(axis="x", nbins=4)
            plain_axes(ax)
            ax.grid(axis="x", color=LIGHT, lw=0.6)
        axes[0].set_yticks(range(len(several)), [wrap_label(name, 22) for name in several])
        looks = (
            ("o", "white", GREY, "before"),
            (">", ORANGE, ORANGE, "after, more segregated"),
            ("<", BLUE, BLUE, "after, not more"),
        )
        handles = [Line2D([], [], marker=m, mfc=f, mec=c, ls="", label=t, ms=7) for m, f, c, t in looks]
        figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, handletextpad=0.2)
    return figure
