"""One network that learns to recommend to everybody: a mask of features, then how far each of them moves.

All seeds are trained together, one tensor (S, B, .) a layer and one optimiser, because networks this small spend
their time in overhead. Every seed draws its own batches, noise and preferences from its own generator, so each ends
where it would end alone, up to float rounding.

Source: A. Majumdar, I. Valera (2024), CARMA, FAccT; Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.density.nets import Adam, Stack, bernoulli, kl_bernoulli
from wayforward.devices import device_of
from wayforward.errors import MethodError, ProblemError, require
from wayforward.methods.engines.amortised.torch_world import Effort, TorchWorld
from wayforward.methods.engines.gradient.relaxed import Relaxed
from wayforward.methods.engines.padding import padded_blocks
from wayforward.portable import Portable
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

Law = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
BLOCK = 256  # people in a tensor when answering: always as many, so that nobody's answer depends on the batch


@dataclass(frozen=True)
class AmortisedSettings:
    """Hyper-parameters of a training run; `Carma` and `ICarma` document them."""

    mask_layers: int = 3
    mask_width: int = 16
    action_layers: int = 3
    action_width: int = 32
    batch: int = 128
    epochs: int = 200
    rate: float = 0.005
    decay: float = 5e-4
    margin: float = 0.013
    tau: float = 0.36
    cost: float = 1.1
    kl: float = 1.0
    entropy: float = 1.0
    plausibility: float = 0.0
    feasibility: float = 0.1
    hinge: Literal["probability", "logit"] = "probability"
    damping: Literal["plus", "peer"] = "plus"
    implausible: Literal["hinge", "nll", "log"] = "hinge"
    likelier: float = 0.0
    reach: float = 1.0
    sees_values: bool = False
    cap: float = np.inf
    schedule: Literal["constant", "cosine"] = "constant"
    sees_preferences: bool = True
    prior_max: float = 0.5
    prior_min: float = 0.05


@dataclass(frozen=True)
class PeopleTensors:
    """Tensors of n people: x (n, d) without gaps, gone (n, d), u, z (n, d) latents, can (n, a), low, high (n, d)."""

    x: Any
    gone: Any
    u: Any
    z: Any
    can: Any
    low: Any
    high: Any
    density: Any  # (n,) log-density as they are, or None


class Amortised(Portable):
    """The two networks of S seeds, their training and their answers.

    law: n and a generator -> personal weights from 0 (easiest) to 1 (hardest), and which features a person can act
    on, both (n, a); None: nobody has wishes. weights: (a,) of the population (eq. 9), 1 for all if None. device: where
    both networks and the world are; None: where the model's network is.
    """

    def __init__(
        self,
        problem: Problem,
        settings: AmortisedSettings,
        seeds: Sequence[int],
        *,
        law: Law | None,
        weight_range: tuple[float, float] = (1.0, 10.0),
        weights: np.ndarray | None = None,
        prior: np.ndarray | None = None,
        stored: dict[str, Any] | None = None,
        device: str | None = None,
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.device = device_of(device, near=getattr(problem.model.network, "device", None))
        self.problem, self.settings, self.seeds, self.law = problem, settings, tuple(seeds), law
        self.dtype = torch.float32
        reference = problem.require_reference()
        self.refused = reference[~problem.reference_reached]
        if stored is None and not len(self.refused):
            raise ProblemError(
                "The model accepts everybody in the problem's table, so there is nobody to learn from. Check the "
                "target, or give a table with people whom the model refuses."
            )
        self.torch_world = TorchWorld(problem, self.refused, self.dtype, stored, device=self.device)
        self.act = self.torch_world.act
        self.a, self.d = len(self.act), problem.schema.d
        if not self.a:
            raise MethodError(
                "No actionable feature of the schema is a number or an ordered level, and amortised networks act on "
                "nothing else. Use local-search."
            )
        self.least, self.most = weight_range
        self.weights = np.ones(self.a) if weights is None else np.asarray(weights, dtype=np.float64)
        self.prior = (
            np.full(self.a, settings.prior_max) if prior is None else np.asarray(prior, dtype=np.float64)
        )
        self.has_density = bool(
            np.any(np.asarray(settings.plausibility) > 0)
        ) and self.torch_world.with_density(self.refused)
        extra = 2 * self.a if settings.sees_preferences else 0
        inputs = self.d * (2 if settings.sees_values else 1)
        wide = [settings.mask_width] * settings.mask_layers
        self.mask_sizes = (inputs + extra, *wide, 2 * self.a)
        wide = [settings.action_width] * settings.action_layers
        self.action_sizes = (inputs + self.a + (self.a if extra else 0), *wide, self.a)
        self.mask = Stack(self.seeds, self.mask_sizes, salt=1, device=self.device)
        self.action = Stack(self.seeds, self.action_sizes, salt=2, device=self.device)
        schema = problem.schema
        free = (schema.direction != 0) | schema.has_levels
        self.has_limits = bool(free[self.act].any())
        seen = reference[:, ~schema.is_categorical]
        low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
        self._numbers = torch.as_tensor(np.flatnonzero(~schema.is_categorical), device=self.device)
        span = np.where(high > low, high - low, 1.0)
        put = self.torch_world.rows
        self._low, self._high, self._span = put(low), put(high), put(span)
        self._weights, self._priors = put(self.weights), put(self.prior)
        self.effort = Effort(problem, self.act, reference, put)
        self._answering: tuple[Any, Stack, Stack] | None = None

    # -- people as tensors -----------------------------------------------------------------------------------

    def people(
        self, population: Population, torch_world: TorchWorld, *, density: bool = False
    ) -> PeopleTensors:
        """Make the tensors of a population; NaN latents (people whom the world does not know) become the mean."""
        torch, put = self.torch, torch_world.rows
        x = put(population.x)
        gone = torch.isnan(x)
        full = torch_world.filled(x)
        u = torch_world.abduct(full)
        z = self.inputs(torch_world, full, u)
        can = population.free & ~np.isnan(population.x)
        low = np.where(population.free, population.low, -np.inf)
        high = np.where(population.free, population.high, np.inf)
        before = None
        if density and torch_world.density is not None:
            before = torch_world.own_log_density(full, u)
        return PeopleTensors(
            full, gone, u, z, put(can[:, self.act]), put(np.nan_to_num(low, nan=-np.inf)),
            put(np.nan_to_num(high, nan=np.inf)), before,
        )  # fmt: skip

    def inputs(self, torch_world: TorchWorld, x: Any, u: Any) -> Any:
        """Turn people and latents (..., d) into what both networks see of them."""
        torch = self.torch
        z = torch_world.standard(u)
        if self.settings.sees_values:
            z = torch.cat([z, torch_world.standard_values(x)], dim=-1)
        return torch.where(torch.isfinite(z), z, torch.zeros_like(z))

    def decide(self, mask: Stack, z: Any, wish: Any, can: Any) -> Any:
        """Return log-odds (S, B, a) of acting on each feature; z (S, B, d), wish and can (S, B, a)."""
        torch = self.torch
        out = mask(torch.cat([z, wish, can], dim=2) if self.settings.sees_preferences else z)
        return out[..., self.a :] - out[..., : self.a]

    def shift(self, action: Stack, torch_world: TorchWorld, z: Any, wish: Any, acted: Any) -> Any:
        """Return how far each feature's latent moves (S, B, a), within the range of the training latents."""
        torch = self.torch
        parts = [z, acted, wish] if self.settings.sees_preferences else [z, acted]
        return torch_world.clamped(action(torch.cat(parts, dim=2)), self.settings.reach)

    # -- training ----------------------------------------------------------------------------------------------

    def start(self, rows: np.ndarray | None = None) -> None:
        """Prepare what training needs and answering does not; rows: of the refused people, to learn from."""
        torch, settings = self.torch, self.settings
        if rows is None:
            rows = np.arange(len(self.refused))
        population = self.problem.population(self.refused[rows])
        self.score = Relaxed(self.problem, self.dtype, seed=self.seeds[0], device=self.device)
        everyone = self.people(population, self.torch_world, density=self.has_density)
        known = torch.isfinite(everyone.u).all(1) & (everyone.can.sum(1) > 0)
        if everyone.density is not None:
            known &= torch.isfinite(everyone.density)
        some = torch.nonzero(known)[:, 0]
        if not len(some):
            raise ProblemError(
                "None of the refused people in the problem's table can act on anything, or the world knows none of "
                "them. Check the actionability of the schema and the world."
            )
        self.known = rows[some.cpu().numpy()]  # of the refused
        pick = [None if v is None else v[some] for v in vars(everyone).values()]
        self.train = PeopleTensors(*pick)
        self.n = len(some)
        self.multiplier = torch.zeros(len(self.seeds), dtype=self.dtype, device=self.device)
        parameters = [*self.mask.parameters, *self.action.parameters]
        self.optimiser = Adam(parameters, settings.rate, settings.decay)
        self.epoch = 0

    def draws(self, epoch: int) -> tuple[Any, Any, Any, Any]:
        """Draw one epoch: order (S, n), logistic noise (S, n, a), wishes and what one can act on (S, n, a)."""
        torch, n, a = self.torch, self.n, self.a
        order, noise, wish, may = [], [], [], []
        for seed in self.seeds:
            rng = generator(seed, epoch)
            order.append(rng.permutation(n))
            noise.append(rng.logistic(size=(n, a)))
            if self.law is not None:
                hard, free = self.law(n, rng)
                wish.append(hard)
                may.append(free)
        put, shape = self.torch_world.rows, (len(self.seeds), n, a)
        soft = put(np.stack(wish) if wish else np.zeros(shape))
        free = put(np.stack(may) if may else np.ones(shape))
        return torch.as_tensor(np.stack(order), device=self.device), put(np.stack(noise)), soft, free

    def run_epoch(self) -> np.ndarray:
        """Pass once over the refused people in training; return the mean hinge (S,) of the last batch."""
        torch, settings = self.torch, self.settings
        order, noise, wish, may = self.draws(self.epoch)
        if settings.schedule == "cosine":
            share = 0.02 + 0.98 * 0.5 * (1 + float(np.cos(np.pi * self.epoch / max(settings.epochs, 1))))
            self.optimiser.rate = settings.rate * share
        entropy = self._entropy()
        t = self.train
        mixed = [t.x[order], t.u[order], t.z[order], t.can[order] * may]
        limits = (t.low[order], t.high[order]) if self.has_limits else None
        gone = t.gone[order] if bool(t.gone.any()) else None
        before = None if t.density is None else t.density[order]
        hinge: Any = None
        for begin in range(0, self.n, settings.batch):
            part = slice(begin, min(begin + settings.batch, self.n))
            x, u, z, can = (v[:, part] for v in mixed)
            logit = self.decide(self.mask, z, wish[:, part], can)
            acted = bernoulli(logit, noise[:, part], settings.tau) * can
            move = self.shift(self.action, self.torch_world, z, wish[:, part], acted)
            free, density = self.torch_world.lead(x, u, move, acted)
            after = free
            if limits is not None:
                after = self.torch_world.limited(x, free, acted, limits[0][:, part], limits[1][:, part])
            judged = after if gone is None else torch.where(gone[:, part], torch.nan, after)
            hinge = self._hinge(self.score(judged.reshape(-1, self.d)).view(x.shape[:2]))
            weight = self._weights
            if self.law is not None:
                weight = weight * (self.least + (self.most - self.least) * wish[:, part])
            effort = self.effort(self.torch_world.of_acts(after - x), acted)
            effort = (effort * weight).sum(2).mean(1)
            kl = (kl_bernoulli(logit, self._prior(wish[:, part]), entropy) * can).sum(2).mean(1)
            outside = self._outside(free)
            if limits is not None:
                outside = outside + self._beyond(free, acted, limits[0][:, part], limits[1][:, part])
            loss = settings.cost * effort + settings.kl * kl + settings.feasibility * outside
            if density is not None and before is not None:
                loss = loss + settings.plausibility * self._implausible(before[:, part], density)
            still = hinge.detach()
            damped = (
                self.multiplier + 10 * still if settings.damping == "plus" else self.multiplier - 10 * still
            )
            loss = loss + damped * hinge
            self.optimiser.step(loss.sum())
            self.multiplier = (self.multiplier + still).clamp(max=settings.cap)
        self.epoch += 1
        return np.asarray(hinge.detach().cpu().numpy())

    def _entropy(self) -> float:
        """Return the weight of the masks' entropy; it falls from 1, as published, to its own in the first half."""
        left = max(0.0, 1 - 2 * self.epoch / self.settings.epochs)
        return self.settings.entropy + (1 - self.settings.entropy) * left

    def _hinge(self, score: Any) -> Any:
        torch, margin = self.torch, self.settings.margin
        if self.settings.hinge == "logit":
            return torch.relu(2 * margin - score).mean(1)
        return torch.relu(margin - torch.tanh(score / 2)).mean(1)

    def _prior(self, wish: Any) -> Any:
        if self.law is None:
            return self._priors
        return self.settings.prior_max - (self.settings.prior_max - self.settings.prior_min) * wish

    def _outside(self, after: Any) -> Any:
        """Return eq. 16, (S,): how far beyond the range of the reference, in ranges, summed over features."""
        torch = self.torch
        value = after.index_select(2, self._numbers)
        over = torch.relu(value - self._high) + torch.relu(self._low - value)
        return (over / self._span).sum(2).mean(1)

    def _beyond(self, after: Any, acted: Any, low: Any, high: Any) -> Any:
        """Return the same for each person's own limits, (S,), acted features only."""
        torch = self.torch
        value, low, high = (self.torch_world.of_acts(v) for v in (after, low, high))
        over = (torch.relu(value - high) + torch.relu(low - value)) / self.torch_world.act_scale
        return (torch.nan_to_num(over, posinf=0.0) * acted.detach()).sum(2).mean(1)

    def _implausible(self, before: Any, after: Any) -> Any:
        torch = self.torch
        known = torch.isfinite(after)
        if self.settings.implausible == "nll":
            return torch.where(known, -after, 0.0).mean(1)
        lost = torch.relu(before + self.settings.likelier - torch.where(known, after, before))
        return (torch.log1p(lost) if self.settings.implausible == "log" else lost).mean(1)

    # -- answers ---------------------------------------------------------------------------------------------------

    def state(self) -> list[Any]:
        """Copy all weights: mask network, then action network; (S, ...) each."""
        return [*self.mask.state(), *self.action.state()]

    def choose(self, state: Sequence[Any], place: int) -> None:
        """Answer with the networks of one seed of a state, in double precision."""
        torch, split = self.torch, 2 * (len(self.mask_sizes) - 1)
        mask = Stack.of(state[:split], self.mask_sizes, place, torch.float64, self.device)
        action = Stack.of(state[split:], self.action_sizes, place, torch.float64, self.device)
        measured = self.torch_world.stored()
        torch_world = TorchWorld(self.problem, self.refused, torch.float64, measured, device=self.device)
        self._answering = (torch_world, mask, action)

    @property
    def answering(self) -> tuple[TorchWorld, Stack, Stack]:
        """The world and the two networks that answer, after `choose`."""
        assert self._answering is not None
        return self._answering

    def answer(
        self,
        population: Population,
        wish: np.ndarray,
        may: np.ndarray,
        masks: np.ndarray | None = None,
        block: int = BLOCK,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the chance (n, a) to act and the values (n, a) set; wish (n, a), may (n, a) bool to act at all.

        Values are NaN where nothing is done. masks (n, a) bool: act on these, whatever the mask network says.
        Blocks have a fixed number of people, padded.
        """
        torch = self.torch
        torch_world, mask, action = self.answering
        put = torch_world.rows
        n, a = population.n, self.a
        chance, value = np.zeros((n, a)), np.full((n, a), np.nan)
        can = may & population.free[:, self.act] & ~np.isnan(population.x[:, self.act])
        most = population.max_changes
        latents = torch_world.latents(population.x)
        with torch.no_grad():
            for rows, pad in padded_blocks(n, block):
                x, u = torch_world.filled(put(population.x[pad])), put(latents[pad])
                z = self.inputs(torch_world, x, u)[None]
                soft, free = put(wish[pad])[None], put(can[pad])[None]
                odds = self.decide(mask, z, soft, free)
                if masks is None:
                    acted = _few(odds, (odds > 0) & (free > 0), most[pad], torch)
                else:
                    acted = torch.as_tensor(masks[pad] & can[pad], device=self.device)[None]
                hard = acted.to(torch.float64)
                after, _ = torch_world.lead(
                    x[None], u[None], self.shift(action, torch_world, z, soft, hard), hard
                )
                m = len(rows)
                chance[rows] = (odds.sigmoid() * free)[0, :m].cpu().numpy()
                value[rows] = torch.where(acted, after[..., self.act], torch.nan)[0, :m].cpu().numpy()
        return chance, value


def _few(odds: Any, acted: Any, most: np.ndarray, torch: Any) -> Any:
    """Drop all but the `most` likeliest acts of each person."""
    limit = torch.as_tensor(most, device=odds.device)[None, :, None]
    if bool((acted.sum(2, keepdim=True) <= limit).all()):
        return acted
    likely = torch.where(acted, odds, -torch.inf)
    order = torch.argsort(likely, dim=2, descending=True, stable=True)
    rank = torch.argsort(order, dim=2)
    return acted & (rank < limit)
