"""scout: rank parts by what speaks for today's class, not for the wanted one, where the model is sure; replace them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import UnsupportedModel
from wayforward.methods.base import Budget
from wayforward.methods.engines.distractors import FromDistractors, distractor_values
from wayforward.methods.engines.edits import by_score
from wayforward.methods.engines.gradient.descent import Descent
from wayforward.methods.engines.padding import padded_blocks
from wayforward.methods.engines.rankings import ranked_prefixes
from wayforward.methods.settings import check_least
from wayforward.model import Access
from wayforward.problem.batching import distinct_changes
from wayforward.public import public
from wayforward.shapes import Actions, Rows

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_EXPANSIONS = 50  # sets that are looked at beside the ranking


def discriminant(own: Rows, wanted: Rows, certain: Rows) -> Rows:
    """Return D (n, d): attributions to today's class where those to the wanted one are small, times those to certainty.

    own, wanted, certain (n, d): attributions, 0 or more.
    """
    return np.asarray(own * (wanted.max(-1, keepdims=True) - wanted) * certain)


class Attributions(Descent):
    """Gradient times the difference to a baseline, of a class score and of the model's certainty."""

    def __call__(self, people: Population, value: np.ndarray) -> tuple[Rows, Rows, Rows]:
        """value (n, d), the baseline, NaN where it is the person's own -> (n, d) each: class of today, wanted, certain.

        Below nought is nought. Counts two model rows a person.
        """
        torch, n, d = self.torch, people.n, people.d
        out = np.zeros((3, n, d))
        column = np.empty(self.network.width, dtype=np.int64)
        for block in self.network.blocks:
            column[block.columns] = block.feature
        place = torch.as_tensor(column, device=self.device)
        base = np.where(np.isnan(value), people.x, value)
        for rows, pad in padded_blocks(n, self.block):
            x, other = self._tensor(people.x[pad]), self._tensor(base[pad])
            code, there = (self.code(one, self.level_code(one)) for one in (x, other))
            code.requires_grad_(True)
            logits = self.network.logits(code)
            with torch.no_grad():
                goal = self.network.logits(there)[:, self.favourable].argmax(1)
            spans = logits[:, self.others].max(1).values, logits[:, self.favourable].gather(1, goal[:, None])
            sure = torch.softmax(logits, 1).max(1).values
            for i, height in enumerate((*spans, sure)):
                (slope,) = torch.autograd.grad(height.sum(), code, retain_graph=i < 2)
                part = torch.zeros(len(pad), d, dtype=self.dtype, device=self.device)
                part.index_add_(1, place, (code - there).detach() * slope)
                out[i, rows] = part.clamp(min=0).cpu().double().numpy()[: len(rows)]
        people.rows += 2
        return out[0], out[1], out[2]


@public
@dataclass
class Scout(FromDistractors):
    """Replace what tells today's class from the wanted one, the most telling first, until the decision turns.

    How much a part tells is D = q(today's class) * (max q(wanted class) - q(wanted class)) * q(certainty), where q is
    gradient times the difference to what would take its place, nought where that is below nought, and certainty is the
    largest probability. No search: two passes through the network for everybody at once, and one question about all
    prefixes of the ranking. Parts that tell nothing come last, by the difference of their q, so that a distractor that
    turns the decision is reached in the end. Published for activations of a network's last convolution, with the pair
    of regions, here and on a counter-example, as the answer; here the parts are those of the image, or features.

    What takes a part's place: in a table the value of the nearest person with the wanted answer, moved onto what one
    may do; of an image (`wf.ImageProblem`) what the problem says, such as the same place of a distractor.
    most: parts at most; None: as many as there are. complete: where no prefix of the ranking turns the decision, as
    where parts are blanked, look among other sets, best first by the score; not part of the published method. block:
    people in a pass. Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.ImageProblem(model, images, favourable=8, replace="distractor").recommend(images, method="scout")``.
    Raises: UnsupportedModel from `fit` without gradients, or for a prediction; ProblemError without table and units.
    Source: P. Wang, N. Vasconcelos (2020), SCOUT: Self-aware Discriminant Counterfactual Explanations, CVPR;
    arXiv:2004.07769.
    """

    name: ClassVar[str] = "scout"
    summary: ClassVar[str] = "replaces what tells today's class from the wanted one, by gradients alone"
    citation: ClassVar[str] = "Wang & Vasconcelos (2020), CVPR, arXiv:2004.07769"
    needs: ClassVar[int] = Access.GRADIENT

    most: int | None = None
    complete: bool = True
    block: int = 256

    def __post_init__(self) -> None:
        check_least(self, most=1, block=1)

    def _fit(self, problem: Problem) -> None:
        if problem.target.interval is not None:
            raise UnsupportedModel(
                f"'{self.name}' compares classes, and this model gives a prediction. Use 'sedc'."
            )
        super()._fit(problem)
        span = np.ones(problem.schema.d)
        self.attributions_ = Attributions(problem, self.name, device=None, span=span, block=self.block)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(20_000)
        cap = people.rows + limit
        goal = distractor_values(people, self.others_, k, limit)
        most = people.d if self.most is None else self.most
        found = np.full((people.n, 0, people.d), np.nan)
        for slot in range(k):
            value = goal[:, slot]
            if np.isnan(value).all():
                continue
            own, wanted, certain = self.attributions_(people, value)
            telling = discriminant(own, wanted, certain)
            place = np.lexsort(
                (np.broadcast_to(np.arange(people.d), telling.shape), wanted - own, -telling), axis=1
            )
            worth = np.empty_like(telling)
            np.put_along_axis(worth, place, np.arange(people.d, 0, -1.0)[None], axis=1)
            further = k if self.others_ is None else 1  # one distractor gives several options
            found = np.concatenate([found, ranked_prefixes(people, value, worth, further, most)], axis=1)
        if self.complete:
            found = by_score(people, goal[:, 0], found, cap, most=most, expansions=_EXPANSIONS)
        owner, option = np.nonzero(~np.isnan(found).all(2))
        return distinct_changes(people, owner, found[owner, option], k)
