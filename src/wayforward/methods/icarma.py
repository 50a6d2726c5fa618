"""icarma: CARMA that sees what each person can change and what is harder for them, and answers anybody's wishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import MethodError, PreferencesError, is_one_of, shown
from wayforward.methods.carma import Carma
from wayforward.methods.engines.amortised.engine import Law
from wayforward.preferences import GAMMAS, score_weights
from wayforward.preferences.sampling import (
    PreferenceLaw,
    draw_rankings,
    draw_scores,
    draw_thresholds,
    ranking_law,
)

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

Draw = Callable[[int, np.random.Generator], tuple[np.ndarray, int]]  # n, generator -> scores (n, a), levels

_PRINTED: dict[str, dict[str, Any]] = {
    "loan-ranks": {
        "batch": 128, "epochs": 450, "rate": 0.005, "margin": 0.013, "tau": 0.36, "cost": 1.1, "kl": 1.5,
        "plausibility": 0.225, "feasibility": 0.1, "mask_width": 16, "action_layers": 3, "action_width": 32,
    },
    "loan-scores": {
        "batch": 128, "epochs": 900, "rate": 0.001, "margin": 0.004, "tau": 0.49, "cost": 1.3, "kl": 0.9,
        "plausibility": 0.125, "feasibility": 0.1, "mask_width": 16, "action_layers": 4, "action_width": 32,
    },
    "gmsc": {
        "batch": 256, "epochs": 400, "rate": 0.001, "margin": 0.013, "tau": 0.33, "cost": 1.1, "kl": 1.1,
        "plausibility": 0.04, "feasibility": 0.09, "mask_width": 32, "action_layers": 3, "action_width": 32,
    },
}  # fmt: skip
_AS_PUBLISHED: dict[str, Any] = {
    "cap": float("inf"), "schedule": "constant", "implausible": "hinge", "likelier": 0.0, "reach": 1.0,
    "sees_values": False, "entropy": 1.0,
}  # fmt: skip
_SHARED = ("batch", "margin", "tau", "cost", "feasibility")  # of the printed numbers, in our own settings

#: "loan-ranks", "loan-scores", "gmsc": batch, margin, tau, cost and feasibility as printed (appendices C.2.4 and
#: C.3.3), 200 epochs, the rest ours. With "-printed": every number as printed and our additions off; layers are ours
#: throughout.
PRESETS: dict[str, dict[str, Any]] = {
    **{name: {"epochs": 200} | {key: printed[key] for key in _SHARED} for name, printed in _PRINTED.items()},
    **{f"{name}-printed": printed | _AS_PUBLISHED for name, printed in _PRINTED.items()},
}


@dataclass
class ICarma(Carma):
    """CARMA for persons: both networks see who can act on what and what is harder for whom.

    The networks see the person's mask and weights beside the latents; preferences are drawn afresh each time a row is
    used in training, so that the trained networks answer whatever a person says. What somebody cannot change has a
    mask of exactly 0, in training and after. The weights enter the effort (eqs. 10 to 12), the priors of the mask
    fall with them (eq. 14), and log-density (eq. 15) and range (eq. 16) are part of the loss where the world tells
    densities.

    law: how preferences are drawn in training: a `PreferenceLaw` (default: which and how many features somebody can
    act on uniform, then a uniform ranking), or a function of n and a generator that returns scores (n, a) over the
    features that can be acted on, 1 for the easiest, levels + 1 for "cannot", and the number of levels. profile: how
    scores weigh: 'constant', 'linear', 'convex', 'concave', 'mixed' for one of the four drawn for each row, or None
    for the law's own. w_min, w_max: range of the weights; prior_max, prior_min: of the priors. The other fields as
    in `carma`; `preset` ('loan-ranks', 'loan-scores', 'gmsc', and each with '-printed') sets hyper-parameters
    wherever a field is left at its default: ``ICarma.loan_ranks()`` is the same.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``ICarma(epochs=100).fit(problem).recommend(refused, preferences=wishes)``.
    Raises: as `carma`.
    Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA: individualised actionability in amortised causal
    algorithmic recourse.
    """

    name: ClassVar[str] = "icarma"
    summary: ClassVar[str] = (
        "networks that see each person's limits and preferences, trained once for everybody"
    )
    citation: ClassVar[str] = (
        "Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA; builds on CARMA (FAccT 2024)"
    )
    sees_preferences: ClassVar[bool] = True

    epochs: int = 90
    mask_width: int = 32
    action_width: int = 64
    margin: float = 0.013
    cost: float = 1.1
    kl: float = 3.0
    entropy: float = 0.03
    plausibility: float = 3.0
    likelier: float = 0.1
    cap: float = 15.0
    law: PreferenceLaw | Draw | None = None
    profile: Literal["constant", "linear", "convex", "concave", "mixed"] | None = "mixed"
    w_min: float = 1.0
    w_max: float = 10.0
    prior_max: float = 0.5
    prior_min: float = 0.05
    preset: str | None = None

    def __post_init__(self) -> None:
        if self.preset is not None:
            if not is_one_of(self.preset, PRESETS):
                raise MethodError(f"There is no preset {self.preset!r}. Choose one of {', '.join(PRESETS)}.")
            for name, value in PRESETS[self.preset].items():
                if getattr(self, name) == type(self).__dataclass_fields__[name].default:
                    setattr(self, name, value)
        super().__post_init__()
        if not (self.profile is None or is_one_of(self.profile, ("mixed", *GAMMAS))):
            raise MethodError(
                f"'{self.name}' has profile={shown(self.profile)}. Choose 'mixed' or one of {', '.join(GAMMAS)}."
            )
        score_weights(1.0, 1, w_min=self.w_min, w_max=self.w_max)  # says what is wrong with the range
        if not 0 < self.prior_min <= self.prior_max < 1:
            raise MethodError(
                f"'{self.name}' has prior_max={self.prior_max} and prior_min={self.prior_min}. Give 0 < prior_min <= "
                "prior_max < 1."
            )
        if self.law is None:
            self.law = PreferenceLaw("ranks", threshold="random", w_min=self.w_min, w_max=self.w_max)

    @classmethod
    def loan_ranks(cls, *, printed: bool = False, **changes: Any) -> Self:
        """Return settings for Loan where people rank features; printed: every number as in the paper."""
        return cls(preset="loan-ranks-printed" if printed else "loan-ranks", **changes)

    @classmethod
    def loan_scores(cls, *, printed: bool = False, **changes: Any) -> Self:
        """Return settings for Loan where people score features; printed: every number as in the paper."""
        return cls(preset="loan-scores-printed" if printed else "loan-scores", **changes)

    @classmethod
    def gmsc(cls, *, printed: bool = False, **changes: Any) -> Self:
        """Return settings for Give Me Some Credit; printed: every number as in the paper."""
        return cls(preset="gmsc-printed" if printed else "gmsc", **changes)

    # -- wishes ------------------------------------------------------------------------------------------------

    def _law(self, problem: Problem) -> Law:
        schema = problem.schema
        act = np.flatnonzero(schema.actionable & ~schema.is_categorical)
        draw = self._scores([schema.names[j] for j in act])
        profiles = (
            ("constant", "linear", "convex", "concave") if self.profile == "mixed" else (self._profile(),)
        )
        return DrawnWishes(draw, len(act), profiles)

    def _profile(self) -> str:
        if self.profile is not None:
            return self.profile
        return self.law.profile if isinstance(self.law, PreferenceLaw) else "linear"

    def _scores(self, names: list[str]) -> Draw:
        """Return how to draw scores of the features that can be acted on, as the law says; plain arrays, for speed."""
        law, a = self.law, len(names)
        if not isinstance(law, PreferenceLaw):
            assert law is not None
            return law
        orders = None
        if law.favoured:
            orders = ranking_law(names, law.favoured, both=law.both, first=law.first)
        return DrawnScores(law, a, orders)

    def _weight_range(self) -> tuple[float, float]:
        return (self.w_min, self.w_max)

    def _validation_wishes(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        law = self.engine_.law
        assert law is not None
        return law(n, np.random.default_rng([self.split_seed, 31]))

    def _seen(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        act = self.engine_.act
        share = (people.weight[:, act] - self.w_min) / max(self.w_max - self.w_min, 1e-12)
        return np.where(people.free[:, act], share.clip(0, 1), 0.0), people.free[:, act]

    # -- files ---------------------------------------------------------------------------------------------------

    def _more(self) -> dict[str, Any]:
        law: Any = self.law.to_dict() if isinstance(self.law, PreferenceLaw) else "own"
        own = {name: getattr(self, name) for name in ("profile", "w_min", "w_max", "prior_max", "prior_min")}
        return {**super()._more(), **own, "law": law}

    def _settings(self) -> dict[str, Any]:
        settings = {**super()._settings(), "preset": None}
        settings["law"] = self.law.to_dict() if isinstance(self.law, PreferenceLaw) else None
        return settings

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        law = settings.get("law")
        return {**settings, "law": None if law is None else PreferenceLaw.from_dict(law)}


@dataclass(frozen=True)
class DrawnScores:
    """Scores of the a features that can be acted on, as a law draws them. orders: the law of rankings, if any."""

    law: PreferenceLaw
    a: int
    orders: Any

    def __call__(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Return scores (n, a) and how many levels they have."""
        law, a = self.law, self.a
        if law.answers == "scores":
            return draw_scores(n, a, law.levels, rng, cannot=law.cannot), law.levels
        threshold: Any = draw_thresholds(n, a, rng) if law.threshold == "random" else law.threshold
        return draw_rankings(n, a, rng, law=self.orders, threshold=threshold), a


@dataclass(frozen=True)
class DrawnWishes:
    """Personal weights from 0 (easiest) to 1 (hardest) from drawn scores of a features, by a profile drawn for each."""

    draw: Draw
    a: int
    profiles: tuple[str, ...]

    def __call__(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n, a) and which features each person can act on, (n, a). Raises: PreferencesError."""
        score, levels = self.draw(n, rng)
        if np.shape(score) != (n, self.a):
            raise PreferencesError(f"The law drew scores of shape {np.shape(score)}; give ({n}, {self.a}).")
        may = (score >= 1) & (score <= levels)
        hard = np.where(may, score - 1, 0) / max(levels - 1, 1)
        power = np.array([GAMMAS[name] for name in self.profiles])
        power = power[rng.integers(0, len(self.profiles), n)][:, None]
        return np.where(power == 0, 0.0, hard ** np.maximum(power, 1e-9)), may
