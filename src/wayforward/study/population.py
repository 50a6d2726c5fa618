"""A declared synthetic population for the published study, whose paper prints no marginals.

Every share below is an assumption, not a finding. What the paper does state is met: the size of the pool, who does not
disclose an income, how many earn more than 13 million yen, and the least and greatest distances that it quotes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from wayforward.study.car_loan import ITEMS, PLANS, Profiles, eligible, select

#: Answers of the pool, those with an income, and how many of them earn more than 13 million yen (paper, appendix A).
POOL, DISCLOSED, RICH = 4057, 3683, 54
PARTICIPANTS = 362

_SPREAD = 0.5  # of log income
_MEDIAN = 13 * np.exp(_SPREAD * ndtri(RICH / DISCLOSED))  # million yen
_MOST = 9  # code of income from which nobody is admitted: 10M and above

# Item -> weight of seniority, cumulative shares of all options but the last. A latent score is normal, with that much
# of seniority in it; the options cut it.
_SHARES: dict[str, tuple[float, tuple[float, ...]]] = {
    "residential prefecture": (0.0, (0.12,)),
    "type of residence": (-0.3, (0.62,)),
    "educational background": (0.15, (0.28, 0.46, 0.90, 0.985)),
    "workplace": (0.0, (0.86,)),
    "position": (0.75, (0.62, 0.72, 0.80, 0.87, 0.90, 0.96, 0.985, 0.993, 0.996)),
    "service years": (0.55, (0.07, 0.19, 0.31, 0.50, 0.76)),
    "management career": (0.8, (0.70, 0.73, 0.79, 0.84, 0.90, 0.97)),
    "working hours per day": (0.1, (0.01, 0.03, 0.06, 0.27, 0.86, 0.97)),
    "teleworking hours per day": (0.1, (0.78, 0.83, 0.87, 0.93, 0.99, 0.997)),
    "number of side jobs": (0.0, (0.90, 0.98, 0.993, 0.996, 0.998)),
    "job change experience": (0.0, (0.48,)),
    "overseas working experience": (0.2, (0.93,)),
    "overseas study experience": (0.1, (0.95,)),
    "TOEIC best score": (0.1, (0.66, 0.72, 0.79, 0.86, 0.92, 0.96, 0.99)),
    "Facebook app use": (0.0, (0.70,)),
    "LinkedIn app use": (0.0, (0.95,)),
}


def draw(n: int, rng: np.random.Generator) -> tuple[Profiles, NDArray[np.int64]]:
    """Profiles (n, 16) and codes of income (n,), 1 to 20, of workers."""
    seniority = rng.normal(size=n)
    income = _MEDIAN * np.exp(_SPREAD * (0.65 * seniority + np.sqrt(1 - 0.65**2) * rng.normal(size=n)))
    profile = np.empty((n, len(ITEMS)), dtype=np.int64)
    for i, item in enumerate(ITEMS):
        weight, shares = _SHARES[item.name]
        score = weight * seniority + np.sqrt(1 - weight**2) * rng.normal(size=n)
        profile[:, i] = 1 + np.searchsorted(ndtri(shares), score)
    service, management = profile[:, 5], profile[:, 6]
    profile[:, 6] = np.minimum(
        management, service + 1
    )  # nobody has led for longer than they have worked there
    return profile, np.clip(np.floor(income).astype(np.int64), 1, 20)


@dataclass(frozen=True)
class Shown:
    """Participants and the plans that they are shown. n participants, m profiles in the pool."""

    profile: Profiles  # (n, 16)
    income: NDArray[np.int64]  # (n,) codes
    pool: Profiles  # (m, 16), those with a disclosed income
    pool_income: NDArray[np.int64]  # (m,) codes
    plan: NDArray[np.int64]  # (n, 5) rows of the pool
    drawn: int  # people asked until n could be served


def draw_shown(n: int, rng: np.random.Generator) -> Shown:
    """A pool as large as the published one, and n participants below 10M with five eligible profiles each."""
    pool, pool_income = draw(POOL, rng)
    disclosed = np.sort(rng.permutation(POOL)[:DISCLOSED])
    pool, pool_income = pool[disclosed], pool_income[disclosed]
    found: list[tuple[Profiles, NDArray[np.int64], NDArray[np.int64]]] = []
    served = n_drawn = 0
    while served < n:
        profile, income = draw(max(2 * (n - served), 50), rng)
        n_drawn += len(profile)
        admitted = income <= _MOST
        profile, income = profile[admitted], income[admitted]
        plan = select(profile, pool, eligible(profile, income, pool, pool_income), rng)
        ready = plan[:, PLANS - 1] >= 0
        found.append((profile[ready], income[ready], plan[ready]))
        served += int(ready.sum())
    profile, income, plan = (np.concatenate(parts)[:n] for parts in zip(*found, strict=True))
    return Shown(profile, income, pool, pool_income, plan, n_drawn)
