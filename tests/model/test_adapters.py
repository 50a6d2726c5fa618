from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wayforward.errors import FileFormatError, ModelError
from wayforward.model import Access, wrap
from wayforward.schema import Schema

NUMERIC, LEVELS = ["age", "income", "debt"], ["job", "edu", "own"]


@pytest.fixture(scope="module")
def x(full, full_schema):
    return full_schema.encode(full)


@pytest.fixture(scope="module")
def encoder(full):
    own = ColumnTransformer(
        [("n", StandardScaler(), NUMERIC), ("l", OneHotEncoder(sparse_output=False), LEVELS)],
        sparse_threshold=0,
    )
    return own.fit(full)


def batch_free(model: Any, x: np.ndarray) -> None:
    out = model.outputs(x)
    order = np.random.default_rng(1).permutation(len(x))[:200]
    assert np.array_equal(model.outputs(x[order]), out[order])
    assert np.array_equal(model.outputs(x[3:4])[0], out[3])


# -- torch -------------------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")


def net(width: int, out: int, *end: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(width, 9),
        torch.nn.ReLU(),
        torch.nn.Linear(9, 5),
        torch.nn.Tanh(),
        torch.nn.Linear(5, out),
        *end,
    )


class Residual(torch.nn.Module):
    """A module with code of its own."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.last = torch.nn.Linear(width, width), torch.nn.Linear(width, out)

    def forward(self, z: Any) -> Any:
        return self.last(z + torch.relu(self.first(z)))


@pytest.mark.parametrize("out", [1, 2, 3])
@pytest.mark.parametrize("plain", [True, False])
def test_torch_logits(out, plain, x, full, full_schema, encoder):
    module = net(12, out) if plain else Residual(12, out)
    model = wrap(module, full_schema, encoder=encoder)
    assert model.fast.kind == ("dense" if plain else "torch"), model.notes
    assert model.access == (Access.WHITE_BOX if plain else Access.GRADIENT)
    with torch.no_grad():
        logits = module(torch.as_tensor(encoder.transform(full), dtype=torch.float32))
        expected = (
            torch.cat([1 - torch.sigmoid(logits), torch.sigmoid(logits)], 1)
            if out == 1
            else torch.softmax(logits, 1)
        ).numpy()
    np.testing.assert_allclose(model.outputs(x), expected, atol=2e-6)
    np.testing.assert_allclose(model.native(x)[0], expected, atol=2e-7)
    batch_free(model, x)


@pytest.mark.parametrize(
    ("end", "out"), [(torch.nn.Sigmoid(), 1), (torch.nn.Softmax(dim=1), 3), (torch.nn.Softmax(dim=1), 2)]
)
def test_torch_probabilities(end, out, x, full, full_schema, encoder):
    module = net(12, out, end)
    model = wrap(module, full_schema, encoder=encoder, classes=tuple("abc"[: max(out, 2)]))
    assert model.fast.kind == "dense" and "outputs are read as probabilities" in model.notes
    with torch.no_grad():
        p = module(torch.as_tensor(encoder.transform(full), dtype=torch.float32)).numpy()
    np.testing.assert_allclose(model.outputs(x)[:, -1], p[:, -1], atol=2e-6)


def test_torch_without_an_encoder_takes_numbers_and_one_hot_levels(x, full_schema):
    """Numbers as they are, one column a level, in schema order: 12 = 3 numbers + 4 + 3 + 2 levels."""
    module = net(12, 1)
    model = wrap(module, full_schema)
    code = []
    for j, f in enumerate(full_schema.features):
        code.append(np.eye(f.n_levels)[x[:, j].astype(int)] if f.has_levels else x[:, j : j + 1])
    with torch.no_grad():
        p = torch.sigmoid(module(torch.as_tensor(np.concatenate(code, 1), dtype=torch.float32)))[:, 0].numpy()
    np.testing.assert_allclose(model.outputs(x)[:, 1], p, atol=1e-4)
    np.testing.assert_allclose(model.native(x)[0][:, 1], p, atol=1e-6)


def test_torch_regression_and_errors(x, full_schema, encoder):
    model = wrap(net(12, 1), full_schema, encoder=encoder, task="regression")
    assert model.task == "regression" and model.outputs(x).shape == (len(x), 1)
    with pytest.raises(
        ModelError, match="takes 40 numbers a row; the schema has 6 features, 12 with one column a level"
    ):
        wrap(net(40, 1), full_schema)
    with pytest.raises(ModelError, match="returns 3 columns; classes has 2 entries"):
        wrap(net(12, 3), full_schema, classes=(0, 1))


@pytest.mark.parametrize("kind", ["lr", "mlp", "torch", "module", "multi", "regression", "missing"])
def test_networks_are_the_model_and_have_its_gradient(kind, frame, full, y, schema, full_schema, encoder):
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier

    from wayforward.model import train

    use, table = full_schema, full
    if kind == "lr":
        model = wrap(make_pipeline(encoder, LogisticRegression()).fit(full, y), full_schema)
    elif kind == "mlp":
        own = make_pipeline(encoder, MLPClassifier((8,), max_iter=400, tol=1e-2, random_state=0)).fit(full, y)
        model = wrap(own, full_schema)
    elif kind == "multi":
        model = wrap(make_pipeline(encoder, LogisticRegression()).fit(full, y + (full.age > 60)), full_schema)
    elif kind == "regression":
        model = wrap(make_pipeline(encoder, LinearRegression()).fit(full, y * 1.0), full_schema)
    elif kind == "missing":
        assert SimpleImputer is not None
        use, table = schema, frame
        model = wrap(train("mlp", schema, frame, y), schema)
    else:
        module = net(12, 2) if kind == "torch" else Residual(12, 1)
        model = wrap(module, full_schema, encoder=encoder)
    x = use.encode(table)[:200]
    network = model.network
    assert network is not None and network is model.network
    code = network.encode(x)
    assert code.shape == (200, network.width)
    np.testing.assert_allclose(network.outputs(code).detach().numpy(), model.outputs(x), atol=5e-6)
    np.testing.assert_allclose(network.decode(code).numpy(), x, rtol=1e-5, atol=1e-4)
    assert [b.feature for b in network.blocks] == list(range(use.d))
    for block in network.blocks:
        part = code[:, block.columns]
        if block.kind == "levels":
            assert ((part == 0) | (part == 1)).all() and (part.sum(1) == 1).all()
    # the gradient is that of the model: compare a step in income with a finite difference
    code = code.detach().clone().requires_grad_(True)
    network.logits(code)[:, -1].sum().backward()
    block = network.blocks[use.index("income")]
    slope = code.grad[:, block.columns.start].double().numpy() / block.scale
    h = 1.0 if kind == "module" else 1e-3
    up, down = x.copy(), x.copy()
    up[:, block.feature] += h
    down[:, block.feature] -= h

    def last_logit(rows: np.ndarray) -> np.ndarray:
        return network.logits(network.encode(rows))[:, -1].detach().double().numpy()

    numeric = (last_logit(up) - last_logit(down)) / (2 * h)
    close = np.isclose(slope, numeric, rtol=2e-2, atol=2e-5)
    assert close.mean() > 0.97 and np.abs(slope).max() > 0


# -- boosters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_xgboost_of_every_kind(classes, x, full, y, full_schema):
    xgb = pytest.importorskip("xgboost")
    labels = y if classes == 2 else np.where((y == 0) & (full.age > 60), 2, y)
    own = xgb.XGBClassifier(n_estimators=12, max_depth=4, n_jobs=1).fit(x, labels)
    model = wrap(own, full_schema, verify_on=full)
    assert model.fast.kind == "forest" and model.classes == tuple(range(classes))
    np.testing.assert_allclose(model.outputs(x), own.predict_proba(x), atol=1e-6)
    booster = wrap(own.get_booster(), full_schema)
    assert booster.fast.kind == "forest", booster.notes
    assert np.array_equal(booster.outputs(x), model.outputs(x))
    batch_free(model, x)
    value = xgb.XGBRegressor(n_estimators=9, max_depth=3, n_jobs=1).fit(x, x[:, 1] / 100 + y)
    reg = wrap(value, full_schema)
    assert reg.task == "regression" and reg.fast.kind == "forest"
    np.testing.assert_allclose(reg.outputs(x)[:, 0], value.predict(x), rtol=1e-5)
    early = xgb.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1, early_stopping_rounds=2)
    early.fit(x[:500], labels[:500], eval_set=[(x[500:], labels[500:])], verbose=False)
    stopped = wrap(early, full_schema)
    assert stopped.fast.kind == "forest", stopped.notes  # the trees after the best one are not read
    np.testing.assert_allclose(stopped.outputs(x), early.predict_proba(x), atol=1e-6)
    linear = xgb.XGBClassifier(n_estimators=5, booster="gblinear", n_jobs=1).fit(x, labels)
    native_only = wrap(linear, full_schema)
    assert native_only.forest is None
    np.testing.assert_allclose(native_only.outputs(x), linear.predict_proba(x), atol=1e-6)
    with pytest.raises(ModelError, match="XGBClassifier is not fitted"):
        wrap(xgb.XGBClassifier(), full_schema)


@pytest.mark.parametrize("classes", [2, 3])
def test_lightgbm_of_every_kind(classes, x, full, y, full_schema):
    lgb = pytest.importorskip("lightgbm")
    labels = y if classes == 2 else np.where((y == 0) & (full.age > 60), 2, y)
    quiet = {"verbose": -1, "n_jobs": 1}
    for options in ({}, {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}):
        own = lgb.LGBMClassifier(n_estimators=11, num_leaves=9, **quiet, **options).fit(x, labels)
        model = wrap(own, full_schema, verify_on=full)
        assert model.fast.kind == "forest", model.notes
        np.testing.assert_allclose(model.outputs(x), own.predict_proba(x), atol=1e-12)
        booster = wrap(own.booster_, full_schema)
        assert np.array_equal(booster.outputs(x), model.outputs(x))
    value = lgb.LGBMRegressor(n_estimators=9, **quiet).fit(x, x[:, 1])
    np.testing.assert_allclose(wrap(value, full_schema).outputs(x)[:, 0], value.predict(x), rtol=1e-12)
    by_category = lgb.LGBMClassifier(n_estimators=9, min_data_per_group=5, **quiet).fit(
        x, labels, categorical_feature=[2]
    )
    native_only = wrap(by_category, full_schema)
    np.testing.assert_allclose(native_only.outputs(x), by_category.predict_proba(x), atol=1e-12)
    with pytest.raises(ModelError, match="LGBMClassifier is not fitted"):
        wrap(lgb.LGBMClassifier(), full_schema)


def test_catboost_on_the_raw_table(x, full, y, full_schema):
    cat = pytest.importorskip("catboost")
    own = cat.CatBoostClassifier(iterations=20, depth=3, verbose=0, thread_count=1, allow_writing_files=False)
    own.fit(full, np.where(y == 1, "yes", "no"), cat_features=["job", "edu"])
    model = wrap(own, full_schema)
    assert model.classes == ("no", "yes") and model.access == Access.PROBABILITY
    np.testing.assert_allclose(model.outputs(x), own.predict_proba(full))
    assert [model.classes[k] for k in model.native(x)[1]] == list(own.predict(full))
    value = cat.CatBoostRegressor(iterations=9, depth=3, verbose=0, thread_count=1, allow_writing_files=False)
    value.fit(x, x[:, 1])
    reg = wrap(value, full_schema)
    assert reg.task == "regression"
    np.testing.assert_allclose(reg.outputs(x)[:, 0], value.predict(x))
    with pytest.raises(ModelError, match="CatBoostClassifier is not fitted"):
        wrap(cat.CatBoostClassifier(), full_schema)


# -- ONNX --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(full, y, full_schema, tmp_path_factory):
    """A pipeline on the raw table, and an estimator on an array, as ONNX files."""
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    folder = tmp_path_factory.mktemp("onnx")
    own = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), NUMERIC), ("l", OneHotEncoder(), ["job", "edu"])]),
        LogisticRegression(),
    ).fit(full, np.where(y == 1, "yes", "no"))
    kinds = {"age": Int64TensorType, "own": Int64TensorType, "job": StringTensorType, "edu": StringTensorType}
    types = [(n, kinds.get(n, FloatTensorType)([None, 1])) for n in full_schema.names if n != "own"]
    for name, zipmap in (("table", True), ("table_plain", False)):
        made = skl2onnx.convert_sklearn(own, initial_types=types, options={id(own): {"zipmap": zipmap}})
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
    x = full_schema.encode(full)
    array = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    made = skl2onnx.convert_sklearn(
        array, initial_types=[("x", DoubleTensorType([None, 6]))], options={id(array): {"zipmap": False}}
    )
    (folder / "array.onnx").write_bytes(made.SerializeToString())
    value = LinearRegression().fit(x, x[:, 1] + y)
    made = skl2onnx.convert_sklearn(value, initial_types=[("x", FloatTensorType([None, 6]))])
    (folder / "value.onnx").write_bytes(made.SerializeToString())
    return folder, own, array, value


def test_onnx_files_and_sessions(exported, x, full, full_schema):
    folder, own, array, value = exported
    for name in ("table", "table_plain"):
        model = wrap(
            folder / f"{name}.onnx", full_schema, **({} if name == "table" else {"classes": ("no", "yes")})
        )
        assert model.classes == ("no", "yes")
        np.testing.assert_allclose(model.outputs(x), own.predict_proba(full), atol=1e-5)
        assert [model.classes[k] for k in model.native(x)[1]] == list(own.predict(full))
        batch_free(model, x)
    model = wrap(str(folder / "array.onnx"), full_schema)
    assert model.classes == (0, 1)
    np.testing.assert_allclose(model.outputs(x), array.predict_proba(x), atol=1e-6)
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "array.onnx", providers=["CPUExecutionProvider"])
    assert np.array_equal(wrap(session, full_schema).outputs(x), model.outputs(x))
    reg = wrap(folder / "value.onnx", full_schema, task="regression")
    np.testing.assert_allclose(reg.outputs(x)[:, 0], value.predict(x), rtol=1e-4)


def test_onnx_errors(exported, full_schema, tmp_path):
    folder = exported[0]
    with pytest.raises(ModelError, match="has the input 'debt', which is not in the schema"):
        wrap(folder / "table.onnx", full_schema.drop("debt"))
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(FileFormatError, match="'broken.onnx' cannot be read as ONNX"):
        wrap(broken, full_schema)
    with pytest.raises(FileFormatError, match="'gone.onnx' does not exist. Check the path"):
        wrap(tmp_path / "gone.onnx", full_schema)
    with pytest.raises(FileFormatError, match="'model.pkl' is a pickle, which can run any code"):
        wrap(tmp_path / "model.pkl", full_schema)
    with pytest.raises(FileFormatError, match=r"'model.bin' is not an ONNX file. Open other files with"):
        wrap(str(tmp_path / "model.bin"), full_schema)


def test_onnx_inputs_of_whole_numbers_cut_nothing_off(exported, y, full, full_schema, tmp_path):
    """A fraction or a gap in a whole-number input is refused by its column: a cast would make it another person's."""
    import skl2onnx
    from skl2onnx.common.data_types import Int64TensorType

    table = wrap(exported[0] / "table.onnx", full_schema)
    row = full_schema.encode(full[:1])
    assert table.outputs(row).shape == (1, 2)
    for value, said in ((30.5, "30.5"), (1e19, "1e\\+19")):
        row[0, full_schema.index("age")] = value
        with pytest.raises(ModelError, match=f"whole numbers for 'age' and cannot be given {said}. Export"):
            table.outputs(row)
    with pytest.raises(
        ModelError, match="lets 'age' be missing, but The ONNX model 'table.onnx' does not accept"
    ):
        wrap(exported[0] / "table.onnx", full_schema.revise(age={"missing": True}))
    with pytest.raises(ModelError, match="takes whole numbers for 'age', whose values may have fractions"):
        wrap(exported[0] / "table.onnx", full_schema.revise(age={"kind": "real", "step": 0.5}))
    x = full_schema.encode(full)
    own = LinearRegression().fit(x, y)
    made = skl2onnx.convert_sklearn(own, initial_types=[("x", Int64TensorType([None, 6]))])
    (tmp_path / "whole.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(ModelError, match="takes whole numbers for 'income', whose values may have fractions"):
        wrap(tmp_path / "whole.onnx", full_schema, task="regression")


def test_a_schema_with_too_few_features_for_the_file(exported, full_schema):
    small: Schema = full_schema.drop("debt", "age")
    with pytest.raises(ModelError, match="takes 6 numbers a row; the schema has 4 features"):
        wrap(exported[0] / "array.onnx", small)
