"""Small problems whose every row can be tried: 900 rows, models with steps, rules of each kind, and wishes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from wayforward.model import train
from wayforward.preferences import Preferences
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema
from wayforward.streams import generator

FEATURES = (
    Feature(name="a", kind="integer", low=0, high=4),
    Feature(name="b", kind="integer", low=0, high=4),
    Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
    Feature(name="rank", kind="ordinal", levels=("low", "mid", "high"), direction="increase"),
    Feature(name="old", kind="binary", levels=(0, 1), actionability="immutable"),
    Feature(name="debt", kind="integer", low=0, high=1, direction="decrease"),
)
EVERY = np.array(list(product(range(5), range(5), range(3), range(3), range(2), range(2))), dtype=float)
MAY_LACK = ("a", "home", "rank")  # what somebody may lack, and may tell, where `refused` is asked for it
LACKING = np.array(
    list(product([np.nan, *range(5)], range(5), [np.nan, 0, 1, 2], [np.nan, 0, 1, 2], range(2), range(2))),
    dtype=float,
)
RULES = (
    (),
    ("after.a <= after.b",),
    ("at most 2 changes",),
    ("if after.home == 'own' then after.a >= 3", "not (changed(b) and changed(rank))"),
    ("after.a + after.b >= 4", "after.rank != 'mid' or before.home == 'rent'", "after.a == after.b or changed(home)"),
)  # fmt: skip


def refused(
    model: str, seed: int, rules: tuple[str, ...], lacking: bool = False, **more: Any
) -> tuple[Problem, np.ndarray]:
    """A problem on 900 different rows, and 24 people whom it refuses; lacking: on 1,920 rows, with missing values."""
    every = LACKING if lacking else EVERY
    features = [replace(f, missing=True) if lacking and f.name in MAY_LACK else f for f in FEATURES]
    schema, rng = Schema(tuple(features), rules=rules), generator(seed, len(rules))
    centred = np.nan_to_num(every - np.nanmean(every, axis=0))
    bent = np.tanh(centred @ rng.normal(size=(6, 3))) @ rng.normal(size=3)
    score = bent + rng.normal(0, 0.4, len(every))
    y = (score > np.quantile(score, (0.75, 0.97)[seed % 2])).astype(int)
    past = rng.choice(len(every), 500)
    fitted = train(model, schema, every[past], y[past], seed=seed)
    problem = Problem(schema, fitted, data=every[past], **{"target": Target(1), **more})
    no = every[~problem.reached(every)[0]]
    return problem, no[rng.choice(len(no), 24)]


def wished(schema: Schema, x: np.ndarray, seed: int) -> Preferences:
    """Some people would not change a feature, or few; others find things hard."""
    rng, n = np.random.default_rng(seed), len(x)
    wish = Preferences.none(schema, n).at_most(rng.integers(1, 6, n))
    wish = wish.freeze("a", who=np.flatnonzero(rng.random(n) < 0.2)).forbid(
        "home", "own", who=np.flatnonzero(rng.random(n) < 0.2)
    )
    return wish.weigh({"b": 3.0}, who=np.flatnonzero(rng.random(n) < 0.5))


def least_cost(problem: Problem, people: Population) -> np.ndarray:
    """Of each person's options among all rows; inf where there is none."""
    every = LACKING if problem.schema.missing.any() else EVERY
    yes = every[problem.reached(every)[0]]
    if problem.robust is not None:
        yes = yes[problem.robust.holds(problem, yes, np.full(yes.shape, np.nan), yes)]
    best = np.full(people.n, np.inf)
    for i in range(people.n):
        who = np.full(len(yes), i)
        action = np.where(problem.schema.differs(yes, people.x[who]), yes, np.nan)
        good = people.allowed(who, action, yes) & people.plausible(who, yes) & ~np.isnan(action).all(1)
        if good.any():
            best[i] = people.cost(who[good], action[good]).min()
    return best
