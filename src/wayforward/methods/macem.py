"""macem: the elastic-net change of `cem` for any model, with categories by their frequency or by drawn levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wayforward.methods.cem import Cem
from wayforward.methods.engines.gradient.categories import Frequencies, Sampled
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.settings import check_choices, check_least
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Problem


@public
@dataclass
class Macem(Cem):
    """The elastic-net change of `cem` by asking alone: slopes are estimated, and categories have ways of their own.

    categories: 'frequency' (FMA), a level is as far away as its share among accepted people differs, and a search moves
    along these shares: 2 rows a category and step however many levels it has, but levels of equal share are one;
    'sampled' (SSA), a search holds a point on the simplex of levels, stands at levels drawn from it, and learns what
    levels are worth from `draws` rows around it whose other levels are drawn by frequency. `cem` tries every
    level of every category at each step instead. Levels with an order are tried one by one under 'frequency'.

    draws: rows of a step under 'sampled'. Other parameters, what pertinent negatives add (only='add'),
    `pertinent_positives`, and what is not part of the published method: as in `cem`.
    Default budget: 20,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="macem", categories="frequency")``.
    Source: A. Dhurandhar, T. Pedapati, A. Balakrishnan, P.-Y. Chen, K. Shanmugam, R. Puri (2019), Model Agnostic
    Contrastive Explanations for Structured Data, arXiv:1906.00117.
    """

    name: ClassVar[str] = "macem"
    summary: ClassVar[str] = "cem by asking alone, with categories by their frequency or by drawn levels"
    citation: ClassVar[str] = "Dhurandhar et al. (2019), arXiv:1906.00117"
    needs_data: ClassVar[bool] = True

    estimate: bool | None = field(default=True, init=False)
    categories: Literal["frequency", "sampled"] = "sampled"
    draws: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, categories=("frequency", "sampled"))
        check_least(self, draws=1)

    def _slopes(self, problem: Problem) -> Any:
        if self.categories == "frequency":
            return Frequencies(problem, range_widths(problem))
        return Sampled(problem, range_widths(problem), draws=self.draws)
