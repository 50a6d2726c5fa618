"""What would have to change for an event to come later: more expected time than now, or a better chance by a day."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from wayforward.errors import MethodError, ProblemError, is_number, require_kind, require_switch
from wayforward.methods import Method, recommend
from wayforward.modalities.problem import require_own
from wayforward.modalities.survival.model import LIFETIME, SurvivalModel
from wayforward.model import wrap
from wayforward.problem import Problem, Target
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema import Feature, Schema, SchemaWarning
from wayforward.schema.carried import keys_of
from wayforward.schema.odd_rows import unread_note
from wayforward.shapes import Floats

_OWN = {  # of a `Problem`, and made here
    "target": "Say what is wanted with longer=6, lifetime=60 or survives=(24, 0.8).",
    "data": "Give observed people as the third argument, table.",
}


@public
class SurvivalProblem:
    """A survival model, and the time that is wanted of it.

    schema: of the table. model: a fitted model with `predict_survival_function` (scikit-survival's, pipelines of it
    included, or lifelines'), a `Cox`, or a function of a table that gives curves (m, T) at `times`. table: observed
    people, as for `wf.Problem`. One of:

    - longer: at least so much more expected time than the person has now; below 0, so much less (a shorter wait).
    - lifetime: so much expected time or more; a pair (low, high), either of them None, for a range.
    - survives: (moment, probability): the event has not come by then with at least that probability.

    times (T,): where curves are read, no later than the model knows them; left out, where it knows them. horizon: until
    when an expected time counts; left out, the last of the times, for nobody knows what comes later. unit: of times,
    for texts. frame: table library that the model was trained on. parts: world, cost, plausibility and the other parts
    of a `wf.Problem`.

    `problem` is a `wf.Problem` for any method. For `longer` its rows carry in a last column what the person expects
    now, which nobody acts on: `rows(people)` makes them, and what is judged is the exact row that is returned. Observed
    people, whom some methods start from, stand there beside somebody who expects what most do, the median.
    Example: ``SurvivalProblem(schema, forest, table, longer=6, unit="months").recommend(people)``.
    Raises: ProblemError, DataError, ModelError.
    """

    def __init__(
        self,
        schema: Schema,
        model: Any,
        table: Any,
        *,
        longer: float | None = None,
        lifetime: Any = None,
        survives: tuple[float, float] | None = None,
        times: Any = None,
        horizon: float | None = None,
        unit: str = "",
        frame: Any = None,
        **parts: Any,
    ) -> None:
        if sum(one is not None for one in (longer, lifetime, survives)) != 1:
            raise ProblemError(
                "Say what is wanted: longer=6 (more expected time than now), lifetime=60 (expected time) or "
                "survives=(24, 0.8) (a probability), and one of them alone."
            )
        require_kind(schema, Schema, "schema", ProblemError)
        for name in sorted(parts):
            if name in _OWN:
                raise ProblemError(f"SurvivalProblem takes no {name}. {_OWN[name]}")
            if name not in signature(Problem).parameters:
                raise ProblemError(
                    f"SurvivalProblem takes no {name}. Parts of a problem are world, cost and the like."
                )
        known = schema.encode(table, "reference")
        if not len(known):
            raise ProblemError("The table has no people. Give those that the model knows.")
        moment, target, wide = None, _target(longer, lifetime, survives, unit), schema
        if survives is not None:
            moment = float(survives[0])
        frame = _library(table) if frame is None else frame
        self.model = SurvivalModel(model, schema, known, times, horizon, moment, longer is not None, frame)
        if longer is not None:
            own = self.model.lifetimes(known)
            _check_room(own, longer, self.model.grid.horizon)
            typical = float(np.median(own))
            wide = Schema(
                (*schema.features, Feature(name=_free_name(schema), kind="carried", dtype="float64", example=typical)),
                schema.rules,
            )  # fmt: skip
            known = self._carrying(known, np.full(len(known), typical), wide)
        if lifetime is not None:
            _check_lifetime(lifetime, self.model.grid.horizon)
        self.schema, self.longer = schema, longer
        wrapped = wrap(
            self.model, wide, task="regression" if moment is None else "classification", verify_on=known
        )
        self.problem = Problem(wide, wrapped, target, data=known, **parts)

    def rows(self, people: Any) -> Floats:
        """Return people (a table or an (n, d) array) as rows of `problem`. Raises: DataError."""
        return self._rows(self.schema.encode(people))

    def lifetimes(self, people: Any) -> Floats:
        """Return the expected time to the event (n,) of people, within the horizon. Raises: DataError."""
        return self.model.lifetimes(self.schema.encode(people))

    def curves(self, people: Any) -> tuple[Floats, Floats]:
        """Return times (T,) and survival curves (n, T) of people. Raises: DataError."""
        return self.model.grid.times, self.model.curves(self.schema.encode(people))

    def recommend(
        self, people: Any, method: str | Method = "survival-counterfactuals", k: int = 1, **how: Any
    ) -> Recourse:
        """Return up to k options for each person. how: as of `wf.recommend`. Raises: DataError, MethodError."""
        require_own(how, "people")
        require_switch(how.get("strict", False), "strict", MethodError)
        if how.get("strict"):
            return recommend(self.problem, self.rows(people), method, k, **how)
        x, unread = self.schema.read(people)
        with warnings.catch_warnings():
            if unread:  # what the rows lack by now is not what was wrong with the table
                warnings.filterwarnings(
                    "ignore", "[0-9,]+ of [0-9,]+ people could not be read", SchemaWarning
                )
            got = recommend(self.problem, self._rows(x, unread), method, k, **how)
        if not unread:
            return got
        warnings.warn(unread_note(unread, len(x)), SchemaWarning, stacklevel=2)
        return replace(
            got, reasons=np.array([unread.get(i, why) for i, why in enumerate(got.reasons)], dtype=object)
        )

    def _rows(self, x: Floats, unread: Collection[int] = ()) -> Floats:
        """(n, d) -> rows of `problem`; unread: those of whom the model cannot be asked, whom nobody expects to last."""
        if self.longer is None:
            return x
        there = np.setdiff1d(np.arange(len(x)), list(unread))
        own = np.zeros(len(x))
        own[there] = self.model.lifetimes(x[there])
        return self._carrying(x, own, self.problem.schema)

    @staticmethod
    def _carrying(x: Floats, own: Floats, schema: Schema) -> Floats:
        return np.column_stack([x, keys_of(own.tolist(), schema.features[-1], "people")])


def _target(longer: Any, lifetime: Any, survives: Any, unit: str) -> Target:
    require_kind(unit, str, "unit", ProblemError)
    if longer is not None:
        if not is_number(longer) or longer == 0:
            raise ProblemError(f"longer={longer!r} is no number other than 0. Give one, such as longer=6.")
        return Target(interval=(longer, None) if longer > 0 else (None, longer), unit=unit, gain=True)
    if lifetime is not None:
        return Target(interval=(lifetime, None) if is_number(lifetime) else lifetime, unit=unit)
    pair = tuple(survives) if isinstance(survives, (tuple, list)) else ()
    if len(pair) != 2 or not all(map(is_number, pair)):
        raise ProblemError(f"survives={survives!r} is no pair (moment, probability), such as (24, 0.8).")
    if not 0 < pair[1] < 1:
        raise ProblemError(
            f"survives={survives!r}: {pair[1]:g} is no probability between 0 and 1. First comes the moment, then the "
            "probability, such as (24, 0.8)."
        )
    return Target(favourable=f"beyond {float(pair[0]):g}", threshold=float(pair[1]))


def _check_lifetime(lifetime: Any, horizon: float) -> None:
    """Raises: ProblemError for an expected time that nobody can have, or everybody has."""
    low, high = (lifetime, None) if is_number(lifetime) else lifetime
    if (low is None or low <= 0) and (high is None or high >= horizon):
        raise ProblemError(
            f"Everybody has lifetime={lifetime!r}: it lies between 0 and the horizon, {horizon:g}."
        )
    if (low is not None and low > horizon) or (high is not None and high < 0):
        raise ProblemError(
            f"lifetime={lifetime!r} is out of everybody's reach: expected times end at the horizon, {horizon:g}. Ask "
            "for less, or choose another horizon."
        )


def _check_room(own: Floats, longer: float, horizon: float) -> None:
    """Raises: ProblemError where nobody could have so much more, or so much less."""
    most = horizon - own.min() if longer > 0 else own.max()
    if abs(longer) > most:
        raise ProblemError(
            f"longer={longer:g} is out of everybody's reach: expected times go from {own.min():.4g} to "
            f"{own.max():.4g}, within a horizon of {horizon:g}. Ask for less, or choose another horizon."
        )


def _free_name(schema: Schema) -> str:
    name = LIFETIME
    while name in schema.names:
        name += "_"
    return name


def _library(table: Any) -> Any:
    """The table without its people, where it is one, so that the model gets such tables."""
    return table.head(0) if hasattr(table, "head") else None
