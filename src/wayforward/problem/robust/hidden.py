"""A yes even if causes that nobody measured lie behind what looks like an effect."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError, is_real, shown
from wayforward.language import gettext, in_english
from wayforward.problem.robust.base import Robust
from wayforward.problem.robust.worlds import AllWorlds
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.world.linear import LinearWorld

Pair = tuple[str, str]  # (cause, effect)

_MOST = 8  # pairs: their ends make 2 ** 8 worlds
_STEPS = 10  # of a bisection: a strength to a thousandth


@public
@dataclass(frozen=True, eq=False)
class HiddenCauses(Robust):
    """A yes although each effect that an option counts on may be due in part to a hidden common cause.

    In a linear world an effect was learnt by regression. A hidden cause of both the cause and the effect bends its
    weight, by at most ``strength / sqrt(1 - strength) x sd(effect) / sd(cause)``, where each sd is of what the other
    causes of the effect (and, for the effect, the cause itself) leave unexplained. strength: the share of that rest
    which the hidden cause explains of each of the two (a partial R squared), from 0 to below 1. pairs: the (cause,
    effect) that may be so; left out, all through which an action can lead; at most 8. Hidden causes of several pairs
    may be there at once. The person's own rest stays theirs: it is the weights that are unsure.

    `measure`: the greatest strength, to a thousandth, that a row bears. The worst case lies at the ends of the weights
    for scores that are linear in them; for other models the ends, and the weights as learnt, are what is asked.

    Example: ``Problem(..., world=LinearWorld.fit(graph, table, schema), robust=HiddenCauses(0.1))``.
    Raises: ProblemError for another strength, for pairs that are none, and for a world that is not a `LinearWorld`.
    Source: C. Cinelli & C. Hazlett (2020), Making sense of sensitivity, J. R. Stat. Soc. B 82(1), eqs. 5 to 7.
    """

    name: ClassVar[str] = "hidden-causes"

    strength: float
    pairs: Sequence[Pair] | None = None
    _unit: Mapping[Pair, float] = field(default_factory=dict, init=False, repr=False)
    _ends: AllWorlds | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        number = is_real(self.strength)
        if not number or not 0 <= self.strength < 1:
            raise ProblemError(
                f"strength={self.strength!r} is no share of what is unexplained. Give 0 or more, below 1, such as 0.1."
            )
        if self.pairs is not None:
            listed = isinstance(self.pairs, Sequence) and not isinstance(self.pairs, str)
            pairs = [p for p in self.pairs if isinstance(p, (tuple, list)) and len(p) == 2] if listed else []
            if (
                not pairs
                or len(pairs) != len(self.pairs)
                or not all(isinstance(n, str) for p in pairs for n in p)
            ):
                raise ProblemError(
                    f"pairs={shown(self.pairs)} are none. Give [(cause, effect)], names of features."
                )
            object.__setattr__(self, "pairs", tuple(tuple(pair) for pair in pairs))

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        from wayforward.world.linear import LinearWorld

        world = problem.world
        if not isinstance(world, LinearWorld):
            raise ProblemError(
                "HiddenCauses asks how far a regression may be wrong. Give the problem a world from LinearWorld.fit."
            )
        pairs = _pairs(problem, world) if self.pairs is None else self.pairs
        for pair in pairs:
            if pair not in world.graph.edges:
                raise ProblemError(f"HiddenCauses: {pair!r} is no (cause, effect) of the world's graph.")
            if problem.schema[pair[0]].kind == "categorical":
                raise ProblemError(
                    f"HiddenCauses: '{pair[0]}' is categorical, and has no one weight. Leave it out of pairs."
                )
        if not pairs or len(pairs) > _MOST:
            raise ProblemError(
                f"HiddenCauses found {len(pairs)} effects to be unsure of. Name 1 to {_MOST}: pairs=[(cause, effect)]."
            )
        rows = problem.require_reference()
        unit = {pair: _spread(world, rows, pair) for pair in pairs}
        fitted = self.with_state(_unit=unit)
        return fitted.with_state(_ends=fitted._worlds(problem, self.strength))

    def bias(self, pair: Pair, strength: float | None = None) -> float:
        """How far the weight of a pair may be off, units of the effect a unit of the cause. Of a fitted condition."""
        r = self.strength if strength is None else strength
        return self._unit[pair] * r / math.sqrt(1 - r)

    def _worlds(self, problem: Problem, strength: float) -> AllWorlds:
        """The worlds at the ends of all weights."""
        from wayforward.world.linear import LinearWorld

        world = problem.world
        assert isinstance(world, LinearWorld)
        worlds = []
        for signs in itertools.product((-1.0, 1.0), repeat=len(self._unit)):
            parts = dict(world.parts)
            for sign, (cause, effect) in zip(signs, self._unit, strict=True):
                part = parts[effect]
                moved = tuple(
                    w + sign * self.bias((cause, effect), strength) * (one == (cause, -1))
                    for one, w in zip(part.inputs, part.weights, strict=True)
                )
                parts[effect] = replace(part, weights=moved)
            worlds.append(LinearWorld(world.schema, world.graph, parts, world.report, world.soft))
        return AllWorlds(worlds).fit(problem)

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        assert self._ends is not None
        return self._ends.score(people, who, after, action, plain)

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        assert self._ends is not None
        return self._ends.holds(problem, before, action, after)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) the greatest strength that each row bears; 0 for one that is no yes as it is."""
        low, high = np.zeros(len(before)), np.ones(len(before))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            for strength in np.unique(middle):
                rows = np.flatnonzero(middle == strength)
                good = self._worlds(problem, float(strength)).holds(
                    problem, before[rows], action[rows], after[rows]
                )
                low[rows[good]], high[rows[~good]] = strength, strength
        return low

    def fingerprint(self, rows: np.ndarray) -> list[Any]:
        """See `Robust`."""
        return [self.name, self.describe(), {"strength": float(self.strength), "pairs": sorted(self._unit)}]

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext(
            "a yes even if hidden causes explain {strength} of what is unexplained",
            strength=f"{self.strength:g}",
        )


def _pairs(problem: Problem, world: LinearWorld) -> list[Pair]:
    """The pairs through which an action can lead, those with a nominal cause left out."""
    schema, moved = problem.schema, world.descendants
    at = {name: schema.index(name) for name in world.graph.names}
    able = schema.actionable
    return [
        (cause, effect)
        for cause, effect in world.graph.edges
        if schema[cause].kind != "categorical" and (able[at[cause]] or moved[able, at[cause]].any())
    ]


def _spread(world: LinearWorld, rows: np.ndarray, pair: Pair) -> float:
    """sd(effect given all causes) / sd(cause given the other causes): units of the effect a unit of the cause."""
    cause, effect = pair
    schema = world.schema
    assert schema is not None
    rows = rows[~np.isnan(rows).any(1)]
    others = [np.ones(len(rows))]
    for name, level in world.parts[effect].inputs:
        if name != cause:
            column = rows[:, schema.index(name)]
            others.append(column if level < 0 else (column == level) * 1.0)
    design, y = np.stack(others, axis=1), rows[:, schema.index(cause)]
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    sd = math.sqrt(rest @ rest / max(1, len(rows) - design.shape[1]))
    if sd <= 1e-12 * max(1.0, float(np.abs(y).max())):
        raise ProblemError(
            f"HiddenCauses: '{cause}' follows exactly from the other causes of '{effect}', so that no table tells its "
            "weight. Leave the pair out."
        )
    return world.report[effect]["noise_sd"] / sd
