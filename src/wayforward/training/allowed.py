"""What people may change, in the columns that a classifier is trained on, and the best of it along a gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from wayforward.scaling import ranges
from wayforward.schema import Schema
from wayforward.shapes import Floats


@dataclass(frozen=True, eq=False)
class AllowedChanges:
    """A box of changes (e,), within legal values, and switches between one-hot columns.

    low, high (e,): the least and greatest change of each column, 0 where it stays. floor, ceiling (e,): values that no
    change leads beyond. switches: (columns, direction): exactly one of these columns is 1, and another may be instead;
    direction 1 (-1): only a later (earlier) one. Units are those of the encoded columns.
    """

    low: Floats
    high: Floats
    floor: Floats
    ceiling: Floats
    switches: tuple[tuple[tuple[int, ...], int], ...] = ()

    @classmethod
    def box(cls, e: int, reach: float = 0.75) -> Self:
        """Every column by at most `reach`, as of Ross, Lakkaraju & Bastani (2021)."""
        free = np.full(e, np.inf)
        return cls(np.full(e, -reach), np.full(e, reach), -free, free)

    @classmethod
    def of(cls, schema: Schema, encoder: Any, reach: float = 0.1, reference: Floats | None = None) -> Self:
        """What a schema lets people do: numbers by a share of their range, levels to any level, in their direction.

        encoder: fitted, as `wayforward.model.zoo.table_encoder` makes it. reference (N, d): for open ranges.
        """
        width, _ = ranges(schema, reference)
        e = len(encoder.get_feature_names_out())
        low, high, floor, ceiling = np.zeros(e), np.zeros(e), np.full(e, -np.inf), np.full(e, np.inf)
        part = {kind: names for kind, _, names in encoder.transformers_}
        numeric, levels = part.get("numeric", []), part.get("levels", [])
        start = encoder.output_indices_["numeric"].start if numeric else 0
        scaler: Any = encoder.named_transformers_["numeric"][-1] if numeric else None
        for at, name in enumerate(numeric):
            j, column = schema.index(name), start + at
            middle, scale = scaler.mean_[at], scaler.scale_[at]
            floor[column], ceiling[column] = (
                (schema.low[j] - middle) / scale,
                (schema.high[j] - middle) / scale,
            )
            if schema.actionable[j]:
                step, way = reach * width[j] / scale, schema.direction[j]
                low[column], high[column] = -step * (way <= 0), step * (way >= 0)
        switches = []
        column = encoder.output_indices_["levels"].start if levels else 0
        for at, name in enumerate(levels):
            j, known = schema.index(name), list(encoder.named_transformers_["levels"].categories_[at])
            if schema.actionable[j]:
                places = tuple(column + known.index(level) for level in schema[name].levels)
                switches.append((places, int(schema.direction[j])))
            column += len(known)
        return cls(low, high, floor, ceiling, tuple(switches))

    def best(self, gradient: Floats, rows: Floats) -> Floats:
        """The change (m, e) of rows (m, e) that raises a score most, as far as its gradient (e,) or (m, e) tells."""
        gradient = np.broadcast_to(gradient, rows.shape)
        change = np.zeros(rows.shape)
        box = np.flatnonzero((self.low < 0) | (self.high > 0))
        if box.size:
            x, slope = rows[:, box], gradient[:, box]
            up = np.minimum(self.high[box], self.ceiling[box] - x).clip(0)
            down = np.maximum(self.low[box], self.floor[box] - x).clip(None, 0)
            change[:, box] = np.where(slope > 0, up, np.where(slope < 0, down, 0.0))
        everyone = np.arange(len(rows))
        for places, way in self.switches:
            columns = np.array(places)
            now, order = rows[:, columns].argmax(1), np.arange(len(places))
            allowed = (order >= now[:, None]) if way > 0 else (order <= now[:, None])
            to = np.where(allowed | (way == 0), gradient[:, columns], -np.inf).argmax(1)
            known = rows[everyone, columns[now]] > 0  # a level that nobody has seen stays
            change[everyone[known], columns[now[known]]] -= 1.0
            change[everyone[known], columns[to[known]]] += 1.0
        return change
