"""Rows hold places of levels: a model, wishes or answers of another schema would be read as something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import wayforward as wf
from wayforward.answers import letter
from wayforward.answers.refusal import reasons
from wayforward.errors import WayforwardError
from wayforward.evaluate import evaluate
from wayforward.evaluate.robustness import keeps, robustness
from wayforward.impact.honesty import family
from wayforward.impact.segregation import before_after
from wayforward.impact.summaries import summarize
from wayforward.people.dialogue import Dialogue
from wayforward.preferences import on_behalf

rng = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "savings": rng.uniform(57.4597, 10_000, 200),
        "income": rng.integers(512, 9_000, 200),
        "home": rng.choice(["free", "own", "rent"], 200),
    }
)
YES = (TABLE["savings"] + TABLE["income"] + 4_000 * (TABLE["home"] == "own") > 11_000).astype(int)
SCHEMA = wf.Schema.infer(TABLE)
PIPE = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["home"]), remainder="passthrough"),
    LogisticRegression(max_iter=1000),
).fit(TABLE, YES)
REFUSED = TABLE[PIPE.predict(TABLE) == 0].head(4)
OTHER_ORDER = SCHEMA.revise(home={"levels": ["rent", "own", "free"]})
REVERSED = wf.Schema(SCHEMA.features[::-1])


@pytest.fixture(scope="module", autouse=True)
def _asked() -> None:
    """Asked for when the first test runs: whoever only collects tests would compile kernels for half a minute."""
    global PROBLEM, GOT, TURNED
    PROBLEM = wf.Problem(SCHEMA, PIPE, wf.Target(1), data=TABLE)
    GOT = wf.recommend(PROBLEM, REFUSED)
    TURNED = wf.Problem(OTHER_ORDER, PIPE, wf.Target(1), data=TABLE)


def wishes(schema: wf.Schema) -> wf.Preferences:
    return wf.Preferences.none(schema, 4).freeze("savings")


@pytest.mark.parametrize(
    "call",
    [
        lambda: wf.Problem(OTHER_ORDER, wf.wrap(PIPE, SCHEMA), wf.Target(1), data=TABLE),
        lambda: PROBLEM.with_(schema=OTHER_ORDER),
        lambda: PROBLEM.with_(schema=REVERSED),
        lambda: wf.recommend(PROBLEM, REFUSED, preferences=wishes(REVERSED)),
        lambda: wf.recommend(PROBLEM, REFUSED, preferences=wishes(OTHER_ORDER)),
        lambda: PROBLEM.check(GOT.x, GOT.action, 1, preferences=wishes(REVERSED)),
        lambda: evaluate(GOT, TURNED),
        lambda: GOT.judged_by(TURNED),
        lambda: wf.recheck(GOT, TURNED),
        lambda: letter(TURNED, GOT, 0),
        lambda: reasons(TURNED, GOT, 0),
        lambda: robustness(GOT, TURNED),
        lambda: keeps(GOT, wf.Problem(OTHER_ORDER, PIPE, wf.Target(1), data=TABLE, robust=wf.problem.UnderNoise(0.05))),
        lambda: wf.honesty(TURNED, GOT),
        lambda: family(TURNED, GOT, [PIPE]),
        lambda: summarize(TURNED, TABLE, beside=wf.recommend(PROBLEM, TABLE)),
        lambda: before_after(OTHER_ORDER, REFUSED, GOT, "home"),
        lambda: wf.Problem(
            SCHEMA, PIPE, wf.Target(1), data=TABLE, robust=wf.problem.AllModels([wf.wrap(PIPE, OTHER_ORDER)])
        ),
        lambda: wf.Preferences.concat([wishes(SCHEMA), wishes(OTHER_ORDER)]),
        lambda: on_behalf(wishes(SCHEMA), wishes(OTHER_ORDER)),
        lambda: Dialogue(PROBLEM, REFUSED[:1], preferences=wishes(OTHER_ORDER).take([0])),
    ],
)  # fmt: skip
def test_what_another_schema_reads_otherwise_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(WayforwardError, match="home|another order"):
        call()


def test_a_schema_that_differs_in_who_may_change_what_is_the_same() -> None:
    mine = SCHEMA.revise(savings={"actionability": "immutable"}, income={"high": 20_000, "step": 10})
    got = wf.recommend(PROBLEM.with_(schema=mine), REFUSED, preferences=wishes(SCHEMA))
    assert got.found.any()
    assert wf.Problem(mine, wf.wrap(PIPE, SCHEMA), wf.Target(1), data=TABLE).schema is mine
    assert wf.recheck(GOT, PROBLEM.with_(schema=mine)).counts()


@pytest.mark.parametrize("grid", [0.05, {"savings": 500.0, "income": 400}])
def test_a_grid_does_not_count_from_somebodys_value(grid: Any) -> None:
    """The least savings are one person's: a grid that counted from them would tell their last digits to everybody."""
    problem = PROBLEM.with_(disclosure=wf.problem.Disclosure(grid=grid))
    step = {name: problem.schema[name].step for name in ("savings", "income")}
    got = wf.recommend(problem, REFUSED, k=3)
    assert got.found.any()
    for name, size in step.items():
        told = got.action[..., SCHEMA.index(name)]
        np.testing.assert_allclose(np.round(told / size) * size, told, rtol=1e-12)
        for end in (problem.schema[name].low, problem.schema[name].high):
            assert end % size == pytest.approx(0, abs=1e-9)
            assert end not in (TABLE[name].min(), TABLE[name].max())
    declared = SCHEMA.revise(savings={"low": 10.0, "high": 10_010.0, "bounds": "declared"})
    kept = PROBLEM.with_(schema=declared).with_(disclosure=wf.problem.Disclosure(grid={"savings": 500.0}))
    assert kept.schema["savings"].low == 10.0  # public, and the law's
