"""action-sequences: the cheapest acts one after another, each of which makes the next one possible."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.act_search import ActSearch, GoalSearch, Sequences, own_of
from wayforward.methods.settings import check_whole
from wayforward.public import public
from wayforward.schema.acts import ActModel
from wayforward.shapes import Actions, People, PersonMask

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.recourse import Recourse
    from wayforward.streams import Streams


@public
@dataclass
class ActionSequences(Method):
    """Look for the cheapest sequence of acts whose end state turns the decision.

    Acts come from `acts`: what each sets or moves, what must hold before it and after it, what it costs, how long it
    takes, and what it makes cheaper (`wayforward.schema.acts`). Each act is done once at most, by a person who may act
    on all that it changes; what is set stays set. All people's sequences grow by one act at a time: states that are
    reached by the same acts for less are kept, sequences that cost more than the k-th that is known are dropped, and
    where there are more than the budget pays for, those that gain most score per cost and the cheapest go on. Where
    none had to go, every order of the acts was looked at. How far each act goes is then taken back, act by act, as far
    as the decision and all conditions hold. Options are of different acts, the cheapest sequences proposed;
    `Recourse.cost` is the problem's cost of what has changed at the end, `Recourse.steps` names the acts in order,
    `Recourse.path` holds the state after each, and `Recourse.months` counts one act after the other.

    acts: `ActModel`, the file or the list that it is read from, or None for one act a feature. most: acts in a
    sequence. grid: values tried where an act moves a feature, to each side. keep: states of a person that go on; None
    for what the budget pays for.
    Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method=ActionSequences(ActModel.from_yaml("acts.yaml", schema)), k=3)``.
    Source: G. Ramakrishnan, Y. C. Lee, A. Albarghouthi (2020), Synthesizing Action Sequences for Modifying Model
    Decisions, AAAI; arXiv:1910.00057. What an act makes cheaper: P. Naumann, E. Ntoutsi (2021), Consequence-Aware
    Sequential Counterfactual Generation, ECML PKDD; arXiv:2104.05592. The published searches extend one sequence of one
    person at a time and descend along gradients; here all grow together, for any model.
    """

    name: ClassVar[str] = "action-sequences"
    summary: ClassVar[str] = "the cheapest acts one after another, each of which makes the next one possible"
    citation: ClassVar[str] = "Ramakrishnan, Lee & Albarghouthi (2020), AAAI; arXiv:1910.00057"

    acts: ActModel | list[dict[str, Any]] | str | Path | None = None
    most: int = 4
    grid: int = 8
    keep: int | None = None

    def __post_init__(self) -> None:
        self._found: list[Sequences] = []  # of one call, see `_chunk`
        check_whole(self, most=1, grid=1)
        if self.keep is not None:
            check_whole(self, keep=1)
        known = self.acts is None or isinstance(self.acts, (ActModel, str, Path))
        if not known and not (
            isinstance(self.acts, list) and all(isinstance(act, dict) for act in self.acts)
        ):
            raise MethodError(
                f"'{self.name}' has acts of type {type(self.acts).__name__}. Give an ActModel, "
                "wayforward.schema.acts.ActModel.from_yaml('acts.yaml', schema), the file, or what it holds."
            )

    def _fit(self, problem: Problem) -> None:
        acts: Any = self.acts
        if acts is None:
            acts = ActModel.of_schema(problem.schema)
        elif isinstance(acts, list):
            acts = ActModel.from_plain(acts, problem.schema)
        elif not isinstance(acts, ActModel):
            acts = ActModel.from_yaml(acts, problem.schema)
        if acts.schema != problem.schema:  # as files and copies hold it, with other rules or bounds
            acts = ActModel(list(acts), problem.schema)
        self.acts_ = acts

    @property
    def _judge_shortens(self) -> bool:
        return (
            False  # it knows no order: an act that the decision does not need may make another one possible
        )

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        search = ActSearch(people, self.acts_, k, self.most, self.grid, shorten=self._shortens)
        limit = budget.rows_or(20_000)
        found = search.run(self.keep or max(1, limit // (self.most * search.width)), limit)
        self._found.append(found)
        return found.actions(people.n, k)

    def _search_refused(
        self, everyone: Population, refused: PersonMask, k: int, seed: int, budget: Budget
    ) -> tuple[Actions, PersonMask]:
        """Return what the search found, less what was changed since: no option without a sequence that leads there."""
        action, proved = super()._search_refused(everyone, refused, k, seed, budget)
        if not self._found:
            return action, proved
        who, option = np.nonzero(~np.isnan(action).all(2))
        own = own_of(everyone.x, everyone.wishes)
        known = Sequences.joined(self._found).which(own[who], action[who, option]) >= 0
        action[who[~known], option[~known]] = np.nan
        return action, proved

    def _chunk(self, x: People, wishes: Preferences | None, k: int, seed: int, budget: Budget) -> Recourse:
        walker = copy.copy(self)  # so that two calls at once do not mix their sequences
        walker._found = []
        got = Method._chunk(walker, x, wishes, k, seed, budget)
        if not walker._found:  # nobody was searched for
            return got
        found = Sequences.joined(walker._found)
        who, slot = np.nonzero(got.found)
        at = found.which(own_of(x, wishes)[who], got.action[who, slot])
        return self._named(got, found, who, slot, at)

    def walked(self, answer: Recourse) -> Recourse:
        """Return an answer's first options with the cheapest sequence of acts that leads to each: `steps`, `path`,
        `months`. An option to which none leads, or only one that the person refuses, has no steps.
        """
        assert answer.problem is not None
        action = np.where(answer.found[:, :1], answer.action[:, 0], np.nan)
        people = answer.problem.population(answer.x, answer.preferences)
        found = GoalSearch(people, self.acts_, self.most, action).found()
        first = np.zeros_like(found.person)
        return self._named(answer, found, found.person, first, np.arange(len(first)))

    def _named(
        self, got: Recourse, found: Sequences, who: np.ndarray, slot: np.ndarray, at: np.ndarray
    ) -> Recourse:
        """Write sequences at (m,) into the options who (m,), slot (m,)."""
        path = np.full((*got.action.shape[:2], self.most, got.d), np.nan)
        months, steps = got.months.copy(), np.full(got.action.shape[:2], "", dtype=object)
        path[who, slot] = found.path[at]
        names = np.array([*(act.name for act in self.acts_), ""], dtype=object)
        for i, o, acts in zip(who, slot, found.acts[at], strict=True):
            steps[i, o] = "\n".join(filter(None, names[acts]))
        if np.isfinite(found.months[at]).any() and found.months[at].any():
            months[who, slot] = found.months[at]
        return replace(got, path=path, steps=steps, months=months)

    def parameters(self) -> dict[str, Any]:
        """Return the method's settings as plain data, with the acts."""
        plain = self.acts.to_plain() if isinstance(self.acts, ActModel) else self.acts
        acts = {"acts": plain} if isinstance(plain, list) else {}
        return super().parameters() | acts
