"""The end of a dialogue: the plan of least effort and the one made to last, beside the plan that was chosen."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import MethodError
from wayforward.people.dialogue import Dialogue
from wayforward.testing.problems import case


@lru_cache
def lender(kind: str = "linear", can_train: bool = True) -> tuple[wf.Problem, np.ndarray]:
    """A lender who trains again, and the people whom they refuse."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    it = case(kind, "independent")
    rows = it.problem.reference
    labels = (it.problem.reached(rows)[0] ^ (np.random.default_rng(1).random(len(rows)) < 0.15)).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, labels)

    def fit(rows, labels, seed):
        if not can_train:
            raise wf.errors.ProblemError("The recipe is lost.")
        return make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, labels)

    again = wf.Retraining(labels, fit=fit, searched=6, judged=5)
    problem = wf.Problem(
        it.problem.schema,
        wf.wrap(model, it.problem.schema),
        wf.Target(favourable=1),
        data=rows,
        retraining=again,
    )
    return problem, it.x[~problem.reached(it.x)[0]]


def ended(problem: wf.Problem, x: np.ndarray, **more) -> Dialogue:
    """Take the first plan that is not the cheapest, if one is shown."""
    d = Dialogue(problem, x, questionnaire=None, **more)
    while (question := d.ask()) is not None:
        d.answer(question.options[-1].key if question.stage == "choices" else "yes")
    return d


def test_cheapest_and_lasting_stand_beside_with_price_and_share():
    problem, people = lender()
    kinds = set()
    for x in people[:8]:
        d = ended(problem, x)
        if d.plan is None:
            continue
        end, after = d.end, d.plan.after[:, 0]
        votes = problem.retraining.votes(problem, after)[:, 0]
        told = f"This plan still got a yes {votes.sum()} time"
        assert any(told in line for line in end.assumes) and "model again 5 times" in " ".join(end.assumes)
        for one in end.beside:
            row = np.array([np.nan if v is None else v for v in one.action])
            got = problem.check(x[None], row[None, None], 1, preferences=d.preferences)
            assert got.found[0, 0] and one.text in end.show()
            share = got.cost[0, 0] / d.plan.cost[0, 0] - 1
            if "least effort" in one.text:
                kinds.add("cheapest")
                assert share < 0 and "less effort than your plan" in one.text
            if "made to last" in one.text:
                kinds.add("lasting")
                mine = problem.retraining.votes(problem, got.after[:, 0]).sum()
                assert mine > votes.sum() and f"still got a yes {mine} time" in one.text
    assert kinds == {"cheapest", "lasting"}


def test_nothing_is_trained_before_the_end_and_only_once(monkeypatch):
    problem, people = lender()
    calls = []
    votes = type(problem.retraining).votes
    monkeypatch.setattr(type(problem.retraining), "votes", lambda *a: calls.append(1) or votes(*a))
    d = ended(problem, people[0])
    assert not calls
    first = d.end
    many = len(calls)
    assert many and d.end is first and d.export() and len(calls) == many
    d.undo()
    assert d.end is None and d.answer("yes") is None and d.end.show() == first.show()


def test_kinds_may_be_left_out_and_are_kept_in_the_state():
    problem, people = lender()
    d = ended(problem, people[0], kinds=())
    assert d.end.beside == () and "trained the model" not in d.end.show()
    assert Dialogue.from_dict(problem, d.to_dict()).end.show() == d.end.show()
    with pytest.raises(MethodError, match="no kind 'best'"):
        Dialogue(problem, people[0], kinds=("best",))


def test_a_model_that_cannot_be_trained_stops_nobody_at_the_end():
    problem, people = lender(can_train=False)
    d = ended(problem, people[0])
    with pytest.warns(UserWarning, match="The recipe is lost"):
        end = d.end
    assert end.how == "accepted" and not any("made to last" in one.text for one in end.beside)
