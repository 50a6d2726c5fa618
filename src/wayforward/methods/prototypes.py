"""guided-prototypes: an elastic-net change that is drawn to people whom the model accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.errors import MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient import elastic
from wayforward.methods.engines.gradient.fista import Goal, May
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_costs
from wayforward.methods.engines.gradient.slopes import slopes
from wayforward.methods.settings import check_choices, check_least, check_positive, slope_source
from wayforward.model import Access
from wayforward.neighbours import NeighbourIndex
from wayforward.shapes import Actions, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@dataclass
class GuidedPrototypes(Method):
    """An elastic-net change (as in `cem`) that a prototype of the accepted people draws towards itself.

    prototypes: 'neighbour', the accepted reference person who is k-th nearest, and the search stays in the space of
    features; 'latent', what an autoencoder makes of the mean of the k nearest accepted people in its latent space
    (extra ``torch``; the distance is then taken between decoded rows, not between codes as published). theta: its pull.
    gamma: pull of what the autoencoder makes of the row itself. trust: keep only rows that are this much nearer to
    accepted than to refused people (a trust score; 0: no such condition). levels: another category costs 1 ('plain'),
    or as much as the accepted shares of the two levels differ ('mvdm', the greatest difference of a feature is 1).

    c = 0 drops the model from the objective: the prototype alone guides, and what does not reach is completed. Other
    parameters, estimates for models without gradients, complete and shrink: as in `cem`.
    Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="guided-prototypes", theta=1.0)``.
    Source: A. Van Looveren, J. Klaise (2021), Interpretable Counterfactual Explanations Guided by Prototypes, ECML
    PKDD, arXiv:1907.02584; trust: H. Jiang et al. (2018), To Trust Or Not To Trust A Classifier, NeurIPS.
    """

    name: ClassVar[str] = "guided-prototypes"
    summary: ClassVar[str] = (
        "a sparse change by accelerated proximal steps, drawn to people whom the model accepts"
    )
    citation: ClassVar[str] = "Van Looveren & Klaise (2021), ECML PKDD, arXiv:1907.02584"
    needs: ClassVar[int] = Access.LABEL
    needs_data: ClassVar[bool] = True

    beta: float = 0.1
    theta: float = 0.5
    gamma: float = 0.0
    k_nearest: int = 1
    prototypes: Literal["neighbour", "latent"] = "neighbour"
    levels: Literal["plain", "mvdm"] = "plain"
    trust: float = 0.0
    margin: float = 0.1
    c: float = 1.0
    constants: int = 6
    steps: int = 48
    rate: float = 0.1
    estimate: bool | None = None
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_positive(self, "rate")
        check_least(self, constants=1, steps=1, k_nearest=1, beta=0, margin=0, gamma=0, theta=0, trust=0, c=0)
        check_choices(self, prototypes=("neighbour", "latent"), levels=("plain", "mvdm"))

    @property
    def _keeps_more(self) -> bool:
        return self.trust > 0

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = slopes(problem, self.name, zeroth=self.estimate)
        self.price_ = range_costs(problem, self.slopes_.span)
        self.accepted_ = np.unique(problem.reference_accepted, axis=0)
        self.near_ = NeighbourIndex(problem.schema, self.accepted_, metric="l2")
        self.generator_: Any = None
        if self.prototypes == "latent" or self.gamma > 0:
            from wayforward.problem.learned import fit_generator

            self.generator_ = fit_generator("cvae", problem)
            self.codes_ = self.generator_.encode(self.accepted_).double().cpu().numpy()
        if self.trust > 0:
            refused = problem.require_reference()[~problem.reference_reached]
            if not len(refused):
                raise MethodError(
                    f"'{self.name}' has trust={self.trust}, and the table holds nobody who is refused."
                )
            self.far_ = NeighbourIndex(problem.schema, refused, metric="l2")
        self.level_price_ = mvdm(problem) if self.levels == "mvdm" else None

    def parameters(self) -> dict[str, Any]:
        """Return the method's own settings, and, once fitted, where its slopes come from."""
        return {**super().parameters(), **slope_source(self)}

    def prototype(self, x: Rows) -> Rows:
        """Return the prototypes (n, d) of people (n, d), feature units."""
        if self.prototypes == "neighbour":
            row = self.near_.query(x, min(self.k_nearest, len(self.accepted_))).row[:, -1]
            return np.asarray(self.accepted_[row])
        here = self.generator_.encode(x).double().cpu().numpy()
        mean = np.empty_like(here)
        k, square = min(self.k_nearest, len(self.codes_)), np.square(self.codes_).sum(1)
        for begin in range(0, len(x), 256):
            some = here[begin : begin + 256]
            # einsum without BLAS: a person's nearest must not hang on who else is asked about
            apart = square - 2 * np.einsum("mz,nz->mn", some, self.codes_)
            nearest = np.argsort(apart, axis=1, kind="stable")[:, :k]
            mean[begin : begin + 256] = self.codes_[nearest].mean(1)
        torch = self.generator_.torch
        return np.asarray(self.generator_.rows(torch.as_tensor(mean, dtype=torch.float32), x))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        goal = self.prototype(people.x)

        def goals(state: RelaxedState) -> tuple[Goal, ...]:
            move, share = elastic.coordinates(self.slopes_, people, state, goal[state.who])
            found = [Goal(self.theta, move, share)]
            if self.gamma > 0:
                found.append(elastic.reconstruction(self, self.generator_, people, state, self.gamma))
            return tuple(found)

        limit = budget.rows_or(20_000)
        may = self._trusted(people) if self.trust > 0 else None
        table = self.level_price_
        away = None if table is None else lambda own: (own[..., None] * table).sum(2)
        return elastic.options(self, people, k, limit, goals, may, away)

    def _trusted(self, people: Population) -> May:
        """Return a test of actions: is the row `trust` times nearer to accepted than to refused people?"""

        def trusted(who: np.ndarray, action: Rows) -> np.ndarray:
            after = people.after(who, action)
            own, other = (index.query(after, 1).distance[:, 0] for index in (self.near_, self.far_))
            return np.asarray(other / (own + 1e-10) > self.trust)

        return trusted


def mvdm(problem: Problem) -> np.ndarray:
    """Return (f, l, l) how far the levels of each feature lie apart: by the share of people that the model accepts.

    Scaled so that the two most different levels of a feature are 1 apart; ordered levels keep their order's distance.
    Source: C. Stanfill, D. Waltz (1986), Toward Memory-Based Reasoning, Commun. ACM 29(12) (value difference metric).
    """
    schema, rows, yes = problem.schema, problem.require_reference(), problem.reference_reached
    level = np.flatnonzero(schema.has_levels)
    size = schema.n_levels[level] + np.asarray(schema.missing, dtype=np.int64)[level]
    wide = int(size.max(initial=1))
    out = np.zeros((len(level), wide, wide))
    place = np.arange(wide)
    for f, j in enumerate(level):
        if schema.ordered[j]:
            out[f] = np.minimum(np.abs(place[:, None] - place) / max(schema.n_levels[j] - 1, 1), 1.0)
            continue
        code = np.where(np.isnan(rows[:, j]), size[f] - 1, np.nan_to_num(rows[:, j])).astype(np.int64)
        many = np.bincount(code, minlength=wide)
        share = (np.bincount(code, weights=yes, minlength=wide) + yes.mean()) / (many + 1)
        apart = np.abs(share[:, None] - share)
        out[f] = apart / max(apart[: size[f], : size[f]].max(), 1e-12)
    return out
