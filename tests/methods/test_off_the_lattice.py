"""People with a value between two points of its lattice: it may stay, as it is, and acts put it on the lattice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wayforward as wf
from wayforward.problem.proofs import out_of_reach
from wayforward.recourse import Outcome
from wayforward.schema import SchemaWarning

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

NAMES = ["a", "b", "c"]


def _problem(kind: str, top: int, direction: str = "any") -> tuple[wf.Problem, Any]:
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.integers(0, top + 1, (300, 3)), columns=NAMES)
    y = (x.a + x.b - x.c > 0.9 * top).astype(int)
    made: dict[str, Any] = {
        "lr": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(10, max_depth=5, random_state=0),
        "svc": SVC(),
    }
    model = made[kind].fit(x, y)
    schema = wf.Schema.infer(x).revise(b={"direction": direction}, c={"actionability": "immutable"})
    return wf.Problem(schema, wf.wrap(model, schema), wf.Target(favourable=1), data=x), model


def _ways(problem: wf.Problem, model: Any, x: np.ndarray) -> list[float]:
    """Cheapest cost for each person, by trying their own value and every legal one; inf where there is no way."""
    least = []
    for own in x:
        values = []
        for j, feature in enumerate(problem.schema.features):
            assert feature.low is not None and feature.high is not None
            whole = np.arange(feature.low, feature.high + 1)
            whole = whole[whole >= own[j]] if feature.direction == "increase" else whole
            whole = whole if feature.actionability == "actionable" else whole[:0]
            values.append(np.unique(np.append(whole, own[j])))
        rows = np.array(list(itertools.product(*values)))
        yes = rows[model.predict(pd.DataFrame(rows, columns=NAMES)) == 1]
        action = np.where(yes == own, np.nan, yes)
        least.append(float(problem.cost.total(np.repeat(own[None], len(yes), 0), action).min(initial=np.inf)))
    return least


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("top", [6, 80])  # few actions are listed, many are searched
@pytest.mark.parametrize("kind", ["lr", "forest", "svc"])
def test_a_fraction_in_a_whole_number_may_stay_and_is_what_the_model_sees(
    kind: str, top: int, compiled: bool
) -> None:
    for direction in ("any", "increase") if top == 6 else ("any",):
        problem, model = _problem(kind, top, direction)
        rng = np.random.default_rng(5)
        x = rng.integers(0, top, (8, 3)) + np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])[rng.integers(0, 2, 8)]
        people = pd.DataFrame(x, columns=NAMES)
        refused = model.predict(people) == 0
        least = np.array(_ways(problem, model, x))
        for k in (1, 3):
            with pytest.warns(SchemaWarning, match="with a fraction"):
                got = wf.recommend(problem, people, method="local-search", k=k, compiled=compiled)
            outcome = got.outcome[:, 0]
            assert ((outcome == Outcome.ACCEPTED) == ~refused).all()
            found = outcome == Outcome.FOUND
            assert (found == (refused & np.isfinite(least))).all()
            assert np.isinf(least[outcome == Outcome.NONE_EXISTS]).all()
            after = got.after[got.found]
            assert (model.predict(pd.DataFrame(after, columns=NAMES)) == 1).all()
            assert ((after == np.round(after)) | (after == x[np.nonzero(got.found)[0]])).all()
            assert (got.cost[found, 0] >= least[found] - 1e-9).all()
            if top == 6:
                np.testing.assert_allclose(got.cost[found, 0], least[found], atol=1e-9)
                assert (outcome[refused & np.isinf(least)] == Outcome.NONE_EXISTS).all()


@pytest.mark.parametrize("like", ["pandas", "dict"])
def test_a_fraction_is_never_cut_off_when_rows_become_tables(like: str) -> None:
    schema = wf.Schema(
        (
            wf.Feature(name="a", kind="integer", low=0, high=9),
            wf.Feature(name="b", kind="integer", low=0, high=9),
        )
    )
    table = schema.decode(np.array([[3.5, 1.0], [4.0, 2.0]]), like=like)
    assert np.asarray(table["a"]).tolist() == [3.5, 4.0]
    assert np.asarray(table["b"]).dtype == np.int64


def test_a_proof_sees_that_a_fraction_may_stay_where_the_model_knows_whole_numbers_one_by_one() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 4, 200), "b": rng.uniform(-3, 3, 200)})
    codes = ColumnTransformer([("a", OneHotEncoder(handle_unknown="ignore"), ["a"])], remainder="passthrough")
    model = make_pipeline(codes, LogisticRegression()).fit(table, (table.b > 0).astype(int))
    model[-1].coef_, model[-1].intercept_ = np.array([[-5.0] * 4 + [1.0]]), np.array([0.0])
    schema = wf.Schema(
        (
            wf.Feature(name="a", kind="integer", low=0, high=3),
            wf.Feature(name="b", kind="real", low=-3, high=3),
        )
    )
    problem = wf.Problem(schema, wf.wrap(model, schema), wf.Target(favourable=1), data=table)
    x = np.array([[1.5, -1.0], [1.0, -1.0], [2.9, -2.0]])  # 1.5 and 2.9 are no numbers that the model knows
    assert problem.model.bounded
    assert out_of_reach(problem.population(x)).tolist() == [False, True, False]
    with pytest.warns(SchemaWarning, match="'a' .* 2 value.* with a fraction, such as 1.5"):
        outcome = wf.recommend(problem, x, method="local-search").outcome[:, 0]
    assert outcome.tolist() == [Outcome.FOUND, Outcome.NONE_EXISTS, Outcome.FOUND]
