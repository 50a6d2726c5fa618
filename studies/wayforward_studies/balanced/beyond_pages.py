"""The four pages beyond the paper as files: tables, findings, figures, CSV and JSON with what they were made of."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from wayforward.impact.segregation import DIMENSIONS
from wayforward_studies.balanced import beyond_figures as figures
from wayforward_studies.balanced.beyond import LIMITS, Line, Page, Request
from wayforward_studies.balanced.beyond_people import RULES
from wayforward_studies.balanced.beyond_ways import SHARES, Way
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.findings import Check, findings
from wayforward_studies.writing import csv_text, plain, put

if TYPE_CHECKING:
    from wayforward_studies.checkpoints import Kept

TITLES = {
    "options": "Balance as an option of any method",
    "compliance": "When not everybody follows",
    "groups": "More than two groups",
    "limits": "Balance within rules and personal limits",
}
_INDEX = "Centralization and Atkinson: higher is more segregated; proximity: lower is. **Bold**: worse than before."
_TOLD = {
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


def write(request: Request, name: str, lines: Sequence[Line], kept: Kept) -> Page:
    """Write a page's files."""
    from wayforward.methods.base import versions

    out = request.out
    out.mkdir(parents=True, exist_ok=True)
    called = name + ("-quick" if request.quick else "")
    drawn = {"compliance": figures.compliance, "options": figures.options}.get(name)
    made = [] if drawn is None else drawn(lines, out, called)
    checks = CHECKS[name](lines)
    files = (*made, f"{called}.md", f"{called}.json", f"{called}.csv")
    page = Page(called, TITLES[name], tuple(lines), tuple(checks), files)
    text = [f"# {TITLES[name]}", "", _TOLD[name], "", _seeds(request), ""]
    text += [f"![{TITLES[name]}]({file})" for file in made if file.endswith(".svg")]
    for setting in dict.fromkeys(line.setting for line in lines):
        some = [line for line in lines if line.setting == setting]
        text += ["", f"## {setting}", "", *TABLES[name](some)]
    text += ["", "## Findings", findings(checks)]
    put(out / f"{called}.md", "\n".join(text))
    put(out / f"{called}.csv", csv_text(page.rows()))
    settings = {key: value for key, value in asdict(request).items() if key not in ("out", "cache", "pages")}
    work = sum(value for key, value in kept.seconds.items() if key.startswith(name))
    told = {**page.to_dict(), "provenance": {**settings, "versions": versions(), "seconds_of_stages": work}}
    put(out / f"{called}.json", json.dumps(plain(told)) + "\n")
    return page


def _seeds(request: Request) -> str:
    look = "**A quick look.** " if request.quick else ""
    told = "One seed" if request.seeds == 1 else f"Means over {request.seeds} seeds"
    return (
        f"{look}{told} (people, classifier, densities, method); spreads stand in the CSV. At "
        f"most {request.n:,} people a setting. Made with `wayforward replicate balanced --extra all`."
    )


# -- tables ----------------------------------------------------------------------------------------------------


def _cell(line: Line, name: str, digits: int = 3) -> str:
    value = line.mean.get(name, math.nan)
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return f"**{text}**" if name in INDICES and name in line.worse else text


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    out = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return out + ["| " + " | ".join(row) + " |" for row in rows]


def _before(lines: Sequence[Line]) -> str:
    told = ", ".join(f"{name} {lines[0].mean[f'origin {name}']:.3f}" for name in INDICES)
    return f"Refused people a run: {lines[0].mean['refused']:,.0f}. Before anybody acts: {told}."


def _options(lines: Sequence[Line]) -> list[str]:
    measures = ("found", "alone", "usable", "in balance", "cost", "gap", *INDICES)
    rows = []
    for line in lines:
        beta = "–" if line.way.beta is None else f"{line.way.beta:g}"
        tail = [str(len(line.worse)), _cell(line, "fit", 1), _cell(line, "speed", 0)]
        rows.append([line.way.method, beta, *(_cell(line, name) for name in measures), *tail])
    return [_before(lines), "", *_table(("method", "beta", *measures, "worse", "fit", "people/s"), rows)]


def _compliance(lines: Sequence[Line]) -> list[str]:
    told = ("0", "0.1", "0.2", "0.3", "0.5", "0.7", "0.9", "1", "willing")
    rows = []
    for line in lines:
        for name in INDICES:
            least = line.mean[f"0 {name}"]
            cells = []
            for share in told:
                value = line.mean[f"{share} {name}"]
                bad = DIMENSIONS[name] * (value - least) > 1e-12
                cells.append(f"**{value:.3f}**" if bad else f"{value:.3f}")
            cells[-1] += f" ({line.mean['willing took']:.2f})"
            rows.append([line.way.name, name, *cells])
    head = f"Refused people a run: {lines[0].mean['refused']:,.0f}. Columns: the share that follows."
    return [head, "", *_table(("method", "index", *told), rows)]


def _groups(lines: Sequence[Line]) -> list[str]:
    rows = []
    for line in by_group(lines):
        moved = [f"{line.mean[f'origin {name}']:.3f} → {_cell(line, name)}" for name in INDICES]
        some = [
            _cell(line, "people", 0),
            _cell(line, "refused", 0),
            _cell(line, "found"),
            _cell(line, "cost"),
        ]
        rows.append([line.way.name, line.part, *some, *moved, str(len(line.worse))])
    heads = ("method", "group", "people", "refused", "found", "cost", *INDICES, "worse")
    return _table(heads, rows)


def _limits(lines: Sequence[Line]) -> list[str]:
    out = [
        "Rules: " + "; ".join(f"`{rule}`" for rule in RULES[lines[0].setting]) + ".",
        "",
        _before(lines),
        "",
    ]
    measures = ("found", "usable", "in balance", "cost", "gap", *INDICES)
    rows = [
        [
            line.part,
            line.way.name,
            _cell(line, "found"),
            _cell(line, "usable"),
            _cell(line, "broken", 0),
            *(_cell(line, name) for name in measures[2:]),
            str(len(line.worse)),
        ]
        for line in lines
    ]
    return out + _table(("under", "method", "found", "usable", "broken", *measures[2:], "worse"), rows)


TABLES: Mapping[str, Callable[[Sequence[Line]], list[str]]] = {
    "options": _options,
    "compliance": _compliance,
    "groups": _groups,
    "limits": _limits,
}


def by_group(lines: Sequence[Line]) -> list[Line]:
    """Lines of the page of groups, one for each group."""
    out = []
    for line in lines:
        for group in dict.fromkeys(key.partition(" | ")[0] for key in line.mean):
            mean, spread = (
                {
                    key.partition(" | ")[2]: value
                    for key, value in told.items()
                    if key.startswith(f"{group} | ")
                }
                for told in (line.mean, line.spread)
            )
            out.append(Line(line.setting, line.way, group, mean, spread))
    return out


# -- findings --------------------------------------------------------------------------------------------------


def _of(lines: Sequence[Line]) -> dict[tuple[str, Way, str], Line]:
    return {(line.setting, line.way, line.part): line for line in lines}


def _check(name: str, statement: str, holds: bool | None, measured: str) -> Check:
    return Check(name, statement, holds, measured, aim=True)


def _ratio(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _options_found(lines: Sequence[Line]) -> list[Check]:
    by, out = _of(lines), []
    asked = [line for line in lines if line.way.asks]
    least = min(asked, key=lambda line: line.mean["usable"])
    out.append(
        _check(
            "who is served",
            "with balance at least .95 of the refused have a usable option, from every method",
            least.mean["usable"] >= 0.95,
            f"least {least.mean['usable']:.3f}: {least.way.name}, {least.setting}",
        )
    )
    alike = max(abs(line.mean["found"] - line.mean["usable"]) for line in lines)
    out.append(
        _check(
            "confirmed", "`evaluate` confirms every option", alike < 1e-9, f"largest difference {alike:.4f}"
        )
    )
    for method in dict.fromkeys(line.way.method for line in asked):
        mine = [line for line in asked if line.way.method == method and line.way.beta == 0.3]
        pairs = [(by[line.setting, Way(method), ""], line) for line in mine]
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
        out.append(
            _check(
                f"{method}, beta .3",
                "fewer indices are worse than before anybody acts, or none is",
                last < first if first else last == 0,
                f"worse {first} → {last} of {3 * len(pairs)}; nearer to even than plain in {better}; cost x "
                f"{_ratio(cost)}; gap smaller in {sum(gap)} of {len(gap)}",
            )
        )
        alone = {line.setting: line.mean["alone"] for line in mine}
        out.append(
            _check(
                f"{method}, alone at .3",
                "finds balanced options for half of the refused by itself",
                min(alone.values()) >= 0.5,
                ", ".join(f"{name} {value:.2f}" for name, value in alone.items()),
            )
        )
    out += _against_ebr(by)
    return out


def _against_ebr(by: Mapping[tuple[str, Way, str], Line]) -> list[Check]:
    out = []
    for method in ("local-search", "carma", "icarma"):
        pairs = [
            (line, by[setting, Way("ebr", 0.3), ""])
            for (setting, way, _), line in by.items()
            if way == Way(method, 0.3) and (setting, Way("ebr", 0.3), "") in by
        ]
        if not pairs:
            continue
        cost = [line.mean["cost"] / ebr.mean["cost"] for line, ebr in pairs]
        more = sum(DIMENSIONS[n] * (line.mean[n] - ebr.mean[n]) > 0 for line, ebr in pairs for n in INDICES)
        out.append(
            _check(
                f"{method} against ebr",
                "costs less than ebr at the same beta",
                max(cost) < 1,
                f"x {_ratio(cost)}; more segregated than with ebr in {more} of {3 * len(pairs)}",
            )
        )
    return out


def _compliance_found(lines: Sequence[Line]) -> list[Check]:
    out, crooked = [], []
    for line in lines:
        for name in INDICES:
            start, end = line.mean[f"0 {name}"], line.mean[f"1 {name}"]
            if abs(end - start) < 0.005:
                continue
            share = [line.mean[f"{s:g} took"] for s in SHARES]
            value = np.array([line.mean[f"{s:g} {name}"] for s in SHARES])
            off = np.abs(value - (start + np.array(share) * (end - start))).max() / abs(end - start)
            crooked.append((float(off), f"{line.setting}, {line.way.name}, {name}"))
    crooked.sort()
    if crooked:
        out.append(
            _check(
                "the way is straight",
                "no share lies off the straight line by more than a tenth of the whole change",
                crooked[-1][0] <= 0.1,
                f"median {np.median([c for c, _ in crooked]):.2f}, most {crooked[-1][0]:.2f} ({crooked[-1][1]})",
            )
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
                    beyond.append((float(more.mean()), f"{line.setting}, {line.way.name}, {name} at {s:g}"))
            change = sign * (line.mean[f"1 {name}"] - line.mean[f"0 {name}"])
            if change < -0.005:
                half = sign * (line.mean[f"0.5 {name}"] - line.mean[f"0 {name}"]) / change
                early.append((half, name))
    worst = max(beyond, default=(0.0, "nowhere"))
    places = dict.fromkeys(told.rpartition(" at ")[0] for _, told in beyond)
    out.append(
        _check(
            "a share divides more than nobody and than everybody",
            "at no share (by more than .001 and two standard errors)",
            None if len(lines[0].each) < 2 else not beyond,
            f"{len(places)} of {3 * len(lines)} ways and indices; most {worst[0]:.4f} ({worst[1]})",
        )
    )
    for name in INDICES:
        gained = [value for value, index in early if index == name]
        if gained:
            out.append(
                _check(
                    f"half of the people, {name}",
                    "bring half of the gain or more",
                    float(np.mean(gained)) >= 0.5 - 1e-9,
                    f"share of the gain {_ratio(gained)} over {len(gained)} ways that gain",
                )
            )
    took = {
        line.way.name: [other.mean["willing took"] for other in lines if other.way == line.way]
        for line in lines
    }
    out.append(
        _check(
            "who is willing",
            "balanced advice is taken as often as the cheapest (within .05)",
            all(np.mean(v) >= np.mean(took["local-search"]) - 0.05 for v in took.values()),
            ", ".join(f"{name} {np.mean(value):.2f}" for name, value in took.items()),
        )
    )
    return out


def _groups_found(lines: Sequence[Line]) -> list[Check]:
    out = []
    for way in dict.fromkeys(line.way for line in lines):
        some = by_group([line for line in lines if line.way == way])
        counts = {
            setting: [len(line.worse) for line in some if line.setting == setting]
            for setting in dict.fromkeys(line.setting for line in some)
        }
        total = sum(sum(v) for v in counts.values())
        told = ", ".join(f"{name} {sum(v)} of {3 * len(v)}" for name, v in counts.items())
        out.append(
            _check(way.name, "no group is further from the rest by any index", total == 0, f"worse: {told}")
        )
    return out


def _limits_found(lines: Sequence[Line]) -> list[Check]:
    by = _of(lines)
    broken = sum(line.seeds("broken").sum() for line in lines)
    alike = max(abs(line.mean["found"] - line.mean["usable"]) for line in lines)
    options = sum((line.seeds("found") * line.seeds("refused")).sum() for line in lines)
    out = [
        _check(
            "broken",
            "no option breaks a rule, a limit or the schema",
            broken == 0,
            f"{broken:.0f} of {options:,.0f}",
        ),
        _check(
            "confirmed", "`evaluate` confirms every option", alike < 1e-9, f"largest difference {alike:.4f}"
        ),
    ]
    ebr, nearest = Way("ebr", 0.3), Way("local-search")
    for part in LIMITS:
        for way in dict.fromkeys(line.way for line in lines if line.way != nearest):
            mine = {line.setting: line for line in lines if line.way == way and line.part == part}
            found = {
                name: line.mean["found"] / by[name, nearest, part].mean["found"]
                for name, line in mine.items()
            }
            out.append(
                _check(
                    f"{way.name}, {part}",
                    "serves .9 of those whom local-search serves",
                    min(found.values()) >= 0.9,
                    ", ".join(f"{name} {value:.2f}" for name, value in found.items())
                    + f"; worse indices {sum(len(line.worse) for line in mine.values())} of {3 * len(mine)}",
                )
            )
    pairs = [
        (line, by[line.setting, Way("local-search", 0.3), line.part]) for line in lines if line.way == ebr
    ]
    if pairs:
        most = max(ebr_line.mean["found"] - other.mean["found"] for ebr_line, other in pairs)
        out.append(
            _check(
                "the search or the limits",
                "ebr finds nobody whom balanced local-search does not find (within .02)",
                most <= 0.02,
                f"ebr finds at most {most:+.3f} more",
            )
        )
    return out


CHECKS: Mapping[str, Callable[[Sequence[Line]], list[Check]]] = {
    "options": _options_found,
    "compliance": _compliance_found,
    "groups": _groups_found,
    "limits": _limits_found,
}
