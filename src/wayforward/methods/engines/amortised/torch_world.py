"""A problem's world and cost on tensors, as an amortised method learns in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import WorldError, require
from wayforward.portable import Portable
from wayforward.shapes import Points, Rows

if TYPE_CHECKING:
    from wayforward.problem import Problem


class TorchWorld(Portable):
    """Where shifts of the causal latents lead, in one precision.

    A shift is measured in standard deviations of the latents of the refused reference people. In a world with
    latents (`abduct_torch`, `predict_torch`) acting on feature j adds to its latent and what follows comes out of
    the prediction; that is the same as do() with the value that comes out. In other worlds the "latents" are the
    people themselves, values are proposed directly and sent through `consequences_torch`.

    act: (a,) positions of the features that may be acted on. mean, std: (d,) of the latents; low, high: (d,) of the
    standardised latents, rounded outwards. Missing values stay missing and count as the mean meanwhile.
    """

    def __init__(
        self,
        problem: Problem,
        x: Rows,
        dtype: Any,
        stored: dict[str, Any] | None = None,
        *,
        device: Any = "cpu",
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.problem, self.schema, self.dtype, self.d = problem, problem.schema, dtype, problem.schema.d
        self.device = device
        schema = problem.schema
        self.act = np.flatnonzero(schema.actionable & ~schema.is_categorical)
        self.world: Any = problem.world
        self.links = bool(schema.rules and schema.compiled_rules.links)
        self.latent = self._offers_latents(x)
        self.sets_values = not self.latent and not problem.independent
        self.leads_quickly = self.latent and self.world.leads
        self.moving = problem.descendants[self.act].any(0) | np.isin(np.arange(self.d), self.act)
        self.density: Any = None
        self.leads_with_density = False
        if stored is None:
            known = [column[~np.isnan(column)] for column in x.T]
            self.centre = np.array([column.mean() if len(column) else 0.0 for column in known])
            spread = np.array([column.std() if len(column) else 0.0 for column in known])
            self.spread = np.where(spread > 1e-9 * np.maximum(1.0, np.abs(self.centre)), spread, 1.0)
        else:
            self.centre, self.spread = (np.asarray(stored[name]) for name in ("centre", "spread"))
        self._centre, self._spread = self.rows(self.centre), self.rows(self.spread)
        self._act = torch.as_tensor(self.act, device=device)
        if stored is None:
            u = self.abduct(self.rows(x)).double().cpu().numpy()
            u = u[np.isfinite(u).all(1)]
            self.mean, self.std = u.mean(0), u.std(0)
            self.std = np.where(self.std > 1e-9 * np.maximum(1.0, np.abs(self.mean)), self.std, 1.0)
            z = (u - self.mean) / self.std
            self.low, self.high = np.floor(z.min(0)), np.ceil(z.max(0))
        else:
            self.mean, self.std, self.low, self.high = (
                np.asarray(stored[name], dtype=np.float64) for name in ("mean", "std", "low", "high")
            )
        self._mean, self._std = self.rows(self.mean), self.rows(self.std)
        self.act_scale = self._std[self._act]  # (a,) standard deviations of the latents that may be acted on
        self._low, self._high = self.rows(self.low[self.act]), self.rows(self.high[self.act])

    def rows(self, array: np.ndarray) -> Any:
        """Copy an array to a tensor of this precision on this device."""
        return self.torch.tensor(np.ascontiguousarray(array), dtype=self.dtype, device=self.device)

    def stored(self) -> dict[str, Any]:
        """Return what was measured on the reference, for a file."""
        return {
            name: getattr(self, name).tolist() for name in ("centre", "spread", "mean", "std", "low", "high")
        }

    def _offers_latents(self, x: Rows) -> bool:
        if self.problem.independent:
            return False
        row = self.rows(x[:1])
        try:
            self.world.predict_torch(self.world.abduct_torch(row))
        except WorldError:
            return False
        return True

    def with_density(self, x: Rows) -> bool:
        """Look for log-densities of this world on tensors; False where it has none."""
        plausibility = self.problem.plausibility
        bound = None if plausibility is None else plausibility.likelihood_bound
        world = self.world if bound is None else bound[0]
        try:
            some = world.log_density_torch(self.rows(x[:8]))
        except (WorldError, AttributeError):
            return False
        if not bool(self.torch.isfinite(some).any()):
            return False
        self.density = world
        self.leads_with_density = self.leads_quickly and world is self.world
        return True

    def own_log_density(self, x: Any, u: Any) -> Any:
        """Return the log-density (...) of people as they are, counted as `lead` counts it."""
        if self.leads_with_density:
            return self.world.lead_torch(x, u, self.moving)[1].detach()
        return self.density.log_density_torch(x).to(self.dtype).detach()

    # -- there and back ------------------------------------------------------------------------------------

    def filled(self, x: Any) -> Any:
        """Fill missing values of rows (..., d) with the mean."""
        torch = self.torch
        return torch.where(torch.isnan(x), self._centre, x)

    def abduct(self, x: Any) -> Any:
        """Return the latents of people (..., d); the people themselves where the world has none."""
        x = self.filled(x)
        return self.world.abduct_torch(x).to(self.dtype) if self.latent else x

    def latents(self, x: Points) -> Points:
        """Abduct arrays (n, d), where a row never depends on the others."""
        full = np.where(np.isnan(x), self.centre, x)
        return np.asarray(self.world.abduct(full), dtype=np.float64) if self.latent else full

    def standard(self, u: Any) -> Any:
        """Standardise latents (..., d)."""
        return (u - self._mean) / self._std

    def standard_values(self, x: Any) -> Any:
        """Standardise values (..., d)."""
        return (x - self._centre) / self._spread

    def clamped(self, shift: Any, reach: float) -> Any:
        """Clamp shifts (..., a) to so many times the range of the training latents."""
        return one_sided_clamp(self.torch)(shift, reach * self._low, reach * self._high)

    def moved(self, u: Any, shift: Any, acted: Any) -> Any:
        """Shift latents (..., d) by (..., a) where `acted` (..., a), 0 or 1."""
        return u.index_add(-1, self._act, shift * acted * self.act_scale)

    def of_acts(self, values: Any) -> Any:
        """Select what may be acted on: (..., d) -> (..., a)."""
        return values.index_select(-1, self._act)

    def _acted(self, x: Any, acted: Any) -> Any:
        """Mark acted features: (..., a) of 0 and 1 -> (..., d) bool."""
        hard = self.torch.zeros(x.shape, dtype=self.torch.bool, device=x.device)
        hard[..., self._act] = acted.detach() > 0.5
        return hard

    def lead(self, x: Any, u: Any, shift: Any, acted: Any) -> tuple[Any, Any]:
        """Lead shifts through the world: after (..., d), and its log-density (...) or None. Differentiable.

        x, u: (..., d) people (no missing value) and their latents; shift, acted: (..., a).
        """
        there = self.moved(u, shift, acted)
        if self.leads_with_density:
            after, density = self.world.lead_torch(x, there, self.moving)
            return self._somewhere(x, after), density
        if self.leads_quickly:
            after = self.world.lead_torch(x, there, self.moving, density=False)[0]
        elif self.latent:
            after = self.world.predict_torch(there).to(self.dtype)
        elif self.sets_values:
            after = self._set_values(x, there, acted)
        else:
            after = there
        after = self._somewhere(x, after)
        if self.links:
            after = self.schema.compiled_rules.drag(x, after, self._acted(x, acted))
        density = None if self.density is None else self.density.log_density_torch(after).to(self.dtype)
        return after, density

    def _somewhere(self, x: Any, after: Any) -> Any:
        """Leave people where they are whose acts lead nowhere: no option, and no gradient."""
        return self.torch.where(self.torch.isfinite(after).all(-1, keepdim=True), after, x)

    def _set_values(self, x: Any, there: Any, acted: Any) -> Any:
        """Set values directly; what is not acted on also learns what acting on it a little would do."""
        torch, hard = self.torch, self._acted(x, acted)
        after = self._somewhere(x, self.world.consequences_torch(x, there, hard))
        every = torch.zeros(x.shape, dtype=torch.bool, device=x.device)
        every[..., self._act] = True
        free = every & ~hard
        value = torch.where(free, after.detach() + there - there.detach(), after.detach())
        beside = self._somewhere(x, self.world.consequences_torch(x, value, every))
        return (after + beside - beside.detach()).to(self.dtype)

    def limited(self, x: Any, after: Any, acted: Any, low: Any, high: Any) -> Any:
        """Clip acted values of after (..., d) to low and high (..., d); gradients pass straight through."""
        torch = self.torch
        value, hard = torch.minimum(torch.maximum(after.detach(), low), high), self._acted(x, acted)
        if not bool(((value != after.detach()) & hard).any()):
            return after
        if self.problem.independent:
            clipped = torch.where(hard, value, after.detach())
        else:
            clipped = (
                self._somewhere(x, self.world.consequences_torch(x, value, hard)).to(self.dtype).detach()
            )
        return clipped + after - after.detach()


@lru_cache(maxsize=1)
def one_sided_clamp(torch: Any) -> Any:
    """Return a clamp (value, low, high) that stops only the gradients which push further outside.

    A plain clamp stops all of them, so that a network whose output once left the range never comes back.
    """

    class OneSidedClamp(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, value: Any, low: Any, high: Any) -> Any:
            ctx.save_for_backward(value < low, value > high)
            return torch.minimum(torch.maximum(value, low), high)

        @staticmethod
        def backward(ctx: Any, slope: Any) -> Any:
            under, over = ctx.saved_tensors
            # descent moves against the slope
            stop = (under & (slope > 0)) | (over & (slope < 0))
            return torch.where(stop, torch.zeros_like(slope), slope), None, None

    return OneSidedClamp.apply


class Effort:
    """The problem's cost of acted features on tensors: (..., a) parts, before personal weights.

    Squared shifts and mixes of L0, L1 and squared L2 are the problem's own; in place of another cost, in training only,
    comes the mean squared standardised change. put: makes a tensor of an array, as `TorchWorld.rows` does.
    """

    def __init__(self, problem: Problem, act: np.ndarray, x: Rows, put: Callable[[np.ndarray], Any]) -> None:
        terms = problem.cost.step_sum()
        if terms is None:
            spread = np.nanstd(x, axis=0)
            divisor = np.where(spread > 0, spread, 1.0)
            terms = 0.0, 0.0, 1.0 / max(1, len(act))
        else:
            divisor = problem.cost.fitted_scales.divisor
        self.l0, self.l1, self.l2 = terms
        self._divisor = put(np.asarray(divisor, dtype=np.float64)[act])

    def __call__(self, change: Any, acted: Any) -> Any:
        """Return efforts (..., a), differentiable; change (..., a) in feature units, acted (..., a) 0 or 1."""
        step = change / self._divisor
        part: Any = self.l0
        if self.l1:
            part = part + self.l1 * step.abs()
        if self.l2:
            part = part + self.l2 * step.square()
        return acted * part
