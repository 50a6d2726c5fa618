"""A change of the outcome itself, and not of the model's score alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import ProblemError, did_you_mean, is_number, is_one_of
from wayforward.language import gettext, in_english, marks, one_line
from wayforward.problem.over_draws import mean as mean_over_draws
from wayforward.problem.robust.base import Robust
from wayforward.public import public
from wayforward.rules.arrays import operations
from wayforward.shapes import Floats
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.world.equation import Equation
    from wayforward.world.noise import Noise
    from wayforward.world.scm import SCM

_POINTS, _WIDE, _DRAWS, _CELLS = 400, 7.0, 50, 1 << 20
_TINY = 1e-12


@public
@dataclass(frozen=True, eq=False)
class Improvement(Robust):
    """The outcome that the model predicts is good with probability `share` or more once the action is carried out.

    A model's score can be raised without the outcome: by acting on what the outcome causes, or on what only goes with
    it. Here the outcome has its own equation, ``y = f(causes, u)``, good where y is above `level`, and an option must
    make that likely, besides turning the decision. So the score is not gamed, and a decision that is trained again on
    outcomes has no reason to turn back.

    mechanism: a `SCM` with the equation of `outcome`, which is no feature, and of every feature that it causes; each
    of these with its noise. Other nodes are left to the world of the problem, which must agree with it. kind:
    'individual', what is known of the noise u of this very person from the effects that they show counts;
    'sub-population', u is that of anybody. `measure`: the probability.

    Example::

        mechanism = SCM({"income": "u", "pays": "0.002 * income - 4 + u"}, noise={"pays": "Normal(0, 1)"})
        Problem(schema, model, target, robust=Improvement(mechanism, "pays", share=0.8))

    Raises: ProblemError for an outcome without an equation or noise, causes that are no features, a share of 0 or 1.
    Source: G. Koenig, T. Freiesleben & M. Grosse-Wentrup (2023), Improvement-Focused Causal Recourse (ICR), AAAI,
    arXiv:2210.15709: share is their gamma.
    """

    name: ClassVar[str] = "improvement"

    mechanism: SCM
    outcome: str
    share: float = 0.8
    level: float = 0.0
    kind: Literal["individual", "sub-population"] = "individual"
    _columns: tuple[int, ...] = field(default=(), init=False, repr=False)  # of each node; -1: the outcome
    _equation: Equation | None = field(default=None, init=False, repr=False)
    _effects: tuple[tuple[int, Equation, Noise], ...] = field(default=(), init=False, repr=False)
    _prior: tuple[Floats, Floats] = field(default=(np.empty(0),) * 2, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (is_number(self.share) and 0 < self.share < 1):
            raise ProblemError(f"share={self.share!r} is no probability between 0 and 1, such as 0.8.")
        if not is_one_of(self.kind, ("individual", "sub-population")):
            raise ProblemError(f"kind={self.kind!r} is not known. Use 'individual' or 'sub-population'.")
        names = getattr(self.mechanism, "names", ())
        if self.outcome not in names:
            raise ProblemError(
                f"The mechanism has no equation for '{self.outcome}'. Give SCM({{'{self.outcome}': '...'}})."
                + did_you_mean(str(self.outcome), list(names))
            )

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        from wayforward.world.equation import with_levels

        schema, scm = problem.schema, self.mechanism
        at = scm.names.index(self.outcome)
        if self.outcome in schema.names:
            raise ProblemError(
                f"'{self.outcome}' is a feature of the schema; nobody knows the outcome when the model decides. Leave "
                "it out of the schema, or name another."
            )
        used = [j for j, equation in enumerate(scm.equations) if j == at or at in equation.parents]
        known = set(used) | {parent for j in used for parent in scm.equations[j].parents}
        columns = [-1] * scm.d
        for j in sorted(known - {at}):
            if scm.names[j] not in schema.names:
                hint = did_you_mean(scm.names[j], schema.names)
                raise ProblemError(f"The mechanism has '{scm.names[j]}', which is no feature.{hint}")
            columns[j] = schema.index(scm.names[j])
        for j in used:
            if scm.names[j] not in scm.noise:
                raise ProblemError(
                    f"The noise of '{scm.names[j]}' has no law. Give noise={{'{scm.names[j]}': 'Normal(0, 1)'}}."
                )
        return self.with_state(
            _columns=tuple(columns),
            _equation=with_levels(scm.equations[at], schema),
            _effects=tuple(
                (j, with_levels(scm.equations[j], schema), scm.noise[scm.names[j]]) for j in used if j != at
            ),
            _prior=_grid(scm.noise[self.outcome]),
        )

    def chance(self, before: Floats, after: Floats) -> Floats:
        """(m, d) people, (m, d) where they lead -> (m,) chance that the outcome is good; NaN: causes are missing."""
        out = np.empty(len(after))
        for start in range(0, len(after), _CELLS // _POINTS):
            part = slice(start, start + _CELLS // _POINTS)
            out[part] = self._chance(before[part], after[part])
        return out

    def _chance(self, before: Floats, after: Floats) -> Floats:
        assert self._equation is not None
        u, weight = (np.broadcast_to(one, (len(after), one.shape[-1])) for one in self._prior)
        if self._effects and self.kind == "individual":
            own = self._posterior(before, u, weight)
            middle = (own * u).sum(1, keepdims=True)
            width = np.sqrt((own * (u - middle) ** 2).sum(1, keepdims=True))
            noise = self.mechanism.noise[self.outcome]
            if not noise.discrete and np.ptp(u) > 0:  # look again where this person's noise is likely
                width = np.maximum(width, np.abs(np.diff(u, axis=1)).min(1, keepdims=True))
                u = middle + np.linspace(-_WIDE, _WIDE, _POINTS) * width
                with np.errstate(all="ignore"):
                    weight = np.nan_to_num(np.exp(noise.log_density(u)), nan=0.0, posinf=0.0)
                own = self._posterior(before, u, weight)
            weight = own
        y = self._value(after, u) - self.level
        return np.where(np.isnan(y).any(1), np.nan, (weight * _share_above(y)).sum(1) / weight.sum(1))

    def _value(self, x: Floats, u: Floats) -> Floats:
        """(m, d) people and (m, q) noises -> (m, q) outcomes."""
        assert self._equation is not None
        values = [x[:, [j]] if j >= 0 else np.empty(0) for j in self._columns]
        with np.errstate(all="ignore"):
            return np.asarray(self._equation.value(values, u, operations(u)) + np.zeros(u.shape))

    def _posterior(self, x: Floats, u: Floats, weight: Floats) -> Floats:
        """(m, q) weight of each noise u (m, q), given what people x (m, d) show of its effects; rows add up to 1."""
        y, log = self._value(x, u), np.log(np.maximum(weight, 1e-300))
        values = [x[:, [j]] if j >= 0 else y for j in self._columns]
        for node, equation, noise in self._effects:
            shown = x[:, [self._columns[node]]]
            with np.errstate(all="ignore"):
                own, slope = equation.noise(values, shown + np.zeros(u.shape), operations(u))
                likely = np.asarray(noise.log_density(own) + slope)
            log = log + np.where(np.isnan(shown) | np.isnan(likely), 0.0, likely)
        log = log - log.max(1, keepdims=True)
        made = np.where(np.isfinite(log), np.exp(log), 0.0)
        return np.asarray(made / made.sum(1, keepdims=True))

    def _probability(self, problem: Problem, before: Floats, action: Floats | None, after: Floats) -> Floats:
        """(m,) over what may follow, in a world that is uncertain; NaN counts as no chance."""
        if action is None or not problem.world.uncertain or not len(after):
            return np.asarray(np.nan_to_num(self.chance(before, after), nan=0.0))
        keys = keys_of(np.concatenate([before, action], axis=1), 0)
        drawn = problem.standing(before, problem.drawn(before, action, _DRAWS, keys))
        every = self.chance(np.tile(before, (_DRAWS, 1)), drawn.reshape(-1, drawn.shape[-1]))
        return mean_over_draws(np.nan_to_num(every, nan=0.0).reshape(_DRAWS, -1))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`; in log-odds of the outcome."""
        p = np.clip(self._probability(people.problem, people.x[who], action, after), _TINY, 1 - _TINY)
        lead = np.log(p / (1 - p)) - np.log(self.share / (1 - self.share))
        return np.asarray(np.minimum(plain, lead))

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= self.share)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) probability that the outcome is good."""
        return self._probability(problem, before, action, after)

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext(
            "with probability {share} or more '{name}' itself becomes good, not only the score",
            share=marks(f"{self.share:g}"), name=one_line(self.outcome),
        )  # fmt: skip


def _grid(noise: Noise) -> tuple[Floats, Floats]:
    """Points (q,) of a noise in order and the probability of each: its values, or cells between even quantiles."""
    drawn = np.sort(noise.sample(np.random.default_rng(0), 4096))
    values = np.unique(drawn)
    if noise.discrete or len(values) == 1:
        weight = np.exp(np.asarray(noise.log_density(values))) if noise.discrete else np.ones(1)
        return values, weight / weight.sum()
    room = values[-1] - values[0]
    fine = np.linspace(values[0] - room, values[-1] + room, 200_001)
    with np.errstate(all="ignore"):
        density = np.nan_to_num(np.exp(np.asarray(noise.log_density(fine))), nan=0.0, posinf=0.0)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    rising = np.concatenate([[True], np.diff(below) > 0])
    at = np.interp((np.arange(_POINTS) + 0.5) / _POINTS, below[rising] / below[-1], fine[rising])
    return at, np.full(_POINTS, 1 / _POINTS)


def _share_above(y: Floats) -> Floats:
    """(m, q) values along a grid -> (m, q) how much of each point's cell lies above zero."""
    if y.shape[1] < 3:
        return np.asarray(y > 0, dtype=np.float64)
    middle = (y[:, 1:] + y[:, :-1]) / 2
    low = np.concatenate([2 * y[:, :1] - middle[:, :1], middle], axis=1)
    high = np.concatenate([middle, 2 * y[:, -1:] - middle[:, -1:]], axis=1)
    width = np.abs(high - low)
    part = np.maximum(low, high) / np.where(width > 0, width, 1.0)
    return np.where(width > 0, np.clip(part, 0.0, 1.0), y > 0)
