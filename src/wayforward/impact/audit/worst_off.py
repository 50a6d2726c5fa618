"""Who fares worst: subgroups of a few readable conditions, found on one half of the people, measured on the other.

A search over thousands of subgroups always finds one that looks bad. So people are split in two by chance: conditions
are chosen on one half, and every number that is returned comes from the other, which had no say in the choice,
corrected for how many subgroups are returned.

Beam search over conditions as in M. Atzmueller (2015), Subgroup discovery, WIREs Data Min. Knowl. Discov. 5(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError, is_one_of
from wayforward.evaluate.stats import Estimate
from wayforward.impact.audit.gaps import LEVEL, Correction, corrected, mean_gap, plain_number, rate_gap
from wayforward.impact.conditions import conditions_of
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, in_steps, in_steps_of_people, rounded, step_of
from wayforward.language import Translatable, gettext, translated
from wayforward.lazy import Renamed, renamed_parameters
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask, People
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.schema import Schema

Rule = tuple[int, ...]  # positions of the conditions of a subgroup, rising

_ALIKE = 0.6  # of two subgroups that share more of their people than this, one is returned


@public
@dataclass(frozen=True)
class Subgroup:
    """People whom a few conditions describe, beside everybody else; numbers from people who had no say in the choice.

    conditions: in words, all hold. value, rest: the measure inside and outside. gap: their difference with its
    interval. n: people inside among those that the numbers are from; share: of these. p, corrected: as in `Gap`.
    """

    conditions: tuple[str, ...]
    metric: str
    value: float
    rest: float
    gap: Estimate
    n: int
    share: float
    p: float
    corrected: float = float("nan")
    member: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False, compare=False)

    stands = Renamed("significant")

    @property
    def significant(self) -> bool:
        """Larger than chance would make one among all subgroups that are returned."""
        return bool(self.corrected < LEVEL)

    @property
    def fares_worse(self) -> bool:
        """The subgroup fares worse than everybody else: fewer have a plan, or plans cost more."""
        return self.gap.value < 0 if self.metric == "usable" else self.gap.value > 0

    @property
    def text(self) -> str:
        """The conditions as one phrase."""
        return " and ".join(self.conditions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; who is in it is left out."""
        number = {"value": self.value, "rest": self.rest, "p": self.p, "p_corrected": self.corrected}
        return {
            "conditions": list(self.conditions),
            "metric": self.metric,
            **{name: plain_number(v) for name, v in number.items()},
            "gap": self.gap.to_dict(),
            "n": self.n,
            "share": self.share,
            "stands": self.significant,
        }


@renamed_parameters(told="most")
@public
def worst_off(
    schema: Schema,
    x: People,
    measure: Floats | Mask,
    *,
    metric: str = "usable",
    worse: Literal["low", "high"] = "low",
    groups: Sequence[Groups] = (),
    conditions: int = 3,
    smallest: int | None = None,
    width: int = 20,
    most: int = 3,
    seed: int = 0,
    correction: Correction = "holm",
    fewest: int = FEWEST,
) -> list[Subgroup]:
    """Find the subgroups of x that fare worst in a measure (n,): bool for a rate, numbers for a mean (NaN: none).

    groups: attributes beside the features. conditions: at most so many a subgroup. smallest: people in a subgroup, in
    each half; left out, 20 or one in twenty. width: subgroups that the search remembers. most: returned at most.
    fewest: people inside and outside of those that the numbers are from.
    Returns those that fared worse in the half they were chosen on, the clearest first; none with too few people.
    Raises: DataError for other shapes or settings.

    Example: ``worst_off(schema, x, usable, metric="usable")``.
    """
    x, measure = np.asarray(x, dtype=np.float64), np.asarray(measure)
    if measure.shape != (len(x),):
        raise DataError(
            f"The measure has shape {measure.shape} for {len(x)} people. Give one value a person."
        )
    if not is_one_of(worse, ("low", "high")):
        raise DataError(f"worse={worse!r}; it must be 'low' or 'high'.")
    if conditions < 1 or width < 1 or most < 1:
        raise DataError(
            f"conditions={conditions}, width={width} and most={most} must each be 1 or more. Leave them out."
        )
    is_rate = measure.dtype == bool
    value = measure.astype(np.float64)
    known = np.flatnonzero(np.isfinite(value))
    least = max(20, len(known) // 40) if smallest is None else int(smallest)
    if len(known) < 4 * least:
        return []
    first = generator(seed, 11).permutation(known)
    search, hold = np.sort(first[: len(first) // 2]), np.sort(first[len(first) // 2 :])
    names, holds, about = _conditions(schema, x, groups, search, least)
    if not names:
        return []
    signed = (1.0 if worse == "high" else -1.0) * value[search]
    ranked = _beam(holds[search], about, signed, conditions, least, width)
    chosen = _distinct(ranked, holds[search], most)
    out = []
    for rule in chosen:
        inside = np.asarray(holds[:, list(rule)].all(1))
        one, two = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
        one[hold], two[hold] = inside[hold], ~inside[hold]
        if min(one.sum(), two.sum()) < max(fewest, FEWEST):
            continue
        gap, p = rate_gap(measure, one, two) if is_rate else mean_gap(value, one, two, seed)
        out.append(
            Subgroup(
                tuple(names[c] for c in sorted(rule, key=lambda c: about[c])),
                metric, float(value[one].mean()), float(value[two].mean()), gap,
                int(one.sum()), float(one.sum() / len(hold)), p, member=inside,
            )
        )  # fmt: skip
    return _ranked(out, correction)


def worst_off_of(
    schema: Schema, x: People, usable: Mask, cost: Floats, *, groups: Sequence[Groups], seed: int,
    correction: Correction, fewest: int = FEWEST,
) -> tuple[Subgroup, ...]:  # fmt: skip
    """Find the subgroups with the fewest plans and the dearest ones: usable (n,), cost (n,), NaN for no plan."""
    how: dict[str, Any] = {"groups": groups, "seed": seed, "correction": correction, "fewest": fewest}
    found: list[Subgroup] = []
    if usable.any() and not usable.all():
        found += worst_off(schema, x, usable, metric="usable", worse="low", **how)
    if np.isfinite(cost).any():
        how["fewest"] = max(fewest, FEWEST_SPREAD)  # a difference of costs has an interval
        found += worst_off(schema, x, cost, metric="cost", worse="high", **how)
    return tuple(corrected_together([one for sub in found for one in _in_steps(sub)], correction))


def _in_steps(one: Subgroup) -> list[Subgroup]:
    """Return a subgroup as an audit may tell it, or none where it, or what it leaves, is of fewer than ten.

    It is of half of the people, who are in no other sum: shares and means are in steps that three people make.
    """
    total = round(one.n / one.share)
    counts = one.n, one.gap.n - one.n
    if min(counts) < FEWEST_SPREAD:
        return []
    if one.metric == "usable":
        hits = [
            in_steps_of_people(round(v * n), n) for v, n in zip((one.value, one.rest), counts, strict=True)
        ]
        inside = np.arange(sum(counts)) < counts[0]
        hit = np.concatenate([np.arange(n) < some for n, some in zip(counts, hits, strict=True)])
        gap, p = rate_gap(hit, inside, ~inside)
        value, rest = (some / n for some, n in zip(hits, counts, strict=True))
        return [replace(one, value=value, rest=rest, gap=gap, p=p)]
    step = step_of(1 / min(counts), float(np.sqrt(min(counts)) * (one.gap.high - one.gap.low) / 3.92))
    value, rest, least, most = (in_steps(v, step) for v in (one.value, one.rest, one.gap.low, one.gap.high))
    n = in_steps_of_people(one.n, total)
    gap = Estimate(in_steps(value - rest, step), least, most, in_steps_of_people(one.gap.n, total))
    return [replace(one, value=value, rest=rest, gap=gap, n=n, share=n / total, p=rounded(one.p))]


def corrected_together(found: Sequence[Subgroup], how: Correction = "holm") -> list[Subgroup]:
    """Return the same subgroups, corrected for all of them, such as those of two measures."""
    fixed = corrected(np.array([one.p for one in found]), how)
    return [replace(one, corrected=float(p)) for one, p in zip(found, fixed, strict=True)]


def _ranked(found: list[Subgroup], how: Correction) -> list[Subgroup]:
    return sorted(corrected_together(found, how), key=lambda one: (one.p, one.text))


def _conditions(
    schema: Schema, x: People, groups: Sequence[Groups], search: Ints, least: int
) -> tuple[list[str], Mask, list[int]]:
    """Return the words of each condition, who meets it (n, c), and their subjects (c,), as the search half decides."""
    names: list[str] = []
    columns: list[np.ndarray] = []
    about: list[int] = []

    def add(text: str, holds: Mask, subject: int) -> None:
        if least <= holds[search].sum() <= len(search) - least:
            names.append(text)
            columns.append(holds)
            about.append(subject)

    for one in conditions_of(schema, x[search]):
        add(one.text, one.holds(x), one.feature)
    for place, attribute in enumerate(groups):
        if attribute.feature is not None:
            continue
        for g, name in enumerate(attribute.names):
            add(Translatable(partial(_is, attribute.name, name)), attribute.mask(g), schema.d + place)
    return names, np.stack(columns, 1) if columns else np.empty((len(x), 0), dtype=bool), about


def _is(attribute: str, name: str) -> str:
    return gettext("{name} is {value}", name=attribute, value=words.quoted(translated(name)))


def _standardised_gap(size: Floats, total: Floats, square: Floats, signed: Floats) -> Floats:
    """Return how far a subgroup lies above the rest, in standard errors, from sums over it."""
    n, rest = len(signed), np.maximum(len(signed) - size, 1)
    size = np.maximum(size, 1)
    mean, other = total / size, (signed.sum() - total) / rest
    inner = np.maximum(square / size - mean**2, 0)
    outer = np.maximum(((signed**2).sum() - square) / rest - other**2, 0)
    # A subgroup in which nobody differs has no spread of its own: the spread of everybody counts a little, too.
    floor = max(float(signed.var()), 1e-12)
    inner = (inner * size + floor) / (size + 1)
    outer = (outer * rest + floor) / (rest + 1)
    return np.asarray((mean - other) / np.sqrt(inner / size + outer / np.maximum(n - size, 1)))


def _beam(
    holds: Mask, about: list[int], signed: Floats, depth: int, least: int, width: int
) -> list[tuple[float, Rule]]:
    """Return subgroups (quality, conditions), the clearest first; at most two conditions about a feature: a range."""
    weight = holds.astype(np.float64)
    subject = np.array(about)
    beam: list[Rule] = [()]
    best: dict[Rule, float] = {}
    for _ in range(depth):
        inside = np.stack([holds[:, list(rule)].all(1) for rule in beam]).astype(np.float64)  # (b, n)
        size = inside @ weight
        total = (inside * signed) @ weight
        square = (inside * signed**2) @ weight
        quality = _standardised_gap(size, total, square, signed)  # (b, c)
        own = inside.sum(1)
        quality[(size < least) | (size > len(signed) - least)] = -np.inf
        quality[size >= own[:, None]] = -np.inf  # says nothing that the others do not
        found: dict[Rule, float] = {}
        for b, rule in enumerate(beam):
            taken = np.bincount(subject[list(rule)], minlength=subject.max() + 1) if rule else None
            for c in np.flatnonzero(np.isfinite(quality[b])):
                if c in rule or (taken is not None and taken[subject[c]] >= 2):
                    continue
                found[tuple(sorted((*rule, int(c))))] = float(quality[b, c])
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:width]
        best.update(ranked)
        beam = [rule for rule, _ in ranked]
        if not beam:
            break
    # One more condition must make a subgroup clearer by half a standard error to be worth reading.
    return sorted(
        ((q - 0.5 * len(rule), rule) for rule, q in best.items() if q > 0),
        key=lambda item: (-item[0], item[1]),
    )


def _distinct(ranked: list[tuple[float, Rule]], holds: Mask, most: int) -> list[Rule]:
    """Return the first few that are not mostly the same people."""
    chosen: list[Rule] = []
    masks: list[Mask] = []
    for _, rule in ranked:
        mask = np.asarray(holds[:, list(rule)].all(1))
        if any((mask & m).sum() > _ALIKE * (mask | m).sum() for m in masks):
            continue
        chosen.append(rule)
        masks.append(mask)
        if len(chosen) == most:
            break
    return chosen
