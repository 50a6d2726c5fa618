"""What the study asks of the methods: the pick among the hybrid's proposals, and how iCARMA is set up."""

from __future__ import annotations

import numpy as np

from wayforward_studies.icarma.published import ROWS
from wayforward_studies.icarma.solvers import SETUPS, cheapest, picked, training_law

COST = np.array([[1.0, 2.0, np.inf], [1.0, np.inf, np.inf], [np.inf] * 3])
SHORT = np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0] * 3])
ACTION = np.arange(9.0).reshape(3, 3, 1)


def test_a_price_decides_between_cheap_and_plausible() -> None:
    np.testing.assert_array_equal(cheapest(COST, SHORT, ACTION, 0.5)[:, 0], [0, 3, np.nan])
    np.testing.assert_array_equal(cheapest(COST, SHORT, ACTION, 2.0)[:, 0], [1, 3, np.nan])
    # an infinite price still takes what there is; a hard limit does not
    np.testing.assert_array_equal(cheapest(COST, SHORT, ACTION, np.inf)[:, 0], [1, 3, np.nan])
    np.testing.assert_array_equal(cheapest(COST, SHORT, ACTION, 0.0, hard=True)[:, 0], [1, np.nan, np.nan])
    np.testing.assert_array_equal(picked(COST, SHORT, ACTION, 2.0)[:2], [1, 0])


def test_every_published_line_of_icarma_has_a_setup() -> None:
    for row in ROWS:
        if row.method.startswith("icarma"):
            preset = "gmsc" if row.case.dataset == "gmsc" else f"loan-{row.case.elicited}"
            assert preset in SETUPS and f"{preset}, weighted" in SETUPS
            law = training_law("reverse" if row.method == "icarma-reverse" else "uniform", row.case.elicited)
            assert law.answers == row.case.elicited
            assert bool(law.favoured) == (row.method == "icarma-reverse")
