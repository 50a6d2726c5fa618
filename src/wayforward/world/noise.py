"""Distributions of the noise in a structural equation, each written as it is read: ``Gamma(10, 3.5)``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import RuleError, WorldError, did_you_mean
from wayforward.rules.arrays import Array, operations
from wayforward.rules.expression import number_text
from wayforward.rules.grammar import tokens_of
from wayforward.shapes import PerPerson


@dataclass(frozen=True)
class Noise(ABC):
    """One exogenous variable; discrete ones answer `log_density` with a log-probability.

    `log_density` takes arrays and torch tensors alike and is differentiable on tensors.
    """

    discrete: ClassVar[bool] = False

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) independent draws; by default from NumPy's law of the same name and parameters."""
        law = getattr(rng, type(self).__name__.lower())
        return np.asarray(law(*(getattr(self, field.name) for field in fields(self)), n))

    @abstractmethod
    def log_density(self, u: Array) -> Array:
        """(...) -> (...) in nats; -inf outside the support, NaN where u is NaN."""

    def __str__(self) -> str:
        values: list[float] = []
        for field in fields(self):
            value = getattr(self, field.name)
            values += list(value) if isinstance(value, tuple) else [value]
        return f"{type(self).__name__}({', '.join(map(number_text, values))})"

    def _check(self, holds: bool, need: str) -> None:
        if not holds:
            raise WorldError(f"{self} is no distribution: {need}.")


@dataclass(frozen=True)
class Normal(Noise):
    """Normal with a mean and a standard deviation (not a variance)."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        self._check(
            math.isfinite(self.mean) and 0 < self.sd < math.inf, "the standard deviation must be above 0"
        )

    def log_density(self, u: Array) -> Array:
        """Log of the normal density."""
        ops = operations(u)
        z = (ops.lift(u) - self.mean) / self.sd
        return ops.lift(-0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2 * math.pi))


@dataclass(frozen=True)
class Gamma(Noise):
    """Gamma with shape and scale: mean shape * scale."""

    shape: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._check(
            0 < self.shape < math.inf and 0 < self.scale < math.inf, "shape and scale must be above 0"
        )

    def log_density(self, u: Array) -> Array:
        """Log of the gamma density."""
        ops = operations(u)
        u = ops.lift(u)
        constant = math.lgamma(self.shape) + self.shape * math.log(self.scale)
        inside = ops.where(u > 0, u, 1.0)
        out = (self.shape - 1) * ops.log(inside) - inside / self.scale - constant
        return _within(u, u > 0, out)


@dataclass(frozen=True)
class Exponential(Noise):
    """Exponential with its mean."""

    mean: float = 1.0

    def __post_init__(self) -> None:
        self._check(0 < self.mean < math.inf, "the mean must be above 0")

    def log_density(self, u: Array) -> Array:
        """Log of the exponential density."""
        u = operations(u).lift(u)
        return _within(u, u >= 0, -u / self.mean - math.log(self.mean))


@dataclass(frozen=True)
class Laplace(Noise):
    """Laplace with location and scale."""

    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._check(math.isfinite(self.mean) and 0 < self.scale < math.inf, "the scale must be above 0")

    def log_density(self, u: Array) -> Array:
        """Log of the Laplace density."""
        ops = operations(u)
        return ops.lift(-ops.abs(ops.lift(u) - self.mean) / self.scale - math.log(2 * self.scale))


@dataclass(frozen=True)
class Uniform(Noise):
    """Uniform between two ends."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        self._check(-math.inf < self.low < self.high < math.inf, "the low end must be below the high end")

    def log_density(self, u: Array) -> Array:
        """Log of the uniform density."""
        u = operations(u).lift(u)
        return _within(u, (u >= self.low) & (u <= self.high), 0.0 * u - math.log(self.high - self.low))


@dataclass(frozen=True)
class Bernoulli(Noise):
    """1 with probability p, else 0."""

    p: float = 0.5
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check(0 <= self.p <= 1, "p must lie between 0 and 1")

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) draws."""
        return (rng.random(n) < self.p).astype(np.float64)

    def log_density(self, u: Array) -> Array:
        """Log-probability of 0 and 1."""
        return Categorical((1.0 - self.p, self.p)).log_density(u)


@dataclass(frozen=True)
class Categorical(Noise):
    """Level i with probability p_i: ``Categorical(0.2, 0.5, 0.3)`` in text."""

    probabilities: tuple[float, ...]
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", tuple(float(p) for p in self.probabilities))
        fine = len(self.probabilities) > 0 and all(p >= 0 for p in self.probabilities)
        self._check(fine and abs(sum(self.probabilities) - 1) < 1e-6, "the probabilities must add up to 1")

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) draws."""
        steps = np.cumsum(self.probabilities)[:-1]
        return np.searchsorted(steps, rng.random(n), side="right").astype(np.float64)

    def log_density(self, u: Array) -> Array:
        """Log-probability of each level."""
        ops = operations(u)
        u = ops.lift(u)
        out = _within(u, u != u, u)
        for level, p in enumerate(self.probabilities):
            out = ops.where(ops.abs(u - level) < 1e-6, math.log(p) if p > 0 else -math.inf, out)
        return out


@dataclass(frozen=True)
class Constant(Noise):
    """No noise at all: always the same value."""

    value: float = 0.0
    discrete: ClassVar[bool] = True

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) times the value."""
        return np.full(n, self.value)

    def log_density(self, u: Array) -> Array:
        """0 at the value (up to 1e-6 of its size), -inf elsewhere."""
        ops = operations(u)
        u = ops.lift(u)
        return _within(u, ops.abs(u - self.value) <= 1e-6 * max(1.0, abs(self.value)), 0.0 * u)


@dataclass(frozen=True)
class Mixture(Noise):
    """A mixture of normals: ``Mixture(0.5, -2, 1.2, 0.5, 1, 1)`` holds weight, mean and sd of each part."""

    parts: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        parts = tuple(tuple(float(value) for value in part) for part in self.parts)
        object.__setattr__(self, "parts", parts)
        fine = len(parts) > 0 and all(len(p) == 3 and all(map(math.isfinite, p)) for p in parts)
        self._check(
            fine and all(weight > 0 and sd > 0 for weight, _, sd in parts),
            "give weight, mean and standard deviation of each part, weights and deviations above 0",
        )
        self._check(abs(sum(weight for weight, _, _ in parts) - 1) < 1e-6, "the weights must add up to 1")

    def __str__(self) -> str:
        return f"Mixture({', '.join(number_text(value) for part in self.parts for value in part)})"

    def sample(self, rng: np.random.Generator, n: int) -> PerPerson:
        """(n,) draws."""
        weight, mean, sd = np.array(self.parts).T
        part = np.searchsorted(np.cumsum(weight)[:-1], rng.random(n), side="right")
        return np.asarray(rng.normal(mean[part], sd[part]))

    def log_density(self, u: Array) -> Array:
        """Log of the mixture's density."""
        ops = operations(u)
        logs = [math.log(weight) + Normal(mean, sd).log_density(u) for weight, mean, sd in self.parts]
        peak = logs[0]
        for one in logs[1:]:
            peak = ops.maximum(peak, one)
        return ops.lift(peak + ops.log(sum(ops.exp(one - peak) for one in logs)))


def _within(u: Array, inside: Array, log_density: Array) -> Array:
    """The log-density inside the support, -inf outside, NaN where u is NaN."""
    ops = operations(u)
    return ops.where(ops.isnan(u), math.nan, ops.where(inside, log_density, -math.inf))


KNOWN: dict[str, type[Noise]] = {
    cls.__name__: cls
    for cls in (Normal, Gamma, Exponential, Laplace, Uniform, Bernoulli, Categorical, Constant, Mixture)
}


def parse_noise(text: Any, node: str) -> Noise:
    """Read ``Name(number, ...)``, or pass a distribution through. Raises: WorldError that names the node."""
    if isinstance(text, Noise):
        return text
    where = f"The noise of '{node}' is {text!r:.80}"
    if not isinstance(text, str):
        raise WorldError(f"{where}, which is no distribution. Write it like 'Normal(0, 1)'.")
    try:
        tokens = tokens_of(text)
    except RuleError as error:
        raise WorldError(f"{where}, which cannot be read. Write it like 'Normal(0, 1)'.") from error
    words = [token.text for token in tokens[:-1]]
    if len(words) < 3 or words[1] != "(" or words[-1] != ")":
        raise WorldError(f"{where}, which cannot be read. Write it like 'Normal(0, 1)'.")
    if words[0] not in KNOWN:
        hint = did_you_mean(words[0], list(KNOWN)) or f" There are {', '.join(KNOWN)}."
        raise WorldError(f"{where}; there is no distribution '{words[0]}'.{hint}")
    numbers: list[float] = []
    sign, due = 1.0, True
    for token in tokens[2:-2]:
        if due and token.text in "+-" and token.kind == "symbol":
            sign = -sign if token.text == "-" else sign
        elif due and token.kind == "number":
            numbers.append(sign * float(token.text))
            sign, due = 1.0, False
        elif not due and token.text == ",":
            due = True
        else:
            raise WorldError(f"{where}; '{token.text}' is no number. Write it like 'Normal(0, 1)'.")
    kind = KNOWN[words[0]]
    if kind is Categorical:
        return Categorical(tuple(numbers))
    if kind is Mixture:
        if len(numbers) % 3:
            raise WorldError(f"{where}, but Mixture takes weight, mean, sd of each of its parts.")
        return Mixture(tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)))
    names = [field.name for field in fields(kind)]
    try:
        return kind(*numbers)
    except TypeError:
        raise WorldError(f"{where}, but {kind.__name__} takes {', '.join(names)}.") from None
