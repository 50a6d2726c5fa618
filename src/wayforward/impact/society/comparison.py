"""Societies side by side: each scenario played with several seeds, and how far they differ with the luck taken out.

With the same seed two scenarios meet the same people with the same luck, so that differences are taken seed by seed;
intervals are Student's over the seeds (95 %).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError
from wayforward.impact.segregation.dimensions import DIMENSIONS
from wayforward.impact.society.figures import digits, in_percent, title_of
from wayforward.impact.society.history import FIGURES, History
from wayforward.impact.society.running import simulate
from wayforward.impact.society.scenario import Scenario
from wayforward.language import gettext, use_language
from wayforward.plain_files import as_path, write_text
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wayforward.workers import Kind

SHOWN = (
    "acceptance", "cost", "default", "holds", "improvement", "gaming", "profit", *DIMENSIONS,
)  # fmt: skip


DRAWN = ("acceptance", "cost", "default", "holds", "gaming", "profit")


class Spread(NamedTuple):
    """A mean over seeds with its 95 % interval, NaN where one seed was played; n: seeds in which it is known."""

    value: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Student's interval over the values that are known (s,)."""
        from scipy.stats import t

        known = values[np.isfinite(values)]
        n = len(known)
        if not n:
            return cls(np.nan, np.nan, np.nan, 0)
        half = float(t.ppf(0.975, n - 1) * known.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        return cls(float(known.mean()), float(known.mean()) - half, float(known.mean()) + half, n)

    def within(self, least: float, most: float) -> Spread:
        """Return the spread with an interval that ends where the figure does: few seeds make Student's reach beyond."""
        return self._replace(low=max(self.low, least), high=min(self.high, most))


def limits(figure: str, more: bool = False) -> tuple[float, float]:
    """Return the least and the most that a figure can be, or a difference of two: shares, indices, costs; no profit."""
    ends = (0.0, np.inf) if figure == "cost" else (-np.inf, np.inf) if figure == "profit" else (0.0, 1.0)
    return (-ends[1], ends[1]) if more else ends


@dataclass(frozen=True)
class Comparison:
    """histories: scenario name -> one history a seed, in the order of `seeds`. The first name is compared with."""

    histories: Mapping[str, Sequence[History]]
    seeds: tuple[int, ...]

    def spread(self, name: str, figure: str, group: str | None = None) -> Spread:
        """A figure of a scenario over all rounds (segregation: at the end), over seeds."""
        return Spread.of(self._values(name, figure, group))

    def difference(self, name: str, figure: str, group: str | None = None) -> Spread:
        """What a scenario has more than the first, seed by seed."""
        first = next(iter(self.histories))
        return Spread.of(self._values(name, figure, group) - self._values(first, figure, group))

    def _values(self, name: str, figure: str, group: str | None) -> Floats:
        def one(history: History) -> float:
            if figure not in DIMENSIONS:
                return float(history.figure(figure, group=group, over=True)[0])
            value = history.figure(figure, group=group)
            value = value[np.isfinite(value)]
            return float(value[-1]) if len(value) else np.nan

        return np.array([one(history) for history in self.histories[name]])

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups, the same in every scenario."""
        return next(iter(self.histories.values()))[0].names

    def rows(self, figures: Sequence[str] = SHOWN) -> list[dict[str, Any]]:
        """One row for each scenario, figure and group ("all" first): the mean, its interval, and the difference to the
        first scenario with its interval; for files."""
        out = []
        for name, played in self.histories.items():
            for group in (None, *played[0].names):
                for figure in figures:
                    got, more = self.spread(name, figure, group), self.difference(name, figure, group)
                    if got.n:
                        out.append(
                            {"scenario": name, "group": group or "all", "figure": figure}
                            | {"value": got.value, "low": got.low, "high": got.high, "seeds": got.n}
                            | {"more": more.value, "more_low": more.low, "more_high": more.high}
                        )
        return out

    def table(self, group: str | None = None, figures: Sequence[str] = SHOWN) -> list[dict[str, str]]:
        """One row a figure and a column a scenario, in words, of a group or of all people."""
        first, out = next(iter(self.histories)), []
        for figure in figures:
            if not any(self.spread(name, figure, group).n for name in self.histories):
                continue
            row = {gettext("Figure"): title_of(figure)}
            for name in self.histories:
                row[name] = _in_words(figure, self.spread(name, figure, group))
                if name != first:
                    row[gettext("{name}: more than {first}", name=name, first=first)] = _in_words(
                        figure, self.difference(name, figure, group), True
                    )
            out.append(row)
        return out

    def by_round(self, figures: Sequence[str] = SHOWN, group: str | None = None) -> list[dict[str, Any]]:
        """One row for each scenario, figure and round in which it is known: the mean over seeds and its interval."""
        out = []
        for name, played in self.histories.items():
            for figure in figures:
                values = np.stack([history.figure(figure, group=group) for history in played])  # (s, T)
                rounds = np.arange(played[0].rounds + 1)[-values.shape[1] :]
                for at, one in zip(rounds.tolist(), map(Spread.of, values.T), strict=True):
                    if one.n:
                        what = {"scenario": name, "group": group or "all", "figure": figure, "round": at}
                        out.append(
                            what | {"value": one.value, "low": one.low, "high": one.high, "seeds": one.n}
                        )
        return out

    def round_table(self, figure: str) -> list[dict[str, str]]:
        """One row a round and a column a scenario, in words, of all people."""
        out: dict[int, dict[str, str]] = {}
        head = gettext("Round")
        for row in self.by_round((figure,)):
            line = out.setdefault(row["round"], {head: str(row["round"])})
            line[row["scenario"]] = _in_words(
                figure, Spread(row["value"], row["low"], row["high"], row["seeds"])
            )
        empty = dict.fromkeys(self.histories, gettext("not known"))
        return [{head: line[head]} | empty | line for _, line in sorted(out.items())]

    def notes(self) -> list[str]:
        """What a reader should know about what was played, once each."""
        rounds = {name: played[0].rounds for name, played in self.histories.items()}
        parts = ", ".join(f"{name}: {n}" for name, n in rounds.items())
        uneven = gettext("Means over all rounds are of unlike times; rounds played: {parts}.", parts=parts)
        seen = {uneven: None} if len(set(rounds.values())) > 1 else {}
        seen |= {
            f"{name}: {note}": None
            for name, played in self.histories.items()
            for history in played
            for note in history.notes()
        }
        return list(seen)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no row of a person."""
        scenarios = {name: played[0].scenario.to_dict() for name, played in self.histories.items()}
        rounds = [row for group in (None, *self.groups) for row in self.by_round(group=group)]
        return {
            "seeds": list(self.seeds), "scenarios": scenarios, "rows": self.rows(), "rounds": rounds,
            "notes": self.notes(),
        }  # fmt: skip

    def figure(self, figures: Sequence[str] = DRAWN) -> Figure:
        """A panel a figure, a line a scenario: the mean over seeds by round, and its interval as a band.

        Raises: MissingExtra without matplotlib.
        """
        from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes

        known = [name for name in figures if any(self.spread(s, name).n for s in self.histories)]
        tall = -(-len(known) // 3)
        with figure_style():
            sheet = new_figure(11.0, 0.6 + 2.5 * tall)
            axes = sheet.subplots(tall, 3, squeeze=False).ravel()
            for ax, figure in zip(axes, known, strict=False):
                rows = self.by_round((figure,))
                for name, (dash, marker, colour) in zip(self.histories, LINES * 9, strict=False):
                    mine = [row for row in rows if row["scenario"] == name]
                    at, mean, low, high = (
                        np.array([row[part] for row in mine], dtype=np.float64)
                        for part in ("round", "value", "low", "high")
                    )
                    ax.plot(at, mean, dash, marker=marker, color=colour, ms=4, lw=1.6, label=name)
                    if len(self.seeds) > 1:
                        least, most = limits(figure)
                        ax.fill_between(
                            at, low.clip(least), high.clip(max=most), color=colour, alpha=0.15, lw=0
                        )
                ax.set_title(title_of(figure), loc="left", weight="bold")
                if in_percent(figure):
                    percent_ticks(ax.yaxis, share=figure != "cost")
                ax.set_xlabel(gettext("round"))
                ax.locator_params(axis="x", nbins=6, integer=True)
                plain_axes(ax)
            for ax in axes[len(known) :]:
                ax.set_visible(False)
            handles, labels = axes[0].get_legend_handles_labels()
            sheet.legend(handles, labels, loc="outside lower left", ncols=4, frameon=False)
        return sheet

    def report(self, path: str | Path, title: str = "", language: str | None = None) -> Path:
        """Write one HTML page that stands alone: notes, figure, tables of all people and of each group. title: left
        out, "Societies side by side". language: "en" or "de"; left out, the one in use.

        Raises: MissingExtra without matplotlib.
        """
        with use_language(language):
            write_text(as_path(path), self._page(title or gettext("Societies side by side")))
        return Path(path)

    def _page(self, title: str) -> str:
        from markupsafe import Markup

        from wayforward.answers import figures
        from wayforward.answers.page import template_engine

        first = next(iter(self.histories.values()))[0]
        drawn = figures.svg(
            self.figure(),
            "societies",
            gettext("Figures by round"),
            gettext("A line a scenario. The tables hold the same numbers, and means over rounds."),
        )
        page: str = template_engine("wayforward.impact").get_template("societies.html.j2").render(
            title=title,
            seeds=len(self.seeds),
            names=list(self.histories),
            notes=self.notes(),
            drawn=Markup(drawn),
            everybody=self.table(),
            groups=[(f"{first.attribute}: {first.title(name)}", self.table(name)) for name in self.groups],
            rounds=[(title_of(f), table) for f in DRAWN if (table := self.round_table(f))],
            meanings=[
                {gettext("Figure"): title_of(name), gettext("Means"): gettext(FIGURES[name][2])}
                for name in SHOWN
                if name in FIGURES
            ],
        )  # fmt: skip
        return page


def compare(
    scenarios: Mapping[str, Scenario] | Sequence[Scenario],
    seeds: int | Sequence[int] = 5,
    *,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 1,
    on: Kind | None = None,
) -> Comparison:
    """Play every scenario with the same seeds (5: the first scenario's own and the four after it).

    progress: called with (rounds done, rounds in all).
    Example: ``compare([Scenario(name="a"), Scenario(name="b", advice=Advice(robust="noise:0.02"))], seeds=5)``.
    Raises: DataError without scenarios or seeds, for two of one name, or of unlike groups; what `simulate` raises.
    """
    named = dict(scenarios) if isinstance(scenarios, Mapping) else {one.name: one for one in scenarios}
    if not named or len(named) != len(scenarios):
        raise DataError("Give one scenario or more, each with a name of its own (entry `name`).")
    unlike = {(one.group, one.cut, one.group_names) for one in named.values()}
    if len(unlike) > 1:
        split = ", ".join(
            f"{name}: {one.group} {list(one.cut) or ''}".rstrip() for name, one in named.items()
        )
        raise DataError(
            f"Societies are compared group by group, and these are split otherwise ({split}). Give all of them the "
            "same group, cut and group_names."
        )
    first = next(iter(named.values())).seed
    chosen = tuple(range(first, first + seeds)) if isinstance(seeds, int) else tuple(seeds)
    if not chosen:
        raise DataError("Give at least one seed: seeds=5, for example.")
    total, done = sum(one.rounds for one in named.values()) * len(chosen), 0
    histories: dict[str, list[History]] = {}
    for name, scenario in named.items():
        for seed in chosen:
            before = done

            def shown(rounds: int, _: int, before: int = before) -> None:
                if progress is not None:
                    progress(before + rounds, total)

            got = simulate(replace(scenario, seed=seed), progress=shown, workers=workers, on=on)
            got.society = None  # people are not kept
            histories.setdefault(name, []).append(got)
            done += scenario.rounds
    return Comparison(histories, chosen)


def _in_words(figure: str, spread: Spread, more: bool = False) -> str:
    """A spread in words: "12.3 % (11.0 to 13.6)"; differences of shares in points."""
    if not spread.n:
        return gettext("not known")
    rate = in_percent(figure)
    scale, decimals = (100.0, 1) if rate else (1.0, digits(spread.value))
    within = spread.within(*limits(figure, more))
    value, low, high = (words.number(scale * part, decimals) for part in within[:3])
    points = gettext("points")
    unit = (f" {points}" if more else f"{words.THIN}%") if rate else ""
    if spread.n < 2:
        return f"{value}{unit}"
    return gettext("{value} ({low} to {high})", value=f"{value}{unit}", low=low, high=high)
