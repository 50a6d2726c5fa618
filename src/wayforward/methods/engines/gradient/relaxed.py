"""The decision as a differentiable score of raw rows, with a stand-in for models that have no gradients."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.density.nets import Adam
from wayforward.errors import require
from wayforward.methods.engines.gradient.descent import code_parts, score_of
from wayforward.portable import Portable
from wayforward.scaling import thinned
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Problem

_SOFT = 0.5  # variance of the soft nearest level, in steps; only its slope is used
_MOST_ROWS = 20_000  # rows that a stand-in is taught on at once
_MOST_BALANCED = 1000  # refused people around whom balance is learnt
_DRAWN = 4  # draws of each group's density for each of them


class Coder(Portable):
    """Encode rows (m, d) as a network reads them, differentiable in every value, ordered levels included.

    A value between two levels is a mix of the two; at a level itself the slope is that of a soft nearest level, so
    that a gradient knows what the next level would bring. Missing values have their own columns.
    """

    def __init__(self, blocks: Any, dtype: Any, device: Any = "cpu") -> None:
        self.torch = torch = require("torch", extra="torch")
        numeric, self.levels, columns = code_parts(blocks)
        sorted_ = (np.diff(columns) > 0).all()
        self._order = None if sorted_ else torch.as_tensor(np.argsort(columns), device=device)
        self._numeric = torch.tensor([b.feature for b in numeric], dtype=torch.int64, device=device)
        self._all = len(numeric) == len(blocks) and [b.feature for b in numeric] == list(range(len(blocks)))
        self._flagged = [i for i, b in enumerate(numeric) if b.missing is not None]
        self._offset = torch.tensor([b.offset for b in numeric], dtype=dtype, device=device)
        self._scale = torch.tensor([b.scale for b in numeric], dtype=dtype, device=device)
        self.dtype = dtype
        self.width = len(columns)

    def __call__(self, x: Any) -> Any:
        """Encode rows (m, d) as (m, e)."""
        torch = self.torch
        value = x if self._all else x.index_select(1, self._numeric)
        code = (value - self._offset) / self._scale
        parts = [code]
        if self._flagged:
            gone = torch.isnan(value)
            parts = [torch.where(gone, torch.zeros_like(code), code), gone[:, self._flagged].to(self.dtype)]
        parts += [self._level(x[:, b.feature], b) for b in self.levels]
        out = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return out if self._order is None else out.index_select(1, self._order)

    def _level(self, value: Any, block: Any) -> Any:
        torch, size = self.torch, block.columns.stop - block.columns.start
        if block.missing is not None:
            value = torch.where(torch.isnan(value), torch.full_like(value, size - 1.0), value)
        gap = value[:, None] - torch.arange(size, dtype=self.dtype, device=value.device)
        soft = torch.softmax(-gap.square() / (2 * _SOFT), dim=1)
        return torch.relu(1 - gap.abs()).detach() + soft - soft.detach()


class Relaxed(Portable):
    """Score rows (m, d) by how far the decision is turned, (m,), differentiable; above zero it is.

    Log-odds beyond the target's threshold; for a regression, the distance into the interval in units of the spread
    of the predictions. For a model without gradients the score is that of a `StandIn`. Where the problem asks for
    balance between groups, the lesser of this and of a `BalanceStandIn`'s score counts.
    """

    def __init__(self, problem: Problem, dtype: Any, *, seed: int = 0, device: Any = "cpu") -> None:
        self.torch = require("torch", extra="torch")
        self.problem, self.dtype = problem, dtype
        target = problem.bound_target
        self.favourable = [int(c) for c in target.columns]
        self.others = [c for c in range(target.n_classes) if c not in self.favourable]
        self.unit = 1.0
        if problem.target.interval is not None and problem.reference is not None:
            self.unit = max(float(np.std(problem.model.outputs(problem.reference))), 1e-9)
        self.stand_in: StandIn | None = None
        self.balance = _balance(problem, dtype, seed, device)
        network = trained_network(problem, dtype, device)
        if network is None:
            self.stand_in = StandIn(problem, dtype, unit=self.unit, seed=seed, device=device)
            return
        self.network = network
        self.code = Coder(network.blocks, dtype, device)

    def __call__(self, x: Any) -> Any:
        """Return the score (m,) of rows (m, d)."""
        score = self._decision(x)
        return score if self.balance is None else self.torch.minimum(score, self.balance(x))

    @property
    def learns(self) -> bool:
        """True if there is a stand-in that should learn about where people are sent."""
        return self.stand_in is not None or self.balance is not None

    def refresh(self, proposed: np.ndarray) -> None:
        """Teach stand-ins about rows (m, d) where people are sent."""
        for one in (self.stand_in, self.balance):
            if one is not None:
                one.refresh(proposed)

    def _decision(self, x: Any) -> Any:
        if self.stand_in is not None:
            return self.stand_in(x)
        code = self.code(x)
        logits = self.network.logits(code.to(self.network.device, self.network.dtype))
        score = score_of(self.problem.bound_target, logits, self.favourable, self.others, self.unit)
        return score.to(x.device, self.dtype)


def trained_network(problem: Problem, dtype: Any, device: Any) -> Any:
    """Return the model's network, here in this precision where its weights are known, else as it is; None without."""
    form = problem.model.dense
    if form is not None:
        from wayforward.model.network import dense_network

        return dense_network(form, device=device, dtype=dtype)
    return problem.model.network


class StandIn(Portable):
    """A small network taught to answer as the model does, where people are and where they are sent.

    It guides training only; the judge asks the model itself. Rows to learn from: the reference, the reference with
    some values of other people (accepted ones where there are), and, after `refresh`, rows that were proposed.
    """

    def __init__(
        self, problem: Problem, dtype: Any, *, unit: float, seed: int, width: int = 64, epochs: int = 30,
        device: Any = "cpu",
    ) -> None:  # fmt: skip
        self.torch, self.device = require("torch", extra="torch"), device
        torch = self.torch
        self.problem, self.unit, self.dtype, self.epochs = problem, unit, dtype, epochs
        self.rng = np.random.default_rng([seed, 11])
        reference = problem.require_reference()
        self.blocks = _plain_blocks(problem)
        self.code = Coder(self.blocks, dtype, device)
        generator = torch.Generator().manual_seed(seed)
        sizes = (self.code.width, width, width, 1)
        self.parameters: list[Any] = []
        for wide, out in pairwise(sizes):
            far = (6.0 / (wide + out)) ** 0.5
            weight = (torch.rand(wide, out, generator=generator, dtype=dtype) * 2 - 1) * far
            self.parameters += [
                weight.to(device).requires_grad_(True),
                torch.zeros(out, dtype=dtype, device=device, requires_grad=True),
            ]
        self.optimiser = Adam(self.parameters, 3e-3)
        self.rows = np.empty((0, reference.shape[1]))
        self.answers = np.empty(0)
        self._add(self._first(reference))
        self._teach(epochs)

    def __call__(self, x: Any) -> Any:
        """Return the score (m,) of rows (m, d)."""
        return self.logits(self.code(x))[:, 0]

    def logits(self, code: Any) -> Any:
        """Return the score (m, 1) of encoded rows (m, e)."""
        torch, out = self.torch, code
        for i in range(0, len(self.parameters), 2):
            out = out @ self.parameters[i] + self.parameters[i + 1]
            if i + 2 < len(self.parameters):
                out = torch.nn.functional.silu(out)
        return out

    def _first(self, reference: np.ndarray) -> np.ndarray:
        return np.concatenate([reference, self._mixed(reference, 2)])

    def refresh(self, proposed: np.ndarray) -> None:
        """Learn the model's answers at rows (m, d) where people are sent, and around them."""
        rows = proposed[np.isfinite(proposed).any(1)][:_MOST_ROWS]
        if len(rows):
            self._add(np.concatenate([rows, self._mixed(rows, 1)]))
            self._teach(max(self.epochs // 3, 1))

    def _mixed(self, rows: np.ndarray, times: int) -> np.ndarray:
        """Mix each row, `times` times, with about half of the actionable values of somebody whom the model accepts."""
        problem = self.problem
        givers = (
            problem.reference_accepted if problem.reference_reached.any() else problem.require_reference()
        )
        out = np.repeat(rows, times, axis=0)
        other = givers[self.rng.integers(0, len(givers), len(out))]
        moved = problem.descendants.any(0) | problem.schema.actionable
        take = (self.rng.random(out.shape) < 0.5) & moved
        share = self.rng.random((len(out), 1))
        between = np.where(problem.schema.has_levels, other, out + share * (other - out))
        return np.asarray(problem.schema.snap(np.where(take, between, out)))

    def _add(self, rows: np.ndarray) -> None:
        self.rows = np.concatenate([self.rows, rows])[-3 * _MOST_ROWS :]
        self.answers = np.concatenate([self.answers, self._answer(rows)])[-3 * _MOST_ROWS :]

    def _answer(self, rows: np.ndarray) -> np.ndarray:
        score = self.problem.bound_target.score(self.problem.model.outputs(rows)) / self.unit
        return np.asarray(1 / (1 + np.exp(-np.clip(score, -6, 6))))

    def _loss(self, score: Any, answer: Any) -> Any:
        return self.torch.nn.functional.binary_cross_entropy_with_logits(score, answer)

    def _teach(self, epochs: int) -> None:
        torch = self.torch
        x, y = (
            torch.as_tensor(array, dtype=self.dtype, device=self.device)
            for array in (self.rows, self.answers)
        )
        size = 256
        for _ in range(epochs):
            order = torch.as_tensor(self.rng.permutation(len(x)), device=self.device)
            for part in order.split(size):
                self.optimiser.step(self._loss(self(x[part]), y[part]))


class BalanceStandIn(StandIn):
    """A small network taught how balanced a row is: the nats above what `Balanced` asks, as sign * log(1 + nats).

    The logarithm keeps a slope where people are far from any balanced place. It learns around refused people, and at
    draws of the groups' densities, which is where balanced places are. It guides training only.
    """

    def _first(self, reference: np.ndarray) -> np.ndarray:
        problem, seed = self.problem, int(self.rng.integers(2**31))
        refused = reference[~problem.reference_reached]
        some = refused[thinned(len(refused), _MOST_BALANCED, seed)]
        drawn = self._fitted.sample(some, _DRAWN * self._fitted.n_groups, Streams.of(some, seed), tag=0xBA1A)
        drawn = problem.schema.snap(drawn.reshape(-1, reference.shape[1]))
        return np.concatenate([some, self._mixed(some, 4), drawn, self._mixed(drawn, 1)])

    def refresh(self, proposed: np.ndarray) -> None:
        """See `StandIn.refresh`; at some of the rows."""
        super().refresh(proposed[thinned(len(proposed), 3 * _MOST_BALANCED, int(self.rng.integers(2**31)))])

    @property
    def _condition(self) -> Any:
        return self.problem.plausibility

    @property
    def _fitted(self) -> Any:
        return self._condition.densities

    def _answer(self, rows: np.ndarray) -> np.ndarray:
        above = np.nan_to_num(self._condition.score(rows), nan=-1e3, neginf=-1e3, posinf=1e3)
        return np.asarray(np.sign(above) * np.log1p(np.abs(above)))

    def _loss(self, score: Any, answer: Any) -> Any:
        return self.torch.nn.functional.smooth_l1_loss(score, answer)


def _balance(problem: Problem, dtype: Any, seed: int, device: Any) -> BalanceStandIn | None:
    if problem.plausibility is None or problem.plausibility.densities is None:
        return None
    return BalanceStandIn(problem, dtype, unit=1.0, seed=seed, device=device)


def _plain_blocks(problem: Problem) -> list[Any]:
    """Lay out a stand-in's code: numbers standardised by the reference, levels one-hot, flags of missing values."""
    from wayforward.model.forms import Block

    schema, reference = problem.schema, problem.require_reference()
    blocks, at = [], 0
    for j in range(schema.d):
        gone = bool(schema.missing[j])
        size = (int(schema.n_levels[j]) if schema.has_levels[j] else 1) + gone
        missing = at + size - 1 if gone else None
        seen = reference[:, j][~np.isnan(reference[:, j])]
        if schema.has_levels[j]:
            blocks.append(Block(j, slice(at, at + size), "levels", missing=missing))
        else:
            mean, std = (float(seen.mean()), float(seen.std())) if len(seen) else (0.0, 1.0)
            blocks.append(Block(j, slice(at, at + size), "numeric", mean, std or 1.0, missing))
        at += size
    return blocks
