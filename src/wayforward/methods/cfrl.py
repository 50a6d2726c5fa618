"""cfrl: an actor, taught by reinforcement, that answers a person and their limits in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.density.generative.files import generator_of, generator_parts
from wayforward.errors import MethodError
from wayforward.methods.base import Budget
from wayforward.methods.engines.amortised.actor_critic import ActorCritic, ActorCriticSettings, ActorReport
from wayforward.methods.engines.latent.adoption import proposed_options
from wayforward.methods.engines.latent.settings import DecodedSettings
from wayforward.methods.settings import check_least, check_positive, require_setting
from wayforward.public import public
from wayforward.shapes import Actions
from wayforward.tensor_files import broken_networks, in_order, numbered, read_networks, write_networks

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Cfrl(DecodedSettings):
    """Train one network that proposes a decoded row to anybody, under whatever limits they have.

    An autoencoder of the problem's people is trained first and frozen. The actor sees a person's latent point, their
    row, and a conditional vector of their limits (of each number how far it may go down and up, of each level whether
    they may have it), and proposes a latent point; what is decoded there is projected on the same limits, so that it
    never breaks them. The critic learns from the model's answers about such rows, which is all that is asked of the
    model; the actor climbs the critic, pays for distance, and is to propose points that the encoder gives to its rows.
    Limits are drawn for each training person, so that people's wishes need no training of their own. The target is the
    problem's: the networks are not told it. Rules of the schema are judged and not learned.

    Not published: `tries` more passes, in which half of the features are held (the published way to diverse answers),
    also serve people for whom the first leads nowhere; of a decoded row only what helps is adopted, and the end is that
    of all searches here (adopt, shrink, complete). As published: ``Cfrl(tries=0, adopt="all")`` with
    ``minimal=False``, but for smaller networks without layer norms, limits drawn once for each row of training, and
    fewer steps.

    steps: of training, one batch of experience, of the critic and of the actor each. batch: rows of each. people: of
    the table, each under limits of their own. width: of two layers in both networks. rate: of Adam, falling. sparsity,
    consistency: weights of the losses. noise: of exploration, where points lie in [-1, 1]. replay: batches remembered.
    train_seed: of everything random in training. latent, epochs, generator: of the autoencoder; device: see
    `device_of`. Default budget: 4,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``Cfrl().fit(problem).recommend(refused, 3, preferences=wishes)``.
    Raises: ProblemError from `fit` without observed people, or without refused ones who may act; MissingExtra without
    torch; DeviceError.
    Source: R.-F. Samoilescu, A. Van Looveren, J. Klaise (2021), Model-agnostic and Scalable Counterfactual
    Explanations via Reinforcement Learning, arXiv:2106.02597.
    """

    name: ClassVar[str] = "cfrl"
    summary: ClassVar[str] = "an actor taught by reinforcement answers a person and their limits in one pass"
    citation: ClassVar[str] = "Samoilescu, Van Looveren & Klaise (2021), arXiv:2106.02597"
    chunk: ClassVar[int] = 16_384

    _: KW_ONLY
    steps: int = 800
    batch: int = 128
    people: int = 4096
    width: int = 64
    rate: float = 5e-3
    sparsity: float = 0.5
    consistency: float = 0.5
    noise: float = 0.1
    replay: int = 200
    tries: int = 7
    train_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, steps=1, batch=1, people=1, width=1, replay=1, tries=0, sparsity=0, consistency=0)
        check_positive(self, "rate")
        require_setting(self, "noise", 0 <= self.noise <= 1, "Use a share from 0 to 1.")

    @property
    def report_(self) -> ActorReport:
        """How the training went."""
        if self.actor_ is None:
            raise MethodError(f"'{self.name}' trained nothing, as nobody may act on anything.")
        return self.actor_.report

    def _fit(self, problem: Problem) -> None:
        self.actor_ = self._untrained(problem)
        if self.actor_ is None:
            return
        made = self.actor_

        def train() -> ActorCritic:
            made.train()
            return made

        key = ("actor-critic", made.settings, id(made.latent.generator), str(made.latent.device))
        self.actor_ = problem.shared(key, train)

    def _untrained(self, problem: Problem) -> ActorCritic | None:
        latent = self._latent_space(
            problem, "cvae", zeroth=True
        )  # answers suffice: no gradients of the model
        if latent is None:
            return None
        own = {f.name: getattr(self, f.name) for f in fields(ActorCriticSettings) if f.name != "seed"}
        return ActorCritic(latent, ActorCriticSettings(**own, seed=self.train_seed))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(4000)
        proposals = self.proposals(people, streams, min(1 + self.tries, limit))
        return proposed_options(people, proposals, k, people.rows + limit, self, most=2 + k)

    def proposals(self, people: Population, streams: Streams, passes: int = 1) -> Actions:
        """Return the decoded rows (n, passes, d) of as many passes as actions, judged by nobody, within everybody's
        limits; from the second pass on some features are held."""
        assert self.actor_ is not None
        everybody, out = np.arange(people.n), []
        for turn in range(passes):
            free = people.free
            if turn:
                free = free & (streams.uniform(everybody, people.d, tag=51_000 + turn) < 0.5)
            out.append(self.actor_.answer(people, everybody, free))
        return np.stack(out, axis=1)

    # -- files ---------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write actor and autoencoder to one file, numbers as safetensors, the rest as JSON; return the path."""
        self._fitted_problem()
        report, actor = self.report_, self.actor_
        assert actor is not None
        tensors, header = generator_parts(actor.latent.generator)
        tensors = {f"generator.{name}": tensor for name, tensor in tensors.items()}
        tensors |= numbered("actor", actor.answering.parameters)
        skipped = ("generator", "device")
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init and f.name not in skipped}
        head = {"method": self.name, "settings": settings, "report": report, "generator": header}
        return write_networks(path, tensors, "actor", head)

    @classmethod
    def load(cls, path: str | Path, problem: Problem, *, device: str | None = None) -> Self:
        """Return the method as it was saved, ready to answer the problem on a device; nothing is trained.

        Raises: FileFormatError for a file that is broken or something else; MethodError for another schema.
        """
        head, tensors = read_networks(path, "actor")
        try:
            settings: Mapping[str, Any] = head["settings"]
            parts = {
                key.removeprefix("generator."): t
                for key, t in tensors.items()
                if key.startswith("generator.")
            }
            generator = generator_of(path, head["generator"], parts, problem.schema, device=device)
            made = cls(**settings, generator=generator, device=device)
            actor = made._untrained(problem)
            assert actor is not None
            state = in_order(tensors, "actor")
            expected = [(1, a, b) for a, b in zip(actor.sizes, actor.sizes[1:], strict=False)]
            expected += [(1, 1, b) for b in actor.sizes[1:]]
            if [tuple(p.shape) for p in state] != expected:
                raise ValueError("the actor has other sizes than it says")
            actor.put(state)
            actor.report = ActorReport(**head["report"])
        except (KeyError, TypeError, ValueError) as error:
            raise broken_networks(path, error) from error
        made.problem_, made.seconds_fit_, made.actor_ = problem, 0.0, actor
        return made
