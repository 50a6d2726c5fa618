"""The cheapest row that a forest accepts, or that there is none: branch and bound over boxes, in compiled code.

Source: the idea of bounding an ensemble over boxes by the best leaf of each tree is that of T. Chen and others (2019),
Robustness verification of tree-based models; here the search is best-first by cost, all trees vote on where to
split, and the rules' clauses are bounded in the same boxes.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from enum import IntEnum
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from wayforward.deadline import left as time_left
from wayforward.deadline import look, now
from wayforward.methods.engines.exact.box_records import BoxPeople, BoxRoom, Clauses, ReachedForest
from wayforward.methods.engines.exact.isolation_trees import Ordinary, joined
from wayforward.methods.engines.seeker import packing
from wayforward.methods.engines.seeker.records import CellForest
from wayforward.model import kernels
from wayforward.problem.cost import LpMix
from wayforward.problem.plausibility import IsolationForest
from wayforward.rules.normal_form import Levels, Linear, Moved
from wayforward.shapes import Floats, Ints, Mask, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wayforward.problem import Population, Problem
    from wayforward.schema import Schema

BOXES = 20_000  # looked at for a person before the search stops with a bound
_ROOM = 1e-9  # of a span: by so much the judge lets a value miss a bound
LEVELS = 62  # of a feature, at most: a bit each
_WAYS = 64  # of filling in what somebody lacks that are searched
PACE = 2_000  # boxes a second, before one was searched for
_SHARE = 0.5  # of the time that is left, for one person
_BEGIN = 3.0**-7  # of what the dearest row costs, which is looked at first
# rows of `feature`, as the seeker has them: what is nearer is the same value, a change over all of the range, whether
# the forest asks about it, the least change
_TINY, _WHOLE, _USED, _LEAST = 4, 8, 11, 12


class End(IntEnum):
    """How a search ended: nothing exists; the cheapest was found; neither within the limit; what was found is so near
    to the boundary that the model itself has to say; nothing was found for as little as was looked at.
    """

    NONE_EXISTS, FOUND, OPEN, UNSURE, TOO_DEAR = range(5)


class BoxAnswer(NamedTuple):
    """after (n, d) the cheapest row, NaN where there is none; end (n,) see `End`; bound (n,): no option costs less;
    looked (n,) boxes; proved (n,) bool: there is no option at all."""

    after: Rows
    end: Ints
    bound: Floats
    looked: Ints
    proved: Mask


class ForestBoxes:
    """Search people's cheapest option of one additive forest. Make it with `ForestBoxes.of`.

    complete: what it finds is an option, else something that it does not know may still refuse it (a rule that is not
    linear, plausibility by anything but an isolation forest); its proofs hold all the same. A numeric feature is
    searched at every value that the schema allows. Missing values that may be told are filled in or stay: each way is
    a search of its own, those with the fewest first; beyond 64 ways a person the rest is left open.
    within: what is found may cost so much more, relatively, than the least cost.
    """

    within: ClassVar[float] = 0.0

    def __init__(
        self,
        problem: Problem,
        forest: CellForest,
        feature: Floats,
        number: Floats,
        sums: tuple[int, int, bool],
        ordinary: Ordinary | None = None,
    ) -> None:
        self.schema, self.forest, self.feature, self.number = problem.schema, forest, feature, number
        self.need: float = sums[0]
        self.sure: float = sums[1]
        self.provable = sums[2]
        self.ordinary = ordinary
        self.pace = float(PACE)  # boxes a second, as the last search went
        self.power = 1.0  # of what a person pays that the search adds up
        self.level_rules, self.clauses, every = clauses_of(problem.schema)
        self.complete = every and (problem.plausibility is None or ordinary is not None)

    @classmethod
    def of(cls, problem: Problem) -> ForestBoxes | None:
        """Pack a problem; None where it is not of this kind: one forest with one output, a cost that is a sum or the
        greatest of steps or their Euclidean norm, nothing that follows from an action, no more asked for than today's
        decision."""
        flat = problem.model.forest
        if kernels.jit() is None or flat is None or problem.robust is not None or problem.demanding:
            return None
        priced = summed(problem)
        if priced is None or not problem.independent:
            return None
        problem, power, peak = priced
        score = packing.trees_score(problem, flat)
        if score is None:
            return None
        mix, margins = score
        rule, made, size = problem.plausibility, None, 0
        if isinstance(rule, IsolationForest):
            both, size = joined(flat, rule, mix)
            made = packing.cell_forest(both, problem.schema, mix)
        beside = made is not None
        made = made or packing.cell_forest(flat, problem.schema, mix)
        if made is None:
            return None
        forest, used, (base, unit) = made
        ordinary = (
            Ordinary.of(flat, rule, size, unit) if beside and isinstance(rule, IsolationForest) else None
        )
        land = packing.terrain(problem, used, margins, (base, unit))
        need = int(np.ceil((margins[0] - base) / unit)) - 1
        sure = int(np.ceil((margins[0] + margins[2] - base) / unit)) + 1
        proof = _least_possible(problem, mix, base, unit, need)
        made_of = (need if proof is None else min(need, proof), sure, proof is not None)
        boxes = cls(problem, forest, land.feature, np.append(land.number, float(peak)), made_of, ordinary)
        boxes.power = power
        return boxes

    def apart_from(self, changed: Mask) -> ForestBoxes:
        """Return a search for rows that do not change all features that some earlier one changed: changed (s, d)."""
        other, rules = copy(self), self.clauses
        each, atoms = changed.sum(1), np.nonzero(changed)[1]
        more = len(atoms)
        other.clauses = Clauses(
            np.append(rules.atom_at, rules.atom_at[-1] + np.cumsum(each)), np.append(rules.kind, np.full(more, 2)),
            np.append(rules.feature, atoms), np.append(rules.before, np.zeros(more, np.bool_)),
            np.append(rules.changed, np.zeros(more, np.bool_)), np.append(rules.allowed, np.zeros(more, np.uint64)),
            np.append(rules.bound, np.zeros(more)), np.append(rules.strict, np.zeros(more, np.bool_)),
            np.append(rules.term_at, np.full(more, rules.term_at[-1])), rules.term, rules.weight,
            rules.reads | changed.any(0),
        )  # fmt: skip
        return other

    def search(
        self, people: Population, cutoff: Floats | None = None, limit: int | Ints = BOXES
    ) -> BoxAnswer:
        """Search for each person. cutoff (n,): what they have costs so much, only cheaper rows count.

        limit: boxes a person. What is found very near to the boundary is shown to the model, and searched for again a
        little inside where the model refuses it.
        """
        n = people.n
        limits = np.full(n, limit, np.int64) if np.ndim(limit) == 0 else np.asarray(limit, np.int64)
        cutoffs = np.full(n, np.inf) if cutoff is None else np.asarray(cutoff, np.float64)
        lacks = self._lacks(people)
        got = self._filled_in(people, np.zeros(lacks.shape, np.bool_), cutoffs, limits)
        found = np.flatnonzero((got.end == End.FOUND) & lacks.any(1))
        cost = cutoffs.copy()
        cost[found] = self._cost(people, found, got.after[found])
        for who, fill, price in self._ways(people, lacks):
            some = who[price < cost[who]]
            fill, price = fill[price < cost[who]], price[price < cost[who]]
            spent = (got.looked[some] >= limits[some]) | ~fill.any(1)
            short = some[spent]
            got.proved[short], got.bound[short] = False, np.minimum(got.bound[short], price[spent])
            got.end[short] = np.where(got.end[short] == End.FOUND, End.FOUND, End.OPEN)
            some, fill = some[~spent], fill[~spent]
            if not some.size:
                continue
            more = self._filled_in(people.take(some), fill, cost[some], limits[some] - got.looked[some])
            new = more.end == End.FOUND
            got.after[some[new]] = more.after[new]
            cost[some[new]] = self._cost(people, some[new], more.after[new])
            either = (got.end[some] == End.FOUND) | new
            neither = np.where(
                (got.end[some] == End.OPEN) | (more.end == End.OPEN), End.OPEN, End.NONE_EXISTS
            )
            got.end[some] = np.where(either, End.FOUND, neither)
            got.bound[some] = np.minimum(got.bound[some], more.bound)
            got.looked[some] += more.looked
            got.proved[some] &= more.proved
        return got

    def _cost(self, people: Population, who: Ints, after: Rows) -> Floats:
        action = np.where(people.schema.differs(after, people.x[who]), after, np.nan)
        return np.asarray(people.cost(who, action))

    def _lacks(self, people: Population) -> Mask:
        """(n, d) bool: a missing value that the person may tell, and that the forest or a rule reads."""
        wanted = (self.feature[_USED] > 0) | self.clauses.reads
        return np.asarray(np.isnan(people.x) & people.may & wanted)

    def _ways(self, people: Population, lacks: Mask) -> Iterator[tuple[Ints, Mask, Floats]]:
        """Yield who (m,) may fill in which missing values (m, d), and what that alone costs (m,): the fewest first.

        After as many ways as are searched comes one in which nothing is filled in, at what any other costs at least.
        """
        if not lacks.any():
            return
        fixed, slope, square = self.number[:3]
        whole = self.feature[_WHOLE]
        each = people.weight**self.power * (fixed + (slope + square * whole) * whole)
        column = np.argsort(~lacks, axis=1, kind="stable")
        count = lacks.sum(1)
        ways = (way for many in range(1, count.max() + 1) for way in combinations(range(count.max()), many))
        for tried, way in enumerate(ways):
            who = np.flatnonzero(count > way[-1])
            fill = np.zeros((who.size, people.d), np.bool_)
            price = np.sort(np.where(lacks, each, np.inf), axis=1)[who, : len(way)]
            if tried < _WAYS:
                np.put_along_axis(fill, column[who][:, way], True, axis=1)
                price = np.take_along_axis(each[who], column[who][:, way], axis=1)
            total = price.max(1) if self.number[-1] > 0 else price.sum(1)
            yield who, fill, total ** (1.0 / self.power)
            if tried == _WAYS:
                return

    def _filled_in(self, people: Population, fill: Mask, cutoffs: Floats, limits: Ints) -> BoxAnswer:
        """Search with the missing values of fill (n, d) filled in, and no others; see `search`."""
        need, sure = self._needs(people)
        found = self._run(people, fill, cutoffs, limits, need, sure, begin=_BEGIN, whole=False)
        after, end, bound, looked = found
        # a search keeps to what was observed; a proof, and whoever has nothing else, have all that the judge allows
        endless = np.isinf(cutoffs)
        left = np.flatnonzero((end == End.TOO_DEAR) | ((end == End.NONE_EXISTS) & endless))
        if left.size:
            rest = limits[left] - looked[left]
            some = people.take(left)
            found = self._whole(some, fill[left], cutoffs[left], limits[left], rest, need[left], sure[left])
            after[left], end[left], bound[left] = found[:3]
            looked[left] += found[3]
        proved = (end == End.NONE_EXISTS) & endless & self.provable
        unsure = np.flatnonzero(end == End.UNSURE)
        if unsure.size:
            yes = self._accepted(people, unsure, after[unsure])
            end[unsure[yes]], again = End.FOUND, unsure[~yes]
            if again.size:  # a little inside; what was proved to be too dear still is
                some = people.take(again)
                rest = self._run(some, fill[again], cutoffs[again], limits[again], sure[again], sure[again])
                after[again], end[again] = rest[0], np.where(rest[1] == End.FOUND, End.FOUND, End.OPEN)
                looked[again] += rest[3]
        end[(end == End.NONE_EXISTS) & np.isinf(cutoffs) & ~proved] = End.OPEN
        after[end != End.FOUND] = np.nan
        return BoxAnswer(after, end, bound, looked, proved)

    def _accepted(self, people: Population, who: Ints, after: Rows) -> Mask:
        """(m,) bool: rows that the model itself accepts, and where more than its yes is asked for, that too."""
        problem = people.problem
        yes = np.array(problem.reached(after)[0], dtype=bool)
        some = np.flatnonzero(yes)
        if problem.robust is not None and some.size:
            x = people.x[who[some]]
            action = np.where(people.schema.differs(after[some], x), after[some], np.nan)
            yes[some] = problem.robust.holds(problem, x, action, after[some])
        return yes

    def _whole(
        self,
        people: Population,
        fill: Mask,
        cutoff: Floats,
        limit: Ints,
        rest: Ints,
        need: np.ndarray,
        sure: np.ndarray,
    ) -> tuple[Rows, Ints, Floats, Ints]:
        """Search at once for all that there is; who has no cutoff first within all that the judge allows, where most
        are proved to have nothing. rest (n,): boxes left within what was observed."""
        wide = np.flatnonzero(np.isinf(cutoff))
        out = (
            np.empty(people.x.shape),
            np.zeros(people.n, np.int64),
            np.zeros(people.n),
            np.zeros(people.n, np.int64),
        )
        if wide.size:
            some = people.take(wide)
            found = self._run(some, fill[wide], cutoff[wide], limit[wide], need[wide], sure[wide], wide=True)
            for part, mine in zip(out, found, strict=True):
                part[wide] = mine
        narrow = np.flatnonzero(np.isfinite(cutoff) | (out[1] != End.NONE_EXISTS))
        if narrow.size:
            some = people.take(narrow)
            found = self._run(some, fill[narrow], cutoff[narrow], rest[narrow], need[narrow], sure[narrow])
            out[3][narrow] += found[3]
            there = np.isfinite(cutoff[narrow]) | (found[1] != End.NONE_EXISTS)
            for part, mine in zip(out[:3], found, strict=False):
                part[narrow[there]] = mine[there]
        return out

    def least_cost(self, people: Population, cutoff: Floats, limit: int = BOXES) -> Floats:
        """(n,) no action that the judge may accept costs less; NaN where nothing is proved, inf where there is none.

        cutoff (n,): as of `search`; the bound goes no higher. Whatever the search does not know of (see `complete`)
        only takes options away. After so many boxes a person the bound reached is returned.
        """
        n = people.n
        if not self.provable:
            return np.full(n, np.nan)
        least, left = np.array(cutoff, np.float64), np.full(n, limit, np.int64)
        lacks, everybody = self._lacks(people), np.arange(n)
        stays = (everybody, np.zeros(lacks.shape, np.bool_), np.zeros(n))
        for way, (who, fill, price) in enumerate(chain([stays], self._ways(people, lacks))):
            cheap = price < least[who]
            who, fill, price = who[cheap], fill[cheap], price[cheap]
            spent = (left[who] < 1) | ((way > 0) & ~fill.any(1))
            least[who[spent]] = price[spent]
            who, fill = who[~spent], fill[~spent]
            if not who.size:
                continue
            some = people.take(who)
            need = self._needs(some)[0]
            _, _, bound, looked = self._run(
                some, fill, least[who], left[who], need, need, wide=True, begin=_BEGIN
            )
            least[who], left[who] = np.minimum(bound, least[who]), left[who] - looked
        return least

    def _run(
        self,
        people: Population,
        fill: Mask,
        cutoff: Floats,
        limit: Ints,
        need: np.ndarray,
        sure: np.ndarray,
        *,
        wide: bool = False,
        begin: float = 1.0,
        whole: bool = True,
    ) -> tuple[Rows, Ints, Floats, Ints]:
        """Search within what was observed, or within all that the judge allows; see `search`. begin: the share of what
        the dearest row costs that is looked at first; whole: up to all of it, else who has nothing then is TOO_DEAR."""
        n, d = people.x.shape
        schema = self.schema
        levels = np.zeros((n, d), np.uint64)
        allowed, stays = np.array(people.levels, dtype=bool), np.ones((n, d), dtype=np.bool_)
        for j, follows in self.level_rules:
            x = people.x[:, j]
            at = np.where(np.isnan(x), len(follows) - 1, x).astype(np.int64)
            allowed[:, schema.level_columns[j]] &= follows[at]
            stays[:, j] &= np.isnan(x) | follows[at, np.minimum(at, follows.shape[1] - 1)]
        for j, columns in schema.level_columns.items():
            if self.feature[9, j] <= LEVELS:
                bits = np.uint64(1) << np.arange(int(schema.n_levels[j]), dtype=np.uint64)
                levels[:, j] = (allowed[:, columns] * bits).sum(axis=1)
        low, high, may = people.low, people.high, people.free
        feature = self.feature.copy()
        least, tiny = feature[_LEAST], feature[_TINY]
        # what is as near as that to where somebody stands is no change
        feature[_LEAST] = np.maximum(least, 1.01 * tiny)
        if wide:  # the judge lets a value miss a bound by very little; a lattice has nothing there
            room = np.where(np.isnan(schema.step), _ROOM * schema.span, 0.0)
            low, high, may = people.least - room, people.greatest + room, people.may
            feature[_LEAST] = np.maximum(least - 1.01 * tiny, 0.99 * tiny)
        wishes = BoxPeople(
            np.array(people.x, dtype=np.float64, order="C"),
            np.array(low, dtype=np.float64, order="C"),
            np.array(high, dtype=np.float64, order="C"),
            np.array(people.weight**self.power, dtype=np.float64, order="C"),
            np.array(may, dtype=np.bool_, order="C"),
            np.array(fill, dtype=np.bool_, order="C"),
            levels,
            stays,
            np.array(people.max_changes, dtype=np.int64),
            np.array(cutoff**self.power, dtype=np.float64),
            np.array(limit, dtype=np.int64),
        )
        out, end = np.empty((n, d)), np.zeros(n, np.int64)
        bound, looked = np.zeros(n), np.zeros(n, np.int64)
        search = self._searcher(people, feature, need, sure, int(limit.max(initial=1)), begin, whole)
        for some in [slice(0, n)] if time_left() == np.inf else [slice(i, i + 1) for i in range(n)]:
            mine = BoxPeople(*(part[some] for part in wishes))
            if time_left() < np.inf:  # compiled code is not stopped: it gets what fits
                look()
                np.minimum(mine.limit, max(int(_SHARE * time_left() * self.pace), 1), out=mine.limit)
            began = now()
            search(mine, some, out[some], end[some], bound[some], looked[some])
            if time_left() < np.inf:
                self.pace = max(int(looked[some].sum()), 1) / max(now() - began, 1e-4)
        return out, end, bound ** (1.0 / self.power), looked

    def _needs(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """(n,) the least sum of leaves that may be a yes, and (n,) one that surely is."""
        return np.full(people.n, self.need, np.int64), np.full(people.n, self.sure, np.int64)

    def _searcher(
        self,
        people: Population,
        feature: Floats,
        need: np.ndarray,
        sure: np.ndarray,
        limit: int,
        begin: float,
        whole: bool,
    ) -> Callable[..., None]:
        """What searches for some of the people; see `_boxes_jit.search_boxes`."""
        own, space = self._room(people.d, limit)
        usual = np.zeros(people.n, np.int64) if self.ordinary is None else self.ordinary.least(people.x)
        split = len(self.forest.roots) if self.ordinary is None else self.ordinary.trees

        def search(mine: BoxPeople, some: slice, *found: np.ndarray) -> None:
            _kernels().search_boxes(
                mine, self.forest, own, feature, self.number, need[some], sure[some], usual[some], split,
                self.clauses, space, begin, whole, *found,
            )  # fmt: skip

        return search

    def _room(self, d: int, limit: int) -> tuple[ReachedForest, BoxRoom]:
        """Room for one thread; pages of it that no search comes to are never touched."""
        forest, boxes = self.forest, 2 * limit + 8
        nodes, trees = len(forest.nodes), len(forest.roots)
        own = ReachedForest(
            np.empty((nodes, 4), np.int64), np.empty(trees, np.int64),
        )  # fmt: skip
        room = BoxRoom(
            np.empty((boxes, d)), np.empty((boxes, d)), np.empty((boxes, d), np.uint64),
            np.zeros((boxes, d), np.int64), np.zeros((boxes, d), np.int64),
            np.zeros((len(forest.cut) + d * len(forest.sides), 2), np.int64),
            np.empty((trees + 8, 2), np.int64), np.empty((max(nodes, 64), 2), np.int64),
            np.empty(d, np.int64), np.empty(d), np.empty((boxes, trees), np.int32), np.empty(boxes, np.int64),
        )  # fmt: skip
        return own, room


def summed(problem: Problem) -> tuple[Problem, float, bool] | None:
    """Return the problem at a cost that is a sum of steps, the power of its own cost that this is, and whether the
    greatest step counts in place of the sum; None where its cost is neither."""
    cost = problem.cost
    if cost.separable and cost.step_sum() is not None:
        return problem, 1.0, False
    if not isinstance(cost, LpMix) or cost.l0 or cost.l1 or cost.l2_squared or (cost.l2 and cost.linf):
        return None
    other = copy(problem)
    other.cost = replace(cost, l1=cost.linf, l2_squared=cost.l2**2, l2=0.0, linf=0.0)
    return other, 2.0 if cost.l2 else 1.0, bool(cost.linf)


def _least_possible(problem: Problem, mix: Floats, base: float, unit: float, need: int) -> int | None:
    """The least sum of leaves that may be a yes in the model's own arithmetic; None where nothing says so."""
    flat = problem.model.forest
    assert flat is not None

    def missed(total: int) -> bool | None:
        mixed = base + unit * np.array([float(total)])
        margin = np.zeros((1, len(mix)))
        margin[:, int(mix.argmax())] = mixed * mix.max()
        found = problem.model.bounds_at(margin)
        return None if found is None else bool(problem.bound_target.surely_missed(*found)[0])

    if missed(need) is None:
        return None
    reach = 1
    while not missed(need - reach):
        reach *= 2
        if reach > 1 << 61:
            return None
    low, high = need - reach, need  # missed at low; the least that is not missed is above
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if missed(middle) else (low, middle)
    return high if missed(need) is False else need


def clauses_of(schema: Schema) -> tuple[list[tuple[int, np.ndarray]], Clauses, bool]:
    """Return the rules about levels of one feature, the others as clauses, and whether these are all there are."""
    every_level, every = packing.level_rules(schema)
    level_rules = [(j, follows) for j, follows in every_level if schema.n_levels[j] <= LEVELS]
    every = every and len(level_rules) == len(every_level)
    known = {j for j, _ in level_rules}
    atom_at, atoms, reads, complete = [0], [], np.zeros(schema.d, dtype=bool), True
    if schema.rules and not every:
        rules = schema.compiled_rules
        for involved, form in zip(rules.involved, rules.normal_form(), strict=True):
            if involved.sum() == 1 and int(involved.argmax()) in known:
                continue
            if form is None or not all(_fits(atom, schema) for clause in form.clauses for atom in clause):
                complete = False
                continue
            for clause in form.clauses:
                atoms += list(clause)
                atom_at.append(len(atoms))
    rows: dict[str, list[Any]] = {
        name: [] for name in ("kind", "feature", "before", "changed", "allowed", "bound", "strict")
    }
    term_at, terms, weights = [0], [], []
    for atom in atoms:
        linear = atom if isinstance(atom, Linear) else None
        levels = atom if isinstance(atom, Levels) else None
        rows["kind"].append(0 if linear else 1 if levels else 2)
        rows["feature"].append(0 if isinstance(atom, Linear) else atom.index)
        rows["before"].append(bool(levels and levels.side == "before"))
        rows["changed"].append(isinstance(atom, Moved) and atom.changed)
        rows["allowed"].append(sum(1 << level for level in levels.allowed) if levels else 0)
        rows["bound"].append(linear.bound if linear else 0.0)
        rows["strict"].append(bool(linear and linear.strict))
        if isinstance(atom, Linear):
            terms += [(j, int(side == "after")) for side, j, _ in atom.terms] + [
                (j, 2) for j, _ in atom.changed
            ]
            weights += [w for _, _, w in atom.terms] + [w for _, w in atom.changed]
        elif not rows["before"][-1]:
            reads[atom.index] = True
        term_at.append(len(terms))
    reads[[j for j, what in terms if what]] = True
    packed = Clauses(
        np.array(atom_at, np.int64), np.array(rows["kind"], np.int64), np.array(rows["feature"], np.int64),
        np.array(rows["before"], np.bool_), np.array(rows["changed"], np.bool_), np.array(rows["allowed"], np.uint64),
        np.array(rows["bound"], np.float64), np.array(rows["strict"], np.bool_), np.array(term_at, np.int64),
        np.array(terms, np.int64).reshape(-1, 2), np.array(weights, np.float64), reads,
    )  # fmt: skip
    return level_rules, packed, complete


def _fits(atom: Linear | Levels | Moved, schema: Schema) -> bool:
    """Whether the kernels know an atom: sets of so many levels at most."""
    if isinstance(atom, Linear):
        read = [j for _, j, _ in atom.terms] + [j for j, _ in atom.changed]
    else:
        read = [atom.index]
    named = isinstance(atom, Levels) and not schema.has_levels[atom.index]
    return bool((schema.n_levels[read] <= LEVELS).all()) and not named


def _kernels() -> Any:
    from wayforward.methods.engines.exact import _boxes_jit

    return _boxes_jit
