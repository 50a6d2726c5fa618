"""Models trained again: their own recipe, the checks on them, and what a sample of them says of the next."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wayforward as wf
from wayforward import Schema, Target
from wayforward.errors import DataError, ProblemError, UnsupportedModel
from wayforward.evaluate.robustness import retrained as in_evaluate
from wayforward.model.refitting import refit
from wayforward.problem import NextModel, Problem, Retraining
from wayforward.problem.robust import read, retrained

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "income": RNG.uniform(0, 9, 500),
        "debt": RNG.uniform(0, 5, 500),
        "home": RNG.choice(["own", "rent"], 500),
    }
)
SCORE = TABLE.income - TABLE.debt + (TABLE.home == "own") + RNG.normal(0, 1.5, 500)
LABELS = np.where(SCORE > 3, "yes", "no")
SCHEMA = Schema.infer(TABLE)


def forest(**more):
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    codes = ColumnTransformer([("home", OneHotEncoder(), ["home"])], remainder="passthrough")
    return make_pipeline(codes, RandomForestClassifier(15, min_samples_leaf=5, **more))


def problem(model, retraining, data=TABLE):
    return Problem(SCHEMA, model, Target("yes"), data=data, retraining=retraining)


# -- what a sample of scores says of the next one --


def left(scores, share=0.9):
    models = [LogisticRegression()] * len(scores)
    return NextModel(models, share).left(np.asarray(scores, dtype=float))


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
def test_the_next_score_is_above_what_is_left_as_often_as_promised(share):
    """Scores from a normal distribution of any mean and spread: a prediction bound, by 4,000 experiments."""
    rng = np.random.default_rng(1)
    scores = rng.normal(2.0, 0.7, size=(15, 4000))
    kept = (rng.normal(2.0, 0.7, size=4000) > left(scores, share)).mean()
    assert share - 0.025 < kept < share + 0.05


def test_what_is_left_of_scores():
    assert left([[1.0]] * 5)[0] == 1.0  # no spread
    one, two = left([[1.0], [2.0], [3.0], [4.0], [5.0]]), left([[1.0], [2.0], [3.0], [4.0], [500.0]])
    assert one == two < 1.0  # what is far above endangers nothing
    np.testing.assert_allclose(
        left([[1.0, 11.0], [2.0, 12.0]]), [left([[1.0], [2.0]])[0], left([[1.0], [2.0]])[0] + 10]
    )
    assert left([[-3.0], *[[9.0]] * 9], share=0.9)[0] <= 9.0
    votes = np.array([[-0.1], *[[0.5]] * 4])  # one of five says no: too many for .9, not for .8
    assert left(votes, 0.9)[0] <= -0.1


def test_more_models_promise_more():
    rng = np.random.default_rng(2)
    few, many = rng.normal(1, 0.5, size=(5, 2000)), rng.normal(1, 0.5, size=(60, 2000))
    assert left(few).mean() < left(many).mean() < 1 - 0.5 * norm.ppf(0.85)


# -- training again --


def test_a_pipeline_is_trained_again_as_it_was():
    """On the rows and labels that it learnt from, with its seed, the same model; another seed, another one."""
    model = wf.wrap(forest(random_state=7).fit(TABLE, LABELS), SCHEMA)
    x = SCHEMA.encode(TABLE)
    same, other = refit(model, x, LABELS, 7), refit(model, x, LABELS, 8)
    np.testing.assert_array_equal(same.native(x)[0], model.native(x)[0])
    assert (other.native(x)[0] != model.native(x)[0]).any()
    assert same.wrapped is not model.wrapped


def test_an_estimator_behind_an_encoder_is_trained_behind_it():
    numbers = TABLE[["income", "debt"]]
    schema = Schema.infer(numbers)
    encoder = StandardScaler().fit(numbers)
    head = LogisticRegression().fit(encoder.transform(numbers), LABELS)
    model = wf.wrap(head, schema, encoder=encoder)
    x = schema.encode(numbers)
    np.testing.assert_allclose(refit(model, x, LABELS, 0).native(x)[0], model.native(x)[0])


class AsTable(BaseEstimator, TransformerMixin):
    """A first step that needs columns by name, and does not keep the names it was trained on."""

    def fit(self, rows, labels=None):
        self.fitted_ = True
        return self

    def transform(self, rows):
        return rows[["income", "debt"]].to_numpy()


def test_a_pipeline_that_does_not_say_it_saw_a_table_is_trained_again_on_one():
    pipeline = make_pipeline(AsTable(), LogisticRegression()).fit(TABLE, LABELS)
    assert not hasattr(pipeline[0], "feature_names_in_")
    model = wf.wrap(pipeline, SCHEMA)
    x = SCHEMA.encode(TABLE)
    np.testing.assert_allclose(refit(model, x, LABELS, 0).native(x)[0], model.native(x)[0])


def test_models_that_search_and_models_that_judge_differ_and_are_trained_once():
    made = []

    def fit(rows, labels, seed):
        made.append(rows.sum())
        return forest(random_state=seed).fit(SCHEMA.decode(rows), labels)

    it = problem(forest(random_state=0).fit(TABLE, LABELS), Retraining(LABELS, fit, searched=3, judged=2))
    x = SCHEMA.encode(TABLE)
    for _ in range(2):
        assert len(it.retraining.condition(it).models) == 3 and it.retraining.votes(it, x).shape == (2, 500)
    assert len(made) == len(set(made)) == 5
    told = it.retraining.describe()
    assert told["searched"] == 3 and 0.7 < told["agreement"] < 1
    twin = it.with_(further=it.retraining.condition(it))
    assert twin.retraining is it.retraining and len(made) == 5


def test_the_labels_may_be_a_column_of_the_data():
    it = problem(
        make_pipeline(forest().steps[0][1], LogisticRegression()).fit(TABLE, LABELS),
        Retraining("label", searched=2, judged=2),
        TABLE.assign(label=LABELS),
    )
    assert it.retraining.votes(it, it.reference[:3]).shape == (2, 3)


def test_a_function_is_not_trained_again_but_others_may_stand_in():
    rule = wf.wrap(lambda rows: (rows[:, 0] > 3 + rows[:, 1]).astype(float), SCHEMA, classes=("no", "yes"))
    with pytest.raises(UnsupportedModel, match="fit='gb'"):
        problem(rule, Retraining(LABELS)).retraining.votes(problem(rule, None), SCHEMA.encode(TABLE))
    it = problem(rule, Retraining(LABELS, fit="lr", searched=3, judged=4))
    got = wf.recommend(it, TABLE[~it.reached(it.reference)[0]][:10], kinds=("cheapest", "lasting"))
    assert got.is_kind("lasting").any() and "stands in" in got.meta["retraining"]["trained_again"]


def test_another_recipe_is_noticed():
    """A model trained with weights of classes, copied without them: it accepts far more people."""
    weights = np.where(LABELS == "yes", 0.1, 1.0)
    weighted = forest(random_state=0)
    weighted.fit(TABLE, LABELS, randomforestclassifier__sample_weight=weights)
    it = problem(weighted, Retraining(LABELS, searched=3))
    with pytest.raises(ProblemError, match="trained in another way"):
        it.retraining.condition(it)


def test_a_recipe_that_learns_nothing_is_noticed():
    model = forest(random_state=0).fit(TABLE, LABELS)
    it = problem(model, Retraining(LABELS, fit=lambda rows, labels, seed: model))
    with pytest.raises(ProblemError, match="does not learn"):
        it.retraining.condition(it)


def test_text_and_a_problem_with_it():
    again = retrained(
        lambda rows, y, s: forest(random_state=s).fit(SCHEMA.decode(rows), y), SCHEMA.encode(TABLE), LABELS, 4
    )
    condition = read("next:4,share=0.8", lambda m: again[:m])
    assert isinstance(condition, NextModel) and condition.share == 0.8
    assert in_evaluate is retrained
    model = forest(random_state=0).fit(TABLE, LABELS)
    it = Problem(SCHEMA, model, Target("yes"), data=TABLE, robust=condition)
    got = wf.recommend(it, TABLE[~it.reached(it.reference)[0]][:10])
    at = np.flatnonzero(got.found[:, 0])
    assert at.size and (it.robust.votes(got.after[at, 0]).mean(0) >= 0.8).all()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Retraining(LABELS, searched=1), "2 or more"),
        (lambda: Retraining(LABELS, share=1.0), "below 1"),
        (lambda: NextModel([LogisticRegression()]), "no spread"),
        (lambda: NextModel([LogisticRegression()] * 2, share=0.2), "0.5 to below 1"),
        (lambda: problem(forest().fit(TABLE, LABELS), Retraining(LABELS[:9])), "500 people"),
        (lambda: problem(forest().fit(TABLE, LABELS), Retraining("label")), "no column 'label'"),
        (lambda: problem(forest().fit(TABLE, LABELS), Retraining("label"), SCHEMA.encode(TABLE)), "no table"),
    ],
)
def test_mistakes_are_named(make, error):
    with pytest.raises((ProblemError, DataError), match=error):
        make()


def test_what_was_trained_again_is_read_again(tmp_path):
    """The same votes from files, without training; a broken file is trained anew."""
    x, y = SCHEMA.encode(TABLE), (LABELS == "yes").astype(int)
    trained = []

    def fit(rows, labels, seed):
        trained.append(seed)
        return LogisticRegression(max_iter=200).fit(rows, labels)

    def votes():
        again = Retraining(y, fit=fit, searched=3, judged=2, folder=tmp_path / "again")
        found = Problem(SCHEMA, fit(x, y, -1), Target(1), data=x, retraining=again)
        found.retraining.condition(found)
        return found.retraining.votes(found, x)

    first = votes()
    assert len(trained) == 1 + 3 + 2
    np.testing.assert_array_equal(votes(), first)
    assert len(trained) == 6 + 1
    (tmp_path / "again" / "0.skops").write_bytes(b"no model")
    np.testing.assert_array_equal(votes(), first)
    assert trained[7:] == [-1, 0]
    assert len(list((tmp_path / "again").iterdir())) == 5


def test_models_trained_again_are_asked_themselves_only_where_it_is_close():
    """What a verified fast path says far from the edge stands; the same word, and hardly a row, of the model itself."""
    judge = NextModel([forest(random_state=i).fit(TABLE, LABELS) for i in range(4)], 0.9)
    asked = problem(forest(random_state=9).fit(TABLE, LABELS), None)
    condition = judge.fit(asked)
    rows = asked.require_reference()[:200]
    models = [model for model, _, _ in condition._bound]
    assert all(model.has_fast_path for model in models)
    before = sum(model.counter.native_rows for model in models)
    got, votes = condition.holds(asked, rows, rows, rows), condition.votes(rows)
    spent = sum(model.counter.native_rows for model in models) - before
    scores = np.stack([target.score(model.native(rows)[0]) for model, target, _ in condition._bound])
    assert (got == (condition.left(scores) > 0)).all() and 0 < got.sum() < len(rows)
    said = np.stack([target.reached(*model.native(rows)) for model, target, _ in condition._bound])
    assert (votes == said).all()
    assert spent < len(models) * len(rows) / 2


@pytest.mark.parametrize("rare", [1, 2, 5])
def test_a_rare_label_is_in_every_resample(rare):
    """One yes among 300 was missing from a third of the resamples, which nothing can be trained on."""
    labels = np.r_[np.ones(rare, dtype=int), np.zeros(300 - rare, dtype=int)]
    seen = retrained(lambda rows, y, seed: set(y), np.zeros((300, 1)), labels, 40, seed=3)
    assert all(one == {0, 1} for one in seen)


@pytest.mark.parametrize("fit", [None, "lr"])
def test_labels_that_are_all_the_same_are_named(fit):
    it = problem(forest(random_state=0).fit(TABLE, LABELS), Retraining(np.full(500, "no"), fit, searched=3))
    with pytest.raises(DataError, match="all 500 labels are 'no'"):
        it.retraining.condition(it)


def test_a_recipe_of_one_s_own_may_need_no_labels():
    assert len(retrained(lambda rows, y, seed: len(y), np.zeros((300, 1)), np.zeros(300), 3)) == 3
