"""Figures of an audit: outcomes and costs by group, who is served within a budget, what plans ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from wayforward.impact.audit.wording import COSTS, SHARES, cost_axis, cost_telling, unit_of
from wayforward.language import N_, gettext
from wayforward.palette import BLUE, GREY, INK, LIGHT, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wayforward.evaluate.stats import Estimate
    from wayforward.impact.audit.figures import GroupFigures
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.audit.wording import Telling
    from wayforward.impact.summaries import Summary

_ENDS = (
    ("found", N_("have a usable plan"), BLUE, ""),
    ("proved", N_("no allowed change helps (proved)"), ORANGE, "///"),
    ("open", N_("no plan found"), "#e69f00", "xxx"),
)
_MOST_GROUPS = 16
_MOST_FEATURES = 12


def shown(one: AttributeAudit) -> list[GroupFigures]:
    """Return the groups that figures show: those with anybody answered, the largest where there are many."""
    return _largest([g for g in one.groups if g.answered and not g.withheld], _MOST_GROUPS)


def figure_outcomes(audit: Audit, one: AttributeAudit) -> Figure:
    """Draw for each group the share refused, how the answered fared, and the mean cost of a plan with its interval."""
    groups = shown(one)
    with figure_style():
        figure = new_figure(10, 1.5 + 0.5 * len(groups))
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.5, 1))
        _dots(left, [g.figures["refused"] for g in groups], "o", ORANGE, SHARES)
        left.set_title(gettext("Refused by the model"), loc="left", weight="bold")
        left.set_yticks(range(len(groups)), [wrap_label(g.name, 22) for g in groups])
        for y, group in enumerate(groups):
            start = 0.0
            for name, _, colour, hatch in _ENDS:
                share = getattr(group, name) / group.answered
                middle.barh(y, share, left=start, color=colour, hatch=hatch, edgecolor="white", height=0.6)
                if share > 0.12:
                    middle.text(
                        start + share / 2, y, words.percent(share), ha="center", va="center", fontsize=9,
                        color="white" if name == "found" else INK,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1} if name != "found" else None,
                    )  # fmt: skip
                start += share
        middle.set_title(gettext("Of those answered"), loc="left", weight="bold")
        middle.set_yticks(range(len(groups)), [f"{words.number(g.answered)}" for g in groups])
        middle.set_xlim(0, 1)
        percent_ticks(middle.xaxis)
        middle.tick_params(axis="y", length=0)
        plain_axes(middle)
        _dots(right, [g.figures.get("cost") for g in groups], "s", BLUE, cost_telling(unit_of(audit)))
        right.set_title(gettext("Mean cost of a plan"), loc="left", weight="bold")
        right.set_yticks(range(len(groups)), [""] * len(groups))
        for ax in (left, middle, right):
            ax.set_ylim(len(groups) - 0.4, -0.7)
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=c, hatch=h, edgecolor="white", label=gettext(t)) for _, t, c, h in _ENDS]
        figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False)
    return figure


def figure_budget(audit: Audit, one: AttributeAudit) -> Figure:
    """Draw the share of each group's answered people whom a common cost budget serves, one line a group."""
    groups = _few(one)
    with figure_style():
        figure = new_figure(7.5, 3.8)
        ax = figure.add_subplot()
        for place, group in enumerate(groups):
            line, marker, colour = LINES[place]
            if not group.curve:
                continue  # so few plans that their costs are withheld
            ax.plot(
                audit.grid, group.curve, ls=line, marker=marker, markevery=(place * 2, 10), color=colour, lw=2,
                label=f"{wrap_label(group.name, 30, 1)} ({words.number(group.answered)})",
            )  # fmt: skip
        for budget in audit.budgets[:-1]:
            ax.axvline(budget, color=LIGHT, lw=1, zorder=0)
        ax.set_xlabel(cost_axis(gettext("budget: what a plan may cost at most"), unit_of(audit)))
        _share_axis(
            ax, audit.grid[-1] if audit.grid else 1, gettext("of those answered, served"), unit_of(audit)
        )
    return figure


def figure_changed_features(audit: Audit, one: AttributeAudit) -> Figure:
    """Draw for each feature the share of each group's plans that act on it."""
    groups = [g for g in _few(one) if np.isfinite(g.acted_on).all()]
    shares = np.array([g.acted_on for g in groups])
    ranked = np.argsort(-shares.max(0), kind="stable")
    order = [int(j) for j in ranked if shares[:, j].max() > 0][:_MOST_FEATURES]
    with figure_style():
        figure = new_figure(8.5, 1.3 + 0.38 * len(order))
        ax = figure.add_subplot()
        for y, j in enumerate(order):
            ax.plot([shares[:, j].min(), shares[:, j].max()], [y, y], color=LIGHT, lw=5, zorder=1)
        for place, group in enumerate(groups):
            _, marker, colour = LINES[place]
            ax.plot(
                [shares[place, j] for j in order], range(len(order)), ls="", marker=marker, mfc="white", mec=colour,
                mew=1.8, ms=8, label=f"{wrap_label(group.name, 30, 1)} ({words.number(group.found)})",
            )  # fmt: skip
        labels = [wrap_label(audit.schema.features[j].text_label, 40, 1) for j in order]
        ax.set_yticks(range(len(order)), labels)
        ax.set_ylim(max(len(order), 1) - 0.4, -0.6)
        ax.set_xlim(-0.02, 1.02)
        percent_ticks(ax.xaxis, share=True)
        ax.set_xlabel(gettext("share of the group's plans that ask to change this"))
        ax.tick_params(axis="y", length=0)
        plain_axes(ax)
        figure.legend(loc="outside lower left", ncols=3, frameon=False)
    return figure


def figure_summaries(summaries: Sequence[Summary], names: Sequence[str], most: float) -> Figure:
    """Draw the share served against cost up to `most`: a line for each way of making rules, a grey one: own plans."""
    with figure_style():
        figure = new_figure(7.5, 3.8)
        ax = figure.add_subplot()
        own = next((s.curve for s in summaries if s.curve.own), None)
        if own is not None:
            ax.plot(own.cost, own.own, color=GREY, lw=3, alpha=0.6, label=gettext("plans of their own"))
        for place, (one, name) in enumerate(zip(summaries, names, strict=True)):
            line, marker, colour = LINES[place % len(LINES)]
            ax.plot(
                one.curve.cost, one.curve.served, ls=line, marker=marker, markevery=(place * 2, 10), color=colour,
                lw=2, label=wrap_label(name, 40, 1),
            )  # fmt: skip
        ax.set_xlabel(cost_axis(gettext("cost at most"), summaries[0].unit))
        _share_axis(ax, most, gettext("of those told of, served"), summaries[0].unit)
    return figure


def _few(one: AttributeAudit) -> list[GroupFigures]:
    """Return as many groups as there are kinds of lines, the largest; small ones only where none is compared."""
    return _largest([g for g in one.groups if g.compared] or shown(one), len(LINES))


def _largest(groups: list[GroupFigures], most: int) -> list[GroupFigures]:
    """Return the groups with most people answered, in the order they had."""
    largest = sorted(groups, key=lambda g: -g.answered)[:most]
    return [g for g in groups if g in largest]


def _share_axis(ax: Axes, highest: float, what: str, unit: str) -> None:
    """Set up the axes of shares of people, 0 to 1, against a cost up to `highest`."""
    ax.set_xlim(0, highest)
    ax.set_ylim(0, 1.04)
    percent_ticks(ax.yaxis, share=True)
    if cost_telling(unit) is COSTS:
        percent_ticks(ax.xaxis)
    ax.set_ylabel(what)
    ax.legend(frameon=False, loc="lower right")
    plain_axes(ax)
    ax.grid(axis="y", color=LIGHT, lw=0.6)


def _dots(ax: Axes, values: Sequence[Estimate | None], marker: str, colour: str, how: Telling) -> None:
    highest = 0.0
    for y, e in enumerate(values):
        if e is None or not np.isfinite(e.value):
            ax.text(0, y, gettext("nobody"), va="center", fontsize=9, color=GREY)
            continue
        ax.plot([e.low, e.high], [y, y], color=GREY, lw=2)
        ax.plot(e.value, y, marker=marker, color=colour, ms=7)
        ax.text(e.value, y - 0.17, how.value(e.value), ha="center", va="bottom", fontsize=9)
        highest = max(highest, e.value if np.isnan(e.high) else e.high)
    ax.set_xlim(0, (highest or 1.0) * 1.12)
    if how in (SHARES, COSTS):
        percent_ticks(ax.xaxis, share=how is SHARES)
    ax.xaxis.get_major_locator().set_params(nbins=4)  # type: ignore[call-arg]
    ax.tick_params(axis="y", length=0)
    plain_axes(ax)


__all__ = ["figure_budget", "figure_changed_features", "figure_outcomes", "figure_summaries", "shown"]
