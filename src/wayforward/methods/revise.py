"""revise: descend in the latent space of a generative model, so that every step is a likely profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from wayforward.methods.base import Budget
from wayforward.methods.engines.latent.adoption import descended_options
from wayforward.methods.engines.latent.search import AdamSteps, Terms
from wayforward.methods.engines.latent.settings import LatentSettings
from wayforward.methods.settings import check_choices, check_least
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

Loss = Literal["bce", "hinge", "squared"]


@public
@dataclass
class Revise(LatentSettings):
    """Descend weight x loss(decision) + lam x distance over the latent code of a variational autoencoder.

    The search starts at the encoder's mean and moves in the latent space only, so what it looks at are rows that the
    decoder can draw: profiles like those that were observed. Features that nobody can change do not go through the
    code but condition the decoder. Every decoded row is projected on what the person may do, and only hard rows count
    (values on their steps, one level each); of the hard rows that turned the decision the cheapest counts. Where the
    decision does not turn, the weight of the loss grows fourfold, up to `rounds` times. A missing number stays missing.
    The model needs no gradients: without them the slopes are central differences over the latent dimensions, on hard
    rows (2 x latent model rows a step).

    A decoded row changes everything a little. adopt: 'part' takes over only the changes that help the decision (not
    part of the published method: the rest of the row stays the person's own), 'all' the whole row as published, which
    is dearer and, under rules such as "at most 4 changes", seldom allowed. shrink: then trade changes for
    cheaper ones and move values back as far as the decision allows; complete: people for whom no decoded row leads to
    an option go on from the best of them by single changes (neither is part of the published method; both need
    adopt='part').

    loss: 'bce' as published, 'hinge', 'squared' (both with `aim`, the log-odds beyond the boundary aimed at). lam:
    weight of the distance. steps: of Adam, a round; rate: its step size. starts: random starts beside the encoded one,
    `scatter` standard deviations wide. Later options leave out the dearest change of those before, and start at
    random. latent, hidden, epochs: of the autoencoder; None for its own defaults. generator: a trained one instead.
    A step counts as one model row; default budget 20,000 a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="revise", k=2)``.
    Raises: ProblemError from `fit` if the problem holds no observed people; MissingExtra without torch.
    Source: S. Joshi, O. Koyejo, W. Vijitbenjaronk, B. Kim, J. Ghosh (2019), Towards Realistic Individual Recourse and
    Actionable Explanations in Black-Box Decision Making Systems, arXiv:1907.09615.
    """

    name: ClassVar[str] = "revise"
    summary: ClassVar[str] = (
        "gradient descent in the latent space of an autoencoder: changes towards likely profiles"
    )
    citation: ClassVar[str] = "Joshi, Koyejo, Vijitbenjaronk, Kim & Ghosh (2019), arXiv:1907.09615"
    tag: ClassVar[int] = 41_000

    loss: Loss = "bce"
    lam: float = 0.5
    aim: float = 0.05

    def __post_init__(self) -> None:
        check_choices(self, loss=get_args(Loss))
        super().__post_init__()
        check_least(self, lam=0)

    def _fit(self, problem: Problem) -> None:
        self.latent_ = self._latent_space(problem, "cvae")

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        how = AdamSteps(steps=self.steps, rate=self.rate)
        limit = self._limit(budget)
        return descended_options(
            self.latent_, people, k, streams, limit, self, objective=self._objective, how=how
        )

    def _objective(self, terms: Terms) -> Any:
        torch = self.latent_.torch
        short = self.aim - terms.score
        if self.loss == "bce":
            ell = torch.nn.functional.softplus(-terms.score)
        elif self.loss == "hinge":
            ell = torch.relu(short)
        else:
            ell = short**2
        return terms.weight * ell + self.lam * terms.away
