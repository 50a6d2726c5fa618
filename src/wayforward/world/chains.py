"""The three-variable teaching worlds of probabilistic recourse: linear, additive, non-additive.

x1 causes x2, and both cause x3. x1 has two clusters, so a regression through it all tells little about
either. They show which worlds survive which equations: all of them learn `three_linear`, the linear world
misses `three_additive`, and a world with additive noise misses `three_nonadditive`, where causes change how much a
person's own noise counts.

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic recourse under imperfect
causal knowledge: a probabilistic approach, NeurIPS; equations of the linear and the additive world as in its
code. Its non-additive world writes the noise several times (as a sign and as a square), from which a person's
noise cannot be recovered by one formula. `three_nonadditive` keeps the idea in equations that can be solved:
the spread of x2 grows with x1 squared, the spread of x3 with x1 and x2 squared.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from wayforward.errors import WorldError
from wayforward.public import public
from wayforward.rules.arrays import Array, NumpyOps
from wayforward.world.scm import SCM

Chain: TypeAlias = Literal["3-lin", "3-anm", "3-nonadditive"]
FEATURES = ("x1", "x2", "x3")

_FIRST = {"x1": "u"}
_CLUSTERS = (
    "Mixture(0.5, -2, 1.224744871391589, 0.5, 1, 1)"  # standard deviations; the variances are 1.5 and 1
)


def three_linear() -> SCM:
    """3-lin: x2 = -x1 + u2, x3 = 0.5 (0.1 x1 + 0.5 x2) + u3, both noises standard normal."""
    return SCM(
        _FIRST | {"x2": "-x1 + u", "x3": "0.5 * (0.1 * x1 + 0.5 * x2) + u"},
        {"x1": _CLUSTERS, "x2": "Normal(0, 1)", "x3": "Normal(0, 1)"},
    )


def three_additive() -> SCM:
    """3-anm: x2 = 3 sigmoid(2 x1) - 1 + u2 (variance 0.1), x3 = -0.5 (0.1 x1 + 0.5 x2^2) + u3 (variance 1)."""
    return SCM(
        _FIRST | {"x2": "3 * sigmoid(2 * x1) - 1 + u", "x3": "-0.5 * (0.1 * x1 + 0.5 * x2 * x2) + u"},
        {"x1": _CLUSTERS, "x2": "Normal(0, 0.31622776601683794)", "x3": "Normal(0, 1)"},
    )


def three_nonadditive() -> SCM:
    """3-nonadditive: x2 = 0.25 (1 + x1^2) u2, x3 = -1 + (0.25 + 0.1 (x1^2 + x2^2)) u3, standard normal noise."""
    return SCM(
        _FIRST | {"x2": "0.25 * (1 + x1 * x1) * u", "x3": "(0.25 + 0.1 * (x1 * x1 + x2 * x2)) * u - 1"},
        {"x1": _CLUSTERS, "x2": "Normal(0, 1)", "x3": "Normal(0, 1)"},
    )


@public
def chain(name: Chain) -> SCM:
    """One of the three by its name in the literature. Raises: WorldError for another name.

    Example:
        >>> chain("3-lin").sample(5, rng=0).shape
        (5, 3)
    """
    made = {"3-lin": three_linear, "3-anm": three_additive, "3-nonadditive": three_nonadditive}
    if name not in made:
        raise WorldError(f"There is no chain {name!r}. Use one of {', '.join(made)}.")
    return made[name]()


def favourable(x: Array, steepness: float = 2.5) -> np.ndarray:
    """(..., 3) -> (...): the probability of a yes in these worlds, sigmoid(steepness (x1 + x2 + x3) / mean size).

    The mean size is that of |x1 + x2 + x3| over the people given, so that the classes overlap alike in all.
    """
    total = np.asarray(x, dtype=np.float64).sum(-1)
    return np.asarray(NumpyOps.sigmoid(steepness * total / max(float(np.mean(np.abs(total))), 1e-12)))
