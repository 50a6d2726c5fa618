"""Figures of an attack: how well copies agree, who is told to be a member, what is given back of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.answers.figure_style import LINES, figure_style, new_figure, plain_axes, wrap_label
from wayforward.evaluate.stats import Estimate
from wayforward.impact.disclosure.extraction import ATTACKS, FAMILIES, Fidelity
from wayforward.impact.disclosure.wording import attack_name, defence_name, family_name
from wayforward.language import gettext
from wayforward.palette import GREY, LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayforward.impact.disclosure.attack import Attack, Exposure

_APART = 1.02  # so that the intervals of lines do not lie on each other


def figure_copies(one: Exposure) -> Figure:
    """Draw for each family of copies how well it agrees with the service, by number of queries; a line an attack."""
    with figure_style():
        figure = new_figure(10, 3.9)
        axes = figure.subplots(1, len(FAMILIES), sharey=True)
        for ax, family in zip(axes, FAMILIES, strict=True):
            for place, attack in enumerate(ATTACKS):
                points = [f for f in one.extraction if (f.attack, f.family) == (attack, family)]
                _curve(ax, points, place, attack_name(attack))
            ax.set_title(family_name(family), loc="left", weight="bold")
            _agreement_axis(ax, [f.queries for f in one.extraction])
        axes[0].set_ylabel(wrap_label(gettext("agreement, mean over accepted and refused"), 26))
        handles, labels = axes[FAMILIES.index("line")].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, frameon=False)
    return figure


def figure_defences(attack: Attack) -> Figure:
    """Draw how well the best copy from options agrees, by number of queries: a line each way of answering."""
    with figure_style():
        figure = new_figure(7.5, 3.9)
        ax = figure.add_subplot()
        for place, one in enumerate(attack.exposures[: len(LINES)]):
            _curve(ax, best_copies(one), place, defence_name(one.name))
        ax.set_ylabel(wrap_label(gettext("agreement, mean over accepted and refused"), 26))
        _agreement_axis(ax, [f.queries for one in attack.exposures for f in one.extraction])
        figure.legend(loc="outside lower left", ncols=3, frameon=False)
    return figure


def figure_shares(
    attack: Attack, rows: Sequence[tuple[str, Sequence[Estimate]]], chance: float | None
) -> Figure:
    """Draw shares with their intervals: a panel each row, a dot each way of answering. chance: where luck would be."""
    names = [defence_name(one.name) for one in attack.exposures]
    with figure_style():
        figure = new_figure(10, 1.3 + 0.42 * len(names))
        axes = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
        for ax, (title, values) in zip(axes, rows, strict=True):
            ax.set_title(wrap_label(title, 84 // len(rows), 3), loc="left", weight="bold")
            if chance is not None:
                ax.axvline(chance, color=GREY, lw=1, ls=":")
            for y, e in enumerate(values):
                if not np.isfinite(e.value):
                    continue
                _, marker, colour = LINES[y % len(LINES)]
                ax.plot([e.low, e.high], [y, y], color=GREY, lw=2)
                ax.plot(e.value, y, marker=marker, color=colour, ms=7)
                text = words.percent(e.value) if chance is None else words.number(e.value, 2)
                ax.text(e.value, y - 0.2, text, ha="center", va="bottom", fontsize=9)
            ax.set_xlim(-0.04, 1.04)
            ax.set_ylim(len(names) - 0.5, -0.7)
            ax.set_yticks(range(len(names)), [wrap_label(name, 24) for name in names])
            ax.set_xticks([0, 0.5, 1])
            ax.tick_params(axis="y", length=0)
            ax.xaxis.set_major_formatter(
                lambda v, _: words.percent(v) if chance is None else words.number(round(v, 2))
            )
            plain_axes(ax)
    return figure


def best_copies(one: Exposure) -> list[Fidelity]:
    """Return for each number of queries the copy from options that agrees best, over attacks and families."""
    from_options = [f for f in one.extraction if f.attack != "labels" and np.isfinite(f.balanced.value)]
    sizes = sorted({f.queries for f in from_options})
    return [max((f for f in from_options if f.queries == m), key=lambda f: f.balanced.value) for m in sizes]


def _curve(ax: Axes, points: Sequence[Fidelity], place: int, label: str) -> None:
    line, marker, colour = LINES[place]
    x = [f.queries * _APART**place for f in points]
    ax.plot(x, [f.balanced.value for f in points], ls=line, marker=marker, color=colour, lw=2, label=label)
    low, high = [f.balanced.low for f in points], [f.balanced.high for f in points]
    ax.vlines(x, low, high, color=colour, lw=1, alpha=0.5)


def _agreement_axis(ax: Axes, queries: Sequence[int]) -> None:
    sizes = sorted(set(queries))
    ax.set_xscale("log")
    ax.set_xlabel(gettext("queries"))
    ax.set_xticks(sizes, [words.number(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_ylim(0.45, 1.02)
    ax.yaxis.set_major_formatter(lambda v, _: words.percent(v) if v <= 1 else "")
    ax.grid(axis="y", color=LIGHT, lw=0.6)
    plain_axes(ax)


__all__ = ["best_copies", "figure_copies", "figure_defences", "figure_shares"]
