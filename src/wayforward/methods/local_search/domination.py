"""When one option asks for more than another one and gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wayforward.problem import Population


def goes_farther(
    people: Population, who: np.ndarray, taken: np.ndarray, action: np.ndarray, slack: float | None = None
) -> np.ndarray:
    """Return (c,) bool: the action (c, d) does all that one of the options taken (c, o, d) does, at least as far.

    As far: within a hundredth of the range, or a step; or within `slack` of the range. Such an action asks for more
    and gives the same.
    """
    schema, x = people.schema, people.x[who][:, None, :]
    acts, mine = ~np.isnan(taken), ~np.isnan(action)[:, None, :]
    with np.errstate(invalid="ignore"):
        gap, own = taken - x, action[:, None, :] - x
        near = (
            np.maximum(0.01 * schema.span, np.nan_to_num(schema.step))
            if slack is None
            else slack * schema.span
        )
        near = np.where(schema.has_levels, 1e-9, np.maximum(near, 1e-9 * schema.span))
        as_far = (np.sign(gap) * own >= np.abs(gap) - near) | np.isnan(x)
        as_far = np.where(schema.is_categorical, taken == action[:, None, :], as_far)
    covers = (~acts | (mine & as_far)).all(2) & acts.any(2)
    return np.asarray(covers.any(1))
