"""Dense layers of rectified units over boxes of rows: affine functions of the encoded row above and below each output.

Source: H. Zhang, T.-W. Weng, P.-Y. Chen, C.-J. Hsieh, L. Daniel (2018), Efficient Neural Network Robustness
Certification with General Activation Functions (CROWN), NeurIPS; arXiv:1811.00866. A unit that may be on or off in a
box is bounded by the line through its ends from above, and by 0 or by its input from below. Units of hidden layers are
led forward, the outputs backward; with two hidden layers the bounds are those of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.model.rounding import DOUBLE_UNIT, roundoff
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.model.forms import DenseForm

Bounds = tuple[Floats, Floats]

_FOUR, _TILE = 4, 8  # ways of a box with its base, and units of a layer, are filled up: rows then round alike
_TOGETHER = 256  # boxes: bounds the memory


class NetBoxes(NamedTuple):
    """low, high (b, w) of the numbers, functions of them included, 0 where a level or nothing is; ok (b, L): levels;
    base (b, h): what the first layer gives where all numbers are 0 and without levels (`AffineNet.base_of`)."""

    low: Floats
    high: Floats
    ok: Mask
    base: Floats


class FirstLayer(NamedTuple):
    """The first layer over b boxes: base (b, h) at one corner; way (b, m, h): what may be added to it; source (b, m):
    number, or w + level. Of a number's way any share is added, of those of one feature's levels one or none."""

    base: Floats
    way: Floats
    source: Ints


class Above(NamedTuple):
    """An affine bound over each of b boxes: const (b,), slope (b, w) a unit, table (b, L) of levels; loose (b, d): how
    much of what the bound is too high by hangs on each feature's range; room (b,): how far the model's own arithmetic
    may be from ours."""

    const: Floats
    slope: Floats
    table: Floats
    loose: Floats
    room: Floats


class AffineNet:
    """Dense layers of rectified units on affine columns. Make it with `AffineNet.of`.

    places: j -> columns of `NetBoxes.ok` that are the levels of feature j. last (q, r): outputs are mixed by it.
    unit: of the arithmetic of the model whose bounds these are.
    """

    def __init__(
        self, form: DenseForm, places: Mapping[int, slice], last: Floats | None, unit: float
    ) -> None:
        encoder, d = form.encoder, form.encoder.schema.d
        weights = [np.asarray(w, dtype=np.float64) for w in form.weights]
        biases = [np.asarray(b, dtype=np.float64) for b in form.biases]
        terms = [len(weights[0]) + d, *(2 * len(w) for w in weights[1:])]
        self.lost = [roundoff(count, unit) for count in terms]
        self.lost_here = 4.0 * roundoff(sum(terms), DOUBLE_UNIT)
        for k in range(len(weights) - 1):
            more = -weights[k].shape[1] % _TILE
            weights[k], biases[k] = np.pad(weights[k], ((0, 0), (0, more))), np.pad(biases[k], (0, more))
            weights[k + 1] = np.pad(weights[k + 1], ((0, more), (0, 0)))
        self.places, self.d, self.encoder = dict(places), d, encoder
        self.rectified = [activation == "relu" for activation in form.activations[:-1]]
        mixed = np.eye(weights[-1].shape[1]) if last is None else last
        self.outputs = mixed.shape[1]
        self._read_columns(weights[0], biases[0], mixed if len(weights) == 1 else None)
        self.sizes = [(np.abs(w), np.abs(b)) for w, b in zip(weights[1:], biases[1:], strict=True)]
        self.layers = list(zip(weights[1:], biases[1:], strict=True))
        if self.layers:
            self.layers[-1] = (weights[-1] @ mixed, biases[-1] @ mixed)
            self.sizes[-1] = (self.sizes[-1][0] @ np.abs(mixed), self.sizes[-1][1] @ np.abs(mixed))
        self.twice = [_both_signs(w) for w, _ in self.layers[:-1]]
        owners = [j for j, at in self.places.items() for _ in range(at.start, at.stop)]
        self.feature = np.array([*range(d), *(j for j, _ in encoder.ufuncs), *owners], np.int64)

    def _read_columns(self, first: Floats, bias: Floats, mixed: Floats | None) -> None:
        """Sum the first layer up: by number, by level, for missing values; and the sizes of what is summed."""
        w, size, fixed = self.d + len(self.encoder.ufuncs), np.abs(first), np.abs(bias)
        if mixed is not None:  # there is no other layer
            first, bias, size, fixed = (
                first @ mixed,
                bias @ mixed,
                size @ np.abs(mixed),
                fixed @ np.abs(mixed),
            )
        h = first.shape[1]
        self.bias, self.fixed = bias.copy(), fixed
        self.slope, self.offset, self.gone, self.reach = (np.zeros((w, h)) for _ in range(4))
        self.table = np.zeros((max((at.stop for at in self.places.values()), default=0), h))
        self.levelled = np.isin(np.arange(w), list(self.places))
        number = dict(zip(self.encoder.numeric, self.encoder.source.tolist(), strict=True))
        for e, column in enumerate(self.encoder.columns):
            if column.table is None:
                v, slope = number[e], column.factor / column.divisor
                self.slope[v] += slope * first[e]
                self.offset[v] += (column.shift - column.centre * slope) * first[e]
                self.gone[v] += np.nan_to_num(column.missing) * first[e]
                far, near = column.magnitude
                self.reach[v] += far * size[e]
                self.fixed = self.fixed + (near + abs(float(np.nan_to_num(column.missing)))) * size[e]
                continue
            self.fixed = self.fixed + np.abs(np.nan_to_num(column.table)).max(initial=0.0) * size[e]
            if column.feature < 0:
                self.bias += column.table[0] * first[e]
                continue
            part = column.table[:, None] * first[e]
            self.table[self.places[column.feature]] += part[:-1]
            self.gone[column.feature] += np.nan_to_num(part[-1])
        self.rows = np.concatenate([self.slope, self.table])
        self.moves: Mask = np.asarray(self.rows.any(1))
        for at in self.places.values():
            self.moves[w + at.start : w + at.stop] = self.table[at].any()

    @classmethod
    def of(
        cls, form: DenseForm, places: Mapping[int, slice], last: Floats | None, unit: float
    ) -> AffineNet | None:
        """Read a form; None for units of another kind, and for columns that are made of several features."""
        known = set(form.activations) <= {"relu", "identity"} and not form.encoder.parts
        return cls(form, places, last, unit) if known else None

    @property
    def used(self) -> Mask:
        """(d,) bool: features on which an output hangs."""
        used = np.zeros(self.d, dtype=bool)
        np.logical_or.at(used, self.feature, self.moves)
        return used

    def base_of(self, x: Floats) -> Floats:
        """(b, w) rows -> (b, h): what does not hang on the values; a missing value's share is fixed."""
        gone = np.isnan(x)
        there = _led(~(gone | self.levelled) * 1.0, self.offset)
        return np.asarray(self.bias + _led(gone * 1.0, self.gone) + there)

    def margin(self, base: Floats, value: Floats) -> Floats:
        """(b,) the first output at rows (b, d) without missing numbers; base: of whose they are."""
        z = base + _led(np.where(self.levelled, 0.0, value), self.slope)
        for j, at in self.places.items():
            here = ~np.isnan(value[:, j])
            z[here] += self.table[at][value[here, j].astype(np.int64)]
        for rectified, (weight, bias) in zip(self.rectified, self.layers, strict=True):
            z = _led(np.maximum(z, 0.0) if rectified else z, weight) + bias
        return np.asarray(z[:, 0])

    # -- bounds --------------------------------------------------------------------------------------------

    def above(self, boxes: NetBoxes) -> Above:
        """Bound the first output over boxes from above."""
        (b, w), d = boxes.low.shape, self.d
        const, slope, table = np.zeros(b), np.zeros((b, w)), np.zeros(boxes.ok.shape)
        loose, room = np.zeros((b, d)), np.zeros(b)
        for at, spread in self._spreads(boxes):
            known, ways = self._hidden(spread)
            line, rest, slack = self._back(1.0, known)
            first = line[:, 0]
            const[at] = rest[:, 0] + (first * boxes.base[at]).sum(1)
            slope[at], table[at] = _led(first, self.slope.T), _led(first, self.table.T)
            loose[at] = self._blamed(spread, slack, ways)
            room[at] = self._error(boxes, at, known)[:, 0]
        return Above(const, slope, table, loose, room)

    def ends(self, boxes: NetBoxes) -> tuple[Floats, Floats, Floats]:
        """Bound the model's own outputs over boxes: least, most (b, r), and loose (b, d) as in `Above`."""
        b, r = len(boxes.low), self.outputs
        least, most, loose = np.zeros((b, r)), np.zeros((b, r)), np.zeros((b, self.d))
        for at, spread in self._spreads(boxes):
            known, ways = self._hidden(spread)
            room = self._error(boxes, at, known)
            for side, end in ((1.0, most), (-1.0, least)):
                line, rest, slack = self._back(side, known)
                way = self._sums(spread.way @ line.transpose(0, 2, 1), spread.source)[1]
                end[at] = side * (rest + (line * spread.base[:, None]).sum(2) + way + room)
                loose[at] += self._blamed(spread, slack, ways)
        return least, most, loose

    def _spreads(self, boxes: NetBoxes) -> Iterator[tuple[Ints, FirstLayer]]:
        """Yield (which boxes, their first layer), those with about as many ways together."""
        (b, w), each = boxes.low.shape, np.arange(len(boxes.low))
        width, base = boxes.high - boxes.low, boxes.base + _led(boxes.low, self.slope)
        active = np.concatenate([width > 0, boxes.ok], axis=1) & self.moves
        origin = np.zeros((b, self.d), np.int64)
        for j, place in self.places.items():
            origin[:, j] = boxes.ok[:, place].argmax(1) + place.start
            base = base + self.table[origin[:, j]] * boxes.ok[each, origin[:, j], None]
            active[each, w + origin[:, j]] = False
        size = -(-(active.sum(1) + 1) // _FOUR) * _FOUR - 1
        order = np.argsort(~active, axis=1, kind="stable")
        for m in np.unique(size):
            rows = np.flatnonzero(size == m)
            for at in np.array_split(rows, -(-rows.size // _TOGETHER)):
                source = order[at, :m]
                live = np.take_along_axis(active[at], source, 1)
                extent = np.take_along_axis(width[at], np.minimum(source, w - 1), 1)
                way = self.rows[source] * np.where(source < w, extent, 1.0)[:, :, None] * live[:, :, None]
                box, k = np.nonzero(live & (source >= w))
                way[box, k] -= self.table[origin[at[box], self.feature[source[box, k]]]]
                yield at, FirstLayer(base[at], way, source)

    def _sums(self, way: Floats, source: Ints) -> Bounds:
        """(b, o) the least and the greatest sums of parts of ways (b, m, o)."""
        level = source >= len(self.slope)
        if not level.any():
            return np.minimum(way, 0.0).sum(1), np.maximum(way, 0.0).sum(1)
        number, owner = np.where(level[:, :, None], 0.0, way), np.where(level, self.feature[source], -1)
        low, high = np.minimum(number, 0.0).sum(1), np.maximum(number, 0.0).sum(1)
        for j in np.unique(owner[level]):
            value = np.where((owner == j)[:, :, None], way, 0.0)
            low, high = low + np.minimum(value.min(1), 0.0), high + np.maximum(value.max(1), 0.0)
        return low, high

    def _hidden(self, spread: FirstLayer) -> tuple[list[Bounds], list[Floats]]:
        """Return bounds of the inputs of all layers but the first, two (b, h) each; and of these inputs, how much hangs
        on each way (b, m, h)."""
        up = down = np.concatenate([spread.base[:, None], spread.way], axis=1)
        least, most = (spread.base + end for end in self._sums(spread.way, spread.source))
        known, ways = [(least, most)], [np.abs(spread.way)]
        for rectified, twice, (weight, bias) in zip(self.rectified, self.twice, self.layers, strict=False):
            o = weight.shape[1]
            if rectified:
                chord, under, lift = _lines(least, most)
                up, down = up * chord[:, None], down * under[:, None]
                up[:, 0] += lift
                least, most = np.maximum(least, 0.0), np.maximum(most, 0.0)
            both = np.concatenate([up, down], axis=2) @ twice
            both[:, 0] += np.tile(bias, 2)
            up, down = both[:, :, :o], both[:, :, o:]
            plain = _led(np.concatenate([most, least], axis=1), twice) + np.tile(bias, 2)
            most = np.minimum(plain[:, :o], up[:, 0] + self._sums(up[:, 1:], spread.source)[1])
            least = np.maximum(plain[:, o:], down[:, 0] + self._sums(down[:, 1:], spread.source)[0])
            least = np.minimum(least, most)
            known.append((least, most))
            ways.append(np.abs(up[:, 1:]) + np.abs(down[:, 1:]))
        return known, ways

    def _back(self, side: float, known: list[Bounds]) -> tuple[Floats, Floats, list[Floats]]:
        """Lead the outputs, times side, back to the first layer: coefficients (b, r, h) and constants (b, r) that are
        above them; and of each layer how much each unit makes them too high (b, h)."""
        b, r = len(known[0][0]), self.outputs
        line, const, slack = np.broadcast_to(side * np.eye(r), (b, r, r)), np.zeros((b, r)), []
        for (weight, bias), rectified, (least, most) in reversed(
            list(zip(self.layers, self.rectified, known, strict=False))
        ):
            const, line = const + line @ bias, line @ weight.T
            slack.append(np.zeros_like(most))
            if rectified:
                chord, under, lift = _lines(least, most)
                positive, negative = np.maximum(line, 0.0), np.minimum(line, 0.0)
                const = const + (positive @ lift[:, :, None])[:, :, 0]
                bent = np.minimum(most, -least).clip(0.0)
                slack[-1] = positive.sum(1) * lift - negative.sum(1) * bent
                line = positive * chord[:, None] + negative * under[:, None]
        return line, const, slack[::-1]

    def _blamed(self, spread: FirstLayer, slack: list[Floats], ways: list[Floats]) -> Floats:
        """(b, d) how much of the slack of all units hangs on each feature's range."""
        total = np.zeros(spread.source.shape)
        for part, way in zip(slack, ways, strict=False):
            share = np.divide(part, way.sum(1), out=np.zeros_like(part), where=part > 0)
            total += (way @ share[:, :, None])[:, :, 0]
        loose = np.zeros((len(total), self.d))
        np.maximum.at(loose, (np.arange(len(total))[:, None], self.feature[spread.source]), total)
        return loose

    def _error(self, boxes: NetBoxes, at: Ints, known: list[Bounds]) -> Floats:
        """(b, r) how far the model's own arithmetic may be from ours anywhere in a box."""
        far = np.maximum(np.abs(boxes.low[at]), np.abs(boxes.high[at]))
        size = self.fixed + _led(far, self.reach)
        off = self.lost[0] * size
        for (weight, bias), lost, rectified, (least, most) in zip(
            self.sizes, self.lost[1:], self.rectified, known, strict=False
        ):
            greatest = np.maximum(most, 0.0) if rectified else np.maximum(np.abs(least), np.abs(most))
            off = lost * (_led(greatest + off, weight) + bias) + _led(off, weight)
            size = _led(size, weight) + bias
        return np.asarray(off + self.lost_here * size)


def _led(rows: Floats, weight: Floats) -> Floats:
    """(b, k) @ (k, o), one product a row: its bits do not hang on the others."""
    return np.asarray((rows[:, None] @ weight)[:, 0])


def _both_signs(weight: Floats) -> Floats:
    """(2k, 2o): what is above and what is below the inputs -> what is above and what is below the outputs."""
    up, down = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    return np.block([[up, down], [down, up]])


def _lines(least: Floats, most: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes above and below a rectified unit between these ends, and what the line above starts from at 0."""
    bent = (least < 0) & (most > 0)
    flat = (least >= 0) * 1.0
    chord = np.divide(most, most - least, out=flat.copy(), where=bent)
    return chord, np.where(bent, (most > -least) * 1.0, flat), np.where(bent, -least * chord, 0.0)
