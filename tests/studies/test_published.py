"""The published numbers, spot-checked against the tables of the iCARMA paper (Budde et al., 2026)."""

from __future__ import annotations

from collections import Counter

import pytest

from wayforward_studies.icarma.published import PROFILES, ROWS, IcarmaCase, rows


@pytest.mark.parametrize(
    "table, case, method, numbers",
    [
        (1, IcarmaCase(features=2), "oracle", (0.539, 1.0, None)),
        (1, IcarmaCase(features=1), "icarma", (0.836, 0.258, None)),
        (1, IcarmaCase("gmsc", features=0), "icarma", (0.753, 0.886, None)),
        (2, IcarmaCase(profile="convex"), "oracle", (0.959, 1.0, 0.387)),
        (2, IcarmaCase(features=0, profile="linear"), "icarma", (0.958, 0.439, 0.440)),
        (2, IcarmaCase("gmsc", features=3, profile="linear"), "icarma", (0.73, 0.86, 0.34)),
        (3, IcarmaCase(elicited="scores", profile="concave"), "icarma", (0.995, 0.713, 0.225)),
        (5, IcarmaCase(law="reverse", features=1), "icarma-reverse", (0.785, 0.210, None)),
        (5, IcarmaCase(law="causal", features=3), "oracle", (0.821, 1.0, None)),
        (6, IcarmaCase(law="reverse", features=2), "oracle-free", (0.997, 0.29, None)),
    ],
)
def test_numbers(table: int, case: IcarmaCase, method: str, numbers: tuple) -> None:
    """Budde et al. (2026), Tables 1, 2, 3, 5 and 6."""
    (row,) = [r for r in rows(table) if (r.case, r.method) == (case, method)]
    assert (row.validity, row.plausibility, row.hap) == numbers


def test_every_line_of_every_table_is_there_once() -> None:
    """Budde et al. (2026): 12, 19, 8, 25 and 12 lines."""
    assert Counter(row.table for row in ROWS) == {1: 12, 2: 19, 3: 8, 5: 25, 6: 12}
    assert len({(row.table, row.case, row.method) for row in ROWS}) == len(ROWS)
    assert [row.case.profile for row in rows(3)] == list(PROFILES) * 2


def test_the_same_line_in_two_tables_has_the_same_numbers() -> None:
    """Budde et al. (2026): constant profiles of Table 2 are lines of Table 1, strict lines of Table 6 of 1 and 5."""
    first = {(row.case, row.method): row for row in rows(1) + rows(5)}
    shared = [row for row in rows(2) + rows(6) if (row.case, row.method) in first]
    assert len(shared) == 10
    for row in shared:
        assert row.validity == first[row.case, row.method].validity
        assert row.plausibility == first[row.case, row.method].plausibility


def test_words() -> None:
    assert str(IcarmaCase(features=0, profile="linear")) == "a random number of features, linear weights"
    assert str(IcarmaCase(law="causal")) == "causal order, all 4 features"
    assert str(IcarmaCase(elicited="scores", features=0)) == "scores, features at random"
    assert IcarmaCase(features=2).key == "loan-ranks-uniform-2-constant"
