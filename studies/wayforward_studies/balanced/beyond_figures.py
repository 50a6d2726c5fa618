"""Figures beyond the paper: what balance costs and brings, and the way from nobody to everybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wayforward.answers.figure_style import LINES, figure_style, new_figure
from wayforward.palette import BLUE, BROWN, GREEN, GREY, ORANGE, PURPLE
from wayforward_studies.balanced.beyond_measures import SHARES
from wayforward_studies.balanced.beyond_results import BeyondResult
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.pages import save

_METHODS = {
    "local-search": (BLUE, "o"),
    "nice": (GREEN, "^"),
    "carma": (ORANGE, "s"),
    "icarma": (PURPLE, "D"),
    "c-chvae": (BROWN, "v"),
    "ibr": (GREY, "P"),
    "ebr": ("black", "*"),
}


def compliance(lines: Sequence[BeyondResult], folder: Path, name: str) -> tuple[str, ...]:
    """A column for each setting, a row for each index, a line for each way; the band is the spread over seeds."""
    settings = list(dict.fromkeys(line.setting for line in lines))
    with figure_style():
        figure = new_figure(3.6 * len(settings) + 0.6, 7.6)
        axes = figure.subplots(3, len(settings), sharex=True, squeeze=False)
        for column, setting in enumerate(settings):
            some = [line for line in lines if line.setting == setting]
            for row, index in enumerate(INDICES):
                ax = axes[row, column]
                for line, (dash, mark, colour) in zip(some, LINES, strict=False):
                    value = np.array([line.mean[f"{s:g} {index}"] for s in SHARES])
                    wide = np.array([line.spread[f"{s:g} {index}"] for s in SHARES])
                    ax.plot(SHARES, value, dash, marker=mark, ms=3, color=colour, label=line.method.name)
                    if len(line.each) > 1 and setting == "synthetic":
                        ax.fill_between(SHARES, value - wide, value + wide, color=colour, alpha=0.08, lw=0)
                if row == 0:
                    ax.set_title(setting)
                if row == 2:
                    ax.set_xlabel("share that follows")
                if column == 0:
                    ax.set_ylabel(index)
        axes[0, 0].legend(fontsize=7)
        return save(figure, folder, name)


def options(lines: Sequence[BeyondResult], folder: Path, name: str) -> tuple[str, ...]:
    """A panel for each setting: cost against Atkinson; hollow as the method is, filled at the two betas."""
    settings = list(dict.fromkeys(line.setting for line in lines))
    with figure_style():
        figure = new_figure(3.1 * len(settings) + 0.4, 3.6)
        axes = figure.subplots(1, len(settings), squeeze=False)[0]
        for ax, setting in zip(axes, settings, strict=True):
            some = [line for line in lines if line.setting == setting]
            for method, (colour, mark) in _METHODS.items():
                mine = [line for line in some if line.method.method == method]
                cost = [line.mean["cost"] for line in mine]
                height = [line.mean["atkinson"] for line in mine]
                ax.plot(cost, height, "-", color=colour, lw=0.8, alpha=0.7)
                for line, x, y in zip(mine, cost, height, strict=True):
                    fill = "white" if line.method.beta is None else colour
                    label = method if line is mine[-1] else None
                    ax.plot([x], [y], mark, color=colour, mfc=fill, ms=5, label=label)
            ax.axhline(some[0].mean["origin atkinson"], color=GREY, lw=0.8, ls=":")
            ax.set_title(setting)
            ax.set_xlabel("cost")
        axes[0].set_ylabel("Atkinson (dotted: before)")
        axes[0].legend(fontsize=7)
        return save(figure, folder, name)
