"""Small networks, many at once: one multilayer perceptron a seed, all in one tensor, and masks drawn from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wayforward.errors import require
from wayforward.portable import Portable

BIAS = 0.01  # of every layer at the start, as published


class Stack(Portable):
    """S multilayer perceptrons of the same shape: (S, B, first) -> (S, B, last), ReLU between the layers.

    seeds (S,) draw the weights, each network its own, so that it is what it would be alone. sizes: widths from the
    input to the output. Xavier-uniform weights with the gain of ReLU, biases `BIAS`; drawn on the CPU, put on a device.
    """

    def __init__(
        self, seeds: Sequence[int], sizes: Sequence[int], *, salt: int = 0, device: Any = "cpu"
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.sizes = tuple(int(size) for size in sizes)
        self.weights: list[Any] = []
        self.biases: list[Any] = []
        generators = [torch.Generator().manual_seed(int(seed) * 8 + salt) for seed in seeds]
        for wide, out in pairwise(self.sizes):
            far = math.sqrt(2.0) * math.sqrt(6.0 / (wide + out))
            drawn = [(torch.rand(wide, out, generator=g) * 2 - 1) * far for g in generators]
            self.weights.append(torch.stack(drawn).to(device).requires_grad_(True))
            bias = torch.full((len(generators), 1, out), BIAS, device=device)
            self.biases.append(bias.requires_grad_(True))

    def __call__(self, x: Any) -> Any:
        """(S, B, first) -> (S, B, last)."""
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = self.torch.baddbmm(bias, x, weight)
            if i < last:
                x = self.torch.relu(x)
        return x

    @property
    def parameters(self) -> list[Any]:
        """Every tensor that learns."""
        return [*self.weights, *self.biases]

    def state(self) -> list[Any]:
        """Copies of all tensors."""
        return [p.detach().clone() for p in self.parameters]

    def put(self, state: Sequence[Any]) -> None:
        """Write copies back, for example of another run."""
        with self.torch.no_grad():
            for parameter, value in zip(self.parameters, state, strict=True):
                parameter.copy_(value)

    @classmethod
    def of(
        cls, state: Sequence[Any], sizes: Sequence[int], seed: int, dtype: Any, device: Any = None
    ) -> Stack:
        """One of the networks in a state, alone: S = 1, in another precision, frozen; device: None, where it is."""
        alone = cls.__new__(cls)
        alone.torch, alone.sizes = require("torch", extra="torch"), tuple(sizes)
        tensors = [p[seed : seed + 1].to(device, dtype).contiguous() for p in state]
        half = len(tensors) // 2
        alone.weights, alone.biases = tensors[:half], tensors[half:]
        return alone


class Adam(Portable):
    """Adam with L2 decay on one flat tensor that all parameters are views of; torch.optim takes seconds to import.

    Source: D. P. Kingma, J. Ba (2015), Adam: A method for stochastic optimization, ICLR.
    """

    def __init__(self, parameters: Sequence[Any], rate: float, decay: float = 0.0) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.parameters, self.rate, self.decay, self.steps = list(parameters), rate, decay, 0
        self.flat = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        self.first, self.second = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        at = 0
        for parameter in self.parameters:
            size = parameter.numel()
            parameter.data = self.flat[at : at + size].view(parameter.shape)
            at += size

    def step(self, loss: Any) -> None:
        """One step down the slope of a loss."""
        torch = self.torch
        slopes = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            slope = torch.cat([part.reshape(-1) for part in slopes])
            if self.decay:
                slope.add_(self.flat, alpha=self.decay)
            self.steps += 1
            self.first.lerp_(slope, 0.1)
            self.second.mul_(0.999).addcmul_(slope, slope, value=0.001)
            size = (self.second / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
            self.flat.addcdiv_(self.first, size, value=-self.rate / (1 - 0.9**self.steps))


def bernoulli(logit: Any, noise: Any, tau: float) -> Any:
    """Straight-through samples of Bernoulli(sigmoid(logit)): 0 or 1 forwards, a soft gradient backwards.

    noise: standard logistic, the difference of two Gumbel draws; the same law as the argmax of two logits with
    Gumbel noise, and the same gradient as their softmax at temperature `tau`.
    """
    soft = ((logit + noise) / tau).sigmoid()
    return (soft > 0.5).to(soft.dtype) + (soft - soft.detach())


def kl_bernoulli(logit: Any, prior: Any, entropy: float = 1.0) -> Any:
    """KL(Bern(sigmoid(logit)) || Bern(prior)), elementwise, with its entropy term (-H) scaled by `entropy`."""
    torch = require("torch", extra="torch")
    yes, no = torch.nn.functional.logsigmoid(logit), torch.nn.functional.logsigmoid(-logit)
    q = yes.exp()
    return q * (entropy * yes - torch.log(prior)) + (1 - q) * (entropy * no - torch.log1p(-prior))
