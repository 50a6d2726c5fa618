"""A metric is an object in a table: its name, what it means, its unit, over whom, and the function that measures it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from wayforward.errors import DataError, is_one_of
from wayforward.evaluate.stats import Estimate, rate
from wayforward.evaluate.stats import means as means_of
from wayforward.public import public
from wayforward.shapes import Mask, PerPerson

if TYPE_CHECKING:
    from wayforward.evaluate.evidence import Evidence

Level = Literal["headline", "standard", "all"]
LEVELS: tuple[Level, ...] = get_args(Level)


@public
@dataclass(frozen=True, eq=False)
class Share:
    """A rate: how many of `among` are hit, both (m,) bool; among None: all. people (n,): 1, 0 or NaN of each person."""

    hit: Mask
    among: Mask | None = None
    people: PerPerson | None = None


Measured: TypeAlias = "Share | PerPerson | None"


@public
@dataclass(frozen=True)
class Metric:
    """One number of an evaluation.

    name: in tables and JSON. meaning: one line for tables. unit: of the number ("share", "features", "nats").
    denominator: over whom, in words. measure: `Evidence` -> (n,) numbers of people, NaN where it does not apply
    (reported as their mean over those whom the model refuses), a `Share` (reported as a rate), or None where it cannot
    be measured. level: the least `metrics=` of `evaluate` that asks for it.

    Example: ``Metric("acts", "features acted on", "features", "usable", lambda e: (~np.isnan(e.acts)).sum(1) * 1.0)``.
    Raises: DataError for a metric that does not say what it is.
    """

    name: str
    meaning: str
    unit: str
    denominator: str
    measure: Callable[[Evidence], Measured]
    level: Level = "headline"

    def __post_init__(self) -> None:
        for field in ("name", "meaning", "unit", "denominator"):
            if not str(getattr(self, field)).strip():
                raise DataError(
                    f"The metric '{self.name}' has no {field}. Say what it is, in a word or a line."
                )
        if not self.name.isidentifier():
            raise DataError(f"The metric {self.name!r} is no name. Use letters, digits and '_'.")
        if not is_one_of(self.level, LEVELS):
            raise DataError(f"The metric '{self.name}' has level={self.level!r}; it must be one of {LEVELS}.")


#: Every metric by its name; `evaluate` walks it in this order, and `Evaluation.table` keeps it.
METRICS: dict[str, Metric] = {}
#: What each number means and how many stand behind it.
MEANING: dict[str, str] = {}
#: Of numbers that only an evaluation with people who were not asked about has.
UNREAD = {
    "usable_read": "usable, among those whom the model was asked about and refused",
    "not_asked": "not asked about (not read, or out of time), of everybody",
}


@public
def register_metric(*metrics: Metric) -> None:
    """Add metrics to the table that every later evaluation walks. Raises: DataError for a name that is taken."""
    for metric in metrics:
        if metric.name in METRICS:
            raise DataError(f"There is a metric '{metric.name}' already. Give yours another name.")
        METRICS[metric.name], MEANING[metric.name] = metric, metric.meaning


def measure(
    metrics: Sequence[Metric], evidence: Evidence, *, resamples: int = 1000
) -> tuple[dict[str, Estimate], dict[str, PerPerson]]:
    """Measure metrics on one answer; return their estimates and, where each person has a number, these (n,).

    Raises: DataError for a metric that does not give one number a person.
    """
    rates: dict[str, Estimate] = {}
    people: dict[str, PerPerson] = {}
    for metric in metrics:
        got = metric.measure(evidence)
        if isinstance(got, Share):
            rates[metric.name] = rate(got.hit, got.among)
            got = got.people
        if got is None:
            continue
        people[metric.name] = np.asarray(got, dtype=np.float64)
        if people[metric.name].shape != (evidence.n,):
            raise DataError(
                f"The metric '{metric.name}' gave shape {people[metric.name].shape} for {evidence.n} people. "
                "Give one number a person, NaN where there is none."
            )
    numbers = {name: values[evidence.refused] for name, values in people.items() if name not in rates}
    means = means_of(numbers, seed=evidence.seed, resamples=resamples)
    found = rates | means
    return {metric.name: found[metric.name] for metric in metrics if metric.name in found}, people
