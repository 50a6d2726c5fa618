"""What must hold for every summariser, whatever its idea: a test class to inherit.

Example: ``class TestMine(SummariserContract): summariser = "mine"``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest

from wayforward.errors import MissingExtra
from wayforward.groups import Groups
from wayforward.impact.privacy import FEWEST
from wayforward.impact.summaries import SUMMARISERS, Rules, Summariser, Summary, summarize
from wayforward.impact.summaries import summariser as make_summariser
from wayforward.preferences import Preferences
from wayforward.problem import Population
from wayforward.shapes import People
from wayforward.testing.problems import Case, case

_PEOPLE = 100
_PAIR, _REST = "pair", "everybody else"


@dataclass
class _Observed(Summariser):
    """Another summariser, and whom it was shown."""

    of: Summariser

    def __post_init__(self) -> None:
        self.name, self.summary, self.citation = self.of.name, self.of.summary, self.of.citation  # type: ignore[misc]
        self.shown: list[People] = []

    def learn(self, people: Population, seed: int) -> Rules:
        self.shown.append(people.x.copy())
        return self.of.learn(people, seed)

    def parameters(self) -> dict[str, Any]:
        return self.of.parameters()


class SummariserContract:
    """Inherit, name the summariser, and these tests run on easy problems of a small credit world.

    summariser: its name, or an instance. parameters: given to it, for example to make the tests quick.
    kinds: of models, see `wayforward.testing.KINDS`. serves: the least share of people its lines must serve in each.
    """

    summariser: ClassVar[str | Summariser]
    parameters: ClassVar[dict[str, Any]] = {}
    kinds: ClassVar[tuple[str, ...]] = ("linear", "label")
    serves: ClassVar[float] = 0.0

    @classmethod
    def pytest_generate_tests(cls, metafunc: Any) -> None:
        """Run each test that takes a `kind` once for each."""
        if "kind" in metafunc.fixturenames:
            metafunc.parametrize("kind", cls.kinds)

    @classmethod
    def make(cls) -> Summariser:
        """A fresh summariser. Skips the test where an optional library is missing."""
        try:
            if not isinstance(cls.summariser, str):
                return cls.summariser
            return type(make_summariser(cls.summariser))(**cls.parameters)
        except MissingExtra as missing:
            pytest.skip(str(missing))

    @classmethod
    @lru_cache(maxsize=8)
    def ask(cls, kind: str) -> tuple[Case, Summary, People]:
        """The summary of one case with its groups, and the people it was learnt from, worked out once a class."""
        it = _case(kind)
        observed = _Observed(cls.make())
        got = summarize(it.problem, it.x, observed, groups=_groups(it), beside=None, seed=3)
        return it, got, observed.shown[0]

    # -- two halves ----------------------------------------------------------------------------------------

    def test_it_is_learnt_on_one_half_and_scored_on_the_other(self, kind: str) -> None:
        """Nobody is in both, and everybody in either is refused."""
        it, got, learnt = self.ask(kind)
        refused = it.x[it.refused]
        assert len(learnt) == got.learnt and got.learnt + got.n_scored == len(refused)
        both = np.concatenate([learnt, it.x[got.who]])
        np.testing.assert_array_equal(_sorted(both), _sorted(refused))

    def test_the_half_that_is_scored_has_no_say(self, kind: str) -> None:
        """Whatever the people scored wish for, the lines stay the same; wishes that forbid everything serve nobody."""
        it, got, _ = self.ask(kind)
        names = it.problem.schema.names
        wishes = Preferences.none(it.problem.schema, len(it.x)).freeze(*names, who=got.who)
        other = summarize(it.problem, it.x, self.make(), preferences=wishes, beside=None, seed=3)
        assert [(line.who, line.change) for line in other.lines] == [
            (line.who, line.change) for line in got.lines
        ]
        assert other.everybody.served.value == 0 and not (other.line >= 0).any()

    # -- lines ---------------------------------------------------------------------------------------------

    def test_there_are_as_many_lines_as_allowed_and_each_says_what_to_do(self, kind: str) -> None:
        """The budget of lines is kept; a line has words, no two are the same."""
        _, got, _ = self.ask(kind)
        most = self.make().most_lines
        assert most is None or len(got.lines) <= most
        texts = [(line.who, line.change) for line in got.lines]
        assert len(set(texts)) == len(texts)
        assert all(line.change and all(line.change) and all(line.who) for line in got.lines)

    def test_it_serves_somebody(self, kind: str) -> None:
        """At least the share of people that the summariser promises on these easy problems."""
        _, got, _ = self.ask(kind)
        assert got.everybody.served.value >= self.serves

    def test_every_number_is_what_the_model_says(self, kind: str) -> None:
        """Each line is carried out again for each person, and the model asked again: all numbers come out the same."""
        it, got, _ = self.ask(kind)
        problem, x = it.problem, it.x[got.who]
        n, lines = len(x), len(got.lines)
        action, line = got.rules.actions(problem.population(x))
        spoken, works = np.zeros((n, lines), dtype=bool), np.zeros((n, lines), dtype=bool)
        cost = np.full((n, lines), np.inf)
        for i in range(n):
            for slot in np.flatnonzero(line[i] >= 0):
                spoken[i, line[i, slot]] = True
                one = problem.check(x[i : i + 1], action[i : i + 1, slot : slot + 1], 1)
                if one.found[0, 0]:
                    assert problem.reached(one.after[:, 0])[0].all()
                    works[i, line[i, slot]] = True
                    cost[i, line[i, slot]] = min(cost[i, line[i, slot]], one.cost[0, 0])
        for j, one_line in enumerate(got.lines):
            assert one_line.n_addressed == one_line.works.n == spoken[:, j].sum()
            _same(one_line.works.value, works[:, j], spoken[:, j])
            _same(one_line.cost.value, cost[:, j], works[:, j], least=FEWEST)
        np.testing.assert_array_equal(got.line >= 0, works.any(1))
        served = np.flatnonzero(got.line >= 0)
        np.testing.assert_allclose(got.recourse.cost[served, 0], cost[served].min(1))
        np.testing.assert_allclose(cost[served, got.line[served]], cost[served].min(1))
        assert got.everybody.served.value == pytest.approx(works.any(1).mean())
        assert problem.reached(got.recourse.after[served, 0])[0].all()

    def test_a_person_is_told_the_same_alone_and_in_any_order(self, kind: str) -> None:
        """What a line asks of somebody depends on their own row only."""
        it, got, _ = self.ask(kind)
        x = it.x[got.who]
        action, line = got.rules.actions(it.problem.population(x))
        assert action.shape == (*line.shape, x.shape[1]) and len(line) == len(x)
        assert ((line >= -1) & (line < len(got.lines))).all()
        order = np.random.default_rng(1).permutation(len(x))
        for some in (order, order[:1], order[1:4]):
            alone, alone_line = got.rules.actions(it.problem.population(x[some]))
            np.testing.assert_array_equal(alone_line, line[some])
            np.testing.assert_array_equal(alone, action[some])

    def test_other_people_get_a_line_that_works_for_them(self, kind: str) -> None:
        """`Summary.apply` returns judged answers, those of the people scored among them."""
        it, got, _ = self.ask(kind)
        again = got.apply(it.problem, it.x)
        assert it.problem.reached(again.after[again.found])[0].all()
        np.testing.assert_array_equal(again.action[got.who], got.recourse.action)

    # -- what is published ---------------------------------------------------------------------------------

    def test_nothing_is_told_of_a_group_of_two(self, kind: str) -> None:
        """No share and no mean of fewer than three people, and no row of anybody."""
        it, got, _ = self.ask(kind)
        pair = {part.group: part for part in got.groups}[_PAIR]
        assert pair.served.n == pair.cost.n == 0
        means = [part.cost for part in (got.everybody, *got.groups)] + [line.cost for line in got.lines]
        assert all(mean.n == 0 or mean.n >= FEWEST for mean in means)
        plain = got.to_dict()
        assert {"recourse", "who", "line", "rules"}.isdisjoint(plain)

    def test_it_goes_through_json_as_it_is(self, kind: str) -> None:
        """Only plain values, none of them NaN, and the same when read back."""
        _, got, _ = self.ask(kind)
        text = json.dumps(got.to_dict(), allow_nan=False)
        assert json.dumps(json.loads(text), allow_nan=False) == text
        assert [line["change"] for line in json.loads(text)["lines"]] == [
            list(line.change) for line in got.lines
        ]

    def test_the_same_seed_gives_the_same_lines(self) -> None:
        """Nothing is drawn without the seed."""
        it, got, _ = self.ask(self.kinds[0])
        again = summarize(it.problem, it.x, self.make(), groups=_groups(it), beside=None, seed=3)
        assert again.to_dict() == got.to_dict()
        np.testing.assert_array_equal(again.recourse.action, got.recourse.action)

    def test_it_says_what_it_is(self) -> None:
        """Name, summary and source, for tables and papers; a registered name is its own."""
        one = self.make()
        assert one.name and one.summary and type(one).__doc__
        assert one.citation or "Source:" in str(type(one).__doc__)
        if isinstance(self.summariser, str):
            assert one.name == self.summariser and self.summariser in SUMMARISERS


def _case(kind: str) -> Case:
    return case(kind, "independent", 0, _PEOPLE)


def _groups(it: Case) -> list[Groups]:
    """The region of each person, and a group of two of those refused."""
    label = np.full(len(it.x), _REST, dtype=object)
    label[np.flatnonzero(it.refused)[:2]] = _PAIR
    return [Groups.of("region", it.x, it.problem.schema), Groups.of("club", label)]


def _sorted(x: People) -> People:
    return x[np.lexsort(x.T)]


def _same(value: float, numbers: np.ndarray, among: np.ndarray, least: int = 1) -> None:
    """The value is the mean of the numbers among some people, or NaN where they are fewer than `least`."""
    if among.sum() < least:
        assert np.isnan(value)
    else:
        assert value == pytest.approx(numbers[among].mean())
