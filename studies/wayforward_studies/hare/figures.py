"""The figures: ours filled and joined by lines, the paper's hollow and joined by dots; told apart without colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayforward.answers.figure_style import LINES, figure_style, new_figure
from wayforward.palette import INK, LIGHT
from wayforward_studies.hare.tables import NAMES, CaseResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class GtpCurve:
    """One line of a panel: places, values, their spread over seeds, and what the paper states (NaN: nothing)."""

    label: str
    place: Sequence[float]
    value: Sequence[float]
    spread: Sequence[float]
    paper: Sequence[float]


def curves(
    panels: Mapping[str, Sequence[GtpCurve]], label: str, ticks: Mapping[float, str], measure: str = "GTP"
) -> Figure:
    """A panel for each data set: the distance to what people want against `label`."""
    with figure_style():
        figure = new_figure(3.4 * len(panels) + 0.4, 3.6)
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        seen: dict[str, Any] = {}
        for ax, (title, some) in zip(grid, panels.items(), strict=True):
            for look, one in zip(_looks(len(some)), some, strict=True):
                line, mark, colour = look
                ax.plot(one.place, one.paper, marker=mark, color=colour, ls=":", lw=1, fillstyle="none", ms=6)
                drawn = ax.errorbar(
                    one.place, one.value, one.spread, marker=mark, color=colour, ls=line, lw=1.5, ms=6, capsize=2
                )  # fmt: skip
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


def agreement(lines: Sequence[CaseResult]) -> Figure:
    """Measured against published GTP, a mark for each way of asking; on the line they are the same."""
    with figure_style():
        figure = new_figure(5.2, 5.0)
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


CurvesOf = Callable[[CaseResult], Sequence[str]]


def base_of(line: CaseResult) -> Sequence[str]:
    """One curve for each base method."""
    return [NAMES.get(line.case.base, line.case.base)]


def way_of(line: CaseResult) -> Sequence[str]:
    """One curve for each way of asking."""
    return [str(line.way)]


def panels(
    lines: Sequence[CaseResult], place: Mapping[Any, float], of: Callable[[CaseResult], Any], by: CurvesOf
) -> dict[str, list[GtpCurve]]:
    """Curves of lines: a panel for each data set; `of` gives a line's key in `place`, `by` the curves that it is on."""
    out: dict[str, list[GtpCurve]] = {}
    for dataset in dict.fromkeys(line.case.dataset for line in lines):
        here = [line for line in lines if line.case.dataset == dataset]
        for label in dict.fromkeys(name for line in here for name in by(line)):
            some = [line for line in here if label in by(line) and of(line) in place and line.values]
            curve = GtpCurve(
                label,
                [place[of(line)] for line in some],
                [line.gtp for line in some],
                [line.values["gtp"].spread for line in some],
                [line.paper.stated["gtp"].mean if line.paper else float("nan") for line in some],
            )
            out.setdefault(dataset, []).append(curve)
    return out


def _looks(n: int) -> list[tuple[Any, str, str]]:
    return [LINES[i % len(LINES)] for i in range(n)]
