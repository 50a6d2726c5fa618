"""How a label follows from outputs: read, found out by asking, or asked for; searched accordingly, and never beyond."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as npst
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, NuSVC

from wayforward.evaluate.judge import ask_model
from wayforward.methods import method
from wayforward.model import Decision, wrap
from wayforward.model.adapted import labelled
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def people() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """200 people, labels of two and of three classes."""
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 70, n).round(),
            "income": rng.normal(30, 10, n).clip(0, 100).round(1),
            "debt": rng.normal(5, 3, n).clip(0, 40).round(1),
        }
    )
    score = frame["income"] - 3 * frame["debt"] + 0.1 * frame["age"] + rng.normal(0, 6, n)
    return frame, np.asarray(score > 18, int), np.digitize(score, [8, 22])


FRAME, Y, Y3 = people()
SCHEMA = Schema.infer(FRAME)
LINE = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, Y)
FOREST = RandomForestClassifier(15, max_depth=5, random_state=0).fit(FRAME, Y)


def supports(**settings: Any) -> Any:
    return make_pipeline(StandardScaler(), SVC(random_state=0, **settings))


class Own:
    """Somebody's own class: probabilities of a model, and a label of its own."""

    classes_ = np.array([0, 1])

    def __init__(self, model: Any, threshold: float, most_debt: float = np.inf) -> None:
        self.model, self.threshold, self.most_debt = model, threshold, most_debt

    def predict_proba(self, table: Any) -> np.ndarray:
        return self.model.predict_proba(table)

    def predict(self, table: Any) -> np.ndarray:
        likely = self.predict_proba(table)[:, 1] >= self.threshold
        return (likely & (np.asarray(table)[:, 2] <= self.most_debt)).astype(int)


def threshold(model: Any, level: float, **kw: Any) -> Any:
    return FixedThresholdClassifier(model, threshold=level, **kw).fit(FRAME, Y)


def vote(*members: Any, **kw: Any) -> VotingClassifier:
    return VotingClassifier([(str(i), member) for i, member in enumerate(members)], **kw)


READ: dict[str, Callable[[], tuple[Any, ...]]] = {  # the threshold that is read -> model, and the plain one
    "at .7": lambda: (0.7, threshold(LINE, 0.7), LINE),
    "at .3": lambda: (0.3, threshold(LINE, 0.3), LINE),
    "forest": lambda: (0.7, threshold(FOREST, 0.7), FOREST),
    "other class": lambda: (0.3, threshold(LINE, 0.7, pos_label=0), LINE),
    "in a search": lambda: (
        0.6,
        GridSearchCV(threshold(LINE, 0.5), {"threshold": [0.6]}, cv=2).fit(FRAME, Y),
        None,
    ),
    "frozen": lambda: (
        0.6,
        pytest.importorskip("sklearn.frozen").FrozenEstimator(threshold(LINE, 0.6)),
        LINE,
    ),
}


def solved(model: Any, target: Target, name: str = "local-search", n: int = 40) -> tuple[Problem, Any]:
    problem = Problem(SCHEMA, model, target, data=FRAME)
    refused = problem.reference[~problem.reached(problem.reference)[0]][:n]
    return problem, method(name).fit(problem).recommend(refused, 1, seed=1)


@pytest.mark.parametrize("name", READ)
def test_a_threshold_that_is_read_is_that_of_a_target(name: str) -> None:
    """The same plans, to the bit, as for the plain model with this threshold, through the same compiled path."""
    level, model, plain = made(name)
    plain = model.best_estimator_.estimator_ if plain is None else plain
    problem, got = solved(model, Target(1))
    other, expected = solved(plain, Target(1, threshold=level))
    assert problem.model.decision == Decision(problem.model.decision.above, problem.model.decision.above)
    assert problem.model.decision.above == pytest.approx(level)
    assert f"decides for 1 from a probability of {level}" in repr(problem.model)
    assert any("its own setting" in note for note in problem.model.notes)
    assert problem.model.fast.kind == other.model.fast.kind
    assert got.found.all()
    np.testing.assert_array_equal(got.action, expected.action)


@pytest.mark.parametrize(
    "name", ["nearest-observable", "nice", "growing-spheres", "face", "actionable-recourse", "wachter", "cem"]
)
def test_every_method_knows_the_threshold(name: str) -> None:
    _, got = solved(made("at .7")[1], Target(1), name, n=15)
    _, expected = solved(LINE, Target(1, threshold=0.7), name, n=15)
    assert got.found.any()
    np.testing.assert_array_equal(got.action, expected.action)


def test_tuned_thresholds_and_those_of_inner_pipelines_are_read() -> None:
    tuned = TunedThresholdClassifierCV(LINE, scoring="balanced_accuracy", cv=3).fit(FRAME, Y)
    assert wrap(tuned, SCHEMA).decision == Decision(tuned.best_threshold_, tuned.best_threshold_)
    stacked = StackingClassifier([("a", GaussianNB())], threshold(LINE, 0.6), cv=2).fit(FRAME, Y)
    assert wrap(make_pipeline(StandardScaler(), stacked).fit(FRAME, Y), SCHEMA).decision == Decision(0.6, 0.6)
    guessed = SelfTrainingClassifier(LINE).fit(FRAME, np.where(np.arange(200) % 3, Y, -1))
    assert wrap(guessed, SCHEMA).linear is not None and wrap(guessed, SCHEMA).decision == Decision()
    never = wrap(threshold(FOREST, 1.5), SCHEMA)
    assert not never.decision.by_output and not never.native(SCHEMA.encode(FRAME))[1].any()


def test_a_threshold_of_catboost_is_read() -> None:
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(iterations=20, depth=3, verbose=0, allow_writing_files=False)
    model.fit(FRAME, Y)
    model.set_probability_threshold(0.7)
    problem, got = solved(model, Target(1), n=20)
    assert problem.model.decision == Decision(0.7, 0.7) and got.found.all()
    np.testing.assert_array_equal(problem.model.native(problem.reference)[1], model.predict(FRAME))


FOUND: dict[
    str, Callable[[], tuple[Any, ...]]
] = {  # found by bisection: model, the true threshold where it is known
    "own": lambda: (Own(LINE, 0.62), 0.62),
    "own forest": lambda: (Own(FOREST, 0.62), 0.62),
    "decision scores": lambda: (
        threshold(LINE, 0.6, response_method="decision_function"),
        1 / (1 + np.exp(-0.6)),
    ),
    "supports": lambda: (supports(probability=True, class_weight={0: 1, 1: 3}).fit(FRAME, Y), None),
    "one against one": lambda: (OneVsOneClassifier(FOREST).fit(FRAME, Y), None),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_threshold_that_is_not_read_is_found(name: str) -> None:
    """Everybody is found, nobody goes far beyond it, and nothing is proved by it."""
    model, true = made(name)
    problem, got = solved(model, Target(1), n=16)
    decision = problem.model.decision
    assert not decision.exact and not problem.bound_target.provable
    assert decision.above - decision.below < (
        0.3 if name == "one against one" else 0.01
    )  # a forest's few values
    assert true is None or decision.below - 1e-9 <= true <= decision.above + 1e-9
    assert any("found by bisection" in note for note in problem.model.notes)
    assert got.found.all()
    beyond = problem.reached(got.after[:, 0])[1] - decision.above
    assert (beyond > -0.01).all() and np.median(beyond) < 0.05


ASKED: dict[str, Callable[[], tuple[Any, ...]]] = {  # the label does not follow from the outputs
    "veto": lambda: (Own(LINE, 0.4, most_debt=6.0), 1),
    "supports of three": lambda: (supports(probability=True).fit(FRAME, Y3), 2),
    "each against the rest": lambda: (OneVsRestClassifier(supports(probability=True)).fit(FRAME, Y3), 2),
    "nu-supports": lambda: (NuSVC(nu=0.3, probability=True, random_state=1).fit(FRAME, Y), 1),
    "process": lambda: (GaussianProcessClassifier().fit(FRAME[:80], Y[:80]), 1),
    "huber": lambda: (SGDClassifier(loss="modified_huber", random_state=0).fit(FRAME, Y3), 2),
}
VOTES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "vote": lambda: (vote(LINE, FOREST, GaussianNB()).fit(FRAME, Y), 1),
    "weighted vote": lambda: (
        make_pipeline(StandardScaler(), vote(SVC(), GaussianNB(), weights=[2, 1])).fit(FRAME, Y),
        1,
    ),
    "vote of three": lambda: (vote(LINE, FOREST, GaussianNB()).fit(FRAME, Y3), 0),
    "vote in a search": lambda: (
        GridSearchCV(vote(LINE, GaussianNB()), {"weights": [[1, 2]]}, cv=2).fit(FRAME, Y),
        1,
    ),
}
PLAIN: dict[str, Callable[[], tuple[Any, ...]]] = {
    "one against one of three": lambda: (OneVsOneClassifier(LINE).fit(FRAME, Y3), 2),
    "each against the rest of two": lambda: (OneVsRestClassifier(LINE).fit(FRAME, Y), 1),
    "soft vote": lambda: (vote(LINE, FOREST, voting="soft").fit(FRAME, Y), 1),
}


@functools.cache
def made(name: str) -> tuple[Any, ...]:
    """What one of the tables holds: trained when it is first needed."""
    return {**READ, **FOUND, **ASKED, **VOTES, **PLAIN}[name]()


@pytest.mark.parametrize("name", ASKED)
def test_a_label_that_follows_from_nothing_is_asked_for(name: str) -> None:
    """Everybody is found; the values that people see are the model's own, and a threshold counts these."""
    model, wanted = made(name)
    problem, got = solved(model, Target(wanted), n=5)
    assert any("searches ask for the label itself" in note for note in problem.model.notes)
    assert problem.model.fast.kind == "label" and got.found.all()
    table = SCHEMA.decode(got.after[:, 0])
    assert (model.predict(table) == wanted).all()
    np.testing.assert_allclose(problem.reached(got.after[:, 0])[1], model.predict_proba(table)[:, wanted])
    again = pickle.loads(pickle.dumps(problem.model))
    np.testing.assert_array_equal(again.outputs(problem.reference), problem.model.outputs(problem.reference))
    plain, _ = solved(model, Target(wanted, threshold=0.5), n=1)
    assert plain.model.fast is None or plain.model.fast.kind != "label"


@pytest.mark.parametrize("name", [*READ, *FOUND, *ASKED, *VOTES, *PLAIN])
def test_a_score_above_zero_is_a_yes_of_the_model(name: str) -> None:
    """For every class, on random legal rows; the independent judge agrees, with a margin, too."""
    model = made(name)[1 if name in READ else 0]
    low, high = SCHEMA.low, SCHEMA.high
    rows = SCHEMA.snap(np.random.default_rng(8).uniform(low, high, (400, 3)))
    for wanted in model.classes_:
        problem = Problem(SCHEMA, model, Target(wanted), data=FRAME)
        target, decision = problem.bound_target, problem.model.decision
        score = target.score(problem.model.outputs(rows))
        yes = problem.reached(rows)[0]
        np.testing.assert_array_equal(yes, model.predict(SCHEMA.decode(rows)) == wanted)
        surely = decision.clear(problem.model.outputs(rows), 1e-6)
        assert surely.mean() > 0.95
        np.testing.assert_array_equal(score[surely] > 0, yes[surely])
        some = Problem(SCHEMA, model, Target(wanted, margin=0.04), data=FRAME)
        np.testing.assert_array_equal(some.reached(rows)[0], ask_model(some, rows)[0])
        assert not (some.reached(rows)[0] & ~yes).any()


@given(
    npst.arrays(np.float64, (7, 4), elements=st.floats(0, 1)),
    npst.arrays(np.int64, 7, elements=st.integers(0, 3)),
)
@settings(max_examples=60, deadline=None)
def test_labelled_outputs_have_the_label_ahead(guide: np.ndarray, index: np.ndarray) -> None:
    """They sum to one, stay what they are where the label is clearly ahead, and still rank where it is not."""
    guide = (guide + 1e-3) / (guide + 1e-3).sum(axis=1, keepdims=True)
    out = labelled(guide, index)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    assert (out >= 0).all() and (out.argmax(axis=1) == index).all()
    clear = Decision().clear(guide, 0.011) & (guide.argmax(axis=1) == index)
    np.testing.assert_array_equal(out[clear], guide[clear])
    two = np.sort(guide[:, 0])
    no = labelled(np.stack([1 - two, two], axis=1), np.zeros(7, np.int64))[:, 1]
    assert (np.diff(no) >= -1e-12).all() and (no < 0.5).all()


@pytest.mark.parametrize("kind", ["line", "forest", "own"])
@pytest.mark.parametrize("level", [0.2, 0.8])
def test_nobody_with_a_way_is_told_that_there_is_none(kind: str, level: float) -> None:
    """Whole lattices, tried one by one, for thresholds that are read and for one that is found."""
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=5, direction="increase"),
            Feature(name="b", kind="integer", low=0, high=5),
            Feature(name="c", kind="integer", low=0, high=9, actionability="immutable"),
        )
    )
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.integers(0, 6, 300), rng.integers(0, 6, 300), rng.integers(0, 10, 300)]).astype(
        float
    )
    y = (x @ np.array([0.5, 0.3, 0.6]) + rng.normal(0, 1, 300) > 5.5).astype(int)
    plain = (
        LogisticRegression() if kind != "forest" else RandomForestClassifier(9, max_depth=4, random_state=0)
    )
    plain.fit(x, y)
    model = Own(plain, level) if kind == "own" else FixedThresholdClassifier(plain, threshold=level).fit(x, y)
    for wanted in (0, 1):
        problem = Problem(schema, model, Target(wanted), data=x)
        refused = x[~problem.reached(x)[0]][:60]
        got = method("local-search").fit(problem).recommend(refused, 1, seed=1)
        ways = np.zeros(len(refused), dtype=bool)
        for a, b in itertools.product(range(6), range(6)):
            end = np.column_stack([np.full(len(refused), a), np.full(len(refused), b), refused[:, 2]]).astype(
                float
            )
            ways |= problem.reached(end)[0] & (a >= refused[:, 0])
        none = got.outcome[:, 0] == Outcome.NONE_EXISTS
        assert not (none & ways).any()
        assert got.found[ways, 0].all()
        if kind != "forest":  # by bounds, or by asking about everything within reach
            assert none[~ways].all()
