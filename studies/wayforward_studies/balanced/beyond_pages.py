"""The four pages beyond the paper: their tables, text and findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.impact.segregation import DIMENSIONS
from wayforward_studies.balanced import beyond_figures as figures
from wayforward_studies.balanced.beyond_measures import SHARES, AtBeta
from wayforward_studies.balanced.beyond_people import RULES
from wayforward_studies.balanced.beyond_results import LIMITS, BeyondResult
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.pages import Line, Table
from wayforward_studies.verdicts import Check, mean_ratio

TITLES = {
    "options": "Balance as an option of any method",
    "compliance": "When not everybody follows",
    "groups": "More than two groups",
    "limits": "Balance within rules and personal limits",
}
_INDEX = (
    "Centralization and Atkinson: higher is more segregated; proximity: lower is. "
    "**Bold**: more segregated than before."
)
_INTRO = {
    "options": (
        "Every method as it is, and with `Balanced` in the problem at two betas; `ebr`, which asks by itself, "
        "beside them. *found*: refused people with an option. *alone*: the same if nobody whom the method leads "
        "elsewhere is led to a balanced place (`lead=False`). *usable*: the share that `evaluate` confirms. *in "
        "balance*: people whose option is likely in both groups at beta .3, whatever was asked. *cost*: the "
        "problem's, over usable options; *gap*: between the groups' mean costs (– where a group has fewer than "
        "five people with an option). *fit*: processor seconds once; *people/s*: of one processor. `carma` and "
        "`icarma` train one network, where ten are the default; `c-chvae` is the published form. Of GMC and Law "
        "few people are refused, so indices move little. " + _INDEX
    ),
    "compliance": (
        "Who follows is drawn for each person, twice a seed; whoever follows at .1 also follows at .9, and nobody "
        "else moves. *willing*: people follow advice of one change most readily, and less the more there is to "
        "change, as in the simulator of societies; beside it the share that took it. " + _INDEX
    ),
    "groups": (
        "Every group against all others, before and after everybody acts. The product is over all groups' "
        "densities. `synthetic-3`: three groups side by side. `compas-races`: race with its levels, the small ones"
        " as 'Other'. `compas-sex-race`: sex and race crossed. `gmc-ages`: age in three thirds. " + _INDEX
    ),
    "limits": (
        "The rules of each setting stand under its name. Limits are drawn for every person: a random number of "
        "features is frozen, what is ranked harder weighs up to 10 times as much, and numbers move by at most .2 "
        "to .6 of their range either way. *broken*: options that break a rule, a limit or the schema, counted by "
        "`evaluate`, which works all of it out again. *in balance*: of all refused people, those with an option "
        "that is likely in both groups at beta .3. *cost* has the personal weights. " + _INDEX
    ),
}


FIGURES: Mapping[str, Callable[[Sequence[BeyondResult], Path, str], tuple[str, ...]]] = {
    "compliance": figures.compliance,
    "options": figures.options,
}
TOLERANCE = (
    "No tolerance: nothing of this is in the paper. Findings are aims that we set ourselves, *met* or not, "
    "with the limit in their statement."
)


def intro(name: str, made: Mapping[str, Any]) -> str:
    """What stands above the tables. made: the page's provenance."""
    over = "One seed" if made["seeds"] == 1 else f"Means over {made['seeds']} seeds"
    return (
        f"{_INTRO[name]}\n\n{over} (people, classifier, densities, method); spreads stand in the CSV. At most "
        f"{made['n']:,} people a setting. Made with `wayforward replicate balanced --extra all`."
    )


# -- tables ----------------------------------------------------------------------------------------------------


def _cell(line: BeyondResult, name: str, digits: int = 3) -> str:
    value = line.mean.get(name, math.nan)
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return f"**{text}**" if name in INDICES and name in line.worse else text


def _before(lines: Sequence[BeyondResult]) -> str:
    before = ", ".join(f"{name} {lines[0].mean[f'origin {name}']:.3f}" for name in INDICES)
    return f"Refused people a run: {lines[0].mean['refused']:,.0f}. Before anybody acts: {before}."


Shown = tuple[Sequence[str], list[list[str]], str]  # heads, rows, and the text above them


def _options(lines: Sequence[BeyondResult]) -> Shown:
    measures = ("found", "alone", "usable", "in balance", "cost", "gap", *INDICES)
    rows = []
    for line in lines:
        beta = "–" if line.method.beta is None else f"{line.method.beta:g}"
        tail = [str(len(line.worse)), _cell(line, "fit", 1), _cell(line, "speed", 0)]
        rows.append([line.method.method, beta, *(_cell(line, name) for name in measures), *tail])
    return ("method", "beta", *measures, _WORSE, "fit", "people/s"), rows, _before(lines)


def _compliance(lines: Sequence[BeyondResult]) -> Shown:
    shares = ("0", "0.1", "0.2", "0.3", "0.5", "0.7", "0.9", "1", "willing")
    rows = []
    for line in lines:
        for name in INDICES:
            before = line.mean[f"0 {name}"]
            cells = []
            for share in shares:
                value = line.mean[f"{share} {name}"]
                bad = DIMENSIONS[name] * (value - before) > 1e-12
                cells.append(f"**{value:.3f}**" if bad else f"{value:.3f}")
            cells[-1] += f" ({line.mean['willing took']:.2f})"
            rows.append([line.method.name, name, *cells])
    text = f"Refused people a run: {lines[0].mean['refused']:,.0f}. Columns: the share that follows."
    return ("method", "index", *shares), rows, text


def _groups(lines: Sequence[BeyondResult]) -> Shown:
    rows = []
    for line in [group for method in lines for group in method.groups()]:
        moved = [f"{line.mean[f'origin {name}']:.3f} → {_cell(line, name)}" for name in INDICES]
        numbers = [
            _cell(line, "people", 0),
            _cell(line, "refused", 0),
            _cell(line, "found"),
            _cell(line, "cost"),
        ]
        rows.append([line.method.name, line.part, *numbers, *moved, str(len(line.worse))])
    return ("method", "group", "people", "refused", "found", "cost", *INDICES, _WORSE), rows, ""


def _limits(lines: Sequence[BeyondResult]) -> Shown:
    rules = "Rules: " + "; ".join(f"`{rule}`" for rule in RULES[lines[0].setting]) + "."
    digits = {
        "found": 3,
        "usable": 3,
        "broken": 0,
        "in balance": 3,
        "cost": 3,
        "gap": 3,
        **dict.fromkeys(INDICES, 3),
    }
    rows = [
        [
            line.part,
            line.method.name,
            *(_cell(line, name, n) for name, n in digits.items()),
            str(len(line.worse)),
        ]
        for line in lines
    ]
    return ("under", "method", *digits, _WORSE), rows, f"{rules}\n\n{_before(lines)}"


_WORSE = "more segregated"
_TABLES: Mapping[str, Callable[[Sequence[BeyondResult]], Shown]] = {
    "options": _options,
    "compliance": _compliance,
    "groups": _groups,
    "limits": _limits,
}


def tables(name: str, lines: Sequence[BeyondResult]) -> tuple[Table, ...]:
    """A table for each setting."""
    out = []
    for setting in dict.fromkeys(line.setting for line in lines):
        heads, rows, text = _TABLES[name]([line for line in lines if line.setting == setting])
        out.append(Table(tuple(heads), tuple(Line(tuple(row)) for row in rows), setting, text))
    return tuple(out)


# -- findings --------------------------------------------------------------------------------------------------


def _of(lines: Sequence[BeyondResult]) -> dict[tuple[str, AtBeta, str], BeyondResult]:
    return {(line.setting, line.method, line.part): line for line in lines}


def _check(name: str, statement: str, holds: bool | None, measured: str) -> Check:
    return Check(name, statement, holds, measured, aim=True)


def _confirmed(lines: Sequence[BeyondResult]) -> Check:
    off = max(abs(line.mean["found"] - line.mean["usable"]) for line in lines)
    return _check(
        "confirmed", "`evaluate` confirms every option", off < 1e-9, f"largest difference {off:.4f}"
    )


def _options_found(lines: Sequence[BeyondResult]) -> Iterator[Check]:
    by = _of(lines)
    balanced = [line for line in lines if line.method.asks]
    least = min(balanced, key=lambda line: line.mean["usable"])
    yield _check(
        "who is served",
        "with balance at least .95 of the refused have a usable option, from every method",
        least.mean["usable"] >= 0.95,
        f"least {least.mean['usable']:.3f}: {least.method.name}, {least.setting}",
    )
    yield _confirmed(lines)
    for method in dict.fromkeys(line.method.method for line in balanced):
        mine = [line for line in balanced if line.method.method == method and line.method.beta == 0.3]
        pairs = [(by[line.setting, AtBeta(method), ""], line) for line in mine]
        cost = [line.mean["cost"] / bare.mean["cost"] for bare, line in pairs]
        first, last = (sum(len(line.worse) for line in side) for side in zip(*pairs, strict=True))
        better = sum(
            DIMENSIONS[name] * (line.mean[name] - bare.mean[name]) < 0
            for bare, line in pairs
            for name in INDICES
        )
        gap = [
            line.mean["gap"] < bare.mean["gap"]
            for bare, line in pairs
            if math.isfinite(line.mean["gap"]) and math.isfinite(bare.mean["gap"])
        ]
        yield _check(
            f"{method}, beta .3",
            "fewer indices are worse than before anybody acts, or none is",
            last < first if first else last == 0,
            f"worse {first} → {last} of {3 * len(pairs)}; nearer to even than plain in {better}; cost x "
            f"{mean_ratio(cost)}; gap smaller in {sum(gap)} of {len(gap)}",
        )
        alone = {line.setting: line.mean["alone"] for line in mine}
        yield _check(
            f"{method}, alone at .3",
            "finds balanced options for half of the refused by itself",
            min(alone.values()) >= 0.5,
            ", ".join(f"{name} {value:.2f}" for name, value in alone.items()),
        )
    yield from _against_ebr(by)


def _against_ebr(by: Mapping[tuple[str, AtBeta, str], BeyondResult]) -> Iterator[Check]:
    for method in ("local-search", "carma", "icarma"):
        pairs = [
            (line, by[setting, AtBeta("ebr", 0.3), ""])
            for (setting, way, _), line in by.items()
            if way == AtBeta(method, 0.3) and (setting, AtBeta("ebr", 0.3), "") in by
        ]
        if not pairs:
            continue
        cost = [line.mean["cost"] / ebr.mean["cost"] for line, ebr in pairs]
        more = sum(DIMENSIONS[n] * (line.mean[n] - ebr.mean[n]) > 0 for line, ebr in pairs for n in INDICES)
        yield _check(
            f"{method} against ebr",
            "costs less than ebr at the same beta",
            max(cost) < 1,
            f"x {mean_ratio(cost)}; more segregated than with ebr in {more} of {3 * len(pairs)}",
        )


def _compliance_found(lines: Sequence[BeyondResult]) -> Iterator[Check]:
    crooked = []
    for line in lines:
        for name in INDICES:
            start, end = line.mean[f"0 {name}"], line.mean[f"1 {name}"]
            if abs(end - start) < 0.005:
                continue
            share = [line.mean[f"{s:g} took"] for s in SHARES]
            value = np.array([line.mean[f"{s:g} {name}"] for s in SHARES])
            off = np.abs(value - (start + np.array(share) * (end - start))).max() / abs(end - start)
            crooked.append((float(off), f"{line.setting}, {line.method.name}, {name}"))
    crooked.sort()
    if crooked:
        yield _check(
            "the way is straight",
            "no share lies off the straight line by more than a tenth of the whole change",
            crooked[-1][0] <= 0.1,
            f"median {np.median([c for c, _ in crooked]):.2f}, most {crooked[-1][0]:.2f} ({crooked[-1][1]})",
        )
    beyond, early = [], []
    for line in lines:
        for name in INDICES:
            sign = DIMENSIONS[name]
            ends = np.maximum(sign * line.seeds(f"0 {name}"), sign * line.seeds(f"1 {name}"))
            for s in SHARES[1:-1]:
                more = sign * line.seeds(f"{s:g} {name}") - ends
                error = more.std(ddof=1) / math.sqrt(len(more)) if len(more) > 1 else math.inf
                if more.mean() > max(2 * error, 0.001):
                    beyond.append(
                        (float(more.mean()), f"{line.setting}, {line.method.name}, {name} at {s:g}")
                    )
            change = sign * (line.mean[f"1 {name}"] - line.mean[f"0 {name}"])
            if change < -0.005:
                half = sign * (line.mean[f"0.5 {name}"] - line.mean[f"0 {name}"]) / change
                early.append((half, name))
    worst = max(beyond, default=(0.0, "nowhere"))
    places = dict.fromkeys(place.rpartition(" at ")[0] for _, place in beyond)
    yield _check(
        "a share divides more than nobody and than everybody",
        "at no share (by more than .001 and two standard errors)",
        None if len(lines[0].each) < 2 else not beyond,
        f"{len(places)} of {3 * len(lines)} ways and indices; most {worst[0]:.4f} ({worst[1]})",
    )
    for name in INDICES:
        gained = [value for value, index in early if index == name]
        if gained:
            yield _check(
                f"half of the people, {name}",
                "bring half of the gain or more",
                float(np.mean(gained)) >= 0.5 - 1e-9,
                f"share of the gain {mean_ratio(gained)} over {len(gained)} ways that gain",
            )
    took = {
        line.method.name: [other.mean["willing took"] for other in lines if other.method == line.method]
        for line in lines
    }
    yield _check(
        "who is willing",
        "balanced advice is taken as often as the cheapest (within .05)",
        all(np.mean(v) >= np.mean(took["local-search"]) - 0.05 for v in took.values()),
        ", ".join(f"{name} {np.mean(value):.2f}" for name, value in took.items()),
    )


def _groups_found(lines: Sequence[BeyondResult]) -> Iterator[Check]:
    for way in dict.fromkeys(line.method for line in lines):
        some = [group for line in lines if line.method == way for group in line.groups()]
        counts = {
            setting: [len(line.worse) for line in some if line.setting == setting]
            for setting in dict.fromkeys(line.setting for line in some)
        }
        total = sum(sum(v) for v in counts.values())
        shown = ", ".join(f"{name} {sum(v)} of {3 * len(v)}" for name, v in counts.items())
        yield _check(
            way.name, "no group is further from the rest by any index", total == 0, f"worse: {shown}"
        )


def _limits_found(lines: Sequence[BeyondResult]) -> Iterator[Check]:
    by = _of(lines)
    broken = sum(line.seeds("broken").sum() for line in lines)
    options = sum((line.seeds("found") * line.seeds("refused")).sum() for line in lines)
    count = f"{broken:.0f} of {options:,.0f}"
    yield _check("broken", "no option breaks a rule, a limit or the schema", broken == 0, count)
    yield _confirmed(lines)
    ebr, nearest = AtBeta("ebr", 0.3), AtBeta("local-search")
    for part in LIMITS:
        for way in dict.fromkeys(line.method for line in lines if line.method != nearest):
            mine = {line.setting: line for line in lines if line.method == way and line.part == part}
            found = {
                name: line.mean["found"] / by[name, nearest, part].mean["found"]
                for name, line in mine.items()
            }
            yield _check(
                f"{way.name}, {part}",
                "serves .9 of those whom local-search serves",
                min(found.values()) >= 0.9,
                ", ".join(f"{name} {value:.2f}" for name, value in found.items())
                + f"; worse indices {sum(len(line.worse) for line in mine.values())} of {3 * len(mine)}",
            )
    pairs = [
        (line, by[line.setting, AtBeta("local-search", 0.3), line.part])
        for line in lines
        if line.method == ebr
    ]
    if pairs:
        most = max(ebr_line.mean["found"] - other.mean["found"] for ebr_line, other in pairs)
        yield _check(
            "the search or the limits",
            "ebr finds nobody whom balanced local-search does not find (within .02)",
            most <= 0.02,
            f"ebr finds at most {most:+.3f} more",
        )


_CHECKS: Mapping[str, Callable[[Sequence[BeyondResult]], Iterator[Check]]] = {
    "options": _options_found,
    "compliance": _compliance_found,
    "groups": _groups_found,
    "limits": _limits_found,
}


def checks(name: str, lines: Sequence[BeyondResult]) -> tuple[Check, ...]:
    """The findings of a page."""
    return tuple(_CHECKS[name](lines))
