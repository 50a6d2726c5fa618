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


def test_the_judge_and_the_methods_are_among_what_is_checked() -> None:
    """What the package promises in shapes is what is looked at."""
    import wayforward.methods.base
    import wayforward.problem

    assert wayforward.problem.Problem.__module__ in {name.rsplit(".", 2)[0] for name in shape_checks.CHECKED}
    assert "wayforward.problem.population.Population.snap" in shape_checks.CHECKED
