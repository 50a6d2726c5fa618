"""Plans after a change of the model: every state of a plan, counted, against the model asked row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate.rechecked import Rechecked, Still, recheck
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


def test_in_another_world_acts_lead_elsewhere_and_that_is_said() -> None:
    """Judged are the same acts with the consequences of the other world: of one without any, the acts alone."""
    it = case("forest", "causal", 0, 60)
    got = wf.recommend(it.problem, it.x, k=2).rounded
    assert not recheck(got, it.problem).elsewhere.any()
    schema, model, target = it.problem.schema, it.problem.model, it.problem.target
    alone = wf.Problem(schema, model, target, data=it.problem.require_reference())
    found = recheck(got, alone)
    after = np.where(np.isnan(got.action), got.x[:, None], got.action)
    moved = it.problem.schema.differs(after, got.after).any(2) & got.found
    np.testing.assert_array_equal(found.elsewhere, moved)
    assert found.counts()["lead_elsewhere"] == moved.sum() > 0
    for i, o in zip(*np.nonzero(moved & np.isfinite(found.score)), strict=True):
        assert found.score[i, o] == alone.reached(after[i, o][None])[1][0]


def test_of_nobody_there_is_nothing_to_join() -> None:
    with pytest.raises(DataError, match="no answers to judge again"):
        Rechecked.concat([])


def test_shards_are_judged_as_one_answer(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    it = case("forest", "independent", 0, 40)
    table = it.problem.schema.decode(it.x, "pandas")
    answers = wf.recommend_table(it.problem, table, tmp_path / "out", rows_per_shard=9, k=2, room=0.0)
    fixed = it.problem.with_(schema=it.problem.schema.revise(savings={"actionability": "immutable"}))
    whole = wf.recheck(wf.recommend(it.problem, table, k=2), fixed)
    for given in (answers, tmp_path / "out", str(tmp_path / "out")):
        found = wf.recheck(given, fixed)
        assert found.counts() == whole.counts()
        np.testing.assert_array_equal(found.still, whole.still)


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
