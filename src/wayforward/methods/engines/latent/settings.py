"""Settings that the methods which search a latent space share, and what follows from them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient.relaxed_state import range_costs, range_widths
from wayforward.methods.engines.latent.search import Latent
from wayforward.methods.settings import check_choices, check_least, check_positive
from wayforward.problem.learned import fit_generator

if TYPE_CHECKING:
    from wayforward.density.generative import Generator, Kind
    from wayforward.problem import Problem


@dataclass
class DecodedSettings(Method):
    """A method whose options come from rows that a generative model of people decodes.

    adopt: 'part' takes over only the changes of a decoded row that help, 'all' the whole row. shrink: then trade
    changes for cheaper ones; complete: people without an option go on by single changes. latent, epochs: of the model;
    generator: a trained one instead. device: see `device_of`.
    """

    needs_data: ClassVar[bool] = True

    _: KW_ONLY
    adopt: Literal["part", "all"] = "part"
    shrink: bool = True
    complete: bool = True
    latent: int | None = None
    epochs: int | None = None
    device: str | None = None
    generator: Generator | None = None

    def __post_init__(self) -> None:
        check_least(self, latent=1, epochs=1)
        check_choices(self, adopt=("part", "all"))

    @property
    def partial(self) -> bool:
        """True if only what helps of a decoded row is adopted."""
        return self.adopt == "part"

    @property
    def shrinks(self) -> bool:
        """True if options are polished."""
        return self.shrink and self.partial

    @property
    def completes(self) -> bool:
        """True if people without an option go on by single changes."""
        return self.complete and self.partial

    def _generator(self, problem: Problem, kind: Kind) -> Generator | None:
        """Return the method's own generator, or one trained on the problem's reference; None where nobody may ever act
        on anything."""
        if self.generator is not None:
            return self.generator
        if not problem.schema.actionable.any():
            return None
        sizes = {"latent": self.latent, "epochs": self.epochs}
        given: dict[str, Any] = {key: value for key, value in sizes.items() if value is not None}
        return fit_generator(kind, problem, problem.require_reference(), device=self.device, **given)

    def _latent_space(self, problem: Problem, kind: Kind, *, zeroth: bool | None = None) -> Any:
        """Return the `Latent` search with the generator; None where nobody may ever act on anything.

        Distances are L1 over the scales of the problem's cost. zeroth: see `Latent`.
        """
        generator = self._generator(problem, kind)
        return None if generator is None else self._latent_of(problem, generator, zeroth=zeroth)

    def _latent_of(self, problem: Problem, generator: Generator, *, zeroth: bool | None = True) -> Latent:
        """Return the `Latent` search with a generator."""
        span = range_widths(problem)
        return Latent(
            problem, generator, self.name, span=span, price=range_costs(problem, span), device=self.device,
            zeroth=zeroth,
        )  # fmt: skip


@dataclass
class LatentSettings(DecodedSettings):
    """A method that searches the latent space of a generative model of people: `Revise`, `Clue`, `Cruds`.

    steps, rate: of Adam, a round. rounds: of ever larger weight of the decision. starts: random starts beside the
    encoded one, `scatter` standard deviations wide. tag: of the random numbers. The others: see `DecodedSettings`.
    """

    tag: ClassVar[int]

    _: KW_ONLY
    steps: int = 60
    rate: float = 0.2
    rounds: int = 4
    starts: int = 0
    scatter: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, steps=1, rounds=1, starts=0)
        check_positive(self, "rate", "scatter")

    def _limit(self, budget: Budget) -> int:
        """Return the model rows that each person and option may take."""
        return budget.rows_or(20_000)
