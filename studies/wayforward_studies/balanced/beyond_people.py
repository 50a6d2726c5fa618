"""People of the studies beyond the paper: more than two groups, rules, and what each person cannot or will not do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from wayforward.groups import Groups
from wayforward.preferences import Preferences
from wayforward.preferences.sampling import PreferenceLaw
from wayforward.schema import Feature, Schema
from wayforward_studies.balanced.setting import KEPT, BalancedStudy, drawn, study

#: Where the groups of the three-centred set stand on the first feature; accepted people higher on the second.
THREE = (0.22, 0.5, 0.78)
_HEIGHTS = (0.685, 0.315)

#: Rules in which balanced advice must stay, in the words of the schema.
RULES: Mapping[str, tuple[str, ...]] = {
    "synthetic": ("abs(change.a) <= change.b",),
    "compas-race": ("at most 2 changes", "change.length_of_stay <= 0"),
    "law-race": ("at most 2 changes", "change.LSAT <= 0.3"),
    "german-sex": (
        "at most 4 changes",
        "decreased(duration_months) implies decreased(credit_amount)",
        "change.employment_since <= 0.25",
    ),
    "gmc-age": ("at most 3 changes", "change.DebtRatio <= 0"),
}


def three(seed: int, most: int) -> BalancedStudy:
    """Three groups side by side: 200 accepted and 200 refused people of each, normal with a deviation of .1."""
    each = max(10, min(200, most // 6))
    rng = np.random.default_rng([8, seed])
    place = [(x, y) + 0.1 * rng.normal(size=(each, 2)) for y in _HEIGHTS for x in THREE]
    member = np.tile(np.repeat([0, 1, 2], each), 2)
    numbers = [Feature(name=name, kind="real", low=0, high=1) for name in KEPT["synthetic"]]
    level = Feature(
        name="group", kind="categorical", levels=("L", "M", "R"), actionability="immutable", sensitive=True
    )
    x = np.column_stack([np.concatenate(place).clip(0, 1), member])
    y = np.repeat([1, 0], 3 * each)
    groups = Groups("group", ("L", "M", "R"), member, 2)
    return BalancedStudy(
        "synthetic-3", Schema((*numbers, level)), x, y, groups, KEPT["synthetic"], "lr", seed
    )


def races(seed: int, most: int) -> BalancedStudy:
    """COMPAS by race with all levels that have enough people; Asian and Native American people count as 'Other'."""
    it = study("compas-race", seed, most)
    names, label = _levels("compas", "race", seed, most)
    small = [name for name in names if name in ("Asian", "Native American", "Other")]
    large = [name for name in names if name not in small]
    called = (*large, "Other") if small else tuple(large)
    at = np.array([called.index("Other" if name in small else name) for name in names])
    return replace(it, name="compas-races", groups=Groups("race", called, at[label].astype(np.int64)))


def crossed(seed: int, most: int) -> BalancedStudy:
    """COMPAS by sex and race: four groups."""
    race, sex = study("compas-race", seed, most), study("compas-sex", seed, most)
    return replace(race, name="compas-sex-race", groups=sex.groups.cross(race.groups))


def ages(seed: int, most: int) -> BalancedStudy:
    """GMC by age in three groups of equal size: no attribute that the model's features tell by a level."""
    it = study("gmc-age", seed, most)
    age = it.x[:, it.schema.index("age")]
    cut = np.quantile(age, [1 / 3, 2 / 3])
    member = np.searchsorted(cut, age, side="right").astype(np.int64)
    return replace(it, name="gmc-ages", groups=Groups("age", ("younger", "middle", "older"), member))


#: Settings of more than two groups.
MANY: Mapping[str, Callable[[int, int], BalancedStudy]] = {
    "synthetic-3": three,
    "compas-races": races,
    "compas-sex-race": crossed,
    "gmc-ages": ages,
}


@lru_cache(maxsize=5)
def named(name: str, seed: int, most: int) -> BalancedStudy:
    """A setting by name, made once: of two groups, of more, or, as 'name, rules', one under its rules."""
    base, _, rules = name.partition(", ")
    if rules:
        return ruled(named(base, seed, most))
    return MANY[name](seed, most) if name in MANY else study(name, seed, most)


def _levels(data: str, name: str, seed: int, most: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and label (n,) of the people that `study` draws."""
    from wayforward.data import load

    it = load(data, variant="score")
    label = np.asarray(it.x[:, it.schema.index(name)]).astype(np.int64)
    return tuple(str(level) for level in it.schema[name].levels), label[drawn(len(label), seed, most)]


def ruled(it: BalancedStudy) -> BalancedStudy:
    """The same people and the same model under the rules of their setting."""
    return replace(it, schema=Schema(it.schema.features, rules=RULES[it.name]), model=it.problem.model)


def wished(it: BalancedStudy) -> Preferences:
    """What the refused people cannot act on, find hard, and how far they go: drawn for each of them.

    Everybody ranks the features that can change; from a random rank on, they are frozen, and harder ones weigh up to
    10 times as much. Numbers move by at most .2 to .6 of their range in either direction.
    """
    schema, rng = it.schema, np.random.default_rng([it.seed, 31])
    here = it.x[~it.problem.reached(it.x)[0]]
    n = len(here)
    wishes = PreferenceLaw("ranks", threshold="random", profile="linear").draw(schema, n, rng)
    for j in np.flatnonzero(schema.actionable & ~schema.has_levels):
        far = rng.uniform(0.2, 0.6, (2, n))
        wishes = wishes.limit(schema.names[j], low=here[:, j] - far[0], high=here[:, j] + far[1])
    return wishes
