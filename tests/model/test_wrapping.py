from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from wayforward import recommend
from wayforward.errors import MissingExtra, ModelError, UnsupportedModel
from wayforward.model import Access, wrap
from wayforward.model.adapters.sklearn_inside import knows_none
from wayforward.model.wrapping import Wrapped
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema

NUMERIC, LEVELS = ["age", "income", "debt"], ["job", "edu", "own"]


def encoder(numeric: Any = None, levels: Any = None, **kw: Any) -> ColumnTransformer:
    numeric = make_pipeline(SimpleImputer(), StandardScaler()) if numeric is None else numeric
    levels = OneHotEncoder(handle_unknown="ignore") if levels is None else levels
    return ColumnTransformer([("numeric", numeric, NUMERIC), ("levels", levels, LEVELS)], **kw)


def agree(
    model: Any, schema: Schema, frame: pd.DataFrame, kind: str | None, tolerance: float = 1e-9
) -> Wrapped:
    """Outputs are the native ones, by the expected fast path, and do not depend on the batch."""
    wrapped = wrap(model, schema, verify_on=frame)
    assert isinstance(wrapped, Wrapped)
    assert (wrapped.fast.kind if wrapped.fast else None) == kind, wrapped.notes
    x = schema.encode(frame)
    out = wrapped.outputs(x)
    native, label = wrapped.native(x)
    np.testing.assert_allclose(out, native, atol=tolerance, rtol=tolerance)
    assert wrapped.counter.rows == len(x) and wrapped.counter.native_rows == len(x)
    if wrapped.task == "classification":
        expected = model.predict(frame)
        assert [wrapped.classes[k] for k in label] == list(np.ravel(expected))
        np.testing.assert_allclose(out.sum(axis=1), 1.0, atol=1e-6)
    else:
        np.testing.assert_allclose(native[:, 0], model.predict(frame))
    order = np.random.default_rng(5).permutation(len(x))[:300]
    assert np.array_equal(wrapped.outputs(x[order]), out[order])
    for i in (0, 1, 17, len(x) - 1):
        assert np.array_equal(wrapped.outputs(x[i : i + 1])[0], out[i])
    return wrapped


HEADS = {
    "lr": (LogisticRegression(), "linear"),
    "sgd": (SGDClassifier(loss="log_loss", random_state=0), "linear"),
    "sgd-hinge": (SGDClassifier(loss="hinge", random_state=0), "linear"),
    "linear-svc": (LinearSVC(), "linear"),
    "ridge-classifier": (RidgeClassifier(), "linear"),
    "mlp": (MLPClassifier((7, 5), max_iter=30, random_state=0), "dense"),
    "mlp-tanh": (MLPClassifier((6,), activation="tanh", max_iter=30, random_state=0), "dense"),
    "mlp-logistic": (MLPClassifier((6,), activation="logistic", max_iter=30, random_state=0), "dense"),
    "tree": (DecisionTreeClassifier(max_depth=6, random_state=0), "forest"),
    "rf": (RandomForestClassifier(12, max_depth=7, random_state=0), "forest"),
    "extra": (ExtraTreesClassifier(12, max_depth=7, random_state=0), "forest"),
    "gb": (GradientBoostingClassifier(n_estimators=12, random_state=0), "forest"),
    "hist": (HistGradientBoostingClassifier(max_iter=12), "forest"),
    "svc": (SVC(), "generic"),
    "nb": (GaussianNB(), "generic"),
    "knn": (KNeighborsClassifier(), "generic"),
    "voting": (
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft"),
        "generic",
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("classes", [2, 3])
def test_sklearn_heads_in_a_pipeline_on_the_raw_table(name, classes, frame, y, schema):
    head, kind = HEADS[name]
    labels = np.where(y == 1, "yes", "no")
    if classes == 3:
        labels = np.where((y == 0) & (frame.age > 60), "later", labels)
    model = Pipeline([("encode", encoder(sparse_threshold=0)), ("model", head)]).fit(frame, labels)
    wrapped = agree(model, schema, frame, kind)
    assert wrapped.classes == (("no", "yes") if classes == 2 else ("later", "no", "yes"))
    assert wrapped.access == (Access.PROBABILITY if kind == "generic" else Access.WHITE_BOX)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (LinearRegression(), "linear"),
        (Ridge(), "linear"),
        (MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0), "dense"),
        (RandomForestRegressor(9, max_depth=6, random_state=0), "forest"),
        (GradientBoostingRegressor(n_estimators=9, random_state=0), "forest"),
        (HistGradientBoostingRegressor(max_iter=9), "forest"),
        (HistGradientBoostingRegressor(max_iter=9, loss="poisson"), "generic"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else v,
)
def test_regression(head, kind, frame, y, schema):
    value = y * 3.0 + frame.age / 10
    model = make_pipeline(encoder(sparse_threshold=0), head).fit(frame, value)
    wrapped = agree(model, schema, frame, kind)
    assert wrapped.task == "regression" and wrapped.classes == () and wrapped.width == 1


class Doubler(BaseEstimator, TransformerMixin):
    """A transformer that nobody can know."""

    def fit(self, x: Any, y: Any = None) -> Doubler:
        self.fitted_ = True
        return self

    def transform(self, x: Any) -> Any:
        return np.asarray(x) * 2.0


ENCODERS = {
    "plain": (encoder(), True),
    "minmax": (encoder(make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())), True),
    "robust": (encoder(make_pipeline(RobustScaler(), SimpleImputer())), True),
    "maxabs": (encoder(make_pipeline(SimpleImputer(add_indicator=True), MaxAbsScaler())), True),
    "indicator": (encoder(SimpleImputer(add_indicator=True)), True),
    "standard-then-minmax": (encoder(make_pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler())), True),
    "log": (
        encoder(
            make_pipeline(SimpleImputer(strategy="median"), FunctionTransformer(np.cbrt), StandardScaler())
        ),
        True,
    ),
    "drop-first": (encoder(levels=OneHotEncoder(drop="first", handle_unknown="ignore")), True),
    "drop-binary": (encoder(levels=OneHotEncoder(drop="if_binary", handle_unknown="ignore")), True),
    "rare-levels": (
        encoder(levels=OneHotEncoder(min_frequency=210, handle_unknown="infrequent_if_exist")),
        True,
    ),
    "ordinal": (
        encoder(
            levels=OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
            )
        ),
        True,
    ),
    "ordinal-scaled": (
        encoder(
            levels=make_pipeline(
                OrdinalEncoder(
                    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
                ),
                MinMaxScaler(),
            )
        ),
        True,
    ),
    "target": (encoder(levels=TargetEncoder(random_state=0, cv=3)), True),
    "imputed-levels": (
        encoder(levels=make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())),
        True,
    ),
    "whole-scaled": (make_pipeline(encoder(sparse_threshold=0), StandardScaler()), True),
    "variance": (make_pipeline(encoder(sparse_threshold=0), VarianceThreshold(0.12)), True),
    "k-best": (make_pipeline(encoder(sparse_threshold=0), SelectKBest(f_classif, k=5)), True),
    "union": (
        ColumnTransformer(
            [
                (
                    "both",
                    make_pipeline(
                        SimpleImputer(), FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])
                    ),
                    NUMERIC,
                ),
                ("levels", OneHotEncoder(handle_unknown="ignore"), LEVELS),
            ]
        ),
        True,
    ),
    "selector": (
        ColumnTransformer(
            [("text", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))],
            remainder=SimpleImputer(),
        ),
        True,
    ),
    "drop-columns": (
        ColumnTransformer([("numeric", SimpleImputer(), ["income", "debt"]), ("gone", "drop", ["edu"])]),
        True,
    ),
    "pandas-out": (encoder(sparse_threshold=0).set_output(transform="pandas"), False),
    "pca": (make_pipeline(encoder(sparse_threshold=0), PCA(3)), False),
    "bins": (encoder(make_pipeline(SimpleImputer(), KBinsDiscretizer(4, strategy="uniform"))), False),
    "polynomial": (encoder(make_pipeline(SimpleImputer(), PolynomialFeatures(2), StandardScaler())), False),
    "unknown": (encoder(make_pipeline(SimpleImputer(), Doubler())), False),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("head", ["lr", "rf"])
def test_preprocessing_is_read_or_left_to_the_pipeline(name, head, frame, y, schema):
    from sklearn.base import clone

    prepare, readable = ENCODERS[name]
    if name == "pandas-out":
        prepare = encoder(levels=OneHotEncoder(handle_unknown="ignore", sparse_output=False))
        prepare.set_output(transform="pandas")
        readable = True
    estimator = (
        LogisticRegression(max_iter=500)
        if head == "lr"
        else RandomForestClassifier(8, max_depth=6, random_state=0)
    )
    model = make_pipeline(clone(prepare) if name != "pandas-out" else prepare, estimator).fit(frame, y)
    kinds = {"lr": "dense" if name == "log" else "linear", "rf": "forest"}
    wrapped = agree(model, schema, frame, kinds[head] if readable else None, 1e-8)
    if not readable:
        assert any("no fast path" in note for note in wrapped.notes)


LISTED = {
    "one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "bins": KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    "clipped": MinMaxScaler(clip=True),
    "function": FunctionTransformer(lambda v: np.minimum(v, 50) ** 2 / 100),
}


@pytest.mark.parametrize("head", ["lr", "rf", "mlp"])
@pytest.mark.parametrize("name", LISTED)
def test_whole_numbers_are_read_value_by_value(name, head, full, y, full_schema):
    from sklearn.base import clone

    own = ColumnTransformer(
        [
            ("whole", clone(LISTED[name]), ["age"]),
            ("rest", StandardScaler(), ["income", "debt"]),
            ("levels", OneHotEncoder(handle_unknown="ignore"), LEVELS),
        ],
        sparse_threshold=0,
    )
    estimator = {
        "lr": LogisticRegression(max_iter=500),
        "rf": RandomForestClassifier(9, max_depth=7, random_state=0),
        "mlp": MLPClassifier((6,), max_iter=15, random_state=0),
    }[head]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rounds for the net
        model = make_pipeline(own, estimator).fit(full, y)
    kind = {"lr": "tabled linear", "rf": "tabled forest", "mlp": "tabled dense"}[head]
    wrapped = agree(model, full_schema, full, kind)
    assert wrapped.linear is None and wrapped.forest is None and wrapped.access == Access.PROBABILITY
    # people outside the list are answered by the pipeline itself
    x = full_schema.encode(full)[:50]
    x[::3, 0] = 93
    np.testing.assert_allclose(wrapped.outputs(x), wrapped.native(x)[0], atol=1e-12)
    free = np.tile(np.arange(6) % 2 == 1, (50, 1))
    rows = x.copy()
    rows[:, 1] += 300
    assert np.array_equal(wrapped.specialise(x, free).outputs(np.arange(50), rows), wrapped.outputs(rows))
    x = full_schema.encode(full)[:30]
    low, high = x.copy(), x.copy()
    low[:, 0], high[:, 0], low[:, 1], high[:, 1] = 20, 40, 2000, 3000
    least, most = wrapped.margin_bounds(low, high)
    for age in range(20, 41):
        z = x.copy()
        z[:, 0], z[:, 1] = age, 2000 + 1000 * (age - 20) / 20
        out = wrapped.outputs(z)
        assert (out >= least).all() and (out <= most).all()
    low[:, 0] = -5
    assert wrapped.margin_bounds(low, high) is None


@pytest.mark.parametrize("head", ["lr", "mlp", "rf"])
def test_without_numba_a_row_does_not_depend_on_its_batch(head, frame, trained, schema, monkeypatch):
    model = wrap(trained(head), schema)
    x = np.concatenate([schema.encode(frame)] * 3)
    fast = model.outputs(x)
    monkeypatch.setenv("WAYFORWARD_NO_NUMBA", "1")
    plain = model.outputs(x)
    np.testing.assert_allclose(plain, fast, atol=1e-13)
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 7, 64, 1023, 1024, 1025, 2500):
        take = rng.integers(0, len(x), size)
        assert np.array_equal(model.outputs(x[take]), plain[take])
    bad = x[:2].copy()
    bad[1, 2] = 9
    with pytest.raises(ModelError, match="level 9 of 'job'"):
        model.outputs(bad)


def test_a_wrapped_model_comes_back(frame, y, schema):
    wrapped = wrap(make_pipeline(encoder(), LogisticRegression()).fit(frame, y), schema)
    assert wrap(wrapped, schema) is wrapped


@pytest.mark.parametrize("gone", [None, np.nan])
def test_a_missing_text_is_what_the_encoder_was_trained_on(gone):
    """Where a table library tells None from NaN (pandas before 3), models tell them apart, too."""
    texts = pd.DataFrame({"job": np.array(["a", "b", gone, "a"], dtype=object), "n": [1.0, 2.0, 3.0, 4.0]})
    made = ColumnTransformer([("job", make_pipeline(OneHotEncoder(handle_unknown="ignore")), ["job"])])
    model = make_pipeline(made, LogisticRegression()).fit(texts, [0, 1, 1, 0])
    known = model[0].named_transformers_["job"][0].categories_[0]
    assert knows_none(model) == (frozenset({"job"}) if known[-1] is None else frozenset())
    schema = Schema.infer(texts)
    np.testing.assert_allclose(
        wrap(model, schema).native(schema.encode(texts))[0], model.predict_proba(texts), atol=1e-12
    )


@pytest.mark.parametrize("levels", [("a", "b", "c"), (5, 0, 9)], ids=["texts", "numbers"])
@pytest.mark.parametrize("head", [LogisticRegression(), DecisionTreeClassifier()], ids=["linear", "tree"])
def test_what_is_missing_is_to_each_column_what_it_was_trained_on(levels, head):
    """A column of objects that holds None and one that holds NaN, in any pandas: asked with the other, an encoder takes
    it for a level that it does not know, and people were judged as somebody else."""
    rng = np.random.default_rng(0)

    def column(gone: Any) -> Any:
        return pd.Series([levels[i] if i < 3 else gone for i in rng.integers(0, 4, 300)], dtype=object)

    table = pd.DataFrame({"one": column(None), "two": column(np.nan), "pay": rng.integers(0, 9, 300)})
    table["two"] = table.two.infer_objects()  # numbers with NaN are numbers to pandas
    schema = Schema(
        (
            *(Feature(name=n, kind="categorical", levels=levels, missing=True) for n in ("one", "two")),
            Feature(name="pay", kind="integer", low=0, high=9),
        )
    )
    made = ColumnTransformer(
        [("levels", OneHotEncoder(handle_unknown="ignore"), ["one", "two"])], remainder="passthrough"
    )
    model = make_pipeline(made, head).fit(table, table.pay + 4 * table.one.isna() - 4 * table.two.isna() > 4)
    assert knows_none(model) == {"one"}
    got, x = wrap(model, schema), schema.encode(table)
    for answers in (got.native(x)[0], got.outputs(x)):
        np.testing.assert_allclose(answers, model.predict_proba(table), atol=1e-9)


def test_polars_and_pyarrow_tables(full, y, full_schema):
    import polars as pl
    import pyarrow as pa

    own = ColumnTransformer(
        [
            ("numeric", StandardScaler(), NUMERIC),
            ("levels", OneHotEncoder(handle_unknown="ignore"), ["job", "edu"]),
            ("flag", FunctionTransformer(lambda t: t.with_columns(pl.col("own") * 2).to_numpy()), ["own"]),
        ]
    )
    table = pl.from_pandas(full)
    model = make_pipeline(own, LogisticRegression()).fit(table, y)
    wrapped = wrap(model, full_schema, frame="polars", verify_on=table)
    assert wrapped.linear is not None, wrapped.notes
    with pytest.raises(ModelError, match=r"wrap\(\.\.\., frame='polars'\)"):
        wrap(model, full_schema, frame="pandas").native(full_schema.encode(full))
    seen: list[type] = []

    def count(rows: pa.Table) -> np.ndarray:
        seen.append(type(rows))
        return np.full(rows.num_rows, 0.25)

    out = wrap(count, full_schema, takes="frame", frame="pyarrow").outputs(full_schema.encode(full))
    assert out.shape == (len(full), 2) and set(seen) == {pa.Table}


def test_columns_in_another_order_and_only_some_of_them(frame, y, schema):
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(frame[["debt", "age"]], y)
    wrapped = agree_on(model, schema, frame, ["debt", "age"])
    assert wrapped.linear is not None
    assert not wrapped.linear.weight[schema.index("income")].any()


def agree_on(model: Any, schema: Schema, frame: pd.DataFrame, columns: list[str]) -> Wrapped:
    wrapped = wrap(model, schema)
    np.testing.assert_allclose(
        wrapped.outputs(schema.encode(frame)), model.predict_proba(frame[columns]), atol=1e-12
    )
    return wrapped


def test_array_trained_estimators_see_schema_order_and_level_numbers(full, y, full_schema):
    x = full_schema.encode(full)
    model = RandomForestClassifier(10, max_depth=6, random_state=0).fit(x, y)
    wrapped = wrap(model, full_schema)
    assert wrapped.forest is not None
    np.testing.assert_allclose(wrapped.outputs(x), model.predict_proba(x), atol=1e-12)
    half = Schema(
        tuple(
            f if f.name != "own" else Feature(name="own", kind="binary", levels=(5, 9))
            for f in full_schema.features
        )
    )
    seen = np.column_stack(
        [x[:, j] if n != "own" else np.where(x[:, j] == 1, 9, 5) for j, n in enumerate(half.names)]
    )
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(seen, y)
    np.testing.assert_allclose(wrap(model, half).outputs(x), model.predict_proba(seen), atol=1e-12)


def test_an_encoder_of_ones_own(full, y, full_schema):
    own = encoder(sparse_threshold=0).fit(full)
    model = LogisticRegression().fit(own.transform(full), y)
    wrapped = wrap(model, full_schema, encoder=own)
    assert wrapped.linear is not None
    expected = model.predict_proba(own.transform(full))
    np.testing.assert_allclose(wrapped.outputs(full_schema.encode(full)), expected, atol=1e-12)
    with pytest.raises(
        ModelError, match=r"array of 12 columns; the schema has 6 features.*encoder="
    ) as error:
        wrap(model, full_schema)
    assert "LogisticRegression" in str(error.value)


def test_the_label_is_the_models_own_word(frame, y, schema):
    inner = make_pipeline(encoder(), LogisticRegression()).fit(frame, y)
    model = FixedThresholdClassifier(inner, threshold=0.8, response_method="predict_proba").fit(frame, y)
    wrapped = wrap(model, schema)
    x = schema.encode(frame)
    out, label = wrapped.native(x)
    assert np.array_equal(label, model.predict(frame))
    assert (label != out.argmax(axis=1)).any()


def test_a_forest_that_ties_keeps_the_natives_decision(full_schema):
    x = np.tile(full_schema.low, (4, 1)).astype(float)
    x[:, 0] = [20, 30, 40, 50]
    model = RandomForestClassifier(2, max_depth=1, random_state=3, bootstrap=True).fit(x, [0, 1, 0, 1])
    wrapped = wrap(model, full_schema)
    grid = np.tile(x[:1], (60, 1))
    grid[:, 0] = np.arange(18, 78)
    out, label = wrapped.native(grid)
    assert np.array_equal(label, model.predict(grid))
    assert np.array_equal(wrapped.outputs(grid), out)
    assert (out[:, 0] == out[:, 1]).any()


@pytest.mark.parametrize("piped", [False, True])
def test_a_forest_is_not_asked_again_for_a_label_that_its_own_probabilities_show(
    full, full_schema, monkeypatch, piped
):
    x = full_schema.encode(full)
    forest = ExtraTreesClassifier(2, max_depth=1, random_state=0).fit(x, np.arange(len(x)) % 2)
    model = make_pipeline("passthrough", forest) if piped else forest
    expected, asked, ask = model.predict(x), [], ExtraTreesClassifier.predict_proba
    monkeypatch.setattr(
        ExtraTreesClassifier, "predict_proba", lambda self, rows: asked.append(len(rows)) or ask(self, rows)
    )
    wrapped = wrap(model, full_schema)
    asked.clear()
    np.testing.assert_array_equal(wrapped.native(x)[1], expected)
    assert asked == [len(x)]


# -- callables ---------------------------------------------------------------------------------------------


def test_callables_of_every_kind(full, full_schema):
    x = full_schema.encode(full)
    p = x[:, 0] / 100
    two = np.stack([1 - p, p], axis=1)
    first = wrap(lambda rows: rows[:, 0] / 100, full_schema)
    np.testing.assert_array_equal(first.outputs(x), two)
    assert first.classes == (0, 1) and first.access == Access.PROBABILITY
    both = wrap(
        lambda rows: np.stack([1 - rows[:, 0] / 100, rows[:, 0] / 100], 1), full_schema, classes=("no", "yes")
    )
    np.testing.assert_array_equal(both.outputs(x), two)
    assert both.classes == ("no", "yes")
    three = wrap(lambda rows: np.full((len(rows), 3), 1 / 3), full_schema)
    assert three.classes == (0, 1, 2) and three.outputs(x).shape == (len(x), 3)
    label = wrap(lambda rows: rows[:, 0] > 40, full_schema)
    assert label.access == Access.LABEL
    np.testing.assert_array_equal(label.outputs(x)[:, 1], (x[:, 0] > 40).astype(float))
    words = wrap(
        lambda t: np.where(t["age"] > 40, "yes", "no"), full_schema, takes="frame", classes=("no", "yes")
    )
    np.testing.assert_array_equal(words.native(x)[1], (x[:, 0] > 40).astype(int))
    logit = wrap(lambda rows: rows[:, 0] - 40, full_schema, output="logit")
    assert np.array_equal(logit.outputs(x)[:, 1] > 0.5, x[:, 0] > 40)
    value = wrap(lambda rows: rows[:, 1] * 2, full_schema, task="regression")
    np.testing.assert_array_equal(value.outputs(x)[:, 0], x[:, 1] * 2)


def test_a_callable_is_asked_in_one_batch_size_only(full, full_schema):
    sizes: set[int] = set()

    def ask(rows: np.ndarray) -> np.ndarray:
        sizes.add(len(rows))
        return np.full(len(rows), 0.5)

    model = wrap(ask, full_schema, batch_rows=64)
    x = full_schema.encode(full)
    assert model.outputs(x[:1]).shape == (1, 2) and model.outputs(x[:150]).shape == (150, 2)
    assert sizes == {64}
    assert (model.counter.rows, model.counter.calls) == (64 + 192, 1 + 3), (
        "the rows that fill up are asked too"
    )
    model.native(x[:65])
    assert (model.counter.native_rows, model.counter.native_calls) == (128, 2)


@pytest.mark.parametrize("output", ["probability", "label"])
@pytest.mark.parametrize("size", [None, 64])
def test_a_callable_is_handed_what_is_counted(full, full_schema, output, size):
    sizes: list[int] = []

    def ask(rows: np.ndarray) -> np.ndarray:
        sizes.append(len(rows))
        return np.full(len(rows), 0.5 if output == "probability" else 1)

    model = wrap(
        ask, full_schema, output=output, classes=(0, 1), **({} if size is None else {"batch_rows": size})
    )
    sizes.clear()
    x = full_schema.encode(full)
    for m in (1, 7, 150):
        model.outputs(x[:m])
        model.native(x[:m])
    counter = model.counter
    assert (
        sum(sizes) == counter.rows + counter.native_rows
        and len(sizes) == counter.calls + counter.native_calls
    )
    if size is None:
        assert sizes == [1, 1, 7, 7, 150, 150], "no rows that nobody asked about"


@pytest.mark.parametrize("size", [0, -3, 1.5, "many", True])
def test_a_batch_of_no_rows_is_refused(full_schema, size):
    with pytest.raises(ModelError, match="batch_rows=.* is no number of rows. Give 1 to 1,000,000, or None"):
        wrap(lambda rows: np.full(len(rows), 0.5), full_schema, batch_rows=size)


def _writes(rows):
    """Standardises the first two numbers in place, then decides."""
    rows[:, 0] -= 5.0
    rows[:, 1] -= 4.0
    return (rows[:, 0] + rows[:, 1] > 3.0).astype(int)


def _writes_frame(frame):
    frame["a"] -= 5.0
    frame["b"] -= 4.0
    return (frame["a"] + frame["b"] > 3.0).astype(int).to_numpy()


@pytest.mark.parametrize("size", [None, 512])
@pytest.mark.parametrize(("takes", "writes"), [("array", _writes), ("frame", _writes_frame)])
def test_a_callable_may_write_to_what_it_is_given(takes, writes, size):
    schema = Schema([Feature(name=name, kind="real", low=0, high=10) for name in "abc"])
    rng = np.random.default_rng(0)
    x = rng.uniform([0, 0, 0], [10, 10, 1], (2048, 3))
    asked, options = x.copy(), {"output": "label", "classes": (0, 1), "takes": takes, "batch_rows": size}
    careful = wrap(lambda rows: writes(rows.copy()), schema, **options)
    careless = wrap(writes, schema, **options)
    for m in (3, 512, 1024, 2048):
        np.testing.assert_array_equal(careless.native(asked[:m])[1], (x[:m, 0] + x[:m, 1] > 12).astype(int))
        np.testing.assert_array_equal(careless.outputs(asked[:m]), careful.outputs(x[:m]))
        np.testing.assert_array_equal(asked, x, err_msg=f"{takes} of {m} rows")
    people = x[x[:, 0] + x[:, 1] <= 12][:4].copy()
    one, two = (
        recommend(Problem(schema, model, Target(favourable=1), data=x[:300].copy()), people.copy(), k=2)
        for model in (careful, careless)
    )
    for name in ("x", "action", "after", "cost", "outcome"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_array_equal(two.x, people)
    assert two.found[:, 0].all() and (two.after[:, 0, :2].sum(axis=1) > 12).all()


def test_a_callable_may_return_the_same_array_every_time(full, full_schema):
    held = np.empty(64)

    def ask(rows: np.ndarray) -> np.ndarray:
        held[:] = rows[:, 0] / 100
        return held

    x = full_schema.encode(full)
    model = wrap(ask, full_schema, output="probability", batch_rows=64)
    np.testing.assert_array_equal(model.outputs(x[:150])[:, 1], x[:150, 0] / 100)


def test_steps_that_write_to_their_table_leave_the_rows_alone():
    """A pipeline with a step in place, on a table; an encoder and a preparation that write."""
    schema = Schema([Feature(name=name, kind="real", low=0, high=10) for name in "ab"])
    x = np.random.default_rng(0).uniform(0, 10, (1100, 2))
    y = (x.sum(axis=1) > 12).astype(int)
    table = pd.DataFrame(x, columns=["a", "b"])

    def shift(rows):
        rows -= 5.0
        return rows

    piped = make_pipeline(FunctionTransformer(shift), LogisticRegression()).fit(table.copy(), y)
    bare = LogisticRegression().fit(x - 5.0, y)
    for model in (
        wrap(piped, schema),
        wrap(bare, schema, encoder=shift),
        wrap(bare, schema, prepare=shift),
        wrap(lambda rows: bare.predict(rows), schema, prepare=shift, output="label"),
    ):
        rows = x.copy()
        label = model.native(rows)[1]
        model.outputs(rows)
        np.testing.assert_array_equal(rows, x)
        assert (label == y).mean() > 0.95


BAD_CALLABLES = [
    (lambda rows: np.full(len(rows), np.nan), {}, "returned nan in row 0 of"),
    (lambda rows: np.full((len(rows), 2), np.inf), {"output": "probability"}, "which is no probability"),
    (lambda rows: rows[:, 0], {}, r"which is no probability. Give wrap\(..., output='logit'\)"),
    (lambda rows: np.zeros(3), {}, "returned 3 results for .* rows. Return one for each row"),
    (lambda rows: 0.5, {}, "returned one value, 0.5, for a batch"),
    (lambda rows: np.zeros((len(rows), 3)), {"classes": (0, 1)}, "returns 3 columns; classes has 2 entries"),
    (lambda rows: np.array(["yes"] * len(rows)), {}, "returns labels such as 'yes'. Give all of them"),
    (
        lambda rows: np.array(["maybe"] * len(rows)),
        {"classes": ("no", "yes")},
        "label 'maybe', which is not one",
    ),
    (lambda rows: np.full(len(rows), 7), {}, "label 7, which is not one of its classes"),
    (
        lambda rows: rows["age"],
        {},
        r"label \d+, which is not one of its classes",
    ),  # it wants a table, and gets one
    (lambda rows: rows["age"], {"takes": "array"}, r"failed on .* rows: IndexError.*takes='frame'"),
    (lambda rows: np.zeros((len(rows), 2, 2)), {}, "returned shape"),
    (lambda rows: np.zeros((len(rows), 2)), {"task": "regression"}, r"returned shape .* needed"),
]


@pytest.mark.parametrize(("function", "options", "message"), BAD_CALLABLES)
def test_a_callable_that_answers_wrongly_is_named(function, options, message, full, full_schema):
    with pytest.raises(ModelError, match=message):
        wrap(function, full_schema, **options).outputs(full_schema.encode(full))


# -- errors ------------------------------------------------------------------------------------------------


def test_unfitted_and_strange_objects(schema, frame, y):
    for model in (LogisticRegression(), make_pipeline(encoder(), RandomForestClassifier())):
        with pytest.raises(ModelError, match="is not fitted. Call fit on training data first"):
            wrap(model, schema)
    with pytest.raises(ModelError, match="is a class. Give a fitted object"):
        wrap(LogisticRegression, schema)
    with pytest.raises(ModelError, match="cannot be wrapped: it is no known model"):
        wrap(3.5, schema)
    with pytest.raises(ModelError, match="wrap needs a Schema; got DataFrame"):
        wrap(make_pipeline(encoder(), LogisticRegression()).fit(frame, y), frame)
    with pytest.raises(ModelError, match="knows only the class 1"):
        wrap(make_pipeline(encoder(), DummyClassifier()).fit(frame, np.ones(len(frame), int)), schema)


def test_a_column_that_the_schema_lacks(frame, y, schema):
    model = make_pipeline(encoder(), LogisticRegression()).fit(frame, y)
    with pytest.raises(
        ModelError, match="trained on the column 'debt', which is not in the schema. Infer the schema"
    ):
        wrap(model, schema.drop("debt"))


def test_missing_values_that_the_model_does_not_take(frame, y, schema):
    model = make_pipeline(encoder(StandardScaler()), LogisticRegression()).fit(frame.fillna({"debt": 0.0}), y)
    with pytest.raises(
        ModelError, match="lets 'debt' be missing, but The pipeline.*Impute inside the pipeline"
    ):
        wrap(model, schema)


def test_rows_are_checked(full, y, full_schema):
    model = wrap(make_pipeline(encoder(), LogisticRegression()).fit(full, y), full_schema)
    x = full_schema.encode(full)[:3]
    with pytest.raises(ModelError, match=r"rows of shape \(3, 2\); the schema has 6 features"):
        model.outputs(x[:, :2])
    for column, value, message in (
        ("income", np.nan, "a missing value in 'income'. Fill it in, or declare missing=True"),
        ("income", np.inf, "an infinite value in 'income'. Fill it in."),
        ("job", 4.0, "level 4 of 'job', which has levels 0 to 3"),
        ("job", 0.5, "level 0.5 of 'job'"),
        ("edu", -1.0, "level -1 of 'edu'"),
    ):
        bad = x.copy()
        bad[1, full_schema.index(column)] = value
        with pytest.raises(ModelError, match=message):
            model.outputs(bad)
        with pytest.raises(ModelError, match=message):
            model.native(bad)
    assert model.outputs(x[:0]).shape == (0, 2) and model.native(x[:0])[0].shape == (0, 2)


def test_a_method_that_needs_more_is_refused(full_schema):
    model = wrap(lambda rows: rows[:, 0] > 40, full_schema)
    with pytest.raises(
        UnsupportedModel, match="'wachter' needs gradient access; The function .* offers label"
    ):
        model.needs(Access.GRADIENT, "wachter")
    with pytest.raises(ModelError, match="knows no class 'x'; it has 0, 1"):
        model.class_index("x")


def test_a_fast_path_that_disagrees_is_dropped(frame, y, schema, monkeypatch):
    """A reader that gets one number wrong must not be trusted."""
    from wayforward.model.adapters import sklearn_estimator

    model = make_pipeline(encoder(), LogisticRegression()).fit(frame, y)
    real = sklearn_estimator._linear_head

    def wrong(head: Any, enc: Any) -> Any:
        made = real(head, enc)
        if made is not None:
            made.form.weight[1] *= 1.001
        return made

    monkeypatch.setattr(sklearn_estimator, "_linear_head", wrong)
    wrapped = wrap(model, schema)
    assert wrapped.fast is None and wrapped.linear is None
    assert any(note.startswith("the fast path was dropped: outputs differ by") for note in wrapped.notes)
    x = schema.encode(frame)
    np.testing.assert_array_equal(wrapped.outputs(x), model.predict_proba(frame))


def test_a_library_that_is_missing_is_named(monkeypatch, full_schema, tmp_path):
    real = importlib.import_module

    def gone(name: str, *args: Any) -> Any:
        if name == "onnxruntime":
            raise ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime")
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", gone)
    with pytest.raises(
        MissingExtra, match=r"This needs onnxruntime. Install it with: pip install 'wayforward\[onnx\]'"
    ):
        wrap(tmp_path / "model.onnx", full_schema)


def test_lightgbm_on_columns_with_spaces_and_pandas_categories():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "years of service": rng.integers(0, 30, 300),
            "my dept": pd.Categorical(rng.choice(["it", "ops", "hr"], 300), ["ops", "it", "hr"]),
        }
    )
    schema = Schema.infer(table)
    y = (table["years of service"] + 5 * (table["my dept"] == "it") > 15).astype(int)
    numbers = table[["years of service"]]
    plain = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(numbers, y)
    narrow = Schema.infer(numbers)
    got = wrap(plain, narrow).native(narrow.encode(numbers))[0][:, 1]
    np.testing.assert_allclose(got, plain.predict_proba(numbers)[:, 1], atol=1e-12)
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(table, y)
    with pytest.raises(ModelError, match="frame=table"):
        wrap(model, schema).native(schema.encode(table))
    got = wrap(model, schema, frame=table).native(schema.encode(table))[0][:, 1]
    np.testing.assert_allclose(got, model.predict_proba(table)[:, 1], atol=1e-12)
