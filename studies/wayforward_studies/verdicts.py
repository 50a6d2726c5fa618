"""What 'within', 'better', 'worse' and 'undecided' mean, for every number of every study."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from wayforward.evaluate.stats import Estimate

Interval = tuple[float, float]

_HAIR = 1e-9  # so that .989 against .959 ± .03 does not hang on the last bit

#: What a finding is worth that only holds with some slack.
SLACK = "A finding that holds only with the slack that it is given is *undecided*."

#: The rule as it stands on every page with published numbers.
RULE = (
    "A number is *within* if it is no further from the paper's than the tolerance. Beyond it, it is *better* or "
    "*worse*, or *undecided* where its 95 % interval reaches back into the tolerance."
)


class Verdict(StrEnum):
    """How a measured number lies to the published one."""

    WITHIN = "within"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


class Open(StrEnum):
    """What an undecided number is, although it is not decided."""

    NOT_WORSE = "within or better"  # all of its interval is one or the other
    CHANCE = "chance"  # runs as large as the paper's lie as far apart


@dataclass(frozen=True)
class Cell:
    """One number, ours beside the paper's; no verdict without `paper` and `tolerance`.

    sign: 1 where higher is better, -1 where lower is, 0 where neither is: then all that is beyond is worse. interval:
    95 % of ours; None: not known, so not asked. apart: see `half_of_prediction`; infinite: not known.
    """

    ours: float
    paper: float | None = None
    tolerance: float | None = None
    sign: int = 1
    interval: Interval | None = None
    apart: float = math.inf

    @property
    def open(self) -> Open | None:
        """What is known of an undecided number all the same; None of any other."""
        if self.verdict is not Verdict.UNDECIDED:
            return None
        assert self.paper is not None and self.tolerance is not None and self.interval is not None
        if (
            self.sign
            and min(self.sign * (end - self.paper) for end in self.interval) >= -self.tolerance - _HAIR
        ):
            return Open.NOT_WORSE
        return Open.CHANCE if abs(self.ours - self.paper) <= self.apart < math.inf else None

    @property
    def verdict(self) -> Verdict | None:
        """See `RULE`. A number that could not be measured, as nobody was found, is worse."""
        if self.paper is None or self.tolerance is None:
            return None
        if not math.isfinite(self.ours):
            return Verdict.WORSE
        gap, slack = self.ours - self.paper, self.tolerance + _HAIR
        if abs(gap) <= slack:
            return Verdict.WITHIN
        if self.interval is not None:
            low, high = self.interval
            if (low - self.paper <= slack) if gap > 0 else (high - self.paper >= -slack):
                return Verdict.UNDECIDED
        return Verdict.BETTER if gap * self.sign > 0 else Verdict.WORSE


def opened(cells: Mapping[str, Cell]) -> str:
    """What is known of undecided numbers, for the column 'open' of a row: 'gtp: chance; gtd: within or better'."""
    return "; ".join(f"{name}: {cell.open}" for name, cell in cells.items() if cell.open)


def open_of(text: str, name: str) -> str:
    """What a text that `opened` made says of one number; '' where that is nothing."""
    return dict(part.split(": ") for part in text.split("; ") if part).get(name, "")


def of_all(cells: Iterable[Cell]) -> Verdict | None:
    """Sum up a line: worse if one number is, else undecided if one is, else better if one is, else within."""
    words = {cell.verdict for cell in cells}
    order = (Verdict.WORSE, Verdict.UNDECIDED, Verdict.BETTER, Verdict.WITHIN)
    return next((word for word in order if word in words), None)


def counted(verdicts: Iterable[Verdict | None]) -> dict[str, int]:
    """How many are within, better, worse, undecided."""
    words = list(verdicts)
    return {word.value: words.count(word) for word in Verdict}


def half_width(spread: float, seeds: int) -> float:
    """Half of the 95 % interval (Student's t) of a mean over seeds; spread: their standard deviation (ddof 0).

    Infinite for a single seed, which says nothing about others.
    """
    if seeds < 2:
        return math.inf
    return _quantile(seeds - 1) * spread / math.sqrt(seeds - 1)


@functools.cache
def _quantile(freedom: int) -> float:
    """The .975 quantile of Student's t, which takes longer than all else of a cell."""
    from scipy.stats import t as student

    return float(student.ppf(0.975, freedom))


def half_of_prediction(half: float, seeds: int, runs: int) -> float:
    """Half of the 95 % interval in which a mean of other `runs` lies, from that (`half`) of a mean over `seeds`.

    It holds no tolerance: a paper's number within it is explained by the runs that were drawn, by nothing else.
    """
    return half * math.sqrt(1 + seeds / runs)


def above_zero(low: float, high: float) -> bool | None:
    """Is a difference with this 95 % interval above zero? None while the interval holds zero."""
    return True if low > 0 else False if high < 0 else None


@dataclass(frozen=True)
class Check:
    """One thing that the paper found, and whether it was found again; or, with `aim`, one that we set ourselves.

    holds: True, False, or None where the difference is within the error of sampling. measured: the numbers.
    """

    name: str
    statement: str
    holds: bool | None
    measured: str
    aim: bool = False

    @property
    def verdict(self) -> str:
        """In a word or two."""
        return _WORDS[self.aim][self.holds]

    def to_dict(self) -> dict[str, str]:
        """Plain data for JSON."""
        return {
            "name": self.name, "paper": self.statement, "measured": self.measured, "verdict": self.verdict
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> Check:
        """From what `to_dict` gave."""
        aim, holds = next(
            (aim, holds)
            for aim, words in _WORDS.items()
            for holds, word in words.items()
            if word == data["verdict"]
        )
        return cls(data["name"], data["paper"], holds, data["measured"], aim)


_WORDS: dict[bool, dict[bool | None, str]] = {
    False: {True: "as published", False: "not as published", None: "undecided"},
    True: {True: "met", False: "not met", None: "undecided"},
}


def all_of(words: Iterable[bool | None]) -> bool | None:
    """Does everything hold? None where that hangs on what is undecided."""
    found = list(words)
    return False if False in found else None if None in found else True


def difference(one: Estimate, other: Estimate, times: float = 1.0) -> Estimate:
    """One less so many times the other, with the 95 % interval of two samples, from their own intervals.

    For the same people in both it is too wide where who has the one tends to have the other.

    Source: R. G. Newcombe (1998), Interval estimation for the difference between independent proportions, Stat. Med.
    17(8), method 10; G. Y. Zou, A. Donner (2008), Construction of confidence limits about effect measures, Stat. Med.
    27(10).
    """
    gap = one.value - times * other.value
    low = gap - math.hypot(one.value - one.low, times * (other.high - other.value))
    high = gap + math.hypot(one.high - one.value, times * (other.value - other.low))
    return Estimate(gap, low, high, min(one.n, other.n))


def falls(values: Mapping[str, Estimate], slack: float = 0.0) -> tuple[bool | None, Estimate]:
    """Does every number lie below the one before it, and the fall that decides.

    None where the interval of a fall holds zero, or a rise is no more than the slack.
    """
    steps = [difference(earlier, later) for earlier, later in itertools.pairwise(values.values())]
    words = [_fallen(step, slack) for step in steps]
    return min(zip(words, steps, strict=True), key=lambda pair: (_RANK[pair[0]], pair[1].low))


def _fallen(fall: Estimate, slack: float) -> bool | None:
    word = above_zero(fall.low, fall.high)
    return None if word is False and -fall.value <= slack else word


_RANK = {False: 0, None: 1, True: 2}


def below(value: Estimate, sure: float, slack: float) -> bool | None:
    """Is a number below `sure`? None where its interval holds that, or it is below `slack`."""
    return True if value.high < sure else None if value.low < sure or value.value < slack else False


def listed(values: Mapping[str, float] | Mapping[str, Estimate]) -> str:
    """Join names and numbers: 'all 4 0.920, 3 0.800'."""
    numbers = {name: getattr(value, "value", value) for name, value in values.items()}
    return ", ".join(f"{name} {value:.3f}" for name, value in numbers.items())


def with_interval(gap: Estimate) -> str:
    """A difference with its interval: '+0.031 [+0.024, +0.041]', longer where a bound would be shown as zero."""
    digits = 4 if any(0 < abs(bound) < 0.0005 for bound in (gap.low, gap.high)) else 3
    return f"{gap.value:+.{digits}f} [{gap.low:+.{digits}f}, {gap.high:+.{digits}f}]"


def mean_ratio(values: Iterable[float]) -> str:
    """Describe ratios by mean, least and greatest: '1.20 (1.00 to 1.50)'."""
    numbers = np.array(list(values))
    return f"{numbers.mean():.2f} ({numbers.min():.2f} to {numbers.max():.2f})"
