"""The shapes in signatures are checked while the tests run."""

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from . import shape_checks


def test_public_functions_are_held_to_their_shapes() -> None:
    """A wrong shape ends in an error that names the parameter; the right one passes."""
    from wayforward.testing import case

    it = case()
    assert it.problem.check(it.x, np.full((len(it.x), 1, it.x.shape[1]), np.nan)).n == len(it.x)
    with pytest.raises(TypeCheckError, match="action"):
        it.problem.check(it.x, np.full((len(it.x), it.x.shape[1]), np.nan))


@pytest.mark.parametrize("again", [False, True])
def test_each_test_checks_the_first_calls_of_a_function(again: bool) -> None:
    """Also in the second test that calls it, however often the first did; later calls, often many, are not."""
    from wayforward.testing import case

    it = case()
    wrong = np.zeros((len(it.x), 1, 1, it.x.shape[1]))
    name = "wayforward.problem.population.Population.snap"
    assert shape_checks.left[shape_checks.CHECKED[name]] > 0
    with pytest.raises(TypeCheckError, match="action"):
        it.problem.check(it.x, wrong)
    for _ in range(shape_checks.CALLS):
        it.problem.check(it.x, wrong[:, 0] + it.x[:, None])
    with pytest.raises(Exception) as raised:
        it.problem.check(it.x, wrong)
    assert not isinstance(raised.value, TypeCheckError)


def test_the_judge_and_the_methods_are_among_what_is_checked() -> None:
    """What the package promises in shapes is what is looked at."""
    import wayforward.methods.base
    import wayforward.problem

    assert wayforward.problem.Problem.__module__ in {name.rsplit(".", 2)[0] for name in shape_checks.CHECKED}
    assert "wayforward.problem.population.Population.snap" in shape_checks.CHECKED


def test_what_was_right_once_is_no_excuse_for_other_sizes() -> None:
    """Equal sizes that have to be equal, arguments and result, however often others were right before."""
    right, wrong = np.zeros((3, 2)), np.zeros((2, 3))

    def costs(x: "People", cost: "Costs | None" = None) -> "PerPerson":  # noqa: F821
        return cost[:, 0] if cost is not None and len(cost) == len(x) else x[0]

    held = shape_checks.checked(costs)
    for size in (3, 4, 4):
        assert held(np.zeros((size, 2)), np.zeros((size, 5))).shape == (size,)
    assert held(np.zeros((2, 2))).shape == (2,)
    with pytest.raises(TypeCheckError, match="'cost'"):
        held(right, cost=wrong)
    with pytest.raises(TypeCheckError, match="'return'"):
        held(right)
    with pytest.raises(TypeCheckError, match="'x'"):
        held([[1.0]])
    with pytest.raises(TypeCheckError, match="'x'"):
        held(right.astype(int))
