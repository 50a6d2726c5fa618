"""The paper's Figures 1 and 3 from simulated studies, drawn from the rows of their pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.palette import BLUE, GREY
from wayforward_studies.pages import Row, number, save
from wayforward_studies.study.published import DISTANCES, OUTCOMES, QUOTED_SPAN


def distances(rows: Sequence[Row], folder: Path, name: str) -> tuple[str, ...]:
    """How far the plans are that participants are shown: a mean study, and its spread."""
    with figure_style():
        figure = new_figure(8.4, 3.0)
        for ax, x in zip(figure.subplots(1, 2), DISTANCES, strict=True):
            bars = [row for row in rows if row["quantity"] == x]
            middle = [(row["from"] + row["to"]) / 2 for row in bars]
            wide = bars[0]["to"] - bars[0]["from"]
            error = {"yerr": _of(bars, "sd"), "error_kw": {"elinewidth": 0.8, "ecolor": "black"}}
            ax.bar(middle, _of(bars, "plans"), 0.85 * wide, color=BLUE, **error)
            for end in QUOTED_SPAN[x]:
                ax.axvline(end, color=GREY, lw=1, ls="--")
            ax.set_xlabel(x)
            ax.set_ylabel("plans of a study")
            ax.spines[["top", "right"]].set_visible(False)
        return save(figure, folder, name)


def curves(rows: Sequence[Row], folder: Path, name: str) -> tuple[str, ...]:
    """A panel for each model: the mean curve, the 95 % band that one study shows, and where 95 % of studies lie."""
    with figure_style():
        figure = new_figure(8.4, 5.6)
        axes = figure.subplots(2, 2)
        for i, outcome in enumerate(OUTCOMES):
            for ax, x in zip(axes[i], DISTANCES, strict=True):
                line = [row for row in rows if (row["outcome"], row["quantity"]) == (outcome, x)]
                at = [row["x"] for row in line]
                ax.fill_between(at, _of(line, "least"), _of(line, "most"), color=GREY, alpha=0.3, lw=0,
                                label="95 % of the studies")  # fmt: skip
                ax.fill_between(at, _of(line, "low"), _of(line, "high"), color=BLUE, alpha=0.25, lw=0,
                                label="95 % band within a study")  # fmt: skip
                ax.plot(at, _of(line, "mean"), color=BLUE, label="mean curve")
                ax.set_ylim(1, 5)
                ax.set_xlabel(x)
                ax.set_ylabel(outcome)
                ax.spines[["top", "right"]].set_visible(False)
        axes[0, 0].legend(fontsize=7, loc="lower left")
        return save(figure, folder, name)


def _of(line: Sequence[Row], key: str) -> list[float]:
    return [number(row[key]) for row in line]


DRAWN: dict[str, Callable[[Sequence[Row], Path, str], tuple[str, ...]]] = {
    "figure-1": distances,
    "figure-3": curves,
}
