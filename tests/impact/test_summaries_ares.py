"""AReS finds planted rules, its search is that of brute force on small cases, and its words mean what it counts."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.impact.summaries import Summary, summarize
from wayforward.impact.summaries.ares import Aim, Ares, AresRules, RuleCondition
from wayforward.impact.summaries.ground_set import GroundSet, choose
from wayforward.impact.summaries.itemsets import frequent
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.testing import SummariserContract
from wayforward.testing.problems import case

REGION = Feature(
    name="region", kind="categorical", levels=("north", "south", "west"), actionability="immutable"
)
AGE = Feature(name="age", kind="integer", low=18, high=80, unit="years", actionability="immutable")
INCOME = Feature(
    name="income", kind="integer", low=0, high=6000, unit="EUR/month", direction="increase", label="Income"
)
SAVINGS = Feature(name="savings", kind="real", low=0, high=30_000, unit="EUR", missing=True)
HOUSING = Feature(name="housing", kind="categorical", levels=("rent", "own", "with family"))
TRAINING = Feature(name="training", kind="ordinal", levels=("none", "course", "degree"), direction="increase")
PHONE = Feature(name="phone", kind="binary", levels=(0, 1))
SCHEMA = Schema((REGION, AGE, INCOME, SAVINGS, HOUSING))


def people(schema: Schema, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    columns = []
    for one in schema.features:
        if one.has_levels:
            columns.append(rng.integers(0, one.n_levels, n).astype(float))
        else:
            columns.append(np.round(rng.uniform(one.low, one.high, n)))
    return np.column_stack(columns)


def planted(x: np.ndarray) -> np.ndarray:
    """In the north income decides, in the south savings; in the west one has to own a home."""
    region, income, savings, home = x[:, 0], x[:, 2], np.nan_to_num(x[:, 3]), x[:, 4]
    yes = np.select([region == 0, region == 1], [income >= 3000, savings >= 10_000], home == 1)
    return np.asarray(yes, dtype=np.int64)


@lru_cache(maxsize=4)
def lender(schema: Schema = SCHEMA, decide=planted) -> Problem:  # type: ignore[no-untyped-def]
    model = wrap(decide, schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(favourable=1), data=people(schema, 1500, 1))


@lru_cache(maxsize=4)
def summary(how: str = "open") -> Summary:
    maker = Ares() if how == "open" else Ares.published()
    return summarize(lender(), people(SCHEMA, 900, 2), maker, beside=None)


# -- the miner ---------------------------------------------------------------------------------------------


def test_frequent_sets_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    holds, about = rng.random((61, 9)) < 0.55, [0, 0, 1, 2, 3, 3, 4, 5, 6]
    for least in (4, 12, 25):
        sets, masks = frequent(holds, about, least=least, width=3, twins=True)
        expected = {
            one
            for size in range(4)
            for one in combinations(range(9), size)
            if len({about[c] for c in one}) == size and (holds[:, list(one)].all(1).sum() >= least or not one)
        }
        assert set(sets) == expected and len(sets) == len(expected)
        for one, mask in zip(sets, masks, strict=True):
            np.testing.assert_array_equal(mask, holds[:, list(one)].all(1))


def test_of_sets_that_the_same_people_meet_the_shortest_stays():
    holds = np.array([[1, 1, 1], [1, 1, 1], [0, 1, 0], [0, 0, 1]], dtype=bool)
    sets, masks = frequent(holds, [0, 1, 2], least=1, width=3)
    assert sets == [(), (0,), (1,), (2,)]  # (0, 1), (0, 2), (1, 2) and all three are the people of (0,)
    assert len({m.tobytes() for m in masks}) == len(masks)
    some, _ = frequent(holds, [0, 1, 2], least=1, width=3, most=3)
    assert some == [(), (1,), (2,)]


# -- the search --------------------------------------------------------------------------------------------


def toy(seed: int, rules: int = 3, subgroups: int = 3, wrong: float = 0.3) -> GroundSet:
    rng = np.random.default_rng(seed)
    n, s, i, t, d = 30, 5, 2, 3, 6
    groups, states = rng.random((s, n)) < 0.5, rng.random((i, n)) < 0.7
    groups[0] = states[0] = True
    ok = rng.random((t, n)) < 0.4
    group_at, change_at = np.zeros((s, d), dtype=bool), np.zeros((t, d), dtype=bool)
    group_at[np.arange(1, s), rng.integers(0, d, s - 1)] = True
    change_at[np.arange(t), rng.integers(0, d, t)] = True
    pair = np.array([(a, b) for a in range(i) for b in range(t) if rng.random() < 0.8])
    return GroundSet(
        groups=groups, states=states, pair=pair, value=np.where(ok, rng.uniform(0.5, 1, ok.shape), 0).astype("f4"),
        wrong=(wrong * ~ok).astype("f4"), price=rng.uniform(0, 0.3, len(pair)), group_price=rng.uniform(0, 0.3, s),
        group_at=group_at, change_at=change_at, group_width=np.array([0, 1, 1, 2, 2]),
        state_width=np.array([0, 1]), rules=rules, width=2, subgroups=subgroups, least=4,
        constant=rules * (wrong * n + 0.6),
    )  # fmt: skip


def legal(ground: GroundSet) -> list[tuple[int, int, int]]:
    return [
        (g, int(i), int(t))
        for g in range(len(ground.groups))
        for i, t in ground.pair
        if not (ground.group_at[g] & ground.change_at[t]).any()
        and ground.group_width[g] + ground.state_width[i] <= ground.width
        and (ground.groups[g] & ground.states[i]).sum() >= ground.least
    ]


def test_the_best_rule_is_that_of_all():
    for seed in range(20):
        ground = toy(seed, wrong=0.1)
        base = np.random.default_rng(seed + 100).uniform(0, 0.8, 30)
        rules = legal(ground)
        gains = [np.maximum(ground.worth(r) - base, 0).sum() - ground.loss(r) for r in rules]
        got = ground.best(base, -100.0)
        assert got is not None and got[1] in rules
        assert got[0] == pytest.approx(max(gains), abs=1e-4)
        assert gains[rules.index(got[1])] == pytest.approx(max(gains), abs=1e-4)
        assert ground.best(base, max(gains) + 1e-3) is None
        only = np.arange(5) == 2
        limited = ground.best(base, -100.0, only)
        inside = [gain for r, gain in zip(rules, gains, strict=True) if r[0] == 2]
        assert (limited is None) == (not inside)
        assert limited is None or limited[0] == pytest.approx(max(inside), abs=1e-4)
        without = ground.best(base, -100.0, banned=frozenset([got[1]]))
        left = [gain for r, gain in zip(rules, gains, strict=True) if r != got[1]]
        assert without is not None and without[1] != got[1]
        assert without[0] == pytest.approx(max(left), abs=1e-4)


@pytest.mark.parametrize("subgroups", [3, 1])
def test_the_chosen_rules_are_nearly_those_of_brute_force(subgroups: int):
    same = 0
    for seed in range(12):
        ground = toy(seed, subgroups=subgroups, wrong=0.02 if seed % 2 else 0.3)
        best = max(
            ground.objective(some)
            for size in range(4)
            for some in combinations(legal(ground), size)
            if len({r[0] for r in some}) <= subgroups
        )
        chosen = choose(ground)
        assert len(chosen) <= 3 and len({r[0] for r in chosen}) <= subgroups
        got = ground.objective(chosen)
        assert 0 <= got <= best + 1e-9
        assert got >= best / 4  # 1 / (k + 2 + 1 / k) for the one matroid of a limit on rules
        same += got >= best - 1e-6
    assert same >= 9


def test_greedy_alone_can_be_improved_by_an_exchange():
    """One rule for the middle four looks best, and then two for the halves cannot both be taken."""
    value = np.array([[0, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype="f4")
    ground = GroundSet(
        groups=np.ones((1, 6), dtype=bool), states=np.ones((1, 6), dtype=bool),
        pair=np.array([[0, 0], [0, 1], [0, 2]]), value=value, wrong=np.zeros((3, 6), dtype="f4"),
        price=np.zeros(3), group_price=np.zeros(1), group_at=np.zeros((1, 3), dtype=bool),
        change_at=np.eye(3, dtype=bool), group_width=np.zeros(1, dtype=int), state_width=np.zeros(1, dtype=int),
        rules=2, width=1, subgroups=1, least=1, constant=0.0,
    )  # fmt: skip
    first = ground.best(np.zeros(6), 0.0)
    assert first is not None and first[1] == (0, 0, 0)
    chosen = choose(ground)
    assert ground.objective(chosen) == 6 and {t for _, _, t in chosen} == {1, 2}


# -- planted rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["open", "published"])
def test_planted_fixes_are_recovered_each_for_its_group(how: str):
    got = summary(how)
    for region, feature in (("north", "income"), ("south", "savings"), ("west", "housing")):
        rows = [one for one in got.lines if f"region is {region}" in one.who]
        assert rows, region
        assert any(len(one.change) == 1 and feature in one.change[0] and one.works.value == 1 for one in rows)
    if how == "open":
        assert got.everybody.served.value > 0.97
        assert len(got.lines) <= 6


@pytest.mark.parametrize("how", ["open", "published"])
def test_lines_read_like_sentences_and_keep_the_limits(how: str):
    got = summary(how)
    rules = got.rules
    assert isinstance(rules, AresRules)
    most, wide, groups = (8, 4, 6) if how == "open" else (20, 7, 10)
    assert 0 < len(got.lines) <= most
    assert len({one.who[:k] for one, k in zip(got.lines, rules.subgroup, strict=True)}) <= groups
    condition = re.compile(
        r"(region|housing|training|phone) is (not )?[\w“” ]+$"
        r"|(age|income|savings) (below|above|at least|from) [\d,.]+( to below [\d,.]+)? (years|EUR|EUR/month)$"
        r"|savings not stated$"
    )
    change = re.compile(
        r"set housing to (rent|own|“with family”)$"
        r"|(raise|lower) (income|savings) to at (least|most) [\d,]+ (EUR|EUR/month)$"
    )
    for line, who, aims in zip(got.lines, rules.who, rules.change, strict=True):
        assert len(line.who) <= wide and all(condition.match(one) for one in line.who), line.who
        assert all(change.match(one) for one in line.change), line.change
        changed, conditions = {aim.feature for aim in aims}, [item.feature for item in who]
        assert len(changed) == len(aims) <= 2 and len(set(conditions)) == len(conditions)
        if how == "published":
            assert changed <= set(conditions)


def meets(item: RuleCondition, row: np.ndarray) -> bool:
    for one in item.parts:
        value = row[one.feature]
        good = {
            "is": value == one.value, "is not": not np.isnan(value) and value != one.value, "below": value < one.value,
            "at least": value >= one.value, "missing": np.isnan(value),
        }[one.kind]  # fmt: skip
        if not good:
            return False
    return True


def carried_out(aims: tuple[Aim, ...], row: np.ndarray) -> np.ndarray:
    after = row.copy()
    for aim in aims:
        value = row[aim.feature]
        there = {"is": value == aim.value, "at least": value >= aim.value, "at most": value <= aim.value}[
            aim.kind
        ]
        after[aim.feature] = value if there else aim.value
    return after


@pytest.mark.parametrize("how", ["open", "published"])
def test_a_naive_loop_over_people_counts_the_same(how: str):
    got = summary(how)
    x, rules = got.recourse.x, got.rules
    assert isinstance(rules, AresRules)
    served = np.zeros(len(x), dtype=bool)
    for line, who, aims in zip(got.lines, rules.who, rules.change, strict=True):
        addressed = [row for row in x if all(meets(item, row) for item in who)]
        works = [bool(planted(carried_out(aims, row)[None])[0]) for row in addressed]
        assert line.n_addressed == len(addressed)
        assert line.works.value == pytest.approx(np.mean(works))
        served |= [
            all(meets(item, row) for item in who) and bool(planted(carried_out(aims, row)[None])[0])
            for row in x
        ]
    assert got.everybody.served.value == pytest.approx(served.mean())
    np.testing.assert_array_equal(got.line >= 0, served)


@pytest.mark.parametrize("how", ["open", "published"])
def test_the_objective_is_that_of_its_definition(how: str):
    """Plain loops over the people learnt from; the paper's U1 = n e1 and U3 = e1 e2 with features that cost 1."""
    x = people(SCHEMA, 500, 11)
    x = x[planted(x) == 0]
    maker = Ares(cost=0.0) if how == "open" else Ares.published()
    maker.change = 0.003 if how == "open" else 0.0
    rules = maker.learn(lender().population(x), 0)
    cover, served, incorrect = set(), set(), 0
    for who, aims in zip(rules.who, rules.change, strict=True):
        for i, row in enumerate(x):
            if all(meets(item, row) for item in who):
                cover.add(i)
                if planted(carried_out(aims, row)[None])[0]:
                    served.add(i)
                else:
                    incorrect += 1
    changed = sum(len(aims) for aims in rules.change)
    n, conditions = len(x), sum(len(who) for who in rules.who)
    if how == "published":
        expected = (20 * n - incorrect) + len(cover) + (20 * 7 - changed)
    else:
        most = 8 * (0.05 * n + 0.003 * n * (4 + 2))
        expected = len(served) - 0.05 * incorrect - 0.003 * n * (conditions + changed) + most
    assert rules.objective == pytest.approx(expected, rel=1e-6)


# -- what people may and want ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "forest", "label"])
@pytest.mark.parametrize("world", ["independent", "causal"])
def test_immutables_directions_and_the_judge_are_respected(kind: str, world: str):
    one = case(kind, world, n=300)
    got = summarize(one.problem, one.x, "ares", beside=None)
    schema, rules = one.problem.schema, got.rules
    assert isinstance(rules, AresRules)
    for aims in rules.change:
        for aim in aims:
            assert schema.actionable[aim.feature]
            assert not (aim.kind == "at least" and schema.direction[aim.feature] < 0)
            assert not (aim.kind == "at most" and schema.direction[aim.feature] > 0)
    found = got.recourse.found[:, 0]
    after, before = got.recourse.after[found, 0], got.recourse.x[found]
    assert not schema.differs(after, before)[:, schema.immutable].any()
    assert one.problem.reached(after)[0].all()


def test_personal_limits_are_kept_and_counted():
    x = people(SCHEMA, 900, 2)
    nobody = Preferences.none(SCHEMA, len(x)).freeze("income")
    got = summarize(lender(), x, "ares", preferences=nobody, beside=None)
    assert got.lines and not any("income" in text for one in got.lines for text in one.change)

    half = Preferences.none(SCHEMA, len(x)).freeze("income", who=np.arange(0, len(x), 2))
    got = summarize(lender(), x, "ares", preferences=half, beside=None)
    north = [one for one in got.lines if "region is north" in one.who and "income" in one.change[0]]
    assert north and 0.2 < north[0].works.value < 0.8  # who may not is told all the same, and counted
    acted = ~np.isnan(got.recourse.action[:, 0, 2])
    assert got.recourse.preferences is not None
    assert acted.any() and not (acted & got.recourse.preferences.frozen[:, 2]).any()


def test_the_nearest_value_is_the_persons_own():
    x = np.array([[0, 30, 1000, 500.0, 0], [0, 30, 1000, 500.0, 0], [0, 30, 1000, np.nan, 0]])
    x[2, 2] = 2500
    wish = Preferences.none(SCHEMA, 3).limit("income", low=2600, who=0).limit("income", high=1500, who=1)
    who, income = np.arange(3), Aim(2, "at least", 2000.0, "")
    value, may = income.values(lender().population(x, wish))
    np.testing.assert_array_equal(value[:2], [2600, 2000])
    np.testing.assert_array_equal(may, [True, False, False])  # beyond a limit; and there already
    assert np.isnan(value[2])
    savings = Aim(3, "at least", 2000.0, "").values(lender().population(x, wish))
    np.testing.assert_array_equal(savings[0], [2000.0, 2000.0, 2000.0])  # not stated is not there
    assert who.size == 3


def test_a_persons_action_does_not_hang_on_the_others():
    rules, x = summary().rules, people(SCHEMA, 40, 9)
    action, line = rules.actions(lender().population(x))
    for i in (0, 17, 39):
        alone = rules.actions(lender().population(x[i : i + 1]))
        np.testing.assert_array_equal(alone[0][0], action[i])
        np.testing.assert_array_equal(alone[1][0], line[i])


# -- kinds of schemas, settings ----------------------------------------------------------------------------


def test_levels_alone_and_numbers_alone():
    levels = Schema((REGION, HOUSING, TRAINING, PHONE))

    def trained(x: np.ndarray) -> np.ndarray:
        return np.where(x[:, 0] == 0, x[:, 2] >= 1, (x[:, 1] == 1) & (x[:, 3] == 1)).astype(np.int64)

    got = summarize(lender(levels, trained), people(levels, 500, 4), "ares", beside=None)
    assert got.everybody.served.value == 1
    addressed = {change for one in got.lines for change in one.change}
    assert (
        "set training to course or degree" in addressed
        and {"set housing to own", "set phone to yes"} <= addressed
    )

    numbers = Schema((AGE, INCOME, SAVINGS))

    def rich(x: np.ndarray) -> np.ndarray:
        return (np.nan_to_num(x[:, 1]) * 5 + np.nan_to_num(x[:, 2]) >= 24_000).astype(np.int64)

    x = people(numbers, 500, 5)
    x[::7, 2] = np.nan
    got = summarize(lender(numbers, rich), x, "ares", beside=None)
    assert got.everybody.served.value > 0.9 and len(got.lines) <= 8
    assert all(
        re.match("(raise|lower) (income|savings) to at", text) for one in got.lines for text in one.change
    )


def test_nobody_can_be_served():
    def never(x: np.ndarray) -> np.ndarray:
        return (x[:, 1] > 79).astype(np.int64)

    for how in (Ares(), Ares.published()):
        got = summarize(lender(SCHEMA, never), people(SCHEMA, 200, 6), how, beside=None)
        assert got.everybody.served.value == 0 and not got.lines
        assert not got.recourse.found.any() and "0%" in str(got)


def test_nothing_may_be_changed():
    fixed = Schema((REGION, AGE, PHONE)).revise(phone={"actionability": "mutable"})

    def old(x: np.ndarray) -> np.ndarray:
        return (x[:, 1] > 60).astype(np.int64)

    got = summarize(lender(fixed, old), people(fixed, 200, 6), "ares", beside=None)
    assert not got.lines and got.everybody.served.value == 0


def test_without_observed_people_values_are_cut_between_the_bounds_of_the_schema():
    model = wrap(planted, SCHEMA, output="label", classes=(0, 1))
    bare = Problem(SCHEMA, model, Target(favourable=1))
    got = summarize(bare, people(SCHEMA, 600, 2), "ares", beside=None)
    assert got.everybody.served.value > 0.9


def test_work_stays_within_its_budget_and_more_finds_more():
    x = lender().population(people(SCHEMA, 400, 8))
    few, many = Ares(rows=20_000).learn(x, 0), Ares(rows=200_000).learn(x, 0)
    assert 0 < few.rows <= 20_000 + x.n < many.rows <= 200_000 + x.n
    assert few.words


def test_the_same_seed_gives_the_same_rules():
    x = lender().population(people(SCHEMA, 400, 8))
    assert Ares(rows=20_000).learn(x, 3).words == Ares(rows=20_000).learn(x, 3).words
    assert (
        Ares(rows=20_000).learn(x, 3).words != Ares(rows=20_000).learn(x, 4).words
    )  # others are learnt from


def test_subgroups_are_told_by_the_features_asked_for():
    got = summarize(lender(), people(SCHEMA, 900, 2), Ares(about=("age",)), beside=None)
    rules = got.rules
    assert isinstance(rules, AresRules)
    for who, k in zip(rules.who, rules.subgroup, strict=True):
        assert {item.feature for item in who[:k]} <= {1}
    assert got.lines
    with pytest.raises(DataError, match="no feature 'agee'.*age"):
        summarize(lender(), people(SCHEMA, 200, 2), Ares(about=("agee",)), beside=None)


@pytest.mark.parametrize("form", ["open", "published"])
def test_conditions_leave_out_sensitive_features_unless_they_are_asked_for(form: str):
    private = Schema((replace(REGION, sensitive=True), *SCHEMA.features[1:]))
    problem, x = lender(private), people(private, 600, 2)

    def about(**conditions: object) -> set[int]:
        maker = Ares(form=form, incorrect=0.5, rows=100_000, **conditions)  # type: ignore[arg-type]
        rules = maker.learn(problem.population(x[~problem.reached(x)[0]]), 0)
        return {item.feature for who in rules.who for item in who}

    assert 0 not in about() and 0 in about(about=("region",))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rules": 0}, "rules=0"), ({"width": 1.5}, "width=1.5"), ({"subgroups": True}, "subgroups=True"),
        ({"changes": -1}, "changes=-1"), ({"bins": 1}, "bins=1"), ({"rows": 0}, "rows=0"),
        ({"support": 0.0}, "support=0.0"), ({"support": 1.0}, "support=1.0"), ({"cover": -1.0}, "cover=-1.0"),
        ({"incorrect": float("nan")}, "incorrect=nan"), ({"cost": 1.0}, "cost=1.0"),
        ({"form": "paper"}, "form='paper'"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_named(settings: dict[str, object], named: str):
    with pytest.raises(DataError, match=re.escape(named)):
        Ares(**settings)  # type: ignore[arg-type]


class TestAres(SummariserContract):
    """What every summariser promises."""

    summariser, parameters, serves = "ares", {"rules": 4, "rows": 60_000}, 0.3
