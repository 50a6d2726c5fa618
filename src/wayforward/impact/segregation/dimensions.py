"""How far a society is divided: five dimensions of segregation among the places that people's features make.

Of D. S. Massey & N. A. Denton (1988), The Dimensions of Residential Segregation, Social Forces 67(2): centralization,
evenness (Atkinson), clustering (average proximity), exposure and concentration. The first three are adapted to features
as in R. Gao & H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML. A number here
measures; none of them certifies that a society is fair.

Every comparison has two sides: a group (the minority, m people) and the others (the rest, or one other group).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from wayforward.errors import (
    DataError,
    is_number,
    is_one_of,
    is_whole,
    names_in,
    numbers_in,
    require_kind,
    require_whole,
    shown,
)
from wayforward.evaluate.distance import euclidean_columns
from wayforward.evaluate.stats import Estimate
from wayforward.groups import Groups
from wayforward.impact.segregation.pairs import mean_of_pairs, quantile_of_pairs, same_around
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.schema import Schema, SchemaWarning
from wayforward.shapes import Floats, Ints, Mask
from wayforward.streams import generator

Denominator = Literal["population", "minority"]

# Name -> +1 where more is more segregated, -1 where less is.
DIMENSIONS: Mapping[str, int] = {
    "centralization": 1,
    "atkinson": 1,
    "proximity": -1,
    "exposure": -1,
    "concentration": 1,
}
PUBLISHED = ("centralization", "atkinson", "proximity")  # those of the tables of Gao & Lakkaraju


@public
def places(
    problem: Problem | Schema,
    rows: npt.ArrayLike,
    leave_out: Sequence[str] = (),
    *,
    like: npt.ArrayLike | None = None,
    keep: Sequence[str] = (),
) -> Floats:
    """Return where people stand, (n, e): coordinates of rows (n, d) in which Euclidean distance is fair.

    problem: a `Problem` or a `Schema`. leave_out: features that make no place, such as the sensitive attribute; keep:
    instead, the only features that do. like (q, d): people whose least and largest values span each number's range
    (the original people, for those after recourse, too); left out, the ranges of the schema.
    Numbers span 0 to 1, two different categories lie one apart, a missing value has a column of its own.
    Raises: DataError for an unknown feature, or if none is left.
    """
    schema = problem if isinstance(problem, Schema) else problem.schema
    leave_out, keep = names_in(leave_out, "leave_out"), names_in(keep, "keep")
    for name in (*leave_out, *keep):
        if name not in schema.names:
            raise DataError(
                f"There is no feature '{name}' to make places of. Known: {', '.join(schema.names)}."
            )
    chosen = [
        f.name not in leave_out and (not keep or f.name in keep) and not f.carried for f in schema.features
    ]
    if not any(chosen):
        raise DataError("No feature is left to make places of. Leave out fewer of them.")
    x = _people(schema, rows)
    if like is not None:
        x = _to_their_ranges(schema, x, _people(schema, like))
    wide = [(f.n_levels if f.kind == "categorical" else 1) + bool(f.missing) for f in schema.features]
    return np.ascontiguousarray(euclidean_columns(schema, x)[:, np.repeat(chosen, wide)])


def _people(schema: Schema, rows: npt.ArrayLike) -> Floats:
    x = numbers_in(rows, "rows")
    if x.ndim != 2 or x.shape[1] != schema.d:
        raise DataError(f"People must be rows with {schema.d} features; got {x.shape}.")
    return x


def _to_their_ranges(schema: Schema, x: Floats, like: Floats) -> Floats:
    """Move and scale numbers so that the range of `like` becomes the range that the schema declares."""
    number = ~schema.is_categorical & ~np.isnan(like).all(0)
    least, most = np.zeros(schema.d), np.ones(schema.d)
    least[number], most[number] = np.nanmin(like[:, number], 0), np.nanmax(like[:, number], 0)
    width = np.where(
        most > least, most - least, schema.span
    )  # one value for everybody: keep the schema's range
    low = np.where(np.isfinite(schema.low), schema.low, 0.0)
    return np.where(number, low + (x - least) / width * schema.span, x)


@public
def land(
    problem: Problem | Schema,
    rows: npt.ArrayLike,
    leave_out: Sequence[str] = (),
    *,
    keep: Sequence[str] = (),
    n: int = 8192,
) -> Floats:
    """Return points spread evenly over the space that people's features span, as `places` sees it: (n, e).

    Numbers between the least and the largest of `rows` (q, d), levels as often as each other; every feature by itself.
    """
    from scipy.stats import qmc

    schema = problem if isinstance(problem, Schema) else problem.schema
    require_whole(least=1, n=n)
    x = _people(schema, rows)
    unit = qmc.Sobol(schema.d, scramble=True, seed=2026).random_base2(int(np.ceil(np.log2(n))))[:n]
    even = np.full((n, schema.d), np.nan)
    for j in range(schema.d):
        known = x[~np.isnan(x[:, j]), j]
        if not len(known):
            continue
        low, high = known.min(), known.max()
        if schema.has_levels[j]:
            levels = np.unique(known)
            even[:, j] = levels[(unit[:, j] * len(levels)).astype(np.int64)]
        elif schema.integral[j]:
            even[:, j] = low + np.floor(unit[:, j] * (high - low + 1))
        else:
            even[:, j] = low + unit[:, j] * (high - low)
    return places(schema, even, leave_out, like=x, keep=keep)


@public
@dataclass(frozen=True)
class Areas:
    """Areal units: k-means cells of the original people. They stay where they are when people move.

    centre (k, e). land (k,): share of the space that each area takes, adding up to 1.

    Example: ``areas = Areas.fit(places(problem, x)); areas.of(places(problem, after, like=x))``.
    """

    centre: Floats
    land: Floats

    @classmethod
    def fit(cls, points: Any, k: int = 30, *, seed: int = 0, land: Any = None) -> Areas:
        """Find areas of people at points (n, e), at most one for each different place.

        land (q, e): points spread evenly over the space that there is; left out, a Sobol sequence over the box of
        `points`. Raises: DataError for points that are none.
        """
        x = _points(points)
        require_whole(least=1, k=k)
        require_whole(seed=seed)
        centre = _centres(x, k, seed)
        if land is None:
            land = _box(x)
        elif (land := _points(land)).shape[1] != x.shape[1]:
            raise DataError(
                f"land has shape {land.shape}; points have {x.shape[1]} columns. Give points (q, {x.shape[1]})."
            )
        share = np.bincount(_nearest(land, centre), minlength=len(centre)).astype(np.float64)
        return cls(centre, share / share.sum())

    def __len__(self) -> int:
        return len(self.centre)

    def of(self, points: Any) -> Ints:
        """Return the area of each of the points (n, e): that of the nearest centre, (n,)."""
        return _nearest(_points(points), self.centre)


def _centres(x: Floats, k: int, seed: int) -> Floats:
    from sklearn.cluster import KMeans

    different = np.unique(x, axis=0)
    if len(different) <= k:
        return different
    return np.asarray(KMeans(k, n_init=4, random_state=seed).fit(x).cluster_centers_, dtype=np.float64)


def _box(x: Floats, power: int = 13) -> Floats:
    from scipy.stats import qmc

    unit = qmc.Sobol(x.shape[1], scramble=True, seed=2026).random_base2(power)
    return np.asarray(x.min(0) + unit * (x.max(0) - x.min(0)))


def _nearest(x: Floats, centre: Floats) -> Ints:
    out = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), 8192):
        out[start : start + 8192] = cdist(x[start : start + 8192], centre).argmin(1)
    return out


@dataclass(frozen=True)
class Sides:
    """Two sides at their places, and their areas, which stay the same for all resamples."""

    point: Floats  # (n, e)
    minority: Mask  # (n,)
    area: Ints  # (n,)
    areas: Areas

    def take(self, rows: Ints) -> Sides:
        """Return these people of both sides."""
        return Sides(self.point[rows], self.minority[rows], self.area[rows], self.areas)


@public
@dataclass(frozen=True)
class Segregation:
    """How far a group is apart from others, in five dimensions. None of them is a verdict.

    centralization: share of people who are of the group and have mostly their own group around them (higher: more
    segregated). atkinson: unevenness over areas, 0 even to 1 separated. proximity: mean closeness exp(-distance) of the
    two sides (lower: more segregated). exposure: chance that somebody met in the area of one of the group is one of the
    others (lower: more segregated); `isolation` is the rest to 1. concentration: Massey & Denton's delta, the share of
    the group that had to move for an even density over the land (higher: more segregated). space: how widely the group
    is spread, as a ratio to the others (root mean square distance; below 1: less space).

    group, against: names of the two sides, with `members` and `others` people. radius: of a neighbourhood.
    error: standard errors of those dimensions that a sample of people estimated; empty where all are exact. sides,
    settings, samples: people at their places, how they were measured, and the value of each sample, for intervals.
    """

    group: str
    against: str
    members: int
    others: int
    centralization: float
    atkinson: float
    proximity: float
    exposure: float
    concentration: float
    space: float
    radius: float
    denominator: Denominator = "population"
    error: Mapping[str, float] = field(default_factory=dict)
    areas: Areas | None = field(default=None, repr=False, compare=False)
    sides: Sides | None = field(default=None, repr=False, compare=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    samples: Mapping[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def isolation(self) -> float:
        """Chance that somebody met in the area of one of the group is of the group."""
        return 1.0 - self.exposure

    @property
    def correlation_ratio(self) -> float:
        """Isolation beyond what the group's share alone gives: 0 even, 1 separated (eta squared)."""
        share = self.members / (self.members + self.others)
        return (self.isolation - share) / (1.0 - share)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; no row of a person."""
        names = ("group", "against", "members", "others", *DIMENSIONS, "isolation", "space", "radius")
        return {n: getattr(self, n) for n in (*names, "denominator")} | {"error": dict(self.error)}

    def interval(self, name: str, **how: Any) -> Estimate:
        """Return the 95 % bootstrap interval of one dimension; see `intervals`."""
        _known_dimension(name)
        return self.intervals(**how)[name]

    def intervals(
        self, *, resamples: int = 200, seed: int = 0, people: int = 2000, level: float = 0.95
    ) -> dict[str, Estimate]:
        """Return every dimension with a bootstrap interval by resampling people; areas stay as they are.

        people: where more than so many were compared, each resample has so many and the interval is scaled by the root
        of the shares (m out of n bootstrap), so that the time does not grow with the population. The interval is moved
        so that the middle of the resamples is the value: resampling people makes uneven what is even.

        Source: P. J. Bickel, F. Goetze & W. R. van Zwet (1997), Resampling fewer than n observations, Stat. Sinica 7.
        """
        assert self.sides is not None
        drawn = resampled([self.sides], self.settings, resamples=resamples, seed=seed, people=people)[:, 0]
        return {
            name: interval_of(getattr(self, name), drawn[:, j], len(self.sides.point), people, level)
            for j, name in enumerate(DIMENSIONS)
        }


@public
def segregation(
    points: Any,
    groups: Groups,
    *,
    group: str | int | None = None,
    against: str | int | None = None,
    areas: Areas | None = None,
    k: int = 30,
    radius: float | None = None,
    denominator: Denominator = "population",
    beta: float = 0.5,
    sample: int | None = None,
    seed: int = 0,
) -> Segregation:
    """Measure five dimensions of segregation of a group, among people at points (n, e) from `places`.

    group: name of the group that is looked at, left out the smallest. against: another group, or None for everybody
    else. areas: fitted on the original people (`Areas.fit`); left out, k of them are fitted on these people. radius of
    a neighbourhood: left out, the 20 % quantile of the distances within the group. denominator of centralization:
    'population' (as the published figures are) or 'minority' (as the text has it). beta: weight of the Atkinson index,
    0.5 treats both sides alike.

    sample: exact means all pairs of people (100,000 people: minutes, in tiles). With a number, centralization and
    proximity are means over five samples of so many people each, with their standard errors in `error`; all else is
    exact in any case.

    Example: ``segregation(places(problem, x, leave_out=["sex"]), Groups.of("sex", x, problem.schema)).atkinson``.
    Raises: DataError for a group that is unknown, empty or a single person, and for lengths that differ.
    """
    x = _points(points)
    require_kind(groups, Groups, "groups")
    require_whole(seed=seed)
    if len(groups) != len(x):
        raise DataError(
            f"'{groups.name}' is known of {len(groups)} people and there are {len(x)} places. Give the same people."
        )
    if not is_one_of(denominator, ("population", "minority")):
        raise DataError(f"There is no denominator {denominator!r}. Choose 'population' or 'minority'.")
    if not (is_number(beta) and 0 < beta < 1):
        raise DataError(f"beta must lie between 0 and 1; got {shown(beta)}.")
    if radius is not None and not (is_number(radius) and radius >= 0):
        raise DataError(f"The radius of a neighbourhood must be at least 0; got {shown(radius)}.")
    one, other, inside, chosen = two_sides(groups, group, against)
    if sample is not None and not is_whole(sample, 100):
        raise DataError(
            f"A sample of {shown(sample)} people says too little; take 100 or more, or None for all pairs."
        )
    if areas is None:
        areas = Areas.fit(x[chosen], k, seed=seed)
    elif areas.centre.shape[1] != x.shape[1]:
        raise DataError(f"Areas were fitted on {areas.centre.shape[1]} columns and places have {x.shape[1]}.")
    sides = Sides(x[chosen], inside[chosen], areas.of(x[chosen]), areas)
    settings = {"denominator": denominator, "beta": beta, "radius": radius}
    value, samples = _sampled(sides, settings, sample, seed)
    return Segregation(
        one,
        other,
        int(sides.minority.sum()),
        int((~sides.minority).sum()),
        denominator=denominator,
        error={name: standard_error(drawn) for name, drawn in samples.items()},
        areas=areas,
        sides=sides,
        settings=settings,
        samples=samples,
        **value,
    )


@public
def each_group(
    points: Any, groups: Groups, *, versus: Literal["rest", "each other"] = "rest", **how: Any
) -> dict[str, Segregation]:
    """Measure `segregation` of every group against the rest, or of every pair of groups ('a | b', the smaller first).

    Groups without anybody are left out, those of one person with a warning. All comparisons use the same areas. **how:
    see `segregation`.
    """
    if how.get("areas") is None:
        x = _points(points)
        if len(x) != len(groups):
            raise DataError(
                f"'{groups.name}' has labels of {len(groups)} people; there are {len(x)}. Give the same people."
            )
        how["areas"] = Areas.fit(x[groups.member >= 0], how.pop("k", 30), seed=how.get("seed", 0))
    return {
        label: segregation(points, groups, group=one, against=other, **how)
        for label, one, other in comparisons(groups, versus)
    }


def comparisons(groups: Groups, versus: Literal["rest", "each other"]) -> list[tuple[str, str, str | None]]:
    """Return what is compared with what: label, group and the other group (None: the rest)."""
    if not is_one_of(versus, ("rest", "each other")):
        raise DataError(f"Groups are compared with the 'rest' or with 'each other', not with {versus!r}.")
    there = [int(g) for g in np.argsort(groups.sizes, kind="stable") if groups.sizes[g] > 1]
    alone = [name for name, size in zip(groups.names, groups.sizes, strict=True) if size == 1]
    if alone:
        warnings.warn(
            f"'{groups.name}' has a single person in {', '.join(alone)}, who cannot be compared as a group.",
            SchemaWarning,
            stacklevel=3,
        )
    if len(there) < 2 and versus == "each other":
        raise DataError(f"'{groups.name}' has fewer than two groups of two people or more to compare.")
    if versus == "each other":
        two = [(groups.names[a], groups.names[b]) for i, a in enumerate(there) for b in there[i + 1 :]]
        return [(f"{a} | {b}", a, b) for a, b in two]
    if len(there) == 2 and not alone:  # a mirror image tells nothing new
        there = there[:1]
    return [(groups.names[g], groups.names[g], None) for g in sorted(there)]


def two_sides(
    groups: Groups, group: str | int | None, against: str | int | None
) -> tuple[str, str, Mask, Mask]:
    """Return the names of both sides, who is of the group (n,), who is of either side (n,). Raises: DataError."""
    one = groups.minority() if group is None else groups.place(group)
    inside, name = groups.mask(one), groups.names[one]
    if against is None:
        outside, other = (groups.member >= 0) & ~inside, "the rest"
        there = [n for n, s in zip(groups.names, groups.sizes, strict=True) if s and n != name]
        if len(there) == 1:
            other = there[0]
    else:
        outside, other = groups.mask(against), groups.names[groups.place(against)]
        if other == name:
            raise DataError(f"'{name}' cannot be compared with itself. Choose another group.")
    for label, who in ((name, inside), (other, outside)):
        if who.sum() < 2:
            raise DataError(
                f"Group '{label}' of '{groups.name}' has {int(who.sum())} people: segregation compares groups of two "
                "people or more. Join it with another group, or leave it out."
            )
    return name, other, inside, inside | outside


# -- the indices -------------------------------------------------------------------------------------------------------


def _over_areas(sides: Sides, beta: float) -> dict[str, float]:
    """Measure Atkinson, exposure, concentration and space: time grows with the number of people only."""
    k = len(sides.areas)
    total = np.bincount(sides.area, minlength=k).astype(np.float64)
    minority = np.bincount(sides.area[sides.minority], minlength=k).astype(np.float64)
    m, everybody = minority.sum(), total.sum()
    if not 0 < m < everybody:  # a resample may miss a side
        return dict.fromkeys(("atkinson", "exposure", "concentration", "space"), float("nan"))
    overall = m / everybody
    share = np.divide(minority, total, out=np.zeros(k), where=total > 0)
    even = ((1 - share) ** (1 - beta) * share**beta * total).sum() / (everybody * overall)
    atkinson = 1 - overall / (1 - overall) * even ** (1 / (1 - beta))
    met = (minority / m * (1 - share)).sum()
    delta = 0.5 * np.abs(minority / m - sides.areas.land).sum()
    # The mean squared distance of all pairs is twice the variance.
    spread = [np.sqrt(sides.point[who].var(0).sum()) for who in (sides.minority, ~sides.minority)]
    space = spread[0] / spread[1] if spread[1] else (1.0 if not spread[0] else float("inf"))
    # An even city is 0 on paper; the last bits of a sum may say -1e-16.
    return {
        "atkinson": float(min(max(atkinson, 0.0), 1.0)),
        "exposure": float(met),
        "concentration": float(delta),
        "space": float(space),
    }


def _over_pairs(sides: Sides, denominator: str, radius: float | None) -> dict[str, float]:
    """Measure centralization and average proximity: all pairs of people."""
    ours, theirs = sides.point[sides.minority], sides.point[~sides.minority]
    edge = quantile_of_pairs(ours, 0.2) if radius is None else min(float(radius), 1e150)
    if not len(theirs) or np.isnan(edge):
        return {"centralization": float("nan"), "proximity": float("nan"), "radius": edge}
    central = int(same_around(ours, theirs, edge).sum())
    among = len(sides.point) if denominator == "population" else len(ours)
    closeness = mean_of_pairs(ours, theirs, "closeness")
    return {"centralization": central / among, "proximity": closeness, "radius": edge}


def _sampled(
    sides: Sides, settings: Mapping[str, Any], sample: int | None, seed: int
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return all values, and for those that come from samples, the value of each sample."""
    linear = _over_areas(sides, settings["beta"])
    n = len(sides.point)
    how = {name: settings[name] for name in ("denominator", "radius")}
    if sample is None or sample >= n:
        return linear | _over_pairs(sides, **how), {}
    rng = generator(seed)
    parts = [_over_pairs(sides.take(_stratified(sides.minority, sample, rng)), **how) for _ in range(5)]
    table = {name: np.array([part[name] for part in parts]) for name in parts[0]}
    drawn = {name: v for name, v in table.items() if name in DIMENSIONS}
    return linear | {name: float(v.mean()) for name, v in table.items()}, drawn


def standard_error(values: Floats) -> float:
    """Return the standard error of the mean of a few independent values."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _stratified(minority: Mask, size: int, rng: np.random.Generator) -> Ints:
    """Draw so many people without replacement, as many of each side as its share (two at least)."""
    m = int(np.clip(round(size * minority.mean()), 2, minority.sum()))
    sides = ((minority, m), (~minority, min(size - m, int((~minority).sum()))))
    return np.concatenate([rng.choice(np.flatnonzero(who), count, replace=False) for who, count in sides])


# -- intervals ---------------------------------------------------------------------------------------------------------


def resampled(
    several: Sequence[Sides],
    settings: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    resamples: int,
    seed: int,
    people: int,
) -> Floats:
    """Return dimensions of the same resampled people in several populations: (resamples, populations, dimensions)."""
    if resamples < 2 or people < 2:
        raise DataError(f"Intervals need two resamples and two people; got {resamples} and {people}.")
    each = [settings] * len(several) if isinstance(settings, Mapping) else list(settings)
    n = len(several[0].point)
    rng = generator(seed)
    out = np.full((resamples, len(several), len(DIMENSIONS)), np.nan)
    for b in range(resamples):
        who = rng.integers(0, n, size=min(n, people))
        for p, (sides, how) in enumerate(zip(several, each, strict=True)):
            part = sides.take(who)
            got = _over_areas(part, how["beta"]) | _over_pairs(part, how["denominator"], how["radius"])
            out[b, p] = [got[name] for name in DIMENSIONS]
    return out


def interval_of(
    value: float,
    drawn: Floats,
    n: int,
    people: int,
    level: float,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """Return an estimate from resamples of min(n, people) of n people; see `Segregation.intervals`."""
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2 or not np.isfinite(value):
        return Estimate(value, float("nan"), float("nan"), n)
    scale = np.sqrt(min(1.0, people / n))
    tail = (1 - level) / 2
    low, high = value + scale * (np.quantile(drawn, [tail, 1 - tail]) - drawn.mean())
    low, high = (float(np.clip(v, *bounds)) for v in (low, high))
    return Estimate(value, low, high, n, std=float(scale * drawn.std(ddof=1)))


def _points(points: Any) -> Floats:
    x = numbers_in(points, "points")
    if x.ndim != 2 or not x.size:
        raise DataError(f"Places are rows of coordinates (n, e); got {x.shape}. Use `places` to make them.")
    if not np.isfinite(x).all():
        raise DataError("Places have missing or infinite coordinates. Use `places` to make them.")
    return x


def _known_dimension(name: str) -> None:
    if not is_one_of(name, DIMENSIONS):
        raise DataError(f"There is no dimension '{name}'. Known: {', '.join(DIMENSIONS)}.")
