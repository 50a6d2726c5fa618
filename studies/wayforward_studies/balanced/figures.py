"""The two figures: rectangle worlds with their index, and where each method leads the synthetic people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import numpy as np

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.impact.segregation import rectangle_world, segregation_index
from wayforward.palette import BLUE, GREY, ORANGE, PURPLE
from wayforward_studies.balanced.setting import BalancedStudy
from wayforward_studies.balanced.tables import Recourse
from wayforward_studies.pages import save

_Ends = Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


def rectangles(folder: Path, name: str) -> tuple[str, ...]:
    """Where the refused go in the world of the theorems (a = b = 1, c = u = 1/2), with the index above each panel."""
    world = rectangle_world(1, 1, 0.5, 0.5, side=13)
    with figure_style():
        figure = new_figure(11.2, 3.4)
        axes = figure.subplots(1, 4, sharex=True, sharey=True)
        for ax, kind in zip(axes, get_args(Recourse), strict=True):
            one, two, three, four = world.people(kind)
            for points, colour, mark in ((one, BLUE, "."), (two, ORANGE, ".")):
                ax.plot(*points.T, mark, color=colour, ms=3, alpha=0.5)
            for points, colour, mark in ((three, BLUE, "x"), (four, ORANGE, "+")):
                ax.plot(*points.T, mark, color=colour, ms=4)
            ax.axhline(0, color=GREY, lw=1)
            ax.set_title(f"{kind}: {segregation_index(one, two, three, four):.4f}")
        return save(figure, folder, name)


def people(study: BalancedStudy, ends: _Ends, folder: Path, name: str) -> tuple[str, ...]:
    """A panel for each method: accepted people as they are, refused people where they end."""
    with figure_style():
        figure = new_figure(10.5, 6.6)
        axes = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
        for ax, (method, (refused, found, after)) in zip(axes, ends.items(), strict=True):
            for g, (colour, end) in enumerate(((BLUE, PURPLE), (ORANGE, "black"))):
                mine = study.groups.member == g
                ax.plot(*study.x[mine & ~refused, :2].T, ".", color=colour, ms=3, label=f"{'MF'[g]} accepted")
                ax.plot(*study.x[mine & refused, :2].T, ".", color=GREY, ms=2, alpha=0.5)
                ax.plot(*after[mine & found, :2].T, "x+"[g], color=end, ms=4, label=f"{'MF'[g]} after")
            ax.set_title(method)
        axes[0].legend(fontsize=7, loc="lower left")
        return save(figure, folder, name)
