from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from wayforward.errors import DataError, ModelError
from wayforward.model import ZOO, train, wrap
from wayforward.schema import Schema

from .conftest import table


@pytest.mark.parametrize("name", ZOO)
def test_each_learns_repeats_itself_and_is_read(name, frame, y, trained, schema):
    first = trained(name)
    again = train(name, schema, frame, y, seed=0)
    p = first.predict_proba(frame)[:, 1]
    assert np.array_equal(p, again.predict_proba(frame)[:, 1])
    assert roc_auc_score(y, p) > 0.85
    model = wrap(first, schema)
    assert model.fast is not None and model.fast.kind in ("linear", "dense", "forest"), model.notes
    assert first.feature_names_in_.tolist() == list(schema.names)


@pytest.mark.parametrize("name", ZOO)
def test_rare_outcomes_are_weighted_up(name, full_schema):
    """Seven in a hundred: a model without weights answers with about 0.07 on average for new people."""
    rng = np.random.default_rng(0)
    many = table(2400, seed=5, missing=False)
    score = many.debt / 500 + rng.normal(0, 1.0, len(many))
    y = (score > np.quantile(score, 0.93)).astype(int)
    schema = Schema.infer(many)
    p = train(name, schema, many[:1800], y[:1800]).predict_proba(many[1800:])[:, 1]
    assert p.mean() > 0.085


def test_arrays_and_other_table_libraries_give_the_same_model(full, y, full_schema):
    pl = pytest.importorskip("polars")
    a = train("lr", full_schema, full, y).predict_proba(full)
    b = train("lr", full_schema, pl.from_pandas(full), y).predict_proba(full)
    c = train("lr", full_schema, full_schema.encode(full), y).predict_proba(full)
    assert np.array_equal(a, b) and np.array_equal(a, c)


def test_errors(full, y, full_schema):
    with pytest.raises(ModelError, match="There is no model 'svm'. Use one of lr, mlp, rf, gb, xgb, lgbm"):
        train("svm", full_schema, full, y)
    for gap, given in (
        (3, np.where(np.arange(900) == 3, np.nan, np.arange(900) % 2)),
        (4, np.where(np.arange(900) == 4, None, "yes")),
        (5, np.ma.masked_array(np.arange(900) % 2, mask=np.arange(900) == 5)),
    ):
        with pytest.raises(DataError, match=f"the label of row {gap}, from 0, is missing"):
            train("lr", full_schema, full, given)
    with pytest.raises(DataError, match="row 1, from 0, is 0.5, which names no class"):
        train("lr", full_schema, full, np.arange(900) / 2)
    named = pd.Series(["yes"] * 899 + [None], name="repaid")
    with pytest.raises(DataError, match="'repaid': the label of row 899, from 0, is missing"):
        train("lr", full_schema, full, named)
    with pytest.raises(DataError, match=r"labels have shape \(3,\); the table has 900 rows"):
        train("lr", full_schema, full, y[:3])
    with pytest.raises(
        DataError, match="All 900 labels are 1. Give training data with at least two outcomes"
    ):
        train("lr", full_schema, full, np.ones(len(full), int))
    with pytest.raises(
        DataError, match=r"xgb needs the labels 0 to 1; got \['no', 'yes'\]. Recode the labels"
    ):
        train("xgb", full_schema, full, np.where(y == 1, "yes", "no"))


@pytest.mark.parametrize("name", ["lr", "gb"])
def test_levels_that_are_numbers_may_stand_in_any_order(name):
    """An ordinal feature whose codes fall as the level rises (1 graduate school ... 4 others) can be learned from."""
    from wayforward.schema import Feature

    schema = Schema(
        (
            Feature(name="school", kind="ordinal", levels=(4, 3, 2, 1)),
            Feature(name="pay", kind="real", low=0, high=1),
        )
    )
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 4, 300), rng.random(300)]).astype(float)
    y = (x[:, 0] + x[:, 1] > 2.2).astype(int)
    model = wrap(train(name, schema, x, y), schema)
    assert model.fast is not None, model.notes
    outputs, labels = model.native(x)
    np.testing.assert_allclose(model.fast.outputs(x), outputs, atol=1e-9)
    assert (labels == y).mean() > 0.9
