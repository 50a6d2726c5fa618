"""One person's question as a formula: what they may do, what follows, the rules, their costs, and the decision."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.engines.exact.smt_models import ModelForm
from wayforward.methods.engines.exact.smt_places import (
    Place,
    fixed_place,
    lattice_place,
    level_place,
    levels_of,
    number_at,
    number_place,
)
from wayforward.methods.engines.exact.smt_terms import (
    Fact,
    Grammar,
    NotLowered,
    SolverTerms,
    Term,
    coarse,
    exact,
)
from wayforward.problem.cost import LpMix
from wayforward.problem.reach import lattice_ends
from wayforward.rules.expression import Ref
from wayforward.shapes import Floats
from wayforward.world.scm import EquationWorld

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_TINY = 1e-9


def cost_kind(problem: Problem, name: str) -> str:
    """'sum', 'peak' or 'norm': how steps add up. Raises: ProblemError for another cost."""
    cost = problem.cost
    if cost.separable and cost.step_sum() is not None:
        return "sum"
    if isinstance(cost, LpMix) and not (cost.l0 or cost.l1 or cost.l2_squared or (cost.l2 and cost.linf)):
        return "norm" if cost.l2 else "peak"
    raise ProblemError(
        f"'{name}' adds up steps, or takes the greatest or their Euclidean norm; a cost in {cost.unit} is not of that "
        "kind. Use a cost such as LpMix(l1=1.0), or local-search."
    )


class PersonFormula:
    """What person i may do and reach, as facts of a solver; over: see `SolverTerms`. Raises: NotLowered.

    left_out: the person may fill in a missing value, which the formula leaves alone. lazy: some rule has no form that
    the solver knows, so that the judge has to say.
    """

    def __init__(self, people: Population, i: int, model: ModelForm, kind: str, over: bool) -> None:
        self.people, self.i, self.kind = people, i, kind
        self.problem, self.schema, self.x = people.problem, people.schema, people.x[i]
        self.terms = SolverTerms(over)
        self.acts = people.free[i] & ~np.isnan(self.x)
        self.left_out = bool((people.may[i] & np.isnan(self.x)).any())
        self.lazy = False
        self.action = [self._place(j) for j in range(self.schema.d)]  # what the person sets
        self.acted: dict[int, Fact] = {}  # of features that follow from others: whether they set it
        self.after = list(self.action)
        if not self.problem.independent:
            self._follow()
            self._drag()
            self._judge_what_follows()
        self._rules()
        self._few_changes()
        self.terms.add(model.turned(self.terms, self.after, self.x))
        self.price = self._price()

    # -- what a person may do ------------------------------------------------------------------------------

    def _place(self, j: int) -> Place:
        people, i, schema = self.people, self.i, self.schema
        if not self.acts[j]:
            return fixed_place(schema, j, float(self.x[j]))
        if schema.has_levels[j]:
            return level_place(self.terms, people, i, j)
        low, high = people.low[i, j], people.high[i, j]
        if low > high:  # the feature may only be held
            return fixed_place(schema, j, float(self.x[j]))
        if np.isnan(schema.step[j]):
            return number_place(self.terms, people, i, j)
        at = np.array([j])
        first, last = lattice_ends(schema, low[None, None], high[None, None], at)
        if first[0, 0] > last[0, 0]:
            return fixed_place(schema, j, float(self.x[j]))
        return lattice_place(self.terms, people, i, j, (float(first[0, 0]), float(last[0, 0])))

    def _few_changes(self) -> None:
        moved = [self._moved_by_act(j) for j in range(self.schema.d)]
        self.terms.add(self.terms.some(moved))
        self.terms.add(self.terms.at_most(moved, int(self.people.max_changes[self.i])))

    def _moved_by_act(self, j: int) -> Fact:
        return self.action[j].changed

    # -- what follows --------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Node by node, causes first: what the person sets, or what its equation gives with their own noise."""
        world = self.problem.world
        if world.nothing_follows:
            return
        if not isinstance(world, EquationWorld):
            raise NotLowered("a solver knows no world but one of equations")
        scm, noise = world.scm, None
        for node in scm.order:
            equation, j = scm.equations[node], world.columns[node]
            causes = [world.columns[parent] for parent in equation.parents]
            if not any(not self.after[cause].fixed for cause in causes):
                continue
            if np.isnan(self.x[[j, *causes]]).any():
                raise NotLowered("what follows from a missing value is unknown")
            noise = world.abduct(self.x[None])[0] if noise is None else noise
            if not np.isfinite(noise[j]):
                raise NotLowered("this person's noise cannot be worked out")
            own = exact(float(noise[j]))
            grammar = Grammar(
                self.terms,
                lambda ref, own=own, world=world: (
                    own if ref.when == "noise" else self.after[world.columns[ref.index]].value
                ),  # type: ignore[misc]
                lambda ref, own=own, world=world: (
                    abs(float(own)) if ref.when == "noise" else self._far(world.columns[ref.index])
                ),  # type: ignore[misc]
                lambda index: False,
                lambda ref, world=world: (
                    None if ref.when == "noise" else self.after[world.columns[ref.index]].levels
                ),  # type: ignore[misc]
            )
            natural = grammar.value(equation.tree)
            self._lead(j, natural, world.legal_ends(node), scm.shifts[node])

    def _far(self, j: int) -> float:
        return max(abs(self.after[j].low), abs(self.after[j].high))

    def _drag(self) -> None:
        """What the links of the rules move, on top of where it is."""
        rules = self.schema.compiled_rules if self.schema.rules else None
        left = [] if rules is None else list(rules.links)
        while left:
            waits = {link.target_index for link in left}
            target = next(j for j in sorted(waits) if not any(
                link.source_index in waits for link in left if link.target_index == j
            ))  # fmt: skip
            links = [link for link in left if link.target_index == target]
            left = [link for link in left if link.target_index != target]
            links = [link for link in links if not self.after[link.source_index].fixed]
            if not links or np.isnan(self.x[target]):
                continue
            moves = [
                exact(link.rate)
                * (self.after[link.source_index].value - exact(float(self.x[link.source_index])))
                for link in links
            ]
            feature = self.schema.features[target]
            whole = feature.has_levels or feature.kind == "integer"
            ends = (0.0, feature.n_levels - 1.0) if feature.has_levels else (-np.inf, np.inf)
            step = float(self.schema.step[target])
            if not (np.isnan(step) or (whole and step == 1.0)):
                raise NotLowered("what a link moves is rounded to a step")
            self._lead(target, self.terms.total([self.after[target].value, *moves]), (*ends, whole), False)

    def _lead(self, j: int, natural: Term, ends: tuple[float, float, bool], shifts: bool) -> None:
        """Set where feature j is: what the person sets, else what follows, made legal."""
        terms, own = self.terms, exact(float(self.x[j]))
        low, high, whole = ends
        if np.isfinite(low):
            natural = terms.pick(natural >= exact(low), natural, exact(low))
        if np.isfinite(high):
            natural = terms.pick(natural <= exact(high), natural, exact(high))
        size = float(self.schema.span[j]) if np.isfinite(self.schema.span[j]) else abs(float(own))
        room = exact(_TINY * max(size, abs(float(own)), 1e-9)) if terms.over else Fraction(0)
        if whole:
            index = terms.whole()
            half, near = Fraction(1, 2), Fraction(1, 1_000_000)
            apart = terms.as_real(index) - natural
            if terms.over:
                terms.add(apart <= half + room)
                terms.add(apart >= -half - room)
            else:  # a half goes to the even side
                even = terms.whole()
                inside = terms.every([apart <= half - near, apart >= near - half])
                tie = terms.every([terms.some([apart == half, apart == -half]), index == 2 * even])
                terms.add(terms.some([inside, tie]))
            led: Term = terms.as_real(index)
        elif terms.over:
            led = terms.real()
            terms.add(led - natural <= room)
            terms.add(natural - led <= room)
        else:
            led = natural
        place = self.action[j]
        acted = self.acted.get(j)
        if acted is None:
            acted = terms.flag() if self.acts[j] else False
            self.acted[j] = acted
            terms.add(terms.some([acted, terms.no(place.changed)]))
        put = terms.total([led, place.value - own]) if shifts else place.value
        value = terms.pick(acted, put, led)
        low, high = self._range(j)
        self.after[j] = self._known(j, value, min(low, float(own)), max(high, float(own)))

    def _range(self, j: int) -> tuple[float, float]:
        low, high = float(self.schema.low[j]), float(self.schema.high[j])
        if np.isfinite(low) and np.isfinite(high):
            room = _TINY * (high - low)
            return low - room, high + room
        raise NotLowered("what follows has no bounds")

    def _known(self, j: int, value: Term, low: float, high: float) -> Place:
        """A place of which only the value is known."""
        terms, own = self.terms, float(self.x[j])
        if self.schema.has_levels[j]:
            flags = [terms.flag() for _ in range(int(self.schema.n_levels[j]))]
            for level, flag in enumerate(flags):
                terms.add(terms.pick_fact(flag, value == level, value != level))
            return levels_of(terms, flags, int(own))
        moved, slack = terms.flag(), float(self.schema.slack[j])
        still, gone = (1.01 * slack, 0.99 * slack) if terms.over else (0.5 * slack, 2.0 * slack)
        apart = value - exact(own)
        near = terms.every([apart <= exact(still), apart >= -exact(still)])
        far = terms.some([apart >= exact(gone), apart <= -exact(gone)])
        terms.add(terms.pick_fact(moved, far, near))
        return Place(value, low, high, None, moved, lambda cut: value <= exact(cut),
                     lambda model: number_at(model, terms.lift(value)))  # fmt: skip

    def _judge_what_follows(self) -> None:
        """Whatever changed is legal: in its range, not immutable, and as the person wishes."""
        schema, terms, wish, i = self.schema, self.terms, self.people.wishes, self.i
        stuck = schema.stuck(self.x[None])[0] if schema.may_be_stuck.size else np.zeros(schema.d, bool)
        for j, place in enumerate(self.after):
            if place is self.action[j]:
                continue
            if schema.immutable[j] or stuck[j]:
                terms.add(terms.no(place.changed))
                continue
            low, high = float(schema.low[j]), float(schema.high[j])
            if wish is not None:
                low, high = max(low, float(wish.low[i, j])), min(high, float(wish.high[i, j]))
            room = 1.01 * float(schema.slack[j]) if terms.over else 0.0
            for end, side in ((low - room, 1), (high + room, -1)):
                if np.isfinite(end):
                    legal = place.value >= exact(end) if side > 0 else place.value <= exact(end)
                    terms.add(terms.some([terms.no(place.changed), legal]))
            if wish is not None and j in wish.levels and place.levels is not None:
                may = [flag for flag, ok in zip(place.levels, wish.levels[j][i], strict=True) if ok]
                terms.add(terms.some([terms.no(place.changed), *may]))

    # -- rules ---------------------------------------------------------------------------------------------

    def _rules(self) -> None:
        if not self.schema.rules:
            return
        gone = frozenset(np.flatnonzero(np.isnan(self.x)).tolist())
        grammar = Grammar(self.terms, self._column, self._reach, lambda j: self.after[j].changed,
                          self._levels, gone)  # fmt: skip
        for body in self.schema.compiled_rules.bodies:
            count = len(self.terms.facts)
            try:
                self.terms.add(grammar.truth(body, self.terms.over))
            except NotLowered:
                del self.terms.facts[count:]
                self.lazy = True

    def _column(self, ref: Ref) -> Term | None:
        j = ref.index
        if np.isnan(self.x[j]):
            return None
        before = exact(float(self.x[j]))
        after = self.after[j].value
        return before if ref.when == "before" else after if ref.when == "after" else after - before

    def _reach(self, ref: Ref) -> float:
        own = 0.0 if np.isnan(self.x[ref.index]) else abs(float(self.x[ref.index]))
        return own if ref.when == "before" else max(own, self._far(ref.index))

    def _levels(self, ref: Ref) -> Sequence[Fact] | None:
        j = ref.index
        if not self.schema.has_levels[j] or np.isnan(self.x[j]) or ref.when == "change":
            return None
        if ref.when == "before":
            return [bool(level == self.x[j]) for level in range(int(self.schema.n_levels[j]))]
        return self.after[j].levels

    # -- costs ---------------------------------------------------------------------------------------------

    def _price(self) -> list[Term]:
        """What each change costs, weights included; of a norm, its square."""
        problem, terms = self.problem, self.terms
        scales, weight = problem.cost.fitted_scales, self.people.weight[self.i]
        cost = problem.cost
        if self.kind == "sum":
            fixed, line, square = cost.step_sum() or (0.0, 0.0, 0.0)
        else:
            assert isinstance(cost, LpMix)
            fixed, line, square = (0.0, 0.0, cost.l2**2) if self.kind == "norm" else (0.0, cost.linf, 0.0)
        parts: list[Term] = []
        for j in np.flatnonzero(self.acts).tolist():
            place, own, power = (
                self.action[j],
                float(self.x[j]),
                weight[j] ** (2 if self.kind == "norm" else 1),
            )
            if place.fixed:
                continue
            unit = 1.0 / float(scales.divisor[j])
            if place.levels is not None:
                steps = np.abs(np.arange(len(place.levels)) - own)
                steps = (np.minimum(steps, 1.0) if scales.categorical[j] else steps) * unit
                paid = fixed * weight[j] * (steps > 0) + line * weight[j] * steps + square * power * steps**2
                parts.append(
                    terms.total(
                        [
                            terms.pick(flag, self._coefficient(float(price)), Fraction(0))
                            for flag, price in zip(place.levels, paid, strict=True)
                            if flag is not False and price
                        ]
                    )
                )
                continue
            some: list[Term] = []
            if fixed:
                some.append(
                    terms.pick(place.changed, self._coefficient(fixed * float(weight[j])), Fraction(0))
                )
            if line or square:
                way = terms.real()
                terms.add(way >= place.value - exact(own))
                terms.add(way >= exact(own) - place.value)
                if line:
                    some.append(self._coefficient(line * float(weight[j]) * unit) * way)
                if square:
                    some.append(self._coefficient(square * float(power) * unit**2) * way * way)
            parts.append(terms.total(some))
        return parts

    def _coefficient(self, value: float) -> Fraction:
        """A little below what something costs, or a little above, so that bounds are bounds."""
        return coarse(value, not self.terms.over)

    def within(self, cost: float) -> Fact:
        """All of it costs so much at most."""
        most = exact(cost**2 * (1 + 1e-9) if self.kind == "norm" else cost * (1 + 1e-9))
        if self.kind == "peak":
            return self.terms.every([part <= most for part in self.price])
        return self.terms.total(self.price) <= most

    # -- options -------------------------------------------------------------------------------------------

    def found(self, model: Any) -> Floats:
        """(d,) the action that a model of the solver says; NaN where nothing is set."""
        row = np.full(self.schema.d, np.nan)
        for j in np.flatnonzero(self.acts).tolist():
            value = self.action[j].found(model)
            acted = self.acted.get(j)
            held = acted is not None and self.terms.holds(model, acted)
            if held or self.schema.differs(np.full(self.schema.d, value), self.x)[j]:
                row[j] = value
        return row

    def apart_from(self, acted: np.ndarray) -> Fact:
        """Not all of these features (d,) bool change."""
        return self.terms.some([self.terms.no(self._moved_by_act(j)) for j in np.flatnonzero(acted).tolist()])

    def beyond(self, action: Floats, share: float) -> Fact:
        """Another level, a number farther than a share of its range from an action (d,), or another set of acts."""
        facts = []
        for j in np.flatnonzero(self.acts).tolist():
            place = self.action[j]
            at = self.x[j] if np.isnan(action[j]) else action[j]
            if place.levels is not None:
                facts.append(self.terms.no(place.levels[int(at)]))
            elif not place.fixed:
                room = exact(share * float(self.schema.span[j]))
                facts += [place.value >= exact(float(at)) + room, place.value <= exact(float(at)) - room]
            if j in self.acted:
                facts.append(self.acted[j] if np.isnan(action[j]) else self.terms.no(self.acted[j]))
        return self.terms.some(facts)
