"""What was measured beyond the paper: a method in a setting over the seeds, as rows and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wayforward_studies.balanced.beyond_measures import AtBeta, worse
from wayforward_studies.balanced.published import INDICES
from wayforward_studies.pages import Row, number

LIMITS = ("rules", "rules and limits")


@dataclass(frozen=True)
class BeyondResult:
    """A method in a setting: its mean and its standard deviation over the seeds.

    part: a group, or what limits people.
    """

    setting: str
    method: AtBeta
    part: str
    mean: Mapping[str, float]
    spread: Mapping[str, float]
    each: tuple[Mapping[str, float], ...] = field(repr=False, default=())
    n_seeds: int = 0

    @classmethod
    def over(
        cls, setting: str, method: AtBeta, part: str, each: Sequence[Mapping[str, float]]
    ) -> BeyondResult:
        """From the numbers of each seed; seeds in which there is none are left out."""
        values = {key: np.array([one[key] for one in each]) for key in each[0]}
        finite = {key: some[np.isfinite(some)] for key, some in values.items()}
        mean = {key: float(some.mean()) if len(some) else np.nan for key, some in finite.items()}
        spread = {key: float(np.std(some)) if len(some) else np.nan for key, some in finite.items()}
        return cls(setting, method, part, mean, spread, tuple(each), len(each))

    def seeds(self, measure: str) -> np.ndarray:
        """(seeds,) of one measure."""
        return np.array([one[measure] for one in self.each])

    @property
    def worse(self) -> list[str]:
        """Indices whose mean over the seeds is more segregated than before."""
        return worse({name: self.mean[f"origin {name}"] for name in INDICES}, self.mean)

    def rows(self) -> list[Row]:
        """One row for each measure."""
        return [
            {
                "setting": self.setting,
                "method": self.method.method,
                "beta": self.method.beta,
                "part": self.part,
                "measure": name,
                "mean": value,
                "spread": self.spread[name],
                "seeds": self.n_seeds,
            }
            for name, value in self.mean.items()
        ]

    def groups(self) -> list[BeyondResult]:
        """A line of the page of groups as one for each group."""
        out = []
        for group in dict.fromkeys(key.partition(" | ")[0] for key in self.mean):
            mean, spread = (
                {key.partition(" | ")[2]: v for key, v in some.items() if key.startswith(f"{group} | ")}
                for some in (self.mean, self.spread)
            )
            out.append(BeyondResult(self.setting, self.method, group, mean, spread))
        return out


def results(rows: Iterable[Row]) -> list[BeyondResult]:
    """The results that rows hold, without the numbers of each seed."""
    by: dict[tuple[str, AtBeta, str], list[Row]] = {}
    for row in rows:
        by.setdefault((row["setting"], AtBeta(row["method"], row["beta"]), row["part"]), []).append(row)
    return [
        BeyondResult(
            *key,
            {row["measure"]: number(row["mean"]) for row in some},
            {row["measure"]: number(row["spread"]) for row in some},
            n_seeds=some[0]["seeds"],
        )
        for key, some in by.items()
    ]
