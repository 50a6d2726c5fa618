"""Verdicts can go every way, and a finding that does not hold is said not to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wayforward.evaluate.stats import Estimate
from wayforward_studies.icarma.measures import IcarmaMeasures, PerPerson
from wayforward_studies.icarma.published import IcarmaCase, IcarmaPublished, rows
from wayforward_studies.icarma.tables import aims, checks, checks_of, flat, tables, tolerance
from wayforward_studies.pages import Page
from wayforward_studies.verdicts import Check


def estimate(value: float | None) -> Estimate:
    one = float("nan") if value is None else value
    return Estimate(one, one - 0.01, one + 0.01, 0 if value is None else 1000, one, 0.05)


def as_published(row: IcarmaPublished) -> IcarmaMeasures:
    """What the paper states, as if we had measured it; costs are made up."""
    fewer = {4: 0.03, 3: 0.04, 2: 0.05, 1: 0.06, 0: 0.045}[row.case.features]
    cost = 0.09 if row.method == "oracle-free" and row.case.features == 1 else fewer
    return IcarmaMeasures(
        1000,
        estimate(row.validity),
        estimate(row.plausibility),
        estimate(row.hap),
        estimate(cost),
        estimate(0.2),
        estimate(1.0),
        estimate(1.0),
    )


def table(number: int, **shift: float) -> Page:
    """The page of a table whose numbers are the paper's, shifted."""
    lines, known = [], {}
    for row in rows(number, "loan"):
        found = as_published(row)
        for name, by in shift.items():
            found = replace(found, **{name: estimate(found.value(name) + by)})
        known[row.case, row.method] = found
        lines.append(flat(row.case, row.method, found, row))
    found = checks(number, "loan", known)
    return Page("icarma", "table", "", tuple(lines), found, {}, tables=tables(lines), tolerance=tolerance())


def verdict(row: IcarmaPublished, measured: IcarmaMeasures) -> dict[str, str]:
    """The verdicts of a line, 'all' summing up."""
    line = flat(row.case, row.method, measured, row)
    each = {name: line[f"{name}_verdict"] for name in ("validity", "plausibility", "hap")}
    return {name: word for name, word in each.items() if word} | {"all": line["verdict"]}


def findings(found: tuple[Check, ...]) -> str:
    """The findings of a page as Markdown."""
    return Page("icarma", "table", "", (), found, {}).markdown()


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6])
def test_the_published_numbers_agree_with_themselves_and_with_the_published_findings(number: int) -> None:
    """Budde et al. (2026): every finding that we check holds in their own tables."""
    own = table(number)
    assert own.counts == {"within": len(own.rows), "better": 0, "worse": 0, "undecided": 0}
    assert own.checks and not any(c.holds is False for c in own.checks)
    slack = [c.name for c in own.checks if c.holds is None]  # two digits tie, and the made-up costs double
    assert len(slack) <= 3, slack


def test_findings_are_read_from_the_rows() -> None:
    """So that a page that is written again has those of its numbers."""
    own = table(1)
    assert checks_of(1, "loan", own.rows) == own.checks
    fewer = [{**row, "validity": 0.5} if row["features"] == 4 else row for row in own.rows]
    assert any(c.holds is False for c in checks_of(1, "loan", fewer))


def test_a_broken_table_is_worse() -> None:
    assert table(1, validity=-0.2).counts == {"within": 0, "better": 0, "worse": 10, "undecided": 0}
    better = table(1, validity=0.05, plausibility=0.1).counts
    assert better["better"] == 5 and better["worse"] == 5  # an oracle that reaches more deviates
    mixed = verdict(
        rows(1)[1], replace(as_published(rows(1)[1]), plausibility=estimate(0.99), validity=estimate(0.5))
    )
    assert mixed == {"validity": "worse", "plausibility": "better", "all": "worse"}


def test_a_lower_hap_is_better() -> None:
    oracle, row = rows(2)[:2]
    got = verdict(row, replace(as_published(row), hap=estimate(0.1)))
    assert got == {"validity": "within", "plausibility": "within", "hap": "better", "all": "better"}
    assert verdict(oracle, replace(as_published(oracle), hap=estimate(0.1)))["hap"] == "worse"


def test_nothing_measured_is_worse() -> None:
    row = rows(1)[0]
    assert verdict(row, replace(as_published(row), plausibility=estimate(None)))["plausibility"] == "worse"


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6])
def test_findings_can_fail(number: int) -> None:
    """Every line with the same numbers: nothing falls, nothing rises."""
    same = as_published(rows(number)[0])
    got = checks(number, "loan", {(row.case, row.method): same for row in rows(number, "loan")})
    assert any(c.holds is False for c in got)
    assert "not as published" in findings(got)


def test_findings_about_lines_that_were_not_measured_are_left_out() -> None:
    assert checks(1, "loan", {}) == ()


def test_text() -> None:
    own = table(2, hap=0.2)
    text = own.markdown()
    assert "Tolerance: validity 0.03" in text
    assert "0.614 → 0.814 [0.804, 0.824] worse" in text and "Of 16 published lines" in text
    assert len(own.tables[0].columns) == len(own.tables[0].rows()[0]) == 7
    row = own.rows[0]
    assert (row["hap_paper"], row["hap_verdict"], row["features"]) == (0.614, "worse", 4)


def people(valid: float, plausible: float, cost: float) -> PerPerson:
    """Ten people, all with a proposal; so many of them valid, so many plausible."""
    ten = np.arange(10)
    return PerPerson(
        np.ones(10, bool),
        ten < 10 * valid,
        ten < 10 * plausible,
        np.ones(10),
        np.full(10, cost),
        ten * 0.0,
        ten * 0.0,
    )


def test_aims_of_the_hybrid_can_be_missed() -> None:
    parents = {"oracle": people(0.5, 1.0, 1.0), "icarma": people(0.9, 0.5, 1.0)}
    good = {**parents, "polished-hard": people(0.5, 1.0, 1.05), "polished-price": people(1.0, 0.6, 1.0)}
    assert [c.verdict for c in aims(IcarmaCase(), good)] == ["met", "met"]
    for missed in (
        {"polished-hard": people(0.5, 1.0, 1.2), "polished-price": people(1.0, 0.6, 1.1)},  # too dear
        {"polished-hard": people(0.4, 1.0, 1.0), "polished-price": people(0.8, 0.6, 1.0)},  # reaches fewer
        {
            "polished-hard": people(0.5, 0.9, 1.0),
            "polished-price": people(1.0, 0.5, 1.0),
        },  # no more plausible
    ):
        assert [c.verdict for c in aims(IcarmaCase(), {**parents, **missed})] == ["not met", "not met"]
