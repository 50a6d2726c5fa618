"""Regions hold what they promise: every point drawn in them is an option, and on lattices no side can be moved out."""

from __future__ import annotations

import itertools
import json
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.lattices import lattice

import wayforward as wf
from wayforward.errors import FileFormatError, ProblemError
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.regions import rows_in
from wayforward.recourse import Recourse
from wayforward.schema import Feature, Schema
from wayforward.testing.problems import case

pytest.importorskip("sklearn")

FOR3 = Schema(
    (Feature(name="x1", kind="real", low=0, high=6), Feature(name="x2", kind="real", low=0, high=6))
)


def three_stumps():
    """F-FOR3: trees x1 > 2, x2 > 3, x1 > 4.5; a yes takes two of three votes."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, size=(4000, 2))
    votes = (x[:, 0] > 2).astype(int) + (x[:, 1] > 3) + (x[:, 0] > 4.5)
    forest = RandomForestClassifier(1, max_depth=4, bootstrap=False, max_features=None, random_state=0)
    return forest.fit(x, (votes >= 2).astype(int)), x


def refused(problem, x):
    return x[~problem.reached(x)[0]]


def judged(problem, recourse, who, action):
    people = problem.population(recourse.x, recourse.preferences)
    decision = np.zeros(people.n, dtype=bool), np.full(people.n, np.nan)
    return problem.judge_options(people, who, action, decision)[1]


@pytest.mark.parametrize("kind", ["forest", "linear", "network"])
def test_every_one_of_many_points_drawn_in_regions_is_an_option(kind):
    it = case(kind, seed=2)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:20], k=2, seed=0)
    regions = found.regions()
    who, slot = np.nonzero(found.found)
    assert (regions.proved == found.found).all()
    m = 100_000 // (3 * len(who)) + 1
    rows = np.repeat(np.arange(len(who)), m)
    u = np.random.default_rng(1).random((len(rows), found.d))
    u[::50] = np.round(u[::50])  # the corners, too
    u = np.clip(u, 1e-12, 1 - 1e-12)
    action = rows_in(found, regions, who[rows], slot[rows], u)
    assert len(action) > 33_000
    assert judged(it.problem, found, who[rows], action).all()
    wider = np.nan_to_num(regions.high - regions.low)[who, slot].sum(1) > 0
    assert wider.mean() > 0.8  # a promise about nothing would be easy to keep


@lru_cache(maxsize=64)
def lattice_problem(kind, seed, rules):
    rng = np.random.default_rng(seed)
    features = (
        Feature(name="a", kind="integer", low=0, high=7),
        Feature(name="b", kind="real", low=0, high=4, step=0.5, direction="increase"),
        Feature(name="c", kind="categorical", levels=("x", "y", "z", "w")),
        Feature(name="d", kind="ordinal", levels=("l", "m", "h", "t")),
    )
    told = ("after.a + after.b <= 8", "after.c == 'z' implies after.a >= 2") if rules else ()
    x = np.column_stack(
        [
            rng.integers(0, 8, 300),
            rng.integers(0, 9, 300) / 2,
            rng.integers(0, 4, 300),
            rng.integers(0, 4, 300),
        ]
    )
    score = x @ rng.normal(0.5, 0.5, 4) + 2 * np.sin(x[:, 0] * 1.3 + seed) + (x[:, 2] == seed % 4)
    return lattice(kind, seed, features, told, x, score, refused=0.7)


def steps_of(problem, people, i, option, regions):
    """Value by value, what each act of an option may be, in and beside the region: (inside, all) for each feature."""
    schema, out = problem.schema, {}
    for j in np.flatnonzero(~np.isnan(regions.low[i, option])):
        x = people.x[i, j]
        if schema.has_levels[j]:
            every = np.flatnonzero(people.level_ok[j][i] & (np.arange(schema.n_levels[j]) != x))
            inside = np.flatnonzero(regions.levels[j][i, option])
        else:
            every = np.arange(schema.low[j], schema.high[j] + 0.25, schema.step[j])
            every = every[(every >= people.least[i, j]) & (every <= people.greatest[i, j]) & (every != x)]
            inside = every[(every >= regions.low[i, option, j]) & (every <= regions.high[i, option, j])]
        out[int(j)] = inside, every
    return out


def all_options(problem, recourse, i, axes):
    """Whether every combination of values of the acts is an option."""
    rows = np.array(list(itertools.product(*axes.values())), dtype=float)
    action = np.full((len(rows), problem.schema.d), np.nan)
    action[:, list(axes)] = rows
    return judged(problem, recourse, np.full(len(rows), i), action).all()


def test_of_a_network_regions_with_leeway_hold_as_well_and_are_hardly_smaller():
    """A search that need not be exact looks at points first; what it promises is proved all the same."""
    it = case("network", seed=2)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:20], k=2, seed=0)
    exact, told = found.regions(), found.regions(leeway=0.01)
    who, slot = np.nonzero(found.found)
    assert told.proved[who, slot].all()
    rows = np.repeat(np.arange(len(who)), 500)
    u = np.random.default_rng(1).random((len(rows), found.d))
    assert judged(it.problem, found, who[rows], rows_in(found, told, who[rows], slot[rows], u)).all()
    numbers = ~np.isnan(exact.low) & ~found.schema.has_levels & np.isfinite(exact.high - exact.low)
    share = (told.high - told.low)[numbers].sum() / (exact.high - exact.low)[numbers].sum()
    assert 0.97 < share < 1.01 and (told.low != exact.low).any() | (told.high != exact.high).any()


@settings(max_examples=14, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    kind=st.sampled_from(["rf", "gb", "lr", "mlp"]),
    seed=st.integers(0, 10_000),
    rules=st.booleans(),
    most=st.integers(1, 4),
)
def test_on_a_lattice_all_of_a_region_holds_and_no_side_can_be_moved_out(kind, seed, rules, most):
    problem, x = lattice_problem(kind, seed % 4, rules)
    some = refused(problem, x)[seed % 50 :][:3]
    wishes = Preferences.none(problem.schema, len(some)).at_most(most)
    found = wf.recommend(problem, some, k=2, seed=0, preferences=wishes)
    regions = found.regions()
    people = problem.population(found.x, wishes)
    for i, option in zip(*np.nonzero(found.found), strict=True):
        assert regions.known[i, option] == "exact"
        axes = steps_of(problem, people, i, option, regions)
        inside = {j: part for j, (part, _) in axes.items()}
        assert all_options(problem, found, i, inside)
        assert regions.holds(i, option, found.action[i, option][None])[0]
        for j, (part, every) in axes.items():
            up = found.action[i, option, j] > found.x[i, j]
            side = every[(every > found.x[i, j]) == up]  # an act keeps its direction
            if problem.schema.features[j].kind == "categorical":
                further = [[v] for v in np.setdiff1d(every, part)]
            else:
                further = [[v] for v in (*side[side < part.min()][-1:], *side[side > part.max()][:1])]
            for more in further:
                assert not all_options(problem, found, i, inside | {j: np.array(more)})


def test_of_three_stumps_the_region_is_the_cell_that_one_can_read_off():
    """F-FOR3 of the method catalogue: from (0, 0), two of the votes x1 > 2, x2 > 3, x1 > 4.5 are needed."""
    forest, data = three_stumps()
    problem = Problem(FOR3, forest, Target(favourable=1), data=data)
    x = np.array([[0.0, 0.0]])
    both = problem.check(
        x,
        np.array(
            [
                [[2.5, 3.5]],
            ]
        )[:, 0][:, None],
        1,
    )
    alone = problem.check(x, np.array([[[5.0, np.nan]]]), 1)
    for found, ends in ((both, [(2, 6), (3, 6)]), (alone, [(4.5, 6)])):
        got = found.regions()
        assert got.known[0, 0] == "exact"
        for j, (low, high) in enumerate(ends):
            assert got.low[0, 0, j] == pytest.approx(low, abs=0.02)  # thresholds that 4,000 people teach
            assert got.high[0, 0, j] == high
            assert got.open_high[0, 0, j] and not got.open_low[0, 0, j]


def test_regions_keep_to_personal_limits():
    it = case("forest", seed=1)
    x = refused(it.problem, it.x)[:12]
    j = it.problem.schema.index("income")
    wishes = Preferences.none(it.problem.schema, len(x)).limit("income", high=5000)
    found = wf.recommend(it.problem, x, k=2, seed=0, preferences=wishes)
    high = found.regions().high[:, :, j]
    assert np.isfinite(high).any()
    assert (high[np.isfinite(high)] <= 5000).all()


def test_where_nothing_can_be_proved_regions_are_drawn_and_say_how_sure_they_are():
    it = case("label", seed=0)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:8], k=1, seed=0)
    regions = found.regions()
    who, slot = np.nonzero(found.found)
    assert (regions.known[who, slot] == "sampled").all()
    assert (regions.share, regions.confidence) == (0.99, 0.95)
    assert (found.regions(sample=False).known == "").all()
    rows = np.repeat(np.arange(len(who)), 500)
    u = np.random.default_rng(3).random((len(rows), found.d))
    action = rows_in(found, regions, who[rows], slot[rows], u)
    good = judged(it.problem, found, who[rows], action).reshape(len(who), -1).mean(1)
    assert (good >= 0.98).all()
    alone = found[3].regions()
    np.testing.assert_array_equal(alone.low[0], regions.low[3])  # whoever else was asked about


def test_in_a_causal_world_a_region_is_of_what_is_done():
    it = case("forest", "causal", seed=1)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:6], k=1, seed=0)
    regions = found.regions()
    who, slot = np.nonzero(found.found)
    assert (regions.known[who, slot] == "sampled").all()
    assert (np.isnan(regions.low) == ~found.acted)[who, slot].all()


def test_an_answer_from_a_file_says_what_to_do_about_its_regions(tmp_path):
    it = case("linear", seed=0)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:2], seed=0)
    with pytest.raises(ProblemError, match="Ask again"):
        Recourse.load(found.save(tmp_path / "a.json")).regions()


def test_several_options_are_a_union_of_boxes():
    """Whatever lies in some box is an option, and each box holds what the others do not."""
    it = case("forest", seed=0)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:10], k=3, seed=0)
    regions, more = found.regions(), 0
    for i in range(found.n):
        slots = np.flatnonzero(regions.known[i] != "")
        if not slots.size:
            assert not regions.any_holds(i, np.zeros((2, found.d))).any()
            continue
        slot = np.repeat(slots, 200)
        u = np.random.default_rng(i).random((len(slot), found.d))
        who = np.full(len(slot), i)
        action = rows_in(found, regions, who, slot, u)
        assert regions.any_holds(i, action).all() and judged(it.problem, found, who, action).all()
        more += (~regions.holds(i, slots[0], action)).sum()
    assert more > 100


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize("kind", ["forest", "label"])
def test_files_keep_regions_that_somebody_asked_for(tmp_path, ending, kind):
    pytest.importorskip("pyarrow")
    it = case(kind, seed=0)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:4], k=2, seed=0)
    regions = found.rounded.regions()
    found.regions()
    again = Recourse.load(found.save(tmp_path / f"a.{ending}"))
    kept = again.regions()
    assert (kept.known != "").any() and (kept.share, kept.confidence) == (regions.share, regions.confidence)
    for name in ("low", "high", "known", "open_low", "open_high"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(regions, name))
    for j, ok in regions.levels.items():
        np.testing.assert_array_equal(kept.levels[j], ok)
    for i, option in np.argwhere(kept.known != ""):
        assert kept.holds(i, option, again.action[i, option][None]).all()
    np.testing.assert_array_equal(again[1:3].regions().low, kept.low[1:3])
    anew = again.judged_by(it.problem).regions()  # found again, not believed
    np.testing.assert_array_equal(anew.known, kept.known)
    with pytest.raises(ProblemError, match="Ask again"):
        again.regions(leeway=0.1)


def test_a_region_that_was_changed_in_a_file_is_not_believed(tmp_path):
    it = case("linear", seed=0)
    found = wf.recommend(it.problem, refused(it.problem, it.x)[:2], seed=0)
    found.regions()
    path = found.save(tmp_path / "a.json")
    held = json.loads(path.read_text())
    side = next(iter(held["regions"]["sampled"]["of"][0][3].values()))
    side["from"] = -1e6
    path.write_text(json.dumps(held))
    with pytest.raises(FileFormatError, match="checksum"):
        Recourse.load(path)
    del held["sha256"]
    path.write_text(json.dumps(held))
    loose = Recourse.load(path)
    assert loose.unchecked
    with pytest.raises(ProblemError, match="Ask again"):
        loose.regions()


def held_while_it_would_fall():
    """More income eats savings, point by point, unless these are held, which alone makes a yes possible."""
    schema = Schema(
        (
            Feature(name="income", kind="integer", low=0, high=100),
            Feature(name="savings", kind="integer", low=0, high=50),
        )
    )
    model = wf.wrap(lambda rows: 1 / (1 + np.exp((119.5 - rows.sum(1)) / 10)), schema)
    data = np.random.default_rng(0).integers(0, (101, 51), (300, 2)).astype(float)
    world = wf.SCM({"income": "u", "savings": "u - income"})
    problem = Problem(schema, model, Target(1), data=data, world=world)
    return problem, wf.recommend(problem, np.array([[50.0, 50], [60, 50]]), seed=0)


def test_what_an_option_holds_is_held_in_its_region():
    problem, found = held_while_it_would_fall()
    np.testing.assert_array_equal(found.action[:, 0, 1], 50)
    regions = found.regions()
    assert (regions.known[:, 0] == "sampled").all() and (regions.high > regions.low)[:, 0, 0].all()
    who = np.repeat([0, 1], 200)
    u = np.random.default_rng(0).random((400, 2))
    action = rows_in(found, regions, who, np.zeros(400, dtype=int), u)
    assert judged(problem, found, who, action).mean() >= 0.98
