"""First steps of a pipeline that were read: the bits of the steps themselves, and the steps wherever that is not so."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from wayforward.errors import ModelError
from wayforward.model import wrap
from wayforward.model.encoder import Encoder
from wayforward.model.wrapping import Wrapped
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="income", kind="real", low=0, high=9000, missing=True),
        Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
        Feature(name="rooms", kind="binary", levels=(1, 2)),
        Feature(name="town", kind="categorical", levels=("a", "b", "c", "d"), missing=True),
    )
)
NUMBERS, LEVELS = ["income", "age"], ["rooms", "town"]
HEADS = {
    "linear": lambda: LogisticRegression(
        solver="newton-cholesky"
    ),  # converges on values that are not scaled, too
    "network": lambda: MLPClassifier((8,), tol=1.0, n_iter_no_change=2, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=5),
}
SCALERS = {
    "standard": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "range": lambda: make_pipeline(MinMaxScaler((-1, 1)), SimpleImputer(strategy="median")),
    "robust": lambda: make_pipeline(SimpleImputer(), RobustScaler()),
    "largest": lambda: make_pipeline(SimpleImputer(), MaxAbsScaler()),
    "as they are": lambda: SimpleImputer(),
}


def rows(n: int, seed: int, missing: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.column_stack(
        [rng.uniform(0, 9000, n), rng.integers(18, 80, n), rng.integers(0, 2, n), rng.integers(0, 4, n)]
    )
    if missing:
        x[rng.random(n) < 0.1, 0] = np.nan
        x[rng.random(n) < 0.1, 3] = np.nan
    return x


def fitted(head: Any, scaler: Any, coder: Any = None, seed: int = 0) -> Any:
    x = rows(200, seed)
    yes = (np.nan_to_num(x[:, 0], nan=3000) + 900 * x[:, 2] > 4500).astype(int)
    coder = OneHotEncoder(handle_unknown="ignore") if coder is None else coder
    front = ColumnTransformer([("numbers", scaler, NUMBERS), ("levels", coder, LEVELS)])
    return make_pipeline(front, head).fit(SCHEMA.decode(x), yes)


def wrapped(pipeline: Any, **options: Any) -> Wrapped:
    made = wrap(pipeline, SCHEMA, **options)
    assert isinstance(made, Wrapped)
    return made


def same_answers(one: Wrapped, other: Wrapped, x: np.ndarray) -> None:
    for ours, theirs in zip(one.native(x), other.native(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_the_answers_are_those_of_the_steps_themselves_to_the_last_bit(head: str, scaler: str) -> None:
    pipeline = fitted(HEADS[head](), SCALERS[scaler]())
    one, itself = wrapped(pipeline), wrapped(pipeline, fast=False)
    assert one.native_path.steps_read and not itself.native_path.steps_read
    for n, missing in ((1, False), (7, False), (600, False), (50, True)):
        same_answers(one, itself, rows(n, 3, missing))


@pytest.mark.parametrize(
    "coder",
    [
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(min_frequency=0.3, handle_unknown="infrequent_if_exist"),
    ],
    ids=["numbers", "one left out", "rare ones together"],
)
def test_levels_are_what_the_coder_makes_of_them(coder: Any) -> None:
    pipeline = fitted(HEADS["linear"](), SCALERS["standard"](), coder)
    one = wrapped(pipeline)
    assert one.native_path.steps_read
    same_answers(one, wrapped(pipeline, fast=False), rows(100, 4, False))


def test_no_table_is_made_of_rows_without_a_missing_value(monkeypatch: pytest.MonkeyPatch) -> None:
    one, calls = wrapped(fitted(HEADS["linear"](), SCALERS["standard"]())), []
    transform = ColumnTransformer.transform
    monkeypatch.setattr(
        ColumnTransformer, "transform", lambda self, x: calls.append(len(x)) or transform(self, x)
    )
    one.native(rows(9, 5, False))
    assert calls == []
    gone = rows(9, 5, False)
    gone[2, 0] = np.nan
    one.native(gone)
    assert calls == [9]


@pytest.mark.parametrize("head", ["linear", "forest"])
def test_steps_that_are_trained_again_are_asked_themselves(head: str) -> None:
    pipeline = fitted(HEADS[head](), SCALERS["standard"]())
    one, x = wrapped(pipeline), rows(80, 6, False)
    other = rows(200, 7, False)
    other[:, 0] = other[:, 0] ** 2 / 9000
    pipeline.fit(SCHEMA.decode(other), (other[:, 0] > 2000).astype(int))
    same_answers(one, wrapped(pipeline, fast=False), x)


def test_a_parameter_that_is_changed_is_kept_to() -> None:
    pipeline = fitted(HEADS["linear"](), SCALERS["standard"]())
    one, x = wrapped(pipeline), rows(80, 6, False)
    before = one.native(x)[0]
    pipeline[0].named_transformers_["numbers"][1].with_mean = False
    assert (one.native(x)[0] != before).any()
    same_answers(one, wrapped(pipeline, fast=False), x)


@pytest.mark.parametrize(
    "numbers",
    [
        make_pipeline(
            SimpleImputer(), FunctionTransformer(np.log1p)
        ),  # may round otherwise in a row of another length
        make_pipeline(SimpleImputer(), SimpleImputer(missing_values=-1)),
        make_pipeline(
            SimpleImputer(), MaxAbsScaler(), StandardScaler()
        ),  # two divisions are read as one product
    ],
    ids=["a function", "another sign for what is missing", "two scalings"],
)
def test_what_may_be_read_amiss_is_asked_itself(numbers: Any) -> None:
    pipeline = fitted(HEADS["linear"](), numbers)
    one = wrapped(pipeline)
    assert not one.native_path.steps_read
    same_answers(one, wrapped(pipeline, fast=False), rows(40, 8, False))


def test_a_number_that_is_changed_in_place_counts_at_once() -> None:
    pipeline, x = fitted(HEADS["linear"](), SCALERS["standard"]()), rows(40, 8, False)
    one = wrapped(pipeline)
    before = one.native_path.predict(x)[0]
    scaler = pipeline.steps[0][1].named_transformers_["numbers"][-1]
    scaler.mean_[0] += 1000.0
    after = one.native_path.predict(x)[0]
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, wrapped(pipeline, fast=False).native_path.predict(x)[0])


def test_an_encoder_that_makes_other_bits_is_not_used() -> None:
    one = wrapped(fitted(HEADS["linear"](), SCALERS["standard"]()))
    native, encoder = one.native_path, one.fast.first_steps
    assert encoder is not None and native.encoded is not None
    column = encoder.columns[0]
    moved = [column.scaled(1.0, 1e-12), *encoder.columns[1:]]
    assert native.encoded(encoder, rows(50, 9)) is not None
    assert native.encoded(Encoder(SCHEMA, moved), rows(50, 9)) is None


def test_a_level_that_there_is_not_ends_in_the_same_error() -> None:
    pipeline, x = fitted(HEADS["linear"](), SCALERS["standard"]()), rows(3, 10, False)
    x[1, 3] = 7
    said = []
    for one in (wrapped(pipeline), wrapped(pipeline, fast=False)):
        with pytest.raises(ModelError, match="'town' has 7 in row 1") as caught:
            one.native_path.predict(x)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_another_process_reads_the_steps_again() -> None:
    one = wrapped(fitted(HEADS["network"](), SCALERS["standard"]()))
    there = pickle.loads(pickle.dumps(one))
    assert there.native_path.steps_read
    same_answers(one, there, rows(30, 11, False))
