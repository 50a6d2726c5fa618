"""sedc-t: change as few units as make the model decide for a given class, by its lead over the class of today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.edits import EditSearch, Replacements, by_score
from wayforward.methods.engines.reference_values import reference_values
from wayforward.methods.sedc import Sedc
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.problem.population import Worth
    from wayforward.streams import Streams


@public
@dataclass
class SedcT(Sedc):
    """Set units to a reference value, best first: expand the set with the largest lead of the wanted class.

    The lead is p(wanted class) - p(class that the model gives now), which may be neither where there are three or more;
    of two classes it is `sedc`. A unit is a segment or a cell of an image (`wf.ImageProblem`), a word of a text or a
    feature of a table. The search ends where the model decides for the wanted class, which is the problem's target.

    reference, most, expansions: as of `sedc`. complete: where the lead leads nowhere, a third class in between, search
    once more by the score, the lead over the best other class; not part of the published method. Default budget: 50,000
    model rows a person.
    The method is an extension of `sedc`, which is covered by US patent 9,836,455 B2.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.ImageProblem(model, images, favourable="8").recommend(images, method="sedc-t", k=3)``.
    Source: T. Vermeire, D. Brughmans, S. Goethals, R. Mazzine Barbossa de Oliveira, D. Martens (2022), Explainable
    Image Classification with Evidence Counterfactual, Pattern Analysis and Applications 25; arXiv:2004.07511.
    """

    name: ClassVar[str] = "sedc-t"
    summary: ClassVar[str] = (
        "replaces few parts of an image, or few values, by their lead for the wanted class"
    )
    citation: ClassVar[str] = "Vermeire et al. (2022), PAA 25, arXiv:2004.07511"

    complete: bool = True

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(50_000)
        value = reference_values(people, self.row_)
        search = EditSearch(
            people, Replacements.of(value), "score", self.most, self.expansions, self._lead(people)
        )
        found = search.run(k, cap)
        if not self.complete:
            return found
        return by_score(people, value, found, cap, most=self.most, expansions=self.expansions)

    def _lead(self, people: Population) -> Worth | None:
        """p(wanted) - p(class of today) of outputs; None for a prediction, which has no class."""
        target = people.problem.bound_target
        if target.target.interval is not None:
            return None
        others = np.delete(np.arange(target.n_classes), target.columns)
        own = others[people.outputs(np.arange(people.n), people.x)[:, others].argmax(1)]
        return lambda who, outputs: target.value(outputs) - outputs[np.arange(len(who)), own[who]]
