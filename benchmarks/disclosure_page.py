"""docs/guide/disclosure-measured.md and its figures, from the files in results/disclosure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.disclosure import CELLS, DATA, FIGURES, METHODS, MODELS, PAGE, SETTINGS
from benchmarks.markdown import table
from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes
from wayforward.impact.disclosure.attack import DEFENCES, PLAIN
from wayforward.palette import GREY, LIGHT
from wayforward.plain_files import write_text

COPYING = ("nearest-observable", "nice", "face")
SEARCHING = tuple(m for m in METHODS if m not in COPYING)
NAMES = {"lr": "logistic regression", "mlp": "neural net", "rf": "forest"}
Cells = dict[str, dict[str, Any]]
HEAD = (
    "method", "answers", "option %", "dearer %", "copies: decisions", "+ options", "refused only", "member",
    "plan / without", "rare %", "beside", "rows %",
)  # fmt: skip


def write(cells: Cells) -> None:
    """Write page and figures."""
    for name, draw in (("disclosure-copies", figure_copies), ("disclosure-defences", figure_defences)):
        with figure_style():
            draw(cells).savefig(FIGURES / f"{name}.png", dpi=100, bbox_inches="tight")
    write_text(PAGE, page(cells))


def page(cells: Cells) -> str:
    """The whole page."""
    missing = [cell for cell in CELLS if cell not in cells]
    done = f"{len(cells)} of {len(CELLS)} cells."
    if missing:
        done += f" Not measured yet: {', '.join(missing)}."
    parts = [
        INTRODUCTION, done, SAMPLES.format(**SETTINGS), COPIES, DEFENDED, "## What they say",
        "\n".join(f"- {text}" for text in findings(cells)), NUMBERS,
    ]  # fmt: skip
    for data in DATA:
        for model in MODELS:
            some = {m: cells[f"{data}-{model}-{m}"] for m in METHODS if f"{data}-{model}-{m}" in cells}
            if some:
                asked = min(next(iter(some.values()))["refused"], SETTINGS["most"])
                parts += [f"### {data}, {NAMES[model]}", f"{asked} refused people are answered."]
                parts.append(table(list(HEAD), [row for m, one in some.items() for row in _rows(m, one)]))
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """# Disclosure, measured

What `wayforward attack` finds on three data sets, three models and five methods, before and after each defence. What
is attacked and what a defence does stands in [what answers give away](disclosure.md). Written by `python -m
benchmarks.disclosure --render` from the files in `benchmarks/results/disclosure`; without `--render` it measures what
has no file yet."""
SAMPLES = """Samples are small: {people:,} people of a table at most, drawn by chance, half of whom train the model.
Of the others half ask, of whom at most {most} refused ones are answered, and half test the copies. Every copy is
taught {seeds} times, each time by other people, and the mean is told. Intervals (95 %) are over people. Private
starts have epsilon 1, and public bounds in round numbers. wayforward 0.1.0, scikit-learn 1.9.1, NumPy 2.4.6."""
COPIES = """## Copies

![Agreement of the best copy by queries: a panel for each table and model](../_static/disclosure-copies.png)

Agreement is the mean over accepted and refused people that nobody asked about, of the best of all copies of a size.
Wide grey line: from decisions about people at random. Lines: from options without a defence, of refused people or of
the refused among people at random."""
DEFENDED = """## Defences

![Options, price, best copy, membership and rare values under each defence](../_static/disclosure-defences.png)

A mark for each model and method. Best copy: from options, after the most queries. Member: the largest of three areas
under the curve, which is a little above one half by luck. Rare: of the numbers that options set, those that 1 to 4
people of the training table have. Marks at an edge may lie beyond it."""
NUMBERS = """## All numbers

*Copies*: agreement in per cent after the most queries: from decisions of people at random, from these and the options
of those refused, from refused people only. *Plan / without*: right guesses in per cent of the first feature that the
attack infers, with the plan and without it. *Rare* as above, and *beside* it the same among as many people whom the
model never saw. *Rows*: options that are a training person's whole row."""


def _rows(method: str, one: dict[str, Any]) -> Iterator[list[str]]:
    for i, e in enumerate(one["exposures"]):
        copies = [_percent(_last(e["copies"][key])) for key in ("decisions", "both", "options")]
        best = max(e["membership"].values(), key=lambda v: v[0] or 0.0)
        inferred = next(iter(e["attributes"].values()), None)
        rare, rows = e["reconstruction"]["rare"], e["reconstruction"]["rows"]
        yield [
            f"`{method}`" if not i else "", "plain" if e["name"] == PLAIN else e["name"], _percent(e["usable"][0]),
            _percent(e["dearer"][0]) if i else "–", *copies, f"{best[0]:.2f} ({best[1]:.2f} to {best[2]:.2f})",
            "–" if inferred is None else f"{_percent(inferred[0])} / {_percent(inferred[3])}", _percent(rare[0]),
            _percent(rare[3]), _percent(rows[0]),
        ]  # fmt: skip


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}".replace("-0", "0")


def _last(curve: list[Any]) -> float | None:
    return curve[-1][1] if curve else None


def _best(e: dict[str, Any]) -> list[tuple[int, float]]:
    """The best copy from options of each size, of refused people or of people at random."""
    found: dict[int, float] = {}
    for key in ("both", "options"):
        for size, value, *_ in e["copies"][key]:
            found[size] = max(found.get(size, 0.0), value)
    return sorted(found.items())


def _by_defence(cells: Cells) -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Defence -> (plain, with it) of every cell that has it."""
    out: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {name: [] for name in (PLAIN, *DEFENCES)}
    for one in cells.values():
        for e in one["exposures"]:
            out[e["name"]].append((one["exposures"][0], e))
    return {name: pairs for name, pairs in out.items() if pairs}


def _mean(values: Any) -> float:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else float("nan")


def findings(cells: Cells) -> list[str]:
    """Sentences, each with its numbers."""
    if not cells:
        return []
    plain = {cell: one["exposures"][0] for cell, one in cells.items()}
    return [
        _of_copies(list(plain.values())), _of_members(list(plain.values())),
        *(_of_values(plain, methods) for methods in (COPYING, SEARCHING)), _of_attributes(plain),
        *(_of_defence(name, pairs) for name, pairs in _by_defence(cells).items() if name != PLAIN),
    ]  # fmt: skip


def _of_copies(plain: list[dict[str, Any]]) -> str:
    first, last = (
        [(_best(e)[at][1], e["copies"]["decisions"][at][1]) for e in plain] for at in (0, -1)
    )  # (options, decisions) after the fewest and the most queries
    few = plain[0]["copies"]["decisions"][0][0]
    return (
        f"Without a defence the best copy from options agrees for {_mean(a for a, _ in first):.0%} after {few} "
        f"queries and {_mean(a for a, _ in last):.0%} after the most, on average over the cells; copies from as many "
        f"decisions {_mean(b for _, b in first):.0%} and {_mean(b for _, b in last):.0%}. After the most queries "
        f"options copied better in {sum(a > b for a, b in last)} of {len(last)} cells."
    )


def _of_members(plain: list[dict[str, Any]]) -> str:
    areas = [m for e in plain for m in e["membership"].values() if m[0] is not None]
    sure = sum(m[1] > 0.5 for m in areas)
    return (
        f"Membership: {sure} of {len(areas)} areas without a defence have an interval above one half, where luck "
        f"alone would make {len(areas) / 40:.0f}; the largest is {max(m[0] for m in areas):.2f}."
    )


def _of_values(plain: dict[str, dict[str, Any]], methods: tuple[str, ...]) -> str:
    some = [e["reconstruction"] for cell, e in plain.items() if cell.split("-", 2)[2] in methods]
    rare, beside = (_mean(one["rare"][at] for one in some) for at in (0, 3))
    rows = max((one["rows"][0] or 0.0 for one in some), default=0.0)
    names = " and ".join(", ".join(f"`{m}`" for m in methods).rsplit(", ", 1))
    return (
        f"Of the numbers that {names} set, {rare:.0%} are held by 1 to 4 people "
        f"of the training table, and {beside:.0%} by 1 to 4 people never seen; at most {rows:.0%} of a cell's options "
        "are a training person's whole row."
    )


def _of_attributes(plain: dict[str, dict[str, Any]]) -> str:
    gains = [
        (a[0] - a[3], cell)
        for cell, e in plain.items()
        for a in e["attributes"].values()
        if a[0] is not None and a[3] is not None
    ]
    if not gains:
        return "No feature was inferred."
    return (
        f"A plan gives features away: guesses are right {100 * _mean(g for g, _ in gains):.0f} percentage points more "
        f"often with the plan than without, on average over {len(gains)} features and cells; most in {max(gains)[1]} "
        f"({100 * max(gains)[0]:.0f})."
    )


def _of_defence(name: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    served = _mean(e["usable"][0] for _, e in pairs) - _mean(p["usable"][0] for p, _ in pairs)
    price = [e["dearer"][0] for _, e in pairs if e["dearer"][0] is not None]
    copies = _mean(_best(e)[-1][1] - _best(p)[-1][1] for p, e in pairs)
    rare = [(p["reconstruction"]["rare"][0], e["reconstruction"]["rare"][0]) for p, e in pairs]
    rare = [(a, b) for a, b in rare if a is not None and b is not None]
    text = f"**{name}** ({len(pairs)} cells): {_signed(served)} percentage points with an option, "
    if price:
        text += f"{np.median(price):+.0%} cost in the median cell ({min(price):+.0%} to {max(price):+.0%}), "
    text += f"{_signed(copies)} percentage points of agreement of the best copy"
    if rare:
        text += (
            f", rare values {_mean(a for a, _ in rare):.0%} before and {_mean(b for _, b in rare):.0%} after"
        )
    return text + "."


def _signed(value: float) -> str:
    return f"{100 * value:+.0f}" if abs(value) >= 0.005 else "0"


def figure_copies(cells: Cells) -> Any:
    """Agreement by queries: a panel for each table and model, a line for each method."""
    sheet = new_figure(10, 8.2)
    grid = sheet.subplots(len(DATA), len(MODELS), sharex=True, sharey=True)
    for row, data in zip(grid, DATA, strict=True):
        for ax, model in zip(row, MODELS, strict=True):
            ax.set_title(f"{data}, {NAMES[model]}", loc="left", weight="bold")
            yardstick = None  # the same for every method
            for place, method in enumerate(METHODS):
                one = cells.get(f"{data}-{model}-{method}")
                if one is None:
                    continue
                e = one["exposures"][0]
                known = e["copies"]["decisions"]
                if yardstick is None:
                    (yardstick,) = ax.plot(
                        *zip(*(point[:2] for point in known), strict=True), color=GREY, lw=4
                    )
                    yardstick.set(alpha=0.5, zorder=0, label="decisions alone")
                line, marker, colour = LINES[place]
                x, y = zip(*_best(e), strict=True)
                ax.plot(x, y, ls=line, marker=marker, color=colour, lw=1.8, label=method)
            ax.set_xscale("log")
            ax.set_xticks(SETTINGS["queries"], [str(q) for q in SETTINGS["queries"]])
            ax.set_xticks([], minor=True)
            ax.set_ylim(0.45, 1.02)
            ax.grid(axis="y", color=LIGHT, lw=0.6)
            percent_ticks(ax.yaxis)
            plain_axes(ax)
    for ax in grid[-1]:
        ax.set_xlabel("queries")
    for row in grid:
        row[0].set_ylabel("agreement of the best copy")
    handles = {label: h for ax in grid.flat for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    sheet.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=6, frameon=False)
    return sheet


MEASURES: tuple[tuple[str, Callable[[dict[str, Any]], float | None], tuple[float, ...]], ...] = (
    ("has an option", lambda e: e["usable"][0], (0.0, 0.5, 1.0)),
    ("dearer by", lambda e: e["dearer"][0] if e["name"] != PLAIN else 0.0, (-0.5, 0.0, 1.0, 2.0, 3.0)),
    ("best copy", lambda e: _best(e)[-1][1], (0.5, 0.75, 1.0)),
    ("member", lambda e: max(v[0] or 0.0 for v in e["membership"].values()), (0.4, 0.5, 0.6, 0.7, 0.8)),
    ("rare values", lambda e: e["reconstruction"]["rare"][0], (0.0, 0.5, 1.0)),
)


def figure_defences(cells: Cells) -> Any:
    """Each measure under each defence: a row of panels for each table, a mark for each model and method."""
    names = [PLAIN, *DEFENCES]
    sheet = new_figure(10, 7.6)
    grid = sheet.subplots(len(DATA), len(MEASURES), sharey=True, gridspec_kw={"wspace": 0.1})
    for ax, (title, _, _) in zip(grid[0], MEASURES, strict=True):
        ax.set_title(title, loc="left", weight="bold")
    for row, data in zip(grid, DATA, strict=True):
        row[0].set_ylabel(data, weight="bold")
        for ax, (title, value, ticks) in zip(row, MEASURES, strict=True):
            ends = ticks[0], ticks[-1]
            for place, method in enumerate(METHODS):
                _, marker, colour = LINES[place]
                for model in MODELS:
                    one = cells.get(f"{data}-{model}-{method}")
                    if one is None:
                        continue
                    points = [(value(e), names.index(e["name"])) for e in one["exposures"]]
                    x = [np.clip(v, *ends) for v, _ in points if v is not None]
                    y = [at + 0.13 * (place - 2) for v, at in points if v is not None]
                    ax.plot(x, y, marker, color=colour, ms=4, alpha=0.8, label=method, clip_on=False)
            ax.set_xlim(*ends)
            ax.set_ylim(len(names) - 0.4, -0.6)
            ax.set_yticks(range(len(names)), ["plain", *DEFENCES])
            ax.tick_params(axis="y", length=0)
            ax.grid(axis="x", color=LIGHT, lw=0.6)
            texts = [f"{v:.1f}" if title == "member" else f"{v:.0%}" if v >= 0 else "" for v in ticks]
            ax.set_xticks(ticks, texts, fontsize=8)
            plain_axes(ax)
    handles = {label: h for ax in grid.flat for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    sheet.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=6, frameon=False)
    return sheet
