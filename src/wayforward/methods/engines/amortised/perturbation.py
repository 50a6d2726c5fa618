"""A network that says how far to move each number and which level to take, for anybody in one pass.

x' = x + G(x), with levels by Gumbel-softmax over those that the person may have. `emap` and `frace` train it by losses
of their own; it learns through the model's network, or a stand-in, and through the consequences of acts.
Source of the draws: E. Jang, S. Gu, B. Poole (2017), Categorical Reparameterization with Gumbel-Softmax, ICLR.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.density.nets import Stack
from wayforward.errors import MethodError, ProblemError, require
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.amortised.torch_world import one_sided_clamp
from wayforward.methods.engines.diverse import leaving_out
from wayforward.methods.engines.finish import farther, finished
from wayforward.methods.engines.gradient.descent import Descent
from wayforward.methods.engines.gradient.relaxed import StandIn, trained_network
from wayforward.methods.engines.gradient.relaxed_state import Layout, RelaxedState, range_costs, range_widths
from wayforward.methods.engines.padding import padded_blocks
from wayforward.model import Access
from wayforward.portable import Portable
from wayforward.problem.batching import ask
from wayforward.scaling import thinned
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

BLOCK = 256  # people in a tensor when answering: always as many, so that nobody's answer depends on the batch
_STAYS = 3.0  # log-odds of the own level before anything is learnt
_FARTHER = (1.0, 1.3, 1.8, 2.5)  # shares of a proposed way that are tried


class TrainingScore(Descent):
    """The score of relaxed rows by the model's network, or by a stand-in that is taught to answer like the model."""

    def __init__(self, problem: Problem, method: str, *, seed: int) -> None:
        self.problem, self.seed, self.unit = problem, seed, 1.0
        if problem.target.interval is not None:
            self.unit = max(float(np.std(problem.model.outputs(problem.require_reference()))), 1e-9)
        super().__init__(problem, method, device="cpu", span=range_widths(problem))

    def _network(self, method: str, device: str | None) -> Any:
        torch = require("torch", extra="torch")
        found = trained_network(self.problem, torch.float32, "cpu")
        self.stand_in = None
        if found is None:
            found = self.stand_in = StandIn(
                self.problem, torch.float32, unit=self.unit, seed=self.seed, epochs=12
            )
        return found

    def score(self, logits: Any) -> Any:
        """Return the score (m,) of logits (m, c): log-odds, or spreads of a regression's predictions."""
        return logits[:, 0] if self.stand_in is not None else super().score(logits) / self.unit


@dataclass(frozen=True)
class Tensors:
    """People as tensors: x (n, d); u (n, p) numbers in ranges about their mean, 0 where missing; gone (n, p); share
    (n, f, l) own levels; low, high (n, p) moves; may (n, f, l) levels; free (n, d) bool."""

    x: Any
    u: Any
    gone: Any
    share: Any
    low: Any
    high: Any
    may: Any
    free: Any

    def take(self, rows: Any) -> Tensors:
        """Return some of the people."""
        return Tensors(*(getattr(self, f.name)[rows] for f in fields(self)))


class Perturbation(Portable):
    """The network G and its layout. sizes: widths of hidden layers. conditioned: G is told which decision is wanted."""

    def __init__(
        self, problem: Problem, sizes: Sequence[int], *, seed: int, tau: float, conditioned: bool = False
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.layout = Layout(problem.schema, range_widths(problem))
        self.tau, self.conditioned = tau, conditioned
        reference, numeric = problem.require_reference(), self.layout.numeric
        seen = reference[:, numeric]
        known = ~np.isnan(seen)
        self.centre = np.where(known, seen, 0.0).sum(0) / np.maximum(known.sum(0), 1)
        self.p = len(numeric)
        self.exists = torch.as_tensor(self.layout.exists)
        self.levels = int(self.layout.exists.sum())
        self.inputs = 2 * self.p + self.levels
        self.net = Stack((seed,), (self.inputs + conditioned, *sizes, self.p + self.levels), salt=31)

    def tensors(self, people: Population, who: np.ndarray, free: np.ndarray) -> Tensors:
        """Put people who (m,) in tensors; free (m, d): what may move."""
        torch, layout = self.torch, self.layout
        state = layout.start(people, who, free)
        low, high, may = layout.bounds(people, who)
        own = state.share > 0
        may = np.where(state.free[:, layout.level, None], may, own)
        x = people.x[who]
        number = x[:, layout.numeric]
        gone = np.isnan(number)
        u = np.where(gone, 0.0, (number - self.centre) / layout.span[layout.numeric])
        open_ = state.free[:, layout.numeric]
        low, high = (np.where(open_, side[:, layout.numeric], 0.0) for side in (low, high))

        def put(array: np.ndarray) -> Any:
            return torch.as_tensor(np.ascontiguousarray(array), dtype=torch.float32)

        return Tensors(
            put(x), put(u), put(gone), put(state.share), put(low), put(high),
            torch.as_tensor(may), torch.as_tensor(state.free),
        )  # fmt: skip

    def seen(self, u: Any, gone: Any, share: Any) -> Any:
        """Put together what a network sees of relaxed rows, (m, inputs)."""
        return self.torch.cat([u, gone, share[:, self.exists]], dim=1)

    def __call__(
        self, t: Tensors, u: Any, share: Any, low: Any, high: Any, wanted: Any = None, noise: Any = None
    ) -> tuple[Any, Any]:
        """Return moves (m, p) within low and high and levels (m, f, l) of rows at u and share.

        wanted (m, 1): 1 or -1, the decision, where the network is conditioned. noise (m, f, l): Gumbel draws.
        """
        torch = self.torch
        seen = self.seen(u, t.gone, share)
        if self.conditioned:
            seen = torch.cat([seen, wanted], dim=1)
        out = self.net(seen[None])[0]
        move = one_sided_clamp(torch)(out[:, : self.p], low, high)
        if not self.levels:
            return move, share
        logit = torch.full(share.shape, -1e9)
        logit[:, self.exists] = out[:, self.p :]
        logit = torch.where(t.may, logit + _STAYS * share, torch.full_like(logit, -1e9))
        logit = logit if noise is None else logit + noise
        soft = torch.softmax(logit / self.tau, dim=2)
        hard = torch.nn.functional.one_hot(logit.argmax(2), logit.shape[2]).to(soft.dtype)
        return move, hard + soft - soft.detach()

    def gumbel(self, rng: np.random.Generator, m: int) -> Any:
        """Draw noise (m, f, l)."""
        shape = (m, len(self.layout.level), self.layout.wide)
        return self.torch.as_tensor(rng.gumbel(size=shape), dtype=self.torch.float32)

    def score(self, decision: TrainingScore, t: Tensors, move: Any, share: Any) -> Any:
        """Return the score (m,) of where moves (m, p) and levels lead."""
        wide = self.torch.zeros_like(t.x)
        wide[:, self.layout.numeric] = move
        x, wide, share = (part.to(decision.dtype) for part in (t.x, wide, share))
        return decision.relaxed_score(x, wide, share, t.free).to(move.dtype)

    def ends(self, people: Population, free: np.ndarray, wanted: np.ndarray | None = None) -> RelaxedState:
        """Return where everybody is sent, in one pass and without draws. free (n, d). wanted (n,): 1 a yes, -1 a no."""
        torch, n = self.torch, people.n
        state = self.layout.start(people, np.arange(n), free)
        for rows, pad in padded_blocks(n, BLOCK):
            t = self.tensors(people, pad, free[pad])
            with torch.no_grad():
                sign = torch.as_tensor(np.ones(len(pad)) if wanted is None else wanted[pad])
                move, share = self(t, t.u, t.share, t.low, t.high, sign.to(t.u.dtype)[:, None])
            many = len(rows)
            state.move[np.ix_(rows, self.layout.numeric)] = move[:many].double().numpy()
            state.share[rows] = share[:many].double().numpy()
        return state


class PerturbationMethod(Method):
    """What methods on such a network share: who learns, answers in one pass, and what follows where they fail."""

    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True
    chunk: ClassVar[int] = 16_384

    width: int
    layers: int
    seed: int
    tau: float
    most: int
    complete: bool
    shrink: bool
    engine_: Perturbation

    def _fit(self, problem: Problem) -> None:
        if not problem.schema.actionable.any():
            raise MethodError(f"'{self.name}' has nothing to act on: the schema has no actionable feature.")
        if problem.reference_reached.all():
            raise ProblemError(
                "The model accepts everybody in the problem's table, so there is nobody to learn from. Check the "
                "target, or give a table with people whom the model refuses."
            )
        self.engine_ = Perturbation(
            problem,
            [self.width] * self.layers,
            seed=self.seed,
            tau=self.tau,
            conditioned=self._conditioned,
        )
        self._train(problem, TrainingScore(problem, self.name, seed=self.seed))

    _conditioned: ClassVar[bool] = False

    @abstractmethod
    def _train(self, problem: Problem, decision: TrainingScore) -> None:
        """Train the network of the engine."""

    def _learners(self, rows: np.ndarray) -> np.ndarray:
        """Return at most `most` rows, drawn by the seed."""
        return np.asarray(rows[thinned(len(rows), self.most, self.seed)])

    def _teach_stand_in(self, decision: TrainingScore, people: Population) -> None:
        """Ask the model itself where people are sent now."""
        if decision.stand_in is not None:
            ends = self.engine_.layout.harden(people, self.engine_.ends(people, people.free))
            decision.stand_in.refresh(people.after(np.arange(people.n), ends))

    def proposed(self, x: Any) -> np.ndarray:
        """Return what the network alone proposes to people: actions (n, d), judged by nobody."""
        people = self.problem_.population(self.problem_.schema.encode(x))
        return self.engine_.layout.harden(people, self.engine_.ends(people, people.free))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(4000)

        def find(free: np.ndarray, option: int) -> np.ndarray:
            cap = people.rows + limit
            ends = self.engine_.ends(people, free)
            first = self.engine_.layout.harden(people, ends)
            eager = self.engine_.layout.harden(people, ends, eager=True)
            who, rows = farther(people, np.arange(people.n), first, _FARTHER)
            who, rows = np.concatenate([who, np.arange(people.n)]), np.concatenate([rows, eager])
            some = ~np.isnan(rows).all(1)
            who, rows = who[some], rows[some]
            good = ask(people, who, rows)[1] if len(who) else np.zeros(0, dtype=bool)
            return finished(
                people, who[good], rows[good], 1, cap=cap, go_on=self.complete, shrink=self.shrink,
                start=first, free=free,
            )[:, 0]  # fmt: skip

        return leaving_out(people, people.free, k, find)


class RelaxedEffort(Portable):
    """How far relaxed rows moved: moves (m, p) and levels (m, f, l) -> (m,), by 'l1' or 'l2' of the problem's cost."""

    def __init__(self, problem: Problem, layout: Layout, norm: str) -> None:
        torch = require("torch", extra="torch")
        price = range_costs(problem, layout.span)
        self.number = torch.as_tensor(price[layout.numeric], dtype=torch.float32)
        self.level = torch.as_tensor(price[layout.level], dtype=torch.float32)
        self.layout, self.norm, self.torch = layout, norm, torch

    def __call__(self, t: Tensors, move: Any, share: Any) -> Any:
        """Return efforts (m,)."""
        away = self.layout.away(t.share.numpy() > 0)
        level = self.level * (self.torch.as_tensor(away, dtype=move.dtype) * share).sum(2)
        number = self.number * move
        if self.norm == "l2":
            return number.square().sum(1) + level.square().sum(1)
        return number.abs().sum(1) + level.sum(1)
