"""Forests and networks of rectified units as terms of a satisfiability solver: a margin, and how far it may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.methods.engines.exact.smt_places import Place
from wayforward.methods.engines.exact.smt_terms import Fact, NotLowered, SolverTerms, Term, coarse, exact
from wayforward.methods.engines.seeker import packing
from wayforward.model.adapted import SINGLE
from wayforward.model.rounding import DOUBLE_UNIT, SINGLE_UNIT, roundoff
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.model.forms import DenseForm, FlatForest, Link
    from wayforward.problem import Problem

_BITS = 34  # after the point, of weights that the solver counts with: how far that is off is part of the room
_UNITS = 40  # that may turn, of a network at one person: with more of them the solver does not come to an end


@dataclass(frozen=True)
class ModelForm:
    """One margin of a model: a yes where it is from `least` to `most`, give or take `gap`. Make it with `of`.

    mix (q,): the coefficients of the model's margins. sure: the model's bounds are about what it decides itself, so
    that a refutation of the formula is a proof.
    """

    forest: FlatForest | None
    dense: DenseForm | None
    mix: Floats
    least: float
    most: float
    gap: float
    unit: float
    sure: bool

    @classmethod
    def of(cls, problem: Problem, name: str) -> ModelForm:
        """Read a problem's model. Raises: UnsupportedModel for one that is neither, or decides by several outputs."""
        model = problem.model
        forest, dense = model.forest, model.dense
        if dense is not None and not set(dense.activations) <= {"relu", "identity"}:
            dense = None
        mix = margins = None
        link: Link = "identity"
        if forest is not None:
            link = (
                forest.link
                if forest.link != "identity" or problem.target.interval is not None
                else "probability"
            )
            mix = packing.one_output(problem, forest.value.shape[1], link)
        elif dense is not None:
            link = dense.link
            mix = packing.one_output(problem, dense.weights[-1].shape[1], link)
        margins = None if mix is None else packing.margin_range(problem, link, mix)
        if mix is None or margins is None:
            raise UnsupportedModel(
                f"'{name}' reads linear models, forests, boosted trees and networks of rectified units that decide by "
                f"one output; {model.name} is none of them. local-search takes any model."
            )
        unit = SINGLE_UNIT if model.tolerance >= SINGLE else DOUBLE_UNIT
        decides = problem.bound_target.provable or problem.target.threshold is not None
        return cls(forest, dense, mix, *margins, unit, bool(model.bounded and decides))

    def turned(self, terms: SolverTerms, places: Sequence[Place], x: Floats) -> Fact:
        """The decision is turned where the features are in these places; x (d,) the person."""
        if self.forest is not None:
            margin, off = _forest(terms, self.forest, self.mix, places, x)
            off += roundoff(len(self.forest.roots), self.unit) * _size(self.forest, self.mix)
        else:
            assert self.dense is not None
            margin, off = _Layers(terms, self.dense, self.mix, places, x, self.unit).margin()
        side = -1.0 if terms.over else 1.0
        low = exact(self.least + (0.0 if terms.over else self.gap) + side * off)
        facts = [margin >= low]
        if np.isfinite(self.most):
            facts.append(margin <= exact(self.most - (0.0 if terms.over else self.gap) - side * off))
        return terms.every(facts)


# -- trees -------------------------------------------------------------------------------------------------


def _size(flat: FlatForest, mix: Floats) -> float:
    return float(
        abs(flat.base @ mix) + abs(flat.scale) * len(flat.roots) * np.abs(flat.value @ mix).max(initial=0.0)
    )


def _forest(
    terms: SolverTerms, flat: FlatForest, mix: Floats, places: Sequence[Place], x: Floats
) -> tuple[Term, float]:
    values = flat.scale * (flat.value @ mix)
    bits = _BITS - int(np.ceil(np.log2(np.abs(values).max(initial=0.0) + 1e-300)))
    rounded = np.round(np.ldexp(values, bits))
    unit = Fraction(1, 1 << bits) if bits >= 0 else Fraction(1 << -bits)
    parts: list[Term] = [exact(float(flat.base @ mix))]
    known: dict[tuple[int, float], Fact] = {}

    def left(node: int) -> Fact:
        j = int(flat.feature[node])
        place = places[j]
        if place.levels is not None:
            side = flat.left_levels[flat.level_set[node]]
            if np.isnan(x[j]):
                return bool(side[-1])
            return terms.some([flag for level, flag in enumerate(place.levels) if side[level]])
        if np.isnan(x[j]):
            return bool(flat.missing_left[node])
        cut = float(flat.threshold[node])
        if (j, cut) not in known:
            known[j, cut] = place.at_most(cut)
        return known[j, cut]

    def leaves(node: int, way: list[Fact]) -> list[tuple[list[Fact], int]]:
        if flat.feature[node] < 0:
            return [(way, int(flat.leaf[node]))]
        side = left(node)
        out = []
        for fact, child in ((side, flat.left[node]), (terms.no(side), flat.right[node])):
            if fact is not False:
                out += leaves(int(child), way if fact is True else [*way, fact])
        return out

    for root in flat.roots:
        found = leaves(int(root), [])
        numbers = [Fraction(int(rounded[leaf])) * unit for _, leaf in found]
        if len(set(numbers)) == 1:
            parts.append(numbers[0])
            continue
        vote = terms.real()
        for (way, _), number in zip(found, numbers, strict=True):
            terms.add(terms.some([*(terms.no(fact) for fact in way), vote == number]))
        terms.add(vote >= min(numbers))
        terms.add(vote <= max(numbers))
        parts.append(vote)
    return terms.total(parts), len(flat.roots) * float(np.ldexp(1.0, -bits))


# -- layers ------------------------------------------------------------------------------------------------


class _Layers:
    """Dense layers at one person's places: terms with bounds, layer by layer, and how far they may be off."""

    def __init__(
        self,
        terms: SolverTerms,
        form: DenseForm,
        mix: Floats,
        places: Sequence[Place],
        x: Floats,
        unit: float,
    ) -> None:
        self.terms, self.form, self.mix, self.unit = terms, form, mix, unit
        self.places, self.x, self.turning = places, x, 0

    def margin(self) -> tuple[Term, float]:
        """The mixed margin."""
        form, count = self.form, len(self.form.weights)
        numbers: list[Term] = []
        least = most = wrong = np.zeros(0)
        for k in range(count):
            weight, bias = np.asarray(form.weights[k], np.float64), np.asarray(form.biases[k], np.float64)
            if k == count - 1:
                weight, bias = weight @ self.mix[:, None], bias @ self.mix[:, None]
            sums, low, high, off = (
                self._first(weight, bias) if k == 0 else self._sums(numbers, least, most, wrong, weight, bias)
            )
            if k == count - 1:
                return sums[0], float(off[0])
            if form.activations[k] == "relu":
                sums, low, high = self._bent(sums, low, high)
            numbers, least, most, wrong = sums, low, high, off
        raise AssertionError("a network has a layer")

    def _first(self, weight: Floats, bias: Floats) -> tuple[list[Term], Floats, Floats, Floats]:
        """Sum up by feature, so that a value's parts are one."""
        encoder, places, x = self.form.encoder, self.places, self.x
        fixed = encoder.encode(x[None])[0]
        slope: dict[int, Floats] = {}
        table: dict[int, Floats] = {}
        bias = bias.copy()
        size = np.abs(bias)
        for e, column in enumerate(encoder.columns):
            j = column.feature
            if j < 0 or np.isnan(x[j]) or places[j].fixed:
                bias += fixed[e] * weight[e]
                size += abs(fixed[e]) * np.abs(weight[e])
            elif column.own is not None or column.ufunc:
                raise NotLowered("a number enters the model by a function, or as each person has it")
            elif column.table is not None:
                levels = places[j].levels
                assert levels is not None
                part = np.asarray(column.table, np.float64)[: len(levels), None] * weight[e]
                table[j] = table.get(j, 0.0) + part
                size += np.abs(part).max(0)
            else:
                factor = column.factor / column.divisor
                slope[j] = slope.get(j, 0.0) + factor * weight[e]
                bias += (column.shift - column.centre * factor) * weight[e]
                far, near = column.magnitude
                reach = max(abs(places[j].low), abs(places[j].high))
                size += (far * reach + near) * np.abs(weight[e])
        numbers: list[Term] = [places[j].value for j in slope]
        low, high = [places[j].low for j in slope], [places[j].high for j in slope]
        rows = list(slope.values())
        for j, part in table.items():
            levels = places[j].levels or ()
            for level, flag in enumerate(levels):
                if flag is False:
                    continue
                numbers.append(self.terms.pick(flag, Fraction(1), Fraction(0)))
                low.append(float(flag is True))
                high.append(1.0)
                rows.append(part[level])
        off = roundoff(len(fixed) + len(x), self.unit) * size
        if not rows:
            return [exact(b) for b in bias], bias, bias, off
        sums, least, most, more = self._sums(
            numbers, np.array(low), np.array(high), np.zeros(len(low)), np.array(rows), bias, counted=False
        )
        return sums, least, most, off + more

    def _sums(
        self, numbers: list[Term], low: Floats, high: Floats, off: Floats, weight: Floats, bias: Floats,
        counted: bool = True,
    ) -> tuple[list[Term], Floats, Floats, Floats]:  # fmt: skip
        """Weighted sums of numbers between bounds, with bounds; weights are cut, by how much is added to `off`."""
        reach = np.maximum(np.abs(low), np.abs(high))
        bits = _BITS + np.ceil(np.log2(np.maximum(reach, 1e-9))).astype(int)
        cut = np.ldexp(np.round(np.ldexp(weight, bits[:, None])), -bits[:, None])
        wrong = np.abs(weight - cut).T @ reach + np.abs(weight).T @ off
        if counted:
            wrong = wrong + roundoff(2 * len(weight), self.unit) * (
                np.abs(weight).T @ (reach + off) + np.abs(bias)
            )
        up, down = np.maximum(cut, 0.0), np.minimum(cut, 0.0)
        least, most = up.T @ low + down.T @ high + bias, up.T @ high + down.T @ low + bias
        room = 1e-9 * (np.abs(cut).T @ reach + np.abs(bias))
        sums = [
            self.terms.total(
                [
                    exact(b),
                    *(exact(w) * v for w, v in zip(row, numbers, strict=True) if w),
                ]
            )
            for row, b in zip(cut.T, bias, strict=True)
        ]
        return sums, least - room, most + room, wrong

    def _bent(self, sums: list[Term], low: Floats, high: Floats) -> tuple[list[Term], Floats, Floats]:
        """Rectified: two cases where a sum may have either sign, with the line over both beside them."""
        terms, out = self.terms, []
        for value, least, most in zip(sums, low.tolist(), high.tolist(), strict=True):
            if most <= 0:
                out.append(Fraction(0))
            elif least >= 0:
                out.append(value)
            else:
                self.turning += 1
                if self.turning > _UNITS:
                    raise NotLowered("too many units may turn")
                unit = terms.real()
                on = terms.flag()
                terms.add(unit >= 0)
                terms.add(unit >= value)
                terms.add(terms.some([terms.no(on), unit == value]))
                terms.add(terms.some([on, unit == 0]))
                above, below = coarse(most, True), coarse(least, False)
                terms.add(unit * (above - below) <= above * (value - below))
                out.append(unit)
        return out, np.maximum(low, 0.0), np.maximum(high, 0.0)
