"""Models of every library, wrapped, under the contract that outsiders inherit."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wayforward.errors import ModelError
from wayforward.model import Access, Adapted, Model, adapters, register_adapter, train, wrap
from wayforward.schema import Feature, Schema
from wayforward.testing import ModelContract


class TestLogisticRegression(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return train("lr", schema, x, y)


class TestNetworkOfScikitLearn(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return train("mlp", schema, x, y)


class TestForest(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return RandomForestClassifier(12, max_depth=7, random_state=0).fit(x, np.where(y == 1, "yes", "no"))


class TestBoostingWithMissingValues(ModelContract):
    access = Access.WHITE_BOX

    def data(self) -> tuple[Schema, np.ndarray, np.ndarray]:
        schema, x, y = super().data()
        rating = schema.index("rating")
        x[::7, rating] = np.nan
        features = list(schema.features)
        features[rating] = Feature(name="rating", kind="real", low=0, high=100, missing=True)
        return Schema(tuple(features)), x, y

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return train("gb", schema, x, y)


class TestRegressionForest(ModelContract):
    access = Access.WHITE_BOX
    task = "regression"

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return RandomForestRegressor(9, max_depth=6, random_state=0).fit(x, y)


class TestSupportVectors(ModelContract):
    """Scores that rank, from an estimator that is asked on columns we encode."""

    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return SVC().fit(x, y)


class TestThreshold(ModelContract):
    """A threshold that was chosen, around a linear score that is read through it."""

    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return FixedThresholdClassifier(
            make_pipeline(StandardScaler(), LogisticRegression()), threshold=0.7
        ).fit(x, y)


class TestVote(ModelContract):
    """Members who vote."""

    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        members = [
            ("a", make_pipeline(StandardScaler(), LogisticRegression())),
            ("b", DecisionTreeClassifier(max_depth=4)),
            ("c", SVC()),
        ]
        return VotingClassifier(members).fit(x, y)


class TestVeto(ModelContract):
    """A class of somebody's own, whose label does not follow from its probabilities."""

    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return Veto(
            make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y), float(np.quantile(x[:, 0], 0.4))
        )


class Veto:
    """A model of probabilities, and a rule that no probability knows of."""

    classes_ = np.array([0, 1])

    def __init__(self, model: Any, least: float) -> None:
        self.model, self.least = model, least

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(x)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return (self.model.predict(x) == 1) & (x[:, 0] >= self.least)


class TestWholeNumbersReadValueByValue(ModelContract):
    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        own = ColumnTransformer(
            [("age", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["age"])],
            remainder="drop",
        )
        frame = schema.decode(x)
        return make_pipeline(own, RandomForestClassifier(9, max_depth=5, random_state=0)).fit(
            frame, x[:, 0] > 40
        )

    def test_a_method_finds_plans_that_the_model_itself_accepts(self) -> None:
        pytest.skip("age is all that it reads, and nobody can act on it")


class TestXgboost(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBClassifier(n_estimators=12, max_depth=4, n_jobs=1).fit(x, y)


class TestLightgbmBooster(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        lightgbm = pytest.importorskip("lightgbm")
        return lightgbm.LGBMClassifier(n_estimators=12, num_leaves=9, verbose=-1, n_jobs=1).fit(x, y).booster_


class TestCatboost(ModelContract):
    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        catboost = pytest.importorskip("catboost")
        quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
        return catboost.CatBoostClassifier(iterations=15, depth=3, **quiet).fit(x, y)


def _layers(schema: Schema, x: np.ndarray) -> Any:
    """Two layers that say yes to two of five people."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    first = torch.nn.Linear(schema.d + int((schema.n_levels[schema.has_levels] - 1).sum()), 7)
    made = torch.nn.Sequential(first, torch.nn.Tanh(), torch.nn.Linear(7, 2))
    with torch.no_grad():
        first.weight *= 1e-5  # raw units are thousands
        first.weight[:, schema.index("income")] = 2e-4
        made[-1].weight[1], made[-1].weight[0] = 1.0, -1.0
        p = wrap(made, schema).outputs(x)
        made[-1].bias[1] -= float(np.quantile(np.log(p[:, 1] / p[:, 0]), 0.6))
    return made


class TestTorchLayers(ModelContract):
    access = Access.WHITE_BOX

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return _layers(schema, x)


if find_spec("torch"):
    from torch.nn import Module

    class Squeezed(Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, z: Any) -> Any:
            return 0.9 * self.inner(z)


class TestTorchModuleWithCodeOfItsOwn(ModelContract):
    access = Access.GRADIENT

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        layers = _layers(schema, x)  # skips where there is no torch
        return Squeezed(layers)


class TestTorchModuleWithoutAFastPath(ModelContract):
    """Nothing of it is shown, so nothing is promised."""

    access = Access.PROBABILITY
    options = {"fast": False}

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return _layers(schema, x)


class TestOnnxFile(ModelContract):
    access = Access.PROBABILITY

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Any) -> None:
        self.folder = tmp_path

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        skl2onnx = pytest.importorskip("skl2onnx")
        pytest.importorskip("onnxruntime")
        own = RandomForestClassifier(9, max_depth=5, random_state=0).fit(x, y)
        made = skl2onnx.to_onnx(own, x[:1].astype(np.float32), options={id(own): {"zipmap": False}})
        (self.folder / "forest.onnx").write_bytes(made.SerializeToString())
        return self.folder / "forest.onnx"


def _by_income(rows: np.ndarray) -> np.ndarray:
    return rows[:, 1] / 9000


def _decided(table: Any) -> np.ndarray:
    return np.where(table["income"] > 4000, "yes", "no")


class TestFunctionWithProbabilities(ModelContract):
    access = Access.PROBABILITY

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        assert schema.names[1] == "income"
        return _by_income


class TestFunctionWithLabels(ModelContract):
    access = Access.LABEL
    options = {"takes": "frame", "classes": ("no", "yes")}

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return _decided


# -- an adapter of somebody else's --------------------------------------------------------------------------


class Table:
    """A model of a library that wayforward has never heard of."""

    limit = 5000.0

    def __call__(self) -> None:
        """Not a function of rows."""


def adapt(model: Table, schema: Schema, options: Any) -> Adapted:
    at = schema.index("income")
    return Adapted.of_labels(lambda x: x[:, at] > model.limit, (False, True), options.name)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "_ADAPTERS", dict(adapters._ADAPTERS))
    register_adapter(f"{Table.__module__}.Table", adapt)


@pytest.mark.usefixtures("registered")
class TestARegisteredAdapter(ModelContract):
    access = Access.LABEL

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        return Table()

    def test_it_is_found_by_the_type_of_the_model(self) -> None:
        model, _ = self.wrapped()
        assert isinstance(model, Model) and model.name == "The Table" and isinstance(model.wrapped, Table)


def test_a_library_has_one_adapter() -> None:
    with pytest.raises(ModelError, match="There is an adapter for 'sklearn' already"):
        register_adapter("sklearn", "mine:adapt")
    with pytest.raises(ModelError, match="Write it as 'module:function'"):
        register_adapter("mylib", "mine")


class _Forgetful(ModelContract):
    """A model whose rows depend on the batch must not pass."""

    access = Access.PROBABILITY
    options = {"batch_rows": None}

    def train(self, schema: Schema, x: np.ndarray, y: np.ndarray) -> Any:
        # so little that `wrap`, which asks about a row alone, takes it for rounding
        return lambda rows: np.full(len(rows), 0.5 + 1e-5 / len(rows))


def test_the_contract_notices_a_row_that_depends_on_its_batch() -> None:
    with pytest.raises(AssertionError):
        _Forgetful().test_a_row_does_not_depend_on_its_batch()


class _Boastful(TestFunctionWithLabels):
    access = Access.PROBABILITY


def test_the_contract_notices_an_access_that_is_not_there() -> None:
    with pytest.raises(AssertionError):
        _Boastful().test_access_is_what_it_says()


def test_rows_stand_where_a_processor_rounds_them_alike() -> None:
    """A model that rounds every fourth row of a batch otherwise is asked at the positions that agree."""
    from wayforward.model.fast import padded, steady_places

    def uneven(rows: np.ndarray) -> np.ndarray:
        return rows.sum(axis=1, keepdims=True) + 1e-9 * (np.arange(len(rows)) % 4 > 0)[:, None]

    x = np.random.default_rng(0).random((700, 3))
    places = steady_places(uneven, x[:4])
    assert places is not None and (places % 4 == 0).all() and len(places) == 128
    whole = padded(uneven, x, places=places)
    np.testing.assert_array_equal(whole, x.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(padded(uneven, x[::-1][:5], places=places), whole[::-1][:5])
    assert steady_places(lambda rows: rows[:, :1], x[:4]) is None
