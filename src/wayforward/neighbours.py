"""Who is most like whom: exact nearest rows under mixed distances, with masks and personal reach.

The rows are cut once into blocks of similar people. A query looks at the blocks in the order of a lower
bound on their distance and stops as soon as no block can hold a nearer row, so the answer is exact. A
person's neighbours never depend on the other people asked about; equal distances go by row number. numba
makes it faster and changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from wayforward.errors import ProblemError, is_one_of
from wayforward.scaling import Scale, checked_rows, scales
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

Metric = Literal["l1", "l2", "heom"]
Engine = Literal["auto", "numba", "numpy"]

_BLOCK = 128  # rows a block
_QUERIES = 1024  # queries at once in the NumPy search: bounds and sums stay below some tens of MiB


@dataclass(frozen=True)
class Nearest:
    """The k nearest rows of m queries, nearest first; fewer than k end with distance inf and row -1."""

    distance: Floats  # (m, k)
    row: Ints  # (m, k) position in the rows of the index


class NeighbourIndex:
    """Exact k nearest rows of (N, d) people, feature units, NaN where a value is missing.

    The change of a feature is its difference over its scale ('range' of the schema, 'std' or 'mad' of the
    rows, or (d,) widths in feature units), 1 for another category. metric: 'l1' the sum; 'l2' the root of
    the sum of squares; a missing value is 1 away from any other and 0 from a missing one. 'heom' is 'l2'
    with 1 for two missing values, too. weight (d,) of at least 0 scales the changes. engine: 'auto' takes
    numba where it is installed.

    Example: ``NeighbourIndex(schema, accepted).query(x, k=5).row``.
    Raises: ProblemError for rows that do not fit, or a negative weight.
    Source: HEOM: Wilson & Martinez (1997), J. Artif. Intell. Res. 6, eq. 2-4.
    """

    def __init__(
        self,
        schema: Schema,
        rows: npt.ArrayLike,
        *,
        metric: Metric = "l1",
        scale: Scale | npt.ArrayLike = "range",
        weight: npt.ArrayLike | None = None,
        engine: Engine = "auto",
    ) -> None:
        if not is_one_of(metric, ("l1", "l2", "heom")):
            raise ProblemError(f"There is no metric {metric!r}. Choose 'l1', 'l2' or 'heom'.")
        if engine not in ("auto", "numba", "numpy"):
            raise ProblemError(f"There is no engine {engine!r}. Choose 'auto', 'numba' or 'numpy'.")
        known = checked_rows(schema, rows, "reference")
        self.schema, self.metric = schema, metric
        self.scale = self._scale(scale, known)
        self.weight = np.ones(schema.d) if weight is None else self._weights(weight, (schema.d,))
        self._square, self._heom = metric != "l1", metric == "heom"
        self._cap = np.where(schema.is_categorical, 1.0, np.inf)
        self._engine = engine
        self._build(known / self.scale)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._row)

    def query(
        self,
        people: npt.ArrayLike,
        k: int = 1,
        *,
        allowed: npt.ArrayLike | None = None,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        leave_out: npt.ArrayLike | None = None,
    ) -> Nearest:
        """The k nearest rows of each of `people` (m, d).

        allowed (N,) bool: rows that may be returned. low, high (m, d): only rows inside each person's reach
        (a frozen feature has low = high = its value; infinite where any value will do, which alone admits
        missing ones). weight (m, d) of at least 0: personal weights; 0 leaves a feature out. leave_out
        (m,): a row number that each person must not get, such as their own; -1 for none.
        """
        if isinstance(k, bool) or k != int(k) or k < 1:
            raise ProblemError(f"k is {k!r} neighbours. Give a whole number of at least 1.")
        x = checked_rows(self.schema, np.atleast_2d(np.asarray(people)), "people")
        m, d = x.shape
        q = x / self.scale
        w = self.weight[None, :] if weight is None else self.weight * self._weights(weight, (m, d))
        boxes = (np.empty((0, 0)), np.empty((0, 0)))
        if low is not None or high is not None:
            boxes = (self._side(low, -np.inf, (m, d)), self._side(high, np.inf, (m, d)))
        ok = np.ones(self.n, np.bool_) if allowed is None else np.asarray(allowed, dtype=np.bool_)
        skip = np.full(m, -1) if leave_out is None else np.asarray(leave_out, dtype=np.int64)
        if ok.shape != (self.n,) or skip.shape != (m,):
            raise ProblemError(
                f"allowed has shape {ok.shape} and leave_out {skip.shape}. Give ({self.n},) for the rows "
                f"and ({m},) for the people."
            )
        distance, row = np.full((m, k), np.inf), np.full((m, k), -1, dtype=np.int64)
        if self.n and m:
            kernel = None if self._engine == "numpy" else _kernel(self._engine == "numba")
            where = ok[self._row]
            if kernel is not None:
                kernel(
                    *(
                        np.ascontiguousarray(q),
                        np.ascontiguousarray(w),
                        self._columns,
                        self._row,
                        self._start,
                    ),
                    *(self._low, self._high, self._gone, self._cap, self._square, self._heom, where),
                    *(np.ascontiguousarray(boxes[0]), np.ascontiguousarray(boxes[1]), skip, distance, row),
                )
            else:
                for first in range(0, m, _QUERIES):
                    part = slice(first, first + _QUERIES)
                    box = tuple(side[part] for side in boxes) if boxes[0].size else None
                    self._search(
                        q[part],
                        w[part] if len(w) > 1 else w,
                        where,
                        box,
                        skip[part],
                        distance[part],
                        row[part],
                    )
        return Nearest(np.sqrt(distance) if self._square else distance, row)

    def distances(self, people: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Floats:
        """(m, N) distance of each of `people` (m, d) to each row, in row order, all at once."""
        q = checked_rows(self.schema, people, "people") / self.scale
        w = self.weight[None, :] if weight is None else self.weight * self._weights(weight, q.shape)
        out = np.empty((len(q), self.n))
        for b in range(len(self._start) - 1):
            part = slice(self._start[b], self._start[b + 1])
            out[:, self._row[part]] = self._sums(q, w, b)
        return np.asarray(np.sqrt(out, out=out)) if self._square else out

    # -- building ------------------------------------------------------------------------------------------

    def _scale(self, scale: Any, known: Floats) -> Floats:
        if isinstance(scale, str):
            widths = scales(self.schema, known, scale)  # type: ignore[arg-type]
        else:
            widths = np.asarray(scale, dtype=np.float64)
            if widths.shape != (self.schema.d,) or not (np.isfinite(widths) & (widths > 0)).all():
                raise ProblemError(
                    f"The scale has shape {widths.shape}. Give {self.schema.d} finite widths above 0, or "
                    "'range'."
                )
        return np.where(self.schema.is_categorical, 1.0, widths)

    def _weights(self, weight: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
        w = np.asarray(weight, dtype=np.float64)
        try:
            w = np.broadcast_to(w, shape)
        except ValueError:
            raise ProblemError(f"The weights have shape {w.shape}. Give {shape}.") from None
        if not (np.isfinite(w) & (w >= 0)).all():
            raise ProblemError(
                "A weight of a distance is negative or not finite. Give numbers of at least 0."
            )
        return w

    def _side(self, side: npt.ArrayLike | None, default: float, shape: tuple[int, ...]) -> Floats:
        values = np.full(shape, default) if side is None else np.asarray(side, dtype=np.float64)
        try:
            values = np.broadcast_to(values, shape)
        except ValueError:
            raise ProblemError(f"low and high have shape {values.shape}. Give {shape}.") from None
        # rows are compared after the same division, which keeps the order; NaN sets no limit
        return np.where(np.isnan(values), default, values / self.scale)

    def _build(self, known: Floats) -> None:
        order, start = _blocks(known)
        self._row, self._start = order, start
        self._columns = np.ascontiguousarray(known[order].T)  # (d, N) in block order
        blocks, d = len(start) - 1, known.shape[1]
        self._low, self._high = np.full((blocks, d), np.nan), np.full((blocks, d), np.nan)
        self._gone = np.zeros((blocks, d), dtype=np.bool_)
        for b in range(blocks):
            part = self._columns[:, start[b] : start[b + 1]]
            self._gone[b] = np.isnan(part).any(axis=1)
            self._low[b], self._high[b] = np.fmin.reduce(part, axis=1), np.fmax.reduce(part, axis=1)

    # -- the NumPy search ----------------------------------------------------------------------------------

    def _search(
        self,
        q: Floats,
        w: Floats,
        allowed: Mask,
        box: tuple[Floats, ...] | None,
        skip: Ints,
        distance: Floats,
        row: Ints,
    ) -> None:
        """Fill distance and row (m, k): first from the nearest block of each query, then from the others."""
        bound = self._bounds(q, w, box)
        first = np.argmin(bound, axis=1)
        for visit in (0, 1):
            for b in range(bound.shape[1]):
                near = (first == b) if visit == 0 else (first != b) & (bound[:, b] <= distance[:, -1])
                who = np.flatnonzero(near & np.isfinite(bound[:, b]))
                if not who.size:
                    continue
                sums = self._sums(q[who], w[who] if len(w) > 1 else w, b)
                part = slice(self._start[b], self._start[b + 1])
                numbers = self._row[part]
                fits = allowed[part] & (numbers != skip[who, None]) & (sums <= distance[who, -1, None])
                if box is not None:
                    fits &= self._inside(who, part, box)
                _merge(distance, row, who, np.where(fits, sums, np.inf), numbers)

    def _bounds(self, q: Floats, w: Floats, box: tuple[Floats, ...] | None) -> Floats:
        """(m, B) distance that no row of a block can undercut; inf where the reach excludes the block."""
        out = np.zeros((len(q), len(self._low)))
        for j in range(q.shape[1]):
            here, low, high, gone = q[:, j, None], self._low[:, j], self._high[:, j], self._gone[:, j]
            with np.errstate(invalid="ignore"):
                step = np.fmax(np.fmax(low - here, here - high), 0.0)
            step = np.where(gone | np.isnan(low), 0.0, step)
            if np.isnan(here).any():
                step = np.where(np.isnan(here), np.where(self._heom | ~gone, 1.0, 0.0), step)
            step = w[:, j, None] * np.minimum(step, self._cap[j])
            out += step * step if self._square else step
            if box is not None:
                outside = (high < box[0][:, j, None]) | (low > box[1][:, j, None])
                out[outside & ~gone] = np.inf
        return out

    def _sums(self, q: Floats, w: Floats, b: int) -> Floats:
        """(m, block) sums of changes (or squares) to the rows of a block, feature after feature."""
        part = slice(self._start[b], self._start[b + 1])
        out = np.zeros((len(q), part.stop - part.start))
        step = np.empty_like(out)
        for j in range(q.shape[1]):
            here, there = q[:, j, None], self._columns[None, j, part]
            np.subtract(here, there, out=step)
            np.abs(step, out=step)
            if self._cap[j] < np.inf:
                np.minimum(step, self._cap[j], out=step)
            if self._gone[b, j] or np.isnan(here).any():
                neither = np.isnan(here) & np.isnan(there)
                np.copyto(
                    step,
                    np.where(neither & ~np.bool_(self._heom), 0.0, 1.0),
                    where=np.isnan(here) | np.isnan(there),
                )
            step *= w[:, j, None]
            if self._square:
                np.square(step, out=step)
            out += step
        return out

    def _inside(self, who: Ints, part: slice, box: tuple[Floats, ...]) -> Mask:
        out = np.ones((len(who), part.stop - part.start), dtype=np.bool_)
        for j in range(len(self._columns)):
            low, high, there = box[0][who, j, None], box[1][who, j, None], self._columns[None, j, part]
            free = (low == -np.inf) & (high == np.inf)
            out &= ((there >= low) & (there <= high)) | (np.isnan(there) & free)
        return out


def _merge(distance: Floats, row: Ints, who: Ints, sums: Floats, numbers: Ints) -> None:
    """Take the k least of the lists so far and of new sums, by distance and then by row number."""
    k = distance.shape[1]
    if sums.shape[1] > k:  # only candidates that can enter: no more than k of them, and ties
        limit = np.partition(sums, k - 1, axis=1)[:, k - 1, None]
        some = ((sums <= limit) & (sums < np.inf)).any(axis=0)
        sums, numbers = sums[:, some], numbers[some]
    values = np.concatenate([distance[who], sums], axis=1)
    labels = np.concatenate([row[who], np.broadcast_to(numbers, sums.shape)], axis=1)
    order = np.lexsort((labels, values), axis=1)[:, :k]
    best = np.take_along_axis(values, order, axis=1)
    distance[who] = best
    row[who] = np.where(best < np.inf, np.take_along_axis(labels, order, axis=1), -1)


def _blocks(known: Floats) -> tuple[Ints, Ints]:
    """Order of the rows and starts of the blocks: halves along the widest feature, again and again."""
    filled = np.where(np.isnan(known), np.nanmin(known, initial=0.0), known)
    todo, done = [np.arange(len(known))], []
    while todo:
        part = todo.pop()
        if len(part) <= _BLOCK:
            done.append(part)
            continue
        values = filled[part]
        j = int(np.argmax(np.ptp(values, axis=0)))
        half = len(part) // 2
        order = np.argpartition(values[:, j], half)
        todo += [part[order[half:]], part[order[:half]]]
    sizes = [len(part) for part in done if len(part)]
    order = np.concatenate(done) if done else np.empty(0, dtype=np.int64)
    return order.astype(np.int64), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@cache
def _kernel(needed: bool) -> Any:
    """Return the compiled search; None where numba is absent and not required by name."""
    from wayforward.errors import MissingExtra, require

    try:
        require("numba", extra="fast")
    except MissingExtra:
        if needed:
            raise
        return None
    from wayforward._neighbours_jit import search

    return search
