"""What must hold for every condition that options withstand (`robust=`): a test class to inherit.

Example: ``class TestMine(RobustContract): condition = Mine(0.02)``.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest

from wayforward.errors import ProblemError
from wayforward.problem import Problem, Robust, Target
from wayforward.problem.robust import read
from wayforward.testing.problems import Case, case


@lru_cache(maxsize=4)
def _case(kind: str) -> Case:
    return case(kind, "independent", 0, 40)


class RobustContract:
    """Inherit, give the condition (unfitted), and these tests run.

    kinds: the kinds of model (see `testing.KINDS`) that it must support; the others must be refused with ProblemError.
    finds: the least share of refused people for whom local search must find an option that withstands it.
    """

    condition: ClassVar[Robust]
    kinds: ClassVar[tuple[str, ...]] = ("linear",)
    finds: ClassVar[float] = 0.3

    def problem(self, kind: str) -> Problem:
        """A problem under the condition, put once for all tests of a class."""
        cached: dict[str, Problem] = type(self).__dict__.get("_problems", {})
        if kind not in cached:
            cached[kind] = self.problem_anew(kind)
            type(self)._problems = cached  # type: ignore[attr-defined]
        return cached[kind]

    def problem_anew(self, kind: str) -> Problem:
        """A problem under the condition."""
        plain = _case(kind).problem
        return Problem(
            plain.schema, plain.model, Target(favourable=1), plain.reference, robust=self.condition
        )

    def test_it_says_what_it_is(self) -> None:
        """A name and a sentence; fitted conditions tell themselves apart by a fingerprint of plain data."""
        problem = self.problem(self.kinds[0])
        assert problem.robust is not None and problem.robust.name and problem.robust.describe()
        assert problem.robust.fingerprint(_case(self.kinds[0]).x[:2])[0] == problem.robust.name

    def test_it_says_the_same_in_another_process(self) -> None:
        """Pickled and read again with its problem, whose table stays behind: the same word on every row."""
        problem, x = self.problem(self.kinds[0]), _case(self.kinds[0]).x
        there = pickle.loads(pickle.dumps(problem.without_table()))
        nothing = np.full_like(x, np.nan)
        assert problem.robust is not None
        np.testing.assert_array_equal(
            there.robust.holds(there, x, nothing, x), problem.robust.holds(problem, x, nothing, x)
        )

    def test_fitting_leaves_the_condition_as_it_is(self) -> None:
        """`fit` returns a copy: two problems may share a condition."""
        one, two = self.problem(self.kinds[0]), self.problem_anew(self.kinds[0])
        assert one.robust is not two.robust and one.robust is not self.condition

    def test_it_never_raises_a_score(self) -> None:
        """What is left of a score is at most the score; rows that are no yes today do not hold."""
        for kind in self.kinds:
            problem, x = self.problem(kind), _case(kind).x
            people, who = problem.population(x), np.arange(len(x))
            assert problem.robust is not None
            plain = problem.bound_target.score(people.outputs(who, x))
            left = problem.robust.score(people, who, x, np.full_like(x, np.nan), plain)
            assert left.shape == plain.shape and (left <= plain + 1e-9).all()

    def test_options_hold_and_stay_a_yes(self) -> None:
        """Every option withstands the condition by its own judgement, and the model says yes; something is found."""
        from wayforward.methods import recommend

        for kind in self.kinds:
            problem = self.problem(kind)
            got = recommend(problem, _case(kind).x, k=1)
            who = np.flatnonzero(got.found[:, 0])
            assert problem.robust is not None
            rows = got.x[who], got.action[who, 0], got.after[who, 0]
            assert problem.robust.holds(problem, *rows).all()
            assert problem.reached(rows[2])[0].all()
            assert len(who) / (~got.accepted).sum() >= self.finds

    def test_a_row_holds_alone_as_in_company(self) -> None:
        """The judge's word depends on nobody else."""
        problem, x = self.problem(self.kinds[0]), _case(self.kinds[0]).x
        assert problem.robust is not None
        nothing = np.full_like(x, np.nan)
        together = problem.robust.holds(problem, x, nothing, x)
        np.testing.assert_array_equal(
            problem.robust.holds(problem, x[::-1], nothing, x[::-1]), together[::-1]
        )
        for i in (0, 5, 11):
            part = slice(i, i + 1)
            assert problem.robust.holds(problem, x[part], nothing[part], x[part])[0] == together[i]

    def test_its_example_can_be_read(self) -> None:
        """Where it can be written as text, its example is that of a condition of this kind."""
        spelling = type(self.condition).spelling
        if spelling is None:
            pytest.skip("this condition is not written as text")
        if spelling.example.split(":")[0] in ("models", "next"):
            with pytest.raises(ProblemError):
                read(spelling.example)
        else:
            assert isinstance(read(spelling.example), type(self.condition))
