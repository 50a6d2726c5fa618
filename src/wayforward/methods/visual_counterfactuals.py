"""visual-counterfactuals: swap cells with an image that has the wanted answer, the best swap first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.distractors import FromDistractors, distractor_values
from wayforward.methods.engines.edits import EditSearch, Replacements, Swaps
from wayforward.methods.settings import check_least
from wayforward.problem.batching import distinct_changes
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.problem.population import Worth
    from wayforward.streams import Streams

_TINY = 1e-300


@public
@dataclass
class VisualCounterfactuals(FromDistractors):
    """Replace one part after another by a part of a distractor, which has the wanted answer, until the decision turns.

    Each time the swap with the largest log-probability of the wanted class is made, and none is taken back. For an
    image (`wf.ImageProblem`) parts are cells: with `replace="cells"` any cell of the distractor may take any place,
    each once, as published; with "distractor" each takes its own place. In a table parts are features, and the
    distractor is the nearest person with the wanted answer, moved onto what one may do. Where parts keep their places
    the last swap makes the distractor itself, so that who has a usable one is served; for an additive score the number
    of swaps is the smallest. Published for the features of a layer of a network; here cells are those of the image.

    most: swaps at most; None: as many as there are parts. Default budget: 50,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.ImageProblem(model, images, favourable=8, replace="cells").recommend(images[:3],
    method="visual-counterfactuals")``.
    Raises: ProblemError from `fit` where there is neither a table nor a unit.
    Source: Y. Goyal, Z. Wu, J. Ernst, D. Batra, D. Parikh, S. Lee (2019), Counterfactual Visual Explanations, ICML;
    arXiv:1904.07451.
    """

    name: ClassVar[str] = "visual-counterfactuals"
    summary: ClassVar[str] = (
        "swaps cells of an image, or values, with one that has the wanted answer, best first"
    )
    citation: ClassVar[str] = "Goyal et al. (2019), ICML, arXiv:1904.07451"
    chunk: ClassVar[int] = 256

    most: int | None = None

    def __post_init__(self) -> None:
        check_least(self, most=1)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(50_000)
        cap, most = people.rows + limit, people.d if self.most is None else self.most
        target = people.problem.bound_target

        def chance(who: np.ndarray, outputs: np.ndarray) -> np.ndarray:
            return np.asarray(np.log(np.maximum(target.value(outputs), _TINY)))

        worth = chance if target.target.interval is None else None
        if self.others_ is None:
            return self._search(people, Swaps.of(people), worth, most).run(k, cap)
        goal = distractor_values(people, self.others_, k, limit)
        found = [
            self._search(people, Replacements.of(goal[:, slot]), worth, most).run(1, cap) for slot in range(k)
        ]
        who, slot = np.nonzero(~np.isnan(np.concatenate(found, axis=1)).all(2))
        return distinct_changes(people, who, np.concatenate(found, axis=1)[who, slot], k)

    def _search(
        self, people: Population, edits: Swaps | Replacements, worth: Worth | None, most: int
    ) -> EditSearch:
        return EditSearch(people, edits, "score", most, most, worth, greedy=True)
