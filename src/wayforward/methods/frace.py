"""frace: a residual network learns against a critic to turn the decision, and to change nothing otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.deadline import look
from wayforward.density.nets import Adam, Stack
from wayforward.methods.engines.amortised.perturbation import PerturbationMethod, Tensors, TrainingScore
from wayforward.methods.settings import check_least, check_positive
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.problem import Problem


@public
@dataclass
class Frace(PerturbationMethod):
    """Train a residual generator x' = x + G(x, wanted decision) as one half of a GAN; then everybody in one pass.

    G learns from all people of the problem's table, each with a decision drawn for them: the model should decide so of
    x' (weight `decides`, cross-entropy), a critic should not tell x' from people (`critic`, Wasserstein, slope penalty
    10), G should be small (`small`, means of |G| and of G^2) and should lead back when the first decision is wanted
    again (`back`, mean of what then is left). So who has the wanted decision already is left nearly as they are. G
    moves only what a person may act on, within their limits; levels by Gumbel-softmax. The model's own network is
    learned through where it has one, else a small one that is taught to answer like it; both only in training, and
    what follows from acts counts.

    critics: steps of the critic for each of G. width, layers: of both networks. epochs, batch, rate: of Adam. most:
    people to learn from. Defaults for tables; the published ones, for images: rate 1e-4, critics 5, back 10, critic 1.
    Wishes are kept, though the network does not see them. Not part of the published method: a proposal is tried a
    little farther, too; complete, shrink and `proposed`: as in `emap`.
    Default budget: 4,000 model rows a person and option.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("frace", epochs=60).fit(problem).recommend(refused)``.
    Raises: from `fit`: MissingExtra without torch; ProblemError without a table or without refused people.
    Source: Y. Zhao (2020), Fast Real-time Counterfactual Explanations, arXiv:2007.05684; the critic: I. Gulrajani et
    al. (2017), Improved Training of Wasserstein GANs, NeurIPS.
    """

    name: ClassVar[str] = "frace"
    summary: ClassVar[str] = "a residual network trained once against a critic, small, likely and reversible"
    citation: ClassVar[str] = "Zhao (2020), Fast Real-time Counterfactual Explanations, arXiv:2007.05684"
    _conditioned: ClassVar[bool] = True

    decides: float = 1.0
    small: float = 1.0
    back: float = 2.0
    critic: float = 0.1
    critics: int = 2
    width: int = 64
    layers: int = 2
    epochs: int = 40
    batch: int = 256
    rate: float = 0.002
    tau: float = 1.0
    most: int = 6000
    seed: int = 0
    complete: bool = True
    shrink: bool = True

    def __post_init__(self) -> None:
        check_positive(self, "rate", "tau", "decides")
        check_least(self, small=0, back=0, critic=0, critics=0, width=1, layers=1, epochs=1, batch=1, most=2)

    def _train(self, problem: Problem, score: TrainingScore) -> None:
        engine = self.engine_
        torch = engine.torch
        rng = np.random.default_rng([self.seed, 43])
        rows = self._learners(problem.require_reference())
        people = problem.population(rows)
        all_ = engine.tensors(people, np.arange(people.n), people.free)
        now = torch.as_tensor(np.where(problem.reached(rows)[0], 1.0, -1.0), dtype=torch.float32)[:, None]
        judge = Stack((self.seed,), (engine.inputs, *[self.width] * self.layers, 1), salt=37)
        generator, critic = Adam(engine.net.parameters, self.rate), Adam(judge.parameters, self.rate)
        turn = 0
        for epoch in range(self.epochs):
            left = 1 - epoch / self.epochs
            engine.tau = self.tau * (0.25 + 0.75 * left)
            generator.rate = critic.rate = self.rate * (0.05 + 0.95 * left)
            order = torch.as_tensor(rng.permutation(people.n))
            for part in order.split(self.batch):
                look()
                t, own = all_.take(part), now[part]
                wanted = torch.as_tensor(rng.choice([-1.0, 1.0], size=own.shape), dtype=torch.float32)
                noise = engine.gumbel(rng, len(part))
                move, share = engine(t, t.u, t.share, t.low, t.high, wanted, noise)
                made = engine.seen(t.u + move, t.gone, share)
                if turn % (self.critics + 1) < self.critics and self.critic > 0:
                    real = engine.seen(t.u, t.gone, t.share)
                    mix = torch.as_tensor(rng.uniform(size=own.shape), dtype=torch.float32)
                    critic.step(self._critic_loss(torch, judge, real, made.detach(), mix))
                else:
                    decided = engine.score(score, t, move, share)
                    loss = self.decides * torch.nn.functional.softplus(-wanted[:, 0] * decided)
                    loss = loss + self.small * self._size(t, move, share)
                    if self.critic > 0:
                        loss = loss - self.critic * judge(made[None])[0, :, 0]
                    if self.back > 0:
                        again = engine.gumbel(rng, len(part))
                        low, high = t.low - move.detach(), t.high - move.detach()
                        home, level = engine(t, t.u + move, share, low, high, own, again)
                        gone = (move + home).abs().sum(1) + 0.5 * (level - t.share).abs().sum((1, 2))
                        loss = loss + self.back * gone / t.x.shape[1]
                    generator.step(loss.mean())
                turn += 1
            if epoch == self.epochs // 2:
                self._teach_stand_in(score, people)

    def _size(self, t: Tensors, move: Any, share: Any) -> Any:
        """Return the mean over features (m,) of |G| + G^2; another level counts as a whole range."""
        level = 0.5 * (share - t.share).abs().sum(2)
        return (move.abs().sum(1) + move.square().sum(1) + 2 * level.sum(1)) / t.x.shape[1]

    @staticmethod
    def _critic_loss(torch: Any, judge: Stack, real: Any, made: Any, mix: Any) -> Any:
        """Return the Wasserstein loss with a penalty on slopes other than 1 between rows real and made (m, inputs)."""
        between = (mix * real + (1 - mix) * made).requires_grad_(True)
        (slope,) = torch.autograd.grad(judge(between[None]).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        return (judge(made[None]) - judge(real[None])).mean() + 10 * penalty
