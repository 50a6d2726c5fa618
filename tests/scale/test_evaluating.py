"""Answers judged shard by shard: the numbers of one evaluation of everybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.society import Scenario, simulate
from wayforward.methods import method
from wayforward.scale import Answers, evaluate_table
from wayforward.scale.evaluating import Moments
from wayforward.testing import case


def test_shards_add_up_to_the_whole(tmp_path: Path) -> None:
    """Means, shares, their numbers and spreads, groups and outcomes; other intervals only where a bootstrap was."""
    it = case("forest", "independent", 0, 60)
    fitted = method("local-search").fit(it.problem)
    table = it.problem.schema.decode(it.x, like="pyarrow")
    answers = wf.recommend_table(fitted, table, tmp_path / "out", k=2, seed=1, rows_per_shard=17)
    whole = wf.evaluate(fitted.recommend(it.x, 2, seed=1).rounded, it.problem, "region", bootstrap=0)
    found = evaluate_table(answers, it.problem, "region")
    assert (found.n, found.n_refused, found.outcomes, found.refuted) == (
        whole.n, int(whole.refused.sum()), whole.outcomes, 0,
    )  # fmt: skip
    assert set(found.totals) == set(whole.totals)
    for name, expected in whole.totals.items():
        mine = found[name]
        assert mine.n == expected.n, name
        same = (
            ("value", "std", "low", "high")
            if name in ("usable", "legal", "cost", "cost_l0")
            else ("value", "std")
        )
        for part in same:
            assert getattr(mine, part) == pytest.approx(getattr(expected, part), abs=1e-9, nan_ok=True), (
                name,
                part,
            )
    by = {(row["group"], row["metric"]): row for row in found.by_group()}
    for row in whole.by_group():
        if row["metric"] in ("usable", "cost", "cost_l0"):
            other = by[row["group"], row["metric"]]
            assert (other["n"], other["value"]) == (row["n"], pytest.approx(row["value"], nan_ok=True))
    with pytest.raises(DataError, match="There is no metric 'beauty'"):
        found["beauty"]
    answers.file(0).unlink()
    assert evaluate_table(Answers.open(answers.folder), it.problem, metrics="headline").n == 60 - 17


@pytest.mark.parametrize("binary", [False, True])
def test_moments_of_parts_are_those_of_the_whole(binary: bool) -> None:
    """However they are cut, empty parts and missing values included."""
    rng = np.random.default_rng(4)
    values = (rng.random(500) < 0.3) * 1.0 if binary else rng.normal(3, 2, 500)
    values[rng.random(500) < 0.1] = np.nan
    total = Moments()
    for part in np.split(values, [0, 1, 1, 77, 300, 500]):
        total = total.plus(Moments.of(part))
    whole = Moments.of(values)
    assert (total.n, total.share) == (whole.n, binary)
    assert total.mean == pytest.approx(whole.mean, rel=1e-12)
    assert total.squares == pytest.approx(whole.squares, rel=1e-12)
    assert total.estimate().low < total.mean < total.estimate().high


def test_an_audit_and_a_society_are_the_same_with_more_workers() -> None:
    """Every number."""
    it = case("linear", "independent", 0, 60)
    groups = [Groups.of("region", it.x, it.problem.schema)]
    one, two = (
        audit(it.problem, it.x, groups, smallest=5, summaries=(), lasting_of=0, workers=n, on="threads")
        for n in (1, 2)
    )
    assert repr(one.overall) == repr(two.overall)  # what is withheld is NaN
    assert repr([part.gaps for part in one.attributes]) == repr([part.gaps for part in two.attributes])
    scenario = Scenario(rounds=2, people=80)
    three, four = (simulate(scenario, workers=n, on="threads") for n in (1, 2))
    assert repr(three.rows()) == repr(four.rows())
