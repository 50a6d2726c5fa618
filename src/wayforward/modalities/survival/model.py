"""A survival model asked about rows: for an expected lifetime, for how much longer it is than now, for a chance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wayforward.errors import ModelError
from wayforward.modalities.survival.curves import (
    Cox,
    CurveGrid,
    Curves,
    checked_times,
    hazard_of,
    proportional,
)
from wayforward.model import Adapted, WrapOptions, register_adapter
from wayforward.model.adapted import two_columns
from wayforward.model.encoder import NotRead
from wayforward.model.fast import Fast
from wayforward.model.forms import LinearForm
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.schema.carried import values_of
from wayforward.shapes import Floats

LIFETIME = "expected lifetime now"  # the column that carries a person's own
_TOLERANCE = 1e-7  # relative: what was read by asking hangs on logarithms of curves
_LOOKED_AT = 32
_EDGE = 1e-9  # nearer to 0 or 1 a curve says nothing of its hazard


@public
@dataclass(eq=False)
class SurvivalModel:
    """A fitted survival model over a schema, and what is read off its curves.

    model: see `SurvivalProblem`. times, horizon: see there. moment: the probability that the event has not come by then
    is asked, in place of the expected lifetime. gain: rows carry the person's own expected lifetime in a last column,
    and what is asked is how much longer it would be. frame: table library that the model was trained on.
    rows (N, d): some people, among whom the model is read where hazards are proportional.
    """

    model: Any
    schema: Schema
    rows: Floats
    times: Any = None
    horizon: float | None = None
    moment: float | None = None
    gain: bool = False
    frame: Any = None
    grid: CurveGrid = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._curves = self._reader()
        known = self._curves.times
        last = float(known[-1])
        for name in ("horizon", "moment"):
            value = getattr(self, name)
            if value is not None and not 0 < checked_times([value], name)[0] <= last:
                raise ModelError(
                    f"{name}={value:g} is not within the times at which curves are known, up to {last:g}. "
                    "Nobody knows what comes later: choose an earlier one."
                )
        self.grid = CurveGrid(known, last if self.horizon is None else float(self.horizon))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_curves"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._curves = self._reader()

    def _reader(self) -> Curves:
        times = self.grid.times if hasattr(self, "grid") else self.times
        return Curves(self.model, self.schema, times, self.frame, WrapOptions(""))

    def __repr__(self) -> str:
        return f"SurvivalModel({type(self.model).__name__})"

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._curves.name

    def curves(self, rows: Floats) -> Floats:
        """(m, d) -> (m, T)."""
        return self._curves(rows)

    def lifetimes(self, rows: Floats) -> Floats:
        """(m, d) -> (m,) expected time to the event within the horizon."""
        return self.grid.lifetimes(self._curves(rows))

    def value(self, curves: Floats, rows: Floats, schema: Schema) -> Floats:
        """Curves (m, T) of rows (m, d or d + 1) of the problem -> (m,) what is asked of them."""
        if self.moment is not None:
            return self.grid.alive(curves, self.moment)
        lifetimes = self.grid.lifetimes(curves)
        if not self.gain:
            return lifetimes
        own, which = values_of(rows[:, -1], schema.features[-1])
        return np.asarray(lifetimes - np.array(own, dtype=np.float64)[which])

    def read(self) -> tuple[LinearForm, Floats]:
        """Return minus the log hazard ratio as a linear score, and (T,) the cumulative hazard where that is 0.

        Of a `Cox` as it is written; of any other by asking: where hazards are proportional, the logarithm of a
        curve's is one linear score at every time. Raises: NotRead where a column moves it by more or less elsewhere.
        """
        if isinstance(self.model, Cox):
            assert self._curves.form is not None
            return self._curves.form, hazard_of(self._curves.printed)
        schema, start = self.schema, _middle(self.schema, self.rows)
        if schema.carried.any() or np.isnan(start).any():
            raise NotRead("a column is carried as it is, or has no typical value")
        probes, owner = [start], [(-1, 0.0)]
        for j in range(schema.d):
            if schema.has_levels[j]:
                values = np.arange(schema.n_levels[j], dtype=float)
            else:
                seen = self.rows[~np.isnan(self.rows[:, j]), j]
                values = schema.snap(np.quantile(seen, [0.1, 0.9]), columns=j)
            for value in values:
                row = start.copy()
                row[j] = value
                probes.append(row)
                owner.append((j, float(value)))
        curves = self.curves(np.stack(probes))
        inside = ((curves > _EDGE) & (curves < 1 - _EDGE)).all(0)
        if not inside.any():
            raise NotRead("no curve lies between 0 and 1 for everybody at any time")
        place = np.flatnonzero(inside)[np.abs(curves[0, inside] - 0.5).argmin()]
        index = -np.log(-np.log(curves[:, place]))
        index = index - index[0]
        weight, tables, bias = np.zeros((schema.d, 1)), {}, 0.0
        for j in range(schema.d):
            at = [i for i, one in enumerate(owner) if one[0] == j]
            if schema.has_levels[j]:
                tables[j] = index[at][:, None] - index[at[int(start[j])]]
                continue
            low, high = owner[at[0]][1], owner[at[1]][1]
            if high > low:
                weight[j] = (index[at[1]] - index[at[0]]) / (high - low)
            bias -= float(weight[j, 0]) * float(start[j])
        form = LinearForm(schema, np.array([bias]), weight, tables, np.full((schema.d, 1), np.nan))
        hazard, some = hazard_of(curves[0]), self.rows[:_LOOKED_AT]
        gap = np.abs(proportional(hazard, form.margin(some)[:, 0]) - self.curves(some))
        if not gap.max() < _EDGE**0.5:
            raise NotRead("hazards are not proportional to one linear score of the columns")
        return form, hazard


class ProportionalFast(Fast):
    """A Cox model, whoever fitted it, by its linear score and its cumulative hazard."""

    kind = "proportional hazards"

    def __init__(self, given: SurvivalModel, schema: Schema) -> None:
        self.given, self.schema = given, schema
        form, self.hazard = given.read()
        self.inner = form
        more = schema.d - form.schema.d  # what a row carries adds nothing
        pad = ((0, more), (0, 0))
        self.form = replace(
            form, schema=schema, weight=np.pad(form.weight, pad), missing=np.pad(form.missing, pad)
        )

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        curves = proportional(self.hazard, self.inner.margin(x[:, : self.inner.schema.d])[:, 0])
        value = self.given.value(curves, x, self.schema)
        return two_columns(value) if self.given.moment is not None else value[:, None]

    def single_index(self) -> LinearForm:
        """See Model.single_index."""
        return self.form


def adapt(given: SurvivalModel, schema: Schema, options: WrapOptions) -> Adapted:
    """See `SurvivalModel`. Raises: ModelError."""
    d = given.schema.d

    def ask(rows: Floats) -> Floats:
        value = given.value(given.curves(rows[:, :d]), rows, schema)
        return two_columns(value) if given.moment is not None else value

    if given.moment is not None:
        made = Adapted.of_probabilities(
            ask, (f"before {given.moment:g}", f"beyond {given.moment:g}"), given.name
        )
    else:
        made = Adapted.of_values(ask, given.name)
    return replace(made, tolerance=_TOLERANCE, read=lambda: ProportionalFast(given, schema))


def _middle(schema: Schema, rows: Floats) -> Floats:
    """(d,) a legal row amid people: medians, and the level that most have."""
    out = np.empty(schema.d)
    for j in range(schema.d):
        seen = rows[~np.isnan(rows[:, j]), j]
        if not len(seen):
            out[j] = np.nan
        elif schema.has_levels[j]:
            out[j] = np.bincount(seen.astype(np.int64)).argmax()
        else:
            out[j] = schema.snap(np.array([np.median(seen)]), columns=j)[0]
    return out


register_adapter(f"{SurvivalModel.__module__}.{SurvivalModel.__qualname__}", adapt)
