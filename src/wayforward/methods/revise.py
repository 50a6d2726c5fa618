"""revise: descend in the latent space of a generative model, so that every step is a likely profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.latent.adoption import Plan, check_latent, latent_of, ways
from wayforward.methods.engines.latent.search import Descend, Seen
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

Loss = Literal["bce", "hinge", "squared"]


@dataclass
class Revise(Method):
    """Descend weight x loss(decision) + lam x distance over the latent code of a variational autoencoder.

    The search starts at the encoder's mean and moves in the latent space only, so what it looks at are rows that the
    decoder can draw: profiles like those that were observed. Features that nobody can change do not go through the
    code but condition the decoder. Every decoded row is projected on what the person may do, and only hard rows count
    (values on their steps, one level each); of the hard rows that turned the decision the cheapest is kept. Where the
    decision does not turn, the weight of the loss grows fourfold, up to `rounds` times. A missing number stays missing.
    The model needs no gradients: without them the slopes are central differences over the latent dimensions, on hard
    rows that the model is asked about (2 x latent rows a step).

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
    needs_data: ClassVar[bool] = True

    loss: Loss = "bce"
    lam: float = 0.5
    aim: float = 0.05
    steps: int = 60
    rate: float = 0.2
    rounds: int = 4
    starts: int = 0
    scatter: float = 1.0
    adopt: Literal["part", "all"] = "part"
    shrink: bool = True
    complete: bool = True
    latent: int | None = None
    epochs: int | None = None
    device: str | None = None
    generator: Any = None

    def __post_init__(self) -> None:
        if self.loss not in get_args(Loss):
            raise MethodError(
                f"'{self.name}' has loss={self.loss!r}. Choose one of {', '.join(get_args(Loss))}."
            )
        check_latent(self)
        if self.lam < 0:
            raise MethodError(f"'{self.name}' has lam={self.lam}. Use 0 or more.")

    def _fit(self, problem: Problem) -> None:
        self.latent_ = latent_of(self, problem, "cvae")

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        plan = Plan(
            objective=self._objective,
            how=Descend(steps=self.steps, rate=self.rate),
            weight=1.0,
            rounds=self.rounds,
            growth=4.0,
            starts=self.starts,
            scatter=self.scatter,
            partial=self.adopt == "part",
            shrink=self.shrink and self.adopt == "part",
            complete=self.complete and self.adopt == "part",
            tag=41_000,
        )
        return ways(self.latent_, people, k, streams, 20_000 if budget.rows is None else budget.rows, plan)

    def _objective(self, seen: Seen) -> Any:
        torch = self.latent_.torch
        short = self.aim - seen.score
        if self.loss == "bce":
            ell = torch.nn.functional.softplus(-seen.score)
        elif self.loss == "hinge":
            ell = torch.relu(short)
        else:
            ell = short**2
        return seen.weight * ell + self.lam * seen.away
