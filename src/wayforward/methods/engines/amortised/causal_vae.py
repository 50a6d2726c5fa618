"""Train an autoencoder whose decoded rows are near, turn the decision, and keep causal constraints: the losses.

The networks of a generative model of people go on learning, on refused people alone: what they decode is projected on
what a person may do and led through the world before the decision sees it; constraints look at what the decoder says.

Source: D. Mahajan, C. Tan, A. Sharma (2019), Preserving Causal Constraints in Counterfactual Explanations for Machine
Learning Classifiers, arXiv:1912.03277.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.deadline import look
from wayforward.density.nets import Adam
from wayforward.errors import ProblemError, require

if TYPE_CHECKING:
    from wayforward.methods.engines.latent.search import BlockTensors, Latent, RelaxedRows
    from wayforward.problem import Population

_TOLERANCE = 1e-4  # ranges that single precision may take a value the wrong way
_LESSONS = 6  # times that a stand-in is taught about where people are sent
_MARGIN = 0.01  # ranges by which the penalties ask for a little more than the constraint


@dataclass(frozen=True)
class CausalVaeSettings:
    """Hyper-parameters of a training; `Mahajan` documents them."""

    epochs: int
    batch: int
    people: int
    rate: float
    margin: float
    weight: float
    kl: float
    unary: float
    binary: float
    causal: float
    seed: int


@dataclass(frozen=True)
class CausalVaeReport:
    """How a training went. turned: share of the training people whose whole decoded row turns the decision; wrong_way:
    share of decoded values of features with a direction that lie on the wrong side of the person's own."""

    epochs: int
    people: int
    turned: float
    wrong_way: float
    seconds: float


def hinge(score: Any, margin: float) -> Any:
    """Return what is missing to a margin in probability, p(yes) - p(no): 0 where, and only where, it is met.

    score (m,): log-odds beyond the boundary, a tensor.
    """
    torch = require("torch", extra="torch")
    return torch.relu(margin - torch.tanh(score / 2))


class CausalVae:
    """Losses on the rows that z decodes to. raises: (cause, effect, slope), positions of features and how much the
    effect must rise for each unit that the cause does."""

    def __init__(
        self, latent: Latent, settings: CausalVaeSettings, raises: Sequence[tuple[int, int, float]]
    ) -> None:
        self.torch, self.latent, self.settings = latent.torch, latent, settings
        self.raises, schema = tuple(raises), latent.schema
        self.place = {int(j): (True, i) for i, j in enumerate(latent.number)}
        self.place |= {int(j): (False, f) for f, j in enumerate(latent.level) if schema.ordered[j]}
        self.directed = [(j, float(schema.direction[j])) for j in self.place if schema.direction[j] != 0]
        made = np.concatenate([latent.number, latent.level]).astype(np.int64)
        effects = latent.problem.effects
        self.caused = [j for j in map(int, latent.number) if effects[made, j].any()]
        roots = np.zeros(schema.d, dtype=bool)
        roots[[j for j in map(int, latent.number) if j not in self.caused]] = True
        self.roots = latent.torch.as_tensor(roots, device=latent.device)

    def value(self, rows: RelaxedRows, j: int) -> Any:
        """Return the decoder's own value (m,) of an ordered feature, differentiable; of levels, the expected place."""
        number, i = self.place[j]
        if number:
            return rows.raw[:, i]
        share = rows.raw_share[:, i, : int(self.latent.known[i])]
        place = self.torch.arange(share.shape[1], dtype=share.dtype, device=share.device)
        return (share * place).sum(1) / share.sum(1).clamp(min=1e-9)

    def rise(self, block: BlockTensors, rows: RelaxedRows, j: int) -> Any:
        """Return by how many ranges the decoder raises a feature (m,), 0 where the person's value is missing; what is
        not decoded does not rise."""
        own = block.row[:, j]
        if j not in self.place:
            return self.torch.zeros_like(own)
        rise = (self.value(rows, j) - own) / float(self.latent.span[j])
        return self.torch.where(own.isnan(), self.torch.zeros_like(rise), rise)

    def unary(self, block: BlockTensors, rows: RelaxedRows) -> Any:
        """Return how far features with a direction go the other way (m,), in ranges, summed."""
        torch, total = self.torch, block.row.new_zeros(len(block.row))
        for j, sign in self.directed:
            number, i = self.place[j]
            if number:
                total = total + torch.relu(_MARGIN - sign * self.rise(block, rows, j))
                continue
            share = rows.raw_share[
                :, i, : int(self.latent.known[i])
            ]  # what lies on the wrong side, by how far
            place = torch.arange(share.shape[1], dtype=share.dtype, device=share.device)
            beyond = torch.relu(sign * (block.row[:, j, None] - place)) / float(self.latent.span[j])
            total = total + torch.nan_to_num((share * beyond).sum(1))
        return total

    def wrong_way(self, block: BlockTensors, rows: RelaxedRows) -> float:
        """Return the share of values of features with a direction that lie on the other side, rounded to their steps
        and to the likeliest level."""
        step = np.nan_to_num(self.latent.schema.step)
        shares = []
        for j, sign in self.directed:
            number, i = self.place[j]
            if number:
                little = max(_TOLERANCE, 0.5 * float(step[j] / self.latent.span[j]))
                shares.append(sign * self.rise(block, rows, j) < -little)
            else:
                likeliest = rows.raw_share[:, i, : int(self.latent.known[i])].argmax(1)
                shares.append(sign * (likeliest - block.row[:, j]) < 0)
        return float(self.torch.stack(shares).double().mean()) if shares else 0.0

    def binary(self, block: BlockTensors, rows: RelaxedRows) -> Any:
        """Return by how much effects rise less than their causes ask for (m,), in ranges, summed."""
        total = block.row.new_zeros(len(block.row))
        for u, v, slope in self.raises:
            unit = slope * float(self.latent.span[u] / self.latent.span[v])
            needed = unit * self.torch.relu(self.rise(block, rows, u))
            total = total + self.torch.relu(needed + _MARGIN * (needed > 0) - self.rise(block, rows, v))
        return total

    def proximity(self, block: BlockTensors, rows: RelaxedRows) -> Any:
        """Return the distance (m,) of rows, where what has causes is measured from what they lead to.

        For a feature that others move, |x'_v - f_v(pa(x'))| comes in the place of |x'_v - x_v|: in a world where
        nothing follows from anything both are the same.
        """
        latent, torch, away = self.latent, self.torch, rows.away
        if not self.caused or latent.descent is None:
            return away
        value = latent.with_numbers(block, rows)
        acted = block.acts & self.roots
        after = latent.descent.after(block.row, torch.where(acted, value, block.row), acted)
        for j in self.caused:
            i = self.place[j][1]
            led = after[:, j].to(away.dtype)
            led = torch.where(block.free[:, i], led, block.near[:, i])
            gap = (rows.number[:, i] - led).abs() - (rows.number[:, i] - block.near[:, i]).abs()
            away = away + self.settings.causal * gap * block.price[:, i]
        return away

    # -- training ------------------------------------------------------------------------------------------

    def train(self) -> CausalVaeReport:
        """Teach encoder and decoder of the latent space's generator, in place, and freeze them.

        Deterministic given the settings, on one machine. Raises: ProblemError without refused people who may act.
        """
        started, torch, settings, latent = time.perf_counter(), self.torch, self.settings, self.latent
        rng = np.random.default_rng([settings.seed, 0x3A4A])
        noise = torch.Generator().manual_seed(settings.seed * 2 + 1)
        people = self._people(rng)
        everybody, model = np.arange(people.n), latent.generator
        state = latent.start(people, everybody, people.free, 1.0)
        block = latent.still(people, state, everybody)
        parameters = [p for net in (model.encoder, model.decoder) for p in net.parameters]
        for parameter in parameters:
            parameter.requires_grad_(True)
        optimiser = Adam(parameters, settings.rate)
        stand_in = getattr(latent.descent, "stand_in", None)
        for epoch in range(settings.epochs):
            optimiser.rate = settings.rate * (0.05 + 0.475 * (1 + np.cos(np.pi * epoch / settings.epochs)))
            for part in torch.as_tensor(rng.permutation(people.n)).split(settings.batch):
                look()
                here = block.take(part)
                mean, spread = model.posterior(here.code)
                z = mean + (torch.randn(mean.shape, generator=noise).to(mean.device) * (0.5 * spread).exp())
                rows = latent.relaxed_rows(here, z.to(latent.device, latent.dtype))
                missing = hinge(latent.terms(here, rows).score, settings.margin)
                loss = self.proximity(here, rows) + settings.weight * missing
                loss = (
                    loss + settings.unary * self.unary(here, rows) + settings.binary * self.binary(here, rows)
                )
                kl = 0.5 * (mean.square() + spread.exp() - spread - 1).sum(1)
                optimiser.step(loss.mean() + settings.kl * kl.mean().to(loss.device))
            if stand_in is not None and (epoch + 1) % max(settings.epochs // _LESSONS, 1) == 0:
                stand_in.refresh(people.after(everybody, self._decoded(people, state.free)))
        for parameter in parameters:
            parameter.requires_grad_(False)
        return self._report(people, state.free, block, time.perf_counter() - started)

    def _people(self, rng: np.random.Generator) -> Population:
        """Return refused people of the table who may act."""
        problem = self.latent.problem
        refused = problem.require_reference()[~problem.reference_reached]
        refused = refused[rng.permutation(len(refused))[: self.settings.people]]
        people = problem.population(refused)
        can = np.flatnonzero(people.free.any(1)) if len(refused) else np.zeros(0, dtype=np.int64)
        if not can.size:
            raise ProblemError(
                "Nobody in the problem's table is refused and may act, so there is nobody to learn from. Check the "
                "target and the actionability, or give a table with people whom the model refuses."
            )
        return people.take(can)

    def _decoded(self, people: Population, free: np.ndarray) -> np.ndarray:
        everybody = np.arange(people.n)
        return self.latent.decoded(people, everybody, free, self.latent.encode(people.x))

    def _report(
        self, people: Population, free: np.ndarray, block: BlockTensors, seconds: float
    ) -> CausalVaeReport:
        latent, everybody = self.latent, np.arange(people.n)
        action = self._decoded(people, free)
        turned = people.reached(everybody, people.after(everybody, action))
        with self.torch.no_grad():
            z = latent.generator.posterior(block.code)[0]
            rows = latent.relaxed_rows(block, z.to(latent.device, latent.dtype))
            wrong = self.wrong_way(block, rows)
        return CausalVaeReport(self.settings.epochs, people.n, float(turned.mean()), wrong, seconds)
