"""One question after another to n people at once, until each has the plan that they want.

An *elicitor* is a way of asking (HARE, PEAR, a learner). `begin` gives a *session*: the state of n conversations in
lockstep. A session shows its questions (`pending`), takes the replies (`answer`), and always knows the best plan so far
(`best`). Whether a plan is allowed and sufficient is for the problem to judge, as everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from wayforward.errors import MethodError, is_list, is_number, numbers_in, shown
from wayforward.lazy import Renamed, renamed_names
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints, People, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wayforward.methods import Method
    from wayforward.preferences.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.recourse import Recourse

CANNOT_SAY = -1  # a reply to any question


class Kind(IntEnum):
    """What a person is asked now."""

    DONE = 0  # nothing any more
    CHOOSE = 1  # which of these plans would you rather carry out? reply: its number
    ACCEPT = 2  # is this plan good enough? reply: 1 yes, 0 no


@public
@dataclass(frozen=True)
class Questions:
    """One question to each of n people, with c options at most.

    kind (n,) of `Kind`. action (n, c, d): what an option asks to do, NaN where left alone. after (n, c, d): where it
    leads; all NaN where there is no such option. ACCEPT asks about option 0. order (n, c, d): where the acts come one
    after another, the place of each (0 first, -1 for no act); None where a plan is one step.
    """

    kind: np.ndarray
    action: Actions
    after: Actions
    order: np.ndarray | None = None

    @property
    def exists(self) -> np.ndarray:
        """(n, c) bool: there is such an option."""
        return np.asarray(~np.isnan(self.after).all(2))


@public
class Session(ABC):
    """The state of n conversations. people: who they are and what they may do; x, preferences inside.

    questions (n,): how many have been asked and answered so far. seed: of every random choice; a person's questions
    depend on it, on their own row and on their own replies only.
    """

    people: Population
    questions: np.ndarray
    seed: int

    @property
    @abstractmethod
    def pending(self) -> Questions:
        """The questions on the table; the same until they are answered."""

    @abstractmethod
    def answer(self, reply: np.ndarray, wishes: Preferences | None = None) -> None:
        """Take replies (n,) int: option numbers, CANNOT_SAY, or for ACCEPT 1 and 0; those who are done are ignored.
        `checked_replies` reads them. Raises: MethodError for a reply that fits no option; nothing is taken then.

        wishes: everybody's limits from now on, where a reply brought new ones; a plan that breaks them is never
        shown again, and a best plan that breaks them is replaced.
        """

    @property
    @abstractmethod
    def best(self) -> Rows:
        """(n, d) each person's best plan so far, as an action; all NaN where there is none."""

    def recourse(self) -> Recourse:
        """Judge the best plans."""
        problem = self.people.problem
        return problem.check(self.people.x, self.best[:, None, :], 1, preferences=self.people.preferences)

    asked = Renamed("pending")

    def learned(self) -> dict[str, Any] | None:
        """Return what is believed about each person, as arrays of n, or None if the session keeps no such thing.

        'wanted' (n, d): the profile it takes for ideal. 'reluctance' (n, d): how much a person minds a change of each
        feature over its range, relative to their mean.
        """
        return None

    def stored(self) -> dict[str, Any] | None:
        """Return a session of one person as plain data for `Elicitor.resume`; None if only its replies bring it back.

        'found' in it is a list that only grows during a session.
        """
        return None


@public
class Elicitor(ABC):
    """A way of asking. Subclasses are dataclasses whose fields are its parameters.

    `wayforward.testing.ElicitorContract` holds what must be true of each.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str] = ""
    alone_first: ClassVar[bool] = True  # a dialogue shows the first plan alone before the session's questions

    problem_: Problem

    @abstractmethod
    def fit(self, problem: Problem) -> Self:
        """Prepare what all people share; fits the base method. `_take` keeps the problem."""

    def _take(self, problem: Problem) -> None:
        """Keep the problem to fit to. Raises: MethodError for what is none."""
        from wayforward.problem import Problem

        if not isinstance(problem, Problem):
            raise MethodError(
                f"'{self.name}' cannot be fitted to a {type(problem).__name__}. Give a Problem: elicitor.fit(problem)."
            )
        self.problem_ = problem

    def _fitted_problem(self) -> Problem:
        if not hasattr(self, "problem_"):
            raise MethodError(
                f"'{self.name}' knows no problem yet. Fit it to a problem first: elicitor.fit(problem)."
            )
        return self.problem_

    @abstractmethod
    def begin(
        self,
        x: People,
        start: Rows | None = None,
        *,
        preferences: Preferences | None = None,
        seed: int = 0,
    ) -> Session:
        """Open a session with n people whom the model refuses. start (n, d): their first plans as actions, where they
        are known already; left out, the base method makes them. Who has no plan to start from is done at once.
        """

    def attach(self, problem: Problem) -> Self:
        """Take the problem of a session that `resume` opens; whatever only a search needs may be fitted later."""
        return self.fit(problem)

    def resume(
        self, x: People, stored: dict[str, Any], *, preferences: Preferences | None = None, seed: int = 0
    ) -> Session:
        """Open a session with one person as `Session.stored` described it, with nothing searched again."""
        raise MethodError(f"'{self.name}' stores no sessions; give the replies again.")


@public
class BaseElicitor(Elicitor):
    """An elicitor around a method that makes first plans: a dataclass with `base` and `base_parameters`.

    starts: how many plans of the base method a session begins with.
    """

    starts: ClassVar[int] = 1
    base: str | Method
    base_parameters: dict[str, Any] | None

    def fit(self, problem: Problem) -> Self:
        """Fit the base method. Raises: UnsupportedModel, ProblemError from it."""
        vars(self).pop("base_", None)
        self._take(problem)
        self.base_  # noqa: B018  what it raises is raised here
        return self

    @cached_property
    def base_(self) -> Method:
        """The base method, fitted to the problem when it is first asked for."""
        return fitted_base(self.base, self.base_parameters, self.problem_)

    def begin(
        self,
        x: People,
        start: Floats | None = None,
        *,
        preferences: Preferences | None = None,
        seed: int = 0,
    ) -> Session:
        """See `Elicitor.begin`. Raises: MethodError before `fit`, and for start plans of another shape."""
        problem = self._fitted_problem()
        people = problem.population(problem.schema.encode(x), preferences)
        plans = first_plans(self.base_, people.x, start, preferences, seed, self.starts)
        return self._session(people, plans, seed)

    @abstractmethod
    def _session(self, people: Population, plans: Actions, seed: int) -> Session:
        """Open a session with people whose first plans are plans (n, starts, d); NaN where there is none."""


def fitted_base(base: str | Method, parameters: Mapping[str, Any] | None, problem: Problem) -> Method:
    """Return the method that makes first plans, fitted to the problem if it is not yet; by its name alone, once."""
    from wayforward.methods import method

    if (
        isinstance(base, str) and not parameters
    ):  # copies share with their problem, whose method is not theirs
        chosen = problem.shared(("dialogue", "method", base), lambda: method(base).fit(problem))
        chosen = chosen if chosen.problem_ is problem else method(base)
    else:
        chosen = method(base, **(parameters or {})) if isinstance(base, str) else base
    return chosen if getattr(chosen, "problem_", None) is problem else chosen.fit(problem)


def first_plans(
    base: Method,
    x: People,
    start: Floats | None,
    preferences: Preferences | None,
    seed: int,
    k: int = 1,
) -> Actions:
    """Return the plans (n, k, d) that sessions begin with: those given (n, d) as actions, else k of the base method.

    Raises: MethodError for start plans of another shape than the people.
    """
    if start is None:
        return base.recommend(x, k, preferences=preferences, seed=seed).action
    plans = numbers_in(start, "start", MethodError)
    if plans.shape != x.shape:
        raise MethodError(f"start has shape {plans.shape}; give one action for each person: {x.shape}.")
    return plans[:, None, :]


class Respondent(Protocol):
    """Somebody who answers: simulated people, or a screen."""

    def reply(self, questions: Questions) -> np.ndarray:
        """Return replies (n,), one to each question; anything for those who are done."""
        ...


@public
def converse(session: Session, people: Respondent, *, most: int = 1000, each: Any = None) -> Session:
    """Ask and answer until everybody is done, or `most` questions were put. each: called with the session after each.

    Raises: MethodError if a reply is not one of the options.
    """
    for _ in range(most):
        questions = session.pending
        if (questions.kind == Kind.DONE).all():
            break
        session.answer(checked_replies(questions, people.reply(questions)))
        if each is not None:
            each(session)
    return session


def checked_replies(questions: Questions, reply: object) -> Ints:
    """Return the replies (n,), if each fits its question; CANNOT_SAY for those who are done, whatever theirs is.

    Raises: MethodError naming the first that fits none: no whole number, or one that is no option.
    """
    if is_list(reply) and not isinstance(reply, np.ndarray):
        given = np.fromiter(reply, dtype=object)  # each as it is: one text would make texts of all
    else:
        given = np.asarray(reply)
    if given.shape != questions.kind.shape:
        raise MethodError(
            f"There are {len(questions.kind)} questions and replies of shape {given.shape}. Give one to each."
        )
    number = given
    if given.dtype.kind not in "biuf":
        fits = [is_number(one) or isinstance(one, (bool, np.bool_)) for one in given]
        number = np.where(fits, given.astype(object), np.nan)
    number = number.astype(np.float64)
    many = np.where(questions.kind == Kind.ACCEPT, 2, questions.exists.sum(1))
    open_ = questions.kind != Kind.DONE
    option = (number >= 0) & (number < many) & (number == np.floor(number))
    wrong = open_ & (number != CANNOT_SAY) & ~option
    if wrong.any():
        i = int(wrong.argmax())
        asked = (
            "1 for yes or 0 for no" if questions.kind[i] == Kind.ACCEPT else f"one from 0 to {many[i] - 1}"
        )
        raise MethodError(
            f"Reply {shown(given.tolist()[i])} fits no option of the question to person {i}. Give a whole number: "
            f"{asked}, or {CANNOT_SAY} for 'cannot say'."
        )
    return np.where(open_, number, CANNOT_SAY).astype(np.int64)


__getattr__ = renamed_names(__name__, Talk="Session", Asked="Questions", Answers="Respondent")
