"""What the classifiers are not trained with is named, with its value and what to give."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError, WorldError
from wayforward.testing.problems import case
from wayforward.training import PARE, CausallyFairInputs, EqualizingRecourse, StrategicRecourse, train

X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [EqualizingRecourse, StrategicRecourse, PARE])
@pytest.mark.parametrize(
    ("setting", "value"), [("C", 0), ("C", -1), ("C", np.nan), ("C", "a"), ("lam", None)]
)
def test_settings_that_are_none(kind, setting, value):
    """A negative C was trained with (a ridge that rewards weights), and 0 divided by zero."""
    with pytest.raises(ValueError, match=f"{setting}={value!r} must be a number"):
        kind(**{setting: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (EqualizingRecourse(rounds="a"), "rounds='a' must be a whole number"),
        (StrategicRecourse(improvable="0"), "'0' is no column"),
        (StrategicRecourse(improvable=[0.5]), "0.5 is no column"),
        (StrategicRecourse(gain=np.inf), "gain=inf"),
        (PARE(hidden=4), "hidden=4 must hold"),
        (PARE(hidden=(0,)), "must hold"),
        (PARE(allowed=5), "no AllowedChanges"),
        (PARE(hidden=(4,), batch=0), "batch=0"),
    ],
)
def test_other_settings(estimator, message):
    """They gave tracebacks, or were read as another column."""
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("gone", [np.nan, None])
def test_a_missing_group_is_no_group(gone):
    """People without a group were evened against as if they were one."""
    groups = np.where(np.arange(40) == 3, gone, np.array([1.0], dtype=object if gone is None else float))
    with pytest.raises(ValueError, match="no group in row 3"):
        EqualizingRecourse().fit(X, Y, groups=groups)


@pytest.mark.parametrize(
    ("weight", "message"), [(np.ones(3), "one weight a row"), (np.full(40, np.inf), "finite")]
)
def test_weights_that_do_not_fit(weight, message):
    """They ended in words of the solver."""
    with pytest.raises(ValueError, match=message):
        EqualizingRecourse().fit(X, Y, sample_weight=weight)


def test_train_and_inputs():
    """A reach that is none is named, one name may be left out, and what is no name of a feature is named."""
    it = case("linear", "independent", 0, 40)
    schema, y = it.problem.schema, np.arange(40) % 2
    with pytest.raises(DataError, match="reach=-1"):
        train(PARE(), schema, it.x, y, reach=-1)
    left = schema.names[0]
    columns = train(PARE(), schema, it.x, y, without=left)[0].get_feature_names_out()
    assert not any(name.startswith(left) for name in columns)
    with pytest.raises(WorldError, match="no feature \\[None\\]"):
        CausallyFairInputs(case("linear", "causal", 0, 40).problem.world, None).fit(it.x)
