"""Plans after a change of the model: every state of a plan, counted, against the model asked row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate.rechecked import Still, recheck
from wayforward.testing.problems import case


def test_nothing_changes_under_the_same_problem(tmp_path: Path) -> None:
    it = case("forest", "independent", 0, 40)
    got = wf.recommend(it.problem, it.x, k=2)
    found = recheck(got.save(tmp_path / "a.parquet"), it.problem)
    assert (found.still[got.found] == Still.HOLDS).all()
    counts = found.counts()
    assert counts["people_with_a_plan"] == counts["still_have_one"] == int(got.found[:, 0].sum()) > 0
    assert counts["lost_all"] == counts["accepted_now"] == counts["refused_now"] == 0
    assert (found.accepted == got.accepted).all()


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_under_another_model_every_plan_is_asked_about(world: str) -> None:
    it = case("forest", world, 0, 60)
    got, plain = wf.recommend(it.problem, it.x, k=2), it.problem.model

    def drifted(rows: np.ndarray) -> np.ndarray:
        return np.clip(plain.native(rows)[0][:, 1] + 0.4 * np.sin(rows[:, 1] / 200), 0, 1)

    model = wf.wrap(drifted, it.problem.schema, classes=plain.classes, output="probability")
    problem = it.problem.decided_by(model, it.problem.target)
    found = recheck(got, problem)
    saved = got.rounded
    now = problem.reached(saved.x)[0]
    for i, o in zip(*np.nonzero(saved.found), strict=True):
        yes = bool(problem.reached(saved.after[i, o][None])[0][0])
        expected = Still.NOT_NEEDED if now[i] else Still.HOLDS if yes else Still.A_NO
        assert found.still[i, o] == expected
    counts = found.counts()
    assert sum(counts["options"].values()) == int(saved.found.sum())
    assert (
        counts["people_with_a_plan"] == counts["still_have_one"] + counts["lost_all"] + counts["accepted_now"]
    )
    assert len({one.name for one in found.still[saved.found]}) > 1
    frame = found.to_frame("dict")
    assert len(frame["person"]) == int(saved.found.sum()) and set(frame["still"]) <= {s.name for s in Still}


def test_what_is_not_allowed_any_more_is_said_and_the_model_not_asked() -> None:
    it = case("forest", "independent", 0, 30)
    got = wf.recommend(it.problem, it.x)
    schema = it.problem.schema
    acts = np.flatnonzero(got.acted[got.found].any(0))
    fixed = schema.revise(**{schema.names[j]: {"actionability": "immutable"} for j in acts})
    found = recheck(got, it.problem.with_(schema=fixed))
    assert (found.still[got.found] == Still.NOT_ALLOWED).all()
    assert np.isnan(found.score[got.found]).all()
    assert found.counts()["lost_all"] == int(got.found[:, 0].sum())


def test_answers_about_other_columns_are_refused() -> None:
    it = case("forest", "independent", 0, 12)
    got = wf.recommend(it.problem, it.x)
    with pytest.raises(DataError, match="needs a wf.Problem"):
        recheck(got, got)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="needs answers"):
        recheck(3, it.problem)  # type: ignore[arg-type]
    odd = replace(got, schema=wf.Schema(tuple(reversed(got.schema.features))), problem=None)
    with pytest.raises(DataError, match="same"):
        recheck(odd, it.problem)
