"""People seen as their codes: a search over features that are the latent ones, whose every row is decoded first.

What a code says is decoded, made legal for the person and evaluated in the problem itself, so that searches and
surrogates which know rows of features alone work in a latent space as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wayforward.problem.population import Evaluated, Population
from wayforward.schema import Feature, Schema
from wayforward.shapes import Floats, Mask, People, PerRow, Rows, Who

if TYPE_CHECKING:
    from wayforward.methods.engines.latent.search import Latent
    from wayforward.problem.population import Worth


class CodeSpace:
    """The codes of observed people (N, q) and what they span.

    schema: of codes, one number a dimension, as far as these people's codes reach. floor: how likely a row has to be to
    the generator, so that a share `rare` of the observed people would not be; -inf for any row.
    """

    def __init__(self, latent: Latent, observed: People, rare: float) -> None:
        self.latent, self.codes = latent, latent.encode(observed)
        low, high = self.codes.min(0), self.codes.max(0)
        high = np.where(high > low, high, low + 1.0)
        self.schema = Schema(
            tuple(
                Feature(name=f"z{j + 1}", kind="real", low=float(low[j]), high=float(high[j]))
                for j in range(self.codes.shape[1])
            )
        )
        self.spread = np.maximum(self.codes.std(0), 1e-6)
        self.floor = -np.inf
        if rare > 0:
            self.floor = float(np.quantile(latent.generator.log_bound(observed, draws=1), rare))

    def population(self, people: Population) -> CodedPopulation:
        """Return people as their codes."""
        return CodedPopulation(self, people)


class CodedPopulation(Population):
    """n people as codes x (n, q): an action sets latent coordinates. people: the same, as they are.

    free (n, d) and the rules are those of the people; model rows are counted with them. A cost is the distance of
    codes, in deviations.
    """

    def __init__(self, space: CodeSpace, people: Population) -> None:
        self.space, self.people, self.problem = space, people, people.problem
        self.schema, latent = space.schema, space.latent
        self.x = np.clip(latent.encode(people.x), self.schema.low, self.schema.high)
        self.n, self.d = self.x.shape
        self.acts = people.free & ~(np.isnan(people.x) & latent.numbers)  # a missing number stays missing
        self.wishes = None
        self.max_changes = np.full(self.n, self.d)
        self.low, self.high = (
            np.repeat(end[None], self.n, axis=0) for end in (self.schema.low, self.schema.high)
        )
        self.levels = np.ones((self.n, 0), dtype=bool)
        self.free: Mask = np.repeat(self.acts.any(1)[:, None], self.d, axis=1)
        self._start()
        self.rows = people.rows

    def snap(self, who: Who, action: Rows) -> Rows:
        """See `Population.snap`."""
        return np.where(self.free[who], np.clip(action, self.low[who], self.high[who]), np.nan)

    def decoded(self, who: Who, action: Floats) -> Rows:
        """(m, q) -> actions (m, d) of the people themselves."""
        z = np.where(np.isnan(action), self.x[who], action)
        return self.space.latent.decoded(self.people, who, self.acts[who], z)

    def evaluate(self, who: Who, action: Floats, worth: Worth | None = None) -> Evaluated:
        """See `Population.evaluate`; rows that are less likely than the floor count as forbidden."""
        seen = self.people.evaluate(who, self.decoded(who, action), worth)
        if np.isneginf(self.space.floor):
            return seen
        odd = self.space.latent.generator.log_bound(seen.after, draws=1) < self.space.floor
        score = np.where(odd, -np.inf, seen.score)
        return replace(seen, allowed=seen.allowed & ~odd, score=score, reached=seen.reached & ~odd)

    def cost(self, who: Who, action: Rows) -> PerRow:
        """(m, q) -> (m,)."""
        return np.asarray(np.abs(np.nan_to_num(action - self.x[who]) / self.space.spread).sum(1))
