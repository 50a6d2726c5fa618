"""Membership by shadow models: the attacker trains models as the service did, on people of their own.

Each shadow model sees another half of the attacker's labelled people and answers as the service does, so that the
attacker knows of every answer whether its person was a member. That gives what one answer cannot: which distance is
too large for somebody who was not (the threshold), and how far this very person would stand from a yes in models that
have not seen them (`surprise`: the distance to the answer less its mean over the shadow models).

Sources: R. Shokri, M. Stronati, C. Song, V. Shmatikov (2017), Membership inference attacks against machine learning
models, IEEE S&P; N. Carlini et al. (2022), Membership inference attacks from first principles, IEEE S&P (its offline
attack, with one spread for everybody); M. Pawelczyk, H. Lakkaraju, S. Neel (2023), On the privacy risks of algorithmic
recourse, AISTATS.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.errors import DataError, MethodError, is_integer, shown
from wayforward.evaluate.stats import Estimate, rate
from wayforward.impact.disclosure.membership import auc, distances
from wayforward.methods.base import Method
from wayforward.model import wrap
from wayforward.model.refitting import refit
from wayforward.problem import Problem
from wayforward.shapes import Floats, People, PerPerson
from wayforward.streams import generator

RATES = (0.001, 0.01)  # of false alarms
_FEWEST = 10  # of each label
_DIGITS = 9


@dataclass(frozen=True)
class Shadows:
    """How an attacker trains shadow models. labels: (n,) what is true of the `people` of the attack, in their order.

    models: how many. fit: (rows (m, d), labels (m,), seed) -> a model that `wf.wrap` takes; left out, the service's own
    estimator is trained again. Raises: MethodError.
    """

    labels: Any
    models: int = 8
    fit: Callable[[np.ndarray, np.ndarray, int], Any] | None = None

    def __post_init__(self) -> None:
        whole = is_integer(self.models)
        if not whole or self.models < 2:
            raise MethodError(f"models={shown(self.models)} shadow models cannot be trained. Use 2 or more.")

    def of(self, n: int) -> np.ndarray:
        """(n,) the labels. Raises: DataError for another number of them."""
        labels = np.asarray(self.labels)
        if labels.shape != (n,):
            raise DataError(
                f"Shadow models have labels of shape {labels.shape}, and there are {n} people. Give one label for each "
                "of them, in the same order."
            )
        return labels


@dataclass(frozen=True)
class Alarms:
    """Members and others above the threshold that shadow models put at a rate of false alarms."""

    rate: float
    true: Estimate
    false: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"rate": self.rate, "true": self.true.to_dict(), "false": self.false.to_dict()}


@dataclass(frozen=True)
class Shadowed:
    """A score with a threshold of shadow models. rows: people whom each of them saw; known: answers whose people the
    attacker knows to be no members, which the thresholds are taken from."""

    score: str
    models: int
    rows: int
    known: int
    members: int
    outsiders: int
    auc: Estimate
    alarms: tuple[Alarms, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        alarms = [one.to_dict() for one in self.alarms]
        return {**vars(self), "auc": self.auc.to_dict(), "alarms": alarms}


def threshold(outside: Floats, rate: float) -> float:
    """Return the least score that at most this share of `outside` (m,) lies above."""
    return float(np.sort(outside)[::-1][int(rate * len(outside))])


def shadowed(
    problem: Problem, method: Method, own: People, labels: np.ndarray, how: Shadows,
    members: tuple[People, PerPerson], outsiders: tuple[People, PerPerson], spread: Floats, *, seed: int = 0,
) -> tuple[Shadowed, ...]:  # fmt: skip
    """Attack by shadow models that are trained on halves of the attacker's own people (n, d).

    problem: what the service answers, of which the attacker knows all but model and table; conditions of robustness are
    left out. members, outsiders: people and how far their answers lie from them. Raises: DataError.
    """
    if len(own) < 2 * _FEWEST or min(np.unique(labels, return_counts=True)[1]) < _FEWEST:
        raise DataError(
            f"Shadow models need {2 * _FEWEST} people of the attacker's own or more, {_FEWEST} of each label; there "
            f"are {len(own)}. Give a larger table of people."
        )
    rng = generator(seed, 0x5AD0)
    people = np.concatenate([own, members[0], outsiders[0]])
    far = np.full((how.models, len(people)), np.nan)  # nobody's own answer: of shadow models
    inside = np.zeros((how.models, len(people)), dtype=bool)
    half = len(own) // 2
    for i in range(how.models):
        at = _half(rng, labels, half)
        inside[i, at] = True
        far[i] = _far(problem, method, own[at], labels[at], how, people, spread, seed=seed + i)
    return tuple(
        _judged(name, values, how.models, half, len(own), members[1], outsiders[1])
        for name, values in (("distance", (far, inside, False)), ("surprise", (far, inside, True)))
    )


def _half(rng: np.random.Generator, labels: np.ndarray, size: int) -> np.ndarray:
    """Rows of a half, drawn by chance; with every label."""
    order = rng.permutation(len(labels))
    first = order[np.unique(labels[order], return_index=True)[1]]
    return np.concatenate([first, order[~np.isin(order, first)]])[:size]


def _far(
    problem: Problem, method: Method, rows: People, labels: np.ndarray, how: Shadows, people: People, spread: Floats,
    *, seed: int,
) -> PerPerson:  # fmt: skip
    """How far a shadow model's answers lie from people (n, d); 0 for whom it accepts, NaN where it has none."""
    made = refit(problem.model, rows, labels, seed) if how.fit is None else how.fit(rows, labels, seed)
    shadow = Problem(
        problem.schema, wrap(made, problem.schema), problem.target, rows, world=problem.world, cost=problem.cost,
        plausibility=problem.plausibility, confidence=problem.confidence, disclosure=problem.disclosure,
        least_change=problem.least_change_source,
    )  # fmt: skip
    accepted = shadow.reached(people)[0]
    out = np.where(accepted, 0.0, np.nan)
    if not accepted.all():
        answer = copy(method).fit(shadow).recommend(people[~accepted], 1, seed=seed)
        out[~accepted] = distances(answer, spread)
    return out


def _judged(
    score: str, values: tuple[Floats, np.ndarray, bool], models: int, rows: int, own: int, members: PerPerson,
    outsiders: PerPerson,
) -> Shadowed:  # fmt: skip
    far, inside, against = values
    out = np.where(inside, np.nan, far)  # (models, n) of people whom a model has not seen
    seen, count = np.nansum(out, 0), (~np.isnan(out)).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = seen / count  # (n,) over all models that have not seen the person
        others = (seen - np.nan_to_num(out)) / (
            count - ~np.isnan(out)
        )  # (models, n): without the one in question
    m = len(members)
    expected = mean[own : own + m], mean[own + m :]
    mine, theirs = (  # what rounding alone tells apart is the same
        np.round(v - e, _DIGITS) if against else v
        for v, e in zip((members, outsiders), expected, strict=True)
    )
    known = np.where(far > 0, out - others if against else out, np.nan)[:, :own]
    known, mine, theirs = (v[np.isfinite(v)] for v in (known, mine, theirs))
    alarms = tuple(
        Alarms(r, rate(mine > threshold(known, r)), rate(theirs > threshold(known, r)))
        for r in RATES if len(known)
    )  # fmt: skip
    return Shadowed(score, models, rows, len(known), len(mine), len(theirs), auc(mine, theirs), alarms)


__all__ = ["RATES", "Alarms", "Shadowed", "Shadows", "shadowed", "threshold"]
