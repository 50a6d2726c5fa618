"""Where a person may go with one feature, as terms of a solver: a number, a point of a lattice, a level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.engines.exact.smt_terms import Fact, SolverTerms, Term, exact

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Schema

_ROOM = 1e-9  # of a span: by so much the judge lets a value miss a bound


@dataclass
class Place:
    """value: a term between low and high; levels: the condition that it is each level, None for a number.

    changed: the value is another one than the person's; at_most: the value is at most a number; found: what a model of
    the solver says that it is. fixed: it cannot change.
    """

    value: Term
    low: float
    high: float
    levels: Sequence[Fact] | None
    changed: Fact
    at_most: Callable[[float], Fact]
    found: Callable[[Any], float]
    fixed: bool = False


def fixed_place(schema: Schema, j: int, x: float) -> Place:
    """Where a feature stays."""
    known = 0.0 if np.isnan(x) else x
    levels = (
        [bool(level == known) for level in range(int(schema.n_levels[j]))] if schema.has_levels[j] else None
    )
    return Place(
        exact(known),
        known,
        known,
        levels,
        False,
        lambda cut: bool(known <= cut),
        lambda _: float(x),
        fixed=True,
    )


def number_at(model: Any, term: Term) -> float:
    """What a model of the solver says of a term."""
    value = model.eval(term, model_completion=True)
    if hasattr(value, "as_fraction"):
        return float(value.as_fraction())
    if hasattr(value, "as_long"):
        return float(value.as_long())
    return float(value.approx(30).as_fraction())  # a root


def level_place(terms: SolverTerms, people: Population, i: int, j: int) -> Place:
    """The levels that a person may choose, and their own."""
    own, ok = int(people.x[i, j]), people.level_ok[j][i]
    flags: list[Fact] = [terms.flag() if ok[level] or level == own else False for level in range(len(ok))]
    terms.add(terms.some(flags))
    terms.add(terms.at_most(flags, 1))
    return levels_of(terms, flags, own)


def levels_of(terms: SolverTerms, flags: Sequence[Fact], own: int) -> Place:
    """A place of which it is known which level it is."""
    there = [level for level, flag in enumerate(flags) if flag is not False]
    value = terms.total([terms.pick(flags[level], Fraction(level), Fraction(0)) for level in there if level])

    def found(model: Any) -> float:
        for level in there:
            if terms.holds(model, flags[level]):
                return float(level)
        return float(own)

    return Place(
        value, float(min(there)), float(max(there)), flags, terms.no(flags[own]),
        lambda cut: terms.some([flag for level, flag in enumerate(flags) if level <= cut]), found,
    )  # fmt: skip


def number_place(terms: SolverTerms, people: Population, i: int, j: int) -> Place:
    """Any number that a person may set, or that they have."""
    schema, x = people.schema, float(people.x[i, j])
    low, high, least = (
        float(people.low[i, j]),
        float(people.high[i, j]),
        float(people.problem.least_change[j]),
    )
    slack = float(schema.slack[j])
    if terms.over:
        room = _ROOM * float(schema.span[j])
        low, high = low - room, high + room
        still, gone = 1.01 * slack, max(0.99 * slack, least - 1.01 * slack)
    else:
        still, gone = 0.0, max(2.0 * slack, least)
    value, moves = terms.real(), terms.flag()
    own = exact(x)
    near = terms.every([value <= own + exact(still), value >= own - exact(still)])
    inside = terms.every([value >= exact(low), value <= exact(high)])
    far = terms.some([value >= own + exact(gone), value <= own - exact(gone)])
    terms.add(terms.pick_fact(moves, terms.every([inside, far]), near))
    terms.add(value >= exact(min(low, x - still)))
    terms.add(value <= exact(max(high, x + still)))
    return Place(
        value, min(low, x - still), max(high, x + still), None, moves, lambda cut: value <= exact(cut),
        lambda model: number_at(model, value) if terms.holds(model, moves) else x,
    )  # fmt: skip


def lattice_place(terms: SolverTerms, people: Population, i: int, j: int, ends: tuple[float, float]) -> Place:
    """The points of a lattice from one end to the other, and where the person is."""
    schema, x = people.schema, float(people.x[i, j])
    start, step, _ = (float(part[j]) for part in schema.lattice)
    slack, least = float(schema.slack[j]), float(people.problem.least_change[j])

    def at(index: int) -> float:
        return float(schema.round(np.asarray(start + step * index), columns=j))

    def last_below(cut: float) -> int:
        index = int(np.floor((cut - start) / step))
        while at(index + 1) <= cut:
            index += 1
        while at(index) > cut:
            index -= 1
        return index

    first, last = (round((end - start) / step) for end in ends)
    own = round((x - start) / step)
    on = abs(at(own) - x) <= slack
    index = terms.whole()
    legal = terms.every([index >= first, index <= last])
    if least > 0:
        apart = int(np.ceil((least - slack) / step - 1e-9))
        legal = terms.every([legal, terms.some([index >= own + apart, index <= own - apart])])
    low, high = min(at(first), x), max(at(last), x)
    if on:
        terms.add(terms.some([legal, index == own]))
        terms.add(index >= min(first, own))
        terms.add(index <= max(last, own))
        value = exact(start) + exact(step) * terms.as_real(index)
        return Place(
            value, low, high, None, index != own, lambda cut: index <= last_below(cut),
            lambda model: (lambda k: x if k == own else at(k))(int(number_at(model, index))),
        )  # fmt: skip
    moves = terms.flag()
    terms.add(legal)
    value = terms.pick(moves, exact(start) + exact(step) * terms.as_real(index), exact(x))

    def at_most(cut: float) -> Fact:
        there = index <= last_below(cut)
        return terms.every([moves, there]) if x > cut else terms.some([terms.no(moves), there])

    def found(model: Any) -> float:
        return at(int(number_at(model, index))) if terms.holds(model, moves) else x

    return Place(value, low, high, None, moves, at_most, found)
