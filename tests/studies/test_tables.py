"""Verdicts can go every way, and a finding that does not hold is said not to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wayforward.evaluate.stats import Estimate
from wayforward_studies.icarma.findings import checks, of_figure
from wayforward_studies.icarma.measures import IcarmaMeasures, PerPerson
from wayforward_studies.icarma.published import IcarmaCase, IcarmaPublished, rows
from wayforward_studies.icarma.tables import aims, flat, tables, tolerance
from wayforward_studies.pages import Page, Row
from wayforward_studies.verdicts import Check


def estimate(value: float | None, half: float = 0.01) -> Estimate:
    one = float("nan") if value is None else value
    return Estimate(one, one - half, one + half, 0 if value is None else 1000, one, 0.05)


def as_published(row: IcarmaPublished) -> IcarmaMeasures:
    """What the paper states, as if we had measured it, with hardly any error; costs are made up."""
    cost = {4: 0.03, 3: 0.034, 2: 0.038, 1: 0.042, 0: 0.036}[row.case.features]
    if row.method == "oracle-free":
        cost = 0.2 - cost if row.case.features == 2 else 0.2
    cost += 0.002 * (row.case.law == "reverse") - 0.005 * (
        row.case == IcarmaCase("gmsc", features=3, profile="linear")
    )
    sure = [estimate(one, 1e-4) for one in (row.validity, row.plausibility, row.hap, cost)]
    return IcarmaMeasures(1000, *sure, estimate(0.2), estimate(1.0), estimate(1.0))


def table(number: int, half: float = 0.01, **shift: float) -> Page:
    """The page of a table whose numbers are the paper's, shifted; half: of a shifted number's interval."""
    lines = []
    for row in rows(number, "loan"):
        found = as_published(row)
        for name, by in shift.items():
            found = replace(found, **{name: estimate(found.value(name) + by, half)})
        lines.append(flat(row.case, row.method, found, row))
    found = checks(number, "loan", lines)
    return Page("icarma", "table", "", tuple(lines), found, {}, tables=tables(lines), tolerance=tolerance())


def verdict(row: IcarmaPublished, measured: IcarmaMeasures) -> dict[str, str]:
    """The verdicts of a line, 'all' summing up."""
    line = flat(row.case, row.method, measured, row)
    each = {name: line[f"{name}_verdict"] for name in ("validity", "plausibility", "hap")}
    return {name: word for name, word in each.items() if word} | {"all": line["verdict"]}


ENDS = (("", ""), ("_low", "_high"), ("_high", "_low"))


def findings(found: tuple[Check, ...]) -> str:
    """The findings of a page as Markdown."""
    return Page("icarma", "table", "", (), found, {}).markdown()


#: What the paper's three digits leave open: .997 twice, .25 twice.
TIES = {
    5: ["iCARMA: validity falls, causal order"],
    6: ["without the demand, more features raise plausibility, uniform"],
}


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6])
def test_the_published_numbers_agree_with_themselves_and_with_the_published_findings(number: int) -> None:
    """Budde et al. (2026): every finding that we check holds in their own tables."""
    own = table(number)
    assert own.counts == {"within": len(own.rows), "better": 0, "worse": 0, "undecided": 0}
    assert own.checks and not any(c.holds is False for c in own.checks)
    ties = [c.name for c in own.checks if c.holds is None]
    assert ties == TIES.get(number, [])


def test_findings_are_read_from_the_rows() -> None:
    """So that a page that is written again has those of its numbers."""
    own = table(1)
    assert checks(1, "loan", own.rows) == own.checks
    half = {"validity": 0.5, "validity_low": 0.49, "validity_high": 0.51}
    fewer = [{**row, **half} if row["features"] == 4 else row for row in own.rows]
    assert any(c.holds is False for c in checks(1, "loan", fewer))


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
    """Every line upside down: what falls rises; or with the same numbers: nobody knows what falls."""
    known = [flat(row.case, row.method, as_published(row), row) for row in rows(number, "loan")]
    names = ("validity", "plausibility", "hap", "cost")
    turned = [
        {**row}
        | {f"{n}{to}": 1 - row[f"{n}{of}"] for n in names for of, to in ENDS if row[f"{n}_low"] is not None}
        for row in known
    ]
    got = checks(number, "loan", turned)
    assert any(c.holds is False for c in got)
    assert "not as published" in findings(got)
    same = as_published(rows(number)[0])
    got = checks(number, "loan", [flat(row.case, row.method, same, row) for row in rows(number, "loan")])
    assert any(c.holds is None for c in got) and "undecided" in findings(got)


def test_findings_about_lines_that_were_not_measured_are_left_out() -> None:
    assert checks(1, "loan", []) == ()


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


def gmsc(**cost: float) -> list[Check]:
    """The findings of GMSC's Table 2 beside Table 1, in the paper's numbers; costs by how many features and profile."""
    lines = [
        flat(row.case, row.method, as_published(row), row) for row in (*rows(1, "gmsc"), *rows(2, "gmsc"))
    ]
    for row in lines:
        new = cost.get(f"{row['profile']}_{row['features']}", row["cost"])
        row |= {"cost": new, "cost_low": new - 1e-4, "cost_high": new + 1e-4}
    return [check for check in checks(2, "gmsc", lines) if " limits" in check.name]


def test_soft_limits_are_compared_with_table_1() -> None:
    """Of GMSC; Table 2 alone has nothing to compare with."""
    as_stated = {"constant_4": 0.3, "linear_4": 0.32, "linear_3": 0.31}
    assert [check.holds for check in gmsc(**as_stated)] == [True] * 4
    halved = {check.name: check.holds for check in gmsc(**{**as_stated, "linear_4": 0.15})}
    assert halved.pop("iCARMA: soft limits cost more") is False
    assert halved.pop("iCARMA: hard limits beside soft ones cost less") is False and all(halved.values())
    alone = [flat(row.case, row.method, as_published(row), row) for row in rows(2, "gmsc")]
    names = [check.name for check in checks(2, "gmsc", alone)]
    assert (
        "iCARMA: hard limits beside soft ones cost less" in names
        and "iCARMA: soft limits cost more" not in names
    )


def quartiles(people: int = 4000, **medians: tuple[float, float]) -> list[Row]:
    """Rows of a figure: the median, and how far the lower quartile lies below it; so far does the upper above it."""
    return [
        {
            "setting": name.replace("_", " "),
            "method": "iCARMA",
            "people": people,
            "q25": m - s,
            "median": m,
            "q75": m + s,
        }
        for name, (m, s) in medians.items()
    ]


def test_figures_are_read_by_their_quartiles() -> None:
    wider = quartiles(all_4=(1.0, 1.0), three=(0.5, 1.5), two=(0.0, 3.0))
    assert [check.holds for check in of_figure(3, wider)] == [True, True]
    # .05 is within chance, the rest a rise
    level = quartiles(400, all_4=(1.0, 1.0), three=(0.95, 1.0), two=(3.0, 0.2))
    assert [check.holds for check in of_figure(3, level)] == [False, False]
    assert of_figure(3, level[:2])[0].holds is None
    # 1.96 x 1.2533 / 1.349 x 2 / 20, twice, at right angles
    assert of_figure(3, level[:2])[0].measured.endswith("+0.050 [-0.208, +0.308]")
    nobody: Row = dict.fromkeys(("q25", "median", "q75"), None) | {"people": 0}
    assert of_figure(3, [wider[0], wider[1] | nobody])[0].holds is None
    names = ("all 4 features", "hard limits at random", "soft, linear weights")
    some = quartiles(**dict(zip(names, ((-16.0, 2.0), (-18.0, 4.0), (-20.0, 2.0)), strict=True)))
    assert [check.holds for check in of_figure(8, some)] == [True, True, False, True]
