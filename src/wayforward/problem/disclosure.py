"""What answers may give away about the model and about the people of the table: conditions on every option.

`Problem(disclosure=Disclosure(...))` holds every method to them, because the judge asks for them. Each has a price in
cost and in people who get an option; `wayforward.impact.disclosure.attack` measures both sides.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.density.private import Accountant, check_bounds, check_noise_seed, private_people
from wayforward.errors import ProblemError, is_number, is_whole, require_switch, shown
from wayforward.language import gettext
from wayforward.problem.crowd import Crowd
from wayforward.problem.robust.base import Robust
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.schema import SchemaWarning
from wayforward.shapes import Actions, Mask, PerRow, Rows, Who
from wayforward.streams import keys_of
from wayforward.streams import spread as spread_evenly

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.schema import Schema

_TAG = 0xD15C
_ENDS = (0.05, 0.95)  # quantiles whose distance a share of a grid refers to
_ROUND = np.array([1.0, 2.0, 5.0, 10.0])


class DisclosureWarning(SchemaWarning):
    """Answers may hold what people of the table would not tell."""


@public
@dataclass(frozen=True)
class Disclosure:
    """What an option must not give away. 0 or None: nothing is asked for.

    crowd: each value that an option sets is held by at least so many people of the problem's table, read to the
    feature's step. together: so many hold all of them at once. grid: numbers are set on a public grid: its step
    for each feature as {name: step}, or as a share of where most people lie (5 to 95 %), made a round number.
    beyond: options lie beyond the boundary by this much and up to twice as much, by chance but always the same for
    the same person; log-odds, for a regression its unit. epsilon, delta: methods that start from observed people start
    from made-up ones, (epsilon, delta)-differentially private towards the table (`density.private.private_people`,
    which bounds are given on to); each problem that is made so spends the budget again. The model, the cost's scales
    and a crowd's counts are no part of that. noise_seed: what both kinds of chance hang on, to be kept secret, as
    whoever knows it can take them away: ``secrets.randbits(64)``, the same for all who are served; left out, drawn for
    each Disclosure, and whoever is answered under many of them sees where the boundary is.

    Example: ``Problem(..., disclosure=Disclosure(crowd=5, grid=0.05, beyond=0.2))``. Raises: ProblemError.
    """

    crowd: int = 0
    together: bool = False
    grid: float | Mapping[str, float] | None = None
    beyond: float = 0.0
    epsilon: float = 0.0
    delta: float = 1e-6
    bounds: Mapping[str, tuple[float, float]] | None = None
    noise_seed: int | None = field(default=None, repr=False)
    _drawn: int = field(default_factory=lambda: secrets.randbits(64), repr=False, compare=False)
    _crowd: Crowd | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_whole(self.crowd):
            raise ProblemError(
                f"crowd={shown(self.crowd)} is no number of people. Use a whole number, such as 5."
            )
        require_switch(self.together, "together", ProblemError)
        if not is_number(self.beyond) or self.beyond < 0:
            raise ProblemError(
                f"beyond={shown(self.beyond)} is no distance. Use 0 or more, such as 0.2 in log-odds."
            )
        if not is_number(self.epsilon):
            raise ProblemError(
                f"epsilon={shown(self.epsilon)} is no budget of privacy. Use a number such as 1."
            )
        Accountant(self.epsilon or 1.0, self.delta)
        check_bounds(self.bounds)
        check_noise_seed(self.noise_seed)
        steps: list[Any] = [*self.grid.values()] if isinstance(self.grid, Mapping) else [self.grid]
        for step in () if self.grid is None else steps:
            if not (is_number(step) and step > 0):
                raise ProblemError(
                    f"grid={shown(self.grid)} holds no step above zero. Use a share such as 0.05, or {{name: step}}."
                )

    def on_grid(self, schema: Schema, reference: np.ndarray | None) -> Schema:
        """Return the schema with the steps of the grid; multiples of the steps that it has. Raises: ProblemError."""
        if self.grid is None:
            return schema
        if isinstance(self.grid, Mapping):
            unknown = [name for name in self.grid if name not in schema.names or schema[name].has_levels]
            if unknown:
                raise ProblemError(f"grid has an entry for '{unknown[0]}', which is no number of the schema.")
            wanted = dict(self.grid)
        else:
            if reference is None:
                raise ProblemError("A grid as a share needs observed people: Problem(..., data=train).")
            number = np.flatnonzero(~(schema.has_levels | schema.carried) & ~np.isnan(reference).all(0))
            ends = np.nanquantile(reference[:, number], _ENDS, axis=0)
            wanted = {
                schema.names[j]: _round_step(self.grid * width)
                for j, width in zip(number, ends[1] - ends[0], strict=True)
                if width > 0
            }
        changes = {}
        for name, step in wanted.items():
            feature = schema[name]
            step = step if feature.step is None else max(1.0, round(step / feature.step)) * feature.step
            changes[name] = {"step": step}
            if (
                feature.bounds == "observed"
            ):  # the grid counts from the least value, which is one person's own
                changes[name] |= {
                    end: float(round(to(value / step) * step, 12))
                    for end, value, to in (("low", feature.low, np.floor), ("high", feature.high, np.ceil))
                    if value is not None
                }
        return schema.revise(changes)

    def fit(self, problem: Problem) -> Disclosure:
        """Return a copy that knows which values crowds of the problem's people hold. Raises: ProblemError."""
        schema = problem.schema
        check_bounds(self.bounds, schema)
        if not self.crowd:
            return self
        rows = schema.round(problem.require_reference())
        return replace(self, _crowd=Crowd.of(schema, rows, int(self.crowd), self.together))

    def starts(self, schema: Schema, reference: np.ndarray) -> np.ndarray:
        """Return whom methods start from in the place of observed people (N, d): made-up ones, or the same."""
        if not self.epsilon:
            return reference
        return private_people(
            schema, reference, self.epsilon, delta=self.delta, bounds=self.bounds, seed=self.noise_seed
        )

    def conditions(self) -> tuple[Robust, ...]:
        """Return what the judge asks of every option."""
        crowd = (InCrowd(int(self.crowd), self.together, self._crowd),) if self.crowd else ()
        secret = self._drawn if self.noise_seed is None else self.noise_seed
        return crowd + ((Beyond(float(self.beyond), secret),) if self.beyond else ())

    def more_options(self, people: Population, action: Actions) -> np.ndarray:
        """(n, k, d) -> (n, 2k, d): proposals, and the same with numbers moved on to the next value of a crowd."""
        if self._crowd is None:
            return action
        who, slot = np.nonzero(~np.isnan(action).all(2))
        rows, number = action[who, slot], ~people.schema.has_levels
        moved = self._crowd.beyond(np.where(number, rows, np.nan), people.x[who])
        further = np.full(action.shape, np.nan)
        further[who, slot] = np.where(number, moved, rows)
        return np.concatenate([action, further], axis=1)

    def tells(self, problem: Problem, before: Rows, row: Rows) -> Mask:
        """(m,) bool: what rows have else than the people before (m, d) may be told, as if an option set it."""
        own = np.where(problem.schema.differs(row, before), row, np.nan)
        allowed = np.ones(len(row), dtype=bool)
        for condition in self.conditions():
            allowed[allowed] = condition.holds(problem, before[allowed], own[allowed], row[allowed])
        return allowed

    def held(self, feature: int) -> np.ndarray | None:
        """Return the values of a feature that a crowd has; None if no crowd is asked for."""
        return None if self._crowd is None else self._crowd.held[feature]

    def told_on_the_way(self, problem: Problem, before: Rows, points: np.ndarray) -> np.ndarray:
        """(m, s, d) -> (m, s', d): points on the way to options, NaN after each last one, without those of which some
        value, or all at once, is no crowd's. The last is the option itself, which was judged."""
        if self._crowd is None:
            return points
        there = ~np.isnan(points).all(2)
        who, step = np.nonzero(there)
        at = points[who, step]
        own = np.where(problem.schema.differs(at, before[who]), at, np.nan)
        in_crowd = InCrowd(int(self.crowd), self.together, self._crowd).holds(problem, before[who], own, at)
        allowed = in_crowd | (step == there.sum(1)[who] - 1)
        who, at = who[allowed], at[allowed]
        place = rank_in_run(who)
        out = np.full((len(points), int(place.max(initial=0)) + 1, points.shape[2]), np.nan)
        out[who, place] = at
        return out

    def describe(self) -> str:
        """Return the conditions in words, in the language in use."""
        parts = [condition.text() for condition in self.conditions()]
        if self.grid is not None:
            parts.append(gettext("numbers on a public grid"))
        if self.epsilon:
            parts.append(
                gettext(
                    "starts from made-up people, private with epsilon {epsilon}, delta {delta}",
                    epsilon=f"{self.epsilon:g}", delta=f"{self.delta:g}",
                )
            )  # fmt: skip
        return "; ".join(parts) or gettext("nothing is held back")


@dataclass(frozen=True, eq=False)
class InCrowd(Robust):
    """Set no value that fewer than so many people of the table hold. See `Disclosure`."""

    name: ClassVar[str] = "crowd"

    least: int
    together: bool = False
    crowd: Crowd | None = field(default=None, repr=False)

    def measure(self, problem: Problem, before: Rows, action: Rows, after: Rows) -> PerRow:
        """(m,) people who hold the rarest value that is set, or all of them at once; 0 for less than a crowd."""
        assert self.crowd is not None
        set_ = np.where(problem.schema.differs(action, before), action, np.nan)
        if self.together:
            return self.crowd.jointly(set_).astype(np.float64)
        held = np.where(np.isnan(set_), np.inf, self.crowd.values(set_))
        return np.asarray(held.min(1))

    def holds(self, problem: Problem, before: Rows, action: Rows, after: Rows) -> Mask:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= self.least)

    def score(self, people: Population, who: Who, after: Rows, action: Rows | None, plain: PerRow) -> PerRow:
        """See `Robust`; without the action nobody knows what was set, and the score stays."""
        if action is None:
            return plain
        good = self.holds(people.problem, people.x[who], action, after)
        return np.asarray(np.where(good, plain, np.minimum(plain, -1.0)))

    def describe(self) -> str:
        """See `Robust`."""
        what = "all values at once" if self.together else "each value"
        return f"{what} held by {self.least} people or more"

    def text(self) -> str:
        """See `Robust`."""
        if self.together:
            return gettext("all values at once held by {least} people or more", least=self.least)
        return gettext("each value held by {least} people or more", least=self.least)


@dataclass(frozen=True, eq=False)
class Beyond(Robust):
    """Lie beyond the boundary by a distance that chance draws for each person, so that no answer points at it."""

    name: ClassVar[str] = "beyond"

    least: float
    secret: int = field(repr=False)

    def _distance(self, before: Rows) -> PerRow:
        """(m,) how far beyond: once to twice `least`, by the person's own row and what nobody else knows."""
        return np.asarray(
            self.least * (1 + spread_evenly(keys_of(before, self.secret ^ _TAG), 1, 1)[0, :, 0])
        )

    def measure(self, problem: Problem, before: Rows, action: Rows, after: Rows) -> PerRow:
        """(m,) score of the rows less what is asked of the person."""
        return np.asarray(problem.bound_target.score(problem.model.outputs(after)) - self._distance(before))

    def holds(self, problem: Problem, before: Rows, action: Rows, after: Rows) -> Mask:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= 0)

    def score(self, people: Population, who: Who, after: Rows, action: Rows | None, plain: PerRow) -> PerRow:
        """See `Robust`."""
        return np.asarray(plain - self._distance(people.x[who]))

    def describe(self) -> str:
        """See `Robust`."""
        return f"beyond the boundary by {self.least:g} to {2 * self.least:g}"

    def text(self) -> str:
        """See `Robust`."""
        return gettext(
            "beyond the boundary by {least} to {most}", least=f"{self.least:g}", most=f"{2 * self.least:g}"
        )


def _round_step(width: float) -> float:
    """Return the round number 1, 2 or 5 times a power of ten that is nearest to a width, by ratio."""
    power = 10.0 ** np.floor(np.log10(width))
    step = _ROUND * power
    return float(f"{step[np.abs(np.log(step / width)).argmin()]:.12g}")


__all__ = ["Beyond", "Disclosure", "DisclosureWarning", "InCrowd"]
