"""Figure 7: does the learned flow look like the data? Each feature of unseen people beside that of draws from the flow.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, appendix C.3.2, whose figure has no numbers; P. Massart
(1990), The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, for the intervals.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.evaluate import stats
from wayforward.palette import INK, LIGHT
from wayforward_studies.pages import Line, Row, Table
from wayforward_studies.verdicts import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 50_000  # from the flow; their share of the error is a third of that of the people or less
CLOSE = (
    0.05  # greatest gap of a distribution function that we call well approximated; the paper gives no number
)
NOT_COMPARED = (
    "No tolerance: the paper prints no numbers of this figure. The finding is *undecided* where the interval of the "
    f"greatest gap holds {CLOSE:g}."
)
_FEW, _BARS = 12, 40  # values of a feature that are drawn as bars of their own; bars at most


def fitted(names: Sequence[str], people: np.ndarray, drawn: np.ndarray) -> list[Row]:
    """A row for each feature of people (n, d) and draws (m, d) of a flow.

    gap: the greatest difference of the two distribution functions (Kolmogorov and Smirnov), with a 95 % interval that
    holds whatever the distributions are. shift: mean of the draws less that of the people, in deviations of the people.
    spread: deviation of the draws for one of the people. rank: the greatest difference of a rank correlation with
    another feature, and that feature.
    """
    error = _error(len(people)) + _error(len(drawn))
    ranks = np.abs(_ranked(drawn) - _ranked(people))
    out: list[Row] = []
    for j, name in enumerate(names):
        ours, theirs = people[:, j], drawn[:, j]
        gap, deviation = greatest_gap(ours, theirs), float(ours.std())
        shift = stats.mean_difference(theirs / deviation, ours / deviation)
        out.append(
            {
                "feature": name,
                "people": len(people),
                "draws": len(drawn),
                "gap": gap,
                "gap_low": max(0.0, gap - error),
                "gap_high": min(1.0, gap + error),
                "shift": shift.value,
                "shift_low": shift.low,
                "shift_high": shift.high,
                "spread": float(theirs.std()) / deviation,
                "rank": float(ranks[j].max()),
                "rank_with": names[int(ranks[j].argmax())],
            }
        )
    return out


def greatest_gap(a: np.ndarray, b: np.ndarray) -> float:
    """The greatest difference of two empirical distribution functions; a (n,), b (m,), ties and all."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(a, b, method="asymp").statistic)


def _error(n: int) -> float:
    """How far a distribution function of n values may be off: one of two samples, 95 % together."""
    return float(np.sqrt(np.log(4 / 0.05) / (2 * n)))


def _ranked(x: np.ndarray) -> np.ndarray:
    """(d, d) Spearman's correlations, 0 on the diagonal."""
    from scipy.stats import rankdata

    out = np.corrcoef(rankdata(x, axis=0), rowvar=False)
    np.fill_diagonal(out, 0.0)
    return np.asarray(out)


def checks(rows: Sequence[Row]) -> tuple[Check, ...]:
    """What the paper concludes: the flow approximates the distribution of every feature well."""
    worst = max(rows, key=lambda row: row["gap"])
    holds = None
    if worst["gap_high"] <= CLOSE:
        holds = True
    elif worst["gap_low"] > CLOSE:
        holds = False
    return (
        Check(
            "the flow looks like the data",
            "The flow approximates the distribution of every feature well (here: no distribution function is off by "
            f"more than {CLOSE:g}).",
            holds,
            f"greatest gap {worst['gap']:.3f} [{worst['gap_low']:.3f}, {worst['gap_high']:.3f}], {worst['feature']}",
        ),
    )


def table(rows: Sequence[Row]) -> Table:
    """The distances, a line for each feature."""
    heads = ("feature", "greatest gap", "shift of the mean", "spread", "rank correlation off by")
    lines = [
        Line(
            (
                row["feature"],
                f"{row['gap']:.3f} [{row['gap_low']:.3f}, {row['gap_high']:.3f}]",
                f"{row['shift']:+.3f} [{row['shift_low']:+.3f}, {row['shift_high']:+.3f}]",
                f"{row['spread']:.3f}",
                f"{row['rank']:.3f} (with {row['rank_with']})",
            )
        )
        for row in rows
    ]
    text = (
        f"{rows[0]['people']:,} people that the flow has not seen, and {rows[0]['draws']:,} draws from it. *Greatest "
        "gap*: of the two distribution functions, 0 for the same and 1 for values that never meet. *Shift*: mean of "
        "the draws less that of the people, in deviations of the people. *Spread*: deviation of the draws divided by "
        "that of the people. Last: the rank correlation with another feature that is off most. Brackets are 95 % "
        "intervals; that of a gap holds for any distribution and is wide for it."
    )
    return Table(heads, tuple(lines), text=text)


def figure(names: Sequence[str], people: np.ndarray, drawn: np.ndarray) -> Figure:
    """A panel for each feature: the people as an area, the draws as a line."""
    across = 4 if len(names) <= 8 else 5
    down = -(-len(names) // across)
    with figure_style():
        drawing = new_figure(2.4 * across, 2.0 * down + 0.5)
        grid = drawing.subplots(down, across, squeeze=False).ravel()
        for ax in grid[len(names) :]:
            ax.set_axis_off()
        for j, (ax, name) in enumerate(zip(grid, names, strict=False)):
            edges = _edges(people[:, j])
            ax.stairs(_shares(people[:, j], edges), edges, fill=True, color=LIGHT, label="people")
            ax.stairs(_shares(drawn[:, j], edges), edges, color=INK, lw=1.3, label="draws from the flow")
            ax.set_title(f"{_short(name)}\ngap {greatest_gap(people[:, j], drawn[:, j]):.3f}", fontsize=9)
            ax.set_yticks([])
            if len(edges) <= _FEW + 1:
                values = np.unique(people[:, j])
                ax.set_xticks(values[(values > edges[0]) & (values < edges[-1])])
            ax.tick_params(labelsize=8)
            ax.spines[["top", "right", "left"]].set_visible(False)
        handles, labels = grid[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return drawing


def _short(name: str) -> str:
    """A name in lines that a panel has room for, broken where its words begin."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return "\n".join(textwrap.wrap(words, 26))


def _edges(x: np.ndarray) -> np.ndarray:
    """A bar for each of a few values, else at most 40 alike, a whole number of whole numbers wide.

    They go from the half to the last half per cent.
    """
    values = np.unique(x)
    low, high = np.quantile(x, (0.005, 0.995))
    if len(values) > 2 and (values == np.rint(values)).all():
        low, width = np.floor(low), np.ceil((high - low + 1) / _BARS)
        return np.arange(low, high + width + 1, width) - 0.5
    if len(values) <= _FEW:
        middle = (values[1:] + values[:-1]) / 2
        half = 0.5 * np.diff(values).min() if len(values) > 1 else 0.5
        return np.array([values[0] - half, *middle, values[-1] + half])
    return np.linspace(low, high if high > low else low + 1, _BARS + 1)


def _shares(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of x in each bar; what lies beyond stands in the first or the last."""
    inside = np.clip(x, edges[0], edges[-1])
    return np.asarray(np.histogram(inside, edges)[0] / len(x))
