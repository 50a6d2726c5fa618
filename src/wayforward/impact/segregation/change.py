"""Segregation before and after people follow the advice: the impacted population, and what got worse in it.

Source: R. Gao & H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML: section 6.
Partial compliance, named there as future work, more than two groups and intervals are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wayforward.errors import DataError, numbers_in, require_kind
from wayforward.evaluate.stats import Estimate
from wayforward.groups import Groups
from wayforward.impact.segregation.dimensions import (
    DIMENSIONS,
    PUBLISHED,
    Areas,
    Denominator,
    Segregation,
    comparisons,
    interval_of,
    land,
    places,
    resampled,
    segregation,
    standard_error,
)
from wayforward.lazy import Renamed
from wayforward.public import public
from wayforward.recourse import Recourse, require_option
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import Streams, keys_of


@public
@dataclass(frozen=True)
class Change:
    """Segregation of a group before and after recourse, over the same people in the same order.

    people: in the population. refused: of them by the model. served: of these, with an option. followed: of these, who
    took it. Whoever has no option, or does not follow, stays where they are.
    """

    before: Segregation
    after: Segregation
    people: int
    refused: int
    served: int
    followed: int

    asked = Renamed("refused")

    @property
    def difference(self) -> dict[str, float]:
        """After less before, by dimension."""
        return {name: getattr(self.after, name) - getattr(self.before, name) for name in DIMENSIONS}

    @property
    def error(self) -> dict[str, float]:
        """Standard errors of the differences that samples estimated, the same people before and after."""
        first, second = self.before.samples, self.after.samples
        return {name: standard_error(second[name] - first[name]) for name in first}

    @property
    def worse(self) -> tuple[str, ...]:
        """Dimensions in which people are more segregated afterwards (by more than rounding)."""
        return tuple(n for n, sign in DIMENSIONS.items() if sign * self.difference[n] > 1e-12)

    @property
    def n_increases(self) -> int:
        """How many of the three published dimensions got worse: centralization, atkinson, proximity."""
        return len([name for name in self.worse if name in PUBLISHED])

    def intervals(
        self, *, resamples: int = 200, seed: int = 0, people: int = 2000, level: float = 0.95
    ) -> dict[str, dict[str, Estimate]]:
        """By dimension, 'before', 'after' and 'difference' with bootstrap intervals.

        The same people are drawn in both populations, so the interval of the difference is a paired one. See
        `Segregation.intervals` for how; who follows is not drawn anew.
        """
        sides = [s.sides for s in (self.before, self.after) if s.sides is not None]
        drawn = resampled(
            sides,
            [self.before.settings, self.after.settings],
            resamples=resamples,
            seed=seed,
            people=people,
        )
        n = len(sides[0].point)
        out = {}
        for j, name in enumerate(DIMENSIONS):
            parts = {
                "before": (getattr(self.before, name), drawn[:, 0, j], (0.0, 1.0)),
                "after": (getattr(self.after, name), drawn[:, 1, j], (0.0, 1.0)),
                "difference": (self.difference[name], drawn[:, 1, j] - drawn[:, 0, j], (-1.0, 1.0)),
            }
            out[name] = {
                part: interval_of(value, b, n, people, level, bounds=bounds)
                for part, (value, b, bounds) in parts.items()
            }
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no row of a person."""
        return {
            "people": self.people,
            "asked": self.refused,
            "served": self.served,
            "followed": self.followed,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "difference": self.difference,
            "error": self.error,
            "worse": list(self.worse),
            "n_increases": self.n_increases,
        }

    def __str__(self) -> str:
        """A small table."""
        lines = [
            f"{self.before.group} ({self.before.members}) against {self.before.against} ({self.before.others}): "
            f"{self.followed} of {self.refused} refused people of the population followed an option",
            f"{'':16}{'before':>10}{'after':>10}",
        ]
        for name in DIMENSIONS:
            worse = "  more segregated" if name in self.worse else ""
            lines.append(
                f"{name:16}{getattr(self.before, name):10.4f}{getattr(self.after, name):10.4f}{worse}"
            )
        return "\n".join(lines)


@public
def compliant(x: npt.ArrayLike, share: npt.ArrayLike, *, seed: int = 0) -> Mask:
    """Return who follows the advice, drawn for each person of x (n, d): (n,).

    share: one number for everybody, or one for each person (n,). A person's draw depends on the seed and on their own
    row (and, among people with equal rows, on which of them they are), not on who else is there; whoever follows with
    a share of .2 does so with .5.
    Raises: DataError for a share outside 0 to 1, or of another length.
    """
    rows, chance = numbers_in(x, "x"), numbers_in(share, "share")
    if rows.ndim != 2:
        raise DataError(f"x has shape {rows.shape}. Give people (n, d).")
    if chance.shape not in ((), (len(rows),)) or not ((chance >= 0) & (chance <= 1)).all():
        raise DataError(
            f"compliance is a share from 0 to 1, one for everybody or one for each of {len(rows)} people; "
            f"got {share if chance.shape == () else chance.shape}."
        )
    streams = Streams(keys_of(np.column_stack([rows, _copy_number(rows)]), seed), seed)
    return np.asarray(streams.uniform(np.arange(len(rows)), tag=0xF0110) < chance)


def _copy_number(rows: Floats) -> Ints:
    """Return 0 for the first person with these values, 1 for the second, and so on: (n,)."""
    _, kind = np.unique(np.where(np.isnan(rows), np.inf, rows), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    start = np.r_[0, np.flatnonzero(np.diff(kind[order])) + 1]
    number = np.arange(len(rows)) - np.repeat(start, np.diff(np.r_[start, len(rows)]))
    out = np.empty(len(rows), dtype=np.int64)
    out[order] = number
    return out


@public
def impacted(
    x_all: Any,
    recourse: Recourse,
    *,
    who: Any = None,
    compliance: float | Any = 1.0,
    option: int = 0,
    seed: int = 0,
) -> tuple[Floats, dict[str, int]]:
    """Return the population after people acted (n, d), and counts of who was asked, served and followed.

    x_all: everybody, a table or (n, d). recourse: answers for everybody, or for the people that `who` picks
    (positions, or a mask (n,)). A person with an option who follows is replaced by where it leads; all others stay.
    Raises: DataError if answers and people do not match.
    """
    x = np.array(recourse.schema.encode(x_all), dtype=np.float64)
    at = np.arange(len(x)) if who is None else np.arange(len(x))[np.asarray(who)]
    if len(at) != recourse.n or x.ndim != 2 or x.shape[1] != recourse.d:
        raise DataError(
            f"There are answers for {recourse.n} people and {len(at)} people to apply them to. Give `who`: the "
            "positions in x_all of the people whom the answers are for."
        )
    if not np.array_equal(x[at], recourse.x, equal_nan=True):
        raise DataError(
            "The answers are for other people than those they are applied to: rows differ. Give `who`."
        )
    require_option(recourse, option)
    served = recourse.found[:, option]
    follows = served & compliant(recourse.x, compliance, seed=seed)
    x[at[follows]] = recourse.after[follows, option]
    counts = {
        "people": len(x),
        "asked": int(recourse.refused.sum()),
        "served": int(served.sum()),
        "followed": int(follows.sum()),
    }
    return x, counts


@public
def before_after(
    problem: Any,
    x_all: Any,
    recourse: Recourse,
    groups: Groups | str,
    *,
    who: Any = None,
    group: str | int | None = None,
    against: str | int | None = None,
    compliance: float | Any = 1.0,
    option: int = 0,
    leave_out: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    areas: Areas | None = None,
    k: int = 30,
    radius: float | Literal["own", "original"] = "own",
    denominator: Denominator = "population",
    beta: float = 0.5,
    sample: int | None = None,
    seed: int = 0,
) -> Change:
    """Measure the segregation of a group before and after people follow their first option.

    problem: a `Problem` or `Schema`. x_all: the whole population, accepted people too, a table or (n, d). recourse:
    answers for all of them, or for those whom `who` picks. groups: `Groups` of x_all, or the name of a feature.
    compliance: share of people who follow, or a share for each person whom the answers are for; see `compliant`.

    Places are made of all features but the sensitive attribute, in the ranges of the original people; `leave_out` or
    `keep` say otherwise. Areas are fitted once on the original people. radius: 'own' takes each population's own 20 %
    quantile of distances within the group, as published; 'original' one for both. The rest: see `segregation`.

    Example: ``before_after(problem, x, wf.recommend(problem, x), "sex", compliance=.5).n_increases``.
    Raises: DataError for groups or answers that do not fit.
    """
    both = _Populations.of(
        problem, x_all, recourse, groups, who, compliance, option, leave_out, keep, areas, k, seed
    )
    how = {"denominator": denominator, "beta": beta, "sample": sample, "seed": seed}
    return both.change(group, against, radius, how)


@public
def before_after_each(
    problem: Any,
    x_all: Any,
    recourse: Recourse,
    groups: Groups | str,
    *,
    versus: Literal["rest", "each other"] = "rest",
    who: Any = None,
    compliance: float | Any = 1.0,
    option: int = 0,
    leave_out: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    areas: Areas | None = None,
    k: int = 30,
    radius: float | Literal["own", "original"] = "own",
    denominator: Denominator = "population",
    beta: float = 0.5,
    sample: int | None = None,
    seed: int = 0,
) -> dict[str, Change]:
    """Measure `before_after` of every group against the rest, or of every pair of groups; areas are the same in all."""
    both = _Populations.of(
        problem, x_all, recourse, groups, who, compliance, option, leave_out, keep, areas, k, seed
    )
    how = {"denominator": denominator, "beta": beta, "sample": sample, "seed": seed}
    return {
        label: both.change(one, other, radius, how) for label, one, other in comparisons(both.groups, versus)
    }


@dataclass(frozen=True)
class _Populations:
    """Both populations at their places."""

    before: Floats
    after: Floats
    groups: Groups
    areas: Areas
    counts: Mapping[str, int]

    @classmethod
    def of(
        cls,
        problem: Any,
        x_all: Any,
        recourse: Recourse,
        groups: Groups | str,
        who: Any,
        compliance: float | Any,
        option: int,
        leave_out: Sequence[str] | None,
        keep: Sequence[str],
        areas: Areas | None,
        k: int,
        seed: int,
    ) -> _Populations:
        from wayforward.problem import Problem

        if not isinstance(problem, Schema):
            require_kind(problem, Problem, "problem")
        require_kind(recourse, Recourse, "recourse")
        schema: Schema = problem if isinstance(problem, Schema) else problem.schema
        recourse.require_schema(schema)
        if isinstance(problem, Problem):
            recourse = recourse.as_of(problem)
        x = schema.encode(x_all)
        if isinstance(groups, str):
            groups = Groups.of(groups, x, schema)
        if len(groups) != len(x):
            raise DataError(
                f"'{groups.name}' is known of {len(groups)} people and there are {len(x)}. Give the same people."
            )
        if leave_out is None:  # intersections carry the names of their parts
            leave_out = [
                n for n in {groups.name, *groups.name.split(" and ")} if n in schema.names and not keep
            ]
        y, counts = impacted(x, recourse, who=who, compliance=compliance, option=option, seed=seed)
        start, end = (places(schema, rows, leave_out, like=x, keep=keep) for rows in (x, y))
        if areas is None:
            labelled = groups.member >= 0
            areas = Areas.fit(start[labelled], k, seed=seed, land=land(schema, x, leave_out, keep=keep))
        return cls(start, end, groups, areas, counts)

    def change(
        self,
        group: str | int | None,
        against: str | int | None,
        radius: float | str,
        how: dict[str, Any],
    ) -> Change:
        if isinstance(radius, str) and radius not in ("own", "original"):
            raise DataError(f"radius is 'own', 'original' or a number; got {radius!r}.")
        fixed = None if isinstance(radius, str) else radius
        side: dict[str, Any] = {"group": group, "against": against, "areas": self.areas}
        first = segregation(self.before, self.groups, radius=fixed, **side, **how)
        if radius == "original":
            fixed = first.radius
            first = replace(first, settings={**first.settings, "radius": fixed})  # in resamples, too
        second = segregation(self.after, self.groups, radius=fixed, **side, **how)
        counts = self.counts
        return Change(first, second, counts["people"], counts["asked"], counts["served"], counts["followed"])
