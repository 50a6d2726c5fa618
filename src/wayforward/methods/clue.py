"""clue: move to where the model is sure, through the latent space of a generative model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wayforward.errors import MethodError, UnsupportedModel
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.latent.adoption import Plan, check_latent, latent_of, ways
from wayforward.methods.engines.latent.search import Descend, Seen
from wayforward.model import Access
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@dataclass
class Clue(Method):
    """Descend uncertainty + distance over the latent code of a variational autoencoder.

    mode 'clue' is the published objective: entropy of the model's outputs (nats) + lx x distance + ly x distance of
    outputs (cross-entropy between what the model says here and there). It explains uncertainty: it leads to where the
    model is sure, whichever way it decides, so of those refused surely only few are helped. mode 'recourse' adds
    lt x cross-entropy to the decision that the person wants, which grows fourfold up to `rounds` times while the
    decision does not turn. In both, every hard row on the way that turns the decision counts, and the cheapest is kept.
    Every decoded row is projected on what the person may do. A regression, and a model that gives labels only, have
    no entropy: the term is left out, and mode 'clue' is refused. Models without gradients are searched along central
    differences over the latent dimensions, on hard rows that the model is asked about.

    delta: with a number, lanes stay in a ball of this radius around the encoded person, and later options begin at
    random in it (delta-CLUE); None for anywhere. lx: None for 4 / number of features, as published. steps, rate: of
    Adam, a round; in mode 'clue' a lane ends where its objective stays, as published. adopt, shrink, complete, starts,
    scatter, latent, epochs, generator: as for `revise`; with adopt='part' only the changes that help are taken over.
    Mode 'clue' is never completed.
    A step counts as one model row; default budget 20,000 a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="clue", k=3, delta=2.0)``.
    Raises: UnsupportedModel from `fit` for mode 'clue' without probabilities; ProblemError without observed people.
    Source: J. Antoran, U. Bhatt, T. Adel, A. Weller, J. M. Hernandez-Lobato (2021), Getting a CLUE, ICLR,
    arXiv:2006.06848; D. Ley, U. Bhatt, A. Weller (2022), Diverse, Global and Amortised Counterfactual Explanations for
    Uncertainty Estimates, AAAI, arXiv:2112.02646.
    """

    name: ClassVar[str] = "clue"
    summary: ClassVar[str] = (
        "descent in a latent space to where the model is sure, towards the wanted decision"
    )
    citation: ClassVar[str] = "Antoran, Bhatt, Adel, Weller & Hernandez-Lobato (2021), ICLR, arXiv:2006.06848"
    needs_data: ClassVar[bool] = True

    mode: Literal["recourse", "clue"] = "recourse"
    lx: float | None = None
    ly: float = 0.0
    lt: float = 1.0
    delta: float | None = None
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
        if self.mode not in ("recourse", "clue"):
            raise MethodError(f"'{self.name}' has mode={self.mode!r}. Choose 'recourse' or 'clue'.")
        check_latent(self)
        for field in ("lx", "ly", "lt"):
            value = getattr(self, field)
            if value is not None and value < 0:
                raise MethodError(f"'{self.name}' has {field}={value}. Use 0 or more.")
        if self.delta is not None and not self.delta > 0:
            raise MethodError(f"'{self.name}' has delta={self.delta}. Use a radius above 0, or None.")

    def _fit(self, problem: Problem) -> None:
        self.sure_ = problem.target.interval is None and problem.model.access > Access.LABEL
        if self.mode == "clue" and not self.sure_:
            raise UnsupportedModel(
                f"'{self.name}' with mode='clue' needs class probabilities, and {problem.model.name} gives none. "
                "Use mode='recourse'."
            )
        self.lx_ = 4.0 / problem.schema.d if self.lx is None else self.lx
        self.latent_ = latent_of(self, problem, "vae" if self.mode == "clue" else "cvae")

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        plan = Plan(
            objective=self._objective,
            how=Descend(steps=self.steps, rate=self.rate, radius=self.delta, flat=self.mode == "clue"),
            weight=self.lt,
            rounds=1 if self.mode == "clue" else self.rounds,
            growth=4.0,
            starts=self.starts,
            scatter=self.scatter,
            partial=self.adopt == "part",
            shrink=self.shrink and self.adopt == "part",
            complete=self.complete and self.adopt == "part" and self.mode == "recourse",
            tag=43_000,
        )
        return ways(self.latent_, people, k, streams, 20_000 if budget.rows is None else budget.rows, plan)

    def _objective(self, seen: Seen) -> Any:
        total = self.lx_ * seen.away
        if self.mode == "recourse":
            total = total + seen.weight * self.latent_.torch.nn.functional.softplus(-seen.score)
        if self.sure_:
            logs = seen.outputs.clamp(min=1e-12).log()
            total = total - (seen.outputs * logs).sum(1)
            if self.ly:
                total = total - self.ly * (seen.here * logs).sum(1)
        return total
