"""People who know what they want, for experiments: they answer questions by a truth that nobody tells the library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from wayforward.errors import PreferencesError
from wayforward.lazy import renamed_names
from wayforward.people.elicitor import CANNOT_SAY, Kind, Questions
from wayforward.problem import Population
from wayforward.public import public
from wayforward.shapes import PerRow, Rows
from wayforward.streams import Streams

__getattr__ = renamed_names(__name__, Noise="ReplyNoise")


@public
@dataclass(frozen=True)
class ReplyNoise:
    """How people err.

    flip: share of comparisons answered the wrong way round (of several options, one of the others is taken at
    random). kappa: Bradley-Terry, the chance to choose an option falls as exp(-kappa x dislike); None: no such noise.
    lazy: share of questions shrugged off ('cannot say'). fickle: share of questions where the first option is taken
    unread. Where several apply to one question, fickle overrules the first two and lazy all of them.
    Raises: PreferencesError for a number that is no share, or a kappa of 0 or less.
    Example: ``IdealProfile(people, wanted, noise=ReplyNoise(flip=0.1, lazy=0.05))``.
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

    def __init__(
        self, people: Population, noise: ReplyNoise | None, satisfied: float | None, seed: int
    ) -> None:
        self.people, self.noise = people, ReplyNoise() if noise is None else noise
        self.satisfied = satisfied
        self.streams, self.turn = Streams.of(people.x, seed), 0

    @abstractmethod
    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """who (m,), action and after (m, d) -> (m,) how much each person dislikes the plan; less is better."""

    def dislikes(self, questions: Questions) -> np.ndarray:
        """(n, c) dislike of every option that is shown; inf where there is none."""
        n, c, d = questions.after.shape
        who = np.repeat(np.arange(n), c)
        dislike = self.dislike(who, questions.action.reshape(-1, d), questions.after.reshape(-1, d)).reshape(
            n, c
        )
        return np.where(questions.exists, dislike, np.inf)

    def reply(self, questions: Questions) -> np.ndarray:
        """(n,) what each person says."""
        self.turn += 1
        n, c, _ = questions.after.shape
        dislike = self.dislikes(questions)
        # Four draws for the errors come first, so that they do not hang on how many options others are shown.
        draw = self.streams.uniform(np.arange(n), c + 4, tag=0x51A0 + self.turn)
        flip, pick, fickle, lazy = draw[:, :4].T
        noise, weigh = self.noise, dislike
        if noise.kappa is not None:
            # The smallest of exponential waiting times with rates exp(-kappa x dislike): a Bradley-Terry choice.
            weigh = noise.kappa * dislike + np.log(-np.log(draw[:, 4:]))
        order = np.argsort(np.where(questions.exists, weigh, np.inf), axis=1, kind="stable")
        many = questions.exists.sum(1)
        place = np.floor(1 + pick * (many - 1)).astype(np.int64).clip(0, c - 1)
        wrong = (flip < noise.flip) & (many > 1)
        chosen = order[np.arange(n), np.where(wrong, place, 0)]
        chosen = np.where(fickle < noise.fickle, 0, chosen)
        chosen = np.where(lazy < noise.lazy, CANNOT_SAY, chosen)
        content = np.zeros(n, dtype=bool) if self.satisfied is None else dislike[:, 0] <= self.satisfied
        return np.where(questions.kind == Kind.ACCEPT, content.astype(np.int64), chosen)


@public
class IdealProfile(SimulatedPeople):
    """People with one profile in mind: the nearer a plan leads to it, the better.

    wanted (n, d): the profile, feature units; someone without one (NaN) always takes the first option. Distance is
    Euclidean in widths of the schema's ranges (a category: 1). later (n, d): people of changing taste; what they have
    in mind wanders in a straight line from `wanted`, before the first question, to `later`, from question `over` on,
    so that answers given early contradict late ones. satisfied: see `SimulatedPeople`.
    Source: the simulated users of HARE.
    Example: ``converse(session, IdealProfile(session.people, draw_wanted(problem, session.people)))``.
    """

    def __init__(
        self,
        people: Population,
        wanted: Rows,
        *,
        noise: ReplyNoise | None = None,
        satisfied: float | None = None,
        later: Rows | None = None,
        over: int = 30,
        seed: int = 0,
    ) -> None:
        from wayforward.evaluate.distance import euclidean_columns

        for name, rows in (("wanted", wanted), ("later", wanted if later is None else later)):
            if rows.shape != people.x.shape:
                raise PreferencesError(
                    f"'{name}' has shape {rows.shape}; there are {people.n} people and {people.d} features. Give one "
                    "profile a person."
                )
        if over < 1:
            raise PreferencesError(f"over={over} questions is no time to change one's mind. Give 1 or more.")
        super().__init__(people, noise, satisfied, seed)
        self.wanted, self.later, self.over = wanted, later, over
        self._place = euclidean_columns(people.schema, wanted)
        self._drift = 0.0 if later is None else euclidean_columns(people.schema, later) - self._place

    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """(m,) distance to the profile in mind now."""
        from wayforward.evaluate.distance import euclidean_columns

        place = self._place
        if self.later is not None:
            place = place + min(self.turn / self.over, 1.0) * self._drift
        apart = euclidean_columns(self.people.schema, after) - place[who]
        return np.asarray(np.sqrt(np.square(apart).sum(1)))


@public
class PersonalCost(SimulatedPeople):
    """People who find some changes harder than others: dislike is the problem's cost under secret weights (n, d)."""

    def __init__(
        self,
        people: Population,
        weight: Rows,
        *,
        noise: ReplyNoise | None = None,
        satisfied: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(people, noise, satisfied, seed)
        self.weight = weight

    def dislike(self, who: np.ndarray, action: Rows, after: Rows) -> PerRow:
        """(m,) cost of the acts under the person's own weights."""
        people = self.people
        return np.asarray(people.problem.cost.total(people.x[who], action, self.weight[who]))
