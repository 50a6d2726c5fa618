"""A yes whichever of several causal worlds is the true one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from wayforward.errors import ProblemError, is_list
from wayforward.language import in_english, ngettext
from wayforward.problem.robust.base import Robust
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.world import World


@public
@dataclass(frozen=True, eq=False)
class AllWorlds(Robust):
    """A yes in the problem's world and in each of a list: graphs that data cannot tell apart, effects that are unsure.

    An option says what a person does; where it leads is another profile in each world. In each of them the profile must
    be legal, break no rule and be a yes. Personal limits are held to in the problem's own world.

    worlds: certain ones, over the problem's schema or bound to it here. `measure`: the share of the listed worlds in
    which the option is a yes. A search that does not say what is done (methods that think in profiles) takes whatever
    differs as done; the judge knows.

    Example: ``AllWorlds([LinearWorld.fit(graph, table, schema) for graph in orientations(known, unknown)])``.
    Raises: ProblemError for an empty list, and for worlds whose consequences are random; WorldError where one does not
    fit the schema.
    """

    name: ClassVar[str] = "all-worlds"

    worlds: Sequence[World]
    _bound: tuple[World, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_list(self.worlds):
            raise ProblemError(f"AllWorlds takes a list of worlds; got {type(self.worlds).__name__}.")
        object.__setattr__(self, "worlds", tuple(self.worlds))
        if not self.worlds:
            raise ProblemError("AllWorlds was given no world. Give one or more, besides the problem's own.")
        for place, world in enumerate(self.worlds):
            if not hasattr(world, "bind") or isinstance(world, type):
                raise ProblemError(f"World {place} of AllWorlds is {world!r:.60}, which is no world.")
            if world.uncertain:
                raise ProblemError(
                    f"World {place} of AllWorlds is unsure of what follows. Give certain worlds, or ask for a "
                    "confidence in that one."
                )

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        return self.with_state(_bound=tuple(world.bind(problem.schema) for world in self.worlds))

    def profiles(self, problem: Problem, before: np.ndarray, action: np.ndarray) -> list[np.ndarray]:
        """Where actions (m, d) lead people (m, d) in each listed world: (m, d) each."""
        led = [problem.consequences(before, action, world) for world in self._bound]
        return [problem.standing(before, after) for after in led]

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        problem, before = people.problem, people.x[who]
        if action is None:
            action = np.where(problem.schema.differs(after, before), after, np.nan)
        scores = [
            problem.bound_target.score(problem.model.outputs(rows)) - problem.slack
            for rows in self.profiles(problem, before, action)
        ]
        return np.asarray(np.min([plain, *scores], axis=0))

    def votes(self, problem: Problem, before: np.ndarray, action: np.ndarray) -> np.ndarray:
        """(worlds, m) bool: in which listed worlds actions (m, d) lead to a legal profile that is a yes."""
        schema, acted = problem.schema, ~np.isnan(action) & ~problem.soft
        out = []
        for rows in self.profiles(problem, before, action):
            good = (schema.legal(rows, acted=acted) | ~schema.differs(rows, before)).all(1)
            if schema.rules:
                good &= schema.compiled_rules.satisfied(before, rows)
            good[good] = problem.reached(rows[good])[0]
            out.append(good)
        return np.stack(out)

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.votes(problem, before, action).all(0))

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) share of the listed worlds in which the option is a yes."""
        return np.asarray(self.votes(problem, before, action).mean(0))

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return ngettext(
            "a yes in {n} other causal world, too", "a yes in {n} other causal worlds, too", len(self.worlds)
        )
