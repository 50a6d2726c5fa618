"""fare: a policy that was trained on searches says act after act, for many people at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.action_sequences import ActionSequences
from wayforward.methods.base import Budget
from wayforward.methods.engines.act_policy import Policy, PolicyNet, StateCode, Traces, TreeSearch
from wayforward.methods.engines.act_search import ActSearch, States, place_within
from wayforward.methods.settings import check_whole
from wayforward.public import public
from wayforward.scaling import thinned
from wayforward.shapes import Actions, Floats

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Fare(ActionSequences):
    """Learn from searches on refused people of the table which act comes next; then answer without a search.

    Monte Carlo tree search plays `rounds` episodes for each of at most `learners` people, guided by a network of one
    hidden layer, which is fitted after each round to how often each act and argument was visited and to what came of it
    (.97 to the number of acts, less the more they cost; nothing where the decision stays). A person is then answered
    act after act: the `beam` likeliest sequences are gone on with until they turn the decision or have `most` acts.
    Acts, their order, how far each is taken back, and what is told are as in `action-sequences`, which searches for
    each person and finds cheaper sequences. Training asks the model without a budget.

    simulations: of the tree search before each act. seed: of the training; answers use no chance. beam: 1 is the
    published way. Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("fare").fit(problem).recommend(refused)``.
    Raises: ProblemError where the table has nobody who is refused.
    Source: G. De Toni, B. Lepri, A. Passerini (2023), Synthesizing explainable counterfactual policies for algorithmic
    recourse with program synthesis, Machine Learning; arXiv:2201.07135.
    """

    name: ClassVar[str] = "fare"
    summary: ClassVar[str] = (
        "acts one after another by a policy that was trained on searches, for many people at once"
    )
    citation: ClassVar[str] = "De Toni, Lepri & Passerini (2023), Machine Learning, arXiv:2201.07135"
    needs_data: ClassVar[bool] = True

    grid: int = 4
    learners: int = 100
    rounds: int = 3
    simulations: int = 10
    beam: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, learners=1, rounds=1, simulations=1, beam=1, seed=0)

    def _fit(self, problem: Problem) -> None:
        super()._fit(problem)
        problem.require_reference()
        known = problem.reference
        assert known is not None
        rows = known[~problem.reference_reached]
        rows = rows[thinned(len(rows), self.learners, self.seed)]
        people = problem.population(rows)
        people = people.take(np.flatnonzero(people.free.any(1)))
        if not people.n:
            raise ProblemError(
                f"'{self.name}' learns from refused people of the table, and nobody in it is refused and may act. Give "
                "a larger table, or use action-sequences."
            )
        self.code_ = StateCode(problem.schema, len(self.acts_))
        search = ActSearch(people, self.acts_, 1, self.most, self.grid)
        self.policy_: Policy = self._trained(search)

    def _trained(self, search: ActSearch) -> Policy:
        """Return a network that was fitted to searches, which it guided itself."""
        rng = np.random.default_rng(self.seed)
        start = self.code_(search.start())
        net = PolicyNet(start.shape[1], int(search.first_choice[-1]), rng)
        first = search.ways_on(search.start(), 0)[0].spent
        unit = float(np.median(first)) if len(first) else 1.0
        self.traces_, seen = Traces(start[:0], np.empty((0, int(search.first_choice[-1]))), np.empty(0)), []
        for _ in range(self.rounds):
            _, traces = TreeSearch(search, self.code_, net, max(unit, 1e-9), self.simulations).run(rng)
            if not len(traces.state):
                break
            seen.append(traces)
            self.traces_ = Traces(*(np.concatenate(part) for part in zip(*seen, strict=True)))
            net.learn(self.traces_, rng)
        return net

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        search = ActSearch(people, self.acts_, k, self.most, self.grid, shorten=self._shortens)
        ends, _, _ = self.rolled_out(search, max(self.beam, k), budget.rows_or(20_000))
        found = search.finished(ends)
        self._found.append(found)
        return found.actions(people.n, k)

    def rolled_out(self, search: ActSearch, beam: int, limit: int) -> tuple[States, Floats, np.ndarray]:
        """Go on with each person's likeliest sequences; return those that turn the decision, and the codes (m, s) and
        choices (m,) of all that were gone on with."""
        people, front, found = search.people, search.start(), []
        chance, codes, choices = np.zeros(len(front.who)), [], []
        for length in range(self.most):
            more, parent, choice = search.ways_on(front, length)
            code = self.code_(front)
            likely = chance[parent] + self.policy_(code)[0][parent, choice]
            order = np.lexsort((choice, -likely, more.who))
            spare = limit - people.rows
            order = order[place_within(more.who[order]) < np.minimum(beam, spare)[more.who[order]]]
            more, chance = more.take(order), likely[order]
            codes.append(code[parent[order]])
            choices.append(choice[order])
            got = people.evaluate(more.who, more.action)
            more.score = got.score
            found.append(more.take(got.reached))
            front, chance = more.take(~got.reached), chance[~got.reached]
            if not front.who.size:
                break
        return States.joined(found), np.concatenate(codes), np.concatenate(choices)
