"""c-chvae: sample ever wider shells around a person in a conditional autoencoder's latent space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from wayforward.density.generative import Generator
from wayforward.errors import require
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.gradient.relaxed_state import range_widths
from wayforward.methods.engines.polish import revert, shrink
from wayforward.methods.settings import check_choices, check_least, require_setting
from wayforward.problem.batching import distinct_changes, tidy
from wayforward.problem.learned import fit_generator
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_ROWS = 1 << 17  # decoded rows held at once


@public
@dataclass
class CChvae(Method):
    """Decode points of growing latent shells until the model accepts some; keep the nearest of them.

    A conditional heterogeneous autoencoder (typed heads, the features that never change given to encoder, decoder and
    prior) learns from the problem's reference people. Everybody starts at their own encoding; shell after shell,
    `samples` directions with lengths in [inner, outer) are added to it and decoded, levels by the likeliest that the
    person may choose; what the person may not change is put back, values are snapped, and the model is asked. The first
    shell with an accepted row ends a person's search with the nearest of its accepted rows. Labels suffice.

    Not published: shells widen by `widen` (1: all of one width, as published); a share `partial` of the directions
    adopts only some of what the decoder changes, which helps where rules or wishes limit the number of changes;
    `further` shells are looked at after the first hit, as near in the latent space is not yet cheap; and `shrink` gives
    back what the decision does not need, which leaves what the decoder says of people. The published search is
    ``CChvae(step=0.1, widen=1, shells=1000, samples=100, partial=0, further=0, shrink=False)`` and a large `budget`.

    samples: directions a shell. step: width of the first shell. shells: how many at most. p: norm of the lengths, 1,
    2, ... or inf. nearest: 'cost' of the problem, or 'l1' in widths of the range. latent, hidden, epochs, train_seed:
    of the autoencoder. keep: nearest accepted rows of a shell that are polished. others: more models of the same
    features; an option counts only if all of them accept it (predictive multiplicity). generator: a trained one to use
    instead. device: where it is learnt and decodes, see `device_of`; None: the CPU.
    Default budget: 4,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="c-chvae", k=1, seed=0)``.
    Source: M. Pawelczyk, K. Broelemann, G. Kasneci (2020), Learning Model-Agnostic Counterfactual Explanations for
    Tabular Data, WWW, arXiv:1910.09398; `others`: the same authors (2020), On Counterfactual Explanations under
    Predictive Multiplicity, UAI, arXiv:2006.13132.
    """

    name: ClassVar[str] = "c-chvae"
    endless: ClassVar[tuple[str, ...]] = ("p",)
    summary: ClassVar[str] = (
        "nearest accepted row that an autoencoder of people decodes, in growing latent shells; labels suffice"
    )
    citation: ClassVar[str] = "Pawelczyk, Broelemann & Kasneci (2020), WWW, arXiv:1910.09398"
    needs_data: ClassVar[bool] = True

    samples: int = 32
    step: float = 0.7
    shells: int = 8
    widen: float = 2.0
    p: float = 1.0
    nearest: Literal["cost", "l1"] = "cost"
    partial: float = 0.5
    further: int = 3
    keep: int = 3
    latent: int | None = None
    hidden: tuple[int, ...] = (64, 64)
    epochs: int = 40
    train_seed: int = 0
    shrink: bool = True
    others: Sequence[Any] = ()
    generator: Generator | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        check_least(self, samples=1, shells=1, keep=1, epochs=1, latent=1)
        require_setting(self, "step", self.step > 0, "Use a width above 0.")
        require_setting(self, "widen", self.widen >= 1, "Use 1 (shells of one width) or more.")
        require_setting(self, "p", self.p >= 1, "Use 1, 2, another norm above 1, or inf.")
        require_setting(self, "partial", 0 <= self.partial <= 1, "Use a share from 0 to 1.")
        check_choices(self, nearest=("cost", "l1"))

    @property
    def _keeps_more(self) -> bool:
        return bool(self.others)

    def _fit(self, problem: Problem) -> None:
        from wayforward.problem import Problem as Question

        self.torch_ = require("torch", extra="torch")
        self.span_ = range_widths(problem)
        self.generator_ = self.generator or self._learn(problem)
        self.others_ = [
            Question(problem.schema, model, problem.target, world=problem.world, cost=problem.cost)
            for model in self.others
        ]

    def _learn(self, problem: Problem) -> Generator:
        return fit_generator("chvae", problem, **self._training())

    def _training(self) -> dict[str, Any]:
        """Return what every autoencoder of the method is trained with."""
        return {
            "latent": self.latent, "hidden": tuple(self.hidden), "epochs": self.epochs, "seed": self.train_seed,
            "device": self.device,
        }  # fmt: skip

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        if self.others_:
            people = _under_all_models(people, self.others_)
        search = ShellSearch(self, people, k, streams.seed, budget.rows_or(4000))
        for turn in range(self.shells):
            if not search.advance(turn):
                break
        return search.options()


def shell(
    rng: np.random.Generator, samples: int, latent: int, inner: float, outer: float, p: float
) -> np.ndarray:
    """Return steps (samples, latent) with inner <= |step|_p < outer: normal directions, lengths uniform in between."""
    direction = rng.standard_normal((samples, latent))
    length = np.linalg.norm(direction, ord=p, axis=1)
    far = inner + (outer - inner) * rng.random(samples) * (1 - 1e-6)
    return np.asarray(direction * (far / np.maximum(length, 1e-300))[:, None])


class ShellSearch:
    """The state of everyone's search: who still looks, and the nearest accepted rows of who does not."""

    def __init__(self, method: CChvae, people: Population, k: int, seed: int, limit: int) -> None:
        self.method, self.people, self.k, self.seed = method, people, k, seed
        self.cap = people.rows + limit
        generator = method.generator_
        self.z = generator.encode(people.x)
        levels = generator.level
        self.may = np.arange(generator.wide) == generator.coding.own(people.x)[..., None]
        for f, j in enumerate(levels):
            ok = people.level_ok[int(j)]
            self.may[:, f, : ok.shape[1]] |= ok
        self.left = np.full(people.n, method.shells)  # shells that each person still looks at
        self.n_best = max(method.keep, 2 * k if k > 1 else 1)
        self.hit = np.zeros(people.n, dtype=bool)  # has an accepted row already
        self.owner: list[np.ndarray] = []
        self.found: list[np.ndarray] = []

    def advance(self, turn: int) -> bool:
        """Sample one shell for everyone who is still looking; return False when nobody is."""
        method, people = self.method, self.people
        active = np.flatnonzero((self.left > 0) & (people.rows + method.samples <= self.cap))
        if not active.size:
            return False
        grown = method.widen ** np.arange(turn + 1)
        outer = method.step * float(grown.sum())
        inner = outer - method.step * float(grown[-1])
        self.left[active] -= 1
        rng = np.random.default_rng([self.seed % 2**63, 0xCC4A, turn])
        step = shell(rng, method.samples, method.generator_.latent, inner, outer, method.p)
        if turn == 0:
            step[0] = 0.0  # the person's own encoding
        adopt = self._adoption(rng)
        size = max(1, _ROWS // method.samples)
        for begin in range(0, active.size, size):
            self._sample(active[begin : begin + size], method.torch_.as_tensor(step), adopt)
        return True

    def _adoption(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the order (s, d) in which features adopt what was decoded, and how large a share of them does (s,)."""
        s, d = self.method.samples, self.people.d
        share = np.where(np.arange(s) < (1 - self.method.partial) * s, 1.0, rng.random(s) ** 2)
        return rng.random((s, d)), share

    def _sample(self, who: np.ndarray, step: Any, adopt: tuple[np.ndarray, np.ndarray]) -> None:
        people, s = self.people, len(step)
        rows = self.method.generator_.rows_around(self.z[who], step, people.x[who], self.may[who])
        owner = np.repeat(who, s)
        action = self._adopted(owner, tidy(people, owner, rows.reshape(len(owner), -1)), adopt)
        some = np.flatnonzero(~np.isnan(action).all(1))
        reached = np.zeros(len(owner), dtype=bool)
        reached[some] = reaches(people, owner[some], action[some])
        at = np.flatnonzero(reached)
        if not at.size:
            return
        owner, action = owner[at], action[at]
        far = people.cost(owner, action) if self.method.nearest == "cost" else self._length(owner, action)
        order = np.lexsort((far, owner))
        first = order[rank_in_run(owner[order]) < self.n_best]
        self.owner.append(owner[first])
        self.found.append(action[first])
        lucky = np.unique(owner)
        fresh = lucky[~self.hit[lucky]]
        self.left[fresh] = np.minimum(self.left[fresh], self.method.further)
        self.hit[fresh] = True

    def _adopted(
        self, owner: np.ndarray, action: np.ndarray, adopt: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Return actions without some of the changes of some of the rows, and within everyone's number of changes."""
        people, (priority, share) = self.people, adopt
        turn = np.tile(np.arange(len(share)), len(owner) // len(share))
        count = (~np.isnan(action)).sum(1)
        most = np.minimum(np.ceil(share[turn] * count), people.max_changes[owner])
        rows = np.flatnonzero(most < count)
        if rows.size:
            rank = np.where(np.isnan(action[rows]), np.inf, priority[turn[rows]])
            rank = rank.argsort(1).argsort(1)
            action[rows] = np.where(rank < most[rows, None], action[rows], np.nan)
        return action

    def _length(self, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the sum (m,) of changes in widths of the range, 1 for another category."""
        people = self.people
        move = np.nan_to_num(np.abs(action - people.x[owner]) / self.method.span_, nan=0.0)
        acted = ~np.isnan(action)
        whole = people.schema.is_categorical | np.isnan(people.x[owner])
        return np.asarray((np.where(whole, 1.0, move) * acted).sum(1))

    def options(self) -> np.ndarray:
        """Return options (n, k, d): the nearest accepted rows, sparser where the method may."""
        people = self.people
        if not self.owner:
            return np.full((people.n, self.k, people.d), np.nan)
        owner, action = np.concatenate(self.owner), np.concatenate(self.found)
        if not self.method.shrink:
            rank = rank_in_run(owner)  # the nearest by the method's own measure
            action, owner = (action[rank < 1], owner[rank < 1]) if self.k == 1 else (action, owner)
            return distinct_changes(people, owner, action, self.k)
        polished = shrink(people, owner, revert(people, owner, action, people.parts(owner, action), sweeps=2))
        return distinct_changes(people, owner, polished, self.k)


def reaches(people: Population, who: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Return (m,) bool: snapped rows that the person may take and the model accepts."""
    if not len(who):
        return np.zeros(0, dtype=bool)
    if not people.box_is_enough or people.problem.plausibility is not None:
        return people.evaluate(who, action).reached
    return people.reached(who, people.after(who, action))


def _under_all_models(people: Population, others: Sequence[Problem]) -> Population:
    """Return the same people, whose score is the least that any of several models gives."""
    from wayforward.problem import Population as Base

    class Agreed(Base):
        def score(
            self,
            who: np.ndarray,
            after: np.ndarray,
            action: np.ndarray | None = None,
            outputs: np.ndarray | None = None,
        ) -> np.ndarray:
            score = super().score(who, after, action, outputs)
            for other in other_people:
                more = other.score(who, after, action) - other.problem.slack + self.problem.slack
                score = np.minimum(score, more)
            self.rows += np.bincount(who, minlength=self.n) * len(other_people)
            return np.asarray(score)

    other_people = [Base(other, people.x, people.preferences) for other in others]
    some = Agreed(people.problem, people.x, people.preferences)
    some.weight, some.plain_weight, some.aim = people.weight, people.plain_weight, people.aim
    return some
