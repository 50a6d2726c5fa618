"""What figures share: the look, an empty figure, bare axes, labels that fit, lines told apart without colour."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wayforward.answers import words
from wayforward.errors import require
from wayforward.language import visible
from wayforward.palette import BLUE, BROWN, GREEN, GREY, INK, ORANGE, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

#: Line style, marker and colour of each of several lines.
LINES = (("-", "o", BLUE), ("--", "s", ORANGE), ("-.", "^", GREEN), (":", "D", PURPLE), ("-", "v", BROWN))


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw with our look inside a `with` block; the caller's settings of matplotlib come back afterwards."""
    matplotlib = require("matplotlib", extra="plots")
    look = {
        "font.size": 10,
        "font.family": "sans-serif",
        "axes.titlesize": 10.5,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "hatch.linewidth": 0.8,
        # A feature that is called "$x" is a name and not a formula.
        "text.parse_math": False,
        "axes.unicode_minus": True,
    }

    with matplotlib.rc_context(look):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, width and height in inches, outside pyplot's global list of figures."""
    require("matplotlib", extra="plots")
    from wayforward.answers.fitted_figure import FittedFigure

    return FittedFigure(figsize=(width, height), layout="constrained")


def plain_axes(ax: Axes) -> None:
    """Take away all but the bottom line."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(GREY)


def percent_ticks(axis: Axis, share: bool = False) -> None:
    """Tell the ticks of an axis in per cent, each as exactly as it stands there; share: none beyond 0 and 100."""
    axis.set_major_formatter(
        lambda v, _: (
            "" if share and not -1e-9 <= v <= 1 + 1e-9 else words.percent(v, words.decimals_of(100 * v, 3))
        )
    )


def wrap_label(text: str, width: int, lines: int = 2) -> str:
    """Break text into at most `lines` lines of about `width` characters; longer text ends in an ellipsis."""
    out: list[str] = []
    for word in " ".join(visible(text).split()).split(" "):
        if out and len(out[-1]) + 1 + len(word) <= width:
            out[-1] += " " + word
        else:
            out.append(word)
    if len(out) > lines:
        rest = " ".join(out[lines - 1 :])
        out = [*out[: lines - 1], rest]
    return "\n".join(
        line if len(line) <= width + 6 else line[: width + 5].rstrip() + "\u2026" for line in out
    )
