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
    assert shape_checks.calls[name] < shape_checks.CALLS
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
