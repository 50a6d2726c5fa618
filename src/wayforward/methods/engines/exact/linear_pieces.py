"""Linear pieces of a network of rectified units: its least change on one, by a linear program, and the next ones.

Where it is settled which units are on, the network is a line. A piece is the polytope of numbers for which they are;
the program asks for the least weighted sum of changes inside it with which the score suffices. Facets of the piece that
hold the answer back lead to the pieces beyond them.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.model.affine_net import AffineNet


class Lines(NamedTuple):
    """All units of a network on one piece: inputs slope (u, f) @ value + start (u,), and the score last, gain @ value +
    score."""

    slope: Floats
    start: Floats
    gain: Floats
    score: float


class LinearPieces:
    """The network as one person may move it: numbers (f,) of the features at `free`; all else is as in a row (d,)."""

    def __init__(self, net: AffineNet, row: Floats, free: Ints) -> None:
        self.net, self.first = net, net.slope[free]
        held = np.where(net.levelled, 0.0, np.nan_to_num(row))
        held[free] = 0.0
        base = net.base_of(row[None])[0] + held @ net.slope
        for j, at in net.places.items():
            if not np.isnan(row[j]):
                base = base + net.table[at][int(row[j])]
        self.base = base

    def pattern(self, value: Floats) -> Mask:
        """(u,) bool: which rectified units are on at numbers (f,)."""
        z, on = self.base + value @ self.first, []
        for rectified, (weight, bias) in zip(self.net.rectified, self.net.layers, strict=True):
            if rectified:
                on.append(z > 0)
                z = np.maximum(z, 0.0)
            z = z @ weight + bias
        return np.concatenate([np.zeros(0, dtype=bool), *on])

    def lines(self, on: Mask) -> Lines:
        """Return the network where exactly the units `on` (u,) are on."""
        slope, start, at = [np.zeros((0, len(self.first)))], [np.zeros(0)], 0
        z, g = self.base, self.first
        for rectified, (weight, bias) in zip(self.net.rectified, self.net.layers, strict=True):
            if rectified:
                here = on[at : at + len(z)]
                at += len(z)
                slope.append(g.T)
                start.append(z)
                z, g = z * here, g * here
            z, g = z @ weight + bias, g @ weight
        return Lines(np.concatenate(slope), np.concatenate(start), g[:, 0], float(z[0]))


class Walk:
    """Least changes of numbers x (f,), each weight (f,) a unit, between low and high (f,), up to a score `need`.

    room (f,): by so much a number that changes may be missed to either side; the score suffices for all of that as far
    as the line of the piece tells.
    """

    def __init__(
        self,
        pieces: LinearPieces,
        x: Floats,
        weight: Floats,
        low: Floats,
        high: Floats,
        need: float,
        room: Floats,
    ) -> None:
        self.pieces, self.x, self.weight = pieces, x, weight
        self.low, self.high, self.need, self.room = low, high, need, room

    def run(self, starts: list[Floats], programs: int) -> list[Floats]:
        """Solve pieces from those of `starts` on, the most promising first, at most `programs` times; return answers
        (f,) that were found, the cheapest first."""
        heap: list[tuple[float, int, bytes, Mask]] = []
        seen: set[bytes] = set()
        found: list[tuple[float, Floats]] = []
        for start in starts:
            self._remember(heap, seen, -np.inf, self.pieces.pattern(start))
        while heap and programs:
            *_, on = heapq.heappop(heap)
            programs -= 1
            answer = self._least(on)
            if answer is None:
                continue
            value, price, held = answer
            found.append((price, value))
            for unit, gain in held:
                beyond = on.copy()
                beyond[unit] = ~beyond[unit]
                self._remember(heap, seen, price - gain, beyond)
        return [value for _, value in sorted(found, key=lambda pair: pair[0])]

    def _remember(
        self, heap: list[tuple[float, int, bytes, Mask]], seen: set[bytes], key: float, on: Mask
    ) -> None:
        name = np.packbits(on).tobytes()
        if name not in seen:
            heapq.heappush(heap, (key, len(seen), name, on))
            seen.add(name)

    def _least(self, on: Mask) -> tuple[Floats, float, list[tuple[int, float]]] | None:
        """Return (numbers, price, facets that hold the price up and by how much); None where a piece has no answer."""
        from scipy.optimize import linprog

        lines = self.pieces.lines(on)
        sign = np.where(on, -1.0, 1.0)
        held = np.concatenate([sign[:, None] * lines.slope, -lines.gain[None]])
        most = np.append(-sign * lines.start, lines.score - self.need) - held @ self.x
        ends = np.concatenate([np.maximum(self.high - self.x, 0.0), np.maximum(self.x - self.low, 0.0)])
        acted = np.zeros(len(self.x), dtype=bool)
        for _ in range(2):  # what is acted on may be missed: known from the answer without
            limit = most.copy()
            limit[-1] -= float(np.abs(lines.gain)[acted] @ self.room[acted])
            got = linprog(
                np.tile(self.weight, 2), np.concatenate([held, -held], axis=1), limit,
                bounds=np.stack([np.zeros(len(ends)), ends], axis=1), method="highs",
            )  # fmt: skip
            if got.status != 0:
                return None
            change = got.x[: len(self.x)] - got.x[len(self.x) :]
            before, acted = acted, acted | (np.abs(change) > 1e-12)
            if not (acted & ~before & (self.room > 0)).any():
                break
        gain = -got.ineqlin.marginals[:-1]
        units = np.flatnonzero(gain > 1e-12)
        return self.x + change, float(got.fun), [(int(u), float(gain[u])) for u in units]
