"""The loan world in units that people say: euros, months and years, by a change of units and nothing else.

The published equations use units of their own, where an income may be -1.7. Each variable v becomes
start + size * v; the equations are rewritten to match, so that acting here and acting there lead to the same
place (up to rounding to whole euros, months and years).
"""

from __future__ import annotations

import re

import numpy as np

from wayforward.data.dataset import Dataset
from wayforward.schema import Feature, FeatureWords, Schema
from wayforward.world import SCM

# name: (start, size), so that value here = start + size * value of the published equations
UNITS: dict[str, tuple[float, float]] = {
    "gender": (0.0, 1.0),
    "age": (35.0, 1.0),
    "education": (12.0, 12.0),
    "loan_amount": (25_000.0, 1000.0),
    "loan_duration": (60.0, 1.0),
    "income": (3000.0, 250.0),
    "savings": (15_000.0, 500.0),
}


def schema() -> Schema:
    """Who can change what, as in the recommended reading of the loan data; the loan's duration follows."""
    return Schema(
        (
            Feature(
                name="gender",
                kind="binary",
                levels=(0, 1),
                level_labels=("group 0", "group 1"),
                actionability="immutable",
                sensitive=True,
                translations={"de": FeatureWords(label="Geschlecht", level_labels=("Frau", "Mann"))},
            ),
            Feature(
                name="age", kind="integer", low=0, high=135, unit="years", actionability="immutable",
                sensitive=True, translations={"de": FeatureWords(label="Alter")},
            ),
            Feature(
                name="education", kind="integer", low=7, high=17, unit="years", label="education",
                description="Years of school and university.", direction="increase",
                translations={"de": FeatureWords(label="Ausbildung", description="Jahre in Schule und Hochschule.")},
            ),
            Feature(
                name="loan_amount", kind="integer", low=1000, high=37_000, unit="EUR", label="loan amount",
                least_change=100, bounds="observed", translations={"de": FeatureWords(label="Kreditbetrag")},
            ),
            Feature(
                name="loan_duration", kind="integer", low=1, high=81, unit="months", label="loan duration",
                actionability="mutable", bounds="observed",
                translations={"de": FeatureWords(label="Laufzeit des Kredits")},
            ),
            Feature(
                name="income", kind="integer", low=0, high=6750, unit="EUR/month", direction="increase",
                least_change=50, bounds="observed", translations={"de": FeatureWords(label="Einkommen")},
            ),
            Feature(
                name="savings", kind="integer", low=0, high=32_500, unit="EUR", direction="increase",
                least_change=100, bounds="observed", translations={"de": FeatureWords(label="Ersparnisse")},
            ),
        )
    )  # fmt: skip


def world() -> SCM:
    """The published equations, rewritten for the units here."""
    from wayforward.world.loan import loan

    published = loan()
    there = {name: f"(({name} - {start}) / {size})" for name, (start, size) in UNITS.items()}
    there["gender"] = "gender"
    names = re.compile(r"\b(" + "|".join(UNITS) + r")\b")
    equations = {}
    for equation in published.equations:
        start, size = UNITS[equation.name]
        inside = names.sub(lambda found: there[found[0]], str(equation))
        equations[equation.name] = inside if equation.name == "gender" else f"{start} + {size} * ({inside})"
    return SCM(equations)


def people(data: Dataset) -> np.ndarray:
    """(n, d) the people of the loan data in the units here, whole numbers, inside the bounds."""
    start, size = np.array([UNITS[name] for name in data.schema.names]).T
    mine = schema()
    return np.asarray(np.clip(np.round(start + size * data.x), mine.low, mine.high))
