"""Survival models: curves of every library's form, time gained beside the person's own, words, every method."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import letter
from wayforward.errors import DataError, ModelError, ProblemError
from wayforward.evaluate.judge import second_opinion
from wayforward.language import use_language
from wayforward.modalities.survival import Cox, SurvivalModel, SurvivalProblem
from wayforward.modalities.survival.samples import (
    CENTRE,
    PLANTED,
    heart_baseline,
    heart_patients,
    heart_schema,
)
from wayforward.model import Access
from wayforward.schema import SchemaWarning
from wayforward.testing import ModelContract

pd = pytest.importorskip("pandas")

MONTHS = np.arange(3.0, 121.0, 3.0)
COLUMNS, TIME, DIED = heart_patients(400)
TABLE = pd.DataFrame(COLUMNS)
SCHEMA = heart_schema()
COX = Cox(PLANTED, MONTHS, heart_baseline(MONTHS), centre=CENTRE)
PEOPLE = TABLE.iloc[:40]


def numbers(table):
    """(m, 5) columns as an estimator takes them."""
    return np.column_stack(
        [
            table["age"], table["exercise"], table["pressure"], table["smoker"] == "yes",
            table["diet"].map({"poor": 0, "mixed": 1, "fresh": 2}),
        ]
    ).astype(float)  # fmt: skip


class Estimator:
    """A forest of trees whose leaves hold Kaplan-Meier curves, asked as scikit-survival's forests are."""

    def __init__(self, seed=0):
        from sklearn.ensemble import ExtraTreesRegressor

        self.forest = ExtraTreesRegressor(6, min_samples_leaf=25, random_state=seed)

    def fit(self, table, time, died):
        x = numbers(table)
        leaves = self.forest.fit(x, time).apply(x)
        self.unique_times_ = np.unique(time[died])
        at_risk = time[:, None] >= self.unique_times_
        event = died[:, None] & (time[:, None] == self.unique_times_)
        self.curves = [
            {
                leaf: np.cumprod(1 - event[own].sum(0) / np.maximum(at_risk[own].sum(0), 1))
                for leaf in np.unique(column)
                for own in [column == leaf]
            }
            for column in leaves.T
        ]
        return self

    def predict_survival_function(self, table, return_array=False):
        leaves = self.forest.apply(numbers(table))
        mean = np.mean(
            [[curves[leaf] for leaf in column] for column, curves in zip(leaves.T, self.curves, strict=True)],
            0,
        )
        return mean if return_array else np.array([Step(self.unique_times_, one) for one in mean])


class Step:
    """A step function as scikit-survival has them."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __call__(self, at):
        return np.append(1.0, self.y)[np.searchsorted(self.x, at, side="right")]


class Functions(Estimator):
    """The same without arrays."""

    def predict_survival_function(self, table):
        return super().predict_survival_function(table)


class Newton:
    """Cox's partial likelihood by Newton's steps and Breslow's baseline, asked as lifelines is: a column a person."""

    def fit(self, table, time, died):
        order = np.argsort(-time, kind="stable")  # those still at risk come before
        x, self.mean = numbers(table), numbers(table).mean(0)
        z, event = (x - self.mean)[order], died[order]
        self.weight = np.zeros(z.shape[1])
        for _ in range(12):
            risk = np.exp(z @ self.weight)
            total = np.cumsum(risk)
            first = np.cumsum(risk[:, None] * z, 0) / total[:, None]
            second = np.cumsum(risk[:, None, None] * z[:, :, None] * z[:, None], 0) / total[:, None, None]
            gradient = (z - first)[event].sum(0)
            hessian = (second - first[:, :, None] * first[:, None])[event].sum(0)
            self.weight = self.weight + np.linalg.solve(hessian, gradient)
        self.times = time[order][event][::-1]
        self.hazard = np.cumsum((1 / np.cumsum(np.exp(z @ self.weight)))[event][::-1])
        return self

    def predict_survival_function(self, table):
        risk = np.exp((numbers(table) - self.mean) @ self.weight)
        return pd.DataFrame(np.exp(-self.hazard[:, None] * risk), index=self.times)


@pytest.fixture(scope="module")
def forest():
    return Estimator().fit(TABLE, TIME, DIED)


@pytest.fixture(scope="module")
def newton():
    return Newton().fit(TABLE, TIME, DIED)


@pytest.fixture(scope="module")
def longer():
    return SurvivalProblem(SCHEMA, COX, TABLE, longer=6, unit="months")


def test_an_expected_time_is_the_area_under_the_curve(longer):
    """Curves hold from one time to the next, everybody is there before the first; a closed sum beside it."""
    times, curves = longer.curves(PEOPLE)
    np.testing.assert_array_equal(times, MONTHS)
    risk = np.array(
        [
            0.05 * (r.age - 60) - 0.12 * (r.exercise - 3) + 0.015 * (r.pressure - 140)
            + 0.7 * (r.smoker == "yes") + {"poor": 0.0, "mixed": -0.2, "fresh": -0.5}[r.diet]
            for r in PEOPLE.itertuples()
        ]
    )  # fmt: skip
    expected = heart_baseline(MONTHS) ** np.exp(risk)[:, None]
    np.testing.assert_allclose(curves, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(longer.lifetimes(PEOPLE), 3 + 3 * expected[:, :-1].sum(1), rtol=1e-9)
    short = SurvivalProblem(SCHEMA, COX, TABLE, lifetime=20, horizon=31)
    np.testing.assert_allclose(
        short.lifetimes(PEOPLE), 3 + 3 * expected[:, :9].sum(1) + expected[:, 9], rtol=1e-9
    )


@pytest.mark.parametrize("wanted", [{"longer": 6}, {"lifetime": 60}, {"survives": (36, 0.8)}])
def test_what_is_returned_has_what_was_wanted(wanted, forest):
    """Judged on the exact rows by the curves themselves, and by the second opinion."""
    for model, some in ((COX, PEOPLE), (forest, PEOPLE.iloc[:10])):
        asked = SurvivalProblem(SCHEMA, model, TABLE, times=MONTHS[:36], **wanted)
        how = {} if model is COX else {"particles": 20, "generations": 15}
        got = asked.recommend(some, wf.method("survival-counterfactuals", **how), k=2)
        assert got.found[~got.accepted].any(1).mean() > (0.5 if model is COX else 0)
        who, slot = np.nonzero(got.found)
        after = got.after[who, slot][:, :5]
        if "longer" in wanted:
            gain = asked.model.lifetimes(after) - asked.lifetimes(some)[who]
            np.testing.assert_allclose(gain, got.score[who, slot], atol=1e-9)
            assert (gain >= 6).all()
            assert not got.accepted.any()
        elif "lifetime" in wanted:
            assert (asked.model.lifetimes(after) >= 60).all()
        else:
            times, curves = asked.model.grid.times, asked.model.curves(after)
            assert (curves[:, np.searchsorted(times, 36, side="right") - 1] >= 0.8).all()
        assert second_opinion(asked.problem, got).usable[got.found].all()


def test_a_person_alone_is_answered_alike(longer):
    """Beside others, in another order, and after another process: what is carried goes along."""
    got = longer.recommend(PEOPLE, "certifai", k=2)
    one = longer.recommend(PEOPLE.iloc[7:8], "certifai", k=2)
    np.testing.assert_array_equal(one.action, got.action[7:8])
    there = pickle.loads(pickle.dumps(longer))
    np.testing.assert_array_equal(there.rows(PEOPLE), longer.rows(PEOPLE))
    alone = [asked.recommend(PEOPLE.iloc[7:8], "geco").action for asked in (there, longer)]
    np.testing.assert_array_equal(*alone)


@pytest.mark.parametrize("method", ["local-search", "geco", "nearest-observable", "growing-spheres", "sedc"])
def test_other_methods_answer_too_and_the_own_serves_whom_they_serve(longer, method):
    got = longer.recommend(PEOPLE, method)
    assert got.found.mean() > 0.9
    assert (got.score[got.found] >= 6).all()
    assert longer.recommend(PEOPLE).found[got.found].mean() >= 0.95


def test_a_shorter_time_can_be_wanted():
    """Time to recovery: at least six months less than now."""
    free = SCHEMA.revise(exercise={"direction": "any"}, pressure={"direction": "any"})
    asked = SurvivalProblem(free, COX, TABLE, longer=-6, unit="months")
    got = asked.recommend(PEOPLE)
    assert got.found.mean() > 0.9
    assert (got.score[got.found] <= -6).all()
    assert asked.problem.target.describe() == "at least 6 months shorter than now"
    assert re.search(
        r"would then expect about 6[.\d]* months shorter than now\.", letter(asked.problem, got, 0)
    )


def test_every_library_s_form_of_curves_is_read(forest, newton):
    """Arrays, step functions, and tables with a column a person: the same curves, at own times or at others."""
    functions = Functions().fit(TABLE, TIME, DIED)
    at = [10.0, 30.0, 60.0]
    one, two = (SurvivalProblem(SCHEMA, model, TABLE, lifetime=30) for model in (forest, functions))
    np.testing.assert_array_equal(one.curves(PEOPLE)[1], two.curves(PEOPLE)[1])
    for model in (forest, functions, newton, COX):
        own = SurvivalProblem(SCHEMA, model, TABLE, lifetime=30)
        times, curves = own.curves(PEOPLE)
        place = np.searchsorted(times, at, side="right") - 1
        some = SurvivalProblem(SCHEMA, model, TABLE, lifetime=20, times=at)
        np.testing.assert_allclose(some.curves(PEOPLE)[1], curves[:, place], rtol=1e-12)
        assert (np.diff(curves, axis=1) <= 0).all()
    function = lambda table: newton.predict_survival_function(table).T
    plain = SurvivalProblem(SCHEMA, function, TABLE, lifetime=30, times=newton.times)
    own = SurvivalProblem(SCHEMA, newton, TABLE, lifetime=30)
    np.testing.assert_allclose(plain.curves(PEOPLE)[1], own.curves(PEOPLE)[1], rtol=1e-12)


@pytest.mark.parametrize("wanted", [{"survives": (600, 0.5)}, {"longer": 6}, {"lifetime": 40}])
def test_no_times_lie_beyond_what_a_model_knows(wanted, forest, newton):
    """Its last value would be read off there: a promise about years of which it says nothing."""
    for model in (COX, forest, Functions().fit(TABLE, TIME, DIED), newton):
        with pytest.raises(ModelError, match="times has 600, and the model knows its curves up to 1[12]0"):
            SurvivalProblem(SCHEMA, model, TABLE, times=[60, 600], **wanted)


def test_proportional_hazards_are_read_whoever_fitted_them(newton, forest):
    """The index of a fitted Cox model is its weights with the other sign; a forest has none."""
    asked = SurvivalProblem(SCHEMA, newton, TABLE, longer=4)
    form = asked.problem.model.single_index
    np.testing.assert_allclose(form.weight[:3, 0], -newton.weight[:3], rtol=1e-6)
    np.testing.assert_allclose(np.ptp(form.tables[3]), abs(newton.weight[3]), rtol=1e-6)
    np.testing.assert_allclose(np.diff(form.tables[4][:, 0]), -newton.weight[4], rtol=1e-6)
    assert SurvivalProblem(SCHEMA, forest, TABLE, longer=4).problem.model.single_index is None


def test_letters_say_how_much_longer(longer):
    got = longer.recommend(PEOPLE.iloc[:1])
    text = letter(longer.problem, got, 0)
    assert "A yes takes at least 6 months longer than now, by what the model expects for you." in text
    assert re.search(r"The model would then expect about 6[.\d]* months longer than now\.", text)
    assert "expected lifetime now" not in text
    assert "months longer than now (a yes takes at least 6 months longer than now)." in got.explain(0)
    with use_language("de"):
        german = letter(longer.problem, got, 0)
    assert "6 Monate länger als jetzt" in german
    assert "longer" not in german
    assert longer.problem.target.describe() == "at least 6 months longer than now"
    money = wf.Target(interval=(200, None), unit="EUR", gain=True)
    assert money.describe() == "at least 200 EUR more than now"
    with pytest.raises(ProblemError, match="gain=True"):
        wf.Target(favourable=1, gain=True)


class TestSurvivalModel(ModelContract):
    """What any wrapped model promises, of a forest of curves."""

    access = Access.PROBABILITY
    task = "regression"

    def train(self, schema, x, y):
        months = np.arange(1.0, 25.0)
        weights = {
            "income": -2e-4,
            "debt": 1e-4,
            "age": 0.02,
            "education": {"degree": -0.4},
            "phone": {1: 0.3},
        }
        return SurvivalModel(Cox(weights, months, np.exp(-0.05 * months)), schema, x)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"longer": 6, "lifetime": 60}, ProblemError, "one of them alone"),
        ({}, ProblemError, "Say what is wanted"),
        ({"longer": 0}, ProblemError, "longer=0"),
        ({"longer": 500}, ProblemError, "out of everybody's reach"),
        ({"survives": 24}, ProblemError, "no pair"),
        ({"survives": (300, 0.5)}, ModelError, "moment=300 is not within the times"),
        ({"lifetime": 60, "horizon": 1000}, ModelError, "horizon=1000"),
        ({"lifetime": 60, "times": [3, 3]}, ModelError, "times must ascend"),
        ({"lifetime": 60, "model": object()}, ModelError, "no predict_survival_function"),
        ({"lifetime": 60, "model": lambda table: np.ones((len(table), 2))}, ModelError, "does not say at which times"),
        ({"lifetime": 2, "times": [1, 2, 3], "model": lambda table: np.ones((len(table), 2))}, ModelError,
         "curves of shape"),
        ({"lifetime": 2, "times": [1, 2], "model": lambda table: 3 * np.ones((len(table), 2))}, ModelError,
         "no probability"),
        ({"lifetime": 2, "times": [1, 2], "model": lambda table: np.ones((2, len(table)))}, ModelError,
         "curves of shape"),
        ({"lifetime": 2, "times": [1, 2], "model": lambda table: np.full((len(table), 2), "x")}, ModelError,
         "no number"),
        ({"lifetime": 2, "times": [1, 2], "model": lambda table: np.tile([0.1, 0.4], (len(table), 1))}, ModelError,
         "rises with time"),
        ({"lifetime": 600}, ProblemError, "out of everybody's reach"),
        ({"lifetime": -3}, ProblemError, "Everybody has"),
        ({"survives": (0.8, 36)}, ProblemError, "First comes the moment"),
        ({"longer": 6, "target": 1}, ProblemError, "no target. Say what is wanted with longer=6"),
        ({"longer": 6, "data": TABLE}, ProblemError, "no data. Give observed people as the third argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_named(change, error, words):
    given = {"model": COX, **change}
    with pytest.raises(error, match=words):
        SurvivalProblem(SCHEMA, given.pop("model"), TABLE, **given)


@pytest.mark.parametrize(
    ("weights", "words"),
    [({"ages": 1.0}, "'ages'"), ({"diet": 0.3}, "whose levels are"), ({"diet": {"raw": 1.0}}, "whose levels are")],
)  # fmt: skip
def test_a_printed_model_that_does_not_fit_is_named(weights, words):
    with pytest.raises(ModelError, match=words):
        SurvivalProblem(SCHEMA, Cox(weights, MONTHS, heart_baseline(MONTHS)), TABLE, lifetime=60)
    with pytest.raises(ModelError, match="rises with time"):
        Cox({}, [1, 2], [0.5, 0.6])
    with pytest.raises(ModelError, match="cumulative baseline hazard"):
        Cox({}, [1, 2], [0.5, 1.6])
    with pytest.raises(ModelError, match="nan for 'age'"):
        Cox({"age": np.nan}, [1, 2], [0.6, 0.5])
    with pytest.raises(ModelError, match="weights of Cox are a list"):
        Cox([0.3], [1, 2], [0.6, 0.5])
    with pytest.raises(ModelError, match="centre of Cox have 'x'"):
        Cox({"age": 1.0}, [1, 2], [0.6, 0.5], centre={"age": "x"})


def test_a_row_that_cannot_be_read_stops_nobody(longer):
    odd = PEOPLE.head(3).assign(pressure=[150.0, np.nan, 160.0])
    with pytest.warns(SchemaWarning, match="could not be read"):
        got = longer.recommend(odd)
    alone = longer.recommend(odd.iloc[[2]])
    assert [row[0].name for row in got.outcome] == ["FOUND", "NOT_ASKED", "FOUND"]
    assert "'pressure'" in got.reasons[1] and not got.reasons[0]
    np.testing.assert_array_equal(got.action[2], alone.action[0])
    with pytest.raises(DataError, match="'pressure'"):
        longer.recommend(odd, strict=True)
    with pytest.warns(SchemaWarning) as heard:  # of what stands in the table, once
        got = longer.recommend(odd.assign(pressure=[150.0, "high", 160.0]))
    assert [str(one.message).count("'pressure' has 'high'") for one in heard] == [1]
    assert "'high'" in got.reasons[1]
