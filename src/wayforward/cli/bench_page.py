"""The page of `bench`: a leaderboard, and for each table and model usable answers, cost and time with a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render(rows: list[dict[str, Any]], *, n: int, k: int, seed: int) -> str:
    """Return one HTML page that stands alone. Raises: MissingExtra without matplotlib."""
    from markupsafe import Markup

    from wayforward.answers import figures
    from wayforward.answers.page import template_engine

    cells, names = [], list(dict.fromkeys(r["method"] for r in rows))
    for place, (data, model) in enumerate(dict.fromkeys((r["data"], r["model"]) for r in rows)):
        mine = sorted(
            (r for r in rows if (r["data"], r["model"]) == (data, model)),
            key=lambda r: (-(r["usable"] or 0.0), r["cost_l1_range"] or np.inf),
        )
        drawn = figures.svg(
            _figure(mine, names), f"bench-{place}", f"Usable answers against their cost, {data}, {model}",
            "A mark a method with its 95 % intervals. The table holds the same numbers.",
        )  # fmt: skip
        cells.append({"name": f"{data}, {model}", "figure": Markup(drawn), "rows": [_row(r) for r in mine]})
    text: str = template_engine().get_template("bench.html.j2").render(
        title="Methods side by side", n=n, k=k, seed=seed, leaderboard=leaderboard(rows), cells=cells
    )  # fmt: skip
    return text


def leaderboard(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """One row a method over all tables and models, best first: most usable answers, then least cost.

    Cost is a multiple of the least mean cost of any method on the same table and model.
    """
    least: dict[tuple[str, str], float] = {}
    for r in rows:
        if r["cost_l1_range"]:
            cell = (r["data"], r["model"])
            least[cell] = min(least.get(cell, np.inf), r["cost_l1_range"])
    out = []
    for name in dict.fromkeys(r["method"] for r in rows):
        mine = [r for r in rows if r["method"] == name]
        usable = float(np.mean([r["usable"] or 0.0 for r in mine]))
        times = [r["cost_l1_range"] / least[r["data"], r["model"]] for r in mine if r["cost_l1_range"]]
        speed = [r["people_per_second"] for r in mine if r["people_per_second"]]
        cost = float(np.mean(times)) if times else np.inf
        out.append((-usable, cost, name, len(mine), float(np.median(speed)) if speed else np.nan))
    return [
        {
            "Method": f"{place}. {name}",
            "Usable, mean": words.percent(-usable, 1),
            "Cost, times the least": words.number(cost, 2) if np.isfinite(cost) else "no plan",
            "People a second, median": words.number(speed, words.about(speed)),
            "Tables and models": str(count),
        }
        for place, (usable, cost, name, count, speed) in enumerate(sorted(out), start=1)
    ]


def _row(r: dict[str, Any]) -> dict[str, str]:
    def spread(name: str, scale: float, digits: int, unit: str = "") -> str:
        if r.get(name) is None:
            return "no plan"
        ends = [r.get(f"{name}_{end}") for end in ("low", "high")]
        text = words.number(scale * r[name], digits) + unit
        if any(end is None or not np.isfinite(end) for end in ends):
            return text
        return f"{text} ({' to '.join(words.number(scale * float(end or 0), digits) for end in ends)})"

    speed = r["people_per_second"]
    return {
        "Method": r["method"],
        "Usable": spread("usable", 100, 1, f"{words.THIN}%"),
        "Usable and plausible": spread("usable_plausible", 100, 1, f"{words.THIN}%"),
        "Mean cost": spread("cost_l1_range", 100, 1, f"{words.THIN}%"),
        "Features changed": "no plan" if r["cost_l0"] is None else words.number(r["cost_l0"], 1),
        "People a second": "not known" if speed is None else words.number(speed, words.about(speed)),
        "Model rows": words.number(r.get("model_rows") or 0),
    }


def _figure(rows: list[dict[str, Any]], names: list[str]) -> Figure:
    """names: of all methods of the page, so that each looks the same in every figure."""
    from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes

    with figure_style():
        sheet = new_figure(6.2, 4.6)
        ax = sheet.subplots()
        for r in (r for r in rows if r["cost_l1_range"] is not None):
            _, marker, colour = LINES[names.index(r["method"]) % len(LINES)]
            x, y = r["cost_l1_range"], r["usable"]
            off = [
                [[abs((r.get(f"{name}_{end}") or value) - value)] for end in ("low", "high")]
                for name, value in (("cost_l1_range", x), ("usable", y))
            ]
            ax.errorbar(
                x, y, xerr=off[0], yerr=off[1], fmt=marker, color=colour, label=r["method"], ms=6, lw=1
            )
        percent_ticks(ax.xaxis)
        ax.set_xlabel("mean cost (sum of changes as shares of their ranges)")
        percent_ticks(ax.yaxis, share=True)
        ax.set_ylabel("people with a usable answer")
        plain_axes(ax)
        sheet.legend(loc="outside lower left", ncols=3, frameon=False)
    return sheet
