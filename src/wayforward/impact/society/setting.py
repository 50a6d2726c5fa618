"""What a scenario plays with: people, a model, and what truly becomes of somebody who is granted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError, numbers_in
from wayforward.groups import Groups
from wayforward.impact.society.scenario import Scenario
from wayforward.public import public
from wayforward.shapes import Floats, Ints
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Schema
    from wayforward.world import World


@public
@dataclass(frozen=True, eq=False)
class Setting:
    """The pieces of a society; `setting_of` makes them from a scenario's data, or put them together yourself.

    problem: the lender's first model, and what advice obeys. x (n, d): the people at the start. groups: of them.
    world: what truly follows from an act; None: what the problem says. outcome: people (m, d) -> (m,) chance, 0 to 1,
    that they do well if granted; or labels (n,) of the people at the start, fixed whatever they do; None: unknown.
    train: (rows (m, d), outcomes (m,), seed) -> a model, for a lender who retrains. train_x (N, d), train_y (N,):
    what the first model was trained on. pool (q, d): newcomers are drawn from these with replacement, left out from x;
    pool_y (q,): their labels, where outcomes are labels. newcomers: (m, seed) -> (m, d) draws them anew instead.
    edges: cuts that make groups of a quantity.
    """

    problem: Problem
    x: Floats
    groups: Groups
    world: World | None = None
    outcome: Callable[[Floats], Any] | np.ndarray | None = None
    train: Callable[[Floats, np.ndarray, int], Any] | None = None
    train_x: Floats | None = None
    train_y: np.ndarray | None = None
    pool: Floats | None = None
    pool_y: np.ndarray | None = None
    newcomers: Callable[[int, int], Floats] | None = None
    edges: tuple[float, ...] = ()
    title: str = field(default="people")

    def __post_init__(self) -> None:
        x = self.problem.schema.encode(self.x, "people of the society")
        object.__setattr__(self, "x", np.ascontiguousarray(x, dtype=np.float64))
        if len(self.x) < 2:
            raise DataError(f"A society needs two people at least; got {len(self.x)}.")
        if len(self.groups) != len(self.x):
            raise DataError(
                f"'{self.groups.name}' is known of {len(self.groups)} people and there are {len(self.x)}."
            )
        if not callable(self.outcome) and self.outcome is not None:
            labels = numbers_in(self.outcome, "outcome")
            if labels.shape != (len(self.x),):
                raise DataError(
                    f"There are {labels.size} outcomes for {len(self.x)} people. Give one a person."
                )

    def member_of(self, x: Floats) -> Ints:
        """Return the groups of newcomers (m,). Raises: DataError if the attribute is no feature."""
        if self.groups.feature is None:
            raise DataError(
                f"'{self.groups.name}' is no feature, so nobody knows the groups of newcomers. Set arrivals: 0."
            )
        column = x[:, self.groups.feature]
        if self.problem.schema.has_levels[self.groups.feature] and not self.edges:
            return np.where(np.isnan(column), -1, np.nan_to_num(column)).astype(np.int64)
        return np.where(
            np.isnan(column), -1, np.searchsorted(np.asarray(self.edges), column, side="right")
        ).astype(np.int64)

    def trained_by(self, train: Callable[[Floats, np.ndarray, int], Any], seed: int = 0) -> Setting:
        """Return the same society under a lender who trains another model, at first and whenever they retrain.

        train: (rows (m, d), outcomes (m,) 0 or 1, seed) -> a model. Example: ``setting_of(scenario).trained_by(fit)``.
        Raises: DataError where nobody knows what the first model was trained on.
        """
        from wayforward.problem import Problem

        if self.train_x is None or self.train_y is None:
            raise DataError(
                "This setting does not hold what its first model was trained on. Give train_x and train_y."
            )
        old = self.problem
        model = train(self.train_x, self.train_y, seed)
        problem = Problem(old.schema, model, old.target, data=self.train_x, world=old.world, cost=old.cost)
        return replace(self, problem=problem, train=train)

    def draw(self, n: int, seed: int) -> tuple[Floats, Ints, Floats]:
        """n newcomers: rows (n, d), groups (n,), fixed labels (n,) (NaN where outcomes follow from what people do)."""
        fixed = np.full(n, np.nan)
        if self.newcomers is not None:
            x = np.asarray(self.newcomers(n, seed), dtype=np.float64)
            return x, self.member_of(x), fixed
        at = generator(seed, 0xA221).integers(0, len(self.x if self.pool is None else self.pool), n)
        if self.pool is not None:
            if self.pool_y is not None and not callable(self.outcome):
                fixed = np.asarray(self.pool_y, dtype=np.float64)[at]
            return self.pool[at], self.member_of(self.pool[at]), fixed
        if self.outcome is not None and not callable(self.outcome):
            fixed = np.asarray(self.outcome, dtype=np.float64)[at]
        return self.x[at], self.groups.member[at], fixed


@public
def setting_of(scenario: Scenario) -> Setting:
    """Make the pieces that a scenario names: its data set, split; a model trained on one part; people from the other.

    In the loan world people are drawn anew from its equations. Raises: DataError, WorldError for what does not exist.
    """
    from wayforward.data import load
    from wayforward.model import ZOO, train, wrap
    from wayforward.problem import Problem, Target

    found = load(scenario.data)
    if scenario.model not in ZOO:
        raise DataError(f"There is no model '{scenario.model}'. Use one of {', '.join(ZOO)}.")
    past, rest = found.split(test=0.3, seed=scenario.seed)
    schema = found.schema
    past_y = past.is_favourable.astype(np.int64)
    world = None
    if scenario.world == "known":
        world = found.world
        if world is None:
            raise DataError(
                f"Nobody knows the equations behind '{scenario.data}'. Set world: independent, or data: loan."
            )

    def fit(x: Floats, y: np.ndarray, seed: int) -> Any:
        return train(scenario.model, schema, x, y, seed=seed)

    model = wrap(fit(past.x, past_y, scenario.seed), schema)
    target = Target(favourable=1, threshold=scenario.lender.threshold)
    believed = world if scenario.advice.world == "same" else None
    problem = Problem(schema, model, target, data=past.x, world=believed)
    newcomers: Callable[[int, int], Floats] | None = None
    labels = pool = pool_y = None
    if found.name == "loan" and not set(found.variant) - {"karimi"}:
        newcomers = partial(_loan_people, schema=schema, karimi="karimi" in found.variant)
        x = newcomers(scenario.people or rest.n, scenario.seed)
    else:
        pool, pool_y = rest.x, rest.is_favourable.astype(np.float64)
        at = _chosen(rest.n, scenario.people, scenario.seed)
        x, labels = pool[at], pool_y[at]
    return Setting(
        problem, x, _groups(scenario, x, schema), world, _outcome(scenario, found, labels),
        train=fit, train_x=past.x, train_y=past_y, pool=pool, pool_y=pool_y, newcomers=newcomers,
        edges=scenario.cut, title=found.title,
    )  # fmt: skip


def _loan_people(n: int, seed: int, schema: Schema, karimi: bool) -> Floats:
    from wayforward.data.loan import sample

    x, _ = sample(n, seed + 0x10A2, karimi=karimi)
    return np.asarray(np.clip(x, schema.low, schema.high))


def _chosen(n: int, people: int | None, seed: int) -> Ints:
    if people is None:
        return np.arange(n)
    rng = generator(seed, 0x50C1)
    return rng.permutation(n)[:people] if people <= n else rng.integers(0, n, people)


def _groups(scenario: Scenario, x: Floats, schema: Schema) -> Groups:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing labels are counted in the report
        found = Groups.of(scenario.group, x, schema, cut=scenario.cut or None)
    if scenario.group_names and len(scenario.group_names) != len(found.names):
        raise DataError(
            f"group_names has {len(scenario.group_names)} names for {len(found.names)} groups of '{scenario.group}': "
            f"{', '.join(found.names)}. Name each, in this order."
        )
    return replace(found, names=scenario.group_names) if scenario.group_names else found


def level_titles(groups: Groups, schema: Schema) -> tuple[str, ...]:
    """Return the words of groups that are the levels of a feature under their codes; () of any others."""
    feature = None if groups.feature is None else schema.features[groups.feature]
    if feature is None or groups.names != tuple(str(level) for level in feature.levels or ()):
        return ()
    return tuple(words.level_words(feature, i) for i in range(feature.n_levels))


def _outcome(scenario: Scenario, found: Any, labels: Any) -> Any:
    if scenario.outcome == "none":
        return None
    if scenario.outcome in ("known", "drawn"):
        if found.name != "loan":
            raise DataError(
                f"Nobody knows what truly becomes of people of '{scenario.data}'. Set outcome: label, fitted or none, "
                "or data: loan."
            )
        from wayforward.world.loan import granted

        variant: Any = "karimi" if "karimi" in found.variant else "carma"
        if scenario.outcome == "drawn":
            return lambda x: granted(x, variant)
        return lambda x: (granted(x, variant) >= 0.5).astype(np.float64)
    if scenario.outcome == "label":
        if labels is None:
            raise DataError(
                "People of the loan world are drawn anew and have no labels. Set outcome: known or drawn."
            )
        return labels
    from wayforward.model import train, wrap
    from wayforward.problem import Problem, Target

    y = found.is_favourable.astype(np.int64)
    model = wrap(train("gb", found.schema, found.x, y, seed=scenario.seed + 1), found.schema)
    truth = Problem(found.schema, model, Target(favourable=1))
    return lambda x: truth.reached(x)[1]
