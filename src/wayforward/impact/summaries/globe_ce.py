"""GLOBE-CE: a few directions for everybody, and for each person how far to go along them.

A line says what to do at a time, such as raising savings by 500 EUR and lowering debt by 1 point, and is followed as
often as it takes. How often is looked for from the first step on: decisions are not monotone, so nothing is bisected.
A category changes at once, or once a person has gone some steps. Whoever is at the end of what they may do in one
thing goes on in the others; whoever may not act on one of them at all is not served by the line.

Source: D. Ley, S. Mishra, D. Magazzeni (2023), GLOBE-CE: A Translation-Based Approach for Global Counterfactual
Explanations, ICML. Ours: steps people can say; candidates mixed from chance, accepted people and earlier candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError
from wayforward.impact.summaries.base import Rules, Summariser
from wayforward.impact.summaries.common_actions import by_size
from wayforward.impact.summaries.summary import listed
from wayforward.language import Translatable, gettext
from wayforward.public import public
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Schema

_AT_ONCE = 1 << 16  # candidate rows judged at once
_SCREEN = 250  # people on whom candidates are sifted before all have a say
_COARSE = 8  # scales tried while sifting
_FINALISTS = 16
_NEIGHBOURS = 2000  # accepted people among whom the nearest are looked for
_NEARLY = 0.99  # of what the best direction saves: a simpler one that saves as much is preferred
_FEW = 10  # how much a line takes is published for no fewer people


@public
@dataclass(frozen=True)
class Translation:
    """One direction. amount: feature units a step for each feature, 0 where it stays.

    sets: features that take a level, as (position, level, from which step on).
    """

    amount: tuple[float, ...]
    sets: tuple[tuple[int, float, int], ...] = ()

    @property
    def width(self) -> int:
        """How many features it moves or sets."""
        return sum(a != 0 for a in self.amount) + len(self.sets)

    @property
    def kind(self) -> tuple[tuple[int, ...], tuple[tuple[int, float], ...]]:
        """What it moves, which way, and which levels it sets; not how far at a time."""
        return tuple(int(np.sign(a)) for a in self.amount), tuple((j, level) for j, level, _ in self.sets)

    def without(self, j: int) -> Translation:
        """Return the same but for one feature; what is left to be set where nothing moves is set at once."""
        amount = (*self.amount[:j], 0.0, *self.amount[j + 1 :])
        sets = tuple(one for one in self.sets if one[0] != j)
        return Translation(amount, sets if any(amount) else tuple((i, level, 1) for i, level, _ in sets))

    def words(self, schema: Schema, steps: int) -> tuple[str, ...]:
        """Return what to do, in a few clauses; steps: how often at most."""
        moved = [by_size(schema.features[j], a, _size(schema, j, a)) for j, a in enumerate(self.amount) if a]
        settings = [
            (
                since,
                gettext(
                    "change {name} to {value}",
                    name=words.label(schema.features[j]),
                    value=words.quoted(words.level_words(schema.features[j], level)),
                ),
            )
            for j, level, since in self.sets
        ]
        out = [text for since, text in settings if since <= 1]
        if moved:
            out.append(
                gettext(
                    "{moves} at a time, as often as it takes (at most {n} times)",
                    moves=listed(moved),
                    n=steps,
                )
            )
        out += [
            gettext("{text} if {n} times are not enough", text=text, n=since - 1)
            for since, text in settings
            if since > 1
        ]
        return tuple(out)


@dataclass(frozen=True, eq=False)
class GlobeRules(Rules):
    """Directions for everybody. curve (lines, steps, 2): of those learnt from, share each turns within so many steps,
    and at what mean cost (NaN for nobody)."""

    lines: tuple[Translation, ...]
    steps: int
    schema: Schema = field(repr=False)
    curve: np.ndarray = field(repr=False)

    @property
    def words(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:  # type: ignore[override]
        """Nobody in particular, and what to do."""
        return tuple(((), one.words(self.schema, self.steps)) for one in self.lines)

    def actions(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """Go along each line as far as each person needs; nothing where no step is enough."""
        n, many = people.n, len(self.lines)
        action = np.full((n, many, people.d), np.nan)
        line = np.tile(np.arange(many), (n, 1))
        if many:
            stack = _DirectionArrays(self.lines, self.steps)
            first = first_step(people, self.lines, range(1, self.steps + 1))[0]
            which, who = np.nonzero(first)
            action[who, which] = stack.act(people, which, who, first[which, who])
        return action, line

    def how_much(self, line: int, x: np.ndarray, action: np.ndarray) -> str:
        """Return within how many steps half, and nine in ten, of those it works for get there."""
        amount = np.array(self.lines[line].amount)
        moved = np.flatnonzero(amount)
        if len(x) < _FEW or not moved.size:
            return ""
        width = self.schema.high - self.schema.low
        gone = np.nan_to_num(np.abs((action - x)[:, moved] / amount[moved]))
        times = np.ceil(gone.max(1) - 1e-6).clip(1, self.steps)
        needed = [int(np.quantile(times, share, method="inverted_cdf")) for share in (0.5, 0.9)]
        totals = [[(int(j), min(k * abs(amount[j]), width[j])) for j in moved] for k in needed]
        return Translatable(lambda: _how_often(self.schema, needed, totals))


@public
@dataclass(frozen=True)
class GlobeCe(Summariser):
    """Few directions, chosen by how many refused people they turn, then by cost.

    lines: directions at most. width: features that one may move. steps: how often a person goes along one at most;
    about all of them lead across the range that holds nine in ten people. unserved: what serving nobody counts as when
    directions are chosen, in units of the cost; left out, the dearest plan. budget: model rows of the whole search.
    Raises: DataError for a setting that makes no lines.
    """

    lines: int = 4
    width: int = 3
    steps: int = 20
    unserved: float | None = None
    budget: int = 1_500_000

    name: ClassVar[str] = "globe-ce"
    summary: ClassVar[str] = (
        "A few directions for everybody; each person goes along one as far as they need. Whoever is at the end of "
        "what is possible in one thing goes on in the others."
    )
    citation: ClassVar[str] = (
        "D. Ley, S. Mishra, D. Magazzeni (2023), GLOBE-CE: A Translation-Based Approach for Global Counterfactual "
        "Explanations, ICML"
    )

    def __post_init__(self) -> None:
        for name in ("lines", "width", "steps", "budget"):
            if getattr(self, name) < 1:
                raise DataError(f"{name}={getattr(self, name)} makes no lines. Use 1 or more.")
        if self.unserved is not None and self.unserved <= 0:
            raise DataError(f"unserved={self.unserved} is no cost. Use a number above zero, or leave it out.")

    def learn(self, people: Population, seed: int) -> GlobeRules:
        """Sift candidates on some of the people, try the best on all, choose greedily."""
        rng = generator(seed, 31)
        some = np.sort(rng.permutation(people.n)[:_SCREEN])
        sample = people if people.n <= _SCREEN else people.take(some)
        coarse = np.unique(np.geomspace(1, self.steps, _COARSE).round().astype(int)).tolist()
        room = int(0.5 * self.budget / (sample.n * len(coarse)))
        pool = self.candidates(people, max(8, room // 2), rng)
        if not pool:
            return self._rules(people, (), np.empty((0, people.n)), np.empty((0, people.n)))
        cost = first_step(sample, pool, coarse)[1]
        for _ in range(2):  # what did well, changed a little
            best = self._shortlist(cost, pool)
            seen = set(pool)
            more = [v for i in best for v in self._variants(pool[i], people, max(1, room // 100), rng)]
            new = [v for v in dict.fromkeys(more) if v not in seen]
            if new:
                pool = [*pool, *new]
                cost = np.concatenate([cost, first_step(sample, new, coarse)[1]])
        most = int(np.clip(0.5 * self.budget / (people.n * self.steps), 1, 3 * _FINALISTS))
        final: dict[Translation, None] = {}
        for i in self._shortlist(cost, pool):
            final[pool[i]] = None
            final |= dict.fromkeys(_parts(pool[i]))
        finalists = list(final)[:most]
        first, cost = first_step(people, finalists, range(1, self.steps + 1))
        chosen = _greedy(cost, finalists, self.lines, self._ceiling(cost))
        return self._rules(people, [finalists[i] for i in chosen], first[chosen], cost[chosen])

    def candidates(self, people: Population, many: int, rng: np.random.Generator) -> list[Translation]:
        """Return up to `many` directions: every single feature, differences to accepted people, sparse chance."""
        schema = people.schema
        can = np.flatnonzero(people.may.any(0))
        if not can.size:
            return []
        size = amounts(people, self.steps)
        near = _differences(people, size, max(many // 3, 1), rng)
        out: dict[Translation, None] = {}
        for j in can.tolist():
            if _sets_level(schema, j):
                levels, often = np.unique(_known(people)[:, j], return_counts=True)
                for level in levels[np.isfinite(levels)][np.argsort(-often[np.isfinite(levels)])][:8]:
                    out[Translation((0.0,) * people.d, ((j, float(level), 1),))] = None
                continue
            for far in (1.0, -1.0, 2.0, -2.0):
                if schema.direction[j] * far >= 0:
                    out[_translation(schema, size, {j: far}, {})] = None
        for share, level in near:
            wide = int(rng.integers(1, self.width + 1))
            rank = np.abs(np.nan_to_num(share)) + (~np.isnan(level))
            keep = np.argsort(-rank * rng.uniform(0.5, 1.0, people.d), kind="stable")[:wide]
            out[self._made(schema, size, share, level, [int(j) for j in keep if rank[j] > 0], rng)] = None
        for _ in range(4 * many):
            if len(out) >= many:
                break
            keep = rng.choice(can, min(int(rng.integers(1, self.width + 1)), can.size), replace=False)
            share, level = np.full(people.d, np.nan), np.full(people.d, np.nan)
            for j in keep.tolist():
                known = _known(people)[:, j]
                if _sets_level(schema, j):
                    level[j] = rng.choice(known[np.isfinite(known)]) if np.isfinite(known).any() else 0.0
                else:
                    way = schema.direction[j] or rng.choice([-1, 1])
                    share[j] = way * rng.choice([0.25, 0.5, 1.0])
            out[self._made(schema, size, share, level, keep.tolist(), rng)] = None
        nothing = Translation((0.0,) * people.d)
        return [one for one in out if one != nothing][: max(many, 1)]

    def _made(
        self, schema: Schema, size: np.ndarray, share: np.ndarray, level: np.ndarray, keep: list[int],
        rng: np.random.Generator,
    ) -> Translation:  # fmt: skip
        moved = {j: float(share[j]) for j in keep if not np.isnan(share[j]) and share[j] != 0}
        top = max((abs(v) for v in moved.values()), default=1.0)
        sets = {}
        for j in keep:
            if not np.isnan(level[j]):
                late = int(rng.choice([1, 1, 1 + self.steps // 4, 1 + self.steps // 2])) if moved else 1
                sets[j] = (float(level[j]), late)
        return _translation(schema, size, {j: v / top for j, v in moved.items()}, sets)

    def _variants(
        self, one: Translation, people: Population, many: int, rng: np.random.Generator
    ) -> list[Translation]:
        """Return the direction with a feature more or less, or another ratio."""
        schema, size = people.schema, amounts(people, self.steps)
        can = np.flatnonzero(people.may.any(0) & ~np.array([_sets_level(schema, j) for j in range(people.d)]))
        out = []
        for _ in range(many):
            moved = {j: a / size[j] for j, a in enumerate(one.amount) if a}
            what, fewer = int(rng.integers(3)), _parts(one)
            if what == 0 and fewer:
                out.append(fewer[int(rng.integers(len(fewer)))])
                continue
            if what == 1 and can.size and one.width < self.width:
                j = int(rng.choice(can))
                way = float(schema.direction[j] or rng.choice([-1, 1]))
                moved.setdefault(j, way * float(rng.choice([0.25, 0.5, 1.0])))
            elif moved:
                moved[int(rng.choice(list(moved)))] *= float(rng.choice([0.5, 2.0]))
            out.append(_translation(schema, size, moved, {j: (at, since) for j, at, since in one.sets}))
        return out

    def _ceiling(self, cost: np.ndarray) -> float:
        if self.unserved is not None:
            return self.unserved
        known = cost[np.isfinite(cost)]
        return float(known.max()) * (1 + 1e-9) + 1e-12 if known.size else 1.0

    def _shortlist(self, cost: np.ndarray, pool: Sequence[Translation]) -> list[int]:
        """Return candidates to go on with: first those that make a good set, then those that are good alone."""
        ceiling = self._ceiling(cost)
        together = _greedy(cost, pool, _FINALISTS // 2, ceiling)
        alone = np.argsort(-np.maximum(ceiling - cost, 0).sum(1), kind="stable").tolist()
        return list(dict.fromkeys([*together, *alone]))[:_FINALISTS]

    def _rules(
        self, people: Population, lines: Sequence[Translation], first: np.ndarray, cost: np.ndarray
    ) -> GlobeRules:
        curve = np.full((len(lines), self.steps, 2), np.nan)
        for i in range(len(lines)):
            for k in range(1, self.steps + 1):
                got = (first[i] > 0) & (first[i] <= k)
                curve[i, k - 1] = got.mean(), cost[i, got].mean() if got.any() else np.nan
        return GlobeRules(lines=tuple(lines), steps=self.steps, schema=people.schema, curve=curve)


def first_step(
    people: Population, directions: Sequence[Translation], scales: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first of the scales (rising numbers of steps) at which each direction turns each person's decision.

    Returns: (D, n) int, 0 for none; (D, n) cost, inf for none. Every scale is tried until one is legal and a yes.
    """
    stack = _DirectionArrays(directions, max(scales, default=1))
    first = np.zeros((len(directions), people.n), dtype=np.int64)
    cost = np.full(first.shape, np.inf)
    before = 0
    for k in scales:
        # a direction that moves nothing has news only at the steps at which a level is set
        news = stack.moves | ((stack.since > before) & (stack.since <= k)).any(1)
        before = k
        which, who = np.nonzero((first == 0) & news[:, None])
        for start in range(0, len(who), _AT_ONCE):
            d, i = which[start : start + _AT_ONCE], who[start : start + _AT_ONCE]
            action = stack.act(people, d, i, np.full(len(i), k))
            may = np.flatnonzero(~np.isnan(action).all(1))
            d, i, action = d[may], i[may], action[may]
            if not i.size:
                continue
            got = people.evaluate(i, action)
            hit = np.flatnonzero(got.reached)
            if people.problem.demanding and hit.size:
                hit = hit[people.promise(i[hit], action[hit])[0]]
            first[d[hit], i[hit]], cost[d[hit], i[hit]] = k, got.cost[hit]
    return first, cost


class _DirectionArrays:
    """Directions as arrays: amount, level (NaN: none), since (D, d)."""

    def __init__(self, directions: Sequence[Translation], steps: int) -> None:
        self.amount = np.array([one.amount for one in directions], dtype=np.float64)
        self.level = np.full(self.amount.shape, np.nan)
        self.since = np.full(self.amount.shape, steps + 1, dtype=np.int64)
        for i, one in enumerate(directions):
            for j, level, since in one.sets:
                self.level[i, j], self.since[i, j] = level, since
        self.moves = (self.amount != 0).any(1)

    def act(self, people: Population, which: np.ndarray, who: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Return actions (m, d) for directions, people and steps (m,); NaN rows where a person may not."""
        schema, x = people.schema, people.x[who]
        amount, level = self.amount[which], self.level[which]
        due = k[:, None] >= self.since[which]
        target = np.where(due, level, np.where(amount != 0, x + k[:, None] * amount, np.nan))
        acts = due | (amount != 0)
        low, high = people.low[who], people.high[who]
        slack = 1e-9 * schema.span
        snapped = people.snap(who, target)
        with np.errstate(invalid="ignore"):
            end = ((amount > 0) & (x >= high - slack)) | ((amount < 0) & (x <= low + slack))
            stays = np.where(due, x == level, end)
            wrong = np.isnan(snapped) | (np.sign(amount) * (snapped - x) < -slack)
            wrong |= schema.has_levels & (snapped != np.clip(target, low, high))
        out = np.where(acts & ~stays, snapped, np.nan)
        out[(acts & ~stays & wrong).any(1)] = np.nan
        return out


def amounts(people: Population, steps: int) -> np.ndarray:
    """Return (d,) what one step of a single feature is: the range that holds nine in ten people, in so many steps.

    People are those observed where the problem knows any. A range that is no width gives way to a wider one.
    """
    schema = people.schema
    known = _known(people)
    out = np.ones(people.d)
    for j in range(people.d):
        if schema.has_levels[j]:
            continue
        column = known[np.isfinite(known[:, j]), j]
        spread = float(np.subtract(*np.quantile(column, (0.95, 0.05)))) if column.size else 0.0
        spread = spread or (float(np.ptp(column)) if column.size else 0.0) or float(schema.span[j])
        out[j] = spread / steps
    return out


def _known(people: Population) -> np.ndarray:
    reference = people.problem.reference
    return people.x if reference is None else np.asarray(reference)


def _sets_level(schema: Schema, j: int) -> bool:
    return schema.features[j].kind in ("binary", "categorical")


def _translation(
    schema: Schema, size: np.ndarray, moved: dict[int, float], sets: dict[int, tuple[float, int]]
) -> Translation:
    """Return a direction with amounts that people can say: one digit, on the lattice of the feature."""
    amount = [0.0] * schema.d
    for j, share in moved.items():
        raw = abs(share) * size[j]
        unit = 10.0 ** np.floor(np.log10(raw))
        rounded, step = round(raw / unit) * unit, schema.step[j]
        if np.isfinite(step):
            rounded = max(round(rounded / step), 1) * step
        amount[j] = float(np.sign(share) * float(f"{rounded:.12g}"))
    return Translation(tuple(amount), tuple((j, level, since) for j, (level, since) in sorted(sets.items())))


def _differences(
    people: Population, size: np.ndarray, many: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return differences of some people to the nearest accepted one: steps of each amount (d,), levels to set (d,).

    NaN where the other of the two holds.
    """
    if people.problem.reference is None:
        return []
    accepted = people.problem.reference_accepted
    if not len(accepted):
        return []
    schema = people.schema
    accepted = accepted[rng.permutation(len(accepted))[:_NEIGHBOURS]]
    x = people.x[rng.permutation(people.n)[:many]]
    sets = np.array([_sets_level(schema, j) for j in range(people.d)])
    can = people.may.any(0)
    out = []
    for row in x:  # few: a share of the candidates
        gap = np.where(sets, np.nan_to_num((accepted != row).astype(float)), (accepted - row) / size)
        plain = np.abs(np.where(np.isnan(gap), 1.0, gap))[:, can]
        to = accepted[plain.sum(1).argmin()]
        share = np.where(sets | ~can, np.nan, (to - row) / size)
        share[share * schema.direction < 0] = np.nan
        out.append((share, np.where(sets & can & (to != row), to, np.nan)))
    return out


def _parts(one: Translation) -> list[Translation]:
    """Return the direction less one of its features, each in turn."""
    some = [*np.flatnonzero(one.amount).tolist(), *(j for j, _, _ in one.sets)]
    return [one.without(j) for j in some] if len(some) > 1 else []


def _greedy(cost: np.ndarray, pool: Sequence[Translation], many: int, ceiling: float) -> list[int]:
    """Choose directions one after another by how much they save, cost (D, n), nobody served costing `ceiling`.

    Of those that save nearly as much as the best, the one that moves least wins; and no two chosen ones move the same
    things the same way, so that lines tell a reader different things.
    """
    now = np.full(cost.shape[1], ceiling)
    wide = np.array([one.width for one in pool])
    kind = [one.kind for one in pool]
    left = np.ones(len(pool), dtype=bool)
    out: list[int] = []
    while len(out) < many and left.any():
        gain = np.maximum(now - cost, 0).sum(1)
        near = np.flatnonzero(left & (gain >= _NEARLY * gain[left].max()) & (gain > 0))
        if not near.size:
            break
        best = int(near[np.lexsort((-gain[near], wide[near]))[0]])
        if (~left & (gain >= _NEARLY * gain[best]) & (wide < wide[best])).any():
            left[best] = False  # a chosen one with a little thrown in
            continue
        new = np.minimum(now, cost[best])
        served = (now < ceiling).mean()
        if out and (new < ceiling).mean() - served < 0.01 and gain[best] < 0.01 * now.sum():
            break
        out.append(best)
        now = new
        left &= np.array([other != kind[best] for other in kind])
    return out


def _how_often(schema: Schema, needed: list[int], totals: list[list[tuple[int, float]]]) -> str:
    """Return how often half, and nine in ten, go a step at most: needed (2,), and how far that is in each feature."""
    half, most = (
        gettext(
            "{times} ({total} in all)",
            times=words.count(k, "time", "times"), total=listed([_size(schema, j, size) for j, size in total]),
        )
        for k, total in zip(needed, totals, strict=True)
    )  # fmt: skip
    return gettext(
        "Of those it works for, half need it at most {half}, nine in ten at most {most}.",
        half=half,
        most=most,
    )


def _size(schema: Schema, j: int, amount: float) -> str:
    """Return an amount in words."""
    feature = schema.features[j]
    if feature.has_levels:
        return words.count(round(abs(amount)), "level", "levels")
    return words.value_text(feature, float(f"{abs(amount):.6g}"))
