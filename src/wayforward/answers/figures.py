"""Figures that do not rest on colour: one person's options, a population, and coverage against cost.

Every figure is a matplotlib `Figure`: save it as PNG, SVG or PDF. Each change has a marker, a sign and words
besides its colour; the colours are told apart with every common kind of colour vision and hold 3:1 on white,
text 4.5:1. `svg` turns one into inline SVG with a title and a description.

Colours: M. Okabe & K. Ito (2008), "Color Universal Design".
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.answers.figure_style import (
    LINES,
    figure_style,
    new_figure,
    percent_ticks,
    plain_axes,
    wrap_label,
)
from wayforward.answers.tables import features_asked, group_table
from wayforward.answers.text import cost_unit, outcome_label, outcome_text
from wayforward.errors import DataError, require
from wayforward.language import gettext, ngettext, pgettext, visible
from wayforward.palette import BLUE, GREEN, GREY, INK, LIGHT, ORANGE, PURPLE
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayforward.evaluate import Evaluation
    from wayforward.problem import Problem

_OUTCOME_LOOK = {  # colour and hatching
    Outcome.FOUND: (BLUE, ""),
    Outcome.NONE_EXISTS: (ORANGE, "///"),
    Outcome.NOT_FOUND: ("#e69f00", "xxx"),
    Outcome.ACCEPTED: ("#999999", "..."),
    Outcome.NOT_ASKED: ("#cccccc", "|||"),
}
_MOST_FEATURES = 12
_LEGEND = 38  # letters of a legend that fit below one option


@public
def figure_options(
    recourse: Recourse, i: int, problem: Problem | None = None, titles: Sequence[str] | None = None
) -> Figure:
    """Person i's options side by side: where they stand and would stand, for every feature that moves.

    titles: one for each option found; left out, "Option 1" and so on with the number of changes.

    With the `problem` numbers are rounded for people and checked again. A hollow ring is now, a filled
    triangle an act and its direction, a filled square a new category, a filled diamond what follows.
    Raises: DataError if the person has no option; MissingExtra without matplotlib.
    """
    one = recourse[int(i)]
    if problem is not None:
        from wayforward.problem.rounding import rounded

        one = rounded(problem, one.as_of(problem))
    found = np.flatnonzero(one.found[0])
    if not len(found):
        raise DataError(f"Person {i} has no option to draw: {outcome_text(one.outcome[0, 0])}")
    touched = np.flatnonzero(one.changed[0, found].any(0) | (~np.isnan(one.action[0, found])).any(0))
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(2.0 + 3.4 * len(found), 1.25 + 0.66 * len(touched))
        axes = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for place, (ax, o) in enumerate(zip(axes, found, strict=True)):
            changes = int(one.changed[0, o].sum())
            title = ngettext(
                "Option {place}: {n} change", "Option {place}: {n} changes", changes, place=place + 1
            )
            ax.set_title(title if titles is None else titles[place], loc="left", weight="bold")
            ax.set_xlim(-0.06, 1.06)
            ax.set_ylim(len(touched) - 0.4, -0.65)
            ax.set_xticks([])
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0)
            for row, j in enumerate(touched):
                _one_change(ax, row, one, int(o), int(j))
        axes[0].set_yticks(
            range(len(touched)), [wrap_label(one.schema.features[j].text_label, 22) for j in touched]
        )
        handles = [
            Line2D([], [], marker=m, mfc=f, mec=c, ls="", label=t, ms=7)
            for m, f, c, t in (
                ("o", "white", GREY, pgettext("mark", "now")),
                ("^", BLUE, BLUE, pgettext("mark", "raise")),
                ("v", ORANGE, ORANGE, pgettext("mark", "lower")),
                ("s", GREEN, GREEN, pgettext("mark", "change")),
                ("D", PURPLE, PURPLE, pgettext("mark", "follows by itself")),
            )
        ]
        wide = sum(len(str(one.get_label())) for one in handles) > _LEGEND * len(found)
        figure.legend(
            handles=handles,
            loc="outside lower left",
            ncols=3 if wide else 5,
            frameon=False,
            handletextpad=0.2,
        )
    return figure


@public
def figure_population(recourse: Recourse, evaluation: Evaluation | None = None, groups: Any = None) -> Figure:
    """How everybody fared: outcomes, what plans cost, which features they ask for, and by group.

    With an `evaluation` outcomes are those worked out again, and groups come with 95 % intervals.
    """
    outcome = recourse.outcome[:, 0] if evaluation is None else evaluation.outcome
    by_group = []
    if evaluation is not None and (groups is not None or evaluation.groups is not None):
        by_group = group_table(evaluation, groups)
    requested = features_asked(recourse)[:_MOST_FEATURES]
    with figure_style():
        rows = 3 if by_group else 2
        heights = [1.7, max(1.6, 0.3 * len(requested) + 0.6)] + (
            [0.55 * len(by_group) + 0.9] if by_group else []
        )
        figure = new_figure(9.5, sum(heights) + 0.6 * rows)
        grid = figure.add_gridspec(rows, 2, height_ratios=heights)
        _outcomes(figure.add_subplot(grid[0, 0]), outcome)
        _cost_histogram(figure.add_subplot(grid[0, 1]), recourse, evaluation)
        _requests(figure.add_subplot(grid[1, :]), requested, int(recourse.found[:, 0].sum()))
        if by_group:
            _group_share(figure.add_subplot(grid[2, 0]), by_group)
            _group_cost(figure.add_subplot(grid[2, 1]), by_group)
    return figure


@public
def figure_coverage(
    evaluations: Evaluation | Mapping[str, Evaluation], metric: str = "cost_l1_range"
) -> Figure:
    """Share of people who asked that have a usable plan within a given cost, one line a method.

    A line that is higher and further left serves more people for less: the upper left edge of all lines
    is the Pareto front of cost and coverage. Lines end at `usable`; failures stay in the denominator.
    """
    several = (
        evaluations
        if isinstance(evaluations, Mapping)
        else {evaluations.method or gettext("plans"): evaluations}
    )
    names = {
        "cost_l1_range": gettext("cost: sum of changes, as shares of their ranges"),
        "cost_l0": gettext("cost: number of changes"),
    }
    with figure_style():
        figure = new_figure(7, 3.8)
        ax = figure.add_subplot()
        most = 0.0
        for place, (name, got) in enumerate(several.items()):
            cost, share = got.coverage_curve(metric)
            line, marker, colour = LINES[place % len(LINES)]
            most = max(most, float(cost[-1]) if len(cost) else 0.0)
            x, y = np.r_[0.0, cost], np.r_[0.0, share]
            every = max(1, len(x) // 8)
            have = words.percent(float(y[-1]))
            label = gettext("{name}: {share} of people have one", name=name, share=have)
            ax.step(
                x, y, where="post", ls=line, marker=marker, markevery=every, color=colour, lw=2, label=label
            )
        ax.set_xlim(0, most * 1.02 or 1.0)
        ax.set_ylim(0, 1.04)
        percent_ticks(ax.yaxis, share=True)
        if metric == "cost_l1_range":
            percent_ticks(ax.xaxis)
        ax.set_xlabel(names.get(metric, metric))
        ax.set_ylabel(gettext("people with a usable plan"))
        ax.legend(frameon=False, loc="lower right")
        plain_axes(ax)
        ax.grid(axis="y", color=LIGHT, lw=0.6)
    return figure


def svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Inline SVG with <title> and <desc>: real text, no script, no link, ids that start with `name`.

    The same figure always gives the same text.
    """
    matplotlib = require("matplotlib", extra="plots")
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    head = re.search(r'viewBox="([^"]*)"', text)
    box = head.group(1) if head else "0 0 100 100"
    width = round(float(box.split()[2]) * 4 / 3)  # a point is 4/3 CSS pixels: no larger than drawn
    start = (
        f'<svg viewBox="{box}" style="max-width: {width}px; --drawn: {width}px" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    )
    return visible(start + text[text.index(">") + 1 :].strip())  # names in it are somebody's


def _one_change(ax: Axes, row: int, one: Recourse, option: int, j: int) -> None:
    feature = one.schema.features[j]
    before, after = float(one.x[0, j]), float(one.after[0, option, j])
    acted, changed = not np.isnan(one.action[0, option, j]), bool(one.changed[0, option, j])
    at = [_place(one, j, v) for v in (before, after)]
    ax.plot([0, 1], [row, row], color=LIGHT, lw=4, solid_capstyle="round", zorder=1)
    direction = words.sign(feature, before, after)
    if changed:
        marker, colour = {"up": ("^", BLUE), "down": ("v", ORANGE)}.get(direction, ("s", GREEN))
        if not acted:
            marker, colour = "D", PURPLE
        ax.plot(at, [row, row], color=colour, lw=2, zorder=2)
        ax.plot(at[1], row, marker=marker, color=colour, ms=9, zorder=4)
    ax.plot(at[0], row, marker="o", mfc="white", mec=GREY, mew=1.5, ms=8, zorder=3)
    was, now = words.before_after(feature, before, after, exact=acted)
    if not changed:
        now = words.own_text(feature, before)
        text = gettext("{value}, kept", value=now) if acted else gettext("{value}, same", value=now)
    else:
        text = f"{wrap_label(was, 18, 1)} \u2192 {wrap_label(now, 18, 1)}"
    ax.text(
        0,
        row - 0.22,
        text,
        va="bottom",
        ha="left",
        fontsize=9.5,
        weight="bold" if changed else "normal",
        color=INK if changed else GREY,
    )


def _place(one: Recourse, j: int, value: float) -> float:
    """Where a value sits on its track, 0 to 1; missing values at the left end."""
    schema = one.schema
    if np.isnan(value):
        return 0.0
    low = float(schema.low[j]) if np.isfinite(schema.low[j]) else min(0.0, value, float(one.x[0, j]))
    span = max(schema.features[j].n_levels - 1, 1) if schema.has_levels[j] else float(schema.span[j])
    return float(np.clip((value - low) / span, 0, 1))


def _outcomes(ax: Axes, outcome: Any) -> None:
    total = max(1, len(outcome))
    rows = [(o, int((outcome == o).sum())) for o in Outcome]
    rows = [(o, count) for o, count in rows if count or o is not Outcome.NOT_ASKED]
    for y, (o, count) in enumerate(rows):
        colour, hatch = _OUTCOME_LOOK[o]
        ax.barh(y, count, color=colour, hatch=hatch, edgecolor="white", height=0.62)
        ax.text(
            count + total * 0.015, y, f"{words.number(count)} ({words.percent(count / total)})", va="center"
        )
    ax.set_yticks(range(len(rows)), [outcome_label(o) for o, _ in rows])
    ax.set_xlim(0, total * 1.28)
    ax.set_ylim(max(len(rows), 2) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_title(gettext("How people fared"), loc="left", weight="bold")
    plain_axes(ax)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _cost_histogram(ax: Axes, recourse: Recourse, evaluation: Evaluation | None) -> None:
    if evaluation is None:
        cost = recourse.cost[recourse.found[:, 0], 0]
    else:
        cost = evaluation.people["cost"][evaluation.refused]
    cost, unit = cost[np.isfinite(cost)], cost_unit(recourse)
    ax.set_title(gettext("What the cheapest plan costs"), loc="left", weight="bold")
    plain_axes(ax)
    if not len(cost):
        ax.set_xticks([])
        ax.set_yticks([])
        ax.text(0.0, 0.5, gettext("nobody has a plan"), transform=ax.transAxes, va="center")
        return
    bins = int(np.clip(np.sqrt(len(cost)), 5, 24))
    ax.hist(cost, bins=bins, range=(0, float(cost.max()) or 1.0), color=BLUE, edgecolor="white", lw=0.8)
    middle = float(np.median(cost))
    ax.axvline(middle, color=INK, ls="--", lw=1.5)
    ax.margins(y=0.35)
    top = ax.get_ylim()[1]
    half = gettext("half pay {cost} or less", cost=words.cost_number(middle, unit))
    right = middle < 0.6 * float(cost.max())
    ax.text(
        middle,
        top * 0.97,
        f" {half} ",
        va="top",
        ha="left" if right else "right",
    )
    if unit == words.RANGES:
        percent_ticks(ax.xaxis)
        ax.set_xlabel(gettext("cost of the cheapest plan, in per cent of a range"))
    else:
        ax.set_xlabel(gettext("cost of the cheapest plan"))
    ax.set_ylabel(pgettext("axis", "people"))
    ax.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def _requests(ax: Axes, requested: list[dict[str, Any]], total: int) -> None:
    ax.set_title(gettext("What the cheapest plans ask for"), loc="left", weight="bold")
    for y, row in enumerate(requested):
        ax.barh(y, row["share"], color=BLUE, height=0.62)
        requests = words.number(row["asked"])
        parts = [ngettext("{some} of {n} plan", "{some} of {n} plans", total, some=requests)]
        if row["up"] and row["down"]:
            parts.append(gettext("\u25b2 {up} up, \u25bc {down} down", up=row["up"], down=row["down"]))
        elif row["up"] or row["down"]:
            parts.append(gettext("\u25b2 up") if row["up"] else gettext("\u25bc down"))
        ax.text(row["share"] + 0.008, y, "  ".join(parts), va="center", fontsize=9)
    ax.set_yticks(range(len(requested)), [wrap_label(row["feature"], 34, 1) for row in requested])
    ax.set_ylim(max(len(requested), 1) - 0.4, -0.6)
    ax.set_xlim(0, max([row["share"] for row in requested], default=1.0) * 1.3)
    percent_ticks(ax.xaxis, share=True)
    ax.tick_params(axis="y", length=0)
    plain_axes(ax)


def _group_share(ax: Axes, rows: list[dict[str, Any]]) -> None:
    ax.set_title(gettext("Have a usable plan, by group"), loc="left", weight="bold")
    for y, row in enumerate(rows):
        if not np.isfinite(row["usable"]):
            continue
        ax.plot([row["low"], row["high"]], [y, y], color=GREY, lw=2)
        ax.plot(row["usable"], y, marker="o", color=BLUE, ms=8)
        ax.text(row["usable"], y - 0.18, words.percent(row["usable"]), ha="center", va="bottom", fontsize=9)
    _group_axis(ax, rows)
    ax.set_xlim(-0.03, 1.08)
    percent_ticks(ax.xaxis, share=True)


def _group_cost(ax: Axes, rows: list[dict[str, Any]]) -> None:
    ax.set_title(gettext("Average cost of a plan, by group"), loc="left", weight="bold")
    for y, row in enumerate(rows):
        if not np.isfinite(row.get("cost", np.nan)):
            continue
        ax.plot([row["cost low"], row["cost high"]], [y, y], color=GREY, lw=2)
        ax.plot(row["cost"], y, marker="s", color=ORANGE, ms=8)
        ax.text(row["cost"], y - 0.18, words.cost_number(row["cost"]), ha="center", va="bottom", fontsize=9)
    _group_axis(ax, rows)
    ax.set_yticks(range(len(rows)), [""] * len(rows))
    ax.set_xlim(left=0)
    percent_ticks(ax.xaxis)
    ax.set_xlabel(gettext("sum of changes, as shares of their ranges (bar: 95 % interval)"))


def _group_axis(ax: Axes, rows: list[dict[str, Any]]) -> None:
    ax.set_yticks(
        range(len(rows)), [f"{wrap_label(row['group'], 24)} ({words.number(row['asked'])})" for row in rows]
    )
    ax.set_ylim(len(rows) - 0.5, -0.75)
    ax.tick_params(axis="y", length=0)
    plain_axes(ax)
