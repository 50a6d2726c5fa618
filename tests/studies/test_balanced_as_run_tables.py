"""Balanced recourse on real tables as the public code runs it: classifier, searches, and how answers are counted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from wayforward.groups import Groups
from wayforward.schema import Feature, Schema
from wayforward_studies import commands
from wayforward_studies.balanced import as_run_nets, as_run_real, as_run_tables
from wayforward_studies.balanced.as_run_real import TablePeople, counted
from wayforward_studies.balanced.as_run_tables import AsRunTablesReplication, AsRunTablesRequest
from wayforward_studies.balanced.setting import BalancedStudy
from wayforward_studies.pages import Page

pytest.importorskip("torch")
N = 240


@pytest.fixture(scope="module")
def people() -> TablePeople:
    """Two numbers that move, one that does not, and a group: who has more of the first gets a yes."""
    rng = np.random.default_rng(3)
    group = np.arange(N) % 2
    x = np.column_stack([rng.random(N), 0.3 + 0.3 * group + 0.1 * rng.random(N), np.arange(N) % 3 / 2, group])
    numbers = [
        Feature(name=name, kind="real", low=0, high=1, actionability=acts)
        for name, acts in (("a", "actionable"), ("b", "actionable"), ("fixed", "immutable"))
    ]
    side = Feature(name="g", kind="binary", levels=(0, 1), actionability="immutable", sensitive=True)
    y = (x[:, 0] + 0.1 * x[:, 2] > 0.45).astype(int)
    groups = Groups("g", ("one", "other"), group.astype(np.int64), 3)
    study = BalancedStudy("toyrun-g", Schema((*numbers, side)), x, y, groups, ("a", "b"), "", 0)
    return TablePeople(study, weights=as_run_real.rmsprop_net(x, y, 0, rate=0.02, epochs=200, batch=64))


def test_the_network_learns_and_its_slope_is_that_of_its_score(people: TablePeople) -> None:
    """Against central differences, for some of the refused by number; scores take one or many rows a person."""
    assert (people.refused == (people.study.y == 0)).mean() > 0.95
    who = np.array([4, 1, 7])
    rows = people.here[who]
    steps = np.eye(2) * 1e-6
    around = people.score(rows[:, None] + steps, who) - people.score(rows[:, None] - steps, who)
    np.testing.assert_allclose(people.slope(rows, who), around / 2e-6, atol=1e-5)
    np.testing.assert_allclose(people.score(people.here), people._odds(people.study.x)[people.refused])
    np.testing.assert_allclose(people.score(people.here)[who], people.score(rows, who))


def test_descent_over_everything_is_invalid_once_what_cannot_change_is_put_back(people: TablePeople) -> None:
    """Its valid rows needed the immutables; within limits everybody ends just beyond the boundary."""
    within, over = (as_run_real.METHODS[m]([people])[0] for m in ("wachter, within limits", "wachter"))
    assert (people.score(within) > 0).all()
    moved = replace(people, all_free=True)
    assert moved.here.shape[1] == 4 and over.shape == within.shape == people.here.shape
    assert counted(people, within)["invalid"] == 0 < counted(people, over)["invalid"]


def test_equal_immutables_share_draws_and_who_has_none_gets_the_farthest(
    people: TablePeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 80 likely draws for each of six kinds of people; where the classifier says no to all, the farthest."""
    monkeypatch.setattr(as_run_nets, "DENSITY_EPOCHS", 40)
    for name, few in (("ENOUGH", 200), ("PROPOSED", 400), ("MOST", 4000)):
        monkeypatch.setattr(as_run_real, name, few)
    (end,) = as_run_real.ebr([people])
    kinds, kind = np.unique(people.given, axis=0, return_inverse=True)
    assert len(kinds) == 6 and (people.score(end) > 0).all()
    hard = replace(people, weights=(*people.net[:3], people.net[3] - 100.0))
    hard.__dict__["refused"] = people.refused
    (none,) = as_run_real.ebr([hard])
    assert counted(hard, none)["invalid"] == 1
    away, near = (np.linalg.norm(one - people.here, axis=1).mean() for one in (none, end))
    assert away > near
    one = kind.ravel() == 0
    assert len(np.unique(none[one], axis=0)) <= 4 < one.sum()  # the corners of one pool


def test_autoencoders_trained_side_by_side_are_those_trained_alone(people: TablePeople) -> None:
    """To the precision of single floats; their answers are accepted."""
    x, side = people.study.x[:, :2], people.study.groups.member
    how = {"hidden": (16,), "latent": 2, "epochs": 3, "batch": 32}

    def trained(seeds: list[int]) -> as_run_nets.Autoencoders:
        rows, held, group = (np.stack([a] * len(seeds)) for a in (x, people.study.x[:, 2:3], side))
        return as_run_nets.Autoencoders(rows, held, seeds, group=group, **how)

    both, alone = trained([5, 6]).alone(1), trained([6]).alone(0)
    np.testing.assert_allclose(both.encode(x), alone.encode(x), atol=1e-4)
    (end,) = as_run_real._decoded([people], 19, True, epochs=3, batch=32)
    found = ~np.isnan(end[:, 0])
    assert found.any() and (people.score(end)[found] > 0).all()


def test_who_finds_nothing_goes_to_the_point_of_zeros(people: TablePeople) -> None:
    """And is invalid, and pays for the way there."""
    end = np.full_like(people.here, np.nan)
    got = counted(people, end)
    assert got["invalid"] == 1 and got["cost"] == pytest.approx(np.linalg.norm(people.here, axis=1).mean())


def test_the_page_has_a_table_for_each_setting_and_is_resumed(
    people: TablePeople, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts beside the paper's lines; a second run asks nobody."""
    study = replace(people.study, name="lawrun-g")
    monkeypatch.setattr(AsRunTablesReplication, "study", lambda *_: study)
    monkeypatch.setattr(
        as_run_tables, "METHODS", dict.fromkeys(("ebr", "wachter"), as_run_real.wachter_within)
    )
    request = AsRunTablesRequest(datasets=("lawrun-race",), seeds=1, out=tmp_path / "out", cache=tmp_path)
    page = AsRunTablesReplication(request).page("as-run-tables")
    assert page.quick and [line.shown[0] for line in page.tables[0].lines] == ["origin", "ebr", "wachter"]
    assert page.rows[0]["paper"] == 0.0288
    monkeypatch.setattr(as_run_tables, "counted", lambda *_: pytest.fail("asked again"))
    assert AsRunTablesReplication(request).page("as-run-tables").rows == page.rows
    assert commands.render("balanced", tmp_path / "out")[0][1] is AsRunTablesReplication
    shutil.copy(Path(__file__).parents[2] / "docs/replication/balanced/table-6.json", tmp_path / "out")
    commands.render("balanced", tmp_path / "out")
    beside = Page.read(tmp_path / "out/as-run-tables-quick.json").provenance["table 6"]
    assert page.provenance["table 6"] == {} and beside["law-race origin proximity"] == "within"
    asked = partial(commands.works, "balanced")
    assert asked({"extras": ("as-run-tables",)})[0].request.chosen == tuple(as_run_tables.AS_RUN)
