"""One meaning of 'within', 'better', 'worse' and 'undecided', and of a difference beyond chance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from wayforward.evaluate.stats import Estimate, rate
from wayforward_studies.verdicts import (
    Cell,
    Check,
    Verdict,
    above_zero,
    all_of,
    below,
    counted,
    difference,
    falls,
    half_of_prediction,
    half_width,
    of_all,
    open_of,
    opened,
    with_interval,
)


@pytest.mark.parametrize(
    "ours, sign, interval, word",
    [
        (0.53, 1, None, "within"),
        (0.47, 1, (0.2, 0.8), "within"),  # the mean decides, however wide its interval
        (0.5301, 1, None, "better"),
        (0.5301, -1, None, "worse"),
        (0.46, 1, None, "worse"),
        (0.46, -1, None, "better"),
        (0.56, 1, (0.54, 0.58), "better"),
        (0.56, 1, (0.52, 0.60), "undecided"),  # reaches back into .47 to .53
        (0.56, -1, (0.52, 0.60), "undecided"),
        (0.44, 1, (0.42, 0.46), "worse"),
        (0.44, 1, (0.40, 0.48), "undecided"),
        (0.9, 1, (-math.inf, math.inf), "undecided"),  # a single seed
        (0.56, 0, None, "worse"),  # neither more nor less is better
        (0.44, 0, (0.40, 0.48), "undecided"),
        (math.nan, 1, None, "worse"),  # nobody was found
    ],
)
def test_a_number_beside_the_papers(ours: float, sign: int, interval: tuple[float, float] | None, word: str):
    assert Cell(ours, 0.5, 0.03, sign, interval).verdict == word


@pytest.mark.parametrize(
    ("ours", "sign", "interval", "apart", "word"),
    [
        (0.44, -1, (0.40, 0.48), math.inf, "within or better"),  # less is better, and .48 is within
        (0.56, 1, (0.52, 0.60), 0.01, "within or better"),
        (0.56, -1, (0.52, 0.60), 0.059, None),  # the paper's runs lie less far apart
        (0.56, -1, (0.52, 0.60), 0.061, "chance"),
        (0.56, -1, (0.52, 0.60), math.inf, None),  # a single seed tells of no others
        (0.56, 0, (0.52, 0.60), 0.061, "chance"),  # neither more nor less is better
        (0.56, 1, (0.46, 0.66), math.inf, None),  # may be worse, too: .46
        (0.56, -1, (0.54, 0.58), 0.061, None),  # decided: worse
        (0.52, -1, (0.40, 0.60), 0.061, None),  # decided: within
    ],
)
def test_what_is_known_of_an_undecided_number(
    ours: float, sign: int, interval: tuple[float, float], apart: float, word: str | None
) -> None:
    cell = Cell(ours, 0.5, 0.03, sign, interval, apart)
    assert cell.open == word
    text = opened({"gtp": cell, "gtd": Cell(0.5)})
    assert text == (f"gtp: {word}" if word else "")
    assert open_of(text, "gtp") == (word or "") and open_of(text, "gtd") == ""


@pytest.mark.parametrize(("seeds", "runs"), [(10, 1), (10, 5), (5, 1)])
def test_the_mean_of_other_runs_lies_where_it_is_said_to(seeds: int, runs: int) -> None:
    """19 times in 20, whatever the runs' spread is."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(3, 2, (4000, seeds)), rng.normal(3, 2, (4000, runs)).mean(1)
    half = np.array([half_of_prediction(half_width(one.std(), seeds), seeds, runs) for one in ours])
    assert np.mean(np.abs(ours.mean(1) - theirs) <= half) == pytest.approx(0.95, abs=0.012)


def test_nothing_is_compared_with_nothing() -> None:
    assert (
        Cell(0.5).verdict is None and Cell(0.5, 0.5).verdict is None and Cell(0.5, None, 0.1).verdict is None
    )
    assert of_all([]) is None and of_all([Cell(0.5)]) is None


def test_a_line_is_as_bad_as_its_worst_number() -> None:
    better, within, worse = Cell(0.9, 0.5, 0.1), Cell(0.5, 0.5, 0.1), Cell(0.1, 0.5, 0.1)
    open_ = Cell(0.9, 0.5, 0.1, interval=(0.0, 1.8))
    assert of_all([within, better]) == "better" and of_all([within]) == "within"
    assert of_all([within, better, open_]) == "undecided" and of_all([better, open_, worse]) == "worse"
    words = [Verdict.WORSE, Verdict.WORSE, None, Verdict.WITHIN]
    assert counted(words) == {"within": 1, "better": 0, "worse": 2, "undecided": 0}


def test_intervals_over_seeds() -> None:
    """Student (1908), tables of t: 2.776 for four degrees of freedom; the interval of a mean is t s / sqrt(n)."""
    values = np.array([1.0, 2.0, 4.0, 7.0, 11.0])
    assert half_width(float(values.std()), 5) == pytest.approx(2.776445 * values.std(ddof=1) / math.sqrt(5))
    assert half_width(0.1, 1) == math.inf
    assert above_zero(0.1, 0.2) is True and above_zero(-0.2, -0.1) is False and above_zero(-0.1, 0.2) is None


def shares(**values: float) -> dict[str, Estimate]:
    """Numbers that are known to .01."""
    return {name: Estimate(value, value - 0.01, value + 0.01, 100) for name, value in values.items()}


@pytest.mark.parametrize(
    ("values", "slack", "holds"),
    [
        ({"a": 0.9, "b": 0.8, "c": 0.7}, 0.0, True),
        ({"a": 0.9, "b": 0.8, "c": 0.79}, 0.0, None),  # .01 +- .014: within chance
        ({"a": 0.9, "b": 0.905}, 0.0, None),
        ({"a": 0.9, "b": 0.92}, 0.0, False),
        ({"a": 0.9, "b": 0.92}, 0.03, None),  # no more than the slack
        ({"a": 0.9, "b": 0.95, "c": 0.1}, 0.03, False),
    ],
)
def test_an_order_is_undecided_where_a_step_is_within_chance_or_slack(
    values: dict[str, float], slack: float, holds: bool | None
) -> None:
    got, fall = falls(shares(**values), slack)
    assert got is holds
    steps = [a - b for a, b in itertools.pairwise(values.values())]
    assert fall.value == pytest.approx(min(steps)) and fall.high - fall.low == pytest.approx(0.02 * 2**0.5)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    """Newcombe (1998), Table II, example (a): 56/70 less 48/80 is .2, by method 10 .0524 to .3339."""
    one, other = (rate(np.arange(n) < hits) for hits, n in ((56, 70), (48, 80)))
    gap = difference(one, other)
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert difference(other, one).low == pytest.approx(-gap.high)
    twice = difference(one, other, 2.0)  # two times other: as if it were drawn on twice its scale
    assert twice.value == pytest.approx(0.8 - 1.2) and twice.high - twice.low > gap.high - gap.low


def test_a_bound_is_undecided_where_the_interval_holds_it() -> None:
    exact = [Estimate(ratio, ratio, ratio, 1) for ratio in (1.4, 2.5, 3.5)]
    assert [below(ratio, 1.5, 3.0) for ratio in exact] == [True, None, False]
    known = shares(a=0.03, b=0.055, c=0.08, d=0.2)
    assert [below(one, 0.05, 0.1) for one in known.values()] == [True, None, None, False]


def test_all_of() -> None:
    assert all_of([True, True]) and all_of([True, None]) is None and all_of([True, None, False]) is False


@pytest.mark.parametrize("aim", [False, True])
@pytest.mark.parametrize("holds", [True, False, None])
def test_findings_are_read_again(aim: bool, holds: bool | None) -> None:
    check = Check("cost", "falls", holds, "3, 2, 1", aim)
    again = Check.from_dict(check.to_dict())
    assert (again.verdict, again.holds, again.statement, again.measured) == (
        check.verdict,
        holds,
        "falls",
        "3, 2, 1",
    )


def test_a_bound_next_to_zero_is_not_shown_as_zero() -> None:
    assert with_interval(Estimate(0.0021, 0.0001, 0.0049, 9)) == "+0.0021 [+0.0001, +0.0049]"
    assert with_interval(Estimate(0.031, 0.024, 0.041, 9)) == "+0.031 [+0.024, +0.041]"
