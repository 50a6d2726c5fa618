"""emap: a small network learns the least perturbation that the model answers with a yes, then answers in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wayforward.deadline import look
from wayforward.density.nets import Adam
from wayforward.methods.engines.amortised.perturbation import PerturbationMethod, RelaxedEffort, TrainingScore
from wayforward.methods.settings import check_choices, check_least, check_positive, require_setting
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Problem

_CHECKS = 8  # looks at the people set apart


@public
@dataclass
class Emap(PerturbationMethod):
    """Train a network g once so that x + g(x) is near and accepted; then everybody is answered in one pass.

    Minimises weight x dist(x, x + g(x)) - log p(yes | x + g(x)) over the refused people of the problem's table, levels
    by Gumbel-softmax among those that a person may have, whose temperature falls from `tau` to a quarter. The model's
    own network is learned through where it has one, else a small one that is taught to answer like it; both only in
    training, and what follows from acts counts. The weight rises while more than `valid` of the training people are
    accepted and falls while fewer are. A fifth of the people is set apart: of several moments of the training the one
    counts that serves most of them, by the model itself, to a hundredth, then the cheapest.

    norm: of the distance, in efforts of the problem's cost. weight: at first. width, layers: of the network. epochs,
    batch, rate: of Adam. most: people to learn from. Wishes are kept, though the network does not see them. Not part of
    the published method: a proposal is tried a little farther, too; complete (who has none goes on by single changes);
    shrink (needless changes are given back). `proposed` returns what the network alone proposes.
    Default budget: 4,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("emap", norm="l2").fit(problem).recommend(refused)``.
    Raises: from `fit`: MissingExtra without torch; ProblemError without a table or without refused people.
    Source: M. Chapman-Rounds, M.-A. Schulz, E. Pazos, K. Georgatzis (2019), EMAP: Explanation by Minimal Adversarial
    Perturbation, arXiv:1912.00872.
    """

    name: ClassVar[str] = "emap"
    summary: ClassVar[str] = "a network trained once to perturb people as little as turns the decision"
    citation: ClassVar[str] = "Chapman-Rounds, Schulz, Pazos & Georgatzis (2019), arXiv:1912.00872"

    norm: Literal["l1", "l2"] = "l1"
    weight: float = 1.0
    valid: float = 0.9
    width: int = 64
    layers: int = 2
    epochs: int = 60
    batch: int = 256
    rate: float = 0.003
    tau: float = 1.0
    most: int = 6000
    seed: int = 0
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_choices(self, norm=("l1", "l2"))
        check_positive(self, "rate", "tau", "weight")
        check_least(self, width=1, layers=1, epochs=1, batch=1, most=2)
        require_setting(self, "valid", 0 < self.valid < 1, "Use a share between 0 and 1.")

    def _train(self, problem: Problem, decision: TrainingScore) -> None:
        engine = self.engine_
        torch, layout = engine.torch, engine.layout
        rng = np.random.default_rng([self.seed, 41])
        rows = self._learners(problem.require_reference()[~problem.reference_reached])
        few = len(rows) // 5
        held, rows = (rows[:few], rows[few:]) if few else (rows, rows)
        people, apart = problem.population(rows), problem.population(held)
        all_ = engine.tensors(people, np.arange(people.n), people.free)
        effort = RelaxedEffort(problem, layout, self.norm)
        adam = Adam(engine.net.parameters, self.rate)
        weight, best, chosen = self.weight, (-1.0, -np.inf), engine.net.state()
        for epoch in range(1, self.epochs + 1):
            left = 1 - (epoch - 1) / self.epochs
            engine.tau, adam.rate = self.tau * (0.25 + 0.75 * left), self.rate * (0.05 + 0.95 * left)
            reached = 0.0
            order = torch.as_tensor(rng.permutation(people.n))
            for part in order.split(self.batch):
                look()
                t = all_.take(part)
                noise = engine.gumbel(rng, len(part))
                move, share = engine(t, t.u, t.share, t.low, t.high, noise=noise)
                score = engine.score(decision, t, move, share)
                loss = weight * effort(t, move, share) + torch.nn.functional.softplus(-score)
                adam.step(loss.mean())
                reached += float((score > 0).sum())
            weight *= 1.15 if reached / people.n > self.valid else 0.8
            if epoch == max(self.epochs // 2, 1):
                self._teach_stand_in(decision, people)
            if epoch % max(self.epochs // _CHECKS, 1) == 0 or epoch == self.epochs:
                action = layout.harden(apart, engine.ends(apart, apart.free))
                seen = apart.evaluate(np.arange(apart.n), action)
                cost = seen.cost[seen.reached].mean() if seen.reached.any() else np.inf
                now = (round(float(seen.reached.mean()), 2), -float(cost))
                if now >= best:
                    best, chosen = now, engine.net.state()
        engine.net.put(chosen)
        self.served_ = best[0]  # share of the people set apart whom the network alone serves
