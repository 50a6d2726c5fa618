"""An answer of one problem beside another one: its plans, costs and proofs are never believed to be of that one."""

from dataclasses import replace

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import explain, figure_options, letter, side_by_side
from wayforward.errors import DataError
from wayforward.evaluate import evaluate
from wayforward.evaluate.robustness import robustness
from wayforward.impact.honesty.family import family
from wayforward.impact.segregation.change import before_after
from wayforward.impact.summaries import summarize
from wayforward.methods.kinds import kinds_beside
from wayforward.preferences import Preferences
from wayforward.problem.cost import cost_named
from wayforward.problem.rounding import rounded
from wayforward.recourse import Outcome, Recourse

_SEX = wf.Feature(name="sex", kind="binary", levels=("f", "m"), actionability="immutable")


def schema(**more):
    number = {"kind": "integer", "low": 0, "high": 9, "unit": "EUR"}
    return wf.Schema((wf.Feature(name="savings", **number, **more), wf.Feature(name="debt", **number), _SEX))


def problem(at=3, of=None, **more):
    """Yes to savings of so much at least."""
    of = schema() if of is None else of
    model = wf.wrap(lambda rows: np.asarray(rows)[:, 0].astype(float) >= at, of, output="label")
    return wf.Problem(of, model, wf.Target(True), **more)


@pytest.fixture(scope="module")
def old():
    return problem()


@pytest.fixture
def x():
    return np.array([[0.0, 5.0, 0.0], [1.0, 5.0, 1.0], [2.0, 5.0, 1.0]])


@pytest.fixture
def hopeless(x):
    """That nothing exists was proved, where savings cannot change."""
    got = wf.recommend(problem(of=schema(actionability="immutable")), x)
    assert (got.outcome == Outcome.NONE_EXISTS).all()
    return got


def kept(answer, tmp_path):
    """The answer in memory, and from a file."""
    return answer, Recourse.load(answer.save(tmp_path / "answers.json"))


def test_a_proof_under_other_limits_is_none(old, hopeless, tmp_path):
    for answer in kept(hopeless, tmp_path):
        assert "proved" not in explain(answer, 0, problem=old)
        assert "proved" not in letter(old, answer, 0, reasons=False)
        assert evaluate(answer, old).outcomes["NONE_EXISTS"] == 0
        assert "proved" in explain(answer, 0, problem=problem(of=schema(actionability="immutable")))
        assert evaluate(answer, hopeless.problem).outcomes["NONE_EXISTS"] == 3


def test_a_proof_under_other_wishes_is_none(old, x):
    held = Preferences.none(old.schema, 3).freeze("savings")
    got = wf.recommend(old, x, preferences=held)
    assert evaluate(got, old).outcomes["NONE_EXISTS"] == 3
    assert evaluate(got, old, preferences=held.take(np.arange(3))).outcomes["NONE_EXISTS"] == 3
    assert evaluate(got, old, preferences=Preferences.none(old.schema, 3)).outcomes["NONE_EXISTS"] == 0


def also_by_debt():
    """Yes to savings of 3, or to a debt of at most 4: it says of these people, and of their plans, what `old` says."""
    of = schema()
    model = wf.wrap(lambda rows: (rows[:, 0] >= 3) | (rows[:, 1] <= 4), of, output="label")
    return wf.Problem(of, model, wf.Target(True))


def test_a_bound_of_a_model_with_the_same_scores_is_no_proof_here(old, x, tmp_path):
    """Letters told that any other plan takes as much effort, proved, where a ninth of it is enough."""
    other = also_by_debt()
    told = wf.recommend(old, x[:1], certify=True)
    assert told.proved_cheapest.all() and "this was proved" in letter(old, told, 0, reasons=False)
    for answer in kept(told, tmp_path):
        got = answer.as_of(other)
        np.testing.assert_array_equal(got.action, told.action)
        assert got.bound[0, 0] == pytest.approx(1 / 9) and not got.proved_cheapest.any()
        assert "this was proved" not in letter(other, answer, 0, reasons=False)
        assert evaluate(answer, other)["proved_cheapest"].value == 0
        assert answer.as_of(problem()).proved_cheapest.all()  # proved anew


def test_how_near_the_boundary_a_plan_is_is_worked_out_by_the_problem_at_hand(x, tmp_path):
    """A file knew it of its own model, which has the same scores and no other yes nearby."""
    of = schema()
    edge = wf.wrap(lambda rows: np.asarray(rows)[:, 0] == 3, of, output="label")
    narrow = wf.Problem(of, edge, wf.Target(True))
    for answer in kept(wf.recommend(narrow, x[:1]), tmp_path):
        assert (
            answer.as_of(problem()).margin[0, 0]
            == wf.recommend(problem(), x[:1]).margin[0, 0]
            != answer.margin[0, 0]
        )


def test_plans_beside_those_of_another_problem_have_no_bound_of_its(old, x):
    told = wf.recommend(old, x[:1], certify=True)
    assert not kinds_beside(also_by_debt(), told, [0], ("cheapest", "fewest")).proved_cheapest.any()


def test_a_bound_of_another_model_says_nothing_of_plans_here(old, x):
    """Nothing below 3 is a yes there; here 1 is, so that a plan to 3 is not the cheapest."""
    got = wf.recommend(old, x, certify=True)
    assert evaluate(got, old)["proved_cheapest"].value == 1
    assert "proved_cheapest" not in evaluate(got, problem(2)).totals


@pytest.mark.parametrize("other", [{"at": 6}, {"cost": cost_named("l0")}])
def test_plans_are_those_of_the_problem_given(old, x, other, tmp_path):
    new = problem(**other)
    for answer in kept(wf.recommend(old, x), tmp_path):
        own = answer.as_of(new)
        assert own.problem is new and answer.as_of(problem()).found.all()
        assert own.found.all() == ("cost" in other)
        assert not np.array_equal(own.cost, answer.cost)
        assert ("3 EUR" in " ".join(side_by_side(new, answer)[0].within)) == ("cost" in other)
    assert np.array_equal(rounded(new, wf.recommend(old, x)).cost, own.cost)


def test_no_figure_shows_the_plan_of_another_model(old, x):
    pytest.importorskip("matplotlib")
    got = wf.recommend(old, x)
    assert figure_options(got, 0, problem=problem())
    with pytest.raises(DataError, match="no option to draw"):
        figure_options(got, 0, problem=problem(6))


def test_no_report_shows_the_plans_of_another_model(old, x, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    from wayforward.answers import report

    got = wf.recommend(old, x)
    assert "Asked in" in report(old, got, tmp_path / "old.html", people=1).read_text(encoding="utf-8")
    assert "Asked in" not in report(problem(6), got, tmp_path / "new.html", people=1).read_text(
        encoding="utf-8"
    )


def test_costs_are_told_in_the_unit_of_the_problem_given(old, x):
    new, got = problem(cost=cost_named("l0")), wf.recommend(old, x)
    mean = wf.recommend(new, x).cost.mean()
    assert robustness(got, new, sigma=None).cost.value == pytest.approx(mean)
    assert robustness(got, old, sigma=None).cost.value == pytest.approx(got.cost.mean())


def test_offers_of_another_model_are_none_to_a_family(old, x):
    """Whom the model of the problem accepts was refused by the other one alone."""
    assert family(problem(1), wf.recommend(old, np.repeat(x, 3, 0)), [problem(3).model]).option.n == 3
    assert family(old, wf.recommend(old, np.repeat(x, 3, 0)), [problem(3).model]).option.n == 9


def test_own_plans_beside_lines_are_of_these_people_and_this_problem(old, x):
    people = np.repeat(x, 10, 0)
    beside = wf.recommend(old, people)
    with pytest.raises(DataError, match="of other people"):
        summarize(old, people[::-1], "tree", beside=beside)
    new = problem(6)
    assert summarize(new, people, "tree", beside=beside).everybody.own_served.value == 0
    assert summarize(old, people, "tree", beside=beside).everybody.own_served.value == 1


def test_an_oracle_is_of_the_same_people(old, x):
    got = wf.recommend(old, x)
    assert evaluate(got, old, oracle=got)
    with pytest.raises(DataError, match="about other people"):
        evaluate(got, old, oracle=wf.recommend(old, x[::-1]))


def test_nobody_moves_by_plans_that_the_model_given_refuses(old, x):
    people = np.repeat(x, 20, 0)
    got = wf.recommend(old, people)
    assert before_after(old, people, got, "sex", k=2).served == 60
    assert before_after(problem(6), people, got, "sex", k=2).served == 0


def test_answers_of_several_problems_speak_for_none(old, x, tmp_path):
    one, other = wf.recommend(old, x), wf.recommend(problem(6), x)
    assert Recourse.concat([one, one]).problem is old
    joined = Recourse.concat([one, other])
    assert joined.problem is None and "to 6 EUR" in joined.explain(3)
    with pytest.raises(DataError, match="another unit"):
        Recourse.concat([one, wf.recommend(problem(cost=cost_named("l0")), x)])
    again = Recourse.load(one.save(tmp_path / "part.json"))
    assert np.isfinite(again.known_margin).all()
    assert np.isfinite(Recourse.concat([again, one]).margin).all()  # as of work that goes on where it stopped
    assert np.isfinite(replace(Recourse.concat([again, one]), problem=old).margin).all()
