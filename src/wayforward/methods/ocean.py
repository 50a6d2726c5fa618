"""ocean: the cheapest options against an ensemble of trees, in order of cost and proved, or a proof of none."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.exact.forest_boxes import BOXES, ForestBoxes
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.tree_regions import forest_of
from wayforward.methods.settings import check_least
from wayforward.model import Access, kernels
from wayforward.public import public
from wayforward.shapes import Actions, Mask
from wayforward.world import Independent

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_FEWER = 1e-9  # of a range: what one more change costs beside, so that of equal options that with fewer comes first


@public
@dataclass
class Ocean(Method):
    """Find the cheapest options against a forest or boosted trees, one after another, or prove that there are none.

    The question is that of the published method, the cheapest legal profile that the ensemble itself accepts; the
    answer comes from branch and bound over boxes in compiled code (see `ForestBoxes`) and not from a mixed-integer
    program. Exact on every value that the schema allows, as far as a search goes (the observed range where a feature
    has no bound): rules that are linear, about levels or about changes, personal limits and the number of changes are
    part of the search. A later option is the cheapest that does not change all that an earlier one changes; of equal
    ones that with fewer changes comes first. The cost is a sum of steps (L0, L1, squared L2, and mixes of them), the
    greatest step, or the Euclidean norm.

    `NONE_EXISTS` is a proof for all that the judge allows. Whoever needs more boxes than there are has NOT_FOUND.
    Plausibility by an isolation forest (`wayforward.problem.IsolationForest`) is part of the search and of the proofs,
    as in the published method: the mean path length of an option reaches a threshold, or at least the person's own.
    Where rules are of another form, or the problem asks for other plausibility or for robustness, what is found is
    judged and may be refused; where something follows from an act, options are guessed as if nothing did, and gone on
    from: the method is then a heuristic. `certify=True` of `wf.recommend` tells the bound.

    boxes: looked at for a person and option. Default budget: 20,000 model rows a person, for guesses only.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="ocean", k=3, certify=True)``.
    Raises: UnsupportedModel for a model that shows no trees; ProblemError for another cost, or several outputs;
    MissingExtra without numba (the extra `fast`).
    Source: A. Parmentier, T. Vidal (2021), Optimal Counterfactual Explanations in Tree Ensembles, ICML;
    arXiv:2106.06631.
    """

    name: ClassVar[str] = "ocean"
    summary: ClassVar[str] = (
        "forests and boosted trees: the cheapest options, proved, or a proof that none exist"
    )
    citation: ClassVar[str] = "Parmentier & Vidal (2021), ICML, arXiv:2106.06631"
    needs: ClassVar[int] = Access.LABEL
    exact: ClassVar[bool] = True

    boxes: int = BOXES

    def __post_init__(self) -> None:
        check_least(self, boxes=1)

    def _fit(self, problem: Problem) -> None:
        forest_of(problem, self.name)
        kernels.require_jit(f"'{self.name}'")
        self.sure_ = problem.independent and problem.robust is None
        boxes = ForestBoxes.of(problem if self.sure_ else as_if_nothing_followed(problem))
        if boxes is None:
            raise ProblemError(
                f"'{self.name}' adds up steps, or takes the greatest or their Euclidean norm, against a score with one "
                f"output; {problem.model.name} with a cost in {problem.cost.unit} is not of that kind. Use a cost such "
                "as LpMix(l1=1.0), or local-search."
            )
        boxes.number[0] += _FEWER  # the search's own copy: bounds that are told are of the cost itself
        self.boxes_ = boxes

    def _recommend(
        self, people: Population, k: int, streams: Streams, budget: Budget
    ) -> tuple[Actions, Mask]:
        out, none = np.full((people.n, k, people.d), np.nan), np.zeros(people.n, dtype=bool)
        open_ = np.arange(people.n)
        for option in range(k):
            got, earlier = np.full((open_.size, people.d), np.nan), ~np.isnan(out[open_, :option])
            keys = np.packbits(earlier.reshape(open_.size, -1), axis=1)
            alike = (
                np.unique(keys, axis=0, return_inverse=True)[1].ravel()
                if option
                else np.zeros(open_.size, int)
            )
            for which in range(int(alike.max(initial=-1)) + 1):
                at = np.flatnonzero(alike == which)
                boxes = self.boxes_ if not option else self.boxes_.apart_from(earlier[at[0]])
                some = people.take(open_[at])
                found = boxes.search(some, limit=self.boxes)
                got[at] = np.where(people.schema.differs(found.after, some.x), found.after, np.nan)
                there = at[~np.isnan(got[at]).all(1)]
                people.propose(open_[there], got[there])
                if not option:
                    none[open_[at]] = found.proved & self.sure_
            out[open_, option] = got
            open_ = open_[~np.isnan(got).all(1)]
            if not open_.size:
                break
        if self.sure_:
            return out, none
        who, slot = np.nonzero(~np.isnan(out).all(2))
        cap = people.rows + budget.rows_or(20_000)
        return finished(people, who, out[who, slot], k, cap=cap, go_on=True, shrink=True), none


def as_if_nothing_followed(problem: Problem) -> Problem:
    """Return a copy in which acts move nothing else, and in which the decision alone is asked for."""
    other = copy(problem.asking_no_more())
    other.world, other.independent = Independent().bind(problem.schema), True
    return other
