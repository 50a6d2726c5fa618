"""The figures, drawn so that they can be told apart without colour; thousands of points are one image in the SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.palette import BLUE, BROWN, GREEN, GREY, INK, LIGHT, ORANGE, PURPLE
from wayforward_studies.icarma.fairness import GROUPS, NAMES, SCENARIOS, Fairness
from wayforward_studies.icarma.measures import PerPerson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = {
    "women, non-white": ("o", ORANGE, "full"),
    "women, white": ("o", ORANGE, "none"),
    "men, non-white": ("s", BLUE, "full"),
    "men, white": ("s", BLUE, "none"),
}


@dataclass(frozen=True)
class TradeOffPoint:
    """One method in the plane of validity and plausibility; `curve` joins points of the same name by a line."""

    label: str
    validity: float
    plausibility: float
    paper: bool = False
    curve: str = ""


def densities(panels: Mapping[str, Mapping[str, PerPerson]], least: float = -60.0) -> Figure:
    """Figure 3: log-density after against before, a panel for each number of features, a row for each method.

    Points below `least` are drawn on the edge; the share of people above the diagonal is said in words.
    """
    with figure_style():
        methods = list(next(iter(panels.values())))
        figure = new_figure(2.7 * len(panels) + 0.6, 2.7 * len(methods) + 0.4)
        grid = figure.subplots(len(methods), len(panels), sharex=True, sharey=True, squeeze=False)
        for row, method in zip(grid, methods, strict=True):
            for ax, (title, found) in zip(row, panels.items(), strict=True):
                _cloud(ax, found[method], least)
                ax.set_title(f"{title}\n{method}", fontsize=9.5)
            row[0].set_ylabel("log-density after")
        for ax in grid[-1]:
            ax.set_xlabel("log-density before")
    return figure


def _cloud(ax: Axes, one: PerPerson, least: float) -> None:
    some = one.proposed & ~np.isnan(one.after)
    before, after = one.before[some], np.maximum(one.after[some], least)
    low = max(least, float(min(before.min(), after.min()))) if some.any() else least
    high = float(max(before.max(), after.max())) if some.any() else 0.0
    ax.plot([low, high], [low, high], color=INK, lw=1)
    ax.scatter(before, after, s=4, c=BLUE, alpha=0.25, lw=0, rasterized=True)
    share = float(one.plausible[some].mean()) if some.any() else float("nan")
    ax.text(
        0.03, 0.97, f"{share:.0%} at least as likely\n{int(some.sum()):,} proposals",
        transform=ax.transAxes, va="top", fontsize=8.5,
    )  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)


def fairness(fair: Fairness) -> Figure:
    """Figure 4: mean cost and mean log-density by gender and race in every scenario, with 95 % intervals."""
    with figure_style():
        figure = new_figure(10.5, 5.6)
        grid = figure.subplots(2, len(SCENARIOS), sharey="row")
        for row, (measure, label) in enumerate(
            (("cost", "cost (unweighted)"), ("density", "log-density after"))
        ):
            for ax, scenario in zip(grid[row], SCENARIOS, strict=True):
                for place, group in enumerate(GROUPS):
                    one, (mark, colour, fill) = fair.mean(measure, scenario, group), _MARKS[group]
                    ax.plot([place, place], [one.low, one.high], color=colour, lw=1.5)
                    look: Any = {"marker": mark, "color": colour, "fillstyle": fill, "mfcalt": "white"}
                    ax.plot(place, one.value, ms=7, ls="", **look)
                ax.set_xticks([])
                ax.set_xlim(-0.6, len(GROUPS) - 0.4)
                ax.spines[["top", "right", "bottom"]].set_visible(False)
                ax.grid(axis="y", color=LIGHT, lw=0.8)
                ax.set_axisbelow(True)
                if row == 0:
                    ax.set_title(NAMES[scenario], fontsize=9.5)
            grid[row][0].set_ylabel(label)
        handles = [_handle(mark, colour, group, fill) for group, (mark, colour, fill) in _MARKS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _handle(mark: str, colour: str, label: str, fill: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=mark, color=colour, ls="", fillstyle=fill, ms=7, label=label)


def spread(values: Mapping[str, np.ndarray], label: str = "log-density") -> Figure:
    """Figure 8: the distribution of log-densities, one violin-like outline a setting with its quartiles."""
    with figure_style():
        figure = new_figure(8.0, 0.75 * len(values) + 1.0)
        ax = figure.subplots()
        names = list(values)
        least = min(float(np.nanquantile(v, 0.005)) for v in values.values())
        most = max(float(np.nanquantile(v, 0.999)) for v in values.values())
        edges = np.linspace(least, most, 81)
        for place, name in enumerate(names):
            shown = values[name][np.isfinite(values[name])].clip(least, most)
            height = np.histogram(shown, edges)[0] / max(1, shown.size)
            height = np.convolve(height, [0.25, 0.5, 0.25], "same")
            height = 0.42 * height / max(height.max(), 1e-12)
            middle = (edges[1:] + edges[:-1]) / 2
            ax.fill_between(middle, place - height, place + height, color=LIGHT, lw=0)
            quartile = np.quantile(shown, (0.25, 0.5, 0.75)) if shown.size else np.full(3, np.nan)
            ax.plot(quartile[[0, 2]], [place, place], color=BLUE, lw=3)
            ax.plot(quartile[1], place, marker="o", color=INK, ms=6)
            ax.text(quartile[1], place - 0.16, f"{quartile[1]:.1f}", ha="center", va="bottom", fontsize=8.5)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.45, -0.65)
        ax.set_xlabel(f"{label} (dot: median, bar: middle half)")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    return figure


def trade_off(panels: Mapping[str, Sequence[TradeOffPoint]]) -> Figure:
    """Validity against plausibility: the paper's points hollow, ours filled, the price of our hybrid as a curve."""
    looks = {"oracle": ("D", ORANGE), "iCARMA": ("s", PURPLE), "ours: hard limit": ("^", GREEN),
             "ours: price": ("o", BLUE), "ours": ("o", BLUE)}  # fmt: skip
    with figure_style():
        figure = new_figure(2.9 * len(panels) + 0.4, 3.5)
        grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        seen: dict[str, Any] = {}
        for ax, (title, points) in zip(grid, panels.items(), strict=True):
            for curve in sorted({p.curve for p in points if p.curve}):
                line = sorted((p for p in points if p.curve == curve), key=lambda p: p.validity)
                ax.plot(
                    [p.validity for p in line], [p.plausibility for p in line], color=BLUE, lw=1, zorder=1
                )
            for p in points:
                mark, colour = looks.get(p.label, ("v", BROWN))
                fill: Any = "none" if p.paper else "full"
                size = 5 if p.curve else 8
                ax.plot(p.validity, p.plausibility, marker=mark, color=colour, fillstyle=fill, ms=size, ls="")
                name = f"{p.label} (paper)" if p.paper else p.label
                seen.setdefault(name, _handle(mark, colour, name, "none" if p.paper else "full"))
            ax.set_title(title, fontsize=9.5)
            ax.set_xlabel("validity")
            ax.set_xlim(0.0, 1.05)
            ax.set_ylim(0.0, 1.06)
            ax.grid(color=LIGHT, lw=0.8)
            ax.set_axisbelow(True)
            ax.spines[["top", "right"]].set_visible(False)
            ax.spines[["left", "bottom"]].set_color(GREY)
        grid[0].set_ylabel("plausibility of proposals")
        figure.legend(
            handles=list(seen.values()), loc="outside lower center", ncols=6, frameon=False, fontsize=8.5
        )
    return figure
