"""dece: diverse options with few changes within feasible ranges, and what they say about a subgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import MethodError, PreferencesError, SchemaError, shown
from wayforward.methods.base import Budget
from wayforward.methods.dice import Dice, OptionSets
from wayforward.methods.settings import check_least, require_setting
from wayforward.problem import Population
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Mask, Rows

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema
    from wayforward.streams import Streams

Ranges = Mapping[str, Sequence[Any]]


@public
@dataclass(frozen=True, eq=False)
class SubgroupCounterfactuals:
    """What options say about people whose values lie within some ranges, and whom they keep there.

    ranges: of the subgroup. members: people within them; accepted: those whom the model accepts as they are. recourse:
    options of the refused ones, who may act within the ranges alone. inside (m, k) bool: options that lead to a place
    within the ranges. changed (d,): share of these options that change a feature. low, high (d,): from where to where
    the values lie that they set; levels by their position; NaN where none changes the feature. split, gain (d,): the
    value that best parts the refused members' present values from those of the options, and how much it tells (0 to 1
    bit).
    """

    schema: Schema
    ranges: dict[str, tuple[Any, ...]]
    members: int
    accepted: int
    recourse: Recourse
    inside: Mask
    changed: Floats
    low: Floats
    high: Floats
    split: Floats
    gain: Floats

    @property
    def supported(self) -> float:
        """Share of members for whom the hypothesis 'who is within the ranges is refused' was not contradicted.

        Contradicted by who is accepted, and by whoever has an option within the ranges.
        """
        if not self.members:
            return float("nan")
        return 1 - (self.accepted + float(self.inside.any(1).sum())) / self.members

    def refined(self, name: str) -> dict[str, tuple[Any, ...]]:
        """Return the ranges with feature `name` cut at its split, on the side of the refused members.

        Raises: MethodError where the feature has no split, or levels without an order.
        """
        j = self.schema.index(name)
        value = self.split[j]
        if np.isnan(value):
            raise MethodError(
                f"'{name}' parts nobody here: its values do not differ from those of the options."
            )
        feature = self.schema.features[j]
        if feature.has_levels:
            raise MethodError(f"'{name}' has levels; name those of the subgroup instead: {feature.levels}.")
        now = self.recourse.x[:, j]
        low, high = self.ranges.get(name, (feature.low, feature.high))
        below = np.nanmean(now < value) >= 0.5
        return {**self.ranges, name: (low, min(high, value)) if below else (max(low, value), high)}

    def lines(self) -> list[str]:
        """The features that options change, what tells most first: "income: 20 to 45 (60% change it; at 21 ...)"."""
        out = []
        for j in np.argsort(-np.nan_to_num(self.gain), kind="stable"):
            feature = self.schema.features[j]
            if not self.changed[j] > 0:
                continue
            ends = (
                [str(feature.levels[int(value)]) for value in (self.low[j], self.high[j])]
                if feature.has_levels
                else [f"{value:.6g}" for value in (self.low[j], self.high[j])]
            )
            cut = "" if np.isnan(self.split[j]) else f"; {self.gain[j]:.2f} bits at {self.split[j]:.6g}"
            out.append(f"{feature.name}: {ends[0]} to {ends[1]} ({self.changed[j]:.0%} change it{cut})")
        return out


@public
@dataclass
class Dece(Dice):
    """The options of `dice` with at most a few changes each, within feasible ranges.

    A first descent is that of `dice`. Of each option the `features` that it moves most (by their effort) are kept, and
    a second descent moves these alone. ranges: feature -> (low, high), or the levels, that values may be set to;
    people's wishes hold as well. `subgroup` asks what a hypothesis about a subgroup is worth: options of its members
    that stay within its ranges.

    Other parameters as in `dice`. Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="dece", k=4, features=2, ranges={"income": (0, 3000)})``.
    Raises: from `fit`: MethodError for ranges that are none.
    Source: F. Cheng, Y. Ming, H. Qu (2020), DECE: Decision Explorer with Counterfactual Explanations for Machine
    Learning Models, IEEE TVCG 27(2); arXiv:2008.08353.
    """

    name: ClassVar[str] = "dece"
    summary: ClassVar[str] = "options of dice with few changes within ranges; what they say about a subgroup"
    citation: ClassVar[str] = "Cheng, Ming & Qu (2020), IEEE TVCG, arXiv:2008.08353"

    features: int = 3
    ranges: Ranges | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, features=1)
        made = self.ranges is None or isinstance(self.ranges, Mapping)
        require_setting(self, "ranges", made, "Use {feature: (low, high)}, or None.")

    def _fit(self, problem: Any) -> None:
        super()._fit(problem)
        self._limited(problem.no_preferences(1), self.ranges or {})

    def _limited(self, wishes: Preferences, ranges: Ranges) -> Preferences:
        """Return wishes that are limited to ranges, too. Raises: MethodError."""
        if not isinstance(ranges, Mapping):
            raise MethodError(f"'{self.name}' has ranges={shown(ranges)}. Use {{feature: (low, high)}}.")
        schema = wishes.schema
        for name, values in ranges.items():
            try:
                j = schema.index(name)
                if schema.immutable[j]:
                    continue  # nobody moves it: it only says who belongs to a subgroup
                if schema.has_levels[j]:
                    wishes = wishes.allow(name, *values)
                else:
                    low, high = values
                    wishes = wishes.limit(name, low=low, high=high)
            except (PreferencesError, SchemaError) as error:
                raise MethodError(f"'{self.name}' cannot use ranges of '{name}': {error}") from None
            except (TypeError, ValueError):
                raise MethodError(
                    f"'{self.name}' has ranges of '{name}': {shown(values)}. Give (low, high), or a list of levels."
                ) from None
        return wishes

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        wishes = self._limited(people.preferences, self.ranges or {}).at_most(self.features)
        within = Population(people.problem, people.x, wishes)
        within.aim, within.best = people.aim, people.best
        found = super()._recommend(within, k, streams, budget)
        people.rows += within.rows
        return found

    def _search(self, people: Population, k: int, streams: Streams, cap: np.ndarray) -> OptionSets:
        first = super()._search(people, k, streams, cap)
        ends = first.slopes.harden(people, first.states(), eager=True)
        effort = np.where(first.free, np.nan_to_num(people.parts(first.who, ends)), -np.inf)
        rank = np.argsort(np.argsort(-effort, axis=1, kind="stable"), axis=1)
        free = first.free & (rank < self.features) & ((effort > 0) | ~(effort > 0).any(1, keepdims=True))
        search = OptionSets(self, people, k, streams, free)
        search.descend(cap)
        return search

    def subgroup(
        self, x: Any, ranges: Ranges, k: int = 1, *, seed: int = 0, preferences: Preferences | None = None
    ) -> SubgroupCounterfactuals:
        """Return options of the people in x (a table or (n, d)) who lie within ranges, which they may not leave.

        Raises: MethodError before `fit`, for ranges that are none, or where nobody lies within them.
        """
        problem = self._fitted_problem()
        schema = problem.schema
        rows = problem.schema.encode(x)
        wishes = self._limited(
            problem.no_preferences(len(rows)) if preferences is None else preferences, ranges
        )
        at = np.flatnonzero(self._within(schema, ranges, rows))
        if not at.size:
            raise MethodError(
                f"Of {len(rows)} people nobody lies within {dict(ranges)}. Widen the ranges, or give other people."
            )
        refused = at[~problem.reached(rows[at])[0]]
        got = self.recommend(rows[refused], k, preferences=wishes.take(refused), seed=seed)
        inside = got.found & self._within(schema, ranges, got.after.reshape(-1, schema.d)).reshape(
            got.found.shape
        )
        who, slot = np.nonzero(inside)
        after, acted = got.after[who, slot], ~np.isnan(got.action[who, slot])
        low, high, split, gain = np.full((4, schema.d), np.nan)
        for j in np.flatnonzero(acted.any(0)):
            value = got.action[who, slot, j][acted[:, j]]
            low[j], high[j] = value.min(), value.max()
            if schema.ordered[j]:
                split[j], gain[j] = best_split(got.x[:, j], after[:, j])
        return SubgroupCounterfactuals(
            schema,
            {name: tuple(values) for name, values in ranges.items()},
            int(at.size),
            int(at.size - refused.size),
            got,
            inside,
            acted.mean(0) if len(acted) else np.zeros(schema.d),
            low,
            high,
            split,
            gain,
        )

    def _within(self, schema: Schema, ranges: Ranges, rows: Rows) -> Mask:
        """Return (m,) bool: rows (m, d) lie within the ranges; a missing value lies nowhere."""
        inside = np.ones(len(rows), dtype=bool)
        for name, values in ranges.items():
            j = schema.index(name)
            if schema.has_levels[j]:
                known = [str(level) for level in schema.features[j].levels]
                inside &= np.isin(
                    rows[:, j], [known.index(str(level)) for level in values if str(level) in known]
                )
            else:
                inside &= (rows[:, j] >= float(values[0])) & (rows[:, j] <= float(values[1]))
        return inside


def best_split(one: Floats, other: Floats) -> tuple[float, float]:
    """Return the value that best parts numbers (m,) from others (q,), and the information gain in bits.

    Halfway between two neighbouring values; NaN and 0 where no cut tells anything. Both sets weigh the same.
    """
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    if not (len(one) and len(other)):
        return float("nan"), 0.0
    value = np.unique(np.concatenate([one, other]))
    cut = (value[1:] + value[:-1]) / 2
    if not len(cut):
        return float("nan"), 0.0
    below = np.stack([np.searchsorted(np.sort(part), cut) / len(part) for part in (one, other)])  # (2, c)
    left, right = below.sum(0), 2 - below.sum(0)
    rest = left / 2 * _entropy(below[0] / left) + right / 2 * _entropy((1 - below[0]) / right)
    at = int(rest.argmin())
    gain = float(1 - rest[at])
    return (float(cut[at]), gain) if gain > 1e-9 else (float("nan"), 0.0)


def _entropy(share: Floats) -> Floats:
    """Entropy (c,) of a coin, in bits."""
    from scipy.special import entr

    return np.asarray((entr(share) + entr(1 - share)) / np.log(2))
