"""The trade between turning the decision and staying plausible, drawn: two curves and other methods beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes
from wayforward.evaluate.tradeoff import Tradeoff
from wayforward.palette import GREY, INK, LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = ("P", "X", "*", "h", "d")


def figure_tradeoff(several: Tradeoff | Mapping[str, Tradeoff]) -> Figure:
    """Left: share with a valid option against the share of plausible ones. Right: what plausibility costs.

    several: one trade-off, or some by name (such as how many features people can change). On the left a limit on
    nats of shortfall runs from plausible options only (right end) to any; on the right the price rises from left to
    right at full validity. Other methods are single marks with their names.
    Raises: MissingExtra without matplotlib.
    """
    parts = several if isinstance(several, Mapping) else {"icarma-polished": several}
    with figure_style():
        figure = new_figure(9.5, 4.2)
        left, right = figure.subplots(1, 2)
        for place, (name, trade) in enumerate(parts.items()):
            line, marker, colour = LINES[place % len(LINES)]
            look = {"ls": line, "marker": marker, "color": colour, "lw": 1.8, "ms": 4.5}
            left.plot(
                [p.plausibility for p in trade.limited],
                [p.validity for p in trade.limited],
                label=name,
                **look,
            )
            right.plot(
                [p.plausibility for p in trade.priced], [p.cost for p in trade.priced], label=name, **look
            )
            for number, (other, point) in enumerate(trade.others.items()):
                mark = _MARKS[number % len(_MARKS)]
                label = other if place == 0 else None
                for ax, value in ((left, point.validity), (right, point.cost)):
                    if np.isfinite([point.plausibility, value]).all():
                        ax.plot(
                            point.plausibility,
                            value,
                            mark,
                            color=colour,
                            mec=INK,
                            mew=0.7,
                            ms=9,
                            ls="",
                            label=label,
                        )
        for ax, title, what in (
            (left, "A limit on nats below the person's own", "share with an option that turns the decision"),
            (right, "A price on options that are less likely", "mean cost of those who have one"),
        ):
            ax.set_title(title, loc="left", weight="bold")
            ax.set_xlabel("share of options at least as likely as the person")
            ax.set_ylabel(what)
            ax.set_xlim(-0.02, 1.04)
            percent_ticks(ax.xaxis)
            plain_axes(ax)
            ax.grid(color=LIGHT, lw=0.6)
        left.set_ylim(-0.02, 1.04)
        percent_ticks(left.yaxis, share=True)
        right.set_ylim(bottom=0)
        left.legend(frameon=False, loc="lower left", labelcolor=GREY)
    return figure
