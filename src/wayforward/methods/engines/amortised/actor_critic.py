"""An actor proposes a latent point for a person and their limits; a critic of what turns the decision teaches it.

One-step deterministic policy gradients: the critic learns from the model's answers about whole decoded rows, and the
actor climbs what the critic says, pays for distance, and is to propose points that the encoder gives to its own rows.

Source: R.-F. Samoilescu, A. Van Looveren, J. Klaise (2021), Model-agnostic and Scalable Counterfactual Explanations
via Reinforcement Learning, arXiv:2106.02597; T. P. Lillicrap et al. (2016), Continuous control with deep
reinforcement learning, ICLR (DDPG).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.density.nets import Adam, Stack
from wayforward.errors import ProblemError, require
from wayforward.methods.engines.padding import padded_blocks
from wayforward.portable import Portable
from wayforward.preferences import Preferences
from wayforward.shapes import Floats, Mask, PerFeature, Rows, Who

if TYPE_CHECKING:
    from wayforward.methods.engines.latent.search import Latent
    from wayforward.problem import Population, Problem

BLOCK = 256  # people in a tensor when answering: always as many, so that nobody's answer depends on the batch
_BOUND = 3.0  # of latent points, in standard deviations of the prior
_FIRST = 10  # batches of experience before anything is learnt, drawn evenly from all points


@dataclass(frozen=True)
class ActorCriticSettings:
    """Hyper-parameters of a training; `Cfrl` documents them."""

    steps: int
    batch: int
    people: int
    width: int
    rate: float
    sparsity: float
    consistency: float
    noise: float
    replay: int
    seed: int


@dataclass(frozen=True)
class ActorReport:
    """How a training went. turned: share of `people`, each under limits of their own, whose whole decoded row turns
    the decision in the end."""

    steps: int
    people: int
    turned: float
    seconds: float


def drawn_limits(problem: Problem, x: Rows, span: PerFeature, rng: np.random.Generator) -> Preferences:
    """Draw limits for rows x (m, d): none for every third; else numbers go down and up by Beta(2, 2) shares of their
    range, each level is allowed half of the time, and every fourth feature is fixed."""
    schema, (m, d) = problem.schema, x.shape
    all_free = np.asarray(rng.random(m) < 1 / 3)
    room = rng.beta(2.0, 2.0, size=(2, m, d)) * span
    numbers = ~schema.has_levels & ~all_free[:, None] & ~np.isnan(x)
    low, high = np.where(numbers, x - room[0], -np.inf), np.where(numbers, x + room[1], np.inf)
    levels = {
        int(j): (rng.random((m, int(schema.n_levels[j]))) < 0.5) | all_free[:, None]
        for j in np.flatnonzero(schema.has_levels & schema.actionable)
    }
    frozen = (rng.random((m, d)) < 0.25) & ~all_free[:, None]
    return Preferences(schema, frozen, low, high, np.ones((m, d)), levels)


class ActorCritic(Portable):
    """Both networks, their training, and the actor's answers. latent: the frozen autoencoder with its projection."""

    def __init__(self, latent: Latent, settings: ActorCriticSettings) -> None:
        self.torch = require("torch", extra="torch")
        self.latent, self.settings = latent, settings
        code = len(latent.generator.coding.shown)
        limits = 2 * len(latent.number) + int(latent.size.sum())
        q, wide = latent.generator.latent, [settings.width] * 2
        self.sizes = (q + code + limits, *wide, q)
        self.critic_sizes = (self.sizes[0] + q, *wide, 1)
        self.parts = max(1, len(latent.number) + len(latent.level))  # features that a distance is the sum of
        self.report = ActorReport(0, 0, float("nan"), 0.0)

    # -- what the actor sees -------------------------------------------------------------------------------

    def inputs(self, people: Population, who: Who, free: Mask) -> Floats:
        """Return what the actor sees (m, i): the person's latent point, their coded row, and their limits.

        Limits: of each number how far it may go down and up, in ranges; of each level whether the person may have it.
        """
        latent, coding = self.latent, self.latent.generator.coding
        x, j = people.x[who], latent.number
        free = free & ~(np.isnan(x) & latent.numbers)
        with np.errstate(invalid="ignore"):
            room = np.stack([x - people.low[who], people.high[who] - x])[:, :, j] / latent.span[j]
        room = np.where(free[:, j], np.clip(np.nan_to_num(room), 0.0, 1.0), 0.0)
        _, may = latent.levels(people, who, free)
        exists = np.arange(latent.wide) < latent.size[:, None]
        parts = (latent.encode(x) / _BOUND, coding.code(x)[:, coding.shown], *room, may[:, exists])
        return np.concatenate(parts, axis=1)

    def answer(self, people: Population, who: Who, free: Mask) -> Rows:
        """Return the actor's rows (m, d) for people who (m,) who may act on what is free (m, d), as actions."""
        torch, latent, seen = self.torch, self.latent, self.inputs(people, who, free)
        z = np.zeros((len(who), self.sizes[-1]))
        with torch.no_grad():
            for rows, pad in padded_blocks(len(who), BLOCK):
                out = self.answering(torch.as_tensor(seen[pad][None], device=latent.device)).tanh()
                z[rows] = _BOUND * out[0, : len(rows)].cpu().numpy()
        free = free & ~(np.isnan(people.x[who]) & latent.numbers)
        return latent.decoded(people, who, free, z)

    def put(self, state: Sequence[Any]) -> None:
        """Let an actor with these weights answer, in double precision."""
        self.answering = Stack.of(state, self.sizes, 0, self.torch.float64, self.latent.device)

    # -- training ------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Teach both networks on refused people of the table, under limits that are drawn for each.

        Deterministic given the settings, on one machine. Raises: ProblemError without refused people who may act.
        """
        started, torch, settings, latent = time.perf_counter(), self.torch, self.settings, self.latent
        rng = np.random.default_rng([settings.seed, 0xCF51])
        people = self._people(rng)
        m = people.n
        free = people.free & ~(np.isnan(people.x) & latent.numbers)
        everybody = np.arange(m)
        seen = self._tensor(self.inputs(people, everybody, free))
        block = latent.still(people, latent.start(people, everybody, free, 1.0), everybody)
        actor = Stack([settings.seed], self.sizes, salt=21, device=latent.device)
        critic = Stack([settings.seed], self.critic_sizes, salt=22, device=latent.device)
        climb, learn = Adam(actor.parameters, settings.rate), Adam(critic.parameters, settings.rate)
        past = _Replay(settings.replay * settings.batch, self.sizes[-1])
        for step in range(settings.steps):
            fall = 0.05 + 0.475 * (1 + float(np.cos(np.pi * step / settings.steps)))
            climb.rate = learn.rate = settings.rate * fall
            for _ in range(_FIRST if step == 0 else 1):
                who = rng.integers(m, size=settings.batch)
                z = self._explored(actor, seen[who], step, rng)
                past.add(who, z, self._turned(people, who, free, z))
            who, z, turned = past.draw(rng, settings.batch)
            state = seen[who]
            worth = self._worth(critic, state, self._tensor(z))
            learn.step((worth - self._tensor(turned)).square().mean())
            point = actor(state[None])[0].tanh()
            here = block.take(torch.as_tensor(who, device=latent.device))
            rows = latent.relaxed_rows(here, _BOUND * point)
            loss = (
                settings.sparsity / self.parts * rows.away.mean() - self._worth(critic, state, point).mean()
            )
            if settings.consistency and latent.encodes:
                again = latent.encoded_rows(here, rows) / _BOUND
                loss = loss + settings.consistency * (again - point).square().mean()
            climb.step(loss)
        self.put(actor.state())
        action = self.answer(people, everybody, people.free)
        turned = people.reached(everybody, people.after(everybody, action))
        self.report = ActorReport(settings.steps, m, float(turned.mean()), time.perf_counter() - started)

    def _people(self, rng: np.random.Generator) -> Population:
        """Return refused people of the table who may act, each once or more often, under drawn limits."""
        problem = self.latent.problem
        refused = problem.require_reference()[~problem.reference_reached]
        if not len(refused):
            raise ProblemError(
                "The model accepts everybody in the problem's table, so there is nobody to learn from. Check the "
                "target, or give a table with people whom the model refuses."
            )
        x = np.resize(refused[rng.permutation(len(refused))], (self.settings.people, refused.shape[1]))
        people = problem.population(x, drawn_limits(problem, x, self.latent.span, rng))
        can = np.flatnonzero(people.free.any(1))
        if not can.size:
            raise ProblemError(
                "None of the refused people in the problem's table can act on anything. Check the actionability of the "
                "schema."
            )
        return people.take(can)

    def _tensor(self, array: np.ndarray) -> Any:
        return self.torch.as_tensor(array, dtype=self.torch.float32, device=self.latent.device)

    def _worth(self, critic: Stack, state: Any, point: Any) -> Any:
        return critic(self.torch.cat([state, point.to(state.dtype)], dim=1)[None])[0, :, 0]

    def _explored(self, actor: Stack, state: Any, step: int, rng: np.random.Generator) -> Floats:
        """Return points (b, q) in [-1, 1] to learn from: anywhere at first, then around the actor's own."""
        shape = (len(state), self.sizes[-1])
        if step == 0:
            return rng.uniform(-1.0, 1.0, shape)
        with self.torch.no_grad():
            point = actor(state[None])[0].tanh().cpu().numpy()
        return np.asarray(np.clip(point + self.settings.noise * rng.standard_normal(shape), -1.0, 1.0))

    def _turned(self, people: Population, who: Who, free: Mask, z: Floats) -> Mask:
        """Return (b,) bool: the model says yes to the whole decoded row; rules of the schema are not looked at here."""
        action = self.latent.decoded(people, who, free[who], _BOUND * z)
        return np.asarray(people.reached(who, people.after(who, action)))


class _Replay:
    """The latest `size` rows of experience: whose it is, the point, and whether it turned the decision."""

    def __init__(self, size: int, q: int) -> None:
        self.who, self.z = np.zeros(size, dtype=np.int64), np.zeros((size, q))
        self.turned, self.n = np.zeros(size), 0

    def add(self, who: Who, z: Floats, turned: Mask) -> None:
        at = (self.n + np.arange(len(who))) % len(self.who)
        self.who[at], self.z[at], self.turned[at] = who, z, turned
        self.n += len(who)

    def draw(self, rng: np.random.Generator, many: int) -> tuple[np.ndarray, Floats, Floats]:
        at = rng.integers(min(self.n, len(self.who)), size=many)
        return self.who[at], self.z[at], self.turned[at]
