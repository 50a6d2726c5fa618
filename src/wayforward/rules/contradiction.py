"""Refute rules that cannot hold together: every refutation is a proof over the declared domains.

Bounds are propagated over the clauses of the normal form, then cases are told apart over clauses and small domains,
within a budget of nodes. An integer program would not do: domains of observed bounds are infinite, so that there is no
big-M, and a solver's tolerance (1e-6) is wider than the rules' own (1e-9 of the largest term).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy

import numpy as np

from wayforward.rules.boxes import Bounds, BoxAtoms
from wayforward.rules.evaluate import truth_of
from wayforward.rules.expression import Changed, Changes, Condition, Ref, walk
from wayforward.rules.grammar import FeatureInfo
from wayforward.rules.normal_form import Atom, Levels, Linear, Moved, Side, normal_form

_MAX_NODES = 200
_SMALL = 12  # values of a domain that is enumerated


class _Domain:
    """What is still possible: bounds and level sets of before and after, and which features moved."""

    def __init__(self, features: Sequence[FeatureInfo], spans: np.ndarray) -> None:
        self.features, self.spans = features, spans
        d = len(features)
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        self.levels: dict[tuple[Side, int], np.ndarray] = {}
        self.open = np.zeros(d, dtype=bool)  # may be missing, and then satisfies everything
        self.whole = np.zeros(d, dtype=bool)
        for j, feature in enumerate(features):
            self.open[j] = bool(getattr(feature, "missing", False))
            self.whole[j] = feature.has_levels or feature.kind == "integer"
            if feature.has_levels:
                low[j], high[j] = 0, len(feature.levels) - 1
                for side in _SIDES:
                    self.levels[side, j] = np.ones(len(feature.levels), dtype=bool)
            elif getattr(feature, "bounds", "declared") == "declared":  # observed bounds are no law
                low[j] = -np.inf if feature.low is None else feature.low
                high[j] = np.inf if feature.high is None else feature.high
        self.low: dict[Side, np.ndarray] = {side: low.copy() for side in _SIDES}
        self.high: dict[Side, np.ndarray] = {side: high.copy() for side in _SIDES}
        self.moved: dict[int, bool] = {}

    def copy(self) -> _Domain:
        """A domain to narrow on trial."""
        other = copy(self)
        other.low = {side: array.copy() for side, array in self.low.items()}
        other.high = {side: array.copy() for side, array in self.high.items()}
        other.levels = {key: array.copy() for key, array in self.levels.items()}
        other.moved = dict(self.moved)
        return other

    # -- what an atom is worth here
    def changed(self, index: int) -> bool | None:
        """Whether the feature moved, where that is decided."""
        if self.open[index]:
            return None
        if index in self.moved:
            return self.moved[index]
        gap = 1e-9 * max(1.0, float(np.nan_to_num(self.spans[index], nan=1.0)))
        before, after = ((self.low[side][index], self.high[side][index]) for side in _SIDES)
        if after[0] > before[1] + 2 * gap or before[0] > after[1] + 2 * gap:
            return True
        if ("before", index) in self.levels and not (
            self.levels["before", index] & self.levels["after", index]
        ).any():
            return True
        if before[0] == before[1] == after[0] == after[1]:
            return False
        return None

    def worth(self, atom: Atom) -> bool | None:
        """True, False or undecided."""
        match atom:
            case Moved(index, wanted):
                known = self.changed(index)
                return None if known is None else known == wanted
            case Levels(side, index, allowed):
                if self.open[index]:
                    return None
                possible = set(np.flatnonzero(self.levels[side, index]).tolist())
                return True if possible <= allowed else (None if possible & allowed else False)
            case Linear():
                if any(self.open[index] for _, index, _ in atom.terms):
                    return None
                least, most, size = self.activity(atom)
                pad = 1e-8 * size
                if least > atom.bound + pad or (atom.strict and least >= atom.bound):
                    return False
                if most < atom.bound - pad or (not atom.strict and most <= atom.bound):
                    return True
                return None

    def _ends(self, atom: Linear) -> list[tuple[float, float]]:
        """Least and greatest of each term, changes last."""
        ends = []
        for side, index, weight in atom.terms:
            one, other = weight * self.low[side][index], weight * self.high[side][index]
            ends.append((float(min(one, other)), float(max(one, other))))
        for index, weight in atom.changed:
            known = self.changed(index)
            one, other = (0.0, weight) if known is None else (weight * known, weight * known)
            ends.append((min(one, other), max(one, other)))
        return ends

    def activity(self, atom: Linear) -> tuple[float, float, float]:
        """Least and greatest left side, and the size of what was added."""
        ends = self._ends(atom)
        finite = [abs(v) for pair in ends for v in pair if math.isfinite(v)]
        return sum(e[0] for e in ends), sum(e[1] for e in ends), max([abs(atom.bound), *finite, 1e-12])

    # -- making an atom true
    def force(self, atom: Atom) -> bool | None:
        """Narrow to where the atom holds: True if narrowed, False if nothing is left, None if as it was."""
        match atom:
            case Moved(index, wanted):
                if self.open[index]:
                    return None
                known = self.changed(index)
                if known is not None and known != wanted:
                    return False
                new = self.moved.get(index) != wanted
                self.moved[index] = wanted
                narrowed = self.unite(index) if not wanted else None
                return False if narrowed is False else (new or bool(narrowed) or None)
            case Levels(side, index, allowed):
                if self.open[index]:
                    return None
                mask = np.zeros_like(self.levels[side, index])
                mask[list(allowed)] = True
                return self._restrict(side, index, mask)
            case Linear():
                return self._force_linear(atom)

    def _restrict(self, side: Side, index: int, mask: np.ndarray) -> bool | None:
        old = self.levels[side, index]
        new = old & mask
        if not new.any():
            return False
        if (new == old).all():
            return None
        self.levels[side, index] = new
        places = np.flatnonzero(new)
        self.low[side][index], self.high[side][index] = places[0], places[-1]
        return True

    def bound(self, side: Side, index: int, low: float, high: float) -> bool | None:
        if self.whole[index]:
            low, high = (
                math.ceil(low - 1e-6) if math.isfinite(low) else low,
                (math.floor(high + 1e-6) if math.isfinite(high) else high),
            )
        if (side, index) in self.levels:
            places = np.arange(len(self.levels[side, index]))
            return self._restrict(side, index, (places >= low) & (places <= high))
        old_low, old_high = float(self.low[side][index]), float(self.high[side][index])
        new_low, new_high = max(low, old_low), min(high, old_high)
        gap = 1e-8 * max(abs(v) for v in (new_low, new_high, 1e-12) if math.isfinite(v))
        if new_low > new_high:
            if new_low > new_high + gap:
                return False
            new_low = new_high = min(max(new_low, old_low), old_high)
        # ignore tiny steps: chains of real bounds may converge without ever ending
        step = 1e-6 * max([abs(v) for v in (old_low, old_high) if math.isfinite(v)] + [1e-6])
        if not (new_low > old_low + step or new_high < old_high - step):
            return None
        self.low[side][index], self.high[side][index] = new_low, new_high
        return True

    def unite(self, index: int) -> bool | None:
        """Unmoved: before and after share what both allow."""
        if ("before", index) in self.levels:
            common = self.levels["before", index] & self.levels["after", index]
            results = [self._restrict(side, index, common) for side in _SIDES]
        else:
            low = float(max(self.low[side][index] for side in _SIDES))
            high = float(min(self.high[side][index] for side in _SIDES))
            pad = 1e-9 * max(1.0, float(np.nan_to_num(self.spans[index], nan=1.0)))
            results = [self.bound(side, index, low - pad, high + pad) for side in _SIDES]
        return False if False in results else (True if True in results else None)

    def _force_linear(self, atom: Linear) -> bool | None:
        if self.worth(atom) is False:
            return False
        if any(self.open[index] for _, index, _ in atom.terms):
            return None
        ends = self._ends(atom)
        size = max([abs(atom.bound), *(abs(v) for pair in ends for v in pair if math.isfinite(v)), 1e-12])
        narrowed: bool | None = None
        infinite = [place for place, (least, _) in enumerate(ends) if math.isinf(least)]
        finite = sum(least for least, _ in ends if math.isfinite(least))
        for place, (side, index, weight) in enumerate(atom.terms):
            if any(other != place for other in infinite):
                continue
            rest = finite - (ends[place][0] if place not in infinite else 0.0)
            limit = (atom.bound - rest + 1e-8 * size) / weight
            result = self.bound(side, index, *((-math.inf, limit) if weight > 0 else (limit, math.inf)))
            if result is False:
                return False
            narrowed = narrowed or result
        for place, (index, weight) in enumerate(atom.changed, start=len(atom.terms)):
            if infinite or self.open[index] or self.changed(index) is not None:
                continue
            rest = finite - ends[place][0]
            for value in (True, False):
                if rest + weight * value > atom.bound + 1e-8 * size:  # this value is impossible
                    result = self.force(Moved(index, not value))
                    if result is False:
                        return False
                    narrowed = narrowed or result
                    break
        return narrowed

    def atoms(self) -> BoxAtoms:
        """The same box for `truth_of`; what may be missing is unknown."""
        levels = {key: mask for key, mask in self.levels.items() if not self.open[key[1]]}
        bounds: dict[Side, Bounds] = {
            side: (np.where(self.open, np.nan, self.low[side]), np.where(self.open, np.nan, self.high[side]))
            for side in _SIDES
        }
        return BoxAtoms(bounds, levels, self.features, self.spans)


_SIDES: tuple[Side, Side] = ("before", "after")


class _Refuter:
    """Look for a proof that some conditions cannot all hold."""

    def __init__(
        self, features: Sequence[FeatureInfo], spans: np.ndarray, conditions: Iterable[Condition]
    ) -> None:
        self.features, self.spans = features, spans
        self.clauses: list[tuple[Atom, ...]] = []
        self.opaque: list[Condition] = []
        for condition in conditions:
            form = normal_form(condition, features)
            if form is None:
                self.opaque.append(condition)
            else:
                self.clauses += form.clauses
        self.nodes = 0

    def refuted(self) -> bool:
        """Whether a proof was found within the budget."""
        return self._refuted(_Domain(self.features, self.spans), self.clauses)

    def _refuted(self, domain: _Domain, clauses: list[tuple[Atom, ...]]) -> bool:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            return False
        undecided = self._propagate(domain, clauses)
        if undecided is None:
            return True
        wide = [clause for clause in undecided if len(clause) > 1]
        if wide:
            clause = min(wide, key=len)
            others = [other for other in undecided if other is not clause]
            # one atom after another is the one that holds
            return all(self._refuted(domain.copy(), [*others, (atom,)]) for atom in clause)
        split = self._small(domain, undecided)
        if split is None:
            return False
        side, index, values = split
        for value in values:
            case = domain.copy()
            if case.bound(side, index, value, value) is not False and not self._refuted(case, undecided):
                return False
        return True

    def _propagate(self, domain: _Domain, clauses: list[tuple[Atom, ...]]) -> list[tuple[Atom, ...]] | None:
        """Narrow until nothing moves: the clauses still undecided, or None if nothing is left."""
        for _ in range(50):
            narrowed = False
            undecided: list[tuple[Atom, ...]] = []
            for clause in clauses:
                worth = [domain.worth(atom) for atom in clause]
                if True in worth:
                    continue
                rest = tuple(atom for atom, value in zip(clause, worth, strict=True) if value is not False)
                if not rest:
                    return None
                if len(rest) == 1:
                    result = domain.force(rest[0])
                    if result is False:
                        return None
                    narrowed = narrowed or bool(result)
                undecided.append(rest)
            for index, moved in list(domain.moved.items()):
                if not moved:
                    result = domain.unite(index)
                    if result is False:
                        return None
                    narrowed = narrowed or bool(result)
                elif _pinned(domain, index):
                    return None
            clauses = undecided
            if not narrowed:
                break
        if _clash(domain, clauses):
            return None
        with np.errstate(all="ignore"):
            if any(not truth_of(body, domain.atoms())[1].all() for body in self.opaque):
                return None
        return clauses

    def _small(
        self, domain: _Domain, clauses: list[tuple[Atom, ...]]
    ) -> tuple[Side, int, list[float]] | None:
        """The undecided discrete value with the fewest cases, if one is small enough."""
        wanted: set[tuple[Side, int]] = set()
        for clause in clauses:
            for atom in clause:
                if isinstance(atom, Linear):
                    wanted |= {(side, index) for side, index, _ in atom.terms}
                    wanted |= {(side, index) for index, _ in atom.changed for side in _SIDES}
                else:
                    sides = _SIDES if isinstance(atom, Moved) else (atom.side,)
                    wanted |= {(side, atom.index) for side in sides}
        for body in self.opaque:
            for node in walk(body):
                if isinstance(node, (Ref, Changed)):
                    wanted |= {(side, node.index) for side in _SIDES}
                elif isinstance(node, Changes):
                    wanted |= {(side, index) for index in node.indices for side in _SIDES}
        best: tuple[Side, int, list[float]] | None = None
        for side, index in sorted(wanted):
            if domain.open[index] or not domain.whole[index]:
                continue
            low, high = domain.low[side][index], domain.high[side][index]
            if not 0 < high - low < _SMALL * 4:
                continue
            values = [float(v) for v in np.arange(low, high + 1)]
            if (side, index) in domain.levels:
                values = [v for v in values if domain.levels[side, index][int(v)]]
            if len(values) <= _SMALL and (best is None or len(values) < len(best[2])):
                best = (side, index, values)
        return best


def _pinned(domain: _Domain, index: int) -> bool:
    """Whether before and after can only be one and the same value."""
    ends = {domain.low[side][index] for side in _SIDES} | {domain.high[side][index] for side in _SIDES}
    return len(ends) == 1 and not domain.open[index]


def _clash(domain: _Domain, clauses: list[tuple[Atom, ...]]) -> bool:
    """Whether two forced inequalities over the same direction exclude each other, as x < y and y < x do."""
    upper: dict[tuple[tuple[tuple[str, int], float], ...], tuple[float, bool]] = {}
    lower: dict[tuple[tuple[tuple[str, int], float], ...], tuple[float, bool]] = {}
    equal = {index for index, moved in domain.moved.items() if not moved}
    for clause in clauses:
        if len(clause) != 1 or not isinstance(clause[0], Linear):
            continue
        atom = clause[0]
        if any(domain.open[index] for _, index, _ in atom.terms) or any(
            domain.open[index] for index, _ in atom.changed
        ):
            continue
        merged: dict[tuple[str, int], float] = {}
        for side, index, weight in atom.terms:  # an unmoved feature is one value, not two
            key = ("before" if index in equal else side, index)
            merged[key] = merged.get(key, 0.0) + weight
        for index, weight in atom.changed:
            merged["changed", index] = merged.get(("changed", index), 0.0) + weight
        terms = [(key, weight) for key, weight in sorted(merged.items()) if weight != 0]
        if not terms:
            if atom.bound < 0.0 or (atom.strict and atom.bound <= 0.0):
                return True
            continue
        scale = terms[0][1]
        direction = tuple((key, round(weight / scale, 12)) for key, weight in terms)
        limit = (atom.bound / scale, atom.strict)
        table, better = (upper, limit[0]) if scale > 0 else (lower, -limit[0])
        old = table.get(direction)
        if old is None or (better, not atom.strict) < ((old[0] if scale > 0 else -old[0]), not old[1]):
            table[direction] = limit
    for direction, (high, strict_high) in upper.items():
        if direction in lower:
            low, strict_low = lower[direction]
            if low > high + 1e-8 * max(abs(low), abs(high)) or (low >= high and (strict_low or strict_high)):
                return True
    return False


def contradiction(
    conditions: Sequence[tuple[str, Condition]],
    features: Sequence[FeatureInfo],
    spans: np.ndarray,
    satisfied: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> str | None:
    """Name conditions (with their texts) that cannot hold together in a sentence, or return None.

    satisfied: (n, d), (n, d) -> (n,) bool, whether all hold. See `RuleSet.contradiction`.
    """
    if not conditions or _satisfied_somewhere(features, spans, satisfied):
        return None
    for text, condition in conditions:
        if _Refuter(features, spans, [condition]).refuted():
            return f"the rule '{text}' can never hold."
    whole = _Refuter(features, spans, (condition for _, condition in conditions))
    if len(conditions) == 1 or not whole.refuted():
        return None
    spent, needed = whole.nodes, list(conditions)
    for pair in conditions:  # leave out whatever the proof does not need
        fewer = [other for other in needed if other is not pair]
        attempt = _Refuter(features, spans, (condition for _, condition in fewer))
        if spent < 10 * _MAX_NODES and attempt.refuted():
            needed = fewer
        spent += attempt.nodes
    texts = [f"'{text}'" for text, _ in needed]
    return f"the rules {', '.join(texts[:-1])} and {texts[-1]} can never hold together."


def _satisfied_somewhere(
    features: Sequence[FeatureInfo],
    spans: np.ndarray,
    satisfied: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> bool:
    """Try some pairs of points: one that satisfies every rule spares the search for a proof."""
    rng = np.random.default_rng(0)
    d, n = len(features), 64
    domain = _Domain(features, spans)
    sides = []
    for side in _SIDES:
        low = np.where(
            np.isfinite(domain.low[side]), domain.low[side], np.minimum(domain.high[side], 1e3) - 1e3
        )
        high = np.where(np.isfinite(domain.high[side]), domain.high[side], np.maximum(low, 0.0) + 1e3)
        points = low + rng.random((n, d)) * (high - low)
        points[: n // 8], points[n // 8 : n // 4] = low, high
        sides.append(np.where(domain.whole, np.rint(points), points))
    before, after = sides
    after[n // 4 :] = np.where(rng.random((n - n // 4, d)) < 0.5, before[n // 4 :], after[n // 4 :])
    after[n // 2 :] = np.where(rng.random((n // 2, d)) < 0.8, before[n // 2 :], after[n // 2 :])
    return bool(satisfied(before, after).any())
