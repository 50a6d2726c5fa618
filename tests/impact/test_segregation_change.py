"""Before and after recourse: who moves, what follows from it, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import wayforward as wf
from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.segregation import (
    DIMENSIONS,
    Areas,
    Change,
    before_after,
    before_after_each,
    compliant,
    land,
    places,
    segregation,
)
from wayforward.impact.segregation.change import impacted
from wayforward.recourse import Outcome, Recourse
from wayforward.testing.problems import Case, case


@lru_cache
def world() -> tuple[Case, Recourse]:
    it = case("linear", "independent", 0, 300)
    return it, wf.recommend(it.problem, it.x)


def test_a_table_does_as_well_as_encoded_rows() -> None:
    it, recourse = world()
    table, name = it.problem.schema.decode(it.x), it.problem.schema.names[0]
    groups = Groups.of(name, it.x, it.problem.schema, cut=[float(np.median(it.x[:, 0]))])
    assert str(before_after(it.problem, table, recourse, groups)) == str(
        before_after(it.problem, it.x, recourse, groups)
    )


def test_only_people_with_an_option_move() -> None:
    """Refused people stand where their option leads; accepted and unserved ones stay."""
    it, recourse = world()
    outcome = recourse.outcome.copy()
    lost = np.flatnonzero(recourse.found[:, 0])[:7]
    outcome[lost, 0] = Outcome.NOT_FOUND
    recourse = replace(recourse, outcome=outcome)
    got, counts = impacted(it.x, recourse)
    found = recourse.found[:, 0]
    np.testing.assert_array_equal(got[found], recourse.after[found, 0])
    np.testing.assert_array_equal(got[~found], it.x[~found])
    assert counts == {
        "people": 300,
        "asked": int((~recourse.accepted).sum()),
        "served": int(found.sum()),
        "followed": int(found.sum()),
    }
    assert counts["asked"] == counts["served"] + 7


def test_answers_for_some_of_the_people() -> None:
    """`who` as a mask or as positions; answers of other people are refused."""
    it, recourse = world()
    some = np.flatnonzero(it.refused)[::2]
    mask = np.isin(np.arange(300), some)
    want, _ = impacted(it.x, recourse[some], who=some)
    np.testing.assert_array_equal(impacted(it.x, recourse[some], who=mask)[0], want)
    moved = (want != it.x).any(1)
    assert moved.any() and not moved[~mask].any()
    with pytest.raises(DataError, match="Give `who`"):
        impacted(it.x, recourse[some])
    with pytest.raises(DataError, match="rows differ"):
        impacted(it.x, recourse[some], who=some[::-1])
    with pytest.raises(DataError, match="no option 1"):
        impacted(it.x, recourse, option=1)


def test_before_and_after_are_two_measurements_with_the_same_areas() -> None:
    """Places in the original ranges without the attribute; areas of the original people."""
    it, recourse = world()
    problem, schema = it.problem, it.problem.schema
    groups = Groups.of("phone", it.x, schema)
    got = before_after(problem, it.x, recourse, "phone")
    y, _ = impacted(it.x, recourse)
    start, end = (places(problem, rows, ["phone"], like=it.x) for rows in (it.x, y))
    areas = Areas.fit(start, land=land(schema, it.x, ["phone"]))
    for measured, points in ((got.before, start), (got.after, end)):
        want = segregation(points, groups, areas=areas)
        for name in DIMENSIONS:
            assert getattr(measured, name) == getattr(want, name)
    assert got.difference["atkinson"] == got.after.atkinson - got.before.atkinson
    same = before_after(schema, it.x, recourse, groups, leave_out=[], radius="original")
    assert same.after.radius == same.before.radius
    assert same.before.proximity != got.before.proximity
    one = before_after(problem, it.x, recourse, groups, keep=["income"], radius=0.1, areas=None)
    assert one.before.radius == one.after.radius == 0.1
    assert one.before.areas is not None and one.before.areas.centre.shape[1] == 1


def test_nobody_follows_and_nothing_moves() -> None:
    """Compliance 0: every dimension is the same, nothing is worse, the interval of the difference is 0."""
    it, recourse = world()
    got = before_after(it.problem, it.x, recourse, "region", compliance=0.0)
    assert got.followed == 0 and got.refused > 100
    assert set(got.difference.values()) == {0.0}
    assert got.worse == () and got.n_increases == 0
    for parts in got.intervals(resamples=10).values():
        assert (parts["difference"].low, parts["difference"].high) == (0.0, 0.0)


def test_a_share_follows_whoever_else_is_there() -> None:
    """The same people in any order and company; more compliance adds people and takes none away."""
    it, _ = world()
    few, more = (compliant(it.x, share, seed=3) for share in (0.2, 0.6))
    assert 0.1 < few.mean() < 0.3 and 0.5 < more.mean() < 0.7
    assert not (few & ~more).any()
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(compliant(it.x[order], 0.2, seed=3), few[order])
    np.testing.assert_array_equal(compliant(it.x[:50], 0.2, seed=3), few[:50])
    assert (compliant(it.x, 0.2, seed=4) != few).any()
    twins = np.repeat(it.x[:2], 2000, axis=0)  # equal people do not all do the same
    np.testing.assert_allclose(compliant(twins, 0.3).reshape(2, -1).mean(1), 0.3, atol=0.04)
    each = np.where(it.x[:, 1] > np.median(it.x[:, 1]), 1.0, 0.0)
    np.testing.assert_array_equal(compliant(it.x, each), each == 1)
    for bad in (1.2, -0.1, np.full(5, 0.5), float("nan")):
        with pytest.raises(DataError, match="compliance is a share"):
            compliant(it.x, bad)


def test_partial_compliance_lies_between() -> None:
    """Mean closeness moves by about the share of people who follow."""
    it, recourse = world()
    none, half, full = (
        before_after(it.problem, it.x, recourse, "region", compliance=share) for share in (0.0, 0.5, 1.0)
    )
    assert none.after.proximity < half.after.proximity < full.after.proximity
    assert 0.3 * full.served < half.followed < 0.7 * full.served
    assert half.served == full.served


def test_n_increases_counts_the_published_three_in_their_directions() -> None:
    """Higher centralization and Atkinson are worse, higher closeness and exposure are better."""
    it, recourse = world()
    before = before_after(it.problem, it.x, recourse, "phone").before
    worse = replace(
        before,
        centralization=before.centralization + 0.1,
        atkinson=before.atkinson - 0.01,
        proximity=before.proximity - 0.1,
        exposure=before.exposure - 0.1,
        concentration=before.concentration,
    )
    got = Change(before, worse, 300, 10, 10, 10)
    assert got.worse == ("centralization", "proximity", "exposure")
    assert got.n_increases == 2
    assert str(got).count("more segregated") == 3


def test_every_group_and_every_pair() -> None:
    """More than two groups, intersections, and JSON without a person's row."""
    it, recourse = world()
    rest = before_after_each(it.problem, it.x, recourse, "region", compliance=0.5)
    n = len(rest)
    assert n >= 3
    pair = before_after_each(it.problem, it.x, recourse, "region", versus="each other")
    assert len(pair) == n * (n - 1) // 2
    areas = {id(change.before.areas) for change in rest.values()}
    assert len(areas) == 1
    schema = it.problem.schema
    both = Groups.of("phone", it.x, schema).cross(Groups.of("housing", it.x, schema))
    crossed = before_after(it.problem, it.x, recourse, both)
    assert crossed.before.group in both.names
    alone = before_after(it.problem, it.x, recourse, both, leave_out=["phone", "housing"])
    assert crossed.before.proximity == alone.before.proximity
    text = json.dumps({name: change.to_dict() for name, change in rest.items()})
    assert len(text) < 1500 * n and "income" not in text


def test_paired_intervals_are_narrower_than_the_two_apart() -> None:
    """The same people before and after: most of what resampling changes cancels in closeness."""
    it, recourse = world()
    got = before_after(it.problem, it.x, recourse, "phone").intervals(resamples=60)
    part = got["proximity"]
    assert part["difference"].low <= part["difference"].value <= part["difference"].high
    assert part["difference"].std < 0.7 * np.hypot(part["before"].std, part["after"].std)
    assert part["difference"].low > 0  # everybody's recourse leads to the same side
    assert part["before"].value + part["difference"].value == pytest.approx(part["after"].value)


def test_a_sample_states_the_error_of_the_difference() -> None:
    """The same people are sampled before and after, so the difference is surer than both."""
    it, recourse = world()
    exact = before_after(it.problem, it.x, recourse, "phone")
    got = before_after(it.problem, it.x, recourse, "phone", sample=150)
    assert set(got.error) == {"centralization", "proximity"}
    assert got.error["proximity"] < got.after.error["proximity"]
    off = abs(got.difference["proximity"] - exact.difference["proximity"])
    assert off < 5 * got.error["proximity"]
    assert exact.error == {}


def test_groups_that_are_none_are_told() -> None:
    """A quantity, an unknown name, other people, and a radius that is none."""
    it, recourse = world()
    with pytest.raises(DataError, match="makes a quantity"):
        before_after(it.problem, it.x, recourse, "income")
    with pytest.raises(DataError, match="no feature 'sex'"):
        before_after(it.problem, it.x, recourse, "sex")
    with pytest.raises(DataError, match="known of 10 people"):
        before_after(it.problem, it.x, recourse, Groups.of("sex", ["f", "m"] * 5))
    with pytest.raises(DataError, match="radius is"):
        before_after(it.problem, it.x, recourse, "phone", radius="all")  # type: ignore[arg-type]
    outside = Groups.of("sex", ["f", "m"] * 150)  # the model does not see it
    assert before_after(it.problem, it.x, recourse, outside).before.group == "f"
    with pytest.warns(UserWarning, match="2 of 300"):
        some = Groups.of("sex", [None, None, *["f", "m"] * 149])
    got = before_after(it.problem, it.x, recourse, some)
    assert got.before.members + got.before.others == 298 and got.people == 300


def test_the_figure_says_it_without_colour() -> None:
    """A ring before, a triangle after; groups on the axis; intervals can be left out."""
    pytest.importorskip("matplotlib")
    from wayforward.impact.segregation import figure_segregation

    it, recourse = world()
    changes = before_after_each(it.problem, it.x, recourse, "region")
    figure = figure_segregation(changes, resamples=5)
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels == list(changes)
    assert len(figure.axes) == len(DIMENSIONS)
    markers = {line.get_marker() for line in figure.axes[2].lines}
    assert "o" in markers and markers & {"<", ">"}
    plain = figure_segregation(next(iter(changes.values())), resamples=0)
    assert len(plain.axes[0].lines) < len(figure.axes[0].lines)
    figure.canvas.draw()
    with pytest.raises(DataError, match="no change"):
        figure_segregation({})
