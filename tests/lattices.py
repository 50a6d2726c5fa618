"""Problems on lattices that are small enough to look at every action, for comparisons with brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from wayforward.model import train
from wayforward.problem import Population, Problem, Target
from wayforward.schema import Feature, Schema


def lattice(
    kind: str,
    seed: int,
    features: Sequence[Feature],
    rules: Sequence[str],
    x: np.ndarray,
    score: np.ndarray,
    refused: float,
) -> tuple[Problem, np.ndarray]:
    """A model of a kind that learnt to say no to a share `refused` of people (n, d), by score (n,); the people."""
    schema, y = Schema(tuple(features), tuple(rules)), (score > np.quantile(score, refused)).astype(int)
    return Problem(schema, train(kind, schema, x, y, seed=seed), Target(favourable=1), data=x), x


def legal_actions(
    problem: Problem, people: Population, i: int, holds: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Every action of person i on a lattice of whole numbers that the judge allows, and where it leads.

    holds: also those that set what is so already.
    """
    schema = problem.schema
    axes = [
        [np.nan, *np.arange(schema.low[j], schema.high[j] + 1)] if people.may[i, j] else [np.nan]
        for j in range(schema.d)
    ]
    action = np.array(list(itertools.product(*axes)))[1:]
    action = action if holds else action[~(action == people.x[i]).any(1)]
    who = np.full(len(action), i)
    after = people.after(who, action)
    good = people.allowed(who, action, after)
    return action[good], after[good]
