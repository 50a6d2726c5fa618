"""The semi-synthetic loan world: seven features, known equations, a known label.

Units are the world's own: age is centred on 35 years, income and savings may be negative. Noise
parameters are standard deviations.

Source: A.-H. Karimi, J. von Kuegelgen, B. Schoelkopf, I. Valera (2020), Algorithmic recourse under
imperfect causal knowledge: a probabilistic approach, NeurIPS (variant "karimi"); A. Majumdar, I. Valera
(2024), CARMA, FAccT, doi:10.1145/3630106.3659003 (variant "carma", which swaps the sign of gender in two
equations and makes the label a threshold).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from wayforward.errors import WorldError, is_one_of
from wayforward.public import public
from wayforward.rules.arrays import Array, NumpyOps
from wayforward.world.scm import SCM

Variant: TypeAlias = Literal["carma", "karimi"]
FEATURES = ("gender", "age", "education", "loan_amount", "loan_duration", "income", "savings")

_EQUATIONS = {
    "gender": "u",
    "age": "u - 35",
    "education": "-0.5 + sigmoid(-1 + 0.5 * gender + sigmoid(0.1 * age) + u)",
    "loan_amount": "1 + 0.01 * (age - 5) * (5 - age) + (1 - gender) + u",
    "loan_duration": "-1 + 0.1 * age + 2 * (1 - gender) + loan_amount + u",
    "income": "-4 + 0.1 * (age + 35) + 2 * gender + gender * education + u",
    "savings": "-4 + 1.5 * max(income, 0) + u",
}
_KARIMI = _EQUATIONS | {
    "loan_amount": "1 + 0.01 * (age - 5) * (5 - age) + gender + u",
    "loan_duration": "-1 + 0.1 * age + 2 * gender + loan_amount + u",
}
_NOISE = {
    "gender": "Bernoulli(0.5)",
    "age": "Gamma(10, 3.5)",
    "education": "Normal(0, 0.5)",
    "loan_amount": "Normal(0, 2)",
    "loan_duration": "Normal(0, 3)",
    "income": "Normal(0, 2)",
    "savings": "Normal(0, 5)",
}


@public
def loan(variant: Variant = "carma") -> SCM:
    """The loan world over `FEATURES`. Raises: WorldError for another variant.

    Example:
        >>> loan().sample(3, rng=0).shape
        (3, 7)
    """
    _check(variant)
    return SCM(_EQUATIONS if variant == "carma" else _KARIMI, _NOISE)


def granted(x: Array, variant: Variant = "carma") -> np.ndarray:
    """(..., 7) -> (...): the probability in the label's equation, before any threshold.

    sigmoid(0.3 (-L - D + I + S + s I S)); s is 1 in the variant "karimi", and in "carma" 1 where income
    and savings are both at least 0, else -1 (so that two losses do not multiply to a gain).
    """
    _check(variant)
    x = np.asarray(x, dtype=np.float64)
    if x.shape[-1] != len(FEATURES):
        raise WorldError(f"The people have shape {x.shape}, but the loan world has {len(FEATURES)} features.")
    amount, duration, income, savings = (x[..., j] for j in range(3, 7))
    sign = 1.0 if variant == "karimi" else np.where((income >= 0) & (savings >= 0), 1.0, -1.0)
    score = 0.3 * (-amount - duration + income + savings + sign * income * savings)
    return np.asarray(NumpyOps.sigmoid(score))


def label(x: Array, variant: Variant = "carma", rng: np.random.Generator | int | None = None) -> np.ndarray:
    """(..., 7) -> (...) int: 1 where the loan is granted.

    "carma" thresholds `granted` at 0.5; "karimi" draws from it, so it needs `rng` (a generator or a seed).
    """
    probability = granted(x, variant)
    if variant == "carma":
        return (probability >= 0.5).astype(np.int64)
    if rng is None:
        raise WorldError(
            "The label of the variant 'karimi' is drawn at random. Give rng=<seed or generator>."
        )
    return (np.random.default_rng(rng).random(probability.shape) < probability).astype(np.int64)


def _check(variant: str) -> None:
    if not is_one_of(variant, ("carma", "karimi")):
        raise WorldError(f"There is no loan variant {variant!r}. Use 'carma' or 'karimi'.")
