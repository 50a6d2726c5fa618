"""PEAR: costs that hang on where one stands, weights learned from choices, and what the choices are worth."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest

from wayforward.errors import MethodError, PreferencesError
from wayforward.people.elicitor import CANNOT_SAY, Kind, converse
from wayforward.people.elicitors import elicitor
from wayforward.people.elicitors.cost_graph import CostGraph, GraphCost
from wayforward.people.elicitors.pear import Pear, PearSession, WeightPrior, likelihood, utility
from wayforward.people.elicitors.sequence_search import menu_of, search
from wayforward.people.simulated import ReplyNoise
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema, SchemaWarning
from wayforward.streams import Streams
from wayforward.testing import ElicitorContract, case

EDGES = [("age", "income"), ("income", "savings"), ("debt", "savings"), ("education", "income")]


def _pear(kind: str = "linear", world: str = "independent", n: int = 24, **settings: object) -> tuple:
    it = case(kind, world, 0, n)
    pear = Pear(graph=EDGES, **{"budget": 5, "sweeps": 15, **settings}).fit(it.problem)  # type: ignore[arg-type]
    return it, pear, it.x[it.refused]


def _users(it, pear, x, noise=None):  # type: ignore[no-untyped-def]
    weight = pear.prior_.sample(Streams.of(x, 77), 1, np.ones((len(x), pear.graph_.width)), 5)[:, 0]
    return GraphCost(it.problem.population(x), pear.graph_, weight, noise=noise), weight


# -- the cost graph ----------------------------------------------------------------------------------------


def _two(floor: float = 1.0, offset: float = 1.0) -> CostGraph:
    schema = Schema(
        (Feature(name="a", kind="real", low=0, high=2), Feature(name="b", kind="real", low=0, high=4))
    )
    return CostGraph(schema, (("a", "b"),), schema.low, schema.span, floor, offset)


def test_the_cost_of_an_act_hangs_on_its_cause() -> None:
    """Parent at half its range with weight 10, own weight 4, a change of a quarter: 16 (De Toni et al. (2024))."""
    graph = _two()
    parts = graph.parts(np.array([[1.0, 1.0]]), np.array([1]), np.array([2.0]))
    weight = np.array([[3.0, 4.0, 10.0]])  # own a, own b, a -> b
    assert graph.names == ("a", "b", "a -> b")
    assert graph.cost(parts[:, None], weight)[0] == pytest.approx(16.0)
    plain = _two(0.0, 0.0)
    parts = plain.parts(np.array([[1.0, 1.0]]), np.array([1]), np.array([2.0]))
    assert plain.cost(parts[:, None], weight)[0] == pytest.approx(0.25 * 4 + 0.5 * 10)


def test_no_act_is_cheaper_than_the_floor_and_no_act_costs_nothing() -> None:
    """Floor 1 a step as published; a step that is none is free; negative weights pay nobody."""
    graph = _two()
    weight = np.array([[0.1, 0.1, -5.0]])
    step = graph.parts(np.array([[0.0, 0.0]]), np.array([0]), np.array([0.2]))
    both = np.stack([step, np.zeros_like(step)], axis=1)
    assert graph.cost(both, weight)[0] == 1.0
    assert graph.cost(np.zeros((1, 2, 3)), weight)[0] == 0.0


def test_the_order_of_acts_matters() -> None:
    """Raising the cause first makes the effect dearer."""
    it = case("linear", "independent", 0, 24)
    graph = CostGraph.of(it.problem, EDGES, floor=0.0)
    people = it.problem.population(it.x[it.refused][:5])
    from wayforward.people.elicitors.cost_graph import steps_of

    action = np.full((5, people.d), np.nan)
    income, savings = (it.problem.schema.index(name) for name in ("income", "savings"))
    action[:, income], action[:, savings] = 8900.0, 40_000.0
    place = np.full((5, people.d), -1)
    place[:, income], place[:, savings] = 0, 1
    other = np.where(place >= 0, 1 - place, -1)
    weight = np.ones((5, graph.width))
    cost = [
        graph.cost(steps_of(graph, people, np.arange(5), action, order, 2), weight)
        for order in (place, other)
    ]
    assert (cost[0] > cost[1]).all()


@pytest.mark.parametrize(
    ("edges", "word"),
    [([("age", "wage")], "wage"), ([("age", "age")], "age"), ([("age", "income")] * 2, "2 times")],
)
def test_edges_that_make_no_sense_are_refused(edges: list, word: str) -> None:
    """Unknown names, loops, repeats: each named."""
    with pytest.raises(Exception, match=word):
        CostGraph.of(case("linear", "independent", 0, 24).problem, edges)


def test_half_of_the_edges_can_be_forgotten() -> None:
    """A share is rounded to whole edges; the weights shrink with it."""
    graph = CostGraph.of(case("linear", "independent", 0, 24).problem, EDGES)
    assert len(graph.without(0.5).edges) == 2
    assert graph.without(1.0).edges == ()
    with pytest.raises(PreferencesError, match="0 to 1"):
        graph.without(1.5)


# -- search ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_sequences_turn_the_decision_and_a_wide_beam_finds_the_cheapest_pair(world: str) -> None:
    """Everything in the bank is usable; for up to two acts, a wide beam equals trying every sequence."""
    it, pear, x = _pear(world=world)
    people = it.problem.population(x[:6])
    graph, menu = pear.graph_, menu_of(people, 5)
    weight = np.abs(Streams.of(people.x, 3).normal(np.arange(6), 1, graph.width)) * 4
    bank = search(people, graph, menu, weight, depth=2, width=400)
    who, slot = np.nonzero(bank.exists)
    assert people.evaluate(who, bank.action[who, slot]).reached.all()
    cost = bank.costs(graph, weight[:, 0]).min(1)
    a = len(menu.feature)
    for i in range(6):
        cheapest = np.inf
        for first in range(a):
            for second in (None, *range(a)):
                acts = [first] if second is None else [first, second]
                if (
                    len({int(menu.feature[c]) for c in acts}) < len(acts)
                    or np.isnan(menu.value[i, acts]).any()
                ):
                    continue
                action, parts, state = np.full((1, people.d), np.nan), [], people.x[i : i + 1]
                for c in acts:
                    j = menu.feature[c : c + 1]
                    parts.append(graph.parts(state, j, menu.value[i, c : c + 1])[0])
                    action[0, j] = menu.value[i, c]
                    state = people.after(np.array([i]), action)
                if people.evaluate(np.array([i]), action).reached[0]:
                    cheapest = min(cheapest, float(graph.cost(np.array(parts)[None], weight[i])[0]))
        # the beam does not extend what suffices already, which no cheapest sequence needs
        assert cost[i] == pytest.approx(cheapest) if np.isfinite(cheapest) else np.isinf(cost[i])


# -- choices ------------------------------------------------------------------------------------------------


def test_a_noiseless_answer_leaves_half_of_the_weights() -> None:
    """Two weights, 'the first is cheaper': what is left lies on the cheaper side of the line."""
    graph = _two(floor=0.0)
    parts = np.zeros((1, 1, 2, 1, 3))
    parts[0, 0, 0, 0], parts[0, 0, 1, 0] = [1.0, 0, 0], [0, 1.0, 0]  # a change of a, a change of b
    weight = np.random.default_rng(0).uniform(0, 10, (1, 500, 3))
    level = likelihood(graph, parts, np.array([[0]]), weight, 50.0)[0]
    cheaper = weight[0, :, 0] < weight[0, :, 1]
    clear = np.abs(weight[0, :, 0] - weight[0, :, 1]) > 0.5
    assert (level[cheaper & clear] > -1e-6).all()
    assert (level[~cheaper & clear] < -20).all()
    assert (likelihood(graph, parts, np.array([[-1]]), weight, 50.0) == 0).all()


def test_the_particles_move_to_where_the_answers_point() -> None:
    """After the talk the weights explain the answers better than the prior does."""
    it, pear, x = _pear(budget=8)
    users, _ = _users(it, pear, x)
    session = converse(pear.begin(x), users)
    parts, reply = np.stack(session._parts, 1), np.stack(session._reply, 1)
    prior = pear.prior_.means.mean(0) * np.ones_like(session.estimate)
    after = likelihood(session.graph, parts, reply, session.estimate[:, None], 0.9)[:, 0]
    before = likelihood(session.graph, parts, reply, prior[:, None], 0.9)[:, 0]
    assert after.mean() > before.mean() + 0.1


def test_greedy_sets_are_nearly_the_best() -> None:
    """Greedy expected utility is within 1 - 1/e of the best pair, for exact replies (Nemhauser et al. (1978))."""
    cost = np.random.default_rng(1).gamma(2.0, 2.0, (40, 100, 10))
    worst = cost.max((1, 2))

    def value(picks: tuple[int, ...]) -> np.ndarray:
        return utility(cost[:, :, picks], 1e4) + worst

    every = np.stack([value(pair) for pair in combinations(range(10), 2)]).max(0)
    first = np.stack([value((i,)) for i in range(10)]).argmax(0)
    greedy = np.array([max(value((f, i))[row] for i in range(10) if i != f) for row, f in enumerate(first)])
    assert (greedy >= (1 - 1 / np.e) * every - 1e-9).all()
    assert greedy.mean() > 0.98 * every.mean()


def test_regret_falls_with_questions() -> None:
    """On average over people; and sets of greatest utility teach more than sets at random."""
    after = {}
    for pick in ("utility", "random"):
        it, pear, x = _pear(n=64, budget=10, sweeps=20, pick=pick, response="exact")
        users, weight = _users(it, pear, x)
        people = it.problem.population(x)
        menu = menu_of(people, pear.points)
        wide = search(people, pear.graph_, menu, weight[:, None], depth=4, width=8)
        least = wide.costs(pear.graph_, weight).min(1)

        def regret(session: PearSession, weight: np.ndarray = weight, least: np.ndarray = least) -> float:
            cost, true = (
                session.bank.costs(session.graph, session.estimate),
                session.bank.costs(session.graph, weight),
            )
            given = true[np.arange(len(true)), cost.argmin(1)]
            return float((given - np.minimum(least, true.min(1))).mean())

        session = pear.begin(x)
        before = regret(session)
        after[pick] = regret(converse(session, users))
    assert after["utility"] < 0.5 * before
    assert after["utility"] < after["random"]


@pytest.mark.parametrize(
    "noise", [ReplyNoise(kappa=0.9), ReplyNoise(lazy=0.5), ReplyNoise(fickle=0.5), ReplyNoise(flip=0.3)]
)
def test_people_who_err_end_with_a_plan_that_works(noise: ReplyNoise) -> None:
    """Whatever they say, the plan is checked."""
    it, pear, x = _pear()
    users, _ = _users(it, pear, x, noise)
    session = converse(pear.begin(x), users)
    assert session.recourse().found[~np.isnan(session.start).all(1), 0].all()
    assert (session.questions <= 5).all()


# -- the talk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "world"), [("linear", "causal"), ("forest", "independent"), ("label", "independent")]
)
def test_every_plan_shown_is_usable_in_every_world_and_for_every_model(kind: str, world: str) -> None:
    """Shown plans turn the decision and break nothing; each question begins in two different ways."""
    it, pear, x = _pear(kind, world)
    session = pear.begin(x)
    people = it.problem.population(x)
    for _ in range(3):
        questions = session.pending
        who, slot = np.nonzero(questions.exists)
        assert people.evaluate(who, questions.action[who, slot]).reached.all()
        choose = questions.kind == Kind.CHOOSE
        assert (questions.exists[choose].sum(1) >= 2).all()
        session.answer(np.where(choose, 1, 0))


def test_a_person_alone_is_asked_the_same() -> None:
    """Questions hang on the person's own row and replies only."""
    it, pear, x = _pear()
    users, _ = _users(it, pear, x)
    all_of_them, alone = pear.begin(x), pear.begin(x[3:4])
    for _ in range(4):
        questions = all_of_them.pending
        np.testing.assert_array_equal(questions.action[3], alone.pending.action[0])
        reply = users.reply(questions)
        all_of_them.answer(reply)
        alone.answer(reply[3:4])
    np.testing.assert_array_equal(all_of_them.best[3], alone.best[0])
    np.testing.assert_array_equal(all_of_them.estimate[3], alone.estimate[0])


def test_a_limit_that_comes_on_the_way_is_kept() -> None:
    """Frozen features vanish from what is shown and from the plan."""
    it, pear, x = _pear()
    session = pear.begin(x)
    wish = Preferences.none(it.problem.schema, len(x)).freeze("income")
    session.answer(np.where(session.pending.kind == Kind.CHOOSE, 0, CANNOT_SAY), wish)
    income = it.problem.schema.index("income")
    assert np.isnan(session.pending.action[..., income]).all()
    assert np.isnan(session.best[:, income]).all()
    got = session.recourse()
    again = it.problem.check(x, pear.base_.recommend(x, 1, preferences=wish).action, 1, preferences=wish)
    assert (got.found[:, 0] >= again.found[:, 0]).all()


def test_acceptance_is_asked_for_at_the_end_where_it_is_wanted() -> None:
    """One more question, about the best plan."""
    it, pear, x = _pear(accept=True, budget=2)
    users, _ = _users(it, pear, x)
    session = pear.begin(x)
    for _ in range(2):
        session.answer(users.reply(session.pending))
    assert (session.pending.kind[session.questions == 2] == Kind.ACCEPT).all()
    np.testing.assert_array_equal(session.pending.action[:, 0], session.best)
    session.answer(np.ones(len(x), dtype=np.int64))
    assert (session.pending.kind == Kind.DONE).all()


def test_what_was_learned_is_told() -> None:
    """Weights by name, and how much each change is minded."""
    it, pear, x = _pear(budget=2)
    session = converse(pear.begin(x), _users(it, pear, x)[0])
    learned = session.learned()
    assert learned["weights"].shape == (len(x), len(learned["names"]))
    acts = it.problem.schema.actionable
    np.testing.assert_allclose(learned["reluctance"][:, acts].mean(1), 1.0)


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"options": 1}, {"particles": 10}, {"response": "loud"}])
def test_parameters_that_leave_nothing_to_ask_are_refused(wrong: dict) -> None:
    """Each names itself."""
    with pytest.raises(MethodError, match=next(iter(wrong))):
        elicitor("pear", **wrong)


def test_a_prior_for_another_graph_is_refused() -> None:
    """Its weights are about other things."""
    it = case("linear", "independent", 0, 24)
    with pytest.raises(MethodError, match="drawn"):
        Pear(graph=EDGES, prior=WeightPrior.drawn(_two())).fit(it.problem)


def test_who_may_do_nothing_is_done_at_once() -> None:
    """No question, no plan, no error."""
    it, pear, x = _pear()
    nothing = Preferences.none(it.problem.schema, len(x)).freeze(*it.problem.schema.names)
    session = pear.begin(x, preferences=nothing)
    assert (session.pending.kind == Kind.DONE).all()
    assert np.isnan(session.best).all()


def test_a_start_that_breaks_something_is_never_shown_and_who_has_none_is_done() -> None:
    """Values that nobody has are no plan; who has no plan is asked nothing; a start of another shape is named."""
    it, pear, x = _pear(budget=2)
    session = pear.begin(x, x + 1e12)
    for _ in range(2):
        who, slot = np.nonzero(session.pending.exists)
        assert len(who)
        assert it.problem.population(x).evaluate(who, session.pending.action[who, slot]).reached.all()
        session.answer(np.where(session.pending.kind == Kind.CHOOSE, 0, CANNOT_SAY))
    assert (np.isnan(session.best).all(1) | session.recourse().found[:, 0]).all()
    nobody = pear.begin(x, np.full_like(x, np.nan))
    assert (nobody.pending.kind == Kind.DONE).all()
    assert np.isnan(nobody.best).all()
    with pytest.warns(SchemaWarning, match="accepts every one"):
        accepted = pear.begin(it.x[~it.refused])
    assert (accepted.pending.kind == Kind.DONE).all()
    with pytest.raises(MethodError, match="shape"):
        pear.begin(x, x[:1])


def test_a_problem_without_a_graph_has_weights_of_its_own_only() -> None:
    """In an independent world every change has one price."""
    schema = Schema(
        (Feature(name="a", kind="real", low=0, high=1), Feature(name="b", kind="real", low=0, high=1))
    )
    problem = Problem(
        schema,
        lambda rows: rows.sum(1) / 2,
        Target(favourable=1),
        data=np.random.default_rng(0).random((50, 2)),
    )
    assert CostGraph.of(problem).names == ("a", "b")


def test_the_graph_of_a_causal_world_is_read() -> None:
    """Left out, the edges are those of the problem's world: income feeds savings and the rating, debt the rating."""
    graph = CostGraph.of(case("linear", "causal", 0, 8).problem)
    assert set(graph.edges) == {("income", "savings"), ("income", "rating"), ("debt", "rating")}


class TestPear(ElicitorContract):
    elicitor = "pear"
    parameters: ClassVar = {"budget": 3, "sweeps": 8, "graph": EDGES}
