"""EBR, IBR, Wachter and growing spheres as the public code runs them; on the notebook's two numbers, for all at once.

Facts, not code, of the public code of Gao & Lakkaraju (2023). The methods of the library differ on purpose (each
person has draws of their own, values stay legal), so what the code does is built here from the library's engines.
Each function returns where the refused end (r, e), NaN for whoever found nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from wayforward.methods.c_chvae import shell
from wayforward_studies.balanced.as_run_nets import Autoencoder, Autoencoders, Mixture
from wayforward_studies.balanced.as_run_people import TRAINING, DrawnPeople

PROPOSED, ENOUGH, POOL, QUANTILE = 200_000, 1000, 500, 0.5
SHELLS, WIDTH, SAMPLES = 2000, 0.1, 100


class Seekers(Protocol):
    """Refused people: what can be changed of them, here (r, e), and what the classifier says where they might go."""

    @property
    def seed(self) -> int:
        """Of the draw and of every method."""

    @property
    def here(self) -> np.ndarray:
        """(r, e)."""

    def score(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Rows (q, ..., e) of the people who (q,) -> (q, ...): log-odds of a yes."""

    def slope(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Rows (q, e) -> (q, e): how the log-odds change."""


def ebr(people: DrawnPeople, **density: Any) -> tuple[np.ndarray, dict[str, float]]:
    """Nearest of one pool of 500 for everybody: those above the median of the product, among them whom p > .5."""
    rng = np.random.default_rng([17, people.seed])
    rows = np.r_[people.x[:TRAINING][~people.refused], people.x[TRAINING:]]
    group = np.r_[people.group[:TRAINING][~people.refused], people.group[TRAINING:]]
    both = Mixture(rows, group[:, None], people.seed, **density).given(np.array([[0.0], [1.0]]))
    accepted = np.zeros((0, 2))
    proposed = 0
    while len(accepted) < ENOUGH:
        drawn = both.sample(PROPOSED, 1, rng)
        accepted = np.r_[accepted, drawn[rng.random(PROPOSED) < both.density(drawn)[0]]]
        proposed += PROPOSED
    pool = accepted[rng.choice(len(accepted), POOL, replace=False)]
    product = both.density(pool).prod(0)
    likely = pool[product >= np.quantile(product, QUANTILE)]
    good = likely[people.score(likely) > 0]
    about = {
        "rows": float(len(rows)),
        "accepted": len(accepted) * PROPOSED / proposed,
        "good": float(len(good)),
    }
    if not len(good):
        return np.full_like(people.here, np.nan), about
    return good[cdist(people.here, good).argmin(1)], about


def ibr(people: DrawnPeople, *, shells: int = SHELLS, **training: Any) -> tuple[np.ndarray, dict[str, float]]:
    """Nearest (L1) of the first latent shell with an accepted row, of 2,000 shells of 100 points."""
    rows, group = people.x[None], people.group[None]
    auto = Autoencoders(rows, rows[:, :, :0], [people.seed], group=group, **training).alone(0)
    return in_shells(people, auto, people.here[:, :0], salt=19, shells=shells)


def in_shells(
    people: Seekers,
    auto: Autoencoder,
    given: np.ndarray,
    *,
    salt: int,
    shells: int = SHELLS,
    width: float = WIDTH,
) -> tuple[np.ndarray, dict[str, float]]:
    """Nearest (L1) of the first shell around everybody's code with an accepted row; noise moves what is given, too."""
    rng = np.random.default_rng([salt, people.seed])
    here = people.here
    code = np.c_[auto.encode(here), given]
    end, live, turn = np.full_like(here, np.nan), np.arange(len(here)), 0
    while live.size and turn < shells:
        step = shell(rng, SAMPLES, code.shape[1], turn * width, (turn + 1) * width, 1.0)
        rows = auto.decode((code[live, None] + step).reshape(-1, code.shape[1]))
        rows = rows.reshape(len(live), SAMPLES, -1)
        far = np.where(people.score(rows, live) > 0, np.abs(rows - here[live, None]).sum(2), np.inf)
        near = far.argmin(1)
        hit = np.isfinite(far.min(1))
        end[live[hit]] = rows[hit, near[hit]]
        live, turn = live[~hit], turn + 1
    return end, {
        "decoded spread": float(auto.decode(code).std(0).mean()),
        "latent spread": float(code[:, : auto.latent].std(0).max()),
        "shells": float(turn),
    }


def wachter(people: Seekers) -> tuple[np.ndarray, dict[str, float]]:
    """Adam at .01 on cross-entropy + lam |change|_1, lam .01 and .05 less each round, to the first row with p > .5."""
    here = people.here
    end = np.full_like(here, np.nan)
    lam, rounds = 0.01, 0
    while np.isnan(end).any() and rounds < 5:
        live = np.flatnonzero(np.isnan(end[:, 0]))
        x = here[live].copy()
        first, second = np.zeros_like(x), np.zeros_like(x)
        for t in range(1, 1001):
            chance = 1 / (1 + np.exp(-people.score(x, live)))
            slope = -(1 - chance)[:, None] * people.slope(x, live) + lam * np.sign(x - here[live])
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            x = x - 0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            x = x.clip(0, 1)
            there = np.isnan(end[live, 0]) & (people.score(x, live) > 0)
            end[live[there]] = x[there]
            if not np.isnan(end[live, 0]).any():
                break
        lam, rounds = lam - 0.05, rounds + 1
    return end, {}


def spheres(people: Seekers) -> tuple[np.ndarray, dict[str, float]]:
    """Shells of width .2 with 1,000 points for each person; the nearest accepted point of the first with any."""
    rng = np.random.default_rng([23, people.seed])
    here = people.here
    end, live, turn = np.full_like(here, np.nan), np.arange(len(here)), 0
    while live.size and turn < 1000:
        step = shell(rng, 1000 * len(live), here.shape[1], turn * 0.2, (turn + 1) * 0.2, 2.0)
        step = step.reshape(len(live), 1000, -1)
        far = np.where(people.score(here[live, None] + step, live) > 0, (step * step).sum(2), np.inf)
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
