"""What other processes are given: problems, methods and answers go by pickle, and small."""

from __future__ import annotations

import pickle
from copy import copy

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ProblemError
from wayforward.methods import method
from wayforward.problem import Problem, Target
from wayforward.testing import case
from wayforward.testing.problems import random_people


def _size(thing: object) -> int:
    return len(pickle.dumps(thing))


def test_a_problem_judges_the_same_in_another_process() -> None:
    """With its table, from which methods are fitted there; without what it worked out and what methods share."""
    it = case("forest", "causal", 0, 24)
    it.problem.shared("heavy", lambda: np.zeros(10**6))
    there = pickle.loads(pickle.dumps(it.problem))
    np.testing.assert_array_equal(there.reference, it.problem.reference)
    one, two = (method("nearest-observable").fit(p).recommend(it.x) for p in (it.problem, there))
    np.testing.assert_array_equal(one.after, two.after)
    assert _size(it.problem) < 300_000
    assert there.shared("heavy", lambda: 1) == 1


def test_a_copy_in_this_process_shares_what_was_worked_out() -> None:
    """`copy` is no journey: caches and shared models stay."""
    it = case("linear")
    it.problem.shared("one", lambda: 1)
    assert copy(it.problem).shared("one", lambda: 2) == 1
    accepted = it.problem.reference_accepted
    assert copy(it.problem).reference_accepted is accepted


def test_a_method_leaves_the_table_behind_and_keeps_what_it_needs() -> None:
    """Its size hangs on what it starts from, not on the table; whoever asks for the people hears why they are away."""
    it = case("linear")
    schema = it.problem.schema
    few, many = (
        Problem(
            schema,
            it.problem.model,
            Target(favourable=1),
            data=random_people(schema, n, np.random.default_rng(0)),
        )
        for n in (400, 40_000)
    )
    sizes = [_size(method("growing-spheres").fit(p)) for p in (few, many)]
    assert sizes[1] < 1.1 * sizes[0] < 20_000 < _size(many) / 50
    there = pickle.loads(pickle.dumps(method("local-search").fit(many)))
    got, mine = there.recommend(it.x, 2, seed=1), method("local-search").fit(many).recommend(it.x, 2, seed=1)
    np.testing.assert_array_equal(got.action, mine.action)
    with pytest.raises(
        ProblemError, match="came from another process without its table.*send the problem itself"
    ):
        there.problem_.reference  # noqa: B018
    with pytest.raises(ProblemError, match="without its table"):
        method("nearest-observable").fit(there.problem_)


def test_the_last_resorts_of_a_search_go_along() -> None:
    """Who may hardly act on anything is led after everybody accepted, there as here."""
    it = case("label", "independent", 0, 24)
    who = it.x[it.refused]
    most = [name for name in it.problem.schema.names if name not in ("savings", "debt")]
    wish = wf.Preferences.none(it.problem.schema, len(who)).freeze(*most)
    here = method("local-search").fit(it.problem)
    there = pickle.loads(pickle.dumps(method("local-search").fit(it.problem)))
    one, two = (m.recommend(who, 1, preferences=wish, seed=2, budget=3000) for m in (here, there))
    assert here.everyone_ is not None, "nobody came to the last resort, so this shows nothing"  # type: ignore[attr-defined]
    assert (one.outcome == two.outcome).all()
    np.testing.assert_array_equal(one.action, two.action)


def test_an_answer_goes_without_its_problem_as_in_a_file() -> None:
    """Everything else arrives; outcomes take a byte each."""
    it = case("linear")
    got = method("local-search").fit(it.problem).recommend(it.x, 3)
    there = pickle.loads(pickle.dumps(got))
    assert there.problem is None and got.problem is it.problem
    for name in ("x", "action", "after", "cost", "plain_cost", "score", "seconds", "score_before", "path"):
        np.testing.assert_array_equal(getattr(there, name), getattr(got, name))
    assert (there.outcome == got.outcome).all() and there.outcomes() == got.outcomes()
    assert there.meta == got.meta and there.schema == got.schema
    assert there.outcome[0, 0] is got.outcome[0, 0]


def test_an_onnx_session_goes_by_its_bytes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Opened from a file or from bytes; the file is not needed where it arrives."""
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn.tree import DecisionTreeClassifier

    it = case("linear")
    y = (it.x[:, 1] > np.median(it.x[:, 1])).astype(int)
    made = skl2onnx.to_onnx(
        DecisionTreeClassifier(max_depth=3).fit(it.x, y),
        it.x[:1].astype(np.float32),
        options={"zipmap": False},
    )
    file = tmp_path / "m.onnx"
    file.write_bytes(made.SerializeToString())
    schema = it.problem.schema
    for session in (runtime.InferenceSession(file), runtime.InferenceSession(file.read_bytes())):
        model = wf.wrap(session, schema)
        packed = pickle.dumps(model)
        np.testing.assert_array_equal(pickle.loads(packed).native(it.x)[0], model.native(it.x)[0])
    packed = pickle.dumps(wf.wrap(file, schema))
    file.unlink()
    np.testing.assert_array_equal(pickle.loads(packed).native(it.x)[0], model.native(it.x)[0])


def test_people_are_alike_by_row_and_wishes() -> None:
    """Missing values are alike; other wishes make other people; everybody keeps their place."""
    it = case("linear")
    no = np.flatnonzero(it.refused)
    x = it.x[no[[0, 1, 0, 2, 1, 0]]]
    wishes = wf.Preferences.none(it.problem.schema, 6).freeze("savings", who=[2])
    fitted = method("local-search").fit(it.problem)
    every = fitted.recommend(x, 1, preferences=wishes, seed=5)
    for i in range(6):
        alone = fitted.recommend(x[i : i + 1], 1, preferences=wishes.take(np.array([i])), seed=5)
        np.testing.assert_array_equal(alone.action, every[i].action)
    assert every.meta["different_people"] == 4
    assert every.preferences is wishes
    assert every.seconds[0] == pytest.approx(every.seconds[5])
