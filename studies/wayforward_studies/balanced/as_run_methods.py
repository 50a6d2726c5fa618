"""EBR, IBR, Wachter and growing spheres as the public notebook runs them on its two numbers, for all refused at once.

Facts, not code, of the public notebook of Gao & Lakkaraju (2023). The methods of the library differ on purpose (each
person has draws of their own, values stay legal), so what the notebook does is built here from the library's engines.
Each function returns where the refused end (n, 2), NaN for whoever found nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from wayforward.density.nets import Adam, Stack
from wayforward.errors import require
from wayforward.methods.c_chvae import shell
from wayforward_studies.balanced.as_run_people import TRAINING, DrawnPeople

CENTRES, DENSITY_EPOCHS = 50, 1000
PROPOSED, ENOUGH, POOL, QUANTILE = 200_000, 1000, 500, 0.5
SHELLS, WIDTH, SAMPLES = 2000, 0.1, 100


class GroupMixture:
    """A mixture density network of 50 centres that sees the group alone: an input of one number, layers 16 and 16.

    Not stated: the rate of Adam, and where centres begin; near: at some of the people, with a deviation of .1.
    """

    def __init__(
        self, rows: np.ndarray, group: np.ndarray, seed: int, *, rate: float = 1e-3, near: bool = False
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.net = Stack([seed], [1, 16, 16, CENTRES * 5], salt=3)
        if near:
            start = rows[np.random.default_rng([13, seed]).choice(len(rows), CENTRES, replace=False)]
            with torch.no_grad():
                self.net.biases[-1][0, 0, CENTRES : 3 * CENTRES] = torch.as_tensor(start.ravel())
                self.net.biases[-1][0, 0, 3 * CENTRES :] = math.log(0.1)
        adam = Adam(self.net.parameters, rate)
        x, g = torch.as_tensor(rows, dtype=torch.float32), torch.as_tensor(group)
        for _ in range(DENSITY_EPOCHS):
            adam.step(-self._log(self._parts(), x).gather(0, g[None])[0].mean())
        with torch.no_grad():
            weight, mean, deviation = self._parts()
            self.weight, self.mean = weight.exp().double().numpy(), mean.double().numpy()
            self.deviation = deviation.exp().double().numpy()

    def _parts(self) -> tuple[Any, Any, Any]:
        """Log weights (2, 50), means and log deviations (2, 50, 2) of both groups."""
        out = self.net(self.torch.tensor([[[0.0], [1.0]]]))[0]
        weight, mean, deviation = out.split([CENTRES, 2 * CENTRES, 2 * CENTRES], 1)
        return (
            self.torch.log_softmax(weight, 1),
            mean.reshape(2, -1, 2),
            deviation.clamp(min=math.log(1e-3)).reshape(2, -1, 2),
        )

    def _log(self, parts: tuple[Any, Any, Any], x: Any) -> Any:
        """(m, 2) -> (2, m) log-density of each group."""
        weight, mean, deviation = parts
        z = (x[None, :, None] - mean[:, None]) * (-deviation).exp()[:, None]
        each = weight[:, None] - 0.5 * (z * z).sum(3) - deviation.sum(2)[:, None] - math.log(2 * math.pi)
        return self.torch.logsumexp(each, 2)

    def density(self, rows: np.ndarray) -> np.ndarray:
        """(m, 2) -> (2, m) density of each group."""
        with self.torch.no_grad():
            parts = tuple(
                self.torch.as_tensor(a, dtype=self.torch.float32)
                for a in (np.log(self.weight + 1e-30), self.mean, np.log(self.deviation))
            )
            blocks = np.array_split(rows, max(1, len(rows) // 20_000))
            got = [self._log(parts, self.torch.as_tensor(b, dtype=self.torch.float32)) for b in blocks]
            return np.asarray(self.torch.cat(got, 1).exp().double().numpy())

    def sample(self, n: int, group: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (n, 2) of a group."""
        at = rng.choice(CENTRES, n, p=self.weight[group] / self.weight[group].sum())
        return np.asarray(self.mean[group, at] + self.deviation[group, at] * rng.standard_normal((n, 2)))


def ebr(people: DrawnPeople, **density: Any) -> tuple[np.ndarray, dict[str, float]]:
    """Nearest of one pool of 500 for everybody: those above the median of the product, among them whom p > .5."""
    rng = np.random.default_rng([17, people.seed])
    rows = np.r_[people.x[:TRAINING][~people.refused], people.x[TRAINING:]]
    group = np.r_[people.group[:TRAINING][~people.refused], people.group[TRAINING:]]
    mixture = GroupMixture(rows, group, people.seed, **density)
    accepted = np.zeros((0, 2))
    proposed = 0
    while len(accepted) < ENOUGH:
        drawn = mixture.sample(PROPOSED, 1, rng)
        accepted = np.r_[accepted, drawn[rng.random(PROPOSED) < mixture.density(drawn)[0]]]
        proposed += PROPOSED
    pool = accepted[rng.choice(len(accepted), POOL, replace=False)]
    product = mixture.density(pool).prod(0)
    likely = pool[product >= np.quantile(product, QUANTILE)]
    good = likely[people.score(likely) > 0]
    here = people.x[:TRAINING][people.refused]
    about = {
        "rows": float(len(rows)),
        "accepted": len(accepted) * PROPOSED / proposed,
        "good": float(len(good)),
    }
    if not len(good):
        return np.full_like(here, np.nan), about
    return good[cdist(here, good).argmin(1)], about


class GroupBlindAutoencoder:
    """2-256-128-8 and back, sigmoid out, beside a discriminator 8-8-8-8-1 that reads the group off z.

    Loss of a batch: summed cross-entropy + kl x epoch / epochs x KL - gamma x summed entropy of the discriminator.
    """

    def __init__(
        self, people: DrawnPeople, *, gamma: float = 1.0, kl: float = 1.0, epochs: int = 100, batch: int = 64
    ) -> None:
        torch = self.torch = require("torch", extra="torch")
        seed = people.seed
        self.encoder = Stack([seed], [2, 256, 128, 16], salt=5)
        self.decoder = Stack([seed], [8, 128, 256, 2], salt=6)
        self.discriminator = Stack([seed], [8, 8, 8, 8, 1], salt=7)
        adam = Adam([*self.encoder.parameters, *self.decoder.parameters], 1e-3, decay=1e-6)
        theirs = Adam(self.discriminator.parameters, 0.01)
        x = torch.as_tensor(people.x, dtype=torch.float32)
        group = torch.as_tensor(people.group, dtype=torch.float32)
        dice = torch.Generator().manual_seed(seed)
        cross = torch.nn.functional.binary_cross_entropy_with_logits
        for epoch in range(epochs):
            b = kl * epoch / epochs
            for some in torch.randperm(len(x), generator=dice).split(batch):
                mean, log = self.encoder(x[None, some])[0].split(8, 1)
                z = mean + (0.5 * log).exp() * torch.randn(mean.shape, generator=dice)
                theirs.step(cross(self._read(z.detach()), group[some]))
                read = self._read(z)
                entropy = cross(read, read.sigmoid(), reduction="sum")
                fit = cross(self.decoder(z[None])[0], x[some], reduction="sum")
                far = 0.5 * (mean * mean + log.exp() - log - 1).sum()
                adam.step(fit + b * far - gamma * entropy)

    def _read(self, z: Any) -> Any:
        """(m, 8) -> (m,) log-odds of group F; sigmoids between the layers."""
        net = self.discriminator
        for weight, bias in zip(net.weights[:-1], net.biases[:-1], strict=True):
            z = self.torch.sigmoid(z @ weight[0] + bias[0])
        return (z @ net.weights[-1][0] + net.biases[-1][0])[:, 0]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """(m, 2) -> (m, 8): means."""
        with self.torch.no_grad():
            x = self.torch.as_tensor(rows, dtype=self.torch.float32)
            return np.asarray(self.encoder(x[None])[0][:, :8].double().numpy())

    def decode(self, z: np.ndarray) -> np.ndarray:
        """(m, 8) -> (m, 2)."""
        with self.torch.no_grad():
            out = self.decoder(self.torch.as_tensor(z, dtype=self.torch.float32)[None])[0]
            return np.asarray(out.sigmoid().double().numpy())


def ibr(people: DrawnPeople, *, shells: int = SHELLS, **training: Any) -> tuple[np.ndarray, dict[str, float]]:
    """Nearest (L1) of the first latent shell with an accepted row, of 2,000 shells of 100 points."""
    auto = GroupBlindAutoencoder(people, **training)
    rng = np.random.default_rng([19, people.seed])
    here = people.x[:TRAINING][people.refused]
    z = auto.encode(here)
    end, live, turn = np.full_like(here, np.nan), np.arange(len(here)), 0
    while live.size and turn < shells:
        step = shell(rng, SAMPLES, z.shape[1], turn * WIDTH, (turn + 1) * WIDTH, 1.0)
        rows = auto.decode((z[live, None] + step).reshape(-1, z.shape[1])).reshape(len(live), SAMPLES, 2)
        far = np.where(people.score(rows) > 0, np.abs(rows - here[live, None]).sum(2), np.inf)
        near = far.argmin(1)
        hit = np.isfinite(far.min(1))
        end[live[hit]] = rows[hit, near[hit]]
        live, turn = live[~hit], turn + 1
    at = auto.decode(z)
    return end, {
        "decoded spread": float(at.std(0).mean()),
        "latent spread": float(z.std(0).max()),
        "shells": float(turn),
    }


def wachter(people: DrawnPeople) -> tuple[np.ndarray, dict[str, float]]:
    """Adam at .01 on cross-entropy + lam |change|_1, lam .01 and .05 less each round, to the first row with p > .5."""
    here = people.x[:TRAINING][people.refused]
    end = np.full_like(here, np.nan)
    line, lam, rounds = people.weights[:2], 0.01, 0
    while np.isnan(end).any() and rounds < 5:
        live = np.flatnonzero(np.isnan(end[:, 0]))
        x = here[live].copy()
        first, second = np.zeros_like(x), np.zeros_like(x)
        for t in range(1, 1001):
            chance = 1 / (1 + np.exp(-people.score(x)))
            slope = -(1 - chance)[:, None] * line + lam * np.sign(x - here[live])
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            x = x - 0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            x = x.clip(0, 1)
            there = np.isnan(end[live, 0]) & (people.score(x) > 0)
            end[live[there]] = x[there]
            if not np.isnan(end[live, 0]).any():
                break
        lam, rounds = lam - 0.05, rounds + 1
    return end, {}


def spheres(people: DrawnPeople) -> tuple[np.ndarray, dict[str, float]]:
    """Shells of width .2 with 1,000 points for each person; the nearest accepted point of the first with any."""
    rng = np.random.default_rng([23, people.seed])
    here = people.x[:TRAINING][people.refused]
    end, live, turn = np.full_like(here, np.nan), np.arange(len(here)), 0
    while live.size and turn < 1000:
        step = shell(rng, 1000 * len(live), 2, turn * 0.2, (turn + 1) * 0.2, 2.0).reshape(len(live), 1000, 2)
        far = np.where(people.score(here[live, None] + step) > 0, (step * step).sum(2), np.inf)
        near, hit = far.argmin(1), np.isfinite(far.min(1))
        end[live[hit]] = here[live[hit]] + step[hit, near[hit]]
        live, turn = live[~hit], turn + 1
    return end, {}


Search = Callable[[DrawnPeople], tuple[np.ndarray, dict[str, float]]]
METHODS: dict[str, Search] = {"ibr": ibr, "ebr": ebr, "wachter": wachter, "growing-spheres": spheres}
#: What was tried where the notebook leaves something open, or where our figures are not its own.
TRIED: dict[str, Search] = {
    "ibr without adversary": partial(ibr, gamma=0.0),
    "ibr, KL / 64": partial(ibr, kl=1 / 64),
    "ibr, KL / 64, without adversary": partial(ibr, kl=1 / 64, gamma=0.0),
    "ibr, 93 of M gone": lambda people: without(people, ibr(people), 93),
    "ebr, rate .01": partial(ebr, rate=0.01),
    "ebr, centres at people": partial(ebr, near=True),
}


def without(
    people: DrawnPeople, got: tuple[np.ndarray, dict[str, float]], n: int
) -> tuple[np.ndarray, dict[str, float]]:
    """Take the answers of n people of group M away, drawn at random: so many found nothing in the notebook."""
    end, about = got
    members = np.flatnonzero(people.group[:TRAINING][people.refused] == 0)
    gone = np.random.default_rng([29, people.seed]).choice(members, min(n, len(members)), replace=False)
    end = end.copy()
    end[gone] = np.nan
    return end, about


def counted(people: DrawnPeople, end: np.ndarray) -> dict[str, float]:
    """All measures of ends (n, 2) of the refused, counted in both ways: 'notebook cost', 'ours cost' and so on.

    notebook: whoever found nothing leaves the population and costs 0. ours: they stay and count as not served; costs
    are of those who move. yNN of 5 neighbours among all 800.
    """
    from scipy.spatial import cKDTree

    x, group = people.x[:TRAINING], people.group[:TRAINING]
    refused = np.flatnonzero(people.refused)
    found = ~np.isnan(end[:, 0])
    cost = np.where(found, np.sqrt(((end - x[refused]) ** 2).sum(1)), 0.0)
    after, stays = x.copy(), np.ones(len(x), dtype=bool)
    after[refused[found]] = end[found]
    stays[refused[~found]] = False
    near = cKDTree(people.x).query(end[found], k=5)[1] if found.any() else np.zeros((0, 5), dtype=int)
    ynn = float((people.score(people.x) > 0)[near].mean()) if found.any() else math.nan
    invalid = float(1 - found.mean())
    out: dict[str, float] = {}
    for way, some, paid in (("notebook", stays, np.ones_like(found)), ("ours", np.ones_like(stays), found)):
        sides = [cost[paid & (group[refused] == g)] for g in (0, 1)]
        means = [float(side.mean()) if side.size else math.nan for side in sides]
        numbers = people.indices(after[some], group[some], way) | {
            "cost": float(cost[paid].mean()) if paid.any() else math.nan,
            "gap": abs(means[0] - means[1]), "ynn": ynn, "invalid": invalid,
        }  # fmt: skip
        out |= {f"{way} {name}": value for name, value in numbers.items()}
    return out
