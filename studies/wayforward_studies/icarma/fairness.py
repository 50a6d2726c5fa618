"""The case study on fairness: do limits that differ between people show gaps that nobody saw before?

Two features for each person (threshold 3) and no weights. Who is privileged can act on income and savings first, who
is not on the amount and the duration of the loan. Privilege is handed out at random, by income, or along a race-like
attribute: a fair coin that moves nothing else. People are subsampled so that gender and race are balanced.

Source: iCARMA, section 5.5 and Figure 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate import stats
from wayforward.evaluate.stats import Estimate
from wayforward.preferences import Preferences, privileged_at_random, privileged_by_income, privileged_by_race
from wayforward_studies.icarma.measures import PerPerson, per_person
from wayforward_studies.icarma.preferences import LEVELS, actionable_names, two_features
from wayforward_studies.icarma.solvers import IcarmaStudy
from wayforward_studies.pages import number
from wayforward_studies.verdicts import Check, above_zero, all_of, difference, listed, with_interval

SCENARIOS = ("baseline", "random", "income", "race")
GROUPS = ("women, non-white", "women, white", "men, non-white", "men, white")
NAMES = {
    "baseline": "everybody, all 4 features",
    "random": "2 features, profile at random",
    "income": "2 features, profile by income",
    "race": "2 features, profile by race",
}
RESAMPLES = 1000


@dataclass(frozen=True)
class FairnessSample:
    """Who takes part: rows of the study's people, as many of each gender and race."""

    rows: np.ndarray  # (m,) row numbers
    woman: np.ndarray  # (m,) bool: gender 0, the group with the lower income
    white: np.ndarray  # (m,) bool: a fair coin

    @property
    def group(self) -> np.ndarray:
        """(m,) the name of each person's group."""
        who = np.where(self.woman, "women", "men").astype(object)
        return np.array(
            [f"{a}, {b}" for a, b in zip(who, np.where(self.white, "white", "non-white"), strict=True)]
        )


def balanced(gender: np.ndarray, rng: np.random.Generator) -> FairnessSample:
    """As many people of every gender and race as the smallest group has; gender (n,) 0 or 1."""
    white = rng.random(len(gender)) < 0.5
    woman = np.asarray(gender) == 0
    order = rng.permutation(len(gender))
    cells = [order[(woman[order] == w) & (white[order] == r)] for w in (True, False) for r in (True, False)]
    size = min(len(cell) for cell in cells)
    rows = np.sort(np.concatenate([cell[:size] for cell in cells]))
    return FairnessSample(rows, woman[rows], white[rows])


def privileged(
    scenario: str, people: FairnessSample, income: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(m,) bool: who gets the privileged profile; income (m,) of the people who take part."""
    if scenario == "random":
        return privileged_at_random(len(people.rows), rng)
    if scenario == "income":
        return privileged_by_income(income)
    return privileged_by_race(people.white, rng)


@dataclass(frozen=True)
class Fairness:
    """Cost of valid proposals and log-density of all proposals, a number a person, in each scenario."""

    people: FairnessSample
    cost: Mapping[str, np.ndarray]  # scenario -> (m,) NaN where there is no valid proposal
    density: Mapping[str, np.ndarray]  # scenario -> (m,) NaN where there is no proposal
    validity: Mapping[str, Estimate]
    method: str
    seed: int = 0

    def mean(self, measure: str, scenario: str, group: str) -> Estimate:
        """Mean of 'cost' or 'density' in one of `GROUPS`, with a bootstrap interval."""
        values: np.ndarray = getattr(self, measure)[scenario]
        return stats.mean(values[self.people.group == group], seed=self.seed, resamples=RESAMPLES)

    def gap(self, measure: str, scenario: str, along: str) -> Estimate:
        """Women minus men, or non-white minus white, with a bootstrap interval."""
        values: np.ndarray = getattr(self, measure)[scenario]
        first = self.people.woman if along == "gender" else ~self.people.white
        return stats.mean_difference(values[first], values[~first], seed=self.seed, resamples=RESAMPLES)

    def growth(self, measure: str, start: str, end: str, along: str) -> Estimate:
        """How much a gap grows from one scenario to another; the same people are resampled in both."""
        rng = np.random.default_rng(self.seed)
        values = np.stack([getattr(self, measure)[s] for s in (start, end)], axis=1)  # (m, 2)
        known = np.isfinite(values)
        first = self.people.woman if along == "gender" else ~self.people.white
        gaps = []
        for side in (first, ~first):
            size = int(side.sum())
            # how often each person is drawn; the first row draws everybody once, which is the estimate
            drawn = np.r_[
                np.ones((1, size)), rng.multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(float)
            ]
            total = drawn @ np.where(known[side], values[side], 0.0)  # (1 + resamples, 2)
            gaps.append(total / np.maximum(drawn @ known[side].astype(float), 1))
        grown = (gaps[0][:, 1] - gaps[1][:, 1]) - (gaps[0][:, 0] - gaps[1][:, 0])
        low, high = np.quantile(grown[1:], (0.025, 0.975))
        return Estimate(float(grown[0]), float(low), float(high), len(first))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each scenario, group and measure."""
        return [
            {
                "method": self.method,
                "scenario": scenario,
                "group": group,
                "measure": measure,
                "mean": one.value,
                "low": one.low,
                "high": one.high,
                "people": one.n,
            }
            for scenario in self.cost
            for group in GROUPS
            for measure in ("cost", "density")
            for one in (self.mean(measure, scenario, group),)
        ]


def run(study: IcarmaStudy, method: str = "icarma") -> Fairness:
    """The four scenarios on the refused people of the test split."""
    schema = study.setting.schema
    place = {name: j for j, name in enumerate(schema.names)}
    rng = np.random.default_rng([study.seed, 5])
    people = balanced(study.x[:, place["gender"]], rng)
    x = study.x[people.rows]
    wishes: dict[str, Preferences] = {
        "baseline": Preferences.from_scores(
            schema, np.ones((len(x), len(actionable_names(schema)))), LEVELS, profile="constant"
        )
    }
    for scenario in SCENARIOS[1:]:
        has = privileged(scenario, people, x[:, place["income"]], rng)
        wishes[scenario] = two_features(schema, has, seed=study.seed)
    world = study.home(method)
    found: dict[str, PerPerson] = {}
    for scenario, some in wishes.items():
        action = study.answer(some, method, "ranks", "constant", f"fairness-{scenario}", x)
        found[scenario] = per_person(study.problems[world], x, action, some)
    return Fairness(
        people,
        {s: np.where(one.valid, one.cost, np.nan) for s, one in found.items()},
        {s: np.where(np.isfinite(one.after), one.after, np.nan) for s, one in found.items()},
        {s: stats.rate(one.valid) for s, one in found.items()},
        method,
        study.seed,
    )


def checks(fair: Fairness) -> Iterator[Check]:
    """The paper's three findings; undecided where the interval of a gap or of its growth holds zero."""
    for measure, worse in (("cost", 1), ("density", -1)):
        word = "cost" if measure == "cost" else "log-density"
        gaps = {s: fair.gap(measure, s, "gender") for s in SCENARIOS}
        shown = ", ".join(f"{s} {with_interval(gaps[s])}" for s in ("baseline", "random", "income"))
        yield Check(
            f"existing gap, {word}",
            f"With all features, women have {'a higher cost' if worse > 0 else 'a lower log-density'} than men.",
            _decided(gaps["baseline"], worse),
            f"women minus men: {shown}",
        )
        for start, end in (("baseline", "random"), ("random", "income")):
            grown = fair.growth(measure, start, end, "gender")
            yield Check(
                f"amplified: {word}, {start} to {end}",
                "Limits that differ between people amplify gaps that were there."
                if end == "random"
                else "The effects are more pronounced when limits go with income.",
                _decided(grown, worse),
                f"the gap grows by {with_interval(grown)}",
            )
        hidden = {s: fair.gap(measure, s, "race") for s in SCENARIOS}
        # nothing to speak of before: no gap beyond chance, or less than half of what shows afterwards
        none = all(
            hidden[s].low <= 0 <= hidden[s].high or abs(hidden[s].value) < abs(hidden["race"].value) / 2
            for s in ("baseline", "random")
        )
        yield Check(
            f"hidden: {word}",
            "Race moves nothing, yet a gap appears as soon as limits go with race.",
            _decided(hidden["race"], worse) if none else False,
            "non-white minus white: "
            + ", ".join(f"{s} {with_interval(hidden[s])}" for s in ("baseline", "random", "race")),
        )
        yield from intersectional(fair.rows(), measure)


def intersectional(rows: Iterable[Mapping[str, Any]], measure: str) -> Iterator[Check]:
    """Do non-white women fare worst when limits go with race? From the rows; undecided as `checks` are."""
    means = {
        row["group"]: Estimate(number(row["mean"]), number(row["low"]), number(row["high"]), row["people"])
        for row in rows
        if (row["scenario"], row["measure"]) == ("race", measure)
    }
    first, sign = GROUPS[0], 1 if measure == "cost" else -1
    gaps = {g: difference(means[first], means[g]) for g in GROUPS[1:]}
    least = min(gaps.values(), key=lambda gap: sign * gap.value)
    yield Check(
        f"intersectional: {'cost' if measure == 'cost' else 'log-density'}",
        "When limits go with race, non-white women fare worst.",
        all_of(_decided(gap, sign) for gap in gaps.values()),
        f"{listed(means)}; least difference {with_interval(least)}",
    )


def _decided(gap: Estimate, sign: int) -> bool | None:
    """Is the gap on the side of `sign`? None while its interval holds zero."""
    return above_zero(gap.low, gap.high) if sign > 0 else above_zero(-gap.high, -gap.low)
