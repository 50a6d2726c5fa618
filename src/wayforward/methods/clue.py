"""clue: move to where the model is sure, through the latent space of a generative model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wayforward.errors import UnsupportedModel
from wayforward.methods.base import Budget
from wayforward.methods.engines.latent.adoption import descended_options
from wayforward.methods.engines.latent.search import AdamSteps, Terms
from wayforward.methods.engines.latent.settings import LatentSettings
from wayforward.methods.settings import check_choices, check_least, require_setting
from wayforward.model import Access
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Clue(LatentSettings):
    """Descend uncertainty + distance over the latent code of a variational autoencoder.

    mode 'clue' is the published objective: entropy of the model's outputs (nats) + lx x distance + ly x distance of
    outputs (cross-entropy between the model's outputs here and there). It explains uncertainty: it leads to where the
    model is sure, whichever way it decides, so of those refused surely only few are helped. mode 'recourse' adds
    lt x cross-entropy to the decision that the person wants, which grows fourfold up to `rounds` times while the
    decision does not turn. In both, every hard row on the way that turns the decision counts, and the cheapest is kept.
    Every decoded row is projected on what the person may do. A regression, and a model that gives labels only, have
    no entropy: the term is left out, and mode 'clue' is refused. Models without gradients are searched along central
    differences over the latent dimensions, on hard rows that the model is asked about.

    delta: with a number, searches stay in a ball of this radius around the encoded person, and later options begin at
    random in it (delta-CLUE); None for anywhere. lx: None for 4 / number of features, as published. steps, rate: of
    Adam, a round; in mode 'clue' a search ends where its objective stays, as published. adopt, shrink, complete,
    starts, scatter, latent, epochs, generator: as for `revise`; with adopt='part' only the changes that help are taken
    over. Mode 'clue' is never completed. A step counts as one model row; default budget 20,000 a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="clue", k=3, delta=2.0)``.
    Raises: UnsupportedModel from `fit` for mode 'clue' without probabilities; ProblemError without observed people.
    Source: J. Antoran, U. Bhatt, T. Adel, A. Weller, J. M. Hernandez-Lobato (2021), Getting a CLUE,
    ICLR, arXiv:2006.06848; D. Ley, U. Bhatt, A. Weller (2022), Diverse, Global and Amortised Counterfactual
    Explanations for Uncertainty Estimates, AAAI, arXiv:2112.02646.
    """

    name: ClassVar[str] = "clue"
    summary: ClassVar[str] = (
        "descent in a latent space to where the model is sure, towards the wanted decision"
    )
    citation: ClassVar[str] = "Antoran, Bhatt, Adel, Weller & Hernandez-Lobato (2021), ICLR, arXiv:2006.06848"
    tag: ClassVar[int] = 43_000

    mode: Literal["recourse", "clue"] = "recourse"
    lx: float | None = None
    ly: float = 0.0
    lt: float = 1.0
    delta: float | None = None

    def __post_init__(self) -> None:
        check_choices(self, mode=("recourse", "clue"))
        super().__post_init__()
        check_least(self, lx=0, ly=0, lt=0)
        inside = self.delta is None or self.delta > 0
        require_setting(self, "delta", inside, "Use a radius above 0, or None.")

    def _fit(self, problem: Problem) -> None:
        self.sure_ = problem.target.interval is None and problem.model.access > Access.LABEL
        if self.mode == "clue" and not self.sure_:
            raise UnsupportedModel(
                f"'{self.name}' with mode='clue' needs class probabilities, and {problem.model.name} gives none. "
                "Use mode='recourse'."
            )
        self.lx_ = 4.0 / problem.schema.d if self.lx is None else self.lx
        self.latent_ = self._latent_space(problem, "vae" if self.mode == "clue" else "cvae")

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        published = self.mode == "clue"
        how = AdamSteps(steps=self.steps, rate=self.rate, radius=self.delta, flat=published)
        return descended_options(
            self.latent_, people, k, streams, self._limit(budget), self, objective=self._objective, how=how,
            weight=self.lt, rounds=1 if published else None, completes=not published,
        )  # fmt: skip

    def _objective(self, terms: Terms) -> Any:
        total = self.lx_ * terms.away
        if self.mode == "recourse":
            total = total + terms.weight * self.latent_.torch.nn.functional.softplus(-terms.score)
        if self.sure_:
            logs = terms.outputs.clamp(min=1e-12).log()
            total = total - (terms.outputs * logs).sum(1)
            if self.ly:
                total = total - self.ly * (terms.here * logs).sum(1)
        return total
