"""Answers in shards judged again, one shard at a time: the numbers of an evaluation, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.evaluate import Estimate, Evaluation, evaluate
from wayforward.evaluate.metric import MEANING, UNREAD, Level
from wayforward.evaluate.stats import NOTHING, wilson
from wayforward.evaluate.unread import RATES
from wayforward.public import public
from wayforward.recourse import Outcome
from wayforward.scale.answers import Answers
from wayforward.workers import Kind, as_done, check_workers

if TYPE_CHECKING:
    from wayforward.problem import Problem

_Z = 1.959963984540054  # of a normal 95 % interval


@dataclass
class Moments:
    """Number, mean and sum of squared deviations of values; those of parts add up to those of the whole."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    share: bool = True  # all values were 0 or 1

    @classmethod
    def of(cls, values: np.ndarray) -> Moments:
        """Of the finite entries of values (n,)."""
        known = values[np.isfinite(values)]
        if not len(known):
            return cls()
        mean = float(known.mean())
        share = bool(np.isin(known, (0.0, 1.0)).all())
        return cls(len(known), mean, float(((known - mean) ** 2).sum()), share)

    @classmethod
    def of_estimate(cls, found: Estimate) -> Moments:
        """Of the values behind an estimate."""
        if not found.n:
            return cls()
        share = bool(abs(found.std**2 - found.value * (1 - found.value)) < 1e-12)
        return cls(found.n, found.value, found.n * found.std**2, share)

    def plus(self, other: Moments) -> Moments:
        """Of both together. TableSource: T. F. Chan, G. H. Golub & R. J. LeVeque (1983), Am. Stat. 37(3)."""
        n = self.n + other.n
        if not n:
            return self
        gap = other.mean - self.mean
        mean = self.mean + gap * other.n / n
        squares = self.squares + other.squares + gap**2 * self.n * other.n / n
        return Moments(n, mean, squares, self.share and other.share)

    def estimate(self) -> Estimate:
        """The mean with its 95 % interval: Wilson's for a share, else the normal one; no median."""
        if not self.n:
            return NOTHING
        std = float(np.sqrt(self.squares / self.n))
        if self.share:
            low, high = wilson(round(self.mean * self.n), self.n)
        else:
            half = _Z * std / np.sqrt(self.n)
            low, high = self.mean - half, self.mean + half
        return Estimate(self.mean, float(low), float(high), self.n, std=std)


@public
@dataclass
class TableEvaluation:
    """What `evaluate_table` found out: totals and, with groups, their parts; nothing of single people.

    totals: metric -> Estimate, without medians. groups: group -> metric -> Estimate, over those refused. outcomes:
    how people ended, worked out again. refuted: people whose answer says something else than was found. notes: what
    could not be measured.
    """

    n: int = 0
    n_refused: int = 0
    totals: dict[str, Estimate] = field(default_factory=dict)
    groups: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    refuted: int = 0
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Estimate:
        """The estimate of one metric. Raises: DataError for an unknown name."""
        if metric not in self.totals:
            raise DataError(f"There is no metric '{metric}' here; there are {', '.join(self.totals)}.")
        return self.totals[metric]

    def table(self) -> list[dict[str, Any]]:
        """One row a metric: metric, value, low, high, n, meaning."""
        return [
            {
                "metric": name,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "n": e.n,
                "meaning": (MEANING | UNREAD).get(name, ""),
            }
            for name, e in self.totals.items()
        ]

    def by_group(self) -> list[dict[str, Any]]:
        """One row a group and metric: group, metric, value, low, high, n."""
        return [
            {"group": group, "metric": name, "value": e.value, "low": e.low, "high": e.high, "n": e.n}
            for group, found in sorted(self.groups.items())
            for name, e in found.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "n": self.n,
            "asked": self.n_refused,
            "outcomes": self.outcomes,
            "refuted": self.refuted,
            "metrics": {name: e.to_dict() for name, e in self.totals.items()},
            "by_group": self.by_group(),
            "notes": list(self.notes),
        }


@public
def evaluate_table(
    answers: Answers | str | Path,
    problem: Problem,
    groups: str | None = None,
    *,
    metrics: Level = "standard",
    seed: int = 0,
    workers: int = 1,
    on: Kind = "processes",
    progress: Callable[[int, int], None] | None = None,
    **more: Any,
) -> TableEvaluation:
    """Judge the answers of a folder again, shard by shard: as `wf.evaluate`, with the memory of one shard a worker.

    groups: a feature with levels. more: density, other_model, true_world, reference as of `wf.evaluate`. Means, shares
    and their intervals are those of all people at once (normal intervals, no medians). progress: called with (shards
    done, shards in all). Raises: FileFormatError for compact answers; DataError where there are none.
    Example: ``evaluate_table("answers", problem, groups="sex")["usable"].value``.
    """
    check_workers(workers, on)
    folder = answers if isinstance(answers, Answers) else Answers.open(answers)
    entries = folder.entries()
    shards = [entry["shard"] for entry in entries if entry["people"] > entry["problems"]]
    odd = [_unread(entry["people"]) for entry in entries if 0 < entry["people"] == entry["problems"]]
    if not shards:
        raise DataError(f"'{folder.folder.name}' holds no answers yet. Run recommend_table first.")
    work = _Judge(folder, problem, groups, {"metrics": metrics, "seed": seed, **more})
    parts: dict[int, _Part] = {}
    for i, part in as_done(work, [(shard,) for shard in shards], workers=workers, on=on):
        parts[i] = part
        if progress is not None:
            progress(len(parts), len(shards))
    return _together([parts[i] for i in range(len(shards))] + odd)


@dataclass
class _Part:
    """What is kept of a shard."""

    n: int
    n_refused: int
    totals: dict[str, Moments]
    groups: dict[str, dict[str, Moments]]
    outcomes: dict[str, int]
    refuted: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Judge:
    """Judge a shard: what a worker does."""

    answers: Answers
    problem: Problem
    groups: str | None
    given: dict[str, Any]

    def __call__(self, shard: int) -> _Part:
        found = evaluate(self.answers.recourse(shard), self.problem, self.groups, bootstrap=0, **self.given)
        totals = {name: Moments.of_estimate(e) for name, e in found.totals.items()}
        if not found.unread.any():
            totals |= {"usable_read": totals["usable"], "not_asked": Moments(found.n)}
        return _Part(
            found.n, int(found.refused.sum()), totals, _by_group(found, self.groups),
            found.outcomes, found.refuted, found.notes,
        )  # fmt: skip


def _unread(n: int) -> _Part:
    """A shard of n people of whom none could be read."""
    totals = dict.fromkeys(RATES, Moments(n)) | {"not_asked": Moments(n, 1.0), "usable_read": Moments()}
    return _Part(n, 0, totals, {}, {Outcome.NOT_ASKED.name: n}, 0, ())


def _by_group(found: Evaluation, groups: str | None) -> dict[str, dict[str, Moments]]:
    if groups is None:
        return {}
    labels = found.labels()
    return {
        group: {
            name: Moments.of(
                np.where(found.unread, 0.0, values)[(labels == group) & found.wanting]
                if name in RATES
                else values[(labels == group) & found.refused]
            )
            for name, values in found.people.items()
        }
        for group in sorted(set(labels.tolist()))
    }


def _together(parts: list[_Part]) -> TableEvaluation:
    totals: dict[str, Moments] = {}
    groups: dict[str, dict[str, Moments]] = {}
    for part in parts:
        for name, some in part.totals.items():
            totals[name] = totals.get(name, Moments()).plus(some)
        for group, found in part.groups.items():
            mine = groups.setdefault(group, {})
            for name, some in found.items():
                mine[name] = mine.get(name, Moments()).plus(some)
    names = dict.fromkeys(name for part in parts for name in part.outcomes)
    ends = {name: sum(part.outcomes.get(name, 0) for part in parts) for name in names}
    if not totals["not_asked"].mean:
        del totals["not_asked"], totals["usable_read"]
    return TableEvaluation(
        n=sum(part.n for part in parts),
        n_refused=sum(part.n_refused for part in parts),
        totals={name: some.estimate() for name, some in totals.items()},
        groups={g: {name: some.estimate() for name, some in found.items()} for g, found in groups.items()},
        outcomes=ends,
        refuted=sum(part.refuted for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
