"""The networks of the public code: a mixture density network, and autoencoders, several of them trained side by side.

Facts, not code, of the public code of Gao & Lakkaraju (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.density.nets import Adam, Stack
from wayforward.errors import require

CENTRES, DENSITY_EPOCHS = 50, 1000
_BLOCK = 20_000  # rows of which densities are taken at once
_FEW, _MANY = 600, 16  # rows up to which, and conditions beyond which, a density is taken in another order


@dataclass(frozen=True)
class Gaussians:
    """A mixture of 50 for each of c conditions: weight (c, 50), mean and deviation (c, 50, e)."""

    weight: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    def density(self, rows: np.ndarray) -> np.ndarray:
        """(m, e) -> (c, m)."""
        torch = require("torch", extra="torch")
        with torch.no_grad():
            weight, mean, deviation = (
                torch.as_tensor(a, dtype=torch.float32)[:, None]
                for a in (np.log(self.weight + 1e-30), self.mean, np.log(self.deviation))
            )
            blocks = np.array_split(rows, max(1, len(rows) // _BLOCK))
            got = [
                log_density(weight, mean, deviation, torch.as_tensor(b, dtype=torch.float32)) for b in blocks
            ]
            return np.asarray(torch.cat(got, 1).exp().double().numpy())

    def sample(self, n: int, condition: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n, e) of a condition."""
        at = rng.choice(CENTRES, n, p=self.weight[condition] / self.weight[condition].sum())
        noise = rng.standard_normal((n, self.mean.shape[2]))
        return np.asarray(self.mean[condition, at] + self.deviation[condition, at] * noise)


def log_density(weight: Any, mean: Any, deviation: Any, x: Any) -> Any:
    """Log weights (..., 50), means and log deviations (..., 50, e), rows (..., e) -> (...)."""
    torch = require("torch", extra="torch")
    z = (x[..., None, :] - mean) * (-deviation).exp()
    each = weight - 0.5 * (z * z).sum(-1) - deviation.sum(-1) - x.shape[-1] / 2 * math.log(2 * math.pi)
    return torch.logsumexp(each, -1)


def _block(weight: Any, mean: Any, deviation: Any, x: Any) -> Any:
    """As `log_density`, of one condition, by products of matrices: a tenth of the time, less exact by 1e-3."""
    torch = require("torch", extra="torch")
    narrow, mean, x = (-2 * deviation).exp(), mean - 0.5, x - 0.5
    bias = weight - deviation.sum(1) - 0.5 * (mean * mean * narrow).sum(1)
    each = bias + x @ (mean * narrow).T - 0.5 * (x * x) @ narrow.T
    return torch.logsumexp(each, 1) - x.shape[1] / 2 * math.log(2 * math.pi)


class Mixture:
    """A mixture density network of rows (n, e) given conditions (n, i): 50 centres, layers 16 and 16.

    Not stated: the rate of Adam, and where centres begin; near: at some of the people, with a deviation of .1.
    """

    def __init__(
        self, rows: np.ndarray, given: np.ndarray, seed: int, *, rate: float = 1e-3, near: bool = False
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.wide = e = rows.shape[1]
        self.net = Stack([seed], [given.shape[1], 16, 16, CENTRES * (1 + 2 * e)], salt=3)
        if near:
            start = rows[np.random.default_rng([13, seed]).choice(len(rows), CENTRES, replace=False)]
            with torch.no_grad():
                self.net.biases[-1][0, 0, CENTRES : (1 + e) * CENTRES] = torch.as_tensor(start.ravel())
                self.net.biases[-1][0, 0, (1 + e) * CENTRES :] = math.log(0.1)
        adam = Adam(self.net.parameters, rate)
        known, at = np.unique(given, axis=0, return_inverse=True)
        order = np.argsort(at.ravel(), kind="stable") if len(rows) > _FEW else np.arange(len(rows))
        x, where = torch.as_tensor(rows[order], dtype=torch.float32), torch.as_tensor(at.ravel()[order])
        sizes = np.bincount(at.ravel()).tolist()
        for _ in range(DENSITY_EPOCHS):
            weight, mean, deviation = self._parts(known)
            # every row in every condition: other last bits, those of the page 'as-run'
            if len(rows) <= _FEW and len(known) <= _MANY:
                got = log_density(weight[:, None], mean[:, None], deviation[:, None], x).gather(
                    0, where[None]
                )[0]
            elif len(known) > _MANY:
                got = log_density(weight[where], mean[where], deviation[where], x)
            else:
                several = zip(weight, mean, deviation, x.split(sizes), strict=True)
                got = torch.cat([_block(w, m, d, some) for w, m, d, some in several])
            adam.step(-got.mean())

    def _parts(self, conditions: np.ndarray) -> tuple[Any, Any, Any]:
        """Log weights (c, 50), means and log deviations (c, 50, e) of conditions (c, i)."""
        out = self.net(self.torch.as_tensor(conditions, dtype=self.torch.float32)[None])[0]
        weight, mean, deviation = out.split([CENTRES, self.wide * CENTRES, self.wide * CENTRES], 1)
        shape = (len(conditions), CENTRES, self.wide)
        floor = deviation.clamp(min=math.log(1e-3))
        return self.torch.log_softmax(weight, 1), mean.reshape(shape), floor.reshape(shape)

    def given(self, conditions: np.ndarray) -> Gaussians:
        """The mixtures of conditions (c, i)."""
        with self.torch.no_grad():
            weight, mean, deviation = self._parts(conditions)
            return Gaussians(
                weight.exp().double().numpy(), mean.double().numpy(), deviation.exp().double().numpy()
            )


class Autoencoders:
    """S variational autoencoders of rows (S, n, e), whose decoders see what is given (S, n, i) beside z; sigmoid out.

    group (S, n): a discriminator z-8-8-8-1 reads it off z, and the autoencoder is paid for its entropy. Loss of a
    batch: summed cross-entropy + kl x epoch / epochs x KL - gamma x summed entropy of the discriminator.
    """

    def __init__(
        self,
        rows: np.ndarray,
        given: np.ndarray,
        seeds: Sequence[int],
        *,
        group: np.ndarray | None = None,
        hidden: tuple[int, ...] = (256, 128),
        latent: int = 8,
        gamma: float = 1.0,
        kl: float = 1.0,
        epochs: int = 100,
        batch: int = 64,
    ) -> None:
        torch = self.torch = require("torch", extra="torch")
        self.latent, n, e = latent, rows.shape[1], rows.shape[2]
        self.encoder = Stack(seeds, [e, *hidden, 2 * latent], salt=5)
        self.decoder = Stack(seeds, [latent + given.shape[2], *reversed(hidden), e], salt=6)
        self.discriminator = Stack(seeds, [latent, 8, 8, 8, 1], salt=7)
        adam = Adam([*self.encoder.parameters, *self.decoder.parameters], 1e-3, decay=1e-6)
        theirs = Adam(self.discriminator.parameters, 0.01)
        x, held = (torch.as_tensor(a, dtype=torch.float32) for a in (rows, given))
        side = None if group is None else torch.as_tensor(group, dtype=torch.float32)
        dice = [torch.Generator().manual_seed(seed) for seed in seeds]
        each = torch.arange(len(seeds))[:, None]
        cross = torch.nn.functional.binary_cross_entropy_with_logits
        for epoch in range(epochs):
            b = kl * epoch / epochs
            order = torch.stack([torch.randperm(n, generator=g) for g in dice])
            for some in order.split(batch, 1):
                mean, log = self.encoder(x[each, some]).split(latent, 2)
                noise = torch.stack([torch.randn(mean.shape[1:], generator=g) for g in dice])
                z = mean + (0.5 * log).exp() * noise
                out = self.decoder(torch.cat([z, held[each, some]], 2))
                loss = cross(out, x[each, some], reduction="sum")
                loss = loss + b * 0.5 * (mean * mean + log.exp() - log - 1).sum()
                if side is not None:
                    wrong = cross(self._read(z.detach()), side[each, some], reduction="none")
                    theirs.step(wrong.mean(1).sum())
                    read = self._read(z)
                    loss = loss - gamma * cross(read, read.sigmoid(), reduction="sum")
                adam.step(loss)

    def _read(self, z: Any) -> Any:
        """(S, m, latent) -> (S, m) log-odds of the second group; sigmoids between the layers."""
        net, torch = self.discriminator, self.torch
        for weight, bias in zip(net.weights[:-1], net.biases[:-1], strict=True):
            z = torch.sigmoid(z @ weight + bias)
        return (z @ net.weights[-1] + net.biases[-1])[..., 0]

    def alone(self, place: int) -> Autoencoder:
        """One of them."""
        stacks = (self.encoder, self.decoder)
        encoder, decoder = (Stack.of(net.parameters, net.sizes, place, self.torch.float32) for net in stacks)
        return Autoencoder(encoder, decoder, self.latent)


@dataclass(frozen=True)
class Autoencoder:
    """A trained one."""

    encoder: Stack
    decoder: Stack
    latent: int

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """(m, e) -> (m, latent): means."""
        return np.asarray(self._run(self.encoder, rows)[:, : self.latent].double().numpy())

    def decode(self, code: np.ndarray) -> np.ndarray:
        """(m, latent + i) -> (m, e)."""
        return np.asarray(self._run(self.decoder, code).sigmoid().double().numpy())

    @staticmethod
    def _run(net: Stack, rows: np.ndarray) -> Any:
        with net.torch.no_grad():
            return net(net.torch.as_tensor(rows, dtype=net.torch.float32)[None])[0]
