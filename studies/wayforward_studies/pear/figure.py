"""The figure of the study: a panel for each data set, a line for each kind of reply and way of asking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.palette import BLUE, GREY, ORANGE, PURPLE
from wayforward_studies.pages import save

if TYPE_CHECKING:
    from wayforward_studies.pear.run import RegretCurve

_LINES = {
    "all, exact replies": (BLUE, "o", "-"),
    "all, logistic replies": (ORANGE, "s", "-"),
    "all, exact replies, random sets": (GREY, "o", ":"),
    "all, logistic replies, random sets": (GREY, "s", ":"),
    "all, logistic replies, 100% of edges unknown": (PURPLE, "^", "--"),
}


def draw(curves: Sequence[RegretCurve], folder: Path, file: str) -> tuple[str, ...]:
    """Write the figure as SVG and PNG; returns the names."""
    names = list(dict.fromkeys(curve.dataset for curve in curves))
    with figure_style():
        figure = new_figure(4.4 * len(names) + 0.4, 3.6)
        axes = figure.subplots(1, len(names), squeeze=False)[0]
        for ax, name in zip(axes, names, strict=True):
            for curve in curves:
                if curve.dataset != name or curve.setting.name not in _LINES:
                    continue
                colour, mark, line = _LINES[curve.setting.name]
                at = np.arange(curve.regret.shape[1])
                low, high = curve.interval()
                ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
                ax.plot(
                    at, curve.mean, line, color=colour, marker=mark, markersize=4, label=curve.setting.name
                )
            ax.set_title(name)
            ax.set_xlabel("questions answered")
            ax.set_ylim(bottom=0)
        axes[0].set_ylabel("mean regret (own cost)")
        axes[-1].legend(fontsize=7, frameon=False)
    return save(figure, folder, file)
