"""Whole-number features that enter through something other than a scaling, such as a one-hot code or bins.

Such a feature is read as a level feature over its legal values: the transformer is probed on each. Rows
whose value is not one of these go to the wrapped object itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from wayforward.model.base import Scorer, single_valued
from wayforward.model.fast import Fast
from wayforward.model.forms import BoxBounds
from wayforward.schema import Feature, Schema
from wayforward.shapes import Floats, Ints, Mask, Outputs, Who

_MOST = 512  # legal values that a feature may have to be read as a table


def tabled(schema: Schema, features: Sequence[int]) -> Schema | None:
    """The schema with these features as ordinal levels; None if one of them cannot be listed."""
    new = list(schema.features)
    for j in features:
        f = schema.features[j]
        if f.kind != "integer" or f.missing or f.low is None or f.high is None or f.step is None:
            return None
        count = int((f.high - f.low) // f.step) + 1
        if not 1 <= count <= _MOST:
            return None
        values = tuple(int(f.low + i * f.step) for i in range(count))
        new[j] = Feature(name=f.name, kind="ordinal", levels=values)
    return Schema(tuple(new))


class LatticeFast(Fast):
    """A model that was read over a tabled schema, answering rows in feature units."""

    def __init__(
        self,
        inner: Fast,
        schema: Schema,
        features: Sequence[int],
        ask: Callable[[Floats], tuple[Outputs, Ints]],
    ) -> None:
        self.inner, self.schema, self._ask = inner, schema, ask
        self.kind = f"tabled {inner.kind}"
        self.features = np.array(sorted(features))
        self.low, self.step = schema.low[self.features], schema.step[self.features]
        listed = tabled(schema, features)
        assert listed is not None
        self.count = listed.n_levels[self.features]

    def index(self, x: Floats) -> tuple[Floats, Mask]:
        """(m, d) feature units -> (m, d) with level indices, and (m,) whether every value is on the list."""
        at = (x[:, self.features] - self.low) / self.step
        near = np.round(at)
        good = (np.abs(at - near) < 1e-9) & (near >= 0) & (near < self.count)
        out = x.copy()
        out[:, self.features] = np.clip(near, 0, self.count - 1)
        return out, good.all(axis=1)

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        rows, good = self.index(x)
        out = self.inner.outputs(rows)
        if not good.all():
            out[~good] = self._ask(x[~good])[0]
        return out

    def specialise(self, x: Floats, free: Mask, default: Scorer) -> Scorer:
        """The inner model's scorer; people who stand off the list are asked natively."""
        rows, good = self.index(x)
        inner = self.inner.specialise(rows, free, default)
        return default if inner is default else _LatticeScorer(inner, self, good)

    def thresholds(self) -> list[Floats] | None:
        """See Model.thresholds; for a listed feature each value but the last."""
        found = self.inner.thresholds()
        if found is not None:
            for j, low, step, count in zip(self.features, self.low, self.step, self.count, strict=True):
                found[j] = low + step * np.arange(count - 1)
        return found

    @property
    def bounded(self) -> bool:
        """See Fast.bounded."""
        return self.inner.bounded

    @property
    def listed(self) -> Ints:
        """See Model.listed."""
        return self.features

    def bounds(self, low: Floats, high: Floats, levels: Mapping[int, Mask], unit: float) -> BoxBounds | None:
        """See Fast.bounds; endless where a box reaches beyond the list."""
        least, most = low.copy(), high.copy()
        a = np.ceil((low[:, self.features] - self.low) / self.step - 1e-9)
        b = np.floor((high[:, self.features] - self.low) / self.step + 1e-9)
        listed = ((a >= 0) & (b < self.count) & (a <= b)).all(axis=1)
        least[:, self.features] = np.clip(np.minimum(a, b), 0, self.count - 1)
        most[:, self.features] = np.clip(b, 0, self.count - 1)
        found = self.inner.bounds(least, most, levels, unit)
        if found is None:
            return None
        within = listed[:, None]
        return BoxBounds(
            np.where(within, found.least, -np.inf),
            np.where(within, found.most, np.inf),
            np.where(listed, found.constant, single_valued(low, high, levels).all(axis=1)),
            found.loose,
        )


class _LatticeScorer(Scorer):
    def __init__(self, inner: Scorer, fast: LatticeFast, good: Mask) -> None:
        super().__init__(inner.model)
        self.inner, self.fast, self.good = inner, fast, good

    def outputs(self, who: Who, rows: Floats) -> Floats:
        """See Scorer.outputs."""
        rows = self.model.as_rows(rows)
        who = np.asarray(who, np.int64)
        listed, good = self.fast.index(rows)
        good &= self.good[who]
        out = np.empty((len(rows), self.model.width))
        out[good] = self.inner.outputs(who[good], listed[good])
        if not good.all():
            out[~good] = self.model.outputs(rows[~good])
        return out
