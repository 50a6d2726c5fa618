"""How likely what people can change is, given what they cannot, within each group of the accepted.

P(x_f | x'_I, group, accepted): x_f are the features that an act can move, x'_I those that never move, the group's own
attribute aside. Kinds: 'mixture', small mixture density networks; 'kernel', a conditional product kernel; 'flow',
the networks of the mixture with a conditional normalising flow for the numbers. Their product over the groups is high
where all groups have accepted people, which is what balanced recourse asks of a profile.

Numbers count as shares of their ranges, so that log-densities say nats for each such share; levels have probabilities.
A row's numbers never depend on the rows beside it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from wayforward.density.generative.coding import Coding
from wayforward.shapes import Floats, People, PerFeature, PerRow, RowMask, Rows
from wayforward.streams import Streams, keys_of

Kind = Literal["mixture", "kernel", "flow"]
Scale = Literal["mass", "relative", "absolute"]

_DRAWS = 512  # proposals that say how large the product gets, for each x'_I
_GRID = np.linspace(0.0, 1.0, 101)
_ROWS = 1 << 16  # proposals held at once where thresholds are made


class Densities(ABC):
    """One conditional density a group, fitted and frozen.

    names (g,) of the groups. given (d,) bool: x'_I. hidden (d,) bool: the group's own attribute, neither modelled nor
    shown. made (d,) bool: x_f. accepted (g,): people it was learnt from. seconds: what fitting took.
    """

    kind: ClassVar[str]

    def __init__(
        self, coding: Coding, names: tuple[str, ...], accepted: np.ndarray, span: PerFeature
    ) -> None:
        self.coding, self.schema, self.names, self.accepted = coding, coding.schema, names, accepted
        self.given, self.hidden, self.made = coding.given, coding.hidden, coding.made
        self.span = span
        self.seconds = 0.0
        # key of x'_I -> greatest log product, then quantiles under it
        self._known: dict[int, np.ndarray] = {}

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.names)

    @abstractmethod
    def log_density(self, rows: Rows) -> Floats:
        """(m, d) -> (m, g) log P(x_f | x'_I, group, accepted), x'_I as in the rows."""

    @abstractmethod
    def sample(self, x: People, s: int, streams: Streams, *, tag: int = 0) -> Floats:
        """(n, s, d): draws of x_f for each person's x'_I, an equal share from every group; the rest as in x.

        Draw i is of group i mod g. Numbers are neither rounded nor cut off at their bounds.
        """

    def log_product(self, rows: Rows) -> PerRow:
        """(m, d) -> (m,) log of the product of all groups' densities."""
        return np.asarray(self.log_density(rows).sum(1))

    def threshold(self, rows: Rows, beta: float, scale: Scale = "mass") -> PerRow:
        """(m, d) -> (m,) what the log product must exceed, for each row's x'_I.

        scale: 'absolute', log beta; 'relative', beta of the greatest product among proposals; 'mass', what a share
        1 - beta of the product's own mass exceeds.
        """
        if scale == "absolute":
            return np.full(len(rows), math.log(beta) if beta > 0 else -math.inf)
        if beta <= 0 and scale == "relative":
            return np.full(len(rows), -math.inf)
        table = self._tables(rows)
        if scale == "relative":
            return np.asarray(table[:, 0] + math.log(beta))
        place = min(max(beta, 0.0), 1.0) * (len(_GRID) - 1)
        low = min(int(place), len(_GRID) - 2)
        part = place - low
        return np.asarray(table[:, 1 + low] * (1 - part) + table[:, 2 + low] * part)

    def above(self, rows: Rows, beta: float, scale: Scale = "mass") -> RowMask:
        """(m, d) -> (m,) bool: the product exceeds the threshold."""
        if not len(rows):
            return np.zeros(0, dtype=bool)
        return np.asarray(self.log_product(rows) > self.threshold(rows, beta, scale))

    def _tables(self, rows: Rows) -> Floats:
        """(m, 102): greatest log product and its quantiles for each row's x'_I, from proposals that x'_I keys."""
        plain = np.where(self.given, rows, 0.0)
        keys = keys_of(plain, 0)
        new, first = np.unique(keys, return_index=True)
        ask = first[[int(key) not in self._known for key in new.tolist()]]
        size = max(1, _ROWS // _DRAWS)
        for begin in range(0, len(ask), size):
            some = ask[begin : begin + size]
            drawn = self.sample(rows[some], _DRAWS, Streams(keys[some], 0), tag=0xBE7A)
            log = self.log_density(drawn.reshape(-1, rows.shape[1])).reshape(len(some), _DRAWS, -1)
            product = log.sum(2)
            weight = np.exp(product - mixed(log) - (product - mixed(log)).max(1, keepdims=True))
            for key, value, heavy in zip(keys[some].tolist(), product, weight, strict=True):
                order = value.argsort(kind="stable")
                share = (heavy[order].cumsum() - 0.5 * heavy[order]) / heavy.sum()
                self._known[key] = np.r_[value.max(), np.interp(_GRID, share, value[order])]
        return np.stack([self._known[key] for key in keys.tolist()]) if len(rows) else np.zeros((0, 102))


def mixed(log: Floats) -> Floats:
    """(..., g) log-densities -> (...,) log of their mean, the density that proposals are drawn from."""
    top = log.max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(log - top).mean(-1)) + top[..., 0])


def jacobian(coding: Coding, rows: Rows, span: PerFeature) -> PerRow:
    """(m,) log-density of x_f in shares of the ranges, less its log-density in the scaled space."""
    s, of = coding.scales, coding.mean_of
    if not len(of):
        return np.zeros(len(rows))
    numbers = coding.numeric[of]
    value = rows[:, numbers]
    away = np.abs(value - s["origin"][of])
    unit = s["unit"][of]
    slope = np.log(span[numbers]) - np.log(s["spread"][of]) - np.log(np.where(unit > 0, unit + away, 1.0))
    return np.asarray(np.where(np.isnan(value), 0.0, slope).sum(1))


def unscale(coding: Coding, of: np.ndarray, scaled: Floats) -> Floats:
    """(..., p') scaled numbers of the ranks `of` -> feature units, beyond what was observed where they are."""
    s = {key: a[of] for key, a in coding.scales.items()}
    t = scaled * s["spread"] + s["centre"]
    bent = s["unit"] > 0
    away = np.sign(t) * np.expm1(np.minimum(np.abs(np.where(bent, t, 0.0)), 50.0)) * s["unit"] + s["origin"]
    return np.asarray(np.where(bent, away, t))
