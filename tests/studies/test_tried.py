"""What was tried for iCARMA: a page of trials, the flow without ends, and when a trial counts as better."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.data.loan import GRAPH
from wayforward.preferences import GAMMAS
from wayforward.world.flow_plan import plan_of
from wayforward.world.graph import CausalGraph
from wayforward_studies.icarma.published import ROWS, IcarmaCase
from wayforward_studies.icarma.setting import IcarmaSetting
from wayforward_studies.icarma.solvers import IcarmaStudy
from wayforward_studies.icarma.tried import (
    GMSC_TRIALS,
    Trial,
    TriedReplication,
    TriedRequest,
    checks,
    complement_prior,
    complemented,
    one_hardest,
    without_ends,
)
from wayforward_studies.pages import Page


def test_a_page_of_trials(study: IcarmaStudy, tmp_path: Path) -> None:
    """The networks of the tables, read by both rules: the same people, and what is not measured is said."""
    some = tuple(
        Trial(name, name, ("constant",), "constant", features=(4,), stored=True, logit=name != "ours")
        for name in ("ours", "class-1 logit")
    )
    request = TriedRequest(extras=("tried-flow",), out=tmp_path)
    work = TriedReplication(request, make=lambda: study, trials=lambda name: some)
    page = work.page("tried-flow")
    ours, other = page.rows
    assert ours["hap_paper"] == other["hap_paper"] == 0.852
    assert len(study._models) == 1  # both asked the same
    assert [check.name for check in page.checks] == ["class-1 logit, ranks, constant weights, all 4"]
    assert "per profile (ranks, linear, all 4)" in page.notes and "lower prior" in page.notes
    again = TriedReplication.laid_out(Page.read(tmp_path / "tried-flow.json"))
    assert again.markdown() == (tmp_path / "tried-flow.md").read_text()


def test_a_flow_without_ends_has_no_walls(small: IcarmaSetting) -> None:
    """Neither walls nor cells, the same decisions, and advice that stays within the data."""
    last = replace(small.schema.features[-1], kind="integer", low=-40, high=40)
    closed = replace(small, schema=replace(small.schema, features=(*small.schema.features[:-1], last)))
    opened = without_ends(closed)
    graph = CausalGraph.read(GRAPH, nodes=small.schema.names)
    forms = [
        plan_of(one.schema, graph, small.train.round(), "spline", (8,), 8).columns[-1]
        for one in (closed, opened)
    ]
    assert [one.form for one in forms] == ["cells", "real"] and not np.isfinite(
        [forms[1].low, forms[1].high]
    ).any()
    x = small.refused("test")[:5]
    action = np.full(x.shape, np.nan)
    action[:, -1] = [0.5, -0.5, 1.5, 2.5, 1e4]
    got = opened.problem().population(x).snap(np.arange(5), action)[:, -1]
    np.testing.assert_allclose(got[:4], action[:4, -1])
    assert got[4] == small.train[:, -1].max()
    assert opened.learned is None and opened.schema.names == small.schema.names
    np.testing.assert_array_equal(opened.refused("test"), small.refused("test"))


def test_one_of_several_hardest_features_counts(study: IcarmaStudy) -> None:
    """Each person's hardest score stays the hardest and is had once; nobody's draw depends on who else is there."""
    wishes = study.wishes(IcarmaCase("loan", "scores", features=0))
    got = one_hardest(wishes, study.x)
    assert wishes.score is not None and got.score is not None
    asked = (wishes.score >= 1) & (wishes.score <= 4)
    np.testing.assert_array_equal(np.floor(got.score), wishes.score)
    np.testing.assert_array_equal(got.score[~asked], wishes.score[~asked])
    before, after = (np.where(asked, score, -1) for score in (wishes.score, got.score))
    some = asked.any(1)
    assert ((before == before.max(1, keepdims=True)).sum(1)[some] > 1).any()
    assert ((after == after.max(1, keepdims=True)).sum(1)[some] == 1).all()
    last = np.arange(len(study.x))[::-1][:3]
    alone = one_hardest(wishes.take(last), study.x[last])
    np.testing.assert_array_equal(alone.score, got.score[last])


def test_priors_fall_with_the_complement(study: IcarmaStudy) -> None:
    """Of four scores: linear ones as ours, concave ones higher, convex ones lower in the middle, the ends the same."""
    t = np.array([0.0, 1 / 3, 2 / 3, 1.0])
    shown = {
        "linear": [0.5, 0.35, 0.2, 0.05],
        "convex": [0.5, 0.25, 0.1, 0.05],
        "concave": [0.5, 0.417, 0.310, 0.05],
    }
    for profile, priors in shown.items():
        wish = t ** GAMMAS[profile]
        np.testing.assert_allclose(complement_prior(wish, GAMMAS[profile], 0.5, 0.05), priors, atol=5e-4)
        engine = complemented(preset="loan-scores", profile=profile, seeds=(1000,))._engine(
            study.problems["true"]
        )
        np.testing.assert_allclose(engine._prior(engine.torch.tensor(wish)), priors, atol=5e-4)


def test_every_line_of_gmsc_is_tried() -> None:
    """Each published line, with each trial, once."""
    stated = {row.case for row in ROWS if row.case.dataset == "gmsc"}
    for name in {trial.name for trial in GMSC_TRIALS}:
        cases = [
            IcarmaCase("gmsc", features=many, profile=profile)
            for trial in GMSC_TRIALS
            if trial.name == name
            for profile in trial.profiles
            for many in trial.features
        ]
        assert len(cases) == len(stated) and set(cases) == stated


def test_a_trial_is_better_where_fewer_numbers_are_worse() -> None:
    def row(trial: str, hap: float) -> dict[str, Any]:
        shares = {"validity": (0.9, 0.9), "plausibility": (0.9, 0.9), "hap": (hap, 0.4)}
        out: dict[str, Any] = {"trial": trial, "elicited": "ranks", "features": 3, "profile": "constant"}
        for name, (ours, paper) in shares.items():
            out |= {name: ours, f"{name}_low": ours - 0.01, f"{name}_high": ours + 0.01}
            out |= {f"{name}_paper": paper, f"{name}_tolerance": 0.08}
        return out

    lines = [row("ours", 0.8), row("near", 0.45), row("far", 0.9), row("ours", 0.5)]
    lines[-1] |= {"features": 4, "hap_paper": None, "hap_tolerance": None}
    got = {check.name: check for check in checks(lines)}
    assert [got[name].holds for name in ("near", "far")] == [True, None]
    assert got["near"].measured == "1 ours, 0 so, of 3"
