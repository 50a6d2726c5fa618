"""An adversary that reads a label or a group off latent points, and what the encoder pays for being read."""

from __future__ import annotations

from typing import Any, Literal

from wayforward.density.nets import Adam, Stack
from wayforward.errors import require
from wayforward.portable import Portable

Form = Literal["entropy", "loglik"]


class Adversary(Portable):
    """A classifier p(label | z) that learns beside the encoder, on `steps` of its own for each of the encoder's.

    classes: how many labels or groups there are. weight: of the encoder's penalty. form: 'entropy' punishes sure
    answers (sum p log p, least where the answer is uniform), 'loglik' punishes right ones (log p of the true label,
    without a lower bound). Labels that are less frequent count as much as the others.
    """

    def __init__(
        self,
        latent: int,
        classes: int,
        *,
        weight: float,
        form: Form = "entropy",
        hidden: tuple[int, ...] = (32,),
        rate: float = 5e-3,
        steps: int = 2,
        seed: int = 0,
        device: Any = "cpu",
    ) -> None:
        self.torch = require("torch", extra="torch")
        self.classes, self.weight, self.form, self.steps = classes, weight, form, steps
        self.net = Stack([seed], [latent, *hidden, classes], salt=5, device=device)
        self.optimiser = Adam(self.net.parameters, rate)

    def log_odds(self, z: Any) -> Any:
        """(m, latent) -> (m, classes) log-probabilities of the labels."""
        return self.torch.log_softmax(self.net(z[None])[0], dim=1)

    def _weights(self, label: Any) -> Any:
        count = self.torch.bincount(label, minlength=self.classes).clamp(min=1)
        return (len(label) / (self.classes * count.to(self.torch.float32)))[label]

    def penalty(self, z: Any, label: Any) -> Any:
        """Learn from z (m, latent) and label (m,) int64, then say what the encoder is to pay, a scalar."""
        label, weight = label.long(), self._weights(label.long())
        for _ in range(self.steps):
            logs = self.log_odds(z.detach()).gather(1, label[:, None])[:, 0]
            self.optimiser.step(-(weight * logs).mean())
        logs = self.log_odds(z)
        if self.form == "loglik":
            return self.weight * (weight * logs.gather(1, label[:, None])[:, 0]).mean()
        return self.weight * (weight * (logs.exp() * logs).sum(1)).mean()
