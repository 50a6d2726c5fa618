"""A polynomial of the score around each of many people, fitted at the same time, term after term."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.public import public
from wayforward.shapes import Floats, Ints, PerFeature, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.schema import Schema

_FLOOR = 1e-12  # a share of the first sum of squares: what is left below it is rounding
_CELLS = 1 << 23  # numbers in one piece of work
_GONE = 1e-9  # a share of a term's own length: less of it is none


class PolynomialTerms(NamedTuple):
    """Of each term the two parts that are multiplied, -1 for none. A part is how far a number is from the person's own,
    in deviations, or 1 where the row has a level that the person does not have."""

    one: Ints
    other: Ints
    names: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema, names: list[str], free: np.ndarray) -> PolynomialTerms:
        """Every part, squares of numbers, and products of two parts of different features that are free (d,)."""
        feature = part_features(schema)
        level = schema.has_levels[feature]
        parts = np.flatnonzero(free[feature])
        one, other = np.triu_indices(len(parts))
        one, other = parts[one], parts[other]
        keep = np.where(one == other, ~level[one], feature[one] != feature[other])
        first = np.concatenate([parts, one[keep]])
        second = np.concatenate([np.full(len(parts), -1), other[keep]])
        called = [
            names[a] if b < 0 else f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}"
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return cls(first, second, tuple(called))

    def design(self, parts: Floats) -> Floats:
        """(..., q) parts -> (..., p) terms."""
        second = np.where(self.other >= 0, parts[..., np.maximum(self.other, 0)], 1.0)
        return np.asarray(parts[..., self.one] * second)


def part_features(schema: Schema) -> Ints:
    """(q,): the feature of each part: numbers first, then all levels."""
    return np.concatenate([np.flatnonzero(~schema.has_levels), schema.level_owner])


def part_names(schema: Schema) -> list[str]:
    """What each part is called."""
    numbers = [schema.names[j] for j in np.flatnonzero(~schema.has_levels).tolist()]
    owners, index = schema.level_owner.tolist(), schema.level_index.tolist()
    return numbers + [
        f"{schema.names[j]}={schema.features[j].levels[i]}" for j, i in zip(owners, index, strict=True)
    ]


@public
class Polynomials(NamedTuple):
    """coefficient (n, p), nought where the term was not taken; start (n,) the score of the person; x (n, d)."""

    schema: Schema
    x: Floats
    scale: PerFeature
    terms: PolynomialTerms
    coefficient: Floats
    start: Floats

    def __call__(self, who: Who, rows: Rows) -> PerRow:
        """Return the scores (m,) that the polynomials of people who (m,) give rows (m, d)."""
        design = self.terms.design(parts_of(self.schema, self.x[who], rows, self.scale))
        return np.asarray(self.start[who] + (design * self.coefficient[who]).sum(1))

    def equation(self, i: int) -> str:
        """Person i's polynomial as text; numbers count in deviations from where the person is."""
        there = np.flatnonzero(self.coefficient[i])
        terms = [f"{self.coefficient[i, p]:+.3g} {self.terms.names[p]}" for p in there.tolist()]
        return " ".join([f"{self.start[i]:.3g}", *terms])


def parts_of(schema: Schema, x: Floats, rows: Floats, scale: PerFeature) -> Floats:
    """(..., q): where rows (..., d) differ from people x (..., d), see `PolynomialTerms`; nought for missing values."""
    number = ~schema.has_levels
    with np.errstate(invalid="ignore"):
        parts = [np.nan_to_num((rows - x) / scale)[..., number]]
        owner = schema.level_owner
        moved = (rows[..., owner] == schema.level_index) & (x[..., owner] != schema.level_index)
    return np.concatenate([*parts, moved.astype(np.float64)], axis=-1)


def fitted_polynomials(
    schema: Schema,
    x: Floats,
    value: Floats,
    score: Floats,
    weight: Floats,
    start: Floats,
    scale: PerFeature,
    free: np.ndarray,
    *,
    most: int,
) -> Polynomials:
    """Fit scores (n, S) of rows value (n, S, d), by weight (n, S), exact at the people x (n, d) with scores start (n,).

    In each step the term is taken that explains most of what is left, as long as Akaike's criterion falls, `most` terms
    at most. A person's polynomial does not depend on the others.
    """
    terms = PolynomialTerms.of(schema, part_names(schema), free)
    step = max(1, _CELLS // max(value.shape[1] * len(terms.one), 1))
    found = [
        _fitted(schema, terms, x[some], value[some], score[some], weight[some], start[some], scale, most)
        for some in (slice(begin, begin + step) for begin in range(0, max(len(x), 1), step))
    ]
    return Polynomials(schema, x, scale, terms, np.concatenate(found), start)


def _fitted(
    schema: Schema, terms: PolynomialTerms, x: Floats, value: Floats, score: Floats, weight: Floats, start: Floats,
    scale: PerFeature, most: int,
) -> Floats:  # fmt: skip
    """Return the coefficients (n, p) of some of the people."""
    root = np.sqrt(weight)
    design = terms.design(parts_of(schema, x[:, None], value, scale)) * root[..., None]
    left = (score - start[:, None]) * root
    n, _, p = design.shape
    whole, goal = design.copy(), left.copy()
    rows = (weight > 0).sum(1)
    first = np.maximum((left**2).sum(1), 1e-300)
    length = np.maximum((design**2).sum(1), 1e-300)
    taken = np.zeros((n, p), dtype=bool)
    criterion = _akaike(first, first, rows, 0)
    on = np.arange(n)
    for step in range(1, min(most, p) + 1):
        a, r = design[on], left[on]
        square = (a**2).sum(1)
        usable = ~taken[on] & (square > _GONE * length[on])
        gain = np.where(usable, np.einsum("nsp,ns->np", a, r) ** 2 / np.where(usable, square, 1.0), -1.0)
        best = gain.round(12).argmax(1)
        each = np.arange(len(on))
        q = a[each, :, best] / np.sqrt(np.where(usable[each, best], square[each, best], 1.0))[:, None]
        r = r - q * (q * r).sum(1, keepdims=True)
        after = _akaike((r**2).sum(1), first[on], rows[on], step)
        go = usable[each, best] & (after < criterion[on] - 1e-9)
        on, q, r, best, a, after = on[go], q[go], r[go], best[go], a[go], after[go]
        if not on.size:
            break
        taken[on, best], criterion[on], left[on] = True, after, r
        design[on] = a - q[:, :, None] * np.einsum("ns,nsp->np", q, a)[:, None]
    return _solved(whole, goal, taken)


def _akaike(rest: Floats, first: Floats, rows: Ints, terms: int) -> Floats:
    return np.asarray(rows * np.log(np.maximum(rest / first, _FLOOR)) + 2 * terms)


def _solved(design: Floats, goal: Floats, taken: np.ndarray) -> Floats:
    """Return least squares over the terms that were taken (n, p)."""
    many = int(taken.sum(1).max(initial=0))
    out = np.zeros(taken.shape)
    if not many:
        return out
    order = np.argsort(~taken, axis=1, kind="stable")[:, :many]
    there = np.take_along_axis(taken, order, 1)
    some = np.where(there[:, None], np.take_along_axis(design, order[:, None], 2), 0.0)
    size = np.sqrt((some**2).sum(1))
    size = np.where(size > 0, size, 1.0)
    some = some / size[:, None]
    gram = np.matmul(some.transpose(0, 2, 1), some)
    gram[:, np.arange(many), np.arange(many)] += np.where(there, 1e-12, 1.0)
    found = np.linalg.solve(gram, np.einsum("nsp,ns->np", some, goal)[..., None])[..., 0] / size
    np.put_along_axis(out, order, np.where(there, found, 0.0), 1)
    return out
