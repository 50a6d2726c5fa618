"""The figures: ours filled and joined by lines, the paper's hollow and joined by dots; told apart without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayforward.answers.figures import _LINES, _new, _style
from wayforward.palette import INK, LIGHT
from wayforward_studies.hare.tables import NAMES, Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """One line of a panel: places, values, their spread over seeds, and what the paper states (NaN: nothing)."""

    label: str
    place: Sequence[float]
    value: Sequence[float]
    spread: Sequence[float]
    paper: Sequence[float]


def curves(
    panels: Mapping[str, Sequence[Curve]], label: str, ticks: Mapping[float, str], measure: str = "GTP"
) -> Figure:
    """A panel for each data set: the distance to what people want against `label`."""
    with _style():
        figure = _new(3.4 * len(panels) + 0.4, 3.6)
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        seen: dict[str, Any] = {}
        for ax, (title, some) in zip(grid, panels.items(), strict=True):
            for look, one in zip(_looks(len(some)), some, strict=True):
                line, mark, colour = look
                ax.plot(one.place, one.paper, marker=mark, color=colour, ls=":", lw=1, fillstyle="none", ms=6)
                drawn = ax.errorbar(
                    one.place,
                    one.value,
                    one.spread,
                    marker=mark,
                    color=colour,
                    ls=line,
                    lw=1.5,
                    ms=6,
                    capsize=2,
                )
                seen.setdefault(one.label, drawn)
            ax.set_title(title, fontsize=9.5)
            ax.set_xlabel(label)
            ax.set_xticks(list(ticks), list(ticks.values()))
            most = max(v for one in some for part in (one.value, one.paper) for v in part if v == v)
            ax.set_ylim(0, 1.06 * most)
            ax.grid(axis="y", color=LIGHT, lw=0.8)
            ax.set_axisbelow(True)
            ax.spines[["top", "right"]].set_visible(False)
        grid[0].set_ylabel(f"{measure} (paper: hollow, dotted)")
        figure.legend(list(seen.values()), list(seen), loc="outside lower center", ncols=5, frameon=False)
    return figure


def agreement(lines: Sequence[Line]) -> Figure:
    """Measured against published GTP, a mark for each way of asking; on the line they are the same."""
    with _style():
        figure = _new(5.2, 5.0)
        ax = figure.subplots()
        known = [line for line in lines if line.paper is not None and line.values]
        ways = list(dict.fromkeys(line.way for line in known))
        most = 0.0
        for look, way in zip(_looks(len(ways)), ways, strict=True):
            some = [line for line in known if line.way == way]
            paper = [line.paper.stated["gtp"].mean for line in some if line.paper is not None]
            ours = [line.gtp for line in some]
            ax.plot(paper, ours, marker=look[1], color=look[2], ls="", ms=6, label=str(way))
            most = max([most, *paper, *ours])
        ax.plot([0, most], [0, most], color=INK, lw=1)
        ax.set_xlabel("GTP in the paper")
        ax.set_ylabel("GTP measured")
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def by_place(lines: Sequence[Line], place: Mapping[Any, float], of: Any) -> dict[str, list[Curve]]:
    """Curves of lines: a panel for each data set, a curve for each base method; `of` gives a line's key in `place`."""
    panels: dict[str, list[Curve]] = {}
    for dataset in dict.fromkeys(line.case.dataset for line in lines):
        for base in dict.fromkeys(line.case.base for line in lines if line.case.dataset == dataset):
            some = [
                line
                for line in lines
                if (line.case.dataset, line.case.base) == (dataset, base)
                and of(line) in place
                and line.values
            ]
            panels.setdefault(dataset, []).append(
                Curve(
                    NAMES.get(base, base),
                    [place[of(line)] for line in some],
                    [line.gtp for line in some],
                    [line.values["gtp"].spread for line in some],
                    [line.paper.stated["gtp"].mean if line.paper else float("nan") for line in some],
                )
            )
    return panels


def by_way(lines: Sequence[Line], place: Mapping[Any, float], of: Any) -> dict[str, list[Curve]]:
    """As `by_place`, but a curve for each way of asking."""
    panels: dict[str, list[Curve]] = {}
    for dataset in dict.fromkeys(line.case.dataset for line in lines):
        for way in dict.fromkeys(line.way for line in lines if line.case.dataset == dataset):
            some = [line for line in lines if (line.case.dataset, line.way) == (dataset, way) and line.values]
            some = [line for line in some if of(line) in place]
            panels.setdefault(dataset, []).append(
                Curve(
                    str(way),
                    [place[of(line)] for line in some],
                    [line.gtp for line in some],
                    [line.values["gtp"].spread for line in some],
                    [line.paper.stated["gtp"].mean if line.paper else float("nan") for line in some],
                )
            )
    return panels


def _looks(n: int) -> list[tuple[Any, str, str]]:
    return [_LINES[i % len(_LINES)] for i in range(n)]
