"""People who know what they want, for experiments: they answer questions by a truth that nobody tells the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from wayforward.errors import PreferencesError
from wayforward.people.talk import CANNOT_SAY, Asked, Kind
from wayforward.problem import Population
from wayforward.shapes import PerRow, Rows
from wayforward.streams import Streams


@dataclass(frozen=True)
class Noise:
    """How people err. flip: share of comparisons answered the wrong way round. kappa: Bradley-Terry, the chance to
    choose an option falls as exp(-kappa x dislike); None: no such noise. lazy: share of questions shrugged off
    ('cannot say'). fickle: share of questions where the first option is taken unread.
    """

    flip: float = 0.0
    kappa: float | None = None
    lazy: float = 0.0
    fickle: float = 0.0

    def __post_init__(self) -> None:
        for what in ("flip", "lazy", "fickle"):
            if not 0 <= getattr(self, what) <= 1:
                raise PreferencesError(
                    f"{what}={getattr(self, what)} is no share of answers. Give a number from 0 to 1."
                )
        if self.kappa is not None and not self.kappa > 0:
            raise PreferencesError(
                f"kappa={self.kappa} makes no Bradley-Terry user. Give a number above 0, or None for no noise."
            )


class SimulatedPeople(ABC):
    """n people with a truth of their own. satisfied: dislike up to which a plan is accepted; None: nothing ends early.

    A person's errors hang on the seed, on their row and on the number of the question, never on the batch.
    """

    def __init__(self, people: Population, noise: Noise | None, satisfied: float | None, seed: int) -> None:
        self.people, self.noise = people, Noise() if noise is None else noise
        self.satisfied = satisfied
        self.streams, self.turn = Streams.of(people.x, seed), 0

    @abstractmethod
    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """who (m,), action and after (m, d) -> (m,) how much each person dislikes the plan; less is better."""

    def dislikes(self, asked: Asked) -> np.ndarray:
        """(n, c) dislike of every option that is shown; inf where there is none."""
        n, c, d = asked.after.shape
        who = np.repeat(np.arange(n), c)
        dislike = self.dislike(who, asked.action.reshape(-1, d), asked.after.reshape(-1, d)).reshape(n, c)
        return np.where(asked.exists, dislike, np.inf)

    def reply(self, asked: Asked) -> np.ndarray:
        """(n,) what each person says."""
        self.turn += 1
        n, c, _ = asked.after.shape
        dislike = self.dislikes(asked)
        draw = self.streams.uniform(np.arange(n), c + 3, tag=0x51A0 + self.turn)
        noise = self.noise
        weigh = dislike.copy()
        if (
            noise.kappa is not None
        ):  # the smallest of exponentially disturbed dislikes: a Bradley-Terry choice
            weigh = noise.kappa * weigh + np.log(-np.log(draw[:, :c]))
        order = np.argsort(np.where(asked.exists, weigh, np.inf), axis=1, kind="stable")
        chosen = order[:, 0]
        many = asked.exists.sum(1)
        wrong = (draw[:, c] < noise.flip) & (many > 1)
        other = order[
            np.arange(n), np.clip(np.floor(1 + draw[:, c + 1] * (many - 1)), 0, c - 1).astype(np.int64)
        ]
        chosen = np.where(wrong, other, chosen)
        chosen = np.where(draw[:, c + 1] < noise.fickle, 0, chosen)
        chosen = np.where(draw[:, c + 2] < noise.lazy, CANNOT_SAY, chosen)
        content = np.zeros(n, dtype=bool) if self.satisfied is None else dislike[:, 0] <= self.satisfied
        return np.where(asked.kind == Kind.ACCEPT, content.astype(np.int64), chosen)


class IdealProfile(SimulatedPeople):
    """People with one profile in mind: the nearer a plan leads to it, the better.

    wanted (n, d): the profile, feature units. Distance is Euclidean in widths of the schema's ranges (a category: 1).
    Source: the simulated users of HARE.
    """

    def __init__(
        self,
        people: Population,
        wanted: Rows,
        *,
        noise: Noise | None = None,
        satisfied: float | None = None,
        seed: int = 0,
    ) -> None:
        from wayforward.evaluate.distance import euclidean_columns

        super().__init__(people, noise, satisfied, seed)
        self.wanted = wanted
        self._place = euclidean_columns(people.schema, wanted)

    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """(m,) distance to the profile in mind."""
        from wayforward.evaluate.distance import euclidean_columns

        apart = euclidean_columns(self.people.schema, after) - self._place[who]
        return np.asarray(np.sqrt(np.square(apart).sum(1)))


class PersonalCost(SimulatedPeople):
    """People who find some changes harder than others: dislike is the problem's cost under secret weights (n, d)."""

    def __init__(
        self,
        people: Population,
        weight: Rows,
        *,
        noise: Noise | None = None,
        satisfied: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(people, noise, satisfied, seed)
        self.weight = weight

    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """(m,) cost of the acts under the person's own weights."""
        people = self.people
        return np.asarray(people.problem.cost.total(people.x[who], action, self.weight[who]))
