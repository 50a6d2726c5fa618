"""The leaderboard: shares, costs and tiers computed from judged rows, as Markdown and as a page that stands alone.

Two submissions answer the same people, so they are compared person by person: under chance alone, who of the two had
the better answer for a person is a coin. Tiers hold what cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from wayforward.answers import words
from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate
from wayforward.tracks.entries import Store, TrackEntry
from wayforward.tracks.tasks import TASKS, TRACKS, Track

LEVEL = 0.05  # of all comparisons of a track together
_COINS = 9_999


@dataclass(frozen=True)
class BoardLine:
    """One submission on a track. tier: 1 for those that no other one beats. served: share of people (of the group that
    is served worst, named in `group`). cost: geometric mean of the cost as a multiple of the least that any entry found
    for the same person, over those served. beaten: who is better. notes: a line for each task that went wrong."""

    tier: int
    name: str
    kind: str
    served: Estimate
    cost: Estimate
    beaten: tuple[str, ...]
    notes: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True)
class TrackBoard:
    """A track: its tasks with what is known of them, and its lines, best first."""

    track: Track
    tasks: Mapping[str, Mapping[str, Any]]
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True)
class Board:
    """All tracks. notes: files that count for nothing, and why. versions: of the library, of all entries."""

    tracks: tuple[TrackBoard, ...]
    notes: tuple[str, ...]
    versions: tuple[str, ...]

    def html(self) -> str:
        """Return one page without scripts, which asks nobody for anything."""
        from wayforward.answers.page import template_engine

        text: str = template_engine().get_template("leaderboard.html.j2").render(
            title="Leaderboard", intro=_INTRO, tracks=[_shown(one) for one in self.tracks], notes=self.notes,
            versions=", ".join(self.versions),
        )  # fmt: skip
        return text

    def markdown(self) -> str:
        """Return the same as a page of the documentation."""
        out = ["# Leaderboard", "", *(f"{line}\n" for line in _INTRO)]
        out += [
            "[How to submit](guide/bench-submit.md). `make leaderboard` writes this page from the entries in "
            f"`benchmarks/entries`; version {', '.join(self.versions)} of the library.",
            "",
        ]
        for one in map(_shown, self.tracks):
            out += [
                f"## {one['title']}",
                "",
                one["about"],
                "",
                *_grid(one["rows"]),
                "",
                one["tasks"],
                "",
            ]
            out += [f"- {note}" for note in one["notes"]] + ([""] if one["notes"] else [])
        out += [f"- {note}" for note in self.notes]
        return "\n".join(out).rstrip() + "\n"


_INTRO = (
    "Every answer here was judged by the library and by the model itself; nothing that a submission says about itself "
    "is believed. *Served* is the share of people with an option that counts in the track, with its 95 % interval; "
    "whoever has none counts, and so does everybody where a submission failed or does not take a task. *Cost* is how "
    "many times as much is asked as in the cheapest option that any submission here found for the same person: the "
    "geometric mean over the people it serves.",
    "One submission is better than another if it serves more of the same people, beyond chance; where that is "
    "undecided, if it asks less of the people whom both serve, beyond chance. Chance is tested by coins that swap the "
    "two submissions' answers person by person, with an error of at most 5 % over all pairs of a track (Holm). Tier 1 "
    "holds those that nobody beats, tier 2 those that only tier 1 beats, and so on; inside a tier the order is "
    "undecided.",
)


def board(store: Store) -> Board:
    """Compute the leaderboard from what is stored; no data set and no model is needed.

    Raises: FileFormatError for a broken `tasks.json`.
    """
    entries, notes = store.entries()
    known = store.tasks()
    tracks = []
    for track in TRACKS.values():
        tasks = {name: known[name] for name in known if TASKS[name].track == track.name}
        own = [one for one in entries if one.task in tasks]
        if own:
            tracks.append(TrackBoard(track, tasks, _lines(track, tasks, own)))
    absent = [name for name in TASKS if name not in known]
    if absent:
        notes.append(f"not judged yet: {', '.join(absent)}")
    return Board(tuple(tracks), tuple(notes), tuple(sorted({one.version for one in entries})))


def better(
    served: np.ndarray, cost: np.ndarray, cell: np.ndarray, *, seed: int = 0
) -> dict[tuple[int, int], str]:
    """Which of m submissions is better than which: (better, worse) -> 'served' or 'cost'; undecided pairs are absent.

    served (m, N) bool; cost (m, N), NaN where not served; cell (N,) whole numbers: the share compared is that of the
    cell served worst; one cell: of everybody.
    """
    pairs = list(combinations(range(len(served)), 2))
    first = {pair: _served_by_chance(served[pair[0]], served[pair[1]], cell, seed) for pair in pairs}
    found = {_ordered(pair, first[pair][0]): "served" for pair in _beyond_chance(first)}
    rest = [pair for pair in pairs if pair not in found and pair[::-1] not in found]
    second = {pair: _cost_by_chance(cost[pair[0]], cost[pair[1]], seed) for pair in rest}
    return found | {_ordered(pair, -second[pair][0]): "cost" for pair in _beyond_chance(second)}


def tiers(m: int, better_than: Mapping[tuple[int, int], str]) -> list[int]:
    """Tier of each of m submissions: 1 for those that nobody beats, 2 for those that only tier 1 does, and so on."""
    tier, rest, now = [0] * m, set(range(m)), 1
    while rest:
        free = {i for i in rest if not any((j, i) in better_than for j in rest)} or set(rest)  # a circle
        for i in free:
            tier[i] = now
        rest -= free
        now += 1
    return tier


def _ordered(pair: tuple[int, int], difference: float) -> tuple[int, int]:
    return pair if difference > 0 else (pair[1], pair[0])


def _beyond_chance(found: Mapping[tuple[int, int], tuple[float, float]]) -> list[tuple[int, int]]:
    """Pairs whose difference is beyond chance, by Holm's steps. Source: S. Holm (1979), Scand. J. Stat. 6."""
    out = []
    for place, pair in enumerate(sorted(found, key=lambda pair: found[pair][1])):
        if found[pair][1] > LEVEL / (len(found) - place):
            break
        out.append(pair)
    return out


def _served_by_chance(a: np.ndarray, b: np.ndarray, cell: np.ndarray, seed: int) -> tuple[float, float]:
    """Difference of the least share over cells, and how often chance alone makes one as large."""
    cells = int(cell.max(initial=0)) + 1
    n, both = np.bincount(cell, minlength=cells), np.bincount(cell[a & b], minlength=cells)
    differ = np.flatnonzero(a != b)
    if not len(differ):
        return 0.0, 1.0
    gain = np.eye(cells)[cell[differ]]  # (m, cells)

    def difference(won: np.ndarray) -> np.ndarray:
        least = [((both + part.astype(np.float64) @ gain) / n).min(1) for part in (won, ~won)]
        return np.asarray(least[0] - least[1])

    coins = np.random.default_rng(seed).random((_COINS, len(differ))) < 0.5
    seen = float(difference(a[None, differ])[0])
    return seen, float((1 + (np.abs(difference(coins)) >= abs(seen) - 1e-12).sum()) / (1 + _COINS))


def _cost_by_chance(a: np.ndarray, b: np.ndarray, seed: int) -> tuple[float, float]:
    """Mean log ratio of the costs a / b over people with both, and how often chance alone makes one as large."""
    ratio = _log(a) - _log(b)
    ratio = ratio[np.isfinite(ratio) & (np.abs(ratio) > 1e-9)]
    if not len(ratio):
        return 0.0, 1.0
    signs = np.sign(np.random.default_rng(seed).random((_COINS, len(ratio))) - 0.5)
    seen = float(ratio.sum())
    return seen, float((1 + (np.abs(signs @ ratio) >= abs(seen) - 1e-12).sum()) / (1 + _COINS))


def _log(cost: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(cost))


def _lines(
    track: Track, tasks: Mapping[str, Mapping[str, Any]], entries: Sequence[TrackEntry]
) -> tuple[BoardLine, ...]:
    names = list(dict.fromkeys(one.name for one in entries))
    found = {(one.name, one.task): one for one in entries}
    groups = [
        f"{task}: {group}" if group else ""
        for task, about in tasks.items()
        for group in about["groups"] or [""] * about["n"]
    ]
    kinds, cell = np.unique(np.array(groups), return_inverse=True)
    served, cost = np.zeros((len(names), len(cell)), dtype=bool), np.full((len(names), len(cell)), np.nan)
    at = np.cumsum([0, *(about["n"] for about in tasks.values())])
    for i, name in enumerate(names):
        for place, task in enumerate(tasks):
            if (one := found.get((name, task))) is not None:
                served[i, at[place] : at[place + 1]] = one.serves()
                cost[i, at[place] : at[place + 1]] = one.costs()
    above = better(served, cost, cell)
    tier = tiers(len(names), above)
    with np.errstate(all="ignore"):
        times = _log(cost) - _log(np.nanmin(np.where(np.isnan(cost), np.inf, cost), axis=0))
    lines = []
    for i, name in enumerate(names):
        own = [found[name, task] for task in tasks if (name, task) in found]
        worst = int(np.argmin([served[i, cell == c].mean() for c in range(len(kinds))]))
        ratio = stats.mean(times[i])
        lines.append(
            BoardLine(
                tier[i], name, own[0].kind, stats.rate(served[i, cell == worst]),
                Estimate(float(np.exp(ratio.value)), float(np.exp(ratio.low)), float(np.exp(ratio.high)), ratio.n),
                tuple(names[j] for j in range(len(names)) if (j, i) in above),
                tuple(f"{task}: {note}" for task in tasks if (note := _note(found.get((name, task))))),
                str(kinds[worst]),
            )
        )  # fmt: skip
    return tuple(
        sorted(
            lines,
            key=lambda one: (
                one.tier,
                -one.served.value,
                np.nan_to_num(one.cost.value, nan=np.inf),
                one.name,
            ),
        )
    )


def _note(entry: TrackEntry | None) -> str:
    if entry is None:
        return "no answer"
    if entry.state == "judged":
        return entry.why
    return ("does not take it: " if entry.state == "not taken" else "failed: ") + entry.why


def _shown(one: TrackBoard) -> dict[str, Any]:
    """A track in words, for both kinds of page."""
    rows = []
    for line in one.lines:
        row = {
            "Submission": line.name,
            "Tier": str(line.tier),
            "Served": _spread(line.served, 100, 0, f"{words.THIN}%"),
            "Cost, times the least": _spread(line.cost, 1, 2) if line.cost.n else "nobody served",
            "Beaten by": ", ".join(line.beaten) or "nobody",
        }
        if any(about["groups"] for about in one.tasks.values()):
            row["Served worst"] = line.group
        rows.append(row)
    tasks = "; ".join(
        f"{name} ({TASKS[name].data}, {TASKS[name].model}, {about['n']} people, task {about['digest']}, "
        f"model {about['model_digest']})"
        for name, about in one.tasks.items()
    )
    return {
        "name": one.track.name,
        "title": one.track.title,
        "about": f"Served is a person with {one.track.served}.",
        "rows": rows,
        "tasks": f"Tasks: {tasks}.",
        "notes": [f"{line.name}, {note}" for line in one.lines for note in line.notes],
        "caption": f"{one.track.title}: submissions by tier",
    }


def _spread(estimate: Estimate, scale: float, digits: int, unit: str = "") -> str:
    value, *ends = (
        words.number(scale * part, digits) for part in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value}{unit} ({' to '.join(ends)})"


def _grid(rows: Sequence[Mapping[str, str]]) -> list[str]:
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0])]
    lines += [" | ".join(cell.replace("|", "/") for cell in row.values()) for row in rows]
    return [f"| {line} |" for line in lines]
