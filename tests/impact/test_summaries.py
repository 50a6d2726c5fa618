"""`summarize` itself: two halves, a told half that has no say, and the judge's word for every number."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.impact.summaries import Rules, Summariser, Summary, summariser, summarize
from wayforward.methods import method
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature(name="savings", kind="integer", low=0, high=100, unit="EUR", direction="increase"),
        Feature(name="debt", kind="integer", low=0, high=50, unit="EUR"),
        Feature(name="sex", kind="binary", levels=("f", "m"), actionability="immutable"),
    )
)


def people(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 60, n), rng.integers(5, 51, n), rng.integers(0, 2, n)]).astype(
        float
    )


@lru_cache(maxsize=2)
def lender() -> Problem:
    """Yes where savings less debt reach 30; men need 50."""
    model = wrap(
        lambda x: (x[:, 0] - x[:, 1] - 20 * x[:, 2] >= 30).astype(float),
        SCHEMA,
        takes="array",
        classes=(0, 1),
    )
    return Problem(SCHEMA, model, Target(favourable=1), data=people(300, 9))


@dataclass(eq=False)
class Told(Rules):
    """Three lines: 80 EUR for all; no debt for all; age, which nobody may, for women."""

    words = (
        ((), ("save 80 EUR",)),
        ((), ("save 45 EUR", "have no debt")),
        (("sex is f",), ("become a man",)),
    )

    def actions(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        action = np.full((people.n, 3, 3), np.nan)
        action[:, 0, 0] = 80
        action[:, 1, :2] = 45, 0
        women = people.x[:, 2] == 0
        action[women, 2, 2] = 1
        line = np.tile([0, 1, 2], (people.n, 1))
        line[~women, 2] = -1
        return action, line

    def how_much(self, line: int, x: np.ndarray, action: np.ndarray) -> str:
        assert len(x) == len(action) and not np.isnan(action).all(1).any()
        return f"Of {len(x)}." if line == 1 else ""


@dataclass
class Teller(Summariser):
    """Remembers whom it was shown."""

    extra: int = 3
    seen: list[np.ndarray] = field(default_factory=list)

    name: ClassVar[str] = "teller"
    summary: ClassVar[str] = "Lines from a book."
    citation: ClassVar[str] = ""

    def learn(self, people: Population, seed: int) -> Told:
        self.seen.append(people.x.copy())
        return Told()


def made(x: np.ndarray, **more: object) -> tuple[Summary, np.ndarray]:
    teller = Teller()
    given: dict[str, object] = {"beside": None} | more
    got = summarize(lender(), x, teller, **given)  # type: ignore[arg-type]
    return got, teller.seen[0]


def test_two_halves_that_share_nobody():
    x = people(400)
    x = np.unique(x, axis=0)  # so that a row is a person
    refused = ~lender().reached(x)[0]
    got, seen = made(x, most=None)
    assert len(seen) == got.learnt and got.learnt + got.n_scored == refused.sum()
    assert refused[got.who].all() and len(set(got.who)) == got.n_scored
    rows = {tuple(row) for row in seen}
    assert not rows & {tuple(row) for row in x[got.who]} and len(rows) == got.learnt
    few, _ = made(x, most=50)
    assert (few.learnt, few.n_scored) == (25, 25)
    other, seen_other = made(x, most=None, seed=1)
    assert not np.array_equal(seen_other, seen)
    assert np.array_equal(made(x, most=None)[1], seen)


def test_the_told_half_has_no_say():
    """Whatever becomes of the told half's wishes, the lines are learnt from the same people and stay the same."""
    x = people(300, 2)
    one = summarize(lender(), x, "globe-ce", beside=None)
    wish = Preferences.none(SCHEMA, len(x)).freeze("savings", who=one.who)
    two = summarize(lender(), x, "globe-ce", beside=None, preferences=wish)
    assert [line.change for line in one.lines] == [line.change for line in two.lines]
    assert two.everybody.served.value < one.everybody.served.value


def test_every_number_by_plain_loops():
    x = people(300, 3)
    got, _ = made(x)
    scored = x[got.who]
    cost = np.full((len(scored), 3), np.inf)
    for i, (savings, debt, sex) in enumerate(scored):
        need = 30 + 20 * sex
        if savings < 80 and 80 - debt >= need:
            cost[i, 0] = (80 - savings) / 100
        if savings <= 45 and need <= 45:  # savings only rise; who has 45 has only the debt to pay
            cost[i, 1] = (45 - savings) / 100 + debt / 50
    works = np.isfinite(cost)
    assert works[:, 0].any() and not works[:, 0].all()
    for i, line in enumerate(got.lines):
        spoken = (scored[:, 2] == 0) if i == 2 else np.ones(len(scored), dtype=bool)
        assert line.n_addressed == line.works.n == spoken.sum()
        assert line.works.value == pytest.approx(works[spoken, i].mean())
        assert line.used == pytest.approx((works.any(1) & (cost.argmin(1) == i)).mean())
        if works[:, i].any():
            assert line.cost.value == pytest.approx(cost[works[:, i], i].mean())
    assert got.lines[1].how_much == f"Of {works[:, 1].sum()}." and got.lines[1].text.endswith(
        got.lines[1].how_much
    )
    assert got.lines[2].works.value == 0 and got.lines[2].cost.n == 0  # immutable: the judge refuses
    np.testing.assert_array_equal(got.line >= 0, works.any(1))
    np.testing.assert_allclose(got.recourse.cost[got.line >= 0, 0], cost.min(1)[got.line >= 0])
    for c, share in zip(got.curve.cost, got.curve.served, strict=True):
        assert share == pytest.approx((cost.min(1) <= c + 1e-9).mean())
    assert got.recourse.found[:, 0].tolist() == (got.line >= 0).tolist()


def test_groups_served_add_up():
    x = people(300, 4)
    got, _ = made(x, groups=Groups.of("sex", x, SCHEMA))
    hits = [round(one.served.value * one.served.n) for one in got.groups]
    assert sum(one.served.n for one in got.groups) == got.n_scored
    assert sum(hits) == (got.line >= 0).sum()
    paid = sum(one.cost.value * one.cost.n for one in got.groups)
    assert paid == pytest.approx(got.everybody.cost.value * got.everybody.cost.n)
    assert got.groups[0].served.value > got.groups[1].served.value  # men need more


def test_beside_plans_of_their_own():
    x = people(200, 5)
    plans = method("local-search").fit(lender()).recommend(x, 1, seed=0)
    given, _ = made(x, beside=plans)
    looked, _ = made(x, beside="local-search")
    assert given.everybody.own_served == looked.everybody.own_served
    both = (given.line >= 0) & plans.found[given.who, 0]
    extra = given.recourse.cost[both, 0] - plans.cost[given.who][both, 0]
    assert given.extra.value == pytest.approx(extra.mean()) and given.extra.value > 0
    assert given.everybody.extra == given.extra and given.extra.n == both.sum()
    assert given.curve.own[-1] <= 1 and len(given.curve.own) == len(given.curve.cost)
    assert made(x)[0].curve.own == () and made(x)[0].extra.n == 0


def test_lines_for_other_people_are_judged_too():
    got, _ = made(people(200, 6))
    others = np.array([[70.0, 50, 0], [10.0, 20, 0], [95.0, 50, 1], [90.0, 10, 0]])
    answer = got.apply(lender(), others)
    np.testing.assert_array_equal(answer.action[0, 0], [80, np.nan, np.nan])  # 30 is enough for a woman
    np.testing.assert_array_equal(
        answer.action[1, 0], [80, np.nan, np.nan]
    )  # 0.7, and 0.75 for the other line
    assert not answer.found[2, 0]  # nobody lowers savings
    assert not answer.found[3, 0] and answer.cost[3, 0] == 0  # accepted already
    wish = Preferences.none(SCHEMA, 4).limit("savings", high=65, x=others, who=[1])
    again = got.apply(lender(), others, wish)
    np.testing.assert_array_equal(again.action[1, 0], [45, 0, np.nan])
    alone = got.apply(lender(), others[1:2])
    np.testing.assert_array_equal(alone.action[0], answer.action[1])


def test_json_and_text():
    x = people(200, 7)
    got, _ = made(x, groups=[Groups.of("sex", x, SCHEMA)])
    plain = json.loads(json.dumps(got.to_dict(), allow_nan=False, default=str))
    assert [one["change"] for one in plain["lines"]] == [list(one.change) for one in got.lines]
    assert plain["learnt_from"] == got.learnt and plain["told_of"] == got.n_scored and "recourse" not in plain
    assert plain["meta"]["parameters"]["extra"] == 3  # a setting of the summariser
    assert "3 lines serve" in str(got) and "If sex is f: become a man." in str(got)


def test_a_group_of_two_has_no_mean():
    x = people(200, 8)
    refused = np.flatnonzero(~lender().reached(x)[0])
    first, _ = made(x)
    labels = np.full(len(x), "many", dtype=object)
    labels[first.who[first.line >= 0][:2]] = "two"
    got, _ = made(x, groups=Groups.of("club", labels))
    two = next(one for one in got.groups if one.group == "two")
    assert two.served.n == 0 and two.cost.n == 0 and len(refused) > 40  # nor a share


def test_too_few_refused_are_an_error():
    x = people(400, 1)
    rich = np.column_stack([np.full(50, 99.0), np.full(50, 5.0), np.zeros(50)])
    few = np.concatenate([rich, x[~lender().reached(x)[0]][:19]])
    with pytest.raises(DataError, match=re.escape("refuses 19 of these people")):
        made(few)
    more = np.concatenate([few, x[~lender().reached(x)[0]][19:20]])
    assert made(more)[0].n_scored == 10
    with pytest.raises(DataError, match="most=10"):
        made(x, most=10)


def test_unknown_summarisers_and_other_people_are_errors():
    x = people(100)
    with pytest.raises(DataError, match=re.escape("Did you mean 'globe-ce'?")):
        summarize(lender(), x, "globece")
    with pytest.raises(DataError, match="99 people; there are 100"):
        made(x, groups=Groups.of("sex", x[:99], SCHEMA))
    plans = method("nearest-observable").fit(lender()).recommend(x[:50], 1)
    with pytest.raises(DataError, match="plans of 50 people"):
        made(x, beside=plans)


@pytest.mark.parametrize("name", ["tree", "ares", "globe-ce"])
def test_names_make_summarisers(name):
    assert summariser(name).name == name
