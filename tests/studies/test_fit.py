"""Figure 7 of iCARMA: distances between people and draws that can be told by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayforward_studies.icarma import fit
from wayforward_studies.icarma.run import IcarmaReplication, IcarmaRequest
from wayforward_studies.icarma.setting import IcarmaSetting
from wayforward_studies.pages import Page


def test_distances_that_are_known() -> None:
    """Uniform on [0, 1] against [.1, 1.1]: a gap of .1, a shift of .1 deviations of 12 ** -.5, a spread of 1."""
    even = (np.arange(4000) + 0.5) / 4000
    rng = np.random.default_rng(0)
    other = rng.permutation(even)
    one, same = fit.fitted(("moved", "kept"), np.c_[even, even], np.c_[even + 0.1, even]), fit.fitted(
        ("x", "y"), np.c_[even, even], np.c_[even, other]
    )  # fmt: skip
    assert one[0]["gap"] == pytest.approx(0.1, abs=1e-3) and one[1]["gap"] == 0
    assert one[0]["gap_low"] < 0.1 < one[0]["gap_high"]
    assert one[0]["shift"] == pytest.approx(0.1 * 12**0.5, abs=1e-3)
    assert one[0]["spread"] == pytest.approx(1) and one[0]["rank"] == pytest.approx(0)
    # each feature alone is the same, together they are not
    assert same[0]["gap"] == same[1]["gap"] == 0
    assert same[0]["rank"] == pytest.approx(1, abs=0.05) and same[0]["rank_with"] == "y"
    assert [fit.checks(rows)[0].holds for rows in (one, same)] == [False, True]


def test_intervals_hold_what_they_say() -> None:
    """Two samples of the same: in 200 pairs the interval of the gap leaves out 0 in five of a hundred at most."""
    rng = np.random.default_rng(1)
    error = fit._error(300) + fit._error(900)
    far = [fit.greatest_gap(rng.random(300), rng.random(900)) > error for _ in range(200)]
    assert np.mean(far) <= 0.05


def test_bars_hold_whole_numbers_alike() -> None:
    """As many whole numbers in each bar, so that no comb is drawn; a bar for each of two values; else 40 alike."""
    for most, wide in ((9, 1), (100, 3)):
        edges = fit._edges(np.arange(most + 1.0))
        assert (
            set(np.diff(edges)) == {wide} and edges[0] == -0.5 and edges[-1] > most - 1 and len(edges) <= 42
        )
    np.testing.assert_array_equal(fit._edges(np.array([0.0, 1, 1])), [-0.5, 0.5, 1.5])
    assert len(fit._edges(np.linspace(0, 1, 500))) == 41
    assert fit._short("NumberOfOpenCreditLinesAndLoans") == "Number Of Open Credit\nLines And Loans"
    assert fit._short("loan_amount") == "loan_amount"


def test_the_page_of_a_world_that_is_the_data(small: IcarmaSetting, tmp_path: Path) -> None:
    """Draws from the equations themselves: no gap beyond its error, and both kinds of panels are drawn."""
    pytest.importorskip("matplotlib")
    request = IcarmaRequest(figures=(7,), datasets=("loan",), out=tmp_path)
    work = IcarmaReplication(request, make=lambda *_: small)
    page = work.page("figure-7-loan")
    assert {row["feature"] for row in page.rows} == set(small.schema.names)
    assert all(row["gap_low"] == 0 and row["people"] == 1800 for row in page.rows)
    assert page.checks[0].verdict == "undecided"  # 1,800 people say too little
    again = IcarmaReplication.laid_out(Page.read(tmp_path / "figure-7-loan.json"))
    assert again.markdown() == (tmp_path / "figure-7-loan.md").read_text()
    assert again.tables[0].lines[0].shown[0] == small.schema.names[0]
    assert (tmp_path / "figure-7-loan.svg").is_file()
