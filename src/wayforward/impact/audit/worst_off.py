"""Who fares worst: subgroups of a few readable conditions, found on one half of the people and told of the other.

A search over thousands of subgroups always finds one that looks bad. So people are split in two by chance: conditions
are chosen on one half, and every number that is told comes from the other, which had no say in the choice, corrected
for how many subgroups are told.

Beam search over conditions as in M. Atzmueller (2015), Subgroup discovery, WIREs Data Min. Knowl. Discov. 5(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError
from wayforward.evaluate.stats import Estimate
from wayforward.impact.audit.gaps import Correction, corrected, mean_gap, rate_gap
from wayforward.impact.conditions import conditions_of

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.schema import Schema

_ALIKE = 0.6  # two subgroups that share more of their people than this are told once
_TELLS = 3  # people: a mean over fewer would tell of a person


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

    @property
    def stands(self) -> bool:
        """Larger than chance would make one among all subgroups that are told."""
        return bool(self.corrected < 0.05)

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
            **{name: (v if np.isfinite(v) else None) for name, v in number.items()},
            "gap": self.gap.to_dict(),
            "n": self.n,
            "share": self.share,
            "stands": self.stands,
        }


def worst_off(
    schema: Schema,
    x: np.ndarray,
    measure: np.ndarray,
    *,
    metric: str = "usable",
    worse: Literal["low", "high"] = "low",
    groups: Sequence[Groups] = (),
    conditions: int = 3,
    smallest: int | None = None,
    width: int = 20,
    told: int = 3,
    seed: int = 0,
    correction: Correction = "holm",
) -> list[Subgroup]:
    """The subgroups of x (n, d) that fare worst in a measure (n,): bool for a rate, numbers for a mean (NaN: none).

    groups: attributes beside the features. conditions: at most so many a subgroup. smallest: people in a subgroup, in
    each half; left out, 20 or one in twenty. width: subgroups that the search keeps in mind. told: how many come back.
    Returns those that fared worse in the half they were chosen on, the clearest first; none with too few people.
    Raises: DataError for other shapes or settings.

    Example: ``worst_off(schema, x, usable, metric="usable")``.
    """
    x, measure = np.asarray(x, dtype=np.float64), np.asarray(measure)
    if measure.shape != (len(x),):
        raise DataError(
            f"The measure has shape {measure.shape} for {len(x)} people. Give one value a person."
        )
    if worse not in ("low", "high"):
        raise DataError(f"worse={worse!r}; it must be 'low' or 'high'.")
    if conditions < 1 or width < 1 or told < 1:
        raise DataError(
            f"conditions={conditions}, width={width} and told={told} must each be 1 or more. Leave them out."
        )
    is_rate = measure.dtype == bool
    value = measure.astype(np.float64)
    known = np.flatnonzero(np.isfinite(value))
    least = max(20, len(known) // 40) if smallest is None else int(smallest)
    if len(known) < 4 * least:
        return []
    first = np.random.default_rng([seed, 11]).permutation(known)
    search, hold = np.sort(first[: len(first) // 2]), np.sort(first[len(first) // 2 :])
    names, holds, about = _conditions(schema, x, groups, search, least)
    if not names:
        return []
    signed = (1.0 if worse == "high" else -1.0) * value[search]
    ranked = _beam(holds[search], about, signed, conditions, least, width)
    chosen = _distinct(ranked, holds[search], told)
    out = []
    for rule in chosen:
        inside = np.asarray(holds[:, list(rule)].all(1))
        one, two = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
        one[hold], two[hold] = inside[hold], ~inside[hold]
        if min(one.sum(), two.sum()) < _TELLS:
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


def corrected_together(found: Sequence[Subgroup], how: Correction = "holm") -> list[Subgroup]:
    """The same subgroups, corrected for all of them, such as those of two measures."""
    fixed = corrected(np.array([one.p for one in found]), how)
    return [replace(one, corrected=float(p)) for one, p in zip(found, fixed, strict=True)]


def _ranked(found: list[Subgroup], how: Correction) -> list[Subgroup]:
    return sorted(corrected_together(found, how), key=lambda one: (one.p, one.text))


def _conditions(
    schema: Schema, x: np.ndarray, groups: Sequence[Groups], search: np.ndarray, least: int
) -> tuple[list[str], np.ndarray, list[int]]:
    """Words of each condition, who meets it (n, c), and what it is about (c,): only what the search half decides."""
    names: list[str] = []
    columns: list[np.ndarray] = []
    about: list[int] = []

    def add(text: str, holds: np.ndarray, subject: int) -> None:
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
            add(f"{attribute.name} is {words.quoted(name)}", attribute.mask(g), schema.d + place)
    return names, np.stack(columns, 1) if columns else np.empty((len(x), 0), dtype=bool), about


def _clear(size: np.ndarray, total: np.ndarray, square: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """How far a subgroup stands above the rest, in standard errors, from sums over it."""
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
    holds: np.ndarray, about: list[int], signed: np.ndarray, depth: int, least: int, width: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Subgroups (quality, conditions), the clearest first; at most two conditions about one feature: a range."""
    weight = holds.astype(np.float64)
    subject = np.array(about)
    beam: list[tuple[int, ...]] = [()]
    best: dict[tuple[int, ...], float] = {}
    for _ in range(depth):
        inside = np.stack([holds[:, list(rule)].all(1) for rule in beam]).astype(np.float64)  # (b, n)
        size = inside @ weight
        total = (inside * signed) @ weight
        square = (inside * signed**2) @ weight
        quality = _clear(size, total, square, signed)  # (b, c)
        own = inside.sum(1)
        quality[(size < least) | (size > len(signed) - least)] = -np.inf
        quality[size >= own[:, None]] = -np.inf  # says nothing that the others do not
        found: dict[tuple[int, ...], float] = {}
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


def _distinct(
    ranked: list[tuple[float, tuple[int, ...]]], holds: np.ndarray, most: int
) -> list[tuple[int, ...]]:
    """The first few that are not mostly the same people."""
    chosen: list[tuple[int, ...]] = []
    masks: list[np.ndarray] = []
    for _, rule in ranked:
        mask = np.asarray(holds[:, list(rule)].all(1))
        if any((mask & m).sum() > _ALIKE * (mask | m).sum() for m in masks):
            continue
        chosen.append(rule)
        masks.append(mask)
        if len(chosen) == most:
            break
    return chosen
