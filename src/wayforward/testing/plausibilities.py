"""What must hold for every plausibility, whatever it calls plausible: a test class to inherit.

Example: ``class TestMine(PlausibilityContract): plausibility = Mine()``.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest

from wayforward.problem import Plausibility, Problem, Target
from wayforward.problem.plausibility import plausibility_from_dict
from wayforward.recourse import Outcome
from wayforward.testing.problems import case, random_people


@lru_cache(maxsize=2)
def _case(seed: int = 0) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem without a plausibility, people (n, d), and profiles (n, 2, d) to judge."""
    it = case("linear", "independent", seed, 30)
    rows = random_people(it.problem.schema, 60, np.random.default_rng(9)).reshape(30, 2, -1)
    return it.problem, it.x, rows


class PlausibilityContract:
    """Inherit, give the plausibility (unfitted), and these tests run.

    stored: False for one that cannot be written to a file. calibrated: False where accepted people themselves may fall
    below the threshold. finds: the least share of refused people for whom local search must find a plausible option.
    """

    plausibility: ClassVar[Plausibility]
    stored: ClassVar[bool] = True
    calibrated: ClassVar[bool] = True
    finds: ClassVar[float] = 0.3

    @classmethod
    @lru_cache(maxsize=2)
    def fitted(cls) -> Plausibility:
        """The plausibility, fitted once for all tests of a class to the people whom a problem accepts."""
        return cls.plausibility.fit_problem(_case()[0])

    def test_it_says_what_it_is(self) -> None:
        """A name, and one sentence."""
        assert self.fitted().name and self.fitted().describe()

    def test_a_profile_scores_the_same_alone(self) -> None:
        """In any company and any order; an empty slot scores NaN and does not hold."""
        rule, (_, x, rows) = self.fitted(), _case()
        score = rule.score(rows)
        assert score.shape == rows.shape[:-1] and np.isfinite(score).all()
        np.testing.assert_array_equal(rule.score(rows[::-1]), score[::-1])
        np.testing.assert_allclose(rule.score(rows[3, 1]), score[3, 1], rtol=1e-12)
        empty = np.full_like(rows[:, :1], np.nan)
        assert np.isnan(rule.score(empty)).all() and not rule.holds(x, empty).any()

    def test_it_says_the_same_in_another_process(self) -> None:
        """Pickled and read again, fitted: the same scores."""
        rule, (_, _, rows) = self.fitted(), _case()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(rule)).score(rows), rule.score(rows))

    def test_it_holds_where_the_score_reaches_the_floor(self) -> None:
        """`holds` is the score against `floor`, which is at most the threshold; staying put is always plausible."""
        rule, (_, x, rows) = self.fitted(), _case()
        floor = rule.floor(x)[:, None]
        sure = np.abs(rule.score(rows) - floor) > 1e-6 * (1 + np.abs(floor))
        np.testing.assert_array_equal(rule.holds(x, rows)[sure], (rule.score(rows) >= floor)[sure])
        if not rule.strict:
            assert rule.holds(x, x[:, None]).all()

    def test_strict_asks_no_less(self) -> None:
        """What holds strictly holds otherwise, too."""
        problem, x, rows = _case()
        strict = replace(self.plausibility, strict=True).fit_problem(problem)
        assert not (strict.holds(x, rows) & ~self.fitted().holds(x, rows)).any()

    def test_most_accepted_people_are_plausible(self) -> None:
        """The rule is about people like those whom the model accepts."""
        if not self.calibrated:
            pytest.skip("accepted people need not be plausible here")
        problem = _case()[0]
        strict = replace(self.plausibility, strict=True).fit_problem(problem)
        accepted = problem.reference_accepted
        assert strict.holds(accepted, accepted[:, None]).mean() > 0.5

    def test_options_are_plausible(self) -> None:
        """What a method returns under it holds for the judge, and something is found."""
        from wayforward.methods import recommend

        plain, x, _ = _case()
        problem = Problem(
            plain.schema, plain.model, Target(favourable=1), plain.reference, plausibility=self.plausibility
        )
        got = recommend(problem, x, k=2)
        who, slot = np.nonzero(got.found)
        assert problem.plausibility is not None
        assert problem.plausibility.holds(got.x[who], got.after[who, slot]).all()
        assert (got.outcome[~got.accepted, 0] == Outcome.FOUND).mean() >= self.finds

    def test_it_is_written_and_read_back(self) -> None:
        """Parameters through JSON; the fit is repeated from the data."""
        if not self.stored:
            pytest.skip("this plausibility is not written to files")
        problem, _, rows = _case()
        again = plausibility_from_dict(json.loads(json.dumps(self.plausibility.to_dict())))
        np.testing.assert_array_equal(again.fit_problem(problem).score(rows), self.fitted().score(rows))
