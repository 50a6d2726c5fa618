"""Proofs that no recourse exists, from sound bounds on the model over everything a person may reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.branching import (
    ActionBoxes,
    corner,
    empty,
    everything,
    few_changes,
    halved,
    legal_range,
    middle,
    widths,
)
from wayforward.problem.cost import LpMix
from wayforward.problem.enumeration import none_among_all
from wayforward.problem.population import Population
from wayforward.shapes import Floats, Mask, Rows

if TYPE_CHECKING:
    from wayforward.problem.problem import Problem

_BOXES = 512  # boxes a person's reach may be split into before the proof is given up
_TIGHT_BOXES = 4_096  # the same, where the model says what its bounds are too wide by
_ROUNDS = 40
_FAR = 1e300
_EVEN = 0.25  # of a span: a feature as wide is split as if so much of what bounds are too wide by hung on it
_PEOPLE = 64  # at once: bounds the memory that boxes take
_ACTIONS = 32_768  # of a person that are all tried where boxes settle nothing
_LESS, _HALVINGS = 1e-7, 6  # of a cost: what is cheaper by less is not; how often what is cheaper is halved
_DEAR_ACTIONS = 4_096  # the same, where the model itself has to answer all of them, or a learned world


def out_of_reach(people: Population) -> Mask:
    """(n,) bool: proved that no allowed action turns the decision, whatever method searches; see `settled`."""
    return settled(people)[0]


def settled(people: Population) -> tuple[Mask, Rows]:
    """Return (n,) bool: proved that no allowed action turns the decision; and actions (n, d) met on the way that do,
    NaN where there is none.

    First by branch and bound. The box of everything that a person may reach holds every allowed action (costs and
    plausibility only shrink it). A box is discarded where a rule is surely broken all over it, where more features
    would change than the person wants, or where even the most favourable output that the model itself can give
    inside, in its own precision, is a no. Where bounds leave it open and the model answers all of the box alike, it is
    asked. What is left is split; if nothing is left, nothing exists. Where something follows from an action, boxes
    of actions are led through the world (`World.consequence_bounds`) and the links; of a world without bounds every
    legal value counts of what may move. Where nothing follows, the middle of each person's most promising box is shown
    to the model in every round.

    Then, where that settles nothing and a person's actions can be listed, by trying all of them. Elsewhere nothing is
    proved. It depends on the person alone, never on who else is asked about.
    """
    proved, exists = np.zeros(people.n, dtype=bool), np.zeros(people.n, dtype=bool)
    way = np.full(people.x.shape, np.nan)
    if people.n == 0:
        return proved, way
    for part in np.array_split(np.arange(people.n), -(-people.n // _PEOPLE)):
        some = people if len(part) == people.n else people.take(part)
        proved[part], exists[part], way[part] = _Search(some).run()
    rest = np.flatnonzero(~proved & ~exists)
    if rest.size:
        problem = people.problem
        cheap = problem.model.bounded and problem.world.bounded
        proved[rest] = none_among_all(people.take(rest), _ACTIONS if cheap else _DEAR_ACTIONS)
    return proved, way


def knows_costs(problem: Problem) -> bool:
    """Whether `no_cheaper` can prove: bounds on the model and on what follows, a cost that grows with each act."""
    cost = problem.cost
    return problem.model.bounded and problem.world.bounded and (cost.separable or isinstance(cost, LpMix))


def no_cheaper(people: Population, cutoff: Floats, most: int) -> Floats:
    """(n,) proved: no allowed action that turns the decision costs less; at most cutoff (n,), NaN: nothing is proved.

    By the search of `settled`, consequences included, among actions within a cost: first all that is cheaper than the
    cutoff, then, by halves, less. most: boxes a person in each of these searches.
    """
    low, top, share = np.zeros(people.n), np.ones(people.n), np.full(people.n, 1.0 - _LESS)
    open_ = np.arange(people.n)
    for _ in range(1 + _HALVINGS):
        for some in np.array_split(open_, -(-open_.size // _PEOPLE)):
            proved = _Search(people.take(some), share[some] * cutoff[some], most).run()[0]
            low[some[proved]], top[some[~proved]] = share[some[proved]], share[some[~proved]]
        open_ = np.flatnonzero(top - low > _LESS * 2)
        if not open_.size:
            break
        share[open_] = (low[open_] + top[open_]) / 2
    return np.where(low > 0, low * cutoff, np.nan)


@dataclass
class _Search:
    """Branch and bound for some people at once; nobody's boxes are seen by anybody else's.

    cutoff (n,): only actions that cost less count. limit: boxes a person, None for as many as is usual. led (n, d)
    bool: features that a consequence may move. loose: nothing is known of how.
    """

    people: Population
    cutoff: Floats | None = None
    limit: int | None = None
    led: Mask = field(init=False)
    loose: bool = field(init=False)
    legal: tuple[Rows, Rows] = field(init=False)  # (n, d) twice: how far a consequence may lead
    between: Mask = field(init=False)  # (n, d) people stand where the model's bounds know nothing

    def __post_init__(self) -> None:
        people, problem = self.people, self.people.problem
        self.led = people.may.astype(np.int64) @ problem.descendants.astype(np.int64) > 0
        self.loose = not problem.independent and not problem.world.bounded
        self.legal = legal_range(people)
        self.between, listed = np.zeros(people.x.shape, dtype=bool), problem.model.listed
        self.between[:, listed] = (people.x != people.schema.round(people.x))[:, listed]
        self.conditions = bool(people.schema.rules) and len(people.schema.compiled_rules.conditions) > 0

    def run(self) -> tuple[Mask, Mask, Rows]:
        """(n,), (n,) bool: proved that nothing exists, and seen that something does; and what that is (n, d)."""
        people, n = self.people, self.people.n
        self.exists, self.way = np.zeros(n, dtype=bool), np.full(people.x.shape, np.nan)
        self.most = _BOXES if self.limit is None else self.limit
        given_up, tried = np.zeros(n, dtype=bool), np.ones(n, dtype=np.int64)
        boxes = self._within(everything(people, self.led, loose=self.loose))
        for _ in range(_ROUNDS):
            counted = self._counted(boxes)
            if counted is not None:
                boxes = boxes.take(np.flatnonzero(~few_changes(people, boxes, counted)))
            boxes, loose = self._possible(self._payable(boxes))
            width = widths(people, boxes)
            undecided = ~boxes.acts & ~boxes.rests
            width = np.maximum(width, 0.75 * undecided)
            # one point that is not ruled out may be a yes; and without bounds splitting would only repeat the rules
            given_up[boxes.owner[(width <= 0).all(1)]] = True
            given_up[boxes.owner[tried[boxes.owner] > self.most]] = True
            given_up |= self.exists
            if not people.problem.model.bounded:
                given_up[boxes.owner] = True
            open_ = np.flatnonzero(~given_up[boxes.owner])
            if not open_.size:
                break
            boxes, width = boxes.take(open_), _where_loose(width[open_], loose[open_])
            boxes = halved(people, boxes, width, self._counted(boxes))
            tried += np.bincount(boxes.owner, minlength=n)
        else:
            given_up[boxes.owner] = True
        return ~given_up, self.exists, self.way

    def _counted(self, boxes: ActionBoxes) -> Mask | None:
        """(b, d) bool: ranges of what is set, which counts as a change; None if nobody is short of changes."""
        if (self.people.max_changes >= self.people.may.sum(1)).all():
            return None
        return ~self.led[boxes.owner] if self.loose else np.ones(boxes.low.shape, dtype=bool)

    def _possible(self, boxes: ActionBoxes) -> tuple[ActionBoxes, Rows]:
        """Leave out the boxes that surely hold no option; return the others, and `BoxBounds.loose` (b, d) of theirs."""
        people, problem = self.people, self.people.problem
        after = boxes if problem.independent or self.loose else self._after(boxes)
        gone = empty(people, after)
        if self.conditions:
            gone |= self._rules_broken(after)
        if gone.any():
            left, same = np.flatnonzero(~gone), after is boxes
            boxes = boxes.take(left)
            after = boxes if same else after.take(left)
        # a missing value that may be set, or may follow, has no box; one that surely stays missing has
        unclear = np.isnan(after.low) & (people.may[after.owner] & ~boxes.rests | self.led[after.owner])
        unclear |= np.isnan(after.low) != np.isnan(people.x[after.owner])
        if self.between.any():  # nor a value of their own that the bounds leave out
            unclear |= self.between[after.owner] & after.holds(people.x[after.owner]) & ~after.single()
        rows = np.flatnonzero(~boxes.answered & ~unclear.any(1))
        bounds, loose = None, np.full(boxes.low.shape, np.nan)
        if rows.size:
            levels = {j: ok[rows] for j, ok in after.levels.items()}
            bounds = problem.model.box_bounds(after.low[rows], after.high[rows], levels)
        gone = np.zeros(len(boxes), dtype=bool)
        if bounds is not None:
            missed = problem.bound_target.surely_missed(bounds.least, bounds.most)
            gone[rows[missed]] = True
            if problem.independent:
                self._middles(boxes, rows[~missed], bounds.least[~missed], bounds.most[~missed])
            if bounds.loose is not None and problem.independent:
                loose[rows], self.most = bounds.loose, _TIGHT_BOXES if self.limit is None else self.limit
            ask = rows[~missed & bounds.constant]
            gone[ask] = self._ask_model(boxes, after, ask)
        gone |= self._points(boxes, np.flatnonzero(~gone))
        left = np.flatnonzero(~gone)
        return boxes.take(left), loose[left]

    def _ask_model(self, boxes: ActionBoxes, after: ActionBoxes, rows: np.ndarray) -> Mask:
        """Ask the model itself about constant boxes: it says no. Of a yes that is an option, make a note."""
        people, problem = self.people, self.people.problem
        if not rows.size:
            return np.zeros(0, dtype=bool)
        some = after.take(rows)
        row = corner(people, some)
        yes = problem.reached(row)[0]
        boxes.answered[rows] = yes
        if problem.independent and yes.any():
            who, row = some.owner[yes], row[yes]
            action = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
            good = people.allowed(who, action, row) & ~np.isnan(action).all(1)
            self._note(who[good], action[good])
        return ~yes

    def _within(self, boxes: ActionBoxes) -> ActionBoxes:
        """Take from boxes of everything what alone costs as much as the cutoff."""
        if self.cutoff is None:
            return boxes
        people = self.people
        low, high = people.problem.cost.reach_for(people.x, self.cutoff, people.weight)
        numbers = people.may & ~people.schema.has_levels & ~np.isnan(people.x)
        boxes.low = np.where(numbers, np.fmax(boxes.low, low), boxes.low)
        boxes.high = np.where(numbers, np.fmin(boxes.high, high), boxes.high)
        return boxes

    def _payable(self, boxes: ActionBoxes) -> ActionBoxes:
        """Leave out boxes in which whatever is surely set costs as much as the cutoff."""
        if self.cutoff is None or not len(boxes):
            return boxes
        x = self.people.x[boxes.owner]
        nearest = np.clip(x, boxes.low, boxes.high)
        for j, ok in boxes.levels.items():
            away = np.where(ok, np.abs(np.arange(ok.shape[1]) - x[:, j, None]), np.inf)
            nearest[:, j] = np.where(ok.any(1), away.argmin(1), x[:, j])
        cost = self.people.cost(boxes.owner, np.where(boxes.acts & ~np.isnan(x), nearest, np.nan))
        return boxes.take(np.flatnonzero(cost < self.cutoff[boxes.owner]))

    def _note(self, who: np.ndarray, action: Rows) -> None:
        self.exists[who], self.way[who] = True, action

    def _middles(self, boxes: ActionBoxes, rows: np.ndarray, least: Rows, most: Rows) -> None:
        """Ask the model about the middle of each person's most promising box, of these rows with these bounds."""
        people, owner = self.people, boxes.owner[rows]
        between = np.clip(least, -_FAR, _FAR) / 2 + np.clip(most, -_FAR, _FAR) / 2
        order = np.lexsort((-people.problem.bound_target.score(between), owner))
        best = order[np.diff(owner[order], prepend=-1) != 0]
        row, who = middle(people, boxes.take(rows[best])), owner[best]
        action = np.where(people.schema.differs(row, people.x[who]), row, np.nan)
        good = np.flatnonzero(~np.isnan(action).all(1) & people.allowed(who, action, row))
        turned = people.problem.presumed(row[good])
        good = good if turned is None else good[turned]
        if good.size:
            good = good[people.problem.reached(row[good])[0]]
            self._note(who[good], action[good])

    def _points(self, boxes: ActionBoxes, rows: np.ndarray) -> Mask:
        """(b,) bool: boxes of one action, among these rows, that the judge refuses; make a note of the others."""
        people, gone = self.people, np.zeros(len(boxes), dtype=bool)
        some = boxes.take(rows)
        point = (some.single() & (some.acts | some.rests)).all(1)
        if self.loose:
            point[:] = False  # what follows is no choice
        rows, some = rows[point], some.take(np.flatnonzero(point))
        if not rows.size:
            return gone
        who = some.owner
        action = np.where(some.rests, np.nan, corner(people, some))
        if people.problem.independent:
            action = np.where(people.schema.differs(action, people.x[who]), action, np.nan)
        after = people.after(who, action)
        good = people.allowed(who, action, after) & ~np.isnan(action).all(1)
        ask = np.flatnonzero(
            good & ~(some.answered if people.problem.independent else np.zeros(len(who), dtype=bool))
        )
        if ask.size:
            good[ask] = people.problem.reached(after[ask])[0]
        self._note(who[good], action[good])
        gone[rows[~good]] = True
        return gone

    def _after(self, boxes: ActionBoxes) -> ActionBoxes:
        """Where boxes of actions lead, as far as it is legal."""
        people, problem, schema = self.people, self.people.problem, self.people.schema
        owner, acts, rests = boxes.owner, ~boxes.rests, ~boxes.acts
        before, led = people.x[owner], self.led[owner]
        low, high = problem.world.consequence_bounds(before, boxes.low, boxes.high, acts, rests)
        if schema.rules and schema.compiled_rules.links:
            targets = np.isin(
                np.arange(people.d), [link.target_index for link in schema.compiled_rules.links]
            )
            room = 1e-9 * schema.span  # a smaller move is none
            with np.errstate(invalid="ignore"):
                low, high = schema.compiled_rules.drag_bounds(before, low, high, acts, rests)
                low = np.where(targets & rests, np.minimum(low - room, schema.round(low)), low)
                high = np.where(targets & rests, np.maximum(high + room, schema.round(high)), high)
        least, greatest = (ends[owner] for ends in self.legal)
        # an unknown value is legal or no option; where it may also be missing, nothing is known
        unknown = np.isnan(low) | np.isnan(high)
        low = np.where(unknown, np.where(schema.missing, np.nan, least), np.maximum(low, least))
        high = np.where(unknown, np.where(schema.missing, np.nan, greatest), np.minimum(high, greatest))
        levels = {}
        for j, chosen in boxes.levels.items():
            index = np.arange(chosen.shape[1])
            inside = (index >= low[:, j, None] - 1e-9) & (index <= high[:, j, None] + 1e-9)
            wish = people.preferences.levels.get(j)
            if wish is not None:
                inside &= wish[owner] | (index == before[:, j, None])
            levels[j] = np.where(led[:, j, None], inside, chosen)
        low, high = np.where(led, low, boxes.low), np.where(led, high, boxes.high)
        return ActionBoxes(owner, low, high, levels, boxes.acts, boxes.rests, led, boxes.answered)

    def _rules_broken(self, after: ActionBoxes) -> Mask:
        people = self.people
        before = people.x[after.owner]
        fixed = {j: np.arange(ok.shape[1]) == before[:, j, None] for j, ok in after.levels.items()}
        gone = np.isnan(before)  # it may also stay missing, and then breaks no rule: nothing is known of it
        low, high = np.where(gone, np.nan, after.low), np.where(gone, np.nan, after.high)
        truth = people.schema.compiled_rules.interval(
            before, before, low, high, before_levels=fixed, after_levels=after.levels
        )
        return np.asarray((truth == -1).any(1))


def _where_loose(width: Rows, loose: Rows) -> Rows:
    """(b, d) where to split: by what makes the bounds too wide as far as that is known, else by what is widest."""
    hangs = np.where(width > 0, np.nan_to_num(loose), 0.0)
    most = hangs.max(1, keepdims=True)
    share = np.divide(hangs, most, out=np.zeros_like(hangs), where=most > 0)
    return np.asarray(np.where(most > 0, share + _EVEN * width, width))
