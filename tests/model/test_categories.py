"""Boosters that were trained on pandas categories are asked with theirs, in their order, whatever the schema's is."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import ModelError
from wayforward.model.adapters import categories

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def trained():
    """Categories in an order that is not the alphabet's, one that nobody has, and codes that are no positions."""
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame(
        {
            "income": rng.integers(800, 6000, n),
            "job": pd.Categorical(
                rng.choice(["cook", "driver", "nurse"], n), ["nurse", "cook", "none", "driver"]
            ),
            "region": pd.Categorical(rng.choice([30, 7, 11], n), [30, 7, 11]),
        }
    )
    score = table["income"] + 900 * (table["job"] == "nurse") - 900 * (table["region"] == 7).astype(int)
    return table, (score > 3300).astype(int).to_numpy()


def _fitted(kind, table, y):
    if kind.startswith("lightgbm"):
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=5, cat_smooth=1, verbose=-1).fit(
            table, y
        )
        return model.booster_ if kind.endswith("alone") else model
    if kind.startswith("xgboost"):
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBClassifier(n_estimators=20, enable_categorical=True).fit(table, y)
        return model.get_booster() if kind.endswith("alone") else model
    if kind == "catboost":
        catboost = pytest.importorskip("catboost")
        return catboost.CatBoostClassifier(
            iterations=20, verbose=0, allow_writing_files=False, cat_features=["job", "region"]
        ).fit(table, y)
    ensemble = pytest.importorskip("sklearn.ensemble")
    head = ensemble.HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20)
    if kind == "hist":
        return head.fit(table, y)
    lightgbm = pytest.importorskip("lightgbm")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(FunctionTransformer(), lightgbm.LGBMClassifier(n_estimators=20, verbose=-1)).fit(
        table, y
    )


def _own(model, table):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(table)[:, 1]
    if type(model).__module__.startswith("xgboost"):
        import xgboost

        return model.predict(xgboost.DMatrix(table, enable_categorical=True))
    return model.predict(table)


KINDS = ["lightgbm", "lightgbm alone", "xgboost", "xgboost alone", "catboost", "hist", "pipeline"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", ["categories", "plain"])
def test_they_are_asked_as_they_were_trained(trained, kind, given):
    """Texts and numbers of a file, whose levels are in another order, get the numbers of the model itself."""
    table, y = trained
    model = _fitted(kind, table, y)
    plain = table.assign(job=table["job"].astype(str), region=table["region"].astype(int))
    mine = table if given == "categories" else plain
    schema = wf.Schema.infer(mine, region={"kind": "categorical"})
    wrapped = wf.wrap(model, schema)
    x = schema.encode(mine)
    np.testing.assert_allclose(wrapped.native(x)[0][:, 1], _own(model, table), rtol=1e-6)
    np.testing.assert_array_equal(wrapped.native(x[7:8])[0], wrapped.native(x)[0][7:8])
    problem = wf.Problem(schema, wrapped, wf.Target(favourable=1), data=mine)
    got = wf.recommend(problem, mine.iloc[:30], method="growing-spheres")
    after = got.people_after()
    kept = after.astype({"job": table["job"].dtype, "region": table["region"].dtype})
    assert got.found[:, 0].any() and (_own(model, kept)[got.found[:, 0]] > 0.5).all()


@pytest.mark.parametrize("kind", ["lightgbm", "lightgbm alone", "pipeline"])
def test_ordered_categories_are_found_by_their_levels(trained, kind):
    """LightGBM takes ordered categories for numbers, and does not tell of which columns they are."""
    table, y = trained
    order = ["low", "middle", "high"]
    rank = np.array(order, dtype=object)[np.arange(len(table)) % 3]
    table = table.assign(
        income=table["income"] // 100, rank=pd.Categorical(rank, ["high", "low", "middle"], ordered=True)
    )
    model = _fitted(kind, table, y)
    schema = wf.Schema.infer(table.assign(rank=rank), rank={"kind": "ordinal", "levels": order})
    wrapped = wf.wrap(model, schema)
    x = schema.encode(table)
    np.testing.assert_allclose(wrapped.native(x)[0][:, 1], _own(model, table), rtol=1e-6)
    np.testing.assert_allclose(wrapped.outputs(x)[:, 1], _own(model, table), rtol=1e-6)


def test_categories_that_may_be_of_either_column_want_the_table(trained):
    table, y = trained
    degree = pd.Categorical(np.array(["no", "yes"])[np.arange(len(table)) % 2], ordered=True)
    table = table.assign(first=degree, second=(np.asarray(degree) == "yes").astype(int))
    schema = wf.Schema.infer(table.assign(second=degree.astype(str)))
    with pytest.raises(ModelError, match=r"frame=table"):
        wf.wrap(_fitted("lightgbm", table, y), schema)


def test_a_model_trained_again_sees_categories_too(trained):
    from wayforward.model.refitting import refit

    table, y = trained
    schema = wf.Schema.infer(table.assign(job=table["job"].astype(str)))
    wrapped = wf.wrap(_fitted("lightgbm", table, y), schema)
    x = schema.encode(table)
    again = refit(wrapped, x, y, seed=1)
    assert again.wrapped.booster_.pandas_categorical == wrapped.wrapped.booster_.pandas_categorical


def test_what_a_booster_does_not_tell_is_an_error_with_the_next_step(trained, monkeypatch):
    """An XGBoost before 3.1 keeps the codes, and not what they stand for."""
    table, y = trained
    model = _fitted("xgboost", table, y)
    monkeypatch.setitem(categories.READERS, "xgboost", lambda *_: {"job": None})
    with pytest.raises(ModelError, match=r"'job'.*frame=table"):
        wf.wrap(model, wf.Schema.infer(table))
    wrapped = wf.wrap(model, wf.Schema.infer(table), frame=table)
    np.testing.assert_allclose(
        wrapped.native(wrapped.schema.encode(table))[0][:, 1], _own(model, table), rtol=1e-6
    )


def test_levels_that_are_none_of_the_categories_are_refused(trained):
    table, y = trained
    other = wf.Schema.infer(table.assign(job=np.where(table["job"] == "cook", "Koch", "Fahrer")))
    with pytest.raises(ModelError, match="'job'.*Infer the schema from the table"):
        wf.wrap(_fitted("lightgbm", table, y), other)
