"""cruds: change only what separates accepted from refused people, and keep what makes a person who they are."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget
from wayforward.methods.engines.latent.adoption import descended_options, drawn_options
from wayforward.methods.engines.latent.search import AdamSteps, Terms
from wayforward.methods.engines.latent.settings import LatentSettings
from wayforward.methods.settings import check_choices, check_least
from wayforward.problem.batching import distinct_changes
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_WIDER = 3.0  # how much wider w is drawn for people without an option


@public
@dataclass
class Cruds(LatentSettings):
    """Keep a person's z, draw or descend w: a subspace model splits the code into what the label changes and the rest.

    The autoencoder (a conditional subspace VAE) learns w, which holds what distinguishes accepted from refused people,
    and z, from which an adversary cannot tell. mode 'sample', as published: with z fixed, `samples` draws of
    w ~ p(w | accepted) are decoded, projected on what the person may do, and filtered: the model's decision, schema,
    rules, the world and personal limits. What is left is ranked by the number of changes, then by cost. mode
    'optimise': descend weight x loss(decision) + lam x distance over w alone (RMSprop; without gradients, central
    differences over w on hard rows). Labels need not be observed: the model's own decisions about the reference rows
    teach the subspace. Works with every model; mode 'sample' asks for decisions only.

    adopt: 'part' takes over only the changes of a decoded row that help the decision (not part of the published
    method), 'all' the whole row. shrink: then trade changes for cheaper ones and move values back as far as the
    decision allows; complete: people for whom no draw leads to an option go on from the best of them by single
    changes (neither is part of the published method; both need adopt='part'). kept: rows of each person that are
    looked at that closely, best ranked first; for people with no usable row, those with the highest scores. widen:
    rounds of draws more for people without an option (not part of the published method): w drawn three times as wide,
    and from the second of them on z drawn around their own as well, one standard deviation more each round. Mode
    'optimise' lets z move from its third round on.
    latent, epochs, generator: as for `revise`.
    Default budget: 20,000 model rows a person and option; mode 'sample' draws no more than the budget.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="cruds", k=3, samples=500)``.
    Raises: ProblemError from `fit` if the problem holds no observed people; MissingExtra without torch.
    Source: M. Downs, J. L. Chu, Y. Yacoby, F. Doshi-Velez, W. Pan (2020), CRUDS: Counterfactual Recourse Using
    Disentangled Subspaces, ICML Workshop on Human Interpretability in Machine Learning.
    """

    name: ClassVar[str] = "cruds"
    summary: ClassVar[str] = (
        "samples of the latent subspace that separates accepted from refused, filtered and ranked"
    )
    citation: ClassVar[str] = "Downs, Chu, Yacoby, Doshi-Velez & Pan (2020), ICML Workshop WHI"
    tag: ClassVar[int] = 42_000

    mode: Literal["sample", "optimise"] = "sample"
    samples: int = 200
    kept: int = 8
    widen: int = 3
    lam: float = 0.05
    _: KW_ONLY
    rate: float = 0.1

    def __post_init__(self) -> None:
        check_choices(self, mode=("sample", "optimise"))
        super().__post_init__()
        check_least(self, samples=1, kept=1, widen=0, lam=0)

    def _fit(self, problem: Problem) -> None:
        self.latent_ = self._latent_space(problem, "csvae")
        if self.latent_ is not None and not hasattr(self.latent_.generator, "n_w"):
            raise MethodError(
                f"'{self.name}' needs a subspace model, and the generator is of kind "
                f"'{self.latent_.generator.kind}'. Use fit_generator('csvae', problem)."
            )

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = self._limit(budget)
        generator = self.latent_.generator
        moves = np.arange(generator.latent) >= generator.n_z
        if self.mode == "sample":
            return self._sample(people, k, streams.seed, limit, moves)
        how = AdamSteps(steps=self.steps, rate=self.rate, momentum=0.0, spread=0.99, moves=moves)
        return descended_options(
            self.latent_, people, k, streams, limit, self, objective=self._objective, how=how,
            late=replace(how, moves=None),
        )  # fmt: skip

    def _sample(self, people: Population, k: int, seed: int, limit: int, moves: np.ndarray) -> Actions:
        z = np.where(moves, 0.0, self.latent_.encode(people.x))
        cap = people.rows + limit
        who = np.arange(people.n)
        owners, found = [], []
        for turn in range(1 + self.widen):
            room = min(self.samples, limit - turn * self.samples)
            if room < 1 or not who.size:
                break
            part, action = drawn_options(
                self.latent_, people, who, z[who], self.steps_of(seed, turn)[:room], cap,
                self, most=self.kept + k - 1, last=turn == self.widen,
            )  # fmt: skip
            owners.append(part)
            found.append(action)
            who = np.setdiff1d(who, part)
        return distinct_changes(people, np.concatenate(owners), np.concatenate(found), k)

    def steps_of(self, seed: int, turn: int = 0) -> np.ndarray:
        """Return draws (samples, n_z + n_w) of w ~ p(w | accepted), alike for everybody, beside steps of z."""
        generator = self.latent_.generator
        table = generator.table[1].detach().cpu().double().numpy()
        mean, spread = table[: generator.n_w], table[generator.n_w :]
        draw = np.random.default_rng([seed % 2**63, 0xC5D5, turn]).normal(
            size=(self.samples, generator.n_z + generator.n_w)
        )
        w = mean + (1.0 if turn == 0 else _WIDER) * np.exp(0.5 * spread) * draw[:, generator.n_z :]
        return np.concatenate([max(turn - 1, 0) * draw[:, : generator.n_z], w], axis=1)

    def _objective(self, terms: Terms) -> Any:
        return terms.weight * self.latent_.torch.nn.functional.softplus(-terms.score) + self.lam * terms.away
