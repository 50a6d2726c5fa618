"""A small credit problem with units, labels and a linkage, and people whose plans are known by hand."""

import numpy as np
import pytest

from wayforward.model.base import Access, Model
from wayforward.problem import Problem, Target
from wayforward.recourse import Outcome, Recourse
from wayforward.schema import Feature, Schema

NAN = np.nan


def credit_schema(**labels):
    """savings, housing, debt and so on; `labels` replaces the label of a feature."""
    made = (
        Feature(name="age", kind="integer", low=18, high=90, unit="years", actionability="immutable"),
        Feature(name="savings", kind="real", low=0, high=20_000, unit="EUR", label="Savings"),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "with_parents")),
        Feature(name="debt_share", kind="real", low=0, high=1, direction="decrease"),
        Feature(name="education", kind="ordinal", levels=("school", "bachelor", "master")),
        Feature(name="phone", kind="binary", levels=(False, True), label="own phone"),
        Feature(
            name="rating", kind="real", low=0, high=100, step=0.01, unit="points", actionability="mutable"
        ),
    )
    from dataclasses import replace

    features = tuple(replace(f, label=labels[f.name]) if f.name in labels else f for f in made)
    return Schema(features, rules=("savings drags rating by 0.002",))


class Points(Model):
    """savings / 1000 - 10 * debt_share + 2 if the home is owned + education; yes at 3 or more."""

    task, classes, access, name = "classification", ("no", "yes"), Access.PROBABILITY, "Points"

    def __init__(self, schema):
        super().__init__()
        self.schema = schema

    def _outputs(self, x):
        score = x[:, 1] / 1000 - 10 * x[:, 3] + 2 * (x[:, 2] == 1) + x[:, 4] - 3
        p = 1 / (1 + np.exp(-score))
        return np.stack([1 - p, p], 1)

    def _native(self, x):
        out = self._outputs(x)
        return out, (out[:, 1] >= 0.5).astype(np.int64)


def credit_problem(schema=None, n=400):
    schema = credit_schema() if schema is None else schema
    rng = np.random.default_rng(0)
    data = np.stack(
        [
            rng.integers(18, 90, n),
            rng.uniform(0, 8000, n),
            rng.integers(0, 3, n),
            rng.uniform(0, 0.6, n),
            rng.integers(0, 3, n),
            rng.integers(0, 2, n),
            rng.integers(1000, 9000, n) / 100,
        ],
        axis=1,
    ).astype(float)
    return Problem(schema, Points(schema), Target(favourable="yes"), data=data)


@pytest.fixture(scope="session")
def problem():
    return credit_problem()


def person():
    """Savings 1,200 EUR, renting, debt share .05, bachelor: 1.2 - 0.5 + 1 = 1.7 points of 3."""
    return np.array([[35.0, 1200.0, 0, 0.05, 1, 0, 40.0]])


@pytest.fixture
def x():
    return person()


def answered(problem, x, *options):
    """A checked recourse: each option a dict of feature -> value, the same for every person."""
    action = np.full((len(x), len(options), problem.schema.d), NAN)
    for o, option in enumerate(options):
        for name, value in option.items():
            action[:, o, problem.schema.index(name)] = value
    return problem.check(x, action, k=len(options), method="by hand")


@pytest.fixture
def answer():
    return answered


@pytest.fixture
def make_problem():
    return credit_problem


@pytest.fixture
def make_schema():
    return credit_schema


@pytest.fixture
def empty():
    """A recourse without any option, ended as asked."""

    def made(problem, x, outcome):
        n, d = x.shape
        return Recourse(
            schema=problem.schema,
            x=x,
            action=np.full((n, 2, d), NAN),
            after=np.full((n, 2, d), NAN),
            cost=np.full((n, 2), np.inf),
            score=np.full((n, 2), NAN),
            outcome=np.full((n, 2), outcome, dtype=object),
            seconds=np.zeros(n),
            method="none",
            problem=problem,
        )

    made.outcomes = Outcome
    return made
