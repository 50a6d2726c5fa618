"""ibr: growing shells in a latent space from which people's group cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.density.generative import Generator
from wayforward.density.generative.adversary import Form
from wayforward.density.grouping import present_groups, resolve_groups, revealing
from wayforward.errors import MethodError
from wayforward.methods.c_chvae import CChvae
from wayforward.methods.settings import check_choices
from wayforward.problem.learned import fit_generator
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.problem import Problem


@public
@dataclass
class Ibr(CChvae):
    """Implicit balanced recourse: `c-chvae` in an autoencoder whose z says as little as can be about the group.

    A conditional autoencoder learns from the problem's reference people, without their group; an adversary beside it
    learns to read the group off z, and the encoder pays for being read. What is decoded around a person is then the
    same for people who differ in their group only, so people of all groups are led to the same region. Everything else
    is as in `c-chvae`, with whole decoded rows of the first shell that has any: sparser ones would lead back to
    where the person's group is.

    groups: `Groups` of the people in the problem's table, or the name of a feature; None: the one sensitive feature.
    beta: weight of the adversary against the evidence lower bound in nats. adv: 'loglik', as published, pays for right
    answers of the adversary; 'entropy' for sure ones, which is bounded and here leaves more of the group in z. Other
    parameters: as in `c-chvae`.
    Default budget: 4,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Raises: DataError for what is no group; ProblemError where it is not clear which groups are meant.
    Example: ``wf.recommend(problem, refused, method="ibr", groups="sex", seed=0)``.
    Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, section 5.2.
    """

    name: ClassVar[str] = "ibr"
    summary: ClassVar[str] = (
        "nearest accepted row that an autoencoder decodes whose latent space does not tell people's group"
    )
    citation: ClassVar[str] = "Gao & Lakkaraju (2023), ICML, section 5.2"

    partial: float = 0.0
    further: int = 0
    shrink: bool = False
    groups: Groups | str | None = field(default=None, repr=False)
    beta: float = 10.0
    adv: Form = "loglik"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.beta, bool) or not self.beta >= 0 or not np.isfinite(self.beta):
            raise MethodError(f"'{self.name}' has beta={self.beta!r}. Use 0 (nobody listens) or more.")
        check_choices(self, adv=("entropy", "loglik"))

    @property
    def _keeps_more(self) -> bool:
        return True  # the balance of all answers

    def _learn(self, problem: Problem) -> Generator:
        rows = problem.require_reference()
        groups = present_groups(resolve_groups(self.groups, problem.schema, rows))
        given = problem.never_moves
        return fit_generator(
            "ibr",
            problem,
            labels=groups.member,
            hide=revealing(groups, problem.schema, rows, given),
            weight=float(self.beta),
            form=self.adv,
            **self._training(),
        )
