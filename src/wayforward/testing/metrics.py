"""What must hold for every metric, whatever it measures: a test class to inherit.

Example: ``class TestMine(MetricContract): metric = MINE``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest

from wayforward.evaluate import METRICS, Estimate, Evidence, Metric
from wayforward.evaluate.metric import measure
from wayforward.methods import recommend
from wayforward.preferences import Preferences
from wayforward.recourse import Recourse
from wayforward.shapes import PerPerson
from wayforward.testing.problems import case, random_model, random_people, small_world

_PEOPLE = 40
_SHUFFLED = np.random.default_rng(1).permutation(_PEOPLE)


class MetricContract:
    """Inherit, give the metric or its name, and these tests run on answers of a small problem.

    worlds: of `wayforward.testing.WORLDS`. measured: False for a metric that these answers cannot be measured by.
    """

    metric: ClassVar[str | Metric]
    worlds: ClassVar[tuple[str, ...]] = ("independent", "causal")
    measured: ClassVar[bool] = True

    # -- making --------------------------------------------------------------------------------------------

    @property
    def it(self) -> Metric:
        """The metric itself."""
        return METRICS[self.metric] if isinstance(self.metric, str) else self.metric

    def run(self, evidence: Evidence) -> tuple[Estimate | None, PerPerson | None]:
        """The estimate and each person's number, None where there is none."""
        totals, people = measure([self.it], evidence, resamples=100)
        return totals.get(self.it.name), people.get(self.it.name)

    @pytest.fixture(params=("independent", "causal"))
    def world(self, request: pytest.FixtureRequest) -> str:
        """One world after the other."""
        if request.param not in self.worlds:
            pytest.skip(f"not measured in the {request.param} world")
        return str(request.param)

    # -- what it says of itself ----------------------------------------------------------------------------

    def test_it_says_what_it_is(self) -> None:
        """Name, meaning, unit and denominator, for tables and for whoever reads them."""
        it = self.it
        assert it.name == it.name.lower() and it.meaning and it.unit and it.denominator
        assert "\n" not in it.meaning + it.unit + it.denominator

    def test_it_is_measured_here(self, world: str) -> None:
        """These answers show something, unless the class says that they cannot."""
        total, _ = self.run(answers(world))
        assert (total is not None and total.n > 0) == self.measured

    # -- its numbers ---------------------------------------------------------------------------------------

    def test_values_are_numbers_with_their_denominator(self, world: str) -> None:
        """Finite, or NaN where it does not apply; as many behind the total as there are values."""
        evidence = answers(world)
        total, people = self.run(evidence)
        if people is not None:
            assert people.shape == (evidence.n,)
            assert not np.isinf(people).any()
        if total is not None:
            assert np.isfinite(total.value) == (total.n > 0)
            assert 0 <= total.n <= evidence.n * evidence.k
            if people is not None:
                assert total.n == np.isfinite(people[evidence.refused]).sum()
            if total.n:
                assert total.low - 1e-9 <= total.value <= total.high + 1e-9

    def test_the_order_of_people_changes_nothing(self, world: str) -> None:
        """Permuted people have permuted numbers and the same total."""
        (total, people), (again, permuted) = self.run(answers(world)), self.run(answers(world, "shuffled"))
        self._same(total, again)
        if people is not None and permuted is not None:
            np.testing.assert_allclose(permuted, people[_SHUFFLED], rtol=1e-9, atol=1e-12)

    def test_everybody_twice_changes_no_mean(self, world: str) -> None:
        """Duplicates change how many there are, and neither a rate nor a mean."""
        self._same(self.run(answers(world))[0], self.run(answers(world, "twice"))[0], times=2)

    def test_nothing_found_is_no_error(self, world: str) -> None:
        """Without any option a metric has nothing to measure, or says what a failure counts."""
        total, people = self.run(answers(world, "nothing"))
        assert total is None or np.isfinite(total.value) == (total.n > 0)
        assert people is None or not np.isinf(people).any()

    def _same(self, one: Estimate | None, other: Estimate | None, times: int = 1) -> None:
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert other.n == times * one.n
            np.testing.assert_allclose(other.value, one.value, rtol=1e-9, atol=1e-12)


@lru_cache(maxsize=8)
def answers(world: str, kind: str = "whole") -> Evidence:
    """Two options for each of 40 people, and everything that an evaluation may be given beside them.

    kind: "whole", or the same people "shuffled", each of them "twice", or with "nothing" found. A metric that writes
    into the arrays fails, because they are read-only.
    """
    it = case("linear", world, 0, _PEOPLE)
    schema = it.problem.schema
    recourse, rng = _recommended(world), np.random.default_rng(6)
    who = {"shuffled": _SHUFFLED, "twice": np.tile(np.arange(_PEOPLE), 2)}.get(kind, np.arange(_PEOPLE))
    oracle, wanted = 0.9 * recourse.cost.min(1), random_people(schema, _PEOPLE, rng)
    known = np.where(
        recourse.found[:, 0] & (np.arange(_PEOPLE) % 3 > 0), oracle, np.nan
    )  # as if it were proved
    recourse = recourse.with_bound(known)[who]
    if kind == "nothing":
        empty = np.full(recourse.action.shape, np.nan)
        recourse = replace(recourse, action=empty, after=empty.copy())
    for part in (recourse.x, recourse.action, recourse.after):
        part.setflags(write=False)
    return Evidence.about(
        recourse,
        it.problem,
        density=_Bell(schema.span),
        oracle=oracle[who],
        other_model=random_model(schema, it.problem.require_reference(), "linear", 3),
        true_world=small_world(),
        wanted=wanted[who],
    )


@lru_cache
def _recommended(world: str) -> Recourse:
    """What every kind of `answers` is about, searched for once."""
    it, rng = case("linear", world, 0, _PEOPLE), np.random.default_rng(5)
    scores = rng.integers(1, 5, it.x.shape).astype(np.float64)
    wishes = Preferences.none(it.problem.schema, _PEOPLE).weigh(income=2.0)
    scored = replace(wishes, score=scores, score_levels=4)
    return recommend(it.problem, it.x, k=2, preferences=scored, seed=1)


class _Bell:
    """A density that thins out with distance from 0 in ranges."""

    def __init__(self, span: np.ndarray) -> None:
        self.span = span

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,)."""
        return np.asarray(-((x / self.span) ** 2).sum(-1))
