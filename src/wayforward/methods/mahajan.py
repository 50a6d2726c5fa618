"""mahajan: an autoencoder trained to decode near rows that turn the decision and keep causal constraints."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.errors import MethodError, shown
from wayforward.methods.base import Budget
from wayforward.methods.engines.amortised.causal_vae import CausalVae, CausalVaeReport, CausalVaeSettings
from wayforward.methods.engines.amortised.perturbation import TrainingScore
from wayforward.methods.engines.gradient.relaxed_state import range_costs, range_widths
from wayforward.methods.engines.latent.adoption import proposed_options
from wayforward.methods.engines.latent.search import Latent
from wayforward.methods.engines.latent.settings import DecodedSettings
from wayforward.methods.settings import check_least, check_positive
from wayforward.public import public
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.density.generative import Generator
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams


@public
@dataclass
class Mahajan(DecodedSettings):
    """Train an autoencoder so that what it decodes is near, turns the decision, and keeps causal constraints.

    The shared autoencoder of the problem's people goes on learning on the refused alone: proximity (a feature that has
    causes in the problem's world is measured from what its causes lead to), a hinge on the decision's probability,
    penalties for features that go against their direction (unary constraints: age only rises) and for effects that
    do not rise with their causes (binary ones, `raises`), and the KL term. Then everybody is decoded in one pass: their
    own code, and `draws` more from what the encoder says of them, with half of the features held. The model's own
    network is learned through where it has one, else a small one that is taught to answer like it.

    raises: {cause: effect}, such as {"education": "age"}: if the cause rises, the effect must rise by at least the
    slope of a line fitted to the problem's table for each unit; both must have an order. Options keep that as a rule,
    which the judge does not know; give it to the schema (`with_rules`) where every method is to keep it. `slopes_` says
    how steep.

    Not published: the networks begin as those of the shared autoencoder; features are held in the draws; of a decoded
    row only what helps is adopted, and the end is that of all searches here (adopt, shrink, complete). As published:
    ``Mahajan(draws=0, adopt="all")`` with ``minimal=False``.

    margin: of the hinge, in p(yes) - p(no). weight, kl, unary, binary: of the losses beside the proximity; causal: 0
    takes the plain distance for what has causes. tuning: epochs over at most `people` of the refused, in batches of
    `batch`, by Adam at `rate`. train_seed: of everything random in training. latent, epochs: of the shared autoencoder
    before; generator: a trained one of this method (`generator_`, with `save_generator` and `load_generator`), used as
    it is. device: where it decodes, see `device_of`. `report_` says how the training went. Default budget: 4,000 model
    rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``Mahajan(raises={"education": "age"}).fit(problem).recommend(refused)``.
    Raises: ProblemError from `fit` without observed people, or without refused ones who may act; MethodError for
    features in `raises` without an order; MissingExtra without torch; DeviceError.
    Source: D. Mahajan, C. Tan, A. Sharma (2019), Preserving Causal Constraints in Counterfactual Explanations for
    Machine Learning Classifiers, arXiv:1912.03277.
    """

    name: ClassVar[str] = "mahajan"
    summary: ClassVar[str] = (
        "decoded rows of an autoencoder that learns decisions and causal constraints; one pass"
    )
    citation: ClassVar[str] = "Mahajan, Tan & Sharma (2019), arXiv:1912.03277"
    chunk: ClassVar[int] = 16_384

    _: KW_ONLY
    tuning: int = 25
    batch: int = 256
    people: int = 4096
    rate: float = 3e-3
    margin: float = 0.165
    weight: float = 42.0
    kl: float = 0.1
    unary: float = 20.0
    binary: float = 20.0
    causal: float = 1.0
    draws: int = 7
    train_seed: int = 0
    raises: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(
            self, tuning=1, batch=1, people=1, draws=0, margin=0, weight=0, kl=0, unary=0, binary=0, causal=0
        )
        check_positive(self, "rate")
        if not (self.raises is None or isinstance(self.raises, Mapping)):
            raise MethodError(
                f"'{self.name}' has raises={shown(self.raises)}. Give {{cause: effect}}, such as "
                '{"education": "age"}.'
            )

    @property
    def _keeps_more(self) -> bool:
        return bool(self.raises)

    def _fit(self, problem: Problem) -> None:
        self.slopes_ = {pair: _slope(problem, *pair, self.name) for pair in (self.raises or {}).items()}
        self.report_: CausalVaeReport | None = None
        self.asking_, self.latent_, self.generator_ = problem, None, None
        base = self._generator(problem, "cvae")
        if base is None:
            return
        at = problem.schema.index
        raises = [(at(cause), at(effect), slope) for (cause, effect), slope in self.slopes_.items()]
        own = {f.name: getattr(self, f.name) for f in fields(CausalVaeSettings) if hasattr(self, f.name)}
        settings = CausalVaeSettings(**own | {"epochs": self.tuning, "seed": self.train_seed})

        def train() -> tuple[Generator, CausalVaeReport]:
            model = deepcopy(base)
            span = range_widths(problem)
            through = TrainingScore(problem, self.name, seed=self.train_seed)
            space = Latent(
                problem, model, self.name, span=span, price=range_costs(problem, span), descent=through
            )
            return model, CausalVae(space, settings, raises).train()

        self.generator_ = base
        if self.generator is None:
            key = ("causal-vae", settings, tuple(raises), id(base))
            self.generator_, self.report_ = problem.shared(key, train)
        self.latent_ = self._latent_of(problem, self.generator_)
        if raises:
            rules = [_rule(cause, effect, slope) for (cause, effect), slope in self.slopes_.items()]
            self.asking_ = problem.with_(schema=problem.schema.with_rules(*rules))

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(4000)
        if self.asking_ is not self.problem_:
            people = _under_rules(people, self.asking_)
        proposals = self.proposals(people, streams, min(1 + self.draws, limit))
        return proposed_options(people, proposals, k, people.rows + limit, self, most=2 + k)

    def proposals(self, people: Population, streams: Streams, passes: int = 1) -> Actions:
        """Return the decoded rows (n, passes, d) as actions, judged by nobody, within everybody's limits: that of the
        person's own code first, then those of draws around it."""
        assert self.latent_ is not None and self.generator_ is not None
        latent, everybody = self.latent_, np.arange(people.n)
        can = people.free & ~(np.isnan(people.x) & latent.numbers)
        z = latent.encode(people.x)
        wide = np.exp(0.5 * self.generator_.encode_spread(people.x).double().cpu().numpy())
        out = []
        for turn in range(passes):
            free, away = can, np.zeros(z.shape)
            if turn:
                away = streams.normal(everybody, z.shape[1], tag=52_000 + turn)
                free = can & (streams.uniform(everybody, people.d, tag=53_000 + turn) < 0.5)
            out.append(latent.decoded(people, everybody, free, z + wide * away))
        return np.stack(out, axis=1)


def _slope(problem: Problem, cause: str, effect: str, method: str) -> float:
    """Return how much an effect rises with a cause in the problem's table, units for each unit, at least 0."""
    schema = problem.schema
    for name in (cause, effect):
        if name not in schema.names or not schema.ordered[schema.index(name)] or cause == effect:
            raise MethodError(
                f"'{method}' has raises={{'{cause}': '{effect}'}}. Give two features of the schema that have an order: "
                f"{', '.join(n for n, ok in zip(schema.names, schema.ordered, strict=True) if ok)}."
            )
    u, v = (problem.require_reference()[:, schema.index(name)] for name in (cause, effect))
    known = ~np.isnan(u) & ~np.isnan(v)
    spread = float(np.var(u[known])) if known.any() else 0.0
    if spread <= 0:
        raise MethodError(
            f"'{method}' cannot fit a line from '{cause}' to '{effect}': '{cause}' is the same for everybody in the "
            "problem's table. Leave the pair out of raises."
        )
    return max(0.0, float(np.cov(u[known], v[known], bias=True)[0, 1]) / spread)


def _rule(cause: str, effect: str, slope: float) -> str:
    return f"change.`{cause}` > 0 implies change.`{effect}` >= {slope:.12f} * change.`{cause}`"


def _under_rules(people: Population, problem: Problem) -> Population:
    """Return the same people facing a problem with more rules; rows are counted together."""
    some = problem.population(people.x, people.wishes)
    some.aim, some.best, some.rows = people.aim, people.best, people.rows
    return some
