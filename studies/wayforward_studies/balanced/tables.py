"""What was measured of methods, as rows and tables; what the paper reads out of them; the theorems as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from wayforward.evaluate.stats import Estimate
from wayforward.impact.segregation import (
    DIMENSIONS,
    cost_bound,
    cost_of_region,
    rectangle_world,
    rectangles,
    segregation_index,
)
from wayforward_studies.balanced.measures import OURS
from wayforward_studies.balanced.published import BY_METHOD, INDICES, MEASURES
from wayforward_studies.balanced.setting import AS_RUN
from wayforward_studies.pages import Line, Row, Table, number
from wayforward_studies.verdicts import (
    RULE,
    Cell,
    Check,
    above_zero,
    all_of,
    below,
    difference,
    falls,
    half_of_prediction,
    half_width,
    listed,
    opened,
    with_interval,
)

RUNS = 5  # that the paper's numbers are means of
#: How far a mean may lie from the paper's and still be called the same; whether higher is better.
TOLERANCE = {
    "centralization": 0.01,
    "atkinson": 0.02,
    "proximity": 0.01,
    "cost": 0.05,
    "gap": 0.02,
    "ynn": 0.1,
    "invalid": 0.02,
}
#: Of the published origin's index: no tolerance is more, so that the verdict of an index next to zero says something.
SHARE = 0.25
SIGN = {"centralization": -1, "atkinson": -1, "proximity": 1, "cost": -1, "gap": -1, "ynn": 1, "invalid": -1}
UNBALANCED = ("c-chvae", "growing-spheres", "wachter", "cruds")
HEADS = ("Centralization", "Atkinson", "Proximity", "Cost", "Cost gap", "yNN", "Invalid")
Recourse = Literal["original", "distance", "realistic", "balanced"]
_LIMITS = {"german-sex": 0.05}  # the most that EBR may leave without recourse where we set ourselves more


@dataclass(frozen=True)
class MethodResult:
    """A method in a setting: means over the seeds, their spread, and what the paper prints.

    half: half of the 95 % interval (Student's t) of each index's difference from the origin, paired by seed.
    interval: half of that of a mean that is not the plain one over the seeds.
    """

    setting: str
    method: str
    mean: Mapping[str, float]
    spread: Mapping[str, float]
    origin: Mapping[str, float]
    paper: Mapping[str, float]
    seeds: int
    half: Mapping[str, float] = field(default_factory=dict)
    interval: Mapping[str, float] = field(default_factory=dict)

    @property
    def chance(self) -> tuple[str, ...]:
        """Of `worse`, those whose difference may be chance: its interval contains 0, or there is none."""
        return tuple(name for name in self.worse if self.by_chance(name))

    @property
    def worse(self) -> tuple[str, ...]:
        """Indices whose mean over the seeds is more segregated than the origin's, as the paper counts them."""
        return tuple(
            name
            for name in INDICES
            if name in self.mean and DIMENSIONS[name] * (self.mean[name] - self.origin[name]) > 1e-12
        )

    def by_chance(self, index: str) -> bool:
        """May the difference of an index from the origin be chance?"""
        return not abs(self.mean[index] - self.origin[index]) > self.half.get(index, math.inf)

    def cell(self, name: str) -> Cell:
        """A measure beside the paper's, to be judged."""
        ours, half = self.mean.get(name, math.nan), self.half_of_interval(name)
        ends = (ours - half, ours + half)
        apart = half_of_prediction(half, self.seeds, RUNS)
        sign = 0 if self.method == "origin" else SIGN.get(name, 1)
        return Cell(ours, self.paper.get(name), tolerance_of(self.setting, name), sign, ends, apart)

    def estimate(self, name: str) -> Estimate:
        """A measure's mean with its interval."""
        ours, half = self.mean.get(name, math.nan), self.half_of_interval(name)
        return Estimate(ours, ours - half, ours + half, self.seeds)

    def half_of_interval(self, name: str) -> float:
        """Half of the 95 % interval of a measure's mean."""
        return self.interval.get(name, half_width(self.spread.get(name, math.nan), self.seeds))

    def rows(self) -> list[Row]:
        """One row for each measure, 'increases' last: how many indices are worse."""
        out = []
        for name in MEASURES:
            counted = name == "increases"
            if (counted and self.method == "origin") or not (name in self.mean or name in self.paper):
                continue
            out.append(
                {
                    "setting": self.setting,
                    "method": self.method,
                    "measure": name,
                    "paper": self.paper.get(name),
                    "ours": float(len(self.worse)) if counted else self.mean.get(name, math.nan),
                    "spread": self.spread.get(name, math.nan),
                    "half_of_interval": self.half_of_interval(name),
                    "half_of_paired_interval": self.half.get(name, math.nan),
                    "seeds": self.seeds,
                    "tolerance": tolerance_of(self.setting, name),
                    "open": opened({name: self.cell(name)}),
                    "verdict": self.cell(name).verdict or "",
                }
            )
        return out


def tolerance_of(setting: str, measure: str) -> float | None:
    """How far a measure may lie from the paper's in a setting; None for one that is not judged."""
    most = TOLERANCE.get(measure)
    origin = BY_METHOD.get(AS_RUN.get(setting, setting), {}).get("origin", {}).get(measure)
    return most if most is None or origin is None else min(most, SHARE * origin)


def results(rows: Iterable[Row], origins: Mapping[str, Mapping[str, float]]) -> list[MethodResult]:
    """The results that rows tell; origins: the indices before anybody acts, by setting."""
    by: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        by.setdefault((row["setting"], row["method"]), {})[row["measure"]] = row

    def values(some: Mapping[str, Row], column: str) -> dict[str, float]:
        return {name: number(row[column]) for name, row in some.items() if row.get(column) is not None}

    return [
        MethodResult(
            setting,
            method,
            values(some, "ours"),
            values(some, "spread"),
            origins[setting],
            values(some, "paper"),
            next(iter(some.values()))["seeds"],
            values(some, "half_of_paired_interval"),
            values(some, "half_of_interval"),
        )
        for (setting, method), some in by.items()
    ]


def tolerance(alone: bool = False) -> str:
    """The tolerances and what they mean; alone: of invalidation."""
    if alone:
        return f"Tolerance: {TOLERANCE['invalid']:g}; lower is better. {RULE}"
    heads = dict(zip(TOLERANCE, HEADS, strict=True))
    of = ", ".join(f"{heads[name]} {value:g}" for name, value in TOLERANCE.items())
    return (
        f"Tolerance: {of}; for an index never more than a quarter of the paper's origin. Higher is better for "
        f"proximity and yNN, lower elsewhere; an origin row is no advice, so beyond it is *worse*, above or below. "
        f"{RULE}"
    )


def tables(
    lines: Sequence[MethodResult], refused: Mapping[str, float], alone: bool = False
) -> tuple[Table, ...]:
    """A table for each setting; a cell is 'paper; ours ± spread'. refused: people a run, by setting.

    alone: of invalidation.
    """
    heads = ("method", HEADS[-1]) if alone else ("method", *HEADS, "indices more segregated")
    return tuple(
        Table(
            heads,
            tuple((_alone if alone else _line)(line) for line in lines if line.setting == name),
            name,
            f"Refused people a run: {refused[name]:,.0f}." if name in refused else "",
        )
        for name in dict.fromkeys(line.setting for line in lines)
    )


def _line(line: MethodResult) -> Line:
    if line.method == "origin":
        worse = "–"
    else:
        paper = line.paper.get("increases", _worse_in_paper(line))
        luck = f", {len(line.chance)} of them within chance" if line.chance and line.seeds > 1 else ""
        ours = f"**{len(line.worse)}**{luck}" if line.worse else "0"
        worse = f"{'–' if paper is None else int(paper)}; {ours}"
    name = f"{line.method} (ours)" if line.method in OURS else line.method
    cells = tuple(line.cell(measure) for measure in TOLERANCE)
    kind = "origin rows" if line.method == "origin" else "published lines"
    return Line((name, *(_cell(line, measure) for measure in TOLERANCE), worse), cells, kind=kind)


def _alone(line: MethodResult) -> Line:
    return Line((line.method, _cell(line, "invalid")), (line.cell("invalid"),))


def _worse_in_paper(line: MethodResult) -> int | None:
    """How many indices the paper's own numbers make more segregated."""
    origin = BY_METHOD.get(line.setting, {}).get("origin", {})
    if not origin or not all(index in line.paper for index in INDICES):
        return None
    return sum(DIMENSIONS[index] * (line.paper[index] - origin[index]) > 0 for index in INDICES)


def _cell(line: MethodResult, measure: str) -> str:
    if measure not in line.mean and measure not in line.paper:
        return "–"
    paper = f"{line.paper[measure]:.4f}" if measure in line.paper else "–"
    value = line.mean.get(measure, math.nan)
    spread = f" ± {line.spread[measure]:.4f}" if line.seeds > 1 and measure in line.spread else ""
    ours = f"{value:.4f}{spread}" if math.isfinite(value) else "–"
    if measure in line.worse and line.method != "origin":
        ours = f"**{ours}**" + ("°" if measure in line.chance and line.seeds > 1 else "")
    return f"{paper}; {ours}"


def checks_of(number: int, lines: Sequence[MethodResult]) -> list[Check]:
    """What the paper concludes from a table, asked of our numbers."""
    if number == 4:
        causal = next(line for line in lines if line.method == "causal")
        return [_worsening(causal), _invalid(causal)]
    if number == 5:
        return list(orders(lines))
    out: list[Check] = []
    for name in dict.fromkeys(line.setting for line in lines):
        by = {line.method: line for line in lines if line.setting == name}
        invalid = [_invalid(by[method]) for method in ("ibr", "ebr")]
        if number == 3:
            out += invalid
            continue
        out += _calibrated(by["origin"]) if number == 1 else []
        out += nearer(by[method] for method in _BALANCED)
        out += [_worsening(by[method]) for method in (*UNBALANCED, "causal")] if number == 1 else []
        out += invalid
    return out if number == 3 else [*out, *orders(lines)]


def _calibrated(origin: MethodResult) -> list[Check]:
    off = max(abs(origin.mean[m] - origin.paper[m]) for m in INDICES)
    shown = listed({m: origin.mean[m] for m in INDICES})
    return [Check("origin row", "calibrated: within .01 of the paper", off <= 0.01, shown, aim=True)]


def _worsening(line: MethodResult) -> Check:
    """Does a method worsen an index, or none, as in the paper?"""
    published = int(line.paper.get("increases", _worse_in_paper(line) or 0))
    if published:
        stated, holds = f"worsens at least one index ({published} in the paper)", _worsens(line)
    else:
        sure = set(line.worse) - set(line.chance)
        open_ = any(line.by_chance(index) for index in INDICES)
        stated, holds = "worsens no index", False if sure else None if open_ else True
    return Check(f"{line.setting}: {line.method}", stated, holds, _moves(line))


def of_means(lines: Iterable[MethodResult]) -> list[MethodResult]:
    """The lines without what a single seed does, which the rows do not say."""
    return [replace(line, mean={k: v for k, v in line.mean.items() if k != "increases"}) for line in lines]


def nearer(lines: Iterable[MethodResult]) -> tuple[Check, ...]:
    """Does balanced recourse bring the groups nearer together?"""
    return tuple(
        Check(f"{line.setting}: {line.method}", "improves all three indices", _improves(line), _moves(line))
        for line in lines
        if line.method in _BALANCED
    )


def others(lines: Iterable[MethodResult]) -> tuple[Check, ...]:
    """Of tables of real settings: what methods do there that ask for no balance."""
    return tuple(_worsening(line) for line in lines if line.method in UNBALANCED)


def orders(lines: Sequence[MethodResult]) -> Iterator[Check]:
    """What the paper concludes from the order of methods, of settings that have all of them; or of Table 5's betas.

    Undecided where the interval of a difference of two means holds zero: that of two samples, which is too wide for
    the same draws twice.
    """
    if any("beta=" in line.method for line in lines):
        yield from _ablation(lines)
        return
    settings: dict[str, dict[str, MethodResult]] = {}
    for line in lines:
        settings.setdefault(line.setting, {})[line.method] = line
    whole = {name: by for name, by in settings.items() if {*_BALANCED, *UNBALANCED} <= by.keys()}
    for name, by in whole.items():
        if name == "synthetic":
            yield from _synthetic(by)
        likely = {m: by[m].estimate("ynn") for m in (*_BALANCED, *_NEAREST)}
        yield _above(
            f"{name}: yNN",
            "balanced recourse is nearer to accepted people than nearest recourse",
            {(m, n): difference(likely[m], likely[n]) for m in _BALANCED for n in _NEAREST},
            listed(likely),
        )
    for title, text, ones, measure, others, sign in _CONCLUDED:
        margins = {
            (name, one): [
                (
                    sign * (by[one].paper[measure] - by[other].paper[measure]),
                    _signed(by, one, other, measure, sign),
                )
                for other in others
            ]
            for name, by in whole.items()
            for one in ones
        }
        found = _as_often(title, text, margins, any_=sign < 0)
        yield from [found] if found is not None else []


def _signed(by: Mapping[str, MethodResult], one: str, other: str, measure: str, sign: int) -> Estimate:
    first, second = by[one].estimate(measure), by[other].estimate(measure)
    return difference(first, second) if sign > 0 else difference(second, first)


_BALANCED, _NEAREST, _LIKELY = ("ebr", "ibr"), ("growing-spheres", "wachter"), ("c-chvae", "cruds")
#: Conclusions over all settings of a table: methods, a measure, with whom they are compared, and whether theirs is
#: above that of all of these (1) or below that of one of them at least (-1).
_CONCLUDED = (
    (
        "costs of balanced recourse",
        "EBR and IBR cost more than nearest recourse",
        _BALANCED,
        "cost",
        _NEAREST,
        1,
    ),
    ("costs of likely places", "C-CHVAE and CRUDS may cost much more than EBR", _LIKELY, "cost", ("ebr",), 1),
    (
        "yNN of likely places",
        "C-CHVAE and CRUDS are nearer to accepted people than nearest recourse",
        _LIKELY,
        "ynn",
        _NEAREST,
        1,
    ),
    (
        "cost gaps",
        "EBR and IBR do not increase the cost gap: some other method's is larger",
        _BALANCED,
        "gap",
        UNBALANCED,
        -1,
    ),
)


def _as_often(
    name: str,
    stated: str,
    lines: Mapping[tuple[str, str], Sequence[tuple[float, Estimate]]],
    any_: bool,
) -> Check | None:
    """In as many lines as in the paper's own numbers? None where it holds in none of these.

    Each line has margins, the paper's and ours, which must be above zero: all of them, or, `any_`, one at least.
    """
    theirs = sum((any if any_ else all)(paper > 0 for paper, _ in some) for some in lines.values())
    if not theirs:
        return None
    words = {}
    for line, some in lines.items():
        each = [above_zero(gap.low, gap.high) for _, gap in some]
        words[line] = (True if True in each else None if None in each else False) if any_ else all_of(each)
    sure, open_ = (sum(word is one for word in words.values()) for one in (True, None))
    missed = [f"{method} on {setting}" for (setting, method), word in words.items() if word is False]
    return Check(
        name,
        stated,
        True if sure >= theirs else None if sure + open_ >= theirs else False,
        f"in {sure} of {len(words)} lines, within chance in {open_} (paper: {theirs})"
        + (f"; not {', '.join(missed[:6])}" if missed else "")
        + (f" and {len(missed) - 6} more" if len(missed) > 6 else ""),
    )


def _above(name: str, stated: str, gaps: Mapping[Any, Estimate], numbers: str) -> Check:
    """Are all differences above zero?"""
    least = min(gaps.values(), key=lambda gap: gap.low)
    holds = all_of(above_zero(gap.low, gap.high) for gap in gaps.values())
    return Check(name, stated, holds, f"{numbers}; least difference {with_interval(least)}")


def _synthetic(by: Mapping[str, MethodResult]) -> Iterator[Check]:
    """Table 1: the order of costs, and of cost gaps."""
    cost = {m: by[m].estimate("cost") for m in ("ebr", "ibr", "c-chvae", "growing-spheres")}
    holds, step = falls(cost)
    yield Check(
        "order of costs",
        "nearest, then c-chvae, then ibr, then ebr",
        holds,
        f"{listed(dict(reversed(cost.items())))}; the step that decides {with_interval(step)}",
    )
    most = by["cruds"].estimate("cost")
    yield _above(
        "ibr against cruds", "IBR costs less than CRUDS", {"": difference(most, cost["ibr"])},
        listed({"ibr": cost["ibr"], "cruds": most}),
    )  # fmt: skip
    gap = {m: line.estimate("gap") for m, line in by.items() if "gap" in line.paper}
    for one, word, sign in (("ibr", "lowest", -1), ("ebr", "highest", 1)):
        yield _above(
            f"{one}'s cost gap",
            f"{one.upper()} has the {word} cost gap of all methods",
            {m: _signed(by, one, m, "gap", sign) for m in gap if m != one},
            listed(gap),
        )


def _improves(line: MethodResult) -> bool | None:
    """All three indices better beyond chance; None where some may be chance, whichever way they went."""
    if set(line.worse) - set(line.chance):
        return False
    return None if any(line.by_chance(index) for index in INDICES) else True


def _worsens(line: MethodResult) -> bool | None:
    """Some index worse beyond chance; None where one may be, as its difference is within chance."""
    if set(line.worse) - set(line.chance):
        return True
    return None if any(line.by_chance(index) for index in INDICES) else False


def _moves(line: MethodResult) -> str:
    moved = ", ".join(f"{m} {line.origin[m]:.4f} → {line.mean[m]:.4f}{_half(line, m)}" for m in INDICES)
    uncertain = [index for index in INDICES if line.by_chance(index)]
    luck = f"; within chance: {', '.join(uncertain)}" if uncertain and line.seeds > 1 else ""
    single = f"; a single seed: {line.mean['increases']:.1f} worse" if "increases" in line.mean else ""
    return f"{moved}{single}{luck}"


def _half(line: MethodResult, index: str) -> str:
    half = line.half.get(index, math.inf)
    return f" ± {half:.4f}" if math.isfinite(half) else ""


def _invalid(line: MethodResult) -> Check:
    printed = line.paper.get("invalid", 0.0)
    limit = min(printed, _LIMITS.get(line.setting, printed)) if line.method == "ebr" else printed
    whose = "the paper's" if limit == printed else f"our aim; the paper's is {printed:.4f}"
    return Check(
        f"{line.setting}: {line.method}, invalidation",
        f"at most {limit:.4f} ({whose})",
        line.mean["invalid"] <= limit + 5e-5,
        f"{line.mean['invalid']:.4f}",
        aim=True,
    )


def _ablation(lines: Sequence[MethodResult]) -> Iterator[Check]:
    """Table 5: what beta does."""
    of = {
        method: {
            name.partition("=")[2]: line for name, line in ((l.method, l) for l in lines) if method in name
        }
        for method in _BALANCED
    }

    def read(method: str, name: str) -> dict[str, Estimate]:
        return {beta: line.estimate(name) for beta, line in of[method].items()}

    cost, flat = read("ebr", "cost"), read("ibr", "cost")
    holds, step = falls(dict(reversed(cost.items())))
    shown = f"{listed(cost)}; the step that decides {with_interval(step)}"
    yield Check("ebr: cost", "rises with beta", holds, shown)
    first, *_, last = of["ebr"]
    near, uneven, one_sided = (read("ebr", index) for index in ("proximity", "atkinson", "centralization"))
    yield _above(
        "ebr: indices",
        "from the least to the greatest beta proximity rises and Atkinson falls",
        {"": difference(near[last], near[first]), "Atkinson": difference(uneven[first], uneven[last])},
        f"proximity {listed(near)}; Atkinson {listed(uneven)}",
    )
    yield _above(
        "ebr: centralization",
        "from the least to the greatest beta it falls",
        {"": difference(one_sided[first], one_sided[last])},
        listed(one_sided),
    )
    most, least = (choose(flat.values(), key=lambda one: one.value) for choose in (max, min))
    yield Check(
        "ibr: cost",
        "hardly depends on beta (within .015; undecided to .03)",
        below(difference(most, least), 0.015, 0.03),
        f"{listed(flat)}; largest difference {with_interval(difference(most, least))}",
    )
    for index in INDICES:
        same, bound = read("ibr", index), TOLERANCE[index]
        most, least = (choose(same.values(), key=lambda one: one.value) for choose in (max, min))
        yield Check(
            f"ibr: {index}",
            f"hardly depends on beta (within {bound:g}; undecided to {2 * bound:g})",
            below(difference(most, least), bound, 2 * bound),
            f"{listed(same)}; largest difference {with_interval(difference(most, least))}",
        )
    gaps = {f"{method} {beta}": gap for method in _BALANCED for beta, gap in read(method, "gap").items()}
    most = max(gaps.values(), key=lambda one: one.value)
    yield Check(
        "cost gaps",
        "remain small with every beta (below .03; undecided to .05; the paper's are at most .024)",
        below(most, 0.03, 0.05),
        f"{listed(gaps)}; the largest {most.value:.3f} [{most.low:.3f}, {most.high:.3f}]",
    )


def theorems(draws: int = 200, seed: int = 0) -> list[Check]:
    """Theorems 4.1, 5.1 and 5.4 in rectangle worlds drawn at random, by distances between points on grids."""
    rng = np.random.default_rng(seed)
    kinds: tuple[Recourse, ...] = ("original", "distance", "realistic", "balanced")
    off, rises, falls, bound = [], [], [], []
    for _ in range(draws):
        a, b, u = rng.uniform(0.2, 2, 3)
        c = b * rng.integers(1, 20) / 20
        world = rectangle_world(a, b, c, u)
        exact = rectangles(a, b, c, u)
        found = {kind: segregation_index(*world.people(kind)) for kind in kinds}
        off.append(max(abs(found[k] - exact[k]) for k in kinds))
        rises.append(min(found["distance"], found["realistic"]) - found["original"])
        falls.append(found["original"] - found["balanced"])
        low, high = world.overlap
        region = world.x1[(world.x1[:, 0] >= low - 1e-12) & (world.x1[:, 0] <= high + 1e-12)]
        bound.append(cost_bound(world.x3, world.x4, region) - cost_of_region(world.x3, world.x4, region))
    among = f"of {draws} worlds, least"
    return [
        Check(
            "closed forms",
            "equal the Hausdorff index of the points",
            max(off) < 1e-9,
            f"largest difference {max(off):.1e}",
        ),
        Check(
            "theorem 4.1",
            "distance-based and realistic recourse raise the index",
            min(rises) > 0,
            f"{among} rise {min(rises):.4f}",
        ),
        Check("theorem 5.1", "balanced recourse lowers it", min(falls) > 0, f"{among} fall {min(falls):.4f}"),
        Check(
            "theorem 5.4",
            "balanced recourse costs at most d(X3, X') + d(X4, X')",
            min(bound) >= 0,
            f"{among} distance to the bound {min(bound):.4f}",
        ),
    ]
