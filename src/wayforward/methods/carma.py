"""carma: train two small networks once, then recommend to anybody in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import FileFormatError, MethodError
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.amortised import files
from wayforward.methods.engines.amortised.engine import Amortised, AmortisedSettings, Law
from wayforward.methods.engines.amortised.masks import cheapest, other_masks
from wayforward.methods.engines.amortised.report import Report
from wayforward.methods.engines.amortised.training import train
from wayforward.methods.settings import (
    check_choices,
    check_least,
    check_positive,
    check_table,
    require_setting,
)
from wayforward.plain_files import as_path
from wayforward.problem.batching import tidy
from wayforward.shapes import Actions, Rows
from wayforward.tensor_files import plain, require_same

if TYPE_CHECKING:
    from wayforward.preferences import Preferences
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

SEEDS = tuple(range(1000, 11_000, 1000))
Tick = Callable[[int, int], None]  # (epochs done, epochs in all)


@dataclass(frozen=True)
class Proposal:
    """What the networks propose, judged by nobody. action, after (n, d) feature units, action NaN where left alone.

    chance (n, d): how likely the mask network finds an act on each feature; 0 where the person cannot act.
    """

    action: Rows
    after: Rows
    chance: Rows


class TrainedMethod(Method):
    """What training leaves behind."""

    engine_: Amortised
    report_: Report


@dataclass
class Carma(TrainedMethod):
    """Train a mask network and an action network together, for a whole population, in a causal world.

    The mask network says which features to act on, the action network how far each one's latent (its noise, in
    standard deviations) moves; what follows comes out of the world. Trained on the refused people of the problem's
    table by effort, a pull of the masks towards a prior, and a hinge on the decision whose multiplier grows while
    people are still refused. Any differentiable model; others are learned by a small stand-in, used in training only.
    All seeds are trained together, and the networks that do best on validation answer: of those within `tie` of the
    best share of checked answers the best by plausibility (where it is asked for), then by mean cost.

    Features with an order can be acted on: numbers, integers, ordinal and binary levels. Categorical ones are left as
    they are. Wishes are kept (masks and limits), though these networks do not see them: `icarma` does. Rules of the
    schema are judged and not learned. Where the problem asks for balance between groups (`Balanced`), a small
    stand-in learns how balanced a place is, and the hinge counts the lesser of both; others are judged only.

    seeds: one network each. epochs, batch, rate, decay: of Adam. mask_layers x mask_width, action_layers x
    action_width: sizes. margin: how far beyond the decision to aim, in probability (p - (1 - p)). tau: temperature of
    the masks. cost, kl, plausibility, feasibility: weights of the losses; plausibility counts nats lost in the
    world's density, feasibility ranges beyond the reference. hinge: of the 'probability', as published, or 'logit'.
    damping: 'plus', or 'peer' for the sign in CARMA's code. implausible: each person's loss: nats lost ('hinge', as
    published), the log of one more ('log'), or 'nll'. Ours, and not in the paper (its values in brackets): cap, the
    greatest multiplier of the hinge (inf), so that people who cannot be helped do not drown the rest; likelier, a
    margin in nats (0); reach, shifts may span so many times the range of the training latents (1); sees_values, the
    networks also see the values themselves (False); schedule, a rate that falls as a cosine (constant); entropy, what
    the entropy of the masks counts for in the end, from 1 at the start (1), so that a prior can pull hard where it
    says something and not hold masks at chance where it says nothing.
    weights: name -> how hard a feature is for everybody (eq. 9); the prior of its mask is then 1 / (2 weight).
    validation: people to choose on; None sets a fifth of the refused apart (by `split_seed`). retry: where the own
    answer is not enough, and for further options, ask the action network with other masks, within the budget (default
    24 model rows a person). checkpoint: a file to go on from where a training was cut off. progress: told epochs.
    device: where both networks learn and answer, see `device_of`; None: where the model's network is. Random numbers
    hang on the seed alone, and files on no device.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``Carma(epochs=100).fit(problem).recommend(refused)``.
    Raises: from `fit`: ProblemError without a table or without refused people; MethodError if no actionable feature
    has an order; MissingExtra without torch; DeviceError.
    Source: A. Majumdar, I. Valera (2024), CARMA: A practical framework to generate recommendations for causal
    algorithmic recourse at scale, FAccT, doi:10.1145/3630106.3659003.
    """

    name: ClassVar[str] = "carma"
    summary: ClassVar[str] = "two networks, trained once, answer a whole population in a causal world"
    citation: ClassVar[str] = "Majumdar & Valera (2024), CARMA, FAccT, doi:10.1145/3630106.3659003"
    endless: ClassVar[tuple[str, ...]] = ("cap",)
    chunk: ClassVar[int] = 16_384
    sees_preferences: ClassVar[bool] = False

    seeds: Sequence[int] = SEEDS
    epochs: int = 100
    batch: int = 256
    rate: float = 0.005
    decay: float = 5e-4
    mask_layers: int = 3
    mask_width: int = 16
    action_layers: int = 3
    action_width: int = 32
    margin: float = 0.02
    tau: float = 0.36
    cost: float = 3.0
    kl: float = 0.02
    entropy: float = 1.0
    plausibility: float = 0.0
    feasibility: float = 0.1
    hinge: Literal["probability", "logit"] = "probability"
    damping: Literal["plus", "peer"] = "plus"
    cap: float = 10.0
    schedule: Literal["constant", "cosine"] = "cosine"
    implausible: Literal["hinge", "nll", "log"] = "log"
    likelier: float = 0.05
    reach: float = 1.5
    sees_values: bool = True
    weights: Mapping[str, float] | None = None
    validation: Any = None
    split_seed: int = 0
    tie: float = 0.005
    retry: bool = True
    checkpoint: Path | str | None = None
    progress: Tick | None = field(default=None, repr=False)
    device: str | None = None

    def __post_init__(self) -> None:
        self.seeds = tuple(int(seed) for seed in self.seeds)
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise MethodError(f"'{self.name}' has seeds={list(self.seeds)}. Give at least one, each once.")
        check_least(self, epochs=1, batch=1, mask_layers=1, mask_width=1, action_layers=1, action_width=1)
        check_positive(self, "rate", "tau", "cap", "reach")
        check_table(self, "validation")
        sizes = ("decay", "margin", "cost", "kl", "plausibility", "feasibility", "likelier", "tie", "entropy")
        for name in sizes:
            require_setting(self, name, 0 <= getattr(self, name) < np.inf, "Use a number of at least 0.")
        check_choices(
            self,
            hinge=("probability", "logit"),
            damping=("plus", "peer"),
            schedule=("constant", "cosine"),
            implausible=("hinge", "nll", "log"),
        )

    # -- training --------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        self.engine_ = self._engine(problem)
        self.report_ = train(
            self.engine_,
            validation=self.validation,
            split_seed=self.split_seed,
            tie=self.tie,
            wishes=self._validation_wishes,
            checkpoint=None if self.checkpoint is None else as_path(self.checkpoint),
            header=self._question(problem),
            progress=self.progress,
        )

    def _engine(self, problem: Problem, stored: dict[str, Any] | None = None) -> Amortised:
        weights, prior = self._population(problem)
        return Amortised(
            problem,
            self.plan(),
            self.seeds if stored is None else (self.seeds[0],),
            law=self._law(problem),
            weight_range=self._weight_range(),
            weights=weights,
            prior=prior,
            stored=stored,
            device=self.device,
        )

    def plan(self) -> AmortisedSettings:
        """Return the hyper-parameters of training by themselves."""
        own = {f.name: getattr(self, f.name) for f in fields(AmortisedSettings) if hasattr(self, f.name)}
        return AmortisedSettings(**own)

    def _population(self, problem: Problem) -> tuple[np.ndarray | None, np.ndarray | None]:
        if self.weights is None:
            return None, None
        schema = problem.schema
        act = np.flatnonzero(schema.actionable & ~schema.is_categorical)
        known = [schema.names[j] for j in act]
        weight = np.ones(len(act))
        for name, value in self.weights.items():
            if name not in known or not value >= 1:
                raise MethodError(
                    f"'{self.name}' has weights {{'{name}': {value}}}. Give numbers of at least 1 for features that "
                    f"can be acted on: {', '.join(known)}."
                )
            weight[known.index(name)] = value
        return weight, 1 / (2 * weight)

    def _law(self, problem: Problem) -> Law | None:
        return None

    def _weight_range(self) -> tuple[float, float]:
        return (1.0, 10.0)

    def _validation_wishes(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and masks (n, a) for choosing among networks."""
        a = self.engine_.a
        return np.zeros((n, a)), np.ones((n, a), dtype=bool)

    @classmethod
    def tune(
        cls, problem: Problem, trials: int = 30, *, seed: int = 0, progress: Tick | None = None, **fixed: Any
    ) -> Self:
        """Search for settings with Optuna and return the best, fitted: the least ``cost + (1 - share)`` of the front.

        fixed: settings that are not searched, such as ``epochs=60``; five seeds a trial if none are given.
        Raises: MissingExtra without optuna.
        """
        from wayforward.methods.engines.amortised.tuning import tune

        chosen = {"seeds": SEEDS[:5], **fixed}
        return tune(cls, problem, trials, seed=seed, progress=progress, fixed=chosen)

    # -- answers -----------------------------------------------------------------------------------------------

    def propose(
        self, x: Any, preferences: Preferences | None = None, masks: np.ndarray | None = None
    ) -> Proposal:
        """Return what the networks propose to everybody, judged by nobody and tried once; n people in, n rows out.

        x: a table of people or (n, d). masks (n, d) bool: act on exactly these features (of those that the person can
        act on). Values are legal ones within the person's limits.
        """
        problem = self.problem_
        rows = problem.schema.encode(x)
        if masks is not None and np.shape(masks) != rows.shape:
            raise MethodError(f"masks have shape {np.shape(masks)}; for these people give {rows.shape}.")
        people = problem.population(rows, preferences)
        act = self.engine_.act
        chance, action = self._ask(people, None if masks is None else np.asarray(masks, dtype=bool)[:, act])
        wide = np.zeros(rows.shape)
        wide[:, act] = chance
        return Proposal(action, problem.consequences(rows, action), wide)

    def _ask(self, people: Population, masks: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return chances (n, a) and tidy actions (n, d)."""
        wish, may = self._seen(people)
        chance, value = self.engine_.answer(people, wish, may, masks)
        action = np.full(people.x.shape, np.nan)
        action[:, self.engine_.act] = value
        return chance, tidy(people, np.arange(people.n), action)

    def _seen(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """Return what the networks see of wishes: (n, a) weights from 0 to 1, and (n, a) bool."""
        act = self.engine_.act
        return np.zeros((people.n, len(act))), people.free[:, act]

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        chance, action = self._ask(people, None)
        if not self.retry:
            return action[:, None, :]
        limit = budget.rows_or(24)
        return cheapest(
            people, k, limit, action, self._tries(people, chance), lambda who, masks: self._ask(who, masks)[1]
        )

    def _tries(self, people: Population, chance: np.ndarray) -> Callable[[np.ndarray, int], np.ndarray]:
        act = self.engine_.act
        can = people.free[:, act] & ~np.isnan(people.x[:, act])
        return lambda who, most: other_masks(chance[who], can[who], people.max_changes[who], most)

    # -- files -------------------------------------------------------------------------------------------------

    def _question(self, problem: Problem) -> dict[str, Any]:
        """Return what a file must say so that it is not used for another question."""
        return {
            "method": self.name,
            "features": [
                [f.name, f.kind, f.actionability, [str(level) for level in f.levels]]
                for f in problem.schema.features
            ],
            "world": type(problem.world).__name__,
            "plan": plain(self.plan()),
            "seeds": list(self.seeds),
            "more": self._more(),
        }

    def _more(self) -> dict[str, Any]:
        """Return settings beyond the plan that decide what is learned, as plain data."""
        return {"weights": dict(self.weights) if self.weights else None, "split_seed": self.split_seed}

    def save(self, path: str | Path) -> Path:
        """Write the chosen networks to one file, numbers as safetensors, the rest as JSON; return the path."""
        return files.save(
            path, self.engine_, self.report_, {**self._question(self.problem_), "settings": self._settings()}
        )

    @classmethod
    def load(cls, path: str | Path, problem: Problem, *, device: str | None = None) -> Self:
        """Return the method as it was saved, ready to answer the problem on a device; nothing is trained.

        Raises: FileFormatError for a file that is broken or something else; MethodError for one that was trained for
        another schema.
        """
        stored, state = files.load(path, cls.name)
        try:
            made = cls(**cls._from_settings(stored["settings"]), device=device)
        except TypeError as error:
            raise FileFormatError(
                f"'{Path(path).name}' holds settings that this release does not know ({error}). Train it anew."
            ) from error
        require_same(path, stored, made._question(problem), ("features", "world"))
        made.problem_, made.seconds_fit_ = problem, 0.0
        made.engine_ = made._engine(problem, stored["ground"])
        files.put(path, made.engine_, state)
        made.report_ = Report.from_dict(stored["report"])
        return made

    def _settings(self) -> dict[str, Any]:
        """Return constructor arguments as plain data."""
        skipped = ("validation", "checkpoint", "progress", "device")
        return {
            f.name: plain(getattr(self, f.name)) for f in fields(self) if f.init and f.name not in skipped
        }

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        return dict(settings)
